//! Points come into buckets.

use dastac_loops::{Index, Stmt, Store, Value};

use super::super::emit::Emit;
use super::{Buckets, Slots};

impl Buckets {
    /// Statements with insertions into the buckets of a part in place of what stands for them, and sorting of the
    /// buckets of all parts where that stands.
    pub(super) fn expanded(
        &self,
        emit: &mut Emit<'_>,
        body: Vec<Stmt>,
        slots: &Slots,
    ) -> Vec<Stmt> {
        let mut result: Vec<Stmt> = Vec::new();
        for mut stmt in body {
            match &stmt {
                Stmt::Store(store) if store.buffer == self.points.marker => {
                    let (row, element) = (result.pop(), result.pop());
                    let (Some(Stmt::Store(row)), Some(Stmt::Store(element))) = (row, element)
                    else {
                        continue;
                    };
                    let bucket = row.index.clone().floor_div(self.rows);
                    let place = self.place(&slots.part, &bucket);
                    result.extend(self.insertion(emit, (&place, &bucket), &store.index, &element));
                    continue;
                }
                Stmt::Store(store) if store.buffer == self.sorted => {
                    result.extend(self.all_sorted(emit, &store.index, &slots.all));
                    continue;
                }
                _ => {}
            }
            for inside in stmt.bodies_mut() {
                *inside = self.expanded(emit, std::mem::take(inside), slots);
            }
            result.push(stmt);
        }
        result
    }

    /// Where numbers of a part's bucket stand.
    pub(super) fn place(&self, part: &Index, bucket: &Index) -> Index {
        part.clone() * self.count() + bucket.clone()
    }

    /// An element comes to a key, in a bucket whose numbers are at a place.
    fn insertion(
        &self,
        emit: &mut Emit<'_>,
        (place, bucket): (&Index, &Index),
        key: &Index,
        element: &Store,
    ) -> Vec<Stmt> {
        let own = &self.points;
        let integer = |value: Index| Value::FromIndex(value);
        let pushed = |emit: &mut Emit<'_>| {
            let mut all = emit.read(self.next, place.clone(), |emit, at| {
                emit.read(self.limits, place.clone(), |emit, limit| {
                    let full = limit.at_most(at);
                    vec![Stmt::when(full, self.joined_early(emit, place, bucket))]
                })
            });
            all.extend(emit.read(self.next, place.clone(), |emit, at| {
                vec![
                    Stmt::set(own.keys, at.clone(), integer(key.clone())),
                    own.cleared(emit, at.clone()),
                    Stmt::set(self.next, place.clone(), integer(at + 1)),
                ]
            }));
            all
        };
        // The elements of a block come one after the other, and share a point.
        let mut result = match own.size == Index::Const(1) {
            true => pushed(emit),
            false => emit.read(self.begins, place.clone(), |emit, begin| {
                emit.read(self.next, place.clone(), |emit, at| {
                    let last = (at.clone() - 1).max(begin.clone());
                    emit.read(own.keys, last, |emit, last| {
                        let empty = at.at_most(begin);
                        let other = last.equal(key.clone()).negate();
                        vec![Stmt::when(empty.or(other), pushed(emit))]
                    })
                })
            }),
        };
        result
            .extend(emit.read(self.next, place.clone(), |_, at| vec![own.joined(at - 1, element)]));
        result
    }
}
