//! Any bytes: the parser and the checker end with a program or diagnostics, and what is printed reads back as the same.
#![no_main]

#[path = "../../crates/stur/tests/property/mod.rs"]
mod property;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(source) = std::str::from_utf8(data)
        && let Err(why) = property::holds(source)
    {
        panic!("{why}");
    }
});
