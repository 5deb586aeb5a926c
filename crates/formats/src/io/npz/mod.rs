//! Sparse matrices of SciPy (`scipy.sparse.save_npz`): a zip file with an array for each of its parts.
//!
//! All that `save_npz` ever wrote is read: `csr`, `csc`, `coo` (of any rank), `bsr` and `dia`. Of dense blocks and
//! diagonals, the elements that are not zero become entries. [`levels`] has files of tensors in other formats. An array
//! of `numpy.savez` is read by its key, which may be left out where it is the tensor's name or there is just one.

mod blocks;
pub mod levels;
mod write;

pub use write::write;

use std::io::{Read, Seek};

use zip::ZipArchive;

use super::npy;
use super::numbers::number_of;
use super::{Contents, Data, Fault, ReadOptions};
use crate::storage::{Entries, Tensor};
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
            let keys = self.keys();
            let shown = keys.iter().take(12).map(|key| format!("`{}`", key.escape_debug()));
            let shown: Vec<String> = shown.collect();
            let more = if keys.len() > 12 { ", .." } else { "" };
            let fault = Fault::new(format!("it has no array `{}`", name.escape_debug()));
            return Err(match keys.first() {
                Some(_) if name != "format" => {
                    fault.hint(format!("its arrays: {}{more}", shown.join(", ")))
                }
                Some(key) => fault.hint(format!(
                    "`scipy.sparse.save_npz` writes sparse matrices; of an archive of arrays, one is read by its \
                    key, such as `a.npz:{}`; its arrays: {}{more}",
                    key.escape_debug(),
                    shown.join(", ")
                )),
                None => fault,
            });
        }
        let mut member = self.0.by_name(&file).map_err(|error| zip_fault(&error))?;
        let of_member =
            |fault: Fault| Fault { reason: format!("array `{name}`: {}", fault.reason), ..fault };
        let header = npy::header(&mut member).map_err(of_member)?;
        let found = read(&header, &mut member).map_err(of_member)?;
        // The checksum is compared where a member ends.
        let end = std::io::copy(&mut member, &mut std::io::sink());
        end.map_err(|error| of_member(Fault::new(error.to_string())))?;
        Ok(found)
    }

    /// Whether there is an array of this name.
    fn has(&self, name: &str) -> bool {
        self.0.index_for_name(&format!("{name}.npy")).is_some()
    }

    /// The names of all arrays, sorted.
    fn keys(&self) -> Vec<String> {
        let key = |file: std::borrow::Cow<'_, str>| file.strip_suffix(".npy").map(String::from);
        let mut keys: Vec<String> = self.0.file_names().flatten().filter_map(key).collect();
        keys.sort_unstable();
        keys
    }

    /// The key of the array that is meant, of a file that is no sparse tensor: it has this name, or is the only one.
    fn array(&self, name: Option<&str>) -> Option<String> {
        if self.has("format") || levels::is_levels(self) {
            return None;
        }
        let mut keys = self.keys();
        let named = keys.iter().position(|key| Some(key.as_str()) == name);
        let only = (keys.len() == 1).then_some(0);
        named.or(only).map(|at| keys.swap_remove(at))
    }

    fn indices(&mut self, name: &str) -> Result<Vec<u64>, Fault> {
        self.read(name, |header, reader| header.indices(reader, name))
    }
}

/// Reads a tensor, or one of the arrays, which has this key.
pub fn read(
    reader: impl Read + Seek,
    key: Option<&str>,
    options: &ReadOptions,
) -> Result<Contents, Fault> {
    let mut members = Members(ZipArchive::new(reader).map_err(|error| zip_fault(&error))?);
    let key = key.map(String::from).or_else(|| members.array(options.array.as_deref()));
    if let Some(key) = key.as_deref() {
        return members.read(key, |header, reader| {
            let values = header.values(reader)?;
            let about = format!("NumPy array `{key}` of an archive, {}", values.element());
            let dense = Tensor::from_dense(header.shape.clone(), values)?;
            Ok(Contents { data: Data::Stored(dense), about, guessed: false })
        });
    }
    if levels::is_levels(&members) {
        return levels::read(&mut members);
    }
    let format = members.read("format", npy::Header::text)?;
    let shape = members.indices("shape")?;
    let mut extents = Vec::new();
    let values = members.read("data", |header, reader| {
        extents.clone_from(&header.shape);
        header.values(reader)
    })?;
    let about = format!("SciPy, {format}, {}", values.element());
    let entries = match (format.as_str(), shape.as_slice()) {
        ("coo", _) => coo(&mut members, shape, values)?,
        ("csr", &[columns]) => {
            let (indptr, indices) = (members.indices("indptr")?, members.indices("indices")?);
            let pairs = compressed(&indptr, &indices, 1, columns)?;
            Entries::new(shape, pairs.into_iter().map(|(_, column)| column).collect(), values)?
        }
        ("csr" | "csc", &[rows, columns]) => {
            let (indptr, indices) = (members.indices("indptr")?, members.indices("indices")?);
            let by_rows = format == "csr";
            let (major, minor) = if by_rows { (rows, columns) } else { (columns, rows) };
            let pairs = compressed(&indptr, &indices, major, minor)?;
            let place =
                |(major, minor): (u64, u64)| if by_rows { [major, minor] } else { [minor, major] };
            let coordinates = pairs.into_iter().flat_map(place).collect();
            Entries::new(shape, coordinates, values)?
        }
        ("bsr", &[rows, columns]) => {
            let (indptr, indices) = (members.indices("indptr")?, members.indices("indices")?);
            blocks::bsr([rows, columns], &extents, (&indptr, &indices), &values)?
        }
        ("dia", &[rows, columns]) => {
            let offsets = members.read("offsets", npy::Header::offsets)?;
            blocks::dia([rows, columns], &extents, &offsets, &values)?
        }
        ("csr" | "csc" | "bsr" | "dia", _) => {
            let extents = number_of(shape.len() as u128, "extent", "extents");
            return Err(Fault::new(format!("its shape has {extents}, not 2")));
        }
        (other, _) => {
            return Err(Fault::new(format!("it is a `{}` matrix", other.escape_debug())).hint(
                "csr, csc, coo, bsr and dia are read: convert it in Python with `matrix.tocsr()`",
            ));
        }
    };
    Ok(Contents { data: Data::Entries(entries), about, guessed: false })
}

/// A list of entries: `row` and `col` of a matrix, or `coords`, with a row for each dimension.
fn coo<R: Read + Seek>(
    members: &mut Members<R>,
    shape: Vec<u64>,
    values: Storage,
) -> Result<Entries, Fault> {
    let rank = shape.len();
    let columns = if members.0.index_for_name("coords.npy").is_some() {
        let mut found = Vec::new();
        let all = members.read("coords", |header, reader| {
            found.clone_from(&header.shape);
            header.indices(reader, "coords")
        })?;
        if found != [rank as u64, values.len() as u64] {
            return Err(Fault::new(format!(
                "`coords` has shape {}, not {rank} x {}",
                crate::storage::product(&found),
                values.len()
            )));
        }
        all.chunks(values.len().max(1)).map(<[u64]>::to_vec).collect()
    } else if rank == 2 {
        vec![members.indices("row")?, members.indices("col")?]
    } else {
        return Err(Fault::new(format!("it has no array `coords`, but rank {rank}")));
    };
    if let [rows, columns] = columns.as_slice()
        && rows.len() != columns.len()
    {
        return Err(Fault::new(format!("{} rows, but {} columns", rows.len(), columns.len())));
    }
    let count = columns.first().map_or(0, Vec::len);
    let coordinates = (0..count).flat_map(|at| columns.iter().map(move |column| column[at]));
    Ok(Entries::new(shape, coordinates.collect(), values)?)
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
            "`indptr` has {} for an extent of {major}",
            number_of(indptr.len() as u128, "element", "elements")
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
