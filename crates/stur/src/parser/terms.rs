//! Right-hand sides. Terms and integer expressions share their beginnings: `(i + 1) * 2 <= j` against
//! `(A(i) + b()) * 2`. Both are read into one [`Node`] tree first, and become a [`Term`] or an [`Expr`] when their
//! place is known.

use super::node::{Node, NodeKind, POS, Quantifier};
use super::statistics::reduced;
use super::values::{
    divide, floor, has_comparison, is_value, larger, negated, quotient, remainder,
};
use super::{Parser, Result, error, sums, tails, with_hint, words};
use crate::ast::{BinaryOp, CompareOp, Comparison, Expr, ExprKind, Name, ReduceOp, Span, Term};
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind;

/// The depth of nested parentheses and signs, which bounds the recursion of every function that walks a tree.
const MAX_NESTING: usize = 64;
/// The number of operators in one integer expression, which bounds the height of its tree: it leans to the left.
const MAX_OPERATORS: usize = 256;
/// Factors of one product.
const MAX_FACTORS: usize = 2048;

impl Parser<'_> {
    /// A comparison, or several that are joined by words: `a and b` is `(a) * (b)`, and `a or b` is the larger one.
    pub(super) fn whole(&mut self) -> Result<Node> {
        let mut node = self.both()?;
        while self.nth_name(0) == Some("or") {
            self.at += 1;
            let other = self.both()?;
            self.warn_of_strays(&[&node, &other]);
            let span = node.span.to(other.span);
            node = Node { kind: NodeKind::Either(Box::new(node), Box::new(other)), span };
        }
        Ok(node)
    }

    fn both(&mut self) -> Result<Node> {
        let first = self.comparison()?;
        let mut rest = Vec::new();
        while self.nth_name(0) == Some("and") {
            self.at += 1;
            rest.push((BinaryOp::Mul, self.comparison()?));
        }
        let Some((_, last)) = rest.last() else { return Ok(first) };
        let span = first.span.to(last.span);
        let all: Vec<&Node> =
            std::iter::once(&first).chain(rest.iter().map(|(_, node)| node)).collect();
        self.warn_of_strays(&all);
        Ok(Node { kind: NodeKind::Chain(Box::new(first), rest), span })
    }

    pub(super) fn comparison(&mut self) -> Result<Node> {
        // `not a(i) > 1` is `not(a(i) > 1)`, as in Python.
        let follows = matches!(
            self.nth(1).map(|token| &token.kind),
            Some(TokenKind::Name(_) | TokenKind::Number(_))
        );
        if self.nth_name(0) == Some("not") && follows && !self.heads.contains("not") {
            let start = self.span();
            self.at += 1;
            let inner = self.nested(Parser::comparison)?;
            let span = start.to(inner.span);
            let tensor = Name { text: "not".into(), span: start };
            let kind = NodeKind::Call { tensor, arguments: vec![inner], reciprocal: false };
            return Ok(Node { kind, span });
        }
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
        self.warn_of_strays(&operands.iter().collect::<Vec<_>>());
        if let Some(factor) = masked_operand(&operands[last]) {
            let message = "a comparison is a factor of what is compared";
            let warning = Diagnostic::warning("W0105", message, factor, "part of the right side");
            self.warnings.push(warning.hint(
                "to restrict what is compared, put the comparison of values in parentheses: `(A(i) > B(i)) * (i < N)`",
            ));
        }
        let span = operands[0].span.to(operands[last].span);
        let operands = operands.into_iter().map(|node| self.rounded(node)).collect();
        Ok(Node { kind: NodeKind::Compare(operands, operators), span })
    }

    fn sum(&mut self) -> Result<Node> {
        let marks = [("+", BinaryOp::Add), ("-", BinaryOp::Sub)];
        let node = self.chain(&marks, Parser::product)?;
        if let NodeKind::Chain(first, rest) = &node.kind
            && sums::is_sum(&node)
        {
            let all: Vec<&Node> =
                std::iter::once(&**first).chain(rest.iter().map(|(_, node)| node)).collect();
            self.warn_of_strays(&all);
        }
        Ok(tails::summands(node))
    }

    /// Warns of what stands behind a statistic and has an iterator of it.
    fn warn_of_strays(&mut self, parts: &[&Node]) {
        for stray in tails::strays(parts) {
            let name = &stray.iterator.text;
            if self.iterators.contains(name) {
                continue;
            }
            let text = |span: Span| &self.source[span.start..span.end];
            let (statistic, summand) = (text(stray.reduction), text(stray.summand));
            let message =
                format!("`{summand}` is not part of `{statistic}`, and has its iterator `{name}`");
            let label = "an iterator of its own";
            let warning = Diagnostic::warning("W0111", message, stray.summand, label)
                .label(stray.reduction, "of the product that follows");
            self.warnings.push(warning.hint(format!(
                "write `{statistic} (..)` for all of it, or `({statistic} ..)` to say that this is meant"
            )));
        }
    }

    fn product(&mut self) -> Result<Node> {
        let marks = [("*", BinaryOp::Mul), ("/", BinaryOp::Div)];
        let mut node = self.chain(&marks, Parser::remainder)?;
        while self.eat("//") {
            let divisor = self.remainder()?;
            let span = node.span.to(divisor.span);
            node = Node { kind: NodeKind::Floor(Box::new(node), Box::new(divisor)), span };
            node = self.chain_from(node, &marks, Parser::remainder)?;
        }
        tails::factors(&mut node);
        Ok(node)
    }

    /// `%` binds tighter than `*` and `/`, as in the published implementation.
    fn remainder(&mut self) -> Result<Node> {
        let before = self.at.checked_sub(1).and_then(|k| self.tokens.get(k));
        let after =
            before.and_then(|token| ["*", "/", "//"].into_iter().find(|mark| token.is(mark)));
        let node = self.chain(&[("%", BinaryOp::Mod)], Parser::unary)?;
        if let (NodeKind::Chain(..), Some(mark)) = (&node.kind, after) {
            let warning = Diagnostic::warning(
                "W0105",
                format!("`%` binds tighter than `{mark}` here"),
                node.span,
                "computed first",
            );
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
        self.chain_from(first, marks, operand)
    }

    fn chain_from(
        &mut self,
        first: Node,
        marks: &[(&str, BinaryOp)],
        operand: fn(&mut Self) -> Result<Node>,
    ) -> Result<Node> {
        let mut rest = Vec::new();
        while let Some((mark, op)) = marks.iter().find(|(mark, _)| self.is(mark)) {
            if rest.len() >= MAX_FACTORS && matches!(op, BinaryOp::Mul | BinaryOp::Div) {
                let message = format!("more than {MAX_FACTORS} factors in one product");
                let error = error("E0005", message, self.span(), "one too many");
                return Err(with_hint(error, "compute parts of it by rules of their own"));
            }
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
        if self.is("+") {
            self.at += 1;
            return self.nested(Parser::unary);
        }
        let sign = self.span();
        if !self.is("-") {
            return self.powers();
        }
        self.at += 1;
        if let Some(TokenKind::Number(text)) = self.peek().map(|token| &token.kind)
            && (!self.nth_is(1, "^") || self.nth_is(2, "-"))
        {
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
        let reciprocal = self.reciprocal();
        let span = start.to(self.previous());
        Ok(Node { kind: NodeKind::Number { text, reciprocal }, span })
    }

    /// `^-1`, if it is next.
    fn reciprocal(&mut self) -> bool {
        let is_one = matches!(self.nth(2).map(|token| &token.kind), Some(TokenKind::Number(one)) if one == "1");
        let found = self.is("^") && self.nth_is(1, "-") && is_one;
        self.at += if found { 3 } else { 0 };
        found
    }

    /// An atom with its powers: `A(i)^2`, `(A(i) + 1)^-1`.
    fn powers(&mut self) -> Result<Node> {
        let mut node = self.atom()?;
        while self.is("^") {
            self.at += 1;
            let exponent = self.nested(Parser::unary)?;
            let span = node.span.to(exponent.span);
            node = Node { kind: NodeKind::Power(Box::new(node), Box::new(exponent)), span };
        }
        Ok(node)
    }

    fn atom(&mut self) -> Result<Node> {
        let start = self.span();
        match self.peek().map(|token| token.kind.clone()) {
            Some(TokenKind::Number(text)) => self.number(text, start),
            Some(TokenKind::Name(text)) => {
                if let Some((reduction, quantifier)) = self.reduction()? {
                    let of_truth = quantifier.is_of_truth() || reduction.operator == ReduceOp::Or;
                    let body = self.nested(match (of_truth, quantifier.is_of_all()) {
                        (true, _) => Parser::whole,
                        (false, true) => Parser::sum,
                        (false, false) => Parser::product,
                    })?;
                    let body = tails::reduced(body);
                    let span = start.to(body.span);
                    let kind = NodeKind::Reduced(reduction, quantifier, Box::new(body));
                    return Ok(Node { kind, span });
                }
                self.at += 1;
                let text = match text.as_str() {
                    "pos" if self.is("(") && !self.heads.contains("pos") => POS.into(),
                    _ => text,
                };
                let reciprocal = self.reciprocal();
                if self.is(":") {
                    let span = start.to(self.nth(1).map_or(self.span(), |token| token.span));
                    let message = "a structure on the right-hand side";
                    let error = error("E0003", message, span, "a set, not a value");
                    return Err(with_hint(error, "repeat its comparisons here"));
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
                let span = start.to(self.previous());
                if reciprocal {
                    let tensor = Name { text, span: start };
                    let kind = NodeKind::Call { tensor, arguments: Vec::new(), reciprocal };
                    return Ok(Node { kind, span });
                }
                Ok(Node { kind: NodeKind::Name(text), span })
            }
            Some(TokenKind::Mark("(")) => {
                self.at += 1;
                let inner = self.nested(Parser::whole)?;
                self.close(start)?;
                let span = start.to(self.previous());
                Ok(Node { kind: NodeKind::Paren(Box::new(inner)), span })
            }
            Some(TokenKind::Mark(":")) => Err(with_hint(
                self.expected("a tensor, a number or `(`"),
                "a dimension has an iterator: `y(i) := A(i, j) * x(j)` adds up over all `j`",
            )),
            Some(TokenKind::Mark(">")) if self.at > 0 && self.tokens[self.at - 1].is("<") => {
                Err(with_hint(self.expected("a tensor, a number or `(`"), "unequal is `!=`"))
            }
            _ => Err(self.expected("a tensor, a number or `(`")),
        }
    }

    /// After `(`: `a, b)`.
    pub(super) fn arguments(&mut self) -> Result<Vec<Node>> {
        let open = self.previous();
        let mut arguments = Vec::new();
        if self.eat(")") {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.whole()?);
            if !self.eat(",") {
                break;
            }
        }
        self.close(open)?;
        Ok(arguments)
    }

    pub(super) fn close(&mut self, open: Span) -> Result<()> {
        if self.eat(")") {
            return Ok(());
        }
        if self.peek().is_none() {
            return Err(Box::new(
                error("E0004", "unclosed parenthesis", open, "opened here")
                    .label(self.end, "expected `)`"),
            ));
        }
        let error = self.expected("`)`").label(open, "opened here");
        Err(Box::new(match self.is(":") {
            true => error.hint(SLICE),
            false => error,
        }))
    }

    /// A node where a term stands.
    pub(super) fn term(&self, node: Node) -> Result<Term> {
        self.value(node, false)
    }

    /// A node where a term stands; in an `argument` of a function, iterators and symbols are values too.
    pub(super) fn value(&self, node: Node, argument: bool) -> Result<Term> {
        let span = node.span;
        match node.kind {
            NodeKind::Paren(inner) => self.value(*inner, argument),
            NodeKind::Power(base, exponent) => self.power(*base, *exponent, argument, span),
            NodeKind::Reduced(reduction, quantifier, body) => {
                let open = sums::is_sum(&body);
                let body = self.value(*body, argument)?;
                match quantifier {
                    Quantifier::Some => Ok(sums::within(reduction, body, open, span)),
                    _ => reduced(reduction, quantifier, body, span),
                }
            }
            NodeKind::Floor(dividend, divisor) => {
                Ok(floor(self.value(*dividend, true)?, self.value(*divisor, true)?, span))
            }
            NodeKind::Either(one, other) => {
                Ok(larger(self.value(*one, true)?, self.value(*other, true)?, span))
            }
            NodeKind::Call { tensor, arguments, reciprocal }
                if self.is_function(&tensor.text, &arguments) =>
            {
                let value = self.function(&tensor, arguments, span)?;
                Ok(if reciprocal { quotient(Term::one(span), value, span) } else { value })
            }
            // An iterator, a symbol or a scalar: all of the rule says which.
            NodeKind::Name(text) => Ok(Term::Index(Name { text, span })),
            NodeKind::Call { tensor, arguments, .. }
                if tensor.text == POS
                    && arguments.iter().any(|one| matches!(one.kind, NodeKind::Call { .. })) =>
            {
                let error = error("E0009", "a position as a factor", span, "an integer");
                Err(with_hint(error, POSITION))
            }
            NodeKind::Call { tensor, arguments, .. }
                if words::REDUCTIONS.contains(&tensor.text.as_str())
                    && !self.heads.contains(&tensor.text)
                    && matches!(arguments[..], [Node { kind: NodeKind::Compare(..), .. }]) =>
            {
                let word = &tensor.text;
                let error = error("E0009", "a comparison as a subscript", span, "not an integer");
                Err(with_hint(
                    error,
                    format!(
                        "a reduction names iterators, and what follows is reduced: `{word}(i) x(i) > 0`"
                    ),
                ))
            }
            NodeKind::Call { tensor, arguments, reciprocal } => {
                let arguments: Vec<Node> =
                    arguments.into_iter().map(|node| self.rounded(node)).collect();
                if arguments.iter().any(is_value) {
                    return self.chosen(tensor, arguments, reciprocal, span);
                }
                let subscripts = arguments.into_iter().map(expression).collect::<Result<_>>()?;
                Ok(Term::Access { position: None, tensor, subscripts, reciprocal, span })
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
            NodeKind::Neg(inner) => Ok(negated(self.value(*inner, argument)?, span)),
            NodeKind::Compare(operands, operators) if operands.iter().any(is_position) => {
                position(operands, &operators, span)
            }
            NodeKind::Compare(operands, operators)
                if operands.iter().any(|one| is_value(one) || has_comparison(one)) =>
            {
                self.comparisons(operands, &operators, span)
            }
            NodeKind::Compare(operands, operators) => {
                let operands = operands.into_iter().map(expression).collect::<Result<_>>()?;
                Ok(Term::Comparison(Comparison { operands, operators, span }))
            }
            NodeKind::Chain(first, rest) => {
                let sum = matches!(rest[0].0, BinaryOp::Add | BinaryOp::Sub);
                let mut terms = vec![self.value(*first, argument)?];
                for (op, node) in rest {
                    let span = node.span;
                    match op {
                        BinaryOp::Add | BinaryOp::Mul => terms.push(self.value(node, argument)?),
                        BinaryOp::Sub => terms.push(negated(self.value(node, argument)?, span)),
                        BinaryOp::Div => divide(&mut terms, self.value(node, argument)?, span),
                        // A chain of remainders has nothing else in it.
                        BinaryOp::Mod => {
                            let dividend = terms.pop().unwrap_or(Term::one(span));
                            terms.push(remainder(dividend, self.value(node, true)?, span));
                        }
                    }
                }
                Ok(match (terms.len(), sum) {
                    (1, _) => terms.remove(0),
                    (_, true) => Term::Sum(terms, span),
                    (_, false) => Term::Product(terms, span),
                })
            }
        }
    }
}

/// How a part of a dimension is written.
const SLICE: &str = "a part of a dimension is an iterator with a comparison: `sum(j) A(i, j) * (0 <= j < K)`, and \
    `A(i, j + 1)` begins at 1";

const POSITION: &str =
    "`(k = pos(A(i, j)))`: the iterator `k` is where `A` stores its element `(i, j)`";

/// `pos(..)`
fn is_position(node: &Node) -> bool {
    matches!(&node.kind, NodeKind::Call { tensor, .. } if tensor.text == POS)
}

/// `k = pos(T(i, j))`, or `pos(T(i, j)) = k`.
fn position(operands: Vec<Node>, operators: &[CompareOp], span: Span) -> Result<Term> {
    let wrong =
        |what: &str, span, label: &str| Err(with_hint(error("E0009", what, span, label), POSITION));
    let (mut names, mut tensors) = (Vec::new(), Vec::new());
    for node in operands {
        match node.kind {
            NodeKind::Name(text) => names.push(Name { text, span: node.span }),
            NodeKind::Call { reciprocal: false, mut arguments, .. } if arguments.len() == 1 => {
                tensors.extend(arguments.pop());
            }
            _ => {
                return wrong("a position stands beside an iterator", node.span, "not an iterator");
            }
        }
    }
    let (Some(iterator), Some(tensor), 0, 0, [CompareOp::Eq]) =
        (names.pop(), tensors.pop(), names.len(), tensors.len(), operators)
    else {
        return wrong("a position is the value of one iterator", span, "something else");
    };
    match tensor.kind {
        NodeKind::Call { tensor, arguments, reciprocal: false } => {
            let subscripts = arguments.into_iter().map(expression).collect::<Result<_>>()?;
            Ok(Term::Access {
                position: Some(iterator),
                tensor,
                subscripts,
                reciprocal: false,
                span,
            })
        }
        _ => wrong("the position of what is not a tensor's element", tensor.span, "not an element"),
    }
}

/// The comparison of integers in which a product ends that is the last part of a comparison of values, as `(i < j)` in
/// `A(i) > B(j) * (i < j)`.
fn masked_operand(operand: &Node) -> Option<Span> {
    let NodeKind::Chain(first, rest) = &operand.kind else { return None };
    let Some((BinaryOp::Mul, Node { kind: NodeKind::Paren(inner), span })) = rest.last() else {
        return None;
    };
    let NodeKind::Compare(parts, _) = &inner.kind else { return None };
    (is_value(first) && !parts.iter().any(is_value)).then_some(*span)
}

/// A node where an integer expression stands.
pub(super) fn expression(node: Node) -> Result<Expr> {
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
        NodeKind::Call { tensor, .. } if tensor.text == POS => {
            let error = error("E0009", "a position in an integer expression", span, "not alone");
            return Err(with_hint(
                error,
                "a position stands alone on its side: `(k = pos(A(i, j)))`, and `k` elsewhere",
            ));
        }
        NodeKind::Call { tensor, .. } => {
            let message = format!("a tensor (`{}`) in an integer expression", tensor.text);
            let error = error("E0009", message, span, "not an integer");
            return Err(with_hint(
                error,
                "as a factor, a comparison stands in parentheses: `A(i) * (i < N)`",
            ));
        }
        NodeKind::Floor(dividend, divisor) => {
            *operators += 1;
            let (left, right) = (integer(*dividend, operators)?, integer(*divisor, operators)?);
            ExprKind::Binary(BinaryOp::Div, Box::new(left), Box::new(right))
        }
        NodeKind::Power(..) | NodeKind::Reduced(..) | NodeKind::Either(..) => {
            let error = error(
                "E0009",
                "subscripts and comparisons are of integers",
                span,
                "not an integer",
            );
            return Err(with_hint(error, "write a power as a product: `i * i`"));
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
