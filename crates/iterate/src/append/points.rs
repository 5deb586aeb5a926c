//! Whether statements come to a point of a product, and statements that say that they did.

use dastac_loops::linear::range_conditions;
use dastac_loops::{Condition, Mark, Stmt};

use super::levels::Assembler;

impl Assembler<'_> {
    /// Statements that say it when they come to a point; where elements are counted they do nothing else. A loop that
    /// surely comes to a point in each iteration says so outside, where its range is not empty.
    pub(super) fn noticed(&self, body: Vec<Stmt>, says: &Stmt) -> Vec<Stmt> {
        if self.always(&body) {
            return [vec![says.clone()], self.quiet(body)].concat();
        }
        let mut result = Vec::new();
        for mut stmt in body {
            match &mut stmt {
                Stmt::Store(store) if store.buffer == self.plan.block => {
                    result.push(says.clone());
                    result.extend(self.quiet(vec![stmt]));
                    continue;
                }
                Stmt::For(inner) if self.always(&inner.body) => {
                    let some = range_conditions(&inner.lower, &inner.upper);
                    result.push(Stmt::when(Condition::all(some), vec![says.clone()]));
                    result.extend(self.quiet(vec![stmt]));
                    continue;
                }
                Stmt::For(inner) => inner.mark = Mark::Sequential,
                _ => {}
            }
            for inside in stmt.bodies_mut() {
                *inside = self.noticed(std::mem::take(inside), says);
            }
            result.push(stmt);
        }
        result
    }

    /// Whether statements come to a point whenever they are executed.
    pub(super) fn always(&self, body: &[Stmt]) -> bool {
        body.iter().any(|stmt| match stmt {
            Stmt::Store(store) => store.buffer == self.plan.block,
            Stmt::If(inner) => self.always(&inner.then) && self.always(&inner.otherwise),
            Stmt::While(inner) => self.always(&inner.after),
            Stmt::Workspace(inner) => self.always(&inner.body),
            Stmt::Let(inner) => self.always(&inner.body),
            _ => false,
        })
    }

    /// Statements whose points need not be noticed. Where elements are counted, what is left of them is what they store
    /// elsewhere.
    pub(super) fn quiet(&self, body: Vec<Stmt>) -> Vec<Stmt> {
        if self.fills {
            let mut body = body;
            in_order(&mut body);
            return body;
        }
        let stores = |stmt: &Stmt| {
            let mut found = false;
            stmt.visit(&mut |stmt| {
                found |= matches!(stmt, Stmt::Store(store) if store.buffer != self.plan.block);
            });
            found
        };
        let mut result: Vec<Stmt> = body.into_iter().filter(stores).collect();
        in_order(&mut result);
        for inside in result.iter_mut().flat_map(Stmt::bodies_mut) {
            *inside = self.quiet(std::mem::take(inside));
        }
        result
    }
}

/// Has all loops of statements run in order.
pub(crate) fn in_order(body: &mut Vec<Stmt>) {
    for stmt in body {
        if let Stmt::For(inner) = stmt {
            inner.mark = Mark::Sequential;
        }
        stmt.bodies_mut().into_iter().for_each(in_order);
    }
}
