//! Names of what a module consists of: indices into its lists.

use serde::{Deserialize, Serialize};

/// A loop variable of one [`crate::Function`]; indexes [`crate::Function::vars`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VarId(pub u32);

/// An integer parameter of the [`crate::Module`]; indexes [`crate::Module::symbols`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SymbolId(pub u32);

/// A buffer of the [`crate::Module`]; indexes [`crate::Module::buffers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BufferId(pub u32);

/// A function of the [`crate::Module`]; indexes [`crate::Module::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FunctionId(pub u32);
