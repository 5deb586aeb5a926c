//! Which statements are visits of stored elements, and their parts for threads.
//!
//! The parts add to results of their own, which are added to the result at the end, if there is enough work for several
//! parts. Else one part does all, and adds to the result itself. Their number does not depend on that of threads, and
//! neither do results.

use std::collections::BTreeSet;

use super::roles::{Group, Role, groups, is_thin};
use super::visit::Visit;
use crate::ir::*;
use crate::linear::Facts;
use crate::machine::Machine;
use crate::passes::polyhedra::products::{Product, products};
use crate::passes::polyhedra::scan::{Range, not_negative};

/// Parts: more than most machines have cores, few enough to be added up in no time.
const PARTS: i64 = 16;

/// Rows of a matrix that each part has at least. It adds up as many results as there are columns.
const ROWS: i64 = 32;

/// Slices of a tensor of higher order that each part has at least.
const SLICES: i64 = 4;

/// A function of more statements shares code between them.
const STATEMENTS: usize = 64;

pub(super) fn run(module: &mut Module, machine: &Machine) {
    for at in 0..module.functions.len() {
        let empty = Function::new("", Vec::new());
        let mut function = std::mem::replace(&mut module.functions[at], empty);
        let mut body = std::mem::take(&mut function.body);
        block(&mut body, module, &mut function, machine);
        function.body = body;
        module.functions[at] = function;
    }
}

/// Rewrites the statements of a block.
fn block(body: &mut Vec<Stmt>, module: &mut Module, function: &mut Function, machine: &Machine) {
    if body.len() > STATEMENTS {
        return;
    }
    let new = visits(body, module, function, machine);
    for (at, stmt) in body.iter_mut().enumerate() {
        if let (Stmt::If(inner), false) = (stmt, new.contains(&at)) {
            block(&mut inner.then, module, function, machine);
            block(&mut inner.otherwise, module, function, machine);
        }
    }
}

/// Puts visits in the place of statements, and says where they are.
fn visits(
    body: &mut Vec<Stmt>,
    module: &mut Module,
    function: &mut Function,
    machine: &Machine,
) -> BTreeSet<usize> {
    let groups = accepted(body, module, function);
    // The statements in place of the first ones, and those that they stand for.
    let mut new: Vec<(usize, Stmt)> = Vec::new();
    let mut gone = BTreeSet::new();
    for group in groups {
        let from: BTreeSet<usize> = group.roles.iter().map(|(stmt, _)| *stmt).collect();
        let Some(first) = from.first().copied() else { continue };
        let guards = guards(&group);
        let Some(mut stmt) = visit(group, module, function, machine) else { continue };
        // Where a role has no points, its elements need not exist.
        if let Some((condition, alike)) = guards {
            let others = from.iter().filter(|_| !alike).map(|at| body[*at].clone());
            let otherwise = others.collect();
            stmt = Stmt::If(If { condition, then: vec![stmt], otherwise });
        }
        new.push((first, stmt));
        gone.extend(from);
    }
    let (mut result, mut places) = (Vec::new(), BTreeSet::new());
    for (at, stmt) in std::mem::take(body).into_iter().enumerate() {
        for (_, new) in new.iter().filter(|(first, _)| *first == at) {
            places.insert(result.len());
            result.push(new.clone());
        }
        if !gone.contains(&at) {
            result.push(stmt);
        }
    }
    *body = result;
    places
}

/// When all roles of a group have points, if conditions around the statements ask for them, and whether these are the
/// same for all roles.
fn guards(group: &Group) -> Option<(Condition, bool)> {
    let mut roles = group.roles.iter().map(|(_, role)| &role.product.guards);
    let first = roles.next()?;
    let alike = roles.all(|guards| guards == first);
    let mut all: Vec<Condition> = Vec::new();
    for guard in group.roles.iter().flat_map(|(_, role)| &role.product.guards) {
        let guard = not_negative(guard);
        if !all.contains(&guard) {
            all.push(guard);
        }
    }
    (!all.is_empty()).then(|| (Condition::all(all), alike))
}

/// The groups that are visited: all products of the statements that they are from are in one of them.
fn accepted(body: &[Stmt], module: &Module, function: &mut Function) -> Vec<Group> {
    let scheduled = |stmt: &Stmt, function: &Function| {
        let mut found = false;
        stmt.visit(&mut |stmt| {
            found |= stmt.binds().into_iter().any(|var| function.hints.get(var).scheduled);
        });
        stmt.visit_values(&mut |value| {
            found |= value.binds().is_some_and(|var| function.hints.get(var).scheduled);
        });
        found
    };
    let mut all = Vec::new();
    for (at, stmt) in body.iter().enumerate() {
        if !scheduled(stmt, function) {
            all.extend(additions(stmt).into_iter().map(|one| (at, one)));
        }
    }
    loop {
        let mut found = groups(&all, function);
        found.retain(|group| is_worth_it(group, module) && may_move(group, body));
        let count = |at: usize, list: &mut dyn Iterator<Item = usize>| {
            list.filter(|other| *other == at).count()
        };
        let before = all.len();
        let whole: BTreeSet<usize> = (0..body.len())
            .filter(|at| {
                let mut taken =
                    found.iter().flat_map(|group| group.roles.iter().map(|role| role.0));
                let of_all = count(*at, &mut all.iter().map(|(at, _)| *at));
                let mut groups = found.iter();
                // One visit for each statement: its code is in one place.
                let one = groups
                    .any(|group| count(*at, &mut group.roles.iter().map(|role| role.0)) == of_all);
                of_all > 0 && one && count(*at, &mut taken) == of_all
            })
            .collect();
        all.retain(|(at, _)| whole.contains(at));
        if all.len() == before {
            return found;
        }
    }
}

/// The products that a statement adds to what is there.
fn additions(stmt: &Stmt) -> Vec<Product> {
    let products = products(stmt).unwrap_or_default();
    if products.iter().any(|product| product.sets) { Vec::new() } else { products }
}

/// Whether a visit gains something: elements have several roles, or all are added up. What stores to each element of a
/// result once adds up nothing, and results of its own for each part would be as large as what is visited.
fn is_worth_it(group: &Group, module: &Module) -> bool {
    let roles = || group.roles.iter().map(|(_, role)| &role.product);
    let Some(first) = roles().next() else { return false };
    if roles().all(|role| role.vars.iter().all(|var| role.index.mentions(*var))) {
        return false;
    }
    let several = roles().any(|role| role.index != first.index);
    let all = roles().all(|role| role.loops == 0);
    if !several && !all || is_thin(&group.common) {
        return false;
    }
    let Some(result) = module.buffers.get(first.buffer.0 as usize) else { return false };
    let same_type = |role: &Product| {
        let value = Value::product(role.factors.iter().cloned());
        let computed = module.computed_in(&value, result.element);
        computed == result.element || computed.is_integer() && result.element.is_integer()
    };
    // Conditions around loops only say that these have iterations.
    let implied = |role: &Role| {
        let mut facts = Facts::default();
        role.nested.around.iter().for_each(|one| facts.assume(&not_negative(one)));
        role.product.guards.iter().all(|guard| facts.imply(&not_negative(guard)))
    };
    result.element != Element::Bool
        && roles().all(same_type)
        && roles().all(|role| !role.factors.iter().any(|factor| factor.loads(first.buffer)))
        && group.roles.iter().all(|(_, role)| implied(role))
}

/// Whether the statements of a group may be executed at once: what stands between them does something else.
fn may_move(group: &Group, body: &[Stmt]) -> bool {
    let from: BTreeSet<usize> = group.roles.iter().map(|(stmt, _)| *stmt).collect();
    let (Some(first), Some(last)) = (from.first(), from.last()) else { return false };
    let Some(result) = group.roles.first().map(|(_, role)| role.product.buffer) else {
        return false;
    };
    let read = |buffer: BufferId| {
        group.roles.iter().any(|(_, role)| role.product.factors.iter().any(|one| one.loads(buffer)))
    };
    (*first..=*last).filter(|at| !from.contains(at)).all(|at| {
        let (mut apart, mut plain) = (true, true);
        body[at].visit(&mut |stmt| match stmt {
            Stmt::Store(store) => {
                let adds = store.buffer == result && store.mode == StoreMode::Add;
                apart &= (store.buffer != result || adds) && !read(store.buffer);
                apart &= !store.value.loads(result);
            }
            Stmt::For(_) | Stmt::If(_) => {}
            _ => plain = false,
        });
        apart && plain
    })
}

/// The visit of a group's elements.
fn visit(
    group: Group,
    module: &mut Module,
    function: &mut Function,
    machine: &Machine,
) -> Option<Stmt> {
    let result = group.roles.first()?.1.product.buffer;
    let buffer = module.buffers.get(result.0 as usize)?.clone();
    let element = match buffer.element.is_integer() {
        true => Element::I64,
        false => buffer.element,
    };
    let extent = buffer.size.clone();
    let visited = module.buffers.get(group.stored.0 as usize)?.size.clone();
    // The buffer itself may stand for it.
    let size = (extent.clone() * PARTS).max(extent.clone());
    let Range { lower, upper } = group.common.bounded().next()?;
    let count = upper.into_iter().reduce(Index::min)? - lower.into_iter().reduce(Index::max)?;
    let workspace = module.fresh_buffer(format!("{}.parts", buffer.name), buffer.element, size);
    let sums = module.fresh_buffer(format!("{}.sums", buffer.name), element, 1.into());
    let [begin, end, shift, part, at, each] =
        ["b", "e", "s", "part", "at", "p"].map(|name| function.fresh_var(name));
    let matrix = group.vars.len() == 2;
    let mut visit = Visit {
        function,
        vars: group.vars,
        roles: group.roles.into_iter().map(|(_, role)| role).collect(),
        target: workspace,
        shift,
        sums,
        most_sums: 0,
        part,
        parts: PARTS,
        rows: if machine.registers >= 32 { 8 } else { 4 },
        facts: Facts::default(),
    };
    let all: Vec<usize> = (0..visit.roles.len()).collect();
    let loops = visit.level(0, &all);
    let sums_size = Index::Const(visit.most_sums.max(1) as i64);
    module.buffers[sums.0 as usize].size = sums_size.clone();
    let loops = Stmt::for_range(part, begin.into(), end.into(), loops);
    let loops = Stmt::Workspace(Workspace {
        buffer: sums,
        size: sums_size,
        zero: false,
        instead: None,
        body: vec![loops],
    });
    let here = Index::Var(at);
    let zero = Stmt::set(workspace, here.clone() + Index::Var(shift), Value::Const(0.0));
    // Of several parts each is one.
    let one = Condition::Compare(Compare::Le, end.into(), Index::Var(begin) + 1);
    let mut body = vec![Stmt::when(one, over(at, &extent, zero))];
    body.push(loops);
    // One part after the other: the same element of all of them would be in few sets of a cache.
    let place = Index::Var(each) * extent.clone() + here.clone();
    let total = over(at, &extent, Stmt::add(result, here, Value::load(workspace, place)));
    let finish = vec![Stmt::for_range(each, 0.into(), PARTS.into(), total)];
    let rows = PARTS * if matrix { ROWS } else { SLICES };
    let mut worth = vec![Condition::Compare(Compare::Le, rows.into(), count)];
    // The results of all parts are no more than what is visited, as they would be for many small matrices.
    match (extent.has_selections() || visited.has_selections(), matrix) {
        (false, _) => worth.push((extent.clone() * PARTS).at_most(visited)),
        (true, true) => {}
        (true, false) => worth.push(Index::Const(1).at_most(0.into())),
    }
    Some(Stmt::Partial(Partial {
        begin,
        end,
        lower: vec![0.into()],
        upper: vec![PARTS.into()],
        step: 1,
        parts: PARTS,
        condition: Condition::all(worth),
        buffer: result,
        workspace,
        shift,
        base: 0.into(),
        extent: extent.clone(),
        body,
        finish,
    }))
}

/// A statement for each of so many values; bounds make no selections.
fn over(var: VarId, count: &Index, stmt: Stmt) -> Vec<Stmt> {
    let mut selected = None;
    count.visit(&mut |index| {
        if let Index::Select(condition, then, otherwise) = index {
            selected = Some((index.clone(), condition.clone(), then.clone(), otherwise.clone()));
        }
    });
    let Some((select, condition, then, otherwise)) = selected else {
        return match count.as_const() {
            Some(..=0) => Vec::new(),
            _ => vec![Stmt::for_range(var, 0.into(), count.clone(), vec![stmt])],
        };
    };
    let with = |by| count.replace(&select, by).rebuild(&Index::clone);
    let (then, otherwise) = (with(&then), with(&otherwise));
    vec![Stmt::If(If {
        condition: *condition,
        then: over(var, &then, stmt.clone()),
        otherwise: over(var, &otherwise, stmt),
    })]
}
