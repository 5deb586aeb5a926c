//! Runs of an instance: the functions of the computation one after the other, and the memory that each asks for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dastac_elements::{Element, Storage};
use dastac_loops::{BufferId, Mode};

use super::arrays;
use super::rows::together;
use super::state::{Instance, Memory};
use crate::argument::Argument;
use crate::bound::{Converted, copying};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::memory::check_memory;
use crate::program::{Assembled, Phase, Role, Structure, TensorId};

/// Code for a function of a computation, by its name, that takes what the function takes.
pub type Substitute<'a> = dyn FnMut(&str, &[i64], Vec<Argument<'_>>) -> Result<()> + 'a;

impl Instance<'_> {
    /// Runs the rules of preprocess blocks, if there are any, and returns how long that took. Inputs that only they
    /// read are not read afterwards.
    ///
    /// # Errors
    /// Results with formats that memory or indices of 32 bits do not hold. The buffers of all others are what the code
    /// was built for.
    pub fn prepare(&mut self) -> Result<Duration> {
        let taken = self.block(true, None)?;
        self.prepared = true;
        Ok(taken)
    }

    /// Runs the computation once and returns how long that took. If an input changed, preprocess rules run before it,
    /// which does not count.
    ///
    /// # Errors
    /// As [`Instance::prepare`].
    pub fn execute(&mut self) -> Result<Duration> {
        if !self.prepared {
            self.prepare()?;
        }
        self.block(false, None)
    }

    /// Runs all of the computation once, preprocess blocks too, with other code for its functions; those blocks run
    /// again before the next run.
    ///
    /// # Errors
    /// As [`Instance::prepare`]; what the other code reports.
    pub fn execute_with(&mut self, code: &mut Substitute<'_>) -> Result<()> {
        self.prepared = false;
        self.block(true, Some(code))?;
        self.block(false, Some(code))?;
        Ok(())
    }

    /// Calls the functions of a block, which other code may stand for, and makes the arrays that each asks for.
    fn block(
        &mut self,
        preprocess: bool,
        mut code: Option<&mut Substitute<'_>>,
    ) -> Result<Duration> {
        let executable = Arc::clone(&self.executable);
        let phases = executable.program().phases.iter();
        let threads = self.threads;
        let mut taken = Duration::ZERO;
        // Results of which a bound is enough.
        let mut bounded = BTreeSet::new();
        for phase in phases.filter(|phase| phase.preprocess == preprocess) {
            let Phase { name, counts, bounds, .. } = phase;
            if counts.is_some_and(|counted| !bounds && bounded.contains(&counted)) {
                continue;
            }
            let start = Instant::now();
            phase.converts.iter().try_for_each(|result| self.convert_result(*result))?;
            self.make_room(name)?;
            taken += start.elapsed();
            taken += self.call_with(name, |kernel, parameters, mut arguments| match &mut code {
                Some(code) => code(name, parameters, arguments),
                None => kernel.call_on(threads, name, parameters, &mut arguments),
            })?;
            match counts {
                Some(counted) if *bounds && self.has_room(*counted) => {
                    bounded.insert(*counted);
                    self.count(*counted);
                }
                Some(counted) if !bounds => self.count(*counted),
                _ => {}
            }
            let start = Instant::now();
            self.move_together(name)?;
            taken += start.elapsed();
        }
        self.describe_results();
        Ok(taken)
    }

    /// Runs `code` on the arguments of a function of the computation, if the program has that function, and returns how
    /// long that took.
    ///
    /// # Errors
    /// What the code reports.
    pub fn call_with(
        &mut self,
        name: &str,
        code: impl FnOnce(&Code, &[i64], Vec<Argument<'_>>) -> Result<()>,
    ) -> Result<Duration> {
        let kernel = Arc::clone(&self.kernel);
        let executable = Arc::clone(&self.executable);
        let program = executable.program();
        let Some(function) = kernel.abi().function(name) else { return Ok(Duration::ZERO) };
        let mut arrays: BTreeMap<BufferId, Argument<'_>> = BTreeMap::new();
        for (id, bound) in &self.bound {
            arrays.extend(bound.arguments(&program.stored(*id).collect::<Vec<_>>()));
        }
        for one in &program.stored {
            if let Some(copy) = self.results.copies.get(&one.values) {
                arrays.extend(copy.arguments(one));
            }
        }
        let mut results: BTreeMap<BufferId, &mut Storage> =
            self.results.arrays.iter_mut().map(|(id, array)| (*id, array)).collect();
        let mut packed: Vec<Option<&mut Memory<'_>>> = self.packed.iter_mut().map(Some).collect();
        let mut arguments: Vec<Argument<'_>> = Vec::new();
        for (id, _) in &function.args {
            if let Some(array) = arrays.remove(id) {
                arguments.push(array);
            } else if let Some(array) = results.remove(id) {
                arguments.push(array.view_mut().into());
            } else if let Some(memory) = packed.get_mut(id.0 as usize).and_then(Option::take) {
                arguments.push(match memory {
                    Memory::Own(storage) => storage.view_mut().into(),
                    Memory::Lent(view) => (*view).into(),
                    Memory::LentMut(view) => view.reborrow().into(),
                });
            } // every buffer is taken once: the loop IR's verifier checks it
        }
        let start = Instant::now();
        code(&kernel, &self.parameters, arguments)?;
        Ok(start.elapsed())
    }

    /// Arrays of the results that a function fills, and copies of those that it reads in other formats.
    fn make_room(&mut self, function: &str) -> Result<()> {
        let executable = Arc::clone(&self.executable);
        let program = executable.program();
        if program.results.is_empty() {
            return Ok(());
        }
        let kernel = Arc::clone(&self.kernel);
        let Some(function) = kernel.abi().function(function) else { return Ok(()) };
        let mut filled = BTreeSet::new();
        let mut copied = BTreeSet::new();
        for (id, mode) in &function.args {
            if self.is_packed(*id) {
                continue;
            }
            let copy = program.stored.iter().find(|one| {
                one.converted_for.is_some()
                    && one.buffers().contains(id)
                    && self.facts[one.tensor.0].role != Role::Input
            });
            if let Some(copy) = copy {
                copied.insert((copy.tensor, copy.values));
            } else if *mode != Mode::In {
                filled.insert(*id);
            }
        }
        for one in program.stored.iter().filter(|one| filled.contains(&one.tensor.buffer())) {
            self.results.copies.remove(&one.values);
        }
        for (tensor, values) in copied {
            self.copy_result(tensor, values)?;
        }
        // Their sizes may depend on what the copies store.
        filled.into_iter().try_for_each(|id| self.fit(id))
    }

    /// Gives an array of a result the elements that its size says.
    fn fit(&mut self, id: BufferId) -> Result<()> {
        let kernel = Arc::clone(&self.kernel);
        let Some(buffer) = kernel.abi().buffer(id) else { return Ok(()) };
        let name = buffer.name.split('.').next().unwrap_or_default();
        let size = buffer.size.eval_symbols(&self.parameters).ok();
        let size = size.and_then(|size| usize::try_from(size).ok());
        let size = size.ok_or_else(|| Error::TooLarge(name.into()))?;
        let arrays = &mut self.results.arrays;
        let array = arrays.entry(id).or_insert_with(|| Storage::empty(buffer.element));
        arrays::fit(array, name, size)
    }

    /// Whether a buffer is a packed tensor's.
    fn is_packed(&self, buffer: BufferId) -> bool {
        self.facts.get(buffer.0 as usize).is_some_and(|fact| fact.format.is_none())
    }

    /// Makes a copy of a result whose values are a buffer, if it is not there.
    fn copy_result(&mut self, tensor: TensorId, values: BufferId) -> Result<()> {
        if self.results.copies.contains_key(&values) {
            return Ok(());
        }
        let executable = Arc::clone(&self.executable);
        let program = executable.program();
        let Some(one) = program.stored(tensor).find(|one| one.values == values) else {
            return Ok(());
        };
        let name = self.facts[tensor.0].name.clone();
        let found = self.assembled(tensor)?.convert(&one.format, copying());
        let found = found.map_err(|source| Error::Storage { tensor: name.clone(), source })?;
        let copy = Converted::new(&name, found, program.wide)?;
        for (symbol, count) in copy.counts(one) {
            self.parameters[symbol.0 as usize] = count;
        }
        self.results.copies.insert(values, copy);
        Ok(())
    }

    /// Reads the numbers of positions of a result from the arrays in which they were counted.
    fn count(&mut self, tensor: TensorId) {
        let program = self.executable.program();
        let result = program.results.iter().find(|one| one.tensor == tensor);
        let stored = program.stored(tensor).next();
        let Some((Structure::Counted { starts, .. }, stored)) =
            result.map(|one| &one.structure).zip(stored)
        else {
            return;
        };
        for (buffer, count) in starts.iter().zip(&stored.counts) {
            let array = self.results.arrays.get(buffer);
            let last = array.and_then(|array| array.as_slice::<i64>()?.last().copied());
            self.parameters[count.symbol.0 as usize] = last.unwrap_or(0);
        }
    }

    /// Whether there is memory for as many elements of a result as were counted too many, most of which is never
    /// touched.
    fn has_room(&self, tensor: TensorId) -> bool {
        let program = self.executable.program();
        let result = program.results.iter().find(|one| one.tensor == tensor);
        let (Some(Assembled { structure: Structure::Counted { starts, .. }, .. }), Some(stored)) =
            (result, program.stored(tensor).next())
        else {
            return false;
        };
        let last = |id: &BufferId| self.results.arrays.get(id)?.as_slice::<i64>()?.last().copied();
        let Some(count) = starts.first().and_then(last) else { return false };
        let abi = self.kernel.abi();
        let mut parameters = self.parameters.clone();
        for count_of in &stored.counts {
            parameters[count_of.symbol.0 as usize] = count;
        }
        let bytes = |id: &BufferId| {
            let buffer = abi.buffer(*id)?;
            let size = u128::try_from(buffer.size.eval_symbols(&parameters).ok()?).ok()?;
            let narrow = buffer.element == Element::U32 && size > u128::from(u32::MAX);
            (!narrow).then_some(size * buffer.element.bytes() as u128)
        };
        let all = stored.buffers().iter().map(bytes).sum::<Option<u128>>();
        all.is_some_and(|all| check_memory("a result", all).is_ok())
    }

    /// Moves the rows of results together that a function appended in parts.
    fn move_together(&mut self, function: &str) -> Result<()> {
        let executable = Arc::clone(&self.executable);
        let program = executable.program();
        let kernel = Arc::clone(&self.kernel);
        let Some(function) = kernel.abi().function(function) else { return Ok(()) };
        for one in &program.results {
            let Structure::Counted { ends: Some(ends), .. } = &one.structure else { continue };
            let fills = function.args.iter().any(|(id, mode)| id == ends && *mode == Mode::Out);
            let Some(stored) = program.stored(one.tensor).next().filter(|_| fills) else {
                continue;
            };
            let arrays = &mut self.results.arrays;
            let levels: Vec<BufferId> = stored.levels.iter().flatten().copied().collect();
            let [positions, coordinates] = levels[..] else { continue };
            let mut take = |id: BufferId| {
                let array = arrays.get_mut(&id)?;
                Some(std::mem::replace(array, Storage::empty(array.element())))
            };
            let all = [*ends, positions, coordinates, stored.values].map(&mut take);
            let [Some(ends_array), Some(mut rows), Some(mut columns), Some(mut values)] = all
            else {
                continue;
            };
            let count = together(&ends_array, &mut rows, [&mut columns, &mut values]);
            let back = [(*ends, ends_array), (positions, rows)];
            arrays
                .extend(back.into_iter().chain([(coordinates, columns), (stored.values, values)]));
            for known in &stored.counts {
                self.parameters[known.symbol.0 as usize] = count;
            }
            self.fit(coordinates)?;
            self.fit(stored.values)?;
        }
        Ok(())
    }

    /// Updates the facts of results with formats: how many elements they store, in how many bytes.
    fn describe_results(&mut self) {
        let abi = self.kernel.abi();
        for result in &self.executable.program().results {
            let Some(stored) = self.executable.program().stored(result.tensor).next() else {
                continue;
            };
            let Some(values) = self.results.arrays.get(&stored.values) else { continue };
            let fact = &mut self.facts[result.tensor.0];
            fact.unique = i64::try_from(values.len()).unwrap_or(i64::MAX);
            let bytes = |id: &BufferId| {
                let Some(buffer) = abi.buffer(*id) else { return 0 };
                let size = buffer.size.eval_symbols(&self.parameters).unwrap_or(0);
                u128::from(size.unsigned_abs()) * buffer.element.bytes() as u128
            };
            fact.packed_bytes = stored.buffers().iter().map(bytes).sum();
        }
    }
}
