//! Names of what a module consists of: indices into its lists.

/// A loop variable of one [`crate::Function`]; indexes [`crate::Function::vars`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VarId(pub u32);

/// An integer parameter of the [`crate::Module`]; indexes [`crate::Module::symbols`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId(pub u32);

/// A buffer of the [`crate::Module`]; indexes [`crate::Module::buffers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(pub u32);

/// A function of the [`crate::Module`]; indexes [`crate::Module::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(pub u32);
