//! The targets that there are: the only place that knows them by name.

use std::sync::Arc;

use dastac_backend::CpuTarget;
use dastac_target::{Target, TargetError};

/// The processor that this process runs on.
pub fn host() -> Arc<dyn Target> {
    Arc::new(CpuTarget::host())
}

/// A processor by LLVM's name, such as `x86-64-v3` or `znver4`.
///
/// # Errors
/// A name that LLVM does not know.
pub fn processor(name: &str) -> Result<Arc<dyn Target>, TargetError> {
    Ok(Arc::new(CpuTarget::named(name)?))
}
