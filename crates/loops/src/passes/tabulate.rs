//! Computes functions once for all iterations of the loops that they do not depend on.
//!
//! Before -> after:
//!
//! ```text
//! parallel t = 0 to N { parallel k = 0 to M { C[M * t + k] = sum(n = 0 to N) A[N * t + n] * cos(index(k * n)) } }
//!
//! if 4 <= N and M * N <= 33554432 {
//!   with C.table of M * N {
//!     parallel k = 0 to M { for n = 0 to N { C.table[k * N + n] = cos(index(k * n)) } }
//!     parallel t = 0 to N { parallel k = 0 to M { C[M * t + k] = sum(n = 0 to N) A[N * t + n] * C.table[k * N + n] } }
//!   }
//! } else { .. }
//! ```
//!
//! What is left may be a product of matrices. Compilers move what does not depend on an inner loop out of it by
//! themselves, but not what does not depend on an outer one. It is done for functions that are no instruction, of
//! elements that the loops do not write and of places, over loops whose ranges are boxes; functions of places alone,
//! also over boxes around the ranges, if these are half of the box.

use crate::ir::*;
use crate::linear::{flatten_max, flatten_min};
use crate::passes::Context;

/// So many times a value is used at least.
const USES: i64 = 4;

/// So many values stand in a table at most.
const VALUES: i64 = 1 << 25;

pub(super) fn run(module: &mut Module, context: &Context<'_>) {
    if !context.has_threads_only() {
        return;
    }
    let mut functions = std::mem::take(&mut module.functions);
    for function in &mut functions {
        let mut body = std::mem::take(&mut function.body);
        block(&mut body, function, module);
        function.body = body;
    }
    module.functions = functions;
}

fn block(body: &mut [Stmt], function: &mut Function, module: &mut Module) {
    for stmt in body {
        match stmt {
            Stmt::For(_) => {
                if let Some(other) = tabulated(stmt, function, module) {
                    *stmt = other;
                }
            }
            Stmt::If(_) | Stmt::Workspace(_) => {
                stmt.bodies_mut().into_iter().for_each(|inner| block(inner, function, module));
            }
            _ => {}
        }
    }
}

/// A loop around a value.
#[derive(Clone)]
struct Around {
    var: VarId,
    /// Where it begins and how many iterations it has, if that is the same in all iterations of others.
    range: Option<(Index, Index)>,
    /// The same of a range around that of all iterations of others.
    hull: Option<(Index, Index)>,
    /// All bounds.
    lowers: Vec<Index>,
    uppers: Vec<Index>,
}

impl Around {
    fn of(var: VarId, lower: &[Index], upper: &[Index], step: i64) -> Around {
        let free = |bound: &Index| {
            let mut free = true;
            bound.visit(&mut |part| free &= !matches!(part, Index::Var(_) | Index::Load(..)));
            free
        };
        let (mut lowers, mut uppers) = (Vec::new(), Vec::new());
        lower.iter().for_each(|bound| flatten_max(bound, &mut lowers));
        upper.iter().for_each(|bound| flatten_min(bound, &mut uppers));
        let low = lowers.iter().filter(|bound| free(bound)).cloned().reduce(Index::max);
        let high = uppers.iter().filter(|bound| free(bound)).cloned().reduce(Index::min);
        let hull = low.zip(high).map(|(low, high)| (low.clone(), high - low));
        let hull = hull.filter(|_| step == 1);
        let range = hull.clone().filter(|_| lower.iter().chain(upper).all(free));
        Around { var, range, hull, lowers, uppers }
    }

    /// How many iterations it has in the middle of the ranges of other loops, those around it; `None` if that is not
    /// known.
    fn in_the_middle(&self, others: &[Around]) -> Option<Index> {
        let middle = |bound: &Index| {
            let mut bound = bound.clone();
            for other in others.iter().rev().filter(|other| other.var != self.var) {
                if bound.mentions(other.var) {
                    let (low, count) = other.hull.clone()?;
                    bound = bound.substitute(other.var, &(low + count.floor_div(2)));
                }
            }
            (bound.free_vars().is_empty() && !bound.has_loads()).then_some(bound)
        };
        let low = self.lowers.iter().map(middle).collect::<Option<Vec<Index>>>()?;
        let high = self.uppers.iter().map(middle).collect::<Option<Vec<Index>>>()?;
        let (low, high) =
            low.into_iter().reduce(Index::max).zip(high.into_iter().reduce(Index::min))?;
        Some(high - low)
    }
}

/// Values that are computed once.
struct Table {
    value: Value,
    /// Of what it is a table: variables, where each begins, and how many values it has.
    ranges: Vec<(VarId, Index, Index)>,
    buffer: BufferId,
    size: Index,
    fill: Stmt,
    worth: Vec<Condition>,
}

/// A loop nest with tables of what does not depend on all of its loops.
fn tabulated(nest: &Stmt, function: &mut Function, module: &mut Module) -> Option<Stmt> {
    let (mut plain, mut written, mut calls) = (true, Vec::new(), false);
    nest.visit(&mut |stmt| match stmt {
        Stmt::For(_) | Stmt::If(_) => {}
        Stmt::Store(store) => {
            written.push(store.buffer);
            store.value.visit(&mut |part| calls |= is_costly(part));
        }
        _ => plain = false,
    });
    if !plain || !calls {
        return None;
    }
    let mut search = Search {
        written,
        function,
        module,
        tables: Vec::new(),
        element: Element::F64,
        target: String::new(),
    };
    let mut with = nest.clone();
    search.stmt(&mut with, &mut Vec::new(), true);
    let tables = search.tables;
    if tables.is_empty() {
        return None;
    }
    let mut worth = Vec::new();
    let mut body = Vec::new();
    for table in &tables {
        body.push(table.fill.clone());
        for one in &table.worth {
            if !worth.contains(one) {
                worth.push(one.clone());
            }
        }
    }
    body.push(with);
    let all = tables.iter().rev().fold(body, |body, table| {
        let (buffer, size) = (table.buffer, table.size.clone());
        vec![Stmt::Workspace(Workspace { buffer, size, zero: false, instead: None, body })]
    });
    let (condition, otherwise) = (Condition::all(worth), vec![nest.clone()]);
    Some(Stmt::If(If { condition, then: all, otherwise }))
}

/// Whether a value is a function that takes longer than to read what it gives.
fn is_costly(value: &Value) -> bool {
    matches!(value, Value::Apply(function, _) if !function.is_instruction() && !function.is_of_parts())
}

struct Search<'a> {
    written: Vec<BufferId>,
    function: &'a mut Function,
    module: &'a mut Module,
    tables: Vec<Table>,
    /// In which the values of the store that is looked at are computed.
    element: Element,
    /// The name of what is stored to.
    target: String,
}

impl Search<'_> {
    /// Puts tables into what a statement stores; `always` if no condition decides whether it does.
    fn stmt(&mut self, stmt: &mut Stmt, around: &mut Vec<Around>, always: bool) {
        match stmt {
            Stmt::For(inner) => {
                around.push(Around::of(inner.var, &inner.lower, &inner.upper, inner.step));
                inner.body.iter_mut().for_each(|stmt| self.stmt(stmt, around, always));
                around.pop();
            }
            Stmt::If(inner) => {
                let bodies = inner.then.iter_mut().chain(&mut inner.otherwise);
                bodies.for_each(|stmt| self.stmt(stmt, around, false));
            }
            Stmt::Store(store) => {
                let Some(buffer) = self.module.buffers.get(store.buffer.0 as usize) else { return };
                self.target.clone_from(&buffer.name);
                self.element = self.module.computed_in(&store.value, buffer.element);
                if matches!(self.element, Element::F64 | Element::F32) {
                    store.value = self.value(&store.value, around, always);
                }
            }
            _ => {}
        }
    }

    fn value(&mut self, value: &Value, around: &mut Vec<Around>, always: bool) -> Value {
        if let Some(read) = self.table(value, around, always) {
            return read;
        }
        match value {
            Value::Add(..) | Value::Mul(..) | Value::Div(..) | Value::Min(..) | Value::Max(..) => {
                value.map_parts(&mut |part| self.value(part, around, always))
            }
            Value::Apply(function, _) if !function.is_of_parts() => {
                value.map_parts(&mut |part| self.value(part, around, always))
            }
            // The test has a type of its own.
            Value::Select(parts) => {
                let [test, then, otherwise] = &**parts;
                let then = self.value(then, around, always);
                let otherwise = self.value(otherwise, around, always);
                Value::Select(Box::new([test.clone(), then, otherwise]))
            }
            Value::Sum(sum) => {
                around.push(Around::of(sum.var, &sum.lower, &sum.upper, sum.step));
                let always = always && sum.condition.is_none();
                let body = self.value(&sum.body, around, always);
                around.pop();
                Value::Sum(Box::new(Sum { body, ..(**sum).clone() }))
            }
            value => value.clone(),
        }
    }

    /// What is read in place of a value, if it is worth a table.
    fn table(&mut self, value: &Value, around: &[Around], always: bool) -> Option<Value> {
        let (mut calls, mut sums, mut loads) = (false, false, false);
        let mut fixed = true;
        value.visit(&mut |part| {
            calls |= is_costly(part);
            sums |= matches!(part, Value::Sum(_));
            if let Value::Load(buffer, _) = part {
                loads = true;
                fixed &= !self.written.contains(buffer);
            }
        });
        if !calls || sums || !fixed {
            return None;
        }
        let own: Vec<&Around> = around.iter().filter(|one| value.mentions(one.var)).collect();
        let last = around.iter().rposition(|one| value.mentions(one.var))?;
        let others = || around[..last].iter().filter(|one| !value.mentions(one.var));
        // Elements are there where the loops have iterations, and no condition leaves any out.
        let boxes = around[..last].iter().all(|one| one.range.is_some());
        if loads && !(always && boxes) {
            return None;
        }
        let uses =
            others().filter_map(|one| Some(one.hull.clone()?.1)).reduce(|all, one| all * one)?;
        // What is computed of places alone can be computed for more of them.
        let of = |one: &Around| if loads { one.range.clone() } else { one.hull.clone() };
        let ranges: Vec<(VarId, Index, Index)> = (own.iter())
            .map(|one| of(one).map(|(low, count)| (one.var, low, count)))
            .collect::<Option<_>>()?;
        let size = ranges.iter().map(|(_, _, count)| count.clone()).reduce(|all, one| all * one)?;
        let place = |of: &dyn Fn(VarId) -> Index| {
            let places =
                ranges.iter().map(|(var, low, count)| (of(*var) - low.clone(), count.clone()));
            places
                .reduce(|(all, _), (place, count)| (all * count.clone() + place, count))
                .map(|(place, _)| place)
        };
        let index = place(&Index::var)?;
        if let Some(known) =
            self.tables.iter().find(|table| table.value == *value && table.ranges == ranges)
        {
            return Some(Value::load(known.buffer, index));
        }
        // A table of more than what is computed, as of a band's columns, takes longer than it saves.
        let mut filled_halves = Vec::new();
        for one in own.iter().filter(|one| one.range.is_none()) {
            let (half, all) =
                one.in_the_middle(around).zip(one.hull.clone().map(|(_, all)| all))?;
            filled_halves.push(all.at_most(half * 2));
        }
        let name = format!("{}.table", self.target);
        let buffer = self.module.fresh_buffer(name, self.element, size.clone());
        let fresh: Vec<VarId> = ranges.iter().map(|_| self.function.fresh_var("at")).collect();
        let renamed = |var: VarId| {
            let at = ranges.iter().position(|(own, ..)| *own == var);
            at.and_then(|at| fresh.get(at)).copied().map_or(Index::var(var), Index::var)
        };
        let filled = (ranges.iter().zip(&fresh))
            .fold(value.clone(), |value, ((var, ..), fresh)| {
                value.substitute(*var, &Index::var(*fresh))
            });
        let store = Stmt::set(buffer, place(&renamed)?, filled);
        let fill =
            (ranges.iter().zip(&fresh)).rev().fold(store, |inner, ((_, low, count), fresh)| {
                let end = low.clone() + count.clone();
                Stmt::For(For::new(*fresh, low.clone(), end, vec![inner]).parallel())
            });
        let mut worth = vec![
            Index::constant(USES).at_most(uses),
            size.clone().at_most(Index::constant(VALUES)),
        ];
        let counts = around[..=last].iter().filter_map(|one| Some(one.hull.clone()?.1));
        worth.extend(counts.map(|count| Index::constant(0).less(count)));
        worth.extend(filled_halves);
        self.tables.push(Table { value: value.clone(), ranges, buffer, size, fill, worth });
        Some(Value::load(buffer, index))
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tests::check;

    #[test]
    fn functions_are_computed_once() {
        expect_test::expect![[r#"
            if 4 <= N and N <= 33554432 and 0 < N {
              with A.table of N {
                with A.table_ of N {
                  parallel at = 0 to N {
                    A.table[at] = exp(C[at])
                  }
                  parallel at = 0 to N {
                    A.table_[at] = exp(C[at]) / 2.0
                  }
                  parallel i = 0 to N {
                    for j = 0 to N {
                      A[N * i + j] = A.table[j] * sin(C[i]) + A.table_[j]
                    }
                  }
                }
              }
            } else {
              parallel i = 0 to N {
                for j = 0 to N {
                  A[N * i + j] = exp(C[j]) * sin(C[i]) + exp(C[j]) / 2.0
                }
              }
            }
            if 4 <= N - 1 and M * M <= 33554432 and 0 < M and 0 < N - 1 {
              with C.table of M * M {
                parallel at = 0 to M {
                  parallel at_1 = 0 to M {
                    C.table[at * M + at_1] = cos(index(at_1 * at))
                  }
                }
                for i = 0 to M {
                  C[0] += sum(j = 1 to N) sum(k = 0 to M) B[k * N + j] * C.table[i * M + k]
                }
              }
            } else {
              for i = 0 to M {
                C[0] += sum(j = 1 to N) sum(k = 0 to M) B[k * N + j] * cos(index(k * i))
              }
            }
        "#]].assert_eq(&check(
            &["tabulate"],
            "parallel i = 0 to N { for j = 0 to N { A[N * i + j] = exp(C[j]) * sin(C[i]) + exp(C[j]) / 2.0 } }
             for i = 0 to M { C[0] += sum(j = 1 to N) sum(k = 0 to M) B[k * N + j] * cos(index(k * i)) }",
        ));
    }

    #[test]
    fn places_are_computed_for_a_box_around_ranges() {
        expect_test::expect![[r#"
            if 4 <= N and N * N <= 33554432 and 0 < N and N <= (min(N, N / 2 + 1) - max(0, N / 2 - 2)) * 2 {
              with C.table of N * N {
                parallel at = 0 to N {
                  parallel at_1 = 0 to N {
                    C.table[at * N + at_1] = cos(index(at_1 * at))
                  }
                }
                for i = 0 to N {
                  for k = 0 to N {
                    C[k] += sum(j = max(0, i - 2) to min(N, i + 1)) A[N * i + j] * C.table[k * N + j]
                  }
                }
              }
            } else {
              for i = 0 to N {
                for k = 0 to N {
                  C[k] += sum(j = max(0, i - 2) to min(N, i + 1)) A[N * i + j] * cos(index(j * k))
                }
              }
            }
        "#]].assert_eq(&check(
            &["tabulate"],
            "for i = 0 to N { for k = 0 to N { \
             C[k] += sum(j = max(0, i - 2) to min(N, i + 1)) A[N * i + j] * cos(index(j * k)) } }",
        ));
    }

    #[test]
    fn what_stays() {
        let body = "
            for i = 0 to N { for j = 0 to N { C[j] = exp(C[j]) } }
            for i = 0 to N { for j = 0 to N { if j < M { A[N * i + j] = exp(C[j]) } } }
            for i = 0 to N { for j = i to N { A[N * i + j] = exp(C[j]) } }
            for i = 0 to N { for j = 0 to N { A[N * i + j] = exp(C[i]) } }
            for i = 0 to N { for j = 0 to N { A[N * i + j] = abs(C[j]) } }
            for i = 0 to N { C[i] = exp(index(i)) }";
        let text = check(&["tabulate"], body);
        assert!(!text.contains("table"), "{text}");
    }
}
