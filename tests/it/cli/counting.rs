//! Counting as users meet it: without Barvinok, with workers that fail, with settings that mean nothing.

use super::*;

/// Triangles, bands, blocks and strides, two rules, symmetry.
const PROGRAMS: [&str; 6] =
    ["banded_matvec.stur", "ttm_ut.stur", "block_diagonal.stur", "CHAIN", "SYMMETRIC", "STRIDED"];

const BAND: &str = "(i <= j + 2) * (j <= i + 1) * ((i + j) % 3 = 0)";

const STRIDED: &str = "symbols: N
y(i) := B(i, j) * x(j)
B:D(i, j) := (0 <= i < N) * (0 <= j < N)
B:U(i, j) := (i <= j + 2) * (j <= i + 1) * ((i + j) % 3 = 0)
x:D(j) := (0 <= j < N)
";

fn text(name: &str) -> String {
    match name {
        "CHAIN" => CHAIN.into(),
        "SYMMETRIC" => SYMMETRIC.into(),
        "STRIDED" => STRIDED.into(),
        file => example(file),
    }
}

/// A folder with libisl and what it needs, but without Barvinok.
fn isl_alone() -> TempDir {
    let from = crate::root().join("isl-vendor/lib");
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(&from).unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        let is = |start: &str| name.to_string_lossy().starts_with(start);
        if is("libisl") || is("libgmp") {
            fs::copy(path, folder.path().join(name)).unwrap();
        }
    }
    folder
}

/// Runs a program at a few sizes and compares with the reference evaluator.
fn verifies(folder: &Folder, variables: &[(&str, &Path)]) {
    let symbols = fs::read_to_string(folder.path("p.stur")).unwrap();
    let line = symbols.lines().find_map(|line| line.strip_prefix("symbols:")).unwrap_or("");
    let names: Vec<&str> = line.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    for size in [1, 7] {
        let params: String = names.iter().map(|name| format!(" -p {name}={size}")).collect();
        let mut command = folder.command(&format!("run p.stur{params} --verify"));
        let output = command.envs(variables.iter().copied()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn everything_works_without_barvinok() {
    let isl = isl_alone();
    let variables = [("DASTAC_ISL_DIR", isl.path()), ("DASTAC_CACHE", Path::new("off"))];
    for name in PROGRAMS {
        verifies(&Folder::new(&text(name)), &variables);
    }
    let folder = Folder::new(CHAIN);
    let output = folder.command("--version").envs(variables).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("without Barvinok"));
}

#[test]
fn either_counter_alone_is_enough() {
    for counter in ["faulhaber", "barvinok"] {
        let variables =
            [("DASTAC_COUNTER", Path::new(counter)), ("DASTAC_CACHE", Path::new("off"))];
        for name in PROGRAMS {
            verifies(&Folder::new(&text(name)), &variables);
        }
    }
}

#[test]
fn a_worker_that_fails_is_replaced() {
    let folder = Folder::new(STRIDED);
    let crash = [("DASTAC_COUNT_WORKER", Path::new("/bin/false"))];
    let off = [("DASTAC_CACHE", Path::new("off"))];
    verifies(&folder, &[crash, off].concat());
    // Places around the elements need no counting, and matrices have some for all of their elements.
    let folder = Folder::new(&STRIDED.replace(BAND, "(7 * i <= 5 * j) * ((i + 3 * j) % 19 = 0)"));
    verifies(&folder, &[crash, off].concat());
}

#[test]
fn settings_that_mean_nothing_are_errors() {
    let folder = Folder::new(STRIDED);
    let mut command = folder.command("layout p.stur");
    let output = command.env("DASTAC_COUNTER", "fast").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    expect!["error: DASTAC_COUNTER must be auto, faulhaber or barvinok, not `fast`\n"]
        .assert_eq(&String::from_utf8_lossy(&output.stderr));
}

#[test]
fn cached_and_fresh_layouts_are_the_same() {
    let folder = Folder::new(STRIDED);
    let layout = |cache: &Path| {
        let mut command = folder.command("layout p.stur");
        let output = command.env("DASTAC_CACHE", cache).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let cache = folder.path("cache");
    let first = layout(&cache);
    assert_eq!(layout(&cache), first);
    assert_eq!(layout(Path::new("off")), first);
    for entry in fs::read_dir(&cache).into_iter().flatten() {
        fs::write(entry.unwrap().path(), "garbage").unwrap();
    }
    assert_eq!(layout(&cache), first);
}

#[test]
fn the_worker_is_no_command_for_people() {
    let help = Folder::new(CHAIN).works("--help");
    assert!(!help.contains("count-worker"), "{help}");
}
