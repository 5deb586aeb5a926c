//! A program's code with a counter for each loop.

use dastac_runtime::Code;
use dastac_sched::trips::Counting;
use dastac_target::CodeOptions;

use crate::Error;
use crate::driver::Built;

/// Code that counts.
pub(crate) struct Counters {
    pub(crate) counting: Counting,
    pub(crate) code: Code,
}

impl Counters {
    /// Compiles a program with counters, as it stands and for one thread.
    ///
    /// # Errors
    /// Loops that cannot be counted; code that cannot be made or loaded.
    pub(crate) fn new(built: &Built) -> Result<Counters, Error> {
        let counting = built.lowered.counting()?;
        // Cores of another machine could not add to one counter.
        let options = built.options.on_host();
        let code = CodeOptions { parallel: false, untiled: true, ..options.code() };
        let code = Code::load(&options.generate(counting.module.clone(), &code)?.artifact)?;
        Ok(Counters { counting, code })
    }
}
