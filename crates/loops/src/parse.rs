//! Reads the text form that [`crate::print`](mod@crate::print) writes.
//!
//! ```text
//! module    = "module" "(" names ")" buffer* function*
//! buffer    = "buffer" name ":" ("f64" | "f32" | "i64") "[" index "]" ("in" space)?
//! function  = ("private" "inline"?)? "func" name "(" parameter,* ")" ("checked" "as" name)? block
//! parameter = ("symbol" | "index" | "in" | "out" | "inout") name      the first two of private functions only
//! block     = "{" stmt* "}"
//! space     = "main" | "stack" | "shared" | "scratchpad"
//! level     = "threads" | "blocks" | "cores" | "lanes"
//! stmt      = ("for" | "parallel" ("(" level ")")? | "unroll") range block
//!           | "with" name "of" index "zero"? block
//!           | "team" name "in" name block
//!           | "call" name "(" index,* ")" ("on" name,+)?                 the names are buffers'
//!           | "append" "level" integer "at" index block
//!           | "let" name "=" name "[" index "]" block
//!           | "if" condition block ("else" (block | if))?
//!           | name "[" index "]" ("=" | "+=" | "*" "=" | "min" "=" | "max" "=") value
//!           | register code, see [`registers`]
//! range     = name "=" index "to" index ("step" integer)?       maximum (minimum) of lower (upper) bounds
//! condition = conditions joined by "and", by "or", in parentheses; "true"; "false"; index ("==" | "!=" | ..) index
//! index     = integer | name | index ("+" | "-" | "*") index | index ("/" | "%") integer | "(" index ")"
//!           | "exact" "(" index "," integer ")" | ("min" | "max") "(" index,+ ")"
//!           | "select" "(" condition "," index "," index ")" | "within" "(" index "," name "," index ")"
//! value     = number | name "[" index "]" | "index" "(" index ")" | value ("+" | "*" | "/") value | "(" value ")"
//!           | ("min" | "max") "(" value "," value ")" | "truth" "(" value ")"
//!           | ("sum" | "product" | "min" | "max") "(" range ("unroll" integer)? ("if" condition)? ")" product
//! ```
//!
//! `#` starts a comment. A name means the innermost variable of that name, else the symbol.

use crate::hints::Hints;
use crate::ir::*;
use crate::lex::{COMPARISONS, Place, Token, tokens};
use crate::linear::{flatten_max, flatten_min};
use crate::print::integers;
use std::collections::BTreeMap;

mod registers;

/// Parentheses nest at most so deep.
const DEPTH: usize = 250;

/// A text that is not a module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {kind}")]
pub struct ParseError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong there.
    pub kind: ParseErrorKind,
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseErrorKind {
    /// Something else was expected.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What could stand there.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// A name that means nothing here.
    #[error("unknown {what} `{name}`")]
    Unknown {
        /// What it should be.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A name is taken.
    #[error("{what} `{name}` is defined twice")]
    Twice {
        /// What it names.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// An integer does not fit 64 bits.
    #[error("the integer {0} does not fit 64 bits")]
    Integer(String),
    /// Parentheses or blocks nest too deep.
    #[error("nested more than {DEPTH} deep")]
    Depth,
}

type Parsed<T> = Result<T, ParseError>;

/// Reads a module. It is well formed as a text; whether it satisfies the invariants is
/// [`verify`](fn@crate::verify)'s to say.
pub fn parse(text: &str) -> Result<Module, ParseError> {
    let mut parser = Parser {
        places: tokens(text),
        at: 0,
        depth: 0,
        module: Module::default(),
        called: Vec::new(),
        vars: Vec::new(),
        hints: Hints::default(),
        scope: Vec::new(),
        numbers: BTreeMap::new(),
        registers: Vec::new(),
    };
    parser.module()?;
    Ok(parser.module)
}

struct Parser<'a> {
    places: Vec<Place<'a>>,
    at: usize,
    depth: usize,
    module: Module,
    /// Functions that are called, by the places of their names: they may be defined later.
    called: Vec<(usize, &'a str)>,
    /// Names of the variables of the function being read.
    vars: Vec<String>,
    /// Their hints.
    hints: Hints,
    /// Those in scope.
    scope: Vec<VarId>,
    /// Registers of that function by their numbers in the text.
    numbers: BTreeMap<u32, RegId>,
    /// Types of these registers.
    registers: Vec<RegisterType>,
}

impl<'a> Parser<'a> {
    fn token(&self) -> Token<'a> {
        self.places[self.at].token
    }

    fn after(&self) -> Token<'a> {
        self.places.get(self.at + 1).map_or(Token::End, |place| place.token)
    }

    fn advance(&mut self) {
        if self.at + 1 < self.places.len() {
            self.at += 1;
        }
    }

    fn error<T>(&self, at: usize, kind: ParseErrorKind) -> Parsed<T> {
        let Place { line, column, .. } = self.places[at];
        Err(ParseError { line, column, kind })
    }

    fn expected<T>(&self, expected: &str) -> Parsed<T> {
        let (expected, found) = (expected.to_owned(), self.token().describe());
        self.error(self.at, ParseErrorKind::Expected { expected, found })
    }

    /// Passes `sign` if it is next.
    fn skip(&mut self, sign: &str) -> bool {
        let found = matches!(self.token(), Token::Sign(text) if text == sign);
        if found {
            self.advance();
        }
        found
    }

    fn skip_word(&mut self, word: &str) -> bool {
        let found = matches!(self.token(), Token::Name(text) if text == word);
        if found {
            self.advance();
        }
        found
    }

    fn sign(&mut self, sign: &str) -> Parsed<()> {
        if self.skip(sign) { Ok(()) } else { self.expected(&format!("`{sign}`")) }
    }

    fn word(&mut self, word: &str) -> Parsed<()> {
        if self.skip_word(word) { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    fn name(&mut self, what: &str) -> Parsed<&'a str> {
        match self.token() {
            Token::Name(name) if crate::print::is_name(name) => {
                self.advance();
                Ok(name)
            }
            _ => self.expected(what),
        }
    }

    /// Runs `inside` one level deeper.
    fn deeper<T>(&mut self, inside: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == DEPTH {
            return self.error(self.at, ParseErrorKind::Depth);
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }

    fn module(&mut self) -> Parsed<()> {
        self.word("module")?;
        self.sign("(")?;
        while !self.skip(")") {
            if !self.module.symbols.is_empty() {
                self.sign(",")?;
            }
            let at = self.at;
            let name = self.name("a symbol")?.to_owned();
            if self.module.symbols.contains(&name) {
                return self.error(at, ParseErrorKind::Twice { what: "symbol", name });
            }
            self.module.symbols.push(name);
        }
        while self.skip_word("buffer") {
            let at = self.at;
            let name = self.name("a buffer's name")?.to_owned();
            if self.module.find_buffer(&name).is_some() {
                return self.error(at, ParseErrorKind::Twice { what: "buffer", name });
            }
            self.sign(":")?;
            let element = self.element_type()?;
            self.sign("[")?;
            let size = self.index()?;
            self.sign("]")?;
            let space = if self.skip_word("in") { self.space()? } else { Space::Main };
            self.module.buffers.push(Buffer { name, element, size, space });
        }
        while matches!(self.token(), Token::Name("func" | "private")) {
            let private = self.private()?;
            self.function(private)?;
        }
        self.resolve_calls()?;
        match self.token() {
            Token::End => Ok(()),
            _ if self.module.functions.is_empty() => self.expected("`buffer` or `func`"),
            _ => self.expected("`func`"),
        }
    }

    /// The words in front of a private function.
    fn private(&mut self) -> Parsed<Option<Private>> {
        let private = self
            .skip_word("private")
            .then(|| Private { inline: self.skip_word("inline"), ..Private::default() });
        self.word("func")?;
        Ok(private)
    }

    /// Gives calls, which so far know places in the text, the functions that are named there.
    fn resolve_calls(&mut self) -> Parsed<()> {
        let mut found = Vec::new();
        for &(at, name) in &self.called {
            match self.module.functions.iter().position(|known| known.name == name) {
                Some(position) => found.push(FunctionId(position as u32)),
                None => {
                    let (what, name) = ("function", name.to_owned());
                    return self.error(at, ParseErrorKind::Unknown { what, name });
                }
            }
        }
        let bodies = self.module.functions.iter_mut().map(|function| &mut function.body);
        bodies.for_each(|body| name_calls(body, &found));
        Ok(())
    }

    /// A parameter that stands in front of the buffers of a private function, if there is one.
    fn parameter(&mut self, private: &mut Private) -> Parsed<bool> {
        if self.skip_word("symbol") {
            let at = self.at;
            let name = self.name("a symbol")?;
            let Some(position) = self.module.symbols.iter().position(|known| known == name) else {
                let (what, name) = ("symbol", name.to_owned());
                return self.error(at, ParseErrorKind::Unknown { what, name });
            };
            private.symbols.push(SymbolId(position as u32));
            return Ok(true);
        }
        let integer = self.skip_word("index");
        if integer {
            let name = self.name("a variable")?.to_owned();
            private.integers.push(self.bind(name));
        }
        Ok(integer)
    }

    fn element_type(&mut self) -> Parsed<Element> {
        let named = match self.token() {
            Token::Name(name) => Element::named(name),
            _ => None,
        };
        let Some(element) = named else {
            return self.expected("an element type such as `f64`");
        };
        self.advance();
        Ok(element)
    }

    fn function(&mut self, mut private: Option<Private>) -> Parsed<()> {
        let at = self.at;
        let name = self.name("a function's name")?.to_owned();
        if self.module.find_function(&name).is_some() {
            return self.error(at, ParseErrorKind::Twice { what: "function", name });
        }
        self.sign("(")?;
        let (mut args, mut first) = (Vec::new(), true);
        while !self.skip(")") {
            if !std::mem::take(&mut first) {
                self.sign(",")?;
            }
            if let Some(private) = &mut private
                && args.is_empty()
                && self.parameter(private)?
            {
                continue;
            }
            let mode = match self.token() {
                Token::Name("in") => Mode::In,
                Token::Name("out") => Mode::Out,
                Token::Name("inout") => Mode::InOut,
                _ => return self.expected("`in`, `out` or `inout`"),
            };
            self.advance();
            args.push((self.buffer()?, mode));
        }
        if self.skip_word("hint") {
            self.sign("(")?;
            self.word("compact")?;
            self.sign(")")?;
            self.hints.compact = true;
        }
        let checked = if self.skip_word("checked") { Some(self.reported(&name)?) } else { None };
        let body = self.block()?;
        self.scope.clear();
        let vars = std::mem::take(&mut self.vars);
        let hints = std::mem::take(&mut self.hints);
        let registers = std::mem::take(&mut self.registers);
        self.numbers.clear();
        self.module.functions.push(Function {
            name,
            private,
            args,
            vars,
            hints,
            registers,
            checked,
            body,
        });
        Ok(())
    }

    /// The function under whose name that of the name `own` reports accesses: itself, or one before it.
    fn reported(&mut self, own: &str) -> Parsed<FunctionId> {
        self.word("as")?;
        let at = self.at;
        let name = self.name("a function")?;
        let mut known = self.module.functions.iter().map(|known| &known.name[..]).chain([own]);
        match known.position(|known| known == name) {
            Some(position) => Ok(FunctionId(position as u32)),
            None => {
                let (what, name) = ("function", name.to_owned());
                self.error(at, ParseErrorKind::Unknown { what, name })
            }
        }
    }

    fn buffer(&mut self) -> Parsed<BufferId> {
        let at = self.at;
        let name = self.name("a buffer")?;
        match self.module.find_buffer(name) {
            Some(buffer) => Ok(buffer),
            None => {
                let name = name.to_owned();
                self.error(at, ParseErrorKind::Unknown { what: "buffer", name })
            }
        }
    }

    fn space(&mut self) -> Parsed<Space> {
        let Token::Name(name) = self.token() else { return self.expected("a memory space") };
        let Some(space) = Space::find(name) else { return self.expected("a memory space") };
        self.advance();
        Ok(space)
    }

    /// The level of a parallel loop, which stands in parentheses where it is not threads.
    fn level(&mut self) -> Parsed<ParallelLevel> {
        if !self.skip("(") {
            return Ok(ParallelLevel::Threads);
        }
        let level = match self.token() {
            Token::Name(name) => ParallelLevel::find(name),
            _ => None,
        };
        let Some(level) = level else { return self.expected("a level of parallelism") };
        self.advance();
        self.sign(")")?;
        Ok(level)
    }

    /// The hint of a variable, if there is one.
    fn hint(&mut self, var: VarId) -> Parsed<()> {
        if !(self.token() == Token::Name("hint") && self.after() == Token::Sign("(")) {
            return Ok(());
        }
        self.advance();
        self.advance();
        let mut hint = self.hints.get(var);
        loop {
            let Token::Name(word) = self.token() else { return self.expected("a hint") };
            if matches!(word, "unroll" | "block" | "blocks" | "chunk" | "beyond" | "tile" | "lanes")
            {
                self.advance();
                let number = self.integer()?;
                hint.set_number(word, number);
            } else if hint.set_flag(word) {
                self.advance();
            } else {
                return self.expected("a hint");
            }
            if self.skip(")") {
                break;
            }
            self.sign(",")?;
        }
        self.hints.update(var, |known| *known = hint);
        Ok(())
    }

    fn block(&mut self) -> Parsed<Vec<Stmt>> {
        self.sign("{")?;
        let mut body = Vec::new();
        while !self.skip("}") {
            body.push(self.deeper(Self::stmt)?);
        }
        self.scope.truncate(self.scope.len() - integers(&body).count());
        Ok(body)
    }

    fn stmt(&mut self) -> Parsed<Stmt> {
        let store = self.after() == Token::Sign("[");
        match self.token() {
            Token::Name(word @ ("for" | "parallel" | "unroll")) if !store => {
                self.advance();
                let mark = match word {
                    "for" => Mark::Sequential,
                    "parallel" => Mark::Parallel(self.level()?),
                    _ => Mark::Unrolled,
                };
                let (var, lower, upper, step) = self.range()?;
                self.hint(var)?;
                let body = self.block()?;
                self.scope.pop();
                Ok(Stmt::For(For { var, lower, upper, step, mark, body }))
            }
            Token::Name("partition") if !store => {
                self.advance();
                self.partitioned()
            }
            Token::Name("while") if !store => {
                self.advance();
                self.while_loop()
            }
            Token::Name("team") if !store => {
                self.advance();
                let part = self.name("a variable")?.to_owned();
                self.word("in")?;
                let parts = self.name("a variable")?.to_owned();
                let (part, parts) = (self.bind(part), self.bind(parts));
                let body = self.block()?;
                self.scope.truncate(self.scope.len() - 2);
                Ok(Stmt::Team(Team { part, parts, body }))
            }
            Token::Name("call") if !store => {
                self.advance();
                self.call_function()
            }
            Token::Name("coiter") if !store => {
                self.advance();
                self.coiter()
            }
            Token::Name("append") if !store => {
                self.advance();
                self.append()
            }
            Token::Name("partial") if !store => {
                self.advance();
                self.partial()
            }
            Token::Name("with") if !store => {
                self.advance();
                let buffer = self.buffer()?;
                self.word("of")?;
                let size = self.index()?;
                let zero = self.skip_word("zero");
                let mut instead = None;
                if self.skip_word("or") {
                    let other = self.buffer()?;
                    self.word("if")?;
                    instead = Some((other, self.condition()?));
                }
                let body = self.block()?;
                Ok(Stmt::Workspace(Workspace { buffer, size, zero, instead, body }))
            }
            Token::Name("let") if !store => {
                self.advance();
                let name = self.name("a variable")?.to_owned();
                self.sign("=")?;
                let (buffer, index) = self.element()?;
                let var = self.bind(name);
                let body = self.block()?;
                self.scope.pop();
                Ok(Stmt::Let(Let { var, buffer, index, body }))
            }
            Token::Name("scan") if !store => {
                self.advance();
                self.scan()
            }
            Token::Name("if") if !store => {
                self.advance();
                let condition = self.condition()?;
                let then = self.block()?;
                let mut otherwise = Vec::new();
                if self.token() == Token::Name("else") && self.after() != Token::Sign("[") {
                    self.advance();
                    otherwise = match self.token() {
                        Token::Name("if") => vec![self.deeper(Self::stmt)?],
                        _ => self.block()?,
                    };
                }
                Ok(Stmt::If(If { condition, then, otherwise }))
            }
            Token::Sign("$") => self.definition(),
            Token::Name(
                word @ ("integer" | "wrapping" | "carry" | "choose" | "write" | "prefetch"
                | "multiply" | "fence" | "fetch" | "arrive"),
            ) if !store => {
                self.advance();
                self.register_stmt(word)
            }
            Token::Name(_) => {
                let (buffer, index) = self.element()?;
                let mode = if self.skip("+=") {
                    StoreMode::Add
                } else if self.skip("*") {
                    self.sign("=")?;
                    StoreMode::Multiply
                } else if self.skip("=") {
                    StoreMode::Set
                } else if self.skip_word("min") {
                    self.sign("=")?;
                    StoreMode::Min
                } else if self.skip_word("max") {
                    self.sign("=")?;
                    StoreMode::Max
                } else {
                    return self.expected("`=` or `+=`");
                };
                let value = self.value()?;
                let mut stream = None;
                if self.token() == Token::Name("stream") && self.after() == Token::Name("if") {
                    self.advance();
                    self.advance();
                    stream = Some(self.condition()?);
                }
                Ok(Stmt::Store(Store { buffer, index, value, mode, stream }))
            }
            _ => self.expected("a statement or `}`"),
        }
    }

    /// `scan k in marks[0 .. N] { .. }`, behind its first word.
    fn scan(&mut self) -> Parsed<Stmt> {
        let name = self.name("a variable")?.to_owned();
        self.word("in")?;
        let buffer = self.buffer()?;
        self.sign("[")?;
        let lower = self.index()?;
        self.sign("..")?;
        let upper = self.index()?;
        self.sign("]")?;
        let var = self.bind(name);
        let body = self.block()?;
        self.scope.pop();
        Ok(Stmt::Scan(Scan { var, buffer, lower, upper, body }))
    }

    fn partitioned(&mut self) -> Parsed<Stmt> {
        let begin = self.name("a variable")?.to_owned();
        self.sign(",")?;
        let name = self.name("a variable")?.to_owned();
        self.sign("=")?;
        let (lower, upper, step) = self.bounds()?;
        let (begin, end) = (self.bind(begin), self.bind(name));
        let mut work = None;
        if self.token() == Token::Name("by") {
            self.advance();
            work = Some(self.index()?);
        }
        self.hint(begin)?;
        let body = self.block()?;
        self.scope.pop();
        self.scope.pop();
        Ok(Stmt::Partitioned(PartitionedRange { begin, end, lower, upper, step, work, body }))
    }

    /// A call of a function that is known by its place in the list of those that are called, until all are read.
    fn call_function(&mut self) -> Parsed<Stmt> {
        let at = self.at;
        let name = self.name("a function")?;
        let function = FunctionId(self.called.len() as u32);
        self.called.push((at, name));
        self.sign("(")?;
        let (mut integers, mut buffers) = (Vec::new(), Vec::new());
        while !self.skip(")") {
            if !integers.is_empty() {
                self.sign(",")?;
            }
            integers.push(self.index()?);
        }
        if self.token() == Token::Name("on") && self.after() != Token::Sign("[") {
            self.advance();
            buffers.push(self.buffer()?);
            while self.skip(",") {
                buffers.push(self.buffer()?);
            }
        }
        Ok(Stmt::Call(Call { function, integers, buffers }))
    }

    fn while_loop(&mut self) -> Parsed<Stmt> {
        let mut starts = Vec::new();
        while self.token() != Token::Name("if") {
            if !starts.is_empty() {
                self.sign(",")?;
            }
            let name = self.name("a variable")?.to_owned();
            self.sign("=")?;
            starts.push((name, self.index()?));
        }
        self.word("if")?;
        let vars: Vec<(VarId, Index)> =
            starts.into_iter().map(|(name, start)| (self.bind(name), start)).collect();
        let condition = self.condition()?;
        let body = self.block()?;
        self.word("then")?;
        let mut next = Vec::new();
        for at in 0..vars.len() {
            if at > 0 {
                self.sign(",")?;
            }
            next.push(self.index()?);
        }
        let mut after = Vec::new();
        if self.token() == Token::Name("after") && self.after() == Token::Sign("{") {
            self.advance();
            after = self.block()?;
        }
        self.scope.truncate(self.scope.len() - vars.len());
        Ok(Stmt::While(While { vars, condition, body, next, after }))
    }

    /// `append level 1 at j { .. }`, behind its first word.
    fn append(&mut self) -> Parsed<Stmt> {
        self.word("level")?;
        let at = self.at;
        let level = self.integer()?;
        let wrong = |_| ParseErrorKind::Integer(level.to_string());
        let level = usize::try_from(level).map_err(wrong).or_else(|kind| self.error(at, kind))?;
        self.word("at")?;
        let coordinate = self.index()?;
        let body = self.block()?;
        Ok(Stmt::Append(Append { level, coordinate, body }))
    }

    fn coiter(&mut self) -> Parsed<Stmt> {
        let name = self.name("a variable")?.to_owned();
        self.sign("=")?;
        let lower = self.index()?;
        self.word("to")?;
        let upper = self.index()?;
        let var = self.bind(name);
        self.hint(var)?;
        let mut cursors: Vec<(String, Cursor)> = Vec::new();
        let mut more = self.token() == Token::Name("over");
        while more {
            self.advance();
            let name = self.name("a variable")?.to_owned();
            self.sign("=")?;
            let start = self.index()?;
            self.word("to")?;
            let end = self.index()?;
            self.word("at")?;
            let position = self.bind(name.clone());
            let place = self.index()?;
            self.scope.pop();
            let step = if self.skip_word("step") { self.integer()? } else { 1 };
            // What the range is made of does not know its variable.
            let var = self.scope.pop();
            let width = if self.skip_word("width") { self.index()? } else { Index::Const(1) };
            self.scope.extend(var);
            let repeats = self.skip_word("repeats");
            let within = self.skip_word("within");
            let above = within || self.skip_word("above");
            let below = within || !above && self.skip_word("below");
            let cursor = Cursor { position, start, end, place, step, width, repeats, above, below };
            cursors.push((name, cursor));
            more = self.token() == Token::Sign(",");
        }
        self.sign("{")?;
        let mut cases = Vec::new();
        while !self.skip("}") {
            self.word("case")?;
            let mut chosen: Vec<usize> = Vec::new();
            while self.token() != Token::Sign("{") {
                if !chosen.is_empty() {
                    self.sign(",")?;
                }
                let at = self.at;
                let name = self.name("a cursor")?.to_owned();
                match cursors.iter().position(|(known, _)| *known == name) {
                    Some(cursor) => chosen.push(cursor),
                    None => {
                        let what = "cursor";
                        return self.error(at, ParseErrorKind::Unknown { what, name });
                    }
                }
            }
            chosen.iter().for_each(|cursor| self.scope.push(cursors[*cursor].1.position));
            let body = self.block()?;
            self.scope.truncate(self.scope.len() - chosen.len());
            cases.push(Case { cursors: chosen, body });
        }
        self.scope.pop();
        let cursors = cursors.into_iter().map(|(_, cursor)| cursor).collect();
        Ok(Stmt::CoIter(CoIter { var, lower, upper, cursors, cases }))
    }

    fn partial(&mut self) -> Parsed<Stmt> {
        let begin = self.name("a variable")?.to_owned();
        self.sign(",")?;
        let end = self.name("a variable")?.to_owned();
        self.sign("=")?;
        let (lower, upper, step) = self.bounds()?;
        self.word("in")?;
        let parts = self.integer()?;
        self.word("if")?;
        let condition = self.condition()?;
        self.word("with")?;
        let buffer = self.buffer()?;
        self.word("as")?;
        let workspace = self.buffer()?;
        self.word("at")?;
        let shift = self.name("a variable")?.to_owned();
        self.word("from")?;
        let base = self.index()?;
        self.word("of")?;
        let extent = self.index()?;
        let [begin, end, shift] = [begin, end, shift].map(|name| self.bind(name));
        let body = self.block()?;
        self.scope.truncate(self.scope.len() - 3);
        self.word("then")?;
        let finish = self.block()?;
        Ok(Stmt::Partial(Partial {
            begin,
            end,
            lower,
            upper,
            step,
            parts,
            condition,
            buffer,
            workspace,
            shift,
            base,
            extent,
            body,
            finish,
        }))
    }

    /// A range; its variable stays in scope until the caller pops it.
    fn range(&mut self) -> Parsed<(VarId, Vec<Index>, Vec<Index>, i64)> {
        let name = self.name("a variable")?;
        self.sign("=")?;
        let (lower, upper, step) = self.bounds()?;
        Ok((self.bind(name.to_owned()), lower, upper, step))
    }

    fn bounds(&mut self) -> Parsed<(Vec<Index>, Vec<Index>, i64)> {
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        flatten_max(&self.index()?, &mut lower);
        self.word("to")?;
        flatten_min(&self.index()?, &mut upper);
        let step = if self.skip_word("step") { self.integer()? } else { 1 };
        Ok((lower, upper, step))
    }

    fn bind(&mut self, name: String) -> VarId {
        let var = VarId(self.vars.len() as u32);
        self.vars.push(name);
        self.scope.push(var);
        var
    }

    fn element(&mut self) -> Parsed<(BufferId, Index)> {
        let buffer = self.buffer()?;
        self.sign("[")?;
        let index = self.index()?;
        self.sign("]")?;
        Ok((buffer, index))
    }

    fn integer(&mut self) -> Parsed<i64> {
        let at = self.at;
        let minus = if self.skip("-") { "-" } else { "" };
        let Token::Integer(digits) = self.token() else { return self.expected("an integer") };
        self.advance();
        let text = format!("{minus}{digits}");
        text.parse().or_else(|_| self.error(at, ParseErrorKind::Integer(text)))
    }

    fn condition(&mut self) -> Parsed<Condition> {
        self.junction("or", Condition::Or, |p| p.junction("and", Condition::And, Self::comparison))
    }

    fn junction(
        &mut self,
        word: &str,
        make: fn(Vec<Condition>) -> Condition,
        item: impl Fn(&mut Self) -> Parsed<Condition>,
    ) -> Parsed<Condition> {
        let first = item(self)?;
        if self.token() != Token::Name(word) {
            return Ok(first);
        }
        let mut list = vec![first];
        while self.skip_word(word) {
            list.push(item(self)?);
        }
        Ok(make(list))
    }

    fn comparison(&mut self) -> Parsed<Condition> {
        if self.skip_word("true") {
            return Ok(Condition::TRUE);
        }
        if self.skip_word("false") {
            return Ok(Condition::FALSE);
        }
        if self.places[self.at].condition && self.skip("(") {
            let inside = self.deeper(Self::condition)?;
            self.sign(")")?;
            return Ok(inside);
        }
        let left = self.index()?;
        let Token::Sign(sign) = self.token() else { return self.expected("a comparison") };
        let Some((_, op)) = COMPARISONS.iter().find(|(known, _)| *known == sign) else {
            return self.expected("a comparison");
        };
        self.advance();
        Ok(Condition::Compare(*op, left, self.index()?))
    }

    fn index(&mut self) -> Parsed<Index> {
        let mut left = self.index_product()?;
        loop {
            if self.skip("+") {
                left = Index::Add(Box::new(left), Box::new(self.index_product()?));
            } else if self.skip("-") {
                left = Index::Sub(Box::new(left), Box::new(self.index_product()?));
            } else {
                return Ok(left);
            }
        }
    }

    fn index_product(&mut self) -> Parsed<Index> {
        let mut left = self.index_atom()?;
        loop {
            if self.skip("*") {
                left = Index::Mul(Box::new(left), Box::new(self.index_atom()?));
            } else if self.skip("/") {
                left = Index::FloorDiv(Box::new(left), self.integer()?);
            } else if self.skip("%") {
                left = Index::Mod(Box::new(left), self.integer()?);
            } else {
                return Ok(left);
            }
        }
    }

    fn index_atom(&mut self) -> Parsed<Index> {
        match self.token() {
            Token::Integer(_) | Token::Sign("-") => Ok(Index::Const(self.integer()?)),
            Token::Sign("(") => {
                self.advance();
                let inside = self.deeper(Self::index)?;
                self.sign(")")?;
                Ok(inside)
            }
            Token::Name(call @ ("exact" | "floor" | "min" | "max" | "select" | "within"))
                if self.after() == Token::Sign("(") =>
            {
                self.advance();
                self.advance();
                let result = self.deeper(|p| p.call(call))?;
                self.sign(")")?;
                Ok(result)
            }
            Token::Name(_) if self.after() == Token::Sign("[") => {
                let (buffer, index) = self.deeper(Self::element)?;
                Ok(Index::Load(buffer, Box::new(index)))
            }
            Token::Name(_) => {
                let at = self.at;
                let name = self.name("an integer expression")?;
                let var = self.scope.iter().rev().find(|var| self.vars[var.0 as usize] == name);
                if let Some(var) = var {
                    return Ok(Index::Var(*var));
                }
                match self.module.find_symbol(name) {
                    Some(symbol) => Ok(Index::Symbol(symbol)),
                    None => {
                        let (what, name) = ("variable or symbol", name.to_owned());
                        self.error(at, ParseErrorKind::Unknown { what, name })
                    }
                }
            }
            _ => self.expected("an integer expression"),
        }
    }

    fn call(&mut self, call: &str) -> Parsed<Index> {
        match call {
            "exact" => {
                let value = self.index()?;
                self.sign(",")?;
                Ok(Index::ExactDiv(Box::new(value), self.integer()?))
            }
            "within" => {
                let index = self.index()?;
                self.sign(",")?;
                let buffer = self.buffer()?;
                self.sign(",")?;
                Ok(Index::Within(Box::new(Within { index, buffer, size: self.index()? })))
            }
            "floor" => {
                let value = self.index()?;
                self.sign(",")?;
                Ok(Index::Quotient(Box::new(value), Box::new(self.index()?)))
            }
            "select" => {
                let condition = self.condition()?;
                self.sign(",")?;
                let then = self.index()?;
                self.sign(",")?;
                Ok(Index::Select(Box::new(condition), Box::new(then), Box::new(self.index()?)))
            }
            _ => {
                let make = if call == "min" { Index::Min } else { Index::Max };
                let mut left = self.index()?;
                while self.skip(",") {
                    left = make(Box::new(left), Box::new(self.index()?));
                }
                Ok(left)
            }
        }
    }

    fn value(&mut self) -> Parsed<Value> {
        let mut left = self.value_product()?;
        while self.skip("+") {
            left = Value::Add(Box::new(left), Box::new(self.value_product()?));
        }
        Ok(left)
    }

    fn value_product(&mut self) -> Parsed<Value> {
        let mut left = self.value_atom()?;
        loop {
            if self.skip("*") {
                left = Value::Mul(Box::new(left), Box::new(self.value_atom()?));
            } else if self.skip("/") {
                left = Value::Div(Box::new(left), Box::new(self.value_atom()?));
            } else {
                return Ok(left);
            }
        }
    }

    fn value_atom(&mut self) -> Parsed<Value> {
        let call = self.after() == Token::Sign("(");
        match self.token() {
            Token::Integer(_) | Token::Float(_) | Token::Sign("-") => self.number(),
            Token::Name("inf" | "nan") if self.after() != Token::Sign("[") => self.number(),
            Token::Sign("(") => {
                self.advance();
                let inside = self.deeper(Self::value)?;
                self.sign(")")?;
                Ok(inside)
            }
            Token::Name("index") if call => {
                self.advance();
                self.advance();
                let inside = self.deeper(Self::index)?;
                self.sign(")")?;
                Ok(Value::FromIndex(inside))
            }
            Token::Name("truth") if call => {
                self.advance();
                self.advance();
                let inside = self.deeper(Self::value)?;
                self.sign(")")?;
                Ok(Value::Truth(Box::new(inside)))
            }
            Token::Name("select") if call => {
                self.advance();
                self.advance();
                let condition = self.deeper(Self::value)?;
                self.sign(",")?;
                let then = self.deeper(Self::value)?;
                self.sign(",")?;
                let otherwise = self.deeper(Self::value)?;
                self.sign(")")?;
                Ok(Value::Select(Box::new([condition, then, otherwise])))
            }
            Token::Name("compare") if call => {
                self.advance();
                self.advance();
                let left = Box::new(self.deeper(Self::value)?);
                let how = self.comparison_sign()?;
                let right = Box::new(self.deeper(Self::value)?);
                self.sign(")")?;
                Ok(Value::Compare(how, left, right))
            }
            Token::Name("cast") if call => {
                self.advance();
                self.advance();
                let element = self.element_type()?;
                self.sign(",")?;
                let inside = self.deeper(Self::value)?;
                self.sign(")")?;
                Ok(Value::Cast(element, Box::new(inside)))
            }
            Token::Name(word) if call && MathFunction::from_name(word).is_some() => {
                self.apply(word)
            }
            Token::Name(word @ ("sum" | "product" | "min" | "max")) if call => {
                self.advance();
                self.advance();
                let (kind, two): (_, fn(_, _) -> _) = match word {
                    "min" => (Reduction::Min, Value::Min),
                    "max" => (Reduction::Max, Value::Max),
                    "product" => (Reduction::Product, Value::Mul),
                    _ => (Reduction::Sum, Value::Add),
                };
                if matches!(kind, Reduction::Min | Reduction::Max)
                    && self.after() != Token::Sign("=")
                {
                    let left = Box::new(self.deeper(Self::value)?);
                    self.sign(",")?;
                    let right = Box::new(self.deeper(Self::value)?);
                    self.sign(")")?;
                    return Ok(two(left, right));
                }
                let (var, lower, upper, step) = self.range()?;
                self.hint(var)?;
                let unroll = if self.skip_word("unroll") { Some(self.integer()?) } else { None };
                let condition = if self.skip_word("if") { Some(self.condition()?) } else { None };
                let mut fetch = Vec::new();
                if self.skip_word("fetch") {
                    fetch.push(self.element()?);
                    while self.skip(",") {
                        fetch.push(self.element()?);
                    }
                }
                self.sign(")")?;
                let body = self.deeper(Self::value_product)?;
                self.scope.pop();
                let sum = Sum { kind, var, lower, upper, step, unroll, condition, fetch, body };
                Ok(Value::Sum(Box::new(sum)))
            }
            Token::Name(_) => {
                let (buffer, index) = self.element()?;
                Ok(Value::Load(buffer, index))
            }
            _ => self.expected("a value"),
        }
    }

    /// A function by its name, of values in parentheses.
    fn apply(&mut self, word: &str) -> Parsed<Value> {
        let Some(function) = MathFunction::from_name(word) else {
            return self.expected("a function");
        };
        self.advance();
        self.advance();
        let mut of = vec![self.deeper(Self::value)?];
        while self.skip(",") {
            of.push(self.deeper(Self::value)?);
        }
        self.sign(")")?;
        Ok(Value::Apply(function, of))
    }

    /// `==`, `<` and the like.
    fn comparison_sign(&mut self) -> Parsed<Compare> {
        let Token::Sign(sign) = self.token() else { return self.expected("a comparison") };
        let Some((_, how)) = COMPARISONS.iter().find(|(known, _)| *known == sign) else {
            return self.expected("a comparison");
        };
        self.advance();
        Ok(*how)
    }

    fn number(&mut self) -> Parsed<Value> {
        let negative = self.skip("-");
        let value = match self.token() {
            Token::Integer(text) | Token::Float(text) => text.parse().ok(),
            Token::Name("inf") => Some(f64::INFINITY),
            Token::Name("nan") => Some(f64::NAN),
            _ => None,
        };
        let Some(value) = value else { return self.expected("a number") };
        self.advance();
        Ok(Value::Const(if negative { -value } else { value }))
    }
}

/// Replaces the number of each call in a list by the function that it calls.
fn name_calls(body: &mut [Stmt], found: &[FunctionId]) {
    for stmt in body {
        if let Stmt::Call(call) = stmt {
            call.function = found[call.function.0 as usize];
        }
        stmt.bodies_mut().into_iter().for_each(|body| name_calls(body, found));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;
    use expect_test::expect;
    use proptest::prelude::*;

    const EXAMPLE: &str = "\
module(N, M, Q)
buffer A : f64[N * M]
buffer B : f32[exact(N * (N + 1), 2)]
buffer s : i64[2]
func kernel(out A, in B) {
  parallel i = 0 to min(N, M) {
    for j = max(i, 3, i / 2) to N step 2 {
      A[i * N + j] = sum(l = 0 to Q) B[l % 4] * B[select(i < j, i, j)]
      A[i * N + j] += -3.5 * (B[0] + 1e-10) / (sum(l = 0 to Q if l % 2 == 0) B[l])
    }
    if i % 2 == 0 and (i < 3 or (i + 1) * 2 > 4) {
      A[i] = inf
    } else if true {
      A[i] = 1.0 + sum(l = i to Q) sum(m = l to Q) 2.0 + 3.0
    } else {
      A[i] = B[i * (i - -2)]
    }
  }
}
func sizes(inout s) {
  s[0] = index(N * M)
  s[1] += index(exact(N * (N + 1), 2))
}
";

    #[test]
    fn example() {
        let module = parse(EXAMPLE).unwrap();
        assert_eq!(module.to_string(), EXAMPLE);
        assert_eq!(module, module.canonical());
        assert_eq!(crate::verify(&module), Ok(()));
    }

    #[test]
    fn spaces_and_levels() {
        let text = "\
module(N)
buffer A : f32[N]
buffer W : f32[16] in scratchpad
func f(out A) {
  parallel(cores) i = 0 to N {
    with W of 16 {
      parallel(lanes) j = 0 to 16 {
        W[j] = 1.0
      }
      A[i] = W[3]
    }
  }
}
";
        let module = parse(text).unwrap();
        assert_eq!(crate::verify(&module), Ok(()));
        assert_eq!(module.to_string(), text);
        let spelled = text.replace("f32[N]", "f32[N] in main");
        assert_eq!(parse(&spelled).unwrap(), module);
    }

    #[test]
    fn errors_name_the_place() {
        let report = |text: &str| parse(text).unwrap_err().to_string();
        let body = |text: &str| {
            report(&format!("module(N)\nbuffer A : f64[N]\nfunc f(out A) {{\n  {text}\n}}\n"))
        };
        let mut all = String::new();
        for text in [
            "",
            "module(N, N)",
            "module(N) what",
            "module()\nbuffer A : f8[2]",
            "module()\nbuffer A : f32[2] in attic",
        ] {
            all += &format!("{}\n", report(text));
        }
        for text in [
            "A[i] = 1.0",
            "B[0] = 1.0",
            "A[0] - 1.0",
            "for i = 0 { }",
            "parallel(moons) i = 0 to N { }",
            "A[99999999999999999999] = 0.0",
            "A[0] = 1.0 + ",
            "A[0] = x",
            "if (N + 1) { }",
            "if N < 3 and { }",
            "A[N / N] = 1.0",
            "A[é] = 1.0",
            "A[0] = 1.0 }\nfunc f() {",
            &format!("A[{}N] = 1.0", "(".repeat(10_000)),
            &format!("A[N] = {}1.0", "sum(l = 0 to N) ".repeat(10_000)),
        ] {
            all += &format!("{}\n", body(text));
        }
        expect![[r#"
            1:1: expected `module`, found the end of the text
            1:11: symbol `N` is defined twice
            1:11: expected `buffer` or `func`, found `what`
            2:12: expected an element type such as `f64`, found `f8`
            2:22: expected a memory space, found `attic`
            4:5: unknown variable or symbol `i`
            4:3: unknown buffer `B`
            4:8: expected `=` or `+=`, found `-`
            4:13: expected `to`, found `{`
            4:12: expected a level of parallelism, found `moons`
            4:5: the integer 99999999999999999999 does not fit 64 bits
            5:1: expected a value, found `}`
            4:10: unknown buffer `x`
            4:14: expected a comparison, found `{`
            4:16: expected an integer expression, found `{`
            4:9: expected an integer, found `N`
            4:5: expected an integer expression, found `é`
            5:6: function `f` is defined twice
            4:255: nested more than 250 deep
            4:4010: nested more than 250 deep
        "#]]
        .assert_eq(&all);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn printed_modules_read_back(seed: u64) {
            let module = random::module(seed, random::Style::Anything);
            let text = module.to_string();
            let parsed = parse(&text).unwrap();
            prop_assert_eq!(&parsed, &module.canonical(), "{}", text);
            prop_assert_eq!(parsed.to_string(), text);
        }

        #[test]
        fn no_text_panics(text in "(module\\(N\\)|buffer|func|for|if|sum|\\(|\\)|A|\\[|\\]|=|\\+|é|[0-9.e]|\n\
            | ){0,40}") {
            let _ = parse(&text);
        }
    }
}
