//! Which of a few ways to compute a product is cheapest, as comparisons of the symbols' counting polynomials.
//!
//! `Y(i, l) := A(i, j) * B(j, k) * C(k, l)` in the order `(A, B), C` where `I*J*K + I*K*L <= J*K*L + I*J*L`, else in
//! the order `A, (B, C)`: both are compiled, and the code decides when it runs.

use std::collections::BTreeMap;

use dastac_poly::{Atom, LinearExpr, PwQPolynomial};
use dastac_stur::ast::{BinaryOp, CompareOp, Comparison, Expr, ExprKind, Span};
use dastac_stur::contract::{Tree, Way};
use dastac_stur::infer::Inferred;
use num_integer::Integer;
use num_rational::Ratio;

use crate::Error;

/// So many ways are compiled at most.
const MAX_WAYS: usize = 3;
/// One more way must make the worst case so many times cheaper.
const WORTH: f64 = 1.5;
/// Polynomials with more terms than this are not compared when code runs.
const MAX_TERMS: usize = 24;

/// The fewest ways of which one is cheap in each case: the cost of each way in each case -> places of ways.
pub(super) fn few(costs: &[Vec<f64>], most: usize) -> Vec<usize> {
    let cases = costs.first().map_or(0, Vec::len);
    let cheapest = |of: &mut dyn Iterator<Item = &Vec<f64>>, case: usize| {
        of.map(|all| all[case]).fold(f64::INFINITY, f64::min)
    };
    let least: Vec<f64> = (0..cases).map(|case| cheapest(&mut costs.iter(), case)).collect();
    let worst = |places: &[usize]| {
        let of = |case: usize| {
            let cost = cheapest(&mut places.iter().map(|at| &costs[*at]), case);
            if cost.is_finite() { cost / least[case].max(1.0) } else { f64::INFINITY }
        };
        (0..cases).map(of).fold(0.0, f64::max)
    };
    let mut chosen: Vec<usize> = Vec::new();
    let mut price = f64::INFINITY;
    for count in 1..=most.min(MAX_WAYS).min(costs.len()) {
        let all = subsets(costs.len(), count).into_iter().map(|places| (worst(&places), places));
        let Some((next, places)) = all.min_by(|(a, _), (b, _)| a.total_cmp(b)) else { break };
        if next < price && (price.is_infinite() || next * WORTH < price) {
            (price, chosen) = (next, places);
        }
    }
    chosen
}

/// The sets of so many of the first numbers.
fn subsets(of: usize, count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let with = |last: usize| {
        subsets(last, count - 1).into_iter().map(move |mut set| {
            set.push(last);
            set
        })
    };
    (0..of).flat_map(with).collect()
}

/// A polynomial of the program's symbols: what is multiplied, in order, with its coefficient.
type Polynomial = BTreeMap<Vec<String>, Ratio<i128>>;

/// The points that a way visits: polynomials, and how often they count.
pub(super) type Counts = Vec<(i64, PwQPolynomial)>;

/// Each way with the sizes at which it is cheapest, as the terms of highest degree tell, or all terms where these are
/// the same; `None` if this cannot be said in a few terms. Where counts have several pieces, those of large sizes
/// decide.
pub(super) fn decided(
    inferred: &Inferred,
    counted: &[(Tree, Counts)],
    large: &[i64],
) -> Result<Option<Vec<Way>>, Error> {
    let mut costs = Vec::new();
    for (_, counts) in counted {
        let Some(cost) = polynomial(inferred, counts, large)? else { return Ok(None) };
        costs.push(cost);
    }
    let trees = || counted.iter().map(|(tree, _)| tree.clone());
    Ok(cheapest(trees(), &leading(&costs)).or_else(|| cheapest(trees(), &costs)))
}

/// The terms whose degree is the highest of all.
fn leading(costs: &[Polynomial]) -> Vec<Polynomial> {
    let degree = costs.iter().flat_map(BTreeMap::keys).map(Vec::len).max().unwrap_or_default();
    let highest = |cost: &Polynomial| {
        let terms = cost.iter().filter(|(factors, _)| factors.len() == degree);
        terms.map(|(factors, coefficient)| (factors.clone(), *coefficient)).collect()
    };
    costs.iter().map(highest).collect()
}

/// Each tree where it costs less than those before it, and no more than those after it.
fn cheapest(trees: impl Iterator<Item = Tree>, costs: &[Polynomial]) -> Option<Vec<Way>> {
    let mut ways = Vec::new();
    for (at, tree) in trees.enumerate() {
        let mut when = Vec::new();
        for (other, cost) in costs.iter().enumerate().filter(|(other, _)| *other != at) {
            let operator = if at < other { CompareOp::Le } else { CompareOp::Lt };
            when.push(compared(&costs[at], operator, cost)?);
        }
        ways.push(Way { tree, when });
    }
    Some(ways)
}

/// The sum of some counts of points in symbols.
fn polynomial(
    inferred: &Inferred,
    counts: &[(i64, PwQPolynomial)],
    large: &[i64],
) -> Result<Option<Polynomial>, Error> {
    let names = &inferred.sets.names;
    let values = inferred.parameter_values(large)?.into_iter();
    let values: Vec<(String, i64)> =
        values.map(|(name, value)| (names.isl(&name).to_owned(), value)).collect();
    let mut sum = Polynomial::new();
    for (times, count) in counts {
        for (piece, value) in count.pieces()? {
            if piece.fix_params(&values)?.is_empty()? {
                continue;
            }
            for term in value.terms()? {
                let mut product =
                    Polynomial::from([(Vec::new(), term.coefficient * i128::from(*times))]);
                for (atom, exponent) in &term.factors {
                    let Some(factor) = atom_in_symbols(inferred, atom) else { return Ok(None) };
                    for _ in 0..*exponent {
                        product = multiplied(&product, &factor);
                    }
                }
                add(&mut sum, &product);
            }
        }
    }
    sum.retain(|_, coefficient| *coefficient.numer() != 0);
    Ok((sum.len() <= MAX_TERMS).then_some(sum))
}

fn add(sum: &mut Polynomial, other: &Polynomial) {
    for (factors, coefficient) in other {
        *sum.entry(factors.clone()).or_default() += coefficient;
    }
}

fn multiplied(a: &Polynomial, b: &Polynomial) -> Polynomial {
    let mut product = Polynomial::new();
    for (left, x) in a {
        for (right, y) in b {
            let mut factors = [left.as_slice(), right].concat();
            factors.sort_unstable();
            *product.entry(factors).or_default() += x * y;
        }
    }
    product
}

/// What terms multiply. A floor counts as the quotient.
fn atom_in_symbols(inferred: &Inferred, atom: &Atom) -> Option<Polynomial> {
    match atom {
        Atom::Param(name) => parameter(inferred, name),
        Atom::Floor(linear) => linear_in_symbols(inferred, linear),
        Atom::Dim(_) => None,
    }
}

fn linear_in_symbols(inferred: &Inferred, linear: &LinearExpr) -> Option<Polynomial> {
    let mut sum = Polynomial::from([(Vec::new(), Ratio::from(i128::from(linear.constant)))]);
    let scaled = |polynomial: &Polynomial, by: i64| {
        multiplied(polynomial, &Polynomial::from([(Vec::new(), Ratio::from(i128::from(by)))]))
    };
    for (name, coefficient) in &linear.params {
        add(&mut sum, &scaled(&parameter(inferred, name)?, *coefficient));
    }
    for (coefficient, floor) in &linear.floors {
        let part = linear_in_symbols(inferred, &floor.numerator)?;
        let part = divided(&part, floor.denominator);
        add(&mut sum, &scaled(&part, *coefficient));
    }
    linear.dims.is_empty().then(|| divided(&sum, linear.denominator))
}

fn divided(polynomial: &Polynomial, by: i64) -> Polynomial {
    polynomial.iter().map(|(factors, value)| (factors.clone(), value / i128::from(by))).collect()
}

/// A parameter, by its name in isl, in the program's symbols.
fn parameter(inferred: &Inferred, name: &str) -> Option<Polynomial> {
    let names = &inferred.sets.names;
    match names.derived(name) {
        Some(value) => expression(value),
        None => Some(Polynomial::from([(vec![names.original(name).to_owned()], Ratio::from(1))])),
    }
}

/// An expression of symbols; `None` where it has divisions.
fn expression(value: &Expr) -> Option<Polynomial> {
    let minus = Polynomial::from([(Vec::new(), Ratio::from(-1))]);
    Some(match &value.kind {
        ExprKind::Int(value) => Polynomial::from([(Vec::new(), Ratio::from(i128::from(*value)))]),
        ExprKind::Name(name) => Polynomial::from([(vec![name.clone()], Ratio::from(1))]),
        ExprKind::Neg(inner) => multiplied(&minus, &expression(inner)?),
        ExprKind::Binary(op, left, right) => {
            let (mut left, right) = (expression(left)?, expression(right)?);
            match op {
                BinaryOp::Add => add(&mut left, &right),
                BinaryOp::Sub => add(&mut left, &multiplied(&minus, &right)),
                BinaryOp::Mul => left = multiplied(&left, &right),
                BinaryOp::Div | BinaryOp::Mod => return None,
            }
            left
        }
    })
}

/// `a < b` in integers, without what all terms have in common, each term on the side where it is positive; `None` if
/// they are the same, or beyond 64 bits.
fn compared(a: &Polynomial, operator: CompareOp, b: &Polynomial) -> Option<Comparison> {
    let mut difference = multiplied(b, &Polynomial::from([(Vec::new(), Ratio::from(-1))]));
    add(&mut difference, a);
    difference.retain(|_, coefficient| *coefficient.numer() != 0);
    let values = || difference.values();
    let denominator = values().fold(1i128, |all, one| all.lcm(one.denom()));
    let divisor = values().fold(0i128, |all, one| all.gcd(&(one * denominator).to_integer()));
    if divisor == 0 {
        return None;
    }
    let mut common = difference.keys().next().cloned().unwrap_or_default();
    for factors in difference.keys() {
        let mut left = factors.clone();
        common.retain(|name| take(&mut left, name));
    }
    let mut sides: [Option<Expr>; 2] = [None, None];
    for (factors, coefficient) in &difference {
        let mut factors = factors.clone();
        common.iter().for_each(|name| _ = take(&mut factors, name));
        let whole = (coefficient * denominator).to_integer() / divisor;
        let side = &mut sides[usize::from(whole < 0)];
        let term = term(i64::try_from(whole.unsigned_abs()).ok()?, &factors);
        *side = Some(match side.take() {
            Some(sum) => binary(BinaryOp::Add, sum, term),
            None => term,
        });
    }
    let operands = sides.map(|side| side.unwrap_or(term(0, &[]))).to_vec();
    Some(Comparison { operands, operators: vec![operator], span: Span::default() })
}

/// Takes a factor away, if it is there.
fn take(factors: &mut Vec<String>, name: &String) -> bool {
    let found = factors.iter().position(|own| own == name);
    found.map(|at| factors.remove(at)).is_some()
}

fn term(coefficient: i64, factors: &[String]) -> Expr {
    let name = |name: &String| Expr { kind: ExprKind::Name(name.clone()), span: Span::default() };
    let number = Expr { kind: ExprKind::Int(coefficient), span: Span::default() };
    let product = factors.iter().map(name).reduce(|a, b| binary(BinaryOp::Mul, a, b));
    match (product, coefficient) {
        (Some(product), 1) => product,
        (Some(product), _) => binary(BinaryOp::Mul, number, product),
        (None, _) => number,
    }
}

fn binary(operator: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr { kind: ExprKind::Binary(operator, Box::new(a), Box::new(b)), span: Span::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_ways_are_cheap_in_each_case() {
        let near = [vec![1.0, 1.2], vec![1.1, 1.0]];
        assert_eq!(few(&near, 3), [1]);
        let far =
            [vec![1.0, 9.0, 9.0], vec![9.0, 1.0, 9.0], vec![9.0, 9.0, 1.0], vec![8.0, 8.0, 8.0]];
        assert_eq!(few(&far, 1), [3]);
        assert_eq!(few(&far, 2), [3]);
        assert_eq!(few(&far, 3), [0, 1, 2]);
        assert_eq!(few(&[vec![f64::INFINITY]], 3), [0usize; 0]);
    }

    #[test]
    fn costs_are_compared_without_common_factors() {
        let of = |terms: &[(&[&str], i128, i128)]| -> Polynomial {
            let term = |(names, a, b): &(&[&str], i128, i128)| {
                (names.iter().map(|name| (*name).to_owned()).collect(), Ratio::new(*a, *b))
            };
            terms.iter().map(term).collect()
        };
        let a = of(&[(&["I", "J"], 1, 2), (&["J"], 3, 2)]);
        let b = of(&[(&["I", "J"], 1, 1), (&[], 2, 1)]);
        let text = compared(&a, CompareOp::Le, &b).map(|one| one.to_string());
        assert_eq!(text.as_deref(), Some("3 * J <= 4 + I * J"));
        assert_eq!(compared(&a, CompareOp::Lt, &a), None);
        let (way, trees) = (|at| Tree::Factor(at), [Tree::Factor(0), Tree::Factor(1)].into_iter());
        let ways = cheapest(trees, &leading(&[a, b])).unwrap_or_default();
        let text = |way: &Way| way.when.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(ways.iter().map(|way| way.tree.clone()).collect::<Vec<_>>(), [way(0), way(1)]);
        assert_eq!(ways.iter().flat_map(text).collect::<Vec<_>>(), ["0 <= 1", "1 < 0"]);
    }
}
