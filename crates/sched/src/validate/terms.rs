//! Values of the loop IR, read as sums of products: what each store adds, in the semiring of its tensor.
//!
//! Before -> after, in the semiring of minima of sums: `min(k = 0 to N) (A[p] + (2 + B[q]))` -> one term with the
//! number 2 and the factors `A[p]` and `B[q]`, for each `k` with `0 <= k < N`.

use dastac_loops::{BufferId, Index, Reduction, Sum, Value, VarId};
use dastac_stur::program::Element;
use dastac_stur::semiring::Semiring;

use super::expression::Naming;

/// The variables of some loops and the conditions that hold for them.
#[derive(Clone, Debug, Default)]
pub(super) struct Around {
    pub(super) vars: Vec<VarId>,
    /// The conditions, in isl's notation.
    pub(super) conditions: Vec<String>,
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
    /// A function of elements.
    Value(Value),
}

/// The range of a loop's or a sum's variable.
pub(super) struct Range<'a> {
    pub(super) lower: &'a [Index],
    pub(super) upper: &'a [Index],
    pub(super) step: i64,
}

/// Adds a variable to `around`, and the conditions that its range puts on it.
pub(super) fn bind(
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

/// What the products of a rule are added in.
#[derive(Clone, Copy)]
pub(super) struct Sums {
    pub(super) semiring: Semiring,
    /// Its zero among the elements of the head.
    pub(super) zero: f64,
}

impl Sums {
    /// Those of a rule whose head has such elements.
    pub(super) fn of(semiring: Semiring, element: Element) -> Sums {
        Sums { semiring, zero: semiring.zero_in(element) }
    }
}

/// How values are read.
#[derive(Clone, Copy)]
pub(super) struct Reading<'n> {
    pub(super) naming: &'n Naming,
    pub(super) semiring: Semiring,
    /// The zero of [`Sums`].
    pub(super) zero: f64,
}

/// What adds products in a semiring.
pub(super) fn reduction(semiring: Semiring) -> Reduction {
    match semiring {
        Semiring::SumTimes => Reduction::Sum,
        Semiring::Prod => Reduction::Product,
        Semiring::MinPlus | Semiring::Min => Reduction::Min,
        Semiring::MaxPlus | Semiring::Max | Semiring::MaxTimes | Semiring::OrAnd => Reduction::Max,
    }
}

/// What a node of a value does in a semiring.
enum Role<'v> {
    /// Adds two values.
    Add(&'v Value, &'v Value),
    /// Multiplies two values.
    Multiply(&'v Value, &'v Value),
    /// Something else.
    Other,
}

impl Reading<'_> {
    fn role<'v>(&self, value: &'v Value) -> Role<'v> {
        let (plus, reduction) = (self.semiring.is_plus(), reduction(self.semiring));
        match value {
            Value::Add(a, b) if reduction == Reduction::Sum => Role::Add(a, b),
            Value::Min(a, b) if reduction == Reduction::Min => Role::Add(a, b),
            Value::Max(a, b) if reduction == Reduction::Max => Role::Add(a, b),
            // Products of values are joined with the sign that joins their factors; loops are never factors.
            Value::Mul(a, b)
                if reduction == Reduction::Product && [a, b].iter().any(|one| has_sums(one)) =>
            {
                Role::Add(a, b)
            }
            Value::Add(a, b) if plus => Role::Multiply(a, b),
            Value::Mul(a, b) if !plus => Role::Multiply(a, b),
            _ => Role::Other,
        }
    }

    /// A value as a sum of products, in the semiring.
    pub(super) fn terms(&self, value: &Value) -> Result<Vec<Term>, String> {
        match self.role(value) {
            Role::Add(a, b) => return Ok([self.terms(a)?, self.terms(b)?].concat()),
            Role::Multiply(a, b) => return self.products(a, b),
            Role::Other => {}
        }
        let no_sum = || Err("no sum of products".to_string());
        let truths = self.semiring == Semiring::OrAnd;
        match value {
            Value::Const(value) if *value == self.zero => Ok(Vec::new()),
            Value::Const(value) => {
                Ok(vec![Term { coefficient: *value, sums: Around::default(), factors: Vec::new() }])
            }
            Value::Load(..) | Value::FromIndex(_) if truths => Err("no truth value".into()),
            Value::Load(buffer, index) => {
                Ok(vec![self.single(What::Element(*buffer, index.clone()))])
            }
            Value::FromIndex(index) => Ok(vec![self.single(What::Number(index.clone()))]),
            Value::Truth(inner) if truths => match &**inner {
                Value::Load(buffer, index) => {
                    Ok(vec![self.single(What::Element(*buffer, index.clone()))])
                }
                Value::FromIndex(index) => Ok(vec![self.single(What::Number(index.clone()))]),
                _ => self.function(inner),
            },
            Value::Compare(..) if truths => self.function(value),
            Value::Div(a, b) if self.semiring == Semiring::SumTimes => self.quotients(a, b),
            Value::Sum(sum) if sum.kind == reduction(self.semiring) => self.sums(sum),
            _ if truths => no_sum(),
            value => self.function(value),
        }
    }

    /// A value that is a function of elements.
    fn function(&self, value: &Value) -> Result<Vec<Term>, String> {
        match has_sums(value) {
            true => Err("no sum of products".into()),
            false => Ok(vec![self.single(What::Value(value.clone()))]),
        }
    }

    fn single(&self, what: What) -> Term {
        let factors = vec![Factor { what, reciprocal: false }];
        Term { coefficient: self.semiring.one(), sums: Around::default(), factors }
    }

    fn products(&self, a: &Value, b: &Value) -> Result<Vec<Term>, String> {
        let (left, right) = (self.terms(a)?, self.terms(b)?);
        // A product with a negative number does not distribute over a minimum or a maximum.
        let distributes = self.semiring != Semiring::MaxTimes && !self.semiring.is_of_values();
        let single = |terms: &[Term]| terms.len() == 1 && terms[0].sums.vars.is_empty();
        if !(distributes || single(&left) && single(&right)) {
            return Err("a product of long sums".into());
        }
        if left.len().saturating_mul(right.len()) > MAX_TERMS {
            return Err("a product of long sums".into());
        }
        let mut all = Vec::new();
        for x in &left {
            for y in &right {
                all.push(self.product(x, y)?);
            }
        }
        Ok(all)
    }

    /// The products of two sums without loops around them.
    pub(super) fn products_of(&self, left: &[Term], right: &[Term]) -> Vec<Term> {
        let pairs = left.iter().flat_map(|x| right.iter().map(move |y| (x, y)));
        let product = |(x, y): (&Term, &Term)| Term {
            coefficient: self.semiring.multiply(x.coefficient, y.coefficient),
            sums: Around::default(),
            factors: [&x.factors[..], &y.factors[..]].concat(),
        };
        pairs.map(product).collect()
    }

    fn quotients(&self, a: &Value, b: &Value) -> Result<Vec<Term>, String> {
        let mut divisor = self.terms(b)?;
        if divisor.iter().any(|term| !term.sums.vars.is_empty()) {
            return Err("a division by a sum".into());
        }
        if divisor.len() != 1 {
            divisor = vec![self.single(What::Value(b.clone()))];
        }
        let [divisor] = divisor.as_slice() else { return Err("a division by a sum".into()) };
        let flipped = |factor: &Factor| Factor { reciprocal: !factor.reciprocal, ..factor.clone() };
        let inverse = Term {
            coefficient: divisor.coefficient.recip(),
            factors: divisor.factors.iter().map(flipped).collect(),
            ..divisor.clone()
        };
        self.terms(a)?.iter().map(|term| self.product(term, &inverse)).collect()
    }

    fn sums(&self, sum: &Sum) -> Result<Vec<Term>, String> {
        let Sum { var, lower, upper, step, condition, body, .. } = sum;
        let mut all = self.terms(body)?;
        for term in &mut all {
            let mut sums = Around::default();
            bind(self.naming, &mut sums, *var, Range { lower, upper, step: *step })?;
            if let Some(condition) = condition {
                let condition = self.naming.condition(condition);
                sums.conditions.push(condition.ok_or("a condition that is not affine")?);
            }
            join(&mut sums, &term.sums)?;
            term.sums = sums;
        }
        Ok(all)
    }

    fn product(&self, left: &Term, right: &Term) -> Result<Term, String> {
        let mut sums = left.sums.clone();
        join(&mut sums, &right.sums)?;
        Ok(Term {
            coefficient: self.semiring.multiply(left.coefficient, right.coefficient),
            sums,
            factors: [&left.factors[..], &right.factors[..]].concat(),
        })
    }
}

/// Whether a value is the semiring's zero where its sums are over nothing. Minima and maxima are infinite there.
pub(super) fn is_zero_without_terms(sums: Sums, value: &Value) -> bool {
    let Sums { semiring, zero } = sums;
    let neutral = match reduction(semiring) {
        Reduction::Sum => 0.0,
        Reduction::Product => 1.0,
        Reduction::Min => f64::INFINITY,
        Reduction::Max => f64::NEG_INFINITY,
    };
    let is_zero = |value: &Value| matches!(value, Value::Const(c) if *c == zero);
    let joined = matches!(value, Value::Max(a, b) | Value::Min(a, b) if is_zero(a) || is_zero(b));
    neutral == semiring.zero() || joined || !has_sums(value)
}

fn has_sums(value: &Value) -> bool {
    let mut sums = false;
    value.visit(&mut |part| sums |= matches!(part, Value::Sum(_)));
    sums
}

fn join(around: &mut Around, inner: &Around) -> Result<(), String> {
    if inner.vars.iter().any(|var| around.vars.contains(var)) {
        return Err("a variable that is bound twice".into());
    }
    around.vars.extend(&inner.vars);
    around.conditions.extend(inner.conditions.iter().cloned());
    Ok(())
}
