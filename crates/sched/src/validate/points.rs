//! The points at which loops run, and the points of iteration domains that they stand for, as isl sets and maps.

use std::collections::BTreeMap;

use dastac_loops::VarId;
use dastac_poly::{Map, Set};
use dastac_stur::sets::Affine;

use super::terms::Around;
use super::{Stop, Validator};

/// The points at which a store, or one of its products, is executed.
pub(super) struct Points {
    /// The variables of the loops, which are the dimensions of the set.
    pub(super) vars: Vec<VarId>,
    /// The values that these variables take.
    pub(super) set: Set,
}

/// Where loop variables lead: the map from each point of the loops to one point over some iterators.
pub(super) struct Lift {
    /// Maps loop variables to iterators; single-valued.
    pub(super) map: Map,
    /// The same map in pieces, as expressions over the isl names of variables and parameters, by the isl names of the
    /// iterators.
    pub(super) pieces: Vec<(Set, BTreeMap<String, Affine>)>,
}

/// Which of several points of a domain a point of the loops is taken for. Where it leads must then be shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// There must be one only.
    Only,
    Least,
    Greatest,
}

impl Validator<'_> {
    /// The points over `vars` at which the conditions hold.
    pub(super) fn set(&self, vars: &[VarId], conditions: &[String]) -> Result<Set, Stop> {
        let params = &self.naming.params;
        let nonnegative = self.inferred.sets.names.nonnegative();
        let vars: Vec<String> = vars.iter().map(|var| self.naming.var(*var)).collect();
        let mut all: Vec<String> = nonnegative.map(|name| format!("{name} >= 0")).collect();
        all.push("1 = 1".into());
        all.extend(conditions.iter().map(|condition| format!("({condition})")));
        let text = format!(
            "[{}] -> {{ [{}] : {} }}",
            params.join(", "),
            vars.join(", "),
            all.join(" and ")
        );
        Ok(Set::parse(&self.inferred.sets.context, &text)?.coalesce()?)
    }

    /// A map from the points of the variables to tuples, given by conditions in isl's notation, in which `out(k)`
    /// stands for position `k` of the tuple.
    pub(super) fn relation(
        &self,
        vars: &[VarId],
        outputs: usize,
        conditions: &[String],
    ) -> Result<Map, Stop> {
        let inputs: Vec<String> = vars.iter().map(|var| self.naming.var(*var)).collect();
        let outputs: Vec<String> = (0..outputs).map(|k| self.out(k)).collect();
        let conditions =
            if conditions.is_empty() { "1 = 1".into() } else { conditions.join(" and ") };
        let text = format!(
            "[{}] -> {{ [{}] -> [{}] : {conditions} }}",
            self.naming.params.join(", "),
            inputs.join(", "),
            outputs.join(", "),
        );
        Ok(Map::parse(&self.inferred.sets.context, &text)?)
    }

    /// The isl name of position `k` of a relation's outputs, which differs from the names of all variables and
    /// parameters.
    pub(super) fn out(&self, k: usize) -> String {
        format!("{}out{k}", self.naming.var(VarId(0)))
    }

    /// The instances of a store, or of one of its products.
    pub(super) fn points(&self, around: &Around, more: Option<&Around>) -> Result<Points, Stop> {
        let none = Around::default();
        let more = more.unwrap_or(&none);
        let vars = [&around.vars[..], &more.vars[..]].concat();
        let conditions = [&around.conditions[..], &more.conditions[..]].concat();
        let set = self.set(&vars, &conditions)?;
        Ok(Points { vars, set })
    }

    /// Maps each point of the loops to a point of `domain`, which is over `iterators`. Variables have the names of
    /// iterators; an iterator without a variable must follow from the others.
    pub(super) fn lift(
        &self,
        vars: &[VarId],
        executed: &Set,
        iterators: &[String],
        (domain, choice): (&Set, Choice),
    ) -> Result<Lift, Stop> {
        let names = &self.inferred.sets.names;
        let mut conditions = Vec::new();
        let mut direct = BTreeMap::new();
        for (k, iterator) in iterators.iter().enumerate() {
            let isl = names.isl(iterator);
            let var = vars
                .iter()
                .find(|var| self.function.vars.get(var.0 as usize).is_some_and(|name| name == isl));
            if let Some(var) = var {
                conditions.push(format!("{} = {}", self.out(k), self.naming.var(*var)));
                direct.insert(isl.to_string(), Affine::name(&self.naming.var(*var)));
            }
        }
        let mut map = self
            .relation(vars, iterators.len(), &conditions)?
            .intersect_domain(executed)?
            .intersect_range(&domain.with_tuple_name(None)?)?;
        let outside = executed.subtract(&map.domain()?)?;
        if !outside.is_empty()? {
            return Err(Stop::refuted(format!(
                "the loops run {}, which is no instance",
                self.witness(vars, &outside)?
            )));
        }
        if direct.len() == iterators.len() {
            return Ok(Lift { map, pieces: vec![(executed.clone(), direct)] });
        }
        if !map.is_single_valued()? {
            map = match choice {
                Choice::Only => return Err(Stop::undecided("which points the loops run")),
                Choice::Least => map.lexmin()?,
                Choice::Greatest => map.lexmax()?,
            };
        }
        let dims: Vec<String> = vars.iter().map(|var| self.naming.var(*var)).collect();
        let mut pieces = Vec::new();
        for (here, outputs) in map.as_pieces()? {
            let mut images = BTreeMap::new();
            for (iterator, output) in iterators.iter().zip(&outputs) {
                let image = Affine::of_integers(&output.expr()?, &dims);
                let image =
                    image.ok_or_else(|| Stop::undecided(format!("what `{iterator}` is")))?;
                images.insert(names.isl(iterator).to_string(), image);
            }
            pieces.push((here, images));
        }
        Ok(Lift { map, pieces })
    }

    /// The sets that a loop nest may visit: the whole set, or one of its parts if these have loops of their own.
    pub(super) fn parts(&self, set: &Set) -> Result<Vec<Set>, Stop> {
        let mut parts = vec![set.clone()];
        let basics = set.make_disjoint()?.coalesce()?.basic_sets()?;
        if basics.len() > 1 {
            parts.extend(basics);
        }
        Ok(parts)
    }

    /// The elements of a set of which two coordinates are the same: loops over a diagonal have one variable for both.
    pub(super) fn diagonals(&self, set: &Set) -> Result<Vec<Set>, Stop> {
        let dims: Vec<String> = (0..set.rank()).map(|k| self.out(k)).collect();
        let mut all = Vec::new();
        for (k, one) in dims.iter().enumerate() {
            for other in &dims[..k] {
                let params = self.naming.params.join(", ");
                let text = format!("[{params}] -> {{ [{}] : {one} = {other} }}", dims.join(", "));
                let equal = Set::parse(&self.inferred.sets.context, &text)?;
                all.push(set.with_tuple_name(None)?.intersect(&equal)?);
            }
        }
        Ok(all)
    }

    /// The sets that a loop nest may visit, with the points that it may be taken to visit in them. A loop of one
    /// iteration has no variable: that is the first or the last iteration of a loop, if it is not determined otherwise.
    pub(super) fn choices<'p>(&self, parts: &'p [Set]) -> Vec<(&'p Set, Choice)> {
        let ends = [Choice::Least, Choice::Greatest];
        let ends = parts.iter().take(1).flat_map(|whole| ends.map(|choice| (whole, choice)));
        parts.iter().map(|part| (part, Choice::Only)).chain(ends).collect()
    }

    /// Maps the points of the variables to the values of expressions over isl names.
    pub(super) fn outputs(&self, vars: &[VarId], values: &[Affine]) -> Result<Map, Stop> {
        let conditions: Vec<String> = values
            .iter()
            .enumerate()
            .map(|(k, value)| format!("{} = {value}", self.out(k)))
            .collect();
        self.relation(vars, values.len(), &conditions)
    }

    pub(super) fn isl_names(&self, affine: &Affine) -> Affine {
        let names = &self.inferred.sets.names;
        affine.rename(
            &affine
                .names()
                .into_iter()
                .map(|name| (name.clone(), names.isl(&name).into()))
                .collect(),
        )
    }

    /// A point of a set, in words.
    pub(super) fn witness(&self, vars: &[VarId], set: &Set) -> Result<String, Stop> {
        let Some(point) = set.sample()? else { return Ok("nowhere".into()) };
        let names = &self.inferred.sets.names;
        let name = |var: &VarId| self.function.vars.get(var.0 as usize).map_or("?", String::as_str);
        let mut values: Vec<String> = vars
            .iter()
            .zip(&point.coords)
            .map(|(var, value)| format!("{} = {value}", names.original(name(var))))
            .collect();
        let params = point.params.iter();
        values.extend(params.map(|(name, value)| format!("{} = {value}", names.original(name))));
        Ok(if values.is_empty() { "always".into() } else { format!("at {}", values.join(", ")) })
    }

    /// A point of a set over iterators, in words.
    pub(super) fn instance(&self, iterators: &[String], set: &Set) -> Result<String, Stop> {
        let Some(point) = set.sample()? else { return Ok("nowhere".into()) };
        let names = &self.inferred.sets.names;
        let mut values: Vec<String> =
            iterators.iter().zip(&point.coords).map(|(name, v)| format!("{name} = {v}")).collect();
        let params = point.params.iter();
        values.extend(params.map(|(name, value)| format!("{} = {value}", names.original(name))));
        Ok(if values.is_empty() { "always".into() } else { format!("at {}", values.join(", ")) })
    }
}
