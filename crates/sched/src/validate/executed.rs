//! Reads off the loop IR what a function executes: every store, with the loops and conditions around it, and its value
//! as a sum of products of elements.
//!
//! Before -> after, `for i = 0 to N { y[i] += 2.0 * (sum(j = i to N) B[p(i, j)] * x[j]) }` -> at `{ [i, j] : 0 <= i < N
//! and i <= j < N }`, `2 * B[p(i, j)] * x[j]` is added to `y[i]`.

use dastac_loops::{
    BufferId, Function, Index, Mark, Reduction, Stmt, Store, StoreMode, Sum, Value, VarId,
};
use dastac_stur::program::TensorId;

use super::expression::Naming;

/// One step on the way from a function's body to a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Position in a list of statements.
    At(usize),
    /// Into a loop.
    Into(VarId, Mark),
}

/// The variables of some loops and the conditions that hold for them.
#[derive(Clone, Debug, Default)]
pub(super) struct Around {
    pub(super) vars: Vec<VarId>,
    /// The conditions, in isl's notation.
    pub(super) conditions: Vec<String>,
}

/// A store.
pub(super) struct Site<'a> {
    pub(super) buffer: BufferId,
    pub(super) index: &'a Index,
    pub(super) mode: StoreMode,
    pub(super) around: Around,
    pub(super) path: Vec<Step>,
    /// The value, which is the sum of these terms.
    pub(super) terms: Vec<Term>,
}

impl Site<'_> {
    /// Whether the value reads an element of a tensor.
    pub(super) fn reads(&self, tensor: TensorId) -> bool {
        self.terms.iter().flat_map(|term| &term.factors).any(|factor| {
            matches!(&factor.what, What::Element(buffer, _) if buffer.0 as usize == tensor.0)
        })
    }
}

/// A product, which is added once for each value of the variables of the sums around it.
#[derive(Clone, Debug)]
pub(super) struct Term {
    pub(super) coefficient: f64,
    pub(super) sums: Around,
    pub(super) factors: Vec<Factor>,
}

/// A factor or a divisor of a product.
#[derive(Clone, Debug)]
pub(super) struct Factor {
    pub(super) what: What,
    pub(super) reciprocal: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    Element(BufferId, Index),
    Number(Index),
}

/// All stores of a function, in order. The error says which part of the function could not be read.
pub(super) fn sites<'a>(function: &'a Function, naming: &Naming) -> Result<Vec<Site<'a>>, String> {
    let mut reader = Reader { naming, sites: Vec::new() };
    reader.block(&function.body, &Around::default(), &[])?;
    Ok(reader.sites)
}

struct Reader<'a, 'n> {
    naming: &'n Naming,
    sites: Vec<Site<'a>>,
}

impl<'a> Reader<'a, '_> {
    fn block(&mut self, body: &'a [Stmt], around: &Around, path: &[Step]) -> Result<(), String> {
        for (position, stmt) in body.iter().enumerate() {
            let path = [path, &[Step::At(position)]].concat();
            self.stmt(stmt, around, path)?;
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: &'a Stmt, around: &Around, mut path: Vec<Step>) -> Result<(), String> {
        match stmt {
            Stmt::For(inner) => {
                let mut around = around.clone();
                let range = Range { lower: &inner.lower, upper: &inner.upper, step: inner.step };
                bind(self.naming, &mut around, inner.var, range)?;
                path.push(Step::Into(inner.var, inner.mark));
                self.block(&inner.body, &around, &path)
            }
            // Nests are proven before their iterations are partitioned among threads.
            Stmt::Partitioned(_) | Stmt::Partial(_) => Err("a range in parts".into()),
            Stmt::Workspace(_) | Stmt::Let(_) => Err("memory of its own".into()),
            Stmt::Append(_) => Err("levels that are assembled".into()),
            Stmt::Team(_) | Stmt::Call(_) | Stmt::While(_) | Stmt::CoIter(_) => {
                Err("a walk over positions".into())
            }
            Stmt::Register(_) => Err("register code".into()),
            Stmt::If(inner) => {
                for (condition, body, side) in [
                    (inner.condition.clone(), &inner.then, 0),
                    (inner.condition.clone().negate(), &inner.otherwise, 1),
                ] {
                    let mut around = around.clone();
                    let condition = self.naming.condition(&condition);
                    around.conditions.push(condition.ok_or("a condition that is not affine")?);
                    // At one point only one of the two sides runs, so that their order does not matter.
                    let path = [&path[..], &[Step::At(side)]].concat();
                    self.block(body, &around, &path)?;
                }
                Ok(())
            }
            Stmt::Store(Store { mode: StoreMode::Min | StoreMode::Max, .. }) => {
                Err("no sum of products".into())
            }
            Stmt::Store(Store { buffer, index, value, mode, .. }) => {
                let terms = terms(self.naming, value)?;
                let (buffer, mode, around) = (*buffer, *mode, around.clone());
                self.sites.push(Site { buffer, index, mode, around, path, terms });
                Ok(())
            }
        }
    }
}

/// The range of a loop's or a sum's variable.
struct Range<'a> {
    lower: &'a [Index],
    upper: &'a [Index],
    step: i64,
}

/// Adds a variable to `around`, and the conditions that its range puts on it.
fn bind(
    naming: &Naming,
    around: &mut Around,
    var: VarId,
    Range { lower, upper, step }: Range<'_>,
) -> Result<(), String> {
    if around.vars.contains(&var) {
        return Err("a variable that is bound twice".into());
    }
    let not_affine = || "a bound that is not affine".to_string();
    let name = naming.var(var);
    let mut lowers = Vec::new();
    for bound in lower {
        lowers.push(naming.text(bound).ok_or_else(not_affine)?);
    }
    for bound in &lowers {
        around.conditions.push(format!("{name} >= {bound}"));
    }
    for bound in upper {
        around.conditions.push(format!("{name} < {}", naming.text(bound).ok_or_else(not_affine)?));
    }
    if step != 1 {
        // A loop counts its steps from its largest lower bound.
        let first = lowers.into_iter().reduce(|a, b| format!("max({a}, {b})"));
        let first = first.ok_or("a loop without a lower bound")?;
        around
            .conditions
            .push(format!("{name} - {first} - {step} * floor(({name} - {first})/{step}) = 0"));
    }
    around.vars.push(var);
    Ok(())
}

/// A value with more terms than this is not multiplied out.
const MAX_TERMS: usize = 1 << 16;

/// A value as a sum of products.
fn terms(naming: &Naming, value: &Value) -> Result<Vec<Term>, String> {
    let go = |value: &Value| terms(naming, value);
    let single = |what| Term {
        coefficient: 1.0,
        sums: Around::default(),
        factors: vec![Factor { what, reciprocal: false }],
    };
    Ok(match value {
        Value::Const(value) if *value == 0.0 => Vec::new(),
        Value::Const(value) => {
            vec![Term { coefficient: *value, sums: Around::default(), factors: Vec::new() }]
        }
        Value::Load(buffer, index) => vec![single(What::Element(*buffer, index.clone()))],
        Value::FromIndex(index) => vec![single(What::Number(index.clone()))],
        Value::Add(a, b) => [go(a)?, go(b)?].concat(),
        Value::Mul(a, b) => {
            let (left, right) = (go(a)?, go(b)?);
            if left.len().saturating_mul(right.len()) > MAX_TERMS {
                return Err("a product of long sums".into());
            }
            let mut all = Vec::new();
            for x in &left {
                for y in &right {
                    all.push(product(x, y)?);
                }
            }
            all
        }
        Value::Div(a, b) => {
            let divisor = go(b)?;
            let [divisor] = divisor.as_slice() else { return Err("a division by a sum".into()) };
            if !divisor.sums.vars.is_empty() {
                return Err("a division by a sum".into());
            }
            let inverse = Term {
                coefficient: divisor.coefficient.recip(),
                factors: divisor
                    .factors
                    .iter()
                    .map(|factor| Factor { reciprocal: !factor.reciprocal, ..factor.clone() })
                    .collect(),
                ..divisor.clone()
            };
            go(a)?.iter().map(|term| product(term, &inverse)).collect::<Result<_, _>>()?
        }
        Value::Min(..) | Value::Max(..) | Value::Truth(_) => {
            return Err("no sum of products".into());
        }
        Value::Apply(..) | Value::Select(_) | Value::Compare(..) | Value::Cast(..) => {
            return Err("no sum of products".into());
        }
        Value::Sum(sum) if sum.kind != Reduction::Sum => return Err("no sum of products".into()),
        Value::Sum(sum) => {
            let Sum { var, lower, upper, step, condition, body, .. } = &**sum;
            let mut all = go(body)?;
            for term in &mut all {
                let mut sums = Around::default();
                bind(naming, &mut sums, *var, Range { lower, upper, step: *step })?;
                if let Some(condition) = condition {
                    let condition = naming.condition(condition);
                    sums.conditions.push(condition.ok_or("a condition that is not affine")?);
                }
                join(&mut sums, &term.sums)?;
                term.sums = sums;
            }
            all
        }
    })
}

fn join(around: &mut Around, inner: &Around) -> Result<(), String> {
    if inner.vars.iter().any(|var| around.vars.contains(var)) {
        return Err("a variable that is bound twice".into());
    }
    around.vars.extend(&inner.vars);
    around.conditions.extend(inner.conditions.iter().cloned());
    Ok(())
}

fn product(left: &Term, right: &Term) -> Result<Term, String> {
    let mut sums = left.sums.clone();
    join(&mut sums, &right.sums)?;
    Ok(Term {
        coefficient: left.coefficient * right.coefficient,
        sums,
        factors: [&left.factors[..], &right.factors[..]].concat(),
    })
}
