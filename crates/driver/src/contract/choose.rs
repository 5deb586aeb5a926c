//! The steps that are cheapest at given sizes.
//!
//! A product is computed in steps if that visits at most half as many points (two thirds, if steps only add up
//! elements of one operand), where what is written to an intermediate and read again counts as well, and if the
//! intermediates fit the memory that they may have.

use std::collections::BTreeMap;

use dastac_stur::contract::search::{self, search};
use dastac_stur::contract::{Choice, Tree, Way, contracted, given, obstacle, possible};
use dastac_stur::infer::{InferError, Inferred, Statement, infer_contracted};
use dastac_stur::program::{Product, Rule};
use dastac_stur::{Program, RuleId, TensorId};

use super::cost::Counted;
use super::steps::Sizes;
use super::ways;
use crate::Error;

/// So much memory intermediates may always have, in bytes; more if the program's own tensors have more.
const MEMORY: f64 = (64u64 << 20) as f64;
/// Steps must visit so many times fewer points,
const GAIN: f64 = 2.0;
/// or so many times if all that they do before the last one is to add up elements of one operand: each of these is read
/// once then, in order.
const GAIN_OF_SUMS: f64 = 1.5;
/// The bytes of an element of an intermediate, at most but for complex ones.
const BYTES: f64 = 8.0;

/// Where nothing is known, symbols have these values, all of them or all but one,
const SMALL: i64 = 48;
const LARGE: i64 = 768;
/// and dynamic tensors store these parts of their elements.
const DENSITIES: [f64; 2] = [0.002, 0.1];
/// Intermediates have sets of so many parts at most: each access to a packed one tells these parts apart.
const MAX_PARTS: usize = 8;
/// Programs with more symbols than this are not tried with one value for each.
const MAX_SYMBOLS: usize = 6;

/// Sizes that stand for all: what pays at each of them is done whatever the sizes are.
pub(super) fn samples(program: &Program) -> Vec<Sizes> {
    let count = program.symbols.len();
    let mut values = vec![vec![SMALL; count], vec![LARGE; count]];
    for at in (0..count).filter(|_| (2..=MAX_SYMBOLS).contains(&count)) {
        for (one, others) in [(SMALL, LARGE), (LARGE, SMALL)] {
            values.push((0..count).map(|k| if k == at { one } else { others }).collect());
        }
    }
    let dynamic = program.tensors.iter().any(|tensor| tensor.format.is_some());
    let densities = if dynamic { &DENSITIES[..] } else { &DENSITIES[..1] };
    let at = |symbols: Vec<i64>| {
        densities.iter().map(move |density| Sizes {
            symbols: symbols.clone(),
            stored: BTreeMap::new(),
            meeting: BTreeMap::new(),
            density: *density,
        })
    };
    values.into_iter().flat_map(at).collect()
}

/// The trees of all products for which steps pay at each of these sizes; `given` ones are kept as they are.
pub(super) fn choose(
    inferred: &Inferred,
    given: &Choice,
    sizes: &[Sizes],
) -> Result<Choice, Error> {
    let mut choice = given.clone();
    let program = &inferred.program;
    let mut counted = Vec::new();
    for rule in &inferred.rules {
        let source = &program.rules[rule.rule.0];
        for (place, product) in source.products.iter().enumerate() {
            let id = (rule.rule, place);
            if choice.contains_key(&id)
                || obstacle(program, source, product).is_some()
                || reads_unknown(program, product)
                || !promising(program, source, product)
            {
                continue;
            }
            if counted.is_empty() {
                for sizes in sizes {
                    counted.push(Counted::new(inferred, sizes)?);
                }
            }
            let own = |statement: &&Statement| statement.product == place;
            let statements: Vec<&Statement> = rule.statements.iter().filter(own).collect();
            // Only counts of packed tensors are polynomials of the symbols.
            let dynamic = |tensor| program.tensor(tensor).format.is_some();
            let packed = !dynamic(source.head)
                && !product.accesses.iter().any(|access| dynamic(access.tensor));
            let most = if packed { usize::MAX } else { 1 };
            let best = best(inferred, &counted, id, &statements, most)?;
            if !best.is_empty() {
                choice.insert(id, best);
            }
        }
    }
    Ok(choice)
}

/// Whether some product might be computed in steps at some sizes, other than schedules say.
pub(super) fn may_choose(program: &Program) -> bool {
    let given = given(program);
    program.rules.iter().enumerate().any(|(rule, source)| {
        source.products.iter().enumerate().any(|(place, product)| {
            !given.contains_key(&(RuleId(rule), place))
                && obstacle(program, source, product).is_none()
                && !reads_unknown(program, product)
                && promising(program, source, product)
        })
    })
}

/// Whether a product reads a tensor of which only the program's run tells how many elements it stores.
pub(super) fn reads_unknown(program: &Program, product: &Product) -> bool {
    let computed = |tensor| program.rules.iter().any(|rule| rule.head == tensor);
    let unknown = |tensor| program.tensor(tensor).format.is_some() && computed(tensor);
    product.accesses.iter().any(|access| unknown(access.tensor))
}

/// Whether there are steps that may pay, whatever the sizes are.
fn promising(program: &Program, rule: &Rule, product: &Product) -> bool {
    let many = 1e3;
    let bounds =
        search::Sizes { extent: &|_| many, density: &|_| 1.0, most_elements: f64::INFINITY };
    !search(program, rule, product, &bounds).is_empty()
}

/// Steps for one product with what they cost.
struct Priced {
    tree: Tree,
    steps: StepsOf,
    /// At each of several sizes; infinite where they do not pay.
    costs: Vec<f64>,
}

/// The ways to compute one product, of which one pays at each of these sizes, or none: the one that is never far from
/// the best, unless a few are far better, and at most so many.
fn best(
    inferred: &Inferred,
    counted: &[Counted<'_>],
    id: (RuleId, usize),
    statements: &[&Statement],
    most: usize,
) -> Result<Vec<Way>, Error> {
    let mut candidates: Vec<Tree> = Vec::new();
    let mut bounds = Vec::new();
    for counted in counted {
        let (trees, bound) = candidates_at(inferred, counted, id, statements)?;
        bounds.push(bound);
        for tree in trees {
            if !candidates.contains(&tree) {
                candidates.push(tree);
            }
        }
    }
    let mut all: Vec<Priced> = Vec::new();
    for tree in candidates {
        let Some(steps) = StepsOf::of(inferred, id, &tree)? else { continue };
        let gain = gain(&tree);
        let mut costs = Vec::new();
        for (counted, bound) in counted.iter().zip(&bounds) {
            let cost = steps.cost(counted.sizes, bound.most_elements)?;
            let pays = |cost: &f64| bound.direct > 0.0 && cost * gain <= bound.direct;
            costs.push(cost.filter(pays).unwrap_or(f64::INFINITY));
        }
        all.push(Priced { tree, steps, costs });
    }
    let costs: Vec<Vec<f64>> = all.iter().map(|one| one.costs.clone()).collect();
    let few = ways::few(&costs, most);
    if few.len() > 1 {
        let large = vec![LARGE; inferred.program.symbols.len()];
        let mut counted = Vec::new();
        for at in &few {
            counted.push((all[*at].tree.clone(), all[*at].steps.counted()?));
        }
        if let Some(ways) = ways::decided(inferred, &counted, &large)? {
            return Ok(ways);
        }
        let alone = ways::few(&costs, 1).into_iter().next();
        return Ok(alone.map_or_else(Vec::new, |at| Way::always(all[at].tree.clone())));
    }
    Ok(few.first().map_or_else(Vec::new, |at| Way::always(all[*at].tree.clone())))
}

/// How many times fewer points these steps must visit.
fn gain(tree: &Tree) -> f64 {
    let mut sums = true;
    tree.visit_steps(&mut |_, parts| sums &= matches!(parts, [Tree::Factor(_)]));
    if sums { GAIN_OF_SUMS } else { GAIN }
}

/// What steps must be better than.
struct Bound {
    /// The points of the product in one step.
    direct: f64,
    most_elements: f64,
}

fn candidates_at(
    inferred: &Inferred,
    counted: &Counted<'_>,
    id: (RuleId, usize),
    statements: &[&Statement],
) -> Result<(Vec<Tree>, Bound), Error> {
    let program = &inferred.program;
    let rule = &program.rules[id.0.0];
    let product = &rule.products[id.1];
    let mut direct = 0.0;
    for statement in statements {
        direct += counted.statement(statement)?;
    }
    let mut extents = Vec::new();
    for iterator in &product.iterators {
        extents.push((iterator.as_str(), counted.extent(statements, iterator)?));
    }
    let mut densities = Vec::new();
    for access in &product.accesses {
        densities.push(counted.density(access.tensor)?);
    }
    let extent = |name: &str| {
        extents.iter().find(|(known, _)| *known == name).map_or(1.0, |(_, extent)| *extent)
    };
    let most_elements = memory(inferred, counted)? / BYTES;
    let bounds = search::Sizes { extent: &extent, density: &|at| densities[at], most_elements };
    Ok((search(program, rule, product, &bounds), Bound { direct, most_elements }))
}

/// The bytes that intermediates may have: as many as the program's own tensors, and never fewer than [`MEMORY`].
pub(super) fn memory(inferred: &Inferred, counted: &Counted<'_>) -> Result<f64, Error> {
    let mut elements = 0.0;
    for tensor in inferred.program.tensor_ids() {
        elements += match inferred.program.tensor(tensor).format {
            None => counted.unique(tensor)?,
            Some(_) => counted.cells(tensor)? * counted.density(tensor)?,
        };
    }
    Ok(f64::max(MEMORY, elements * BYTES))
}

/// A program with one product in steps.
struct StepsOf {
    cut: Inferred,
    head: TensorId,
    place: usize,
    /// Tensors from this one on are intermediates.
    first: usize,
}

impl StepsOf {
    /// `None` if these steps are not possible.
    fn of(inferred: &Inferred, id: (RuleId, usize), tree: &Tree) -> Result<Option<StepsOf>, Error> {
        let choice = Choice::from([(id, Way::always(tree.clone()))]);
        if !possible(&inferred.program, &choice) {
            return Ok(None);
        }
        let program = contracted(&inferred.program, &choice);
        let cut = match infer_contracted(&program, inferred) {
            Ok(cut) => cut,
            Err(InferError::User(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let (head, first) = (inferred.program.rules[id.0.0].head, inferred.program.tensors.len());
        for tensor in &cut.tensors[first..] {
            if tensor.unique.basic_set_count()? > MAX_PARTS {
                return Ok(None);
            }
        }
        Ok(Some(StepsOf { cut, head, place: id.1, first }))
    }

    /// What they cost, counted exactly; `None` if the intermediates do not fit memory.
    fn cost(&self, sizes: &Sizes, most_elements: f64) -> Result<Option<f64>, Error> {
        let counted = Counted::new(&self.cut, sizes)?;
        let (mut points, mut elements) = (0.0, 0.0);
        for statement in self.statements() {
            points += counted.statement(statement)?;
        }
        for tensor in self.intermediates() {
            elements += counted.unique(tensor)?;
        }
        Ok((elements <= most_elements).then_some(points + 2.0 * elements))
    }

    /// The same for all sizes, if nothing is dynamic.
    fn counted(&self) -> Result<ways::Counts, Error> {
        let mut counts = Vec::new();
        for statement in self.statements() {
            counts.push((1, statement.domain.card()?));
        }
        for tensor in self.intermediates() {
            counts.push((2, self.cut.tensors[tensor.0].unique.card()?));
        }
        Ok(counts)
    }

    /// The statements of all steps.
    fn statements(&self) -> impl Iterator<Item = &Statement> {
        self.cut.rules.iter().flat_map(move |rule| {
            let hidden = rule.head.0 >= self.first;
            rule.statements.iter().filter(move |statement| {
                hidden || rule.head == self.head && statement.product == self.place
            })
        })
    }

    fn intermediates(&self) -> impl Iterator<Item = TensorId> {
        self.cut.rules.iter().map(|rule| rule.head).filter(|head| head.0 >= self.first)
    }
}
