//! dastac in the format that a matrix's entries choose (`auto`).

use std::time::Instant;

use dastac_driver::build::BuildOptions;
use dastac_driver::driver::Iteration;
use dastac_formats::inspect::choose;
use dastac_stur::program::TensorId;

use super::request::{Ready, Request};
use super::variant::{Variant, runner};
use crate::job::{Job, analyse};
use crate::kernels::Call;
use crate::system::outputs;

pub(super) fn system(Request { job, shared, .. }: Request<'_>) -> Ready {
    let text = |error: dastac_driver::Error| error.to_string();
    let ids = || (0..shared.facts().len()).map(TensorId);
    let id = ids().find(|id| shared.bound(*id).is_some()).ok_or("there is no sparse matrix")?;
    let tensor = shared.bound(id).ok_or("there is no sparse matrix")?.clone();
    let start = Instant::now();
    let choice = choose(&tensor, job.call == Some(Call::SparseVector));
    let choice = choice.map_err(|error| error.to_string())?;
    let chosen = start.elapsed();
    let source = job.source.replace(":= csr\n", &format!(":= {}\n", choice.format));
    let laid = analyse(&Job { source, ..job.clone() }).map_err(|error| error.to_string())?;
    let machine = job.places.machine().map_err(|error| error.to_string())?;
    let target = BuildOptions { parallel: job.threads > 1, machine, ..BuildOptions::default() };
    let iteration = Iteration { reserves: true, ..Iteration::default() };
    let lowered = laid.lower_for(iteration).map_err(text)?;
    let built = lowered.build(target).map_err(text)?;
    let mut runner = runner(built, job, shared)?;
    let start = Instant::now();
    runner.bind(id, tensor).map_err(text)?;
    let prepared = chosen + start.elapsed();
    let computed = outputs(&runner);
    for other in ids().filter(|other| *other != id && !computed.contains(other)) {
        let source = shared.packed(other);
        runner.fill_packed(other, |at| source.number(at));
    }
    let (name, detail) = ("auto".into(), choice.format);
    Ok(Box::new(Variant { name, detail, prepared: Some(prepared), runner }))
}
