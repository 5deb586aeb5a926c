//! A compiled program as plain data: what its code must be given, and what the code leaves.
//!
//! Nothing here refers to the compiler: sizes, positions and conditions are expressions that are evaluated when the
//! values of the symbols are known. Buffer `k` of the code is the packed buffer of tensor `k`, or the values of a
//! tensor with a format; arrays of levels and of counts come after them. The code's symbols are the program's, then
//! numbers of positions of levels.

mod check;
mod computed;
mod format_text;
mod magnitude;
mod sizes;

use dastac_formats::Format;
use dastac_loops::{BufferId, SymbolId};
use serde::{Deserialize, Serialize};

pub use computed::{Computed, Expression, Range};
pub use magnitude::{Atom, Magnitude, Monomial};
pub use sizes::{Derived, Divisor, Keys, Sizes, TensorFacts, TensorInfo, symbol_values};

/// A tensor of a program: its place in [`Sizes::tensors`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TensorId(pub usize);

impl TensorId {
    /// Its packed buffer, or its values.
    pub fn buffer(self) -> BufferId {
        BufferId(u32::try_from(self.0).unwrap_or(u32::MAX))
    }
}

/// Where the values of a tensor come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The caller gives them.
    Input,
    /// They are computed, and nothing reads them.
    Output,
    /// They are computed and read again.
    Intermediate,
}

impl Role {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Role::Input => "input",
            Role::Output => "output",
            Role::Intermediate => "intermediate",
        }
    }
}

/// A function of the computation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// Whether it stands for rules of preprocess blocks.
    pub preprocess: bool,
    /// The result that it counts at its end: the next function takes the result's arrays.
    pub counts: Option<TensorId>,
    /// Whether it counts too many: if there is memory for so many, the function that counts them is left out.
    #[serde(default)]
    pub bounds: bool,
    /// The results that are made before it is called, in this order: [`Structure::Converted`].
    #[serde(default)]
    pub converts: Vec<TensorId>,
}

/// A tensor with a format, as the code reads or makes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// The tensor.
    pub tensor: TensorId,
    /// Its format: the first entry of a tensor has the one that the program declares, others are copies.
    #[serde(with = "format_text")]
    pub format: Format,
    /// The arrays of each level, in the order of [`dastac_formats::storage::LevelData`].
    pub levels: Vec<Vec<BufferId>>,
    /// The symbols for numbers of positions, by level.
    pub counts: Vec<LevelCount>,
    /// The values.
    pub values: BufferId,
    /// The head of the rule that cannot walk the tensor as it is declared, if this is a copy for it.
    pub converted_for: Option<TensorId>,
    /// Which part of the tensor it is, if it is not all of it.
    #[serde(default)]
    pub part: Option<Part>,
}

/// A part of a tensor in a hybrid format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The format of all parts, in the notation of programs.
    pub hybrid: String,
    /// Which one, from 0.
    pub number: usize,
}

/// The symbol for the number of positions of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelCount {
    /// The level.
    pub level: usize,
    /// The symbol.
    pub symbol: SymbolId,
}

impl Stored {
    /// All arrays: those of the levels in order, then the values.
    pub fn buffers(&self) -> Vec<BufferId> {
        self.levels.iter().flatten().copied().chain([self.values]).collect()
    }
}

/// A tensor with a format that the program computes; the first [`Stored`] of it has its arrays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assembled {
    /// The tensor.
    pub tensor: TensorId,
    /// Where its levels come from.
    pub structure: Structure,
}

/// How the levels of a result come about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Structure {
    /// They have no arrays.
    Dense,
    /// They are those of an operand.
    Copied,
    /// The whole result is another tensor in another format, or with its dimensions in another order.
    Converted {
        /// The tensor.
        from: TensorId,
        /// The dimension of the result that each of its dimensions is.
        dimensions: Vec<usize>,
    },
    /// They are counted first.
    Counted {
        /// For each level that is counted, the array whose last element is the number of its positions.
        starts: Vec<BufferId>,
        /// If it is enough to count too many, the array that says where each row ends before they are moved together:
        /// positions hold the lengths of rows until then.
        #[serde(default)]
        ends: Option<BufferId>,
    },
}

/// A compiled program without its code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Tensors, symbols, sizes, and for which sizes the code may run.
    pub sizes: Sizes,
    /// The functions in the order of the code; those of preprocess blocks are called first.
    pub phases: Vec<Phase>,
    /// The arrays of tensors with formats: of inputs, of results, then copies in other formats.
    pub stored: Vec<Stored>,
    /// Tensors with formats that are computed.
    pub results: Vec<Assembled>,
    /// Whether positions and coordinates have 64 bits.
    pub wide: bool,
}

impl Program {
    /// A tensor by its name.
    pub fn tensor(&self, name: &str) -> Option<TensorId> {
        self.sizes.tensors.iter().position(|tensor| tensor.name == name).map(TensorId)
    }

    /// The formats in which a tensor is read or made.
    pub fn stored(&self, tensor: TensorId) -> impl Iterator<Item = &Stored> {
        self.stored.iter().filter(move |one| one.tensor == tensor)
    }
}
