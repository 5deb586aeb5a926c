//! Which rules apply a filter to a picture, and what their iterators are then.

use dastac_formats::format::{IndexMap, LevelExpr};
use dastac_formats::{Format, Level};
use dastac_iterate::{Linear, Walking};
use dastac_layout::affine_to_index;
use dastac_loops::{Index, Module};
use dastac_poly::Set;
use dastac_stur::infer::{InferredRule, Read, Statement};
use dastac_stur::program::TensorId;
use dastac_stur::semiring::Semiring;
use dastac_stur::sets::Affine;

use super::super::linear::{iterator, linear};
use super::super::walked::{Dynamic, Walked};
use crate::SchedError;
use crate::elements::extents;
use crate::nest::symbol;

/// So many channels are the smallest part of a row of the filter that is applied by itself.
pub(super) const CHANNELS: i64 = 16;

/// A rule that applies a filter. Iterators are numbered as in its statement; in expressions the variable `VarId(n)` is
/// iterator `n`.
pub(super) struct Shape {
    /// The number that products are multiplied with.
    pub coefficient: f64,
    /// The format in which the filter is read: dense rows, below each its chunks of channels, if it has some, and below
    /// these a list of entries.
    pub format: Format,
    /// How many chunks of so many channels a row has.
    pub chunks: Option<Index>,
    /// The iterators of the filter's rows, outermost first, with their extents.
    pub rows: Vec<(usize, Index)>,
    /// The dimensions of the filter that its entries have coordinates of, in the order of the format.
    pub listed: Vec<usize>,
    /// The filter's other iterators.
    pub terms: Vec<Term>,
    /// The iterators of pixels in the order of the head, with their extents.
    pub pixels: Vec<(usize, Index)>,
    /// The picture.
    pub picture: TensorId,
    /// Its dimensions.
    pub dimensions: Vec<Dimension>,
    /// The iterators of the head, and of the picture's dimensions.
    pub head: Vec<usize>,
}

/// An iterator whose value follows from a coordinate of the filter: `coordinate / divisor`, below `radix` if it is
/// given.
pub(super) struct Term {
    pub iterator: usize,
    /// The filter's dimension.
    pub dimension: usize,
    pub divisor: i64,
    pub radix: Option<i64>,
    /// How many values it has.
    pub extent: Index,
}

/// A dimension of the picture: its subscript is `offset + stride * pixel`.
pub(super) struct Dimension {
    /// Without the pixel.
    pub offset: Linear,
    /// The pixels' iterator and how far its neighbours are apart.
    pub pixel: Option<(usize, i64)>,
    /// The smallest offset.
    pub low: Index,
    /// The largest offset, less the smallest.
    pub reach: Index,
    /// The extent.
    pub extent: Index,
}

impl Dynamic<'_> {
    /// The shape of a rule that applies a filter to a picture; nothing for all others.
    pub(super) fn shape(
        &self,
        module: &Module,
        rule: &InferredRule,
        walked: &Walked,
    ) -> Result<Option<Shape>, SchedError> {
        let definition = &self.inferred.program.rules[rule.rule.0];
        let asked = !definition.order.is_empty() || !definition.schedule.is_empty();
        let ([statement], [product]) = (&rule.statements[..], &walked.kernel.products[..]) else {
            return Ok(None);
        };
        let plain = statement.is_exact()
            && statement.symbols.is_empty()
            && statement.functions.is_empty()
            && product.absent.is_empty()
            && product.factors.len() == 1
            && product.values.len() == 1;
        if asked || !plain || definition.semiring != Semiring::SumTimes || definition.fill.is_some()
        {
            return Ok(None);
        }
        let plain = |read: &Read| read.sorted.is_empty() && !read.reciprocal && !read.argument;
        let sparse = |read: &Read| self.inferred.program.tensor(read.tensor).format.is_some();
        let [one, other] = &statement.reads[..] else { return Ok(None) };
        let (filter, picture) = if sparse(one) { (one, other) } else { (other, one) };
        let kind = |id: TensorId| self.inferred.program.tensor(id).element;
        let element = kind(rule.head);
        let floats = element.is_float() && !element.is_complex() && element.bytes() >= 4;
        if !plain(filter)
            || !plain(picture)
            || walked.kernel.walking != Walking::default()
            || [filter, picture].iter().any(|read| kind(read.tensor) != element)
            || !floats
        {
            return Ok(None);
        }
        let of = Recognition { dynamic: self, module, rule, statement, filter, picture };
        let Some(shape) = of.shape()? else { return Ok(None) };
        Ok((shape.is_worth_it() && of.is_everywhere(&shape)?).then_some(shape))
    }
}

impl Shape {
    /// Whether the copy has just the elements of the picture that are read: what is added to a pixel's place takes all
    /// values from the first to the last.
    fn copies_what_is_read(&self) -> bool {
        self.dimensions.iter().all(|one| {
            let steps = match one.offset.terms() {
                [] => true,
                [(_, by)] => by.abs() == 1,
                _ => false,
            };
            let known =
                one.pixel.is_none_or(|(_, stride)| stride == 1) || one.reach.as_const().is_some();
            steps && known
        })
    }

    /// Whether it is more than a product of matrices, which needs no copies.
    fn is_worth_it(&self) -> bool {
        let slides = |one: &Dimension| one.pixel.is_some() && one.reach != Index::Const(0);
        let strided = |one: &Dimension| one.pixel.is_some_and(|(_, stride)| stride > 1);
        self.pixels.len() > 1 || self.dimensions.iter().any(|one| slides(one) || strided(one))
    }
}

struct Recognition<'a> {
    dynamic: &'a Dynamic<'a>,
    module: &'a Module,
    rule: &'a InferredRule,
    statement: &'a Statement,
    filter: &'a Read,
    picture: &'a Read,
}

impl Recognition<'_> {
    /// The subscripts of a read, if they are linear.
    fn subscripts(&self, read: &Read) -> Result<Option<Vec<Linear>>, SchedError> {
        let mut all = Vec::new();
        for subscript in &read.subscripts {
            let Some(found) = linear(&affine_to_index(subscript, &|name| self.resolve(name))?)
            else {
                return Ok(None);
            };
            all.push(found);
        }
        Ok(Some(all))
    }

    fn resolve(&self, name: &str) -> Option<Index> {
        let sets = &self.dynamic.inferred.sets;
        let own = |other: &String| other == name || sets.names.isl(other) == name;
        match self.statement.iterators.iter().position(own) {
            Some(at) => Some(iterator(at)),
            None => symbol(self.module, sets, name),
        }
    }

    fn extents(&self, tensor: TensorId) -> Result<Vec<Index>, SchedError> {
        extents(self.dynamic.inferred, self.module, tensor)
    }

    fn shape(&self) -> Result<Option<Shape>, SchedError> {
        let (filter, picture) = (self.subscripts(self.filter)?, self.subscripts(self.picture)?);
        let (Some(filter), Some(picture)) = (filter, picture) else { return Ok(None) };
        let definition = &self.dynamic.inferred.program.rules[self.rule.rule.0];
        let at = |name: &String| self.statement.iterators.iter().position(|own| own == name);
        let head: Option<Vec<usize>> = definition.iterators.iter().map(at).collect();
        let Some(head) = head else { return Ok(None) };
        let extents = self.extents(self.filter.tensor)?;
        let Some((row_dimensions, mut terms)) = digits(&filter, &extents, &head) else {
            return Ok(None);
        };
        let of_head = self.extents(self.rule.head)?;
        let mut rows = Vec::new();
        for dimension in &row_dimensions {
            let Some(iterator) = filter[*dimension].as_iterator() else { return Ok(None) };
            let Some(place) = head.iter().position(|own| *own == iterator) else {
                return Ok(None);
            };
            if of_head[place].constant_difference(&extents[*dimension]) != Some(0) {
                return Ok(None);
            }
            rows.push((iterator, extents[*dimension].clone()));
        }
        let row = |at: usize| rows.iter().any(|(row, _)| *row == at);
        let of_filter = |at: usize| row(at) || terms.iter().any(|term| term.iterator == at);
        let pixels = head.iter().zip(of_head).filter(|(at, _)| !of_filter(**at));
        let pixels: Vec<(usize, Index)> = pixels.map(|(at, extent)| (*at, extent)).collect();
        let known = pixels.len() + rows.len() + terms.len();
        if terms.is_empty() || pixels.is_empty() || known != self.statement.iterators.len() {
            return Ok(None);
        }
        let of = self.extents(self.picture.tensor)?;
        let range = |at: usize| {
            let term = terms.iter().find(|term| term.iterator == at).map(|term| &term.extent);
            term.or(rows.iter().find(|(row, _)| *row == at).map(|(_, extent)| extent)).cloned()
        };
        let mut dimensions = Vec::new();
        for (subscript, extent) in picture.iter().zip(of) {
            let Some(found) = dimension(subscript, extent, &range) else { return Ok(None) };
            dimensions.push(found);
        }
        let each_once = pixels.iter().all(|(at, _)| {
            let own = |one: &&Dimension| one.pixel.is_some_and(|(pixel, _)| pixel == *at);
            dimensions.iter().filter(own).count() == 1
        });
        if !each_once {
            return Ok(None);
        }
        // Entries of a row are in the order in which the picture is stored: the same channel together.
        let place = |at: usize| {
            let own = |one: &Dimension| one.offset.coefficient(at) != 0;
            let found = dimensions.iter().position(own).unwrap_or(dimensions.len());
            let channel = dimensions.get(found).is_some_and(|one| one.pixel.is_none());
            (!channel, found)
        };
        terms.sort_by_key(|term| place(term.iterator));
        let mut listed: Vec<usize> = Vec::new();
        for term in &terms {
            if !listed.contains(&term.dimension) {
                listed.push(term.dimension);
            }
        }
        // Channels of the picture, the first coordinates of entries, which are cut into chunks.
        let chunk = terms.first().filter(|term| !place(term.iterator).0).map(|term| {
            let extent = extents[term.dimension].clone();
            (term.divisor.saturating_mul(CHANNELS), extent)
        });
        let chunk = chunk.filter(|(by, extent)| extent.as_const().is_none_or(|one| one > *by));
        let by = chunk.as_ref().map(|(by, _)| *by);
        let Some(format) = listing(&row_dimensions, &listed, by) else { return Ok(None) };
        let chunks = chunk.map(|(by, extent)| (extent - 1).floor_div(by) + 1);
        Ok(Some(Shape {
            coefficient: self.statement.coefficient,
            format,
            chunks,
            rows,
            listed,
            terms,
            pixels,
            picture: self.picture.tensor,
            dimensions,
            head,
        }))
    }

    /// Whether the rule has all points at which elements of its tensors are, and these are boxes.
    fn is_everywhere(&self, shape: &Shape) -> Result<bool, SchedError> {
        let Dynamic { inferred, layouts, .. } = self.dynamic;
        let (sets, iterators) = (&inferred.sets, &self.statement.iterators);
        let definition = &inferred.program.rules[self.rule.rule.0];
        let within = |tensor: TensorId| -> Result<Set, SchedError> {
            let structured = &inferred.tensors[tensor.0];
            Ok(sets.box_set(&structured.iterators, &structured.extents)?)
        };
        let mut expected = sets.universe(iterators)?;
        let accesses = [
            (self.filter.tensor, self.filter.subscripts.clone()),
            (self.picture.tensor, self.picture.subscripts.clone()),
            (self.rule.head, definition.subscripts()),
        ];
        for (tensor, subscripts) in accesses {
            let map = sets.access(iterators, &subscripts)?;
            expected = expected.intersect(&map.intersect_range(&within(tensor)?)?.domain()?)?;
            let layout = &layouts[tensor.0];
            if tensor != self.filter.tensor {
                let all = match tensor == self.picture.tensor && shape.copies_what_is_read() {
                    true => self.read()?,
                    false => within(tensor)?,
                };
                let all = all.intersect_params(&layout.stored.params_set()?)?;
                if !all.is_subset(&layout.stored)? {
                    return Ok(false);
                }
            }
        }
        for term in &shape.terms {
            if let Some(radix) = term.radix {
                let own = &iterators[term.iterator];
                let map = sets.access(iterators, &[Affine::name(own)])?;
                let side = dastac_stur::sets::Extent::single(Affine::constant(radix));
                let side = sets.box_set(std::slice::from_ref(own), &[side])?;
                expected = expected.intersect(&map.intersect_range(&side)?.domain()?)?;
            }
        }
        Ok(expected.is_subset(&self.statement.domain)?)
    }
}

impl Recognition<'_> {
    /// The elements of the picture that are read in one dimension each, as far as that one is concerned.
    fn read(&self) -> Result<Set, SchedError> {
        let inferred = self.dynamic.inferred;
        let (sets, picture) = (&inferred.sets, &inferred.tensors[self.picture.tensor.0]);
        let read = sets.access(&self.statement.iterators, &self.picture.subscripts)?;
        let read = self.statement.domain.apply(&read)?;
        let mut all = sets.box_set(&picture.iterators, &picture.extents)?;
        for iterator in &picture.iterators {
            let one = sets.access(&picture.iterators, &[Affine::name(iterator)])?;
            all = all.intersect(&one.intersect_range(&read.apply(&one)?)?.domain()?)?;
        }
        Ok(all)
    }
}

/// Dimensions that are rows of the filter, and the iterators of all others.
fn digits(
    subscripts: &[Linear],
    extents: &[Index],
    head: &[usize],
) -> Option<(Vec<usize>, Vec<Term>)> {
    let (mut rows, mut terms) = (Vec::new(), Vec::new());
    for (dimension, (subscript, extent)) in subscripts.iter().zip(extents).enumerate() {
        if subscript.constant != Index::Const(0) {
            return None;
        }
        if subscript.as_iterator().is_some_and(|at| head.contains(&at)) {
            rows.push(dimension);
            continue;
        }
        let mut digits = subscript.terms().to_vec();
        digits.sort_by_key(|(_, by)| *by);
        if digits.first().is_none_or(|(_, by)| *by != 1) {
            return None;
        }
        for (nth, (iterator, divisor)) in digits.iter().enumerate() {
            let next = digits.get(nth + 1).map(|(_, by)| *by);
            if next.is_some_and(|next| next % divisor != 0 || next == *divisor) {
                return None;
            }
            let radix = next.map(|next| next / divisor);
            let extent = match radix {
                Some(radix) => Index::Const(radix),
                None => (extent.clone() + (divisor - 1)).floor_div(*divisor),
            };
            let (iterator, divisor) = (*iterator, *divisor);
            terms.push(Term { iterator, dimension, divisor, radix, extent });
        }
    }
    let mut all: Vec<usize> = terms.iter().map(|term| term.iterator).collect();
    all.extend(rows.iter().filter_map(|row| subscripts[*row].as_iterator()));
    all.sort_unstable();
    let distinct = all.windows(2).all(|pair| pair[0] != pair[1]);
    let summed = terms.iter().all(|term| !head.contains(&term.iterator));
    (distinct && summed).then_some((rows, terms))
}

/// A dimension of the picture, where iterators of the filter have ranges.
fn dimension(
    subscript: &Linear,
    extent: Index,
    range: &dyn Fn(usize) -> Option<Index>,
) -> Option<Dimension> {
    let (mut offset, mut pixel) = (Vec::new(), None);
    let (mut low, mut reach) = (subscript.constant.clone(), Index::Const(0));
    for (at, by) in subscript.terms() {
        match range(*at) {
            Some(values) => {
                offset.push((*at, *by));
                let most = (values - 1) * by.abs();
                reach = reach + most.clone();
                if *by < 0 {
                    low = low - most;
                }
            }
            None if *by > 0 && pixel.is_none() => pixel = Some((*at, *by)),
            None => return None,
        }
    }
    let offset = Linear::new(offset, subscript.constant.clone());
    Some(Dimension { offset, pixel, low, reach, extent })
}

/// Dense rows, below each a list of entries; between them chunks of so many coordinates of the first listed dimension.
fn listing(rows: &[usize], listed: &[usize], chunk: Option<i64>) -> Option<Format> {
    let mut levels = vec![Level::DENSE; rows.len()];
    let mut map: Vec<LevelExpr> = rows.iter().map(|at| LevelExpr::dimension(*at)).collect();
    if let (Some(by), Some(first)) = (chunk, listed.first()) {
        levels.push(Level::DENSE);
        map.push(LevelExpr::dimension(*first).quotient(by)?);
    }
    let last = listed.len() - 1;
    levels.extend((0..=last).map(|nth| match (nth, nth == last) {
        (0, true) => Level::COMPRESSED,
        (0, false) => Level::COMPRESSED_NONUNIQUE,
        (_, true) => Level::SINGLETON,
        (_, false) => Level::SINGLETON_NONUNIQUE,
    }));
    map.extend(listed.iter().map(|at| LevelExpr::dimension(*at)));
    let map = IndexMap::new(rows.len() + listed.len(), map).ok()?;
    Format::with_map(levels, map).ok()
}
