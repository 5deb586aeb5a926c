//! Comparisons of minima, maxima, absolute values and choices of iterators, as comparisons of the iterators themselves,
//! of which structure is inferred: `(abs(i - j) <= 2)` -> `(i - j <= 2) * (j - i <= 2)`.
//!
//! Where that takes several cases, they are summands: `x(max(i - 1, 0))`, which is `x(k) * (max(i - 1, 0) = k)`,
//! becomes `x(i - 1) * (i - 1 >= 0) + x(0) * (i - 1 < 0)`. A reduction other than a sum has none of that, and neither
//! have arguments of functions, but for tests that are one case: `where(abs(i - j) <= W, S(i, j), -inf)`.
//!
//! Invariant: of the cases of a value, exactly one holds at each point.

use std::collections::BTreeSet;

use dastac_elements::Function;

use super::bounded::replace;
use crate::ast::{
    Aspect, BinaryOp, CompareOp, Comparison, Expr, ExprKind, Name, Operation, PLACE, ReduceOp,
    Reduction, RuleItem, Span, Term,
};
use crate::parser::sums::free;

/// More cases than this are left to be tested where the program runs.
const MOST: usize = 16;

/// Rewrites the comparisons of a rule.
pub(super) fn rule(rule: &mut RuleItem, symbols: &BTreeSet<String>) {
    let operator = rule.reduction.as_ref().map(|reduction| reduction.operator);
    let adds = rule.aspect != Aspect::Value || matches!(operator, None | Some(ReduceOp::Sum));
    let cases = Cases { symbols };
    match adds {
        true => cases.summand(&mut rule.body),
        false => cases.within(&mut rule.body),
    }
}

/// A value where some comparisons hold.
#[derive(Clone)]
struct Case {
    when: Vec<Comparison>,
    value: Expr,
}

/// What a product is multiplied with in one of several cases.
#[derive(Clone, Default)]
struct Summand {
    when: Vec<Comparison>,
    /// Names of places of elements, and the expressions that they are.
    places: Vec<(String, Expr)>,
}

impl Summand {
    fn and(&self, other: &Summand) -> Summand {
        let mut both = self.clone();
        both.when.extend(other.when.iter().cloned());
        both.places.extend(other.places.iter().cloned());
        both
    }
}

struct Cases<'s> {
    symbols: &'s BTreeSet<String>,
}

impl Cases<'_> {
    /// A summand of what is added up.
    fn summand(&self, term: &mut Term) {
        match term {
            Term::Sum(parts, _) => parts.iter_mut().for_each(|part| self.summand(part)),
            Term::Product(factors, span) => {
                let is_comparison = |factor: &&mut Term| {
                    matches!(factor, Term::Call { operation: Operation::Compare(_), .. })
                };
                let others = factors.iter_mut().filter(|factor| !is_comparison(factor));
                others.for_each(|factor| self.summand(factor));
                let (span, factors) = (*span, factors.clone());
                if let Some(found) = self.product(factors, span) {
                    *term = found;
                }
            }
            Term::Call { operation: Operation::Compare(_), span, .. } => {
                let span = *span;
                match self.product(vec![term.clone()], span) {
                    Some(found) => *term = found,
                    None => self.within(term),
                }
            }
            Term::Reduced { reduction, body, .. } if reduction.operator == ReduceOp::Sum => {
                self.summand(body);
                drop_places(reduction, body);
                if reduction.iterators.is_empty() {
                    *term = (**body).clone();
                }
            }
            other => self.within(other),
        }
    }

    /// What is within a value.
    fn within(&self, term: &mut Term) {
        if let Term::Call { operation: Operation::Where, arguments, .. } = term
            && let Some(test @ Term::Call { operation: Operation::Compare(_), span, .. }) =
                arguments.first()
            && let Some(mut found) = self.alternatives(test)
            && found.len() == 1
        {
            arguments[0] = product(conditions(found.remove(0)), *span);
        }
        if let Term::Reduced { reduction, body, .. } = term
            && reduction.operator == ReduceOp::Sum
        {
            // A rule of its own, in which elements may be added up.
            self.summand(body);
            drop_places(reduction, body);
            return;
        }
        term.parts_mut().iter_mut().for_each(|part| self.within(part));
    }

    /// A product with its comparisons of values as those of iterators; `None` if it has none.
    fn product(&self, factors: Vec<Term>, span: Span) -> Option<Term> {
        let mut plain = Vec::new();
        let mut summands = vec![Summand::default()];
        let mut found = false;
        for factor in factors {
            let place = place(&factor).and_then(|(value, at)| Some((self.cases(value)?, at)));
            let own: Option<Vec<Summand>> = match place {
                Some((values, at)) => {
                    let one = |case: Case| {
                        let places = vec![(at.to_owned(), case.value)];
                        Summand { when: case.when, places }
                    };
                    Some(values.into_iter().map(one).collect())
                }
                None => self.alternatives(&factor).map(|all| {
                    let one = |when| Summand { when, places: Vec::new() };
                    all.into_iter().map(one).collect()
                }),
            };
            match own.filter(|own| summands.len() * own.len() <= MOST) {
                Some(own) => {
                    found = true;
                    let with = |one: &Summand| {
                        let one = one.clone();
                        own.iter().map(move |other| one.and(other))
                    };
                    summands = summands.iter().flat_map(with).collect();
                }
                None => plain.push(factor),
            }
        }
        if !found {
            return None;
        }
        let summands = summands.into_iter().map(|Summand { when, places }| {
            let mut factors = plain.clone();
            factors.extend(conditions(when));
            for (at, value) in places {
                let stands = factors.iter().any(|factor| free(factor).contains(&at))
                    && factors.iter().all(|factor| only_in_subscripts(factor, &at));
                match stands {
                    true => factors.iter_mut().for_each(|factor| put(factor, &at, &value)),
                    false => {
                        let at = Expr { kind: ExprKind::Name(at), span: value.span };
                        factors.push(Term::Comparison(compared(at, CompareOp::Eq, value)));
                    }
                }
            }
            product(factors, span)
        });
        let mut summands: Vec<Term> = summands.collect();
        Some(match summands.len() {
            1 => summands.remove(0),
            _ => Term::Sum(summands, span),
        })
    }

    /// The cases in which a comparison of values holds, no two at once; `None` if it is not one of iterators.
    fn alternatives(&self, term: &Term) -> Option<Vec<Vec<Comparison>>> {
        let Term::Call { operation: Operation::Compare(operator), arguments, .. } = term else {
            return None;
        };
        let [left, right] = arguments.as_slice() else { return None };
        self.compare(left, *operator, right)
    }

    fn compare(
        &self,
        left: &Term,
        operator: CompareOp,
        right: &Term,
    ) -> Option<Vec<Vec<Comparison>>> {
        let (small, large, strict) = match operator {
            CompareOp::Le => (left, right, CompareOp::Le),
            CompareOp::Lt => (left, right, CompareOp::Lt),
            CompareOp::Ge => (right, left, CompareOp::Le),
            CompareOp::Gt => (right, left, CompareOp::Lt),
            CompareOp::Eq | CompareOp::Ne => return self.each(left, operator, right),
        };
        // All of what the smaller side is the maximum of is less than all of what the larger one is the minimum of.
        match (self.extremes(small, true), self.extremes(large, false)) {
            (Some(small), Some(large)) => {
                let pairs =
                    small.iter().flat_map(|one| large.iter().map(move |other| (one, other)));
                let pairs = pairs.map(|(one, other)| compared(one.clone(), strict, other.clone()));
                Some(vec![pairs.collect()])
            }
            _ => self.each(left, operator, right),
        }
    }

    /// The comparison in each case of both sides.
    fn each(&self, left: &Term, operator: CompareOp, right: &Term) -> Option<Vec<Vec<Comparison>>> {
        let both = paired(&self.cases(left)?, &self.cases(right)?, &|one, other| {
            (one.clone(), other.clone())
        })?;
        let case = |(mut when, (left, right)): (Vec<Comparison>, (Expr, Expr))| {
            when.push(compared(left, operator, right));
            when
        };
        Some(both.into_iter().map(case).collect())
    }

    /// Expressions of which a value is the largest, or the smallest.
    fn extremes(&self, term: &Term, largest: bool) -> Option<Vec<Expr>> {
        if let Some([case]) = self.cases(term).as_deref()
            && case.when.is_empty()
        {
            return Some(vec![case.value.clone()]);
        }
        match term {
            Term::Call { operation: Operation::Max, arguments, .. } if largest => {
                self.of_all(arguments, largest)
            }
            Term::Call { operation: Operation::Min, arguments, .. } if !largest => {
                self.of_all(arguments, largest)
            }
            Term::Call { operation: Operation::Function(Function::Abs), arguments, .. }
                if largest =>
            {
                let [of] = self.extremes(arguments.first()?, true)?.try_into().ok()?;
                Some(vec![of.clone(), negative(of)])
            }
            Term::Sum(parts, _) => {
                let mut sums: Option<Vec<Expr>> = None;
                for part in parts {
                    let own = self.extremes(part, largest)?;
                    sums = Some(match sums {
                        None => own,
                        Some(known) if known.len() * own.len() <= MOST => known
                            .iter()
                            .flat_map(|one| own.iter().map(move |other| added(one, other)))
                            .collect(),
                        Some(_) => return None,
                    });
                }
                sums
            }
            Term::Product(parts, _) => {
                let (factor, rest) = scaled(parts)?;
                let own = self.extremes(rest, largest == (factor > 0))?;
                Some(own.into_iter().map(|one| times(factor, one)).collect())
            }
            _ => None,
        }
    }

    fn of_all(&self, arguments: &[Term], largest: bool) -> Option<Vec<Expr>> {
        let mut all = Vec::new();
        for argument in arguments {
            all.extend(self.extremes(argument, largest)?);
        }
        (all.len() <= MOST).then_some(all)
    }

    /// The cases of a value of iterators and symbols; `None` if it has elements, or is not affine in each case.
    fn cases(&self, term: &Term) -> Option<Vec<Case>> {
        let span = term.span();
        let one =
            |kind: ExprKind| Some(vec![Case { when: Vec::new(), value: Expr { kind, span } }]);
        match term {
            Term::Index(name) => one(ExprKind::Name(name.text.clone())),
            Term::Access { tensor, subscripts, reciprocal: false, position: None, .. }
                if subscripts.is_empty() && self.symbols.contains(&tensor.text) =>
            {
                one(ExprKind::Name(tensor.text.clone()))
            }
            Term::Number { .. } => one(ExprKind::Int(whole(term)?)),
            Term::Sum(parts, _) => {
                let mut all: Option<Vec<Case>> = None;
                for part in parts {
                    let own = self.cases(part)?;
                    all = Some(match all {
                        None => own,
                        Some(known) => values(paired(&known, &own, &added)?),
                    });
                }
                all
            }
            Term::Product(parts, _) => {
                let (factor, rest) = scaled(parts)?;
                let cases = self.cases(rest)?.into_iter();
                Some(cases.map(|case| Case { value: times(factor, case.value), ..case }).collect())
            }
            Term::Call {
                operation: operation @ (Operation::Min | Operation::Max),
                arguments,
                ..
            } => {
                let order = match operation {
                    Operation::Min => CompareOp::Le,
                    _ => CompareOp::Ge,
                };
                let mut arguments = arguments.iter();
                let first = self.cases(arguments.next()?)?;
                arguments.try_fold(first, |known, argument| {
                    let both = paired(&known, &self.cases(argument)?, &|one, other| {
                        (one.clone(), other.clone())
                    })?;
                    let each = both.into_iter().flat_map(|(when, (one, other))| {
                        either(when, compared(one.clone(), order, other.clone()), (one, other))
                    });
                    few(each.collect())
                })
            }
            Term::Call { operation: Operation::Function(Function::Abs), arguments, .. } => {
                let zero = || Expr { kind: ExprKind::Int(0), span };
                let own = self.cases(arguments.first()?)?.into_iter();
                let each = own.flat_map(|Case { when, value }| {
                    let test = compared(value.clone(), CompareOp::Ge, zero());
                    either(when, test, (value.clone(), negative(value)))
                });
                few(each.collect())
            }
            Term::Call {
                operation: Operation::Function(function @ (Function::FloorDivide | Function::Mod)),
                arguments,
                ..
            } => {
                let [of, by] = arguments.as_slice() else { return None };
                let by = whole(by).filter(|by| *by > 0)?;
                let operator = match function {
                    Function::Mod => BinaryOp::Mod,
                    _ => BinaryOp::Div,
                };
                let cases = self.cases(of)?.into_iter().map(|case| {
                    let by = Expr { kind: ExprKind::Int(by), span };
                    Case { value: binary(operator, case.value, by), ..case }
                });
                Some(cases.collect())
            }
            Term::Call { operation: Operation::Where, arguments, .. } => {
                let [test, one, other] = arguments.as_slice() else { return None };
                let (holds, fails) = match test {
                    Term::Comparison(comparison) => {
                        (vec![vec![comparison.clone()]], fails(comparison))
                    }
                    Term::Call { operation: Operation::Compare(operator), arguments, .. } => {
                        let [left, right] = arguments.as_slice() else { return None };
                        let fails = self.each(left, operator.negated(), right)?;
                        (self.each(left, *operator, right)?, fails)
                    }
                    _ => return None,
                };
                let (one, other) = (self.cases(one)?, self.cases(other)?);
                let each =
                    [(holds, one), (fails, other)].into_iter().flat_map(|(tests, values)| {
                        tests.into_iter().flat_map(move |test| {
                            values.clone().into_iter().map(move |Case { when, value }| Case {
                                when: test.iter().cloned().chain(when).collect(),
                                value,
                            })
                        })
                    });
                few(each.collect())
            }
            _ => None,
        }
    }
}

/// Leaves out places in whose stead expressions stand.
fn drop_places(reduction: &mut Reduction, body: &Term) {
    let left = free(body);
    let stays = |one: &Name| !one.text.contains(PLACE) || left.contains(&one.text);
    reduction.iterators.retain(stays);
}

/// One value where a comparison of two operands holds, another one where it does not.
fn either(when: Vec<Comparison>, test: Comparison, (one, other): (Expr, Expr)) -> [Case; 2] {
    let operators = test.operators.iter().map(|operator| operator.negated()).collect();
    let fails = Comparison { operators, ..test.clone() };
    [(test, one), (fails, other)].map(|(test, value)| {
        let when = when.iter().cloned().chain([test]).collect();
        Case { when, value }
    })
}

/// A list that is not too long.
fn few(cases: Vec<Case>) -> Option<Vec<Case>> {
    (cases.len() <= MOST).then_some(cases)
}

/// Something of each pair of cases.
fn paired<T>(
    some: &[Case],
    others: &[Case],
    of: &dyn Fn(&Expr, &Expr) -> T,
) -> Option<Vec<(Vec<Comparison>, T)>> {
    if some.len() * others.len() > MOST {
        return None;
    }
    let pairs = some.iter().flat_map(|one| others.iter().map(move |other| (one, other)));
    let each = pairs.map(|(one, other)| {
        let when = one.when.iter().chain(&other.when).cloned().collect();
        (when, of(&one.value, &other.value))
    });
    Some(each.collect())
}

fn values(pairs: Vec<(Vec<Comparison>, Expr)>) -> Vec<Case> {
    pairs.into_iter().map(|(when, value)| Case { when, value }).collect()
}

/// The value that is compared with the place of an element that it chooses.
fn place(factor: &Term) -> Option<(&Term, &str)> {
    match factor {
        Term::Call { operation: Operation::Compare(CompareOp::Eq), arguments, .. } => {
            match arguments.as_slice() {
                [value, Term::Index(name)] if name.text.contains(PLACE) => {
                    Some((value, name.text.as_str()))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// A whole number.
fn whole(term: &Term) -> Option<i64> {
    match term {
        Term::Number { value, reciprocal: false, .. }
            if value.fract() == 0.0 && value.abs() < (1u64 << 31) as f64 =>
        {
            Some(*value as i64)
        }
        _ => None,
    }
}

/// The product of the numbers among some factors, none of which is zero, and the one other factor.
fn scaled(factors: &[Term]) -> Option<(i64, &Term)> {
    let (numbers, others): (Vec<&Term>, Vec<&Term>) =
        factors.iter().partition(|factor| whole(factor).is_some());
    let [rest] = others.as_slice() else { return None };
    let mut numbers = numbers.iter().filter_map(|number| whole(number));
    let factor = numbers.try_fold(1i64, i64::checked_mul)?;
    (factor != 0).then_some((factor, *rest))
}

/// The cases in which a comparison does not hold: an operator of the chain is the first one that fails.
fn fails(comparison: &Comparison) -> Vec<Vec<Comparison>> {
    let Comparison { operands, operators, .. } = comparison;
    let at = |place: usize, operator: CompareOp| {
        compared(operands[place].clone(), operator, operands[place + 1].clone())
    };
    let first = |failing: usize| {
        let before = (0..failing).map(|place| at(place, operators[place]));
        before.chain([at(failing, operators[failing].negated())]).collect()
    };
    (0..operators.len()).map(first).collect()
}

fn compared(left: Expr, operator: CompareOp, right: Expr) -> Comparison {
    let span = left.span.to(right.span);
    Comparison { operands: vec![left, right], operators: vec![operator], span }
}

fn binary(operator: BinaryOp, left: Expr, right: Expr) -> Expr {
    let span = left.span.to(right.span);
    Expr { kind: ExprKind::Binary(operator, Box::new(left), Box::new(right)), span }
}

/// `a + b`; `a - b` where `b` is a negative.
fn added(left: &Expr, right: &Expr) -> Expr {
    match &right.kind {
        ExprKind::Neg(inner) => binary(BinaryOp::Sub, left.clone(), (**inner).clone()),
        ExprKind::Int(value) if *value < 0 => {
            let positive = Expr { kind: ExprKind::Int(-value), span: right.span };
            binary(BinaryOp::Sub, left.clone(), positive)
        }
        _ => binary(BinaryOp::Add, left.clone(), right.clone()),
    }
}

fn times(factor: i64, expr: Expr) -> Expr {
    let span = expr.span;
    match (factor, &expr.kind) {
        (1, _) => expr,
        (-1, _) => negative(expr),
        (_, ExprKind::Int(value)) => match value.checked_mul(factor) {
            Some(value) => Expr { kind: ExprKind::Int(value), span },
            None => binary(BinaryOp::Mul, Expr { kind: ExprKind::Int(factor), span }, expr),
        },
        _ => binary(BinaryOp::Mul, Expr { kind: ExprKind::Int(factor), span }, expr),
    }
}

fn negative(expr: Expr) -> Expr {
    let span = expr.span;
    match expr.kind {
        ExprKind::Int(value) => Expr { kind: ExprKind::Int(-value), span },
        ExprKind::Neg(inner) => *inner,
        ExprKind::Binary(BinaryOp::Sub, left, right) => binary(BinaryOp::Sub, *right, *left),
        kind => Expr { kind: ExprKind::Neg(Box::new(Expr { kind, span })), span },
    }
}

fn conditions(all: Vec<Comparison>) -> Vec<Term> {
    all.into_iter().map(Term::Comparison).collect()
}

fn product(mut factors: Vec<Term>, span: Span) -> Term {
    match factors.len() {
        1 => factors.remove(0),
        _ => Term::Product(factors, span),
    }
}

/// Whether a name only stands in subscripts and comparisons of a factor, where an expression may stand instead.
fn only_in_subscripts(factor: &Term, name: &str) -> bool {
    match factor {
        Term::Access { position, .. } => position.as_ref().is_none_or(|own| own.text != name),
        Term::Number { .. } | Term::Comparison(_) => true,
        other => !free(other).contains(name),
    }
}

/// An expression in place of a name in the subscripts and comparisons of a factor.
fn put(factor: &mut Term, name: &str, value: &Expr) {
    match factor {
        Term::Access { subscripts, .. } => {
            subscripts.iter_mut().for_each(|subscript| replace(subscript, name, value));
        }
        Term::Comparison(comparison) => {
            comparison.operands.iter_mut().for_each(|operand| replace(operand, name, value));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affine::value as number;
    use crate::ast::Item;

    const N: i64 = 4;

    /// The right-hand side of `y(i, j) := ..`.
    fn body(text: &str) -> Term {
        let (file, found) =
            crate::parse(&format!("symbols: N\ny(i, j) := {text}\nx:D(i) := (0 <= i < N)"));
        assert!(found.is_empty(), "{found:?}");
        let rule = file.items.into_iter().find_map(|item| match item {
            Item::Rule(rule) => Some(rule),
            _ => None,
        });
        rule.unwrap().body
    }

    fn named(name: &str, (i, j): (i64, i64)) -> i64 {
        match name {
            "i" => i,
            "j" => j,
            "N" => N,
            other => panic!("{other}"),
        }
    }

    fn of(expr: &Expr, point: (i64, i64)) -> i64 {
        number(expr, &|name| Some(named(name, point))).unwrap()
    }

    fn holds(comparison: &Comparison, point: (i64, i64)) -> bool {
        let pairs = comparison.operands.windows(2).zip(&comparison.operators);
        let mut pairs =
            pairs.map(|(pair, operator)| (of(&pair[0], point), *operator, of(&pair[1], point)));
        pairs.all(|(left, operator, right)| operator.holds(&left, &right))
    }

    /// What a term is at a point, by the meaning of its functions.
    fn meant(term: &Term, point: (i64, i64)) -> i64 {
        let at = |term: &Term| meant(term, point);
        match term {
            Term::Index(name) | Term::Access { tensor: name, .. } => named(&name.text, point),
            Term::Number { .. } => whole(term).unwrap(),
            Term::Sum(parts, _) => parts.iter().map(at).sum(),
            Term::Product(parts, _) => parts.iter().map(at).product(),
            Term::Comparison(comparison) => i64::from(holds(comparison, point)),
            Term::Call { operation, arguments, .. } => {
                let values: Vec<i64> = match operation {
                    Operation::Where if at(&arguments[0]) != 0 => vec![at(&arguments[1])],
                    Operation::Where => vec![at(&arguments[2])],
                    _ => arguments.iter().map(at).collect(),
                };
                match operation {
                    Operation::Where => values[0],
                    Operation::Min => values[0].min(values[1]),
                    Operation::Max => values[0].max(values[1]),
                    Operation::Function(Function::Abs) => values[0].abs(),
                    Operation::Function(Function::FloorDivide) => values[0].div_euclid(values[1]),
                    Operation::Function(Function::Mod) => values[0].rem_euclid(values[1]),
                    Operation::Compare(operator) => {
                        i64::from(operator.holds(&values[0], &values[1]))
                    }
                    other => panic!("{other:?}"),
                }
            }
            other => panic!("{other:?}"),
        }
    }

    fn points() -> impl Iterator<Item = (i64, i64)> {
        (-6..7).flat_map(|i| (-6..7).map(move |j| (i, j)))
    }

    #[test]
    fn one_case_holds_at_each_point() {
        let symbols = BTreeSet::from(["N".to_string()]);
        for text in [
            "abs(i - 2)",
            "max(i - 1, 0)",
            "min(max(i + j - 1, 0), N - 1)",
            "abs(i) + 2 * min(j, 3)",
            "where(i < j, i, 2 * j)",
            "where(0 <= i < N, i, -j)",
            "where(i != j, abs(i), 7)",
            "abs(abs(i) - 3)",
            "3 - max(i, j)",
            "2 - 3 * abs(i - j)",
            "abs(i - j) // 2",
            "min(i, j) % 3",
            "where(abs(i - j) <= 1, i, j)",
            "N - 1 - abs(N - 1 - i)",
        ] {
            let Term::Product(factors, _) = body(&format!("x({text})")) else { panic!("{text}") };
            let value = factors.iter().find_map(place).unwrap().0;
            let cases = Cases { symbols: &symbols }.cases(value).expect(text);
            for point in points() {
                let own: Vec<&Case> = cases
                    .iter()
                    .filter(|case| case.when.iter().all(|one| holds(one, point)))
                    .collect();
                assert_eq!(own.len(), 1, "{text} at {point:?}");
                assert_eq!(of(&own[0].value, point), meant(value, point), "{text} at {point:?}");
            }
        }
    }

    #[test]
    fn alternatives_hold_where_a_comparison_does() {
        let symbols = BTreeSet::from(["N".to_string()]);
        // With the number of alternatives.
        for (text, count) in [
            ("(abs(i - j) <= 2)", 1),
            ("(2 >= abs(i - j))", 1),
            ("(max(i, j) < min(N, 3))", 1),
            ("(abs(i) + abs(j) <= 3)", 1),
            ("(i <= 4 - 2 * abs(j))", 1),
            ("(3 - abs(i) >= max(j, 0))", 1),
            ("(abs(i) > 2)", 2),
            ("(min(i, j) <= 1)", 2),
            ("(2 * abs(i - j) != 4)", 2),
            ("(max(i, j) = 2)", 2),
        ] {
            let term = body(text);
            let found = Cases { symbols: &symbols }.alternatives(&term).expect(text);
            assert_eq!(found.len(), count, "{text}");
            for point in points() {
                let all = |one: &&Vec<Comparison>| one.iter().all(|one| holds(one, point));
                let holding = found.iter().filter(all).count() as i64;
                assert_eq!(holding, meant(&term, point), "{text} at {point:?}");
            }
        }
        for text in ["(abs(x(i)) <= 2)", "(abs(i) <= 2.5)", "(exp(i) < 3)"] {
            assert!(Cases { symbols: &symbols }.alternatives(&body(text)).is_none(), "{text}");
        }
    }
}
