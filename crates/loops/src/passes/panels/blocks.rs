//! The loops over blocks of rows, terms and columns, and the panels between them.
//!
//! Before -> after: `i`, `j` and `k` over a polyhedron -> `ic` over blocks of rows, `kb` over blocks of terms, panels
//! of rows, `jc` over blocks of columns, panels of columns, `it` and `jt` over tiles. Each loop goes over blocks that
//! have points, given those outside.

use super::contraction::{Contraction, Group};
use super::ranges::{facts, first, hull, last, range, within};
use crate::ir::*;
use crate::linear::Facts;
use crate::machine::Machine;
use crate::passes::polyhedra::scan::{Range, not_negative, scan};
use crate::passes::tile::work;

/// The sizes of blocks, in elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// Rows of a tile.
    pub(super) rows: i64,
    /// Columns of a tile: whole vectors.
    pub(super) columns: i64,
    /// Terms of a block: a slice of rows takes half of the first cache.
    pub(super) terms: i64,
    /// Rows of a block.
    pub(super) high: i64,
    /// Columns of a block, which takes half of the second cache.
    pub(super) wide: i64,
}

impl Sizes {
    fn of(machine: &Machine, element: Element) -> Sizes {
        let bytes = element.bytes() as i64;
        let (rows, vectors) = if machine.registers >= 32 { (8, 2) } else { (4, 2) };
        let columns = vectors * machine.lanes(bytes).max(1);
        let terms = (machine.l1 / 2 / bytes / rows).max(32);
        let high = (2 * machine.l2 / bytes / terms / rows).max(1) * rows;
        let wide = (machine.l2 / 2 / bytes / terms / columns).max(1) * columns;
        Sizes { rows, columns, terms, high, wide }
    }
}

/// One group of a contraction, while its loops are made.
pub(super) struct Blocks<'a> {
    pub(super) contraction: &'a Contraction,
    pub(super) group: &'a Group,
    pub(super) function: &'a mut Function,
    pub(super) sizes: Sizes,
    /// What holds at the current place.
    pub(super) facts: Facts,
    /// What is known of rows, terms and columns at the current place: expressions that are not negative.
    pub(super) given: Vec<Index>,
    pub(super) panels: Panels,
    /// Whether the first block of terms sets elements.
    pub(super) sets: bool,
}

/// The workspaces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Panels {
    pub(super) rows: BufferId,
    pub(super) columns: BufferId,
    pub(super) tile: BufferId,
}

/// The variables of the loops over blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Where the block of rows begins, that of terms, that of columns.
    pub(super) high: VarId,
    pub(super) terms: VarId,
    pub(super) wide: VarId,
    /// Where the tile begins.
    pub(super) row: VarId,
    pub(super) column: VarId,
}

/// The statements that a contraction is computed with; none if its ranges cannot be exchanged.
pub(super) fn blocks(
    contraction: Contraction,
    module: &mut Module,
    function: &mut Function,
    machine: &Machine,
) -> Option<Vec<Stmt>> {
    let (buffers, vars) = (module.buffers.len(), function.vars.len());
    let result = all_groups(contraction, module, function, machine);
    if result.is_none() {
        module.buffers.truncate(buffers);
        function.vars.truncate(vars);
    }
    result
}

fn all_groups(
    mut contraction: Contraction,
    module: &mut Module,
    function: &mut Function,
    machine: &Machine,
) -> Option<Vec<Stmt>> {
    let sizes = Sizes::of(machine, contraction.element);
    let mut result = std::mem::take(&mut contraction.before);
    let covers = contraction.sets && sets_all(&mut contraction);
    if contraction.sets && !covers {
        result.extend(cleared(&contraction)?);
    }
    let contraction = &contraction;
    for (at, group) in contraction.groups.iter().enumerate() {
        let covers = covers && at == 0;
        let panels = panels(contraction, group, module, sizes);
        let mut blocks = Blocks {
            contraction,
            group,
            function,
            sizes,
            facts: Facts::default(),
            given: Vec::new(),
            panels,
            sets: covers,
        };
        result.push(blocks.parts(machine)?);
    }
    result.extend(contraction.rest.iter().cloned());
    Some(result)
}

/// Whether each element has terms, so that the first of them may set it; a kind of terms that all elements have comes
/// first then.
fn sets_all(contraction: &mut Contraction) -> bool {
    let Some(group) = contraction.groups.first_mut() else { return false };
    let (deep, known) = (group.deep(), facts(&[&group.elements]));
    let every = |domain: &[Index]| {
        scan(domain, &[deep])
            .is_some_and(|terms| terms.around.iter().all(|one| known.imply(&not_negative(one))))
    };
    // Terms of any other kind have terms of this one before them.
    let earliest = |at: usize| {
        let Some(one) = scan(&group.terms[at].domain, &[deep]) else { return false };
        let lower = one.ranges.iter().flat_map(|range| &range.lower);
        let lower: Vec<Condition> = lower.map(|low| low.clone().at_most(deep.into())).collect();
        group.terms.iter().all(|other| {
            let known = facts(&[&other.domain]);
            lower.iter().all(|condition| known.imply(condition))
        })
    };
    let mut terms = 0..group.terms.len();
    let first = terms.find(|at| every(&group.terms[*at].domain) && earliest(*at));
    let Some(first) = first.filter(|_| group.sums.len() == 1) else { return false };
    group.terms.swap(0, first);
    true
}

/// Loops that set all elements to 0.
fn cleared(contraction: &Contraction) -> Option<Vec<Stmt>> {
    let group = contraction.groups.first()?;
    let order = [&contraction.outer[..], &[contraction.row, contraction.column]].concat();
    let nested = scan(&group.elements, &order)?;
    let zero = Value::Const(0.0);
    let zero = Stmt::set(contraction.buffer, contraction.index.clone(), zero);
    let body = nested.loops(&order, vec![zero]);
    Some(vec![Stmt::when(Condition::all(nested.around.iter().map(not_negative)), body)])
}

/// New workspaces.
fn panels(contraction: &Contraction, group: &Group, module: &mut Module, sizes: Sizes) -> Panels {
    let result = module.buffers[contraction.buffer.0 as usize].name.clone();
    let named = |values: &[Value]| {
        let load = values.iter().find_map(|value| match value {
            Value::Load(buffer, _) => Some(module.buffers[buffer.0 as usize].name.clone()),
            _ => None,
        });
        load.unwrap_or_else(|| result.clone())
    };
    let rows = group.terms.first().map_or(result.clone(), |term| named(&term.rows));
    let columns = named(&group.columns);
    let element = contraction.element;
    let mut make = |name: String, size: i64| module.fresh_buffer(name, element, size.into());
    Panels {
        rows: make(format!("{rows}.rows"), sizes.high * sizes.terms),
        columns: make(format!("{columns}.columns"), sizes.wide * sizes.terms),
        tile: make(format!("{result}.tile"), sizes.rows * sizes.columns),
    }
}

impl Blocks<'_> {
    /// The parts of rows that threads share.
    fn parts(&mut self, machine: &Machine) -> Option<Stmt> {
        let (row, column) = (self.contraction.row, self.contraction.column);
        let mut others = vec![column];
        others.extend(&self.contraction.outer);
        let elements = range(&self.group.elements, row, &others, &self.facts)?;
        let domain = scan(&self.group.elements, &[row])?;
        let around: Vec<Index> =
            domain.around.iter().filter(|one| one.free_vars().is_empty()).cloned().collect();
        let around = Condition::all(around.iter().map(not_negative));
        let tile = self.panels.tile;
        let inside = |body: Vec<Stmt>, size: i64| {
            vec![Stmt::Workspace(Workspace {
                buffer: tile,
                size: size.into(),
                zero: false,
                instead: None,
                body,
            })]
        };
        let size = self.sizes.rows * self.sizes.columns;
        if !machine.has_threads() {
            let body = self.outer(0)?;
            return Some(Stmt::when(around, inside(body, size)));
        }
        let (begin, end) = (self.function.fresh_like(row, "b"), self.function.fresh_like(row, "e"));
        let work = self.work(end, machine)?;
        let (from, to) = (Index::Var(begin), Index::Var(end));
        self.given.extend([Index::Var(row) - from.clone(), to - 1 - Index::Var(row)]);
        let body = self.outer(0)?;
        let (lower, upper) = (elements.lower, elements.upper);
        let (step, work) = (self.sizes.rows, Some(work));
        let body = inside(body, size);
        let parts = PartitionedRange { begin, end, lower, upper, step, work, body };
        Some(Stmt::when(around, vec![Stmt::Partitioned(parts)]))
    }

    /// The work of the rows before `end`.
    fn work(&self, end: VarId, machine: &Machine) -> Option<Index> {
        let mut order = vec![self.contraction.row];
        order.extend(&self.contraction.outer);
        order.push(self.contraction.column);
        order.extend(&self.group.sums);
        let mut total = Index::Const(0);
        for term in &self.group.terms {
            let nested = scan(&term.domain, &order)?;
            let term = work::of_ranges(&order, nested.bounded().collect(), end, machine);
            total = total + term;
        }
        Some(total)
    }

    /// The range of a variable over all points that the blocks outside may have.
    pub(super) fn visited(&self, var: VarId, inner: &[VarId]) -> Option<Range> {
        let ranges: Option<Vec<Range>> = (0..self.group.terms.len())
            .map(|term| range(&self.domain(term), var, inner, &self.facts))
            .collect();
        Some(hull(ranges?, &self.facts))
    }

    /// The points of a term in the current blocks.
    pub(super) fn domain(&self, term: usize) -> Vec<Index> {
        [&self.group.terms[term].domain[..], &self.given].concat()
    }

    /// A loop around what is made inside of it.
    fn around(
        &mut self,
        (var, range, step): (VarId, Range, i64),
        body: impl FnOnce(&mut Self) -> Option<Vec<Stmt>>,
    ) -> Option<Vec<Stmt>> {
        let len = self.facts.len();
        self.facts.assume_range(var, &range.lower, &range.upper);
        let body = body(self);
        self.facts.truncate(len);
        let Range { lower, upper } = range;
        Some(vec![Stmt::For(For { var, lower, upper, step, mark: Mark::Sequential, body: body? })])
    }

    /// What is made where a variable is in a block.
    fn in_block<T>(
        &mut self,
        (var, from, size): (VarId, VarId, i64),
        make: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let len = self.given.len();
        self.given.extend(within(var, &Index::Var(from), size));
        let made = make(self);
        self.given.truncate(len);
        made
    }

    /// The loops around rows, columns and terms, from one on.
    fn outer(&mut self, at: usize) -> Option<Vec<Stmt>> {
        let (row, column, deep) =
            (self.contraction.row, self.contraction.column, self.group.deep());
        let sums = &self.group.sums[..self.group.sums.len() - 1];
        let order: Vec<VarId> = self.contraction.outer.iter().chain(sums).copied().collect();
        let Some(var) = order.get(at).copied() else { return self.rows() };
        let mut inner = order[at + 1..].to_vec();
        inner.extend([row, column, deep]);
        let range = self.visited(var, &inner)?;
        self.around((var, range, 1), |blocks| blocks.outer(at + 1))
    }

    fn rows(&mut self) -> Option<Vec<Stmt>> {
        let (row, column, deep) =
            (self.contraction.row, self.contraction.column, self.group.deep());
        let Sizes { terms, high, wide, .. } = self.sizes;
        let [i, k, j] = [(row, "c"), (deep, "b"), (column, "c")]
            .map(|(like, mark)| self.function.fresh_like(like, mark));
        let [it, jt] = [row, column].map(|like| self.function.fresh_like(like, "t"));
        let place = Place { high: i, terms: k, wide: j, row: it, column: jt };
        let rows = self.visited(row, &[column, deep])?;
        self.around((i, rows, high), |blocks| {
            blocks.in_block((row, i, high), |blocks| {
                let mut range = blocks.visited(deep, &[row, column])?;
                // Blocks of terms begin at multiples of their size.
                let begin = first(&range);
                range.lower = match begin.as_const() {
                    Some(0) => vec![begin],
                    _ => vec![begin.floor_div(terms) * terms],
                };
                blocks.around((k, range, terms), |blocks| {
                    blocks.in_block((deep, k, terms), |blocks| {
                        let mut body = blocks.pack_rows(place)?;
                        let mut range = blocks.visited(column, &[row, deep])?;
                        // The same tiles for all blocks of terms: which of them is a tile's first must hold for all of
                        // its elements.
                        if range.lower.iter().any(|low| low.mentions(k)) {
                            range.lower = vec![first(&range).floor_div(wide) * wide];
                        }
                        body.extend(blocks.around((j, range, wide), |blocks| {
                            blocks.in_block((column, j, wide), |blocks| blocks.columns(place))
                        })?);
                        let size = (high * terms).into();
                        let buffer = blocks.panels.rows;
                        let with = Workspace { buffer, size, zero: false, instead: None, body };
                        Some(vec![Stmt::Workspace(with)])
                    })
                })
            })
        })
    }

    /// A block of columns: their panels, and all tiles.
    fn columns(&mut self, place: Place) -> Option<Vec<Stmt>> {
        let (row, column, deep) =
            (self.contraction.row, self.contraction.column, self.group.deep());
        let Sizes { rows, columns, terms, wide, .. } = self.sizes;
        let mut body = self.pack_columns(place)?;
        let across = (column, place.wide, place.column, columns);
        let down = (row, place.high, place.row, rows);
        body.extend(self.slices(down, &[column, deep], |blocks| {
            blocks.slices(across, &[row, deep], |blocks| blocks.tile(place))
        })?);
        let (buffer, size) = (self.panels.columns, (wide * terms).into());
        Some(vec![Stmt::Workspace(Workspace { buffer, size, zero: false, instead: None, body })])
    }

    /// A loop over the slices of a panel that have points.
    pub(super) fn slices(
        &mut self,
        (var, from, slice, size): (VarId, VarId, VarId, i64),
        inner: &[VarId],
        make: impl FnOnce(&mut Self) -> Option<Vec<Stmt>>,
    ) -> Option<Vec<Stmt>> {
        let range = self.visited(var, inner)?;
        let len = self.facts.len();
        self.facts.assume(&Index::Var(from).at_most(slice.into()));
        for low in range.lower.iter().filter(|low| **low != Index::Var(from)) {
            self.facts.assume(&low.clone().less(Index::Var(slice) + size));
        }
        let range = on_grid(range, from, size);
        let body =
            self.around((slice, range, size), |blocks| blocks.in_block((var, slice, size), make));
        self.facts.truncate(len);
        body
    }

    /// The terms that the current blocks have.
    pub(super) fn terms(&self) -> Option<Range> {
        self.visited(self.group.deep(), &[self.contraction.row, self.contraction.column])
    }
}

/// A range that begins a whole number of steps behind `from`.
fn on_grid(range: Range, from: VarId, step: i64) -> Range {
    let begin = Index::Var(from);
    if range.lower == [begin.clone()] {
        return range;
    }
    let low = (first(&range) - begin.clone()).floor_div(step) * step + begin;
    Range { lower: vec![low], upper: vec![last(&range)] }
}
