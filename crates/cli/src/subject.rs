//! A program that is to be run. What the cache has of it is taken from there; the rest is compiled, and kept for the
//! next run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dastac::Side;
use dastac::build::BuildOptions;
use dastac::cached::{self, Counts, Kept, Key, Known};
use dastac::contract::{At, Sizes};
use dastac::driver::{Analysis, Iteration, Lowered};
use dastac::run::Runner;
use dastac::runtime::cache::Cache;
use dastac::runtime::{Executable, Instance};
use dastac::sched::{Movement, Moving};
use dastac::stur::{Program, TensorId};
use dastac::verify::is_nearly_empty;
use dastac::workspaces::UsedWorkspace;

use super::args::{PassArgs, ScheduleArgs};
use super::failure::Failure;
use super::passes::Watch;
use super::progress::Progress;
use super::report::Compiled;
use super::schedule::{schedule, scheduled};
use super::source::Source;
use super::{Result, Terminal};

/// A program that is to be run.
pub struct Subject<'a> {
    source: &'a Source,
    cache: Option<&'a Cache>,
    program: Program,
    /// What the cache knows of it.
    known: Option<Known>,
    /// Its structure, if it was inferred and is not in use.
    analysis: Option<Analysis>,
    /// What the code is kept by, once it is asked for.
    key: Option<Key>,
    warm_up: Option<WarmUp>,
}

/// What a program is compiled for.
pub struct Wanted {
    /// What code to make.
    pub options: BuildOptions,
    /// How sparse tensors are read.
    pub iteration: Iteration,
    /// What is to be seen of passes.
    pub passes: PassArgs,
    /// The sizes of the run.
    pub sizes: Sizes,
}

/// A program that can run.
pub struct Ready {
    /// Its code.
    pub code: Code,
    took: Duration,
}

/// The code of a program in this process.
pub enum Code {
    /// It was compiled just now.
    Compiled(Box<Runner>),
    /// It was in the cache.
    Kept(Box<Instance<'static>>, Vec<UsedWorkspace>),
}

/// What the cache has of a program.
struct Found {
    executable: Arc<Executable>,
    workspaces: Vec<UsedWorkspace>,
}

impl Ready {
    /// What runs.
    pub fn instance(&self) -> &Instance<'static> {
        match &self.code {
            Code::Compiled(runner) => runner.instance(),
            Code::Kept(instance, _) => instance,
        }
    }

    /// What runs.
    pub fn instance_mut(&mut self) -> &mut Instance<'static> {
        match &mut self.code {
            Code::Compiled(runner) => runner.instance_mut(),
            Code::Kept(instance, _) => instance,
        }
    }
}

impl<'a> Subject<'a> {
    /// Reads a program, and gives it the schedules that it is to have.
    pub fn open(
        terminal: &Terminal,
        source: &'a Source,
        args: &ScheduleArgs,
        cache: Option<&'a Cache>,
        progress: &Progress,
    ) -> Result<Subject<'a>> {
        if let Some(known) = cache.and_then(|cache| Known::find(cache, &source.text)) {
            terminal.renderer.warnings(&known.warnings, source);
            let mut program = known.program.clone();
            schedule(terminal, source, args, &mut program)?;
            let (known, analysis) = (Some(known), None);
            return Ok(Subject {
                source,
                cache,
                program,
                known,
                analysis,
                key: None,
                warm_up: None,
            });
        }
        let warm_up = Some(WarmUp::start());
        let analysis = scheduled(terminal, source, args, progress)?;
        if let Some(cache) = cache {
            Known::store(cache, &analysis);
        }
        let program = analysis.written().clone();
        let analysis = Some(analysis);
        Ok(Subject { source, cache, program, known: None, analysis, key: None, warm_up })
    }

    /// The program as it is written.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The symbol that the extent of a tensor's dimension tells, if it tells one; before the program is compiled.
    pub fn extent(&self, tensor: TensorId, dimension: usize) -> Option<Side<String>> {
        match &self.known {
            Some(known) => known.extent(tensor, dimension),
            None => Side::of(&self.analysis.as_ref()?.inferred, tensor, dimension),
        }
    }

    /// The program with the steps of its products.
    fn contracted(&mut self, sizes: &Sizes) -> Result<Analysis> {
        let failed = |error: dastac::Error| Failure::of(error, self.source);
        let analysis = match self.analysis.take() {
            Some(analysis) => analysis,
            None => {
                let mut analysis = Analysis::of(&self.source.text).map_err(failed)?;
                // They were chosen when the program was opened.
                let line = self.program.schedule_line().unwrap_or_default();
                let program = &mut analysis.inferred.program;
                let chosen = program.reschedule(&line).map_err(dastac::Error::Program);
                chosen.map_err(failed)?;
                analysis
            }
        };
        analysis.contracted(At::Sizes(sizes)).map_err(failed)
    }

    /// The loops of the computation.
    fn lowered(
        &mut self,
        wanted: &Wanted,
        watch: &mut Watch,
        progress: &Progress,
    ) -> Result<Lowered> {
        self.warm_up.get_or_insert_with(WarmUp::start);
        progress.stage("choosing steps");
        let analysis = self.contracted(&wanted.sizes)?;
        let failed = |error: dastac::Error| Failure::of(error, self.source);
        progress.stage("finding layouts");
        let laid = analysis.lay_out().map_err(failed)?;
        progress.stage("building loops");
        Ok(laid.lower_under(wanted.iteration, watch).map_err(failed)?.0)
    }

    /// What the cache has: code for these sizes, or for all. If there is neither, code for these sizes is wanted,
    /// unless there is some for others: a program that runs at many sizes is compiled for all of them then, once.
    fn kept(&mut self, cache: &Cache, wanted: &mut Wanted) -> Option<Found> {
        let general = BuildOptions { sizes: Vec::new(), ..wanted.options.clone() };
        let of = |options| Key::of(&self.program, options, wanted.iteration, &wanted.sizes);
        let (own, for_all) = (of(&wanted.options), of(&general));
        let find = |key: &Key| {
            let kept = Kept::find(cache, key)?;
            // Code that cannot be loaded is made again.
            Some(Found { executable: kept.package.load().ok()?, workspaces: kept.workspaces })
        };
        if let Some(found) = find(&own) {
            self.key = Some(own);
            return Some(found);
        }
        let found = find(&for_all);
        if found.is_some() || for_all.has_sized(cache) {
            wanted.options = general;
            self.key = Some(for_all);
        } else {
            for_all.note_sized(cache);
            self.key = Some(own);
        }
        found
    }

    /// The program with its code and memory for the sizes of a run.
    pub fn ready(
        &mut self,
        wanted: &mut Wanted,
        symbols: &BTreeMap<String, i64>,
        threads: usize,
        progress: &Progress,
    ) -> Result<Ready> {
        let start = Instant::now();
        let (source, cache) = (self.source, self.cache);
        let failed = |error: dastac::Error| Failure::of(error, source);
        if let Some(cache) = cache {
            let kept = self.kept(cache, wanted);
            cache.count(kept.is_some());
            if let Some(Found { executable, workspaces }) = kept {
                let took = start.elapsed();
                let instance = Instance::new(executable, symbols, threads);
                let instance = Box::new(instance.map_err(|error| failed(error.into()))?);
                return Ok(Ready { code: Code::Kept(instance, workspaces), took });
            }
        }
        let mut watch = Watch::of(wanted.passes);
        let lowered = self.lowered(wanted, &mut watch, progress)?;
        self.warm_up = None;
        progress.stage("generating code");
        let built = lowered.build_under(wanted.options.clone(), &mut watch).map_err(failed)?;
        watch.finish()?;
        if let Some((cache, key)) = cache.zip(self.key.as_ref()) {
            Kept::of(&built).map_err(failed)?.store(cache, key);
        }
        let took = start.elapsed();
        let runner = Runner::new(built, symbols, threads).map_err(failed)?;
        Ok(Ready { code: Code::Compiled(Box::new(runner)), took })
    }

    /// Makes the functions that move tensors, those that a run calls.
    pub fn make_movement(
        &mut self,
        ready: &Ready,
        wanted: &Wanted,
        moves: &[Moving],
        progress: &Progress,
    ) -> Result<()> {
        if moves.iter().all(|one| *one == Moving::default()) {
            return Ok(());
        }
        let source = self.source;
        let failed = |error: dastac::Error| Failure::of(error, source);
        let executable = Arc::clone(ready.instance().executable());
        let place = self.cache.zip(self.key.clone());
        if let Some((cache, key)) = &place
            && let Some(movement) = cached::find_moving(cache, key, moves)
        {
            executable.add_movement(movement);
            return Ok(());
        }
        progress.stage("generating code that packs arrays");
        let moving = match &ready.code {
            Code::Compiled(runner) => runner.built().lowered.some_moving(&wanted.options, moves),
            Code::Kept(..) => {
                let lowered = self.lowered(wanted, &mut Watch::of(wanted.passes), progress)?;
                self.warm_up = None;
                lowered.some_moving(&wanted.options, moves)
            }
        };
        let moving = moving.map_err(failed)?;
        if let Some((cache, key)) = &place {
            cached::store_moving(cache, key, moves, &moving);
        }
        executable.add_movement(moving.load().map_err(|error| failed(error.into()))?);
        Ok(())
    }

    /// The loops that unpack tensors whose dense arrays are large and nearly empty, if there are such.
    pub fn unpacking(
        &mut self,
        ready: &Ready,
        wanted: &Wanted,
        progress: &Progress,
    ) -> Result<Option<Movement>> {
        let facts = ready.instance().facts();
        let unpacks = |fact| Moving { unpack: is_nearly_empty(fact), ..Moving::default() };
        let moves: Vec<Moving> = facts.iter().map(unpacks).collect();
        if moves.iter().all(|one| *one == Moving::default()) {
            return Ok(None);
        }
        let source = self.source;
        let movement = match &ready.code {
            Code::Compiled(runner) => runner.built().lowered.some_movement(&moves),
            Code::Kept(..) => {
                self.lowered(wanted, &mut Watch::of(wanted.passes), progress)?.some_movement(&moves)
            }
        };
        Ok(Some(movement.map_err(|error| Failure::of(error, source))?))
    }

    /// How the code came to be, and what is counted at the sizes of the run.
    pub fn report(&mut self, ready: &Ready, wanted: &Wanted) -> Result<Compiled> {
        let symbols = ready.instance().symbols();
        let place = self.cache.zip(self.key.clone());
        let known = place.as_ref().and_then(|(cache, key)| Counts::find(cache, key, symbols));
        let Counts { flops, steps, expanded } = match (known, &ready.code) {
            (Some(known), _) => known,
            (None, code) => {
                let counts = match code {
                    Code::Compiled(runner) => {
                        Counts::of(&runner.built().lowered.laid.analysis, symbols)
                    }
                    Code::Kept(..) => Counts::of(&self.contracted(&wanted.sizes)?, symbols),
                };
                if let Some((cache, key)) = &place {
                    counts.store(cache, key, symbols);
                }
                counts
            }
        };
        let schedule = self.program().schedule_line();
        Ok(match &ready.code {
            Code::Compiled(runner) => {
                let lowered = &runner.built().lowered;
                let stages = lowered.laid.analysis.timings.0.clone();
                let workspaces = lowered.workspaces();
                Compiled { schedule, stages, flops, steps, expanded, workspaces, before: false }
            }
            Code::Kept(_, workspaces) => {
                let (stages, workspaces) = (vec![("load", ready.took)], workspaces.clone());
                Compiled { schedule, stages, flops, steps, expanded, workspaces, before: true }
            }
        })
    }
}

/// MLIR and LLVM getting ready on the other core while isl works on this one.
struct WarmUp(Option<std::thread::JoinHandle<()>>);

impl WarmUp {
    fn start() -> WarmUp {
        WarmUp(Some(std::thread::spawn(dastac::backend::warm_up)))
    }
}

impl Drop for WarmUp {
    /// Waits: the process must not end while LLVM is starting.
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // If it failed, the compilation will say so.
            let _ = thread.join();
        }
    }
}
