//! Matches products with each other. A permutation of the head's iterators is an automorphism of a sum of products if
//! it maps the products onto each other, with the reduction iterators renamed.

use std::cell::Cell;

use super::group::{Group, Signed};
use super::parity::canonical;
use super::{InferError, Space, Structured};

use crate::program::{Product, Rule, Scalar, TensorId};
use crate::sets::{Affine, Sets};

/// The number of matching steps for one tensor.
const MAX_STEPS: usize = 200_000;
/// The number of comparisons of iteration spaces, or of redundancy maps, for one tensor.
pub(super) const MAX_COMPARISONS: usize = 2_000;

/// The structure of a tensor, if it is known.
pub(super) type Known<'a, 'b> = &'b dyn Fn(TensorId) -> Option<&'a Structured>;

/// A subscript: an iterator of its product by position, or another expression.
enum Subscript {
    Iterator(usize),
    Expression(Affine),
}

struct Access<'a> {
    tensor: TensorId,
    reciprocal: bool,
    argument: bool,
    subscripts: Vec<Subscript>,
    symmetry: Option<&'a Group>,
}

/// A product, ready to be matched.
struct Shape<'a, 'b> {
    product: &'b Product,
    accesses: Vec<Access<'a>>,
    /// Position of each of the head's iterators.
    head: Vec<usize>,
    /// Products whose shapes differ cannot match.
    kind: Kind,
}

#[derive(PartialEq, Eq, PartialOrd, Ord, Clone)]
struct Kind {
    accesses: Vec<(TensorId, bool, bool)>,
    symbols: Vec<(usize, bool)>,
    iterators: usize,
    magnitude: u64,
}

/// A partial renaming of one product's iterators into another's, by position.
#[derive(Clone)]
struct Renaming {
    forward: Vec<Option<usize>>,
    backward: Vec<Option<usize>>,
}

impl Renaming {
    fn bind(&mut self, from: usize, to: usize) -> bool {
        match (self.forward[from], self.backward[to]) {
            (Some(bound), _) => bound == to,
            (None, Some(_)) => false,
            (None, None) => {
                self.forward[from] = Some(to);
                self.backward[to] = Some(from);
                true
            }
        }
    }
}

/// An incomplete match of two products.
#[derive(Clone)]
struct Partial {
    renaming: Renaming,
    negative: bool,
    /// The access of the other product for each access so far.
    partners: Vec<usize>,
    /// Whether its element is the negative of the partner's.
    negated: Vec<bool>,
    /// Pairs of accesses' subscripts that are compared when all iterators are bound: (access, slot) of each product.
    later: Vec<((usize, usize), (usize, usize))>,
}

/// What is done with a complete match. If it returns true, the search ends.
type Accept<'c> = &'c mut dyn FnMut(&Partial) -> Result<bool, InferError>;

/// The search for automorphisms of a rule's sum of products.
pub(super) struct Search<'a, 'b> {
    sets: &'b Sets,
    spaces: &'b [Space],
    shapes: Vec<Shape<'a, 'b>>,
    /// The product that is matched first: the one with the fewest candidates.
    pivot: usize,
    candidates: Vec<usize>,
    signs: bool,
    pub(super) only_negative: bool,
    steps: Cell<usize>,
    comparisons: Cell<usize>,
}

impl<'a, 'b> Search<'a, 'b> {
    /// `None` if there is no symmetry to find.
    pub(super) fn new(
        sets: &'b Sets,
        known: Known<'a, '_>,
        rule: &'b Rule,
        spaces: &'b [Space],
        signs: bool,
    ) -> Option<Self> {
        let shapes: Vec<Shape<'a, 'b>> = rule
            .products
            .iter()
            .zip(spaces)
            .map(|(product, space)| shape(known, rule, product, space))
            .collect::<Option<_>>()?;
        let mut counts = std::collections::BTreeMap::new();
        for shape in &shapes {
            *counts.entry(&shape.kind).or_insert(0usize) += 1;
        }
        let pivot = (0..shapes.len()).min_by_key(|&k| counts[&shapes[k].kind])?;
        let candidates =
            (0..shapes.len()).filter(|&k| shapes[k].kind == shapes[pivot].kind).collect();
        let steps = Cell::new(0);
        let comparisons = Cell::new(0);
        let only_negative = false;
        Some(Search {
            sets,
            spaces,
            shapes,
            pivot,
            candidates,
            signs,
            only_negative,
            steps,
            comparisons,
        })
    }

    /// An automorphism with the given images of positions.
    pub(super) fn find(&mut self, fixed: &[Option<usize>]) -> Result<Option<Signed>, InferError> {
        let p = self.pivot;
        let mut found = None;
        for &q in &self.candidates {
            let (from, to) = (&self.shapes[p], &self.shapes[q]);
            let Some(start) = self.start(from, to, fixed) else { continue };
            let done =
                self.accesses(p, q, 0, &mut vec![false; to.accesses.len()], start, &mut |it| {
                    if it.negative && !self.signs || !it.negative && self.only_negative {
                        return Ok(false);
                    }
                    let image: Option<Vec<usize>> = from
                        .head
                        .iter()
                        .map(|&h| to.head.iter().position(|&t| Some(t) == it.renaming.forward[h]))
                        .collect();
                    let Some(image) = image else { return Ok(false) };
                    let candidate = Signed { image, negative: it.negative };
                    if self.holds(&candidate, q)? {
                        found = Some(candidate);
                    }
                    Ok(found.is_some())
                })?;
            if done {
                break;
            }
        }
        Ok(found)
    }

    /// A renaming that takes the head's positions to their known images, and no iterator of the head to a reduction
    /// iterator.
    fn start(&self, from: &Shape, to: &Shape, fixed: &[Option<usize>]) -> Option<Partial> {
        let iterators = from.product.iterators.len();
        let mut renaming =
            Renaming { forward: vec![None; iterators], backward: vec![None; iterators] };
        for (k, image) in fixed.iter().enumerate() {
            if let Some(image) = image
                && !renaming.bind(from.head[k], to.head[*image])
            {
                return None;
            }
        }
        let negative = from.product.coefficient.is_sign_negative()
            != to.product.coefficient.is_sign_negative();
        Some(Partial {
            renaming,
            negative,
            partners: Vec::new(),
            negated: Vec::new(),
            later: Vec::new(),
        })
    }

    /// Whether the permutation matches all products, the pivot known to match `pivot_to`.
    fn holds(&self, candidate: &Signed, pivot_to: usize) -> Result<bool, InferError> {
        let mut taken = vec![false; self.shapes.len()];
        taken[pivot_to] = true;
        let fixed: Vec<Option<usize>> = candidate.image.iter().map(|&to| Some(to)).collect();
        // Matching is an equivalence once the head's iterators are fixed: the first partner found is as good as any.
        let mut by_kind = std::collections::BTreeMap::<&Kind, Vec<usize>>::new();
        for (q, shape) in self.shapes.iter().enumerate() {
            by_kind.entry(&shape.kind).or_default().push(q);
        }
        for p in (0..self.shapes.len()).filter(|&p| p != self.pivot) {
            let mut partner = None;
            for &q in &by_kind[&self.shapes[p].kind] {
                if taken[q] {
                    continue;
                }
                let (from, to) = (&self.shapes[p], &self.shapes[q]);
                let Some(start) = self.start(from, to, &fixed) else { continue };
                let mut used = vec![false; to.accesses.len()];
                if self.accesses(p, q, 0, &mut used, start, &mut |it| {
                    Ok(it.negative == candidate.negative)
                })? {
                    partner = Some(q);
                    break;
                }
            }
            match partner {
                Some(q) => taken[q] = true,
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    fn step(&self) -> bool {
        self.steps.set(self.steps.get() + 1);
        self.steps.get() <= MAX_STEPS
    }

    /// Matches accesses from `next` on, by backtracking.
    fn accesses(
        &self,
        p: usize,
        q: usize,
        next: usize,
        taken: &mut Vec<bool>,
        partial: Partial,
        accept: Accept<'_>,
    ) -> Result<bool, InferError> {
        if !self.step() {
            return Ok(false);
        }
        let (from, to) = (&self.shapes[p], &self.shapes[q]);
        let Some(access) = from.accesses.get(next) else {
            return self.rest(p, q, partial, accept);
        };
        for candidate in 0..to.accesses.len() {
            let other = &to.accesses[candidate];
            if taken[candidate]
                || other.tensor != access.tensor
                || other.reciprocal != access.reciprocal
                || other.argument != access.argument
            {
                continue;
            }
            taken[candidate] = true;
            let start = Signed::identity(access.subscripts.len());
            let mut partial = partial.clone();
            partial.partners.push(candidate);
            let found =
                self.slots(p, q, (next, candidate), 0, start, &partial, &mut |partial| {
                    self.accesses(p, q, next + 1, taken, partial.clone(), accept)
                })?;
            taken[candidate] = false;
            if found {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Matches the subscripts of two accesses from a slot on, in all orders that the operand's symmetry allows; `order`
    /// is the part of the order so far.
    #[allow(clippy::too_many_arguments)]
    fn slots(
        &self,
        p: usize,
        q: usize,
        accesses: (usize, usize),
        slot: usize,
        order: Signed,
        partial: &Partial,
        accept: Accept<'_>,
    ) -> Result<bool, InferError> {
        if !self.step() {
            return Ok(false);
        }
        let from = &self.shapes[p].accesses[accesses.0];
        let to = &self.shapes[q].accesses[accesses.1];
        if slot == from.subscripts.len() {
            let mut partial = partial.clone();
            partial.negative ^= order.negative && !from.argument;
            partial.negated.push(order.negative);
            return accept(&partial);
        }
        let trivial;
        let choices = match from.symmetry {
            Some(group) => group.representatives(slot),
            None => {
                trivial = [(slot, Signed::identity(from.subscripts.len()))].into();
                &trivial
            }
        };
        for choice in choices.values() {
            let order = order.times(choice);
            let source = order.image[slot];
            let mut partial = partial.clone();
            let fits = match (&from.subscripts[source], &to.subscripts[slot]) {
                (Subscript::Iterator(a), Subscript::Iterator(b)) => {
                    let heads = [self.shapes[p].head.contains(a), self.shapes[q].head.contains(b)];
                    heads[0] == heads[1] && partial.renaming.bind(*a, *b)
                }
                (Subscript::Expression(_), Subscript::Expression(_)) => {
                    partial.later.push(((accesses.0, source), (accesses.1, slot)));
                    true
                }
                _ => false,
            };
            if fits && self.slots(p, q, accesses, slot + 1, order, &partial, accept)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Binds the iterators that no access binds, in all possible ways, and compares everything that could not be
    /// compared before.
    fn rest(
        &self,
        p: usize,
        q: usize,
        partial: Partial,
        accept: Accept<'_>,
    ) -> Result<bool, InferError> {
        if !self.step() {
            return Ok(false);
        }
        let (from, to) = (&self.shapes[p], &self.shapes[q]);
        if let Some(a) = partial.renaming.forward.iter().position(Option::is_none) {
            let is_head = from.head.contains(&a);
            // Try each iterator itself first, which usually is right.
            let name = &from.product.iterators[a];
            let same = to.product.iterators.iter().position(|other| other == name);
            let others = (0..to.product.iterators.len()).filter(|b| Some(*b) != same);
            for b in same.into_iter().chain(others) {
                let mut partial = partial.clone();
                if to.head.contains(&b) == is_head
                    && partial.renaming.bind(a, b)
                    && self.rest(p, q, partial, accept)?
                {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        for ((access, slot), (other, other_slot)) in &partial.later {
            let (Subscript::Expression(a), Subscript::Expression(b)) = (
                &from.accesses[*access].subscripts[*slot],
                &to.accesses[*other].subscripts[*other_slot],
            ) else {
                return Ok(false);
            };
            let names = from.product.iterators.iter().zip(&partial.renaming.forward);
            let names = names.filter_map(|(name, image)| {
                Some((name.clone(), to.product.iterators[(*image)?].clone()))
            });
            if a.rename(&names.collect()) != *b {
                return Ok(false);
            }
        }
        let Some(sign) = self.functions(p, q, &partial) else { return Ok(false) };
        let partial = Partial { negative: partial.negative ^ sign, ..partial };
        Ok(self.spaces_match(p, q, &partial.renaming)? && accept(&partial)?)
    }

    /// Whether the functions of product `p` are the negative of those of `q`; `None` if they are others.
    fn functions(&self, p: usize, q: usize, partial: &Partial) -> Option<bool> {
        let [from, to] = [p, q].map(|at| self.shapes[at].product);
        let renamed = |name: &String| {
            let at = from.iterators.iter().position(|other| other == name)?;
            to.iterators.get(partial.renaming.forward[at]?).cloned()
        };
        let of = |product: &Product, image: &dyn Fn(&Scalar) -> Scalar| {
            let mut negative = false;
            let mut texts: Vec<(String, bool)> = Vec::new();
            for function in &product.functions {
                let value = function.value.map(&mut |leaf| image(leaf));
                let (sign, text) = canonical(&value, &|at| at.to_string());
                negative ^= sign;
                texts.push((text, function.reciprocal));
            }
            texts.sort();
            (negative, texts)
        };
        let (left, texts) = of(from, &|leaf| match leaf {
            Scalar::Element(at) => {
                let partner = Scalar::Element(partial.partners[*at]);
                match partial.negated[*at] {
                    true => Scalar::Product(vec![Scalar::Number(-1.0), partner]),
                    false => partner,
                }
            }
            Scalar::Index(name) => Scalar::Index(renamed(name).unwrap_or_default()),
            leaf => leaf.clone(),
        });
        let (right, others) = of(to, &|leaf| leaf.clone());
        (texts == others).then_some(left != right)
    }

    /// Whether the renaming carries the iteration space of product `p` onto that of `q`.
    fn spaces_match(&self, p: usize, q: usize, renaming: &Renaming) -> Result<bool, InferError> {
        self.comparisons.set(self.comparisons.get() + 1);
        if self.comparisons.get() > MAX_COMPARISONS {
            return Ok(false);
        }
        if p == q && renaming.forward.iter().enumerate().all(|(k, to)| *to == Some(k)) {
            return Ok(true);
        }
        let iterators = &self.shapes[p].product.iterators;
        let images: Option<Vec<Affine>> =
            renaming.backward.iter().map(|k| Some(Affine::name(&iterators[(*k)?]))).collect();
        let Some(images) = images else { return Ok(false) };
        let map = self.sets.access(iterators, &images)?;
        Ok(self.spaces[p].domain.apply(&map)?.is_equal(&self.spaces[q].domain)?)
    }
}

fn shape<'a, 'b>(
    known: Known<'a, '_>,
    rule: &'b Rule,
    product: &'b Product,
    space: &'b Space,
) -> Option<Shape<'a, 'b>> {
    let position = |name: &str| product.iterators.iter().position(|other| other == name);
    let head = rule.iterators.iter().map(|name| position(name)).collect::<Option<_>>()?;
    let accesses: Vec<Access<'a>> = product
        .accesses
        .iter()
        .zip(&space.subscripts)
        .map(|(access, subscripts)| Access {
            tensor: access.tensor,
            reciprocal: access.reciprocal,
            argument: access.argument,
            subscripts: subscripts
                .iter()
                .map(|subscript| match subscript.as_name().and_then(position) {
                    Some(iterator) => Subscript::Iterator(iterator),
                    None => Subscript::Expression(subscript.clone()),
                })
                .collect(),
            symmetry: known(access.tensor).map(|operand| &operand.symmetry),
        })
        .collect();
    let mut kind = Kind {
        accesses: accesses
            .iter()
            .map(|access| (access.tensor, access.reciprocal, access.argument))
            .collect(),
        symbols: product.symbols.iter().map(|s| (s.symbol, s.reciprocal)).collect(),
        iterators: product.iterators.len(),
        magnitude: product.coefficient.abs().to_bits(),
    };
    kind.accesses.sort_unstable();
    kind.symbols.sort_unstable();
    Some(Shape { product, accesses, head, kind })
}
