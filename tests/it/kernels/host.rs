//! What a host does around the functions of a computation, by the interpreter: it makes the arrays of results when it
//! is known how long these are, and copies of results in formats in which later rules read them.

use std::collections::BTreeMap;

use dastac::driver::Lowered;
use dastac::elements::Storage;
use dastac::formats::storage::{Indices, LevelData};
use dastac::formats::{Build, Tensor};
use dastac::iterate::Structure;
use dastac::loops::interp::{Data, run_steps};
use dastac::loops::{BufferId, Mode, Module};
use dastac::sched::{Phase, Stored};
use dastac::stur::program::TensorId;

use crate::sparse::{data, positions};

/// Statements that a function may execute.
const STEPS: u64 = 10_000_000;

/// A computation with its arrays.
pub struct Host<'a> {
    pub lowered: &'a Lowered,
    module: &'a Module,
    /// The program's, and numbers of positions.
    symbols: Vec<i64>,
    pub arrays: BTreeMap<BufferId, Data>,
}

impl<'a> Host<'a> {
    pub fn new(lowered: &'a Lowered, module: &'a Module, sizes: &[i64]) -> Host<'a> {
        let mut symbols = sizes.to_vec();
        symbols.resize(module.symbols.len(), 0);
        Host { lowered, module, symbols, arrays: BTreeMap::new() }
    }

    /// Converts a tensor to a format in which it is read: with just its elements.
    pub fn store(&mut self, stored: &Stored, tensor: &Tensor) -> Result<(), String> {
        let copying = Build { padding: None, ..Build::default() };
        let tensor = tensor.convert(&stored.operand.format, copying);
        let tensor = tensor.map_err(|error| error.to_string())?;
        for (level, symbol) in stored.operand.counts() {
            self.symbols[symbol.0 as usize] = positions(&tensor, level);
        }
        self.arrays.extend(stored.operand.buffers().into_iter().zip(data(&tensor)));
        Ok(())
    }

    /// Calls a function of this or another module of the program.
    pub fn call(&self, module: &Module, function: &str, data: &mut [Data]) -> Result<(), String> {
        run_steps(module, function, &self.symbols[..module.symbols.len()], data, STEPS)
            .map_err(|error| format!("{function}: {error}"))
    }

    /// Calls all functions, those of preprocess blocks first.
    pub fn run(&mut self) -> Result<(), String> {
        for preprocess in [true, false] {
            for phase in self.lowered.kernel.phases.iter().filter(|p| p.preprocess == preprocess) {
                self.phase(phase)?;
            }
        }
        Ok(())
    }

    fn phase(&mut self, phase: &Phase) -> Result<(), String> {
        let module = self.module;
        let function = module.find_function(&phase.name).ok_or("a phase without a function")?;
        // Copies first: they may say how large the arrays are that the function fills.
        let (read, filled): (Vec<_>, Vec<_>) =
            function.args.iter().partition(|(_, mode)| *mode == Mode::In);
        for (id, mode) in read.into_iter().chain(filled) {
            self.make(id, mode)?;
        }
        let arguments = function.args.iter().map(|(id, _)| self.arrays[id].clone());
        let mut arguments: Vec<Data> = arguments.collect();
        self.call(module, &phase.name, &mut arguments)?;
        for ((id, mode), data) in function.args.iter().zip(arguments) {
            if *mode != Mode::In {
                self.arrays.insert(*id, data);
            }
        }
        let kernel = &self.lowered.kernel;
        let counted = kernel.results.iter().find(|one| Some(one.tensor) == phase.counts);
        if let Some(Structure::Counted { starts, .. }) = counted.map(|one| &one.structure) {
            let own = phase.counts.map(|id| self.first(id)).ok_or("no result")?;
            for (starts, (_, symbol)) in starts.iter().zip(own.operand.counts()) {
                let Data::Int(starts) = &self.arrays[starts] else {
                    return Err("no counts".into());
                };
                self.symbols[symbol.0 as usize] = starts.last().copied().unwrap_or(0);
            }
        }
        Ok(())
    }

    /// Makes an array that a function takes, where it is not there: a copy's of a result, or one that the function
    /// fills.
    fn make(&mut self, id: BufferId, mode: Mode) -> Result<(), String> {
        if self.arrays.contains_key(&id) {
            return Ok(());
        }
        let copies =
            |one: &&Stored| one.converted_for.is_some() && one.operand.buffers().contains(&id);
        if let Some(copy) = self.lowered.kernel.stored.iter().find(copies) {
            let tensor = self.tensor(copy.tensor)?;
            return self.store(copy, &tensor);
        }
        let buffer = &self.module.buffers[id.0 as usize];
        if mode == Mode::In {
            return Err(format!("{} is read before it is there", buffer.name));
        }
        let size = buffer.size.eval_symbols(&self.symbols).map_err(|error| error.to_string())?;
        let rubbish = match !buffer.element.is_integer() {
            true => Data::Float(vec![7.0; size as usize]),
            false => Data::Int(vec![7; size as usize]),
        };
        self.arrays.insert(id, rubbish);
        Ok(())
    }

    /// The arrays of a tensor as it is bound or computed.
    fn first(&self, tensor: TensorId) -> &'a Stored {
        let mut stored = self.lowered.kernel.stored.iter();
        stored.find(|one| one.tensor == tensor).expect("a dynamic tensor")
    }

    /// Whether some result has the levels of an operand.
    pub fn copies_levels(&self) -> bool {
        let mut results = self.lowered.kernel.results.iter();
        results.any(|one| matches!(one.structure, Structure::Copied { .. }))
    }

    /// A dynamic tensor of its arrays.
    pub fn tensor(&self, id: TensorId) -> Result<Tensor, String> {
        let own = self.first(id);
        let indices = |id: &BufferId| match &self.arrays[id] {
            Data::Int(all) => Indices::U64(all.iter().map(|at| *at as u64).collect()),
            Data::Float(_) => unreachable!("indices are integers"),
        };
        let levels =
            own.operand.levels.iter().map(|level| {
                LevelData::new(level.kind, level.arrays.iter().map(indices).collect())
            });
        let values = match &self.arrays[&own.operand.values] {
            Data::Float(all) => Storage::from(all.clone()),
            Data::Int(all) => Storage::from(all.clone()),
        };
        let extents = own.operand.extents.iter().map(|extent| extent.eval_symbols(&self.symbols));
        let shape: Result<Vec<u64>, _> = extents.map(|extent| extent.map(|e| e as u64)).collect();
        let shape = shape.map_err(|error| error.to_string())?;
        Tensor::from_parts(shape, own.operand.format.clone(), levels.collect(), values)
            .map_err(|error| error.to_string())
    }
}
