//! Operands that are written out, redundant elements too, before a product reads them; and results of which all that is
//! around their elements is computed before what they store is kept.
//!
//! Each case of a redundancy map makes each product that reads the tensor one more statement, and the cases of several
//! operands multiply. A product that reads every element many times is computed faster, and by less code, from a copy
//! that stores all elements.
//!
//! Before -> after, of a symmetric `A`: `C(i, j) := A(i, k) * B(k, j)` -> `A.all(i, j) := A(i, j)` and
//! `C(i, j) := A.all(i, k) * B(k, j)`.
//!
//! A mask of a result, such as the comparison of `P(i, k) := A(i, j) * B(j, k) * ((i + k) % 2 = 0)`, may divide
//! iterators: then its loops have no rows side by side. From `P.all(i, k) := A(i, j) * B(j, k)` and
//! `P(i, k) := P.all(i, k) * ((i + k) % 2 = 0)` come loops without divisions for all of the work but one pass.
//!
//! Invariant: the program computes the same tensors. Its first tensors are those of the program as it was, under the
//! same handles.

use std::collections::BTreeSet;

use crate::affine::names;
use crate::ast::{BinaryOp, Comparison, Expr, ExprKind};
use crate::contract::{element, factors};
use crate::program::{Access, Element, Product, Program, Role, Rule, RuleId, Tensor, TensorId};
use crate::schedule::Schedule;
use crate::semiring::Semiring;

/// Which operands of which products are read from copies: the rule, the place of the product in it, and the tensor.
pub type Reads = BTreeSet<(RuleId, usize, TensorId)>;

/// What has copies.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Operands.
    pub reads: Reads,
    /// The rules whose results are computed with all that is around their elements. [`mask`] is there for each.
    pub results: BTreeSet<RuleId>,
}

impl Wanted {
    /// Whether nothing has a copy.
    pub fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.results.is_empty()
    }
}

/// A copy of a tensor with all of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The copy.
    pub copy: TensorId,
    /// What it is a copy of.
    pub of: TensorId,
    /// Which elements it has.
    pub stores: Stores,
    /// The semiring of the rules that read it.
    semiring: Semiring,
}

/// Which elements a copy has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    /// Of an operand: all [around](crate::infer::Structured::around) the elements that may be there.
    Elements,
    /// Of a result: all [around](crate::infer::Structured::around_unique) the elements that are stored.
    Unique,
}

/// The comparisons of a rule's products that say which elements its result has, if they divide iterators, and all of
/// its products have the same ones.
pub fn mask(rule: &Rule) -> Option<Vec<Comparison>> {
    let own = |comparison: &&Comparison| {
        let mut iterators = comparison.operands.iter().flat_map(names);
        iterators.all(|name| {
            let bound = rule.products.iter().any(|one| one.iterators.iter().any(|own| own == name));
            !bound || rule.iterators.iter().any(|own| own == name)
        })
    };
    let divides = |comparison: &&Comparison| {
        comparison.operands.iter().any(|operand| divides(operand, &rule.iterators))
    };
    let of = |product: &Product| -> Vec<Comparison> {
        product.comparisons.iter().filter(divides).filter(own).cloned().collect()
    };
    let mut masks = rule.products.iter().map(of);
    let first = masks.next().filter(|mask| !mask.is_empty())?;
    masks.all(|mask| mask == first).then_some(first)
}

/// Whether one of these names stands in a dividend.
fn divides(expr: &Expr, iterators: &[String]) -> bool {
    match &expr.kind {
        ExprKind::Int(_) | ExprKind::Name(_) => false,
        ExprKind::Neg(inner) => divides(inner, iterators),
        ExprKind::Binary(op, left, right) => {
            let quotient = matches!(op, BinaryOp::Div | BinaryOp::Mod);
            let mut within = names(left).into_iter();
            quotient && within.any(|name| iterators.iter().any(|own| own == name))
                || divides(left, iterators)
                || divides(right, iterators)
        }
    }
}

/// The program with a rule for each copy, right before the first rule that reads it; `iterators` names the positions of
/// a tensor.
pub fn expanded(
    program: &Program,
    iterators: &dyn Fn(TensorId) -> Vec<String>,
    wanted: &Wanted,
) -> (Program, Vec<Copied>) {
    let reads = &wanted.reads;
    let mut next = Program { rules: Vec::new(), ..program.clone() };
    let mut copies: Vec<Copied> = Vec::new();
    for (index, rule) in program.rules.iter().enumerate() {
        let mut own = rule.clone();
        for (place, product) in own.products.iter_mut().enumerate() {
            for at in factors(product) {
                let of = product.accesses[at].tensor;
                // A copy has zeros beside the elements, by which nothing is divided.
                if product.accesses[at].reciprocal || !reads.contains(&(RuleId(index), place, of)) {
                    continue;
                }
                let semiring = rule.semiring;
                let stores = Stores::Elements;
                let known = copies.iter().find(|one| {
                    one.of == of && one.stores == stores && one.semiring == semiring
                });
                let copy = match known {
                    Some(known) => known.copy,
                    None => {
                        let element = next.tensor(of).element;
                        let copy = fresh(&mut next, of, element);
                        let rule = copying(&next, (copy, of), iterators(of), rule);
                        next.rules.push(rule);
                        copies.push(Copied { copy, of, stores, semiring });
                        copy
                    }
                };
                product.accesses[at].tensor = copy;
            }
        }
        let Some(mask) = mask(&own).filter(|_| wanted.results.contains(&RuleId(index))) else {
            next.rules.push(own);
            continue;
        };
        // The result stores no more than what the mask keeps of the copy.
        let (of, element) = (own.head, element(&next, &own));
        let copy = fresh(&mut next, of, element);
        copies.push(Copied { copy, of, stores: Stores::Unique, semiring: own.semiring });
        let mut last = copying(&next, (of, copy), own.iterators.clone(), &own);
        for product in &mut last.products {
            product.comparisons.clone_from(&mask);
        }
        for product in &mut own.products {
            product.comparisons.retain(|comparison| !mask.contains(comparison));
        }
        own.head = copy;
        next.rules.extend([own, last]);
    }
    next.number_rules();
    (next, copies)
}

/// A new tensor for the elements of another one.
fn fresh(program: &mut Program, of: TensorId, element: Element) -> TensorId {
    let tensor = program.tensor(of);
    let mut names = std::iter::once(format!("{}.all", tensor.name))
        .chain((2..).map(|number| format!("{}.all{number}", tensor.name)));
    let name = names.find(|name| program.find(name).is_none()).unwrap_or_default();
    let fresh = Tensor::new(name, tensor.rank, Role::Intermediate(RuleId(0)), tensor.span);
    program.tensors.push(Tensor { element, ..fresh });
    TensorId(program.tensors.len() - 1)
}

/// A rule that copies elements of one tensor to another, for a rule that reads the copy or computes what is copied.
fn copying(
    program: &Program,
    (to, from): (TensorId, TensorId),
    iterators: Vec<String>,
    rule: &Rule,
) -> Rule {
    let span = program.tensor(to).span;
    let subscripts = iterators.iter().map(|name| Expr { kind: ExprKind::Name(name.clone()), span });
    let access = Access {
        tensor: from,
        subscripts: subscripts.collect(),
        reciprocal: false,
        position: None,
        argument: false,
        span,
    };
    let product = Product {
        coefficient: rule.semiring.one(),
        iterators: iterators.clone(),
        accesses: vec![access],
        symbols: Vec::new(),
        functions: Vec::new(),
        comparisons: Vec::new(),
        definitions: Vec::new(),
        guards: Vec::new(),
        span,
    };
    Rule {
        head: to,
        iterators,
        order: Vec::new(),
        schedule: Schedule::default(),
        semiring: rule.semiring,
        products: vec![product],
        fill: None,
        preprocess: rule.preprocess,
        span,
    }
}
