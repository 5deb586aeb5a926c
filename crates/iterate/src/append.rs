//! Elements of a result, appended in the order of its levels.
//!
//! For each position of the dense levels in front there is a workspace of counters: how many positions each compressed
//! level has so far, and whether something is at the current coordinate. Before -> after, of
//! `C(i, j) := A(i, k) * B(k, j)` in rows, `B` in columns:
//! ```text
//! parallel i { parallel j { mark j { coiter k { .. { W[0] += v } } } } }
//! ```
//! counts as
//! ```text
//! parallel i { with at of 2 { at[0] = 0
//!   for j { at[1] = 0  coiter k { .. { at[1] = 1 } }  at[0] += at[1] }
//!   starts[i + 1] = at[0]
//! } }
//! ```
//! and fills as
//! ```text
//! parallel i { with at of 2 { at[0] = starts[i]
//!   for j { at[1] = 0  W[0] = 0.0  coiter k { .. { at[1] = 1  W[0] += v } }
//!     if at[1] > 0 { crd[at[0]] = j  val[at[0]] = W[0]  at[0] += 1 }
//!   }
//! } }
//! ```
//! A loop that surely comes to a point in each iteration says so outside, where its range is not empty.
//!
//! Positions of inner levels are stored as lengths first, and added up at the end: dense levels between compressed ones
//! need not be visited everywhere.

use std::collections::BTreeMap;

use dastac_loops::linear::range_conditions;
use dastac_loops::{
    BufferId, Condition, Element, For, Function, Index, Let, Mark, Module, Stmt, Value, VarId,
    Workspace,
};

use super::kernel::{Kernel, Operand};
use dastac_formats::level::Role;

/// What is to be assembled.
pub(super) struct Appending {
    result: Operand,
    /// The first compressed level: those before are dense.
    first: usize,
    /// The last one: those behind are dense.
    last: usize,
    /// Where the elements at a coordinate of the last compressed level stand while they are computed.
    pub(super) block: BufferId,
    /// How many these are.
    size: Index,
    /// Loops of one iteration around what is at a coordinate of a level, by their variables.
    pub(super) coordinates: BTreeMap<VarId, usize>,
    /// The counters.
    at: BufferId,
    /// Of each compressed level, in order.
    pub(super) starts: Vec<BufferId>,
    zero: f64,
}

impl Appending {
    /// Adds the buffers that are needed to a module.
    pub(super) fn new(
        module: &mut Module,
        (kernel, result): (&Kernel, &Operand),
        (first, last): (usize, usize),
    ) -> Appending {
        let extent = |level: usize| result.extents[level].clone();
        let product = |levels: std::ops::Range<usize>| {
            levels.map(extent).fold(Index::Const(1), |product, extent| product * extent)
        };
        let (size, front) = (product(last + 1..result.levels.len()), product(0..first));
        let values = module.buffers[result.values.0 as usize].clone();
        let mut buffer = |what: String, element, size| {
            let mut name = format!("{}.{what}", values.name);
            while module.find_buffer(&name).is_some() {
                name.push('_');
            }
            module.buffer(name, element, size)
        };
        let compressed = (first..=last).filter(|at| !is_dense(result, *at));
        let starts = compressed
            .map(|level| buffer(format!("starts{level}"), Element::I64, front.clone() + 1))
            .collect();
        let block = buffer("block".into(), values.element, size.clone());
        let at = buffer("at".into(), Element::I64, Index::Const((last - first + 2) as i64));
        let (result, zero) = (result.clone(), kernel.semiring.zero());
        let coordinates = BTreeMap::new();
        Appending { result, first, last, block, size, coordinates, at, starts, zero }
    }

    fn extent(&self, level: usize) -> Index {
        self.result.extents[level].clone()
    }

    /// The compressed levels.
    fn compressed(&self) -> impl Iterator<Item = usize> + '_ {
        (self.first..=self.last).filter(|level| !is_dense(&self.result, *level))
    }

    /// A level's counter.
    fn counter(&self, level: usize) -> Index {
        Index::Const((level - self.first) as i64)
    }

    /// Whether something is at the current coordinate.
    fn found(&self) -> Index {
        Index::Const((self.last - self.first + 1) as i64)
    }

    /// The positions and coordinates of a compressed level.
    fn arrays(&self, level: usize) -> Option<(BufferId, BufferId)> {
        let level = self.result.levels.get(level)?;
        Some((level.array(Role::Positions)?, level.array(Role::Coordinates)?))
    }

    fn starts(&self, level: usize) -> Option<BufferId> {
        self.compressed().zip(&self.starts).find(|(at, _)| *at == level).map(|(_, id)| *id)
    }
}

fn is_dense(result: &Operand, level: usize) -> bool {
    result.format.levels()[level].is_full()
}

/// The statements that count, and those that fill, given a function whose statements are marked.
pub(super) fn bodies(plan: &Appending, function: &mut Function) -> [Vec<Stmt>; 2] {
    let marked = std::mem::take(&mut function.body);
    [false, true].map(|fills| {
        let mut append = Append {
            plan,
            function,
            fills,
            coordinates: vec![None; plan.first],
            position: Index::Const(0),
        };
        let before = append.before();
        let inside = match plan.first {
            0 => append.front(marked.clone()),
            _ => append.statements(marked.clone()),
        };
        let after = append.after();
        [before, inside, after].concat()
    })
}

struct Append<'a> {
    plan: &'a Appending,
    function: &'a mut Function,
    /// Whether elements are filled in, not counted.
    fills: bool,
    /// Of the dense levels in front.
    coordinates: Vec<Option<Index>>,
    /// The position of the level outside.
    position: Index,
}

fn integer(value: Index) -> Value {
    Value::FromIndex(value)
}

impl Append<'_> {
    fn set(&self, counter: Index, value: Index) -> Stmt {
        Stmt::set(self.plan.at, counter, integer(value))
    }

    fn increment(&self, counter: Index) -> Stmt {
        Stmt::add(self.plan.at, counter, integer(Index::Const(1)))
    }

    /// Statements that know a counter's value.
    fn with(
        &mut self,
        counter: Index,
        inside: impl FnOnce(&mut Self, Index) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let var = self.function.fresh_var("n");
        let body = inside(self, Index::Var(var));
        vec![Stmt::Let(Let { var, buffer: self.plan.at, index: counter, body })]
    }

    /// A loop over integers from 0.
    fn over(&mut self, end: Index, body: impl FnOnce(Index) -> Vec<Stmt>) -> For {
        let var = self.function.fresh_var("x");
        For::new(var, Index::Const(0), end, body(Index::Var(var)))
    }

    /// How many positions the dense levels in front have.
    fn fronts(&self) -> Index {
        let levels = (0..self.plan.first).map(|level| self.plan.extent(level));
        levels.fold(Index::Const(1), |product, extent| product * extent)
    }

    /// How many positions there are before a level.
    fn parents(&self, level: usize) -> Index {
        let mut count = Index::Const(1);
        for before in 0..level {
            count = match self.plan.result.levels[before].count {
                Some(symbol) => Index::Symbol(symbol),
                None => count * self.plan.extent(before),
            };
        }
        count
    }

    /// The arrays of lengths that are added up at the end, and how many lengths they have.
    fn lengths(&self) -> Vec<(BufferId, Index)> {
        let plan = self.plan;
        match self.fills {
            false => plan.starts.iter().map(|starts| (*starts, self.fronts())).collect(),
            true => {
                let inner = plan.compressed().skip(1);
                inner.filter_map(|at| Some((plan.arrays(at)?.0, self.parents(at)))).collect()
            }
        }
    }

    /// Lengths are 0 so far, and the first level's positions are known when elements are filled in.
    fn before(&mut self) -> Vec<Stmt> {
        let mut result = Vec::new();
        let first = self.plan.first;
        if let (true, Some((positions, _)), Some(starts)) =
            (self.fills, self.plan.arrays(first), self.plan.starts(first))
        {
            let copy = self.over(self.fronts() + 1, |at| {
                let start = Index::Load(starts, Box::new(at.clone()));
                vec![Stmt::set(positions, at, integer(start))]
            });
            result.push(Stmt::For(copy.parallel()));
        }
        for (buffer, count) in self.lengths() {
            let zero = |at| vec![Stmt::set(buffer, at, integer(Index::Const(0)))];
            result.push(Stmt::For(self.over(count + 1, zero).parallel()));
        }
        result
    }

    /// Lengths become positions.
    fn after(&mut self) -> Vec<Stmt> {
        let mut result = Vec::new();
        for (buffer, count) in self.lengths() {
            let var = self.function.fresh_var("n");
            let sum = self.over(count, |at| {
                let body = vec![Stmt::add(buffer, at.clone() + 1, integer(Index::Var(var)))];
                vec![Stmt::Let(Let { var, buffer, index: at, body })]
            });
            result.push(Stmt::For(sum));
        }
        result
    }

    /// Statements around and at marks. Inside of the dense levels in front, loops run in order.
    fn statements(&mut self, body: Vec<Stmt>) -> Vec<Stmt> {
        let mut result = Vec::new();
        for mut stmt in body {
            if let Stmt::For(inner) = &stmt
                && let Some(level) = self.plan.coordinates.get(&inner.var)
            {
                let coordinate = inner.lower[0].clone();
                result.extend(self.at_coordinate(*level, coordinate, inner.body.clone()));
                continue;
            }
            if let Stmt::For(inner) = &mut stmt
                && self.coordinates.iter().all(Option::is_some)
            {
                inner.mark = Mark::Sequential;
            }
            for inside in stmt.bodies_mut() {
                *inside = self.statements(std::mem::take(inside));
            }
            result.push(stmt);
        }
        result
    }

    /// What is at a coordinate of a level.
    fn at_coordinate(&mut self, level: usize, coordinate: Index, body: Vec<Stmt>) -> Vec<Stmt> {
        if level < self.plan.first {
            self.coordinates[level] = Some(coordinate);
            let result = match self.coordinates.iter().all(Option::is_some) {
                true => self.front(body),
                false => self.statements(body),
            };
            self.coordinates[level] = None;
            return result;
        }
        if is_dense(&self.plan.result, level) {
            let position = self.position.clone() * self.plan.extent(level) + coordinate;
            return self.below(level, position, body);
        }
        match level == self.plan.last {
            true => self.elements(coordinate, body),
            false => self.compressed(level, coordinate, body),
        }
    }

    /// The statements of a position of the dense levels in front.
    fn front(&mut self, body: Vec<Stmt>) -> Vec<Stmt> {
        let levels = 0..self.plan.first;
        let position = levels.fold(Index::Const(0), |position, level| {
            let coordinate = self.coordinates[level].clone().unwrap_or(Index::Const(0));
            position * self.plan.extent(level) + coordinate
        });
        let plan = self.plan;
        let inside = self.statements_below(&position, body);
        let mut all: Vec<Stmt> = plan
            .compressed()
            .zip(&plan.starts)
            .map(|(level, starts)| {
                let start = Index::Load(*starts, Box::new(position.clone()));
                let start = if self.fills { start } else { Index::Const(0) };
                self.set(plan.counter(level), start)
            })
            .collect();
        match self.fills {
            true => all.push(Stmt::Workspace(Workspace {
                buffer: plan.block,
                size: plan.size.clone(),
                zero: false,
                instead: None,
                body: inside,
            })),
            false => {
                all.extend(inside);
                for (level, starts) in plan.compressed().zip(&plan.starts) {
                    all.extend(self.with(plan.counter(level), |_, count| {
                        vec![Stmt::set(*starts, position.clone() + 1, integer(count))]
                    }));
                }
            }
        }
        let size = Index::Const((plan.last - plan.first + 2) as i64);
        vec![Stmt::Workspace(Workspace {
            buffer: plan.at,
            size,
            zero: false,
            instead: None,
            body: all,
        })]
    }

    fn statements_below(&mut self, position: &Index, body: Vec<Stmt>) -> Vec<Stmt> {
        let outer = std::mem::replace(&mut self.position, position.clone());
        let body = self.statements(body);
        self.position = outer;
        body
    }

    /// What is below a position of a level; if the next one is compressed, how many positions that has there.
    fn below(&mut self, level: usize, position: Index, body: Vec<Stmt>) -> Vec<Stmt> {
        let next = level + 1;
        let positions = self.plan.arrays(next).filter(|_| self.fills && next <= self.plan.last);
        let inside = self.statements_below(&position, body);
        let Some((positions, _)) = positions else { return inside };
        let counter = self.plan.counter(next);
        self.with(counter.clone(), |append, before| {
            let length = append.with(counter, |_, after| {
                let length = integer(after.clone() - before.clone());
                let store = Stmt::set(positions, position + 1, length);
                vec![Stmt::when(before.less(after), vec![store])]
            });
            [inside, length].concat()
        })
    }

    /// A coordinate of a compressed level with others inside: it is there if something is inside.
    fn compressed(&mut self, level: usize, coordinate: Index, body: Vec<Stmt>) -> Vec<Stmt> {
        let (counter, last) = (self.plan.counter(level), self.plan.counter(self.plan.last));
        let arrays = self.plan.arrays(level).filter(|_| self.fills);
        self.with(counter.clone(), |append, position| {
            append.with(last.clone(), |append, before| {
                let mut result = append.below(level, position.clone(), body);
                result.extend(append.with(last, |append, after| {
                    let mut kept = Vec::new();
                    if let Some((_, coordinates)) = arrays {
                        kept.push(Stmt::set(coordinates, position.clone(), integer(coordinate)));
                    }
                    kept.push(append.increment(counter));
                    vec![Stmt::when(before.less(after), kept)]
                }));
                result
            })
        })
    }

    /// The elements at a coordinate of the last compressed level.
    fn elements(&mut self, coordinate: Index, body: Vec<Stmt>) -> Vec<Stmt> {
        let (plan, fills) = (self.plan, self.fills);
        let counter = plan.counter(plan.last);
        let (surely, found) = (self.always(&body), plan.found());
        let mut result = Vec::new();
        if fills {
            let zero = Value::constant(plan.zero);
            let clear = self.over(plan.size.clone(), |at| vec![Stmt::set(plan.block, at, zero)]);
            result.push(Stmt::For(clear));
        }
        if surely {
            result.extend(self.quiet(body));
        } else {
            result.push(self.set(found.clone(), Index::Const(0)));
            let says = self.set(found.clone(), Index::Const(1));
            result.extend(self.noticed(body, &says));
        }
        let kept = match fills {
            false => vec![self.increment(counter)],
            true => self.with(counter.clone(), |append, position| {
                let mut kept = Vec::new();
                if let Some((_, coordinates)) = plan.arrays(plan.last) {
                    kept.push(Stmt::set(coordinates, position.clone(), integer(coordinate)));
                }
                let copy = append.over(plan.size.clone(), |at| {
                    let place = position * plan.size.clone() + at.clone();
                    vec![Stmt::set(plan.result.values, place, Value::load(plan.block, at))]
                });
                kept.push(Stmt::For(copy));
                kept.push(append.increment(counter));
                kept
            }),
        };
        match surely {
            true => result.extend(kept),
            false => result.extend(
                self.with(found, |_, some| vec![Stmt::when(Index::Const(1).at_most(some), kept)]),
            ),
        }
        result
    }

    /// Statements that say it when they come to a point; where elements are counted they do nothing else.
    fn noticed(&self, body: Vec<Stmt>, says: &Stmt) -> Vec<Stmt> {
        if self.always(&body) {
            return [vec![says.clone()], self.quiet(body)].concat();
        }
        let mut result = Vec::new();
        for mut stmt in body {
            match &mut stmt {
                Stmt::Store(store) if store.buffer == self.plan.block => {
                    result.push(says.clone());
                    result.extend(self.quiet(vec![stmt]));
                    continue;
                }
                Stmt::For(inner) if self.always(&inner.body) => {
                    let some = range_conditions(&inner.lower, &inner.upper);
                    result.push(Stmt::when(Condition::all(some), vec![says.clone()]));
                    result.extend(self.quiet(vec![stmt]));
                    continue;
                }
                Stmt::For(inner) => inner.mark = Mark::Sequential,
                _ => {}
            }
            for inside in stmt.bodies_mut() {
                *inside = self.noticed(std::mem::take(inside), says);
            }
            result.push(stmt);
        }
        result
    }

    /// Whether statements come to a point whenever they are executed.
    fn always(&self, body: &[Stmt]) -> bool {
        body.iter().any(|stmt| match stmt {
            Stmt::Store(store) => store.buffer == self.plan.block,
            Stmt::If(inner) => self.always(&inner.then) && self.always(&inner.otherwise),
            Stmt::While(inner) => self.always(&inner.after),
            Stmt::Workspace(inner) => self.always(&inner.body),
            Stmt::Let(inner) => self.always(&inner.body),
            _ => false,
        })
    }

    /// Statements whose points need not be noticed. Where elements are counted, what is left of them is what they store
    /// elsewhere.
    fn quiet(&self, body: Vec<Stmt>) -> Vec<Stmt> {
        if self.fills {
            return in_order(body);
        }
        let stores = |stmt: &Stmt| {
            let mut found = false;
            stmt.visit(&mut |stmt| {
                found |= matches!(stmt, Stmt::Store(store) if store.buffer != self.plan.block);
            });
            found
        };
        let mut result: Vec<Stmt> = in_order(body.into_iter().filter(stores).collect());
        for inside in result.iter_mut().flat_map(Stmt::bodies_mut) {
            *inside = self.quiet(std::mem::take(inside));
        }
        result
    }
}

/// Statements whose loops run in order.
fn in_order(mut body: Vec<Stmt>) -> Vec<Stmt> {
    for stmt in &mut body {
        if let Stmt::For(inner) = stmt {
            inner.mark = Mark::Sequential;
        }
        for inside in stmt.bodies_mut() {
            *inside = in_order(std::mem::take(inside));
        }
    }
    body
}
