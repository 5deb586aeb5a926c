//! What `schedule:` says, as isl and the loop IR need it: the order of loops and loops over blocks here, the rest as a
//! plan for tiles.
//!
//! Bounds are derived by isl for the order that is wanted, whatever the domain's form is.
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

/// A statement with its loops in the order of a schedule, the one in lanes innermost if it is to be.
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

/// Whether all that is computed can be in the lanes of a loop with this name, around the sums.
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
            | Stmt::Workspace(_)
            | Stmt::Let(_) => false,
            Stmt::Partial(inner) => all(function, &inner.body, name, around),
            Stmt::If(inner) => {
                let parts = [&inner.then, &inner.otherwise];
                parts.into_iter().all(|part| all(function, part, name, around))
            }
            // Elements are cleared in any order.
            Stmt::Store(store) => {
                matches!(store.value, Value::Const(_))
                    || around.is_some_and(|var| lanes::of_elements(store, var))
            }
        })
    }
    all(function, body, name, None)
}

/// What the loop over blocks of an iterator is called; no iterator has such a name.
pub(crate) fn block_name(sets: &Sets, iterator: &str) -> String {
    format!("{}.block", sets.names.isl(iterator))
}

/// The loops over blocks that a statement with these loops has: of which loop, and of how many iterations.
pub(crate) fn tiles(schedule: &Schedule, loops: &[String]) -> Vec<(usize, i64)> {
    let tiles = schedule.tiles.iter().filter(|(_, size)| *size > 1);
    let place = |name: &String| loops.iter().position(|other| other == name);
    tiles.filter_map(|(name, size)| Some((place(name)?, *size))).collect()
}

/// Each point to when it is visited: its blocks, then itself.
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

/// Leaves what a schedule says and is done where loops are tiled as hints of the variables of its rule: those from
/// `first` on.
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
