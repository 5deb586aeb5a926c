//! What the host does for a function whose kernels run on a device.
//!
//! Arguments are copied to the device once, all kernels of the function find them there, and what may have been written
//! is copied back at the end.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use dastac_elements::Element;
use dastac_loops::abi::Signature;
use dastac_loops::eval::{Env, eval_range};
use dastac_loops::{BufferId, EvalError, Index, Mode, VarId};
use dastac_target::launch::{
    Allocate, GRID_ROW, Grid, HostFunction, Launch, Longest, Repeat, Step,
};

use super::error::CudaError;
use super::times::DeviceTimes;
use crate::argument::Argument;

/// Most rows of a grid.
const ROWS: i64 = 65_535;

/// A device, as far as a host sees it.
pub(super) trait Device {
    /// Memory for so many bytes: an address.
    fn allocate(&self, what: &str, bytes: usize) -> Result<u64, CudaError>;
    /// Gives memory back that was allocated for so many bytes. Kernels may still use it.
    fn release(&self, address: u64, bytes: usize);
    /// Copies bytes to the device.
    fn write(&self, address: u64, from: &[u8]) -> Result<(), CudaError>;
    /// Copies bytes from the device, after all kernels.
    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), CudaError>;
    /// Sets bytes to 0.
    fn clear(&self, address: u64, bytes: usize) -> Result<(), CudaError>;
    /// Starts a kernel with blocks in rows, rows and lanes.
    fn launch(&self, kernel: usize, shape: [u32; 3], given: &[u64]) -> Result<(), CudaError>;
    /// What is to be done before the first mark of a call.
    fn prepare(&self) -> Result<(), CudaError>;
    /// A mark in time, after the kernels that were started.
    fn mark(&self) -> Result<u64, CudaError>;
    /// Waits for the kernels before the second mark, and gives the time between both.
    fn between(&self, marks: [u64; 2]) -> Result<Duration, CudaError>;
}

/// Calls a function: copies its arguments, does its steps, copies its results. Gives how long these took.
pub(super) fn call(
    device: &dyn Device,
    grid: &Grid,
    signature: &Signature,
    symbols: &[i64],
    arguments: &mut [Argument<'_>],
) -> Result<DeviceTimes, CudaError> {
    let name = &signature.name;
    let mut times = DeviceTimes { calls: 1, ..DeviceTimes::default() };
    let start = Instant::now();
    let function = grid.functions.iter().find(|function| function.name == *name);
    let missing = || CudaError::Damaged(format!("nothing is said about `{name}`"));
    let function = function.ok_or_else(missing)?;
    let mut memory = Memory { device, taken: Vec::new() };
    let mut addresses = BTreeMap::new();
    for ((id, _), argument) in signature.args.iter().zip(arguments.iter()) {
        let bytes = argument.bytes();
        let address = memory.take("an argument", bytes.len())?;
        // What is only written may be left as it was, too.
        device.write(address, bytes)?;
        times.bytes_to_device += bytes.len() as u64;
        addresses.insert(*id, address);
    }
    let mut hosts = BTreeMap::new();
    for ((id, mode), argument) in signature.args.iter().zip(arguments.iter()) {
        if *mode == Mode::In {
            hosts.insert(*id, (argument.element(), argument.bytes()));
        }
    }
    let mut run = Run {
        memory: &mut memory,
        grid,
        function,
        symbols,
        vars: vec![None; function.variables],
        addresses: addresses.clone(),
        hosts,
        launches: 0,
    };
    run.find_longest(&function.longest)?;
    times.to_device = start.elapsed();
    device.prepare()?;
    let begin = device.mark()?;
    run.steps(&function.steps)?;
    times.launches = run.launches;
    times.kernels = device.between([begin, device.mark()?])?;
    let start = Instant::now();
    for ((id, mode), argument) in signature.args.iter().zip(arguments.iter_mut()) {
        if *mode != Mode::In
            && let (Some(bytes), Some(address)) = (argument.bytes_mut(), addresses.get(id))
        {
            times.bytes_to_host += bytes.len() as u64;
            device.read(*address, bytes)?;
        }
    }
    times.to_host = start.elapsed();
    Ok(times)
}

/// Memory of a device that is given back at the end, whatever the end is.
struct Memory<'a> {
    device: &'a dyn Device,
    taken: Vec<(u64, usize)>,
}

impl Memory<'_> {
    fn take(&mut self, what: &str, bytes: usize) -> Result<u64, CudaError> {
        let address = self.device.allocate(what, bytes)?;
        self.taken.push((address, bytes));
        Ok(address)
    }

    fn give_back(&mut self) {
        if let Some((address, bytes)) = self.taken.pop() {
            self.device.release(address, bytes);
        }
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        while !self.taken.is_empty() {
            self.give_back();
        }
    }
}

struct Run<'a, 'd> {
    memory: &'a mut Memory<'d>,
    grid: &'a Grid,
    function: &'a HostFunction,
    symbols: &'a [i64],
    vars: Vec<Option<i64>>,
    addresses: BTreeMap<BufferId, u64>,
    /// Elements of arguments that are only read.
    hosts: BTreeMap<BufferId, (Element, &'a [u8])>,
    /// Kernels that were started.
    launches: usize,
}

impl Run<'_, '_> {
    fn failed(&self, what: impl ToString) -> CudaError {
        CudaError::Plan { function: self.function.name.clone(), what: what.to_string() }
    }

    fn with_env<T>(
        &self,
        evaluate: impl FnOnce(&Env<'_>) -> Result<T, EvalError>,
    ) -> Result<T, CudaError> {
        let vars = |var: VarId| self.vars.get(var.0 as usize).copied().flatten();
        let loads = |buffer: BufferId, at: i64| {
            let (element, bytes) = self.hosts.get(&buffer)?;
            integer(*element, bytes, at)
        };
        let env = Env { symbols: self.symbols, vars: &vars, loads: &loads };
        evaluate(&env).map_err(|error| self.failed(error))
    }

    fn index(&self, index: &Index) -> Result<i64, CudaError> {
        self.with_env(|env| index.eval_in(env))
    }

    /// Gives variables the largest differences of neighbouring elements.
    fn find_longest(&mut self, all: &[Longest]) -> Result<(), CudaError> {
        for Longest { var, buffer, first, count } in all {
            let (first, count) = (self.index(first)?, self.index(count)?.max(0));
            let outside = || self.failed(format!("rows are outside of buffer {}", buffer.0));
            let (element, bytes) = self.hosts.get(buffer).ok_or_else(outside)?;
            let width = element.bytes();
            let range = usize::try_from(first).ok().zip(usize::try_from(count).ok());
            let range = range.and_then(|(first, count)| {
                let from = first.checked_mul(width)?;
                Some(from..count.checked_add(1)?.checked_mul(width)?.checked_add(from)?)
            });
            let longest = match count {
                0 => 0,
                _ => {
                    let bytes = range.and_then(|range| bytes.get(range)).ok_or_else(outside)?;
                    longest(*element, bytes).ok_or_else(outside)?
                }
            };
            *self
                .vars
                .get_mut(var.0 as usize)
                .ok_or_else(|| CudaError::Damaged("a variable of the host".to_owned()))? =
                Some(longest);
        }
        Ok(())
    }

    fn steps(&mut self, steps: &[Step]) -> Result<(), CudaError> {
        steps.iter().try_for_each(|step| match step {
            Step::Launch(launch) => self.launch(launch),
            Step::Repeat(repeat) => self.repeat(repeat),
            Step::Choose { condition, then, otherwise } => {
                let holds = self.with_env(|env| condition.eval_in(env))?;
                self.steps(if holds { then } else { otherwise })
            }
            Step::Allocate(allocate) => self.allocate(allocate),
        })
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), CudaError> {
        let Some(kernel) = self.grid.kernels.get(launch.kernel) else {
            return Err(CudaError::Damaged(format!("there is no kernel {}", launch.kernel)));
        };
        let blocks = self.index(&launch.blocks)?;
        if blocks <= 0 {
            return Ok(());
        }
        // In several rows where one is not enough.
        let rest = i64::from(blocks % GRID_ROW != 0);
        let [row, rows] = [blocks.min(GRID_ROW), blocks / GRID_ROW + rest];
        if rows > ROWS {
            return Err(CudaError::Blocks { kernel: kernel.name.clone(), blocks });
        }
        let mut given = Vec::new();
        for integer in &launch.integers {
            given.push(self.index(integer)?.cast_unsigned());
        }
        for symbol in &kernel.symbols {
            let value = self.symbols.get(symbol.0 as usize);
            let value = value.ok_or_else(|| self.failed("a symbol has no value"))?;
            given.push(value.cast_unsigned());
        }
        for buffer in &launch.buffers {
            let address = self.addresses.get(buffer);
            given.push(*address.ok_or_else(|| self.failed("a buffer is not on the device"))?);
        }
        if given.len() != kernel.integers + kernel.symbols.len() + kernel.buffers {
            return Err(CudaError::Damaged(format!("`{}` takes other arguments", kernel.name)));
        }
        let [row, rows] = [row, rows].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        self.launches += 1;
        self.memory.device.launch(launch.kernel, [row, rows, kernel.lanes], &given)
    }

    fn repeat(&mut self, repeat: &Repeat) -> Result<(), CudaError> {
        let range = self.with_env(|env| eval_range(&repeat.lower, &repeat.upper, env))?;
        let slot = repeat.var.0 as usize;
        if slot >= self.vars.len() || repeat.step <= 0 {
            return Err(CudaError::Damaged("a loop of the host".to_owned()));
        }
        let outer = self.vars[slot];
        let mut value = range.start;
        while value < range.end {
            self.vars[slot] = Some(value);
            self.steps(&repeat.body)?;
            let Some(next) = value.checked_add(repeat.step) else { break };
            value = next;
        }
        self.vars[slot] = outer;
        Ok(())
    }

    fn allocate(&mut self, allocate: &Allocate) -> Result<(), CudaError> {
        let instead = match &allocate.instead {
            Some((other, condition)) if self.with_env(|env| condition.eval_in(env))? => {
                let address = self.addresses.get(other).copied();
                Some(address.ok_or_else(|| self.failed("a buffer is not on the device"))?)
            }
            _ => None,
        };
        let address = match instead {
            Some(address) => address,
            None => self.take(allocate)?,
        };
        let outer = self.addresses.insert(allocate.buffer, address);
        self.steps(&allocate.body)?;
        match outer {
            Some(outer) => drop(self.addresses.insert(allocate.buffer, outer)),
            None => drop(self.addresses.remove(&allocate.buffer)),
        }
        if instead.is_none() {
            // Kernels run one after the other: the next one that is given the memory starts after this one.
            self.memory.give_back();
        }
        Ok(())
    }

    /// Memory of its own.
    fn take(&mut self, allocate: &Allocate) -> Result<u64, CudaError> {
        let size = self.index(&allocate.size)?.max(0);
        let bytes = usize::try_from(size).ok();
        let bytes = bytes.and_then(|size| size.checked_mul(allocate.element.bytes()));
        let bytes = bytes.ok_or_else(|| self.failed(EvalError::Overflow))?;
        let address = self.memory.take(&format!("workspace `{}`", allocate.name), bytes)?;
        if allocate.zero && bytes > 0 {
            self.memory.device.clear(address, bytes)?;
        }
        Ok(address)
    }
}

/// The largest difference of neighbouring integers, and at least 0.
fn longest(element: Element, bytes: &[u8]) -> Option<i64> {
    fn of<const N: usize>(bytes: &[u8], read: impl Fn([u8; N]) -> i64) -> i64 {
        let (all, _) = bytes.as_chunks::<N>();
        let pairs = all.iter().zip(all.iter().skip(1));
        pairs.map(|(one, next)| read(*next).wrapping_sub(read(*one))).fold(0, i64::max)
    }
    match element {
        Element::U32 => Some(of(bytes, |bytes| i64::from(u32::from_le_bytes(bytes)))),
        Element::I32 => Some(of(bytes, |bytes| i64::from(i32::from_le_bytes(bytes)))),
        Element::I64 => Some(of(bytes, i64::from_le_bytes)),
        _ => None,
    }
}

/// An element of a buffer of integers.
fn integer(element: Element, bytes: &[u8], at: i64) -> Option<i64> {
    let width = element.bytes();
    let first = usize::try_from(at).ok()?.checked_mul(width)?;
    let bytes = bytes.get(first..first.checked_add(width)?)?;
    let mut all = [0; 8];
    all[..width.min(8)].copy_from_slice(bytes.get(..width.min(8))?);
    let unsigned = i64::from_le_bytes(all);
    let shift = 64 - 8 * u32::try_from(width.min(8)).ok()?;
    match element.is_integer() {
        true if element.is_signed() => Some(unsigned << shift >> shift),
        true => Some(unsigned),
        false => None,
    }
}
