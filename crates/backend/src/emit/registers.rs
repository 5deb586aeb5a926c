//! Register code, one operation after the other: `arith`, `vector` and `memref` operations, loops and conditionals with
//! results.
//!
//! Before -> after: `$2 : f64[8] = fma $0, $1, $2` -> `%t2 = llvm.intr.fma(%t0, %t1, %t2) : ..`;
//! `carry k = 0 to n with $1 : f64 = $0 { .. } next $3 gives $4` ->
//! `%t4 = affine.for %k = 0 to %n iter_args(%t1 = %t0) -> (f64) { .. affine.yield %t3 : f64 }`.

use super::elementwise::predicate_of_floats;
use super::expression::{NSW, predicate};
use super::loops::Range;
use super::names::{list, type_name};
use super::writer::{Ssa, Variable, Writer, line};
use crate::Result;
use dastac_loops::{
    BinaryOp, Carry, Choose, FirstLanes, Index, LaneKind, Operation, RegId, RegisterStmt,
    RegisterType, Test,
};

impl Writer<'_, '_> {
    pub(super) fn register_stmt(&mut self, stmt: &RegisterStmt) -> Result<()> {
        match stmt {
            RegisterStmt::Define(register, operation) => {
                let ty = self.register_type(*register)?;
                let value = self.operation(operation, ty)?;
                self.registers.insert(*register, value);
                Ok(())
            }
            RegisterStmt::Integer(inner) => {
                self.wrapping = inner.wraps;
                let name = self.index(&inner.index)?;
                self.wrapping = false;
                self.vars.insert(inner.var, Variable { name, affine: false });
                Ok(())
            }
            RegisterStmt::Carry(inner) => self.carry(inner),
            RegisterStmt::Choose(inner) => self.choose(inner),
            RegisterStmt::Write(write) => self.write(write),
            RegisterStmt::Multiply(inner) => self.multiply(inner),
            RegisterStmt::Prefetch(buffer, index) => self.prefetch(*buffer, index),
            RegisterStmt::Fetch(fetch) => self.fetch(fetch),
            RegisterStmt::Arrive(left) => self.arrive(*left),
            RegisterStmt::Fence => {
                line!(self, "llvm.fence seq_cst");
                Ok(())
            }
        }
    }

    pub(super) fn register(&self, register: RegId) -> Result<Ssa> {
        let known = self.registers.get(&register).cloned();
        known.ok_or_else(|| self.invalid(format_args!("register {} is not defined", register.0)))
    }

    pub(super) fn register_type(&self, register: RegId) -> Result<RegisterType> {
        let known = self.function.registers.get(register.0 as usize).copied();
        known.ok_or_else(|| self.invalid(format_args!("register {} does not exist", register.0)))
    }

    fn operation(&mut self, operation: &Operation, ty: RegisterType) -> Result<Ssa> {
        let name = type_name(ty);
        Ok(match operation {
            Operation::Constant(value) => self.constant_of(*value, ty)?,
            Operation::Convert(index) => self.convert(index, ty)?,
            Operation::Lanes(first, by) => self.lanes(first, *by, ty)?,
            Operation::Load(load) if ty.lanes == 1 => self.load(load, ty)?,
            Operation::Load(load) => self.vector_load(load, ty)?,
            Operation::Gather(gather) => self.gather(gather, ty)?,
            Operation::Broadcast(one) => {
                let (one, from) =
                    (self.register(*one)?, type_name(RegisterType { lanes: 1, ..ty }));
                self.define(format_args!("vector.broadcast {one} : {from} to {name}"))
            }
            Operation::Binary(how, left, right) => {
                let (left, right) = (self.register(*left)?, self.register(*right)?);
                let (how, flags) = (binary_name(*how, ty.kind), self.flags(*how, ty.kind));
                self.define(format_args!("{how} {left}, {right}{flags} : {name}"))
            }
            Operation::Fma(a, b, c) => {
                let [a, b, c] = [self.register(*a)?, self.register(*b)?, self.register(*c)?];
                self.define(format_args!(
                    "llvm.intr.fma({a}, {b}, {c}) : ({name}, {name}, {name}) -> {name}"
                ))
            }
            Operation::Truth(one) => {
                let one = self.register(*one)?;
                self.truth(&one, ty)?
            }
            Operation::Apply(function, of) => self.apply(*function, of, ty)?,
            Operation::Cast(element, one) => self.cast_to(*element, *one, ty)?,
            Operation::Compare(how, left, right) => {
                let compared = self.register_type(*left)?;
                let (left, right) = (self.register(*left)?, self.register(*right)?);
                let name = type_name(compared);
                match compared.kind {
                    LaneKind::Number(element) if element.is_float() => {
                        let how = predicate_of_floats(*how);
                        self.define(format_args!("arith.cmpf {how}, {left}, {right} : {name}"))
                    }
                    _ => {
                        let how = predicate(*how);
                        self.define(format_args!("arith.cmpi {how}, {left}, {right} : {name}"))
                    }
                }
            }
            Operation::First(first) => self.first_lanes(first, ty)?,
            Operation::Holds(condition) => self.in_order(condition)?,
            Operation::Aligned(aligned) => self.aligned(aligned)?,
            Operation::Select(mask, then, otherwise) => {
                let bits = match self.register_type(*mask)?.lanes {
                    1 => String::new(),
                    lanes => format!("{}, ", type_name(RegisterType::truth(lanes))),
                };
                let (then, otherwise) = (self.register(*then)?, self.register(*otherwise)?);
                let mask = self.register(*mask)?;
                self.define(format_args!("arith.select {mask}, {then}, {otherwise} : {bits}{name}"))
            }
            Operation::Pack(of) => {
                let of: Result<Vec<_>> = of.iter().map(|one| self.register(*one)).collect();
                let of = list(of?.iter());
                self.define(format_args!("vector.from_elements {of} : {name}"))
            }
            Operation::Shuffle(left, right, lanes) => {
                let (one, other) = (self.register_type(*left)?, self.register_type(*right)?);
                let (one, other) = (type_name(one), type_name(other));
                let (left, right) = (self.register(*left)?, self.register(*right)?);
                let order = list(lanes.iter());
                self.define(format_args!(
                    "vector.shuffle {left}, {right} [{order}] : {one}, {other}"
                ))
            }
            Operation::Extract(one, lane) => {
                let from = type_name(self.register_type(*one)?);
                let one = self.register(*one)?;
                self.define(format_args!("vector.extract {one}[{lane}] : {name} from {from}"))
            }
        })
    }

    fn flags(&self, how: BinaryOp, kind: LaneKind) -> &'static str {
        let wraps = matches!(how, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul);
        if kind == LaneKind::Integer && wraps { self.promise(NSW) } else { "" }
    }

    /// The integers `first`, `first + by`, ..
    fn lanes(&mut self, first: &Index, by: i64, ty: RegisterType) -> Result<Ssa> {
        let first = self.index(first)?;
        if ty.lanes == 1 {
            return Ok(first);
        }
        let name = type_name(ty);
        if by == 0 {
            return Ok(self.define(format_args!("vector.broadcast {first} : index to {name}")));
        }
        let steps = list((0..ty.lanes as i64).map(|lane| lane * by));
        let steps = self.define(format_args!("arith.constant dense<[{steps}]> : {name}"));
        let first = self.define(format_args!("vector.broadcast {first} : index to {name}"));
        Ok(self.define(format_args!("arith.addi {first}, {steps} : {name}")))
    }

    fn first_lanes(&mut self, first: &FirstLanes, ty: RegisterType) -> Result<Ssa> {
        let many = self.index(&first.count)?;
        let (name, lanes) = (type_name(ty), ty.lanes);
        if !first.from_bits {
            return Ok(self.define(format_args!("vector.create_mask {many} : {name}")));
        }
        let bits = format!("i{lanes}");
        let many = self.define(format_args!("arith.index_cast {many} : index to i32"));
        let one = self.constant("1 : i32".into(), "bit".into());
        let beyond = self.define(format_args!("arith.shli {one}, {many} : i32"));
        let within = self.define(format_args!("arith.subi {beyond}, {one} : i32"));
        let within = self.define(format_args!("arith.trunci {within} : i32 to {bits}"));
        let within =
            self.define(format_args!("vector.broadcast {within} : {bits} to vector<1x{bits}>"));
        Ok(self.define(format_args!("vector.bitcast {within} : vector<1x{bits}> to {name}")))
    }

    fn carry(&mut self, inner: &Carry) -> Result<()> {
        let range = self.range(&inner.lower, &inner.upper, inner.step)?;
        let dialect = match range {
            Range::Affine { .. } => "affine",
            Range::Values { .. } => "scf",
        };
        let (mut pairs, mut types) = (Vec::new(), Vec::new());
        for carried in &inner.carried {
            let (name, init) = (self.fresh(), self.register(carried.init)?);
            pairs.push(format!("{name} = {init}"));
            types.push(type_name(self.register_type(carried.current)?));
            self.registers.insert(carried.current, name);
        }
        let (result, types) = (self.fresh(), types.join(", "));
        let carried = (!inner.carried.is_empty()).then(|| {
            let arguments = format!(" iter_args({}) -> ({types})", pairs.join(", "));
            (format!("{result}{}", arity(inner.carried.len())), arguments)
        });
        let var = self.loop_head(inner.var, &range, inner.step, carried)?;
        self.block(|writer| {
            writer.stmts(&inner.body)?;
            writer.yields(dialect, inner.carried.iter().map(|carried| carried.next), &types)
        })?;
        self.vars.remove(&var);
        line!(self, "}}");
        let names = results(&result, inner.carried.len());
        self.registers.extend(inner.carried.iter().map(|carried| carried.result).zip(names));
        Ok(())
    }

    fn choose(&mut self, inner: &Choose) -> Result<()> {
        let keyword = match &inner.condition {
            Test::Condition(condition) => self.branch(condition)?,
            Test::Register(register) => format!("scf.if {}", self.register(*register)?),
        };
        let dialect = if keyword.starts_with("affine") { "affine" } else { "scf" };
        let (result, count) = (self.fresh(), inner.results.len());
        let mut types = Vec::new();
        for chosen in &inner.results {
            types.push(type_name(self.register_type(chosen.result)?));
        }
        let types = types.join(", ");
        match count {
            0 => line!(self, "{keyword} {{"),
            _ => line!(self, "{result}{} = {keyword} -> ({types}) {{", arity(count)),
        }
        self.block(|writer| {
            writer.stmts(&inner.then)?;
            writer.yields(dialect, inner.results.iter().map(|chosen| chosen.then), &types)
        })?;
        line!(self, "}} else {{");
        self.block(|writer| {
            writer.stmts(&inner.otherwise)?;
            writer.yields(dialect, inner.results.iter().map(|chosen| chosen.otherwise), &types)
        })?;
        line!(self, "}}");
        let names = results(&result, count);
        self.registers.extend(inner.results.iter().map(|chosen| chosen.result).zip(names));
        Ok(())
    }

    fn yields(
        &mut self,
        dialect: &str,
        registers: impl Iterator<Item = RegId>,
        types: &str,
    ) -> Result<()> {
        let names: Result<Vec<Ssa>> = registers.map(|register| self.register(register)).collect();
        let names = names?;
        if !names.is_empty() {
            line!(self, "{dialect}.yield {} : {types}", list(names.iter()));
        }
        Ok(())
    }
}

/// Numbers of integers wrap around.
fn binary_name(how: BinaryOp, kind: LaneKind) -> &'static str {
    let integer = !matches!(kind, LaneKind::Number(element) if !element.is_integer());
    match (how, integer) {
        (BinaryOp::Add, false) => "arith.addf",
        (BinaryOp::Add, true) => "arith.addi",
        (BinaryOp::Sub, _) => "arith.subi",
        (BinaryOp::Mul, false) => "arith.mulf",
        (BinaryOp::Mul, true) => "arith.muli",
        (BinaryOp::Div, _) => "arith.divf",
        (BinaryOp::Min, false) => "arith.minimumf",
        (BinaryOp::Min, true) => "arith.minsi",
        (BinaryOp::Max, false) => "arith.maximumf",
        (BinaryOp::Max, true) => "arith.maxsi",
        (BinaryOp::And, _) => "arith.andi",
    }
}

fn arity(count: usize) -> String {
    if count == 1 { String::new() } else { format!(":{count}") }
}

/// The names of the results of an operation.
fn results(name: &Ssa, count: usize) -> Vec<Ssa> {
    match count {
        1 => vec![name.clone()],
        _ => (0..count).map(|at| Ssa(format!("{name}#{at}"))).collect(),
    }
}
