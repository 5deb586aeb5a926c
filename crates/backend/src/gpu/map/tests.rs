//! Kernels on the interpreter.
