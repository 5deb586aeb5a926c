//! Sparse levels at an iterator: which positions a loop walks, and what it finds there.
//!
//! With `c` the iterator's coefficient and `rest` what the subscript's other iterators that have no value yet can add,
//! from `low` to `high` (with the constant), the loop is at `x` where the level has a coordinate in
//! `c * x + low ..= c * x + high`: the window of a non-empty subsection (sparse convolutions, sections 3.1 and 5.2).
//! For a negative `c` positions are walked from the last to the first, by `high - coordinate`.

use dastac_formats::level::LevelBuffers;
use dastac_loops::{Cursor, Index};

use super::builder::{Builder, Range};
use super::kernel::{Linear, Walking};
use super::state::{At, State, Window};
use super::walks::{Over, Walk};

/// Whether a loop is the last of a subscript's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SubscriptRole {
    /// Others follow: the loop goes over windows on the level.
    Reduces,
    /// The loop goes over coordinates of the level.
    Resolves,
}

/// A sparse level at an iterator, at one place in a tensor.
pub(super) struct Sparse {
    pub(super) cursor: Cursor,
    pub(super) role: SubscriptRole,
    /// The products' factors that are there.
    pub(super) users: Vec<(usize, usize)>,
    /// It is no level, but the range of these products: all of its coordinates are there.
    pub(super) ranged: Vec<usize>,
    /// Operand and level.
    pub(super) name: (usize, usize),
    pub(super) ordered: bool,
    pub(super) unique: bool,
    /// Whether positions are walked from the last one on.
    pub(super) reversed: bool,
    /// The nearest coordinate within reach at coordinate 0: the smallest, or the largest if positions are walked from
    /// the last.
    pub(super) near: Index,
}

impl Sparse {
    pub(super) fn of(&self, product: usize) -> bool {
        self.users.iter().any(|(user, _)| *user == product) || self.ranged.contains(&product)
    }

    /// What a loop over its positions goes over.
    pub(super) fn walk(&self, iterator: usize) -> Walk {
        let over = match self.role {
            SubscriptRole::Reduces => Over::Subsections,
            SubscriptRole::Resolves => Over::Elements,
        };
        Walk::new(Some(iterator), over, [self.name.0])
    }

    /// Whether two walk the same positions in the same way.
    pub(super) fn is_same(&self, other: &Sparse) -> bool {
        let position = Index::Var(other.cursor.position);
        let place = self.cursor.at(&position);
        let position = other.cursor.position;
        let cursor = Cursor { position, place, ..self.cursor.clone() };
        cursor == other.cursor && self.role == other.role && self.reversed == other.reversed
    }

    /// Whether coordinates ascend, and are perhaps repeated.
    pub(super) fn repeats(&self) -> bool {
        self.ordered && !self.unique
    }

    /// Whether there is one position only.
    pub(super) fn is_single(&self) -> bool {
        self.cursor.end == self.cursor.start.clone() + 1
    }

    /// Whether, with no other level around, its positions are walked one by one: all of a range's, or such as have to
    /// be tested each.
    pub(super) fn is_each(&self) -> bool {
        let all = self.cursor.above && self.cursor.below && self.cursor.step == 1;
        self.role == SubscriptRole::Resolves
            && (all || !self.ordered || !self.unique || self.is_single())
    }

    /// The level's position that one of the cursor's stands for.
    pub(super) fn position(&self, position: &Index) -> Index {
        let Cursor { start, end, .. } = &self.cursor;
        match self.reversed {
            false => position.clone(),
            true => start.clone() + end.clone() - 1 - position.clone(),
        }
    }

    /// The positions of one coordinate.
    pub(super) fn segment(&self, position: &Index, end: &Index) -> At {
        match self.reversed {
            false => At::Segment(position.clone(), end.clone()),
            true => {
                let last = end.clone() - 1;
                At::Segment(self.position(&last), self.position(position) + 1)
            }
        }
    }

    /// A product where the cursor is at some positions, at a coordinate of the loop.
    pub(super) fn found(&self, mut state: State, at: &At, value: &Index) -> State {
        let own = self.users.iter().filter(|(product, _)| *product == state.product);
        for (_, factor) in own {
            let place = &mut state.places[*factor];
            match (self.role, at) {
                (SubscriptRole::Resolves, at) => place.found(at.clone()),
                (SubscriptRole::Reduces, At::Position(first)) => {
                    let Cursor { start, end, .. } = &self.cursor;
                    let (start, end) = match self.reversed {
                        false => (first.clone(), end.clone()),
                        true => (start.clone(), first.clone() + 1),
                    };
                    let moved = value.clone() * self.cursor.step;
                    let near = match self.reversed {
                        false => self.near.clone() + moved,
                        true => self.near.clone() - moved,
                    };
                    place.window = Some(Window { start, end, near, reversed: self.reversed });
                }
                (SubscriptRole::Reduces, At::Segment(..)) => {}
            }
        }
        state
    }
}

/// Positions of a level.
pub(super) struct Positions {
    pub(super) start: Index,
    pub(super) end: Index,
    /// The first one below the position of the level before.
    begin: Index,
    level: LevelBuffers,
}

impl Positions {
    /// The coordinate at a position.
    pub(super) fn coordinate(&self, position: &Index) -> Index {
        self.level.pos_access(&self.begin, position)
    }
}

impl Builder<'_> {
    /// The positions that a factor's next level has, and its coordinates; nothing of a dense level.
    pub(super) fn positions(&self, state: &State, factor: usize) -> Option<Positions> {
        let own = &self.kernel.products[state.product].factors[factor];
        let place = &state.places[factor];
        let level = self.kernel.operands[own.operand].levels.get(place.level)?;
        if level.arrays.is_empty() {
            return None;
        }
        let (begin, end) = match &place.at {
            At::Position(at) => level.pos_bounds(at)?,
            At::Segment(start, end) => level.pos_bounds_of((start, end))?,
        };
        let (start, end) = match &place.window {
            Some(window) => (window.start.clone(), window.end.clone()),
            None => (begin.clone(), end),
        };
        Some(Positions { start, end, begin, level: level.clone() })
    }

    /// A factor's next level, if it is a sparse one that has this iterator in its subscript.
    pub(super) fn level(
        &mut self,
        iterator: usize,
        range: &Range,
        state: &State,
        factor: usize,
    ) -> Option<Sparse> {
        let own = &self.kernel.products[state.product].factors[factor];
        let operand = &self.kernel.operands[own.operand];
        let place = &state.places[factor];
        let subscript = own.subscripts.get(place.level)?;
        let coefficient = subscript.coefficient(iterator);
        let simple = subscript.as_iterator().is_some();
        if coefficient == 0 || self.kernel.walking == Walking::Locate && !simple {
            return None;
        }
        let positions = self.positions(state, factor)?;
        let (start, end) = (positions.start.clone(), positions.end.clone());
        let kind = operand.format.levels()[place.level];
        let (low, high, role) = self.reach(subscript, iterator);
        // Windows are walked where positions ascend one by one.
        if role == SubscriptRole::Reduces && !(kind.ordered && kind.unique) {
            return None;
        }
        let reversed = coefficient < 0;
        let step = coefficient.checked_abs()?;
        let position = self.function.fresh_var(format!("p{}", self.kernel.iterators[iterator].0));
        let mut level = Sparse {
            cursor: Cursor {
                position,
                start,
                end,
                place: Index::Const(0),
                step,
                width: Index::Const(1),
                repeats: !kind.unique,
                above: false,
                below: false,
            },
            role,
            users: vec![(state.product, factor)],
            ranged: Vec::new(),
            name: (own.operand, place.level),
            ordered: kind.ordered,
            unique: kind.unique,
            reversed,
            near: if reversed { high.clone() } else { low.clone() },
        };
        let at = level.position(&Index::Var(position));
        let coordinate = positions.coordinate(&at);
        // Where a padded level has no coordinate, it has its extent.
        let padding = i64::from(kind.kind.is_found());
        let extent = operand.extents[place.level].clone() + padding;
        // The place of a position, and the smallest and the largest one that there can be.
        let (of, least, most) = match reversed {
            false => {
                (coordinate - low.clone(), Index::Const(0) - low.clone(), extent - 1 - low.clone())
            }
            true => (high.clone() - coordinate, high.clone() + 1 - extent, high.clone()),
        };
        level.cursor.place = of;
        if role == SubscriptRole::Reduces {
            level.cursor.width = high.clone() - low.clone() + 1;
        }
        let window = place.window.as_ref().filter(|window| window.reversed == reversed);
        let first = window.map(|window| match reversed {
            false => window.near.clone() - low.clone(),
            true => high.clone() - window.near.clone(),
        });
        let starts = |lower: &Index, least: &Index| {
            self.facts.imply(&(lower.clone() * step).at_most(least.clone()))
        };
        let ends = |upper: &Index| {
            let last = upper.clone() * step - step;
            most.clone().less(last + level.cursor.width.clone())
        };
        let (above, below) = (
            range.lower.iter().all(|lower| {
                starts(lower, &least) || first.as_ref().is_some_and(|first| starts(lower, first))
            }),
            range.upper.iter().all(|upper| self.facts.imply(&ends(upper))),
        );
        level.cursor.above = above;
        level.cursor.below = below;
        Some(level)
    }

    /// How many values a subscript can have here.
    pub(super) fn width(&self, subscript: &Linear) -> Index {
        let open = subscript.terms().iter().filter(|(at, _)| !self.is_known(*at));
        open.fold(Index::Const(1), |width, (at, by)| {
            width + (self.kernel.iterators[*at].1.clone() - 1) * by.abs()
        })
    }

    /// The smallest and the largest value that a subscript without an iterator's part has here, and whether that
    /// iterator is the last that has no value.
    pub(super) fn reach(
        &self,
        subscript: &Linear,
        iterator: usize,
    ) -> (Index, Index, SubscriptRole) {
        let (mut low, mut high) = (subscript.constant.clone(), subscript.constant.clone());
        let mut role = SubscriptRole::Resolves;
        for (other, by) in subscript.terms().iter().filter(|(other, _)| *other != iterator) {
            let own = Linear::new([(*other, *by)], Index::Const(0));
            match self.value(&own) {
                Some(value) => {
                    low = low + value.clone();
                    high = high + value;
                }
                None => {
                    role = SubscriptRole::Reduces;
                    let most = (self.kernel.iterators[*other].1.clone() - 1) * *by;
                    match *by > 0 {
                        true => high = high + most,
                        false => low = low + most,
                    }
                }
            }
        }
        (low, high, role)
    }
}
