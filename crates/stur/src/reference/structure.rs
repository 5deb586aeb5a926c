//! Declared structure by brute force: which elements are unique, which are redundant and to which others they lead, and
//! which are zero.

use rand::RngCore;

use super::code::relations;
use super::interval::Interval;
use super::nest::Nest;
use super::number::{Kind, Number};
use super::{Dense, EvalError, Evaluator, Finished, index_at, position};
use crate::program::{Element, Region, Structure, TensorId};

/// The role of an element in its tensor's declared structure.
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// Stored.
    Unique,
    /// `coefficient` times the element at `target`, which is unique.
    Redundant {
        /// The unique element.
        target: Vec<i64>,
        /// The redundancy's coefficient.
        coefficient: f64,
    },
    /// Structurally zero.
    Zero,
}

/// An array that contradicts its declared structure.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("element {index:?} of `{tensor}` is {found}, but its structure makes it {expected}")]
pub struct Contradiction {
    /// The tensor.
    pub tensor: String,
    /// The first such element in C order.
    pub index: Vec<i64>,
    /// The value that follows from the structure and the other elements.
    pub expected: f64,
    /// The value in the array.
    pub found: f64,
}

/// What is wrong with an input.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InputError {
    /// Its elements contradict its structure.
    #[error(transparent)]
    Contradiction(#[from] Contradiction),
    /// The wrong shape, or a structure that cannot be evaluated.
    #[error(transparent)]
    Eval(#[from] EvalError),
}

/// [`Status`] with the target as a position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell {
    Zero,
    Unique,
    Redundant { target: usize, coefficient: f64 },
}

/// How far a redundant element of a given array may be from its exact value, relative to that value, because other
/// programs round too. Floats shorter than 64 bits may be off by a few of their last digits.
const TOLERANCE: f64 = 1e-9;

impl Evaluator<'_> {
    /// The role of an element, by the tensor's `:D`, `:U` and `:R`. Elements outside of the box are zero; all elements
    /// in the box of a computed tensor without declared structure are unique.
    ///
    /// # Errors
    /// Overflow, unbounded auxiliary iterators, or an element with more than one meaning.
    pub fn is_stored(&self, tensor: TensorId, index: &[i64]) -> Result<Status, EvalError> {
        let declared = self.program.tensor(tensor);
        if position(self.shape(tensor), index).is_none() || !self.in_domain(tensor, index)? {
            return Ok(Status::Zero);
        }
        let unique = self.in_unique(tensor, index)?;
        let mut found: Option<(Vec<i64>, f64)> = None;
        if let Some(structure) = &declared.redundancy {
            for region in &structure.regions {
                let nest = self.region(tensor, structure, region, Some(index))?;
                nest.for_each(index, &mut |point| {
                    let target = &point[declared.rank..2 * declared.rank];
                    let coefficient = self.coefficient(region);
                    let same = |(t, c): &(Vec<i64>, f64)| t == target && *c == coefficient;
                    if found.as_ref().is_some_and(|found| !same(found)) {
                        return Err(self.structure_error(tensor, index, "has two redundancies"));
                    }
                    found = Some((target.to_vec(), coefficient));
                    Ok(())
                })?;
            }
        }
        match found {
            None if unique => Ok(Status::Unique),
            None => Ok(Status::Zero),
            Some(_) if unique => {
                Err(self.structure_error(tensor, index, "is both unique and redundant"))
            }
            Some((target, coefficient)) => {
                let inside = position(self.shape(tensor), &target).is_some();
                if !inside
                    || !self.in_domain(tensor, &target)?
                    || !self.in_unique(tensor, &target)?
                {
                    let problem = format!("leads to {target:?}, which is not unique");
                    return Err(self.structure_error(tensor, index, &problem));
                }
                Ok(Status::Redundant { target, coefficient })
            }
        }
    }

    /// A random array with the declared structure of a tensor: unique elements, or their parts, in ±[0.25, 1], so that
    /// reciprocals and relative errors stay tame. About half of a dynamic tensor is 0.
    ///
    /// # Errors
    /// As for [`Evaluator::run`].
    pub fn random_input<R: RngCore + ?Sized>(
        &self,
        tensor: TensorId,
        rng: &mut R,
    ) -> Result<Dense, EvalError> {
        let cells = self.cells(tensor)?;
        let element = self.program.tensor(tensor).element;
        let mut data = vec![0.0; cells.len() * element.parts()];
        let dynamic = self.program.tensor(tensor).format.is_some();
        for (parts, cell) in data.chunks_exact_mut(element.parts()).zip(&cells) {
            if *cell == Cell::Unique {
                let mut bits = rng.next_u64();
                if dynamic && bits & 2 == 0 {
                    continue;
                }
                for (at, part) in parts.iter_mut().enumerate() {
                    if at > 0 {
                        bits = rng.next_u64();
                    }
                    let unit = (bits >> 11) as f64 / (1u64 << 53) as f64;
                    *part = element.sample(unit, bits & 1 != 0);
                }
            }
        }
        fill(&cells, &mut data, element.parts());
        Ok(Dense { shape: self.shape(tensor).to_vec(), data })
    }

    /// Whether an array has the declared structure of a tensor.
    ///
    /// # Errors
    /// The first element, in C order, that is not what the structure says.
    pub fn check_input(&self, tensor: TensorId, input: &Dense) -> Result<(), InputError> {
        let cells = self.cells(tensor)?;
        let element = self.program.tensor(tensor).element;
        let parts = element.parts();
        if input.shape != self.shape(tensor) || input.data.len() != cells.len() * parts {
            return Err(InputError::Eval(EvalError::WrongShape {
                tensor: self.name(tensor),
                expected: self.shape(tensor).to_vec(),
                found: input.shape.clone(),
            }));
        }
        for (at, found) in input.data.iter().enumerate() {
            let expected = match cells[at / parts] {
                Cell::Unique => continue,
                Cell::Zero => 0.0,
                Cell::Redundant { target, coefficient } => {
                    coefficient * input.data[target * parts + at % parts]
                }
            };
            let tolerance = match element.part() {
                Element::F64 => TOLERANCE,
                shorter => 8.0 * shorter.epsilon(),
            };
            let close = (found - expected).abs() <= tolerance * expected.abs();
            if !(close || *found == expected || found.is_nan() && expected.is_nan()) {
                let index = index_at(&input.shape, at / parts);
                let tensor = self.name(tensor);
                return Err(Contradiction { tensor, index, expected, found: *found }.into());
            }
        }
        Ok(())
    }

    /// Where a tensor's `:D` holds, over its box.
    pub(super) fn domain(&self, tensor: TensorId) -> Result<Vec<bool>, EvalError> {
        let domain = &self.program.tensor(tensor).domain;
        let Some(structure) = domain else { return Ok(vec![true; self.elements(tensor)?]) };
        self.marks(tensor, structure)
    }

    /// A tensor as it is read: through its declared structure.
    pub(super) fn structured(
        &self,
        tensor: TensorId,
        mut it: Finished,
    ) -> Result<Finished, EvalError> {
        let declared = self.program.tensor(tensor);
        if declared.domain.is_none() && declared.unique.is_none() && declared.redundancy.is_none() {
            return Ok(it);
        }
        let cells = self.cells(tensor)?;
        let zero = Number::of(Kind::of(it.element), self.program.zero(tensor));
        for (at, cell) in cells.iter().enumerate() {
            match *cell {
                Cell::Zero => it.values[at] = zero,
                Cell::Unique => {}
                Cell::Redundant { target, coefficient } => {
                    it.values[at] = it.values[target].scaled(coefficient, it.element);
                }
            }
        }
        for marks in [&mut it.support, &mut it.possible] {
            for (at, cell) in cells.iter().enumerate() {
                marks[at] &= *cell != Cell::Zero;
            }
            for (at, cell) in cells.iter().enumerate() {
                if let Cell::Redundant { target, .. } = cell {
                    marks[at] = marks[*target];
                }
            }
        }
        Ok(it)
    }

    fn structure_error(&self, tensor: TensorId, index: &[i64], problem: &str) -> EvalError {
        EvalError::Structure {
            tensor: self.name(tensor),
            index: index.to_vec(),
            problem: problem.into(),
        }
    }

    /// The role of every element of the box.
    pub(super) fn cells(&self, tensor: TensorId) -> Result<Vec<Cell>, EvalError> {
        let declared = self.program.tensor(tensor);
        let shape = self.shape(tensor);
        let inside = self.domain(tensor)?;
        let mut unique = inside.clone();
        if let Some(structure) = &declared.unique {
            let marked = self.marks(tensor, structure)?;
            unique.iter_mut().zip(marked).for_each(|(unique, marked)| *unique &= marked);
        }
        let mut cells: Vec<Cell> =
            unique.iter().map(|unique| if *unique { Cell::Unique } else { Cell::Zero }).collect();
        let Some(structure) = &declared.redundancy else { return Ok(cells) };
        for region in &structure.regions {
            let nest = self.region(tensor, structure, region, None)?;
            nest.for_each(&[], &mut |point| {
                let (index, rest) = point.split_at(declared.rank);
                let target = &rest[..declared.rank];
                let Some(at) = position(shape, index).filter(|at| inside[*at]) else {
                    return Ok(());
                };
                let Some(target) = position(shape, target).filter(|target| unique[*target]) else {
                    let problem = format!("leads to {target:?}, which is not unique");
                    return Err(self.structure_error(tensor, index, &problem));
                };
                let cell = Cell::Redundant { target, coefficient: self.coefficient(region) };
                match cells[at] {
                    Cell::Zero => cells[at] = cell,
                    Cell::Unique => {
                        return Err(self.structure_error(
                            tensor,
                            index,
                            "is both unique and redundant",
                        ));
                    }
                    other if other == cell => {}
                    _ => return Err(self.structure_error(tensor, index, "has two redundancies")),
                }
                Ok(())
            })?;
        }
        Ok(cells)
    }

    /// The value of a region's coefficient.
    fn coefficient(&self, region: &Region) -> f64 {
        region.coefficient.value(&|symbol| self.symbols[symbol].1)
    }

    /// Where a `:D` or `:U` holds, over the tensor's box.
    fn marks(&self, tensor: TensorId, structure: &Structure) -> Result<Vec<bool>, EvalError> {
        let shape = self.shape(tensor);
        let mut marks = vec![false; self.elements(tensor)?];
        for region in &structure.regions {
            let nest = self.region(tensor, structure, region, None)?;
            nest.for_each(&[], &mut |point| {
                if let Some(at) = position(shape, &point[..shape.len()]) {
                    marks[at] = true;
                }
                Ok(())
            })?;
        }
        Ok(marks)
    }

    pub(super) fn in_domain(&self, tensor: TensorId, index: &[i64]) -> Result<bool, EvalError> {
        self.holds(tensor, self.program.tensor(tensor).domain.as_ref(), index)
    }

    fn in_unique(&self, tensor: TensorId, index: &[i64]) -> Result<bool, EvalError> {
        self.holds(tensor, self.program.tensor(tensor).unique.as_ref(), index)
    }

    /// Whether an index is in a structure. Without a structure, every index is.
    fn holds(
        &self,
        tensor: TensorId,
        structure: Option<&Structure>,
        index: &[i64],
    ) -> Result<bool, EvalError> {
        let Some(structure) = structure else { return Ok(true) };
        let mut found = false;
        for region in &structure.regions {
            let nest = self.region(tensor, structure, region, Some(index))?;
            nest.for_each(index, &mut |_| {
                found = true;
                Ok(())
            })?;
        }
        Ok(found)
    }

    /// Loops over the points of a region: all of them, or those with the given element. Elements lie in the box.
    fn region(
        &self,
        tensor: TensorId,
        structure: &Structure,
        region: &Region,
        element: Option<&[i64]>,
    ) -> Result<Nest, EvalError> {
        let slots: Vec<String> =
            structure.iterators.iter().chain(&region.locals).cloned().collect();
        let mut ranges = vec![Interval::ALL; slots.len()];
        // The targets of a redundancy are not restricted to the box, because a target outside of it is an error.
        for (range, extent) in ranges.iter_mut().zip(self.shape(tensor)) {
            *range = Interval { low: 0, high: *extent as i128 - 1 };
        }
        let fixed = element.unwrap_or_default();
        for (range, value) in ranges.iter_mut().zip(fixed) {
            *range = Interval::new(*value, *value);
        }
        let relations = relations(&region.comparisons, &slots, &self.symbols)?;
        Nest::new(&slots, fixed.len(), ranges, relations)
    }
}

/// Gives redundant and zero elements, of so many parts each, their values.
fn fill(cells: &[Cell], data: &mut [f64], parts: usize) {
    for at in 0..cells.len() * parts {
        match cells[at / parts] {
            Cell::Zero => data[at] = 0.0,
            Cell::Unique => {}
            Cell::Redundant { target, coefficient } => {
                data[at] = coefficient * data[target * parts + at % parts];
            }
        }
    }
}
