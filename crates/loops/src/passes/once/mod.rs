//! Each stored element once: a tensor with redundancy is read once, and each of its elements used in all of its roles.
//!
//! An element above the diagonal of a symmetric matrix stands for itself and for its mirror image. So a product with a
//! vector is two statements, which read the same elements, one of them in columns. Both add to the result, and
//! additions may be reordered: one visit of the stored elements does both. SySTeC does this for symmetric tensors;
//! here the roles are what statements have left after their iterators are renamed so that they load the same elements
//! ([`roles`]), whatever redundancy map they come from.
//!
//! Before -> after:
//! ```text
//! parallel i = 0 to N { y[i] += sum(k = 0 to i + 1) S[N * i + k] * x[k] }
//! parallel i = 0 to N { y[i] += sum(k = i + 1 to N) S[N * k + i] * x[k] }
//! ```
//! becomes, in 16 parts with results of their own,
//! ```text
//! for i = part to N step 16 {
//!   sums[0] = 0.0
//!   for k = 0 to i { sums[0] += S[N * i + k] * x[k]  y.parts[k] += x[i] * S[N * i + k] }
//!   y.parts[i] += sums[0]
//!   y.parts[i] += S[N * i + i] * x[i]
//! }
//! ```
//! with eight rows at once.
//!
//! Only rules that memory bounds gain by this: a statement is taken if all of its loops are those of the stored
//! elements, so that no other loop uses an element again. What several tiles use again is a matter of [`super::tile`].
//! Sums over a whole tensor with several indices are visited alike, although their elements have one role: rows at once
//! give them several partial sums, and parts give them threads.

mod parts;
mod roles;
mod rows;
#[cfg(test)]
mod tests;
mod visit;

use super::pass::{Context, Example, Pass};

/// The pass.
pub(super) const PASSES: &[Pass] = &[Pass {
    name: "read-once",
    about: "read elements that stand for several of a tensor once, for all of their roles",
    example: Example {
        before: "parallel i = 0 to N { y[i] += sum(k = 0 to i + 1) S[N * i + k] * x[k] } \
                 parallel i = 0 to N { y[i] += sum(k = i + 1 to N) S[N * k + i] * x[k] }",
        after: "partial .. { for i = part to N step 16 { .. for k = 0 to i { sums[0] += S[N * i + k] * x[k] \
                y.parts[k] += x[i] * S[N * i + k] } y.parts[i] += sums[0] .. } } then { .. }",
    },
    run: |module, context: &Context<'_>| parts::run(module, context.machine),
}];
