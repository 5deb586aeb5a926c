//! In which steps the factors of products are multiplied: what schedules ask for, and what is cheapest at the sizes of
//! a run.

mod choose;
mod cost;
mod meeting;
mod points;
mod steps;

pub use meeting::meeting;
pub use points::Expected;
pub(crate) use steps::impossible;
pub use steps::{At, Cut, Plan, Sizes, Stepped, Steps};

use dastac_stur::Program;
use dastac_stur::contract::{contracted, given};
use dastac_stur::infer::{InferError, infer_contracted};

use crate::Error;
use crate::driver::Analysis;

/// Whether sizes decide how a program is compiled: whether they may be what chooses steps.
pub fn depends_on_sizes(program: &Program) -> bool {
    choose::may_choose(program)
}

/// Whether [rounded](Sizes::rounded) sizes do, which may be what chooses workspaces.
pub fn depends_on_rounded_sizes(program: &Program) -> bool {
    program.rules.iter().any(|rule| program.tensor(rule.head).format.is_some())
}

impl Analysis {
    /// The program as it is written: what results are compared with.
    pub fn written(&self) -> &Program {
        match &self.steps {
            Steps::Cut(cut) => &cut.written.program,
            Steps::Open | Steps::Direct => &self.inferred.program,
        }
    }

    /// The rules with products in steps.
    pub fn plans(&self) -> Vec<Plan> {
        match &self.steps {
            Steps::Cut(cut) => cut.plans(&self.inferred.program),
            Steps::Open | Steps::Direct => Vec::new(),
        }
    }

    /// With all products in one step each, whatever schedules say.
    pub fn direct(self) -> Analysis {
        let inferred = match self.steps {
            Steps::Cut(cut) => cut.written,
            Steps::Open | Steps::Direct => self.inferred,
        };
        Analysis { inferred, steps: Steps::Direct, ..self }
    }

    /// With products in the steps that schedules ask for, and in those that are cheapest; unless this was decided
    /// before.
    ///
    /// # Errors
    /// Steps that are not possible; failures of isl.
    pub fn contracted(self, at: At<'_>) -> Result<Analysis, Error> {
        let mut analysis = self.in_steps(at)?;
        if let At::Sizes(sizes) = at {
            let mut sizes = sizes.clone();
            if matches!(analysis.steps, Steps::Cut(_)) {
                // What meets in a product with all its factors says nothing of its steps.
                sizes.meeting.clear();
            }
            analysis.expected = points::expected(&analysis.inferred, &sizes);
        }
        Ok(analysis)
    }

    fn in_steps(mut self, at: At<'_>) -> Result<Analysis, Error> {
        if !matches!(self.steps, Steps::Open) {
            return Ok(self);
        }
        let mut choice = given(&self.inferred.program);
        let samples;
        let sizes = match at {
            At::Asked => &[],
            At::Sizes(sizes) => std::slice::from_ref(sizes),
            At::All => {
                samples = choose::samples(&self.inferred.program);
                &samples[..]
            }
        };
        if !sizes.is_empty() {
            choice = match choose::choose(&self.inferred, &choice, sizes) {
                // What cannot be counted is no reason for steps.
                Err(Error::Poly(_) | Error::Symbols(_)) => choice,
                chosen => chosen?,
            };
        }
        choice.retain(|_, tree| !tree.is_direct());
        if choice.is_empty() {
            self.steps = Steps::Direct;
            return Ok(self);
        }
        let program = contracted(&self.inferred.program, &choice);
        let inferred = match infer_contracted(&program, &self.inferred) {
            Ok(inferred) => inferred,
            Err(InferError::User(_)) => return Err(impossible(&self.inferred.program, &choice)),
            Err(error) => return Err(error.into()),
        };
        let written = std::mem::replace(&mut self.inferred, inferred);
        self.steps = Steps::Cut(Box::new(Cut { written, choice }));
        Ok(self)
    }
}
