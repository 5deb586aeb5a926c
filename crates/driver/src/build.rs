//! What code to generate, and the way from loops to it.

use std::sync::Arc;

use dastac_loops::machine::Machine;
use dastac_loops::passes::{self, Flow, Observer, Pipeline, Registry, Sequence};
use dastac_loops::{Module, ParallelLevel, verify};
use dastac_target::{Abi, CodeOptions, Generated, OptLevel, Target, TargetError};

use crate::{Error, targets};

/// Makes loops as lowering leaves them simple, whatever the machine is, while an observer looks on, which may stop it.
pub(crate) fn simplify(module: &mut Module, observer: &mut dyn Observer) -> Result<Flow, Error> {
    let pipeline = Pipeline::of(&Registry::of(passes::ALL), &[passes::SIMPLIFY])?;
    Ok(pipeline.run(module, &passes::Context::of(&Machine::PLAIN), observer)?)
}

/// What code to generate, and for which machine.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// Run parallel loops on several threads (on a CPU, this needs OpenMP's library at run time).
    pub parallel: bool,
    /// Assert that every access stays within its buffer ([`CodeOptions::checked`]).
    pub checked: bool,
    /// Execute the loops as they are: no tiles for registers and caches.
    pub untiled: bool,
    /// How much code is optimised.
    pub opt_level: OptLevel,
    /// The kind of machine.
    pub target: Arc<dyn Target>,
    /// What passes decide by in place of what the target says of its machine.
    pub machine: Option<Machine>,
    /// Values of the program's symbols, in their order: the code is for these alone, and smaller. None: it is for all.
    pub sizes: Vec<i64>,
}

impl Default for BuildOptions {
    /// One thread of the processor that this process runs on.
    fn default() -> BuildOptions {
        BuildOptions {
            parallel: false,
            checked: false,
            untiled: false,
            opt_level: OptLevel::default(),
            target: targets::host(),
            machine: None,
            sizes: Vec::new(),
        }
    }
}

impl BuildOptions {
    /// These options for code that the host executes whatever the target is: copies between its arrays.
    pub fn on_host(&self) -> BuildOptions {
        match self.target.name() == targets::ALL[0].name {
            true => self.clone(),
            false => BuildOptions { target: targets::host(), machine: None, ..self.clone() },
        }
    }

    /// What the target is asked for.
    pub fn code(&self) -> CodeOptions {
        let BuildOptions { parallel, checked, untiled, opt_level, .. } = *self;
        CodeOptions { parallel, checked, untiled, opt_level, ..CodeOptions::default() }
    }

    /// What the target is asked for where loops stay untiled and less optimisation is enough, as in copies between
    /// arrays.
    pub fn plain_code(&self) -> CodeOptions {
        CodeOptions { untiled: true, opt_level: OptLevel::O1, ..self.code() }
    }

    /// What passes decide by. Code for one thread has no use for those of a description.
    pub fn machine(&self, code: &CodeOptions) -> Machine {
        let Some(mut machine) = self.machine.clone() else { return self.target.machine(code) };
        if !code.parallel {
            machine.levels.retain(|known| known.level != ParallelLevel::Threads);
        }
        machine
    }

    /// All passes over loops: of all crates, and of the target.
    pub fn registry(&self) -> Registry {
        let own = passes::ALL.iter().copied();
        Registry::of(&own.chain([dastac_iterate::PASSES, self.target.passes()]).collect::<Vec<_>>())
    }

    /// What becomes of the loops before code is generated.
    pub fn sequences(&self, code: &CodeOptions) -> Vec<Sequence> {
        let mut sequences =
            vec![passes::PICK, passes::SPLIT_COMPLEX, dastac_iterate::LOWER, passes::WIDEN];
        sequences.extend(self.target.sequences(code));
        sequences
    }

    /// Makes loops fit the target, while an observer looks on, which may stop the passes.
    ///
    /// # Errors
    /// A sequence that names a pass that does not exist; what the observer finds.
    pub fn fit(
        &self,
        module: &mut Module,
        code: &CodeOptions,
        observer: &mut dyn Observer,
    ) -> Result<Flow, Error> {
        let last = self.target.code_sequences(code);
        let (for_all, for_code): (Vec<Sequence>, Vec<Sequence>) =
            self.sequences(code).into_iter().partition(|sequence| !last.contains(sequence));
        if self.run(module, code, &for_all, observer)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        if !self.sizes.is_empty() && self.target.takes_sizes() {
            let for_all_sizes = module.clone();
            // The symbols of a program are the first ones of its code.
            module.fix_symbols(&self.sizes);
            if self.run(module, code, &[passes::FIXED], observer)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
            // Where dimensions are empty, what sets a result may be dropped, but not what adds to it.
            if verify(module).is_err() {
                *module = for_all_sizes;
            }
        }
        self.run(module, code, &for_code, observer)
    }

    /// As [`BuildOptions::fit`], but for the target's sequences that are about code alone: loops and tiles in the order
    /// in which they are executed.
    ///
    /// # Errors
    /// As [`BuildOptions::fit`].
    pub fn tile(&self, module: &mut Module, observer: &mut dyn Observer) -> Result<(), Error> {
        let code = self.code();
        let left_out = self.target.code_sequences(&code);
        let mut sequences = self.sequences(&code);
        sequences.retain(|sequence| !left_out.contains(sequence));
        self.run(module, &code, &sequences, observer).map(drop)
    }

    fn run(
        &self,
        module: &mut Module,
        code: &CodeOptions,
        sequences: &[Sequence],
        observer: &mut dyn Observer,
    ) -> Result<Flow, Error> {
        let pipeline = Pipeline::of(&self.registry(), sequences)?;
        let machine = self.machine(code);
        Ok(pipeline.run(module, &passes::Context::of(&machine), observer)?)
    }

    /// Generates code of loops as lowering leaves them.
    ///
    /// # Errors
    /// The errors of [`BuildOptions::fit`]; loops that the target cannot take; a failure of its code generator.
    pub fn generate(&self, mut module: Module, code: &CodeOptions) -> Result<Generated, Error> {
        let interface = Abi::of(&module, &code.prefix);
        self.fit(&mut module, code, &mut ())?;
        Ok(self.generate_fitted(&module, interface, code)?)
    }

    /// Generates code of loops that fit the target. Its interface is that of the loops before the passes: callers pass
    /// the elements that the program has, whatever passes make of them.
    ///
    /// # Errors
    /// Loops that the target cannot take; a failure of its code generator.
    pub fn generate_fitted(
        &self,
        fitted: &Module,
        interface: Abi,
        code: &CodeOptions,
    ) -> Result<Generated, TargetError> {
        let mut generated = self.target.generate(fitted, code)?;
        generated.artifact.abi = interface;
        Ok(generated)
    }
}
