//! The targets that there are: the only place that knows them by name.

use std::sync::Arc;

use dastac_backend::{CpuTarget, CudaTarget, GridTarget};
use dastac_target::{Stage, Target, TargetError};

/// A target, or why there is none.
type Found = Result<Arc<dyn Target>, TargetError>;

/// A target that users may ask for.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// The texts between its loops and its code.
    pub stages: &'static [Stage],
    /// Makes it, for the processor of a name or for the one that is there.
    make: fn(Option<&str>) -> Found,
}

/// All targets; the first is taken where none is asked for.
pub const ALL: &[Known] = &[
    Known {
        name: CpuTarget::NAME,
        about: "A processor such as this computer's, through MLIR and LLVM",
        stages: CpuTarget::STAGES,
        make: |processor| match processor {
            None => Ok(host()),
            Some(name) => Ok(Arc::new(CpuTarget::named(name)?)),
        },
    },
    Known {
        name: CudaTarget::NAME,
        about: "A GPU of NVIDIA's: kernels in PTX, which its driver translates",
        stages: CudaTarget::STAGES,
        make: |processor| match processor {
            None => Ok(Arc::new(CudaTarget::new())),
            Some(name) => Ok(Arc::new(CudaTarget::named(name)?)),
        },
    },
    Known {
        name: GridTarget::NAME,
        about: "The kernels of `cuda` on this computer's processor, to test them",
        stages: &[],
        make: |_| Ok(Arc::new(GridTarget::default())),
    },
];

impl Known {
    /// The target of a name.
    pub fn named(name: &str) -> Option<&'static Known> {
        ALL.iter().find(|known| known.name == name)
    }

    /// The target, for a processor by the name that its code generator has for it (such as `x86-64-v3`), or for the one
    /// that is there.
    ///
    /// # Errors
    /// A name that it does not know.
    pub fn target(&self, processor: Option<&str>) -> Result<Arc<dyn Target>, TargetError> {
        (self.make)(processor)
    }
}

/// The processor that this process runs on.
pub fn host() -> Arc<dyn Target> {
    Arc::new(CpuTarget::host())
}
