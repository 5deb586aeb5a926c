//! In which steps the factors of products are multiplied: what schedules ask for, and what is cheapest at the sizes of
//! a run.

mod choose;
mod cost;
mod expand;
mod meeting;
mod points;
mod steps;
mod ways;

pub use meeting::meeting;
pub use points::Expected;
pub(crate) use steps::impossible;
pub use steps::{At, Cut, Expanded, Plan, Sizes, Stepped, Steps};

use dastac_stur::Program;
use dastac_stur::contract::{Choice, Way, contracted, given};
use dastac_stur::infer::{InferError, infer_contracted};

use crate::Error;
use crate::driver::Analysis;

/// Whether sizes decide how a program is compiled: whether they may be what chooses steps.
pub fn depends_on_sizes(program: &Program) -> bool {
    choose::may_choose(program)
}

/// Whether [rounded](Sizes::rounded) sizes do, which may be what chooses workspaces, and copies of operands.
pub fn depends_on_rounded_sizes(program: &Program) -> bool {
    expand::may_choose(program)
        || program.rules.iter().any(|rule| program.tensor(rule.head).format.is_some())
}

/// The first way for each product; `None` if there are no others.
fn one_way_each(choice: &Choice) -> Option<Choice> {
    let several = choice.values().any(|ways| ways.len() > 1);
    let first = choice
        .iter()
        .filter_map(|(id, ways)| ways.first().map(|way| (*id, Way::always(way.tree.clone()))));
    several.then(|| first.collect())
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
        let open = matches!(self.steps, Steps::Open);
        let mut analysis = self.in_steps(at)?;
        if open {
            analysis = analysis.with_copies(at)?;
        }
        if let At::Sizes(sizes) = at {
            let mut sizes = sizes.clone();
            if matches!(&analysis.steps, Steps::Cut(cut) if !cut.choice.is_empty()) {
                // What meets in a product with all its factors says nothing of its steps.
                sizes.meeting.clear();
            }
            analysis.expected = points::expected(&analysis.inferred, &sizes);
        }
        Ok(analysis)
    }

    /// Whether some products are in steps, or read copies of operands.
    pub fn is_cut(&self) -> bool {
        matches!(self.steps, Steps::Cut(_))
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
        choice.retain(|_, ways| ways.iter().any(|way| !way.tree.is_direct()));
        if choice.is_empty() {
            self.steps = Steps::Direct;
            return Ok(self);
        }
        self.cut(choice)
    }

    /// With products in these steps.
    fn cut(mut self, choice: Choice) -> Result<Analysis, Error> {
        let program = contracted(&self.inferred.program, &choice);
        let inferred = match infer_contracted(&program, &self.inferred) {
            Ok(inferred) => inferred,
            Err(InferError::User(_)) => {
                return match one_way_each(&choice) {
                    Some(choice) => self.cut(choice),
                    None => Err(impossible(&self.inferred.program, &choice)),
                };
            }
            Err(error) => return Err(error.into()),
        };
        let written = std::mem::replace(&mut self.inferred, inferred);
        let cut = Cut { written, choice, expanded: Vec::new(), packed: None };
        self.steps = Steps::Cut(Box::new(cut));
        Ok(self)
    }

    /// With one way to compute each product, where code decides between several; `None` if there are none.
    ///
    /// # Errors
    /// As [`Analysis::contracted`].
    pub(crate) fn decided(mut self) -> Option<Result<Analysis, Error>> {
        let Steps::Cut(cut) = self.steps else { return None };
        let choice = one_way_each(&cut.choice)?;
        (self.inferred, self.steps) = (cut.written, Steps::Open);
        Some(self.cut(choice))
    }

    /// With copies of the operands for which schedules ask, and of those for which they pay.
    fn with_copies(mut self, at: At<'_>) -> Result<Analysis, Error> {
        let (samples, rounded);
        let sizes = match at {
            At::Asked => &[],
            At::Sizes(sizes) => {
                rounded = sizes.rounded();
                std::slice::from_ref(&rounded)
            }
            At::All => {
                samples = choose::samples(&self.inferred.program);
                &samples[..]
            }
        };
        let wanted = match expand::choose(&self.inferred, sizes) {
            // What cannot be counted is no reason for copies.
            Err(Error::Poly(_) | Error::Symbols(_)) => return Ok(self),
            wanted => wanted?,
        };
        if wanted.is_empty() {
            return Ok(self);
        }
        let (inferred, expanded) = expand::with_copies(&self.inferred, &wanted)?;
        let packed = std::mem::replace(&mut self.inferred, inferred);
        let (written, choice) = match self.steps {
            Steps::Cut(cut) => (cut.written, cut.choice),
            Steps::Open | Steps::Direct => (packed.clone(), Choice::new()),
        };
        let cut = Cut { written, choice, expanded, packed: Some(packed) };
        self.steps = Steps::Cut(Box::new(cut));
        Ok(self)
    }

    /// Without copies of operands; `None` if there are none.
    pub(crate) fn without_copies(mut self) -> Option<Analysis> {
        let Steps::Cut(cut) = self.steps else { return None };
        self.inferred = cut.packed?;
        self.steps = match cut.choice.is_empty() {
            true => Steps::Direct,
            false => Steps::Cut(Box::new(Cut { expanded: Vec::new(), packed: None, ..*cut })),
        };
        Some(self)
    }

    /// The operands that are read from copies with all of their elements.
    pub fn expanded(&self) -> Vec<Expanded> {
        match &self.steps {
            Steps::Cut(cut) => cut.expanded.clone(),
            Steps::Open | Steps::Direct => Vec::new(),
        }
    }
}
