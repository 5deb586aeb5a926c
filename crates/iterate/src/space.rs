//! Kernels over the levels of their tensors: index maps are resolved, so that a tensor has one dimension for each of
//! its levels.
//!
//! A subscript of a level is the level's expression of the tensor's subscripts, counted from the smallest value of the
//! expression. Sums and multiples stay linear (`A(i, j)` by diagonals: `A(j - i + M - 1, i)`). An iterator of which
//! levels have quotients and remainders is replaced by one iterator for each of these levels, wherever it stands.
//! Before -> after, of blocks of 4 x 4:
//!
//! `y(i) += A(i, j) * x(j)` -> `y(4 * i0 + i1) += A(i0, j0, i1, j1) * x(4 * j0 + j1)` where `4 * i0 + i1 < M` and
//! `4 * j0 + j1 < N`

use dastac_formats::format::{Format, LevelExpr};
use dastac_loops::{Index, VarId, linear};

use super::extents::{level_extent, range, with_functions};
use super::kernel::{Factor, IterateError, Kernel, Linear, Operand, Product};

/// An iterator that is replaced by several.
struct Split {
    iterator: usize,
    parts: Vec<Part>,
}

/// One of the iterators that replace another.
#[derive(Clone)]
struct Part {
    /// What it is of the iterator, which is dimension 0.
    expr: LevelExpr,
    /// By which it is multiplied in the iterator.
    factor: i64,
    iterator: usize,
}

impl Operand {
    /// The same arrays as a tensor with one dimension for each level.
    pub(crate) fn on_levels(&self) -> Operand {
        let levels = self.format.map().levels().iter();
        let own = with_functions(&self.format, &self.extents);
        let extents = levels.map(|expr| level_extent(expr, &own)).collect();
        Operand { format: self.format.of_levels(), extents, ..self.clone() }
    }
}

/// A kernel over the levels of its operands; one that is over levels already stays as it is.
///
/// # Errors
/// Subscripts that do not follow an operand's index map; products with what is not stored of one whose levels store
/// something else than dimensions.
pub fn on_levels(kernel: &Kernel) -> Result<Kernel, IterateError> {
    if let Some(operand) = gaps_elsewhere(kernel) {
        return Err(IterateError::Map { operand });
    }
    let kernel = &with_values(kernel)?;
    let mut result = kernel.clone();
    let splits = splits(&mut result)?;
    for product in &mut result.products {
        product.conditions.extend(in_boxes(kernel, product));
        for factor in product.factors.iter_mut().chain(&mut product.absent) {
            let operand = &kernel.operands[factor.operand];
            let levels = operand.format.map().levels();
            let subscripts = &factor.subscripts;
            let of_level = |expr| subscript(expr, operand, subscripts, &splits);
            factor.subscripts = levels.iter().map(of_level).collect();
        }
    }
    result.operands = kernel.operands.iter().map(Operand::on_levels).collect();
    for split in &splits {
        split.apply(&mut result);
    }
    Ok(result)
}

/// An operand of which elements that are not stored take part, where they are not between others in the order of its
/// levels: each row would look at all of its blocks or diagonals. One whose positions are asked for stays.
fn gaps_elsewhere(kernel: &Kernel) -> Option<usize> {
    kernel.products.iter().find_map(|product| {
        let mapped = |factor: &&Factor| kernel.operands[factor.operand].format.order().is_none();
        let operand = product.absent.iter().find(mapped)?.operand;
        let mut own = product.factors.iter().filter(|factor| factor.operand == operand);
        own.all(|factor| factor.position.is_none()).then_some(operand)
    })
}

/// A kernel in which functions that are computed from entries are dimensions of operands: each has an iterator of its
/// own, over all values that it may have, of which every entry has one.
///
/// Before -> after, `A` in `ell`: `y(i) += A(i, j) * x(j)` -> `y(i) += A(i, j, k) * x(j)`
fn with_values(kernel: &Kernel) -> Result<Kernel, IterateError> {
    let mut result = kernel.clone();
    for (at, operand) in kernel.operands.iter().enumerate() {
        let functions = operand.format.map().functions();
        if functions.is_empty() {
            continue;
        }
        let extents = with_functions(&operand.format, &operand.extents);
        // One element is walked once in all products that have it.
        let mut known: Vec<(Vec<Linear>, Vec<Linear>)> = Vec::new();
        let mut products = std::mem::take(&mut result.products);
        for product in &mut products {
            if product.absent.iter().any(|factor| factor.operand == at) {
                return Err(IterateError::Map { operand: at });
            }
            for factor in product.factors.iter_mut().filter(|factor| factor.operand == at) {
                let own = known.iter().find(|(subscripts, _)| *subscripts == factor.subscripts);
                let values = own.map(|(_, values)| values.clone()).unwrap_or_else(|| {
                    let numbers = functions.iter().zip(&extents[factor.subscripts.len()..]);
                    let values = numbers.map(|(function, extent)| {
                        let iterator = result.iterators.len();
                        let name = format!("{}{iterator}", function.word());
                        result.iterators.push((name, extent.clone()));
                        result.order.push(iterator);
                        Linear::iterator(iterator)
                    });
                    let values: Vec<Linear> = values.collect();
                    known.push((factor.subscripts.clone(), values.clone()));
                    values
                });
                factor.subscripts.extend(values);
            }
        }
        result.products = products;
        result.operands[at].extents = extents;
    }
    Ok(result)
}

/// What is not negative where a product's subscripts are in the boxes of operands: some coordinates of levels that
/// store anything else than dimensions are those of no element.
fn in_boxes(kernel: &Kernel, product: &Product) -> Vec<Linear> {
    let mut conditions = Vec::new();
    for factor in &product.factors {
        let operand = &kernel.operands[factor.operand];
        if operand.format.order().is_none() {
            let subscripts = factor.subscripts.iter().zip(&operand.extents);
            let within = |(one, extent): (&Linear, &Index)| {
                kernel.within(one, (Index::Const(0), extent.clone()))
            };
            conditions.extend(subscripts.flat_map(within));
        }
    }
    conditions
}

/// The subscript of a level.
fn subscript(
    expr: &LevelExpr,
    operand: &Operand,
    subscripts: &[Linear],
    splits: &[Split],
) -> Linear {
    if let Some(dimension) = expr.as_dimension() {
        return subscripts[dimension].clone();
    }
    let (low, _) = range(expr, &operand.extents);
    if let Some(sum) = expr.linear() {
        let constant = simplified(Index::Const(sum.constant) - low);
        let terms = sum.terms.into_iter().map(|(at, by)| subscripts[at].times(by));
        return terms.fold(Linear::new([], constant), |sum, term| sum.plus(&term));
    }
    // Such iterators were all split.
    let iterator = expr.dimensions().first().and_then(|at| subscripts[*at].as_iterator());
    let split = splits.iter().find(|split| Some(split.iterator) == iterator);
    let alone = expr.renamed(0);
    let part = split.and_then(|split| split.parts.iter().find(|part| part.expr == alone));
    part.map_or(Linear::new([], Index::Const(0)), |part| Linear::iterator(part.iterator))
}

/// An expression with each of its symbols once, if it is linear.
pub(super) fn simplified(index: Index) -> Index {
    linear::Linear::of(&index).map_or(index, |sum| sum.to_index())
}

/// The iterators that operands' index maps divide; the kernel gets those that replace them.
fn splits(kernel: &mut Kernel) -> Result<Vec<Split>, IterateError> {
    let mut splits: Vec<Split> = Vec::new();
    for product in kernel.products.clone() {
        for factor in product.factors.iter().chain(&product.absent) {
            let error = || IterateError::Map { operand: factor.operand };
            let format = kernel.operands[factor.operand].format.clone();
            for dimension in divided(&format) {
                let iterator = factor.subscripts[dimension].as_iterator().ok_or_else(error)?;
                if is_position(kernel, iterator) {
                    return Err(error());
                }
                let parts = parts(&format, dimension).ok_or_else(error)?;
                match splits.iter().find(|split| split.iterator == iterator) {
                    None => splits.push(Split::new(kernel, iterator, parts)),
                    Some(known) if known.has(&parts) => {}
                    Some(_) => return Err(error()),
                }
            }
        }
    }
    Ok(splits)
}

/// Whether an iterator is the position of an element.
fn is_position(kernel: &Kernel, iterator: usize) -> bool {
    let mut factors = kernel.products.iter().flat_map(|product| &product.factors);
    factors.any(|factor| factor.position == Some(iterator))
}

/// The dimensions of which levels have quotients or remainders.
fn divided(format: &Format) -> Vec<usize> {
    let levels = format.map().levels().iter().filter(|expr| !expr.is_affine());
    let mut all: Vec<usize> = levels.flat_map(LevelExpr::dimensions).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// A dimension's levels, with what they are multiplied by in it; nothing where these levels have other dimensions too,
/// or where the dimension is known without some of them.
fn parts(format: &Format, dimension: usize) -> Option<Vec<(LevelExpr, i64)>> {
    let inverse = &format.map().inverse()[dimension];
    let alone = |level: usize| format.map().levels()[level].dimensions() == [dimension];
    let levels = 0..format.levels().len();
    // Sums of the dimension with others stay sums, of its parts.
    let divides = |level: &usize| {
        let expr = &format.map().levels()[*level];
        !expr.is_affine() && expr.dimensions().contains(&dimension)
    };
    // A level that is not needed to know the dimension follows from others, such as `j / 4` from `j`.
    let needed = |level: usize| inverse.terms.iter().any(|(known, _)| *known == level);
    let whole = levels.filter(divides).all(|level| alone(level) && needed(level));
    if inverse.constant != 0 || !whole || !inverse.terms.iter().all(|(level, _)| alone(*level)) {
        return None;
    }
    let terms = inverse.terms.iter();
    Some(terms.map(|(level, by)| (format.map().levels()[*level].renamed(0), *by)).collect())
}

impl Split {
    fn new(kernel: &mut Kernel, iterator: usize, parts: Vec<(LevelExpr, i64)>) -> Split {
        let (name, extent) = kernel.iterators[iterator].clone();
        let mut all = Vec::new();
        for (at, (expr, factor)) in parts.into_iter().enumerate() {
            let own = level_extent(&expr, std::slice::from_ref(&extent));
            all.push(Part { expr, factor, iterator: kernel.iterators.len() });
            kernel.iterators.push((format!("{name}{at}"), own));
        }
        Split { iterator, parts: all }
    }

    fn has(&self, parts: &[(LevelExpr, i64)]) -> bool {
        let own = self.parts.iter().map(|part| (&part.expr, part.factor));
        own.eq(parts.iter().map(|(expr, factor)| (expr, *factor)))
    }

    /// What stands for the iterator.
    fn linear(&self) -> Linear {
        let terms = self.parts.iter().map(|part| (part.iterator, part.factor));
        Linear::new(terms, Index::Const(0))
    }

    /// Replaces the iterator in all of a kernel but the subscripts of levels that have its parts.
    fn apply(&self, kernel: &mut Kernel) {
        let iterators = || self.parts.iter().map(|part| part.iterator);
        if kernel.head.contains(&self.iterator) {
            kernel.unsplit.get_or_insert_with(|| (kernel.head.clone(), kernel.place.clone()));
        }
        for list in [&mut kernel.head, &mut kernel.order] {
            *list = std::mem::take(list)
                .into_iter()
                .flat_map(|at| match at == self.iterator {
                    true => iterators().collect(),
                    false => vec![at],
                })
                .collect();
        }
        let of_head = iterators().any(|at| kernel.head.contains(&at));
        kernel.place = self.replaced(&kernel.place);
        for coordinate in kernel.gathers.iter_mut().flat_map(|gathers| &mut gathers.coordinates) {
            *coordinate = self.replaced(coordinate);
        }
        let last = kernel.iterators[self.iterator].1.clone() - 1;
        let within = self.linear().times(-1).plus(&Linear::new([], last));
        for product in &mut kernel.products {
            let mentioned = of_head
                || product.mentions(self.iterator)
                || iterators().any(|at| product.mentions(at));
            self.apply_to(product);
            if mentioned {
                product.conditions.push(within.clone());
            }
        }
    }

    fn apply_to(&self, product: &mut Product) {
        let factors = product.factors.iter_mut().chain(&mut product.absent);
        let factors = factors.flat_map(|factor| &mut factor.subscripts);
        for linear in factors.chain(&mut product.conditions) {
            *linear = linear.replaced(self.iterator, &self.linear());
        }
        for value in &mut product.values {
            *value = value.rebuild(&|leaf| self.leaf(leaf));
        }
        let defined = std::mem::take(&mut product.defined).into_iter();
        let defined = defined.map(|(at, value)| (at, value.rebuild(&|leaf| self.leaf(leaf))));
        product.defined = defined
            .flat_map(|(at, value)| match at == self.iterator {
                true => {
                    let of = |part: &Part| (part.iterator, part.expr.value(&|_| value.clone()));
                    self.parts.iter().map(of).collect()
                }
                false => vec![(at, value)],
            })
            .collect();
        for test in &mut product.tests {
            *test = test.rebuild(&|leaf| self.leaf(leaf));
        }
    }

    fn replaced(&self, index: &Index) -> Index {
        index.rebuild(&|leaf| self.leaf(leaf))
    }

    fn leaf(&self, leaf: &Index) -> Index {
        let own = VarId(self.iterator as u32);
        if *leaf != Index::Var(own) {
            return leaf.clone();
        }
        let parts = self.parts.iter().map(|part| {
            let var = Index::Var(VarId(part.iterator as u32));
            if part.factor == 1 { var } else { var * part.factor }
        });
        parts.reduce(|sum, part| sum + part).unwrap_or(Index::Const(0))
    }
}
