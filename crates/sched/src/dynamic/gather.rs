//! In which order loops come to the elements of a result in a format: in the order of its levels, or in another one
//! with a workspace.
//!
//! Before -> after, `C(i, k) := A(i, j) * B(j, k)`, all in rows: for each `i` and `k` a walk over `j` that both have,
//! with `B` in columns -> for each `i`, all `j` of its row of `A` and all `k` of that row of `B`, into a workspace.

use dastac_formats::Format;
use dastac_iterate::{Factor, Gathers, Kernel, Kind, Linear, Product, appending};
use dastac_stur::program::{Rule, TensorId};
use dastac_stur::schedule::Workspace;

use super::walked::{Gathered, Why};

/// So many points are in a hash table if nobody says how many.
const HASHED: i64 = 1 << 14;

/// So many coordinates are in a bucket if nobody says how many.
const IN_BUCKET: i64 = 64;

/// An order of loops.
#[derive(PartialEq)]
pub(super) struct Form {
    /// All iterators, outermost first.
    pub(super) order: Vec<usize>,
    /// So many levels of the result stand outside.
    pub(super) outside: usize,
    /// Why it has a workspace.
    pub(super) why: Option<Why>,
    /// Whether a workspace has the others that are not full, instead of their being outside too.
    pub(super) gathers: Option<Gathers>,
}

impl Form {
    fn is_same(&self, other: &Form) -> bool {
        (&self.order, &self.gathers) == (&other.order, &other.gathers)
    }
}

/// The orders of loops for a result.
pub(super) struct Forms {
    /// The one that is better than the order of the levels, if it is possible.
    pub(super) preferred: Option<Form>,
    /// That of the result's levels; none if a workspace is asked for.
    pub(super) plain: Option<Form>,
    /// Those that are possible where elements cannot come in that order, the best ones first.
    pub(super) others: Vec<Form>,
}

pub(super) fn forms(
    (rule, result): (&Rule, TensorId),
    kernel: &Kernel,
    format: &Format,
    choice: &dyn Fn(&Gathered<'_>) -> Option<Kind>,
) -> Forms {
    let order = appending(kernel, format);
    let sparse = || (0..format.levels().len()).filter(|at| !format.levels()[*at].is_full());
    let (Some(first), Some(last)) = (sparse().next(), sparse().next_back()) else {
        let plain = Form { order, outside: 0, why: None, gathers: None };
        return Forms { preferred: None, plain: Some(plain), others: Vec::new() };
    };
    let levels = order.iter().filter(|at| kernel.head.contains(at));
    let outer = &levels.take(last + 1).copied().collect::<Vec<usize>>()[..];
    let least = first.max(usize::from(last > 0));
    let wanted = &kernel.order;
    let given = rule.schedule.workspace.map(|workspace| match workspace {
        Workspace::Dense => Kind::Dense,
        Workspace::List(None) => Kind::Growing,
        Workspace::List(Some(capacity)) => Kind::List { capacity },
        Workspace::Hash(capacity) => Kind::Hash { capacity: capacity.unwrap_or(HASHED) },
        Workspace::Bucket(rows) => Kind::Bucket { rows: rows.unwrap_or(IN_BUCKET) },
    });
    // Several levels with a place for every coordinate would take as much memory as a dense tensor of them, and levels
    // in front of the first sparse one have a place for each coordinate anyway.
    let one = |outside: usize| outside == last && outside >= first;
    let dimensions = format.order().unwrap_or_default();
    let chosen = |outside: usize| {
        let (inner, block) = dimensions[outside..].split_at(last + 1 - outside);
        choice(&Gathered {
            head: result,
            outside: &dimensions[..outside],
            inside: inner,
            block,
            one_level: one(outside),
        })
    };
    let kind = |outside: usize| match given.or_else(|| chosen(outside)) {
        Some(kind) => kind,
        None if one(outside) => Kind::Dense,
        None => Kind::Growing,
    };
    let gathered = |outside: usize, rest: &[usize], why: Why| {
        let outer = &outer[..outside];
        let inside = rest.iter().filter(|at| !outer.contains(at));
        Form {
            order: outer.iter().chain(inside).copied().collect(),
            outside,
            why: Some(why),
            gathers: Some(Gathers::behind(outside, format, &kernel.head, kind(outside))),
        }
    };
    // Sums first, so that rows of operands are walked one after the other.
    let head = |at: &usize| kernel.head.contains(at);
    let block = wanted.iter().filter(|at| head(at) && !outer.contains(at));
    let sums = wanted.iter().filter(|at| !head(at));
    let rows: Vec<usize> = sums.chain(outer).chain(block).copied().collect();
    let asked = rule.has_order();
    let same = outer.iter().zip(wanted).take_while(|(own, wanted)| own == wanted).count();
    let meets = kernel.products.iter().any(|product| meets(kernel, product, outer));
    let preferred = match asked {
        true if given == Some(Kind::Dense) => {
            Some(gathered(same.clamp(least, last), wanted, Why::Asked))
        }
        true => {
            (same <= last || given.is_some()).then(|| gathered(same.min(last), wanted, Why::Asked))
        }
        false => {
            let outside = crossed(kernel, outer).clamp(least, last);
            let some = |test: &dyn Fn(&Product) -> bool| kernel.products.iter().any(test);
            let why = if meets {
                Some(Why::Meets)
            } else if some(&|product| is_chosen(kernel, product))
                && !is_walked(kernel, (&order, outer))
            {
                Some(Why::Chosen)
            } else if some(&|product| is_sent(kernel, product, outer)) {
                Some(Why::Sent)
            } else if given.is_none() && is_discordant(kernel, (&order, outer), &rows) {
                Some(Why::Discordant)
            } else {
                given.map(|_| Why::Asked)
            };
            why.map(|why| gathered(outside, &rows, why))
        }
    };
    let mut others: Vec<Form> = Vec::new();
    let least = if given == Some(Kind::Dense) { least } else { 0 };
    for outside in (least..=last).rev() {
        for rest in [&rows, wanted] {
            let one = gathered(outside, rest, Why::Scattered);
            if preferred.as_ref().is_none_or(|other| !other.is_same(&one)) && !others.contains(&one)
            {
                others.push(one);
            }
        }
    }
    let plain = Form { order: order.clone(), outside: last + 1, why: None, gathers: None };
    Forms { preferred, plain: given.is_none().then_some(plain), others }
}

/// The loops of a result without a format in an order in which they do not go over pairs of rows and columns that have
/// nothing in common: `i, k, j` of `A(i, k) * B(j, k)`. Nothing if no sparse factors meet in a sum.
pub(super) fn outside_of_pairs(kernel: &Kernel) -> Option<Vec<usize>> {
    let head = &kernel.head;
    if head.len() < 2 || !kernel.products.iter().all(|product| meets(kernel, product, head)) {
        return None;
    }
    let outside = crossed(kernel, head);
    let sums = (0..kernel.iterators.len()).filter(|at| !head.contains(at));
    let (outer, inner) = head.split_at(outside);
    (!inner.is_empty())
        .then(|| outer.iter().copied().chain(sums).chain(inner.iter().copied()).collect())
}

/// Whether an operand does not store all of its elements.
pub(super) fn is_sparse(kernel: &Kernel, operand: usize) -> bool {
    !kernel.operands[operand].format.is_full()
}

/// The factors of a product whose elements are not all stored.
fn sparse<'a>(kernel: &'a Kernel, product: &'a Product) -> impl Iterator<Item = &'a Factor> {
    product.factors.iter().filter(|factor| is_sparse(kernel, factor.operand))
}

/// Whether elements that a product reads, or misses, of a tensor that does not store all vary with an iterator.
pub(super) fn walks(kernel: &Kernel, product: &Product, iterator: usize) -> bool {
    let mut factors = sparse(kernel, product).chain(&product.absent);
    factors.any(|factor| mentions(factor, iterator))
}

fn mentions(factor: &Factor, iterator: usize) -> bool {
    factor.position == Some(iterator)
        || factor.subscripts.iter().any(|subscript| subscript.coefficient(iterator) != 0)
}

/// The first of the result's levels at which its loop, inside of those of the levels before it, would go over pairs of
/// coordinates of which no factor says that they have anything in common: `k` of `A(i, j) * B(j, k, l)`, for each `i`.
fn crossed(kernel: &Kernel, outer: &[usize]) -> usize {
    let is_crossed = |product: &Product, level: usize| {
        let (at, above) = (outer[level], &outer[..level]);
        let of = |factor: &&Factor| mentions(factor, at);
        let known = |other: &usize| sparse(kernel, product).any(|factor| mentions(factor, *other));
        let sums = |factor: &Factor| {
            let mut all = (0..kernel.iterators.len()).filter(|at| !kernel.head.contains(at));
            all.any(|sum| mentions(factor, sum))
        };
        let covers = |factor: &Factor| {
            above.iter().filter(|other| known(other)).all(|other| mentions(factor, *other))
        };
        let mut own = sparse(kernel, product).filter(of).peekable();
        own.peek().is_some() && !own.any(|factor| covers(factor) || !sums(factor))
    };
    let levels = (1..outer.len())
        .find(|level| kernel.products.iter().any(|product| is_crossed(product, *level)));
    levels.unwrap_or(outer.len())
}

/// Whether integers in memory choose a part of a sparse factor, a row of `A(p(i), j)`: it is walked for each of them.
fn is_chosen(kernel: &Kernel, product: &Product) -> bool {
    product.defined.iter().any(|(at, value)| {
        let walked = || sparse(kernel, product).any(|factor| mentions(factor, *at));
        !kernel.head.contains(at) && value.has_loads() && walked()
    })
}

/// Whether loops over a level of the result would go to all of its coordinates, although what is stored says which few
/// of them have something: `q` of `A(i, j) * (p = i + 3) * (q = 2 * j)`, for each `p`.
fn is_sent(kernel: &Kernel, product: &Product, outer: &[usize]) -> bool {
    // The first level's loop finds the row of each of its coordinates.
    let inner = &outer[usize::from(outer.len() > 1)..];
    inner.iter().any(|at| is_few(kernel, product, *at))
}

/// Whether no level has an iterator, and what is walked in a sum leaves it a constant number of values.
pub(super) fn is_few(kernel: &Kernel, product: &Product, at: usize) -> bool {
    let walked = |at: usize| sparse(kernel, product).any(|factor| mentions(factor, at));
    let is_sum = |other: usize| other != at && !kernel.head.contains(&other) && walked(other);
    let from_sums = |one: &Linear| one.terms().iter().any(|(other, _)| is_sum(*other));
    let few = |low: &Linear, high: &Linear| {
        let cancel = |(at, by): &(usize, i64)| high.coefficient(*at) == -by;
        let constant = low.constant.clone() + high.constant.clone();
        low.terms().len() == high.terms().len()
            && low.terms().iter().all(cancel)
            && constant.as_const().is_some()
    };
    let mut below =
        product.conditions.iter().filter(|one| one.coefficient(at) > 0 && from_sums(one));
    !walked(at) && below.any(|low| product.conditions.iter().any(|high| few(low, high)))
}

/// Whether a vector's elements in their order ask for copies of tensors that loops over the sums first do without.
fn is_discordant(kernel: &Kernel, (plain, outer): (&[usize], &[usize]), rows: &[usize]) -> bool {
    let vector = outer.len() == 1 && kernel.head.len() == 1;
    let sums = kernel.iterators.len() > 1;
    vector && sums && copies(kernel, plain) > 0 && copies(kernel, rows) == 0
}

/// Whether loops in the order of a result's levels walk what is chosen: `A(p(i), j)` row by row.
fn is_walked(kernel: &Kernel, (plain, outer): (&[usize], &[usize])) -> bool {
    let by_levels = |product: &Product| {
        let walked = |at: &usize| sparse(kernel, product).any(|factor| mentions(factor, *at));
        outer.iter().skip(1).all(walked)
    };
    outer.len() > 1 && kernel.products.iter().all(by_levels) && copies(kernel, plain) == 0
}

/// How many operands keep loops from an order.
fn copies(kernel: &Kernel, order: &[usize]) -> usize {
    let kernel = Kernel { order: order.to_vec(), ..kernel.clone() };
    let operands = (0..kernel.operands.len()).filter(|at| is_sparse(&kernel, *at));
    operands.filter(|at| contradicts(&kernel, *at, order.len())).count()
}

/// Whether an operand by itself keeps so many of the outermost loops from the wanted order.
pub(super) fn contradicts(kernel: &Kernel, operand: usize, outermost: usize) -> bool {
    let mut alone = kernel.clone();
    for (at, other) in alone.operands.iter_mut().enumerate() {
        if at != operand {
            other.format = Format::dense(other.format.rank());
        }
    }
    let order = dastac_iterate::order(&alone);
    order.map_or(true, |order| order[..outermost] != kernel.order[..outermost])
}

/// Whether several sparse factors meet in a sum of a product, and none of them says where the result's elements are: in
/// the order of the result's levels, loops would look for what they have in common at places where that is nothing.
fn meets(kernel: &Kernel, product: &Product, outer: &[usize]) -> bool {
    let is_sum = |at: &usize| !kernel.head.contains(at);
    let mut sums = (0..kernel.iterators.len()).filter(is_sum);
    let several = |at: usize| sparse(kernel, product).filter(|one| mentions(one, at)).count() > 1;
    let covers = |factor: &Factor| outer.iter().all(|at| mentions(factor, *at));
    // Loops over the positions of elements know where these are.
    let is_at = |factor: &Factor| factor.position.is_some();
    sums.any(several) && !sparse(kernel, product).any(|factor| covers(factor) || is_at(factor))
}
