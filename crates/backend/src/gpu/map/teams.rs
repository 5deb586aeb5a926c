//! Sums whose terms several lanes of a block add up together.
//!
//! A team has a row: some neighbouring lanes for its columns, and for each part of the terms so many. Before -> after,
//! of `parallel i = 0 to M { parallel k = 0 to P { Y[P * i + k] = sum(p = pos[i] to pos[i + 1]) v[p] * X[P * crd[p] +
//! k] } }`, with 8 columns, 8 parts of the terms and 4 points for each lane:
//! ```text
//! parallel(blocks) b = .. { with part of 1024 {
//!   parallel(lanes) t = 0 to 256 { (row 4 * b + t / 64) { if pos[i + 1] - pos[i] <= 256 { unroll u = 0 to 4 {
//!     part[t + 256 * u] =
//!       sum(p = pos[i] + t / 8 % 8 to pos[i + 1] step 8) v[p] * X[P * crd[p] + t % 8 + 8 * u] } } } }
//!   parallel(lanes) t = 0 to 256 { if t / 8 % 8 < 1 { unroll u { part[t + 256 * u] += (those of the other parts) } } }
//!   parallel(lanes) t = 0 to 256 {
//!     if t / 8 % 8 < 1 { (row 4 * b + t / 64) { (.. Y[P * i + k] = part[t + 256 * u]) } } }
//!   for r = 0 to 4 { (row 4 * b + r) { if 256 < pos[i + 1] - pos[i] { (the same by all lanes of the block) } } }
//! } }
//! ```
//! The last loop is there only if a few rows are much longer than others, which [`super::longest`] finds out.

use dastac_loops::{BufferId, Element, For, Index, Stmt, Store, Sum, Value, VarId};

use super::mapper::{LANES, Mapper, WARP};
use super::sums::{integer, read, workspace, workspaces, zero};

/// Terms of a long row that a lane loads at the same time.
const AHEAD: i64 = 4;
/// So many rows at most are asked one after the other whether they are long.
const GROUP: i64 = 16;

/// The lanes that have a row.
#[derive(Clone, Copy)]
pub(super) struct Team {
    /// Neighbouring lanes, for its columns.
    pub across: i64,
    /// Parts of the terms of its sums.
    pub share: i64,
    /// Points of each lane.
    pub own: i64,
    /// Rows with more terms are the work of a whole block, if any are.
    pub most: Option<i64>,
}

impl Team {
    /// How many rows a block has.
    pub fn rows(self) -> i64 {
        LANES / (self.across * self.share)
    }

    fn row(self, lane: Index) -> Index {
        lane.floor_div(self.across * self.share)
    }

    fn column(self, lane: Index) -> Index {
        lane.modulo(self.across)
    }

    fn part(self, lane: Index) -> Index {
        lane.floor_div(self.across).modulo(self.share)
    }

    /// How many of so many parts of a sum are left after a step, and how many each of them was. The lanes of a warp
    /// wait for each other alone, so they have several small steps.
    fn joined(self, parts: i64) -> (i64, i64) {
        let by = match (self.across, parts) {
            (1, ..=WARP) => 2,
            (1, _) => 16,
            _ => parts.min(8),
        };
        (parts / by, by)
    }

    /// All lanes of a block for one row.
    fn whole(self) -> Team {
        Team { share: LANES / self.across, ..self }
    }
}

/// A store of a sum for each point.
pub(super) struct Row<'a> {
    pub store: &'a Store,
    pub sum: &'a Sum,
}

impl Row<'_> {
    fn terms(&self) -> Index {
        let (lower, upper) = self.sum.ends();
        upper - lower
    }
}

/// Statements of points.
pub(super) enum Points {
    /// They only load.
    Load(Vec<Stmt>),
    Store(Vec<Stmt>),
}

impl Points {
    pub fn stmts(self) -> Vec<Stmt> {
        match self {
            Points::Load(stmts) | Points::Store(stmts) => stmts,
        }
    }
}

/// The rows of a block, by their numbers.
pub(super) trait Rows {
    /// Statements for a row.
    fn row(&self, mapper: &mut Mapper<'_>, row: Index, body: Vec<Stmt>) -> Vec<Stmt>;

    /// Statements of the points of a lane in a row, of which `own` is the number: those of a column. If they store
    /// nothing, other points may stand for those that are not there.
    fn columns(
        &self,
        mapper: &mut Mapper<'_>,
        column: Index,
        own: VarId,
        body: Points,
    ) -> Vec<Stmt>;
}

/// The rows whose sums are computed.
#[derive(Clone, Copy)]
enum Which {
    /// One for each team.
    All,
    /// Those of them that have at most so many terms.
    Short(i64),
    /// The one that statements around stand for.
    Around,
}

/// What the lanes of a block do.
struct Work<'a> {
    row: &'a Row<'a>,
    rows: &'a dyn Rows,
    /// The terms of each lane.
    part: BufferId,
    neutral: f64,
}

impl Work<'_> {
    /// The place of the lane's own sum of a number.
    fn place(&self, lane: &Index, own: VarId) -> Index {
        lane.clone() + Index::Var(own) * LANES
    }
}

impl Mapper<'_> {
    /// What the lanes of a block do for its rows.
    pub fn teams(&mut self, team: Team, row: &Row<'_>, rows: &dyn Rows) -> Vec<Stmt> {
        let element = self.module.buffers[row.store.buffer.0 as usize].element;
        let element = self.module.computed_in(&row.store.value, element);
        let part = self.shared("part", element, LANES * team.own);
        let work = Work { row, rows, part, neutral: row.sum.kind.neutral_in(element) };
        let body = match team.most.filter(|_| team.rows() > 1) {
            Some(most) => self.with_long_rows(team, &work, most),
            None => self.together(team, &work, Which::All),
        };
        vec![workspace(part, LANES * team.own, body)]
    }

    fn with_long_rows(&mut self, team: Team, work: &Work<'_>, most: i64) -> Vec<Stmt> {
        let mut body = self.together(team, work, Which::Short(most));
        let most = Index::Const(most);
        let number = self.function.fresh_var("r");
        let inside = self.together(team.whole(), work, Which::Around);
        let inside = vec![Stmt::when(most.clone().less(work.row.terms()), inside)];
        let inside = work.rows.row(self, Index::Var(number), inside);
        if team.rows() <= GROUP {
            let rows = Index::Const(team.rows());
            body.push(Stmt::for_range(number, zero(), rows, inside));
            return body;
        }
        // Each lane asks for a row first.
        let groups = team.rows() / GROUP;
        let asked = self.shared("asked", Element::I64, team.rows());
        let found = self.shared("found", Element::I64, groups);
        body.push(self.lanes("t", team.rows(), |mapper, lane| {
            let set = vec![Stmt::set(asked, lane.clone(), integer(1))];
            let set = vec![Stmt::when(most.less(work.row.terms()), set)];
            let row = work.rows.row(mapper, lane.clone(), set);
            [vec![Stmt::set(asked, lane, integer(0))], row].concat()
        }));
        body.push(self.lanes("t", groups, |mapper, lane| {
            let x = mapper.function.fresh_var("x");
            let begin = lane.clone() * GROUP;
            let all = Value::load(asked, Index::Var(x));
            let sum = Value::sum(x, begin.clone(), begin + GROUP, all);
            vec![Stmt::set(found, lane, sum)]
        }));
        let [first, any] = ["r", "any"].map(|name| self.function.fresh_var(name));
        let begin = Index::Var(first) * GROUP;
        let each = Stmt::for_range(number, begin.clone(), begin + GROUP, inside);
        let some = vec![Stmt::when(zero().less(Index::Var(any)), vec![each])];
        let some = vec![read(any, found, Index::Var(first), some)];
        body.push(Stmt::for_range(first, zero(), Index::Const(groups), some));
        workspaces([(asked, team.rows()), (found, groups)], body)
    }

    /// The sums of the rows of teams.
    fn together(&mut self, team: Team, work: &Work<'_>, which: Which) -> Vec<Stmt> {
        let points = |mapper: &mut Self, lane: &Index, own, body| {
            let points = work.rows.columns(mapper, team.column(lane.clone()), own, body);
            let row = team.row(lane.clone());
            match which {
                Which::All => work.rows.row(mapper, row, points),
                Which::Short(most) => {
                    let short = work.row.terms().at_most(Index::Const(most));
                    work.rows.row(mapper, row, vec![Stmt::when(short, points)])
                }
                Which::Around => points,
            }
        };
        let (row, part) = (work.row, work.part);
        let mut body = vec![self.lanes("t", LANES, |mapper, lane| {
            let [all, own] = ["u", "u"].map(|name| mapper.function.fresh_var(name));
            let none = Value::constant(work.neutral);
            let none = unrolled(all, team.own, Stmt::set(part, work.place(&lane, all), none));
            let mut sum = row.sum.clone();
            sum.lower = vec![sum.ends().0 + team.part(lane.clone())];
            sum.step = team.share;
            if matches!(which, Which::Around) {
                sum.unroll = Some(AHEAD);
            }
            let sum = Stmt::set(part, work.place(&lane, own), Value::Sum(Box::new(sum)));
            let sums = points(mapper, &lane, own, Points::Load(vec![sum]));
            [vec![none], sums].concat()
        })];
        let mut parts = team.share;
        while parts > 1 {
            let (left, by) = team.joined(parts);
            body.push(self.lanes("t", LANES, |mapper, lane| {
                let [own, var] = ["u", "x"].map(|name| mapper.function.fresh_var(name));
                let index = work.place(&lane, own);
                let apart = left * team.across;
                let value = match by {
                    2 => Value::load(part, index.clone() + apart),
                    _ => Value::Sum(Box::new(Sum {
                        var,
                        lower: vec![Index::Const(1)],
                        upper: vec![Index::Const(by)],
                        step: 1,
                        condition: None,
                        body: Value::load(part, index.clone() + Index::Var(var) * apart),
                        ..row.sum.clone()
                    })),
                };
                let (mode, stream) = (row.sum.kind.mode(), None);
                let joined = Stmt::Store(Store { buffer: part, index, value, mode, stream });
                let joined = vec![unrolled(own, team.own, joined)];
                vec![Stmt::when(team.part(lane).less(Index::Const(left)), joined)]
            }));
            parts = left;
        }
        body.push(self.lanes("t", LANES, |mapper, lane| {
            let own = mapper.function.fresh_var("u");
            let total = Value::load(part, work.place(&lane, own));
            let value = row.store.value.map_sums(&|_| total.clone());
            let last = Stmt::Store(Store { value, ..row.store.clone() });
            let stored = points(mapper, &lane, own, Points::Store(vec![last]));
            match team.share {
                1 => stored,
                _ => vec![Stmt::when(team.part(lane).less(Index::Const(1)), stored)],
            }
        }));
        body
    }
}

fn unrolled(var: VarId, count: i64, body: Stmt) -> Stmt {
    Stmt::For(For::new(var, zero(), Index::Const(count), vec![body]).unrolled())
}
