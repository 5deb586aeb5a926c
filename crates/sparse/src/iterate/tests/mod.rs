mod assemble;
mod kernels;
mod walks;
