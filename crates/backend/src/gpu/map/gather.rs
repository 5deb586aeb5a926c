//! Rows of a result that come together in a workspace with a place for each coordinate.
//!
//! What [`of`] understands: a range in parts, whose parts have a workspace, with a loop over rows inside:
//! ```text
//! partition begin, end = 0 to M { with sums of P zero { with mark of P zero { for i = begin to end {
//!   with at of 2 { at[0] = ..
//!     for p { for q { sums[crd[q]] += v  mark[crd[q]] = 1  mark64[crd[q] / 64] = 1 } }        points
//!     scan b in mark64[..] { scan k in mark[..] { let n = at[0] { A[n] = sums[k]  at[0] += 1 } } }    drain
//!     let n = at[0] { .. }
//! } } } } }
//! ```

use std::collections::BTreeSet;

use dastac_loops::{
    BufferId, Element, For, Function, Index, Mode, Module, PartitionedRange, Scan, Stmt, Store,
    StoreMode, Value, VarId,
};

/// The rows.
pub(super) struct Gathered<'a> {
    /// The loop over the rows of a part.
    pub rows: &'a For,
    /// Statements that come to points, in order.
    pub points: Vec<&'a Stmt>,
    /// What stands around the loop over the coordinates of a row in order, the outermost first.
    pub around: Vec<Around<'a>>,
    /// The coordinate of a point.
    pub key: VarId,
    /// What is done for each coordinate, in order.
    pub drain: &'a [Stmt],
    /// The marks: first those of coordinates.
    pub marks: Vec<BufferId>,
    /// The values, if there are any.
    pub values: Option<Values>,
    /// The counter of coordinates: its place in a memory of so many.
    pub counter: Option<Counter>,
    /// The sizes of the workspaces.
    pub sizes: Vec<(BufferId, &'a Index)>,
    /// Other memory of a row, which nothing uses but what is done for a coordinate.
    pub blocks: Vec<(BufferId, Index)>,
}

/// Values of points with the same coordinate, which are joined.
#[derive(Clone, Copy)]
pub(super) struct Values {
    pub buffer: BufferId,
    pub mode: StoreMode,
    /// What they are joined to.
    pub neutral: f64,
}

/// Where coordinates are counted.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Counter {
    pub buffer: BufferId,
    pub at: i64,
    /// How many counters there are.
    pub size: i64,
}

/// Statements of a row around what is in `open`, or around the loop over its coordinates.
pub(super) struct Around<'a> {
    pub before: Vec<&'a Stmt>,
    pub after: &'a [Stmt],
    /// A workspace, or an integer that is read.
    pub open: Option<&'a Stmt>,
}

/// A point: its coordinate, and what is joined there.
pub(super) struct Point<'a> {
    pub key: &'a Index,
    pub value: Option<&'a Value>,
}

/// Such rows, if a range has them.
pub(super) fn of<'a>(inner: &'a PartitionedRange, function: &Function) -> Option<Gathered<'a>> {
    if inner.step != 1 {
        return None;
    }
    let (mut opened, mut sizes) = (BTreeSet::new(), Vec::new());
    let mut body = &inner.body[..];
    let rows = loop {
        let mut scanning = body.iter().filter(|stmt| scans(stmt));
        let (one, None) = (scanning.next()?, scanning.next()) else { return None };
        let others = body.iter().filter(|stmt| !scans(stmt));
        if !others.into_iter().all(|stmt| is_cleared(stmt, &opened)) {
            return None;
        }
        match one {
            Stmt::Workspace(open) if open.instead.is_none() => {
                opened.insert(open.buffer);
                sizes.push((open.buffer, &open.size));
                body = &open.body;
            }
            Stmt::For(rows) => break rows,
            _ => return None,
        }
    };
    let whole = rows.lower == [Index::Var(inner.begin)] && rows.upper == [Index::Var(inner.end)];
    if !whole || rows.step != 1 {
        return None;
    }
    let mut found = Gathered {
        rows,
        points: Vec::new(),
        around: Vec::new(),
        key: rows.var,
        drain: &[],
        marks: Vec::new(),
        values: None,
        counter: None,
        sizes,
        blocks: Vec::new(),
    };
    found.look(&rows.body)?;
    let mut others = opened.iter().filter(|buffer| !found.marks.contains(buffer));
    let values = others.next().copied();
    if others.next().is_some() || !found.marks.iter().all(|mark| opened.contains(mark)) {
        return None;
    }
    let mut own = found.marks.clone();
    own.extend(values);
    found.take_points(&own)?;
    if let Some(buffer) = values {
        let mode = joined(&found.points, buffer)?;
        let neutral = neutral(found.drain, (buffer, found.key))?;
        found.values = Some(Values { buffer, mode, neutral });
    }
    let alone = |stmt: &&Stmt| found.come(std::slice::from_ref(*stmt), function);
    if !found.points.iter().all(alone) {
        return None;
    }
    found.take_memory(function)?;
    Some(found)
}

/// How points are joined, if all are joined in one way.
fn joined(points: &[&Stmt], values: BufferId) -> Option<StoreMode> {
    let mut modes = Vec::new();
    for stmt in points {
        stmt.visit(&mut |stmt| {
            if let Stmt::Store(store) = stmt
                && store.buffer == values
            {
                modes.push(store.mode);
            }
        });
    }
    let first = *modes.first()?;
    let same = modes.iter().all(|mode| *mode == first);
    (same && first != StoreMode::Set).then_some(first)
}

/// The number that values are set to when they have been used.
fn neutral(drain: &[Stmt], (values, key): (BufferId, VarId)) -> Option<f64> {
    let mut found = Vec::new();
    for stmt in drain {
        stmt.visit(&mut |stmt| {
            if let Stmt::Store(store) = stmt
                && store.buffer == values
            {
                let own = store.index == Index::Var(key) && store.mode == StoreMode::Set;
                found.push(match store.value {
                    Value::Const(value) if own => Some(value),
                    _ => None,
                });
            }
        });
    }
    let [found] = found[..] else { return None };
    found
}

fn scans(stmt: &Stmt) -> bool {
    let mut found = false;
    stmt.visit(&mut |stmt| found |= matches!(stmt, Stmt::Scan(_)));
    found
}

/// Whether a statement does nothing but set elements of a workspace to a number.
fn is_cleared(stmt: &Stmt, opened: &BTreeSet<BufferId>) -> bool {
    let Stmt::For(inner) = stmt else { return false };
    matches!(&inner.body[..], [Stmt::Store(store)]
        if opened.contains(&store.buffer) && matches!(store.value, Value::Const(_)))
}

fn stores_to(stmt: &Stmt, buffers: &[BufferId]) -> bool {
    let mut found = false;
    stmt.visit(&mut |stmt| {
        found |= matches!(stmt, Stmt::Store(store) if buffers.contains(&store.buffer));
    });
    found
}

impl<'a> Gathered<'a> {
    /// Looks for the loop over the coordinates of a row in order.
    fn look(&mut self, body: &'a [Stmt]) -> Option<()> {
        let at = body.iter().position(scans)?;
        let (before, after) = (&body[..at], &body[at + 1..]);
        if after.iter().any(scans) {
            return None;
        }
        let mut around = Around { before: before.iter().collect(), after, open: None };
        match &body[at] {
            Stmt::Scan(scan) => {
                self.scanned(scan)?;
                self.around.push(around);
            }
            stmt @ (Stmt::Workspace(_) | Stmt::Let(_)) => {
                around.open = Some(stmt);
                self.around.push(around);
                self.look(stmt.bodies().first()?)?;
            }
            _ => return None,
        }
        Some(())
    }

    fn scanned(&mut self, scan: &'a Scan) -> Option<()> {
        self.marks.insert(0, scan.buffer);
        match &scan.body[..] {
            [Stmt::Scan(inner)] => self.scanned(inner),
            body => {
                (self.key, self.drain) = (scan.var, body);
                (!body.iter().any(scans)).then_some(())
            }
        }
    }

    /// Takes the statements that come to points out of those around, if they are independent of these.
    fn take_points(&mut self, own: &[BufferId]) -> Option<()> {
        let mut bound = Vec::new();
        for around in &mut self.around {
            let (points, before): (Vec<&Stmt>, Vec<&Stmt>) =
                around.before.iter().partition(|stmt| stores_to(stmt, own));
            around.before = before;
            let mut others = around.before.iter().copied().chain(around.after);
            let used = others.any(|stmt| stores_to(stmt, own));
            if used || points.iter().any(|stmt| bound.iter().any(|var| stmt.mentions(*var))) {
                return None;
            }
            self.points.extend(points);
            if let Some(Stmt::Let(inner)) = around.open {
                bound.push(inner.var);
            }
        }
        Some(())
    }

    /// The buffer to which the stores stand for points.
    fn point_buffer(&self) -> BufferId {
        self.values.map_or(self.marks[0], |values| values.buffer)
    }

    /// Whether all that statements do is to come to points, and to mark just these.
    fn come(&self, body: &[Stmt], function: &Function) -> bool {
        let (mut points, mut marks) = (Vec::new(), Vec::new());
        for stmt in body {
            let alone = std::slice::from_ref(stmt);
            let (stores, range, var) = match stmt {
                Stmt::For(inner) if inner.body.iter().all(|one| matches!(one, Stmt::Store(_))) => {
                    (&inner.body[..], Some((&inner.lower, &inner.upper, inner.step)), inner.var)
                }
                Stmt::Store(_) => (alone, None, self.key),
                Stmt::Let(inner) if !function.args.contains(&(inner.buffer, Mode::In)) => {
                    return false;
                }
                Stmt::For(_) | Stmt::If(_) | Stmt::While(_) | Stmt::Let(_) => {
                    if !stmt.bodies().into_iter().all(|body| self.come(body, function)) {
                        return false;
                    }
                    continue;
                }
                _ => return false,
            };
            for store in stores {
                let Stmt::Store(store) = store else { return false };
                let place = (range, store.index.substitute(var, &Index::Var(self.key)));
                if store.buffer == self.marks[0] {
                    marks.push(place.clone());
                }
                if store.buffer == self.point_buffer() {
                    points.push(place);
                } else if !self.marks.contains(&store.buffer) {
                    return false;
                }
                if self.values.is_some_and(|values| store.value.loads(values.buffer)) {
                    return false;
                }
            }
        }
        points.len() == marks.len() && points.iter().all(|point| marks.contains(point))
    }

    /// Finds out what memory a row has, and whether what is done for coordinates can be done at the same time.
    fn take_memory(&mut self, function: &Function) -> Option<()> {
        let mut all = Vec::new();
        for around in &self.around {
            if let Some(Stmt::Workspace(inner)) = around.open {
                let plain = inner.instead.is_none() && !inner.zero;
                all.push((inner.buffer, inner.size.as_const().filter(|_| plain)?));
            }
        }
        let mut counted = Vec::new();
        for stmt in self.drain {
            stmt.visit(&mut |stmt| {
                if let Stmt::Store(store) = stmt
                    && store.mode == StoreMode::Add
                    && let Some((buffer, size)) = all.iter().find(|own| own.0 == store.buffer)
                {
                    counted.push((*buffer, store.index.as_const(), *size));
                }
            });
        }
        self.counter = match counted[..] {
            [] => None,
            [(buffer, at, size)] => Some(Counter { buffer, at: at?, size }),
            _ => return None,
        };
        let counters = self.counter.map(|counter| counter.buffer);
        all.retain(|own| Some(own.0) != counters);
        let blocks: Vec<BufferId> = all.iter().map(|own| own.0).collect();
        self.blocks = all.into_iter().map(|(buffer, size)| (buffer, Index::Const(size))).collect();
        for around in &self.around {
            for stmt in around.before.iter().copied().chain(around.after) {
                if uses(stmt, &blocks) {
                    return None;
                }
            }
            if let Some(Stmt::Let(inner)) = around.open
                && !(Some(inner.buffer) == counters
                    || function.args.contains(&(inner.buffer, Mode::In)))
            {
                return None;
            }
        }
        let mut drained = Drained { all: self, function, blocks: &blocks, counted: false };
        drained.fits(self.drain, &mut vec![self.key], true).then_some(())
    }

    /// How many coordinates there are.
    pub fn extent(&self) -> Index {
        let size = self.sizes.iter().find(|(buffer, _)| *buffer == self.marks[0]);
        size.map_or(Index::Const(0), |(_, size)| (*size).clone()).max(Index::Const(0))
    }

    /// The type of the values, if there are any.
    pub fn element(&self, module: &Module) -> Element {
        let values = self.values.and_then(|own| module.buffers.get(own.buffer.0 as usize));
        values.map_or(Element::I64, |buffer| buffer.element)
    }

    /// The point that a store stands for.
    pub fn point<'b>(&self, stmt: &'b Stmt) -> Option<Point<'b>> {
        let Stmt::Store(store) = stmt else { return None };
        let value = self.values.map(|_| &store.value);
        (store.buffer == self.point_buffer()).then_some(Point { key: &store.index, value })
    }

    /// The one point that a loop comes to in each iteration, if it does nothing else.
    pub fn only_point<'b>(&self, inner: &'b For) -> Option<Point<'b>> {
        let stores = inner.body.iter().all(|stmt| matches!(stmt, Stmt::Store(_)));
        let mut points = inner.body.iter().filter_map(|stmt| self.point(stmt));
        let (point, None) = (points.next()?, points.next()) else { return None };
        (stores && inner.step == 1).then_some(point)
    }
}

/// Whether a statement uses one of some buffers.
fn uses(stmt: &Stmt, buffers: &[BufferId]) -> bool {
    let mut found = stores_to(stmt, buffers);
    stmt.visit(&mut |stmt| {
        found |= matches!(stmt, Stmt::Let(inner) if buffers.contains(&inner.buffer));
    });
    stmt.visit_values(&mut |value| {
        found |= buffers.iter().any(|buffer| value.loads(*buffer));
    });
    found
}

/// Looks at what is done for a coordinate.
struct Drained<'a> {
    all: &'a Gathered<'a>,
    function: &'a Function,
    blocks: &'a [BufferId],
    /// Whether the coordinate has been counted.
    counted: bool,
}

impl Drained<'_> {
    /// Whether statements can be executed for several coordinates at the same time, if what they count is known. `own`
    /// are variables that differ for each coordinate; `always` says that they are executed for every one.
    fn fits(&mut self, body: &[Stmt], own: &mut Vec<VarId>, always: bool) -> bool {
        body.iter().all(|stmt| match stmt {
            Stmt::Store(store) => self.stores(store, own, always),
            Stmt::Let(inner) => {
                let counter = self.all.counter.filter(|counter| counter.buffer == inner.buffer);
                let is_counter =
                    counter.is_some_and(|counter| inner.index == Index::Const(counter.at));
                let read =
                    counter.is_some() || self.function.args.contains(&(inner.buffer, Mode::In));
                if !read || is_counter && self.counted {
                    return false;
                }
                let bound = own.len();
                own.extend(Some(inner.var).filter(|_| is_counter));
                let fits = self.fits(&inner.body, own, always);
                own.truncate(bound);
                fits
            }
            Stmt::For(_) | Stmt::If(_) => {
                stmt.bodies().into_iter().all(|body| self.fits(body, own, false))
            }
            _ => false,
        })
    }

    fn stores(&mut self, store: &Store, own: &[VarId], always: bool) -> bool {
        let counter = self.all.counter;
        if counter.is_some_and(|counter| counter.buffer == store.buffer) {
            let one = Value::FromIndex(Index::Const(1));
            let first = !std::mem::replace(&mut self.counted, true);
            return first && always && store.mode == StoreMode::Add && store.value == one;
        }
        let mut fits = true;
        store.value.visit(&mut |value| {
            if let Value::Load(buffer, at) = value {
                let values = self.all.values.is_some_and(|values| values.buffer == *buffer);
                fits &= !values || *at == Index::Var(self.all.key);
                fits &= counter.is_none_or(|counter| counter.buffer != *buffer);
            }
        });
        let values = self.all.values.is_some_and(|values| values.buffer == store.buffer);
        let differs = own.iter().any(|var| store.index.mentions(*var));
        fits && (values || differs || self.blocks.contains(&store.buffer))
    }
}
