//! Checks register code: what is used is defined, and of the type that its place asks for.

use super::{Verifier, Violation};
use crate::ir::*;

impl<'a> Verifier<'a> {
    /// The type of a register that is known here.
    fn known(&mut self, register: RegId) -> Option<RegisterType> {
        let ty = self.function.registers.get(register.0 as usize).copied();
        if ty.is_none() || !self.registers.contains(&register) {
            self.report(Violation::Register(register));
            return None;
        }
        ty
    }

    /// A register that is defined here.
    fn defined(&mut self, register: RegId) -> Option<RegisterType> {
        let ty = self.function.registers.get(register.0 as usize).copied();
        if ty.is_none() {
            self.report(Violation::Register(register));
        } else if self.registers.contains(&register) {
            self.report(Violation::RegisterTwice(register));
        }
        self.registers.push(register);
        ty
    }

    fn expect(&mut self, register: RegId, fits: impl Fn(RegisterType) -> bool) {
        if self.known(register).is_some_and(|ty| !fits(ty)) {
            self.report(Violation::RegisterType(register));
        }
    }

    pub(super) fn register_stmt(&mut self, stmt: &'a RegisterStmt) {
        match stmt {
            RegisterStmt::Define(register, operation) => {
                let ty = self.function.registers.get(register.0 as usize).copied();
                if let Some(ty) = ty
                    && !self.operation(operation, ty)
                {
                    self.report(Violation::RegisterType(*register));
                }
                self.defined(*register);
            }
            RegisterStmt::Integer(inner) => {
                self.index(&inner.index);
                self.bind(inner.var);
            }
            RegisterStmt::Carry(inner) => self.carry(inner),
            RegisterStmt::Choose(inner) => self.choose(inner),
            RegisterStmt::Write(write) => {
                let element = self.buffer(write.buffer, true);
                self.index(&write.index);
                let computed = self.known(write.value).map(|ty| ty.kind);
                let fits = match (computed, element) {
                    (Some(LaneKind::Number(computed)), Some(element)) => {
                        computed.is_integer() == element.is_integer() || element == Element::Bool
                    }
                    (computed, _) => computed.is_none(),
                };
                if !fits {
                    self.report(Violation::RegisterType(write.value));
                }
            }
            RegisterStmt::Multiply(inner) => self.multiply(inner),
            RegisterStmt::Prefetch(buffer, index) => {
                self.buffer(*buffer, false);
                self.index(index);
            }
            RegisterStmt::Fetch(fetch) => {
                let to = self.buffer(fetch.buffer, true);
                let from = self.buffer(fetch.from, false);
                self.index(&fetch.at);
                self.index(&fetch.source);
                let fits = |element: Element| matches!(element, Element::F64 | Element::F32);
                if to != from || !to.is_none_or(fits) {
                    self.report(Violation::Fetch);
                }
            }
            RegisterStmt::Arrive(left) => {
                if *left < 0 {
                    self.report(Violation::Fetch);
                }
            }
            RegisterStmt::Fence => {}
        }
    }

    fn multiply(&mut self, inner: &'a Multiply) {
        let held = self.buffer(inner.held, true);
        let factors = [&inner.left, &inner.right].map(|factor| {
            self.index(&factor.at);
            self.buffer(factor.buffer, false)
        });
        self.index(&inner.lane);
        let sizes = [inner.left.count, inner.right.count, inner.lanes, inner.terms];
        let fits = inner.terms % 4 == 0 && inner.lanes % 32 == 0 && sizes.iter().all(|n| *n > 0);
        let same = factors.iter().all(|one| one.is_none() || *one == held);
        if !fits
            || !same
            || held.is_some_and(|element| !matches!(element, Element::F64 | Element::F32))
        {
            self.report(Violation::Multiply);
        }
    }

    fn carry(&mut self, inner: &'a Carry) {
        self.range(&inner.lower, &inner.upper, inner.step);
        let outer = self.registers.len();
        let types: Vec<_> = inner.carried.iter().map(|one| self.known(one.init)).collect();
        self.bind(inner.var);
        for (carried, ty) in inner.carried.iter().zip(&types) {
            if self.defined(carried.current) != *ty {
                self.report(Violation::RegisterType(carried.current));
            }
        }
        let yields = inner.carried.iter().map(|one| one.next).zip(types.iter().copied());
        self.block_giving(&inner.body, yields.collect());
        self.scope.pop();
        self.registers.truncate(outer);
        for (carried, ty) in inner.carried.iter().zip(&types) {
            if self.defined(carried.result) != *ty {
                self.report(Violation::RegisterType(carried.result));
            }
        }
    }

    fn choose(&mut self, inner: &'a Choose) {
        match &inner.condition {
            Test::Condition(condition) => self.condition(condition),
            Test::Register(register) => self.expect(*register, |ty| ty == RegisterType::truth(1)),
        }
        let ty = |verifier: &Self, one: &Chosen| {
            verifier.function.registers.get(one.result.0 as usize).copied()
        };
        let then = inner.results.iter().map(|one| (one.then, ty(self, one))).collect();
        self.block_giving(&inner.then, then);
        let otherwise = inner.results.iter().map(|one| (one.otherwise, ty(self, one))).collect();
        self.block_giving(&inner.otherwise, otherwise);
        for chosen in &inner.results {
            self.defined(chosen.result);
        }
    }

    /// A block that gives registers of these types to what is around it.
    fn block_giving(&mut self, body: &'a [Stmt], gives: Vec<(RegId, Option<RegisterType>)>) {
        let outer = self.registers.len();
        self.block_open(body);
        for (register, ty) in gives {
            self.expect(register, |found| Some(found) == ty);
        }
        self.registers.truncate(outer);
    }

    /// Whether an operation gives this type.
    fn operation(&mut self, operation: &'a Operation, ty: RegisterType) -> bool {
        let mut conditions = Vec::new();
        let mut indices = Vec::new();
        operation.visit(&mut |index| indices.push(index), &mut |one| conditions.push(one));
        indices.into_iter().for_each(|index| self.index(index));
        conditions.into_iter().for_each(|condition| self.condition(condition));
        let operands: Option<Vec<RegisterType>> =
            operation.operands().into_iter().map(|one| self.known(one)).collect();
        let Some(operands) = operands else { return true };
        let number = matches!(ty.kind, LaneKind::Number(_));
        let truth = RegisterType::truth(ty.lanes);
        let masked = |mask: Option<RegId>, operands: &[RegisterType]| {
            mask.is_none() || ty.lanes > 1 && operands.last() == Some(&truth)
        };
        match operation {
            Operation::Constant(_) => number,
            Operation::Convert(_) => number && ty.lanes == 1,
            Operation::Lanes(..) => ty.kind == LaneKind::Integer,
            Operation::Load(load) => {
                self.loads(load.buffer, ty)
                    && (ty.lanes > 1 || !load.reversed)
                    && masked(load.mask, &operands)
            }
            Operation::Gather(gather) => {
                let places = operands[0] == RegisterType::integer(ty.lanes);
                self.loads(gather.buffer, ty) && places && masked(gather.mask, &operands)
            }
            Operation::Broadcast(_) => operands[0] == RegisterType { lanes: 1, ..ty },
            Operation::Binary(how, ..) => {
                how.takes(ty.kind) && operands.iter().all(|one| *one == ty)
            }
            Operation::Fma(..) => number && operands.iter().all(|one| *one == ty),
            Operation::Truth(_) => number && operands[0] == ty,
            Operation::Apply(function, of) => {
                let integers = matches!(ty.kind, LaneKind::Number(element) if element.is_integer());
                number
                    && of.len() == function.arity()
                    && (!integers || function.of_integers())
                    && operands.iter().all(|one| *one == ty)
            }
            Operation::Cast(element, _) => {
                let from = matches!(operands[0].kind, LaneKind::Number(from) if !from.is_complex());
                let to = matches!(ty.kind, LaneKind::Number(to)
                    if !to.is_complex() && (!to.is_integer() || element.is_integer()));
                from && to && !element.is_complex() && operands[0].lanes == ty.lanes
            }
            Operation::Compare(..) => {
                let kind = operands[0].kind;
                let compared = kind == LaneKind::Integer
                    || matches!(kind, LaneKind::Number(element) if !element.is_complex());
                let operand = RegisterType { kind, lanes: ty.lanes };
                ty == truth && compared && operands.iter().all(|one| *one == operand)
            }
            Operation::First(_) => ty == truth,
            Operation::Holds(_) => ty == RegisterType::truth(1),
            Operation::Aligned(aligned) => {
                self.buffer(aligned.buffer, false);
                ty == RegisterType::truth(1)
            }
            Operation::Select(..) => {
                let decides = operands[0] == truth || operands[0] == RegisterType::truth(1);
                decides && operands[1..].iter().all(|one| *one == ty)
            }
            Operation::Pack(of) => {
                let one = RegisterType { lanes: 1, ..ty };
                ty.lanes > 1 && of.len() == ty.lanes && operands.iter().all(|found| *found == one)
            }
            Operation::Shuffle(_, _, lanes) => {
                let all = operands[0].lanes + operands[1].lanes;
                let kinds = operands.iter().all(|one| one.kind == ty.kind);
                kinds
                    && ty.lanes > 1
                    && lanes.len() == ty.lanes
                    && lanes.iter().all(|lane| *lane < all)
            }
            Operation::Extract(_, lane) => {
                ty.lanes == 1 && operands[0].kind == ty.kind && *lane < operands[0].lanes
            }
        }
    }

    /// Whether elements of a buffer can be loaded into such a register.
    fn loads(&mut self, buffer: BufferId, ty: RegisterType) -> bool {
        let Some(element) = self.buffer(buffer, false) else { return true };
        match ty.kind {
            LaneKind::Number(computed) => !computed.is_integer() || element.is_integer(),
            LaneKind::Integer => element.is_integer(),
            LaneKind::Truth => false,
        }
    }
}
