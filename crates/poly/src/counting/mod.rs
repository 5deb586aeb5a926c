//! Counts integer points with two counters, worker processes and a cache (section 4 of the paper needs the counts).
//!
//! - Barvinok's algorithm, from the library of that name: fast on everything, but foreign code that may be missing,
//!   crash or run for hours. Run in processes of their own ([`serve`]) it harms nobody.
//! - Faulhaber summation, in Rust: needs isl alone; always there, and bounded in time.
//!
//! [`Set::card`], [`Map::card`] and [`PwQPolynomial::sum`] ask the counters of the process ([`current`],
//! [`configure`]). A question is reduced to a text without names, looked up in a cache, answered, and the answer put
//! into the space that it was asked in.

mod barvinok;
mod cache;
mod config;
mod faulhaber;
mod question;
#[cfg(test)]
mod tests;
mod text;
mod worker;

use crate::space::{IN, PARAM, Space};
use crate::{Context, Error, Map, PwQPolynomial, Result, Set};
use cache::Cache;
pub use config::{
    CACHE_VARIABLE, COUNTER_VARIABLE, Config, Counter, MEMORY_VARIABLE, TIME_VARIABLE,
    WORKER_VARIABLE,
};
use faulhaber::Budget;
use question::{Answer, Asked, Question};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};
pub use worker::{ARGUMENT as WORKER_ARGUMENT, serve};

/// Systems of constraints and residue classes that Faulhaber summation may look at when it is the last resort; the time
/// limit is usually reached before.
const THOROUGH: u64 = 1_000_000;

/// A set with this many existential dimensions is tried with Faulhaber summation before Barvinok.
const MANY_RESIDUES: usize = 2;

/// The number of systems and classes that it may look at then.
const SOME: u64 = 2_000;

/// Steps of isl that adding up these parts may take.
const SOME_STEPS: u64 = 100_000;

/// Counters with their workers and caches. All threads use the same one.
#[derive(Debug)]
pub struct Counting {
    config: Config,
    cache: Cache,
    workers: worker::Pool,
    statistics: [AtomicU64; 3],
}

/// How many questions were answered by what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// The cache.
    pub cached: u64,
    /// Barvinok.
    pub barvinok: u64,
    /// Faulhaber summation.
    pub faulhaber: u64,
}

enum By {
    Cache,
    Barvinok,
    Faulhaber,
}

static CURRENT: RwLock<Option<Arc<Counting>>> = RwLock::new(None);

/// The counters that [`Set::card`], [`Map::card`] and [`PwQPolynomial::sum`] ask: those of [`configure`], else the
/// defaults with what the environment says.
///
/// # Errors
/// [`Error::Settings`]: a variable of the environment has a value that means nothing.
pub fn current() -> Result<Arc<Counting>> {
    // The lock guards one pointer, which is always whole.
    if let Some(current) = &*CURRENT.read().unwrap_or_else(PoisonError::into_inner) {
        return Ok(current.clone());
    }
    let config = Config::default().with_env().map_err(|what| Error::Settings { what })?;
    let mut current = CURRENT.write().unwrap_or_else(PoisonError::into_inner);
    Ok(current.get_or_insert_with(|| Arc::new(Counting::new(config))).clone())
}

/// Sets how the process counts from now on.
pub fn configure(config: Config) {
    *CURRENT.write().unwrap_or_else(PoisonError::into_inner) =
        Some(Arc::new(Counting::new(config)));
}

impl Counting {
    /// Counters of their own, apart from those that [`Set::card`] asks.
    pub fn new(config: Config) -> Counting {
        Counting {
            config,
            cache: Cache::default(),
            workers: worker::Pool::default(),
            statistics: Default::default(),
        }
    }

    /// How many questions each of them has answered so far.
    pub fn statistics(&self) -> Statistics {
        let [cached, barvinok, faulhaber] =
            [0, 1, 2].map(|k: usize| self.statistics[k].load(Ordering::Relaxed));
        Statistics { cached, barvinok, faulhaber }
    }

    fn answered(&self, by: By) {
        self.statistics[by as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// The number of points of a set with finitely many, as a function of the parameters.
    pub fn card(&self, set: &Set) -> Result<PwQPolynomial> {
        if !set.is_bounded()? {
            return Err(Error::Infinite { set: set.to_string() });
        }
        let question = Question::of_set(set)?;
        let space = params_space(&set.space()?)?;
        self.ask(set.context(), &question, &space)
    }

    /// The number of seconds of each first of a map with finitely many, as a function of the first and the parameters.
    pub fn card_map(&self, map: &Map) -> Result<PwQPolynomial> {
        // With the inputs as parameters, the range is what has to be finite.
        let context = map.context();
        let (params, rank) = (map.params()?.len() as u32, map.in_rank() as u32);
        let moved = isl!(context, isl_map_move_dims(map.0.take(), PARAM, params, IN, 0, rank))?;
        let images = isl!(context, isl_map_range(moved.take())).map(Set)?;
        if !images.is_bounded()? {
            return Err(Error::Infinite { set: map.to_string() });
        }
        let question = Question::of_map(map)?;
        let space = map.domain()?.space()?;
        self.ask(context, &question, &space)
    }

    /// The sum of the values over all points of a finite domain, as a function of the parameters.
    pub fn sum(&self, function: &PwQPolynomial) -> Result<PwQPolynomial> {
        let domain = function.domain()?;
        if !domain.is_bounded()? {
            return Err(Error::Infinite { set: domain.to_string() });
        }
        let question = Question::of_sum(function)?;
        let space = params_space(&domain.space()?)?;
        self.ask(function.context(), &question, &space)
    }

    fn ask(&self, context: &Context, question: &Question, space: &Space) -> Result<PwQPolynomial> {
        let config = &self.config;
        let library = context.library();
        let barvinok = if library.barvinok().is_ok() { "with" } else { "without" };
        let version = format!(
            "{} {} {barvinok} barvinok {}",
            env!("CARGO_PKG_VERSION"),
            library.version(),
            config.counter.name(),
        );
        let key = question.key();
        if let Some(answer) = self.cache.find(&key, config, &version) {
            // A file that can be read but makes no sense is ignored.
            if let Ok(function) = question.read(context, &answer, space) {
                self.answered(By::Cache);
                return Ok(function);
            }
        }
        let start = Instant::now();
        // Count in a separate context, so that the result of a count within a budget does not depend on the counter.
        let scratch = Context::new()?;
        scratch.set_deadline(context.deadline());
        let answer = match config.counter {
            Counter::Barvinok => self.barvinok(&scratch, question),
            Counter::Faulhaber => self.faulhaber(&scratch, question),
            Counter::Auto => self.either(&scratch, question),
        }?;
        self.cache.store(&key, &answer, start.elapsed(), config, &version);
        question.read(context, &answer, space)
    }

    /// The time that one count may take, at most until the context's deadline.
    fn time(&self, context: &Context) -> Duration {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        context.deadline().map_or(self.config.time, |deadline| self.config.time.min(left(deadline)))
    }

    fn barvinok(&self, context: &Context, question: &Question) -> Result<Answer> {
        // Without the library, no worker has to be started to find that out.
        context.library().barvinok()?;
        let answer = match &self.config.worker {
            Some(program) => {
                let config = Config { time: self.time(context), ..self.config.clone() };
                self.workers.count(program, question, &config).map_err(|error| {
                    let over = context.deadline().is_some_and(|end| Instant::now() >= end);
                    if over { Error::Deadline { operation: "counting" } } else { error }
                })
            }
            None => barvinok::count(context, question),
        }?;
        self.answered(By::Barvinok);
        Ok(answer)
    }

    fn faulhaber(&self, context: &Context, question: &Question) -> Result<Answer> {
        let mut budget = Budget::new(THOROUGH, Some(self.time(context)));
        let answer = sum_up(context, question, &mut budget)?;
        self.answered(By::Faulhaber);
        Ok(answer)
    }

    /// The counter that is likely to be faster, then the other one.
    fn either(&self, context: &Context, question: &Question) -> Result<Answer> {
        if let Some(answer) = quick(context, question)? {
            self.answered(By::Faulhaber);
            return Ok(answer);
        }
        if let Some(answer) = residues(context, question)? {
            self.answered(By::Faulhaber);
            return Ok(answer);
        }
        let first = match self.barvinok(context, question) {
            Err(
                error @ (Error::Load(_)
                | Error::Worker { .. }
                | Error::Isl { .. }
                | Error::TooComplex { .. }),
            ) => error,
            result => return result,
        };
        self.faulhaber(context, question).map_err(|second| match second {
            Error::TooComplex { .. } | Error::TooSlow { .. } | Error::Overflow { .. } => {
                Error::Uncounted { first: first.to_string(), second: second.to_string() }
            }
            other => other,
        })
    }
}

/// Faulhaber summation of one basic set whose variables have one lower and one upper bound each, with the coefficient
/// 1: it is one piece then, in less time than Barvinok takes. `None` for other questions.
fn quick(context: &Context, question: &Question) -> Result<Option<Answer>> {
    if question.asked != Asked::Points {
        return Ok(None);
    }
    let set = Set::parse(context, &question.text)?;
    let answer = faulhaber::is_easy(&set).and_then(|easy| {
        if !easy {
            return Ok(None);
        }
        // A system and a class for each variable, a system and a part for what is left: any more, and there are several
        // bounds.
        let steps = set.rank() as u64 * 2 + 2;
        let answer = sum_up(context, question, &mut Budget::new(steps, None))?;
        Ok(Some(answer).filter(|answer| answer.0.len() <= 1))
    });
    match answer {
        Err(Error::TooComplex { .. } | Error::Overflow { .. } | Error::Infinite { .. }) => Ok(None),
        answer => answer,
    }
}

/// Faulhaber summation of a set with several residue classes that depend on each other: Barvinok takes half a minute
/// for some that are half a second here. `None` for other questions, and for those that turn out to be hard.
fn residues(context: &Context, question: &Question) -> Result<Option<Answer>> {
    if question.asked != Asked::Points {
        return Ok(None);
    }
    if Set::parse(context, &question.text)?.existentials()? < MANY_RESIDUES {
        return Ok(None);
    }
    // Adding up many parts may take much longer than finding them.
    let summed =
        context.budgeted(SOME_STEPS, || sum_up(context, question, &mut Budget::new(SOME, None)));
    match summed {
        Err(Error::TooComplex { .. } | Error::Overflow { .. } | Error::Infinite { .. }) => Ok(None),
        answer => answer.map(Some),
    }
}

fn params_space(space: &Space) -> Result<Space> {
    isl!(space.context(), isl_space_params(space.take()))
}

/// Counts with Faulhaber's formula.
fn sum_up(context: &Context, question: &Question, budget: &mut Budget) -> Result<Answer> {
    let parts = match question.asked {
        Asked::Points => faulhaber::sum(&Set::parse(context, &question.text)?, None, budget)?,
        Asked::Sum => {
            let mut parts = Vec::new();
            for (domain, polynomial) in PwQPolynomial::parse(context, &question.text)?.pieces()? {
                parts.extend(faulhaber::sum(&domain, Some(&polynomial), budget)?);
            }
            parts
        }
    };
    let mut sum = question.term(context, "", &[])?;
    for part in parts {
        budget.spend(1)?;
        sum = sum.add(&question.term(context, &part.condition, &part.value)?)?;
    }
    question.answer(&sum.coalesce()?)
}
