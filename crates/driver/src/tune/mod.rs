//! The search for a schedule on the machine itself: `dastac tune`.
//!
//! Every candidate is compiled, compared with the loops as they are without schedule and tiles, and timed. What is
//! promising is timed more often (successive halving), and its neighbours are tried, until the time is up. In the end
//! the best one runs in turns with the program as it is, and is kept only where it is faster: nothing is ever slower
//! than what is chosen without a search.
//!
//! Candidates follow from the seed; which of them is best follows from the clock.

mod space;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dastac_loops::Module;
use dastac_runtime::Code;
use dastac_stur::Role;
use dastac_stur::program::{Program, Rule, TensorId};
use dastac_stur::schedule::Schedule;
use dastac_target::{Abi, Artifact};
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::Error;
use crate::build::BuildOptions;
use crate::driver::{Laid, Lowered};
use crate::run::Runner;
use crate::verify::{Verification, tolerances};
pub use space::Space;

/// The number of candidates that are kept to be compared again.
const KEPT: usize = 8;
/// The number of candidates that are compared with the unchanged program in the end.
const FINALISTS: usize = 3;
/// A candidate must be faster by more than this part to count as faster.
const MARGIN: f64 = 0.02;
/// Part of the time for candidates with one choice, and for all of them; the rest decides between the best and the
/// program as it is.
const SIMPLE: f64 = 0.45;
const SEARCH: f64 = 0.85;
/// LLVM needs as much stack as a main thread has.
const STACK: usize = 16 << 20;
/// A time is the least of runs that take at least so long together,
const LEAST_TIME: Duration = Duration::from_millis(4);
/// or of so many.
const MOST_RUNS: usize = 20;

/// How to search.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// About how long the search takes.
    pub budget: Duration,
    /// Chooses candidates.
    pub seed: u64,
    /// The time of the program with products in steps, if it has such without a schedule: a schedule has none, so that
    /// it has to be faster.
    pub in_steps: Option<Duration>,
}

/// A schedule of each rule and how fast it is.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Schedules in the order of the program's rules; none where it is the program as it is.
    pub schedules: Option<Vec<Schedule>>,
    /// The least time of a run.
    pub time: Duration,
    /// How often it ran.
    pub runs: usize,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The program with the best schedules: its own where nothing is faster.
    pub program: Program,
    /// Whether something is faster than the program as it is, and than its products in steps.
    pub faster: bool,
    /// The time of the program with products in steps.
    pub in_steps: Option<Duration>,
    /// The best schedules, the fastest first; the program as it is among them.
    pub best: Vec<Trial>,
    /// How many were tried.
    pub tried: usize,
    /// How many of them could not be compiled, or gave other results: defects, which are not kept.
    pub rejected: usize,
    /// How long it took.
    pub elapsed: Duration,
}

/// What a search has seen so far.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Time since its beginning.
    pub elapsed: Duration,
    /// Schedules tried.
    pub tried: usize,
    /// The program as it is.
    pub plain: Duration,
    /// The fastest so far.
    pub best: Duration,
}

/// Searches for the fastest schedules of a program. `runner` runs the program as it is and has its inputs.
///
/// # Errors
/// None that candidates cause; those of a run of the program as it is.
pub fn tune(
    laid: &Laid,
    runner: &mut Runner,
    options: &Options,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Found, Error> {
    let start = Instant::now();
    let target = runner.built().options.clone();
    let program = laid.program();
    let unscheduled = vec![Schedule::default(); program.rules.len()];
    let untiled = BuildOptions { untiled: true, ..target.clone() };
    let plain = loops(laid, &unscheduled)?.build(untiled)?;
    let own = runner.exchange(Arc::new(Code::load(&plain.code)?));
    runner.forget_results();
    runner.execute()?;
    let reference = results(runner, program);
    runner.exchange(own);

    let inferred = laid.inferred();
    let spaces = inferred.rules.iter().filter(|rule| !program.rules[rule.rule.0].preprocess);
    let spaces: Vec<(usize, Space)> =
        spaces.map(|rule| (rule.rule.0, Space::of(program, rule, target.parallel))).collect();
    let current: Vec<Schedule> = program.rules.iter().map(|rule| rule.schedule.clone()).collect();
    let rng = ChaCha8Rng::seed_from_u64(options.seed);
    let mut search = Search {
        laid,
        runner,
        target,
        reference,
        spaces,
        rng,
        start,
        budget: options.budget,
        drawn: BTreeSet::from([current.clone()]),
        tried: 1,
        together: std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(KEPT),
        rejected: 0,
        plain: Duration::ZERO,
        in_steps: options.in_steps,
        kept: Vec::new(),
        progress,
    };
    search.runner.execute()?;
    search.plain = search.time()?.0;
    search.simple(&current)?;
    search.neighbours(&current)?;
    search.decide(&current)
}

/// A candidate that is kept.
struct Kept {
    schedules: Vec<Schedule>,
    code: Arc<Code>,
    time: Duration,
    runs: usize,
}

struct Search<'a> {
    laid: &'a Laid,
    runner: &'a mut Runner,
    target: BuildOptions,
    /// Results of the loops as they are.
    reference: Vec<(TensorId, Vec<f64>, f64)>,
    /// Rules with their loops.
    spaces: Vec<(usize, Space)>,
    rng: ChaCha8Rng,
    start: Instant,
    budget: Duration,
    /// What was drawn, so that it is not drawn again.
    drawn: BTreeSet<Vec<Schedule>>,
    tried: usize,
    /// How many candidates are compiled at the same time.
    together: usize,
    rejected: usize,
    plain: Duration,
    /// The program with products in steps.
    in_steps: Option<Duration>,
    /// The fastest first.
    kept: Vec<Kept>,
    progress: &'a mut dyn FnMut(&Progress),
}

impl Search<'_> {
    fn over(&self, part: f64) -> bool {
        self.start.elapsed() >= self.budget.mul_f64(part)
    }

    /// Candidates with one choice.
    fn simple(&mut self, current: &[Schedule]) -> Result<(), Error> {
        let mut tiers = [Vec::new(), Vec::new()];
        for (rule, space) in &self.spaces {
            for (tier, simple) in tiers.iter_mut().zip(space.simple()) {
                for schedule in simple {
                    let mut schedules = current.to_vec();
                    schedules[*rule] = schedule;
                    if self.drawn.insert(schedules.clone()) {
                        tier.push(schedules);
                    }
                }
            }
        }
        for mut tier in tiers {
            tier.shuffle(&mut self.rng);
            for some in tier.chunks(self.together) {
                if self.over(SIMPLE) {
                    return Ok(());
                }
                self.candidates(some)?;
            }
        }
        Ok(())
    }

    /// Neighbours of what is fast.
    fn neighbours(&mut self, current: &[Schedule]) -> Result<(), Error> {
        // A search of a small space ends before its time.
        let (mut known, mut rounds, mut drawn) = (0, 0, Vec::new());
        while !self.over(SEARCH) && known < 200 {
            let parents = &self.kept[..self.kept.len().div_ceil(2)];
            let parent = parents.choose(&mut self.rng);
            let mut schedules = parent.map_or(current, |parent| &parent.schedules[..]).to_vec();
            for _ in 0..self.rng.random_range(1..=2) {
                let Some((rule, space)) = self.spaces.choose(&mut self.rng) else { return Ok(()) };
                schedules[*rule] = space.neighbour(&schedules[*rule], &mut self.rng);
            }
            if !self.drawn.insert(schedules.clone()) {
                known += 1;
                continue;
            }
            known = 0;
            drawn.push(schedules);
            if drawn.len() == self.together {
                self.candidates(&std::mem::take(&mut drawn))?;
                rounds += 1;
            }
            if rounds * self.together >= KEPT {
                rounds = 0;
                self.halve()?;
            }
        }
        self.candidates(&drawn)
    }

    /// Compiles candidates at the same time, then compares and times one after the other.
    fn candidates(&mut self, all: &[Vec<Schedule>]) -> Result<(), Error> {
        let target = &self.target;
        let options = target.code();
        let fitted = |schedules: &Vec<Schedule>| -> Result<(Module, Abi), Error> {
            let lowered = loops(self.laid, schedules)?;
            let interface = Abi::of(&lowered.kernel.module, &options.prefix);
            Ok((lowered.fitted(target, &mut ())?.0, interface))
        };
        let modules: Vec<Result<(Module, Abi), Error>> = all.iter().map(fitted).collect();
        let compile = |(module, interface): &(Module, Abi)| {
            let generated = target.generate_fitted(module, interface.clone(), &options);
            Some(generated.ok()?.artifact)
        };
        let compile = &compile;
        let compiled: Vec<Option<Artifact>> = std::thread::scope(|scope| {
            let jobs: Vec<_> = modules
                .iter()
                .map(|module| {
                    let module = module.as_ref().ok();
                    let job = std::thread::Builder::new().stack_size(STACK);
                    job.spawn_scoped(scope, move || module.and_then(compile)).ok()
                })
                .collect();
            jobs.into_iter().map(|job| job?.join().ok().flatten()).collect()
        });
        for (schedules, compiled) in all.iter().zip(compiled) {
            self.tried += 1;
            match compiled.and_then(|artifact| Code::load(&artifact).ok().map(Arc::new)) {
                Some(code) => self.candidate(schedules.clone(), code)?,
                None => self.rejected += 1,
            }
        }
        Ok(())
    }

    /// Compares and times a candidate; keeps it if it is among the best.
    fn candidate(&mut self, schedules: Vec<Schedule>, code: Arc<Code>) -> Result<(), Error> {
        let own = self.runner.exchange(code);
        self.runner.forget_results();
        self.runner.execute()?;
        let right = self.agrees();
        let timed = if right { Some(self.time()?) } else { None };
        let code = self.runner.exchange(own);
        match timed {
            None => self.rejected += 1,
            Some((time, runs)) => {
                self.kept.push(Kept { schedules, code, time, runs });
                self.sort();
                self.kept.truncate(KEPT);
            }
        }
        self.report();
        Ok(())
    }

    fn sort(&mut self) {
        self.kept.sort_by_key(|kept| kept.time);
    }

    fn report(&mut self) {
        let best = self.kept.first().map_or(self.plain, |kept| kept.time.min(self.plain));
        (self.progress)(&Progress {
            elapsed: self.start.elapsed(),
            tried: self.tried,
            plain: self.plain,
            best,
        });
    }

    /// Times the better half again.
    fn halve(&mut self) -> Result<(), Error> {
        for at in 0..self.kept.len().div_ceil(2) {
            if self.over(SEARCH) {
                break;
            }
            self.again(at)?;
        }
        self.sort();
        Ok(())
    }

    /// Times a kept candidate again and returns how long it took this time.
    fn again(&mut self, at: usize) -> Result<Duration, Error> {
        let code = self.kept.remove(at);
        let Kept { schedules, code, time, runs } = code;
        let own = self.runner.exchange(code);
        let (again, more) = self.time()?;
        let code = self.runner.exchange(own);
        let (time, runs) = (time.min(again), runs + more);
        self.kept.insert(at, Kept { schedules, code, time, runs });
        Ok(again)
    }

    /// The least time of some runs of the code that is there.
    fn time(&mut self) -> Result<(Duration, usize), Error> {
        time(self.runner)
    }

    /// Whether the results that are there are those of the loops as they are, but for rounding.
    fn agrees(&self) -> bool {
        let tolerances = tolerances(self.laid.program());
        self.reference.iter().all(|(id, values, scale)| {
            let tolerance = tolerances.get(id).copied().unwrap_or(Verification::TOLERANCE);
            let found = self.runner.values(*id);
            found.len() == values.len()
                && found.iter().zip(values).all(|(found, wanted)| {
                    let same = found == wanted || found.is_nan() && wanted.is_nan();
                    same || (found - wanted).abs() <= tolerance * wanted.abs().max(*scale)
                })
        })
    }

    /// The best and the program as it is, in turns: on a machine with other work, one lucky run says nothing.
    fn decide(mut self, current: &[Schedule]) -> Result<Found, Error> {
        let mut plain = Trial { schedules: None, time: self.plain, runs: 0 };
        let finalists = self.kept.len().min(FINALISTS);
        let mut wins = vec![0; finalists];
        let mut rounds = 0;
        while finalists > 0 && (rounds < 3 || !self.over(1.0) && rounds < 25) {
            let (before, runs) = self.time()?;
            (plain.time, plain.runs) = (plain.time.min(before), plain.runs + runs);
            for (at, wins) in wins.iter_mut().enumerate() {
                *wins += usize::from(self.again(at)? < before);
            }
            rounds += 1;
        }
        let to_beat = self.in_steps.map_or(plain.time, |steps| steps.min(plain.time));
        let faster = |kept: &Kept| kept.time.as_secs_f64() < to_beat.as_secs_f64() * (1.0 - MARGIN);
        let best = self.kept.iter().zip(&wins);
        let best = best.filter(|(kept, wins)| faster(kept) && 3 * **wins >= 2 * rounds);
        let best = best.map(|(kept, _)| kept).min_by_key(|kept| kept.time);
        let faster = best.is_some();
        let chosen = best.map_or(current, |best| &best.schedules[..]).to_vec();
        self.sort();
        // What was chosen is the first.
        let place = self.kept.iter().position(|kept| faster && kept.schedules == chosen);
        if let Some(place) = place {
            self.kept[..=place].rotate_right(1);
        }
        let mut program = self.laid.program().clone();
        for (rule, schedule) in program.rules.iter_mut().zip(&chosen) {
            rule.schedule = scheduled(rule, schedule);
        }
        let mut best: Vec<Trial> = self
            .kept
            .iter()
            .map(|Kept { schedules, time, runs, .. }| Trial {
                schedules: Some(schedules.clone()),
                time: *time,
                runs: *runs,
            })
            .collect();
        // After what was chosen, where it belongs.
        let slower = |trial: &Trial| trial.time >= plain.time;
        let place = best.iter().position(slower).unwrap_or(best.len());
        best.insert(if faster { place.max(1) } else { 0 }, plain);
        Ok(Found {
            program,
            faster,
            in_steps: self.in_steps,
            best,
            tried: self.tried,
            rejected: self.rejected,
            elapsed: self.start.elapsed(),
        })
    }
}

/// The least time of some runs, and of how many.
///
/// # Errors
/// Those of a run.
pub fn time(runner: &mut Runner) -> Result<(Duration, usize), Error> {
    let (mut least, mut total, mut runs) = (Duration::MAX, Duration::ZERO, 0);
    while runs == 0 || total < LEAST_TIME && runs < MOST_RUNS {
        let time = runner.execute()?;
        (least, total, runs) = (least.min(time), total + time, runs + 1);
    }
    Ok((least, runs))
}

/// A rule's schedule with other loops.
fn scheduled(rule: &Rule, loops: &Schedule) -> Schedule {
    Schedule { workspace: rule.schedule.workspace, ..loops.clone() }
}

/// A program with other schedules as loops.
fn loops(laid: &Laid, schedules: &[Schedule]) -> Result<Lowered, Error> {
    let mut laid = laid.clone();
    for (rule, schedule) in laid.analysis.inferred.program.rules.iter_mut().zip(schedules) {
        rule.schedule = scheduled(rule, schedule);
    }
    laid.lower()
}

/// What was computed, with the mean magnitude of its elements.
fn results(runner: &Runner, program: &Program) -> Vec<(TensorId, Vec<f64>, f64)> {
    let computed = program.tensor_ids().filter(|id| program.tensor(*id).role != Role::Input);
    let result = |id: TensorId| {
        let values = runner.values(id);
        let finite = values.iter().filter(|value| value.is_finite());
        // A mean is a scale, not a result.
        #[allow(clippy::cast_precision_loss)]
        let mean = finite.map(|value| value.abs()).sum::<f64>() / values.len().max(1) as f64;
        (id, values, mean)
    };
    computed.map(result).collect()
}
