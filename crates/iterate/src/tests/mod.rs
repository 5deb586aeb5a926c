mod assemble;
mod containers;
mod kernels;
mod level_kind;
mod trips;
mod walks;

/// So many random cases are tried in the plain test run, or with `DASTAC_FUZZ_KERNELS=n` (`./x fuzz kernels`) `n`.
fn config(plain: u32) -> proptest::prelude::ProptestConfig {
    let wanted = std::env::var("DASTAC_FUZZ_KERNELS").ok().and_then(|text| text.parse().ok());
    let cases = wanted.unwrap_or(plain);
    proptest::prelude::ProptestConfig { cases, failure_persistence: None, ..Default::default() }
}
