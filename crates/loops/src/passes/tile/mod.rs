//! Tiles: nests of independent loops around a sum, for registers, caches and threads.
//!
//! The elements that a nest computes may be computed in any order, so its loops may be exchanged and cut into blocks.
//! What is worth it follows from the accesses alone: a load that does not vary with a loop is shared by that loop's
//! iterations, if they run side by side.
//!
//! Before -> after, with tiles of 4 x 3:
//! ```text
//! parallel i = 0 to N { parallel j = i to N { A[..] = sum(x = 0 to M) B[M * i + x] * B[M * j + x] } }
//! ```
//! becomes, for every block of `x`,
//! ```text
//! parallel i' = 0 to N - 3 step 4 {
//!   unroll i = i' to i' + 4 { unroll j = i to i' + 3 { .. } }                        the rim of the triangle
//!   parallel j' = i' + 3 to N - 2 step 3 {
//!     unroll i = i' to i' + 4 { unroll j = j' to j' + 3 { A[..] += sum(x) .. } }     rectangles
//!   }
//!   parallel j = .. { unroll i = i' to i' + 4 { .. } }                               columns that are left
//! }
//! parallel i = .. { .. }                                                             rows that are left
//! ```
//!
//! Each step is a pass of its own ([`PASSES`], in the order of [`TILE`]). What one pass decides for others, it leaves
//! as hints of loops ([`crate::hints`]): `choose-tiles` says which loops are cut into tiles and by how much, `tile`
//! cuts them.
//!
//! Invariant: a store is executed once for each element as before, with the same terms; only the order of additions
//! differs. Elements of a sum that is cut are set by its first block.

mod accesses;
mod block_sums;
mod block_updates;
mod choose_tiles;
mod cut_choices;
mod cut_multiples;
mod few;
mod follow_diagonals;
mod fuse_reductions;
mod fuse_statements;
mod fusion_gain;
mod guarded;
mod interchange;
mod lift_workspaces;
mod limit_code;
mod name_loops;
mod nest;
mod pack_panels;
mod partition_nests;
mod peel_borders;
mod pieces;
mod prefetch;
mod ragged;
mod read_panels;
mod register_tiles;
mod replace_scalars;
mod rims;
mod schedule_threads;
pub(super) mod selections;
mod share_columns;
mod skew;
mod split_index_sets;
mod split_reductions;
mod split_sums;
mod stream_stores;
mod strides;
mod strip_mine;
#[cfg(test)]
mod tests;
mod transpose_blocks;
pub(super) mod undecided;
mod unroll_loops;
mod unroll_sums;
mod vectorize_streams;
mod walk;
mod wishes;
pub(super) mod work;

use super::pass::{Example, Pass};
use super::pipeline::Sequence;

/// What a CPU wants of plain loops.
pub const TILE: Sequence = Sequence {
    name: "tile",
    passes: &[
        "count-windows",
        "cut-choices",
        "cut-multiples",
        "block-updates",
        "contract",
        "merge-stores",
        "share-columns",
        "read-once",
        "follow-diagonals",
        "pack-operands",
        "peel-borders",
        "fuse-statements",
        "strides",
        "strip-mine",
        "split-index-sets",
        "limit-code",
        "unroll-sums",
        "name-loops",
        "choose-tiles",
        "split-reductions",
        "fuse-reductions",
        "vectorize-streams",
        "transpose-blocks",
        "partition-nests",
        "stream-stores",
        "block-sums",
        "pack-panels",
        "tile",
        "split-sums",
        "read-panels",
        "prefetch",
        "unroll-loops",
        "schedule-threads",
        "lift-workspaces",
        "replace-scalars",
        "drop-hints",
    ],
};

/// The passes about tiles.
pub(super) const PASSES: &[Pass] = &[
    Pass {
        name: "cut-choices",
        about: "give the sides of a choice loops of their own",
        example: Example {
            before: "parallel i = 0 to N { if i >= 1 { A[i] = 1.0 } else { A[i] = 2.0 } }",
            after: "parallel i = max(0, 1) to N { A[i] = 1.0 } parallel i = 0 to min(N, 1) { A[i] = 2.0 }",
        },
        run: cut_choices::run,
    },
    Pass {
        name: "cut-multiples",
        about: "cut loops where a quotient by a size changes: it is one number in each part",
        example: Example {
            before: "for j = 0 to M { y[j] += x[j - N * floor(j, N)] }",
            after: "if N >= 1 { for q = floor(0, N) to floor(M - 1, N) + 1 { \
                for j = max(0, N * q) to min(M, N * q + N) { y[j] += x[j - N * q] } } }",
        },
        run: cut_multiples::run,
    },
    Pass {
        name: "peel-borders",
        about: "cut nests where their windows reach beyond an operand's ends",
        example: Example {
            before: "parallel p = 0 to N { o[p] = sum(r = max(0, 2 - p) to min(5, N + 2 - p)) x[p + r - 2] * f[r] }",
            after: "parallel p = 0 to min(N, 2) { .. } parallel p = max(0, 2) to min(N, N - 2) { \
                o[p] = sum(r = 0 to 5) x[p + r - 2] * f[r] } parallel p = max(0, 2, N - 2) to N { .. }",
        },
        run: peel_borders::run,
    },
    Pass {
        name: "share-columns",
        about: "compute blocks of columns for many sparse rows, a few chunks of them at a time",
        example: Example {
            before: "parallel i { parallel x hint(chunk 16) { C[..] = sum(n = pos[K * i] to pos[K * i + K]) v } }",
            after: "parallel p { with W of 8192 { W[..] = 0.0 for c { for i { for x { W[..] += sum(n = ..) v } } } \
                    C[..] = W[..] } }",
        },
        run: share_columns::run,
    },
    Pass {
        name: "follow-diagonals",
        about: "make loops over diagonals of those over rows and columns, where tensors are stored by diagonals",
        example: Example {
            before: "parallel i = 0 to N { parallel j = i to min(N, i + 9) { \
                     C[p(j - i) + i] = sum(k = i to j + 1) A[p(k - i) + i] * B[p(j - k) + k] } }",
            after: "parallel jd = 0 to 9 { parallel i = 0 to N - jd { \
                    C[p(jd) + i] = sum(kd = 0 to jd + 1) A[p(kd) + i] * B[p(jd - kd) + kd + i] } }",
        },
        run: follow_diagonals::run,
    },
    Pass {
        name: "block-updates",
        about: "compute blocks of elements to the end, where a loop adds to all of them again and again",
        example: Example {
            before: "for p = 0 to M { parallel i = max(0, p - 4) to N { y[i] += v[N * p + i] } }",
            after: "parallel ib = 0 to N step 1024 { for p = 0 to M { \
                    parallel i = max(0, p - 4, ib) to min(N, ib + 1024) { y[i] += v[N * p + i] } } }",
        },
        run: block_updates::run,
    },
    Pass {
        name: "fuse-statements",
        about: "make one statement of those that store the same elements",
        example: Example {
            before: "parallel i = 0 to N { C[i] = v } parallel i = 1 to N { C[i] += w }",
            after: "parallel i = 0 to N { C[i] = v + w }",
        },
        run: fuse_statements::run,
    },
    Pass {
        name: "strides",
        about: "count loops and sums with steps in steps, rows of each remainder apart where sums depend on it",
        example: Example {
            before: "parallel i = 0 to N step 2 { A[i / 2] = sum(j = 0 to M) B[M * i + j] }",
            after: "parallel is = 0 to (N + 1) / 2 { A[is] = sum(j = 0 to M) B[M * (2 * is) + j] }",
        },
        run: strides::run,
    },
    Pass {
        name: "strip-mine",
        about: "cut loops into the quotients and remainders that their sums and indices divide them into",
        example: Example {
            before: "parallel i = 0 to N { A[i] = sum(j = i - i % 4 to N) B[N * (i / 4) + j] }",
            after: "parallel ih = 0 to (N + 3) / 4 { parallel il = 0 to min(4, N - 4 * ih) { \
                    A[4 * ih + il] = sum(j = 4 * ih to N) B[N * ih + j] } }",
        },
        run: strip_mine::run,
    },
    Pass {
        name: "split-index-sets",
        about: "cut nests where the selections in their sums change",
        example: Example {
            before: "parallel i = 0 to N { A[i] = sum(j = 0 to i) B[select(i >= M, p, q)] }",
            after: "parallel i = 0 to min(N, M) { A[i] = sum(j = 0 to i) B[q] } \
                    parallel i = max(0, M) to N { A[i] = sum(j = 0 to i) B[p] }",
        },
        run: split_index_sets::run,
    },
    Pass {
        name: "limit-code",
        about: "note functions of many statements, whose code is to stay small",
        example: Example { before: "func f(..) { .. }", after: "func f(..) hint(compact) { .. }" },
        run: limit_code::run,
    },
    Pass {
        name: "unroll-sums",
        about: "give sums the factors that a schedule wants",
        example: Example {
            before: "A[i] = sum(x = 0 to M hint(unroll 4)) B[x]",
            after: "A[i] = sum(x = 0 to M unroll 4) B[x]",
        },
        run: unroll_sums::run,
    },
    Pass {
        name: "name-loops",
        about: "give each loop a variable of its own",
        example: Example {
            before: "parallel i = 0 to M { A[i] = 0.0 } parallel i = M to N { A[i] = 1.0 }",
            after: "the same, where the two loops can have different hints",
        },
        run: name_loops::run,
    },
    Pass {
        name: "choose-tiles",
        about: "choose the loops that are cut into tiles and by how much, and bring them innermost",
        example: Example {
            before: "parallel i = 0 to N { A[i] = sum(k = 0 to M) B[M * i + k] * C[k] }",
            after: "parallel i = 0 to N hint(nest, tile 4) { A[i] = sum(k = 0 to M) .. }",
        },
        run: choose_tiles::run,
    },
    Pass {
        name: "split-reductions",
        about: "cut long sums for few elements into parts with results of their own",
        example: Example {
            before: "A[0] = sum(x = 0 to M) B[x]",
            after: "partial b, e = 0 to M step 1024 in 16 if M >= 32768 with A as W at s from 0 of 1 \
                    { W[s] = sum(x = b to e) B[x] } then { A[0] = sum(p = 0 to 16) W[p] }",
        },
        run: split_reductions::run,
    },
    Pass {
        name: "fuse-reductions",
        about: "make one pass over what a partial sum and a loop after it both read",
        example: Example {
            before: "partial b, e = 0 to N .. { y[0] = sum(j = b to e) B[j] * x[j] } \
                     parallel i = 1 to N + 1 { y[i] = D[i] * x[i - 1] }",
            after: "partial b, e = 0 to N .. { for t = b to e step 1024 { y[0] += sum(j = t to t + 1024) B[j] * x[j] \
                    parallel i = t + 1 to t + 1025 { y[i] = D[i] * x[i - 1] } } }",
        },
        run: fuse_reductions::run,
    },
    Pass {
        name: "vectorize-streams",
        about: "choose vectors for nests without sums that may write more than a cache holds",
        example: Example {
            before: "parallel i = 0 to N { y[i] = a[i] * x[i] }",
            after: "parallel i = 0 to N hint(nest, tile 32, lanes 8) { y[i] = a[i] * x[i] }",
        },
        run: vectorize_streams::run,
    },
    Pass {
        name: "transpose-blocks",
        about: "cut nests that read columns where they store rows into blocks that are transposed in registers",
        example: Example {
            before: "parallel i = 0 to N { parallel j = 0 to N { B[N * i + j] = A[N * j + i] } }",
            after: "parallel i = 0 to N hint(nest, tile 8) { parallel j = 0 to N hint(tile 8, lanes 8) { .. } }",
        },
        run: transpose_blocks::run,
    },
    Pass {
        name: "partition-nests",
        about: "cut nests into parts of equal work for threads",
        example: Example {
            before: "parallel i = 0 to N hint(nest) { s }",
            after: "partition ib, ie = 0 to N by ie { parallel i = ib to ie hint(nest) { s } }",
        },
        run: partition_nests::run,
    },
    Pass {
        name: "stream-stores",
        about: "have vectors go to memory past the caches where there are many",
        example: Example {
            before: "y[i] = a[i] * x[i]",
            after: "y[i] = a[i] * x[i] stream if N >= 131072",
        },
        run: stream_stores::run,
    },
    Pass {
        name: "block-sums",
        about: "cut sums into blocks, and columns into panels, that stay in caches",
        example: Example {
            before: "A[..] = sum(x = 0 to M) v",
            after: "for b = 0 to M step 256 { if b <= 0 { A[..] = 0.0 } A[..] += sum(x = b to min(b + 256, M)) v }",
        },
        run: block_sums::run,
    },
    Pass {
        name: "pack-panels",
        about: "copy panels of an operand whose elements are far apart",
        example: Example {
            before: "for kp = 0 to P step 256 hint(blocks 256) { s }",
            after: "for kp = 0 to P step 256 { for c = 0 or 1 { with W of .. or C if c <= 0 { \
                    if 1 <= c { copy } s } } }",
        },
        run: pack_panels::run,
    },
    Pass {
        name: "tile",
        about: "cut loops into full tiles, rims and rests",
        example: Example {
            before: "parallel i = 0 to N hint(tile 4) { A[i] = sum(k = 0 to M) B[M * i + k] }",
            after: "parallel it = 0 to N - 3 step 4 { unroll i = it to it + 4 { A[i] = .. } } \
                    parallel i = max(0, 4 * (N / 4)) to N { A[i] = .. }",
        },
        run: register_tiles::run,
    },
    Pass {
        name: "split-sums",
        about: "cut sums whose ranges vary within a tile, so that a part is common to all of it",
        example: Example {
            before: "unroll i = t to t + 4 { A[i] = sum(j = i to N) v }",
            after: "unroll i = t to t + 4 { A[i] = sum(j = i to t + 3) v + sum(j = t + 3 to N) v }",
        },
        run: split_sums::run,
    },
    Pass {
        name: "read-panels",
        about: "have full tiles read the copies of panels",
        example: Example {
            before: "with W of 32768 or C if c <= 0 { .. sum(l = b to b + 128) B[l] * C[P * l + k] }",
            after: "with W of 32768 or C if c <= 0 { .. sum(l = b to b + 128) B[l] * W[..] }",
        },
        run: read_panels::run,
    },
    Pass {
        name: "prefetch",
        about: "fetch what the next tiles and blocks will need",
        example: Example {
            before: "sum(x = b to b + 512) B[M * i + x] * v",
            after: "sum(x = b to b + 512 fetch B[M * (it + jt / 4 % 6) + x + 512]) B[M * i + x] * v",
        },
        run: prefetch::run,
    },
    Pass {
        name: "unroll-loops",
        about: "cut loops outside of tiles into pieces as a schedule wants",
        example: Example {
            before: "for i = 0 to N hint(unroll 2) { s(i) }",
            after: "for it = 0 to N - 1 step 2 { s(it) s(it + 1) } for i = 2 * (N / 2) to N { s(i) }",
        },
        run: unroll_loops::run,
    },
    Pass {
        name: "schedule-threads",
        about: "make loops around the one that threads are to share sequential",
        example: Example {
            before: "parallel i = 0 to N { parallel j = 0 to M hint(threads) { s } }",
            after: "for i = 0 to N { parallel j = 0 to M { s } }",
        },
        run: schedule_threads::run,
    },
    Pass {
        name: "lift-workspaces",
        about: "move workspaces out of loops that do not decide about them",
        example: Example {
            before: "for i = 0 to N { with W of M { s } }",
            after: "with W of M { for i = 0 to N { s } }",
        },
        run: lift_workspaces::run,
    },
    Pass {
        name: "replace-scalars",
        about: "keep what a loop over stored elements joins to one element in a register",
        example: Example {
            before: "while p = a if p < b { y[i] += v[p] } then p + 1",
            after: "with held of 1 zero { .. while p = a if p < b { held[0] += v[p] .. } then p + 1 .. \
                    y[i] += held[0] }",
        },
        run: replace_scalars::run,
    },
    Pass {
        name: "drop-hints",
        about: "forget what schedules and passes said about loops",
        example: Example {
            before: "parallel i = 0 to N hint(nest, tile 4) { s }",
            after: "parallel i = 0 to N { s }",
        },
        run: name_loops::drop_hints,
    },
];
