//! Rows of stored elements, each loaded once for all of its roles.
//!
//! An element of a row is added, times other factors, to what the row adds up to ([`Adds::to_row`]), or to an element
//! that moves with it. Before -> after, of a row `a` of a symmetric matrix:
//! ```text
//! sums[0] = 0.0
//! for b = 0 to a { sums[0] += S[N * a + b] * x[b]  y[b] += x[a] * S[N * a + b] }
//! y[a] += sums[0]
//! ```
//! The register code of such a loop has vectors of `b`, and what it adds up in registers.

use super::visit::Visit;
use crate::ir::*;
use crate::linear::only_value;
use crate::passes::polyhedra::scan::Range;

/// What is added to one place.
struct Adds {
    /// Where.
    index: Index,
    /// The factors that do not depend on the innermost iterator, and a number.
    outside: Value,
    /// Those that do.
    inside: Value,
    /// Whether the place does not depend on it.
    to_row: bool,
}

impl Visit<'_> {
    /// What is added to an element for some roles: what several of them add, with a multiple of the number. (The
    /// product with it is at least as exact as adding several times.)
    fn adds(&self, roles: &[usize], row: &Index) -> Vec<Adds> {
        let (inner, var) = (self.vars[self.vars.len() - 1], self.vars[self.vars.len() - 2]);
        let mut all: Vec<(Index, f64, Vec<Value>)> = Vec::new();
        for role in roles {
            let product = &self.roles[*role].product;
            let known = all.iter_mut().find(|(index, _, factors)| {
                *index == product.index && same(factors, &product.factors)
            });
            match known {
                Some((_, by, _)) => *by += product.coefficient,
                None => {
                    all.push((product.index.clone(), product.coefficient, product.factors.clone()));
                }
            }
        }
        all.retain(|(_, by, _)| *by != 0.0);
        let adds = all.into_iter().map(|(index, by, factors)| {
            let at = |factor: &Value| factor.substitute(var, row);
            let (inside, outside): (Vec<Value>, Vec<Value>) =
                factors.iter().map(at).partition(|factor| factor.mentions(inner));
            let by = (by != 1.0).then_some(Value::Const(by));
            let index = index.substitute(var, row) + Index::Var(self.shift);
            let to_row = !index.mentions(inner);
            let outside = Value::product(by.into_iter().chain(outside));
            Adds { index, outside, inside: Value::product(inside), to_row }
        });
        adds.collect()
    }

    /// Some rows over a range that all roles have in all of them.
    pub(super) fn kernel(&mut self, rows: &[Index], roles: &[usize], range: &Range) -> Vec<Stmt> {
        let inner = self.vars[self.vars.len() - 1];
        // What is added up, and where the totals go.
        let mut sums: Vec<Value> = Vec::new();
        let mut totals: Vec<(Index, Value)> = Vec::new();
        let mut moving: Vec<(Index, Value)> = Vec::new();
        for row in rows {
            let first = sums.len();
            for Adds { index, outside, inside, to_row } in self.adds(roles, row) {
                if !to_row {
                    add(&mut moving, index, times(outside, inside));
                    continue;
                }
                let known = sums.iter().skip(first).position(|sum| *sum == inside);
                let at = known.map_or(sums.len(), |at| first + at);
                if known.is_none() {
                    sums.push(inside);
                }
                let total = Value::load(self.sums, (at as i64).into());
                add(&mut totals, index, times(outside, total));
            }
        }
        self.most_sums = self.most_sums.max(sums.len());
        let at = |at: usize| Index::Const(at as i64);
        let zero = |sum| Stmt::set(self.sums, at(sum), Value::Const(0.0));
        let mut stmts: Vec<Stmt> = (0..sums.len()).map(zero).collect();
        let mut body = Vec::new();
        for (sum, inside) in sums.into_iter().enumerate() {
            body.push(Stmt::add(self.sums, at(sum), inside));
        }
        body.extend(moving.into_iter().map(|(index, value)| Stmt::add(self.target, index, value)));
        let (lower, upper) = (range.lower.clone(), range.upper.clone());
        let mark = Mark::Sequential;
        stmts.push(Stmt::For(For { var: inner, lower, upper, step: 1, mark, body }));
        stmts.extend(totals.into_iter().map(|(index, value)| Stmt::add(self.target, index, value)));
        stmts
    }

    /// What is added to each place for an element of a row.
    pub(super) fn element(
        &self,
        roles: &[usize],
        row: &Index,
        (inner, at): (VarId, &Index),
        list: &mut Vec<(Index, Value)>,
    ) {
        for Adds { index, outside, inside, .. } in self.adds(roles, row) {
            let value = times(outside, inside).substitute(inner, at);
            add(list, index.substitute(inner, at), value);
        }
    }

    /// A few elements of a row, for roles one after the other.
    pub(super) fn plain(&mut self, roles: &[usize], range: &Range) -> Vec<Stmt> {
        let (inner, row) = (self.vars[self.vars.len() - 1], self.vars[self.vars.len() - 2]);
        let mut stmts = Vec::new();
        let mut moving = Vec::new();
        let only = only_value(&range.lower, &range.upper, 1);
        for Adds { index, outside, inside, to_row } in self.adds(roles, &Index::Var(row)) {
            if let Some(only) = &only {
                let value = times(outside, inside).substitute(inner, only);
                stmts.push(Stmt::add(self.target, index.substitute(inner, only), value));
            } else if to_row {
                let (lower, upper) = (Index::Const(0), Index::Const(0));
                let Value::Sum(mut sum) = Value::sum(inner, lower, upper, inside) else { continue };
                (sum.lower, sum.upper) = (range.lower.clone(), range.upper.clone());
                stmts.push(Stmt::add(self.target, index, times(outside, Value::Sum(sum))));
            } else {
                moving.push(Stmt::add(self.target, index, times(outside, inside)));
            }
        }
        if !moving.is_empty() {
            let (lower, upper) = (range.lower.clone(), range.upper.clone());
            let (mark, body) = (Mark::Sequential, moving);
            stmts.push(Stmt::For(For { var: inner, lower, upper, step: 1, mark, body }));
        }
        stmts
    }
}

/// Whether two products have the same factors, in any order.
fn same(left: &[Value], right: &[Value]) -> bool {
    let mut left: Vec<&Value> = left.iter().collect();
    let found = right.iter().all(|factor| {
        let at = left.iter().position(|other| *other == factor);
        at.map(|at| left.swap_remove(at)).is_some()
    });
    found && left.is_empty()
}

/// A product, without a factor of 1.
fn times(left: Value, right: Value) -> Value {
    if left == Value::Const(1.0) { right } else { left * right }
}

/// Adds to what is added at a place.
fn add(list: &mut Vec<(Index, Value)>, index: Index, value: Value) {
    match list.iter_mut().find(|(known, _)| *known == index) {
        Some((_, sum)) => *sum = std::mem::replace(sum, Value::Const(0.0)) + value,
        None => list.push((index, value)),
    }
}
