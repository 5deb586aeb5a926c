//! Machines in text files: what passes would do for a machine that is not at hand.
//!
//! ```text
//! # 256 cores of four lanes, each with a scratchpad
//! vector_bytes = 16
//! registers = 32
//! fuses = yes
//! gathers = no
//! l1 = 65536
//! l2 = 67108864
//! memory scratchpad = 65536 each of cores
//! level cores = 256
//! level lanes = 4
//! level threads
//! ```
//!
//! `#` starts a comment. Every number stands once, memories and levels as often as there are any; a level without a
//! number has as many processors as there are when the code runs. Lines, pages, the stack, the price of waking threads
//! and the like may be left out: they are alike on most processors.

use std::fmt::Write;

use dastac_elements::Function as MathFunction;

use crate::machine::{Machine, Memory, Processors};
use crate::place::{ParallelLevel, Space};

/// A text that describes no machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct FileError {
    /// The line, from 1; for what is missing, the one after the last.
    pub line: usize,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a description.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A line that says nothing known.
    #[error(
        "expected `NAME = NUMBER`, `memory SPACE = BYTES each of LEVEL` or `level LEVEL = NUMBER`, found `{0}`"
    )]
    Line(String),
    /// Not a positive number.
    #[error("`{0}` is not a positive number")]
    Number(String),
    /// A number that no machine has.
    #[error("`{name}` is at most {most}")]
    Large {
        /// Which one.
        name: &'static str,
        /// The largest.
        most: i64,
    },
    /// A number that must be a power of two.
    #[error("`{name}` is a power of two from {least} to {most}")]
    Power {
        /// Which one.
        name: &'static str,
        /// The smallest.
        least: i64,
        /// The largest.
        most: i64,
    },
    /// Neither yes nor no.
    #[error("`{0}` is neither `yes` nor `no`")]
    Answer(String),
    /// No such memory space.
    #[error("there is no memory space `{0}`; there are {known}", known = words(Space::ALL))]
    Space(String),
    /// No such function.
    #[error("there is no function `{0}`; there are {known}", known = functions())]
    Function(String),
    /// No such level.
    #[error("there is no level of parallelism `{0}`; there are {known}", known = words(ParallelLevel::ALL))]
    Level(String),
    /// Something is said twice.
    #[error("`{0}` is given twice")]
    Twice(String),
    /// Something is not said.
    #[error("`{0}` is missing")]
    Missing(&'static str),
}

fn words<T>(all: &[(T, &str)]) -> String {
    all.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
}

fn functions() -> String {
    MathFunction::ALL.iter().map(|function| function.name()).collect::<Vec<_>>().join(", ")
}

/// Reads a description.
///
/// # Errors
/// The first line that says nothing known, or what is missing.
pub fn parse(text: &str) -> Result<Machine, FileError> {
    let mut draft = Draft::default();
    for (at, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if !line.is_empty() {
            draft.line(line).map_err(|problem| FileError { line: at + 1, problem })?;
        }
    }
    let line = text.lines().count() + 1;
    draft.finish().map_err(|problem| FileError { line, problem })
}

/// Writes a description that [`parse`] reads as the same machine.
pub fn print(machine: &Machine) -> String {
    let answer = |yes: bool| if yes { "yes" } else { "no" };
    let mut text = String::new();
    for number in NUMBERS.iter().filter(|number| number.needed) {
        let _ = writeln!(text, "{} = {}", number.name, (number.get)(machine));
        if number.name == "registers" {
            let (fuses, gathers) = (answer(machine.fuses), answer(machine.gathers));
            let _ = writeln!(text, "fuses = {fuses}\ngathers = {gathers}");
        }
    }
    for number in NUMBERS.iter().filter(|number| !number.needed) {
        let _ = writeln!(text, "{} = {}", number.name, (number.get)(machine));
    }
    if !machine.vector_functions.is_empty() {
        let names: Vec<&str> = machine.vector_functions.iter().map(|one| one.name()).collect();
        let _ = writeln!(text, "vector_functions = {}", names.join(" "));
    }
    for Memory { space, bytes, level } in &machine.memories {
        let _ = writeln!(text, "memory {} = {bytes} each of {}", space.name(), level.name());
    }
    for Processors { level, count } in &machine.levels {
        let count = count.map_or(String::new(), |count| format!(" = {count}"));
        let _ = writeln!(text, "level {}{count}", level.name());
    }
    text
}

/// All numbers of a machine, by their names.
pub fn numbers(machine: &Machine) -> Vec<(&'static str, i64)> {
    NUMBERS.iter().map(|number| (number.name, (number.get)(machine))).collect()
}

/// A number of a machine.
struct Number {
    name: &'static str,
    /// Whether a description must say it; what it does not say is as on most processors.
    needed: bool,
    allowed: Allowed,
    get: fn(&Machine) -> i64,
    set: fn(&mut Machine, i64),
}

/// Which values a number may have.
enum Allowed {
    /// All from 1 to this one.
    To(i64),
    /// Powers of two between these.
    Powers(i64, i64),
}

/// Bytes, elements and so on: more than any machine has, and small enough to be multiplied with what is known of a
/// nest.
const MOST: Allowed = Allowed::To(1 << 40);

/// Numbers that generated code grows with.
const FEW: Allowed = Allowed::To(256);

impl Allowed {
    fn check(&self, name: &'static str, value: i64) -> Result<(), Problem> {
        match *self {
            Allowed::To(most) if value > most => Err(Problem::Large { name, most }),
            Allowed::Powers(least, most)
                if value < least || value > most || value & (value - 1) != 0 =>
            {
                Err(Problem::Power { name, least, most })
            }
            Allowed::To(_) | Allowed::Powers(..) => Ok(()),
        }
    }
}

/// A [`Number`] by the name of its field.
macro_rules! number {
    ($field:ident, $needed:expr, $allowed:expr) => {
        Number {
            name: stringify!($field),
            needed: $needed,
            allowed: $allowed,
            get: |machine| machine.$field,
            set: |machine, number| machine.$field = number,
        }
    };
}

const NUMBERS: &[Number] = &[
    number!(vector_bytes, true, Allowed::Powers(1, 256)),
    number!(registers, true, FEW),
    number!(l1, true, MOST),
    number!(l2, true, MOST),
    number!(last, false, MOST),
    number!(line, false, Allowed::Powers(16, 4096)),
    number!(page, false, MOST),
    number!(stack, false, Allowed::To(1 << 16)),
    number!(stream, false, MOST),
    number!(wake, false, MOST),
    number!(multiply_adds, false, MOST),
    number!(read_l1, false, MOST),
    number!(read_l2, false, MOST),
    number!(read_last, false, MOST),
    number!(read_memory, false, MOST),
    number!(chains, false, Allowed::To(32)),
    number!(scalar_chains, false, Allowed::To(32)),
    number!(packs, false, Allowed::Powers(1, 64)),
    number!(predicts, false, MOST),
    number!(same_shape, false, MOST),
    number!(calls, false, MOST),
    number!(function, false, MOST),
];

/// What has been read so far.
#[derive(Default)]
struct Draft {
    numbers: Vec<(String, i64)>,
    answers: Vec<(String, bool)>,
    functions: Vec<MathFunction>,
    memories: Vec<Memory>,
    levels: Vec<Processors>,
}

const ANSWERS: &[&str] = &["fuses", "gathers"];

impl Draft {
    fn line(&mut self, line: &str) -> Result<(), Problem> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["memory", space, "=", bytes, "each", "of", level] => self.memory(space, bytes, level),
            ["vector_functions", "=", ref names @ ..] => names.iter().try_for_each(|name| {
                let function = MathFunction::from_name(name)
                    .ok_or_else(|| Problem::Function((*name).to_owned()))?;
                self.functions.push(function);
                Ok(())
            }),
            ["level", level] => self.level(level, None),
            ["level", level, "=", count] => self.level(level, Some(count)),
            [name, "=", value] if let Some(known) = NUMBERS.iter().find(|one| one.name == name) => {
                self.fresh(name)?;
                let value = number(value)?;
                known.allowed.check(known.name, value)?;
                self.numbers.push((name.to_owned(), value));
                Ok(())
            }
            [name, "=", value] if ANSWERS.contains(&name) => {
                self.fresh(name)?;
                self.answers.push((name.to_owned(), answer(value)?));
                Ok(())
            }
            _ => Err(Problem::Line(line.to_owned())),
        }
    }

    /// Fails where a name was given before.
    fn fresh(&self, name: &str) -> Result<(), Problem> {
        let numbers = self.numbers.iter().map(|(known, _)| known);
        match numbers.chain(self.answers.iter().map(|(known, _)| known)).any(|known| known == name)
        {
            true => Err(Problem::Twice(name.to_owned())),
            false => Ok(()),
        }
    }

    fn memory(&mut self, space: &str, bytes: &str, level: &str) -> Result<(), Problem> {
        let found = Space::find(space).ok_or_else(|| Problem::Space(space.to_owned()))?;
        if self.memories.iter().any(|memory| memory.space == found) {
            return Err(Problem::Twice(space.to_owned()));
        }
        let level = level_of(level)?;
        self.memories.push(Memory { space: found, bytes: number(bytes)?, level });
        Ok(())
    }

    fn level(&mut self, name: &str, count: Option<&str>) -> Result<(), Problem> {
        let level = level_of(name)?;
        if self.levels.iter().any(|known| known.level == level) {
            return Err(Problem::Twice(name.to_owned()));
        }
        self.levels.push(Processors { level, count: count.map(number).transpose()? });
        Ok(())
    }

    fn finish(self) -> Result<Machine, Problem> {
        let answer = |name: &'static str| {
            let found = self.answers.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| *value).ok_or(Problem::Missing(name))
        };
        let (memories, levels) = (self.memories.clone(), self.levels.clone());
        let vector_functions = self.functions.clone();
        let mut machine = Machine { vector_functions, memories, levels, ..Machine::PLAIN };
        for Number { name, needed, set, .. } in NUMBERS {
            match self.numbers.iter().find(|(known, _)| known == name) {
                Some((_, value)) => set(&mut machine, *value),
                None if *needed => return Err(Problem::Missing(name)),
                None => {}
            }
        }
        // What a description says of the second cache is the best guess about what lies behind it.
        let given = |name: &str| self.numbers.iter().any(|(known, _)| known == name);
        if !given("last") {
            machine.last = machine.l2;
        }
        if !given("stream") {
            machine.stream = machine.l2 / 2 * 3;
        }
        (machine.fuses, machine.gathers) = (answer("fuses")?, answer("gathers")?);
        Ok(machine)
    }
}

fn number(text: &str) -> Result<i64, Problem> {
    let value = text.parse().ok().filter(|value| *value > 0);
    value.ok_or_else(|| Problem::Number(text.to_owned()))
}

fn answer(text: &str) -> Result<bool, Problem> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(Problem::Answer(text.to_owned())),
    }
}

fn level_of(name: &str) -> Result<ParallelLevel, Problem> {
    ParallelLevel::find(name).ok_or_else(|| Problem::Level(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    const EXAMPLE: &str = "\
vector_bytes = 16
registers = 32
fuses = yes
gathers = no
l1 = 65536
l2 = 67108864
last = 67108864
line = 64
page = 4096
stack = 4096
stream = 98304
wake = 16384
multiply_adds = 1
read_l1 = 8
read_l2 = 8
read_last = 8
read_memory = 4
chains = 8
scalar_chains = 4
packs = 4
predicts = 131072
same_shape = 8
calls = 64
function = 16
vector_functions = exp pow
memory scratchpad = 65536 each of cores
level cores = 256
level lanes = 4
level threads
";

    #[test]
    fn descriptions_read_back() {
        let machine = parse(EXAMPLE).unwrap();
        assert_eq!(print(&machine), EXAMPLE);
        assert_eq!(machine.bytes_of(Space::Scratchpad), 65536);
        assert!(machine.has(ParallelLevel::Cores) && !machine.has(ParallelLevel::Blocks));
        assert_eq!(parse(&print(&Machine::PLAIN)), Ok(Machine::PLAIN));
        let without_page = EXAMPLE.replace("page = 4096\n", "");
        assert_eq!(parse(&without_page).as_ref(), Ok(&machine));
        assert_eq!(parse(&EXAMPLE.replace("4096", "8192")).unwrap().page, 8192);
    }

    #[test]
    fn errors_name_the_line() {
        let with = |line: &str| parse(&format!("# machine\n{EXAMPLE}{line}\n"));
        let lines = [
            "l1 = 3",
            "l3 = 3",
            "memory attic = 3 each of cores",
            "memory shared = 0 each of cores",
            "vector_functions = exp gamma",
        ];
        let more =
            ["memory shared = 8 each of moons", "level cores", "level moons = 2", "fuses = no"];
        let all = lines.iter().chain(&more).map(|line| with(line).unwrap_err().to_string());
        let mut all: Vec<String> = all.collect();
        all.push(parse("registers = 8\nfuses = perhaps").unwrap_err().to_string());
        all.push(parse("registers = 8").unwrap_err().to_string());
        for line in ["vector_bytes = 24", "line = 8", "packs = 128", "wake = 9223372036854775807"] {
            all.push(parse(line).unwrap_err().to_string());
        }
        expect![[r#"
            line 31: `l1` is given twice
            line 31: expected `NAME = NUMBER`, `memory SPACE = BYTES each of LEVEL` or `level LEVEL = NUMBER`, found `l3 = 3`
            line 31: there is no memory space `attic`; there are main, stack, shared, scratchpad
            line 31: `0` is not a positive number
            line 31: there is no function `gamma`; there are exp, exp2, expm1, log, log2, log10, log1p, sqrt, cbrt, abs, sign, floor, ceil, round, trunc, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, erf, pow, atan2, hypot, floor_divide, mod, conj, real, imag, complex
            line 31: there is no level of parallelism `moons`; there are threads, blocks, cores, lanes
            line 31: `cores` is given twice
            line 31: there is no level of parallelism `moons`; there are threads, blocks, cores, lanes
            line 31: `fuses` is given twice
            line 2: `perhaps` is neither `yes` nor `no`
            line 2: `vector_bytes` is missing
            line 1: `vector_bytes` is a power of two from 1 to 256
            line 1: `line` is a power of two from 16 to 4096
            line 1: `packs` is a power of two from 1 to 64
            line 1: `wake` is at most 1099511627776"#]].assert_eq(&all.join("\n"));
    }
}
