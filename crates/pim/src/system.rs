//! Many cores that run one program, each on its own bank.

use rayon::prelude::*;

use crate::address::SCRATCHPAD;
use crate::bank::{Page, Shared, Touched};
use crate::core::{Core, Entry, Start};
use crate::counters::Counters;
use crate::fault::Fault;
use crate::image::Image;
use crate::isa::Op;
use crate::profile::Profile;

/// A program with what all cores have in common.
#[derive(Debug)]
pub struct Job<'a> {
    /// The machine.
    pub profile: &'a Profile,
    /// The program.
    pub image: &'a Image,
    /// Its instructions.
    pub text: &'a [Option<Op>],
    /// The buffers.
    pub shared: &'a Shared,
    /// Instructions that a core may execute.
    pub limit: u64,
    /// Cycles between the first points of a timeline, which double where there are many; 0 for none.
    pub sampled: u64,
}

/// What the threads of a core start with: the address of the first instruction, and the words of each one's arguments
/// in memory.
#[derive(Clone, Debug, Default)]
pub struct CoreWork {
    /// The address of the first instruction.
    pub pc: u32,
    /// For each thread, the arrays whose addresses are its arguments.
    pub threads: Vec<Vec<Vec<u32>>>,
}

/// What a core leaves.
#[derive(Clone, Debug)]
pub struct CoreResult {
    /// What it counted.
    pub counters: Counters,
    /// What it touched of each buffer.
    pub touched: Vec<Touched>,
    /// Bytes of workspaces.
    pub workspaces: u64,
    /// What it wrote.
    pub pages: Vec<Page>,
    /// What it had counted at regular times.
    pub timeline: Vec<Counters>,
}

impl Job<'_> {
    /// Runs all cores, some at a time; the results are in the order of the cores, whichever ran first.
    ///
    /// # Errors
    /// The fault of the first core that has one.
    pub fn run(&self, cores: &[CoreWork]) -> Result<Vec<CoreResult>, Fault> {
        let all: Vec<Result<CoreResult, Fault>> =
            cores.par_iter().enumerate().map(|(number, work)| self.core(number, work)).collect();
        all.into_iter().collect()
    }

    fn core(&self, number: usize, work: &CoreWork) -> Result<CoreResult, Fault> {
        let mut common = self.image.data.clone();
        common.resize(common.len().next_multiple_of(8), 0);
        let threads = work.threads.iter().map(|arrays| {
            let arguments = arrays.iter().map(|array| {
                let address = SCRATCHPAD + common.len() as u32;
                common.extend(array.iter().flat_map(|word| word.to_le_bytes()));
                common.resize(common.len().next_multiple_of(8), 0);
                address
            });
            Entry { pc: work.pc, arguments: arguments.collect() }
        });
        let threads = threads.collect();
        let start = Start {
            core: number,
            profile: self.profile,
            text: self.text,
            common,
            threads,
            shared: self.shared,
            limit: self.limit,
            sampled: self.sampled,
        };
        let finished = Core::new(start).and_then(Core::run).map_err(|fault| Fault {
            place: self.image.function_at(fault.pc).map(str::to_owned),
            ..fault
        })?;
        Ok(CoreResult {
            counters: finished.counters,
            workspaces: finished.bank.workspaces(),
            touched: finished.bank.touched,
            pages: finished.bank.pages,
            timeline: finished.timeline,
        })
    }
}
