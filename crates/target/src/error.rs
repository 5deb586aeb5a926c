//! Why there is no code.

use dastac_loops::{Element, ParallelLevel, Space};

/// A failure between a module and its code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// The module breaks an invariant of the loop IR.
    #[error("invalid loop module: {0}")]
    Invalid(String),
    /// The target cannot take something that the module says.
    #[error("no code for {target}: {}", list(.reasons))]
    Illegal {
        /// The target's name.
        target: String,
        /// All that it cannot take.
        reasons: Vec<Illegal>,
    },
    /// An exported name would not be a C identifier.
    #[error("`{0}` is not a C identifier")]
    Name(String),
    /// No processor has that name.
    #[error("unknown CPU `{name}`; known are {known}")]
    UnknownCpu {
        /// The name given.
        name: String,
        /// The names that are accepted.
        known: String,
    },
    /// A machine that there is not, or that is smaller than what is asked for.
    #[error("{0}")]
    Machine(String),
    /// Processors have no such feature.
    #[error("unknown CPU feature `{0}`; features are written `+name` or `-name`")]
    UnknownFeature(String),
    /// The target has no text of that name.
    #[error("{target} has no stage `{stage}`; it has {known}")]
    UnknownStage {
        /// The target's name.
        target: String,
        /// The name given.
        stage: String,
        /// The names of its stages.
        known: String,
    },
    /// A code generator rejected its input: a defect of the target or of the module.
    #[error("{tool} failed to {stage}: {message}")]
    Generator {
        /// Which one.
        tool: &'static str,
        /// What it was doing.
        stage: &'static str,
        /// What it said.
        message: String,
    },
}

/// Something that a target has no code for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Illegal {
    /// A buffer whose elements are complex: targets take real numbers, which a pass makes of them.
    #[error("buffer `{buffer}` has complex elements, which the pass `split-complex` splits")]
    Complex {
        /// The buffer's name.
        buffer: String,
    },
    /// A buffer in a memory that the machine does not have.
    #[error("buffer `{buffer}` stands in {} memory, which the machine does not have", .space.name())]
    Space {
        /// The buffer.
        buffer: String,
        /// The memory.
        space: Space,
    },
    /// An argument that the caller could not pass.
    #[error("function `{function}` takes buffer `{buffer}`, which does not stand in main memory")]
    Argument {
        /// The function.
        function: String,
        /// The buffer.
        buffer: String,
    },
    /// Workspaces that are larger than the memory that they stand in.
    #[error("function `{function}` needs {needed} bytes of {} memory at once, of {bytes}", .space.name())]
    Full {
        /// The function.
        function: String,
        /// The memory.
        space: Space,
        /// Bytes needed.
        needed: i64,
        /// Bytes that there are.
        bytes: i64,
    },
    /// A workspace in a small memory whose size is not known before the code runs.
    #[error("the size of workspace `{buffer}` in {} memory is not a constant", .space.name())]
    Size {
        /// The buffer.
        buffer: String,
        /// The memory.
        space: Space,
    },
    /// A parallel loop at a level that the machine does not have.
    #[error("a loop of function `{function}` is parallel on {}, which the machine does not have", .level.name())]
    Level {
        /// The function.
        function: String,
        /// The level.
        level: ParallelLevel,
    },
    /// Elements of a type that the machine does not compute with.
    #[error("buffer `{buffer}` has elements of type {}, which the machine does not have", .element.name())]
    Element {
        /// The buffer.
        buffer: String,
        /// Their type.
        element: Element,
    },
    /// A function of numbers that is in a library which is not there.
    #[error("`{function}` needs {library}")]
    Function {
        /// The function.
        function: String,
        /// The library, and how to name it.
        library: &'static str,
    },
    /// A statement that passes should have replaced by others.
    #[error("function `{function}` has a statement that no pass has lowered: {what}")]
    Statement {
        /// The function.
        function: String,
        /// The kind of statement.
        what: &'static str,
    },
}

fn list<T: ToString>(errors: &[T]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
