//! Checks of results beyond the dense evaluator: each kind agrees with right results and finds a wrong one.

use std::collections::BTreeMap;

use dastac::build::BuildOptions;
use dastac::driver::compile;
use dastac::elements::{Element, Native, Storage, with_type};
use dastac::formats::{Build, Entries, Tensor};
use dastac::run::Runner;
use dastac::sched::Moving;
use dastac::stur::TensorId;
use dastac::stur::program::{Program, Role};
use dastac::stur::reference::Array;
use dastac::verify::{Limits, Method, Reference, Verification, is_nearly_empty};

const WALK: Limits = Limits::DEFAULT;
const FUNCTIONALS: Limits = Limits { products: 0, ..Limits::DEFAULT };
const SAMPLES: Limits = Limits { products: 0, steps: 0 };

/// Rules of `C`, with the operands' declarations, and whether they have functionals.
const RULES: &[(&str, &str, &[&str], bool)] = &[
    ("C(i) := A(i, j) * x(j)", "A csr, x", &["f64", "f32", "i32", "i64", "complex128"], true),
    ("C(i, j) := A(i, k) * B(k, j)", "A csr, B csr, C csr", &["f64", "i32", "u8"], true),
    ("C(i, j) := A(i, k) * B(k, j)", "A csc, B csr", &["f64", "i8"], true),
    ("C(i, j) := A(i, k) * B(k, j)", "A, B", &["f64", "i64"], true),
    ("C(i, j) := A(i, j) + B(j, i)", "A csr, B csr, C csr", &["f64", "i16"], true),
    ("C(i, j) := A(i, j) * x(i) * x(j)", "A csr, x, C csr", &["f64"], true),
    ("C(i, j) := A(i, j) * B(i, k) * D(k, j)", "A csr, B, D, C csr", &["f32", "i32"], true),
    ("C(i) := 2 * A(i, i) * N()", "A csr", &["f64", "i32"], true),
    ("C() := A(i, j) * A(j, k) * A(k, i)", "A csr", &["f64", "i64"], true),
    ("C(i) := A(i, j) * (1 <= j < N - 1)", "A csc", &["f64"], true),
    ("C(i) := A(i + 1, j) * x(j)", "A csr, x", &["f64", "i32"], false),
    ("C(i, j) := A(i, k) * B(k, j) * (i <= j)", "A csr, B csr", &["f64"], false),
    ("C(i, j) := A(i, j) * (i <= j)", "A csr, C csr", &["f64"], false),
    ("C(i) := min(j) A(i, j) + x(j)", "A csr, x", &["f64"], false),
    ("C(i) := max_times(j) A(i, j) * x(j)", "A csr, x", &["f64"], false),
    ("C(i) := sqrt(A(i, j) * A(i, j)) * x(j)", "A, x", &["f64"], false),
    ("C(i, j) := A(i, j) / x(i)", "A csr, x, C csr", &["f64"], true),
    ("C(i) := exp(A(i, j)) * x(j)", "A csr, x", &["f64", "f32"], false),
    ("C(i) := sqrt(A(i, j) * A(i, j)) * x(j)", "A csr, x", &["f64"], false),
    ("C(i, j) := exp(A(i, j))", "A csr, C csr", &["f64", "f32"], false),
    ("C(i, j) := cos(A(i, j)) + exp(B(j, i)) - 2", "A csr, B csc, C csr", &["f64"], false),
    ("C(i, j) := abs(A(i, j)) + B(i, j)", "A csr, B csr, C csr", &["f64", "i32"], false),
    ("C(i) := max(j) abs(A(i, j))", "A csr", &["f64", "i64"], false),
    ("C(i) := max(j) A(i, j) * x(j)", "A csr, x", &["f64"], false),
    ("C(i) := prod(j) 1 + A(i, j)", "A csr", &["f64", "i32"], false),
    ("C(i) := min(j) A(i, j) - x(j)", "A csc, x", &["f64"], false),
    ("C(i) := max(j) A(i, j) - x(j)", "A, x", &["f64", "i32"], false),
    ("C(i, j) := A(i, k) * B(i, j) * (j = pos(A(i, k)))", "A csr, B", &["f64"], false),
    ("C(i) := x(k) * (k = pos(A(i, j)))", "A csr, x", &["f64", "i32"], false),
    ("C(i, j) := tanh(A(i, j) + B(j, i)) * x(i)", "A csr, B csr, x, C csr", &["f64"], false),
    ("C(i, j) := where(A(i, j) > 0, x(i), x(j))", "A csr, x", &["f64", "i16"], false),
    ("C(i, j) := A(i, j) * B(i, j) * (i < j)", "A csr, B, C csr", &["f64"], false),
];

/// Rules of `C`, whose result or operands have a declared structure, with the declarations.
const STRUCTURED: &[(&str, &str)] = &[
    (
        "C(i, j) := A(i, k) * B(k, j)",
        "A:U(i, k) := (0 <= i <= k < N)\nB:U(k, j) := (0 <= k <= j < N)\n\
         C:U(i, j) := (0 <= i <= j < N)\n",
    ),
    (
        "C(i, j) := A(i, k) * A(j, k)",
        "A:D(i, k) := (0 <= i < N) * (0 <= k < N)\nC:D(i, j) := (0 <= i < N) * (0 <= j < N)\n\
         C:U(i, j) := (0 <= i <= j < N)\nC:R(i, j, p, q) := (0 <= j < i < N) * (p = j) * (q = i)\n",
    ),
    ("C(i, j) := exp(A(i, j))", "A:U(i, j) := (0 <= i <= j < N)\n"),
    (
        "C(i, j) := A^-1(i, j) * B(i, j)",
        "A:U(i, j) := (0 <= i <= j < N)\nB:D(i, j) := (0 <= i < N) * (0 <= j < N)\n",
    ),
    ("C(i) := max(j) A(i, j) - 1", "A:U(i, j) := (0 <= i <= j < N)\n"),
    (
        "C(i, j) := T^-1(i, j) * B(i, j)\nT(i, j) := A(i, k) * A(k, j)",
        "A:U(i, j) := (0 <= i <= j < N)\nB:D(i, j) := (0 <= i < N) * (0 <= j < N)\n",
    ),
    (
        "C(i, j) := T(i, j) / B(i, j)\nT(i, j) := A(i, j) + B(i, j)",
        "A:D(i, j) := (0 <= i < N) * (0 <= j < N)\nA:F := csr\n\
         B:D(i, j) := (0 <= i < N) * (0 <= j < N)\nC:F := csr\nT:F := csr\n",
    ),
];

fn source(rule: &str, declared: &str, element: &str) -> String {
    let mut text = format!("symbols: N\n{rule}\n");
    let mut names = vec!["C".to_string()];
    for one in declared.split(", ") {
        let (name, format) = one.split_once(' ').unwrap_or((one, ""));
        if name != "C" {
            names.push(name.into());
            text += &match name {
                "x" => format!("{name}:D(i) := (0 <= i < N)\n"),
                _ => format!("{name}:D(i, j) := (0 <= i < N) * (0 <= j < N)\n"),
            };
        }
        if !format.is_empty() {
            text += &format!("{name}:F := {format}\n");
        }
    }
    if !rule.starts_with("C()") {
        let indices = if rule.starts_with("C(i, j)") { "i, j" } else { "i" };
        let bounds: Vec<String> = indices.split(", ").map(|i| format!("(0 <= {i} < N)")).collect();
        text += &format!("C:D({indices}) := {}\n", bounds.join(" * "));
    }
    let types: Vec<String> = names.iter().map(|name| format!("{name} = {element}")).collect();
    text + &format!("types: {}\n", types.join(", "))
}

/// A run with random inputs.
struct Case {
    program: Program,
    runner: Runner,
    inputs: BTreeMap<TensorId, Array>,
}

impl Case {
    fn new(source: &str, n: i64) -> Case {
        let built = compile(source, BuildOptions::default());
        let built = built.unwrap_or_else(|error| panic!("{error:?}\n{source}"));
        let program = built.program().clone();
        let sizes = BTreeMap::from([("N".to_string(), n)]);
        let mut runner = Runner::new(built, &sizes, 1).unwrap();
        runner.make_movement().unwrap();
        runner.set_density(0.6);
        let inputs = runner.random_inputs(3, &BTreeMap::new()).unwrap();
        runner.execute().unwrap();
        Case { program, runner, inputs }
    }

    fn check(&self, limits: Limits) -> Verification {
        let reference = Reference::of(&self.program);
        let instance = self.runner.instance();
        reference.compare_rules(instance, &self.inputs, limits, &mut |_| {}).unwrap()
    }

    /// Makes one element of the result wrong, or else of a stored operand, of which the result is not right then.
    fn corrupt(&mut self) {
        let head = dastac::runtime::TensorId(self.program.find("C").unwrap().0);
        let element = self.runner.facts()[head.0].element;
        if self.runner.facts()[head.0].format.is_none() {
            let mut packed = self.runner.instance_mut().packed_mut(head).unwrap();
            with_type!(element, T => {
                let all = packed.as_mut_slice::<T>().unwrap();
                let middle = all.len() / 2;
                all[middle] = T::from_rounded(element.wrapped(77) as f64 + 0.5);
            });
            return;
        }
        let inputs = self.program.tensor_ids();
        let operand = inputs
            .filter(|id| self.program.tensor(*id).role == Role::Input)
            .find_map(|id| Some((id, self.runner.bound(id)?.clone())));
        let (id, tensor) = operand.unwrap();
        let (format, entries) = (tensor.format().clone(), tensor.to_entries().unwrap());
        let mut values = entries.values().clone();
        with_type!(element, T => {
            let all = values.as_mut_slice::<T>().unwrap();
            all[0] = T::from_rounded(element.wrapped(77) as f64);
        });
        let coordinates = entries.coordinates().to_vec();
        let entries = Entries::new(entries.shape().to_vec(), coordinates, values).unwrap();
        let tensor = Tensor::from_entries(&entries, &format, Build::default()).unwrap();
        self.runner.bind(id, tensor).unwrap();
    }
}

#[test]
fn every_check_agrees_and_finds_a_wrong_element() {
    let mut without = Vec::new();
    for (rule, declared, elements, has_functionals) in RULES {
        for element in *elements {
            let source = source(rule, declared, element);
            let mut case = Case::new(&source, 9);
            let methods = [WALK, FUNCTIONALS, SAMPLES].map(|limits| {
                let found = case.check(limits);
                assert!(found.agrees(), "{found:?}\n{source}");
                found.checks[0].method.clone()
            });
            if *has_functionals {
                let is = matches!(methods[1], Method::Functionals { .. });
                assert!(is, "{methods:?}\n{source}");
            }
            if !matches!(methods[0], Method::Walk { .. }) {
                without.push(format!("{rule} of {declared}"));
                continue;
            }
            let is_sampled = matches!(methods[2], Method::Samples { .. } | Method::Stored { .. });
            assert!(is_sampled, "{methods:?}\n{source}");
            case.corrupt();
            for limits in [WALK, FUNCTIONALS, SAMPLES] {
                let found = case.check(limits);
                assert!(!found.agrees(), "{found:?}\n{source}");
            }
        }
    }
    assert!(without.is_empty(), "{without:?}");
}

/// Of results and operands with structure, by walks and by samples.
#[test]
fn structures_are_checked() {
    for (rule, declared) in STRUCTURED {
        let mut case = Case::new(&format!("symbols: N\n{rule}\n{declared}"), 9);
        let last = |found: &Verification| found.checks.last().unwrap().method.clone();
        let walked = case.check(WALK);
        assert!(walked.agrees(), "{walked:?}\n{rule}");
        assert!(matches!(last(&walked), Method::Walk { .. }), "{walked:?}\n{rule}");
        let sampled = case.check(SAMPLES);
        assert!(sampled.agrees(), "{sampled:?}\n{rule}");
        let is_sampled = matches!(last(&sampled), Method::Samples { .. } | Method::Stored { .. });
        assert!(is_sampled, "{sampled:?}\n{rule}");
        case.corrupt();
        for limits in [WALK, SAMPLES] {
            assert!(!case.check(limits).agrees(), "{rule}");
        }
    }
}

/// Packed tensors with large boxes that are nearly empty: what they store is read, and nothing is unpacked.
#[test]
fn nearly_empty_tensors_are_checked() {
    let band = "B:D(i, j) := (0 <= i < N) * (0 <= j < N)\nB:U(i, j) := (i - 1 <= j <= i + 1)\n";
    let skew = "S:D(i, j) := (0 <= i < N) * (0 <= j < N)\nS:U(i, j) := (j = i + 1)\n\
        S:R(i, j, p, q) := -1 * (i = j + 1) * (p = j) * (q = i)\n";
    let x = "x:D(i) := (0 <= i < N)\n";
    for (rule, declared) in [
        ("C(i) := B(i, j) * x(j)", format!("{band}{x}")),
        ("C(i, j) := B(i, k) * B(j, k)", band.to_string()),
        ("C(i) := S(i, j) * x(j) + B(j, i) * x(j)", format!("{band}{skew}{x}")),
        ("C(i) := B(i, j) * v(j)\nv(i) := B(j, i) * x(j)", format!("{band}{x}")),
        ("C() := x(i) * B(i, j) * x(j)\ntypes: B = i32, x = i32, C = i64", format!("{band}{x}")),
    ] {
        let mut case = Case::new(&format!("symbols: N\n{rule}\n{declared}"), 9001);
        let facts = case.runner.facts();
        let unpack = |fact| Moving { unpack: is_nearly_empty(fact), ..Moving::default() };
        let moves: Vec<Moving> = facts.iter().map(unpack).collect();
        assert!(moves.iter().any(|one| one.unpack));
        let movement = case.runner.built().lowered.some_movement(&moves).unwrap();
        let check = |case: &Case| {
            let reference = Reference::of(&case.program).with_movement(Some(&movement));
            let instance = case.runner.instance();
            reference.compare_rules(instance, &case.inputs, WALK, &mut |_| {}).unwrap()
        };
        let found = check(&case);
        assert!(found.agrees(), "{found:?}\n{rule}");
        let is_walk = |one: &dastac::verify::Check| matches!(one.method, Method::Walk { .. });
        assert!(found.checks.iter().all(is_walk), "{:?}\n{rule}", found.checks);
        case.corrupt();
        assert!(!check(&case).agrees(), "{rule}");
    }
}

/// A chain of rules is checked link by link, with what was computed before.
#[test]
fn chains_are_checked_rule_by_rule() {
    let source = "symbols: N\nC(i) := z(i) * A(i, j) * z(j)\nz(i) := A(i, j) * y(j)\n\
        y(i) := exp(x(i))\nA:D(i, j) := (0 <= i < N) * (0 <= j < N)\nA:F := csr\nx:D(i) := (0 <= i < N)";
    let case = Case::new(source, 40);
    let found = case.check(WALK);
    assert!(found.agrees(), "{found:?}");
    let is_walk = |one: &dastac::verify::Check| matches!(one.method, Method::Walk { .. });
    assert_eq!(found.checks.iter().filter(|one| is_walk(one)).count(), 3, "{:?}", found.checks);
}

/// Integers beyond what floats hold, in a sparse product: by all three checks.
#[test]
fn large_integers_in_sparse_products() {
    let text = source("C(i) := A(i, j) * x(j)", "A csr, x", "i64");
    let mut case = Case::new(&text, 30);
    let [a, x] = ["A", "x"].map(|name| case.program.find(name).unwrap());
    let entries = case.runner.bound(a).unwrap().to_entries().unwrap();
    let large = |at: usize| 0x2545_f491_4f6c_dd1d_i64.wrapping_mul(at as i64 + 1);
    let values: Storage = (0..entries.len()).map(large).collect();
    let entries = Entries::new(vec![30, 30], entries.coordinates().to_vec(), values).unwrap();
    let format = case.runner.bound(a).unwrap().format().clone();
    let tensor = Tensor::from_entries(&entries, &format, Build::default()).unwrap();
    case.runner.bind(a, tensor).unwrap();
    let data: Storage = (100..130).map(large).collect();
    let own = dastac::runtime::TensorId(x.0);
    case.runner.instance_mut().set_elements(own, data.view(), &[30], None).unwrap();
    case.inputs.insert(x, Array { shape: vec![30], data });
    case.runner.execute().unwrap();
    for limits in [WALK, FUNCTIONALS, SAMPLES] {
        let found = case.check(limits);
        assert!(found.agrees() && found.max_error == 0.0, "{found:?}");
    }
    let head = dastac::runtime::TensorId(case.program.find("C").unwrap().0);
    assert_eq!(case.runner.facts()[head.0].element, Element::I64);
    case.runner.instance_mut().packed_mut(head).unwrap().as_mut_slice::<i64>().unwrap()[11] ^= 1;
    for limits in [WALK, FUNCTIONALS, SAMPLES] {
        assert!(!case.check(limits).agrees());
    }
}
