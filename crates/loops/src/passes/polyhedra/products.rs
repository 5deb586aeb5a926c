//! What statements add, as products of factors over the points of a polyhedron.
//!
//! Before -> after: `if 0 < N { parallel i = 0 to N { y[i] += x[i] * (sum(k = 0 to i) S[N * i + k] * x[k]) } }` -> the
//! product of `x[i]`, `S[N * i + k]` and `x[k]` over `0 <= i < N`, `0 <= k < i`, under `0 < N`.

use crate::ir::*;
use crate::linear::{Linear, flatten_max, flatten_min};

/// A product that is added to an element for each point.
#[derive(Clone, Debug)]
pub(crate) struct Product {
    /// The buffer that is added to.
    pub(crate) buffer: BufferId,
    /// The element.
    pub(crate) index: Index,
    /// The iterators, the outermost first.
    pub(crate) vars: Vec<VarId>,
    /// How many of them are those of loops, not of sums.
    pub(crate) loops: usize,
    /// Whether the elements are set, before products of the same statement add to them.
    pub(crate) sets: bool,
    /// How many expressions of the domain are those of loops, not of sums.
    pub(crate) elements: usize,
    /// Expressions that are not negative exactly at the points.
    pub(crate) domain: Vec<Index>,
    /// The conditions around the loops, as expressions that are not negative.
    pub(crate) guards: Vec<Index>,
    /// A number that the factors are multiplied with.
    pub(crate) coefficient: f64,
    /// Factors without sums.
    pub(crate) factors: Vec<Value>,
}

/// The products that a statement adds, if it does nothing else.
pub(crate) fn products(stmt: &Stmt) -> Option<Vec<Product>> {
    let mut outer = Product {
        buffer: BufferId(0),
        index: Index::Const(0),
        vars: Vec::new(),
        loops: 0,
        sets: false,
        elements: 0,
        domain: Vec::new(),
        guards: Vec::new(),
        coefficient: 1.0,
        factors: Vec::new(),
    };
    let mut stmt = stmt;
    loop {
        let body = match stmt {
            Stmt::For(inner) if inner.mark == Mark::THREADS && inner.step == 1 => {
                outer.range(inner.var, &inner.lower, &inner.upper);
                &inner.body
            }
            Stmt::If(inner) if inner.otherwise.is_empty() => {
                let list = match outer.vars.is_empty() {
                    true => &mut outer.guards,
                    false => &mut outer.domain,
                };
                for condition in inner.condition.clone().conjuncts() {
                    not_negative(&condition, list)?;
                }
                &inner.then
            }
            _ => break,
        };
        let [only] = &body[..] else { return None };
        stmt = only;
    }
    let Stmt::Store(store) = stmt else { return None };
    outer.sets = match store.mode {
        StoreMode::Add => false,
        StoreMode::Set => true,
        StoreMode::Multiply | StoreMode::Min | StoreMode::Max => return None,
    };
    if store.stream.is_some() || store.value.loads(store.buffer) {
        return None;
    }
    (outer.buffer, outer.index) = (store.buffer, store.index.clone());
    (outer.loops, outer.elements) = (outer.vars.len(), outer.domain.len());
    outer.times(&store.value)
}

impl Product {
    /// The product with other variables of the same loops.
    pub(crate) fn with_loops(&self, to: &[VarId]) -> Product {
        let vars = to.iter().copied().chain(self.vars.iter().skip(to.len()).copied());
        self.renamed(&vars.collect::<Vec<_>>())
    }

    /// The product with other iterators.
    pub(crate) fn renamed(&self, to: &[VarId]) -> Product {
        let index = |index: &Index| rename(index, &self.vars, to);
        Product {
            index: index(&self.index),
            vars: to.to_vec(),
            domain: self.domain.iter().map(index).collect(),
            factors: self.factors.iter().map(|one| one.rebuild(&|leaf| index(leaf))).collect(),
            ..self.clone()
        }
    }

    fn range(&mut self, var: VarId, lower: &[Index], upper: &[Index]) {
        let (mut lowers, mut uppers) = (Vec::new(), Vec::new());
        lower.iter().for_each(|bound| flatten_max(bound, &mut lowers));
        upper.iter().for_each(|bound| flatten_min(bound, &mut uppers));
        let here = || Index::Var(var);
        self.domain.extend(lowers.into_iter().map(|low| here() - low));
        self.domain.extend(uppers.into_iter().map(|high| high - 1 - here()));
        self.vars.push(var);
    }

    /// The products of this one and a value.
    fn times(self, value: &Value) -> Option<Vec<Product>> {
        Some(match value {
            Value::Const(by) => vec![Product { coefficient: self.coefficient * by, ..self }],
            Value::Add(left, right) => {
                let mut all = self.clone().times(left)?;
                all.extend(self.times(right)?);
                all
            }
            Value::Mul(left, right) => {
                let mut all = Vec::new();
                for product in self.times(left)? {
                    all.extend(product.times(right)?);
                }
                all
            }
            Value::Sum(sum) => {
                let plain = sum.kind == Reduction::Sum && sum.step == 1 && sum.unroll.is_none();
                if !plain || !sum.fetch.is_empty() || self.vars.contains(&sum.var) {
                    return None;
                }
                let mut inside = self;
                inside.range(sum.var, &sum.lower, &sum.upper);
                if let Some(condition) = &sum.condition {
                    not_negative(condition, &mut inside.domain)?;
                }
                inside.times(&sum.body)?
            }
            value if value.has_sums() => return None,
            value => {
                let mut product = self;
                product.factors.push(value.clone());
                vec![product]
            }
        })
    }
}

/// The expression with other iterators.
pub(crate) fn rename(index: &Index, from: &[VarId], to: &[VarId]) -> Index {
    index.rebuild(&|leaf| match leaf {
        Index::Var(var) => {
            let at = from.iter().position(|other| other == var);
            Index::Var(at.map_or(*var, |at| to[at]))
        }
        leaf => leaf.clone(),
    })
}

/// Adds the expressions that are not negative exactly where a condition holds, if it is a conjunction of such.
pub(crate) fn not_negative(condition: &Condition, list: &mut Vec<Index>) -> Option<()> {
    match condition {
        Condition::And(all) => all.iter().try_for_each(|one| not_negative(one, list)),
        Condition::Or(_) => None,
        Condition::Compare(how, left, right) => {
            let at_least = |high: &Index, low: &Index, gap: i64| {
                // What stands on both sides is gone.
                let difference = high.clone() - low.clone() - gap;
                Linear::of(&difference).map_or(difference, |linear| linear.to_index())
            };
            match how {
                Compare::Lt => list.push(at_least(right, left, 1)),
                Compare::Le => list.push(at_least(right, left, 0)),
                Compare::Gt => list.push(at_least(left, right, 1)),
                Compare::Ge => list.push(at_least(left, right, 0)),
                Compare::Eq => {
                    list.push(at_least(left, right, 0));
                    list.push(at_least(right, left, 0));
                }
                Compare::Ne => return None,
            }
            Some(())
        }
    }
}
