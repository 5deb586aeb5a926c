//! Results in formats: which elements there are is found out first, then they are filled in.
//!
//! An element is stored where a product has a point: where all of its factors are stored and its conditions hold,
//! whatever its value is. A level outside of the last compressed one stores a coordinate if something is stored inside
//! of it. Three cases, by [`Structure`]:
//!
//! - All levels are dense: nothing is to find out.
//! - The result has the pattern of an operand: a product of one tensor with the result's format and subscripts, and of
//!   dense ones. Its levels are copied, and values go where its values are, in any order of loops. (Reductions over
//!   nothing leave zeros.)
//! - Else elements are appended. The loops of the result's levels, up to the last one that is not full, stand outside,
//!   in the order of the levels (full ones in front in any order), and reach each coordinate once. One function counts,
//!   the host allocates, another fills ([`super::append`]). Levels such as bitmaps, into which coordinates are
//!   inserted, need not be counted.
//! - With [`Kernel::gathers`], only the loops of the first levels do so. What is inside of them comes together in a
//!   workspace ([`super::workspace`]), in any order, and is appended from there.
//! - With [`Kind::Sized`] there are statements for two kinds of workspaces, one of which is executed.
//!
//! How to call, of what [`assemble`] adds: with [`Structure::Counted`], `name_count` with the arrays of
//! [`Structure::Counted::starts`] (of 64-bit integers, one more element than the dense levels in front have positions;
//! if there are none, than iterations that are counted by themselves), then the operands' buffers, unless there are no
//! starts. The last element of each is the number of positions of a level, the value of the result's symbol for it
//! ([`Operand::counts`]). Then `name` with the result's buffers, of the sizes that these symbols give them,
//! [`Structure::Counted::ends`], the starts, and the operands' buffers. In the other cases there is `name` only, with
//! the values, and no starts. Where there are ends, `name_bound` may stand for `name_count`.

use std::collections::BTreeSet;

use dastac_loops::{BufferId, For, Function, If, Index, Mode, Module, Stmt, Value, VarId};

use super::append::{self, Appending};
use super::compile::{Filled, fill, statements};
use super::graph;
use super::join_segments::join_segments;
use super::kernel::{Factor, Gathers, IterateError, Kernel, Kind, Operand, Product};
use super::result_mode::ResultMode;
use super::space::on_levels;
use super::store::{cleared, set_once};
use super::walks::{Walks, Works};
use super::workspace::{Held, Rows, by_size};
use dastac_formats::format::{Format, Level};

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
    /// The whole result is an operand in another format, or with its dimensions in another order: no loops make it, but
    /// who holds the tensors.
    Converted {
        /// The operand's values.
        from: BufferId,
        /// The dimension of the result that each dimension of the operand is.
        dimensions: Vec<usize>,
    },
    /// They are made with the values, after they are counted.
    Counted {
        /// For each level that coordinates are appended to, the buffer that says where the positions below each
        /// position of the full levels in front begin; the last element is their number. Empty where coordinates are
        /// inserted only: nothing is counted then.
        starts: Vec<BufferId>,
        /// If it is enough to count too many: where each row ends, as filling says. Rows stand one behind the other in
        /// parts that begin where `starts` say, and positions hold the lengths of rows, until the host has moved all
        /// together.
        ends: Option<BufferId>,
    },
}

/// A result in a format, as statements.
#[derive(Clone, Debug)]
pub struct Assembly {
    /// Where its levels come from.
    pub structure: Structure,
    /// What sets the starts to those that elements may have at most; nothing where it is not enough to count too many.
    pub bound: Vec<Stmt>,
    /// What counts: it sets the starts. Nothing where nothing is counted.
    pub count: Vec<Stmt>,
    /// What fills the result.
    pub fill: Vec<Stmt>,
    /// What the loops of both go over.
    pub walks: Walks,
    /// What other loops of both do on a workspace.
    pub works: Works,
}

impl Assembly {
    /// A result that no loops make.
    pub fn without_loops(structure: Structure) -> Assembly {
        Assembly {
            structure,
            bound: Vec::new(),
            count: Vec::new(),
            fill: Vec::new(),
            walks: Walks::new(),
            works: Works::new(),
        }
    }
}

/// Adds the function `name` to a module, which sets a result in a format, and `name_count`, which counts, if that is
/// needed. The result was declared with [`Operand::declare`]; the kernel's own result and place do not count.
///
/// # Errors
/// As [`assembly`].
pub fn assemble(
    module: &mut Module,
    name: &str,
    kernel: &Kernel,
    result: &Operand,
) -> Result<Structure, IterateError> {
    let mut function = Function::new(name, Vec::new());
    let Assembly { structure, bound, count, fill, .. } =
        assembly(&mut function, module, kernel, result)?;
    let mut own: Vec<(BufferId, Mode)> = vec![(result.values, Mode::Out)];
    if let Structure::Counted { starts, ends } = &structure {
        let outputs = |list: &[BufferId]| list.iter().map(|id| (*id, Mode::Out)).collect();
        if !starts.is_empty() {
            let name = format!("{name}_count");
            let counting = Function { name, body: count, ..function.clone() };
            add(module, counting, outputs(starts), kernel);
        }
        if !bound.is_empty() {
            let bounding =
                Function { name: format!("{name}_bound"), body: bound, ..function.clone() };
            add(module, bounding, outputs(starts), kernel);
        }
        own = outputs(&result.buffers());
        own.extend(ends.iter().map(|id| (*id, Mode::Out)));
        own.extend(starts.iter().map(|id| (*id, Mode::In)));
    }
    add(module, Function { body: fill, ..function }, own, kernel);
    Ok(structure)
}

/// The statements that assemble a result in a format, for functions that begin with the variables of `function`, which
/// gets those that they need.
///
/// # Errors
/// As [`super::compile()`]; levels that are not dense or of ordered and unique coordinates, and orders in which
/// elements cannot be appended, unless the result has an operand's pattern.
pub fn assembly(
    function: &mut Function,
    module: &mut Module,
    kernel: &Kernel,
    result: &Operand,
) -> Result<Assembly, IterateError> {
    let Some(gathers @ &Gathers { kind: Kind::Sized(limits), .. }) = kernel.gathers.as_ref() else {
        return assembled(function, module, kernel, result, &mut None);
    };
    let with = |kind| {
        let gathers = Some(Gathers { kind, ..gathers.clone() });
        Kernel { gathers, ..kernel.clone() }
    };
    // Both set the same arrays.
    let mut plan = None;
    let dense = assembled(function, module, &with(Kind::Dense), result, &mut plan)?;
    let small = by_size::is_small(module, kernel, result, (gathers.levels, limits));
    let Some(small) = small.filter(|_| plan.is_some()) else { return Ok(dense) };
    let points = assembled(function, module, &with(Kind::Growing), result, &mut plan)?;
    let either = |dense: Vec<Stmt>, points: Vec<Stmt>| match dense.is_empty() && points.is_empty() {
        true => Vec::new(),
        false => {
            vec![Stmt::If(If { condition: small.clone(), then: dense, otherwise: points })]
        }
    };
    Ok(Assembly {
        structure: dense.structure,
        // How many there are at most does not depend on where they come together.
        bound: dense.bound,
        count: either(dense.count, points.count),
        fill: either(dense.fill, points.fill),
        walks: dense.walks.into_iter().chain(points.walks).collect(),
        works: [dense.works, points.works].concat(),
    })
}

/// The statements with one kind of workspace. `shared` is the plan of those with another kind, which set the same
/// arrays; it is set to the plan if there is one.
fn assembled(
    function: &mut Function,
    module: &mut Module,
    kernel: &Kernel,
    result: &Operand,
    shared: &mut Option<Appending>,
) -> Result<Assembly, IterateError> {
    let mut kernel = Kernel { result: result.values, ..kernel.clone() };
    let done =
        |structure, fill, walks| Ok(Assembly { fill, walks, ..Assembly::without_loops(structure) });
    if let Some(factor) = pattern_of(&kernel, &result.format, &result.extents) {
        kernel = on_levels(&kernel)?;
        let (fill, walks) = in_pattern(function, module, &kernel, (result, factor))?;
        let operand = kernel.products[0].factors[factor].operand;
        return done(Structure::Copied { operand }, fill, walks);
    }
    let levels = result.format.levels();
    if let Some(level) = (0..levels.len()).find(|at| !is_assembled(&levels[*at])) {
        return Err(IterateError::Result { level });
    }
    if result.format.order().is_none() {
        return Err(IterateError::Result { level: 0 });
    }
    let sparse = |level: &Level| !level.is_full();
    let (Some(first), Some(last)) =
        (levels.iter().position(sparse), levels.iter().rposition(sparse))
    else {
        kernel.place = place_in(&kernel, result, 0);
        let Filled { whole, walks } = fill(function, module, &kernel, true)?;
        let mut body = std::mem::take(&mut function.body);
        if !whole {
            body.insert(0, cleared(function, &kernel));
        }
        return done(Structure::Dense, body, walks);
    };
    let outside = match &kernel.gathers {
        None => {
            kernel.order = appending(&kernel, &result.format);
            last + 1
        }
        // A dense workspace has no use for full levels in front, which have a place for each coordinate.
        Some(gathers) if gathers.levels < first && gathers.kind == Kind::Dense => {
            return Err(IterateError::Workspace);
        }
        Some(gathers) => gathers.levels,
    };
    let mut iterators = on_levels_of(&kernel, &result.format);
    iterators.truncate(outside);
    kernel.place = place_in(&kernel, result, last + 1);
    kernel = on_levels(&kernel)?;
    let order = graph::order_on_levels(&kernel)?;
    let Some(depth) = in_order(&kernel, &order, &iterators, first) else {
        return Err(IterateError::Workspace);
    };
    kernel.order = order;
    let own = result.on_levels();
    let known = shared.take();
    let mut plan = match &known {
        Some(plan) => plan.clone(),
        None => Appending::new(module, &kernel, own.clone(), (first, last)),
    };
    kernel.result = plan.block;
    let workspace = kernel
        .gathers
        .as_ref()
        .map(|gathers| Box::new(Held::new(module, &kernel, &own, (gathers, last), &plan)));
    if let Some(workspace) = &workspace {
        kernel.result = workspace.values();
        kernel.place = workspace.place(kernel.place.clone());
    }
    let mut goal = ResultMode::Appended { iterators, depth, scattered: false, workspace };
    let (body, walks) = statements(function, module, &kernel, &mut goal)?;
    if !is_nested(&body, first, &mut BTreeSet::new()) {
        return Err(IterateError::Workspace);
    }
    function.body = body;
    let ResultMode::Appended { scattered: false, workspace, .. } = goal else {
        return Err(IterateError::Workspace);
    };
    let starts = plan.starts.clone();
    let dense = kernel.gathers.as_ref().is_some_and(|one| one.kind == Kind::Dense);
    let buckets = workspace.as_deref().and_then(Held::buckets).cloned();
    let can_reserve = match &buckets {
        Some(_) => plan.has_rows(),
        None => dense && plan.can_reserve(&function.body),
    };
    if known.is_none() && kernel.reserves && can_reserve {
        plan.reserve(module);
    }
    if kernel.gathers.as_ref().is_none_or(|one| one.levels > 0) {
        plan.iterations = None;
        plan.count_iterations(module, &kernel, &mut function.body);
        debug_assert!(known.is_none_or(|known| known.iterations == plan.iterations));
    }
    if let Some(buckets) = &buckets {
        plan.count_chunks(module, buckets.chunks());
    }
    let scattered = buckets.as_ref().filter(|_| plan.reserved.is_some());
    let scattered = scattered.map(|buckets| (buckets, function.body.clone()));
    let [mut count, mut fill] = append::bodies(&plan, function);
    let mut bound = Vec::new();
    if let Some(workspace) = &workspace {
        if plan.reserved.is_some() && dense {
            let counter = plan.row_counter();
            let rows = (starts[0], &own.extents[last]);
            bound = workspace.bounded(count.clone(), counter, rows).unwrap_or_default();
        }
        if let Some((buckets, body)) = scattered {
            let rows = (&own.extents[0], &own.extents[last]);
            bound = buckets.bounded(function, body, starts[0], rows);
        }
        let iterations = plan.iterations.as_ref();
        let rows = Rows { filled: None, iterations };
        count = workspace.without_values(workspace.around((function, module), count, rows, None));
        // Where rows are the first level, it is known how many elements are before each.
        let filled = match iterations {
            Some(own) => starts.last().map(|rows| (*rows, &own.upper)),
            None => starts.first().filter(|_| first == 1).map(|rows| (*rows, &own.extents[0])),
        };
        let rows = Rows { filled, iterations };
        let reserved = plan.reserved.map(|reserved| (reserved, starts[0]));
        fill = workspace.around((function, module), fill, rows, reserved);
    }
    let ends = plan.reserved.map(|reserved| reserved.ends);
    let structure = Structure::Counted { starts, ends };
    let works = workspace.map_or_else(Vec::new, |workspace| workspace.works());
    *shared = Some(plan);
    Ok(Assembly { structure, bound, count, fill, walks, works })
}

/// The iterators of a result's levels, whose format stores dimensions.
fn on_levels_of(kernel: &Kernel, format: &Format) -> Vec<usize> {
    let order = format.order().unwrap_or_default();
    order.into_iter().map(|dimension| kernel.head[dimension]).collect()
}

/// Whether loops can make a level of a result: its coordinates can be appended or inserted.
pub fn is_assembled(level: &Level) -> bool {
    level.kind.can_insert() || level.is_appended()
}

/// The order of loops in which elements of a result in a format are appended: those of its levels up to the last one
/// that is not dense, with what they give in front of the next, then the others as they are wanted.
pub fn appending(kernel: &Kernel, format: &Format) -> Vec<usize> {
    let last = format.levels().iter().rposition(|level| !level.is_full());
    let mut outer = on_levels_of(kernel, format);
    outer.truncate(last.map_or(0, |last| last + 1));
    let mut order = Vec::new();
    for at in outer {
        let known: BTreeSet<usize> = order.iter().copied().collect();
        let given = |one: &&usize| {
            !kernel.head.contains(one)
                && !known.contains(one)
                && kernel.products.iter().all(|product| is_given(product, **one, &known))
        };
        order.extend(kernel.order.iter().filter(given));
        order.push(at);
    }
    let inside = kernel.order.iter().filter(|at| !order.contains(at));
    let inside: Vec<usize> = inside.copied().collect();
    order.into_iter().chain(inside).collect()
}

/// How many loops there are up to the last of the result's iterators, if they reach each coordinate once, in order:
/// those of the levels from `first` on one after the other, with nothing between them but the loops of a tensor whose
/// positions are coordinates, and what those around give.
fn in_order(kernel: &Kernel, order: &[usize], iterators: &[usize], first: usize) -> Option<usize> {
    if iterators.is_empty() {
        return Some(0);
    }
    let depth = 1 + order.iter().rposition(|at| iterators.contains(at))?;
    let own = order[..depth].iter().filter(|at| iterators.contains(at));
    let (mut fixed, mut between) = (BTreeSet::new(), Vec::new());
    for at in &order[..depth] {
        if !iterators.contains(at) {
            if kernel.products.iter().all(|product| is_given(product, *at, &fixed)) {
                fixed.insert(*at);
            } else {
                between.push(*at);
            }
            continue;
        }
        if !between.is_empty()
            && !kernel.products.iter().all(|product| {
                let of = |factor: &&Factor| factor.position == Some(*at);
                product
                    .factors
                    .iter()
                    .find(of)
                    .is_some_and(|factor| ascending(factor, &fixed).as_ref() == Some(&between))
            })
        {
            return None;
        }
        fixed.extend(between.drain(..).chain([*at]));
    }
    let own: Vec<usize> = own.copied().collect();
    // Iterators of the result that index maps of operands divide are not among the loops.
    if own.len() != iterators.len() {
        return None;
    }
    let first = first.min(iterators.len());
    let front = iterators[..first].iter().all(|at| own[..first].contains(at));
    (front && own[first..] == iterators[first..]).then_some(depth)
}

/// Whether a product defines an iterator by others.
fn is_given(product: &Product, at: usize, by: &BTreeSet<usize>) -> bool {
    let given = |value: &Index| value.free_vars().iter().all(|var| by.contains(&(var.0 as usize)));
    product.defined.iter().any(|(own, value)| *own == at && given(value))
}

/// Whether what is appended stands inside of what is appended to all levels above it: loops over positions may come
/// later than they are wanted.
fn is_nested(body: &[Stmt], first: usize, above: &mut BTreeSet<usize>) -> bool {
    body.iter().all(|stmt| match stmt {
        Stmt::Append(append) => {
            let level = append.level;
            if level >= first && above.len() != level {
                return false;
            }
            above.insert(level);
            let nested = is_nested(&append.body, first, above);
            above.remove(&level);
            nested
        }
        stmt => stmt.bodies().into_iter().all(|inside| is_nested(inside, first, above)),
    })
}

/// The iterators along which, one inside of the other, the positions of an element grow while others are fixed.
fn ascending(factor: &Factor, fixed: &BTreeSet<usize>) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for subscript in &factor.subscripts {
        let terms = subscript.terms().iter();
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
    module.functions.push(function);
}

/// Where an element is in the dense levels of a result from `level` on.
fn place_in(kernel: &Kernel, result: &Operand, level: usize) -> Index {
    let iterators = on_levels_of(kernel, &result.format);
    let extents = result.on_levels().extents;
    let levels = iterators.iter().zip(&extents).skip(level);
    levels.fold(Index::Const(0), |place, (iterator, extent)| {
        place * extent.clone() + Index::Var(VarId(*iterator as u32))
    })
}

/// The factor of the kernel's one product whose pattern a result has, given its format and extents, if it has a
/// factor's.
pub fn pattern_of(kernel: &Kernel, format: &Format, extents: &[Index]) -> Option<usize> {
    let [product] = &kernel.products[..] else { return None };
    let positions = product.factors.iter().any(|factor| factor.position.is_some());
    let open =
        !product.conditions.is_empty() || product.factors.iter().any(|one| can_leave(kernel, one));
    if positions || !product.tests.is_empty() || !product.defined.is_empty() || open {
        return None;
    }
    let factor = product.factors.iter().position(|factor| {
        let operand = &kernel.operands[factor.operand];
        let subscripts = factor.subscripts.iter().map(|subscript| subscript.as_iterator());
        operand.format == *format
            && !format.is_full()
            && operand.extents == extents
            && subscripts.eq(kernel.head.iter().map(|at| Some(*at)))
    })?;
    let others = product.factors.iter().enumerate().filter(|(at, _)| *at != factor);
    let mut others = others.map(|(_, other)| &kernel.operands[other.operand].format);
    others.all(Format::is_full).then_some(factor)
}

/// Whether subscripts can be outside of an operand where that does not say by itself that nothing is stored.
fn can_leave(kernel: &Kernel, factor: &Factor) -> bool {
    let operand = &kernel.operands[factor.operand];
    let walked = |dimension: usize| {
        let levels = operand.format.levels().iter().zip(operand.format.order().unwrap_or_default());
        levels.into_iter().any(|(level, at)| at == dimension && !level.is_located())
    };
    let dimensions = (0..factor.subscripts.len()).filter(|dimension| !walked(*dimension));
    let mut within = dimensions.map(|at| {
        let bounds = (Index::Const(0), operand.extents[at].clone());
        kernel.within(&factor.subscripts[at], bounds)
    });
    within.any(|conditions| !conditions.is_empty())
}

/// The statements that put values where those of a factor are.
fn in_pattern(
    function: &mut Function,
    module: &mut Module,
    kernel: &Kernel,
    (result, factor): (&Operand, usize),
) -> Result<(Vec<Stmt>, Walks), IterateError> {
    let goal = &mut ResultMode::SamePattern { factor };
    let (mut body, mut walks) = statements(function, module, kernel, goal)?;
    // There are as many values as the operand has.
    let operand = &kernel.operands[kernel.products[0].factors[factor].operand];
    let size = module.buffers[operand.values.0 as usize].size.clone();
    module.buffers[result.values.0 as usize].size = size.clone();
    // Where all that is stored is an element, nothing else decides where its loops come to.
    let whole = kernel.conditions(&kernel.products[0]).is_empty();
    if !set_once(&mut body, kernel, &|_| whole) {
        let at = function.fresh_var("at");
        let zero = Value::constant(kernel.zero);
        let clear = vec![Stmt::set(result.values, Index::Var(at), zero)];
        let clear = For::new(at, Index::Const(0), size, clear).parallel();
        body.insert(0, Stmt::For(clear));
    }
    join_segments(&mut body, kernel, &mut walks);
    Ok((body, walks))
}
