//! Kernels as loops over levels.
//!
//! Loop by loop in the iteration graph's order. At an iterator, each product has the cursors of its tensors' sparse
//! levels there; a product is computed where all of these are, so the points of the merge lattice are the unions of the
//! products' cursors, and at each the products whose cursors are among them go on inside (sparse convolutions, section
//! 5.1). Dense levels are located: position `p * n + i`.
//!
//! A subscript of several iterators is *reduced* by the loops of all but the last of them: each visits the coordinates
//! where what the others can reach of the level, a window on it, is not empty (section 3.1). The last one *resolves*
//! it. Positions within a window are walked from its first position on, so that no level is searched (section 5.2). A
//! level whose subscript is known when its turn comes is searched for its coordinate.
//!
//! Products that do not have an iterator are computed outside of its loop. Conditions of products are bounds of the
//! last of their iterators' loops.
//!
//! Before -> after, `y(i) += A(i, j) * x(j)`, `A` in rows (`csr`):
//! `parallel i = 0 to N { for p = A.pos1[i] to A.pos1[i + 1] { y[i] += A[p] * x[A.crd1[p]] } }`; sums are made of
//! reductions as everywhere.

use std::collections::BTreeMap;

use dastac_loops::linear::Facts;
use dastac_loops::{For, Function, Index, Mode, Module, Stmt};

use super::builder::Builder;
use super::graph;
use super::join_segments::join_segments;
use super::kernel::{IterateError, Kernel};
use super::result_mode::ResultMode;
use super::space::on_levels;
use super::state::State;
use super::store::{cleared, set_once};
use super::walks::Walks;

/// Adds the function `name`, which sets the result, to a module. It takes the result, then the operands' buffers, each
/// once, in order.
///
/// # Errors
/// Orders of levels that contradict each other; levels that cannot be walked in order; lattices of too many points.
pub fn compile(module: &mut Module, name: &str, kernel: &Kernel) -> Result<(), IterateError> {
    let mut args = vec![(kernel.result, Mode::Out)];
    for buffer in kernel.inputs() {
        if !args.iter().any(|(known, _)| *known == buffer) {
            args.push((buffer, Mode::In));
        }
    }
    let mut function = Function::new(name, args);
    if !fill(&mut function, module, kernel, true)?.whole {
        let clear = cleared(&mut function, kernel);
        function.body.insert(0, clear);
    }
    module.functions.push(function);
    Ok(())
}

/// What the statements of a kernel do.
#[derive(Clone, Debug)]
pub struct Filled {
    /// They set all of the result; else they add to it, and it has to be zero before.
    pub whole: bool,
    /// What their loops go over.
    pub walks: Walks,
}

/// Fills a function that has no statements yet with those of a kernel; the module gets its workspaces. They set all of
/// the result if they `may` and can.
///
/// # Errors
/// As [`compile`].
pub fn fill(
    function: &mut Function,
    module: &mut Module,
    kernel: &Kernel,
    may: bool,
) -> Result<Filled, IterateError> {
    let kernel = &on_levels(kernel)?;
    let mut part = Function::new(function.name.clone(), Vec::new());
    part.vars = std::mem::take(&mut function.vars);
    let (body, mut walks) = statements(&mut part, module, kernel, &mut ResultMode::AtPlaces)?;
    (function.vars, function.body) = (part.vars, body);
    // Loops over whole extents, not over positions.
    let whole = |inner: &&For| {
        let ends = |iterator: &usize| inner.upper == [kernel.iterators[*iterator].1.clone()];
        inner.lower == [Index::Const(0)] && kernel.head.iter().any(ends)
    };
    let all = |loops: &[&For]| loops.len() == kernel.head.len() && loops.iter().all(whole);
    let whole = may && set_once(&mut function.body, kernel, &all);
    join_segments(&mut function.body, kernel, &mut walks);
    Ok(Filled { whole, walks })
}

/// What keeps a kernel from being compiled; nothing is added to the module.
pub fn obstacle(module: &Module, kernel: &Kernel) -> Option<IterateError> {
    let kernel = match on_levels(kernel) {
        Ok(kernel) => kernel,
        Err(error) => return Some(error),
    };
    let (mut scratch, mut function) = (module.clone(), Function::new("", Vec::new()));
    statements(&mut function, &mut scratch, &kernel, &mut ResultMode::AtPlaces).err()
}

/// The statements of a kernel, as they are before all passes, and what their loops go over; the module gets their
/// workspaces.
pub(super) fn statements(
    function: &mut Function,
    module: &mut Module,
    kernel: &Kernel,
    goal: &mut ResultMode,
) -> Result<(Vec<Stmt>, Walks), IterateError> {
    let order = graph::order_on_levels(kernel)?;
    let conditions = kernel.products.iter().map(|product| kernel.conditions(product)).collect();
    let (values, facts) = (BTreeMap::new(), Facts::default());
    let part = std::mem::replace(function, Function::new("", Vec::new()));
    let wanted = std::mem::take(goal);
    let mut builder = Builder {
        kernel,
        order,
        conditions,
        module,
        function: part,
        values,
        facts,
        goal: wanted,
        walks: Walks::new(),
        sequential: 0,
        parallel: 0,
    };
    let states = (0..kernel.products.len()).map(|product| State::new(kernel, product));
    let body = builder.loops(0, states.collect());
    let body = body.map(|body| builder.goal.gathered(0, body, &mut builder.function));
    (*function, *goal) = (builder.function, builder.goal);
    Ok((body?, builder.walks))
}
