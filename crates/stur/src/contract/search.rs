//! The cheapest trees of a product when iterators have so many values: all trees are compared up to
//! [`EXHAUSTIVE`] factors, and beyond that factors are joined greedily.
//!
//! A step costs the points of the box of its iterators, scaled by which part of its factors is stored, and what it
//! computes is written once and read once. Boxes only order the trees: the few best ones are to be counted exactly.

use std::collections::BTreeSet;

use super::factors::{factors, iterators_of, kept};
use super::tree::Tree;
use crate::affine::names;
use crate::ast::ExprKind;
use crate::program::{Product, Program, Rule};

/// Of products with more factors not all trees are compared.
pub const EXHAUSTIVE: usize = 8;
/// Iterators and factors are bits of a word.
const MAX: usize = 64;
/// So many trees are returned.
const FINALISTS: usize = 3;

/// What is known when trees are compared.
pub struct Sizes<'s> {
    /// The number of values of an iterator.
    pub extent: &'s dyn Fn(&str) -> f64,
    /// The part of the box of an access (by its place in the product) that is stored.
    pub density: &'s dyn Fn(usize) -> f64,
    /// The number of elements that one intermediate may have.
    pub most_elements: f64,
}

/// The best trees with steps, the cheapest first. The product must have no obstacle.
pub fn search(program: &Program, rule: &Rule, product: &Product, sizes: &Sizes<'_>) -> Vec<Tree> {
    let Some(search) = Search::new(program, rule, product, sizes) else { return Vec::new() };
    match search.leaves.len() <= EXHAUSTIVE {
        true => search.exhaustive(),
        false => search.greedy().into_iter().collect(),
    }
}

struct Leaf {
    place: usize,
    /// Its iterators,
    own: u64,
    /// and those that are a subscript by themselves.
    bare: u64,
    density: f64,
    dynamic: bool,
}

struct Search {
    leaves: Vec<Leaf>,
    extents: Vec<f64>,
    /// Iterators that the last step must have.
    last: u64,
    comparisons: Vec<u64>,
    /// Whether stored elements may be hidden in steps.
    hides_stored: bool,
    most_elements: f64,
}

/// A part of a step: some factors, multiplied before if they are several, or one, summed before or not.
#[derive(Clone)]
struct Part {
    tree: Tree,
    leaves: u64,
    /// The iterators that the step sees of it, and those that it bounds.
    seen: u64,
    bounded: u64,
    density: f64,
    cost: f64,
    /// The most iterators that a step of it has.
    width: u32,
}

impl Search {
    fn new(program: &Program, rule: &Rule, product: &Product, sizes: &Sizes<'_>) -> Option<Search> {
        let places = factors(product);
        if product.iterators.len() > MAX || places.len() > MAX {
            return None;
        }
        let mask = |names: &BTreeSet<String>| {
            let of = product.iterators.iter().enumerate();
            of.filter(|(_, name)| names.contains(*name)).fold(0, |mask, (at, _)| mask | 1 << at)
        };
        let leaf = |place: usize| {
            let access = &product.accesses[place];
            let bare = access.subscripts.iter().filter_map(|subscript| match &subscript.kind {
                ExprKind::Name(name) => Some(name.clone()),
                _ => None,
            });
            Leaf {
                place,
                own: mask(&iterators_of(product, &access.subscripts)),
                bare: mask(&bare.collect()),
                density: (sizes.density)(place).clamp(0.0, 1.0),
                dynamic: program.tensor(access.tensor).format.is_some(),
            }
        };
        let compared = product.comparisons.iter().map(|comparison| {
            let names = comparison.operands.iter().flat_map(names).map(str::to_owned).collect();
            mask(&names)
        });
        let head: BTreeSet<String> = rule.iterators.iter().cloned().collect();
        Some(Search {
            leaves: places.into_iter().map(leaf).collect(),
            extents: product.iterators.iter().map(|name| (sizes.extent)(name)).collect(),
            last: mask(&head) | mask(&kept(product)),
            comparisons: compared.collect(),
            hides_stored: program.tensor(rule.head).format.is_none(),
            most_elements: sizes.most_elements,
        })
    }

    fn all(&self) -> u64 {
        (1u64.checked_shl(self.leaves.len() as u32)).map_or(u64::MAX, |bit| bit - 1)
    }

    fn of(&self, set: u64) -> impl Iterator<Item = &Leaf> {
        self.leaves
            .iter()
            .enumerate()
            .filter(move |(at, _)| set >> at & 1 == 1)
            .map(|(_, leaf)| leaf)
    }

    /// The iterators that what is computed of some factors has.
    fn kept(&self, set: u64) -> u64 {
        let own = self.of(set).fold(0, |mask, leaf| mask | leaf.own);
        let others = self.of(self.all() & !set).fold(self.last, |mask, leaf| mask | leaf.own);
        let pending = self.comparisons.iter().filter(|mask| **mask & !own != 0);
        own & pending.fold(others, |mask, compared| mask | compared)
    }

    fn points(&self, iterators: u64) -> f64 {
        let of = self.extents.iter().enumerate();
        of.filter(|(at, _)| iterators >> at & 1 == 1).map(|(_, extent)| extent).product()
    }

    fn leaf(&self, at: usize) -> Part {
        let Leaf { place, own, bare, density, .. } = self.leaves[at];
        let (leaves, cost) = (1 << at, 0.0);
        let tree = Tree::Factor(place);
        Part { tree, leaves, seen: own, bounded: bare, density, cost, width: 0 }
    }

    /// A factor summed by itself over what nothing else has, if there is such an iterator.
    fn summed(&self, leaf: &Part) -> Option<Part> {
        let sums = self.kept(leaf.leaves) != leaf.seen;
        self.step(std::slice::from_ref(leaf), false).filter(|_| sums)
    }

    /// What a step over some parts costs, with these; `None` if it is not possible.
    fn step(&self, parts: &[Part], last: bool) -> Option<Part> {
        let leaves = parts.iter().fold(0, |set, part| set | part.leaves);
        let seen = parts.iter().fold(0, |mask, part| mask | part.seen);
        let bounded = parts.iter().fold(0, |mask, part| mask | part.bounded);
        let before: f64 = parts.iter().map(|part| part.cost).sum();
        let density: f64 = parts.iter().map(|part| part.density).product();
        let width = parts.iter().map(|part| part.width).max().unwrap_or_default();
        let tree = Tree::Step(parts.iter().map(|part| part.tree.clone()).collect());
        if last {
            let iterators = self.comparisons.iter().fold(seen | self.last, |mask, one| mask | one);
            let iterators = iterators & self.left(parts);
            let cost = before + self.points(iterators) * density;
            let width = width.max(iterators.count_ones());
            return Some(Part { tree, leaves, seen, bounded, density, cost, width });
        }
        let stored = self.of(leaves).any(|leaf| leaf.dynamic);
        if seen & !bounded != 0 || stored && !self.hides_stored {
            return None;
        }
        let kept = self.kept(leaves);
        let elements = self.points(kept);
        if elements > self.most_elements {
            return None;
        }
        let cost = before + self.points(seen) * density + 2.0 * elements;
        let width = width.max(seen.count_ones());
        Some(Part { tree, leaves, seen: kept, bounded: kept, density: 1.0, cost, width })
    }

    /// Whether a tree may cost less than the product in one step: a step over all iterators costs as much, unless some
    /// of the elements are not stored.
    fn may_pay(&self, part: &Part) -> bool {
        let sparse = self.leaves.iter().any(|leaf| leaf.dynamic);
        !part.tree.is_direct() && (sparse || part.width < self.extents.len() as u32)
    }

    /// The iterators that no part has summed over.
    fn left(&self, parts: &[Part]) -> u64 {
        let seen = parts.iter().fold(self.last, |mask, part| mask | part.seen);
        let own = self.leaves.iter().fold(0, |mask, leaf| mask | leaf.own);
        // Those of no factor stand in comparisons alone.
        seen | !own
    }

    fn exhaustive(&self) -> Vec<Tree> {
        let count = self.leaves.len();
        let mut best: Vec<Option<Part>> = vec![None; 1 << count];
        let mut finalists: Vec<Part> = Vec::new();
        for set in 1..=self.all() {
            if set.count_ones() == 1 {
                best[set as usize] = Some(self.leaf(set.trailing_zeros() as usize));
                continue;
            }
            let last = set == self.all();
            let mut found: Option<Part> = None;
            self.partitions(set, &best, &mut Vec::new(), &mut |parts| {
                let Some(step) = self.step(parts, last) else { return };
                if last && self.may_pay(&step) {
                    finalists.push(step.clone());
                }
                if found.as_ref().is_none_or(|found| step.cost < found.cost) {
                    found = Some(step);
                }
            });
            best[set as usize] = found;
        }
        finalists.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        finalists.into_iter().take(FINALISTS).map(|part| part.tree).collect()
    }

    /// Calls `visit` with the best parts of every partition of a set into two or more subsets.
    fn partitions(
        &self,
        rest: u64,
        best: &[Option<Part>],
        parts: &mut Vec<Part>,
        visit: &mut dyn FnMut(&[Part]),
    ) {
        if rest == 0 {
            if parts.len() > 1 {
                visit(parts);
            }
            return;
        }
        // The subset that the first factor is in.
        let first = rest & rest.wrapping_neg();
        let others = rest & !first;
        let mut subset = others;
        loop {
            // The set itself is no part of its partitions: its best tree is not known yet.
            if let Some(part) = &best[(subset | first) as usize] {
                let summed = if subset == 0 { self.summed(part) } else { None };
                for part in summed.into_iter().chain([part.clone()]) {
                    parts.push(part);
                    self.partitions(others & !subset, best, parts, visit);
                    parts.pop();
                }
            }
            if subset == 0 {
                break;
            }
            subset = (subset - 1) & others;
        }
    }

    /// Joins the two parts whose step is cheapest, again and again.
    fn greedy(&self) -> Option<Tree> {
        let leaves = (0..self.leaves.len()).map(|at| self.leaf(at));
        let mut parts: Vec<Part> = leaves.map(|leaf| self.summed(&leaf).unwrap_or(leaf)).collect();
        while parts.len() > 2 {
            let mut found: Option<(usize, usize, Part)> = None;
            for one in 0..parts.len() {
                for other in one + 1..parts.len() {
                    let pair = [parts[one].clone(), parts[other].clone()];
                    let Some(step) = self.step(&pair, false) else { continue };
                    let own = step.cost - pair[0].cost - pair[1].cost;
                    let least = found.as_ref().map(|(one, other, step)| {
                        step.cost - parts[*one].cost - parts[*other].cost
                    });
                    if least.is_none_or(|least| own < least) {
                        found = Some((one, other, step));
                    }
                }
            }
            let Some((one, other, step)) = found else { break };
            parts.remove(other);
            parts[one] = step;
        }
        let step = self.step(&parts, true)?;
        self.may_pay(&step).then_some(step.tree)
    }
}
