//! The points of Acc in the order of their keys: places, from which nothing is moved.
//!
//! A few are sorted by rank, others by a radix sort that goes over as many digits as the largest key may have; nothing
//! is done where they are in order already. Equal keys keep the order in which they came, so that sums do not depend on
//! the number of threads.

use dastac_loops::{BufferId, Index, Stmt, Value};

use super::emit::{Emit, Repeat, either};
use super::{Counter, DIGITS, Kind, Points};

/// So many points at most are sorted by rank.
const FEW: i64 = 32;

fn integer(value: Index) -> Value {
    Value::FromIndex(value)
}

impl Points {
    /// Where a point of Acc, given the number of its insertion, has its key and its block.
    fn inserted(
        &self,
        emit: &mut Emit<'_>,
        number: Index,
        body: impl FnOnce(&mut Emit<'_>, Index, Index) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let of = |place: &Index| self.key_at(place);
        match self.kind {
            Kind::Hash { .. } => emit.read(self.taken, number, |emit, place| {
                emit.read(self.keys, of(&place), |emit, key| body(emit, key, place))
            }),
            _ => emit.read(self.keys, of(&number), |emit, key| body(emit, key, number)),
        }
    }

    /// Where the key of a place stands.
    pub(super) fn key_at(&self, place: &Index) -> Index {
        match self.kind {
            Kind::Hash { .. } => place.clone(),
            _ => place.clone() + 1,
        }
    }

    /// `places` has the places of so many points in the order of their keys afterwards.
    pub(super) fn sorted(&self, emit: &mut Emit<'_>, count: &Index) -> Vec<Stmt> {
        let [left, place, ..] = self.sort;
        let begin = emit.each(count.clone(), |emit, number| {
            self.inserted(emit, number.clone(), |_, key, from| {
                vec![
                    Stmt::set(left, number.clone(), integer(key)),
                    Stmt::set(place, number, integer(from)),
                ]
            })
        });
        [vec![begin], self.ordered(emit, count, self.range())].concat()
    }

    /// The same, where so many keys, all below `range`, and their places stand in the first two arrays.
    pub(super) fn ordered(&self, emit: &mut Emit<'_>, count: &Index, range: Index) -> Vec<Stmt> {
        let left = self.sort[0];
        let few = count.clone().at_most(Index::Const(FEW));
        let ranked = self.ranked(emit, count);
        let radix = self.by_digits(emit, count, range);
        let mut all = Vec::new();
        // Whether a key is less than the one before it.
        all.push(self.set(Counter::Place, Index::Const(0)));
        let descends = emit.each(count.clone() - 1, |emit, number| {
            emit.read(left, number.clone(), |emit, own| {
                emit.read(left, number + 1, |_, next| {
                    let say = self.set(Counter::Place, Index::Const(1));
                    vec![Stmt::when(next.less(own), vec![say])]
                })
            })
        });
        all.push(descends);
        all.extend(emit.read(self.at, Counter::Place.place(), |_, descends| {
            let sort = either(few, ranked, radix);
            vec![Stmt::when(Index::Const(1).at_most(descends), vec![sort])]
        }));
        all
    }

    /// Each goes behind all that are smaller, and behind equal ones that came before it.
    fn ranked(&self, emit: &mut Emit<'_>, count: &Index) -> Vec<Stmt> {
        let [left, place, _, other] = self.sort;
        let all = emit.each(count.clone(), |emit, number| {
            let mut one = vec![self.set(Counter::Place, Index::Const(0))];
            one.extend(emit.read(left, number.clone(), |emit, own| {
                vec![emit.each(count.clone(), |emit, at| {
                    emit.read(left, at.clone(), |_, key| {
                        let less = key.clone().less(own.clone());
                        let tie = key.equal(own).and(at.less(number.clone()));
                        let more =
                            Stmt::add(self.at, Counter::Place.place(), integer(Index::Const(1)));
                        vec![Stmt::when(less.or(tie), vec![more])]
                    })
                })]
            }));
            one.extend(emit.read(self.at, Counter::Place.place(), |emit, rank| {
                emit.read(place, number, |_, from| vec![Stmt::set(other, rank, integer(from))])
            }));
            one
        });
        vec![all, self.copied(emit, count, &[(other, place)])]
    }

    fn copied(&self, emit: &mut Emit<'_>, count: &Index, arrays: &[(BufferId, BufferId)]) -> Stmt {
        emit.each(count.clone(), |emit, at| {
            arrays.iter().fold(Vec::new(), |mut all, (from, to)| {
                let set = |value| Stmt::set(*to, at.clone(), integer(value));
                all.extend(emit.read(*from, at.clone(), |_, value| vec![set(value)]));
                all
            })
        })
    }

    /// Digit by digit, the smallest one first; what is left of the keys goes along.
    fn by_digits(&self, emit: &mut Emit<'_>, count: &Index, range: Index) -> Vec<Stmt> {
        let [left, place, other_left, other_place] = self.sort;
        let digit = |key: Index| key.modulo(DIGITS);
        vec![emit.repeat([("range", range)], |emit, [range]| {
            let zero = integer(Index::Const(0));
            let clear =
                emit.each(Index::Const(DIGITS + 1), |_, at| vec![Stmt::set(self.digits, at, zero)]);
            let tally = emit.each(count.clone(), |emit, at| {
                emit.read(left, at, |_, key| {
                    let one = integer(Index::Const(1));
                    vec![Stmt::add(self.digits, digit(key) + 1, one)]
                })
            });
            let begins = emit.each(Index::Const(DIGITS), |emit, at| {
                emit.read(self.digits, at.clone(), |_, before| {
                    vec![Stmt::add(self.digits, at + 1, integer(before))]
                })
            });
            let scatter = emit.each(count.clone(), |emit, at| {
                emit.read(left, at.clone(), |emit, key| {
                    emit.read(place, at, |emit, from| {
                        emit.read(self.digits, digit(key.clone()), |_, to| {
                            vec![
                                Stmt::set(
                                    other_left,
                                    to.clone(),
                                    integer(key.clone().floor_div(DIGITS)),
                                ),
                                Stmt::set(other_place, to.clone(), integer(from)),
                                Stmt::set(self.digits, digit(key), integer(to + 1)),
                            ]
                        })
                    })
                })
            });
            let back = self.copied(emit, count, &[(other_left, left), (other_place, place)]);
            Repeat {
                condition: Index::Const(1).less(range.clone()),
                body: vec![clear, tally, begins, scatter, back],
                next: [(range.clone() + (DIGITS - 1)).floor_div(DIGITS)],
                after: Vec::new(),
            }
        })]
    }

    /// The place of a point by its number in the order of keys, and its key.
    pub(super) fn in_order(
        &self,
        emit: &mut Emit<'_>,
        number: Index,
        body: impl FnOnce(&mut Emit<'_>, Index, Index) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        emit.read(self.sort[1], number, |emit, place| {
            emit.read(self.keys, self.key_at(&place), |emit, key| body(emit, key, place))
        })
    }
}
