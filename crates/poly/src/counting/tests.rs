//! The counters against each other, and against enumeration.

use super::*;
use crate::{Ratio, Set};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

fn counting(counter: Counter) -> Counting {
    Counting::new(Config { counter, ..Config::default() })
}

/// All values of `names` in `range`, one after the other.
fn assignments(names: &[String], range: std::ops::Range<i64>) -> Vec<Vec<(String, i64)>> {
    let mut all = vec![Vec::new()];
    for name in names {
        all = all
            .into_iter()
            .flat_map(|values: Vec<(String, i64)>| {
                range.clone().map(move |value| {
                    let mut values = values.clone();
                    values.push((name.clone(), value));
                    values
                })
            })
            .collect();
    }
    all
}

/// Both counters say the same of a set, as piecewise polynomials or else at all small parameters; and what enumeration
/// says.
fn agree(set: &Set) {
    let by_barvinok = counting(Counter::Barvinok).card(set).unwrap();
    let by_faulhaber = counting(Counter::Faulhaber).card(set).unwrap();
    let params = set.params().unwrap();
    // isl decides between few pieces at once, between many it takes seconds.
    let pieces = by_barvinok.pieces().unwrap().len() * by_faulhaber.pieces().unwrap().len();
    let equal = pieces <= 6 && by_barvinok.is_equal(&by_faulhaber).unwrap();
    let range = if params.len() > 1 { -1..6 } else { -3..24 };
    for (position, values) in assignments(&params, range).iter().enumerate() {
        if !equal {
            let (a, b) = (by_barvinok.eval(values, &[]), by_faulhaber.eval(values, &[]));
            assert_eq!(a, b, "{set} at {values:?}\n{by_barvinok}\n{by_faulhaber}");
        }
        if position % 6 == 0 {
            let fixed = set.fix_params(values).unwrap();
            let points = if set.is_params().unwrap() {
                usize::from(set.contains(values, &[]).unwrap())
            } else {
                fixed.points(100_000).unwrap().len()
            };
            let found = by_faulhaber.eval(values, &[]).unwrap();
            assert_eq!(found, Ratio::from_integer(points as i128), "{set} at {values:?}");
        }
    }
}

fn agree_on(text: &str) {
    agree(&Set::parse(&Context::new().unwrap(), text).unwrap());
}

#[test]
fn counters_agree_on_known_domains() {
    for text in [
        "{ [] }",
        "{ [i] : 1 = 0 }",
        "{ [i] : i = 3 }",
        "[N] -> { [] : N > 2 }",
        "[N] -> { : N > 2 }",
        "[N, M] -> { : N > M or N = 3 }",
        "[N] -> { [i] : 0 <= i < N }",
        "[N] -> { [i, j] : 0 <= j <= i < N }",
        "[N] -> { [i, j, k] : 0 <= k <= j <= i < N }",
        "[N] -> { [i, j, k, l] : 0 <= l <= k <= j <= i < N }",
        "[N, M] -> { [i, j] : 0 <= i < N and 0 <= j < M and i <= j }",
        "[N, M] -> { [i, j] : 0 <= i, j < N and -M <= i - j <= M }",
        "[N] -> { [i, j] : 0 <= i, j < N and -2 <= i - j <= 1 }",
        "[N] -> { [i, j] : 0 <= i, j < N and (i = j or i = N - 1 or j = N - 1) }",
        "[N] -> { [i] : 0 <= i < N and i mod 3 = 0 }",
        "[N] -> { [i, j] : 0 <= i, j < 2N and (i + j) mod 3 = 1 }",
        "[N] -> { [i, j] : 0 <= i, j < N and (i + j) mod 2 = 0 }",
        "[N] -> { [i, j] : 0 <= i < N and 2i <= j <= 3i }",
        "[N] -> { [i, j] : 0 <= 2i <= 3j <= N }",
        "[N] -> { [i, j] : 3i = 2j and 0 <= i < N }",
        "[N, M] -> { [i, j] : 3i + 5j = N and 0 <= i, j < M }",
        "[N] -> { [i, j, k] : 6i + 10j + 15k = N and 0 <= i, j, k <= N }",
        "[N] -> { [i] : 0 <= i < N and exists (a, b : i = 4a + 6b + 1) }",
        "[N] -> { [i, j] : 0 <= i, j < N and floor(i/4) = floor(j/4) }",
        "[N] -> { [i, j] : 0 <= i, j < N and floor((i + j)/3) >= floor((i - j)/2) }",
        "[N] -> { [i] : exists (a : 2i <= 5a <= 2i + 1 and 0 <= 3a <= N) }",
        "[N] -> { [i] : floor(N/3) <= 2i <= floor(N/2) + floor((N + 1)/5) }",
        "[N] -> { [i, j] : 7i + 12j >= 0 and -20 <= 7i - 12j <= 31 and i <= N }",
        "{ [i, j] : 0 <= i < 1000 and 0 <= j < 1000 and (j - i) mod 64 = 5 }",
        "[N] -> { [i, j] : 0 <= i, j < 64N and (j - i) mod 64 = 5 and i <= j }",
        "[P] -> { [i, j] : P >= 3 and i >= 0 and i < P and 0 <= j and j < 2P - i and 5 <= j + i }",
    ] {
        agree_on(text);
    }
}

#[test]
fn counters_agree_on_sums() {
    let context = Context::new().unwrap();
    for text in [
        "[N] -> { [i] -> i^2 : 0 <= i < N }",
        "[N] -> { [i, j] -> (i * j - N) : 0 <= i <= j < N; [i, j] -> 3 : 0 <= j < i < N }",
        "[N] -> { [i, j] -> (floor(i/3) * j + floor(N/2)) : 0 <= i, 2j <= N and j >= -2 }",
        "[N] -> { [i] -> floor((i + floor((N)/2))/3)^2 : 0 <= i <= N }",
        "{ [i] -> 1/3 * i : 0 <= i < 10 }",
    ] {
        let function = PwQPolynomial::parse(&context, text).unwrap();
        let by_barvinok = counting(Counter::Barvinok).sum(&function).unwrap();
        let by_faulhaber = counting(Counter::Faulhaber).sum(&function).unwrap();
        for values in assignments(&function.params().unwrap(), -2..30) {
            let (a, b) = (by_barvinok.eval(&values, &[]), by_faulhaber.eval(&values, &[]));
            assert_eq!(a, b, "{text} at {values:?}\n{by_barvinok}\n{by_faulhaber}");
        }
    }
}

#[test]
fn an_unbounded_summation_is_an_error() {
    let context = Context::new().unwrap();
    let set = Set::parse(&context, "[N] -> { [i, j] : i >= 0 and j >= i and j <= N }").unwrap();
    assert!(counting(Counter::Faulhaber).card(&set).is_ok());
    for text in ["{ [i] : i >= 0 }", "[N] -> { [i, j] : 0 <= i <= j }", "{ [i] }"] {
        let set = Set::parse(&context, text).unwrap();
        let mut budget = Budget::new(1000, None);
        let result = faulhaber::sum(&set, None, &mut budget);
        assert!(matches!(result, Err(Error::Infinite { .. })), "{text}: {result:?}");
    }
}

#[test]
fn a_spent_budget_is_an_error() {
    let text = "[N] -> { [i, j] : 0 <= i, j <= N and 1009i <= 1013j <= 1009i + 5000 }";
    let set = Set::parse(&Context::new().unwrap(), text).unwrap();
    let result = faulhaber::sum(&set, None, &mut Budget::new(40, None));
    assert!(matches!(result, Err(Error::TooComplex { limit: 40, .. })), "{result:?}");
}

#[test]
fn simplices_go_to_faulhaber_and_bands_to_barvinok() {
    let context = Context::new().unwrap();
    let asked = |text: &str| {
        let counting = Counting::new(Config::default());
        counting.card(&Set::parse(&context, text).unwrap()).unwrap();
        (counting.statistics().faulhaber, counting.statistics().barvinok)
    };
    assert_eq!(asked("{ [] }"), (1, 0));
    assert_eq!(asked("[N] -> { [i, j, k, l] : 0 <= i <= j <= k <= l < N }"), (1, 0));
    assert_eq!(asked("[N, M] -> { [i, j] : 0 <= i < N and i <= j < M }"), (0, 1));
    assert_eq!(asked("[N] -> { [i, j] : 0 <= i, j < N and -1 <= i - j <= 1 }"), (0, 1));
    assert_eq!(asked("[N] -> { [i] : 0 <= i < N and i mod 3 = 0 }"), (0, 1));
}

#[test]
fn numbers_beyond_machine_integers_go_to_barvinok() {
    let text = "[N] -> { [i] : 0 <= i < N + 100000000000000000000000 }";
    let set = Set::parse(&Context::new().unwrap(), text).unwrap();
    let counting = Counting::new(Config::default());
    let count = counting.card(&set).unwrap().eval(&[("N".into(), 5)], &[]).unwrap();
    assert_eq!(count, Ratio::from_integer(100_000_000_000_000_000_000_005));
    assert_eq!(counting.statistics().barvinok, 1);
}

/// A linear form in isl's notation.
fn linear(coefficients: &[i64], names: &[String], constant: i64) -> String {
    let terms = coefficients.iter().zip(names).map(|(c, name)| format!("{c}{name} + "));
    terms.collect::<String>() + &constant.to_string()
}

/// Random domains: rank 0 to 4, up to 2 parameters, within a box, with further constraints whose coefficients are up to
/// `size`; up to rank 3 with strides, floors or existential dimensions, up to rank 2 with one parameter unions of up
/// to 3.
/// (More of it at once keeps any counter busy for minutes.)
fn domains(size: i64) -> impl Strategy<Value = String> {
    let coefficients = move |count: usize| prop::collection::vec(-size..=size, count);
    (0usize..=4, 0usize..=2).prop_flat_map(move |(rank, params)| {
        let params = if rank > 3 || rank > 2 && size > 1 { params.min(1) } else { params };
        let most = [2, 2, 2, 1, 1][rank];
        let constraints = prop::collection::vec((coefficients(rank + params), -6i64..=6), 0..=most);
        let special = if rank > 3 { 3..6usize } else { 0..6usize };
        let basic = (constraints, (special, coefficients(rank + params), 2i64..5, 0i64..4));
        let most = if rank > 2 || params > 1 { 1 } else { 3 };
        let basics = prop::collection::vec(basic, 1..=most);
        // Boxes of higher rank are smaller, so that enumeration ends.
        let extent = [9, 9, 7, 4, 3][rank];
        (basics, 0..3i64).prop_map(move |(basics, slack)| {
            let dims: Vec<String> = (0..rank).map(|k| format!("x{k}")).collect();
            let params: Vec<String> = ["N", "M"][..params].iter().map(|p| (*p).into()).collect();
            let names: Vec<String> = dims.iter().chain(&params).cloned().collect();
            let mut bounds = vec!["1 = 1".to_owned()];
            for (k, dim) in dims.iter().enumerate() {
                bounds.push(match params.get(k % 2) {
                    Some(param) if k < 3 => format!("0 <= {dim} < {param} + {slack}"),
                    _ => format!("0 <= {dim} < {extent}"),
                });
            }
            let basics: Vec<String> = basics
                .into_iter()
                .map(|(constraints, (special, form, modulus, rest))| {
                    let mut all = bounds.clone();
                    for (form, constant) in constraints {
                        all.push(format!("{} >= 0", linear(&form, &names, constant)));
                    }
                    let form = linear(&form, &names, rest);
                    match special {
                        0 => all.push(format!("({form}) mod {modulus} = 0")),
                        1 => all.push(format!("floor(({form})/{modulus}) <= 1")),
                        2 => all.push(format!(
                            "exists (e : {modulus}e <= {form} <= {modulus}e + 1 and e >= -9)"
                        )),
                        _ => {}
                    }
                    all.join(" and ")
                })
                .collect();
            let (params, dims) = (params.join(", "), dims.join(", "));
            format!("[{params}] -> {{ [{dims}] : {} }}", basics.join(" or "))
        })
    })
}

/// The same domains in every run: a count of how many were compared has to be reliable.
fn agree_on_random(size: i64, count: usize) {
    let mut runner = TestRunner::deterministic();
    for _ in 0..count {
        agree_on(&domains(size).new_tree(&mut runner).unwrap().current());
    }
}

#[test]
fn counters_agree_on_300_random_domains_with_unit_coefficients() {
    agree_on_random(1, 300);
}

#[test]
fn counters_agree_on_250_random_domains_with_other_coefficients() {
    agree_on_random(2, 250);
}
