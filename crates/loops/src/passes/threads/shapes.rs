//! Loop nests of one shape, compiled once.
//!
//! A sum of a thousand strided diagonals is thousands of loop nests that differ in offsets, bounds and buffers only.
//! LLVM takes milliseconds for each; as calls of one function they cost next to nothing.
//!
//! Before -> after, for eight or more such nests:
//! `for i = 3 to n { a[i + 5] += b[i] }  for i = 0 to n { a[i + 7] += c[i] }  ..` ->
//! `call shape(3, 5) on a, b  call shape(0, 7) on a, c  ..` with
//! `private func shape(index p, index q, inout x, in y) { for i = p to n { x[i + q] += y[i] } }`.

use std::collections::{BTreeMap, BTreeSet};

use super::functions::{each_function, fresh_name};
use super::outline::{Outlined, has_loop};
use super::shape::{Abstraction, Particulars};
use crate::ir::*;
use crate::machine::Machine;
use crate::passes::Context;
use crate::rename::Uses;

pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    let limits = Limits::of(context.machine);
    each_function(module, |module, function| {
        let body = std::mem::take(&mut function.body);
        function.body = match body.len() >= limits.nests {
            true => shared(module, function, body, limits),
            false => body,
        };
    });
}

/// From when on functions are worth it.
#[derive(Clone, Copy)]
struct Limits {
    /// So many nests of one shape become calls of a function.
    nests: usize,
    /// Very many calls are put into functions of so many each.
    calls: usize,
}

impl Limits {
    fn of(machine: &Machine) -> Limits {
        let size = |number| usize::try_from(number).unwrap_or(1).max(1);
        Limits { nests: size(machine.same_shape), calls: size(machine.calls) }
    }
}

/// Nests of one shape.
struct Group {
    /// That of the first one, with its buffers.
    shape: Stmt,
    vars: Vec<String>,
    members: Vec<Member>,
}

struct Member {
    /// Where it stands in the list of statements.
    position: usize,
    particulars: Particulars,
}

/// The statements of a function, with calls in the place of nests of the same shape.
fn shared(module: &mut Module, caller: &Function, body: Vec<Stmt>, limits: Limits) -> Vec<Stmt> {
    let mut calls: BTreeMap<usize, Stmt> = BTreeMap::new();
    for group in groups(module, caller, &body, limits.nests) {
        calls.extend(group.calls(module, caller));
    }
    let (mut result, mut list) = (Vec::new(), Vec::new());
    for (position, stmt) in body.into_iter().enumerate() {
        match calls.remove(&position) {
            Some(call) => list.push(call),
            None => {
                result.append(&mut in_functions(
                    module,
                    caller,
                    std::mem::take(&mut list),
                    limits.calls,
                ));
                result.push(stmt);
            }
        }
    }
    result.append(&mut in_functions(module, caller, list, limits.calls));
    result
}

/// Calls as they are; very many of them as functions of a few each.
fn in_functions(
    module: &mut Module,
    caller: &Function,
    calls: Vec<Stmt>,
    most: usize,
) -> Vec<Stmt> {
    if calls.len() < 2 * most {
        return calls;
    }
    let few = calls.chunks(most).map(|few| {
        let outlined = Outlined { body: few.to_vec(), vars: &[] };
        outlined.call(module, caller)
    });
    few.collect()
}

/// The groups of at least so many nests.
fn groups(module: &Module, caller: &Function, body: &[Stmt], least: usize) -> Vec<Group> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for (position, stmt) in body.iter().enumerate() {
        if !has_loop(std::slice::from_ref(stmt)) || !is_plain(stmt) {
            continue;
        }
        let first_parameter = module.symbols.len() as u32;
        let mut abstraction = Abstraction::new(first_parameter, true);
        let shape = abstraction.stmt(stmt);
        let particulars = abstraction.particulars;
        let element = |id: &BufferId| module.buffers.get(id.0 as usize).map(|b| b.element);
        let kinds = particulars.buffers.iter().map(|id| (element(id), mode(caller, *id)));
        let kinds: Vec<_> = kinds.collect();
        let group = groups.entry(format!("{kinds:?} {shape:?}")).or_insert_with(|| {
            let mut abstraction = Abstraction::new(first_parameter, false);
            let shape = abstraction.stmt(stmt);
            let mut vars = vec![String::new(); abstraction.vars.len()];
            for (old, new) in &abstraction.vars {
                let name = caller.vars.get(old.0 as usize);
                vars[new.0 as usize] = name.cloned().unwrap_or_default();
            }
            Group { shape, vars, members: Vec::new() }
        });
        group.members.push(Member { position, particulars });
    }
    groups.into_values().filter(|group| group.members.len() >= least).collect()
}

fn mode(caller: &Function, buffer: BufferId) -> Option<Mode> {
    caller.args.iter().find(|(known, _)| *known == buffer).map(|(_, mode)| *mode)
}

/// Whether there are only plain loops inside, over arguments.
fn is_plain(stmt: &Stmt) -> bool {
    let mut plain = true;
    stmt.visit(&mut |stmt| {
        plain &= matches!(stmt, Stmt::For(_) | Stmt::Partitioned(_) | Stmt::If(_) | Stmt::Store(_));
    });
    plain
}

impl Group {
    /// Adds the group's function to the module, and gives the call for each of its members, by their positions.
    fn calls(self, module: &mut Module, caller: &Function) -> Vec<(usize, Stmt)> {
        let known = module.symbols.len() as u32;
        let passed = self.passed();
        let mut vars = self.vars;
        let integers: Vec<VarId> = passed
            .iter()
            .map(|column| {
                vars.push(format!("p{column}"));
                VarId(vars.len() as u32 - 1)
            })
            .collect();
        let first = &self.members[0].particulars;
        let nest = self.shape.rebuild(&|leaf| match leaf {
            Index::Symbol(symbol) if symbol.0 >= known => {
                let column = (symbol.0 - known) as usize;
                match passed.iter().position(|passed| *passed == column) {
                    Some(at) => Index::Var(integers[at]),
                    None => Index::Const(first.constants[column]),
                }
            }
            _ => leaf.clone(),
        });
        let body = vec![nest];
        let symbols: BTreeSet<SymbolId> = Uses::of(&body, &module.functions).symbols;
        let args = first.buffers.iter();
        let args = args.map(|id| (*id, mode(caller, *id).unwrap_or(Mode::InOut))).collect();
        let mut function = Function::new(fresh_name(module, &caller.name, "shape"), args);
        let symbols = symbols.into_iter().collect();
        function.private = Some(Private { symbols, integers, inline: false });
        (function.vars, function.body) = (vars, body);
        module.functions.push(function);
        let function = FunctionId(module.functions.len() as u32 - 1);
        let call = |member: Member| {
            let Particulars { constants, buffers } = member.particulars;
            let integers = passed.iter().map(|column| Index::Const(constants[*column])).collect();
            (member.position, Stmt::Call(Call { function, integers, buffers }))
        };
        self.members.into_iter().map(call).collect()
    }

    /// Which of the constants differ among members.
    fn passed(&self) -> Vec<usize> {
        let first = &self.members[0].particulars.constants;
        let same = |column: usize| {
            let mut members = self.members.iter();
            members.all(|member| member.particulars.constants[column] == first[column])
        };
        (0..first.len()).filter(|column| !same(*column)).collect()
    }
}
