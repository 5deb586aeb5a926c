//! Kernels as text.
