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
use dastac_poly::{Context, Map, Set};

use crate::ast::{CompareOp, Comparison, Expr};
use crate::coefficient::Coefficient;
use crate::diagnostic::Diagnostic;
use crate::normal::with_derived;
use crate::program::{Derived, Program, Structure};

pub use crate::quasi_affine::{Affine, Atom, Relation, affine, relations, upper_bounds};

impl Affine {
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

impl Relation {
    /// In isl's notation. A quotient is taken out where its dividend can be compared in its place, that of the last of
    /// the iterators before others: `j / 8 <= i / 8` is `j < 8 * floor(i / 8) + 8`, which bounds `j`.
    fn isl(&self, names: &Names, iterators: &[String]) -> String {
        // STUR writes operators as isl does.
        let plain =
            || format!("{} {} {}", self.left.isl(names), self.operator, self.right.isl(names));
        let bounds = self.on_dividend(iterators).unwrap_or_default();
        let bounds = bounds.iter().map(|(left, operator, right)| {
            format!("{} {operator} {}", left.isl(names), right.isl(names))
        });
        bounds.reduce(|all, next| format!("{all} and {next}")).unwrap_or_else(plain)
    }

    /// The comparisons of the dividend of a quotient, `f` of `floor(f / c) < e` and its like.
    fn on_dividend(&self, iterators: &[String]) -> Option<Vec<(Affine, CompareOp, Affine)>> {
        let difference = self.left.add_scaled(&self.right, -1)?;
        let place = |name: &String| iterators.iter().position(|iterator| iterator == name);
        let last = |dividend: &Affine| dividend.names().iter().filter_map(place).max();
        let quotients = difference.terms.iter().filter_map(|(atom, by)| match atom {
            Atom::Floor(dividend, divisor) if by.abs() == 1 => {
                Some((last(dividend)?, atom, dividend, *divisor, *by))
            }
            _ => None,
        });
        let (_, atom, dividend, divisor, by) = quotients.max_by_key(|(last, ..)| *last)?;
        let mut rest = difference.clone();
        rest.terms.remove(atom);
        // by * floor(dividend / divisor) + rest, compared with 0.
        let other = rest.scaled(-by)?;
        let least = other.scaled(divisor)?;
        let next = other.add_scaled(&Affine::constant(1), 1)?.scaled(divisor)?;
        let below = |bound: Affine| ((**dividend).clone(), CompareOp::Lt, bound);
        let from = |bound: Affine| ((**dividend).clone(), CompareOp::Ge, bound);
        Some(match (self.operator, by > 0) {
            (CompareOp::Lt, true) | (CompareOp::Gt, false) => vec![below(least)],
            (CompareOp::Le, true) | (CompareOp::Ge, false) => vec![below(next)],
            (CompareOp::Ge, true) | (CompareOp::Le, false) => vec![from(least)],
            (CompareOp::Gt, true) | (CompareOp::Lt, false) => vec![from(next)],
            (CompareOp::Eq, _) => vec![from(least), below(next)],
            (CompareOp::Ne, _) => return None,
        })
    }
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

    /// The value of a derived symbol, by its own name or its isl-safe one.
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

    fn conditions(
        &self,
        comparisons: &[Comparison],
        iterators: &[String],
    ) -> Result<Vec<String>, Diagnostic> {
        let mut conditions: Vec<String> =
            self.nonnegative.iter().map(|symbol| format!("{} >= 0", self.isl(symbol))).collect();
        let known = self.known();
        for comparison in comparisons {
            let affine = with_derived(comparison, &known);
            let relations = relations(affine.as_ref().unwrap_or(comparison))?;
            conditions.extend(relations.iter().map(|relation| relation.isl(self, iterators)));
        }
        Ok(conditions)
    }

    /// The derived symbols.
    fn known(&self) -> Vec<Derived> {
        let known = self.derived.iter().map(|(name, value)| {
            let (name, value) = (name.clone(), value.clone());
            Derived { nonnegative: self.nonnegative.contains(&name), name, value }
        });
        known.collect()
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
    /// The context of all sets.
    pub context: Context,
    /// Names of the program.
    pub names: Names,
    /// The sets that were read before, by text: long programs repeat the same sets many times.
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
        let conditions = self.names.conditions(comparisons, iterators)?;
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
        let mut conditions = self.names.conditions(&[], iterators)?;
        conditions.push(relation.isl(&self.names, iterators));
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
            let mut conditions = self.names.conditions(&[], iterators)?;
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
            let conditions = self.names.conditions(&region.comparisons, &[])?.join(" and ");
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
            let mut condition = self.names.conditions(&region.comparisons, &[])?.join(" and ");
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

    /// Its value. `None` on overflow, or if a symbol is missing.
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
