//! Sparse matrices of SciPy (`scipy.sparse.save_npz`): a zip file with an array for each of its parts.
//!
//! `csr`, `csc`, `coo` and `bsr` are read; a `bsr` matrix, of dense blocks, becomes its entries that are not zero.

use std::io::{Read, Seek, Write};

use zip::ZipArchive;
use zip::write::{SimpleFileOptions, StreamWriter, ZipWriter};

use super::npy::{self, write_header, write_indices, write_values};
use super::{Contents, Data, Fault, WriteError};
use crate::storage::{Entries, Indices, Tensor};
use dastac_elements::Storage;

fn zip_fault(error: &zip::result::ZipError) -> Fault {
    Fault::new(format!("this is no .npz file: {error}"))
        .hint("write it in Python with `scipy.sparse.save_npz(\"a.npz\", matrix)`")
}

/// The members of a file.
struct Members<R: Read + Seek>(ZipArchive<R>);

impl<R: Read + Seek> Members<R> {
    fn read<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&npy::Header, &mut dyn Read) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let file = format!("{name}.npy");
        if self.0.index_for_name(&file).is_none() {
            let fault = Fault::new(format!("it has no array `{name}`"));
            return Err(if name == "format" {
                fault.hint(
                    "`scipy.sparse.save_npz` writes sparse matrices; arrays of `numpy.savez` go to .npy files, one \
                    each",
                )
            } else {
                fault
            });
        }
        let mut member = self.0.by_name(&file).map_err(|error| zip_fault(&error))?;
        let of_member =
            |fault: Fault| Fault { reason: format!("array `{name}`: {}", fault.reason), ..fault };
        let header = npy::header(&mut member).map_err(of_member)?;
        read(&header, &mut member).map_err(of_member)
    }

    fn indices(&mut self, name: &str) -> Result<Vec<u64>, Fault> {
        self.read(name, |header, reader| header.indices(reader, name))
    }
}

/// Reads a matrix.
pub fn read(reader: impl Read + Seek) -> Result<Contents, Fault> {
    let mut members = Members(ZipArchive::new(reader).map_err(|error| zip_fault(&error))?);
    let format = members.read("format", npy::Header::text)?;
    let shape = members.indices("shape")?;
    let &[rows, columns] = shape.as_slice() else {
        return Err(Fault::new(format!("its shape has {} extents, not 2", shape.len())));
    };
    let mut block = Vec::new();
    let values = members.read("data", |header, reader| {
        block.clone_from(&header.shape);
        header.values(reader)
    })?;
    let about = format!("SciPy, {format}, {}", values.element());
    let entries = match format.as_str() {
        "coo" => {
            let (rows, columns) = (members.indices("row")?, members.indices("col")?);
            if rows.len() != columns.len() {
                return Err(Fault::new(format!(
                    "{} rows, but {} columns",
                    rows.len(),
                    columns.len()
                )));
            }
            let pairs = rows.iter().zip(&columns);
            let coordinates = pairs.flat_map(|(row, column)| [*row, *column]).collect();
            Entries::new(shape, coordinates, values)?
        }
        "csr" | "csc" => {
            let (indptr, indices) = (members.indices("indptr")?, members.indices("indices")?);
            let by_rows = format == "csr";
            let (major, minor) = if by_rows { (rows, columns) } else { (columns, rows) };
            let pairs = compressed(&indptr, &indices, major, minor)?;
            let place =
                |(major, minor): (u64, u64)| if by_rows { [major, minor] } else { [minor, major] };
            let coordinates = pairs.into_iter().flat_map(place).collect();
            Entries::new(shape, coordinates, values)?
        }
        "bsr" => {
            let (indptr, indices) = (members.indices("indptr")?, members.indices("indices")?);
            let &[blocks, height, width] = block.as_slice() else {
                return Err(Fault::new("`data` of a bsr matrix has three extents"));
            };
            if height == 0 || width == 0 || rows % height != 0 || columns % width != 0 {
                return Err(Fault::new(format!(
                    "blocks of {height} x {width} do not tile {rows} x {columns}"
                )));
            }
            if blocks != indices.len() as u64 {
                return Err(Fault::new(format!("{blocks} blocks, but {} indices", indices.len())));
            }
            let pairs = compressed(&indptr, &indices, rows / height, columns / width)?;
            blocks_of(&pairs, [rows, columns], [height, width], values)?
        }
        other => {
            return Err(Fault::new(format!("it is a `{}` matrix", other.escape_debug())).hint(
                "csr, csc, coo and bsr are read: convert it in Python with `matrix.tocsr()`",
            ));
        }
    };
    Ok(Contents { data: Data::Entries(entries), about })
}

/// Coordinates of every entry: the compressed one second.
fn compressed(
    indptr: &[u64],
    indices: &[u64],
    major: u64,
    minor: u64,
) -> Result<Vec<(u64, u64)>, Fault> {
    if indptr.len() as u128 != u128::from(major) + 1 {
        return Err(Fault::new(format!(
            "`indptr` has {} elements for {major} rows or columns",
            indptr.len()
        )));
    }
    if indptr[0] != 0 || indptr.last() != Some(&(indices.len() as u64)) {
        return Err(Fault::new(format!(
            "`indptr` must begin with 0 and end with {}",
            indices.len()
        )));
    }
    let mut pairs = Vec::with_capacity(indices.len());
    let mut left = indices.iter();
    for (at, range) in indptr.windows(2).enumerate() {
        if range[1] < range[0] {
            return Err(Fault::new(format!("`indptr` falls at {}", at + 1)));
        }
        for _ in range[0]..range[1] {
            let Some(index) = left.next() else { break };
            if *index >= minor {
                return Err(Fault::new(format!("`indices` holds {index}, not below {minor}")));
            }
            pairs.push((at as u64, *index));
        }
    }
    Ok(pairs)
}

/// The entries of dense blocks that are not zero.
fn blocks_of(
    pairs: &[(u64, u64)],
    [rows, columns]: [u64; 2],
    [height, width]: [u64; 2],
    values: Storage,
) -> Result<Entries, Fault> {
    let blocks = u128::from(height) * u128::from(width) * pairs.len() as u128;
    if blocks != values.len() as u128 {
        return Err(Fault::new(format!("{} values, but the blocks take {blocks}", values.len())));
    }
    let entries = (0..values.len()).filter(|at| !values.is(*at, 0.0));
    let size = height.checked_mul(width).and_then(|size| usize::try_from(size).ok());
    let too_large = || Fault::new(format!("blocks of {height} x {width} are larger than memory"));
    let size = size.ok_or_else(too_large)?;
    let mut coordinates = Vec::new();
    let mut kept = Vec::new();
    for at in entries {
        let (row, column) = pairs[at / size];
        let inside = (at % size) as u64;
        coordinates.extend([row * height + inside / width, column * width + inside % width]);
        kept.push(at);
    }
    Ok(Entries::new(vec![rows, columns], coordinates, values.select(&kept))?)
}

/// Writes a matrix: `csr` and `csc` as they are, all others as `coo`.
pub fn write(tensor: &Tensor, out: &mut dyn Write) -> Result<(), WriteError> {
    let mut zip = ZipWriter::new_stream(out);
    let name = tensor.format().name();
    let second = tensor.levels().get(1);
    let arrays = second.and_then(|level| Some((level.positions()?, level.coordinates()?)));
    match (name, arrays) {
        (Some(name @ ("csr" | "csc")), Some((positions, coordinates))) => {
            member(&mut zip, "indices", |out| write_indices(coordinates, out))?;
            member(&mut zip, "indptr", |out| write_indices(positions, out))?;
            common(&mut zip, name, tensor.shape(), tensor.values())?;
        }
        _ => {
            let entries = tensor.to_entries()?;
            for (dimension, name) in ["row", "col"].iter().enumerate() {
                let all: Vec<u64> =
                    (0..entries.len()).map(|at| entries.at(at)[dimension]).collect();
                member(&mut zip, name, |out| write_indices(&Indices::of(&all, 0), out))?;
            }
            common(&mut zip, "coo", tensor.shape(), entries.values())?;
        }
    }
    zip.finish().map_err(std::io::Error::from)?;
    Ok(())
}

type Zip<'o> = ZipWriter<StreamWriter<&'o mut dyn Write>>;

fn member(
    zip: &mut Zip<'_>,
    name: &str,
    write: impl FnOnce(&mut dyn Write) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    let options = SimpleFileOptions::default().large_file(true);
    zip.start_file(format!("{name}.npy"), options).map_err(std::io::Error::from)?;
    write(zip)
}

fn common(
    zip: &mut Zip<'_>,
    format: &str,
    shape: &[u64],
    values: &Storage,
) -> Result<(), WriteError> {
    member(zip, "format", |out| {
        write_header(&format!("|S{}", format.len()), &[], out)?;
        Ok(out.write_all(format.as_bytes())?)
    })?;
    member(zip, "shape", |out| write_indices(&Indices::of(shape, u64::from(u32::MAX) + 1), out))?;
    member(zip, "data", |out| write_values(&[values.len() as u64], values, out))
}
