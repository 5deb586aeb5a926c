//! What `schedule:` says about the loops of a rule.
//!
//! A schedule says how elements are computed, never what they are: at most sums are rounded in another order.

use std::fmt::{self, Display, Formatter};

use crate::ast::Directive;

/// The choices of a `schedule:` about the loops of a rule. Everything that it does not mention is chosen by a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Schedule {
    /// Iterators in the order of their loops, outermost first; those that are not listed follow in the order that they
    /// would have.
    pub order: Vec<String>,
    /// Loops in blocks of so many iterations, the outermost loop over blocks first.
    pub tiles: Vec<(String, i64)>,
    /// Loops of which so many iterations are executed side by side: at most two of the head's.
    pub unroll: Vec<(String, i64)>,
    /// The loop whose iterations are in the lanes of vectors.
    pub vectorize: Option<String>,
    /// The loop, over an iterator of the head, whose iterations are distributed among threads.
    pub parallel: Option<String>,
    /// In which steps the factors of products are multiplied.
    pub contract: Option<Contract>,
    /// Where the elements of a result with `:F` come together.
    pub workspace: Option<Workspace>,
    /// Which operands are read from copies with all of their elements.
    pub expand: Option<Expand>,
}

/// What `expand(..)` says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Expand {
    /// `expand(none)`: every operand is read as it is packed.
    Never,
    /// `expand(A, B)`: the names of tensors.
    Tensors(Vec<String>),
}

impl Expand {
    /// The same without a tensor; nothing where no name is left.
    pub(crate) fn without(self, tensor: &str) -> Option<Expand> {
        match self {
            Expand::Tensors(mut names) => {
                names.retain(|name| name != tensor);
                (!names.is_empty()).then_some(Expand::Tensors(names))
            }
            Expand::Never => Some(Expand::Never),
        }
    }
}

impl Display for Expand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expand::Never => f.write_str("expand(none)"),
            Expand::Tensors(names) => write!(f, "expand({})", names.join(", ")),
        }
    }
}

/// What `workspace(..)` says: where the elements of a sparse result come together when loops reach them in another
/// order than that of its levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Workspace {
    /// `workspace(dense)`: with a place for every coordinate.
    Dense,
    /// `workspace(list, 65536)`: a list of so many points, which are sorted when it is full. Without a number it grows.
    List(Option<i64>),
    /// `workspace(hash, 4096)`: a hash table of so many points.
    Hash(Option<i64>),
    /// `workspace(bucket, 64)`: a list for each block of so many coordinates of the first level in the workspace.
    Bucket(Option<i64>),
}

impl Workspace {
    /// The words for kinds.
    pub const WORDS: [&'static str; 4] = ["dense", "list", "hash", "bucket"];
    /// The largest capacity, or number of coordinates.
    pub const MOST: i64 = 1 << 24;
}

impl Display for Workspace {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (word, capacity) = match self {
            Workspace::Dense => ("dense", None),
            Workspace::List(capacity) => ("list", *capacity),
            Workspace::Hash(capacity) => ("hash", *capacity),
            Workspace::Bucket(rows) => ("bucket", *rows),
        };
        match capacity {
            Some(capacity) => write!(f, "workspace({word}, {capacity})"),
            None => write!(f, "workspace({word})"),
        }
    }
}

/// What `contract(..)` says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Contract {
    /// `contract(none)`: all factors in one step.
    Never,
    /// `contract((X, B), X)`: each group in a step of its own, the rest in the last one.
    Groups(Vec<Group>),
}

/// A factor, or factors that are multiplied in a step of their own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// The name of a tensor, or the number of a factor, from 1.
    Factor(String),
    /// A step.
    Step(Vec<Group>),
}

impl Display for Contract {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let groups = match self {
            Contract::Never => return f.write_str("contract(none)"),
            Contract::Groups(groups) => groups,
        };
        let groups: Vec<String> = groups.iter().map(Group::to_string).collect();
        write!(f, "contract({})", groups.join(", "))
    }
}

impl Display for Group {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Group::Factor(name) => f.write_str(name),
            Group::Step(parts) => {
                let parts: Vec<String> = parts.iter().map(Group::to_string).collect();
                write!(f, "({})", parts.join(", "))
            }
        }
    }
}

impl Schedule {
    /// Whether it makes no choice.
    pub fn is_empty(&self) -> bool {
        *self == Schedule::default()
    }

    /// Whether it says something about loops.
    pub fn has_loops(&self) -> bool {
        let (contract, expand) = (self.contract.clone(), self.expand.clone());
        *self != Schedule { contract, workspace: self.workspace, expand, ..Schedule::default() }
    }

    /// What it says about the loops of a step, which has some of the iterators, and some of these in its head.
    pub fn of_step(&self, iterators: &[String], head: &[String]) -> Schedule {
        let has = |name: &String| iterators.contains(name);
        let sized = |list: &[(String, i64)]| -> Vec<(String, i64)> {
            list.iter().filter(|(name, _)| has(name)).cloned().collect()
        };
        Schedule {
            order: self.order.iter().filter(|name| has(name)).cloned().collect(),
            tiles: sized(&self.tiles),
            unroll: sized(&self.unroll),
            vectorize: self.vectorize.clone().filter(has),
            parallel: self.parallel.clone().filter(|name| head.contains(name)),
            contract: None,
            workspace: None,
            expand: self.expand.clone(),
        }
    }

    /// Iterators in this schedule's order.
    pub fn ordered(&self, iterators: &[String]) -> Vec<String> {
        let listed = self.order.iter().filter(|name| iterators.contains(name));
        let others = iterators.iter().filter(|name| !self.order.contains(name));
        listed.chain(others).cloned().collect()
    }
}

/// As it is written: `reorder(i, k, j), tile(k=64)`.
impl Display for Schedule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sized = |list: &[(String, i64)]| -> Vec<String> {
            list.iter().map(|(name, size)| format!("{name}={size}")).collect()
        };
        let one = |name: &Option<String>| name.iter().cloned().collect::<Vec<_>>();
        let parts = [
            (Directive::Reorder, self.order.clone()),
            (Directive::Tile, sized(&self.tiles)),
            (Directive::Unroll, sized(&self.unroll)),
            (Directive::Vectorize, one(&self.vectorize)),
            (Directive::Parallel, one(&self.parallel)),
        ];
        let parts = parts.iter().filter(|(_, loops)| !loops.is_empty());
        let parts = parts.map(|(word, loops)| format!("{}({})", word.word(), loops.join(", ")));
        let contract = self.contract.iter().map(Contract::to_string);
        let workspace = self.workspace.iter().map(Workspace::to_string);
        let expand = self.expand.iter().map(Expand::to_string);
        let all = parts.chain(contract).chain(workspace).chain(expand);
        f.write_str(&all.collect::<Vec<_>>().join(", "))
    }
}
