//! Random programs as a `proptest` strategy: a value is a program's text, and simpler ones have fewer lines, products
//! and factors.

use proptest::strategy::{NewTree, Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::generate;

/// Programs, by the seed that they are drawn from.
#[derive(Clone, Copy, Debug)]
pub struct Programs {
    /// The seed.
    pub seed: u64,
}

impl Strategy for Programs {
    type Tree = Shrinking;
    type Value = String;

    fn new_tree(&self, _: &mut TestRunner) -> NewTree<Self> {
        let source = generate::program(self.seed);
        Ok(Shrinking::new(source))
    }
}

/// A program that fails, and what is left to try.
#[derive(Debug)]
pub struct Shrinking {
    fails: String,
    candidates: Vec<String>,
    next: usize,
    progress: bool,
    current: String,
}

impl Shrinking {
    fn new(source: String) -> Shrinking {
        Shrinking {
            candidates: simpler(&source),
            next: 0,
            progress: false,
            current: source.clone(),
            fails: source,
        }
    }

    fn advance(&mut self) -> bool {
        if self.next == self.candidates.len() && self.progress {
            self.candidates = simpler(&self.fails);
            (self.next, self.progress) = (0, false);
        }
        let candidate = self.candidates.get(self.next).cloned();
        self.next += 1;
        let found = candidate.is_some();
        self.current = candidate.unwrap_or_else(|| self.fails.clone());
        found
    }
}

impl ValueTree for Shrinking {
    type Value = String;

    fn current(&self) -> String {
        self.current.clone()
    }

    /// The current one fails too: go on from it.
    fn simplify(&mut self) -> bool {
        if self.current != self.fails {
            self.fails.clone_from(&self.current);
            self.progress = true;
            // Later candidates are of the program before; the same places are tried again in the new one.
            self.candidates = simpler(&self.fails);
            self.next = self.next.saturating_sub(1).min(self.candidates.len());
        }
        self.advance()
    }

    /// The current one does not fail: try another.
    fn complicate(&mut self) -> bool {
        self.advance()
    }
}

/// The program without one line, product, factor or symbol.
fn simpler(source: &str) -> Vec<String> {
    let lines: Vec<&str> = source.lines().collect();
    let mut all = Vec::new();
    let mut without = |position: usize, replacement: Option<String>| {
        let mut text = String::new();
        for (k, line) in lines.iter().enumerate() {
            match &replacement {
                Some(replacement) if k == position => text += &format!("{replacement}\n"),
                None if k == position => {}
                _ => text += &format!("{line}\n"),
            }
        }
        all.push(text);
    };
    for position in 0..lines.len() {
        without(position, None);
    }
    for (position, line) in lines.iter().enumerate() {
        let Some((head, body)) = line.split_once(" := ") else { continue };
        let products = split(body, " + ");
        for skipped in 0..products.len() {
            if products.len() > 1 {
                without(position, Some(format!("{head} := {}", except(&products, skipped, " + "))));
            }
            let factors = split(products[skipped], " * ");
            for factor in (0..factors.len()).filter(|_| factors.len() > 1) {
                let mut rest: Vec<String> = products.iter().map(ToString::to_string).collect();
                rest[skipped] = except(&factors, factor, " * ");
                without(position, Some(format!("{head} := {}", rest.join(" + "))));
            }
        }
    }
    all
}

/// Parts between separators outside of parentheses.
fn split<'a>(text: &'a str, separator: &str) -> Vec<&'a str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth == 0 && at >= start && text[at..].starts_with(separator) => {
                parts.push(&text[start..at]);
                start = at + separator.len();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn except(parts: &[&str], skipped: usize, separator: &str) -> String {
    let kept = parts.iter().enumerate().filter(|(k, _)| *k != skipped).map(|(_, part)| *part);
    kept.collect::<Vec<_>>().join(separator)
}

#[test]
fn programs_shrink_to_what_fails() {
    let mut tree = Shrinking::new(
        "symbols: N, S\nA:D(i) := (0 <= i < N)\nH0(i) := A(i) * 2 * (i != S) + A(i + 1)\nH1() := A(i)\n".into(),
    );
    // "Fails" while an element is read at `i + 1`.
    let mut more = tree.simplify();
    while more {
        more =
            if tree.current().contains("A(i + 1)") { tree.simplify() } else { tree.complicate() };
    }
    assert_eq!(tree.current(), "H0(i) := A(i + 1)\n");
}
