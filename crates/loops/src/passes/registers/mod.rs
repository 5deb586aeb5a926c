//! Makes register code of stores: what is computed once, which iterations are computed side by side, what is in lanes.
//!
//! A store inside of unrolled loops is executed for all of their [`Instance`]s. What does not vary between instances is
//! computed once, and a sum is one loop with an accumulator for each instance: with `i` and `j` unrolled,
//! `A[..] = sum(k) B[i, k] * C[j, k]` loads `|i| + |j|` elements for `|i| * |j|` products.
//!
//! Additions are neither regrouped nor fused with products later, but here, so that a result does not depend on the
//! code around it: one thread and several, with tiles of the same shape, give the same bits.
//!
//! Before -> after: `unroll i = 0 to 2 { A[i] = B[i] * C[0] }` ->
//! `$0 = load B[0]  $1 = load C[0]  $2 = mul $0, $1  $3 = load B[1]  $4 = mul $3, $1  write A[0] = $2  write A[1] =
//! $4`.
//!
//! This is one pass of several steps, because the steps share what the IR cannot say: which instances of an unrolled
//! loop are computed side by side, which of them have computed a value already, which variable is in lanes under which
//! mask, and by which name a variable goes in a copy of a loop's body. How factors are ordered, for example, depends on
//! how many instances have the range of the sum that they stand in, and that is known only where the sum is computed.
//! The results of a step are registers, which nothing but the next operation can use.
//!
//! - `statements`: unrolled loops as instances; statements around stores.
//! - `stores`: scalar stores, and which stores are of vectors. `vectors`: stores of vectors, past the caches where that
//!   is worth it.
//! - `block_rows`, another pass: which rows of stored elements are computed in which way.
//! - `fetch_rows`, another pass: what rows that are read soon begin with.
//! - `values`: expressions. `elementwise`: functions and the like. `associate`: the order of factors.
//! - `transposed`: columns that become rows.
//! - `adding`: loops that add to several elements at once.
//! - `sums`: how a sum is computed. `side_by_side`: with elements in lanes. `lanes`: with terms in lanes. `gathered`:
//!   with stored terms in lanes. `packed`: with stored terms that are put into lanes one by one. `reduce`: partial
//!   sums and lanes become one number.

mod adding;
mod associate;
mod block_rows;
mod code;
mod elementwise;
mod fetch_rows;
mod gathered;
mod lanes;
mod packed;
mod pairs;
mod reduce;
mod side_by_side;
mod statements;
mod stores;
mod sums;
#[cfg(test)]
mod tests;
mod transposed;
mod values;
mod vectors;

use std::collections::BTreeMap;

use super::pass::{Context, Example, Pass};
use super::pipeline::Sequence;
use crate::ir::*;
use crate::machine::Machine;
use crate::unroll::Instance;

/// Why there is no register code for a statement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum RegistersError {
    /// An unrolled loop without a constant number of iterations.
    #[error("an unrolled loop's length is not known")]
    Unrolled,
    /// A buffer that the module does not have.
    #[error("buffer {} does not exist", .0.0)]
    Buffer(BufferId),
    /// A quotient or fraction as an integer.
    #[error("an integer buffer stores a number")]
    Float,
    /// Subscripts that are not computed in lanes.
    #[error("places are not computed in lanes")]
    Places,
    /// A range without bounds.
    #[error("a loop has no bounds")]
    NoBounds,
}

type Lowered<T> = Result<T, RegistersError>;

/// The passes.
pub(super) const PASSES: &[Pass] = &[
    Pass {
        name: "block-rows",
        about: "tell blocks of rows of stored elements whose ends are predicted from others",
        example: Example {
            before: "for i = 0 to M { y[i] = sum(p = pos[i] to pos[i + 1]) v[p] * x[crd[p]] }",
            after: "for h = 0 to (M + 15) / 16 { if (many elements, in short rows of several lengths) { \
                for i = 16 * h to min(16 * h + 16, M) { \
                y[i] = sum(p = pos[i] to pos[i + 1] hint(irregular)) v[p] * x[crd[p]] } } else { .. } }",
        },
        run: block_rows::run,
    },
    Pass {
        name: "registers",
        about: "compute stores in registers and lanes, one operation a statement",
        example: Example {
            before: "A[i] += B[i]",
            after: "$0 : f64 = load B[i] $1 : f64 = load A[i] $2 : f64 = add $1, $0 write A[i] = $2",
        },
        run,
    },
    Pass {
        name: "scalar-registers",
        about: "compute stores in registers without lanes, so that each access can be checked",
        example: Example {
            before: "A[i] = sum(k = 0 to N) B[k]",
            after: "$0 : f64 = constant 0.0 carry k = 0 to N with $1 : f64 = $0 { .. } next $3 gives $4 ..",
        },
        run: run_scalar,
    },
    Pass {
        name: "fetch-rows",
        about: "fetch rows ahead that the coordinates of other rows name",
        example: Example {
            before: "buffer pos : i64[N + 1] buffer crd : i64[M] .. for p = 0 to M { for q = pos[crd[p]] to \
                pos[crd[p] + 1] { A[q] = B[q] } }",
            after: "for p = 0 to M { prefetch B[pos[crd[min(p + 8, M - 1)]]] \
                for q = pos[crd[p]] to pos[crd[p] + 1] { A[q] = B[q] } }",
        },
        run: |module, context| fetch_rows::run(module, context.machine),
    },
];

/// What each processor executes, one operation after the other.
pub const REGISTERS: Sequence =
    Sequence { name: "registers", passes: &["block-rows", "registers", "fetch-rows"] };

/// The same for code that checks its accesses.
pub const CHECKED_REGISTERS: Sequence =
    Sequence { name: "checked-registers", passes: &["scalar-registers"] };

/// Makes register code of all functions. One that violates the invariants stays as it is, for the verifier to report.
fn run(module: &mut Module, context: &Context<'_>) {
    lower_all(module, context.machine);
}

/// As [`run`], as for a machine without vectors.
fn run_scalar(module: &mut Module, context: &Context<'_>) {
    lower_all(module, &Machine { vector_bytes: 0, ..context.machine.clone() });
}

fn lower_all(module: &mut Module, machine: &Machine) {
    let mut functions = std::mem::take(&mut module.functions);
    for function in &mut functions {
        let body = std::mem::take(&mut function.body);
        function.body = lower(&body, function, module, machine).unwrap_or(body);
        for var in 0..function.vars.len() as u32 {
            function.hints.update(VarId(var), |hint| hint.irregular = false);
        }
        fence(&mut function.body);
    }
    module.functions = functions;
}

/// A function that writes past the caches ends with a fence: whoever waits for it to end then sees what it wrote.
fn fence(body: &mut Vec<Stmt>) {
    let mut streams = false;
    body.iter().for_each(|stmt| {
        stmt.visit(&mut |stmt| {
            streams |= matches!(
                stmt,
                Stmt::Register(RegisterStmt::Write(Write { streamed: Some(_), .. }))
            );
        });
    });
    if streams {
        body.push(Stmt::Register(RegisterStmt::Fence));
    }
}

/// The register code of statements of a function, which gets the variables and registers that are needed.
fn lower(
    stmts: &[Stmt],
    function: &mut Function,
    module: &Module,
    machine: &Machine,
) -> Lowered<Vec<Stmt>> {
    let mut lowering = Lowering {
        module,
        machine,
        function,
        instances: vec![Instance::new()],
        lanes: None,
        renamed: BTreeMap::new(),
        code: Vec::new(),
    };
    lowering.stmts(stmts)?;
    Ok(lowering.code)
}

/// The variable whose values are in lanes, at the current place.
#[derive(Clone)]
struct Lanes {
    var: VarId,
    count: usize,
    /// Which lanes there are; all if not given.
    mask: Option<RegId>,
    /// How elements that are no neighbours are loaded.
    others: Others,
}

impl Lanes {
    /// All lanes.
    fn of(var: VarId, count: usize, others: Others) -> Self {
        Lanes { var, count, mask: None, others }
    }
}

/// How elements are loaded into lanes that are no neighbours.
#[derive(Clone)]
enum Others {
    /// At once, where the machine can.
    Gathered,
    /// One by one.
    Packed,
    /// As neighbours for the values of another variable, for all lanes of a block. Each block has as many instances as
    /// there are lanes, in order.
    Transposed(VarId, Vec<Vec<Instance>>),
}

struct Lowering<'a> {
    module: &'a Module,
    machine: &'a Machine,
    /// Where variables and registers come from; its body is not looked at.
    function: &'a mut Function,
    /// The iterations of the unrolled loops around the current place that it is executed for, side by side.
    instances: Vec<Instance>,
    lanes: Option<Lanes>,
    /// Variables of loops that stand for other ones at the current place.
    renamed: BTreeMap<VarId, VarId>,
    /// The code of the current block.
    code: Vec<Stmt>,
}
