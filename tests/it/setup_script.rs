//! `./x setup` in a made-up world: a copy of the script with a PATH on which apt-get, dpkg-query, python3, cargo, df,
//! id and uname are stand-ins that write down how they were called.

use std::{
    env, fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::PathBuf,
    process::{Command, Stdio},
};
use tempfile::TempDir;

const PACKAGES: &str = "llvm-22-dev libmlir-22-dev libpolly-22-dev libclang-22-dev libomp-22-dev libzstd-dev \
    zlib1g-dev g++";

/// What stands for libisl and its companions: names, in order, and content.
const LIBRARIES: [(&str, &str); 2] = [
    (
        "libbarvinok.so",
        "barvinok
",
    ),
    (
        "libisl.so",
        "isl
",
    ),
];

const STAND_INS: &[(&str, &str)] = &[
    ("id", r#"cat "$STATE/uid""#),
    ("uname", r#"case $1 in -m) echo x86_64 ;; -sm) echo Linux x86_64 ;; esac"#),
    (
        "df",
        r#"printf 'Filesystem 1024-blocks Used Available Capacity Mounted\n'
printf '/dev/x 9 9 %s 9%% /\n' "$(cat "$STATE/free")""#,
    ),
    (
        "cargo",
        r#"case $1 in
           --version) cat "$STATE/cargo" ;;
           -vV) echo 'host: x86_64-unknown-linux-gnu' ;;
           *) echo "cargo $*" >> "$STATE/log" ;;
           esac"#,
    ),
    (
        "dpkg-query",
        r#"shift 2
           for package; do if grep -qxF "$package" "$STATE/installed"; then printf '%s:installed ' "$package"; fi; done"#,
    ),
    (
        "apt-get",
        r#"echo "apt-get $*" >> "$STATE/log"
           if [ -e "$STATE/offline" ]; then echo 'E: Failed to fetch' >&2; exit 100; fi
           if [ "$1" = install ]; then shift 3; printf '%s\n' "$@" >> "$STATE/installed"; fi"#,
    ),
    (
        "python3",
        r#"case "$2 $3" in
           "pip --version") [ ! -e "$STATE/no-pip" ] || grep -qxF python3-pip "$STATE/installed" ;;
           "pip download")
               echo "pip $*" >> "$STATE/log"
               if [ -e "$STATE/pip-error" ]; then cat "$STATE/pip-error" >&2; exit 1; fi
               while [ "$1" != -d ]; do shift; done
               mkdir -p "$2" && echo > "$2/some.whl" ;;
           "zipfile -e") mkdir -p "$5/some.libs" && cp "$STATE"/libraries/* "$5/some.libs" ;;
           esac"#,
    ),
];

/// The rest of what the script calls; taken from this machine.
const REAL: &[&str] = &[
    "cat",
    "cp",
    "dirname",
    "env",
    "grep",
    "ls",
    "mkdir",
    "mktemp",
    "mv",
    "rm",
    "sed",
    "sha256sum",
    "tail",
];

/// A machine on which nothing is installed but Rust, with root rights and a network.
struct Machine {
    folder: TempDir,
    variables: Vec<(&'static str, PathBuf)>,
}

struct Outcome {
    ok: bool,
    stderr: String,
    /// How apt-get, pip and cargo were called.
    log: String,
}

impl Machine {
    fn new() -> Machine {
        let machine = Machine { folder: tempfile::tempdir().unwrap(), variables: Vec::new() };
        let root = crate::root();
        for folder in ["bin", "state/libraries", "repo/isl-vendor"] {
            fs::create_dir_all(machine.path(folder)).unwrap();
        }
        for file in ["x", "Cargo.toml", "isl-vendor/requirements.txt"] {
            fs::copy(root.join(file), machine.path("repo").join(file)).unwrap();
        }
        for (name, script) in STAND_INS {
            machine.add_command(name, script);
        }
        for name in REAL {
            let path = env::var_os("PATH").unwrap();
            let real =
                env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.exists());
            symlink(
                real.unwrap_or_else(|| panic!("no {name} on the PATH")),
                machine.path("bin").join(name),
            )
            .unwrap();
        }
        for (name, content) in LIBRARIES {
            machine.write(&format!("state/libraries/{name}"), content);
        }
        machine.write_manifest();
        machine.write("state/uid", "0\n");
        machine.write("state/free", "90000000\n");
        machine.write("state/installed", "");
        machine.write("state/cargo", "cargo 99.0.0 (0000000 2099-01-01)\n");
        machine.write("os-release", "ID=debian\nVERSION_ID=\"12\"\n");
        machine
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    fn write(&self, relative: &str, content: &str) {
        fs::write(self.path(relative), content).unwrap();
    }

    fn add_command(&self, name: &str, script: &str) {
        let file = self.path("bin").join(name);
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Pins the stand-ins for the libraries instead of the real ones.
    fn write_manifest(&self) {
        let names = LIBRARIES.map(|(name, _)| name);
        let output = Command::new("sha256sum")
            .args(names)
            .current_dir(self.path("state/libraries"))
            .output()
            .unwrap();
        assert!(output.status.success());
        fs::write(self.path("repo/isl-vendor/libraries.sha256"), output.stdout).unwrap();
    }

    fn setup(&self) -> Outcome {
        let _ = fs::remove_file(self.path("state/log"));
        let output = Command::new("/bin/sh")
            .args(["x", "setup"])
            .current_dir(self.path("repo"))
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("STATE", self.path("state"))
            .env("DASTAC_X_OS_RELEASE", self.path("os-release"))
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Outcome {
            ok: output.status.success(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            log: fs::read_to_string(self.path("state/log")).unwrap_or_default(),
        }
    }

    fn fails_with(&self, message: &str) -> Outcome {
        let outcome = self.setup();
        assert!(!outcome.ok, "setup should have failed");
        assert!(outcome.stderr.contains(message), "no {message:?} in:\n{}", outcome.stderr);
        outcome
    }

    fn succeeds(&self) -> Outcome {
        let outcome = self.setup();
        assert!(outcome.ok, "{}", outcome.stderr);
        outcome
    }

    /// The content of `isl-vendor/lib`, which is complete and unaltered.
    fn assert_libraries(&self) {
        let folder = self.path("repo/isl-vendor/lib");
        let mut found: Vec<_> =
            fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        found.sort();
        assert_eq!(found, LIBRARIES.map(|(name, _)| name));
        for (name, content) in LIBRARIES {
            assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), content);
        }
        self.assert_no_leftovers();
    }

    /// Nothing half-done stays in `isl-vendor`.
    fn assert_no_leftovers(&self) {
        for entry in fs::read_dir(self.path("repo/isl-vendor")).unwrap() {
            let name = entry.unwrap().file_name();
            let name = name.to_str().unwrap();
            assert!(
                ["lib", "libraries.sha256", "requirements.txt"].contains(&name),
                "{name} was left"
            );
        }
    }
}

#[test]
fn the_first_run_installs_and_the_second_calls_neither_apt_nor_pip() {
    let machine = Machine::new();
    let first = machine.succeeds();
    let install = format!("apt-get install -y --no-install-recommends {PACKAGES}\n");
    assert!(first.log.starts_with(&format!("apt-get update -q\n{install}pip ")), "{}", first.log);
    assert!(
        first.log.contains("--require-hashes") && first.log.contains("\ncargo fetch"),
        "{}",
        first.log
    );
    machine.assert_libraries();

    let second = machine.succeeds();
    assert!(!second.log.contains("apt-get") && !second.log.contains("pip"), "{}", second.log);
    assert_eq!(second.stderr, "x: ready\n");
}

#[test]
fn only_missing_packages_are_installed() {
    let machine = Machine::new();
    machine.write("state/installed", &PACKAGES.replace("libzstd-dev ", "").replace(' ', "\n"));
    machine.write("state/no-pip", "");
    let outcome = machine.succeeds();
    let install = "apt-get install -y --no-install-recommends libzstd-dev python3 python3-pip\n";
    assert!(outcome.log.contains(install), "{}", outcome.log);
}

#[test]
fn without_root_and_sudo_the_exact_line_is_printed() {
    let machine = Machine::new();
    machine.write("state/uid", "1000\n");
    let line =
        format!("    apt-get update && apt-get install -y --no-install-recommends {PACKAGES}\n");
    let outcome = machine.fails_with(&line);
    assert_eq!(outcome.log, "", "nothing is called that needs root");

    machine.write("state/installed", &PACKAGES.replace(' ', "\n"));
    machine.succeeds();
}

#[test]
fn sudo_is_used_when_it_needs_no_password() {
    let machine = Machine::new();
    machine.write("state/uid", "1000\n");
    machine.add_command(
        "sudo",
        r#"if [ "$1" = -n ]; then exit 0; fi; echo "sudo $1" >> "$STATE/log"; exec "$@""#,
    );
    let outcome = machine.succeeds();
    assert!(
        outcome.log.starts_with("sudo apt-get\napt-get update -q\nsudo env\napt-get install"),
        "{}",
        outcome.log
    );

    let machine = Machine::new();
    machine.write("state/uid", "1000\n");
    machine.add_command("sudo", "exit 1");
    machine.fails_with("As root, run:");
}

#[test]
fn another_distribution_needs_its_own_llvm() {
    for (release, named) in [
        ("ID=fedora\nVERSION_ID=43\n", "fedora 43 x86_64"),
        ("ID=debian\nVERSION_ID=\"13\"\n", "debian 13 x86_64"),
        ("", "this is not Debian 12"),
    ] {
        let mut machine = Machine::new();
        machine.write("os-release", release);
        machine.variables.push(("MLIR_SYS_220_PREFIX", machine.path("llvm")));
        let outcome = machine.fails_with(named);
        assert!(
            outcome.stderr.contains("LLVM and MLIR 22")
                && outcome.stderr.contains("MLIR_SYS_220_PREFIX")
        );

        for file in ["llvm/bin/llvm-config", "llvm/lib/libMLIRIR.a"] {
            fs::create_dir_all(machine.path(file).parent().unwrap()).unwrap();
            machine.write(file, "");
            fs::set_permissions(machine.path(file), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let outcome = machine.succeeds();
        assert!(!outcome.log.contains("apt-get"), "{}", outcome.log);
    }
}

#[test]
fn a_prefix_without_llvm_is_named() {
    let mut machine = Machine::new();
    machine.variables.push(("MLIR_SYS_220_PREFIX", machine.path("nowhere")));
    machine.fails_with("bin/llvm-config and lib/libMLIRIR.a are not there");
}

#[test]
fn a_wrong_hash_installs_nothing() {
    let machine = Machine::new();
    machine.write(
        "state/pip-error",
        "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n",
    );
    machine.fails_with("wrong hash");
    machine.assert_no_leftovers();
    assert!(!machine.path("repo/isl-vendor/lib").exists());

    // The right wheel by pip's word, but not the libraries that are pinned.
    let machine = Machine::new();
    machine.write("state/libraries/libisl.so", "another isl\n");
    machine.fails_with("does not hold the libraries");
    assert!(!machine.path("repo/isl-vendor/lib").exists());
}

#[test]
fn no_network_is_said_plainly() {
    let machine = Machine::new();
    machine.write(
        "state/pip-error",
        "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(..)': /simple/\n\
         ERROR: No matching distribution found for islpy-barvinok==2026.2.2\n",
    );
    machine.fails_with("no network");
    machine.assert_no_leftovers();

    let machine = Machine::new();
    machine.write("state/offline", "");
    let outcome = machine.fails_with("no network");
    assert!(
        outcome.stderr.contains("The same by hand:  apt-get update && apt-get install"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_full_disk_is_noticed_before_anything_is_fetched() {
    let machine = Machine::new();
    machine.write("state/installed", &PACKAGES.replace(' ', "\n"));
    machine.write("state/free", "10240\n");
    let outcome =
        machine.fails_with("not enough disk space: unpacking isl and Barvinok needs about 300 MB");
    assert!(outcome.stderr.contains("has 10 MB left"), "{}", outcome.stderr);
    assert_eq!(outcome.log, "");

    machine.write("state/free", "1024000\n");
    machine.fails_with("not enough disk space: a first build needs about");
}

#[test]
fn a_damaged_folder_is_filled_anew() {
    let machine = Machine::new();
    machine.succeeds();
    let library = "repo/isl-vendor/lib/libisl.so";
    let damages: [(&str, &dyn Fn()); 4] = [
        ("a file is missing", &|| fs::remove_file(machine.path(library)).unwrap()),
        ("a file was changed", &|| machine.write(library, "something else\n")),
        ("a stray file", &|| machine.write("repo/isl-vendor/lib/libisl-9.so", "")),
        ("an empty folder", &|| {
            fs::remove_dir_all(machine.path("repo/isl-vendor/lib")).unwrap();
            fs::create_dir(machine.path("repo/isl-vendor/lib")).unwrap();
        }),
    ];
    for (what, damage) in damages {
        damage();
        let outcome = machine.succeeds();
        assert!(outcome.log.contains("pip"), "{what}: not noticed");
        assert!(outcome.stderr.contains("filling it anew"), "{what}: {}", outcome.stderr);
        machine.assert_libraries();
    }
}

#[test]
fn libraries_of_ones_own_need_no_wheel() {
    let mut machine = Machine::new();
    machine.variables.push(("DASTAC_ISL_DIR", machine.path("state/libraries")));
    let outcome = machine.succeeds();
    assert!(!outcome.log.contains("pip"), "{}", outcome.log);
}

#[test]
fn a_missing_or_old_rust_says_how_to_get_one() {
    let machine = Machine::new();
    machine.write("state/cargo", "cargo 1.63.0 (fd9c4297c 2022-07-01)\n");
    let outcome = machine.fails_with("Rust 1.63 is too old");
    assert!(outcome.stderr.contains("rustup update stable"), "{}", outcome.stderr);
    assert_eq!(outcome.log, "");

    fs::remove_file(machine.path("bin/cargo")).unwrap();
    let outcome = machine.fails_with("Rust is missing");
    assert!(outcome.stderr.contains("https://sh.rustup.rs"), "{}", outcome.stderr);
}
