//! Where the memory of buckets is opened, and what runs at the same time.

use std::collections::BTreeSet;

use dastac_formats::level::assembly::{filled, lengths_to_ends};
use dastac_loops::{BufferId, For, Function, Index, Stmt, Value};

use super::super::super::super::append::in_order;
use super::super::super::bounding::{Bounding, Place, opened};
use super::super::super::container::{Container, workspace};
use super::super::emit::Emit;
use super::super::{Counter, DIGITS};
use super::{Buckets, LEAST, Slots, Total};

fn integer(value: Index) -> Value {
    Value::FromIndex(value)
}

impl Container for Buckets {
    fn is_used(&self, stmt: &Stmt) -> bool {
        let mut used = false;
        stmt.visit(&mut |stmt| {
            used |= matches!(stmt, Stmt::Store(store) if self.is_own(store.buffer));
        });
        used
    }

    fn is_whole(&self) -> bool {
        self.points.whole
    }

    fn is_value(&self, buffer: BufferId) -> bool {
        self.points.has_values(buffer)
    }

    fn open(&self, function: &mut Function, body: Vec<Stmt>) -> Vec<Stmt> {
        self.opened(function, body, &|_, body| body)
    }
}

/// Gives the statements that stand for others in a part.
type InPart<'a> = dyn Fn(&mut Emit<'_>, Vec<Stmt>, &Slots) -> Vec<Stmt> + 'a;

impl Buckets {
    /// Statements with the workspace open around them. `begins` is around statements that append to the rows of some
    /// buckets, from a row on.
    pub(crate) fn opened(
        &self,
        function: &mut Function,
        body: Vec<Stmt>,
        begins: &dyn Fn(Index, Vec<Stmt>) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let emit = &mut Emit { function };
        let is_drain = |stmt: &Stmt| self.is_whole() && self.is_drain(stmt);
        let (drains, loops): (Vec<Stmt>, Vec<Stmt>) = body.into_iter().partition(is_drain);
        let all = Index::Const(loops.len().max(1) as i64) * self.parts();
        let counted = self
            .in_parts(emit, loops.clone(), &all, &|_, body, slots| self.counted(body, &slots.part));
        let begin = self.begun(emit, &all);
        let filled = emit.read(self.totals, Total::Points.place(), |emit, points| {
            emit.read(self.totals, Total::Most.place(), |emit, most| {
                let own = |emit: &mut Emit<'_>, body: Vec<Stmt>, slots: &Slots| {
                    let body = self.expanded(emit, body, slots);
                    self.with_scratch(&most, body)
                };
                let mut inside = self.in_parts(emit, loops, &all, &own);
                for stmt in drains {
                    inside.push(self.in_chunks(emit, stmt, &all, &|emit, body, slots| {
                        begins(slots.part.clone() * self.rows, own(emit, body, slots))
                    }));
                }
                self.with_points(&points, inside)
            })
        });
        let size = self.count() * all;
        let inside = [counted, vec![begin], filled].concat();
        let arrays = [self.begins, self.limits, self.ends];
        let inside = arrays
            .into_iter()
            .fold(inside, |body, buffer| vec![workspace(buffer, size.clone(), false, body)]);
        let inside = vec![workspace(self.totals, Index::Const(Total::COUNT), true, inside)];
        vec![workspace(self.next, size, true, inside)]
    }

    /// Statements that count insertions into the buckets of a part.
    fn counted(&self, body: Vec<Stmt>, part: &Index) -> Vec<Stmt> {
        let of = |coordinate: &Index| self.place(part, &coordinate.clone().floor_div(self.rows));
        self.bounding((self.next, &of), body)
    }

    fn bounding(
        &self,
        (counters, place): (BufferId, &dyn Fn(&Index) -> Index),
        body: Vec<Stmt>,
    ) -> Vec<Stmt> {
        let mut own = opened(&body);
        own.remove(&self.points.block);
        own.remove(&self.points.counters);
        let counter = (counters, Place::Of(place));
        Bounding { counter, mark: self.row, rows: None, own }.bounded(body)
    }

    /// Statements that set `starts` to where rows may begin if each has as many elements as points come to it, or as
    /// all that it can have. `rows` are how many there are, and how many elements each can have.
    pub(crate) fn bounded(
        &self,
        function: &mut Function,
        body: Vec<Stmt>,
        starts: BufferId,
        (count, extent): (&Index, &Index),
    ) -> Vec<Stmt> {
        let clear = filled(function, starts, count.clone() + 1, 0);
        let loops = body.into_iter().filter(|stmt| !self.is_drain(stmt)).collect();
        let mut counted = self.bounding((starts, &|row: &Index| row.clone() + 1), loops);
        in_order(&mut counted);
        let most = Emit { function }.each(count.clone(), |emit, row| {
            let next = row + 1;
            emit.read(starts, next.clone(), |_, points| {
                vec![Stmt::set(starts, next, integer(points.min(extent.clone())))]
            })
        });
        let ends = lengths_to_ends(function, starts, count.clone());
        [vec![clear], counted, vec![most, ends]].concat()
    }

    /// Nests of loops, those that can be in parts that run at the same time.
    fn in_parts(
        &self,
        emit: &mut Emit<'_>,
        loops: Vec<Stmt>,
        all: &Index,
        of: &InPart<'_>,
    ) -> Vec<Stmt> {
        let mut result = Vec::new();
        for (nest, stmt) in loops.into_iter().enumerate() {
            let first = Index::Const(nest as i64) * self.parts();
            let slots = |part: Index| Slots { part, all: all.clone() };
            match stmt {
                Stmt::For(inner) if self.is_whole() && self.is_apart(&inner) => {
                    let part = emit.var("part");
                    let own = Index::Var(part);
                    let bounds = inner.ends();
                    let length = (bounds.1 - bounds.0.clone()).max(Index::Const(0));
                    let at = |part: Index| {
                        bounds.0.clone() + (length.clone() * part).quotient(self.parts())
                    };
                    let (lower, upper) = (vec![at(own.clone())], vec![at(own.clone() + 1)]);
                    let body = vec![Stmt::For(For { lower, upper, ..inner })];
                    let body = of(emit, body, &slots(first + own));
                    let own = For::new(part, Index::Const(0), self.parts(), body);
                    result.push(Stmt::For(own.parallel()));
                }
                stmt => result.extend(of(emit, vec![stmt], &slots(first))),
            }
        }
        result
    }

    /// Whether the iterations of a loop do nothing but put points into the workspace.
    fn is_apart(&self, inner: &For) -> bool {
        let mut own: BTreeSet<BufferId> = opened(&inner.body);
        own.extend([self.row, self.points.marker, self.points.values]);
        let mut apart = inner.step == 1;
        for stmt in &inner.body {
            stmt.visit(&mut |stmt| {
                apart &= match stmt {
                    Stmt::Store(store) => own.contains(&store.buffer),
                    Stmt::Scan(scan) => own.contains(&scan.buffer),
                    _ => true,
                }
            });
        }
        apart
    }

    /// The loop over chunks of buckets, which are sorted and appended at the same time.
    fn in_chunks(&self, emit: &mut Emit<'_>, stmt: Stmt, all: &Index, of: &InPart<'_>) -> Stmt {
        let Stmt::For(inner) = stmt else { return stmt };
        let part = self.first_of(Index::Var(inner.var));
        let body = of(emit, inner.body, &Slots { part, all: all.clone() });
        Stmt::For(For { body, ..inner }.parallel())
    }

    /// Where the buckets of all parts begin, one bucket after the other, and how large the largest is.
    fn begun(&self, emit: &mut Emit<'_>, all: &Index) -> Stmt {
        let set =
            |total: Total, value: Index| Stmt::set(self.totals, total.place(), integer(value));
        emit.each(self.count(), |emit, bucket| {
            let parts = emit.each(all.clone(), |emit, part| {
                let place = self.place(&part, &bucket);
                emit.read(self.next, place.clone(), |emit, count| {
                    emit.read(self.totals, Total::Points.place(), |_, begin| {
                        let end = begin.clone() + count.clone();
                        let limit = begin.clone() + count.clone().min(Index::Const(LEAST));
                        let numbers = [
                            (self.begins, begin.clone()),
                            (self.next, begin),
                            (self.limits, limit),
                            (self.ends, end.clone()),
                        ];
                        let sets = numbers.map(|(array, number)| {
                            Stmt::set(array, place.clone(), integer(number))
                        });
                        let mut all = Vec::from(sets);
                        all.push(set(Total::Points, end));
                        all.push(Stmt::add(self.totals, Total::Own.place(), integer(count)));
                        all
                    })
                })
            });
            let most = emit.read(self.totals, Total::Own.place(), |emit, own| {
                emit.read(self.totals, Total::Most.place(), |_, most| {
                    vec![set(Total::Most, most.max(own))]
                })
            });
            [vec![set(Total::Own, Index::Const(0)), parts], most].concat()
        })
    }

    /// Statements with memory for sorting so many points.
    fn with_scratch(&self, most: &Index, body: Vec<Stmt>) -> Vec<Stmt> {
        let own = &self.points;
        let mut memory = vec![
            (own.at, Index::Const(Counter::Ends as i64 + own.levels.len() as i64)),
            (own.digits, Index::Const(DIGITS + 1)),
            (own.run[0], most.clone() + 2),
            (own.run[1], most.clone() * own.size.clone()),
        ];
        memory.extend(own.sort.map(|buffer| (buffer, most.clone())));
        let around = |body, (buffer, size)| vec![workspace(buffer, size, false, body)];
        memory.into_iter().fold(body, around)
    }

    /// Statements with memory for so many points.
    fn with_points(&self, points: &Index, body: Vec<Stmt>) -> Vec<Stmt> {
        let own = &self.points;
        let body = vec![workspace(own.keys, points.clone() + 2, false, body)];
        vec![workspace(own.values, points.clone() * own.size.clone(), false, body)]
    }
}
