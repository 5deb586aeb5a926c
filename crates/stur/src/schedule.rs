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
}

impl Schedule {
    /// Whether it makes no choice.
    pub fn is_empty(&self) -> bool {
        *self == Schedule::default()
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
        f.write_str(&parts.collect::<Vec<_>>().join(", "))
    }
}
