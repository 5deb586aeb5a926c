//! Constructors that fold constants and identities, and operators on expressions.
//!
//! Meaning is kept exactly: a fold whose constants would overflow is not done. A divisor that is not positive is
//! left as it is for [`crate::verify`](mod@crate::verify) to report.

use crate::hints::Hints;
use crate::ir::*;
use std::ops;

impl Index {
    /// The integer `value`.
    pub fn constant(value: i64) -> Index {
        Index::Const(value)
    }

    /// The value of a variable.
    pub fn var(var: VarId) -> Index {
        Index::Var(var)
    }

    /// The value of a symbol.
    pub fn symbol(symbol: SymbolId) -> Index {
        Index::Symbol(symbol)
    }

    /// The constant that this is, if it is one.
    pub fn as_const(&self) -> Option<i64> {
        match self {
            Index::Const(value) => Some(*value),
            _ => None,
        }
    }

    /// `floor(self / by)`: `6 / 4` -> `1`, `x / 1` -> `x`, `x / 2 / 3` -> `x / 6`.
    pub fn floor_div(self, by: i64) -> Index {
        match self {
            _ if by <= 0 => Index::FloorDiv(Box::new(self), by),
            Index::Const(value) => Index::Const(value.div_euclid(by)),
            _ if by == 1 => self,
            Index::FloorDiv(inner, first) if first > 0 => match first.checked_mul(by) {
                Some(product) => Index::FloorDiv(inner, product),
                None => Index::FloorDiv(Box::new(Index::FloorDiv(inner, first)), by),
            },
            _ => Index::FloorDiv(Box::new(self), by),
        }
    }

    /// `floor(self / by)` for a `by` that is known to be positive.
    pub fn quotient(self, by: Index) -> Index {
        match by {
            Index::Const(by) => self.floor_div(by),
            by => Index::Quotient(Box::new(self), Box::new(by)),
        }
    }

    /// `self - by * floor(self / by)`: `-1 % 4` -> `3`, `x % 1` -> `0`.
    pub fn modulo(self, by: i64) -> Index {
        match self {
            _ if by <= 0 => Index::Mod(Box::new(self), by),
            Index::Const(value) => Index::Const(value.rem_euclid(by)),
            _ if by == 1 => Index::Const(0),
            _ => Index::Mod(Box::new(self), by),
        }
    }

    /// `self / by` where `by` is known to divide: `exact(6, 3)` -> `2`, `exact(x, 1)` -> `x`.
    pub fn exact_div(self, by: i64) -> Index {
        match self {
            _ if by <= 0 => Index::ExactDiv(Box::new(self), by),
            Index::Const(value) if value % by == 0 => Index::Const(value / by),
            _ if by == 1 => self,
            _ => Index::ExactDiv(Box::new(self), by),
        }
    }

    /// The smaller: `min(2, 3)` -> `2`, `min(x, x + 1)` -> `x`.
    pub fn min(self, other: Index) -> Index {
        match self.constant_difference(&other) {
            Some(difference) if difference <= 0 => self,
            Some(_) => other,
            None => Index::Min(Box::new(self), Box::new(other)),
        }
    }

    /// The larger: `max(2, 3)` -> `3`, `max(x, x + 1)` -> `x + 1`.
    pub fn max(self, other: Index) -> Index {
        match self.constant_difference(&other) {
            Some(difference) if difference >= 0 => self,
            Some(_) => other,
            None => Index::Max(Box::new(self), Box::new(other)),
        }
    }

    /// `then` where `condition` holds, else `otherwise`: `select(0 < 1, a, b)` -> `a`, `select(c, a, a)` -> `a`.
    pub fn select(condition: Condition, then: Index, otherwise: Index) -> Index {
        match condition.as_bool() {
            Some(true) => then,
            Some(false) => otherwise,
            None if then == otherwise => then,
            None => Index::Select(Box::new(condition), Box::new(then), Box::new(otherwise)),
        }
    }

    /// `self == other`.
    pub fn equal(self, other: Index) -> Condition {
        Condition::compare(Compare::Eq, self, other)
    }

    /// `self < other`.
    pub fn less(self, other: Index) -> Condition {
        Condition::compare(Compare::Lt, self, other)
    }

    /// `self <= other`.
    pub fn at_most(self, other: Index) -> Condition {
        Condition::compare(Compare::Le, self, other)
    }
}

impl From<i64> for Index {
    fn from(value: i64) -> Index {
        Index::Const(value)
    }
}

impl From<VarId> for Index {
    fn from(var: VarId) -> Index {
        Index::Var(var)
    }
}

impl From<SymbolId> for Index {
    fn from(symbol: SymbolId) -> Index {
        Index::Symbol(symbol)
    }
}

/// `base + offset`, written with a minus sign for a negative offset.
fn offset(base: Index, offset: i64) -> Index {
    match offset {
        0 => base,
        i64::MIN => Index::Add(Box::new(base), Box::new(Index::Const(offset))),
        _ if offset < 0 => Index::Sub(Box::new(base), Box::new(Index::Const(-offset))),
        _ => Index::Add(Box::new(base), Box::new(Index::Const(offset))),
    }
}

/// `x + c` or `x - c` as `(x, c)`.
fn split_offset(index: Index) -> (Index, i64) {
    match index {
        Index::Add(base, right) => match *right {
            Index::Const(value) => (*base, value),
            right => (Index::Add(base, Box::new(right)), 0),
        },
        Index::Sub(base, right) => match *right {
            Index::Const(value) if value != i64::MIN => (*base, -value),
            right => (Index::Sub(base, Box::new(right)), 0),
        },
        index => (index, 0),
    }
}

/// Folds `index + value`, `value` a constant.
fn add_constant(index: Index, value: i64) -> Index {
    if let Index::Const(left) = index {
        if let Some(sum) = left.checked_add(value) {
            return Index::Const(sum);
        }
        return offset(index, value);
    }
    let (base, first) = split_offset(index);
    match first.checked_add(value) {
        Some(sum) => offset(base, sum),
        None => offset(offset(base, first), value),
    }
}

impl<T: Into<Index>> ops::Add<T> for Index {
    type Output = Index;

    /// `1 + 2` -> `3`, `x + 0` -> `x`, `x + 1 + 2` -> `x + 3`.
    fn add(self, other: T) -> Index {
        match (self, other.into()) {
            (left, Index::Const(value)) => add_constant(left, value),
            (Index::Const(value), right) => add_constant(right, value),
            (left, right) => Index::Add(Box::new(left), Box::new(right)),
        }
    }
}

impl<T: Into<Index>> ops::Sub<T> for Index {
    type Output = Index;

    /// `3 - 2` -> `1`, `x - 0` -> `x`, `x - x` -> `0`, `x + 3 - 1` -> `x + 2`.
    fn sub(self, other: T) -> Index {
        match (self, other.into()) {
            (left, Index::Const(value)) if value != i64::MIN => add_constant(left, -value),
            (left, right) if left == right => Index::Const(0),
            (left, right) => Index::Sub(Box::new(left), Box::new(right)),
        }
    }
}

impl<T: Into<Index>> ops::Mul<T> for Index {
    type Output = Index;

    /// `2 * 3` -> `6`, `x * 1` -> `x`, `x * 0` -> `0`, `2 * (3 * x)` -> `6 * x`.
    fn mul(self, other: T) -> Index {
        match (self, other.into()) {
            (Index::Const(0), _) | (_, Index::Const(0)) => Index::Const(0),
            (Index::Const(1), index) | (index, Index::Const(1)) => index,
            (Index::Const(left), Index::Const(right)) => match left.checked_mul(right) {
                Some(product) => Index::Const(product),
                None => Index::Mul(Box::new(Index::Const(left)), Box::new(Index::Const(right))),
            },
            (Index::Const(value), Index::Mul(left, right)) => match *left {
                Index::Const(first) if value.checked_mul(first).is_some() => {
                    Index::Const(value * first) * *right
                }
                left => Index::Mul(
                    Box::new(Index::Const(value)),
                    Box::new(Index::Mul(Box::new(left), right)),
                ),
            },
            (left, right) => Index::Mul(Box::new(left), Box::new(right)),
        }
    }
}

impl ops::Neg for Index {
    type Output = Index;

    /// `-x` as `-1 * x`.
    fn neg(self) -> Index {
        Index::Const(-1) * self
    }
}

impl Compare {
    /// Its sign, in C and in the text form.
    pub fn sign(self) -> &'static str {
        match self {
            Compare::Eq => "==",
            Compare::Ne => "!=",
            Compare::Lt => "<",
            Compare::Le => "<=",
            Compare::Gt => ">",
            Compare::Ge => ">=",
        }
    }

    /// All of them.
    pub const ALL: [Compare; 6] =
        [Compare::Eq, Compare::Ne, Compare::Lt, Compare::Le, Compare::Gt, Compare::Ge];

    /// Whether `left op right`.
    pub fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Compare::Eq => left == right,
            Compare::Ne => left != right,
            Compare::Lt => left < right,
            Compare::Le => left <= right,
            Compare::Gt => left > right,
            Compare::Ge => left >= right,
        }
    }

    /// The operator that holds exactly where this one does not.
    pub fn negate(self) -> Compare {
        match self {
            Compare::Eq => Compare::Ne,
            Compare::Ne => Compare::Eq,
            Compare::Lt => Compare::Ge,
            Compare::Le => Compare::Gt,
            Compare::Gt => Compare::Le,
            Compare::Ge => Compare::Lt,
        }
    }
}

impl Condition {
    /// Holds always.
    pub const TRUE: Condition = Condition::And(Vec::new());
    /// Holds never.
    pub const FALSE: Condition = Condition::Or(Vec::new());

    /// `left op right`, decided where the two differ by a constant: `x < x + 1` -> true.
    pub fn compare(op: Compare, left: Index, right: Index) -> Condition {
        match left.constant_difference(&right) {
            Some(difference) => Condition::from(op.holds(difference, 0)),
            None => Condition::Compare(op, left, right),
        }
    }

    /// All of the conditions; nested conjunctions are flattened, decided conditions dropped.
    pub fn all(conditions: impl IntoIterator<Item = Condition>) -> Condition {
        let mut list = Vec::new();
        for condition in conditions {
            match condition {
                Condition::And(inner) => list.extend(inner),
                condition if condition.as_bool() == Some(false) => return Condition::FALSE,
                condition => list.push(condition),
            }
        }
        if list.iter().any(|c| c.as_bool() == Some(false)) {
            return Condition::FALSE;
        }
        list.retain(|c| c.as_bool() != Some(true));
        match list.len() {
            1 => list.remove(0),
            _ => Condition::And(list),
        }
    }

    /// At least one of the conditions; nested disjunctions are flattened, decided conditions dropped.
    pub fn any(conditions: impl IntoIterator<Item = Condition>) -> Condition {
        let mut list = Vec::new();
        for condition in conditions {
            match condition {
                Condition::Or(inner) => list.extend(inner),
                condition if condition.as_bool() == Some(true) => return Condition::TRUE,
                condition => list.push(condition),
            }
        }
        if list.iter().any(|c| c.as_bool() == Some(true)) {
            return Condition::TRUE;
        }
        list.retain(|c| c.as_bool() != Some(false));
        match list.len() {
            1 => list.remove(0),
            _ => Condition::Or(list),
        }
    }

    /// Both conditions.
    pub fn and(self, other: Condition) -> Condition {
        Condition::all([self, other])
    }

    /// One of the conditions.
    pub fn or(self, other: Condition) -> Condition {
        Condition::any([self, other])
    }

    /// Holds exactly where `self` does not.
    pub fn negate(self) -> Condition {
        match self {
            Condition::Compare(op, left, right) => Condition::Compare(op.negate(), left, right),
            Condition::And(list) => Condition::any(list.into_iter().map(Condition::negate)),
            Condition::Or(list) => Condition::all(list.into_iter().map(Condition::negate)),
        }
    }

    /// The truth value, if this is a constant (as the constructors leave it, or a comparison of constants).
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Condition::Compare(op, Index::Const(left), Index::Const(right)) => {
                Some(op.holds(*left, *right))
            }
            Condition::Compare(..) => None,
            Condition::And(list) if list.is_empty() => Some(true),
            Condition::Or(list) if list.is_empty() => Some(false),
            Condition::And(_) | Condition::Or(_) => None,
        }
    }

    /// The conditions of which this is the conjunction.
    pub fn conjuncts(self) -> Vec<Condition> {
        match self {
            Condition::And(list) => list.into_iter().flat_map(Condition::conjuncts).collect(),
            condition => vec![condition],
        }
    }
}

impl From<bool> for Condition {
    fn from(value: bool) -> Condition {
        if value { Condition::TRUE } else { Condition::FALSE }
    }
}

impl Value {
    /// The number `value`.
    pub fn constant(value: f64) -> Value {
        Value::Const(value)
    }

    /// `buffer[index]`.
    pub fn load(buffer: BufferId, index: Index) -> Value {
        Value::Load(buffer, index)
    }

    /// An integer, converted.
    pub fn from_index(index: Index) -> Value {
        Value::FromIndex(index)
    }

    /// `sum(var = lower to upper) body`.
    pub fn sum(var: VarId, lower: Index, upper: Index, body: Value) -> Value {
        Value::reduction(Reduction::Sum, var, (lower, upper), body)
    }

    /// `sum(var = lower to upper) body`, a minimum or a maximum.
    pub fn reduction(
        kind: Reduction,
        var: VarId,
        (lower, upper): (Index, Index),
        body: Value,
    ) -> Value {
        let (lower, upper) = (vec![lower], vec![upper]);
        Value::Sum(Box::new(Sum {
            kind,
            var,
            lower,
            upper,
            step: 1,
            unroll: None,
            condition: None,
            fetch: Vec::new(),
            body,
        }))
    }

    /// The smaller one: `min(1.0, 2.0)` -> `1.0`, `min(x, inf)` -> `x`.
    pub fn min(self, other: Value) -> Value {
        Reduction::Min.join(self, other)
    }

    /// The larger one: `max(1.0, 2.0)` -> `2.0`, `max(x, -inf)` -> `x`.
    pub fn max(self, other: Value) -> Value {
        Reduction::Max.join(self, other)
    }

    /// 0 for 0, else 1: `truth(2.0)` -> `1.0`, `truth(truth(x))` -> `truth(x)`.
    pub fn truth(self) -> Value {
        match self {
            Value::Const(value) => Value::Const(f64::from(value != 0.0)),
            Value::Truth(_) => self,
            value => Value::Truth(Box::new(value)),
        }
    }

    /// The factors of which this is the product, from left to right.
    pub fn factors(self) -> Vec<Value> {
        match self {
            Value::Mul(left, right) => {
                let mut list = left.factors();
                list.extend(right.factors());
                list
            }
            value => vec![value],
        }
    }

    /// The product of `factors`, associated to the left; 1 when there are none.
    pub fn product(factors: impl IntoIterator<Item = Value>) -> Value {
        factors.into_iter().reduce(|left, right| left * right).unwrap_or(Value::Const(1.0))
    }
}

impl Reduction {
    /// Of no values.
    pub fn neutral(self) -> f64 {
        match self {
            Reduction::Sum => 0.0,
            Reduction::Product => 1.0,
            Reduction::Min => f64::INFINITY,
            Reduction::Max => f64::NEG_INFINITY,
        }
    }

    /// What joins with elements of a type without changing them, as one of these.
    pub fn neutral_in(self, element: Element) -> f64 {
        let (least, largest) = element.range();
        self.neutral().clamp(least, largest)
    }

    /// Of two numbers.
    pub fn of(self, left: f64, right: f64) -> f64 {
        match self {
            Reduction::Sum => left + right,
            Reduction::Product => left * right,
            _ if left.is_nan() || right.is_nan() => f64::NAN,
            Reduction::Min => left.min(right),
            Reduction::Max => left.max(right),
        }
    }

    /// Of two integers.
    pub fn of_integers(self, left: i64, right: i64) -> i64 {
        match self {
            Reduction::Sum => left.wrapping_add(right),
            Reduction::Product => left.wrapping_mul(right),
            Reduction::Min => left.min(right),
            Reduction::Max => left.max(right),
        }
    }

    /// Of two values, folded.
    pub fn join(self, left: Value, right: Value) -> Value {
        let neutral = Value::Const(self.neutral());
        match (left, right) {
            (Value::Const(left), Value::Const(right)) => Value::Const(self.of(left, right)),
            (one, other) if other == neutral => one,
            (one, other) if one == neutral => other,
            (left, right) => {
                let (left, right) = (Box::new(left), Box::new(right));
                match self {
                    Reduction::Sum => Value::Add(left, right),
                    Reduction::Product => Value::Mul(left, right),
                    Reduction::Min => Value::Min(left, right),
                    Reduction::Max => Value::Max(left, right),
                }
            }
        }
    }

    /// The store that joins a value to an element.
    pub fn mode(self) -> StoreMode {
        match self {
            Reduction::Sum => StoreMode::Add,
            Reduction::Product => StoreMode::Multiply,
            Reduction::Min => StoreMode::Min,
            Reduction::Max => StoreMode::Max,
        }
    }
}

impl StoreMode {
    /// How it joins the value to the element, if it does.
    pub fn reduction(self) -> Option<Reduction> {
        match self {
            StoreMode::Set => None,
            StoreMode::Add => Some(Reduction::Sum),
            StoreMode::Multiply => Some(Reduction::Product),
            StoreMode::Min => Some(Reduction::Min),
            StoreMode::Max => Some(Reduction::Max),
        }
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Const(value)
    }
}

impl<T: Into<Value>> ops::Add<T> for Value {
    type Output = Value;

    /// `1.0 + 2.0` -> `3.0`, `x + 0.0` -> `x` (the sign of a zero is not kept).
    fn add(self, other: T) -> Value {
        Reduction::Sum.join(self, other.into())
    }
}

impl<T: Into<Value>> ops::Mul<T> for Value {
    type Output = Value;

    /// `2.0 * 3.0` -> `6.0`, `x * 1.0` -> `x`. `x * 0.0` stays, since `x` may be infinite or not a number.
    fn mul(self, other: T) -> Value {
        match (self, other.into()) {
            (Value::Const(left), Value::Const(right)) => Value::Const(left * right),
            (Value::Const(1.0), value) | (value, Value::Const(1.0)) => value,
            (left, right) => Value::Mul(Box::new(left), Box::new(right)),
        }
    }
}

impl<T: Into<Value>> ops::Div<T> for Value {
    type Output = Value;

    /// `6.0 / 2.0` -> `3.0`, `x / 1.0` -> `x`.
    fn div(self, other: T) -> Value {
        match (self, other.into()) {
            (Value::Const(left), Value::Const(right)) => Value::Const(left / right),
            (value, Value::Const(1.0)) => value,
            (left, right) => Value::Div(Box::new(left), Box::new(right)),
        }
    }
}

impl For {
    /// `for var = lower to upper { body }`, sequential, by steps of 1.
    pub fn new(var: VarId, lower: Index, upper: Index, body: Vec<Stmt>) -> For {
        let (lower, upper) = (vec![lower], vec![upper]);
        For { var, lower, upper, step: 1, mark: Mark::Sequential, body }
    }

    /// Where the range begins, and where it ends.
    pub fn ends(&self) -> (Index, Index) {
        ends(&self.lower, &self.upper)
    }

    /// The same loop, its iterations in any order.
    pub fn parallel(self) -> For {
        For { mark: Mark::THREADS, ..self }
    }

    /// The same loop with its iterations side by side.
    pub fn unrolled(self) -> For {
        For { mark: Mark::Unrolled, ..self }
    }
}

impl Stmt {
    /// `for var = lower to upper { body }`.
    pub fn for_range(var: VarId, lower: Index, upper: Index, body: Vec<Stmt>) -> Stmt {
        Stmt::For(For::new(var, lower, upper, body))
    }

    /// `if condition { then }`.
    pub fn when(condition: Condition, then: Vec<Stmt>) -> Stmt {
        Stmt::If(If { condition, then, otherwise: Vec::new() })
    }

    /// `buffer[index] = value`.
    pub fn set(buffer: BufferId, index: Index, value: Value) -> Stmt {
        Stmt::Store(Store { buffer, index, value, mode: StoreMode::Set, stream: None })
    }

    /// `buffer[index] += value`.
    pub fn add(buffer: BufferId, index: Index, value: Value) -> Stmt {
        Stmt::Store(Store { buffer, index, value, mode: StoreMode::Add, stream: None })
    }
}

impl Sum {
    /// Where the range begins, and where it ends.
    pub fn ends(&self) -> (Index, Index) {
        ends(&self.lower, &self.upper)
    }
}

impl PartitionedRange {
    /// Where the range begins, and where it ends.
    pub fn ends(&self) -> (Index, Index) {
        ends(&self.lower, &self.upper)
    }
}

/// The largest of some lower bounds and the smallest of some upper bounds. A range always has both; one without is
/// empty.
fn ends(lower: &[Index], upper: &[Index]) -> (Index, Index) {
    let lower = lower.iter().cloned().reduce(Index::max);
    let upper = upper.iter().cloned().reduce(Index::min);
    (lower.unwrap_or(Index::Const(0)), upper.unwrap_or(Index::Const(0)))
}

impl Function {
    /// An empty function.
    pub fn new(name: impl Into<String>, args: Vec<(BufferId, Mode)>) -> Function {
        Function {
            name: name.into(),
            private: None,
            args,
            vars: Vec::new(),
            hints: Hints::default(),
            registers: Vec::new(),
            checked: None,
            body: Vec::new(),
        }
    }

    /// A new variable, not bound yet.
    pub fn fresh_var(&mut self, name: impl Into<String>) -> VarId {
        self.vars.push(name.into());
        VarId(self.vars.len() as u32 - 1)
    }

    /// A new variable with the name and the hint of another, and `mark` behind the name.
    pub fn fresh_like(&mut self, like: VarId, mark: &str) -> VarId {
        let name = self.vars.get(like.0 as usize).cloned().unwrap_or_default();
        let var = self.fresh_var(format!("{name}{mark}"));
        self.hints.copy(like, var);
        var
    }

    /// A new register, not defined yet.
    pub fn fresh_register(&mut self, ty: RegisterType) -> RegId {
        self.registers.push(ty);
        RegId(self.registers.len() as u32 - 1)
    }
}

/// A name that no buffer has: `name`, or `name_`, or `name_2`, `name_3` ..
pub fn free_name(buffers: &[Buffer], name: String) -> String {
    let (mut taken, mut last) = (false, 0);
    for buffer in buffers {
        let Some(rest) = buffer.name.strip_prefix(&name) else { continue };
        taken |= rest.is_empty();
        let number = match rest.strip_prefix('_') {
            Some("") => 1,
            Some(digits) => digits.parse().unwrap_or(0),
            None => 0,
        };
        last = last.max(number);
    }
    match (taken, last) {
        (false, _) => name,
        (true, 0) => name + "_",
        (true, last) => format!("{name}_{}", last + 1),
    }
}

impl Module {
    /// A new symbol, or the one of that name.
    pub fn symbol(&mut self, name: &str) -> SymbolId {
        let position = self.symbols.iter().position(|known| known == name).unwrap_or_else(|| {
            self.symbols.push(name.to_owned());
            self.symbols.len() - 1
        });
        SymbolId(position as u32)
    }

    /// A new buffer.
    pub fn buffer(&mut self, name: impl Into<String>, element: Element, size: Index) -> BufferId {
        self.buffers.push(Buffer { name: name.into(), element, size, space: Space::Main });
        BufferId(self.buffers.len() as u32 - 1)
    }

    /// A new buffer of that name, or of one like it if there is a buffer of that name ([`free_name`]).
    pub fn fresh_buffer(
        &mut self,
        name: impl Into<String>,
        element: Element,
        size: Index,
    ) -> BufferId {
        let name = free_name(&self.buffers, name.into());
        self.buffer(name, element, size)
    }

    /// The symbol of that name.
    pub fn find_symbol(&self, name: &str) -> Option<SymbolId> {
        self.symbols.iter().position(|known| known == name).map(|at| SymbolId(at as u32))
    }

    /// The buffer of that name.
    pub fn find_buffer(&self, name: &str) -> Option<BufferId> {
        self.buffers.iter().position(|known| known.name == name).map(|at| BufferId(at as u32))
    }

    /// The function of that name.
    pub fn find_function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|known| known.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn x() -> Index {
        Index::Var(VarId(0))
    }

    fn y() -> Index {
        Index::Symbol(SymbolId(0))
    }

    #[test]
    fn integers_fold() {
        assert_eq!(Index::from(2) + 3, Index::Const(5));
        assert_eq!(x() + 0, x());
        assert_eq!(x() + 3 - 3, x());
        assert_eq!((x() + 3 - 5).to_string(), "v0 - 2");
        assert_eq!(x() * 1, x());
        assert_eq!(x() * Index::Const(0), Index::Const(0));
        assert_eq!(x() - x(), Index::Const(0));
        assert_eq!((Index::from(2) * (Index::from(3) * x())).to_string(), "6 * v0");
        assert_eq!(Index::from(-1).modulo(4), Index::Const(3));
        assert_eq!(Index::from(-1).floor_div(4), Index::Const(-1));
        assert_eq!(x().floor_div(2).floor_div(3), x().floor_div(6));
        assert_eq!(Index::from(6).exact_div(3), Index::Const(2));
        assert_eq!((x() + y()).min(x() + y() + 1), x() + y());
        assert_eq!(x().max(x() + 1), x() + 1);
        assert_eq!(Index::select(x().less(x() + 1), x(), y()), x());
    }

    #[test]
    fn nothing_overflows() {
        let top = Index::from(i64::MAX);
        assert_eq!((top.clone() + 1).as_const(), None);
        assert_eq!((top.clone() * 2).as_const(), None);
        assert_eq!((x() + i64::MAX + i64::MAX).as_const(), None);
        assert_eq!((x() - i64::MIN).as_const(), None);
        assert!(matches!(top.floor_div(0), Index::FloorDiv(..)));
    }

    #[test]
    fn conditions_fold() {
        let open = x().less(y());
        assert_eq!(open.clone().and(true.into()), open);
        assert_eq!(open.clone().and(false.into()), Condition::FALSE);
        assert_eq!(open.clone().or(true.into()), Condition::TRUE);
        assert_eq!(open.clone().negate().negate(), open);
        assert_eq!(open.clone().and(open.clone()).conjuncts().len(), 2);
    }

    #[test]
    fn values_fold() {
        let load = || Value::load(BufferId(0), x());
        assert_eq!(load() * 1.0, load());
        assert_eq!(load() + 0.0, load());
        assert!(matches!(load() * 0.0, Value::Mul(..)));
        assert_eq!(Value::product((load() * load()).factors()), load() * load());
    }
}
