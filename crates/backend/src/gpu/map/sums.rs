//! Memory that the lanes of a block share, and in it sums of a number of each lane.

use dastac_loops::{BufferId, Element, Index, Let, Space, Stmt, Value, VarId, Workspace};

use super::mapper::Mapper;

/// Lanes whose numbers are added up together: as many as there are such groups of a block.
const GROUP: i64 = 16;

/// Shared memory in which the lanes of a block add up a number of each.
pub(super) struct Sums {
    pub lanes: i64,
    /// The numbers.
    pub counts: BufferId,
    /// What is before each of them.
    pub before: BufferId,
    groups: BufferId,
    /// What all are together.
    pub sum: BufferId,
}

impl Sums {
    /// Statements with the memory around them.
    pub fn around(&self, body: Vec<Stmt>) -> Vec<Stmt> {
        let Sums { lanes, counts, before, groups, sum } = *self;
        let all = [(counts, lanes), (before, lanes), (groups, lanes / GROUP), (sum, 1)];
        workspaces(all, body)
    }
}

impl Mapper<'_> {
    /// A buffer that the lanes of a block share.
    pub fn shared(&mut self, name: &str, element: Element, size: i64) -> BufferId {
        let buffer = self.module.fresh_buffer(name, element, Index::Const(size));
        self.module.buffers[buffer.0 as usize].space = Space::Shared;
        buffer
    }

    pub fn sums(&mut self, lanes: i64) -> Sums {
        let mut fresh = |name, size| self.shared(name, Element::I64, size);
        let [counts, before] = ["counts", "before"].map(|name| fresh(name, lanes));
        let (groups, sum) = (fresh("groups", lanes / GROUP), fresh("sum", 1));
        Sums { lanes, counts, before, groups, sum }
    }

    /// What is before each lane's number, and what all are together.
    pub fn add_up(&mut self, sums: &Sums) -> Vec<Stmt> {
        let Sums { lanes, counts, before, groups, sum } = *sums;
        let number = |mapper: &mut Self, from: BufferId, begin: Index, end: Index| {
            let x = mapper.function.fresh_var("x");
            Value::sum(x, begin, end, Value::load(from, Index::Var(x)))
        };
        let of_groups = self.lanes("t", lanes / GROUP, |mapper, lane| {
            let begin = lane.clone() * GROUP;
            let sum = number(mapper, counts, begin.clone(), begin + GROUP);
            vec![Stmt::set(groups, lane, sum)]
        });
        let of_lanes = self.lanes("t", lanes, |mapper, lane| {
            let group = lane.clone().floor_div(GROUP);
            let earlier = number(mapper, groups, zero(), group.clone());
            let same = number(mapper, counts, group * GROUP, lane.clone());
            let all = Value::load(before, lane.clone()) + Value::load(counts, lane.clone());
            let all = vec![Stmt::set(sum, zero(), all)];
            vec![
                Stmt::set(before, lane.clone(), earlier + same),
                Stmt::when(Index::Const(lanes - 1).at_most(lane), all),
            ]
        });
        vec![of_groups, of_lanes]
    }
}

pub(super) fn integer(value: impl Into<Index>) -> Value {
    Value::FromIndex(value.into())
}

pub(super) fn zero() -> Index {
    Index::Const(0)
}

/// `let var = buffer[index] { body }`.
pub(super) fn read(var: VarId, buffer: BufferId, index: Index, body: Vec<Stmt>) -> Stmt {
    Stmt::Let(Let { var, buffer, index, body })
}

/// Statements with memory of a size around them.
pub(super) fn workspace(buffer: BufferId, size: impl Into<Index>, body: Vec<Stmt>) -> Stmt {
    let size = size.into();
    Stmt::Workspace(Workspace { buffer, size, zero: false, instead: None, body })
}

/// Statements with several memories around them.
pub(super) fn workspaces(
    all: impl IntoIterator<Item = (BufferId, i64)>,
    body: Vec<Stmt>,
) -> Vec<Stmt> {
    all.into_iter().fold(body, |body, (buffer, size)| vec![workspace(buffer, size, body)])
}
