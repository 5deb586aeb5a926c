//! From STUR to isl: names, affine expressions, and the sets and maps that comparisons describe.
//!
//! Invariants: every set and map built here has an unnamed tuple, all symbols of the program as parameters, and the
//! context `symbol >= 0` for each of them (symbols are sizes and positions) and for those derived symbols that cannot
//! be negative. Non-affine expressions are a diagnostic, never a wrong set: inference takes them out before.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::rc::Rc;

use dastac_formats::format::LevelExpr;
use dastac_poly::{Context, LinearExpr, Map, Set};

use crate::ast::{BinaryOp, CompareOp, Comparison, Expr, ExprKind, Span};
use crate::coefficient::Coefficient;
use crate::diagnostic::Diagnostic;
use crate::program::{Program, Structure};

/// One step of an affine expression.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Atom {
    /// An iterator or a symbol.
    Name(String),
    /// `floor(numerator / denominator)`.
    Floor(Box<Affine>, i64),
}

/// A quasi-affine expression over names: `constant + sum of coefficient * atom`, no zero coefficients.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Affine {
    /// Coefficient of each atom, never 0.
    pub terms: BTreeMap<Atom, i64>,
    /// The constant.
    pub constant: i64,
}

impl Affine {
    /// A constant.
    pub fn constant(value: i64) -> Self {
        Affine { terms: BTreeMap::new(), constant: value }
    }

    /// An iterator or symbol.
    pub fn name(name: &str) -> Self {
        Affine { terms: BTreeMap::from([(Atom::Name(name.into()), 1)]), constant: 0 }
    }

    /// Iterators or symbols, each as an expression.
    pub fn each(names: &[String]) -> Vec<Affine> {
        names.iter().map(|name| Affine::name(name)).collect()
    }

    /// `self + factor * other`, or nothing on 64-bit overflow.
    pub fn add_scaled(&self, other: &Affine, factor: i64) -> Option<Affine> {
        let mut result = self.clone();
        result.constant = result.constant.checked_add(other.constant.checked_mul(factor)?)?;
        for (atom, coefficient) in &other.terms {
            let entry = result.terms.entry(atom.clone()).or_insert(0);
            *entry = entry.checked_add(coefficient.checked_mul(factor)?)?;
        }
        result.terms.retain(|_, coefficient| *coefficient != 0);
        Some(result)
    }

    /// `self * factor`, or nothing on 64-bit overflow.
    pub fn scaled(&self, factor: i64) -> Option<Affine> {
        Affine::default().add_scaled(self, factor)
    }

    /// The name, if the expression is nothing but one.
    pub fn as_name(&self) -> Option<&str> {
        match (self.constant, self.terms.iter().next()) {
            (0, Some((Atom::Name(name), 1))) if self.terms.len() == 1 => Some(name),
            _ => None,
        }
    }

    /// All names in it, also those under a floor.
    pub fn names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        self.collect_names(&mut names);
        names
    }

    fn collect_names(&self, names: &mut BTreeSet<String>) {
        for atom in self.terms.keys() {
            match atom {
                Atom::Name(name) => {
                    names.insert(name.clone());
                }
                Atom::Floor(inner, _) => inner.collect_names(names),
            }
        }
    }

    /// The expression with names replaced; names that `rename` does not know stay.
    pub fn rename(&self, rename: &BTreeMap<String, String>) -> Affine {
        let mut result = Affine::constant(self.constant);
        for (atom, coefficient) in &self.terms {
            let atom = match atom {
                Atom::Name(name) => Atom::Name(rename.get(name).unwrap_or(name).clone()),
                Atom::Floor(inner, divisor) => {
                    Atom::Floor(Box::new(inner.rename(rename)), *divisor)
                }
            };
            *result.terms.entry(atom).or_insert(0) += coefficient;
        }
        result.terms.retain(|_, coefficient| *coefficient != 0);
        result
    }

    /// The expression with names replaced by expressions, or nothing on overflow.
    pub fn substitute(&self, values: &BTreeMap<String, Affine>) -> Option<Affine> {
        let mut result = Affine::constant(self.constant);
        for (atom, coefficient) in &self.terms {
            let value = match atom {
                Atom::Name(name) => match values.get(name) {
                    Some(value) => value.clone(),
                    None => Affine::name(name),
                },
                Atom::Floor(inner, divisor) => Affine {
                    terms: BTreeMap::from([(
                        Atom::Floor(Box::new(inner.substitute(values)?), *divisor),
                        1,
                    )]),
                    constant: 0,
                },
            };
            result = result.add_scaled(&value, *coefficient)?;
        }
        Some(result)
    }

    /// Its value, or nothing on overflow or an unknown name.
    pub fn eval(&self, value_of: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
        let mut sum = self.constant;
        for (atom, coefficient) in &self.terms {
            let value = match atom {
                Atom::Name(name) => value_of(name)?,
                Atom::Floor(inner, divisor) => inner.eval(value_of)?.div_euclid(*divisor),
            };
            sum = sum.checked_add(value.checked_mul(*coefficient)?)?;
        }
        Some(sum)
    }

    /// From isl's form, dimension `k` called `dims[k]`. isl's quotient must be exact (denominator 1).
    pub fn from_linear(linear: &LinearExpr, dims: &[String]) -> Option<Affine> {
        if linear.denominator != 1 {
            return None;
        }
        let mut result = Affine::constant(linear.constant);
        for (name, coefficient) in &linear.params {
            result = result.add_scaled(&Affine::name(name), *coefficient)?;
        }
        for (dim, coefficient) in &linear.dims {
            result = result.add_scaled(&Affine::name(dims.get(*dim)?), *coefficient)?;
        }
        for (coefficient, floor) in &linear.floors {
            let numerator = LinearExpr { denominator: 1, ..(*floor.numerator).clone() };
            let inner = Affine::from_linear(&numerator, dims)?;
            let atom = Atom::Floor(Box::new(inner), floor.denominator);
            let value = Affine { terms: BTreeMap::from([(atom, 1)]), constant: 0 };
            result = result.add_scaled(&value, *coefficient)?;
        }
        Some(result)
    }

    /// In isl's notation, names passed through `rename`.
    fn isl(&self, names: &Names) -> String {
        let mut text = String::new();
        for (atom, coefficient) in &self.terms {
            let sign = if *coefficient < 0 { "-" } else { "+" };
            text += &format!(" {sign} {} * ", coefficient.unsigned_abs());
            match atom {
                Atom::Name(name) => text += names.isl(name),
                Atom::Floor(inner, divisor) => {
                    text += &format!("floor(({})/{divisor})", inner.isl(names));
                }
            }
        }
        format!("{}{text}", self.constant)
    }
}

impl fmt::Display for Affine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (atom, coefficient) in &self.terms {
            match (first, *coefficient < 0) {
                (true, true) => write!(f, "-")?,
                (true, false) => {}
                (false, true) => write!(f, " - ")?,
                (false, false) => write!(f, " + ")?,
            }
            first = false;
            if coefficient.unsigned_abs() != 1 {
                write!(f, "{}*", coefficient.unsigned_abs())?;
            }
            match atom {
                Atom::Name(name) => write!(f, "{name}")?,
                Atom::Floor(inner, divisor) => write!(f, "floor(({inner})/{divisor})")?,
            }
        }
        match (first, self.constant) {
            (true, constant) => write!(f, "{constant}"),
            (false, 0) => Ok(()),
            (false, constant) if constant < 0 => write!(f, " - {}", constant.unsigned_abs()),
            (false, constant) => write!(f, " + {constant}"),
        }
    }
}

/// The affine form of an expression.
///
/// # Errors
/// A product of two names, a division by anything but a positive constant, or a constant beyond 64 bits.
pub fn affine(expr: &Expr) -> Result<Affine, Diagnostic> {
    let overflow = || {
        Diagnostic::error("E0310", "integer overflow in an expression", expr.span, "beyond 64 bits")
    };
    match &expr.kind {
        ExprKind::Int(value) => Ok(Affine::constant(*value)),
        ExprKind::Name(name) => Ok(Affine::name(name)),
        ExprKind::Neg(inner) => affine(inner)?.scaled(-1).ok_or_else(overflow),
        ExprKind::Binary(op, left, right) => {
            let (a, b) = (affine(left)?, affine(right)?);
            match op {
                BinaryOp::Add => a.add_scaled(&b, 1).ok_or_else(overflow),
                BinaryOp::Sub => a.add_scaled(&b, -1).ok_or_else(overflow),
                BinaryOp::Mul if b.terms.is_empty() => a.scaled(b.constant).ok_or_else(overflow),
                BinaryOp::Mul if a.terms.is_empty() => b.scaled(a.constant).ok_or_else(overflow),
                BinaryOp::Mul => Err(not_affine(expr.span)),
                BinaryOp::Div | BinaryOp::Mod if b.terms.is_empty() && b.constant > 0 => {
                    let divisor = b.constant;
                    let floor = if a.terms.is_empty() {
                        Affine::constant(a.constant.div_euclid(divisor))
                    } else {
                        let atom = Atom::Floor(Box::new(a.clone()), divisor);
                        Affine { terms: BTreeMap::from([(atom, 1)]), constant: 0 }
                    };
                    match op {
                        BinaryOp::Div => Ok(floor),
                        _ => divisor
                            .checked_neg()
                            .and_then(|factor| a.add_scaled(&floor, factor))
                            .ok_or_else(overflow),
                    }
                }
                BinaryOp::Div | BinaryOp::Mod => Err(not_affine(right.span)),
            }
        }
    }
}

fn not_affine(span: Span) -> Diagnostic {
    let label = "a product of two names, or a division by something that is not a positive number";
    Diagnostic::error("E0312", "an expression that is not affine", span, label)
}

/// One operator between two expressions, affine on both sides.
#[derive(Clone, Debug)]
pub struct Relation {
    /// Left side.
    pub left: Affine,
    /// The operator.
    pub operator: CompareOp,
    /// Right side.
    pub right: Affine,
}

impl Relation {
    /// In isl's notation.
    fn isl(&self, names: &Names) -> String {
        let operator = self.operator; // STUR writes them as isl does
        format!("{} {operator} {}", self.left.isl(names), self.right.isl(names))
    }
}

/// A chained comparison as pairwise relations.
pub fn relations(comparison: &Comparison) -> Result<Vec<Relation>, Diagnostic> {
    let sides: Vec<Affine> = comparison.operands.iter().map(affine).collect::<Result<_, _>>()?;
    Ok(comparison
        .operators
        .iter()
        .enumerate()
        .map(|(k, operator)| Relation {
            left: sides[k].clone(),
            operator: *operator,
            right: sides[k + 1].clone(),
        })
        .collect())
}

/// Upper bounds (exclusive) that the comparisons put on `iterator` by itself, over symbols only.
pub fn upper_bounds(
    comparisons: &[Comparison],
    iterator: &str,
    is_symbol: &dyn Fn(&str) -> bool,
) -> Result<Vec<Affine>, Diagnostic> {
    let mut bounds = Vec::new();
    for comparison in comparisons {
        let sides: Vec<Affine> =
            comparison.operands.iter().map(affine).collect::<Result<_, _>>()?;
        // In a chain every operand to the right of `iterator <` bounds it: 0 <= i <= j < N.
        for from in 0..sides.len() {
            for to in 0..sides.len() {
                if from == to {
                    continue;
                }
                let Some(strict) = chain_order(&comparison.operators, from, to) else { continue };
                let Some(difference) = sides[from].add_scaled(&sides[to], -1) else { continue };
                // difference < 0 (strict) or <= 0, linear in the iterator (or its quotient) with coefficient 1.
                let found = difference.terms.iter().find_map(|(atom, coefficient)| match atom {
                    Atom::Name(name) if name == iterator && *coefficient == 1 => Some((atom, 1)),
                    Atom::Floor(inner, divisor)
                        if inner.as_name() == Some(iterator) && *coefficient == 1 =>
                    {
                        Some((atom, *divisor))
                    }
                    _ => None,
                });
                let Some((atom, divisor)) = found else { continue };
                let mut rest = difference.clone();
                rest.terms.remove(atom);
                if !rest.names().iter().all(|name| is_symbol(name)) {
                    continue;
                }
                let bound = rest
                    .scaled(-1)
                    .and_then(|b| b.add_scaled(&Affine::constant(i64::from(!strict)), 1))
                    // floor(i / c) < b means i < c * b.
                    .and_then(|b| b.scaled(divisor));
                if let Some(bound) = bound
                    && !bounds.contains(&bound)
                {
                    bounds.push(bound);
                }
            }
        }
    }
    Ok(bounds)
}

/// Whether operand `from` is known to be below (`Some(true)`) or at most (`Some(false)`) operand `to` of a chain.
fn chain_order(operators: &[CompareOp], from: usize, to: usize) -> Option<bool> {
    let (range, forward) = if from < to { (from..to, true) } else { (to..from, false) };
    let mut strict = false;
    for operator in &operators[range] {
        match (operator, forward) {
            (CompareOp::Lt, true) | (CompareOp::Gt, false) => strict = true,
            (CompareOp::Le, true) | (CompareOp::Ge, false) | (CompareOp::Eq, _) => {}
            _ => return None,
        }
    }
    Some(strict)
}

/// isl-safe names for all identifiers of a program.
#[derive(Clone, Debug)]
pub struct Names {
    symbols: Vec<String>,
    /// Those of the symbols that are known not to be negative.
    nonnegative: Vec<String>,
    isl: BTreeMap<String, String>,
    derived: BTreeMap<String, Expr>,
}

/// Words that isl's parser reads as something else than a name.
const RESERVED: &[&str] = &[
    "and", "or", "not", "exists", "mod", "floor", "ceil", "floord", "ceild", "min", "max",
    "implies", "all", "true", "false", "True", "False", "And", "Or", "Not", "Exists", "infty",
    "infinity", "Infinity", "NaN", "nan", "rat",
];

impl Names {
    /// Collects the program's identifiers.
    pub fn new(program: &Program) -> Names {
        let mut all: BTreeSet<String> =
            program.symbols.iter().map(|(name, _)| name.clone()).collect();
        all.extend(program.derived.iter().map(|derived| derived.name.clone()));
        for tensor in &program.tensors {
            for structure in
                [&tensor.domain, &tensor.unique, &tensor.redundancy].into_iter().flatten()
            {
                all.extend(structure.iterators.iter().cloned());
                all.extend(structure.regions.iter().flat_map(|r| r.locals.iter().cloned()));
            }
        }
        for rule in &program.rules {
            all.extend(rule.iterators.iter().cloned());
            all.extend(rule.products.iter().flat_map(|p| p.iterators.iter().cloned()));
        }
        let derived: BTreeMap<String, Expr> =
            program.derived.iter().map(|d| (d.name.clone(), d.value.clone())).collect();
        let nonnegative = program.derived.iter().filter(|derived| derived.nonnegative);
        let symbols: Vec<String> = program.symbols.iter().map(|(name, _)| name.clone()).collect();
        let context = symbols.iter().chain(nonnegative.map(|d| &d.name)).cloned().collect();
        let all_symbols = program.derived.iter().map(|derived| derived.name.clone());
        let symbols = symbols.into_iter().chain(all_symbols).collect();
        Names { derived, nonnegative: context, ..Names::of(all, symbols) }
    }

    fn of(all: BTreeSet<String>, symbols: Vec<String>) -> Names {
        let named = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let plain = |name: &str| name.chars().all(named) && !RESERVED.contains(&name);
        let mut used: BTreeSet<String> = all.iter().filter(|name| plain(name)).cloned().collect();
        let mut isl = BTreeMap::new();
        for name in all {
            let mut safe = match name.starts_with(|c: char| c.is_ascii_alphabetic()) {
                true => name.replace('*', "_times_").replace(|c| !named(c), "_"),
                false => format!("quotient_{}", isl.len() + 1),
            };
            if !plain(&name) {
                while !used.insert(safe.clone()) || RESERVED.contains(&safe.as_str()) {
                    safe.push('_');
                }
            }
            isl.insert(name, safe);
        }
        Names { nonnegative: symbols.clone(), symbols, isl, derived: BTreeMap::new() }
    }

    /// What a derived symbol stands for, by its own name or its isl-safe one.
    pub fn derived(&self, name: &str) -> Option<&Expr> {
        self.derived.get(name).or_else(|| self.derived.get(self.original(name)))
    }

    /// Derived symbols by their isl-safe names, with what they stand for.
    pub fn all_derived(&self) -> impl Iterator<Item = (&str, &Expr)> {
        self.derived.iter().map(|(name, value)| (self.isl(name), value))
    }

    /// The isl name of an identifier; identifiers that are not the program's are their own.
    pub fn isl<'a>(&'a self, name: &'a str) -> &'a str {
        self.isl.get(name).map_or(name, String::as_str)
    }

    /// The program's name of an isl name.
    pub fn original<'a>(&'a self, name: &'a str) -> &'a str {
        self.isl.iter().find(|(_, isl)| *isl == name).map_or(name, |(original, _)| original)
    }

    /// The program's name of a symbol.
    pub fn symbol(&self, index: usize) -> &str {
        &self.symbols[index]
    }

    /// Whether this is the program's name of a symbol.
    pub fn is_symbol(&self, name: &str) -> bool {
        self.symbols.iter().any(|symbol| symbol == name)
    }

    /// isl names of the symbols and derived symbols that are known not to be negative.
    pub fn nonnegative(&self) -> impl Iterator<Item = &str> {
        self.nonnegative.iter().map(|name| self.isl(name))
    }

    /// isl names of the symbols, in declaration order, then of the derived symbols.
    pub fn parameters(&self) -> Vec<String> {
        self.symbols.iter().map(|symbol| self.isl(symbol).to_string()).collect()
    }

    fn tuple(&self, iterators: &[String]) -> String {
        let names: Vec<&str> = iterators.iter().map(|name| self.isl(name)).collect();
        format!("[{}]", names.join(", "))
    }

    fn prefix(&self) -> String {
        format!("[{}] -> ", self.parameters().join(", "))
    }

    fn conditions(&self, comparisons: &[Comparison]) -> Result<Vec<String>, Diagnostic> {
        let mut conditions: Vec<String> =
            self.nonnegative.iter().map(|symbol| format!("{} >= 0", self.isl(symbol))).collect();
        for comparison in comparisons {
            conditions.extend(relations(comparison)?.iter().map(|relation| relation.isl(self)));
        }
        Ok(conditions)
    }
}

/// Why a set could not be built.
#[derive(Debug)]
pub enum SetError {
    /// The user's expression is at fault.
    User(Box<Diagnostic>),
    /// isl failed.
    Poly(dastac_poly::Error),
}

impl From<Diagnostic> for SetError {
    fn from(diagnostic: Diagnostic) -> Self {
        SetError::User(Box::new(diagnostic))
    }
}

impl From<dastac_poly::Error> for SetError {
    fn from(error: dastac_poly::Error) -> Self {
        SetError::Poly(error)
    }
}

/// Builds sets and maps of one program.
#[derive(Clone, Debug)]
pub struct Sets {
    /// Where they live.
    pub context: Context,
    /// Names of the program.
    pub names: Names,
    /// What was read before, by text: long programs say the same many times.
    read: Rc<RefCell<Read>>,
}

#[derive(Debug, Default)]
struct Read {
    sets: BTreeMap<String, Set>,
    maps: BTreeMap<String, Map>,
}

/// Texts that are kept.
const MAX_READ: usize = 4096;

impl Sets {
    /// For a program.
    pub fn new(context: &Context, program: &Program) -> Self {
        let read = Rc::default();
        Sets { context: context.clone(), names: Names::new(program), read }
    }

    /// The points of `iterators` at which all comparisons hold, `locals` existentially quantified.
    pub fn set(
        &self,
        iterators: &[String],
        locals: &[String],
        comparisons: &[Comparison],
    ) -> Result<Set, SetError> {
        let conditions = self.names.conditions(comparisons)?;
        self.set_of(iterators, locals, &conditions)
    }

    fn set_of(
        &self,
        iterators: &[String],
        locals: &[String],
        conditions: &[String],
    ) -> Result<Set, SetError> {
        let mut condition =
            if conditions.is_empty() { "1 = 1".into() } else { conditions.join(" and ") };
        if !locals.is_empty() {
            let locals: Vec<&str> = locals.iter().map(|name| self.names.isl(name)).collect();
            condition = format!("exists ({} : {condition})", locals.join(", "));
        }
        let text =
            format!("{}{{ {} : {condition} }}", self.names.prefix(), self.names.tuple(iterators));
        let mut read = self.read.borrow_mut();
        if let Some(set) = read.sets.get(&text) {
            return Ok(set.clone());
        }
        let set = Set::parse(&self.context, &text)?;
        if read.sets.len() < MAX_READ {
            read.sets.insert(text, set.clone());
        }
        Ok(set)
    }

    /// The whole space of `iterators` (symbols non-negative).
    pub fn universe(&self, iterators: &[String]) -> Result<Set, SetError> {
        self.set(iterators, &[], &[])
    }

    /// The points of `iterators` at which a relation holds.
    pub fn holds(&self, iterators: &[String], relation: &Relation) -> Result<Set, SetError> {
        let mut conditions = self.names.conditions(&[])?;
        conditions.push(relation.isl(&self.names));
        self.set_of(iterators, &[], &conditions)
    }

    /// No point of the space of `iterators`.
    pub fn empty(&self, iterators: &[String]) -> Result<Set, SetError> {
        self.set_of(iterators, &[], &["1 = 0".into()])
    }

    /// `lower[k] <= iterators[k] < min(upper[k])`.
    pub fn box_set(&self, iterators: &[String], extents: &[Extent]) -> Result<Set, SetError> {
        let mut result: Option<Set> = None;
        // An extent is a maximum over regions; a box over several regions is a union per dimension.
        for (iterator, extent) in iterators.iter().zip(extents) {
            let name = self.names.isl(iterator);
            let regions: Vec<String> = extent
                .regions
                .iter()
                .map(|bounds| {
                    let bounds: Vec<String> = bounds
                        .iter()
                        .map(|bound| format!("{name} < {}", bound.isl(&self.names)))
                        .collect();
                    format!("({})", bounds.join(" and "))
                })
                .collect();
            let mut conditions = self.names.conditions(&[])?;
            conditions.push(format!("{name} >= 0"));
            conditions.push(format!("({})", regions.join(" or ")));
            let side = self.set_of(iterators, &[], &conditions)?;
            result = Some(match result {
                None => side,
                Some(result) => result.intersect(&side)?,
            });
        }
        match result {
            Some(result) => Ok(result.coalesce()?),
            None => self.universe(iterators),
        }
    }

    /// The union of a structure's regions.
    pub fn structure(&self, structure: &Structure) -> Result<Set, SetError> {
        let mut result = self.empty(&structure.iterators)?;
        for region in &structure.regions {
            let set = self.set(&structure.iterators, &region.locals, &region.comparisons)?;
            result = result.union(&set)?;
        }
        Ok(result.coalesce()?)
    }

    /// The same text for structures that say the same.
    pub(crate) fn key(&self, structure: &Structure) -> Result<String, SetError> {
        let mut key = structure.iterators.join(",");
        for region in &structure.regions {
            let conditions = self.names.conditions(&region.comparisons)?.join(" and ");
            let name = |symbol| self.names.symbol(symbol);
            let coefficient = region.coefficient.to_stur(&name);
            key += &format!("; {coefficient}; {}; {conditions}", region.locals.join(","));
        }
        Ok(key)
    }

    /// The pieces of a redundancy map: `[first half of the iterators] -> [second half]`, each with its coefficient.
    pub fn redundancy(&self, structure: &Structure) -> Result<Vec<(Map, Coefficient)>, SetError> {
        let half = structure.iterators.len() / 2;
        let (from, to) = structure.iterators.split_at(half);
        let mut pieces: Vec<(Map, Coefficient)> = Vec::new();
        for region in &structure.regions {
            let mut condition = self.names.conditions(&region.comparisons)?.join(" and ");
            if condition.is_empty() {
                condition = "1 = 1".into();
            }
            if !region.locals.is_empty() {
                let locals: Vec<&str> =
                    region.locals.iter().map(|name| self.names.isl(name)).collect();
                condition = format!("exists ({} : {condition})", locals.join(", "));
            }
            let text = format!(
                "{}{{ {} -> {} : {condition} }}",
                self.names.prefix(),
                self.names.tuple(from),
                self.names.tuple(to)
            );
            let map = Map::parse(&self.context, &text)?;
            match pieces.iter_mut().find(|(_, c)| *c == region.coefficient) {
                Some((union, _)) => *union = union.union(&map)?,
                None => pieces.push((map, region.coefficient.clone())),
            }
        }
        Ok(pieces)
    }

    /// `[iterators] -> [expressions]` on the whole space, of expressions of iterators' numbers.
    pub fn quasi_affine(&self, iterators: &[String], exprs: &[LevelExpr]) -> Result<Map, SetError> {
        let names: Vec<&str> = iterators.iter().map(|name| self.names.isl(name)).collect();
        let outputs: Vec<String> = exprs.iter().map(|expr| expr.isl(&names)).collect();
        self.map_to(iterators, &outputs)
    }

    /// `[iterators] -> [subscripts]` on the whole space.
    pub fn access(&self, iterators: &[String], subscripts: &[Affine]) -> Result<Map, SetError> {
        let outputs: Vec<String> = subscripts.iter().map(|s| s.isl(&self.names)).collect();
        self.map_to(iterators, &outputs)
    }

    /// `[iterators] -> [outputs]`, given as isl writes them.
    fn map_to(&self, iterators: &[String], outputs: &[String]) -> Result<Map, SetError> {
        let text = format!(
            "{}{{ {} -> [{}] }}",
            self.names.prefix(),
            self.names.tuple(iterators),
            outputs.join(", ")
        );
        let mut read = self.read.borrow_mut();
        if let Some(map) = read.maps.get(&text) {
            return Ok(map.clone());
        }
        let map = Map::parse(&self.context, &text)?;
        if read.maps.len() < MAX_READ {
            read.maps.insert(text, map.clone());
        }
        Ok(map)
    }
}

/// The extent of one position of a tensor's box: `max(0, max over regions of min over bounds)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Exclusive upper bounds over symbols, for each region; no region is empty.
    pub regions: Vec<Vec<Affine>>,
}

impl Extent {
    /// An extent with one bound.
    pub fn single(bound: Affine) -> Extent {
        Extent { regions: vec![vec![bound]] }
    }

    /// Its value, or nothing on overflow or a missing symbol.
    pub fn eval(&self, value_of: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
        let mut extent = 0;
        for bounds in &self.regions {
            let values: Option<Vec<i64>> = bounds.iter().map(|b| b.eval(value_of)).collect();
            extent = extent.max(values?.into_iter().min().unwrap_or(0));
        }
        Some(extent)
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let call = |name: &str, parts: Vec<String>| match parts.as_slice() {
            [one] => one.clone(),
            _ => format!("{name}({})", parts.join(", ")),
        };
        let regions = self
            .regions
            .iter()
            .map(|bounds| call("min", bounds.iter().map(Affine::to_string).collect()))
            .collect();
        write!(f, "{}", call("max", regions))
    }
}
