//! Random modules, compiled and interpreted. The interpreter judges.

use super::*;
use dastac_loops::{interp, verify};

/// Elements that each parallel iteration has to itself.
const BLOCK: i64 = 8;
/// Iterations of the outermost loop.
const BLOCKS: i64 = 6;

/// A generator: splitmix64, and what is in scope.
struct Random {
    state: u64,
    names: Vec<String>,
    scope: Vec<VarId>,
    /// Whether the workspaces are in scope.
    workspaces: bool,
}

/// Most reductions are sums: an empty one that is not is infinite.
const KINDS: [Reduction; 4] = [Reduction::Sum, Reduction::Product, Reduction::Min, Reduction::Max];

const MODES: [StoreMode; 5] =
    [StoreMode::Set, StoreMode::Add, StoreMode::Multiply, StoreMode::Min, StoreMode::Max];

/// Workspaces: of numbers, and of integers.
const WORKSPACES: [BufferId; 2] = [BufferId(4), BufferId(5)];

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize].clone()
    }

    fn bind(&mut self) -> VarId {
        let var = VarId(self.names.len() as u32);
        self.names.push(self.state.to_string());
        self.scope.push(var);
        var
    }

    fn leaf(&mut self) -> Index {
        match self.below(4) {
            0 => c(self.below(11) as i64 - 5),
            1 => Index::Symbol(SymbolId(self.below(2) as u32)),
            _ => v(self.pick(&self.scope.clone())),
        }
    }

    fn affine(&mut self, depth: u32) -> Index {
        if depth == 0 {
            return self.leaf();
        }
        let by = 1 + self.below(5) as i64;
        let left = Box::new(self.affine(depth - 1));
        match self.below(9) {
            0 | 1 => Index::Add(left, Box::new(self.affine(depth - 1))),
            2 => Index::Sub(left, Box::new(self.affine(depth - 1))),
            3 => Index::Mul(Box::new(c(by - 3)), left),
            4 => Index::FloorDiv(left, by),
            5 => Index::Mod(left, by),
            6 => Index::Min(left, Box::new(self.affine(depth - 1))),
            7 => Index::Max(left, Box::new(self.affine(depth - 1))),
            _ => {
                let by = Index::Max(Box::new(c(1)), Box::new(self.affine(depth - 1)));
                Index::Quotient(left, Box::new(by))
            }
        }
    }

    fn index(&mut self, depth: u32) -> Index {
        if depth == 0 {
            return self.leaf();
        }
        let left = Box::new(self.index(depth - 1));
        match self.below(6) {
            0 => Index::Mul(left, Box::new(self.index(depth - 1))),
            1 => {
                let by = self.pick(&[1, 2, 3, 4, 6]);
                Index::ExactDiv(Box::new(Index::Mul(Box::new(c(12)), left)), by)
            }
            2 => Index::Select(Box::new(self.condition(1)), left, Box::new(self.index(depth - 1))),
            3 => Index::Sub(left, Box::new(self.index(depth - 1))),
            _ => self.affine(depth),
        }
    }

    fn condition(&mut self, depth: u32) -> Condition {
        use Compare::*;
        match self.below(if depth == 0 { 3 } else { 5 }) {
            0..3 => {
                let op = self.pick(&[Eq, Ne, Lt, Le, Gt, Ge]);
                Condition::Compare(op, self.affine(1), self.affine(2))
            }
            which => {
                let list = (0..self.below(4)).map(|_| self.condition(depth - 1)).collect();
                if which == 3 { Condition::And(list) } else { Condition::Or(list) }
            }
        }
    }

    fn range(&mut self) -> (Vec<Index>, Vec<Index>, i64) {
        let bounds = |random: &mut Random| {
            (0..1 + random.below(2)).map(|_| random.affine(2)).collect::<Vec<_>>()
        };
        let (lower, mut upper) = (bounds(self), bounds(self));
        // Not far above, or nests take long.
        upper.push(lower[0].clone() + 6);
        (lower, upper, 1 + self.below(3) as i64)
    }

    /// Functions of any number, and what tells close numbers apart of integers only.
    fn elementwise(&mut self, depth: u32) -> Value {
        let exact = |random: &mut Random| Value::FromIndex(random.index(1));
        match self.below(5) {
            0 => {
                let function =
                    self.pick(&[MathFunction::Tanh, MathFunction::Abs, MathFunction::Atan]);
                Value::Apply(function, vec![self.value(depth)])
            }
            1 => {
                let quotients = [MathFunction::FloorDivide, MathFunction::Mod];
                let function = self.pick(&[MathFunction::Sign, quotients[0], quotients[1]]);
                let mut of = vec![exact(self)];
                if function.arity() == 2 {
                    of.push(Value::Const(self.pick(&[2.0, 3.0, -5.0])));
                }
                Value::Apply(function, of)
            }
            2 => {
                let element = self.pick(&[Element::I8, Element::F32, Element::U8]);
                Value::Cast(element, Box::new(exact(self)))
            }
            3 => {
                let (left, right) = (exact(self), exact(self));
                Value::Compare(self.pick(&Compare::ALL), Box::new(left), Box::new(right))
            }
            _ => {
                let condition = exact(self);
                Value::Select(Box::new([condition, self.value(depth), self.value(depth)]))
            }
        }
    }

    fn value(&mut self, depth: u32) -> Value {
        let inside = |index| Index::Mod(Box::new(index), BLOCK * BLOCKS);
        match self.below(if depth == 0 { 3 } else { 13 }) {
            10..12 => self.elementwise(depth - 1),
            0 => Value::Const(self.pick(&[0.0, 1.0, -2.0, 0.5])),
            1 => Value::FromIndex(self.index(1)),
            2 => Value::Load(self.pick(&[BufferId(2), BufferId(3)]), inside(self.index(2))),
            3 => Value::Add(Box::new(self.value(depth - 1)), Box::new(self.value(depth - 1))),
            4 => Value::Mul(Box::new(self.value(depth - 1)), Box::new(self.value(depth - 1))),
            6 => {
                let two: fn(_, _) -> _ = self.pick(&[Value::Min, Value::Max]);
                two(Box::new(self.value(depth - 1)), Box::new(self.value(depth - 1)))
            }
            7 => Value::Truth(Box::new(self.value(depth - 1))),
            5 => Value::Div(Box::new(self.value(depth - 1)), Box::new(Value::Const(4.0))),
            _ => {
                let (lower, upper, step) = self.range();
                let var = self.bind();
                let condition = (self.below(2) == 0).then(|| self.condition(1));
                // Anywhere: what does not exist is not fetched.
                let fetch = vec![(BufferId(2), self.index(1))];
                let body = self.value(depth - 1);
                self.scope.pop();
                let unroll = [None, None, Some(1), Some(3)][self.below(4) as usize];
                Value::Sum(Box::new(Sum {
                    kind: self.pick(&KINDS),
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

    fn block(&mut self, depth: u32) -> Vec<Stmt> {
        (0..1 + self.below(2)).map(|_| self.stmt(depth)).collect()
    }

    fn stmt(&mut self, depth: u32) -> Stmt {
        match self.below(if depth == 0 { 3 } else { 7 }) {
            6 => self.with_workspaces(depth),
            which @ 0..3 if self.workspaces && self.below(2) == 0 => {
                let index = Index::Mod(Box::new(self.index(1)), BLOCK);
                let mode = self.pick(&MODES);
                let value = match which {
                    0 => Value::FromIndex(Index::Mod(Box::new(self.index(1)), 32)),
                    _ => self.value(2),
                };
                let buffer = WORKSPACES[usize::from(which == 0)];
                Stmt::Store(Store { buffer, index, value, mode, stream: None })
            }
            which @ 0..3 => {
                let local = Index::Mod(Box::new(self.index(2)), BLOCK);
                let index = v(self.scope[0]) * BLOCK + local;
                let mode = self.pick(&MODES);
                let (buffer, value) = match which {
                    0 => (BufferId(1), Value::FromIndex(self.index(2))),
                    _ => (BufferId(0), self.value(3)),
                };
                let stream = (self.below(3) == 0).then(|| self.condition(1));
                Stmt::Store(Store { buffer, index, value, mode, stream })
            }
            3 => {
                let condition = self.condition(2);
                let otherwise = if self.below(2) == 0 { self.block(depth - 1) } else { vec![] };
                Stmt::If(If { condition, then: self.block(depth - 1), otherwise })
            }
            _ => {
                let (lower, upper, step) = self.range();
                let var = self.bind();
                let body = self.block(depth - 1);
                self.scope.pop();
                Stmt::For(For { var, lower, upper, step, mark: Mark::Sequential, body })
            }
        }
    }

    /// Both workspaces, or where they are an integer of one and what a number of the other is added to.
    fn with_workspaces(&mut self, depth: u32) -> Stmt {
        if self.workspaces {
            let index = Index::Mod(Box::new(self.index(1)), BLOCK);
            let var = self.bind();
            let mut body = self.block(depth - 1);
            self.scope.pop();
            let own = |index: Index| Index::Mod(Box::new(index), BLOCK);
            let value = Value::Load(WORKSPACES[0], own(v(var) + 1));
            body.push(Stmt::add(BufferId(0), v(self.scope[0]) * BLOCK + own(v(var)), value));
            return Stmt::Let(Let { var, buffer: WORKSPACES[1], index, body });
        }
        self.workspaces = true;
        let body = self.block(depth - 1);
        self.workspaces = false;
        // On the stack, and not.
        let sizes = [c(BLOCK), Index::Symbol(SymbolId(0)).max(c(BLOCK))];
        let sizes = if self.below(2) == 0 { sizes } else { [sizes[1].clone(), sizes[0].clone()] };
        WORKSPACES
            .into_iter()
            .zip(sizes)
            .fold(body, |body, (buffer, size)| {
                vec![Stmt::Workspace(Workspace { buffer, size, zero: true, instead: None, body })]
            })
            .remove(0)
    }
}

/// One parallel loop, each iteration of which writes a block of its own.
fn module(seed: u64) -> Module {
    let mut build = Build::new("f");
    build.symbol("n");
    build.symbol("m");
    for (name, element, mode) in [
        ("out", Element::F64, Mode::InOut),
        ("count", Element::I64, Mode::InOut),
        ("x", Element::F64, Mode::In),
        ("y", Element::F32, Mode::In),
    ] {
        build.buffer(name, element, mode, c(BLOCK * BLOCKS));
    }
    let sizes = [c(BLOCK), Index::Symbol(SymbolId(0))];
    let elements = [Element::F64, Element::U32];
    for (name, (element, size)) in ["W", "K"].into_iter().zip(elements.into_iter().zip(sizes)) {
        build.module.buffer(name, element, size);
    }
    let (names, scope) = (Vec::new(), Vec::new());
    let mut random = Random { state: seed, names, scope, workspaces: false };
    let var = random.bind();
    let body = random.block(3);
    build.function.vars = random.names;
    build.finish(vec![Stmt::For(For::new(var, c(0), c(BLOCKS), body).parallel())])
}

#[test]
fn compiled_and_interpreted_agree() {
    let length = (BLOCK * BLOCKS) as usize;
    let (x, y) = (numbers(length), numbers(length));
    let single: Vec<f32> = y.iter().map(|y| *y as f32).collect();
    let mut ran = 0;
    for seed in 0..30 {
        let module = module(seed);
        verify(&module).unwrap_or_else(|errors| panic!("{module}\n{errors:?}"));
        let load = |parallel| load(&compiled(&module, parallel));
        let jits = [load(false), load(true)];
        for params in [[5, 3], [0, -2], [-7, 11]] {
            let mut data = [
                interp::Data::Float(x.clone()),
                interp::Data::Int(vec![7; length]),
                interp::Data::Float(x.clone()),
                interp::Data::Float(y.clone()),
            ];
            if interp::run_steps(&module, "f", &params, &mut data, 20_000_000).is_err() {
                continue;
            }
            ran += 1;
            for jit in &jits {
                let (mut out, mut count) = (x.clone(), vec![7_i64; length]);
                let buffers = &mut [
                    Argument::write(&mut out),
                    Argument::write(&mut count),
                    Argument::read(&x),
                    Argument::read(&single),
                ];
                jit.call_on(Threads::Of(2), "f", &params, buffers).unwrap();
                assert_eq!(Some(&count[..]), data[1].as_int(), "seed {seed}: {module}");
                let finite = out.iter().filter(|x| x.is_finite());
                let largest = finite.fold(1.0_f64, |max, x| max.max(x.abs()));
                for (at, (got, want)) in out.iter().zip(data[0].as_float().unwrap()).enumerate() {
                    let close = got == want
                        || got.is_nan() && want.is_nan()
                        || (got - want).abs() <= 1e-9 * largest;
                    assert!(
                        close,
                        "seed {seed}, {params:?}: out[{at}] = {got}, not {want}: {module}"
                    );
                }
            }
        }
    }
    assert!(ran > 60, "too few programs ran: {ran}");
}
