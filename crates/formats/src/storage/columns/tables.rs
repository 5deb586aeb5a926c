//! How large tables of coordinates may be.

/// Limits. Tests of the project take others.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Tables {
    /// A table of all coordinates below all positions may have so many elements for each entry.
    pub(in super::super) all: u64,
    /// A table of the coordinates below one position may have so many.
    pub(in super::super) one: u64,
    /// Tables of so many elements are no matter.
    pub(in super::super) small: u64,
}

impl Default for Tables {
    fn default() -> Tables {
        Tables { all: 4, one: 16, small: 1 << 12 }
    }
}

impl Tables {
    /// How many elements a table of everything may have.
    pub(in super::super) fn of_all(self, entries: usize) -> u64 {
        self.all.saturating_mul(entries as u64).max(self.small)
    }

    /// How many elements a table of what is below one position may have.
    pub(super) fn of_one(self, entries: usize) -> u64 {
        self.one.saturating_mul(entries as u64).max(self.small)
    }
}
