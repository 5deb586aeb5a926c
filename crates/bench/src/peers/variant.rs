//! dastac's own code in other forms: untiled, in other tiles, on dense buffers.

use std::time::Duration;

use dastac_elements::{Storage, View};
use dastac_iterate::Walking;
use dastac_runtime::Role;
use dastac_stur::program::TensorId;

use super::request::{Ready, Request};
use crate::Error;
use crate::job::{Job, analyse};
use crate::system::{System, outputs};
use dastac_driver::build::BuildOptions;
use dastac_driver::driver::{Built, Iteration, Laid};
use dastac_driver::run::Runner;
use dastac_runtime::available_memory;

/// Buffers of dense boxes may take this many bytes together.
pub(super) const MOST: u128 = 8 << 30;

/// Whether this variant stores the whole box of a tensor with this role.
pub(super) fn is_whole(variant: &str, role: Role) -> bool {
    match variant {
        "dense" | "c-dense" => true,
        "inputs" | "c-inputs" => role != Role::Input,
        _ => false,
    }
}

/// The strategy of a variant that goes over sparse levels in another way.
fn walking(variant: &str) -> Walking {
    match variant {
        "search" => Walking::Search,
        "locate" => Walking::Locate,
        _ => Walking::default(),
    }
}

/// A job whose tensors have no formats.
fn without_formats(job: &Job) -> Job {
    let lines = job.source.lines().filter(|line| !line.contains(":F"));
    Job { source: lines.map(|line| format!("{line}\n")).collect(), ..job.clone() }
}

/// The program with tensors in the form of a variant. Those with formats are stored whole where inputs are.
pub(super) fn whole(
    job: &Job,
    laid: &Laid,
    variant: &str,
    shared: &Runner,
) -> Result<Laid, String> {
    let laid = match is_whole(variant, Role::Input) && !job.inputs.is_empty() {
        true => analyse(&without_formats(job)).map_err(|error| error.to_string())?,
        false => laid.clone(),
    };
    let facts = shared.facts();
    let is_whole = |id: TensorId| is_whole(variant, facts[id.0].role);
    let dense = facts.iter().enumerate().filter(|(at, _)| is_whole(TensorId(*at)));
    let bytes: u128 = dense.map(|(_, fact)| fact.dense_bytes).sum();
    // The comparison needs a second copy.
    if bytes > MOST || bytes * 2 > u128::from(available_memory()) {
        return Err(format!("its dense boxes take {}", dastac_driver::human(bytes)));
    }
    laid.uncompressed_where(is_whole).map_err(|error| error.to_string())
}

pub(super) fn system(Request { name, job, laid, shared }: Request<'_>) -> Ready {
    let text = |error: dastac_driver::Error| error.to_string();
    let laid = whole(job, laid, name, shared)?;
    let parallel = job.threads > 1;
    let described = job.places.machine().map_err(|error| error.to_string())?;
    let untiled = name == "untiled";
    let target = BuildOptions { parallel, untiled, machine: described, ..BuildOptions::default() };
    let iteration = Iteration { walking: walking(name), reserves: true, ..Iteration::default() };
    let lowered = laid.lower_for(iteration).map_err(text)?;
    let built = match name {
        "small" | "large" => {
            let mut machine = target.machine(&target.code());
            let scale = |bytes: i64| if name == "small" { bytes / 4 } else { bytes * 4 };
            (machine.l1, machine.l2) = (scale(machine.l1), scale(machine.l2));
            lowered.build(BuildOptions { machine: Some(machine), ..target })
        }
        _ => lowered.build(target),
    };
    let mut runner = runner(built.map_err(text)?, job, shared)?;
    let inputs: Vec<usize> =
        (0..runner.facts().len()).filter(|at| runner.facts()[*at].role == Role::Input).collect();
    for id in inputs.into_iter().map(TensorId) {
        if let (Some(tensor), Some(_)) = (shared.bound(id), runner.bound(id)) {
            runner.bind(id, tensor.clone()).map_err(text)?;
            continue;
        }
        let unpacked = match is_whole(name, Role::Input) {
            true => Some(unpacked(shared, id)?),
            false => None,
        };
        let source = unpacked.as_ref().map_or_else(|| shared.packed(id), Storage::view);
        runner.fill_packed(id, |at| source.number(at));
    }
    Ok(Box::new(Variant { name: name.into(), detail: String::new(), prepared: None, runner }))
}

/// Built code at the sizes of what is shared.
pub(super) fn runner(built: Built, job: &Job, shared: &Runner) -> Result<Runner, String> {
    let names = built.lowered.program().symbols.iter();
    let values = shared.symbols().iter().copied();
    let symbols = names.map(|(name, _)| name.clone()).zip(values).collect();
    Runner::new(built, &symbols, job.threads).map_err(|error| error.to_string())
}

/// An input as an array of its whole box, also where it has a format.
pub(super) fn unpacked(shared: &mut Runner, id: TensorId) -> Result<Storage, String> {
    let Some(tensor) = shared.bound(id) else {
        return shared.unpacked(id).map_err(|error| error.to_string());
    };
    let dense = tensor.to_dense(dastac_runtime::build()).map_err(|error| error.to_string())?;
    dense.cast(shared.facts()[id.0].element).map_err(|error| error.to_string())
}

/// Code on buffers of its own.
pub(super) struct Variant {
    pub(super) name: String,
    pub(super) detail: String,
    pub(super) prepared: Option<Duration>,
    pub(super) runner: Runner,
}

impl System for Variant {
    fn name(&self) -> &str {
        &self.name
    }

    fn detail(&self) -> String {
        self.detail.clone()
    }

    fn prepared(&self) -> Option<Duration> {
        self.prepared
    }

    fn run(&mut self, _shared: &mut Runner) -> Result<Duration, Error> {
        Ok(self.runner.execute()?)
    }

    fn forget(&mut self, _shared: &mut Runner) {
        for id in outputs(&self.runner) {
            self.runner.fill_packed(id, |_| f64::NAN);
        }
    }

    fn result(&mut self, shared: &mut Runner, tensor: TensorId) -> Result<Storage, Error> {
        let whole = is_whole(&self.name, shared.facts()[tensor.0].role);
        in_order_of(shared, tensor, self.runner.packed(tensor), whole)
    }
}

/// A packed buffer, or a dense array of the whole box, in the order of dastac's packed buffer.
///
/// The lengths of the two do not show which one it is: a tensor without structure may be packed in another order of its
/// dimensions.
pub(super) fn in_order_of(
    shared: &mut Runner,
    tensor: TensorId,
    found: View<'_>,
    whole: bool,
) -> Result<Storage, Error> {
    if whole {
        return Ok(shared.pack(tensor, found)?);
    }
    let mut copy = Storage::zeroed(shared.facts()[tensor.0].element, found.len())?;
    copy.fill(|at| found.number(at));
    Ok(copy)
}
