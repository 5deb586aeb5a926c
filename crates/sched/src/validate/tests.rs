use super::*;
use crate::Movement;
use dastac_iterate::Walking;
use dastac_poly::Context;
use dastac_stur::infer::infer;
use dastac_stur::sets::Affine;

struct Lowered {
    inferred: Inferred,
    layouts: Vec<Layout>,
    module: Module,
}

fn lowered(source: &str) -> Lowered {
    let (program, _) = dastac_stur::load(source).unwrap();
    let inferred = infer(&program, &Context::new().unwrap()).unwrap();
    let layouts: Vec<Layout> =
        inferred.program.tensor_ids().map(|id| Layout::of(&inferred, id).unwrap()).collect();
    let module = crate::kernel(
        &inferred,
        &layouts,
        crate::Reading {
            indices: dastac_loops::Element::U32,
            walking: Walking::default(),
            reserves: false,
        },
    )
    .unwrap()
    .module;
    Lowered { inferred, layouts, module }
}

impl Lowered {
    /// The properties that are not proven, as `tensor property: outcome`.
    fn open(&self) -> Vec<String> {
        let checks = validate(&self.inferred, &self.layouts, &self.module).unwrap();
        let open = checks.into_iter().filter(|check| check.proof != Proof::Proven);
        open.map(|check| {
            let name = &self.inferred.program.tensor(check.tensor).name;
            let (kind, why) = match check.proof {
                Proof::Proven => ("proven", String::new()),
                Proof::Undecided(why) => ("undecided", why),
                Proof::Refuted(why) => ("refuted", why),
            };
            format!("{name} {}: {kind}: {why}", check.property.name())
        })
        .collect()
    }

    /// The same program with a change in the text of its loops.
    fn changed(&self, from: &str, to: &str) -> Lowered {
        let text = self.module.to_string();
        assert!(text.contains(from), "no `{from}` in\n{text}");
        self.with(&text.replacen(from, to, 1))
    }

    fn with(&self, text: &str) -> Lowered {
        let module = dastac_loops::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        Lowered { inferred: self.inferred.clone(), layouts: self.layouts.clone(), module }
    }
}

/// Loops with a parallel mark, a sum, several statements, a clear, and polynomials in positions.
const SYMMETRIC: &str = "symbols: N
    y(i) := 2 * B(i, j) * x(j)
    B:D(i, j) := (0 <= i < N) * (0 <= j < N)
    B:U(i, j) := (i <= j)
    B:R(i, j, ip, jp) := (i > j) * (ip = j) * (jp = i)
    x:D(j) := (0 <= j < N)";

/// The reduction is outside of the loop over the head, so that it stays a loop.
const SCATTER: &str = "symbols: M, N
    iters: y -> i, j
    y(j) := B(i, j) * x(i)
    B:D(i, j) := (0 <= i < M) * (0 <= j < N)
    x:D(i) := (0 <= i < M)";

const CHAIN: &str = "symbols: N
    t(i) := B(i, j) * x(j)
    y(i) := 3 * t(i) + x(i)
    B:D(i, j) := (0 <= i < N) * (0 <= j < N)
    B:U(i, j) := (i = j) + (j = 0)
    x:D(j) := (0 <= j < N)";

/// A read that sorts four subscripts.
const SORTED: &str = "symbols: N
    T(i, j, k, l) := x(i) * x(j) * x(k) * x(l)
    y(i) := T(i, j, k, l) * x(j) * x(k) * x(l)
    x:D(j) := (0 <= j < N)";

#[test]
fn what_is_right_is_proven() {
    for source in [
        SYMMETRIC,
        SCATTER,
        CHAIN,
        SORTED,
        // Strides, floors, offsets, constants, scalars, reciprocals, symbols as factors, the same product twice.
        "symbols: N
         A(i) := a() * B(i, j) * N() * c^-1(j) + a() * B(i, j) * N() * c^-1(j)
         B:D(i, j) := (0 <= i < N) * (0 <= j < N)
         B:U(i, j) := (i % 2 = 0) * (j = i / 2)
         c:D(i) := (0 <= i < N)",
        "symbols: N, S
         A(i, k) := B(i + 1, 2 * j) * C(j, k) * (i != S) + 0.5 * (0 <= i < N) * (0 <= k < 3)
         B:D(i, j) := (0 <= i < N) * (0 <= j < N)
         C:D(i, j) := (0 <= i < N) * (0 <= j < N)
         A:D(i, j) := (0 <= i < N) * (0 <= j < N)",
        "s() := a() * b()",
        "symbols: N
         s() := x(i) * x(i)
         x:D(i) := (0 <= i < N)",
    ] {
        assert_eq!(lowered(source).open(), Vec::<String>::new(), "{source}");
    }
}

#[test]
fn what_is_wrong_is_refuted() {
    let refuted = |low: Lowered, property: &str| {
        let open = low.open();
        let expected = format!(" {property}: refuted: ");
        assert!(open.iter().any(|line| line.contains(&expected)), "{open:?}\n{}", low.module);
    };
    let low = lowered(SYMMETRIC);
    refuted(low.changed("sum(j = i to N)", "sum(j = i to N - 1)"), "executed");
    refuted(low.changed("sum(j = i to N)", "sum(j = i to N + 1)"), "executed");
    refuted(low.changed("sum(j = i to N)", "sum(j = i to N step 2)"), "executed");
    refuted(low.changed("sum(j = 0 to i)", "sum(j = 0 to i + 1)"), "executed");
    refuted(low.changed("2.0", "2.5"), "executed");
    refuted(low.changed("x[j]", "x[i]"), "executed");
    refuted(low.changed("x[j]", "x[j + 1]"), "executed");
    refuted(low.changed(" * x[j]", ""), "executed");
    refuted(
        low.changed("N * i - exact((i + 1) * i, 2) + j", "N * i - exact((i + 1) * i, 2)"),
        "executed",
    );
    refuted(
        low.changed("N * i - exact((i + 1) * i, 2) + j", "N * j - exact((j + 1) * j, 2) + i"),
        "executed",
    );
    refuted(low.changed("y[i] = 0.0", "y[i] += 1.0"), "executed");
    refuted(low.changed("parallel i = 0 to N {\n    y[i] = 0.0\n  }", ""), "written");
    refuted(low.changed("i = 0 to N {\n    y[i] = 0.0", "i = 1 to N {\n    y[i] = 0.0"), "written");
    // The first of the two may overwrite zeros; the second must not overwrite what the first computed.
    let overwriting = low.changed("y[i] +=", "y[i] =");
    assert_eq!(overwriting.open(), Vec::<String>::new());
    refuted(overwriting.changed("y[i] +=", "y[i] ="), "written");
    refuted(low.changed("exact((N + 1) * N, 2)]", "exact((N - 1) * N, 2)]"), "layout");
    let text = low.module.to_string();
    let last = text.rfind("  parallel i = 1").unwrap();
    refuted(low.with(&format!("{}}}\n", &text[..last])), "executed");

    let low = lowered(SORTED);
    let text = low.module.to_string();
    for (from, to) in [("min(i, j)", "i"), ("max(i, j)", "j")] {
        let wrong = low.with(&text.replace(from, to));
        assert!(wrong.open()[0].starts_with("y executed: "), "{from} -> {to}: {:?}", wrong.open());
    }

    let low = lowered(SCATTER);
    refuted(low.changed("for i = 0 to M", "parallel i = 0 to M"), "parallel");
    refuted(low.changed("y[j] +=", "y[j] ="), "written");

    let low = lowered(CHAIN);
    let text = low.module.to_string();
    let (head, body) = text.split_once("{\n").unwrap();
    let second = body.find("  parallel i = 0 to N {\n    y[i]").unwrap();
    let end = body.rfind('}').unwrap();
    let swapped = format!("{head}{{\n{}{}}}\n", &body[second..end], &body[..second]);
    refuted(low.with(&swapped), "written");
}

/// Programs with functions of elements.
const FUNCTIONS: &[&str] = &[
    "y(i) := exp(A(i, j)) * x(j)
     A:D(i, j) := (0 <= i < N) * (0 <= j < N)
     x:D(j) := (0 <= j < N)",
    "y(i, j) := exp(A(i, j)) * A(i, j) + 2 * sqrt(A(j, i))
     A:U(i, j) := (0 <= i <= j < N)",
    "y(i) := 3 * sigmoid(B(i, j)) * x(j) / (1 + abs(x(i)))
     B:D(i, j) := (0 <= i < N) * (0 <= j < N)
     B:U(i, j) := (i <= j)
     B:R(i, j, ip, jp) := -1 * (i > j) * (ip = j) * (jp = i)
     x:D(j) := (0 <= j < N)",
    "y(i) := where(x(i) > z(i), x(i) + 1, max(z(i), 0.5)) * i
     x:D(i) := (0 <= i < N)
     z:U(i) := (2 <= i < N)",
    "y(i) := max(j) A(i, j) - x(j)
     A:D(i, j) := (0 <= i < N) * (0 <= j < N)
     x:D(j) := (0 <= j < N)",
    "y(i) := x(i)^2 * pow(x(i), -3) + pow(abs(x(i)), 1.5) + N / (1 + i)
     x:D(i) := (0 <= i < N)",
    "S(i, j) := exp(A(i, j) - max(k) A(i, k))
     P(i, j) := S(i, j) / sum(k) S(i, k)
     A:D(i, j) := (0 <= i < N) * (0 <= j < N)",
    // All of `B` is stored, also what neither of the two reads.
    "s() := B(i + 1, i)
     m() := min(i) sigmoid(B(i, i))
     B:D(i, j) := (0 <= i < N) * (0 <= j < N)
     B:U(i, j) := ((i / 2) % 2 = 1)",
];

/// Functions are symbols of which nothing is known.
#[test]
fn functions_of_elements_are_proven() {
    let mut report = String::new();
    for source in FUNCTIONS {
        let low = lowered(&format!("symbols: N\n{source}"));
        report += &format!("{}\n", source.lines().next().unwrap_or_default());
        for line in low.open() {
            report += &format!("    {line}\n");
        }
    }
    expect_test::expect![[r#"
        y(i) := exp(A(i, j)) * x(j)
        y(i, j) := exp(A(i, j)) * A(i, j) + 2 * sqrt(A(j, i))
        y(i) := 3 * sigmoid(B(i, j)) * x(j) / (1 + abs(x(i)))
        y(i) := where(x(i) > z(i), x(i) + 1, max(z(i), 0.5)) * i
        y(i) := max(j) A(i, j) - x(j)
        y(i) := x(i)^2 * pow(x(i), -3) + pow(abs(x(i)), 1.5) + N / (1 + i)
        S(i, j) := exp(A(i, j) - max(k) A(i, k))
        s() := B(i + 1, i)
    "#]]
    .assert_eq(&report);
}

/// Other functions, or functions of other elements, are not proven.
#[test]
fn other_functions_are_not_proven() {
    let low = |at: usize| lowered(&format!("symbols: N\n{}", FUNCTIONS[at]));
    for (at, from, to) in [
        (0, "exp(", "cos("),
        (0, "x[j]", "x[i]"),
        (0, "* i + j]", "* j + i]"),
        (2, "-1.0", "1.0"),
        (3, "0.5", "1.5"),
        (4, "x[j]", "x[i]"),
        (5, "1.5", "2.5"),
        (6, "exp(", "sqrt("),
    ] {
        let wrong = low(at).changed(from, to);
        assert!(!wrong.open().is_empty(), "{from} -> {to}:\n{}", wrong.module);
    }
}

/// What is not proven of the movement of tensors, as it is and after each change of its text.
#[test]
fn movements_are_proven_and_wrong_ones_refuted() {
    let source = "symbols: N
        layout: B -> align(4)
        y(i) := B(i, j) * x(j) + A(i, j) * x(j)
        B:D(i, j) := (0 <= i < N) * (0 <= j < N)
        B:U(i, j) := (i <= j)
        B:R(i, j, ip, jp) := -2 * (i > j) * (ip = j) * (jp = i)
        A:U(i, j) := (0 <= i < N) * (0 <= j < N) * (i <= j) * (j <= i + 1)
        x:D(j) := (0 <= j < N)";
    let (program, _) = dastac_stur::load(source).unwrap();
    let inferred = infer(&program, &Context::new().unwrap()).unwrap();
    let layouts: Vec<Layout> =
        inferred.program.tensor_ids().map(|id| Layout::of(&inferred, id).unwrap()).collect();
    let (indices, walking) = (dastac_loops::Element::U32, Walking::default());
    let reading = crate::Reading { indices, walking, reserves: false };
    let kernel = crate::kernel(&inferred, &layouts, reading).unwrap();
    let movement = crate::movement(&inferred, &layouts, &kernel).unwrap();
    let open = |movement: &Movement| -> Vec<String> {
        let checks = validate_movement(&inferred, &layouts, movement).unwrap();
        let open = checks.into_iter().filter(|check| check.proof != Proof::Proven);
        let name = |check: &Check| inferred.program.tensor(check.tensor).name.clone();
        open.map(|check| format!("{}: {:?}", name(&check), check.proof)).collect()
    };
    assert_eq!(open(&movement), Vec::<String>::new());
    let text = movement.module.to_string();
    let mut report = String::new();
    for (function, from, to) in CHANGES {
        let at = text.find(&format!("func {function}(")).unwrap_or_else(|| panic!("{text}"));
        let changed = text[at..].replacen(from, to, 1);
        assert_ne!(changed, text[at..], "{function}, {from}\n{text}");
        let module = dastac_loops::parse(&format!("{}{changed}", &text[..at])).unwrap();
        let changed = Movement { module, ..movement.clone() };
        let found = open(&changed).join("; ");
        report += &format!("{function}, {from} -> {to}: {found}\n");
    }
    expect_test::expect![[r#"
        pack_B, ] = 0.0 -> ] = 1.0: B: Refuted("padding is not cleared")
        pack_A, i to min(N, i + 2) -> i to min(N, i + 1): A: Refuted("nothing is computed at i = 0, j = 1, N = 2")
        pack_A, i to min(N, i + 2) -> i to N: A: Refuted("the loops run at i = 0, j = 2, N = 3, which is no instance")
        pack_A, i * N + j -> j * N + i: A: Refuted("an element of `A` is at another's position at i = 0, j = 1, N = 2")
        unpack_A, = 0.0 -> = 1.0: A: Refuted("something is added at i = 0, j = 0, N = 1 that no product of the rule is")
        unpack_A, = 0 to N -> = 1 to N: A: Refuted("the element at i = 0, j = 2, N = 3 is never set")
        unpack_A, 2 * i + 1) -> 2 * i): A: Refuted("an element of `A` is at another's position at i = 0, j = 1, N = 2")
        unpack_B, -2.0 -> 2.0: B: Refuted("something is added at i = 1, j = 0, N = 2 that no product of the rule is")
        expand_B, B.dense[j * N + i] -> B.dense[i * N + j]: B: Refuted("an element of `B` is at another's position at i = 1, j = 0, N = 2")
        expand_B, j = 0 to i { -> j = 0 to i + 1 {: B: Refuted("the loops run at i = 1, j = 1, N = 2, which is no instance")
        expand_x, = x.dense[j] -> += x.dense[j]: 
    "#]].assert_eq(&report);
}

/// Changes of functions that move tensors.
const CHANGES: &[(&str, &str, &str)] = &[
    ("pack_B", "] = 0.0", "] = 1.0"),
    ("pack_A", "i to min(N, i + 2)", "i to min(N, i + 1)"),
    ("pack_A", "i to min(N, i + 2)", "i to N"),
    ("pack_A", "i * N + j", "j * N + i"),
    ("unpack_A", "= 0.0", "= 1.0"),
    ("unpack_A", "= 0 to N", "= 1 to N"),
    ("unpack_A", "2 * i + 1)", "2 * i)"),
    ("unpack_B", "-2.0", "2.0"),
    ("expand_B", "B.dense[j * N + i]", "B.dense[i * N + j]"),
    ("expand_B", "j = 0 to i {", "j = 0 to i + 1 {"),
    ("expand_x", "= x.dense[j]", "+= x.dense[j]"),
];

#[test]
fn statements_are_compared_with_the_program() {
    let mut low = lowered(SYMMETRIC);
    let dropped = low.inferred.rules[0].statements.pop().unwrap();
    assert!(low.open()[0].starts_with("y statements: refuted: nothing is computed at"));
    low.inferred.rules[0].statements.push(dropped.clone());
    low.inferred.rules[0].statements.push(dropped.clone());
    assert!(low.open()[0].starts_with("y statements: refuted: too much is computed"));
    let mut other = dropped;
    other.coefficient = 3.0;
    low.inferred.rules[0].statements[1] = other.clone();
    low.inferred.rules[0].statements.pop();
    assert_eq!(low.open()[0], "y statements: refuted: the coefficient is 3, not 2");
    other.reads[1].subscripts[0] = Affine::name("i");
    low.inferred.rules[0].statements[1] = other;
    assert_eq!(low.open()[0], "y statements: refuted: another element of `x` is read");
}
