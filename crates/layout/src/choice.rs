//! What a program asks of the layouts of its tensors: which elements have a place, and in which order.

use std::collections::{BTreeMap, BTreeSet};

use dastac_poly::{Context, Equality, Set};
use dastac_stur::infer::{Inferred, InferredRule, Read, Statement, Structured, infer};
use dastac_stur::program::{Tensor, TensorId};
use dastac_stur::sets::Affine;

use crate::align::Rows;
use crate::builder::Builder;
use crate::family::{bound, is_as_simple, shared};
use crate::whole::is_nearly_full;
use crate::{Layout, LayoutError};

impl Layout {
    /// The layout of a set of elements, in lexicographic order if that gives a simple index.
    ///
    /// # Errors
    /// An infinite set, a failure of isl, Barvinok not being there.
    pub fn from_set(stored: &Set) -> Result<Layout, LayoutError> {
        Layout::builder(stored).build()
    }

    /// The layout of a set of elements, packed with position `order[0]` slowest if that gives a simple index.
    pub fn with_order(stored: &Set, order: &[usize]) -> Result<Layout, LayoutError> {
        Layout::builder(stored).loop_order(order).build()
    }

    /// The layout of one tensor of a program.
    pub fn from_stur(source: &str, tensor: &str) -> Result<Layout, LayoutError> {
        let (program, _) = dastac_stur::load(source).map_err(LayoutError::Program)?;
        let inferred = infer(&program, &Context::new()?)?;
        match inferred.program.find(tensor) {
            Some(id) => Layout::of(&inferred, id),
            None => Err(LayoutError::UnknownTensor(tensor.into())),
        }
    }

    /// The layout of one tensor of an inferred program: one buffer for all elements that its rules and products use.
    ///
    /// # Errors
    /// A diagnostic that names the tensor if its structure or its `layout:` is the cause; failures of isl.
    pub fn of(inferred: &Inferred, tensor: TensorId) -> Result<Layout, LayoutError> {
        let blamed = |error: LayoutError| error.blamed("the layout", &inferred.program, tensor);
        let layout = Layout::asked(inferred, tensor)?.build().map_err(blamed)?;
        Ok(layout.with_structure(&inferred.tensors[tensor.0]))
    }

    /// Checks that a tensor can be laid out as `layout:` says, without computing the layout.
    ///
    /// # Errors
    /// A diagnostic for rows with gaps that are to be aligned, or for sets that are too complex; failures of isl.
    pub fn check_choice(inferred: &Inferred, tensor: TensorId) -> Result<(), LayoutError> {
        let check = || {
            let choice = inferred.program.tensor(tensor).layout.as_ref();
            let Some(choice) = choice.filter(|choice| choice.align.unwrap_or(1) > 1) else {
                return Ok(());
            };
            let used = inferred.used(tensor)?;
            let appearance = appearance_order(inferred, tensor);
            let order = choice.order.as_ref().unwrap_or(&appearance);
            Rows::of(&used.permute(order)?).map(|_| ())
        };
        check().map_err(|error: LayoutError| error.blamed("the layout", &inferred.program, tensor))
    }

    /// What a program asks of a tensor's layout.
    pub(crate) fn asked(inferred: &Inferred, tensor: TensorId) -> Result<Builder, LayoutError> {
        let asked = || -> Result<Builder, LayoutError> {
            let stored = stored(inferred, tensor)?;
            let mut builder = Layout::builder(&stored)
                .loop_order(&appearance_order(inferred, tensor))
                .regions(regions(inferred, tensor, &stored)?)
                .padding(true);
            let structured = &inferred.tensors[tensor.0];
            let whole = inferred.sets.box_set(&structured.iterators, &structured.extents)?;
            let tensors = &inferred.program.tensors;
            let is_declared = |one: &Tensor| one.unique.is_some() || one.redundancy.is_some();
            builder = builder.unstructured(!tensors.iter().any(is_declared));
            builder = match is_nearly_full(&stored, &whole)? {
                true => builder.within(whole),
                false => builder.whole(whole),
            };
            let unique = &inferred.tensors[tensor.0].unique;
            if !unique.is_subset(&stored)? {
                builder = builder.enclosing(unique.with_dim_names(&stored.dims()?)?);
            }
            if inferred.copies.contains_key(&tensor) {
                builder = builder
                    .around(structured.around(&inferred.sets)?.with_dim_names(&stored.dims()?)?);
            }
            if let Some(choice) = &inferred.program.tensor(tensor).layout {
                if let Some(order) = &choice.order {
                    builder = builder.order(order);
                }
                builder = builder.align(choice.align.unwrap_or(1));
            }
            Ok(builder)
        };
        asked().map_err(|error| error.blamed("the layout", &inferred.program, tensor))
    }

    /// Adds what inference found out about the tensor.
    pub(crate) fn with_structure(self, structured: &Structured) -> Layout {
        let (unique, redundancy) = (structured.unique.clone(), structured.redundancy.clone());
        Layout { unique, redundancy, ..self }
    }

    /// The layouts of all tensors of an inferred program, as [`Layout::of`] finds them for each.
    ///
    /// # Errors
    /// As [`Layout::of`].
    pub fn all(inferred: &Inferred) -> Result<Vec<Layout>, LayoutError> {
        // The format of a dynamic tensor determines its arrays: nothing is packed, and nothing has to be counted.
        let dynamic = |id: &TensorId| inferred.program.tensor(*id).format.is_some();
        let (boxes, tensors): (Vec<TensorId>, Vec<TensorId>) =
            inferred.program.tensor_ids().partition(dynamic);
        let mut known = Vec::new();
        for id in boxes {
            known.push((id, Layout::dense(inferred, id).or_else(|_| Layout::of(inferred, id))?));
        }
        let mut builders: Vec<Builder> = Vec::new();
        for id in &tensors {
            builders.push(Layout::asked(inferred, *id)?);
        }
        // Sets that have the same order of loops, and for whose layout nothing else was chosen.
        let mut alike: BTreeMap<&[usize], Vec<usize>> = BTreeMap::new();
        for (k, builder) in builders.iter().enumerate() {
            if let Some(order) = builder.plain_order() {
                alike.entry(order).or_default().push(k);
            }
        }
        let mut layouts: Vec<Option<Layout>> = vec![None; tensors.len()];
        for places in alike.values() {
            let sets: Vec<Set> = places.iter().map(|k| builders[*k].stored().clone()).collect();
            let found = shared(
                &sets,
                &|k, set| {
                    let blamed = |error: LayoutError| {
                        error.blamed("the layout", &inferred.program, tensors[places[k]])
                    };
                    builders[places[k]].clone().elements(set).build().map_err(blamed)
                },
                &|family: &Layout, own| {
                    family.parts.len() == 1 && is_as_simple(&family.index, &own.index)
                },
                &|family, binding, k| bound(family, binding, &sets[k]),
            )?;
            for (k, layout) in places.iter().zip(found) {
                layouts[*k] = layout;
            }
        }
        let mut all = known;
        for ((id, builder), layout) in tensors.iter().zip(builders).zip(layouts) {
            let blamed = |error: LayoutError| error.blamed("the layout", &inferred.program, *id);
            let layout = layout.map_or_else(|| builder.build(), Ok).map_err(blamed)?;
            all.push((*id, layout.with_structure(&inferred.tensors[id.0])));
        }
        all.sort_by_key(|(id, _)| *id);
        Ok(all.into_iter().map(|(_, layout)| layout).collect())
    }
}

/// The distinct sets of a tensor's elements that its accesses use, in program order, if there are several: the elements
/// that the statements of a computed tensor write, or those that are read of an input. What else is `stored` because of
/// loops over levels is one more.
fn regions(inferred: &Inferred, tensor: TensorId, stored: &Set) -> Result<Vec<Set>, LayoutError> {
    let rule = inferred.program.tensor(tensor).rule();
    let computed = rule.is_some();
    let mut regions = Vec::new();
    let mut seen = BTreeSet::new();
    // Every element of a computed tensor that is read was written.
    let accesses: Vec<_> =
        inferred.accesses(tensor).filter(|access| access.read.is_none() == computed).collect();
    if accesses.len() <= 1 {
        return Ok(regions); // all that is stored
    }
    for access in accesses {
        if access.is_sorted() {
            return Ok(Vec::new());
        }
        let region = access.elements(&inferred.sets)?;
        // Sets with equal text are equal; subtraction finds those that are equal but described differently.
        if seen.insert(region.to_string()) {
            regions.push(region);
        }
    }
    let over_levels = match rule {
        Some(rule) => inferred.program.is_over_levels(rule),
        None => is_read_over_levels(inferred, tensor),
    };
    if over_levels && let Some(all) = Set::union_of(&regions)? {
        let rest = stored.subtract(&all)?;
        if !rest.is_empty()? {
            regions.push(rest.coalesce()?);
        }
    }
    Ok(regions)
}

/// The positions of a tensor, in the order in which their iterators appear in the loops of one access: that of the rule
/// that computes the tensor, or else of the first rule that reads it, where it visits most.
///
/// One position of an operand may move to the end: the one along which the innermost iterator of the head runs, if no
/// other operand has this iterator and other iterators of the head read the operand again. Then elements that are
/// contiguous in the result are contiguous in the operand too, as those of `B(k, j)` in `C(i, j) := A(i, k) * B(k, j)`.
/// Where loops go over levels, so may the positions of the iterators next to it, in the order of the head: a pixel of
/// `O(f, h, w) := F(f, c) * I(c, h, w)` is a number of one row.
pub fn appearance_order(inferred: &Inferred, tensor: TensorId) -> Vec<usize> {
    let rank = inferred.tensors[tensor.0].iterators.len();
    let mut order: Vec<usize> = (0..rank).collect();
    for rule in &inferred.rules {
        let reads = |one: &&Statement| one.reads.iter().any(|read| read.tensor == tensor);
        let about = |one: &&Statement| rule.head == tensor || reads(one);
        let mut statements: Vec<&Statement> = rule.statements.iter().filter(about).collect();
        // Neither a diagonal nor a row says anything of an order.
        let lost = |statement: &&Statement| {
            let read = statement.reads.iter().find(|read| read.tensor == tensor);
            let subscripts = read.map(|read| &read.subscripts[..]).unwrap_or_default();
            let constant = subscripts.iter().filter(|one| one.names().is_empty()).count();
            equalities(&statement.domain) + constant
        };
        statements.sort_by_cached_key(lost);
        for statement in statements {
            let position_of = |names: std::collections::BTreeSet<String>| {
                names.iter().filter_map(|n| statement.iterators.iter().position(|i| i == n)).max()
            };
            if rule.head == tensor {
                let iterators = &inferred.program.rules[rule.rule.0].iterators;
                order.sort_by_key(|&k| position_of([iterators[k].clone()].into()));
                return order;
            }
            if inferred.program.tensor(tensor).rule().is_some() {
                continue;
            }
            if let Some(read) = statement.reads.iter().find(|read| read.tensor == tensor) {
                order.sort_by_key(|&k| position_of(read.subscripts[k].names()));
                let heads = &inferred.program.rules[rule.rule.0].iterators;
                let most = if inferred.program.is_over_levels(rule.rule) { rank } else { 1 };
                let along = along_the_result(statement, heads, read, most);
                order.retain(|other| !along.contains(other));
                order.extend(along.iter().rev());
                return order;
            }
        }
    }
    order
}

/// How many dimensions of a set other ones determine, where it has most.
fn equalities(set: &Set) -> usize {
    let of = |basic: &Vec<Equality>| {
        let equality = |one: &&Equality| one.modulus == 0 && one.dims.iter().any(|by| *by != 0);
        basic.iter().filter(equality).count()
    };
    set.equalities().unwrap_or_default().iter().map(of).min().unwrap_or(0)
}

/// The positions of an operand along which the innermost iterators of the head run, the innermost first and at most so
/// many, if the operand should be contiguous there: see [`appearance_order`].
fn along_the_result(
    statement: &Statement,
    heads: &[String],
    read: &Read,
    most: usize,
) -> Vec<usize> {
    let innermost = statement.iterators.iter().rev().filter(|name| heads.contains(name));
    let mentions =
        |read: &Read, name: &String| read.subscripts.iter().any(|s| s.names().contains(name));
    let again = heads.iter().any(|head| !mentions(read, head));
    let summed =
        statement.iterators.iter().any(|name| !heads.contains(name) && mentions(read, name));
    if !again || !summed {
        return Vec::new();
    }
    let place = |name: &String| {
        let alone = statement.reads.iter().filter(|other| mentions(other, name)).count() == 1;
        let place = read.subscripts.iter().position(|s| *s == Affine::name(name))?;
        let once = read.subscripts.iter().filter(|s| s.names().contains(name)).count() == 1;
        (alone && once).then_some(place)
    };
    innermost.map_while(place).take(most).collect()
}

/// Whether loops over levels read a tensor.
fn is_read_over_levels(inferred: &Inferred, tensor: TensorId) -> bool {
    inferred.rules.iter().any(|rule: &InferredRule| {
        let mut reads = rule.statements.iter().flat_map(|statement| &statement.reads);
        inferred.program.is_over_levels(rule.rule) && reads.any(|read| read.tensor == tensor)
    })
}

/// The elements that have a place. Loops over levels visit all elements of a head, even if there is nothing to add up,
/// so all of them are stored, whatever the other extents are. All elements of an input are stored if such loops read
/// it, because only the tensors that they walk determine which elements they visit.
fn stored(inferred: &Inferred, tensor: TensorId) -> Result<Set, LayoutError> {
    let program = &inferred.program;
    let structured = &inferred.tensors[tensor.0];
    let computed = program.tensor(tensor).rule();
    if computed.is_none() && is_read_over_levels(inferred, tensor) {
        return Ok(structured.unique.clone());
    }
    let used = inferred.used(tensor)?;
    if !computed.is_some_and(|rule| program.is_over_levels(rule)) {
        return Ok(used);
    }
    let dims = used.dims()?;
    let all = inferred.sets.box_set(&structured.iterators, &structured.extents)?;
    let stored = if used.is_empty()? {
        used
    } else {
        let used = used.gist_params(&used.params_set()?)?.with_dim_names(&all.dims()?)?;
        used.intersect(&all)?.simplify()?
    };
    Ok(stored.with_dim_names(&dims)?)
}
