//! The reference evaluator against results computed by hand, one test for each sentence of the language's meaning.

use std::collections::BTreeMap;

use dastac_elements::{Element, Storage};
use dastac_stur::reference::{Array, Dense, EvalError, Evaluator, InputError, Status};
use dastac_stur::{Program, load};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

fn program(source: &str) -> Program {
    match load(source) {
        Ok((program, _)) => program,
        Err(diagnostics) => panic!("{diagnostics:#?}"),
    }
}

fn vector(data: &[f64]) -> Dense {
    Dense { shape: vec![data.len()], data: data.to_vec() }
}

fn matrix(rows: usize, columns: usize, data: &[f64]) -> Dense {
    Dense { shape: vec![rows, columns], data: data.to_vec() }
}

/// Runs a program and gives the tensor `wanted`.
fn run(source: &str, symbols: &[i64], inputs: &[(&str, Dense)], wanted: &str) -> Dense {
    try_run(source, symbols, inputs, wanted).unwrap()
}

fn try_run(
    source: &str,
    symbols: &[i64],
    inputs: &[(&str, Dense)],
    wanted: &str,
) -> Result<Dense, EvalError> {
    let program = program(source);
    let evaluator = Evaluator::new(&program, symbols)?;
    let inputs =
        inputs.iter().map(|(name, data)| (program.find(name).unwrap(), data.clone())).collect();
    let mut results = evaluator.run(&inputs)?;
    Ok(results.remove(&program.find(wanted).unwrap()).unwrap())
}

#[test]
fn matrix_vector_product_sums_over_the_free_iterator() {
    let source = "
        symbols: N, M
        A(i) := B(i, j) * c(j)
        B:D(i, j) := (0 <= i < N) * (0 <= j < M)
        c:D(j) := (0 <= j < M)";
    let inputs = [("B", matrix(2, 3, &[1., 2., 3., 4., 5., 6.])), ("c", vector(&[1., 10., 100.]))];
    assert_eq!(run(source, &[2, 3], &inputs, "A"), vector(&[321., 654.]));
}

#[test]
fn boxes_of_quotients_beside_an_empty_dimension() {
    let source = "
        symbols: N, M
        A(i, j) := B(i, j)
        B:D(i, j) := (0 <= i < M) * (0 <= j / 5 < N)";
    let program = program(source);
    let evaluator = Evaluator::new(&program, &[2, 0]).unwrap();
    for tensor in program.tensor_ids() {
        assert_eq!(evaluator.shape(tensor), [0, 10]);
    }
}

#[test]
fn iterators_bounded_in_combination() {
    let source = "
        symbols: N
        A(i) := c() * (0 <= i + j < N) * (0 <= i - j < N)";
    let expected = vector(&[2., 6., 2.]); // i = 0: j = 0; i = 1: j = -1, 0, 1; i = 2: j = 0
    assert_eq!(run(source, &[3], &[("c", Dense::scalar(2.0))], "A"), expected);
}

#[test]
fn symmetric_reads_go_to_the_unique_half() {
    let source = "
        symbols: N
        A(i, j) := B(i, j)
        B:D(i, j) := (0 <= i < N) * (0 <= j < N)
        B:U(i, j) := (i <= j)
        B:R(i, j, ip, jp) := (i > j) * (ip = j) * (jp = i)";
    // What stands in the redundant half of the array does not matter.
    let given = matrix(2, 2, &[1., 2., f64::NAN, 3.]);
    assert_eq!(run(source, &[2], &[("B", given)], "A"), matrix(2, 2, &[1., 2., 2., 3.]));
}

#[test]
fn redundancies_have_coefficients() {
    let with = |coefficient: &str, unique: &str| {
        format!(
            "symbols: N
            A(i, j) := B(i, j)
            B:D(i, j) := (0 <= i < N) * (0 <= j < N)
            B:U(i, j) := (0 <= i {unique} j < N)
            B:R(i, j, ip, jp) := {coefficient} * (0 <= j < i < N) * (ip = j) * (jp = i)"
        )
    };
    let given = matrix(2, 2, &[7., 2., 0., 3.]);
    let skew = run(&with("-1", "<"), &[2], &[("B", given.clone())], "A");
    assert_eq!(skew, matrix(2, 2, &[0., 2., -2., 0.]));
    let odd = run(&with("-21.5", "<="), &[2], &[("B", given)], "A");
    assert_eq!(odd, matrix(2, 2, &[7., 2., -43., 3.]));
}

#[test]
fn what_is_neither_unique_nor_redundant_is_zero() {
    let source = "
        symbols: N
        A(i) := B(i, j) * c(j)
        B:D(i, j) := (0 <= i < N) * (0 <= j < N)
        B:U(i, j) := (i = j)
        c:D(j) := (0 <= j < N)";
    let inputs = [("B", matrix(2, 2, &[2., 9., 9., 3.])), ("c", vector(&[10., 100.]))];
    assert_eq!(run(source, &[2], &inputs, "A"), vector(&[20., 300.]));
}

#[test]
fn structure_decides_about_reciprocals() {
    let source = "
        symbols: N
        A(i, j) := B^-1(i, j) * 5^-1 * f^-1()
        C(i, j) := A^-1(i, j)
        D(i, j) := B(i, j) * B^-1(i, j)
        B:D(i, j) := (0 <= i < N) * (0 <= j < N)
        B:U(i, j) := (i = j)";
    let inputs = [("B", matrix(2, 2, &[2., 0., 0., 0.])), ("f", Dense::scalar(0.5))];
    // B(1, 1) is zero, but not structurally.
    assert_eq!(run(source, &[2], &inputs, "A"), matrix(2, 2, &[0.2, 0., 0., f64::INFINITY]));
    assert_eq!(run(source, &[2], &inputs, "C"), matrix(2, 2, &[5., 0., 0., 0.]));
    let d = run(source, &[2], &inputs, "D");
    assert_eq!(d.data[..3], [1., 0., 0.]);
    assert!(d.data[3].is_nan());
}

#[test]
fn a_reciprocal_is_of_the_finished_sum() {
    let source = "
        symbols: N
        C(i) := A^-1(i)
        A(i) := B(i, j)
        B:D(i, j) := (0 <= i < N) * (0 <= j < 2)";
    let inputs = [("B", matrix(2, 2, &[1., 3., 2., 6.]))];
    assert_eq!(run(source, &[2], &inputs, "C"), vector(&[0.25, 0.125]));
}

#[test]
fn overlapping_summands_add_up() {
    let source = "
        symbols: N
        A(i) := b(i) * (i <= 1) + b(i) * (i >= 1) + (-1) * c(i) + 3
        A:D(i) := (0 <= i < N)
        b:D(i) := (0 <= i < N)
        c:D(i) := (0 <= i < N)";
    let inputs = [("b", vector(&[1., 10., 100.])), ("c", vector(&[1., 1., 1.]))];
    assert_eq!(run(source, &[3], &inputs, "A"), vector(&[3., 22., 102.]));
}

#[test]
fn products_of_sums_are_distributed() {
    let source = "
        A() := (b() + c()) * (b() + (-1) * c()) * 0.5^-1";
    let inputs = [("b", Dense::scalar(5.)), ("c", Dense::scalar(3.))];
    assert_eq!(run(source, &[], &inputs, "A"), Dense::scalar(32.));
}

#[test]
fn toeplitz_redundancies_shift() {
    let source = "
        symbols: N
        A(i, j) := T(i, j)
        T:D(i, j) := (0 <= i < N) * (0 <= j < N)
        T:U(i, j) := (i = 0) + (j = 0)
        T:R(i, j, ip, jp) := (1 <= i <= j) * (ip = 0) * (jp = j - i) + (1 <= j < i) * (ip = i - j) * (jp = 0)";
    let given = matrix(3, 3, &[1., 2., 3., 4., 0., 0., 5., 0., 0.]);
    let expected = matrix(3, 3, &[1., 2., 3., 4., 1., 2., 5., 4., 1.]);
    assert_eq!(run(source, &[3], &[("T", given)], "A"), expected);
}

#[test]
fn quotients_and_remainders_are_floored() {
    // Blocks of two: only even rows of each block are stored, the others equal them.
    let source = "
        symbols: N
        A(i) := B(i)
        M(i, j) := B(i) * ((i - 3) % 2 = j) * ((i - 3) / 2 = -1)
        M:D(i, j) := (0 <= i < N) * (0 <= j < 2)
        B:D(i) := (0 <= i < N)
        B:U(i) := (i % 2 = 0)
        B:R(i, ip) := (i % 2 = 1) * (ip = i / 2 * 2)";
    let inputs = [("B", vector(&[1., 0., 2., 0., 3.]))];
    assert_eq!(run(source, &[5], &inputs, "A"), vector(&[1., 1., 2., 2., 3.]));
    // (i - 3) / 2 = -1 for i in {1, 2}; their remainders are 0 and 1.
    let m = run(source, &[5], &inputs, "M");
    assert_eq!(m.data, [0., 0., 1., 0., 0., 2., 0., 0., 0., 0.]);
}

#[test]
fn existential_iterators_of_a_structure() {
    let source = "
        symbols: N
        A(i) := B(i)
        B:D(i) := (0 <= i < N)
        B:U(i) := (i = k * k) * (0 <= k < N)";
    let inputs = [("B", vector(&[1.; 6]))];
    assert_eq!(run(source, &[6], &inputs, "A"), vector(&[1., 1., 0., 0., 1., 0.]));
}

#[test]
fn manual_packed_layouts() {
    // The upper triangle, row by row, into a vector, and a product with it there.
    let source = "
        symbols: N
        @preprocess_start
        P(s) := B(i, j) * (i <= j) * (s = (N * i + j) - (i * (i + 1) / 2))
        P:D(s) := (0 <= s < N * (N + 1) / 2)
        B:D(i, j) := (0 <= i < N) * (0 <= j < N)
        B:U(i, j) := (i <= j)
        @preprocess_end
        A(i) := P(s) * c(j) * (i <= j) * (s = (N * i + j) - (i * (i + 1) / 2)) * (0 <= i < N)
        P:D(k) := (0 <= k < N * (N + 1) / 2)
        c:D(j) := (0 <= j < N)";
    let inputs = [
        ("B", matrix(3, 3, &[1., 2., 3., 0., 4., 5., 0., 0., 6.])),
        ("c", vector(&[1., 10., 100.])),
    ];
    assert_eq!(run(source, &[3], &inputs, "P"), vector(&[1., 2., 3., 4., 5., 6.]));
    assert_eq!(run(source, &[3], &inputs, "A"), vector(&[321., 540., 600.]));
    let program = program(source);
    // `s` follows from `i` and `j`: no loop of its own.
    assert!(Evaluator::new(&program, &[100]).unwrap().cost() < 50_000);
}

#[test]
fn shifted_reads_are_zero_outside_the_box() {
    let source = "
        symbols: N, R
        O(p) := I(p + r) * F(r)
        O:D(p) := (0 <= p < N)
        I:D(p) := (0 <= p < N)
        F:D(r) := (0 <= r < R)";
    let inputs = [("I", vector(&[1., 2., 3.])), ("F", vector(&[1., 10.]))];
    assert_eq!(run(source, &[3, 2], &inputs, "O"), vector(&[21., 32., 3.]));
    let column = "
        symbols: N
        A(i) := B(i, 1)
        B:D(i, j) := (0 <= i < N) * (0 <= j < 2)";
    assert_eq!(
        run(column, &[2], &[("B", matrix(2, 2, &[1., 2., 3., 4.]))], "A"),
        vector(&[2., 4.])
    );
}

#[test]
fn symbols_are_scalars_and_repetitions_count() {
    let source = "
        symbols: N
        iters: A -> t, i
        A(i) := b(i) * N^-1() * N() * N() * (0 <= t < 10)
        b:D(i) := (0 <= i < N)";
    assert_eq!(run(source, &[2], &[("b", vector(&[1., 2.]))], "A"), vector(&[20., 40.]));
}

#[test]
fn a_head_is_defined_within_its_dimensions() {
    let source = "
        symbols: N
        A(i, j) := b(i)
        A:D(i, j) := (0 <= i <= j < N)
        b:D(i) := (0 <= i < N)";
    assert_eq!(
        run(source, &[2], &[("b", vector(&[1., 2.]))], "A"),
        matrix(2, 2, &[1., 1., 0., 2.])
    );
}

#[test]
fn shapes_of_heads_follow_from_bounds() {
    let source = "
        symbols: N, M
        A(i, j) := b(i) * c(j) * (j < M) + b(j) * c(i) * (i + 1 < N) * (j <= 1)
        b:D(i) := (0 <= i < N)
        c:D(i) := (0 <= i < 9)";
    let program = program(source);
    let evaluator = Evaluator::new(&program, &[5, 3]).unwrap();
    // i: max(min(N), min(N - 1, 9)); j: max(min(M, 9), min(2, N)).
    assert_eq!(evaluator.shape(program.find("A").unwrap()), [5, 3]);
    let empty = Evaluator::new(&program, &[0, 0]).unwrap();
    assert_eq!(empty.shape(program.find("A").unwrap()), [0, 0]);
    assert_eq!(empty.cost(), 9);
}

const SKEW: &str = "
    symbols: N
    A(i, j) := B(i, j)
    B:D(i, j) := (0 <= i < N) * (0 <= j < N)
    B:U(i, j) := (i < j)
    B:R(i, j, ip, jp) := -2 * (j < i) * (ip = j) * (jp = i)";

#[test]
fn elements_know_their_status() {
    let program = program(SKEW);
    let evaluator = Evaluator::new(&program, &[3]).unwrap();
    let b = program.find("B").unwrap();
    assert_eq!(evaluator.is_stored(b, &[0, 2]), Ok(Status::Unique));
    assert_eq!(evaluator.is_stored(b, &[1, 1]), Ok(Status::Zero));
    assert_eq!(evaluator.is_stored(b, &[0, 3]), Ok(Status::Zero));
    let redundant = Status::Redundant { target: vec![0, 2], coefficient: -2.0 };
    assert_eq!(evaluator.is_stored(b, &[2, 0]), Ok(redundant));
}

#[test]
fn random_inputs_have_their_structure_and_contradictions_are_found() {
    let program = program(SKEW);
    let evaluator = Evaluator::new(&program, &[4]).unwrap();
    let b = program.find("B").unwrap();
    let mut input = evaluator.random_input(b, &mut ChaCha8Rng::seed_from_u64(7)).unwrap();
    evaluator.check_input(b, &input).unwrap();
    let unique = input.get(&[1, 3]).unwrap();
    assert!((0.25..=1.0).contains(&unique.abs()));
    assert_eq!(input.get(&[3, 1]), Some(-2.0 * unique));
    // Reading through the structure changes nothing in a consistent array.
    let results = evaluator.run(&BTreeMap::from([(b, input.clone())])).unwrap();
    assert_eq!(results.values().next(), Some(&input));

    let at = input.position(&[3, 1]).unwrap();
    input.data[at] = 0.5;
    let error = evaluator.check_input(b, &input).unwrap_err();
    let InputError::Contradiction(found) = &error else { panic!("{error}") };
    assert_eq!((found.index.as_slice(), found.found), ([3, 1].as_slice(), 0.5));
    let wrong = matrix(1, 4, &[0.; 4]);
    assert!(
        evaluator.check_input(b, &wrong).unwrap_err().to_string().contains("[4, 4], not [1, 4]")
    );
}

#[test]
fn errors_name_what_is_wrong() {
    let messages = [
        // (source, symbols)
        ("A(i) := b(i) * (k >= j) * (k <= j + 5) * (j <= k)\nb:D(i) := (0 <= i < 2)", vec![]),
        ("A(i) := b(i)\nb:D(i) := (i < 2)", vec![]),
        ("A(i) := b(i + 1)\nb:D(i) := (0 <= i < 2)", vec![]),
        ("symbols: N\nA(i) := b(i) * (i / N = 0)\nb:D(i) := (0 <= i < 2)", vec![0]),
        ("symbols: N\nA(i) := b(i) * (i * N + i > 5)\nb:D(i) := (0 <= i < 2)", vec![i64::MAX]),
        ("symbols: N\nA(i) := b(i) * (i < N)\nb:D(i) := (0 <= i < 2)", vec![-1]),
        ("symbols: N\nA(i) := b(i) * (i < N)\nb:D(i) := (0 <= i < 2)", vec![]),
        ("A(i) := b(i)\nb:D(i) := (0 <= i < 2)\nb:R(i, ip) := (i = 1) * (ip = 0)", vec![]),
        (
            "A(i) := b(i)\nb:D(i) := (0 <= i < 2)\nb:U(i) := (i = 0)\nb:R(i, ip) := (i = 1) * (ip = 2)",
            vec![],
        ),
        (
            "A(i) := b(i)\nb:D(i) := (0 <= i < 2)\nb:U(i) := (i = 0)\n\
            b:R(i, ip) := (i = 1) * (ip = 0) + 2 * (i = 1) * (ip = 0)",
            vec![],
        ),
        ("A(i) := b(i)\nb:D(i) := (0 <= i < 3)", vec![]),
    ];
    let mut shown = String::new();
    for (source, symbols) in messages {
        let error = try_run(source, &symbols, &[("b", vector(&[1., 2.]))], "A").unwrap_err();
        shown += &format!("{error}\n");
    }
    expect_test::expect![[r#"
        iterator `k` is unbounded
        `b` has a negative index at position 1
        `A` is computed at [-1], outside its dimensions
        division by 0: `/` and `%` take a positive integer
        integer overflow in a subscript or comparison
        symbol `N` is negative: -1
        0 symbol values given, the program has 1 symbol
        element [1] of `b` is both unique and redundant
        element [1] of `b` leads to [2], which is not unique
        element [1] of `b` has two redundancies
        `b` has shape [3], not [2]
    "#]]
    .assert_eq(&shown);
}

#[test]
fn what_a_dynamic_tensor_does_not_store_is_zero() {
    let source = "
        symbols: N
        y(i) := A(i, j) * x(j) + b(i)
        A:D(i, j) := (0 <= i < N) * (0 <= j < N)
        A:F := csr
        x:D(j) := (0 <= j < N)
        b:D(i) := (0 <= i < N)
        b:F := C";
    let program = program(source);
    let of = |name: &str| program.find(name).unwrap();
    let evaluator = Evaluator::new(&program, &[2]).unwrap();
    let inputs = BTreeMap::from([
        (of("A"), matrix(2, 2, &[1., f64::NAN, 0., 3.])),
        (of("x"), vector(&[f64::INFINITY, 10.])),
        (of("b"), vector(&[5., 7.])),
    ]);
    // A stored zero counts, what is not stored does not, whatever the array holds there.
    let stored =
        BTreeMap::from([(of("A"), vec![true, false, false, true]), (of("b"), vec![false, true])]);
    let found = evaluator.run_stored(&inputs, &stored).unwrap().remove(&of("y")).unwrap();
    assert_eq!(found, vector(&[f64::INFINITY, 37.]));
    let all = BTreeMap::from([(of("A"), vec![true, false, true, true])]);
    let found = evaluator.run_stored(&inputs, &all).unwrap().remove(&of("y")).unwrap();
    assert!(found.data[1].is_nan()); // 0 * infinity
    // Without a pattern, what is not 0 is stored.
    let found = evaluator.run(&inputs).unwrap().remove(&of("y")).unwrap();
    assert!(found.data[0].is_nan() && found.data[1] == 37.);
    let short = BTreeMap::from([(of("b"), vec![true])]);
    assert!(matches!(
        evaluator.run_stored(&inputs, &short),
        Err(EvalError::WrongShape { tensor, .. }) if tensor == "b"
    ));
}

/// Rules of integers, with operands that floats do not hold, and what their only element is.
#[test]
fn integers_are_computed_exactly_and_wrap_around() {
    const LARGE: i64 = (1 << 53) + 1;
    let cases: &[(&str, &str, &str, [i64; 2], i64)] = &[
        ("i64", "i64", "a() + b()", [LARGE, 2], LARGE + 2),
        ("i64", "i64", "a() - b()", [LARGE, LARGE - 1], 1),
        ("i64", "i64", "a() * b()", [i64::MAX, 2], -2),
        ("i64", "i64", "3 * a() * N()", [LARGE, 0], 6 * LARGE),
        ("i32", "i32", "a() * b()", [1 << 20, (1 << 20) + 1], 1 << 20),
        ("i32", "i64", "a() * b()", [1 << 40, 1 << 30], 0),
        ("i32", "i32", "a() * b()", [i32::MAX.into(), i32::MAX.into()], 1),
        ("i8", "i8", "a() + b()", [100, 100], -56),
        ("u8", "u8", "a() * b()", [200, 2], 144),
        ("u8", "i64", "a()", [-1, 0], 255),
        ("i64", "i64", "abs(a())", [-LARGE, 0], LARGE),
        ("i64", "i64", "abs(a())", [i64::MIN, 0], i64::MIN),
        ("i64", "i64", "sign(a())", [-LARGE, 0], -1),
        ("i64", "i64", "min(a(), b())", [LARGE, LARGE - 1], LARGE - 1),
        ("i64", "i64", "max(a(), b())", [LARGE, LARGE - 1], LARGE),
        ("i64", "i64", "(a() > b())", [LARGE, LARGE - 1], 1),
        ("i64", "i64", "(a() = b())", [LARGE, LARGE - 1], 0),
        ("i64", "i64", "where(a() > b(), a(), b())", [LARGE, LARGE - 1], LARGE),
        ("i64", "i64", "i32(a())", [LARGE, 0], 1),
        ("i64", "i64", "u8(a() + b())", [255, 3], 2),
        ("i64", "f64", "i64(a())", [-7, 0], -7),
        ("i64", "i64", "i64(a() / 2)", [-7, 0], -3),
        ("bool", "i64", "or() a() * b()", [LARGE, 1 << 62], 1),
        // A head of floats takes integers as floats.
        ("f64", "i64", "a() - b()", [LARGE, LARGE - 1], 0),
        ("f64", "i64", "(a() > b())", [LARGE, LARGE - 1], 1),
    ];
    for (head, operands, body, values, wanted) in cases {
        let used = ["a", "b"].into_iter().filter(|name| body.contains(&format!("{name}()")));
        let types: String = used.map(|name| format!(", {name} = {operands}")).collect();
        let source = format!("symbols: N\ntypes: y = {head}{types}\ny() := {body}");
        let program = program(&source);
        let evaluator = Evaluator::new(&program, &[2]).unwrap();
        let inputs = ["a", "b"].iter().zip(values).filter_map(|(name, value)| {
            let (id, element) = (program.find(name)?, Element::named(operands)?);
            let data = Storage::from(vec![*value]).cast(element).ok()?;
            Some((id, Array { shape: Vec::new(), data }))
        });
        let results = evaluator.run_exact(&inputs.collect(), &BTreeMap::new()).unwrap();
        let found = &results[&program.find("y").unwrap()].0.data;
        let found = found.get(0).and_then(|found| found.number().to_i64());
        assert_eq!(found, Some(*wanted), "{source} of {values:?}");
    }
}
