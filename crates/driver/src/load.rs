//! Code of a program that was just compiled, in this process.

use std::time::{Duration, Instant};

use dastac_runtime::{Code, Executable, Movement, Moves};
use dastac_target::Artifact;

use crate::Error;
use crate::describe;
use crate::driver::Built;

impl Built {
    /// Loads the code for runs at any sizes, by any number of threads at once. Dense arrays cannot be packed until
    /// [`Built::load_movement`] was called.
    ///
    /// # Errors
    /// Code that cannot be loaded.
    pub fn load(&self) -> Result<Executable, Error> {
        Ok(Executable::new(describe::program(&self.lowered)?, Code::load(&self.code)?))
    }

    /// Makes the code that packs and unpacks dense arrays, adds it to what was loaded, and returns how long that took.
    ///
    /// # Errors
    /// Code that cannot be made or loaded.
    pub fn load_movement(&self, executable: &Executable) -> Result<Duration, Error> {
        let start = Instant::now();
        let (code, functions) = self.movement()?;
        executable.add_movement(Movement { code: Code::load(&code)?, functions });
        Ok(start.elapsed())
    }

    /// The code that moves tensors, and its functions.
    pub(crate) fn movement(&self) -> Result<(Artifact, Vec<Moves>), Error> {
        let movement = self.lowered.movement()?;
        // Copies are bound by memory: LLVM's whole effort would only delay them.
        let options = &self.options;
        let code = options.generate(movement.module, &options.plain_code())?.artifact;
        Ok((code, describe::moves(movement.functions)))
    }
}
