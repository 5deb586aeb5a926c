mod assemble;
mod kernels;
mod trips;
mod walks;
