//! Sums in parts, each with results of its own, as a workspace, a parallel loop and calls of one function.
//!
//! Before -> after: `partial b, e = 0 to n step s in 16 if c with A as W at h from 0 of m { body } then { finish }` ->
//! ```text
//! if c {
//!   with W of 16 * m {
//!     parallel p = 0 to 16 { call f(edge(p), edge(p + 1), p * m) on W }
//!     finish
//!   }
//! } else { call f(0, n, 0) on A }
//! ```
//! with `edge(p) = min(n, s * (p * ((n + s - 1) / s) / 16))`. Where the body is a partitioned range, that is one part
//! for each part of the terms, and shared out if there is only one.

use super::functions::{each_function, rewrite_all};
use super::outline::Outlined;
use crate::ir::*;
use crate::passes::Context;

pub(crate) fn run(module: &mut Module, _: &Context<'_>) {
    each_function(module, |module, function| {
        let mut body = std::mem::take(&mut function.body);
        rewrite_all(&mut body, &mut |stmt| {
            if let Stmt::Partial(partial) = stmt {
                *stmt = expand(module, function, partial);
            }
        });
        function.body = body;
    });
}

fn expand(module: &mut Module, function: &mut Function, partial: &mut Partial) -> Stmt {
    let whole = partial.body.clone();
    let call = outlined(module, function, partial);
    let part = function.fresh_var("part");
    let (lower, upper) = ends(partial);
    let (parts, step) = (partial.parts, partial.step);
    let units = (upper.clone() - lower.clone() + (step - 1)).floor_div(step);
    let edge = |part: Index| {
        (lower.clone() + (part * units.clone()).floor_div(parts) * step).min(upper.clone())
    };
    let here = Index::Var(part);
    let one = Terms {
        begin: edge(here.clone()),
        end: edge(here.clone() + 1),
        shift: here * partial.extent.clone() - partial.base.clone(),
    };
    let one = For::new(part, 0.into(), parts.into(), vec![one.of(partial, &call)]).parallel();
    let mut body = vec![Stmt::For(one)];
    body.append(&mut partial.finish);
    let with = Stmt::Workspace(Workspace {
        buffer: partial.workspace,
        size: partial.extent.clone() * parts,
        zero: false,
        instead: None,
        body,
    });
    let all = Terms { begin: lower.clone(), end: upper.clone(), shift: 0.into() };
    // A function that takes the results' buffer for other elements cannot take it as the workspace as well.
    let otherwise = match takes(&call, partial.buffer) {
        true => whole.iter().map(|stmt| all.of(partial, stmt)).collect(),
        false => vec![all.of(partial, &call)],
    };
    let otherwise = on_results(otherwise, partial);
    Stmt::If(If { condition: partial.condition.clone(), then: vec![with], otherwise })
}

/// Where the terms begin, and where they end: not before.
fn ends(partial: &Partial) -> (Index, Index) {
    let lower = partial.lower.iter().cloned().reduce(Index::max).unwrap_or(Index::Const(0));
    let upper = partial.upper.iter().cloned().reduce(Index::min).unwrap_or(Index::Const(0));
    (lower.clone(), upper.max(lower))
}

/// Makes a function of the body, or of that of the range which it is, and gives what stands for the body.
fn outlined(module: &mut Module, function: &Function, partial: &mut Partial) -> Stmt {
    let mut vars = vec![partial.begin, partial.end, partial.shift];
    let body = std::mem::take(&mut partial.body);
    match <[Stmt; 1]>::try_from(body) {
        Ok([Stmt::Partitioned(partitioned)]) => {
            vars.extend([partitioned.begin, partitioned.end]);
            let outlined = Outlined { body: partitioned.body, vars: &vars };
            let body = vec![outlined.call(module, function)];
            Stmt::Partitioned(PartitionedRange { body, ..partitioned })
        }
        Ok(body) => Outlined { body: body.to_vec(), vars: &vars }.call(module, function),
        Err(body) => Outlined { body, vars: &vars }.call(module, function),
    }
}

/// A part of the terms.
struct Terms {
    begin: Index,
    end: Index,
    shift: Index,
}

impl Terms {
    /// The body for them.
    fn of(&self, partial: &Partial, body: &Stmt) -> Stmt {
        let body = body.substitute(partial.begin, &self.begin);
        body.substitute(partial.end, &self.end).substitute(partial.shift, &self.shift)
    }
}

/// Whether a call passes a buffer.
fn takes(stmt: &Stmt, buffer: BufferId) -> bool {
    let mut found = false;
    stmt.visit(&mut |stmt| {
        found |= matches!(stmt, Stmt::Call(call) if call.buffers.contains(&buffer));
    });
    found
}

/// The same with the results themselves in the place of the workspace.
fn on_results(mut body: Vec<Stmt>, partial: &Partial) -> Vec<Stmt> {
    let instead = |buffer| if buffer == partial.workspace { partial.buffer } else { buffer };
    rewrite_all(&mut body, &mut |stmt| match stmt {
        Stmt::Call(call) => call.buffers.iter_mut().for_each(|buffer| *buffer = instead(*buffer)),
        Stmt::Store(store) => {
            store.buffer = instead(store.buffer);
            store.value =
                store.value.map_elements(&|buffer, index| (instead(buffer), index.clone()));
        }
        _ => {}
    });
    body
}
