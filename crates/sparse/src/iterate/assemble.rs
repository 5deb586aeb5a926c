//! Results in formats: which elements there are is found out first, then they are filled in.
//!
//! An element is stored where a product has a point: where all of its factors are stored and its conditions hold, whatever its value is. Of levels outside of
//! the last compressed one there is what something is inside of. Three cases, by [`Structure`]:
//!
//! - All levels are dense: nothing is to find out.
//! - The result has the pattern of an operand: a product of one tensor with the result's format and subscripts, and of dense ones. Its levels are copied, and
//!   values go where its values are, in any order of loops. (Reductions over nothing leave zeros.)
//! - Else elements are appended. The loops of the result's levels, up to the last compressed one, stand outside, in the order of the levels (dense ones in front
//!   in any order), and reach each coordinate once. One function counts, the host allocates, another fills ([`super::append`]).
//!
//! How to call: [`assemble`] adds the functions. With [`Structure::Counted`], call `count` with the arrays of [`Structure::Counted::starts`]
//! (of 64-bit integers, one more element than the dense levels in front have positions), then the operands' buffers. [`Assembly::counts`] gives the values of
//! the result's symbols, which are 0 so far. Make [`Arrays`], call `name` with them, then the starts, then the operands' buffers. [`Arrays::into_tensor`] is the
//! result. In the other cases there is `name` only, and no starts.

use std::collections::BTreeSet;

use dastac_loops::{
    BufferId, Element, For, Function, Index, Let, Mode, Module, Stmt, SymbolId, Value, VarId,
    passes,
};

use super::append::{self, Plan};
use super::compile::{compile, set_once, statements};
use super::graph;
use super::kernel::{Factor, IterateError, Kernel, LevelBuffers, Operand};
use crate::format::{Format, Kind};
use crate::storage::{ElementType, Indices, LevelData, StorageError, Tensor, Values, zeroed};

/// What becomes of the elements that loops come to.
#[derive(Clone, Debug, Default)]
pub(super) enum Goal {
    /// They are stored at the kernel's place.
    #[default]
    Places,
    /// They are stored where a factor's element is.
    Beside {
        /// The factor of the one product.
        factor: usize,
    },
    /// They are appended: the bodies of the loops of some iterators, the outermost ones, are marked.
    Appended {
        /// The iterators, by level.
        iterators: Vec<usize>,
        /// How many loops are theirs, or of what says where the elements are whose positions they are.
        depth: usize,
        /// Whether coordinates are reached several times, or in another order.
        scattered: bool,
    },
}

/// Marked statements look like an integer loaded from a buffer that does not exist, and so far behind the last one.
pub(super) fn marker(level: usize) -> BufferId {
    BufferId(u32::MAX - level as u32)
}

impl Goal {
    pub(super) fn factor(&self) -> Option<usize> {
        match self {
            Goal::Beside { factor } => Some(*factor),
            _ => None,
        }
    }

    /// Whether loops at a depth append.
    pub(super) fn appends_at(&self, depth: usize) -> bool {
        matches!(self, Goal::Appended { depth: end, .. } if depth < *end)
    }

    pub(super) fn appends(&self) -> bool {
        self.appends_at(0)
    }

    /// Loops at a depth stand there so many times.
    pub(super) fn in_several(&mut self, depth: usize, times: usize) {
        if times > 1 {
            self.out_of_order(depth);
        }
    }

    /// A loop at a depth does not reach each coordinate once, in order.
    pub(super) fn out_of_order(&mut self, depth: usize) {
        if let Goal::Appended { depth: end, scattered, .. } = self {
            *scattered |= depth < *end;
        }
    }

    /// The body of an iterator's loop, marked with its value if it is one that appends.
    pub(super) fn marked(
        &self,
        function: &mut Function,
        iterator: usize,
        index: Index,
        body: Vec<Stmt>,
    ) -> Vec<Stmt> {
        let Goal::Appended { iterators, .. } = self else { return body };
        let Some(level) = iterators.iter().position(|at| *at == iterator) else { return body };
        let var = function.fresh_var("mark");
        vec![Stmt::Let(Let { var, buffer: marker(level), index, body })]
    }
}

/// How the levels of a result come about.
#[derive(Clone, Debug)]
pub enum Structure {
    /// They are dense.
    Dense,
    /// They are those of an operand.
    Copied {
        /// Which one.
        operand: usize,
    },
    /// They are counted first.
    Counted {
        /// The name of the function that counts.
        count: String,
        /// For each compressed level, the buffer that says where the positions below each position of the dense levels in front begin; the last element is their
        /// number.
        starts: Vec<BufferId>,
    },
}

/// A result in a format, as functions of a module.
#[derive(Clone, Debug)]
pub struct Assembly {
    /// The function that fills it.
    pub name: String,
    /// Its buffers.
    pub result: Operand,
    /// Where its levels come from.
    pub structure: Structure,
}

/// Adds the function `name` to a module, which sets a result in a format, and what it needs besides. The result was declared with [`Operand::declare`]; the
/// kernel's own result and place do not count.
///
/// # Errors
/// As [`compile`]; levels that are not dense or of ordered and unique coordinates, and orders in which elements cannot be appended, unless the result has an
/// operand's pattern.
pub fn assemble(
    module: &mut Module,
    name: &str,
    kernel: &Kernel,
    result: &Operand,
) -> Result<Assembly, IterateError> {
    let assembly =
        |structure| Assembly { name: name.to_owned(), result: result.clone(), structure };
    let mut kernel = Kernel { result: result.values, ..kernel.clone() };
    if let Some(factor) = pattern_of(&kernel, result) {
        beside(module, name, &kernel, (result, factor))?;
        let operand = kernel.products[0].factors[factor].operand;
        return Ok(assembly(Structure::Copied { operand }));
    }
    let levels = result.format.levels();
    let plain = |at: &usize| match levels[*at].kind {
        Kind::Dense => true,
        Kind::Compressed => levels[*at].ordered && levels[*at].unique,
        Kind::Singleton => false,
    };
    if let Some(level) = (0..levels.len()).find(|at| !plain(at)) {
        return Err(IterateError::Result { level });
    }
    let sparse = |level: &crate::format::Level| level.kind == Kind::Compressed;
    let (Some(first), Some(last)) =
        (levels.iter().position(sparse), levels.iter().rposition(sparse))
    else {
        kernel.place = place_in(&kernel, result, 0);
        compile(module, name, &kernel)?;
        return Ok(assembly(Structure::Dense));
    };
    let of_level = |level: usize| kernel.head[result.format.order()[level]];
    let iterators: Vec<usize> = (0..=last).map(of_level).collect();
    let inside = kernel.order.iter().filter(|at| !iterators.contains(at));
    kernel.order = iterators.iter().chain(inside).copied().collect();
    let order = graph::order(&kernel)?;
    let Some(depth) = in_order(&kernel, &order, &iterators, first) else {
        return Err(IterateError::Workspace);
    };
    kernel.order = order;
    kernel.place = place_in(&kernel, result, last + 1);
    let plan = Plan::new(module, name, (&kernel, result), (first, last));
    kernel.result = plan.block;
    let mut function = Function::new(name, Vec::new());
    let mut goal = Goal::Appended { iterators, depth, scattered: false };
    let body = statements(&mut function, module, &kernel, &mut goal)?;
    if matches!(goal, Goal::Appended { scattered: true, .. }) {
        return Err(IterateError::Workspace);
    }
    function.body = body;
    let count = format!("{name}_count");
    let starts = plan.starts.clone();
    let (counts, fills) = append::functions(&plan, &function, &count);
    let outputs = |list: Vec<BufferId>| list.into_iter().map(|buffer| (buffer, Mode::Out));
    add(module, counts, outputs(starts.clone()).collect(), &kernel);
    let given = starts.iter().map(|buffer| (*buffer, Mode::In));
    add(module, fills, outputs(result.buffers()).chain(given).collect(), &kernel);
    Ok(assembly(Structure::Counted { count, starts }))
}

/// How many loops there are up to the last of the result's iterators, if they reach each coordinate once, in order: those of the levels from `first` on one after
/// the other, with nothing between them but the loops of a tensor whose positions are coordinates.
fn in_order(kernel: &Kernel, order: &[usize], iterators: &[usize], first: usize) -> Option<usize> {
    let depth = 1 + order.iter().rposition(|at| iterators.contains(at))?;
    let own = order[..depth].iter().filter(|at| iterators.contains(at));
    let (mut fixed, mut between) = (BTreeSet::new(), Vec::new());
    for at in &order[..depth] {
        if !iterators.contains(at) {
            between.push(*at);
            continue;
        }
        if !between.is_empty()
            && !kernel.products.iter().all(|product| {
                let of = |factor: &&Factor| factor.position == Some(*at);
                product.factors.iter().find(of).is_some_and(|factor| {
                    ascending(kernel, factor, &fixed).as_ref() == Some(&between)
                })
            })
        {
            return None;
        }
        fixed.extend(between.drain(..).chain([*at]));
    }
    let own: Vec<usize> = own.copied().collect();
    let front = iterators[..first].iter().all(|at| own[..first].contains(at));
    (front && own[first..] == iterators[first..]).then_some(depth)
}

/// The iterators along which, one inside of the other, the positions of an element grow while others are fixed.
fn ascending(kernel: &Kernel, factor: &Factor, fixed: &BTreeSet<usize>) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for dimension in kernel.operands[factor.operand].format.order() {
        let terms = factor.subscripts[*dimension].terms().iter();
        match &terms.filter(|(at, _)| !fixed.contains(at)).collect::<Vec<_>>()[..] {
            [] => {}
            [(at, 1..)] if !all.contains(at) => all.push(*at),
            _ => return None,
        }
    }
    Some(all)
}

/// Adds a function to a module that takes some buffers, and those that the kernel reads.
fn add(
    module: &mut Module,
    mut function: Function,
    mut args: Vec<(BufferId, Mode)>,
    kernel: &Kernel,
) {
    for buffer in kernel.inputs() {
        if !args.iter().any(|(known, _)| *known == buffer) {
            args.push((buffer, Mode::In));
        }
    }
    function.args = args;
    let context = passes::Context { symbols: &module.symbols, buffers: &module.buffers };
    for pass in passes::PASSES {
        (pass.run)(&mut function, &context);
    }
    module.functions.push(function);
}

/// Where an element is in the dense levels of a result from `level` on.
fn place_in(kernel: &Kernel, result: &Operand, level: usize) -> Index {
    result.format.order()[level..].iter().fold(Index::Const(0), |place, dimension| {
        let iterator = kernel.head[*dimension] as u32;
        place * result.extents[*dimension].clone() + Index::Var(VarId(iterator))
    })
}

/// The factor whose pattern the result has, if it has a factor's.
fn pattern_of(kernel: &Kernel, result: &Operand) -> Option<usize> {
    let [product] = &kernel.products[..] else { return None };
    let positions = product.factors.iter().any(|factor| factor.position.is_some());
    if positions || !product.tests.is_empty() || !kernel.conditions(product).is_empty() {
        return None;
    }
    let is_dense = |format: &Format| format.levels().iter().all(|level| level.kind == Kind::Dense);
    let factor = product.factors.iter().position(|factor| {
        let operand = &kernel.operands[factor.operand];
        let subscripts = factor.subscripts.iter().map(|subscript| subscript.as_iterator());
        operand.format == result.format
            && !is_dense(&operand.format)
            && operand.extents == result.extents
            && subscripts.eq(kernel.head.iter().map(|at| Some(*at)))
    })?;
    let others = product.factors.iter().enumerate().filter(|(at, _)| *at != factor);
    let mut others = others.map(|(_, other)| &kernel.operands[other.operand].format);
    others.all(is_dense).then_some(factor)
}

/// Adds the function that puts values where those of a factor are.
fn beside(
    module: &mut Module,
    name: &str,
    kernel: &Kernel,
    (result, factor): (&Operand, usize),
) -> Result<(), IterateError> {
    let mut function = Function::new(name, Vec::new());
    let mut body = statements(&mut function, module, kernel, &mut Goal::Beside { factor })?;
    // There are as many values as the operand has.
    let operand = &kernel.operands[kernel.products[0].factors[factor].operand];
    let size = module.buffers[operand.values.0 as usize].size.clone();
    module.buffers[result.values.0 as usize].size = size.clone();
    // Nothing else decides where its loops come to.
    if !set_once(&mut body, kernel, &|_| true) {
        let at = function.fresh_var("at");
        let zero = Value::constant(kernel.semiring.zero());
        let clear = vec![Stmt::set(result.values, Index::Var(at), zero)];
        function.body.push(Stmt::For(For::new(at, Index::Const(0), size, clear).parallel()));
    }
    function.body.extend(body);
    add(module, function, vec![(result.values, Mode::Out)], kernel);
    Ok(())
}

impl Assembly {
    /// The values of the result's symbols, and so the sizes of its arrays, given what the function that counts has left in the starts.
    pub fn counts(&self, starts: &[&[i64]]) -> Vec<(SymbolId, i64)> {
        let symbols = self.result.levels.iter().filter_map(|level| match level {
            LevelBuffers::Compressed { count, .. } => Some(*count),
            _ => None,
        });
        symbols
            .zip(starts)
            .map(|(symbol, list)| (symbol, list.last().copied().unwrap_or(0)))
            .collect()
    }
}

/// Positions or coordinates of a result, as functions take them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Integers {
    /// In 32 bits.
    U32(Vec<u32>),
    /// In 64 bits.
    I64(Vec<i64>),
}

impl Integers {
    fn zeros(of: Element, count: u64) -> Result<Integers, StorageError> {
        let what = "the positions of a result";
        Ok(match of {
            Element::U32 => Integers::U32(zeroed(what, count)?),
            _ => Integers::I64(zeroed(what, count)?),
        })
    }

    fn into_indices(self) -> Indices {
        match self {
            Integers::U32(all) => Indices::U32(all),
            // Functions store numbers that are not negative.
            Integers::I64(all) => Indices::U64(all.into_iter().map(i64::cast_unsigned).collect()),
        }
    }
}

/// The arrays of a result.
#[derive(Clone, Debug)]
pub struct Arrays {
    /// Positions and coordinates of its levels, in the order of [`Operand::buffers`].
    pub integers: Vec<Integers>,
    /// Its values.
    pub values: Values,
}

impl Arrays {
    /// Arrays of the sizes that the result's buffers have, which are `f64` or `f32` and `u32` or `i64`.
    ///
    /// # Errors
    /// Positions that do not fit 32 bits ([`IterateError::Width`]), and more than memory holds.
    pub fn new(
        module: &Module,
        assembly: &Assembly,
        symbols: &[i64],
    ) -> Result<Arrays, ArraysError> {
        let mut integers = Vec::new();
        let mut values = Values::none(ElementType::F64);
        for id in assembly.buffers() {
            let buffer = &module.buffers[id.0 as usize];
            let size = buffer.size.eval_symbols(symbols).ok();
            let size = size.and_then(|size| u64::try_from(size).ok()).unwrap_or(u64::MAX);
            let what = "the values of a result";
            match buffer.element {
                Element::F64 => values = Values::F64(zeroed(what, size)?),
                Element::F32 => values = Values::F32(zeroed(what, size)?),
                element => {
                    if element == Element::U32 && size > u64::from(u32::MAX) {
                        return Err(IterateError::Width(size).into());
                    }
                    integers.push(Integers::zeros(element, size)?);
                }
            }
        }
        Ok(Arrays { integers, values })
    }

    /// The result, given its extents, and of a copied structure the tensor that has it.
    ///
    /// # Errors
    /// Arrays that are no tensor of the format: then they were not filled.
    pub fn into_tensor(
        self,
        assembly: &Assembly,
        shape: Vec<u64>,
        copied: Option<&Tensor>,
    ) -> Result<Tensor, StorageError> {
        let format = assembly.result.format.clone();
        if let Some(tensor) = copied {
            return Tensor::from_parts(shape, format, tensor.levels().to_vec(), self.values);
        }
        let mut integers = self.integers.into_iter().map(Integers::into_indices);
        let mut next = || integers.next().unwrap_or(Indices::U32(Vec::new()));
        let levels = format.levels().iter().map(|level| match level.kind {
            Kind::Dense => LevelData::Dense,
            Kind::Compressed => LevelData::Compressed { positions: next(), coordinates: next() },
            Kind::Singleton => LevelData::Singleton { coordinates: next() },
        });
        let levels = levels.collect();
        Tensor::from_parts(shape, format, levels, self.values)
    }
}

impl Assembly {
    /// The buffers that the function which fills the result sets, in order.
    pub fn buffers(&self) -> Vec<BufferId> {
        match self.structure {
            Structure::Counted { .. } => self.result.buffers(),
            Structure::Dense | Structure::Copied { .. } => vec![self.result.values],
        }
    }
}

/// Why a result has no arrays.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ArraysError {
    /// They would be too narrow.
    #[error(transparent)]
    Iterate(#[from] IterateError),
    /// They would be too large.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
