//! The systems that dastac is compared with: other forms of its own code, the same loops through a C compiler,
//! libraries, Python packages, and TACO.

mod blas;
mod chosen;
mod conversions;
mod convolution;
mod eigen;
mod einsum;
mod loops;
mod matrices;
mod mlir;
mod products;
mod python;
mod request;
mod sparse;
mod taco;
mod ucf;
mod variant;

use super::kernels::Call;
pub(super) use products::multiply_adds;
use request::Ready;
pub(super) use request::Request;

/// What is known of a system.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its name in results.
    pub name: &'static str,
    /// Its name in tables and figures.
    pub label: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Whether it is not part of dastac. dastac is compared with the best of these.
    pub peer: bool,
}

/// All systems.
pub const SYSTEMS: &[About] = &[
    About { name: "dastac", label: "dastac", about: "packed buffers, in tiles", peer: false },
    About {
        name: "untiled",
        label: "dastac, untiled",
        about: "packed buffers, loops as they are",
        peer: false,
    },
    About {
        name: "inputs",
        label: "dastac, inputs packed",
        about: "outputs in dense boxes",
        peer: false,
    },
    About {
        name: "dense",
        label: "dastac, nothing packed",
        about: "all tensors in dense boxes",
        peer: false,
    },
    About {
        name: "small",
        label: "dastac, small blocks",
        about: "blocks for caches of a quarter",
        peer: false,
    },
    About {
        name: "large",
        label: "dastac, large blocks",
        about: "blocks for caches of four times the size",
        peer: false,
    },
    About {
        name: "auto",
        label: "dastac, chosen format",
        about: "the format that the matrix's entries choose",
        peer: false,
    },
    About {
        name: "c-packed",
        label: "C loops, packed",
        about: "StructTensor's equivalent: the untiled loops on packed inputs and outputs, in C",
        peer: true,
    },
    About {
        name: "c-inputs",
        label: "C loops, inputs packed",
        about: "StructTensor's equivalent with its manual layout of inputs, in C",
        peer: true,
    },
    About {
        name: "c-dense",
        label: "C loops, dense",
        about: "StructTensor's equivalent: the untiled loops on dense buffers, in C",
        peer: true,
    },
    About { name: "mkl", label: "MKL", about: "the best routines of oneMKL", peer: true },
    About {
        name: "mkl-rows",
        label: "MKL, rows",
        about: "oneMKL's products of sparse matrices on the rows as they stand; without this mark it has stored the \
            matrix anew, in diagonals or blocks if it likes",
        peer: true,
    },
    About {
        name: "openblas",
        label: "OpenBLAS",
        about: "the best routines of OpenBLAS",
        peer: true,
    },
    About { name: "numpy", label: "NumPy", about: "the best expression of NumPy", peer: true },
    About { name: "torch", label: "PyTorch", about: "the best expression of PyTorch", peer: true },
    About { name: "scipy", label: "SciPy", about: "SciPy's sparse matrices", peer: true },
    About {
        name: "scipy-sorted",
        label: "SciPy, sorted",
        about: "SciPy's sparse matrices, the columns of results sorted",
        peer: true,
    },
    About {
        name: "mkl-sorted",
        label: "MKL, sorted",
        about: "oneMKL's sparse matrices, the columns of results sorted",
        peer: true,
    },
    About {
        name: "graphblas",
        label: "GraphBLAS",
        about: "SuiteSparse:GraphBLAS, its results complete and sorted",
        peer: true,
    },
    About {
        name: "eigen",
        label: "Eigen",
        about: "Eigen's sparse matrices, the columns of results sorted",
        peer: true,
    },
    About {
        name: "mlir",
        label: "MLIR sparse",
        about: "MLIR's own sparse compiler on the same arrays, its loops in the same order",
        peer: true,
    },
    About {
        name: "search",
        label: "window search",
        about: "dastac's loops over all of the result, the window of what is within reach carried along or searched \
            for, as TACO-UCF has it",
        peer: false,
    },
    About {
        name: "locate",
        label: "locate",
        about: "dastac's loops over all of the result and of the filter, elements searched for",
        peer: false,
    },
    About {
        name: "taco-ucf",
        label: "TACO-UCF",
        about: "the C that TACO-UCF generates for the same arrays, its loops in the same order",
        peer: true,
    },
    About { name: "taco", label: "TACO", about: "TACO's C on its best formats", peer: true },
];

/// What is known of the system of this name.
pub fn about(name: &str) -> Option<&'static About> {
    SYSTEMS.iter().find(|about| about.name == name)
}

/// How a system is called in tables and figures.
pub fn label(name: &str) -> &str {
    about(name).map_or(name, |about| about.label)
}

/// Names of the systems that dastac is compared with.
pub fn names() -> Vec<&'static str> {
    SYSTEMS.iter().filter(|about| about.peer).map(|about| about.name).collect()
}

/// The system of this name, ready to run, or the reason why there is none.
pub(super) fn system(request: Request<'_>) -> Ready {
    match request.name {
        "untiled" | "inputs" | "dense" | "small" | "large" | "search" | "locate" => {
            variant::system(request)
        }
        "auto" => chosen::system(request),
        "dastac" | "mkl" if request.job.call == Some(Call::Conversion) => {
            conversions::system(request)
        }
        "c-packed" | "c-inputs" | "c-dense" => loops::system(request),
        "mkl" if matches!(request.job.call, Some(Call::SparseVector | Call::SparseMatrix)) => {
            sparse::mkl(request)
        }
        "mkl" | "mkl-sorted" if products::has(request.job.call) => products::mkl(request),
        "scipy" | "scipy-sorted" | "graphblas" | "eigen" if products::has(request.job.call) => {
            matrices::system(request)
        }
        "mkl-rows" => sparse::mkl(request),
        "mkl" | "openblas" if request.job.call.is_none() => einsum::system(request),
        "mkl" | "openblas" => blas::system(request),
        "mlir" => mlir::system(request),
        "numpy" | "torch" | "scipy" => python::system(request),
        "taco" => taco::system(request),
        "taco-ucf" => ucf::system(request),
        other => Err(format!("there is no system `{other}`")),
    }
}
