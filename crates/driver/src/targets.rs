//! The targets that there are: the only place that knows them by name.

use std::sync::Arc;

use dastac_backend::{CpuTarget, CudaTarget, GridTarget, PimTarget};
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
    make: fn(&Wanted<'_>) -> Found,
}

/// Which machine of a kind is wanted; what is not said is chosen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// A processor by the name that its code generator has for it, such as `x86-64-v3`.
    pub processor: Option<&'a str>,
    /// A machine of cores inside of memory by its name.
    pub profile: Option<&'a str>,
    /// The number of its cores.
    pub cores: Option<usize>,
    /// The number of threads of each core.
    pub threads: Option<usize>,
}

/// All targets; the first is taken where none is asked for.
pub const ALL: &[Known] = &[CPU, CUDA, GRID, PIM];

const CPU: Known = Known {
    name: CpuTarget::NAME,
    about: "A processor such as this computer's, through MLIR and LLVM",
    stages: CpuTarget::STAGES,
    make: |wanted| {
        match (wanted.processor, wanted.profile.is_some() || wanted.cores.is_some()) {
        (_, true) => Err(TargetError::Machine(
            "a processor has no profile and no number of cores; those are for cores inside of memory (`pim`)".into(),
        )),
        (None, _) => Ok(host()),
        (Some(name), _) => Ok(Arc::new(CpuTarget::named(name)?)),
    }
    },
};

const PIM: Known = Known {
    name: PimTarget::NAME,
    about: "Cores inside of memory, simulated",
    stages: PimTarget::STAGES,
    make: |wanted| match wanted.processor {
        Some(_) => Err(TargetError::Machine(
            "cores inside of memory are no CPU of a name; they have a profile".into(),
        )),
        None => {
            let profile = wanted.profile.unwrap_or("upmem");
            Ok(Arc::new(PimTarget::new(profile, wanted.cores, wanted.threads)?))
        }
    },
};

const CUDA: Known = Known {
    name: CudaTarget::NAME,
    about: "A GPU of NVIDIA's: kernels in PTX, which its driver translates",
    stages: CudaTarget::STAGES,
    make: |wanted| {
        not_cores(wanted)?;
        match wanted.processor {
            None => Ok(Arc::new(CudaTarget::new())),
            Some(name) => Ok(Arc::new(CudaTarget::named(name)?)),
        }
    },
};

const GRID: Known = Known {
    name: GridTarget::NAME,
    about: "The kernels of `cuda` on this computer's processor, to test them",
    stages: &[],
    make: |wanted| {
        not_cores(wanted)?;
        Ok(Arc::new(GridTarget::default()))
    },
};

/// Refuses what only cores inside of memory have.
fn not_cores(wanted: &Wanted<'_>) -> Result<(), TargetError> {
    match wanted.profile.is_some() || wanted.cores.is_some() {
        true => Err(TargetError::Machine(
            "this target has no profile and no number of cores; those are for cores inside of memory (`pim`)"
                .into(),
        )),
        false => Ok(()),
    }
}

impl Known {
    /// The target of a name.
    pub fn named(name: &str) -> Option<&'static Known> {
        ALL.iter().find(|known| known.name == name)
    }

    /// The target, for the machine that is wanted.
    ///
    /// # Errors
    /// A name that it does not know, a size that no such machine has.
    pub fn target(&self, wanted: &Wanted<'_>) -> Result<Arc<dyn Target>, TargetError> {
        (self.make)(wanted)
    }
}

/// The processor that this process runs on.
pub fn host() -> Arc<dyn Target> {
    Arc::new(CpuTarget::host())
}
