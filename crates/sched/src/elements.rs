//! The elements of a tensor as loops, and their positions: used by computations and by data movement.

use dastac_layout::{Layout, Resolve, affine_to_index};
use dastac_loops::{
    Buffer, BufferId, Compare, For, Function, Index, Module, Stmt, VarId, reduction,
};
use dastac_poly::Set;
use dastac_stur::TensorId;
use dastac_stur::ast::CompareOp;
use dastac_stur::infer::{Inferred, Read, Statement, Structured};
use dastac_stur::sets::Sets;

use crate::SchedError;
use crate::nest::{Scan, Scope, symbol};

/// The extents of a tensor's box.
pub(crate) fn extents(
    inferred: &Inferred,
    module: &Module,
    tensor: TensorId,
) -> Result<Vec<Index>, SchedError> {
    let mut extents = Vec::new();
    for extent in &inferred.tensors[tensor.0].extents {
        let mut regions = Vec::new();
        for bounds in &extent.regions {
            let mut values = Vec::new();
            for bound in bounds {
                values.push(affine_to_index(bound, &|n| symbol(module, &inferred.sets, n))?);
            }
            regions.extend(values.into_iter().reduce(Index::min));
        }
        let extent = regions.into_iter().reduce(Index::max).unwrap_or(Index::constant(0));
        extents.push(match extent {
            Index::Symbol(_) => extent, // symbols are not negative
            _ => extent.max(Index::constant(0)),
        });
    }
    Ok(extents)
}

/// The packed buffer of a tensor. Its number fits: programs with more tensors than modules have buffers are refused
/// when their module is made.
#[allow(clippy::cast_possible_truncation)]
pub(crate) fn buffer(tensor: TensorId) -> BufferId {
    BufferId(tensor.0 as u32)
}

/// The elements that a read of a statement reaches, in the order of the layout.
pub(crate) fn reached(
    sets: &Sets,
    layout: &Layout,
    statement: &Statement,
    read: &Read,
) -> Result<Set, SchedError> {
    let reached = if read.sorted.is_empty() {
        statement.domain.apply(&sets.access(&statement.iterators, &read.subscripts)?)?
    } else {
        layout.stored.clone()
    };
    Ok(reached.permute(&layout.order)?)
}

/// A comparison of the program, in the loop IR.
pub(crate) fn comparison(operator: CompareOp) -> Compare {
    match operator {
        CompareOp::Eq => Compare::Eq,
        CompareOp::Ne => Compare::Ne,
        CompareOp::Lt => Compare::Lt,
        CompareOp::Le => Compare::Le,
        CompareOp::Gt => Compare::Gt,
        CompareOp::Ge => Compare::Ge,
    }
}

pub(crate) fn resolved(names: &[String], resolve: Resolve<'_>) -> Result<Vec<Index>, SchedError> {
    names
        .iter()
        .map(|name| resolve(name).ok_or_else(|| SchedError::UnknownName(name.clone())))
        .collect()
}

/// The parts of the stored elements that are not empty, in the order of the layout.
fn domains(layout: &Layout) -> Result<Vec<Set>, SchedError> {
    let mut domains = Vec::new();
    for part in &layout.parts {
        // If a layout has only one part, the set of stored elements may be described more simply than the domain of
        // that part.
        let part = if layout.parts.len() == 1 { &layout.stored } else { &part.domain };
        if !part.is_empty()? {
            domains.push(part.permute(&layout.order)?);
        }
    }
    Ok(domains)
}

/// Builds the statements for one element, given its position.
type AtElement<'a> = dyn FnMut(&Scope<'_>, Index) -> Result<Vec<Stmt>, SchedError> + 'a;

/// The stored elements of a tensor that loops are to visit.
pub(crate) struct Elements<'a> {
    pub sets: &'a Sets,
    pub module: &'a Module,
    pub layout: &'a Layout,
    pub structured: &'a Structured,
}

impl Elements<'_> {
    /// Loops over all elements, or some of them, one nest for each part of the layout, with `leaf` at each element and
    /// its position.
    pub(crate) fn nests(
        &self,
        some: Option<&Set>,
        function: &mut Function,
        leaf: &mut AtElement<'_>,
    ) -> Result<Vec<Stmt>, SchedError> {
        let Elements { sets, module, layout, structured } = *self;
        let iterators: Vec<String> =
            layout.order.iter().map(|&k| structured.iterators[k].clone()).collect();
        let mut domains = domains(layout)?;
        if let Some(some) = some {
            let some = some.permute(&layout.order)?;
            let within = |domain: &Set| some.intersect(domain)?.coalesce();
            domains = domains.iter().map(within).collect::<Result<_, _>>()?;
            let empty: Vec<bool> = domains.iter().map(Set::is_empty).collect::<Result<_, _>>()?;
            domains =
                domains.into_iter().zip(empty).filter(|one| !one.1).map(|one| one.0).collect();
        }
        let Some(domain) = domains.first() else { return Ok(Vec::new()) };
        let parallel = &vec![true; iterators.len()];
        let scan = Scan { sets, module, iterators: &iterators, domain, parallel, tiles: &[] };
        let mut nests = Vec::new();
        for (ast, known) in scan.asts(&domains)?.into_iter().zip(&domains) {
            nests.extend(scan.nest_of(ast, function, &mut |scope, _| {
                let resolve = |name: &str| scope.resolve(name);
                let subscripts = resolved(&structured.iterators, &resolve)?;
                let position = layout.position_within(known, &subscripts, &resolve)?;
                leaf(scope, position)
            })?);
        }
        Ok(nests)
    }
}

/// Sorts the subscripts of each class ascending by compare-exchange; each minimum and maximum becomes a variable, so
/// that expressions stay small.
pub(crate) fn sort(
    classes: &[Vec<usize>],
    subscripts: &mut [Index],
    function: &mut Function,
    lets: &mut Vec<(VarId, Index)>,
) {
    sorted(classes, subscripts, &mut |low, high| {
        let vars = (function.fresh_var("low"), function.fresh_var("high"));
        lets.extend([(vars.0, low), (vars.1, high)]);
        (Index::var(vars.0), Index::var(vars.1))
    });
}

/// Sorts the subscripts of each class ascending by compare-exchange. `bind` returns what stands for a minimum or
/// maximum.
pub(crate) fn sorted(
    classes: &[Vec<usize>],
    subscripts: &mut [Index],
    bind: &mut dyn FnMut(Index, Index) -> (Index, Index),
) {
    for class in classes {
        for end in (1..class.len()).rev() {
            for k in 0..end {
                let (a, b) = (subscripts[class[k]].clone(), subscripts[class[k + 1]].clone());
                let (low, high) = bind(a.clone().min(b.clone()), a.max(b));
                (subscripts[class[k]], subscripts[class[k + 1]]) = (low, high);
            }
        }
    }
}

/// Binds variables by loops of one iteration, which are sums where they accumulate.
pub(crate) fn with_lets(
    lets: Vec<(VarId, Index)>,
    body: Vec<Stmt>,
    buffers: &[Buffer],
) -> Vec<Stmt> {
    lets.into_iter().rev().fold(body, |body, (var, value)| {
        vec![reduction::sum_of(For::new(var, value.clone(), value + 1, body), buffers)]
    })
}
