//! All is appended to the result.

use dastac_loops::{Append, Function, Index, Stmt};

use super::emit::{Emit, Repeat, load};
use super::{Counter, Points};

impl Points {
    /// Appends all that is in the workspace, which is empty then.
    pub(crate) fn drain(&self, function: &mut Function) -> Vec<Stmt> {
        let mut emit = Emit { function };
        let emit = &mut emit;
        let mut all = emit.read(self.at, Counter::Acc.place(), |emit, count| {
            vec![Stmt::when(Index::Const(1).at_most(count), self.merged(emit))]
        });
        all.extend(emit.read(self.at, Counter::All.place(), |emit, count| {
            self.level(emit, 0, (Index::Const(0), count), Index::Const(0))
        }));
        all.push(self.set(Counter::All, Index::Const(0)));
        all.push(self.set(Counter::Capacity, Index::Const(self.capacity)));
        all
    }

    /// The points of a level, from one to the end, below the coordinates that are one number.
    pub(super) fn level(
        &self,
        emit: &mut Emit<'_>,
        at: usize,
        (begin, end): (Index, Index),
        above: Index,
    ) -> Vec<Stmt> {
        let Some((level, extent)) = self.levels.get(at) else { return Vec::new() };
        let [keys, blocks] = self.all;
        if at + 1 == self.levels.len() {
            let count = end - begin.clone();
            return vec![emit.each(count, |emit, number| {
                let point = begin.clone() + number;
                emit.read(keys, point.clone(), |emit, key| {
                    let coordinate = key - above * extent.clone();
                    let body =
                        vec![self.moved(emit, (blocks, &point), (self.block, &Index::Const(0)))];
                    vec![Stmt::Append(Append { level: *level, coordinate, body })]
                })
            })];
        }
        let inner = self.levels[at + 1..]
            .iter()
            .fold(Index::Const(1), |all, (_, extent)| all * extent.clone());
        // Where there are points no extent is 0.
        let prefix = |key: Index| key.quotient(inner.clone().max(Index::Const(1)));
        let stop = Index::Const(Counter::Ends as i64 + at as i64);
        vec![emit.repeat([("p", begin)], |emit, [point]| {
            let body = emit.read(keys, point.clone(), |emit, key| {
                emit.read(keys, point.clone() + 1, |emit, follows| {
                    let own = prefix(key);
                    let start = [("q", point.clone() + 1), ("key", follows)];
                    vec![emit.repeat(start, |emit, [behind, key]| {
                        let within = behind.clone().less(end.clone());
                        let same = prefix(key.clone()).equal(own.clone());
                        let coordinate = own.clone() - above.clone() * extent.clone();
                        let points = (point.clone(), behind.clone());
                        let body = self.level(emit, at + 1, points, own.clone());
                        let ends = dastac_loops::Value::FromIndex(behind.clone());
                        Repeat {
                            condition: within.and(same),
                            body: Vec::new(),
                            next: [behind.clone() + 1, load(keys, behind.clone() + 1)],
                            after: vec![
                                Stmt::set(self.at, stop.clone(), ends),
                                Stmt::Append(Append { level: *level, coordinate, body }),
                            ],
                        }
                    })]
                })
            });
            Repeat {
                condition: point.clone().less(end.clone()),
                body,
                next: [load(self.at, stop)],
                after: Vec::new(),
            }
        })]
    }
}
