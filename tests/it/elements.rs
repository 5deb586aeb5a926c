//! Every element type through the whole of the compiler: dense, structured and sparse operands, results in formats.

use std::collections::BTreeMap;

use dastac::build::BuildOptions;
use dastac::driver::compile;
use dastac::elements::{Element, Kind, Native, Storage, with_type};
use dastac::run::Runner;
use dastac::stur::reference::Array;
use dastac::verify::{Reference, Verification};

/// Rules over operands and heads of one type: rows and columns of a matrix, a triangle, a matrix in rows, and a result
/// in rows.
const RULES: [(&str, &str, &str); 5] = [
    ("y(i)", "j", "A(i, j) * x(j)"),
    ("u(j)", "i", "A(i, j) * x(i)"),
    ("z(i)", "j", "L(i, j) * x(j)"),
    ("w(i)", "j", "S(i, j) * x(j)"),
    ("O(i, j)", "", "S(i, j) * x(j)"),
];

/// The same rules into floats, or complex numbers, of 64 bits.
const WIDE: [(&str, &str, &str); 2] =
    [("v(i)", "j", "A(i, j) * x(j)"), ("t(j)", "i", "S(i, j) * x(i)")];

fn program(element: Element) -> String {
    let mut text = String::from("symbols: N\n");
    let all = ["A", "L", "S", "x", "y", "u", "z", "w", "O"];
    let mut types: Vec<String> = all.iter().map(|name| format!("{name} = {element}")).collect();
    if element.is_complex() {
        types.extend(["v", "t"].map(|name| format!("{name} = {}", Element::C128)));
    }
    text += &format!("types: {}\n", types.join(", "));
    for (head, reduced, body) in RULES {
        let body = match element.kind() {
            Kind::Truth => format!("or({reduced}) {body}"),
            _ => body.to_owned(),
        };
        text += &format!("{head} := {body}\n");
    }
    for (head, _, body) in WIDE {
        text += &format!("{head} := {body}\n");
    }
    for matrix in ["A", "L", "S", "O"] {
        text += &format!("{matrix}:D(i, j) := (0 <= i < N) * (0 <= j < N)\n");
    }
    for vector in ["x", "y", "u", "z", "w", "v", "t"] {
        text += &format!("{vector}:D(i) := (0 <= i < N)\n");
    }
    text + "L:U(i, j) := (j <= i)\nS:F := csr\nO:F := csr\n"
}

#[test]
fn all_types_agree_with_the_reference() {
    for (at, element) in Element::OF_TENSORS.iter().enumerate() {
        let source = program(*element);
        let parallel = at % 2 == 0;
        let options = BuildOptions { parallel, ..BuildOptions::default() };
        let built = compile(&source, options).unwrap_or_else(|error| panic!("{error:?}\n{source}"));
        let sizes = |n| BTreeMap::from([("N".to_string(), n)]);
        let threads = if parallel { 2 } else { 1 };
        let mut runner = Runner::new(built, &sizes(0), threads).unwrap();
        for n in [0, 1, 7, 40] {
            runner.resize(&sizes(n)).unwrap();
            runner.set_density(0.4);
            let inputs = runner.random_inputs(5, &BTreeMap::new()).unwrap();
            runner.execute().unwrap();
            let outcome = runner.verify(&inputs).unwrap();
            assert!(outcome.agrees(), "{element}, N = {n}: {outcome:?}");
        }
    }
}

/// Numbers between two short floats go to the nearest, and half-way to the even one; those beyond become infinite.
#[test]
fn short_floats_are_rounded_as_they_are_stored() {
    let numbers: Vec<f64> = [1.0, 1.002, 1.0039, 1.005859375, 1.01171875, 65504.0, 65520.0]
        .into_iter()
        .chain([3.5e38, 1e-8, 6e-8, -0.0, f64::INFINITY, f64::NAN])
        .collect();
    let count = numbers.len();
    for element in [Element::F16, Element::Bf16] {
        for wide in ["f32", "f64"] {
            let source = format!(
                "symbols: N\ntypes: y = {element}, x = {wide}\ny(i) := x(i)\nx:D(i) := (0 <= i < N)"
            );
            let built = compile(&source, BuildOptions::default()).unwrap();
            let sizes = BTreeMap::from([("N".to_string(), count as i64)]);
            let mut runner = Runner::new(built, &sizes, 1).unwrap();
            let program = runner.built().lowered.laid.analysis.inferred.program.clone();
            let [x, y] = ["x", "y"].map(|name| program.find(name).unwrap());
            runner.set_input(x, &numbers, &[count]).unwrap();
            runner.execute().unwrap();
            let found = runner.dense(y).unwrap();
            let wanted: Vec<f64> = numbers.iter().map(|number| element.round(*number)).collect();
            let bits = |all: &[f64]| all.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
            let same = found.iter().zip(&wanted).all(|(found, wanted)| {
                found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan()
            });
            assert!(same, "{element} of {wide}: {:x?}\n{:x?}", bits(&found), bits(&wanted));
        }
    }
}

/// A product of matrices of integers that wrap around, beside the reference: right results agree, and one that is off
/// by one does not, however large it is.
#[test]
fn integers_are_verified_exactly() {
    for (element, size) in [("i64", 62), ("i32", 31), ("i16", 15), ("i8", 7), ("u8", 8)] {
        let source = format!(
            "symbols: N\ntypes: A = {element}, B = {element}, C = {element}\nC(i, j) := A(i, k) * B(k, j)\n\
            A:D(i, k) := (0 <= i < N) * (0 <= k < N)\nB:D(k, j) := (0 <= k < N) * (0 <= j < N)"
        );
        let n = 9usize;
        let built = compile(&source, BuildOptions::default()).unwrap();
        let sizes = BTreeMap::from([("N".to_string(), n as i64)]);
        let mut runner = Runner::new(built, &sizes, 1).unwrap();
        let program = runner.built().program().clone();
        let element = Element::named(element).unwrap();
        let mut inputs = BTreeMap::new();
        runner.make_movement().unwrap();
        for (name, factor) in [("A", 0x2545_f491_4f6c_dd1di64), ("B", 0x9e3_779b_97f4_a7c1)] {
            let all = (1..).map(|at: i64| element.wrapped(factor.wrapping_mul(at) >> (63 - size)));
            let all: Vec<i64> = all.take(n * n).collect();
            let data = Storage::from(all).cast(element).unwrap();
            let id = program.find(name).unwrap();
            let own = dastac::runtime::TensorId(id.0);
            runner.instance_mut().set_elements(own, data.view(), &[n, n], None).unwrap();
            inputs.insert(id, Array { shape: vec![n, n], data });
        }
        runner.execute().unwrap();
        let outcome = runner.verify(&inputs).unwrap();
        assert!(outcome.agrees() && outcome.max_error == 0.0, "{element}: {outcome:?}");
        let own = dastac::runtime::TensorId(program.find("C").unwrap().0);
        let mut packed = runner.instance_mut().packed_mut(own).unwrap();
        with_type!(element, T => {
            let all = packed.as_mut_slice::<T>().unwrap();
            all[40] = T::from_word(all[40].to_word() ^ 1);
        });
        let outcome: Verification =
            Reference::of(&program).compare(runner.instance(), &inputs).unwrap();
        assert!(!outcome.agrees(), "{element}: {outcome:?}");
    }
}

/// What is compared, cast or computed with before it is stored does not wrap around or get rounded on the way.
#[test]
fn parts_of_rules_hold_their_values() {
    let bytes = "types: k = u8, A = u8, y = T\n";
    let cases: &[(&str, &str, &str, &[f64])] = &[
        (bytes, "f64", "y := ((sum(i) k(i)) > 300)", &[1.0]),
        (bytes, "f64", "y := ((mean(i) k(i)) > 150)", &[1.0]),
        (bytes, "i64", "y := i64(sum(i) k(i))", &[600.0]),
        (bytes, "u8", "y := min(sum(i) k(i), 255)", &[255.0]),
        (bytes, "u8", "y(i) := u8(mean(j) A(i, j))", &[116.0, 2.0, 255.0]),
        (bytes, "u8", "y(i) := (sum(j) A(i, j)) // N", &[116.0, 2.0, 255.0]),
        (bytes, "f64", "y(i) := ((std(j) A(i, j)) > 50)", &[1.0, 0.0, 0.0]),
        (bytes, "u8", "y(i) := where((sum(j) A(i, j)) > 300, A(i, 0), 0)", &[200.0, 0.0, 255.0]),
        (bytes, "f64", "y := argmax(i) sum(j) A(i, j)", &[2.0]),
        (bytes, "i64", "y := argmax(i) sum(j) A(i, j) / k(j)", &[2.0]),
        (bytes, "i64", "y(i) := A(i, 1)^2 - square(A(i, 0)) * 2", &[-70000.0, 2.0, -65025.0]),
        (bytes, "f64", "y := count(i) A(i, 0) / A(i, 2) > 1", &[1.0]),
        (bytes, "f64", "y := argmin(i) A(i, 0) * (A(i, 1) > 10)", &[0.0]),
        (bytes, "f64", "y := argmax(i) -A(i, 0) * (A(i, 0) > 255)", &[f64::INFINITY]),
        (
            "types: A = f32, k = f32, y = T\n",
            "f64",
            "y := argmax(i) (A(i, 0) * A(i, 1) / 3)",
            &[2.0],
        ),
        (
            "types: A = f16, k = f16, y = T\n",
            "f64",
            "y(i) := (300 * A(i, 1) > mean(j) 300 * A(i, j))",
            &[0.0; 3],
        ),
        ("types: y = T\n", "f64", "y := sum(i) -k(i)", &[-600.0]),
        ("types: y = T\n", "f64", "y := max(i) -A(i, 0) * 2", &[-2.0]),
    ];
    for (types, element, rule, expected) in cases {
        // Only what the rule reads may be said.
        let reads = |name: &str| rule.contains(&format!("{name}("));
        let said = types.trim_start_matches("types: ").trim_end().replace('T', element);
        let said: Vec<&str> =
            said.split(", ").filter(|one| one.starts_with('y') || reads(&one[..1])).collect();
        let mut source = format!("symbols: N\ntypes: {}\n{rule}\n", said.join(", "));
        for (name, rest) in
            [("A", "(i, j) := (0 <= i < N) * (0 <= j < N)"), ("k", "(i) := (0 <= i < N)")]
        {
            source += &if reads(name) { format!("{name}:D{rest}\n") } else { String::new() };
        }
        let sizes = BTreeMap::from([("N".to_string(), 3)]);
        let built = compile(&source, BuildOptions::default());
        let built = built.unwrap_or_else(|error| panic!("{error:?}\n{source}"));
        let mut runner = Runner::new(built, &sizes, 1).unwrap();
        let program = runner.built().program().clone();
        runner.make_movement().unwrap();
        let mut inputs = BTreeMap::new();
        let matrix = vec![200, 100, 50, 1, 2, 3, 255, 255, 255];
        for (name, shape, values) in [("A", vec![3, 3], matrix), ("k", vec![3], vec![200_i64; 3])] {
            let Some(id) = program.find(name) else { continue };
            let data = Storage::from(values).cast(program.tensor(id).element).unwrap();
            let own = dastac::runtime::TensorId(id.0);
            runner.instance_mut().set_elements(own, data.view(), &shape, None).unwrap();
            inputs.insert(id, Array { shape, data });
        }
        runner.execute().unwrap();
        let outcome = runner.verify(&inputs).unwrap();
        assert!(outcome.agrees(), "{rule}: {outcome:?}");
        let own = dastac::runtime::TensorId(program.find("y").unwrap().0);
        let found = runner.instance_mut().packed_mut(own).unwrap().view().to_f64();
        assert_eq!(found, *expected, "{rule}");
    }
}
