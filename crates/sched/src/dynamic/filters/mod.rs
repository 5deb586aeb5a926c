//! Convolutions of dense tensors with sparse filters: the non-zeros of the filter are the terms of sums whose elements,
//! the pixels, are neighbours in memory.
//!
//! A pixel of the result needs, for each non-zero of the filter, the element of the picture at the pixel's place plus
//! an offset that is the same for all pixels, if the picture's rows have the same distance for both. So the picture is
//! copied once, with zeros around it, its channels (and, if pixels are strided, each class of rows and columns modulo
//! the stride) outermost; the pixels of all rows are one loop, in which those that rows of the copy have beyond the
//! result's are computed and not used; and what the filter stores is a sum for each of its rows.
//!
//! Before -> after, of `O(m, p, q) := I(c, p + r - 1, q + s - 1) * F(m, c, r, s)`, where `F` is read from a copy in
//! rows, each in `K` chunks of 16 channels, with lists of entries:
//! ```text
//! with O.image of C * (M + 2) * (N + 2) + .. zero {
//!   parallel c, h, w { O.image[.. c + (N + 2) * (h + 1) + w + 1] = I[..] }
//!   with O.pixels of Q * L {
//!     parallel m = 0 to Q { parallel x = 0 to L {
//!       O.pixels[L * m + x] = sum(n = F.pos2[K * m] to F.pos2[K * m + K]) F[n] * O.image[.. F.crd2[n] + .. + x]
//!     } }
//!     parallel m, p, q { O[..] = O.pixels[L * m + (N + 2) * p + q] }
//!   }
//! }
//! ```
//! The rows of the filter, the terms and the pixels are those that the subscripts make them: iterators of the filter
//! and the head; of the filter alone; and of the head and the picture alone. Any number of each, strides, dilation and
//! orders of dimensions make no difference. A subscript of the filter that is several iterators in one, `9 * c + 3 * r
//! + s`, is taken apart by its coefficients.
//!
//! Where pixels are neighbours in the result as they are in the copy, as those of filters of one pixel, sums go to the
//! result at once, and where a channel of the picture is a whole number of lines, such filters read the picture itself.
//! Which blocks of pixels are computed for which filters, and for how many chunks at a time, is left to
//! the passes of a target (`share-columns`).
//!
//! A zero around the picture stands for an element that does not exist. Where a weight is infinite or not a number, its
//! product with that zero is not a number.

mod emit;
mod shape;

use dastac_loops::{Function, Module};
use dastac_stur::infer::InferredRule;

use super::operands::Stored;
use super::walked::{Dynamic, Walked};
use crate::SchedError;

impl Dynamic<'_> {
    /// Fills a function with the statements of a rule that applies a sparse filter to a dense picture; they set all of
    /// its head. Nothing where the rule is something else.
    pub(super) fn filtered(
        &self,
        module: &mut Module,
        stored: &mut Vec<Stored>,
        (rule, walked): (&InferredRule, &mut Walked),
        function: &mut Function,
    ) -> Result<bool, SchedError> {
        let Some(shape) = self.shape(module, rule, walked)? else { return Ok(false) };
        let format = shape.format.clone();
        let filter = self.stored_as(module, stored, rule, walked, (0, format));
        function.body = self.apply(module, function, rule, (&shape, &filter))?;
        walked.kernel.operands[0] = filter;
        Ok(true)
    }
}
