//! Statements around stores: unrolled loops become instances, what instances agree about is executed once for all.

use super::stores::cleared;
use super::{Lowered, Lowering, RegistersError};
use crate::ir::*;
use crate::unroll::{Instance, at, expand, holds_at};

impl Lowering<'_> {
    pub(super) fn stmts(&mut self, stmts: &[Stmt]) -> Lowered<()> {
        let mut rest = stmts;
        while let Some((stmt, after)) = rest.split_first() {
            rest = after;
            if let Some((first, store)) = cleared(stmt, after.first())
                && self.agree(stmt)
            {
                self.store(store, Some(first))?;
                rest = &after[1..];
                continue;
            }
            self.stmt(stmt)?;
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: &Stmt) -> Lowered<()> {
        match stmt {
            Stmt::For(inner) if inner.mark == Mark::Unrolled => self.unrolled(inner),
            Stmt::Store(inner) => self.store(inner, None),
            // Where instances differ in what is executed, one after the other.
            stmt if !self.agree(stmt) => {
                let all = std::mem::take(&mut self.instances);
                for instance in &all {
                    self.instances = vec![instance.clone()];
                    self.stmt(stmt)?;
                }
                self.instances = all;
                Ok(())
            }
            Stmt::For(inner) if self.adding(inner)? => Ok(()),
            stmt => {
                let stmt = self.around(stmt)?;
                self.code.push(stmt);
                Ok(())
            }
        }
    }

    fn unrolled(&mut self, inner: &For) -> Lowered<()> {
        let inside = expand(inner, &self.instances).ok_or(RegistersError::Unrolled)?;
        if inside.is_empty() {
            return Ok(());
        }
        let outer = std::mem::replace(&mut self.instances, inside);
        self.stmts(&inner.body)?;
        self.instances = outer;
        Ok(())
    }

    /// Whether all instances have the same bounds or condition.
    fn agree(&self, stmt: &Stmt) -> bool {
        let varies = |index: &Index| {
            let first = self.instances.first().map(|first| at(index, first));
            self.instances.iter().skip(1).any(|other| Some(at(index, other)) != first)
        };
        match stmt {
            Stmt::For(inner) => !inner.lower.iter().chain(&inner.upper).any(varies),
            Stmt::Partitioned(inner) => !inner.lower.iter().chain(&inner.upper).any(varies),
            Stmt::If(inner) => {
                let first = self.instances.first().map(|first| holds_at(&inner.condition, first));
                let holds = |other: &Instance| Some(holds_at(&inner.condition, other));
                self.instances.iter().skip(1).all(|other| holds(other) == first)
            }
            // Its start decides about all of it.
            Stmt::While(inner) => !inner.vars.iter().any(|(_, start)| varies(start)),
            Stmt::Let(inner) => !varies(&inner.index),
            Stmt::Call(inner) => !inner.integers.iter().any(varies),
            // Each has its own.
            Stmt::Workspace(_) | Stmt::Team(_) | Stmt::Scan(_) => self.instances.len() < 2,
            Stmt::Partial(_) | Stmt::CoIter(_) | Stmt::Append(_) => true,
            Stmt::Register(inner) => {
                let mut all = true;
                inner.visit_indices(&mut |index| all &= !varies(index));
                all
            }
            Stmt::Store(_) => true,
        }
    }

    fn inside(&mut self, body: &[Stmt]) -> Lowered<Vec<Stmt>> {
        Ok(self.block(|lowering| lowering.stmts(body))?.0)
    }

    fn all_here(&self, list: &[Index]) -> Vec<Index> {
        list.iter().map(|index| self.here(index)).collect()
    }

    /// A statement that all instances agree about, around register code.
    fn around(&mut self, stmt: &Stmt) -> Lowered<Stmt> {
        Ok(match stmt {
            Stmt::For(inner) => Stmt::For(For {
                lower: self.all_here(&inner.lower),
                upper: self.all_here(&inner.upper),
                mark: self.mark_here(inner.mark),
                body: self.inside(&inner.body)?,
                ..*inner
            }),
            Stmt::Partitioned(inner) => Stmt::Partitioned(PartitionedRange {
                lower: self.all_here(&inner.lower),
                upper: self.all_here(&inner.upper),
                work: inner.work.as_ref().map(|work| self.here(work)),
                body: self.inside(&inner.body)?,
                ..*inner
            }),
            Stmt::Partial(inner) => Stmt::Partial(Partial {
                lower: self.all_here(&inner.lower),
                upper: self.all_here(&inner.upper),
                condition: self.holds_here(&inner.condition),
                base: self.here(&inner.base),
                extent: self.here(&inner.extent),
                body: self.inside(&inner.body)?,
                finish: self.inside(&inner.finish)?,
                ..*inner
            }),
            Stmt::While(inner) => Stmt::While(self.while_loop(inner)?),
            Stmt::Workspace(inner) => Stmt::Workspace(Workspace {
                size: self.here(&inner.size),
                instead: inner
                    .instead
                    .as_ref()
                    .map(|(other, condition)| (*other, self.holds_here(condition))),
                body: self.inside(&inner.body)?,
                ..*inner
            }),
            Stmt::Let(inner) => Stmt::Let(Let {
                index: self.here(&inner.index),
                body: self.inside(&inner.body)?,
                ..*inner
            }),
            Stmt::Scan(inner) => Stmt::Scan(Scan {
                lower: self.here(&inner.lower),
                upper: self.here(&inner.upper),
                body: self.inside(&inner.body)?,
                ..*inner
            }),
            Stmt::If(inner) => Stmt::If(If {
                condition: self.holds_here(&inner.condition),
                then: self.inside(&inner.then)?,
                otherwise: self.inside(&inner.otherwise)?,
            }),
            Stmt::Team(inner) => Stmt::Team(Team { body: self.inside(&inner.body)?, ..*inner }),
            Stmt::Call(inner) => {
                Stmt::Call(Call { integers: self.all_here(&inner.integers), ..inner.clone() })
            }
            Stmt::CoIter(_) | Stmt::Append(_) => stmt.clone(),
            Stmt::Register(inner) => {
                let mut inner = inner.clone();
                inner.indices_mut().into_iter().for_each(|index| *index = self.here(index));
                Stmt::Register(inner)
            }
            Stmt::Store(_) => stmt.clone(),
        })
    }

    /// What is inside of a tile is on one thread.
    fn mark_here(&self, mark: Mark) -> Mark {
        let tiled = self.instances.iter().any(|instance| !instance.is_empty());
        if tiled { Mark::Sequential } else { mark }
    }

    fn while_loop(&mut self, inner: &While) -> Lowered<While> {
        Ok(While {
            vars: inner.vars.iter().map(|(var, start)| (*var, self.here(start))).collect(),
            condition: self.holds_here(&inner.condition),
            body: self.inside(&inner.body)?,
            next: self.all_here(&inner.next),
            after: self.inside(&inner.after)?,
        })
    }
}
