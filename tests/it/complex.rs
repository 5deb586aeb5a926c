//! Complex numbers through the whole of the compiler: kernels of all kinds agree with the reference evaluator.

use std::collections::BTreeMap;

use dastac::build::BuildOptions;
use dastac::driver::compile;
use dastac::elements::{Element, Scalar};
use dastac::run::Runner;
use dastac::stur::TensorId;

/// Programs of one symbol, and the tensors whose elements are complex; in each, `s` is real.
const PROGRAMS: [(&str, &str, &str); 10] = [
    (
        "dense, with numbers and real factors",
        "A B C x y z",
        "y(i) := A(i, j) * x(j) * s(j)
C(i, k) := A(i, j) * B(j, k) + (-0.5) * A(i, k) + 2 * s(i) * (i = k)
z() := x(i) * y(i)
A:D(i, j) := (0 <= i < N) * (0 <= j < N)
B:D(i, j) := (0 <= i < N) * (0 <= j < N)
C:D(i, k) := (0 <= i < N) * (0 <= k < N)",
    ),
    (
        "triangular and symmetric",
        "L S T x y z w",
        "y(i) := L(i, j) * x(j)
z(i) := S(i, j) * x(j)
w(i) := T(i, j) * y(j)
L:D(i, j) := (0 <= i < N) * (0 <= j < N)
L:U(i, j) := (j <= i)
S:D(i, j) := (0 <= i < N) * (0 <= j < N)
S:U(i, j) := (i <= j)
S:R(i, j, ip, jp) := (i > j) * (ip = j) * (jp = i)
T:D(i, j) := (0 <= i < N) * (0 <= j < N)
T:U(i, j) := (i < j)
T:R(i, j, ip, jp) := -1 * (0 <= j < i < N) * (ip = j) * (jp = i)",
    ),
    (
        "three factors, quotients and a rule over a rule",
        "A x y z",
        "y(i) := A(i, j) * A(j, i) * x(j)
z(i) := x^-1(i) * y(i) + s^-1(i) * x(i)
A:D(i, j) := (0 <= i < N) * (0 <= j < N)",
    ),
    (
        "stored elements, by rows and by columns",
        "A B x y z",
        "y(i) := A(i, j) * x(j)
z(i) := B(i, j) * x(j) * s(i)
A:D(i, j) := (0 <= i < N) * (0 <= j < N)
A:F := csr
B:D(i, j) := (0 <= i < N) * (0 <= j < N)
B:F := csc",
    ),
    (
        "stored elements of other levels",
        "A B C x y z w",
        "y(i) := A(i, j) * x(j)
z(i) := B(i, j) * x(j)
w(i) := C(i, j) * A(i, j) * x(j)
A:D(i, j) := (0 <= i < N) * (0 <= j < N)
A:F := coo
B:D(i, j) := (0 <= i < N) * (0 <= j < N)
B:F(i, j) := dense(i), bitmap(j)
C:D(i, j) := (0 <= i < N) * (0 <= j < N)
C:F := dcsr",
    ),
    (
        "results that are stored",
        "A B C D E",
        "C(i, j) := A(i, j) + B(i, j)
D(i, j) := A(i, j) * B(i, j)
E(i, j) := A(i, k) * B(k, j)
A:D(i, j) := (0 <= i < N) * (0 <= j < N)
A:F := csr
B:D(i, j) := (0 <= i < N) * (0 <= j < N)
B:F := csr
C:D(i, j) := (0 <= i < N) * (0 <= j < N)
C:F := csr
D:D(i, j) := (0 <= i < N) * (0 <= j < N)
D:F := dcsr
E:D(i, j) := (0 <= i < N) * (0 <= j < N)",
    ),
    (
        "a mask's pattern",
        "S A B Y r",
        "Y(i, j) := S(i, j) * A(i, k) * B(j, k)
r(i) := Y(i, j)
S:D(i, j) := (0 <= i < N) * (0 <= j < N)
S:F := csr
A:D(i, k) := (0 <= i < N) * (0 <= k < 5)
B:D(j, k) := (0 <= j < N) * (0 <= k < 5)
Y:D(i, j) := (0 <= i < N) * (0 <= j < N)
Y:F := csr",
    ),
    (
        "convolutions, dense and sparse",
        "I J F O P",
        "O(p) := I(p + r) * F(r)
P(p) := J(2 * p + r - 1) * F(r)
O:D(p) := (0 <= p < N)
P:D(p) := (0 <= p < N)
I:D(x) := (0 <= x < N + 2)
J:D(x) := (0 <= x < 2 * N)
J:F := csf
F:D(r) := (0 <= r < 3)",
    ),
    (
        "conjugates, parts and absolute values, dense and stored",
        "A B C E x y z",
        "y(i) := conj(A(i, j)) * x(j) - conj(s(i))
z(i) := B(i, j) * conj(x(j)) * abs(x(i)) + real(B(i, j)) * imag(x(j)) * x(j)
w(i) := max(j) abs(A(i, j)) * (imag(A(i, j)) > 0)
r(i) := sqrt(real(sum(j) B(i, j) * conj(B(i, j))))
C(j, k) := conj(A(i, j)) * B(i, k)
E(i, j) := conj(B(i, j)) * A(i, j)
A:D(i, j) := (0 <= i < N) * (0 <= j < N)
B:D(i, j) := (0 <= i < N) * (0 <= j < N)
B:F := csr
E:D(i, j) := (0 <= i < N) * (0 <= j < N)
E:F := csr",
    ),
    (
        "a preprocess block",
        "B B2 x y",
        "@preprocess_start
B2(t) := B(i, j) * (i <= j) * (t = (N * i + j) - (i * (i + 1) / 2))
B:D(i, j) := (0 <= i < N) * (0 <= j < N)
B:U(i, j) := (i <= j)
@preprocess_end
B2:D(t) := (0 <= t < N * (N + 1) / 2)
y(i) := B2(t) * x(j) * (i <= j) * (t = (N * i + j) - (i * (i + 1) / 2)) * (0 <= i < N)",
    ),
];

fn program(complex: &str, body: &str, element: Element) -> String {
    let names: Vec<&str> = complex.split(' ').collect();
    let types: Vec<String> = names.iter().map(|name| format!("{name} = {element}")).collect();
    let mut text = format!("symbols: N\ntypes: {}\n{body}\n", types.join(", "));
    for vector in ["x", "y", "w", "r", "s", "z"] {
        let declared = text.contains(&format!("{vector}:D"));
        let used = ["(", "^"].iter().any(|next| text.contains(&format!("{vector}{next}")));
        if used && !declared && !text.contains(&format!("{vector}()")) {
            text += &format!("{vector}:D(i) := (0 <= i < N)\n");
        }
    }
    text
}

#[test]
fn kernels_of_all_kinds_agree_with_the_reference() {
    for (at, (what, complex, body)) in PROGRAMS.iter().enumerate() {
        for (element, threads) in [(Element::C128, 1 + at % 2), (Element::C64, 2 - at % 2)] {
            let source = program(complex, body, element);
            let options = BuildOptions { parallel: threads > 1, ..BuildOptions::default() };
            let built =
                compile(&source, options).unwrap_or_else(|error| panic!("{error:?}\n{source}"));
            let sizes = |n| BTreeMap::from([("N".to_string(), n)]);
            let mut runner = Runner::new(built, &sizes(0), threads).unwrap();
            for n in [0, 1, 2, 7, 37] {
                runner.resize(&sizes(n)).unwrap();
                runner.set_density(0.4);
                let inputs = runner.random_inputs(5, &BTreeMap::new()).unwrap();
                runner.execute().unwrap();
                let outcome = runner.verify(&inputs).unwrap();
                assert!(outcome.agrees(), "{what}, {element}, N = {n}: {outcome:?}\n{source}");
            }
        }
    }
}

/// What is given and what comes back are real and imaginary parts, in this order; the numbers are known.
#[test]
fn parts_come_and_go_in_order() {
    let source = "symbols: N\ntypes: A = complex64, x = complex128, y = complex128\n\
        y(i) := A(i, j) * x^-1(j)\nA:D(i, j) := (0 <= i < N) * (0 <= j < N)\nx:D(i) := (0 <= i < N)";
    let built = compile(source, BuildOptions::default()).unwrap();
    let mut runner = Runner::new(built, &BTreeMap::from([("N".to_string(), 2)]), 1).unwrap();
    let [a, x, y]: [TensorId; 3] =
        ["A", "x", "y"].map(|name| runner.built().program().find(name).unwrap());
    // ((1 + 2i) / (3 - i) + 4i / 2, (-1) / (3 - i) + (2 - 2i) / 2)
    runner.set_input(a, &[1.0, 2.0, 0.0, 4.0, -1.0, 0.0, 2.0, -2.0], &[2, 2]).unwrap();
    runner.set_input(x, &[3.0, -1.0, 2.0, 0.0], &[2]).unwrap();
    runner.execute().unwrap();
    let found = runner.dense(y).unwrap();
    let wanted = [0.1, 2.7, 0.7, -1.1];
    let close = found.iter().zip(wanted).all(|(found, wanted)| (found - wanted).abs() < 1e-12);
    assert!(close && found.len() == 4, "{found:?}");
    let unpacked = runner.unpacked(y).unwrap();
    assert!(matches!(unpacked.get(1), Some(Scalar::C128(number)) if number.im == found[3]));
    let wrong = runner.set_input(x, &[1.0, 2.0], &[2]).unwrap_err().to_string();
    assert!(wrong.contains("`x`"), "{wrong}");
}

/// The parts, the absolute values and the conjugates of 3 + 4i and -2i, by themselves and in products.
#[test]
fn parts_of_numbers() {
    let source = "symbols: N\ntypes: z = complex128, c = complex128, p = complex128\na(i) := abs(z(i))\n\
        r(i) := real(z(i)) - imag(z(i))\nc(i) := conj(z(i)) * 2\np() := conj(z(i)) * z(i)\nz:D(i) := (0 <= i < N)";
    let built = compile(source, BuildOptions::default()).unwrap();
    let mut runner = Runner::new(built, &BTreeMap::from([("N".to_string(), 2)]), 1).unwrap();
    let find = |name: &str, runner: &Runner| runner.built().program().find(name).unwrap();
    let z = find("z", &runner);
    runner.set_input(z, &[3.0, 4.0, 0.0, -2.0], &[2]).unwrap();
    runner.execute().unwrap();
    let wanted: [(&str, &[f64]); 4] = [
        ("a", &[5.0, 2.0]),
        ("r", &[-1.0, 2.0]),
        ("c", &[6.0, -8.0, 0.0, 4.0]),
        ("p", &[29.0, 0.0]),
    ];
    for (name, wanted) in wanted {
        assert_eq!(runner.dense(find(name, &runner)).unwrap(), wanted, "{name}");
    }
}
