//! How a grid of lanes accesses memory: what the lanes of a warp load or store at the same time.
//!
//! Lanes are executed one after the other. What one place in the text accesses for the n-th time in each of 32
//! neighbouring lanes is one request: memory moves whole sectors of 32 bytes for it, and shared memory answers it bank
//! after bank.

use std::collections::{BTreeMap, BTreeSet};

use crate::ir::{Buffer, Space};

/// Lanes that execute the same instruction at the same time.
const WARP: u64 = 32;
/// Bytes that memory moves at once.
const SECTOR: u64 = 32;
/// Banks of shared memory, and the bytes that each gives at once.
const BANKS: u64 = 32;
const WORD: u64 = 4;

/// What the lanes of a grid did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GridCounts {
    /// Loops over lanes that blocks executed: each ends in a barrier.
    pub barriers: u64,
    /// Requests of warps to memory that is not shared.
    pub requests: u64,
    /// Sectors that were moved for them.
    pub sectors: u64,
    /// Requests for which more sectors were moved than the elements fill, and one more for where they begin.
    pub uncoalesced: u64,
    /// Requests of warps to shared memory.
    pub shared_requests: u64,
    /// How often a bank had to give a further word for one of them.
    pub bank_conflicts: u64,
}

/// A request: its place in the text, how often the lanes came there before, and the warp.
type Request = (usize, u64, u64);

/// An element that a lane accesses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Access {
    shared: bool,
    buffer: u32,
    at: u64,
    bytes: u64,
}

/// Looks on while lanes are executed.
#[derive(Default)]
pub(super) struct Watch {
    /// The lane that is executed.
    lane: Option<u64>,
    /// How often it came to each place.
    visits: BTreeMap<usize, u64>,
    requests: BTreeMap<Request, BTreeSet<Access>>,
    pub counts: GridCounts,
}

impl Watch {
    /// The next lane of a loop over lanes begins.
    pub fn next_lane(&mut self) {
        self.lane = Some(self.lane.map_or(0, |lane| lane + 1));
        self.visits.clear();
    }

    /// The current lane accesses an element.
    pub fn access(&mut self, place: usize, number: u32, buffer: &Buffer, at: u64) {
        let Some(lane) = self.lane else { return };
        if buffer.space == Space::Stack {
            return;
        }
        let visits = self.visits.entry(place).or_default();
        let request = (place, *visits, lane / WARP);
        *visits += 1;
        let bytes = buffer.element.bytes() as u64;
        let shared = buffer.space == Space::Shared;
        self.requests.entry(request).or_default().insert(Access {
            shared,
            buffer: number,
            at,
            bytes,
        });
    }

    /// The loop over lanes ends.
    pub fn end(&mut self) {
        self.lane = None;
        self.counts.barriers += 1;
        for accesses in std::mem::take(&mut self.requests).into_values() {
            let shared = accesses.iter().any(|access| access.shared);
            if shared { self.shared(&accesses) } else { self.main(&accesses) }
        }
    }

    fn main(&mut self, accesses: &BTreeSet<Access>) {
        let sectors: BTreeSet<(u32, u64)> = accesses
            .iter()
            .map(|access| (access.buffer, access.at * access.bytes / SECTOR))
            .collect();
        let bytes: u64 = accesses.iter().map(|access| access.bytes).sum();
        self.counts.requests += 1;
        self.counts.sectors += sectors.len() as u64;
        self.counts.uncoalesced += u64::from(sectors.len() as u64 > bytes.div_ceil(SECTOR) + 1);
    }

    fn shared(&mut self, accesses: &BTreeSet<Access>) {
        let mut banks: BTreeMap<u64, BTreeSet<(u32, u64)>> = BTreeMap::new();
        let mut wide = 1;
        for access in accesses {
            wide = wide.max(access.bytes / WORD);
            for byte in (0..access.bytes).step_by(WORD as usize) {
                let word = (access.at * access.bytes + byte) / WORD;
                banks.entry(word % BANKS).or_default().insert((access.buffer, word));
            }
        }
        let most = banks.values().map(|words| words.len() as u64).max().unwrap_or(0);
        self.counts.shared_requests += 1;
        // Elements of several words are answered in as many steps at least.
        self.counts.bank_conflicts += most.saturating_sub(wide.max(1));
    }
}
