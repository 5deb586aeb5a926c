//! Floating-point expressions of many instances side by side, and sums in lanes of vectors.
//!
//! A store inside of unrolled loops is executed for all of their [`Instance`]s. What does not vary between instances is computed once, and a sum is
//! one loop with an accumulator for each instance: with `i` and `j` unrolled, `A[..] = sum(k) B[i, k] * C[j, k]` loads `|i| + |j|` elements for
//! `|i| * |j|` products.
//!
//! A sum whose terms load neighbours for neighbouring values of its variable is computed in lanes: a main loop over whole vectors (several at
//! once while there are few accumulators, since each waits for its last addition), the rest in one vector under a mask, and the
//! lanes of each accumulator added at the end.
//!
//! Additions are neither regrouped nor fused with products by LLVM, but here, so that a result does not depend on the code around it: one thread and
//! several, with tiles of the same shape, give the same bits.
//!
//! Before -> after, `sum(k = 0 to N) b[k] * c[k]` with 4 lanes:
//! `a = for k = 0 to N - N % 4 step 4 { a += b[k..k + 4] * c[k..k + 4] }  if N % 4 { a += masked(..) }  reduce(a)`.

use std::collections::BTreeSet;

use super::convert::name_of;
use super::stream::Vectors;
use super::{Range, Ssa, Variable, Writer, line, memref};
use crate::Result;
use dastac_loops::unroll::{self, Instance, at};
use dastac_loops::{Condition, Element, Index, Reduction, Store, Sum, Value, VarId, lanes};

/// So many accumulators hide the latency of an addition (4 cycles, two a cycle).
const CHAINS: usize = 8;

/// So many do for numbers that are loaded one by one (two loads a cycle, three a term).
const SCALAR_CHAINS: usize = 4;

/// More partial sums of one sum are never worth it.
const MOST_COPIES: usize = 32;

/// A sum of at most so many terms becomes these terms.
const SHORT: usize = 8;

/// A value: of one element, or one for each lane.
#[derive(Clone)]
pub(super) struct Val {
    ssa: Ssa,
    vector: bool,
}

impl Val {
    fn scalar(ssa: Ssa) -> Val {
        Val { ssa, vector: false }
    }
}

/// The variable whose values are in lanes, at the current place.
#[derive(Clone)]
pub(super) struct Lanes {
    pub(super) var: VarId,
    pub(super) count: usize,
    /// Which lanes there are; all if not given.
    pub(super) mask: Option<Ssa>,
}

/// Instances that are computed side by side, and what is known of them already.
struct Group<'v> {
    instances: Vec<Instance>,
    known: Vec<(&'v Value, Instance, Val)>,
    element: Element,
}

impl<'v> Group<'v> {
    fn new(instances: Vec<Instance>, element: Element) -> Self {
        Group { instances, known: Vec::new(), element }
    }

    fn find(&self, value: &Value, key: &Instance) -> Option<Val> {
        let known = self.known.iter();
        let mut same = known.filter(|(known, at, _)| std::ptr::eq(*known, value) && at == key);
        same.next().map(|(_, _, val)| val.clone())
    }
}

/// How numbers are joined. Integers wrap around.
fn operation(kind: Reduction, element: Element) -> &'static str {
    match (kind, element.is_integer()) {
        (Reduction::Sum, false) => "arith.addf",
        (Reduction::Min, false) => "arith.minimumf",
        (Reduction::Max, false) => "arith.maximumf",
        (Reduction::Sum, true) => "arith.addi",
        (Reduction::Min, true) => "arith.minsi",
        (Reduction::Max, true) => "arith.maxsi",
    }
}

/// Whether a sum is over positions of a level, one after the other and all of them.
fn over_stored(sum: &Sum) -> bool {
    let stored = sum.lower.iter().chain(&sum.upper).any(Index::has_loads);
    stored && sum.step == 1 && sum.condition.is_none()
}

/// What of an instance matters to an expression with these variables.
fn project(instance: &Instance, vars: &BTreeSet<VarId>) -> Instance {
    let matters = instance.iter().filter(|(var, _)| vars.contains(var));
    matters.map(|(var, index)| (*var, index.clone())).collect()
}

fn projections(instances: &[Instance], vars: &BTreeSet<VarId>) -> Vec<Instance> {
    let mut distinct: Vec<Instance> = Vec::new();
    for instance in instances {
        let key = project(instance, vars);
        if !distinct.contains(&key) {
            distinct.push(key);
        }
    }
    distinct
}

impl Writer<'_, '_> {
    /// The value at each instance.
    pub(super) fn values(
        &mut self,
        value: &Value,
        instances: &[Instance],
        element: Element,
    ) -> Result<Vec<Ssa>> {
        let value = associate(value, instances);
        let mut group = Group::new(instances.to_vec(), element);
        let mut results = Vec::new();
        for instance in instances {
            results.push(self.value(&value, instance, &mut group)?.ssa);
        }
        Ok(results)
    }

    fn value<'v>(
        &mut self,
        value: &'v Value,
        instance: &Instance,
        group: &mut Group<'v>,
    ) -> Result<Val> {
        if group.instances.len() == 1 {
            return self.fresh_value(value, instance, group);
        }
        let key = project(instance, &value.free_vars());
        if let Some(known) = group.find(value, &key) {
            return Ok(known);
        }
        let val = self.fresh_value(value, &key, group)?;
        if group.find(value, &key).is_none() {
            group.known.push((value, key, val.clone()));
        }
        Ok(val)
    }

    fn fresh_value<'v>(
        &mut self,
        value: &'v Value,
        instance: &Instance,
        group: &mut Group<'v>,
    ) -> Result<Val> {
        let element = group.element;
        Ok(match value {
            Value::Const(value) => Val::scalar(self.number(*value, element)),
            Value::Load(id, index) => {
                let (buffer, from) = self.buffer(*id)?;
                if element.is_integer() && !from.is_integer() {
                    return Err(self.invalid(format_args!("an integer buffer stores a number")));
                }
                let lanes = self.lanes.clone().filter(|lanes| index.mentions(lanes.var));
                let vector = lanes.is_some();
                let loaded = match lanes {
                    None => {
                        let index = self.index(&at(index, instance))?;
                        self.check(*id, &index);
                        let source = memref(from);
                        self.define(format_args!("memref.load {buffer}[{index}] : {source}"))
                    }
                    Some(lanes) => {
                        let here = at(index, instance);
                        match index.constant_stride(lanes.var) {
                            None => self.gathered((&buffer, from), &here, &lanes)?,
                            Some(by) => {
                                self.neighbours((&buffer, from), (&here, by < 0), &lanes)?
                            }
                        }
                    }
                };
                Val { ssa: self.converted(loaded, vector, from, element), vector }
            }
            Value::FromIndex(index) => {
                let index = self.index(&at(index, instance))?;
                let integer = self.define(format_args!("arith.index_cast {index} : index to i64"));
                Val::scalar(self.converted(integer, false, Element::I64, element))
            }
            Value::Add(left, right) if matches!(**left, Value::Mul(..)) => {
                let right = self.value(right, instance, group)?;
                self.plus(right, left, instance, group)?
            }
            Value::Add(left, right) => match &**right {
                // The accumulators of one sum are those of the next.
                Value::Sum(sum) if self.lanes.is_some() && sum.kind == Reduction::Sum => {
                    self.sum_at(value, (Some(left), sum), instance, group)?
                }
                _ => {
                    let left = self.value(left, instance, group)?;
                    self.plus(left, right, instance, group)?
                }
            },
            Value::Mul(left, right) => {
                let multiply = if element.is_integer() { "arith.muli" } else { "arith.mulf" };
                self.binary(multiply, (left, right), instance, group)?
            }
            Value::Div(..) if element.is_integer() => {
                return Err(self.invalid(format_args!("an integer buffer stores a quotient")));
            }
            Value::Div(left, right) => self.binary("arith.divf", (left, right), instance, group)?,
            Value::Min(left, right) => {
                let smaller = operation(Reduction::Min, element);
                self.binary(smaller, (left, right), instance, group)?
            }
            Value::Max(left, right) => {
                let larger = operation(Reduction::Max, element);
                self.binary(larger, (left, right), instance, group)?
            }
            Value::Truth(inside) => {
                let inside = self.value(inside, instance, group)?;
                self.truth(&inside, element)
            }
            Value::Sum(sum) => self.sum_at(value, (None, sum), instance, group)?,
        })
    }

    /// What a sum is at an instance, added to what is computed before it, if anything is; computed side by side with the instances of the same range.
    fn sum_at<'v>(
        &mut self,
        value: &'v Value,
        (before, sum): (Option<&'v Value>, &'v Sum),
        instance: &Instance,
        group: &mut Group<'v>,
    ) -> Result<Val> {
        let element = group.element;
        let vars = value.free_vars();
        let instance = &project(instance, &vars);
        let instances = projections(&group.instances, &vars);
        let vector = self.lanes.is_some();
        let bounds = |instance: &Instance| {
            let all = sum.lower.iter().chain(&sum.upper);
            all.map(|bound| at(bound, instance)).collect::<Vec<_>>()
        };
        // Side by side with those of the same range.
        let here = bounds(instance);
        let alone = sum
            .condition
            .as_ref()
            .is_some_and(|condition| instance.keys().any(|var| condition.mentions(*var)));
        let together: Vec<Instance> = instances
            .into_iter()
            .filter(|other| other == instance || !alone && bounds(other) == here)
            .collect();
        let mut initial = Vec::new();
        if let Some(before) = before {
            for other in &together {
                let so_far = self.value(before, other, group)?;
                initial.push(self.spread(so_far, vector, element));
            }
        }
        let totals = match vector {
            true => self.sums_across(sum, &together, initial, element)?,
            false => self.sums(sum, &together, element)?,
        };
        let mut own = None;
        for (other, total) in together.into_iter().zip(totals) {
            let val = Val { ssa: total, vector };
            if other == *instance {
                own = Some(val.clone());
            }
            group.known.push((value, other, val));
        }
        own.ok_or_else(|| self.invalid(format_args!("a sum lacks an instance")))
    }

    /// Instances of a store of which each stands for those in the lanes from it on: the variable in lanes, and their number.
    pub(super) fn across(
        &self,
        store: &Store,
        computed: Element,
    ) -> Option<(VarId, usize, Vec<Instance>)> {
        let count = self.unit.vector_bytes / computed.bytes();
        let instances = &self.instances;
        if count < 2
            || self.checked
            || store.is_index() && computed.is_integer()
            || !instances.len().is_multiple_of(count)
        {
            return None;
        }
        let vars: BTreeSet<VarId> = instances.iter().flat_map(|at| at.keys().copied()).collect();
        let vars = lanes::choices(store, vars.into_iter());
        vars.into_iter().find_map(|var| Some((var, count, runs(instances, var, count)?)))
    }

    /// A store of vectors: neighbours at once, others lane by lane.
    pub(super) fn store_across(
        &mut self,
        store: &Store,
        first: Option<&Condition>,
        ((var, count), instances): ((VarId, usize), &[Instance]),
        (element, computed): (Element, Element),
    ) -> Result<()> {
        let outer = self.lanes.replace(Lanes { var, count, mask: None });
        let value = associate(&store.value, instances);
        let mut group = Group::new(instances.to_vec(), computed);
        let mut values = Vec::new();
        for instance in instances {
            let val = self.value(&value, instance, &mut group)?;
            values.push(self.spread(val, true, computed));
        }
        let first = match first {
            Some(first) => Some(self.condition(&self.holds_here(first))?),
            None => None,
        };
        let together = store.index.constant_stride(var) == Some(1);
        let wide = self.type_of(computed, true);
        let mut parts = Vec::new();
        for (instance, value) in instances.iter().zip(values) {
            for lane in 0..if together { 1 } else { count } {
                let mut instance = instance.clone();
                if let Some(at) = instance.get_mut(&var) {
                    *at = at.clone() + lane as i64;
                }
                let place = self.index(&at(&store.index, &instance))?;
                let part = match together {
                    true => value.clone(),
                    false => {
                        let name = name_of(computed);
                        self.define(format_args!(
                            "vector.extract {value}[{lane}] : {name} from {wide}"
                        ))
                    }
                };
                parts.push((place, part));
            }
        }
        let vectors = Vectors { var, count, instances };
        let types = (element, computed);
        match store.mode.reduction() {
            None => self.set(store, (&parts, together), &vectors, types)?,
            Some(how) => {
                self.join((how, store.buffer), (&parts, together), first.as_ref(), types)?
            }
        }
        self.lanes = outer;
        Ok(())
    }

    /// The totals of a sum for the lanes of each instance, on top of what there is already (nothing where `initial` is empty). Where its bounds move with the lanes, it extends over the terms of all lanes, and those
    /// that a lane does not have are masked.
    fn sums_across(
        &mut self,
        sum: &Sum,
        instances: &[Instance],
        mut initial: Vec<Ssa>,
        element: Element,
    ) -> Result<Vec<Ssa>> {
        let (Some(first), Some(lanes)) = (instances.first().cloned(), self.lanes.clone()) else {
            return Ok(Vec::new());
        };
        let last = lanes.count as i64 - 1;
        let mut moving = Vec::new();
        let mut ends = |list: &[Index], lower: bool| -> Vec<Index> {
            let mut ends = Vec::new();
            for bound in list {
                let here = at(bound, &first);
                let by = bound.constant_stride(lanes.var).unwrap_or(0);
                if by != 0 {
                    moving.push((here.clone(), by, lower));
                }
                let farthest = if lower { by.min(0) } else { by.max(0) };
                ends.push(here + farthest * last);
            }
            ends
        };
        let (lower, upper) = (ends(&sum.lower, true), ends(&sum.upper, false));
        let mut bounds = Vec::new();
        for (bound, by, lower) in moving {
            let bound = self.index(&bound)?;
            bounds.push((self.for_each_lane(&bound, by), lower));
        }
        let lower = self.extremum(&lower, "arith.maxsi")?;
        let upper = self.extremum(&upper, "arith.minsi")?;
        let ty = self.type_of(element, true);
        let nothing = self.all(sum.kind.neutral(), element);
        initial.resize(instances.len(), nothing);
        let body = associate(&sum.body, instances);
        let range = (&lower, &upper, self.step(sum.step)?);
        let totals = self.carry(sum.var, range, (&initial, &ty), |writer, name, partial| {
            writer.vars.insert(sum.var, Variable { name: name.clone(), affine: false });
            let outer = lanes.mask.clone();
            let mask = writer.lanes_within(name, &bounds, outer.clone());
            if let Some(lanes) = &mut writer.lanes {
                lanes.mask = mask;
            }
            writer.fetch(sum, instances)?;
            let next = writer.accumulate((sum.kind, &body), instances, partial, element)?;
            if let Some(lanes) = &mut writer.lanes {
                lanes.mask = outer;
            }
            Ok(next)
        })?;
        Ok(totals)
    }

    /// `first`, `first + by`, .. for each lane.
    fn for_each_lane(&mut self, first: &Ssa, by: i64) -> Ssa {
        let count = self.lanes.as_ref().map_or(1, |lanes| lanes.count);
        let ty = format!("vector<{count}xindex>");
        let list: Vec<String> = (0..count as i64).map(|lane| (lane * by).to_string()).collect();
        let steps = self.define(format_args!("arith.constant dense<[{}]> : {ty}", list.join(", ")));
        let first = self.define(format_args!("vector.broadcast {first} : index to {ty}"));
        self.define(format_args!("arith.addi {first}, {steps} : {ty}"))
    }

    /// Which lanes have the term `at`: those whose bounds it is within, and that there are at all.
    fn lanes_within(
        &mut self,
        at: &Ssa,
        bounds: &[(Ssa, bool)],
        outer: Option<Ssa>,
    ) -> Option<Ssa> {
        if bounds.is_empty() {
            return outer;
        }
        let count = self.lanes.as_ref().map_or(1, |lanes| lanes.count);
        let (ty, bits) = (format!("vector<{count}xindex>"), self.mask_type());
        let at = self.define(format_args!("vector.broadcast {at} : index to {ty}"));
        let mut mask = outer;
        for (bound, lower) in bounds {
            let how = if *lower { "sge" } else { "slt" };
            let within = self.define(format_args!("arith.cmpi {how}, {at}, {bound} : {ty}"));
            mask = Some(match mask {
                Some(mask) => self.define(format_args!("arith.andi {mask}, {within} : {bits}")),
                None => within,
            });
        }
        mask
    }

    /// An element for each lane, one after the other in memory, or in reverse.
    pub(super) fn neighbours(
        &mut self,
        (buffer, from): (&Ssa, Element),
        (index, reversed): (&Index, bool),
        lanes: &Lanes,
    ) -> Result<Ssa> {
        let last = lanes.count as i64 - 1;
        let first = if reversed { index.clone() - last } else { index.clone() };
        let first = self.index(&first)?;
        let (ty, source, bits) = (self.type_of(from, true), memref(from), self.mask_type());
        let order: Vec<String> = (0..=last).rev().map(|lane| lane.to_string()).collect();
        let order = order.join(", ");
        let loaded = match &lanes.mask {
            None => self.define(format_args!("vector.load {buffer}[{first}] : {source}, {ty}")),
            Some(mask) => {
                let mask = match reversed {
                    true => self.define(format_args!(
                        "vector.shuffle {mask}, {mask} [{order}] : {bits}, {bits}"
                    )),
                    false => mask.clone(),
                };
                let none = self.no_elements(from);
                self.define(format_args!(
                    "vector.maskedload {buffer}[{first}], {mask}, {none} : {source}, {bits}, {ty} into {ty}"
                ))
            }
        };
        Ok(match reversed {
            true => self
                .define(format_args!("vector.shuffle {loaded}, {loaded} [{order}] : {ty}, {ty}")),
            false => loaded,
        })
    }

    fn binary<'v>(
        &mut self,
        operation: &str,
        (left, right): (&'v Value, &'v Value),
        instance: &Instance,
        group: &mut Group<'v>,
    ) -> Result<Val> {
        let element = group.element;
        let left = self.value(left, instance, group)?;
        let right = self.value(right, instance, group)?;
        let vector = left.vector || right.vector;
        let (left, right) =
            (self.spread(left, vector, element), self.spread(right, vector, element));
        let ty = self.type_of(element, vector);
        let ssa = self.define(format_args!("{operation} {left}, {right} : {ty}"));
        Ok(Val { ssa, vector })
    }

    /// `so_far + term`, in one rounding if the term is a product and the target can.
    fn plus<'v>(
        &mut self,
        so_far: Val,
        term: &'v Value,
        instance: &Instance,
        group: &mut Group<'v>,
    ) -> Result<Val> {
        let element = group.element;
        let factors = match term {
            Value::Mul(left, right) if self.unit.fuses && !element.is_integer() => {
                vec![self.value(left, instance, group)?, self.value(right, instance, group)?]
            }
            term => vec![self.value(term, instance, group)?],
        };
        let vector = so_far.vector || factors.iter().any(|factor| factor.vector);
        let so_far = self.spread(so_far, vector, element);
        let mut spread = Vec::new();
        for factor in factors {
            spread.push(self.spread(factor, vector, element));
        }
        let ty = self.type_of(element, vector);
        let ssa = match &spread[..] {
            [left, right] => self.define(format_args!(
                "llvm.intr.fma({left}, {right}, {so_far}) : ({ty}, {ty}, {ty}) -> {ty}"
            )),
            [term] => {
                let add = operation(Reduction::Sum, element);
                self.define(format_args!("{add} {so_far}, {term} : {ty}"))
            }
            _ => return Err(self.invalid(format_args!("a term has no factors"))),
        };
        Ok(Val { ssa, vector })
    }

    /// What there is so far, joined with a term.
    fn with_term<'v>(
        &mut self,
        kind: Reduction,
        so_far: Val,
        term: &'v Value,
        instance: &Instance,
        group: &mut Group<'v>,
    ) -> Result<Val> {
        if kind == Reduction::Sum {
            return self.plus(so_far, term, instance, group);
        }
        let element = group.element;
        let term = self.value(term, instance, group)?;
        let vector = so_far.vector || term.vector;
        let (so_far, term) =
            (self.spread(so_far, vector, element), self.spread(term, vector, element));
        let ty = self.type_of(element, vector);
        let join = operation(kind, element);
        let ssa = self.define(format_args!("{join} {so_far}, {term} : {ty}"));
        Ok(Val { ssa, vector })
    }

    /// 0 where a value is 0, else 1.
    fn truth(&mut self, val: &Val, element: Element) -> Val {
        let vector = val.vector;
        let (ty, bits) = (self.type_of(element, vector), self.bits(vector));
        let [zero, one] = [0.0, 1.0].map(|value| self.everywhere(value, vector, element));
        let holds = self.nonzero(&val.ssa, vector, element);
        let types = if vector { format!("{bits}, {ty}") } else { ty };
        let ssa = self.define(format_args!("arith.select {holds}, {one}, {zero} : {types}"));
        Val { ssa, vector }
    }

    /// Whether a value is not 0; what is no number is not.
    pub(super) fn nonzero(&mut self, value: &Ssa, vector: bool, element: Element) -> Ssa {
        let zero = self.everywhere(0.0, vector, element);
        let differs = if element.is_integer() { "arith.cmpi ne" } else { "arith.cmpf une" };
        let ty = self.type_of(element, vector);
        self.define(format_args!("{differs}, {value}, {zero} : {ty}"))
    }

    /// A number, in every lane if a vector is wanted.
    fn everywhere(&mut self, value: f64, vector: bool, element: Element) -> Ssa {
        match vector {
            true => self.all(value, element),
            false => self.number(value, element),
        }
    }

    /// The type of truth values.
    pub(super) fn bits(&self, vector: bool) -> String {
        if vector { self.mask_type() } else { "i1".to_owned() }
    }

    /// A value as a vector, if one is wanted.
    fn spread(&mut self, val: Val, vector: bool, element: Element) -> Ssa {
        if val.vector || !vector {
            return val.ssa;
        }
        let (from, to) = (name_of(element), self.type_of(element, true));
        self.define(format_args!("vector.broadcast {} : {from} to {to}", val.ssa))
    }

    /// The total of a sum at each instance; the bounds are the same at all of them.
    fn sums(&mut self, sum: &Sum, instances: &[Instance], element: Element) -> Result<Vec<Ssa>> {
        if let Some(totals) = self.short_sums(sum, instances, element)? {
            return Ok(totals);
        }
        let Some(first) = instances.first() else { return Ok(Vec::new()) };
        let bounds = |list: &[_]| list.iter().map(|bound| at(bound, first)).collect::<Vec<_>>();
        let (lower, upper) = (bounds(&sum.lower), bounds(&sum.upper));
        match self.lanes_for(sum, element) {
            Some(lanes) => {
                let lower = self.extremum(&lower, "arith.maxsi")?;
                let upper = self.extremum(&upper, "arith.minsi")?;
                self.sums_in_lanes(sum, (lower, upper), instances, element, lanes)
            }
            None if self.lanes.is_none() && over_stored(sum) => {
                let lower = self.extremum(&lower, "arith.maxsi")?;
                let upper = self.extremum(&upper, "arith.minsi")?;
                match self.lanes_to_gather(sum, element) {
                    Some(lanes) => {
                        self.sums_gathered(sum, (lower, upper), instances, (element, lanes))
                    }
                    None => self.sums_in_chains(sum, (lower, upper), instances, element),
                }
            }
            None => {
                let range = self.range(&lower, &upper, sum.step)?;
                self.sums_one_by_one(sum, &range, instances, element)
            }
        }
    }

    /// Sums of a few terms each.
    fn short_sums(
        &mut self,
        sum: &Sum,
        instances: &[Instance],
        element: Element,
    ) -> Result<Option<Vec<Ssa>>> {
        if sum.condition.is_some() {
            return Ok(None);
        }
        let mut terms = Vec::new();
        for instance in instances {
            match unroll::values(&sum.lower, &sum.upper, sum.step, instance) {
                Some((first, trips)) if trips <= SHORT => terms.push((first, trips)),
                _ => return Ok(None),
            }
        }
        let mut totals = Vec::new();
        for (instance, (first, trips)) in instances.iter().zip(terms) {
            let mut total: Option<Val> = None;
            for trip in 0..trips as i64 {
                let mut instance = instance.clone();
                instance.insert(sum.var, first.clone() + trip * sum.step);
                let mut group = Group::new(vec![instance.clone()], element);
                total = Some(match total {
                    None => self.value(&sum.body, &instance, &mut group)?,
                    Some(so_far) => {
                        self.with_term(sum.kind, so_far, &sum.body, &instance, &mut group)?
                    }
                });
            }
            totals.push(match total {
                Some(total) => total.ssa,
                None => self.number(sum.kind.neutral(), element),
            });
        }
        Ok(Some(totals))
    }

    /// How many lanes a sum is computed in, if all of its terms can be.
    fn lanes_for(&self, sum: &Sum, element: Element) -> Option<usize> {
        let lanes = self.unit.vector_bytes / element.bytes();
        if lanes < 2 || self.checked || self.lanes.is_some() {
            return None;
        }
        lanes::of_terms(sum).then_some(lanes)
    }

    /// `%results = scf.for %var = lower to upper step step iter_args(..)`.
    pub(super) fn carry(
        &mut self,
        var: VarId,
        (lower, upper, step): (&Ssa, &Ssa, i64),
        (initial, ty): (&[Ssa], &str),
        body: impl FnOnce(&mut Self, &Ssa, &[Ssa]) -> Result<Vec<Ssa>>,
    ) -> Result<Vec<Ssa>> {
        let step = self.index_constant(step);
        let name = self.bind(var, false)?;
        let partial: Vec<Ssa> = initial.iter().map(|_| self.fresh()).collect();
        let result = self.fresh();
        let count = initial.len();
        let types = vec![ty; count].join(", ");
        let pairs = partial.iter().zip(initial).map(|(to, from)| format!("{to} = {from}"));
        let pairs: Vec<String> = pairs.collect();
        line!(
            self,
            "{}{} = scf.for {name} = {lower} to {upper} step {step} iter_args({}) -> ({types}) {{",
            result,
            if count == 1 { String::new() } else { format!(":{count}") },
            pairs.join(", ")
        );
        self.block(|writer| {
            let next = body(writer, &name, &partial)?;
            let next: Vec<String> = next.iter().map(Ssa::to_string).collect();
            line!(writer, "scf.yield {} : {types}", next.join(", "));
            Ok(())
        })?;
        self.vars.remove(&var);
        line!(self, "}}");
        Ok(results(&result, count))
    }

    fn sums_in_lanes(
        &mut self,
        sum: &Sum,
        (lower, upper): (Ssa, Ssa),
        instances: &[Instance],
        element: Element,
        lanes: usize,
    ) -> Result<Vec<Ssa>> {
        let outer = self.lanes.replace(Lanes { var: sum.var, count: lanes, mask: None });
        let ty = self.type_of(element, true);
        let body = associate(&sum.body, instances);
        let chosen = || (CHAINS / instances.len()).max(1);
        let wanted = sum.unroll.and_then(|unroll| usize::try_from(unroll).ok());
        let copies = wanted.map_or_else(chosen, |unroll| unroll.clamp(1, MOST_COPIES));
        let copies = copies.next_power_of_two();
        let width = lanes as i64;
        let length = self.define(format_args!("arith.subi {upper}, {lower} : index"));
        let none = self.index_constant(0);
        let length = self.define(format_args!("arith.maxsi {length}, {none} : index"));
        let nothing = self.all(sum.kind.neutral(), element);
        let mut partial = vec![nothing.clone(); instances.len()];
        let mut start = lower.clone();
        let mut sizes = vec![copies];
        if copies > 1 {
            sizes.push(1);
        }
        for copies in sizes {
            let step = width * copies as i64;
            let whole = self.index_constant(-step);
            let whole = self.define(format_args!("arith.andi {length}, {whole} : index"));
            let end = self.define(format_args!("arith.addi {lower}, {whole} : index"));
            let mut initial = partial;
            initial.resize(copies * instances.len(), nothing.clone());
            let carried = (initial.as_slice(), ty.as_str());
            let chains =
                self.carry(sum.var, (&start, &end, step), carried, |writer, var, partial| {
                    let mut next = Vec::new();
                    for copy in 0..copies {
                        let offset = writer.index_constant(copy as i64 * width);
                        let name = match copy {
                            0 => var.clone(),
                            _ => writer.define(format_args!("arith.addi {var}, {offset} : index")),
                        };
                        writer.vars.insert(sum.var, Variable { name, affine: false });
                        let partial = &partial[copy * instances.len()..][..instances.len()];
                        let term = (sum.kind, &body);
                        next.extend(writer.accumulate(term, instances, partial, element)?);
                        writer.fetch(sum, instances)?;
                    }
                    Ok(next)
                })?;
            partial = self.chains_joined((sum.kind, element), chains, instances.len(), &ty);
            start = end;
        }
        let mask = self.index_constant(width - 1);
        let rest = self.define(format_args!("arith.andi {length}, {mask} : index"));
        let some = self.define(format_args!("arith.cmpi ne, {rest}, {none} : index"));
        let result = self.fresh();
        let count = instances.len();
        let types = vec![ty.as_str(); count].join(", ");
        let arity = if count == 1 { String::new() } else { format!(":{count}") };
        line!(self, "{result}{arity} = scf.if {some} -> ({types}) {{");
        self.block(|writer| {
            let bits = writer.mask_type();
            let mask = writer.define(format_args!("vector.create_mask {rest} : {bits}"));
            if let Some(lanes) = &mut writer.lanes {
                lanes.mask = Some(mask);
            }
            writer.vars.insert(sum.var, Variable { name: start, affine: false });
            let next = writer.accumulate((sum.kind, &body), instances, &partial, element)?;
            writer.vars.remove(&sum.var);
            let next: Vec<String> = next.iter().map(Ssa::to_string).collect();
            line!(writer, "scf.yield {} : {types}", next.join(", "));
            Ok(())
        })?;
        line!(self, "}} else {{");
        let partial: Vec<String> = partial.iter().map(Ssa::to_string).collect();
        line!(self, "  scf.yield {} : {types}", partial.join(", "));
        line!(self, "}}");
        let totals = self.lanes_joined(sum.kind, results(&result, count), element, lanes);
        self.lanes = outer;
        Ok(totals)
    }

    /// Partial sums of which there are several for each of `count`, added pairwise.
    fn chains_joined(
        &mut self,
        (kind, element): (Reduction, Element),
        mut partial: Vec<Ssa>,
        count: usize,
        ty: &str,
    ) -> Vec<Ssa> {
        while partial.len() > count {
            let half = partial.split_off(partial.len() / 2);
            for (left, right) in partial.iter_mut().zip(half) {
                let join = operation(kind, element);
                *left = self.define(format_args!("{join} {left}, {right} : {ty}"));
            }
        }
        partial
    }

    /// Sums over stored elements, whose terms are not neighbours: several partial sums side by side, then the rest one by one.
    fn sums_in_chains(
        &mut self,
        sum: &Sum,
        (lower, upper): (Ssa, Ssa),
        instances: &[Instance],
        element: Element,
    ) -> Result<Vec<Ssa>> {
        let ty = name_of(element);
        let body = associate(&sum.body, instances);
        let copies = (SCALAR_CHAINS / instances.len()).max(1);
        let length = self.define(format_args!("arith.subi {upper}, {lower} : index"));
        let none = self.index_constant(0);
        let length = self.define(format_args!("arith.maxsi {length}, {none} : index"));
        let whole = self.index_constant(-(copies as i64));
        let whole = self.define(format_args!("arith.andi {length}, {whole} : index"));
        let end = self.define(format_args!("arith.addi {lower}, {whole} : index"));
        let nothing = self.number(sum.kind.neutral(), element);
        let mut partial = vec![nothing.clone(); instances.len()];
        let mut start = lower;
        for (copies, end) in [(copies, end), (1, upper)] {
            let mut initial = partial;
            initial.resize(copies * instances.len(), nothing.clone());
            let carried = (initial.as_slice(), ty);
            let range = (&start, &end, copies as i64);
            let chains = self.carry(sum.var, range, carried, |writer, var, partial| {
                let mut next = Vec::new();
                for copy in 0..copies {
                    let offset = writer.index_constant(copy as i64);
                    let name = match copy {
                        0 => var.clone(),
                        _ => writer.define(format_args!("arith.addi {var}, {offset} : index")),
                    };
                    writer.vars.insert(sum.var, Variable { name, affine: false });
                    let mut group = Group::new(instances.to_vec(), element);
                    let own = &partial[copy * instances.len()..][..instances.len()];
                    for (instance, partial) in instances.iter().zip(own) {
                        let so_far = Val::scalar(partial.clone());
                        let joined =
                            writer.with_term(sum.kind, so_far, &body, instance, &mut group)?;
                        next.push(joined.ssa);
                    }
                }
                Ok(next)
            })?;
            partial = self.chains_joined((sum.kind, element), chains, instances.len(), ty);
            start = end;
        }
        Ok(partial)
    }

    /// The sum of the lanes of each vector: two vectors become one with half of the lanes of each added to the other half, until a lane is left of each.
    ///
    /// Before -> after, of 2 vectors with 4 lanes: `[a0 + a2, a1 + a3, b0 + b2, b1 + b3]`, then `[a0 + a2 + a1 + a3, b0 + b2 + b1 + b3]`.
    pub(super) fn lanes_joined(
        &mut self,
        kind: Reduction,
        vectors: Vec<Ssa>,
        element: Element,
        lanes: usize,
    ) -> Vec<Ssa> {
        let join = operation(kind, element);
        let mut totals = Vec::new();
        for group in vectors.chunks(lanes) {
            // Vectors, and how many lanes each of the sums in them has.
            let (mut vectors, mut width, mut each) = (group.to_vec(), lanes, lanes);
            while each > 1 {
                let half = each / 2;
                let mut next = Vec::new();
                for pair in vectors.chunks(2) {
                    let (left, right) = (&pair[0], &pair[pair.len() - 1]);
                    // Alone, half of the lanes are needed.
                    let total = if pair.len() == 2 { 2 * width } else { width };
                    let all = (0..total / each).flat_map(|sum| sum * each..sum * each + half);
                    let list = |shift: usize| {
                        let lanes: Vec<_> =
                            all.clone().map(|at| (at + shift).to_string()).collect();
                        lanes.join(", ")
                    };
                    let (low, high) = (list(0), list(half));
                    let name = name_of(element);
                    let from = format!("vector<{width}x{name}>");
                    let to = format!("vector<{}x{name}>", total / 2);
                    let [low, high] = [low, high].map(|order| {
                        self.define(format_args!(
                            "vector.shuffle {left}, {right} [{order}] : {from}, {from}"
                        ))
                    });
                    next.push(self.define(format_args!("{join} {low}, {high} : {to}")));
                }
                // The last of an odd number is as wide as the others.
                if next.len() > 1 && vectors.len() % 2 == 1 {
                    let name = name_of(element);
                    let from = format!("vector<{}x{name}>", width / 2);
                    if let Some(last) = next.last_mut() {
                        let order: Vec<_> =
                            (0..width).map(|at| (at % (width / 2)).to_string()).collect();
                        *last = self.define(format_args!(
                            "vector.shuffle {last}, {last} [{}] : {from}, {from}",
                            order.join(", ")
                        ));
                    }
                } else if vectors.len() == 1 {
                    width /= 2;
                }
                (vectors, each) = (next, half);
            }
            let ty = format!("vector<{width}x{}>", name_of(element));
            let places = vectors.iter().flat_map(|vector| (0..width).map(move |at| (vector, at)));
            let places: Vec<_> = places.take(group.len()).collect();
            for (vector, at) in places {
                totals.push(self.define(format_args!(
                    "vector.extract {vector}[{at}] : {} from {ty}",
                    name_of(element)
                )));
            }
        }
        totals
    }

    /// Asks for the elements that will be read soon after, of which the lanes are neighbours.
    fn fetch(&mut self, sum: &Sum, instances: &[Instance]) -> Result<()> {
        let Some(first) = instances.first() else { return Ok(()) };
        for (id, index) in &sum.fetch {
            if index.constant_stride(sum.var) != Some(1) {
                continue;
            }
            let (buffer, element) = self.buffer(*id)?;
            let index = self.index(&at(index, first))?;
            let source = memref(element);
            // Into the second cache: the first one is full of what is used now (a sixth of the time of sums with their terms in lanes).
            line!(self, "memref.prefetch {buffer}[{index}], read, locality<2>, data : {source}");
        }
        Ok(())
    }

    /// The first vector of terms, and nothing in lanes that are not there.
    pub(super) fn first_terms(
        &mut self,
        (kind, body): (Reduction, &Value),
        instances: &[Instance],
        element: Element,
    ) -> Result<Vec<Ssa>> {
        let mut group = Group::new(instances.to_vec(), element);
        let nothing = self.all(kind.neutral(), element);
        let mut terms = Vec::new();
        for instance in instances {
            let term = self.value(body, instance, &mut group)?;
            let term = self.spread(term, true, element);
            terms.push(self.where_there(term, &nothing, element));
        }
        Ok(terms)
    }

    /// A vector in the lanes that are there, another one in the others, which may hold anything: a factor may be infinite.
    fn where_there(&mut self, vector: Ssa, other: &Ssa, element: Element) -> Ssa {
        let mask = self.lanes.as_ref().and_then(|lanes| lanes.mask.clone());
        let Some(mask) = mask else { return vector };
        let (ty, bits) = (self.type_of(element, true), self.mask_type());
        self.define(format_args!("arith.select {mask}, {vector}, {other} : {bits}, {ty}"))
    }

    /// Partial sums with one more vector of terms.
    pub(super) fn accumulate(
        &mut self,
        (kind, body): (Reduction, &Value),
        instances: &[Instance],
        partial: &[Ssa],
        element: Element,
    ) -> Result<Vec<Ssa>> {
        let mut group = Group::new(instances.to_vec(), element);
        let mut next = Vec::new();
        for (instance, partial) in instances.iter().zip(partial) {
            let so_far = Val { ssa: partial.clone(), vector: true };
            let sum = self.with_term(kind, so_far, body, instance, &mut group)?;
            let sum = self.spread(sum, true, element);
            next.push(self.where_there(sum, partial, element));
        }
        Ok(next)
    }

    /// A loop that carries the partial sums; a term whose condition fails passes them on.
    fn sums_one_by_one(
        &mut self,
        sum: &Sum,
        range: &Range,
        instances: &[Instance],
        element: Element,
    ) -> Result<Vec<Ssa>> {
        let ty = name_of(element);
        let nothing = self.number(sum.kind.neutral(), element);
        let body = associate(&sum.body, instances);
        let count = instances.len();
        let result = self.fresh();
        let partial: Vec<Ssa> = instances.iter().map(|_| self.fresh()).collect();
        let dialect = match range {
            Range::Affine { .. } => "affine",
            Range::Values { .. } => "scf",
        };
        let types = vec![ty; count].join(", ");
        let arity = if count == 1 { String::new() } else { format!(":{count}") };
        let pairs: Vec<String> = partial.iter().map(|to| format!("{to} = {nothing}")).collect();
        let carried =
            (format!("{result}{arity}"), format!(" iter_args({}) -> ({types})", pairs.join(", ")));
        let var = self.loop_head(sum.var, range, sum.step, Some(carried))?;
        self.block(|writer| {
            let add = |writer: &mut Self| -> Result<String> {
                let mut group = Group::new(instances.to_vec(), element);
                let mut next = Vec::new();
                for (instance, partial) in instances.iter().zip(&partial) {
                    let so_far = Val::scalar(partial.clone());
                    let joined = writer.with_term(sum.kind, so_far, &body, instance, &mut group)?;
                    next.push(joined.ssa.to_string());
                }
                Ok(next.join(", "))
            };
            let Some(condition) = &sum.condition else {
                let next = add(writer)?;
                line!(writer, "{dialect}.yield {next} : {types}");
                return Ok(());
            };
            let first = instances.first().cloned().unwrap_or_default();
            let keyword = writer.branch(&unroll::holds_at(condition, &first))?;
            let yields = if keyword.starts_with("affine") { "affine" } else { "scf" };
            let next = writer.fresh();
            line!(writer, "{next}{arity} = {keyword} -> ({types}) {{");
            writer.block(|writer| {
                let sums = add(writer)?;
                line!(writer, "{yields}.yield {sums} : {types}");
                Ok(())
            })?;
            line!(writer, "}} else {{");
            let partial: Vec<String> = partial.iter().map(Ssa::to_string).collect();
            line!(writer, "  {yields}.yield {} : {types}", partial.join(", "));
            line!(writer, "}}");
            let next: Vec<String> = results(&next, count).iter().map(Ssa::to_string).collect();
            line!(writer, "{dialect}.yield {} : {types}", next.join(", "));
            Ok(())
        })?;
        self.vars.remove(&var);
        line!(self, "}}");
        Ok(results(&result, count))
    }

    /// What is stored at a place and what is joined to it, in the type that is computed in.
    pub(super) fn joined(
        &mut self,
        kind: Reduction,
        (old, value): (Ssa, Ssa),
        vector: bool,
        (element, computed): (Element, Element),
    ) -> Ssa {
        let old = self.converted(old, vector, element, computed);
        let ty = self.type_of(computed, vector);
        let join = operation(kind, computed);
        self.define(format_args!("{join} {old}, {value} : {ty}"))
    }

    pub(super) fn type_of(&self, element: Element, vector: bool) -> String {
        match &self.lanes {
            Some(lanes) if vector => format!("vector<{}x{}>", lanes.count, name_of(element)),
            _ => name_of(element).to_owned(),
        }
    }

    pub(super) fn mask_type(&self) -> String {
        format!("vector<{}xi1>", self.lanes.as_ref().map_or(1, |lanes| lanes.count))
    }

    /// A vector of one number.
    pub(super) fn all(&mut self, value: f64, element: Element) -> Ssa {
        let ty = self.type_of(element, true);
        let (text, bits) = self.number_text(value, element);
        let kind = ty.trim_start_matches("vector<").trim_end_matches('>');
        let name = format!("v{kind}_{}", bits.trim_end_matches('0'));
        self.constant(format!("dense<{text}> : {ty}"), name)
    }
}

/// The instances from which on there are as many for neighbouring values of a variable as there are lanes, if that is all of them.
fn runs(instances: &[Instance], var: VarId, count: usize) -> Option<Vec<Instance>> {
    let mut left: Vec<&Instance> = instances.iter().collect();
    let mut runs = Vec::new();
    while let Some(first) = left.first().copied() {
        let base = first.get(&var)?;
        let mut lanes = vec![false; count];
        left.retain(|other| {
            let others =
                first.iter().all(|(known, index)| *known == var || other.get(known) == Some(index));
            let lane = other.get(&var).filter(|_| others);
            let lane = lane.and_then(|index| index.constant_difference(base));
            match lane.and_then(|lane| lanes.get_mut(usize::try_from(lane).ok()?)) {
                Some(found) => {
                    *found = true;
                    false
                }
                None => true,
            }
        });
        if lanes.contains(&false) {
            return None;
        }
        runs.push(first.clone());
    }
    Some(runs)
}

/// The names of the results of an operation.
pub(super) fn results(name: &Ssa, count: usize) -> Vec<Ssa> {
    match count {
        1 => vec![name.clone()],
        _ => (0..count).map(|at| Ssa(format!("{name}#{at}"))).collect(),
    }
}

/// Regroups products by what their factors vary with, those of fewest instances first, so that little is multiplied in each instance.
///
/// Before -> after, with `i` and `k` unrolled: `B[x, i] * B[x, j] * B[x, k]` -> `(B[x, j] * B[x, i]) * B[x, k]` where there are no more `i` than `k`.
pub(super) fn associate(value: &Value, instances: &[Instance]) -> Value {
    if instances.len() < 2 {
        return value.clone();
    }
    match value {
        Value::Sum(_) => value.clone(),
        Value::Mul(..) => {
            let mut factors = Vec::new();
            flatten(value, &mut factors);
            let mut kinds: Vec<(usize, Vec<VarId>, Value)> = Vec::new();
            for factor in factors {
                let factor = associate(factor, instances);
                let vars = factor.free_vars();
                let varies: BTreeSet<VarId> = instances
                    .iter()
                    .flat_map(|instance| project(instance, &vars).into_keys())
                    .collect();
                let count = projections(instances, &varies).len();
                let varies = Vec::from_iter(varies);
                match kinds.iter_mut().find(|(_, known, _)| *known == varies) {
                    Some((_, _, product)) => {
                        let so_far = std::mem::replace(product, Value::Const(1.0));
                        *product = Value::Mul(Box::new(so_far), Box::new(factor));
                    }
                    None => kinds.push((count, varies, factor)),
                }
            }
            kinds.sort_by_key(|(count, ..)| *count);
            let product = kinds.into_iter().map(|(_, _, product)| product);
            let multiply = |left, right| Value::Mul(Box::new(left), Box::new(right));
            product.reduce(multiply).unwrap_or(Value::Const(1.0))
        }
        _ => value.map_parts(&mut |part| associate(part, instances)),
    }
}

fn flatten<'v>(value: &'v Value, factors: &mut Vec<&'v Value>) {
    match value {
        Value::Mul(left, right) => {
            flatten(left, factors);
            flatten(right, factors);
        }
        value => factors.push(value),
    }
}
