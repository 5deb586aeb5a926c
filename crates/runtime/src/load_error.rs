//! What can be wrong with an object file.

/// Why an object cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It is no relocatable ELF object.
    #[error("not an object file: {0}")]
    Object(#[from] object::Error),
    /// It is for another processor.
    #[error("the code is for {found}, not for this machine")]
    Machine {
        /// The processor.
        found: String,
    },
    /// A section does not stand where the object says.
    #[error("section `{0}` of the object is damaged")]
    Section(String),
    /// A symbol that neither the object nor a library of this process has.
    #[error("no library of this process has `{0}`, which the code calls")]
    Missing(String),
    /// A function of vectors that glibc's library on this computer does not have.
    #[error(
        "glibc's libmvec has no `{0}`, which the code calls: it was compiled where glibc is newer; compile it here"
    )]
    VectorFunction(String),
    /// A relocation of a kind that code for this machine does not have.
    #[error("relocation of kind {kind} in `{section}` is not known")]
    Relocation {
        /// The machine's number for it.
        kind: u32,
        /// The section that has it.
        section: String,
    },
    /// A place that another cannot reach.
    #[error("`{0}` is too far away for the code that uses it")]
    Far(String),
    /// Memory for the code cannot be had.
    #[error("no memory for {bytes} bytes of code: {source}")]
    Memory {
        /// How much.
        bytes: usize,
        /// What the system said.
        source: std::io::Error,
    },
}
