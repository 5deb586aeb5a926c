//! Which kind of workspace a result gets.

use std::sync::OnceLock;

use dastac_iterate::Kind;
use dastac_loops::machine::Machine;
use dastac_sched::Gathered;
use dastac_stur::Program;

use super::model::{Shape, limits};
use crate::contract::Expected;
use crate::machine::Description;

/// The machine that kinds are chosen for: this one, as it describes itself.
pub fn machine() -> &'static Machine {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    MACHINE.get_or_init(|| Description::detected().machine)
}

/// The kind of a result's workspace over some of its levels that takes the least time for the points that are expected.
/// If nothing is known of them, the sizes of a run choose.
pub(crate) fn choice(
    program: &Program,
    expected: Option<&Expected>,
    gathered: &Gathered<'_>,
    machine: &Machine,
) -> Kind {
    match expected {
        Some(expected) => shape(program, expected, gathered).best(gathered.one_level, machine),
        None if gathered.one_level => Kind::Sized(limits(machine)),
        None => Kind::Growing,
    }
}

/// What comes to the workspaces.
pub(super) fn shape(program: &Program, expected: &Expected, gathered: &Gathered<'_>) -> Shape {
    let product = |dimensions: &[usize]| -> f64 {
        dimensions.iter().map(|at| expected.extents.get(*at).copied().unwrap_or(1.0)).product()
    };
    let bytes = program.tensor(gathered.head).element.bytes() as f64;
    let rows = product(gathered.outside);
    Shape {
        rows: rows.min(expected.points.max(1.0)),
        coordinates: product(gathered.inside),
        points: expected.points,
        bytes: bytes * product(gathered.block),
        first: gathered.outside.is_empty().then(|| product(&gathered.inside[..1])),
    }
}
