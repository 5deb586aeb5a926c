//! MLIR's own sparse compiler, as its tools have it: what to compare generated code with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use dastac_loops::Module;

use super::c::Compiler;
use dastac_runtime::Code;

use crate::Error;

type Result<T> = std::result::Result<T, Error>;

/// Where Debian's packages of this LLVM's version put tools that are not found by their names.
const FOLDER: &str = "/usr/lib/llvm-22/bin";

/// The passes. They do not use MLIR's library of storage schemes, so that only loops are left.
const PIPELINE: &str = "--sparsifier=enable-runtime-library=false";

/// The tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sparsifier {
    optimizer: PathBuf,
    translator: PathBuf,
    /// What they say of their version.
    pub version: String,
}

impl Sparsifier {
    /// Those of LLVM 22, or what is found by their plain names.
    pub fn find() -> Option<Sparsifier> {
        let tool = |name: &str| {
            let here = Path::new(FOLDER).join(name);
            [here, PathBuf::from(format!("{name}-22")), PathBuf::from(name)]
                .into_iter()
                .find_map(|path| Some((version(&path)?, path)))
        };
        let (version, optimizer) = tool("mlir-opt")?;
        let (_, translator) = tool("mlir-translate")?;
        Some(Sparsifier { optimizer, translator, version })
    }

    /// Compiles a module in MLIR's words beside a text in C, which has the packed entries of `module`'s functions, in
    /// `folder` under `name`, and loads both. They are trusted as a library is; the texts stay there.
    ///
    /// # Errors
    /// Tools that fail, files that cannot be written.
    pub fn load(
        &self,
        compiler: &Compiler,
        module: &Module,
        (mlir, entries): (&str, &str),
        (folder, name): (&Path, &str),
    ) -> Result<Code> {
        let file = |extension: &str| folder.join(format!("{name}.{extension}"));
        let write = |path: &Path, text: &str| {
            fs::write(path, text).map_err(|source| Error::Write { path: path.to_owned(), source })
        };
        fs::create_dir_all(folder)
            .map_err(|source| Error::Write { path: folder.to_owned(), source })?;
        let (from, code, wrapper) = (file("mlir"), file("ll"), file("entry.c"));
        write(&from, mlir)?;
        write(&wrapper, entries)?;
        let lowered = file("llvm.mlir");
        run(Command::new(&self.optimizer).arg(PIPELINE).arg(&from).arg("-o").arg(&lowered), &from)?;
        let translated = run(
            Command::new(&self.translator)
                .arg("--mlir-to-llvmir")
                .arg(&lowered)
                .arg("-o")
                .arg(&code),
            &lowered,
        );
        let _ = fs::remove_file(&lowered);
        translated?;
        let native = compiler.load_files(module, &[code.clone(), wrapper.clone()], &file("so"));
        for path in [code, wrapper] {
            // Whoever wants to look at the kernel has its text in MLIR.
            let _ = fs::remove_file(path);
        }
        native
    }
}

fn version(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|line| line.contains("version"))?;
    output.status.success().then(|| line.trim().to_string())
}

fn run(command: &mut Command, path: &Path) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |message: String| Error::Tool { program, path: path.to_owned(), message };
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string());
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
        Err(message) => Err(failed(message)),
    }
}
