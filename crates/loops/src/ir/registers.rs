//! Register code: statements of one operation each, over registers with one or several lanes.
//!
//! Stores of expressions say what is computed; register code says how: which lanes hold which values, which partial
//! sums run side by side, and which values are computed once. [`crate::passes::registers`] makes it of stores, and
//! code generation translates it one operation after the other, without a choice of its own.
//!
//! Invariants (checked by [`crate::verify()`]):
//! - A register is defined by one statement, and used behind it in the same block or inside of later statements there.
//! - Operands have the types that their operation asks for. Nothing but `cast` converts between registers: loads
//!   convert to the type that is computed in, writes to that of the buffer.
//! - Masked-off lanes access no memory.

use super::{BufferId, Compare, Condition, Element, Index, MathFunction, Stmt, Value, VarId};

/// A register of one [`super::Function`]; indexes [`super::Function::registers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegId(pub u32);

/// What each lane of a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaneKind {
    /// A number: `f64`, `f32` or a 64-bit integer that wraps around.
    Number(Element),
    /// An integer of subscripts, which does not overflow.
    Integer,
    /// Whether something holds: a mask, if there are several lanes.
    Truth,
}

/// The type of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RegisterType {
    /// What a lane holds.
    pub kind: LaneKind,
    /// Number of lanes: 1 for a scalar.
    pub lanes: usize,
}

/// A statement of register code.
#[derive(Clone, Debug, PartialEq)]
pub enum RegisterStmt {
    /// `$r : type = operation`.
    Define(RegId, Operation),
    /// A variable that stands for an integer.
    Integer(Integer),
    /// A loop that carries registers.
    Carry(Carry),
    /// A conditional that gives registers.
    Choose(Choose),
    /// A write of all lanes of a register.
    Write(Write),
    /// A product of small matrices that the lanes of a block compute together.
    Multiply(Box<Multiply>),
    /// An element that is copied while the lane goes on.
    Fetch(Box<Fetch>),
    /// `arrive n`: what was fetched since the last `arrive` is a group. Waits until all groups of this lane but the
    /// last `n` are there; other lanes read them after the next barrier.
    Arrive(i64),
    /// `prefetch buffer[index]`: the element will be read soon; it need not exist.
    Prefetch(BufferId, Index),
    /// `fence`: other threads see what was written past the caches.
    Fence,
}

/// `integer v = index`: a variable that stands for an integer up to the end of the block. `wrapping v = index` promises
/// nothing about overflow.
#[derive(Clone, Debug, PartialEq)]
pub struct Integer {
    /// The variable.
    pub var: VarId,
    /// What it stands for.
    pub index: Index,
    /// Whether a code generator must not conclude from the arithmetic that it does not overflow. A difference of bounds
    /// may where the range is empty.
    pub wraps: bool,
}

/// `carry v = max(lower..) to min(upper..) step s with $a : type = $init, .. { body } next $b, .. gives $c, ..`: a
/// sequential loop whose iterations hand registers on.
#[derive(Clone, Debug, PartialEq)]
pub struct Carry {
    /// The variable that the loop binds.
    pub var: VarId,
    /// Lower bounds; their maximum is the first value. Never empty, no selections.
    pub lower: Vec<Index>,
    /// Exclusive upper bounds; their minimum ends the loop. Never empty, no selections.
    pub upper: Vec<Index>,
    /// Positive step.
    pub step: i64,
    /// What is handed on.
    pub carried: Vec<Carried>,
    /// The statements of one iteration.
    pub body: Vec<Stmt>,
}

/// A register that the iterations of a [`Carry`] hand on; the four have one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// What an iteration finds: defined in the body.
    pub current: RegId,
    /// What the first one finds.
    pub init: RegId,
    /// What an iteration hands to the next one: defined in the body.
    pub next: RegId,
    /// What the last one handed on, or `init` where there is none: defined behind the loop.
    pub result: RegId,
}

/// `choose if condition { then } else { otherwise } gives $r : type = $a or $b, ..`.
#[derive(Clone, Debug, PartialEq)]
pub struct Choose {
    /// What decides.
    pub condition: Test,
    /// Executed where it holds.
    pub then: Vec<Stmt>,
    /// Executed where it does not.
    pub otherwise: Vec<Stmt>,
    /// What is known behind it.
    pub results: Vec<Chosen>,
}

/// A register that is one of two; all have one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Defined behind the conditional.
    pub result: RegId,
    /// What it is where the condition holds.
    pub then: RegId,
    /// What it is where it does not.
    pub otherwise: RegId,
}

/// What decides about a [`Choose`].
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// A condition over integers, without selections.
    Condition(Condition),
    /// A scalar register that holds a truth value.
    Register(RegId),
}

/// `write buffer[index] = $r`: lane `l` is written to the element `index + l`.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// The buffer written to.
    pub buffer: BufferId,
    /// Where lane 0 goes.
    pub index: Index,
    /// The register.
    pub value: RegId,
    /// Past all caches, to a place aligned to so many bytes.
    pub streamed: Option<usize>,
}

/// `multiply held[lane of lanes] += left[at] rows by own, term * right[at] columns by own, term in terms`: a part of a
/// product of matrices, of which each lane of a block holds elements. What a lane does, it does alone; but where 32
/// neighbouring lanes (a warp) do it with the same numbers, a device may have one instruction for all of them.
///
/// A warp computes `rows` times `columns` fragments of 8 x 8. With `g = lane % 32 / 4` and `q = lane % 4`, a lane holds
/// row `g` and columns `2 * q + e` (`e < 2`) of each fragment: for all `r < rows` and `c < columns`,
/// ```text
/// held[lanes * (2 * (columns * r + c) + e) + lane] += sum(l = 0 to terms)
///     left[left.at + left.own * (8 * r + g) + left.term * l]
///         * right[right.at + right.own * (8 * c + 2 * q + e) + right.term * l]
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Multiply {
    /// What is added to: element `lanes * n + lane` is number `n` of a lane.
    pub held: BufferId,
    /// The number of the lane that executes this.
    pub lane: Index,
    /// Lanes of a block.
    pub lanes: i64,
    /// The factor for rows.
    pub left: Factor,
    /// The factor for columns.
    pub right: Factor,
    /// How many products are added to each element; a multiple of 4.
    pub terms: i64,
}

/// `fetch buffer[at] = from[source]`: an element is copied while the lane goes on. It is there once the lane has waited
/// for it with [`RegisterStmt::Arrive`]; until then nobody reads or writes it. Both buffers have elements of the same
/// type, of 4 or 8 bytes; the first one is in the memory that a block shares, the other one in the device's.
#[derive(Clone, Debug, PartialEq)]
pub struct Fetch {
    /// Where the copy goes.
    pub buffer: BufferId,
    /// The place of the copy.
    pub at: Index,
    /// Where the element is.
    pub from: BufferId,
    /// The place of the element.
    pub source: Index,
}

/// A factor of [`Multiply`].
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// Where its elements are.
    pub buffer: BufferId,
    /// The place of its first element: the same for all lanes of a warp.
    pub at: Index,
    /// Fragments of 8 rows or columns.
    pub count: i64,
    /// From one row or column to the next.
    pub own: i64,
    /// From one term to the next.
    pub term: i64,
}

impl Fetch {
    /// The element, as a value.
    pub fn value(&self) -> Value {
        Value::load(self.from, self.source.clone())
    }

    pub(crate) fn map(&self, index: &mut dyn FnMut(&Index) -> Index) -> Fetch {
        Fetch { at: index(&self.at), source: index(&self.source), ..*self }
    }
}

/// Rows and columns of a fragment.
pub const FRAGMENT: i64 = 8;

impl Multiply {
    /// Of an element that a lane holds, in row `r` and column `c` of the fragments and with `e`: its place in `held`
    /// and those of the first term of both factors.
    pub fn element(&self, [r, c, e]: [Index; 3]) -> [Index; 3] {
        let number = (r.clone() * self.right.count + c.clone()) * 2 + e.clone();
        let row = self.row() + r * FRAGMENT;
        let column = self.lane.clone().modulo(4) * 2 + (c * FRAGMENT + e);
        [
            number * self.lanes + self.lane.clone(),
            self.left.at.clone() + row * self.left.own,
            self.right.at.clone() + column * self.right.own,
        ]
    }

    /// The row of a fragment that the lane has, and the column that it loads for the others.
    pub fn row(&self) -> Index {
        self.lane.clone().modulo(32).floor_div(4)
    }

    /// The same as loops, over four variables, around a store of a sum.
    pub fn loops(&self, [r, c, e, term]: [VarId; 4]) -> Stmt {
        let [at, left, right] = self.element([r, c, e].map(Index::Var));
        let place = |at: Index, by: i64| at + Index::Var(term) * by;
        let left = Value::load(self.left.buffer, place(left, self.left.term));
        let right = Value::load(self.right.buffer, place(right, self.right.term));
        let value = Value::sum(term, Index::Const(0), Index::Const(self.terms), left * right);
        let ranges = [(e, 2), (c, self.right.count), (r, self.left.count)];
        ranges.into_iter().fold(Stmt::add(self.held, at, value), |inner, (var, count)| {
            Stmt::for_range(var, Index::Const(0), Index::Const(count), vec![inner])
        })
    }

    pub(crate) fn map(&self, index: &mut dyn FnMut(&Index) -> Index) -> Multiply {
        let mut new = self.clone();
        new.indices_mut().into_iter().for_each(|one| *one = index(one));
        new
    }

    fn indices(&self) -> [&Index; 3] {
        [&self.lane, &self.left.at, &self.right.at]
    }

    fn indices_mut(&mut self) -> [&mut Index; 3] {
        [&mut self.lane, &mut self.left.at, &mut self.right.at]
    }
}

/// What a register is defined as.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// `constant c`: one number in all lanes. Of integers, infinities are the largest and the smallest one.
    Constant(f64),
    /// `convert i`: an integer as a number, in one lane.
    Convert(Index),
    /// `lanes i by s`: the integers `i`, `i + s`, .. in the lanes.
    Lanes(Index, i64),
    /// `load buffer[i] where $mask`: see [`VectorLoad`].
    Load(VectorLoad),
    /// `gather buffer[$places] where $mask`: lane `l` holds the element at lane `l` of the places, 0 where it is masked
    /// off.
    Gather(Gather),
    /// `broadcast $r`: a scalar in all lanes.
    Broadcast(RegId),
    /// `add $a, $b` and the like.
    Binary(BinaryOp, RegId, RegId),
    /// `fma $a, $b, $c`: `a * b + c` in one rounding.
    Fma(RegId, RegId, RegId),
    /// `truth $r`: 0 where the number is 0, else 1.
    Truth(RegId),
    /// `apply exp $a`: a function of numbers.
    Apply(MathFunction, Vec<RegId>),
    /// `cast i32 $a`: numbers as elements of this type hold them, see [`super::Value::Cast`], in the type that is
    /// computed in.
    Cast(Element, RegId),
    /// `compare $a < $b`: which lanes of two registers of integers, or of numbers, compare so.
    Compare(Compare, RegId, RegId),
    /// `first i`, `first bits i`: a mask of the first `i` lanes, of all if there are fewer.
    First(FirstLanes),
    /// `holds c`: a truth value in one lane. The condition makes no selections.
    Holds(Condition),
    /// `aligned buffer[i, ..] to b`: whether these elements lie at multiples of `b` bytes, in one lane.
    Aligned(Aligned),
    /// `select $mask, $a, $b`: lanes of one register where the mask holds, else of the other. A scalar in place of the
    /// mask decides about all lanes.
    Select(RegId, RegId, RegId),
    /// `pack $a, $b, ..`: scalars, one in each lane.
    Pack(Vec<RegId>),
    /// `shuffle $a, $b [0, 2, ..]`: some lanes of two registers, numbered from those of the first on.
    Shuffle(RegId, RegId, Vec<usize>),
    /// `extract $a[l]`: one lane.
    Extract(RegId, usize),
}

/// Neighbouring elements: lane `l` holds the element `index + l`, or `index - l` if it is reversed; 0 where it is
/// masked off. A scalar is one element.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorLoad {
    /// The buffer loaded from.
    pub buffer: BufferId,
    /// The place of lane 0.
    pub index: Index,
    /// Whether places descend.
    pub reversed: bool,
    /// Which lanes are loaded; all if not given.
    pub mask: Option<RegId>,
}

/// Elements at any places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gather {
    /// The buffer loaded from.
    pub buffer: BufferId,
    /// A register of integers.
    pub places: RegId,
    /// Which lanes are loaded; all if not given.
    pub mask: Option<RegId>,
}

/// How a mask of the first lanes is made.
#[derive(Clone, Debug, PartialEq)]
pub struct FirstLanes {
    /// How many lanes.
    pub count: Index,
    /// From the bits of a number, which keeps the units free that compare lanes: the count is at most that of lanes.
    pub from_bits: bool,
}

/// A question about addresses.
#[derive(Clone, Debug, PartialEq)]
pub struct Aligned {
    /// The buffer.
    pub buffer: BufferId,
    /// The elements.
    pub indices: Vec<Index>,
    /// A power of two.
    pub bytes: usize,
}

/// An operation on two registers of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// Sum.
    Add,
    /// Difference, of integers only.
    Sub,
    /// Product.
    Mul,
    /// Quotient, of floats only.
    Div,
    /// The smaller; not a number where one is not.
    Min,
    /// The larger; not a number where one is not.
    Max,
    /// Whether both hold, of truth values only.
    And,
}

impl BinaryOp {
    /// All of them.
    pub const ALL: [BinaryOp; 7] = [
        BinaryOp::Add,
        BinaryOp::Sub,
        BinaryOp::Mul,
        BinaryOp::Div,
        BinaryOp::Min,
        BinaryOp::Max,
        BinaryOp::And,
    ];

    /// Its name in the text form.
    pub fn name(self) -> &'static str {
        match self {
            BinaryOp::Add => "add",
            BinaryOp::Sub => "sub",
            BinaryOp::Mul => "mul",
            BinaryOp::Div => "div",
            BinaryOp::Min => "min",
            BinaryOp::Max => "max",
            BinaryOp::And => "and",
        }
    }

    /// Whether it is defined for lanes of this kind.
    pub fn takes(self, kind: LaneKind) -> bool {
        match (self, kind) {
            (BinaryOp::And, kind) => kind == LaneKind::Truth,
            (_, LaneKind::Truth) => false,
            (BinaryOp::Div, LaneKind::Number(element)) => !element.is_integer(),
            (BinaryOp::Div, LaneKind::Integer) => false,
            (BinaryOp::Sub, kind) => kind == LaneKind::Integer,
            _ => true,
        }
    }
}

impl RegisterType {
    /// A number of this type in each of so many lanes.
    pub fn number(element: Element, lanes: usize) -> RegisterType {
        RegisterType { kind: LaneKind::Number(element), lanes }
    }

    /// An integer in each of so many lanes.
    pub fn integer(lanes: usize) -> RegisterType {
        RegisterType { kind: LaneKind::Integer, lanes }
    }

    /// A truth value in each of so many lanes.
    pub fn truth(lanes: usize) -> RegisterType {
        RegisterType { kind: LaneKind::Truth, lanes }
    }
}

impl Operation {
    /// The registers that it uses.
    pub fn operands(&self) -> Vec<RegId> {
        match self {
            Operation::Constant(_)
            | Operation::Convert(_)
            | Operation::Lanes(..)
            | Operation::First(_)
            | Operation::Holds(_)
            | Operation::Aligned(_) => Vec::new(),
            Operation::Load(load) => load.mask.into_iter().collect(),
            Operation::Gather(gather) => [gather.places].into_iter().chain(gather.mask).collect(),
            Operation::Broadcast(one) | Operation::Truth(one) => vec![*one],
            Operation::Cast(_, one) | Operation::Extract(one, _) => vec![*one],
            Operation::Apply(_, of) | Operation::Pack(of) => of.clone(),
            Operation::Binary(_, left, right)
            | Operation::Compare(_, left, right)
            | Operation::Shuffle(left, right, _) => vec![*left, *right],
            Operation::Fma(a, b, c) | Operation::Select(a, b, c) => vec![*a, *b, *c],
        }
    }

    /// The operation with `f` of each integer expression and condition, and `register` of each register.
    pub fn map(
        &self,
        index: &mut dyn FnMut(&Index) -> Index,
        condition: &mut dyn FnMut(&Condition) -> Condition,
        register: &mut dyn FnMut(RegId) -> RegId,
    ) -> Operation {
        match self {
            Operation::Constant(value) => Operation::Constant(*value),
            Operation::Convert(value) => Operation::Convert(index(value)),
            Operation::Lanes(first, by) => Operation::Lanes(index(first), *by),
            Operation::Load(load) => Operation::Load(VectorLoad {
                index: index(&load.index),
                mask: load.mask.map(register),
                ..*load
            }),
            Operation::Gather(gather) => Operation::Gather(Gather {
                places: register(gather.places),
                mask: gather.mask.map(register),
                ..*gather
            }),
            Operation::Broadcast(one) => Operation::Broadcast(register(*one)),
            Operation::Binary(how, left, right) => {
                Operation::Binary(*how, register(*left), register(*right))
            }
            Operation::Fma(a, b, c) => Operation::Fma(register(*a), register(*b), register(*c)),
            Operation::Truth(one) => Operation::Truth(register(*one)),
            Operation::Apply(function, of) => {
                Operation::Apply(*function, of.iter().map(|one| register(*one)).collect())
            }
            Operation::Cast(element, one) => Operation::Cast(*element, register(*one)),
            Operation::Compare(how, left, right) => {
                Operation::Compare(*how, register(*left), register(*right))
            }
            Operation::First(first) => {
                Operation::First(FirstLanes { count: index(&first.count), ..*first })
            }
            Operation::Holds(inside) => Operation::Holds(condition(inside)),
            Operation::Aligned(aligned) => Operation::Aligned(Aligned {
                indices: aligned.indices.iter().map(index).collect(),
                ..*aligned
            }),
            Operation::Select(a, b, c) => {
                Operation::Select(register(*a), register(*b), register(*c))
            }
            Operation::Pack(of) => Operation::Pack(of.iter().map(|one| register(*one)).collect()),
            Operation::Shuffle(left, right, lanes) => {
                Operation::Shuffle(register(*left), register(*right), lanes.clone())
            }
            Operation::Extract(one, lane) => Operation::Extract(register(*one), *lane),
        }
    }

    /// Calls `f` on the integer expressions, but for those of a condition, which `condition` gets.
    pub fn visit<'a>(
        &'a self,
        index: &mut dyn FnMut(&'a Index),
        condition: &mut dyn FnMut(&'a Condition),
    ) {
        match self {
            Operation::Convert(value) | Operation::Lanes(value, _) => index(value),
            Operation::Load(load) => index(&load.index),
            Operation::First(first) => index(&first.count),
            Operation::Holds(inside) => condition(inside),
            Operation::Aligned(aligned) => aligned.indices.iter().for_each(index),
            _ => {}
        }
    }
}

impl Operation {
    /// Its integer expressions, but for those of a condition.
    fn indices_mut(&mut self) -> Vec<&mut Index> {
        match self {
            Operation::Convert(value) | Operation::Lanes(value, _) => vec![value],
            Operation::Load(load) => vec![&mut load.index],
            Operation::First(first) => vec![&mut first.count],
            Operation::Aligned(aligned) => aligned.indices.iter_mut().collect(),
            _ => Vec::new(),
        }
    }
}

impl RegisterStmt {
    /// The lists of statements that it is around.
    pub fn bodies(&self) -> Vec<&[Stmt]> {
        match self {
            RegisterStmt::Carry(inner) => vec![&inner.body],
            RegisterStmt::Choose(inner) => vec![&inner.then, &inner.otherwise],
            _ => Vec::new(),
        }
    }

    /// [`RegisterStmt::bodies`], to be changed.
    pub fn bodies_mut(&mut self) -> Vec<&mut Vec<Stmt>> {
        match self {
            RegisterStmt::Carry(inner) => vec![&mut inner.body],
            RegisterStmt::Choose(inner) => vec![&mut inner.then, &mut inner.otherwise],
            _ => Vec::new(),
        }
    }

    /// Calls `f` on all integer expressions of this statement, not of those inside.
    pub fn visit_indices<'a>(&'a self, f: &mut dyn FnMut(&'a Index)) {
        match self {
            RegisterStmt::Define(_, operation) => {
                let mut conditions = Vec::new();
                operation.visit(&mut |index| index.visit(f), &mut |condition| {
                    conditions.push(condition)
                });
                conditions.into_iter().for_each(|condition| condition.visit(f));
            }
            RegisterStmt::Integer(Integer { index, .. }) | RegisterStmt::Prefetch(_, index) => {
                index.visit(f);
            }
            RegisterStmt::Carry(inner) => {
                inner.lower.iter().chain(&inner.upper).for_each(|bound| bound.visit(f));
            }
            RegisterStmt::Choose(Choose { condition: Test::Condition(condition), .. }) => {
                condition.visit(f);
            }
            RegisterStmt::Choose(_) | RegisterStmt::Fence | RegisterStmt::Arrive(_) => {}
            RegisterStmt::Write(write) => write.index.visit(f),
            RegisterStmt::Fetch(fetch) => {
                fetch.at.visit(f);
                fetch.source.visit(f);
            }
            RegisterStmt::Multiply(inner) => {
                inner.indices().into_iter().for_each(|index| index.visit(f));
            }
        }
    }

    /// Its own conditions.
    pub(crate) fn conditions_mut(&mut self) -> Vec<&mut Condition> {
        match self {
            RegisterStmt::Define(_, Operation::Holds(condition))
            | RegisterStmt::Choose(Choose { condition: Test::Condition(condition), .. }) => {
                vec![condition]
            }
            _ => Vec::new(),
        }
    }

    /// Its own integer expressions, but for those in conditions.
    pub(crate) fn indices_mut(&mut self) -> Vec<&mut Index> {
        match self {
            RegisterStmt::Define(_, operation) => operation.indices_mut(),
            RegisterStmt::Integer(Integer { index, .. }) | RegisterStmt::Prefetch(_, index) => {
                vec![index]
            }
            RegisterStmt::Carry(inner) => inner.lower.iter_mut().chain(&mut inner.upper).collect(),
            RegisterStmt::Write(write) => vec![&mut write.index],
            RegisterStmt::Multiply(inner) => inner.indices_mut().into(),
            RegisterStmt::Fetch(fetch) => vec![&mut fetch.at, &mut fetch.source],
            RegisterStmt::Choose(_) | RegisterStmt::Fence | RegisterStmt::Arrive(_) => Vec::new(),
        }
    }

    /// The buffers that it loads from, writes to or asks about, itself.
    pub fn buffers(&self) -> Vec<BufferId> {
        match self {
            RegisterStmt::Define(_, Operation::Load(load)) => vec![load.buffer],
            RegisterStmt::Define(_, Operation::Gather(gather)) => vec![gather.buffer],
            RegisterStmt::Define(_, Operation::Aligned(aligned)) => vec![aligned.buffer],
            RegisterStmt::Write(write) => vec![write.buffer],
            RegisterStmt::Multiply(inner) => {
                vec![inner.held, inner.left.buffer, inner.right.buffer]
            }
            RegisterStmt::Fetch(fetch) => vec![fetch.buffer, fetch.from],
            RegisterStmt::Prefetch(buffer, _) => vec![*buffer],
            _ => Vec::new(),
        }
    }

    /// Rebuilds with the folding constructors, each leaf of an integer expression replaced by what `leaf` gives.
    pub fn rebuild(&self, leaf: &dyn Fn(&Index) -> Index) -> RegisterStmt {
        let block = |body: &[Stmt]| body.iter().map(|stmt| stmt.rebuild(leaf)).collect();
        let list = |bounds: &[Index]| bounds.iter().map(|bound| bound.rebuild(leaf)).collect();
        match self {
            RegisterStmt::Define(register, operation) => RegisterStmt::Define(
                *register,
                operation.map(
                    &mut |index| index.rebuild(leaf),
                    &mut |condition| condition.rebuild(leaf),
                    &mut |register| register,
                ),
            ),
            RegisterStmt::Integer(inner) => {
                RegisterStmt::Integer(Integer { index: inner.index.rebuild(leaf), ..*inner })
            }
            RegisterStmt::Carry(inner) => RegisterStmt::Carry(Carry {
                lower: list(&inner.lower),
                upper: list(&inner.upper),
                carried: inner.carried.clone(),
                body: block(&inner.body),
                ..*inner
            }),
            RegisterStmt::Choose(inner) => RegisterStmt::Choose(Choose {
                condition: match &inner.condition {
                    Test::Condition(condition) => Test::Condition(condition.rebuild(leaf)),
                    test => test.clone(),
                },
                then: block(&inner.then),
                otherwise: block(&inner.otherwise),
                results: inner.results.clone(),
            }),
            RegisterStmt::Write(write) => {
                RegisterStmt::Write(Write { index: write.index.rebuild(leaf), ..*write })
            }
            RegisterStmt::Multiply(inner) => {
                RegisterStmt::Multiply(Box::new(inner.map(&mut |index| index.rebuild(leaf))))
            }
            RegisterStmt::Prefetch(buffer, index) => {
                RegisterStmt::Prefetch(*buffer, index.rebuild(leaf))
            }
            RegisterStmt::Fetch(fetch) => {
                RegisterStmt::Fetch(Box::new(fetch.map(&mut |index| index.rebuild(leaf))))
            }
            RegisterStmt::Arrive(left) => RegisterStmt::Arrive(*left),
            RegisterStmt::Fence => RegisterStmt::Fence,
        }
    }
}
