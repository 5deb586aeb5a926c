//! Structure families (DASTAC, section 6.4, and more): pieces of the index, time from text to machine code, and bytes
//! against a dense array and against one buffer for each summand (the paper's rule).
//!
//! `cargo bench -p dastac-bench --bench families` prints the table; `-- --write` (what `./x families` does) puts it
//! into `docs/layouts.md`; `-- TEXT` measures the families whose name or parameters contain the text, and prints the
//! time of every stage.

use std::collections::BTreeMap;

use dastac_bench::figures;
use dastac_driver::build::BuildOptions;
use dastac_driver::driver::{Analysis, Built, Laid};
use dastac_driver::run::facts;
use dastac_layout::Layout;
use dastac_runtime::symbol_values;
use dastac_stur::program::TensorId;

/// The table stands in the documentation between these lines.
const MARKERS: [&str; 2] = ["<!-- families: begin -->", "<!-- families: end -->"];

/// A program, and the tensor whose layout is of interest.
struct Family {
    name: String,
    parameters: String,
    source: String,
    tensor: &'static str,
    symbols: Vec<(&'static str, i64)>,
}

fn main() {
    let mut rows = vec![
        "| family | parameters | pieces of the index | seen by an access | layout, ms | text to machine code, ms | \
         packed | \
         dense | a buffer each |"
            .to_string(),
        "|---|---|--:|--:|--:|--:|--:|--:|--:|".to_string(),
    ];
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|a| a != "--bench" && a != "--write").collect();
    let wanted = |family: &Family| {
        let text = format!("{} {}", family.name, family.parameters);
        arguments.iter().all(|argument| text.contains(argument.as_str()))
    };
    for family in families().into_iter().filter(wanted) {
        let row = match measure(&family, !arguments.is_empty()) {
            Ok(cells) => cells.join(" | "),
            Err(error) => error,
        };
        let row = format!("| {} | {} | {row} |", family.name, family.parameters);
        println!("{row}");
        rows.push(row);
    }
    if arguments.is_empty() && std::env::args().any(|argument| argument == "--write") {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/layouts.md");
        let text = std::fs::read_to_string(path).expect("docs/layouts.md is there");
        let [begin, end] = MARKERS;
        let (before, rest) = text.split_once(begin).expect("docs/layouts.md has the first marker");
        let (_, after) = rest.split_once(end).expect("docs/layouts.md has the second marker");
        let table = rows.join("\n");
        std::fs::write(path, format!("{before}{begin}\n{table}\n{end}{after}"))
            .expect("docs/layouts.md is writable");
    }
}

fn measure(family: &Family, stages: bool) -> Result<Vec<String>, String> {
    let text = |error: dastac_driver::Error| error.to_string();
    let target = BuildOptions::default();
    let built: Built = Analysis::of(&family.source)
        .and_then(Analysis::lay_out)
        .and_then(Laid::lower)
        .and_then(|lowered| lowered.build(target))
        .map_err(text)?;
    let laid = &built.lowered.laid;
    if stages {
        for (stage, time) in &laid.analysis.timings.0 {
            println!("{stage}: {:.1} ms", time.as_secs_f64() * 1e3);
        }
    }
    let inferred = laid.inferred();
    let tensor = inferred.program.find(family.tensor).ok_or("no such tensor")?;
    let names: Vec<String> =
        inferred.program.symbols.iter().map(|(name, _)| name.clone()).collect();
    let given: BTreeMap<String, i64> =
        family.symbols.iter().map(|(name, value)| (name.to_string(), *value)).collect();
    let symbols = symbol_values(&names, &given).map_err(|error| error.to_string())?;
    let facts = facts(laid, &symbols).map_err(text)?;
    let fact = facts.iter().find(|f| f.name == family.tensor).ok_or("no facts")?;
    let time = |stage: &str| -> f64 {
        let all = laid.analysis.timings.0.iter().filter(|(name, _)| *name == stage);
        all.map(|(_, time)| time.as_secs_f64() * 1e3).sum()
    };
    let (seen, each) = accesses(laid, tensor, &symbols).map_err(text)?;
    Ok(vec![
        fact.pieces.to_string(),
        seen.to_string(),
        format!("{:.0}", time("layout")),
        format!("{:.0}", laid.analysis.timings.total().as_secs_f64() * 1e3),
        dastac_driver::human(fact.packed_bytes),
        dastac_driver::human(fact.dense_bytes),
        dastac_driver::human(each),
    ])
}

/// The most pieces that an access sees (of the first few), and the bytes of one buffer for each access.
fn accesses(
    laid: &Laid,
    tensor: TensorId,
    symbols: &[i64],
) -> Result<(usize, u128), dastac_driver::Error> {
    let inferred = laid.inferred();
    let layout: &Layout = &laid.layouts[tensor.0];
    let values: Vec<(String, i64)> =
        inferred.sets.names.parameters().into_iter().zip(symbols.iter().copied()).collect();
    let (mut seen, mut bytes, mut asked) = (0, 0u128, 0);
    for access in inferred.accesses(tensor) {
        let reached = access.elements(&inferred.sets)?;
        let count = reached.fix_params(&values)?.card()?.eval(&[], &[])?.to_integer();
        bytes += u128::try_from(count).unwrap_or(0) * 8;
        asked += 1;
        if asked <= 4 {
            let reached = reached.permute(&layout.order)?;
            let mut pieces = 0;
            for piece in &layout.index.pieces {
                pieces += usize::from(!piece.domain.is_disjoint(&reached)?);
            }
            seen = seen.max(pieces);
        }
    }
    Ok((seen, bytes))
}

/// `y(i) := B(i, j) * x(j)` with a square `B` of this unique set.
fn matvec(
    name: &str,
    parameters: &str,
    symbols: &[(&'static str, i64)],
    size: &str,
    unique: &str,
) -> Family {
    let declared: Vec<&str> = symbols.iter().map(|(name, _)| *name).collect();
    let declared = if declared.is_empty() {
        String::new()
    } else {
        format!("symbols: {}\n", declared.join(", "))
    };
    Family {
        name: name.into(),
        parameters: parameters.into(),
        source: declared + &figures::matvec(size, unique),
        tensor: "B",
        symbols: symbols.to_vec(),
    }
}

/// Sums of products of strided diagonals with pseudo-random strides.
fn diagonals(summands: i64) -> Family {
    Family {
        name: "sum of strided diagonals".into(),
        parameters: format!("N = 2^14, {summands} summands"),
        source: figures::diagonals_source(summands),
        tensor: "A",
        symbols: Vec::new(),
    }
}

fn butterfly(k: i64) -> Family {
    Family {
        name: "block butterfly".into(),
        parameters: format!("n = 2^10, b = 2^4, k = {k}"),
        source: figures::butterfly_source(k),
        tensor: "B",
        symbols: Vec::new(),
    }
}

fn simplex(rank: usize) -> Family {
    let names = ["i", "j", "k", "l", "m", "n"];
    let iterators = names[..rank].join(", ");
    let vectors: Vec<String> = names[1..rank].iter().map(|name| format!("x({name})")).collect();
    let bounds: Vec<String> = names[..rank].iter().map(|n| format!("(0 <= {n} < N)")).collect();
    Family {
        name: "simplex".into(),
        parameters: format!("dimension {rank}, symbolic N (bytes at 12)"),
        source: format!(
            "symbols: N\ny(i) := T({iterators}) * {}\nT:D({iterators}) := {}\nT:U({iterators}) := ({})\n\
             x:D(j) := (0 <= j < N)\n",
            vectors.join(" * "),
            bounds.join(" * "),
            names[..rank].join(" <= ")
        ),
        tensor: "T",
        symbols: vec![("N", 12)],
    }
}

/// A kernel among the examples.
fn example(name: &str, tensor: &'static str) -> Family {
    let path = format!("{}/../../examples/{name}.stur", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let line = source.lines().find_map(|line| line.strip_prefix("symbols:")).unwrap_or_default();
    let symbols = ["M", "N", "P", "Q", "I", "J"]
        .into_iter()
        .filter(|symbol| {
            line.split(',').any(|s| s.split('#').next().unwrap_or("").trim() == *symbol)
        })
        .map(|symbol| (symbol, if symbol == "I" || symbol == "J" { 3 } else { 64 }))
        .collect();
    Family {
        name: format!("kernel `{name}`"),
        parameters: "symbolic (bytes at 64)".into(),
        source,
        tensor,
        symbols,
    }
}

fn families() -> Vec<Family> {
    let n = [("N", 1024)];
    let mut all = Vec::new();
    for summands in [1, 4, 16, 64, 128, 256, 1024] {
        all.push(diagonals(summands));
    }
    all.push(matvec(
        "strided diagonal",
        "symbolic N (bytes at 1024), modulus 64",
        &n,
        "N",
        "((j - i) % 64 = 7)",
    ));
    for k in [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024] {
        all.push(butterfly(k));
    }
    let band = |s: &str| format!("(j = i) + (j - i = {s}) + (i - j = {s})");
    for s in [1i64, 1 << 4, 1 << 8, 1 << 12, 1 << 15, 1 << 16] {
        let parameters = format!("N = 2^16, s = {s}");
        all.push(matvec("strided band", &parameters, &[], "65536", &band(&s.to_string())));
    }
    let symbols = [("N", 1024), ("S", 64)];
    all.push(matvec(
        "strided band",
        "symbolic N, S (bytes at 1024, 64)",
        &symbols,
        "N",
        &band("S"),
    ));
    for k in [6, 9, 14] {
        let unique = format!("(j - i >= {})", (1i64 << 14) - (1i64 << k));
        all.push(matvec("sub-triangular", &format!("N = 2^14, k = 2^{k}"), &[], "16384", &unique));
    }
    let symbols = [("N", 1024), ("K", 64)];
    let symbolic = "symbolic N, K (bytes at 1024, 64)";
    all.push(matvec("sub-triangular", symbolic, &symbols, "N", "(j - i >= N - K)"));
    for rank in 2..=6 {
        all.push(simplex(rank));
    }
    let symbols = [("N", 1024), ("W", 8)];
    let symbolic = "symbolic N, W (bytes at 1024, 8)";
    all.push(matvec("band", symbolic, &symbols, "N", "(j - i <= W) * (i - j <= W)"));
    for (name, unique) in [
        ("tridiagonal", "(j - i <= 1) * (i - j <= 1)"),
        ("arrowhead", "(i = 0) + (j = 0) + (i = j)"),
        ("block-triangular, blocks of 16", "(i / 16 <= j / 16)"),
        ("block-diagonal, blocks of 16", "(i / 16 = j / 16)"),
        ("checkerboard", "((i + j) % 2 = 0)"),
        ("hexagonal lattice", "((i + 2 * j) % 3 = 0)"),
    ] {
        all.push(matvec(name, "symbolic N (bytes at 1024)", &n, "N", unique));
    }
    for (name, tensor) in [
        ("ttm_dp", "B"),
        ("ttm_j", "B"),
        ("ttm_ut", "B"),
        ("thp_dp", "B"),
        ("thp_i", "B"),
        ("thp_j", "B"),
        ("mtt_d", "B"),
        ("mtt_j", "B"),
        ("mtt_jut", "B"),
        ("spmv_l", "B"),
        ("spmv_ut", "B"),
        ("spmv_d", "B"),
        ("pr2", "A"),
        ("pr3", "A"),
        ("pr4", "A"),
    ] {
        all.push(example(name, tensor));
    }
    all
}
