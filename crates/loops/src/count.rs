//! The floating-point operations that a function executes.
//!
//! An addition, product, quotient, and the addition of `+=` count as one each, a sum of `n` terms as `n - 1`
//! additions. A loop whose body does the same work in every iteration is walked once.

use crate::eval::{Env, eval_range};
use crate::ir::*;

/// Iterations walked at most.
const STEPS: u64 = 10_000_000;

/// The number of floating-point operations of one call; `None` if it takes too many steps to find out, or if an
/// expression has no value.
pub fn flops(module: &Module, function: &Function, symbols: &[i64]) -> Option<u64> {
    let vars = vec![None; function.vars.len()];
    let mut counter = Counter { module, symbols, vars, left: STEPS };
    counter.block(&function.body)
}

struct Counter<'a> {
    module: &'a Module,
    symbols: &'a [i64],
    vars: Vec<Option<i64>>,
    left: u64,
}

/// Whether the work of `body` depends on `var`: whether a bound or condition in it mentions it.
fn block_depends(body: &[Stmt], var: VarId) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::For(inner) => {
            inner.lower.iter().chain(&inner.upper).any(|bound| bound.mentions(var))
                || block_depends(&inner.body, var)
        }
        Stmt::Partitioned(inner) => {
            inner.lower.iter().chain(&inner.upper).any(|bound| bound.mentions(var))
                || block_depends(&inner.body, var)
        }
        Stmt::Partial(inner) => block_depends(&inner.body, var),
        // The sum may depend on any variable.
        Stmt::While(_)
        | Stmt::CoIter(_)
        | Stmt::Append(_)
        | Stmt::Let(_)
        | Stmt::Scan(_)
        | Stmt::Team(_)
        | Stmt::Call(_)
        | Stmt::Register(_) => true,
        Stmt::Workspace(inner) => block_depends(&inner.body, var),
        Stmt::If(inner) => {
            inner.condition.mentions(var)
                || block_depends(&inner.then, var)
                || block_depends(&inner.otherwise, var)
        }
        Stmt::Store(store) => value_depends(&store.value, var),
    })
}

fn value_depends(value: &Value, var: VarId) -> bool {
    let mut depends = false;
    value.visit(&mut |value| {
        if let Value::Sum(sum) = value {
            depends |= sum.lower.iter().chain(&sum.upper).any(|bound| bound.mentions(var))
                || sum.condition.iter().any(|condition| condition.mentions(var));
        }
    });
    depends
}

impl Counter<'_> {
    fn block(&mut self, body: &[Stmt]) -> Option<u64> {
        body.iter().try_fold(0u64, |total, stmt| total.checked_add(self.stmt(stmt)?))
    }

    fn holds(&self, condition: &Condition) -> Option<bool> {
        condition.eval(self.symbols, &|var| self.vars.get(var.0 as usize).copied().flatten()).ok()
    }

    /// The total of `each` over a range, and the number of values in it.
    fn range(
        &mut self,
        (var, step, uniform): (VarId, i64, bool),
        (lower, upper): (&[Index], &[Index]),
        mut each: impl FnMut(&mut Self) -> Option<u64>,
    ) -> Option<(u64, u64)> {
        let vars = |var: VarId| self.vars.get(var.0 as usize).copied().flatten();
        let range = eval_range(lower, upper, &Env::new(self.symbols, &vars)).ok()?;
        let slot = var.0 as usize;
        if range.is_empty() || step <= 0 || slot >= self.vars.len() {
            return range.is_empty().then_some((0, 0));
        }
        let trips = (range.end.abs_diff(range.start) - 1) / step.unsigned_abs() + 1;
        let walked = if uniform { 1 } else { trips };
        self.left = self.left.checked_sub(walked)?;
        let mut total = 0u64;
        for trip in 0..walked {
            self.vars[slot] = Some(range.start.wrapping_add((trip as i64).wrapping_mul(step)));
            total = total.checked_add(each(self)?)?;
        }
        self.vars[slot] = None;
        Some((if uniform { total.checked_mul(trips)? } else { total }, trips))
    }

    fn stmt(&mut self, stmt: &Stmt) -> Option<u64> {
        match stmt {
            Stmt::For(inner) => {
                let uniform = !block_depends(&inner.body, inner.var);
                let range = (inner.var, inner.step, uniform);
                let bounds = (&inner.lower[..], &inner.upper[..]);
                Some(self.range(range, bounds, |counter| counter.block(&inner.body))?.0)
            }
            // The same in any number of parts: in one.
            Stmt::Partitioned(inner) => {
                let vars = |var: VarId| self.vars.get(var.0 as usize).copied().flatten();
                let range =
                    eval_range(&inner.lower, &inner.upper, &Env::new(self.symbols, &vars)).ok()?;
                if range.start >= range.end {
                    return Some(0);
                }
                *self.vars.get_mut(inner.begin.0 as usize)? = Some(range.start);
                *self.vars.get_mut(inner.end.0 as usize)? = Some(range.end);
                self.block(&inner.body)
            }
            // What positions are is not known here; teams and calls are made after counting.
            Stmt::While(_)
            | Stmt::CoIter(_)
            | Stmt::Append(_)
            | Stmt::Let(_)
            | Stmt::Scan(_)
            | Stmt::Team(_)
            | Stmt::Call(_)
            | Stmt::Register(_) => None,
            Stmt::Workspace(inner) => self.block(&inner.body),
            // The results of parts are few.
            Stmt::Partial(inner) => {
                let vars = |var: VarId| self.vars.get(var.0 as usize).copied().flatten();
                let range =
                    eval_range(&inner.lower, &inner.upper, &Env::new(self.symbols, &vars)).ok()?;
                for (var, value) in
                    [(inner.begin, range.start), (inner.end, range.end), (inner.shift, 0)]
                {
                    *self.vars.get_mut(var.0 as usize)? = Some(value);
                }
                self.block(&inner.body)
            }
            Stmt::If(inner) => {
                if self.holds(&inner.condition)? {
                    self.block(&inner.then)
                } else {
                    self.block(&inner.otherwise)
                }
            }
            Stmt::Store(store) => {
                let integer =
                    self.module.buffers.get(store.buffer.0 as usize)?.element.is_integer();
                let add = u64::from(store.mode != StoreMode::Set && !integer);
                self.value(&store.value)?.checked_add(add)
            }
        }
    }

    fn value(&mut self, value: &Value) -> Option<u64> {
        match value {
            Value::Const(_) | Value::Load(..) | Value::FromIndex(_) => Some(0),
            Value::Add(left, right)
            | Value::Mul(left, right)
            | Value::Div(left, right)
            | Value::Min(left, right)
            | Value::Max(left, right) => {
                self.value(left)?.checked_add(self.value(right)?)?.checked_add(1)
            }
            Value::Compare(_, left, right) => {
                self.value(left)?.checked_add(self.value(right)?)?.checked_add(1)
            }
            Value::Truth(inside) => self.value(inside)?.checked_add(1),
            Value::Cast(_, inside) => self.value(inside),
            Value::Apply(_, of) => {
                of.iter().try_fold(1u64, |total, one| total.checked_add(self.value(one)?))
            }
            Value::Select(parts) => {
                parts.iter().try_fold(0u64, |total, one| total.checked_add(self.value(one)?))
            }
            Value::Sum(sum) => {
                let conditional =
                    sum.condition.as_ref().is_some_and(|condition| condition.mentions(sum.var));
                let uniform = !conditional && !value_depends(&sum.body, sum.var);
                let range = (sum.var, sum.step, uniform);
                let bounds = (&sum.lower[..], &sum.upper[..]);
                // Each term's work and its addition; the first needs none.
                let each = |counter: &mut Self| match &sum.condition {
                    Some(condition) if !counter.holds(condition)? => Some(0),
                    _ => counter.value(&sum.body)?.checked_add(1),
                };
                Some(self.range(range, bounds, each)?.0.saturating_sub(1))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn count(body: &str, n: i64) -> Option<u64> {
        let text = format!(
            "module(N)\nbuffer A : f64[N]\nbuffer s : i64[2]\nfunc f(inout A, inout s) {{ {body} }}"
        );
        let module = parse(&text).unwrap();
        flops(&module, &module.functions[0], &[n])
    }

    #[test]
    fn counts() {
        assert_eq!(count("A[0] += A[1] * 2.0", 4), Some(2));
        assert_eq!(count("s[0] += index(N)", 4), Some(0));
        assert_eq!(count("for i = 0 to N step 3 { A[0] += 1.0 }", 7), Some(3));
        assert_eq!(
            count("for i = 0 to N { for j = i to N { A[0] += A[1] * A[2] } }", 10),
            Some(110)
        );
        assert_eq!(count("A[0] = sum(l = 0 to N) A[l] * A[l]", 5), Some(9));
        assert_eq!(count("A[0] = sum(l = 0 to N if l % 2 == 0) A[l] * A[l]", 5), Some(5));
        assert_eq!(count("A[0] = sum(l = N to 0) A[l]", 5), Some(0));
        assert_eq!(count("if N < 3 { A[0] += 1.0 } else { A[0] = 1.0 / A[1] + 2.0 }", 5), Some(2));
    }

    #[test]
    fn equal_iterations_are_walked_once() {
        let n = 1 << 20;
        let body = "for i = 0 to N { for j = 0 to N { A[i] += A[j] } }";
        assert_eq!(count(body, n), Some(1 << 40));
        assert_eq!(
            count("for i = 0 to N { for j = i to N { if i < j { A[i] += A[j] } } }", n),
            None
        );
    }
}
