//! How passes over nests come to them, and what is known there.

use super::nest::Nest;
use crate::build::free_name;
use crate::hints::Hint;
use crate::ir::*;
use crate::linear::Facts;
use crate::machine::Machine;
use crate::passes::Context;

/// What a pass over nests knows and may change where it is.
pub(super) struct Walk<'a> {
    pub(super) machine: &'a Machine,
    /// Those of the module, and workspaces after them.
    pub(super) buffers: &'a mut Vec<Buffer>,
    /// The function; its statements are taken out.
    pub(super) function: &'a mut Function,
    /// How many statements the function has at its outermost level.
    pub(super) statements: usize,
    /// What holds here.
    pub(super) facts: Facts,
    /// Whether threads share what is around already.
    pub(super) inside: bool,
}

/// What a pass makes of a statement: others, or none if it leaves the statement as it is.
type Rewrite<'r> = &'r dyn Fn(&mut Walk<'_>, &Stmt) -> Option<Vec<Stmt>>;

/// Runs a pass on the statements of each function.
pub(super) fn each_function(
    module: &mut Module,
    context: &Context<'_>,
    run: impl Fn(&mut Walk<'_>, &mut Vec<Stmt>),
) {
    let Module { functions, buffers, .. } = module;
    for function in functions {
        let mut body = std::mem::take(&mut function.body);
        let (machine, facts) = (context.machine, Facts::default());
        let statements = body.len();
        let mut walk = Walk { machine, buffers, function, statements, facts, inside: false };
        run(&mut walk, &mut body);
        function.body = body;
    }
}

/// Rewrites each statement of a module; what is inside of one that is left as it is is tried, too.
pub(super) fn each_statement(
    module: &mut Module,
    context: &Context<'_>,
    rewrite: impl Fn(&mut Walk<'_>, &Stmt) -> Option<Vec<Stmt>>,
) {
    each_function(module, context, |walk, body| walk.block(body, &rewrite));
}

/// Rewrites each nest of a module. Of a nest that is left as it is, the inner loops alone are tried.
pub(super) fn each_nest(
    module: &mut Module,
    context: &Context<'_>,
    rewrite: impl Fn(&mut Walk<'_>, &Nest) -> Option<Vec<Stmt>>,
) {
    each_statement(module, context, |walk, stmt| {
        Nest::of(stmt).and_then(|nest| rewrite(walk, &nest))
    });
}

impl Walk<'_> {
    fn block(&mut self, body: &mut Vec<Stmt>, rewrite: Rewrite<'_>) {
        let mut result = Vec::with_capacity(body.len());
        for mut stmt in std::mem::take(body) {
            match rewrite(self, &stmt) {
                Some(statements) => result.extend(statements),
                None => {
                    self.within(&mut stmt, rewrite);
                    result.push(stmt);
                }
            }
        }
        *body = result;
    }

    /// Rewrites what stands inside of a statement.
    fn within(&mut self, stmt: &mut Stmt, rewrite: Rewrite<'_>) {
        let (len, outer) = (self.facts.len(), self.inside);
        match stmt {
            Stmt::For(inner) => {
                self.facts.assume_range(inner.var, &inner.lower, &inner.upper);
                self.inside |= matches!(inner.mark, Mark::Parallel(_));
                self.block(&mut inner.body, rewrite);
            }
            Stmt::If(inner) => {
                self.facts.assume(&inner.condition);
                self.block(&mut inner.then, rewrite);
                self.facts.truncate(len);
                self.facts.assume(&inner.condition.clone().negate());
                self.block(&mut inner.otherwise, rewrite);
            }
            Stmt::Partial(inner) => {
                self.facts.assume_partial(inner);
                // Threads share the nest that is cut into parts, not what was put beside it.
                self.inside |= !matches!(&inner.body[..], [only] if Nest::of(only).is_some());
                self.block(&mut inner.body, rewrite);
            }
            _ => {
                if let Stmt::Partitioned(inner) = stmt {
                    self.facts.assume_partitioned(inner);
                }
                // Walks over levels: threads share them, or their iterations depend on each other.
                self.inside = true;
                stmt.bodies_mut().into_iter().for_each(|body| self.block(body, rewrite));
            }
        }
        self.facts.truncate(len);
        self.inside = outer;
    }

    /// Whether a condition is known to hold here.
    pub(super) fn known(&self, condition: &Condition) -> bool {
        condition.as_bool() == Some(true) || self.facts.imply(condition)
    }

    /// Where a tile begins that has as many iterations as was chosen for its loop, and their number.
    pub(super) fn full_tile(&self, tile: &For) -> Option<(Index, i64)> {
        let factor = self.hint(tile.var).tile.filter(|_| tile.mark == Mark::Unrolled)?;
        let [start @ Index::Var(_)] = &tile.lower[..] else { return None };
        (tile.upper == [start.clone() + factor]).then(|| (start.clone(), factor))
    }

    /// The lower bounds `last` and those of `others` that may lie beyond it.
    pub(super) fn beyond(&self, last: Index, others: impl Iterator<Item = Index>) -> Vec<Index> {
        let mut list = vec![last.clone()];
        for other in others {
            if !list.contains(&other) && !self.known(&other.clone().at_most(last.clone())) {
                list.push(other);
            }
        }
        list
    }

    /// The hint of a variable.
    pub(super) fn hint(&self, var: VarId) -> Hint {
        self.function.hints.get(var)
    }

    /// A new variable for a loop that is cut from another.
    pub(super) fn fresh(&mut self, like: VarId, mark: &str) -> VarId {
        let var = self.function.fresh_like(like, mark);
        // Of what the other is to be, this one keeps who shares it only.
        self.function.hints.update(var, |hint| {
            let Hint { scheduled, threads, .. } = *hint;
            *hint = Hint { scheduled, threads, ..Hint::default() };
        });
        var
    }

    /// A new buffer of the module, for a workspace.
    pub(super) fn workspace(
        &mut self,
        name: String,
        element: Element,
        size: Index,
    ) -> Option<BufferId> {
        let workspace = BufferId(u32::try_from(self.buffers.len()).ok()?);
        let name = free_name(self.buffers, name);
        self.buffers.push(Buffer { name, element, size, space: Space::Main });
        Some(workspace)
    }

    /// Bytes of an element that a store stores.
    pub(super) fn element_bytes(&self, store: &Store) -> i64 {
        let buffer = self.buffers.get(store.buffer.0 as usize);
        buffer.map_or(8, |buffer| buffer.element.bytes() as i64)
    }
}
