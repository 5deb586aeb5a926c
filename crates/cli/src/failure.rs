//! Why a command did not do what was asked, and what to do about it.

use dastac::stur::Diagnostic;

use super::source::Source;

/// The result of a command.
pub type Result<T> = std::result::Result<T, Failure>;

/// Why a command stopped.
pub enum Failure {
    /// The program is at fault: its diagnostics, with the text that they point into.
    Program(Vec<Diagnostic>, Source),
    /// Something else that the user can change.
    User(Message),
    /// The command line asks for something contradictory.
    Usage(Message),
    /// A defect of dastac.
    Defect(String),
    /// Nobody reads the output any more: no reason to complain.
    NoReader,
}

/// One line without a full stop, and hints.
pub struct Message {
    /// What went wrong.
    pub text: String,
    /// What to do about it.
    pub hints: Vec<String>,
}

impl Failure {
    /// Something that the user can change.
    pub fn user(text: impl Into<String>) -> Failure {
        Failure::User(Message { text: text.into(), hints: Vec::new() })
    }

    /// A contradictory command line.
    pub fn usage(text: impl Into<String>) -> Failure {
        Failure::Usage(Message { text: text.into(), hints: Vec::new() })
    }

    /// Adds what to do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        if let Failure::User(message) | Failure::Usage(message) = &mut self {
            message.hints.push(hint.into());
        }
        self
    }

    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::NoReader => 0,
            Failure::Program(..) | Failure::User(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Defect(_) => 101,
        }
    }

    /// Sorts an error of the library into what the user can change and what is a defect.
    pub fn of(error: dastac::Error, source: &Source) -> Failure {
        use dastac::Error;
        use dastac::layout::LayoutError;
        use dastac::sched::SchedError;
        let text = error.to_string();
        match error {
            Error::Program(diagnostics)
            | Error::Layout(LayoutError::Program(diagnostics))
            | Error::Sched(SchedError::Layout(LayoutError::Program(diagnostics))) => {
                Failure::Program(diagnostics, source.clone())
            }
            Error::Poly(error) | Error::Layout(LayoutError::Poly(error)) => poly(&error, text),
            Error::Sched(
                SchedError::Poly(error) | SchedError::Layout(LayoutError::Poly(error)),
            ) => poly(&error, text),
            Error::Target(error) => target(&error, text),
            Error::Link(error) => link(&error, text),
            Error::Runtime(error) => runtime(&error, text, &source.name),
            Error::Layout(LayoutError::Overflow { .. }) => {
                Failure::user(text).hint("choose smaller sizes")
            }
            Error::Sched(
                SchedError::Trips(_) | SchedError::UnknownName(_) | SchedError::NoKernel,
            ) => Failure::Defect(text),
            _ => Failure::user(text),
        }
    }
}

fn poly(error: &dastac::poly::Error, text: String) -> Failure {
    use dastac::poly::Error;
    match error {
        Error::Load(_) | Error::Infinite { .. } | Error::Overflow { .. } => Failure::user(text),
        Error::Worker { .. } | Error::Settings { .. } => Failure::user(text),
        Error::TooComplex { .. }
        | Error::Deadline { .. }
        | Error::TooManyPoints { .. }
        | Error::TooSlow { .. }
        | Error::Uncounted { .. } => Failure::user(text)
            .hint("write the structure with fewer regions, or with constants instead of symbols"),
        Error::Unsupported { what } => Failure::user(format!("not supported yet: {what}")),
        _ => Failure::Defect(text),
    }
}

fn target(error: &dastac::target::TargetError, text: String) -> Failure {
    use dastac::target::TargetError;
    match error {
        TargetError::Name(_) => Failure::user(text).hint("`--prefix` sets the start of the names"),
        TargetError::UnknownCpu { .. }
        | TargetError::UnknownFeature(_)
        | TargetError::Machine(_)
        | TargetError::Illegal { .. }
        | TargetError::UnknownStage { .. } => Failure::user(text),
        TargetError::Invalid(_) | TargetError::Generator { .. } => Failure::Defect(text),
    }
}

fn link(error: &dastac::backend::link::LinkError, text: String) -> Failure {
    use dastac::backend::link::LinkError;
    match error {
        LinkError::Missing { .. } => Failure::user(text)
            .hint("install a C compiler (Debian: gcc), name one in CC, or make an object file (`-o kernel.o`)"),
        LinkError::Failed { .. } | LinkError::Write { .. } => Failure::user(text),
    }
}

fn cores(error: &dastac::runtime::pim::PimError, text: String) -> Failure {
    use dastac::runtime::pim::{Cause, PimError};
    match error {
        PimError::Bank { .. } => Failure::user(text)
            .hint("`--cores` shares the tensors out among more banks; what all cores read has to fit each"),
        PimError::Fault(fault) => match fault.cause {
            Cause::Scratchpad { .. } => {
                Failure::user(text).hint("fewer `--threads` of a core have larger stacks")
            }
            Cause::NoMemory { .. } | Cause::Limit { .. } | Cause::Abort => Failure::user(text),
            _ => Failure::Defect(text),
        },
        PimError::Damaged | PimError::Plan(_) | PimError::Link(_) => Failure::Defect(text),
        _ => Failure::user(text),
    }
}

fn runtime(error: &dastac::runtime::Error, text: String, program: &str) -> Failure {
    use dastac::runtime::Error;
    match error {
        Error::OpenMp { .. } if program.ends_with(".dastac") => {
            Failure::user(text).hint("`dastac build --threads 1` makes code for one thread")
        }
        Error::OpenMp { .. } => Failure::user(text).hint("`--threads 1` compiles for one thread"),
        Error::Cores(error) => cores(error, text),
        Error::Cuda(dastac::runtime::cuda::CudaError::Driver { .. }) => Failure::user(text)
            .hint("`--target grid` runs the same kernels on this computer's processor"),
        Error::MissingSymbol(name) => {
            Failure::user(text).hint(format!("`-p {name}=..` gives it one"))
        }
        Error::File(_) => Failure::user(format!("`{program}`: {text}")),
        Error::Architecture { .. } | Error::Features(_) | Error::NotLoadable { .. }
            if program.ends_with(".dastac") =>
        {
            Failure::user(format!("`{program}`: {text}"))
                .hint("`dastac build` of the program's text makes code for this machine")
        }
        Error::Contradiction { tensor, expected, found, .. } => {
            let shown = match program.strip_suffix(".dastac") {
                Some(_) => format!("`dastac infer` of its source shows the structure of `{tensor}`"),
                None => format!("`dastac infer {program}` shows the structure of `{tensor}`"),
            };
            let failure = Failure::user(text).hint(shown);
            // What comes of rounding is small, beside the number that should be there if it is not 0.
            let scale = if *expected == 0.0 { 1e-2 } else { expected.abs() };
            match (expected - found).abs() <= 1e-5 * scale {
                true => failure.hint(format!(
                    "`--tolerance {tensor}=1e-5` takes elements that differ by no more than this part"
                )),
                false => failure,
            }
        }
        Error::Copy { tensor, .. } => Failure::user(text).hint(format!(
            "compute a part of it in a rule of its own: rules of few tensors read `{tensor}` as it is stored"
        )),
        Error::Shape { expected, .. } if expected.is_empty() => {
            Failure::user(text).hint("a scalar is a 0-d array, in Python `numpy.array(1.5)`")
        }
        Error::TooMuch { .. } | Error::TooLarge(_) | Error::Overflow { .. } => {
            Failure::user(text).hint("choose smaller sizes")
        }
        Error::Keys { .. } => Failure::user(text).hint(
            "`schedule: .. -> reorder(..)` that begins with an iterator of the result leaves fewer to the workspace",
        ),
        Error::UnknownFunction { .. }
        | Error::Interface { .. }
        | Error::ParameterCount { .. }
        | Error::BufferCount { .. }
        | Error::ElementType { .. }
        | Error::ReadOnly { .. }
        | Error::TooShort { .. }
        | Error::Size { .. }
        | Error::NegativeSize { .. } => Failure::Defect(text),
        _ => Failure::user(text),
    }
}

/// How a defect is told.
pub fn defect(what: &str) -> String {
    format!(
        "internal error: {what}\nThis is a defect of dastac; please report it with the program and the command line.\n"
    )
}

/// `a, b and c`, each in backquotes.
pub fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => "none".into(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
