//! Lowered walks do what walks do.

use dastac_loops::interp::{self, Data};
use dastac_loops::{Module, parse, verify};
use proptest::prelude::*;

use crate::lower;

fn lowered(text: &str) -> (Module, Module) {
    let before = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(verify(&before), Ok(()), "{before}");
    let mut after = before.clone();
    lower(&mut after);
    assert_eq!(verify(&after), Ok(()), "{after}");
    assert!(!after.to_string().contains("coiter"), "{after}");
    (before, after)
}

const HEAD: &str = "module(N, M)
buffer A : f64[N]
buffer pos : u32[4]
buffer crd : u32[M]
";

fn shown(body: &str) -> String {
    let text = format!("{HEAD}func f(inout A, in pos, in crd) {{ {body} }}");
    let text = lowered(&text).1.to_string();
    let body = &text[text.find("{\n").unwrap() + 2..text.len() - 2];
    body.lines().map(|line| format!("{}\n", line.strip_prefix("  ").unwrap_or(line))).collect()
}

#[test]
fn a_level_alone() {
    expect_test::expect![[r#"
        for p = pos[0] to pos[1] {
          A[crd[p]] += index(p)
        }
    "#]].assert_eq(&shown(
        "coiter i = 0 to N over p = pos[0] to pos[1] at crd[p] within { case p { A[i] += index(p) } }",
    ));
    expect_test::expect![[r#"
        while p = pos[0], p_1 = pos[1] if p < p_1 {
        } then select(crd[(p + p_1) / 2] - 2 < 0, (p + p_1) / 2 + 1, p), select(crd[(p + p_1) / 2] - 2 < 0, p_1, (p + p_1) / 2) after {
          while p_2 = p if p_2 < pos[1] and crd[p_2] - 2 < N {
            A[crd[p_2] - 2] += index(p_2)
          } then p_2 + 1
        }
    "#]]
    .assert_eq(&shown(
        "coiter i = 0 to N over p = pos[0] to pos[1] at crd[p] - 2 { case p { A[i] += index(p) } }",
    ));
}

#[test]
fn two_levels() {
    let levels = "p = pos[0] to pos[1] at crd[p] within, q = pos[1] to pos[2] at crd[q] within";
    expect_test::expect![[r#"
        while p = pos[0], q = pos[1] if p < pos[1] and q < pos[2] {
          if crd[p] == crd[q] {
            A[crd[p]] = index(p + q)
          }
        } then select(crd[p] <= min(crd[p], crd[q]), p + 1, p), select(crd[q] <= min(crd[p], crd[q]), q + 1, q)
    "#]].assert_eq(&shown(&format!(
        "coiter i = 0 to N over {levels} {{ case p, q {{ A[i] = index(p + q) }} }}"
    )));
    expect_test::expect![[r#"
        while p = pos[0], q = pos[1] if p < pos[1] and q < pos[2] {
          if crd[p] == crd[q] {
            A[crd[p]] = index(p + q)
          } else if crd[p] == min(crd[p], crd[q]) {
            A[crd[p]] = index(p)
          } else if crd[q] == min(crd[p], crd[q]) {
            A[crd[q]] = index(q)
          }
        } then select(crd[p] <= min(crd[p], crd[q]), p + 1, p), select(crd[q] <= min(crd[p], crd[q]), q + 1, q) after {
          for p_1 = p to pos[1] {
            A[crd[p_1]] = index(p_1)
          }
          for q_1 = q to pos[2] {
            A[crd[q_1]] = index(q_1)
          }
        }
    "#]].assert_eq(&shown(&format!(
        "coiter i = 0 to N over {levels} {{ case p, q {{ A[i] = index(p + q) }} case p {{ A[i] = index(p) }} case q \
        {{ A[i] = index(q) }} }}"
    )));
}

#[test]
fn all_of_a_range() {
    expect_test::expect![[r#"
        while p = pos[0], i = 0 if p < pos[1] and i < N {
          if crd[p] == i {
            A[i] = index(p)
          } else {
            A[i] = 2.0
          }
        } then select(crd[p] <= i, p + 1, p), i + 1 after {
          for i_1 = i to N {
            A[i_1] = 2.0
          }
        }
    "#]].assert_eq(&shown(
        "coiter i = 0 to N over p = pos[0] to pos[1] at crd[p] within { case p { A[i] = index(p) } case { A[i] = 2.0 \
        } }",
    ));
}

/// What a random walk is made of.
#[derive(Clone, Debug)]
struct Walk {
    segments: Vec<Vec<u32>>,
    offsets: Vec<i64>,
    /// Step and width of each cursor's windows.
    windows: Vec<(i64, i64)>,
    repeats: Vec<bool>,
    lower: i64,
    upper: i64,
    cases: Vec<Vec<usize>>,
}

fn walk() -> impl Strategy<Value = Walk> {
    let segment = (prop::collection::vec(0u32..12, 0..8), any::<bool>());
    let segments = prop::collection::vec(segment, 3);
    let windows = prop_oneof![Just((1i64, 1i64)), (1i64..4, 0i64..4)];
    let windows = prop::collection::vec(windows, 3);
    let cases = prop::sample::subsequence((0..8usize).collect::<Vec<_>>(), 1..=8).prop_shuffle();
    let offsets = prop::collection::vec(-2i64..3, 3);
    (segments, offsets, windows, 0i64..4, 0i64..14, cases, 1usize..4).prop_map(
        |(segments, offsets, windows, lower, upper, cases, count)| {
            let repeats = segments.iter().map(|(_, repeats)| *repeats).collect();
            let ascending = |(mut segment, repeats): (Vec<u32>, bool)| {
                segment.sort_unstable();
                if !repeats {
                    segment.dedup();
                }
                segment
            };
            let segments: Vec<Vec<u32>> = segments.into_iter().map(ascending).collect();
            let members = |mask: usize| (0..count).filter(|at| mask >> at & 1 == 1).collect();
            let mut sets: Vec<Vec<usize>> = cases.into_iter().map(members).collect();
            // A case stands before those that it includes.
            sets.sort_by_key(|set: &Vec<usize>| std::cmp::Reverse(set.len()));
            sets.dedup();
            Walk { segments, offsets, windows, repeats, lower, upper, cases: sets }
        },
    )
}

fn text_of(walk: &Walk, known: &[&str]) -> String {
    let names = ["p", "q", "r"];
    let used: std::collections::BTreeSet<usize> = walk.cases.iter().flatten().copied().collect();
    let used: Vec<usize> = used.into_iter().collect();
    let levels: Vec<String> = used
        .iter()
        .map(|at| {
            let (step, width) = walk.windows[*at];
            let repeats = if walk.repeats[*at] { " repeats" } else { "" };
            let (name, offset, end) = (names[*at], walk.offsets[*at], at + 1);
            let known = known[*at];
            format!("{name} = pos[{at}] to pos[{end}] at crd[{name}] + {offset} step {step} width {width}{repeats} \
                {known}")
        })
        .collect();
    let over =
        if levels.is_empty() { String::new() } else { format!(" over {}", levels.join(", ")) };
    let cases: Vec<String> = walk
        .cases
        .iter()
        .enumerate()
        .map(|(nth, case)| {
            let list: Vec<&str> = case.iter().map(|at| names[*at]).collect();
            let sum: Vec<String> = list.iter().map(|name| format!("100 * {name}")).collect();
            let sum = if sum.is_empty() { "0".to_owned() } else { sum.join(" + ") };
            format!("case {} {{ A[i] += index({sum} + {} + i) }}", list.join(", "), 10 * (nth + 1))
        })
        .collect();
    format!(
        "{HEAD}func f(inout A, in pos, in crd) {{ coiter i = {} to {}{over} {{ {} }} }}",
        walk.lower,
        walk.upper,
        cases.join(" ")
    )
}

proptest! {
    #![proptest_config(super::config(600))]

    #[test]
    fn lowered_walks_do_the_same(walk in walk()) {
        // Nothing is known, or all that is true.
        let mut knowledge = vec![Vec::new(), vec![""; 3]];
        for (segment, (offset, (step, _))) in walk.segments.iter().zip(walk.offsets.iter().zip(&walk.windows)) {
            let width = walk.windows[knowledge[0].len()].1;
            let places = || segment.iter().map(|at| i64::from(*at) + offset);
            let above = places().all(|place| place >= step * walk.lower);
            let below = places().all(|place| (place - width).div_euclid(*step) + 1 < walk.upper);
            knowledge[0].push(match (above, below) {
                (true, true) => "within",
                (true, false) => "above",
                (false, true) => "below",
                (false, false) => "",
            });
        }
        for known in &knowledge {
            let (before, after) = lowered(&text_of(&walk, known));
            let run = |module: &Module| {
                let mut pos = vec![0i64];
                for segment in &walk.segments {
                    pos.push(pos.last().unwrap() + segment.len() as i64);
                }
                let crd: Vec<i64> = walk.segments.iter().flatten().map(|at| i64::from(*at)).collect();
                let symbols = [20, crd.len() as i64];
                let mut data = [Data::Float(vec![0.0; 20]), Data::Int(pos), Data::Int(crd)];
                interp::run(module, "f", &symbols, &mut data).map_err(|error| format!("{error}\n{module}")).unwrap();
                data[0].clone()
            };
            // Worked out by hand: what is at each coordinate.
            let mut expected = vec![0.0; 20];
            let mut start = 0usize;
            let starts: Vec<usize> = walk.segments.iter().map(|segment| {
                start += segment.len();
                start - segment.len()
            }).collect();
            for i in walk.lower..walk.upper {
                let at = |cursor: usize| {
                    let (step, width) = walk.windows[cursor];
                    let window = step * i..step * i + width;
                    let place = |at: &u32| i64::from(*at) + walk.offsets[cursor];
                    walk.segments[cursor].iter().position(|at| window.contains(&place(at)))
                };
                let mut cases = walk.cases.iter().enumerate();
                let case = cases.find(|(_, case)| case.iter().all(|cursor| at(*cursor).is_some()));
                if let Some((nth, case)) = case {
                    let sum: usize = case.iter().map(|cursor| 100 * (starts[*cursor] + at(*cursor).unwrap())).sum();
                    expected[i as usize] = (sum + 10 * (nth + 1)) as f64 + i as f64;
                }
            }
            prop_assert_eq!(&run(&before), &Data::Float(expected.clone()), "{}", before);
            prop_assert_eq!(&run(&after), &Data::Float(expected), "{}\n{}", before, after);
        }
    }
}
