//! Programs as files that are run without a compiler.

use dastac_runtime::package::{Object, Package};
use dastac_runtime::processor::Processor;
use dastac_target::Artifact;

use crate::Error;
use crate::describe;
use crate::driver::Built;

impl Built {
    /// The program with all of its code, as it stands in a file.
    ///
    /// # Errors
    /// Code that cannot be made.
    pub fn package(&self) -> Result<Package, Error> {
        let (movement, moves) = self.movement()?;
        let features = self.code.features.clone();
        let architecture = std::env::consts::ARCH.to_owned();
        Ok(Package {
            program: describe::program(&self.lowered)?,
            processor: Processor { architecture, features },
            kernel: object(&self.code),
            movement: object(&movement),
            moves,
        })
    }
}

fn object(artifact: &Artifact) -> Object {
    Object { abi: artifact.abi.clone(), code: artifact.code.bytes.clone() }
}
