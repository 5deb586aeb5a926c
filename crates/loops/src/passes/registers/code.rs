//! Writes register code: definitions, loops and conditionals.

use super::{Lowered, Lowering, RegistersError};
use crate::ir::*;
use crate::unroll::{Instance, at, holds_at};

/// A binary operation on expressions that is not folded: its operands are variables.
fn pair(make: fn(Box<Index>, Box<Index>) -> Index, left: Index, right: Index) -> Index {
    make(Box::new(left), Box::new(right))
}

/// `left + right`.
pub(super) fn plus(left: Index, right: Index) -> Index {
    pair(Index::Add, left, right)
}

/// `left - right`.
pub(super) fn minus(left: Index, right: Index) -> Index {
    pair(Index::Sub, left, right)
}

/// The larger one.
pub(super) fn larger(left: Index, right: Index) -> Index {
    pair(Index::Max, left, right)
}

/// The multiple of `by` that is at most `index`.
pub(super) fn whole(index: VarId, by: i64) -> Index {
    minus(index.into(), Index::Mod(Box::new(index.into()), by))
}

impl Lowering<'_> {
    /// Where variables were renamed, the new ones.
    fn renamed(&self, index: Index) -> Index {
        if !self.renamed.keys().any(|var| index.mentions(*var)) {
            return index;
        }
        index.rebuild(&|leaf| match leaf {
            Index::Var(var) => Index::Var(self.renamed.get(var).copied().unwrap_or(*var)),
            leaf => leaf.clone(),
        })
    }

    /// An expression at an instance.
    pub(super) fn place(&self, index: &Index, instance: &Instance) -> Index {
        self.renamed(at(index, instance))
    }

    /// An expression at an instance that is needed in several places: it is computed once, before them. The back end
    /// would not find what a branch and the code after it have in common.
    pub(super) fn place_once(&mut self, index: &Index, instance: &Instance) -> Index {
        match self.place(index, instance) {
            leaf @ (Index::Const(_) | Index::Symbol(_) | Index::Var(_)) => leaf,
            computed => self.integer("at", computed).into(),
        }
    }

    /// A condition at an instance.
    pub(super) fn holds(&self, condition: &Condition, instance: &Instance) -> Condition {
        let condition = holds_at(condition, instance);
        match self.renamed.keys().any(|var| condition.mentions(*var)) {
            true => condition.map_indices(&|index| self.renamed(index.clone())),
            false => condition,
        }
    }

    /// An expression at the instances here, which agree about it.
    pub(super) fn here(&self, index: &Index) -> Index {
        self.instances.first().map_or_else(|| index.clone(), |instance| self.place(index, instance))
    }

    /// A condition at the instances here, which agree about it.
    pub(super) fn holds_here(&self, condition: &Condition) -> Condition {
        let first = self.instances.first();
        first.map_or_else(|| condition.clone(), |instance| self.holds(condition, instance))
    }

    /// The element type of a buffer.
    pub(super) fn element(&self, buffer: BufferId) -> Lowered<Element> {
        let known = self.module.buffers.get(buffer.0 as usize);
        known.map(|known| known.element).ok_or(RegistersError::Buffer(buffer))
    }

    /// How many numbers of this type a vector has.
    pub(super) fn lanes_of(&self, element: Element) -> usize {
        usize::try_from(self.machine.lanes(element.bytes() as i64)).unwrap_or(0)
    }

    /// The type of numbers, in lanes if vectors are wanted.
    pub(super) fn type_of(&self, element: Element, vector: bool) -> RegisterType {
        let lanes = self.lanes.as_ref().filter(|_| vector).map_or(1, |lanes| lanes.count);
        RegisterType::number(element, lanes)
    }

    pub(super) fn is_vector(&self, register: RegId) -> bool {
        self.type_in(register).lanes > 1
    }

    pub(super) fn type_in(&self, register: RegId) -> RegisterType {
        self.function.registers[register.0 as usize]
    }

    pub(super) fn push(&mut self, stmt: RegisterStmt) {
        self.code.push(Stmt::Register(stmt));
    }

    pub(super) fn define(&mut self, ty: RegisterType, operation: Operation) -> RegId {
        let register = self.function.fresh_register(ty);
        self.push(RegisterStmt::Define(register, operation));
        register
    }

    /// One number, in all lanes if a vector is wanted.
    pub(super) fn number(&mut self, value: f64, vector: bool, element: Element) -> RegId {
        self.define(self.type_of(element, vector), Operation::Constant(value))
    }

    pub(super) fn binary(&mut self, how: BinaryOp, left: RegId, right: RegId) -> RegId {
        self.define(self.type_in(left), Operation::Binary(how, left, right))
    }

    /// A register as a vector, if one is wanted.
    pub(super) fn broadcast(&mut self, register: RegId, vector: bool) -> RegId {
        let RegisterType { kind, lanes } = self.type_in(register);
        match &self.lanes {
            Some(wanted) if vector && lanes == 1 => {
                let ty = RegisterType { kind, lanes: wanted.count };
                self.define(ty, Operation::Broadcast(register))
            }
            _ => register,
        }
    }

    /// A variable that stands for an integer of the program: a bound, or a place in a buffer.
    fn integer(&mut self, name: &str, index: Index) -> VarId {
        let var = self.function.fresh_var(name);
        self.push(RegisterStmt::Integer(Integer { var, index, wraps: false }));
        var
    }

    /// A variable that stands for what is computed of bounds: lengths, ends of whole vectors. LLVM turns its loops into
    /// worse ones if it concludes from these that bounds are ordered.
    pub(super) fn wrapping(&mut self, name: &str, index: Index) -> VarId {
        let var = self.function.fresh_var(name);
        self.push(RegisterStmt::Integer(Integer { var, index, wraps: true }));
        var
    }

    /// A variable that stands for the extreme one of some bounds.
    pub(super) fn bound(&mut self, name: &str, list: Vec<Index>) -> Lowered<VarId> {
        let extreme = if name == "lower" { Index::Max } else { Index::Min };
        let all = list.into_iter().reduce(|all, one| pair(extreme, all, one));
        Ok(self.integer(name, all.ok_or(RegistersError::NoBounds)?))
    }

    /// The code of a block.
    pub(super) fn block<T>(
        &mut self,
        write: impl FnOnce(&mut Self) -> Lowered<T>,
    ) -> Lowered<(Vec<Stmt>, T)> {
        let outer = std::mem::take(&mut self.code);
        let result = write(self);
        let code = std::mem::replace(&mut self.code, outer);
        Ok((code, result?))
    }

    /// Writes something where a variable of the program goes by another name.
    pub(super) fn under<T>(
        &mut self,
        var: VarId,
        name: VarId,
        write: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let outer = self.renamed.insert(var, name);
        let result = write(self);
        match outer {
            Some(outer) => self.renamed.insert(var, outer),
            None => self.renamed.remove(&var),
        };
        result
    }

    /// A loop whose iterations hand registers on, as one says that gets those of the one before.
    pub(super) fn carry(
        &mut self,
        (var, lower, upper, step): (VarId, Vec<Index>, Vec<Index>, i64),
        initial: &[RegId],
        body: impl FnOnce(&mut Self, &[RegId]) -> Lowered<Vec<RegId>>,
    ) -> Lowered<Vec<RegId>> {
        let types: Vec<RegisterType> = initial.iter().map(|one| self.type_in(*one)).collect();
        let fresh = |lowering: &mut Self| -> Vec<RegId> {
            types.iter().map(|ty| lowering.function.fresh_register(*ty)).collect()
        };
        let current = fresh(self);
        // Inside, the variable is the loop's.
        let (body, next) =
            self.under(var, var, |lowering| lowering.block(|inside| body(inside, &current)))?;
        let results = fresh(self);
        let carried = initial.iter().zip(current).zip(next.into_iter().zip(&results));
        let carried = carried
            .map(|((init, current), (next, result))| Carried {
                current,
                init: *init,
                next,
                result: *result,
            })
            .collect();
        self.push(RegisterStmt::Carry(Carry { var, lower, upper, step, carried, body }));
        Ok(results)
    }

    /// A conditional that gives registers; what each side gives is what it says.
    pub(super) fn choose(
        &mut self,
        condition: Test,
        then: impl FnOnce(&mut Self) -> Lowered<Vec<RegId>>,
        otherwise: impl FnOnce(&mut Self) -> Lowered<Vec<RegId>>,
    ) -> Lowered<Vec<RegId>> {
        let (then, first) = self.block(then)?;
        let (otherwise, second) = self.block(otherwise)?;
        let mut results = Vec::new();
        for (then, otherwise) in first.into_iter().zip(second) {
            let result = self.function.fresh_register(self.type_in(then));
            results.push(Chosen { result, then, otherwise });
        }
        let known = results.iter().map(|chosen| chosen.result).collect();
        self.push(RegisterStmt::Choose(Choose { condition, then, otherwise, results }));
        Ok(known)
    }
}
