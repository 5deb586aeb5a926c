//! Sums whose terms are walked one after the other, where loops over several at once would come to every combination of
//! what one has and another has not; and what is read from dense copies, where there would be too many of these.
//!
//! Before -> after, `R(i, j) := A(i, j) + B(i, j)` with a dense `R`: one walk over what `A` or `B` stores, with code
//! for both, for `A` alone and for `B` alone -> all of `A` is added to `R`, then all of `B`, each in its own order.

use std::collections::BTreeMap;

use dastac_formats::Format;
use dastac_iterate::{Factor, Kernel, Linear, Operand, Product};
use dastac_loops::{Function, Module, Stmt};
use dastac_stur::infer::{Inferred, InferredRule};
use dastac_stur::program::TensorId;
use dastac_stur::semiring::Semiring;

use super::choose::has_position;
use super::gather::is_sparse;
use super::operands::Stored;
use super::walked::{Dynamic, Walked};
use crate::SchedError;

/// Whether a walk over several tensors has code for several of their combinations.
pub(super) fn joins_terms(body: &[Stmt]) -> bool {
    let mut found = false;
    for stmt in body {
        stmt.visit(&mut |stmt| {
            found |= matches!(stmt, Stmt::CoIter(walk) if walk.cases.len() > 1);
        });
    }
    found
}

/// More ways than these in which elements are stored or not are too much code.
const MOST_CASES: usize = 8;

/// Whether the program says how the loops of a rule are.
fn asks(inferred: &Inferred, rule: &InferredRule) -> bool {
    let definition = &inferred.program.rules[rule.rule.0];
    definition.has_order() || !definition.schedule.is_empty()
}

/// Products in as many parts as have no sparse read in common: those for one that finds an element, or none, stay
/// together, and so do those that read nothing sparse.
fn parted(kernel: &Kernel) -> Vec<Vec<Product>> {
    let elements = |product: &Product| -> Vec<Factor> {
        let factors = product.factors.iter();
        let factors = factors.filter(|factor| is_sparse(kernel, factor.operand));
        factors.chain(&product.absent).cloned().collect()
    };
    // Operands are reads: another term that reads the same tensor has an operand of its own.
    let is_same = |one: &Factor, other: &Factor| {
        one.operand == other.operand && one.subscripts == other.subscripts
    };
    let mut parts: Vec<(Vec<Factor>, Vec<Product>)> = Vec::new();
    for product in &kernel.products {
        let mut own = (elements(product), vec![product.clone()]);
        let meets = |(others, _): &(Vec<Factor>, Vec<Product>)| {
            let dense = own.0.is_empty() && others.is_empty();
            dense || others.iter().any(|other| own.0.iter().any(|one| is_same(one, other)))
        };
        let (met, apart) = std::mem::take(&mut parts).into_iter().partition(meets);
        let met: Vec<(Vec<Factor>, Vec<Product>)> = met;
        for (elements, products) in met.into_iter().rev() {
            own.0.extend(elements);
            own.1.splice(0..0, products);
        }
        parts = apart;
        parts.push(own);
    }
    parts.into_iter().map(|(_, products)| products).collect()
}

impl Dynamic<'_> {
    /// Has dense copies stand for vectors, and for tensors of which a product is everywhere where they store nothing,
    /// if there are many ways in which their elements are stored or not: its loops come to all of them anyway.
    ///
    /// Before -> after, `y(i) := sum(j) where(A(i, j) < B(i, j), C(i, j), D(i, j))^2 * exp(E(j) - F(j))`: code for each
    /// way in which six elements are stored or not -> loops over all `i` and `j`.
    pub(super) fn densely(
        &self,
        module: &mut Module,
        stored: &mut Vec<Stored>,
        rule: &InferredRule,
        mut walked: Walked,
    ) -> Result<Walked, SchedError> {
        let mut dense: BTreeMap<TensorId, Operand> = BTreeMap::new();
        loop {
            // Where one is dense, there may be a product for all elements of another.
            let copied = self.copied(rule, &walked);
            if copied.is_empty() {
                return Ok(walked);
            }
            for (tensor, operand) in copied {
                let format = Format::dense(walked.kernel.operands[operand].extents.len());
                let copy = self.stored_as(module, stored, rule, &walked, (operand, format));
                dense.insert(tensor, copy);
            }
            walked = self.walked(module, stored, rule, &dense)?;
        }
    }

    /// The tensors of which dense copies are read, with an operand that each is.
    fn copied(&self, rule: &InferredRule, walked: &Walked) -> BTreeMap<TensorId, usize> {
        let kernel = &walked.kernel;
        let everywhere = |product: &Product| {
            !product.factors.iter().any(|factor| is_sparse(kernel, factor.operand))
        };
        // Dimensions that are loops.
        let spread = |product: &Product, factor: &Factor| {
            let loops: Vec<usize> =
                factor.subscripts.iter().filter_map(Linear::as_iterator).collect();
            let distinct = loops.iter().enumerate().all(|(at, own)| !loops[..at].contains(own));
            distinct
                && loops.len() == factor.subscripts.len()
                && loops.iter().all(|own| product.mentions(*own))
                && is_sparse(kernel, factor.operand)
                && !has_position(kernel, factor.operand)
                && self.inferred.program.fill(walked.tensors[factor.operand]) == 0.0
        };
        let mut copied: BTreeMap<TensorId, usize> = BTreeMap::new();
        for products in parted(kernel).iter().filter(|products| products.len() > MOST_CASES) {
            // Vectors are small whatever the loops are; and what takes minutes to compile is of no use.
            let endless = products.len() > 2 * MOST_CASES && !asks(self.inferred, rule);
            let small = |factor: &Factor| endless || factor.subscripts.len() == 1;
            for product in products {
                let chosen = |factor: &&Factor| {
                    (everywhere(product) || small(factor)) && spread(product, factor)
                };
                for factor in product.absent.iter().filter(chosen) {
                    copied.entry(walked.tensors[factor.operand]).or_insert(factor.operand);
                }
            }
        }
        copied
    }

    /// The parts of a rule that may have loops of their own; nothing if there is one part, or the program asks for an
    /// order of its loops.
    pub(super) fn terms(&self, rule: &InferredRule, walked: &Walked) -> Vec<Walked> {
        let parts = parted(&walked.kernel);
        if parts.len() < 2
            || asks(self.inferred, rule)
            || walked.kernel.semiring != Semiring::SumTimes
        {
            return Vec::new();
        }
        let of = |products: Vec<Product>| {
            let mut own = walked.clone();
            own.kernel.products = products;
            own
        };
        parts.into_iter().map(of).collect()
    }

    /// Fills a function with the loops of some terms, one after the other: first those of one that sets all of the
    /// head, if there is one.
    pub(super) fn in_terms(
        &self,
        (module, stored, function): (&mut Module, &mut Vec<Stored>, &mut Function),
        rule: &InferredRule,
        terms: Vec<Walked>,
    ) -> Result<(bool, Vec<Walked>), SchedError> {
        let (mut body, mut found, mut set) = (Vec::new(), Vec::new(), false);
        for term in terms {
            let (sets, walked) = self.nest((module, stored, function), rule, term, !set)?;
            let own = std::mem::take(&mut function.body);
            match sets {
                true => drop(body.splice(0..0, own)),
                false => body.extend(own),
            }
            set |= sets;
            found.push(walked);
        }
        function.body = body;
        Ok((set, found))
    }
}
