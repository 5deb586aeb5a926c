//! The dense reference evaluator: every rule by plain loops over dense arrays, to the letter of the language's meaning.
//! Slow, obviously right, and the judge of everything compiled. It uses no isl and nothing of structure inference.
//!
//! For a rule `T(x) := sum of products`, every point of every product's iterators at which all comparisons hold adds
//! the product of its factors to `T(x)`. An access reads the stored unique value, or coefficient times the value that
//! the redundancy map leads to, or 0; a reciprocal is taken where the tensor is *structurally* non-zero, and makes the
//! product 0 elsewhere. Of a dynamic tensor what is stored is structurally non-zero. In another semiring than that of
//! sums and products, `adds`, `product` and 0 are the semiring's. Rules are computed one after the other, each from
//! finished tensors. Arithmetic is of 64 bits, of integers modulo 2^64 where the head has integers, else of floats;
//! what a rule computes into shorter elements is rounded or wrapped around once, when it is finished. Numbers are
//! complex where elements are; of such an element arrays of floats hold the real and the imaginary part.
//!
//! Shapes: the extent of a position is the largest over the regions of `:D` (or `:U` where there is no `:D`) of the
//! smallest upper bound that is written for its iterator, alone, against symbols and numbers; by interval propagation
//! where there is none. A head without `:D` gets the largest over products of the smallest of such bounds and the
//! extents of the tensors that it subscripts directly.

mod chosen;
mod code;
mod dense;
mod elements;
mod functional;
mod functions;
mod interval;
mod joins;
mod nest;
mod number;
mod reading;
mod shapes;
mod structure;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::ast::CompareOp;
use crate::program::{Access, Element, Product, Program, Rule, TensorId};
use code::{Code, Integers, Relation, relations};
use dastac_elements::Storage;
use dastac_formats::Format;
use dense::index_at;
use interval::{Interval, narrow};
use nest::Nest;
use number::{Kind, Number};

pub use dense::{Array, Dense, EvalError, position};
pub use elements::{Elements, Entries, Walk, WalkError, Walked};
pub use functional::{Functional, Weights};
pub use structure::{Contradiction, InputError, Status};

/// A program with values for its symbols.
#[derive(Debug)]
pub struct Evaluator<'a> {
    program: &'a Program,
    symbols: Vec<(String, i64)>,
    shapes: Vec<Vec<usize>>,
    /// For each tensor, whether its structure tells where a reciprocal is 0; else the values do.
    exact: Vec<bool>,
    /// Heads of rules with products that leave dimensions to others.
    open: BTreeSet<TensorId>,
}

/// A tensor's finished values, and where it is structurally non-zero.
struct Finished {
    element: Element,
    shape: Vec<usize>,
    values: Vec<Number>,
    support: Vec<bool>,
    /// Where it may be, whatever dynamic tensors store.
    possible: Vec<bool>,
}

/// An access of a product, prepared for reading.
struct Read {
    tensor: TensorId,
    subscripts: Vec<Code>,
    reciprocal: bool,
    /// Whether it only matters that the element is stored.
    position: bool,
    /// Whether it is an argument of a function.
    argument: bool,
}

impl<'a> Evaluator<'a> {
    /// Finds the shapes of all tensors for the given values of the symbols, in declaration order.
    ///
    /// # Errors
    /// A missing or negative symbol, overflow, a box that is unbounded or begins below 0.
    pub fn new(program: &'a Program, symbols: &[i64]) -> Result<Self, EvalError> {
        if symbols.len() != program.symbols.len() {
            let (expected, found) = (program.symbols.len(), symbols.len());
            return Err(EvalError::SymbolCount { expected, found });
        }
        let symbols: Vec<(String, i64)> = program
            .symbols
            .iter()
            .zip(symbols)
            .map(|((name, _), value)| (name.clone(), *value))
            .collect();
        if let Some((symbol, value)) = symbols.iter().find(|(_, value)| *value < 0) {
            return Err(EvalError::NegativeSymbol { symbol: symbol.clone(), value: *value });
        }
        let mut evaluator = Evaluator {
            program,
            symbols,
            shapes: vec![Vec::new(); program.tensors.len()],
            exact: program.exact_structures(),
            open: open_heads(program),
        };
        let computed = program.rules.iter().map(|rule| rule.head);
        let inputs = program.tensor_ids().filter(|id| program.tensor(*id).rule().is_none());
        // Rules are in dependency order: what a head's shape follows from is known before it.
        for id in inputs.chain(computed) {
            evaluator.shapes[id.0] = evaluator.box_of(id)?;
        }
        Ok(evaluator)
    }

    /// The shape of a tensor's dense array.
    pub fn shape(&self, tensor: TensorId) -> &[usize] {
        &self.shapes[tensor.0]
    }

    /// Upper bounds on the number of loop iterations of [`Evaluator::run`] and on the elements that it needs, so that a
    /// caller can decide whether to start a run.
    pub fn cost(&self) -> u128 {
        let elements = self.shapes.iter().map(|shape| {
            shape.iter().fold(1u128, |all, extent| all.saturating_mul(*extent as u128))
        });
        let mut cost = elements.fold(0u128, u128::saturating_add);
        for rule in &self.program.rules {
            for product in &rule.products {
                let count = self.nest(rule, product, &[]).map_or(0, |nest| nest.count());
                cost = cost.saturating_add(count);
            }
        }
        cost
    }

    /// Computes every rule.
    ///
    /// Inputs are read through their declared structure: only the values of unique elements matter.
    ///
    /// # Errors
    /// A missing input or one of the wrong shape, overflow, an unbounded iterator, contradictory structures, an element
    /// outside of its box.
    pub fn run(
        &self,
        inputs: &BTreeMap<TensorId, Dense>,
    ) -> Result<BTreeMap<TensorId, Dense>, EvalError> {
        self.run_stored(inputs, &BTreeMap::new())
    }

    /// Computes every rule. `stored` says which elements of dynamic inputs are stored, in C order; without it, these
    /// are the elements that are not 0. An element that is not stored is structurally zero, whatever its value in the
    /// array.
    ///
    /// # Errors
    /// The errors of [`Evaluator::run`], and a pattern that has another size than its tensor.
    pub fn run_stored(
        &self,
        inputs: &BTreeMap<TensorId, Dense>,
        stored: &BTreeMap<TensorId, Vec<bool>>,
    ) -> Result<BTreeMap<TensorId, Dense>, EvalError> {
        let results = self.run_patterns(inputs, stored)?;
        Ok(results.into_iter().map(|(id, (values, _))| (id, values)).collect())
    }

    /// Like [`Evaluator::run_stored`], but also returns the elements that are structurally not zero: those for which
    /// all factors of some product are stored and its comparisons hold. If the `:F` of a tensor ends in dense levels,
    /// these are whole blocks.
    ///
    /// # Errors
    /// As [`Evaluator::run_stored`].
    pub fn run_patterns(
        &self,
        inputs: &BTreeMap<TensorId, Dense>,
        stored: &BTreeMap<TensorId, Vec<bool>>,
    ) -> Result<BTreeMap<TensorId, (Dense, Vec<bool>)>, EvalError> {
        let inputs = inputs.iter().map(|(id, dense)| (*id, dense.clone().into())).collect();
        let results = self.run_exact(&inputs, stored)?;
        Ok(results.into_iter().map(|(id, (all, stored))| (id, (all.to_dense(), stored))).collect())
    }

    /// Like [`Evaluator::run_patterns`], of arrays of any element types, without rounding of integers. An array of
    /// other elements than its tensor's is one of 64-bit integers, of a tensor of integers, or one of 64-bit floats,
    /// two for each complex number, which are stored to the tensor.
    ///
    /// # Errors
    /// As [`Evaluator::run_stored`].
    pub fn run_exact(
        &self,
        inputs: &BTreeMap<TensorId, Array>,
        stored: &BTreeMap<TensorId, Vec<bool>>,
    ) -> Result<BTreeMap<TensorId, (Array, Vec<bool>)>, EvalError> {
        let mut finished: Vec<Option<Finished>> = Vec::new();
        for id in self.program.tensor_ids() {
            finished.push(match self.program.tensor(id).rule() {
                Some(_) => None,
                None => Some(self.input(id, inputs.get(&id), stored.get(&id))?),
            });
        }
        let mut results = BTreeMap::new();
        for rule in &self.program.rules {
            let mut result = self.compute(rule, &finished)?;
            let element = self.program.tensor(rule.head).element;
            result.values.iter_mut().for_each(|value| *value = value.stored(element));
            let mut result = self.structured(rule.head, result)?;
            match &self.program.tensor(rule.head).format {
                Some(storage) => {
                    with_blocks(&storage.format, self.shape(rule.head), &mut result.support);
                }
                // All that may be stored is.
                None => result.support.clone_from(&result.possible),
            }
            let data = number::elements(element, result.values.iter().copied());
            let data = data.ok_or_else(|| EvalError::TooLarge { tensor: self.name(rule.head) })?;
            let array = Array { shape: result.shape.clone(), data };
            results.insert(rule.head, (array, result.support.clone()));
            finished[rule.head.0] = Some(result);
        }
        Ok(results)
    }

    /// An input as it is read.
    fn input(
        &self,
        id: TensorId,
        array: Option<&Array>,
        stored: Option<&Vec<bool>>,
    ) -> Result<Finished, EvalError> {
        let (tensor, name) = (self.program.tensor(id), || self.name(id));
        let array = array.ok_or_else(|| EvalError::MissingInput { tensor: name() })?;
        let (element, elements) = (tensor.element, self.elements(id)?);
        let too_large = || EvalError::TooLarge { tensor: name() };
        let exact = |own| own == element || own == Element::I64 && element.is_integer();
        let numbers = match exact(array.data.element()) {
            true => None,
            false => {
                let numbers = array.data.to_f64();
                Some(Storage::of_numbers(element, &numbers).map_err(|_| too_large())?)
            }
        };
        let data = numbers.as_ref().unwrap_or(&array.data);
        let wrong = |found: Vec<usize>| EvalError::WrongShape {
            tensor: name(),
            expected: self.shape(id).to_vec(),
            found,
        };
        if array.shape != self.shape(id) || data.len() != elements {
            return Err(wrong(array.shape.clone()));
        }
        let mut values = Vec::new();
        values.try_reserve_exact(elements).map_err(|_| too_large())?;
        values.extend((0..elements).filter_map(|at| Number::read(data, at)));
        let support = match (&tensor.format, stored) {
            (None, _) => vec![true; elements],
            (Some(_), None) => values.iter().map(|value| !value.is_zero()).collect(),
            (Some(_), Some(pattern)) if pattern.len() == elements => pattern.clone(),
            (Some(_), Some(pattern)) => return Err(wrong(vec![pattern.len()])),
        };
        for (value, _) in values.iter_mut().zip(&support).filter(|(_, stored)| !**stored) {
            *value = Number::of(Kind::of(element), 0.0);
        }
        let shape = self.shape(id).to_vec();
        let possible = vec![true; elements];
        self.structured(id, Finished { element, shape, values, support, possible })
    }

    fn name(&self, tensor: TensorId) -> String {
        self.program.tensor(tensor).name.clone()
    }

    /// Elements of a tensor's dense array.
    fn elements(&self, tensor: TensorId) -> Result<usize, EvalError> {
        let shape = self.shape(tensor);
        let elements = shape.iter().try_fold(1usize, |all, extent| all.checked_mul(*extent));
        let fits = |elements: &usize| *elements <= isize::MAX as usize / 16;
        elements.filter(fits).ok_or_else(|| EvalError::TooLarge { tensor: self.name(tensor) })
    }

    fn compute(&self, rule: &Rule, finished: &[Option<Finished>]) -> Result<Finished, EvalError> {
        let elements = self.elements(rule.head)?;
        let shape = self.shape(rule.head);
        let semiring = rule.semiring;
        let element = self.program.tensor(rule.head).element;
        // Whether a number is 0 does not depend on its kind, and numbers of programs may be fractions.
        let kind = if element == Element::Bool { Kind::Reals } else { Kind::of(element) };
        let values = vec![Number::of(kind, self.program.start(rule.head)); elements];
        // Where an element has a position is known only when it is stored.
        let accesses = || rule.products.iter().flat_map(|product| &product.accesses);
        let anywhere = accesses().any(|access| access.position.is_some());
        let (support, possible) = (vec![false; elements], vec![anywhere; elements]);
        let shape_of_head = shape.to_vec();
        let mut result = Finished { element, shape: shape_of_head, values, support, possible };
        let inside = match &self.program.tensor(rule.head).domain {
            Some(_) => Some(self.domain(rule.head)?),
            None => None,
        };
        for product in &rule.products {
            let slots = &product.iterators;
            let head: Vec<usize> = rule
                .iterators
                .iter()
                .filter_map(|name| slots.iter().position(|slot| slot == name))
                .collect();
            let reads = self.reads(product)?;
            let functions = self.functions(rule, product)?;
            let mut constant = Number::of(kind, product.coefficient);
            for factor in &product.symbols {
                let value = Number::of_index(kind, self.symbols[factor.symbol].1);
                let value = if factor.reciprocal { value.reciprocal() } else { value };
                constant = number::multiply(semiring, constant, value);
            }
            self.nest(rule, product, finished)?.for_each(&[], &mut |point| {
                let index: Vec<i64> = head.iter().map(|slot| point[*slot]).collect();
                let at = position(shape, &index);
                if let Some(inside) = &inside
                    && !at.is_some_and(|at| inside[at])
                {
                    return Ok(()); // the rule defines its head within `:D`
                }
                let mut term = constant;
                let (mut is_stored, mut is_zero) = (true, false);
                // A result with a fill stores what any of its operands does.
                let mut is_placed = rule.fill.is_none();
                // Of arguments that are not stored the second says so only if they cannot be.
                let (mut arguments, mut possible) = (Vec::new(), Vec::new());
                for read in &reads {
                    let Some(tensor) = &finished[read.tensor.0] else {
                        return Err(EvalError::MissingInput { tensor: self.name(read.tensor) });
                    };
                    let index: Vec<i64> = read
                        .subscripts
                        .iter()
                        .map(|code| code.eval(point))
                        .collect::<Result<_, _>>()?;
                    let position = position(&tensor.shape, &index);
                    let found = position.filter(|at| tensor.support[*at]);
                    is_placed |=
                        found.is_some() && self.program.tensor(read.tensor).format.is_some();
                    let filled = self.program.fill(read.tensor) != 0.0;
                    let found = if filled { position } else { found };
                    let is_possible = position.is_some_and(|at| tensor.possible[at]);
                    let Some(at) = found else {
                        arguments.push(None);
                        possible.push(is_possible.then_some(Number::of(kind, 0.0)));
                        match (read.argument, is_possible) {
                            (true, _) => continue,
                            (false, true) => is_stored = false,
                            // Structurally zero, as a factor and as a reciprocal.
                            (false, false) => return Ok(()),
                        }
                        continue;
                    };
                    if read.position {
                        arguments.push(None);
                        possible.push(None);
                        continue;
                    }
                    let value = tensor.values[at];
                    let by_value = self.divides_by_value(read.tensor);
                    let value = match (read.reciprocal, by_value) {
                        (false, _) => value,
                        (true, true) if value.is_zero() => {
                            is_zero |= !read.argument;
                            value
                        }
                        (true, _) => value.reciprocal(),
                    };
                    arguments.push(Some(value));
                    possible.push(Some(value));
                    if !read.argument {
                        term = number::multiply(semiring, term, value.as_kind(kind));
                    }
                }
                let mut is_chosen = true;
                for function in &functions {
                    let structural = |arguments: &[Option<Number>]| -> Result<_, EvalError> {
                        let value = function.value(point, arguments)?;
                        let zero = value.is_zero() && !semiring.is_of_values();
                        Ok((value.number(), zero))
                    };
                    let (value, zero) = structural(&arguments)?;
                    if zero && structural(&possible)?.1 {
                        return Ok(());
                    }
                    is_stored &= !zero;
                    is_chosen &= rule.fill.is_some() || !function.leaves_out(value, semiring);
                    let value = if function.reciprocal { value.reciprocal() } else { value };
                    term = number::multiply(semiring, term, value);
                }
                is_stored &= is_chosen;
                let Some(at) = at else {
                    // What is not stored is nowhere.
                    return match is_stored {
                        true => Err(EvalError::OutsideBox { tensor: self.name(rule.head), index }),
                        false => Ok(()),
                    };
                };
                result.possible[at] = true;
                // Also where the functions that it is in are 0.
                if is_placed && (is_stored || rule.fill.is_some()) {
                    result.support[at] = true;
                }
                if is_stored && !is_zero {
                    result.values[at] = number::add(semiring, result.values[at], term);
                }
                Ok(())
            })?;
        }
        Ok(result)
    }

    /// Whether a reciprocal of a tensor is 0 where the element is, since no structure tells where that is.
    fn divides_by_value(&self, tensor: TensorId) -> bool {
        !self.exact[tensor.0] && self.program.tensor(tensor).format.is_none()
    }

    fn reads(&self, product: &Product) -> Result<Vec<Read>, EvalError> {
        let mut reads = Vec::new();
        for access in &product.accesses {
            let subscripts = access
                .subscripts
                .iter()
                .map(|subscript| Code::new(subscript, &product.iterators, &self.symbols))
                .collect::<Result<_, _>>()?;
            let position = access.position.is_some();
            let Access { tensor, reciprocal, argument, .. } = *access;
            reads.push(Read { tensor, subscripts, reciprocal, position, argument });
        }
        Ok(reads)
    }

    /// The positions of the elements of a dynamic tensor among its stored values. There are none if the tensor is not
    /// computed yet.
    fn positions(&self, tensor: TensorId, finished: &[Option<Finished>]) -> Integers {
        let shape = self.shape(tensor).to_vec();
        let Some(Some(Finished { support, .. })) = finished.get(tensor.0) else {
            return Integers::new(shape, Vec::new(), -1);
        };
        let mut stored: Vec<usize> = (0..support.len()).filter(|at| support[*at]).collect();
        if let Some(storage) = &self.program.tensor(tensor).format {
            stored.sort_by_cached_key(|at| {
                let index = index_at(&shape, *at);
                let levels = storage.format.map().levels().iter();
                levels.map(|expr| expr.value(&|at| index[at] as i128)).collect::<Vec<_>>()
            });
        }
        let mut of = vec![-1; support.len()];
        for (position, at) in stored.into_iter().enumerate() {
            of[at] = position as i64;
        }
        Integers::new(shape, of, -1)
    }

    /// The loops of a product, where some tensors are finished.
    fn nest(
        &self,
        rule: &Rule,
        product: &Product,
        finished: &[Option<Finished>],
    ) -> Result<Nest, EvalError> {
        let (mut ranges, mut limits) = self.limits(rule, product)?;
        if self.is_boxed(rule) {
            for (name, extent) in rule.iterators.iter().zip(self.shape(rule.head)) {
                if let Some(slot) = product.iterators.iter().position(|slot| slot == name) {
                    ranges[slot] = Interval { low: 0, high: *extent as i128 - 1 };
                }
            }
        }
        let mut relations = relations(&product.comparisons, &product.iterators, &self.symbols)?;
        for (access, read) in product.accesses.iter().zip(self.reads(product)?) {
            let slot = |name: &String| product.iterators.iter().position(|slot| slot == name);
            if let Some(slot) = access.position.as_ref().and_then(slot) {
                let (slot, positions) = (Code::Slot(slot), self.positions(read.tensor, finished));
                let code = Code::Element(Rc::new(positions), read.subscripts);
                let (zero, same) = (CompareOp::Ge, CompareOp::Eq);
                relations.push(Relation {
                    left: slot.clone(),
                    operator: zero,
                    right: Code::Const(0),
                });
                relations.push(Relation { left: slot, operator: same, right: code });
            }
        }
        // Each bound alone is not enough: `I(p + r) * (0 <= p < N)` bounds `r` only through both.
        limits.extend(relations.iter().cloned());
        narrow(&mut ranges, &limits);
        Nest::new(&product.iterators, 0, ranges, relations)
    }

    /// Whether the dimensions of a head bound its iterators: those of `:D`, or those that some products leave to
    /// others.
    fn is_boxed(&self, rule: &Rule) -> bool {
        let found = !self.shapes[rule.head.0].is_empty();
        self.program.tensor(rule.head).domain.is_some() || found && self.open.contains(&rule.head)
    }

    /// The relations that follow from a product's accesses: outside of a tensor's box, the product is zero.
    ///
    /// An argument of a function need not be there: it bounds the iterators only that are its subscripts, but for those
    /// of a head with dimensions. There are two relations for each subscript.
    fn limits(
        &self,
        rule: &Rule,
        product: &Product,
    ) -> Result<(Vec<Interval>, Vec<Relation>), EvalError> {
        let mut relations = Vec::new();
        let boxed = self.is_boxed(rule);
        for read in self.reads(product)? {
            for (code, extent) in read.subscripts.into_iter().zip(self.shape(read.tensor)) {
                let bounds = match code {
                    Code::Slot(slot) => {
                        !boxed || !rule.iterators.contains(&product.iterators[slot])
                    }
                    _ => false,
                };
                if read.argument && !bounds {
                    let nothing = Relation {
                        left: Code::Const(0),
                        operator: CompareOp::Eq,
                        right: Code::Const(0),
                    };
                    relations.extend([nothing.clone(), nothing]);
                    continue;
                }
                let extent = i64::try_from(*extent).map_err(|_| EvalError::Overflow)?;
                relations.push(Relation {
                    left: code.clone(),
                    operator: CompareOp::Ge,
                    right: Code::Const(0),
                });
                relations.push(Relation {
                    left: code,
                    operator: CompareOp::Lt,
                    right: Code::Const(extent),
                });
            }
        }
        Ok((vec![Interval::ALL; product.iterators.len()], relations))
    }
}

/// Heads of rules with products that leave dimensions to others.
fn open_heads(program: &Program) -> BTreeSet<TensorId> {
    let open = |rule: &&Rule| rule.products.iter().any(|product| rule.is_open(product));
    program.rules.iter().filter(open).map(|rule| rule.head).collect()
}

/// Extends a pattern to whole blocks: below the levels that store coordinates, all elements are stored if one of them
/// is.
fn with_blocks(format: &Format, shape: &[usize], support: &mut [bool]) {
    let Some(outer) = format.blocks_of_results() else { return };
    let block = |at: usize| {
        let (mut rest, mut index) = (at, vec![0; shape.len()]);
        for (place, extent) in index.iter_mut().zip(shape).rev() {
            (*place, rest) = (rest % extent, rest / extent);
        }
        outer.iter().map(|expr| expr.value(&|at| index[at] as i128)).collect::<Vec<i128>>()
    };
    let stored = (0..support.len()).filter(|at| support[*at]);
    let mut blocks: BTreeSet<Vec<i128>> = stored.map(block).collect();
    if outer.is_empty() {
        blocks.insert(Vec::new());
    }
    for (at, stored) in support.iter_mut().enumerate() {
        *stored = blocks.contains(&block(at));
    }
}
