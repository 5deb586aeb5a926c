//! `dastac run`: arrays in and out, verification, JSON, and what can be wrong with them.

use std::collections::BTreeSet;
use std::fs;

use expect_test::expect;
use npyz::WriterBuilder;
use serde_json::Value;

use super::{CHAIN, Folder, SYMMETRIC, example};

fn npy<T: npyz::AutoSerialize + Copy>(shape: &[u64], data: &[T]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let options = npyz::WriteOptions::new().default_dtype().shape(shape);
    let mut writer = options.writer(&mut bytes).begin_nd().unwrap();
    writer.extend(data.iter().copied()).unwrap();
    writer.finish().unwrap();
    bytes
}

fn read(bytes: &[u8]) -> (Vec<u64>, Vec<f64>) {
    let file = npyz::NpyFile::new(bytes).unwrap();
    (file.shape().to_vec(), file.into_vec().unwrap())
}

impl Folder {
    pub fn write_array(&self, name: &str, shape: &[u64], data: &[f64]) {
        fs::write(self.path(name), npy(shape, data)).unwrap();
    }

    pub fn read_array(&self, name: &str) -> (Vec<u64>, Vec<f64>) {
        read(&fs::read(self.path(name)).unwrap())
    }

    pub(super) fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.works(line)).unwrap()
    }
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn json_is_as_specified() {
    let folder = Folder::new(&example("ttm_ut.stur"));
    let sizes = "-p M=4 -p N=5 -p P=3 -p Q=2";
    let report = folder.json(&format!("run p.stur {sizes} --repeat 3 --threads 2 --verify --json"));
    let expected = [
        "file",
        "symbols",
        "compile_ns",
        "stages_ns",
        "run_ns",
        "threads",
        "tensors",
        "flops",
        "max_error",
    ];
    assert_eq!(keys(&report), BTreeSet::from(expected));
    assert_eq!(report["file"], "p.stur");
    assert_eq!(report["symbols"], serde_json::json!({ "M": 4, "N": 5, "P": 3, "Q": 2 }));
    assert_eq!(report["threads"], 2);
    let stages: u64 =
        report["stages_ns"].as_object().unwrap().values().map(|time| time.as_u64().unwrap()).sum();
    assert_eq!(report["compile_ns"].as_u64().unwrap(), stages);
    let times = report["run_ns"].as_array().unwrap();
    assert!(times.len() == 3 && times.iter().all(|time| time.as_u64().unwrap() > 0));
    // 14 pairs i <= j, times P, times Q: a multiplication and an addition.
    assert_eq!(report["flops"], 14 * 3 * 2 * 2);
    assert!(report["max_error"].as_f64().unwrap() < 1e-12);
    let tensors = report["tensors"].as_array().unwrap();
    let fields = [
        "name",
        "role",
        "element",
        "shape",
        "unique",
        "packed_bytes",
        "dense_bytes",
        "index",
        "pieces",
    ];
    assert!(tensors.iter().all(|tensor| keys(tensor) == BTreeSet::from(fields)));
    assert_eq!(
        tensors[1],
        serde_json::json!({
            "name": "B", "role": "input", "element": "f64", "shape": [4, 5, 2], "unique": 28,
            "packed_bytes": 224, "dense_bytes": 320, "index": "N*Q*i - 1/2*Q*i^2 - 1/2*Q*i + Q*j + l", "pieces": 1,
        })
    );
    let text = folder.works(&format!("run p.stur {sizes} --json"));
    assert!(text.contains("\"max_error\": null"), "{text}");
    // The order of the keys is part of what people see.
    let positions: Vec<_> =
        expected.iter().map(|key| text.find(&format!("\n  \"{key}\":")).unwrap()).collect();
    assert!(positions.is_sorted(), "{text}");
}

#[test]
fn text_for_people() {
    let folder = Folder::new(&example("spmv_ut.stur"));
    let text = folder.works("run p.stur -p M=40 -p N=50 --threads 2 --repeat 3 --verify");
    for line in [
        "tensor  role    shape    stored",
        "B       input   40 x 50    1220  9.5 KiB  15.6 KiB         1.64x  N*i",
        "compiled in ",
        " on 2 threads (least of 3; median ",
        "agrees with the reference evaluator (largest error ",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[test]
fn arrays_in_and_out() {
    let folder = Folder::new(SYMMETRIC);
    let b = [1.0, 2.0, 3.0, 2.0, 5.0, 6.0, 3.0, 6.0, 9.0];
    folder.write_array("b.npy", &[3, 3], &b);
    folder.write_array("x.npy", &[3], &[1.0, -1.0, 2.0]);
    folder.write_array("a.npy", &[], &[0.5]);
    let files = "--input B=b.npy --input x=x.npy --input a=a.npy --output y=y.npy";
    folder.works(&format!("run p.stur -p N=3 {files} --verify"));
    assert_eq!(folder.read_array("y.npy"), (vec![3], vec![2.5, 4.5, 7.5]));
    assert_eq!(folder.files(), ["a.npy", "b.npy", "x.npy", "y.npy"]);
    // Big-endian numbers, and Fortran order where it makes no difference.
    let mut big = npy(&[3], &[0.0; 3]);
    big.truncate(big.len() - 24);
    let at = big.windows(3).position(|bytes| bytes == b"<f8").unwrap();
    big[at] = b'>';
    let at = big.windows(5).position(|bytes| bytes == b"False").unwrap();
    big[at..at + 5].copy_from_slice(b"True ");
    big.extend([1.0f64, -1.0, 2.0].iter().flat_map(|value| value.to_be_bytes()));
    fs::write(folder.path("x.npy"), big).unwrap();
    folder.works(&format!("run p.stur -p N=3 {files} --threads 1"));
    assert_eq!(folder.read_array("y.npy"), (vec![3], vec![2.5, 4.5, 7.5]));
}

#[test]
fn empty_arrays() {
    let folder = Folder::new(SYMMETRIC);
    folder.write_array("b.npy", &[0, 0], &[]);
    folder.works("run p.stur -p N=0 --input B=b.npy --output y=y.npy --verify");
    assert_eq!(folder.read_array("y.npy"), (vec![0], vec![]));
}

#[test]
fn every_head_can_be_asked_for() {
    let folder = Folder::new(CHAIN);
    let l: Vec<f64> = (0..9).map(|k| if k % 3 <= k / 3 { f64::from(k + 1) } else { 0.0 }).collect();
    folder.write_array("l.npy", &[3, 3], &l);
    folder.works("run p.stur -p M=9 -p N=3 --input L=l.npy --output t=t.npy --output y=y.npy");
    let (shape, t) = folder.read_array("t.npy");
    assert_eq!(shape, [3, 3]);
    let square = |i: usize, k: usize| (0..3).map(|j| l[3 * i + j] * l[3 * j + k]).sum::<f64>();
    let expected: Vec<f64> = (0..9).map(|at| square(at / 3, at % 3)).collect();
    assert_eq!(t, expected);
    assert_eq!(folder.files(), ["l.npy", "t.npy", "y.npy"]);
}

#[test]
fn random_inputs_follow_the_seed_only() {
    let folder = Folder::new(CHAIN);
    let results: Vec<Vec<u8>> = ["--seed 7 --threads 1", "--seed 7 --threads 2", "--seed 8"]
        .iter()
        .map(|flags| {
            folder.works(&format!("run p.stur -p M=20 -p N=20 {flags} --output y=y.npy"));
            fs::read(folder.path("y.npy")).unwrap()
        })
        .collect();
    assert_eq!(results[0], results[1]);
    assert_ne!(results[0], results[2]);
}

#[test]
fn contradicting_inputs() {
    let folder = Folder::new(SYMMETRIC);
    let mut b = [1.0, 2.0, 3.0, 2.0, 5.0, 6.0, 3.0, 6.25, 9.0];
    folder.write_array("b.npy", &[3, 3], &b);
    folder.fails("run p.stur -p N=3 --input B=b.npy --json", 1, &expect![[r#"
        error: the input contradicts the declared structure of `B`: at [2, 1] it must be 6, but it is 6.25
        help: `dastac infer p.stur` shows the structure of `B`
    "#]]);
    b[7] = 6.00001;
    folder.write_array("b.npy", &[3, 3], &b);
    folder.fails("run p.stur -p N=3 --input B=b.npy", 1, &expect![[r#"
        error: the input contradicts the declared structure of `B`: at [2, 1] it must be 6, but it is 6.00001
        help: `dastac infer p.stur` shows the structure of `B`
        help: `--tolerance B=1e-5` takes elements that differ by no more than this part
    "#]]);
    b[7] = 6.25;
    b[5] = 6.25;
    b[6] = f64::NAN;
    folder.write_array("b.npy", &[3, 3], &b);
    folder.fails("run p.stur -p N=3 --input B=b.npy", 1, &expect![[r#"
        error: the input contradicts the declared structure of `B`: at [2, 0] it must be 3, but it is NaN
        help: `dastac infer p.stur` shows the structure of `B`
    "#]]);
    let triangle = Folder::new(CHAIN);
    triangle.write_array("l.npy", &[2, 2], &[1.0, -3.0, 2.0, 1.0]);
    triangle.fails("run p.stur -p M=2 -p N=2 --input L=l.npy", 1, &expect![[r#"
        error: the input contradicts the declared structure of `L`: at [0, 1] it must be 0, but it is -3
        help: `dastac infer p.stur` shows the structure of `L`
    "#]]);
}

#[test]
fn wrong_tensors_and_arrays() {
    let folder = Folder::new(SYMMETRIC);
    folder.fails(
        "run p.stur -p N=3 --input b=b.npy",
        1,
        &expect![[r#"
        error: the program has no tensor `b`
        help: did you mean `B`?
    "#]],
    );
    folder.fails(
        "run p.stur -p N=3 --input Matrix=b.npy",
        1,
        &expect![[r#"
        error: the program has no tensor `Matrix`
        help: its tensors: `y`, `a`, `B` and `x`
    "#]],
    );
    folder.fails(
        "run p.stur -p N=3 --input y=b.npy",
        1,
        &expect![[r#"
        error: `y` is computed by a rule and cannot be given as an input
        help: inputs: `a`, `B` and `x`; `--output y=..` writes what is computed
    "#]],
    );
    folder.fails(
        "run p.stur -p N=3 --output B=b.npy",
        1,
        &expect![[r#"
        error: `B` is an input, not computed: it cannot be asked for as an output
        help: computed: `y`
    "#]],
    );
    folder.fails(
        "run p.stur -p N=3 --output N=b.npy",
        1,
        &expect![[r#"
        error: the program has no tensor `N`
        help: its tensors: `y`, `a`, `B` and `x`
    "#]],
    );
    folder.fails(
        "run p.stur -p N=3 --output y=nowhere/y.npy",
        1,
        &expect![[r#"
        error: cannot write `nowhere/y.npy`: there is no folder `nowhere`
    "#]],
    );
    folder.fails(
        "run p.stur -p N=3 --output y=z.csv",
        1,
        &expect![[r#"
        error: cannot write `z.csv`: the name does not say what kind of file it is
        help: known are .mtx (MatrixMarket), .tns (FROSTT), .smtx (DLMC), .npy (NumPy array), .npz (SciPy), the texts also with .gz
    "#]],
    );
    folder.fails(
        "run p.stur -p N=3 --output y=p.stur",
        2,
        &expect![[r#"
        error: writing `p.stur` would overwrite the program
    "#]],
    );
    folder.fails(
        "run p.stur -p N=3 --input B=b.npy",
        1,
        &expect![[r#"
        error: cannot read `b.npy`: no such file or directory
    "#]],
    );
    folder.fails(
        "run p.stur -p N=3 --input B=p.stur",
        1,
        &expect![[r#"
        error: cannot read `p.stur`: the name does not say what kind of file it is
        help: known are .mtx (MatrixMarket), .tns (FROSTT), .smtx (DLMC), .npy (NumPy array), .npz (SciPy), the texts also with .gz
    "#]],
    );
    folder.write_array("b.npy", &[3, 2], &[0.0; 6]);
    folder.fails(
        "run p.stur -p N=3 --input B=b.npy",
        1,
        &expect![[r#"
        error: `B` must have the shape [3, 3] for these sizes, but the array's is [3, 2]
    "#]],
    );
    folder.write_array("b.npy", &[1], &[0.0]);
    folder.fails(
        "run p.stur -p N=3 --input a=b.npy",
        1,
        &expect![[r#"
            error: `a` is a scalar, but the array in `b.npy` has 1 dimension
            help: a scalar is a 0-d array, in Python `numpy.array(1.5)`
        "#]],
    );
    let good = npy(&[3, 3], &[0.0; 9]);
    let changed = |from: &[u8], to: &[u8]| {
        let mut bytes = good.clone();
        let at = bytes.windows(from.len()).position(|window| window == from).unwrap();
        bytes[at..at + to.len()].copy_from_slice(to);
        fs::write(folder.path("b.npy"), bytes).unwrap();
    };
    changed(b"<f8", b"<M8");
    folder.fails(
        "run p.stur -p N=3 --input B=b.npy",
        1,
        &expect![[r#"
            error: `b.npy` holds elements of type '<M8', not floats ('<f8', '<f4', '<f2', '|V2' for bf16), complex numbers ('<c16', '<c8'), integers of 8 to 64 bits or truth values ('|b1')
            help: convert it in Python with `array.astype(numpy.float64)`
        "#]],
    );
    fs::write(folder.path("b.npy"), &good[..good.len() - 20]).unwrap();
    for bad in
        [&b""[..], &good[..9], b"\x93NUMPY\x01\x00\xff\xff((((((((", b"\x93NUMPY\x01\x00\x02\x00{}"]
    {
        fs::write(folder.path("c.npy"), bad).unwrap();
        let output = folder.dastac("run p.stur -p N=3 --input B=c.npy");
        assert!(output.stderr.starts_with(b"error: `c.npy` is not a .npy file\n"), "{bad:?}");
    }
    folder.fails(
        "run p.stur -p N=3 --input B=b.npy",
        1,
        &expect![[r#"
        error: cannot read `b.npy`: it ends after 6 of 9 elements
    "#]],
    );
}

#[test]
fn too_large_for_dense_arrays() {
    let folder = Folder::new(&example("spmv_ut.stur"));
    let line = "run p.stur -p M=2100 -p N=2000 --threads 1 --verify";
    let text = folder.works(line);
    assert!(text.contains("agrees with the reference evaluator"), "{text}");
    let (_, how) = text.rsplit_once("  `").unwrap();
    expect!["A`: all elements, by a walk of up to 4200000 products\n"].assert_eq(how);
    let report = folder.json(&format!("{line} --json"));
    assert_eq!(report["checks"][0]["method"], "walk");
}

#[test]
fn sizes_at_which_expressions_have_no_value() {
    let folder = Folder::new(
        "symbols: N, M\ny(i) := x(i) * (j / M = i) * (0 <= j < N)\nz(i) := x(i) * (i * i * i < M)\n\
        x:D(i) := (0 <= i < N)\n",
    );
    folder.works("run p.stur -p N=7 -p M=3 --verify");
    folder.fails(
        "run p.stur -p N=7 -p M=0",
        1,
        &expect![[r#"
        error: at these sizes, `M`, which is divided by, is 0; divisors are positive
    "#]],
    );
    folder.fails(
        "run p.stur -p N=3000000 -p M=3",
        1,
        &expect![[r#"
        error[E0310]: `i * i * i` may overflow at these sizes
         --> p.stur:3:17
          |
        3 | z(i) := x(i) * (i * i * i < M)
          |                 ^^^^^^^^^ values beyond 64 bits
          |
          = help: choose smaller sizes

    "#]],
    );
}

/// Arrays whose sides are not symbols alone say what the symbols are, as do compiled programs.
#[test]
fn sides_tell_symbols() {
    let folder = Folder::new(
        "symbols: N, M\ny(i) := x(2 * i) + x(2 * i + 1) + z(j) * (i < 0)\nx:D(i) := (0 <= i < 2 * N)\n\
         z:D(j) := (0 <= j < M - 1)\ny:D(i) := (0 <= i < N)\n",
    );
    folder.write_array("x.npy", &[6], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    folder.write_array("z.npy", &[4], &[0.0; 4]);
    folder.works("build p.stur -o p.dastac");
    for program in ["p.stur", "p.dastac"] {
        let report = folder.json(&format!(
            "run {program} --input x=x.npy --input z=z.npy --output y=y.npy --verify --json"
        ));
        assert_eq!((&report["symbols"]["N"], &report["symbols"]["M"]), (&3.into(), &5.into()));
        assert_eq!(folder.read_array("y.npy").1, [3.0, 7.0, 11.0]);
    }
    folder.write_array("x.npy", &[7], &[1.0; 7]);
    folder.fails(
        "run p.stur --input x=x.npy --input z=z.npy",
        1,
        &expect![[r#"
        error: `x` must have the shape [6] for these sizes, but the array's is [7]
    "#]],
    );
}

/// Elements that values choose: rows of a table, and none where there is no such row.
#[test]
fn values_choose_elements() {
    let folder = Folder::new(
        "symbols: N, V\ny(i, j) := W(c(i), j)\nW:D(v, j) := (0 <= v < V) * (0 <= j < 2)\n\
         c:D(i) := (0 <= i < N)\n",
    );
    folder.write_array("W.npy", &[3, 2], &[1.0, f64::INFINITY, 3.0, 4.0, 5.0, 6.0]);
    fs::write(folder.path("c.npy"), npy(&[5], &[2i64, 1, 7, -1, 2])).unwrap();
    folder.works("run p.stur --input W=W.npy --input c=c.npy --output y=y.npy");
    let expected = [5.0, 6.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0, 5.0, 6.0];
    assert_eq!(folder.read_array("y.npy"), (vec![5, 2], expected.to_vec()));
}

#[test]
fn arrays_of_another_element_type() {
    let folder = Folder::new("symbols: N\ntypes: x = f32\ny(i) := x(i)\nx:D(i) := (0 <= i < N)\n");
    folder.write_array("x.npy", &[2], &[0.5, 1.5]);
    folder.fails(
        "run p.stur -p N=2 --input x=x.npy",
        1,
        &expect![[r#"
        error: `x` has elements of type f32, but the array's are of type f64
        help: round it in Python with `array.astype(numpy.float32)`
    "#]],
    );
    // Wide integers go wherever they fit, as those that NumPy makes unasked.
    fs::write(folder.path("long.npy"), npy(&[3], &[7i64, -1, 1 << 24])).unwrap();
    folder.works("run p.stur --input x=long.npy");
    fs::write(folder.path("large.npy"), npy(&[2], &[7i64, (1 << 24) + 1])).unwrap();
    folder.fails(
        "run p.stur --input x=large.npy",
        1,
        &expect![[r#"
            error: `large.npy`: the element (1), counting from 0: 16777217 is no value of type f32
            help: `types: x = i64` in the program declares elements of that type
        "#]],
    );
    let text = "symbols: N\ntypes: x = i16, y = i16\ny(i) := x(i)\nx:D(i) := (0 <= i < N)\n";
    fs::write(folder.path("short.stur"), text).unwrap();
    fs::write(folder.path("long.npy"), npy(&[2], &[7i64, -30000])).unwrap();
    folder.works("run short.stur --input x=long.npy");
    folder.fails(
        "run short.stur --input x=large.npy",
        1,
        &expect![[r#"
            error: `large.npy`: the element (1), counting from 0: 16777217 is no value of type i16
            help: `types: x = i64` in the program declares elements of that type
        "#]],
    );
    // What is not 0 is true, whatever it is written as.
    let text = "symbols: N\ntypes: m = bool, y = bool\ny(i) := not(m(i))\nm:D(i) := (0 <= i < N)\n";
    fs::write(folder.path("mask.stur"), text).unwrap();
    let written = |file: Vec<u8>| {
        fs::write(folder.path("m.npy"), file).unwrap();
        let output = folder.dastac("run mask.stur --input m=m.npy --output y=- --verify");
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(written(npy(&[3], &[1i64, 0, 7])), "0\n1\n0\n");
    assert_eq!(written(npy(&[2], &[0.5f64, 0.0])), "0\n1\n");
}

/// Results that are known, since the reference evaluator reads rules with the same eyes.
#[test]
fn comparisons_say_which_elements_take_part() {
    let inputs = [
        ("A", vec![3, 3], vec![-1.0, -2.0, -3.0, -4.0, -5.0, -6.0, -7.0, -8.0, -9.0]),
        ("B", vec![2, 3], vec![1.0, f64::NAN, 3.0, 2.0, -1.0, f64::INFINITY]),
        ("x", vec![3], vec![1.0, 2.0, 3.0]),
        ("a", vec![3], vec![49.0, 98.0, 103.0]),
    ];
    for (rule, expected) in [
        ("max(j) A(i, j) * x(j) * (j <= i)", &[-1.0, -4.0, -7.0][..]),
        ("max(j) -A(i, j) * (j <= i)", &[1.0, 5.0, 9.0]),
        ("max(j) (2 * (j <= i)) * A(i, j)", &[-2.0, -8.0, -14.0]),
        ("1 - max(j) A(i, j) * x(j) * (j <= i)", &[2.0, 5.0, 8.0]),
        ("prod(j) 2 * x(j) * (j <= i)", &[2.0, 8.0, 48.0]),
        ("floor(a(i) / where(a(i) > 49, a(i), 7))", &[7.0, 1.0, 1.0]),
        ("argmax(j) exp(x(j) / 9) * (j <= i)", &[0.0, 1.0, 2.0]),
        ("mean(j) x(j) * (j <= i)", &[1.0, 1.5, 2.0]),
        ("x(i) - prod(j) x(j) * (j != i)", &[-5.0, -1.0, 1.0]),
        ("floor(a(i) / a(i))", &[1.0, 1.0, 1.0]),
        ("floor(a(i) / 49)", &[1.0, 2.0, 2.0]),
        ("(a(i) / a(i) = 1)", &[1.0, 1.0, 1.0]),
        ("a(i) // 49 + a(i) % 49", &[1.0, 2.0, 7.0]),
        ("mean(j) B(i, j) * (B(i, j) < 9)", &[2.0, 0.5, 0.0]),
        ("var(j) B(i, j) * (B(i, j) < 9)", &[1.0, 2.25, 0.0]),
        ("x(i) * count(j) x(j) > 1 and x(j) < 3", &[1.0, 2.0, 3.0]),
        ("x(i) * count(j) x(j) < 2 or x(j) > 2", &[2.0, 4.0, 6.0]),
        ("x(i) * count(j) not x(j) > 2", &[2.0, 4.0, 6.0]),
        ("x(i) * mean(j) x(j) * (x(j) > 1 and x(j) < 4)", &[2.5, 5.0, 7.5]),
        ("x(i) + prod(j) x(j) * (j < 1 or j > 1)", &[4.0, 5.0, 6.0]),
        ("x(i) + min(j) x(j) * (x(j) > 1 and x(j) < 9)", &[3.0, 4.0, 5.0]),
        ("x(i) * argmin(j) x(j) * (j > 0 and j < 9)", &[1.0, 2.0, 3.0]),
        ("all(j) x(j) * (x(j) > i)", &[1.0, 1.0, 1.0]),
        ("any(j) x(j) - x(i)", &[1.0, 1.0, 1.0]),
        ("any(j) (x(j) - x(i)) * (j <= i)", &[0.0, 1.0, 1.0]),
        ("mean(j) (x(j) > 1) * (x(j) - 1 = i)", &[0.0, 1.0, 1.0]),
        ("max(x(i), 2, i)", &[2.0, 2.0, 3.0]),
        ("x(i) * (max(i, 1) - 1)", &[0.0, 0.0, 3.0]),
        ("2 * (prod(j) x(j) * A(i, j) * (i < 2))", &[-72.0, -1440.0, 2.0]),
        ("x(i) - a(i % 2)", &[-48.0, -96.0, -46.0]),
        ("x(i) + a(max(i - 1, 0)) + a(min(i + 1, 2))", &[148.0, 154.0, 204.0]),
        ("round(100 * (gelu(x(i)) + silu(x(i)) + softplus(x(i) - 9)))", &[157.0, 372.0, 586.0]),
    ] {
        let mut text = format!("y(i) := {rule}\ny:D(i) := (0 <= i < 3)\n");
        let has = |name: &str| rule.split(|c: char| !c.is_alphanumeric()).any(|word| word == name);
        let used = inputs.iter().filter(|(name, ..)| has(name));
        for (name, shape, _) in used.clone() {
            text += &match shape[..] {
                [rows, columns] => {
                    format!("{name}:D(i, j) := (0 <= i < {rows}) * (0 <= j < {columns})\n")
                }
                _ => format!("{name}:D(j) := (0 <= j < 3)\n"),
            };
        }
        let folder = Folder::new(&text);
        let mut line = "run p.stur --output y=y.npy".to_string();
        for (name, shape, numbers) in used {
            folder.write_array(&format!("{name}.npy"), shape, numbers);
            line += &format!(" --input {name}={name}.npy");
        }
        folder.works(&line);
        let (_, found) = folder.read_array("y.npy");
        assert_eq!(found[..2], expected[..2], "{rule}");
        assert!(rule.contains("B(") || found == expected, "{rule}: {found:?}");
    }
}

/// Expressions in heads say where values go: results as NumPy has them.
#[test]
fn heads_with_expressions_say_where_values_go() {
    let file = |rule: &str, head: &str| {
        Folder::new(&format!(
            "y({rule}\n{head}x:D(i) := (0 <= i < 3)\nA:D(i, j) := (0 <= i < 3) * (0 <= j < 3)\n"
        ))
    };
    let of_three = "y:D(k) := (0 <= k < 3)\n";
    for (rule, head, expected) in [
        ("i + 1) := x(i) * A(0, 0)", "", &[0.0, 1.0, 2.0, 3.0][..]),
        ("i, i) := x(i) + A(i, i)", "", &[2.0, 0.0, 0.0, 0.0, 7.0, 0.0, 0.0, 0.0, 12.0]),
        ("2 - i) := sum(j) A(i, j) * x(j)", of_three, &[50.0, 32.0, 14.0]),
        ("i + 1) := sum(j) x(j) * (j <= i) * A(0, 0)", of_three, &[0.0, 1.0, 3.0]),
        ("i + 1) := max(j) -x(j) * A(0, 0) * (j <= i)", of_three, &[0.0, -1.0, -1.0]),
        ("i + 1) := 2 * x(i) * A(0, 0) + prod(j) x(j) * (j <= i)", of_three, &[0.0, 3.0, 6.0]),
        ("i + j) := A(i, j) - x(i)", "", &[0.0, 3.0, 9.0, 9.0, 6.0]),
        (
            "3 * i + j) := A(i, j) + x(0)",
            "y:D(k) := (0 <= k < 9)\n",
            &[2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0],
        ),
        ("2, 0) := x(1) * A(0, 1)", "", &[0.0, 0.0, 4.0]),
    ] {
        let folder = file(rule, head);
        folder.write_array("x.npy", &[3], &[1.0, 2.0, 3.0]);
        folder.write_array("A.npy", &[3, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
        folder.works("run p.stur --output y=y.npy --input x=x.npy --input A=A.npy");
        let (_, found) = folder.read_array("y.npy");
        assert_eq!(found, expected, "{rule}");
    }
}

/// Subscripts that are computed of integers, and what they choose or add to: known results.
#[test]
fn subscripts_are_computed_of_integers() {
    let zeros = "y:D(k) := (0 <= k < 5)\n";
    for (rule, head, expected) in [
        ("y(e) := Z(min(p(e), 2))", "", &[1.0, 3.0, 3.0, 0.0][..]),
        ("y(e) := Z(p(e) % 5)", "", &[1.0, 4.0, 3.0, 5.0]),
        ("y(e) := Z(p(e) / 2)", "", &[1.0, 0.0, 2.0, 0.0]),
        ("y(e) := Z(floor(p(e) / 2))", "", &[1.0, 2.0, 2.0, 0.0]),
        ("y(e) := Z(abs(p(e)) + e)", "", &[1.0, 5.0, 5.0, 5.0]),
        ("y(e) := Z(4 - p(e))", "", &[5.0, 2.0, 3.0, 0.0]),
        ("y(e) := Z(2 * p(e) - q(e))", "", &[0.0, 4.0, 4.0, 0.0]),
        ("y(e) := Z(p(e) * q(e) - e)", "", &[1.0, 0.0, 1.0, 0.0]),
        ("y(p(e) % 5) := w(e)", zeros, &[1.0, 0.0, 4.0, 2.0, 8.0]),
        ("y(p(e) / 2) := w(e)", zeros, &[1.0, 4.0, 0.0, 0.0, 0.0]),
        ("y(4 - p(e)) := w(e)", zeros, &[0.0, 2.0, 4.0, 0.0, 1.0]),
        ("y(max(p(e), 1)) := w(e)", zeros, &[0.0, 9.0, 4.0, 2.0, 0.0]),
        ("y(p(e) * p(e) - 5) := w(e)", zeros, &[0.0, 0.0, 0.0, 0.0, 2.0]),
        // What is sent nowhere is not divided by 0 everywhere.
        ("y(p(e)) := w(e) / Z(p(e))", zeros, &[1.0, 0.0, 4.0 / 3.0, 0.5, 0.0]),
        (
            "y(p(e)) := log(Z(p(e))) * w(e)",
            zeros,
            &[0.0, 0.0, 4.0 * 3.0_f64.ln(), 2.0 * 4.0_f64.ln(), 0.0],
        ),
        ("y(p(e)) := w(e) - Z(p(e))", zeros, &[0.0, 0.0, 1.0, -2.0, 0.0]),
    ] {
        let inputs: Vec<(&str, &str)> = [("Z", "i"), ("w", "e"), ("p", "e"), ("q", "e")]
            .into_iter()
            .filter(|(name, _)| rule.contains(&format!("{name}(")))
            .collect();
        let types = if rule.contains("q(") { "types: p = i64, q = i32" } else { "types: p = i64" };
        let mut text = format!("{types}\n{rule}\n{head}");
        for (name, iterator) in &inputs {
            let size = if *name == "Z" { 5 } else { 4 };
            text += &format!("{name}:D({iterator}) := (0 <= {iterator} < {size})\n");
        }
        let folder = Folder::new(&text);
        folder.write_array("Z.npy", &[5], &[1.0, 2.0, 3.0, 4.0, 5.0]);
        folder.write_array("w.npy", &[4], &[1.0, 2.0, 4.0, 8.0]);
        fs::write(folder.path("p.npy"), npy(&[4], &[0i64, 3, 2, -1])).unwrap();
        fs::write(folder.path("q.npy"), npy(&[4], &[1i32, 3, 1, 9])).unwrap();
        let given: String =
            inputs.iter().map(|(name, _)| format!(" --input {name}={name}.npy")).collect();
        folder.works(&format!("run p.stur --output y=y.npy --verify{given}"));
        let (_, found) = folder.read_array("y.npy");
        let near = |(one, other): (&f64, &f64)| (one - other).abs() < 1e-14;
        assert!(
            found.len() == expected.len() && found.iter().zip(expected).all(near),
            "{rule}: {found:?}"
        );
    }
}

/// Quotients of integers that functions round are quotients of integers.
#[test]
fn functions_round_integers() {
    let layout = |condition: &str| {
        let folder = Folder::new(&format!(
            "symbols: N\ny(i) := A(i, j) * x(j)\nA:U(i, j) := {condition}\n\
             A:D(i, j) := (0 <= i < N) * (0 <= j < N)\nx:D(j) := (0 <= j < N)\n"
        ));
        folder.works("run p.stur -p N=13 --verify");
        folder.works("layout p.stur")
    };
    for (functions, operators) in [
        ("(floor(i / 4) = floor(j / 4))", "(i / 4 = j / 4)"),
        ("(floor_divide(j, 3) <= floor(i / 3) + 1)", "(j / 3 <= i / 3 + 1)"),
        ("(mod(i + j, 3) = 0) * (j <= i)", "((i + j) % 3 = 0) * (j <= i)"),
        ("(mod(floor(i / 2) + j // 2, 2) = 0)", "((i / 2 + j / 2) % 2 = 0)"),
    ] {
        assert_eq!(layout(functions), layout(operators), "{functions}");
    }
    // Quotients that are not rounded are no integers.
    let folder = Folder::new("y(i) := x(i) * (floor((i / 2) * 2) = i)\nx:D(i) := (0 <= i < 4)\n");
    folder.write_array("x.npy", &[4], &[1.0, 2.0, 3.0, 4.0]);
    folder.works("run p.stur --input x=x.npy --output y=y.npy");
    assert_eq!(folder.read_array("y.npy").1, [1.0, 2.0, 3.0, 4.0]);
}

/// Quotients of iterators are rounded down, also within and around functions of them.
#[test]
fn quotients_within_functions_are_rounded() {
    const X: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
    let (yes, no) = (1.0, 0.0);
    for (body, expected) in [
        ("x(max((i - 1) / 2, 0))", [1.0, 1.0, 1.0, 2.0, 2.0, 4.0]),
        ("x(abs(i / 2 - 1))", [2.0, 2.0, 1.0, 1.0, 2.0, 2.0]),
        ("x(min(i, 5 - i) / 2)", [1.0, 1.0, 2.0, 2.0, 1.0, 1.0]),
        ("x(where(i / 2 = 1, 3, i / 2))", [1.0, 1.0, 8.0, 8.0, 4.0, 4.0]),
        ("x(max(i / M, 1))", [2.0, 2.0, 2.0, 2.0, 2.0, 2.0]),
        ("x(2 * max(i, 1) / 4 * 2)", [1.0, 1.0, 4.0, 4.0, 0.0, 0.0]),
        ("1 * (max(i / 2, 1) = 1)", [yes, yes, yes, yes, no, no]),
        ("1 * (abs(i / 2 - 1) < 1)", [no, no, yes, yes, no, no]),
        ("1 * (abs(i - 3) / 2 = 1)", [yes, yes, no, no, no, yes]),
        ("1 * (1 <= min(i / 2, i))", [no, no, yes, yes, yes, yes]),
        ("sum(j) x(j) * (abs(j - i / 2) <= 1)", [3.0, 3.0, 7.0, 7.0, 14.0, 14.0]),
        ("sum(j) A(j, i)", [3.0, 3.0, 7.0, 7.0, 14.0, 14.0]),
        // Within what rounds in another way, or is no integer, they are exact.
        ("x(ceil(i / 2))", [1.0, 2.0, 2.0, 4.0, 4.0, 8.0]),
        ("1 * (abs(i / 2 - 0.5) < 0.5)", [no, yes, no, no, no, no]),
        ("max(i / 2, 1)", [1.0, 1.0, 1.0, 1.5, 2.0, 2.5]),
    ] {
        let mut text = format!("symbols: M\ny(i) := {body}\ny:D(i) := (0 <= i < 2 * M)\n");
        for (name, rest) in [
            ("x", "D(j) := (0 <= j < 4)"),
            ("A", "U(j, i) := (abs(i / 2 - j) <= 1)"),
            ("A", "D(j, i) := (0 <= j < 4) * (0 <= i < 6)"),
        ] {
            if body.split(|c: char| !c.is_alphanumeric()).any(|word| word == name) {
                text += &format!("{name}:{rest}\n");
            }
        }
        let folder = Folder::new(&text);
        folder.write_array("x.npy", &[4], &X);
        let band = |at: usize| match (at % 6 / 2).abs_diff(at / 6) <= 1 {
            true => X[at / 6],
            false => 0.0,
        };
        folder.write_array("A.npy", &[4, 6], &(0..24).map(band).collect::<Vec<f64>>());
        let given: Vec<&str> = ["x", "A"]
            .into_iter()
            .filter(|name| text.contains(&format!("\n{name}:")))
            .map(|name| if name == "x" { " --input x=x.npy" } else { " --input A=A.npy" })
            .collect();
        let given = given.join("");
        folder.works(&format!("run p.stur -p M=3 --output y=y.npy --verify{given}"));
        assert_eq!(folder.read_array("y.npy").1, expected, "{body}");
    }
}

/// Remainders are printed with their number on the right side alone.
#[test]
fn numbers_beside_remainders() {
    for (written, printed) in [
        ("((i + 1) % 3 = 0)", "(i % 3 = 2)"),
        ("((i - 5) % 3 = 2)", "(i % 3 = 1)"),
        ("((3 - i) % 4 = 1)", "(i % 4 = 2)"),
        ("((i + j + 1) % 2 = 0)", "((i + j) % 2 = 1)"),
        ("((j - i + 7) % 4 = 1)", "((i - j) % 4 = 2)"),
        ("((N + 1) % 2 = 0)", "(N % 2 = 1)"),
    ] {
        let program = format!(
            "symbols: N\ny(i) := A(i, j)\nA:U(i, j) := {written}\nA:D(i, j) := (0 <= i < N) * (0 <= j < N)\n"
        );
        let text = super::piped("infer -", &program);
        let line = text.lines().find(|line| line.starts_with("A:U")).unwrap();
        assert!(line.contains(printed), "{written}: {line}");
    }
}

/// Sums of elements that sizes leave none of touch nothing: their result may have no element.
#[test]
fn sums_of_nothing_touch_nothing() {
    for (rule, structure) in [
        ("s := A(i, j)", "A:U(i, j) := (j < M - 1) + (i < N - 2)"),
        (
            "s := A(i, j) * z(i)",
            "A:U(i, j) := (j < M - 1)\n\
             A:R(i, j, k, l) := 3 * (j = M - 1) * (M >= 2) * (k = i) * (l = 0)",
        ),
        (
            "s := A(i, j)",
            "A:U(i, j) := (i >= 1)\nA:R(i, j, k, l) := (i = 0) * (N >= 2) * (k = 1) * (l = j)",
        ),
    ] {
        let z = if rule.contains('z') { "z:D(i) := (0 <= i < N)\n" } else { "" };
        let folder = Folder::new(&format!(
            "symbols: N, M\n{rule}\nA:D(i, j) := (0 <= i < N) * (0 <= j < M)\n{structure}\n{z}"
        ));
        for (n, m) in [(2, 1), (3, 0), (3, 1), (0, 3), (700, 1), (5, 4)] {
            folder.works(&format!("run p.stur -p N={n} -p M={m} --checked --verify"));
        }
    }
}

/// Where some inputs are given, others may have been forgotten.
#[test]
fn inputs_that_are_random_are_named() {
    let folder = Folder::new(
        "symbols: N\ny(i) := a * x(i) + z(i)\nx:D(i) := (0 <= i < N)\nz:D(i) := (0 <= i < N)\n",
    );
    folder.write_array("x.npy", &[2], &[0.5, 1.5]);
    let said = |line: &str| String::from_utf8(folder.dastac(line).stderr).unwrap();
    expect![[r#"
        note: `a`, `z` are not given by `--input`: their elements are random numbers
    "#]]
    .assert_eq(&said("run p.stur --input x=x.npy"));
    assert_eq!(said("run p.stur -p N=2"), "");
}
