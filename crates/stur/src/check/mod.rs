//! From the syntax tree to a checked [`Program`]: names resolved, ranks agreed, products distributed, rules in
//! dependency order.
//!
//! All errors are collected, and there is a program only if there are none. Checks that need reasoning about sets
//! (empty or unbounded domains, `:R` outside `:U`) are left to inference.

mod alike;
mod checker;
mod desugar;
mod fills;
mod formats;
mod functions;
pub mod limits;
mod misspelt;
mod order;
mod products;
mod ranks;
mod semirings;
mod sound;
mod storage;
mod structures;
mod types;
mod undeclared;

use std::collections::{BTreeMap, BTreeSet};

use crate::affine;
use crate::ast::{Aspect, Expr, ExprKind, File, Item, Name, RuleItem, Span, Term};
use crate::diagnostic::{Diagnostic, Severity};
use crate::directives;
use crate::hint::similar;
use crate::parser::{Parsed, parse_lines};
use crate::program::{Program, Role, Rule, RuleId, Tensor, TensorId};

use checker::{Checker, Source, aspect_key, collect_accesses, collect_positions, warning};
use sound::{Broken, sound};

/// Checks a file; `source` is kept in the program for messages. Warnings come with a program, errors without.
pub fn check(file: &File, source: &str) -> (Option<Program>, Vec<Diagnostic>) {
    let (program, diagnostics) = checked(file, source);
    let failed = diagnostics.iter().any(|d| d.severity == Severity::Error);
    (program.filter(|_| !failed), diagnostics)
}

/// A program, which has its invariants only if no diagnostic is an error; none beyond the limits.
fn checked(file: &File, source: &str) -> (Option<Program>, Vec<Diagnostic>) {
    let beyond = limits::of_file(file);
    if !beyond.is_empty() {
        return (None, beyond);
    }
    let file = &desugar::reductions(file);
    let mut checker = Checker::new(file);
    let program = checker.program(source);
    let mut diagnostics = checker.diagnostics;
    diagnostics.sort_by_key(Diagnostic::place);
    (Some(program), diagnostics)
}

/// Reads and checks a text.
///
/// # Errors
/// All errors, with the warnings among them, in source order.
pub fn load(source: &str) -> Result<(Program, Vec<Diagnostic>), Vec<Diagnostic>> {
    match read(source) {
        Checked::Whole(program, warnings) => Ok((program, warnings)),
        Checked::Part(_, diagnostics) => Err(diagnostics),
    }
}

/// A text that was read and checked.
#[derive(Clone, Debug)]
pub enum Checked {
    /// A program, and warnings.
    Whole(Program, Vec<Diagnostic>),
    /// A text with errors, in source order with the warnings among them; and what of it has nothing to do with them, if
    /// that can be told: the program's other errors are found there.
    Part(Option<Program>, Vec<Diagnostic>),
}

/// Reads and checks a text. An error in one line hides no errors in lines that have nothing to do with it.
pub fn read(source: &str) -> Checked {
    if let Some(beyond) = limits::of_text(source) {
        return Checked::Part(None, vec![beyond]);
    }
    let Parsed { file, mut diagnostics, broken } = parse_lines(source);
    let (program, mut found) = checked(&file, source);
    let broken = Broken::of(&broken);
    if broken.any() {
        found.retain(|diagnostic| broken.has_nothing_to_do_with(diagnostic, &file, source));
    }
    diagnostics.append(&mut found);
    diagnostics.sort_by_key(Diagnostic::place);
    match program {
        Some(program) if diagnostics.iter().all(|d| d.severity == Severity::Warning) => {
            Checked::Whole(program, diagnostics)
        }
        program => {
            let sound = program.and_then(|program| sound(program, &file, &diagnostics, &broken));
            Checked::Part(sound, diagnostics)
        }
    }
}

impl<'a> Checker<'a> {
    fn new(file: &'a File) -> Self {
        Checker {
            file,
            diagnostics: Vec::new(),
            symbols: Vec::new(),
            outputs: None,
            orders: BTreeMap::new(),
            order_heads: Vec::new(),
            values: Vec::new(),
            structures: BTreeMap::new(),
            used_symbols: BTreeSet::new(),
            layouts: &[],
            schedules: &[],
            types: &[],
            formats: Vec::new(),
            definitions: dastac_formats::format::Definitions::default(),
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    fn symbol(&self, name: &str) -> Option<usize> {
        self.symbols.iter().position(|(symbol, _)| symbol == name)
    }

    fn program(&mut self, source: &str) -> Program {
        self.directives();
        self.rules();
        let all: Vec<&RuleItem> = self
            .file
            .items
            .iter()
            .filter_map(|item| if let Item::Rule(rule) = item { Some(rule) } else { None })
            .collect();
        for rule in &all {
            self.head(rule);
            self.body(&rule.body);
        }
        self.ranks(&all);

        let mut program = Program {
            source: source.into(),
            symbols: self.symbols.clone(),
            unused_symbols: Vec::new(),
            tensors: self.tensors(),
            rules: Vec::new(),
            derived: Vec::new(),
            divisors: Vec::new(),
        };
        self.declare(&mut program);
        self.storage(&mut program);
        self.formats(&mut program);
        let rules: Vec<Rule> = self
            .values
            .clone()
            .into_iter()
            .filter_map(|value| self.value_rule(&program, value))
            .collect();
        program.rules = self.ordered(&program, rules);
        let heads: Vec<String> =
            self.values.iter().map(|value| value.rule.tensor.text.clone()).collect();
        // What is wrong with a format is told already.
        let formatted: Vec<&str> =
            self.formats.iter().map(|item| item.tensor.text.as_str()).collect();
        let found = directives::apply(&mut program, self.schedules, &heads, &formatted);
        self.diagnostics.extend(found);
        self.roles(&mut program);
        let given = self.types.iter().filter(|entry| !entry.by_default);
        let given: Vec<&str> = given.map(|entry| entry.tensor.text.as_str()).collect();
        types::choose_places(&mut program, &given);
        types::count_comparisons(&mut program);
        self.element_types(&program);
        fills::find(&mut program);
        let unused = self.symbols.iter().filter(|(name, _)| !self.used_symbols.contains(name));
        program.unused_symbols = unused.map(|(name, _)| name.clone()).collect();
        self.unused(&program);
        self.misspelt(&program);
        program
    }

    fn directives(&mut self) {
        let file = self.file;
        let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
        for item in &file.items {
            let (word, span) = match item {
                Item::Symbols(_, span) => ("symbols", *span),
                Item::Outputs(_, span) => ("outputs", *span),
                Item::Iters(_, span) => ("iters", *span),
                Item::Layout(_, span) => ("layout", *span),
                Item::Schedule(_, span) => ("schedule", *span),
                Item::Types(_, span) => ("types", *span),
                _ => continue,
            };
            if let Some(first) = seen.get(word) {
                self.report(
                    Diagnostic::error("E0101", format!("`{word}:` is given twice"), span, "again")
                        .label(*first, "first here")
                        .hint("put all of it on one line"),
                );
                continue;
            }
            seen.insert(word, span);
            match item {
                Item::Symbols(names, _) => {
                    let names = self.distinct(names, "symbol");
                    self.symbols =
                        names.iter().map(|name| (name.text.clone(), name.span)).collect();
                }
                Item::Outputs(names, _) => {
                    self.distinct(names, "output");
                    self.outputs = Some(names);
                }
                Item::Iters(orders, _) => {
                    for order in orders {
                        self.distinct(&order.iterators, "iterator");
                        if self.orders.insert(&order.head.text, &order.iterators).is_some() {
                            let message =
                                format!("`iters:` gives two orders for `{}`", order.head.text);
                            self.report(Diagnostic::error(
                                "E0102",
                                message,
                                order.head.span,
                                "again",
                            ));
                        } else {
                            self.order_heads.push(&order.head);
                        }
                    }
                }
                Item::Layout(entries, _) => self.layouts = entries,
                Item::Schedule(entries, _) => self.schedules = entries,
                Item::Types(entries, _) => self.types = entries,
                _ => {}
            }
        }
    }

    /// The names without repetitions; repetitions are reported.
    fn distinct<'n>(&mut self, names: &'n [Name], what: &str) -> Vec<&'n Name> {
        let mut kept: Vec<&Name> = Vec::new();
        for name in names {
            match kept.iter().find(|earlier| earlier.text == name.text) {
                Some(earlier) => self.report(
                    Diagnostic::error(
                        "E0102",
                        format!("{what} `{}` is listed twice", name.text),
                        name.span,
                        "again",
                    )
                    .label(earlier.span, "first here"),
                ),
                None => kept.push(name),
            }
        }
        kept
    }

    /// Sorts rules into values and structures; finds blocks and double rules.
    fn rules(&mut self) {
        let file = self.file;
        let mut block: Option<Span> = None;
        for item in &file.items {
            match item {
                Item::PreprocessStart(span) => {
                    if let Some(start) = block.replace(*span) {
                        self.report(
                            Diagnostic::error(
                                "E0103",
                                "a block within a block",
                                *span,
                                "begins here",
                            )
                            .label(start, "this block is still open"),
                        );
                    }
                }
                Item::PreprocessEnd(_) if block.take().is_some() => {}
                Item::PreprocessEnd(span) => {
                    let message = "`@preprocess_end` without `@preprocess_start`";
                    self.report(Diagnostic::error("E0103", message, *span, "no block is open"));
                }
                Item::Rule(rule) if rule.aspect == Aspect::Value => {
                    self.add_value(Source { rule, preprocess: block.is_some() });
                }
                Item::Rule(rule) => self.add_structure(rule),
                Item::Format(format) => self.formats.push(format),
                Item::Define(text) => self.define(text),
                _ => {}
            }
        }
        if let Some(start) = block {
            self.report(
                Diagnostic::error("E0103", "the block is not closed", start, "opened here")
                    .hint("end it with `@preprocess_end`"),
            );
        }
    }

    fn add_value(&mut self, value: Source<'a>) {
        let name = &value.rule.tensor;
        if let Some(first) = self.values.iter().find(|other| other.rule.tensor.text == name.text) {
            let first = first.rule.tensor.span;
            self.report(
                Diagnostic::error(
                    "E0104",
                    format!("two rules compute `{}`", name.text),
                    name.span,
                    "again",
                )
                .label(first, "first computed here")
                .hint("add the products in one rule: `A(i) := B(i) + C(i)`"),
            );
        } else {
            self.values.push(value);
        }
    }

    /// The published programs repeat dimensions before and after a block, so an identical repetition is not an error.
    fn add_structure(&mut self, rule: &'a RuleItem) {
        let key = (rule.tensor.text.as_str(), aspect_key(rule.aspect));
        match self.structures.get(&key) {
            Some(first) if structures::same(first, rule) => {}
            Some(first) => {
                let message = format!("`{}{}` is given twice", rule.tensor.text, rule.aspect);
                let first = first.span;
                self.report(
                    Diagnostic::error("E0105", message, rule.span, "different from the first")
                        .label(first, "first here")
                        .hint("join several regions with `+` in one rule"),
                );
            }
            None => {
                self.structures.insert(key, rule);
            }
        }
    }

    fn head(&mut self, rule: &RuleItem) {
        if self.symbol(&rule.tensor.text).is_some() {
            let message = format!("the symbol `{}` has a rule", rule.tensor.text);
            self.report(
                Diagnostic::error("E0111", message, rule.tensor.span, "a symbol, not a tensor")
                    .hint(
                        "symbols are given when the kernel runs; take another name for the tensor",
                    ),
            );
        }
        let mut seen: Vec<&Name> = Vec::new();
        for iterator in &rule.iterators {
            if self.symbol(&iterator.text).is_some() {
                self.report(
                    Diagnostic::error(
                        "E0107",
                        format!("iterator `{}` has the name of a symbol", iterator.text),
                        iterator.span,
                        "declared as a symbol",
                    )
                    .hint("take another name for the iterator"),
                );
            }
            if let Some(first) = seen.iter().find(|name| name.text == iterator.text) {
                let mut error = Diagnostic::error(
                    "E0110",
                    format!("iterator `{}` stands twice in the head", iterator.text),
                    iterator.span,
                    "again",
                )
                .label(first.span, "first here");
                if rule.aspect != Aspect::Redundancy {
                    let name = &iterator.text;
                    error = error.hint(format!(
                        "use two iterators and a comparison: `({name} = {name}2)` describes the diagonal"
                    ));
                }
                self.report(error);
            } else {
                seen.push(iterator);
            }
        }
    }

    /// Checks each factor and expression by itself.
    fn body(&mut self, term: &Term) {
        match term {
            Term::Access { tensor, subscripts, span, .. } => {
                subscripts.iter().for_each(|subscript| self.expression(subscript));
                if self.symbol(&tensor.text).is_some() {
                    self.used_symbols.insert(tensor.text.clone());
                    if !subscripts.is_empty() {
                        let message = format!("the symbol `{}` has subscripts", tensor.text);
                        self.report(
                            Diagnostic::error("E0111", message, *span, "a symbol, not a tensor")
                                .hint(format!(
                                    "as a factor, a symbol is written `{}()`",
                                    tensor.text
                                )),
                        );
                    }
                }
            }
            Term::Number { value, reciprocal: true, span } if *value == 0.0 => {
                self.report(Diagnostic::error(
                    "E0202",
                    "the reciprocal of zero",
                    *span,
                    "not a number",
                ));
            }
            Term::Index(name) if self.symbol(&name.text).is_some() => {
                self.used_symbols.insert(name.text.clone());
            }
            Term::Comparison(comparison) => {
                comparison.operands.iter().for_each(|operand| self.expression(operand));
            }
            other => other.parts().iter().for_each(|term| self.body(term)),
        }
    }

    fn expression(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Int(_) => {}
            ExprKind::Name(name) => {
                if self.symbol(name).is_some() {
                    self.used_symbols.insert(name.clone());
                }
            }
            ExprKind::Neg(inner) => self.expression(inner),
            ExprKind::Binary(op, left, right) => {
                self.expression(left);
                self.expression(right);
                if matches!(op, crate::ast::BinaryOp::Div | crate::ast::BinaryOp::Mod) {
                    self.divisor(right);
                }
            }
        }
    }

    fn divisor(&mut self, divisor: &Expr) {
        let mut hint = "`/` and `%` take a positive integer".to_string();
        let error = match affine::constant(divisor) {
            Some(1..) => return,
            Some(0) => Diagnostic::error("E0201", "division by zero", divisor.span, "this is zero"),
            Some(_) => Diagnostic::error(
                "E0201",
                "division by a negative number",
                divisor.span,
                "not positive",
            ),
            None => {
                let names = affine::names(divisor);
                let Some(iterator) = names.into_iter().find(|name| self.symbol(name).is_none())
                else {
                    return; // symbols: what the later stages make of it is theirs to say
                };
                let message = format!("division by the iterator `{iterator}`");
                hint += "; rules have functions too: `floor_divide(a, b)`, `(mod(a, b) = 0)`";
                Diagnostic::error("E0201", message, divisor.span, "not a constant")
            }
        };
        self.report(error.hint(hint));
    }

    /// Tensors in order of first appearance in value rules, all as inputs.
    fn tensors(&self) -> Vec<Tensor> {
        let mut tensors: Vec<Tensor> = Vec::new();
        let mut add = |name: &str, rank: usize, span: Span| {
            if self.symbol(name).is_none() && !tensors.iter().any(|tensor| tensor.name == name) {
                tensors.push(Tensor::new(name.into(), rank, Role::Input, span));
            }
        };
        for value in &self.values {
            add(&value.rule.tensor.text, value.rule.iterators.len(), value.rule.tensor.span);
            collect_accesses(&value.rule.body, &mut add);
        }
        tensors
    }

    /// Whether the tensor is computed by a rule.
    fn is_head(&self, name: &str) -> bool {
        self.values.iter().any(|value| value.rule.tensor.text == name)
    }

    fn roles(&mut self, program: &mut Program) {
        let heads: Vec<&str> =
            self.values.iter().map(|value| value.rule.tensor.text.as_str()).collect();
        let listed: Vec<(&Name, &str)> = self
            .outputs
            .unwrap_or_default()
            .iter()
            .map(|name| (name, "outputs"))
            .chain(self.order_heads.iter().map(|name| (*name, "iters")))
            .collect();
        let mut errors = Vec::new();
        for (name, directive) in listed {
            if heads.contains(&name.text.as_str()) {
                continue;
            }
            let known = program.find(&name.text).is_some();
            let mut error = Diagnostic::error(
                "E0106",
                format!("`{directive}:` names `{}`, which no rule computes", name.text),
                name.span,
                if known { "an input" } else { "unknown" },
            );
            if let Some(close) = similar(&name.text, heads.iter().copied()) {
                error = error.hint(format!("did you mean `{close}`?"));
            }
            errors.push(error);
        }
        self.diagnostics.extend(errors);
        for (index, rule) in program.rules.iter().enumerate() {
            let tensor = &mut program.tensors[rule.head.0];
            let listed = |outputs: &[Name]| outputs.iter().any(|name| name.text == tensor.name);
            // A block computes tensors that later rules read, such as another layout of an input. They are outputs only
            // if the program says so.
            let part = self
                .values
                .iter()
                .any(|value| value.rule.tensor.text == tensor.name && value.rule.part_of.is_some());
            tensor.role = if self.outputs.map_or(!rule.preprocess && !part, listed) {
                Role::Output(RuleId(index))
            } else {
                Role::Intermediate(RuleId(index))
            };
        }
    }

    /// Warnings about what has no effect.
    fn unused(&mut self, program: &Program) {
        let mut found = Vec::new();
        for (symbol, span) in &self.symbols {
            if program.unused_symbols.contains(symbol) {
                found.push(warning(
                    "W0101",
                    format!("symbol `{symbol}` is never used"),
                    *span,
                    "unused",
                ));
            }
        }
        let mut reported = BTreeSet::new();
        let structures = self.structures.values().map(|rule| (&rule.tensor, "structure"));
        let formats = self.formats.iter().map(|format| (&format.tensor, "format"));
        for (tensor, what) in structures.chain(formats) {
            let name = tensor.text.as_str();
            if program.find(name).is_none() && self.symbol(name).is_none() && reported.insert(name)
            {
                let message = format!("`{name}` has a {what} but no rule uses it");
                let mut diagnostic = warning("W0102", message, tensor.span, "unused");
                let known = program.tensors.iter().map(|tensor| tensor.name.as_str());
                if let Some(close) = similar(name, known) {
                    diagnostic = diagnostic.hint(format!("did you mean `{close}`?"));
                }
                found.push(diagnostic);
            }
        }
        let read: BTreeSet<TensorId> = program
            .rules
            .iter()
            .flat_map(|rule| &rule.products)
            .flat_map(|product| &product.accesses)
            .map(|access| access.tensor)
            .collect();
        for rule in &program.rules {
            let tensor = program.tensor(rule.head);
            if matches!(tensor.role, Role::Intermediate(_)) && !read.contains(&rule.head) {
                let message = format!("`{}` is neither an output nor read", tensor.name);
                found.push(
                    warning("W0103", message, rule.span, "computed for nothing")
                        .hint("list it in `outputs:`, or remove the rule"),
                );
            }
        }
        if self.values.is_empty() {
            let message = "no rule computes anything".to_string();
            found.push(warning("W0107", message, Span::default(), "nothing to do"));
        }
        self.diagnostics.extend(found);
    }
}
