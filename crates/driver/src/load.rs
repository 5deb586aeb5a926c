//! Code of a program that was just compiled, in this process.

use std::time::{Duration, Instant};

use dastac_runtime::package::Moving;
use dastac_runtime::{Code, Executable};
use dastac_sched::Movement;

use crate::Error;
use crate::build::{BuildOptions, simplify};
use crate::describe;
use crate::driver::{Built, Lowered};

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
        executable.add_movement(self.lowered.moving(&self.options)?.load()?);
        Ok(start.elapsed())
    }
}

impl Lowered {
    /// The code that moves all tensors.
    pub(crate) fn moving(&self, options: &BuildOptions) -> Result<Moving, Error> {
        moving(self.movement()?, options)
    }

    /// The code with some of the functions that move tensors: those that a run calls, by tensor.
    ///
    /// # Errors
    /// Code that cannot be made.
    pub fn some_moving(
        &self,
        options: &BuildOptions,
        wanted: &[dastac_sched::Moving],
    ) -> Result<Moving, Error> {
        let analysis = &self.laid.analysis;
        let (inferred, layouts) = (&analysis.inferred, &self.laid.layouts);
        let mut movement = dastac_sched::some_movement(inferred, layouts, &self.kernel, wanted)?;
        simplify(&mut movement.module, &mut ())?;
        moving(movement, options)
    }
}

fn moving(movement: Movement, options: &BuildOptions) -> Result<Moving, Error> {
    // Copies are bound by memory: LLVM's whole effort would only delay them.
    let options = options.on_host();
    let code = options.generate(movement.module, &options.plain_code())?.artifact;
    Ok(Moving { code, functions: describe::moves(movement.functions) })
}
