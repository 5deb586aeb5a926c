//! Padding that makes an index simple: conditions that cut off little are dropped.
//!
//! A band of fixed width has rows of one length, but for those at its ends; blocks of fixed size are whole, but for the
//! last one. Counting the elements exactly gives pieces for these few rows and for small sizes. With some places that
//! no element has, there is one polynomial:
//! ```text
//! i <= j <= i + 2, 0 <= i, j < N                ->  i <= j <= i + 2, 0 <= i < N              3i + (j - i)
//! 46 b + r < N, 46 b + s < N, 0 <= r, s < 46    ->  46 b < N, 0 <= r, s < 46       (46 b + r) * 46 + s
//! ```
//! A condition is dropped, or its dimensions with few values replaced by the value that allows most, if no place fails
//! it by more than a constant, whatever the sizes are: then the added places lie along an edge of all places.

use dastac_poly::{Inequality, Map, Set};

use crate::LayoutError;
use crate::nested::{Sums, nested};

/// A condition may fail by this much. With more, the added places would be many for usual sizes.
const MOST: i64 = 128;

/// More conditions than this are not tried.
const MANY: usize = 40;

/// A set that contains a span, without conditions that make few points of difference, whose ranks are nested sums;
/// `None` if none is found.
///
/// # Errors
/// A failure of isl.
pub(crate) fn relaxed(span: &Set) -> Result<Option<Relaxed>, LayoutError> {
    let Some(mut conditions) = span.inequalities()? else { return Ok(None) };
    if conditions.len() > MANY {
        return Ok(None);
    }
    // Conditions on the fastest dimensions first: those on the slower ones then keep what remains small.
    conditions
        .sort_by_key(|condition| std::cmp::Reverse(condition.dims.iter().rposition(|c| *c != 0)));
    let space = Space::of(span, &conditions)?;
    let mut changed = false;
    let mut k = 0;
    while k < conditions.len() {
        let condition = conditions[k].clone();
        let mut fewer = conditions.clone();
        fewer.remove(k);
        if space.fails_by_little(&fewer, &condition, true)? {
            (conditions, changed) = (fewer, true);
            continue;
        }
        for weaker in space.weaker(&condition, &fewer) {
            let mut others = fewer.clone();
            others.insert(k, weaker);
            if space.fails_by_little(&others, &condition, true)? {
                (conditions, changed) = (others, true);
                break;
            }
        }
        k += 1;
    }
    let names = span.dims()?;
    let set = |conditions: &[Inequality]| -> Result<Set, LayoutError> {
        Ok(space.set(conditions)?.with_dim_names(&names)?)
    };
    let whole = set(&conditions)?;
    if changed && let Some(sums) = nested(&whole, &names)? {
        return Ok(Some(Relaxed { span: whole, sums }));
    }
    // A bound that the conditions on faster dimensions give nearly as well.
    for k in 0..conditions.len() {
        let mut fewer = conditions.clone();
        let condition = fewer.remove(k);
        if space.fails_by_little(&fewer, &condition, false)? {
            let span = set(&fewer)?;
            if let Some(sums) = nested(&span, &names)? {
                return Ok(Some(Relaxed { span, sums }));
            }
        }
    }
    Ok(None)
}

/// A set around a span, and its rank and number of points.
pub(crate) struct Relaxed {
    pub(crate) span: Set,
    pub(crate) sums: Sums,
}

/// Where the conditions hold.
struct Space {
    names: Vec<String>,
    params: Vec<String>,
    /// What does not change: equalities, and the symbols for which there are points.
    hull: Set,
    /// The least and the largest value of dimensions for which these are constants.
    ranges: Vec<Option<(i64, i64)>>,
}

impl Space {
    fn of(span: &Set, conditions: &[Inequality]) -> Result<Space, LayoutError> {
        let names = span.fresh_dims("c")?;
        let mut ranges = Vec::new();
        for k in 0..names.len() {
            let least = constants(&span.dim_min(k)?)?;
            let most = constants(&span.dim_max(k)?)?;
            let values = least.zip(most).map(|(least, most)| (least.0, most.1));
            ranges.push(values.or_else(|| between(conditions, k)));
        }
        let hull = span.affine_hull()?.with_dim_names(&names)?;
        let hull = hull.intersect_params(&span.params_set()?)?;
        Ok(Space { params: span.params()?, hull, names, ranges })
    }

    fn set(&self, conditions: &[Inequality]) -> Result<Set, LayoutError> {
        let conditions: Vec<String> =
            conditions.iter().map(|c| format!("{} >= 0", self.text(c))).collect();
        let conditions = match conditions.is_empty() {
            true => "true".into(),
            false => conditions.join(" and "),
        };
        let text = format!(
            "[{}] -> {{ [{}] : {conditions} }}",
            self.params.join(", "),
            self.names.join(", "),
        );
        Ok(Set::parse(self.hull.context(), &text)?.intersect(&self.hull)?)
    }

    /// The sum of a condition.
    fn text(&self, condition: &Inequality) -> String {
        let dims = self.names.iter().zip(&condition.dims).map(|(name, c)| (name, *c));
        let params = condition.params.iter().map(|(name, c)| (name, *c));
        let mut text = condition.constant.to_string();
        for (name, coefficient) in dims.chain(params).filter(|(_, c)| *c != 0) {
            text += &format!(" + {coefficient}*{name}");
        }
        text
    }

    /// Weaker conditions: with dimensions of few values replaced, and with one dimension replaced by its bound in
    /// another condition, `i + d < N` for `j < N` where `j >= i + d`.
    fn weaker(&self, condition: &Inequality, others: &[Inequality]) -> Vec<Inequality> {
        let mut found: Vec<Inequality> = self.replaced(condition).into_iter().collect();
        for (dim, c) in condition.dims.iter().enumerate().filter(|(_, c)| **c != 0) {
            for other in others.iter().filter(|other| other.dims[dim] == -c) {
                // Only by slower dimensions, so that those keep their own conditions.
                if other.dims[dim + 1..].iter().all(|c| *c == 0)
                    && let Some(sum) = added(condition, other)
                    && sum.dims.iter().any(|c| *c != 0)
                    && !others.contains(&sum)
                {
                    found.push(sum);
                }
            }
        }
        found
    }

    /// The condition with dimensions of few values replaced by the value that allows most.
    fn replaced(&self, condition: &Inequality) -> Option<Inequality> {
        let mut weaker = condition.clone();
        for (c, range) in weaker.dims.iter_mut().zip(&self.ranges) {
            if let Some((least, most)) = range
                && *c != 0
            {
                let value = if *c > 0 { *most } else { *least };
                weaker.constant = weaker.constant.checked_add(c.checked_mul(value)?)?;
                *c = 0;
            }
        }
        let whole = weaker.dims.iter().all(|c| *c == 0);
        (!whole && weaker != *condition).then_some(weaker)
    }

    /// Whether points that other conditions allow are finitely many for given sizes, and fail this one by little. Where
    /// `near`, only conditions on dimensions as slow as its own ones count, so that each dimension keeps its bounds.
    fn fails_by_little(
        &self,
        others: &[Inequality],
        condition: &Inequality,
        near: bool,
    ) -> Result<bool, LayoutError> {
        let Some(fastest) = last(condition) else { return Ok(false) };
        let near = others.iter().filter(|other| !near || last(other) <= Some(fastest));
        let around = self.set(&near.cloned().collect::<Vec<_>>())?;
        let around = around.project_out_at(fastest + 1, self.names.len() - fastest - 1)?;
        if !around.is_bounded()? {
            return Ok(false);
        }
        let text = format!(
            "[{}] -> {{ [{}] -> [{}] }}",
            self.params.join(", "),
            self.names[..=fastest].join(", "),
            self.text(condition),
        );
        let values = around.apply(&Map::parse(around.context(), &text)?)?;
        let much = Set::parse(around.context(), &format!("{{ [v] : v < -{MOST} }}"))?;
        Ok(values.is_disjoint(&much)?)
    }
}

/// The fastest dimension that a condition is about.
fn last(condition: &Inequality) -> Option<usize> {
    condition.dims.iter().rposition(|c| *c != 0)
}

/// What follows from two conditions.
fn added(one: &Inequality, other: &Inequality) -> Option<Inequality> {
    let mut sum = one.clone();
    for (c, more) in sum.dims.iter_mut().zip(&other.dims) {
        *c = c.checked_add(*more)?;
    }
    for (name, more) in &other.params {
        match sum.params.iter_mut().find(|(own, _)| own == name) {
            Some((_, c)) => *c = c.checked_add(*more)?,
            None => sum.params.push((name.clone(), *more)),
        }
    }
    sum.params.retain(|(_, c)| *c != 0);
    sum.constant = sum.constant.checked_add(other.constant)?;
    Some(sum)
}

/// The numbers between which conditions on a dimension alone keep it.
fn between(conditions: &[Inequality], dim: usize) -> Option<(i64, i64)> {
    let alone = conditions.iter().filter(|condition| {
        let others = condition.dims.iter().enumerate().filter(|(k, _)| *k != dim);
        condition.params.is_empty() && others.map(|(_, c)| *c).all(|c| c == 0)
    });
    let (mut least, mut most) = (None, None);
    for condition in alone {
        match condition.dims[dim] {
            1 => least = least.max(condition.constant.checked_neg()),
            -1 => {
                most =
                    Some(most.map_or(condition.constant, |most: i64| most.min(condition.constant)))
            }
            _ => {}
        }
    }
    least.zip(most)
}

/// The least and the largest of the values of a function with few values, none of which depends on a symbol.
fn constants(values: &dastac_poly::PwAff) -> Result<Option<(i64, i64)>, LayoutError> {
    let mut found: Option<(i64, i64)> = None;
    for (_, value) in values.pieces()? {
        if !value.is_constant()? {
            return Ok(None);
        }
        let value = value.expr()?;
        let value = value.constant.div_euclid(value.denominator.max(1));
        found = Some(found.map_or((value, value), |(a, b)| (a.min(value), b.max(value))));
    }
    Ok(found)
}
