//! Loop nests of one shape, compiled once.
//!
//! A sum of a thousand strided diagonals is thousands of loop nests that differ in offsets, bounds and buffers only. LLVM takes milliseconds
//! for each; as calls of one function they cost next to nothing.
//!
//! Before -> after, for eight or more such nests:
//! `for i = 3 to n { a[i + 5] += b[i] }  for i = 0 to n { a[i + 7] += c[i] }  ..` ->
//! `shape(3, 5, a, b)  shape(0, 7, a, c)  ..` with `shape(p, q, x, y) { for i = p to n { x[i + q] += y[i] } }`.
//!
//! Only constants that are added or stand alone become parameters: a factor or divisor decides how a loop vectorises.

use super::{NOINLINE, Ssa, Writer, has_loop, line, memref};
use crate::Result;
use dastac_loops::{
    BufferId, Condition, For, Function, If, Index, Mode, Module, Share, Stmt, Store, Sum, SymbolId,
    Value, VarId,
};
use std::collections::{BTreeMap, BTreeSet};

/// So many nests of one shape are worth a function.
const MANY: usize = 8;

/// Very many calls are put into functions of so many each.
const LIST: usize = 64;

/// What a nest is apart from its shape.
#[derive(Default)]
struct Particulars {
    constants: Vec<i64>,
    buffers: Vec<BufferId>,
}

/// Nests of one shape.
struct Group {
    shape: Stmt,
    vars: Vec<String>,
    /// Position in the list of statements, and particulars.
    members: Vec<(usize, Particulars)>,
}

/// A function that stands for a group.
struct Shared {
    name: String,
    symbols: Vec<SymbolId>,
    /// Which of the members' constants are passed.
    columns: Vec<usize>,
}

impl Writer<'_, '_> {
    /// Writes statements of the function's outermost level.
    pub(super) fn outermost(&mut self, stmts: &[Stmt]) -> Result<()> {
        // Checked code knows the size of each buffer that it accesses: nests of one shape differ in these.
        let share = stmts.len() >= MANY && !self.checked;
        let groups = if share { self.groups(stmts) } else { Vec::new() };
        let mut calls: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        let mut shared = Vec::new();
        for (at, group) in groups.iter().enumerate() {
            shared.push(self.share(group)?);
            for (member, (position, _)) in group.members.iter().enumerate() {
                calls.insert(*position, (at, member));
            }
        }
        let mut list: Vec<(&Shared, &Particulars)> = Vec::new();
        for (position, stmt) in stmts.iter().enumerate() {
            match calls.get(&position) {
                Some(&(at, member)) => list.push((&shared[at], &groups[at].members[member].1)),
                None => {
                    self.calls(&std::mem::take(&mut list))?;
                    self.stmts(std::slice::from_ref(stmt))?;
                }
            }
        }
        self.calls(&list)
    }

    /// Writes calls, one after the other: very many of them as functions of a few each, because LLVM takes time that grows with the square of
    /// a block's length.
    fn calls(&mut self, list: &[(&Shared, &Particulars)]) -> Result<()> {
        if list.len() < 2 * LIST {
            return list
                .iter()
                .try_for_each(|(shared, particulars)| self.call(shared, particulars));
        }
        for few in list.chunks(LIST) {
            let name = format!("{}__calls{}", self.name, self.unit.outlined);
            self.unit.outlined += 1;
            let symbols: BTreeSet<SymbolId> =
                few.iter().flat_map(|(shared, _)| shared.symbols.iter().copied()).collect();
            let buffers: BTreeSet<BufferId> = few
                .iter()
                .flat_map(|(_, particulars)| particulars.buffers.iter().copied())
                .collect();
            let modes: Vec<(BufferId, Option<Mode>)> =
                buffers.iter().map(|id| (*id, self.mode(*id))).collect();
            let kind = (self.threads, false);
            let mut body = Writer::new(self.module, self.function, name.clone(), kind, self.unit);
            let mut arguments = Vec::new();
            for symbol in &symbols {
                let ssa = Ssa(format!("%s{}", symbol.0));
                arguments.push(format!("{ssa}: index"));
                body.symbols.insert(*symbol, ssa);
            }
            for (id, mode) in modes {
                let Some(mode) = mode else {
                    return Err(body.invalid(format_args!("buffer {} is no argument", id.0)));
                };
                arguments.push(body.buffer_argument(id, mode)?);
            }
            for (shared, particulars) in few {
                body.call(shared, particulars)?;
            }
            body.finish("private ", &arguments, NOINLINE);
            let (symbols, buffers) = (Vec::from_iter(symbols), Vec::from_iter(buffers));
            self.invoke(&name, &symbols, &[], &buffers)?;
        }
        Ok(())
    }

    /// The groups of loops that are large enough.
    fn groups(&self, stmts: &[Stmt]) -> Vec<Group> {
        let mut groups: BTreeMap<String, Group> = BTreeMap::new();
        for (position, stmt) in stmts.iter().enumerate() {
            if !has_loop(std::slice::from_ref(stmt)) || walks(stmt) {
                continue;
            }
            let mut abstraction = Abstraction {
                first_parameter: self.module.symbols.len() as u32,
                particulars: Particulars::default(),
                vars: BTreeMap::new(),
            };
            let shape = abstraction.stmt(stmt);
            let Abstraction { particulars, vars, .. } = abstraction;
            let kinds: Vec<_> = particulars
                .buffers
                .iter()
                .map(|id| {
                    (self.module.buffers.get(id.0 as usize).map(|b| b.element), self.mode(*id))
                })
                .collect();
            let group = groups.entry(format!("{kinds:?} {shape:?}")).or_insert_with(|| {
                let mut names = vec![String::new(); vars.len()];
                for (old, new) in &vars {
                    let name = self.function.vars.get(old.0 as usize);
                    names[new.0 as usize] = name.cloned().unwrap_or_default();
                }
                Group { shape, vars: names, members: Vec::new() }
            });
            group.members.push((position, particulars));
        }
        groups.into_values().filter(|group| group.members.len() >= MANY).collect()
    }

    fn mode(&self, buffer: BufferId) -> Option<Mode> {
        let args = &self.function.args;
        args.iter().find(|(known, _)| *known == buffer).map(|(_, mode)| *mode)
    }

    /// Writes a group's function.
    fn share(&mut self, group: &Group) -> Result<Shared> {
        let first = &group.members[0].1;
        let same = |column: usize| {
            group.members.iter().all(|(_, m)| m.constants[column] == first.constants[column])
        };
        let columns: Vec<usize> = (0..first.constants.len()).filter(|c| !same(*c)).collect();
        let known = self.module.symbols.len() as u32;
        let stmt = group.shape.rebuild(&|leaf| match leaf {
            Index::Symbol(symbol) if symbol.0 >= known => {
                let column = (symbol.0 - known) as usize;
                if columns.contains(&column) {
                    leaf.clone()
                } else {
                    Index::constant(first.constants[column])
                }
            }
            _ => leaf.clone(),
        });
        let mut symbols = BTreeSet::new();
        stmt.visit_indices(&mut |index| {
            if let Index::Symbol(symbol) = index
                && symbol.0 < known
            {
                symbols.insert(*symbol);
            }
        });
        let mut args = Vec::new();
        let mut buffers = Vec::new();
        for (local, id) in (0u32..).zip(&first.buffers) {
            let (Some(mode), Some(buffer)) =
                (self.mode(*id), self.module.buffers.get(id.0 as usize))
            else {
                return Err(self.invalid(format_args!("buffer {} is no argument", id.0)));
            };
            args.push((BufferId(local), mode));
            buffers.push(buffer.clone());
        }
        let mut module =
            Module { symbols: self.module.symbols.clone(), buffers, functions: Vec::new() };
        let parameters = first.constants.len();
        module.symbols.extend((0..parameters).map(|column| format!("p{column}")));
        let mut function = Function::new(self.function.name.clone(), args);
        function.vars = group.vars.clone();

        let name = format!("{}__shape{}", self.name, self.unit.outlined);
        self.unit.outlined += 1;
        let mut body =
            Writer::new(&module, &function, name.clone(), (self.threads, false), self.unit);
        let mut arguments = Vec::new();
        let passed = columns.iter().map(|column| SymbolId(known + *column as u32));
        for symbol in symbols.iter().copied().chain(passed) {
            let ssa = Ssa(format!("%s{}", symbol.0));
            arguments.push(format!("{ssa}: index"));
            body.symbols.insert(symbol, ssa);
        }
        for (buffer, mode) in &function.args {
            arguments.push(body.buffer_argument(*buffer, *mode)?);
        }
        body.stmts(std::slice::from_ref(&stmt))?;
        body.finish("private ", &arguments, NOINLINE);
        Ok(Shared { name, symbols: symbols.into_iter().collect(), columns })
    }

    /// Writes the call that stands for one nest.
    fn call(&mut self, shared: &Shared, particulars: &Particulars) -> Result<()> {
        let passed = shared.columns.iter().map(|column| particulars.constants[*column]);
        let constants: Vec<i64> = passed.collect();
        self.invoke(&shared.name, &shared.symbols, &constants, &particulars.buffers)
    }

    fn invoke(
        &mut self,
        name: &str,
        symbols: &[SymbolId],
        constants: &[i64],
        buffers: &[BufferId],
    ) -> Result<()> {
        let (mut operands, mut types) = (Vec::new(), Vec::new());
        for symbol in symbols {
            operands.push(self.symbol(*symbol)?.to_string());
            types.push("index".to_owned());
        }
        for constant in constants {
            operands.push(self.index_constant(*constant).to_string());
            types.push("index".to_owned());
        }
        for buffer in buffers {
            let (name, element) = self.buffer(*buffer)?;
            operands.push(name.to_string());
            types.push(memref(element));
        }
        let (operands, types) = (operands.join(", "), types.join(", "));
        line!(self, "func.call @{name}({operands}) : ({types}) -> ()");
        Ok(())
    }
}

/// Splits nests into shape and particulars: variables and buffers numbered as they appear, constants as symbols from `first_parameter` on.
struct Abstraction {
    first_parameter: u32,
    particulars: Particulars,
    vars: BTreeMap<VarId, VarId>,
}

impl Abstraction {
    fn stmt(&mut self, stmt: &Stmt) -> Stmt {
        match stmt {
            Stmt::For(inner) => {
                let lower = self.indices(&inner.lower);
                let upper = self.indices(&inner.upper);
                let var = self.bind(inner.var);
                let body = self.stmts(&inner.body);
                Stmt::For(For { var, lower, upper, body, ..*inner })
            }
            Stmt::Share(inner) => {
                let (lower, upper) = (self.indices(&inner.lower), self.indices(&inner.upper));
                let (begin, end) = (self.bind(inner.begin), self.bind(inner.end));
                let work = inner.work.as_ref().map(|work| self.index(work));
                let body = self.stmts(&inner.body);
                Stmt::Share(Share { begin, end, lower, upper, work, body, step: inner.step })
            }
            // Not among those that are looked at: see `groups`.
            Stmt::Partial(_)
            | Stmt::Team(_)
            | Stmt::Call(_)
            | Stmt::While(_)
            | Stmt::CoIter(_)
            | Stmt::Workspace(_)
            | Stmt::Let(_)
            | Stmt::Register(_) => stmt.clone(),
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
        BufferId(position as u32)
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

/// Whether there is something inside that is no plain loop.
fn walks(stmt: &Stmt) -> bool {
    let mut found = false;
    stmt.visit(&mut |stmt| {
        found |= !matches!(stmt, Stmt::For(_) | Stmt::Share(_) | Stmt::If(_) | Stmt::Store(_));
    });
    found
}
