//! How rows of a sparse matrix are handed out to cores inside of memory: by their number modulo that of cores (C2SR),
//! to the core with the fewest elements so far (CISR), in runs of equal work, and split. Results are checked.

use dastac_bench::figures::{Figure, Scope, jobs};
use dastac_bench::job::Places;
use dastac_bench::measure::measure;

/// What is measured quickly.
fn scope(kernel: &str) -> Scope {
    Scope {
        quick: true,
        threads: vec![1],
        kernels: vec![kernel.into()],
        size: None,
        systems: Vec::new(),
        seed: 1,
        budget: 0.0,
        matrices: None,
        layers: None,
        random: None,
        places: Places::default(),
    }
}

#[test]
fn balanced_rows_are_faster_than_rows_modulo_the_number_of_cores() {
    let jobs = jobs(Figure::PimRows, &scope("rmat13-15"));
    assert_eq!(jobs.len(), 1);
    let case = measure(&jobs[0]).unwrap();
    let mut last = 0.0;
    for cores in [256, 512, 1024] {
        let of = |way: &str| case.simulated(way, cores).unwrap();
        let (modulo, balanced, split) = (of("c2sr"), of("cisr"), of("split"));
        assert!(balanced.cycles < modulo.cycles, "{cores} cores");
        assert!(100 * balanced.cycles >= 115 * split.cycles, "{cores} cores");
        assert!(balanced.imbalance < modulo.imbalance, "{cores} cores");
        let imbalance = modulo.imbalance.unwrap();
        assert!(imbalance > last, "{cores} cores: {imbalance} after {last}");
        last = imbalance;
    }
}

#[test]
fn structured_kernels_move_fewer_bytes() {
    let jobs = jobs(Figure::PimStructured, &scope("pim-structured"));
    assert_eq!(jobs.len(), 4);
    for mut job in jobs {
        job.pim = vec![1, 64];
        let case = measure(&job).unwrap();
        assert!(case.check.as_ref().unwrap().agrees, "{}", job.kernel);
        for cores in [1, 64] {
            let of = |way: &str| case.simulated(way, cores).unwrap();
            assert!(of("packed").cycles < of("full").cycles, "{}, {cores} cores", job.kernel);
            let sparse = job.kernel.ends_with("pruned");
            assert!(sparse || of("packed").moved < of("full").moved, "{}, {cores}", job.kernel);
        }
        assert!(case.simulated("packed", 64).unwrap().cycles * 8 < case.pim[0].cycles);
    }
}
