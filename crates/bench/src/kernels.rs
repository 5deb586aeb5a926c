//! The kernels of the paper's Tables 1 and 2, and combinations of such structures: programs, sizes, and which routine
//! of a library does the same.

use serde::{Deserialize, Serialize};

macro_rules! example {
    ($name:literal) => {
        include_str!(concat!("../../../examples/", $name, ".stur"))
    };
}

/// A kernel, of one size parameter `n`.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// The name of its file among the examples.
    pub name: &'static str,
    /// Its name in the paper.
    pub title: &'static str,
    /// What is computed.
    pub formula: &'static str,
    /// The program.
    pub source: &'static str,
    /// The symbols' values.
    pub symbols: &'static [(&'static str, Size)],
    /// Values of `n` in the table.
    pub table: &'static [i64],
    /// Values of `n` over which figures draw curves.
    pub sweep: &'static [i64],
    /// The value of `n` at which figures compare variants: dense boxes fit into memory.
    pub dense: i64,
    /// The best that a library can do for it.
    pub call: Option<Call>,
}

/// The value of a symbol.
#[derive(Clone, Copy, Debug)]
pub enum Size {
    /// `n`.
    N,
    /// The same for all `n`.
    Is(i64),
}

/// How libraries compute a kernel. All are given the packed elements, in the order that is best for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// `A(r, k) = B(r, l) C(k, l)` over the packed rows: a matrix product.
    Contract,
    /// The product of all inputs, element by element.
    Multiply,
    /// `A(i) = B(i, k, l) C(k) D(l)`: matrix times vector, twice.
    Vectors,
    /// The same where `i < k`: matrix times vector over the packed rows, then inner products.
    TriangleVectors,
    /// A packed upper triangle times a vector.
    Triangle,
    /// The first row and the diagonal below the main one, times a vector: inner product and element-wise product.
    Leslie,
    /// `A = B' B`, of which one triangle is needed: rank-k update or matrix product, whichever is faster.
    Square,
    /// A sparse matrix times a vector.
    SparseVector,
    /// A sparse matrix times a matrix.
    SparseMatrix,
    /// The product of two sparse matrices in rows, in rows.
    SparseProduct,
    /// The product of two sparse matrices in columns, in rows.
    SparseColumns,
    /// The transpose of a sparse matrix in rows, in rows.
    SparseTranspose,
    /// A convolution, with or without batches, channels and several filters.
    Convolution,
    /// A sparse matrix in another format.
    Conversion,
}

impl Workload {
    /// The symbols' values for this `n`.
    pub fn values(&self, n: i64) -> Vec<(String, i64)> {
        let value = |size: Size| match size {
            Size::N => n,
            Size::Is(value) => value,
        };
        self.symbols.iter().map(|(name, size)| ((*name).to_string(), value(*size))).collect()
    }
}

/// All moments of a polynomial regression, as the paper's Table 1 defines its last rows: name, title and program. They
/// are compiled, not run.
pub const REGRESSIONS: &[(&str, &str, &str)] = &[
    ("polyreg2", "PR2, all moments", example!("polyreg2")),
    ("polyreg3", "PR3, all moments", example!("polyreg3")),
    ("polyreg4", "PR4, all moments", example!("polyreg4")),
];

/// The kernel of this name.
pub fn find(name: &str) -> Option<&'static Workload> {
    KERNELS.iter().chain(COMBINATIONS).find(|kernel| kernel.name == name)
}

const MNPQ: &[(&str, Size)] = &[("M", Size::N), ("N", Size::N), ("P", Size::N), ("Q", Size::N)];
const MNPQJ: &[(&str, Size)] =
    &[("M", Size::N), ("N", Size::N), ("P", Size::N), ("Q", Size::N), ("J", Size::Is(3))];
const MNP: &[(&str, Size)] = &[("M", Size::N), ("N", Size::N), ("P", Size::N)];
const MN: &[(&str, Size)] = &[("M", Size::N), ("N", Size::N)];

/// All kernels, in the paper's order.
pub const KERNELS: &[Workload] = &[
    Workload {
        name: "ttm_dp",
        title: "TTM_DP",
        formula: "A(i,j,k) := B(i,j,l) C(k,l), i = j",
        source: example!("ttm_dp"),
        symbols: MNPQ,
        table: &[512],
        sweep: &[64, 128, 192, 256, 384, 512, 768],
        dense: 384,
        call: Some(Call::Contract),
    },
    Workload {
        name: "ttm_j",
        title: "TTM_J",
        formula: "A(i,j,k) := B(i,j,l) C(k,l), j fixed",
        source: example!("ttm_j"),
        symbols: MNPQJ,
        table: &[512],
        sweep: &[64, 128, 192, 256, 384, 512, 768],
        dense: 384,
        call: Some(Call::Contract),
    },
    Workload {
        name: "ttm_ut",
        title: "TTM_UT",
        formula: "A(i,j,k) := B(i,j,l) C(k,l), i <= j",
        source: example!("ttm_ut"),
        symbols: MNPQ,
        table: &[256],
        sweep: &[32, 64, 96, 128, 192, 256, 320],
        dense: 192,
        call: Some(Call::Contract),
    },
    Workload {
        name: "thp_dp",
        title: "THP_DP",
        formula: "A(i,j,k) := B(i,j,k) C(i,j,k), i = j",
        source: example!("thp_dp"),
        symbols: MNP,
        table: &[512],
        sweep: &[128, 256, 512, 1024, 2048, 4096],
        dense: 384,
        call: Some(Call::Multiply),
    },
    Workload {
        name: "thp_i",
        title: "THP_I",
        formula: "A(i,j,k) := B(i,j,k) C(i,j,k), i fixed",
        source: example!("thp_i"),
        symbols: &[("M", Size::N), ("N", Size::N), ("P", Size::N), ("I", Size::Is(3))],
        table: &[512],
        sweep: &[128, 256, 512, 1024, 2048, 4096],
        dense: 384,
        call: Some(Call::Multiply),
    },
    Workload {
        name: "thp_j",
        title: "THP_J",
        formula: "A(i,j,k) := B(i,j,k) C(i,j,k), j fixed",
        source: example!("thp_j"),
        symbols: &[("M", Size::N), ("N", Size::N), ("P", Size::N), ("J", Size::Is(3))],
        table: &[512],
        sweep: &[128, 256, 512, 1024, 2048, 4096],
        dense: 384,
        call: Some(Call::Multiply),
    },
    Workload {
        name: "mtt_j",
        title: "MTT_J",
        formula: "A(i,j) := B(i,k,l) C(k,j) D(l,j), j fixed",
        source: example!("mtt_j"),
        symbols: MNPQJ,
        table: &[512],
        sweep: &[64, 128, 192, 256, 384, 512],
        dense: 384,
        call: Some(Call::Vectors),
    },
    Workload {
        name: "mtt_jut",
        title: "MTT_JUT",
        formula: "A(i,j) := B(i,k,l) C(k,j) D(l,j), j fixed, i < k",
        source: example!("mtt_jut"),
        symbols: MNPQJ,
        table: &[512],
        sweep: &[64, 128, 192, 256, 384, 512],
        dense: 384,
        call: Some(Call::TriangleVectors),
    },
    Workload {
        name: "mtt_d",
        title: "MTT_D",
        formula: "A(i,j) := B(i,k,l) C(k,j) D(l,j), i = k = l = j",
        source: example!("mtt_d"),
        symbols: MNPQ,
        table: &[1 << 20],
        sweep: &[1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22],
        dense: 512,
        call: Some(Call::Multiply),
    },
    Workload {
        name: "spmv_ut",
        title: "SpMV_UT",
        formula: "A(i) := B(i,j) C(j), i <= j",
        source: example!("spmv_ut"),
        symbols: MN,
        table: &[8192, 16384],
        sweep: &[512, 1024, 2048, 4096, 8192, 16384],
        dense: 8192,
        call: Some(Call::Triangle),
    },
    Workload {
        name: "spmv_d",
        title: "SpMV_D",
        formula: "A(i) := B(i,j) C(j), i = j",
        source: example!("spmv_d"),
        symbols: MN,
        table: &[1 << 20],
        sweep: &[1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22],
        dense: 16384,
        call: Some(Call::Multiply),
    },
    Workload {
        name: "spmv_l",
        title: "SpMV_L",
        formula: "A(i) := B(i,j) C(j), i = 0 or j = i - 1",
        source: example!("spmv_l"),
        symbols: MN,
        table: &[1 << 20],
        sweep: &[1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22],
        dense: 16384,
        call: Some(Call::Leslie),
    },
    Workload {
        name: "pr2",
        title: "PR2",
        formula: "A(i,j) := B(x,i) B(x,j), 100000 rows",
        source: example!("pr2"),
        symbols: &[("M", Size::Is(100_000)), ("N", Size::N)],
        table: &[32, 64, 128],
        sweep: &[8, 16, 32, 64, 96, 128],
        dense: 32,
        call: Some(Call::Square),
    },
    Workload {
        name: "pr3",
        title: "PR3",
        formula: "A(i,j,k) := B(x,i) B(x,j) B(x,k), 10000 rows",
        source: example!("pr3"),
        symbols: &[("M", Size::Is(10_000)), ("N", Size::N)],
        table: &[32, 64],
        sweep: &[8, 16, 24, 32, 48, 64],
        dense: 32,
        call: None,
    },
    Workload {
        name: "pr4",
        title: "PR4",
        formula: "A(i,j,k,l) := B(x,i) B(x,j) B(x,k) B(x,l), 2000 rows",
        source: example!("pr4"),
        symbols: &[("M", Size::Is(2_000)), ("N", Size::N)],
        table: &[24],
        sweep: &[8, 12, 16, 24, 32],
        dense: 16,
        call: None,
    },
];

const BAND: &[(&str, Size)] = &[("N", Size::N), ("K", Size::Is(8))];
const WIDE: &[(&str, Size)] = &[("N", Size::N), ("K", Size::Is(64))];

/// Structures of the same kinds in other combinations: none of them is in the paper.
pub const COMBINATIONS: &[Workload] = &[
    Workload {
        name: "symmetric_band",
        title: "symmetric band x matrix",
        formula: "C(i,k) := B(i,j) X(j,k), B(i,j) = B(j,i), |i - j| <= 8, 64 columns",
        source: example!("symmetric_band_times_matrix"),
        symbols: WIDE,
        table: &[1024, 16384],
        sweep: &[256, 1024, 4096, 16384],
        dense: 4096,
        call: None,
    },
    Workload {
        name: "band_8",
        title: "band x vector",
        formula: "y(i) := B(i,j) x(j), |i - j| <= 8",
        source: example!("banded_matvec"),
        symbols: BAND,
        table: &[1 << 20],
        sweep: &[1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20],
        dense: 8192,
        call: None,
    },
    Workload {
        name: "band_64",
        title: "wide band x vector",
        formula: "y(i) := B(i,j) x(j), |i - j| <= 64",
        source: example!("banded_matvec"),
        symbols: WIDE,
        table: &[4096, 1 << 20],
        sweep: &[1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18],
        dense: 8192,
        call: None,
    },
    Workload {
        name: "block_triangle",
        title: "block triangle x matrix",
        formula: "C(i,k) := B(i,j) X(j,k), 16 (i / 16) <= j, 64 columns",
        source: example!("block_triangle_times_matrix"),
        symbols: WIDE,
        table: &[1024],
        sweep: &[128, 256, 512, 1024, 2048],
        dense: 2048,
        call: None,
    },
    Workload {
        name: "simplex",
        title: "simplex x matrix",
        formula: "A(i,j,k) := B(i,j,l) X(l,k), i <= j <= l, 64 columns",
        source: example!("simplex_times_matrix"),
        symbols: WIDE,
        table: &[128],
        sweep: &[32, 64, 96, 128, 192],
        dense: 128,
        call: None,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_those_of_the_programs() {
        for kernel in KERNELS.iter().chain(COMBINATIONS) {
            let (program, _) = dastac_stur::load(kernel.source).unwrap();
            let declared: Vec<&str> = program.symbols.iter().map(|(name, _)| &name[..]).collect();
            let given: Vec<&str> = kernel.symbols.iter().map(|(name, _)| *name).collect();
            assert_eq!(declared, given, "{}", kernel.name);
        }
    }
}
