//! How often the loops of a kernel need to run.
//!
//! A loop over non-empty subsections of `n` coordinates, each `k` wide, comes to at most `min(n, k * nnz)` of them
//! (sparse convolutions, sections 3.2 and 5.2): each of the stored elements is in at most `k`. So with several loops,
//! where `k` is at how many points of the loops so far an element is within reach: of `I(p + r, q + s)` with 3 x 3
//! elements of `r` and `s`, in the order p, r, q, s, it is 3, 3, 9 and 9.
//!
//! Where several tensors are walked together, a loop may have to look at what each of them has. Blocks, the positions
//! of dense levels behind all others, are stored as one.

use dastac_loops::Index;

use super::kernel::{Factor, Kernel, Linear, Operand, Product};
use super::space::on_levels;

/// The numbers that the bounds of a kernel's loops depend on.
#[derive(Clone, Debug)]
pub struct Bounds {
    kernel: Kernel,
    /// Of each iterator.
    extents: Vec<u128>,
    /// Of each operand's dimensions.
    sizes: Vec<Vec<u128>>,
    /// Stored elements of each operand, or blocks of them.
    stored: Vec<u128>,
}

/// How often a loop needs to run, in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// So often where it goes over all of its iterator.
    pub all: u128,
    /// So often, these added up, where it goes over what is stored; nothing where nothing that is stored decides.
    pub stored: Vec<Term>,
}

/// A multiple of an operand's stored elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The operand.
    pub operand: usize,
    /// How often each may be reached.
    pub times: u128,
    /// How many there are.
    pub elements: u128,
}

/// The product of some of a list of sizes.
fn size(which: &[usize], sizes: &[u128]) -> u128 {
    product(which.iter().map(|at| sizes[*at]))
}

fn product(sizes: impl IntoIterator<Item = u128>) -> u128 {
    sizes.into_iter().fold(1, u128::saturating_mul)
}

/// How many levels an operand has up to the last one that is not dense.
fn sparse_levels(operand: &Operand) -> usize {
    let last = operand.format.levels().iter().rposition(|level| !level.is_located());
    last.map_or(0, |last| last + 1)
}

impl Bound {
    /// The smaller one.
    pub fn value(&self) -> u128 {
        let each = self.stored.iter().map(|term| term.times.saturating_mul(term.elements));
        match self.stored.is_empty() {
            true => self.all,
            false => self.all.min(each.fold(0, u128::saturating_add)),
        }
    }
}

impl Bounds {
    /// Bounds for given values of the module's symbols and numbers of stored elements; nothing where an extent is no
    /// number.
    pub fn new(kernel: &Kernel, symbols: &[i64], stored: &dyn Fn(usize) -> u128) -> Option<Bounds> {
        let kernel = on_levels(kernel).ok()?;
        let value = |index: &Index| {
            let value = index.eval_symbols(symbols).ok()?;
            Some(u128::from(value.max(0).unsigned_abs()))
        };
        let extents = kernel.iterators.iter().map(|(_, extent)| value(extent));
        let sizes =
            kernel.operands.iter().map(|operand| operand.extents.iter().map(value).collect());
        let extents: Vec<u128> = extents.collect::<Option<_>>()?;
        let sizes: Vec<Vec<u128>> = sizes.collect::<Option<_>>()?;
        let blocks =
            kernel.operands.iter().zip(&sizes).enumerate().map(|(at, (operand, sizes))| {
                let dense = sizes[sparse_levels(operand)..].iter().copied();
                stored(at) / product(dense).max(1)
            });
        let stored = blocks.collect();
        Some(Bounds { kernel, extents, sizes, stored })
    }

    /// The bound of a loop of the last of some distinct iterators, the others of which are those of the loops around
    /// it, outermost first.
    pub fn of(&self, iterators: &[usize]) -> Bound {
        let Some((last, around)) = iterators.split_last() else {
            return Bound { all: 1, stored: Vec::new() };
        };
        let outside = self.of(around).value();
        let (mut each, mut whole) = (self.extents[*last], false);
        let mut stored: Vec<Term> = Vec::new();
        let mut known: Vec<&Factor> = Vec::new();
        let of_head = self.kernel.head.contains(last);
        let has = |product: &&Product| of_head || product.mentions(*last);
        for product in self.kernel.products.iter().filter(has) {
            let mut walked = self.walked(product, *last).peekable();
            whole |= walked.peek().is_none();
            for factor in walked {
                let same = |other: &&Factor| self.is_same(other, factor);
                if known.iter().any(same) {
                    continue;
                }
                known.push(factor);
                each = each.max(self.entries(factor, *last).unwrap_or(0));
                let inside = outside.saturating_mul(self.times(factor, &[*last]));
                let times = match self.is_repeated(factor, around) {
                    true => inside,
                    false => inside.min(self.times(factor, iterators)),
                };
                let (operand, elements) = (factor.operand, self.stored[factor.operand]);
                stored.push(Term { operand, times, elements });
            }
        }
        // A product that is everywhere has the loop go over all of its iterator.
        let stored = if whole { Vec::new() } else { stored };
        Bound { all: outside.saturating_mul(each), stored }
    }

    /// Whether loops of some iterators go over other factors' lists, so that what is inside comes to a factor several
    /// times at one point.
    fn is_repeated(&self, factor: &Factor, iterators: &[usize]) -> bool {
        let mut others = self.kernel.products.iter().flat_map(|product| &product.factors);
        others.any(|other| {
            let is_list = |at: &usize| self.entries(other, *at).is_some();
            !self.is_same(other, factor) && iterators.iter().any(is_list)
        })
    }

    /// How many positions there can be at a factor's level for an iterator, if it is that of a list of entries, which
    /// repeats coordinates.
    fn entries(&self, factor: &Factor, iterator: usize) -> Option<u128> {
        let operand = &self.kernel.operands[factor.operand];
        let levels = || operand.format.levels().iter().zip(&factor.subscripts);
        let own = |subscript: &Linear| subscript.coefficient(iterator) != 0;
        let first = levels().position(|(level, subscript)| !level.unique && own(subscript))?;
        let more = levels().skip(first).take_while(|(level, _)| !level.unique).count();
        let end = (first + more + 1).min(operand.levels.len());
        Some(product(self.sizes[factor.operand][first..end].iter().copied()))
    }

    /// The factors of a product that have a sparse level for an iterator.
    fn walked<'p>(
        &'p self,
        product: &'p Product,
        iterator: usize,
    ) -> impl Iterator<Item = &'p Factor> {
        product.factors.iter().filter(move |factor| {
            let format = &self.kernel.operands[factor.operand].format;
            let mut levels = format.levels().iter().zip(&factor.subscripts);
            levels.any(|(level, subscript)| {
                !level.is_located() && subscript.coefficient(iterator) != 0
            })
        })
    }

    /// Whether two factors are one element of one tensor, which is walked once.
    fn is_same(&self, one: &Factor, other: &Factor) -> bool {
        let [left, right] = [one, other].map(|factor| self.kernel.operands[factor.operand].values);
        left == right && one.subscripts == other.subscripts
    }

    /// At how many points of some iterators one stored element may be within reach.
    fn times(&self, factor: &Factor, iterators: &[usize]) -> u128 {
        let mut open = iterators.to_vec();
        let mut times = 1u128;
        let operand = &self.kernel.operands[factor.operand];
        for subscript in &factor.subscripts[..sparse_levels(operand)] {
            let terms = || subscript.terms().iter().map(|(at, _)| *at);
            let own: Vec<usize> = terms().filter(|at| open.contains(at)).collect();
            times = times.saturating_mul(self.windows(subscript, &own, iterators));
            open.retain(|at| !own.contains(at));
        }
        times.saturating_mul(size(&open, &self.extents))
    }

    /// At how many points of its own iterators a subscript has a coordinate in its window, which is as wide as the
    /// iterators that are not among the known ones make it. Where all but one of them are anywhere, the window leaves
    /// that one a few values.
    fn windows(&self, subscript: &Linear, own: &[usize], known: &[usize]) -> u128 {
        let others = subscript.terms().iter().filter(|(at, _)| !known.contains(at));
        let reach = others.fold(0u128, |reach, (at, by)| {
            let steps = self.extents[*at].saturating_sub(1);
            reach.saturating_add(steps.saturating_mul(by.unsigned_abs().into()))
        });
        let values = |at: usize| {
            let step = u128::from(subscript.coefficient(at).unsigned_abs()).max(1);
            self.extents[at].min(reach / step + 1)
        };
        let last = |last: &usize| {
            let free = own.iter().filter(|at| *at != last);
            free.fold(values(*last), |size, at| size.saturating_mul(self.extents[*at]))
        };
        own.iter().map(last).min().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Walking;
    use dastac_formats::format;
    use dastac_loops::{Element, Module};
    use dastac_stur::semiring::Semiring;

    /// A bound, and what it is made of: multiples of what is stored.
    type Most = (u128, Vec<(u128, u128)>);

    /// Of `O(p, q) += I(2 * p + r, q + s) * F(r, s)` the bounds of loops in the order p, r, q, s with 100 x 200
    /// results, a filter of 3 x 5, and so many elements stored.
    fn bounds(code: &str, filter: &str, stored: [u128; 2]) -> Vec<Most> {
        let mut module = Module::default();
        let mut declare = |name, code, sizes: [i64; 2]| {
            let format = format::parse(code, &["i", "j"]).unwrap();
            let extents = sizes.map(Index::Const).to_vec();
            Operand::declare(&mut module, name, (&format, extents), (Element::F64, Element::U32))
        };
        let operands = vec![declare("I", code, [201, 204]), declare("F", filter, [3, 5])];
        let result = module.buffer("O", Element::F64, Index::Const(100 * 200));
        let extents = [100, 200, 3, 5].map(Index::Const);
        let iterators: Vec<_> =
            ["p", "q", "r", "s"].map(String::from).into_iter().zip(extents).collect();
        let sum = |terms: [(usize, i64); 2]| Linear::new(terms, Index::Const(0));
        let own = vec![sum([(0, 2), (2, 1)]), sum([(1, 1), (3, 1)])];
        let factors =
            vec![Factor::value(0, own), Factor::value(1, [2, 3].map(Linear::iterator).into())];
        let kernel = Kernel {
            reserves: false,
            place: Kernel::in_rows(&iterators, &[0, 1]),
            iterators,
            operands,
            result,
            head: vec![0, 1],
            products: vec![Product::of(1.0, factors)],
            order: vec![0, 2, 1, 3],
            unsplit: None,
            gathers: None,
            walking: Walking::Subsections,
            semiring: Semiring::default(),
            zero: 0.0,
        };
        let bounds = Bounds::new(&kernel, &[], &|operand| stored[operand]).unwrap();
        let of = |loops: usize| {
            let bound = bounds.of(&kernel.order[..loops]);
            let stored = bound.stored.iter().map(|term| (term.times, term.elements));
            (bound.value(), stored.collect())
        };
        (1..=4).map(of).collect()
    }

    #[test]
    fn windows_times_what_is_stored() {
        // A row is in 2 of the windows of p, a column in 5 of those of q.
        let few = |times| vec![(times, 10)];
        let sparse = [(20, few(2)), (30, few(3)), (150, few(15)), (150, few(15))];
        assert_eq!(bounds("CC", "DD", [10, 15]), sparse);
        // Rows are not walked.
        let dense = [(100, vec![]), (300, vec![]), (150, few(15)), (150, few(15))];
        assert_eq!(bounds("DC", "DD", [10, 15]), dense);
        let most = |code, stored| -> Vec<u128> {
            bounds(code, "DD", [stored, 15]).into_iter().map(|(most, _)| most).collect()
        };
        assert_eq!(most("CC", 201 * 204), [100, 300, 60_000, 300_000]);
        assert_eq!(most("CC", 0), [0; 4]);
    }

    #[test]
    fn operands_are_added_up() {
        // In each of 150 runs of its loop, s looks at the 4 elements of F too.
        let both = bounds("DC", "DC", [10, 4]);
        assert_eq!(both[3], (750, vec![(15, 10), (150, 4)]));
    }

    #[test]
    fn blocks_are_stored_as_one() {
        let rows = bounds("CD", "DD", [10 * 204, 15]);
        assert_eq!(rows[1], (30, vec![(3, 10)]));
        assert_eq!(rows[2], (6_000, vec![]));
    }
}
