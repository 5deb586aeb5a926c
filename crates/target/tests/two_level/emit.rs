//! C-like text of mapped loops: a `match` per construct, and no choices.
//!
//! `CORES`, `LANES` and `SCRATCHPAD` stand for what the machine has; [`crate::simulate`] defines them for this
//! computer. Whatever has no text is refused: a construct that is added to the loop IR makes this target refuse, not
//! err.

use std::fmt::Write;

use dastac_loops::{
    BufferId, Compare, Condition, Element, For, Function, Index, Let, Mark, Module, ParallelLevel,
    Reduction, Space, Stmt, Store, StoreMode, Sum, Value, VarId, While, Workspace,
};
use dastac_target::Illegal;

/// The text of a module.
///
/// # Errors
/// The first construct that has none.
pub fn emit(module: &Module) -> Result<String, Illegal> {
    let mut text = String::new();
    for function in &module.functions {
        let mut printer = Printer { module, function, text: String::new(), depth: 1, sums: 0 };
        let mut parameters: Vec<String> =
            module.symbols.iter().map(|name| format!("long {}", plain(name))).collect();
        for (buffer, _) in &function.args {
            parameters.push(format!("{} *{}", printer.element(*buffer)?, printer.buffer(*buffer)));
        }
        printer.block(&function.body)?;
        let _ = writeln!(text, "void {}({}) {{", function.name, parameters.join(", "));
        text += &printer.text;
        text += "}\n";
    }
    Ok(text)
}

/// A name as C has it.
fn plain(name: &str) -> String {
    name.replace('.', "_")
}

struct Printer<'a> {
    module: &'a Module,
    function: &'a Function,
    text: String,
    depth: usize,
    /// Sums so far: each has a variable of its own.
    sums: usize,
}

impl Printer<'_> {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{}{line}", "  ".repeat(self.depth));
    }

    fn refuse<T>(&self, what: &'static str) -> Result<T, Illegal> {
        Err(Illegal::Statement { function: self.function.name.clone(), what })
    }

    fn var(&self, var: VarId) -> String {
        let name = self.function.vars.get(var.0 as usize).map_or("v", String::as_str);
        let name: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        format!("{name}_{}", var.0)
    }

    fn buffer(&self, buffer: BufferId) -> String {
        plain(&self.module.buffers[buffer.0 as usize].name)
    }

    fn element(&self, buffer: BufferId) -> Result<&'static str, Illegal> {
        let buffer = &self.module.buffers[buffer.0 as usize];
        match buffer.element {
            Element::F32 => Ok("float"),
            Element::F64 => Ok("double"),
            Element::I32 => Ok("int"),
            Element::U32 => Ok("unsigned"),
            Element::I64 => Ok("long"),
            element => Err(Illegal::Element { buffer: buffer.name.clone(), element }),
        }
    }

    /// A block inside of what `head` begins.
    fn braces(&mut self, head: &str, body: &[Stmt]) -> Result<(), Illegal> {
        self.line(&format!("{head} {{"));
        self.depth += 1;
        self.block(body)?;
        self.depth -= 1;
        self.line("}");
        Ok(())
    }

    /// What has variables of its own.
    fn scope(
        &mut self,
        inside: impl FnOnce(&mut Self) -> Result<(), Illegal>,
    ) -> Result<(), Illegal> {
        self.line("{");
        self.depth += 1;
        inside(self)?;
        self.depth -= 1;
        self.line("}");
        Ok(())
    }

    fn block(&mut self, body: &[Stmt]) -> Result<(), Illegal> {
        body.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), Illegal> {
        match stmt {
            Stmt::For(inner) => self.counted(inner),
            Stmt::While(inner) => self.conditional(inner),
            Stmt::Workspace(inner) => self.workspace(inner),
            Stmt::Let(inner) => self.binding(inner),
            Stmt::If(inner) => {
                let condition = self.condition(&inner.condition)?;
                self.braces(&format!("if ({condition})"), &inner.then)?;
                match inner.otherwise.is_empty() {
                    true => Ok(()),
                    false => self.braces("else", &inner.otherwise),
                }
            }
            Stmt::Store(store) => self.store(store),
            _ => self.refuse("one of a kind that it does not know"),
        }
    }

    fn counted(&mut self, inner: &For) -> Result<(), Illegal> {
        let (var, step) = (self.var(inner.var), inner.step);
        let (lower, upper) =
            (self.extremum("lmax", &inner.lower)?, self.extremum("lmin", &inner.upper)?);
        let head = match inner.mark {
            Mark::Sequential => {
                format!("for (long {var} = {lower}; {var} < {upper}; {var} += {step})")
            }
            Mark::Parallel(ParallelLevel::Cores) => {
                format!("CORES({var}, {lower}, {upper}, {step})")
            }
            Mark::Parallel(ParallelLevel::Lanes) => {
                format!("LANES({var}, {lower}, {upper}, {step})")
            }
            _ => return self.refuse("a loop that is neither sequential nor on cores or lanes"),
        };
        self.braces(&head, &inner.body)
    }

    fn conditional(&mut self, inner: &While) -> Result<(), Illegal> {
        self.scope(|printer| {
            for (var, start) in &inner.vars {
                let line = format!("long {} = {};", printer.var(*var), printer.index(start)?);
                printer.line(&line);
            }
            let condition = printer.condition(&inner.condition)?;
            printer.line(&format!("while ({condition}) {{"));
            printer.depth += 1;
            printer.block(&inner.body)?;
            printer.step(inner)?;
            printer.depth -= 1;
            printer.line("}");
            printer.block(&inner.after)
        })
    }

    /// Gives the variables of a loop their values in the next iteration, all at once.
    fn step(&mut self, inner: &While) -> Result<(), Illegal> {
        for (at, next) in inner.next.iter().enumerate() {
            let line = format!("long next{at} = {};", self.index(next)?);
            self.line(&line);
        }
        for (at, (var, _)) in inner.vars.iter().enumerate() {
            let line = format!("{} = next{at};", self.var(*var));
            self.line(&line);
        }
        Ok(())
    }

    fn workspace(&mut self, inner: &Workspace) -> Result<(), Illegal> {
        if inner.instead.is_some() {
            return self.refuse("a workspace that another buffer may stand for");
        }
        let (element, name) = (self.element(inner.buffer)?, self.buffer(inner.buffer));
        let size = match inner.size.as_const() {
            Some(size) => size.max(1).to_string(),
            None => format!("lmax({}, 1)", self.index(&inner.size)?),
        };
        let make = match self.module.buffers[inner.buffer.0 as usize].space {
            Space::Scratchpad => "SCRATCHPAD",
            _ => "ARRAY",
        };
        self.scope(|printer| {
            printer.line(&format!("{make}({element}, {name}, {size});"));
            if inner.zero {
                printer.line(&format!("memset({name}, 0, {size} * sizeof({element}));"));
            }
            printer.block(&inner.body)
        })
    }

    fn binding(&mut self, inner: &Let) -> Result<(), Illegal> {
        let (var, from) = (self.var(inner.var), self.buffer(inner.buffer));
        let line = format!("long {var} = {from}[{}];", self.index(&inner.index)?);
        self.scope(|printer| {
            printer.line(&line);
            printer.block(&inner.body)
        })
    }

    fn store(&mut self, store: &Store) -> Result<(), Illegal> {
        let mut sums = false;
        store.value.visit(&mut |value| sums |= matches!(value, Value::Sum(_)));
        if sums { self.scope(|printer| printer.assignment(store)) } else { self.assignment(store) }
    }

    fn assignment(&mut self, store: &Store) -> Result<(), Illegal> {
        let value = self.value(&store.value)?;
        let place = format!("{}[{}]", self.buffer(store.buffer), self.index(&store.index)?);
        self.line(&match store.mode {
            StoreMode::Set => format!("{place} = {value};"),
            StoreMode::Add => format!("{place} += {value};"),
            StoreMode::Multiply => format!("{place} *= {value};"),
            StoreMode::Min => format!("{place} = fminf({place}, {value});"),
            StoreMode::Max => format!("{place} = fmaxf({place}, {value});"),
        });
        Ok(())
    }

    fn value(&mut self, value: &Value) -> Result<String, Illegal> {
        Ok(match value {
            Value::Const(value) if value.is_infinite() && *value < 0.0 => "-INFINITY".to_owned(),
            Value::Const(value) if value.is_infinite() => "INFINITY".to_owned(),
            Value::Const(value) => format!("{value:?}f"),
            Value::Load(buffer, index) => {
                format!("{}[{}]", self.buffer(*buffer), self.index(index)?)
            }
            Value::FromIndex(index) => format!("({})", self.index(index)?),
            Value::Add(left, right) => format!("({} + {})", self.value(left)?, self.value(right)?),
            Value::Mul(left, right) => format!("({} * {})", self.value(left)?, self.value(right)?),
            Value::Div(left, right) => format!("({} / {})", self.value(left)?, self.value(right)?),
            Value::Min(left, right) => {
                format!("fminf({}, {})", self.value(left)?, self.value(right)?)
            }
            Value::Max(left, right) => {
                format!("fmaxf({}, {})", self.value(left)?, self.value(right)?)
            }
            Value::Sum(sum) => self.sum(sum)?,
            _ => return self.refuse("a value of a kind that it does not know"),
        })
    }

    /// A loop before the statement; its variable is the value.
    fn sum(&mut self, sum: &Sum) -> Result<String, Illegal> {
        let name = format!("sum{}", self.sums);
        self.sums += 1;
        let first = match sum.kind {
            Reduction::Sum => "0.0f",
            Reduction::Product => "1.0f",
            Reduction::Min => "INFINITY",
            Reduction::Max => "-INFINITY",
        };
        self.line(&format!("float {name} = {first};"));
        let (var, step) = (self.var(sum.var), sum.step);
        let (lower, upper) =
            (self.extremum("lmax", &sum.lower)?, self.extremum("lmin", &sum.upper)?);
        self.line(&format!("for (long {var} = {lower}; {var} < {upper}; {var} += {step}) {{"));
        self.depth += 1;
        if let Some(condition) = &sum.condition {
            let condition = self.condition(condition)?;
            self.line(&format!("if (!({condition})) continue;"));
        }
        let term = self.value(&sum.body)?;
        self.line(&match sum.kind {
            Reduction::Sum => format!("{name} += {term};"),
            Reduction::Product => format!("{name} *= {term};"),
            Reduction::Min => format!("{name} = fminf({name}, {term});"),
            Reduction::Max => format!("{name} = fmaxf({name}, {term});"),
        });
        self.depth -= 1;
        self.line("}");
        Ok(name)
    }

    fn extremum(&self, call: &str, bounds: &[Index]) -> Result<String, Illegal> {
        let mut all = bounds.iter().map(|bound| self.index(bound));
        let first = all.next().unwrap_or_else(|| self.refuse("a loop without bounds"))?;
        all.try_fold(first, |text, bound| Ok(format!("{call}({text}, {})", bound?)))
    }

    fn index(&self, index: &Index) -> Result<String, Illegal> {
        let two = |left: &Index, sign: &str, right: &Index| {
            Ok(format!("({} {sign} {})", self.index(left)?, self.index(right)?))
        };
        let call = |name: &str, left: &Index, right: &str| {
            Ok(format!("{name}({}, {right})", self.index(left)?))
        };
        match index {
            Index::Const(value) => Ok(format!("{value}")),
            Index::Symbol(symbol) => Ok(plain(&self.module.symbols[symbol.0 as usize])),
            Index::Var(var) => Ok(self.var(*var)),
            Index::Add(left, right) => two(left, "+", right),
            Index::Sub(left, right) => two(left, "-", right),
            Index::Mul(left, right) => two(left, "*", right),
            Index::FloorDiv(value, by) => call("floordiv", value, &by.to_string()),
            Index::Mod(value, by) => call("floormod", value, &by.to_string()),
            Index::Quotient(value, by) => call("floordiv", value, &self.index(by)?),
            Index::ExactDiv(value, by) => Ok(format!("({} / {by})", self.index(value)?)),
            Index::Min(left, right) => call("lmin", left, &self.index(right)?),
            Index::Max(left, right) => call("lmax", left, &self.index(right)?),
            Index::Load(buffer, at) => {
                Ok(format!("(long){}[{}]", self.buffer(*buffer), self.index(at)?))
            }
            Index::Select(condition, then, otherwise) => {
                let condition = self.condition(condition)?;
                Ok(format!("({condition} ? {} : {})", self.index(then)?, self.index(otherwise)?))
            }
            _ => self.refuse("an integer expression of a kind that it does not know"),
        }
    }

    fn condition(&self, condition: &Condition) -> Result<String, Illegal> {
        let join = |list: &[Condition], sign: &str, empty: &str| {
            let all: Result<Vec<String>, Illegal> =
                list.iter().map(|one| self.condition(one)).collect();
            let all = all?.join(sign);
            Ok(if all.is_empty() { empty.to_owned() } else { format!("({all})") })
        };
        match condition {
            Condition::And(list) => join(list, " && ", "1"),
            Condition::Or(list) => join(list, " || ", "0"),
            Condition::Compare(compare, left, right) => {
                let sign = match compare {
                    Compare::Eq => "==",
                    Compare::Ne => "!=",
                    Compare::Lt => "<",
                    Compare::Le => "<=",
                    Compare::Gt => ">",
                    Compare::Ge => ">=",
                };
                Ok(format!("({} {sign} {})", self.index(left)?, self.index(right)?))
            }
        }
    }
}
