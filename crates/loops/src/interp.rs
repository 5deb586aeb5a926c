//! The reference interpreter: what a function means, checked at every step.
//!
//! Iterations run in order, parallel and unrolled ones too, and the threads of a team one after the other; that two of
//! them touch an element that one of them writes is an error. Numbers are evaluated in binary64, whatever the buffers'
//! elements, and rounded when stored; those that are stored as integers in 64-bit integers, which wrap around.

mod cells;
mod complex;
mod data;
mod elementwise;
mod fetched;
mod grid;
mod registers;

use self::cells::Cells;
use self::fetched::Fetched;
use crate::eval::{Env, EvalError, eval_range};
use crate::ir::*;

pub use self::data::{Data, InterpError};
pub use self::grid::GridCounts;

use std::cell::RefCell;

/// Steps that [`run`] allows.
pub const STEPS: u64 = 1 << 32;

/// Runs a function. `symbols` are in the module's order, `buffers` in the order of the function's arguments.
pub fn run(
    module: &Module,
    function: &str,
    symbols: &[i64],
    buffers: &mut [Data],
) -> Result<(), InterpError> {
    run_steps(module, function, symbols, buffers, STEPS)
}

/// As [`run`], with at most `steps` statements executed and terms added.
pub fn run_steps(
    module: &Module,
    function: &str,
    symbols: &[i64],
    buffers: &mut [Data],
    steps: u64,
) -> Result<(), InterpError> {
    run_counted(module, function, symbols, buffers, steps).map(drop)
}

/// As [`run_steps`]. Gives how often the loops and sums ran that bind each of the function's variables, first ones of
/// loops with conditions.
pub fn run_counted(
    module: &Module,
    function: &str,
    symbols: &[i64],
    buffers: &mut [Data],
    steps: u64,
) -> Result<Vec<u64>, InterpError> {
    run_on(module, function, symbols, buffers, Limits { steps, threads: 3 })
}

/// How far an execution may go, and how many threads teams have.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Statements executed and terms added, at most.
    pub steps: u64,
    /// Threads of each team: at least 1.
    pub threads: i64,
}

/// As [`run_counted`], with teams of so many threads: what is computed does not depend on their number.
pub fn run_on(
    module: &Module,
    function: &str,
    symbols: &[i64],
    buffers: &mut [Data],
    limits: Limits,
) -> Result<Vec<u64>, InterpError> {
    run_watched(module, function, symbols, buffers, limits, None).map(|(trips, _)| trips)
}

/// As [`run`], of a function whose loops are on blocks and lanes. Gives how its lanes accessed memory.
///
/// Beside what is an error of every function, it is one that lanes of a block touch an element that one of them writes
/// before the next barrier (the end of a loop over lanes), that an element of shared memory is read before it is
/// written, and that a block writes outside of its lanes.
pub fn run_grid(
    module: &Module,
    function: &str,
    symbols: &[i64],
    buffers: &mut [Data],
) -> Result<GridCounts, InterpError> {
    let (limits, watch) = (Limits { steps: STEPS, threads: 3 }, Some(grid::Watch::default()));
    run_watched(module, function, symbols, buffers, limits, watch).map(|(_, counts)| counts)
}

fn run_watched(
    module: &Module,
    function: &str,
    symbols: &[i64],
    buffers: &mut [Data],
    limits: Limits,
    watch: Option<grid::Watch>,
) -> Result<(Vec<u64>, GridCounts), InterpError> {
    let function =
        module.find_function(function).ok_or_else(|| InterpError::Function(function.to_owned()))?;
    if symbols.len() != module.symbols.len() {
        let (expected, found) = (module.symbols.len(), symbols.len());
        return Err(InterpError::Symbols { expected, found });
    }
    if buffers.len() != function.args.len() {
        let (expected, found) = (function.args.len(), buffers.len());
        return Err(InterpError::Buffers { expected, found });
    }
    let mut slots: Vec<Option<Slot>> = module.buffers.iter().map(|_| None).collect();
    for ((id, _), data) in function.args.iter().zip(buffers) {
        let unknown = InterpError::Invalid("an argument is not a buffer of the module");
        let buffer = module.buffers.get(id.0 as usize).ok_or(unknown)?;
        let size = buffer.size.eval_symbols(symbols)?;
        let name = || buffer.name.clone();
        if matches!(data, Data::Int(_)) != buffer.element.is_integer() {
            return Err(InterpError::Kind(name()));
        }
        let len = usize::try_from(size).map_err(|_| InterpError::Size { buffer: name(), size })?;
        if data.len() < len.saturating_mul(buffer.element.parts()) {
            let (expected, found) = (size, data.len());
            return Err(InterpError::Length { buffer: name(), expected, found });
        }
        let data = Content::Given(data);
        slots[id.0 as usize] =
            Some(Slot { buffer, len, data, touched: Vec::new(), unset: Vec::new() });
    }
    let mut machine = Machine {
        module,
        symbols,
        slots,
        vars: vec![None; function.vars.len()],
        types: &function.registers,
        registers: vec![None; function.registers.len()],
        trips: vec![0; function.vars.len()],
        left: limits.steps,
        steps: limits.steps,
        threads: limits.threads,
        parallel: Vec::new(),
        stamps: 0,
        place: Place::Host,
        fetched: Fetched::default(),
        watch: RefCell::new(watch),
    };
    machine.block(&function.body)?;
    let counts = machine.watch.into_inner().map(|watch| watch.counts);
    Ok((machine.trips, counts.unwrap_or_default()))
}

/// Where elements are.
enum Content<'a> {
    /// In an argument.
    Given(&'a mut Data),
    /// In a workspace.
    Own(Data),
}

impl std::ops::Deref for Content<'_> {
    type Target = Data;

    fn deref(&self) -> &Data {
        match self {
            Content::Given(data) => data,
            Content::Own(data) => data,
        }
    }
}

impl std::ops::DerefMut for Content<'_> {
    fn deref_mut(&mut self) -> &mut Data {
        match self {
            Content::Given(data) => data,
            Content::Own(data) => data,
        }
    }
}

/// An argument or workspace while a function runs.
struct Slot<'a> {
    buffer: &'a Buffer,
    len: usize,
    data: Content<'a>,
    /// By nesting depth of the loops whose iterations are independent.
    touched: Vec<Touched>,
    /// Of shared memory: which elements were not written yet.
    unset: Vec<bool>,
}

/// Where in a grid statements are executed.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Outside of it.
    Host,
    /// By all lanes of a block.
    Block,
    /// By one lane.
    Lane,
}

/// For each element the last iteration that wrote it, and the first of a loop that read it.
struct Touched {
    writer: Vec<u64>,
    reader: Vec<u64>,
}

/// A loop being executed whose iterations are independent. Iterations of all such loops are numbered in one sequence
/// from 1.
#[derive(Clone, Copy)]
struct Parallel {
    first: u64,
    current: u64,
}

/// What is stored.
enum Number {
    Int(i64),
    Float(f64),
}

/// A cursor of a walk on its way.
struct Walked<'a> {
    cursor: &'a Cursor,
    place: i64,
    end: i64,
    width: i64,
}

struct Machine<'a> {
    module: &'a Module,
    symbols: &'a [i64],
    slots: Vec<Option<Slot<'a>>>,
    vars: Vec<Option<i64>>,
    types: &'a [RegisterType],
    registers: Vec<Option<Cells>>,
    /// How often loops with a variable ran.
    trips: Vec<u64>,
    left: u64,
    steps: u64,
    /// Threads of a team.
    threads: i64,
    /// Outermost first.
    parallel: Vec<Parallel>,
    stamps: u64,
    place: Place,
    /// What lanes have fetched and not waited for.
    fetched: Fetched,
    watch: RefCell<Option<grid::Watch>>,
}

impl Slot<'_> {
    fn position(&self, index: i64) -> Result<usize, InterpError> {
        match usize::try_from(index) {
            Ok(position) if position < self.len => Ok(position),
            _ => {
                let (buffer, size) = (self.buffer.name.clone(), self.len);
                Err(InterpError::Bounds { buffer, index, size })
            }
        }
    }

    fn touch(&mut self, at: usize, loops: &[Parallel], write: bool) -> Result<(), InterpError> {
        if let Some(unset) = self.unset.get_mut(at) {
            if *unset && !write {
                return Err(InterpError::Unset { buffer: self.buffer.name.clone(), index: at });
            }
            *unset = false;
        }
        while self.touched.len() < loops.len() {
            let none = || vec![0; self.len];
            self.touched.push(Touched { writer: none(), reader: none() });
        }
        for (loops, touched) in loops.iter().zip(&mut self.touched) {
            let other = |stamp: u64| stamp >= loops.first && stamp != loops.current;
            if other(touched.writer[at]) || write && other(touched.reader[at]) {
                return Err(InterpError::Race { buffer: self.buffer.name.clone(), index: at });
            }
            if write {
                touched.writer[at] = loops.current;
            } else if touched.reader[at] < loops.first {
                touched.reader[at] = loops.current;
            }
        }
        Ok(())
    }
}

impl<'a> Machine<'a> {
    /// Tells who looks on that a place in the text accesses an element.
    fn note(&self, place: usize, id: BufferId, index: i64) {
        if let Some(watch) = self.watch.borrow_mut().as_mut()
            && let (Some(buffer), Ok(at)) =
                (self.module.buffers.get(id.0 as usize), u64::try_from(index))
        {
            watch.access(place, id.0, buffer, at);
        }
    }

    fn step(&mut self) -> Result<(), InterpError> {
        self.left = self.left.checked_sub(1).ok_or(InterpError::Steps(self.steps))?;
        Ok(())
    }

    /// Calls `f` with the leaves' values at the current place.
    fn with_env<T>(
        &self,
        f: impl FnOnce(&Env<'_>) -> Result<T, EvalError>,
    ) -> Result<T, InterpError> {
        let vars = |var: VarId| self.vars.get(var.0 as usize).copied().flatten();
        let loads = |buffer: BufferId, at: i64| {
            let slot = self.slots.get(buffer.0 as usize)?.as_ref()?;
            // Each buffer of positions or coordinates counts as one place.
            self.note(buffer.0 as usize, buffer, at);
            let at = usize::try_from(at).ok().filter(|at| *at < slot.len)?;
            slot.data.as_int().map(|data| data[at])
        };
        f(&Env { symbols: self.symbols, vars: &vars, loads: &loads }).map_err(|error| match error {
            EvalError::Load(buffer, index) => {
                let buffer = self.module.buffers.get(buffer.0 as usize);
                let name = buffer.map(|buffer| buffer.name.clone()).unwrap_or_default();
                let slot = self.slots.iter().flatten().find(|slot| slot.buffer.name == name);
                InterpError::Bounds { buffer: name, index, size: slot.map_or(0, |slot| slot.len) }
            }
            EvalError::Outside { buffer, index, size } => {
                let buffer = self.module.buffers.get(buffer.0 as usize);
                let buffer = buffer.map(|buffer| buffer.name.clone()).unwrap_or_default();
                InterpError::Bounds { buffer, index, size: usize::try_from(size).unwrap_or(0) }
            }
            error => InterpError::Eval(error),
        })
    }

    fn index(&self, index: &Index) -> Result<i64, InterpError> {
        self.with_env(|env| index.eval_in(env))
    }

    fn holds(&self, condition: &Condition) -> Result<bool, InterpError> {
        self.with_env(|env| condition.eval_in(env))
    }

    fn block(&mut self, body: &[Stmt]) -> Result<(), InterpError> {
        body.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    /// Runs `each` with `var` set to each value of a range.
    fn range(
        &mut self,
        (var, step): (VarId, i64),
        (lower, upper): (&[Index], &[Index]),
        mut each: impl FnMut(&mut Self) -> Result<(), InterpError>,
    ) -> Result<(), InterpError> {
        if lower.is_empty() || upper.is_empty() {
            return Err(InterpError::Invalid("a range has no bounds"));
        }
        if step <= 0 {
            return Err(InterpError::Invalid("a step is not positive"));
        }
        let slot = var.0 as usize;
        if slot >= self.vars.len() {
            return Err(InterpError::Invalid("a variable does not exist"));
        }
        let range = self.with_env(|env| eval_range(lower, upper, env))?;
        let outer = self.vars[slot];
        let mut value = range.start;
        while value < range.end {
            self.vars[slot] = Some(value);
            self.trips[slot] += 1;
            self.step()?;
            each(self)?;
            // A value past the largest integer is past the end.
            match value.checked_add(step) {
                Some(next) => value = next,
                None => break,
            }
        }
        self.vars[slot] = outer;
        Ok(())
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), InterpError> {
        self.step()?;
        match stmt {
            Stmt::For(inner) => {
                let independent = inner.mark != Mark::Sequential;
                let depth = self.parallel.len();
                let first = self.stamps + 1;
                let outside = self.place;
                let lanes = inner.mark == Mark::Parallel(ParallelLevel::Lanes);
                match inner.mark {
                    Mark::Parallel(ParallelLevel::Blocks) => self.place = Place::Block,
                    Mark::Parallel(ParallelLevel::Lanes) => self.place = Place::Lane,
                    _ => {}
                }
                self.range((inner.var, inner.step), (&inner.lower, &inner.upper), |machine| {
                    if independent {
                        machine.stamps += 1;
                        machine.parallel.truncate(depth);
                        machine.parallel.push(Parallel { first, current: machine.stamps });
                    }
                    if lanes {
                        machine.fetched.lane = machine.vars[inner.var.0 as usize].unwrap_or(0);
                        if let Some(watch) = machine.watch.get_mut() {
                            watch.next_lane();
                        }
                    }
                    machine.block(&inner.body)
                })?;
                if let Some(watch) = self.watch.get_mut()
                    && lanes
                {
                    watch.end();
                }
                self.place = outside;
                self.parallel.truncate(depth);
                Ok(())
            }
            Stmt::Partitioned(inner) => self.partitioned(inner),
            Stmt::Partial(inner) => self.partial(inner),
            Stmt::While(inner) => self.while_loop(inner),
            Stmt::CoIter(inner) => self.coiter(inner),
            Stmt::Append(inner) => self.block(&inner.body),
            Stmt::Team(inner) => self.team(inner),
            Stmt::Call(inner) => self.call(inner),
            Stmt::Workspace(inner) => {
                let size = self.index(&inner.size)?;
                self.workspace(inner.buffer, size.max(0), inner.zero)?;
                if let Some((other, condition)) = &inner.instead
                    && self.holds(condition)?
                {
                    self.instead(inner.buffer, *other)?;
                }
                self.block(&inner.body)?;
                self.slots[inner.buffer.0 as usize] = None;
                Ok(())
            }
            Stmt::Let(inner) => self.element(inner),
            Stmt::Scan(inner) => self.scan(inner),
            Stmt::If(inner) => {
                if self.holds(&inner.condition)? {
                    self.block(&inner.then)
                } else {
                    self.block(&inner.otherwise)
                }
            }
            Stmt::Store(store) => self.store(store),
            Stmt::Register(inner) => self.register_stmt(inner),
        }
    }

    /// In three parts, if there are enough iterations. How much work they are is for machines.
    fn partitioned(&mut self, partitioned: &PartitionedRange) -> Result<(), InterpError> {
        if partitioned.lower.is_empty() || partitioned.upper.is_empty() {
            return Err(InterpError::Invalid("a range has no bounds"));
        }
        let slots = [partitioned.begin, partitioned.end].map(|var| var.0 as usize);
        if partitioned.step <= 0 || slots.iter().any(|slot| *slot >= self.vars.len()) {
            return Err(InterpError::Invalid("parts of no size, or variables that do not exist"));
        }
        let range = self.with_env(|env| eval_range(&partitioned.lower, &partitioned.upper, env))?;
        let outer = slots.map(|slot| self.vars[slot]);
        let length = range.end.checked_sub(range.start).ok_or(EvalError::Overflow)?;
        if length <= 0 {
            return Ok(());
        }
        let third = length / 3 / partitioned.step * partitioned.step;
        let depth = self.parallel.len();
        let first = self.stamps + 1;
        let ends = [range.start + third, range.start + 2 * third, range.start + length];
        let mut begin = range.start;
        for end in ends {
            self.stamps += 1;
            self.parallel.truncate(depth);
            self.parallel.push(Parallel { first, current: self.stamps });
            self.vars[slots[0]] = Some(begin);
            self.vars[slots[1]] = Some(end);
            partitioned.work.as_ref().map(|work| self.index(work)).transpose()?;
            self.block(&partitioned.body)?;
            begin = end;
        }
        self.parallel.truncate(depth);
        for (slot, value) in slots.into_iter().zip(outer) {
            self.vars[slot] = value;
        }
        Ok(())
    }

    /// Its threads one after the other.
    fn team(&mut self, team: &Team) -> Result<(), InterpError> {
        let depth = self.parallel.len();
        let first = self.stamps + 1;
        for part in 0..self.threads {
            self.stamps += 1;
            self.parallel.truncate(depth);
            self.parallel.push(Parallel { first, current: self.stamps });
            self.set(team.part, part)?;
            self.set(team.parts, self.threads)?;
            self.block(&team.body)?;
        }
        self.parallel.truncate(depth);
        Ok(())
    }

    /// Runs a private function, which sees its parameters only.
    fn call(&mut self, call: &Call) -> Result<(), InterpError> {
        let module = self.module;
        let callee = module.functions.get(call.function.0 as usize);
        let callee = callee.ok_or(InterpError::Invalid("a function does not exist"))?;
        let private = callee.private.as_ref();
        let private = private.ok_or(InterpError::Invalid("an exported function is called"))?;
        if private.integers.len() != call.integers.len() || callee.args.len() != call.buffers.len()
        {
            return Err(InterpError::Invalid("a call passes too much or too little"));
        }
        let mut vars = vec![None; callee.vars.len()];
        for (var, integer) in private.integers.iter().zip(&call.integers) {
            let slot = vars.get_mut(var.0 as usize);
            let slot = slot.ok_or(InterpError::Invalid("a variable does not exist"))?;
            *slot = Some(self.index(integer)?);
        }
        let mut slots: Vec<Option<Slot>> = module.buffers.iter().map(|_| None).collect();
        for ((parameter, _), buffer) in callee.args.iter().zip(&call.buffers) {
            let given = self.slots.get_mut(buffer.0 as usize).and_then(Option::take);
            let given =
                given.ok_or(InterpError::Invalid("a buffer is not there, or passed twice"))?;
            slots[parameter.0 as usize] = Some(given);
        }
        std::mem::swap(&mut self.vars, &mut vars);
        std::mem::swap(&mut self.slots, &mut slots);
        let trips = std::mem::replace(&mut self.trips, vec![0; callee.vars.len()]);
        let types = std::mem::replace(&mut self.types, &callee.registers);
        let own = std::mem::replace(&mut self.registers, vec![None; callee.registers.len()]);
        let result = self.block(&callee.body);
        (self.types, self.registers, self.trips) = (types, own, trips);
        self.vars = vars;
        std::mem::swap(&mut self.slots, &mut slots);
        for ((parameter, _), buffer) in callee.args.iter().zip(&call.buffers) {
            self.slots[buffer.0 as usize] = slots[parameter.0 as usize].take();
        }
        result
    }

    /// In parts, whether they are worth it or not: that is for machines.
    fn partial(&mut self, partial: &Partial) -> Result<(), InterpError> {
        if partial.lower.is_empty() || partial.upper.is_empty() {
            return Err(InterpError::Invalid("a range has no bounds"));
        }
        let slots = [partial.begin, partial.end, partial.shift].map(|var| var.0 as usize);
        if partial.step <= 0
            || partial.parts <= 0
            || slots.iter().any(|slot| *slot >= self.vars.len())
        {
            return Err(InterpError::Invalid("parts of no size, or variables that do not exist"));
        }
        self.holds(&partial.condition)?;
        let range = self.with_env(|env| eval_range(&partial.lower, &partial.upper, env))?;
        let (base, extent) = (self.index(&partial.base)?, self.index(&partial.extent)?);
        let overflow = InterpError::Eval(EvalError::Overflow);
        let len = partial.parts.checked_mul(extent).ok_or_else(|| overflow.clone())?;
        self.workspace(partial.workspace, len, false)?;
        let length = range.end.checked_sub(range.start).ok_or_else(|| overflow.clone())?.max(0);
        let units = length / partial.step + i64::from(length % partial.step > 0);
        let outer = slots.map(|slot| self.vars[slot]);
        let depth = self.parallel.len();
        let first = self.stamps + 1;
        let edge = |part: i64| {
            let units = part.checked_mul(units)? / partial.parts;
            Some(range.start + units.checked_mul(partial.step)?.min(length))
        };
        for part in 0..partial.parts {
            self.stamps += 1;
            self.parallel.truncate(depth);
            self.parallel.push(Parallel { first, current: self.stamps });
            self.vars[slots[0]] = edge(part);
            self.vars[slots[1]] = edge(part + 1);
            let shift = part.checked_mul(extent).and_then(|shift| shift.checked_sub(base));
            self.vars[slots[2]] = Some(shift.ok_or_else(|| overflow.clone())?);
            self.block(&partial.body)?;
        }
        self.parallel.truncate(depth);
        for (slot, value) in slots.into_iter().zip(outer) {
            self.vars[slot] = value;
        }
        self.block(&partial.finish)?;
        self.slots[partial.workspace.0 as usize] = None;
        Ok(())
    }

    /// Memory of so many elements.
    fn workspace(&mut self, id: BufferId, len: i64, zero: bool) -> Result<(), InterpError> {
        let unknown = InterpError::Invalid("a workspace is not a buffer of the module");
        let module = self.module;
        let buffer = module.buffers.get(id.0 as usize).ok_or(unknown)?;
        let len = usize::try_from(len).map_err(|_| EvalError::Overflow)?;
        // What is not set shows.
        let data = match buffer.element {
            element if zero => Data::zeros(element, len),
            element if element.is_integer() => Data::Int(vec![i64::MIN; len]),
            element => Data::Float(vec![f64::NAN; len * element.parts()]),
        };
        let unset =
            if buffer.space == Space::Shared && !zero { vec![true; len] } else { Vec::new() };
        self.slots[id.0 as usize] =
            Some(Slot { buffer, len, data: Content::Own(data), touched: Vec::new(), unset });
        Ok(())
    }

    /// Puts a copy of a buffer in a workspace's place: neither is written to.
    fn instead(&mut self, id: BufferId, other: BufferId) -> Result<(), InterpError> {
        let module = self.module;
        let (slot, _) = self.slot(other)?;
        let data = (*slot.data).clone();
        let (len, own) = (slot.len, module.buffers.get(id.0 as usize));
        let Some(buffer) = own.filter(|own| own.element == slot.buffer.element) else {
            return Err(InterpError::Invalid("what stands for a workspace is of another type"));
        };
        self.slots[id.0 as usize] = Some(Slot {
            buffer,
            len,
            data: Content::Own(data),
            touched: Vec::new(),
            unset: Vec::new(),
        });
        Ok(())
    }

    fn element(&mut self, inner: &Let) -> Result<(), InterpError> {
        let index = self.index(&inner.index)?;
        let (slot, loops) = self.slot(inner.buffer)?;
        let at = slot.position(index)?;
        slot.touch(at, loops, false)?;
        let value = match &*slot.data {
            Data::Int(data) => data[at],
            Data::Float(_) => return Err(InterpError::Kind(slot.buffer.name.clone())),
        };
        let outer = self.set(inner.var, value)?;
        self.block(&inner.body)?;
        self.vars[inner.var.0 as usize] = outer;
        Ok(())
    }

    fn scan(&mut self, inner: &Scan) -> Result<(), InterpError> {
        let (lower, upper) = (self.index(&inner.lower)?, self.index(&inner.upper)?);
        let outer = self.set(inner.var, lower)?;
        for place in lower..upper {
            self.step()?;
            let (slot, loops) = self.slot(inner.buffer)?;
            let at = slot.position(place)?;
            slot.touch(at, loops, false)?;
            let Data::Int(data) = &mut *slot.data else {
                return Err(InterpError::Kind(slot.buffer.name.clone()));
            };
            if std::mem::take(&mut data[at]) != 0 {
                slot.touch(at, loops, true)?;
                self.set(inner.var, place)?;
                self.trips[inner.var.0 as usize] += 1;
                self.block(&inner.body)?;
            }
        }
        self.vars[inner.var.0 as usize] = outer;
        Ok(())
    }

    fn set(&mut self, var: VarId, value: i64) -> Result<Option<i64>, InterpError> {
        let slot = self.vars.get_mut(var.0 as usize);
        let slot = slot.ok_or(InterpError::Invalid("a variable does not exist"))?;
        Ok(slot.replace(value))
    }

    fn while_loop(&mut self, inner: &While) -> Result<(), InterpError> {
        let mut values = Vec::new();
        for (_, start) in &inner.vars {
            values.push(self.index(start)?);
        }
        if inner.next.len() != values.len() {
            return Err(InterpError::Invalid("a loop does not carry all of its variables"));
        }
        loop {
            for ((var, _), value) in inner.vars.iter().zip(&values) {
                self.set(*var, *value)?;
            }
            if !self.holds(&inner.condition)? {
                return self.block(&inner.after);
            }
            if let Some((var, _)) = inner.vars.first() {
                self.trips[var.0 as usize] += 1;
            }
            self.step()?;
            self.block(&inner.body)?;
            for (value, next) in values.iter_mut().zip(&inner.next) {
                *value = self.index(next)?;
            }
        }
    }

    /// As it is defined: coordinate after coordinate, each cursor at its first position that is not before.
    fn coiter(&mut self, coiter: &CoIter) -> Result<(), InterpError> {
        let range = (self.index(&coiter.lower)?, self.index(&coiter.upper)?);
        let mut walked = Vec::new();
        for cursor in &coiter.cursors {
            let (place, end) = (self.index(&cursor.start)?, self.index(&cursor.end)?);
            walked.push(Walked { cursor, place, end, width: self.index(&cursor.width)? });
        }
        let all = coiter.cases.iter().any(|case| case.cursors.is_empty());
        let mut coordinate = range.0;
        loop {
            let mut here = Vec::new();
            for cursor in &mut walked {
                here.push(self.nearest(cursor, coordinate, range)?);
            }
            let nearest = here.iter().flatten().min().copied();
            let Some(next) = (if all { Some(coordinate) } else { nearest }) else { return Ok(()) };
            if next >= range.1 {
                return Ok(());
            }
            coordinate = next;
            self.step()?;
            self.set(coiter.var, coordinate)?;
            for walked in &walked {
                self.set(walked.cursor.position, walked.place)?;
            }
            let there = |case: &&Case| {
                case.cursors.iter().all(|cursor| here.get(*cursor) == Some(&Some(coordinate)))
            };
            if let Some(case) = coiter.cases.iter().find(there) {
                self.block(&case.body)?;
            }
            coordinate = coordinate.checked_add(1).ok_or(EvalError::Overflow)?;
        }
    }

    /// The first coordinate from `from` on where a cursor is, which it then stands at.
    fn nearest(
        &mut self,
        walked: &mut Walked<'_>,
        from: i64,
        (lower, upper): (i64, i64),
    ) -> Result<Option<i64>, InterpError> {
        let Walked { cursor, place: position, end, width } = walked;
        let outside = InterpError::Invalid("a coordinate is not in the range");
        let mut before = None;
        while *position < *end {
            self.set(cursor.position, *position)?;
            let place = self.index(&cursor.place)?;
            if before.is_some_and(|before| place < before || place == before && !cursor.repeats) {
                return Err(InterpError::Invalid("a level's coordinates do not ascend"));
            }
            let past = |at: i64| at.checked_mul(cursor.step).ok_or(EvalError::Overflow);
            // The first window that ends behind it.
            let reaches = place.checked_sub(*width).ok_or(EvalError::Overflow)?;
            let at = (reaches.div_euclid(cursor.step) + 1).max(from);
            if cursor.above && place < past(lower)? {
                return Err(outside);
            }
            if cursor.below && reaches >= past(upper.saturating_sub(1))? {
                return Err(outside);
            }
            if *width > 0 && past(at)? <= place {
                return Ok(Some(at));
            }
            before = Some(place);
            self.step()?;
            *position += 1;
        }
        Ok(None)
    }

    /// A buffer, and the loops around that touch it.
    fn slot(&mut self, buffer: BufferId) -> Result<(&mut Slot<'a>, &[Parallel]), InterpError> {
        let slot = self.slots.get_mut(buffer.0 as usize).and_then(Option::as_mut);
        let slot = slot.ok_or(InterpError::Invalid("a buffer is not an argument"))?;
        Ok((slot, &self.parallel))
    }

    fn store(&mut self, store: &Store) -> Result<(), InterpError> {
        let element = self.slot(store.buffer)?.0.buffer.element;
        let computed = self.module.computed_in(&store.value, element);
        if computed.is_complex() {
            return self.store_complex(store);
        }
        let index = self.index(&store.index)?;
        let number = match computed.is_integer() {
            true => Number::Int(self.integer(&store.value)?),
            false => Number::Float(self.value(&store.value)?),
        };
        if self.place == Place::Block {
            return Err(InterpError::Invalid("a block writes outside of its lanes"));
        }
        self.note(std::ptr::from_ref(store) as usize, store.buffer, index);
        let (slot, loops) = self.slot(store.buffer)?;
        let at = slot.position(index)?;
        let joined = store.mode.reduction();
        if joined.is_some() {
            slot.touch(at, loops, false)?;
        }
        slot.touch(at, loops, true)?;
        match (&mut *slot.data, number) {
            (Data::Float(data), Number::Float(value)) => {
                let value = joined.map_or(value, |kind| kind.of(data[at], value));
                data[at] = element.round(value);
            }
            // Positions and sizes, whose overflow is excluded by whoever builds the function.
            (Data::Int(data), Number::Int(value)) if store.is_index() => {
                let new = match joined {
                    Some(Reduction::Sum) => data[at].checked_add(value),
                    kind => Some(kind.map_or(value, |kind| kind.of_integers(data[at], value))),
                };
                let new = new.ok_or(EvalError::Overflow)?;
                if element == Element::U32 && u32::try_from(new).is_err() {
                    return Err(EvalError::Overflow.into());
                }
                data[at] = element.wrapped(new);
            }
            (Data::Int(data), Number::Int(value)) => {
                let new = joined.map_or(value, |kind| kind.of_integers(data[at], value));
                data[at] = element.wrapped(new);
            }
            (Data::Int(data), Number::Float(value)) => {
                let value = joined.map_or(value, |kind| kind.of(data[at] as f64, value));
                data[at] = i64::from(value != 0.0);
            }
            (Data::Float(_), Number::Int(_)) => {
                return Err(InterpError::Kind(slot.buffer.name.clone()));
            }
        }
        Ok(())
    }

    /// A number that is computed in integers.
    fn integer(&mut self, value: &Value) -> Result<i64, InterpError> {
        let float = InterpError::Invalid("a float is stored as an integer");
        match value {
            Value::Const(value) if value.is_nan() || value.is_finite() && value.fract() != 0.0 => {
                Err(float)
            }
            // Infinities are the largest and the smallest one.
            Value::Const(value) => Ok(*value as i64),
            Value::Load(buffer, index) => {
                let place = std::ptr::from_ref(index) as usize;
                let index = self.index(index)?;
                self.note(place, *buffer, index);
                let (slot, loops) = self.slot(*buffer)?;
                let at = slot.position(index)?;
                slot.touch(at, loops, false)?;
                slot.data.as_int().map(|data| data[at]).ok_or(float)
            }
            Value::FromIndex(index) => self.index(index),
            Value::Add(left, right) => Ok(self.integer(left)?.wrapping_add(self.integer(right)?)),
            Value::Mul(left, right) => Ok(self.integer(left)?.wrapping_mul(self.integer(right)?)),
            Value::Div(..) => Err(float),
            Value::Min(left, right) => Ok(self.integer(left)?.min(self.integer(right)?)),
            Value::Max(left, right) => Ok(self.integer(left)?.max(self.integer(right)?)),
            Value::Truth(inside) => Ok(i64::from(self.integer(inside)? != 0)),
            Value::Apply(function, of) => {
                let of: Result<Vec<i64>, _> = of.iter().map(|one| self.integer(one)).collect();
                function.eval_integers(&of?).ok_or(float)
            }
            Value::Select(parts) => {
                let [condition, then, otherwise] = &**parts;
                let chosen = self.decides(condition)?;
                let (then, otherwise) = (self.integer(then)?, self.integer(otherwise)?);
                Ok(if chosen { then } else { otherwise })
            }
            Value::Compare(how, left, right) => self.compares(*how, left, right).map(i64::from),
            Value::Cast(element, inside) => match self.cast(*element, inside)? {
                Number::Int(value) => Ok(value),
                Number::Float(_) => Err(float),
            },
            Value::Sum(sum) => {
                let mut total = sum.kind.neutral() as i64;
                self.terms(sum, |machine| {
                    total = sum.kind.of_integers(total, machine.integer(&sum.body)?);
                    Ok(())
                })?;
                Ok(total)
            }
        }
    }

    /// Calls `each` at every term of a sum that counts.
    fn terms(
        &mut self,
        sum: &Sum,
        mut each: impl FnMut(&mut Self) -> Result<(), InterpError>,
    ) -> Result<(), InterpError> {
        self.range((sum.var, sum.step), (&sum.lower, &sum.upper), |machine| {
            let holds = match &sum.condition {
                Some(condition) => machine.holds(condition)?,
                None => true,
            };
            if holds { each(machine) } else { Ok(()) }
        })
    }

    fn value(&mut self, value: &Value) -> Result<f64, InterpError> {
        match value {
            Value::Const(value) => Ok(*value),
            Value::Load(buffer, index) => {
                let place = std::ptr::from_ref(index) as usize;
                let index = self.index(index)?;
                self.note(place, *buffer, index);
                let (slot, loops) = self.slot(*buffer)?;
                let at = slot.position(index)?;
                slot.touch(at, loops, false)?;
                match &*slot.data {
                    Data::Float(data) => Ok(data[at]),
                    Data::Int(data) => Ok(data[at] as f64),
                }
            }
            Value::FromIndex(index) => Ok(self.index(index)? as f64),
            Value::Add(left, right) => Ok(self.value(left)? + self.value(right)?),
            Value::Mul(left, right) => Ok(self.value(left)? * self.value(right)?),
            Value::Div(left, right) => Ok(self.value(left)? / self.value(right)?),
            Value::Min(left, right) => Ok(Reduction::Min.of(self.value(left)?, self.value(right)?)),
            Value::Max(left, right) => Ok(Reduction::Max.of(self.value(left)?, self.value(right)?)),
            Value::Truth(inside) => Ok(f64::from(self.value(inside)? != 0.0)),
            Value::Apply(function, of) => {
                if let Some(real) = self.real_of_complex(*function, of)? {
                    return Ok(real);
                }
                let of: Result<Vec<f64>, _> = of.iter().map(|one| self.value(one)).collect();
                Ok(function.eval(&of?))
            }
            Value::Select(parts) => {
                let [condition, then, otherwise] = &**parts;
                let chosen = self.decides(condition)?;
                let (then, otherwise) = (self.value(then)?, self.value(otherwise)?);
                Ok(if chosen { then } else { otherwise })
            }
            Value::Compare(how, left, right) => self.compares(*how, left, right).map(f64::from),
            Value::Cast(element, inside) => match self.cast(*element, inside)? {
                Number::Int(value) => Ok(value as f64),
                Number::Float(value) => Ok(value),
            },
            Value::Sum(sum) => {
                let mut total = sum.kind.neutral();
                self.terms(sum, |machine| {
                    total = sum.kind.of(total, machine.value(&sum.body)?);
                    Ok(())
                })?;
                Ok(total)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    #[test]
    fn calls_pass_integers_and_buffers() {
        let text = "module(N)\nbuffer A : f64[N]\nbuffer B : f64[N]\n\
            func f(inout A, inout B) { for i = 0 to N { call g(N - i) on B, A } }\n\
            private inline func g(symbol N, index k, inout A, in B) { A[N - k] += 2.0 * B[k - 1] }";
        let module = parse(text).unwrap();
        assert_eq!(
            (crate::verify(&module), module.to_string()),
            (Ok(()), parse(text).unwrap().to_string())
        );
        let mut data = [Data::Float(vec![1.0, 2.0, 3.0]), Data::Float(vec![0.5, 0.0, 0.0])];
        run(&module, "f", &[3], &mut data).unwrap();
        assert_eq!(data[1], Data::Float(vec![6.5, 4.0, 2.0]));
    }

    #[test]
    fn scans_take_marks_away() {
        let of = |body: &str| {
            let text = format!(
                "module(N)\nbuffer A : f64[8]\nbuffer m : u8[8]\nfunc f(inout A, inout m) {{ {body} }}"
            );
            let module = parse(&text).unwrap();
            assert_eq!(parse(&module.to_string()).unwrap(), module.canonical());
            let mut data =
                [Data::zeros(Element::F64, 8), Data::Int(vec![1, 0, 2, 0, 0, 255, 0, 1])];
            let result = run(&module, "f", &[3], &mut data).map_err(|error| error.to_string());
            result.map(|()| data)
        };
        let marked =
            "scan k in m[1 .. N + 3] { A[k] += index(k + 1) A[0] = 2.0 * A[0] + index(k) }";
        let expected = [
            Data::Float(vec![9.0, 0.0, 3.0, 0.0, 0.0, 6.0, 0.0, 0.0]),
            Data::Int(vec![1, 0, 0, 0, 0, 0, 0, 1]),
        ];
        assert_eq!(of(marked), Ok(expected.clone()));
        assert_eq!(
            of(&format!("{marked} scan k in m[N .. N] {{ A[k] = 7.0 }} {marked}")).unwrap()[1],
            expected[1]
        );
        assert_eq!(of("scan k in m[N .. 9] { }").unwrap_err(), "m[8] is outside its 8 elements");
        let collide = of("parallel i = 0 to N { scan k in m[0 .. 8] { } }").unwrap_err();
        assert_eq!(collide, "iterations of a parallel loop collide at m[0]");
    }

    #[test]
    fn threads_of_a_team_have_numbers_and_may_not_collide() {
        let of = |body: &str| {
            let text = format!("module()\nbuffer A : f64[8]\nfunc f(inout A) {{ {body} }}");
            let mut data = [Data::zeros(Element::F64, 8)];
            run(&parse(&text).unwrap(), "f", &[], &mut data).map(|()| data)
        };
        let parts = "team t in n { A[t] += index(t + n) }";
        assert!(of(parts).unwrap()[0].as_float().unwrap().starts_with(&[3.0, 4.0, 5.0, 0.0]));
        let error = of("team t in n { A[n] += 1.0 }").unwrap_err().to_string();
        assert_eq!(error, "iterations of a parallel loop collide at A[3]");
    }

    fn run_body(body: &str, n: i64) -> Result<Vec<Data>, InterpError> {
        let text = format!(
            "module(N)\nbuffer A : f64[N]\nbuffer B : f32[N]\nbuffer s : i64[2]\n\
             func f(inout A, inout B, inout s) {{ {body} }}"
        );
        let module = parse(&text).unwrap();
        let ramp = || Data::Float((0..n).map(|x| x as f64).collect());
        let mut data = [ramp(), ramp(), Data::Int(vec![0; 2])];
        run_steps(&module, "f", &[n], &mut data, 10_000)?;
        Ok(data.to_vec())
    }

    fn a(body: &str, n: i64) -> Vec<f64> {
        run_body(body, n).unwrap()[0].as_float().unwrap().to_vec()
    }

    #[test]
    fn meanings() {
        assert_eq!(
            a("parallel i = 1 to N step 2 { A[i] = index(0 - i) }", 4),
            [0.0, -1.0, 2.0, -3.0]
        );
        assert_eq!(a("for i = max(1, N - 2) to min(N, 9) { A[i] += 10.0 }", 3), [0.0, 11.0, 12.0]);
        assert_eq!(a("A[0] = sum(i = 0 to N if i % 2 == 1) A[i] * 2.0", 5)[0], 8.0);
        assert_eq!(a("A[0] = 1.0 + sum(i = 3 to 2) A[77]", 1)[0], 1.0);
        assert_eq!(
            a("for i = 0 to N { if i < 1 or i > 2 { A[i] = 7.0 } else { A[i] = 1.0 / 4.0 } }", 4),
            [7.0, 0.25, 0.25, 7.0]
        );
        let data = run_body("B[0] = 0.1 s[0] = index(N * 5) s[0] += index(1)", 3).unwrap();
        assert_eq!(data[1].as_float().unwrap()[0], f64::from(0.1f32));
        assert_eq!(data[2], Data::Int(vec![16, 0]));
    }

    #[test]
    fn errors() {
        let error = |body: &str| run_body(body, 3).unwrap_err().to_string();
        let all = [
            "A[3] = 1.0",
            "A[-1] = 1.0",
            "A[0] = B[N]",
            "A[exact(N, 2)] = 1.0",
            "s[0] = index(9223372036854775807) s[0] += index(1)",
            "s[0] = index(9223372036854775807 + N)",
            "for i = 0 to 9223372036854775807 { }",
            "A[0] = sum(i = 0 to 9223372036854775807) 1.0",
            "for i = 0 to N step 0 { }",
            "s[0] = 1.5",
            "parallel i = 0 to N { A[0] = 1.0 }",
            "parallel i = 0 to N { A[i] = A[0] }",
            "parallel i = 0 to N { A[0] += 1.0 }",
            "parallel i = 0 to N { A[i] = A[N - 1] }",
            "parallel i = 0 to N { parallel j = 0 to N { A[i] = 1.0 } }",
            "parallel i = 0 to N { unroll j = 0 to 2 { A[i] += A[j] } }",
        ]
        .map(|body| error(body) + "\n")
        .concat();
        expect_test::expect![[r#"
            A[3] is outside its 3 elements
            A[-1] is outside its 3 elements
            B[3] is outside its 3 elements
            exact division of 3 by 2 has a remainder
            integer overflow
            integer overflow
            more than 10000 steps
            more than 10000 steps
            the function is not valid: a step is not positive
            the function is not valid: a float is stored as an integer
            iterations of a parallel loop collide at A[0]
            iterations of a parallel loop collide at A[0]
            iterations of a parallel loop collide at A[0]
            iterations of a parallel loop collide at A[2]
            iterations of a parallel loop collide at A[0]
            iterations of a parallel loop collide at A[0]
        "#]]
        .assert_eq(&all);
        // No race: each iteration its own element, read and written; a second loop may read all.
        a("parallel i = 0 to N { A[i] += A[i] } parallel i = 0 to N { B[i] = A[0] }", 3);
    }

    #[test]
    fn wrong_arguments() {
        let module = parse("module(N)\nbuffer A : f64[N]\nfunc f(out A) { }").unwrap();
        let error = |name: &str, symbols: &[i64], data: &mut [Data]| {
            run(&module, name, symbols, data).unwrap_err().to_string() + "\n"
        };
        let float = |len| Data::zeros(Element::F64, len);
        let all = [
            error("g", &[1], &mut [float(1)]),
            error("f", &[], &mut [float(1)]),
            error("f", &[1], &mut []),
            error("f", &[1], &mut [Data::Int(vec![0])]),
            error("f", &[2], &mut [float(1)]),
            error("f", &[-1], &mut [float(1)]),
        ];
        expect_test::expect![[r#"
            there is no function `g`
            1 symbols, 0 values
            1 arguments, 0 buffers
            buffer `A` holds elements of another kind
            buffer `A` has 1 of 2 elements
            the size of buffer `A` is -1
        "#]]
        .assert_eq(&all.concat());
    }
}
