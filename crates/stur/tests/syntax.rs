//! Properties of the front end: printing and parsing are inverse, and no text makes it panic.

use dastac_elements::{Element, Function};
use dastac_stur::ast::{
    Aspect, BinaryOp, CompareOp, Comparison, Directive, Expr, ExprKind, File, FormatItem,
    GroupItem, Item, IterationOrder, LayoutItem, LayoutPart, Name, ReduceOp, Reduction, RuleItem,
    ScheduleItem, SchedulePart, Span, Term, TypeItem,
};
use dastac_stur::reference::Evaluator;
use dastac_stur::{Program, Role, load, parse};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

fn name() -> impl Strategy<Value = Name> {
    let known =
        prop::sample::select(vec!["i", "j", "k", "A", "B", "N", "F", "maxi", "symbols", "e1"]);
    // `u8(i)` is a cast, `exp(i)` a function.
    let is_free =
        |text: &String| Element::named(text).is_none() && Function::from_name(text).is_none();
    let any = "[A-Za-z][A-Za-z0-9_.]{0,6}".prop_filter("a name that is no word", is_free);
    prop_oneof![9 => known.prop_map(String::from), 1 => any]
        .prop_map(|text| Name { text, span: Span::default() })
}

fn names(least: usize) -> impl Strategy<Value = Vec<Name>> {
    prop::collection::vec(name(), least..4)
}

/// The iterators of a head: one that stands there again is a comparison.
fn distinct() -> impl Strategy<Value = Vec<Name>> {
    names(0).prop_map(|mut names| {
        let mut seen = Vec::new();
        names.retain(|name| {
            !seen.contains(&name.text) && {
                seen.push(name.text.clone());
                true
            }
        });
        names
    })
}

fn expr() -> impl Strategy<Value = Expr> {
    let of = |kind| Expr { kind, span: Span::default() };
    let leaf = prop_oneof![
        4 => name().prop_map(|name| ExprKind::Name(name.text)),
        4 => (-9i64..10).prop_map(ExprKind::Int),
        1 => any::<i64>().prop_map(ExprKind::Int),
    ];
    let op = prop::sample::select(vec![
        BinaryOp::Add,
        BinaryOp::Sub,
        BinaryOp::Mul,
        BinaryOp::Div,
        BinaryOp::Mod,
    ]);
    leaf.prop_map(of).prop_recursive(4, 16, 2, move |inner| {
        prop_oneof![
            1 => inner.clone().prop_map(move |e| of(ExprKind::Neg(Box::new(e)))),
            4 => (op.clone(), inner.clone(), inner)
                .prop_map(move |(op, a, b)| of(ExprKind::Binary(op, Box::new(a), Box::new(b)))),
        ]
    })
}

fn comparison() -> impl Strategy<Value = Comparison> {
    let operator = prop::sample::select(vec![
        CompareOp::Eq,
        CompareOp::Ne,
        CompareOp::Lt,
        CompareOp::Le,
        CompareOp::Gt,
        CompareOp::Ge,
    ]);
    (expr(), prop::collection::vec((operator, expr()), 1..4)).prop_map(|(first, rest)| {
        let (operators, more): (Vec<_>, Vec<_>) = rest.into_iter().unzip();
        let operands = std::iter::once(first).chain(more).collect();
        Comparison { operands, operators, span: Span::default() }
    })
}

fn number() -> impl Strategy<Value = f64> {
    let finite = any::<f64>().prop_filter("finite", |value| value.is_finite());
    prop_oneof![(-20i32..20).prop_map(f64::from), finite, (-9.0..9.0f64)]
}

/// Any term, or one without sums.
fn term(sums: bool) -> impl Strategy<Value = Term> {
    let span = Span::default();
    let subscripts = prop::collection::vec(expr(), 0..4);
    let leaf = prop_oneof![
        (name(), subscripts, any::<bool>()).prop_map(move |(tensor, subscripts, reciprocal)| {
            Term::Access { position: None, tensor, subscripts, reciprocal, span }
        }),
        (name(), name(), prop::collection::vec(expr(), 0..4)).prop_map(
            move |(position, tensor, subscripts)| {
                let (position, reciprocal) = (Some(position), false);
                Term::Access { position, tensor, subscripts, reciprocal, span }
            }
        ),
        (number(), any::<bool>()).prop_map(move |(value, reciprocal)| Term::Number {
            value,
            reciprocal,
            span
        }),
        comparison().prop_map(Term::Comparison),
    ];
    leaf.prop_recursive(3, 12, 4, move |inner| {
        let several = prop::collection::vec(inner, 2..4);
        (several, any::<bool>()).prop_map(move |(terms, is_sum)| match is_sum && sums {
            true => Term::Sum(terms, span),
            false => Term::Product(terms, span),
        })
    })
}

/// A reduction and its body. Sums in the body of a `sum(j)` are read as values where a summand lacks the iterator, so
/// that only bodies without them are read as they stand.
fn reduced() -> impl Strategy<Value = (Reduction, Term)> {
    let operator = prop::sample::select(ReduceOp::ALL.to_vec());
    (operator, names(0)).prop_flat_map(|(operator, iterators)| {
        let body = term(operator != ReduceOp::Sum || iterators.is_empty());
        let reduction = Reduction { operator, iterators, span: Span::default() };
        body.prop_map(move |body| (reduction.clone(), body))
    })
}

fn item() -> impl Strategy<Value = Item> {
    let span = Span::default();
    let aspect = prop::sample::select(vec![
        Aspect::Value,
        Aspect::Domain,
        Aspect::Unique,
        Aspect::Redundancy,
    ]);
    let order = (name(), names(1)).prop_map(|(head, iterators)| IterationOrder { head, iterators });
    let part = prop_oneof![
        names(0).prop_map(move |names| LayoutPart::Order(names, span)),
        (0..2000i64).prop_map(move |elements| LayoutPart::Align(elements, span)),
    ];
    let layout = (name(), prop::collection::vec(part, 1..3))
        .prop_map(|(tensor, parts)| LayoutItem { tensor, parts });
    let sized = prop_oneof![Just(Directive::Tile), Just(Directive::Unroll)];
    let plain = prop::sample::select(
        Directive::ALL
            .into_iter()
            .filter(|directive| !directive.has_sizes() && !directive.has_groups())
            .collect::<Vec<_>>(),
    );
    let factor = prop_oneof![
        name().prop_map(GroupItem::Factor),
        (1..99u8).prop_map(move |n| GroupItem::Factor(Name { text: n.to_string(), span })),
    ];
    let group = factor.prop_recursive(3, 12, 3, move |part| {
        prop::collection::vec(part, 1..4).prop_map(move |parts| GroupItem::Group(parts, span))
    });
    let contract = prop::collection::vec(group, 1..4).prop_map(move |groups| SchedulePart {
        directive: Directive::Contract,
        loops: Vec::new(),
        groups,
        span,
    });
    let part = prop_oneof![
        (sized, prop::collection::vec((name(), (-9..9000i64).prop_map(Some)), 1..4)),
        (plain, names(1).prop_map(|names| names.into_iter().map(|name| (name, None)).collect())),
    ]
    .prop_map(move |(directive, loops)| SchedulePart {
        directive,
        loops,
        groups: Vec::new(),
        span,
    });
    let kind = prop::sample::select(vec!["dense", "list", "hash"]);
    let workspace = (kind, prop::option::of(1..9000i64)).prop_map(move |(kind, capacity)| {
        let word = |text: String| GroupItem::Factor(Name { text, span });
        let words = [Some(word(kind.to_owned())), capacity.map(|n| word(n.to_string()))];
        let (directive, loops) = (Directive::Workspace, Vec::new());
        SchedulePart { directive, loops, groups: words.into_iter().flatten().collect(), span }
    });
    let part = prop_oneof![4 => part, 1 => contract, 1 => workspace];
    let schedule = (name(), prop::collection::vec(part, 1..4))
        .prop_map(|(head, parts)| ScheduleItem { head, parts });
    let types = (name(), name()).prop_map(|(tensor, element)| TypeItem {
        tensor,
        element,
        by_default: false,
    });
    let level = (name(), names(1)).prop_map(|(word, names)| {
        let names: Vec<&str> = names.iter().map(|name| name.text.as_str()).collect();
        format!("{}({})", word.text, names.join(" - "))
    });
    let text = prop::collection::vec(level, 1..4);
    let text = text.prop_map(move |levels| Name { text: levels.join(", "), span });
    let format =
        (name(), prop::option::of(names(1)), text).prop_map(move |(tensor, iterators, format)| {
            FormatItem { tensor, iterators, format, span }
        });
    prop_oneof![
        1 => format.prop_map(Item::Format),
        1 => prop::collection::vec(layout, 1..3).prop_map(move |entries| Item::Layout(entries, span)),
        1 => prop::collection::vec(schedule, 1..3).prop_map(move |entries| Item::Schedule(entries, span)),
        1 => prop::collection::vec(types, 1..3).prop_map(move |entries| Item::Types(entries, span)),
        1 => names(1).prop_map(move |names| Item::Symbols(names, span)),
        1 => names(1).prop_map(move |names| Item::Outputs(names, span)),
        1 => prop::collection::vec(order, 1..3).prop_map(move |orders| Item::Iters(orders, span)),
        1 => prop::sample::select(vec![Item::PreprocessStart(span), Item::PreprocessEnd(span)]),
        8 => (name(), aspect, distinct(), term(true)).prop_map(move |(tensor, aspect, iterators, body)| {
            let (reduction, part_of, summed) = (None, None, Vec::new());
            Item::Rule(RuleItem { tensor, aspect, iterators, reduction, body, part_of, summed, span })
        }),
        2 => (name(), distinct(), reduced()).prop_map(move |(tensor, iterators, (reduction, body))| {
            let (aspect, reduction) = (Aspect::Value, Some(reduction));
            Item::Rule(RuleItem { tensor, aspect, iterators, reduction, body, part_of: None, summed: Vec::new(), span })
        }),
    ]
}

fn file() -> impl Strategy<Value = File> {
    prop::collection::vec(item(), 0..6).prop_map(|mut items| {
        // A scalar that is compared is an element, if no iterator has its name; one with a type is one in subscripts
        // too.
        for item in &mut items {
            if let Item::Types(entries, _) = item {
                entries.iter_mut().for_each(|entry| entry.tensor.text = "typed".into());
            }
            if let Item::Rule(rule) = item
                && rule.iterators.is_empty()
            {
                rule.tensor.text = "scalar".into();
            }
        }
        File { items }
    })
}

/// Words that make sense here and there.
fn soup() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "A",
        "B",
        "i",
        "j",
        "N",
        "(",
        ")",
        "(",
        ")",
        "(i < N)",
        "B(i)",
        "A(i) :=",
        "A:D(i) :=",
        ":=",
        ":",
        "U",
        "R",
        "F",
        ":F :=",
        "max(i) ",
        "min() ",
        " and ",
        "csr",
        "dense(i)",
        "compressed(j, nonunique)",
        ",",
        ";",
        "->",
        "+",
        "-",
        "*",
        "/",
        "%",
        "^",
        "^-1",
        "<=",
        "=",
        "!=",
        "0",
        "1",
        "2.5",
        "1e9",
        "\n",
        "\n",
        " ",
        "#",
        "@",
        "@preprocess_start\n",
        "symbols: N\n",
        "outputs:",
        "iters:",
        "schedule: A ->",
        "tile(i, 4)",
        "é",
        "..",
    ]);
    prop::collection::vec(words, 0..40).prop_map(|words| words.concat())
}

/// What the checker promises of a program.
fn assert_invariants(program: &Program) {
    for (index, rule) in program.rules.iter().enumerate() {
        for product in &rule.products {
            assert!(product.coefficient.is_finite());
            assert!(product.coefficient != 0.0 || rule.semiring.is_plus());
            for iterator in &product.iterators {
                assert!(program.symbols.iter().all(|(symbol, _)| symbol != iterator));
            }
            assert!(rule.iterators.iter().all(|iterator| product.iterators.contains(iterator)));
            for access in &product.accesses {
                let tensor = program.tensor(access.tensor);
                assert_eq!(access.subscripts.len(), tensor.rank);
                assert!(tensor.rule().is_none_or(|rule| rule.0 < index));
            }
        }
    }
    for tensor in &program.tensors {
        assert!(
            tensor.role != Role::Input
                || tensor.rank == 0
                || tensor.domain.is_some()
                || tensor.unique.is_some()
        );
    }
}

proptest! {
    #[test]
    fn printing_and_parsing_are_inverse(file in file()) {
        let text = file.to_string();
        let (parsed, diagnostics) = parse(&text);
        let errors: Vec<_> = diagnostics.iter().filter(|d| d.code.starts_with('E')).collect();
        prop_assert!(errors.is_empty(), "{text}\n{errors:?}");
        prop_assert_eq!(&parsed, &file, "{}", text);
        prop_assert_eq!(&parsed.to_string(), &text);
        if let Ok((program, _)) = load(&text) {
            assert_invariants(&program);
        }
    }

    #[test]
    fn any_text_is_read(text in prop_oneof![any::<String>(), soup(), "[-A-Ni-k0-9()*+<>=:%/^ ,.\n]{0,80}"]) {
        let (file, _) = parse(&text);
        let (again, _) = parse(&file.to_string());
        prop_assert_eq!(again, file);
        if let Err(diagnostics) = load(&text) {
            for diagnostic in diagnostics {
                for (span, _) in diagnostic.labels {
                    prop_assert!(text.get(span.start..span.end).is_some());
                }
            }
        }
    }

    /// Programs that make sense so far as comparisons may: the reference must answer or refuse, not panic.
    #[test]
    fn the_reference_answers_or_refuses(
        conditions in prop::collection::vec(comparison(), 0..3),
        structure in comparison(),
        sizes in prop::array::uniform2(0i64..4),
    ) {
        let mut body = String::from("x(i, j)");
        for condition in conditions {
            body += &format!(" * ({condition})");
        }
        let text = format!(
            "symbols: N, A\nT(i, k) := {body} * x^-1(j, k)\n\
             x:D(i, j) := (0 <= i < N) * (0 <= j < A)\nx:U(i, j) := ({structure})\nS() := T(i, k)"
        );
        let Ok((program, _)) = load(&text) else { return Ok(()) };
        assert_invariants(&program);
        let Ok(evaluator) = Evaluator::new(&program, &sizes) else { return Ok(()) };
        if evaluator.cost() > 100_000 {
            return Ok(());
        }
        let x = program.find("x").unwrap();
        let Ok(input) = evaluator.random_input(x, &mut ChaCha8Rng::seed_from_u64(1)) else { return Ok(()) };
        evaluator.check_input(x, &input).unwrap();
        if let Ok(results) = evaluator.run(&[(x, input)].into()) {
            prop_assert_eq!(results.len(), 2);
        }
    }
}

#[test]
fn layout_of_the_text_does_not_matter() {
    let compact = "symbols:N\nA(i):=B(i)*(0<=i<N)+(-1)*C(i)\nB:D(i):=0<=i<N\nC:D(i):=(0<=i)*(i<N)";
    let spacious = "\u{feff}# a comment\r\n\tsymbols : N # sizes\r\n\n A ( i ) := B ( i ) * (\n   0 <= i # from 0\n   < N\n ) + ( -1 ) * C(i)\n
        B : D ( i ) := ( ( 0 <= i < N ) )\nC:D(i) := ((0 <= i) * (i < N))\n\n";
    let (file, diagnostics) = parse(compact);
    assert_eq!(diagnostics, []);
    assert_eq!(parse(spacious), (file.clone(), vec![]));
    expect_test::expect![[r#"
        symbols: N
        A(i) := B(i) * (0 <= i < N) + (-1) * C(i)
        B:D(i) := (0 <= i < N)
        C:D(i) := (0 <= i) * (i < N)
    "#]]
    .assert_eq(&file.to_string());
}

#[test]
fn published_spellings() {
    let source = "
symbols: N, ITERS
outputs: A, F
iters: A -> iter, i, j; F -> i
A(i, j) := B^-1(i, j) * -5.123^-1 * f^-1() * 5^-1 * 3.14 * -12 * (0 <= iter < ITERS)
F(i) := N^-1() * g(i) * (N * (i + 1) / 2 - i == i % 2) * (W > i) * 1e-3
B:D(i, j) := (0 <= i < N) * (0 <= j < N)
B:U(i, j) := (i = 0) * (0 <= j) + (1 <= i) * (j = (i - 1))
B:R(i, j, ip, jp) := -1 * (0 <= j < i < N) * (ip = j) * (jp = i)
g:D(i) := 0 <= i < N";
    let (file, diagnostics) = parse(source);
    assert_eq!(diagnostics, []);
    expect_test::expect![[r#"
        symbols: N, ITERS
        outputs: A, F
        iters: A -> iter, i, j; F -> i
        A(i, j) := B^-1(i, j) * (-5.123^-1) * f^-1() * 5^-1 * 3.14 * (-12) * (0 <= iter < ITERS)
        F(i) := N^-1() * g(i) * (N * (i + 1) / 2 - i = i % 2) * (W > i) * 0.001
        B:D(i, j) := (0 <= i < N) * (0 <= j < N)
        B:U(i, j) := (i = 0) * (0 <= j) + (1 <= i) * (j = i - 1)
        B:R(i, j, ip, jp) := -1 * (0 <= j < i < N) * (ip = j) * (jp = i)
        g:D(i) := (0 <= i < N)
    "#]]
    .assert_eq(&file.to_string());
}

/// What words and marks stand for is printed in what is left of the language, and read back as it was.
#[test]
fn words_for_what_the_language_has() {
    let source = "
symbols: N, M
a(i) := mean(j) A(i, j) + 1
b(i) := std(j) (A(i, j) - x(i)) * (j <= i)
c(i) := argmax(j) A(i, j)
d(i) := argmin(j) A(i, j) * (j <= i)
e(i) := count(j) A(i, j) > 0
f(i) := x(i) % 2 - x(i) // 3 ** 2;
g(i) := x(i) > 0 and x(i) < 1 or not (x(i) = pi)
h(i) := norm(j) A(i, j) / (mean(i, j) A(i, j))
k(i) := mean(j) B(i, j)
l(i) := x(i // 2) * (i // 2 // N) * (i // 2 < 3) * ((x(i) + 1) % (N + 1))
A:D(i, j) := (0 <= i < N) * (1 <= j <= M)";
    let (file, diagnostics) = parse(source);
    assert_eq!(diagnostics, []);
    let text = file.to_string();
    assert_eq!(parse(&text), (file, vec![]), "{text}");
    expect_test::expect![[r#"
        symbols: N, M
        a(i) := (sum(j) A(i, j)) * M^-1() + 1
        b(i) := sqrt((sum(j) pow(abs(where(1, A(i, j) + (-1) * x(i), 0) + (-1) * (sum(j) where(1, A(i, j) + (-1) * x(i), 0) * (j <= i)) * (1 / (sum(j) where(where(1, A(i, j) + (-1) * x(i), 0), 1, 1) * (j <= i)))), 2) * (j <= i)) * (1 / (sum(j) where(where(1, A(i, j) + (-1) * x(i), 0), 1, 1) * (j <= i))))
        c(i) := min(j) where((A(i, j) = (max(j) A(i, j))), j, inf)
        d(i) := min(j) (j <= i) * where((A(i, j) = (min(j) (j <= i) * A(i, j))), j, inf)
        e(i) := sum(j) (A(i, j) > 0)
        f(i) := (x(i) % 2) + (-1) * (x(i) // pow(3, 2))
        g(i) := max((x(i) > 0) * (x(i) < 1), ((x(i) = 3.141592653589793) = 0))
        h(i) := sqrt(sum(j) pow(abs(A(i, j)), 2)) * (1 / (sum(i, j) A(i, j))) * (N() * M())
        k(i) := (sum(j) B(i, j)) * (1 / (sum(j) where(B(i, j), 1, 1)))
        l(i) := x(i / 2) * ((i // 2) // N()) * (i / 2 < 3) * ((x(i) + 1) % (N() + 1))
        A:D(i, j) := (0 <= i < N) * (1 <= j <= M)
    "#]].assert_eq(&text);
}
