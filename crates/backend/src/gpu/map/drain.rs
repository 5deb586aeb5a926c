//! What is done for the coordinates of a row, by all lanes of a block: the last part of [`super::sorted`] and
//! [`super::marked`].
//!
//! Before -> after, `h` the number of a coordinate among those of its row:
//! `let n = at[0] { A[n] = sums[k]  at[0] += 1 }` -> `let n = at[0] { A[n + h] = sums[k] }` for each coordinate, then
//! `at[0] += count`, with `at` in shared memory. What stands around the loop over coordinates is the first lane's.

use dastac_loops::{BufferId, Element, Index, Let, Stmt};

use super::gather::{Counter, Gathered};
use super::mapper::Mapper;
use super::sums::{integer, workspace};

/// A statement with others inside, if there are any.
pub(super) fn some(stmt: Stmt) -> Option<Stmt> {
    let any = stmt.bodies().into_iter().any(|body| !body.is_empty());
    any.then_some(stmt)
}

/// The counters of a row, and the shared memory that stands for them.
pub(super) struct Counters {
    counter: Counter,
    shared: BufferId,
}

impl Counters {
    /// Statements with the memory around them.
    pub fn around(counters: Option<&Counters>, body: Vec<Stmt>) -> Vec<Stmt> {
        match counters {
            Some(own) => vec![workspace(own.shared, own.counter.size, body)],
            None => body,
        }
    }

    /// Statements that count in shared memory.
    fn renamed(&self, body: &[Stmt]) -> Vec<Stmt> {
        body.iter().map(|stmt| self.renamed_one(stmt)).collect()
    }

    fn renamed_one(&self, stmt: &Stmt) -> Stmt {
        let mut stmt = stmt.clone();
        match &mut stmt {
            Stmt::Store(store) if store.buffer == self.counter.buffer => store.buffer = self.shared,
            Stmt::Let(inner) if inner.buffer == self.counter.buffer => inner.buffer = self.shared,
            _ => {}
        }
        for inside in stmt.bodies_mut() {
            *inside = self.renamed(inside);
        }
        stmt
    }
}

impl Mapper<'_> {
    pub fn counters(&mut self, rows: &Gathered<'_>) -> Option<Counters> {
        let counter = rows.counter?;
        Some(Counters { counter, shared: self.shared("at", Element::I64, counter.size) })
    }

    /// What stands around the loop over coordinates from some depth on, and what is done for these.
    pub fn in_row(
        &mut self,
        rows: &Gathered<'_>,
        counters: Option<&Counters>,
        elements: Vec<Stmt>,
        depth: usize,
    ) -> Vec<Stmt> {
        let around = &rows.around[depth];
        let renamed = |stmts: &[Stmt]| match counters {
            Some(counters) => counters.renamed(stmts),
            None => stmts.to_vec(),
        };
        let before: Vec<Stmt> = around.before.iter().map(|stmt| (*stmt).clone()).collect();
        let inside = match around.open {
            None => elements,
            Some(Stmt::Let(inner)) => {
                let body = self.in_row(rows, counters, elements, depth + 1);
                let mut inner = inner.clone();
                if let Some(own) = counters.filter(|own| own.counter.buffer == inner.buffer) {
                    inner.buffer = own.shared;
                }
                vec![Stmt::Let(Let { body, ..inner })]
            }
            // Counters are shared, blocks of elements are the lanes'.
            Some(_) => self.in_row(rows, counters, elements, depth + 1),
        };
        let mut body = Vec::new();
        if !before.is_empty() {
            body.push(self.one(|_| renamed(&before)));
        }
        body.extend(inside);
        if !around.after.is_empty() {
            body.push(self.one(|_| renamed(around.after)));
        }
        body
    }

    /// What a lane does for the coordinate that is the row's variable for coordinates: the `head`-th one of the row,
    /// whose value is at some place.
    pub fn element(
        &mut self,
        rows: &Gathered<'_>,
        counters: Option<&Counters>,
        head: &Index,
        value: Option<(BufferId, &Index)>,
    ) -> Vec<Stmt> {
        let body = Drain { rows, value, head, mapper: self }.statements(rows.drain);
        let body = match counters {
            Some(counters) => counters.renamed(&body),
            None => body,
        };
        let blocks = rows.blocks.iter();
        blocks.fold(body, |body, (buffer, size)| vec![workspace(*buffer, size.clone(), body)])
    }

    /// Adds the number of the coordinates of a row to its counter.
    pub fn counted(&mut self, counters: Option<&Counters>, count: &Index) -> Option<Stmt> {
        let own = counters?;
        let added = Stmt::add(own.shared, Index::Const(own.counter.at), integer(count.clone()));
        Some(self.one(|_| vec![added]))
    }
}

/// What is done for a coordinate, as a lane does it.
struct Drain<'a, 'c> {
    rows: &'a Gathered<'a>,
    /// Where its value is.
    value: Option<(BufferId, &'a Index)>,
    /// Its number among the coordinates of the row.
    head: &'a Index,
    mapper: &'a mut Mapper<'c>,
}

impl Drain<'_, '_> {
    fn statements(&mut self, body: &[Stmt]) -> Vec<Stmt> {
        let (counter, values) = (self.rows.counter, self.rows.values);
        let counts = |buffer: BufferId| counter.is_some_and(|own| own.buffer == buffer);
        let is_value = |buffer: BufferId| values.is_some_and(|own| own.buffer == buffer);
        let mut result = Vec::new();
        for stmt in body {
            match stmt {
                Stmt::Store(store) if counts(store.buffer) || is_value(store.buffer) => {}
                Stmt::Let(inner)
                    if counter.is_some_and(|own| {
                        inner.buffer == own.buffer && inner.index == Index::Const(own.at)
                    }) =>
                {
                    let var = self.mapper.function.fresh_var("n");
                    let number = Index::Var(var) + self.head.clone();
                    let body = inner.body.iter().map(|stmt| stmt.substitute(inner.var, &number));
                    let body = self.statements(&body.collect::<Vec<_>>());
                    result.push(Stmt::Let(Let { var, body, ..inner.clone() }));
                }
                Stmt::Store(store) => {
                    let mut store = store.clone();
                    if let Some((own, at_own)) = self.value {
                        store.value =
                            store.value.map_elements(&|buffer, at| match is_value(buffer) {
                                true => (own, at_own.clone()),
                                false => (buffer, at.clone()),
                            });
                    }
                    result.push(Stmt::Store(store));
                }
                stmt => {
                    let mut stmt = stmt.clone();
                    for inside in stmt.bodies_mut() {
                        *inside = self.statements(inside);
                    }
                    result.extend(some(stmt));
                }
            }
        }
        result
    }
}
