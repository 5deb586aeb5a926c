//! Functions that count how often their loops run.
//!
//! Before -> after, with a buffer `trips` of two elements behind the arguments:
//! ```text
//! parallel i = 0 to N { y[i] = sum(p = pos[i] to pos[i + 1]) v }
//! ```
//! becomes
//! ```text
//! for loop = 0 to 2 { trips[loop] = index(0) }
//! trips[0] += index(max(0, N))
//! for i = 0 to N {
//!   trips[1] += index(max(0, pos[i + 1] - pos[i]))
//!   y[i] = sum(p = pos[i] to pos[i + 1]) v
//! }
//! ```
//! A counter is shared by all iterations, so loops run in order, and a range in parts is one part. Walks over
//! coordinates are lowered before, and tiles are made of functions that do not count.

use std::collections::BTreeSet;

use crate::build::free_name;
use crate::ir::*;
use crate::linear::only_value;

/// A loop or sum that is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Its variable; a loop with a condition may have several, or none.
    pub vars: Vec<VarId>,
    /// The names of its variables.
    pub name: String,
    /// How many counted loops and sums are around it.
    pub depth: usize,
    /// The buffers that are stored to in it.
    pub stores: BTreeSet<BufferId>,
    /// What is in its body.
    pub body: Body,
}

/// The kind of work of a counted loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Nothing: it only looks for where its condition fails.
    Empty,
    /// It sets elements to constants, and nothing else.
    Clears,
    /// Anything else.
    Other,
}

/// A function whose loops cannot be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TripsError {
    /// No such function.
    #[error("there is no such function")]
    Function,
    /// A walk over coordinates, which is no loop yet.
    #[error("a walk over coordinates is not a loop yet")]
    Walk,
    /// Sums in parts.
    #[error("sums are in parts, with results of their own")]
    Parts,
}

/// Makes a function count: it takes one more buffer, the last one, of integers, to be written. Gives the loops and sums
/// in the order of the text; the buffer's element of each is how often its body ran, or how many terms it had, those
/// included for which a sum's condition does not hold. What is a loop only to bind a variable to its one value is not
/// counted.
///
/// # Errors
/// If there is no such function, or if something in it is not a loop of one thread. Then the module is as it was.
pub fn count_trips(module: &mut Module, function: &str) -> Result<Vec<Counted>, TripsError> {
    let found = module.functions.iter().position(|known| known.name == function);
    let function = found.map(|at| module.functions[at].clone()).ok_or(TripsError::Function)?;
    let mut result = Ok(());
    function.body.iter().for_each(|stmt| {
        stmt.visit(&mut |stmt| match stmt {
            Stmt::CoIter(_) | Stmt::Append(_) => result = Err(TripsError::Walk),
            Stmt::Partial(_) | Stmt::Team(_) | Stmt::Call(_) => result = Err(TripsError::Parts),
            _ => {}
        })
    });
    result?;
    let name = free_name(&module.buffers, "trips".to_owned());
    let buffer = BufferId(module.buffers.len() as u32);
    let mut counter = Counter { vars: &function.vars, buffer, counted: Vec::new() };
    let body = counter.block(function.body.clone(), 0);
    let counted = counter.counted;
    let size = Index::Const(counted.len() as i64);
    module.buffer(name, Element::I64, size.clone());
    let Some(at) = found else { return Err(TripsError::Function) };
    let changed = &mut module.functions[at];
    changed.args.push((buffer, Mode::Out));
    let each = changed.fresh_var("loop");
    let clear = Stmt::set(buffer, Index::Var(each), Value::FromIndex(Index::Const(0)));
    changed.body = vec![Stmt::for_range(each, Index::Const(0), size, vec![clear])];
    changed.body.extend(body);
    Ok(counted)
}

struct Counter<'a> {
    vars: &'a [String],
    buffer: BufferId,
    counted: Vec<Counted>,
}

/// How many values a range has.
fn length(lower: &[Index], upper: &[Index], step: i64) -> Index {
    let first = lower.iter().cloned().reduce(Index::max).unwrap_or(Index::Const(0));
    let end = upper.iter().cloned().reduce(Index::min).unwrap_or(Index::Const(0));
    (end - first + (step - 1)).floor_div(step.max(1)).max(Index::Const(0))
}

/// What statements store to, and what they do.
fn described(stmts: &[Stmt]) -> (BTreeSet<BufferId>, Body) {
    let (mut stores, mut clears) = (BTreeSet::new(), true);
    let constant =
        |value: &Value| matches!(value, Value::Const(_) | Value::FromIndex(Index::Const(_)));
    let mut look = |stmt: &Stmt| match stmt {
        Stmt::Store(store) => {
            stores.insert(store.buffer);
            clears &= store.mode == StoreMode::Set && constant(&store.value);
        }
        Stmt::For(_) => {}
        Stmt::Scan(inner) => {
            stores.insert(inner.buffer);
            clears = false;
        }
        _ => clears = false,
    };
    stmts.iter().for_each(|stmt| stmt.visit(&mut look));
    let body = match (stmts.is_empty(), clears) {
        (true, _) => Body::Empty,
        (false, true) => Body::Clears,
        (false, false) => Body::Other,
    };
    (stores, body)
}

/// A partitioned range as a single part.
fn whole(partitioned: PartitionedRange) -> Stmt {
    let (first, end) = partitioned.ends();
    let part =
        |stmt: Stmt| stmt.substitute(partitioned.begin, &first).substitute(partitioned.end, &end);
    let body = partitioned.body.into_iter().map(part).collect();
    Stmt::when(first.clone().less(end.clone()), body)
}

impl Counter<'_> {
    /// A statement that adds to the counter of a new loop, of what is in it.
    fn count(
        &mut self,
        vars: Vec<VarId>,
        depth: usize,
        trips: Index,
        (stores, body): (BTreeSet<BufferId>, Body),
    ) -> Stmt {
        let name = |var: &VarId| self.vars.get(var.0 as usize).cloned().unwrap_or_default();
        let name = vars.iter().map(name).collect::<Vec<_>>().join(", ");
        let at = Index::Const(self.counted.len() as i64);
        self.counted.push(Counted { vars, name, depth, stores, body });
        Stmt::add(self.buffer, at, Value::FromIndex(trips))
    }

    fn block(&mut self, body: Vec<Stmt>, depth: usize) -> Vec<Stmt> {
        let mut result = Vec::new();
        for stmt in body {
            let mut stmt = match stmt {
                Stmt::Partitioned(partitioned) => whole(partitioned),
                stmt => stmt,
            };
            let inside = match &mut stmt {
                Stmt::For(inner) => {
                    inner.mark = Mark::Sequential;
                    match only_value(&inner.lower, &inner.upper, inner.step) {
                        Some(_) => depth,
                        None => {
                            let trips = length(&inner.lower, &inner.upper, inner.step);
                            let inside = described(&inner.body);
                            result.push(self.count(vec![inner.var], depth, trips, inside));
                            depth + 1
                        }
                    }
                }
                Stmt::While(inner) => {
                    let vars: Vec<VarId> = inner.vars.iter().map(|(var, _)| *var).collect();
                    let inside = described(&inner.body);
                    let trip = self.count(vars, depth, Index::Const(1), inside);
                    let body = self.block(std::mem::take(&mut inner.body), depth + 1);
                    inner.body = [vec![trip], body].concat();
                    inner.after = self.block(std::mem::take(&mut inner.after), depth);
                    result.push(stmt);
                    continue;
                }
                Stmt::Scan(inner) => {
                    let inside = described(&inner.body);
                    let trip = self.count(vec![inner.var], depth, Index::Const(1), inside);
                    let body = self.block(std::mem::take(&mut inner.body), depth + 1);
                    inner.body = [vec![trip], body].concat();
                    result.push(stmt);
                    continue;
                }
                Stmt::Store(store) => {
                    self.sums((store.buffer, &store.value), depth, &mut result);
                    depth
                }
                _ => depth,
            };
            for body in stmt.bodies_mut() {
                *body = self.block(std::mem::take(body), inside);
            }
            result.push(stmt);
        }
        result
    }

    /// Counts the sums of a value that is stored, in statements before it.
    fn sums(&mut self, (to, value): (BufferId, &Value), depth: usize, counts: &mut Vec<Stmt>) {
        match value {
            Value::Sum(sum) => {
                let trips = length(&sum.lower, &sum.upper, sum.step);
                let body = (BTreeSet::from([to]), Body::Other);
                counts.push(self.count(vec![sum.var], depth, trips, body));
                let mut inside = Vec::new();
                self.sums((to, &sum.body), depth + 1, &mut inside);
                if inside.is_empty() {
                    return;
                }
                let body = match &sum.condition {
                    Some(condition) => vec![Stmt::when(condition.clone(), inside)],
                    None => inside,
                };
                let (lower, upper) = (sum.lower.clone(), sum.upper.clone());
                let mark = Mark::Sequential;
                counts.push(Stmt::For(For {
                    var: sum.var,
                    lower,
                    upper,
                    step: sum.step,
                    mark,
                    body,
                }));
            }
            _ => value.parts().into_iter().for_each(|part| self.sums((to, part), depth, counts)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interp::{Data, InterpError, run_counted, run_steps};
    use crate::random::{self, Style};
    use crate::{parse, verify};
    use proptest::prelude::*;

    #[test]
    fn a_function_that_counts() {
        let mut module = parse(
            "module(N)\nbuffer y : f64[N]\nbuffer pos : u32[N + 1]\nbuffer v : f64[100]\n\
             func f(out y, in pos, in v) {\n\
             parallel i = 0 to N { for k = i to i + 1 { y[k] = sum(p = pos[i] to pos[i + 1] step 2) v[p] * (sum(q = 0 \
             to p) 1.0) } }\n\
             while x = N, z = 0 if x > 3 { y[x - 1] += 1.0 } then x / 2, z after { for i = 0 to N { y[i] += 1.0 } } }",
        )
        .unwrap();
        let counted = count_trips(&mut module, "f").unwrap();
        assert_eq!(verify(&module), Ok(()));
        let shown: Vec<String> =
            counted.iter().map(|one| format!("{}{}", " ".repeat(one.depth), one.name)).collect();
        assert_eq!(shown, ["i", " p", "  q", "x, z", "i"]);
        assert!(counted.iter().all(|one| one.body == Body::Other));
        let y = BTreeSet::from([BufferId(0)]);
        assert!(counted.iter().all(|one| one.stores == y));
        expect_test::expect![[r#"
            func f(out b0, in b1, in b2, out b3) {
              for loop = 0 to 5 {
                b3[loop] = index(0)
              }
              b3[0] += index(max(p0, 0))
              for i = 0 to p0 {
                for k = i to i + 1 {
                  b3[1] += index(max((b1[i + 1] - b1[i] + 1) / 2, 0))
                  for p = b1[i] to b1[i + 1] step 2 {
                    b3[2] += index(max(p, 0))
                  }
                  b0[k] = sum(p = b1[i] to b1[i + 1] step 2) b2[p] * (sum(q = 0 to p) 1.0)
                }
              }
              while x = p0, z = 0 if x > 3 {
                b3[3] += index(1)
                b0[x - 1] += 1.0
              } then x / 2, z after {
                b3[4] += index(max(p0, 0))
                for i = 0 to p0 {
                  b0[i] += 1.0
                }
              }
            }
        "#]]
        .assert_eq(&module.functions[0].to_string());
        let mut data = [
            Data::Float(vec![0.0; 4]),
            Data::Int(vec![0, 3, 3, 4, 10]),
            Data::Float(vec![1.0; 100]),
            Data::Int(vec![7; 5]),
        ];
        run_steps(&module, "f", &[4], &mut data, 10_000).unwrap();
        // Terms at 0, 2; 3; 4, 6, 8.
        assert_eq!(data[3].as_int().unwrap(), [4, 6, 2 + 3 + 4 + 6 + 8, 1, 4]);
        assert_eq!(count_trips(&mut module, "g"), Err(TripsError::Function));
    }

    #[test]
    fn loops_that_compute_nothing() {
        let mut module = parse(
            "module(N)\nbuffer y : f64[N]\nbuffer k : i64[N]\n\
             func f(out y, out k) { for i = 0 to N { for j = 0 to 2 { y[i + j] = 0.0 } k[i] = index(0) }\n\
             while i = 0 if i < N { } then i + 1 after { for j = 0 to N { y[j] += 1.0 } } }",
        )
        .unwrap();
        let counted = count_trips(&mut module, "f").unwrap();
        let bodies: Vec<Body> = counted.iter().map(|one| one.body).collect();
        assert_eq!(bodies, [Body::Clears, Body::Clears, Body::Empty, Body::Other]);
        assert_eq!(counted[0].stores, BTreeSet::from([BufferId(0), BufferId(1)]));
    }

    #[test]
    fn a_range_that_is_shared_is_one_part() {
        let text = "module(N)\nbuffer y : f64[N]\n\
                    func f(out y) { partition b, e = 2 to N by e { for i = b to e { y[i] = 1.0 } } }";
        for (n, trips) in [(7, 5), (2, 0), (0, 0)] {
            let mut module = parse(text).unwrap();
            assert_eq!(count_trips(&mut module, "f").map(|all| all.len()), Ok(1));
            assert_eq!(verify(&module), Ok(()));
            let mut data = [Data::Float(vec![0.0; 7]), Data::Int(vec![7])];
            run_steps(&module, "f", &[n], &mut data, 10_000).unwrap();
            assert_eq!(data[1].as_int().unwrap(), [trips]);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

        #[test]
        fn counts_are_the_interpreters(seed: u64) {
            let before = random::module(seed, Style::Runnable);
            let mut after = before.clone();
            let counted = count_trips(&mut after, "f").unwrap();
            prop_assert_eq!(verify(&after), Ok(()));
            let data = || vec![Data::Float(vec![1.0; 16]); 3];
            let mut plain = data();
            let trips = match run_counted(&before, "f", &[4, 3], &mut plain, 200_000) {
                Err(InterpError::Steps(_)) => return Ok(()),
                trips => trips.unwrap(),
            };
            let mut counting = data();
            counting.push(Data::Int(vec![-1; counted.len()]));
            run_steps(&after, "f", &[4, 3], &mut counting, 1_000_000).unwrap();
            // What is no number is not equal to itself.
            prop_assert_eq!(format!("{:?}", &counting[..3]), format!("{plain:?}"));
            let mut sums = vec![0; trips.len()];
            for (one, count) in counted.iter().zip(counting[3].as_int().unwrap()) {
                sums[one.vars[0].0 as usize] += *count as u64;
            }
            let mut found = vec![false; trips.len()];
            counted.iter().for_each(|one| found[one.vars[0].0 as usize] = true);
            for (var, (sum, trips)) in sums.iter().zip(&trips).enumerate() {
                prop_assert!(!found[var] || sum == trips, "{}: {} {}\n{}", var, sum, trips, after);
            }
        }
    }
}
