//! The families of the paper's section 6.4 and more, symbolic where possible: pieces, places by enumeration, proofs.

use dastac_poly::{Context, Set};
use dastac_stur::sets::Affine;

use super::{ONE, TWO, places};
use crate::{Layout, Polynomial, Proof};

struct Family {
    name: &'static str,
    set: String,
    samples: &'static [&'static [i64]],
    /// Pieces at most.
    pieces: usize,
}

fn family(name: &'static str, set: &str, samples: &'static [&'static [i64]]) -> Family {
    Family { name, set: set.into(), samples, pieces: 3 }
}

/// A block butterfly factor matrix, with existential iterators as the paper writes it.
fn butterfly(n: i64, b: i64, k: i64) -> Family {
    let (block, half) = (k * b, k * b / 2);
    let set = format!(
        "{{ [x, y] : exists i, j, r, c, d, s : 0 <= i < {b} and 0 <= j < {b} and 0 <= s < {} and 0 <= c < 2 and 0 <= \
         d < 2 and \
         0 <= r < {} and x = {block} r + {half} c + {b} s + i and y = {block} r + {half} d + {b} s + j }}",
        k / 2,
        n / k
    );
    Family { pieces: 1, ..family("butterfly", &set, &[&[]]) }
}

/// Diagonals `(j - i) mod n = s`.
fn strided_diagonals(n: i64, strides: &[i64]) -> Family {
    let strides: Vec<String> = strides.iter().map(|s| format!("(j - i) mod {n} = {s}")).collect();
    let set = format!("{{ [i, j] : 0 <= i, j < {n} and ({}) }}", strides.join(" or "));
    family("strided diagonals", &set, &[&[]])
}

const N: &str = "0 <= i < N and 0 <= j < N";

fn families() -> Vec<Family> {
    let square = |name, condition: &str, samples| {
        family(name, &format!("[N] -> {{ [i, j] : {N} and {condition} }}"), samples)
    };
    let two = |name, symbols: &str, condition: &str| {
        family(name, &format!("[{symbols}] -> {{ [i, j] : {N} and {condition} }}"), TWO)
    };
    let simplex = |name, iterators: &str, samples| {
        let set = format!(
            "[N] -> {{ [{}] : 0 <= {} < N }}",
            iterators.replace(' ', ", "),
            iterators.replace(' ', " <= ")
        );
        Family { pieces: 1, ..family(name, &set, samples) }
    };
    let mut all = vec![
        square("tridiagonal", "-1 <= j - i <= 1", ONE),
        square("arrowhead", "(i = 0 or j = 0 or i = j)", ONE),
        square("block-triangular", "floor(i/4) <= floor(j/4)", ONE),
        square("block-diagonal", "floor(i/4) = floor(j/4)", ONE),
        square("checkerboard", "(i + j) mod 2 = 0", ONE),
        square("hexagonal lattice", "(i + 2 j) mod 3 = 0", ONE),
        square("strided by 5", "(j - i) mod 5 = 3", ONE),
        two("band of symbolic width", "N, W", "-W <= j - i <= W"),
        two("strided band", "N, s", "s > 0 and (j = i or j - i = s or i - j = s)"),
        two("sub-triangular", "N, k", "j - i >= N - k"),
        simplex("simplex 2", "a b", ONE),
        simplex("simplex 3", "a b c", ONE),
        simplex("simplex 4", "a b c d", &[&[0], &[1], &[2], &[6]]),
        simplex("simplex 5", "a b c d e", &[&[0], &[1], &[4]]),
        simplex("simplex 6", "a b c d e f", &[&[0], &[1], &[4]]),
        simplex("simplex 8", "a b c d e f g h", &[&[0], &[1], &[3]]),
    ];
    for k in [2, 4, 8] {
        all.push(butterfly(8, 3, k));
    }
    for strides in [&[5][..], &[5, 0], &[3, 7, 9]] {
        all.push(strided_diagonals(13, strides));
    }
    all
}

#[test]
fn places_of_all_families() {
    for Family { name, set, samples, pieces } in families() {
        let context = Context::new().unwrap();
        let layout = Layout::from_set(&Set::parse(&context, &set).unwrap()).unwrap();
        places(&layout, name, samples);
        let found = layout.index.pieces.len();
        assert!(found <= pieces, "{name}: {found} pieces: {}", layout.index);
        assert_eq!(layout.prove_bijection().unwrap(), Proof::Proven, "{name}");
    }
}

/// What is added to a rank shows, at any depth.
#[test]
fn wrong_ranks_are_not_proven() {
    for family in
        families().iter().filter(|family| ["simplex 3", "simplex 6"].contains(&family.name))
    {
        let name = family.name;
        let set = Set::parse(&Context::new().unwrap(), &family.set).unwrap();
        let layout = Layout::from_set(&set).unwrap();
        assert_eq!(layout.prove_bijection().unwrap(), Proof::Proven, "{name}");
        for wrong in ["a", "b", "c", "1"] {
            let more = match wrong {
                "1" => Affine::constant(1),
                dim => Affine::name(dim),
            };
            let mut other = layout.clone();
            let rank = &mut other.parts[0].rank.pieces[0].polynomial;
            *rank = &*rank + &Polynomial::from_affine(&more);
            assert_ne!(other.prove_bijection().unwrap(), Proof::Proven, "{name}: {wrong} more");
        }
    }
}

/// The sizes of the paper: too many elements to look at each, but pieces and proofs cost the same.
#[test]
fn at_the_papers_sizes() {
    let mut all = Vec::new();
    for k in [2, 4, 16, 256, 1024] {
        all.push(butterfly(1 << 10, 1 << 4, k));
    }
    all.push(strided_diagonals(1 << 14, &[4711]));
    for stride in [1, 16, 1 << 15, (1 << 16) - 1, 1 << 16] {
        let set = format!(
            "{{ [i, j] : 0 <= i, j < {} and (j = i or j - i = {stride} or i - j = {stride}) }}",
            1 << 16
        );
        all.push(family("strided band", &set, &[]));
    }
    for k in [1 << 6, 1 << 14] {
        let set = format!("{{ [i, j] : 0 <= i, j < 16384 and j - i >= 16384 - {k} }}");
        all.push(family("sub-triangular", &set, &[]));
    }
    for Family { name, set, pieces, .. } in all {
        let context = Context::new().unwrap();
        let layout = Layout::from_set(&Set::parse(&context, &set).unwrap()).unwrap();
        let found = layout.index.pieces.len();
        assert!(found <= pieces, "{set}: {found} pieces: {}", layout.index);
        assert_eq!(layout.prove_bijection().unwrap(), Proof::Proven, "{name}: {set}");
    }
}

/// Summands that use disjoint, equal and partly overlapping regions: one buffer, no duplicate, and one piece for each
/// access.
#[test]
fn regions_of_a_program() {
    let source = |first: &str, second: &str| {
        format!(
            "symbols: N, M
             A:D(i, j) := (0 <= i < N) * (0 <= j < N)
             A(i, j) := {first} * B(i, j) + {second} * C(i, j)
             B:D(i, j) := (0 <= i < N) * (0 <= j < N)
             C:D(i, j) := (0 <= i < N) * (0 <= j < N)"
        )
    };
    let cases = [
        ("disjoint", "(j = i)", "(j = i + M) * (M > 0)"),
        ("equal", "(i <= j)", "(i <= j)"),
        ("one within the other", "(i <= j)", "(i < j)"),
        ("overlapping", "(i <= j)", "(j <= i)"),
        ("overlapping rows", "(i < M)", "(i + M >= N)"),
    ];
    for (name, first, second) in cases {
        let layout = Layout::from_stur(&source(first, second), "A").unwrap();
        places(&layout, name, TWO);
        assert_eq!(layout.prove_bijection().unwrap(), Proof::Proven, "{name}: {}", layout.index);
    }
}
