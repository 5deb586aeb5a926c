//! Traversal, free variables and substitution.
//!
//! Traversals go from the outside in and from left to right. Substitution rebuilds with the folding constructors
//! of [`crate::build`]; it relies on the invariant that no variable is bound again inside its own binder, so
//! nothing can be captured.

use crate::ir::*;
use std::collections::BTreeSet;

impl Index {
    /// Calls `f` on this expression and all inside it, those in conditions included.
    pub fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Index)) {
        f(self);
        match self {
            Index::Const(_) | Index::Symbol(_) | Index::Var(_) => {}
            Index::Add(left, right)
            | Index::Sub(left, right)
            | Index::Mul(left, right)
            | Index::Quotient(left, right)
            | Index::Min(left, right)
            | Index::Max(left, right) => {
                left.visit(f);
                right.visit(f);
            }
            Index::FloorDiv(value, _)
            | Index::Mod(value, _)
            | Index::ExactDiv(value, _)
            | Index::Load(_, value) => value.visit(f),
            Index::Select(condition, then, otherwise) => {
                condition.visit(f);
                then.visit(f);
                otherwise.visit(f);
            }
            Index::Within(inner) => {
                inner.index.visit(f);
                inner.size.visit(f);
            }
        }
    }

    /// Rebuilds with what `f` gives for each part, as it stands; parts of conditions count as parts.
    pub fn map_parts(&self, f: &mut dyn FnMut(&Index) -> Index) -> Index {
        if let Index::Select(condition, then, otherwise) = self {
            let condition = Box::new(condition.map_sides(f));
            return Index::Select(condition, Box::new(f(then)), Box::new(f(otherwise)));
        }
        let mut go = |part: &Index| Box::new(f(part));
        match self {
            Index::Const(_) | Index::Symbol(_) | Index::Var(_) => self.clone(),
            Index::Add(left, right) => Index::Add(go(left), go(right)),
            Index::Sub(left, right) => Index::Sub(go(left), go(right)),
            Index::Mul(left, right) => Index::Mul(go(left), go(right)),
            Index::FloorDiv(value, by) => Index::FloorDiv(go(value), *by),
            Index::Mod(value, by) => Index::Mod(go(value), *by),
            Index::Quotient(left, right) => Index::Quotient(go(left), go(right)),
            Index::ExactDiv(value, by) => Index::ExactDiv(go(value), *by),
            Index::Min(left, right) => Index::Min(go(left), go(right)),
            Index::Max(left, right) => Index::Max(go(left), go(right)),
            Index::Load(buffer, index) => Index::Load(*buffer, go(index)),
            Index::Within(inner) => {
                let (index, size) = (*go(&inner.index), *go(&inner.size));
                Index::Within(Box::new(Within { index, size, ..**inner }))
            }
            Index::Select(..) => self.clone(),
        }
    }

    /// This expression with another one in the place of a part of it, as it stands.
    pub fn replace(&self, part: &Index, by: &Index) -> Index {
        match self == part {
            true => by.clone(),
            false => self.map_parts(&mut |inner| inner.replace(part, by)),
        }
    }

    /// Rebuilds the expression with the folding constructors, each leaf replaced by what `leaf` gives for it.
    pub fn rebuild(&self, leaf: &dyn Fn(&Index) -> Index) -> Index {
        let go = |index: &Index| index.rebuild(leaf);
        match self {
            Index::Const(_) | Index::Symbol(_) | Index::Var(_) => leaf(self),
            Index::Add(left, right) => go(left) + go(right),
            Index::Sub(left, right) => go(left) - go(right),
            Index::Mul(left, right) => go(left) * go(right),
            Index::FloorDiv(value, by) => go(value).floor_div(*by),
            Index::Mod(value, by) => go(value).modulo(*by),
            Index::Quotient(left, right) => go(left).quotient(go(right)),
            Index::ExactDiv(value, by) => go(value).exact_div(*by),
            Index::Min(left, right) => go(left).min(go(right)),
            Index::Max(left, right) => go(left).max(go(right)),
            Index::Load(buffer, index) => Index::Load(*buffer, Box::new(go(index))),
            Index::Select(condition, then, otherwise) => {
                Index::select(condition.rebuild(leaf), go(then), go(otherwise))
            }
            Index::Within(_) => self.map_parts(&mut |part| go(part)),
        }
    }

    /// This expression with `by` in place of `var`.
    pub fn substitute(&self, var: VarId, by: &Index) -> Index {
        self.rebuild(&|leaf| if *leaf == Index::Var(var) { by.clone() } else { leaf.clone() })
    }

    /// Whether an integer expression inside is such a one.
    fn some(&self, test: &dyn Fn(&Index) -> bool) -> bool {
        let mut found = false;
        self.visit(&mut |index| found |= test(index));
        found
    }

    /// Whether `var` occurs.
    pub fn mentions(&self, var: VarId) -> bool {
        self.some(&|index| *index == Index::Var(var))
    }

    /// Whether it loads an element, such as a position of a level.
    pub fn has_loads(&self) -> bool {
        self.some(&|index| matches!(index, Index::Load(..)))
    }

    /// Whether it selects.
    pub fn has_selections(&self) -> bool {
        self.some(&|index| matches!(index, Index::Select(..)))
    }

    /// The variables that occur.
    pub fn free_vars(&self) -> BTreeSet<VarId> {
        let mut vars = BTreeSet::new();
        self.visit(&mut |index| {
            if let Index::Var(var) = index {
                vars.insert(*var);
            }
        });
        vars
    }
}

impl Condition {
    /// Calls `f` on all integer expressions inside.
    pub fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Index)) {
        match self {
            Condition::Compare(_, left, right) => {
                left.visit(f);
                right.visit(f);
            }
            Condition::And(list) | Condition::Or(list) => {
                list.iter().for_each(|condition| condition.visit(f));
            }
        }
    }

    /// Rebuilds the condition with the folding constructors, each leaf replaced by what `leaf` gives for it.
    pub fn rebuild(&self, leaf: &dyn Fn(&Index) -> Index) -> Condition {
        match self {
            Condition::Compare(op, left, right) => {
                Condition::compare(*op, left.rebuild(leaf), right.rebuild(leaf))
            }
            Condition::And(list) => Condition::all(list.iter().map(|c| c.rebuild(leaf))),
            Condition::Or(list) => Condition::any(list.iter().map(|c| c.rebuild(leaf))),
        }
    }

    /// Rebuilds the condition with what `f` gives for both sides of its comparisons.
    pub fn map_indices(&self, f: &dyn Fn(&Index) -> Index) -> Condition {
        match self {
            Condition::Compare(op, left, right) => Condition::compare(*op, f(left), f(right)),
            Condition::And(list) => Condition::all(list.iter().map(|c| c.map_indices(f))),
            Condition::Or(list) => Condition::any(list.iter().map(|c| c.map_indices(f))),
        }
    }

    /// Rebuilds with what `f` gives for both sides of its comparisons, as it stands.
    pub fn map_sides(&self, f: &mut dyn FnMut(&Index) -> Index) -> Condition {
        match self {
            Condition::Compare(op, left, right) => Condition::Compare(*op, f(left), f(right)),
            Condition::And(list) => Condition::And(list.iter().map(|c| c.map_sides(f)).collect()),
            Condition::Or(list) => Condition::Or(list.iter().map(|c| c.map_sides(f)).collect()),
        }
    }

    /// This condition with `by` in place of `var`.
    pub fn substitute(&self, var: VarId, by: &Index) -> Condition {
        self.rebuild(&|leaf| if *leaf == Index::Var(var) { by.clone() } else { leaf.clone() })
    }

    /// Whether an integer expression inside is such a one.
    fn some(&self, test: &dyn Fn(&Index) -> bool) -> bool {
        let mut found = false;
        self.visit(&mut |index| found |= test(index));
        found
    }

    /// Whether `var` occurs.
    pub fn mentions(&self, var: VarId) -> bool {
        self.some(&|index| *index == Index::Var(var))
    }

    /// Whether it loads an element, such as a position of a level.
    pub fn has_loads(&self) -> bool {
        self.some(&|index| matches!(index, Index::Load(..)))
    }

    /// Whether it selects.
    pub fn has_selections(&self) -> bool {
        self.some(&|index| matches!(index, Index::Select(..)))
    }

    /// The variables that occur.
    pub fn free_vars(&self) -> BTreeSet<VarId> {
        let mut vars = BTreeSet::new();
        self.visit(&mut |index| {
            if let Index::Var(var) = index {
                vars.insert(*var);
            }
        });
        vars
    }
}

impl Value {
    /// The variables of the sums in it.
    pub fn summed_vars(&self) -> BTreeSet<VarId> {
        let mut vars = BTreeSet::new();
        self.visit(&mut |value| {
            if let Value::Sum(sum) = value {
                vars.insert(sum.var);
            }
        });
        vars
    }

    /// Calls `f` on this expression and all values inside it.
    pub fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Value)) {
        f(self);
        self.parts().into_iter().for_each(|part| part.visit(f));
    }

    /// The values that this one is made of, from left to right.
    pub fn parts(&self) -> Vec<&Value> {
        match self {
            Value::Const(_) | Value::Load(..) | Value::FromIndex(_) => Vec::new(),
            Value::Add(left, right)
            | Value::Mul(left, right)
            | Value::Div(left, right)
            | Value::Min(left, right)
            | Value::Max(left, right) => vec![left, right],
            Value::Compare(_, left, right) => vec![left, right],
            Value::Truth(inside) | Value::Cast(_, inside) => vec![inside],
            Value::Apply(_, of) => of.iter().collect(),
            Value::Select(parts) => parts.iter().collect(),
            Value::Sum(sum) => vec![&sum.body],
        }
    }

    /// Rebuilds with what `f` gives for each part, as it stands.
    pub fn map_parts(&self, f: &mut dyn FnMut(&Value) -> Value) -> Value {
        let mut go = |part: &Value| Box::new(f(part));
        match self {
            Value::Apply(function, of) => Value::Apply(*function, of.iter().map(f).collect()),
            Value::Select(parts) => Value::Select(Box::new(parts.each_ref().map(f))),
            Value::Compare(how, left, right) => Value::Compare(*how, go(left), go(right)),
            Value::Cast(element, inside) => Value::Cast(*element, go(inside)),
            Value::Const(_) | Value::Load(..) | Value::FromIndex(_) => self.clone(),
            Value::Add(left, right) => Value::Add(go(left), go(right)),
            Value::Mul(left, right) => Value::Mul(go(left), go(right)),
            Value::Div(left, right) => Value::Div(go(left), go(right)),
            Value::Min(left, right) => Value::Min(go(left), go(right)),
            Value::Max(left, right) => Value::Max(go(left), go(right)),
            Value::Truth(inside) => Value::Truth(go(inside)),
            Value::Sum(sum) => {
                Value::Sum(Box::new(Sum { body: *go(&sum.body), ..(**sum).clone() }))
            }
        }
    }

    /// [`Value::map_parts`], if `f` gives something for each part.
    pub fn try_map_parts(&self, f: &mut dyn FnMut(&Value) -> Option<Value>) -> Option<Value> {
        let mut all = true;
        let whole = self.map_parts(&mut |part| {
            let part = f(part);
            all &= part.is_some();
            part.unwrap_or(Value::Const(0.0))
        });
        all.then_some(whole)
    }

    /// Calls `f` on all integer expressions inside: subscripts, conversions, bounds and conditions.
    pub fn visit_indices<'a>(&'a self, f: &mut dyn FnMut(&'a Index)) {
        self.visit(&mut |value| match value {
            Value::Load(_, index) | Value::FromIndex(index) => index.visit(f),
            Value::Sum(sum) => {
                sum.lower.iter().chain(&sum.upper).for_each(|bound| bound.visit(f));
                sum.condition.iter().for_each(|condition| condition.visit(f));
                sum.fetch.iter().for_each(|(_, index)| index.visit(f));
            }
            _ => {}
        });
    }

    /// Rebuilds with the folding constructors, each leaf of an integer expression replaced by what `leaf` gives.
    pub fn rebuild(&self, leaf: &dyn Fn(&Index) -> Index) -> Value {
        let go = |value: &Value| value.rebuild(leaf);
        match self {
            Value::Const(_) => self.clone(),
            Value::Load(buffer, index) => Value::Load(*buffer, index.rebuild(leaf)),
            Value::FromIndex(index) => Value::FromIndex(index.rebuild(leaf)),
            Value::Add(left, right) => go(left) + go(right),
            Value::Mul(left, right) => go(left) * go(right),
            Value::Div(left, right) => go(left) / go(right),
            Value::Min(left, right) => go(left).min(go(right)),
            Value::Max(left, right) => go(left).max(go(right)),
            Value::Truth(inside) => go(inside).truth(),
            Value::Apply(function, of) => Value::apply(*function, of.iter().map(go).collect()),
            Value::Select(parts) => {
                let [condition, then, otherwise] = parts.each_ref().map(go);
                Value::select(condition, then, otherwise)
            }
            Value::Compare(how, left, right) => Value::compare(*how, go(left), go(right)),
            Value::Cast(element, inside) => Value::cast(*element, go(inside)),
            Value::Sum(sum) => Value::Sum(Box::new(Sum {
                kind: sum.kind,
                var: sum.var,
                lower: sum.lower.iter().map(|bound| bound.rebuild(leaf)).collect(),
                upper: sum.upper.iter().map(|bound| bound.rebuild(leaf)).collect(),
                step: sum.step,
                unroll: sum.unroll,
                condition: sum.condition.as_ref().map(|condition| condition.rebuild(leaf)),
                fetch: sum
                    .fetch
                    .iter()
                    .map(|(buffer, index)| (*buffer, index.rebuild(leaf)))
                    .collect(),
                body: go(&sum.body),
            })),
        }
    }

    /// Rebuilds with what `f` gives for each sum, those inside of it first.
    pub fn map_sums(&self, f: &dyn Fn(Sum) -> Value) -> Value {
        match self.map_parts(&mut |part| part.map_sums(f)) {
            Value::Sum(sum) => f(*sum),
            value => value,
        }
    }

    /// Rebuilds with what `f` gives for each integer expression: subscripts, conversions, bounds and both sides of
    /// comparisons.
    pub fn map_indices(&self, f: &dyn Fn(&Index) -> Index) -> Value {
        match self {
            Value::Load(buffer, index) => Value::Load(*buffer, f(index)),
            Value::FromIndex(index) => Value::FromIndex(f(index)),
            Value::Sum(sum) => Value::Sum(Box::new(Sum {
                lower: sum.lower.iter().map(f).collect(),
                upper: sum.upper.iter().map(f).collect(),
                condition: sum.condition.as_ref().map(|condition| condition.map_indices(f)),
                fetch: sum.fetch.iter().map(|(buffer, index)| (*buffer, f(index))).collect(),
                body: sum.body.map_indices(f),
                ..**sum
            })),
            _ => self.map_parts(&mut |part| part.map_indices(f)),
        }
    }

    /// Rebuilds with what `f` gives for the place of each element that is loaded.
    pub fn map_loads(&self, f: &dyn Fn(&Index) -> Index) -> Value {
        self.map_elements(&|buffer, index| (buffer, f(index)))
    }

    /// Rebuilds with what `f` gives for each element that is loaded.
    pub fn map_elements(&self, f: &dyn Fn(BufferId, &Index) -> (BufferId, Index)) -> Value {
        match self {
            Value::Load(buffer, index) => {
                let (buffer, index) = f(*buffer, index);
                Value::Load(buffer, index)
            }
            _ => self.map_parts(&mut |part| part.map_elements(f)),
        }
    }

    /// This expression with `by` in place of `var`.
    pub fn substitute(&self, var: VarId, by: &Index) -> Value {
        self.rebuild(&|leaf| if *leaf == Index::Var(var) { by.clone() } else { leaf.clone() })
    }

    /// Whether `var` occurs.
    pub fn mentions(&self, var: VarId) -> bool {
        let mut found = false;
        self.visit_indices(&mut |index| found |= *index == Index::Var(var));
        found
    }

    /// Whether `var` occurs in the range or condition of a sum.
    pub fn mentions_in_ranges(&self, var: VarId) -> bool {
        let mut found = false;
        self.visit(&mut |value| {
            if let Value::Sum(sum) = value {
                found |= sum.lower.iter().chain(&sum.upper).any(|bound| bound.mentions(var));
                found |= sum.condition.as_ref().is_some_and(|condition| condition.mentions(var));
            }
        });
        found
    }

    /// Whether the range of a sum is loaded, such as a row's of a sparse matrix.
    pub fn has_stored_ranges(&self) -> bool {
        let mut found = false;
        self.visit(&mut |value| {
            if let Value::Sum(sum) = value {
                found |= sum.lower.iter().chain(&sum.upper).any(Index::has_loads);
            }
        });
        found
    }

    /// Whether an element of `buffer` is loaded.
    pub fn loads(&self, buffer: BufferId) -> bool {
        let mut found = false;
        self.visit(&mut |value| {
            found |= matches!(value, Value::Load(loaded, _) if *loaded == buffer)
        });
        found
    }

    /// The variables that occur and that no sum inside binds.
    pub fn free_vars(&self) -> BTreeSet<VarId> {
        let mut vars = BTreeSet::new();
        self.visit_indices(&mut |index| {
            if let Index::Var(var) = index {
                vars.insert(*var);
            }
        });
        self.visit(&mut |value| {
            if let Value::Sum(sum) = value {
                vars.remove(&sum.var);
            }
        });
        vars
    }
}

impl Stmt {
    /// The lists of statements that this one is around, in the order in which they are executed.
    pub fn bodies(&self) -> Vec<&[Stmt]> {
        match self {
            Stmt::For(inner) => vec![&inner.body],
            Stmt::Partitioned(inner) => vec![&inner.body],
            Stmt::Partial(inner) => vec![&inner.body, &inner.finish],
            Stmt::Team(inner) => vec![&inner.body],
            Stmt::While(inner) => vec![&inner.body, &inner.after],
            Stmt::CoIter(inner) => inner.cases.iter().map(|case| &case.body[..]).collect(),
            Stmt::Append(inner) => vec![&inner.body],
            Stmt::Workspace(inner) => vec![&inner.body],
            Stmt::Let(inner) => vec![&inner.body],
            Stmt::Scan(inner) => vec![&inner.body],
            Stmt::If(inner) => vec![&inner.then, &inner.otherwise],
            Stmt::Call(_) | Stmt::Store(_) => Vec::new(),
            Stmt::Register(inner) => inner.bodies(),
        }
    }

    /// [`Stmt::bodies`], to be changed.
    pub fn bodies_mut(&mut self) -> Vec<&mut Vec<Stmt>> {
        match self {
            Stmt::For(inner) => vec![&mut inner.body],
            Stmt::Partitioned(inner) => vec![&mut inner.body],
            Stmt::Partial(inner) => vec![&mut inner.body, &mut inner.finish],
            Stmt::Team(inner) => vec![&mut inner.body],
            Stmt::While(inner) => vec![&mut inner.body, &mut inner.after],
            Stmt::CoIter(inner) => inner.cases.iter_mut().map(|case| &mut case.body).collect(),
            Stmt::Append(inner) => vec![&mut inner.body],
            Stmt::Workspace(inner) => vec![&mut inner.body],
            Stmt::Let(inner) => vec![&mut inner.body],
            Stmt::Scan(inner) => vec![&mut inner.body],
            Stmt::If(inner) => vec![&mut inner.then, &mut inner.otherwise],
            Stmt::Call(_) | Stmt::Store(_) => Vec::new(),
            Stmt::Register(inner) => inner.bodies_mut(),
        }
    }

    /// Calls `f` on this statement and all inside it.
    pub fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Stmt)) {
        f(self);
        self.bodies().into_iter().flatten().for_each(|stmt| stmt.visit(f));
    }

    /// Calls `f` on all values inside, the whole of each store first.
    pub fn visit_values<'a>(&'a self, f: &mut dyn FnMut(&'a Value)) {
        self.visit(&mut |stmt| {
            if let Stmt::Store(store) = stmt {
                store.value.visit(f);
            }
        });
    }

    /// Calls `f` on all integer expressions inside.
    pub fn visit_indices<'a>(&'a self, f: &mut dyn FnMut(&'a Index)) {
        self.visit(&mut |stmt| match stmt {
            Stmt::For(inner) => {
                inner.lower.iter().chain(&inner.upper).for_each(|bound| bound.visit(f));
            }
            Stmt::Partitioned(inner) => {
                inner.lower.iter().chain(&inner.upper).for_each(|bound| bound.visit(f));
                inner.work.iter().for_each(|work| work.visit(f));
            }
            Stmt::Partial(inner) => {
                inner.lower.iter().chain(&inner.upper).for_each(|bound| bound.visit(f));
                inner.condition.visit(f);
                inner.base.visit(f);
                inner.extent.visit(f);
            }
            Stmt::Team(_) => {}
            Stmt::Call(inner) => inner.integers.iter().for_each(|integer| integer.visit(f)),
            Stmt::While(inner) => {
                inner.vars.iter().for_each(|(_, start)| start.visit(f));
                inner.condition.visit(f);
                inner.next.iter().for_each(|next| next.visit(f));
            }
            Stmt::CoIter(inner) => {
                inner.lower.visit(f);
                inner.upper.visit(f);
                for cursor in &inner.cursors {
                    cursor.start.visit(f);
                    cursor.end.visit(f);
                    cursor.place.visit(f);
                    cursor.width.visit(f);
                }
            }
            Stmt::Append(inner) => inner.coordinate.visit(f),
            Stmt::Workspace(inner) => {
                inner.size.visit(f);
                inner.instead.iter().for_each(|(_, condition)| condition.visit(f));
            }
            Stmt::Let(inner) => inner.index.visit(f),
            Stmt::Scan(inner) => {
                inner.lower.visit(f);
                inner.upper.visit(f);
            }
            Stmt::If(inner) => inner.condition.visit(f),
            Stmt::Store(store) => {
                store.index.visit(f);
                store.value.visit_indices(f);
                store.stream.iter().for_each(|condition| condition.visit(f));
            }
            Stmt::Register(inner) => inner.visit_indices(f),
        });
    }

    /// Replaces each integer expression of this statement, not of those inside, by what `f` gives for the whole of it.
    pub fn map_indices(&mut self, f: &mut dyn FnMut(&Index) -> Index) {
        if let Stmt::Store(store) = self {
            let shared = std::cell::RefCell::new(&mut *f);
            store.value = store.value.map_indices(&|index| (shared.borrow_mut())(index));
        }
        for condition in self.conditions_mut() {
            *condition = condition.map_sides(f);
        }
        for index in self.indices_mut() {
            *index = f(index);
        }
    }

    /// Its own conditions, but for those in values and operations.
    fn conditions_mut(&mut self) -> Vec<&mut Condition> {
        match self {
            Stmt::Partial(inner) => vec![&mut inner.condition],
            Stmt::While(inner) => vec![&mut inner.condition],
            Stmt::If(inner) => vec![&mut inner.condition],
            Stmt::Workspace(inner) => {
                inner.instead.iter_mut().map(|(_, condition)| condition).collect()
            }
            Stmt::Store(store) => store.stream.iter_mut().collect(),
            Stmt::Register(inner) => inner.conditions_mut(),
            Stmt::For(_) | Stmt::Partitioned(_) | Stmt::Team(_) | Stmt::Call(_) => Vec::new(),
            Stmt::CoIter(_) | Stmt::Append(_) | Stmt::Let(_) | Stmt::Scan(_) => Vec::new(),
        }
    }

    /// Its own integer expressions, but for those in conditions and values.
    fn indices_mut(&mut self) -> Vec<&mut Index> {
        match self {
            Stmt::For(inner) => inner.lower.iter_mut().chain(&mut inner.upper).collect(),
            Stmt::Partitioned(inner) => {
                inner.lower.iter_mut().chain(&mut inner.upper).chain(&mut inner.work).collect()
            }
            Stmt::Partial(inner) => {
                let bounds = inner.lower.iter_mut().chain(&mut inner.upper);
                bounds.chain([&mut inner.base, &mut inner.extent]).collect()
            }
            Stmt::Call(inner) => inner.integers.iter_mut().collect(),
            Stmt::While(inner) => {
                let starts = inner.vars.iter_mut().map(|(_, start)| start);
                starts.chain(&mut inner.next).collect()
            }
            Stmt::CoIter(inner) => {
                let cursors = inner.cursors.iter_mut().flat_map(|cursor| {
                    [&mut cursor.start, &mut cursor.end, &mut cursor.place, &mut cursor.width]
                });
                [&mut inner.lower, &mut inner.upper].into_iter().chain(cursors).collect()
            }
            Stmt::Append(inner) => vec![&mut inner.coordinate],
            Stmt::Workspace(inner) => vec![&mut inner.size],
            Stmt::Let(inner) => vec![&mut inner.index],
            Stmt::Scan(inner) => vec![&mut inner.lower, &mut inner.upper],
            Stmt::Store(store) => vec![&mut store.index],
            Stmt::Register(inner) => inner.indices_mut(),
            Stmt::Team(_) | Stmt::If(_) => Vec::new(),
        }
    }

    /// Rebuilds with the folding constructors, each leaf of an integer expression replaced by what `leaf` gives.
    pub fn rebuild(&self, leaf: &dyn Fn(&Index) -> Index) -> Stmt {
        let block = |body: &[Stmt]| body.iter().map(|stmt| stmt.rebuild(leaf)).collect();
        match self {
            Stmt::For(inner) => Stmt::For(For {
                var: inner.var,
                lower: inner.lower.iter().map(|bound| bound.rebuild(leaf)).collect(),
                upper: inner.upper.iter().map(|bound| bound.rebuild(leaf)).collect(),
                step: inner.step,
                mark: inner.mark,
                body: block(&inner.body),
            }),
            Stmt::Partitioned(inner) => Stmt::Partitioned(PartitionedRange {
                begin: inner.begin,
                end: inner.end,
                lower: inner.lower.iter().map(|bound| bound.rebuild(leaf)).collect(),
                upper: inner.upper.iter().map(|bound| bound.rebuild(leaf)).collect(),
                step: inner.step,
                work: inner.work.as_ref().map(|work| work.rebuild(leaf)),
                body: block(&inner.body),
            }),
            Stmt::Partial(inner) => Stmt::Partial(Partial {
                lower: inner.lower.iter().map(|bound| bound.rebuild(leaf)).collect(),
                upper: inner.upper.iter().map(|bound| bound.rebuild(leaf)).collect(),
                condition: inner.condition.rebuild(leaf),
                base: inner.base.rebuild(leaf),
                extent: inner.extent.rebuild(leaf),
                body: block(&inner.body),
                finish: block(&inner.finish),
                ..*inner
            }),
            Stmt::Team(inner) => Stmt::Team(Team { body: block(&inner.body), ..*inner }),
            Stmt::Call(inner) => Stmt::Call(Call {
                integers: inner.integers.iter().map(|integer| integer.rebuild(leaf)).collect(),
                ..inner.clone()
            }),
            Stmt::While(inner) => Stmt::While(While {
                vars: inner.vars.iter().map(|(var, start)| (*var, start.rebuild(leaf))).collect(),
                condition: inner.condition.rebuild(leaf),
                body: block(&inner.body),
                next: inner.next.iter().map(|next| next.rebuild(leaf)).collect(),
                after: block(&inner.after),
            }),
            Stmt::CoIter(inner) => Stmt::CoIter(CoIter {
                var: inner.var,
                lower: inner.lower.rebuild(leaf),
                upper: inner.upper.rebuild(leaf),
                cursors: inner.cursors.iter().map(|cursor| cursor.rebuild(leaf)).collect(),
                cases: inner
                    .cases
                    .iter()
                    .map(|case| Case { cursors: case.cursors.clone(), body: block(&case.body) })
                    .collect(),
            }),
            Stmt::Append(inner) => Stmt::Append(Append {
                coordinate: inner.coordinate.rebuild(leaf),
                body: block(&inner.body),
                ..*inner
            }),
            Stmt::Workspace(inner) => Stmt::Workspace(Workspace {
                size: inner.size.rebuild(leaf),
                instead: inner.instead.as_ref().map(|(other, when)| (*other, when.rebuild(leaf))),
                body: block(&inner.body),
                ..*inner
            }),
            Stmt::Let(inner) => Stmt::Let(Let {
                index: inner.index.rebuild(leaf),
                body: block(&inner.body),
                ..*inner
            }),
            Stmt::Scan(inner) => Stmt::Scan(Scan {
                lower: inner.lower.rebuild(leaf),
                upper: inner.upper.rebuild(leaf),
                body: block(&inner.body),
                ..*inner
            }),
            Stmt::If(inner) => Stmt::If(If {
                condition: inner.condition.rebuild(leaf),
                then: block(&inner.then),
                otherwise: block(&inner.otherwise),
            }),
            Stmt::Store(store) => Stmt::Store(Store {
                buffer: store.buffer,
                index: store.index.rebuild(leaf),
                value: store.value.rebuild(leaf),
                mode: store.mode,
                stream: store.stream.as_ref().map(|condition| condition.rebuild(leaf)),
            }),
            Stmt::Register(inner) => Stmt::Register(inner.rebuild(leaf)),
        }
    }

    /// This statement with `by` in place of `var`.
    pub fn substitute(&self, var: VarId, by: &Index) -> Stmt {
        self.rebuild(&|leaf| if *leaf == Index::Var(var) { by.clone() } else { leaf.clone() })
    }

    /// Whether `var` occurs in an expression.
    pub fn mentions(&self, var: VarId) -> bool {
        let mut found = false;
        self.visit_indices(&mut |index| found |= *index == Index::Var(var));
        found
    }
}

impl Cursor {
    /// Rebuilds with the folding constructors, each leaf of an integer expression replaced by what `leaf` gives.
    pub fn rebuild(&self, leaf: &dyn Fn(&Index) -> Index) -> Cursor {
        Cursor {
            position: self.position,
            start: self.start.rebuild(leaf),
            end: self.end.rebuild(leaf),
            place: self.place.rebuild(leaf),
            width: self.width.rebuild(leaf),
            ..self.clone()
        }
    }

    /// The place of a position.
    pub fn at(&self, position: &Index) -> Index {
        self.place.substitute(self.position, position)
    }
}

#[cfg(test)]
mod tests {
    use crate::parse;
    use crate::*;

    #[test]
    fn substitution_reaches_everything() {
        let module = parse(
            "module(N)\nbuffer A : f64[N]\nfunc f(inout A) { for i = 0 to N { if i < 3 { for j = i to N - i {\n\
             A[i + j] += sum(l = i to N if l < i) A[select(i < l, i, l)] * index(i) } } } }",
        )
        .unwrap();
        let Stmt::For(outer) = &module.functions[0].body[0] else { panic!() };
        assert!(outer.body[0].mentions(outer.var));
        let five = outer.body[0].substitute(outer.var, &Index::Const(5));
        assert!(!five.mentions(outer.var));
        expect_test::expect![[r#"
            if false {
              for v1 = 5 to p0 - 5 {
                b0[v1 + 5] += sum(v2 = 5 to p0 if v2 < 5) b0[select(5 < v2, 5, v2)] * index(5)
              }
            }
        "#]]
        .assert_eq(&five.to_string());
    }

    #[test]
    fn sums_bind() {
        let var = |n| Index::Var(VarId(n));
        let sum = Value::sum(VarId(0), var(1), var(2), Value::load(BufferId(0), var(0) + var(3)));
        assert_eq!(sum.free_vars().into_iter().map(|v| v.0).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(sum.loads(BufferId(0)) && !sum.loads(BufferId(1)));
    }
}
