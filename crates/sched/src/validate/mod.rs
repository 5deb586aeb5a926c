//! Translation validation: compares what the final loop IR does with what the program says, for all values of the
//! symbols.
//!
//! The loops are read back (`executed`): every store, with the affine loops and conditions around it, and its value as
//! a sum of products of elements. The proof does not trust the code that made the loops. It uses the names of loop
//! variables as hints only: a wrong name makes a proof fail.
//!
//! Six properties are decided on isl sets, for each rule and each tensor ([`Property`]):
//!
//! - The instances of the inferred statements are those of the program's products (`covered`).
//! - The loops execute each instance exactly once, with its elements at their positions (`instances`).
//! - Parallel iterations write distinct elements, and every element is set before it is used (`order`).
//! - The layout is a bijection ([`Layout::prove_bijection`], `address`).
//! - What packs and unpacks tensors, and what inputs are compared with, moves elements as structure says (`moved`).
//!
//! Invariant: [`Proof::Proven`] means that the property holds for all sizes. [`Proof::Refuted`] means that there is a
//! counter-example, or that something which has to be there was not found.

mod address;
mod cases;
mod covered;
mod executed;
mod expression;
mod functions;
mod instances;
mod moved;
mod order;
mod points;
mod sorted;
mod terms;
#[cfg(test)]
mod tests;

use dastac_layout::{Layout, LayoutError, Proof};
use dastac_loops::{BufferId, Function, Module};
use dastac_stur::infer::{Inferred, InferredRule, Statement};
use dastac_stur::program::{Element, TensorId};
use dastac_stur::semiring::Semiring;
use dastac_stur::sets::SetError;

use crate::nest::symbol;
use crate::{KERNEL, PREPARE, SchedError};
use expression::Naming;
use terms::Sums;

pub use moved::validate_movement;

/// A property that is proven of a rule or a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Property {
    /// The statements of the rule are its products: each point of a product is a point of exactly one statement, which
    /// reads the unique elements that the redundancy maps name.
    Statements,
    /// The loops execute each instance of each statement exactly once, with its coefficient, its factors and its
    /// element of the head. All of them are at their positions in the packed buffers, and within these.
    Executed,
    /// No two iterations of a parallel loop write the same element.
    Parallel,
    /// Every stored element is set exactly once before anything is added to it, and complete before it is read.
    Written,
    /// The positions of the stored elements are a bijection onto `0..size`, and the buffer has that size.
    Layout,
    /// Packing gives each stored element the value of its element of a dense array. Unpacking gives each element of a
    /// dense array the value of the stored element that it is, times the coefficient of its redundancy, or zero. What
    /// an input is compared with has the tensor's structure.
    Moved,
}

impl Property {
    /// The name of the property in messages and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Property::Statements => "statements",
            Property::Executed => "executed",
            Property::Parallel => "parallel",
            Property::Written => "written",
            Property::Layout => "layout",
            Property::Moved => "moved",
        }
    }

    /// The claim of the property, in one line.
    pub fn about(self) -> &'static str {
        match self {
            Property::Statements => "statements are the products, restricted to unique elements",
            Property::Executed => "loops execute each instance once, at the right positions",
            Property::Parallel => "parallel iterations write distinct elements",
            Property::Written => "elements are set before they are added to or read",
            Property::Layout => "one place for each stored element, within the buffer",
            Property::Moved => "packing, unpacking and checks of inputs follow the structure",
        }
    }
}

/// One property of one tensor (and the rule that computes it).
#[derive(Clone, Debug)]
pub struct Check {
    /// The tensor.
    pub tensor: TensorId,
    /// The property that is claimed.
    pub property: Property,
    /// Whether it holds.
    pub proof: Proof,
}

/// What the products of a rule are added in.
fn sums_of(inferred: &Inferred, rule: &InferredRule) -> Sums {
    let program = &inferred.program;
    Sums::of(program.rules[rule.rule.0].semiring, program.tensor(rule.head).element)
}

/// Checks every property of every tensor, first in the order of rules, then of tensors. The functions that are checked
/// are `prepare` (if there is one) and `kernel` of `module`, each with the functions that are called before it.
///
/// # Errors
/// A failure of isl. A property that is too complex to decide is not an error, but [`Proof::Undecided`].
pub fn validate(
    inferred: &Inferred,
    layouts: &[Layout],
    module: &Module,
) -> Result<Vec<Check>, SchedError> {
    let naming = naming(inferred, module);
    let sums = |buffer: BufferId| {
        let rule = inferred.rules.iter().find(|rule| rule.head.0 == buffer.0 as usize);
        match rule {
            Some(rule) => sums_of(inferred, rule),
            None => Sums::of(Semiring::SumTimes, Element::F64),
        }
    };
    let mut stages = Vec::new();
    let functions = [(true, PREPARE), (false, KERNEL)]
        .map(|(preprocess, name)| (preprocess, block(module, name)));
    for (preprocess, function) in &functions {
        if let Some(function) = function {
            let preprocess = *preprocess;
            let validator = Validator { inferred, layouts, module, function, naming: &naming };
            stages.push(Stage {
                preprocess,
                validator,
                read: executed::read(function, &naming, &sums),
            });
        }
    }
    let mut checks = Vec::new();
    for rule in &inferred.rules {
        let preprocess = inferred.program.rules[rule.rule.0].preprocess;
        let Some(place) = stages.iter().position(|stage| stage.preprocess == preprocess) else {
            return Err(SchedError::NoKernel);
        };
        let [statements, executed, parallel, written] = stages[place].rule(rule, &stages)?;
        for (property, outcome) in [
            (Property::Statements, statements),
            (Property::Executed, executed),
            (Property::Parallel, parallel),
            (Property::Written, written),
        ] {
            checks.push(Check { tensor: rule.head, property, proof: outcome });
        }
    }
    for site in stages.iter().flat_map(|stage| &stage.read.sites) {
        // A store to a tensor that no rule computes belongs to none of the checks above. Buffers beyond are levels.
        let head = TensorId(site.buffer.0 as usize);
        if head.0 < inferred.tensors.len() && !inferred.rules.iter().any(|rule| rule.head == head) {
            let proof = Proof::Refuted("it is written, but no rule computes it".into());
            checks.push(Check { tensor: head, property: Property::Executed, proof });
        }
    }
    for id in inferred.program.tensor_ids() {
        let packed = inferred.program.tensor(id).format.is_none();
        if let Some(Stage { validator, .. }) = stages.first().filter(|_| packed) {
            let proof = proof(validator.layout(id))?;
            checks.push(Check { tensor: id, property: Property::Layout, proof });
        }
    }
    if !inferred.program.derived.is_empty() {
        // isl takes `N * N` for a parameter of its own, with any value. A proof still holds then, but a counter-example
        // need not be one.
        for check in &mut checks {
            if matches!(check.proof, Proof::Refuted(_)) {
                check.proof = Proof::Undecided("products of symbols".into());
            }
        }
    }
    Ok(checks)
}

/// The names of a program's symbols, and of the expressions of them that loops compute.
fn naming(inferred: &Inferred, module: &Module) -> Naming {
    let names = &inferred.sets.names;
    let derived = names
        .all_derived()
        .filter_map(|(name, _)| Some((symbol(module, &inferred.sets, name)?, name.to_string())));
    Naming::new(names.parameters(), derived.collect())
}

/// A function together with all functions that are called before it in its block, as one function. They have the same
/// variables.
fn block(module: &Module, name: &str) -> Option<Function> {
    let last = module.functions.iter().position(|function| function.name == name)?;
    let other = |function: &Function| [KERNEL, PREPARE].contains(&function.name.as_str());
    let first = module.functions[..last].iter().rposition(other).map_or(0, |at| at + 1);
    let bodies = module.functions[first..=last].iter().flat_map(|function| &function.body);
    let body = bodies.cloned().collect();
    Some(Function { body, ..module.functions[last].clone() })
}

/// One block of the module, and its stores.
struct Stage<'a> {
    /// Whether it runs the rules of preprocess blocks.
    preprocess: bool,
    validator: Validator<'a>,
    read: executed::Function<'a>,
}

impl Stage<'_> {
    /// The outcomes of the four properties of a rule that this function runs.
    fn rule(&self, rule: &InferredRule, stages: &[Stage<'_>]) -> Result<[Proof; 4], SchedError> {
        let validator = &self.validator;
        if validator.inferred.program.is_dynamic(rule.rule) {
            let open = Proof::Undecided("its loops go over levels".into());
            return Ok([open.clone(), open.clone(), open.clone(), open]);
        }
        if !rule.statements.iter().all(Statement::is_exact) {
            let open =
                Proof::Undecided("something that is not affine decides what is executed".into());
            return Ok([open.clone(), open.clone(), open.clone(), open]);
        }
        let open = |proof: Proof| match proof {
            // A function may have been computed in another way.
            Proof::Refuted(why) if validator.has_functions(rule) => {
                Proof::Undecided(format!("functions of elements: {why}"))
            }
            proof => proof,
        };
        let statements = open(proof(validator.statements(rule))?);
        let mut elsewhere = stages
            .iter()
            .filter(|stage| stage.preprocess != self.preprocess)
            .flat_map(|stage| stage.read.sites.iter().map(move |site| (stage, site)));
        if elsewhere.clone().any(|(_, site)| site.buffer.0 as usize == rule.head.0) {
            let wrong = Proof::Refuted("another function writes it".into());
            return Ok([statements, wrong.clone(), wrong.clone(), wrong]);
        }
        let unread = stages.iter().flat_map(|stage| {
            let is_other = stage.preprocess != self.preprocess;
            stage.read.unread.iter().map(move |unread| (is_other && stage.preprocess, unread))
        });
        for (earlier, unread) in unread {
            if unread.writes(rule.head) || earlier && unread.reads(rule.head) {
                let open = Proof::Undecided(unread.why.clone());
                return Ok([statements, open.clone(), open.clone(), open]);
            }
        }
        let sites = &self.read.sites;
        let (outcome, elements) = match validator.executed(rule, sites) {
            Ok(known) => known,
            Err(Stop::Failed(error)) => return Err(error),
            Err(Stop::Not(proof)) => (Err(Stop::Not(proof.clone())), Err(Stop::Not(proof))),
        };
        let executed = open(proof(outcome)?);
        let elements = match elements {
            Ok(elements) => elements,
            Err(stop) => {
                let open = open(proof(Err(stop))?);
                return Ok([statements, executed, open.clone(), open]);
            }
        };
        let parallel = open(proof(validator.parallel(&elements))?);
        // `prepare` runs before `kernel`.
        let early = elsewhere.any(|(stage, site)| stage.preprocess && site.reads(rule.head));
        let written = match early {
            true => Proof::Refuted("it is read before it is complete".into()),
            false => open(proof(validator.written(rule.head, &self.read, &elements))?),
        };
        Ok([statements, executed, parallel, written])
    }
}

struct Validator<'a> {
    inferred: &'a Inferred,
    layouts: &'a [Layout],
    module: &'a Module,
    function: &'a Function,
    naming: &'a Naming,
}

/// Why a proof ends early.
enum Stop {
    /// The property does not hold, or cannot be decided.
    Not(Proof),
    /// Something else went wrong.
    Failed(SchedError),
}

impl Stop {
    fn undecided(why: impl Into<String>) -> Stop {
        Stop::Not(Proof::Undecided(why.into()))
    }

    fn refuted(why: impl Into<String>) -> Stop {
        Stop::Not(Proof::Refuted(why.into()))
    }
}

impl From<dastac_poly::Error> for Stop {
    fn from(error: dastac_poly::Error) -> Stop {
        match error {
            dastac_poly::Error::TooComplex { .. } => {
                Stop::undecided("the sets are too complex to decide")
            }
            error => Stop::Failed(error.into()),
        }
    }
}

impl From<LayoutError> for Stop {
    fn from(error: LayoutError) -> Stop {
        match error {
            LayoutError::Poly(error) => error.into(),
            error => Stop::Failed(error.into()),
        }
    }
}

impl From<SetError> for Stop {
    fn from(error: SetError) -> Stop {
        match error {
            SetError::Poly(error) => error.into(),
            // Inference handles products of symbols such as `N * N` by cases, which is not done here.
            SetError::User(diagnostic) => Stop::undecided(diagnostic.message),
        }
    }
}

impl From<dastac_stur::Diagnostic> for Stop {
    fn from(diagnostic: dastac_stur::Diagnostic) -> Stop {
        SetError::from(diagnostic).into()
    }
}

fn proof(outcome: Result<(), Stop>) -> Result<Proof, SchedError> {
    match outcome {
        Ok(()) => Ok(Proof::Proven),
        Err(Stop::Not(proof)) => Ok(proof),
        Err(Stop::Failed(error)) => Err(error),
    }
}
