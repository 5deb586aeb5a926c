//! A loop nest as its shape, which many nests have, and what distinguishes it: constants and buffers.
//!
//! Before -> after: `for i = 3 to n { a[2 * i + 5] += b[i] }` ->
//! `for v0 = p0 to n { b0[2 * v0 + p1] += b1[v0] }` with `3, 5` for `p0, p1` and `a, b` for `b0, b1`.
//!
//! Only constants that are added or stand alone become parameters: a factor or divisor decides how a loop vectorises.

use std::collections::BTreeMap;

use crate::ir::*;

/// What a nest is apart from its shape.
#[derive(Default)]
pub(super) struct Particulars {
    /// Its constants, in the order of the text.
    pub constants: Vec<i64>,
    /// Its buffers, in the order in which they first appear.
    pub buffers: Vec<BufferId>,
}

/// Splits nests into shape and particulars: variables and buffers numbered as they appear, constants as symbols from
/// `first_parameter` on.
pub(super) struct Abstraction {
    /// The first symbol that stands for a constant.
    first_parameter: u32,
    /// Whether buffers are numbered; if not, they stay what they are.
    numbered: bool,
    /// What the nest is apart from its shape.
    pub particulars: Particulars,
    /// The numbers of its variables.
    pub vars: BTreeMap<VarId, VarId>,
}

impl Abstraction {
    /// One that has seen nothing yet.
    pub fn new(first_parameter: u32, numbered: bool) -> Abstraction {
        let particulars = Particulars::default();
        Abstraction { first_parameter, numbered, particulars, vars: BTreeMap::new() }
    }

    /// The shape of a statement.
    pub fn stmt(&mut self, stmt: &Stmt) -> Stmt {
        match stmt {
            Stmt::For(inner) => {
                let lower = self.indices(&inner.lower);
                let upper = self.indices(&inner.upper);
                let var = self.bind(inner.var);
                let body = self.stmts(&inner.body);
                Stmt::For(For { var, lower, upper, body, ..*inner })
            }
            Stmt::Partitioned(inner) => {
                let (lower, upper) = (self.indices(&inner.lower), self.indices(&inner.upper));
                let (begin, end) = (self.bind(inner.begin), self.bind(inner.end));
                let work = inner.work.as_ref().map(|work| self.index(work));
                let body = self.stmts(&inner.body);
                Stmt::Partitioned(PartitionedRange {
                    begin,
                    end,
                    lower,
                    upper,
                    work,
                    body,
                    step: inner.step,
                })
            }
            // Not among those that are looked at.
            Stmt::Partial(_)
            | Stmt::Team(_)
            | Stmt::Call(_)
            | Stmt::While(_)
            | Stmt::CoIter(_)
            | Stmt::Append(_)
            | Stmt::Workspace(_)
            | Stmt::Register(_)
            | Stmt::Let(_)
            | Stmt::Scan(_) => stmt.clone(),
            Stmt::If(inner) => Stmt::If(If {
                condition: self.condition(&inner.condition),
                then: self.stmts(&inner.then),
                otherwise: self.stmts(&inner.otherwise),
            }),
            Stmt::Store(inner) => Stmt::Store(Store {
                buffer: self.buffer(inner.buffer),
                index: self.index(&inner.index),
                value: self.value(&inner.value),
                mode: inner.mode,
                stream: inner.stream.as_ref().map(|condition| self.condition(condition)),
            }),
        }
    }

    fn stmts(&mut self, stmts: &[Stmt]) -> Vec<Stmt> {
        stmts.iter().map(|stmt| self.stmt(stmt)).collect()
    }

    fn bind(&mut self, var: VarId) -> VarId {
        let next = VarId(self.vars.len() as u32);
        *self.vars.entry(var).or_insert(next)
    }

    fn buffer(&mut self, buffer: BufferId) -> BufferId {
        let buffers = &mut self.particulars.buffers;
        let known = buffers.iter().position(|other| *other == buffer);
        let position = known.unwrap_or_else(|| {
            buffers.push(buffer);
            buffers.len() - 1
        });
        if self.numbered { BufferId(position as u32) } else { buffer }
    }

    fn indices(&mut self, list: &[Index]) -> Vec<Index> {
        list.iter().map(|index| self.index(index)).collect()
    }

    /// An expression whose constants are particulars, if it is one or a sum with one.
    fn index(&mut self, index: &Index) -> Index {
        let pair = |this: &mut Self, left: &Index, right: &Index| {
            (Box::new(this.index(left)), Box::new(this.index(right)))
        };
        match index {
            Index::Const(value) => {
                let constants = &mut self.particulars.constants;
                constants.push(*value);
                Index::Symbol(SymbolId(self.first_parameter + constants.len() as u32 - 1))
            }
            Index::Symbol(_) => index.clone(),
            Index::Var(var) => Index::Var(self.bind(*var)),
            Index::Add(left, right) => {
                let (left, right) = pair(self, left, right);
                Index::Add(left, right)
            }
            Index::Sub(left, right) => {
                let (left, right) = pair(self, left, right);
                Index::Sub(left, right)
            }
            Index::Min(left, right) => {
                let (left, right) = pair(self, left, right);
                Index::Min(left, right)
            }
            Index::Max(left, right) => {
                let (left, right) = pair(self, left, right);
                Index::Max(left, right)
            }
            Index::Mul(left, right) => {
                Index::Mul(Box::new(self.factor(left)), Box::new(self.factor(right)))
            }
            Index::FloorDiv(value, by) => Index::FloorDiv(Box::new(self.index(value)), *by),
            Index::Mod(value, by) => Index::Mod(Box::new(self.index(value)), *by),
            Index::ExactDiv(value, by) => Index::ExactDiv(Box::new(self.index(value)), *by),
            Index::Load(buffer, index) => {
                Index::Load(self.buffer(*buffer), Box::new(self.index(index)))
            }
            Index::Quotient(left, right) => {
                let (left, right) = pair(self, left, right);
                Index::Quotient(left, right)
            }
            Index::Select(condition, then, otherwise) => {
                let condition = Box::new(self.condition(condition));
                let (then, otherwise) = pair(self, then, otherwise);
                Index::Select(condition, then, otherwise)
            }
            Index::Within(inner) => {
                let (index, size) = (self.index(&inner.index), self.index(&inner.size));
                let buffer = self.buffer(inner.buffer);
                Index::Within(Box::new(Within { index, buffer, size }))
            }
        }
    }

    /// A factor: a constant stays, it may be a stride.
    fn factor(&mut self, index: &Index) -> Index {
        if let Index::Const(_) = index { index.clone() } else { self.index(index) }
    }

    fn condition(&mut self, condition: &Condition) -> Condition {
        match condition {
            Condition::Compare(op, left, right) => {
                Condition::Compare(*op, self.index(left), self.index(right))
            }
            Condition::And(list) => {
                Condition::And(list.iter().map(|part| self.condition(part)).collect())
            }
            Condition::Or(list) => {
                Condition::Or(list.iter().map(|part| self.condition(part)).collect())
            }
        }
    }

    fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::Load(buffer, index) => Value::Load(self.buffer(*buffer), self.index(index)),
            Value::FromIndex(index) => Value::FromIndex(self.index(index)),
            Value::Sum(sum) => {
                let lower = self.indices(&sum.lower);
                let upper = self.indices(&sum.upper);
                let var = self.bind(sum.var);
                let condition = sum.condition.as_ref().map(|condition| self.condition(condition));
                let fetch = sum.fetch.iter();
                let fetch = fetch.map(|(buffer, index)| (self.buffer(*buffer), self.index(index)));
                let fetch = fetch.collect();
                let body = self.value(&sum.body);
                Value::Sum(Box::new(Sum { var, lower, upper, condition, fetch, body, ..**sum }))
            }
            _ => value.map_parts(&mut |part| self.value(part)),
        }
    }
}
