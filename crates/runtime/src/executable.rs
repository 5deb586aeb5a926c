//! A program with its code in this process: what many threads share.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::code::Code;
use crate::error::{Error, Result};
use crate::program::{Program, TensorId};

/// The functions that move a tensor between a dense array and its packed buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moves {
    /// Takes the stored elements out of a dense array.
    pub pack: String,
    /// Makes a dense array of the stored elements.
    pub unpack: String,
    /// Makes of a dense array what it would be if it had the declared structure, to compare with; inputs have it.
    pub expand: Option<String>,
}

/// Code that moves tensors.
#[derive(Debug)]
pub struct Movement {
    /// The code. It takes the symbols that the computation takes.
    pub code: Code,
    /// Its functions, by tensor.
    pub functions: Vec<Moves>,
}

/// A program, loaded. It does not change: any number of threads may have [`crate::Instance`]s of it at the same time.
#[derive(Debug)]
pub struct Executable {
    program: Program,
    kernel: Arc<Code>,
    movement: OnceLock<Movement>,
}

impl Executable {
    /// A program and the code of its computation.
    pub fn new(program: Program, kernel: Code) -> Executable {
        Executable { program, kernel: Arc::new(kernel), movement: OnceLock::new() }
    }

    /// What the code must be given.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The code of the computation.
    pub fn kernel(&self) -> &Arc<Code> {
        &self.kernel
    }

    /// Adds the code that moves tensors, if it is not there yet: computations on packed buffers alone do not need it.
    pub fn add_movement(&self, movement: Movement) {
        // Two threads may both have made it; either will do.
        let _ = self.movement.set(movement);
    }

    /// The code that moves tensors, if it is there.
    pub fn movement(&self) -> Option<&Movement> {
        self.movement.get()
    }

    /// The code that moves tensors.
    ///
    /// # Errors
    /// It is not there.
    pub fn moving(&self) -> Result<&Movement> {
        self.movement().ok_or(Error::NoMovement)
    }

    /// A tensor by its name.
    pub fn tensor(&self, name: &str) -> Option<TensorId> {
        self.program.tensor(name)
    }
}
