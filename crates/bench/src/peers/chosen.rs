//! dastac in the format that a matrix's entries choose (`auto`).

use std::time::{Duration, Instant};

use dastac_driver::build::BuildOptions;
use dastac_driver::driver::Iteration;
use dastac_driver::run::Runner;
use dastac_elements::Storage;
use dastac_formats::inspect::choose;
use dastac_stur::program::TensorId;

use super::request::{Ready, Request};
use super::variant::in_order_of;
use crate::Error;
use crate::job::{Job, analyse};
use crate::kernels::Call;
use crate::system::{System, outputs};

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
    let names = built.lowered.program().symbols.iter();
    let values = shared.symbols().iter().copied();
    let symbols = names.map(|(name, _)| name.clone()).zip(values).collect();
    let mut runner = Runner::new(built, &symbols, job.threads).map_err(text)?;
    let start = Instant::now();
    runner.bind(id, tensor).map_err(text)?;
    let prepared = chosen + start.elapsed();
    let computed = outputs(&runner);
    for other in ids().filter(|other| *other != id && !computed.contains(other)) {
        let source = shared.packed(other);
        runner.fill_packed(other, |at| source.number(at));
    }
    Ok(Box::new(Chosen { format: choice.format, prepared, runner }))
}

struct Chosen {
    format: String,
    prepared: Duration,
    runner: Runner,
}

impl System for Chosen {
    fn name(&self) -> &str {
        "auto"
    }

    fn detail(&self) -> String {
        self.format.clone()
    }

    fn prepared(&self) -> Option<Duration> {
        Some(self.prepared)
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
        in_order_of(shared, tensor, self.runner.packed(tensor), false)
    }
}
