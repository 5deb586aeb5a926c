//! [`Property::Executed`](super::Property): the products that the loops add up are the statements, each instance once.
//!
//! Every product of every store is matched with a statement that has the same coefficient and factors: its points must
//! be instances of the statement that no other product has taken, and its element and factors must stand where the
//! layouts say. At the end nothing of any statement is left.

use dastac_layout::Proof;
use dastac_loops::{Index, VarId};
use dastac_poly::{Map, Set};
use dastac_stur::infer::{InferredRule, Statement};
use dastac_stur::program::TensorId;
use dastac_stur::sets::Affine;

use super::executed::{Site, Term, What};
use super::{Lift, Stop, Validator};

/// A store with the element of the head that each of its instances writes.
pub(super) struct Elements<'s, 'a> {
    pub(super) site: &'s Site<'a>,
    /// Loop variables to the head's subscripts, single-valued, for all instances.
    pub(super) map: Map,
}

/// A statement, what it may be split into, and what no product has taken yet.
struct Open<'s> {
    statement: &'s Statement,
    parts: Vec<Set>,
    left: Set,
}

/// What is known of a rule's stores.
type Outcome<'s, 'a> = (Result<(), Stop>, Result<Vec<Elements<'s, 'a>>, Stop>);

impl Validator<'_> {
    /// Whether the stores to a rule's head compute it, and which element each writes, if that can be said.
    pub(super) fn executed<'s, 'a>(
        &self,
        rule: &InferredRule,
        sites: &'s [Site<'a>],
    ) -> Result<Outcome<'s, 'a>, Stop> {
        let mut open = Vec::new();
        for statement in &rule.statements {
            let (parts, left) = (self.parts(&statement.domain)?, statement.domain.clone());
            open.push(Open { statement, parts, left });
        }
        let mut elements = Ok(Vec::new());
        let mut failure = Ok(());
        for site in sites.iter().filter(|site| site.buffer.0 as usize == rule.head.0) {
            let (vars, all) = self.points(&site.around, None)?;
            if all.is_empty()? {
                continue;
            }
            let mut written: Option<Map> = None;
            let mut known = true;
            for term in &site.terms {
                let (within, points) = self.points(&site.around, Some(&term.sums))?;
                if points.is_empty()? {
                    continue;
                }
                match self.matched(rule, site, term, (&within, &points), &mut open) {
                    Ok(head) => {
                        let head = self.without(&within, vars.len(), &head)?;
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
            match (self.whole(rule.head, site, &vars, &all, written), &mut elements) {
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

    /// The elements of all instances of a store: those of its products, and where these are empty (it clears, or a sum
    /// has no terms) the stored element that its variables name.
    fn whole(
        &self,
        head: TensorId,
        site: &Site<'_>,
        vars: &[VarId],
        all: &Set,
        written: Option<Map>,
    ) -> Result<Map, Stop> {
        let rest = match &written {
            None => all.clone(),
            Some(map) => all.subtract(&map.domain()?)?,
        };
        let mut map = written;
        if !rest.is_empty()? {
            let structured = &self.inferred.tensors[head.0];
            let here = Affine::each(&structured.iterators);
            let parts = self.parts(&self.layouts[head.0].stored)?;
            let lift = first(&parts, &mut |part| {
                let lift = self.lift(vars, &rest, &structured.iterators, part)?;
                self.address(vars, &lift, site.index, head, &here)?;
                Ok(lift)
            })?;
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

    /// A map on variables of which only the first `keep` are of interest.
    fn without(&self, vars: &[VarId], keep: usize, map: &Map) -> Result<Map, Stop> {
        if vars.len() == keep {
            return Ok(map.clone());
        }
        let conditions: Vec<String> =
            (0..keep).map(|k| format!("{} = {}", self.out(k), self.naming.var(vars[k]))).collect();
        Ok(self.relation(vars, keep, &conditions)?.reverse()?.apply_range(map)?)
    }

    /// Finds the statement that a product is, takes its instances, and gives the element that each point writes.
    fn matched(
        &self,
        rule: &InferredRule,
        site: &Site<'_>,
        term: &Term,
        points: (&[VarId], &Set),
        open: &mut [Open<'_>],
    ) -> Result<Map, Stop> {
        let mut candidates = Vec::new();
        for (k, one) in open.iter().enumerate() {
            if self.same_factors(one.statement, term)? {
                candidates.push(k);
            }
        }
        if candidates.is_empty() {
            let at = self.witness(points.0, points.1)?;
            let why = format!("something is added {at} that no product of the rule is");
            return Err(Stop::refuted(why));
        }
        let ambiguous = candidates.len() > 1;
        let (k, rest, head) = first(&candidates, &mut |k: &usize| {
            let Open { statement, parts, left } = &open[*k];
            let (rest, head) = first(parts, &mut |part| {
                self.instances(rule, (statement, part), site, term, points, left)
            })?;
            Ok((*k, rest, head))
        })
        .map_err(|stop| match stop {
            // Another choice before might have left what is wanted here.
            Stop::Not(Proof::Refuted(why)) if ambiguous && why.starts_with(TWICE) => {
                Stop::undecided(why)
            }
            stop => stop,
        })?;
        open[k].left = rest;
        Ok(head)
    }

    /// Whether a product has the coefficient and as many factors of each tensor as a statement.
    fn same_factors(&self, statement: &Statement, term: &Term) -> Result<bool, Stop> {
        // Constants may have been multiplied in another order.
        let tolerance = 1e-12 * statement.coefficient.abs();
        if (statement.coefficient - term.coefficient).abs() > tolerance {
            return Ok(false);
        }
        let mut symbols = Vec::new();
        let mut reads = Vec::new();
        for factor in &term.factors {
            match &factor.what {
                What::Number(Index::Symbol(symbol)) => {
                    symbols.push((symbol.0 as usize, factor.reciprocal));
                }
                What::Number(_) => return Err(Stop::undecided("a factor that is no symbol")),
                What::Element(buffer, _) => reads.push((buffer.0 as usize, factor.reciprocal)),
            }
        }
        let mut wanted = statement.symbols.clone();
        let mut wanted_reads: Vec<(usize, bool)> =
            statement.reads.iter().map(|read| (read.tensor.0, read.reciprocal)).collect();
        symbols.sort_unstable();
        wanted.sort_unstable();
        reads.sort_unstable();
        wanted_reads.sort_unstable();
        Ok(symbols == wanted && reads == wanted_reads)
    }

    /// That a product's points are instances of a statement within `left`; what then is left, and the element of the
    /// head of each point.
    fn instances(
        &self,
        rule: &InferredRule,
        (statement, part): (&Statement, &Set),
        site: &Site<'_>,
        term: &Term,
        (vars, points): (&[VarId], &Set),
        left: &Set,
    ) -> Result<(Set, Map), Stop> {
        let lift = self.lift(vars, points, &statement.iterators, part)?;
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
        self.address(vars, &lift, site.index, rule.head, &head)?;
        self.factors(statement, term, vars, &lift)?;
        let to_head = self.inferred.sets.access(&statement.iterators, &head)?;
        Ok((left.subtract(&taken)?.coalesce()?, lift.map.apply_range(&to_head)?))
    }

    /// That the elements of a product are those that the statement reads, in any order.
    fn factors(
        &self,
        statement: &Statement,
        term: &Term,
        vars: &[VarId],
        lift: &Lift,
    ) -> Result<(), Stop> {
        let mut open: Vec<_> = term.factors.iter().collect();
        for read in &statement.reads {
            let mut candidates = Vec::new();
            for (k, factor) in open.iter().enumerate() {
                if let What::Element(buffer, index) = &factor.what
                    && buffer.0 as usize == read.tensor.0
                    && factor.reciprocal == read.reciprocal
                {
                    candidates.push((k, index));
                }
            }
            let (k, _) = *first(&candidates, &mut |candidate| {
                match read.sorted.is_empty() {
                    true => self.address(vars, lift, candidate.1, read.tensor, &read.subscripts),
                    false => self.sorted_address(vars, lift, candidate.1, read),
                }?;
                Ok(candidate)
            })?;
            open.remove(k);
        }
        Ok(())
    }
}

const TWICE: &str = "computed twice";

/// The first success. Otherwise undecided if one is, else the first refutation.
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
