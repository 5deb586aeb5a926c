//! Random STUR programs: small, mostly valid, made of the structures that the language is about; some with element
//! types, chosen layouts, blocks, subscripts that are not affine, and structures that are promised of what is computed.
//! Some have functions of elements and reductions within right-hand sides; others are products of three or four tensors
//! whose loops are worth tiles.
//!
//! Not every program means something (an empty set, an unbounded iterator, a box that is left): the checker's answer is
//! part of the test.

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::terms::Terms;

/// A kind of programs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Sums of products of elements.
    Sums,
    /// Functions of elements too.
    Functions,
    /// Products of some matrices and tensors, few of which have a structure.
    Contractions,
}

impl Kind {
    /// The kind of a seed's program.
    pub fn of(seed: u64) -> Kind {
        match seed % 6 {
            0 | 3 => Kind::Functions,
            4 => Kind::Contractions,
            _ => Kind::Sums,
        }
    }
}

/// What a program is drawn from.
pub struct Generator<'a> {
    rng: &'a mut ChaCha8Rng,
    kind: Kind,
    /// Symbols that are extents; `S` besides them is a small number.
    sizes: Vec<&'static str>,
    tensors: Vec<Tensor>,
    lines: Vec<String>,
}

#[derive(Clone)]
struct Tensor {
    name: String,
    extents: Vec<String>,
    /// Never 0 by accident where it is structurally non-zero.
    divisor: bool,
}

/// The text of a seed's program.
pub fn program(seed: u64) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let sizes = ["N", "M", "P"][..rng.random_range(1..=3)].to_vec();
    let (rng, kind) = (&mut rng, Kind::of(seed));
    let generator = Generator { rng, kind, sizes, tensors: Vec::new(), lines: Vec::new() };
    match kind {
        Kind::Contractions => generator.contraction(),
        _ => generator.build(),
    }
}

impl Generator<'_> {
    fn chance(&mut self, percent: u32) -> bool {
        self.rng.random_range(0..100) < percent
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from.choose(self.rng).expect("not empty").clone()
    }

    fn text(&mut self, from: &[&str]) -> String {
        self.pick(from).to_string()
    }

    fn build(mut self) -> String {
        for name in &["A", "B", "C", "D"][..self.rng.random_range(1..=4)] {
            self.input(name);
        }
        let rules = self.pick(&[1, 1, 1, 2, 2, 3]);
        // The first rules read no later ones: any number of them can be a block.
        let block = if rules > 1 && self.chance(25) { self.rng.random_range(1..rules) } else { 0 };
        for k in 0..rules {
            if block > 0 && k == 0 {
                self.lines.push("@preprocess_start".into());
            }
            if self.chance(5) {
                self.packing(k)
            } else {
                self.rule(k)
            }
            if k + 1 == block {
                self.lines.push("@preprocess_end".into());
            }
        }
        self.directives();
        let mut text = format!("symbols: {}, S\n", self.sizes.join(", "));
        if rules > 1 && self.chance(40) {
            text += &format!("outputs: H{}\n", rules - 1);
        }
        text + &self.lines.join("\n") + "\n"
    }

    /// A product of three or four tensors of rank 1 to 3 over three or four iterators.
    fn contraction(mut self) -> String {
        let all = &["a", "b", "i", "j"][..self.pick(&[3, 4, 4])];
        let head = &all[..self.pick(&[1, 2, 2, 2])];
        let extents: Vec<String> = all.iter().map(|_| self.extent()).collect();
        let mut factors: Vec<String> = Vec::new();
        let mut missing: Vec<&str> = all.to_vec();
        let count = self.pick(&[2, 3, 3, 3, 4]);
        for name in ["A", "B", "C", "D", "E", "F"] {
            if factors.len() >= count && missing.is_empty() {
                break;
            }
            let rank = self.pick(&[1, 2, 2, 2, 3]).min(all.len());
            let mut own: Vec<usize> = (0..all.len()).collect();
            rand::seq::SliceRandom::shuffle(&mut own[..], self.rng);
            own.sort_by_key(|at| factors.len() + 1 >= count && !missing.contains(&all[*at]));
            own.truncate(rank);
            rand::seq::SliceRandom::shuffle(&mut own[..], self.rng);
            let subscripts: Vec<&str> = own.iter().map(|at| all[*at]).collect();
            missing.retain(|name| !subscripts.contains(name));
            let dims = &POSITIONS[..rank];
            let bounds =
                dims.iter().zip(&own).map(|(i, at)| format!("(0 <= {i} < {})", extents[*at]));
            let bounds: Vec<String> = bounds.collect();
            self.lines.push(format!("{name}:D({}) := {}", dims.join(", "), bounds.join(" * ")));
            if rank > 1 && self.chance(15) {
                let region =
                    self.pick(&["(i <= j)", "(j <= i)", "(i < j)", "(i <= j + 1) * (j <= i + 1)"]);
                self.lines.push(format!("{name}:U({}) := {region}", dims.join(", ")));
            }
            self.tensors.push(Tensor { name: name.into(), extents: Vec::new(), divisor: false });
            factors.push(format!("{name}({})", subscripts.join(", ")));
        }
        if self.chance(25) {
            let at = self.rng.random_range(0..factors.len());
            factors[at] = match self.rng.random_range(0..4) {
                0 => format!("exp(-abs({}))", factors[at]),
                1 => format!("max({}, 0)", factors[at]),
                2 => format!("({})^2", factors[at]),
                _ => format!("({} > 0)", factors[at]),
            };
        }
        let body = factors.join(" * ");
        let body = if self.chance(15) { format!("{body} + {}", factors[0]) } else { body };
        let body = if self.chance(10) { format!("{body} * 2") } else { body };
        self.lines.push(format!("H0({}) := {body}", head.join(", ")));
        if self.chance(20) {
            self.tensors.push(Tensor { name: "H0".into(), extents: Vec::new(), divisor: false });
            let types = self.tensors.iter().map(|tensor| format!("{} = f32", tensor.name));
            let types: Vec<String> = types.collect();
            self.lines.push(format!("types: {}", types.join(", ")));
        }
        if self.chance(20) {
            let mut order = all.to_vec();
            rand::seq::SliceRandom::shuffle(&mut order[..], self.rng);
            self.lines.push(format!("iters: H0 -> {}", order.join(", ")));
        }
        format!("symbols: {}, S\n{}\n", self.sizes.join(", "), self.lines.join("\n"))
    }

    /// Element types and layouts of tensors that some rule uses.
    fn directives(&mut self) {
        let bodies: Vec<&str> = self
            .lines
            .iter()
            .filter_map(|line| line.split_once(" := "))
            .map(|(_, body)| body)
            .collect();
        let bodies = bodies.join(" ");
        let used = |tensor: &&Tensor| {
            tensor.name.starts_with('H')
                || ["(", "^-1("].iter().any(|end| bodies.contains(&format!("{}{end}", tensor.name)))
        };
        let used: Vec<Tensor> = self.tensors.iter().filter(used).cloned().collect();
        if self.chance(20) {
            let narrow: Vec<String> = used
                .iter()
                .filter(|_| self.rng.random_range(0..100) < 60)
                .map(|tensor| format!("{} = f32", tensor.name))
                .collect();
            if !narrow.is_empty() {
                self.lines.push(format!("types: {}", narrow.join(", ")));
            }
        }
        if self.chance(15) {
            let tensor = self.pick(&used);
            let mut positions = POSITIONS[..tensor.extents.len()].to_vec();
            rand::seq::SliceRandom::shuffle(&mut positions[..], self.rng);
            let order = format!("order({})", positions.join(", "));
            let align = format!("align({})", self.pick(&[2, 4, 8]));
            let chosen = match self.rng.random_range(0..3) {
                0 => order,
                1 => align,
                _ => format!("{order}, {align}"),
            };
            if !positions.is_empty() {
                self.lines.push(format!("layout: {} -> {chosen}", tensor.name));
            }
        }
    }

    fn extent(&mut self) -> String {
        let size = self.pick(&self.sizes.clone()).to_string();
        match self.rng.random_range(0..20) {
            0 => self.text(&["3", "4"]),
            1 => format!("{size} + 1"),
            2 => format!("2 * {size}"),
            _ => size,
        }
    }

    fn input(&mut self, name: &str) {
        let rank = self.pick(&[0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 4]);
        let mut extents: Vec<String> = (0..rank).map(|_| self.extent()).collect();
        if rank > 1 && self.chance(50) {
            // Square: symmetries need it.
            extents = vec![extents[0].clone(); rank];
        }
        if rank > 0 {
            let dims = &POSITIONS[..rank];
            let head = dims.join(", ");
            let bounds: Vec<String> =
                dims.iter().zip(&extents).map(|(i, extent)| self.range(i, extent)).collect();
            self.lines.push(format!("{name}:D({head}) := {}", bounds.join(" * ")));
            match self.rng.random_range(0..100) {
                0..20 => {}
                20..48 if self.redundant(name, &extents) => {}
                _ => {
                    // Counting unions of many regions in three dimensions takes minutes.
                    let regions = self.pick(if rank >= 3 { &[1] } else { &[1, 1, 1, 2, 2] });
                    let regions: Vec<String> =
                        (0..regions).map(|_| self.region(dims, &extents)).collect();
                    self.lines.push(format!("{name}:U({head}) := {}", regions.join(" + ")));
                }
            }
        }
        self.tensors.push(Tensor { name: name.into(), extents, divisor: true });
    }

    fn range(&mut self, iterator: &str, extent: &str) -> String {
        match self.rng.random_range(0..8) {
            0 => format!("({extent} > {iterator} >= 0)"),
            1 => format!("({iterator} >= 0) * ({iterator} <= {extent} - 1)"),
            _ => format!("(0 <= {iterator} < {extent})"),
        }
    }

    /// One or two conditions.
    fn region(&mut self, dims: &[&str], extents: &[String]) -> String {
        let first = self.condition(dims, extents);
        if self.chance(35) { format!("{first} * {}", self.condition(dims, extents)) } else { first }
    }

    fn condition(&mut self, dims: &[&str], extents: &[String]) -> String {
        let a = self.rng.random_range(0..dims.len());
        let b = self.rng.random_range(0..dims.len());
        let (i, j, n) = (dims[a], dims[b], &extents[a]);
        if dims.len() == 1 || a == b {
            return match self.rng.random_range(0..11) {
                0 => format!("({i} = S)"),
                1 => format!("({i} % 2 = 0)"),
                2 => format!("({i} % 3 = 1)"),
                3 => format!("(2 * {i} < {n})"),
                4 => format!("({i} >= 1)"),
                5 => format!("({i} = {n} - 1)"),
                6 => format!("({i} != S)"),
                7 => format!("({i} = 3 * q) * (0 <= q < {n})"),
                8 => format!("({i} < ({n}) / 2)"),
                9 => format!("(({i} / 2) % 2 = 1)"),
                _ => format!("({i} = {})", self.rng.random_range(0..3)),
            };
        }
        if dims.len() >= 3 && self.chance(25) {
            let c = (0..dims.len()).find(|c| *c != a && *c != b).expect("three or more");
            let k = dims[c];
            return match self.rng.random_range(0..6) {
                0 => format!("({i} <= {j} <= {k})"),
                1 => format!("({i} < {j} < {k})"),
                2 => format!("({i} + {j} = {k})"),
                3 => format!("({i} + {j} + {k} < {n})"),
                4 => format!("({i} = {j} = {k})"),
                _ => format!("(({i} + {j} + {k}) % 2 = 0)"),
            };
        }
        let width = self.text(&["0", "1", "2", "S", "S + 1"]);
        match self.rng.random_range(0..24) {
            0 | 1 => format!("({i} <= {j})"),
            2 | 3 => format!("({i} < {j})"),
            4 | 5 => format!("({i} = {j})"),
            6 => format!("({i} != {j})"),
            7 | 8 => format!("({i} - {width} <= {j} <= {i} + {width})"),
            9 => format!("({i} <= {j} <= {i} + {width})"),
            10 => format!("({j} - {i} = {width})"),
            11 => format!("(({i} + {j}) % 2 = 0)"),
            12 => format!("({i} / 2 = {j} / 2)"),
            13 => format!("({i} / 2 <= {j} / 3)"),
            14 => format!("({i} + {j} = {n} - 1)"),
            15 => format!("({i} + {j} < {n})"),
            16 => format!("({i} = 2 * {j})"),
            17 => format!("({i} % 2 = {j} % 3)"),
            18 => format!("(({i} + 2 * {j}) % 3 != 1)"),
            19 => format!("({i} = {j} + 2 * q) * (0 <= q < {n})"),
            20 => format!("({j} - {i} = S) * ({i} % 2 = 0)"),
            21 => format!("({i} * 2 + {j} >= S)"),
            22 => format!("(({j} - {i}) % 3 = 0)"),
            _ => format!("({i} = S) * ({j} >= {i})"),
        }
    }

    /// A unique set with a redundancy map; false if the shape has none.
    fn redundant(&mut self, name: &str, extents: &[String]) -> bool {
        let n = extents[0].clone();
        let c = self.text(&["", "", "2.5 * ", "-21.5 * ", "-1 * "]);
        let square = extents.iter().all(|extent| *extent == n);
        let (unique, redundancy) = match (extents.len(), square) {
            (1, _) => match self.rng.random_range(0..3) {
                0 => ("(i < 3)".into(), format!("{c}(i >= 3) * (ip = i % 3)")),
                1 => (format!("(2 * i < {n})"), format!("{c}(2 * i >= {n}) * (ip = {n} - 1 - i)")),
                _ => ("(i % 2 = 0)".into(), format!("{c}(i % 2 = 1) * (ip = i - 1)")),
            },
            (2, true) => match self.rng.random_range(0..7) {
                0 | 1 => ("(i <= j)".into(), format!("{c}(i > j) * (ip = j) * (jp = i)")),
                2 => ("(j <= i)".into(), format!("{c}(i < j) * (ip = j) * (jp = i)")),
                3 => ("(i < j)".into(), format!("{c}(i > j) * (ip = j) * (jp = i)")),
                4 => (
                    "(i <= j <= i + S)".into(),
                    format!("{c}(j < i <= j + S) * (ip = j) * (jp = i)"),
                ),
                5 => (
                    "(i = j) + (j = i + 1)".into(),
                    format!("{c}(i = j + 1) * (ip = j) * (jp = i)"),
                ),
                _ => toeplitz(&c),
            },
            (2, false) => match self.rng.random_range(0..3) {
                0 => ("(i = 0)".into(), format!("{c}(i > 0) * (ip = 0) * (jp = j)")),
                1 => ("(j % 2 = 0)".into(), format!("{c}(j % 2 = 1) * (ip = i) * (jp = j - 1)")),
                _ => toeplitz(&c),
            },
            (3, true) => match self.rng.random_range(0..4) {
                0 => ("(i <= j)".into(), format!("{c}(i > j) * (ip = j) * (jp = i) * (kp = k)")),
                1 => ("(j <= k)".into(), format!("{c}(j > k) * (ip = i) * (jp = k) * (kp = j)")),
                2 => ("(i < k)".into(), format!("{c}(i > k) * (ip = k) * (jp = j) * (kp = i)")),
                _ => (
                    "(i <= j <= k)".into(),
                    [
                        "(i <= k < j) * (ip = i) * (jp = k) * (kp = j)",
                        "(j < i <= k) * (ip = j) * (jp = i) * (kp = k)",
                        "(j <= k < i) * (ip = j) * (jp = k) * (kp = i)",
                        "(k < i <= j) * (ip = k) * (jp = i) * (kp = j)",
                        "(k < j < i) * (ip = k) * (jp = j) * (kp = i)",
                    ]
                    .join(" + "),
                ),
            },
            // The matrix as a matrix of pairs.
            (4, true) => (
                "(i <= k)".into(),
                format!("{c}(i > k) * (ip = k) * (jp = l) * (kp = i) * (lp = j)"),
            ),
            _ => return false,
        };
        let dims = &POSITIONS[..extents.len()];
        let targets: Vec<String> = dims.iter().map(|dim| format!("{dim}p")).collect();
        self.lines.push(format!("{name}:U({}) := {unique}", dims.join(", ")));
        let head = format!("{}, {}", dims.join(", "), targets.join(", "));
        self.lines.push(format!("{name}:R({head}) := {redundancy}"));
        true
    }

    fn rule(&mut self, number: usize) {
        let name = format!("H{number}");
        let rank = self.pick(&[0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 4]);
        let all = ["i", "j", "k", "l", "m", "n"];
        let head: Vec<&str> = all[..rank].to_vec();
        // The extent that each iterator is meant to have: equal ones make symmetries, others test clipping.
        let extents: Vec<String> = if self.chance(50) {
            let extent = self.extent();
            vec![extent; all.len()]
        } else {
            all.iter().map(|_| self.extent()).collect()
        };
        let declared = self.chance(50);
        let count = self.pick(&[1, 1, 1, 2, 2, 3]);
        let inner = self.rng.random_range(0..=2);
        let mut simple = count == 1 && inner == 0 && self.kind == Kind::Sums;
        let mut products: Vec<String> = Vec::new();
        let mut twins = false;
        for _ in 0..count {
            let twin = !products.is_empty() && rank >= 2 && self.chance(30);
            twins |= twin;
            products.push(match products.first() {
                // The same with two of the head's iterators exchanged: symmetric or skew.
                Some(first) if twin => {
                    let swapped: String = first
                        .split_inclusive(|c: char| !c.is_ascii_alphanumeric())
                        .map(|word| match word.split_at(word.len().min(1)) {
                            ("i", rest) if !rest.starts_with(char::is_alphanumeric) => {
                                format!("j{rest}")
                            }
                            ("j", rest) if !rest.starts_with(char::is_alphanumeric) => {
                                format!("i{rest}")
                            }
                            _ => word.to_string(),
                        })
                        .collect();
                    format!("{}{swapped}", self.text(&["", "-1 * "]))
                }
                // What leaves some of the head's iterators to the first product.
                Some(_) if self.kind == Kind::Functions && rank > 0 && self.chance(30) => {
                    let own = self.rng.random_range(0..rank);
                    let all = [&all[..own], &all[rank..rank + inner]].concat();
                    self.product(&head[..own], &all, &extents, declared)
                }
                _ => self.product(&head, &all[..rank + inner], &extents, declared),
            });
        }
        let of_values = self.kind == Kind::Functions && inner > 0 && self.chance(15);
        let reduction = match of_values {
            true => {
                products.truncate(1);
                let reduced =
                    all[rank..rank + inner].iter().filter(|name| uses(&products[0], name));
                let reduced: Vec<&str> = reduced.copied().collect();
                simple = false;
                format!("{}({}) ", self.pick(&["min", "max", "prod"]), reduced.join(", "))
            }
            false => String::new(),
        };
        if rank > 0 && declared {
            let bounds: Vec<String> =
                head.iter().zip(&extents).map(|(i, extent)| self.range(i, extent)).collect();
            self.lines.push(format!("{name}:D({}) := {}", head.join(", "), bounds.join(" * ")));
        }
        self.promise(&name, &head, &extents, twins);
        if inner > 0 && self.chance(30) {
            let mut order: Vec<&str> = all[..rank + inner].to_vec();
            rand::seq::SliceRandom::shuffle(&mut order[..], self.rng);
            if !self.lines.iter().any(|line| line.starts_with("iters")) {
                self.lines.push(format!("iters: {name} -> {}", order.join(", ")));
            }
        }
        simple = simple && !products[0].contains('N');
        let body = products.join(" + ");
        self.lines.push(format!("{name}({}) := {reduction}{body}", head.join(", ")));
        let extents = extents[..rank].to_vec();
        self.tensors.push(Tensor { name, extents, divisor: simple });
    }

    /// A structure of a head, true or not: what is accepted of these must hold.
    fn promise(&mut self, name: &str, head: &[&str], extents: &[String], twins: bool) {
        if head.len() >= 2 && self.chance(if twins { 25 } else { 2 }) {
            let rest: Vec<String> = head[2..].iter().map(|i| format!(" * ({i}p = {i})")).collect();
            let c = self.text(&["", "", "-1 * "]);
            let (kept, other) =
                self.pick(&[("i <= j", "i > j"), ("i < j", "i > j"), ("j <= i", "j > i")]);
            let targets: Vec<String> = head.iter().map(|i| format!("{i}p")).collect();
            let head = head.join(", ");
            self.lines.push(format!("{name}:U({head}) := ({kept})"));
            let swap = format!("(ip = j) * (jp = i){}", rest.concat());
            self.lines
                .push(format!("{name}:R({head}, {}) := {c}({other}) * {swap}", targets.join(", ")));
        } else if !head.is_empty() && self.chance(3) {
            let region = self.region(head, extents);
            self.lines.push(format!("{name}:U({}) := {region}", head.join(", ")));
        }
    }

    /// A packed layout by hand: the position of an element is computed.
    fn packing(&mut self, number: usize) {
        let name = format!("H{number}");
        let (rows, columns) = (self.extent(), self.extent());
        let position = self.pick(&[
            format!("({columns}) * i + j"),
            format!("({rows}) * j + i"),
            "i * (i + 1) / 2 + j".to_string(),
            "i * i + j".to_string(),
        ]);
        let size = self.pick(&[format!("({rows}) * ({columns})"), rows.clone()]);
        let mut factors = vec![
            self.access(&["i", "j"]),
            format!("(s = {position})"),
            self.range("i", &rows),
            self.range("j", &columns),
        ];
        if self.chance(40) {
            factors.push(self.condition(&["i", "j"], &[rows, columns]));
        }
        self.lines.push(format!("{name}:D(s) := (0 <= s < {size})"));
        self.lines.push(format!("{name}(s) := {}", factors.join(" * ")));
        self.tensors.push(Tensor { name, extents: vec![size], divisor: false });
    }

    fn product(
        &mut self,
        head: &[&str],
        iterators: &[&str],
        extents: &[String],
        declared: bool,
    ) -> String {
        let mut factors: Vec<String> = Vec::new();
        for _ in 0..self.pick(&[1, 1, 2, 2, 2, 3, 4]) {
            let function = self.kind == Kind::Functions && self.chance(40);
            factors.push(match function {
                true => Inside { generator: self, iterators }.factor(),
                false => self.access(iterators),
            });
        }
        let mut used = factors.join(" ");
        if !iterators.is_empty() {
            let present: Vec<&str> = iterators.iter().copied().filter(|i| uses(&used, i)).collect();
            if !present.is_empty() && self.chance(30) {
                let condition = self.condition(&present, extents);
                factors.push(condition);
            }
            if present.len() >= 2 && self.chance(5) {
                let (i, j, n) = (present[0], present[1], self.pick(&self.sizes.clone()));
                factors.push(match self.rng.random_range(0..4) {
                    0 => format!("({i} * {j} < {n})"),
                    1 => format!("({i} * {i} <= {j})"),
                    2 => format!("({i} / {n} = {j} / {n})"),
                    _ => format!("(S * {i} < {j})"),
                });
            }
            let vectors: Vec<Tensor> =
                self.tensors.iter().filter(|tensor| tensor.extents.len() == 1).cloned().collect();
            if !present.is_empty() && !vectors.is_empty() && self.chance(4) {
                let (i, j) = (present[0], present[present.len() - 1]);
                let n = self.pick(&self.sizes.clone());
                let position = self.pick(&[
                    format!("{n} * {i} + {j}"),
                    format!("{i} * ({i} + 1) / 2 + {j}"),
                    format!("({n} * {i} + {j}) - {i} * ({i} + 1) / 2"),
                ]);
                factors.push(format!("{}(s)", self.pick(&vectors).name));
                factors.push(format!("(s = {position})"));
            }
            if self.chance(12) {
                let (a, b) = (self.pick(iterators), self.pick(iterators));
                if a != b {
                    let shift = self.text(&["", " + 1", " - 1", " + S"]);
                    factors.push(format!("({a} = {b}{shift})"));
                }
            }
        }
        used = factors.join(" ");
        for (iterator, extent) in head.iter().zip(extents) {
            // The box of a head without dimensions follows from bounds of its iterators by themselves.
            if (!declared && !self.plain(&used, iterator)) || self.chance(10) {
                factors.push(format!("(0 <= {iterator} < {extent})"));
            }
        }
        used = factors.join(" ");
        for (iterator, extent) in iterators.iter().zip(extents).skip(head.len()) {
            // An iterator that is in nothing but comparisons.
            if uses(&used, iterator) && !self.plain(&used, iterator) {
                factors.push(format!("(0 <= {iterator} < {extent})"));
            }
        }
        if self.chance(20) {
            factors.push(self.text(&["2", "-0.5", "(-3)", "4^-1", "1.5", "N()", "N^-1()", "S()"]));
        }
        rand::seq::SliceRandom::shuffle(&mut factors[..], self.rng);
        factors.join(" * ")
    }

    /// Whether an iterator is a subscript by itself somewhere, so that the tensor's dimensions bound it.
    fn plain(&self, factors: &str, iterator: &str) -> bool {
        self.tensors.iter().any(|tensor| {
            let reads =
                factors.match_indices(&tensor.name).map(|(at, name)| &factors[at + name.len()..]);
            let subscripts =
                reads.filter_map(|rest| rest.trim_start_matches("^-1").strip_prefix('('));
            let subscripts = subscripts.filter_map(|rest| rest.split_once(')'));
            let mut subscripts = subscripts.flat_map(|(subscripts, _)| subscripts.split(", "));
            subscripts.any(|subscript| subscript == iterator)
        })
    }

    fn access(&mut self, iterators: &[&str]) -> String {
        let tensor = self.pick(&self.tensors.clone());
        self.element(&tensor, iterators)
    }

    fn element(&mut self, tensor: &Tensor, iterators: &[&str]) -> String {
        let rank = tensor.extents.len();
        if iterators.is_empty() && rank > 0 {
            let at: Vec<String> = (0..rank).map(|_| self.text(&["0", "1", "S"])).collect();
            return format!("{}({})", tensor.name, at.join(", "));
        }
        let subscripts: Vec<String> = (0..rank)
            .map(|_| {
                let i = self.pick(iterators);
                let j = self.pick(iterators);
                match self.rng.random_range(0..80) {
                    0 => format!("{i} + 1"),
                    1 => format!("{i} - 1"),
                    2 => format!("{i} + S"),
                    3 => format!("2 * {i}"),
                    4 => format!("{i} + {j}"),
                    5 => format!("N - 1 - {i}"),
                    6 => "0".to_string(),
                    7 => "S".to_string(),
                    8 => format!("{i} / 2"),
                    9 => format!("{i} - {j}"),
                    10 => format!("{i} * {j}"),
                    11 => format!("{} * {i} + {j}", self.sizes[0]),
                    _ => i.to_string(),
                }
            })
            .collect();
        let reciprocal = if tensor.divisor && self.chance(8) { "^-1" } else { "" };
        format!("{}{reciprocal}({})", tensor.name, subscripts.join(", "))
    }
}

/// Functions in a product with some iterators.
struct Inside<'a, 'b> {
    generator: &'a mut Generator<'b>,
    iterators: &'a [&'a str],
}

impl Inside<'_, '_> {
    /// A function, or a reduction by itself.
    fn factor(&mut self) -> String {
        if !self.generator.chance(12) {
            return self.function();
        }
        let iterators = [self.iterators, &["t"]].concat();
        let word = self.one(&["sum", "max", "min"]);
        let mut inside = Inside { generator: self.generator, iterators: &iterators };
        let body = match inside.generator.chance(40) {
            true => inside.function(),
            false => inside.element(),
        };
        match self.generator.plain(&body, "t") {
            true => format!("({word}(t) {body})"),
            false => self.element(),
        }
    }
}

impl Terms for Inside<'_, '_> {
    fn rng(&mut self) -> &mut ChaCha8Rng {
        self.generator.rng
    }

    fn element(&mut self) -> String {
        self.generator.access(self.iterators)
    }

    fn input(&mut self) -> String {
        let all: Vec<Tensor> = self.generator.tensors.clone();
        let inputs: Vec<Tensor> =
            all.into_iter().filter(|one| !one.name.starts_with('H')).collect();
        let tensor = Tensor { divisor: false, ..self.generator.pick(&inputs) };
        self.generator.element(&tensor, self.iterators)
    }

    fn index(&mut self) -> String {
        self.one(&[self.iterators, &["S"]].concat())
    }
}

/// Whether a text has a name in it.
fn uses(text: &str, name: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == name)
}

/// Names of a tensor's positions in its declarations.
const POSITIONS: [&str; 4] = ["i", "j", "k", "l"];

fn toeplitz(c: &str) -> (String, String) {
    (
        "(i = 0) + (i > 0) * (j = 0)".into(),
        format!(
            "{c}(0 < j <= i) * (ip = i - j) * (jp = 0) + {c}(0 < i < j) * (ip = 0) * (jp = j - i)"
        ),
    )
}
