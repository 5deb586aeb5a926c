//! What of a program with errors has nothing to do with them, so that these errors do not hide others.
//!
//! An error in a line about a tensor makes the tensor *doubtful*: rules that read it are left out, and tensors that
//! they compute are doubtful as well. What remains is a program like any other, whose structures can be inferred.

use std::collections::BTreeSet;

use crate::ast::{Aspect, File, Item, Span};
use crate::diagnostic::{Diagnostic, Severity};
use crate::lexer::{Token, TokenKind, lex};
use crate::program::{Program, Role, RuleId, TensorId};

/// What the lines speak of that could not be read.
#[derive(Default)]
pub(super) struct Broken {
    /// What they are about: the first name of a rule, and all names of a directive.
    names: BTreeSet<String>,
    /// Tensors that they read, which a directive may name.
    read: BTreeSet<String>,
    /// A line whose loss may make any other one wrong: `symbols:`, an unknown directive, or a block mark.
    anything: bool,
    any: bool,
}

impl Broken {
    /// Of the tokens of these lines.
    pub fn of(lines: &[Vec<Token>]) -> Broken {
        let mut broken = Broken { any: !lines.is_empty(), ..Broken::default() };
        for line in lines {
            let word = |token: &Token| match &token.kind {
                TokenKind::Name(name) => Some(name.clone()),
                _ => None,
            };
            let first = line.first().and_then(word);
            let assigns = line.iter().any(|token| token.is(":="));
            let directive = !assigns && !line.get(1).is_some_and(|token| token.is("("));
            // A word that is none of these may be meant as `symbols`.
            let known = ["outputs", "iters", "layout", "schedule", "types"];
            let known = first.as_deref().is_some_and(|first| known.contains(&first));
            broken.anything |= first.is_none() || directive && !known;
            for (at, token) in line.iter().enumerate() {
                let called = line
                    .get(at + 1)
                    .is_some_and(|next| ["(", ":", "^"].iter().any(|mark| next.is(mark)));
                if directive || at == 0 {
                    broken.names.extend(word(token));
                } else if called {
                    broken.read.extend(word(token));
                }
            }
        }
        broken
    }

    /// Whether there are such lines.
    pub fn any(&self) -> bool {
        self.any
    }

    /// Whether an error of the checker would also be there if these lines could be read. Warnings are not worth the
    /// doubt.
    pub fn has_nothing_to_do_with(
        &self,
        diagnostic: &Diagnostic,
        file: &File,
        source: &str,
    ) -> bool {
        if self.anything || diagnostic.severity == Severity::Warning {
            return false;
        }
        let at = diagnostic.place();
        let Some(item) = file.items.iter().find(|item| contains(item.span(), at)) else {
            return false;
        };
        source.get(item.span().start..item.span().end).is_some_and(|text| {
            lex(text).0.iter().all(|token| match &token.kind {
                TokenKind::Name(name) => {
                    let is_rule = matches!(item, Item::Rule(_) | Item::Format(_));
                    !self.names.contains(name) && (is_rule || !self.read.contains(name))
                }
                _ => true,
            })
        })
    }
}

fn contains(span: Span, at: usize) -> bool {
    (span.start..span.end.max(span.start + 1)).contains(&at)
}

/// The part of a program that its errors are not about. `None` if that cannot be told.
pub(super) fn sound(
    mut program: Program,
    file: &File,
    diagnostics: &[Diagnostic],
    broken: &Broken,
) -> Option<Program> {
    if broken.anything {
        return None;
    }
    let errors = diagnostics.iter().filter(|one| one.severity == Severity::Error);
    let places: Vec<usize> = errors.map(Diagnostic::place).collect();
    let faulty = |span: Span| places.iter().any(|at| contains(span, *at));
    let mut doubtful = broken.names.clone();
    let mut heads = BTreeSet::new();
    for item in &file.items {
        let (tensor, value) = match item {
            Item::Rule(rule) => (&rule.tensor, rule.aspect == Aspect::Value),
            Item::Format(format) => (&format.tensor, false),
            _ => continue,
        };
        if value {
            heads.insert(tensor.text.as_str());
        }
        if faulty(item.span()) {
            doubtful.insert(tensor.text.clone());
        }
    }
    for tensor in &mut program.tensors {
        let lost = tensor.role == Role::Input && heads.contains(tensor.name.as_str());
        let declared = tensor.domain.is_some() || tensor.unique.is_some();
        if lost || (tensor.role == Role::Input && tensor.rank > 0 && !declared) {
            doubtful.insert(tensor.name.clone());
        }
        // The dimensions of a doubtful tensor can be checked nevertheless.
        if doubtful.contains(&tensor.name) {
            tensor
                .domain
                .take_if(|domain| faulty(domain.span) || broken.names.contains(&tensor.name));
            (tensor.unique, tensor.redundancy, tensor.format) = (None, None, None);
            tensor.layout = None;
        }
    }
    // A rule may read what a rule behind it computes if rules are recursive.
    let mut rules = std::mem::take(&mut program.rules);
    let mut count = rules.len() + 1;
    while rules.len() < count {
        count = rules.len();
        rules.retain(|rule| {
            let mut reads = rule.products.iter().flat_map(|product| &product.accesses);
            let doubt = |id: TensorId| doubtful.contains(&program.tensor(id).name);
            let kept =
                !faulty(rule.span) && !doubt(rule.head) && !reads.any(|read| doubt(read.tensor));
            if !kept {
                doubtful.insert(program.tensor(rule.head).name.clone());
            }
            kept
        });
    }
    keep(&mut program, rules, &doubtful);
    Some(program)
}

/// Keeps these rules, and the tensors that are not doubtful or whose dimensions are declared; numbers both anew.
fn keep(program: &mut Program, rules: Vec<crate::program::Rule>, doubtful: &BTreeSet<String>) {
    let mut ids = Vec::new();
    let mut tensors = Vec::new();
    for tensor in std::mem::take(&mut program.tensors) {
        let kept = !doubtful.contains(&tensor.name) || tensor.domain.is_some();
        ids.push(kept.then_some(TensorId(tensors.len())));
        if kept {
            let role = if doubtful.contains(&tensor.name) { Role::Input } else { tensor.role };
            tensors.push(crate::program::Tensor { role, ..tensor });
        }
    }
    let id = |old: TensorId| ids.get(old.0).copied().flatten();
    for mut rule in rules {
        let Some(head) = id(rule.head) else { continue };
        rule.head = head;
        let accesses = || rule.products.iter().flat_map(|product| &product.accesses);
        if accesses().any(|access| id(access.tensor).is_none()) {
            continue;
        }
        for access in rule.products.iter_mut().flat_map(|product| &mut product.accesses) {
            access.tensor = id(access.tensor).unwrap_or(access.tensor);
        }
        let number = RuleId(program.rules.len());
        let tensor = &mut tensors[head.0];
        tensor.role = match tensor.role {
            Role::Intermediate(_) => Role::Intermediate(number),
            Role::Input | Role::Output(_) => Role::Output(number),
        };
        program.rules.push(rule);
    }
    program.tensors = tensors;
}
