//! Positions and sizes as code: loop IR, C and Rust expressions.
//!
//! Their shape follows section 4 of the paper ("the slowest varying indices are evaluated the deepest"). Terms are
//! grouped by their fastest-varying name, each group is in Horner form, and the slowest group is added first. So
//! loop-invariant code motion can hoist every group out of the loops that it does not depend on. All terms with
//! fractional coefficients are one exact division of an integer polynomial. The other terms have integer coefficients,
//! so that the innermost loop has a constant stride and no division.
//!
//! Before -> after, `N*i - 1/2*i^2 - 1/2*i + j` with `i` outside `j`: `(N*i - exact((1 + i)*i, 2)) + j`.

use dastac_loops::{Condition, Index, SymbolId, VarId};
use dastac_stur::ast::{BinaryOp, Expr, ExprKind};
use dastac_stur::sets::{Affine, Atom};

use crate::convert::{Resolve, membership};
use crate::fusion::Piece;
use crate::index::symbols_of;
use crate::slices::Slices;
use crate::{Layout, LayoutError, Piecewise, Polynomial};

/// An affine expression over resolved names.
pub fn affine_to_index(affine: &Affine, resolve: Resolve<'_>) -> Result<Index, LayoutError> {
    let mut sum = Index::constant(0);
    for (atom, coefficient) in &affine.terms {
        sum = sum + atom_to_index(atom, resolve)? * *coefficient;
    }
    Ok(sum + affine.constant)
}

fn atom_to_index(atom: &Atom, resolve: Resolve<'_>) -> Result<Index, LayoutError> {
    match atom {
        Atom::Name(name) => resolve(name).ok_or_else(|| LayoutError::Unbound(name.clone())),
        Atom::Floor(inner, divisor) => Ok(affine_to_index(inner, resolve)?.floor_div(*divisor)),
    }
}

/// Any integer expression over resolved names.
///
/// # Errors
/// A name that `resolve` does not know; a division by a number that is not positive.
pub fn expr_to_index(expr: &Expr, resolve: Resolve<'_>) -> Result<Index, LayoutError> {
    Ok(match &expr.kind {
        ExprKind::Int(value) => Index::constant(*value),
        ExprKind::Name(name) => resolve(name).ok_or_else(|| LayoutError::Unbound(name.clone()))?,
        ExprKind::Neg(inner) => -expr_to_index(inner, resolve)?,
        ExprKind::Binary(op, left, right) => {
            let (left, right) = (expr_to_index(left, resolve)?, expr_to_index(right, resolve)?);
            match op {
                BinaryOp::Add => left + right,
                BinaryOp::Sub => left - right,
                BinaryOp::Mul => left * right,
                BinaryOp::Div => left.quotient(right),
                BinaryOp::Mod => match right.as_const() {
                    Some(by) => left.modulo(by),
                    None => left.clone() - right.clone() * left.quotient(right),
                },
            }
        }
    })
}

/// A polynomial as loop IR. `dims` are ordered from slowest to fastest; every other name is slower than all of them.
pub fn to_index(
    polynomial: &Polynomial,
    dims: &[String],
    resolve: Resolve<'_>,
) -> Result<Index, LayoutError> {
    let (whole, fractional) = polynomial.partition(|_, coefficient| coefficient.is_integer());
    let denominator =
        i64::try_from(fractional.denominator()).map_err(|_| LayoutError::Beyond128)?;
    let level = |atom: &Atom| level(atom, dims);
    // For each group how fast it varies, whether it is subtracted, and its value.
    let mut groups: Vec<(usize, bool, Index)> = Vec::new();
    for speed in 0..=dims.len() {
        let (group, _) = whole.partition(|monomial, _| {
            monomial.iter().map(|(atom, _)| level(atom)).max().unwrap_or(0) == speed
        });
        if !group.is_zero() {
            groups.push((speed, false, horner(&group, dims, resolve)?));
        }
    }
    if !fractional.is_zero() {
        let negative = fractional.terms().all(|(_, c)| c.numer() < &0);
        let sign = if negative { -1 } else { 1 };
        let numerator = fractional.scaled(i128::from(denominator) * sign);
        let speed =
            numerator.terms().flat_map(|(m, _)| m).map(|(a, _)| level(a)).max().unwrap_or(0);
        groups.push((speed, negative, horner(&numerator, dims, resolve)?.exact_div(denominator)));
    }
    groups.sort_by_key(|(speed, _, _)| *speed);
    let mut sum = Index::constant(0);
    for (_, negative, group) in groups {
        sum = if negative { sum - group } else { sum + group };
    }
    Ok(sum)
}

/// How fast an atom varies: 0 for symbols, then by dimension.
fn level(atom: &Atom, dims: &[String]) -> usize {
    let of_name = |name: &str| dims.iter().position(|dim| dim == name).map_or(0, |k| k + 1);
    match atom {
        Atom::Name(name) => of_name(name),
        Atom::Floor(inner, _) => inner.names().iter().map(|n| of_name(n)).max().unwrap_or(0),
    }
}

/// Horner's scheme in the fastest atom; the coefficients, which are slower, are written likewise.
fn horner(
    polynomial: &Polynomial,
    dims: &[String],
    resolve: Resolve<'_>,
) -> Result<Index, LayoutError> {
    let fastest = polynomial
        .terms()
        .flat_map(|(monomial, _)| monomial.iter().map(|(atom, _)| atom))
        .max_by_key(|atom| (level(atom, dims), *atom))
        .cloned();
    let Some(atom) = fastest else {
        let constant = polynomial.terms().next().map_or(0, |(_, c)| c.to_integer());
        return Ok(Index::constant(i64::try_from(constant).map_err(|_| LayoutError::Beyond128)?));
    };
    let variable = atom_to_index(&atom, resolve)?;
    let coefficients = polynomial.coefficients_of(&atom);
    let degree = coefficients.keys().max().copied().unwrap_or(0);
    let mut result = Index::constant(0);
    for exponent in (0..=degree).rev() {
        if exponent < degree {
            result = result * variable.clone();
        }
        if let Some(coefficient) = coefficients.get(&exponent) {
            result = horner(coefficient, dims, resolve)? + result;
        }
    }
    Ok(result)
}

impl Piecewise {
    /// The value as loop IR: a selection between pieces if there is more than one. It will be evaluated on `known`
    /// only; pieces that do not meet that set are left out.
    pub fn to_index(
        &self,
        known: &dastac_poly::Set,
        resolve: Resolve<'_>,
    ) -> Result<Index, LayoutError> {
        let mut pieces = Vec::new();
        for piece in &self.pieces {
            if !piece.domain.is_disjoint(known)? {
                pieces.push(piece);
            }
        }
        self.select(pieces, known, resolve)
    }

    /// A selection between these pieces, all that meet `known`.
    fn select(
        &self,
        mut pieces: Vec<&Piece>,
        known: &dastac_poly::Set,
        resolve: Resolve<'_>,
    ) -> Result<Index, LayoutError> {
        // A size is 0 if no piece applies. A position is only asked for where some piece applies.
        let is_size = self.dims.is_empty();
        let total = !is_size || self.covers(known)?;
        let last = match pieces.last() {
            Some(last) if total => {
                let last = to_index(&last.polynomial, &self.dims, resolve)?;
                pieces.pop();
                last
            }
            _ => Index::constant(0),
        };
        let mut result = last;
        for piece in pieces.into_iter().rev() {
            let test: Condition = membership(&piece.domain, known, resolve)?;
            result = Index::select(test, to_index(&piece.polynomial, &self.dims, resolve)?, result);
        }
        Ok(result)
    }

    fn covers(&self, known: &dastac_poly::Set) -> Result<bool, LayoutError> {
        let mut rest = known.clone();
        for piece in &self.pieces {
            rest = rest.subtract(&piece.domain)?;
        }
        Ok(rest.is_empty()?)
    }
}

impl Layout {
    /// The position as loop IR, given a value for each subscript (in the tensor's own order).
    pub fn position(
        &self,
        subscripts: &[Index],
        symbol: Resolve<'_>,
    ) -> Result<Index, LayoutError> {
        self.position_within(&self.stored.permute(&self.order)?, subscripts, symbol)
    }

    /// The position as loop IR, for elements of `known` (in packing order) only. Other pieces of the index are left
    /// out.
    pub fn position_within(
        &self,
        known: &dastac_poly::Set,
        subscripts: &[Index],
        symbol: Resolve<'_>,
    ) -> Result<Index, LayoutError> {
        if subscripts.len() != self.dims.len() {
            return Err(LayoutError::Rank { given: subscripts.len(), rank: self.dims.len() });
        }
        let resolve = |name: &str| match self.dims.iter().position(|dim| dim == name) {
            Some(position) => Some(subscripts[position].clone()),
            None => symbol(name),
        };
        if self.index.pieces.len() == 1 {
            return self.index.to_index(known, &resolve);
        }
        let slices = self.slices()?;
        let here = Slices::of(known)?;
        let mut pieces = Vec::new();
        for (piece, there) in self.index.pieces.iter().zip(slices) {
            if !here.disjoint(there) && !piece.domain.is_disjoint(known)? {
                pieces.push(piece);
            }
        }
        self.index.select(pieces, known, &resolve)
    }

    /// The slices of each piece of the index.
    fn slices(&self) -> Result<&[Slices], LayoutError> {
        if let Some(known) = self.slices.get() {
            return Ok(known);
        }
        let slices: Result<Vec<Slices>, _> =
            self.index.pieces.iter().map(|piece| Slices::of(&piece.domain)).collect();
        let slices = slices?;
        Ok(self.slices.get_or_init(|| slices))
    }

    /// The number of stored elements as loop IR.
    pub fn size_index(&self, symbol: Resolve<'_>) -> Result<Index, LayoutError> {
        self.size.to_index(&symbols_of(&self.stored)?, symbol)
    }

    /// The position as a C expression over the names of dimensions and symbols (`int64_t` each).
    pub fn to_c(&self) -> Result<String, LayoutError> {
        self.text(Language::C)
    }

    /// The position as a Rust expression over the names of dimensions and symbols (`i64` each).
    pub fn to_rust(&self) -> Result<String, LayoutError> {
        self.text(Language::Rust)
    }

    fn text(&self, language: Language) -> Result<String, LayoutError> {
        let subscripts: Vec<Index> =
            (0u32..).take(self.dims.len()).map(|k| Index::Var(VarId(k))).collect();
        let symbol = |name: &str| {
            let position = self.symbols.iter().position(|symbol| symbol == name)?;
            Some(Index::Symbol(SymbolId(u32::try_from(position).ok()?)))
        };
        let index = self.position(&subscripts, &symbol)?;
        Ok(Printer { language, dims: &self.dims, symbols: &self.symbols }.index(&index, 0))
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Language {
    C,
    Rust,
}

struct Printer<'a> {
    language: Language,
    dims: &'a [String],
    symbols: &'a [String],
}

impl Printer<'_> {
    /// Prints an expression, with parentheses if the context binds tighter: 0 stands for no context, 1 for the operand
    /// of a sum, 2 for the operand of a product.
    fn index(&self, index: &Index, context: u8) -> String {
        let paren = |text: String, own: u8| if own < context { format!("({text})") } else { text };
        let call = |name: &str, a: &Index, b: &Index| match self.language {
            Language::Rust => format!("({}).{name}({})", self.index(a, 0), self.index(b, 0)),
            Language::C => {
                let (a, b) = (self.index(a, 2), self.index(b, 2));
                let operator = if name == "min" { "<" } else { ">" };
                format!("({a} {operator} {b} ? {a} : {b})")
            }
        };
        match index {
            Index::Const(value) if *value < 0 => paren(value.to_string(), 0),
            Index::Const(value) => value.to_string(),
            Index::Symbol(symbol) => self.symbols[symbol.0 as usize].clone(),
            Index::Var(var) => self.dims[var.0 as usize].clone(),
            Index::Add(a, b) => paren(format!("{} + {}", self.index(a, 1), self.index(b, 1)), 1),
            Index::Sub(a, b) => paren(format!("{} - {}", self.index(a, 1), self.index(b, 2)), 1),
            Index::Mul(a, b) => paren(format!("{}*{}", self.index(a, 2), self.index(b, 2)), 2),
            Index::ExactDiv(a, by) => format!("({} / {by})", self.index(a, 2)),
            Index::FloorDiv(a, by) => match self.language {
                Language::Rust => format!("({}).div_euclid({by})", self.index(a, 0)),
                Language::C => {
                    let a = self.index(a, 2);
                    format!("({a} / {by} - ({a} % {by} < 0))")
                }
            },
            // Positions of structured tensors load nothing, and nothing is asserted about them.
            Index::Load(buffer, a) => format!("buffer{}[{}]", buffer.0, self.index(a, 0)),
            Index::Within(inner) => paren(self.index(&inner.index, 0), 0),
            Index::Quotient(a, by) => match self.language {
                Language::Rust => {
                    format!("({}).div_euclid({})", self.index(a, 0), self.index(by, 0))
                }
                Language::C => {
                    let (a, by) = (self.index(a, 2), self.index(by, 3));
                    format!("({a} / {by} - ({a} % {by} < 0))")
                }
            },
            Index::Mod(a, by) => match self.language {
                Language::Rust => format!("({}).rem_euclid({by})", self.index(a, 0)),
                Language::C => format!("(({} % {by} + {by}) % {by})", self.index(a, 2)),
            },
            Index::Min(a, b) => call("min", a, b),
            Index::Max(a, b) => call("max", a, b),
            Index::Select(test, a, b) => {
                let (test, a, b) = (self.condition(test), self.index(a, 0), self.index(b, 0));
                match self.language {
                    Language::Rust => format!("(if {test} {{ {a} }} else {{ {b} }})"),
                    Language::C => format!("({test} ? {a} : {b})"),
                }
            }
        }
    }

    fn condition(&self, condition: &Condition) -> String {
        let join = |parts: &[Condition], operator: &str, empty: &str| {
            if parts.is_empty() {
                return empty.to_string();
            }
            let parts: Vec<String> = parts.iter().map(|part| self.condition(part)).collect();
            format!("({})", parts.join(operator))
        };
        let (yes, no) = if self.language == Language::C { ("1", "0") } else { ("true", "false") };
        match condition {
            Condition::And(parts) => join(parts, " && ", yes),
            Condition::Or(parts) => join(parts, " || ", no),
            Condition::Compare(op, a, b) => {
                let operator = op.sign();
                format!("{} {operator} {}", self.index(a, 1), self.index(b, 1))
            }
        }
    }
}
