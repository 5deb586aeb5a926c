//! From tokens to the syntax tree.
//!
//! Any text is accepted: each line gives an item or one error, and reading goes on with the next line. A line goes on
//! after a line end inside parentheses, unless what follows begins an item of its own (so that one missing parenthesis
//! spoils one line).

mod chosen;
mod cursor;
mod differences;
mod formats;
pub(crate) mod means;
mod names;
mod node;
mod scalars;
mod schedule;
pub(crate) mod statistics;
pub(crate) mod sums;
mod tails;
mod terms;
mod values;
pub(crate) mod words;

use std::collections::BTreeSet;

use dastac_elements::Element;

use chosen::Sent;
use cursor::{Parser, Result, describe, error, with_hint};
use node::{Node, NodeKind, Quantifier};
use statistics::{reduced, statistic};
use values::is_value;

use crate::ast::{
    Aspect, BinaryOp, File, Item, IterationOrder, LayoutItem, LayoutPart, Name, ReduceOp,
    Reduction, RuleItem, Span, Term, TypeItem,
};
use crate::diagnostic::Diagnostic;
use crate::hint;
use crate::lexer::{Token, TokenKind, lex};

/// Words that join factors in other languages.
const INFIX: [&str; 4] = ["and", "or", "min", "max"];

/// Reads a file. Lines with errors are left out of the result.
pub fn parse(source: &str) -> (File, Vec<Diagnostic>) {
    let Parsed { file, diagnostics, .. } = parse_lines(source);
    (file, diagnostics)
}

/// A file that was read, and what of it could not be read.
pub(crate) struct Parsed {
    /// Its lines without errors.
    pub file: File,
    /// Errors and warnings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The lines with errors: their tokens.
    pub broken: Vec<Vec<Token>>,
}

/// As [`parse`], with the lines that are left out.
pub(crate) fn parse_lines(source: &str) -> Parsed {
    let (tokens, mut diagnostics) = lex(source);
    let (mut file, mut broken) = (File::default(), Vec::new());
    let lines = lines(&tokens);
    let (heads, scalars) = (heads(&lines), scalars::named(&lines));
    let typed = scalars::typed(&lines);
    for line in lines {
        if line.iter().any(|token| token.kind == TokenKind::Invalid) {
            broken.push(line.to_vec()); // reported by the lexer
            continue;
        }
        let mut tokens: Vec<Token> =
            line.iter().filter(|token| token.kind != TokenKind::Newline).cloned().collect();
        // Rules of other languages end with it.
        if tokens.iter().any(|token| token.is(":=")) {
            while tokens.last().is_some_and(|token| token.is(";")) {
                tokens.pop();
            }
        }
        let Some(last) = tokens.last() else { continue };
        let end = Span::new(last.span.end, last.span.end);
        let warnings = Vec::new();
        let (heads, scalars, typed) = (&heads, &scalars, &typed);
        let mut parser = Parser {
            source,
            tokens: &tokens,
            at: 0,
            end,
            nesting: 0,
            warnings,
            iterators: BTreeSet::new(),
            heads,
            scalars,
            typed,
        };
        let item = parser.item();
        diagnostics.append(&mut parser.warnings);
        match item {
            Ok(item) => file.items.push(item),
            Err(error) => {
                diagnostics.push(*error);
                broken.push(tokens);
            }
        }
    }
    means::resolve(&mut file);
    names::resolve(&mut file);
    differences::keep(&mut file);
    diagnostics.sort_by_key(Diagnostic::place);
    Parsed { file, diagnostics, broken }
}

/// What stands behind the name at the beginning of a rule.
const BEHIND_HEADS: [&str; 3] = ["(", ":", ":="];

/// The names at the beginnings of rules.
fn heads(lines: &[&[Token]]) -> BTreeSet<String> {
    let names = lines.iter().filter_map(|line| {
        let mut tokens = line.iter().filter(|token| token.kind != TokenKind::Newline);
        match (tokens.next().map(|token| &token.kind), tokens.next()) {
            (Some(TokenKind::Name(name)), Some(next)) => {
                BEHIND_HEADS.iter().any(|mark| next.is(mark)).then(|| name.clone())
            }
            _ => None,
        }
    });
    names.collect()
}

/// Groups tokens into logical lines.
fn lines(tokens: &[Token]) -> Vec<&[Token]> {
    let mut lines = Vec::new();
    let (mut start, mut open) = (0, 0usize);
    for (k, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Mark("(") => open += 1,
            TokenKind::Mark(")") => open = open.saturating_sub(1),
            // If there are several line ends, the last one counts.
            TokenKind::Newline if open > 0 && next_is_newline(tokens, k) => {}
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

fn next_is_newline(tokens: &[Token], at: usize) -> bool {
    tokens.get(at + 1).is_some_and(|token| token.kind == TokenKind::Newline)
}

/// Whether a line is an item: `@..`, `word: ..`, or anything with `:=`.
fn begins_item(tokens: &[Token]) -> bool {
    let length = tokens.iter().take_while(|token| token.kind != TokenKind::Newline).count();
    let line = &tokens[..length];
    line.first().is_some_and(|token| token.is("@"))
        || line.get(1).is_some_and(|token| token.is(":"))
        || line.iter().any(|token| token.is(":="))
}

/// The iterator or symbol that a product of values ends in, as `i` in `A(i, j) * i < j`.
fn loose_factor(node: &Node) -> Option<Span> {
    let NodeKind::Chain(first, rest) = &node.kind else { return None };
    match rest.last() {
        Some((BinaryOp::Mul, Node { kind: NodeKind::Name(_), span })) if is_value(first) => {
            Some(*span)
        }
        _ => None,
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
        if self.nth_name(0) == Some("format") && self.nth_name(1).is_some() {
            return self.rest("`format`").map(Item::Define);
        }
        if self.nth_name(0).is_some() && self.nth_is(1, ":") {
            if assigns && self.nth_name(2) == Some("F") {
                return self.format(whole).map(Item::Format);
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
            "layout" => {
                let mut entries = vec![self.layout_item()?];
                while self.eat(";") && self.peek().is_some() {
                    entries.push(self.layout_item()?);
                }
                Item::Layout(entries, whole)
            }
            "types" => {
                let mut entries = vec![self.type_item()?];
                while self.eat(",") {
                    entries.push(self.type_item()?);
                }
                Item::Types(entries, whole)
            }
            "schedule" => {
                let mut entries = vec![self.schedule_item()?];
                while self.eat(";") && self.peek().is_some() {
                    entries.push(self.schedule_item()?);
                }
                Item::Schedule(entries, whole)
            }
            other => {
                let known = ["symbols", "outputs", "iters", "layout", "schedule", "types"];
                let mut error = *error(
                    "E0008",
                    format!("unknown directive `{other}:`"),
                    word.span,
                    "not a directive",
                );
                let typed = self.nth_name(0).filter(|name| Element::named(name).is_some());
                error = match hint::similar(other, known) {
                    _ if typed.is_some() => error.hint(format!(
                        "the type of a tensor's elements is said so: `types: {other} = {}`",
                        typed.unwrap_or_default()
                    )),
                    Some(close) => error.hint(format!("did you mean `{close}:`?")),
                    None => error.hint(
                        "directives are `symbols:`, `outputs:`, `iters:`, `layout:`, `schedule:` and `types:`; a rule \
                        has `:=`",
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

    fn layout_item(&mut self) -> Result<LayoutItem> {
        let tensor = self.name("the name of a tensor")?;
        self.expect("->")?;
        let mut parts = vec![self.layout_part()?];
        while self.eat(",") {
            parts.push(self.layout_part()?);
        }
        Ok(LayoutItem { tensor, parts })
    }

    fn layout_part(&mut self) -> Result<LayoutPart> {
        let word = self.name("`order(..)` or `align(..)`")?;
        let hint = "a layout is `order(j, i)`, `align(8)`, or both with a comma between";
        if !matches!(word.text.as_str(), "order" | "align") {
            let message = format!("`{}` is not a choice of a layout", word.text);
            return Err(with_hint(error("E0003", message, word.span, "unknown"), hint));
        }
        self.expect("(")?;
        if word.text == "order" {
            let names = if self.is(")") { Vec::new() } else { self.names("an iterator")? };
            self.expect(")")?;
            return Ok(LayoutPart::Order(names, word.span.to(self.previous())));
        }
        let elements = match self.peek().map(|token| token.kind.clone()) {
            Some(TokenKind::Number(text)) => match text.parse::<i64>() {
                Ok(elements) => elements,
                Err(_) => return Err(self.expected("an integer")),
            },
            _ => return Err(self.expected("an integer")),
        };
        self.at += 1;
        self.expect(")")?;
        Ok(LayoutPart::Align(elements, word.span.to(self.previous())))
    }

    fn type_item(&mut self) -> Result<TypeItem> {
        let span = self.span();
        let others = Name { text: TypeItem::OTHERS.into(), span };
        let is_last = self.nth(1).is_none_or(|next| next.is(","));
        let tensor = match self.nth_name(0) {
            Some(word) if is_last && Element::named(word).is_some() => others,
            _ => {
                let tensor = match self.eat(TypeItem::OTHERS) {
                    true => others,
                    false => self.name("the name of a tensor")?,
                };
                self.expect("=")?;
                tensor
            }
        };
        Ok(TypeItem { tensor, element: self.name("an element type")?, by_default: false })
    }

    fn rule(&mut self, whole: Span) -> Result<RuleItem> {
        let beginning = self.peek().map(|token| token.kind.clone());
        let tensor =
            self.name("a rule such as `A(i) := B(i)`").map_err(|error| match beginning {
                Some(TokenKind::Mark("%" | "/" | "//" | "-" | ";" | "*")) => {
                    with_hint(error, "a comment begins with `#`")
                }
                _ => error,
            })?;
        if self.is("^") {
            let error =
                error("E0011", "a reciprocal cannot be computed into", self.span(), "in a head");
            return Err(with_hint(error, "put the `^-1` on the right-hand side"));
        }
        let aspect = if self.eat(":") { self.aspect()? } else { Aspect::Value };
        let scalar = aspect == Aspect::Value && self.is(":=");
        if !scalar && !self.eat("(") {
            let error = self.expected("`(`");
            return Err(match tensor.text.as_str() {
                word @ ("symbols" | "outputs" | "iters" | "layout" | "schedule" | "types") => {
                    with_hint(error, format!("a directive has a colon: `{word}: ..`"))
                }
                "def" | "let" | "fn" | "function" | "var" | "const" | "set" => {
                    with_hint(error, "a rule begins with its head: `y(i) := 2 * x(i)`")
                }
                _ => with_hint(
                    error,
                    "a rule is `head := sum of products`; the head of a scalar is `s()`",
                ),
            });
        }
        let arguments = if scalar { Vec::new() } else { self.arguments()? };
        let is_again =
            |iterators: &[Name], text: &str| iterators.iter().any(|one| one.text == text);
        let mut sent = Sent::new();
        let mut iterators: Vec<Name> = Vec::new();
        for (place, node) in arguments.into_iter().enumerate() {
            let iterator = match node.kind {
                NodeKind::Name(ref text) if !is_again(&iterators, text) => {
                    self.head_iterator(node)?
                }
                _ if aspect == Aspect::Value => sent.iterator(&tensor, place, node),
                _ => self.head_iterator(node)?,
            };
            iterators.push(iterator);
        }
        if !self.eat(":=") {
            let error = error(
                "E0012",
                format!("expected `:=` after the head, found {}", describe(self.peek())),
                self.span(),
                "expected `:=`",
            );
            let sum = self.is("+") && self.nth_is(1, "=");
            let hint = match sum {
                true => "write `:=`: it sums over all iterators that the head does not have",
                false if self.is("=") => "a rule has `:=`, comparisons have `=`",
                false => "a rule is `head := sum of products`",
            };
            return Err(with_hint(error, hint));
        }
        self.iterators = iterators.iter().map(|name| name.text.clone()).collect();
        let start = self.at;
        let mut found = match aspect {
            Aspect::Value => self.reduction()?,
            _ => None,
        };
        if found.as_ref().is_some_and(|(_, quantifier)| !quantifier.is_of_all()) {
            (self.at, found) = (start, None);
        }
        let mut node = self.whole()?;
        if found.is_some() {
            node = tails::reduced(node);
        }
        let mut taken = self.iterators.clone();
        if let Some((reduction, _)) = &found {
            taken.extend(reduction.iterators.iter().map(|name| name.text.clone()));
        }
        if aspect == Aspect::Value {
            let is_function = |name: &str, arguments: &[Node]| self.is_function(name, arguments);
            let scalars = (self.scalars, self.typed);
            scalars::compared(&mut node, scalars, &taken, &is_function);
        }
        let is_reduction = matches!(node.kind, NodeKind::Reduced(..));
        // `sum(j) A(i, j) > 2` could be either.
        let may_compare = match &found {
            Some((reduction, quantifier)) => {
                quantifier.is_of_truth() || reduction.operator == ReduceOp::Or
            }
            None => aspect == Aspect::Value,
        };
        if let NodeKind::Compare(operands, _) = &node.kind
            && let Some(value) = operands.iter().find(|operand| is_value(operand))
            && !may_compare
        {
            let message = "a comparison of values without parentheses";
            let error = error("E0009", message, value.span, "compared as a whole");
            let hint = "a comparison stands in parentheses: `A(i) * (i < N)`, `(A(i) < B(i))`";
            return Err(with_hint(error, hint));
        }
        self.end_of_rule()?;
        if let NodeKind::Compare(operands, _) = &node.kind
            && found.is_none()
            && let Some(factor) = operands.iter().find_map(loose_factor)
            && !operands.iter().all(is_value)
        {
            let message = "the whole product is compared";
            let label = "this is the last factor of a product";
            let warning = Diagnostic::warning("W0105", message, factor, label);
            self.warnings.push(warning.hint(
                "a comparison as a factor stands in parentheses: `A(i, j) * (i < j)`, and a product that is compared \
                too: `(A(i, j) * i) < j`",
            ));
        }
        let is_sum = sums::is_sum(&node);
        match (&found, &mut node.kind) {
            (Some((reduction, _)), _) if sent.are_reduced(reduction) => sent.restrict(&mut node),
            // A sum of products is one of the products that are sent.
            (Some((Reduction { operator: ReduceOp::Sum, .. }, Quantifier::Some)), _)
                if !is_sum && !sent.is_empty() && !sent.by_value() =>
            {
                sent.restrict(&mut node);
            }
            (None, NodeKind::Reduced(reduction, _, inner)) if sent.are_reduced(reduction) => {
                sent.restrict(inner);
            }
            _ => {}
        }
        if let Some(span) = sent.reduced_within(&node) {
            let message =
                format!("a reduction over what says where elements of `{}` are", tensor.text);
            let error = error("E0011", message, span, "within the right-hand side");
            return Err(with_hint(
                error,
                "compare in the reduction: `x(k) := 1 + mean(i) v(i) * (p(i) = k)` with `x:D(k) := (0 <= k < N)`",
            ));
        }
        let open = sums::is_sum(&node);
        let body = self.term(node)?;
        let body = match found {
            None => sent.of_each(body),
            Some(_) => body,
        };
        let (found, body) = match (found, body) {
            // Of each term by itself: `x(p(i)) := max(j) A(i, j)`.
            (Some((reduction, quantifier)), body) if !sent.is_empty() => {
                let value = match quantifier {
                    Quantifier::Some => sums::within(reduction, body, open, whole),
                    quantifier => reduced(reduction, quantifier, body, whole)?,
                };
                (None, value)
            }
            (found, body) => (found, body),
        };
        let is_reduction = is_reduction && sent.is_empty();
        let body = self.sent(body, sent)?;
        let (reduction, body) = match (found, body) {
            (Some((reduction, Quantifier::Some)), body) => {
                let body = sums::summed(&reduction, body, open);
                (Some(reduction), body)
            }
            (Some((reduction, quantifier)), body) => {
                let none = Reduction { iterators: Vec::new(), ..reduction.clone() };
                (Some(none), reduced(reduction, quantifier, body, whole)?)
            }
            // A reduction that is all of the rule: `argmax(j) A(i, j)`.
            (None, Term::Reduced { reduction, body, .. }) if is_reduction => {
                (Some(reduction), *body)
            }
            (None, body) => (None, chosen::joined(body)),
        };
        Ok(RuleItem {
            tensor,
            aspect,
            iterators,
            reduction,
            body,
            part_of: None,
            summed: Vec::new(),
            span: whole,
        })
    }

    /// `max(j)`, if a term follows it. In `max(j) * x(j)`, `max` is a tensor.
    fn reduction(&mut self) -> Result<Option<(Reduction, Quantifier)>> {
        let word = self.nth_name(0).filter(|_| self.nth_is(1, "("));
        let Some(word) = word else { return Ok(None) };
        let known = ReduceOp::ALL.into_iter().find(|one| one.word() == word);
        let plain = known.map(|operator| (operator, Quantifier::Some));
        let Some((operator, quantifier)) = plain.or_else(|| statistic(word)) else {
            return Ok(None);
        };
        let Some(close) =
            (2..self.tokens.len()).find(|k| self.nth_is(*k, ")") || self.nth_is(*k, "("))
        else {
            return Ok(None);
        };
        let follows = self.nth(close + 1).is_some_and(|token| {
            // A minus sign stands behind a tensor where there is one of that name.
            token.is("-") && !self.heads.contains(word)
                || token.is("(")
                || matches!(token.kind, TokenKind::Name(_) | TokenKind::Number(_))
        });
        let infix = self.nth_name(close + 1).is_some_and(|name| INFIX.contains(&name));
        let call = self.nth_is(close + 2, "(") || self.nth_is(close + 2, "^");
        if self.nth_is(close, "(") || !follows || infix && !call {
            return Ok(None);
        }
        // `min(i, j) - 1` and `max(0, i) - 1` are values of iterators.
        let arguments = || self.tokens[self.at + 2..self.at + close].iter();
        let is_value = |token: &Token| match &token.kind {
            TokenKind::Number(_) => true,
            TokenKind::Name(name) => self.iterators.contains(name),
            _ => false,
        };
        let is_pair = arguments().filter(|token| token.is(",")).count() == 1;
        if self.nth_is(close + 1, "-")
            && matches!(operator, ReduceOp::Min | ReduceOp::Max)
            && quantifier == Quantifier::Some
            && is_pair
            && arguments().any(is_value)
        {
            return Ok(None);
        }
        let (start, word) = (self.span(), word.to_owned());
        self.at += 2;
        let iterators = match self.is(")") {
            true => Vec::new(),
            false => self.names("an iterator")?,
        };
        if !self.eat(")") {
            let hint = format!(
                "a reduction names iterators, and comparisons are factors: `{word}(j) x(j) * (j < n)`"
            );
            return Err(with_hint(self.expected("`)`"), hint));
        }
        let reduction = Reduction { operator, iterators, span: start.to(self.previous()) };
        Ok(Some((reduction, quantifier)))
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
                    "`:D` gives the dimensions, `:U` the unique set, `:R` the redundancy map, `:F` the format of a \
                    dynamically sparse tensor; `types: A = f32` gives the type of elements",
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
                error(
                    "E0011",
                    "a structure's subscripts are iterators",
                    node.span,
                    "not an iterator",
                ),
                "use an iterator and say what it is: `A:U(i, j) := (j = 0)`, `A:R(i, j) := (i = j)`",
            )),
        }
    }

    /// The name of the call that ends right before the next token.
    fn call_before(&self) -> Option<&str> {
        let before = &self.tokens[..self.at];
        let mut open = 0usize;
        for (at, token) in before.iter().enumerate().rev() {
            open += usize::from(token.is(")"));
            open = open.checked_sub(usize::from(token.is("(")))?;
            if open == 0 {
                return match &before.get(at.checked_sub(1)?)?.kind {
                    TokenKind::Name(name) => Some(name),
                    _ => None,
                };
            }
        }
        None
    }

    /// Checks that a complete right-hand side is the end of the line.
    fn end_of_rule(&self) -> Result<()> {
        let Some(token) = self.peek() else { return Ok(()) };
        let error = self.expected("an operator or the end of the line");
        if let Some(word) = self.nth_name(0).filter(|word| INFIX.contains(word)) {
            let hint = match word {
                "and" => "`and` is written `*`: `y(i) := or(j) A(i, j) * x(j)`".into(),
                word => {
                    format!("`{word}` stands at the beginning: `y(i) := {word}(j) A(i, j) * x(j)`")
                }
            };
            return Err(with_hint(error, hint));
        }
        match self.nth_name(0) {
            Some("if" | "unless") => {
                return Err(with_hint(error, "a choice is `where(test, a, b)`"));
            }
            Some("where") => {
                let hint =
                    "a condition is a factor: `x(i) * (i < 3)`; a choice is `where(test, a, b)`";
                return Err(with_hint(error, hint));
            }
            Some("for") => {
                return Err(with_hint(error, "the head names iterators: `y(i) := 2 * x(i)`"));
            }
            _ => {}
        }
        Err(match &token.kind {
            TokenKind::Mark("@") => with_hint(error, words::MATMUL),
            TokenKind::Mark(")") => with_hint(error, "there is a `)` too many"),
            TokenKind::Mark("^") => {
                with_hint(error, "a reciprocal is written at the name: `A^-1(i)`")
            }
            TokenKind::Name(_) | TokenKind::Number(_) | TokenKind::Mark("(") => {
                let joined = "factors are joined with `*`, summands with `+`";
                let before = self.call_before();
                let close = before
                    .filter(|name| !self.heads.contains(*name))
                    .and_then(|name| hint::similar(name, words::REDUCTIONS));
                match (before.and_then(words::reduction), close) {
                    (Some(other), _) => with_hint(error, other),
                    (None, Some(close)) => {
                        with_hint(error, format!("did you mean `{close}`? Else {joined}"))
                    }
                    (None, None) => with_hint(error, joined),
                }
            }
            _ => error,
        })
    }
}
