//! The steps that are cheapest at given sizes.
//!
//! A product is computed in steps if that visits at most half as many points, where what is written to an intermediate
//! and read again counts as well, and if the intermediates fit the memory that they may have.

use std::collections::BTreeMap;

use dastac_stur::contract::search::{self, search};
use dastac_stur::contract::{Choice, Tree, contracted, given, obstacle, possible};
use dastac_stur::infer::{InferError, Inferred, Statement, infer_contracted};
use dastac_stur::program::{Product, Rule};
use dastac_stur::{Program, RuleId, TensorId};

use super::cost::Counted;
use super::steps::Sizes;
use crate::Error;

/// So much memory intermediates may always have, in bytes; more if the program's own tensors have more.
const MEMORY: f64 = (64u64 << 20) as f64;
/// Steps must visit so many times fewer points.
const GAIN: f64 = 2.0;
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
            if let Some(tree) = best(inferred, &counted, id, &statements)? {
                choice.insert(id, tree);
            }
        }
    }
    choice.retain(|_, tree| !tree.is_direct());
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

/// The tree for one product, if steps pay at all sizes: the one that is never far from the best.
fn best(
    inferred: &Inferred,
    counted: &[Counted<'_>],
    id: (RuleId, usize),
    statements: &[&Statement],
) -> Result<Option<Tree>, Error> {
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
    let mut costs: Vec<(Tree, Vec<f64>)> = Vec::new();
    for tree in candidates {
        let Some(steps) = StepsOf::of(inferred, id, &tree)? else { continue };
        let mut all = Vec::new();
        for (counted, bound) in counted.iter().zip(&bounds) {
            let cost = steps.cost(counted.sizes, bound.most_elements)?;
            let pays = |cost: &f64| bound.direct > 0.0 && cost * GAIN <= bound.direct;
            all.extend(cost.filter(pays));
        }
        if all.len() == counted.len() {
            costs.push((tree, all));
        }
    }
    let least = |at: usize| costs.iter().map(|(_, all)| all[at]).fold(f64::INFINITY, f64::min);
    let least: Vec<f64> = (0..counted.len()).map(least).collect();
    let worst = |all: &[f64]| {
        let ratios = all.iter().zip(&least).map(|(cost, least)| cost / least.max(1.0));
        ratios.fold(0.0, f64::max)
    };
    let found = costs.iter().min_by(|(_, a), (_, b)| worst(a).total_cmp(&worst(b)));
    Ok(found.map(|(tree, _)| tree.clone()))
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
        let choice = Choice::from([(id, tree.clone())]);
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
        for rule in &self.cut.rules {
            let hidden = rule.head.0 >= self.first;
            let own = |statement: &&Statement| {
                hidden || rule.head == self.head && statement.product == self.place
            };
            for statement in rule.statements.iter().filter(own) {
                points += counted.statement(statement)?;
            }
            if hidden {
                elements += counted.unique(rule.head)?;
            }
        }
        Ok((elements <= most_elements).then_some(points + 2.0 * elements))
    }
}
