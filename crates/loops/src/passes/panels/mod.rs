//! Contractions over any affine domain, at the rate of dense ones: structure ends where operands are packed.
//!
//! A product whose operands are used again in two directions is computed in blocks, as the BLIS line of libraries does
//! it for dense matrices. The blocks of each operand are copied into *panels*, as the micro-kernel reads them: slices
//! of a few rows, or of a few vectors of columns, with zeros where a block has no elements. Whatever is special about
//! an operand (a packed triangle, a mirrored half and its sign, a band, several factors) is over where it is copied,
//! and one micro-kernel does all the work. Blocks without points are not visited.
//!
//! Before -> after, of a symmetric matrix times a dense one:
//! ```text
//! parallel i = 0 to N { parallel j = 0 to M { C[M * i + j] = sum(k = 0 to i + 1) S[.. i .. + k] * B[M * k + j] } }
//! parallel i = 0 to N { parallel j = 0 to M { C[M * i + j] += sum(k = i + 1 to N) S[.. k .. + i] * B[M * k + j] } }
//! ```
//! becomes
//! ```text
//! partition ib, ie = 0 to N step 8 by .. {
//!   for ic = ib to ie step 1024 {                      rows whose panels fit a cache
//!     for kb = 0 to N step 256 {                       terms of a block
//!       with S.rows of .. { copy or add up both halves of S
//!         for jc = 0 to M step 256 {                   columns whose panels fit the second cache
//!           with B.columns of .. { copy
//!             for it = ic to .. step 8 { for jt = jc to .. step 16 {
//!               unroll r { unroll c { C.tile[16 * r + c] = sum(k = ..) S.rows[..] * B.columns[..] } }
//!               C += C.tile, or C = C.tile for the first block of terms } } } } } } } }
//! ```
//!
//! That is one side of a condition: for sizes with few products, or few terms or elements in a row, the other side has
//! the statements as they were, for tiles.
//!
//! Statements that add to the same elements are computed together. Products with the same columns share the panels of
//! these and add up in those of rows (both halves of a symmetric matrix); others follow each other (`A * B' + B * A'`).
//!
//! Blocks of terms begin at multiples of their size, whatever part of the rows a thread has, so that results do not
//! depend on the number of threads. An element that a block does not have is a zero there: where the other operand is
//! infinite or not a number, elements of the same tile may become NaN.
//!
//! - `statements`: the pass. `contraction`: which statements are taken, what their rows, columns and terms are.
//!   `worth`: for which sizes.
//! - `blocks`: the loops over blocks. `ranges`: which blocks have points. `pack`: panels. `pieces`: indices that
//!   select. `kernel`: tiles.

mod blocks;
mod contraction;
mod kernel;
mod pack;
mod pieces;
mod ranges;
mod statements;
#[cfg(test)]
mod tests;
mod worth;

use super::pass::{Context, Example, Pass};

/// The pass.
pub(super) const PASSES: &[Pass] = &[Pass {
    name: "pack-operands",
    about: "compute products over cut or mirrored operands in blocks, from panels that are packed for them",
    example: Example {
        before: "parallel i = 0 to N { parallel j = 0 to M { \
                 C[M * i + j] = sum(k = 0 to i + 1) L[N * i + k] * B[M * k + j] } }",
        after: "if 262144 <= M * N * N / 2 and .. { partition ib, ie = 0 to N step 8 { \
                for ic = ib to ie step 1024 { for kb = 0 to ie step 256 { with L.rows of 262144 { .. \
                for jc = 0 to M step 256 { with B.columns of 65536 { .. } } } } } } } else { as before }",
    },
    run: |module, context: &Context<'_>| statements::run(module, context.machine),
}];
