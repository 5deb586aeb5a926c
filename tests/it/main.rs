//! The integration tests of the project: one binary, because each links LLVM statically and is large.

mod arrows;
mod examples;
mod setup_script;
