//! Comparisons and affine expressions as a reader would write them.
//!
//! Before -> after: `i >= 0`, `j - i - 1 >= 0`, `N - j - 1 >= 0` -> `(0 <= i < j < N)`.

use std::collections::BTreeSet;

use dastac_poly::ast::{Expr, Op};

use crate::sets::{Affine, Atom, Sets};

/// The factors of a conjunction.
pub(super) fn flatten<'a>(expr: &'a Expr, factors: &mut Vec<&'a Expr>) {
    match expr {
        Expr::Op(Op::And | Op::AndThen, parts) => parts.iter().for_each(|p| flatten(p, factors)),
        Expr::Int(1) => {}
        _ => factors.push(expr),
    }
}

/// `left < right` or `left <= right`.
struct Bound {
    left: Affine,
    strict: bool,
    right: Affine,
}

/// Writes expressions and comparisons over some iterators.
pub(super) struct Writer<'a> {
    pub(super) sets: &'a Sets,
    pub(super) iterators: &'a [String],
}

impl Writer<'_> {
    /// A conjunction as factors.
    pub(super) fn region(&self, factors: &[&Expr]) -> Vec<String> {
        let mut bounds: Vec<Affine> = Vec::new();
        let mut text: Vec<String> = Vec::new();
        for factor in factors {
            match self.constraint(factor) {
                Some((difference, true)) => text.push(self.equality(&difference)),
                Some((difference, false)) => bounds.push(difference),
                None => text.push(self.plain(factor)),
            }
        }
        bounds.dedup();
        let blocks = self.take_blocks(&mut bounds);
        let bounds = bounds.iter().map(|difference| self.bound(difference)).collect();
        let mut all = self.chains(bounds);
        all.extend(blocks);
        all.extend(text);
        let mut seen = BTreeSet::new();
        all.retain(|factor| seen.insert(factor.clone()));
        all
    }

    /// A comparison as a difference that is zero (`true`) or not negative (`false`).
    fn constraint(&self, expr: &Expr) -> Option<(Affine, bool)> {
        let Expr::Op(op, sides) = expr else { return None };
        let [left, right] = sides.as_slice() else { return None };
        let (left, right) = (self.linear(left)?, self.linear(right)?);
        let (low, high, gap) = match op {
            Op::Eq | Op::Le => (left, right, 0),
            Op::Lt => (left, right, -1),
            Op::Ge => (right, left, 0),
            Op::Gt => (right, left, -1),
            _ => return None,
        };
        let difference = high.add_scaled(&low, -1)?.add_scaled(&Affine::constant(gap), 1)?;
        Some((difference, *op == Op::Eq))
    }

    fn linear(&self, expr: &Expr) -> Option<Affine> {
        let Expr::Op(op, parts) = expr else {
            return match expr {
                Expr::Id(name) => Some(Affine::name(self.sets.names.original(name))),
                Expr::Int(value) => Some(Affine::constant(*value)),
                Expr::Op(..) => None,
            };
        };
        let parts: Vec<Affine> =
            parts.iter().map(|part| self.linear(part)).collect::<Option<_>>()?;
        match (op, parts.as_slice()) {
            (Op::Add, [a, b]) => a.add_scaled(b, 1),
            (Op::Sub, [a, b]) => a.add_scaled(b, -1),
            (Op::Minus, [a]) => a.scaled(-1),
            (Op::Mul, [a, b]) if a.terms.is_empty() => b.scaled(a.constant),
            (Op::Mul, [a, b]) if b.terms.is_empty() => a.scaled(b.constant),
            (Op::Div | Op::FloorDiv | Op::PdivQ, [a, b]) => floor(a, b),
            (Op::PdivR | Op::ZdivR, [a, b]) => {
                a.add_scaled(&floor(a, b)?, b.constant.checked_neg()?)
            }
            _ => None,
        }
    }

    /// `v - c * (e / c)` and `c * (e / c) + c - 1 - v`, both not negative, are `v / c = e / c`.
    fn take_blocks(&self, bounds: &mut Vec<Affine>) -> Vec<String> {
        let mut found = Vec::new();
        let mut first = 0;
        while first < bounds.len() {
            let block = bounds[first].terms.iter().find_map(|(atom, factor)| match atom {
                Atom::Floor(inner, divisor) if *factor == -divisor => {
                    let inside = bounds[first].add_scaled(&atom_value(atom), *divisor)?;
                    let other = Affine::constant(divisor - 1).add_scaled(&bounds[first], -1)?;
                    let second = bounds.iter().position(|bound| *bound == other)?;
                    let [a, b] = [&inside, inner].map(|side| self.grouped(side));
                    Some((second, format!("({b} / {divisor} = {a} / {divisor})")))
                }
                _ => None,
            });
            match block {
                Some((second, text)) => {
                    let mut at = [first, second];
                    at.sort_unstable();
                    bounds.remove(at[1]);
                    bounds.remove(at[0]);
                    found.push(text);
                    first = 0;
                }
                None => first += 1,
            }
        }
        found
    }

    fn equality(&self, difference: &Affine) -> String {
        // `k * (e % c) + r = 0`, r of symbols only.
        if let Some((times, numerator, divisor, rest)) = remainder(difference)
            && rest.names().iter().all(|name| !self.iterators.contains(name))
            && let Some(right) = rest.scaled(if times > 0 { -1 } else { 1 })
        {
            if times.abs() == 1
                && let Some(text) = self.congruence(&numerator, divisor, &right)
            {
                return text;
            }
            let factor = match times.unsigned_abs() {
                1 => format!("{} % {divisor}", self.grouped(&numerator)),
                times => format!("{times} * ({} % {divisor})", self.grouped(&numerator)),
            };
            return format!("({factor} = {})", self.affine(&right));
        }
        let Bound { left, right, .. } = match self.pivot(difference) {
            Some((name, 1)) => solved(difference, &name, 1).unwrap_or_else(|| sides(difference)),
            Some((name, factor)) => {
                solved(difference, &name, factor).unwrap_or_else(|| sides(difference))
            }
            None => sides(difference),
        };
        // The iterator on the left: `j = i + 1`.
        let plain =
            |side: &Affine| side.as_name().is_some_and(|n| self.iterators.iter().any(|i| i == n));
        let (left, right) = match (plain(&left), plain(&right)) {
            (false, true) => (right, left),
            (true, true) if self.order(&left) < self.order(&right) => (right, left),
            _ => (left, right),
        };
        format!("({} = {})", self.affine(&left), self.affine(&right))
    }

    /// `(e + c) % m = r`, of numbers `c` and `r`, with the number on the right alone: `(N + 1) % 2 = 0` -> `N % 2 = 1`.
    /// What has no positive term is compared negated: `(3 - i) % 4 = 0` -> `i % 4 = 3`.
    fn congruence(&self, numerator: &Affine, divisor: i64, right: &Affine) -> Option<String> {
        let is_remainder = right.terms.is_empty() && (0..divisor).contains(&right.constant);
        if !is_remainder || numerator.terms.is_empty() {
            return None;
        }
        let rest = right.constant.checked_sub(numerator.constant)?;
        let sign = if numerator.terms.values().all(|factor| *factor < 0) { -1 } else { 1 };
        let value = Affine { constant: 0, ..numerator.clone() }.scaled(sign)?;
        let rest = rest.checked_mul(sign)?.rem_euclid(divisor);
        Some(format!("({} % {divisor} = {rest})", self.grouped(&value)))
    }

    fn order(&self, side: &Affine) -> Option<usize> {
        let name = side.as_name()?;
        self.iterators.iter().position(|iterator| iterator == name)
    }

    /// The name to solve a comparison for, with its factor: the last iterator that occurs in it once, or a symbol if
    /// there is no iterator.
    fn pivot(&self, difference: &Affine) -> Option<(String, i64)> {
        let unit = |name: &String| -> Option<(String, i64)> {
            let factor = *difference.terms.get(&Atom::Name(name.clone()))?;
            let below = difference.terms.keys().any(|atom| match atom {
                Atom::Name(_) => false,
                Atom::Floor(inner, _) => inner.names().contains(name),
            });
            (factor.abs() == 1 && !below).then(|| (name.clone(), factor))
        };
        let here: Vec<&String> = self
            .iterators
            .iter()
            .filter(|name| difference.terms.contains_key(&Atom::Name((*name).clone())))
            .collect();
        // `i + j < N` reads better than `j < N - i`.
        let signs: BTreeSet<bool> =
            here.iter().map(|name| difference.terms[&Atom::Name((*name).clone())] > 0).collect();
        let floors = difference.terms.keys().any(|atom| matches!(atom, Atom::Floor(..)));
        if here.len() > 1 && signs.len() == 1 && !floors {
            return None;
        }
        let iterator = here.into_iter().rev().find_map(unit);
        let symbol = || {
            let names = difference.names();
            let symbols = names.iter().filter(|name| self.sets.names.is_symbol(name));
            symbols.rev().find_map(unit)
        };
        match iterator {
            None if difference.names().iter().all(|name| self.sets.names.is_symbol(name)) => {
                symbol()
            }
            iterator => iterator,
        }
    }

    /// `difference >= 0`, solved.
    fn bound(&self, difference: &Affine) -> Bound {
        let solved =
            self.pivot(difference).and_then(|(name, factor)| solved(difference, &name, factor));
        let mut bound = solved.unwrap_or_else(|| sides(difference));
        // `i + 1 <= j` is `i < j`, `i <= N - 2` is `i < N - 1`; `i <= 2` stays.
        let one = Affine::constant(1);
        if bound.left.constant == 1 && !bound.right.terms.is_empty() {
            bound.left.constant = 0;
            bound.strict = true;
        } else if bound.right.constant < 0
            && !bound.right.terms.is_empty()
            && let Some(right) = bound.right.add_scaled(&one, 1)
        {
            bound.right = right;
            bound.strict = true;
        }
        bound
    }

    /// Joins bounds if one ends with the expression that another begins with.
    fn chains(&self, mut bounds: Vec<Bound>) -> Vec<String> {
        let composite = |side: &Affine| {
            side.as_name().is_none()
                && side.names().iter().any(|name| self.iterators.contains(name))
        };
        let mut chains = Vec::new();
        while !bounds.is_empty() {
            // Chains begin with constants, then with operands that no other bound ends in.
            let open = |k: &usize| !bounds.iter().any(|other| other.right == bounds[*k].left);
            let start = (0..bounds.len())
                .filter(open)
                .min_by_key(|&k| (!bounds[k].left.terms.is_empty(), composite(&bounds[k].left)))
                .unwrap_or(0);
            let first = bounds.remove(start);
            let mut text = format!("{} {}", self.affine(&first.left), self.step(&first));
            let mut end = first.right;
            loop {
                let next = (0..bounds.len()).filter(|&k| bounds[k].left == end).min_by_key(|&k| {
                    let right = &bounds[k].right;
                    // Both ends alike: i - 1 <= j <= i + 1, 0 <= j < N.
                    let unlike = composite(right) != composite(&first.left);
                    (unlike, right.as_name().is_none_or(|name| self.sets.names.is_symbol(name)))
                });
                let Some(next) = next else { break };
                let next = bounds.remove(next);
                text += &format!(" {}", self.step(&next));
                end = next.right;
            }
            chains.push(format!("({text})"));
        }
        chains
    }

    fn step(&self, bound: &Bound) -> String {
        format!("{} {}", if bound.strict { "<" } else { "<=" }, self.affine(&bound.right))
    }

    /// An expression, in parentheses unless it is one name or number.
    fn grouped(&self, expression: &Affine) -> String {
        let text = self.affine(expression);
        if text.contains(' ') || text.starts_with('-') { format!("({text})") } else { text }
    }

    /// A sum with its positive terms first, and iterators before symbols before the constant; `e - c * (e / c)` is
    /// written as `e % c`.
    pub(super) fn affine(&self, expression: &Affine) -> String {
        let mut parts: Vec<(bool, usize, String)> = Vec::new();
        let mut rest = expression.clone();
        while let Some((times, numerator, divisor, without)) = remainder(&rest) {
            let text = format!("({} % {divisor})", self.grouped(&numerator));
            parts.push((times < 0, 0, scaled_text(times, text)));
            rest = without;
        }
        for (atom, factor) in &rest.terms {
            let (rank, text) = match atom {
                Atom::Name(name) => {
                    let position = self.iterators.iter().position(|iterator| iterator == name);
                    (position.unwrap_or(self.iterators.len()), name.clone())
                }
                Atom::Floor(inner, divisor) => {
                    (0, format!("({} / {divisor})", self.grouped(inner)))
                }
            };
            parts.push((*factor < 0, rank, scaled_text(*factor, text)));
        }
        parts.sort();
        let mut text = String::new();
        for (negative, _, part) in parts {
            text += match (negative, text.is_empty()) {
                (true, true) => "-",
                (true, false) => " - ",
                (false, true) => "",
                (false, false) => " + ",
            };
            text += &part;
        }
        match (rest.constant, text.is_empty()) {
            (constant, true) => constant.to_string(),
            (0, false) => text,
            (constant @ ..0, false) => format!("{text} - {}", constant.unsigned_abs()),
            (constant, false) => format!("{text} + {constant}"),
        }
    }

    /// The text of a factor that is not a comparison of affine expressions.
    fn plain(&self, expr: &Expr) -> String {
        if let Some(linear) = self.linear(expr) {
            return self.grouped(&linear);
        }
        let Expr::Op(op, parts) = expr else { return expr.to_string() };
        let joined = |operator: &str| {
            let parts: Vec<String> = parts.iter().map(|part| self.plain(part)).collect();
            format!("({})", parts.join(operator))
        };
        match op {
            Op::And | Op::AndThen => joined(" * "),
            Op::Or | Op::OrElse => joined(" + "),
            Op::Eq => joined(" = "),
            Op::Le => joined(" <= "),
            Op::Lt => joined(" < "),
            Op::Ge => joined(" >= "),
            Op::Gt => joined(" > "),
            _ => expr.to_string(),
        }
    }
}

fn scaled_text(factor: i64, text: String) -> String {
    match factor.unsigned_abs() {
        1 => text,
        factor => format!("{factor} * {text}"),
    }
}

fn atom_value(atom: &Atom) -> Affine {
    Affine { terms: [(atom.clone(), 1)].into(), constant: 0 }
}

fn floor(numerator: &Affine, divisor: &Affine) -> Option<Affine> {
    if !divisor.terms.is_empty() || divisor.constant <= 0 {
        return None;
    }
    if numerator.terms.is_empty() {
        return Some(Affine::constant(numerator.constant.div_euclid(divisor.constant)));
    }
    Some(atom_value(&Atom::Floor(Box::new(numerator.clone()), divisor.constant)))
}

/// `expression = k * (e - c * floor(e / c)) + rest` as (k, e, c, rest), if that leaves a shorter rest.
fn remainder(expression: &Affine) -> Option<(i64, Affine, i64, Affine)> {
    expression.terms.iter().find_map(|(atom, factor)| {
        let Atom::Floor(inner, divisor) = atom else { return None };
        if factor % divisor != 0 {
            return None;
        }
        let times = -(factor / divisor);
        let rest = expression.add_scaled(inner, -times)?;
        let rest = rest.add_scaled(&atom_value(atom), factor.checked_neg()?)?;
        let shorter = rest.terms.len() + 1 < expression.terms.len();
        shorter.then(|| (times, (**inner).clone(), *divisor, rest))
    })
}

/// `difference >= 0` with a name that has factor 1 or -1 alone on one side.
fn solved(difference: &Affine, name: &str, factor: i64) -> Option<Bound> {
    let side = Affine::name(name);
    let rest = difference.add_scaled(&side, -factor)?;
    Some(match factor {
        1 => Bound { left: rest.scaled(-1)?, strict: false, right: side },
        _ => Bound { left: side, strict: false, right: rest },
    })
}

/// `difference >= 0` with what is subtracted on the left, and the constant where it is not negative.
fn sides(difference: &Affine) -> Bound {
    let mut bound = Bound { left: Affine::constant(0), strict: false, right: Affine::constant(0) };
    let mut rest = difference.clone();
    while let Some((times, numerator, divisor, without)) = remainder(&rest) {
        let floor = floor(&numerator, &Affine::constant(divisor));
        let side = if times < 0 { &mut bound.left } else { &mut bound.right };
        let part = floor.and_then(|floor| numerator.add_scaled(&floor, -divisor));
        match part.and_then(|part| side.add_scaled(&part, times.abs())) {
            Some(sum) => *side = sum,
            None => break,
        }
        rest = without;
    }
    for (atom, factor) in &rest.terms {
        let side = if *factor < 0 { &mut bound.left } else { &mut bound.right };
        *side.terms.entry(atom.clone()).or_insert(0) += factor.abs();
    }
    // `i + j <= N - 1`, `3 <= i + j`: the constant beside what it is compared with.
    let constant = rest.constant;
    if bound.right.terms.is_empty() || !bound.left.terms.is_empty() {
        bound.right.constant += constant;
    } else {
        bound.left.constant -= constant;
    }
    bound
}
