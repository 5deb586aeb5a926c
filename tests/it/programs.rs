//! Compiled programs as the run time has them: many threads at once, memory of the caller, files.

use std::collections::BTreeMap;
use std::sync::Arc;

use dastac::build::BuildOptions;
use dastac::driver::{Analysis, Built, Indices, compile};
use dastac::elements::{View, ViewMut};
use dastac::formats::storage::{IndexView, LevelData};
use dastac::formats::{Format, Kind, TensorView};
use dastac::package::original;
use dastac::run::Runner;
use dastac::runtime::package::Package;
use dastac::runtime::{Code, Executable, Instance, TensorId};
use dastac::target::CodeKind;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

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

/// Loops with a stride begin at remainders of sums: MLIR's simplification of such bounds is wrong, and is not used.
#[test]
fn strides_that_begin_at_remainders() {
    let source = "symbols: N
H(i, j, k, l) := ((i + j + k) % 2 = 0) * A(j, k) * (k < j) * (0 <= i < 4) * (0 <= l < N)
A:D(i, j) := (0 <= i < N) * (0 <= j < N)
H:D(i, j, k, l) := (0 <= i < 4) * (0 <= j < 2 * N) * (0 <= k < N) * (0 <= l < N)";
    for parallel in [false, true] {
        let options = BuildOptions { parallel, ..BuildOptions::default() };
        let built = compile(source, options).unwrap();
        let mut runner = Runner::new(built, &sizes(0), 1 + usize::from(parallel)).unwrap();
        for n in 0..6 {
            runner.resize(&sizes(n)).unwrap();
            let inputs = runner.random_inputs(7, &BTreeMap::new()).unwrap();
            runner.execute().unwrap();
            assert!(runner.verify(&inputs).unwrap().agrees(), "N = {n}, parallel: {parallel}");
        }
    }
}

/// Products of structured matrices, large enough that they are computed from panels.
#[test]
fn products_from_panels() {
    let lower = "S:D(i, k) := (0 <= i < N) * (0 <= k < N)\nS:U(i, k) := (k <= i)";
    let mirrored = |sign: &str| {
        let (ends, by) = if sign == "-" { ("k < i", "-") } else { ("k <= i", "") };
        format!(
            "S:D(i, k) := (0 <= i < N) * (0 <= k < N)\nS:U(i, k) := ({ends})
S:R(i, k, ip, kp) := {by}(i < k) * (ip = k) * (kp = i)"
        )
    };
    let dense = "B:D(k, j) := (0 <= k < N) * (0 <= j < N)";
    let product = "C(i, j) := S(i, k) * B(k, j)";
    let windows = "S:D(i, k) := (0 <= i < N) * (0 <= k < N)\nS:U(i, k) := (i - 60 < k <= i + 9)";
    let upper = "B:D(k, j) := (0 <= k < N) * (0 <= j < N)\nB:U(k, j) := (k <= j + 1)";
    let twice = "C(i, j) := S(i, k) * B(j, k) + B(i, k) * S(j, k)";
    for (rule, left, right) in [
        (product, lower, dense),
        (product, &mirrored("+"), upper),
        (product, &mirrored("-"), dense),
        (product, windows, dense),
        (product, windows, upper),
        (twice, lower, dense),
    ] {
        let source = format!("symbols: N\n{rule}\n{left}\n{right}");
        for (parallel, n) in [(false, 113), (true, 131)] {
            let options = BuildOptions { parallel, ..BuildOptions::default() };
            let built = compile(&source, options).unwrap();
            let mut runner = Runner::new(built, &sizes(n), 1 + usize::from(parallel)).unwrap();
            let inputs = runner.random_inputs(7, &BTreeMap::new()).unwrap();
            runner.execute().unwrap();
            assert!(runner.verify(&inputs).unwrap().agrees(), "{source}\nparallel: {parallel}");
        }
    }
}

/// Products of bands, whose tensors are stored by diagonals: at sizes around those of their widths, and larger ones.
#[test]
fn products_along_diagonals() {
    let band = |name: &str, below: usize, above: usize| {
        format!(
            "{name}:D(i, j) := (0 <= i < N) * (0 <= j < N)\n\
             {name}:U(i, j) := (i - {below} <= j <= i + {above})"
        )
    };
    let symmetric = "A:D(i, j) := (0 <= i < N) * (0 <= j < N)\nA:U(i, j) := (i <= j <= i + 4)\n\
                     A:R(i, j, ip, jp) := (j < i <= j + 4) * (ip = j) * (jp = i)";
    let product = "C(i, j) := A(i, k) * B(k, j)";
    for (rule, left, right) in [
        (product, band("A", 3, 7), band("B", 11, 2)),
        (product, band("A", 1, 0), band("B", 0, 1)),
        (product, symmetric.to_owned(), band("B", 5, 5)),
        ("C(i, j) := A(i, k) * B(j, k) + A(i, j)", band("A", 4, 4), band("B", 6, 6)),
        ("C(i, j) := A(k, i) * B(k, j)", band("A", 2, 9), band("B", 3, 3)),
    ] {
        let source = format!("symbols: N\n{rule}\n{left}\n{right}");
        for parallel in [false, true] {
            let options = BuildOptions { parallel, ..BuildOptions::default() };
            let built = compile(&source, options).unwrap();
            let mut runner = Runner::new(built, &sizes(0), 1 + usize::from(parallel)).unwrap();
            for n in [0, 1, 3, 5, 12, 15, 24, 61, 113] {
                runner.resize(&sizes(n)).unwrap();
                let inputs = runner.random_inputs(7, &BTreeMap::new()).unwrap();
                runner.execute().unwrap();
                assert!(runner.verify(&inputs).unwrap().agrees(), "{source}\n{n} {parallel}");
            }
        }
    }
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

/// `0 2 0 / 5 0 0 / 0 0 0` in rows, from arrays of the caller.
#[test]
fn stored_arrays_are_lent() {
    let (positions, coordinates, values) = ([0u32, 1, 2, 2], [1u32, 0], [2.0, 5.0]);
    let view = |positions, coordinates, values| {
        let rows = LevelData::new(Kind::DENSE, vec![]);
        let columns = LevelData::new(Kind::COMPRESSED, vec![positions, coordinates]);
        TensorView::from_parts(vec![3, 3], Format::csr(), vec![rows, columns], values)
    };
    let [starts, columns] = [&positions[..], &coordinates[..]].map(IndexView::U32);
    // Arrays that are no matrix are refused, as those of a tensor that is built.
    for (starts, columns, expected) in [
        (&[0u32, 1, 2][..], &[1u32, 0][..], "level 2: 3 positions, not 4"),
        (&[0, 2, 1, 2], &[1, 0], "level 2: positions[2] is 1, less than 2 before it"),
        (&[0, 1, 2, 2], &[1, 3], "level 2: coordinates[1] is 3, not below 3"),
        (&[0, 2, 2, 2], &[1, 0], "level 2: the coordinates (0) at 1 stand behind (1)"),
    ] {
        let [starts, columns] = [starts, columns].map(IndexView::U32);
        let error = view(starts, columns, View::of(&values)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let long = [0i64, 1, 2, 2];
    let negative = [-1i64, 0];
    let error = view(IndexView::I64(&long), IndexView::I64(&negative), View::of(&values));
    assert!(error.is_err());

    let program = Arc::new(built(ROWS, false).load().unwrap());
    let [a, x, y] = ["A", "x", "y"].map(|name| program.tensor(name).unwrap());
    let vector = [1.0, 10.0, 100.0];
    let mut instance = Instance::new(Arc::clone(&program), &sizes(3), 1).unwrap();
    instance.lend(x, View::of(&vector)).unwrap();
    instance.lend_stored(a, view(starts, columns, View::of(&values)).unwrap()).unwrap();
    assert_eq!((instance.facts()[a.0].unique, instance.facts()[a.0].packed_bytes), (2, 40));
    instance.execute().unwrap();
    assert_eq!(instance.values(y), [20.0, 5.0, 0.0]);

    let mut refused = |value, expected: &str| {
        let error = instance.lend_stored(a, value).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    let single = [2.0f32, 5.0];
    refused(
        view(starts, columns, View::of(&single)).unwrap(),
        "buffer `A` has elements of type f64, f32 given",
    );
    let wide = [1i64, 0];
    refused(
        view(IndexView::I64(&long), IndexView::I64(&wide), View::of(&values)).unwrap(),
        "`A` is read with indices of 32 bits, but the arrays have 64",
    );
    let dense: Vec<f64> = vec![0.0; 9];
    let levels = vec![LevelData::new(Kind::DENSE, vec![]); 2];
    let dense = TensorView::from_parts(vec![3, 3], Format::dense(2), levels, View::of(&dense));
    refused(dense.unwrap(), "`A` is read in the format csr, but the arrays are of dense");
    // What was lent is read as before.
    instance.execute().unwrap();
    assert_eq!(instance.values(y), [20.0, 5.0, 0.0]);
    // Other values take its place.
    instance.draw_inputs(1, |id| id != a).unwrap();
    assert!(instance.bound(a).is_some());
}

/// A program for indices of 64 bits; one of two tensors is read from a copy in the other's format.
#[test]
fn wide_arrays_are_lent_and_converted() {
    let text = "symbols: N
y(i, j) := A(i, j) * B(i, j)
A:D(i, j) := (0 <= i < N) * (0 <= j < N)
A:F := csr
B:D(i, j) := (0 <= i < N) * (0 <= j < N)
B:F := csc";
    let laid = Analysis::of(text).unwrap().lay_out().unwrap();
    let built = laid.lower_for(Indices::Wide).unwrap().build(BuildOptions::default()).unwrap();
    let program = Arc::new(built.load().unwrap());
    let [a, b, y] = ["A", "B", "y"].map(|name| program.tensor(name).unwrap());
    let (positions, coordinates, values) = ([0i64, 1, 3], [1i64, 0, 1], [2.0, 5.0, 7.0]);
    let view = |format: Format| {
        let [starts, indices] = [&positions[..], &coordinates[..]].map(IndexView::I64);
        let levels = [(Kind::DENSE, vec![]), (Kind::COMPRESSED, vec![starts, indices])]
            .map(|(kind, arrays)| LevelData::new(kind, arrays));
        TensorView::from_parts(vec![2, 2], format, levels.into(), View::of(&values)).unwrap()
    };
    let mut instance = Instance::new(Arc::clone(&program), &sizes(2), 1).unwrap();
    instance.lend_stored(a, view(Format::csr())).unwrap();
    instance.lend_stored(b, view(Format::csc())).unwrap();
    assert_eq!(instance.conversions().len(), 1, "rows and columns are not walked together");
    instance.execute().unwrap();
    // 0 2     0 5
    // 5 7  *  2 7
    assert_eq!(instance.values(y), [0.0, 10.0, 10.0, 49.0]);
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
        // A bit that fell over, and a file that ends too early or goes on.
        for at in [0, 9, 20, bytes.len() / 2, bytes.len() - 1] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            assert!(Package::from_bytes(&damaged).is_err(), "byte {at}");
            assert!(Package::from_bytes(&bytes[..at]).is_err(), "{at} bytes");
        }
        assert!(Package::from_bytes(&[&bytes[..], b"x"].concat()).is_err());
    }
}

/// The error that a file gives.
fn refused(bytes: &[u8]) -> String {
    Package::from_bytes(bytes).and_then(Package::load).unwrap_err().to_string()
}

#[test]
fn programs_of_other_machines_are_refused() {
    let package = built(TRIANGLE, false).package().unwrap();
    let bytes = |change: &dyn Fn(&mut Package)| {
        let mut changed = package.clone();
        change(&mut changed);
        changed.to_bytes().unwrap()
    };
    let other = bytes(&|package| package.kernel.requires.architecture = "riscv32".into());
    let expected = format!(
        "the code is for riscv32 processors, and this machine has one of {}",
        std::env::consts::ARCH
    );
    assert_eq!(refused(&other), expected);
    let text = bytes(&|package| package.movement.as_mut().unwrap().code.code.kind = CodeKind::Text);
    let expected = "code for the target `cpu` is no object for this processor: it can be neither \
                    loaded nor linked";
    assert_eq!(refused(&text), expected);
    // Numbers of the other byte order, in a file and in the object inside of it.
    let mut swapped = bytes(&|_| {});
    swapped[8..16].reverse();
    assert!(refused(&swapped).contains("it has version 216172782113783808"));
    let big_endian = bytes(&|package| package.kernel.code.bytes[5] = 2);
    assert!(refused(&big_endian).starts_with("cannot load the code"), "{}", refused(&big_endian));
    let arm = bytes(&|package| package.kernel.code.bytes[18] = 183);
    assert_eq!(
        refused(&arm),
        "cannot load the code: the code is for Aarch64, not for this machine"
    );
}

/// FNV-1a, with which files end.
fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len() - 8);
    let sum = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    bytes.extend(sum.to_le_bytes());
    bytes
}

/// Changes some bytes of a range at random: to others, to digits, or to bytes from elsewhere in it.
fn mutate(bytes: &mut [u8], rng: &mut ChaCha8Rng) {
    for _ in 0..rng.random_range(1..4) {
        let at = rng.random_range(0..bytes.len());
        match rng.random_range(0..3) {
            0 => bytes[at] = rng.random(),
            1 => bytes[at] = rng.random_range(b'0'..=b'9'),
            _ => {
                let length = rng.random_range(1..=8.min(bytes.len()));
                let from = rng.random_range(0..=bytes.len() - length);
                let to = rng.random_range(0..=bytes.len() - length);
                bytes.copy_within(from..from + length, to);
            }
        }
    }
}

/// Damaged descriptions whose checksum is right are refused, or say something about sizes; nothing panics or asks for
/// memory without end. Their code does not run: it may be for other arguments.
#[test]
fn damaged_descriptions_are_refused() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let (mut read, mut wrong) = (0, 0);
    for text in [TRIANGLE, ROWS, SUM] {
        let whole = built(text, false).package().unwrap().to_bytes().unwrap();
        let length = u64::from_le_bytes(whole[16..24].try_into().unwrap()) as usize;
        for _ in 0..1000 {
            let mut bytes = whole.clone();
            let from = if rng.random_range(0..20) == 0 { 8 } else { 24 };
            mutate(&mut bytes[from..24 + length], &mut rng);
            match Package::from_bytes(&with_checksum(bytes)) {
                Err(error) => {
                    wrong += 1;
                    assert!(error.to_string().starts_with("not a compiled program"), "{error}");
                }
                Ok(package) => {
                    read += 1;
                    let symbols = vec![3; package.program.sizes.symbols.len()];
                    drop(package.program.sizes.at(&symbols));
                    drop(original(&package.program, &package.origin));
                }
            }
        }
    }
    assert!(read > 50 && wrong > 1000, "{read} files were read, {wrong} refused");
}

/// Damaged objects are refused or loaded, and never called.
#[test]
fn damaged_objects_are_refused() {
    let package = built(TRIANGLE, true).package().unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let (mut loaded, mut wrong) = (0, 0);
    for _ in 0..2000 {
        let mut artifact = package.kernel.clone();
        mutate(&mut artifact.code.bytes, &mut rng);
        match Code::load(&artifact) {
            Ok(_) => loaded += 1,
            Err(_) => wrong += 1,
        }
    }
    assert!(loaded > 100 && wrong > 100, "{loaded} objects were loaded, {wrong} refused");
}

#[test]
fn programs_come_and_go_while_others_run() {
    let kept = Arc::new(built(TRIANGLE, true).load().unwrap());
    let package = built(ROWS, true).package().unwrap();
    let fresh = |program: Arc<Executable>, seed| {
        run(&mut Instance::new(program, &sizes(20), 2).unwrap(), seed)
    };
    let expected = [fresh(Arc::clone(&kept), 1), fresh(package.clone().load().unwrap(), 1)];
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (kept, package, expected) = (&kept, &package, &expected);
            scope.spawn(move || {
                for _ in 0..25 {
                    // Both have functions of the same names; one is loaded and unmapped again and again.
                    match thread % 2 {
                        0 => assert_eq!(fresh(Arc::clone(kept), 1), expected[0]),
                        _ => assert_eq!(fresh(package.clone().load().unwrap(), 1), expected[1]),
                    }
                }
            });
        }
    });
}
