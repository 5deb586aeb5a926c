//! Reads register code.
//!
//! ```text
//! stmt      = reg ":" type "=" operation | ("integer" | "wrapping") name "=" index
//!           | "prefetch" name "[" index "]" | "fence" | "arrive" integer
//!           | "fetch" name "[" index "]" "=" name "[" index "]"
//!           | "write" name "[" index "]" "=" reg ("streamed" integer)?
//!           | "multiply" name "[" index "of" integer "]" "+=" factor "*" factor "in" integer
//!           | "carry" range ("with" (reg ":" type "=" reg),+)? block ("next" reg,+ "gives" reg,+)?
//!           | "choose" "if" (condition | reg) block "else" block ("gives" (reg ":" type "=" reg "or" reg),+)?
//! factor    = name "[" index "]" integer "by" integer "," integer
//! reg       = "$" integer
//! type      = ("f64" | "f32" | "i64" | .. | "integer" | "truth") ("[" integer "]")?
//! operation = "constant" number | "convert" index | "lanes" index "by" integer | ("first" | "first_bits") index
//!           | "load" name "[" index "]" "down"? ("where" reg)? | "gather" name "[" reg "]" ("where" reg)?
//!           | ("add" | "sub" | "mul" | "div" | "min" | "max" | "and") reg "," reg | ("broadcast" | "truth") reg
//!           | "apply" function reg,+ | "cast" ("f64" | ..) reg
//!           | ("fma" | "select") reg "," reg "," reg | "compare" reg ("<" | ..) reg | "holds" condition
//!           | "aligned" name "[" index,+ "]" "to" integer | "shuffle" reg "," reg "[" integer,* "]"
//!           | "extract" reg "[" integer "]" | "pack" reg,+
//! ```

use super::{ParseErrorKind, Parsed, Parser};
use crate::ir::*;
use crate::lex::Token;

impl Parser<'_> {
    /// `$3`, as a register of the function; one that is named before it is defined is numbered where it is named.
    fn register(&mut self) -> Parsed<RegId> {
        self.sign("$")?;
        let at = self.at;
        let number = self.integer()?;
        let number = u32::try_from(number)
            .or_else(|_| self.error(at, ParseErrorKind::Integer(number.to_string())))?;
        if let Some(known) = self.numbers.get(&number) {
            return Ok(*known);
        }
        let register = RegId(self.registers.len() as u32);
        self.registers.push(RegisterType::number(Element::F64, 1));
        self.numbers.insert(number, register);
        Ok(register)
    }

    fn comma_register(&mut self) -> Parsed<RegId> {
        self.sign(",")?;
        self.register()
    }

    /// `$3 : f64[8] =`.
    fn typed(&mut self) -> Parsed<RegId> {
        let register = self.register()?;
        self.sign(":")?;
        let ty = self.register_type()?;
        self.registers[register.0 as usize] = ty;
        self.sign("=")?;
        Ok(register)
    }

    fn register_type(&mut self) -> Parsed<RegisterType> {
        let kind = match self.token() {
            Token::Name("integer") => LaneKind::Integer,
            Token::Name("truth") => LaneKind::Truth,
            _ => LaneKind::Number(self.element_type()?),
        };
        if !matches!(kind, LaneKind::Number(_)) {
            self.advance();
        }
        let mut lanes = 1;
        if self.skip("[") {
            lanes = self.count()?;
            self.sign("]")?;
        }
        Ok(RegisterType { kind, lanes })
    }

    fn count(&mut self) -> Parsed<usize> {
        let at = self.at;
        let count = self.integer()?;
        usize::try_from(count)
            .or_else(|_| self.error(at, ParseErrorKind::Integer(count.to_string())))
    }

    pub(super) fn definition(&mut self) -> Parsed<Stmt> {
        let register = self.typed()?;
        Ok(Stmt::Register(RegisterStmt::Define(register, self.operation()?)))
    }

    pub(super) fn register_stmt(&mut self, word: &str) -> Parsed<Stmt> {
        Ok(Stmt::Register(match word {
            "integer" | "wrapping" => {
                let name = self.name("a variable")?.to_owned();
                self.sign("=")?;
                let (index, wraps) = (self.index()?, word == "wrapping");
                RegisterStmt::Integer(Integer { var: self.bind(name), index, wraps })
            }
            "carry" => RegisterStmt::Carry(self.carry()?),
            "choose" => RegisterStmt::Choose(self.choose()?),
            "write" => {
                let (buffer, index) = self.element()?;
                self.sign("=")?;
                let value = self.register()?;
                let streamed = self.token() == Token::Name("streamed")
                    && matches!(self.after(), Token::Integer(_));
                let streamed = if streamed {
                    self.advance();
                    Some(self.count()?)
                } else {
                    None
                };
                RegisterStmt::Write(Write { buffer, index, value, streamed })
            }
            "multiply" => RegisterStmt::Multiply(Box::new(self.multiply()?)),
            "fetch" => {
                let (buffer, at) = self.element()?;
                self.sign("=")?;
                let (from, source) = self.element()?;
                RegisterStmt::Fetch(Box::new(Fetch { buffer, at, from, source }))
            }
            "arrive" => RegisterStmt::Arrive(self.integer()?),
            "fence" => RegisterStmt::Fence,
            _ => {
                let (buffer, index) = self.element()?;
                RegisterStmt::Prefetch(buffer, index)
            }
        }))
    }

    fn multiply(&mut self) -> Parsed<Multiply> {
        let held = self.buffer()?;
        self.sign("[")?;
        let lane = self.index()?;
        self.word("of")?;
        let lanes = self.integer()?;
        self.sign("]")?;
        self.sign("+=")?;
        let left = self.factor()?;
        self.sign("*")?;
        let right = self.factor()?;
        self.word("in")?;
        Ok(Multiply { held, lane, lanes, left, right, terms: self.integer()? })
    }

    fn factor(&mut self) -> Parsed<Factor> {
        let (buffer, at) = self.element()?;
        let count = self.integer()?;
        self.word("by")?;
        let own = self.integer()?;
        self.sign(",")?;
        Ok(Factor { buffer, at, count, own, term: self.integer()? })
    }

    fn carry(&mut self) -> Parsed<Carry> {
        let (var, lower, upper, step) = self.range()?;
        let mut starts = Vec::new();
        if self.skip_word("with") {
            while starts.is_empty() || self.skip(",") {
                let current = self.typed()?;
                starts.push((current, self.register()?));
            }
        }
        let body = self.block()?;
        self.scope.pop();
        let mut ends = [Vec::new(), Vec::new()];
        for (word, list) in ["next", "gives"].into_iter().zip(&mut ends) {
            for at in 0..starts.len() {
                if at == 0 {
                    self.word(word)?
                } else {
                    self.sign(",")?
                }
                list.push(self.register()?);
            }
        }
        let [next, results] = ends;
        let ends = next.into_iter().zip(results);
        let carried = starts.into_iter().zip(ends).map(|((current, init), (next, result))| {
            self.registers[result.0 as usize] = self.registers[current.0 as usize];
            Carried { current, init, next, result }
        });
        let carried = carried.collect();
        Ok(Carry { var, lower, upper, step, carried, body })
    }

    fn choose(&mut self) -> Parsed<Choose> {
        self.word("if")?;
        let condition = match self.token() {
            Token::Sign("$") => Test::Register(self.register()?),
            _ => Test::Condition(self.condition()?),
        };
        let then = self.block()?;
        self.word("else")?;
        let otherwise = self.block()?;
        let mut results = Vec::new();
        if self.token() == Token::Name("gives") && self.after() == Token::Sign("$") {
            self.advance();
            while results.is_empty() || self.skip(",") {
                let result = self.typed()?;
                let then = self.register()?;
                self.word("or")?;
                results.push(Chosen { result, then, otherwise: self.register()? });
            }
        }
        Ok(Choose { condition, then, otherwise, results })
    }

    fn mask(&mut self) -> Parsed<Option<RegId>> {
        if self.token() != Token::Name("where") || self.after() != Token::Sign("$") {
            return Ok(None);
        }
        self.advance();
        Ok(Some(self.register()?))
    }

    fn operation(&mut self) -> Parsed<Operation> {
        let Token::Name(word) = self.token() else { return self.expected("an operation") };
        if let Some(how) = BinaryOp::ALL.into_iter().find(|how| how.name() == word) {
            self.advance();
            return Ok(Operation::Binary(how, self.register()?, self.comma_register()?));
        }
        let known = [
            "constant",
            "convert",
            "lanes",
            "load",
            "gather",
            "broadcast",
            "fma",
            "truth",
            "apply",
            "cast",
            "compare",
            "first",
            "first_bits",
            "holds",
            "aligned",
            "select",
            "pack",
            "shuffle",
            "extract",
        ];
        if !known.contains(&word) {
            return self.expected("an operation");
        }
        self.advance();
        self.operation_named(word)
    }

    fn operation_named(&mut self, word: &str) -> Parsed<Operation> {
        Ok(match word {
            "constant" => match self.number()? {
                Value::Const(value) => Operation::Constant(value),
                _ => return self.expected("a number"),
            },
            "convert" => Operation::Convert(self.index()?),
            "lanes" => {
                let first = self.index()?;
                self.word("by")?;
                Operation::Lanes(first, self.integer()?)
            }
            "load" => {
                let (buffer, index) = self.element()?;
                let down = self.token() == Token::Name("down") && self.after() != Token::Sign("[");
                let reversed = down && self.skip_word("down");
                Operation::Load(VectorLoad { buffer, index, reversed, mask: self.mask()? })
            }
            "gather" => {
                let buffer = self.buffer()?;
                self.sign("[")?;
                let places = self.register()?;
                self.sign("]")?;
                Operation::Gather(Gather { buffer, places, mask: self.mask()? })
            }
            "broadcast" => Operation::Broadcast(self.register()?),
            "truth" => Operation::Truth(self.register()?),
            "apply" => self.function_of_lanes()?,
            "cast" => Operation::Cast(self.element_type()?, self.register()?),
            "fma" => {
                Operation::Fma(self.register()?, self.comma_register()?, self.comma_register()?)
            }
            "select" => {
                Operation::Select(self.register()?, self.comma_register()?, self.comma_register()?)
            }
            "compare" => self.comparison_of_lanes()?,
            "first" | "first_bits" => {
                let from_bits = word == "first_bits";
                Operation::First(FirstLanes { count: self.index()?, from_bits })
            }
            "holds" => Operation::Holds(self.condition()?),
            "aligned" => self.aligned()?,
            "pack" => {
                let mut of = vec![self.register()?];
                while self.skip(",") {
                    of.push(self.register()?);
                }
                Operation::Pack(of)
            }
            "shuffle" => self.shuffle()?,
            _ => {
                let one = self.register()?;
                self.sign("[")?;
                let lane = self.count()?;
                self.sign("]")?;
                Operation::Extract(one, lane)
            }
        })
    }

    fn function_of_lanes(&mut self) -> Parsed<Operation> {
        let function = match self.token() {
            Token::Name(word) => MathFunction::from_name(word),
            _ => None,
        };
        let Some(function) = function else { return self.expected("a function") };
        self.advance();
        let mut of = vec![self.register()?];
        while self.skip(",") {
            of.push(self.register()?);
        }
        Ok(Operation::Apply(function, of))
    }

    fn comparison_of_lanes(&mut self) -> Parsed<Operation> {
        let left = self.register()?;
        Ok(Operation::Compare(self.comparison_sign()?, left, self.register()?))
    }

    fn aligned(&mut self) -> Parsed<Operation> {
        let buffer = self.buffer()?;
        self.sign("[")?;
        let mut indices = vec![self.index()?];
        while self.skip(",") {
            indices.push(self.index()?);
        }
        self.sign("]")?;
        self.word("to")?;
        Ok(Operation::Aligned(Aligned { buffer, indices, bytes: self.count()? }))
    }

    fn shuffle(&mut self) -> Parsed<Operation> {
        let (left, right) = (self.register()?, self.comma_register()?);
        self.sign("[")?;
        let mut lanes = Vec::new();
        while !self.skip("]") {
            if !lanes.is_empty() {
                self.sign(",")?;
            }
            lanes.push(self.count()?);
        }
        Ok(Operation::Shuffle(left, right, lanes))
    }
}
