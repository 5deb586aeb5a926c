//! Elements of a result, assembled in the order of its levels.
//!
//! What the elements' loops do at a coordinate of a level stands in a [`dastac_loops::Append`] of that level. These are
//! replaced here, by what the functions of each level's kind say ([`dastac_formats::level::LevelAssembly`]): some
//! levels are appended to, others have their coordinates inserted, and full ones need nothing.
//!
//! For each position of the full levels in front there is a workspace of counters: how many positions each appended
//! level has so far, and whether something is at the current coordinate. Before -> after, of
//! `C(i, j) := A(i, k) * B(k, j)` in rows, `B` in columns:
//! ```text
//! parallel i { append level 0 at i { parallel j { append level 1 at j { coiter k { .. { W[0] += v } } } } } }
//! ```
//! counts as
//! ```text
//! parallel i { with at of 2 { at[0] = 0
//!   for j { at[1] = 0  coiter k { .. { at[1] = 1 } }  at[0] += at[1] }
//!   starts[i + 1] = at[0]
//! } }
//! ```
//! and fills as
//! ```text
//! parallel i { with at of 2 { at[0] = starts[i]
//!   for j { at[1] = 0  W[0] = 0.0  coiter k { .. { at[1] = 1  W[0] += v } }
//!     if at[1] > 0 { crd[at[0]] = j  val[at[0]] = W[0]  at[0] += 1 }
//!   }
//! } }
//! ```
//! Where no full level is in front, but one loop over the first level of an operand is around all that is appended, its
//! iterations are counted in place of positions, so that they can run at the same time. Before -> after, with all in
//! `dcsr`: `for p = A.pos0[0] to A.pos0[1] { append level 0 at A.crd0[p] { .. } }` counts as
//! ```text
//! parallel p = A.pos0[0] to A.pos0[1] { with at of 3 { at[0] = 0  at[1] = 0  ..
//!   starts0[p + 1] = at[0]  starts1[p + 1] = at[1]
//! } }
//! ```
//! Where all levels are full or inserted into, such as bitmaps, nothing is counted: `present[p] = 1` where something is
//! found at position `p`.

mod levels;
mod plan;
mod points;

use dastac_loops::{Function, Stmt};

use levels::Assembler;
pub(super) use plan::{Appending, Iterations, Reserved};
pub(super) use points::in_order;

/// The statements that count, and those that fill, given a function whose statements say where they append. Nothing
/// counts where no level is appended to.
pub(super) fn bodies(plan: &Appending, function: &mut Function) -> [Vec<Stmt>; 2] {
    let body = std::mem::take(&mut function.body);
    [false, true].map(|fills| match fills || !plan.starts.is_empty() {
        true => Assembler::new(plan, function, fills).assemble(body.clone()),
        false => Vec::new(),
    })
}
