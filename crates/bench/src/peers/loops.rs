//! The untiled loops as C, compiled as the paper compiles C: what StructTensor generates, with buffers dense or packed.

use std::time::{Duration, Instant};

use dastac_runtime::{Argument, Code, Threads};

use crate::bindings::c::Compiler;
use dastac_loops::{BufferId, Mode};
use dastac_runtime::Role;
use dastac_sched::KERNEL;
use dastac_stur::program::TensorId;

use super::request::{Ready, Request};
use super::variant::{in_order_of, is_whole, unpacked, whole};
use crate::Error;
use crate::system::System;
use dastac_driver::run::Runner;
use dastac_elements::Storage;

pub(super) fn system(Request { name, job, laid, shared }: Request<'_>) -> Ready {
    let text = |error: dastac_driver::Error| error.to_string();
    let compiler = Compiler::find()
        .ok_or("no C compiler was found: install clang-22, or name one in DASTAC_CLANG")?;
    let lowered = whole(job, laid, name, shared)?.lower().map_err(text)?;
    let module = &lowered.kernel.module;
    let function = module.functions.iter().find(|function| function.name == KERNEL);
    let arguments = function.map(|function| function.args.clone()).unwrap_or_default();
    let file = format!("{name}-{}-{}", job.key().replace('/', "-"), std::process::id());
    let native = compiler
        .load(module, job.threads > 1, &job.places.scratch, &file)
        .map_err(|error| error.to_string())?;
    // The text of each kernel is kept, so that it can be read later.
    let from = job.places.scratch.join(format!("{file}.c"));
    let _ = std::fs::rename(from, job.places.scratch.join(format!("{}-{name}.c", job.kernel)));
    let mut own = Vec::new();
    for at in 0..shared.facts().len() {
        let fact = shared.facts()[at].clone();
        let size = module.buffers[at].size.eval_symbols(shared.symbols());
        let length = size.ok().and_then(|size| usize::try_from(size).ok());
        let length = length.ok_or_else(|| format!("the size of `{}` has no value", fact.name))?;
        let id = TensorId(at);
        own.push(match fact.role {
            Role::Input if !is_whole(name, Role::Input) => None,
            Role::Input => Some(unpacked(shared, id)?),
            _ => Some(Storage::zeroed(fact.element, length).map_err(|error| error.to_string())?),
        });
    }
    let detail = format!("{} {}", compiler.version, Compiler::flags());
    Ok(Box::new(Loops {
        name: name.into(),
        detail,
        native,
        threads: job.threads.into(),
        arguments,
        own,
    }))
}

/// Compiled loops, on buffers of their own except for inputs that dastac has in the same form.
struct Loops {
    name: String,
    detail: String,
    native: Code,
    threads: Threads,
    arguments: Vec<(BufferId, Mode)>,
    own: Vec<Option<Storage>>,
}

impl System for Loops {
    fn name(&self) -> &str {
        &self.name
    }

    fn detail(&self) -> String {
        self.detail.clone()
    }

    fn run(&mut self, shared: &mut Runner) -> Result<Duration, Error> {
        let mut own: Vec<Option<&mut Storage>> = self.own.iter_mut().map(Option::as_mut).collect();
        let mut arguments: Vec<Argument<'_>> = Vec::new();
        for (id, mode) in &self.arguments {
            let at = id.0 as usize;
            arguments.push(match own.get_mut(at).and_then(Option::take) {
                None => Argument::In(shared.packed(TensorId(at))),
                Some(buffer) if *mode == Mode::In => Argument::In(buffer.view()),
                Some(buffer) => Argument::Out(buffer.view_mut()),
            });
        }
        let start = Instant::now();
        self.native.call_on(self.threads, KERNEL, shared.symbols(), &mut arguments)?;
        Ok(start.elapsed())
    }

    fn forget(&mut self, shared: &mut Runner) {
        for (at, buffer) in self.own.iter_mut().enumerate() {
            if shared.facts()[at].role != Role::Input
                && let Some(buffer) = buffer
            {
                buffer.fill(|_| f64::NAN);
            }
        }
    }

    fn result(&mut self, shared: &mut Runner, tensor: TensorId) -> Result<Storage, Error> {
        match &self.own[tensor.0] {
            Some(buffer) => {
                let whole = is_whole(&self.name, shared.facts()[tensor.0].role);
                in_order_of(shared, tensor, buffer.view(), whole)
            }
            None => {
                Err(dastac_driver::Error::UnknownTensor(shared.facts()[tensor.0].name.clone())
                    .into())
            }
        }
    }
}
