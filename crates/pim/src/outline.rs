//! The outline of loops: ranges, conditions and subscripts without what is computed.
//!
//! A host decides by it, when sizes are known, how iterations are shared out (`work`) and whether all integers fit 32
//! bits (`width`).

use std::collections::BTreeSet;

use dastac_loops::{BufferId, Condition, Index, VarId};
use serde::{Deserialize, Serialize};

/// A part of an outline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outline {
    /// A counted loop, or a sum.
    Loop {
        /// The variable.
        var: VarId,
        /// Lower bounds.
        lower: Vec<Index>,
        /// Upper bounds, exclusive.
        upper: Vec<Index>,
        /// The step.
        step: i64,
        /// What is inside.
        body: Vec<Outline>,
    },
    /// An integer that is read once.
    Let {
        /// The variable.
        var: VarId,
        /// The buffer that it is read from.
        buffer: BufferId,
        /// Where.
        index: Index,
        /// What is inside.
        body: Vec<Outline>,
    },
    /// A conditional.
    If {
        /// The condition.
        condition: Condition,
        /// Where it holds.
        then: Vec<Outline>,
        /// Where it does not.
        otherwise: Vec<Outline>,
    },
    /// Statements in which variables have values that only the machine knows.
    Unknown {
        /// The variables.
        vars: Vec<VarId>,
        /// What is inside.
        body: Vec<Outline>,
    },
    /// Work, and the integers that it needs.
    Work {
        /// Elements that are loaded or stored.
        cost: u32,
        /// Integer expressions.
        indices: Vec<Index>,
    },
}

/// The buffers that integers of an outline are loaded from.
pub fn loaded(outline: &[Outline]) -> BTreeSet<BufferId> {
    let mut found = BTreeSet::new();
    let mut index = |index: &Index| {
        index.visit(&mut |part| {
            if let Index::Load(buffer, _) = part {
                found.insert(*buffer);
            }
        });
    };
    let mut lets = BTreeSet::new();
    each_index(outline, &mut index, &mut lets);
    found.extend(lets);
    found
}

fn each_index(outline: &[Outline], visit: &mut dyn FnMut(&Index), lets: &mut BTreeSet<BufferId>) {
    for one in outline {
        match one {
            Outline::Loop { lower, upper, body, .. } => {
                lower.iter().chain(upper).for_each(&mut *visit);
                each_index(body, visit, lets);
            }
            Outline::Let { buffer, index, body, .. } => {
                lets.insert(*buffer);
                visit(index);
                each_index(body, visit, lets);
            }
            Outline::If { condition, then, otherwise } => {
                sides(condition, visit);
                each_index(then, visit, lets);
                each_index(otherwise, visit, lets);
            }
            Outline::Unknown { body, .. } => each_index(body, visit, lets),
            Outline::Work { indices, .. } => indices.iter().for_each(&mut *visit),
        }
    }
}

/// Visits the sides of all comparisons.
pub fn sides(condition: &Condition, visit: &mut dyn FnMut(&Index)) {
    match condition {
        Condition::Compare(_, left, right) => [left, right].into_iter().for_each(visit),
        Condition::And(list) | Condition::Or(list) => {
            list.iter().for_each(|one| sides(one, visit));
        }
    }
}

/// Whether a variable is used in an outline.
pub fn mentions(outline: &[Outline], var: VarId) -> bool {
    let mut found = false;
    each_index(outline, &mut |index| found |= index.mentions(var), &mut BTreeSet::new());
    found
}

/// Whether a variable decides about what is loaded.
pub fn loads_by(outline: &[Outline], var: VarId) -> bool {
    let mut found = false;
    let mut index = |index: &Index| {
        index.visit(&mut |part| {
            found |= matches!(part, Index::Load(_, at) if at.mentions(var));
        });
    };
    each_index(outline, &mut index, &mut BTreeSet::new());
    found
        || outline
            .iter()
            .any(|one| matches!(one, Outline::Let { index, .. } if index.mentions(var)))
}
