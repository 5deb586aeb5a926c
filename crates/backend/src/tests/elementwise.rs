//! Functions, comparisons, selections and conversions: compiled, in lanes and out of them, against the interpreter.

use super::*;
use crate::link;
use dastac_elements::Storage;
use dastac_loops::interp;

/// Edge cases, and ordinary numbers of both signs.
fn arguments(count: usize) -> Vec<f64> {
    let edges = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        1e-310,
        -1e-40,
        1e22,
        -1e5,
        88.7,
        -104.0,
        710.0,
        -745.2,
        3.0,
        1e-9,
        f64::MAX,
    ];
    let ordinary = (0..).map(|at| f64::from((at * 37 + 11) % 101) / 16.0 - 3.0);
    edges.into_iter().chain(ordinary).take(count).collect()
}

/// Functions `f0`, `f1`, .. of one statement each over `A[i]`, `x[i]` and `y[i]`.
fn module_of(statements: &[String], (to, from): (Element, Element)) -> Module {
    let mut text =
        format!("module(N)\nbuffer A : {to}[N]\nbuffer x : {from}[N]\nbuffer y : {from}[N]\n");
    for (at, statement) in statements.iter().enumerate() {
        text +=
            &format!("func f{at}(out A, in x, in y) {{ parallel i = 0 to N {{ {statement} }} }}\n");
    }
    let module = parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    verify(&module).unwrap_or_else(|errors| panic!("{errors:?}: {text}"));
    module
}

/// Whether a result is that of the interpreter, but for so many units in the last place.
fn close(got: f64, want: f64, element: Element, units: f64) -> bool {
    let smallest = match element {
        Element::F64 => f64::MIN_POSITIVE,
        Element::F16 => 2f64.powi(-14),
        _ => f64::from(f32::MIN_POSITIVE),
    };
    let unit = want.abs().max(smallest) * element.epsilon();
    got == want || got.is_nan() && want.is_nan() || (got - want).abs() <= units * unit
}

/// Compares each statement with the interpreter, for these numbers of elements.
fn compare(
    statements: &[String],
    (to, from): (Element, Element),
    counts: &[usize],
    (options, units): (&Options, f64),
) {
    let module = module_of(statements, (to, from));
    let code = load(&compile(&module, options).unwrap_or_else(|error| panic!("{error}")));
    for &count in counts {
        let x = Storage::of_numbers(from, &arguments(count)).unwrap();
        let mut y = arguments(count);
        y.reverse();
        let y = Storage::of_numbers(from, &y).unwrap();
        let data = |storage: &Storage| match from.is_integer() {
            true => interp::Data::Int(storage.to_f64().into_iter().map(|x| x as i64).collect()),
            false => interp::Data::Float(storage.to_f64()),
        };
        for (at, statement) in statements.iter().enumerate() {
            let name = format!("f{at}");
            let mut judged = [interp::Data::zeros(to, count), data(&x), data(&y)];
            interp::run(&module, &name, &[count as i64], &mut judged).unwrap();
            let want = match &judged[0] {
                interp::Data::Float(want) => want.clone(),
                interp::Data::Int(want) => want.iter().map(|want| *want as f64).collect(),
            };
            let mut out = Storage::zeroed(to, count).unwrap();
            let buffers = &mut [
                Argument::from(out.view_mut()),
                Argument::from(x.view()),
                Argument::from(y.view()),
            ];
            code.call(&name, &[count as i64], buffers).unwrap();
            for (place, (got, want)) in out.to_f64().iter().zip(&want).enumerate() {
                let (x, y) = (x.number(place), y.number(place));
                assert!(
                    close(*got, *want, to, units),
                    "{statement}, {from} to {to}, {count}: {got:?}, not {want:?}, of {x:?}, {y:?}"
                );
            }
        }
    }
}

/// As functions are called: one by one, and in vectors of all lengths that this computer has.
fn ways() -> Vec<Options> {
    let tiled = |cpu| Options { tiled: true, cpu, ..Options::default() };
    let mut ways = vec![Options::default(), tiled(CpuTarget::host())];
    for (name, feature) in [("x86-64", "sse2"), ("x86-64-v3", "avx2"), ("x86-64-v4", "avx512f")] {
        if crate::Processor::host_has(feature) {
            ways.push(tiled(CpuTarget::named(name).unwrap()));
        }
    }
    ways
}

fn all(functions: impl Iterator<Item = MathFunction>) -> Vec<String> {
    let of = |function: MathFunction| if function.arity() == 2 { "x[i], y[i]" } else { "x[i]" };
    functions.map(|function| format!("A[i] = {function}({})", of(function))).collect()
}

#[test]
fn functions_of_floats_are_the_interpreters() {
    let real = |function: &MathFunction| *function != MathFunction::Complex;
    let statements = all(MathFunction::ALL.iter().copied().filter(real));
    for options in &ways() {
        for element in [Element::F64, Element::F32, Element::F16, Element::Bf16] {
            compare(&statements, (element, element), &[0, 1, 23, 61], (options, 4.0));
        }
    }
}

#[test]
fn functions_of_integers_are_the_interpreters() {
    let functions = MathFunction::ALL.iter().copied();
    let statements = all(functions.filter(|function| function.of_integers()));
    for element in [Element::I8, Element::I16, Element::I32, Element::I64, Element::U8] {
        compare(&statements, (element, element), &[37], (&Options::default(), 0.0));
    }
}

#[test]
fn comparisons_selections_and_conversions() {
    let statements = [
        "A[i] = compare(x[i] < y[i])",
        "A[i] = compare(x[i] != y[i]) + compare(x[i] == y[i])",
        "A[i] = select(compare(x[i] >= 0.0), 2.0, 3.0)",
        "A[i] = select(x[i], compare(x[i] > 1.0), 7.0) * 2.0",
        "A[i] = cast(i8, x[i])",
        "A[i] = cast(u8, y[i]) + cast(i32, x[i] * 2.0)",
        "A[i] = cast(bool, x[i])",
        "A[i] = cast(i64, cast(f16, x[i]))",
        // In lanes, for the call.
        "A[i] = compare(exp2(x[i]) > 1.0)",
        "A[i] = select(compare(exp2(x[i]) > 1.0), cast(i16, y[i]), 1.0)",
    ];
    let statements = statements.map(str::to_owned);
    let types = [Element::F64, Element::F32, Element::F16, Element::I32, Element::Bool];
    let [alone, tiled] = &ways()[..2] else { return };
    for to in types {
        compare(&statements, (to, Element::F64), &[1, 29], (alone, 0.0));
        for from in types {
            compare(&statements, (to, from), &[1, 29], (tiled, 0.0));
        }
    }
}

#[test]
fn sums_of_functions() {
    let statements = [
        "A[i] = sum(k = 0 to N) exp2(-1.0 * abs(index(k) + -1.0 * index(i)))",
        "A[i] = sum(k = 0 to N) atan(x[k]) * y[0]",
        "A[i] = max(k = 0 to N) tanh(x[k])",
        "A[i] = cbrt(sum(k = 0 to N) select(compare(x[k] > 0.0), 1.0, 2.0))",
    ];
    let statements = statements.map(str::to_owned);
    for options in &ways() {
        for element in [Element::F64, Element::F32] {
            compare(&statements, (element, element), &[1, 9, 41], (options, 64.0));
        }
    }
}

#[test]
fn checked_and_parallel_code_calls_functions() {
    let checked = Options { checked: true, ..Options::default() };
    let parallel = Options { parallel: true, tiled: true, ..Options::default() };
    for options in [checked, parallel] {
        let statements =
            ["A[i] = exp(x[i]) + tanh(y[i])", "A[i] = sum(k = 0 to N) sqrt(abs(x[0]))"];
        compare(
            &statements.map(str::to_owned),
            (Element::F64, Element::F64),
            &[9, 61],
            (&options, 8.0),
        );
    }
}

#[test]
fn vectors_are_given_to_the_library() {
    let options = Options { tiled: true, ..Options::default() };
    let module = module_of(&["A[i] = exp(x[i])".into()], (Element::F64, Element::F64));
    let compiled = compile(&module, &options).unwrap();
    let machine = options.cpu.machine(&options.code());
    let known = machine.vector_functions.contains(&MathFunction::Exp);
    assert_eq!(compiled.text("mlir").contains("_ZGV"), known && machine.vector_bytes >= 16);
    assert!(compiled.generated.artifact.needs(Library::Math));
}

#[test]
fn shared_libraries_bring_the_functions_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("libfunctions.so");
    let statements = ["A[i] = tanh(x[i])".to_owned()];
    let module = module_of(&statements, (Element::F64, Element::F64));
    let compiled = compile(&module, &Options { tiled: true, ..Options::default() }).unwrap();
    link::shared_library(compiled.object(), &path, None).unwrap();
    let code = Code::open(compiled.generated.artifact.abi.clone(), &path, false).unwrap();
    let (x, mut out) = (numbers(37), vec![0.0; 37]);
    let buffers = &mut [Argument::write(&mut out), Argument::read(&x), Argument::read(&x)];
    code.call("f0", &[37], buffers).unwrap();
    for (got, x) in out.iter().zip(&x) {
        assert!(close(*got, x.tanh(), Element::F64, 4.0), "tanh({x}) is not {got}");
    }
}

/// Nanoseconds for each of a million elements on one thread, to be compared with other systems:
/// `cargo test --release -p dastac-backend --lib -- --ignored --nocapture times_of_functions`.
#[test]
#[ignore = "measures time"]
fn times_of_functions() {
    const COUNT: usize = 1_000_000;
    let statements =
        ["exp(x[i])", "tanh(x[i])", "pow(x[i], y[i])"].map(|value| format!("A[i] = {value}"));
    for element in [Element::F64, Element::F32] {
        let module = module_of(&statements, (element, element));
        let options = Options { tiled: true, ..Options::default() };
        let code = load(&compile(&module, &options).unwrap());
        let sample = |by: usize| (0..COUNT).map(move |at| 0.5 + (at * by % 1000) as f64 / 250.0);
        let [x, y] = [7, 13]
            .map(|by| Storage::of_numbers(element, &sample(by).collect::<Vec<f64>>()).unwrap());
        let mut out = Storage::zeroed(element, COUNT).unwrap();
        for (at, statement) in statements.iter().enumerate() {
            let mut best = f64::INFINITY;
            for _ in 0..30 {
                let buffers = &mut [
                    Argument::from(out.view_mut()),
                    Argument::from(x.view()),
                    Argument::from(y.view()),
                ];
                let start = std::time::Instant::now();
                code.call(&format!("f{at}"), &[COUNT as i64], buffers).unwrap();
                best = best.min(start.elapsed().as_secs_f64());
            }
            println!("{statement} {element}: {:.2} ns", best * 1e9 / COUNT as f64);
        }
    }
}
