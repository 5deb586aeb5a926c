//! Random programs of a rule over dynamic tensors: semirings, element types, formats and orders of loops, several
//! products, subscripts of several iterators, masks, structured and dense operands beside dynamic ones, conditions. Its
//! result may have a format, and some of its operands are results of rules before it, also of preprocess blocks.
//!
//! Not every program means something, or is supported: the checker's answer is part of the test.

use std::collections::BTreeMap;

use rand::Rng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_chacha::ChaCha8Rng;

use crate::terms::Terms;

/// Names of dimensions.
const DIMENSIONS: [&str; 3] = ["a", "b", "c"];

/// Tensors that are not dynamic, with their structure.
const OTHERS: &[(&str, usize, &str)] = &[
    ("x", 1, ""),
    ("X", 2, ""),
    ("L", 2, "L:U(a, b) := (b <= a)\n"),
    ("H", 2, "H:U(a, b) := (a <= b)\nH:R(a, b, ap, bp) := (a > b) * (ap = b) * (bp = a)\n"),
    ("K", 2, "K:U(a, b) := (a < b)\nK:R(a, b, ap, bp) := -1 * (a > b) * (ap = b) * (bp = a)\n"),
    ("W", 2, "W:U(a, b) := (a <= b + 1) * (b <= a + 1)\n"),
    ("s", 0, ""),
];

/// What a program is drawn from.
pub struct Generator<'a> {
    rng: &'a mut ChaCha8Rng,
    /// The iterators of the head, then the others.
    iterators: Vec<&'static str>,
    extents: Vec<&'static str>,
    head: usize,
    /// Whether factors may be functions of elements.
    functions: bool,
    /// The type of all elements in programs with functions.
    of_functions: &'static str,
    /// `+`, `min`, `max` or `or`, and what joins factors.
    semiring: (&'static str, char),
    /// Names of operands that were declared.
    inputs: Vec<String>,
    /// Those that rules compute, and how.
    computed: BTreeMap<String, Way>,
    lines: Vec<String>,
}

/// How an operand is computed.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Sum,
    Product,
    Transposed,
    Minimum,
    Disjunction,
}

/// Whether a seed's program may have functions of elements.
pub fn has_functions(seed: u64) -> bool {
    seed % 3 == 2
}

/// A program's text, with functions of elements or without.
pub fn program(rng: &mut ChaCha8Rng, functions: bool) -> String {
    let head = *[0, 1, 1, 2, 2, 2, 3].choose(rng).expect("not empty");
    let reduced = *[0, 1, 1, 1, 2, 2].choose(rng).expect("not empty");
    let count = (head + reduced).clamp(1, 4);
    let iterators = ["i", "j", "k", "l"][..count].to_vec();
    let extents = (0..count).map(|_| *["N", "N", "M", "3"].choose(rng).expect("not empty"));
    let extents = extents.collect();
    let semirings = [('+', '*'); 6].map(|_| ("+", '*')).to_vec();
    let others = [("min", '+'), ("max", '+'), ("max_times", '*'), ("or", '*')];
    let semiring = *[semirings, others.to_vec()].concat().choose(rng).expect("not empty");
    let (inputs, computed, lines) = (Vec::new(), BTreeMap::new(), Vec::new());
    let head = head.min(count);
    let of_functions = match functions {
        true if semiring.1 == '*' => ["f64", "f64", "f32", "i32", "i64"].choose(rng),
        true => ["f64", "f64", "f32"].choose(rng),
        false => None,
    };
    let of_functions = of_functions.copied().unwrap_or("f64");
    Generator {
        rng,
        iterators,
        extents,
        head,
        functions,
        of_functions,
        semiring,
        inputs,
        computed,
        lines,
    }
    .build()
}

impl Generator<'_> {
    fn chance(&mut self, percent: u32) -> bool {
        self.rng.random_range(0..100) < percent
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from.choose(self.rng).expect("not empty").clone()
    }

    fn build(mut self) -> String {
        let sums = self.semiring.0 == "+";
        let products = if sums { self.pick(&[1, 1, 1, 2, 2, 3]) } else { 1 };
        let products: Vec<String> = (0..products).map(|_| self.product()).collect();
        let body = products.join(" + ");
        let (own, reduced) = self.iterators.split_at(self.head);
        let (own, reduced) = (own.join(", "), reduced.to_vec());
        let mentioned = |name: &&&str| uses(&body, name);
        let reduced: Vec<&str> = reduced.iter().filter(mentioned).copied().collect();
        let word = match sums {
            true => String::new(),
            false => format!("{}({}) ", self.semiring.0, reduced.join(", ")),
        };
        let mut text = String::from("symbols: N, M\n");
        text += &self.types();
        if self.chance(60) {
            let mut order = self.iterators.clone();
            order.retain(|name| own.contains(name) || reduced.contains(name));
            order.shuffle(self.rng);
            if !order.is_empty() {
                text += &format!("iters: y -> {}\n", order.join(", "));
            }
        }
        text += &format!("y({own}) := {word}{body}\n");
        if self.head > 0 {
            let bounds: Vec<String> = (0..self.head).map(|at| self.bound(at)).collect();
            text += &format!("y:D({own}) := {}\n", bounds.join(" * "));
            if self.chance(30) {
                let names = self.iterators[..self.head].to_vec();
                text += &format!("y:F({own}) := {}\n", self.format(&names));
                text += &self.workspace();
            }
        }
        text + &self.lines.concat()
    }

    /// Where the elements of the result come together, in some programs. What is drawn after it stays what it was
    /// without it.
    fn workspace(&self) -> String {
        let mut rng = self.rng.clone();
        let capacity = rng.random_range(1..12);
        let kind = match rng.random_range(0..10) {
            0 => "dense".into(),
            1 => "list".into(),
            2 => format!("list, {capacity}"),
            3 => format!("hash, {capacity}"),
            4 => format!("bucket, {capacity}"),
            5 => "bucket".into(),
            _ => return String::new(),
        };
        format!("schedule: y -> workspace({kind})\n")
    }

    fn bound(&self, at: usize) -> String {
        format!("(0 <= {} < {})", self.iterators[at], self.extents[at])
    }

    /// Element types that go together, in some programs.
    fn types(&mut self) -> String {
        if self.functions {
            let names = self.inputs.iter().map(String::as_str).chain(["y"]);
            let types = names.map(|name| format!("{name} = {}", self.of_functions));
            return format!("types: {}\n", types.collect::<Vec<_>>().join(", "));
        }
        if self.chance(60) {
            return String::new();
        }
        let integers = ["i32", "i64", "bool", "i8", "i16", "u8"];
        let all = ["f64", "f32", "i32", "i64", "bool", "f16", "bf16", "i8", "u8"];
        let (word, times) = self.semiring;
        let head = match (word, times) {
            ("or", _) => self.pick(&["bool", "bool", "f64", "i32"]),
            (_, '+') => self.pick(&["f64", "f64", "f32", "f16", "bf16"]),
            // Sums wrap around in the same way whatever their order; the largest of remainders may be any of them.
            ("", _) => self.pick(&["i32", "i64", "f64", "i8", "i16", "u8", "f16", "bf16"]),
            _ => self.pick(&["i32", "i64", "i32", "f64"]),
        };
        let mut types: Vec<(String, &str)> = vec![("y".into(), head)];
        for name in self.inputs.clone() {
            // An operand of a rule before is named after that one's head.
            let reader = types.iter().find(|(known, _)| name.ends_with(known.as_str()));
            let into = reader.map_or(head, |(_, own)| own);
            let own = self.computed.get(&name).copied();
            let from: Vec<&str> = match own {
                Some(Way::Minimum) => vec!["f64", "f32"],
                _ if into.starts_with('i') || into == "u8" => integers.to_vec(),
                _ => all.to_vec(),
            };
            // Truth values are neither sums nor, where they are redundant, negatives.
            let whole = name == "K" || own.is_some_and(|way| way != Way::Disjunction);
            let known = self.pick(&from);
            let known = match known {
                "bool" if whole => "i32",
                "u8" if name == "K" => "i8",
                known => known,
            };
            types.push((name, known));
        }
        let types: Vec<String> =
            types.into_iter().map(|(name, own)| format!("{name} = {own}")).collect();
        format!("types: {}\n", types.join(", "))
    }

    /// A product, with at least one dynamic tensor. Most iterators of the head are in it, and all others that are have
    /// bounds.
    fn product(&mut self) -> String {
        let join = format!(" {} ", self.semiring.1);
        let mut factors = Vec::new();
        let mut dynamic = 0;
        for at in 0..self.pick(&[1, 1, 2, 2, 3]) {
            if at == 0 || self.chance(50) {
                dynamic += 1;
                factors.push(self.dynamic());
            } else {
                factors.push(self.other());
            }
            // Where nothing is stored, most functions are not 0: a factor beside them says where the product is.
            if self.functions && self.semiring.0 != "or" && self.chance(35) {
                let function = self.function();
                match self.chance(50) {
                    true => factors.push(function),
                    false => *factors.last_mut().expect("one is there") = function,
                }
            }
        }
        debug_assert!(dynamic > 0);
        // Most iterators of the head that no factor has get one; the others are bound by the result alone.
        for at in 0..self.head {
            let name = self.iterators[at];
            if !factors.iter().any(|factor| uses(factor, name)) && self.chance(65) {
                let other = self.input("x", 1, "");
                factors.push(format!("{other}({name})"));
            }
        }
        if self.semiring.0 == "+" && self.chance(25) {
            factors.push(self.pick(&["2", "(-1)", "3", "N()"]).into());
        }
        let values = factors.join(&join);
        let mut conditions = Vec::new();
        for at in self.head..self.iterators.len() {
            let name = self.iterators[at];
            let alone = factors.iter().any(|factor| bare(factor, name));
            if uses(&values, name) && (!alone || self.chance(20)) {
                conditions.push(self.bound(at));
            }
        }
        if self.chance(25) {
            conditions.extend(self.condition(&values));
        }
        let several = factors.len() > 1 && self.semiring.1 == '+';
        let values = if several && !conditions.is_empty() { format!("({values})") } else { values };
        [vec![values], conditions].concat().join(" * ")
    }

    fn condition(&mut self, values: &str) -> Option<String> {
        let used: Vec<&str> =
            self.iterators.iter().filter(|name| uses(values, name)).copied().collect();
        let i = *used.choose(self.rng)?;
        let j = *used.choose(self.rng)?;
        if i == j {
            return Some(match self.rng.random_range(0..4) {
                0 => format!("({i} >= 1)"),
                1 => format!("({i} < M)"),
                2 => format!("({i} % 2 = 0)"),
                _ => format!("({i} != 2)"),
            });
        }
        Some(match self.rng.random_range(0..6) {
            0 => format!("({i} <= {j})"),
            1 => format!("({i} + 1 < {j})"),
            2 => format!("({i} + {j} < N)"),
            3 => format!("({i} != {j})"),
            4 => format!("(({i} + {j}) % 2 = 0)"),
            _ => format!("({i} <= {j} + 1)"),
        })
    }

    /// A dynamic tensor of its own or, rarely, one that was there before.
    fn dynamic(&mut self) -> String {
        let rank = self.pick(&[1, 2, 2, 2, 3]);
        let letter = ["D", "A", "T"][rank - 1];
        let old: Vec<String> =
            self.inputs.iter().filter(|name| name.starts_with(letter)).cloned().collect();
        let name = match old.choose(self.rng) {
            Some(name) if self.rng.random_range(0..100) < 25 => name.clone(),
            _ => self.declared(&format!("{letter}{}", self.inputs.len()), rank),
        };
        let subscripts: Vec<String> = (0..rank).map(|_| self.subscript()).collect();
        format!("{name}({})", subscripts.join(", "))
    }

    fn declared(&mut self, name: &str, rank: usize) -> String {
        let dims = &DIMENSIONS[..rank];
        let bounds: Vec<String> =
            dims.iter().map(|dim| format!("(0 <= {dim} < {})", self.extent())).collect();
        self.dimensions(name, dims, &bounds);
        if self.chance(15) {
            self.compute(name, dims, &bounds);
        }
        name.into()
    }

    /// Declares a tensor with a format.
    fn dimensions(&mut self, name: &str, dims: &[&str], bounds: &[String]) {
        let (head, bounds, format) = (dims.join(", "), bounds.join(" * "), self.format(dims));
        self.lines.push(format!("{name}:D({head}) := {bounds}\n{name}:F({head}) := {format}\n"));
        self.inputs.push(name.into());
    }

    /// A rule for an operand, in a preprocess block or before the rule that reads it.
    fn compute(&mut self, name: &str, dims: &[&str], bounds: &[String]) {
        let mut ways = vec![Way::Sum, Way::Sum, Way::Product, Way::Transposed, Way::Disjunction];
        // Sums of infinities depend on the order of their terms.
        if self.semiring.0 == "min" {
            ways.extend([Way::Minimum; 4]);
        }
        let way = self.pick(&ways);
        let (one, other) = (format!("S{name}"), format!("R{name}"));
        let own = dims.join(", ");
        let mut source = dims.to_vec();
        let mut extents = bounds.to_vec();
        match way {
            Way::Transposed => source.reverse(),
            Way::Minimum => {
                source.push("t");
                extents.push("(0 <= t < 3)".into());
            }
            Way::Sum | Way::Product | Way::Disjunction => {}
        }
        let read = format!("{one}({})", source.join(", "));
        let body = match way {
            Way::Sum => format!("{read} + 2 * {other}({own})"),
            Way::Product => format!("{read} * {other}({own})"),
            Way::Transposed => read,
            Way::Minimum => format!("min(t) {read} + {other}({own})"),
            Way::Disjunction => format!("or() {read} * {other}({own})"),
        };
        let rule = format!("{name}({own}) := {body}\n");
        let line = match self.chance(50) {
            true => format!("@preprocess_start\n{rule}@preprocess_end\n"),
            false => rule,
        };
        self.lines.push(line);
        self.computed.insert(name.into(), way);
        self.dimensions(&one, &source, &extents);
        if way != Way::Transposed {
            self.dimensions(&other, dims, bounds);
        }
    }

    fn extent(&mut self) -> &'static str {
        self.pick(&["N", "N", "N", "M", "M", "4", "N + 1", "2 * M"])
    }

    /// Levels of any kinds in any order.
    fn format(&mut self, dims: &[&str]) -> String {
        let rank = dims.len();
        let mut order = dims.to_vec();
        if self.chance(35) {
            order.shuffle(self.rng);
        }
        let names = order.join(", ");
        match self.rng.random_range(0..14) {
            0 => format!("coo({names})"),
            1 => format!("csf({names})"),
            2 if rank == 2 => self.pick(&["csr", "csc", "dcsr", "dcsc", "dia"]).into(),
            3 if rank > 1 => self.diagonals(&order),
            4 | 5 => self.blocks(&order),
            _ => {
                let kinds = ['D', 'D', 'C', 'C', 'C', 'B'];
                let letters: String = (0..rank).map(|_| self.pick(&kinds)).collect();
                format!("{letters}({names})")
            }
        }
    }

    /// A level of any kind that stores coordinates of its own.
    fn level(&mut self, expression: &str) -> String {
        let kind = self.pick(&["dense", "compressed", "compressed", "bitmap"]);
        let width = match kind {
            "compressed" if self.chance(20) => self.pick(&[", u8", ", u16"]),
            _ => "",
        };
        format!("{kind}({expression}{width})")
    }

    /// Levels of quotients of some dimensions, followed by levels of their remainders.
    fn blocks(&mut self, dims: &[&str]) -> String {
        let (mut outer, mut inner) = (Vec::new(), Vec::new());
        for dim in dims {
            if self.chance(35) {
                outer.push(self.level(dim));
                continue;
            }
            let by = self.pick(&[2, 2, 3, 4]);
            outer.push(self.level(&format!("{dim} / {by}")));
            let kind = self.pick(&["dense", "dense", "compressed", "bitmap"]);
            inner.push(format!("{kind}({dim} % {by})"));
        }
        let (first, last) = if self.chance(15) { (inner, outer) } else { (outer, inner) };
        [first, last].concat().join(", ")
    }

    /// A level of a sum or a difference of the first two dimensions, then those dimensions that it does not give.
    fn diagonals(&mut self, dims: &[&str]) -> String {
        let (one, other) = (dims[0], dims[1]);
        let line = match self.rng.random_range(0..5) {
            0 | 1 => format!("{other} - {one}"),
            2 => format!("{one} + {other}"),
            3 => format!("{other} - 2 * {one}"),
            _ => format!("{other} - {one} + 1"),
        };
        let mut levels = vec![self.level(&line), self.level(one)];
        if self.chance(50) {
            levels.push(format!("offset({other})"));
        }
        levels.extend(dims[2..].iter().map(|dim| self.level(dim)));
        levels.join(", ")
    }

    fn subscript(&mut self) -> String {
        let i = self.pick(&self.iterators.clone());
        let j = self.pick(&self.iterators.clone());
        match self.rng.random_range(0..20) {
            0 => format!("{i} + 1"),
            1 => format!("{i} + -1"),
            2 => format!("2 * {i}"),
            3 => "1".into(),
            4 if i != j => format!("{i} + {j}"),
            5 if i != j => format!("{i} + {j} + -1"),
            6 if i != j => format!("2 * {i} + {j}"),
            7 if i != j => format!("{i} + -1 * {j}"),
            8 if i != j => format!("{i} + 2 * {j} + -2"),
            _ => i.into(),
        }
    }

    /// A dense or structured operand.
    fn other(&mut self) -> String {
        let &(name, rank, structure) = OTHERS.choose(self.rng).expect("not empty");
        let scaled = structure.contains("-1 *") && self.semiring.0 != "+";
        let (name, rank, structure) = if scaled { ("x", 1, "") } else { (name, rank, structure) };
        let name = self.input(name, rank, structure);
        let subscripts: Vec<String> = (0..rank)
            .map(|_| match self.chance(15) {
                true => self.subscript(),
                false => self.pick(&self.iterators.clone()).into(),
            })
            .collect();
        format!("{name}({})", subscripts.join(", "))
    }

    fn input(&mut self, name: &str, rank: usize, structure: &str) -> String {
        if !self.inputs.iter().any(|known| known == name) {
            let dims = &DIMENSIONS[..rank];
            if rank > 0 {
                let bounds: Vec<String> =
                    dims.iter().map(|dim| format!("(0 <= {dim} < N)")).collect();
                let head = dims.join(", ");
                self.lines.push(format!("{name}:D({head}) := {}\n{structure}", bounds.join(" * ")));
            }
            self.inputs.push(name.into());
        }
        name.into()
    }
}

impl Terms for Generator<'_> {
    fn rng(&mut self) -> &mut ChaCha8Rng {
        self.rng
    }

    fn element(&mut self) -> String {
        if self.chance(60) { self.dynamic() } else { self.other() }
    }

    fn input(&mut self) -> String {
        let mut element = self.element();
        while self.computed.keys().any(|name| element.starts_with(&format!("{name}("))) {
            element = self.other();
        }
        element
    }

    fn whole(&self) -> bool {
        self.of_functions.starts_with('i')
    }

    fn index(&mut self) -> String {
        let names = [&self.iterators[..], &["N"]].concat();
        self.pick(&names).into()
    }
}

/// Whether a text has a name in it.
fn uses(text: &str, name: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == name)
}

/// Whether an iterator stands alone in a subscript: then the tensor bounds it.
fn bare(factor: &str, name: &str) -> bool {
    // Names of functions begin with small letters, those of tensors, except for two, with large ones.
    let mut before = "";
    for part in factor.split('(') {
        let tensor = before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or("");
        let named =
            matches!(tensor, "x" | "s") || tensor.starts_with(|c: char| c.is_ascii_uppercase());
        let inside = part.split_once(')').map_or(part, |(inside, _)| inside);
        if named && inside.split(", ").any(|subscript| subscript == name) {
            return true;
        }
        before = part;
    }
    false
}
