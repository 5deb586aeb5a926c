//! `contract((X, B), X)` as a tree.

use super::tree::Tree;
use crate::schedule::Group;

/// The tree that groups say, of factors that are given with the names of their tensors. Each name stands for the first
/// factor of this name that no name before it stands for, and a number for the factor at this place, from 1. `None`
/// unless every factor is there once.
pub(super) fn tree(groups: &[Group], factors: &[(usize, &str)]) -> Option<Tree> {
    let mut taken = vec![false; factors.len()];
    let mut numbered = true;
    numbers(groups, &mut |number| match number.checked_sub(1).and_then(|at| taken.get_mut(at)) {
        Some(taken) if !*taken => *taken = true,
        _ => numbered = false,
    });
    if !numbered {
        return None;
    }
    let parts: Option<Vec<Tree>> =
        groups.iter().map(|group| read(group, factors, &mut taken)).collect();
    let mut parts = parts?;
    // Parentheses around everything say nothing.
    while let [Tree::Step(inner)] = parts.as_slice() {
        parts = inner.clone();
    }
    taken.iter().all(|taken| *taken).then_some(Tree::Step(parts))
}

fn numbers(groups: &[Group], visit: &mut dyn FnMut(usize)) {
    for group in groups {
        match group {
            Group::Factor(name) => name.parse().into_iter().for_each(&mut *visit),
            Group::Step(parts) => numbers(parts, visit),
        }
    }
}

fn read(group: &Group, factors: &[(usize, &str)], taken: &mut [bool]) -> Option<Tree> {
    match group {
        Group::Factor(name) => {
            if let Ok(number) = name.parse::<usize>() {
                return Some(Tree::Factor(factors.get(number.checked_sub(1)?)?.0));
            }
            let at = (0..factors.len()).find(|at| !taken[*at] && factors[*at].1 == name)?;
            taken[at] = true;
            Some(Tree::Factor(factors[at].0))
        }
        Group::Step(parts) => {
            let parts: Option<Vec<Tree>> =
                parts.iter().map(|part| read(part, factors, taken)).collect();
            let mut parts = parts?;
            // Parentheses around a group say nothing.
            Some(match parts.as_slice() {
                [Tree::Step(_)] => parts.remove(0),
                _ => Tree::Step(parts),
            })
        }
    }
}
