//! Layouts of sets, compared with enumeration.

mod choices;
mod families;
mod unions;

use dastac_poly::{Context, Set};

use crate::{Layout, LayoutError, Proof};

/// Every stored element has its own position in `0..size`, at all given symbol values.
fn places(layout: &Layout, name: &str, samples: &[&[i64]]) {
    for values in samples {
        let symbols: Vec<(String, i64)> =
            layout.symbols.iter().cloned().zip(values.iter().copied()).collect();
        let named: Vec<(&str, i64)> = symbols.iter().map(|(n, v)| (n.as_str(), *v)).collect();
        let bound = layout.bind(&named).unwrap();
        let points = layout.stored.fix_params(&symbols).unwrap().points(100_000).unwrap();
        let mut positions: Vec<i64> =
            points.iter().map(|p| bound.index_of(p).unwrap().unwrap()).collect();
        positions.sort_unstable();
        let expected: Vec<i64> = (0..bound.size()).collect();
        assert_eq!(positions, expected, "{name} at {symbols:?}: {}", layout.index);
    }
}

/// Every stored element has its own position in `0..size`, in lexicographic order, at all given symbol values.
fn check(text: &str, order: Option<&[usize]>, samples: &[&[i64]]) -> Layout {
    let context = Context::new().unwrap();
    let set = Set::parse(&context, text).unwrap();
    let layout = match order {
        None => Layout::from_set(&set).unwrap(),
        Some(order) => Layout::with_order(&set, order).unwrap(),
    };
    for values in samples {
        let symbols: Vec<(String, i64)> =
            layout.symbols.iter().cloned().zip(values.iter().copied()).collect();
        let points = layout.stored.fix_params(&symbols).unwrap().points(100_000).unwrap();
        let named: Vec<(&str, i64)> = symbols.iter().map(|(n, v)| (n.as_str(), *v)).collect();
        let bound = layout.bind(&named).unwrap();
        assert_eq!(bound.size(), i64::try_from(points.len()).unwrap(), "{text} at {symbols:?}");
        let mut keyed: Vec<(Vec<i64>, i64)> = points
            .iter()
            .map(|p| {
                let key = layout.order.iter().map(|&k| p[k]).collect();
                (key, bound.index_of(p).unwrap().unwrap())
            })
            .collect();
        keyed.sort();
        let positions: Vec<i64> = keyed.into_iter().map(|(_, position)| position).collect();
        let expected: Vec<i64> = (0..bound.size()).collect();
        assert_eq!(positions, expected, "{text} at {symbols:?}: {}", layout.index);
    }
    layout
}

const ONE: &[&[i64]] = &[&[0], &[1], &[2], &[3], &[7], &[11]];
const TWO: &[&[i64]] = &[&[0, 0], &[0, 3], &[1, 1], &[2, 5], &[5, 2], &[7, 7], &[3, 11]];

#[test]
fn families() {
    let cases: &[(&str, &[&[i64]], usize, &str)] = &[
        ("[N] -> { [i] : 0 <= i < N }", ONE, 1, "i"),
        ("[N] -> { [i, j] : 0 <= i <= j < N }", ONE, 1, "N*i - 1/2*i^2 - 1/2*i + j"),
        ("[N] -> { [i, j] : 0 <= j <= i < N }", ONE, 1, "1/2*i^2 + 1/2*i + j"),
        ("[N] -> { [i, j] : 0 <= i < N and j = i }", ONE, 1, "i"),
        ("[N] -> { [i, j] : 0 <= i < j < N }", ONE, 1, "N*i - 1/2*i^2 - 3/2*i + j - 1"),
        ("[M, N] -> { [i, j] : 0 <= i < M and 0 <= j < N }", TWO, 1, "N*i + j"),
        ("[M, N] -> { [i, j] : 0 <= i < M and i <= j < N }", TWO, 1, "N*i - 1/2*i^2 - 1/2*i + j"),
        ("[N] -> { [i, j] : i = 0 and 0 <= j < N or 1 <= i < N and j = i - 1 }", ONE, 2, ""),
        ("[N] -> { [i, j, k] : 0 <= i <= j <= k < N }", ONE, 1, ""),
        ("[N] -> { [i, j, k, l] : 0 <= i <= j <= k <= l < N }", &[&[0], &[1], &[2], &[5]], 1, ""),
        ("[J, N] -> { [i, j] : 0 <= i < N and j = J and 0 <= J < N }", TWO, 1, "i"),
        ("{ [] }", &[&[]], 0, "0"),
    ];
    for (text, samples, pieces, index) in cases {
        let layout = check(text, None, samples);
        assert_eq!(layout.index.pieces.len(), *pieces, "{text}: {}", layout.index);
        if !index.is_empty() {
            assert_eq!(layout.index.to_string(), *index, "{text}");
        }
        assert_eq!(layout.prove_bijection().unwrap(), Proof::Proven, "{text}: {}", layout.index);
    }
}

#[test]
fn orders() {
    let layout = check("[M, N] -> { [i, j] : 0 <= i < M and 0 <= j < N }", Some(&[1, 0]), TWO);
    assert_eq!(layout.index.to_string(), "M*j + i");
    check("[M, N] -> { [i, j] : 0 <= i < M and i <= j < N }", Some(&[1, 0]), TWO);
}

#[test]
fn quasi_polynomials() {
    check("[N] -> { [i] : 0 <= i < N and i mod 3 = 0 }", None, ONE);
    check("[N] -> { [i, j] : 0 <= i < N and 0 <= j < N and (i + j) mod 2 = 0 }", None, ONE);
}

#[test]
fn bands_fuse() {
    let layout =
        check("[N] -> { [i, j] : 0 <= i < N and 0 <= j < N and i - 1 <= j <= i + 1 }", None, ONE);
    assert_eq!(layout.index.to_string(), "2*i + j");
}

#[test]
fn overflow_names_the_tensor() {
    let set = Set::parse(&Context::new().unwrap(), "[N] -> { [i, j, k] : 0 <= i <= j <= k < N }")
        .unwrap();
    let layout = Layout::from_set(&set).unwrap();
    let symbols = [("N".to_string(), 1 << 30)];
    let error = layout.check_range("B", &symbols).unwrap_err();
    assert_eq!(error.to_string(), "the packed index of `B` overflows 64 bits for these sizes");
    assert!(layout.check_range("B", &[("N".to_string(), 1 << 10)]).is_ok());
}

#[test]
fn infinite_sets_are_errors() {
    let set = Set::parse(&Context::new().unwrap(), "{ [i] : i >= 0 }").unwrap();
    assert!(Layout::from_set(&set).is_err());
}

#[test]
fn code_text() {
    let set = Set::parse(&Context::new().unwrap(), "[N] -> { [i, j] : 0 <= i <= j < N }").unwrap();
    let layout = Layout::from_set(&set).unwrap();
    assert_eq!(layout.to_c().unwrap(), "N*i - ((i + 1)*i / 2) + j");
    assert_eq!(layout.to_rust().unwrap(), "N*i - ((i + 1)*i / 2) + j");
}

#[test]
fn sizes_read_well_for_positive_symbols() {
    let set = Set::parse(
        &Context::new().unwrap(),
        "[M, N, Q] -> { [i, j] : 0 <= i < M and i <= j < N and Q > 0 }",
    )
    .unwrap();
    let layout = Layout::from_set(&set).unwrap();
    assert_eq!(
        layout.size.for_positive_symbols().unwrap().to_string(),
        "{ M*N - 1/2*M^2 + 1/2*M if N > M; 1/2*N^2 + 1/2*N if N <= M }"
    );
}

/// What a tensor's structure is to blame for names it and its place; what it is not, stays as it is.
#[test]
fn failures_name_the_tensor() {
    let text = "symbols: N\ny(i) := B(i) * x(i)\nx:D(i) := (0 <= i < N)\nB:D(i) := (0 <= i < N)";
    let (program, _) = dastac_stur::load(text).unwrap();
    let blamed = |error: LayoutError, tensor: &str| {
        error.blamed("the layout", &program, program.find(tensor).unwrap())
    };
    let slow = || dastac_poly::Error::TooSlow { seconds: 1 };
    let complex = dastac_poly::Error::TooComplex { operation: "isl_set_union", limit: 7 };
    let form = || LayoutError::Unsupported("the condition x".into());
    for (error, tensor, code, start) in [
        (LayoutError::from(complex), "B", "E0206", "B:D"),
        (slow().into(), "y", "E0206", "y(i) :="),
        (LayoutError::Beyond128, "x", "E0206", "x:D"),
        (form(), "B", "E0900", "B:D"),
        (LayoutError::Gaps, "B", "E0121", "B:D"),
    ] {
        let LayoutError::Program(found) = blamed(error, tensor) else { panic!("{tensor}: {code}") };
        assert_eq!(found[0].code, code);
        assert!(found[0].message.contains(&format!(" of `{tensor}`")), "{}", found[0].message);
        assert!(text[found[0].labels[0].0.start..].starts_with(start), "{found:?}");
    }
    let defect = dastac_poly::Error::DifferentContexts;
    assert!(matches!(blamed(defect.into(), "B"), LayoutError::Poly(_)));
}

/// Tensors that differ in numbers share what is found; each has the layout that it would have alone.
#[test]
fn layouts_of_a_family_are_those_of_each() {
    let count = 6;
    let products: Vec<String> = (0..count).map(|w| format!("B{w}(i, j) * C{w}(j, k)")).collect();
    let mut source = format!("symbols: N\nA(i, k) := {}\n", products.join(" + "));
    for w in 0..count {
        source += &format!("B{w}:D(i, j) := (0 <= i < N) * (0 <= j < 64)\n");
        source += &format!("B{w}:U(i, j) := ((j - i) % 64 = {}) * (i >= {w})\n", 7 * w + 3);
        source += &format!("C{w}:D(j, k) := (0 <= j < 64) * (0 <= k < 64)\n");
        source += &format!("C{w}:U(j, k) := (j + {} <= k)\n", 2 * w);
    }
    let (program, _) = dastac_stur::load(&source).unwrap();
    let inferred = dastac_stur::infer::infer(&program, &Context::new().unwrap()).unwrap();
    for (id, shared) in inferred.program.tensor_ids().zip(Layout::all(&inferred).unwrap()) {
        let own = Layout::of(&inferred, id).unwrap();
        let name = &inferred.program.tensor(id).name;
        assert_eq!(shared.parts.len(), own.parts.len(), "{name}");
        assert_eq!(shared.symbols, own.symbols, "{name}");
        for symbol in [0, 1, 70] {
            let values = [("N", symbol)];
            let (shared, own) = (shared.bind(&values).unwrap(), own.bind(&values).unwrap());
            assert_eq!(shared.size(), own.size(), "{name} at N = {symbol}");
            for point in (0..70 * 64).step_by(11) {
                let at = [point / 64, point % 64];
                let (place, expected) = (shared.index_of(&at), own.index_of(&at));
                assert_eq!(place.unwrap(), expected.unwrap(), "{name}{at:?} at N = {symbol}");
            }
        }
    }
}

/// Names that the compiler makes up for itself are none of the program's.
#[test]
fn symbols_of_any_name() {
    let layout = |symbol: &str| {
        let text = format!(
            "[{symbol}] -> {{ [i, j] : (j - i - {symbol}) mod 64 = 0 and 0 <= i, j < 64 and 0 <= {symbol} < 5 }}"
        );
        Layout::from_set(&Set::parse(&Context::new().unwrap(), &text).unwrap()).unwrap()
    };
    for symbol in ["N", "c0", "c1", "i0", "i1", "c0_", "i_0", "j_i", "i_1"] {
        assert_eq!(layout(symbol).index.to_string(), layout("N").index.to_string(), "{symbol}");
        assert_eq!(layout(symbol).bind(&[(symbol, 3)]).unwrap().size(), 64, "{symbol}");
    }
}

/// Of hundreds of strided diagonals, neighbours are described together.
#[test]
fn hundreds_of_diagonals_partition_their_union() {
    let c = Context::new().unwrap();
    let diagonal = |t: usize| {
        let text = format!("{{ [i, k] : (k - i) mod 997 = {t} and 0 <= i, k < 997 }}");
        Set::parse(&c, &text).unwrap()
    };
    let parts: Vec<Set> = (0..160).map(|w| diagonal(w * w * 7 % 997)).collect();
    let whole = Set::union_of(&parts).unwrap().unwrap().simplify().unwrap();
    assert!(whole.equalities().unwrap().iter().any(Vec::is_empty));
    let is_partition =
        |parts: &[Set]| crate::partition(parts, &whole.basic_sets().unwrap()).unwrap();
    assert!(is_partition(&parts));
    assert!(!is_partition(&parts[1..]));
    assert!(!is_partition(&[parts.as_slice(), &parts[..1]].concat()));
}

#[test]
fn padding_makes_one_polynomial() {
    let context = Context::new().unwrap();
    // The number of places at N = 100 beside that of the elements.
    let cases = [
        (
            "[N] -> { [i, j, k] : 0 <= i < N and i - 2 <= j <= i + 3 and 0 <= j < N and 0 <= k <= j + 5 and k < N }",
            2,
        ),
        (
            "[N] -> { [i, j, k, l] : 0 <= i, l < N and i <= j <= i + 24 and 0 <= k <= l + 1 and k < N and l + j < N }",
            3,
        ),
        ("[N] -> { [i, j, k] : 0 <= i, j, k < N and floor(j/46) = floor(k/46) }", 2),
        ("[N] -> { [i, j, k, l] : 0 <= i, j, k, l < N and floor(k/4) = floor(i/4) and l <= j }", 2),
        (
            "[M, N] -> { [i, j, k, l] : 0 <= i, l < M and 0 <= j, k < N and j <= k <= j + 1 and l <= i + 9 }",
            2,
        ),
    ];
    for (text, times) in cases {
        let set = Set::parse(&context, text).unwrap();
        let layout = Layout::builder(&set).padding(true).build().unwrap();
        assert_eq!(layout.index.pieces.len(), 1, "{text}: {}", layout.index);
        assert!(layout.padded, "{text}");
        assert_eq!(layout.prove_bijection().unwrap(), Proof::Proven, "{text}: {}", layout.index);
        for size in [0, 1, 2, 7, 11] {
            let symbols: Vec<(String, i64)> =
                layout.symbols.iter().map(|name| (name.clone(), size)).collect();
            let named: Vec<(&str, i64)> = symbols.iter().map(|(n, v)| (n.as_str(), *v)).collect();
            let bound = layout.bind(&named).unwrap();
            let points = layout.stored.fix_params(&symbols).unwrap().points(100_000).unwrap();
            let mut places: Vec<i64> =
                points.iter().map(|point| bound.index_of(point).unwrap().unwrap()).collect();
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), points.len(), "{text} at {size}");
            assert!(
                places.iter().all(|place| (0..bound.size()).contains(place)),
                "{text} at {size}"
            );
        }
        let exact =
            Layout::from_set(&set.fix_params(&[("N".into(), 100), ("M".into(), 90)]).unwrap());
        let named = [("N", 100), ("M", 90)];
        let places = layout.bind(&named[..layout.symbols.len().max(1)]).map(|bound| bound.size());
        if let (Ok(exact), Ok(places)) = (exact, places) {
            let elements = exact.bind(&[]).unwrap().size();
            assert!((elements..elements * times).contains(&places), "{text}: {places}, {elements}");
        }
    }
}
