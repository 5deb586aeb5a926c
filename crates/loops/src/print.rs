//! The text form of the IR.
//!
//! Every expression prints so that it reads back as the same tree: `a + (b + c)` keeps its parentheses.
//! A variable prints under its name, changed where that would not be a name, would be reserved, or would hide a
//! symbol or another variable in scope. `Display` of a whole [`Module`] uses all names; `Display` of a part has
//! none to use and writes `v0`, `p0` (symbol), `b0` (buffer); [`named`] prints a part with names.
//!
//! A sum extends over the products to its right and ends before a `+`.

use crate::hints::Hints;
use crate::ir::*;
use crate::linear::{flatten_max, flatten_min};
use std::fmt::{self, Write};

mod registers;

/// Words that no symbol may be named.
pub const RESERVED: &[&str] = &["and", "or", "true", "false"];

/// Whether `name` is a letter or `_`, then letters, digits, `_`, `.`, and not reserved.
pub fn is_name(name: &str) -> bool {
    let rest = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(rest)
        && !RESERVED.contains(&name)
}

/// The names that a printer knows.
pub(crate) struct Names<'a> {
    symbols: Option<&'a [String]>,
    buffers: Option<&'a [Buffer]>,
    vars: Option<&'a [String]>,
    hints: Option<&'a Hints>,
    functions: Option<&'a [Function]>,
    scope: Vec<(VarId, String)>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(module: Option<&'a Module>, function: Option<&'a Function>) -> Names<'a> {
        Names {
            symbols: module.map(|module| &module.symbols[..]),
            buffers: module.map(|module| &module.buffers[..]),
            vars: function.map(|function| &function.vars[..]),
            hints: function.map(|function| &function.hints),
            functions: module.map(|module| &module.functions[..]),
            scope: Vec::new(),
        }
    }

    fn symbol(&self, symbol: SymbolId) -> String {
        let name = self.symbols.and_then(|names| names.get(symbol.0 as usize));
        name.cloned().unwrap_or_else(|| format!("p{}", symbol.0))
    }

    fn buffer(&self, buffer: BufferId) -> String {
        let known = self.buffers.and_then(|buffers| buffers.get(buffer.0 as usize));
        known.map(|known| known.name.clone()).unwrap_or_else(|| format!("b{}", buffer.0))
    }

    fn function(&self, function: FunctionId) -> String {
        let known = self.functions.and_then(|functions| functions.get(function.0 as usize));
        known.map(|known| known.name.clone()).unwrap_or_else(|| format!("f{}", function.0))
    }

    /// A name for `var` that differs from all in scope.
    fn fresh(&self, var: VarId) -> String {
        let given = self.vars.and_then(|names| names.get(var.0 as usize));
        let mut base = given.cloned().unwrap_or_else(|| format!("v{}", var.0));
        if !is_name(&base) {
            base = base
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '_' })
                .collect();
            if !is_name(&base) {
                base.insert(0, '_');
            }
        }
        let taken = |name: &str| {
            self.symbols.is_some_and(|names| names.iter().any(|known| known == name))
                || self.scope.iter().any(|(_, known)| known == name)
        };
        if !taken(&base) {
            return base;
        }
        (1..).map(|n| format!("{base}_{n}")).find(|name| !taken(name)).unwrap_or(base)
    }

    /// Brings `var` into scope until [`Names::unbind`].
    pub(crate) fn bind(&mut self, var: VarId) -> String {
        let name = self.fresh(var);
        self.scope.push((var, name.clone()));
        name
    }

    pub(crate) fn unbind(&mut self) {
        self.scope.pop();
    }

    fn var(&mut self, var: VarId) -> String {
        if let Some((_, name)) = self.scope.iter().rev().find(|(known, _)| *known == var) {
            return name.clone();
        }
        // Free: in scope from here on, below whatever is bound now.
        let name = self.fresh(var);
        self.scope.insert(0, (var, name.clone()));
        name
    }
}

/// Binding strength, weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    /// `or`
    Or,
    /// `and`
    And,
    /// `+`, `-`
    Sum,
    /// `*`, `/`, `%`, and a sum's body
    Product,
    /// Operands of those.
    Atom,
}

/// What a condition is once lists of one are seen as their element.
pub(crate) fn peel(condition: &Condition) -> &Condition {
    match condition {
        Condition::And(list) | Condition::Or(list) if list.len() == 1 => peel(&list[0]),
        _ => condition,
    }
}

struct Printer<'a> {
    names: Names<'a>,
    /// Types of the function's registers.
    registers: &'a [RegisterType],
    out: String,
}

impl Printer<'_> {
    /// Text is only written to a string, which does not fail.
    fn put(&mut self, text: fmt::Arguments) {
        let _ = self.out.write_fmt(text);
    }

    fn list<T>(&mut self, items: &[T], separator: &str, mut item: impl FnMut(&mut Self, &T)) {
        for (position, element) in items.iter().enumerate() {
            if position > 0 {
                self.out.push_str(separator);
            }
            item(self, element);
        }
    }

    fn group(&mut self, parentheses: bool, inside: impl FnOnce(&mut Self)) {
        if parentheses {
            self.out.push('(');
        }
        inside(self);
        if parentheses {
            self.out.push(')');
        }
    }

    fn index(&mut self, index: &Index, level: Level) {
        match index {
            Index::Const(value) => self.put(format_args!("{value}")),
            Index::Symbol(symbol) => {
                let name = self.names.symbol(*symbol);
                self.out.push_str(&name);
            }
            Index::Var(var) => {
                let name = self.names.var(*var);
                self.out.push_str(&name);
            }
            Index::Add(left, right) | Index::Sub(left, right) => {
                let sign = if matches!(index, Index::Add(..)) { " + " } else { " - " };
                self.group(level > Level::Sum, |p| {
                    p.index(left, Level::Sum);
                    p.out.push_str(sign);
                    p.index(right, Level::Product);
                });
            }
            Index::Mul(left, right) => self.group(level > Level::Product, |p| {
                p.index(left, Level::Product);
                p.out.push_str(" * ");
                p.index(right, Level::Atom);
            }),
            Index::FloorDiv(value, by) | Index::Mod(value, by) => {
                let sign = if matches!(index, Index::FloorDiv(..)) { '/' } else { '%' };
                self.group(level > Level::Product, |p| {
                    p.index(value, Level::Product);
                    p.put(format_args!(" {sign} {by}"));
                });
            }
            Index::Quotient(value, by) => {
                self.out.push_str("floor(");
                self.index(value, Level::Or);
                self.out.push_str(", ");
                self.index(by, Level::Or);
                self.out.push(')');
            }
            Index::ExactDiv(value, by) => {
                self.out.push_str("exact(");
                self.index(value, Level::Or);
                self.put(format_args!(", {by})"));
            }
            Index::Min(left, right) | Index::Max(left, right) => {
                self.out.push_str(if matches!(index, Index::Min(..)) { "min(" } else { "max(" });
                self.index(left, Level::Or);
                self.out.push_str(", ");
                self.index(right, Level::Or);
                self.out.push(')');
            }
            Index::Load(buffer, index) => self.element(*buffer, index),
            Index::Select(condition, then, otherwise) => {
                self.out.push_str("select(");
                self.condition(condition, Level::Or);
                self.out.push_str(", ");
                self.index(then, Level::Or);
                self.out.push_str(", ");
                self.index(otherwise, Level::Or);
                self.out.push(')');
            }
            Index::Within(inner) => {
                self.out.push_str("within(");
                self.index(&inner.index, Level::Or);
                let name = self.names.buffer(inner.buffer);
                self.put(format_args!(", {name}, "));
                self.index(&inner.size, Level::Or);
                self.out.push(')');
            }
        }
    }

    fn condition(&mut self, condition: &Condition, level: Level) {
        match peel(condition) {
            Condition::Compare(op, left, right) => {
                self.index(left, Level::Sum);
                self.put(format_args!(" {} ", op.sign()));
                self.index(right, Level::Sum);
            }
            Condition::And(list) if list.is_empty() => self.out.push_str("true"),
            Condition::Or(list) if list.is_empty() => self.out.push_str("false"),
            Condition::And(list) => self.group(level > Level::And, |p| {
                p.list(list, " and ", |p, item| p.condition(item, Level::Sum));
            }),
            Condition::Or(list) => self.group(level > Level::Or, |p| {
                p.list(list, " or ", |p, item| match peel(item) {
                    // `or` inside `or` keeps its parentheses, `and` needs none.
                    Condition::And(_) => p.condition(item, Level::And),
                    _ => p.condition(item, Level::Sum),
                });
            }),
        }
    }

    fn extremum(&mut self, bounds: &[Index], call: &str) {
        let mut flat = Vec::new();
        let flatten = if call == "min" { flatten_min } else { flatten_max };
        bounds.iter().for_each(|bound| flatten(bound, &mut flat));
        let bounds = &flat[..];
        match bounds {
            [one] => self.index(one, Level::Or),
            _ => {
                self.put(format_args!("{call}("));
                self.list(bounds, ", ", |p, bound| p.index(bound, Level::Or));
                self.out.push(')');
            }
        }
    }

    /// `var = lower to upper step step`, `var` in scope afterwards.
    fn range(&mut self, var: VarId, lower: &[Index], upper: &[Index], step: i64) {
        let start = self.out.len();
        self.bounds(lower, upper, step);
        let name = self.names.bind(var);
        self.out.insert_str(start, &format!("{name} = "));
    }

    fn bounds(&mut self, lower: &[Index], upper: &[Index], step: i64) {
        self.extremum(lower, "max");
        self.out.push_str(" to ");
        self.extremum(upper, "min");
        if step != 1 {
            self.put(format_args!(" step {step}"));
        }
    }

    fn value(&mut self, value: &Value, level: Level) {
        match value {
            Value::Const(value) if value.is_nan() => self.out.push_str("nan"),
            Value::Const(value) => self.put(format_args!("{value:?}")),
            Value::Load(buffer, index) => self.element(*buffer, index),
            Value::FromIndex(index) => {
                self.out.push_str("index(");
                self.index(index, Level::Or);
                self.out.push(')');
            }
            Value::Add(left, right) => self.group(level > Level::Sum, |p| {
                p.value(left, Level::Sum);
                p.out.push_str(" + ");
                p.value(right, Level::Product);
            }),
            Value::Mul(left, right) | Value::Div(left, right) => {
                let sign = if matches!(value, Value::Mul(..)) { " * " } else { " / " };
                self.group(level > Level::Product, |p| {
                    // A sum as an operand stands in parentheses, since it would take the rest into its body.
                    match **left {
                        Value::Sum(_) => p.value(left, Level::Atom),
                        _ => p.value(left, Level::Product),
                    }
                    p.out.push_str(sign);
                    p.value(right, Level::Atom);
                });
            }
            Value::Min(left, right) | Value::Max(left, right) => {
                self.out.push_str(if matches!(value, Value::Min(..)) { "min(" } else { "max(" });
                self.value(left, Level::Or);
                self.out.push_str(", ");
                self.value(right, Level::Or);
                self.out.push(')');
            }
            Value::Truth(inside) => {
                self.out.push_str("truth(");
                self.value(inside, Level::Or);
                self.out.push(')');
            }
            Value::Apply(function, of) => {
                self.put(format_args!("{function}("));
                self.list(of, ", ", |p, value| p.value(value, Level::Or));
                self.out.push(')');
            }
            Value::Select(parts) => {
                self.out.push_str("select(");
                self.list(&parts[..], ", ", |p, value| p.value(value, Level::Or));
                self.out.push(')');
            }
            Value::Compare(how, left, right) => {
                self.out.push_str("compare(");
                self.value(left, Level::Or);
                self.put(format_args!(" {} ", how.sign()));
                self.value(right, Level::Or);
                self.out.push(')');
            }
            Value::Cast(element, inside) => {
                self.put(format_args!("cast({element}, "));
                self.value(inside, Level::Or);
                self.out.push(')');
            }
            Value::Sum(sum) => self.group(level > Level::Product, |p| {
                p.out.push_str(match sum.kind {
                    Reduction::Sum => "sum(",
                    Reduction::Product => "product(",
                    Reduction::Min => "min(",
                    Reduction::Max => "max(",
                });
                p.range(sum.var, &sum.lower, &sum.upper, sum.step);
                p.hint(sum.var);
                if let Some(unroll) = sum.unroll {
                    p.put(format_args!(" unroll {unroll}"));
                }
                if let Some(condition) = &sum.condition {
                    p.out.push_str(" if ");
                    p.condition(condition, Level::Or);
                }
                if !sum.fetch.is_empty() {
                    p.out.push_str(" fetch ");
                    p.list(&sum.fetch, ", ", |p, (buffer, index)| p.element(*buffer, index));
                }
                p.out.push_str(") ");
                p.value(&sum.body, Level::Product);
                p.names.unbind();
            }),
        }
    }

    /// The hint of a variable, if it has one.
    fn hint(&mut self, var: VarId) {
        let words = self.names.hints.map(|hints| hints.get(var).words()).unwrap_or_default();
        if !words.is_empty() {
            self.out.push_str(" hint(");
            self.list(&words, ", ", |p, (word, number)| match number {
                Some(number) => p.put(format_args!("{word} {number}")),
                None => p.out.push_str(word),
            });
            self.out.push(')');
        }
    }

    fn element(&mut self, buffer: BufferId, index: &Index) {
        let name = self.names.buffer(buffer);
        self.put(format_args!("{name}["));
        self.index(index, Level::Or);
        self.out.push(']');
    }

    fn indent(&mut self, depth: usize) {
        self.out.extend(std::iter::repeat_n("  ", depth));
    }

    /// The statement's first line without its indent; a loop's variable is in scope afterwards.
    fn head(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::For(inner) => {
                self.out.push_str(match inner.mark {
                    Mark::Sequential => "for ",
                    Mark::Parallel(_) => "parallel",
                    Mark::Unrolled => "unroll ",
                });
                if let Mark::Parallel(level) = inner.mark {
                    let suffix = format!("({})", level.name());
                    self.out.push_str(if inner.mark == Mark::THREADS { "" } else { &suffix });
                    self.out.push(' ');
                }
                self.range(inner.var, &inner.lower, &inner.upper, inner.step);
                self.hint(inner.var);
                self.out.push_str(" {");
            }
            Stmt::Partitioned(inner) => {
                self.out.push_str("partition ");
                let start = self.out.len();
                self.bounds(&inner.lower, &inner.upper, inner.step);
                let (begin, end) = (self.names.bind(inner.begin), self.names.bind(inner.end));
                self.out.insert_str(start, &format!("{begin}, {end} = "));
                if let Some(work) = &inner.work {
                    self.out.push_str(" by ");
                    self.index(work, Level::Or);
                }
                self.hint(inner.begin);
                self.out.push_str(" {");
            }
            Stmt::Partial(inner) => {
                self.out.push_str("partial ");
                let start = self.out.len();
                self.bounds(&inner.lower, &inner.upper, inner.step);
                self.put(format_args!(" in {} if ", inner.parts));
                self.condition(&inner.condition, Level::Or);
                let (buffer, workspace) =
                    (self.names.buffer(inner.buffer), self.names.buffer(inner.workspace));
                self.put(format_args!(" with {buffer} as {workspace} at "));
                let place = self.out.len();
                self.out.push_str(" from ");
                self.index(&inner.base, Level::Or);
                self.out.push_str(" of ");
                self.index(&inner.extent, Level::Or);
                let (begin, end) = (self.names.bind(inner.begin), self.names.bind(inner.end));
                let shift = self.names.bind(inner.shift);
                self.out.insert_str(place, &shift);
                self.out.insert_str(start, &format!("{begin}, {end} = "));
                self.out.push_str(" {");
            }
            Stmt::Team(inner) => {
                let (part, parts) = (self.names.bind(inner.part), self.names.bind(inner.parts));
                self.put(format_args!("team {part} in {parts} {{"));
            }
            Stmt::Call(inner) => {
                let name = self.names.function(inner.function);
                self.put(format_args!("call {name}("));
                self.list(&inner.integers, ", ", |p, integer| p.index(integer, Level::Or));
                self.out.push_str(if inner.buffers.is_empty() { ")" } else { ") on " });
                self.list(&inner.buffers, ", ", |p, buffer| {
                    let name = p.names.buffer(*buffer);
                    p.out.push_str(&name);
                });
            }
            Stmt::While(inner) => {
                self.out.push_str("while ");
                let mut starts = Vec::new();
                for (_, start) in &inner.vars {
                    let at = self.out.len();
                    self.index(start, Level::Or);
                    starts.push(self.out.split_off(at));
                }
                for (at, ((var, _), start)) in inner.vars.iter().zip(starts).enumerate() {
                    let name = self.names.bind(*var);
                    let separator = if at > 0 { ", " } else { "" };
                    self.put(format_args!("{separator}{name} = {start}"));
                }
                self.out.push_str(if inner.vars.is_empty() { "if " } else { " if " });
                self.condition(&inner.condition, Level::Or);
                self.out.push_str(" {");
            }
            Stmt::CoIter(inner) => {
                self.out.push_str("coiter ");
                let start = self.out.len();
                self.index(&inner.lower, Level::Or);
                self.out.push_str(" to ");
                self.index(&inner.upper, Level::Or);
                let mut ranges = Vec::new();
                for cursor in &inner.cursors {
                    let at = self.out.len();
                    self.index(&cursor.start, Level::Or);
                    self.out.push_str(" to ");
                    self.index(&cursor.end, Level::Or);
                    let range = self.out.split_off(at);
                    self.index(&cursor.width, Level::Or);
                    ranges.push((range, self.out.split_off(at)));
                }
                let name = self.names.bind(inner.var);
                self.out.insert_str(start, &format!("{name} = "));
                self.hint(inner.var);
                let names: Vec<String> =
                    inner.cursors.iter().map(|cursor| self.names.bind(cursor.position)).collect();
                for (at, (cursor, (name, (range, width)))) in
                    inner.cursors.iter().zip(names.iter().zip(ranges)).enumerate()
                {
                    let separator = if at > 0 { ", " } else { " over " };
                    self.put(format_args!("{separator}{name} = {range} at "));
                    self.index(&cursor.place, Level::Or);
                    if cursor.step != 1 {
                        self.put(format_args!(" step {}", cursor.step));
                    }
                    if cursor.width != Index::Const(1) {
                        self.put(format_args!(" width {width}"));
                    }
                    self.out.push_str(if cursor.repeats { " repeats" } else { "" });
                    self.out.push_str(match (cursor.above, cursor.below) {
                        (true, true) => " within",
                        (true, false) => " above",
                        (false, true) => " below",
                        (false, false) => "",
                    });
                }
                self.out.push_str(" {");
            }
            Stmt::Append(inner) => {
                self.put(format_args!("append level {} at ", inner.level));
                self.index(&inner.coordinate, Level::Or);
                self.out.push_str(" {");
            }
            Stmt::Workspace(inner) => {
                let name = self.names.buffer(inner.buffer);
                self.put(format_args!("with {name} of "));
                self.index(&inner.size, Level::Or);
                self.out.push_str(if inner.zero { " zero" } else { "" });
                if let Some((other, condition)) = &inner.instead {
                    let name = self.names.buffer(*other);
                    self.put(format_args!(" or {name} if "));
                    self.condition(condition, Level::Or);
                }
                self.out.push_str(" {");
            }
            Stmt::Let(inner) => {
                self.out.push_str("let ");
                let start = self.out.len();
                self.element(inner.buffer, &inner.index);
                let name = self.names.bind(inner.var);
                self.out.insert_str(start, &format!("{name} = "));
                self.out.push_str(" {");
            }
            Stmt::Scan(inner) => {
                let start = self.out.len();
                self.index(&inner.lower, Level::Or);
                self.out.push_str(" .. ");
                self.index(&inner.upper, Level::Or);
                let (buffer, name) = (self.names.buffer(inner.buffer), self.names.bind(inner.var));
                self.out.insert_str(start, &format!("scan {name} in {buffer}["));
                self.out.push_str("] {");
            }
            Stmt::If(inner) => {
                self.out.push_str("if ");
                self.condition(&inner.condition, Level::Or);
                self.out.push_str(" {");
            }
            Stmt::Store(store) => {
                self.element(store.buffer, &store.index);
                self.out.push_str(match store.mode {
                    StoreMode::Set => " = ",
                    StoreMode::Add => " += ",
                    StoreMode::Multiply => " *= ",
                    StoreMode::Min => " min= ",
                    StoreMode::Max => " max= ",
                });
                self.value(&store.value, Level::Or);
                if let Some(stream) = &store.stream {
                    self.out.push_str(" stream if ");
                    self.condition(stream, Level::Or);
                }
            }
            Stmt::Register(inner) => self.register_head(inner),
        }
    }

    fn block(&mut self, body: &[Stmt], depth: usize) {
        for stmt in body {
            self.indent(depth);
            self.stmt(stmt, depth);
        }
        integers(body).for_each(|_| self.names.unbind());
    }

    /// The rest of a statement that binds so many variables.
    fn inside(&mut self, body: &[Stmt], bound: usize, depth: usize) {
        self.block(body, depth + 1);
        (0..bound).for_each(|_| self.names.unbind());
        self.indent(depth);
        self.out.push_str("}\n");
    }

    fn stmt(&mut self, stmt: &Stmt, depth: usize) {
        self.head(stmt);
        self.out.push('\n');
        match stmt {
            Stmt::For(inner) => self.inside(&inner.body, 1, depth),
            Stmt::Partitioned(inner) => self.inside(&inner.body, 2, depth),
            Stmt::Append(inner) => self.inside(&inner.body, 0, depth),
            Stmt::Workspace(inner) => self.inside(&inner.body, 0, depth),
            Stmt::Team(inner) => self.inside(&inner.body, 2, depth),
            Stmt::Let(inner) => self.inside(&inner.body, 1, depth),
            Stmt::Scan(inner) => self.inside(&inner.body, 1, depth),
            Stmt::While(inner) => {
                self.block(&inner.body, depth + 1);
                self.indent(depth);
                self.out.push_str("} then ");
                self.list(&inner.next, ", ", |p, next| p.index(next, Level::Or));
                if inner.after.is_empty() {
                    self.out.push('\n');
                } else {
                    self.out.push_str(" after {\n");
                    self.block(&inner.after, depth + 1);
                    self.indent(depth);
                    self.out.push_str("}\n");
                }
                inner.vars.iter().for_each(|_| self.names.unbind());
            }
            Stmt::CoIter(inner) => {
                for case in &inner.cases {
                    self.indent(depth + 1);
                    self.out.push_str("case ");
                    self.list(&case.cursors, ", ", |p, cursor| match inner.cursors.get(*cursor) {
                        Some(cursor) => {
                            let name = p.names.var(cursor.position);
                            p.out.push_str(&name);
                        }
                        None => p.put(format_args!("{cursor}")),
                    });
                    self.out.push_str(if case.cursors.is_empty() { "{\n" } else { " {\n" });
                    self.block(&case.body, depth + 2);
                    self.indent(depth + 1);
                    self.out.push_str("}\n");
                }
                (0..=inner.cursors.len()).for_each(|_| self.names.unbind());
                self.indent(depth);
                self.out.push_str("}\n");
            }
            Stmt::Partial(inner) => {
                self.block(&inner.body, depth + 1);
                (0..3).for_each(|_| self.names.unbind());
                self.indent(depth);
                self.out.push_str("} then {\n");
                self.block(&inner.finish, depth + 1);
                self.indent(depth);
                self.out.push_str("}\n");
            }
            Stmt::If(inner) => {
                self.block(&inner.then, depth + 1);
                self.indent(depth);
                match &inner.otherwise[..] {
                    [] => self.out.push_str("}\n"),
                    [chained @ Stmt::If(_)] => {
                        self.out.push_str("} else ");
                        self.stmt(chained, depth);
                    }
                    otherwise => {
                        self.out.push_str("} else {\n");
                        self.block(otherwise, depth + 1);
                        self.indent(depth);
                        self.out.push_str("}\n");
                    }
                }
            }
            Stmt::Call(_) | Stmt::Store(_) => {}
            Stmt::Register(inner) => self.register_rest(inner, depth),
        }
    }

    fn function(&mut self, function: &Function) {
        let mut parameters = Vec::new();
        if let Some(private) = &function.private {
            self.out.push_str("private ");
            self.out.push_str(if private.inline { "inline " } else { "" });
            let symbols = private.symbols.iter();
            parameters
                .extend(symbols.map(|symbol| format!("symbol {}", self.names.symbol(*symbol))));
            let integers = private.integers.iter();
            parameters.extend(integers.map(|var| format!("index {}", self.names.bind(*var))));
        }
        parameters.extend(
            function.args.iter().map(|(buffer, mode)| {
                format!("{} {}", mode_name(*mode), self.names.buffer(*buffer))
            }),
        );
        self.put(format_args!("func {}(", function.name));
        self.out.push_str(&parameters.join(", "));
        self.out.push_str(if function.hints.compact { ") hint(compact)" } else { ")" });
        if let Some(reported) = function.checked {
            let name = self.names.function(reported);
            self.put(format_args!(" checked as {name}"));
        }
        self.out.push_str(" {\n");
        self.block(&function.body, 1);
        self.out.push_str("}\n");
        let bound = function.private.iter().flat_map(|private| &private.integers);
        bound.for_each(|_| self.names.unbind());
    }
}

/// The variables that are bound by statements of a block and stay in scope up to its end.
pub(crate) fn integers(body: &[Stmt]) -> impl Iterator<Item = VarId> {
    body.iter().filter_map(|stmt| match stmt {
        Stmt::Register(RegisterStmt::Integer(inner)) => Some(inner.var),
        _ => None,
    })
}

/// `in`, `out` or `inout`.
pub(crate) fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::In => "in",
        Mode::Out => "out",
        Mode::InOut => "inout",
    }
}

/// A part of the IR that [`named`] prints.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// An integer expression.
    Index(&'a Index),
    /// A condition.
    Condition(&'a Condition),
    /// A floating-point expression.
    Value(&'a Value),
    /// A statement with all inside it.
    Stmt(&'a Stmt),
    /// The first line of a statement.
    Head(&'a Stmt),
    /// A function.
    Function(&'a Function),
}

fn part(names: Names, registers: &[RegisterType], part: Part) -> String {
    let mut printer = Printer { names, registers, out: String::new() };
    match part {
        Part::Index(index) => printer.index(index, Level::Or),
        Part::Condition(condition) => printer.condition(condition, Level::Or),
        Part::Value(value) => printer.value(value, Level::Or),
        Part::Stmt(stmt) => printer.stmt(stmt, 0),
        Part::Head(stmt) => {
            printer.head(stmt);
            if printer.out.ends_with(" {") {
                printer.out.truncate(printer.out.len() - 2);
            }
        }
        Part::Function(function) => printer.function(function),
    }
    printer.out
}

/// Prints a part of `function` with the module's and the function's names.
pub fn named(module: &Module, function: &Function, what: Part) -> String {
    part(Names::new(Some(module), Some(function)), &function.registers, what)
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "module({})", self.symbols.join(", "))?;
        for buffer in &self.buffers {
            let size = part(Names::new(Some(self), None), &[], Part::Index(&buffer.size));
            let space = match buffer.space {
                Space::Main => String::new(),
                space => format!(" in {}", space.name()),
            };
            let element = buffer.element;
            writeln!(f, "buffer {} : {element}[{size}]{space}", buffer.name)?;
        }
        for function in &self.functions {
            f.write_str(&named(self, function, Part::Function(function)))?;
        }
        Ok(())
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&part(Names::new(None, Some(self)), &self.registers, Part::Function(self)))
    }
}

impl fmt::Display for Stmt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&part(Names::new(None, None), &[], Part::Stmt(self)))
    }
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&part(Names::new(None, None), &[], Part::Index(self)))
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&part(Names::new(None, None), &[], Part::Condition(self)))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&part(Names::new(None, None), &[], Part::Value(self)))
    }
}

#[cfg(test)]
mod tests {
    use crate::*;
    use expect_test::expect;

    #[test]
    fn variables_of_one_name_are_told_apart() {
        let mut module = Module::default();
        let n = module.symbol("N");
        let a = module.buffer("A", Element::F64, Index::from(n) * n);
        let mut function = Function::new("f", vec![(a, Mode::Out)]);
        let [i, j, k] = ["i", "i", "N"].map(|name| function.fresh_var(name));
        let odd = function.fresh_var("c'0");
        let sum = Value::sum(k, 0.into(), 3.into(), Value::from_index(Index::from(k) + i));
        let store = Stmt::set(a, Index::from(i) * n + j, sum);
        let inner = Stmt::for_range(j, i.into(), n.into(), vec![store]);
        function.body = vec![
            Stmt::For(For::new(i, 0.into(), n.into(), vec![inner]).parallel()),
            Stmt::for_range(odd, 0.into(), 0.into(), vec![]),
        ];
        module.functions.push(function);
        expect![[r#"
            module(N)
            buffer A : f64[N * N]
            func f(out A) {
              parallel i = 0 to N {
                for i_1 = i to N {
                  A[i * N + i_1] = sum(N_1 = 0 to 3) index(N_1 + i)
                }
              }
              for c_0 = 0 to 0 {
              }
            }
        "#]]
        .assert_eq(&module.to_string());
        let head = print::Part::Head(&module.functions[0].body[0]);
        assert_eq!(print::named(&module, &module.functions[0], head), "parallel i = 0 to N");
    }

    #[test]
    fn parentheses_keep_the_tree() {
        let x = || Box::new(Index::Var(VarId(0)));
        let sum = || Box::new(Index::Add(x(), x()));
        let text = |index: Index| index.to_string();
        assert_eq!(text(Index::Add(x(), sum())), "v0 + (v0 + v0)");
        assert_eq!(text(Index::Add(sum(), x())), "v0 + v0 + v0");
        assert_eq!(text(Index::FloorDiv(sum(), 2)), "(v0 + v0) / 2");
        assert_eq!(text(Index::Mul(x(), Box::new(Index::Mod(x(), 3)))), "v0 * (v0 % 3)");
        assert_eq!(text(Index::ExactDiv(sum(), 2)), "exact(v0 + v0, 2)");
        assert_eq!(text(Index::Quotient(sum(), x())), "floor(v0 + v0, v0)");
    }
}
