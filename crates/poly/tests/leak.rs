//! Objects and contexts are freed, also on the paths that end in an error. In a process of its own,
//! since it looks at the memory of the process.
#![cfg(target_os = "linux")]

use dastac_poly::{AstBuild, Context, Map, PwQPolynomial, Result, Set, UnionMap};

fn resident_pages() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Every kind of object, and every way out.
fn work(context: &Context) -> Result<()> {
    let triangle = Set::parse(context, "[N] -> { S[i, j] : 0 <= j <= i < N }")?;
    let map = Map::parse(context, "{ S[i, j] -> T[j, i] : i < 5; S[i, j] -> T[i, i] : i >= 5 }")?;
    let image = triangle.apply(&map)?;
    for (_, outputs) in map.as_pieces()? {
        outputs[0].expr()?;
    }
    triangle.permute(&[1, 0])?.project_onto(&["i"])?.dim_max(0)?.pieces()?;
    for (_, polynomial) in triangle.card()?.pieces()? {
        polynomial.terms()?;
    }
    let schedule = UnionMap::parse(context, "[N] -> { S[i, j] -> [i, j] : 0 <= j <= i < N }")?;
    let build = AstBuild::from_context(&Set::parse(context, "[N] -> { : }")?)?;
    build.set_iterators(&["i", "j"])?.node_from_schedule_map(&schedule)?;
    // Errors: in the text, of spaces, unbounded, over a limit in the middle of an enumeration.
    assert!(Set::parse(context, "{ [i] : ").is_err());
    assert!(triangle.intersect(&Set::parse(context, "{ [i] }")?).is_err());
    assert!(triangle.complement()?.card().is_err());
    assert!(triangle.fix_param("N", 9)?.points(5).is_err());
    assert!(PwQPolynomial::parse(context, "{ [i] -> i }")?.sum().is_err());
    drop(image);
    Ok(())
}

#[test]
fn memory_is_bounded() {
    let rounds = |count: usize| {
        for _ in 0..count / 10 {
            let context = Context::new().unwrap();
            (0..10).for_each(|_| work(&context).unwrap());
        }
    };
    rounds(200);
    let before = resident_pages();
    rounds(1000);
    let grown = resident_pages().saturating_sub(before);
    // One leaked set in each round would be about 100 pages, or a leaked context 1000; the
    // allocator's noise is less than 20.
    assert!(grown < 50, "{grown} pages more after 1000 rounds");
}
