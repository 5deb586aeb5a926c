//! The form in which two modules with the same text are equal.
//!
//! - Variables are numbered in the order in which the text binds them, unused ones dropped, and bear the names
//!   under which they print. So are registers.
//! - Minima in upper and maxima in lower bounds are lists of bounds.
//! - A conjunction or disjunction of one condition is that condition.

use crate::hints::Hints;
use crate::ir::*;
use crate::linear::{flatten_max, flatten_min};
use crate::print::{Names, integers, peel};
use std::collections::BTreeMap;

mod registers;

impl Module {
    /// The module that `parse(&self.to_string())` gives, if this one satisfies the invariants.
    pub fn canonical(&self) -> Module {
        let functions = self.functions.iter().map(|function| {
            let mut renumber = Renumber {
                names: Names::new(Some(self), Some(function)),
                numbers: BTreeMap::new(),
                vars: Vec::new(),
                given: &function.hints,
                hints: Hints::compact(function.hints.compact),
                types: &function.registers,
                registers: BTreeMap::new(),
                order: Vec::new(),
            };
            let private = function.private.as_ref().map(|private| Private {
                integers: private.integers.iter().map(|var| renumber.bind(*var)).collect(),
                ..private.clone()
            });
            let body = renumber.block(&function.body);
            let Renumber { vars, hints, order: registers, .. } = renumber;
            Function { private, vars, hints, registers, body, ..function.clone() }
        });
        Module { functions: functions.collect(), ..self.clone() }
    }
}

struct Renumber<'a> {
    names: Names<'a>,
    numbers: BTreeMap<VarId, VarId>,
    vars: Vec<String>,
    given: &'a Hints,
    hints: Hints,
    /// Types of the function's registers.
    types: &'a [RegisterType],
    registers: BTreeMap<RegId, RegId>,
    /// Types of the registers in the order in which they are defined.
    order: Vec<RegisterType>,
}

impl Renumber<'_> {
    fn bind(&mut self, var: VarId) -> VarId {
        let new = VarId(self.vars.len() as u32);
        self.vars.push(self.names.bind(var));
        self.numbers.insert(var, new);
        new
    }

    /// Gives the new variable the hint of the old one: only some statements have hints.
    fn hint(&mut self, old: VarId, new: VarId) {
        let hint = self.given.get(old);
        self.hints.update(new, |other| *other = hint);
    }

    fn block(&mut self, body: &[Stmt]) -> Vec<Stmt> {
        let result = body.iter().map(|stmt| self.stmt(stmt)).collect();
        integers(body).for_each(|_| self.names.unbind());
        result
    }

    fn stmt(&mut self, stmt: &Stmt) -> Stmt {
        match stmt {
            Stmt::For(inner) => {
                let (lower, upper) = self.bounds(&inner.lower, &inner.upper);
                let var = self.bind(inner.var);
                self.hint(inner.var, var);
                let body = self.block(&inner.body);
                self.names.unbind();
                Stmt::For(For { var, lower, upper, body, ..*inner })
            }
            Stmt::Partitioned(inner) => {
                let (lower, upper) = self.bounds(&inner.lower, &inner.upper);
                let (begin, end) = (self.bind(inner.begin), self.bind(inner.end));
                self.hint(inner.begin, begin);
                let work = inner.work.as_ref().map(|work| self.index(work));
                let body = self.block(&inner.body);
                self.names.unbind();
                self.names.unbind();
                Stmt::Partitioned(PartitionedRange {
                    begin,
                    end,
                    lower,
                    upper,
                    work,
                    body,
                    ..*inner
                })
            }
            Stmt::While(inner) => {
                let starts: Vec<Index> =
                    inner.vars.iter().map(|(_, start)| self.index(start)).collect();
                let vars: Vec<VarId> = inner.vars.iter().map(|(var, _)| self.bind(*var)).collect();
                let condition = self.condition(&inner.condition);
                let body = self.block(&inner.body);
                let next = inner.next.iter().map(|next| self.index(next)).collect();
                let after = self.block(&inner.after);
                inner.vars.iter().for_each(|_| self.names.unbind());
                let vars = vars.into_iter().zip(starts).collect();
                Stmt::While(While { vars, condition, body, next, after })
            }
            Stmt::CoIter(inner) => {
                let (lower, upper) = (self.index(&inner.lower), self.index(&inner.upper));
                let ranges: Vec<[Index; 3]> = inner
                    .cursors
                    .iter()
                    .map(|cursor| [&cursor.start, &cursor.end, &cursor.width])
                    .map(|indices| indices.map(|index| self.index(index)))
                    .collect();
                let var = self.bind(inner.var);
                self.hint(inner.var, var);
                let positions: Vec<VarId> =
                    inner.cursors.iter().map(|cursor| self.bind(cursor.position)).collect();
                let cursors = inner.cursors.iter().zip(positions).zip(ranges);
                let cursors = cursors
                    .map(|((cursor, position), [start, end, width])| Cursor {
                        position,
                        start,
                        end,
                        place: self.index(&cursor.place),
                        width,
                        ..cursor.clone()
                    })
                    .collect();
                let cases = inner
                    .cases
                    .iter()
                    .map(|case| Case {
                        cursors: case.cursors.clone(),
                        body: self.block(&case.body),
                    })
                    .collect();
                (0..=inner.cursors.len()).for_each(|_| self.names.unbind());
                Stmt::CoIter(CoIter { var, lower, upper, cursors, cases })
            }
            Stmt::Partial(inner) => {
                let (lower, upper) = self.bounds(&inner.lower, &inner.upper);
                let condition = self.condition(&inner.condition);
                let (base, extent) = (self.index(&inner.base), self.index(&inner.extent));
                let [begin, end, shift] =
                    [inner.begin, inner.end, inner.shift].map(|var| self.bind(var));
                let body = self.block(&inner.body);
                (0..3).for_each(|_| self.names.unbind());
                let finish = self.block(&inner.finish);
                Stmt::Partial(Partial {
                    begin,
                    end,
                    shift,
                    lower,
                    upper,
                    condition,
                    base,
                    extent,
                    body,
                    finish,
                    ..*inner
                })
            }
            Stmt::Team(inner) => {
                let (part, parts) = (self.bind(inner.part), self.bind(inner.parts));
                let body = self.block(&inner.body);
                (0..2).for_each(|_| self.names.unbind());
                Stmt::Team(Team { part, parts, body })
            }
            Stmt::Call(inner) => Stmt::Call(Call {
                integers: inner.integers.iter().map(|integer| self.index(integer)).collect(),
                ..inner.clone()
            }),
            Stmt::Append(inner) => Stmt::Append(Append {
                coordinate: self.index(&inner.coordinate),
                body: self.block(&inner.body),
                ..*inner
            }),
            Stmt::Workspace(inner) => {
                let size = self.index(&inner.size);
                let instead = inner.instead.as_ref();
                let instead = instead.map(|(other, when)| (*other, self.condition(when)));
                let body = self.block(&inner.body);
                Stmt::Workspace(Workspace { size, instead, body, ..*inner })
            }
            Stmt::Let(inner) => {
                let index = self.index(&inner.index);
                let var = self.bind(inner.var);
                let body = self.block(&inner.body);
                self.names.unbind();
                Stmt::Let(Let { var, index, body, ..*inner })
            }
            Stmt::Scan(inner) => {
                let (lower, upper) = (self.index(&inner.lower), self.index(&inner.upper));
                let var = self.bind(inner.var);
                let body = self.block(&inner.body);
                self.names.unbind();
                Stmt::Scan(Scan { var, lower, upper, body, ..*inner })
            }
            Stmt::If(inner) => Stmt::If(If {
                condition: self.condition(&inner.condition),
                then: self.block(&inner.then),
                otherwise: self.block(&inner.otherwise),
            }),
            Stmt::Store(store) => Stmt::Store(Store {
                index: self.index(&store.index),
                value: self.value(&store.value),
                stream: store.stream.as_ref().map(|condition| self.condition(condition)),
                ..*store
            }),
            Stmt::Register(inner) => Stmt::Register(self.register_stmt(inner)),
        }
    }

    fn bounds(&self, lower: &[Index], upper: &[Index]) -> (Vec<Index>, Vec<Index>) {
        let (mut lowers, mut uppers) = (Vec::new(), Vec::new());
        lower.iter().for_each(|bound| flatten_max(&self.index(bound), &mut lowers));
        upper.iter().for_each(|bound| flatten_min(&self.index(bound), &mut uppers));
        (lowers, uppers)
    }

    fn index(&self, index: &Index) -> Index {
        match index {
            Index::Var(var) => Index::Var(self.numbers.get(var).copied().unwrap_or(*var)),
            Index::Select(condition, then, otherwise) => Index::Select(
                Box::new(self.condition(condition)),
                Box::new(self.index(then)),
                Box::new(self.index(otherwise)),
            ),
            _ => index.map_parts(&mut |part| self.index(part)),
        }
    }

    fn condition(&self, condition: &Condition) -> Condition {
        match peel(condition) {
            Condition::Compare(op, left, right) => {
                Condition::Compare(*op, self.index(left), self.index(right))
            }
            Condition::And(list) => {
                Condition::And(list.iter().map(|c| self.condition(c)).collect())
            }
            Condition::Or(list) => Condition::Or(list.iter().map(|c| self.condition(c)).collect()),
        }
    }

    fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::Load(buffer, index) => Value::Load(*buffer, self.index(index)),
            Value::FromIndex(index) => Value::FromIndex(self.index(index)),
            Value::Sum(sum) => {
                let (lower, upper) = self.bounds(&sum.lower, &sum.upper);
                let var = self.bind(sum.var);
                self.hint(sum.var, var);
                let condition = sum.condition.as_ref().map(|condition| self.condition(condition));
                let fetch = sum.fetch.iter().map(|(buffer, index)| (*buffer, self.index(index)));
                let fetch = fetch.collect();
                let body = self.value(&sum.body);
                self.names.unbind();
                Value::Sum(Box::new(Sum { var, lower, upper, condition, fetch, body, ..**sum }))
            }
            _ => value.map_parts(&mut |part| self.value(part)),
        }
    }
}
