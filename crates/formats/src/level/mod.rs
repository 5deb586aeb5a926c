//! Levels: how the coordinates of one level of a tensor are stored, behind one interface.
//!
//! The interface is that of Chou, Kjolstad and Amarasinghe (OOPSLA'18), in the notation of sparse convolutions: a level
//! gives, below each position `p_{k-1}` of the level before,
//!
//! - `pos_bounds(p_{k-1}) -> [begin_k, end_k)`: the positions that are there, to iterate over,
//! - `pos_access(p_k) -> i_k`: the coordinate at a position,
//! - `locate(p_{k-1}, i_k) -> p_k`: the position of a coordinate, without a search,
//!
//! once on numbers ([`LevelStorage`], for arrays in memory) and once on expressions of the loop IR ([`LevelCode`], for
//! kernels). Levels that are iterated by coordinate say from where to where (`coord_bounds`); what the papers call
//! `coord_access` is `locate` here. How a level is built and read as a whole is said in the building blocks of
//! [`Building`] and [`Keys`], and how a kernel appends or inserts coordinates by [`LevelAssembly`].
//!
//! **Adding a kind of level** is one file in this folder and one line in [`KINDS`]. Nothing outside of this folder asks
//! which kind a level is; it asks for arrays, functions and properties. [`Kind::new`] makes one elsewhere, such as in
//! tests.

pub mod assembly;
mod bitmap;
pub mod code;
mod compressed;
mod dense;
mod offset;
mod padded;
mod ragged;
mod singleton;

use std::fmt;
use std::ops::{Deref, Range};

use crate::storage::{Building, Indices, Keys, LevelData, StorageError};
pub use assembly::LevelAssembly;
pub use code::{LevelBuffers, LevelCode, Located};
use dastac_elements::Element;

/// All kinds of levels, in the order in which messages list them.
pub static KINDS: [Kind; 7] = [
    Kind::DENSE,
    Kind::COMPRESSED,
    Kind::SINGLETON,
    Kind::BITMAP,
    Kind::OFFSET,
    Kind::PADDED,
    Kind::RAGGED,
];

/// What a level promises to code that walks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// Every coordinate of the level's extent is stored: loops over the extent need not test anything.
    pub full: bool,
    /// Coordinates below one position grow: levels can be merged, and a coordinate can be searched.
    pub ordered: bool,
    /// No coordinate is stored twice below one position: a position is all that is stored at a coordinate.
    pub unique: bool,
    /// There is exactly one coordinate below every position: no loop is needed.
    pub branchless: bool,
    /// Every position belongs to a stored coordinate: arrays of values can be walked without a test.
    pub compact: bool,
}

impl Properties {
    /// None of them.
    pub const NONE: Properties = Properties {
        full: false,
        ordered: false,
        unique: false,
        branchless: false,
        compact: false,
    };
}

/// What an array of a level holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Where the positions below each position of the level before begin; one more than that level has positions.
    Positions,
    /// The coordinate at each position.
    Coordinates,
    /// For each position 1 if its coordinate is stored, else 0.
    Present,
}

impl Role {
    /// What stands in it, in a word.
    pub fn word(self) -> &'static str {
        match self {
            Role::Positions => "positions",
            Role::Coordinates => "coordinates",
            Role::Present => "bits",
        }
    }

    /// The ending of the array's name in a kernel: `A.pos1`.
    pub fn suffix(self) -> &'static str {
        match self {
            Role::Positions => "pos",
            Role::Coordinates => "crd",
            Role::Present => "bit",
        }
    }
}

/// The arrays of a level that its functions work on, and how many coordinates it has.
#[derive(Clone, Copy, Debug)]
pub struct Arrays<'a> {
    /// The arrays.
    pub data: &'a LevelData,
    /// Coordinates are less than this.
    pub extent: u64,
    /// Whether coordinates below a position grow.
    pub ordered: bool,
}

/// What the number of a level's positions follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// How many positions the level before has.
    pub above: u64,
    /// How many coordinates the level may have.
    pub extent: u64,
    /// How many coordinates its array has, if it has one.
    pub coordinates: Option<u64>,
    /// The last one of its positions, if it has an array of them.
    pub end: Option<u64>,
}

/// Level functions on arrays in memory.
pub trait LevelStorage {
    /// How many positions the level has; nothing if that overflows.
    fn positions(&self, counts: Counts) -> Option<u64>;

    /// Builds the level's arrays, in the order of [`LevelKind::arrays`], and says which positions entries get.
    ///
    /// # Errors
    /// Arrays that are larger than what may be used.
    fn build(&self, building: &mut dyn Building) -> Result<Vec<Indices>, StorageError>;

    /// `pos_bounds(p_{k-1}) -> [begin_k, end_k)`.
    fn pos_bounds(&self, arrays: Arrays<'_>, parent: u64) -> Range<u64>;

    /// `pos_access(p_k) -> i_k`; nothing where no coordinate is stored at the position.
    fn pos_access(&self, arrays: Arrays<'_>, parent: u64, position: u64) -> Option<u64>;

    /// The positions of a coordinate: at most one if the level is unique.
    fn locate(&self, arrays: Arrays<'_>, parent: u64, coordinate: u64) -> Vec<u64>;

    /// Replaces the keys of all positions of the level before by those of this level's positions.
    ///
    /// # Errors
    /// More positions than memory holds.
    fn walk<'a>(&self, arrays: Arrays<'a>, keys: &mut dyn Keys<'a>) -> Result<(), StorageError>;
}

/// A kind of level.
pub trait LevelKind: LevelStorage + LevelCode + LevelAssembly + fmt::Debug + Sync {
    /// The word in `dense(i), compressed(j)`.
    fn word(&self) -> &'static str;

    /// The letter in codes such as `DC`.
    fn letter(&self) -> char;

    /// One line for a list of kinds.
    fn about(&self) -> &'static str;

    /// What an ordered and unique level of this kind promises.
    fn properties(&self) -> Properties;

    /// The arrays that it stores.
    fn arrays(&self) -> &'static [Role];

    /// Whether a level can be `unordered` or `nonunique`.
    fn is_flexible(&self) -> bool {
        false
    }

    /// Whether it stores one coordinate for each entry of the level before, which is not unique then.
    fn follows_entries(&self) -> bool {
        false
    }

    /// Whether it has at most one coordinate below each position, which follows from those of the levels before and the
    /// values of functions that are computed from entries. Where there is none, its array has the extent, which is no
    /// coordinate.
    fn is_found(&self) -> bool {
        false
    }

    /// Whether it stores nothing, since its coordinate follows from those of the levels before.
    fn is_derived(&self) -> bool {
        false
    }
}

/// A kind of level, by reference: it is used like the [`LevelKind`] that it stands for.
#[derive(Clone, Copy)]
pub struct Kind(&'static dyn LevelKind);

impl Kind {
    /// All coordinates, none of them written down.
    pub const DENSE: Kind = Kind(&dense::Dense);
    /// The coordinates that are there.
    pub const COMPRESSED: Kind = Kind(&compressed::Compressed);
    /// One coordinate for each position of the level before.
    pub const SINGLETON: Kind = Kind(&singleton::Singleton);
    /// All coordinates, and which of them are there.
    pub const BITMAP: Kind = Kind(&bitmap::Bitmap);
    /// One coordinate for each position of the level before, which follows from the coordinates above.
    pub const OFFSET: Kind = Kind(&offset::Offset);
    /// One coordinate for each position of the level before, or none.
    pub const PADDED: Kind = Kind(&padded::Padded);
    /// All coordinates up to the largest that is there.
    pub const RAGGED: Kind = Kind(&ragged::Ragged);

    /// A kind of level that is defined elsewhere. Its word tells it apart from all others.
    pub const fn new(kind: &'static dyn LevelKind) -> Kind {
        Kind(kind)
    }

    /// The kind with a word, in upper or lower case.
    pub fn named(word: &str) -> Option<Kind> {
        KINDS.into_iter().find(|kind| word.eq_ignore_ascii_case(kind.word()))
    }

    /// The kind with a letter.
    pub fn lettered(letter: char) -> Option<Kind> {
        KINDS.into_iter().find(|kind| kind.letter() == letter.to_ascii_uppercase())
    }
}

impl Deref for Kind {
    type Target = dyn LevelKind;

    fn deref(&self) -> &(dyn LevelKind + 'static) {
        self.0
    }
}

impl PartialEq for Kind {
    fn eq(&self, other: &Kind) -> bool {
        self.word() == other.word()
    }
}

impl Eq for Kind {}

impl std::hash::Hash for Kind {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.word().hash(state);
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// As in programs: `dense`.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// In how many bits a level keeps its coordinates, where a format says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// 8: coordinates below 256.
    Bits8,
    /// 16: coordinates below 65,536.
    Bits16,
}

impl Width {
    /// All of them.
    pub const ALL: [Width; 2] = [Width::Bits8, Width::Bits16];

    /// The word in `compressed(j, u16)`, which is the name of the type.
    pub fn word(self) -> &'static str {
        self.element().name()
    }

    /// The type of a coordinate.
    pub fn element(self) -> Element {
        match self {
            Width::Bits8 => Element::U8,
            Width::Bits16 => Element::U16,
        }
    }

    /// Bytes of a coordinate.
    pub fn bytes(self) -> u64 {
        self.element().bytes() as u64
    }

    /// The largest number that there is.
    pub fn largest(self) -> u64 {
        match self {
            Width::Bits8 => u8::MAX.into(),
            Width::Bits16 => u16::MAX.into(),
        }
    }
}

/// One level of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Level {
    /// How its coordinates are stored.
    pub kind: Kind,
    /// Whether coordinates below one position grow.
    pub ordered: bool,
    /// Whether no coordinate stands twice below one position.
    pub unique: bool,
    /// In how many bits its coordinates are; nothing where that follows from the tensor's shape.
    pub width: Option<Width>,
}

impl Level {
    /// All coordinates.
    pub const DENSE: Level = Level::of(Kind::DENSE);
    /// Sorted coordinates, each once.
    pub const COMPRESSED: Level = Level::of(Kind::COMPRESSED);
    /// Sorted coordinates, one for each entry below.
    pub const COMPRESSED_NONUNIQUE: Level = Level { unique: false, ..Level::COMPRESSED };
    /// One coordinate each.
    pub const SINGLETON: Level = Level::of(Kind::SINGLETON);
    /// One coordinate each, one for each entry below.
    pub const SINGLETON_NONUNIQUE: Level = Level { unique: false, ..Level::SINGLETON };
    /// All coordinates, and which of them are there.
    pub const BITMAP: Level = Level::of(Kind::BITMAP);
    /// The coordinate that follows from those above.
    pub const OFFSET: Level = Level::of(Kind::OFFSET);
    /// One coordinate each, or none.
    pub const PADDED: Level = Level::of(Kind::PADDED);
    /// All coordinates up to the largest that is there.
    pub const RAGGED: Level = Level::of(Kind::RAGGED);

    /// Sorted coordinates, each once.
    pub const fn of(kind: Kind) -> Level {
        Level { kind, ordered: true, unique: true, width: None }
    }

    /// What may be assumed of it.
    pub fn properties(self) -> Properties {
        Properties { ordered: self.ordered, unique: self.unique, ..self.kind.properties() }
    }

    /// Whether there is an array of its coordinates.
    pub fn has_coordinates(self) -> bool {
        self.kind.arrays().contains(&Role::Coordinates)
    }

    /// The same level without a width of its own.
    #[must_use]
    pub fn plain(self) -> Level {
        Level { width: None, ..self }
    }

    /// Whether it stores every coordinate: loops over the extent come to all that is stored.
    pub fn is_full(self) -> bool {
        self.kind.properties().full
    }

    /// Whether the position of a coordinate is known without a search, so that no cursor walks the level.
    pub fn is_located(self) -> bool {
        self.kind.can_locate()
    }

    /// Whether coordinates of a result can be appended to it, in order, each once.
    pub fn is_appended(self) -> bool {
        self.ordered && self.unique && self.kind.can_append()
    }

    /// Whether its coordinates stand in an array of segments, ordered, each once: cursors of several levels can be
    /// merged on it.
    pub fn is_segmented(self) -> bool {
        let arrays = self.kind.arrays();
        self.ordered
            && self.unique
            && arrays.contains(&Role::Positions)
            && arrays.contains(&Role::Coordinates)
    }
}
