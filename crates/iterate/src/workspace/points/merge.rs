//! The points of Acc go to All.

use dastac_loops::{BufferId, Index, Stmt, Store, Value};

use super::emit::{Emit, Repeat, either, load};
use super::{Counter, Kind, NONE, Points};

fn integer(value: Index) -> Value {
    Value::FromIndex(value)
}

impl Points {
    /// Sorts what is in Acc, joins what has one key, merges it into All, and leaves Acc empty.
    pub(super) fn merged(&self, emit: &mut Emit<'_>) -> Vec<Stmt> {
        let mut all = emit.read(self.at, Counter::Acc.place(), |emit, count| {
            [self.sorted(emit, &count), self.contracted(emit, &count)].concat()
        });
        all.extend(emit.read(self.at, Counter::Run.place(), |emit, run| {
            emit.read(self.at, Counter::All.place(), |emit, known| {
                self.counted_new(emit, &run, &known)
            })
        }));
        all.push(self.set(Counter::Acc, Index::Const(0)));
        if self.kind == Kind::Growing {
            // Acc grows with All, so that all merges together cost little more than the last one.
            all.extend(emit.read(self.at, Counter::All.place(), |_, known| {
                let capacity = known.max(Index::Const(self.capacity));
                vec![self.set(Counter::Capacity, capacity)]
            }));
        }
        all
    }

    /// Points with equal keys become one of the run, which is in the order of keys.
    fn contracted(&self, emit: &mut Emit<'_>, count: &Index) -> Vec<Stmt> {
        let [keys, blocks] = self.run;
        let run = Counter::Run.place();
        let none = integer(Index::Const(NONE));
        let mut result =
            vec![self.set(Counter::Run, Index::Const(0)), Stmt::set(keys, Index::Const(0), none)];
        result.push(emit.each(count.clone(), |emit, number| {
            self.in_order(emit, number, |emit, key, place| {
                let from = place.clone();
                let mut one = emit.read(self.at, run.clone(), |emit, known| {
                    emit.read(keys, known.clone(), |emit, last| {
                        let copy = self.moved(emit, (self.values, &from), (blocks, &known));
                        let push = vec![
                            Stmt::set(keys, known.clone() + 1, integer(key.clone())),
                            copy,
                            self.set(Counter::Run, known.clone() + 1),
                        ];
                        let join = self.added(emit, (self.values, &from), (blocks, &(known - 1)));
                        vec![either(last.equal(key), vec![join], push)]
                    })
                });
                if matches!(self.kind, Kind::Hash { .. }) {
                    // The place is free again.
                    one.push(Stmt::set(self.keys, place, integer(Index::Const(NONE))));
                }
                one
            })
        }));
        result
    }

    /// How many keys of the run All does not have, and what follows from that.
    fn counted_new(&self, emit: &mut Emit<'_>, run: &Index, known: &Index) -> Vec<Stmt> {
        let (keys, all) = (self.run[0], self.all[0]);
        let zero = || Index::Const(0);
        // Both have keys, or padding, at these places.
        let start =
            |emit: &mut Emit<'_>,
             body: &mut dyn FnMut(&mut Emit<'_>, Index, Index) -> Vec<Stmt>| {
                emit.read(keys, Index::Const(1), |emit, first| {
                    emit.read(all, zero(), |emit, own| body(emit, first, own))
                })
            };
        let pad = vec![
            Stmt::set(keys, run.clone() + 1, integer(Index::Const(NONE))),
            Stmt::set(all, known.clone(), integer(Index::Const(NONE))),
        ];
        let count = start(emit, &mut |emit, first, own| {
            let begin =
                [("r", zero()), ("a", zero()), ("key", first), ("own", own), ("equal", zero())];
            vec![emit.repeat(begin, |emit, [r, a, key, own, equal]| {
                let one = |condition| Index::select(condition, Index::Const(1), zero());
                let next_r = r.clone() + one(key.clone().at_most(own.clone()));
                let next_a = a.clone() + one(own.clone().at_most(key.clone()));
                let both = r.clone().less(run.clone()).and(a.clone().less(known.clone()));
                let total = run.clone() + known.clone() - equal.clone();
                Repeat {
                    condition: both,
                    body: Vec::new(),
                    next: [
                        next_r.clone(),
                        next_a.clone(),
                        load(keys, next_r + 1),
                        load(all, next_a),
                        equal.clone() + one(key.clone().equal(own.clone())),
                    ],
                    after: self.merged_from_behind(emit, run, known, &total),
                }
            })]
        });
        [pad, count].concat()
    }

    /// Run and All become All, of `total` points, from the last one on: nothing is overwritten before it has moved.
    /// What is in front of the first key of the run stays.
    fn merged_from_behind(
        &self,
        emit: &mut Emit<'_>,
        run: &Index,
        known: &Index,
        total: &Index,
    ) -> Vec<Stmt> {
        let (keys, all) = (self.run[0], self.all[0]);
        let (blocks, own_blocks) = (self.run[1], self.all[1]);
        let some = |at: Index| at.max(Index::Const(0));
        let last = |at: &Index| at.clone() - 1;
        let first =
            |emit: &mut Emit<'_>,
             body: &mut dyn FnMut(&mut Emit<'_>, Index, Index) -> Vec<Stmt>| {
                emit.read(keys, run.clone(), |emit, key| {
                    emit.read(all, some(last(known)), |emit, own| body(emit, key, own))
                })
            };
        let mut result = first(emit, &mut |emit, key, own| {
            let start = [
                ("r", run.clone()),
                ("a", known.clone()),
                ("to", total.clone()),
                ("key", key),
                ("own", own),
            ];
            vec![emit.repeat(start, |emit, [r, a, to, key, own]| {
                let here = last(to);
                let empty = a.clone().at_most(Index::Const(0));
                let new = empty.clone().or(own.clone().less(key.clone()));
                let other = empty.negate().and(key.clone().less(own.clone()));
                let set = |key: &Index| Stmt::set(all, here.clone(), integer(key.clone()));
                let from_run = self.moved(emit, (blocks, &last(r)), (own_blocks, &here));
                let from_all = self.moved(emit, (own_blocks, &last(a)), (own_blocks, &here));
                let both = self.moved(emit, (own_blocks, &last(a)), (own_blocks, &here));
                let join = self.added(emit, (blocks, &last(r)), (own_blocks, &here));
                let equal = vec![set(key), both, join];
                let old = vec![set(own), from_all];
                let otherwise = vec![either(other.clone(), old, equal)];
                let body = vec![either(new.clone(), vec![set(key), from_run], otherwise)];
                let one = |condition| Index::select(condition, Index::Const(0), Index::Const(1));
                let (next_r, next_a) = (r.clone() - one(other), a.clone() - one(new));
                Repeat {
                    condition: Index::Const(0).less(r.clone()),
                    body,
                    next: [
                        next_r.clone(),
                        next_a.clone(),
                        here.clone(),
                        load(keys, next_r),
                        load(all, some(last(&next_a))),
                    ],
                    after: Vec::new(),
                }
            })]
        });
        result.push(self.set(Counter::All, total.clone()));
        result
    }

    /// A block is copied.
    pub(super) fn moved(
        &self,
        emit: &mut Emit<'_>,
        from: (BufferId, &Index),
        to: (BufferId, &Index),
    ) -> Stmt {
        self.over_block(emit, |at| {
            let place = |index: &Index| index.clone() * self.size.clone() + at.clone();
            Stmt::set(to.0, place(to.1), Value::load(from.0, place(from.1)))
        })
    }

    /// A block is joined to another.
    pub(super) fn added(
        &self,
        emit: &mut Emit<'_>,
        from: (BufferId, &Index),
        to: (BufferId, &Index),
    ) -> Stmt {
        self.over_block(emit, |at| {
            let place = |index: &Index| index.clone() * self.size.clone() + at.clone();
            let value = Value::load(from.0, place(from.1));
            let mode = self.reduction.mode();
            Stmt::Store(Store { buffer: to.0, index: place(to.1), value, mode, stream: None })
        })
    }
}
