//! Kernels for GPUs without a GPU: mapped loops on the interpreter and on this computer's processor, compared with the
//! reference evaluator; their PTX, assembled where NVIDIA's `ptxas` is at hand; what `--target cuda` says without a
//! driver.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use dastac::build::BuildOptions;
use dastac::driver::{Built, compile};
use dastac::loops::interp::{self, GridCounts};
use dastac::loops::{Data, Module, parse, verify};
use dastac::run::Runner;
use dastac::runtime::Argument;
use dastac::stur::reference::Evaluator;
use dastac::target::{CodeOptions, OptLevel};
use dastac::targets::{Known, Wanted};
use expect_test::expect;

use crate::examples::{examples, sizes, values};

/// Iterations of the reference evaluator that a case may take.
const MAX_COST: u128 = 5_000;

fn options(target: &str) -> BuildOptions {
    let target = Known::named(target).unwrap().target(&Wanted::default()).unwrap();
    BuildOptions { target, parallel: true, ..BuildOptions::default() }
}

fn built(path: &std::path::Path, options: BuildOptions) -> Built {
    let source = std::fs::read_to_string(path).unwrap();
    compile(&source, options).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The elements of an argument as the interpreter has them.
fn data(argument: &Argument<'_>) -> Data {
    let view = match argument {
        Argument::In(view) => *view,
        Argument::Out(view) => view.view(),
    };
    match view.element().is_integer() {
        true => Data::Int(view.to_f64().into_iter().map(|x| x as i64).collect()),
        false => Data::Float(view.parts().to_f64()),
    }
}

/// Executes a function of mapped loops on the interpreter.
fn interpreted(
    module: &Module,
    name: &str,
    symbols: &[i64],
    arguments: Vec<Argument<'_>>,
) -> GridCounts {
    let mut all: Vec<Data> = arguments.iter().map(data).collect();
    let counts = interp::run_grid(module, name, symbols, &mut all)
        .unwrap_or_else(|error| panic!("{error}\n{module}"));
    for (argument, data) in arguments.into_iter().zip(all) {
        if let Argument::Out(mut view) = argument {
            match data {
                Data::Float(numbers) => view.fill(|at| numbers[at]),
                Data::Int(numbers) => view.fill(|at| numbers[at] as f64),
            }
        }
    }
    counts
}

#[test]
fn mapped_examples_agree_with_the_reference() {
    for path in examples() {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        // Loops are compared, not code, which need not be optimised much.
        let built = built(&path, BuildOptions { opt_level: OptLevel::O0, ..options("grid") });
        let (mut grid, cuda) = (built.lowered.kernel.module.clone(), options("cuda"));
        cuda.tile(&mut grid, &mut ()).unwrap();
        let program = built.lowered.program().clone();
        let all = sizes(&program);
        let mut runner = Runner::new(built, &all[0], 2).unwrap();
        // Blocks of lanes take long on the interpreter: empty dimensions, and the most work that it can do in time.
        let cost = |sizes: &&BTreeMap<String, i64>| {
            Evaluator::new(&program, &values(&program, sizes)).unwrap().cost()
        };
        let largest = all.iter().filter(|sizes| cost(sizes) <= MAX_COST).max_by_key(cost);
        for sizes in [Some(&all[0]), largest].into_iter().flatten() {
            runner.resize(sizes).unwrap();
            let inputs = runner.random_inputs(3, &BTreeMap::new()).unwrap();
            runner.execute().unwrap();
            let outcome = runner.verify(&inputs).unwrap();
            assert!(outcome.agrees(), "{name} {sizes:?}, on the processor: {outcome:?}");
            let instance = runner.instance_mut();
            instance
                .execute_with(&mut |function, symbols, arguments| {
                    interpreted(&grid, function, symbols, arguments);
                    Ok(())
                })
                .unwrap();
            let outcome = runner.verify(&inputs).unwrap();
            assert!(outcome.agrees(), "{name} {sizes:?}, on the interpreter: {outcome:?}");
        }
    }
}

/// NVIDIA's assembler, which the environment variable `DASTAC_PTXAS` or the path names.
fn assembler() -> Option<PathBuf> {
    let named = std::env::var_os("DASTAC_PTXAS").map_or_else(|| "ptxas".into(), PathBuf::from);
    let found =
        Command::new(&named).arg("--version").output().is_ok_and(|out| out.status.success());
    if !found {
        eprintln!("skipped: there is no ptxas on the path, and DASTAC_PTXAS names none");
    }
    found.then_some(named)
}

/// What the assembler says of code for a generation.
fn assembled(assembler: &std::path::Path, text: &str, generation: u32) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kernels.ptx");
    std::fs::write(&file, text).unwrap();
    let output = Command::new(assembler)
        .args([&format!("-arch=sm_{generation}"), "-v", "-o"])
        .arg(folder.path().join("kernels.cubin"))
        .arg(&file)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}\n{text}");
    said
}

fn is_example(path: &std::path::Path) -> bool {
    path.starts_with(crate::root().join("examples"))
}

#[test]
fn examples_become_ptx() {
    let assembler = assembler();
    for path in examples() {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let source = std::fs::read_to_string(&path).unwrap();
        let built = match compile(&source, options("cuda")) {
            Ok(built) => built,
            // Functions that are not written here, of programs that are no examples.
            Err(error) if error.to_string().contains("libdevice") && !is_example(&path) => continue,
            Err(error) => panic!("{name}: {error}"),
        };
        let grid: dastac::target::launch::Grid =
            serde_json::from_slice(&built.code.code.bytes).unwrap();
        assert_eq!(grid.codes.iter().map(|code| code.generation).collect::<Vec<_>>(), [80, 90]);
        for code in &grid.codes {
            // What drivers have besides what is in the text.
            let needed = code.text.lines().filter(|line| line.contains(".extern .func"));
            let known = |line: &str| line.contains(" malloc") || line.contains(" free");
            assert_eq!(needed.filter(|line| !known(line)).collect::<Vec<_>>(), [""; 0], "{name}");
            for kernel in &grid.kernels {
                let entry = format!(".entry {}(", kernel.name);
                assert!(code.text.contains(&entry), "{name}: {entry}");
            }
            let Some(assembler) = &assembler else { continue };
            let said = assembled(assembler, &code.text, code.generation);
            let lines: Vec<&str> = said.lines().collect();
            let number = |line: &str, before: &str| -> Option<u32> {
                line.split_once(before)?.0.rsplit(' ').next()?.parse().ok()
            };
            for pair in lines.windows(2).filter(|pair| pair[0].contains("spill stores")) {
                // Only tiles, which have most of the shared memory, may: those whose factors are products of many
                // elements have too many values for two blocks.
                let tile = number(pair[1], " bytes smem").is_some_and(|bytes| bytes > 16 << 10);
                let spilled = number(pair[0], " bytes spill stores").unwrap();
                assert!(spilled <= if tile { 512 } else { 0 }, "{name}: {pair:?}");
            }
        }
    }
}

/// What the mapping makes of a function over `A`, `B` and `C`.
fn mapped(body: &str) -> Module {
    let text = format!(
        "module(N, M)\nbuffer A : f64[N * M]\nbuffer B : f64[N * M]\nbuffer C : f64[N]\n\
         buffer p : i64[N + 1]\nfunc f(inout A, in B, inout C, in p) {{ {body} }}"
    );
    let mut module = parse(&text).unwrap();
    options("cuda").tile(&mut module, &mut ()).unwrap();
    verify(&module).unwrap();
    module
}

/// How lanes access memory, at 70 rows of 40 columns.
fn counts(module: &Module) -> GridCounts {
    let (n, m) = (70, 40);
    let floats = |count: i64| Data::Float((0..count).map(|x| (x % 7) as f64).collect());
    let positions = Data::Int((0..=n).map(|row| row * m).collect());
    let mut data = [floats(n * m), floats(n * m), floats(n), positions];
    interp::run_grid(module, "f", &[n, m], &mut data).unwrap_or_else(|e| panic!("{e}\n{module}"))
}

#[test]
fn lanes_read_neighbouring_elements() {
    let bodies = [
        // Each point is a lane's, the columns of a row are neighbours.
        "parallel i = 0 to N { parallel j = 0 to M { A[M * i + j] = 2.0 * B[M * i + j] } }",
        // The lanes of a warp share a row.
        "parallel i = 0 to N { C[i] = sum(j = 0 to M) B[M * i + j] }",
        "parallel i = 0 to N { C[i] = sum(j = p[i] to p[i + 1]) B[j] }",
        // Columns are neighbours as they are.
        "parallel j = 0 to M { C[j] = sum(i = 0 to N) B[M * i + j] }",
    ];
    let mut all = String::new();
    for body in bodies {
        let found = counts(&mapped(body));
        assert_eq!(found.uncoalesced, 0, "{body}: {found:?}");
        all += &format!("{found:?}\n");
    }
    // The sums of a warp's rows stand 32 elements apart.
    expect![[r#"
        GridCounts { barriers: 11, requests: 176, sectors: 1400, uncoalesced: 0, shared_requests: 0, bank_conflicts: 0 }
        GridCounts { barriers: 15, requests: 108, sectors: 718, uncoalesced: 0, shared_requests: 204, bank_conflicts: 0 }
        GridCounts { barriers: 15, requests: 144, sectors: 771, uncoalesced: 0, shared_requests: 204, bank_conflicts: 0 }
        GridCounts { barriers: 6, requests: 142, sectors: 710, uncoalesced: 0, shared_requests: 50, bank_conflicts: 0 }
    "#]]
    .assert_eq(&all);
    // A transposition cannot have both.
    let transposed = "parallel i = 0 to N { parallel j = 0 to M { A[N * j + i] = B[M * i + j] } }";
    assert!(counts(&mapped(transposed)).uncoalesced > 0);
}

#[test]
fn grids_are_checked() {
    let head = "module(N)\nbuffer A : f64[N]\nbuffer S : f64[64] in shared\nfunc f(inout A) { ";
    let error = |body: &str| {
        let module = parse(&format!("{head}{body} }}")).unwrap();
        let mut data = [Data::Float(vec![1.0; 64])];
        let found = interp::run_grid(&module, "f", &[64], &mut data);
        found.map_or_else(|error| error.to_string(), |counts| format!("{counts:?}")) + "\n"
    };
    let block =
        |body: &str| error(&format!("parallel(blocks) b = 0 to 2 {{ with S of 64 {{ {body} }} }}"));
    let all = [
        block("parallel(lanes) t = 0 to 32 { S[0] = A[t] }"),
        block("parallel(lanes) t = 0 to 32 { S[t] = A[t] A[t + 32 * b] = S[31 - t] }"),
        block(
            "parallel(lanes) t = 0 to 32 { S[t] = A[t] } parallel(lanes) t = 0 to 32 { A[32 * b + t] = S[32 + t] }",
        ),
        block("parallel(lanes) t = 0 to 32 { S[64 + t] = A[t] }"),
        block("S[0] = 1.0"),
        block("parallel(lanes) t = 0 to 32 { A[t] = 1.0 }"),
        // Every second element: two words of each bank. Then, after a barrier, neighbours.
        block(
            "parallel(lanes) t = 0 to 32 { S[t * 2] = 1.0 } parallel(lanes) t = 0 to 32 { A[t + 32 * b] = S[t * 2] }",
        ),
    ];
    expect![[r#"
        iterations of a parallel loop collide at S[0]
        S[31] is shared memory that nothing was written to
        S[32] is shared memory that nothing was written to
        S[64] is outside its 64 elements
        the function is not valid: a block writes outside of its lanes
        iterations of a parallel loop collide at A[0]
        GridCounts { barriers: 4, requests: 2, sectors: 16, uncoalesced: 0, shared_requests: 4, bank_conflicts: 8 }
    "#]]
    .assert_eq(&all.concat());
}

#[test]
fn functions_are_as_exact_as_on_processors() {
    // The kernels' own exponentials and logarithms are not those of the C library; their text is checked by the
    // assembler above, their numbers here, from the same formulas.
    let module = mapped("parallel i = 0 to N { C[i] = exp(B[i]) + log1p(B[i]) + tanh(B[i]) }");
    let cuda = options("cuda");
    let mut fitted = module.clone();
    let code = CodeOptions::default();
    for sequence in cuda.target.code_sequences(&code) {
        let registry = cuda.registry();
        let pipeline = dastac::loops::passes::Pipeline::of(&registry, &[sequence]).unwrap();
        let machine = cuda.machine(&code);
        let context = dastac::loops::Context::of(&machine);
        pipeline.run(&mut fitted, &context, &mut ()).unwrap();
    }
    let text = cuda.target.text(&fitted, &code, "kernels").unwrap();
    for name in ["dastac_exp", "dastac_log1p", "dastac_tanh"] {
        assert!(text.contains(&format!("llvm.call @{name}(")), "{text}");
    }
    assert!(!text.contains("__nv_"), "{text}");
}

#[test]
fn without_a_driver_one_line_says_so() {
    let file = crate::root().join("examples/spmv_csr.stur");
    let output = crate::dastac()
        .args(["run", "--target", "cuda", "-p", "M=5", "-p", "N=7"])
        .arg(&file)
        .env("DASTAC_CUDA", "/nonexistent/libcuda.so.1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    expect![[r#"
        error: NVIDIA's driver was not found (tried /nonexistent/libcuda.so.1); DASTAC_CUDA may name its library
        help: `--target grid` runs the same kernels on this computer's processor
    "#]]
    .assert_eq(&said);
}

/// The folder that goes to a machine with a GPU: its programs, on this computer's processor, give what is expected.
#[test]
fn the_folder_for_measurements_runs_dry() {
    use dastac::runtime::measure::{CASES, Case, cases, measure};
    let folder = tempfile::tempdir().unwrap();
    let symbols =
        |all: &[(&str, i64)]| all.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
    let file = "%%MatrixMarket matrix coordinate real general\n3 5 2\n1 2 1.5\n3 5 2\n";
    std::fs::write(folder.path().join("small.mtx"), file).unwrap();
    let list = [
        // Symbols that the program lacks, and symbols without a value.
        Case {
            program: "ttm_ut".into(),
            symbols: symbols(&[("N", 33), ("X", 2)]),
            others: vec![9, 40],
            repeat: Some(2),
            ..Case::default()
        },
        Case {
            program: "spmv_csr".into(),
            symbols: symbols(&[("M", 50), ("N", 300)]),
            density: Some(0.2),
            ..Case::default()
        },
        Case {
            program: "spmv_csr".into(),
            symbols: symbols(&[("M", 3), ("N", 5)]),
            files: [("A".to_owned(), "small.mtx".to_owned())].into(),
            ..Case::default()
        },
    ];
    for name in ["ttm_ut", "spmv_csr"] {
        let path = crate::root().join("examples").join(name).with_extension("stur");
        for target in ["cuda", "grid", "cpu"] {
            let bytes = built(&path, options(target)).package().unwrap().to_bytes().unwrap();
            std::fs::write(folder.path().join(format!("{name}.{target}.dastac")), bytes).unwrap();
        }
    }
    std::fs::write(folder.path().join(CASES), serde_json::to_string(&list).unwrap()).unwrap();
    assert_eq!(cases(folder.path()).unwrap(), list);
    for case in &list {
        let found = measure(folder.path(), case, "grid");
        assert!(found.error.is_none() && found.wrong == 0 && found.compared > 0, "{found:?}");
        assert_eq!(found.seconds.len(), case.repeat.unwrap_or(1));
    }
    // What is expected of other programs is wrong, and a file that is no matrix is told.
    let path = crate::root().join("examples/spmv_csr.stur");
    let twice = std::fs::read_to_string(path).unwrap().replace("y(i) := ", "y(i) := 2 * ");
    let twice = compile(&twice, options("grid")).unwrap().package().unwrap().to_bytes().unwrap();
    std::fs::write(folder.path().join("spmv_csr.grid.dastac"), twice).unwrap();
    assert!(measure(folder.path(), &list[1], "grid").wrong > 40);
    std::fs::write(folder.path().join("small.mtx"), "nothing").unwrap();
    assert!(measure(folder.path(), &list[2], "grid").error.is_some());
}

/// Blocks share the terms of a tile where there are few tiles and long sums.
#[test]
fn sums_are_shared_by_blocks() {
    let source = "types: B = T, G = T\nsymbols: M, N, K\nG(k, i, j) := B(k, x, i) * B(k, x, j)\n\
                  B:D(k, x, i) := (0 <= k < K) * (0 <= x < M) * (0 <= i < N)\n\
                  G:D(k, i, j) := (0 <= k < K) * (0 <= i <= j) * (j < N)\n";
    for element in ["f64", "f32"] {
        let source = source.replace('T', element);
        let built = compile(&source, options("grid")).unwrap();
        let sizes = |[m, n, k]: [i64; 3]| {
            BTreeMap::from([("M", m), ("N", n), ("K", k)].map(|(name, n)| (name.to_owned(), n)))
        };
        let mut runner = Runner::new(built, &sizes([1, 1, 1]), 2).unwrap();
        for (m, n, k) in [(4100, 33, 1), (2049, 70, 1), (2047, 35, 2), (0, 40, 1), (3, 33, 1)] {
            runner.resize(&sizes([m, n, k])).unwrap();
            let inputs = runner.random_inputs(3, &BTreeMap::new()).unwrap();
            runner.execute().unwrap();
            let outcome = runner.verify(&inputs).unwrap();
            assert!(outcome.agrees(), "{element}, {m} terms, {n} rows: {outcome:?}");
        }
    }
}

/// Rows of all lengths agree with the same loops without a grid, also a few that are much longer than all others.
#[test]
fn rows_of_different_lengths() {
    let vector =
        "parallel i = 0 to N { C[i] = 2.0 * (sum(j = p[i] to p[i + 1]) B[j] * A[c[j]]) + C[i] }";
    let matrix = "parallel i = 0 to N { parallel k = 0 to M { \
                  C[M * i + k] = 2.0 * (sum(j = p[i] to p[i + 1]) B[j] * A[M * c[j] + k]) + C[M * i + k] } }";
    // The columns of a row begin and end elsewhere.
    let bands = "parallel i = 0 to N { parallel k = i % 5 to min(M, 9 * i + 1) { \
                 C[M * i + k] max= max(j = p[i] to p[i + 1]) B[j] * A[M * c[j] + k] } }";
    let cases = [
        (vector, 1, 300, 0),
        (vector, 1, 300, 2),
        (vector, 1, 130, 9),
        (vector, 1, 70, 30),
        (vector, 1, 20, 700),
        (vector, 1, 3, 5000),
        (matrix, 7, 40, 3),
        (matrix, 16, 9, 2),
        (matrix, 33, 9, 50),
        (matrix, 70, 5, 20),
        (matrix, 128, 9, 200),
        (matrix, 64, 8200, 1),
        (matrix, 16, 32800, 1),
        (bands, 45, 30, 4),
        (bands, 80, 12, 40),
    ];
    for (body, m, n, average) in cases {
        // Most rows have less than the average, the third has the rest, and one in front of it nothing.
        let own = |row: i64| if row == 1 || average == 0 { 0 } else { row * 7 % average };
        let mut lengths: Vec<i64> = (0..n).map(own).collect();
        lengths[2] += n * average - lengths.iter().sum::<i64>();
        let ends = lengths.iter().scan(0, |end, length| {
            *end += length;
            Some(*end)
        });
        let positions: Vec<i64> = std::iter::once(0).chain(ends).collect();
        let count = positions[n as usize];
        let text = format!(
            "module(N, M, K)\nbuffer A : f64[100 * M]\nbuffer B : f64[K]\nbuffer C : f64[N * M]\n\
             buffer p : i64[N + 1]\nbuffer c : u32[K]\n\
             func f(in A, in B, inout C, in p, in c) {{ {body} }}"
        );
        let plain = parse(&text).unwrap();
        let mut grid = plain.clone();
        options("cuda").tile(&mut grid, &mut ()).unwrap();
        verify(&grid).unwrap_or_else(|errors| panic!("{errors:?}\n{grid}"));
        let floats = |count: i64, by: i64| {
            Data::Float((0..count).map(|x| ((x * by) % 7 - 3) as f64).collect())
        };
        let columns = Data::Int((0..count).map(|x| (x * x + 3 * x) % 100).collect());
        let mut expected =
            [floats(100 * m, 2), floats(count, 3), floats(n * m, 5), Data::Int(positions), columns];
        let mut found = expected.clone();
        let symbols = [n, m, count];
        interp::run(&plain, "f", &symbols, &mut expected).unwrap();
        interp::run_grid(&grid, "f", &symbols, &mut found)
            .unwrap_or_else(|error| panic!("{error}\n{grid}"));
        assert_eq!(expected, found, "{body}, {n} rows of {average}, {m} columns");
    }
}

/// Products that are large enough for tiles agree with the same loops without a grid.
#[test]
fn products_in_tiles() {
    let bodies = [
        // Rectangles that no tile fits, in a layout of rows and in one of columns.
        "parallel i = 0 to N { parallel j = 0 to M { \
         A[M * i + j] += 2.0 * (sum(l = 0 to 20) B[20 * i + l] * B[M * l + j]) } }",
        "parallel i = 0 to N { parallel j = 0 to M { A[M * i + j] = sum(l = 3 to 40) B[N * l + i] * B[60 * l + j] } }",
        // A triangle of results.
        "parallel i = 0 to N { parallel j = max(i - 5, 0) to M { \
         A[M * i + j] = sum(l = 0 to 17) B[17 * i + l] * B[M * l + j] } }",
        // Slices, whose rows begin later and later.
        "parallel b = 0 to 3 { parallel i = b to 40 { parallel j = 0 to 35 { \
         A[1400 * b + 35 * i + j] = sum(l = 0 to 9) B[9 * i + l + b] * B[35 * l + j] } } }",
        // Terms that only some rows have, beside infinities that the others must not see.
        "parallel i = 0 to N { parallel j = 0 to M { A[M * i + j] = sum(l = i to 60) B[60 * i + l] * C[M * l + j] } }",
        // Terms that only some rows and columns have.
        "parallel i = 0 to N { parallel j = 0 to M { \
         A[M * i + j] = sum(l = max(j - 3, 0) to i + 1) B[66 * i + l] * B[66 * l + j] } }",
        "parallel i = 0 to N { parallel j = 0 to M { \
         A[M * i + j] = sum(l = max(i - 9, 0) to min(40 - j, i + 20)) B[40 * i + l] * B[l + 40 * j] } }",
        // Two parts of a mirrored factor.
        "parallel i = 0 to N { parallel j = 0 to M { A[M * i + j] = (sum(l = i to N) B[66 * i + l] * B[66 * l + j]) \
         + (sum(l = 0 to i) B[66 * l + i] * B[66 * l + j]) } }",
    ];
    let types = ["f64", "f32"];
    for (body, element) in bodies.into_iter().flat_map(|body| types.map(|element| (body, element)))
    {
        let text = |body: &str| {
            let buffer = |name: &str| format!("buffer {name} : {element}[N * M]\n");
            let buffers = ["A", "B", "C"].map(buffer).concat();
            format!("module(N, M)\n{buffers}func f(inout A, in B, in C) {{ {body} }}")
        };
        let plain = parse(&text(body)).unwrap();
        let mut grid = plain.clone();
        options("cuda").tile(&mut grid, &mut ()).unwrap();
        verify(&grid).unwrap_or_else(|errors| panic!("{errors:?}\n{grid}"));
        let (text, together) = (grid.to_string(), element == "f64");
        assert!(text.contains("held") && text.contains("multiply ") == together, "{grid}");
        let (n, m) = (70, 67);
        let floats = |seed: i64| (0..n * m).map(|x| ((x * seed) % 7 + 1) as f64).collect();
        let mut endless: Vec<f64> = floats(2);
        endless[..m as usize].fill(f64::INFINITY);
        let mut expected = [Data::Float(floats(3)), Data::Float(floats(5)), Data::Float(endless)];
        let mut found = expected.clone();
        interp::run(&plain, "f", &[n, m], &mut expected).unwrap();
        let counts = interp::run_grid(&grid, "f", &[n, m], &mut found)
            .unwrap_or_else(|error| panic!("{error}\n{grid}"));
        let [Data::Float(expected), ..] = &expected else { unreachable!() };
        let [Data::Float(found), ..] = &found else { unreachable!() };
        let differs = expected.iter().zip(found).position(|(expected, found)| expected != found);
        assert_eq!(differs, None, "{body}, {element}");
        assert!(counts.barriers > 4, "{counts:?}");
    }
}

/// Prefix sums over ranges of all lengths, also those of several chunks of chunks.
#[test]
fn prefix_sums() {
    let bodies = [
        ("i64", "for x = 0 to N { let n = a[x] { a[x + 1] += index(n) } }"),
        ("i64", "for x = M to N { let n = a[2 + x - M] { a[x + 3 - M] += index(n) } }"),
        ("u32", "for x = M to min(N, 9000) { let n = a[x] { a[x + 1] += index(n) } }"),
        ("i64", "for x = 0 to N { a[x + 1] += a[x] }"),
    ];
    for (element, body) in bodies {
        let text =
            format!("module(N, M)\nbuffer a : {element}[N + 4]\nfunc f(inout a) {{ {body} }}");
        let plain = parse(&text).unwrap();
        let mut grid = plain.clone();
        options("cuda").tile(&mut grid, &mut ()).unwrap();
        verify(&grid).unwrap_or_else(|errors| panic!("{errors:?}\n{grid}"));
        assert!(grid.to_string().contains("total"), "{grid}");
        for n in [0, 1, 2, 7, 255, 2047, 2048, 2049, 4096, 9001] {
            let numbers = (0..n + 4).map(|x| (x * 7) % 5).collect();
            let mut expected = [Data::Int(numbers)];
            let mut found = expected.clone();
            interp::run(&plain, "f", &[n, 3], &mut expected).unwrap();
            interp::run_grid(&grid, "f", &[n, 3], &mut found)
                .unwrap_or_else(|error| panic!("{error}\n{grid}"));
            assert_eq!(expected, found, "{body}, {n}");
        }
    }
}

/// Rows of a product that are sorted by a warp, by a block, or not at all, and those of few columns, whose workspaces
/// are in shared memory, agree with the same loops in order.
#[test]
fn rows_of_sparse_results_are_sorted() {
    let body = "{ for i = begin to end { with at of 2 { at[0] = index(START) with block of 1 { \
        for p = p[i] to p[i + 1] { for q = q[c[p]] to q[c[p] + 1] { \
          POINT m0[d[q]] = index(1) m1[d[q] / 64] = index(1) } } \
        scan b in m1[0 .. (K + 63) / 64] { scan k in m0[64 * b .. 64 * b + 64] { DRAIN } } \
        let n = at[0] { LAST } } } } }";
    let count = [
        ("START", "0"),
        ("POINT", ""),
        ("DRAIN", "at[0] += index(1)"),
        ("LAST", "s[i + 1] = index(n)"),
    ];
    let fill = [
        ("START", "s[i]"),
        ("POINT", "W[d[q]] += A[p] * B[q]"),
        (
            "DRAIN",
            "block[0] = W[k] W[k] = 0.0 let n = at[0] { r[n] = index(k) C[n] = block[0] at[0] += index(1) }",
        ),
        ("LAST", "e[i] = index(n)"),
    ];
    let of = |parts: &[(&str, &str)]| {
        parts.iter().fold(body.to_owned(), |body, (name, by)| body.replace(name, by))
    };
    let marks = "with m1 of (K + 63) / 64 zero { with m0 of (K + 63) / 64 * 64 zero";
    let text = format!(
        "module(M, N, K, E, F, R)\nbuffer p : u32[M + 1]\nbuffer c : u32[E]\nbuffer A : f64[E]\n\
         buffer q : u32[N + 1]\nbuffer d : u32[F]\nbuffer B : f64[F]\nbuffer s : i64[M + 1]\nbuffer e : i64[M]\n\
         buffer r : i64[R]\nbuffer C : f64[R]\nbuffer m0 : u8[0]\nbuffer m1 : u8[0]\nbuffer W : f64[0]\n\
         buffer at : i64[2]\nbuffer block : f64[1]\n\
         func count(inout s, in p, in c, in q, in d) {{ \
           partition begin, end = 0 to M by p[end] {{ {marks} {} }} }} \
           for x = 0 to M {{ let n = s[x] {{ s[x + 1] += index(n) }} }} }}\n\
         func fill(inout r, inout C, inout e, in s, in p, in c, in A, in q, in d, in B) {{ \
           partition begin, end = 0 to M by s[end] {{ with W of K zero {{ {marks} {} }} }} }} }}",
        of(&count),
        of(&fill),
    );
    let plain = parse(&text).unwrap();
    let mut grid = plain.clone();
    options("cuda").tile(&mut grid, &mut ()).unwrap();
    verify(&grid).unwrap_or_else(|errors| panic!("{errors:?}\n{grid}"));
    assert!(grid.to_string().contains("sorted"), "{grid}");
    // Elements of the rows of both factors: up to 3 * 16, 90 * 16 and 140 * 16 points in the first one's.
    let lengths = [3, 0, 33, 1, 32, 90, 140, 64, 2];
    let n = 150;
    let mut positions = vec![0];
    lengths.iter().for_each(|length| positions.push(positions[positions.len() - 1] + length));
    let elements = *positions.last().unwrap();
    let columns: Vec<i64> = lengths
        .iter()
        .flat_map(|length| (0..*length).map(move |x| x * n / length.max(&1)))
        .collect();
    let inner: Vec<i64> = (0..=n).map(|row| row * 16).collect();
    let all = n * 16;
    let coordinates: Vec<i64> =
        (0..n).flat_map(|row| (0..16).map(move |x| (row * 37 % 40) + x * 40 + row % 3)).collect();
    let floats =
        |count: i64| Data::Float((0..count).map(|x| 1.0 / ((x * 7) % 13 + 1) as f64).collect());
    let m = lengths.len() as i64;
    for k in [700, 40_000] {
        let symbols = [m, n, k, elements, all, elements * 16];
        let integers =
            [&positions, &columns, &inner, &coordinates].map(|all| Data::Int(all.clone()));
        let [p, c, q, d] = integers;
        let mut expected = vec![Data::Int(vec![0; lengths.len() + 1]), p, c, q, d];
        let mut found = expected.clone();
        let both = |name: &str, expected: &mut Vec<Data>, found: &mut Vec<Data>| {
            interp::run(&plain, name, &symbols, expected).unwrap();
            interp::run_grid(&grid, name, &symbols, found)
                .unwrap_or_else(|error| panic!("{error}\n{grid}"));
            assert!(expected == found, "{name}, {k}");
        };
        both("count", &mut expected, &mut found);
        let size = (elements * 16) as usize;
        let results = [Data::Int(vec![0; size]), Data::Float(vec![0.0; size])];
        let [s, p, c, q, d] = <[Data; 5]>::try_from(expected).unwrap();
        let rows = Data::Int(vec![0; lengths.len()]);
        let inputs = [rows, s, p, c, floats(elements), q, d, floats(all)];
        let mut expected: Vec<Data> = results.into_iter().chain(inputs).collect();
        let mut found = expected.clone();
        both("fill", &mut expected, &mut found);
    }
}
