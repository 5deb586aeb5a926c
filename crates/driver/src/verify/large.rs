//! Checks of single rules, at sizes that are too large for the dense evaluator.
//!
//! Each rule is checked by itself, with the values that were computed of the tensors that it reads: a walk over what
//! its operands store if it has few enough products; else random functionals, if it is a sum of products; else a walk
//! for some elements of the result ([`super::samples`]).

use std::collections::{BTreeMap, HashMap};

use dastac_elements::Number;
use dastac_runtime::{Instance, available_memory, unflatten};
use dastac_stur::program::{Role, Rule, TensorId};
use dastac_stur::reference::{
    Array, Elements, Entries, Evaluator, Walk, WalkError, Walked, position,
};

use super::Reference;
use super::check::{Check, Limits, Method};
use super::difference::{Verification, tolerances, worst_of};
use super::entries::{as_places, entries, storage, weight};
use super::unpacked::{Unlisted, is_nearly_empty, listed};
use crate::Error;
use crate::describe::id;

/// How many functionals are compared.
const FUNCTIONALS: u64 = 3;

/// Bytes of memory that a walk takes for a stored element or a computed one, beside its coordinates.
const BYTES_OF_ELEMENT: u128 = 160;

/// What a check of a rule has at hand.
pub(super) struct Rules<'c, 'a> {
    pub reference: Reference<'a>,
    pub instance: &'c Instance<'c>,
    inputs: &'c BTreeMap<TensorId, Array>,
    pub evaluator: Evaluator<'a>,
    pub tolerance: f64,
    limits: Limits,
}

impl Reference<'_> {
    /// Checks every rule by itself, whatever the sizes are; `progress` is told what is done.
    ///
    /// # Errors
    /// As [`Reference::compare`].
    pub fn compare_rules(
        &self,
        instance: &Instance<'_>,
        inputs: &BTreeMap<TensorId, Array>,
        limits: Limits,
        progress: &mut dyn FnMut(String),
    ) -> Result<Verification, Error> {
        let tolerances = tolerances(self.program);
        let mut worst = Verification::exact();
        let mut checks = Vec::new();
        for rule in &self.program.rules {
            let rules = Rules {
                reference: *self,
                instance,
                inputs,
                evaluator: self.evaluator(instance)?,
                tolerance: tolerances.get(&rule.head).copied().unwrap_or_default(),
                limits,
            };
            let tensor = self.program.tensor(rule.head).name.clone();
            progress(format!("checking `{tensor}`"));
            let (verification, method) = match rules.check(rule, progress) {
                Ok(checked) => checked,
                // Something else was checked, and too little memory is no disagreement.
                Err(Failed::Walk(WalkError::Unsupported(why))) => {
                    (Verification::exact(), Method::None { why: why.into() })
                }
                Err(Failed::Walk(WalkError::Eval(error))) => return Err(error.into()),
                Err(Failed::Memory(needed)) => {
                    let needed = dastac_runtime::human(needed);
                    let why = format!("it takes about {needed} of memory");
                    (Verification::exact(), Method::None { why })
                }
                Err(Failed::Run(error)) => return Err(error),
            };
            worst.take(verification);
            checks.push(Check { tensor, method });
        }
        Ok(Verification { checks, ..worst })
    }
}

/// Why a rule is not checked.
pub(super) enum Failed {
    Walk(WalkError),
    /// It would take so many bytes.
    Memory(u128),
    Run(Error),
}

impl From<WalkError> for Failed {
    fn from(error: WalkError) -> Failed {
        Failed::Walk(error)
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed::Run(error)
    }
}

impl From<dastac_runtime::Error> for Failed {
    fn from(error: dastac_runtime::Error) -> Failed {
        match error {
            dastac_runtime::Error::TooMuch { needed, .. } => Failed::Memory(needed),
            other => Failed::Run(other.into()),
        }
    }
}

impl Rules<'_, '_> {
    fn check(
        &self,
        rule: &Rule,
        progress: &mut dyn FnMut(String),
    ) -> Result<(Verification, Method), Failed> {
        let mut operands = HashMap::new();
        for access in rule.products.iter().flat_map(|product| &product.accesses) {
            if let std::collections::hash_map::Entry::Vacant(entry) = operands.entry(access.tensor)
            {
                entry.insert(self.elements(access.tensor)?);
            }
        }
        let found = self.elements(rule.head)?;
        let name = &self.reference.program.tensor(rule.head).name;
        let walk = Walk { operands: &operands, wanted: None, progress: &mut |_| {} };
        let cost = self.evaluator.walk_cost(rule, &walk, self.limits.products);
        let room = |elements: u128| {
            elements.saturating_mul(BYTES_OF_ELEMENT) < u128::from(available_memory() / 2)
        };
        let cells = self.instance.facts()[rule.head.0].cells();
        let is_structured = self.reference.program.tensor(rule.head).redundancy.is_some();
        if let Ok(cost) = cost
            && cost <= self.limits.products
            && room(cost.min(cells).saturating_add(if is_structured { cells } else { 0 }))
        {
            let mut told = |done: u128| {
                progress(format!("checking `{name}` ({}%)", done * 100 / cost.max(1)));
            };
            let mut walk = Walk { operands: &operands, wanted: None, progress: &mut told };
            let walked = self.evaluator.walk(rule, &mut walk)?;
            let verification = self.compared(rule, &found, walked)?;
            let products = u64::try_from(cost).unwrap_or(u64::MAX);
            return Ok((verification, Method::Walk { products }));
        }
        progress(format!("checking `{name}` by random functionals"));
        match self.functionals(rule, &operands, &found)? {
            Some(verification) => {
                Ok((verification, Method::Functionals { functionals: FUNCTIONALS }))
            }
            None => {
                progress(format!("checking some elements of `{name}`"));
                self.samples(rule, &operands, &found)
            }
        }
    }

    /// The elements of a tensor that were given or computed.
    fn elements(&self, tensor: TensorId) -> Result<Elements, Failed> {
        let declared = self.reference.program.tensor(tensor);
        let fact = &self.instance.facts()[tensor.0];
        let is_given = declared.role == Role::Input && self.inputs.contains_key(&tensor);
        if is_nearly_empty(fact) && !is_given {
            let each = 8 * declared.rank as u64 + BYTES_OF_ELEMENT as u64;
            let most = usize::try_from(available_memory() / 2 / each).unwrap_or(usize::MAX);
            let shape = self.instance.shape(id(tensor))?;
            let from = (self.instance.symbols(), self.instance.packed(id(tensor)));
            match self.reference.movement.map(|one| listed(one, tensor, from, &shape, most)) {
                Some(Ok(entries)) => {
                    let shape = self.evaluator.shape(tensor).to_vec();
                    return Ok(Elements::Stored(Entries { shape, ..entries }));
                }
                Some(Err(Unlisted::TooMany)) => return Err(Failed::Memory(fact.dense_bytes)),
                Some(Err(Unlisted::Other)) | None => {}
            }
        }
        let stored = if fact.format.is_some() { fact.unique.max(0) as u128 } else { fact.cells() };
        let each = match fact.format {
            Some(_) => 8 * declared.rank as u128 + BYTES_OF_ELEMENT,
            None => 2 * fact.element.bytes() as u128,
        };
        dastac_runtime::check_memory("checking", stored.saturating_mul(each))?;
        let shape = self.evaluator.shape(tensor);
        if declared.format.is_some() {
            if declared.role != Role::Input {
                return Ok(Elements::Stored(entries(&self.instance.assembled(id(tensor))?)));
            }
            let bound = self.instance.bound(id(tensor));
            let missing = WalkError::Unsupported("an operand stands in the caller's memory");
            return Ok(Elements::Stored(entries(bound.ok_or(missing)?)));
        }
        let given = self.inputs.get(&tensor).filter(|_| declared.role == Role::Input);
        let array = match given {
            Some(array) => array.resized(shape),
            None => {
                let shape = self.instance.shape(id(tensor))?;
                Array { shape, data: self.instance.unpacked(id(tensor))? }
            }
        };
        Ok(Elements::All(array.resized(shape)))
    }

    /// Compares all elements with those that a walk computed.
    fn compared(
        &self,
        rule: &Rule,
        found: &Elements,
        walked: Vec<Walked>,
    ) -> Result<Verification, Failed> {
        let program = self.reference.program;
        let (name, element) = (&program.tensor(rule.head).name, program.tensor(rule.head).element);
        let zero = self.zero(rule);
        match found {
            Elements::All(array) => {
                let mut expected = vec![zero; array.data.len()];
                for Walked { index, value, .. } in walked {
                    if let Some(at) = position(&array.shape, &index) {
                        expected[at] = value;
                    }
                }
                let index = |at: usize| unflatten(at, &array.shape);
                let expected = storage(element, expected.into_iter());
                Ok(worst_of(name, &index, &array.data, &expected, self.tolerance))
            }
            Elements::Stored(entries) => {
                let mut expected: HashMap<Vec<i64>, Number> =
                    walked.into_iter().filter(|one| one.stored).map(Walked::pair).collect();
                let spare = self.may_spare(rule);
                let is_packed = program.tensor(rule.head).format.is_none();
                if is_packed {
                    // It stores all elements that may be there; what it does not store is zero.
                    expected.retain(|index, value| entries.find(index).is_some() || *value != zero);
                }
                let mut wanted = Vec::new();
                let mut other = None;
                for at in 0..entries.len() {
                    let value = expected.remove(entries.at(at));
                    let is_zero = || entries.values.is(at, program.zero(rule.head));
                    if value.is_none() && !is_packed && !(spare && is_zero()) {
                        other.get_or_insert((entries.at(at).to_vec(), true));
                    }
                    wanted.push(value.unwrap_or(zero));
                }
                if let Some(index) = expected.into_keys().min() {
                    other.get_or_insert((index, false));
                }
                let index = |at: usize| as_places(entries.at(at));
                let (found, wanted) = (
                    storage(element, entries.values.numbers()),
                    storage(element, wanted.into_iter()),
                );
                let mut worst = worst_of(name, &index, &found, &wanted, self.tolerance);
                if let Some((index, is)) = other {
                    worst.max_error = f64::INFINITY;
                    worst.stored = Some((name.clone(), as_places(&index), is));
                }
                Ok(worst)
            }
        }
    }

    /// Compares functionals, if the rule has such and they are finite.
    fn functionals(
        &self,
        rule: &Rule,
        operands: &HashMap<TensorId, Elements>,
        found: &Elements,
    ) -> Result<Option<Verification>, Failed> {
        let program = self.reference.program;
        let element = program.tensor(rule.head).element;
        let mut worst = Verification { tolerance: 0.0, ..Verification::exact() };
        for seed in 0..FUNCTIONALS {
            let weights = |dimension: usize, at: i64| weight(element, seed, dimension, at);
            let own = self.evaluator.functional(rule, operands, &weights, self.limits.steps);
            let own = match own {
                Err(WalkError::Unsupported(_)) => return Ok(None),
                other => other?,
            };
            let of = self.evaluator.functional_of(rule.head, found, &weights);
            let of = of.map_err(WalkError::from)?;
            let magnitude = own.magnitude.max(of.magnitude);
            if !magnitude.is_finite() {
                return Ok(None);
            }
            let terms = own.terms.max(of.terms) as f64;
            let rounding = 64.0 * element.part().epsilon() + 8.0 * f64::EPSILON * terms.sqrt();
            let tolerance = if element.is_integer() { 0.0 } else { rounding };
            let error = own.distance(&of, element) / magnitude.max(f64::MIN_POSITIVE);
            worst.take(Verification {
                max_error: error,
                tolerance,
                functional: Some(program.tensor(rule.head).name.clone()),
                ..Verification::exact()
            });
        }
        Ok(Some(worst))
    }
}
