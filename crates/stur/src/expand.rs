//! Operands that are written out, redundant elements too, before a product reads them.
//!
//! Each case of a redundancy map makes each product that reads the tensor one more statement, and the cases of several
//! operands multiply. A product that reads every element many times is computed faster, and by less code, from a copy
//! that stores all elements.
//!
//! Before -> after, of a symmetric `A`: `C(i, j) := A(i, k) * B(k, j)` -> `A.all(i, j) := A(i, j)` and
//! `C(i, j) := A.all(i, k) * B(k, j)`.
//!
//! Invariant: the program computes the same tensors. Its first tensors are those of the program as it was, under the
//! same handles.

use std::collections::BTreeSet;

use crate::ast::{Expr, ExprKind};
use crate::contract::factors;
use crate::program::{Access, Product, Program, Role, Rule, RuleId, Tensor, TensorId};
use crate::schedule::Schedule;
use crate::semiring::Semiring;

/// Which operands of which products are read from copies: the rule, the place of the product in it, and the tensor.
pub type Reads = BTreeSet<(RuleId, usize, TensorId)>;

/// A copy of a tensor with all of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The copy.
    pub copy: TensorId,
    /// What it is a copy of.
    pub of: TensorId,
    /// The semiring of the rules that read it.
    semiring: Semiring,
}

/// The program with a rule for each copy, right before the first rule that reads it; `iterators` names the positions of
/// a tensor.
pub fn expanded(
    program: &Program,
    iterators: &dyn Fn(TensorId) -> Vec<String>,
    reads: &Reads,
) -> (Program, Vec<Copied>) {
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
                let known = copies.iter().find(|one| one.of == of && one.semiring == semiring);
                let copy = match known {
                    Some(known) => known.copy,
                    None => {
                        let copy = copied(&mut next, (of, iterators(of)), rule);
                        copies.push(Copied { copy, of, semiring });
                        copy
                    }
                };
                product.accesses[at].tensor = copy;
            }
        }
        next.rules.push(own);
    }
    next.number_rules();
    (next, copies)
}

/// A new tensor, and the rule that computes it.
fn copied(
    program: &mut Program,
    (of, iterators): (TensorId, Vec<String>),
    reader: &Rule,
) -> TensorId {
    let tensor = program.tensor(of).clone();
    let mut names = std::iter::once(format!("{}.all", tensor.name))
        .chain((2..).map(|number| format!("{}.all{number}", tensor.name)));
    let name = names.find(|name| program.find(name).is_none()).unwrap_or_default();
    let span = tensor.span;
    let fresh = Tensor::new(name, tensor.rank, Role::Intermediate(RuleId(0)), span);
    program.tensors.push(Tensor { element: tensor.element, ..fresh });
    let copy = TensorId(program.tensors.len() - 1);
    let subscripts = iterators.iter().map(|name| Expr { kind: ExprKind::Name(name.clone()), span });
    let access = Access {
        tensor: of,
        subscripts: subscripts.collect(),
        reciprocal: false,
        position: None,
        argument: false,
        span,
    };
    let product = Product {
        coefficient: reader.semiring.one(),
        iterators: iterators.clone(),
        accesses: vec![access],
        symbols: Vec::new(),
        functions: Vec::new(),
        comparisons: Vec::new(),
        definitions: Vec::new(),
        guards: Vec::new(),
        span,
    };
    program.rules.push(Rule {
        head: copy,
        iterators,
        order: Vec::new(),
        schedule: Schedule::default(),
        semiring: reader.semiring,
        products: vec![product],
        fill: None,
        preprocess: reader.preprocess,
        span,
    });
    copy
}
