//! [`Property::Parallel`](super::Property) and [`Property::Written`](super::Property), which depend on the order of
//! stores.
//!
//! At the first point at which the ways of two instances through the function differ, one of them takes the earlier
//! iteration or the earlier statement. That one runs first.

use dastac_loops::{Mark, StoreMode, VarId};
use dastac_poly::{Map, Set};
use dastac_stur::program::TensorId;

use super::executed::{Function, Site, Step};
use super::instances::Elements;
use super::{Stop, Validator};

impl Validator<'_> {
    /// Proves that the iterations of a parallel loop write distinct elements, and that none reads an element that
    /// another one writes.
    pub(super) fn parallel(&self, elements: &[Elements<'_, '_>]) -> Result<(), Stop> {
        for (position, one) in elements.iter().enumerate() {
            for other in &elements[position..] {
                let common = common(one.site, other.site);
                for (depth, step) in common.iter().enumerate() {
                    let Step::Into(var, Mark::Parallel(_) | Mark::Unrolled) = step else {
                        continue;
                    };
                    let before = loops(&common[..depth]);
                    let apart = [
                        self.pairs(
                            one,
                            other,
                            &before,
                            &format!("{} < {}", self.out_of(other, *var)?, self.naming.var(*var)),
                        )?,
                        self.pairs(
                            one,
                            other,
                            &before,
                            &format!("{} > {}", self.out_of(other, *var)?, self.naming.var(*var)),
                        )?,
                    ];
                    for pairs in apart {
                        if !pairs.is_empty()? {
                            let at = self.witness(&one.site.around.vars, &pairs.domain()?)?;
                            return Err(Stop::refuted(format!(
                                "two iterations write the same element, one of them {at}"
                            )));
                        }
                    }
                }
            }
            for other in elements {
                let reads = other.site.reads(TensorId(one.site.buffer.0 as usize));
                let parallel =
                    |step: &Step| matches!(step, Step::Into(_, Mark::Parallel(_) | Mark::Unrolled));
                if reads && common(one.site, other.site).iter().any(parallel) {
                    return Err(Stop::undecided("a parallel loop reads what it writes"));
                }
            }
        }
        Ok(())
    }

    /// Proves that every stored element is set, that nothing is added to it before (setting it would lose that), and
    /// that it is not read earlier.
    pub(super) fn written(
        &self,
        head: TensorId,
        function: &Function<'_>,
        elements: &[Elements<'_, '_>],
    ) -> Result<(), Stop> {
        let structured = &self.inferred.tensors[head.0];
        let mut unset: Set = self.layouts[head.0].stored.clone();
        for set in elements.iter().filter(|e| e.site.mode == StoreMode::Set) {
            unset = unset.subtract(&set.map.range()?)?;
            for other in elements.iter().filter(|e| !e.site.terms.is_empty()) {
                let lost = self.before(other, set)?;
                if !lost.is_empty()? {
                    let at = self.witness(&other.site.around.vars, &lost.domain()?)?;
                    return Err(Stop::refuted(format!("what is computed {at} is overwritten")));
                }
            }
        }
        if !unset.is_empty()? {
            let at = self.instance(&structured.iterators, &unset)?;
            return Err(Stop::refuted(format!("the element {at} is never set")));
        }
        for add in elements.iter().filter(|e| e.site.mode == StoreMode::Add) {
            let mut early = add.map.domain()?;
            for set in elements.iter().filter(|e| e.site.mode == StoreMode::Set) {
                early = early.subtract(&self.before(set, add)?.range()?)?;
            }
            if !early.is_empty()? {
                let at = self.witness(&add.site.around.vars, &early)?;
                return Err(Stop::refuted(format!("an element is added to {at} before it is set")));
            }
        }
        let place = |site: &Site<'_>| match site.path.first() {
            Some(Step::At(position)) => *position,
            _ => 0,
        };
        let last = elements.iter().map(|e| place(e.site)).max();
        for site in &function.sites {
            if site.reads(head) && last.is_some_and(|last| place(site) <= last) {
                return Err(Stop::refuted("it is read before it is complete"));
            }
        }
        for unread in &function.unread {
            if unread.reads(head) && last.is_some_and(|last| unread.at <= last) {
                return Err(Stop::undecided(&unread.why));
            }
        }
        Ok(())
    }

    /// Maps instances of `first` to the instances of `second` that run after them and write the same element.
    fn before(&self, first: &Elements<'_, '_>, second: &Elements<'_, '_>) -> Result<Map, Stop> {
        let common = common(first.site, second.site);
        let mut result: Option<Map> = None;
        let mut add = |map: Map| -> Result<(), Stop> {
            result = Some(match result.take() {
                None => map,
                Some(result) => result.union(&map)?,
            });
            Ok(())
        };
        for (depth, step) in common.iter().enumerate() {
            let Step::Into(var, _) = step else { continue };
            let later = format!("{} < {}", self.naming.var(*var), self.out_of(second, *var)?);
            add(self.pairs(first, second, &loops(&common[..depth]), &later)?)?;
        }
        let next = (first.site.path.get(common.len()), second.site.path.get(common.len()));
        let earlier = matches!(next, (Some(Step::At(one)), Some(Step::At(other))) if one < other);
        let always = if earlier { "1 = 1" } else { "1 = 0" };
        add(self.pairs(first, second, &loops(common), always)?)?;
        result.ok_or_else(|| Stop::undecided("the order of two stores"))
    }

    /// Pairs of instances that write the same element in the same iteration of the loops `same`, and for which a
    /// condition holds.
    fn pairs(
        &self,
        one: &Elements<'_, '_>,
        other: &Elements<'_, '_>,
        same: &[VarId],
        condition: &str,
    ) -> Result<Map, Stop> {
        let mut conditions = vec![condition.to_string()];
        for var in same {
            conditions.push(format!("{} = {}", self.naming.var(*var), self.out_of(other, *var)?));
        }
        let vars = (&one.site.around.vars, other.site.around.vars.len());
        let order = self.relation(vars.0, vars.1, &conditions)?;
        Ok(one.map.apply_range(&other.map.reverse()?)?.intersect(&order)?)
    }

    /// The name of a variable's value in the second instance.
    fn out_of(&self, site: &Elements<'_, '_>, var: VarId) -> Result<String, Stop> {
        let position = site.site.around.vars.iter().position(|v| *v == var);
        position.map(|k| self.out(k)).ok_or_else(|| Stop::undecided("a loop"))
    }
}

/// The steps that the ways to two stores have in common.
fn common<'a>(one: &'a Site<'_>, other: &Site<'_>) -> &'a [Step] {
    let same = one.path.iter().zip(&other.path).take_while(|(a, b)| a == b).count();
    &one.path[..same]
}

fn loops(steps: &[Step]) -> Vec<VarId> {
    let var = |step: &Step| match step {
        Step::Into(var, _) => Some(*var),
        Step::At(_) => None,
    };
    steps.iter().filter_map(var).collect()
}
