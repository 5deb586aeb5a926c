//! Non-empty subsections of a level below others that are not resolved yet (sparse convolutions, section 5.2, figures
//! 10c, 11 and 13c).
//!
//! Of `A(i + r, j + s)` in rows, with the loops in the order i, j, r, s, the loop of `j` is at the coordinates where
//! one of several rows has something within reach: those that `r` can lead to. What the window begins with in each of
//! these segments stands in memory, one position for each segment; a step of the loop moves them behind what is out of
//! reach, and the nearest coordinate of all says which windows begin there. When a row is resolved, its position is
//! taken from there, so that nothing is searched.
//!
//! The segments are numbered by the places of their ancestors within these levels' own windows, so that a number
//! follows from where the ancestors are resolved to.

use dastac_formats::level::Role;
use dastac_loops::{BufferId, Element, For, Index, Let, Mark, Stmt, Value, While, Workspace};

use super::builder::{Builder, Range};
use super::kernel::IterateError;
use super::state::{Ancestor, At, Origin, State, Window, WindowStarts};
use super::walks::{Over, Walk};

/// Beyond all coordinates.
const FAR: i64 = 1 << 61;

/// One of the segments.
struct Segment {
    /// The positions of its ancestors, of all levels.
    path: Vec<Index>,
    /// The coordinates of those of them that are not resolved.
    coordinates: Vec<(usize, Index)>,
    number: Index,
    ancestors: Vec<Ancestor>,
}

impl Segment {
    /// The one below levels that are resolved.
    fn resolved(path: &[Index]) -> Segment {
        Segment {
            path: path.to_vec(),
            coordinates: Vec::new(),
            number: Index::Const(0),
            ancestors: Vec::new(),
        }
    }

    /// One of the segments below this, by its ancestor there: its position and coordinate, and its number among those
    /// of this.
    fn below(
        &self,
        ancestor: Ancestor,
        (position, coordinate): (Index, Index),
        number: Index,
    ) -> Segment {
        let mut path = self.path.clone();
        path.push(position);
        let mut coordinates = self.coordinates.clone();
        coordinates.push((ancestor.level, coordinate));
        let number = self.number.clone() * ancestor.size.clone() + number;
        let mut ancestors = self.ancestors.clone();
        ancestors.push(ancestor);
        Segment { path, coordinates, number, ancestors }
    }
}

/// What to do with a segment.
type Inside<'a> = &'a mut dyn FnMut(&mut Builder<'_>, &Segment) -> Vec<Stmt>;

impl Builder<'_> {
    /// The loop of an iterator over windows on a level whose ancestors are not all resolved, where there is one for a
    /// product alone.
    pub(super) fn over_windows(
        &mut self,
        depth: usize,
        iterator: usize,
        range: &Range,
        states: &[State],
    ) -> Result<Option<Vec<Stmt>>, IterateError> {
        let [state] = states else { return Ok(None) };
        let kernel = self.kernel;
        let factors = &kernel.products[state.product].factors;
        let level = |factor: usize| {
            let own = &factors[factor];
            let operand = &kernel.operands[own.operand];
            let levels = state.places[factor].level + 1..operand.levels.len();
            let reduces = |level: &usize| {
                let subscript = &own.subscripts[*level];
                let segmented = operand.format.levels()[*level].is_segmented();
                let others = subscript.terms().iter().filter(|(at, _)| *at != iterator);
                let open = others.filter(|(at, _)| !self.is_known(*at)).count();
                let positive = subscript.coefficient(iterator) > 0;
                segmented && positive && open > 0
            };
            levels.into_iter().find(reduces)
        };
        let found = (0..factors.len()).find_map(|factor| Some((factor, level(factor)?)));
        let Some((factor, level)) = found else { return Ok(None) };
        self.windows(depth, iterator, range, (state, factor, level))
    }

    fn windows(
        &mut self,
        depth: usize,
        iterator: usize,
        range: &Range,
        (state, factor, level): (&State, usize, usize),
    ) -> Result<Option<Vec<Stmt>>, IterateError> {
        let kernel = self.kernel;
        let own = &kernel.products[state.product].factors[factor];
        let operand = &kernel.operands[own.operand];
        let subscript = &own.subscripts[level];
        let step = subscript.coefficient(iterator);
        let Some(coordinates) = operand.levels[level].array(Role::Coordinates) else {
            return Ok(None);
        };
        let (low, high, _) = self.reach(subscript, iterator);
        let width = high - low.clone() + 1;
        let place = |at: Index| Index::Load(coordinates, Box::new(at)) - low.clone();
        // Segments are numbered first, to know their number.
        let mut ancestors = None;
        let first = state.places[factor].level;
        let probe = self.segments((state, factor), (first, level), &mut |_, segment| {
            ancestors = Some(segment.ancestors.clone());
            Vec::new()
        });
        let (Some(_), Some(ancestors)) = (probe, ancestors) else { return Ok(None) };
        let count = ancestors.iter().map(|ancestor| ancestor.size.clone()).reduce(|a, b| a * b);
        let Some(count) = count else { return Ok(None) };
        let starts = self.workspace("starts", count.clone());
        let nearest = self.workspace("nearest", Index::Const(2));
        let before =
            state.places[factor].window_starts.iter().rev().find(|known| known.level == level);
        let before = before.cloned();

        // At first, segments begin where they do, or where loops around have come to.
        let begin = self.segments((state, factor), (first, level), &mut |builder, segment| {
            let set = |at: Index| store(starts, segment.number.clone(), at);
            match &before {
                None => builder
                    .bounds((state, factor), level, segment)
                    .map_or_else(Vec::new, |(start, _)| vec![set(start)]),
                Some(before) => {
                    builder.stored(before, (state, factor), segment, &mut |_, at| vec![set(at)])
                }
            }
        });
        let x = self.function.fresh_var("from");
        let at = Index::Var(x);
        let passed = self.segments((state, factor), (first, level), &mut |builder, segment| {
            let Some((_, end)) = builder.bounds((state, factor), level, segment) else {
                return Vec::new();
            };
            let vars = ["start", "p", "near"].map(|name| builder.function.fresh_var(name));
            let [start, position, near] = vars;
            let here = Index::Var(position);
            let out = place(here.clone()).less(at.clone() * step);
            let nearer = Let {
                var: near,
                buffer: nearest,
                index: Index::Const(0),
                body: vec![store(
                    nearest,
                    Index::Const(0),
                    Index::Var(near).min(place(here.clone())),
                )],
            };
            let after = vec![
                store(starts, segment.number.clone(), here.clone()),
                Stmt::when(here.clone().less(end.clone()), vec![Stmt::Let(nearer)]),
            ];
            let from = (position, Index::Var(start));
            let body = vec![builder.pass_over(from, end, out, after)];
            vec![Stmt::Let(Let { var: start, buffer: starts, index: segment.number.clone(), body })]
        });
        let (Some(begin), Some(passed)) = (begin, passed) else { return Ok(None) };

        let mut inner = state.clone();
        let (near, value) = (self.function.fresh_var("near"), self.iterator_var(iterator));
        for var in [x, value] {
            let walk = Walk::new(Some(iterator), Over::Subsections, [own.operand]);
            self.walks.insert(var, walk);
        }
        let low = low + Index::Var(value) * step;
        inner.places[factor].window_starts.push(WindowStarts { level, starts, low, ancestors });
        let known = self.facts.len();
        self.facts.assume_range(value, &range.lower, &range.upper);
        self.sequential += 1;
        let body = self.inside(depth, iterator, Index::Var(value), vec![inner]);
        self.sequential -= 1;
        self.facts.truncate(known);
        let body = body?;
        // Up to what is nearest, all windows that reach it begin where they do now.
        let reached = (Index::Var(near) - width.clone()).floor_div(step) + 1;
        let behind = Index::Var(near).floor_div(step) + 1;
        let mut upper = range.upper.clone();
        upper.push(behind.clone());
        let visited = Stmt::For(For {
            var: value,
            lower: vec![at.clone(), reached],
            upper,
            step: 1,
            mark: Mark::Sequential,
            body,
        });
        let set = |index: i64, to: Index| store(nearest, Index::Const(index), to);
        let mut once = vec![set(0, Index::Const(FAR))];
        once.extend(passed);
        let body = vec![visited, set(1, behind)];
        once.push(Stmt::Let(Let { var: near, buffer: nearest, index: Index::Const(0), body }));
        let mut body = begin;
        body.push(Stmt::While(While {
            vars: vec![(x, range.first())],
            condition: at.less(range.end()).and(Index::Const(0).less(width)),
            body: once,
            next: vec![Index::Load(nearest, Box::new(Index::Const(1)))],
            after: Vec::new(),
        }));
        let of = |buffer, size, body| {
            Stmt::Workspace(Workspace { buffer, size, zero: false, instead: None, body })
        };
        Ok(Some(vec![of(starts, count, vec![of(nearest, Index::Const(2), body)])]))
    }

    /// Statements for each segment of a level below levels that are not resolved; nothing where these cannot be walked.
    fn segments(
        &mut self,
        (state, factor): (&State, usize),
        (first, level): (usize, usize),
        inside: Inside<'_>,
    ) -> Option<Vec<Stmt>> {
        let place = &state.places[factor];
        let At::Position(_) = place.at else { return None };
        let start = Segment::resolved(&place.path);
        self.descend((state, factor), (first, level), start, inside)
    }

    fn descend(
        &mut self,
        (state, factor): (&State, usize),
        (at, level): (usize, usize),
        segment: Segment,
        inside: Inside<'_>,
    ) -> Option<Vec<Stmt>> {
        if at == level {
            return Some(inside(self, &segment));
        }
        let kernel = self.kernel;
        let own = &kernel.products[state.product].factors[factor];
        let operand = &kernel.operands[own.operand];
        let (low, high, _) = self.reach(&own.subscripts[at], usize::MAX);
        match operand.format.levels()[at] {
            kind if kind.is_full() => {
                let var = self.function.fresh_var("row");
                let extent = operand.extents[at].clone();
                let above = segment.path.last().cloned().unwrap_or(Index::Const(0));
                let position = above * extent.clone() + Index::Var(var);
                let next = segment.below(
                    Ancestor {
                        level: at,
                        origin: Origin::Coordinate(low.clone()),
                        size: self.width(&own.subscripts[at]),
                    },
                    (position, Index::Var(var)),
                    Index::Var(var) - low.clone(),
                );
                let body = self.descend((state, factor), (at + 1, level), next, inside)?;
                let (lower, upper) = (low.max(Index::Const(0)), extent.min(high + 1));
                Some(vec![Stmt::For(For::new(var, lower, upper, body))])
            }
            kind if kind.is_segmented() => {
                let place = &state.places[factor];
                let window = place.window.as_ref().filter(|_| at == place.level);
                let begins = place.window_starts.iter().rev().find(|begins| begins.level == at);
                // Nothing that a window begins with may be out of reach: the others would have larger numbers.
                let least = match (window, begins) {
                    (Some(window), _) if window.reversed => return None,
                    (Some(window), _) => window.near.clone(),
                    (None, Some(begins)) => begins.low.clone(),
                    (None, None) => Index::Const(0),
                };
                if !self.facts.imply(&low.clone().at_most(least)) {
                    return None;
                }
                let Some(begins) = begins.filter(|_| window.is_none()).cloned() else {
                    let (start, _) = self.bounds((state, factor), at, &segment)?;
                    let origin = match at == state.places[factor].level {
                        true => Origin::Position(start.clone()),
                        false => Origin::First,
                    };
                    let from = (start, origin);
                    return self.over((state, factor), (at, level), &segment, from, inside);
                };
                let mut found = false;
                let stmts =
                    self.stored(&begins, (state, factor), &segment, &mut |builder, start| {
                        let from = (start, Origin::Stored(begins.clone()));
                        let over =
                            builder.over((state, factor), (at, level), &segment, from, inside);
                        found = over.is_some();
                        over.unwrap_or_default()
                    });
                found.then_some(stmts)
            }
            _ => None,
        }
    }

    /// Statements for the segments below the positions of a compressed level that are within reach.
    fn over(
        &mut self,
        (state, factor): (&State, usize),
        (at, level): (usize, usize),
        segment: &Segment,
        (start, origin): (Index, Origin),
        inside: Inside<'_>,
    ) -> Option<Vec<Stmt>> {
        let kernel = self.kernel;
        let own = &kernel.products[state.product].factors[factor];
        let operand = &kernel.operands[own.operand];
        let coordinates = operand.levels[at].array(Role::Coordinates)?;
        let subscript = &own.subscripts[at];
        let (_, high, _) = self.reach(subscript, usize::MAX);
        let (_, end) = self.bounds((state, factor), at, segment)?;
        let position = self.function.fresh_var("p");
        let here = Index::Var(position);
        let coordinate = Index::Load(coordinates, Box::new(here.clone()));
        let within = coordinate.clone().at_most(high.clone());
        let size = self.width(subscript);
        let next = segment.below(
            Ancestor { level: at, origin, size },
            (here.clone(), coordinate.clone()),
            here.clone() - start.clone(),
        );
        let body = self.descend((state, factor), (at + 1, level), next, inside)?;
        Some(vec![Stmt::While(While {
            vars: vec![(position, start)],
            condition: here.clone().less(end).and(within),
            body,
            next: vec![here + 1],
            after: Vec::new(),
        })])
    }

    /// The positions of a level in a segment.
    fn bounds(
        &self,
        (state, factor): (&State, usize),
        level: usize,
        segment: &Segment,
    ) -> Option<(Index, Index)> {
        let own = &self.kernel.products[state.product].factors[factor];
        let place = &state.places[factor];
        if let (true, Some(window)) = (level == place.level, &place.window) {
            return Some((window.start.clone(), window.end.clone()));
        }
        self.kernel.operands[own.operand].levels[level].pos_bounds(segment.path.last()?)
    }

    /// Statements with the position at which a segment's window begins, which stands in memory.
    fn stored(
        &mut self,
        begins: &WindowStarts,
        (state, factor): (&State, usize),
        segment: &Segment,
        inside: &mut dyn FnMut(&mut Builder<'_>, Index) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        self.numbered(
            begins,
            (state, factor),
            segment,
            0,
            Index::Const(0),
            &mut |builder, number| {
                let var = builder.function.fresh_var("start");
                let body = inside(builder, Index::Var(var));
                vec![Stmt::Let(Let { var, buffer: begins.starts, index: number, body })]
            },
        )
    }

    /// Statements with the number of a segment, of whose ancestors `nth` are counted.
    fn numbered(
        &mut self,
        begins: &WindowStarts,
        (state, factor): (&State, usize),
        segment: &Segment,
        nth: usize,
        number: Index,
        inside: &mut dyn FnMut(&mut Builder<'_>, Index) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let Some(ancestor) = begins.ancestors.get(nth) else { return inside(self, number) };
        let counted = |place: Index| number.clone() * ancestor.size.clone() + place;
        let position = segment.path[ancestor.level + 1].clone();
        match &ancestor.origin {
            Origin::Coordinate(origin) => {
                let known = segment.coordinates.iter().find(|(level, _)| *level == ancestor.level);
                let coordinate = known.map(|(_, coordinate)| coordinate.clone());
                let coordinate =
                    coordinate.or_else(|| self.coordinate((state, factor), ancestor.level));
                let number = counted(coordinate.unwrap_or(Index::Const(0)) - origin.clone());
                self.numbered(begins, (state, factor), segment, nth + 1, number, inside)
            }
            Origin::First => {
                let operand = self.kernel.products[state.product].factors[factor].operand;
                let level = &self.kernel.operands[operand].levels[ancestor.level];
                let first = level.pos_bounds(&segment.path[ancestor.level]);
                let first = first.map_or(Index::Const(0), |(first, _)| first);
                let number = counted(position - first);
                self.numbered(begins, (state, factor), segment, nth + 1, number, inside)
            }
            Origin::Position(origin) => {
                let number = counted(position - origin.clone());
                self.numbered(begins, (state, factor), segment, nth + 1, number, inside)
            }
            Origin::Stored(above) => {
                self.stored(above, (state, factor), segment, &mut |builder, start| {
                    let number = counted(position.clone() - start);
                    builder.numbered(begins, (state, factor), segment, nth + 1, number, inside)
                })
            }
        }
    }

    /// The coordinate of a factor in a level, where it is resolved.
    fn coordinate(&self, (state, factor): (&State, usize), level: usize) -> Option<Index> {
        let own = &self.kernel.products[state.product].factors[factor];
        self.value(&own.subscripts[level])
    }

    /// A factor whose next level's window begins at a position in memory that is not read yet.
    pub(super) fn stored_window(&self, state: &State) -> Option<usize> {
        (0..state.places.len()).find(|factor| {
            let place = &state.places[*factor];
            place.window.is_none()
                && place.window_starts.iter().any(|begins| begins.level == place.level)
        })
    }

    /// Statements inside of which that window is known.
    pub(super) fn with_stored_window(
        &mut self,
        state: &State,
        factor: usize,
        inside: &mut dyn FnMut(&mut Builder<'_>, State) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let place = &state.places[factor];
        let level = place.level;
        let begins = place.window_starts.iter().rev().find(|begins| begins.level == level).cloned();
        let segment = Segment::resolved(&place.path);
        let (Some(begins), Some((_, end))) =
            (begins, self.bounds((state, factor), level, &segment))
        else {
            return Vec::new();
        };
        self.stored(&begins, (state, factor), &segment, &mut |builder, start| {
            let mut state = state.clone();
            let near = begins.low.clone();
            let window = Window { start, end: end.clone(), near, reversed: false };
            state.places[factor].window = Some(window);
            inside(builder, state)
        })
    }

    fn workspace(&mut self, name: &str, size: Index) -> BufferId {
        let used = |name: &String| self.module.find_buffer(name).is_some();
        let names = (0..).map(|nth| match nth {
            0 => name.to_owned(),
            nth => format!("{name}_{nth}"),
        });
        let free = names.into_iter().find(|name| !used(name)).unwrap_or_default();
        // How many elements it has stands where it is made; its variables are not known outside.
        let size = if size.free_vars().is_empty() { size } else { Index::Const(0) };
        self.module.buffer(free, Element::I64, size)
    }
}

fn store(buffer: BufferId, index: Index, value: Index) -> Stmt {
    Stmt::set(buffer, index, Value::from_index(value))
}
