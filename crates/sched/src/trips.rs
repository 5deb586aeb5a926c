//! Makes computations count how often their loops run, and says what each of these loops goes over.
//!
//! The module is counted before it is cut into tiles, with all of its loops and on one thread. So the counts do not
//! depend on the machine, the number of threads or the schedule of tiles.

use dastac_iterate::{Bound, Bounds, Over, Renamed, Walk, Work};
use dastac_loops::trips::{Body, Counted, count_trips};
use dastac_loops::{Module, VarId};
use dastac_stur::infer::Inferred;
use dastac_stur::program::TensorId;

use crate::SchedError;
use crate::elements::buffer;
use crate::kernel::Computation;
use crate::phases::Phase;

/// A computation whose functions count the iterations of their loops.
#[derive(Clone, Debug)]
pub struct Counting {
    /// Each function takes one more buffer, its last one, with a 64-bit integer for each of its loops.
    pub module: Module,
    /// The loops of each function, in the order in which they stand in the text; functions are in the order of the
    /// phases.
    pub loops: Vec<Vec<Loop>>,
}

/// A loop that is counted.
#[derive(Clone, Debug)]
pub struct Loop {
    /// The names of its variables.
    pub name: String,
    /// How many loops are around it.
    pub depth: usize,
    /// What it goes over.
    pub over: LoopOver,
}

/// What a loop goes over.
#[derive(Clone, Debug)]
pub enum LoopOver {
    /// A range, in a rule without dynamic tensors.
    Range,
    /// The elements of the buffer with this name, which become zero before others are added to them.
    Cleared(String),
    /// The values of an iterator in a rule with dynamic tensors, or the positions among which one is searched for.
    Walk {
        /// The number of the rule in [`Computation::walked`].
        rule: usize,
        /// What it is.
        walk: Walk,
        /// The iterators of the loops around it, outermost first, and last its own.
        iterators: Vec<usize>,
    },
    /// Points, or touched coordinates, of the workspace of a result.
    Workspace(TensorId, Work),
    /// Work that a walk needs besides its elements: it moves windows of several segments on, or adds up positions of a
    /// result.
    Upkeep,
}

/// Makes the functions of a computation count their loops.
///
/// # Errors
/// If a function has loops that cannot be counted, which those of computations do not have.
pub fn counting(inferred: &Inferred, kernel: &Computation) -> Result<Counting, SchedError> {
    let mut module = kernel.module.clone();
    let renamed = dastac_iterate::lower(&mut module);
    let mut loops = Vec::new();
    for (phase, renamed) in kernel.phases.iter().zip(&renamed) {
        let rules = Rules { inferred, kernel, phase, renamed };
        loops.push(rules.described(count_trips(&mut module, &phase.name)?));
    }
    Ok(Counting { module, loops })
}

impl Loop {
    /// An upper bound on how often the loop has to run, over the symbols of the module and the numbers of stored
    /// elements. There is one if the loop belongs to an iterator in a rule with dynamic tensors; the operands of the
    /// bound are those of that rule.
    pub fn bound(
        &self,
        kernel: &Computation,
        symbols: &[i64],
        stored: &dyn Fn(TensorId) -> u128,
    ) -> Option<Bound> {
        let LoopOver::Walk { rule, walk, iterators } = &self.over else { return None };
        walk.iterator?;
        let walked = &kernel.walked[*rule];
        let stored = |operand: usize| stored(walked.tensors[operand]);
        Some(Bounds::new(&walked.kernel, symbols, &stored)?.of(iterators))
    }
}

/// The rules of a function.
struct Rules<'a> {
    inferred: &'a Inferred,
    kernel: &'a Computation,
    phase: &'a Phase,
    renamed: &'a Renamed,
}

impl Rules<'_> {
    fn described(&self, counted: Vec<Counted>) -> Vec<Loop> {
        // The iterators of the loops around, indexed by depth.
        let mut around: Vec<Vec<usize>> = Vec::new();
        let mut loops = Vec::new();
        for one in counted {
            around.truncate(one.depth);
            let over = self.over(&one, &around);
            around.push(match &over {
                LoopOver::Walk { walk, .. } => walk.iterators().collect(),
                _ => Vec::new(),
            });
            loops.push(Loop { name: one.name, depth: one.depth, over });
        }
        loops
    }

    fn over(&self, one: &Counted, around: &[Vec<usize>]) -> LoopOver {
        if let Some((rule, walk)) = self.walk(&one.vars) {
            let walk = match (one.body, walk.over) {
                (Body::Empty, Over::Elements | Over::Subsections) => {
                    Walk { iterator: None, over: Over::Search, ..walk }
                }
                _ => walk,
            };
            let mut iterators: Vec<usize> = Vec::new();
            for iterator in around.iter().flatten().copied().chain(walk.iterators()) {
                if !iterators.contains(&iterator) {
                    iterators.push(iterator);
                }
            }
            return LoopOver::Walk { rule, walk, iterators };
        }
        if let Some((head, work)) = self.work(one) {
            return LoopOver::Workspace(head, work);
        }
        let buffers = &self.kernel.module.buffers;
        match (one.body, one.stores.first()) {
            (Body::Clears, Some(cleared)) => {
                LoopOver::Cleared(buffers[cleared.0 as usize].name.clone())
            }
            _ if self.has_structured(one) => LoopOver::Range,
            _ => LoopOver::Upkeep,
        }
    }

    /// What a loop with these variables goes over, and the rule that it belongs to.
    fn walk(&self, vars: &[VarId]) -> Option<(usize, Walk)> {
        let rules = self.kernel.walked.iter().enumerate();
        let mut own = rules.filter(|(_, walked)| self.is_here(walked.head));
        own.find_map(|(at, walked)| {
            let walks = vars.iter().filter_map(|var| {
                let origin = self.renamed.get(var).unwrap_or(var);
                walked.walks.get(origin)
            });
            let walk = walks.fold(None, |all: Option<Walk>, walk| match all {
                None => Some(walk.clone()),
                Some(all) => Some(all.join(walk)),
            });
            Some((at, walk?))
        })
    }

    /// What a loop does on the workspace of a result, if it does.
    fn work(&self, one: &Counted) -> Option<(TensorId, Work)> {
        if one.body == Body::Clears {
            return None;
        }
        let mut rules = self.kernel.walked.iter().filter(|walked| self.is_here(walked.head));
        rules.find_map(|walked| {
            let mut works = walked.works.iter();
            let (_, work) = works.find(|(buffer, _)| one.stores.contains(buffer))?;
            Some((walked.head, *work))
        })
    }

    /// Whether the rule that computes a tensor is in the block of this function. Each block has its own variables.
    fn is_here(&self, head: TensorId) -> bool {
        let program = &self.inferred.program;
        let rule = program.tensor(head).rule();
        rule.is_some_and(|rule| program.rules[rule.0].preprocess == self.phase.preprocess)
    }

    /// Whether a rule without dynamic tensors stores elements in a loop.
    fn has_structured(&self, one: &Counted) -> bool {
        let walked = |id: TensorId| self.kernel.walked.iter().any(|other| other.head == id);
        let mut tensors = self.inferred.program.tensor_ids();
        tensors.any(|id| one.stores.contains(&buffer(id)) && !walked(id))
    }
}
