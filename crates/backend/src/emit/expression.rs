//! Integer expressions, conditions and constants.

use super::names::{memref, name_of};
use super::writer::{Ssa, Writer, line};
use crate::Result;
use dastac_loops::{Compare, Condition, Element, Index};

/// Overflow is excluded by the invariants of the loop IR, but for functions that are checked.
pub(super) const NSW: &str = " overflow<nsw>";

impl Writer<'_, '_> {
    pub(super) fn extremum(&mut self, list: &[Index], operation: &str) -> Result<Ssa> {
        let mut result: Option<Ssa> = None;
        for index in list {
            let value = self.index(index)?;
            result = Some(match result {
                None => value,
                Some(so_far) => self.define(format_args!("{operation} {so_far}, {value} : index")),
            });
        }
        result.ok_or_else(|| self.invalid(format_args!("a loop has no bounds")))
    }

    pub(super) fn index(&mut self, index: &Index) -> Result<Ssa> {
        let nsw = self.no_overflow();
        let mut binary = |operation: &str, left: &Index, right: &Index, flags: &str| {
            let (left, right) = (self.index(left)?, self.index(right)?);
            Ok(self.define(format_args!("{operation} {left}, {right}{flags} : index")))
        };
        match index {
            Index::Const(value) => Ok(self.index_constant(*value)),
            Index::Symbol(symbol) => self.symbol(*symbol),
            Index::Var(var) => match self.vars.get(var) {
                Some(known) => Ok(known.name.clone()),
                None => Err(self.invalid(format_args!("variable {} is not bound", var.0))),
            },
            Index::Add(left, right) => binary("arith.addi", left, right, nsw),
            Index::Sub(left, right) => binary("arith.subi", left, right, nsw),
            Index::Mul(left, right) => binary("arith.muli", left, right, nsw),
            Index::Min(left, right) => binary("arith.minsi", left, right, ""),
            Index::Max(left, right) => binary("arith.maxsi", left, right, ""),
            Index::FloorDiv(value, by) => {
                let value = self.index(value)?;
                self.floor_div(&value, *by)
            }
            Index::Quotient(value, by) => {
                let (value, by) = (self.index(value)?, self.index(by)?);
                Ok(self.floor_quotient(&value, &by))
            }
            Index::Mod(value, by) => {
                let value = self.index(value)?;
                let by_ssa = self.index_constant(*by);
                if self.divisor(*by)?.is_power_of_two() {
                    let mask = self.index_constant(by - 1);
                    return Ok(self.define(format_args!("arith.andi {value}, {mask} : index")));
                }
                let quotient = self.floor_div(&value, *by)?;
                let multiple =
                    self.define(format_args!("arith.muli {quotient}, {by_ssa}{nsw} : index"));
                Ok(self.define(format_args!("arith.subi {value}, {multiple}{nsw} : index")))
            }
            Index::ExactDiv(value, by) => {
                let value = self.index(value)?;
                let divisor = self.divisor(*by)?;
                let (operation, by) = if divisor.is_power_of_two() {
                    ("arith.shrsi", i64::from(divisor.trailing_zeros()))
                } else {
                    ("arith.divsi", *by)
                };
                let by = self.index_constant(by);
                let exact = self.promise(" exact");
                Ok(self.define(format_args!("{operation} {value}, {by}{exact} : index")))
            }
            Index::Load(buffer, at) => {
                let at = self.index(at)?;
                let (memory, element) = self.buffer(*buffer)?;
                let ty = memref(element);
                let value = self.define(format_args!("memref.load {memory}[{at}] : {ty}"));
                if !element.is_integer() {
                    return Err(self.invalid(format_args!("a number is loaded as an integer")));
                }
                let cast = if element.is_signed() { "index_cast" } else { "index_castui" };
                let ty = name_of(element);
                Ok(self.define(format_args!("arith.{cast} {value} : {ty} to index")))
            }
            Index::Select(condition, then, otherwise)
                if then.has_loads() || otherwise.has_loads() =>
            {
                // What is not selected is not loaded.
                let condition = self.in_order(condition)?;
                let result = self.fresh();
                line!(self, "{result} = scf.if {condition} -> (index) {{");
                self.block(|writer| writer.selected(then))?;
                line!(self, "}} else {{");
                self.block(|writer| writer.selected(otherwise))?;
                line!(self, "}}");
                Ok(result)
            }
            Index::Select(condition, then, otherwise) => {
                let condition = self.in_order(condition)?;
                let (then, otherwise) = (self.index(then)?, self.index(otherwise)?);
                Ok(self
                    .define(format_args!("arith.select {condition}, {then}, {otherwise} : index")))
            }
            Index::Within(inner) => self.within(inner),
        }
    }

    /// A promise that integers do not overflow, which is not given where they wrap around.
    pub(super) fn promise(&self, promise: &'static str) -> &'static str {
        if self.function.checked.is_some() { "" } else { promise }
    }

    /// The promise that integer arithmetic does not overflow, where that may be concluded.
    fn no_overflow(&self) -> &'static str {
        if self.wrapping { "" } else { self.promise(NSW) }
    }

    /// `floor(a / b)` for `b > 0`. Let `s` be 0 or -1, `a`'s sign spread over all bits: then `a ^ s` is `a`
    /// or `-1 - a`, never negative, and the quotient is `((a ^ s) / b) ^ s`. No branch, no overflow.
    pub(super) fn floor_div(&mut self, value: &Ssa, by: i64) -> Result<Ssa> {
        let divisor = self.divisor(by)?;
        if divisor.is_power_of_two() {
            let shift = self.index_constant(i64::from(divisor.trailing_zeros()));
            return Ok(self.define(format_args!("arith.shrsi {value}, {shift} : index")));
        }
        let by = self.index_constant(by);
        Ok(self.floor_quotient(value, &by))
    }

    fn floor_quotient(&mut self, value: &Ssa, by: &Ssa) -> Ssa {
        let shift = self.index_constant(i64::from(self.unit.width.bits()) - 1);
        let sign = self.define(format_args!("arith.shrsi {value}, {shift} : index"));
        let positive = self.define(format_args!("arith.xori {value}, {sign} : index"));
        let quotient = self.define(format_args!("arith.divui {positive}, {by} : index"));
        self.define(format_args!("arith.xori {quotient}, {sign} : index"))
    }

    fn divisor(&self, by: i64) -> Result<u64> {
        match u64::try_from(by) {
            Ok(by) if by > 0 => Ok(by),
            _ => Err(self.invalid(format_args!("divisor {by}"))),
        }
    }

    pub(super) fn condition(&mut self, condition: &Condition) -> Result<Ssa> {
        let (list, operation, neutral) = match condition {
            Condition::Compare(op, left, right) => {
                let (left, right) = (self.index(left)?, self.index(right)?);
                let predicate = predicate(*op);
                return Ok(
                    self.define(format_args!("arith.cmpi {predicate}, {left}, {right} : index"))
                );
            }
            Condition::And(list) => (list, "arith.andi", "true"),
            Condition::Or(list) => (list, "arith.ori", "false"),
        };
        let mut result: Option<Ssa> = None;
        for condition in list {
            let value = self.condition(condition)?;
            result = Some(match result {
                None => value,
                Some(so_far) => self.define(format_args!("{operation} {so_far}, {value} : i1")),
            });
        }
        Ok(match result {
            Some(result) => result,
            None => self.constant(neutral.to_owned(), neutral.to_owned()),
        })
    }

    /// A condition whose parts are asked in order: nothing is loaded for a part of a conjunction behind one that fails,
    /// or of a disjunction behind one that holds.
    ///
    /// Before -> after: `p < n and crd[p] < m` -> `if p < n { crd[p] < m } else { false }`.
    pub(super) fn in_order(&mut self, condition: &Condition) -> Result<Ssa> {
        let (list, all) = match condition {
            Condition::And(list) => (list, true),
            Condition::Or(list) => (list, false),
            Condition::Compare(..) => return self.condition(condition),
        };
        let joined = |list: &[Condition]| match all {
            true => Condition::And(list.to_vec()),
            false => Condition::Or(list.to_vec()),
        };
        let Some((first, rest)) = list.split_first().filter(|_| condition.has_loads()) else {
            return self.condition(condition);
        };
        let Some(at) = rest.iter().position(Condition::has_loads) else {
            // Only the first part loads.
            let first = self.in_order(first)?;
            if rest.is_empty() {
                return Ok(first);
            }
            let rest = self.condition(&joined(rest))?;
            let operation = if all { "arith.andi" } else { "arith.ori" };
            return Ok(self.define(format_args!("{operation} {first}, {rest} : i1")));
        };
        let (first, rest) = list.split_at(at + 1);
        let first = match first {
            [one] => self.in_order(one)?,
            several => self.in_order(&joined(several))?,
        };
        let rest = match rest {
            [one] => one.clone(),
            several => joined(several),
        };
        let known = if all { "false" } else { "true" }.to_owned();
        let known = self.constant(known.clone(), known);
        let result = self.fresh();
        line!(self, "{result} = scf.if {first} -> (i1) {{");
        if all {
            self.block(|writer| writer.yielded(&rest))?;
            line!(self, "}} else {{");
            line!(self, "  scf.yield {known} : i1");
        } else {
            line!(self, "  scf.yield {known} : i1");
            line!(self, "}} else {{");
            self.block(|writer| writer.yielded(&rest))?;
        }
        line!(self, "}}");
        Ok(result)
    }

    /// Yields one side of a selection.
    fn selected(&mut self, index: &Index) -> Result<()> {
        let value = self.index(index)?;
        line!(self, "scf.yield {value} : index");
        Ok(())
    }

    /// Yields whether a condition holds.
    fn yielded(&mut self, condition: &Condition) -> Result<()> {
        let holds = self.in_order(condition)?;
        line!(self, "scf.yield {holds} : i1");
        Ok(())
    }

    pub(super) fn index_constant(&mut self, value: i64) -> Ssa {
        let sign = if value < 0 { "m" } else { "" };
        self.constant(format!("{value} : index"), format!("c{sign}{}", value.unsigned_abs()))
    }

    /// A constant by its bits, so that every value has a form that reads back exactly. Of integers, infinities are the
    /// largest and the smallest one.
    pub(super) fn number(&mut self, value: f64, element: Element) -> Ssa {
        let (text, bits) = self.number_text(value, element);
        let name = name_of(element);
        self.constant(format!("{text} : {name}"), format!("{name}_{bits}"))
    }

    /// The text of a constant, and its bits as digits.
    pub(super) fn number_text(&self, value: f64, element: Element) -> (String, String) {
        if element.is_integer() {
            let value = value as i64;
            return (value.to_string(), format!("{value:016X}"));
        }
        let (bits, plain) = match element {
            Element::F32 => (format!("0x{:08X}", (value as f32).to_bits()), (value as f32).into()),
            _ => (format!("0x{:016X}", value.to_bits()), value),
        };
        let readable = format!("{plain:?}");
        let digits = bits[2..].to_owned();
        (if readable.contains('.') { readable } else { bits }, digits)
    }

    pub(super) fn constant(&mut self, text: String, name: String) -> Ssa {
        self.constants.entry(text).or_insert_with(|| Ssa(format!("%{name}"))).clone()
    }
}

/// A comparison, as `arith.cmpi` calls it.
pub(super) fn predicate(op: Compare) -> &'static str {
    match op {
        Compare::Eq => "eq",
        Compare::Ne => "ne",
        Compare::Lt => "slt",
        Compare::Le => "sle",
        Compare::Gt => "sgt",
        Compare::Ge => "sge",
    }
}
