//! A text in an editor, its words, and what is known of it.

use std::collections::BTreeMap;

use dastac::stur::ast::{File, Item, Span};
use dastac::stur::parse;

use super::worker::{Fact, Problem, Said};

/// A text in an editor.
pub struct Document {
    /// The editor's number of this text.
    pub version: i32,
    /// The text.
    pub text: String,
    /// Its lines without errors.
    pub file: File,
    /// What is wrong with it, as far as known.
    pub problems: Vec<Problem>,
    /// Whether inference has looked at this text.
    inferred: bool,
    /// Structures of tensors, perhaps of an earlier text.
    pub structures: BTreeMap<String, String>,
    /// Layouts of tensors, perhaps of an earlier text.
    pub layouts: BTreeMap<String, String>,
    /// Whether the worker gave up on this text.
    pub gave_up: bool,
}

/// A word of a text: a name, or what looks like one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word<'a> {
    /// The word.
    pub text: &'a str,
    /// Where it is.
    pub start: usize,
    /// Whether it is in a comment.
    pub comment: bool,
    /// The character before, on the same line and spaces aside.
    pub before: Option<char>,
    /// The character behind, on the same line and spaces aside.
    pub behind: Option<char>,
}

impl Word<'_> {
    /// Where it ends.
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Whether it is followed by what follows tensors and functions.
    pub fn is_called(&self) -> bool {
        matches!(self.behind, Some('(' | ':' | '^'))
    }
}

impl Document {
    /// A text that was opened.
    pub fn new(version: i32, text: String) -> Document {
        let (file, _) = parse(&text);
        Document {
            version,
            text,
            file,
            problems: Vec::new(),
            inferred: false,
            structures: BTreeMap::new(),
            layouts: BTreeMap::new(),
            gave_up: false,
        }
    }

    /// The text is another one now.
    pub fn change(&mut self, version: i32, text: String) {
        let old = std::mem::replace(self, Document::new(version, text));
        (self.structures, self.layouts) = (old.structures, old.layouts);
    }

    /// Takes in what a worker says; whether the editor is to be told of other problems.
    pub fn learn(&mut self, said: Said) -> bool {
        let by_name = |facts: Vec<Fact>| facts.into_iter().map(|fact| (fact.tensor, fact.text));
        match said {
            Said::Checked(problems) => self.problems = problems,
            Said::Inferred(problems, facts) => {
                self.inferred = true;
                self.problems = problems;
                if !facts.is_empty() {
                    self.structures = by_name(facts).collect();
                    self.layouts.retain(|name, _| self.structures.contains_key(name));
                }
            }
            Said::Layout(fact) => {
                self.layouts.insert(fact.tensor, fact.text);
                return false;
            }
            Said::Ended => {
                self.gave_up = !self.inferred;
                return self.gave_up;
            }
        }
        true
    }

    /// The item that a byte is in.
    pub fn item(&self, byte: usize) -> Option<&Item> {
        let holds = |span: Span| span.start <= byte && byte <= span.end;
        self.file.items.iter().find(|item| holds(item.span()))
    }

    /// All words, in order.
    pub fn words(&self) -> Vec<Word<'_>> {
        let mut words = Vec::new();
        let mut at = 0;
        for line in self.text.split_inclusive('\n') {
            let comment = line.find('#').unwrap_or(line.len());
            let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
            let mut from = 0;
            while let Some(start) = line[from..].find(|c: char| c.is_ascii_alphanumeric()) {
                let start = from + start;
                let end = line[start..].find(|c| !is_word(c)).map_or(line.len(), |at| start + at);
                let spaces = [' ', '\t', '\r', '\n'];
                words.push(Word {
                    text: &line[start..end],
                    start: at + start,
                    comment: start > comment,
                    before: line[..start].trim_end_matches(spaces).chars().next_back(),
                    behind: line[end..].trim_start_matches(spaces).chars().next(),
                });
                from = end;
            }
            at += line.len();
        }
        words
    }

    /// The word at a byte, or just before it.
    pub fn word(&self, byte: usize) -> Option<Word<'_>> {
        self.words().into_iter().find(|word| word.start <= byte && byte <= word.end())
    }

    /// The line that a byte is in, up to the byte.
    pub fn line_before(&self, byte: usize) -> &str {
        let before = self.text.get(..byte).unwrap_or(&self.text);
        before.rsplit('\n').next().unwrap_or(before)
    }
}
