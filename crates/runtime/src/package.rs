//! Programs as files: what `dastac build` writes and any process with this crate can run.
//!
//! A file begins with a magic number and the version, then come the length of a description and the description as
//! JSON, then the bytes of the code: of the computation, and of what moves tensors. All numbers have 64 bits, lowest
//! byte first. The last eight bytes are a checksum of all others: it tells damage, not malice. Running a file runs its
//! code, so it must be trusted as any other executable is.

use std::sync::Arc;

use dastac_loops::json;
use dastac_target::Artifact;
use serde::{Deserialize, Serialize};

use crate::code::Code;
use crate::error::Result;
use crate::executable::{Executable, Movement, Moves};
use crate::file_error::FileError;
use crate::program::Program;

/// What a file begins with.
const MAGIC: &[u8; 8] = b"dastac\0\n";

/// The version of files that this crate writes, and the only one that it reads.
pub const VERSION: u64 = 3;

/// A program with its code, not loaded.
#[derive(Clone, Debug, PartialEq)]
pub struct Package {
    /// What the code must be given.
    pub program: Program,
    /// What it was compiled from.
    pub origin: Origin,
    /// The code of the computation.
    pub kernel: Artifact,
    /// The code that moves tensors between dense arrays and packed buffers, and its functions by tensor; without it,
    /// dense arrays are neither packed nor unpacked.
    pub movement: Option<Moving>,
}

/// Code that moves tensors, not loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moving {
    /// The code.
    pub code: Artifact,
    /// Its functions, by tensor.
    pub functions: Vec<Moves>,
}

/// What a program was compiled from. The run time passes it on: whoever has the compiler may evaluate it otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The program's text.
    pub text: String,
    /// The `schedule:` line that held, wherever it stood.
    pub schedule: Option<String>,
}

/// The part of a file that is text.
#[derive(Serialize, Deserialize)]
struct Description {
    program: Program,
    origin: Origin,
    kernel: Artifact,
    movement: Option<Moving>,
    /// Bytes of the code of the computation.
    kernel_bytes: u64,
    /// Bytes of the code that moves tensors.
    movement_bytes: u64,
}

impl Package {
    /// Loads the code.
    ///
    /// # Errors
    /// A processor that lacks what the code uses; code that cannot be loaded.
    pub fn load(self) -> Result<Arc<Executable>> {
        let executable = Executable::new(self.program, Code::load(&self.kernel)?);
        if let Some(movement) = self.movement {
            executable.add_movement(movement.load()?);
        }
        Ok(Arc::new(executable))
    }

    /// Loads the code of the computation alone: packed buffers are all that it is given and leaves.
    ///
    /// # Errors
    /// As [`Package::load`].
    pub fn load_kernel(self) -> Result<Arc<Executable>> {
        Ok(Arc::new(Executable::new(self.program, Code::load(&self.kernel)?)))
    }

    /// The contents of a file.
    ///
    /// # Errors
    /// None that a package causes which the compiler made.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let Package { program, origin, kernel, movement } = self.clone();
        let kernel_code = &self.kernel.code.bytes[..];
        let movement_code =
            self.movement.as_ref().map_or(&[][..], |moving| &moving.code.code.bytes);
        let (kernel_bytes, movement_bytes) = (kernel_code.len() as u64, movement_code.len() as u64);
        let description =
            Description { program, origin, kernel, movement, kernel_bytes, movement_bytes };
        let text = serde_json::to_vec(&description)
            .map_err(|error| FileError::Description(error.to_string()))?;
        Ok(file(&text, kernel_code, movement_code))
    }

    /// Whether bytes begin as a file of a program does.
    pub fn is_package(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    /// A program from the contents of a file.
    ///
    /// # Errors
    /// A file that is none, of another version, or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Package> {
        let damaged = || FileError::Damaged;
        if !Package::is_package(bytes) {
            return Err(FileError::Other.into());
        }
        let (head, sum) = bytes.split_last_chunk::<8>().ok_or_else(damaged)?;
        let mut rest = head.get(MAGIC.len()..).ok_or_else(damaged)?;
        match number(&mut rest) {
            Some(VERSION) => {}
            Some(found) => return Err(FileError::Version { found, expected: VERSION }.into()),
            None => return Err(damaged().into()),
        }
        if checksum(head) != u64::from_le_bytes(*sum) {
            return Err(damaged().into());
        }
        let length = number(&mut rest).ok_or_else(damaged)?;
        let text = take(&mut rest, length).ok_or_else(damaged)?;
        let description: Description =
            json::from_slice(text).map_err(|error| FileError::Description(error.to_string()))?;
        let Description { program, origin, mut kernel, mut movement, .. } = description;
        kernel.code.bytes = take(&mut rest, description.kernel_bytes).ok_or_else(damaged)?.into();
        if let Some(movement) = &mut movement {
            let bytes = take(&mut rest, description.movement_bytes).ok_or_else(damaged)?;
            movement.code.code.bytes = bytes.into();
        }
        let package = Package { program, origin, kernel, movement };
        match package.check() {
            Ok(()) if rest.is_empty() => Ok(package),
            Ok(()) => Err(damaged().into()),
            Err(what) => Err(FileError::Contradiction(what).into()),
        }
    }

    /// Whether all parts speak of the same tensors.
    fn check(&self) -> std::result::Result<(), &'static str> {
        let Package { program, kernel, movement, .. } = self;
        program.check(&kernel.abi)?;
        let Some(Moving { code, functions: moves }) = movement else { return Ok(()) };
        let tensors = &program.sizes.tensors;
        let packed = moves.iter().zip(tensors).filter(|(_, tensor)| tensor.format.is_none());
        let known = |name: &String| code.abi.function(name).is_some();
        let mut functions =
            packed.flat_map(|(one, _)| [&one.pack, &one.unpack].into_iter().chain(&one.expand));
        match moves.len() == tensors.len() && functions.all(known) {
            true => Ok(()),
            false => Err("functions that move tensors"),
        }
    }
}

impl Moving {
    /// Loads the code.
    ///
    /// # Errors
    /// As [`Package::load`].
    pub fn load(self) -> Result<Movement> {
        Ok(Movement { code: Code::load(&self.code)?, functions: self.functions })
    }
}

/// The contents of a file with these parts.
fn file(description: &[u8], kernel: &[u8], movement: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((description.len() as u64).to_le_bytes());
    bytes.extend(description);
    bytes.extend(kernel);
    bytes.extend(movement);
    bytes.extend(checksum(&bytes).to_le_bytes());
    bytes
}

/// Takes bytes from the front, if there are as many.
fn take<'a>(rest: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = left;
    Some(taken)
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    let bytes = take(rest, 8)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// FNV-1a with 64 bits.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
