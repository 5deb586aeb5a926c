//! The loop IR: loops with integer bounds around stores of pure expressions.
//!
//! Invariants (checked by [`crate::verify()`]):
//! - Expressions ([`Index`], [`Value`]) are pure; only statements write.
//! - Loop bounds and conditions make no selections. Where they are quasi-affine in enclosing variables and symbols
//!   (sums, products with a constant, floor division, exact division and remainder by a positive constant, minimum and
//!   maximum), the back end makes affine loops and conditionals of them. Buffer subscripts may be any [`Index`]
//!   (quasi-polynomials, selections between pieces).
//! - A variable is bound by exactly one enclosing [`For`], [`PartitionedRange`], [`Partial`], [`Team`], [`While`],
//!   [`CoIter`], [`Scan`], [`Let`] or [`Sum`], or is an integer parameter of its function, and is used only inside of
//!   what binds it.
//! - Iterations of a [`Mark::Parallel`] or [`Mark::Unrolled`] loop write disjoint elements, and so do the parts of a
//!   [`PartitionedRange`] and the threads of a [`Team`]; those of a [`Partial`] too, but for its workspace. They may
//!   stand anywhere: of those inside of each other the outermost is shared out among threads.
//! - A [`Mark::Unrolled`] loop has a number of iterations that is known where its bounds are compared as linear
//!   combinations.
//! - Functions call [`Private`] ones only, and none calls itself, not even through others.
//! - Buffers named by a function do not overlap in memory, so a call passes each buffer at most once; the workspace of
//!   a [`Partial`] or [`Workspace`] is used in it only.
//!
//! - A parallel loop at a level other than threads does not stand inside of another one at that level.
//!
//! Both compilation paths meet here, that of structured tensors and that of dynamically sparse ones. Only two things in
//! the IR are about targets: the memory [`Space`] of a buffer and the [`ParallelLevel`] of a parallel loop.

pub use crate::place::{ParallelLevel, Space};
pub use dastac_elements::{Element, Function as MathFunction};

use serde::{Deserialize, Serialize};

use crate::hints::Hints;
pub use crate::ids::{BufferId, FunctionId, SymbolId, VarId};
mod registers;

pub use registers::*;

/// A flat, zero-based array of elements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Buffer {
    /// Unique in the module: a letter or `_`, then letters, digits, `_`, `.`.
    pub name: String,
    /// Type of each element.
    pub element: Element,
    /// Number of elements: an expression in symbols only. A workspace has the size that its statement says, and a
    /// parameter of a private function the size of the buffer that a call passes.
    pub size: Index,
    /// The memory that holds it. Callers of a function only know main memory; all other memories hold workspaces.
    pub space: Space,
}

/// A compilation unit: functions over common symbols and buffers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// Names of the integer parameters, in the order in which they are passed. Unique.
    pub symbols: Vec<String>,
    /// All buffers that functions may name.
    pub buffers: Vec<Buffer>,
    /// Functions, each with a unique name.
    pub functions: Vec<Function>,
}

/// How a function uses a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// Only loaded from.
    In,
    /// Stored to; what it held before is never observed.
    Out,
    /// Loaded from and stored to.
    InOut,
}

/// A function: takes all symbols of the module (a private one those that it lists) and the listed buffers, returns
/// nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Unique in the module, a C identifier.
    pub name: String,
    /// Set if it is private to the module; `None` if it is exported.
    pub private: Option<Private>,
    /// The buffers that it takes, in order, each at most once.
    pub args: Vec<(BufferId, Mode)>,
    /// Names of the variables (for printing; need not be unique).
    pub vars: Vec<String>,
    /// Hints for the loops that bind them, which do not change what the loops compute.
    pub hints: Hints,
    /// Types of the registers.
    pub registers: Vec<RegisterType>,
    /// The exported function under whose name accesses outside of buffers are reported, in code that asserts its
    /// accesses ([`Index::Within`]). Integer expressions of such a function wrap around where they overflow, so that an
    /// index that did is found outside of its buffer. None in code that relies on its accesses and on its arithmetic.
    pub checked: Option<FunctionId>,
    /// The statements, executed in order.
    pub body: Vec<Stmt>,
}

/// The additional parts of a function that only other functions of the module call:
/// `private inline func f(symbol N, index i, in A, out B) { .. }`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Private {
    /// The symbols that it uses, which every call passes on. Ascending.
    pub symbols: Vec<SymbolId>,
    /// Its integer parameters.
    pub integers: Vec<VarId>,
    /// Whether its body may be copied to where it is called.
    pub inline: bool,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// A counted loop.
    For(For),
    /// A range that is partitioned among threads.
    Partitioned(PartitionedRange),
    /// Sums over a partitioned range, with separate results for each part.
    Partial(Partial),
    /// Statements that several threads execute, each for a part of the work.
    Team(Team),
    /// A call of a private function.
    Call(Call),
    /// A loop with a condition.
    While(While),
    /// A walk over coordinates that several levels have.
    CoIter(CoIter),
    /// What belongs to a coordinate of a result that is assembled.
    Append(Append),
    /// Memory that statements have to themselves.
    Workspace(Workspace),
    /// An integer that is read once.
    Let(Let),
    /// A loop over the marked places of a range.
    Scan(Scan),
    /// A conditional.
    If(If),
    /// A write of one element.
    Store(Store),
    /// Register code: one operation.
    Register(RegisterStmt),
}

/// How the iterations of a loop may be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// In order.
    Sequential,
    /// In any order and at the same time, distributed among the processors of a level.
    Parallel(ParallelLevel),
    /// Side by side: each statement is executed for all iterations before the next statement, and sums for all
    /// iterations are one loop. Elements that several iterations use are loaded once: this is a tile in registers.
    Unrolled,
}

impl Mark {
    /// The mark of a parallel loop before a target maps it to its machine.
    pub const THREADS: Mark = Mark::Parallel(ParallelLevel::Threads);

    /// Whether iterations may be executed in any order and at the same time, at whatever level.
    pub fn is_parallel(self) -> bool {
        matches!(self, Mark::Parallel(_))
    }
}

/// `for var = max(lower..) to min(upper..) step step { body }`, the upper bound exclusive.
#[derive(Clone, Debug, PartialEq)]
pub struct For {
    /// The variable that the loop binds.
    pub var: VarId,
    /// Lower bounds; their maximum is the first value. Never empty, no selections.
    pub lower: Vec<Index>,
    /// Exclusive upper bounds; their minimum ends the loop. Never empty, no selections.
    pub upper: Vec<Index>,
    /// Positive step.
    pub step: i64,
    /// How iterations may be executed.
    pub mark: Mark,
    /// The statements of one iteration.
    pub body: Vec<Stmt>,
}

/// `partition begin, end = max(lower..) to min(upper..) step step by work { body }`: the range is cut into parts of
/// about equal work, in any number, and the body executed for each, in any order and at the same time; `begin` and
/// `end` (exclusive) are the part's. An empty range has no parts; a part may be empty. Without `by work` parts have
/// about equally many iterations.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionedRange {
    /// The variable for where a part begins.
    pub begin: VarId,
    /// The variable for where it ends.
    pub end: VarId,
    /// Lower bounds; their maximum is where the first part begins. Never empty, no selections.
    pub lower: Vec<Index>,
    /// Exclusive upper bounds; their minimum ends the last part. Never empty, no selections.
    pub upper: Vec<Index>,
    /// Parts but the last have a multiple of so many iterations: positive.
    pub step: i64,
    /// The work of all iterations before `end`, as a number of loaded elements, without selections and without `begin`;
    /// `None` if it is not known. It only affects speed: it determines where parts end, and whether there is enough
    /// work for several.
    pub work: Option<Index>,
    /// The statements of one part.
    pub body: Vec<Stmt>,
}

/// `partial begin, end = max(lower..) to min(upper..) step step in parts if condition with buffer as workspace at shift
/// from base of extent { body } then { finish }`: sums over the range, a part of the terms after the other or at the
/// same time.
///
/// Where the condition holds, the range is cut into `parts` parts of about equal length, some of them perhaps empty.
/// Part `p` (terms `begin..end`) executes `body` with `workspace` a memory of `parts * extent` elements that hold
/// nothing yet, and `shift` the number `p * extent - base`; then `finish`, where the workspace still stands, adds up
/// the parts. Else `body` is executed once for the whole range, with `buffer` itself in place of `workspace` and
/// `shift` 0. So `body` uses an element `f` of `buffer` as `workspace[f + shift]`, and no more of `buffer`.
///
/// The number of parts depends on the symbols alone: results do not depend on the number of threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Partial {
    /// The variable for the first term of a part.
    pub begin: VarId,
    /// The variable for the end of its terms.
    pub end: VarId,
    /// Lower bounds, in symbols; their maximum is where the first part begins. Never empty, no selections.
    pub lower: Vec<Index>,
    /// Exclusive upper bounds, in symbols; their minimum ends the last part. Never empty, no selections.
    pub upper: Vec<Index>,
    /// Parts but the last have a multiple of so many terms: positive.
    pub step: i64,
    /// Number of parts: positive.
    pub parts: i64,
    /// Whether parts are worth it, in symbols. This only affects speed and rounding.
    pub condition: Condition,
    /// The buffer with the results.
    pub buffer: BufferId,
    /// The buffer that takes its place inside: one of the module, with `parts * extent` elements, that no function
    /// takes.
    pub workspace: BufferId,
    /// The variable for the number that is added to an index of the buffer.
    pub shift: VarId,
    /// The smallest index of an element that `body` stores to, in symbols.
    pub base: Index,
    /// More than the largest such index is beyond `base`, in symbols.
    pub extent: Index,
    /// The statements of one part.
    pub body: Vec<Stmt>,
    /// The statements that combine the results of the parts.
    pub finish: Vec<Stmt>,
}

/// `team part in parts { body }`: some number of threads execute the body at the same time, each with its own number
/// `part` in `0..parts`. How many there are is not known before; results must not depend on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Team {
    /// The variable for a thread's number.
    pub part: VarId,
    /// The variable for the number of threads.
    pub parts: VarId,
    /// What each thread executes.
    pub body: Vec<Stmt>,
}

/// `call f(i + 1, 3) on A, B`: the integers and buffers stand for the parameters of a private function, in their order;
/// the function's symbols are passed on.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The function that is called.
    pub function: FunctionId,
    /// One value for each of its integer parameters.
    pub integers: Vec<Index>,
    /// One buffer for each of its arguments, of the same element type; each buffer at most once.
    pub buffers: Vec<BufferId>,
}

/// `while x = start, .. if condition { body } then next, .. after { after }`: variables that each iteration gives new
/// values.
#[derive(Clone, Debug, PartialEq)]
pub struct While {
    /// The variables with their first values, which are expressions without any of them.
    pub vars: Vec<(VarId, Index)>,
    /// The condition, without selections. It is tested before each iteration. The parts of a conjunction are tested in
    /// order: if one fails, the later ones are not evaluated, and the elements that they load need not exist.
    pub condition: Condition,
    /// The statements of one iteration.
    pub body: Vec<Stmt>,
    /// The values of the variables in the next iteration, in their order: expressions of their values in this
    /// iteration, and of any integers in memory at its end.
    pub next: Vec<Index>,
    /// Statements after the last iteration, in which the variables have the values for which the condition failed.
    pub after: Vec<Stmt>,
}

/// `coiter var = lower to upper over p = start to end at place, .. { case p, q { .. } case p { .. } }`: the coordinates
/// of a range that cursors are at, ascending, as a merge lattice's points say (sparse convolutions, section 5.1).
///
/// A cursor `p = start to end at place step s width w` is at coordinate `x` if it has a position whose place is in
/// `s * x .. s * x + w`, that is, if this window on a level is not empty (section 3.1). Then `p` is the first position
/// in the window; the others follow. By default step and width are 1, and the place is the coordinate itself.
///
/// At each coordinate, the first case whose cursors are all there is executed. If there is no such case, nothing is
/// executed. With a case without cursors, the loop visits all coordinates of the range. `dastac_iterate` lowers the
/// statement to [`For`], [`While`] and [`If`], because back ends do not take it.
#[derive(Clone, Debug, PartialEq)]
pub struct CoIter {
    /// The variable for the coordinate.
    pub var: VarId,
    /// The first coordinate, without selections.
    pub lower: Index,
    /// The end of the coordinates, without selections.
    pub upper: Index,
    /// The cursors.
    pub cursors: Vec<Cursor>,
    /// The cases: cursors, by their places in the list, and the statements that are executed for them. Never empty.
    pub cases: Vec<Case>,
}

/// `append level 1 at j { body }`: the elements that the body stores have coordinate `j` on level 1 of the result that
/// the function assembles. Levels are numbered from the outermost one, 0, and the statements of inner levels stand
/// inside of those of outer ones.
///
/// Assembling (`dastac-iterate`) replaces it by statements that count and store positions and coordinates. Executed as
/// it is, it does what its body does; no target has code for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Append {
    /// The level of the result.
    pub level: usize,
    /// The coordinate.
    pub coordinate: Index,
    /// The statements that belong to it.
    pub body: Vec<Stmt>,
}

/// Positions of a level, each with a coordinate.
#[derive(Clone, Debug, PartialEq)]
pub struct Cursor {
    /// The variable for the position; in scope in its place and in cases that name the cursor.
    pub position: VarId,
    /// The first position, without selections.
    pub start: Index,
    /// The end of the positions, without selections.
    pub end: Index,
    /// The place of a position: ascending.
    pub place: Index,
    /// How far windows of neighbouring coordinates are apart: positive.
    pub step: i64,
    /// The number of places of a window, without selections. If it is not positive, the window is empty.
    pub width: Index,
    /// Whether several positions may have the same place.
    pub repeats: bool,
    /// No position is known to be before the first window of the range.
    pub above: bool,
    /// No position is known to be behind the last window of the range.
    pub below: bool,
}

/// A point of a merge lattice, and the statements that are executed there.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Cursors that are at the coordinate, ascending.
    pub cursors: Vec<usize>,
    /// The statements.
    pub body: Vec<Stmt>,
}

/// `with buffer of size { body }`, `with buffer of size zero { body }`: memory for the statements inside, which is
/// released after them.
///
/// `with buffer of size or other if condition { body }`: if the condition holds, no memory is allocated. The elements
/// of `other` take its place, which are then only read.
///
/// Each execution of the statement has memory of its own, and so has each iteration of a parallel loop around it. The
/// [`Space`] of the buffer says where. Main memory is allocated when the statement is executed, and released after it;
/// if there is not enough, a line on standard error says so and the process ends. Memory on the stack belongs to the
/// function: its size is a constant, and nothing is passed for the buffer. The pass `place-workspaces` puts it there.
#[derive(Clone, Debug, PartialEq)]
pub struct Workspace {
    /// A buffer of the module that no function takes.
    pub buffer: BufferId,
    /// Number of elements; none if negative.
    pub size: Index,
    /// Whether elements are 0 at first; if not, their values are undefined.
    pub zero: bool,
    /// The buffer of the same element type that may take its place, and the condition for that. Without selections.
    pub instead: Option<(BufferId, Condition)>,
    /// The statements.
    pub body: Vec<Stmt>,
}

/// `let var = buffer[index] { body }`: the element at that moment, whatever is stored to it later. This reads integers
/// that the function also writes; [`Index::Load`] reads those that it never writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Let {
    /// The variable for the element.
    pub var: VarId,
    /// A buffer of integers.
    pub buffer: BufferId,
    /// The element's place.
    pub index: Index,
    /// The statements.
    pub body: Vec<Stmt>,
}

/// `scan var in buffer[lower .. upper] { body }`: the body is executed for the places of a range, ascending, whose
/// element is not 0. The element of each is set to 0 before.
///
/// The elements may all be read before the first iteration, so the body must not use the buffer. If the range is not
/// empty, it is inside of the buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// The variable for the place.
    pub var: VarId,
    /// A buffer of elements of one byte each ([`Scan::can_scan`]).
    pub buffer: BufferId,
    /// The first place, without selections.
    pub lower: Index,
    /// The end of the places, exclusive, without selections.
    pub upper: Index,
    /// The statements of one iteration.
    pub body: Vec<Stmt>,
}

impl Scan {
    /// Whether buffers of this type can be scanned.
    pub fn can_scan(element: Element) -> bool {
        matches!(element, Element::U8 | Element::I8 | Element::Bool)
    }
}

/// `if condition { then } else { otherwise }`.
#[derive(Clone, Debug, PartialEq)]
pub struct If {
    /// Without selections.
    pub condition: Condition,
    /// Executed where the condition holds.
    pub then: Vec<Stmt>,
    /// Executed where it does not; may be empty.
    pub otherwise: Vec<Stmt>,
}

/// How a [`Store`] uses the old value of the element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoreMode {
    /// Overwrites it: `b[i] = v`.
    Set,
    /// Adds to it: `b[i] += v`.
    Add,
    /// Multiplies it: `b[i] *= v`.
    Multiply,
    /// Keeps the smaller one: `b[i] min= v`.
    Min,
    /// Keeps the larger one: `b[i] max= v`.
    Max,
}

/// How several values are reduced to one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// They are added up.
    #[default]
    Sum,
    /// They are multiplied.
    Product,
    /// The smallest one, or NaN if one of them is NaN.
    Min,
    /// The largest one, or NaN if one of them is NaN.
    Max,
}

/// `buffer[index] = value stream if condition`: a write of one element.
#[derive(Clone, Debug, PartialEq)]
pub struct Store {
    /// The buffer written to.
    pub buffer: BufferId,
    /// Position in the buffer.
    pub index: Index,
    /// The value. For a buffer of integers it has no quotients, fractions or elements that are not integers, unless it
    /// is one of truth values.
    pub value: Value,
    /// Overwrite or accumulate.
    pub mode: StoreMode,
    /// If it holds, nothing reads the element soon after, so that it may be written past all caches. This only affects
    /// speed. Without selections.
    pub stream: Option<Condition>,
}

impl Store {
    /// Whether what is stored is an integer expression, such as a position.
    pub fn is_index(&self) -> bool {
        matches!(self.value, Value::FromIndex(_))
    }
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Compare {
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

/// A truth value over integer expressions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Condition {
    /// A comparison of two integers.
    Compare(Compare, Index, Index),
    /// All hold; true when empty.
    And(Vec<Condition>),
    /// At least one holds; false when empty.
    Or(Vec<Condition>),
}

/// An integer expression, evaluated in 64-bit two's complement. The code that builds it makes sure that it does not
/// overflow.
///
/// It only loads elements of buffers that the function never writes, so that its value depends on its variables alone.
/// ([`While::next`] is the exception.)
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Index {
    /// A constant.
    Const(i64),
    /// A symbol's value.
    Symbol(SymbolId),
    /// A variable's value.
    Var(VarId),
    /// Sum.
    Add(Box<Index>, Box<Index>),
    /// Difference.
    Sub(Box<Index>, Box<Index>),
    /// Product.
    Mul(Box<Index>, Box<Index>),
    /// Quotient rounded toward minus infinity, by a positive constant.
    FloorDiv(Box<Index>, i64),
    /// `a - b * floor(a / b)` by a positive constant: in `0..b`.
    Mod(Box<Index>, i64),
    /// Quotient rounded toward minus infinity, by an expression that is known to be positive.
    Quotient(Box<Index>, Box<Index>),
    /// Quotient by a positive constant that is known to divide.
    ExactDiv(Box<Index>, i64),
    /// Smaller of two.
    Min(Box<Index>, Box<Index>),
    /// Larger of two.
    Max(Box<Index>, Box<Index>),
    /// An element of a buffer of integers.
    Load(BufferId, Box<Index>),
    /// The first where the condition holds, else the second.
    Select(Box<Condition>, Box<Index>, Box<Index>),
    /// An index that is asserted to be a place in a buffer.
    Within(Box<Within>),
}

/// `within(index, buffer, size)`: the index, which is asserted to be at least 0 and less than the size. If it is not,
/// the expression has no value: code reports the function ([`Function::checked`]), the buffer, the index and the size,
/// and ends the process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Within {
    /// The index.
    pub index: Index,
    /// The buffer that is accessed at it.
    pub buffer: BufferId,
    /// Its number of elements.
    pub size: Index,
}

/// A number; computed in the type that [`Module::computed_in`] says: the widest of what it loads and where it is
/// stored.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A constant.
    Const(f64),
    /// An element of a buffer.
    Load(BufferId, Index),
    /// An integer, converted.
    FromIndex(Index),
    /// Sum.
    Add(Box<Value>, Box<Value>),
    /// Product.
    Mul(Box<Value>, Box<Value>),
    /// Quotient.
    Div(Box<Value>, Box<Value>),
    /// Smaller of two; not a number where one is not.
    Min(Box<Value>, Box<Value>),
    /// Larger of two; not a number where one is not.
    Max(Box<Value>, Box<Value>),
    /// 0 where the value is 0, else 1.
    Truth(Box<Value>),
    /// A function of one or two numbers.
    Apply(MathFunction, Vec<Value>),
    /// The second where the first is not 0, else the third. Both are evaluated. The first is computed in a type of its
    /// own ([`Module::own_type`]).
    Select(Box<[Value; 3]>),
    /// 1 where they compare so, else 0: what is not a number only differs. Both are computed in a type of their own
    /// ([`Module::own_type`]).
    Compare(Compare, Box<Value>, Box<Value>),
    /// The value as an element of this type holds it: rounded to floats, rounded toward 0 and wrapped around to
    /// integers, and whether it is not 0 as a truth value. Floats that no 64-bit integer is near become the largest or
    /// the smallest one, what is not a number 0. It is computed in a type of its own ([`Module::own_type`]).
    Cast(Element, Box<Value>),
    /// Sum of a body over a range; 0 when the range is empty. The order of additions is not fixed. Its minimum and its
    /// maximum too.
    Sum(Box<Sum>),
}

/// `sum(var = max(lower..) to min(upper..) step step unroll unroll if condition fetch ..)
/// body`: a reduction that needs no memory. So are `min(var = ..) body` and `max(var = ..) body`, which are infinite
/// when the range is empty: more, or less, than any number.
#[derive(Clone, Debug, PartialEq)]
pub struct Sum {
    /// What is done with the terms.
    pub kind: Reduction,
    /// The variable that the sum binds.
    pub var: VarId,
    /// Lower bounds; their maximum is the first value. Never empty, no selections.
    pub lower: Vec<Index>,
    /// Exclusive upper bounds. Never empty, no selections.
    pub upper: Vec<Index>,
    /// Positive step.
    pub step: i64,
    /// So many terms (vectors of terms, in lanes) are added to as many partial sums side by side; chosen if not given.
    /// It decides about speed and rounding only.
    pub unroll: Option<i64>,
    /// Only terms where it holds count, if given. Without selections.
    pub condition: Option<Condition>,
    /// Elements that will be read soon after: the machine may fetch them while it adds. They need not exist.
    pub fetch: Vec<(BufferId, Index)>,
    /// The term.
    pub body: Value,
}
