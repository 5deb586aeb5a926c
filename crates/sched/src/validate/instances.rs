//! [`Property::Executed`](super::Property): proves that the products that the loops add up are the statements, and that
//! each instance is added exactly once.
//!
//! Every product of every store is matched with a statement that has the same coefficient and factors. The points of
//! the product must be instances of that statement that no other product has taken, and its elements must be at the
//! positions that the layouts give them. At the end no instance of any statement may be left.

use dastac_layout::Proof;
use dastac_loops::{Index, VarId};
use dastac_poly::{Map, Set};
use dastac_stur::infer::{InferredRule, Statement};
use dastac_stur::program::TensorId;
use dastac_stur::sets::Affine;

use super::executed::Site;
use super::functions::{iterator_of, read_of};
use super::points::{Choice, Lift, Points};
use super::terms::{Factor, Term, What};
use super::{Stop, Validator};

/// A store with the element of the head that each of its instances writes.
pub(super) struct Elements<'s, 'a> {
    pub(super) site: &'s Site<'a>,
    /// Maps the loop variables to the subscripts of the head; single-valued, for all instances.
    pub(super) map: Map,
}

/// A statement, the parts that it may be split into, and the instances that no product has taken yet.
struct Open<'s> {
    statement: &'s Statement,
    /// One of the products that it is the sum of. There is more than one only if it has functions.
    term: Term,
    parts: Vec<Set>,
    left: Set,
}

/// A statement that a product is expected to be: one part of its domain, and the instances that are left.
#[derive(Clone, Copy)]
struct Expected<'s> {
    statement: &'s Statement,
    term: &'s Term,
    part: &'s Set,
    choice: Choice,
    left: &'s Set,
}

/// What is known of the stores of a rule: whether they compute it, and which elements they write.
type Outcome<'s, 'a> = (Result<(), Stop>, Result<Vec<Elements<'s, 'a>>, Stop>);

impl Validator<'_> {
    /// Whether the stores to the head of a rule compute it, and, if that can be determined, which element each of them
    /// writes.
    pub(super) fn executed<'s, 'a>(
        &self,
        rule: &InferredRule,
        sites: &'s [Site<'a>],
    ) -> Result<Outcome<'s, 'a>, Stop> {
        let sums = super::sums_of(self.inferred, rule);
        let mut open = Vec::new();
        for statement in &rule.statements {
            for term in self.expected(statement, sums)? {
                // What adds nothing need not be in the loops.
                if term.factors.is_empty() && term.coefficient == sums.zero {
                    continue;
                }
                let (parts, left) = (self.parts(&statement.domain)?, statement.domain.clone());
                open.push(Open { statement, term, parts, left });
            }
        }
        let mut elements = Ok(Vec::new());
        let mut failure = Ok(());
        for site in sites.iter().filter(|site| site.buffer.0 as usize == rule.head.0) {
            let all = self.points(&site.around, None)?;
            if all.set.is_empty()? {
                continue;
            }
            let mut written: Option<Map> = None;
            let mut known = true;
            for term in &site.terms {
                let points = self.points(&site.around, Some(&term.sums))?;
                if points.set.is_empty()? {
                    continue;
                }
                match self.matched(rule, site, term, &points, &mut open) {
                    Ok(head) => {
                        let head = self.without(&points.vars, all.vars.len(), &head)?;
                        written = Some(match written {
                            None => head,
                            Some(written) => written.union(&head)?,
                        });
                    }
                    Err(Stop::Failed(error)) => return Err(Stop::Failed(error)),
                    Err(stop) => {
                        known = false;
                        if failure.is_ok() {
                            failure = Err(stop);
                        }
                    }
                }
            }
            let written = written.filter(|_| known);
            match (self.whole(rule.head, site, &all, written), &mut elements) {
                (Err(Stop::Failed(error)), _) => return Err(Stop::Failed(error)),
                (Ok(map), Ok(elements)) => elements.push(Elements { site, map }),
                (Err(stop), Ok(_)) => {
                    failure = failure.and(Err(Stop::undecided("which element a store writes")));
                    elements = Err(stop);
                }
                (_, Err(_)) => {}
            }
        }
        if failure.is_err() {
            return Ok((failure, elements));
        }
        for Open { statement, left, .. } in &open {
            if !left.is_empty()? {
                let at = self.instance(&statement.iterators, left)?;
                let why = format!("nothing is computed {at}");
                return Ok((Err(Stop::refuted(why)), elements));
            }
        }
        Ok((Ok(()), elements))
    }

    /// The elements that all instances of a store write. Where its products have no points (because it clears, or a sum
    /// has no terms) it writes the stored element that its variables name.
    fn whole(
        &self,
        head: TensorId,
        site: &Site<'_>,
        all: &Points,
        written: Option<Map>,
    ) -> Result<Map, Stop> {
        let rest = match &written {
            None => all.set.clone(),
            Some(map) => all.set.subtract(&map.domain()?)?,
        };
        let mut map = written;
        if !rest.is_empty()? {
            let structured = &self.inferred.tensors[head.0];
            let here = Affine::each(&structured.iterators);
            let stored = &self.layouts[head.0].stored;
            let attempt = |choice: (&Set, Choice)| {
                let lift = self.lift(&all.vars, &rest, &structured.iterators, choice)?;
                self.address(&all.vars, &lift, site.index, head, &here)?;
                Ok(lift)
            };
            let parts = self.parts(stored)?;
            let found = first(&self.choices(&parts), &mut |choice| attempt(*choice));
            let lift =
                or_thinner(found, &|| self.diagonals(stored), &|set| attempt((set, Choice::Only)))?;
            map = Some(match map {
                None => lift.map,
                Some(map) => map.union(&lift.map)?,
            });
        }
        let Some(map) = map else { return Err(Stop::undecided("a store without an element")) };
        if !map.is_single_valued()? {
            return Err(Stop::refuted("one store writes two elements"));
        }
        Ok(map.coalesce()?)
    }

    /// A map on variables, restricted to the first `keep` of them.
    fn without(&self, vars: &[VarId], keep: usize, map: &Map) -> Result<Map, Stop> {
        if vars.len() == keep {
            return Ok(map.clone());
        }
        let conditions: Vec<String> =
            (0..keep).map(|k| format!("{} = {}", self.out(k), self.naming.var(vars[k]))).collect();
        Ok(self.relation(vars, keep, &conditions)?.reverse()?.apply_range(map)?)
    }

    /// Finds the statement that a product computes, takes its instances, and returns the element that each point
    /// writes.
    fn matched(
        &self,
        rule: &InferredRule,
        site: &Site<'_>,
        term: &Term,
        points: &Points,
        open: &mut [Open<'_>],
    ) -> Result<Map, Stop> {
        let (mut candidates, mut unknown) = (Vec::new(), None);
        for (k, one) in open.iter().enumerate() {
            match same_factors(&one.term, term) {
                Ok(true) => candidates.push(k),
                Ok(false) => {}
                Err(stop) => unknown = Some(stop),
            }
        }
        if candidates.is_empty()
            && let Some(stop) = unknown
        {
            return Err(stop);
        }
        if candidates.is_empty() {
            let at = self.witness(&points.vars, &points.set)?;
            let why = format!("something is added {at} that no product of the rule is");
            return Err(Stop::refuted(why));
        }
        let ambiguous = candidates.len() > 1;
        let (k, rest, head) = first(&candidates, &mut |k: &usize| {
            let Open { statement, term: wanted, parts, left } = &open[*k];
            let attempt = |part: &Set, choice: Choice| {
                let of = Expected { statement, term: wanted, part, choice, left };
                self.instances(rule, of, site, term, points)
            };
            let found = first(&self.choices(parts), &mut |(part, choice)| attempt(part, *choice));
            // Loops that have one variable for two iterators may run what others leave.
            let thinner = || {
                let diagonals = self.diagonals(&statement.domain)?;
                Ok([self.parts(left)?, diagonals].concat())
            };
            let (rest, head) = or_thinner(found, &thinner, &|part| attempt(part, Choice::Only))?;
            Ok((*k, rest, head))
        })
        .map_err(|stop| match stop {
            // If an earlier product had been matched with another statement, these instances might still be there.
            Stop::Not(Proof::Refuted(why)) if ambiguous && why.starts_with(TWICE) => {
                Stop::undecided(why)
            }
            stop => stop,
        })?;
        open[k].left = rest;
        Ok(head)
    }

    /// Proves that the points of a product are instances of a statement within `left`. Returns the instances that are
    /// left then, and the element of the head for each point.
    fn instances(
        &self,
        rule: &InferredRule,
        of: Expected<'_>,
        site: &Site<'_>,
        term: &Term,
        at: &Points,
    ) -> Result<(Set, Map), Stop> {
        let Expected { statement, term: wanted, part, choice, left } = of;
        let lift = self.lift(&at.vars, &at.set, &statement.iterators, (part, choice))?;
        let taken = lift.map.range()?;
        let again = taken.subtract(left)?;
        if !again.is_empty()? {
            let at = self.instance(&statement.iterators, &again)?;
            return Err(Stop::refuted(format!("{TWICE}: {at}")));
        }
        if !lift.map.is_injective()? {
            return Err(Stop::refuted("an instance is computed several times"));
        }
        let head = self.inferred.program.rules[rule.rule.0].subscripts();
        self.address(&at.vars, &lift, site.index, rule.head, &head)?;
        self.factors((statement, wanted), term, &at.vars, &lift)?;
        let to_head = self.inferred.sets.access(&statement.iterators, &head)?;
        Ok((left.subtract(&taken)?.coalesce()?, lift.map.apply_range(&to_head)?))
    }

    /// Proves that the elements of a product are those that the statement reads, in any order, and that its other
    /// factors are the statement's.
    fn factors(
        &self,
        (statement, wanted): (&Statement, &Term),
        term: &Term,
        vars: &[VarId],
        lift: &Lift,
    ) -> Result<(), Stop> {
        let mut open: Vec<&Factor> = term.factors.iter().collect();
        for factor in &wanted.factors {
            let mut candidates = Vec::new();
            for (k, other) in open.iter().enumerate() {
                if kind(other) == kind(factor) {
                    candidates.push((k, *other));
                }
            }
            let missing = |found| match found {
                true => Ok(()),
                false => Err(Stop::refuted("another value is computed")),
            };
            let (k, _) = *first(&candidates, &mut |candidate| {
                match (&factor.what, &candidate.1.what) {
                    (What::Element(_, place), What::Element(_, index)) => {
                        let read = read_of(place).and_then(|at| statement.reads.get(at));
                        let read = read.ok_or_else(|| Stop::undecided("a factor"))?;
                        match read.sorted.is_empty() {
                            true => self.address(vars, lift, index, read.tensor, &read.subscripts),
                            false => self.sorted_address(vars, lift, index, read),
                        }
                    }
                    (What::Number(number), What::Number(index)) => match iterator_of(number) {
                        Some(at) => {
                            let name = statement.iterators[at].as_str();
                            missing(self.number(vars, lift, (name, index))?)
                        }
                        None => missing(number == index),
                    },
                    (What::Value(value), What::Value(found)) => {
                        missing(self.same_value(statement, (vars, lift), value, found)?)
                    }
                    _ => Err(Stop::refuted("another factor")),
                }?;
                Ok(candidate)
            })?;
            open.remove(k);
        }
        Ok(())
    }
}

/// What factors are that may be the same: elements of one tensor, the same symbol, values of iterators, functions.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Element(usize),
    Symbol(usize),
    Iterator,
    Value,
}

fn kind(factor: &Factor) -> (Kind, bool) {
    let kind = match &factor.what {
        What::Element(buffer, _) => Kind::Element(buffer.0 as usize),
        What::Number(Index::Symbol(symbol)) => Kind::Symbol(symbol.0 as usize),
        What::Number(_) => Kind::Iterator,
        What::Value(_) => Kind::Value,
    };
    (kind, factor.reciprocal)
}

/// Whether a product has the coefficient that is expected, and as many factors of each tensor.
fn same_factors(wanted: &Term, term: &Term) -> Result<bool, Stop> {
    // The constants may have been multiplied in another order, so they may differ by rounding.
    if (wanted.coefficient - term.coefficient).abs() > 1e-12 * wanted.coefficient.abs() {
        return Ok(false);
    }
    let kinds = |term: &Term| {
        let mut all: Vec<(Kind, bool)> = term.factors.iter().map(kind).collect();
        all.sort_unstable();
        all
    };
    let has = |term: &Term, wanted: Kind| term.factors.iter().any(|one| kind(one).0 == wanted);
    if has(term, Kind::Iterator) && !has(wanted, Kind::Iterator) {
        return Err(Stop::undecided("a factor that is no symbol"));
    }
    if has(term, Kind::Value) && !has(wanted, Kind::Value) {
        return Err(Stop::undecided("no sum of products"));
    }
    Ok(kinds(wanted) == kinds(term))
}

const TWICE: &str = "computed twice";

/// The first success. If there is none, an undecided outcome comes before a refutation.
fn first<'c, C, T>(
    candidates: &'c [C],
    attempt: &mut dyn FnMut(&'c C) -> Result<T, Stop>,
) -> Result<T, Stop> {
    let mut why: Option<Stop> = None;
    for candidate in candidates {
        match attempt(candidate) {
            Err(Stop::Failed(error)) => return Err(Stop::Failed(error)),
            Err(Stop::Not(Proof::Undecided(reason))) => {
                if !matches!(why, Some(Stop::Not(Proof::Undecided(_)))) {
                    why = Some(Stop::undecided(reason));
                }
            }
            Err(stop) => why = why.or(Some(stop)),
            Ok(value) => return Ok(value),
        }
    }
    Err(why.unwrap_or_else(|| Stop::refuted("a factor is missing")))
}

/// What was found, or what the first of thinner sets leads to. Where nothing is proven for these either, what the first
/// search says stands.
fn or_thinner<T>(
    found: Result<T, Stop>,
    thinner: &dyn Fn() -> Result<Vec<Set>, Stop>,
    attempt: &dyn Fn(&Set) -> Result<T, Stop>,
) -> Result<T, Stop> {
    let Err(Stop::Not(why)) = found else { return found };
    match first(&thinner()?, &mut |set| attempt(set)) {
        Err(Stop::Not(_)) => Err(Stop::Not(why)),
        found => found,
    }
}
