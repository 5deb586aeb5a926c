//! The judge: what inference says of a program, compared with the values that the reference evaluator computes from
//! random inputs.
//!
//! For every tensor: unique and redundant elements are disjoint, redundancies lead to unique elements with the right
//! coefficient, all other elements are exactly zero. For every rule: no point stands in two statements of one product,
//! and the statements together compute the unique elements.

use std::collections::{BTreeMap, BTreeSet};

use dastac_poly::{Context, Set};
use dastac_stur::ast::Operation;
use dastac_stur::infer::{
    Inferred, InferredRule, Redundancy, fold, infer, map_to_stur, set_to_stur,
};
use dastac_stur::program::{Role, Scalar, TensorId};
use dastac_stur::reference::{Dense, Evaluator};
use dastac_stur::sets::Affine;
use rand::SeedableRng;

/// Points that one set may have.
const MAX_POINTS: usize = 200_000;
/// Iterations that the reference evaluator may take.
const MAX_COST: u128 = 2_000_000;

/// Infers, or says why not.
pub fn analyse(source: &str) -> Result<Inferred, String> {
    let (program, _) = dastac_stur::load(source).map_err(|errors| format!("{errors:#?}"))?;
    let context = Context::new().map_err(|error| error.to_string())?;
    infer(&program, &context).map_err(|error| format!("{error:?}"))
}

/// Checks everything at one size. Nothing where the program means nothing at this size, or too much; true where it was
/// checked.
pub fn check(inferred: &Inferred, source: &str, symbols: &[i64]) -> Result<bool, String> {
    let program = &inferred.program;
    let Ok(evaluator) = Evaluator::new(program, symbols) else { return Ok(false) };
    if evaluator.cost() > MAX_COST {
        return Ok(false);
    }
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(7);
    let mut inputs = BTreeMap::new();
    for id in program.tensor_ids().filter(|id| program.tensor(*id).role == Role::Input) {
        let mut input = evaluator.random_input(id, &mut rng).map_err(|e| e.to_string())?;
        for element in input.data.chunks_mut(program.tensor(id).element.parts()) {
            element[1..].fill(0.0); // complex numbers that are real, so that their results are
        }
        inputs.insert(id, input);
    }
    let mut values = evaluator.run(&inputs).map_err(|error| error.to_string())?;
    values.extend(inputs);
    for (id, dense) in &mut values {
        let parts = program.tensor(*id).element.parts();
        dense.data = dense.data.iter().copied().step_by(parts).collect();
    }
    let named = inferred.parameter_values(symbols).map_err(|error| format!("{error:?}"))?;
    let names = inferred.sets.names.parameters();
    let named: Vec<(String, i64)> = names
        .into_iter()
        .map(|name| (name.clone(), named[inferred.sets.names.original(&name)]))
        .collect();
    let judge = Judge { inferred, symbols, named, values };
    for id in program.tensor_ids() {
        judge.tensor(id).map_err(|error| format!("{symbols:?}: {error}\n{source}"))?;
    }
    for rule in &inferred.rules {
        judge.rule(rule).map_err(|error| format!("{symbols:?}: {error}\n{source}"))?;
    }
    Ok(true)
}

struct Judge<'a> {
    inferred: &'a Inferred,
    symbols: &'a [i64],
    /// By isl name.
    named: Vec<(String, i64)>,
    values: BTreeMap<TensorId, Dense>,
}

impl Judge<'_> {
    fn points(&self, set: &Set) -> Vec<Vec<i64>> {
        set.fix_params(&self.named).unwrap().points(MAX_POINTS).unwrap()
    }

    fn at(&self, id: TensorId, point: &[i64]) -> Result<f64, String> {
        let name = &self.inferred.program.tensor(id).name;
        self.values[&id].get(point).ok_or_else(|| format!("{name}{point:?} is outside of its box"))
    }

    fn tensor(&self, id: TensorId) -> Result<(), String> {
        let name = &self.inferred.program.tensor(id).name;
        let structured = &self.inferred.tensors[id.0];
        let mut known: BTreeMap<Vec<i64>, bool> = BTreeMap::new();
        for point in self.points(&structured.unique) {
            self.at(id, &point)?;
            known.insert(point, true);
        }
        for piece in &structured.redundancy {
            let fixed = match piece {
                Redundancy::Affine { map, .. } => Some(map.fix_params(&self.named).unwrap()),
                Redundancy::Sorted { .. } => None,
            };
            for point in self.points(&piece.domain().unwrap()) {
                let (target, coefficient) = match (piece, &fixed) {
                    (Redundancy::Affine { coefficient, .. }, Some(map)) => {
                        let image = map.image_of_point(&[], &point).unwrap().points(2).unwrap();
                        let [target] = image.as_slice() else {
                            return Err(format!("{name}{point:?} -> {image:?}"));
                        };
                        (target.clone(), coefficient.value(&|symbol| self.named[symbol].1))
                    }
                    (Redundancy::Sorted { classes, .. }, _) => (sorted(classes, &point), 1.0),
                    _ => unreachable!(),
                };
                if known.get(&target) != Some(&true) {
                    return Err(format!("{name}{point:?} -> {target:?}, which is not unique"));
                }
                let (value, wanted) = (self.at(id, &point)?, coefficient * self.at(id, &target)?);
                if !close(value, wanted, wanted.abs().max(1.0)) {
                    return Err(format!("{name}{point:?} = {value}, not {wanted}"));
                }
                if known.insert(point.clone(), false).is_some() {
                    return Err(format!("{name}{point:?} is there twice"));
                }
            }
        }
        let support: BTreeSet<Vec<i64>> = self.points(&structured.support).into_iter().collect();
        if !support.iter().eq(known.keys()) {
            return Err(format!("the support of {name} is not what is unique or redundant"));
        }
        let program = &self.inferred.program;
        let rule = program.tensor(id).rule();
        let zero = rule.map_or(0.0, |rule| program.rules[rule.0].semiring.zero());
        let dense = &self.values[&id];
        for (position, value) in dense.data.iter().enumerate() {
            let mut index = vec![0i64; dense.shape.len()];
            let mut rest = position;
            for (slot, extent) in index.iter_mut().zip(&dense.shape).rev() {
                *slot = (rest % extent) as i64;
                rest /= extent;
            }
            if !known.contains_key(&index) && !close(*value, zero, 1e-3) {
                return Err(format!("{name}{index:?} = {value}, not {zero}"));
            }
        }
        Ok(())
    }

    fn rule(&self, rule: &InferredRule) -> Result<(), String> {
        let head = &self.inferred.program.rules[rule.rule.0];
        let name = &self.inferred.program.tensor(rule.head).name;
        if rule.statements.iter().any(|statement| !statement.is_exact()) {
            return Ok(()); // what is not affine is not a set of points
        }
        let mut sums: BTreeMap<Vec<i64>, (f64, f64)> = BTreeMap::new();
        let mut seen: BTreeSet<(usize, Vec<i64>)> = BTreeSet::new();
        for statement in &rule.statements {
            let position =
                |name: &str| statement.iterators.iter().position(|iterator| iterator == name);
            for point in self.points(&statement.domain) {
                // A minimum of values takes a number once or several times.
                let again = !seen.insert((statement.product, point.clone()));
                if again && !head.semiring.is_of_values() {
                    return Err(format!("{name}: {point:?} is in two statements"));
                }
                let value_of = |name: &str| -> Option<i64> {
                    let isl = self.inferred.sets.names.isl(name);
                    let symbol = || self.named.iter().find(|(n, _)| n == isl).map(|(_, v)| *v);
                    position(name).map(|k| point[k]).or_else(symbol)
                };
                let eval = |all: &[Affine]| -> Option<Vec<i64>> {
                    all.iter().map(|one| one.eval(&value_of)).collect()
                };
                let semiring = head.semiring;
                let mut value = semiring.multiply(semiring.one(), statement.coefficient);
                for (symbol, reciprocal) in &statement.symbols {
                    let factor = self.named[*symbol].1 as f64;
                    let factor = if *reciprocal { 1.0 / factor } else { factor };
                    value = semiring.multiply(value, factor);
                }
                let mut elements = Vec::new();
                for read in &statement.reads {
                    let index = sorted(&read.sorted, &eval(&read.subscripts).unwrap());
                    // What is not stored is the semiring's zero as a factor, and 0 as an argument and among values.
                    let absent = !read.argument
                        && !semiring.is_of_values()
                        && self.inferred.program.tensor(read.tensor).format.is_some();
                    let factor = match self.at(read.tensor, &index)? {
                        0.0 if absent => semiring.zero(),
                        factor => factor,
                    };
                    let factor = if read.reciprocal { 1.0 / factor } else { factor };
                    elements.push(factor);
                    if !read.argument {
                        value = semiring.multiply(value, factor);
                    }
                }
                for function in &statement.functions {
                    let known = function.value.map(&mut |leaf| match leaf {
                        Scalar::Element(at) => Scalar::Number(elements[*at]),
                        Scalar::Symbol(at) => Scalar::Number(self.named[*at].1 as f64),
                        Scalar::Index(name) => Scalar::Number(value_of(name).unwrap() as f64),
                        leaf => leaf.clone(),
                    });
                    let factor = evaluated(&known);
                    let factor = if function.reciprocal { 1.0 / factor } else { factor };
                    value = semiring.multiply(value, factor);
                }
                let head: Option<Vec<i64>> = head.iterators.iter().map(|it| value_of(it)).collect();
                let sum = sums.entry(head.unwrap()).or_insert((semiring.zero(), 0.0));
                *sum = (semiring.add(sum.0, value), sum.1 + value.abs());
            }
        }
        let unique = self.points(&self.inferred.tensors[rule.head.0].unique);
        for point in &unique {
            let (sum, size) = sums.remove(point).unwrap_or((head.semiring.zero(), 0.0));
            let wanted = self.at(rule.head, point)?;
            if !close(sum, wanted, size.max(1.0)) {
                return Err(format!("the statements make {name}{point:?} {sum}, not {wanted}"));
            }
        }
        match sums.into_keys().next() {
            None => Ok(()),
            Some(point) => Err(format!("{name}{point:?} is computed, but not unique")),
        }
        .map(|()| debug_assert_eq!(self.symbols.len(), self.inferred.program.symbols.len()))
    }
}

/// The value of an expression of numbers. Unlike in [`fold`], where a 0 is one of structure, a number over 0 is not 0.
fn evaluated(value: &Scalar) -> f64 {
    let parts: Vec<f64> = value.parts().iter().map(evaluated).collect();
    match (value, &parts[..]) {
        (Scalar::Product(_), parts) => parts.iter().product(),
        (Scalar::Apply(Operation::Divide, _), [dividend, divisor]) => dividend / divisor,
        (Scalar::Apply(Operation::Function(function), _), parts) if function.is_quotient() => {
            function.eval(parts)
        }
        (Scalar::Apply(operation, _), parts) => {
            let parts = parts.iter().map(|part| Scalar::Number(*part)).collect();
            match fold(&Scalar::Apply(*operation, parts)) {
                Scalar::Number(number) => number,
                other => unreachable!("{other:?}"),
            }
        }
        (Scalar::Sum(_), parts) => parts.iter().sum(),
        (Scalar::Number(number), _) => *number,
        (leaf, _) => unreachable!("{leaf:?}"),
    }
}

/// Equal up to rounding; numbers that are not finite agree with all that are not.
fn close(a: f64, b: f64, size: f64) -> bool {
    a == b || !a.is_finite() && !b.is_finite() || (a - b).abs() <= 1e-6 * size
}

fn sorted(classes: &[Vec<usize>], point: &[i64]) -> Vec<i64> {
    let mut result = point.to_vec();
    for class in classes {
        let mut values: Vec<i64> = class.iter().map(|&k| point[k]).collect();
        values.sort_unstable();
        class.iter().zip(values).for_each(|(&k, value)| result[k] = value);
    }
    result
}

/// The structure of a tensor as text.
pub fn structure(inferred: &Inferred, id: TensorId) -> String {
    let structured = &inferred.tensors[id.0];
    let (sets, iterators) = (&inferred.sets, &structured.iterators);
    let extents: Vec<String> = structured.extents.iter().map(ToString::to_string).collect();
    let mut text = format!("box {}\n", extents.join(" x "));
    text += &format!("U := {}\n", set_to_stur(sets, &structured.unique, iterators).unwrap());
    for piece in &structured.redundancy {
        match piece {
            Redundancy::Affine { map, coefficient } => {
                let map = map_to_stur(sets, map, coefficient, iterators).unwrap();
                text += &format!("R := {map}\n");
            }
            Redundancy::Sorted { classes, .. } => text += &format!("R sorts {classes:?}\n"),
        }
    }
    text
}
