//! What is computed: sums of products of tensors in formats, into a dense result.

use std::collections::{BTreeMap, BTreeSet};

use dastac_loops::{
    BufferId, Condition, Element, Index, Module, Reduction, SymbolId, Value, VarId,
};
use dastac_stur::semiring::Semiring;

use dastac_formats::format::Format;
use dastac_formats::level::LevelBuffers;
use dastac_formats::level::code::Declared;

use super::extents::{level_extent, with_functions};

/// A tensor in a kernel's module: its levels' arrays and its values are buffers.
#[derive(Clone, Debug)]
pub struct Operand {
    /// How it is stored.
    pub format: Format,
    /// The extent of each dimension, in symbols.
    pub extents: Vec<Index>,
    /// The arrays of each level.
    pub levels: Vec<LevelBuffers>,
    /// The values.
    pub values: BufferId,
}

impl Operand {
    /// Adds the buffers of a tensor to a module, and a symbol for the number of positions of each compressed level:
    /// `A.pos1`, `A.crd1`, `A.count1` for level 1 of `A`, and `A` for its values. `indices` is the type of positions
    /// and coordinates.
    pub fn declare(
        module: &mut Module,
        name: &str,
        (format, extents): (&Format, Vec<Index>),
        (element, indices): (Element, Element),
    ) -> Operand {
        let (levels, count) = Operand::levels(module, name, (format, &extents), indices);
        let values = module.buffer(name, element, count);
        Operand { format: format.clone(), extents, levels, values }
    }

    /// Adds the buffers of a tensor's levels to a module, as [`Operand::declare`] does; the number of its values too.
    pub fn levels(
        module: &mut Module,
        name: &str,
        (format, extents): (&Format, &[Index]),
        indices: Element,
    ) -> (Vec<LevelBuffers>, Index) {
        let mut count = Index::Const(1);
        let mut levels = Vec::new();
        let extents = &with_functions(format, extents);
        for (at, level) in format.levels().iter().enumerate() {
            let expr = &format.map().levels()[at];
            let mut extent = level_extent(expr, extents);
            // The difference of two coordinates, of which there are none, has a range of less than no values.
            if expr.as_atom().is_none() {
                extent = extent.max(Index::Const(0));
            }
            let extent = &extent;
            let declared = Declared { name, level: at, extent, width: level.width, indices };
            let (buffers, below) = LevelBuffers::declare(module, level.kind, declared, count);
            levels.push(buffers);
            count = below;
        }
        (levels, count)
    }

    /// The symbols for numbers of positions, and the number of the level that each is of.
    pub fn counts(&self) -> impl Iterator<Item = (usize, SymbolId)> + '_ {
        let levels = self.levels.iter().enumerate();
        levels.filter_map(|(at, level)| Some((at, level.count?)))
    }

    /// Its buffers, in the order in which they were declared.
    pub fn buffers(&self) -> Vec<BufferId> {
        let levels = self.levels.iter().flat_map(|level| level.arrays.iter().copied());
        levels.chain([self.values]).collect()
    }
}

/// No buffer: [`Product::element`].
pub(super) const ELEMENT: BufferId = BufferId(u32::MAX);

/// `result(head) += products`, over a module's buffers, in a semiring. Iterators are numbers into
/// [`Kernel::iterators`].
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Name and extent of each iterator; it runs from 0 to its extent.
    pub iterators: Vec<(String, Index)>,
    /// The tensors that are read.
    pub operands: Vec<Operand>,
    /// The result's buffer.
    pub result: BufferId,
    /// The result's subscripts, distinct.
    pub head: Vec<usize>,
    /// Where an element of the result is in its buffer: in it the variable `VarId(n)` is iterator `n`, one of the
    /// head's. No two are at one place.
    pub place: Index,
    /// What is added up, over all iterators that are not in the head.
    pub products: Vec<Product>,
    /// The order of loops that is wanted, outermost first: all iterators.
    pub order: Vec<usize>,
    /// The head and the place before iterators were split, if some were: what is set to zero before is this.
    pub unsplit: Option<(Vec<usize>, Index)>,
    /// How subscripts of several iterators are walked on sparse levels.
    pub walking: Walking,
    /// How products are joined, and how factors are. Elements without products are its zero, and so is what operands do
    /// not store.
    pub semiring: Semiring,
    /// The value of elements without products: the semiring's zero in the result's element type.
    pub zero: f64,
    /// For a result in a format: loops go over so many of its first levels in their order, and what is below comes
    /// together in a workspace. Else all levels up to the last one that is not full are appended in their order.
    pub gathers: Option<Gathers>,
    /// Whether elements of such a result may be appended to memory of which only a bound is known: see
    /// [`crate::Structure::Counted`].
    pub reserves: bool,
}

/// Which levels of a result come together in a workspace.
#[derive(Clone, Debug, PartialEq)]
pub struct Gathers {
    /// So many levels in front are not in it.
    pub levels: usize,
    /// The coordinates of all levels of the result, in its iterators: `VarId(n)` stands for iterator `n`.
    pub coordinates: Vec<Index>,
    /// What the workspace is.
    pub kind: Kind,
}

/// Kinds of workspaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A place for every coordinate of the levels, and marks for those that are touched.
    #[default]
    Dense,
    /// A coordinate list of points that are sorted when it is full (sparse workspaces, section 3.1).
    List {
        /// So many points.
        capacity: i64,
    },
    /// The same, but as large as what it was merged into.
    Growing,
    /// A hash table of points (sparse workspaces, section 3.2).
    Hash {
        /// So many points.
        capacity: i64,
    },
    /// A list of points for each block of coordinates of the first level (sparse workspaces, section 3), which grows.
    Bucket {
        /// So many coordinates.
        rows: i64,
    },
    /// A dense one where that is small, else a list that grows: code for both, of which sizes choose one when the code
    /// runs.
    Sized(Limits),
}

/// How many bytes a dense workspace may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// So many are never too many.
    pub near: i64,
    /// So many may be taken for each element that operands store.
    pub each: i64,
    /// More are always too many.
    pub most: i64,
}

impl Kind {
    /// The largest capacity.
    pub const MOST: i64 = 1 << 24;

    /// How many coordinates of the first level come together.
    pub(super) fn rows(self) -> i64 {
        match self {
            Kind::Bucket { rows } => rows.clamp(1, Kind::MOST),
            _ => 1,
        }
    }

    /// How many points it holds before they are merged: at first, if it grows.
    pub(super) fn capacity(self) -> i64 {
        match self {
            Kind::Dense => 0,
            Kind::Bucket { .. } => Kind::MOST,
            Kind::Growing | Kind::Sized(_) => 1 << 12,
            Kind::List { capacity } | Kind::Hash { capacity } => capacity.clamp(1, Kind::MOST),
        }
    }
}

impl Gathers {
    /// The levels of a result in a format, whose head has these iterators, but so many in front.
    pub fn behind(levels: usize, format: &Format, head: &[usize], kind: Kind) -> Gathers {
        let order = format.order().unwrap_or_default();
        let iterator = |dimension: usize| Index::Var(VarId(head[dimension] as u32));
        Gathers { levels, coordinates: order.into_iter().map(iterator).collect(), kind }
    }
}

/// How the loops of a subscript's iterators go over a sparse level: all but the last of them, which can only reduce
/// what the others reach of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Walking {
    /// Over the coordinates where the level has something within reach (sparse convolutions, section 3).
    #[default]
    Subsections,
    /// Over all coordinates, with the begin of what is within reach carried along (unified convolution framework,
    /// section 5).
    Search,
    /// Over all coordinates; the level is searched for each.
    Locate,
}

impl Kernel {
    /// Where a product may be other than zero: its conditions, and the extents of levels that are located where
    /// iterators can be outside of them.
    pub(super) fn conditions(&self, product: &Product) -> Vec<Linear> {
        let mut conditions = product.conditions.clone();
        for factor in &product.factors {
            let operand = &self.operands[factor.operand];
            for (at, level) in operand.format.levels().iter().enumerate() {
                if let Some(bounds) = level.kind.coord_bounds_code(&operand.extents[at]) {
                    conditions.extend(self.within(&factor.subscripts[at], bounds));
                }
            }
        }
        conditions
    }

    /// What is not negative where a subscript is within the coordinates of a dimension or level; nothing where it
    /// always is. All iterators begin at 0.
    pub(super) fn within(&self, subscript: &Linear, bounds: (Index, Index)) -> Vec<Linear> {
        let (first, end) = bounds;
        let same = |at: usize| first == Index::Const(0) && self.iterators[at].1 == end;
        if subscript.as_iterator().is_some_and(same) {
            return Vec::new();
        }
        let mut conditions = Vec::new();
        let grows = subscript.terms.iter().all(|(_, coefficient)| *coefficient > 0);
        let zero = first.clone().at_most(subscript.constant.clone());
        if !(grows && zero.as_bool() == Some(true)) {
            conditions.push(subscript.plus(&Linear::new([], Index::Const(0) - first)));
        }
        let negated = subscript.terms.iter().map(|(at, by)| (*at, -by));
        let rest = end - 1 - subscript.constant.clone();
        conditions.push(Linear::new(negated, rest));
        conditions
    }
}

impl Kernel {
    /// Whether points that differ in an iterator belong to different elements of the result: it is one of the head's,
    /// or the head has the position of an element, the same in all of some products, whose place has it.
    pub(super) fn tells_apart(&self, iterator: usize, products: &BTreeSet<usize>) -> bool {
        let tells = |factor: &&Factor| {
            let of_head = factor.position.is_some_and(|at| self.head.contains(&at));
            of_head && factor.subscripts.iter().any(|one| one.is_multiple_of(iterator))
        };
        let mut products = products.iter().map(|at| &self.products[*at]);
        let Some(first) = products.next() else { return self.head.contains(&iterator) };
        let same = |one: &Factor, other: &Factor| {
            let [of, with] = [one, other].map(|factor| self.operands[factor.operand].values);
            of == with && (one.position, &one.subscripts) == (other.position, &other.subscripts)
        };
        self.head.contains(&iterator)
            || first.factors.iter().find(tells).is_some_and(|own| {
                products.all(|product| product.factors.iter().any(|other| same(own, other)))
            })
    }

    /// How products are joined.
    pub fn reduction(&self) -> Reduction {
        match self.semiring {
            Semiring::SumTimes => Reduction::Sum,
            Semiring::Prod => Reduction::Product,
            Semiring::MinPlus | Semiring::Min => Reduction::Min,
            Semiring::MaxPlus | Semiring::Max | Semiring::MaxTimes | Semiring::OrAnd => {
                Reduction::Max
            }
        }
    }

    /// The buffers that are read, in the order of operands, then those of located factors. Some may be there several
    /// times.
    pub(super) fn inputs(&self) -> Vec<BufferId> {
        let mut buffers: Vec<BufferId> =
            self.operands.iter().flat_map(|operand| operand.buffers()).collect();
        for value in self.products.iter().flat_map(|product| &product.values) {
            value.visit(&mut |value| {
                if let Value::Load(buffer, _) = value
                    && *buffer != ELEMENT
                {
                    buffers.push(*buffer);
                }
            });
        }
        buffers
    }

    /// Factors joined to a product.
    pub(super) fn product_of(&self, factors: Vec<Value>) -> Value {
        match self.semiring {
            Semiring::OrAnd => Value::product(factors.into_iter().map(Value::truth)),
            Semiring::MinPlus | Semiring::MaxPlus => {
                factors.into_iter().reduce(|sum, factor| sum + factor).unwrap_or(Value::Const(0.0))
            }
            _ => Value::product(factors),
        }
    }

    /// Where an element of a result in C order of its subscripts is.
    pub fn in_rows(iterators: &[(String, Index)], head: &[usize]) -> Index {
        head.iter().fold(Index::Const(0), |place, at| {
            place * iterators[*at].1.clone() + Index::Var(VarId(*at as u32))
        })
    }
}

/// A product, in the kernel's semiring, of a number and tensors' elements, over all points of its iterators where its
/// conditions hold.
///
/// Elements of operands outside of their extents are zero.
#[derive(Clone, Debug, Default)]
pub struct Product {
    /// The number.
    pub coefficient: f64,
    /// Elements of operands.
    pub factors: Vec<Factor>,
    /// Other factors, located where all iterators are known: in them the variable `VarId(n)` is iterator `n`, and
    /// [`Product::element`] stands for the element of a factor.
    pub values: Vec<Value>,
    /// Iterators that are equal to expressions of others at its points: they have no loops. In them the variable
    /// `VarId(n)` is iterator `n`.
    pub defined: Vec<(usize, Index)>,
    /// Elements that are not stored at its points.
    pub absent: Vec<Factor>,
    /// What is not negative at its points. Operands' extents need not be among them.
    pub conditions: Vec<Linear>,
    /// What must hold too, tested where all iterators are known; variables as in `values`.
    pub tests: Vec<Condition>,
}

impl Product {
    /// A product of operands' elements.
    pub fn of(coefficient: f64, factors: Vec<Factor>) -> Product {
        Product { coefficient, factors, ..Product::default() }
    }

    /// What stands in [`Product::values`] for the element of a factor, which is an argument then and not multiplied.
    pub fn element(factor: usize) -> Value {
        Value::Load(ELEMENT, Index::Const(factor as i64))
    }

    /// Whether its points have an iterator.
    pub fn mentions(&self, iterator: usize) -> bool {
        let factors = self.factors.iter().chain(&self.absent);
        let subscripts = factors.flat_map(|factor| &factor.subscripts);
        let var = VarId(iterator as u32);
        subscripts.chain(&self.conditions).any(|linear| linear.coefficient(iterator) != 0)
            || self.factors.iter().any(|factor| factor.position == Some(iterator))
            || self.defined.iter().any(|(at, value)| *at == iterator || value.mentions(var))
            || self.values.iter().any(|value| value.mentions(var))
            || self.tests.iter().any(|test| test.mentions(var))
    }
}

/// An element of a tensor.
#[derive(Clone, Debug)]
pub struct Factor {
    /// Index into [`Kernel::operands`].
    pub operand: usize,
    /// One a dimension.
    pub subscripts: Vec<Linear>,
    /// If this is not about the element's value but about where it is: the iterator that is its position among the
    /// tensor's values. The factor is one then.
    pub position: Option<usize>,
    /// Whether its element is not a factor, but an argument of the product's values.
    pub argument: bool,
    /// Whether the order of loops need not follow its levels: a level is searched where that has not walked it.
    pub searched: bool,
}

impl Factor {
    /// The value of an element.
    pub fn value(operand: usize, subscripts: Vec<Linear>) -> Factor {
        Factor { operand, subscripts, position: None, argument: false, searched: false }
    }
}

/// A linear expression of iterators.
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    /// Iterators, ascending, each once, with coefficients that are not 0.
    terms: Vec<(usize, i64)>,
    /// The rest, in symbols.
    pub constant: Index,
}

impl Linear {
    /// A sum of multiples of iterators, in any order, and a constant.
    pub fn new(terms: impl IntoIterator<Item = (usize, i64)>, constant: Index) -> Linear {
        let mut sums = BTreeMap::new();
        for (iterator, coefficient) in terms {
            *sums.entry(iterator).or_insert(0) += coefficient;
        }
        let terms = sums.into_iter().filter(|(_, coefficient)| *coefficient != 0).collect();
        Linear { terms, constant }
    }

    /// An iterator.
    pub fn iterator(at: usize) -> Linear {
        Linear { terms: vec![(at, 1)], constant: Index::Const(0) }
    }

    /// The iterators, ascending, with coefficients that are not 0.
    pub fn terms(&self) -> &[(usize, i64)] {
        &self.terms
    }

    /// The coefficient of an iterator.
    pub fn coefficient(&self, iterator: usize) -> i64 {
        let term = self.terms.iter().find(|(at, _)| *at == iterator);
        term.map_or(0, |(_, coefficient)| *coefficient)
    }

    /// A sum.
    pub(super) fn plus(&self, other: &Linear) -> Linear {
        let terms = self.terms.iter().chain(&other.terms).copied();
        Linear::new(terms, self.constant.clone() + other.constant.clone())
    }

    /// A multiple.
    pub(super) fn times(&self, by: i64) -> Linear {
        if by == 1 {
            return self.clone();
        }
        let terms = self.terms.iter().map(|(at, factor)| (*at, factor * by));
        Linear::new(terms, self.constant.clone() * by)
    }

    /// With an expression in place of an iterator.
    pub(super) fn replaced(&self, iterator: usize, by: &Linear) -> Linear {
        let factor = self.coefficient(iterator);
        let others = self.terms.iter().copied().filter(|(at, _)| *at != iterator);
        Linear::new(others, self.constant.clone()).plus(&by.times(factor))
    }

    /// Whether it has an iterator, and no other.
    fn is_multiple_of(&self, iterator: usize) -> bool {
        matches!(self.terms[..], [(at, _)] if at == iterator)
    }

    /// The iterator, where it is nothing else.
    pub fn as_iterator(&self) -> Option<usize> {
        match &self.terms[..] {
            [(at, 1)] if self.constant == Index::Const(0) => Some(*at),
            _ => None,
        }
    }
}

/// What cannot be iterated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IterateError {
    /// Levels of some tensors can only be walked in orders that contradict each other.
    #[error(
        "no order of the loops walks {} from its first level on",
        operands.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    )]
    Cycle {
        /// Operands in the contradiction, in order.
        operands: Vec<usize>,
    },
    /// A level whose coordinates stand several times, or in no order.
    #[error("level {level} of operand {operand} is not ordered and unique")]
    Level {
        /// The operand.
        operand: usize,
        /// The level.
        level: usize,
    },
    /// A level of the result that is neither dense nor of ordered and unique coordinates.
    #[error("level {level} of the result can only be copied from a tensor with the same pattern")]
    Result {
        /// The level.
        level: usize,
    },
    /// Coordinates of the result that are reached several times, or in another order than that of its levels.
    #[error(
        "the loops do not reach the result's elements in the order of its levels: it needs a workspace"
    )]
    Workspace,
    /// Subscripts of an operand that are not those of its levels: its index map has quotients or remainders of what is
    /// no iterator, or of one that another operand divides otherwise.
    #[error("the loops cannot follow the index map of operand {operand}")]
    Map {
        /// The operand.
        operand: usize,
    },
    /// More levels together than lattices are made for.
    #[error("{0} sparse levels meet in one loop: at most {MOST_CURSORS} can")]
    Cursors(usize),
}

/// The points of a lattice are sets of cursors: their number grows with the power of two of these.
pub const MOST_CURSORS: usize = 6;
