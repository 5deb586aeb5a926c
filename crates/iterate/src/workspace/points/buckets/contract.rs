//! The points of a bucket are sorted and joined.

use dastac_loops::{Index, Stmt, Value};

use super::super::emit::{Emit, Repeat, either, load};
use super::super::{Counter, NONE};
use super::{Buckets, LEAST};

fn integer(value: Index) -> Value {
    Value::FromIndex(value)
}

impl Buckets {
    /// The points of a bucket of all parts, in the order of parts, become a run. The buckets are empty then.
    pub(super) fn all_sorted(
        &self,
        emit: &mut Emit<'_>,
        bucket: &Index,
        parts: &Index,
    ) -> Vec<Stmt> {
        let mut all = vec![self.points.set(Counter::Acc, Index::Const(0))];
        all.push(emit.each(parts.clone(), |emit, part| {
            let place = self.place(&part, bucket);
            let mut one = self.taken(emit, &place, bucket);
            one.extend(emit.read(self.begins, place.clone(), |_, begin| {
                vec![Stmt::set(self.next, place, integer(begin))]
            }));
            one
        }));
        all.extend(self.run(emit));
        all
    }

    /// The points of a part's bucket, whose numbers are at a place, become different ones; then there is room for as
    /// many again.
    pub(super) fn joined_early(
        &self,
        emit: &mut Emit<'_>,
        place: &Index,
        bucket: &Index,
    ) -> Vec<Stmt> {
        let own = &self.points;
        let mut all = vec![own.set(Counter::Acc, Index::Const(0))];
        all.extend(self.taken(emit, place, bucket));
        all.extend(self.run(emit));
        all.extend(emit.read(self.begins, place.clone(), |emit, begin| {
            emit.read(own.at, Counter::Run.place(), |emit, count| {
                let [keys, blocks] = own.run;
                let back = emit.each(count.clone(), |emit, at| {
                    let to = begin.clone() + at.clone();
                    emit.read(keys, at.clone(), |emit, key| {
                        let set = Stmt::set(own.keys, to.clone(), integer(key));
                        vec![set, own.moved(emit, (blocks, &at), (own.values, &to))]
                    })
                });
                let next = begin.clone() + count.clone();
                let limit = next.clone() + count.max(Index::Const(LEAST));
                let limits = emit.read(self.ends, place.clone(), |_, end| {
                    vec![Stmt::set(self.limits, place.clone(), integer(limit.min(end)))]
                });
                [vec![back, Stmt::set(self.next, place.clone(), integer(next))], limits].concat()
            })
        }));
        all
    }

    /// What a part's bucket has is added to what is to be sorted: keys within the bucket, and places.
    fn taken(&self, emit: &mut Emit<'_>, at: &Index, bucket: &Index) -> Vec<Stmt> {
        let own = &self.points;
        let [left, places, ..] = own.sort;
        let first = bucket.clone() * self.range();
        emit.read(self.begins, at.clone(), |emit, begin| {
            emit.read(self.next, at.clone(), |emit, end| {
                emit.read(own.at, Counter::Acc.place(), |emit, known| {
                    let count = end - begin.clone();
                    let all = emit.each(count.clone(), |emit, number| {
                        let (from, to) = (begin + number.clone(), known.clone() + number);
                        emit.read(own.keys, from.clone(), |_, key| {
                            let key = key - first.clone();
                            vec![
                                Stmt::set(left, to.clone(), integer(key)),
                                Stmt::set(places, to, integer(from)),
                            ]
                        })
                    });
                    vec![all, own.set(Counter::Acc, known + count)]
                })
            })
        })
    }

    /// What is to be sorted becomes the run: in the order of keys, those that are equal joined.
    fn run(&self, emit: &mut Emit<'_>) -> Vec<Stmt> {
        let own = &self.points;
        emit.read(own.at, Counter::Acc.place(), |emit, count| {
            let mut all = own.ordered(emit, &count, self.range());
            all.push(self.contracted(emit, &count));
            all
        })
    }

    fn contracted(&self, emit: &mut Emit<'_>, count: &Index) -> Stmt {
        let own = &self.points;
        let ([keys, blocks], places) = (own.run, own.sort[1]);
        let zero = || Index::Const(0);
        let start = [("n", zero()), ("r", zero()), ("last", Index::Const(NONE))];
        emit.repeat(start, |emit, [number, run, last]| {
            let body = emit.read(places, number.clone(), |emit, from| {
                emit.read(own.keys, from.clone(), |emit, key| {
                    let equal = last.clone().equal(key.clone());
                    let before = run.clone() - 1;
                    let join = own.added(emit, (own.values, &from), (blocks, &before));
                    let push = vec![
                        Stmt::set(keys, run.clone(), integer(key)),
                        own.moved(emit, (own.values, &from), (blocks, run)),
                    ];
                    vec![either(equal, vec![join], push)]
                })
            });
            let key = load(own.keys, load(places, number.clone()));
            let same = last.clone().equal(key.clone());
            let more = Index::select(same, Index::Const(0), Index::Const(1));
            Repeat {
                condition: number.clone().less(count.clone()),
                body,
                next: [number.clone() + 1, run.clone() + more, key],
                after: vec![own.set(Counter::Run, run.clone())],
            }
        })
    }
}
