//! How often the loops of a run's computation ran, beside how often they need to.
//!
//! [`Runner::trips`] runs the computation once more, compiled with a counter for each loop. Work on sparse tensors is
//! to be proportional to what is stored within reach: that is seen here, on one's own inputs, and for every strategy
//! ([`crate::driver::Iteration`]) and order of loops.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::collections::BTreeMap;
//! use dastac_driver::build::BuildOptions;
//! use dastac_driver::driver::compile;
//! use dastac_driver::run::Runner;
//! use dastac_formats::{Build, Entries, Format, Tensor};
//! use dastac_elements::Storage;
//! let built = compile(
//!     "symbols: N
//!      iters: O -> p, r
//!      O(p) := I(p + r) * F(r)
//!      O:D(p) := (0 <= p < N)
//!      I:D(x) := (0 <= x < N + 2)
//!      I:F := csf
//!      F:D(r) := (0 <= r < 3)",
//!     BuildOptions::default(),
//! )?;
//! let mut runner = Runner::new(built, &BTreeMap::from([("N".into(), 1000)]), 1)?;
//! let signal = runner.built().lowered.program().find("I").unwrap();
//! let entries = Entries::new(vec![1002], vec![10, 500], Storage::from(vec![1.0, 2.0]))?;
//! runner.bind(signal, Tensor::from_entries(&entries, &Format::coo(1), Build::default())?)?;
//! let kernel = &runner.trips()?[0];
//! // Two elements, which three windows each have within reach, of 1000.
//! let innermost = kernel.loops.last().unwrap();
//! assert_eq!((innermost.trips, innermost.bound.as_ref().unwrap().value), (6, 6));
//! # Ok(())
//! # }
//! ```

use std::collections::BTreeSet;

use dastac_iterate::{Over, Walk, Work};
use dastac_runtime::Argument;
use dastac_sched::Walked;
use dastac_sched::trips::{Loop, LoopOver};
use dastac_stur::TensorId;

use crate::Error;
use crate::counters::Counters;
use crate::run::Runner;

/// The loops of one function of a computation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionTrips {
    /// Its name: `kernel`, `prepare` of preprocess blocks, or what counts or fills a result with `:F`.
    pub function: String,
    /// The result with `:F` that it counts, if it does.
    pub counts: Option<String>,
    /// Its loops and sums, as they stand in the text.
    pub loops: Vec<LoopTrips>,
}

/// A loop, and how often it ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopTrips {
    /// The names of its variables.
    pub name: String,
    /// How many loops are around it.
    pub depth: usize,
    /// What it goes over.
    pub over: GoesOver,
    /// The iterator whose values it finds, if it is one's.
    pub iterator: Option<String>,
    /// The tensors whose stored elements say where it comes to, or that it clears.
    pub tensors: Vec<String>,
    /// How often its body ran, in all.
    pub trips: u64,
    /// How often it needs to, up to a small factor, in rules with dynamic tensors.
    pub bound: Option<TripBound>,
}

/// What a loop goes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoesOver {
    /// All of a range.
    Range,
    /// Stored elements.
    Elements,
    /// Coordinates that have stored elements within reach.
    Subsections,
    /// Stored elements among which one is looked for.
    Search,
    /// Elements that become zero before others are added to them.
    Clear,
    /// Places at which a key of a workspace is looked for.
    Insertion,
    /// Points of a workspace that are put in order.
    Sort,
    /// Points of a workspace that are joined and merged.
    Contraction,
    /// Coordinates of a workspace, those that were touched.
    Scan,
    /// What walks and results with `:F` need beside.
    Upkeep,
}

impl GoesOver {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            GoesOver::Range => "range",
            GoesOver::Elements => "elements",
            GoesOver::Subsections => "subsections",
            GoesOver::Search => "search",
            GoesOver::Clear => "clear",
            GoesOver::Insertion => "insertion",
            GoesOver::Sort => "sort",
            GoesOver::Contraction => "contraction",
            GoesOver::Scan => "scan",
            GoesOver::Upkeep => "upkeep",
        }
    }
}

/// `min(n, k * nnz)`: how often a loop needs to run, whatever its strategy is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TripBound {
    /// The smaller one.
    pub value: u128,
    /// `n`: the loop around as often as it needs to run, and all of the loop's own iterator.
    pub all: u128,
    /// `k * nnz` for each tensor that is walked, to be added up; empty if no stored elements bound the loop.
    pub stored: Vec<StoredBound>,
}

/// A multiple of a tensor's stored elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredBound {
    /// The tensor.
    pub tensor: String,
    /// `k`: at so many points of the loops so far one element may be reached.
    pub times: u128,
    /// `nnz`.
    pub elements: u128,
}

impl Runner {
    /// Runs the computation once, preprocess blocks too, and counts how often each of its loops runs. What is counted
    /// are the loops before they are cut into tiles for registers and caches, on one thread: they do the same work, so
    /// counts do not depend on the machine. The results are those of [`Runner::execute`], but that a sum in tiles may
    /// be rounded otherwise. The first call compiles the code that counts. Functions are in the order in which they are
    /// called.
    ///
    /// # Errors
    /// As [`Runner::execute`]; code that cannot be generated.
    pub fn trips(&mut self) -> Result<Vec<FunctionTrips>, Error> {
        let counters = match self.counters.take() {
            Some(counters) => counters,
            None => Counters::new(self.built())?,
        };
        let trips = self.trips_by(&counters);
        self.counters = Some(counters);
        trips
    }

    fn trips_by(&mut self, counters: &Counters) -> Result<Vec<FunctionTrips>, Error> {
        let Counters { counting, code } = counters;
        let phases = self.built().lowered.kernel.phases.clone();
        let mut counts: Vec<Vec<i64>> =
            counting.loops.iter().map(|loops| vec![0; loops.len()]).collect();
        self.instance_mut().execute_with(&mut |name, parameters, arguments| {
            let own = phases.iter().position(|phase| phase.name == name);
            let own = own.and_then(|at| counts.get_mut(at));
            let counters = own.map(|counts| Argument::write(counts));
            let mut arguments: Vec<Argument<'_>> = arguments.into_iter().chain(counters).collect();
            code.call(name, parameters, &mut arguments)
        })?;
        let mut functions: Vec<_> = phases.iter().zip(&counting.loops).zip(&counts).collect();
        functions.sort_by_key(|((phase, _), _)| !phase.preprocess);
        let functions = functions.into_iter().map(|((phase, loops), counts)| FunctionTrips {
            function: phase.name.clone(),
            counts: phase.counts.map(|id| self.facts()[id.0].name.clone()),
            loops: loops.iter().zip(counts).map(|(one, trips)| self.counted(one, *trips)).collect(),
        });
        Ok(functions.collect())
    }

    fn counted(&self, one: &Loop, trips: i64) -> LoopTrips {
        let (name, depth) = (one.name.clone(), one.depth);
        let trips = trips.unsigned_abs();
        let of = |over| (over, None, Vec::new(), None);
        let (over, iterator, tensors, bound) = match &one.over {
            LoopOver::Range => of(GoesOver::Range),
            LoopOver::Upkeep => of(GoesOver::Upkeep),
            LoopOver::Workspace(head, work) => {
                let over = match work {
                    Work::Insertion => GoesOver::Insertion,
                    Work::Sort => GoesOver::Sort,
                    Work::Contraction => GoesOver::Contraction,
                    Work::Scan => GoesOver::Scan,
                };
                (over, None, vec![self.facts()[head.0].name.clone()], None)
            }
            LoopOver::Cleared(buffer) => (GoesOver::Clear, None, vec![buffer.clone()], None),
            LoopOver::Walk { rule, walk, .. } => {
                let walked = &self.built().lowered.kernel.walked[*rule];
                let iterator = walk.iterator.map(|at| walked.kernel.iterators[at].0.clone());
                let (tensors, bound) = (self.names(walked, walk), self.trip_bound(walked, one));
                (goes_over(walk.over), iterator, tensors, bound)
            }
        };
        LoopTrips { name, depth, over, iterator, tensors, trips, bound }
    }

    /// The tensors that a loop walks.
    fn names(&self, walked: &Walked, walk: &Walk) -> Vec<String> {
        let ids: BTreeSet<TensorId> = walk.operands.iter().map(|at| walked.tensors[*at]).collect();
        ids.into_iter().map(|id| self.facts()[id.0].name.clone()).collect()
    }

    fn trip_bound(&self, walked: &Walked, one: &Loop) -> Option<TripBound> {
        let kernel = &self.built().lowered.kernel;
        let stored = |id: TensorId| u128::from(self.facts()[id.0].unique.unsigned_abs());
        let bound = one.bound(kernel, self.instance().parameters(), &stored)?;
        let stored = bound.stored.iter().map(|term| StoredBound {
            tensor: self.facts()[walked.tensors[term.operand].0].name.clone(),
            times: term.times,
            elements: term.elements,
        });
        Some(TripBound { value: bound.value(), all: bound.all, stored: stored.collect() })
    }
}

fn goes_over(over: Over) -> GoesOver {
    match over {
        Over::Range => GoesOver::Range,
        Over::Elements => GoesOver::Elements,
        Over::Subsections => GoesOver::Subsections,
        Over::Search => GoesOver::Search,
    }
}
