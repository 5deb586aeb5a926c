//! The canonical form of register code.

use super::Renumber;
use crate::ir::*;

impl Renumber<'_> {
    fn register(&mut self, register: RegId) -> RegId {
        if let Some(known) = self.registers.get(&register) {
            return *known;
        }
        let new = RegId(self.order.len() as u32);
        let ty = self.types.get(register.0 as usize).copied();
        self.order.push(ty.unwrap_or(RegisterType::number(Element::F64, 1)));
        self.registers.insert(register, new);
        new
    }

    pub(super) fn register_stmt(&mut self, stmt: &RegisterStmt) -> RegisterStmt {
        match stmt {
            RegisterStmt::Define(register, operation) => {
                let register = self.register(*register);
                RegisterStmt::Define(register, self.operation(operation))
            }
            RegisterStmt::Integer(inner) => {
                let index = self.index(&inner.index);
                RegisterStmt::Integer(Integer { var: self.bind(inner.var), index, ..*inner })
            }
            RegisterStmt::Carry(inner) => RegisterStmt::Carry(self.carry(inner)),
            RegisterStmt::Choose(inner) => RegisterStmt::Choose(self.choose(inner)),
            RegisterStmt::Write(write) => RegisterStmt::Write(Write {
                index: self.index(&write.index),
                value: self.register(write.value),
                ..*write
            }),
            RegisterStmt::Multiply(inner) => {
                RegisterStmt::Multiply(Box::new(inner.map(&mut |index| self.index(index))))
            }
            RegisterStmt::Prefetch(buffer, index) => {
                RegisterStmt::Prefetch(*buffer, self.index(index))
            }
            RegisterStmt::Fetch(fetch) => {
                RegisterStmt::Fetch(Box::new(fetch.map(&mut |index| self.index(index))))
            }
            RegisterStmt::Arrive(left) => RegisterStmt::Arrive(*left),
            RegisterStmt::Fence => RegisterStmt::Fence,
        }
    }

    fn operation(&mut self, operation: &Operation) -> Operation {
        // Integers and conditions name no registers.
        let named =
            operation.map(&mut |index| self.index(index), &mut |c| self.condition(c), &mut |r| r);
        named.map(&mut Clone::clone, &mut Clone::clone, &mut |register| self.register(register))
    }

    fn carry(&mut self, inner: &Carry) -> Carry {
        let (lower, upper) = self.bounds(&inner.lower, &inner.upper);
        let var = self.bind(inner.var);
        let starts: Vec<(RegId, RegId)> = inner
            .carried
            .iter()
            .map(|carried| (self.register(carried.current), self.register(carried.init)))
            .collect();
        let body = self.block(&inner.body);
        self.names.unbind();
        let next: Vec<RegId> = inner.carried.iter().map(|one| self.register(one.next)).collect();
        let result: Vec<RegId> =
            inner.carried.iter().map(|one| self.register(one.result)).collect();
        let carried = starts.into_iter().zip(next.into_iter().zip(result));
        let carried = carried
            .map(|((current, init), (next, result))| Carried { current, init, next, result })
            .collect();
        Carry { var, lower, upper, step: inner.step, carried, body }
    }

    fn choose(&mut self, inner: &Choose) -> Choose {
        let condition = match &inner.condition {
            Test::Condition(condition) => Test::Condition(self.condition(condition)),
            Test::Register(register) => Test::Register(self.register(*register)),
        };
        let (then, otherwise) = (self.block(&inner.then), self.block(&inner.otherwise));
        let results = inner.results.iter().map(|chosen| Chosen {
            result: self.register(chosen.result),
            then: self.register(chosen.then),
            otherwise: self.register(chosen.otherwise),
        });
        let results = results.collect();
        Choose { condition, then, otherwise, results }
    }
}
