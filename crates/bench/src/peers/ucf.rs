//! TACO-UCF: the C that its library generates for the arrays that dastac has, with loops in the program's order.
//!
//! The command of TACO-UCF does not accept sums in subscripts, so a small program is compiled with its library.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::bindings::c::Compiler;
use dastac_formats::Kind;
use dastac_formats::storage::LevelData;
use dastac_stur::infer::Statement;
use dastac_stur::program::TensorId;
use dastac_stur::sets::{Affine, Atom};

use super::request::{Ready, Request};
use super::taco;
use dastac_driver::run::Runner;

/// The program that prints kernels.
const PRINTER: &str = include_str!("ucf.cpp");

/// Compilers for it, in this order.
const COMPILERS: [&str; 3] = ["c++", "g++", "clang++-22"];

pub(super) fn system(Request { job, laid, shared, .. }: Request<'_>) -> Ready {
    let folder = job.places.taco_ucf.as_deref().ok_or(
        "not installed: build it in `build` of its sources, and name their folder with `--taco-ucf FOLDER`",
    )?;
    if job.threads > 1 {
        return Err("it is measured on one thread only".into());
    }
    let compiler = Compiler::find().ok_or("no C compiler was found: install clang-22")?;
    let printer = printer(folder, &job.places.scratch)?;
    let rules = &laid.inferred().rules;
    let [rule] = &rules[..] else { return Err("it is given rules alone".into()) };
    let [Statement { reads, iterators, .. }] = &rule.statements[..] else {
        return Err("it is given one product".into());
    };
    let head = laid.program().rules[rule.rule.0].subscripts();
    let mut command = Command::new(printer);
    command.env("LD_LIBRARY_PATH", folder.join("build/lib")).arg(iterators.join(" "));
    let mut tensor = |id: TensorId, subscripts: &[Affine]| -> Result<(), String> {
        let fact = &shared.facts()[id.0];
        let extents: Vec<String> = fact.shape.iter().map(ToString::to_string).collect();
        let subscripts: Vec<String> = subscripts.iter().map(words).collect::<Result<_, _>>()?;
        // `I` is a macro of C's.
        let name = format!("T{}", id.0);
        command.args([&name, &format(shared, id), &extents.join(" "), &subscripts.join(" ")]);
        Ok(())
    };
    tensor(rule.head, &head)?;
    for read in reads {
        tensor(read.tensor, &read.subscripts)?;
    }
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("its printer does not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("it failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let inputs: Vec<TensorId> = reads.iter().map(|read| read.tensor).collect();
    let name = format!("{}-ucf", job.kernel);
    let place = (job.places.scratch.as_path(), name.as_str());
    let detail = format!("loops {}", iterators.join(", "));
    taco::compiled(shared, (&compiler, &text, place), (rule.head, &inputs), ("taco-ucf", detail))
}

/// `d` and `s` for each dimension.
fn format(shared: &Runner, id: TensorId) -> String {
    let dense = || "d".repeat(shared.facts()[id.0].shape.len());
    shared.bound(id).map_or_else(dense, |tensor| {
        let letter = |level: &LevelData| if level.kind() == Kind::DENSE { 'd' } else { 's' };
        tensor.levels().iter().map(letter).collect()
    })
}

/// A subscript in the printer's words.
fn words(subscript: &Affine) -> Result<String, String> {
    let mut terms = Vec::new();
    for (atom, by) in &subscript.terms {
        let Atom::Name(name) = atom else { return Err("it is given no quotients".into()) };
        terms.push((*by, name.as_str()));
    }
    // It has a factor for the first one only.
    terms.sort_by_key(|(by, _)| std::cmp::Reverse(*by));
    match &terms[..] {
        _ if subscript.constant != 0 => Err("it is given no constants in subscripts".into()),
        [(1, name)] => Ok((*name).to_string()),
        [(by, first), (1, second)] => Ok(format!("{by}*{first}+1*{second}")),
        _ => Err("it is given sums of two iterators".into()),
    }
}

/// The program that prints kernels, compiled once.
fn printer(folder: &Path, scratch: &Path) -> Result<PathBuf, String> {
    let (program, text) = (scratch.join("ucf-printer"), scratch.join("ucf-printer.cpp"));
    if std::fs::read_to_string(&text).is_ok_and(|old| old == PRINTER) && program.exists() {
        return Ok(program);
    }
    // What an older text was compiled to does not count.
    let _ = std::fs::remove_file(&program);
    let write = std::fs::create_dir_all(scratch).and_then(|()| std::fs::write(&text, PRINTER));
    write.map_err(|error| format!("cannot write its printer: {error}"))?;
    let mut reason = "no C++ compiler was found".to_string();
    for compiler in COMPILERS {
        let mut command = Command::new(compiler);
        command.args(["-std=c++14", "-O1", "-w", "-I"]).arg(folder.join("include"));
        command.arg("-I").arg(folder.join("src")).arg("-I").arg(folder.join("build/include"));
        command.arg("-o").arg(&program).arg(&text);
        command.arg("-L").arg(folder.join("build/lib")).args(["-ltaco", "-lm", "-ldl"]);
        match command.stdin(Stdio::null()).output() {
            Ok(output) if output.status.success() => return Ok(program),
            Ok(output) => reason = String::from_utf8_lossy(&output.stderr).trim().to_string(),
            Err(_) => continue,
        }
        break;
    }
    Err(format!("its printer is not compiled: {reason}"))
}
