//! The statements that apply a filter.

use dastac_iterate::{Linear, Operand};
use dastac_loops::polynomial::Polynomial;
use dastac_loops::{
    BufferId, Compare, Condition, For, Function, Index, Module, Stmt, Value, VarId, Workspace,
};
use dastac_stur::infer::InferredRule;
use dastac_stur::program::TensorId;

use super::super::walked::Dynamic;
use super::shape::{CHANNELS, Dimension, Shape, Term};
use crate::SchedError;
use crate::elements::buffer;
use crate::nest::symbol;

/// Pixels are computed in whole multiples of so many: no vector has more elements.
const LINE: i64 = 16;
/// Where elements of the picture's copy are.
struct Copy {
    /// For each dimension of the picture: how far neighbours in it are apart, and neighbours modulo the stride.
    strides: Vec<(Index, Index)>,
    /// For each dimension of the picture: how many of both there are.
    counts: Vec<(Index, Index)>,
    /// From the first pixel to behind the last.
    length: Index,
    /// The number of elements, with those that pixels behind the last one read.
    size: Index,
}

impl Copy {
    fn of(shape: &Shape) -> Copy {
        let Shape { dimensions, pixels, .. } = shape;
        let pixel_extent = |at: usize| {
            let own = pixels.iter().find(|(pixel, _)| *pixel == at);
            own.map_or(Index::Const(0), |(_, extent)| extent.clone())
        };
        let counts = dimensions.iter().map(|one| match one.pixel {
            None => (one.reach.clone() + 1, Index::Const(1)),
            Some((at, stride)) => {
                let classes = match one.reach.as_const() {
                    Some(reach) => stride.min(reach + 1).max(1),
                    None => stride,
                };
                (one.reach.clone().floor_div(stride) + pixel_extent(at), Index::Const(classes))
            }
        });
        let counts: Vec<(Index, Index)> = counts.collect();
        let mut strides = vec![(Index::Const(0), Index::Const(0)); dimensions.len()];
        let mut stride = Index::Const(1);
        let mut length = Index::Const(1);
        // Pixels innermost, in the order of the head; then classes, then all other dimensions.
        for (at, extent) in pixels.iter().rev() {
            let own = |one: &Dimension| one.pixel.is_some_and(|(pixel, _)| pixel == *at);
            let Some(place) = dimensions.iter().position(own) else { continue };
            strides[place].0 = stride.clone();
            length = length + (extent.clone() - 1) * stride.clone();
            stride = stride * counts[place].0.clone();
        }
        for (place, one) in dimensions.iter().enumerate().rev() {
            if one.pixel.is_some() {
                strides[place].1 = stride.clone();
                stride = stride * counts[place].1.clone();
            }
        }
        // Then rows of vectors begin where lines of the cache do, if terms do not move them.
        stride = (stride + (LINE - 1)).floor_div(LINE) * LINE;
        for (place, one) in dimensions.iter().enumerate().rev() {
            if one.pixel.is_none() {
                strides[place].0 = stride.clone();
                stride = stride * counts[place].0.clone();
            }
        }
        let length = (length + (LINE - 1)).floor_div(LINE) * LINE;
        let size = stride + length.clone();
        Copy { strides, counts, length, size }
    }

    /// Whether pixels are neighbours in the copy just as they are in the result: none moves over the picture.
    fn is_dense(&self, shape: &Shape) -> bool {
        let pixels = shape.dimensions.iter().filter(|one| one.pixel.is_some());
        pixels.into_iter().all(|one| one.reach == Index::Const(0))
    }

    /// Whether all elements that pixels read are in the picture.
    fn is_covered(&self, shape: &Shape) -> bool {
        shape.dimensions.iter().zip(&self.counts).all(|(one, (count, _))| {
            let stride = one.pixel.map_or(1, |(_, stride)| stride);
            let last = (count.clone() - 1) * stride;
            let beyond = one.extent.constant_difference(&last);
            let still = one.pixel.is_none() || one.reach == Index::Const(0);
            still && one.low == Index::Const(0) && beyond.is_some_and(|beyond| beyond >= 1)
        })
    }
}

impl Dynamic<'_> {
    /// The statements; they set all of the head.
    pub(super) fn apply(
        &self,
        module: &mut Module,
        function: &mut Function,
        rule: &InferredRule,
        (shape, filter): (&Shape, &Operand),
    ) -> Result<Vec<Stmt>, SchedError> {
        let copy = Copy::of(shape);
        let head = &self.inferred.program.tensor(rule.head);
        let name = crate::nest::module_name(&head.name);
        let own = |module: &mut Module, what: &str, size: Index| {
            module.fresh_buffer(format!("{name}.{what}"), head.element, size)
        };
        let image = own(module, "image", copy.size.clone());
        let vars: Vec<VarId> = rule.statements[0]
            .iterators
            .iter()
            .map(|name| function.fresh_var(self.inferred.sets.names.isl(name)))
            .collect();
        let subscripts: Vec<Index> = shape.head.iter().map(|at| Index::Var(vars[*at])).collect();
        let place = self.place(module, rule.head, &subscripts)?;
        // Pixels that are neighbours in the result go there at once.
        let run = copy.is_dense(shape).then(|| run_of_pixels(shape, &vars, &place)).flatten();
        let row = shape.rows.iter().fold(Index::Const(0), |row, (at, extent)| {
            row * extent.clone() + Index::Var(vars[*at])
        });

        // The sums.
        let (x, n) = (function.fresh_var("x"), function.fresh_var("n"));
        let list = &filter.levels[shape.rows.len() + usize::from(shape.chunks.is_some())..];
        let coordinates: Vec<(usize, Index)> = shape
            .listed
            .iter()
            .zip(list)
            .filter_map(|(dimension, level)| {
                let coordinates = *level.arrays.last()?;
                Some((*dimension, Index::Load(coordinates, Box::new(Index::Var(n)))))
            })
            .collect();
        let position = list[0].arrays[0];
        let offset = offset(shape, &copy, &vars, &coordinates);
        let element = Value::load(image, offset + Index::Var(x));
        let body = Value::load(filter.values, Index::Var(n)) * element;
        let chunks = shape.chunks.clone().unwrap_or(Index::Const(1));
        let first = row.clone() * chunks.clone();
        let ends = |of: Index| Index::Load(position, Box::new(of));
        let mut sum = Value::sum(n, ends(first.clone()), ends(first + chunks), body);
        if shape.coefficient != 1.0 {
            sum = Value::constant(shape.coefficient) * sum;
        }
        function.hints.update(x, |hint| {
            hint.chunk = Some(CHANNELS);
            hint.beyond = run.is_some().then_some(LINE);
        });
        let sums =
            |to: BufferId, at: Index, length: Index| {
                let body = vec![parallel(x, length, vec![Stmt::set(to, at + Index::Var(x), sum)])];
                shape.rows.iter().rev().fold(body, |body, (at, extent)| {
                    vec![parallel(vars[*at], extent.clone(), body)]
                })
            };
        let mut all = self.picture(module, function, shape, (&copy, image))?;
        let same = match &run {
            Some((_, length)) => self.is_copy(module, function, shape, (&copy, image, length))?,
            None => None,
        };
        if let Some(same) = &same {
            all = vec![Stmt::when(same.clone().negate(), all)];
        }
        if let Some((first, length)) = run {
            all.extend(sums(buffer(rule.head), first, length));
        } else {
            let at = row * copy.length.clone();
            let count =
                shape.rows.iter().fold(Index::Const(1), |all, (_, extent)| all * extent.clone());
            let size = count * copy.length.clone();
            let pixels = own(module, "pixels", size.clone());
            // What is used of them.
            let from = shape.pixels.iter().fold(at.clone(), |from, (at, _)| {
                let own = |one: &Dimension| one.pixel.is_some_and(|(pixel, _)| pixel == *at);
                let stride =
                    shape.dimensions.iter().position(own).map(|place| &copy.strides[place].0);
                let stride = stride.cloned().unwrap_or(Index::Const(0));
                from + stride * Index::Var(vars[*at])
            });
            let value = Value::load(pixels, from);
            let mut used = vec![Stmt::set(buffer(rule.head), place, value)];
            for at in shape.head.iter().rev() {
                let mut all = shape.rows.iter().chain(&shape.pixels);
                let extent = all.find(|(own, _)| own == at).map(|(_, extent)| extent.clone());
                used = vec![parallel(vars[*at], extent.unwrap_or(Index::Const(0)), used)];
            }
            let body = [sums(pixels, at, copy.length.clone()), used].concat();
            let (zero, instead) = (false, None);
            all.push(Stmt::Workspace(Workspace { buffer: pixels, size, zero, instead, body }));
        }
        let size = copy.size.clone();
        Ok(vec![Stmt::Workspace(Workspace {
            buffer: image,
            size,
            zero: !copy.is_covered(shape),
            instead: same.map(|same| (buffer(shape.picture), same)),
            body: all,
        })])
    }

    /// When the picture is what its copy would be, element by element: where rows of vectors begin and end with
    /// channels. Nothing where that never is, or pixels are not neighbours in the picture.
    fn is_copy(
        &self,
        module: &Module,
        function: &mut Function,
        shape: &Shape,
        (copy, image, length): (&Copy, BufferId, &Index),
    ) -> Result<Option<Condition>, SchedError> {
        let element =
            |buffer: BufferId| module.buffers.get(buffer.0 as usize).map(|one| one.element);
        let strided = |one: &Dimension| one.pixel.is_some_and(|(_, stride)| stride > 1);
        let picture = buffer(shape.picture);
        if element(picture) != element(image)
            || !copy.is_covered(shape)
            || shape.dimensions.iter().any(strided)
        {
            return Ok(None);
        }
        let vars: Vec<VarId> = shape.dimensions.iter().map(|_| function.fresh_var("h")).collect();
        let subscripts: Vec<Index> = vars.iter().map(|var| Index::Var(*var)).collect();
        let place = self.place(module, shape.picture, &subscripts)?;
        let mut rest = place.clone();
        let mut equal = vec![Condition::compare(Compare::Eq, length.clone(), copy.length.clone())];
        for ((one, var), (stride, _)) in shape.dimensions.iter().zip(&vars).zip(&copy.strides) {
            let Some(apart) = place.stride(*var) else { return Ok(None) };
            if vars.iter().any(|var| apart.mentions(*var)) {
                return Ok(None);
            }
            rest = rest.substitute(*var, &Index::Const(0));
            if is_same(&apart, stride) {
                continue;
            }
            if one.pixel.is_some() {
                return Ok(None);
            }
            equal.push(Condition::compare(Compare::Eq, apart, stride.clone()));
        }
        let same = Condition::all(equal);
        let possible = is_same(&rest, &Index::Const(0)) && same.as_bool() != Some(false);
        Ok(possible.then_some(same))
    }

    /// Where an element of a dense tensor is.
    fn place(
        &self,
        module: &Module,
        tensor: TensorId,
        subscripts: &[Index],
    ) -> Result<Index, SchedError> {
        let layout = &self.layouts[tensor.0];
        Ok(layout.position(subscripts, &|name| symbol(module, &self.inferred.sets, name))?)
    }

    /// The loops that copy a picture.
    fn picture(
        &self,
        module: &Module,
        function: &mut Function,
        shape: &Shape,
        (copy, image): (&Copy, dastac_loops::BufferId),
    ) -> Result<Vec<Stmt>, SchedError> {
        let (mut from, mut to) = (Vec::new(), Index::Const(0));
        let mut loops = Vec::new();
        for (place, one) in shape.dimensions.iter().enumerate() {
            let stride = one.pixel.map_or(1, |(_, stride)| stride);
            let ((by, of_class), (count, classes)) = (&copy.strides[place], &copy.counts[place]);
            let var = function.fresh_var("h");
            let (mut first, mut moved) = (one.low.clone(), Index::Var(var) * by.clone());
            let mut count = count.clone();
            if *classes != Index::Const(1) {
                let class = function.fresh_var("class");
                loops.push((class, Index::Const(0), classes.clone()));
                first = first + Index::Var(class);
                let most = one.reach.clone();
                count = count + (most.clone() - Index::Var(class)).floor_div(stride)
                    - most.floor_div(stride);
                moved = moved + Index::Var(class) * of_class.clone();
            }
            // From the first that is in the picture to the last: 0 <= first + stride * var < extent.
            let lower = Index::Const(0) - first.clone().floor_div(stride);
            let upper = (one.extent.clone() - 1 - first.clone()).floor_div(stride) + 1;
            loops.push((var, lower.max(Index::Const(0)), upper.min(count)));
            from.push(first + Index::Var(var) * stride);
            to = to + moved;
        }
        let value = Value::load(buffer(shape.picture), self.place(module, shape.picture, &from)?);
        let body = vec![Stmt::set(image, to, value)];
        let all = loops.into_iter().rev().fold(body, |body, (var, lower, upper)| {
            vec![Stmt::For(For::new(var, lower, upper, body).parallel())]
        });
        // Where there is no pixel, or no row of the filter, the picture may not be stored.
        let extents = shape.rows.iter().chain(&shape.pixels).map(|(_, extent)| extent.clone());
        let some = extents.map(|extent| Index::Const(1).at_most(extent));
        Ok(vec![Stmt::when(Condition::all(some.collect::<Vec<_>>()), all)])
    }
}

/// Whether two expressions are the same polynomial.
fn is_same(one: &Index, other: &Index) -> bool {
    let difference = Polynomial::of(one).zip(Polynomial::of(other));
    difference.and_then(|(one, other)| one.plus(&other, -1)).is_some_and(|rest| rest.is_zero())
}

/// The place of the first pixel in the result, and how many pixels follow it there, if all of them do in their order.
fn run_of_pixels(shape: &Shape, vars: &[VarId], place: &Index) -> Option<(Index, Index)> {
    let mut length = Index::Const(1);
    let mut first = place.clone();
    for (at, extent) in shape.pixels.iter().rev() {
        if !is_same(&place.stride(vars[*at])?, &length) {
            return None;
        }
        length = length * extent.clone();
        first = first.substitute(vars[*at], &Index::Const(0));
    }
    Some((first, length))
}

fn parallel(var: VarId, extent: Index, body: Vec<Stmt>) -> Stmt {
    Stmt::For(For::new(var, Index::Const(0), extent, body).parallel())
}

/// The value of an iterator of the filter.
fn value(term: &Term, coordinates: &[(usize, Index)]) -> Index {
    let own = coordinates.iter().find(|(dimension, _)| *dimension == term.dimension);
    let value = own.map_or(Index::Const(0), |(_, coordinate)| coordinate.clone());
    let value = value.floor_div(term.divisor);
    term.radix.map_or(value.clone(), |radix| value.modulo(radix))
}

/// Where the element for the first pixel is in the picture's copy, at an entry of the filter.
fn offset(shape: &Shape, copy: &Copy, vars: &[VarId], coordinates: &[(usize, Index)]) -> Index {
    let iterator = |at: usize| {
        let term = shape.terms.iter().find(|term| term.iterator == at);
        term.map_or(Index::Var(vars[at]), |term| value(term, coordinates))
    };
    let at = |offset: &Linear, low: &Index| {
        let start = offset.constant.clone() - low.clone();
        offset.terms().iter().fold(start, |sum, (at, by)| sum + iterator(*at) * *by)
    };
    let mut sum = Index::Const(0);
    for (place, one) in shape.dimensions.iter().enumerate() {
        let stride = one.pixel.map_or(1, |(_, stride)| stride);
        let ((by, of_class), (_, classes)) = (&copy.strides[place], &copy.counts[place]);
        let here = at(&one.offset, &one.low);
        sum = sum + here.clone().floor_div(stride) * by.clone();
        if *classes != Index::Const(1) {
            sum = sum + here.modulo(stride) * of_class.clone();
        }
    }
    sum
}
