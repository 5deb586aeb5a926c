//! Who counts: two counters, and what stands around them (section 4 of the paper needs the counts).
//!
//! - Barvinok's algorithm, from the library of that name: fast on everything, but a foreign library that may be missing, crash or run for
//!   hours.
//! - Faulhaber summation, in Rust ([`faulhaber`]): needs isl alone; fast where coefficients are 1.

mod barvinok;
pub(crate) mod faulhaber;
mod question;
#[cfg(test)]
mod tests;

use crate::space::{PARAM, Space};
use crate::{Context, Error, Map, PwQPolynomial, Result, Set};
use faulhaber::Budget;
use question::{Answer, Asked, Question};

/// Which of the two counters answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counter {
    /// The one that is likely to be faster, and the other one if it fails.
    #[default]
    Auto,
    /// Faulhaber summation only.
    Faulhaber,
    /// Barvinok only.
    Barvinok,
}

/// How counting is done.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Which counter answers.
    pub counter: Counter,
}

/// Counters with what they remember.
#[derive(Debug)]
pub struct Counting {
    config: Config,
}

/// Systems of constraints and residue classes that Faulhaber summation may look at when it is the last resort: some ten seconds.
const THOROUGH: u64 = 200_000;

impl Counting {
    /// Counters of their own, apart from those that [`Set::card`] asks.
    pub fn new(config: Config) -> Counting {
        Counting { config }
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
        let moved = isl!(
            context,
            isl_map_move_dims(map.0.take(), PARAM, params, crate::space::IN, 0, rank)
        )?;
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
        let answer = match self.config.counter {
            Counter::Barvinok => barvinok::count(context, question),
            Counter::Faulhaber => sum_up(context, question, THOROUGH),
            Counter::Auto => self.either(context, question),
        };
        question.read(context, &answer?, space)
    }
}

impl Counting {
    /// The counter that is likely to be faster, then the other one.
    fn either(&self, context: &Context, question: &Question) -> Result<Answer> {
        if let Some(answer) = quick(context, question)? {
            return Ok(answer);
        }
        let first = match barvinok::count(context, question) {
            Err(error @ (Error::Load(_) | Error::Isl { .. } | Error::TooComplex { .. })) => error,
            result => return result,
        };
        sum_up(context, question, THOROUGH).map_err(|second| match second {
            Error::TooComplex { .. } | Error::Overflow { .. } => {
                Error::Uncounted { first: first.to_string(), second: second.to_string() }
            }
            other => other,
        })
    }
}

/// Faulhaber summation of one basic set whose variables have one lower and one upper bound each, with the coefficient 1: it is one piece
/// then, in less time than Barvinok takes. `None` for other questions.
fn quick(context: &Context, question: &Question) -> Result<Option<Answer>> {
    if question.asked != Asked::Points {
        return Ok(None);
    }
    let set = Set::parse(context, &question.text)?;
    if !faulhaber::is_easy(&set)? {
        return Ok(None);
    }
    // One system for each variable and one for what is left: any more, and there are several bounds.
    let systems = set.rank() as u64 * 2 + 1;
    match sum_up(context, question, systems) {
        Ok(answer) => Ok(Some(answer)),
        Err(Error::TooComplex { .. } | Error::Overflow { .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

fn params_space(space: &Space) -> Result<Space> {
    isl!(space.context(), isl_space_params(space.take()))
}

/// Counts with Faulhaber's formula.
fn sum_up(context: &Context, question: &Question, budget: u64) -> Result<Answer> {
    let mut budget = Budget::new(budget);
    let parts = match question.asked {
        Asked::Points => faulhaber::sum(&Set::parse(context, &question.text)?, None, &mut budget)?,
        Asked::Sum => {
            let mut parts = Vec::new();
            for (domain, polynomial) in PwQPolynomial::parse(context, &question.text)?.pieces()? {
                parts.extend(faulhaber::sum(&domain, Some(&polynomial), &mut budget)?);
            }
            parts
        }
    };
    let mut sum = question.term(context, "", &[])?;
    for part in parts {
        sum = sum.add(&question.term(context, &part.condition, &part.value)?)?;
    }
    question.answer(&sum.coalesce()?)
}

/// The counters that [`Set::card`], [`Map::card`] and [`PwQPolynomial::sum`] ask.
pub fn current() -> std::sync::Arc<Counting> {
    static CURRENT: std::sync::OnceLock<std::sync::Arc<Counting>> = std::sync::OnceLock::new();
    CURRENT
        .get_or_init(|| std::sync::Arc::new(Counting::new(Config { counter: Counter::Auto })))
        .clone()
}
