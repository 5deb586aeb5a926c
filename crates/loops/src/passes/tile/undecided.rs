//! What is known of a nest's loops and selections where they are cut, and what is left of them.

use super::guarded::canonical;
use super::interchange::fewest;
use super::nest::Level;
use crate::ir::*;
use crate::linear::{Facts, bounds_of};
use crate::polynomial::Polynomial;

/// What is known at a place.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) facts: Facts,
}

impl Known {
    /// The loops without bounds that follow from others, and the store without selections that are decided. The ranges
    /// of the loops are added to the facts.
    pub(super) fn reduced(
        &mut self,
        levels: &[Level],
        store: &Store,
    ) -> Option<(Vec<Level>, Store)> {
        let mut reduced = Vec::new();
        for level in levels {
            let (lower, upper) = self.range(&level.lower, &level.upper)?;
            self.facts.assume_range(level.var, &lower, &upper);
            reduced.push(Level { var: level.var, lower, upper });
        }
        let value = self.value(&store.value);
        let index = self.index(&store.index);
        Some((reduced, Store { value, index, ..store.clone() }))
    }

    /// The bounds that do not follow from others; `None` if the range is empty.
    fn range(&self, lower: &[Index], upper: &[Index]) -> Option<(Vec<Index>, Vec<Index>)> {
        let known = |condition: Condition| self.facts.imply(&condition);
        let empty = lower
            .iter()
            .any(|low| upper.iter().any(|high| known(high.clone().at_most(low.clone()))));
        if empty {
            return None;
        }
        let at_most = |one: &Index, other: &Index| known(one.clone().at_most(other.clone()));
        let lower = fewest(lower.to_vec(), &|one, other| at_most(other, one));
        let upper = fewest(upper.to_vec(), &|one, other| at_most(one, other));
        Some((lower, upper))
    }

    /// A value without what is decided.
    pub(crate) fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::Const(_) => value.clone(),
            Value::Load(buffer, index) => Value::Load(*buffer, self.index(index)),
            Value::FromIndex(index) => Value::FromIndex(self.index(index)),
            Value::Add(left, right) => self.value(left) + self.value(right),
            Value::Mul(left, right) => self.value(left) * self.value(right),
            Value::Div(left, right) => self.value(left) / self.value(right),
            Value::Min(left, right) => self.value(left).min(self.value(right)),
            Value::Max(left, right) => self.value(left).max(self.value(right)),
            Value::Truth(inside) => self.value(inside).truth(),
            Value::Apply(function, of) => {
                Value::apply(*function, of.iter().map(|one| self.value(one)).collect())
            }
            Value::Select(parts) => {
                let [condition, then, otherwise] = parts.each_ref().map(|part| self.value(part));
                Value::select(condition, then, otherwise)
            }
            Value::Compare(how, left, right) => {
                Value::compare(*how, self.value(left), self.value(right))
            }
            Value::Cast(element, inside) => Value::cast(*element, self.value(inside)),
            Value::Sum(sum) => {
                let Some((lower, upper)) = self.range(&sum.lower, &sum.upper) else {
                    return Value::Const(sum.kind.neutral());
                };
                let len = self.facts.len();
                self.facts.assume_range(sum.var, &lower, &upper);
                sum.condition.iter().for_each(|condition| self.facts.assume(condition));
                let body = self.value(&sum.body);
                self.facts.truncate(len);
                Value::Sum(Box::new(Sum { lower, upper, body, ..(**sum).clone() }))
            }
        }
    }

    fn index(&mut self, index: &Index) -> Index {
        let Index::Select(condition, then, otherwise) = index else { return index.clone() };
        let condition = self.condition(condition);
        let condition = self.without_meeting_points(condition, then, otherwise);
        let len = self.facts.len();
        self.facts.assume(&condition);
        let then = self.index(then);
        self.facts.truncate(len);
        self.facts.assume(&condition.clone().negate());
        let otherwise = self.index(otherwise);
        self.facts.truncate(len);
        Index::select(condition, then, otherwise)
    }

    /// A condition without the parts whose truth is known.
    fn condition(&mut self, condition: &Condition) -> Condition {
        match condition {
            Condition::Compare(..) => {
                let known = |condition: &Condition| self.facts.imply(condition);
                if known(condition) {
                    return Condition::TRUE;
                }
                match known(&condition.clone().negate()) {
                    true => Condition::FALSE,
                    false => canonical(condition.clone()),
                }
            }
            Condition::And(list) => Condition::all(self.each(list, false)),
            Condition::Or(list) => Condition::any(self.each(list, true)),
        }
    }

    /// Simplifies each part of a conjunction assuming the others, or of a disjunction assuming the negations of the
    /// others.
    fn each(&mut self, list: &[Condition], any: bool) -> Vec<Condition> {
        let mut list = list.to_vec();
        for at in 0..list.len() {
            let len = self.facts.len();
            for (other, condition) in list.iter().enumerate() {
                match any {
                    _ if other == at => {}
                    true => self.facts.assume(&condition.clone().negate()),
                    false => self.facts.assume(condition),
                }
            }
            list[at] = self.condition(&list[at].clone());
            self.facts.truncate(len);
        }
        list
    }

    /// A condition without the equalities where both pieces are the same: `select(i == 0, j, 8 * i + j)` is `8 * i +
    /// j`.
    fn without_meeting_points(
        &mut self,
        condition: Condition,
        then: &Index,
        otherwise: &Index,
    ) -> Condition {
        match condition {
            Condition::Compare(Compare::Eq, ..) => match self.meet(&condition, then, otherwise) {
                true => Condition::FALSE,
                false => condition,
            },
            Condition::Or(list) => {
                let mut left = Vec::new();
                for part in list {
                    let point = matches!(part, Condition::Compare(Compare::Eq, ..));
                    if !point || !self.meet(&part, then, otherwise) {
                        left.push(part);
                    }
                }
                Condition::any(left)
            }
            condition => condition,
        }
    }

    /// Whether two pieces are the same where an equality holds.
    fn meet(&mut self, equality: &Condition, then: &Index, otherwise: &Index) -> bool {
        let len = self.facts.len();
        self.facts.assume(equality);
        let mut pieces = [then, otherwise].map(|piece| self.index(piece));
        self.facts.truncate(len);
        let vars = equality.free_vars();
        let solved = vars.iter().rev().find_map(|var| Some((*var, bounds_of(equality, *var)?)));
        if let Some((var, (lower, _))) = solved
            && let [value] = &lower[..]
        {
            pieces = pieces.map(|piece| piece.substitute(var, value));
        }
        let [then, otherwise] = pieces.each_ref().map(Polynomial::of);
        then.is_some() && then == otherwise
    }
}
