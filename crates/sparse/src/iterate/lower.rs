//! Walks over coordinates ([`CoIter`]) as loops that back ends take.
//!
//! The points of the merge lattice are the unions of its cases' cursors. Each is one loop that goes on while all of its cursors have positions left,
//! larger points first: when a cursor has no position left, what follows are the points without it (sparse convolutions, section 5.1).
//!
//! Before -> after, of `coiter i = 0 to N over p = a to b at B[p] within, q = c to d at C[q] within { case p, q { s } case p { t } }`:
//! ```text
//! while p = a, q = c if p < b and q < d {
//!   if B[p] == C[q] { s } else { if B[p] <= C[q] { t } }
//! } then select(B[p] <= C[q], p + 1, p), select(C[q] <= B[p], q + 1, q) after {
//!   for p = p to b { t }
//! }
//! ```
//! A point of one cursor is a counted loop. Positions whose coordinates are in doubt are passed over before, and end the walk behind its range.
//!
//! Conditions of loops load nothing, since all parts of a condition are evaluated: a position at the end of its level has no coordinate.

use std::collections::{BTreeMap, BTreeSet};

use dastac_loops::{
    Case, CoIter, Condition, Cursor, For, Function, If, Index, Mark, Module, Stmt, VarId, While,
};

/// Lowers all walks of a module.
pub fn lower(module: &mut Module) {
    for function in &mut module.functions {
        let body = std::mem::take(&mut function.body);
        function.body = block(function, body);
    }
}

fn block(function: &mut Function, body: Vec<Stmt>) -> Vec<Stmt> {
    body.into_iter().flat_map(|stmt| statement(function, stmt)).collect()
}

fn statement(function: &mut Function, mut stmt: Stmt) -> Vec<Stmt> {
    for body in stmt.bodies_mut() {
        *body = block(function, std::mem::take(body));
    }
    if let Stmt::CoIter(inner) = &stmt {
        return Walk::new(function, inner).lowered();
    }
    vec![stmt]
}

/// Where a walk is: what stands for each cursor's position, and for the coordinate where it is counted.
#[derive(Clone)]
struct Place {
    positions: BTreeMap<usize, Index>,
    coordinate: Option<Index>,
}

struct Walk<'a> {
    function: &'a mut Function,
    coiter: &'a CoIter,
    /// Whether all coordinates of the range are visited.
    all: bool,
    /// Points of the lattice, larger ones first; the one without cursors is not among them.
    points: Vec<BTreeSet<usize>>,
}

impl<'a> Walk<'a> {
    fn new(function: &'a mut Function, coiter: &'a CoIter) -> Self {
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
        Walk { function, coiter, all, points }
    }

    fn lowered(mut self) -> Vec<Stmt> {
        let used: BTreeSet<usize> = self.points.iter().flatten().copied().collect();
        let positions =
            used.iter().map(|cursor| (*cursor, self.coiter.cursors[*cursor].start.clone()));
        let place = Place {
            positions: positions.collect(),
            coordinate: self.all.then(|| self.coiter.lower.clone()),
        };
        let doubtful: Vec<usize> =
            used.into_iter().filter(|cursor| !self.coiter.cursors[*cursor].within).collect();
        self.passed_over(&doubtful, place)
    }

    fn fresh(&mut self, like: VarId) -> VarId {
        let name = self.function.vars.get(like.0 as usize).cloned().unwrap_or_default();
        self.function.fresh_var(name)
    }

    fn cursor(&self, at: usize) -> &'a Cursor {
        &self.coiter.cursors[at]
    }

    /// The walk, after positions before its range are passed over.
    fn passed_over(&mut self, doubtful: &[usize], mut place: Place) -> Vec<Stmt> {
        let Some((first, rest)) = doubtful.split_first() else { return self.points(0, place) };
        let cursor = self.cursor(*first);
        let (position, more) = (self.fresh(cursor.position), self.fresh(cursor.position));
        let (at, going) = (Index::Var(position), Index::Var(more));
        let before = || cursor.at(&at).less(self.coiter.lower.clone());
        let next = vec![
            select(before(), at.clone() + 1, at.clone()),
            select(before(), Index::Const(1), Index::Const(0)),
        ];
        let start = place.positions.insert(*first, at.clone());
        let vars = vec![(position, start.unwrap_or(Index::Const(0))), (more, Index::Const(1))];
        let condition =
            Condition::all(vec![at.less(cursor.end.clone()), Index::Const(1).at_most(going)]);
        let after = self.passed_over(rest, place);
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
            let mut loops = vec![self.counted(*only, &place)];
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

    /// One step of a point's loop, and where its variables are afterwards.
    fn step(&self, point: &BTreeSet<usize>, here: &Place) -> (Vec<Stmt>, Vec<Index>) {
        let at = |cursor: usize| self.cursor(cursor).at(&here.positions[&cursor]);
        let nearest = || point.iter().map(|cursor| at(*cursor)).reduce(Index::min);
        let coordinate = here.coordinate.clone().or_else(nearest).unwrap_or(Index::Const(0));
        let counted = here.coordinate.is_some();
        let mut body: Vec<Stmt> = Vec::new();
        let cases = self.coiter.cases.iter();
        let cases: Vec<&Case> =
            cases.filter(|case| case.cursors.iter().all(|cursor| point.contains(cursor))).collect();
        for case in cases.into_iter().rev() {
            let whole = case.cursors.len() == point.len();
            // Of several equal coordinates one is the smallest.
            let equal: Vec<Condition> = match (whole && !counted, &case.cursors[..]) {
                (true, [first, others @ ..]) => {
                    others.iter().map(|other| at(*first).equal(at(*other))).collect()
                }
                (_, all) => all.iter().map(|one| at(*one).equal(coordinate.clone())).collect(),
            };
            let value = case.cursors.first().filter(|_| !counted).map(|first| at(*first));
            let value = value.unwrap_or_else(|| coordinate.clone());
            let then = self.at_place(&case.body, here, &value);
            body = match equal.is_empty() {
                true => then,
                false => {
                    let condition = Condition::all(equal);
                    vec![Stmt::If(If { condition, then, otherwise: body })]
                }
            };
        }
        let doubtful = point.iter().any(|cursor| !self.cursor(*cursor).within);
        let inside = coordinate.clone().less(self.coiter.upper.clone());
        if doubtful && !counted {
            body = vec![Stmt::when(inside.clone(), body)];
        }
        let mut next: Vec<Index> = point
            .iter()
            .map(|cursor| {
                let position = here.positions[cursor].clone();
                let passed = at(*cursor).at_most(coordinate.clone());
                let next = select(passed, position.clone() + 1, position);
                match self.cursor(*cursor).within || counted {
                    true => next,
                    // Nothing behind the range is looked for.
                    false => select(inside.clone(), next, self.cursor(*cursor).end.clone()),
                }
            })
            .collect();
        next.extend(here.coordinate.clone().map(|coordinate| coordinate + 1));
        (body, next)
    }

    /// A point of one cursor that no later point has, in a walk that does not visit all coordinates.
    fn counted(&mut self, only: usize, place: &Place) -> Stmt {
        let cursor = self.cursor(only);
        let position = self.fresh(cursor.position);
        let here =
            Place { positions: BTreeMap::from([(only, Index::Var(position))]), coordinate: None };
        let coordinate = cursor.at(&Index::Var(position));
        let alone = |case: &&Case| case.cursors == [only];
        let body = self.coiter.cases.iter().find(alone).map(|case| &case.body[..]);
        let mut body = self.at_place(body.unwrap_or_default(), &here, &coordinate);
        let (start, end) = (place.positions[&only].clone(), cursor.end.clone());
        if cursor.within {
            return Stmt::For(For::new(position, start, end, body));
        }
        let inside = coordinate.less(self.coiter.upper.clone());
        let next = select(inside.clone(), Index::Var(position) + 1, end.clone());
        body = vec![Stmt::when(inside, body)];
        Stmt::While(While {
            vars: vec![(position, start)],
            condition: Index::Var(position).less(end),
            body,
            next: vec![next],
            after: Vec::new(),
        })
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
