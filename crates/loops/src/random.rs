//! Random modules for tests, the same for the same seed.

use crate::*;

/// What a random module is good for.
#[derive(Clone, Copy, PartialEq)]
pub enum Style {
    /// All kinds of nodes, valid but without meaning: for printing and reading.
    Anything,
    /// Runs without error at `N = 4, M = 3`, mostly reductions over small ranges: for passes.
    Runnable,
}

struct Random {
    state: u64,
    style: Style,
    vars: Vec<String>,
    hints: Hints,
    scope: Vec<VarId>,
    /// Workspaces in scope.
    workspaces: Vec<BufferId>,
    /// Whether the workspace of bytes is in scope.
    marks: bool,
    /// Whether there may be calls of the private function.
    calls: bool,
}

/// A workspace of numbers.
const NUMBERS: BufferId = BufferId(3);
/// A workspace of integers.
const INTEGERS: BufferId = BufferId(4);

/// A workspace of bytes.
const MARKS: BufferId = BufferId(5);

/// A module with a function `f(inout A, inout C, in B)` over buffers of 16 elements, with workspaces of as many, and
/// for [`Style::Anything`] a private function of the same buffers and an integer that it calls.
pub fn module(seed: u64, style: Style) -> Module {
    let mut module = Module::default();
    module.symbol("N");
    module.symbol("M");
    let a = module.buffer("A", Element::F64, 16.into());
    let c = module.buffer("C", Element::F64, 16.into());
    let b = module.buffer("B.x", Element::F32, 16.into());
    module.buffer("W", Element::F64, 16.into());
    module.buffer("K", Element::I64, 16.into());
    module.buffer("Z", Element::U8, 16.into());
    module.buffers[NUMBERS.0 as usize].space = Space::ALL[seed as usize % Space::ALL.len()].0;
    let (vars, scope, workspaces) = (Vec::new(), Vec::new(), Vec::new());
    let hints = Hints::default();
    let (marks, calls) = (false, true);
    let mut random = Random { state: seed, style, vars, hints, scope, workspaces, marks, calls };
    let body = random.block(4, true);
    let args = vec![(a, Mode::InOut), (c, Mode::InOut), (b, Mode::In)];
    let mut function = Function::new("f", args);
    function.vars = std::mem::take(&mut random.vars);
    function.hints = std::mem::take(&mut random.hints);
    function.hints.compact = style == Style::Anything && seed.is_multiple_of(3);
    function.body = body;
    module.functions.push(function);
    if style == Style::Anything {
        module.functions.push(random.private_function());
    }
    module
}

impl Random {
    /// A number below `n` (splitmix64).
    fn below(&mut self, n: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn private_function(&mut self) -> Function {
        self.calls = false;
        let integer = self.bind();
        let inline = self.below(2) == 0;
        let (symbols, integers) = (vec![SymbolId(0), SymbolId(1)], vec![integer]);
        let args = [Mode::InOut, Mode::InOut, Mode::In].into_iter().zip(0..);
        let args = args.map(|(mode, buffer)| (BufferId(buffer), mode)).collect();
        let mut function = Function::new("g", args);
        function.private = Some(Private { symbols, integers, inline });
        function.body = self.block(2, true);
        function.vars = std::mem::take(&mut self.vars);
        function.hints = std::mem::take(&mut self.hints);
        function
    }

    fn block(&mut self, depth: usize, outermost: bool) -> Vec<Stmt> {
        let count = if outermost { 2 } else { [1, 1, 1, 2, 0][self.below(5)] };
        (0..count).map(|_| self.stmt(depth)).collect()
    }

    fn stmt(&mut self, depth: usize) -> Stmt {
        let wild = self.style == Style::Anything;
        if !wild && depth > 0 && self.below(6) == 0 {
            return self.nest();
        }
        match self.below(if depth == 0 { 2 } else { 9 + 8 * usize::from(wild) }) {
            0 if self.workspaces.contains(&INTEGERS) => self.integer(),
            0 if self.workspaces.contains(&NUMBERS) => self.through_workspace(),
            0 | 1 => Stmt::Store(Store {
                buffer: BufferId(self.below(2) as u32),
                index: self.subscript(),
                value: self.value(3),
                mode: [
                    StoreMode::Add,
                    StoreMode::Add,
                    StoreMode::Set,
                    [StoreMode::Min, StoreMode::Max, StoreMode::Multiply][self.below(3)],
                ][self.below(4)],
                stream: (self.below(4) == 0).then(|| self.condition(1)),
            }),
            2 => {
                let then = self.block(depth - 1, false);
                let otherwise =
                    if self.below(3) == 0 { self.block(depth - 1, false) } else { vec![] };
                Stmt::If(If { condition: self.condition(2), then, otherwise })
            }
            7 | 8 => self.with(depth),
            9 => {
                let (lower, upper, step) = self.range();
                let (begin, end) = (self.bind_loop(), self.bind());
                let scope = std::mem::replace(&mut self.scope, vec![end]);
                let work = (self.below(4) > 0).then(|| self.index(2));
                self.scope = scope;
                let body = self.block(depth - 1, false);
                self.scope.truncate(self.scope.len() - 2);
                Stmt::Partitioned(PartitionedRange { begin, end, lower, upper, step, work, body })
            }
            11 => {
                let starts = [self.index(1), self.index(1)];
                let vars = starts.map(|start| (self.bind(), start)).to_vec();
                let condition = self.condition(1);
                let next = vec![self.index(1), self.index(1)];
                let body = self.block(depth - 1, false);
                let after = self.block(depth - 1, false);
                self.scope.truncate(self.scope.len() - 2);
                Stmt::While(While { vars, condition, body, next, after })
            }
            12 => {
                let (lower, upper) = (self.index(1), self.index(1));
                let ranges = [(); 2].map(|()| [(); 3].map(|()| self.index(1)));
                let var = self.bind_loop();
                let cursors = ranges.map(|[start, end, width]| {
                    let position = self.bind();
                    let place = self.index(1);
                    self.scope.pop();
                    let step = 1 + self.below(2) as i64;
                    let [repeats, above, below] = [(); 3].map(|()| self.below(2) > 0);
                    Cursor { position, start, end, place, step, width, repeats, above, below }
                });
                let cases = [vec![0, 1], vec![1], vec![]].map(|chosen| {
                    self.scope.extend(chosen.iter().map(|cursor| cursors[*cursor].position));
                    let body = self.block(depth - 1, false);
                    self.scope.truncate(self.scope.len() - chosen.len());
                    Case { cursors: chosen, body }
                });
                self.scope.pop();
                let (cursors, cases) = (cursors.to_vec(), cases.to_vec());
                Stmt::CoIter(CoIter { var, lower, upper, cursors, cases })
            }
            13 => {
                let (part, parts) = (self.bind(), self.bind());
                let body = self.block(depth - 1, false);
                self.scope.truncate(self.scope.len() - 2);
                Stmt::Team(Team { part, parts, body })
            }
            15 => {
                let coordinate = self.index(1);
                let body = self.block(depth - 1, false);
                // Deeper statements have other depths.
                Stmt::Append(Append { level: depth, coordinate, body })
            }
            16 if !self.marks => self.scan(depth),
            14 if self.calls => {
                let buffers = [[0, 1, 2], [1, 0, 2]][self.below(2)].map(BufferId).to_vec();
                let integers = vec![self.index(2)];
                Stmt::Call(Call { function: FunctionId(1), integers, buffers })
            }
            10 if !self.workspaces.contains(&NUMBERS) => {
                let (lower, upper, step) = self.range();
                let (base, extent) = (self.index(1), self.index(1));
                let condition = self.condition(1);
                let finish = self.block(depth - 1, false);
                let [begin, end, shift] = [(); 3].map(|()| self.bind());
                let body = self.block(depth - 1, false);
                self.scope.truncate(self.scope.len() - 3);
                let (buffer, workspace) = (BufferId(0), NUMBERS);
                Stmt::Partial(Partial {
                    begin,
                    end,
                    lower,
                    upper,
                    step,
                    parts: 4,
                    condition,
                    buffer,
                    workspace,
                    shift,
                    base,
                    extent,
                    body,
                    finish,
                })
            }
            _ => {
                let (lower, mut upper, step) = self.range();
                let mark = match self.below(9) {
                    0 if wild => Mark::Parallel(ParallelLevel::ALL[self.below(4)].0),
                    1 if wild && lower.len() == 1 => {
                        upper = vec![lower[0].clone() + 2];
                        Mark::Unrolled
                    }
                    _ => Mark::Sequential,
                };
                let var = self.bind_loop();
                let body = self.block(depth - 1, false);
                self.scope.pop();
                Stmt::For(For { var, lower, upper, step, mark, body })
            }
        }
    }

    /// A scan of a workspace of bytes.
    fn scan(&mut self, depth: usize) -> Stmt {
        let (lower, upper) = (self.index(1), self.index(1));
        self.marks = true;
        let var = self.bind();
        let body = self.block(depth - 1, false);
        self.scope.pop();
        self.marks = false;
        let body = vec![Stmt::Scan(Scan { var, buffer: MARKS, lower, upper, body })];
        let (buffer, size) = (MARKS, self.index(1));
        Stmt::Workspace(Workspace { buffer, size, zero: true, instead: None, body })
    }

    /// A workspace, or where there are all of them an integer of one.
    fn with(&mut self, depth: usize) -> Stmt {
        let which = self.below(2);
        let buffer = match self.workspaces[..] {
            [] => [NUMBERS, INTEGERS][which],
            [NUMBERS] => INTEGERS,
            [INTEGERS] if which == 0 => NUMBERS,
            _ => {
                let index = self.subscript();
                let var = self.bind();
                let body = self.block(depth - 1, true);
                self.scope.pop();
                return Stmt::Let(Let { var, buffer: INTEGERS, index, body });
            }
        };
        let zero = self.style == Style::Runnable || self.below(2) == 0;
        let size = if zero { 16.into() } else { self.index(1) };
        self.workspaces.push(buffer);
        let body = self.block(depth - 1, true);
        self.workspaces.pop();
        // Whatever stands for it must not be written.
        let wild = self.style == Style::Anything && buffer == NUMBERS && self.below(3) == 0;
        let instead = wild.then(|| (BufferId(0), self.condition(1)));
        Stmt::Workspace(Workspace { buffer, size, zero, instead, body })
    }

    /// A small integer, stored to a workspace.
    fn integer(&mut self) -> Stmt {
        let value = Index::Mod(Box::new(self.index(1)), 8);
        let (buffer, index) = (INTEGERS, self.subscript());
        let mode =
            [StoreMode::Set, StoreMode::Add, StoreMode::Multiply, StoreMode::Min, StoreMode::Max]
                [self.below(5)];
        Stmt::Store(Store { buffer, index, value: Value::FromIndex(value), mode, stream: None })
    }

    /// A number, stored to a workspace or taken from it.
    fn through_workspace(&mut self) -> Stmt {
        let index = self.subscript();
        if self.below(2) == 0 {
            return Stmt::add(NUMBERS, index, self.value(2));
        }
        let value = Value::Load(NUMBERS, self.subscript());
        Stmt::add(BufferId(0), index, value)
    }

    /// Independent loops around a sum: what passes cut into tiles.
    fn nest(&mut self) -> Stmt {
        let outside = self.scope.len();
        let mut ranges = Vec::new();
        for at in 0..2 {
            let around = self.scope.last().filter(|_| at > 0).copied();
            let lower = around.filter(|_| self.below(3) == 0).map_or(Index::Const(0), Index::Var);
            let upper = [Index::Const(4), Index::Symbol(SymbolId(0))][self.below(2)].clone();
            ranges.push((self.bind_loop(), lower, upper));
        }
        let [i, j] = [ranges[0].0, ranges[1].0];
        let last =
            [Index::Const(4), Index::Symbol(SymbolId(1)), Index::Var(i) + 1][self.below(3)].clone();
        let k = self.bind_loop();
        let load = |random: &mut Random| {
            let terms = [i, j, k].into_iter().filter(|_| random.below(2) == 0).map(Index::Var);
            let place = terms.fold(Index::Const(0), |sum, term| sum + term);
            Value::Load(BufferId(2), place + random.below(5) as i64)
        };
        let body = load(self) * load(self);
        self.scope.truncate(outside);
        let value = Value::sum(k, Index::Const(0), last, body);
        let mode = [StoreMode::Set, StoreMode::Add][self.below(2)];
        let index = Index::Var(i) * 4 + Index::Var(j);
        let store = Stmt::Store(Store { buffer: BufferId(1), index, value, mode, stream: None });
        let mut stmt = store;
        for (var, lower, upper) in ranges.into_iter().rev() {
            stmt = Stmt::For(For::new(var, lower, upper, vec![stmt]).parallel());
        }
        stmt
    }

    /// A loop's variable, perhaps with a hint.
    fn bind_loop(&mut self) -> VarId {
        let var = self.bind();
        if self.below(5) == 0 {
            let numbers = [1, 2, 3, 64].map(|n| (self.below(4) == 0).then_some(n));
            let [unroll, block, tile, lanes] = numbers;
            let blocks = block.filter(|_| self.style == Style::Anything && self.below(2) == 0);
            let [scheduled, ordered, threads, guided, irregular, columns, nest] =
                [(); 7].map(|()| self.below(3) == 0);
            let vectorize = [None, None, Some(true), Some(false)][self.below(4)];
            let [block, tile, lanes, nest] = match self.style {
                Style::Anything => [block, tile, lanes, nest.then_some(1)],
                Style::Runnable => [None; 4],
            };
            let nest = nest.is_some();
            self.hints.update(var, |hint| {
                *hint = Hint {
                    scheduled,
                    ordered,
                    unroll,
                    vectorize,
                    block,
                    blocks,
                    threads,
                    guided,
                    irregular,
                    columns,
                    chunk: None,
                    beyond: None,
                    nest,
                    tile,
                    lanes,
                };
            });
        }
        var
    }

    fn bind(&mut self) -> VarId {
        let var = VarId(self.vars.len() as u32);
        let name = ["i", "j", "N", "c'1", "min", "to"][self.below(6)];
        self.vars.push(name.to_owned());
        self.scope.push(var);
        var
    }

    fn range(&mut self) -> (Vec<Index>, Vec<Index>, i64) {
        let bounds = |random: &mut Random, upper: bool| {
            (0..[1, 1, 1, 2][random.below(4)])
                .map(|_| match random.below(3) {
                    0 if upper => Index::Symbol(SymbolId(random.below(2) as u32)),
                    0 => Index::Const(0),
                    1 => Index::Const(random.below(4) as i64),
                    _ => random.affine(1),
                })
                .collect()
        };
        let (lower, upper) = (bounds(self, false), bounds(self, true));
        (lower, upper, [1, 1, 1, 2][self.below(4)])
    }

    fn leaf(&mut self) -> Index {
        match self.below(5) {
            0 => Index::Const(self.below(9) as i64 - 4),
            1 => Index::Symbol(SymbolId(self.below(2) as u32)),
            _ if self.scope.is_empty() => Index::Const(1),
            _ => {
                let at = self.below(self.scope.len());
                Index::Var(self.scope[at])
            }
        }
    }

    fn affine(&mut self, depth: usize) -> Index {
        if depth == 0 {
            return self.leaf();
        }
        let by = 1 + self.below(3) as i64;
        let left = Box::new(self.affine(depth - 1));
        match self.below(9) {
            8 => {
                let by = Index::Max(Box::new(Index::Const(1)), Box::new(self.affine(depth - 1)));
                Index::Quotient(left, Box::new(by))
            }
            0 | 1 => Index::Add(left, Box::new(self.affine(depth - 1))),
            2 => Index::Sub(left, Box::new(self.affine(depth - 1))),
            3 => Index::Mul(Box::new(Index::Const(by - 2)), left),
            4 => Index::FloorDiv(left, by),
            5 => Index::Mod(left, by),
            6 if self.style == Style::Anything => {
                let (index, size) = (*left, self.affine(depth - 1));
                Index::Within(Box::new(Within { index, buffer: BufferId(0), size }))
            }
            6 => Index::Min(left, Box::new(self.affine(depth - 1))),
            _ => Index::Max(left, Box::new(self.affine(depth - 1))),
        }
    }

    /// Any expression; exact divisions divide.
    fn index(&mut self, depth: usize) -> Index {
        if depth == 0 {
            return self.leaf();
        }
        match self.below(6) {
            0 => Index::Mul(Box::new(self.index(depth - 1)), Box::new(self.index(depth - 1))),
            1 => {
                let even = Index::Mul(Box::new(Index::Const(4)), Box::new(self.index(depth - 1)));
                Index::ExactDiv(Box::new(even), 1 << self.below(3))
            }
            2 => Index::Select(
                Box::new(self.condition(1)),
                Box::new(self.index(depth - 1)),
                Box::new(self.index(depth - 1)),
            ),
            3 => Index::Add(Box::new(self.index(depth - 1)), Box::new(self.index(depth - 1))),
            _ => self.affine(depth),
        }
    }

    fn subscript(&mut self) -> Index {
        match self.style {
            Style::Anything => self.index(3),
            Style::Runnable => {
                let depth = self.below(3);
                Index::Mod(Box::new(self.index(depth)), 16)
            }
        }
    }

    fn condition(&mut self, depth: usize) -> Condition {
        let op = Compare::ALL;
        match self.below(if depth == 0 { 3 } else { 5 }) {
            0..=2 => Condition::Compare(op[self.below(6)], self.affine(1), self.affine(1)),
            which => {
                let list = (0..self.below(4)).map(|_| self.condition(depth - 1)).collect();
                if which == 3 { Condition::And(list) } else { Condition::Or(list) }
            }
        }
    }

    /// Functions, comparisons, selections and conversions. Where values are compared, those that differ a little must
    /// not be told apart: what is discontinuous is of integers only.
    fn elementwise(&mut self, depth: usize) -> Value {
        let wild = self.style == Style::Anything;
        let exact = |random: &mut Random| match wild {
            true => random.value(depth),
            false => Value::FromIndex(random.index(1)),
        };
        match self.below(5) {
            0 => {
                let list = MathFunction::ALL;
                let smooth = [MathFunction::Tanh, MathFunction::Abs, MathFunction::Atan];
                let list = if wild { list } else { &smooth };
                let function = match list[self.below(list.len())] {
                    MathFunction::Complex => MathFunction::Hypot, // all numbers here are real
                    function => function,
                };
                let of = (0..function.arity()).map(|_| self.value(depth)).collect();
                Value::Apply(function, of)
            }
            1 => {
                let list = [MathFunction::Sign, MathFunction::Floor, MathFunction::Round];
                let quotients = [MathFunction::FloorDivide, MathFunction::Mod];
                match self.below(5) {
                    at @ 0..3 => Value::Apply(list[at], vec![exact(self)]),
                    at => {
                        let divisor = Value::Const([2.0, 3.0, -5.0][self.below(3)]);
                        Value::Apply(quotients[at - 3], vec![exact(self), divisor])
                    }
                }
            }
            2 => Value::Cast([Element::I8, Element::F32][self.below(2)], Box::new(exact(self))),
            3 => {
                let (left, right) = (exact(self), exact(self));
                Value::Compare(Compare::ALL[self.below(6)], Box::new(left), Box::new(right))
            }
            _ => {
                let condition = exact(self);
                Value::Select(Box::new([condition, self.value(depth), self.value(depth)]))
            }
        }
    }

    fn value(&mut self, depth: usize) -> Value {
        let loads = |random: &mut Random| match random.style {
            // Loads of accumulators stay rare and additive, or values explode.
            Style::Runnable => BufferId(2),
            Style::Anything => BufferId(random.below(5) as u32),
        };
        match self.below(if depth == 0 { 3 } else { 15 }) {
            11 | 12 => self.elementwise(depth - 1),
            0 => Value::Const([0.0, 1.0, -2.0, 0.5][self.below(4)]),
            1 => Value::FromIndex(self.index(1)),
            2 | 3 => Value::Load(loads(self), self.subscript()),
            4 => Value::Add(Box::new(self.value(depth - 1)), Box::new(self.value(depth - 1))),
            8 => {
                let two: fn(_, _) -> _ = [Value::Min, Value::Max][self.below(2)];
                two(Box::new(self.value(depth - 1)), Box::new(self.value(depth - 1)))
            }
            9 => Value::Truth(Box::new(self.value(depth - 1))),
            5 | 6 => Value::Mul(Box::new(self.value(depth - 1)), Box::new(self.value(depth - 1))),
            7 => {
                let by = Value::Const([1.0, 2.0, 4.0][self.below(3)]);
                let by = if self.style == Style::Anything { self.value(depth - 1) } else { by };
                Value::Div(Box::new(self.value(depth - 1)), Box::new(by))
            }
            _ => {
                let (lower, upper, step) = self.range();
                let var = self.bind_loop();
                let condition = (self.below(3) == 0).then(|| self.condition(1));
                let fetch = (self.below(4) == 0).then(|| (BufferId(0), self.index(1)));
                let fetch = fetch.into_iter().collect();
                let body = self.value(depth - 1);
                self.scope.pop();
                let unroll = [None, None, Some(3)][self.below(3)];
                let kinds = [
                    Reduction::Sum,
                    Reduction::Sum,
                    Reduction::Product,
                    Reduction::Min,
                    Reduction::Max,
                ];
                Value::Sum(Box::new(Sum {
                    kind: kinds[self.below(4)],
                    var,
                    lower,
                    upper,
                    step,
                    unroll,
                    condition,
                    fetch,
                    body,
                }))
            }
        }
    }
}
