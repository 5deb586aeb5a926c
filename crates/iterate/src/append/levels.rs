//! Level by level, what happens at a coordinate.

use dastac_formats::level::assembly::{filled, for_each, lengths_to_ends};
use dastac_loops::{Append, BufferId, For, Function, Index, Let, Mark, Stmt, Value, Workspace};

use super::plan::{Appending, Reserved};

pub(super) struct Assembler<'a> {
    pub(super) plan: &'a Appending,
    function: &'a mut Function,
    /// Whether elements are filled in, not counted.
    pub(super) fills: bool,
    /// The coordinates of the full levels in front.
    coordinates: Vec<Option<Index>>,
    /// The position of the level outside.
    position: Index,
}

/// Whether there is something to append.
fn appends(body: &[Stmt]) -> bool {
    let mut found = false;
    for stmt in body {
        stmt.visit(&mut |stmt| found |= matches!(stmt, Stmt::Append(_)));
    }
    found
}

fn integer(value: Index) -> Value {
    Value::FromIndex(value)
}

impl<'a> Assembler<'a> {
    pub(super) fn new(plan: &'a Appending, function: &'a mut Function, fills: bool) -> Self {
        let coordinates = vec![None; plan.first];
        Assembler { plan, function, fills, coordinates, position: Index::Const(0) }
    }

    pub(super) fn assemble(mut self, body: Vec<Stmt>) -> Vec<Stmt> {
        let before = self.before();
        let inside = match (self.plan.first, &self.plan.iterations) {
            (0, Some(_)) => self.each_iteration(body),
            (0, None) => self.front(body),
            _ => self.statements(body),
        };
        [before, inside, self.after()].concat()
    }

    pub(super) fn set(&self, counter: Index, value: Index) -> Stmt {
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

    /// A loop over the elements at a coordinate.
    fn over_block(&mut self, body: impl FnOnce(Index) -> Vec<Stmt>) -> Stmt {
        let var = self.function.fresh_var("x");
        let body = body(Index::Var(var));
        Stmt::For(For::new(var, Index::Const(0), self.plan.size.clone(), body))
    }

    /// How many positions the full levels in front have, or how many iterations are counted in their place.
    fn fronts(&self) -> Index {
        if let Some(iterations) = &self.plan.iterations {
            return iterations.count.clone();
        }
        let extents = &self.plan.result.extents[..self.plan.first];
        extents.iter().fold(Index::Const(1), |product, extent| product * extent.clone())
    }

    /// Whether the positions of an appended level are known before it is filled: only full levels are outside.
    fn is_counted_whole(&self, level: usize) -> bool {
        level == self.plan.first
    }

    /// Before all loops: no lengths are counted yet, and no coordinates inserted.
    fn before(&mut self) -> Vec<Stmt> {
        let plan = self.plan;
        if !self.fills {
            let count = self.fronts() + 1;
            let starts = plan.starts.iter();
            return starts.map(|array| filled(self.function, *array, count.clone(), 0)).collect();
        }
        let mut result = Vec::new();
        for (level, starts) in plan.appended().zip(&plan.starts) {
            let own = &plan.result.levels[level];
            if let Some(iterations) = plan.iterations.as_ref().filter(|_| level == plan.first) {
                let all = Index::Load(*starts, Box::new(iterations.count.clone()));
                for (at, begin) in [(0, Index::Const(0)), (1, all)] {
                    result.extend(own.kind.append_begin(own, &Index::Const(at), &begin));
                }
            } else if self.is_counted_whole(level) {
                let count = self.fronts() + 1;
                result.push(for_each(self.function, count, |at| {
                    let begin = match plan.reserved {
                        None => Index::Load(*starts, Box::new(at.clone())),
                        Some(_) => Index::Const(0),
                    };
                    own.kind.append_begin(own, &at, &begin)
                }));
            } else {
                result.extend(own.kind.append_init(own, &plan.parents(level), self.function));
            }
        }
        for level in plan.inserted() {
            let own = &plan.result.levels[level];
            let positions = plan.parents(level + 1);
            result.extend(own.kind.insert_init(own, &positions, self.function));
        }
        if !plan.is_appended(plan.last) {
            result.push(self.zeros());
        }
        result
    }

    /// Sets all values, of which some positions keep theirs: nothing is inserted there.
    fn zeros(&mut self) -> Stmt {
        let plan = self.plan;
        let count = plan.parents(plan.result.levels.len());
        let zero = Value::constant(plan.zero);
        for_each(self.function, count, |at| vec![Stmt::set(plan.result.values, at, zero)])
    }

    /// Behind all loops: lengths become positions.
    fn after(&mut self) -> Vec<Stmt> {
        let plan = self.plan;
        if !self.fills {
            let count = self.fronts();
            let starts = plan.starts.iter();
            let ends = |array: &BufferId| lengths_to_ends(self.function, *array, count.clone());
            return starts.map(ends).collect();
        }
        let mut result = Vec::new();
        let counted: Vec<usize> =
            plan.appended().filter(|level| !self.is_counted_whole(*level)).collect();
        for level in counted {
            let own = &plan.result.levels[level];
            result.extend(own.kind.append_finalize(own, &plan.parents(level), self.function));
        }
        result
    }

    /// Statements in which some append. Inside of the full levels in front, loops run in order.
    fn statements(&mut self, body: Vec<Stmt>) -> Vec<Stmt> {
        let mut result = Vec::new();
        for mut stmt in body {
            if let Stmt::Append(inner) = stmt {
                result.extend(self.at_coordinate(inner));
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
    fn at_coordinate(&mut self, append: Append) -> Vec<Stmt> {
        let Append { level, coordinate, body } = append;
        if level < self.plan.first {
            return self.in_front(level, coordinate, body);
        }
        if self.plan.is_appended(level) {
            return match level == self.plan.last {
                true => self.appended_elements(coordinate, body),
                false => self.appended(level, coordinate, body),
            };
        }
        let position = self.located(level, &coordinate);
        if self.plan.is_full(level) {
            return self.below(level, position, body);
        }
        match level == self.plan.last {
            true => self.inserted_elements(position, body),
            false => self.inserted(level, position, body),
        }
    }

    /// The position of a coordinate of a level that is located.
    fn located(&self, level: usize, coordinate: &Index) -> Index {
        let (own, extent) = (&self.plan.result.levels[level], self.plan.extent(level));
        let located = own.locate(&self.position, coordinate, extent);
        located.map_or_else(|| self.position.clone(), |located| located.position)
    }

    fn in_front(&mut self, level: usize, coordinate: Index, body: Vec<Stmt>) -> Vec<Stmt> {
        self.coordinates[level] = Some(coordinate);
        let result = match self.coordinates.iter().all(Option::is_some) {
            true => self.front(body),
            false => self.statements(body),
        };
        self.coordinates[level] = None;
        result
    }

    /// The iterations of the outermost loop, each of which appends where it was counted.
    fn each_iteration(&mut self, body: Vec<Stmt>) -> Vec<Stmt> {
        let mut result = Vec::new();
        for stmt in body {
            result.push(match stmt {
                Stmt::For(outer) if appends(&outer.body) => {
                    let body = self.counted((&Index::Var(outer.var), &Index::Const(0)), outer.body);
                    Stmt::For(For { body, ..outer })
                }
                stmt => stmt,
            });
        }
        result
    }

    /// The statements of a position of the full levels in front.
    fn front(&mut self, body: Vec<Stmt>) -> Vec<Stmt> {
        let plan = self.plan;
        let position = (0..plan.first).fold(Index::Const(0), |position, level| {
            let coordinate = self.coordinates[level].clone().unwrap_or(Index::Const(0));
            position * plan.extent(level).clone() + coordinate
        });
        self.counted((&position, &position), body)
    }

    /// Statements that are counted at a place, and append below a position.
    fn counted(&mut self, (place, position): (&Index, &Index), body: Vec<Stmt>) -> Vec<Stmt> {
        let plan = self.plan;
        let inside = self.statements_below(position, body);
        let mut all = self.first_counts(place);
        match self.fills {
            true if plan.reserved.is_some() => all = self.one_behind_the_other(place, inside),
            true => all.push(Stmt::Workspace(Workspace {
                buffer: plan.block,
                size: plan.size.clone(),
                zero: false,
                instead: None,
                body: inside,
            })),
            false => {
                all.extend(inside);
                all.extend(self.store_counts(place));
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

    /// A row begins where the one before it ended. Its length takes the place of where it begins, until all rows are
    /// moved together.
    fn one_behind_the_other(&mut self, position: &Index, inside: Vec<Stmt>) -> Vec<Stmt> {
        let plan = self.plan;
        let Some(Reserved { next, ends }) = plan.reserved else { return inside };
        let (own, counter) = (&plan.result.levels[plan.last], plan.counter(plan.last));
        let begin = self.function.fresh_var("n");
        let after = self.with(counter.clone(), |_, end| {
            let length = end.clone() - Index::Var(begin);
            let mut all = own.kind.append_begin(own, &(position.clone() + 1), &length);
            all.push(Stmt::set(ends, position.clone(), integer(end.clone())));
            all.push(Stmt::set(next, Index::Const(0), integer(end)));
            all
        });
        let block = Stmt::Workspace(Workspace {
            buffer: plan.block,
            size: plan.size.clone(),
            zero: false,
            instead: None,
            body: inside,
        });
        let body = [vec![self.set(counter, Index::Var(begin)), block], after].concat();
        vec![Stmt::Let(Let { var: begin, buffer: next, index: Index::Const(0), body })]
    }

    /// Counters begin where the positions of this part of the result do.
    fn first_counts(&self, position: &Index) -> Vec<Stmt> {
        let plan = self.plan;
        let mut all = Vec::new();
        for (level, starts) in plan.appended().zip(&plan.starts) {
            let start = Index::Load(*starts, Box::new(position.clone()));
            let start = if self.fills { start } else { Index::Const(0) };
            all.push(self.set(plan.counter(level), start));
        }
        if !plan.is_appended(plan.last) && plan.counts_elements() {
            all.push(self.set(plan.counter(plan.last), Index::Const(0)));
        }
        all
    }

    fn store_counts(&mut self, position: &Index) -> Vec<Stmt> {
        let plan = self.plan;
        let mut all = Vec::new();
        for (level, starts) in plan.appended().zip(&plan.starts) {
            all.extend(self.with(plan.counter(level), |_, count| {
                vec![Stmt::set(*starts, position.clone() + 1, integer(count))]
            }));
        }
        all
    }

    fn statements_below(&mut self, position: &Index, body: Vec<Stmt>) -> Vec<Stmt> {
        let outer = std::mem::replace(&mut self.position, position.clone());
        let body = self.statements(body);
        self.position = outer;
        body
    }

    /// What is below a position of a level; if the next one is appended to, which positions it gets there.
    fn below(&mut self, level: usize, position: Index, body: Vec<Stmt>) -> Vec<Stmt> {
        let (plan, next) = (self.plan, level + 1);
        let inside = self.statements_below(&position, body);
        if !self.fills || next > plan.last || !plan.is_appended(next) {
            return inside;
        }
        let (own, counter) = (&plan.result.levels[next], plan.counter(next));
        self.with(counter.clone(), |append, begin| {
            let edges = append
                .with(counter, |_, end| own.kind.append_edges(own, &position, (&begin, &end)));
            [inside, edges].concat()
        })
    }

    /// Statements, and others that are executed if the first ones found elements.
    fn if_found(
        &mut self,
        inside: impl FnOnce(&mut Self) -> Vec<Stmt>,
        kept: impl FnOnce(&mut Self) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let last = self.plan.counter(self.plan.last);
        self.with(last.clone(), |append, before| {
            let mut result = inside(append);
            result
                .extend(append.with(last, |append, after| {
                    vec![Stmt::when(before.less(after), kept(append))]
                }));
            result
        })
    }

    /// A coordinate of an appended level with others inside: it is stored if something is inside.
    fn appended(&mut self, level: usize, coordinate: Index, body: Vec<Stmt>) -> Vec<Stmt> {
        let (own, counter) = (&self.plan.result.levels[level], self.plan.counter(level));
        self.with(counter.clone(), |append, position| {
            let at = position.clone();
            append.if_found(
                |append| append.below(level, at, body),
                |append| {
                    let mut kept = match append.fills {
                        true => own.kind.append_coord(own, &position, &coordinate),
                        false => Vec::new(),
                    };
                    kept.push(append.increment(counter));
                    kept
                },
            )
        })
    }

    /// A position of a level that is inserted into, with others inside: it is stored if something is inside.
    fn inserted(&mut self, level: usize, position: Index, body: Vec<Stmt>) -> Vec<Stmt> {
        if !self.fills {
            return self.below(level, position, body);
        }
        let own = &self.plan.result.levels[level];
        let at = position.clone();
        self.if_found(
            |append| append.below(level, at, body),
            |_| own.kind.insert_coord(own, &position),
        )
    }

    /// The elements at a coordinate of the last level, which is appended to.
    fn appended_elements(&mut self, coordinate: Index, body: Vec<Stmt>) -> Vec<Stmt> {
        let plan = self.plan;
        let (own, counter) = (&plan.result.levels[plan.last], plan.counter(plan.last));
        self.elements(body, |append| match append.fills {
            false => vec![append.increment(counter)],
            true => append.with(counter.clone(), |append, position| {
                let mut kept = own.kind.append_coord(own, &position, &coordinate);
                kept.push(append.copy(position));
                kept.push(append.increment(counter));
                kept
            }),
        })
    }

    /// The elements at a position of the last level, which is inserted into.
    fn inserted_elements(&mut self, position: Index, body: Vec<Stmt>) -> Vec<Stmt> {
        let plan = self.plan;
        let own = &plan.result.levels[plan.last];
        self.elements(body, |append| {
            let mut kept = Vec::new();
            if append.fills {
                kept.extend(own.kind.insert_coord(own, &position));
                kept.push(append.copy(position));
            }
            if plan.counts_elements() {
                kept.push(append.increment(plan.counter(plan.last)));
            }
            kept
        })
    }

    /// Copies the elements that were computed to a position of the last level that is not full.
    fn copy(&mut self, position: Index) -> Stmt {
        let plan = self.plan;
        self.over_block(|at| {
            let place = position * plan.size.clone() + at.clone();
            vec![Stmt::set(plan.result.values, place, Value::load(plan.block, at))]
        })
    }

    /// Computes the elements at a coordinate, and executes what `kept` gives if there are some.
    fn elements(
        &mut self,
        body: Vec<Stmt>,
        kept: impl FnOnce(&mut Self) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let plan = self.plan;
        let (surely, found) = (self.always(&body), plan.found());
        let mut result = Vec::new();
        if self.fills {
            let zero = Value::constant(plan.zero);
            result.push(self.over_block(|at| vec![Stmt::set(plan.block, at, zero)]));
        }
        if surely {
            result.extend(self.quiet(body));
            result.extend(kept(self));
            return result;
        }
        result.push(self.set(found.clone(), Index::Const(0)));
        let says = self.set(found.clone(), Index::Const(1));
        result.extend(self.noticed(body, &says));
        let kept = kept(self);
        result.extend(
            self.with(found, |_, some| vec![Stmt::when(Index::Const(1).at_most(some), kept)]),
        );
        result
    }
}
