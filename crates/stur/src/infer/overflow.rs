//! Definitions and guards bounded at given sizes, before they are evaluated in 64-bit integers.
//!
//! Intervals: the loops' iterators are between the extremes of the statement's domain, and each operation is on whole
//! intervals. A bound may be larger than any value, never smaller.

use std::collections::BTreeMap;

use super::{InferError, Inferred, Statement};
use crate::ast::{BinaryOp, Expr, ExprKind};
use crate::diagnostic::Diagnostic;
use crate::sets::Affine;

/// Computed iterators stay below: they are compared with bounds and stand in subscripts, with small factors.
const MAX_COMPUTED: i64 = 1 << 61;

/// Smallest and largest value.
type Interval = (i64, i64);

impl Inferred {
    /// Proves that no expression that is not affine leaves 64 bits, whatever the iterators are, at these values of all
    /// parameters ([`Inferred::parameter_values`]).
    ///
    /// # Errors
    /// A diagnostic (`E0310`) at the expression that might; failures of isl.
    pub fn check_expressions(&self, values: &BTreeMap<String, i64>) -> Result<(), InferError> {
        for statement in self.rules.iter().flat_map(|rule| &rule.statements) {
            if !statement.is_exact() {
                self.check_statement(statement, values)?;
            }
        }
        Ok(())
    }

    fn check_statement(
        &self,
        statement: &Statement,
        values: &BTreeMap<String, i64>,
    ) -> Result<(), InferError> {
        let isl_values: Vec<(String, i64)> = values
            .iter()
            .map(|(name, value)| (self.sets.names.isl(name).to_string(), *value))
            .collect();
        let loops = statement.loops();
        let to_loops = self.sets.access(&statement.iterators, &Affine::each(&loops))?;
        let points = statement.domain.apply(&to_loops)?.fix_params(&isl_values)?;
        if points.is_empty()? {
            return Ok(());
        }
        let mut intervals: BTreeMap<String, Interval> =
            values.iter().map(|(name, value)| (name.clone(), (*value, *value))).collect();
        for (k, name) in loops.iter().enumerate() {
            let mut ends = [0; 2];
            for (end, extreme) in ends.iter_mut().zip([points.dim_min(k)?, points.dim_max(k)?]) {
                let value = extreme.eval(&[], &[])?.map(|value| value.to_integer());
                let value = value.and_then(|value| i64::try_from(value).ok());
                *end = value.ok_or_else(|| dastac_poly::Error::Overflow { value: name.clone() })?;
            }
            intervals.insert(name.clone(), (ends[0], ends[1]));
        }
        for definition in &statement.definitions {
            let fits = |(low, high): &Interval| *low > -MAX_COMPUTED && *high < MAX_COMPUTED;
            let interval = interval(&definition.value, &intervals).filter(fits);
            let interval = interval.ok_or_else(|| overflow(&definition.value))?;
            intervals.insert(definition.iterator.clone(), interval);
        }
        for guard in &statement.guards {
            for side in [&guard.left, &guard.right] {
                interval(side, &intervals).ok_or_else(|| overflow(side))?;
            }
        }
        Ok(())
    }
}

fn overflow(expr: &Expr) -> Diagnostic {
    let message = format!("`{expr}` may overflow at these sizes");
    Diagnostic::error("E0310", message, expr.span, "values beyond 64 bits")
        .hint("choose smaller sizes")
}

/// All values of an expression; nothing where one, or one on the way to it, may be beyond 64 bits.
fn interval(expr: &Expr, intervals: &BTreeMap<String, Interval>) -> Option<Interval> {
    match &expr.kind {
        ExprKind::Int(value) => Some((*value, *value)),
        ExprKind::Name(name) => intervals.get(name).copied(),
        ExprKind::Neg(inner) => {
            let (low, high) = interval(inner, intervals)?;
            Some((high.checked_neg()?, low.checked_neg()?))
        }
        ExprKind::Binary(op, left, right) => {
            let (a, b) = (interval(left, intervals)?, interval(right, intervals)?);
            match op {
                BinaryOp::Add => Some((a.0.checked_add(b.0)?, a.1.checked_add(b.1)?)),
                BinaryOp::Sub => Some((a.0.checked_sub(b.1)?, a.1.checked_sub(b.0)?)),
                BinaryOp::Mul => corners(a, b, i64::checked_mul),
                // Divisors are positive; rounding keeps the order of quotients.
                BinaryOp::Div if b.0 > 0 => corners(a, b, i64::checked_div_euclid),
                BinaryOp::Mod if b.0 > 0 => {
                    // Some remainders are computed as `a - b * (a / b)`, whose product is up to b below a.
                    a.0.checked_sub(b.1)?;
                    Some((0, b.1 - 1))
                }
                BinaryOp::Div | BinaryOp::Mod => None,
            }
        }
    }
}

/// The interval of an operation whose extremes are at extremes of its operands.
fn corners(a: Interval, b: Interval, op: fn(i64, i64) -> Option<i64>) -> Option<Interval> {
    let mut all = [0; 4];
    for (corner, (a, b)) in all.iter_mut().zip([(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)]) {
        *corner = op(a, b)?;
    }
    Some((*all.iter().min()?, *all.iter().max()?))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use dastac_poly::Context;

    use crate::infer::{InferError, infer};
    use crate::load;

    /// What is refused at which sizes.
    #[test]
    fn sizes_at_which_expressions_may_overflow() {
        for (condition, fits, refused) in [
            ("(i * i * i < M)", 2_000_000, 3_000_000),
            ("(M * i - i * (i + 1) / 2 < i * N)", 1 << 31, 1 << 32),
            ("(s = i * N * N)", 1 << 20, 1 << 21),
            ("(i / M = 3 * N)", 1 << 61, 1 << 62),
        ] {
            let text = format!(
                "symbols: N, M\ny(i) := x(i) * {condition}{}\nx:D(i) := (0 <= i < N)\nz:D(s) := (0 <= s < M)",
                if condition.contains("s =") { " * z(s)" } else { "" }
            );
            let (program, _) = load(&text).unwrap();
            let inferred = infer(&program, &Context::new().unwrap()).unwrap();
            for (size, expected) in [(0, true), (fits, true), (refused, false)] {
                let values = BTreeMap::from([("N".to_string(), size), ("M".to_string(), size)]);
                match inferred.check_expressions(&values) {
                    Ok(()) => assert!(expected, "{condition} at {size}"),
                    Err(InferError::User(found)) => {
                        assert!(!expected, "{condition} at {size}: {found:?}");
                        assert_eq!(found[0].code, "E0310");
                    }
                    Err(error) => panic!("{condition} at {size}: {error:?}"),
                }
            }
        }
    }
}
