//! The directives of a `schedule:` line, in a program or in a file of its own, checked against the rules that they
//! name.

use crate::ast::{Directive, GroupItem, Item, Name, ScheduleItem, SchedulePart, Span};
use crate::contract::{Unfit, factors, unfit};
use crate::diagnostic::{Diagnostic, Severity};
use crate::hint::similar;
use crate::masks::mask;
use crate::program::{Program, Rule, RuleId, TensorId};
use crate::schedule::{Contract, Expand, Group, Schedule, Workspace};

/// Blocks of more iterations than this are none.
const MAX_TILE: i64 = 1 << 20;
/// So many iterations of a loop may be side by side,
const MAX_UNROLL: i64 = 128;
/// and so many of two loops: 32 registers of 16 lanes.
const MAX_UNROLLED: i64 = 512;

impl Program {
    /// The `schedule:` line of all rules that have one, as it is written; `None` if none has.
    pub fn schedule_line(&self) -> Option<String> {
        let scheduled = self.rules.iter().filter(|rule| !rule.schedule.is_empty());
        let entries: Vec<String> = scheduled
            .map(|rule| format!("{} -> {}", self.tensor(rule.head).name, rule.schedule))
            .collect();
        (!entries.is_empty()).then(|| format!("schedule: {}", entries.join("; ")))
    }

    /// Schedules as the text of a file with a `schedule:` line says, and none where it says nothing.
    ///
    /// # Errors
    /// All errors of the text, with spans in it.
    pub fn reschedule(&mut self, text: &str) -> Result<(), Vec<Diagnostic>> {
        let (file, mut diagnostics) = crate::parser::parse(text);
        let mut items: &[ScheduleItem] = &[];
        let mut first: Option<Span> = None;
        for item in &file.items {
            let Item::Schedule(entries, span) = item else {
                let span = item.span();
                let message = "a file of schedules holds nothing but a `schedule:` line";
                let error = Diagnostic::error("E0003", message, span, "something else");
                diagnostics.push(error.hint("what is computed stands in the program"));
                continue;
            };
            match first {
                Some(first) => diagnostics.push(
                    Diagnostic::error("E0101", "`schedule:` is given twice", *span, "again")
                        .label(first, "first here")
                        .hint("put all of it on one line"),
                ),
                None => (first, items) = (Some(*span), entries),
            }
        }
        let heads: Vec<String> =
            self.rules.iter().map(|rule| self.tensor(rule.head).name.clone()).collect();
        self.rules.iter_mut().for_each(|rule| rule.schedule = Schedule::default());
        diagnostics.extend(apply(self, items, &heads, &[]));
        match diagnostics.iter().any(|found| found.severity == Severity::Error) {
            true => Err(diagnostics),
            false => Ok(()),
        }
    }
}

/// Gives rules what the entries of `schedule:` say; what is wrong with them. `heads` are computed by rules, and
/// `formatted` have a `:F`, perhaps one with errors.
pub(crate) fn apply(
    program: &mut Program,
    items: &[ScheduleItem],
    heads: &[String],
    formatted: &[&str],
) -> Vec<Diagnostic> {
    let mut errors = Vec::new();
    let mut seen: Vec<&ScheduleItem> = Vec::new();
    for item in items {
        let name = &item.head;
        if let Some(first) = seen.iter().find(|other| other.head.text == name.text) {
            let message = format!("`schedule:` lists `{}` twice", name.text);
            let error = Diagnostic::error("E0102", message, name.span, "again");
            errors.push(error.label(first.head.span, "first here"));
            continue;
        }
        seen.push(item);
        if !heads.contains(&name.text) {
            let known = program.find(&name.text).is_some();
            let message = format!("`schedule:` names `{}`, which no rule computes", name.text);
            let label = if known { "an input" } else { "unknown" };
            let mut error = Diagnostic::error("E0106", message, name.span, label);
            if let Some(close) = similar(&name.text, heads.iter().map(String::as_str)) {
                error = error.hint(format!("did you mean `{close}`?"));
            }
            errors.push(error);
            continue;
        }
        let head = program.find(&name.text);
        let Some(at) = program.rules.iter().position(|rule| Some(rule.head) == head) else {
            continue; // the rule has errors of its own
        };
        let (id, rule) = (RuleId(at), &program.rules[at]);
        let mut reader = Reader { program, id, rule, formatted, errors: &mut errors };
        let schedule = reader.schedule(item);
        program.rules[at].schedule = schedule;
    }
    errors
}

struct Reader<'a> {
    program: &'a Program,
    id: RuleId,
    rule: &'a Rule,
    formatted: &'a [&'a str],
    errors: &'a mut Vec<Diagnostic>,
}

fn group(item: &GroupItem) -> Group {
    match item {
        GroupItem::Factor(name) => Group::Factor(name.text.clone()),
        GroupItem::Group(parts, _) => Group::Step(parts.iter().map(group).collect()),
    }
}

/// `i, j` in backquotes.
fn quoted(names: &[String]) -> String {
    format!("`{}`", names.join("`, `"))
}

impl Reader<'_> {
    fn schedule(&mut self, item: &ScheduleItem) -> Schedule {
        let mut schedule = Schedule::default();
        // Which directive names which loop; of those that are given once, where.
        let mut named: Vec<(Directive, &str, Span)> = Vec::new();
        let mut given: Vec<(Directive, Span)> = Vec::new();
        for part in &item.parts {
            let SchedulePart { directive, loops, groups, span } = part;
            let word = directive.word();
            if !directive.has_sizes() {
                if let Some((_, first)) = given.iter().find(|(other, _)| other == directive) {
                    let message = format!("`{word}` is given twice for `{}`", item.head.text);
                    let error = Diagnostic::error("E0102", message, *span, "again");
                    self.errors.push(error.label(*first, "first here"));
                    continue;
                }
                given.push((*directive, *span));
                if *directive != Directive::Reorder && loops.len() > 1 {
                    let what = match directive {
                        Directive::Vectorize => "is in the lanes of vectors",
                        _ => "is shared among threads",
                    };
                    let message = format!("`{word}` names {} loops", loops.len());
                    let error = Diagnostic::error("E0125", message, *span, "more than one");
                    self.errors.push(error.hint(format!("one loop {what}: keep one of them")));
                    continue;
                }
            }
            match directive {
                Directive::Contract => schedule.contract = self.contract(groups, *span),
                Directive::Workspace => schedule.workspace = self.workspace(groups, *span),
                Directive::Expand => schedule.expand = self.expand(groups),
                _ => {}
            }
            for (name, size) in loops {
                if !self.is_loop(&name.text, name.span) {
                    continue;
                }
                let twice = |(other, text, _): &&(Directive, &str, Span)| {
                    other == directive && *text == name.text
                };
                if let Some((_, _, first)) = named.iter().find(twice) {
                    let message = format!("`{word}` names `{}` twice", name.text);
                    let error = Diagnostic::error("E0102", message, name.span, "again");
                    self.errors.push(error.label(*first, "first here"));
                    continue;
                }
                named.push((*directive, &name.text, name.span));
                let loop_name = name.text.clone();
                match (directive, size) {
                    (Directive::Reorder, _) => schedule.order.push(loop_name),
                    (Directive::Tile, Some(size)) => {
                        if self.in_range(word, *size, MAX_TILE, name.span) {
                            schedule.tiles.push((loop_name, *size));
                        }
                    }
                    (Directive::Unroll, Some(size)) => {
                        if self.in_range(word, *size, MAX_UNROLL, name.span) {
                            schedule.unroll.push((loop_name, *size));
                        }
                    }
                    (Directive::Vectorize, _) => schedule.vectorize = Some(loop_name),
                    (Directive::Parallel, _) if !self.rule.iterators.contains(&loop_name) => {
                        let message =
                            format!("`parallel` names `{loop_name}`, which is summed over");
                        let error = Diagnostic::error("E0124", message, name.span, "a reduction");
                        let hint = match self.rule.iterators.is_empty() {
                            true => "leave it out: a scalar is one sum".to_owned(),
                            false => format!(
                                "its iterations add to the same elements; share one of {}",
                                quoted(&self.rule.iterators)
                            ),
                        };
                        self.errors.push(error.hint(hint));
                    }
                    (Directive::Parallel, _) => schedule.parallel = Some(loop_name),
                    // The parser asks for a size, and gives groups no loops.
                    (Directive::Tile | Directive::Unroll, None)
                    | (Directive::Contract | Directive::Workspace | Directive::Expand, _) => {}
                }
            }
        }
        self.unrolled(&schedule, item);
        schedule
    }

    /// A kind of workspace, as `hash, 4096`; the rule's result may be named in front.
    fn workspace(&mut self, words: &[GroupItem], span: Span) -> Option<Workspace> {
        let head = &self.program.tensor(self.rule.head).name;
        let words: Vec<&Name> = words
            .iter()
            .filter_map(|word| match word {
                GroupItem::Factor(name) => Some(name),
                GroupItem::Group(..) => None,
            })
            .collect();
        let mut fails = |message: String, span: Span, label: &str, hint: &str| {
            self.errors.push(Diagnostic::error("E0137", message, span, label).hint(hint));
            None
        };
        if self.program.tensor(self.rule.head).format.is_none()
            && !self.formatted.contains(&head.as_str())
        {
            let message = format!("`{head}` has no use for a workspace");
            let hint = format!("only a result with `:F` has one: `{head}:F := csr`");
            return fails(message, span, "its elements have places of their own", &hint);
        }
        let words = match &words[..] {
            [first, rest @ ..] if !rest.is_empty() && first.text == *head => rest,
            words => words,
        };
        let hint = "write `workspace(hash, 4096)`, `workspace(list, 65536)`, `workspace(list)`, \
            `workspace(bucket, 64)` or `workspace(dense)`";
        let Some((kind, capacities)) = words.split_first() else {
            return fails("`workspace` names no kind".into(), span, "nothing here", hint);
        };
        if !Workspace::WORDS.contains(&kind.text.as_str()) {
            let message = format!("`{}` is not a kind of workspace", kind.text);
            let close = similar(&kind.text, Workspace::WORDS);
            let hint =
                close.map_or_else(|| hint.into(), |close| format!("did you mean `{close}`?"));
            return fails(message, kind.span, "unknown", &hint);
        }
        let capacity = match capacities {
            [] => None,
            [capacity] if kind.text != "dense" => {
                let number = capacity.text.parse::<i64>().ok();
                if !number.is_some_and(|number| (1..=Workspace::MOST).contains(&number)) {
                    let (message, hint) = match kind.text.as_str() {
                        "bucket" => (
                            format!("a bucket cannot have {} coordinates", capacity.text),
                            "all points at these coordinates of the first level are sorted together",
                        ),
                        _ => (
                            format!("a workspace cannot hold {} points", capacity.text),
                            "what does not fit is merged into what was found before",
                        ),
                    };
                    let label = format!("not a number from 1 to {}", Workspace::MOST);
                    let error = Diagnostic::error("E0123", message, capacity.span, label);
                    self.errors.push(error.hint(hint));
                    return None;
                }
                number
            }
            [one, ..] => {
                let message = format!("`workspace` takes no `{}` here", one.text);
                return fails(message, one.span, "too much", hint);
            }
        };
        Some(match kind.text.as_str() {
            "dense" => Workspace::Dense,
            "list" => Workspace::List(capacity),
            "bucket" => Workspace::Bucket(capacity),
            _ => Workspace::Hash(capacity),
        })
    }

    /// The operands that are read from copies; says which names are none.
    fn expand(&mut self, words: &[GroupItem]) -> Option<Expand> {
        let mut names: Vec<String> = Vec::new();
        for word in words {
            let GroupItem::Factor(name) = word else { continue };
            if name.text == "none" && words.len() == 1 {
                return Some(Expand::Never);
            }
            let read = |tensor: TensorId| self.program.tensor(tensor).name == name.text;
            let products = self.rule.products.iter();
            let mut accesses = products
                .flat_map(|product| factors(product).into_iter().map(|at| &product.accesses[at]));
            let Some(access) = accesses.find(|access| read(access.tensor)) else {
                let head = &self.program.tensor(self.rule.head).name;
                let masked = |product| !mask(self.rule, product).is_empty();
                if name.text == *head && self.rule.products.iter().any(masked) {
                    names.push(name.text.clone());
                    continue;
                }
                let message =
                    format!("`expand` names `{}`, which is no factor of `{head}`", name.text);
                let error = Diagnostic::error("E0138", message, name.span, "not read");
                let hint = match name.text == *head {
                    true => {
                        "a result is expanded where quotients or remainders say which elements it has"
                    }
                    false => "name tensors of the rule's products, or `none`",
                };
                self.errors.push(error.hint(hint));
                return None;
            };
            let tensor = self.program.tensor(access.tensor);
            if tensor.format.is_some() || self.formatted.contains(&tensor.name.as_str()) {
                let message = format!("`{}` stores all of its elements", name.text);
                let error = Diagnostic::error("E0138", message, name.span, "has `:F`");
                self.errors
                    .push(error.hint("only packed tensors have redundant elements: leave it out"));
                return None;
            }
            names.push(name.text.clone());
        }
        Some(Expand::Tensors(names))
    }

    /// The steps that a rule's factors are multiplied in; says what is wrong with them if they are not possible.
    fn contract(&mut self, groups: &[GroupItem], span: Span) -> Option<Contract> {
        let head = &self.program.tensor(self.rule.head).name;
        let groups: Vec<Group> = match groups {
            [GroupItem::Factor(word)] if word.text == "none" => return Some(Contract::Never),
            groups => groups.iter().map(group).collect(),
        };
        let (code, message, label, hint) = match unfit(self.program, self.id, &groups) {
            None => return Some(Contract::Groups(groups)),
            Some(Unfit::Factors(products)) => {
                let products: Vec<String> =
                    products.iter().map(|factors| format!("`{factors}`")).collect();
                (
                    "E0135",
                    format!("`contract` does not name the factors of a product of `{head}`"),
                    "each factor once, by its tensor or by its number".to_owned(),
                    format!(
                        "the factors are {}; `contract(none)` is one step",
                        products.join("; ")
                    ),
                )
            }
            Some(Unfit::Product(why)) => (
                "E0136",
                format!("a product of `{head}` cannot be multiplied in steps"),
                why.to_owned(),
                "leave `contract` out: its factors are multiplied in one step".to_owned(),
            ),
            Some(Unfit::Open(iterator)) => (
                "E0136",
                format!("a step of `{head}` does not bound `{iterator}`"),
                format!("no factor of the step has the subscript `{iterator}`"),
                "put the factor that bounds it in the same group".to_owned(),
            ),
            Some(Unfit::Stored) => (
                "E0136",
                format!("a step of `{head}` would hide what is stored"),
                format!("`{head}` has `:F`: it stores what its products find"),
                "leave factors with `:F` outside of groups".to_owned(),
            ),
        };
        self.errors.push(Diagnostic::error(code, message, span, label).hint(hint));
        None
    }

    /// Whether a name is a loop of the rule; says so if not.
    fn is_loop(&mut self, name: &str, span: Span) -> bool {
        let mut loops: Vec<String> = self.rule.iterators.clone();
        for iterator in self.rule.products.iter().flat_map(|product| &product.iterators) {
            if !loops.contains(iterator) {
                loops.push(iterator.clone());
            }
        }
        if loops.iter().any(|known| known == name) {
            return true;
        }
        let head = &self.program.tensor(self.rule.head).name;
        let message = format!("`{name}` is no loop of the rule for `{head}`");
        let error = Diagnostic::error("E0122", message, span, "unknown");
        let hint = match (similar(name, loops.iter().map(String::as_str)), loops.is_empty()) {
            (Some(close), _) => format!("did you mean `{close}`?"),
            (None, true) => "the rule has no loops".to_owned(),
            (None, false) => format!("its loops are {}", quoted(&loops)),
        };
        self.errors.push(error.hint(hint));
        false
    }

    fn in_range(&mut self, word: &str, size: i64, most: i64, span: Span) -> bool {
        let fits = (1..=most).contains(&size);
        if !fits {
            let message = format!("`{word}` cannot take {size} iterations of a loop");
            let label = format!("not from 1 to {most}");
            let error = Diagnostic::error("E0123", message, span, label);
            self.errors.push(
                error.hint(format!("take a size from 1 to {most}; 1 leaves the loop as it is")),
            );
        }
        fits
    }

    /// What is unrolled must fit together.
    fn unrolled(&mut self, schedule: &Schedule, item: &ScheduleItem) {
        let of_head =
            |(name, size): &&(String, i64)| *size > 1 && self.rule.iterators.contains(name);
        let loops: Vec<&(String, i64)> = schedule.unroll.iter().filter(of_head).collect();
        let parts = item.parts.iter().filter(|part| part.directive == Directive::Unroll);
        let Some(span) = parts.map(|part| part.span).reduce(Span::to) else { return };
        if loops.len() > 2 {
            let message = format!("{} loops of `{}` are unrolled", loops.len(), item.head.text);
            let error = Diagnostic::error("E0125", message, span, "more than two");
            self.errors.push(error.hint("a tile in registers has two sides: unroll two of them"));
            return;
        }
        let product: i64 = loops.iter().map(|(_, size)| size).product();
        if product > MAX_UNROLLED {
            let message = format!("{product} iterations are unrolled side by side");
            let label = format!("more than {MAX_UNROLLED}");
            let error = Diagnostic::error("E0123", message, span, label);
            self.errors.push(error.hint("no machine has so many registers: take smaller factors"));
        }
    }
}
