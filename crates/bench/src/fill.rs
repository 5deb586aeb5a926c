//! Inputs of a measured program.

use dastac_driver::run::Runner;
use dastac_runtime::Role;
use dastac_stur::program::TensorId;

use crate::Error;
use crate::job::Job;

/// Random inputs: numbers of either sign, none close to zero or so large that sums cancel.
pub(super) fn fill(runner: &mut Runner, job: &Job) -> Result<(), Error> {
    for (name, pattern) in &job.inputs {
        pattern.bind(runner, name, job.seed)?;
    }
    let inputs: Vec<usize> =
        (0..runner.facts().len()).filter(|at| runner.facts()[*at].role == Role::Input).collect();
    for at in inputs {
        let mut state = job.seed ^ (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        runner.fill_packed(TensorId(at), |_| {
            // SplitMix64.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^= z >> 31;
            let magnitude = 0.25 + (z >> 12) as f64 / (1u64 << 52) as f64 * 0.75;
            if z & 1 == 0 { magnitude } else { -magnitude }
        });
    }
    Ok(())
}
