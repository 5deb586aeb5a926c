//! Translation validation: compares what the final loop IR does with what the program says, for all values of the
//! symbols.
//!
//! The loops are read back (`executed`): every store, with the affine loops and conditions around it, and its value as
//! a sum of products of elements. The proof does not trust the code that made the loops. It uses the names of loop
//! variables as hints only: a wrong name makes a proof fail.
//!
//! Five properties are decided on isl sets, for each rule and each tensor ([`Property`]):
//!
//! - The instances of the inferred statements are those of the program's products (`covered`).
//! - The loops execute each instance exactly once, with its elements at their positions (`instances`).
//! - Parallel iterations write distinct elements, and every element is set before it is used (`order`).
//! - The layout is a bijection ([`Layout::prove_bijection`]).
//!
//! Invariant: [`Proof::Proven`] means that the property holds for all sizes. [`Proof::Refuted`] means that there is a
//! counter-example, or that something which has to be there was not found.

mod covered;
mod executed;
mod expression;
mod instances;
mod order;
mod sorted;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use dastac_layout::{Layout, LayoutError, Proof};
use dastac_loops::{Function, Index, Module, VarId};
use dastac_poly::{Map, Set};
use dastac_stur::infer::{Inferred, InferredRule, Statement};
use dastac_stur::program::TensorId;
use dastac_stur::sets::{Affine, SetError};

use crate::nest::symbol;
use crate::{KERNEL, PREPARE, SchedError};
use executed::{Around, Site};
use expression::Naming;

/// A property that is proven of a rule or a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Property {
    /// The statements of the rule are its products: each point of a product is a point of exactly one statement, which
    /// reads the unique elements that the redundancy maps name.
    Statements,
    /// The loops execute each instance of each statement exactly once, with its coefficient, its factors and its
    /// element of the head. All of them are at their positions in the packed buffers, and within these.
    Executed,
    /// No two iterations of a parallel loop write the same element.
    Parallel,
    /// Every stored element is set exactly once before anything is added to it, and complete before it is read.
    Written,
    /// The positions of the stored elements are a bijection onto `0..size`, and the buffer has that size.
    Layout,
}

impl Property {
    /// The name of the property in messages and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Property::Statements => "statements",
            Property::Executed => "executed",
            Property::Parallel => "parallel",
            Property::Written => "written",
            Property::Layout => "layout",
        }
    }

    /// The claim of the property, in one line.
    pub fn about(self) -> &'static str {
        match self {
            Property::Statements => "statements are the products, restricted to unique elements",
            Property::Executed => "loops execute each instance once, at the right positions",
            Property::Parallel => "parallel iterations write distinct elements",
            Property::Written => "elements are set before they are added to or read",
            Property::Layout => "one place for each stored element, within the buffer",
        }
    }
}

/// One property of one tensor (and the rule that computes it).
#[derive(Clone, Debug)]
pub struct Check {
    /// The tensor.
    pub tensor: TensorId,
    /// The property that is claimed.
    pub property: Property,
    /// Whether it holds.
    pub proof: Proof,
}

/// Checks every property of every tensor, first in the order of rules, then of tensors. The functions that are checked
/// are `prepare` (if there is one) and `kernel` of `module`, each with the functions that are called before it.
///
/// # Errors
/// A failure of isl. A property that is too complex to decide is not an error, but [`Proof::Undecided`].
pub fn validate(
    inferred: &Inferred,
    layouts: &[Layout],
    module: &Module,
) -> Result<Vec<Check>, SchedError> {
    let derived =
        inferred.sets.names.all_derived().filter_map(|(name, _)| {
            Some((symbol(module, &inferred.sets, name)?, name.to_string()))
        });
    let naming = Naming::new(inferred.sets.names.parameters(), derived.collect());
    let mut stages = Vec::new();
    let functions = [(true, PREPARE), (false, KERNEL)]
        .map(|(preprocess, name)| (preprocess, block(module, name)));
    for (preprocess, function) in &functions {
        if let Some(function) = function {
            let preprocess = *preprocess;
            let validator = Validator { inferred, layouts, module, function, naming: &naming };
            stages.push(Stage { preprocess, validator, sites: executed::sites(function, &naming) });
        }
    }
    let mut checks = Vec::new();
    for rule in &inferred.rules {
        let preprocess = inferred.program.rules[rule.rule.0].preprocess;
        let Some(place) = stages.iter().position(|stage| stage.preprocess == preprocess) else {
            return Err(SchedError::NoKernel);
        };
        let [statements, executed, parallel, written] = stages[place].rule(rule, &stages)?;
        for (property, outcome) in [
            (Property::Statements, statements),
            (Property::Executed, executed),
            (Property::Parallel, parallel),
            (Property::Written, written),
        ] {
            checks.push(Check { tensor: rule.head, property, proof: outcome });
        }
    }
    for site in stages.iter().flat_map(|stage| stage.sites.iter().flatten()) {
        // A store to a tensor that no rule computes belongs to none of the checks above.
        let head = TensorId(site.buffer.0 as usize);
        if !inferred.rules.iter().any(|rule| rule.head == head) {
            let proof = Proof::Refuted("it is written, but no rule computes it".into());
            checks.push(Check { tensor: head, property: Property::Executed, proof });
        }
    }
    for id in inferred.program.tensor_ids() {
        let packed = inferred.program.tensor(id).format.is_none();
        if let Some(Stage { validator, .. }) = stages.first().filter(|_| packed) {
            let proof = proof(validator.layout(id))?;
            checks.push(Check { tensor: id, property: Property::Layout, proof });
        }
    }
    if !inferred.program.derived.is_empty() {
        // isl takes `N * N` for a parameter of its own, with any value. A proof still holds then, but a counter-example
        // need not be one.
        for check in &mut checks {
            if matches!(check.proof, Proof::Refuted(_)) {
                check.proof = Proof::Undecided("products of symbols".into());
            }
        }
    }
    Ok(checks)
}

/// A function together with all functions that are called before it in its block, as one function. They have the same
/// variables.
fn block(module: &Module, name: &str) -> Option<Function> {
    let last = module.functions.iter().position(|function| function.name == name)?;
    let other = |function: &Function| [KERNEL, PREPARE].contains(&function.name.as_str());
    let first = module.functions[..last].iter().rposition(other).map_or(0, |at| at + 1);
    let bodies = module.functions[first..=last].iter().flat_map(|function| &function.body);
    let body = bodies.cloned().collect();
    Some(Function { body, ..module.functions[last].clone() })
}

/// One block of the module, and its stores.
struct Stage<'a> {
    /// Whether it runs the rules of preprocess blocks.
    preprocess: bool,
    validator: Validator<'a>,
    sites: Result<Vec<Site<'a>>, String>,
}

impl Stage<'_> {
    /// The outcomes of the four properties of a rule that this function runs.
    fn rule(&self, rule: &InferredRule, stages: &[Stage<'_>]) -> Result<[Proof; 4], SchedError> {
        let validator = &self.validator;
        if validator.inferred.program.is_over_levels(rule.rule) {
            let open = Proof::Undecided("its loops go over levels, or it is not a sum".into());
            return Ok([open.clone(), open.clone(), open.clone(), open]);
        }
        if !rule.statements.iter().all(Statement::is_exact) {
            let open =
                Proof::Undecided("something that is not affine decides what is executed".into());
            return Ok([open.clone(), open.clone(), open.clone(), open]);
        }
        let statements = proof(validator.statements(rule))?;
        let mut elsewhere = stages
            .iter()
            .filter(|stage| stage.preprocess != self.preprocess)
            .flat_map(|stage| stage.sites.iter().flatten().map(move |site| (stage, site)));
        if elsewhere.clone().any(|(_, site)| site.buffer.0 as usize == rule.head.0) {
            let wrong = Proof::Refuted("another function writes it".into());
            return Ok([statements, wrong.clone(), wrong.clone(), wrong]);
        }
        let sites = match &self.sites {
            Ok(sites) => sites,
            Err(why) => {
                let open = Proof::Undecided(why.clone());
                return Ok([statements, open.clone(), open.clone(), open]);
            }
        };
        let (outcome, elements) = match validator.executed(rule, sites) {
            Ok(known) => known,
            Err(Stop::Failed(error)) => return Err(error),
            Err(Stop::Not(proof)) => (Err(Stop::Not(proof.clone())), Err(Stop::Not(proof))),
        };
        let executed = proof(outcome)?;
        let elements = match elements {
            Ok(elements) => elements,
            Err(stop) => {
                let open = proof(Err(stop))?;
                return Ok([statements, executed, open.clone(), open]);
            }
        };
        let parallel = proof(validator.parallel(&elements))?;
        // `prepare` runs before `kernel`.
        let early = elsewhere.any(|(stage, site)| stage.preprocess && site.reads(rule.head));
        let written = match early {
            true => Proof::Refuted("it is read before it is complete".into()),
            false => proof(validator.written(rule.head, sites, &elements))?,
        };
        Ok([statements, executed, parallel, written])
    }
}

struct Validator<'a> {
    inferred: &'a Inferred,
    layouts: &'a [Layout],
    module: &'a Module,
    function: &'a Function,
    naming: &'a Naming,
}

/// Why a proof ends early.
enum Stop {
    /// The property does not hold, or cannot be decided.
    Not(Proof),
    /// Something else went wrong.
    Failed(SchedError),
}

impl Stop {
    fn undecided(why: impl Into<String>) -> Stop {
        Stop::Not(Proof::Undecided(why.into()))
    }

    fn refuted(why: impl Into<String>) -> Stop {
        Stop::Not(Proof::Refuted(why.into()))
    }
}

impl From<dastac_poly::Error> for Stop {
    fn from(error: dastac_poly::Error) -> Stop {
        match error {
            dastac_poly::Error::TooComplex { .. } => {
                Stop::undecided("the sets are too complex to decide")
            }
            error => Stop::Failed(error.into()),
        }
    }
}

impl From<LayoutError> for Stop {
    fn from(error: LayoutError) -> Stop {
        match error {
            LayoutError::Poly(error) => error.into(),
            error => Stop::Failed(error.into()),
        }
    }
}

impl From<SetError> for Stop {
    fn from(error: SetError) -> Stop {
        match error {
            SetError::Poly(error) => error.into(),
            // Inference handles products of symbols such as `N * N` by cases, which is not done here.
            SetError::User(diagnostic) => Stop::undecided(diagnostic.message),
        }
    }
}

impl From<dastac_stur::Diagnostic> for Stop {
    fn from(diagnostic: dastac_stur::Diagnostic) -> Stop {
        SetError::from(diagnostic).into()
    }
}

fn proof(outcome: Result<(), Stop>) -> Result<Proof, SchedError> {
    match outcome {
        Ok(()) => Ok(Proof::Proven),
        Err(Stop::Not(proof)) => Ok(proof),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// Where loop variables lead: the map from each point of the loops to one point over some iterators.
struct Lift {
    /// Maps loop variables to iterators; single-valued.
    map: Map,
    /// The same map in pieces, as expressions over the isl names of variables and parameters, by the isl names of the
    /// iterators.
    pieces: Vec<(Set, BTreeMap<String, Affine>)>,
}

impl Validator<'_> {
    /// The points over `vars` at which the conditions hold.
    fn set(&self, vars: &[VarId], conditions: &[String]) -> Result<Set, Stop> {
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
    fn relation(&self, vars: &[VarId], outputs: usize, conditions: &[String]) -> Result<Map, Stop> {
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
    fn out(&self, k: usize) -> String {
        format!("{}out{k}", self.naming.var(VarId(0)))
    }

    /// The instances of a store, or of one of its products.
    fn points(&self, around: &Around, more: Option<&Around>) -> Result<(Vec<VarId>, Set), Stop> {
        let none = Around::default();
        let more = more.unwrap_or(&none);
        let vars = [&around.vars[..], &more.vars[..]].concat();
        let conditions = [&around.conditions[..], &more.conditions[..]].concat();
        let set = self.set(&vars, &conditions)?;
        Ok((vars, set))
    }

    /// Maps each point of the loops to a point of `domain`, which is over `iterators`. Variables have the names of
    /// iterators; an iterator without a variable must follow from the others.
    fn lift(
        &self,
        vars: &[VarId],
        executed: &Set,
        iterators: &[String],
        domain: &Set,
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
        let map = self
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
            return Err(Stop::undecided("which points the loops run"));
        }
        let dims: Vec<String> = vars.iter().map(|var| self.naming.var(*var)).collect();
        let mut pieces = Vec::new();
        for (here, outputs) in map.as_pieces()? {
            let mut images = BTreeMap::new();
            for (iterator, output) in iterators.iter().zip(&outputs) {
                let image = Affine::from_linear(&output.expr()?, &dims);
                let image =
                    image.ok_or_else(|| Stop::undecided(format!("what `{iterator}` is")))?;
                images.insert(names.isl(iterator).to_string(), image);
            }
            pieces.push((here, images));
        }
        Ok(Lift { map, pieces })
    }

    /// The sets that a loop nest may visit: the whole set, or one of its parts if these have loops of their own.
    fn parts(&self, set: &Set) -> Result<Vec<Set>, Stop> {
        let mut parts = vec![set.clone()];
        let basics = set.make_disjoint()?.coalesce()?.basic_sets()?;
        if basics.len() > 1 {
            parts.extend(basics);
        }
        Ok(parts)
    }

    /// Proves that `emitted` is the position of the element at `subscripts` (over iterators), and that this element is
    /// stored.
    fn address(
        &self,
        vars: &[VarId],
        lift: &Lift,
        emitted: &Index,
        tensor: TensorId,
        subscripts: &[Affine],
    ) -> Result<(), Stop> {
        let layout = &self.layouts[tensor.0];
        let name = &self.inferred.program.tensor(tensor).name;
        let dims: Vec<String> = vars.iter().map(|var| self.naming.var(*var)).collect();
        let cases = self.naming.cases(emitted);
        let cases = cases.ok_or_else(|| Stop::undecided(format!("a position in `{name}`")))?;
        if cases.len() * layout.index.pieces.len() > MAX_COMBINATIONS {
            return Err(Stop::undecided(format!("positions in `{name}` have too many cases")));
        }
        if !expression::exact_divisions_hold(emitted) {
            return Err(Stop::undecided(format!(
                "whether a division in `{name}`'s position is exact"
            )));
        }
        for (here, images) in &lift.pieces {
            let mut element = Vec::new();
            for subscript in subscripts {
                let image = self.isl_names(subscript).substitute(images);
                element.push(image.ok_or_else(|| Stop::undecided("a subscript beyond 64 bits"))?);
            }
            let to_element = self.outputs(vars, &element)?;
            let reached = to_element.intersect_domain(here)?;
            let outside = reached.subtract(&reached.intersect_range(&layout.stored)?)?.domain()?;
            if !outside.is_empty()? {
                return Err(Stop::refuted(format!(
                    "an element of `{name}` that is not stored is accessed {}",
                    self.witness(vars, &outside)?
                )));
            }
            let images: BTreeMap<String, Affine> =
                layout.dims.iter().cloned().zip(element.iter().cloned()).collect();
            let packed: Vec<Affine> = layout.order.iter().map(|&k| element[k].clone()).collect();
            let to_packed = self.outputs(vars, &packed)?.intersect_domain(here)?;
            let mut regions = Vec::new();
            for piece in &layout.index.pieces {
                let region = match layout.index.pieces.len() {
                    1 => here.clone(),
                    _ => to_packed.intersect_range(&piece.domain)?.domain()?.coalesce()?,
                };
                let expected = piece.polynomial.substitute(&images);
                let expected =
                    expected.ok_or_else(|| Stop::undecided("an index beyond 64 bits"))?;
                regions.push((region, expected));
            }
            for case in &cases {
                let mut rest = match case.conditions.as_slice() {
                    [] => here.clone(),
                    conditions => here.intersect(&self.set(vars, conditions)?)?,
                };
                let differences = regions
                    .iter()
                    .map(|(region, expected)| (region, expected + &case.polynomial.scaled(-1)));
                // Usually the case was made from one of these pieces, and nothing is left outside of it.
                let (same, others): (Vec<_>, Vec<_>) =
                    differences.partition(|(_, difference)| difference.is_zero());
                for (region, _) in same {
                    rest = rest.subtract(region)?;
                }
                for (region, difference) in others {
                    if rest.is_empty()? {
                        break;
                    }
                    let at = rest.intersect(region)?;
                    self.equal(vars, &difference, &at, &dims, name)?;
                    rest = rest.subtract(region)?;
                }
                self.equal(vars, &case.polynomial, &rest, &dims, name)?;
            }
        }
        Ok(())
    }

    /// Proves that the difference of two positions is 0 on a set.
    fn equal(
        &self,
        vars: &[VarId],
        difference: &dastac_layout::Polynomial,
        set: &Set,
        dims: &[String],
        tensor: &str,
    ) -> Result<(), Stop> {
        if difference.is_zero() || set.is_empty()? {
            return Ok(());
        }
        let refuted = |at: String| {
            Stop::refuted(format!("an element of `{tensor}` is at another's position {at}"))
        };
        match dastac_layout::vanishes(difference, set, dims)? {
            None | Some(Proof::Proven) => Ok(()),
            Some(Proof::Refuted(_)) => Err(refuted(self.witness(vars, set)?)),
            Some(Proof::Undecided(_)) => match self.counterexample(vars, difference, set, dims)? {
                Some(at) => Err(refuted(at)),
                None => Err(Stop::undecided(format!("whether two positions in `{tensor}` agree"))),
            },
        }
    }

    /// A point at which a polynomial is not 0. It is searched for at small values of the symbols.
    fn counterexample(
        &self,
        vars: &[VarId],
        difference: &dastac_layout::Polynomial,
        set: &Set,
        dims: &[String],
    ) -> Result<Option<String>, Stop> {
        const VALUES: [i64; 5] = [2, 3, 5, 4, 6];
        const POINTS: usize = 1000;
        for first in 0..VALUES.len() {
            let value = |k: usize| VALUES[(first + k) % VALUES.len()];
            let params: Vec<(String, i64)> =
                set.params()?.into_iter().enumerate().map(|(k, name)| (name, value(k))).collect();
            let points = match set.fix_params(&params)?.points(POINTS) {
                Err(dastac_poly::Error::TooManyPoints { .. }) => continue,
                points => points?,
            };
            for point in points {
                let value_of = |name: &str| {
                    let dim = dims.iter().position(|dim| dim == name).map(|k| point[k]);
                    dim.or_else(|| params.iter().find(|(n, _)| n == name).map(|(_, v)| *v))
                };
                if difference.eval(&value_of).is_some_and(|value| value != 0.into()) {
                    let mut at = set.fix_params(&params)?;
                    for (k, value) in point.iter().enumerate() {
                        at = at.fix_dim_at(k, *value)?;
                    }
                    let params: Vec<String> =
                        params.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                    let at = self.witness(vars, &at)?;
                    return Ok(Some([vec![at], params].concat().join(", ")));
                }
            }
        }
        Ok(None)
    }

    /// Maps the points of the variables to the values of expressions over isl names.
    fn outputs(&self, vars: &[VarId], values: &[Affine]) -> Result<Map, Stop> {
        let conditions: Vec<String> = values
            .iter()
            .enumerate()
            .map(|(k, value)| format!("{} = {value}", self.out(k)))
            .collect();
        self.relation(vars, values.len(), &conditions)
    }

    fn isl_names(&self, affine: &Affine) -> Affine {
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
    fn witness(&self, vars: &[VarId], set: &Set) -> Result<String, Stop> {
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
    fn instance(&self, iterators: &[String], set: &Set) -> Result<String, Stop> {
        let Some(point) = set.sample()? else { return Ok("nowhere".into()) };
        let names = &self.inferred.sets.names;
        let mut values: Vec<String> =
            iterators.iter().zip(&point.coords).map(|(name, v)| format!("{name} = {v}")).collect();
        let params = point.params.iter();
        values.extend(params.map(|(name, value)| format!("{} = {value}", names.original(name))));
        Ok(if values.is_empty() { "always".into() } else { format!("at {}", values.join(", ")) })
    }

    /// [`Property::Layout`].
    fn layout(&self, id: TensorId) -> Result<(), Stop> {
        let layout = &self.layouts[id.0];
        let Some(buffer) = self.module.buffers.get(id.0) else {
            return Err(Stop::refuted("it has no buffer"));
        };
        self.size(layout, &buffer.size)?;
        match layout.prove_bijection()? {
            Proof::Proven => Ok(()),
            // The layout's own reason speaks of polynomials and sets; a plain one replaces it.
            Proof::Undecided(_) => {
                Err(Stop::undecided("whether the next element has the next position"))
            }
            other => Err(Stop::Not(other)),
        }
    }

    /// Proves that a buffer has the size of the layout.
    fn size(&self, layout: &Layout, size: &Index) -> Result<(), Stop> {
        let cases = self.naming.cases(size);
        let cases = cases.ok_or_else(|| Stop::undecided("the buffer's size"))?;
        if !expression::exact_divisions_hold(size) {
            return Err(Stop::undecided("whether a division in the buffer's size is exact"));
        }
        for case in &cases {
            let mut rest = self.set(&[], &case.conditions)?;
            for piece in &layout.size.pieces {
                let at = rest.intersect_params(&piece.domain.params_set()?)?;
                let difference = &piece.polynomial + &case.polynomial.scaled(-1);
                self.equal(&[], &difference, &at, &[], "the buffer's size")?;
                rest = rest.subtract(&at)?;
            }
            self.equal(&[], &case.polynomial, &rest, &[], "the buffer's size")?;
        }
        Ok(())
    }
}

/// With more combinations of a case of an emitted position and a piece of the layout, a proof takes minutes.
const MAX_COMBINATIONS: usize = 256;
