//! What can go wrong in an operation on sets, maps and polynomials.

/// The result of an operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// isl or Barvinok could not be loaded.
    #[error(transparent)]
    Load(#[from] isl_vendor::LoadError),
    /// isl refused or failed.
    #[error("{operation}: {message}")]
    Isl {
        /// isl's name of the operation.
        operation: &'static str,
        /// isl's own words.
        message: String,
    },
    /// isl found least or greatest points of a part of a set only, which it does in some cases.
    #[error("{operation}: its answer is incomplete")]
    Incomplete {
        /// isl's name of the operation.
        operation: &'static str,
    },
    /// A text is not in isl's notation.
    #[error("cannot read `{text}`: {message}")]
    Parse {
        /// The text.
        text: String,
        /// isl's own words.
        message: String,
    },
    /// The operation took more steps than the context allows.
    #[error("the sets are too complex: an operation takes more than the limit of {limit} steps")]
    TooComplex {
        /// isl's name of the operation.
        operation: &'static str,
        /// The context's limit.
        limit: u64,
    },
    /// The time that the caller allowed is over ([`crate::Context::set_deadline`]).
    #[error("the time is over before {operation}")]
    Deadline {
        /// isl's name of the operation that did not begin.
        operation: &'static str,
    },
    /// A set that is to be counted or enumerated has infinitely many points.
    #[error("infinitely many points in {set}")]
    Infinite {
        /// The set, in isl's notation.
        set: String,
    },
    /// A set has more points than the caller wants to see.
    #[error("more than {limit} points")]
    TooManyPoints {
        /// The caller's limit.
        limit: usize,
    },
    /// A process that counts failed.
    #[error("{what}")]
    Worker {
        /// What became of it, and which limit to raise if it was one.
        what: String,
    },
    /// Faulhaber summation reached the limit on its time.
    #[error(
        "Faulhaber summation took more than {seconds} s (allow more with {})",
        crate::counting::TIME_VARIABLE
    )]
    TooSlow {
        /// The limit.
        seconds: u64,
    },
    /// A setting of counting means nothing.
    #[error("{what}")]
    Settings {
        /// Which one, and what it may be.
        what: String,
    },
    /// Neither counter could count a set.
    #[error("cannot count the points of a region: {first}; {second}")]
    Uncounted {
        /// What became of the first counter.
        first: String,
        /// What became of the second one.
        second: String,
    },
    /// A number does not fit its Rust type.
    #[error("{value} does not fit a machine integer")]
    Overflow {
        /// The number.
        value: String,
    },
    /// A value that depends on a parameter was asked for without that parameter.
    #[error("no value for parameter {name}")]
    MissingParameter {
        /// The parameter.
        name: String,
    },
    /// A dimension name that the object does not have.
    #[error("no dimension {name} in {object}")]
    NoSuchDimension {
        /// The name.
        name: String,
        /// The object, in isl's notation.
        object: String,
    },
    /// A position, a number of names or of coordinates that does not fit the object.
    #[error("expected {expected}, found {found}")]
    Shape {
        /// What the object has or needs.
        expected: String,
        /// What was given.
        found: String,
    },
    /// Two objects of different contexts in one operation.
    #[error("objects of two contexts in one operation")]
    DifferentContexts,
    /// An AST or a quasi-polynomial has a form that this crate does not know.
    #[error("unsupported: {what}")]
    Unsupported {
        /// The form.
        what: String,
    },
}

impl Error {
    /// isl's words, except where it names its own source.
    pub(crate) fn unreadable(text: &str, message: String) -> Error {
        let other_kind = message.starts_with("Assertion \"obj.type ==");
        let message = if other_kind { "another kind of object is wanted".into() } else { message };
        Error::Parse { text: text.to_owned(), message }
    }
}
