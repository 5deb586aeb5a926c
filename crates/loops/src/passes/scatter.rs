//! Stores terms of sums where integers in memory send them, in place of asking each element for its terms.
//!
//! Before -> after, where `K` has integers:
//!
//! ```text
//! parallel k = 0 to M { C[k] = sum(i = 0 to N) A[i] * compare(K[i] == index(k)) }
//!
//! parallel k = 0 to M { C[k] = 0.0 }
//! if 0 < M { for i = 0 to N { let k = K[i] { if 0 <= k and k < M { C[k] += A[i] } } } }
//! ```
//!
//! Three steps make this of a loop over `k`:
//!
//! 1. Statements of a parallel loop get loops of their own, since its iterations do not touch what others write.
//! 2. A store of a sum becomes one of what the sum does not have, and loops that add its terms, outside of the other
//!    loops where their bounds allow it: rows of a table are added as rows.
//!    Where more is computed of a sum, as in `C[k] = (sum(..) ..) / D[k]`, the sums stand in a workspace.
//! 3. In a loop over `k` that does nothing but add where `K[..] == k`, integers give `k`, as far outside as they can.
//!
//! What integers send to an element is added in the order of the loops over terms. They run one after the other, but
//! stay inside of parallel loops around the one over `k`. Terms that no integer sends to an element are no longer
//! multiplied with 0. On machines with other processors than threads the comparison stays: one lane alone would add.

use crate::ir::*;
use crate::linear::range_conditions;
use crate::passes::Context;
use crate::passes::pick::{Chosen, only, without_test};

pub(super) fn run(module: &mut Module, context: &Context<'_>) {
    if !context.has_threads_only() {
        return;
    }
    let mut functions = std::mem::take(&mut module.functions);
    for function in &mut functions {
        block(&mut function.body, true, module);
    }
    module.functions = functions;
}

fn block(body: &mut Vec<Stmt>, is_outermost: bool, module: &mut Module) {
    for mut stmt in std::mem::take(body) {
        let scattered = match &stmt {
            Stmt::For(outer) => scattered(outer, is_outermost, module),
            _ => None,
        };
        if let Some(all) = scattered {
            // Other integers may choose what is inside, `H(p(i), q(i))`, or in a workspace.
            for mut stmt in all {
                inside(&mut stmt, is_outermost, module);
                body.push(stmt);
            }
        } else {
            inside(&mut stmt, is_outermost, module);
            body.push(stmt);
        }
    }
}

fn inside(stmt: &mut Stmt, is_outermost: bool, module: &mut Module) {
    let is_outermost = is_outermost && matches!(stmt, Stmt::If(_) | Stmt::Workspace(_));
    stmt.bodies_mut().into_iter().for_each(|inner| block(inner, is_outermost, module));
}

/// What a loop is equal to, if integers give its variable in some of its statements; with workspaces, if it is not
/// inside of other loops.
fn scattered(outer: &For, is_outermost: bool, module: &mut Module) -> Option<Vec<Stmt>> {
    // Levels of results are put together in the order of loops.
    let mut appends = false;
    for stmt in &outer.body {
        stmt.visit(&mut |one| appends |= matches!(one, Stmt::Append(_)));
    }
    if outer.step != 1 || appends {
        return None;
    }
    if let [only] = &outer.body[..] {
        let here = |kind| {
            let how = Joined { kind, from_zero: kind == Reduction::Sum };
            sent(outer, only, &[], how, &module.buffers)
        };
        let found = summed(outer, &module.buffers).or_else(|| {
            let kinds = [Reduction::Sum, Reduction::Product, Reduction::Min, Reduction::Max];
            Some(vec![kinds.into_iter().find_map(here)?])
        });
        return found.or_else(|| Some(vec![is_outermost.then(|| apart(outer, module))??]));
    }
    if !outer.mark.is_parallel() {
        return None;
    }
    let alone = |body: Vec<Stmt>| For { body, ..outer.clone() };
    let (mut all, mut before, mut found) = (Vec::new(), Vec::new(), false);
    for stmt in &outer.body {
        match scattered(&alone(vec![stmt.clone()]), is_outermost, module) {
            Some(stmts) => {
                if !before.is_empty() {
                    all.push(Stmt::For(alone(std::mem::take(&mut before))));
                }
                all.extend(stmts);
                found = true;
            }
            None => before.push(stmt.clone()),
        }
    }
    if !before.is_empty() {
        all.push(Stmt::For(alone(before)));
    }
    found.then_some(all)
}

/// Terms that are added where an integer says so.
struct Terms {
    /// The loops over them without bodies, the outermost first, and when their iterations count.
    loops: Vec<(For, Option<Condition>)>,
    /// A term, with the test.
    value: Value,
}

/// The loops of a nest, the outermost first, and its one store.
fn nest_of(outer: &For) -> Option<(Vec<&For>, &Store)> {
    let mut nest = vec![outer];
    let mut body = &outer.body;
    loop {
        match &body[..] {
            [Stmt::For(inner)] => {
                nest.push(inner);
                body = &inner.body;
            }
            [Stmt::Store(store)] => return Some((nest, store)),
            _ => return None,
        }
    }
}

/// A loop nest with a sum in what it stores: the sums by themselves, in a workspace, and what is computed of them.
///
/// Before -> after: `parallel k = 0 to M { C[k] = (sum(i = ..) ..) / D[k] }` -> `with C.sums of M zero { parallel k = 0
/// to M { C.sums[k] += sum(i = ..) .. } parallel k = 0 to M { C[k] = C.sums[k] / D[k] } }`.
fn apart(outer: &For, module: &mut Module) -> Option<Stmt> {
    let (nest, store) = nest_of(outer)?;
    let own = module.buffers.get(store.buffer.0 as usize)?;
    if own.element.is_integer() || !are_distinct(&store.index, &nest) {
        return None;
    }
    let (name, element, size) =
        (format!("{}.sums", own.name), own.element.computed(), own.size.clone());
    let sums = module.fresh_buffer(name, element, size.clone());
    let body = with_sums(&nest, store, sums, &module.buffers);
    if body.is_none() {
        module.buffers.pop();
    }
    Some(Stmt::Workspace(Workspace { buffer: sums, size, zero: true, instead: None, body: body? }))
}

/// The loop nest of the first sum of a store, kept in a buffer, and that of what is computed of it.
fn with_sums(
    nest: &[&For],
    store: &Store,
    sums: BufferId,
    buffers: &[Buffer],
) -> Option<Vec<Stmt>> {
    let how = Joined { kind: Reduction::Sum, from_zero: true };
    let search = Search { var: nest.first()?.var, target: store.buffer, how, buffers };
    let mut found = None;
    let value = replaced(&store.value, &mut |value| {
        let is_first = found.is_none() && matches!(value, Value::Sum(_));
        if !is_first || search.terms(value).is_none() {
            return None;
        }
        found = Some(value.clone());
        Some(Value::load(sums, store.index.clone()))
    });
    let found = found.filter(|sum| !sum.loads(store.buffer))?;
    let first = Stmt::add(sums, store.index.clone(), found);
    let then = Stmt::Store(Store { value, ..store.clone() });
    let loops: Vec<_> = nest.iter().map(|one| ((*one).clone(), None)).collect();
    let Stmt::For(first) = around(&loops, first) else { return None };
    let mut body = summed(&first, buffers)?;
    body.push(around(&loops, then));
    Some(body)
}

/// A value with other parts outside of its sums.
fn replaced(value: &Value, by: &mut dyn FnMut(&Value) -> Option<Value>) -> Value {
    match by(value) {
        Some(other) => other,
        None if matches!(value, Value::Sum(_)) => value.clone(),
        None => value.map_parts(&mut |part| replaced(part, by)),
    }
}

/// A loop nest whose one store is that of a sum: the store of the rest, and loops that add terms.
fn summed(outer: &For, buffers: &[Buffer]) -> Option<Vec<Stmt>> {
    let (nest, store) = nest_of(outer)?;
    let inside = &nest[1..];
    let Parts { how, first: rest, terms } = parts(store, outer.var, buffers)?;
    if store.mode == StoreMode::Set && !are_distinct(&store.index, &nest) {
        return None;
    }
    let mode = how.kind.mode();
    let first: Vec<_> = nest.iter().map(|one| ((*one).clone(), None)).collect();
    let mut all: Vec<Stmt> = (rest.into_iter())
        .map(|value| around(&first, Stmt::Store(Store { value, ..store.clone() })))
        .collect();
    for Terms { loops, value } in terms {
        let add = Stmt::Store(Store { value, mode, stream: None, ..store.clone() });
        // Where nothing is added for want of elements, the integers need not exist.
        let is_free = |one: &&For| !binds(&nest, &bounds(one));
        let inner: Vec<Index> = loops.iter().flat_map(|(one, _)| bounds(one)).collect();
        let moves = inside.iter().all(is_free) && !binds(inside, &inner);
        let mut own: Vec<(For, Option<Condition>)> = (inside.iter())
            .map(|one| {
                (
                    For { mark: if moves { Mark::Sequential } else { one.mark }, ..(*one).clone() },
                    None,
                )
            })
            .collect();
        let (first, last) = if moves { (loops, own) } else { (std::mem::take(&mut own), loops) };
        let body = vec![around(&first.into_iter().chain(last).collect::<Vec<_>>(), add)];
        let whole = For { body, ..outer.clone() };
        let moved: Vec<&For> = inside.iter().copied().filter(|_| moves).collect();
        let over: Vec<VarId> = moved.iter().map(|one| one.var).collect();
        let stmt = sent(&whole, &whole.body[0], &over, how, buffers)?;
        let ranges = moved.iter().flat_map(|one| range_conditions(&one.lower, &one.upper));
        all.push(when(ranges.collect(), stmt));
    }
    Some(all)
}

/// A statement where conditions hold.
fn when(conditions: Vec<Condition>, stmt: Stmt) -> Stmt {
    match conditions.is_empty() {
        true => stmt,
        false => Stmt::when(Condition::all(conditions), vec![stmt]),
    }
}

fn bounds(one: &For) -> Vec<Index> {
    one.lower.iter().chain(&one.upper).cloned().collect()
}

/// Whether one of the loops binds a variable of the expressions.
fn binds(loops: &[&For], indices: &[Index]) -> bool {
    indices.iter().any(|index| loops.iter().any(|one| index.mentions(one.var)))
}

/// A statement inside of loops, the outermost first.
fn around(loops: &[(For, Option<Condition>)], inner: Stmt) -> Stmt {
    loops.iter().rev().fold(inner, |inner, (one, condition)| {
        let body = vec![when(condition.iter().cloned().collect(), inner)];
        let (lower, upper) = (one.lower.clone(), one.upper.clone());
        Stmt::For(For { lower, upper, body, ..*one })
    })
}

/// How terms are joined, and what is stored first, if anything is.
struct Parts {
    how: Joined,
    first: Option<Value>,
    terms: Vec<Terms>,
}

/// How terms are joined.
#[derive(Clone, Copy)]
struct Joined {
    kind: Reduction,
    /// Whether a term that is 0 changes nothing: in sums, and in maxima with 0.
    from_zero: bool,
}

/// What is stored first, and the terms that integers send.
fn parts(store: &Store, var: VarId, buffers: &[Buffer]) -> Option<Parts> {
    if store.value.loads(store.buffer) {
        return None;
    }
    let (target, element) = (store.buffer, buffers.get(store.buffer.0 as usize)?.element);
    let search = |kind, from_zero| Search { var, target, how: Joined { kind, from_zero }, buffers };
    let is_set = store.mode == StoreMode::Set;
    let joins = |kind| is_set || store.mode.reduction() == Some(kind);
    match &store.value {
        Value::Sum(sum) if sum.kind != Reduction::Sum => {
            let search = search(sum.kind, false);
            let terms = vec![search.terms(&store.value).filter(|_| joins(sum.kind))?];
            let first = is_set.then(|| Value::Const(sum.kind.neutral_in(element)));
            return Some(Parts { how: search.how, first, terms });
        }
        Value::Max(left, right) => {
            let of = match (&**left, &**right) {
                (Value::Const(zero), of) | (of, Value::Const(zero)) if *zero == 0.0 => of,
                _ => return None,
            };
            let search = search(Reduction::Max, true);
            let terms = vec![search.terms(of).filter(|_| joins(Reduction::Max))?];
            return Some(Parts { how: search.how, first: Some(Value::Const(0.0)), terms });
        }
        _ if !joins(Reduction::Sum) => return None,
        _ => {}
    }
    let search = search(Reduction::Sum, true);
    let (mut rest, mut terms) = (None::<Value>, Vec::new());
    let mut summands = Vec::new();
    flatten(&store.value, &mut summands);
    for summand in summands {
        match search.terms(summand) {
            Some(found) => terms.push(found),
            None => {
                rest = Some(match rest {
                    Some(rest) => rest + summand.clone(),
                    None => summand.clone(),
                });
            }
        }
    }
    let first = rest.or(is_set.then_some(Value::Const(0.0)));
    (!terms.is_empty()).then_some(Parts { how: search.how, first, terms })
}

fn flatten<'a>(value: &'a Value, summands: &mut Vec<&'a Value>) {
    match value {
        Value::Add(left, right) => {
            flatten(left, summands);
            flatten(right, summands);
        }
        value => summands.push(value),
    }
}

/// What gives a variable.
enum Given {
    /// An integer in memory.
    Loaded(Chosen),
    /// An integer that is computed of those in memory: where the variable is another one, a test that stays fails.
    Computed(Index),
}

impl Given {
    fn is_computed(&self) -> bool {
        matches!(self, Given::Computed(_))
    }
}

/// Looks for tests whether an integer is a variable.
struct Search<'a> {
    var: VarId,
    /// What is stored to.
    target: BufferId,
    how: Joined,
    buffers: &'a [Buffer],
}

impl Search<'_> {
    /// The loops of a product with sums, one of whose factors is the test.
    fn terms(&self, value: &Value) -> Option<Terms> {
        let terms = self.peeled(value)?;
        let summed = terms.value.summed_vars();
        let binds_again = terms.loops.iter().any(|(one, _)| summed.contains(&one.var));
        // An element without a sum is computed once as it stands.
        (!binds_again && !terms.loops.is_empty()).then_some(terms)
    }

    fn peeled(&self, value: &Value) -> Option<Terms> {
        if self.taken(value).is_some() {
            return Some(Terms { loops: Vec::new(), value: value.clone() });
        }
        match value {
            Value::Mul(left, right) if self.how.kind == Reduction::Sum => {
                let (mut terms, other) = match self.peeled(left) {
                    Some(terms) => (terms, right),
                    None => (self.peeled(right)?, left),
                };
                terms.value = (**other).clone() * terms.value;
                // What is infinite makes no number of a sum without terms.
                is_finite(other, None).then_some(terms)
            }
            Value::Div(left, right) if self.how.kind == Reduction::Sum => {
                let mut terms = self.peeled(left)?;
                terms.value = terms.value / (**right).clone();
                matches!(**right, Value::Const(by) if by != 0.0).then_some(terms)
            }
            Value::Sum(sum) if sum.kind == self.how.kind => {
                let mut terms = self.peeled(&sum.body)?;
                let Sum { var, step, .. } = **sum;
                let (lower, upper) = (sum.lower.clone(), sum.upper.clone());
                let mark = Mark::Sequential;
                let over = For { var, lower, upper, step, mark, body: Vec::new() };
                terms.loops.insert(0, (over, sum.condition.clone()));
                Some(terms)
            }
            _ => None,
        }
    }

    /// The integer of a test among factors, and the value without the test; or of what a selection takes for a minimum
    /// or maximum. The test of an integer that is computed stays.
    fn taken(&self, value: &Value) -> Option<(Given, Value)> {
        let kind = self.how.kind;
        if let Value::Select(parts) = value {
            let [test, chosen, other] = &**parts;
            let element = self.buffers.get(self.target.0 as usize)?.element;
            let mut neutral = vec![kind.neutral(), kind.neutral_in(element)];
            neutral.extend(self.how.from_zero.then_some(0.0));
            let is_neutral = matches!(other, Value::Const(value) if neutral.contains(value));
            let find = |test: &Value| self.given(test);
            let (given, rest) = without_test(test, &find).filter(|_| is_neutral)?;
            let value = match rest {
                _ if given.is_computed() => value.clone(),
                None => chosen.clone(),
                Some(rest) => Value::Select(Box::new([rest, chosen.clone(), other.clone()])),
            };
            return Some((given, value));
        }
        if !self.how.from_zero {
            return None;
        }
        if let Some(given) = self.given(value) {
            let rest = if given.is_computed() { value.clone() } else { Value::Const(1.0) };
            return Some((given, rest));
        }
        match value {
            Value::Mul(left, right) => match self.taken(left) {
                Some((given, left)) => {
                    is_finite(right, Some(self.var)).then(|| (given, left * (**right).clone()))
                }
                None => {
                    let (given, right) = self.taken(right)?;
                    is_finite(left, Some(self.var)).then(|| (given, (**left).clone() * right))
                }
            },
            // 0 / 0 is what becomes of a term that is not sent because of where it would go, where the divisor is 0.
            Value::Div(left, right)
                if matches!(**right, Value::Const(by) if by != 0.0)
                    || !right.mentions(self.var) =>
            {
                self.taken(left).map(|(given, left)| (given, left / (**right).clone()))
            }
            _ => None,
        }
    }

    /// `K[i] + 1` of `K[i] + 1 == index(k)`.
    fn given(&self, test: &Value) -> Option<Given> {
        let test = match test {
            Value::Truth(inside) => inside,
            test => test,
        };
        self.loaded(test).map(Given::Loaded).or_else(|| {
            let element = |id: BufferId| {
                let buffer = self.buffers.get(id.0 as usize)?;
                (id != self.target).then_some(buffer.element)
            };
            only(test, self.var, &element).map(Given::Computed)
        })
    }

    fn loaded(&self, test: &Value) -> Option<Chosen> {
        let Value::Compare(Compare::Eq, left, right) = test else { return None };
        let var = self.var;
        let element = match (&**left, &**right) {
            (element, Value::FromIndex(Index::Var(own))) if *own == var => element,
            (Value::FromIndex(Index::Var(own)), element) if *own == var => element,
            _ => return None,
        };
        let is_integer = |id: BufferId| {
            self.buffers.get(id.0 as usize).is_some_and(|buffer| buffer.element.is_integer())
        };
        let given = Chosen::of(element, &is_integer)?;
        let free = !given.index.mentions(var) && !given.offset.mentions(var);
        (free && given.buffer != self.target).then_some(given)
    }
}

/// Whether a factor is nowhere infinite; with a variable, because of where a term goes, as `1.0 / D[k]` may be:
/// multiplied with 0, that is what becomes of elements to which no term is sent.
fn is_finite(factor: &Value, because_of: Option<VarId>) -> bool {
    let mut finite = true;
    factor.visit(&mut |part| {
        let may_be = matches!(part, Value::Div(..) | Value::Apply(..));
        finite &= !(may_be && because_of.is_none_or(|var| part.mentions(var)));
    });
    finite
}

/// A loop whose variable integers give wherever its one statement does anything, as that statement. Integers are read
/// outside of the loops `over`, which have iterations.
fn sent(outer: &For, stmt: &Stmt, over: &[VarId], how: Joined, buffers: &[Buffer]) -> Option<Stmt> {
    let mut stores = Vec::new();
    stmt.visit(&mut |inner| {
        if let Stmt::Store(store) = inner {
            stores.push(store);
        }
    });
    let first = stores.first()?;
    let (target, mode) = (first.buffer, first.mode);
    if mode.reduction() != Some(how.kind) {
        return None;
    }
    let alike = stores.iter().all(|store| store.buffer == target && store.mode == mode);
    if !alike || stores.iter().any(|store| store.value.loads(target)) {
        return None;
    }
    let search = Search { var: outer.var, target, how, buffers };
    let inner = Sending { outer, over, search }.stmt(stmt)?;
    Some(when(range_conditions(&outer.lower, &outer.upper), inner))
}

struct Sending<'a> {
    outer: &'a For,
    over: &'a [VarId],
    search: Search<'a>,
}

impl Sending<'_> {
    /// A statement of the loop, with integers that give its variable.
    fn stmt(&self, stmt: &Stmt) -> Option<Stmt> {
        if let Some(stmt) = self.here(stmt) {
            return Some(stmt);
        }
        let var = self.outer.var;
        let all = |body: &[Stmt]| {
            body.iter().map(|inner| self.stmt(inner)).collect::<Option<Vec<Stmt>>>()
        };
        match stmt {
            Stmt::For(inner) if !bounds(inner).iter().any(|bound| bound.mentions(var)) => {
                // Iterations of a loop inside of a sequential one may meet at an element.
                let mark =
                    if self.outer.mark.is_parallel() { inner.mark } else { Mark::Sequential };
                let (lower, upper) = (inner.lower.clone(), inner.upper.clone());
                Some(Stmt::For(For { mark, lower, upper, body: all(&inner.body)?, ..*inner }))
            }
            Stmt::If(inner) if !inner.condition.mentions(var) => {
                let (then, otherwise) = (all(&inner.then)?, all(&inner.otherwise)?);
                Some(Stmt::If(If { then, otherwise, condition: inner.condition.clone() }))
            }
            Stmt::CoIter(inner) => {
                let mut walk = inner.clone();
                walk.cases.iter_mut().for_each(|case| case.body.clear());
                if Stmt::CoIter(walk.clone()).mentions(var) {
                    return None;
                }
                for (case, old) in walk.cases.iter_mut().zip(&inner.cases) {
                    case.body = all(&old.body)?;
                }
                Some(Stmt::CoIter(walk))
            }
            _ => None,
        }
    }

    /// A store, or one inside of loops with iterations, where an integer gives the variable.
    fn here(&self, stmt: &Stmt) -> Option<Stmt> {
        let mut binds = Vec::new();
        let mut at = stmt;
        let store = loop {
            match at {
                Stmt::For(inner) if self.over.contains(&inner.var) && inner.body.len() == 1 => {
                    binds.push(inner);
                    at = &inner.body[0];
                }
                Stmt::Store(store) => break store,
                _ => return None,
            }
        };
        let (given, value) = self.search.taken(&store.value)?;
        let loops: Vec<_> = binds.iter().map(|one| ((*one).clone(), None)).collect();
        let add = around(&loops, Stmt::Store(Store { value, stream: None, ..store.clone() }));
        let For { var, lower, upper, .. } = self.outer;
        let Chosen { buffer, index, offset } = match given {
            Given::Loaded(chosen) => chosen,
            Given::Computed(only) => {
                let free = !self::binds(&binds, std::slice::from_ref(&only));
                let only = Some(only).filter(|only| free && !lower.contains(only))?;
                let last = upper.first()?.clone() - Index::constant(1);
                let mut inner =
                    For { body: vec![add], mark: Mark::Sequential, ..self.outer.clone() };
                inner.upper.push(only.clone().min(last) + Index::constant(1));
                inner.lower.push(only);
                return Some(Stmt::For(inner));
            }
        };
        if self::binds(&binds, &[index.clone(), offset.clone()]) {
            return None;
        }
        let less = |bound: &Index| bound.clone() - offset.clone();
        let lower = lower.iter().map(|low| less(low).at_most(Index::var(*var)));
        let upper = upper.iter().map(|high| Index::var(*var).less(less(high)));
        let condition = Condition::all(lower.chain(upper));
        let add = match offset.as_const() {
            Some(0) => add,
            _ => add.substitute(*var, &(Index::var(*var) + offset.clone())),
        };
        let body = vec![Stmt::when(condition, vec![add])];
        Some(Stmt::Let(Let { var: *var, buffer, index, body }))
    }
}

/// Whether no two iterations of a nest store to one element: it is parallel, or elements are rows of rows.
///
/// Before -> after, of `for k = 0 to M { for j = 0 to N { .. } }`: `N * k + j` -> true, `N * k + 2` -> false.
fn are_distinct(index: &Index, nest: &[&For]) -> bool {
    // Outermost parallel loops store to elements of their own already, for whole iterations.
    let mut left: Vec<&&For> = nest.iter().skip_while(|one| one.mark.is_parallel()).collect();
    let mut width = Index::constant(1);
    while !left.is_empty() {
        let next = left.iter().position(|one| {
            let stride = index.stride(one.var);
            stride.and_then(|stride| stride.constant_difference(&width)).is_some_and(|gap| gap >= 0)
        });
        let Some(at) = next else { return false };
        let one = left.remove(at);
        let (Some(stride), [low, ..], [high, ..]) =
            (index.stride(one.var), &one.lower[..], &one.upper[..])
        else {
            return false;
        };
        width = stride * (high.clone() - low.clone());
    }
    true
}

#[cfg(test)]
mod tests {
    use crate::interp::Data;
    use crate::machine::{Machine, Processors};
    use crate::passes::tests::{body_of, compare};
    use crate::passes::{Context, find};
    use crate::{ParallelLevel, parse, verify};

    fn scatter(body: &str) -> String {
        let before = parse(&format!(
            "module(N, M, D)
            buffer A : f64[N * D]
            buffer K : i64[N]
            buffer L : i32[N]
            buffer x : f64[N]
            buffer C : f64[M]
            buffer H : f64[M * D]
            buffer P : f64[M * M]
            func f(in A, in K, in L, in x, inout C, inout H, inout P) {{ {body} }}"
        ))
        .unwrap();
        let mut after = before.clone();
        (find("scatter").unwrap().run)(&mut after, &Context::of(&Machine::PLAIN));
        assert_eq!(verify(&after), Ok(()), "{after}");
        let floats = |count: i64, by: i64| {
            Data::Float((0..count).map(|x| ((x * by + 1) % 7 - 3) as f64).collect())
        };
        for [n, m, d] in [[0, 0, 0], [1, 1, 1], [5, 3, 2], [4, 0, 2], [0, 3, 1], [6, 4, 0]] {
            for chosen in [
                [0, 3, 2, 0, 1, 2],
                [-5, 4, i64::MAX - 99, 2, 1, 1],
                [i64::MIN + 99, 1, 1, -1, 0, 9],
            ] {
                let keys = Data::Int(chosen[..n as usize].to_vec());
                let short = Data::Int((0..n).map(|i| (i * 3 + 1) % 5 - 1).collect());
                let data = [
                    floats(n * d, 2),
                    keys,
                    short,
                    floats(n, 3),
                    floats(m, 1),
                    floats(m * d, 5),
                    floats(m * m, 3),
                ];
                compare(&before, &after, &[n, m, d], &data).unwrap();
            }
        }
        body_of(&after)
    }

    #[test]
    fn integers_send_terms() {
        expect_test::expect![[r#"
            parallel k = 0 to M {
              C[k] = index(k)
            }
            if 0 < M {
              for i = 0 to N {
                if i != 2 {
                  let k = K[i] {
                    if 0 <= k and k < M {
                      C[k] += 2.0 * (x[i] / 4.0)
                    }
                  }
                }
              }
            }
            if 1 < M {
              for i = 0 to N {
                let k = K[i] {
                  if 0 <= k and k < M - 1 {
                    C[k + 1] += 1.0
                  }
                }
              }
            }
            if 0 < M {
              for i = 0 to N {
                let k = K[i] {
                  if 0 <= k and k < M {
                    C[k] max= x[i]
                  }
                }
              }
            }
            parallel k = 0 to M {
              C[k] = 0.0
            }
            if 0 < M {
              for i = 0 to N {
                let k = K[i] {
                  if 0 <= k and k < M {
                    C[k] max= truth(x[i])
                  }
                }
              }
            }
            parallel k = 0 to M {
              C[k] = 1.0
            }
            if 0 < M {
              for i = 0 to N {
                let k = K[i] {
                  if 0 <= k and k < M {
                    C[k] *= x[i]
                  }
                }
              }
            }
            parallel k = 0 to M {
              C[k] = -inf
            }
            if 0 < M {
              for i = 0 to N {
                let k = K[i] {
                  if 0 <= k and k < M {
                    C[k] max= select(compare(x[i] > 0.0) * compare(x[i] < 2.0), x[i], -inf)
                  }
                }
              }
            }
            with C.sums of M zero {
              if 0 < M {
                for i = 0 to N {
                  let k = K[i] {
                    if 0 <= k and k < M {
                      C.sums[k] += x[i]
                    }
                  }
                }
              }
              parallel k = 0 to M {
                C[k] = C[k] * C.sums[k]
              }
            }
            if 0 < N {
              with C.sums_ of M zero {
                if 0 < M {
                  for i = 0 to N {
                    let k = K[i] {
                      if 0 <= k and k < M {
                        C.sums_[k] += x[i]
                      }
                    }
                  }
                }
                parallel k = 0 to M {
                  C[k] += 1.0 + C.sums_[k] / (x[0] + 4.5)
                }
              }
            }
        "#]].assert_eq(&scatter(
            "parallel k = 0 to M { C[k] = index(k) + 2.0 * (sum(i = 0 to N if i != 2) x[i] * compare(K[i] == index(k)) / 4.0) }
             for k = 1 to M { C[k] += sum(i = 0 to N) compare(index(k) == K[i] + 1.0) }
             parallel k = 0 to M { C[k] max= max(i = 0 to N) select(compare(K[i] == index(k)), x[i], -inf) }
             parallel k = 0 to M { C[k] = max(0.0, max(i = 0 to N) truth(x[i]) * truth(compare(K[i] == index(k)))) }
             parallel k = 0 to M { C[k] = product(i = 0 to N) select(compare(K[i] == index(k)), x[i], 1.0) }
             parallel k = 0 to M { C[k] = max(i = 0 to N) select(compare(x[i] > 0.0) * compare(K[i] == index(k)) * compare(x[i] < 2.0), x[i], -inf) }
             parallel k = 0 to M { C[k] = C[k] * (sum(i = 0 to N) x[i] * compare(K[i] == index(k))) }
             if 0 < N { parallel k = 0 to M { C[k] += 1.0 + (sum(i = 0 to N) x[i] * compare(K[i] == index(k))) / (x[0] + 4.5) } }",
        ));
    }

    #[test]
    fn integers_that_are_computed_send_terms() {
        expect_test::expect![[r#"
            parallel k = 0 to M {
              C[k] = 0.0
            }
            if 0 < M {
              for i = 0 to N {
                for k = max(0, L[i] / 2) to min(M, min(L[i] / 2, M - 1) + 1) {
                  C[k] += compare(L[i] / 2.0 == index(k)) * x[i] / (x[i] + 4.5)
                }
              }
            }
            if 1 < M {
              for i = 0 to N {
                for k = max(1, M - 1 + -1 * (L[i] - max(M, 1) * floor(L[i], max(M, 1)))) to min(M, min(M - 1 + -1 * (L[i] - max(M, 1) * floor(L[i], max(M, 1))), M - 1) + 1) {
                  C[k] += compare(index(M - 1 - k) == mod(L[i], index(M)))
                }
              }
            }
            if 0 < M {
              for i = 0 to N {
                for k = max(0, -1 * L[i], L[i]) to min(M, min(max(-1 * L[i], L[i]), M - 1) + 1) {
                  C[k] max= select(compare(abs(L[i]) == index(k)), x[i], -inf)
                }
              }
            }
            parallel k = 0 to M {
              for j = 0 to D {
                H[k * D + j] = 0.0
              }
            }
            if 0 < D {
              if 0 < M {
                for i = 0 to N {
                  for k = max(0, 2 * L[i] + 1) to min(M, min(2 * L[i] + 1, M - 1) + 1) {
                    for j = 0 to D {
                      H[k * D + j] += A[i * D + j] * compare(2.0 * L[i] + 1.0 == index(k))
                    }
                  }
                }
              }
            }
        "#]].assert_eq(&scatter(
            "parallel k = 0 to M { C[k] = sum(i = 0 to N) compare(L[i] / 2.0 == index(k)) * x[i] / (x[i] + 4.5) }
             for k = 1 to M { C[k] += sum(i = 0 to N) compare(index(M - 1 - k) == mod(L[i], index(M))) }
             parallel k = 0 to M { C[k] max= max(i = 0 to N) select(compare(abs(L[i]) == index(k)), x[i], -inf) }
             parallel k = 0 to M { for j = 0 to D { H[k * D + j] = sum(i = 0 to N) A[i * D + j] * compare(2.0 * L[i] + 1.0 == index(k)) } }",
        ));
    }

    #[test]
    fn rows_and_pairs_are_sent() {
        expect_test::expect![[r#"
            parallel k = 0 to M {
              for j = 0 to D {
                H[k * D + j] = 0.0
              }
            }
            if 0 < D {
              if 0 < M {
                for i = 0 to N {
                  let k = K[i] {
                    if 0 <= k and k < M {
                      for j = 0 to D {
                        H[k * D + j] += A[i * D + j]
                      }
                    }
                  }
                }
              }
            }
            parallel k = 0 to M {
              for l = 0 to M {
                P[k * M + l] = 0.0
              }
            }
            if 0 < M {
              if 0 < M {
                for i = 0 to N {
                  let k = K[i] {
                    if 0 <= k and k < M {
                      if 0 < M {
                        let l = L[i] {
                          if 0 <= l and l < M {
                            P[k * M + l] += x[i]
                          }
                        }
                      }
                    }
                  }
                }
              }
            }
        "#]].assert_eq(&scatter(
            "parallel k = 0 to M { for j = 0 to D { H[k * D + j] = sum(i = 0 to N) A[i * D + j] * compare(K[i] == index(k)) } }
             parallel k = 0 to M { for l = 0 to M { P[k * M + l] = sum(i = 0 to N) x[i] * compare(K[i] == index(k)) * compare(L[i] == index(l)) } }",
        ));
    }

    #[test]
    fn statements_of_parallel_loops_part() {
        expect_test::expect![[r#"
            parallel k = 0 to M {
              C[k] = 2.0
            }
            if 0 < M {
              for i = 0 to N {
                let k = K[i] {
                  if 0 <= k and k < M {
                    C[k] += x[i]
                  }
                }
              }
            }
            parallel k = 0 to M {
              for j = 0 to D {
                H[k * D + j] = C[k]
              }
            }
        "#]]
        .assert_eq(&scatter(
            "parallel k = 0 to M {
               C[k] = 2.0
               C[k] += sum(i = 0 to N) x[i] * compare(K[i] == index(k))
               for j = 0 to D { H[k * D + j] = C[k] }
             }",
        ));
    }

    #[test]
    fn what_stays() {
        let body = "
            for k = 0 to M { C[0] = sum(i = 0 to N) x[i] * compare(K[i] == index(k)) }
            for k = 0 to M { C[k] = sum(i = 0 to N) x[i] * compare(K[i] != index(k)) }
            for k = 0 to M { C[k] = sum(i = 0 to min(N, k)) x[i] * compare(K[i] == index(k)) }
            for k = 0 to M { C[k] = (sum(i = 0 to min(N, k)) x[i] * compare(K[i] == index(k))) / 3.5 }
            for i = 0 to N { for k = 0 to M { C[k] = (sum(i2 = 0 to N) compare(K[i2] == index(k))) / x[i] } }
            for k = 0 to M { C[k] = 1.0 C[k] += sum(i = 0 to N) x[i] * compare(K[i] == index(k)) }";
        let text = scatter(body);
        assert!(!text.contains("let"), "{text}");
    }

    #[test]
    fn other_processors_compare() {
        let module = parse(
            "module(N, M)
            buffer K : i64[N]
            buffer C : f64[M]
            func f(in K, out C) { parallel k = 0 to M { C[k] = sum(i = 0 to N) compare(K[i] == index(k)) } }",
        );
        let before = module.unwrap();
        for level in [ParallelLevel::Blocks, ParallelLevel::Cores] {
            let levels = vec![Processors { level, count: None }];
            let mut after = before.clone();
            (find("scatter").unwrap().run)(
                &mut after,
                &Context::of(&Machine { levels, ..Machine::PLAIN }),
            );
            assert_eq!(before, after);
        }
    }
}
