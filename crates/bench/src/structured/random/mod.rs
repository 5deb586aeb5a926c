//! Random programs over structured operands.
//!
//! One to three operands of rank 2 to 4, one to three reductions, one or two products, and sometimes a mask. The same
//! seed gives the same programs. Sizes are symbols, so that the code that is measured can be checked at small sizes.

mod draft;
mod limits;
mod sizes;
mod structure;

use std::fmt::Write;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use draft::Draft;
pub use limits::{Drawn, Limits};
use structure::declare;

/// The program with this number.
pub fn draw(seed: u64, number: u64, limits: Limits) -> Drawn {
    let mut rng = ChaCha8Rng::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number);
    let draft = Draft::draw(&mut rng);
    let extents = draft.extents(&mut rng, limits);
    finish(&draft, &extents, limits)
}

/// The program as text, with its sizes.
fn finish(draft: &Draft, extents: &[i64], limits: Limits) -> Drawn {
    let names = ["A", "B", "C", "D", "E", "F"];
    let list = |iterators: &[usize]| {
        let names: Vec<String> = iterators.iter().map(|at| draft.iterator(*at)).collect();
        names.join(", ")
    };
    let head: Vec<usize> = (0..draft.heads).collect();
    let products = draft.products.iter().map(|operands| {
        let factors = operands
            .iter()
            .map(|operand| format!("{}({})", names[operand.tensor], list(&operand.subscripts)));
        factors.chain(draft.mask.clone()).collect::<Vec<String>>().join(" * ")
    });
    let products: Vec<String> = products.collect();
    let values = draft.values(extents);
    let symbols: Vec<&str> = values.iter().map(|(name, _)| &name[..]).collect();
    let mut source = format!("symbols: {}\n", symbols.join(", "));
    let _ = writeln!(source, "Z({}) := {}", list(&head), products.join(" + "));
    let used = draft.products.iter().flatten().map(|operand| operand.tensor);
    let count = used.max().map_or(0, |last| last + 1);
    for (shape, name) in draft.tensors.iter().zip(names).take(count) {
        let extents: Vec<String> =
            shape.positions.iter().map(|at| draft.symbol(draft.classes[*at])).collect();
        source += &declare(name, &extents, &shape.components);
    }
    let tiny: Vec<i64> = (0..draft.iterators).map(|class| 3 + 2 * class as i64).collect();
    let checks = vec![draft.values(&tiny), draft.values(&draft.check(limits))];
    Drawn { source, symbols: values, checks }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_well_formed_and_the_same_for_a_seed() {
        for number in 0..200 {
            let drawn = draw(7, number, Limits::USUAL);
            assert_eq!(drawn, draw(7, number, Limits::USUAL));
            let (program, _) = dastac_stur::load(&drawn.source).unwrap_or_else(|found| {
                panic!("{}\n{}", found[0].message, drawn.source);
            });
            let declared: Vec<&str> = program.symbols.iter().map(|(name, _)| &name[..]).collect();
            let given: Vec<&str> = drawn.symbols.iter().map(|(name, _)| &name[..]).collect();
            assert_eq!(declared, given, "{}", drawn.source);
        }
        assert_ne!(draw(7, 0, Limits::USUAL), draw(8, 0, Limits::USUAL));
    }
}
