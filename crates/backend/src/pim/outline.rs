//! The outline of statements: what a host counts and bounds.
//!
//! Before -> after: `for i = 0 to N { y[i] = sum(p = pos[i] to pos[i + 1]) v[p] * x[crd[p]] }` -> a loop over `i`
//! around one over `p`, with the work of two loads, and one of a store.

use dastac_loops::{
    Condition, Index, PartitionedRange, Stmt, Store, StoreMode, Value, VarId, While,
};
use dastac_pim::outline::{Outline, sides};

/// Loops and conditions inside of each other that an outline has at most: of what is deeper, nothing is known.
const DEEPEST: usize = 12;

/// The outline of a block.
pub fn of(body: &[Stmt]) -> Vec<Outline> {
    within(body, 0)
}

fn within(body: &[Stmt], depth: usize) -> Vec<Outline> {
    if depth > DEEPEST {
        return vec![Outline::Unknown { vars: Vec::new(), body: Vec::new() }];
    }
    body.iter().map(|stmt| of_stmt(stmt, depth + 1)).collect()
}

fn of_stmt(stmt: &Stmt, depth: usize) -> Outline {
    let of = |body: &[Stmt]| within(body, depth);
    match stmt {
        Stmt::For(inner) => Outline::Loop {
            var: inner.var,
            lower: inner.lower.clone(),
            upper: inner.upper.clone(),
            step: inner.step,
            body: of(&inner.body),
        },
        Stmt::Partitioned(inner) => partitioned(inner, depth),
        Stmt::If(inner) => Outline::If {
            condition: inner.condition.clone(),
            then: of(&inner.then),
            otherwise: of(&inner.otherwise),
        },
        Stmt::Let(inner) => Outline::Let {
            var: inner.var,
            buffer: inner.buffer,
            index: inner.index.clone(),
            body: of(&inner.body),
        },
        Stmt::Store(store) => of_store(store),
        Stmt::While(inner) => of_while(inner, depth),
        Stmt::Workspace(inner) => {
            let size = Outline::Work { cost: 1, indices: vec![inner.size.clone()] };
            let condition = Condition::And(Vec::new());
            let then = [size].into_iter().chain(of(&inner.body)).collect();
            Outline::If { condition, then, otherwise: Vec::new() }
        }
        Stmt::Scan(inner) => Outline::Unknown { vars: vec![inner.var], body: of(&inner.body) },
        other => {
            let body = other.bodies().into_iter().flat_map(of).collect();
            Outline::Unknown { vars: Vec::new(), body }
        }
    }
}

/// The parts of a range: for its work, each iteration is one; for its integers, each part may be any.
fn partitioned(inner: &PartitionedRange, depth: usize) -> Outline {
    let of = |body: &[Stmt]| within(body, depth);
    let PartitionedRange { begin, end, lower, upper, step, body, .. } = inner;
    let next = Index::Var(*begin) + *step;
    let one: Vec<Stmt> = body.iter().map(|stmt| stmt.substitute(*end, &next)).collect();
    let any = Outline::Loop {
        var: *end,
        lower: vec![Index::Var(*begin)],
        upper: upper.iter().map(|bound| bound.clone() + 1).collect(),
        step: 1,
        body: of(body),
    };
    let both =
        Outline::If { condition: Condition::And(Vec::new()), then: of(&one), otherwise: vec![any] };
    let (lower, upper) = (lower.clone(), upper.clone());
    Outline::Loop { var: *begin, lower, upper, step: *step, body: vec![both] }
}

/// A loop with a condition: nothing is known of its variables.
fn of_while(inner: &While, depth: usize) -> Outline {
    let of = |body: &[Stmt]| within(body, depth);
    let vars: Vec<VarId> = inner.vars.iter().map(|(var, _)| *var).collect();
    let body = of(&inner.body).into_iter().chain(of(&inner.after)).collect();
    Outline::Unknown { vars, body }
}

fn of_store(store: &Store) -> Outline {
    let mut work = Work { cost: 1, indices: vec![store.index.clone()], loops: Vec::new() };
    if store.mode != StoreMode::Set {
        work.cost += 1;
    }
    work.add(&store.value);
    let Work { cost, indices, mut loops } = work;
    loops.push(Outline::Work { cost, indices });
    Outline::If { condition: Condition::And(Vec::new()), then: loops, otherwise: Vec::new() }
}

/// What a value needs.
struct Work {
    cost: u32,
    indices: Vec<Index>,
    loops: Vec<Outline>,
}

impl Work {
    fn add(&mut self, value: &Value) {
        match value {
            Value::Load(_, index) => {
                self.cost += 1;
                self.indices.push(index.clone());
            }
            Value::FromIndex(index) => self.indices.push(index.clone()),
            Value::Sum(sum) => {
                let mut inside = Work { cost: 0, indices: Vec::new(), loops: Vec::new() };
                if let Some(condition) = &sum.condition {
                    sides(condition, &mut |index| inside.indices.push(index.clone()));
                }
                inside.add(&sum.body);
                let Work { cost, indices, loops: mut body } = inside;
                body.push(Outline::Work { cost, indices });
                self.loops.push(Outline::Loop {
                    var: sum.var,
                    lower: sum.lower.clone(),
                    upper: sum.upper.clone(),
                    step: sum.step,
                    body,
                });
                return;
            }
            Value::Apply(..) | Value::Div(..) => self.cost += 4,
            _ => {}
        }
        value.parts().into_iter().for_each(|part| self.add(part));
    }
}
