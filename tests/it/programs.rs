//! Compiled programs as the run time has them: many threads at once, memory of the caller, files.

use std::collections::BTreeMap;
use std::sync::Arc;

use dastac::build::BuildOptions;
use dastac::driver::{Built, compile};
use dastac::elements::{View, ViewMut};
use dastac::runtime::package::Package;
use dastac::runtime::{Executable, Instance, TensorId};

/// A packed triangle times a vector, threads inside of it.
const TRIANGLE: &str = "symbols: N
y(i) := B(i, j) * x(j)
B:D(i, j) := (0 <= i < N) * (0 <= j < N)
B:U(i, j) := (i <= j)
x:D(j) := (0 <= j < N)";

/// A matrix in rows times a vector.
const ROWS: &str = "symbols: N
y(i) := A(i, j) * x(j)
A:D(i, j) := (0 <= i < N) * (0 <= j < N)
A:F := csr
x:D(j) := (0 <= j < N)";

/// A sum of matrices in rows, in rows: it is counted, allocated and filled.
const SUM: &str = "symbols: N
y(i, j) := A(i, j) + B(i, j)
y:F := csr
A:D(i, j) := (0 <= i < N) * (0 <= j < N)
A:F := csr
B:D(i, j) := (0 <= i < N) * (0 <= j < N)
B:F := csr";

fn built(text: &str, parallel: bool) -> Built {
    compile(text, BuildOptions { parallel, ..BuildOptions::default() }).unwrap()
}

fn sizes(n: i64) -> BTreeMap<String, i64> {
    BTreeMap::from([("N".to_owned(), n)])
}

/// The bits of `y` for random inputs of a seed.
fn run(instance: &mut Instance<'_>, seed: u64) -> Vec<u64> {
    instance.draw_inputs(seed, |_| false).unwrap();
    instance.execute().unwrap();
    let y = instance.executable().tensor("y").unwrap();
    instance.values(y).into_iter().map(f64::to_bits).collect()
}

#[test]
fn many_threads_run_one_program() {
    let programs: Vec<Arc<Executable>> = [(TRIANGLE, true), (ROWS, true), (SUM, false)]
        .map(|(text, parallel)| Arc::new(built(text, parallel).load().unwrap()))
        .into();
    let (extents, seeds) = ([0, 1, 7, 40, 101], 4);
    let fresh = |program: &Arc<Executable>, n, seed| {
        let mut instance = Instance::new(Arc::clone(program), &sizes(n), 1).unwrap();
        run(&mut instance, seed)
    };
    let expected: Vec<Vec<Vec<u64>>> = programs
        .iter()
        .map(|program| {
            let cases = extents.iter().flat_map(|n| (0..seeds).map(move |seed| (*n, seed)));
            cases.map(|(n, seed)| fresh(program, n, seed)).collect()
        })
        .collect();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (programs, expected) = (&programs, &expected);
            scope.spawn(move || {
                for round in 0..200 {
                    let which = (thread + round) % programs.len();
                    let case = (thread * 31 + round * 7) % expected[which].len();
                    let (n, seed) = (extents[case / seeds as usize], case as u64 % seeds);
                    let threads = 1 + round % 2;
                    let program = Arc::clone(&programs[which]);
                    let mut instance = Instance::new(program, &sizes(n), threads).unwrap();
                    let found = run(&mut instance, seed);
                    assert_eq!(found, expected[which][case], "program {which}, N = {n}");
                }
            });
        }
    });
}

#[test]
fn memory_is_lent() {
    let program = Arc::new(built(TRIANGLE, false).load().unwrap());
    let [b, x, y] = ["B", "x", "y"].map(|name| program.tensor(name).unwrap());
    let (triangle, vector) = ([1.0, 2.0, 3.0], [10.0, 100.0]);
    let mut result = vec![0.0; 2];
    {
        let mut instance = Instance::new(Arc::clone(&program), &sizes(2), 1).unwrap();
        instance.lend(b, View::of(&triangle)).unwrap();
        instance.lend(x, View::of(&vector)).unwrap();
        instance.lend_mut(y, ViewMut::of(&mut result)).unwrap();
        assert!(instance.lend(y, View::of(&vector)).is_err());
        assert!(instance.lend(x, View::of(&vector[..1])).is_err());
        assert!(instance.lend(x, View::of(&[1.0f32, 2.0])).is_err());
        instance.execute().unwrap();
    }
    // 1 2
    // . 3
    assert_eq!(result, [210.0, 300.0]);
}

#[test]
fn programs_are_files() {
    for text in [TRIANGLE, ROWS, SUM] {
        let built = built(text, false);
        let package = built.package().unwrap();
        let bytes = package.to_bytes().unwrap();
        let read = Package::from_bytes(&bytes).unwrap();
        assert_eq!(read, package);
        let [loaded, own] = [read.load().unwrap(), Arc::new(built.load().unwrap())];
        let [mut loaded, mut own] =
            [loaded, own].map(|program| Instance::new(program, &sizes(30), 1).unwrap());
        assert_eq!(run(&mut loaded, 3), run(&mut own, 3));
        let y = loaded.executable().tensor("y").unwrap();
        assert_eq!(loaded.dense(y).unwrap().len(), loaded.facts()[y.0].cells() as usize);
        assert_eq!(y, TensorId(y.0));
        // A bit that fell over, and a file that ends too early.
        for at in [0, 9, 20, bytes.len() / 2, bytes.len() - 1] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            assert!(Package::from_bytes(&damaged).is_err(), "byte {at}");
            assert!(Package::from_bytes(&bytes[..at]).is_err(), "{at} bytes");
        }
    }
}
