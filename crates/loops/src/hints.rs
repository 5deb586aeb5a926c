//! Hints: what a schedule wants of a loop, and what one pass tells the next about it.
//!
//! A hint decides about speed only. It belongs to a variable of a function, and so to all loops and sums that bind this
//! variable; what does not know hints may ignore them. In the text form they stand behind the range: `parallel i = 0 to
//! N hint(nest, tile 4) { .. }`.

use std::collections::BTreeMap;

use crate::ids::VarId;

/// What is wanted, or was decided, about the loops that bind a variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    /// The program says how this loop and those beside it are to be executed: what it does not say is still free, but
    /// passes that are not about single loops leave such statements alone.
    pub scheduled: bool,
    /// The loop keeps its place among the loops that are not unrolled.
    pub ordered: bool,
    /// So many iterations are to be executed side by side; 1 is none.
    pub unroll: Option<i64>,
    /// Whether its elements, or terms, are to be in the lanes of vectors. They may be where nothing is said.
    pub vectorize: Option<bool>,
    /// It has at most so many iterations, because it is in blocks already.
    pub block: Option<i64>,
    /// Threads are to share its iterations, not those of loops around it.
    pub threads: bool,
    /// Its iterations differ in work: threads take pieces of it that shrink, instead of equal parts.
    pub guided: bool,
    /// Its iterations are blocks of so many terms of a sum, or panels of so many iterations of a loop.
    pub blocks: Option<i64>,
    /// Its numbers of iterations differ, so that a processor does not predict where it ends.
    pub irregular: bool,
    /// What its iterations read is used by all iterations of the loops around it: its blocks go outside of them.
    pub columns: bool,
    /// Terms of a sum between two neighbouring positions read, along this loop, so many rows of a dense operand.
    pub chunk: Option<i64>,
    /// What its iterations beyond the last read is there too, up to a multiple of so many.
    pub beyond: Option<i64>,
    /// It is the outermost loop of a nest that is tiled.
    pub nest: bool,
    /// Iterations of a tile.
    pub tile: Option<i64>,
    /// Its elements are in so many lanes of vectors.
    pub lanes: Option<i64>,
}

impl Hint {
    /// The flags that are set, and the numbers, with the words that the text form has for them.
    pub(crate) fn words(&self) -> Vec<(&'static str, Option<i64>)> {
        let flags = [
            ("scheduled", self.scheduled),
            ("ordered", self.ordered),
            ("vectorize", self.vectorize == Some(true)),
            ("scalar", self.vectorize == Some(false)),
            ("threads", self.threads),
            ("guided", self.guided),
            ("irregular", self.irregular),
            ("columns", self.columns),
            ("nest", self.nest),
        ];
        let numbers = [
            ("unroll", self.unroll),
            ("block", self.block),
            ("blocks", self.blocks),
            ("chunk", self.chunk),
            ("beyond", self.beyond),
            ("tile", self.tile),
            ("lanes", self.lanes),
        ];
        let flags = flags.into_iter().filter(|(_, set)| *set).map(|(word, _)| (word, None));
        let numbers = numbers.into_iter().filter(|(_, number)| number.is_some());
        flags.chain(numbers).collect()
    }

    /// Sets a flag; whether there is one with this word.
    pub(crate) fn set_flag(&mut self, word: &str) -> bool {
        match word {
            "scheduled" => self.scheduled = true,
            "ordered" => self.ordered = true,
            "vectorize" => self.vectorize = Some(true),
            "scalar" => self.vectorize = Some(false),
            "threads" => self.threads = true,
            "guided" => self.guided = true,
            "irregular" => self.irregular = true,
            "columns" => self.columns = true,
            "nest" => self.nest = true,
            _ => return false,
        }
        true
    }

    /// Sets a number; whether there is one with this word.
    pub(crate) fn set_number(&mut self, word: &str, number: i64) -> bool {
        let place = match word {
            "unroll" => &mut self.unroll,
            "block" => &mut self.block,
            "blocks" => &mut self.blocks,
            "chunk" => &mut self.chunk,
            "beyond" => &mut self.beyond,
            "tile" => &mut self.tile,
            "lanes" => &mut self.lanes,
            _ => return false,
        };
        *place = Some(number);
        true
    }
}

/// The hints of a function, and of its variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    loops: BTreeMap<VarId, Hint>,
    /// It has many statements, whose code is to stay small.
    pub compact: bool,
}

impl Hints {
    /// No hints but the one about the function.
    pub(crate) fn compact(compact: bool) -> Hints {
        Hints { compact, ..Hints::default() }
    }

    /// The hint of a variable; an empty one if there is none.
    pub fn get(&self, var: VarId) -> Hint {
        self.loops.get(&var).copied().unwrap_or_default()
    }

    /// Changes the hint of a variable.
    pub fn update(&mut self, var: VarId, change: impl FnOnce(&mut Hint)) {
        let mut hint = self.get(var);
        change(&mut hint);
        match hint == Hint::default() {
            true => self.loops.remove(&var),
            false => self.loops.insert(var, hint),
        };
    }

    /// Gives a variable the hint of another.
    pub fn copy(&mut self, from: VarId, to: VarId) {
        let hint = self.get(from);
        self.update(to, |other| *other = hint);
    }
}
