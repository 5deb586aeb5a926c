//! What callers of a module's functions must know: plain data, without the functions' bodies.

use serde::{Deserialize, Serialize};

use crate::ir::{Buffer, BufferId, Mode, Module};

/// The interface of compiled code: the symbols that every function takes, the buffers that functions may take, and the
/// functions.
///
/// Function `f` is exported as `void PREFIXf__packed(const int64_t *symbols, void *const *buffers)`: the symbols'
/// values in order, then the addresses of the function's buffers in order. Buffers must not overlap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Abi {
    /// What exported names begin with.
    pub prefix: String,
    /// Names of the symbols, in the order in which their values are passed.
    pub symbols: Vec<String>,
    /// The module's buffers; sizes are expressions in symbols.
    pub buffers: Vec<Buffer>,
    /// The functions that are exported.
    pub functions: Vec<Signature>,
}

/// What a function takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Signature {
    /// Its name, without the prefix.
    pub name: String,
    /// Its buffers, in order, and how it uses them.
    pub args: Vec<(BufferId, Mode)>,
}

impl Abi {
    /// The interface of a module, without private functions, whose exported names begin with `prefix`.
    pub fn of(module: &Module, prefix: &str) -> Abi {
        let exported = module.functions.iter().filter(|function| function.private.is_none());
        let functions = exported
            .map(|function| Signature { name: function.name.clone(), args: function.args.clone() });
        Abi {
            prefix: prefix.to_owned(),
            symbols: module.symbols.clone(),
            buffers: module.buffers.clone(),
            functions: functions.collect(),
        }
    }

    /// A function by its name.
    pub fn function(&self, name: &str) -> Option<&Signature> {
        self.functions.iter().find(|function| function.name == name)
    }

    /// A buffer; nothing for an id of another module.
    pub fn buffer(&self, id: BufferId) -> Option<&Buffer> {
        self.buffers.get(id.0 as usize)
    }

    /// The exported name of a function.
    pub fn entry(&self, function: &str) -> String {
        format!("{}{function}__packed", self.prefix)
    }
}
