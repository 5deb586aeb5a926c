//! How results were checked that are too large for the dense evaluator.

/// How much checks may do.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// All products of a rule are computed if there are at most so many.
    pub products: u128,
    /// A functional takes at most so many steps.
    pub steps: u128,
}

impl Limits {
    /// What takes a minute or so.
    pub const DEFAULT: Limits = Limits { products: MAX_WALK, steps: 4 * MAX_WALK };
}

/// A walk is made for at most so many products.
pub(super) const MAX_WALK: u128 = 100_000_000;

/// How a result was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Method {
    /// By all of its products.
    Walk {
        /// How many there are, at most.
        products: u64,
    },
    /// By random functionals.
    Functionals {
        /// How many.
        functionals: u64,
    },
    /// At all elements that a result with `:F` stores, and at others that were chosen at random.
    Stored {
        /// How many are stored.
        elements: u64,
        /// How many others.
        others: u64,
    },
    /// At elements that were chosen at random.
    Samples {
        /// How many.
        elements: u64,
    },
    /// Not at all.
    None {
        /// Why.
        why: String,
    },
}

/// The check of one result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The tensor.
    pub tensor: String,
    /// How it was checked.
    pub method: Method,
}
