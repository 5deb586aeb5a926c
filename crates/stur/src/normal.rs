//! Takes expressions apart that isl cannot express, so that the rest of a program is affine.
//!
//! - A non-affine expression of symbols only becomes a *derived symbol*, a parameter of its own: `s < M * (N + 1) / 2`
//!   -> `s < P` with `P = (M*N + M) / 2`. Polynomials are multiplied out first, so that `N * M` and `M * N` are one
//!   parameter.
//! - An equality that gives an iterator by a non-affine expression of others becomes a [`Definition`] of its product:
//!   in `(s = N * i + j) * B(s)`, `s` is computed, not a loop.
//! - A non-affine subscript is the definition of a new iterator: `B(N * i + j)` -> `(s = N * i + j) * B(s)`.
//! - Other non-affine comparisons become [`Guard`]s of their product, tested at every point.
//!
//! Invariant: the points of a product are those points of its comparisons at which every definition and guard holds
//! too; the comparisons alone describe a superset. The sets of `:D`, `:U` and `:R` stay exact: an expression that is
//! not affine in their iterators is an error.
//!
//! The reference evaluator reads the program as it was checked, without any of this.

use std::collections::{BTreeMap, BTreeSet};

use crate::affine::{apply, constant, is_affine, names};
use crate::ast::{BinaryOp, CompareOp, Comparison, Expr, ExprKind, Operation, Span};
use crate::diagnostic::Diagnostic;
use crate::program::{
    Applied, Definition, Derived, Guard, Product, Program, Scalar, Structure, TensorId,
};

/// A polynomial with more terms, or a term with more factors, is not multiplied out.
const MAX_TERMS: usize = 32;
/// A derived symbol with a longer name is called by the text that the user wrote.
const MAX_NAME: usize = 120;

/// A polynomial over symbols and derived quotients: monomials (factors in order) with their coefficients, none zero.
type Polynomial = BTreeMap<Vec<String>, i64>;

/// The program with all of its expressions affine, over symbols and derived symbols.
///
/// # Errors
/// Structures that are not affine.
pub(crate) fn normalise(program: &Program) -> Result<Program, Vec<Diagnostic>> {
    let symbols = program.symbols.iter().map(|(name, _)| name.clone()).collect();
    let mut normaliser = Normaliser { symbols, ..Normaliser::default() };
    let mut program = program.clone();
    for tensor in &mut program.tensors {
        for (aspect, structure) in
            [(":D", &mut tensor.domain), (":U", &mut tensor.unique), (":R", &mut tensor.redundancy)]
        {
            if let Some(structure) = structure {
                normaliser.structure(&format!("{}{aspect}", tensor.name), structure);
            }
        }
    }
    let exact = program.exact_structures();
    let dense: Vec<bool> = program.tensors.iter().map(|tensor| tensor.format.is_none()).collect();
    let fills: Vec<f64> = program.tensor_ids().map(|tensor| program.fill(tensor)).collect();
    for rule in &mut program.rules {
        for product in &mut rule.products {
            reciprocals(product, &|tensor| match (dense[tensor.0], exact[tensor.0]) {
                (true, true) => Zeros::Structure,
                (true, false) => Zeros::Values,
                (false, _) => Zeros::Stored,
            });
            filled(product, &|tensor| fills[tensor.0] != 0.0);
            normaliser.product(&rule.iterators, product);
        }
    }
    program.derived = normaliser.derived;
    program.divisors = normaliser.divisors;
    if normaliser.errors.is_empty() { Ok(program) } else { Err(normaliser.errors) }
}

/// A comparison with derived symbols in place of expressions of symbols that are not affine; `None` if it has none, or
/// some that no derived symbol is known for.
pub(crate) fn with_derived(comparison: &Comparison, known: &[Derived]) -> Option<Comparison> {
    let operands = &comparison.operands;
    if known.is_empty() || operands.iter().all(|operand| is_affine(operand).is_ok()) {
        return None;
    }
    let is_known = |name: &str| known.iter().any(|derived| derived.name == name);
    // What is left of a product of other names than those of symbols is not affine either.
    let symbols = known.iter().flat_map(|derived| names(&derived.value)).map(str::to_owned);
    let derived = known.to_vec();
    let mut normaliser =
        Normaliser { symbols: symbols.collect(), derived, ..Normaliser::default() };
    let operands: Option<Vec<Expr>> =
        operands.iter().map(|operand| normaliser.affine(operand)).collect();
    let all_known = normaliser.derived.iter().all(|derived| is_known(&derived.name));
    operands.filter(|_| all_known).map(|operands| Comparison { operands, ..comparison.clone() })
}

/// What tells where the reciprocal of an element is 0.
#[derive(Clone, Copy, PartialEq)]
enum Zeros {
    /// The structure.
    Structure,
    /// Whether it is stored: an argument of a function, which is 0 where the argument is not.
    Stored,
    /// Its value.
    Values,
}

/// Reciprocals of elements that are 0 where their tensor is structurally zero, which only their values tell:
/// `s^-1(i)` -> `where(s(i) != 0, 1 / s(i), 0)`.
fn reciprocals(product: &mut Product, zeros: &dyn Fn(TensorId) -> Zeros) {
    let of = |at: usize, zeros: Zeros| {
        let (element, zero) = (Scalar::Element(at), Scalar::Number(0.0));
        let test = Operation::Compare(CompareOp::Ne);
        let quotient = vec![Scalar::Number(1.0), element.clone()];
        let quotient = Scalar::Apply(Operation::Divide, quotient);
        if zeros == Zeros::Stored {
            return quotient;
        }
        let parts = vec![Scalar::Apply(test, vec![element, zero.clone()]), quotient, zero];
        Scalar::Apply(Operation::Where, parts)
    };
    let accesses = &product.accesses;
    let is_value = |at: usize| zeros(accesses[at].tensor) == Zeros::Values;
    for function in &mut product.functions {
        function.value = divided(&function.value, &is_value);
    }
    for (at, access) in product.accesses.iter_mut().enumerate() {
        let zeros = zeros(access.tensor);
        if !access.reciprocal || zeros == Zeros::Structure {
            continue;
        }
        access.reciprocal = false;
        if std::mem::replace(&mut access.argument, true) {
            for function in &mut product.functions {
                function.value = function.value.map(&mut |leaf| match leaf {
                    Scalar::Element(other) if *other == at => of(at, zeros),
                    leaf => leaf.clone(),
                });
            }
        } else {
            let (value, span) = (of(at, zeros), access.span);
            product.functions.push(Applied { value, reciprocal: false, span });
        }
    }
}

/// A value whose quotients by elements are 0 where only the element's value tells that it is structurally zero:
/// `a(i) / s(i)` -> `where(s(i) != 0, a(i) / s(i), 0)`.
pub(crate) fn divided(value: &Scalar, is_value: &dyn Fn(usize) -> bool) -> Scalar {
    let all = |parts: &[Scalar]| parts.iter().map(|part| divided(part, is_value)).collect();
    match value {
        Scalar::Sum(parts) => Scalar::Sum(all(parts)),
        Scalar::Product(parts) => Scalar::Product(all(parts)),
        Scalar::Apply(Operation::Divide, parts)
            if let [dividend, divisor @ Scalar::Element(at)] = &parts[..]
                && is_value(*at) =>
        {
            let quotient = vec![divided(dividend, is_value), divisor.clone()];
            let test = vec![divisor.clone(), Scalar::Number(0.0)];
            let test = Scalar::Apply(Operation::Compare(CompareOp::Ne), test);
            let quotient = Scalar::Apply(Operation::Divide, quotient);
            Scalar::Apply(Operation::Where, vec![test, quotient, Scalar::Number(0.0)])
        }
        Scalar::Apply(operation, parts) => Scalar::Apply(*operation, all(parts)),
        leaf => leaf.clone(),
    }
}

/// Elements that are not 0 where they are not stored as functions: what these are there is known.
fn filled(product: &mut Product, has_fill: &dyn Fn(TensorId) -> bool) {
    for (at, access) in product.accesses.iter_mut().enumerate() {
        if access.argument || access.position.is_some() || !has_fill(access.tensor) {
            continue;
        }
        let reciprocal = std::mem::take(&mut access.reciprocal);
        access.argument = true;
        let (value, span) = (Scalar::Element(at), access.span);
        product.functions.push(Applied { value, reciprocal, span });
    }
}

#[derive(Default)]
struct Normaliser {
    symbols: Vec<String>,
    derived: Vec<Derived>,
    divisors: Vec<Expr>,
    errors: Vec<Diagnostic>,
}

impl Normaliser {
    fn structure(&mut self, name: &str, structure: &mut Structure) {
        for comparison in structure.regions.iter_mut().flat_map(|region| &mut region.comparisons) {
            for operand in &mut comparison.operands {
                self.divisors_of(operand);
                match self.affine(operand) {
                    Some(affine) => *operand = affine,
                    None => {
                        let span = is_affine(operand).err().unwrap_or(operand.span);
                        let message = format!("`{name}` is not affine in its iterators");
                        let label = "a product or quotient of an iterator and another name";
                        self.errors.push(Diagnostic::error("E0312", message, span, label).hint(
                            "structures need sums and constant multiples of iterators; put this comparison into the \
                            rules that read the tensor",
                        ));
                        *operand = integer(0, span);
                    }
                }
            }
        }
    }

    fn product(&mut self, head: &[String], product: &mut Product) {
        let mut relations: Vec<Guard> = Vec::new();
        let mut comparisons = Vec::new();
        for comparison in std::mem::take(&mut product.comparisons) {
            comparison.operands.iter().for_each(|operand| self.divisors_of(operand));
            let affine: Vec<Option<Expr>> =
                comparison.operands.iter().map(|operand| self.affine(operand)).collect();
            let pairs = comparison.operands.windows(2).zip(&comparison.operators).enumerate();
            for (k, (sides, operator)) in pairs {
                if affine[k].is_none() || affine[k + 1].is_none() {
                    let [left, right] = [&sides[0], &sides[1]].map(Expr::clone);
                    relations.push(Guard { left, operator: *operator, right });
                }
            }
            comparisons.extend(affine_runs(&comparison, affine));
        }
        for subscript in product.accesses.iter_mut().flat_map(|access| &mut access.subscripts) {
            self.divisors_of(subscript);
            match self.affine(subscript) {
                Some(affine) => *subscript = affine,
                None => {
                    let name = fresh(&product.iterators, &self.symbols);
                    let computed =
                        Expr { kind: ExprKind::Name(name.clone()), span: subscript.span };
                    let right = std::mem::replace(subscript, computed.clone());
                    product.iterators.push(name);
                    relations.push(Guard { left: computed, operator: CompareOp::Eq, right });
                }
            }
        }
        product.comparisons = comparisons;
        for function in &mut product.functions {
            let span = function.span;
            function.value = function.value.map(&mut |leaf| self.tested(leaf, span));
        }
        self.define(head, product, relations);
    }

    /// A comparison in an argument of a function with affine operands; any other leaf is as it was.
    fn tested(&mut self, leaf: &Scalar, span: Span) -> Scalar {
        let Scalar::Holds(comparison) = leaf else { return leaf.clone() };
        let mut comparison = comparison.clone();
        for operand in &mut comparison.operands {
            self.divisors_of(operand);
            match self.affine(operand) {
                Some(affine) => *operand = affine,
                None => {
                    let what = "a comparison that is not affine, in an argument of a function";
                    let error = Diagnostic::unsupported(what, span, "this function");
                    self.errors.push(error.hint("multiply with it: `A(i) * (i * j < N)`"));
                    *operand = integer(0, span);
                }
            }
        }
        Scalar::Holds(comparison)
    }

    /// Splits relations into definitions and guards.
    fn define(&self, head: &[String], product: &mut Product, relations: Vec<Guard>) {
        let mut definitions: Vec<Definition> = Vec::new();
        for relation in relations {
            match definition(&relation, head, product, &definitions) {
                Some(definition) => definitions.push(definition),
                None => product.guards.push(relation),
            }
        }
        // An affine equality that follows from a computed iterator computes its iterator too, which is not searched
        // for.
        let computed = |definitions: &[Definition], expr: &Expr| {
            definitions.iter().any(|definition| names(expr).contains(definition.iterator.as_str()))
        };
        loop {
            let found = product.comparisons.iter().enumerate().find_map(|(k, comparison)| {
                let ([left, right], [CompareOp::Eq]) =
                    (comparison.operands.as_slice(), comparison.operators.as_slice())
                else {
                    return None;
                };
                let relation =
                    Guard { left: left.clone(), operator: CompareOp::Eq, right: right.clone() };
                definition(&relation, head, product, &definitions)
                    .filter(|definition| computed(&definitions, &definition.value))
                    .map(|definition| (k, definition))
            });
            let Some((k, definition)) = found else { break };
            product.comparisons.remove(k);
            definitions.push(definition);
        }
        // Sorted so that each comes after those that it reads; there are no cycles.
        while !definitions.is_empty() {
            let ready = definitions.iter().position(|one| {
                let reads = names(&one.value);
                !definitions.iter().any(|other| reads.contains(other.iterator.as_str()))
            });
            product.definitions.push(definitions.remove(ready.unwrap_or(0)));
        }
    }

    /// Collects the divisors of an expression that are not numbers.
    fn divisors_of(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Int(_) | ExprKind::Name(_) => {}
            ExprKind::Neg(inner) => self.divisors_of(inner),
            ExprKind::Binary(op, left, right) => {
                self.divisors_of(left);
                self.divisors_of(right);
                let divides = matches!(op, BinaryOp::Div | BinaryOp::Mod);
                if divides && constant(right).is_none() && !self.divisors.contains(right) {
                    self.divisors.push((**right).clone());
                }
            }
        }
    }

    /// The expression with derived symbols in place of expressions that are not affine in symbols, if it is affine
    /// then.
    fn affine(&mut self, expr: &Expr) -> Option<Expr> {
        if is_affine(expr).is_ok() {
            return Some(expr.clone());
        }
        if names(expr).iter().all(|name| self.symbols.iter().any(|symbol| symbol == name)) {
            return Some(self.of_symbols(expr));
        }
        let kind = match &expr.kind {
            ExprKind::Int(_) | ExprKind::Name(_) => expr.kind.clone(),
            ExprKind::Neg(inner) => ExprKind::Neg(Box::new(self.affine(inner)?)),
            ExprKind::Binary(op, left, right) => {
                ExprKind::Binary(*op, Box::new(self.affine(left)?), Box::new(self.affine(right)?))
            }
        };
        Some(Expr { kind, span: expr.span }).filter(|expr| is_affine(expr).is_ok())
    }

    /// An expression of symbols as an affine one of symbols and derived symbols.
    fn of_symbols(&mut self, expr: &Expr) -> Expr {
        let span = expr.span;
        let Some(polynomial) = self.polynomial(expr) else {
            // Too large to multiply out, or beyond 64 bits on the way: one parameter for all of it.
            return name(&self.derive(format!("({expr})"), expr.clone(), false), span);
        };
        let mut sum: Option<Expr> = None;
        for (factors, coefficient) in &polynomial {
            let factor = match factors.as_slice() {
                [] => None,
                [one] => Some(name(one, span)),
                several => {
                    let value = several
                        .iter()
                        .map(|factor| self.value(factor, span))
                        .reduce(|left, right| binary(BinaryOp::Mul, left, right));
                    let positive = several.iter().all(|factor| self.is_nonnegative(factor));
                    let value = value.unwrap_or(integer(1, span));
                    Some(name(&self.derive(several.join("*"), value, positive), span))
                }
            };
            let term = match factor {
                None => integer(*coefficient, span),
                Some(factor) => binary(BinaryOp::Mul, integer(*coefficient, span), factor),
            };
            sum = Some(match sum {
                None => term,
                Some(sum) => binary(BinaryOp::Add, sum, term),
            });
        }
        sum.unwrap_or(integer(0, span))
    }

    /// The polynomial that equals an expression of symbols, with quotients as derived symbols. `None` if it is large or
    /// overflows.
    fn polynomial(&mut self, expr: &Expr) -> Option<Polynomial> {
        Some(match &expr.kind {
            ExprKind::Int(value) => monomial(Vec::new(), *value),
            ExprKind::Name(name) => monomial(vec![name.clone()], 1),
            ExprKind::Neg(inner) => times(&monomial(Vec::new(), -1), &self.polynomial(inner)?)?,
            ExprKind::Binary(op, left, right) => {
                let (a, b) = (self.polynomial(left)?, self.polynomial(right)?);
                match op {
                    BinaryOp::Add => plus(&a, &b)?,
                    BinaryOp::Sub => plus(&a, &times(&monomial(Vec::new(), -1), &b)?)?,
                    BinaryOp::Mul => times(&a, &b)?,
                    BinaryOp::Div => self.quotient(&a, &b, expr.clone())?,
                    BinaryOp::Mod => {
                        let written = binary(BinaryOp::Div, (**left).clone(), (**right).clone());
                        let multiple = times(&b, &self.quotient(&a, &b, written)?)?;
                        plus(&a, &times(&monomial(Vec::new(), -1), &multiple)?)?
                    }
                }
            }
        })
    }

    /// `floor(a / b)`, which is written `expr`: a derived symbol unless both are numbers.
    fn quotient(&mut self, a: &Polynomial, b: &Polynomial, written: Expr) -> Option<Polynomial> {
        if let (Some(a), Some(b)) = (number(a), number(b)) {
            return Some(monomial(Vec::new(), apply(BinaryOp::Div, a, b)?));
        }
        if number(b) == Some(1) {
            return Some(a.clone());
        }
        let nonnegative =
            a.iter().all(|(factors, c)| *c >= 0 && factors.iter().all(|f| self.is_nonnegative(f)));
        let mut name = format!("(({}) / {})", text(a), bracketed(b));
        if name.len() > MAX_NAME {
            name = format!("({written})");
        }
        let name = self.derive(name, written, nonnegative);
        Some(monomial(vec![name], 1))
    }

    /// The derived symbol of that name, which is its text.
    fn derive(&mut self, name: String, value: Expr, nonnegative: bool) -> String {
        if !self.derived.iter().any(|derived| derived.name == name) {
            self.derived.push(Derived { name: name.clone(), value, nonnegative });
        }
        name
    }

    /// The value of a symbol or derived symbol, in symbols.
    fn value(&self, of: &str, span: Span) -> Expr {
        let derived = self.derived.iter().find(|derived| derived.name == of);
        derived.map_or_else(|| name(of, span), |derived| derived.value.clone())
    }

    fn is_nonnegative(&self, name: &str) -> bool {
        self.derived.iter().find(|derived| derived.name == name).is_none_or(|d| d.nonnegative)
    }
}

/// The definition that a relation gives, if it gives one: of an iterator that has none yet and that its own value does
/// not depend on.
fn definition(
    relation: &Guard,
    head: &[String],
    product: &Product,
    definitions: &[Definition],
) -> Option<Definition> {
    if relation.operator != CompareOp::Eq {
        return None;
    }
    let mut candidates = Vec::new();
    for (side, other) in [(&relation.left, &relation.right), (&relation.right, &relation.left)] {
        if let ExprKind::Name(name) = &side.kind {
            candidates.push((name, other));
        }
    }
    // If either iterator can be computed, take the one that is not the head's: a loop over the other one may be
    // parallel.
    candidates.sort_by_key(|(name, _)| head.contains(name));
    candidates.into_iter().find_map(|(name, value)| {
        let free = product.iterators.contains(name)
            && definitions.iter().all(|definition| definition.iterator != *name)
            && !depends(value, name, definitions);
        free.then(|| Definition { iterator: name.clone(), value: value.clone() })
    })
}

/// Whether an expression mentions a name, or computed iterators that do.
fn depends(expr: &Expr, name: &str, definitions: &[Definition]) -> bool {
    let mut waiting: Vec<&str> = names(expr).into_iter().collect();
    let mut seen = BTreeSet::new();
    while let Some(next) = waiting.pop() {
        if next == name {
            return true;
        }
        if seen.insert(next)
            && let Some(definition) = definitions.iter().find(|d| d.iterator == next)
        {
            waiting.extend(names(&definition.value));
        }
    }
    false
}

/// The parts of a chain whose operands are affine.
fn affine_runs(comparison: &Comparison, affine: Vec<Option<Expr>>) -> Vec<Comparison> {
    let mut runs = Vec::new();
    let mut run = Comparison { operands: Vec::new(), operators: Vec::new(), span: comparison.span };
    for (k, operand) in affine.into_iter().enumerate() {
        match operand {
            Some(operand) => {
                if !run.operands.is_empty() {
                    run.operators.push(comparison.operators[k - 1]);
                }
                run.operands.push(operand);
            }
            None => {
                let empty =
                    Comparison { operands: Vec::new(), operators: Vec::new(), ..run.clone() };
                runs.push(std::mem::replace(&mut run, empty));
            }
        }
    }
    runs.push(run);
    runs.retain(|run| run.operands.len() > 1);
    runs
}

/// A name that no iterator or symbol has.
fn fresh(iterators: &[String], symbols: &[String]) -> String {
    let taken = |name: &String| iterators.contains(name) || symbols.contains(name);
    let mut number = 1;
    loop {
        let name = format!("at.{number}");
        if !taken(&name) {
            return name;
        }
        number += 1;
    }
}

fn monomial(factors: Vec<String>, coefficient: i64) -> Polynomial {
    if coefficient == 0 { Polynomial::new() } else { Polynomial::from([(factors, coefficient)]) }
}

/// The value, if there is no name in it.
fn number(polynomial: &Polynomial) -> Option<i64> {
    match polynomial.len() {
        0 => Some(0),
        1 => polynomial.get(&Vec::new()).copied(),
        _ => None,
    }
}

fn plus(left: &Polynomial, right: &Polynomial) -> Option<Polynomial> {
    let mut sum = left.clone();
    for (factors, coefficient) in right {
        let entry = sum.entry(factors.clone()).or_insert(0);
        *entry = entry.checked_add(*coefficient)?;
    }
    sum.retain(|_, coefficient| *coefficient != 0);
    (sum.len() <= MAX_TERMS).then_some(sum)
}

fn times(left: &Polynomial, right: &Polynomial) -> Option<Polynomial> {
    let mut product = Polynomial::new();
    for (a, x) in left {
        for (b, y) in right {
            let mut factors = [a.as_slice(), b].concat();
            factors.sort();
            if factors.len() > MAX_TERMS {
                return None;
            }
            product = plus(&product, &monomial(factors, x.checked_mul(*y)?))?;
        }
    }
    Some(product)
}

/// A polynomial as text, the highest degrees first: `M*N + 2*M - 1`.
fn text(polynomial: &Polynomial) -> String {
    let mut terms: Vec<(&Vec<String>, &i64)> = polynomial.iter().collect();
    terms.sort_by_key(|(factors, _)| std::cmp::Reverse(factors.len()));
    let mut text = String::new();
    for (factors, coefficient) in terms {
        let sign = match (text.is_empty(), *coefficient < 0) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        };
        let size = coefficient.unsigned_abs();
        text += sign;
        text += &match (size, factors.is_empty()) {
            (size, true) => size.to_string(),
            (1, false) => factors.join("*"),
            (size, false) => format!("{size}*{}", factors.join("*")),
        };
    }
    if text.is_empty() { "0".into() } else { text }
}

/// As a divisor.
fn bracketed(polynomial: &Polynomial) -> String {
    let simple = polynomial.len() == 1
        && polynomial
            .iter()
            .all(|(factors, c)| factors.is_empty() || factors.len() == 1 && *c == 1);
    if simple { text(polynomial) } else { format!("({})", text(polynomial)) }
}

fn integer(value: i64, span: Span) -> Expr {
    Expr { kind: ExprKind::Int(value), span }
}

fn name(name: &str, span: Span) -> Expr {
    Expr { kind: ExprKind::Name(name.into()), span }
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    let span = left.span;
    Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), span }
}
