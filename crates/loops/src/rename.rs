//! Variables under other names, and what statements use; without register code.
//!
//! Before -> after, with `i` as `x` and `j` as `y`: `for i = 0 to N { A[i] = sum(j = 0 to i) B[j] }` ->
//! `for x = 0 to N { A[x] = sum(y = 0 to x) B[y] }`.

use std::collections::BTreeSet;

use crate::ir::*;

/// What statements use of what is around them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Variables that are bound outside.
    pub vars: BTreeSet<VarId>,
    /// Symbols.
    pub symbols: BTreeSet<SymbolId>,
    /// Buffers that are not workspaces made inside.
    pub buffers: BTreeSet<BufferId>,
}

impl Uses {
    /// What these statements use, given the functions that they may call.
    pub fn of(body: &[Stmt], functions: &[Function]) -> Uses {
        let (mut uses, mut bound, mut made) = (Uses::default(), BTreeSet::new(), BTreeSet::new());
        for stmt in body {
            stmt.visit_indices(&mut |index| uses.add_index(index));
            stmt.visit_values(&mut |value| {
                uses.add_value(value);
                bound.extend(value.binds());
            });
            stmt.visit(&mut |stmt| {
                uses.add_stmt(stmt, functions);
                bound.extend(stmt.binds());
                made.extend(stmt.makes());
            });
        }
        uses.vars.retain(|var| !bound.contains(var));
        uses.buffers.retain(|buffer| !made.contains(buffer));
        uses
    }

    fn add_index(&mut self, index: &Index) {
        match index {
            Index::Var(var) => drop(self.vars.insert(*var)),
            Index::Symbol(symbol) => drop(self.symbols.insert(*symbol)),
            Index::Load(buffer, _) => drop(self.buffers.insert(*buffer)),
            Index::Within(inner) => drop(self.buffers.insert(inner.buffer)),
            _ => {}
        }
    }

    fn add_value(&mut self, value: &Value) {
        match value {
            Value::Load(buffer, _) => drop(self.buffers.insert(*buffer)),
            Value::Sum(sum) => self.buffers.extend(sum.fetch.iter().map(|(buffer, _)| *buffer)),
            _ => {}
        }
    }

    fn add_stmt(&mut self, stmt: &Stmt, functions: &[Function]) {
        match stmt {
            Stmt::Store(store) => drop(self.buffers.insert(store.buffer)),
            Stmt::Partial(inner) => drop(self.buffers.insert(inner.buffer)),
            Stmt::Let(inner) => drop(self.buffers.insert(inner.buffer)),
            Stmt::Scan(inner) => drop(self.buffers.insert(inner.buffer)),
            Stmt::Register(inner) => self.buffers.extend(inner.buffers()),
            Stmt::Workspace(inner) => {
                self.buffers.extend(inner.instead.iter().map(|(other, _)| *other));
            }
            Stmt::Call(call) => {
                self.buffers.extend(&call.buffers);
                let callee = functions.get(call.function.0 as usize);
                let private = callee.and_then(|callee| callee.private.as_ref());
                self.symbols.extend(private.iter().flat_map(|private| &private.symbols));
            }
            _ => {}
        }
    }
}

impl Value {
    /// The variable that this value binds, if it is a sum.
    pub fn binds(&self) -> Option<VarId> {
        if let Value::Sum(sum) = self { Some(sum.var) } else { None }
    }
}

impl Stmt {
    /// The variables that this statement binds, not those of statements and sums inside.
    pub fn binds(&self) -> Vec<VarId> {
        match self {
            Stmt::For(inner) => vec![inner.var],
            Stmt::Partitioned(inner) => vec![inner.begin, inner.end],
            Stmt::Partial(inner) => vec![inner.begin, inner.end, inner.shift],
            Stmt::Team(inner) => vec![inner.part, inner.parts],
            Stmt::While(inner) => inner.vars.iter().map(|(var, _)| *var).collect(),
            Stmt::CoIter(inner) => {
                let positions = inner.cursors.iter().map(|cursor| cursor.position);
                positions.chain([inner.var]).collect()
            }
            Stmt::Let(inner) => vec![inner.var],
            Stmt::Scan(inner) => vec![inner.var],
            Stmt::Register(RegisterStmt::Integer(inner)) => vec![inner.var],
            Stmt::Register(RegisterStmt::Carry(inner)) => vec![inner.var],
            Stmt::Register(_) | Stmt::Call(_) | Stmt::Workspace(_) => Vec::new(),
            Stmt::Append(_) | Stmt::If(_) | Stmt::Store(_) => Vec::new(),
        }
    }

    fn binders(&mut self) -> Vec<&mut VarId> {
        match self {
            Stmt::For(inner) => vec![&mut inner.var],
            Stmt::Partitioned(inner) => vec![&mut inner.begin, &mut inner.end],
            Stmt::Partial(inner) => vec![&mut inner.begin, &mut inner.end, &mut inner.shift],
            Stmt::Team(inner) => vec![&mut inner.part, &mut inner.parts],
            Stmt::While(inner) => inner.vars.iter_mut().map(|(var, _)| var).collect(),
            Stmt::CoIter(inner) => {
                let positions = inner.cursors.iter_mut().map(|cursor| &mut cursor.position);
                positions.chain([&mut inner.var]).collect()
            }
            Stmt::Let(inner) => vec![&mut inner.var],
            Stmt::Scan(inner) => vec![&mut inner.var],
            Stmt::Register(RegisterStmt::Integer(inner)) => vec![&mut inner.var],
            Stmt::Register(RegisterStmt::Carry(inner)) => vec![&mut inner.var],
            Stmt::Register(_) | Stmt::Call(_) | Stmt::Workspace(_) => Vec::new(),
            Stmt::Append(_) | Stmt::If(_) | Stmt::Store(_) => Vec::new(),
        }
    }

    /// The workspace that this statement makes.
    pub fn makes(&self) -> Option<BufferId> {
        match self {
            Stmt::Workspace(inner) => Some(inner.buffer),
            Stmt::Partial(inner) => Some(inner.workspace),
            _ => None,
        }
    }

    /// This statement with variables renamed, where they are bound and where they are used.
    pub fn rename(&self, to: &dyn Fn(VarId) -> VarId) -> Stmt {
        let mut renamed = self.rebuild(&|leaf| match leaf {
            Index::Var(var) => Index::Var(to(*var)),
            leaf => leaf.clone(),
        });
        renamed.rename_binders(to);
        renamed
    }

    fn rename_binders(&mut self, to: &dyn Fn(VarId) -> VarId) {
        self.binders().into_iter().for_each(|var| *var = to(*var));
        if let Stmt::Store(store) = self {
            let renamed = |sum: Sum| Value::Sum(Box::new(Sum { var: to(sum.var), ..sum }));
            store.value = store.value.map_sums(&renamed);
        }
        let bodies = self.bodies_mut().into_iter().flatten();
        bodies.for_each(|stmt| stmt.rename_binders(to));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    const TEXT: &str = "module(N)
        buffer A : f64[N]
        buffer C : i64[N]
        func f(inout A, in C) {
          for i = 0 to N {
            for j = C[i] to N { while p = j if p < i { A[p] += sum(k = 0 to i) A[j + k] } then p + 1 }
          }
        }";

    #[test]
    fn what_a_body_uses() {
        let module = parse(TEXT).unwrap();
        let outer = &module.functions[0].body[0];
        let uses = Uses::of(outer.bodies()[0], &module.functions);
        assert_eq!(uses.vars.into_iter().collect::<Vec<_>>(), outer.binds());
        assert_eq!(uses.symbols.len(), 1);
        assert_eq!(uses.buffers.len(), 2);
    }

    #[test]
    fn renaming_reaches_all_binders() {
        let mut module = parse(TEXT).unwrap();
        let before = module.canonical();
        let function = &mut module.functions[0];
        let last = function.vars.len() as u32 - 1;
        function.body =
            function.body.iter().map(|s| s.rename(&|var| VarId(last - var.0))).collect();
        function.vars.reverse();
        assert_eq!(module.canonical(), before);
    }
}
