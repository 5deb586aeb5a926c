//! A compiled program on the machine: what a host does step by step.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use dastac_elements::Element;
use dastac_loops::{BufferId, Mode, json};

use crate::address::BANK;
use crate::bank::{Shared, Touched, Window};
use crate::error::PimError;
use crate::host::{Facts, HostBuffer, Values};
use crate::image::Image;
use crate::isa::Op;
use crate::outline::Outline;
use crate::plan::{Configuration, Launch, Plan, Step};
use crate::report::{LaunchReport, Report, Seconds};
use crate::system::{CoreResult, CoreWork, Job};
use crate::transfer::transfers;
use crate::width::is_narrow;
use crate::work::Range;

/// The section of an executable that holds its plan, and the one that holds the same program with 64-bit integers.
pub const PLAN: &str = ".dastac.plan";
/// See [`PLAN`].
pub const WIDE: &str = ".dastac.wide";

/// Instructions that a core may execute: minutes on the machine.
const LIMIT: u64 = 20_000_000_000;

/// Cycles between the first points of a timeline.
const SAMPLED: u64 = 16;

/// A buffer that a caller lends.
#[derive(Debug)]
pub enum Operand<'a> {
    /// Bytes that are only read.
    In(&'a [u8]),
    /// Bytes that are read and written.
    Out(&'a mut [u8]),
}

impl Operand<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Operand::In(bytes) => bytes,
            Operand::Out(bytes) => bytes,
        }
    }
}

/// A program, loaded.
#[derive(Debug)]
pub struct Device {
    plan: Plan,
    narrow: Variant,
    wide: Variant,
    report: Mutex<Report>,
    /// Whether timelines are recorded.
    watched: AtomicBool,
    /// Where loops are cut, if it is not for parts of equal work.
    cuts: Option<Vec<i64>>,
}

/// A program for integers of one width.
#[derive(Debug)]
struct Variant {
    image: Image,
    text: Vec<Option<Op>>,
    bits: u32,
}

impl Variant {
    fn of(image: Image, bits: u32) -> Variant {
        Variant { text: image.decoded(), image, bits }
    }

    /// The address of a launch's first instruction.
    fn entry(&self, launch: &Launch) -> Result<u32, PimError> {
        let entry = format!("{}__packed", launch.entry);
        self.image.functions.get(&entry).copied().ok_or(PimError::Damaged)
    }
}

/// What a run of steps has at hand.
struct Run<'a> {
    device: &'a Device,
    symbols: &'a [i64],
    buffers: BTreeMap<BufferId, HostBuffer>,
}

impl Device {
    /// Loads a program.
    ///
    /// # Errors
    /// A file that is none.
    pub fn load(elf: &[u8]) -> Result<Device, PimError> {
        let narrow = Image::from_elf(elf).ok_or(PimError::Damaged)?;
        let plan = narrow.notes.get(PLAN).ok_or(PimError::Damaged)?;
        let plan: Plan =
            json::from_slice(plan).map_err(|error| PimError::Plan(error.to_string()))?;
        let wide = narrow.notes.get(WIDE).and_then(|wide| Image::from_elf(wide));
        let wide = wide.ok_or(PimError::Damaged)?;
        let (narrow, wide) = (Variant::of(narrow, 32), Variant::of(wide, 64));
        Ok(Device {
            plan,
            narrow,
            wide,
            report: Mutex::default(),
            watched: AtomicBool::new(false),
            cuts: None,
        })
    }

    /// The same executable for another machine: code is the same for all.
    ///
    /// # Errors
    /// A file that is none.
    pub fn configure(elf: &[u8], machine: &Configuration) -> Result<Vec<u8>, PimError> {
        let mut image = Image::from_elf(elf).ok_or(PimError::Damaged)?;
        let plan = image.notes.get(PLAN).ok_or(PimError::Damaged)?;
        let read = |bytes: &[u8]| {
            json::from_slice(bytes).map_err(|error| PimError::Plan(error.to_string()))
        };
        let plan = Plan { machine: machine.clone(), ..read(plan)? };
        let plan = serde_json::to_vec(&plan).map_err(|error| PimError::Plan(error.to_string()))?;
        image.notes.insert(PLAN.to_owned(), plan);
        Ok(image.to_elf())
    }

    /// The functions that it has.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        self.plan.functions.iter().map(|function| function.name.as_str())
    }

    /// Has loops that threads share be cut at these values of their variable, in place of parts of equal work: to
    /// compare how rows are handed out. There is one value more than there are threads.
    pub fn cut_at(&mut self, cuts: Vec<i64>) {
        self.cuts = Some(cuts);
    }

    /// Has later runs record what cores have counted at regular times: [`LaunchReport::timeline`].
    pub fn watch(&self) {
        self.watched.store(true, Ordering::Relaxed);
    }

    /// What was counted since it was last asked for.
    pub fn take_report(&self) -> Report {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        let machine = &self.plan.machine;
        Report {
            profile: machine.profile.name.clone(),
            cores: machine.cores,
            threads: machine.threads,
            ..std::mem::take(&mut *report)
        }
    }

    /// Runs a function. Its buffers are as long as their sizes say for these symbols.
    ///
    /// # Errors
    /// A fault of a core; buffers that do not fit the banks.
    pub fn call(
        &self,
        function: &str,
        symbols: &[i64],
        operands: &mut [Operand<'_>],
    ) -> Result<(), PimError> {
        let planned = self.plan.functions.iter().find(|known| known.name == function);
        let planned = planned.ok_or(PimError::Damaged)?;
        let ids = planned.args.iter().map(|(id, _)| *id);
        let buffers = ids.zip(operands.iter()).map(|(id, operand)| {
            (id, HostBuffer { element: self.element(id), bytes: operand.bytes().to_vec() })
        });
        let mut run = Run { device: self, symbols, buffers: buffers.collect() };
        run.steps(&planned.steps)?;
        for ((id, mode), operand) in planned.args.iter().zip(operands) {
            if let (Operand::Out(bytes), Some(buffer)) = (operand, run.buffers.get(id))
                && *mode != Mode::In
            {
                bytes.copy_from_slice(&buffer.bytes);
            }
        }
        Ok(())
    }

    fn element(&self, id: BufferId) -> Element {
        self.plan.buffers.get(id.0 as usize).map_or(Element::F32, |buffer| buffer.element)
    }

    fn name(&self, id: BufferId) -> &str {
        self.plan.buffers.get(id.0 as usize).map_or("", |buffer| &buffer.name)
    }
}

impl Run<'_> {
    fn facts(&self) -> Facts<'_> {
        Facts { symbols: self.symbols, buffers: &self.buffers }
    }

    fn steps(&mut self, steps: &[Step]) -> Result<(), PimError> {
        steps.iter().try_for_each(|step| self.step(step))
    }

    fn step(&mut self, step: &Step) -> Result<(), PimError> {
        match step {
            Step::Launch(launch) => self.launch(launch),
            Step::If { condition, then, otherwise } => {
                match self.facts().with(&Values::new(), |env| condition.eval_in(env))? {
                    true => self.steps(then),
                    false => self.steps(otherwise),
                }
            }
            Step::Workspace { buffer, size, steps } => {
                let element = self.device.element(*buffer);
                let size = self.facts().eval(size, &Values::new())?.max(0);
                let bytes = size.saturating_mul(element.bytes() as i64);
                let bytes = usize::try_from(bytes).ok().filter(|bytes| *bytes < 1 << 32);
                let bytes = vec![0; bytes.ok_or(PimError::Addresses)?];
                self.buffers.insert(*buffer, HostBuffer { element, bytes });
                self.steps(steps)?;
                self.buffers.remove(buffer);
                Ok(())
            }
        }
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), PimError> {
        let narrow = is_narrow(&launch.outline, &self.facts(), &[]);
        let variant = if narrow { &self.device.narrow } else { &self.device.wide };
        let machine = &self.device.plan.machine;
        let pc = variant.entry(launch)?;
        let (bytes, most) =
            (variant.image.bytes_from(&variant.text, pc), machine.profile.instructions);
        if bytes > u64::from(most) {
            return Err(PimError::Instructions { bytes, most });
        }
        let shared = self.shared(launch)?;
        let cores = self.cores(launch, pc, &shared)?;
        if cores.is_empty() {
            return Ok(());
        }
        let profile = &machine.profile;
        let (image, text) = (&variant.image, &variant.text[..]);
        let sampled = if self.device.watched.load(Ordering::Relaxed) { SAMPLED } else { 0 };
        let job = Job { profile, image, text, shared: &shared, limit: LIMIT, sampled };
        let results = job.run(&cores)?;
        self.check(launch, &results)?;
        self.merge(launch, &shared, &results);
        let report = self.report(launch, results, &cores, variant.bits);
        self.device.report.lock().unwrap_or_else(PoisonError::into_inner).add(report);
        Ok(())
    }

    /// The buffers of a launch, one behind the other.
    fn shared(&self, launch: &Launch) -> Result<Shared, PimError> {
        let mut shared = Shared::default();
        for (id, mode) in &launch.args {
            let buffer = self.buffers.get(id).ok_or(PimError::Damaged)?;
            shared.add(&buffer.bytes, *mode != Mode::In).ok_or(PimError::Addresses)?;
        }
        Ok(shared)
    }

    /// What each core does: a part of the iterations, in parts for its threads.
    fn cores(&self, launch: &Launch, pc: u32, shared: &Shared) -> Result<Vec<CoreWork>, PimError> {
        let pointers: Vec<u32> = shared.placed.iter().map(|one| one.begin + BANK).collect();
        let thread = |first: i64, last: i64| {
            let numbers = self.symbols.iter().copied().chain([first, last]);
            let words = numbers.flat_map(|number| [number as u32, (number >> 32) as u32]);
            vec![words.collect(), pointers.clone()]
        };
        let [Outline::Loop { var, lower, upper, step, body }] = &launch.outline[..] else {
            return Ok(vec![CoreWork { pc, threads: vec![thread(0, 0)] }]);
        };
        if !launch.shared {
            return Ok(vec![CoreWork { pc, threads: vec![thread(0, 0)] }]);
        }
        let facts = self.facts();
        let (first, last) = facts.range(lower, upper, &Values::new())?;
        let range = Range { var: *var, first, last, step: *step, body };
        let machine = &self.device.plan.machine;
        let ends = match &self.device.cuts {
            Some(cuts) => cuts.clone(),
            None => range.parts(&facts, machine.cores * machine.threads),
        };
        let parts: Vec<(i64, i64)> = ends.windows(2).map(|pair| (pair[0], pair[1])).collect();
        let cores = parts.chunks(machine.threads).map(|threads| {
            let some = threads.iter().filter(|part| part.0 < part.1);
            CoreWork { pc, threads: some.map(|part| thread(part.0, part.1)).collect() }
        });
        Ok(cores.filter(|core| !core.threads.is_empty()).collect())
    }

    /// Whether everything that a core touches fits its bank.
    fn check(&self, launch: &Launch, results: &[CoreResult]) -> Result<(), PimError> {
        let bank = u64::from(self.device.plan.machine.profile.bank);
        let around = |one: &Touched| Window::around(one.read, one.written).bytes();
        for (core, result) in results.iter().enumerate() {
            let windows: Vec<u64> = result.touched.iter().map(around).collect();
            let bytes = windows.iter().sum::<u64>() + result.workspaces;
            if bytes > bank {
                let named = launch.args.iter().zip(&windows).filter(|(_, bytes)| **bytes > 0);
                let mut list: Vec<String> = named
                    .map(|((id, _), bytes)| format!("{bytes} of `{}`", self.device.name(*id)))
                    .collect();
                list.push(format!("{} of workspaces", result.workspaces));
                return Err(PimError::Bank { core, bytes, bank, parts: list.join(", ") });
            }
        }
        Ok(())
    }

    /// Takes over what cores wrote, in their order.
    fn merge(&mut self, launch: &Launch, shared: &Shared, results: &[CoreResult]) {
        let mut bytes = shared.bytes.clone();
        for page in results.iter().flat_map(|result| &result.pages) {
            let begin = (page.number * crate::address::PAGE) as usize;
            if let Some(into) = bytes.get_mut(begin..) {
                page.merge(into);
            }
        }
        for ((id, mode), placed) in launch.args.iter().zip(&shared.placed) {
            if let Some(buffer) = self.buffers.get_mut(id)
                && *mode != Mode::In
            {
                let written = &bytes[placed.begin as usize..placed.end as usize];
                buffer.bytes.copy_from_slice(written);
            }
        }
    }

    fn report(
        &self,
        launch: &Launch,
        results: Vec<CoreResult>,
        cores: &[CoreWork],
        index_bits: u32,
    ) -> LaunchReport {
        let profile = &self.device.plan.machine.profile;
        let mut seconds = Seconds { launches: profile.host.launch, ..Seconds::default() };
        let mut all = Vec::new();
        for (at, (id, _)) in launch.args.iter().enumerate() {
            let (to, from) = transfers(self.device.name(*id), at, &results, &profile.host);
            seconds.to_banks += to.as_ref().map_or(0.0, |one| one.seconds);
            seconds.from_banks += from.as_ref().map_or(0.0, |one| one.seconds);
            all.extend(to.into_iter().chain(from));
        }
        let mut counters = crate::Counters::default();
        results.iter().for_each(|result| counters.add(&result.counters));
        seconds.cores = counters.cycles as f64 / profile.hertz;
        let sum: u64 = results.iter().map(|result| result.counters.cycles).sum();
        let mean = sum as f64 / results.len().max(1) as f64;
        LaunchReport {
            program: launch.entry.clone(),
            cores: cores.len(),
            threads: cores.iter().map(|core| core.threads.len()).max().unwrap_or(0),
            index_bits,
            seconds,
            imbalance: if mean > 0.0 { counters.cycles as f64 / mean } else { 1.0 },
            transfers: all,
            per_core: results.iter().map(|result| result.counters.clone()).collect(),
            timeline: results.into_iter().map(|result| result.timeline).collect(),
            counters,
        }
    }
}
