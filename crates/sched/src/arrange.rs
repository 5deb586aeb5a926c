//! Carries out `schedule:`. The order of loops and the loops over blocks are made here, by isl; the rest becomes hints
//! for the passes that make tiles.
//!
//! isl derives the bounds for the order that is wanted, whatever form the domain has.
//!
//! Before -> after, `reorder(j, i), tile(j=64)`: `i = 0 to N, j = i to N` -> `j.block = 0 to N step 64, j = j.block to
//! min(N, j.block + 64), i = 0 to j + 1`.

use dastac_loops::{Function, Hint, Stmt, Value, VarId, lanes};
use dastac_poly::{Map, Set};
use dastac_stur::infer::Statement;
use dastac_stur::program::Rule;
use dastac_stur::schedule::Schedule;
use dastac_stur::sets::Sets;

use crate::SchedError;

/// A statement with its loops in the order of a schedule. The loop that is put in vector lanes becomes the innermost
/// one if `innermost` asks for it.
pub(crate) fn arranged(
    sets: &Sets,
    statement: &Statement,
    schedule: &Schedule,
    innermost: bool,
) -> Result<Statement, SchedError> {
    let mut iterators = schedule.ordered(&statement.iterators);
    if innermost
        && let Some(lanes) = &schedule.vectorize
        && let Some(at) = iterators.iter().position(|name| name == lanes)
    {
        let name = iterators.remove(at);
        iterators.push(name);
    }
    if iterators == statement.iterators {
        return Ok(statement.clone());
    }
    let place = |name: &String| statement.iterators.iter().position(|other| other == name);
    let order: Vec<usize> = iterators.iter().filter_map(place).collect();
    let names: Vec<&str> = iterators.iter().map(|name| sets.names.isl(name)).collect();
    let domain = statement.domain.permute(&order)?.with_dim_names(&names)?;
    Ok(Statement { iterators, domain, ..statement.clone() })
}

/// Whether everything that is computed can be put in the lanes of the loop with this name, with the sums inside.
pub(crate) fn in_lanes(function: &Function, body: &[Stmt], name: &str) -> bool {
    fn all(function: &Function, body: &[Stmt], name: &str, around: Option<VarId>) -> bool {
        body.iter().all(|stmt| match stmt {
            Stmt::For(inner) => {
                let known = function.vars.get(inner.var.0 as usize).is_some_and(|var| var == name);
                let around = if known { Some(inner.var) } else { around };
                all(function, &inner.body, name, around)
            }
            Stmt::Partitioned(inner) => all(function, &inner.body, name, around),
            Stmt::Team(_)
            | Stmt::Call(_)
            | Stmt::Register(_)
            | Stmt::While(_)
            | Stmt::CoIter(_)
            | Stmt::Append(_)
            | Stmt::Workspace(_)
            | Stmt::Let(_)
            | Stmt::Scan(_) => false,
            Stmt::Partial(inner) => all(function, &inner.body, name, around),
            Stmt::If(inner) => {
                let parts = [&inner.then, &inner.otherwise];
                parts.into_iter().all(|part| all(function, part, name, around))
            }
            // The order in which elements are cleared does not matter.
            Stmt::Store(store) => {
                matches!(store.value, Value::Const(_))
                    || around.is_some_and(|var| lanes::of_elements(store, var))
            }
        })
    }
    all(function, body, name, None)
}

/// The name of the loop over blocks of an iterator. No iterator can have such a name.
pub(crate) fn block_name(sets: &Sets, iterator: &str) -> String {
    format!("{}.block", sets.names.isl(iterator))
}

/// The loops over blocks of a statement with these loops: the loop that each cuts, and how many iterations a block has.
pub(crate) fn tiles(schedule: &Schedule, loops: &[String]) -> Vec<(usize, i64)> {
    let tiles = schedule.tiles.iter().filter(|(_, size)| *size > 1);
    let place = |name: &String| loops.iter().position(|other| other == name);
    tiles.filter_map(|(name, size)| Some((place(name)?, *size))).collect()
}

/// Maps each point to the time at which it is visited: first its blocks, then the point itself.
pub(crate) fn order_of(domain: &Set, tiles: &[(usize, i64)]) -> Result<Map, SchedError> {
    if tiles.is_empty() {
        return Ok(domain.identity()?);
    }
    let dims: Vec<String> = (0..domain.rank()).map(|dim| format!("d{dim}")).collect();
    let blocks = tiles.iter().map(|(dim, size)| format!("{size} * floor(d{dim}/{size})"));
    let order: Vec<String> = blocks.chain(dims.iter().cloned()).collect();
    let text = format!("{{ [{}] -> [{}] }}", dims.join(", "), order.join(", "));
    Ok(Map::parse(domain.context(), &text)?.intersect_domain(domain)?)
}

/// Attaches the parts of a schedule that later passes carry out as hints to the variables of its rule, which are those
/// from `first` on.
pub(crate) fn hint(sets: &Sets, rule: &Rule, function: &mut Function, first: usize) {
    let schedule = &rule.schedule;
    let Function { vars, hints, .. } = function;
    for (at, var) in vars.iter().enumerate().skip(first) {
        let is = |name: &String| sets.names.isl(name) == var;
        let number = |list: &[(String, i64)]| {
            list.iter().find(|(name, _)| is(name)).map(|(_, number)| *number)
        };
        let hint = Hint {
            scheduled: true,
            ordered: !schedule.order.is_empty(),
            vectorize: schedule.vectorize.as_ref().map(is),
            unroll: number(&schedule.unroll),
            block: number(&schedule.tiles),
            threads: schedule
                .parallel
                .iter()
                .any(|name| is(name) || block_name(sets, name) == *var),
            ..Hint::default()
        };
        let Ok(at) = u32::try_from(at) else { return };
        hints.update(VarId(at), |known| *known = hint);
    }
}
