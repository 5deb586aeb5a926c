//! Reads off the loop IR what a function executes: every store, with the loops and conditions around it, and its value
//! as a sum of products of elements.
//!
//! Before -> after, `for i = 0 to N { y[i] += 2.0 * (sum(j = i to N) B[p(i, j)] * x[j]) }` -> at `{ [i, j] : 0 <= i < N
//! and i <= j < N }`, `2 * B[p(i, j)] * x[j]` is added to `y[i]`.

use std::collections::BTreeSet;

use dastac_loops::{BufferId, Index, Mark, Reduction, Stmt, Store, StoreMode, Value, VarId};
use dastac_stur::program::TensorId;

use super::expression::Naming;
use super::terms::{
    Around, Range, Reading, Sums, Term, What, bind, is_zero_without_terms, reduction,
};
use crate::phases::accessed;

/// One step on the way from a function's body to a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Position in a list of statements.
    At(usize),
    /// Into a loop.
    Into(VarId, Mark),
}

/// A store.
pub(super) struct Site<'a> {
    pub(super) buffer: BufferId,
    pub(super) index: &'a Index,
    /// Whether the value is set, or added in the semiring of the buffer.
    pub(super) mode: StoreMode,
    pub(super) around: Around,
    pub(super) path: Vec<Step>,
    /// The value, which is the sum of these terms.
    pub(super) terms: Vec<Term>,
}

impl Site<'_> {
    /// Whether the value reads an element of a tensor.
    pub(super) fn reads(&self, tensor: TensorId) -> bool {
        let is = |buffer: BufferId| buffer.0 as usize == tensor.0;
        self.terms.iter().flat_map(|term| &term.factors).any(|factor| match &factor.what {
            What::Element(buffer, _) => is(*buffer),
            What::Number(_) => false,
            What::Value(value) => {
                let mut found = false;
                value.visit(&mut |part| {
                    found |= matches!(part, Value::Load(buffer, _) if is(*buffer));
                });
                found
            }
        })
    }
}

/// What a function does.
pub(super) struct Function<'a> {
    /// The stores that are read, in order.
    pub(super) sites: Vec<Site<'a>>,
    /// The statements that are not.
    pub(super) unread: Vec<Unread>,
}

/// A statement of a function's body that cannot be read, such as a walk over the positions of a level.
pub(super) struct Unread {
    /// Its position in the body.
    pub(super) at: usize,
    /// What it has that cannot be read.
    pub(super) why: String,
    /// The buffers that it may write; `None` for all.
    writes: Option<BTreeSet<BufferId>>,
    /// The buffers that it may read; `None` for all.
    reads: Option<BTreeSet<BufferId>>,
}

impl Unread {
    fn new(at: usize, why: String, stmt: &Stmt) -> Unread {
        let mut known = true;
        stmt.visit(&mut |part| {
            let is_open = matches!(
                part,
                Stmt::Partial(_) | Stmt::Team(_) | Stmt::Call(_) | Stmt::Register(_)
            );
            known &= !is_open;
        });
        let (reads, writes) = accessed(std::slice::from_ref(stmt));
        Unread { at, why, writes: known.then_some(writes), reads: known.then_some(reads) }
    }

    /// Whether it may write elements of a tensor.
    pub(super) fn writes(&self, tensor: TensorId) -> bool {
        let is = |buffer: &BufferId| buffer.0 as usize == tensor.0;
        self.writes.as_ref().is_none_or(|writes| writes.iter().any(is))
    }

    /// Whether it may read elements of a tensor.
    pub(super) fn reads(&self, tensor: TensorId) -> bool {
        let is = |buffer: &BufferId| buffer.0 as usize == tensor.0;
        self.reads.as_ref().is_none_or(|reads| reads.iter().any(is))
    }
}

/// Reads a function. `sums` says what a buffer's elements are added up in.
pub(super) fn read<'a>(
    function: &'a dastac_loops::Function,
    naming: &Naming,
    sums: &dyn Fn(BufferId) -> Sums,
) -> Function<'a> {
    let mut reader = Reader { naming, sums, sites: Vec::new() };
    let mut unread = Vec::new();
    for (at, stmt) in function.body.iter().enumerate() {
        let known = reader.sites.len();
        if let Err(why) = reader.stmt(stmt, &Around::default(), vec![Step::At(at)]) {
            reader.sites.truncate(known);
            unread.push(Unread::new(at, why, stmt));
        }
    }
    Function { sites: reader.sites, unread }
}

struct Reader<'a, 'n> {
    naming: &'n Naming,
    sums: &'n dyn Fn(BufferId) -> Sums,
    sites: Vec<Site<'a>>,
}

impl<'a> Reader<'a, '_> {
    fn block(&mut self, body: &'a [Stmt], around: &Around, path: &[Step]) -> Result<(), String> {
        for (position, stmt) in body.iter().enumerate() {
            let path = [path, &[Step::At(position)]].concat();
            self.stmt(stmt, around, path)?;
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: &'a Stmt, around: &Around, mut path: Vec<Step>) -> Result<(), String> {
        match stmt {
            Stmt::For(inner) => {
                let mut around = around.clone();
                let range = Range { lower: &inner.lower, upper: &inner.upper, step: inner.step };
                bind(self.naming, &mut around, inner.var, range)?;
                path.push(Step::Into(inner.var, inner.mark));
                self.block(&inner.body, &around, &path)
            }
            // Nests are proven before their iterations are partitioned among threads.
            Stmt::Partitioned(_) | Stmt::Partial(_) => Err("a range in parts".into()),
            Stmt::Workspace(_) | Stmt::Let(_) | Stmt::Scan(_) => Err("memory of its own".into()),
            Stmt::Append(_) => Err("levels that are assembled".into()),
            Stmt::Team(_) | Stmt::Call(_) | Stmt::While(_) | Stmt::CoIter(_) => {
                Err("a walk over positions".into())
            }
            Stmt::Register(_) => Err("register code".into()),
            Stmt::If(inner) => {
                for (condition, body, side) in [
                    (inner.condition.clone(), &inner.then, 0),
                    (inner.condition.clone().negate(), &inner.otherwise, 1),
                ] {
                    let mut around = around.clone();
                    let condition = self.naming.condition(&condition);
                    around.conditions.push(condition.ok_or("a condition that is not affine")?);
                    // At one point only one of the two sides runs, so that their order does not matter.
                    let path = [&path[..], &[Step::At(side)]].concat();
                    self.block(body, &around, &path)?;
                }
                Ok(())
            }
            Stmt::Store(Store { buffer, index, value, mode, .. }) => {
                let sums = (self.sums)(*buffer);
                let Sums { semiring, zero } = sums;
                let mode = match (*mode, reduction(semiring)) {
                    (StoreMode::Set, _) => StoreMode::Set,
                    (StoreMode::Add, Reduction::Sum)
                    | (StoreMode::Multiply, Reduction::Product)
                    | (StoreMode::Min, Reduction::Min)
                    | (StoreMode::Max, Reduction::Max) => StoreMode::Add,
                    _ => return Err("no sum of products".into()),
                };
                if mode == StoreMode::Set && !is_zero_without_terms(sums, value) {
                    return Err("a maximum of nothing".into());
                }
                let terms = Reading { naming: self.naming, semiring, zero }.terms(value)?;
                let (buffer, around) = (*buffer, around.clone());
                self.sites.push(Site { buffer, index, mode, around, path, terms });
                Ok(())
            }
        }
    }
}
