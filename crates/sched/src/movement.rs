//! Generated kernels that move data between dense arrays (the whole box of a tensor, in C order) and packed buffers.
//!
//! For each tensor `T` there is `pack_T(T.dense -> T)`, and `unpack_T(T -> T.dense)`, which restores redundant elements
//! with their coefficients and writes zeros elsewhere. Inputs also have `expand_T(T.dense -> T.expanded)`, which
//! computes what the array would be if it had the declared structure, so that the two can be compared. One more
//! function, `sizes(sizes)`, computes the number of elements of every packed buffer.

use dastac_layout::{Layout, affine_to_index};
use dastac_loops::{BufferId, Element, For, Function, If, Index, Mode, Module, Stmt, Value};
use dastac_poly::Set;
use dastac_stur::Coefficient;
use dastac_stur::infer::{Inferred, Redundancy};
use dastac_stur::program::TensorId;
use dastac_stur::sets::Affine;

use crate::elements::{Elements, buffer, extents, sort, with_lets};
use crate::kernel::Computation;
use crate::nest::{Scan, Scope, symbol};
use crate::{SchedError, Unsupported};

/// The module that moves tensors, and the names of its functions.
#[derive(Clone, Debug)]
pub struct Movement {
    /// The functions; buffer `k` is tensor `k`'s packed buffer.
    pub module: Module,
    /// For each tensor the names of `pack`, `unpack` and (for inputs) `expand`.
    pub functions: Vec<Names>,
}

/// The names of `pack`, `unpack` and (for inputs) `expand` of one tensor.
type Names = (String, String, Option<String>);

/// Which functions of a tensor are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moving {
    /// The one that packs.
    pub pack: bool,
    /// The one that unpacks.
    pub unpack: bool,
    /// The one whose result inputs are compared with.
    pub expand: bool,
}

impl Moving {
    /// All functions.
    pub const ALL: Moving = Moving { pack: true, unpack: true, expand: true };
}

/// Builds the data movement for all packed tensors of a computation. Dynamic tensors have no packed layout, so there
/// are no functions with their names.
pub fn movement(
    inferred: &Inferred,
    layouts: &[Layout],
    kernel: &Computation,
) -> Result<Movement, SchedError> {
    let all = vec![Moving::ALL; layouts.len()];
    let mut result = some_movement(inferred, layouts, kernel, &all)?;
    sizes(inferred, &mut result.module);
    Ok(result)
}

/// As [`movement`], but only with functions that are asked for, by tensor: those that a run calls. Names of `expand`
/// are left out where the function is.
pub fn some_movement(
    inferred: &Inferred,
    layouts: &[Layout],
    kernel: &Computation,
    wanted: &[Moving],
) -> Result<Movement, SchedError> {
    let module = Module { functions: Vec::new(), ..kernel.module.clone() };
    let mut result = Movement { module, functions: Vec::new() };
    let mut used: Vec<String> = kernel.phases.iter().map(|phase| phase.name.clone()).collect();
    used.push("sizes".into());
    for id in inferred.program.tensor_ids() {
        let mover = Mover { inferred, layout: &layouts[id.0], id };
        let name = |kind: &str, used: &mut Vec<String>| {
            let mut name = format!("{kind}_{}", inferred.program.tensor(id).name.replace('.', "_"));
            while used.contains(&name) {
                name.push('_');
            }
            used.push(name.clone());
            name
        };
        let names = (name("pack", &mut used), name("unpack", &mut used));
        let is_input = inferred.program.tensor(id).rule().is_none();
        let moving = wanted.get(id.0).copied().unwrap_or_default();
        let expand = is_input.then(|| name("expand", &mut used)).filter(|_| moving.expand);
        let functions = (names.0, names.1, expand);
        if inferred.program.tensor(id).format.is_some() {
            result.functions.push(functions);
            continue;
        }
        mover
            .functions(&mut result.module, &functions, moving)
            .map_err(|error| error.blamed("the data movement", inferred, id))?;
        result.functions.push(functions);
    }
    Ok(result)
}

/// Sets all elements of a buffer to 0. The bound of a loop must not be a selection, so `place = 0 to select(c, a, b)`
/// becomes `if c { place = 0 to a } else { place = 0 to b }`.
pub(crate) fn clear(function: &mut Function, buffer: BufferId, size: Index) -> Vec<Stmt> {
    match size {
        Index::Const(0) => Vec::new(),
        Index::Select(condition, then, otherwise) => {
            let then = clear(function, buffer, *then);
            let otherwise = clear(function, buffer, *otherwise);
            vec![Stmt::If(If { condition: *condition, then, otherwise })]
        }
        size => {
            let place = function.fresh_var("place");
            let zero = Stmt::set(buffer, Index::var(place), Value::constant(0.0));
            vec![Stmt::For(For::new(place, Index::constant(0), size, vec![zero]))]
        }
    }
}

/// Writes the number of elements of packed buffer `k` to `sizes[k]`.
fn sizes(inferred: &Inferred, module: &mut Module) {
    let count = inferred.program.tensors.iter().map(|_| 1).sum();
    let out = module.fresh_buffer("packed.sizes", Element::I64, Index::constant(count));
    let mut function = Function::new("sizes", vec![(out, Mode::Out)]);
    for (at, id) in (0..).map(Index::constant).zip(inferred.program.tensor_ids()) {
        let size = module.buffers[id.0].size.clone();
        function.body.push(Stmt::set(out, at, Value::from_index(size)));
    }
    module.functions.push(function);
}

/// Loads the unique element at the given subscripts.
type Read<'a> = &'a dyn Fn(&Scope<'_>, &[Index]) -> Result<Value, SchedError>;

struct Mover<'a> {
    inferred: &'a Inferred,
    layout: &'a Layout,
    id: TensorId,
}

impl Mover<'_> {
    fn functions(
        &self,
        module: &mut Module,
        names: &Names,
        moving: Moving,
    ) -> Result<(), SchedError> {
        let (pack, unpack, expand) = names;
        if moving == Moving::default() {
            return Ok(());
        }
        let (extents, dense) = self.dense(module, "dense")?;
        if moving.pack {
            self.pack(module, pack, dense, &extents)?;
        }
        if moving.unpack {
            self.unpack(module, unpack, dense, &extents)?;
        }
        if let Some(expand) = expand {
            let (_, expanded) = self.dense(module, "expanded")?;
            self.expand(module, expand, dense, expanded, &extents)?;
        }
        Ok(())
    }

    fn iterators(&self) -> &[String] {
        &self.inferred.tensors[self.id.0].iterators
    }

    /// A dense buffer for the whole box of the tensor, and its extents.
    fn dense(
        &self,
        module: &mut Module,
        suffix: &str,
    ) -> Result<(Vec<Index>, BufferId), SchedError> {
        let extents = extents(self.inferred, module, self.id)?;
        let element = self.inferred.program.tensor(self.id).element;
        let size = extents.iter().cloned().fold(Index::constant(1), |a, b| a * b);
        let name = format!("{}.{suffix}", self.inferred.program.tensor(self.id).name);
        // The program may have a tensor of this name.
        Ok((extents, module.fresh_buffer(name, element, size)))
    }

    /// The position in C order.
    fn row_major(
        &self,
        scope: &Scope<'_>,
        subscripts: &[Affine],
        extents: &[Index],
    ) -> Result<Index, SchedError> {
        let mut position = Index::constant(0);
        for (subscript, extent) in subscripts.iter().zip(extents) {
            let subscript = affine_to_index(subscript, &|name| scope.resolve(name))?;
            position = position * extent.clone() + subscript;
        }
        Ok(position)
    }

    fn stored<'b>(&'b self, module: &'b Module) -> Elements<'b> {
        let structured = &self.inferred.tensors[self.id.0];
        Elements { sets: &self.inferred.sets, module, layout: self.layout, structured }
    }

    fn here(&self) -> Vec<Affine> {
        Affine::each(self.iterators())
    }

    /// Scans a set of the tensor's elements in the given order.
    fn scan(
        &self,
        module: &Module,
        function: &mut Function,
        domain: &Set,
        order: &[usize],
        leaf: &mut crate::Leaf<'_>,
    ) -> Result<Vec<Stmt>, SchedError> {
        let iterators: Vec<String> = order.iter().map(|&k| self.iterators()[k].clone()).collect();
        let scan = Scan {
            sets: &self.inferred.sets,
            module,
            iterators: &iterators,
            domain: &domain.permute(order)?,
            parallel: &vec![true; iterators.len()],
            tiles: &[],
        };
        scan.nest(function, leaf)
    }

    fn pack(
        &self,
        module: &mut Module,
        name: &str,
        dense: BufferId,
        extents: &[Index],
    ) -> Result<(), SchedError> {
        let packed = buffer(self.id);
        let mut function = Function::new(name, vec![(dense, Mode::In), (packed, Mode::Out)]);
        let here = self.here();
        let body = self.stored(module).nests(None, &mut function, &mut |scope, to| {
            let from = self.row_major(scope, &here, extents)?;
            Ok(vec![Stmt::set(packed, to, Value::load(dense, from))])
        })?;
        if self.layout.padded {
            // Padding is never read, but buffers that are written to a file or hashed should not depend on what the
            // memory held before.
            let size = module.buffers[self.id.0].size.clone();
            let clear = clear(&mut function, packed, size);
            function.body.extend(clear);
        }
        function.body.extend(body);
        module.functions.push(function);
        Ok(())
    }

    fn unpack(
        &self,
        module: &mut Module,
        name: &str,
        dense: BufferId,
        extents: &[Index],
    ) -> Result<(), SchedError> {
        let packed = buffer(self.id);
        let mut function = Function::new(name, vec![(packed, Mode::In), (dense, Mode::Out)]);
        let mut body = self.zero(module, &mut function, dense, extents)?;
        let here = self.here();
        body.extend(self.stored(module).nests(None, &mut function, &mut |scope, from| {
            let to = self.row_major(scope, &here, extents)?;
            Ok(vec![Stmt::set(dense, to, Value::load(packed, from))])
        })?);
        let read = |scope: &Scope<'_>, subscripts: &[Index]| -> Result<Value, SchedError> {
            let position = self.layout.position(subscripts, &|name| scope.resolve(name))?;
            Ok(Value::load(packed, position))
        };
        body.extend(self.redundant(module, &mut function, dense, extents, true, &read)?);
        function.body = body;
        module.functions.push(function);
        Ok(())
    }

    fn expand(
        &self,
        module: &mut Module,
        name: &str,
        dense: BufferId,
        expanded: BufferId,
        extents: &[Index],
    ) -> Result<(), SchedError> {
        let mut function = Function::new(name, vec![(dense, Mode::In), (expanded, Mode::Out)]);
        let mut body = self.zero(module, &mut function, expanded, extents)?;
        let here = self.here();
        let order: Vec<usize> = (0..self.iterators().len()).collect();
        let unique = &self.inferred.tensors[self.id.0].unique;
        body.extend(self.scan(module, &mut function, unique, &order, &mut |scope, _| {
            let at = self.row_major(scope, &here, extents)?;
            Ok(vec![Stmt::set(expanded, at.clone(), Value::load(dense, at))])
        })?);
        let read = |_: &Scope<'_>, subscripts: &[Index]| -> Result<Value, SchedError> {
            let position = subscripts
                .iter()
                .zip(extents)
                .fold(Index::constant(0), |sum, (s, extent)| sum * extent.clone() + s.clone());
            Ok(Value::load(dense, position))
        };
        body.extend(self.redundant(module, &mut function, expanded, extents, false, &read)?);
        function.body = body;
        module.functions.push(function);
        Ok(())
    }

    /// The tensor's box.
    fn whole(&self) -> Result<Set, SchedError> {
        let structured = &self.inferred.tensors[self.id.0];
        Ok(self.inferred.sets.box_set(&structured.iterators, &structured.extents)?)
    }

    /// Sets a dense array to the value of elements without products.
    fn zero(
        &self,
        module: &Module,
        function: &mut Function,
        dense: BufferId,
        extents: &[Index],
    ) -> Result<Vec<Stmt>, SchedError> {
        let domain = self.whole()?;
        let order: Vec<usize> = (0..self.iterators().len()).collect();
        let here = self.here();
        let zero = self.inferred.program.zero(self.id);
        self.scan(module, function, &domain, &order, &mut |scope, _| {
            let at = self.row_major(scope, &here, extents)?;
            Ok(vec![Stmt::set(dense, at, Value::constant(zero))])
        })
    }

    /// Writes all redundant elements or, if `stored_only`, those whose unique element is stored.
    fn redundant(
        &self,
        module: &Module,
        function: &mut Function,
        target: BufferId,
        extents: &[Index],
        stored_only: bool,
        read: Read<'_>,
    ) -> Result<Vec<Stmt>, SchedError> {
        let here = self.here();
        let order: Vec<usize> = (0..self.iterators().len()).collect();
        let mut body = Vec::new();
        for Region { domain, sources, sorted, coefficient } in self.regions(stored_only)? {
            body.extend(self.scan(module, function, &domain, &order, &mut |scope, function| {
                let mut subscripts = Vec::new();
                for source in &sources {
                    subscripts.push(affine_to_index(source, &|name| scope.resolve(name))?);
                }
                let mut lets = Vec::new();
                sort(&sorted, &mut subscripts, function, &mut lets);
                let at = self.row_major(scope, &here, extents)?;
                let value = self.scaled(module, &coefficient, read(scope, &subscripts)?)?;
                Ok(with_lets(lets, vec![Stmt::set(target, at, value)], &module.buffers))
            })?);
        }
        Ok(body)
    }

    /// `coefficient * value`.
    fn scaled(
        &self,
        module: &Module,
        coefficient: &Coefficient,
        value: Value,
    ) -> Result<Value, SchedError> {
        let sets = &self.inferred.sets;
        let mut value = Value::constant(coefficient.factor()) * value;
        for (index, reciprocal) in coefficient.symbol_factors() {
            let name = sets.names.symbol(index);
            let factor = symbol(module, sets, name).map(Value::from_index);
            let factor = factor.ok_or_else(|| SchedError::UnknownName(name.into()))?;
            value = if reciprocal { value / factor } else { value * factor };
        }
        Ok(value)
    }

    /// The redundancy map as regions with one formula each.
    fn regions(&self, stored_only: bool) -> Result<Vec<Region>, SchedError> {
        let mut regions = Vec::new();
        for piece in &self.inferred.tensors[self.id.0].redundancy {
            match piece {
                Redundancy::Sorted { domain, classes } => regions.push(Region {
                    domain: domain.clone(),
                    sources: self.here(),
                    sorted: classes.clone(),
                    coefficient: Coefficient::one(),
                }),
                Redundancy::Affine { map, coefficient } => {
                    let map = if stored_only {
                        map.intersect_range(&self.layout.stored)?
                    } else {
                        map.clone()
                    };
                    for (domain, outputs) in map.as_pieces()? {
                        let mut sources = Vec::new();
                        for output in &outputs {
                            let source = Affine::of_integers(&output.expr()?, self.iterators());
                            sources.push(
                                source
                                    .ok_or_else(|| Unsupported::RedundancyMap(map.to_string()))?,
                            );
                        }
                        let (sorted, coefficient) = (Vec::new(), coefficient.clone());
                        regions.push(Region { domain, sources, sorted, coefficient });
                    }
                }
            }
        }
        Ok(regions)
    }
}

/// A region of a redundancy map: `T(x) = coefficient * T(sources(x))`, after the sources of each class were sorted.
struct Region {
    domain: Set,
    sources: Vec<Affine>,
    sorted: Vec<Vec<usize>>,
    coefficient: Coefficient,
}
