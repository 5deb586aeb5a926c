//! What passes choose for machines that differ, and that each choice keeps the meaning.

use expect_test::expect;
use proptest::prelude::*;

use super::{Pipeline, Registry, Sequence};
use crate::machine::Machine;
use crate::passes::tests::compare;
use crate::passes::{ALL, Context, REGISTERS, SIMPLIFY, THREADS, TILE, Verified};
use crate::random::{self, Style};
use crate::*;

/// Descriptions of real machines, each with its name.
const MACHINES: [(&str, &str); 3] = [
    ("Sapphire Rapids", include_str!("sapphire_rapids.txt")),
    ("Zen 4", include_str!("zen4.txt")),
    ("Zen 3", include_str!("zen3.txt")),
];

fn machines() -> impl Iterator<Item = (&'static str, Machine)> {
    MACHINES.iter().map(|(name, text)| (*name, machine_file::parse(text).unwrap()))
}

/// What sequences of passes make of a module for a machine.
fn passed(module: &Module, sequences: &[Sequence], machine: &Machine) -> Module {
    let mut module = module.clone();
    let pipeline = Pipeline::of(&Registry::of(ALL), sequences).unwrap();
    pipeline.run(&mut module, &Context::of(machine), &mut Verified).unwrap();
    module
}

/// The lines of a program's loops on each machine that one of these words is in, each once.
fn choices(text: &str, sequences: &[Sequence], words: &[&str]) -> String {
    let module = parse(text).unwrap();
    let of = |(name, machine): (&str, Machine)| {
        let text = passed(&module, sequences, &machine).to_string();
        let mut lines: Vec<&str> = Vec::new();
        for line in text.lines().map(str::trim) {
            if words.iter().any(|word| line.contains(word)) && !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines.truncate(4);
        format!("{name}\n{}", lines.iter().map(|line| format!("  {line}\n")).collect::<String>())
    };
    machines().map(of).collect()
}

#[test]
fn tiles_of_a_product() {
    let text = "module(N, M)\nbuffer A : f64[N * N]\nbuffer B : f64[N * M]\nbuffer C : f64[M * N]\n\
        func f(out A, in B, in C) { parallel i = 0 to N { parallel j = 0 to N {\n\
        A[N * i + j] = sum(k = 0 to M) B[M * i + k] * C[N * k + j] } } }";
    let hints = TILE.passes.iter().take_while(|name| **name != "tile").copied();
    let hints: &'static [&'static str] = hints.collect::<Vec<_>>().leak();
    let sequence = Sequence { name: "hints", passes: hints };
    expect![[r#"
        Sapphire Rapids
          unroll j = jt to jt + 32 hint(tile 32, lanes 8) {
          parallel i = ib to ie hint(nest, tile 6) {
          parallel j = jp to min(N, jp + 1024) hint(tile 32, lanes 8) {
          for i = 0 to N hint(nest, tile 6) {
        Zen 4
          unroll j = jt to jt + 32 hint(tile 32, lanes 8) {
          parallel i = ib to ie hint(nest, tile 6) {
          parallel j = jp to min(N, jp + 512) hint(tile 32, lanes 8) {
          for i = 0 to N hint(nest, tile 6) {
        Zen 3
          unroll j = jt to jt + 12 hint(tile 12, lanes 4) {
          parallel i = ib to ie hint(nest, tile 4) {
          parallel j = jp to min(N, jp + 120) hint(tile 12, lanes 4) {
          for i = 0 to N hint(nest, tile 4) {
    "#]]
    .assert_eq(&choices(text, &[sequence], &["tile"]));
}

#[test]
fn stores_past_the_caches() {
    let text = "module(N)\nbuffer A : f64[N]\nbuffer B : f64[N]\nbuffer C : f64[N]\n\
        func f(out A, in B, in C) { parallel i = 0 to N { A[i] = B[i] * C[i] } }";
    expect![[r#"
        Sapphire Rapids
          partition ib, ie = 0 to N step 32 by max(ie, 0) * 2 {
          parallel it = ib + (0 - ib) % 8 to ie - 31 step 32 {
          A[i] = B[i] * C[i] stream if 123575 <= max(ie - ib, 0)
          parallel it = max(ib + (0 - ib) % 8, ib + (0 - ib) % 8 + 32 * ((ie - (ib + (0 - ib) % 8)) / 32)) to ie - 7 step 8 {
        Zen 4
          partition ib, ie = 0 to N step 32 by max(ie, 0) * 2 {
          parallel it = ib + (0 - ib) % 8 to ie - 31 step 32 {
          A[i] = B[i] * C[i] stream if 611669 <= max(ie - ib, 0)
          parallel it = max(ib + (0 - ib) % 8, ib + (0 - ib) % 8 + 32 * ((ie - (ib + (0 - ib) % 8)) / 32)) to ie - 7 step 8 {
        Zen 3
          partition ib, ie = 0 to N step 16 by max(ie, 0) * 2 {
          parallel it = ib + (0 - ib) % 8 to ie - 15 step 16 {
          A[i] = B[i] * C[i] stream if 611669 <= max(ie - ib, 0)
          parallel it = max(ib + (0 - ib) % 8, ib + (0 - ib) % 8 + 16 * ((ie - (ib + (0 - ib) % 8)) / 16)) to ie - 3 step 4 {
    "#]].assert_eq(&choices(text, &[TILE], &["stream", "step"]));
}

#[test]
fn work_that_is_worth_waking_threads() {
    let text = "module(N, E)\nbuffer A : f64[N]\nbuffer B : f64[E]\nbuffer C : f64[N]\n\
        buffer pos : u32[N + 1]\nbuffer crd : u32[E]\n\
        func f(out A, in B, in C, in pos, in crd) { parallel i = 0 to N {\n\
        A[i] = sum(p = pos[i] to pos[i + 1]) B[p] * C[crd[p]] } }";
    expect![[r#"
        Sapphire Rapids
          if 0 < N {
          if 2 * max(pos[N] - pos[0], 0) + max(N, 0) < 16384 and max(N, 0) * max(floor(pos[N] + (max(N, 1) - 1), max(N, 1)) * 2 + 2, 1) < 16384 {
          while low = 0, high = N if low < high {
          while low_1 = 0, high_1 = N if low_1 < high_1 {
        Zen 4
          if 0 < N {
          if 2 * max(pos[N] - pos[0], 0) + max(N, 0) < 11585 and max(N, 0) * max(floor(pos[N] + (max(N, 1) - 1), max(N, 1)) * 2 + 2, 1) < 11585 {
          while low = 0, high = N if low < high {
          while low_1 = 0, high_1 = N if low_1 < high_1 {
        Zen 3
          if 0 < N {
          if 2 * max(pos[N] - pos[0], 0) + max(N, 0) < 8192 and max(N, 0) * max(floor(pos[N] + (max(N, 1) - 1), max(N, 1)) * 2 + 2, 1) < 8192 {
          while low = 0, high = N if low < high {
          while low_1 = 0, high_1 = N if low_1 < high_1 {
    "#]]
    .assert_eq(&choices(text, &[TILE, THREADS], &["if "]));
}

#[test]
fn gathers_and_loads_one_by_one() {
    let text = "module(N, E)\nbuffer A : f64[N]\nbuffer B : f64[E]\nbuffer C : f64[N]\n\
        buffer pos : u32[N + 1]\nbuffer crd : u32[E]\n\
        func f(out A, in B, in C, in pos, in crd) { for i = 0 to N {\n\
        A[i] = sum(p = pos[i] to pos[i + 1]) B[p] * C[crd[p]] } }";
    let module = parse(text).unwrap();
    let of = |(name, machine): (&str, Machine)| {
        let text = passed(&module, &[REGISTERS], &machine).to_string();
        let count = |word: &str| text.matches(word).count();
        format!("{name}: {} gathers, {} packs\n", count(" = gather "), count(" = pack "))
    };
    expect![[r#"
        Sapphire Rapids: 3 gathers, 0 packs
        Zen 4: 3 gathers, 1 packs
        Zen 3: 0 gathers, 1 packs
    "#]]
    .assert_eq(&machines().map(of).collect::<String>());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_machine_computes_the_same(seed: u64, threads: bool) {
        let before = random::module(seed, Style::Runnable);
        let data = |seed: i64| Data::Float((0..16).map(|x| ((x * 5 + seed) % 7 - 3) as f64).collect());
        let data = [data(1), data(2), data(3)];
        for (name, machine) in machines() {
            let machine = machine.with_threads(threads);
            let after = passed(&before, &[SIMPLIFY, TILE, THREADS, REGISTERS], &machine);
            for symbols in [[4, 3], [0, 2]] {
                compare(&before, &after, &symbols, &data)
                    .map_err(|why| TestCaseError::fail(format!("{name}: {why}")))?;
            }
        }
    }
}
