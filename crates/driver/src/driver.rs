//! The stages in their order; the only place that knows it.
//!
//! [`Analysis`] (checked, structure inferred) -> [`Laid`] (packed layouts) -> [`Lowered`] (loops) -> [`Built`] (machine
//! code). Each stage's type holds the one before, and the time each took.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use dastac_iterate::Walking;
use dastac_layout::{Layout, LayoutError};
use dastac_loops::passes::{Flow, Observer};
use dastac_loops::{Element, Module};
use dastac_poly::Context;
use dastac_sched::trips::Counting;
use dastac_sched::validate::{Check, validate, validate_movement};
use dastac_sched::{Computation, Gathered, Movement, Reading};
use dastac_stur::infer::{Inferred, infer};
use dastac_stur::{Checked, Diagnostic, Program, TensorId};
use dastac_target::{Abi, Artifact};

use crate::Error;
use crate::build::{BuildOptions, simplify};
use crate::contract::{At, Expected, Steps, impossible};
use crate::workspaces::{choice, machine};

/// How long each stage took, in order.
#[derive(Clone, Debug, Default)]
pub struct Timings(pub Vec<(&'static str, Duration)>);

impl Timings {
    fn measure<T, E>(
        &mut self,
        stage: &'static str,
        run: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let start = Instant::now();
        let result = run();
        self.0.push((stage, start.elapsed()));
        result
    }

    /// The sum.
    pub fn total(&self) -> Duration {
        self.0.iter().map(|(_, time)| *time).sum()
    }
}

/// A program with the structure of every tensor.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The program, its sets, structures and statements.
    pub inferred: Inferred,
    /// Warnings of the checker.
    pub warnings: Vec<Diagnostic>,
    /// Stages so far.
    pub timings: Timings,
    /// In which steps products are computed.
    pub steps: Steps,
    /// What is expected of results with formats, if it is known at which sizes the program runs.
    pub expected: BTreeMap<TensorId, Expected>,
}

impl Analysis {
    /// Parses, checks and infers.
    ///
    /// # Errors
    /// All diagnostics of the program, also for layouts that are not possible; a failure of isl.
    pub fn of(source: &str) -> Result<Analysis, Error> {
        let mut timings = Timings::default();
        let checked = timings.measure("parse", || Ok::<_, Error>(dastac_stur::read(source)))?;
        let (program, warnings) = match checked {
            Checked::Whole(program, warnings) => (program, warnings),
            Checked::Part(sound, found) => {
                return Err(Error::Program(joined(found, sound.as_ref().map_or(Vec::new(), more))));
            }
        };
        let inferred = timings.measure("infer", || inferred(&program));
        let inferred = match inferred {
            Err(Error::Program(found)) => return Err(Error::Program(joined(warnings, found))),
            inferred => inferred?,
        };
        let warnings = joined(warnings, dastac_stur::infer::warnings(&inferred)?);
        Ok(Analysis { inferred, warnings, timings, steps: Steps::Open, expected: BTreeMap::new() })
    }

    /// What stands in the way of code, though nothing is wrong with the structures: what layouts and loops find.
    ///
    /// # Errors
    /// What else keeps [`Analysis::lay_out`] and [`Laid::lower`] from their results.
    pub fn obstacles(&self) -> Result<Vec<Diagnostic>, Error> {
        match self.clone().lay_out().and_then(Laid::lower) {
            Ok(_) => Ok(Vec::new()),
            Err(Error::Program(found)) => Ok(found),
            Err(error) => Err(error),
        }
    }

    /// Finds the packed layout of every tensor, with products in steps where schedules ask for them,
    /// unless [`Analysis::contracted`] decided that before.
    ///
    /// # Errors
    /// Diagnostics for tensors whose layout cannot be found; Barvinok not being there, failures of isl.
    pub fn lay_out(self) -> Result<Laid, Error> {
        let mut analysis = self.contracted(At::Asked)?;
        let inferred = &analysis.inferred;
        let layouts = analysis.timings.measure("layout", || Layout::all(inferred));
        match (layouts, &analysis.steps) {
            (Ok(layouts), _) => Ok(Laid { analysis, layouts }),
            (Err(LayoutError::Program(found)), Steps::Cut(cut)) if !cut.expanded.is_empty() => {
                match analysis.without_copies() {
                    Some(packed) => packed.lay_out(),
                    None => Err(Error::Program(found)),
                }
            }
            (Err(LayoutError::Program(found)), Steps::Cut(cut)) => {
                let failure = match cut.choice.is_empty() {
                    true => Error::Program(found),
                    false => impossible(&cut.written.program, &cut.choice),
                };
                match analysis.decided() {
                    Some(analysis) => analysis?.lay_out(),
                    None => Err(failure),
                }
            }
            (Err(error), _) => Err(error.into()),
        }
    }
}

/// Structures, and what the program chooses about layouts checked against them.
fn inferred(program: &Program) -> Result<Inferred, Error> {
    let inferred = infer(program, &Context::new()?)?;
    let mut found = Vec::new();
    for id in inferred.program.tensor_ids() {
        match Layout::check_choice(&inferred, id).map_err(Error::from) {
            Err(Error::Program(diagnostics)) => found.extend(diagnostics),
            checked => checked?,
        }
    }
    if found.is_empty() { Ok(inferred) } else { Err(Error::Program(found)) }
}

/// The errors that inference finds in the sound part of a program with other errors.
fn more(sound: &Program) -> Vec<Diagnostic> {
    match inferred(sound) {
        Err(Error::Program(found)) => found,
        _ => Vec::new(),
    }
}

/// All of them, in the order of the text.
fn joined(mut some: Vec<Diagnostic>, others: Vec<Diagnostic>) -> Vec<Diagnostic> {
    some.extend(others);
    some.sort_by_key(Diagnostic::place);
    some
}

/// A program with the layout of every tensor.
#[derive(Clone, Debug)]
pub struct Laid {
    /// The stage before.
    pub analysis: Analysis,
    /// Layouts, indexed by tensor.
    pub layouts: Vec<Layout>,
}

impl Laid {
    /// The program.
    pub fn program(&self) -> &Program {
        &self.analysis.inferred.program
    }

    /// The program with its structures and statements.
    pub fn inferred(&self) -> &Inferred {
        &self.analysis.inferred
    }

    /// The same program with every tensor in its whole box, in C order: what packing is compared with.
    ///
    /// # Errors
    /// A box whose extent is a minimum or maximum.
    pub fn uncompressed(self) -> Result<Laid, Error> {
        self.uncompressed_where(|_| true)
    }

    /// The same program with some tensors in their whole boxes.
    ///
    /// # Errors
    /// As [`Laid::uncompressed`].
    pub fn uncompressed_where(mut self, whole: impl Fn(TensorId) -> bool) -> Result<Laid, Error> {
        let inferred = &self.analysis.inferred;
        for id in inferred.program.tensor_ids().filter(|id| whole(*id)) {
            self.layouts[id.0] = Layout::dense(inferred, id)?;
        }
        Ok(self)
    }

    /// Builds the loops of the computation, for dynamic tensors whose positions and coordinates fit 32 bits.
    ///
    /// # Errors
    /// Diagnostics for rules whose loops cannot be found; failures of isl.
    pub fn lower(self) -> Result<Lowered, Error> {
        self.lower_for(Iteration::default())
    }

    /// Builds the loops of the computation, with a choice of how dynamic tensors are read: [`Indices`] alone, or an
    /// [`Iteration`].
    ///
    /// # Errors
    /// As [`Laid::lower`].
    pub fn lower_for(self, iteration: impl Into<Iteration>) -> Result<Lowered, Error> {
        self.lower_under(iteration.into(), &mut ()).map(|(lowered, _)| lowered)
    }

    /// As [`Laid::lower_for`], while an observer looks on the passes that make the loops simple, which may stop them.
    ///
    /// # Errors
    /// As [`Laid::lower`]; what the observer finds.
    pub fn lower_under(
        self,
        iteration: Iteration,
        observer: &mut dyn Observer,
    ) -> Result<(Lowered, Flow), Error> {
        let Iteration { indices, walking, reserves } = iteration;
        let mut laid = self;
        let (inferred, layouts) = (&laid.analysis.inferred, &laid.layouts);
        let element = match indices {
            Indices::Narrow => Element::U32,
            Indices::Wide => Element::I64,
        };
        let reading = Reading { indices: element, walking, reserves };
        let (expected, machine) = (&laid.analysis.expected, machine());
        let kernel = || -> Result<(Computation, Flow), Error> {
            let chosen = |gathered: &Gathered<'_>| {
                let expected = expected.get(&gathered.head);
                Some(choice(&inferred.program, expected, gathered, machine))
            };
            let mut kernel = dastac_sched::kernel_with(inferred, layouts, reading, &chosen)?;
            let flow = simplify(&mut kernel.module, observer)?;
            Ok((kernel, flow))
        };
        let (kernel, flow) = laid.analysis.timings.measure("loops", kernel)?;
        Ok((Lowered { laid, kernel, indices }, flow))
    }
}

/// The width of positions and coordinates of dynamic tensors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Indices {
    /// 32 bits.
    #[default]
    Narrow,
    /// 64 bits.
    Wide,
}

/// How loops read dynamic tensors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Iteration {
    /// The width of their positions and coordinates.
    pub indices: Indices,
    /// How subscripts of several iterators, those of convolutions, go over sparse levels.
    pub walking: Walking,
    /// Whether sparse results may be made in memory of which only a bound is known, which is faster than counting them
    /// first. Only this crate's own runs can do that: callers of libraries count.
    pub reserves: bool,
}

impl From<Indices> for Iteration {
    fn from(indices: Indices) -> Iteration {
        Iteration { indices, ..Iteration::default() }
    }
}

/// A program as loops, after the passes of [`dastac_loops::passes::SIMPLIFY`].
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The stage before.
    pub laid: Laid,
    /// The computation.
    pub kernel: Computation,
    /// The width of dynamic tensors' indices.
    pub indices: Indices,
}

impl Lowered {
    /// The program.
    pub fn program(&self) -> &Program {
        &self.laid.analysis.inferred.program
    }

    /// The program with its structures and statements.
    pub fn inferred(&self) -> &Inferred {
        &self.laid.analysis.inferred
    }

    /// The computation in tiles, unless it is to stay as it is.
    ///
    /// # Errors
    /// A sequence that names a pass that does not exist.
    pub fn tiled(&self, options: &BuildOptions) -> Result<Module, Error> {
        let mut module = self.kernel.module.clone();
        options.tile(&mut module, &mut ())?;
        Ok(module)
    }

    /// The computation as it is compiled: after all passes of the target, while an observer looks on, which may stop
    /// them.
    ///
    /// # Errors
    /// As [`Lowered::tiled`]; what the observer finds.
    pub fn fitted(
        &self,
        options: &BuildOptions,
        observer: &mut dyn Observer,
    ) -> Result<(Module, Flow), Error> {
        let mut module = self.kernel.module.clone();
        let flow = options.fit(&mut module, &options.code(), observer)?;
        Ok((module, flow))
    }

    /// The computation with a counter for each loop ([`crate::run::Runner::trips`] runs it).
    ///
    /// # Errors
    /// Loops that cannot be counted.
    pub fn counting(&self) -> Result<Counting, Error> {
        Ok(dastac_sched::trips::counting(&self.laid.analysis.inferred, &self.kernel)?)
    }

    /// Proves, for all values of the symbols, that the loops compute what the program says: every property of every
    /// rule and tensor.
    ///
    /// # Errors
    /// Failures of isl.
    pub fn prove(&self) -> Result<Vec<Check>, Error> {
        let (inferred, layouts) = (&self.laid.analysis.inferred, &self.laid.layouts);
        let mut checks = validate(inferred, layouts, &self.kernel.module)?;
        checks.extend(validate_movement(inferred, layouts, &self.movement()?)?);
        Ok(checks)
    }

    /// Generates code for the target.
    ///
    /// # Errors
    /// Loops that the target cannot take; a failure of its code generator.
    pub fn build(self, options: BuildOptions) -> Result<Built, Error> {
        self.build_under(options, &mut ())
    }

    /// As [`Lowered::build`], while an observer looks on the passes.
    ///
    /// # Errors
    /// As [`Lowered::build`]; what the observer finds.
    pub fn build_under(
        self,
        options: BuildOptions,
        observer: &mut dyn Observer,
    ) -> Result<Built, Error> {
        let mut lowered = self;
        let start = Instant::now();
        let (fitted, _) = lowered.fitted(&options, observer)?;
        lowered.laid.analysis.timings.0.push(("tile", start.elapsed()));
        let code = options.code();
        let interface = Abi::of(&lowered.kernel.module, &code.prefix);
        let generated = options.generate_fitted(&fitted, interface, &code)?;
        // MLIR's text is parsed as well: stages' names stay distinct.
        let stages = generated.timings.into_iter().map(|(stage, time)| match stage {
            "parse" => ("read", time),
            stage => (stage, time),
        });
        lowered.laid.analysis.timings.0.extend(stages);
        Ok(Built { lowered, code: generated.artifact, options })
    }

    /// Builds the data movement between dense arrays and packed buffers, as loops.
    pub fn movement(&self) -> Result<Movement, Error> {
        let mut movement =
            dastac_sched::movement(&self.laid.analysis.inferred, &self.laid.layouts, &self.kernel)?;
        simplify(&mut movement.module, &mut ())?;
        Ok(movement)
    }
}

/// A program as machine code.
#[derive(Clone, Debug)]
pub struct Built {
    /// The stage before.
    pub lowered: Lowered,
    /// The code of the computation (data movement is generated when it is needed).
    pub code: Artifact,
    /// What it was built for.
    pub options: BuildOptions,
}

impl Built {
    /// The program as it is written: what results are compared with.
    pub fn written(&self) -> &Program {
        self.lowered.laid.analysis.written()
    }

    /// The program, with the steps of its products.
    pub fn program(&self) -> &Program {
        self.lowered.program()
    }

    /// The program with its structures and statements.
    pub fn inferred(&self) -> &Inferred {
        &self.lowered.laid.analysis.inferred
    }
}

/// From text to machine code.
pub fn compile(source: &str, options: BuildOptions) -> Result<Built, Error> {
    Analysis::of(source)?.lay_out()?.lower()?.build(options)
}
