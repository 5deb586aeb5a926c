//! Panels: copies of the elements of a block, in the order in which tiles read them.
//!
//! A slice has the elements of a tile's rows, or columns, for one term after the other. Where all of them exist, they
//! are copied; else those that exist are copied, or added up, after the slice was filled with zeros.
//!
//! Before -> after, of 8 rows of a packed lower triangle:
//! ```text
//! if kb + 255 <= it {
//!   for k = kb to kb + 256 { unroll i = it to it + 8 { S.rows[.. + 8 * (k - kb) + (i - it)] = S[..] } }
//! } else { zeros  for i = it to min(it + 8, N) { for k = kb to min(kb + 256, i + 1) { S.rows[..] = S[..] } } }
//! ```

use super::blocks::{Blocks, Place};
use super::pieces::{Piece, pieces, visit};
use super::ranges::{everywhere, facts, first, last, range, shadow};
use crate::ir::*;
use crate::passes::polyhedra::scan::not_negative;

/// The panel of one side.
#[derive(Clone)]
struct Side {
    buffer: BufferId,
    /// The iterator of its rows, or columns.
    var: VarId,
    /// Where the block and the slice begin.
    from: VarId,
    slice: VarId,
    /// Rows, or columns, of a slice.
    size: i64,
    terms: VarId,
}

/// More pieces than these are not tried as a whole.
const WHOLE: usize = 2;

impl Blocks<'_> {
    /// The panel of the rows of a block.
    pub(super) fn pack_rows(&mut self, place: Place) -> Option<Vec<Stmt>> {
        let (var, column, deep) =
            (self.contraction.row, self.contraction.column, self.group.deep());
        let side = Side {
            buffer: self.panels.rows,
            var,
            from: place.high,
            slice: place.row,
            size: self.sizes.rows,
            terms: place.terms,
        };
        self.slices((var, place.high, place.row, side.size), &[column, deep], |blocks| {
            let mut sources = Vec::new();
            for (at, term) in blocks.group.terms.iter().enumerate() {
                let factor = Some(Value::Const(term.coefficient));
                let factor = factor.filter(|_| term.coefficient != 1.0 || term.rows.is_empty());
                let value = Value::product(factor.into_iter().chain(term.rows.iter().cloned()));
                let domain = shadow(&blocks.domain(at), &[column])?;
                sources.push(Piece { value, domain });
            }
            blocks.slice(&side, &sources, are_apart(&sources))
        })
    }

    /// The panel of the columns of a block.
    pub(super) fn pack_columns(&mut self, place: Place) -> Option<Vec<Stmt>> {
        let (var, row, deep) = (self.contraction.column, self.contraction.row, self.group.deep());
        let side = Side {
            buffer: self.panels.columns,
            var,
            from: place.wide,
            slice: place.column,
            size: self.sizes.columns,
            terms: place.terms,
        };
        self.slices((var, place.wide, place.column, side.size), &[row, deep], |blocks| {
            let value = Value::product(blocks.group.columns.iter().cloned());
            // Whatever rows there are, columns are those that some row has.
            let given: Vec<Index> =
                blocks.given.iter().filter(|one| !one.mentions(row)).cloned().collect();
            let terms = blocks.group.terms.iter();
            let domains: Option<Vec<Vec<Index>>> =
                terms.map(|term| shadow(&[&term.domain[..], &given].concat(), &[row])).collect();
            let domains = domains?;
            // One domain is enough if it contains the others.
            let contains = |one: &Vec<Index>| {
                domains.iter().all(|other| {
                    let known = facts(&[other]);
                    one.iter().all(|one| known.imply(&not_negative(one)))
                })
            };
            let domains = match domains.iter().position(contains) {
                Some(at) => vec![domains[at].clone()],
                None => domains,
            };
            let of = |domain| Piece { value: value.clone(), domain };
            let sources: Vec<Piece> = domains.into_iter().map(of).collect();
            blocks.slice(&side, &sources, true)
        })
    }

    /// A slice of a panel. Sources that have no element in common, or the same ones, set elements; others are added up.
    fn slice(&mut self, side: &Side, sources: &[Piece], sets: bool) -> Option<Vec<Stmt>> {
        let deep = self.group.deep();
        let (begin, block) = (Index::Var(side.slice), Index::Var(side.terms));
        let terms = self.terms()?;
        let start = (begin.clone() - Index::Var(side.from)) * self.sizes.terms;
        let offset = |k: Index| start.clone() + (k - block.clone()) * side.size;
        let place = offset(Index::Var(deep)) + (Index::Var(side.var) - begin.clone());
        // Element by element, after zeros.
        let zero = self.function.fresh_like(side.var, "z");
        let zeros = Stmt::For(For {
            var: zero,
            lower: vec![offset(first(&terms))],
            upper: vec![offset(last(&terms))],
            step: 1,
            mark: Mark::THREADS,
            body: vec![Stmt::set(side.buffer, zero.into(), Value::Const(0.0))],
        });
        let mut cut = vec![zeros];
        // A piece may be there at some sizes only, which none of its rows and terms says.
        let mut somewhere: Vec<Vec<Index>> = Vec::new();
        let whole = sources;
        let mut sources: Vec<Piece> = Vec::new();
        for one in whole {
            for piece in pieces(&one.value, &one.domain, &self.facts) {
                let apart = |index: &&Index| {
                    !one.domain.contains(index)
                        && !index.mentions(side.var)
                        && !index.mentions(deep)
                };
                somewhere.push(piece.domain.iter().filter(apart).cloned().collect());
                sources.push(piece);
            }
        }
        for source in &sources {
            let mode = if sets { StoreMode::Set } else { StoreMode::Add };
            let (buffer, index) = (side.buffer, place.clone());
            let store = |value| {
                let index = index.clone();
                Store { buffer, index, value, mode, stream: None }
            };
            let mut piece = source.clone();
            let k = Index::Var(deep);
            piece.domain.extend(terms.lower.iter().map(|low| k.clone() - low.clone()));
            piece.domain.extend(terms.upper.iter().map(|high| high.clone() - 1 - k.clone()));
            let lanes = Some((begin.clone(), side.size));
            let order = (deep, side.var, lanes);
            cut.extend(visit(&piece, order, self.function, &self.facts, store)?);
        }
        let corners = [
            (side.var, begin.clone(), begin.clone() + (side.size - 1)),
            (deep, block.clone(), block.clone() + (self.sizes.terms - 1)),
        ];
        let mut result = cut;
        if sets && sources.len() <= WHOLE {
            for (source, somewhere) in sources.iter().zip(&somewhere).rev() {
                let full = everywhere(&source.domain, &[side.var], &corners, &self.facts);
                let Some(full) = full else { continue };
                let own = range(&source.domain, deep, &[side.var], &self.facts)?;
                let mut conditions = vec![full];
                conditions.extend(somewhere.iter().map(not_negative));
                // All terms of the slice are terms of this source.
                if sources.len() > 1 {
                    conditions.push(first(&own).at_most(first(&terms)));
                    conditions.push(last(&terms).at_most(last(&own)));
                }
                let set = Stmt::set(side.buffer, place.clone(), source.value.clone());
                let across = Stmt::For(For {
                    var: side.var,
                    lower: vec![begin.clone()],
                    upper: vec![begin.clone() + side.size],
                    step: 1,
                    mark: Mark::Unrolled,
                    body: vec![set],
                });
                let (var, mark) = (deep, Mark::Sequential);
                let (lower, upper) = (terms.lower.clone(), terms.upper.clone());
                let body = vec![across];
                let copy = Stmt::For(For { var, lower, upper, step: 1, mark, body });
                let condition = Condition::all(conditions.into_iter().filter(|condition| {
                    condition.as_bool() != Some(true) && !self.facts.imply(condition)
                }));
                result = match condition.as_bool() {
                    Some(true) => vec![copy],
                    Some(false) => result,
                    None => vec![Stmt::If(If { condition, then: vec![copy], otherwise: result })],
                };
            }
        }
        Some(result)
    }
}

/// Whether no two sources have a point in common.
fn are_apart(sources: &[Piece]) -> bool {
    sources.iter().enumerate().all(|(at, one)| {
        let known = facts(&[&one.domain]);
        let below = |other: &Index| {
            known.imply(&Condition::Compare(Compare::Lt, other.clone(), Index::Const(0)))
        };
        sources[at + 1..].iter().all(|other| other.domain.iter().any(below))
    })
}
