//! Eigen's sparse matrices, in a small C++ program that is compiled against its headers and measures its own times.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::kernels::Call;

/// The program.
const PROGRAM: &str = include_str!("eigen.cpp");

/// Compilers for it, in this order.
const COMPILERS: [&str; 3] = ["clang++-22", "c++", "g++"];

/// Where Debian's package puts the headers.
const HEADERS: &str = "/usr/include/eigen3";

/// The program compiled, ready to be given its operands.
///
/// # Errors
/// No headers; a compiler that fails.
pub(super) fn command(peers: &Path, scratch: &Path, call: Option<Call>) -> Result<Command, String> {
    let own = peers.join("eigen");
    let headers = if own.exists() { own } else { PathBuf::from(HEADERS) };
    if !headers.join("Eigen/Sparse").exists() {
        return Err("not installed: `apt-get install libeigen3-dev`, or put its folder into that of the peers as \
                    `eigen`"
            .into());
    }
    let word = match call {
        Some(Call::SparseTranspose) => "sparse_transpose",
        _ => "sparse_product",
    };
    let mut command = Command::new(compiled(&headers, scratch)?);
    command.arg(word);
    Ok(command)
}

/// The program, compiled once for its text.
fn compiled(headers: &Path, scratch: &Path) -> Result<PathBuf, String> {
    let (program, text) = (scratch.join("eigen"), scratch.join("eigen.cpp"));
    if std::fs::read_to_string(&text).is_ok_and(|old| old == PROGRAM) && program.exists() {
        return Ok(program);
    }
    // What an older text was compiled to does not count.
    let _ = std::fs::remove_file(&program);
    let write = std::fs::create_dir_all(scratch).and_then(|()| std::fs::write(&text, PROGRAM));
    write.map_err(|error| format!("cannot write its program: {error}"))?;
    let mut reason = "no C++ compiler was found".to_string();
    for compiler in COMPILERS {
        let mut command = Command::new(compiler);
        command.args(["-std=c++14", "-O3", "-march=native", "-DNDEBUG", "-w", "-I"]).arg(headers);
        command.arg("-o").arg(&program).arg(&text);
        match command.stdin(Stdio::null()).output() {
            Ok(output) if output.status.success() => return Ok(program),
            Ok(output) => reason = String::from_utf8_lossy(&output.stderr).trim().to_string(),
            Err(_) => continue,
        }
        break;
    }
    Err(format!("its program is not compiled: {reason}"))
}
