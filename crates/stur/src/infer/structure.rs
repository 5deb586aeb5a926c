//! The results of inference: the structure of every tensor, the statements of every rule, and the error if there are
//! none.

use std::collections::{BTreeMap, BTreeSet};

use dastac_poly::{Map, Set};

use super::group::Group;
use crate::affine::{ValueError, value};
use crate::ast::{PLACE, Span};
use crate::coefficient::Coefficient;
use crate::diagnostic::Diagnostic;
use crate::program::{Applied, Definition, Guard, Program, Rule, RuleId, TensorId};
use crate::sets::{Affine, Extent, SetError, Sets};

/// Why inference stopped.
#[derive(Debug)]
pub enum InferError {
    /// The program is at fault.
    User(Vec<Diagnostic>),
    /// isl failed.
    Poly(dastac_poly::Error),
}

impl From<SetError> for InferError {
    fn from(error: SetError) -> Self {
        match error {
            SetError::User(diagnostic) => InferError::User(vec![*diagnostic]),
            SetError::Poly(error) => InferError::Poly(error),
        }
    }
}

impl From<Diagnostic> for InferError {
    fn from(diagnostic: Diagnostic) -> Self {
        InferError::User(vec![diagnostic])
    }
}

impl From<dastac_poly::Error> for InferError {
    fn from(error: dastac_poly::Error) -> Self {
        InferError::Poly(error)
    }
}

/// How redundant elements of a tensor follow from unique ones.
#[derive(Clone, Debug)]
pub enum Redundancy {
    /// `T(x) = coefficient * T(map(x))` on the map's domain.
    Affine {
        /// Single-valued, into the unique set.
        map: Map,
        /// A number that is not 0, times powers of symbols.
        coefficient: Coefficient,
    },
    /// `T(x) = T(sort(x))`, where `sort` puts the subscripts at each class of positions in ascending order. This
    /// expresses the full symmetry of many positions without one piece for each permutation.
    Sorted {
        /// The redundant elements.
        domain: Set,
        /// Disjoint classes of positions.
        classes: Vec<Vec<usize>>,
    },
}

impl Redundancy {
    /// The redundant elements.
    pub fn domain(&self) -> Result<Set, dastac_poly::Error> {
        match self {
            Redundancy::Affine { map, .. } => map.domain(),
            Redundancy::Sorted { domain, .. } => Ok(domain.clone()),
        }
    }
}

/// What is known about a tensor.
#[derive(Clone, Debug)]
pub struct Structured {
    /// One name for each position, for printing and for the dimensions of sets.
    pub iterators: Vec<String>,
    /// The box: extents of the dense array that holds the tensor.
    pub extents: Vec<Extent>,
    /// Unique, structurally non-zero elements.
    pub unique: Set,
    /// Elements that follow from unique ones; pairwise disjoint domains.
    pub redundancy: Vec<Redundancy>,
    /// Unique and redundant elements: all that may be non-zero.
    pub support: Set,
    /// Whether the support is exactly the set of structurally non-zero elements. If a condition is not affine, the
    /// support may be larger.
    pub exact: bool,
    /// Elements that are zero although products have terms there, because each is its own negative.
    pub cancelled: Set,
    /// Permutations of positions under which the values are unchanged, or change sign. These are all that were found,
    /// even if the redundancy map does not use them.
    pub symmetry: Group,
}

impl Structured {
    /// The same for parameters in a set of them.
    pub(super) fn within(&self, params: &Set) -> Result<Structured, dastac_poly::Error> {
        let inside = |set: &Set| set.intersect_params(params);
        let redundancy = self.redundancy.iter().map(|piece| {
            Ok(match piece {
                Redundancy::Affine { map, coefficient } => {
                    let map = map.intersect_domain(&inside(&map.domain()?)?)?;
                    Redundancy::Affine { map, coefficient: coefficient.clone() }
                }
                Redundancy::Sorted { domain, classes } => {
                    Redundancy::Sorted { domain: inside(domain)?, classes: classes.clone() }
                }
            })
        });
        Ok(Structured {
            unique: inside(&self.unique)?,
            support: inside(&self.support)?,
            cancelled: inside(&self.cancelled)?,
            redundancy: redundancy.collect::<Result<_, dastac_poly::Error>>()?,
            ..self.clone()
        })
    }

    /// The smallest convex set around the support, as far as its constraints tell, in the box: a copy with all
    /// elements stores it, so that one statement reads it, at one polynomial's places.
    ///
    /// # Errors
    /// Failures of isl.
    pub fn around(&self, sets: &Sets) -> Result<Set, SetError> {
        self.hull(&self.support, sets)
    }

    fn hull(&self, elements: &Set, sets: &Sets) -> Result<Set, SetError> {
        if elements.basic_set_count()? <= 1 {
            return Ok(elements.clone());
        }
        // A hull may be there at sizes where nothing is, and reach out of the box: that of `j < M` or `j < N` has no
        // end, and that of `j < 3` or `j < N` is `j < N + 2`.
        let symbols = elements.params_set()?;
        let hull = elements.simple_hull()?.intersect_params(&symbols)?;
        let whole = sets.box_set(&self.iterators, &self.extents)?;
        Ok(if hull.is_subset(&whole)? { hull } else { elements.clone() })
    }
}

/// One read of a statement: the address of a unique element.
#[derive(Clone, Debug)]
pub struct Read {
    /// The tensor read.
    pub tensor: TensorId,
    /// Whether the product is divided by it.
    pub reciprocal: bool,
    /// One expression for each position, over the statement's iterators and symbols.
    pub subscripts: Vec<Affine>,
    /// Classes of positions whose subscripts must be sorted ascending to reach the unique element.
    pub sorted: Vec<Vec<usize>>,
    /// The iterator that is the position of the element. If there is one, the value of the element is not a factor.
    pub position: Option<String>,
    /// Whether the element is not a factor, but an argument of one of the statement's functions.
    pub argument: bool,
}

/// One loop nest: part of a product on which every read is a plain access to unique elements.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Iterators in loop order.
    pub iterators: Vec<String>,
    /// The points at which it runs, if its definitions and guards hold there.
    pub domain: Set,
    /// Constant factor.
    pub coefficient: f64,
    /// Factors read from tensors.
    pub reads: Vec<Read>,
    /// Symbols used as factors: index and whether reciprocal.
    pub symbols: Vec<(usize, bool)>,
    /// Functions of elements as factors. Their elements are indices into `reads`.
    pub functions: Vec<Applied>,
    /// Iterators that are computed, not loops: the loops run over the domain without them.
    pub definitions: Vec<Definition>,
    /// Guards, which must hold too at a point of the domain.
    pub guards: Vec<Guard>,
    /// Position of the product in its rule.
    pub product: usize,
}

impl Statement {
    /// Whether it runs at every point of its domain.
    pub fn is_exact(&self) -> bool {
        let positions = self.reads.iter().any(|read| read.position.is_some());
        self.definitions.is_empty() && self.guards.is_empty() && !positions
    }

    /// The iterators that are loops.
    pub fn loops(&self) -> Vec<String> {
        let computed = |name: &String| self.definitions.iter().any(|d| d.iterator == *name);
        self.iterators.iter().filter(|name| !computed(name)).cloned().collect()
    }
}

/// A rule with its statements; the head's subscripts are the rule's iterators.
#[derive(Clone, Debug)]
pub struct InferredRule {
    /// The rule.
    pub rule: RuleId,
    /// The tensor that it computes.
    pub head: TensorId,
    /// Its statements, in the order of products; their results are added.
    pub statements: Vec<Statement>,
}

/// A program with the structure of every tensor.
#[derive(Clone, Debug)]
pub struct Inferred {
    /// The program as it was checked, with its derived symbols. Expressions that inference took apart are in the
    /// statements.
    pub program: Program,
    /// The builder of its sets.
    pub sets: Sets,
    /// Structure of each tensor, indexed by [`TensorId`].
    pub tensors: Vec<Structured>,
    /// Rules in the program's order.
    pub rules: Vec<InferredRule>,
    /// Copies of operands ([`crate::expand`]), with the elements that may be non-zero: the support of a copy may have
    /// more.
    pub copies: BTreeMap<TensorId, Set>,
    /// Copies of results ([`crate::expand`]), which have less than their rules say: what is around the elements that
    /// are read of them.
    pub wholes: BTreeSet<TensorId>,
}

/// A product with its iteration space, restricted to the structurally non-zero.
#[derive(Clone)]
pub(crate) struct Space {
    /// Points over the product's iterators.
    pub(super) domain: Set,
    /// Subscripts of each access.
    pub(super) subscripts: Vec<Vec<Affine>>,
}

/// Gives a set's dimensions the (isl-safe) names of iterators.
pub(crate) fn named(
    sets: &Sets,
    set: &Set,
    iterators: &[String],
) -> Result<Set, dastac_poly::Error> {
    let names: Vec<&str> = iterators.iter().map(|name| sets.names.isl(name)).collect();
    set.with_dim_names(&names)
}

/// A set projected onto one of its dimensions.
pub(crate) fn side(set: &Set, position: usize) -> Result<Set, dastac_poly::Error> {
    let after = set.rank().saturating_sub(position + 1);
    set.project_out_at(position + 1, after)?.project_out_at(0, position)
}

pub(crate) fn unbounded(iterator: &str, span: Span) -> Diagnostic {
    // What the head's subscripts are has no name in programs.
    let (message, label, hint) = match iterator.split_once(PLACE) {
        Some((tensor, _)) => (
            format!("nothing says which elements `{tensor}` has"),
            "subscripts that nothing bounds".to_owned(),
            format!(
                "say which elements `{tensor}` has: `{tensor}:D(..) := (0 <= .. < N)`, with an iterator for each \
                subscript"
            ),
        ),
        None => (
            format!("iterator `{iterator}` is unbounded"),
            format!("no comparison, dimension or structure bounds `{iterator}` here"),
            format!(
                "add a comparison such as `(0 <= {iterator} < N)`, or `:D` of the tensor that it indexes"
            ),
        ),
    };
    Diagnostic::error("E0301", message, span, label).hint(hint)
}

/// A point of a non-empty set, in words.
pub(crate) fn witness(sets: &Sets, set: &Set) -> Result<String, dastac_poly::Error> {
    let Some(point) = set.sample()? else { return Ok("nowhere".into()) };
    let coords: Vec<String> = point.coords.iter().map(i64::to_string).collect();
    let mut text = format!("at ({})", coords.join(", "));
    let params: Vec<String> = point
        .params
        .iter()
        .map(|(name, value)| format!("{} = {value}", sets.names.original(name)))
        .collect();
    if !params.is_empty() {
        text += &format!(" with {}", params.join(", "));
    }
    Ok(text)
}

/// An access of a statement to an element of a tensor.
#[derive(Clone, Debug)]
pub struct StatementAccess<'a> {
    /// The statement.
    pub statement: &'a Statement,
    /// The read; `None` for the element of the rule's head, which the statement writes.
    pub read: Option<&'a Read>,
    /// One expression a position, over the statement's iterators.
    pub subscripts: Vec<Affine>,
}

impl Inferred {
    /// The elements that some products of a rule are added to, and those between them: a set whose constraints divide
    /// nothing.
    ///
    /// # Errors
    /// Failures of isl.
    pub fn around_products(&self, rule: RuleId, places: &[usize]) -> Result<Set, InferError> {
        let rule = &self.program.rules[rule.0];
        let (head, iterators) = (&self.tensors[rule.head.0], &rule.iterators);
        let added = self.products_elements(rule, places)?;
        // The symbols for which there are any, which may be told by divisions too.
        let symbols = added.params_set()?.remove_divs()?;
        let plain = added.remove_divs()?.intersect_params(&symbols)?;
        Ok(named(&self.sets, &head.hull(&plain, &self.sets)?, iterators)?)
    }

    /// The elements that some products of a rule are added to.
    ///
    /// # Errors
    /// Failures of isl.
    pub fn products_elements(&self, rule: &Rule, places: &[usize]) -> Result<Set, InferError> {
        let own = self.rules.iter().filter(|one| one.head == rule.head);
        let statements = own.flat_map(|one| &one.statements);
        let mut all: Option<Set> = None;
        for statement in statements.filter(|one| places.contains(&one.product)) {
            let to_head = self.sets.access(&statement.iterators, &rule.subscripts())?;
            let elements = statement.domain.apply(&to_head)?;
            all = Some(match all {
                Some(all) => all.union(&elements)?,
                None => elements,
            });
        }
        let all = all.map_or_else(|| self.sets.empty(&rule.iterators), Ok)?;
        Ok(named(&self.sets, &all, &rule.iterators)?)
    }
}

impl StatementAccess<'_> {
    /// Whether the subscripts are sorted before the element is read.
    pub fn is_sorted(&self) -> bool {
        self.read.is_some_and(|read| !read.sorted.is_empty())
    }

    /// The elements at the subscripts, at all points of the statement's domain.
    pub fn elements(&self, sets: &Sets) -> Result<Set, InferError> {
        let map = sets.access(&self.statement.iterators, &self.subscripts)?;
        Ok(self.statement.domain.apply(&map)?)
    }
}

impl Inferred {
    /// All accesses to a tensor, in program order; in a statement, reads come first.
    pub fn accesses(&self, tensor: TensorId) -> impl Iterator<Item = StatementAccess<'_>> {
        self.rules.iter().flat_map(move |rule| {
            let written = rule.head == tensor;
            rule.statements.iter().flat_map(move |statement| {
                let reads = statement.reads.iter().filter(move |read| read.tensor == tensor);
                let reads = reads.map(move |read| StatementAccess {
                    statement,
                    read: Some(read),
                    subscripts: read.subscripts.clone(),
                });
                let subscripts = || self.program.rules[rule.rule.0].subscripts();
                let write = written.then(|| StatementAccess {
                    statement,
                    read: None,
                    subscripts: subscripts(),
                });
                reads.chain(write)
            })
        })
    }

    /// The elements of an input that the computation reads. All unique elements of a computed tensor, and of a tensor
    /// that is read beside dynamic ones, because these decide which of its elements are read.
    pub fn used(&self, tensor: TensorId) -> Result<Set, InferError> {
        let structured = &self.tensors[tensor.0];
        let of_levels = |rule: &InferredRule| {
            let mut reads = rule.statements.iter().flat_map(|statement| &statement.reads);
            self.program.is_over_levels(rule.rule) && reads.any(|read| read.tensor == tensor)
        };
        if self.program.tensor(tensor).rule().is_some() || self.rules.iter().any(of_levels) {
            return Ok(structured.unique.clone());
        }
        let mut used = self.sets.empty(&structured.iterators)?;
        for access in self.accesses(tensor) {
            if access.is_sorted() {
                return Ok(structured.unique.clone());
            }
            used = used.union(&access.elements(&self.sets)?)?;
        }
        let used = as_one(used.simplify()?, &structured.unique)?;
        Ok(named(&self.sets, &used, &structured.iterators)?)
    }

    /// Values of all parameters by name, derived symbols too, from values of the symbols in declaration order.
    ///
    /// # Errors
    /// A derived symbol beyond 64 bits, a divisor that is not positive.
    pub fn parameter_values(&self, values: &[i64]) -> Result<BTreeMap<String, i64>, ValueError> {
        let symbols = self.symbol_values(values);
        let value_of = |name: &str| symbols.get(name).copied();
        for divisor in &self.program.divisors {
            match value(divisor, &value_of)? {
                1.. => {}
                found => {
                    return Err(ValueError::Divisor { text: divisor.to_string(), value: found });
                }
            }
        }
        let mut all = symbols.clone();
        for derived in &self.program.derived {
            all.insert(derived.name.clone(), value(&derived.value, &value_of)?);
        }
        Ok(all)
    }

    /// Values of symbols by name, from values in declaration order.
    pub fn symbol_values(&self, values: &[i64]) -> BTreeMap<String, i64> {
        self.program
            .symbols
            .iter()
            .map(|(name, _)| name.clone())
            .zip(values.iter().copied())
            .collect()
    }
}

/// The number of steps that one isl operation may take in the search for symmetry and redundancy. A structure that
/// takes more is dropped.
pub(super) const MAX_OPERATIONS: u64 = 500_000;

/// A union of more basic sets is not compared with a set that contains it.
const MAX_JOINED: usize = 64;

/// Replaces a union by a simpler set that contains it, if both are equal. It is only compared if that does not take
/// long.
///
/// Before -> after, within `0 <= i < N`: `0 <= i < N and i % 8 <= 3 or 0 <= i < N and i % 8 >= 4` -> `0 <= i < N`.
pub(super) fn as_one(set: Set, within: &Set) -> Result<Set, dastac_poly::Error> {
    let parts = set.basic_set_count()?;
    if !(2..=MAX_JOINED).contains(&parts) || within.basic_set_count()? >= parts {
        return Ok(set);
    }
    match set.context().limited(MAX_OPERATIONS, || within.is_subset(&set)) {
        Ok(true) => Ok(within.clone()),
        Ok(false) | Err(dastac_poly::Error::TooComplex { .. }) => Ok(set),
        Err(error) => Err(error),
    }
}
