//! Products with steps of their own as rules for intermediate tensors.
//!
//! Before -> after, for the tree `((X, B), X)`: `C(i, l) := X(j, i) * B(j, k) * X(k, l)` ->
//! `C.1(i, k) := X(j, i) * B(j, k)` and `C(i, l) := C.1(i, k) * X(k, l)`.
//!
//! A step may be one factor that is summed by itself: `((A), B)` of `C(i, j) := A(i, k, l) * B(k, j)` is
//! `C.1(i, k) := A(i, k, l)` and `C(i, j) := C.1(i, k) * B(k, j)`.
//!
//! Where a product is computed in one of several [ways](Way), each is a product of its own, and all of its steps are
//! multiplied with the comparisons that say when.
//!
//! A step sums over the iterators that nothing outside of it has. A comparison belongs to the first step that has all
//! of its iterators; numbers, symbols and functions belong to the last one.

use std::collections::{BTreeMap, BTreeSet};

use super::factors::{iterators_of, kept};
use super::obstacle::element;
use super::tree::Tree;
use crate::affine::names;
use crate::ast::{Comparison, Expr, ExprKind, Span};
use crate::program::{
    Access, Applied, Element, Product, Program, Role, Rule, RuleId, Scalar, Tensor, TensorId,
};
use crate::schedule::Schedule;

/// The ways to compute some products: the rule, and the place of the product in it.
pub type Choice = BTreeMap<(RuleId, usize), Vec<Way>>;

/// A way to compute a product.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// The steps.
    pub tree: Tree,
    /// Comparisons of symbols: the sizes at which the product is computed this way. Of several ways one holds at all
    /// sizes each.
    pub when: Vec<Comparison>,
}

impl Way {
    /// What is computed this way at all sizes.
    pub fn always(tree: Tree) -> Vec<Way> {
        vec![Way { tree, when: Vec::new() }]
    }

    /// What the last step multiplies, if there are others.
    fn steps(&self) -> Option<&[Tree]> {
        match &self.tree {
            Tree::Step(parts) if !self.tree.is_direct() => Some(parts),
            _ => None,
        }
    }
}

/// The program with the steps of trees as rules of their own.
pub fn contracted(program: &Program, choice: &Choice) -> Program {
    let mut next = Program { rules: Vec::new(), ..program.clone() };
    for (index, rule) in program.rules.iter().enumerate() {
        let mut last = rule.clone();
        for (place, product) in rule.products.iter().enumerate() {
            for (number, way) in
                choice.get(&(RuleId(index), place)).into_iter().flatten().enumerate()
            {
                let Some(parts) = way.steps() else { continue };
                let (pending, when) = (product.comparisons.clone(), &way.when);
                let mut steps = Steps { program: &mut next, rule, product, when, pending };
                let product = steps.last(parts);
                match number {
                    0 => last.products[place] = product,
                    _ => last.products.push(product),
                }
            }
        }
        if last.products.iter().zip(&rule.products).any(|(new, old)| changed(new, old)) {
            let iterators: BTreeSet<&String> =
                last.products.iter().flat_map(|product| &product.iterators).collect();
            let iterators: Vec<String> = iterators.into_iter().cloned().collect();
            let of_step = rule.schedule.of_step(&iterators, &rule.iterators);
            last.schedule = Schedule { workspace: rule.schedule.workspace, ..of_step };
            last.order.retain(|name| iterators.contains(name) || rule.iterators.contains(name));
        }
        next.rules.push(last);
    }
    next.number_rules();
    next
}

fn changed(new: &Product, old: &Product) -> bool {
    let tensors = |product: &Product| -> Vec<TensorId> {
        product.accesses.iter().map(|access| access.tensor).collect()
    };
    tensors(new) != tensors(old)
}

struct Steps<'p> {
    program: &'p mut Program,
    rule: &'p Rule,
    product: &'p Product,
    /// What all steps are multiplied with.
    when: &'p [Comparison],
    /// Comparisons that are not in a step yet.
    pending: Vec<Comparison>,
}

impl Steps<'_> {
    /// The product of the last step.
    fn last(&mut self, parts: &[Tree]) -> Product {
        let all: BTreeSet<usize> = parts.iter().flat_map(Tree::factors).collect();
        let mut accesses = Vec::new();
        let mut moved: BTreeMap<usize, usize> = BTreeMap::new();
        for part in parts {
            if let Tree::Factor(at) = part {
                moved.insert(*at, accesses.len());
            }
            accesses.push(self.access(part));
        }
        for (at, access) in self.product.accesses.iter().enumerate() {
            if !all.contains(&at) {
                moved.insert(at, accesses.len());
                accesses.push(access.clone());
            }
        }
        let functions = self.product.functions.iter().map(|function| Applied {
            value: function.value.map(&mut |leaf| match leaf {
                Scalar::Element(at) => Scalar::Element(moved.get(at).copied().unwrap_or(*at)),
                leaf => leaf.clone(),
            }),
            ..function.clone()
        });
        let functions = functions.collect();
        let mut comparisons = std::mem::take(&mut self.pending);
        comparisons.extend_from_slice(self.when);
        let product = Product { accesses, functions, comparisons, ..self.product.clone() };
        let mut used = iterators_of(
            self.product,
            product
                .accesses
                .iter()
                .flat_map(|access| &access.subscripts)
                .chain(product.comparisons.iter().flat_map(|comparison| &comparison.operands)),
        );
        used.extend(kept(self.product));
        used.extend(self.rule.iterators.iter().cloned());
        let iterators = self.product.iterators.iter().filter(|name| used.contains(*name));
        Product { iterators: iterators.cloned().collect(), ..product }
    }

    /// A factor, or the intermediate that a step computes.
    fn access(&mut self, part: &Tree) -> Access {
        let parts = match part {
            Tree::Factor(at) => return self.product.accesses[*at].clone(),
            Tree::Step(parts) => parts,
        };
        let accesses: Vec<Access> = parts.iter().map(|part| self.access(part)).collect();
        let own = iterators_of(self.product, accesses.iter().flat_map(|access| &access.subscripts));
        let (mut comparisons, pending): (Vec<Comparison>, Vec<Comparison>) =
            std::mem::take(&mut self.pending).into_iter().partition(|comparison| {
                let of = iterators_of(self.product, &comparison.operands);
                !of.is_empty() && of.is_subset(&own)
            });
        self.pending = pending;
        comparisons.extend_from_slice(self.when);
        let outside = self.outside(&part.factors());
        let in_order = |wanted: &dyn Fn(&String) -> bool| -> Vec<String> {
            self.product.iterators.iter().filter(|name| wanted(name)).cloned().collect()
        };
        // Loops over the levels of a factor outside stand around those over what else the intermediate has.
        let walked = self.walked(&part.factors());
        let mut head = in_order(&|name| own.contains(name) && outside.contains(name));
        head.sort_by_key(|name| !walked.contains(name));
        let iterators: Vec<String> = head
            .iter()
            .cloned()
            .chain(in_order(&|name| own.contains(name) && !outside.contains(name)))
            .collect();
        let order: Vec<String> =
            self.rule.order.iter().filter(|name| iterators.contains(name)).cloned().collect();
        let span = accesses.iter().map(|access| access.span).reduce(Span::to);
        let span = span.unwrap_or(self.product.span);
        let product = Product {
            coefficient: self.rule.semiring.one(),
            iterators: order
                .iter()
                .chain(iterators.iter().filter(|name| !order.contains(name)))
                .cloned()
                .collect(),
            accesses,
            symbols: Vec::new(),
            functions: Vec::new(),
            comparisons,
            definitions: Vec::new(),
            guards: Vec::new(),
            span,
        };
        let tensor = self.intermediate(head.len(), span);
        self.program.rules.push(Rule {
            head: tensor,
            schedule: self.rule.schedule.of_step(&iterators, &head),
            iterators: head.clone(),
            order,
            semiring: self.rule.semiring,
            products: vec![product],
            fill: None,
            preprocess: self.rule.preprocess,
            span,
        });
        let name = |name: &String| Expr { kind: ExprKind::Name(name.clone()), span };
        Access {
            tensor,
            subscripts: head.iter().map(name).collect(),
            reciprocal: false,
            position: None,
            argument: false,
            span,
        }
    }

    /// The iterators of the factors with formats outside of a step.
    fn walked(&self, inside: &[usize]) -> BTreeSet<String> {
        let others = self.product.accesses.iter().enumerate();
        let has_levels = |access: &Access| self.program.tensor(access.tensor).format.is_some();
        let others = others.filter(|(at, access)| !inside.contains(at) && has_levels(access));
        iterators_of(self.product, others.flat_map(|(_, access)| &access.subscripts))
    }

    /// The iterators that something outside of a step has: the head, other factors, functions, and comparisons that
    /// are in no step yet.
    fn outside(&self, inside: &[usize]) -> BTreeSet<String> {
        let others = self.product.accesses.iter().enumerate();
        let others = others.filter(|(at, _)| !inside.contains(at));
        let exprs = others.flat_map(|(_, access)| &access.subscripts);
        let exprs = exprs.chain(self.pending.iter().flat_map(|comparison| &comparison.operands));
        let mut outside = iterators_of(self.product, exprs);
        outside.extend(self.rule.iterators.iter().cloned());
        outside.extend(kept(self.product));
        outside
    }

    /// A new tensor.
    fn intermediate(&mut self, rank: usize, span: Span) -> TensorId {
        let element: Element = element(self.program, self.rule);
        let head = &self.program.tensor(self.rule.head).name;
        let mut numbered = (1..).map(|number| format!("{head}.{number}"));
        let taken = |name: &String| self.program.find(name).is_some();
        let name = numbered.find(|name| !taken(name)).unwrap_or_default();
        let tensor = Tensor::new(name, rank, Role::Intermediate(RuleId(0)), span);
        self.program.tensors.push(Tensor { element, ..tensor });
        TensorId(self.program.tensors.len() - 1)
    }
}

/// An iterator of a step that no factor of the step has as a subscript by itself, if there is one: what bounds it is
/// outside of the step.
pub(super) fn open_iterator(product: &Product) -> Option<&String> {
    let bare = |name: &String| {
        let mut subscripts = product.accesses.iter().flat_map(|access| &access.subscripts);
        subscripts.any(|subscript| matches!(&subscript.kind, ExprKind::Name(own) if own == name))
    };
    let used: BTreeSet<&str> =
        product.accesses.iter().flat_map(|access| &access.subscripts).flat_map(names).collect();
    product.iterators.iter().find(|name| used.contains(name.as_str()) && !bare(name))
}
