//! The text of register code.

use super::{Level, Printer};
use crate::ir::*;

/// `f64`, `f64[8]`, `integer[8]`, `truth`.
pub(crate) fn type_name(ty: RegisterType) -> String {
    let kind = match ty.kind {
        LaneKind::Number(element) => element.name(),
        LaneKind::Integer => "integer",
        LaneKind::Truth => "truth",
    };
    if ty.lanes == 1 { kind.to_owned() } else { format!("{kind}[{}]", ty.lanes) }
}

impl Printer<'_> {
    fn register(&mut self, register: RegId) {
        self.put(format_args!("${}", register.0));
    }

    /// `$r : type`.
    fn definition(&mut self, register: RegId) {
        let ty = self.registers.get(register.0 as usize).copied();
        let ty = ty.unwrap_or(RegisterType::number(Element::F64, 1));
        self.put(format_args!("${} : {}", register.0, type_name(ty)));
    }

    fn operands(&mut self, name: &str, registers: &[RegId]) {
        self.put(format_args!("{name} "));
        self.list(registers, ", ", |p, register| p.register(*register));
    }

    fn under(&mut self, mask: Option<RegId>) {
        if let Some(mask) = mask {
            self.put(format_args!(" where ${}", mask.0));
        }
    }

    fn operation(&mut self, operation: &Operation) {
        match operation {
            Operation::Constant(value) => {
                self.out.push_str("constant ");
                self.value(&Value::Const(*value), Level::Or);
            }
            Operation::Convert(index) => {
                self.out.push_str("convert ");
                self.index(index, Level::Or);
            }
            Operation::Lanes(first, by) => {
                self.out.push_str("lanes ");
                self.index(first, Level::Or);
                self.put(format_args!(" by {by}"));
            }
            Operation::Load(load) => {
                self.out.push_str("load ");
                self.element(load.buffer, &load.index);
                self.out.push_str(if load.reversed { " down" } else { "" });
                self.under(load.mask);
            }
            Operation::Gather(gather) => {
                let name = self.names.buffer(gather.buffer);
                self.put(format_args!("gather {name}[${}]", gather.places.0));
                self.under(gather.mask);
            }
            Operation::Broadcast(one) => self.operands("broadcast", &[*one]),
            Operation::Binary(how, left, right) => self.operands(how.name(), &[*left, *right]),
            Operation::Fma(a, b, c) => self.operands("fma", &[*a, *b, *c]),
            Operation::Truth(one) => self.operands("truth", &[*one]),
            Operation::Apply(function, of) => {
                self.put(format_args!("apply "));
                self.operands(function.name(), of);
            }
            Operation::Cast(element, one) => {
                self.put(format_args!("cast {element} ${}", one.0));
            }
            Operation::Compare(how, left, right) => {
                self.put(format_args!("compare ${} {} ${}", left.0, how.sign(), right.0));
            }
            Operation::First(first) => {
                self.out.push_str(if first.from_bits { "first_bits " } else { "first " });
                self.index(&first.count, Level::Or);
            }
            Operation::Holds(condition) => {
                self.out.push_str("holds ");
                self.condition(condition, Level::Or);
            }
            Operation::Aligned(aligned) => {
                let name = self.names.buffer(aligned.buffer);
                self.put(format_args!("aligned {name}["));
                self.list(&aligned.indices, ", ", |p, index| p.index(index, Level::Or));
                self.put(format_args!("] to {}", aligned.bytes));
            }
            Operation::Select(a, b, c) => self.operands("select", &[*a, *b, *c]),
            Operation::Pack(of) => self.operands("pack", of),
            Operation::Shuffle(left, right, lanes) => {
                self.put(format_args!("shuffle ${}, ${} [", left.0, right.0));
                self.list(lanes, ", ", |p, lane| p.put(format_args!("{lane}")));
                self.out.push(']');
            }
            Operation::Extract(one, lane) => self.put(format_args!("extract ${}[{lane}]", one.0)),
        }
    }

    /// The first line of a statement; a loop's variable is in scope afterwards.
    pub(super) fn register_head(&mut self, stmt: &RegisterStmt) {
        match stmt {
            RegisterStmt::Define(register, operation) => {
                self.definition(*register);
                self.out.push_str(" = ");
                self.operation(operation);
            }
            RegisterStmt::Integer(inner) => {
                self.out.push_str(if inner.wraps { "wrapping " } else { "integer " });
                let start = self.out.len();
                self.index(&inner.index, Level::Or);
                let name = self.names.bind(inner.var);
                self.out.insert_str(start, &format!("{name} = "));
            }
            RegisterStmt::Carry(inner) => {
                self.out.push_str("carry ");
                self.range(inner.var, &inner.lower, &inner.upper, inner.step);
                if !inner.carried.is_empty() {
                    self.out.push_str(" with ");
                }
                self.list(&inner.carried, ", ", |p, carried| {
                    p.definition(carried.current);
                    p.put(format_args!(" = ${}", carried.init.0));
                });
                self.out.push_str(" {");
            }
            RegisterStmt::Choose(inner) => {
                self.out.push_str("choose if ");
                match &inner.condition {
                    Test::Condition(condition) => self.condition(condition, Level::Or),
                    Test::Register(register) => self.register(*register),
                }
                self.out.push_str(" {");
            }
            RegisterStmt::Write(write) => {
                self.out.push_str("write ");
                self.element(write.buffer, &write.index);
                self.put(format_args!(" = ${}", write.value.0));
                if let Some(bytes) = write.streamed {
                    self.put(format_args!(" streamed {bytes}"));
                }
            }
            RegisterStmt::Multiply(inner) => {
                let name = self.names.buffer(inner.held);
                self.put(format_args!("multiply {name}["));
                self.index(&inner.lane, Level::Or);
                self.put(format_args!(" of {}] += ", inner.lanes));
                self.factor(&inner.left);
                self.out.push_str(" * ");
                self.factor(&inner.right);
                self.put(format_args!(" in {}", inner.terms));
            }
            RegisterStmt::Prefetch(buffer, index) => {
                self.out.push_str("prefetch ");
                self.element(*buffer, index);
            }
            RegisterStmt::Fetch(fetch) => {
                self.out.push_str("fetch ");
                self.element(fetch.buffer, &fetch.at);
                self.out.push_str(" = ");
                self.element(fetch.from, &fetch.source);
            }
            RegisterStmt::Arrive(left) => self.put(format_args!("arrive {left}")),
            RegisterStmt::Fence => self.out.push_str("fence"),
        }
    }

    fn factor(&mut self, factor: &Factor) {
        self.element(factor.buffer, &factor.at);
        self.put(format_args!(" {} by {}, {}", factor.count, factor.own, factor.term));
    }

    /// What follows the first line.
    pub(super) fn register_rest(&mut self, stmt: &RegisterStmt, depth: usize) {
        match stmt {
            RegisterStmt::Carry(inner) => {
                self.block(&inner.body, depth + 1);
                self.names.unbind();
                self.indent(depth);
                self.out.push('}');
                if !inner.carried.is_empty() {
                    self.out.push_str(" next ");
                    self.list(&inner.carried, ", ", |p, carried| p.register(carried.next));
                    self.out.push_str(" gives ");
                    self.list(&inner.carried, ", ", |p, carried| p.register(carried.result));
                }
                self.out.push('\n');
            }
            RegisterStmt::Choose(inner) => {
                self.block(&inner.then, depth + 1);
                self.indent(depth);
                self.out.push_str("} else {\n");
                self.block(&inner.otherwise, depth + 1);
                self.indent(depth);
                self.out.push('}');
                if !inner.results.is_empty() {
                    self.out.push_str(" gives ");
                    self.list(&inner.results, ", ", |p, chosen| {
                        p.definition(chosen.result);
                        p.put(format_args!(" = ${} or ${}", chosen.then.0, chosen.otherwise.0));
                    });
                }
                self.out.push('\n');
            }
            _ => {}
        }
    }
}
