//! Short ways to write statements that read and write integers in memory.

use dastac_loops::{BufferId, Condition, For, Function, If, Index, Let, Stmt, VarId, While};

/// Writes statements for a function, which gets their variables.
pub(super) struct Emit<'f> {
    pub(super) function: &'f mut Function,
}

impl Emit<'_> {
    pub(super) fn var(&mut self, name: &str) -> VarId {
        self.function.fresh_var(name)
    }

    /// Statements that know an integer in memory, as it is at their beginning.
    pub(super) fn read(
        &mut self,
        buffer: BufferId,
        index: Index,
        body: impl FnOnce(&mut Self, Index) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let var = self.var("n");
        let body = body(self, Index::Var(var));
        vec![Stmt::Let(Let { var, buffer, index, body })]
    }

    /// Statements for each number below another, in order.
    pub(super) fn each(
        &mut self,
        upper: Index,
        body: impl FnOnce(&mut Self, Index) -> Vec<Stmt>,
    ) -> Stmt {
        let var = self.var("x");
        let body = body(self, Index::Var(var));
        Stmt::For(For::new(var, Index::Const(0), upper, body))
    }

    /// A loop with variables, each with a name, its first and its next value.
    pub(super) fn repeat<const N: usize>(
        &mut self,
        start: [(&str, Index); N],
        step: impl FnOnce(&mut Self, &[Index; N]) -> Repeat<N>,
    ) -> Stmt {
        let vars = start.map(|(name, first)| (self.var(name), first));
        let values = vars.each_ref().map(|(var, _)| Index::Var(*var));
        let Repeat { condition, body, next, after } = step(self, &values);
        let next = next.into();
        Stmt::While(While { vars: vars.into(), condition, body, next, after })
    }
}

/// What a loop does.
pub(super) struct Repeat<const N: usize> {
    pub(super) condition: Condition,
    pub(super) body: Vec<Stmt>,
    pub(super) next: [Index; N],
    pub(super) after: Vec<Stmt>,
}

pub(super) fn load(buffer: BufferId, index: Index) -> Index {
    Index::Load(buffer, Box::new(index))
}

pub(super) fn either(condition: Condition, then: Vec<Stmt>, otherwise: Vec<Stmt>) -> Stmt {
    Stmt::If(If { condition, then, otherwise })
}
