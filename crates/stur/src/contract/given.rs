//! The trees that `schedule:` asks for.

use super::factors::{factors, is_summed_alone};
use super::groups::tree;
use super::obstacle::obstacle;
use super::rewrite::{Choice, Way, contracted, open_iterator};
use super::tree::Tree;
use crate::program::{Product, Program, Rule, RuleId};
use crate::schedule::{Contract, Group};

/// The trees that rules' schedules say. A rule with `contract(none)`, or with directives for loops that no
/// `contract(..)` goes with, has a direct tree for each product.
pub fn given(program: &Program) -> Choice {
    let mut choice = Choice::new();
    for (index, rule) in program.rules.iter().enumerate() {
        for (place, product) in rule.products.iter().enumerate() {
            let direct = || Tree::Step(factors(product).into_iter().map(Tree::Factor).collect());
            let tree = match &rule.schedule.contract {
                None if rule.schedule.has_loops() => direct(),
                None => continue,
                Some(Contract::Never) => direct(),
                Some(Contract::Groups(groups)) => {
                    of_product(program, rule, place, groups).unwrap_or_else(direct)
                }
            };
            choice.insert((RuleId(index), place), Way::always(tree));
        }
    }
    choice
}

fn of_product(program: &Program, rule: &Rule, place: usize, groups: &[Group]) -> Option<Tree> {
    let product = &rule.products[place];
    let name = |at: usize| (at, program.tensor(product.accesses[at].tensor).name.as_str());
    let named: Vec<(usize, &str)> = factors(product).into_iter().map(name).collect();
    Some(tree(groups, &named)?.without_copies(&|at| is_summed_alone(rule, product, at)))
}

/// What is wrong with a `contract(..)`.
pub(crate) enum Unfit {
    /// No product has these factors. The factors of each product.
    Factors(Vec<String>),
    /// A product cannot be multiplied in steps: why.
    Product(&'static str),
    /// A step by itself has no end: its iterator.
    Open(String),
    /// A step with stored elements for a result with `:F`.
    Stored,
}

/// What is wrong with the groups of a rule, if something is.
pub(crate) fn unfit(program: &Program, id: RuleId, groups: &[Group]) -> Option<Unfit> {
    let rule = &program.rules[id.0];
    let mut choice = Choice::new();
    for (place, product) in rule.products.iter().enumerate() {
        let Some(tree) = of_product(program, rule, place, groups) else { continue };
        if let Some(obstacle) = obstacle(program, rule, product).filter(|_| !tree.is_direct()) {
            return Some(Unfit::Product(obstacle));
        }
        choice.insert((id, place), Way::always(tree));
    }
    let plain = |product: &&Product| factors(product).len() < 2;
    if choice.is_empty() && rule.products.iter().all(|product| plain(&product)) {
        return Some(Unfit::Product("it has fewer than two factors"));
    }
    if choice.is_empty() {
        let listed = rule.products.iter().map(|product| {
            let names = factors(product)
                .into_iter()
                .map(|at| program.tensor(product.accesses[at].tensor).name.clone());
            names.collect::<Vec<_>>().join(", ")
        });
        return Some(Unfit::Factors(listed.collect()));
    }
    impossible(program, &choice)
}

/// Whether the steps of trees can be rules of their own, as far as the text tells.
pub fn possible(program: &Program, choice: &Choice) -> bool {
    impossible(program, choice).is_none()
}

/// Why the steps of trees cannot be rules of their own, if so.
fn impossible(program: &Program, choice: &Choice) -> Option<Unfit> {
    let next = contracted(program, choice);
    let steps = next.rules.iter().filter(|rule| rule.head.0 >= program.tensors.len());
    for step in steps.clone() {
        if let Some(open) = step.products.iter().find_map(open_iterator) {
            return Some(Unfit::Open(open.clone()));
        }
    }
    // What a result with `:F` stores is where its products have points: a step would lose which these are.
    for ((id, place), way) in
        choice.iter().flat_map(|(id, ways)| ways.iter().map(move |way| (id, way)))
    {
        let rule = &program.rules[id.0];
        if program.tensor(rule.head).format.is_none() {
            continue;
        }
        let mut found = false;
        way.tree.visit_steps(&mut |step, _| {
            found |= step.factors().into_iter().any(|at| {
                let access = &rule.products[*place].accesses[at];
                program.tensor(access.tensor).format.is_some()
            });
        });
        if found {
            return Some(Unfit::Stored);
        }
    }
    None
}
