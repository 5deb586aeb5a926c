//! Machines as files of text: sizes, clocks, and what everything costs.
//!
//! Lines are `key = value`; `#` begins a comment. Every key of [`Profile`] must be there, but for those of a DMA engine
//! and its lines: without them, cores load and store in their banks directly.

use serde::{Deserialize, Serialize};

use crate::isa::Class;

/// The profiles that are built in, by name.
pub const BUILT_IN: [(&str, &str); 2] = [
    ("blimp", include_str!("../profiles/blimp.txt")),
    ("upmem", include_str!("../profiles/upmem.txt")),
];

/// A machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Cycles in a second.
    pub hertz: f64,
    /// Cores that there are.
    pub cores: usize,
    /// Threads of a core.
    pub threads: usize,
    /// Stages of the pipeline: cycles after which a thread may issue its next instruction.
    pub stages: u64,
    /// Bytes of a core's scratchpad.
    pub scratchpad: u32,
    /// Bytes of instructions that a core holds.
    pub instructions: u32,
    /// Bytes of a core's bank.
    pub bank: u32,
    /// Bytes of a row of the bank.
    pub row: u32,
    /// How cores reach their banks.
    pub access: Access,
    /// Instructions that each class costs, by [`Class`].
    pub costs: [u32; Class::ALL.len()],
    /// Instructions of routines.
    pub routines: Routines,
    /// What the host's transfers take.
    pub host: Host,
}

/// How a core reaches its bank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Access {
    /// Loads and stores go to the row buffer.
    Direct {
        /// Cycles where the row is open.
        hit: u64,
        /// Cycles where another row is open.
        miss: u64,
    },
    /// Loads and stores of the bank are a routine that keeps lines in the scratchpad, which a DMA engine moves.
    Dma(Dma),
}

/// A DMA engine, and the lines that a thread keeps of its bank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dma {
    /// Cycles before the first byte of a read.
    pub read: u64,
    /// Cycles before the first byte of a write.
    pub write: u64,
    /// Bytes moved in a cycle.
    pub bytes: u64,
    /// Bytes of a line.
    pub line: u32,
    /// Lines of a thread.
    pub lines: u32,
    /// Instructions that look a line up.
    pub lookup: u32,
}

/// Instructions of routines that stand for what the cores have no instructions for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each is the cost of what its name says, for numbers of 64 bits")]
pub struct Routines {
    pub double_add: u32,
    pub double_multiply: u32,
    pub double_divide: u32,
    pub double_compare: u32,
    pub double_convert: u32,
    pub long_multiply: u32,
    pub long_divide: u32,
    pub function: u32,
    pub allocate: u32,
}

/// The host's side: bytes per second of [`Host::banks`] banks together, and seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Banks that the host reaches at once.
    pub banks: usize,
    /// To one bank after the other.
    pub to_one: f64,
    /// From one bank after the other.
    pub from_one: f64,
    /// Different bytes to many banks at once.
    pub to_all: f64,
    /// From many banks at once.
    pub from_all: f64,
    /// The same bytes to all banks.
    pub broadcast: f64,
    /// Seconds to start a program and to learn that it ended.
    pub launch: f64,
}

/// Why a text is no profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// There is no profile of that name.
    #[error("there is no profile `{name}`; known are {known}")]
    Unknown {
        /// The name.
        name: String,
        /// All names.
        known: String,
    },
    /// A key that is needed.
    #[error("the profile has no `{0} = ..`")]
    Missing(String),
    /// A line that is none.
    #[error("`{0}` is not `key = value` with a number that fits")]
    Line(String),
    /// A number that no machine has.
    #[error("`{0}` must be more than 0")]
    Zero(&'static str),
}

impl Profile {
    /// A profile that is built in.
    ///
    /// # Errors
    /// A name that none has.
    pub fn named(name: &str) -> Result<Profile, ProfileError> {
        match BUILT_IN.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => Profile::parse(text),
            None => Err(ProfileError::Unknown {
                name: name.to_owned(),
                known: BUILT_IN.map(|(known, _)| known).join(", "),
            }),
        }
    }

    /// Reads a profile.
    ///
    /// # Errors
    /// A line that is none, a number that is missing or out of range.
    pub fn parse(text: &str) -> Result<Profile, ProfileError> {
        let lines = Lines::of(text)?;
        let access = match lines.find("dma_read") {
            None => {
                Access::Direct { hit: lines.number("row_hit")?, miss: lines.number("row_miss")? }
            }
            Some(_) => Access::Dma(Dma {
                read: lines.number("dma_read")?,
                write: lines.number("dma_write")?,
                bytes: lines.number("dma_bytes")?,
                line: lines.number("line")?,
                lines: lines.number("lines")?,
                lookup: lines.number("lookup")?,
            }),
        };
        let mut costs = [0; Class::ALL.len()];
        for (class, name) in Class::ALL {
            costs[class as usize] = lines.number(name)?;
        }
        let profile = Profile {
            name: lines.find("name").ok_or_else(|| ProfileError::Missing("name".into()))?.into(),
            hertz: lines.number("hertz")?,
            cores: lines.number("cores")?,
            threads: lines.number("threads")?,
            stages: lines.number("stages")?,
            scratchpad: lines.number("scratchpad")?,
            instructions: lines.number("instructions")?,
            bank: lines.number("bank")?,
            row: lines.number("row")?,
            access,
            costs,
            routines: lines.routines()?,
            host: lines.host()?,
        };
        profile.check()
    }

    fn check(self) -> Result<Profile, ProfileError> {
        let least = self.costs.iter().copied().min().unwrap_or(0);
        let (bytes, line) = match &self.access {
            Access::Direct { .. } => (1, 1),
            Access::Dma(dma) => (dma.bytes, u64::from(dma.line.min(dma.lines))),
        };
        let numbers = [
            (self.threads as u64, "threads"),
            (self.cores as u64, "cores"),
            (self.stages, "stages"),
            (u64::from(self.row), "row"),
            (u64::from(least), "plain"),
            (bytes, "dma_bytes"),
            (line, "line"),
            (self.host.banks as u64, "banks_at_once"),
            (u64::from(self.hertz > 0.0), "hertz"),
        ];
        match numbers.iter().find(|(number, _)| *number == 0) {
            Some((_, name)) => Err(ProfileError::Zero(name)),
            None => Ok(self),
        }
    }

    /// Instructions that one of a class costs.
    pub fn cost(&self, class: Class) -> u32 {
        self.costs[class as usize]
    }
}

/// The lines of a text.
struct Lines<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Result<Lines<'a>, ProfileError> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let pairs = lines.filter(|line| !line.starts_with('#')).map(|line| {
            let pair = line.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
            pair.ok_or_else(|| ProfileError::Line(line.to_owned()))
        });
        Ok(Lines(pairs.collect::<Result<_, _>>()?))
    }

    fn find(&self, key: &str) -> Option<&'a str> {
        self.0.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    fn number<T: std::str::FromStr>(&self, key: &str) -> Result<T, ProfileError> {
        let text = self.find(key).ok_or_else(|| ProfileError::Missing(key.to_owned()))?;
        text.parse().map_err(|_| ProfileError::Line(format!("{key} = {text}")))
    }

    fn routines(&self) -> Result<Routines, ProfileError> {
        Ok(Routines {
            double_add: self.number("double_add")?,
            double_multiply: self.number("double_multiply")?,
            double_divide: self.number("double_divide")?,
            double_compare: self.number("double_compare")?,
            double_convert: self.number("double_convert")?,
            long_multiply: self.number("long_multiply")?,
            long_divide: self.number("long_divide")?,
            function: self.number("function")?,
            allocate: self.number("allocate")?,
        })
    }

    fn host(&self) -> Result<Host, ProfileError> {
        Ok(Host {
            banks: self.number("banks_at_once")?,
            to_one: self.number("to_one")?,
            from_one: self.number("from_one")?,
            to_all: self.number("to_all")?,
            from_all: self.number("from_all")?,
            broadcast: self.number("broadcast")?,
            launch: self.number("launch")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_profiles_are_read() {
        for (name, _) in BUILT_IN {
            let profile = Profile::named(name).unwrap();
            assert_eq!(profile.name, name);
        }
        let unknown = Profile::named("other").unwrap_err().to_string();
        assert_eq!(unknown, "there is no profile `other`; known are blimp, upmem");
    }

    #[test]
    fn what_is_no_profile() {
        let text = BUILT_IN[0].1;
        let error = |text: &str| Profile::parse(text).unwrap_err().to_string();
        assert_eq!(error("x"), "`x` is not `key = value` with a number that fits");
        assert_eq!(
            error(&text.replace("row = 1024", "row = -1")),
            "`row = -1` is not `key = value` with a number that fits"
        );
        assert_eq!(error(&text.replace("branch = 2", "")), "the profile has no `branch = ..`");
        assert_eq!(
            error(&text.replace("threads = 1", "threads = 0")),
            "`threads` must be more than 0"
        );
    }
}
