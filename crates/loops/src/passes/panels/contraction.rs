//! Which statements are computed from panels: their rows, columns and terms.
//!
//! Before -> after, of the two halves of a symmetric matrix times a dense one, which are two statements: the rows are
//! those of `i`, the columns those of `j`; one group with the columns `B[M * k + j]` and two kinds of rows,
//! `S[.. i .. + k]` where `k <= i` and `S[.. k .. + i]` where `i < k`.

use super::ranges::{facts, shadow};
use crate::ir::*;
use crate::linear::Facts;
use crate::passes::polyhedra::products::{Product, products, rename};
use crate::passes::polyhedra::scan::{Nested, not_negative, scan};
use crate::polynomial::Polynomial;

/// A known number of terms from which on panels are worth their while.
const TERMS: i64 = 24;

/// Products that are added to the same elements.
pub(super) struct Contraction {
    pub(super) buffer: BufferId,
    pub(super) index: Index,
    /// In which type elements are computed, and stored.
    pub(super) element: Element,
    /// The loop over what is the rows of tiles.
    pub(super) row: VarId,
    /// The loop over what is in the lanes of vectors.
    pub(super) column: VarId,
    /// The other loops, the outermost first.
    pub(super) outer: Vec<VarId>,
    /// Whether the first group sets its elements, which are those of its first statement.
    pub(super) sets: bool,
    /// Statements that set elements before.
    pub(super) before: Vec<Stmt>,
    pub(super) groups: Vec<Group>,
    /// Statements that add what is computed in another way.
    pub(super) rest: Vec<Stmt>,
}

/// Terms with the same columns.
pub(super) struct Group {
    /// Expressions that are not negative exactly where there are elements.
    pub(super) elements: Vec<Index>,
    /// The factors that depend on the column.
    pub(super) columns: Vec<Value>,
    /// What is added up, in an order of loops; the last is that of panels.
    pub(super) sums: Vec<VarId>,
    pub(super) terms: Vec<Term>,
}

/// What is multiplied with columns.
pub(super) struct Term {
    pub(super) coefficient: f64,
    pub(super) rows: Vec<Value>,
    /// Expressions that are not negative exactly at the points.
    pub(super) domain: Vec<Index>,
}

impl Group {
    /// The iterator of the terms in a panel.
    pub(super) fn deep(&self) -> VarId {
        self.sums.last().copied().unwrap_or(VarId(0))
    }
}

/// The contraction that statements begin with, and how many of them it stands for.
pub(super) fn contraction(
    stmts: &[Stmt],
    module: &Module,
    function: &Function,
) -> Option<(Contraction, usize)> {
    // A statement that sets elements to zero is part of the first one that adds to them.
    let is_zero = |one: &Product| one.sets && one.factors.is_empty() && one.coefficient == 0.0;
    let mut zeros = taken(stmts.first()?, function)?;
    if !matches!(&zeros[..], [only] if is_zero(only)) {
        zeros.clear();
    }
    let first = taken(stmts.get(zeros.len())?, function)?;
    let (like, loops) = match zeros.first() {
        Some(zero) => (zero.clone(), zero.loops),
        None => (first.first()?.clone(), first.first()?.loops),
    };
    let first: Option<Vec<Product>> = first.iter().map(|one| alike(one, &like)).collect();
    let first = first.filter(|first| zeros.is_empty() || !first.iter().any(|one| one.sets))?;
    let element = module.buffers.get(like.buffer.0 as usize)?.element;
    if !matches!(element, Element::F32 | Element::F64) || loops < 2 {
        return None;
    }
    // The products of each statement, and the pairs of loops that all of them allow.
    let mut all = vec![first];
    let computed = |product: &Product| {
        let value = Value::product(product.factors.iter().cloned());
        module.computed_in(&value, element) == element
    };
    let mut pairs = pairs(&like, &all[0], &computed);
    for stmt in &stmts[zeros.len() + 1..] {
        let Some(next) = taken(stmt, function) else { break };
        let next: Option<Vec<Product>> = next.iter().map(|one| alike(one, &like)).collect();
        let Some(next) = next.filter(|next| next.iter().all(|one| !one.sets)) else { break };
        let mut common = pairs.clone();
        common.retain(|pair| allows(&next, *pair, &computed));
        if common.is_empty() {
            break;
        }
        pairs = common;
        all.push(next);
    }
    let (row, column) = *pairs.first()?;
    let count = all.len() + zeros.len();
    let outer = like.vars[..loops].iter().filter(|var| ![row, column].contains(var));
    let mut contraction = Contraction {
        buffer: like.buffer,
        index: like.index.clone(),
        element,
        row,
        column,
        outer: outer.copied().collect(),
        sets: like.sets,
        before: Vec::new(),
        groups: Vec::new(),
        rest: Vec::new(),
    };
    for product in all.into_iter().flatten() {
        match deepest(&product, row, column) {
            Some(deep) if computed(&product) => contraction.add(product, deep),
            _ => contraction.rest.push(plain(&product)?),
        }
    }
    if let Some(zero) = zeros.first()
        && !contraction.starts_with(zero)
    {
        contraction.sets = false;
        contraction.before.push(stmts[0].clone());
    }
    contraction.is_worth_it().then_some((contraction, count))
}

/// The products of a statement, unless the program says how it is to be executed.
fn taken(stmt: &Stmt, function: &Function) -> Option<Vec<Product>> {
    let products = products(stmt)?;
    let scheduled =
        |product: &Product| product.vars.iter().any(|var| function.hints.get(*var).scheduled);
    (!products.is_empty() && !products.iter().any(scheduled)).then_some(products)
}

/// The pairs of loops, rows and columns, that the products of the first statement allow, the best first: columns that
/// are stored as neighbours, and rows from an inner loop.
fn pairs(
    like: &Product,
    products: &[Product],
    computed: &dyn Fn(&Product) -> bool,
) -> Vec<(VarId, VarId)> {
    let loops = &like.vars[..like.loops];
    let mut columns: Vec<VarId> = loops.iter().rev().copied().collect();
    columns.sort_by_key(|var| like.index.constant_stride(*var) != Some(1));
    let mut pairs = Vec::new();
    for column in columns {
        let rows = loops.iter().rev().filter(|row| **row != column);
        pairs.extend(rows.map(|row| (*row, column)));
    }
    pairs.retain(|pair| allows(products, *pair, computed));
    pairs
}

/// Whether a product of a statement can be computed in tiles of these rows and columns.
fn allows(
    products: &[Product],
    (row, column): (VarId, VarId),
    computed: &dyn Fn(&Product) -> bool,
) -> bool {
    products.iter().any(|one| computed(one) && deepest(one, row, column).is_some())
}

/// The iterator whose terms are those of panels, the innermost if several can be: rows and columns are apart in all
/// factors, and in all conditions about terms.
fn deepest(product: &Product, row: VarId, column: VarId) -> Option<VarId> {
    let both = |value: &Value| value.mentions(row) && value.mentions(column);
    if product.factors.iter().any(both) {
        return None;
    }
    // Which rows and columns meet is known of elements, not of their terms.
    let meet = |one: &Index| one.mentions(row) && one.mentions(column);
    if product.domain[product.elements..].iter().any(meet) {
        return None;
    }
    let sums = product.vars[product.loops..].iter().rev();
    let mut fit = sums.copied().filter(|deep| {
        let used = |side: VarId| {
            product.factors.iter().any(|one| one.mentions(side) && one.mentions(*deep))
        };
        used(row) && used(column) && !few(product, *deep)
    });
    let deep = fit.next()?;
    // Everything about the points is known in whole numbers.
    let inner: Vec<VarId> = product.vars.iter().copied().filter(|var| *var != deep).collect();
    let order: Vec<VarId> = std::iter::once(deep).chain(inner).collect();
    scan(&product.domain, &order)?;
    Some(deep)
}

/// Whether a sum is known to have few terms.
fn few(product: &Product, deep: VarId) -> bool {
    let Some(Nested { ranges, .. }) = scan(&product.domain, &[deep]) else { return true };
    let Some(range) = ranges.first() else { return true };
    let mut lengths = range
        .upper
        .iter()
        .flat_map(|high| range.lower.iter().filter_map(move |low| high.constant_difference(low)));
    lengths.any(|length| length < TERMS)
}

/// The product with the loops' variables of another one that stores to the same elements.
fn alike(product: &Product, like: &Product) -> Option<Product> {
    if product.buffer != like.buffer || product.loops != like.loops {
        return None;
    }
    let loops = &like.vars[..like.loops];
    if product.vars[product.loops..].iter().any(|sum| loops.contains(sum)) {
        return None;
    }
    let product = product.with_loops(loops);
    let same = product.index == like.index
        || Polynomial::of(&product.index)
            .zip(Polynomial::of(&like.index))
            .is_some_and(|(one, other)| one == other);
    same.then_some(product)
}

/// A statement that adds a product.
fn plain(product: &Product) -> Option<Stmt> {
    let (loops, sums) = product.vars.split_at(product.loops);
    let elements = scan(&product.domain[..product.elements], loops)?;
    let terms = scan(&product.domain, &product.vars)?;
    let factors = std::iter::once(Value::Const(product.coefficient));
    let factors = factors.filter(|_| product.coefficient != 1.0 || product.factors.is_empty());
    let mut value = Value::product(factors.chain(product.factors.iter().cloned()));
    let ranges: Vec<_> = terms.bounded().collect();
    for (var, range) in sums.iter().zip(&ranges[product.loops..]).rev() {
        let (lower, upper) = (range.lower.clone(), range.upper.clone());
        value = Value::Sum(Box::new(Sum {
            kind: Reduction::Sum,
            var: *var,
            lower,
            upper,
            step: 1,
            unroll: None,
            condition: None,
            fetch: Vec::new(),
            body: value,
        }));
    }
    let add = Stmt::add(product.buffer, product.index.clone(), value);
    let body = elements.loops(loops, vec![add]);
    let around = product.guards.iter().chain(&elements.around).map(not_negative);
    Some(Stmt::when(Condition::all(around), body))
}

impl Contraction {
    /// Adds a product, to the group that has its columns if there is one.
    fn add(&mut self, product: Product, deep: VarId) {
        let (columns, rows): (Vec<Value>, Vec<Value>) =
            product.factors.into_iter().partition(|factor| factor.mentions(self.column));
        let mut sums = product.vars[product.loops..].to_vec();
        sums.retain(|var| *var != deep);
        sums.push(deep);
        let domain = [&product.domain[..], &product.guards[..]].concat();
        let elements = [&product.domain[..product.elements], &product.guards[..]].concat();
        let term = Term { coefficient: product.coefficient, rows, domain };
        let column = self.column;
        for group in &mut self.groups {
            if let Some(term) = group.takes(&term, &columns, &sums, column) {
                group.terms.push(term);
                return;
            }
        }
        self.groups.push(Group { elements, columns, sums, terms: vec![term] });
    }

    /// Whether the first group computes the elements that a statement sets to zero; they are its elements then. Panels
    /// have zeros where a row or a column has no term, but what says which rows and columns meet holds for whole tiles.
    fn starts_with(&mut self, zero: &Product) -> bool {
        let (row, column) = (self.row, self.column);
        let Some(group) = self.groups.first_mut() else { return false };
        let elements = [&zero.domain[..], &zero.guards[..]].concat();
        let there = facts(&[&elements]);
        let meet = |one: &&Index| one.mentions(row) && one.mentions(column);
        let inside = group.terms.iter().all(|term| {
            let known = facts(&[&term.domain]);
            elements.iter().all(|one| known.imply(&not_negative(one)))
                && term.domain.iter().filter(meet).all(|one| there.imply(&not_negative(one)))
        });
        if inside {
            group.elements = elements;
        }
        inside
    }

    /// Whether panels gain something over tiles: sums are cut, or several share elements.
    fn is_worth_it(&self) -> bool {
        let cut = |term: &Term, group: &Group| {
            let loops = [&[self.row, self.column], &self.outer[..]].concat();
            term.domain.iter().any(|one| {
                group.sums.iter().any(|sum| one.mentions(*sum))
                    && loops.iter().any(|var| one.mentions(*var))
            })
        };
        let terms =
            || self.groups.iter().flat_map(|group| group.terms.iter().map(move |t| (t, group)));
        terms().count() > 1 || terms().any(|(term, group)| cut(term, group))
    }
}

impl Group {
    /// The term with the group's iterators, if the group has its columns, at the same points.
    fn takes(&self, term: &Term, columns: &[Value], sums: &[VarId], column: VarId) -> Option<Term> {
        if sums.len() != self.sums.len() || columns.len() != self.columns.len() {
            return None;
        }
        let index = |index: &Index| rename(index, sums, &self.sums);
        let columns: Vec<Value> = columns.iter().map(|one| one.rebuild(&|at| index(at))).collect();
        let same = |one: &Value| self.columns.iter().any(|other| same_value(one, other));
        if !columns.iter().all(same) {
            return None;
        }
        let term = Term {
            coefficient: term.coefficient,
            rows: term.rows.iter().map(|one| one.rebuild(&|at| index(at))).collect(),
            domain: term.domain.iter().map(index).collect(),
        };
        // What is said of columns, and of elements, holds for all terms.
        let known = facts(&[&term.domain]);
        let about = |one: &&Index| one.mentions(column);
        let held = |one: &Index, known: &Facts| known.imply(&not_negative(one));
        let mine = self.terms.iter().all(|mine| {
            let other = facts(&[&mine.domain]);
            mine.domain.iter().filter(about).all(|one| held(one, &known))
                && term.domain.iter().filter(about).all(|one| held(one, &other))
        });
        let inside = self.elements.iter().all(|one| held(one, &known));
        (mine && inside && shadow(&term.domain, &[column]).is_some()).then_some(term)
    }
}

/// Whether two values are the same element.
fn same_value(one: &Value, other: &Value) -> bool {
    match (one, other) {
        _ if one == other => true,
        (Value::Load(left, at), Value::Load(right, there)) if left == right => {
            let both = Polynomial::of(at).zip(Polynomial::of(there));
            both.is_some_and(|(at, there)| at == there)
        }
        _ => false,
    }
}
