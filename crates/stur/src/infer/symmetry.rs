//! Symmetry of a head: transpositions of its positions under which its sum of products is unchanged, or changes sign.
//!
//! A transposition is tried by renaming the two head iterators into each other and matching the products one to one, reduction
//! iterators renamed as needed (`X(x,i)*X(x,j)` summed over `x` matches itself under `i <-> j`), operands matched up to their own symmetry;
//! a match counts only if isl confirms that the renamed iteration spaces are equal. Transpositions generate full symmetric groups on
//! classes of positions. The unique set then holds the elements that are ascending in each class (strictly where the sign changes:
//! equal subscripts mean `v = -v`, a structural zero), a simplex for the k-fold product.

use std::collections::BTreeMap;

use dastac_poly::{Map, Set};

use super::{InferError, Redundancy, Space, Structured};
use crate::program::{Access, Product, Program, RuleId, TensorId};
use crate::sets::{Affine, Extent, Sets};

/// Positions that may be permuted freely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// Ascending, two or more.
    pub positions: Vec<usize>,
    /// A transposition changes the sign.
    pub skew: bool,
}

/// Up to this many permutations the redundancy map has one affine piece each; beyond, it is [`Redundancy::Sorted`].
const MAX_PIECES: usize = 6;

/// Matching steps after which a symmetry is given up (it is then not used; the result stays right).
const MAX_STEPS: usize = 200_000;

type Known<'a, 'b> = &'b dyn Fn(TensorId) -> Option<&'a Structured>;

/// Finds the classes of a rule's head.
pub(crate) fn classes<'a>(
    program: &Program,
    sets: &Sets,
    known: Known<'a, '_>,
    id: RuleId,
    spaces: &[Space],
) -> Result<Vec<Class>, InferError> {
    let rule = &program.rules[id.0];
    let mut classes: Vec<Class> = Vec::new();
    let mut single: Vec<usize> = Vec::new();
    for position in 0..rule.iterators.len() {
        let mut found = None;
        for (k, class) in classes.iter().enumerate() {
            let test = Matcher::new(sets, known, rule, spaces, class.positions[0], position);
            if test.matches(class.skew)? {
                found = Some(k);
                break;
            }
        }
        if let Some(k) = found {
            classes[k].positions.push(position);
            continue;
        }
        let mut partner = None;
        for (k, other) in single.iter().enumerate() {
            for skew in [false, true] {
                let test = Matcher::new(sets, known, rule, spaces, *other, position);
                if partner.is_none() && test.matches(skew)? {
                    partner = Some((k, skew));
                }
            }
        }
        match partner {
            Some((k, skew)) => {
                classes.push(Class { positions: vec![single.remove(k), position], skew });
            }
            None => single.push(position),
        }
    }
    // The sign of a permutation of three or more positions is not expressed by `Sorted`: use skew classes only while they are few.
    classes.retain(|class| !class.skew || factorial(class.positions.len()) <= MAX_PIECES);
    Ok(classes)
}

/// The unique set and redundancy map that symmetry classes mean.
pub(crate) fn structured(
    sets: &Sets,
    iterators: &[String],
    extents: Vec<Extent>,
    support: &Set,
    classes: Vec<Class>,
) -> Result<Structured, InferError> {
    let skew: Vec<Class> = classes.iter().filter(|c| c.skew).cloned().collect();
    let mut support = support.clone();
    for class in &skew {
        let distinct = ordered(sets, iterators, class, true)?;
        let mut any = sets.empty(iterators)?;
        for (map, _) in sorting_pieces(sets, iterators, std::slice::from_ref(class))? {
            any = any.union(&map.intersect_range(&distinct)?.domain()?)?;
        }
        support = support.intersect(&any.union(&distinct)?)?;
    }
    let mut unique = support.clone();
    for class in &classes {
        unique = unique.intersect(&ordered(sets, iterators, class, class.skew)?)?;
    }
    let unique = unique.simplify()?;
    let permutations: usize =
        classes.iter().map(|c| factorial(c.positions.len())).fold(1, usize::saturating_mul);
    let redundancy = if permutations <= MAX_PIECES || !skew.is_empty() {
        let mut pieces = Vec::new();
        for (map, coefficient) in sorting_pieces(sets, iterators, &classes)? {
            let map = map.intersect_domain(&support)?.simplify()?;
            if !map.is_empty()? {
                pieces.push(Redundancy::Affine { map, coefficient });
            }
        }
        pieces
    } else {
        let domain = support.subtract(&unique)?.simplify()?;
        let classes = classes.iter().map(|class| class.positions.clone()).collect();
        vec![Redundancy::Sorted { domain, classes }]
    };
    let support = super::named(sets, &support.simplify()?, iterators)?;
    Ok(Structured { iterators: iterators.to_vec(), extents, unique, redundancy, support, classes })
}

/// Points that ascend (strictly) over a class's positions.
fn ordered(
    sets: &Sets,
    iterators: &[String],
    class: &Class,
    strict: bool,
) -> Result<Set, InferError> {
    let mut set = sets.universe(iterators)?;
    for pair in class.positions.windows(2) {
        set = set.intersect(&before(sets, iterators, pair[0], pair[1], strict)?)?;
    }
    Ok(set)
}

/// Points with `x[a] <= x[b]`, or `<`.
fn before(
    sets: &Sets,
    iterators: &[String],
    a: usize,
    b: usize,
    strict: bool,
) -> Result<Set, InferError> {
    let gap = Affine::name(&iterators[b]).add_scaled(&Affine::name(&iterators[a]), -1);
    let gap = gap.and_then(|gap| gap.add_scaled(&Affine::constant(-i64::from(strict)), 1));
    let gap = gap.unwrap_or_default();
    // gap >= 0, as the preimage of the non-negative numbers.
    let line = ["t".to_string()];
    let map = sets.access(iterators, &[gap])?;
    let half = Set::parse(&sets.context, &format!("{{ [{}] : {} >= 0 }}", line[0], line[0]))?;
    Ok(map.intersect_range(&half)?.domain()?)
}

/// The maps that sort each class ascending, one for each combination of permutations but the identity, with disjoint domains (a stable sort), and
/// their signs.
pub fn sorting_pieces(
    sets: &Sets,
    iterators: &[String],
    classes: &[Class],
) -> Result<Vec<(Map, f64)>, InferError> {
    let mut combinations: Vec<(Vec<usize>, f64)> = vec![((0..iterators.len()).collect(), 1.0)];
    for class in classes {
        let mut next = Vec::new();
        for (order, sign) in &combinations {
            for (permutation, odd) in permutations(class.positions.len()) {
                let mut order = order.clone();
                for (slot, from) in permutation.iter().enumerate() {
                    order[class.positions[slot]] = class.positions[*from];
                }
                next.push((order, if odd && class.skew { -sign } else { *sign }));
            }
        }
        combinations = next;
    }
    let mut pieces = Vec::new();
    for (order, sign) in combinations.into_iter().skip(1) {
        let mut domain = sets.universe(iterators)?;
        for class in classes {
            for pair in class.positions.windows(2) {
                let (a, b) = (order[pair[0]], order[pair[1]]);
                // Strict where the order is inverted, or where equal subscripts are structurally zero.
                domain = domain.intersect(&before(sets, iterators, a, b, a > b || class.skew)?)?;
            }
        }
        let targets: Vec<Affine> =
            order.iter().map(|&from| Affine::name(&iterators[from])).collect();
        pieces.push((sets.access(iterators, &targets)?.intersect_domain(&domain)?, sign));
    }
    Ok(pieces)
}

/// All permutations of `0..n` with their parity (true is odd), the identity first.
fn permutations(n: usize) -> Vec<(Vec<usize>, bool)> {
    if n == 0 {
        return vec![(Vec::new(), false)];
    }
    let mut all = Vec::new();
    for (shorter, odd) in permutations(n - 1) {
        for at in (0..n).rev() {
            let mut longer = shorter.clone();
            longer.insert(at, n - 1);
            all.push((longer, odd ^ ((n - 1 - at) % 2 == 1)));
        }
    }
    all
}

fn factorial(n: usize) -> usize {
    (1..=n).fold(1, usize::saturating_mul)
}

/// Classes of positions under which a declared (or inherited) redundancy map makes the values symmetric or skew.
pub(crate) fn declared_classes(
    sets: &Sets,
    structured: &Structured,
) -> Result<Vec<Class>, InferError> {
    let rank = structured.iterators.len();
    if structured.redundancy.is_empty() || rank < 2 {
        return Ok(Vec::new());
    }
    // Where each element's value comes from, by coefficient.
    let mut sources: Vec<(f64, Map)> = vec![(1.0, structured.unique.identity()?)];
    for piece in &structured.redundancy {
        let Redundancy::Affine { map, coefficient } = piece else {
            return Ok(structured.classes.clone());
        };
        match sources.iter_mut().find(|(c, _)| c == coefficient) {
            Some((_, union)) => *union = union.union(map)?,
            None => sources.push((*coefficient, map.clone())),
        }
    }
    let symmetric = |a: usize, b: usize, skew: bool| -> Result<bool, InferError> {
        let mut swapped: Vec<Affine> =
            structured.iterators.iter().map(|name| Affine::name(name)).collect();
        swapped.swap(a, b);
        let swap = sets.access(&structured.iterators, &swapped)?;
        for (coefficient, source) in &sources {
            let through = swap.apply_range(source)?;
            let wanted = if skew { -coefficient } else { *coefficient };
            let equal = match sources.iter().find(|(c, _)| *c == wanted) {
                Some((_, other)) => through.is_equal(other)?,
                None => through.is_empty()?,
            };
            if !equal {
                return Ok(false);
            }
        }
        Ok(true)
    };
    let mut classes: Vec<Class> = Vec::new();
    let mut single: Vec<usize> = Vec::new();
    for position in 0..rank {
        let mut joined = false;
        for class in &mut classes {
            if !joined && symmetric(class.positions[0], position, class.skew)? {
                class.positions.push(position);
                joined = true;
            }
        }
        if joined {
            continue;
        }
        let mut partner = None;
        for (k, other) in single.iter().enumerate() {
            for skew in [false, true] {
                if partner.is_none() && symmetric(*other, position, skew)? {
                    partner = Some((k, skew));
                }
            }
        }
        match partner {
            Some((k, skew)) => {
                classes.push(Class { positions: vec![single.remove(k), position], skew })
            }
            None => single.push(position),
        }
    }
    Ok(classes)
}

/// Tests one transposition of head positions.
struct Matcher<'a, 'b> {
    sets: &'b Sets,
    known: Known<'a, 'b>,
    rule: &'b crate::program::Rule,
    spaces: &'b [Space],
    swap: (usize, usize),
    steps: std::cell::Cell<usize>,
}

/// A partial renaming of one product's iterators into another's.
#[derive(Clone, Default)]
struct Renaming {
    forward: BTreeMap<String, String>,
    backward: BTreeMap<String, String>,
}

impl Renaming {
    fn bind(&mut self, from: &str, to: &str) -> bool {
        match (self.forward.get(from), self.backward.get(to)) {
            (Some(bound), _) => bound == to,
            (None, Some(_)) => false,
            (None, None) => {
                self.forward.insert(from.into(), to.into());
                self.backward.insert(to.into(), from.into());
                true
            }
        }
    }
}

impl<'a, 'b> Matcher<'a, 'b> {
    fn new(
        sets: &'b Sets,
        known: Known<'a, 'b>,
        rule: &'b crate::program::Rule,
        spaces: &'b [Space],
        a: usize,
        b: usize,
    ) -> Self {
        Matcher { sets, known, rule, spaces, swap: (a, b), steps: std::cell::Cell::new(0) }
    }

    /// Whether the transposition maps the sum of products to itself (times -1 if `skew`).
    fn matches(&self, skew: bool) -> Result<bool, InferError> {
        let products = &self.rule.products;
        let mut partner_taken = vec![false; products.len()];
        for p in 0..products.len() {
            let mut found = false;
            for (q, taken) in partner_taken.iter_mut().enumerate() {
                if !*taken && self.product_matches(p, q, skew)? {
                    *taken = true;
                    found = true;
                    break;
                }
            }
            if !found {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn product_matches(&self, p: usize, q: usize, skew: bool) -> Result<bool, InferError> {
        let (from, to) = (&self.rule.products[p], &self.rule.products[q]);
        let [symbols_from, symbols_to] = [from, to].map(|product| {
            let mut symbols: Vec<(usize, bool)> =
                product.symbols.iter().map(|s| (s.symbol, s.reciprocal)).collect();
            symbols.sort_unstable();
            symbols
        });
        if symbols_from != symbols_to
            || from.accesses.len() != to.accesses.len()
            || from.iterators.len() != to.iterators.len()
        {
            return Ok(false);
        }
        let mut renaming = Renaming::default();
        for (position, iterator) in self.rule.iterators.iter().enumerate() {
            let image = match position {
                k if k == self.swap.0 => self.swap.1,
                k if k == self.swap.1 => self.swap.0,
                k => k,
            };
            renaming.bind(iterator, &self.rule.iterators[image]);
        }
        let wanted = if skew { -to.coefficient } else { to.coefficient };
        let mut taken = vec![false; to.accesses.len()];
        self.accesses(p, q, 0, &mut taken, renaming, from.coefficient, wanted)
    }

    /// Matches accesses from `next` on, by backtracking.
    #[allow(clippy::too_many_arguments)]
    fn accesses(
        &self,
        p: usize,
        q: usize,
        next: usize,
        taken: &mut [bool],
        renaming: Renaming,
        coefficient: f64,
        wanted: f64,
    ) -> Result<bool, InferError> {
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() > MAX_STEPS {
            return Ok(false);
        }
        let (from, to) = (&self.rule.products[p], &self.rule.products[q]);
        if next == from.accesses.len() {
            return if coefficient == wanted {
                self.domains_match(p, q, renaming)
            } else {
                Ok(false)
            };
        }
        let access = &from.accesses[next];
        for candidate in 0..to.accesses.len() {
            let other = &to.accesses[candidate];
            if taken[candidate]
                || other.tensor != access.tensor
                || other.reciprocal != access.reciprocal
            {
                continue;
            }
            taken[candidate] = true;
            for (order, odd) in self.orders(access) {
                let mut renaming = renaming.clone();
                let subscripts = &self.spaces[p].subscripts[next];
                let targets = &self.spaces[q].subscripts[candidate];
                let unified = order.iter().enumerate().all(|(slot, k)| {
                    self.unify(from, to, &subscripts[slot], &targets[*k], &mut renaming)
                });
                let sign = if odd { -1.0 } else { 1.0 };
                if unified
                    && self.accesses(p, q, next + 1, taken, renaming, coefficient * sign, wanted)?
                {
                    return Ok(true);
                }
            }
            taken[candidate] = false;
        }
        Ok(false)
    }

    /// The orders of an access's subscripts that leave its value unchanged (false) or negate it (true).
    fn orders(&self, access: &Access) -> Vec<(Vec<usize>, bool)> {
        let rank = access.subscripts.len();
        let mut orders: Vec<(Vec<usize>, bool)> = vec![((0..rank).collect(), false)];
        let classes = (self.known)(access.tensor).map_or(&[][..], |s| s.classes.as_slice());
        for class in classes {
            if factorial(class.positions.len()) > 120 {
                continue; // not tried: a symmetry may be missed, never invented
            }
            let mut next = Vec::new();
            for (order, sign) in &orders {
                for (permutation, odd) in permutations(class.positions.len()) {
                    let mut order = order.clone();
                    for (slot, from) in permutation.iter().enumerate() {
                        order[class.positions[slot]] = class.positions[*from];
                    }
                    next.push((order, sign ^ (odd && class.skew)));
                }
            }
            orders = next;
        }
        orders
    }

    fn unify(
        &self,
        from: &Product,
        to: &Product,
        subscript: &Affine,
        target: &Affine,
        renaming: &mut Renaming,
    ) -> bool {
        let iterator = |product: &Product, expression: &Affine| -> Option<String> {
            let name = expression.as_name()?;
            product.iterators.iter().find(|iterator| *iterator == name).cloned()
        };
        match (iterator(from, subscript), iterator(to, target)) {
            (Some(a), Some(b)) => renaming.bind(&a, &b),
            (None, None) => {
                let complete = subscript.names().iter().all(|name| {
                    !from.iterators.contains(name) || renaming.forward.contains_key(name)
                });
                complete && subscript.rename(&renaming.forward) == *target
            }
            _ => false,
        }
    }

    /// Whether the renaming carries the iteration space of product `p` onto that of `q`.
    fn domains_match(
        &self,
        p: usize,
        q: usize,
        mut renaming: Renaming,
    ) -> Result<bool, InferError> {
        let (from, to) = (&self.rule.products[p], &self.rule.products[q]);
        for iterator in &from.iterators {
            let bound = renaming.forward.contains_key(iterator);
            if !bound && (!to.iterators.contains(iterator) || !renaming.bind(iterator, iterator)) {
                return Ok(false);
            }
        }
        let mut images = Vec::new();
        for iterator in &to.iterators {
            match renaming.backward.get(iterator) {
                Some(source) => images.push(Affine::name(source)),
                None => return Ok(false),
            }
        }
        let map = self.sets.access(&from.iterators, &images)?;
        Ok(self.spaces[p].domain.apply(&map)?.is_equal(&self.spaces[q].domain)?)
    }
}
