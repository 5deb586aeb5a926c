use crate::*;
use expect_test::{Expect, expect};
use proptest::prelude::*;
use std::process::Command;

mod asts;

fn context() -> Context {
    Context::new().unwrap()
}

fn set(text: &str) -> Set {
    Set::parse(&context(), text).unwrap()
}

fn map(text: &str) -> Map {
    Map::parse(&context(), text).unwrap()
}

fn at(values: &[(&str, i64)]) -> Vec<(String, i64)> {
    values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

fn check(actual: impl ToString, expected: Expect) {
    expected.assert_eq(&actual.to_string());
}

/// The rank polynomial against the position in the sorted list of points, and its pieces over the
/// set against both. Each point must be in exactly one piece.
fn check_ranks(domain: &Set, params: &[(String, i64)]) {
    let ranks = domain.rank_polynomial().unwrap();
    let pieces = ranks.pieces_over(domain).unwrap();
    let points = domain.fix_params(params).unwrap().points(10_000).unwrap();
    for (position, point) in points.iter().enumerate() {
        let expected = Ratio::from_integer(position as i128);
        assert_eq!(ranks.eval(params, point).unwrap(), expected, "{domain} at {point:?}");
        let mut values = pieces
            .iter()
            .filter(|(piece, _)| piece.contains(params, point).unwrap())
            .map(|(_, polynomial)| polynomial.eval(params, point).unwrap());
        assert_eq!(values.next(), Some(expected), "{domain} at {point:?}");
        assert_eq!(values.next(), None, "{domain} at {point:?}");
    }
    let count = domain.card().unwrap().eval(params, &[]).unwrap();
    assert_eq!(count, Ratio::from_integer(points.len() as i128), "{domain}");
}

#[test]
fn isl_is_recent_and_barvinok_is_there() {
    assert!(Context::version().unwrap().starts_with("isl-0."));
    assert!(Context::has_barvinok());
}

#[test]
fn notation_round_trips() {
    for text in [
        "[N] -> { [i, j] : 0 <= j <= i < N }",
        "{ S[i] : (i) mod 3 = 0 and 0 <= i <= 30; }",
        "[n] -> { : n > 0 }",
        "{ A[i] : 1 = 0 }",
    ] {
        let once = set(text);
        let again = Set::parse(once.context(), &once.to_string()).unwrap();
        assert!(once.is_equal(&again).unwrap(), "{once}");
        assert_eq!(once.to_string(), again.to_string());
    }
    let m = map("[N] -> { A[i, j] -> [j, i] : i < N }");
    assert!(m.is_equal(&Map::parse(m.context(), &m.to_string()).unwrap()).unwrap());
    let p =
        PwQPolynomial::parse(&context(), "[N] -> { [i] -> (1/2 * i + floor((i)/2) * N) : i > 0 }");
    let p = p.unwrap();
    assert!(p.is_equal(&PwQPolynomial::parse(p.context(), &p.to_string()).unwrap()).unwrap());
    check(&p, expect!["[N] -> { [i] -> (1/2 * i + N * floor((i)/2)) : i > 0 }"]);
}

#[test]
fn names_are_kept_and_found() {
    let s = set("[N, M] -> { S[i, j, k] : 0 <= i < N and 0 <= j < M and k = i + j }");
    assert_eq!(s.params().unwrap(), ["N", "M"]);
    assert_eq!(s.dims().unwrap(), ["i", "j", "k"]);
    assert_eq!((s.rank(), s.tuple_name().as_deref()), (3, Some("S")));
    check(
        s.with_tuple_name(None).unwrap().with_dim_names(&["a", "b", "c"]).unwrap(),
        expect!["[N, M] -> { [a, b, c = a + b] : 0 <= a < N and 0 <= b < M }"],
    );
    check(
        s.project_onto(&["k", "i"]).unwrap(),
        expect!["[N, M] -> { [i, k] : 0 <= i < N and i <= k < M + i }"],
    );
    check(
        s.project_out(&["i"]).unwrap(),
        expect!["[N, M] -> { [j, k] : 0 <= j < M and j <= k < N + j }"],
    );
    let permuted = s.permute(&[2, 0, 1]).unwrap();
    check(
        &permuted,
        expect!["[N, M] -> { S[k, i, j = k - i] : i >= 0 and -M + k < i <= k and i < N }"],
    );
    assert!(permuted.permute(&[1, 2, 0]).unwrap().is_equal(&s).unwrap());
    assert!(matches!(s.permute(&[0, 0, 1]), Err(Error::Shape { .. })));
    assert!(matches!(s.project_out(&["x"]), Err(Error::NoSuchDimension { .. })));
    assert_eq!(set("{ [3, i] }").dims().unwrap(), ["", "i"]);
}

#[test]
fn set_operations() {
    let triangle = set("[N] -> { [i, j] : 0 <= j <= i < N }");
    let square = Set::parse(triangle.context(), "[M] -> { [i, j] : 0 <= i, j < M }").unwrap();
    let both = triangle.intersect(&square).unwrap();
    check(&both, expect!["[M, N] -> { [i, j] : 0 <= i < N and i < M and 0 <= j <= i and j < M }"]);
    assert!(both.is_subset(&triangle).unwrap() && !triangle.is_subset(&square).unwrap());
    assert!(triangle.subtract(&both).unwrap().union(&both).unwrap().is_equal(&triangle).unwrap());
    assert!(triangle.complement().unwrap().is_disjoint(&triangle).unwrap());
    assert!(
        triangle.is_bounded().unwrap() && !triangle.complement().unwrap().is_bounded().unwrap()
    );
    assert!(triangle.lexmin().unwrap().is_singleton().unwrap());
    check(triangle.lexmax().unwrap(), expect!["[N] -> { [i = -1 + N, j = -1 + N] : N > 0 }"]);
    check(triangle.dim_max(1).unwrap(), expect!["[N] -> { [(-1 + N)] : N > 0 }"]);
    check(triangle.params_set().unwrap(), expect!["[N] -> {  : N > 0 }"]);
    let params = Set::parse(triangle.context(), "[N] -> { : N = 3 }").unwrap();
    check(
        triangle.intersect_params(&params).unwrap().drop_unused_params().unwrap(),
        expect!["[N] -> { [i, j] : N = 3 and i <= 2 and 0 <= j <= i }"],
    );
    assert!(triangle.has_dim_upper_bound(0).unwrap());
    assert!(!set("{ [i] : i >= 0 }").has_dim_upper_bound(0).unwrap());
    assert_eq!(set("{ [i] : i = 1 or i = 5 }").basic_sets().unwrap().len(), 2);
    let split = set("{ [i, j] : (0 <= i < 5 and j = 3) or (5 <= i < 9 and j = 3) }");
    check(split.simplify().unwrap(), expect!["{ [i, j = 3] : 0 <= i <= 8 }"]);
    assert!(set("{ [i] : exists e : i = 2e and 0 <= i <= 10 }").is_bounded().unwrap());
    assert!(set("{ [i] : exists e : e >= i and 0 <= i <= 10 }").is_bounded().unwrap());
}

#[test]
fn points_are_sorted_and_limited() {
    let s = set("[N] -> { [i, j] : 0 <= j <= i < N }");
    let fixed = s.fix_params(&at(&[("N", 3), ("unused", 7)])).unwrap();
    assert_eq!(
        fixed.points(6).unwrap(),
        [[0, 0], [1, 0], [1, 1], [2, 0], [2, 1], [2, 2]].map(Vec::from)
    );
    assert_eq!(fixed.points(5).unwrap_err(), Error::TooManyPoints { limit: 5 });
    assert_eq!(s.points(5).unwrap_err(), Error::MissingParameter { name: "N".into() });
    assert!(matches!(set("{ [i] : i > 0 }").points(5), Err(Error::Infinite { .. })));
    assert_eq!(set("{ [i] : 1 = 0 }").points(5).unwrap(), Vec::<Vec<i64>>::new());
    assert_eq!(set("{ [] }").points(5).unwrap(), [Vec::<i64>::new()]);
    assert!(s.contains(&at(&[("N", 3)]), &[2, 1]).unwrap());
    assert!(!s.contains(&at(&[("N", 2)]), &[2, 1]).unwrap());
    assert!(matches!(s.contains(&at(&[("N", 2)]), &[2]), Err(Error::Shape { .. })));
    let point = s.sample().unwrap().unwrap();
    assert!(s.contains(&point.params, &point.coords).unwrap());
    assert_eq!(set("{ [i] : 1 = 0 }").sample().unwrap(), None);
    let far = set("{ [i] : i = 9223372036854775808 }");
    assert_eq!(far.points(1).unwrap_err(), Error::Overflow { value: "9223372036854775808".into() });
}

#[test]
fn maps() {
    let m = map("[N] -> { A[i, j] -> B[j, i] : 0 <= i, j < N }");
    assert_eq!((m.in_rank(), m.out_rank()), (2, 2));
    assert_eq!(m.in_tuple_name().as_deref(), Some("A"));
    assert!(m.is_injective().unwrap() && m.is_bijective().unwrap());
    assert!(m.reverse().unwrap().reverse().unwrap().is_equal(&m).unwrap());
    check(m.range().unwrap(), expect!["[N] -> { B[i0, i1] : 0 <= i0 < N and 0 <= i1 < N }"]);
    check(
        m.wrap().unwrap(),
        expect!["[N] -> { [A[i, j] -> B[j, i]] : 0 <= i < N and 0 <= j < N }"],
    );
    assert!(m.wrap().unwrap().unwrap_map().unwrap().is_equal(&m).unwrap());
    let image = m.image_of_point(&at(&[("N", 5)]), &[1, 3]).unwrap();
    assert_eq!(image.points(9).unwrap(), [[3, 1]]);
    assert!(m.image_of_point(&at(&[("N", 2)]), &[1, 3]).unwrap().is_empty().unwrap());
    let many = map("{ [i] -> [j] : 0 <= j <= i }");
    assert!(!many.is_single_valued().unwrap());
    assert!(matches!(many.as_pieces(), Err(Error::Isl { .. })));
    check(many.card().unwrap(), expect!["{ [i] -> (1 + i) : i >= 0 }"]);
    assert!(matches!(map("{ [i] -> [j] : j <= i }").card(), Err(Error::Infinite { .. })));
    check(
        m.with_in_tuple_name(Some("X")).unwrap().with_out_dim_names(&["p", "q"]).unwrap(),
        expect!["[N] -> { X[i, j] -> B[p = j, q = i] : 0 <= i < N and 0 <= j < N }"],
    );
}

#[test]
fn single_valued_maps_are_affine_pieces() {
    let m = map(
        "[N] -> { [i, j] -> [i + N - 2, floor((i + 2 * j)/3)] : i >= j; [i, j] -> [j, 7] : i < j }",
    );
    let mut text = String::new();
    for (domain, outputs) in m.as_pieces().unwrap() {
        let outputs: Vec<_> =
            outputs.iter().map(|aff| aff.expr().unwrap().to_text(&["i", "j"])).collect();
        text += &format!("{domain}: {outputs:?}\n");
    }
    check(
        text,
        expect![[r#"
        [N] -> { [i, j] : j <= i }: ["N + i - 2", "j + floor((i - j)/3)"]
        [N] -> { [i, j] : j > i }: ["j", "7"]
    "#]],
    );
}

#[test]
fn affine_expressions_as_trees() {
    let pw = PwAff::parse(&context(), "[N] -> { [i] -> [(N - 3 * floor((2i + 1)/5))/4] : i >= 0 }");
    let pieces = pw.unwrap().pieces().unwrap();
    let (_, aff) = &pieces[0];
    let expr = aff.expr().unwrap();
    check(expr.to_text(&["i"]), expect!["(N - 3*floor((2*i + 1)/5))/4"]);
    assert_eq!(expr.denominator, 4);
    assert_eq!(expr.params, at(&[("N", 1)]));
    assert_eq!(expr.eval(&at(&[("N", 10)]), &[4]).unwrap(), Ratio::new(7, 4));
    assert_eq!(aff.param_coefficient("N").unwrap(), Ratio::new(1, 4));
    assert!(!aff.is_constant().unwrap());
    assert!(matches!(expr.eval(&[], &[4]), Err(Error::MissingParameter { .. })));
    let s = set("[N] -> { [i] : 0 <= 2i < N }");
    let max = s.dim_max(0).unwrap();
    assert_eq!(max.eval(&at(&[("N", 8)]), &[]).unwrap(), Some(3.into()));
    assert_eq!(max.eval(&at(&[("N", 0)]), &[]).unwrap(), None);
}

#[test]
fn sizes_of_simplices() {
    check(
        set("[N] -> { [i, j] : 0 <= j <= i < N }").card().unwrap(),
        expect!["[N] -> { (1/2 * N + 1/2 * N^2) : N > 0 }"],
    );
    check(
        set("[N] -> { [i, j, k] : 0 <= k <= j <= i < N }").card().unwrap(),
        expect!["[N] -> { (1/3 * N + 1/2 * N^2 + 1/6 * N^3) : N > 0 }"],
    );
    check(set("{ [i] : 1 = 0 }").card().unwrap(), expect!["{ 0 }"]);
    check(set("[N] -> { : N > 2 }").card().unwrap(), expect!["[N] -> { 1 : N >= 3 }"]);
}

#[test]
fn infinite_counts_are_errors() {
    let texts = ["{ [i] : i <= 0 }", "[N] -> { [i, j] : 0 <= i < N }", "{ [i] : i < 0 or i > 5 }"];
    for text in texts {
        assert!(matches!(set(text).card(), Err(Error::Infinite { .. })), "{text}");
        assert!(matches!(set(text).rank_polynomial(), Err(Error::Infinite { .. })), "{text}");
    }
    // Infinitely many points, but finitely many before each.
    let naturals = set("{ [i] : i >= 0 }");
    assert!(matches!(naturals.card(), Err(Error::Infinite { .. })));
    check(naturals.rank_polynomial().unwrap(), expect!["{ [i] -> i : i > 0 }"]);
    let sum = PwQPolynomial::parse(&context(), "{ [i] -> i : i > 0 }").unwrap().sum();
    assert!(matches!(sum, Err(Error::Infinite { .. })));
}

#[test]
fn ranks_are_positions() {
    let n = at(&[("N", 7)]);
    for text in [
        "[N] -> { [i, j] : 0 <= j <= i < N }",
        "[N] -> { [i, j] : 0 <= i <= j < N }",
        "[N] -> { [i, j] : 0 <= i, j < N and -2 <= i - j <= 1 }",
        "[N] -> { [i, j, k] : 0 <= k <= j <= i < N }",
        "[N] -> { [i, j, k] : 0 <= i <= j <= k < N }",
        "[N] -> { [i] : 0 <= i < N and i mod 3 = 0 }",
        "[N] -> { [i, j] : 0 <= i, j < 2N and (i + j) mod 3 = 1 }",
        "[N] -> { [i, j] : 0 <= i < N and (j = i or j = N - 1) }",
        "[N] -> { [i, j] : 0 <= i < N and 2i <= j <= 3i }",
        "{ [i] : i = 3 }",
        "{ [] }",
        "{ [i] : 1 = 0 }",
    ] {
        check_ranks(&set(text), &n);
    }
}

#[test]
fn rank_of_the_triangle_is_the_known_polynomial() {
    let triangle = set("[N] -> { [i, j] : 0 <= j <= i < N }");
    let ranks = triangle.rank_polynomial().unwrap();
    check(
        &ranks,
        expect![
            "[N] -> { [i, j] -> (1/2 * i + 1/2 * i^2) : j = 0 and i > 0; \
             [i, j] -> ((1/2 * i + 1/2 * i^2) + j) : j > 0 }"
        ],
    );
    let text = "{ [i, j] -> (1/2 * i + 1/2 * i^2 + j) }";
    let known = PwQPolynomial::parse(triangle.context(), text).unwrap();
    let difference = known.sub(&ranks).unwrap().intersect_domain(&triangle).unwrap();
    // The first point has no piece and the value 0, which the polynomial has there too.
    assert!(difference.is_zero().unwrap(), "{difference}");
    let (_, inner) = ranks.pieces().unwrap().pop().unwrap();
    check(
        format!("{:#?}", inner.terms().unwrap()),
        expect![[r#"
        [
            Term {
                coefficient: Ratio {
                    numer: 1,
                    denom: 2,
                },
                factors: [
                    (
                        Dim(
                            0,
                        ),
                        1,
                    ),
                ],
            },
            Term {
                coefficient: Ratio {
                    numer: 1,
                    denom: 2,
                },
                factors: [
                    (
                        Dim(
                            0,
                        ),
                        2,
                    ),
                ],
            },
            Term {
                coefficient: Ratio {
                    numer: 1,
                    denom: 1,
                },
                factors: [
                    (
                        Dim(
                            1,
                        ),
                        1,
                    ),
                ],
            },
        ]"#]],
    );
}

#[test]
fn periodic_sets_have_floors_in_their_rank() {
    let s = set("[N] -> { [i, j] : 0 <= i, j < N and j mod 3 = 0 }");
    let ranks = s.rank_polynomial().unwrap();
    let terms = ranks.pieces().unwrap()[0].1.terms().unwrap();
    let floors: Vec<String> = terms
        .iter()
        .flat_map(|term| &term.factors)
        .filter_map(|(atom, _)| match atom {
            Atom::Floor(linear) => Some(linear.to_text(&["i", "j"])),
            _ => None,
        })
        .collect();
    check(format!("{floors:?}"), expect![[r#"["(N + 2)/3"]"#]]);
}

#[test]
fn polynomials() {
    let c = context();
    let p =
        PwQPolynomial::parse(&c, "[N] -> { [i] -> i^2 : 0 <= i < N; [i] -> N : i >= N }").unwrap();
    let at_5 = at(&[("N", 5)]);
    for (i, value) in [(-1, 0), (3, 9), (5, 5), (9, 5)] {
        assert_eq!(p.eval(&at_5, &[i]).unwrap(), Ratio::from_integer(value));
    }
    let fixed = p.fix_params(&at_5).unwrap();
    check(&fixed, expect!["{ [i] -> 5 : i >= 5; [i] -> i^2 : 0 <= i <= 4 }"]);
    assert_eq!(fixed.params().unwrap(), Vec::<String>::new());
    assert!(p.sub(&p).unwrap().is_zero().unwrap());
    assert!(p.add(&p).unwrap().is_equal(&p.scale(2, 1).unwrap()).unwrap());
    assert!(!p.is_equal(&p.neg().unwrap()).unwrap());
    let rebuilt = PwQPolynomial::from_pieces(&p.pieces().unwrap()).unwrap();
    assert!(rebuilt.is_equal(&p).unwrap());
    assert!(matches!(PwQPolynomial::from_pieces(&[]), Err(Error::Shape { .. })));
    assert!(
        p.domain()
            .unwrap()
            .is_equal(
                &Set::parse(
                    &c,
                    "[N] -> { [i] : i >= 0 and (i < N or i >= N) and not (i = 0 and N > 0) }"
                )
                .unwrap()
            )
            .is_ok()
    );
    let domain = Set::parse(&c, "[N] -> { [i] : 0 <= i < N }").unwrap();
    check(
        p.intersect_domain(&domain).unwrap().sum().unwrap(),
        expect!["[N] -> { (1/6 * N - 1/2 * N^2 + 1/3 * N^3) : N > 0 }"],
    );
    let (set, square) = &p.pieces().unwrap()[0];
    let line = Set::parse(&c, "[M] -> { [i] : i = 2M }").unwrap();
    check(square.gist(&line).unwrap(), expect!["[M, N] -> { [i] -> 4 * M^2 }"]);
    assert!(square.sub(square).unwrap().is_zero().unwrap());
    assert!(!square.is_constant().unwrap());
    assert!(QPolynomial::constant(set, 3).unwrap().is_constant().unwrap());
    let big = PwQPolynomial::parse(&c, "{ [i] -> 1/3 * i^5 }").unwrap();
    let value = big.eval(&[], &[1_000_000_000]);
    assert!(matches!(value, Err(Error::Overflow { .. })), "{value:?}");
}

#[test]
fn unions() {
    let c = context();
    let u = UnionSet::parse(&c, "{ A[i] : 0 <= i < 5; B[i, j] : i = j }").unwrap();
    assert_eq!(u.sets().unwrap().len(), 2);
    let a = UnionSet::from_set(&Set::parse(&c, "{ A[i] : 0 <= i < 5 }").unwrap()).unwrap();
    let rest = u.subtract(&a).unwrap();
    check(&rest, expect!["{ B[i, j = i] }"]);
    assert!(rest.union(&a).unwrap().is_equal(&u).unwrap() && !rest.is_empty().unwrap());
    let m = UnionMap::parse(&c, "{ A[i] -> [i]; B[i, j] -> [j] }").unwrap();
    assert_eq!(m.maps().unwrap().len(), 2);
    assert!(m.domain().unwrap().is_equal(&m.reverse().unwrap().range().unwrap()).unwrap());
}

#[test]
fn errors_carry_isls_words() {
    let c = context();
    check(
        Set::parse(&c, "{ [i] : i < }").unwrap_err(),
        expect!["cannot read `{ [i] : i < }`: syntax error"],
    );
    check(
        Set::parse(&c, "{ [i] -> [j] }").unwrap_err(),
        expect!["cannot read `{ [i] -> [j] }`: another kind of object is wanted"],
    );
    check(
        Set::parse(&c, "{ [i] : i < M }").unwrap_err(),
        expect!["cannot read `{ [i] : i < M }`: syntax error"],
    );
    check(
        Set::parse(&c, "a\0b").unwrap_err(),
        expect![[r#"cannot read `a\u{0}b`: NUL character"#]],
    );
    let (one, two) = (Set::parse(&c, "{ [i] }").unwrap(), Set::parse(&c, "{ [i, j] }").unwrap());
    check(one.intersect(&two).unwrap_err(), expect!["isl_set_intersect: spaces don't match"]);
    check(one.is_subset(&two).err().map_or("none".into(), |e| e.to_string()), expect!["none"]);
    check(one.dim_max(0).unwrap_err(), expect!["isl_set_dim_max: unbounded optimum"]);
    check(one.dim_max(1).unwrap_err(), expect!["expected a position below 1, found 1"]);
    check(one.card().unwrap_err(), expect!["infinitely many points in { [i] }"]);
    check(
        one.intersect(&set("{ [i] }")).unwrap_err(),
        expect!["objects of two contexts in one operation"],
    );
    // The context works on after an error.
    assert!(one.is_equal(&one).unwrap());
}

#[test]
fn nothing_goes_to_stderr() {
    if std::env::var_os("POLY_TEST_CHILD").is_some() {
        let one = set("{ [i] }");
        let c = one.context();
        for text in ["{ [i] : i < }", "{ [i] -> [j] }", "{ [i] : i < M }", "", "{ [i, j }"] {
            assert!(Set::parse(c, text).is_err());
        }
        let plane = Set::parse(c, "{ [i, j] }").unwrap();
        assert!(one.intersect(&plane).is_err() && one.dim_max(0).is_err());
        assert!(one.card().is_err() && plane.points(3).is_err());
        return;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::nothing_goes_to_stderr", "--nocapture"])
        .env("POLY_TEST_CHILD", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// Wherever the limit strikes, also inside isl's parser, which takes it for a syntax error.
#[test]
fn a_limit_is_no_syntax_error() {
    let text = "[p0, p1] -> { [i0, i1] : p0 = 4 and 6i0 = -1 + p1 and 0 < p1 <= 4 and i1 >= 3 }";
    let mut limits = 0;
    for steps in 1..400 {
        let c = Context::new().unwrap();
        let error = c.budgeted(steps, || Set::parse(&c, text)).err();
        let is_limit = matches!(error, Some(Error::TooComplex { .. }));
        assert!(error.is_none() || is_limit, "{steps} steps: {error:?}");
        limits += usize::from(is_limit);
        assert!(Set::parse(&c, text).is_ok(), "afterwards all is as before");
        assert!(matches!(Set::parse(&c, "{ [i : }"), Err(Error::Parse { .. })));
    }
    assert!(limits > 100, "{limits}");
}

#[test]
fn explosions_stop_at_the_limit() {
    let c = Context::with_limit(1_000).unwrap();
    let terms: Vec<String> =
        (0..40).map(|k| format!("({k}i + {}j < 7{k} and i mod {} = 1)", 41 - k, k + 2)).collect();
    let s =
        Set::parse(&c, &format!("{{ [i, j] : 0 <= i, j < 1000 and ({}) }}", terms.join(" or ")));
    let error = s.and_then(|s| s.complement()).and_then(|s| s.lexmin()).unwrap_err();
    assert!(matches!(error, Error::TooComplex { limit: 1_000, .. }), "{error}");
    // The limit is one operation's, and counting has none.
    let triangle = Set::parse(&c, "[N] -> { [i, j] : 0 <= j <= i < N }").unwrap();
    assert!(triangle.card().is_ok());
}

#[test]
fn nothing_begins_after_the_deadline() {
    let c = context();
    let s = Set::parse(&c, "{ [i] : 0 <= i < 5 }").unwrap();
    c.set_deadline(Some(std::time::Instant::now()));
    assert!(matches!(s.complement(), Err(Error::Deadline { operation: "isl_set_complement" })));
    assert_eq!(s.rank(), 1);
    c.set_deadline(None);
    assert!(s.complement().is_ok());
}

#[test]
fn families_are_sets_that_differ_in_numbers() {
    let c = context();
    let texts = [
        "[N] -> { [i, j] : (j - i) mod 16 = 3 and 0 <= i < N and 0 <= j < 2 }",
        "[N] -> { [i, j] : (j - i) mod 16 = 9 and 0 <= i < N and 0 <= j < 2 }",
        "[N] -> { [i, j] : 5 <= i <= 7 and 0 <= j <= i }",
        "[N] -> { [i, j] : 0 <= i < N and 0 <= j < 2 }",
        "[N] -> { [i, j] : 2 <= i <= 9 and 0 <= j <= i }",
        "[N] -> { [i, j] : (j - i) mod 16 = 3 and 0 <= i < N and 0 <= j < 2 }",
        "[N] -> { [i, j] : 1 <= i <= 2 and 0 <= j <= i or i = 100 and j = 3 }",
    ];
    let sets: Vec<Set> = texts.iter().map(|text| Set::parse(&c, text).unwrap()).collect();
    let mut found = Vec::new();
    for family in families(&sets, 2).unwrap() {
        for (k, values) in &family.members {
            assert!(family.set.fix_params(values).unwrap().is_equal(&sets[*k]).unwrap());
            assert!(values.iter().all(|(_, value)| *value >= 0));
        }
        found.push(format!("{:?} {}", family.members, family.set));
    }
    found.sort();
    check(
        found.join("\n"),
        expect![[r#"
        [(0, [("c0", 10)]), (1, [("c0", 0)]), (5, [("c0", 10)])] [N, c0] -> { [i, j] : (7 - c0 - i + j) mod 16 = 0 and 0 <= c0 <= 10 and 0 <= i < N and 0 <= j <= 1 }
        [(2, [("c0", 0), ("c1", 0)]), (4, [("c0", 3), ("c1", 2)])] [N, c0, c1] -> { [i, j] : 0 <= c0 <= 3 and 0 <= c1 <= 2 and 5 - c0 <= i <= 7 + c1 and 0 <= j <= i }"#]],
    );
    assert!(families(&sets, 4).unwrap().is_empty());
    assert_eq!(families(&sets[3..4], 1).unwrap()[0].params, Vec::<String>::new());
}

#[test]
fn a_failed_simplification_is_none() {
    let c = context();
    let s = Set::parse(&c, "{ [i] : 0 <= i < 5 }").unwrap();
    let defect = Error::Isl { operation: "isl_set_coalesce", message: "unexpectedly".into() };
    assert!(crate::handle::simplified(&s, Err(defect)).unwrap().is_equal(&s).unwrap());
    let limit = Error::TooComplex { operation: "isl_set_coalesce", limit: 1 };
    assert!(crate::handle::simplified(&s, Err(limit)).is_err());
}

#[test]
fn objects_keep_their_context() {
    let s = {
        let c = context();
        Set::parse(&c, "{ [i] : 0 <= i < 5 }").unwrap()
    };
    assert_eq!(s.points(10).unwrap().len(), 5);
    let copy = s.clone();
    drop(s);
    assert_eq!(copy.points(10).unwrap().len(), 5);
}

#[test]
fn threads_count_at_the_same_time() {
    let threads: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(|| {
                for _ in 0..5 {
                    let s = set("[N] -> { [i, j, k] : 0 <= k <= j <= i < N and k mod 2 = 0 }");
                    check_ranks(&s, &at(&[("N", 4)]));
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Random polygons with strides, and unions of two of them.
    #[test]
    fn ranks_of_random_domains_are_positions(
        basics in prop::collection::vec(
            (
                prop::collection::vec((-2i64..=2, -2i64..=2, -1i64..=1, -6i64..=6), 1..4),
                (1i64..4, 0i64..3),
            ),
            1..3,
        ),
        n in 0i64..7,
    ) {
        let basics: Vec<String> = basics.iter().map(|(constraints, (stride, offset))| {
            let constraints: Vec<String> = constraints
                .iter()
                .map(|(a, b, p, c)| format!("{a}i + {b}j + {p}N + {c} >= 0"))
                .collect();
            let offset = offset % stride;
            format!("({} and (i + j) mod {stride} = {offset})", constraints.join(" and "))
        }).collect();
        let box_ = "0 <= i, j < N + 3 and N >= 0";
        let text = format!("[N] -> {{ [i, j] : {box_} and ({}) }}", basics.join(" or "));
        check_ranks(&set(&text), &at(&[("N", n)]));
    }
}
