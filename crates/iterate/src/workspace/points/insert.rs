//! Points come into Acc.

use dastac_loops::{Index, Stmt, Store, Value};

use super::emit::{Emit, Repeat, either, load};
use super::hash::hash;
use super::{Counter, Kind, NONE, Points};

/// A point is looked for at so many places of a hash table, one behind the other.
const PROBES: i64 = 32;

impl Points {
    /// Statements with insertions in place of what stands for them.
    pub(super) fn expanded(&self, emit: &mut Emit<'_>, body: Vec<Stmt>) -> Vec<Stmt> {
        let mut result: Vec<Stmt> = Vec::new();
        for mut stmt in body {
            match &stmt {
                Stmt::Store(store) if store.buffer == self.marker => {
                    let Some(Stmt::Store(element)) = result.pop() else { continue };
                    result.extend(self.insertion(emit, &store.index, &element));
                    continue;
                }
                _ => {}
            }
            for inside in stmt.bodies_mut() {
                *inside = self.expanded(emit, std::mem::take(inside));
            }
            result.push(stmt);
        }
        result
    }

    /// An element comes to a key: `element` is a store at its place in its block.
    fn insertion(&self, emit: &mut Emit<'_>, key: &Index, element: &Store) -> Vec<Stmt> {
        match self.kind {
            Kind::Hash { .. } => self.added_to_table(emit, key, element),
            _ => self.added_to_list(emit, key, element),
        }
    }

    /// The element is joined to the block at a place.
    pub(super) fn joined(&self, place: Index, element: &Store) -> Stmt {
        let index = place * self.size.clone() + element.index.clone();
        Stmt::Store(Store { index, ..element.clone() })
    }

    /// The block at a place becomes nothing.
    pub(super) fn cleared(&self, emit: &mut Emit<'_>, place: Index) -> Stmt {
        self.over_block(emit, |at| {
            let zero = Value::constant(self.zero);
            Stmt::set(self.values, place * self.size.clone() + at, zero)
        })
    }

    /// A statement for each element of a block.
    pub(super) fn over_block(&self, emit: &mut Emit<'_>, one: impl FnOnce(Index) -> Stmt) -> Stmt {
        match self.size == Index::Const(1) {
            true => one(Index::Const(0)),
            false => emit.each(self.size.clone(), |_, at| vec![one(at)]),
        }
    }

    /// Equal keys one after the other share a point; all others become points.
    fn added_to_list(&self, emit: &mut Emit<'_>, key: &Index, element: &Store) -> Vec<Stmt> {
        let (at, count) = (self.at, Counter::Acc.place());
        let pushed = |emit: &mut Emit<'_>| {
            let full = emit.read(at, count.clone(), |emit, known| {
                emit.read(at, Counter::Capacity.place(), |emit, capacity| {
                    vec![Stmt::when(capacity.at_most(known), self.merged(emit))]
                })
            });
            let push = emit.read(at, count.clone(), |emit, known| {
                vec![
                    Stmt::set(self.keys, known.clone() + 1, Value::FromIndex(key.clone())),
                    self.cleared(emit, known.clone()),
                    self.set(Counter::Acc, known + 1),
                ]
            });
            [full, push].concat()
        };
        let mut result = emit.read(at, count.clone(), |emit, known| {
            emit.read(self.keys, known, |emit, last| {
                let other = last.equal(key.clone()).negate();
                vec![Stmt::when(other, pushed(emit))]
            })
        });
        let add = |known: Index| vec![self.joined(known - 1, element)];
        result.extend(emit.read(at, count.clone(), |_, known| add(known)));
        result
    }

    /// Open addressing: the places behind that of a key are looked at, one after the other.
    fn added_to_table(&self, emit: &mut Emit<'_>, key: &Index, element: &Store) -> Vec<Stmt> {
        let (slots, first) = (self.slots(), hash(key, self.slots()));
        let follows = |place: &Index| (place.clone() + 1).modulo(slots);
        let integer = |value: Index| Value::FromIndex(value);
        emit.read(self.keys, first.clone(), |emit, found| {
            let start = [("place", first.clone()), ("found", found), ("probes", Index::Const(1))];
            vec![emit.repeat(start, |emit, [place, found, probes]| {
                let here = found.clone().equal(key.clone());
                let free = found.clone().equal(Index::Const(NONE));
                let more = probes.clone().less(Index::Const(PROBES));
                let condition = here.clone().negate().and(free.clone().negate()).and(more);
                let next = [follows(place), load(self.keys, follows(place)), probes.clone() + 1];
                let (count, kept) = (Counter::Acc.place(), Counter::Place.place());
                let take = |emit: &mut Emit<'_>| {
                    emit.read(self.at, count.clone(), |emit, known| {
                        let room = known.clone().less(Index::Const(self.capacity));
                        let mut merge = self.merged(emit);
                        merge.push(self.set(Counter::Place, first.clone()));
                        let stays = vec![self.set(Counter::Place, place.clone())];
                        let mut all = vec![either(room.and(free.clone()), stays, merge)];
                        all.extend(emit.read(self.at, kept.clone(), |emit, taken| {
                            emit.read(self.at, count.clone(), |emit, known| {
                                vec![
                                    Stmt::set(self.keys, taken.clone(), integer(key.clone())),
                                    Stmt::set(self.taken, known.clone(), integer(taken.clone())),
                                    self.set(Counter::Acc, known + 1),
                                    self.cleared(emit, taken.clone()),
                                    self.joined(taken, element),
                                ]
                            })
                        }));
                        all
                    })
                };
                let known = vec![self.joined(place.clone(), element)];
                let after = vec![either(here, known, take(emit))];
                Repeat { condition, body: Vec::new(), next, after }
            })]
        })
    }
}
