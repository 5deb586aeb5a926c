//! Walks over coordinates ([`CoIter`]) as loops that back ends take.
//!
//! The points of the merge lattice are the unions of its cases' cursors. Each is one loop that goes on while all of its
//! cursors have positions left, larger points first: when a cursor has no position left, what follows are the points
//! without it (sparse convolutions, section 5.1).
//!
//! Before -> after, of `coiter i = 0 to N over p = a to b at B[p] within, q = c to d at C[q] within { case p, q { s }
//! case p { t } }`:
//! ```text
//! while p = a, q = c if p < b and q < d {
//!   if B[p] == C[q] { s } else { if B[p] <= C[q] { t } }
//! } then select(B[p] <= C[q], p + 1, p), select(C[q] <= B[q], q + 1, q) after {
//!   for p = p to b { t }
//! }
//! ```
//! A point of one cursor is a counted loop; of a cursor with windows, for each position a loop over the windows in
//! which it is the first: `while p = a, i = 0 if p < b and i < N { for x = max(B[p] - w + 1, i) to min(B[p] + 1, N) { s
//! } } then p + 1, max(i, B[p] + 1)`. Several cursors with windows need the first coordinate that is not visited yet:
//! cursor `p` with window `w` is next at the larger of that and the first coordinate whose window ends behind `p`
//! (section 5.2.2). A position that lies before the next window, in a gap between windows or a repeated place, is
//! *stale*: a step passes over it and does nothing else.
//!
//! Where positions may be before the range, the first that is not is searched for; positions that may be behind it end
//! the walk.
//!
//! A position at the end of its level has no coordinate: conditions of loops ask for that first.

use std::collections::{BTreeMap, BTreeSet};

use super::skewed::{self, Searches};
use dastac_loops::passes::{Example, Pass, Sequence};
use dastac_loops::{
    Case, CoIter, Condition, Cursor, For, Function, If, Index, Mark, Module, Stmt, VarId, While,
};

/// New variables of loops, with those of the walks, coordinates and positions, that they stand for.
pub type Renamed = BTreeMap<VarId, VarId>;

/// The passes of this crate.
pub const PASSES: &[Pass] = &[Pass {
    name: "lower-coiter",
    about: "turn walks over coordinates that several levels have into loops",
    example: Example {
        before: "coiter i = 0 to N over p = a to b at crd[p] within { case p { A[i] += B[p] } }",
        after: "for p = a to b { let i = crd[p] { A[i] += B[p] } }",
    },
    run: |module, _| {
        lower(module);
    },
}];

/// The loops that targets take: no walks over coordinates.
pub const LOWER: Sequence = Sequence { name: "lower", passes: &["lower-coiter"] };

/// Lowers all walks of a module. Gives the new variables of each function.
pub fn lower(module: &mut Module) -> Vec<Renamed> {
    let functions = module.functions.iter_mut();
    let lowered = functions.map(|function| {
        let body = std::mem::take(&mut function.body);
        let mut renamed = Renamed::new();
        function.body = block((function, &mut renamed), body);
        renamed
    });
    lowered.collect()
}

fn block((function, renamed): (&mut Function, &mut Renamed), body: Vec<Stmt>) -> Vec<Stmt> {
    let lowered = body.into_iter().flat_map(|stmt| statement((function, renamed), stmt));
    lowered.collect()
}

fn statement((function, renamed): (&mut Function, &mut Renamed), mut stmt: Stmt) -> Vec<Stmt> {
    for body in stmt.bodies_mut() {
        *body = block((function, renamed), std::mem::take(body));
    }
    if let Stmt::CoIter(inner) = &stmt {
        let mut names = Vec::new();
        let mut fresh = |like: VarId| {
            let var = function.fresh_like(like, "");
            names.push((var, like));
            var
        };
        return match skewed::searches(inner, &mut fresh) {
            Some(Searches { condition, walk }) => {
                renamed.extend(names);
                let then = Lowering::new((function, renamed), &walk).lowered();
                let otherwise = Lowering::new((function, renamed), inner).lowered();
                vec![Stmt::If(If { condition, then, otherwise })]
            }
            None => Lowering::new((function, renamed), inner).lowered(),
        };
    }
    vec![stmt]
}

/// Where a walk is: what stands for each cursor's position, and for the first coordinate that was not visited, where it
/// is counted.
#[derive(Clone)]
struct Place {
    positions: BTreeMap<usize, Index>,
    coordinate: Option<Index>,
}

struct Lowering<'a> {
    function: &'a mut Function,
    renamed: &'a mut Renamed,
    coiter: &'a CoIter,
    /// Whether all coordinates of the range are visited.
    all: bool,
    /// Points of the lattice, larger ones first; the one without cursors is not among them.
    points: Vec<BTreeSet<usize>>,
}

/// Whether a cursor's coordinates follow from its positions alone.
fn is_plain(cursor: &Cursor) -> bool {
    cursor.width == Index::Const(1) && !cursor.repeats
}

/// Whether there may be positions that are in no window, or in one that was visited.
fn may_be_stale(cursor: &Cursor) -> bool {
    cursor.step != 1 || cursor.repeats
}

impl<'a> Lowering<'a> {
    fn new((function, renamed): (&'a mut Function, &'a mut Renamed), coiter: &'a CoIter) -> Self {
        let sets: BTreeSet<BTreeSet<usize>> =
            coiter.cases.iter().map(|case| case.cursors.iter().copied().collect()).collect();
        let all = sets.contains(&BTreeSet::new());
        let mut points: BTreeSet<BTreeSet<usize>> = BTreeSet::new();
        for set in sets {
            let unions: Vec<_> = points.iter().map(|point| point | &set).collect();
            points.extend(unions);
            points.insert(set);
        }
        points.remove(&BTreeSet::new());
        let mut points: Vec<_> = points.into_iter().collect();
        points.sort_by_key(|point| std::cmp::Reverse(point.len()));
        Lowering { function, renamed, coiter, all, points }
    }

    fn lowered(mut self) -> Vec<Stmt> {
        let used: BTreeSet<usize> = self.points.iter().flatten().copied().collect();
        let positions = used.iter().map(|at| (*at, self.start(*at))).collect();
        let counted = self.all || used.iter().any(|cursor| !is_plain(self.cursor(*cursor)));
        let place = Place { positions, coordinate: counted.then(|| self.coiter.lower.clone()) };
        let doubtful: Vec<usize> =
            used.into_iter().filter(|cursor| !self.coiter.cursors[*cursor].above).collect();
        self.searched(&doubtful, place)
    }

    /// Where a cursor starts: at its end if its windows have no places.
    fn start(&self, at: usize) -> Index {
        let Cursor { start, end, width, .. } = self.cursor(at);
        select(width.clone().at_most(Index::Const(0)), end.clone(), start.clone())
    }

    fn fresh(&mut self, like: VarId) -> VarId {
        let var = self.function.fresh_like(like, "");
        self.renamed.insert(var, like);
        var
    }

    fn cursor(&self, at: usize) -> &'a Cursor {
        &self.coiter.cursors[at]
    }

    /// The walk, each of some cursors begun at the first position that is not before the range.
    fn searched(&mut self, doubtful: &[usize], mut place: Place) -> Vec<Stmt> {
        let Some((first, rest)) = doubtful.split_first() else { return self.points(0, place) };
        let cursor = self.cursor(*first);
        let (low, high) = (self.fresh(cursor.position), self.fresh(cursor.position));
        let middle = (Index::Var(low) + Index::Var(high)).floor_div(2);
        let before = || cursor.at(&middle).less(self.coiter.lower.clone() * cursor.step);
        let next = vec![
            select(before(), middle.clone() + 1, Index::Var(low)),
            select(before(), Index::Var(high), middle.clone()),
        ];
        let start = place.positions.insert(*first, Index::Var(low));
        let vars = vec![(low, start.unwrap_or(Index::Const(0))), (high, cursor.end.clone())];
        let condition = Index::Var(low).less(Index::Var(high));
        let after = self.searched(rest, place);
        vec![Stmt::While(While { vars, condition, body: Vec::new(), next, after })]
    }

    /// The loops of the points from the `nth` on.
    fn points(&mut self, nth: usize, place: Place) -> Vec<Stmt> {
        let Some(point) = self.points.get(nth).cloned() else { return self.without_cursors(place) };
        let mut members = point.iter();
        if let (Some(only), None) = (members.next(), members.next())
            && !self.all
            && !self.points[nth + 1..].iter().any(|later| later.contains(only))
        {
            let mut loops = vec![match is_plain(self.cursor(*only)) {
                true => self.counted(*only, &place),
                false => self.windows(*only, &place),
            }];
            loops.extend(self.points(nth + 1, place));
            return loops;
        }
        // Cursors of the point, and those of later points that it does not have: these keep their places.
        let mut here = place.clone();
        let mut vars = Vec::new();
        for cursor in &point {
            let position = self.fresh(self.cursor(*cursor).position);
            let start = here.positions.insert(*cursor, Index::Var(position));
            vars.push((position, start.unwrap_or(Index::Const(0))));
        }
        let mut tests: Vec<Condition> = point
            .iter()
            .map(|cursor| here.positions[cursor].clone().less(self.cursor(*cursor).end.clone()))
            .collect();
        if let Some(start) = &place.coordinate {
            let coordinate = self.fresh(self.coiter.var);
            vars.push((coordinate, start.clone()));
            here.coordinate = Some(Index::Var(coordinate));
            tests.push(Index::Var(coordinate).less(self.coiter.upper.clone()));
        }
        let (body, next) = self.step(&point, &here);
        let after = self.points(nth + 1, here);
        vec![Stmt::While(While { vars, condition: Condition::all(tests), body, next, after })]
    }

    /// The first coordinate where a cursor may be.
    fn nearest(&self, at: usize, here: &Place) -> Index {
        let cursor = self.cursor(at);
        let place = cursor.at(&here.positions[&at]);
        let reached = match (cursor.step, &cursor.width) {
            (1, Index::Const(1)) => place,
            (step, width) => (place - width.clone()).floor_div(step) + 1,
        };
        match &here.coordinate {
            Some(first) if !is_plain(cursor) => reached.max(first.clone()),
            _ => reached,
        }
    }

    /// That a cursor's position is before its next window, if it may be.
    fn stale(&self, at: usize, here: &Place) -> Option<Condition> {
        let cursor = self.cursor(at);
        let window = || self.nearest(at, here) * cursor.step;
        may_be_stale(cursor).then(|| cursor.at(&here.positions[&at]).less(window()))
    }

    /// One step of a point's loop, and where its variables are afterwards.
    fn step(&mut self, point: &BTreeSet<usize>, here: &Place) -> (Vec<Stmt>, Vec<Index>) {
        let nearest = || point.iter().map(|cursor| self.nearest(*cursor, here)).reduce(Index::min);
        let every = here.coordinate.clone().filter(|_| self.all);
        let coordinate = every.or_else(nearest).unwrap_or(Index::Const(0));
        let stale = point.iter().filter_map(|cursor| self.stale(*cursor, here));
        let stale = Condition::any(stale);
        let behind = match point.iter().all(|cursor| self.cursor(*cursor).below) || self.all {
            true => Condition::any([]),
            false => self.coiter.upper.clone().at_most(coordinate.clone()),
        };
        let body = self.visited(point, here, &coordinate);
        let idle = stale.clone().or(behind.clone());
        let body = match idle.as_bool() {
            Some(false) => body,
            _ => vec![Stmt::when(idle.negate(), body)],
        };
        let mut next = Vec::new();
        for at in point {
            let cursor = self.cursor(*at);
            let position = here.positions[at].clone();
            let past = match cursor.step {
                1 => cursor.at(&position).at_most(coordinate.clone()),
                step => cursor.at(&position).less(coordinate.clone() * step + step),
            };
            let passed = select(past, position.clone() + 1, position.clone());
            // Nothing behind the range is looked for.
            let passed = match here.coordinate {
                Some(_) => passed,
                None => select(behind.clone(), cursor.end.clone(), passed),
            };
            let own = self.stale(*at, here).unwrap_or_else(|| Condition::any([]));
            let kept = select(own, position.clone() + 1, position);
            next.push(select(stale.clone(), kept, passed));
        }
        if let Some(first) = &here.coordinate {
            next.push(select(stale, first.clone(), coordinate + 1));
        }
        (body, next)
    }

    /// What is done at a coordinate, given that no position is stale.
    fn visited(&mut self, point: &BTreeSet<usize>, here: &Place, coordinate: &Index) -> Vec<Stmt> {
        let windows = point.iter().any(|cursor| !is_plain(self.cursor(*cursor)));
        let bound = (windows && !self.all).then(|| self.fresh(self.coiter.var));
        let value = bound.map_or_else(|| coordinate.clone(), Index::Var);
        let counted = self.all || windows;
        let at = |cursor: usize| self.nearest(cursor, here);
        let mut body: Vec<Stmt> = Vec::new();
        let cases = self.coiter.cases.iter();
        let cases: Vec<&Case> =
            cases.filter(|case| case.cursors.iter().all(|cursor| point.contains(cursor))).collect();
        for case in cases.into_iter().rev() {
            let whole = case.cursors.len() == point.len();
            // Of several equal coordinates one is the smallest.
            let equal: Vec<Condition> = match (whole && !self.all, &case.cursors[..]) {
                (true, [first, others @ ..]) => {
                    others.iter().map(|other| at(*first).equal(at(*other))).collect()
                }
                (_, all) => all.iter().map(|one| at(*one).equal(value.clone())).collect(),
            };
            let plain = case.cursors.first().filter(|_| !counted).map(|first| at(*first));
            let value = plain.unwrap_or_else(|| value.clone());
            let then = self.at_place(&case.body, here, &value);
            body = match equal.is_empty() {
                true => then,
                false => {
                    let condition = Condition::all(equal);
                    vec![Stmt::If(If { condition, then, otherwise: body })]
                }
            };
        }
        match bound {
            Some(var) => vec![bind(var, coordinate.clone(), body)],
            None => body,
        }
    }

    /// A point of one cursor that no later point has, in a walk that does not visit all coordinates.
    fn counted(&mut self, only: usize, place: &Place) -> Stmt {
        let cursor = self.cursor(only);
        let position = self.fresh(cursor.position);
        let here =
            Place { positions: BTreeMap::from([(only, Index::Var(position))]), coordinate: None };
        let coordinate = self.nearest(only, &here);
        let mut body = self.at_place(self.alone(only), &here, &coordinate);
        if let Some(stale) = self.stale(only, &here) {
            body = vec![Stmt::when(stale.negate(), body)];
        }
        let (start, end) = (place.positions[&only].clone(), cursor.end.clone());
        if cursor.below {
            return Stmt::For(For::new(position, start, end, body));
        }
        let inside = coordinate.less(self.coiter.upper.clone());
        Stmt::While(While {
            vars: vec![(position, start)],
            condition: Index::Var(position).less(end).and(inside),
            body,
            next: vec![Index::Var(position) + 1],
            after: Vec::new(),
        })
    }

    /// A point of one cursor with windows, in a walk that does not visit all coordinates: each position, and the
    /// windows in which it is the first. So nothing that is loaded decides about the next position.
    fn windows(&mut self, only: usize, place: &Place) -> Stmt {
        let cursor = self.cursor(only);
        let [first, coordinate] = [(); 2].map(|()| self.fresh(self.coiter.var));
        let (position, begin) = (self.fresh(cursor.position), place.coordinate.clone());
        let here = Place {
            positions: BTreeMap::from([(only, Index::Var(position))]),
            coordinate: Some(Index::Var(first)),
        };
        let behind = cursor.at(&Index::Var(position)).floor_div(cursor.step) + 1;
        let (lower, upper) = (self.nearest(only, &here), self.coiter.upper.clone());
        let body = self.at_place(self.alone(only), &here, &Index::Var(coordinate));
        let visited = Stmt::For(For {
            var: coordinate,
            lower: vec![lower],
            upper: vec![behind.clone(), upper.clone()],
            step: 1,
            mark: Mark::Sequential,
            body,
        });
        let left = Index::Var(position).less(cursor.end.clone());
        let begin = begin.unwrap_or_else(|| self.coiter.lower.clone());
        Stmt::While(While {
            vars: vec![(position, place.positions[&only].clone()), (first, begin)],
            condition: left.and(Index::Var(first).less(upper)),
            body: vec![visited],
            next: vec![Index::Var(position) + 1, Index::Var(first).max(behind)],
            after: Vec::new(),
        })
    }

    /// What is done where there is one cursor.
    fn alone(&self, only: usize) -> &'a [Stmt] {
        let case = self.coiter.cases.iter().find(|case| case.cursors == [only]);
        case.map_or(&[], |case| &case.body)
    }

    /// What is left of the range when no cursor has positions.
    fn without_cursors(&mut self, place: Place) -> Vec<Stmt> {
        let Some(start) = place.coordinate.clone() else { return Vec::new() };
        let Some(case) = self.coiter.cases.iter().find(|case| case.cursors.is_empty()) else {
            return Vec::new();
        };
        let var = self.fresh(self.coiter.var);
        let body = self.at_place(&case.body, &place, &Index::Var(var));
        let (lower, upper) = (vec![start], vec![self.coiter.upper.clone()]);
        let mark = Mark::Sequential;
        vec![Stmt::For(For { var, lower, upper, step: 1, mark, body })]
    }

    /// The statements of a case at a place.
    fn at_place(&self, body: &[Stmt], place: &Place, coordinate: &Index) -> Vec<Stmt> {
        let leaf = |leaf: &Index| match leaf {
            Index::Var(var) if *var == self.coiter.var => coordinate.clone(),
            Index::Var(var) => {
                let of = |(cursor, _): &(&usize, &Index)| self.cursor(**cursor).position == *var;
                let known = place.positions.iter().find(of);
                known.map_or_else(|| leaf.clone(), |(_, index)| index.clone())
            }
            leaf => leaf.clone(),
        };
        body.iter().map(|stmt| stmt.rebuild(&leaf)).collect()
    }
}

fn select(condition: Condition, then: Index, otherwise: Index) -> Index {
    Index::select(condition, then, otherwise)
}

/// Statements with a variable for an expression that would else stand in many places.
fn bind(var: VarId, value: Index, body: Vec<Stmt>) -> Stmt {
    let end = value.clone() + 1;
    Stmt::For(For::new(var, value, end, body))
}
