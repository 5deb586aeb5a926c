//! Containers for tensors in any format, `.levels.npz`: a zip file of NumPy arrays, one for each array of the tensor.
//!
//! | array | holds |
//! |---|---|
//! | `levels` | the format as text, `dense(i / 50), compressed(j - i), dense(i % 50)` |
//! | `shape` | the extents |
//! | `pos1`, `crd1`, `bit1` | positions, coordinates and bits of level 1, where it has them; levels count from 0 |
//! | `values` | the values, by position of the last level |
//!
//! A tensor in a hybrid format has `hybrid`, the format as text, and these arrays of each part: `part0.levels`, ..
//!
//! What is read is checked as all arrays that were made elsewhere are.

use std::io::{Read, Seek, Write};

use zip::write::ZipWriter;

use super::super::npy::{self, write_indices, write_values};
use super::super::{Contents, Data, Fault, WriteError};
use super::Members;
use super::write::{Zip, member, text};
use crate::format::{Hybrid, default_names, parse};
use crate::storage::{Entries, Indices, LevelData, Tensor};

/// The array with the format's text.
const LEVELS: &str = "levels";
/// The array with the text of a hybrid format.
const HYBRID: &str = "hybrid";
/// No tensor has a higher rank: its coordinates would take more than 128 bits.
const MAX_RANK: usize = 128;

/// Writes a tensor as it is.
pub fn write(tensor: &Tensor, out: &mut dyn Write) -> Result<(), WriteError> {
    let mut zip = ZipWriter::new_stream(out);
    arrays(&mut zip, "", tensor)?;
    zip.finish().map_err(std::io::Error::from)?;
    Ok(())
}

/// Writes the parts of a tensor in a hybrid format.
pub fn write_parts(
    hybrid: &Hybrid,
    parts: &[Tensor],
    out: &mut dyn Write,
) -> Result<(), WriteError> {
    let mut zip = ZipWriter::new_stream(out);
    text(&mut zip, HYBRID, &hybrid.to_string())?;
    for (at, part) in parts.iter().enumerate() {
        arrays(&mut zip, &format!("part{at}."), part)?;
    }
    zip.finish().map_err(std::io::Error::from)?;
    Ok(())
}

/// The arrays of a tensor, whose names begin in the same way.
fn arrays(zip: &mut Zip<'_>, begin: &str, tensor: &Tensor) -> Result<(), WriteError> {
    let names = default_names(tensor.shape().len());
    text(zip, &format!("{begin}{LEVELS}"), &tensor.format().spelled(&names))?;
    let wide = u64::from(u32::MAX) + 1;
    let shape = Indices::of(tensor.shape(), wide);
    member(zip, &format!("{begin}shape"), |out| write_indices(&shape, out))?;
    for (at, level) in tensor.levels().iter().enumerate() {
        for (role, array) in level.kind().arrays().iter().zip(level.arrays()) {
            let name = format!("{begin}{}{at}", role.suffix());
            member(zip, &name, |out| write_indices(array, out))?;
        }
    }
    let count = [tensor.values().len() as u64];
    member(zip, &format!("{begin}values"), |out| write_values(&count, tensor.values(), out))
}

/// Reads a tensor as it was written; of one in parts, all entries.
pub(super) fn read<R: Read + Seek>(members: &mut Members<R>) -> Result<Contents, Fault> {
    if !members.has(HYBRID) {
        let tensor = tensor(members, "")?;
        let about = format!("levels, {}, {}", tensor.format(), tensor.values().element());
        return Ok(Contents { data: Data::Stored(tensor), about, guessed: false });
    }
    let hybrid = members.read(HYBRID, npy::Header::text)?;
    let mut all: Option<Entries> = None;
    let mut part = 0;
    while members.has(&format!("part{part}.{LEVELS}")) {
        let own = tensor(members, &format!("part{part}."))?.to_entries()?;
        all = Some(match all {
            None => own,
            Some(before) => before.beside(&own)?,
        });
        part += 1;
    }
    let Some(entries) = all else { return Err(Fault::new("a tensor without parts")) };
    let about = format!("levels, {hybrid}, {}", entries.values().element());
    Ok(Contents { data: Data::Entries(entries), about, guessed: false })
}

/// Whether an archive is one of levels.
pub(super) fn is_levels<R: Read + Seek>(members: &Members<R>) -> bool {
    members.has(LEVELS) || members.has(HYBRID)
}

/// The tensor whose arrays' names begin in this way.
fn tensor<R: Read + Seek>(members: &mut Members<R>, begin: &str) -> Result<Tensor, Fault> {
    let text = members.read(&format!("{begin}{LEVELS}"), npy::Header::text)?;
    let shape = members.indices(&format!("{begin}shape"))?;
    if shape.len() > MAX_RANK {
        return Err(Fault::new(format!("a tensor of rank {}", shape.len())));
    }
    let format = parse(&text, &default_names(shape.len()));
    let format = format.map_err(|error| Fault::new(format!("its format `{text}`: {error}")))?;
    let mut levels = Vec::new();
    for (at, level) in format.levels().iter().enumerate() {
        let mut arrays = Vec::new();
        for role in level.kind.arrays() {
            let array = members.indices(&format!("{begin}{}{at}", role.suffix()))?;
            arrays.push(Indices::of(&array, 0));
        }
        levels.push(LevelData::new(level.kind, arrays));
    }
    let values = members.read(&format!("{begin}values"), |header, reader| header.values(reader))?;
    Ok(Tensor::from_parts(shape, format, levels, values)?)
}
