//! How long the longest row is, where memory says where rows begin.
//!
//! Before -> after, around kernels of `sum(p = pos[i] to pos[i + 1])` for `i = 0 to M`:
//! ```text
//! with longest of 1 zero {
//!   for x = 0 to M { longest[0] max= pos[x + 1] - pos[x] }
//!   let n = longest[0] { (kernels, chosen by n) }
//! }
//! ```
//! The host does this with its own copy of an argument, before it starts anything ([`find`]).

use dastac_loops::{
    BinaryOp, BufferId, Element, For, Index, Mode, Operation, RegisterStmt, Stmt, Store, StoreMode,
    VarId,
};

use super::mapper::Mapper;
use super::space::Points;
use super::sums::{integer, read, zero};
use super::teams::Row;

/// The largest of `count` differences of neighbouring elements of a buffer, from one on.
pub(crate) struct Longest<'a> {
    pub var: VarId,
    pub buffer: BufferId,
    pub first: Index,
    pub count: Index,
    /// What it is known for.
    pub body: &'a [Stmt],
}

/// What [`Mapper::with_longest`] makes, if a statement is that and the host can do it before anything else.
pub(crate) fn find(stmt: &Stmt) -> Option<Longest<'_>> {
    let Stmt::Workspace(memory) = stmt else { return None };
    let [Stmt::For(each), Stmt::Let(inner)] = &memory.body[..] else { return None };
    // `longest[0] max= index(length)`, in registers.
    let [
        Stmt::Register(RegisterStmt::Define(value, Operation::Convert(length))),
        Stmt::Register(RegisterStmt::Define(known, Operation::Load(_))),
        Stmt::Register(RegisterStmt::Define(larger, Operation::Binary(BinaryOp::Max, left, right))),
        Stmt::Register(RegisterStmt::Write(write)),
    ] = &each.body[..]
    else {
        return None;
    };
    let joined = [*left, *right] == [*known, *value] && write.value == *larger;
    let mut rows = None;
    length.visit(&mut |part| {
        if let Index::Load(buffer, at) = part
            && *length == length_of(*buffer, at)
        {
            rows = Some((*buffer, (**at).clone()));
        }
    });
    let (buffer, at) = rows.filter(|(_, at)| at.constant_stride(each.var) == Some(1))?;
    let (lower, upper) = each.ends();
    let own = inner.buffer == memory.buffer && write.buffer == memory.buffer;
    let all = own && joined && each.step == 1;
    let (first, count) = (at.substitute(each.var, &lower), upper - lower);
    let known = [&first, &count].into_iter().all(is_known);
    (all && known).then_some(Longest { var: inner.var, buffer, first, count, body: &inner.body })
}

/// How long a row is that begins at the number in an element.
fn length_of(buffer: BufferId, at: &Index) -> Index {
    let [end, begin] = [at.clone() + 1, at.clone()].map(|at| Index::Load(buffer, Box::new(at)));
    end - begin
}

/// Whether an expression has symbols and numbers alone.
fn is_known(index: &Index) -> bool {
    let mut known = true;
    index.visit(&mut |part| known &= !matches!(part, Index::Var(_) | Index::Load(..)));
    known
}

impl Mapper<'_> {
    /// Statements with what is known of the longest row, if it can be known.
    pub fn with_longest(
        &mut self,
        points: &Points,
        row: &Row<'_>,
        body: impl FnOnce(&mut Self, Option<Index>) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let Some((buffer, first, count)) = self.rows_of(points, row) else {
            return body(self, None);
        };
        let [var, at] = ["longest", "x"].map(|name| self.function.fresh_var(name));
        let body = body(self, Some(Index::Var(var)));
        let longest = self.module.fresh_buffer("longest", Element::I64, 1.into());
        let length = length_of(buffer, &(first + Index::Var(at)));
        let (value, mode, stream) = (integer(length), StoreMode::Max, None);
        let store = Store { buffer: longest, index: zero(), value, mode, stream };
        let each = Stmt::For(For::new(at, zero(), count, vec![Stmt::Store(store)]));
        let body = vec![each, read(var, longest, zero(), body)];
        let (size, zero, instead) = (1.into(), true, None);
        let memory = dastac_loops::Workspace { buffer: longest, size, zero, instead, body };
        vec![Stmt::Workspace(memory)]
    }

    /// Where the host finds the beginnings of rows: the first place, and how many rows there are.
    fn rows_of(&self, points: &Points, row: &Row<'_>) -> Option<(BufferId, Index, Index)> {
        let ([Index::Load(buffer, at)], [Index::Load(other, end)]) =
            (&row.sum.lower[..], &row.sum.upper[..])
        else {
            return None;
        };
        let mut axes = points.axes.iter().filter(|axis| at.mentions(axis.var));
        let (axis, None) = (axes.next()?, axes.next()) else { return None };
        let (low, count) = axis.range()?;
        let neighbours = buffer == other
            && end.constant_difference(at) == Some(1)
            && at.constant_stride(axis.var) == Some(1)
            && self.function.args.contains(&(*buffer, Mode::In));
        let first = at.substitute(axis.var, &low);
        let known = is_known(&first) && is_known(&count);
        (neighbours && known).then_some((*buffer, first, count))
    }
}
