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

use crate::ast::{Expr, ExprKind};
use crate::contract::{element, factors};
use crate::masks::{alike, mask, without};
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
    /// The products, by the rule and the place in it, that are computed with all that is around the elements they are
    /// added to. Each has a [`mask`].
    pub results: BTreeSet<(RuleId, usize)>,
}

impl Wanted {
    /// Whether nothing has a copy.
    pub fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.results.is_empty()
    }
}

/// A copy of a tensor with all of its elements.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stores {
    /// Of an operand: all [around](crate::infer::Structured::around) the elements that may be there.
    Elements,
    /// Of a result: all [around](crate::infer::Inferred::around_products) the elements that some products of a rule are
    /// added to.
    Products(RuleId, Vec<usize>),
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
                let known = copies
                    .iter()
                    .find(|one| one.of == of && one.stores == stores && one.semiring == semiring);
                let copy = match known {
                    Some(known) => known.copy,
                    None => {
                        let element = next.tensor(of).element;
                        let copy = fresh(&mut next, of, element);
                        let rule = copying(&next, (copy, of), iterators(of), rule);
                        next.rules.push(rule);
                        copies.push(Copied { copy, of, stores: stores.clone(), semiring });
                        copy
                    }
                };
                product.accesses[at].tensor = copy;
            }
        }
        let wanted = wanted.results.range((RuleId(index), 0)..=(RuleId(index), usize::MAX));
        for group in alike(rule, wanted.map(|(_, place)| *place)) {
            let (of, semiring) = (own.head, own.semiring);
            let element = element(&next, &own);
            let copy = fresh(&mut next, of, element);
            let first = without(&own, &own.products[group[0]]);
            // The result itself is expanded now.
            let mut schedule = own.schedule.clone();
            let names = schedule.expand.take();
            schedule.expand = names.and_then(|names| names.without(&next.tensor(of).name));
            next.rules.push(Rule { head: copy, products: vec![first], schedule, ..own.clone() });
            for place in &group {
                let comparisons = mask(rule, &rule.products[*place]);
                let read = reading(&next, copy, own.iterators.clone(), &own);
                own.products[*place] = Product { comparisons, ..read };
            }
            let stores = Stores::Products(RuleId(index), group);
            copies.push(Copied { copy, of, stores, semiring });
        }
        let kept: BTreeSet<String> =
            own.products.iter().flat_map(|product| &product.iterators).cloned().collect();
        own.order.retain(|name| kept.contains(name) || own.iterators.contains(name));
        next.rules.push(own);
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

/// A rule that copies elements of one tensor to another, for a rule that reads the copy.
fn copying(
    program: &Program,
    (to, from): (TensorId, TensorId),
    iterators: Vec<String>,
    reader: &Rule,
) -> Rule {
    let product = reading(program, from, iterators.clone(), reader);
    Rule {
        head: to,
        iterators,
        order: Vec::new(),
        schedule: Schedule::default(),
        semiring: reader.semiring,
        span: product.span,
        products: vec![product],
        fill: None,
        preprocess: reader.preprocess,
    }
}

/// The elements of a tensor as a product of a rule.
fn reading(program: &Program, of: TensorId, iterators: Vec<String>, rule: &Rule) -> Product {
    let span = program.tensor(of).span;
    let subscripts = iterators.iter().map(|name| Expr { kind: ExprKind::Name(name.clone()), span });
    let access = Access {
        tensor: of,
        subscripts: subscripts.collect(),
        reciprocal: false,
        position: None,
        argument: false,
        span,
    };
    Product {
        coefficient: rule.semiring.one(),
        iterators,
        accesses: vec![access],
        symbols: Vec::new(),
        functions: Vec::new(),
        comparisons: Vec::new(),
        definitions: Vec::new(),
        guards: Vec::new(),
        span,
    }
}
