//! Before -> after: `parallel i = 0 to M { parallel j = 0 to N { s } }` ->
//! `parallel(blocks) b = 0 to (M * N + 255) / 256 { parallel(lanes) t = 0 to 256 { s(256 * b + t) } }`.
//!
//! The host keeps loops, conditions and workspaces around parallel loops, if it can evaluate them: their expressions
//! load nothing but elements of arguments that are only read. What is left over is executed by one lane of one block. A
//! lane executes one point of a nest, with all loops inside in order, unless lanes share a sum ([`super::rows`]) or
//! have several points ([`super::wide`]). A parallel loop whose range only kernels know, such as that of the stored
//! elements of a row, is shared by the lanes of a warp.

use dastac_loops::passes::Context;
use dastac_loops::{Condition, For, Function, Index, Mark, Mode, Module, PartitionedRange, Stmt};

use super::join;
use super::mapper::Mapper;
use super::rows;
use super::space::Points;
use super::{tiles, wide};

/// Parts of a range whose parts have workspaces of their own: there is memory for so many of them.
const PARTS: i64 = 1024;

pub(super) fn run(module: &mut Module, _: &Context<'_>) {
    for at in 0..module.functions.len() {
        let taken = Function::new("", Vec::new());
        let mut function = std::mem::replace(&mut module.functions[at], taken);
        let body = std::mem::take(&mut function.body);
        let mut mapper = Mapper { module, function: &mut function };
        let body = mapper.host(&body);
        function.body = body;
        module.functions[at] = function;
    }
}

impl Mapper<'_> {
    /// Statements of the host.
    fn host(&mut self, body: &[Stmt]) -> Vec<Stmt> {
        let (mut mapped, mut single) = (Vec::new(), Vec::new());
        for stmt in &join::joined(body) {
            if self.is_hosts(stmt) {
                mapped.extend(self.one_lane(&mut single));
                mapped.extend(self.host_stmt(stmt));
            } else {
                single.push(stmt.clone());
            }
        }
        mapped.extend(self.one_lane(&mut single));
        mapped
    }

    /// Whether the host executes a statement or starts the grid for it: it has a parallel loop that the host can reach.
    fn is_hosts(&self, stmt: &Stmt) -> bool {
        let some = |body: &[Stmt]| body.iter().any(|stmt| self.is_hosts(stmt));
        let known = |bounds: &[Index]| bounds.iter().all(|bound| self.is_known(bound));
        match stmt {
            Stmt::For(inner) => {
                known(&inner.lower)
                    && known(&inner.upper)
                    && (inner.mark == Mark::THREADS
                        || some(&inner.body)
                        || self.prefix_of(stmt).is_some())
            }
            Stmt::Partitioned(inner) => known(&inner.lower) && known(&inner.upper),
            Stmt::If(inner) => {
                self.holds_known(&inner.condition) && (some(&inner.then) || some(&inner.otherwise))
            }
            Stmt::Workspace(inner) => {
                let instead = inner.instead.as_ref();
                instead.is_none_or(|(_, condition)| self.holds_known(condition))
                    && self.is_known(&inner.size)
                    && some(&inner.body)
            }
            _ => false,
        }
    }

    /// Whether the host can evaluate an expression.
    pub fn is_known(&self, index: &Index) -> bool {
        let mut known = true;
        index.visit(&mut |part| match part {
            Index::Load(buffer, _) => known &= self.function.args.contains(&(*buffer, Mode::In)),
            Index::Within(_) => known = false,
            _ => {}
        });
        known
    }

    fn holds_known(&self, condition: &Condition) -> bool {
        let mut known = true;
        condition.visit(&mut |index| known &= self.is_known(index));
        known
    }

    fn host_stmt(&mut self, stmt: &Stmt) -> Vec<Stmt> {
        if let Some(prefix) = self.prefix_of(stmt) {
            return self.prefix(&prefix);
        }
        let mut stmt = stmt.clone();
        match &mut stmt {
            Stmt::For(inner) if inner.mark == Mark::THREADS => return self.nest(inner),
            Stmt::Partitioned(inner) => {
                return self.gathered(inner).unwrap_or_else(|| {
                    let parts = self.parts(inner);
                    self.nest(&parts)
                });
            }
            _ => {}
        }
        for body in stmt.bodies_mut() {
            *body = self.host(body);
        }
        vec![stmt]
    }

    /// Statements that one lane executes.
    fn one_lane(&mut self, stmts: &mut Vec<Stmt>) -> Option<Stmt> {
        if stmts.is_empty() {
            return None;
        }
        let body = in_order(std::mem::take(stmts));
        let lane = self.lanes("t", 1, |_, _| body);
        Some(self.blocks(Index::Const(1), |_, _| vec![lane]))
    }

    /// A range in parts as a loop over them: of as few iterations as may be, unless each part has a workspace.
    pub fn parts(&mut self, inner: &PartitionedRange) -> For {
        let (lower, upper) = inner.ends();
        let part = self.function.fresh_var("part");
        let mut workspaces = false;
        inner.body.iter().for_each(|stmt| {
            stmt.visit(&mut |stmt| workspaces |= is_large_workspace(stmt));
        });
        let step = Index::Const(inner.step);
        let length = upper.clone() - lower.clone();
        let chunk = match workspaces {
            true => {
                (length.clone() + (PARTS * inner.step - 1)).floor_div(PARTS * inner.step) * step
            }
            false => step,
        };
        let begin = lower + Index::Var(part) * chunk.clone();
        let end = (begin.clone() + chunk.clone()).min(upper);
        let body = inner.body.iter();
        let body =
            body.map(|stmt| stmt.substitute(inner.begin, &begin).substitute(inner.end, &end));
        let body = vec![Stmt::when(begin.clone().less(end.clone()), body.collect())];
        let count = match workspaces {
            true => Index::Const(PARTS),
            false => (length + (inner.step - 1)).floor_div(inner.step),
        };
        For::new(part, Index::Const(0), count, body).parallel()
    }

    /// The kernels of a parallel loop and of those that are all that is inside of it.
    pub fn nest(&mut self, outer: &For) -> Vec<Stmt> {
        let mut points = Points::default();
        let mut body = std::slice::from_ref(outer);
        let (mut inside, mut next) = (Vec::new(), Some(&body[0]));
        while let Some(inner) = next.take() {
            if points.add(inner, self.function).is_none() {
                break;
            }
            inside = inner.body.clone();
            let mut stmts = &inner.body[..];
            // Conditions between the loops hold at some of the points.
            while let [Stmt::If(choice)] = stmts
                && choice.otherwise.is_empty()
                && !choice.condition.has_loads()
            {
                points.guards.push(choice.condition.clone());
                stmts = &choice.then;
                inside = choice.then.clone();
            }
            if let [Stmt::For(inner)] = stmts
                && inner.mark == Mark::THREADS
            {
                body = std::slice::from_ref(inner);
                next = body.first();
            }
        }
        if let [Stmt::For(inner)] = &inside[..]
            && inner.mark == Mark::THREADS
            && inner.step == 1
            && !points.axes.is_empty()
        {
            let inner = For { body: in_order(inner.body.clone()), ..inner.clone() };
            let mapped = vec![self.strips(&points, &inner)];
            return points.around(mapped);
        }
        let inside = in_order(inside);
        let otherwise = match rows::of(&points, &inside) {
            Some(row) => self.rows(&points, &row),
            None => {
                let narrow = match rows::one(&inside) {
                    Some(sum) => self.columns(&points, &sum),
                    None => vec![self.points(&points, &inside)],
                };
                match wide::of(&points, &inside) {
                    Some(kind) => self.wide(kind, &points, &inside, narrow),
                    None => narrow,
                }
            }
        };
        let mapped = match tiles::of(&points, &inside) {
            Some(product) => self.product(&points, &product, otherwise),
            None => otherwise,
        };
        points.around(mapped)
    }
}

/// Whether a statement asks for memory each time.
fn is_large_workspace(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Workspace(inner) if inner.size.as_const().is_none())
}

/// Statements for one lane: loops over lanes are its loops, ranges in parts are whole.
fn in_order(mut body: Vec<Stmt>) -> Vec<Stmt> {
    for stmt in &mut body {
        stmt.bodies_mut().into_iter().for_each(|body| *body = in_order(std::mem::take(body)));
        match stmt {
            Stmt::For(inner) if inner.mark.is_parallel() => inner.mark = Mark::Sequential,
            Stmt::Partitioned(inner) => {
                let (lower, upper) = inner.ends();
                let body = inner.body.iter();
                let body = body
                    .map(|stmt| stmt.substitute(inner.begin, &lower).substitute(inner.end, &upper));
                *stmt = Stmt::when(lower.clone().less(upper.clone()), body.collect());
            }
            _ => {}
        }
    }
    body
}
