//! Integer expressions as linear combinations, and the facts that follow from the bounds of enclosing loops.
//!
//! Whatever is not a sum or a product with a constant is an atom: two atoms are the same if they are equal as
//! expressions. All answers are safe: an overflow or an unknown form gives "not known".

use crate::ir::*;
use crate::polynomial::Polynomial;

/// `sum of coefficient * atom + constant`; atoms distinct, coefficients not zero.
#[derive(Clone, Debug)]
pub struct Linear {
    terms: Vec<(Index, i64)>,
    constant: i64,
}

impl Linear {
    /// The linear combination that `index` is; `None` on overflow.
    pub fn of(index: &Index) -> Option<Linear> {
        let mut linear = Linear { terms: Vec::new(), constant: 0 };
        linear.accumulate(index, 1)?;
        linear.terms.retain(|(_, coefficient)| *coefficient != 0);
        Some(linear)
    }

    /// `left - right - gap`; not negative exactly where `left >= right + gap`.
    pub fn difference(left: &Index, right: &Index, gap: i64) -> Option<Linear> {
        let mut linear = Linear { terms: Vec::new(), constant: gap.checked_neg()? };
        linear.accumulate(left, 1)?;
        linear.accumulate(right, -1)?;
        linear.terms.retain(|(_, coefficient)| *coefficient != 0);
        Some(linear)
    }

    /// The constant that this is, if it is one.
    pub fn as_const(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// Whether it is known to be a multiple of a positive number.
    pub fn is_multiple_of(&self, by: i64) -> bool {
        self.constant % by == 0 && self.terms.iter().all(|(_, coefficient)| coefficient % by == 0)
    }

    /// This as `by * first + second`, with what is a multiple of a positive number in the first.
    pub(crate) fn split_multiples(self, by: i64) -> (Linear, Linear) {
        let (multiples, others): (Vec<_>, Vec<_>) =
            self.terms.into_iter().partition(|(_, coefficient)| coefficient % by == 0);
        let multiples = multiples.into_iter().map(|(atom, coefficient)| (atom, coefficient / by));
        let first = Linear { terms: multiples.collect(), constant: self.constant.div_euclid(by) };
        (first, Linear { terms: others, constant: self.constant.rem_euclid(by) })
    }

    /// The expression that this is.
    pub fn to_index(&self) -> Index {
        let mut terms = self.terms.clone();
        // A positive term first, so that no product with -1 is needed.
        terms.sort_by_key(|(_, coefficient)| *coefficient < 0);
        let mut sum = Index::Const(0);
        for (position, (atom, coefficient)) in terms.into_iter().enumerate() {
            sum = match coefficient.checked_neg() {
                Some(positive) if coefficient < 0 && position > 0 => {
                    sum - Index::Const(positive) * atom
                }
                _ => sum + Index::Const(coefficient) * atom,
            };
        }
        sum + self.constant
    }

    /// The only expression that is multiplied, with what, and the constant.
    pub(crate) fn as_one(&self) -> Option<(Index, i64, i64)> {
        let [(atom, coefficient)] = &self.terms[..] else { return None };
        Some((atom.clone(), *coefficient, self.constant))
    }

    /// Whether an expression is among what is summed.
    pub(crate) fn has(&self, atom: &Index) -> bool {
        self.terms.iter().any(|(own, _)| own == atom)
    }

    /// Takes out `coefficient * (var / by)` and gives the coefficient and `by`, unless `var` occurs elsewhere too.
    ///
    /// `var - var % 4` is `4 * (var / 4)`.
    fn isolate_blocks(&self, var: VarId) -> Option<(i64, i64, Linear)> {
        let about = |atom: &Index| *atom == Index::Var(var);
        let (inside, rest): (Vec<_>, Vec<_>) =
            self.terms.iter().partition(|(atom, _)| atom.mentions(var));
        let (coefficient, by) = match inside[..] {
            [(Index::FloorDiv(inner, by), coefficient)] if about(inner) => (*coefficient, *by),
            [(one, of_one), (other, of_other)] if of_one.checked_add(*of_other) == Some(0) => {
                let (steps, coefficient) = match (about(one), about(other)) {
                    (true, false) => (other, of_one),
                    (false, true) => (one, of_other),
                    _ => return None,
                };
                let Index::Mod(inner, by) = steps else { return None };
                (coefficient.checked_mul(*by).filter(|_| about(inner))?, *by)
            }
            _ => return None,
        };
        let terms = rest.into_iter().cloned().collect();
        Some((coefficient, by, Linear { terms, constant: self.constant }))
    }

    /// Takes out `coefficient * var` and gives the coefficient, unless `var` occurs elsewhere too.
    pub(crate) fn isolate(mut self, var: VarId) -> Option<(i64, Linear)> {
        let at = self.terms.iter().position(|(atom, _)| *atom == Index::Var(var))?;
        let (_, coefficient) = self.terms.swap_remove(at);
        let elsewhere = self.terms.iter().any(|(atom, _)| atom.mentions(var));
        (!elsewhere).then_some((coefficient, self))
    }

    fn accumulate(&mut self, index: &Index, factor: i64) -> Option<()> {
        match index {
            Index::Const(value) => {
                self.constant = self.constant.checked_add(value.checked_mul(factor)?)?;
            }
            Index::Add(left, right) => {
                self.accumulate(left, factor)?;
                self.accumulate(right, factor)?;
            }
            Index::Sub(left, right) => {
                self.accumulate(left, factor)?;
                self.accumulate(right, factor.checked_neg()?)?;
            }
            Index::Mul(left, right) => match (&**left, &**right) {
                (Index::Const(value), other) | (other, Index::Const(value)) => {
                    self.accumulate(other, factor.checked_mul(*value)?)?;
                }
                _ => self.term(index, factor)?,
            },
            _ => self.term(index, factor)?,
        }
        Some(())
    }

    fn term(&mut self, atom: &Index, factor: i64) -> Option<()> {
        match self.terms.iter_mut().find(|(known, _)| known == atom) {
            Some((_, coefficient)) => *coefficient = coefficient.checked_add(factor)?,
            None => self.terms.push((atom.clone(), factor)),
        }
        Some(())
    }

    /// An expression that is not negative exactly where this one is, with coefficients without a common divisor.
    ///
    /// Before -> after: `2 * k - 1` -> `k - 1`.
    fn tightened(mut self) -> Linear {
        let gcd = |left: u64, right: u64| {
            let (mut left, mut right) = (left, right);
            while right != 0 {
                (left, right) = (right, left % right);
            }
            left
        };
        let common = self.terms.iter().fold(0, |so_far, (_, by)| gcd(so_far, by.unsigned_abs()));
        if let Ok(common @ 2..) = i64::try_from(common) {
            self.terms.iter_mut().for_each(|(_, by)| *by /= common);
            self.constant = self.constant.div_euclid(common);
        }
        self
    }

    /// An expression that is negative where this one is, without one of its quotients.
    ///
    /// Before -> after: `r + e / 2` -> `2 * r + e`; `r - e / 2` -> `2 * r + 1 - e`; `r - 4 * (e / 2)` -> `r - 2 * e`.
    fn without_quotient(&self) -> Option<Linear> {
        let found =
            self.terms.iter().enumerate().find_map(|(at, (atom, coefficient))| match atom {
                Index::FloorDiv(value, by) if *by > 0 => {
                    let fits = coefficient.checked_abs()? == 1 || coefficient % by == 0;
                    fits.then_some((at, value, *by, *coefficient))
                }
                _ => None,
            });
        let (at, value, by, coefficient) = found?;
        let value = Linear::of(value)?;
        let mut rest = self.clone();
        rest.terms.remove(at);
        // rest + e / by, where the quotient is rounded down, is not negative exactly where by * rest + e is not; and
        // rest - e / by exactly where e < by * (rest + 1). A multiple of by of the quotient is between two of e.
        let (scale, times, constant) = match (coefficient.abs() == 1, coefficient > 0) {
            (true, true) => (by, 1, 0),
            (true, false) => (by, -1, by - 1),
            (false, true) => (1, coefficient / by, (coefficient / by).checked_mul(1 - by)?),
            (false, false) => (1, coefficient / by, 0),
        };
        let mut result = Linear { terms: Vec::new(), constant: 0 };
        for (atom, coefficient) in &rest.terms {
            result.term(atom, coefficient.checked_mul(scale)?)?;
        }
        for (atom, coefficient) in &value.terms {
            result.term(atom, coefficient.checked_mul(times)?)?;
        }
        result.terms.retain(|(_, coefficient)| *coefficient != 0);
        let own = value.constant.checked_mul(times)?;
        let constants = rest.constant.checked_mul(scale)?.checked_add(own)?;
        result.constant = constants.checked_add(constant)?;
        Some(result)
    }

    /// Less a multiple of another one.
    fn minus_times(&self, other: &Linear, times: i64) -> Option<Linear> {
        let mut result = self.clone();
        result.constant = result.constant.checked_sub(other.constant.checked_mul(times)?)?;
        for (atom, coefficient) in &other.terms {
            result.term(atom, coefficient.checked_mul(times)?.checked_neg()?)?;
        }
        result.terms.retain(|(_, coefficient)| *coefficient != 0);
        Some(result)
    }
}

impl Index {
    /// How much this grows when `var` grows by 1, if that does not depend on `var`.
    ///
    /// Before -> after, of `i`: `N * i + 2 * (i + j)` -> `N + 2`; of `j`: `2`; `i * i` has none.
    pub fn stride(&self, var: VarId) -> Option<Index> {
        if !self.mentions(var) {
            return Some(Index::Const(0));
        }
        Some(match self {
            Index::Var(_) => Index::Const(1),
            Index::Add(left, right) => left.stride(var)? + right.stride(var)?,
            Index::Sub(left, right) => left.stride(var)? - right.stride(var)?,
            Index::Mul(left, right) => match (left.mentions(var), right.mentions(var)) {
                (true, true) => return None,
                (true, false) => left.stride(var)? * (**right).clone(),
                _ => (**left).clone() * right.stride(var)?,
            },
            Index::Select(condition, then, otherwise) if !condition.mentions(var) => {
                let (then, otherwise) = (then.stride(var)?, otherwise.stride(var)?);
                if then != otherwise {
                    return None;
                }
                then
            }
            _ => return None,
        })
    }

    /// [`Index::stride`], if it is a number.
    pub fn constant_stride(&self, var: VarId) -> Option<i64> {
        self.stride(var)?.as_const()
    }

    /// Whether this never shrinks (1), never grows (-1), or stays the same (0) when `var` grows, if one of these is
    /// known.
    ///
    /// Before -> after, of `i`: `i - i / 3` -> `1`; `max(0, 7 - 2 * i)` -> `-1`; `i % 2` has none.
    pub fn direction(&self, var: VarId) -> Option<i64> {
        match self.change(var)? {
            (0, 0) => Some(0),
            (0.., _) => Some(1),
            (_, ..=0) => Some(-1),
            _ => None,
        }
    }

    /// By how much this grows at least and at most when `var` grows by 1.
    fn change(&self, var: VarId) -> Option<(i64, i64)> {
        if !self.mentions(var) {
            return Some((0, 0));
        }
        if let Some(stride) = self.constant_stride(var) {
            return Some((stride, stride));
        }
        match self {
            Index::Add(left, right) => {
                let (left, right) = (left.change(var)?, right.change(var)?);
                Some((left.0.checked_add(right.0)?, left.1.checked_add(right.1)?))
            }
            Index::Sub(left, right) => {
                let (left, right) = (left.change(var)?, right.change(var)?);
                Some((left.0.checked_sub(right.1)?, left.1.checked_sub(right.0)?))
            }
            Index::Min(left, right) | Index::Max(left, right) => {
                let (left, right) = (left.change(var)?, right.change(var)?);
                Some((left.0.min(right.0), left.1.max(right.1)))
            }
            Index::Mul(left, right) => match (&**left, &**right) {
                (Index::Const(by), other) | (other, Index::Const(by)) => {
                    let (least, most) = other.change(var)?;
                    let (one, two) = (least.checked_mul(*by)?, most.checked_mul(*by)?);
                    Some((one.min(two), one.max(two)))
                }
                _ => None,
            },
            Index::FloorDiv(value, by) if *by > 0 => {
                let (least, most) = value.change(var)?;
                Some((least.div_euclid(*by), -(-most).div_euclid(*by)))
            }
            _ => None,
        }
    }

    /// `self - other`, if it is the same number whatever the variables and symbols are.
    pub fn constant_difference(&self, other: &Index) -> Option<i64> {
        match (self, other) {
            (Index::Const(left), Index::Const(right)) => left.checked_sub(*right),
            _ if self == other => Some(0),
            _ => Linear::difference(self, other, 0)?.as_const(),
        }
    }
}

/// Appends to `list` the expressions of which `index` is the minimum.
pub fn flatten_min(index: &Index, list: &mut Vec<Index>) {
    match index {
        Index::Min(left, right) => {
            flatten_min(left, list);
            flatten_min(right, list);
        }
        _ => list.push(index.clone()),
    }
}

/// Appends to `list` the expressions of which `index` is the maximum.
pub fn flatten_max(index: &Index, list: &mut Vec<Index>) {
    match index {
        Index::Max(left, right) => {
            flatten_max(left, list);
            flatten_max(right, list);
        }
        _ => list.push(index.clone()),
    }
}

/// The first value of a range that surely has one, and no second one at this step: `max(i, j) .. max(i, j) + 1`.
pub fn only_value(lower: &[Index], upper: &[Index], step: i64) -> Option<Index> {
    let [high] = upper else { return None };
    let low = lower.iter().cloned().reduce(Index::max)?;
    let length = high.constant_difference(&low)?;
    (1..=step).contains(&length).then_some(low)
}

/// The comparisons that hold exactly where `max(lower..) < min(upper..)`, simplified.
pub fn range_conditions(lower: &[Index], upper: &[Index]) -> Vec<Condition> {
    if only_value(lower, upper, 1).is_some() {
        return Vec::new();
    }
    let (mut lowers, mut uppers) = (Vec::new(), Vec::new());
    lower.iter().for_each(|bound| flatten_max(bound, &mut lowers));
    upper.iter().for_each(|bound| flatten_min(bound, &mut uppers));
    let mut list = Vec::new();
    for low in &lowers {
        for high in &uppers {
            let condition = Condition::compare(Compare::Lt, low.clone(), high.clone());
            if condition.as_bool() != Some(true) && !list.contains(&condition) {
                list.push(condition);
            }
        }
    }
    list
}

/// The facts that hold at a place of a function: the bounds of the enclosing loops and their conditions.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Each is not negative.
    list: Vec<Linear>,
}

impl Facts {
    /// How many there are; [`Facts::truncate`] goes back to it.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Forgets all but the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.list.truncate(len);
    }

    /// Learns that `var` is in the range.
    pub fn assume_range(&mut self, var: VarId, lower: &[Index], upper: &[Index]) {
        let var = Index::Var(var);
        let (mut lowers, mut uppers) = (Vec::new(), Vec::new());
        lower.iter().for_each(|bound| flatten_max(bound, &mut lowers));
        upper.iter().for_each(|bound| flatten_min(bound, &mut uppers));
        self.list.extend(lowers.iter().filter_map(|low| Linear::difference(&var, low, 0)));
        self.list.extend(uppers.iter().filter_map(|high| Linear::difference(high, &var, 1)));
    }

    /// Learns where the parts of a shared range are.
    pub fn assume_partitioned(&mut self, partitioned: &PartitionedRange) {
        let (begin, end) = (Index::Var(partitioned.begin), Index::Var(partitioned.end));
        let (mut lowers, mut uppers) = (Vec::new(), Vec::new());
        partitioned.lower.iter().for_each(|bound| flatten_max(bound, &mut lowers));
        partitioned.upper.iter().for_each(|bound| flatten_min(bound, &mut uppers));
        self.list.extend(lowers.iter().filter_map(|low| Linear::difference(&begin, low, 0)));
        self.list.extend(uppers.iter().filter_map(|high| Linear::difference(high, &end, 0)));
        self.list.extend(Linear::difference(&end, &begin, 0));
    }

    /// Learns where the parts of partial sums are.
    pub fn assume_partial(&mut self, partial: &Partial) {
        let (begin, end) = (Index::Var(partial.begin), Index::Var(partial.end));
        self.list.extend(Linear::difference(&end, &begin, 0));
        let mut lowers = Vec::new();
        partial.lower.iter().for_each(|bound| flatten_max(bound, &mut lowers));
        self.list.extend(lowers.iter().filter_map(|low| Linear::difference(&begin, low, 0)));
    }

    /// Learns that `condition` holds.
    pub fn assume(&mut self, condition: &Condition) {
        match condition {
            Condition::Compare(op, left, right) => {
                let facts = differences(*op, left, right).into_iter().flatten();
                self.list.extend(facts.map(Linear::tightened));
            }
            Condition::And(list) => list.iter().for_each(|condition| self.assume(condition)),
            Condition::Or(_) => {}
        }
    }

    /// Whether `condition` follows from what is known. False says nothing.
    pub fn imply(&self, condition: &Condition) -> bool {
        match condition {
            Condition::Compare(Compare::Ne, left, right) => {
                self.imply(&Condition::Compare(Compare::Lt, left.clone(), right.clone()))
                    || self.imply(&Condition::Compare(Compare::Gt, left.clone(), right.clone()))
            }
            Condition::Compare(op, left, right) => {
                let goals = differences(*op, left, right);
                let proven = |goal: Option<Linear>| {
                    let goal = goal.map(Linear::tightened);
                    goal.is_some_and(|goal| self.holds(&goal) || self.multiplied(&goal))
                };
                goals.into_iter().all(proven)
            }
            Condition::And(list) => list.iter().all(|condition| self.imply(condition)),
            Condition::Or(list) => list.iter().any(|condition| self.imply(condition)),
        }
    }

    /// Whether `goal` is not negative, by what is known and by what remainders and quotients are.
    fn holds(&self, goal: &Linear) -> bool {
        self.follows(goal)
            || goal.without_quotient().is_some_and(|goal| self.holds(&goal.tightened()))
    }

    /// Whether `goal` is not negative, by what is known and by what remainders are.
    fn follows(&self, goal: &Linear) -> bool {
        let mut known = std::borrow::Cow::Borrowed(self);
        for (atom, _) in &goal.terms {
            if let Index::Mod(_, by) = atom {
                let facts = [
                    Linear::difference(atom, &Index::Const(0), 0),
                    Linear::difference(&Index::Const(*by), atom, 1),
                ];
                known.to_mut().list.extend(facts.into_iter().flatten());
            }
        }
        known.prove(goal, 3)
    }

    /// Whether `goal`, in which variables or symbols are multiplied, is not negative by what is known, times what is
    /// known not to be negative.
    ///
    /// Before -> after, where `0 <= h < H` and `0 <= d < D`: `h * D + d < D * H` -> true, as neither `(H - 1 - h) * D`
    /// nor `D - 1 - d` is negative.
    fn multiplied(&self, goal: &Linear) -> bool {
        if !goal.terms.iter().any(|(atom, _)| matches!(atom, Index::Mul(..))) {
            return false;
        }
        let polynomial = |linear: &Linear| Polynomial::of(&linear.to_index());
        let Some(goal) = polynomial(goal) else { return false };
        let facts: Vec<Polynomial> = self.list.iter().filter_map(polynomial).collect();
        self.prove_products(&goal, &facts, 2)
    }

    /// Whether a polynomial is not negative, by the facts as polynomials.
    fn prove_products(&self, goal: &Polynomial, facts: &[Polynomial], depth: usize) -> bool {
        let factors = goal.factors();
        if factors.is_empty() {
            return Linear::of(&goal.to_index(&[])).is_some_and(|goal| self.holds(&goal));
        }
        depth > 0
            && factors.iter().any(|factor| {
                let factor = factor.to_index();
                let is_known = Linear::of(&factor).is_some_and(|factor| self.prove(&factor, 2));
                let factor = Polynomial::of(&factor).filter(|_| is_known);
                factor.is_some_and(|factor| {
                    facts.iter().any(|fact| {
                        let product = fact.times(&factor);
                        let rest = product
                            .filter(|product| goal.shares_product(product))
                            .and_then(|product| goal.plus(&product, -1));
                        rest.is_some_and(|rest| self.prove_products(&rest, facts, depth - 1))
                    })
                })
            })
    }

    /// Whether `goal` is the sum of multiples of at most `depth` facts and a constant that is not negative.
    fn prove(&self, goal: &Linear, depth: usize) -> bool {
        if let Some(constant) = goal.as_const() {
            return constant >= 0;
        }
        depth > 0
            && self.list.iter().any(|fact| {
                // So many times the fact has as much of an atom as the goal has.
                let times = fact.terms.iter().find_map(|(atom, by)| {
                    let same =
                        |(other, of): &&(Index, i64)| other == atom && (*of > 0) == (*by > 0);
                    let (_, of) = goal.terms.iter().find(same)?;
                    Some(if of % by == 0 { of / by } else { 1 })
                });
                times
                    .and_then(|times| goal.minus_times(fact, times))
                    .is_some_and(|rest| self.prove(&rest, depth - 1))
            })
    }
}

/// Bounds on `var` that hold exactly where `condition` does: lower ones and exclusive upper ones.
pub fn bounds_of(condition: &Condition, var: VarId) -> Option<(Vec<Index>, Vec<Index>)> {
    let Condition::Compare(op, left, right) = condition else { return None };
    if *op == Compare::Ne {
        return None;
    }
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    for difference in differences(*op, left, right) {
        // coefficient * (var / by) + rest >= 0
        let difference = difference?;
        let (coefficient, by, rest) = match difference.isolate_blocks(var) {
            Some(blocks) => blocks,
            None => {
                let alone = difference.clone().isolate(var).or_else(|| {
                    // Of a quotient that is added or subtracted once, what follows is all that is said.
                    let of = |(atom, _): &&(Index, i64)| matches!(atom, Index::FloorDiv(..));
                    let mut quotients = difference.terms.iter().filter(of);
                    let once =
                        matches!((quotients.next(), quotients.next()), (Some((_, 1 | -1)), None));
                    difference.without_quotient().filter(|_| once)?.isolate(var)
                });
                alone.map(|(coefficient, rest)| (coefficient, 1, rest))?
            }
        };
        let rest = rest.to_index();
        if coefficient > 0 {
            // Rounded up: floor((-rest + coefficient - 1) / coefficient).
            let least = Linear::difference(&Index::Const(0), &rest, 1 - coefficient)?;
            lower.push(least.to_index().floor_div(coefficient) * by);
        } else {
            upper.push((rest.floor_div(coefficient.checked_neg()?) + 1) * by);
        }
    }
    Some((lower, upper))
}

/// Linear forms that are all not negative exactly where `left op right`; none for `!=`.
pub(crate) fn differences(op: Compare, left: &Index, right: &Index) -> Vec<Option<Linear>> {
    match op {
        Compare::Eq => {
            vec![Linear::difference(left, right, 0), Linear::difference(right, left, 0)]
        }
        Compare::Ne => Vec::new(),
        Compare::Lt => vec![Linear::difference(right, left, 1)],
        Compare::Le => vec![Linear::difference(right, left, 0)],
        Compare::Gt => vec![Linear::difference(left, right, 1)],
        Compare::Ge => vec![Linear::difference(left, right, 0)],
    }
}

/// An expression whose quotients and remainders have no multiples of what they are divided by:
/// `(2 * i + j) / 2` -> `i + j / 2`.
pub(crate) fn reduced(index: &Index) -> Index {
    let index = index.map_parts(&mut reduced);
    let divided = |value: &Index, by: i64| {
        let (first, second) = Linear::of(value)?.split_multiples(by);
        Some((first.to_index(), second.to_index()))
    };
    let found = match &index {
        Index::FloorDiv(value, by) if *by > 0 => {
            divided(value, *by).map(|(first, second)| first + second.floor_div(*by))
        }
        Index::ExactDiv(value, by) if *by > 0 => {
            divided(value, *by).map(|(first, second)| first + second.exact_div(*by))
        }
        Index::Mod(value, by) if *by > 0 => {
            divided(value, *by).map(|(_, second)| second.modulo(*by))
        }
        _ => None,
    };
    found.unwrap_or(index)
}

/// A rewrite that goes from the outside in, and knows the facts that follow from the loops and conditions around.
pub(crate) trait Within {
    /// What is known where it is.
    fn facts(&mut self) -> &mut Facts;

    /// Rewrites statements one after the other.
    fn block(&mut self, body: &mut [Stmt]);

    /// Rewrites what stands inside of a statement.
    fn inside(&mut self, stmt: &mut Stmt) {
        let len = self.facts().len();
        match stmt {
            Stmt::For(inner) => {
                self.facts().assume_range(inner.var, &inner.lower, &inner.upper);
                self.block(&mut inner.body);
            }
            Stmt::Partitioned(inner) => {
                self.facts().assume_partitioned(inner);
                self.block(&mut inner.body);
            }
            Stmt::If(inner) => {
                self.facts().assume(&inner.condition);
                self.block(&mut inner.then);
                self.facts().truncate(len);
                self.facts().assume(&inner.condition.clone().negate());
                self.block(&mut inner.otherwise);
            }
            _ => stmt.bodies_mut().into_iter().for_each(|body| self.block(body)),
        }
        self.facts().truncate(len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_bound_variables() {
        let (v, n) = (VarId(0), Index::Symbol(SymbolId(0)));
        let i = || Index::Var(v);
        let show = |condition: Condition| {
            let (lower, upper) = bounds_of(&condition, v)?;
            let text = |list: Vec<Index>| list.iter().map(Index::to_string).collect::<Vec<_>>();
            Some((text(lower).join(","), text(upper).join(",")))
        };
        let bounds = |lower: &str, upper: &str| Some((lower.to_owned(), upper.to_owned()));
        assert_eq!(show(i().less(n.clone())), bounds("", "p0"));
        assert_eq!(show(n.clone().less(i())), bounds("p0 + 1", ""));
        assert_eq!(show((i() * 2).at_most(n.clone())), bounds("", "p0 / 2 + 1"));
        assert_eq!(show(n.clone().at_most(i() * 2)), bounds("(p0 + 1) / 2", ""));
        assert_eq!(show((i() + 1).equal(n.clone())), bounds("p0 - 1", "p0"));
        assert_eq!(show((i() + i().modulo(2)).less(n.clone())), None);
        assert_eq!(show((i() - i().modulo(4)).at_most(n.clone())), bounds("", "(p0 / 4 + 1) * 4"));
        assert_eq!(show(n.clone().less(i().floor_div(4))), bounds("(p0 + 1) * 4", ""));
        assert_eq!(show(n.clone().less(i() - i().modulo(4))), bounds("(p0 + 4) / 4 * 4", ""));
        let half = || (i() + 1).floor_div(2);
        assert_eq!(show(half().less(i())), bounds("2", ""));
        assert_eq!(show((half() - i()).less(Index::Const(-3))), bounds("8", ""));
        assert_eq!(show(n.clone().at_most(i() - half())), bounds("2 * p0", ""));
        assert_eq!(show((half() * 2).less(i())), None);
        assert_eq!(show(Condition::Compare(Compare::Ne, i(), n)), None);
    }

    #[test]
    fn facts_chain() {
        let [i, j, k] = [0, 1, 2].map(|n| Index::Var(VarId(n)));
        let n = Index::Symbol(SymbolId(0));
        let mut facts = Facts::default();
        facts.assume_range(VarId(0), &[Index::Const(0)], std::slice::from_ref(&n));
        facts.assume_range(VarId(1), std::slice::from_ref(&i), std::slice::from_ref(&n));
        facts.assume_range(VarId(2), std::slice::from_ref(&j), &[n.clone().min(j.clone() + 4)]);
        assert!(facts.imply(&i.clone().at_most(k.clone())));
        assert!(facts.imply(&i.clone().less(k.clone() + 1)));
        assert!(facts.imply(&Index::Const(0).less(n.clone())));
        assert!(facts.imply(&k.clone().less(i.clone() + n.clone())));
        assert!(!facts.imply(&i.clone().less(k.clone())));
        assert!(!facts.imply(&Condition::Compare(Compare::Ne, i, k)));
        assert!(!facts.imply(&Index::Const(1).less(n.clone())));
        let block = || Index::Var(VarId(0)).modulo(4);
        assert!(facts.imply(&(Index::Var(VarId(0)) - block()).less(n)));
        assert!(facts.imply(&block().less(Index::Const(4))));
        assert!(!facts.imply(&block().less(Index::Const(3))));
        // 0 <= l < 2 * N
        let (l, n) = (|| Index::Var(VarId(3)), || Index::Symbol(SymbolId(0)));
        facts.assume_range(VarId(3), &[Index::Const(0)], &[n() * 2]);
        let half = || (l() + 1).floor_div(2);
        assert!(facts.imply(&half().at_most(n())));
        assert!(!facts.imply(&half().less(n())));
        assert!(facts.imply(&Index::Const(0).less(half() + 1)));
        assert!(!facts.imply(&Index::Const(0).less(half())));
        assert!(facts.imply(&(half() * 2).at_most(l() + 1)));
        assert!(facts.imply(&l().at_most(half() * 2)));
        assert!(!facts.imply(&l().less(half() * 2)));
        assert!(facts.imply(&(l() - half()).at_most(half())));
        assert!(facts.imply(&((l() + n() - 1).floor_div(2) - l().floor_div(2)).at_most(n())));
    }
}
