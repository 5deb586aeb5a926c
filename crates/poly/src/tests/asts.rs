//! Schedules, the ASTs that are made of them, and what those do when they are run.

use super::*;

#[test]
fn ast_of_a_triangle() {
    let c = context();
    let build = AstBuild::from_context(&Set::parse(&c, "[N] -> { : N >= 0 }").unwrap()).unwrap();
    let build = build.set_iterators(&["i", "j"]).unwrap();
    let schedule =
        UnionMap::parse(&c, "[N] -> { S[i, j] -> [i, j] : 0 <= j <= i < N and j < 100 }").unwrap();
    let node = build.node_from_schedule_map(&schedule).unwrap();
    check(
        &node,
        expect![[r#"
        for (int i = 0; i < N; i += 1)
          for (int j = 0; j <= min(99, i); j += 1)
            S(i, j);
    "#]],
    );
    let ast::Node::For { iterator, cond: ast::Expr::Op(ast::Op::Lt, _), degenerate: false, .. } =
        &node
    else {
        panic!("{node:?}")
    };
    assert_eq!(iterator, "i");
}

#[test]
fn ast_of_two_statements_with_strides_and_conditions() {
    let c = context();
    let build = AstBuild::from_context(&Set::parse(&c, "[N] -> { : }").unwrap()).unwrap();
    let schedule = UnionMap::parse(
        &c,
        "[N] -> { S[i, j] -> [i, j, 0] : 0 <= i < N and 0 <= j < N and i mod 4 = 1; \
         T[i, j] -> [i, j, 1] : 0 <= j < i < N and (j = 5 or j > 7); U[] -> [0, 0, 2] }",
    )
    .unwrap();
    check(
        build.node_from_schedule_map(&schedule).unwrap(),
        expect![[r#"
        {
          U();
          for (int c0 = 0; c0 < N; c0 += 1) {
            if ((c0 - 1) % 4 == 0) {
              for (int c1 = 0; c1 <= min(4, N - 1); c1 += 1)
                S(c0, c1);
              if (N >= 6 && c0 <= 5)
                S(c0, 5);
            }
            if (c0 >= 6) {
              if ((c0 - 1) % 4 == 0)
                S(c0, 5);
              T(c0, 5);
            }
            if ((c0 - 1) % 4 == 0)
              for (int c1 = 6; c1 <= min(7, N - 1); c1 += 1)
                S(c0, c1);
            for (int c1 = 8; c1 < c0; c1 += 1) {
              if ((c0 - 1) % 4 == 0)
                S(c0, c1);
              T(c0, c1);
            }
            if ((c0 - 1) % 4 == 0)
              for (int c1 = max(8, c0); c1 < N; c1 += 1)
                S(c0, c1);
          }
        }
    "#]],
    );
    let separated = build.set_loop_types(&[None, Some(LoopType::Separate), None]).unwrap();
    check(
        separated.node_from_schedule_map(&schedule).unwrap(),
        expect![[r#"
        {
          U();
          for (int c0 = 0; c0 < N; c0 += 1)
            if (c0 >= 6 && (c0 - 1) % 4 >= 1) {
              T(c0, 5);
              for (int c1 = 8; c1 < c0; c1 += 1)
                T(c0, c1);
            }
            else
              if ((c0 - 1) % 4 == 0) {
                for (int c1 = 0; c1 <= min(4, N - 1); c1 += 1)
                  S(c0, c1);
                if (N >= 6 && c0 <= 5)
                  S(c0, 5);
                else
                  if (c0 >= 9) {
                    S(c0, 5);
                    T(c0, 5);
                  }
                for (int c1 = 6; c1 <= min(7, N - 1); c1 += 1)
                  S(c0, c1);
                for (int c1 = 8; c1 < c0; c1 += 1) {
                  S(c0, c1);
                  T(c0, c1);
                }
                for (int c1 = max(8, c0); c1 < N; c1 += 1)
                  S(c0, c1);
              }
        }
    "#]],
    );
}

/// Runs an AST: the statement instances in order.
fn run(node: &ast::Node, values: &mut Vec<(String, i64)>, trace: &mut Vec<(String, Vec<i64>)>) {
    match node {
        ast::Node::For { iterator, init, cond, inc, degenerate, body } => {
            let first = value(init, values);
            values.push((iterator.clone(), first));
            let top = values.len() - 1;
            while *degenerate || value(cond, values) != 0 {
                run(body, values, trace);
                if *degenerate {
                    break;
                }
                values[top].1 += value(inc, values);
            }
            values.pop();
        }
        ast::Node::If { cond, then, otherwise } => {
            if value(cond, values) != 0 {
                run(then, values, trace);
            } else if let Some(otherwise) = otherwise {
                run(otherwise, values, trace);
            }
        }
        ast::Node::Block(nodes) => nodes.iter().for_each(|node| run(node, values, trace)),
        ast::Node::Mark { body, .. } => run(body, values, trace),
        ast::Node::User { statement, args } => {
            trace.push((statement.clone(), args.iter().map(|arg| value(arg, values)).collect()));
        }
    }
}

fn value(expr: &ast::Expr, values: &[(String, i64)]) -> i64 {
    use ast::{Expr, Op};
    match expr {
        Expr::Int(value) => *value,
        Expr::Id(name) => values.iter().rfind(|(id, _)| id == name).unwrap().1,
        Expr::Op(op, args) => {
            let args: Vec<i64> = args.iter().map(|arg| value(arg, values)).collect();
            let flag = |condition: bool| i64::from(condition);
            match (op, args.as_slice()) {
                (Op::And | Op::AndThen, [a, b]) => flag(*a != 0 && *b != 0),
                (Op::Or | Op::OrElse, [a, b]) => flag(*a != 0 || *b != 0),
                (Op::Max, args) => *args.iter().max().unwrap(),
                (Op::Min, args) => *args.iter().min().unwrap(),
                (Op::Minus, [a]) => -a,
                (Op::Add, [a, b]) => a + b,
                (Op::Sub, [a, b]) => a - b,
                (Op::Mul, [a, b]) => a * b,
                (Op::Div | Op::PdivQ, [a, b]) => a / b,
                (Op::PdivR | Op::ZdivR, [a, b]) => a % b,
                (Op::FloorDiv, [a, b]) => a.div_euclid(*b),
                (Op::Cond | Op::Select, [c, a, b]) => *if *c != 0 { a } else { b },
                (Op::Eq, [a, b]) => flag(a == b),
                (Op::Le, [a, b]) => flag(a <= b),
                (Op::Lt, [a, b]) => flag(a < b),
                (Op::Ge, [a, b]) => flag(a >= b),
                (Op::Gt, [a, b]) => flag(a > b),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn asts_visit_the_points_of_the_schedule_in_its_order() {
    let c = context();
    for (schedule, types) in [
        ("S[i, j] -> [i, j] : 0 <= j <= i < N", &[None, None] as &[_]),
        ("S[i, j] -> [j, i] : 0 <= j <= i < N and i mod 3 = 1", &[None, None]),
        ("S[i, j] -> [i - j, j] : 0 <= i, j < N and 2i >= j", &[None, None]),
        (
            "S[i, j] -> [floor(i/3), floor(j/4), i, j] : 0 <= j < i < N",
            &[None, Some(LoopType::Separate), None, Some(LoopType::Atomic)],
        ),
        ("S[i, j] -> [i, j] : -N < 3i <= N and 0 <= j < 2", &[None, Some(LoopType::Unroll)]),
        ("S[i] -> [floor((i - 5)/3), -i] : -N <= i < N and i mod 2 = 0", &[None, None]),
    ] {
        let map = Map::parse(&c, &format!("[N] -> {{ {schedule} }}")).unwrap();
        let build = AstBuild::from_context(&map.domain().unwrap().params_set().unwrap()).unwrap();
        let build = build.set_loop_types(types).unwrap();
        let node = build.node_from_schedule_map(&UnionMap::from_map(&map).unwrap()).unwrap();
        for n in [1, 2, 7, 13] {
            let mut trace = Vec::new();
            run(&node, &mut at(&[("N", n)]), &mut trace);
            let times = map.fix_params(&at(&[("N", n)])).unwrap();
            let times_to_points = times.reverse().unwrap();
            let expected: Vec<_> = times
                .range()
                .unwrap()
                .points(1000)
                .unwrap()
                .iter()
                .map(|time| {
                    let image = times_to_points.image_of_point(&[], time).unwrap();
                    ("S".to_owned(), image.points(1).unwrap().remove(0))
                })
                .collect();
            assert_eq!(trace, expected, "{schedule} with N = {n}:\n{node}");
        }
    }
}

#[test]
fn schedule_trees() {
    let c = context();
    let tree = |statement: &str| {
        let domain =
            UnionSet::parse(&c, &format!("[N] -> {{ {statement}[i] : 0 <= i < N }}")).unwrap();
        let band = format!("[{{ {statement}[i] -> [(i)] }}]");
        Schedule::from_domain(&domain).unwrap().insert_partial_schedule(&band).unwrap()
    };
    let both = tree("A").sequence(&tree("B")).unwrap();
    check(both.map().unwrap(), expect!["[N] -> { B[i] -> [1, i]; A[i] -> [0, i] }"]);
    let build = AstBuild::from_context(&Set::parse(&c, "{ : }").unwrap()).unwrap();
    check(
        build.node_from_schedule(&both).unwrap(),
        expect![[r#"
        {
          for (int c0 = 0; c0 < N; c0 += 1)
            A(c0);
          for (int c0 = 0; c0 < N; c0 += 1)
            B(c0);
        }
    "#]],
    );
    assert!(matches!(tree("A").insert_partial_schedule("nonsense"), Err(Error::Parse { .. })));
}

#[test]
fn ast_expressions() {
    let c = context();
    let build = AstBuild::from_context(&Set::parse(&c, "[N] -> { : N > 0 }").unwrap()).unwrap();
    let s = Set::parse(&c, "[N] -> { [i, j] : 0 <= i < N and (j = i or j mod 2 = 1) }").unwrap();
    check(
        build.expr_from_set(&s).unwrap(),
        expect!["N >= i + 1 && i >= 0 && j == i || N >= i + 1 && i >= 0 && (j + 1) % 2 == 0"],
    );
    let max = s.project_onto(&["i"]).unwrap().dim_max(0).unwrap();
    check(build.expr_from_pw_aff(&max).unwrap(), expect!["N - 1"]);
}
