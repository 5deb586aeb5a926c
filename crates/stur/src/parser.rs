//! From tokens to the syntax tree.
//!
//! Any text is accepted: each line gives an item or one error, and reading goes on with the next line. A line goes on after a line
//! end inside parentheses, unless what follows begins an item of its own (so that one missing parenthesis spoils one line).
//!
//! Terms and integer expressions share their beginnings: `(i + 1) * 2 <= j` against `(A(i) + b()) * 2`. Both are read into one
//! `Node` tree first, and become a [`Term`] or an [`Expr`] when their place is known.

use crate::ast::{
    Aspect, BinaryOp, CompareOp, Comparison, Expr, ExprKind, File, Item, IterationOrder, Name,
    RuleItem, Span, Term,
};
use crate::diagnostic::Diagnostic;
use crate::hint;
use crate::lexer::{Token, TokenKind, lex};

/// Parentheses and signs within each other; bounds the recursion of everything that walks a tree.
const MAX_NESTING: usize = 64;
/// Operators in one integer expression; bounds the height of its tree, which leans to the left.
const MAX_OPERATORS: usize = 256;

type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// Reads a file. Lines with errors are left out of the result.
pub fn parse(source: &str) -> (File, Vec<Diagnostic>) {
    let (tokens, mut diagnostics) = lex(source);
    let mut file = File::default();
    for line in lines(&tokens) {
        if line.iter().any(|token| token.kind == TokenKind::Invalid) {
            continue; // reported by the lexer
        }
        let tokens: Vec<Token> =
            line.iter().filter(|token| token.kind != TokenKind::Newline).cloned().collect();
        let Some(last) = tokens.last() else { continue };
        let end = Span::new(last.span.end, last.span.end);
        let mut parser = Parser { tokens: &tokens, at: 0, end, nesting: 0, warnings: Vec::new() };
        let item = parser.item();
        diagnostics.append(&mut parser.warnings);
        match item {
            Ok(item) => file.items.push(item),
            Err(error) => diagnostics.push(*error),
        }
    }
    diagnostics.sort_by_key(|d| d.labels.first().map_or(0, |(span, _)| span.start));
    (file, diagnostics)
}

/// Groups tokens into logical lines.
fn lines(tokens: &[Token]) -> Vec<&[Token]> {
    let mut lines = Vec::new();
    let (mut start, mut open) = (0, 0usize);
    for (k, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Mark("(") => open += 1,
            TokenKind::Mark(")") => open = open.saturating_sub(1),
            TokenKind::Newline if open == 0 || begins_item(&tokens[k + 1..]) => {
                lines.push(&tokens[start..k]);
                (start, open) = (k + 1, 0);
            }
            _ => {}
        }
    }
    lines.push(&tokens[start..]);
    lines
}

/// Whether the next line with tokens is an item: `@..`, `word: ..`, or anything with `:=`.
fn begins_item(tokens: &[Token]) -> bool {
    let blank = tokens.iter().take_while(|token| token.kind == TokenKind::Newline).count();
    let line = &tokens[blank..];
    let length = line.iter().take_while(|token| token.kind != TokenKind::Newline).count();
    let line = &line[..length];
    line.first().is_some_and(|token| token.is("@"))
        || line.get(1).is_some_and(|token| token.is(":"))
        || line.iter().any(|token| token.is(":="))
}

/// A term or an integer expression, before its place decides which.
#[derive(Debug)]
struct Node {
    kind: NodeKind,
    span: Span,
}

#[derive(Debug)]
enum NodeKind {
    Number {
        text: String,
        reciprocal: bool,
    },
    Name(String),
    Call {
        tensor: Name,
        arguments: Vec<Node>,
        reciprocal: bool,
    },
    Neg(Box<Node>),
    /// `first op node op node`, operators of one rank.
    Chain(Box<Node>, Vec<(BinaryOp, Node)>),
    Compare(Vec<Node>, Vec<CompareOp>),
    Paren(Box<Node>),
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    /// Just after the last token.
    end: Span,
    nesting: usize,
    warnings: Vec<Diagnostic>,
}

fn error(
    code: &'static str,
    message: impl Into<String>,
    span: Span,
    label: &str,
) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(code, message, span, label))
}

fn with_hint(error: Box<Diagnostic>, hint: impl Into<String>) -> Box<Diagnostic> {
    Box::new(error.hint(hint))
}

/// A token as a message shows it.
fn describe(token: Option<&Token>) -> String {
    match token.map(|token| &token.kind) {
        None => "the end of the line".into(),
        Some(TokenKind::Name(text) | TokenKind::Number(text)) => format!("`{text}`"),
        Some(TokenKind::Mark(mark)) => format!("`{mark}`"),
        Some(TokenKind::Newline | TokenKind::Invalid) => "nothing readable".into(),
    }
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn nth(&self, offset: usize) -> Option<&Token> {
        self.tokens.get(self.at + offset)
    }

    fn is(&self, mark: &str) -> bool {
        self.peek().is_some_and(|token| token.is(mark))
    }

    fn nth_is(&self, offset: usize, mark: &str) -> bool {
        self.nth(offset).is_some_and(|token| token.is(mark))
    }

    fn nth_name(&self, offset: usize) -> Option<&str> {
        match self.nth(offset).map(|token| &token.kind) {
            Some(TokenKind::Name(name)) => Some(name),
            _ => None,
        }
    }

    fn span(&self) -> Span {
        self.peek().map_or(self.end, |token| token.span)
    }

    /// The span of what was read last.
    fn previous(&self) -> Span {
        self.at.checked_sub(1).and_then(|k| self.tokens.get(k)).map_or(self.end, |token| token.span)
    }

    fn eat(&mut self, mark: &str) -> bool {
        let found = self.is(mark);
        self.at += usize::from(found);
        found
    }

    fn expected(&self, what: &str) -> Box<Diagnostic> {
        let message = format!("expected {what}, found {}", describe(self.peek()));
        error("E0003", message, self.span(), &format!("expected {what}"))
    }

    fn expect(&mut self, mark: &str) -> Result<()> {
        if self.eat(mark) { Ok(()) } else { Err(self.expected(&format!("`{mark}`"))) }
    }

    fn name(&mut self, what: &str) -> Result<Name> {
        match self.peek() {
            Some(Token { kind: TokenKind::Name(text), span }) => {
                let name = Name { text: text.clone(), span: *span };
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.expected(what)),
        }
    }

    fn names(&mut self, what: &str) -> Result<Vec<Name>> {
        let mut names = vec![self.name(what)?];
        while self.eat(",") {
            names.push(self.name(what)?);
        }
        Ok(names)
    }

    fn finish(&self) -> Result<()> {
        if self.peek().is_none() { Ok(()) } else { Err(self.expected("the end of the line")) }
    }

    fn item(&mut self) -> Result<Item> {
        let whole = self.span().to(self.end);
        if self.eat("@") {
            return self.block(whole);
        }
        let assigns = self.tokens.iter().any(|token| token.is(":="));
        if self.nth_name(0).is_some() && self.nth_is(1, ":") {
            if assigns && self.nth_name(2) == Some("F") {
                return Err(Box::new(
                    Diagnostic::unsupported(
                        "storage formats (`:F`)",
                        whole,
                        "a dynamically sparse tensor",
                    )
                    .hint("describe a structure that is known beforehand with `:U` and `:R`"),
                ));
            }
            if !assigns && !self.nth_is(3, "(") {
                return self.directive(whole);
            }
        }
        self.rule(whole).map(Item::Rule)
    }

    fn block(&mut self, whole: Span) -> Result<Item> {
        let name = self.name("`preprocess_start` or `preprocess_end`")?;
        let item = match name.text.as_str() {
            "preprocess_start" => Item::PreprocessStart(whole),
            "preprocess_end" => Item::PreprocessEnd(whole),
            other => {
                let unknown = format!("unknown block mark `@{other}`");
                let error = error("E0008", unknown, whole, "not a block mark");
                return Err(with_hint(
                    error,
                    "blocks are `@preprocess_start` and `@preprocess_end`",
                ));
            }
        };
        self.finish()?;
        Ok(item)
    }

    fn directive(&mut self, whole: Span) -> Result<Item> {
        let word = self.name("a directive")?;
        self.expect(":")?;
        let item = match word.text.as_str() {
            "symbols" => Item::Symbols(self.names("the name of a symbol")?, whole),
            "outputs" => Item::Outputs(self.names("the name of a tensor")?, whole),
            "iters" => {
                let mut orders = vec![self.iteration_order()?];
                while self.eat(";") && self.peek().is_some() {
                    orders.push(self.iteration_order()?);
                }
                Item::Iters(orders, whole)
            }
            "types" => {
                return Err(Box::new(
                    Diagnostic::unsupported(
                        "element types (`types:`)",
                        whole,
                        "all elements are f64",
                    )
                    .hint("remove this line"),
                ));
            }
            "schedule" => {
                return Err(Box::new(
                    Diagnostic::unsupported(
                        "schedules (`schedule:`)",
                        whole,
                        "chosen automatically",
                    )
                    .hint("remove this line; `iters:` gives a loop order"),
                ));
            }
            other => {
                let known = ["symbols", "outputs", "iters"];
                let mut error = *error(
                    "E0008",
                    format!("unknown directive `{other}:`"),
                    word.span,
                    "not a directive",
                );
                error = match hint::similar(other, known) {
                    Some(close) => error.hint(format!("did you mean `{close}:`?")),
                    None => error.hint(
                        "directives are `symbols:`, `outputs:` and `iters:`; a rule has `:=`",
                    ),
                };
                return Err(Box::new(error));
            }
        };
        self.finish()?;
        Ok(item)
    }

    fn iteration_order(&mut self) -> Result<IterationOrder> {
        let head = self.name("the name of a tensor")?;
        self.expect("->")?;
        Ok(IterationOrder { head, iterators: self.names("an iterator")? })
    }

    fn rule(&mut self, whole: Span) -> Result<RuleItem> {
        let tensor = self.name("a rule such as `A(i) := B(i)`")?;
        if self.is("^") {
            let error =
                error("E0011", "a reciprocal cannot be computed into", self.span(), "in a head");
            return Err(with_hint(error, "put the `^-1` on the right-hand side"));
        }
        let aspect = if self.eat(":") { self.aspect()? } else { Aspect::Value };
        if !self.eat("(") {
            let error = self.expected("`(`");
            return Err(match tensor.text.as_str() {
                word @ ("symbols" | "outputs" | "iters") => {
                    with_hint(error, format!("a directive has a colon: `{word}: ..`"))
                }
                _ => with_hint(
                    error,
                    "a rule is `head := sum of products`; the head of a scalar is `s()`",
                ),
            });
        }
        let arguments = self.arguments()?;
        let iterators =
            arguments.into_iter().map(|node| self.head_iterator(node)).collect::<Result<_>>()?;
        if !self.eat(":=") {
            let error = error(
                "E0012",
                format!("expected `:=` after the head, found {}", describe(self.peek())),
                self.span(),
                "expected `:=`",
            );
            return Err(with_hint(error, "a rule is `head := sum of products`"));
        }
        let node = self.comparison()?;
        self.end_of_rule(&node)?;
        let body = self.term(node)?;
        Ok(RuleItem { tensor, aspect, iterators, body, span: whole })
    }

    fn aspect(&mut self) -> Result<Aspect> {
        let span = self.span();
        let aspect = match self.nth_name(0) {
            Some("D") => Aspect::Domain,
            Some("U") => Aspect::Unique,
            Some("R") => Aspect::Redundancy,
            _ => {
                let found = describe(self.peek());
                let error =
                    error("E0003", format!("{found} is not a kind of structure"), span, "unknown");
                return Err(with_hint(
                    error,
                    "`:D` gives the dimensions, `:U` the unique set, `:R` the redundancy map",
                ));
            }
        };
        self.at += 1;
        Ok(aspect)
    }

    fn head_iterator(&self, node: Node) -> Result<Name> {
        match node.kind {
            NodeKind::Name(text) => Ok(Name { text, span: node.span }),
            _ => Err(with_hint(
                error("E0011", "a head's subscripts are iterators", node.span, "not an iterator"),
                "use a new iterator and say what it is: `A(i, j) := B(i) * (j = 0)`",
            )),
        }
    }

    /// After a complete right-hand side.
    fn end_of_rule(&self, node: &Node) -> Result<()> {
        let Some(token) = self.peek() else { return Ok(()) };
        if let Some(call) = last_call(node)
            && matches!(call, "max" | "min" | "or" | "and" | "any" | "all" | "sum" | "prod")
        {
            let what = format!("reductions other than sums (`{call}(..)`)");
            return Err(Box::new(Diagnostic::unsupported(
                what,
                node.span,
                "stands before a product",
            )));
        }
        let error = self.expected("an operator or the end of the line");
        Err(match &token.kind {
            TokenKind::Mark(")") => with_hint(error, "there is a `)` too many"),
            TokenKind::Mark("^") => {
                with_hint(error, "a reciprocal is written at the name: `A^-1(i)`")
            }
            TokenKind::Name(_) | TokenKind::Number(_) | TokenKind::Mark("(") => {
                with_hint(error, "factors are joined with `*`, summands with `+`")
            }
            _ => error,
        })
    }

    fn comparison(&mut self) -> Result<Node> {
        let first = self.sum()?;
        let (mut operands, mut operators) = (vec![first], Vec::new());
        loop {
            let operator = match self.peek().map(|token| &token.kind) {
                Some(TokenKind::Mark("=" | "==")) => CompareOp::Eq,
                Some(TokenKind::Mark("!=")) => CompareOp::Ne,
                Some(TokenKind::Mark("<")) => CompareOp::Lt,
                Some(TokenKind::Mark("<=")) => CompareOp::Le,
                Some(TokenKind::Mark(">")) => CompareOp::Gt,
                Some(TokenKind::Mark(">=")) => CompareOp::Ge,
                _ => break,
            };
            self.at += 1;
            operators.push(operator);
            operands.push(self.sum()?);
        }
        let first = operands.swap_remove(0);
        if operators.is_empty() {
            return Ok(first);
        }
        operands.push(first);
        let last = operands.len() - 1;
        operands.swap(0, last);
        let span = operands[0].span.to(operands[last].span);
        Ok(Node { kind: NodeKind::Compare(operands, operators), span })
    }

    fn sum(&mut self) -> Result<Node> {
        self.chain(&[("+", BinaryOp::Add), ("-", BinaryOp::Sub)], Parser::product)
    }

    fn product(&mut self) -> Result<Node> {
        self.chain(&[("*", BinaryOp::Mul), ("/", BinaryOp::Div)], Parser::remainder)
    }

    /// `%` binds tighter than `*` and `/`, as in the published implementation.
    fn remainder(&mut self) -> Result<Node> {
        let before = self.at.checked_sub(1).and_then(|k| self.tokens.get(k));
        let after = before.and_then(|token| ["*", "/"].into_iter().find(|mark| token.is(mark)));
        let node = self.chain(&[("%", BinaryOp::Mod)], Parser::unary)?;
        if let (NodeKind::Chain(..), Some(mark)) = (&node.kind, after) {
            let mut warning = Diagnostic::error(
                "W0105",
                format!("`%` binds tighter than `{mark}` here"),
                node.span,
                "computed first",
            );
            warning.severity = crate::diagnostic::Severity::Warning;
            self.warnings.push(warning.hint("write parentheses to say which is meant"));
        }
        Ok(node)
    }

    fn chain(
        &mut self,
        marks: &[(&str, BinaryOp)],
        operand: fn(&mut Self) -> Result<Node>,
    ) -> Result<Node> {
        let first = operand(self)?;
        let mut rest = Vec::new();
        while let Some((mark, op)) = marks.iter().find(|(mark, _)| self.is(mark)) {
            self.eat(mark);
            rest.push((*op, operand(self)?));
        }
        let Some((_, last)) = rest.last() else { return Ok(first) };
        let span = first.span.to(last.span);
        Ok(Node { kind: NodeKind::Chain(Box::new(first), rest), span })
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nesting == MAX_NESTING {
            return Err(error(
                "E0005",
                format!("nested deeper than {MAX_NESTING} levels"),
                self.previous(),
                "one level too many",
            ));
        }
        self.nesting += 1;
        let result = read(self);
        self.nesting -= 1;
        result
    }

    fn unary(&mut self) -> Result<Node> {
        let sign = self.span();
        if !self.is("-") {
            return self.atom();
        }
        self.at += 1;
        if let Some(TokenKind::Number(text)) = self.peek().map(|token| &token.kind) {
            let text = format!("-{text}");
            return self.number(text, sign);
        }
        let inner = self.nested(Parser::unary)?;
        let span = sign.to(inner.span);
        Ok(Node { kind: NodeKind::Neg(Box::new(inner)), span })
    }

    /// The token is a number; `text` has its sign too.
    fn number(&mut self, text: String, start: Span) -> Result<Node> {
        self.at += 1;
        let reciprocal = self.reciprocal()?;
        let span = start.to(self.previous());
        Ok(Node { kind: NodeKind::Number { text, reciprocal }, span })
    }

    /// `^-1`, if it is next.
    fn reciprocal(&mut self) -> Result<bool> {
        let start = self.span();
        if !self.eat("^") {
            return Ok(false);
        }
        let minus_one = self.eat("-")
            && matches!(self.peek().map(|token| &token.kind), Some(TokenKind::Number(one)) if one == "1");
        if !minus_one {
            let error = error(
                "E0003",
                "only the power `^-1` exists",
                start.to(self.span()),
                "another power",
            );
            return Err(with_hint(error, "write a positive power as a product: `x() * x()`"));
        }
        self.at += 1;
        Ok(true)
    }

    fn atom(&mut self) -> Result<Node> {
        let start = self.span();
        match self.peek().map(|token| token.kind.clone()) {
            Some(TokenKind::Number(text)) => self.number(text, start),
            Some(TokenKind::Name(text)) => {
                self.at += 1;
                let reciprocal = self.reciprocal()?;
                if self.is(":") {
                    return Err(Box::new(
                        Diagnostic::unsupported(
                            "the structure of another tensor in a rule",
                            start.to(self.nth(1).map_or(self.span(), |token| token.span)),
                            "a structure, not a value",
                        )
                        .hint("repeat its comparisons here"),
                    ));
                }
                if self.eat("(") {
                    let arguments = self.nested(Parser::arguments)?;
                    let span = start.to(self.previous());
                    let tensor = Name { text, span: start };
                    return Ok(Node {
                        kind: NodeKind::Call { tensor, arguments, reciprocal },
                        span,
                    });
                }
                if reciprocal {
                    let error = self.expected("`(` after a reciprocal");
                    return Err(with_hint(error, format!("a scalar is written `{text}^-1()`")));
                }
                Ok(Node { kind: NodeKind::Name(text), span: start })
            }
            Some(TokenKind::Mark("(")) => {
                self.at += 1;
                let inner = self.nested(Parser::comparison)?;
                self.close(start)?;
                if self.is("^") {
                    let error = error(
                        "E0003",
                        "`^-1` stands at a name or a number",
                        self.span(),
                        "after a group",
                    );
                    return Err(with_hint(
                        error,
                        "compute the group by a rule of its own: `T(i) := ..`",
                    ));
                }
                let span = start.to(self.previous());
                Ok(Node { kind: NodeKind::Paren(Box::new(inner)), span })
            }
            _ => Err(self.expected("a tensor, a number or `(`")),
        }
    }

    /// After `(`: `a, b)`.
    fn arguments(&mut self) -> Result<Vec<Node>> {
        let open = self.previous();
        let mut arguments = Vec::new();
        if self.eat(")") {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.sum()?);
            if !self.eat(",") {
                break;
            }
        }
        self.close(open)?;
        Ok(arguments)
    }

    fn close(&mut self, open: Span) -> Result<()> {
        if self.eat(")") {
            return Ok(());
        }
        if self.peek().is_none() {
            return Err(Box::new(
                error("E0004", "unclosed parenthesis", open, "opened here")
                    .label(self.end, "expected `)`"),
            ));
        }
        Err(Box::new(self.expected("`)`").label(open, "opened here")))
    }

    /// A node where a term stands.
    fn term(&self, node: Node) -> Result<Term> {
        let span = node.span;
        match node.kind {
            NodeKind::Paren(inner) => self.term(*inner),
            NodeKind::Call { tensor, arguments, reciprocal } => {
                let subscripts = arguments.into_iter().map(expression).collect::<Result<_>>()?;
                Ok(Term::Access { tensor, subscripts, reciprocal, span })
            }
            NodeKind::Number { text, reciprocal } => {
                let value: f64 = text.parse().unwrap_or(f64::INFINITY);
                if !value.is_finite() {
                    return Err(error(
                        "E0007",
                        format!("`{text}` is too large"),
                        span,
                        "beyond 64-bit floats",
                    ));
                }
                Ok(Term::Number { value, reciprocal, span })
            }
            NodeKind::Neg(inner) => match self.term(*inner)? {
                Term::Number { value, reciprocal, .. } => {
                    Ok(Term::Number { value: -value, reciprocal, span })
                }
                _ => {
                    let error = error("E0010", "only numbers have a sign", span, "negated");
                    Err(with_hint(error, "multiply by -1: `(-1) * A(i)`"))
                }
            },
            NodeKind::Name(name) => {
                let message = format!("`{name}` is not a factor by itself");
                let error = error("E0009", message, span, "an iterator or a symbol");
                Err(with_hint(
                    error,
                    format!("a symbol or scalar is written `{name}()`; a tensor `{name}(i)`"),
                ))
            }
            NodeKind::Compare(operands, operators) => {
                let operands = operands.into_iter().map(expression).collect::<Result<_>>()?;
                Ok(Term::Comparison(Comparison { operands, operators, span }))
            }
            NodeKind::Chain(first, rest) => {
                let sum = matches!(rest[0].0, BinaryOp::Add | BinaryOp::Sub);
                let mut terms = vec![self.term(*first)?];
                for (op, node) in rest {
                    let span = node.span;
                    let hint = match op {
                        BinaryOp::Add | BinaryOp::Mul => {
                            terms.push(self.term(node)?);
                            continue;
                        }
                        BinaryOp::Sub => "subtract by adding: `A(i) + (-1) * B(i)`",
                        BinaryOp::Div => "divide by multiplying: `A(i) * B^-1(i)`",
                        BinaryOp::Mod => "remainders are for integers in comparisons",
                    };
                    let error =
                        error("E0010", format!("tensors have no `{op}`"), span, "right operand");
                    return Err(with_hint(error, hint));
                }
                Ok(if sum { Term::Sum(terms, span) } else { Term::Product(terms, span) })
            }
        }
    }
}

/// The last factor of the last summand, if it is `name(..)`.
fn last_call(node: &Node) -> Option<&str> {
    match &node.kind {
        NodeKind::Call { tensor, .. } => Some(&tensor.text),
        NodeKind::Chain(_, rest) => last_call(&rest.last()?.1),
        _ => None,
    }
}

/// A node where an integer expression stands.
fn expression(node: Node) -> Result<Expr> {
    integer(node, &mut 0)
}

fn integer(node: Node, operators: &mut usize) -> Result<Expr> {
    let span = node.span;
    let kind = match node.kind {
        NodeKind::Paren(inner) => return integer(*inner, operators),
        NodeKind::Name(name) => ExprKind::Name(name),
        NodeKind::Number { text, reciprocal } => {
            if reciprocal || !text.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
                return Err(error(
                    "E0009",
                    "subscripts and comparisons are of integers",
                    span,
                    "not an integer",
                ));
            }
            match text.parse() {
                Ok(value) => ExprKind::Int(value),
                Err(_) => {
                    let message = format!("the integer `{text}` is too large");
                    return Err(error("E0006", message, span, "beyond 64 bits"));
                }
            }
        }
        NodeKind::Neg(inner) => ExprKind::Neg(Box::new(integer(*inner, operators)?)),
        NodeKind::Chain(first, rest) => {
            let mut left = integer(*first, operators)?;
            for (op, node) in rest {
                *operators += 1;
                if *operators > MAX_OPERATORS {
                    return Err(error(
                        "E0005",
                        format!("more than {MAX_OPERATORS} operators in one expression"),
                        span,
                        "too long",
                    ));
                }
                let right = integer(node, operators)?;
                let span = left.span.to(right.span);
                left = Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), span };
            }
            return Ok(left);
        }
        NodeKind::Call { tensor, .. } => {
            let message = format!("a tensor (`{}`) in an integer expression", tensor.text);
            let error = error("E0009", message, span, "not an integer");
            return Err(with_hint(
                error,
                "as a factor, a comparison stands in parentheses: `A(i) * (i < N)`",
            ));
        }
        NodeKind::Compare(..) => {
            let error =
                error("E0009", "a comparison within an integer expression", span, "not an integer");
            return Err(with_hint(
                error,
                "put each comparison in parentheses of its own: `(i < j) * (j < N)`",
            ));
        }
    };
    Ok(Expr { kind, span })
}
