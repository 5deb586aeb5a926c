//! An estimate of what statements cost, in elements that are loaded, to tell whether several threads are worth it.
//!
//! Before -> after, of `for i = 0 to N { for p = pos[i] to pos[i + 1] { y[i] += A[p] * x[crd[p]] } }` with
//! `buffer pos : u32[N + 1]`: `max(N, 0) * ((pos[N] + (max(N, 1) - 1)) / max(N, 1) * 4)`.
//!
//! A loop over the positions of a row counts as one over a row of average length: which row it is may be known inside
//! only. So an estimate loads nothing but the last element of an array of positions, which is always there. Statements
//! of which the cost cannot be told in this way have none.

use crate::ir::*;
use crate::machine::Machine;
use crate::passes::tile::work::{of_value, segment_of, total};

/// An estimate of more parts takes too long itself.
const LONG: usize = 300;

/// Elements that are cleared, or looked through, in the time in which one is loaded.
const CLEARED: i64 = 8;

fn parts(index: &Index) -> usize {
    let mut count = 0;
    index.visit(&mut |_| count += 1);
    count
}

/// Estimates the statements of a function.
pub(super) struct Estimate<'a> {
    /// The module with the functions that are called.
    pub module: &'a Module,
    /// The machine, which tells what functions of elements cost.
    pub machine: &'a Machine,
    /// The buffers of the caller.
    pub args: &'a [(BufferId, Mode)],
}

impl Estimate<'_> {
    /// The cost of a loop, in terms of what is known before it.
    pub fn of_loop(&self, inner: &For) -> Option<Index> {
        self.known(self.repeated(inner)?)
    }

    /// The cost of a block, in terms of what is known before it.
    pub fn of_block(&self, body: &[Stmt]) -> Option<Index> {
        self.known(self.block(body)?)
    }

    /// The estimate, unless code cannot evaluate it: it loads what may not be there or be written meanwhile.
    fn known(&self, cost: Index) -> Option<Index> {
        let mut fine = !cost.has_selections();
        cost.visit(&mut |part| {
            if let Index::Load(buffer, at) = part {
                fine &= self.args.contains(&(*buffer, Mode::In)) && at.free_vars().is_empty();
            }
        });
        (fine && parts(&cost) <= LONG).then_some(cost)
    }

    fn block(&self, body: &[Stmt]) -> Option<Index> {
        body.iter().try_fold(Index::Const(0), |sum, stmt| Some(sum + self.stmt(stmt)?))
    }

    fn stmt(&self, stmt: &Stmt) -> Option<Index> {
        match stmt {
            Stmt::For(inner) => self.repeated(inner),
            Stmt::Call(inner) => self.called(inner),
            Stmt::Store(inner) if inner.is_index() => Some(1.into()),
            Stmt::Store(inner) => Some(of_value(&inner.value, self.machine) + 1),
            Stmt::If(inner) => {
                let (then, otherwise) = (self.block(&inner.then)?, self.block(&inner.otherwise)?);
                Some(then.max(otherwise))
            }
            Stmt::Let(inner) => self.without(self.block(&inner.body)? + 1, inner.var),
            Stmt::Workspace(inner) => {
                let cleared = if inner.zero { inner.size.clone() } else { Index::Const(0) };
                Some(self.block(&inner.body)? + cleared.max(0.into()).floor_div(CLEARED) + 1)
            }
            // What is found there was marked by other statements, whose cost is as large.
            Stmt::Scan(inner) => {
                let length = inner.upper.clone() - inner.lower.clone();
                Some(length.max(0.into()).floor_div(CLEARED) + 1)
            }
            Stmt::While(inner) => self.walked(inner),
            Stmt::Partitioned(_) | Stmt::Partial(_) | Stmt::Team(_) => None,
            Stmt::CoIter(_) | Stmt::Append(_) | Stmt::Register(_) => None,
        }
    }

    fn repeated(&self, inner: &For) -> Option<Index> {
        // An iteration costs something, even an empty one.
        let body = self.averaged(&self.block(&inner.body)?.max(1.into()), &|_| true)?;
        let all = total(inner.var, (&inner.lower, &inner.upper), &body).floor_div(inner.step);
        // Loops around this one would make it many times as long.
        (parts(&all) <= 4 * LONG).then_some(all)
    }

    /// A walk: at most as many iterations as its variables are below what they are compared with. In it, and behind it,
    /// they are taken for what they are before it: a search narrows a range.
    fn walked(&self, inner: &While) -> Option<Index> {
        let compared = match &inner.condition {
            Condition::And(parts) => &parts[..],
            one => std::slice::from_ref(one),
        };
        let first = |index: &Index| {
            inner.vars.iter().fold(index.clone(), |index, (var, by)| index.substitute(*var, by))
        };
        let mut length = Index::Const(0);
        for one in compared {
            if let Condition::Compare(Compare::Lt, Index::Var(var), end) = one
                && let Some((_, start)) = inner.vars.iter().find(|(known, _)| known == var)
            {
                length = length + (first(end) - start.clone()).max(0.into());
            }
        }
        let after = first(&self.block(&inner.after)?);
        let body = match inner.body.is_empty() {
            // A search halves its range.
            true => Index::Const(16),
            false if length == Index::Const(0) => return None,
            false => {
                let body = self.averaged(&self.block(&inner.body)?.max(1.into()), &|_| true)?;
                length * first(&body)
            }
        };
        Some(body + after)
    }

    /// A call costs what its function does, with the caller's numbers for the parameters.
    fn called(&self, call: &Call) -> Option<Index> {
        let callee = self.module.functions.get(call.function.0 as usize)?;
        let private = callee.private.as_ref()?;
        if !callee.args.iter().map(|(buffer, _)| buffer).eq(&call.buffers) {
            return None;
        }
        let cost = self.block(&callee.body)?;
        let integers = private.integers.iter().zip(&call.integers);
        let known = |var: &VarId| private.integers.contains(var);
        if !cost.free_vars().iter().all(known) {
            return None;
        }
        Some(cost.rebuild(&|leaf| {
            let mut integers = integers.clone();
            let by = integers.find(|(var, _)| *leaf == Index::Var(**var));
            by.map_or_else(|| leaf.clone(), |(_, by)| by.clone())
        }))
    }

    /// A cost outside of what binds a variable whose values are not known.
    fn without(&self, cost: Index, var: VarId) -> Option<Index> {
        let cost = self.averaged(&cost, &|part| part.mentions(var))?;
        (!cost.mentions(var)).then_some(cost)
    }

    /// A cost with average lengths for those of some rows; none if other elements are loaded.
    fn averaged(&self, cost: &Index, some: &dyn Fn(&Index) -> bool) -> Option<Index> {
        let cost = self.with_averages(cost, some);
        let mut fine = true;
        cost.visit(&mut |part| {
            fine &= !matches!(part, Index::Load(_, at) if !at.free_vars().is_empty() && some(part));
        });
        fine.then_some(cost)
    }

    fn with_averages(&self, cost: &Index, some: &dyn Fn(&Index) -> bool) -> Index {
        match segment_of(cost) {
            Some((buffer, _)) if some(cost) => self.average(buffer),
            _ => cost.map_parts(&mut |part| self.with_averages(part, some)),
        }
    }

    /// The average length of rows, rounded up: their positions are the elements of a buffer.
    fn average(&self, buffer: BufferId) -> Index {
        let size = self.module.buffers.get(buffer.0 as usize).map(|buffer| buffer.size.clone());
        let rows = size.unwrap_or(Index::Const(1)) - 1;
        let some = rows.clone().max(1.into());
        let all = Index::Load(buffer, Box::new(rows));
        (all + (some.clone() - 1)).quotient(some)
    }
}
