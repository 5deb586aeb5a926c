//! Writing sparse matrices of SciPy.

use std::io::Write;

use zip::write::{SimpleFileOptions, StreamWriter, ZipWriter};

use super::super::WriteError;
use super::super::npy::{write_header, write_indices, write_indices_of, write_values};
use crate::storage::{Indices, Tensor};
use dastac_elements::Storage;

/// Writes a tensor: matrices in `csr`, `csc` and blocks that tile them (`bsr`) as they are, all others as `coo`.
pub fn write(tensor: &Tensor, out: &mut dyn Write) -> Result<(), WriteError> {
    let mut zip = ZipWriter::new_stream(out);
    let name = tensor.format().name();
    let second = tensor.levels().get(1);
    let arrays = second.and_then(|level| Some((level.positions()?, level.coordinates()?)));
    let blocks = tensor.format().blocks_of_rows().filter(|blocks| {
        let tiled = tensor.shape().iter().zip(blocks).all(|(extent, size)| extent % size == 0);
        tiled && tensor.shape().iter().all(|extent| *extent > 0)
    });
    match (name, arrays) {
        (Some(name @ ("csr" | "csc")), Some((positions, coordinates))) => {
            member(&mut zip, "indices", |out| write_indices(coordinates, out))?;
            member(&mut zip, "indptr", |out| write_indices(positions, out))?;
            common(&mut zip, name, tensor.shape(), tensor.values())?;
        }
        (None, Some((positions, coordinates))) if blocks.is_some() => {
            let [height, width] = blocks.unwrap_or([1, 1]);
            member(&mut zip, "indices", |out| write_indices(coordinates, out))?;
            member(&mut zip, "indptr", |out| write_indices(positions, out))?;
            let data = [coordinates.len() as u64, height, width];
            parts(&mut zip, "bsr", tensor.shape(), &data, tensor.values())?;
        }
        _ => {
            let entries = tensor.to_entries()?;
            let rank = tensor.shape().len();
            let of = |dimension: usize| {
                let all = (0..entries.len()).map(|at| entries.at(at)[dimension]);
                Indices::of(&all.collect::<Vec<u64>>(), 0)
            };
            if rank == 2 {
                member(&mut zip, "row", |out| write_indices(&of(0), out))?;
                member(&mut zip, "col", |out| write_indices(&of(1), out))?;
            } else {
                // SciPy's arrays of other ranks have the coordinates of all dimensions in one array.
                let all: Vec<u64> =
                    (0..rank).flat_map(|at| of(at).iter().collect::<Vec<_>>()).collect();
                let shape = [rank as u64, entries.len() as u64];
                member(&mut zip, "coords", |out| {
                    write_indices_of(&Indices::of(&all, 0), &shape, out)
                })?;
                member(&mut zip, "_is_array", |out| {
                    write_header("|b1", &[], out)?;
                    Ok(out.write_all(&[1])?)
                })?;
            }
            common(&mut zip, "coo", tensor.shape(), entries.values())?;
        }
    }
    zip.finish().map_err(std::io::Error::from)?;
    Ok(())
}

pub(super) type Zip<'o> = ZipWriter<StreamWriter<&'o mut dyn Write>>;

pub(super) fn member(
    zip: &mut Zip<'_>,
    name: &str,
    write: impl FnOnce(&mut dyn Write) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    let options = SimpleFileOptions::default().large_file(true);
    zip.start_file(format!("{name}.npy"), options).map_err(std::io::Error::from)?;
    write(zip)
}

/// A member that is a text.
pub(super) fn text(zip: &mut Zip<'_>, name: &str, text: &str) -> Result<(), WriteError> {
    member(zip, name, |out| {
        write_header(&format!("|S{}", text.len()), &[], out)?;
        Ok(out.write_all(text.as_bytes())?)
    })
}

fn common(
    zip: &mut Zip<'_>,
    format: &str,
    shape: &[u64],
    values: &Storage,
) -> Result<(), WriteError> {
    parts(zip, format, shape, &[values.len() as u64], values)
}

/// What all formats have; `data` is the shape of the array of values.
fn parts(
    zip: &mut Zip<'_>,
    format: &str,
    shape: &[u64],
    data: &[u64],
    values: &Storage,
) -> Result<(), WriteError> {
    text(zip, "format", format)?;
    member(zip, "shape", |out| write_indices(&Indices::of(shape, u64::from(u32::MAX) + 1), out))?;
    member(zip, "data", |out| write_values(data, values, out))
}
