//! C that TACO generates, compiled and called: what to compare generated code with.
//!
//! A tensor is a tree of levels, one for each dimension: a dense level has all coordinates, a compressed one lists
//! those below each parent.

use std::ffi::c_int;
use std::path::Path;

use libloading::os::unix::Library;

use super::c::Compiler;
use crate::Error;

/// A level of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Level {
    /// All coordinates.
    Dense,
    /// Those of parent `p` are `coordinates[positions[p]..positions[p + 1]]`.
    Compressed {
        /// Where the coordinates of each parent begin, and where the last ones end.
        positions: Vec<i32>,
        /// The coordinates.
        coordinates: Vec<i32>,
    },
}

/// An input: its dimensions, levels, and values in the order of the last level.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    /// Extents.
    pub dimensions: Vec<i32>,
    /// One for each dimension.
    pub levels: Vec<Level>,
    /// Values.
    pub values: &'a [f64],
}

/// The declarations that TACO's kernels need: [`Raw`], by its name in C.
const HEAD: &str = "\
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define TACO_MIN(a, b) ((a) < (b) ? (a) : (b))
#define TACO_MAX(a, b) ((a) > (b) ? (a) : (b))
#ifndef TACO_TENSOR_T_DEFINED
#define TACO_TENSOR_T_DEFINED
typedef enum { taco_mode_dense, taco_mode_sparse } taco_mode_t;
typedef struct {
  int32_t order, *dimensions, csize, *mode_ordering;
  taco_mode_t *mode_types;
  uint8_t ***indices, *vals, *fill_value;
  int32_t vals_size;
} taco_tensor_t;
#endif
";

/// `taco_tensor_t` of TACO's C headers.
#[repr(C)]
struct Raw {
    order: i32,
    dimensions: *mut i32,
    component_size: i32,
    mode_ordering: *mut i32,
    mode_types: *mut c_int,
    indices: *mut *mut *mut u8,
    values: *mut u8,
    fill_value: *mut u8,
    values_size: i32,
}

/// A [`Raw`] tensor and what it points into.
struct Tensor {
    raw: Box<Raw>,
    _dimensions: Vec<i32>,
    _ordering: Vec<i32>,
    types: Vec<c_int>,
    arrays: Vec<[*mut u8; 2]>,
    _indices: Vec<*mut *mut u8>,
    _levels: Vec<Level>,
}

impl Tensor {
    fn new(mut dimensions: Vec<i32>, mut levels: Vec<Level>, values: *mut u8, size: i32) -> Tensor {
        let mut types: Vec<c_int> =
            levels.iter().map(|level| c_int::from(*level != Level::Dense)).collect();
        let mut arrays: Vec<[*mut u8; 2]> = levels
            .iter_mut()
            .zip(&mut dimensions)
            .map(|(level, extent)| match level {
                // A dense level's array is its extent.
                Level::Dense => [std::ptr::from_mut(extent).cast(), std::ptr::null_mut()],
                Level::Compressed { positions, coordinates } => {
                    [positions.as_mut_ptr().cast(), coordinates.as_mut_ptr().cast()]
                }
            })
            .collect();
        let mut indices: Vec<*mut *mut u8> =
            arrays.iter_mut().map(|pair| pair.as_mut_ptr()).collect();
        let mut ordering: Vec<i32> = (0..types.len() as i32).collect();
        let raw = Box::new(Raw {
            order: types.len() as i32,
            dimensions: dimensions.as_mut_ptr(),
            component_size: 8,
            mode_ordering: ordering.as_mut_ptr(),
            mode_types: types.as_mut_ptr(),
            indices: indices.as_mut_ptr(),
            values,
            fill_value: std::ptr::null_mut(),
            values_size: size,
        });
        Tensor {
            raw,
            _dimensions: dimensions,
            _ordering: ordering,
            types,
            arrays,
            _indices: indices,
            _levels: levels,
        }
    }
}

/// A kernel of TACO's with its inputs.
pub struct TacoKernel<'a> {
    compute: Entry,
    count: usize,
    result: Tensor,
    inputs: Vec<Tensor>,
    length: usize,
    _library: Library,
    _values: std::marker::PhantomData<&'a [f64]>,
}

/// `assemble` and `compute` with up to four tensors: further arguments are not looked at.
type Entry = unsafe extern "C" fn(*mut Raw, *mut Raw, *mut Raw, *mut Raw) -> c_int;

impl<'a> TacoKernel<'a> {
    /// Compiles TACO's text, loads it, and has it make room for its result, whose levels are compressed where
    /// `compressed` says so.
    ///
    /// The text is trusted to be TACO's for these tensors, as the code of any library is.
    ///
    /// # Errors
    /// A compiler that fails; more than three inputs; a result that it cannot make room for.
    pub fn new(
        compiler: &Compiler,
        text: &str,
        (folder, name): (&Path, &str),
        openmp: bool,
        (dimensions, compressed): (Vec<i32>, &[bool]),
        inputs: Vec<Input<'a>>,
    ) -> Result<TacoKernel<'a>, Error> {
        let library = compiler.library(&format!("{HEAD}{text}"), openmp, folder, name)?;
        let path = folder.join(name);
        let failed = |message: &str| Error::Library { path: path.clone(), message: message.into() };
        if !(1..=3).contains(&inputs.len()) {
            return Err(failed("TACO's kernels take up to three inputs here"));
        }
        let count = inputs.len();
        let mut inputs: Vec<Tensor> = inputs
            .into_iter()
            .map(|input| {
                let size = i32::try_from(input.values.len()).unwrap_or(i32::MAX);
                let values = input.values.as_ptr().cast_mut().cast();
                Tensor::new(input.dimensions, input.levels, values, size)
            })
            .collect();
        let none = || Level::Compressed { positions: Vec::new(), coordinates: Vec::new() };
        let levels = compressed.iter().map(|c| if *c { none() } else { Level::Dense }).collect();
        let mut result = Tensor::new(dimensions, levels, std::ptr::null_mut(), 0);
        // SAFETY: TACO's functions have this type up to the number of tensors.
        let (assemble, compute) = unsafe {
            let get = |name: &[u8]| library.get::<Entry>(name).map(|found| *found);
            match (get(b"assemble\0"), get(b"compute\0")) {
                (Ok(assemble), Ok(compute)) => (assemble, compute),
                _ => return Err(failed("TACO's functions are missing")),
            }
        };
        call(assemble, &mut result, &mut inputs);
        let mut length = 1usize;
        for (at, kind) in result.types.iter().enumerate() {
            length = if *kind == 0 {
                length * usize::try_from(result._dimensions[at]).unwrap_or(0)
            } else {
                let positions: *const i32 = result.arrays[at][0].cast();
                if positions.is_null() {
                    return Err(failed("TACO made no room for its result"));
                }
                // SAFETY: `assemble` made an array of a position for each parent, and one more.
                usize::try_from(unsafe { *positions.add(length) }).unwrap_or(0)
            };
        }
        if result.raw.values.is_null() {
            return Err(failed("TACO made no room for its result"));
        }
        Ok(TacoKernel {
            compute,
            count,
            result,
            inputs,
            length,
            _library: library,
            _values: std::marker::PhantomData,
        })
    }

    /// Computes once.
    pub fn run(&mut self) {
        debug_assert_eq!(self.count, self.inputs.len());
        call(self.compute, &mut self.result, &mut self.inputs);
    }

    /// The values of the result, in the order of its last level.
    pub fn values(&mut self) -> &mut [f64] {
        // SAFETY: `assemble` made an array of values for all elements of the last level; it lives as long as the
        // kernel, which is borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.result.raw.values.cast(), self.length) }
    }
}

fn call(entry: Entry, result: &mut Tensor, inputs: &mut [Tensor]) {
    let mut pointers = inputs.iter_mut().map(|tensor| std::ptr::from_mut(&mut *tensor.raw));
    let mut next = || pointers.next().unwrap_or(std::ptr::null_mut());
    let result = std::ptr::from_mut(&mut *result.raw);
    // SAFETY: the function is TACO's for these tensors, which are as its headers describe; in C's calling convention
    // those arguments that it does not have are not looked at.
    unsafe { entry(result, next(), next(), next()) };
}
