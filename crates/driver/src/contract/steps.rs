//! What is decided about the steps of a program's products.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use dastac_stur::contract::{Choice, Tree, rule_text};
use dastac_stur::infer::{Inferred, InferredRule};
use dastac_stur::program::{Access, Rule};
use dastac_stur::{Diagnostic, Program, TensorId};
use serde::{Deserialize, Serialize};

use crate::Error;

/// How products of three and more factors are computed.
#[derive(Clone, Debug, Default)]
pub enum Steps {
    /// This is not decided yet.
    #[default]
    Open,
    /// As they are written.
    Direct,
    /// Some of them in steps, or some operands from copies.
    Cut(Box<Cut>),
}

/// A program with products in steps, or with operands that are read from copies.
#[derive(Clone, Debug)]
pub struct Cut {
    /// The program as it is written, inferred.
    pub written: Inferred,
    /// Which products are in steps.
    pub choice: Choice,
    /// Which operands have copies.
    pub expanded: Vec<Expanded>,
    /// The program before it had copies, if it has some.
    pub(crate) packed: Option<Inferred>,
}

/// A copy of an operand that stores all elements, also those that follow from others; or of a result, which is computed
/// with all that is around its elements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expanded {
    /// The name of the copy.
    pub copy: String,
    /// The name of the operand or result.
    pub of: String,
    /// Whether it is a result.
    pub is_result: bool,
}

impl Display for Expanded {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Expanded { copy, of, is_result } = self;
        match is_result {
            false => write!(f, "{copy} is {of} with all of its elements"),
            true => write!(f, "{copy} is {of} with what is around its elements"),
        }
    }
}

/// The sizes at which a program runs, as far as they are known when it is compiled.
#[derive(Clone, Debug, Default)]
pub struct Sizes {
    /// Values of the symbols, in declaration order.
    pub symbols: Vec<i64>,
    /// The numbers of elements that dynamic tensors store.
    pub stored: BTreeMap<TensorId, u64>,
    /// The part of the elements that other dynamic tensors store.
    pub density: f64,
    /// How many times as many points come to results as if elements stood anywhere ([`super::meeting()`]).
    pub meeting: BTreeMap<TensorId, f64>,
}

impl Sizes {
    /// The next powers of two: sizes that are nearly the same become the same.
    pub fn rounded(&self) -> Sizes {
        let symbol = |value: &i64| match u64::try_from(*value) {
            Ok(value @ 1..) => value.checked_next_power_of_two(),
            _ => None,
        };
        let symbols = self.symbols.iter().map(|value| {
            symbol(value).and_then(|value| i64::try_from(value).ok()).unwrap_or(*value)
        });
        let stored = self.stored.iter().map(|(tensor, count)| {
            (
                *tensor,
                if *count == 0 { 0 } else { count.checked_next_power_of_two().unwrap_or(*count) },
            )
        });
        let (symbols, stored) = (symbols.collect(), stored.collect());
        Sizes { symbols, stored, ..self.clone() }
    }
}

/// Which products are computed in steps.
#[derive(Clone, Copy, Debug)]
pub enum At<'a> {
    /// Those of which schedules say so.
    Asked,
    /// Also those for which steps pay at these sizes.
    Sizes(&'a Sizes),
    /// Also those for which steps pay at all sizes, as far as samples tell.
    All,
}

/// The `contract(..)` of a rule whose products are in steps, with the rules of these steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The computed tensor.
    pub head: String,
    /// As `schedule:` writes it: `contract((X, B), X)`, one for each product in steps; and for each way to compute it
    /// where code decides between several: `contract(A, (B, C)) where I <= L`.
    pub contract: Vec<String>,
    /// The tensors that the steps compute, but for the last one.
    pub steps: Vec<String>,
    /// The rules, in the order in which they run.
    pub rules: Vec<String>,
}

/// A rule with products in steps, beside what it would cost in one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stepped {
    /// The steps.
    pub plan: Plan,
    /// The operations of all steps, if they can be counted.
    pub operations: Option<u128>,
    /// The operations of the rule as it is written.
    pub direct: Option<u128>,
}

impl Plan {
    /// What inference says about its rules, in their order.
    pub fn rules<'i>(&'i self, inferred: &'i Inferred) -> impl Iterator<Item = &'i InferredRule> {
        let own = |rule: &&InferredRule| {
            let name = &inferred.program.tensor(rule.head).name;
            *name == self.head || self.steps.contains(name)
        };
        inferred.rules.iter().filter(own)
    }
}

impl Cut {
    /// What is done for each rule with products in steps; `program` is the one with the steps.
    pub fn plans(&self, program: &Program) -> Vec<Plan> {
        let written = &self.written.program;
        let mut plans: Vec<Plan> = Vec::new();
        for ((id, place), way) in
            self.choice.iter().flat_map(|(id, ways)| ways.iter().map(move |way| (id, way)))
        {
            let rule = &written.rules[id.0];
            let head = written.tensor(rule.head).name.clone();
            let accesses = &rule.products[*place].accesses;
            let mut contract = format!("contract({})", named(written, accesses, &way.tree));
            for (at, comparison) in way.when.iter().enumerate() {
                contract += &format!("{} {comparison}", if at == 0 { " where" } else { " and" });
            }
            match plans.iter_mut().find(|plan| plan.head == head) {
                Some(plan) => plan.contract.push(contract),
                None => {
                    let own = program.rules.iter().position(|one| one.head == rule.head);
                    let own = own.unwrap_or(program.rules.len());
                    // The steps of a rule stand right before it.
                    let hidden = |at: &usize| program.rules[*at].head.0 >= written.tensors.len();
                    let first = (0..own).rev().take_while(hidden).last().unwrap_or(own);
                    let name = |rule: &Rule| program.tensor(rule.head).name.clone();
                    let is_step =
                        |rule: &&Rule| !self.expanded.iter().any(|one| one.copy == name(rule));
                    let steps = program.rules[first..own].iter().filter(is_step).map(name);
                    let rules = program.rules.iter().take(own + 1).skip(first);
                    let rules =
                        rules.filter(is_step).map(|rule| rule_text(program, rule)).collect();
                    let (contract, steps) = (vec![contract], steps.collect());
                    plans.push(Plan { head, contract, steps, rules });
                }
            }
        }
        plans
    }
}

/// A tree as `schedule:` writes it: by the names of factors, or by their numbers where names could mean others.
fn named(program: &Program, accesses: &[Access], tree: &Tree) -> String {
    let name = |at: usize| program.tensor(accesses[at].tensor).name.clone();
    let order = tree.factors();
    let ambiguous = order.iter().enumerate().any(|(place, at)| {
        order[..place].iter().any(|before| before > at && name(*before) == name(*at))
            || name(*at).contains('.')
    });
    let mut sorted = order.clone();
    sorted.sort_unstable();
    let number = |at: usize| {
        let place = sorted.iter().position(|known| *known == at).unwrap_or_default();
        (place + 1).to_string()
    };
    if ambiguous { tree.written(&number) } else { tree.written(&name) }
}

/// Steps that a schedule asks for, and that cannot be rules of their own.
pub(crate) fn impossible(program: &Program, choice: &Choice) -> Error {
    let rules = choice.keys().map(|(rule, _)| &program.rules[rule.0]);
    let errors = rules.map(|rule| {
        let head = &program.tensor(rule.head).name;
        let message = format!("a step of `contract` for `{head}` has no structure of its own");
        Diagnostic::error("E0136", message, rule.span, "in steps")
            .hint("group other factors, or leave `contract` out")
    });
    Error::Program(errors.collect())
}
