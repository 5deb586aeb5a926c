//! Where a machine keeps data and runs iterations: memory spaces and levels of parallelism.
//!
//! These belong to the loop IR, not to a machine. Loops are built with the defaults, [`Space::Main`] and
//! [`ParallelLevel::Threads`], and passes that are not about machines keep them. The passes of a target replace them by
//! the memories and levels of its machine.

pub use dastac_elements::Space;

/// The processors among which the iterations of a parallel loop are distributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ParallelLevel {
    /// Threads that see one main memory. Of such loops inside each other the outermost is shared out.
    #[default]
    Threads,
    /// Blocks of threads: a block has a shared memory, and blocks do not wait for each other.
    Blocks,
    /// Cores, each with a scratchpad of its own.
    Cores,
    /// Lanes of one processor that execute the same instruction at the same time.
    Lanes,
}

impl ParallelLevel {
    /// All levels, each with its word in the text form.
    pub const ALL: &[(ParallelLevel, &str)] = &[
        (ParallelLevel::Threads, "threads"),
        (ParallelLevel::Blocks, "blocks"),
        (ParallelLevel::Cores, "cores"),
        (ParallelLevel::Lanes, "lanes"),
    ];

    /// The word for it in the text form.
    pub fn name(self) -> &'static str {
        let found = ParallelLevel::ALL.iter().find(|(level, _)| *level == self);
        found.map_or("threads", |(_, name)| name)
    }

    /// The level of that name.
    pub fn find(name: &str) -> Option<ParallelLevel> {
        ParallelLevel::ALL.iter().find(|(_, known)| *known == name).map(|(level, _)| *level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_again() {
        for (space, name) in Space::ALL {
            assert_eq!((space.name(), Space::find(name)), (*name, Some(*space)));
        }
        for (level, name) in ParallelLevel::ALL {
            assert_eq!((level.name(), ParallelLevel::find(name)), (*name, Some(*level)));
        }
        assert_eq!((Space::find("disk"), ParallelLevel::find("moons")), (None, None));
    }
}
