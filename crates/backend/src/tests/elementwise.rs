//! Functions, comparisons, selections and conversions: compiled, in lanes and out of them, against the interpreter.

use super::*;
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

/// What a statement over `A[i]`, `x[i]` and `y[i]` makes, compiled and interpreted.
fn both(
    statement: &str,
    (to, from): (Element, Element),
    count: usize,
    options: &Options,
) -> (Vec<f64>, Vec<f64>) {
    let text = format!(
        "module(N)\nbuffer A : {to}[N]\nbuffer x : {from}[N]\nbuffer y : {from}[N]\n\
         func f(out A, in x, in y) {{ parallel i = 0 to N {{ {statement} }} }}"
    );
    let module = parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    verify(&module).unwrap_or_else(|errors| panic!("{errors:?}: {text}"));
    let x = Storage::of_numbers(from, &arguments(count)).unwrap();
    let mut y = arguments(count);
    y.reverse();
    let y = Storage::of_numbers(from, &y).unwrap();
    let data = |storage: &Storage| match from.is_integer() {
        true => interp::Data::Int(storage.to_f64().into_iter().map(|x| x as i64).collect()),
        false => interp::Data::Float(storage.to_f64()),
    };
    let mut judged = [interp::Data::zeros(to, count), data(&x), data(&y)];
    interp::run(&module, "f", &[count as i64], &mut judged).unwrap();
    let want = match &judged[0] {
        interp::Data::Float(want) => want.clone(),
        interp::Data::Int(want) => want.iter().map(|want| *want as f64).collect(),
    };
    let mut out = Storage::zeroed(to, count).unwrap();
    let code = load(&compile(&module, options).unwrap_or_else(|error| panic!("{error}: {text}")));
    let buffers =
        &mut [Argument::from(out.view_mut()), Argument::from(x.view()), Argument::from(y.view())];
    code.call("f", &[count as i64], buffers).unwrap();
    (out.to_f64(), want)
}

/// Whether a result is that of the interpreter, but for so many units in the last place.
fn close(got: f64, want: f64, element: Element, units: f64) -> bool {
    let smallest =
        if element == Element::F64 { f64::MIN_POSITIVE } else { f64::from(f32::MIN_POSITIVE) };
    let unit = want.abs().max(smallest) * element.epsilon();
    got == want || got.is_nan() && want.is_nan() || (got - want).abs() <= units * unit
}

fn assert_close(
    statement: &str,
    types: (Element, Element),
    count: usize,
    (options, units): (&Options, f64),
) {
    let (got, want) = both(statement, types, count, options);
    for (at, (got, want)) in got.iter().zip(&want).enumerate() {
        let x = arguments(count)[at];
        assert!(
            close(*got, *want, types.0, units),
            "{statement}, {types:?}, {count}: {got:?}, not {want:?}, at {at}: {x:?}"
        );
    }
}

#[test]
fn functions_of_floats_are_the_interpreters() {
    for function in MathFunction::ALL {
        let of = if function.arity() == 2 { "x[i], y[i]" } else { "x[i]" };
        for element in [Element::F64, Element::F32, Element::F16, Element::Bf16] {
            for count in [0, 1, 23, 61] {
                let statement = format!("A[i] = {function}({of})");
                assert_close(&statement, (element, element), count, (&Options::default(), 4.0));
            }
        }
    }
}

#[test]
fn functions_of_integers_are_the_interpreters() {
    for function in MathFunction::ALL.iter().filter(|function| function.of_integers()) {
        for element in [Element::I8, Element::I16, Element::I32, Element::I64, Element::U8] {
            let statement = format!("A[i] = {function}(x[i])");
            assert_close(&statement, (element, element), 37, (&Options::default(), 0.0));
        }
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
    ];
    let types =
        [Element::F64, Element::F32, Element::F16, Element::I32, Element::U8, Element::Bool];
    for statement in statements {
        for to in types {
            for from in types {
                for count in [1, 29] {
                    let short = to.is_integer() && statement.contains("3.0");
                    let statement =
                        if short { statement.replace("3.0", "-3.0") } else { statement.into() };
                    assert_close(&statement, (to, from), count, (&Options::default(), 0.0));
                }
            }
        }
    }
}

#[test]
fn checked_and_parallel_code_calls_functions() {
    let checked = Options { checked: true, ..Options::default() };
    let parallel = Options { parallel: true, ..Options::default() };
    for options in [checked, parallel] {
        for statement in ["A[i] = exp(x[i]) + tanh(y[i])", "A[i] = sum(k = 0 to N) sqrt(abs(x[0]))"]
        {
            assert_close(statement, (Element::F64, Element::F64), 9, (&options, 8.0));
        }
    }
}
