//! Definitions of formats: an index map with parameters, and the primitives `merge` and `trim`, which say what is
//! stored of each level (UniSparse, section III).
//!
//! In a tree with one level for each expression of the map, `trim(s, e)` prunes what no entry is below, in the levels
//! from `s` to `e`: their coordinates are stored. In all other levels every coordinate is there. `merge(l)` makes paths
//! that are equal down to level `l` one: without it, a trimmed level has a coordinate for each path below. The last
//! trimmed level, and those behind it, are always merged. So a level is
//!
//! ```text
//! dense        if it is not trimmed (and merged);
//! compressed   if it is trimmed, and the level before is merged;
//! singleton    if it is trimmed, and the level before is not merged;
//! ```
//!
//! and unique where it is merged. An untrimmed level whose coordinate is found through a function that is computed from
//! entries has one coordinate below each position, and is padded; a trimmed one of `enumerate` is ragged. `fill` and
//! `split` undo what `trim` and `merge` said before. `width(l, bits)` keeps the coordinates of level `l` in 8 or 16
//! bits.

use std::ops::Range;

use super::{
    Format, FormatError, IndexMap, Indirect, Kind, Level, LevelExpr, Width, default_names,
};

/// A format with a name, and perhaps parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The name.
    pub name: String,
    /// What is stored, in one line; empty where its author does not say.
    pub about: String,
    /// Names of numbers that are given where the format is used.
    pub parameters: Vec<String>,
    /// Names of the dimensions; nothing if it is for tensors of any rank.
    pub dimensions: Option<Vec<String>>,
    /// The text, from `format` on.
    pub text: String,
    /// Where the text has the expressions of the map.
    pub exprs: Vec<Range<usize>>,
    /// What is stored of the levels.
    pub primitives: Vec<Primitive>,
}

/// What is said about levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Primitive {
    /// What is done.
    pub action: Action,
    /// Where the text has the numbers of levels; nothing where they are all levels (`..`).
    pub levels: Option<Vec<Range<usize>>>,
    /// Where it stands.
    pub span: Range<usize>,
}

/// What is done to levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Equal paths become one.
    Merge,
    /// They become one for each path below.
    Split,
    /// What has no entry below goes.
    Trim,
    /// It comes back.
    Fill,
    /// Its coordinates have so many bits.
    Width,
}

impl Action {
    /// All of them.
    pub const ALL: [Action; 5] =
        [Action::Merge, Action::Split, Action::Trim, Action::Fill, Action::Width];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Action::Merge => "merge",
            Action::Split => "split",
            Action::Trim => "trim",
            Action::Fill => "fill",
            Action::Width => "width",
        }
    }

    /// Whether its two numbers are the first and the last of the levels.
    pub fn is_of_range(self) -> bool {
        matches!(self, Action::Trim | Action::Fill)
    }
}

/// What primitives make of a level.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mutation {
    pub(super) merged: bool,
    pub(super) trimmed: bool,
    pub(super) width: Option<Width>,
}

impl Definition {
    /// The rank that it needs, if only one.
    pub fn rank(&self) -> Option<usize> {
        self.dimensions.as_ref().map(Vec::len)
    }

    /// Names for the dimensions of a tensor of a rank.
    pub(super) fn names(&self, rank: usize) -> Vec<String> {
        self.dimensions.clone().unwrap_or_else(|| default_names(rank))
    }

    /// The head and the map with the primitives: all but `format NAME(..) := `.
    pub fn body(&self) -> &str {
        self.text.split_once(":=").map_or("", |(_, body)| body.trim())
    }

    /// `bdia(b)`.
    pub fn head(&self) -> String {
        match self.parameters.is_empty() {
            true => self.name.clone(),
            false => format!("{}({})", self.name, self.parameters.join(", ")),
        }
    }
}

/// The format of a map's expressions and what primitives made of the levels; nothing of a level whose expression is a
/// number, which has one coordinate.
pub(super) fn format_of(
    (rank, functions): (usize, Vec<Indirect>),
    exprs: &[LevelExpr],
    mutations: &[Mutation],
    whole: Range<usize>,
) -> Result<Format, FormatError> {
    let mut levels = levels_of(mutations, &whole)?;
    let mut kept: Vec<(Level, LevelExpr)> = Vec::new();
    for at in 0..levels.len() {
        if exprs[at].as_constant().is_none() {
            kept.push((levels[at], exprs[at].clone()));
            continue;
        }
        // What it was the first of begins with the next one; what it was the last of ends with the one before.
        let begins = levels[at].kind == Kind::COMPRESSED;
        match levels.get_mut(at + 1).filter(|next| next.kind == Kind::SINGLETON) {
            Some(next) if begins => next.kind = Kind::COMPRESSED,
            Some(_) => {}
            None => kept.last_mut().into_iter().for_each(|(level, _)| level.unique = true),
        }
    }
    let stored: Vec<LevelExpr> = kept.iter().map(|(_, expr)| expr.clone()).collect();
    let direct = functions.is_empty();
    let hint = "levels store all that functions are of: `(enumerate(i; j), i, j)`";
    let map = IndexMap::with_functions(rank, stored.clone(), functions);
    let map = map.map_err(|error| FormatError {
        message: "levels whose coordinates do not tell all elements apart".into(),
        span: whole.clone(),
        label: "this map",
        hint: (!direct).then(|| hint.into()),
        map: direct.then_some(NotOne { rank, levels: stored, dimension: error.dimension }),
    })?;
    let level = |(at, (level, expr)): (usize, &(Level, LevelExpr))| {
        let function = expr.as_dimension().and_then(|at| at.checked_sub(rank));
        let ragged = function.is_some_and(|at| map.functions()[at].is_ragged());
        match *level {
            level if map.is_derived(at) => Level { width: level.width, ..Level::OFFSET },
            level if level.plain() == Level::DENSE && map.is_found(at) => {
                Level { width: level.width, ..Level::PADDED }
            }
            level if level.plain() == Level::COMPRESSED && ragged => {
                Level { width: level.width, ..Level::RAGGED }
            }
            level => level,
        }
    };
    let levels: Vec<Level> = kept.iter().enumerate().map(level).collect();
    if let Some(level) =
        levels.iter().find(|level| level.width.is_some() && !level.has_coordinates())
    {
        return Err(FormatError {
            message: format!("the width of a {} level, which stores no coordinates", level.kind),
            span: whole,
            label: "this map",
            hint: Some("leave `width(..)` out, or trim the level".into()),
            map: None,
        });
    }
    Format::with_map(levels, map).map_err(|_| FormatError {
        message: "levels that cannot follow each other".into(),
        span: whole,
        label: "these levels",
        hint: Some("merge more levels: `merge(..)` merges all".into()),
        map: None,
    })
}

/// A map that is not known to tell elements apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotOne {
    /// How many dimensions there are.
    pub rank: usize,
    /// What levels store.
    pub levels: Vec<LevelExpr>,
    /// A dimension whose coordinate is no linear function of the levels'.
    pub dimension: usize,
}

fn levels_of(mutations: &[Mutation], whole: &Range<usize>) -> Result<Vec<Level>, FormatError> {
    let last = mutations.iter().rposition(|mutation| mutation.trimmed).unwrap_or(0);
    let merged = |level: usize| level >= last || mutations[level].merged;
    let mut levels = Vec::new();
    for (at, mutation) in mutations.iter().enumerate() {
        let follows = at > 0 && !merged(at - 1);
        let missing = match (mutation.trimmed, follows) {
            (false, true) => Some((
                at - 1,
                format!("level {} is not merged, and level {at} behind it not trimmed", at - 1),
            )),
            (false, false) if !merged(at) => Some((
                at,
                format!(
                    "level {at} is neither merged nor trimmed, as no level before trimmed ones"
                ),
            )),
            _ => None,
        };
        if let Some((missing, message)) = missing {
            return Err(FormatError {
                message,
                span: whole.clone(),
                label: "in this format",
                hint: Some(format!("`merge({missing})` stores each of its coordinates once")),
                map: None,
            });
        }
        let level = match (mutation.trimmed, follows) {
            (false, _) => Level::DENSE,
            (true, false) => Level { unique: merged(at), ..Level::COMPRESSED },
            (true, true) => Level { unique: merged(at), ..Level::SINGLETON },
        };
        levels.push(Level { width: mutation.width, ..level });
    }
    Ok(levels)
}
