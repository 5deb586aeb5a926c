//! Schedules of a rule that are worth a try.

use dastac_stur::infer::InferredRule;
use dastac_stur::program::Program;
use dastac_stur::schedule::Schedule;
use rand::Rng;
use rand::seq::IndexedRandom;

/// Tiles in registers by their two sides; the larger ones where elements are in lanes.
const PAIRS: &[(i64, i64)] = &[
    (4, 3),
    (3, 4),
    (4, 4),
    (2, 4),
    (4, 2),
    (6, 4),
    (4, 6),
    (8, 3),
    (3, 8),
    (8, 2),
    (2, 8),
    (12, 2),
    (2, 12),
    (4, 16),
    (16, 4),
    (6, 16),
    (16, 6),
    (4, 24),
    (24, 4),
    (2, 32),
    (32, 2),
];
/// One loop in registers.
const FACTORS: &[i64] = &[2, 4, 8, 16, 32];
/// Partial sums side by side.
const CHAINS: &[i64] = &[1, 2, 4, 8, 16];
/// Blocks for caches.
const TILES: &[i64] = &[16, 32, 64, 128, 256, 512, 1024];
/// A schedule has at most so many loops over blocks.
const MAX_TILES: usize = 2;

/// The loops of a rule.
#[derive(Clone, Debug)]
pub struct Space {
    /// All loops, in the order that they have without a schedule.
    loops: Vec<String>,
    /// Those that write distinct elements.
    head: Vec<String>,
    /// Whether there are several threads.
    threads: bool,
}

impl Space {
    /// The loops of a rule, for one thread or several.
    pub fn of(program: &Program, rule: &InferredRule, threads: bool) -> Space {
        let mut loops: Vec<String> = Vec::new();
        for name in rule.statements.iter().flat_map(|statement| statement.loops()) {
            if !loops.contains(&name) {
                loops.push(name);
            }
        }
        let head = &program.rules[rule.rule.0].iterators;
        let head = loops.iter().filter(|name| head.contains(name)).cloned().collect();
        Space { loops, head, threads }
    }

    /// All schedules with one choice; in front those that are more likely to be fast.
    pub fn simple(&self) -> [Vec<Schedule>; 2] {
        let [mut first, mut all] = [Vec::new(), Vec::new()];
        let unrolled = |unroll: Vec<(String, i64)>| Schedule { unroll, ..Schedule::default() };
        for (at, outer) in self.head.iter().enumerate() {
            for inner in &self.head[at + 1..] {
                for (rows, columns) in PAIRS {
                    first.push(unrolled(vec![(outer.clone(), *rows), (inner.clone(), *columns)]));
                }
            }
            for factor in FACTORS {
                let others = self.head.iter().filter(|other| *other != outer);
                let others = others.map(|other| (other.clone(), 1));
                all.push(unrolled(others.chain([(outer.clone(), *factor)]).collect()));
            }
        }
        if !self.head.is_empty() {
            all.push(unrolled(self.head.iter().map(|name| (name.clone(), 1)).collect()));
        }
        for name in self.loops.iter().filter(|name| !self.head.contains(name)) {
            all.extend(CHAINS.iter().map(|count| unrolled(vec![(name.clone(), *count)])));
        }
        for name in &self.loops {
            let large = |size: i64| size >= 256 && !self.head.contains(name);
            for size in TILES {
                let tiles = vec![(name.clone(), *size)];
                let list = if large(*size) { &mut first } else { &mut all };
                list.push(Schedule { tiles, ..Schedule::default() });
            }
            if self.loops.len() > 1 {
                all.push(Schedule { vectorize: Some(name.clone()), ..Schedule::default() });
            }
        }
        for at in 1..self.loops.len() {
            let mut order = self.loops.clone();
            order.swap(at - 1, at);
            all.push(Schedule { order, ..Schedule::default() });
        }
        if self.threads {
            for name in self.head.iter().skip(1) {
                first.push(Schedule { parallel: Some(name.clone()), ..Schedule::default() });
            }
        }
        [first, all]
    }

    /// A schedule that differs in one choice.
    pub fn neighbour(&self, from: &Schedule, rng: &mut impl Rng) -> Schedule {
        let mut to = from.clone();
        let Some(name) = self.loops.choose(rng).cloned() else { return to };
        match rng.random_range(0..10) {
            0..=2 => {
                to.unroll.retain(|(name, _)| !self.head.contains(name));
                to.unroll.extend(match (self.head.choose(rng), self.head.choose(rng)) {
                    (Some(one), Some(other)) if one != other => {
                        let (rows, columns) = PAIRS.choose(rng).copied().unwrap_or((4, 4));
                        vec![(one.clone(), rows), (other.clone(), columns)]
                    }
                    (Some(one), _) => {
                        vec![(one.clone(), FACTORS.choose(rng).copied().unwrap_or(4))]
                    }
                    _ => Vec::new(),
                });
            }
            3 if self.head.contains(&name) => to.unroll.clear(),
            3 => {
                to.unroll.retain(|(other, _)| *other != name);
                to.unroll.push((name, CHAINS.choose(rng).copied().unwrap_or(8)));
            }
            4 | 5 => match to.tiles.iter().position(|(other, _)| *other == name) {
                Some(at) if rng.random() => drop(to.tiles.remove(at)),
                Some(at) => to.tiles[at].1 = TILES.choose(rng).copied().unwrap_or(64),
                None => {
                    to.tiles.truncate(MAX_TILES - 1);
                    let at = rng.random_range(0..=to.tiles.len());
                    to.tiles.insert(at, (name, TILES.choose(rng).copied().unwrap_or(64)));
                }
            },
            6 | 7 => {
                let mut order = to.ordered(&self.loops);
                let at = rng.random_range(0..order.len());
                let moved = order.remove(at);
                order.insert(rng.random_range(0..=order.len()), moved);
                to.order = if order == self.loops { Vec::new() } else { order };
            }
            8 => to.vectorize = if to.vectorize.is_some() { None } else { Some(name) },
            _ if self.threads => {
                let other = self.head.choose(rng).cloned();
                to.parallel = if to.parallel.is_some() { None } else { other };
            }
            _ => to.order.clear(),
        }
        to
    }
}
