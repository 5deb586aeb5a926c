mod kernels;
mod walks;
