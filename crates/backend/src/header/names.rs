//! Names of a module as identifiers of C, and types of its elements.

use dastac_loops::{Element, Function, Module};

/// Text that cannot end a comment early or start one inside.
pub(super) fn plain(text: &str) -> String {
    text.replace("*/", "* /").replace("/*", "/ *").replace('\0', "")
}

pub(super) fn stem(guard: &str) -> &str {
    guard.strip_suffix("_H").unwrap_or(guard)
}

pub(super) fn count_name(guard: &str) -> String {
    format!("{}_PARAMS", stem(guard))
}

pub(super) fn parameter_names(module: &Module, guard: &str) -> Vec<String> {
    unique(
        module.symbols.iter().map(|symbol| format!("{}_PARAM_{}", stem(guard), identifier(symbol))),
    )
}

/// The names of a function's buffers as C parameters.
pub(super) fn argument_names(module: &Module, function: &Function) -> Vec<String> {
    let names = function.args.iter().map(|(id, _)| match module.buffers.get(id.0 as usize) {
        Some(buffer) => identifier(&buffer.name),
        None => format!("b{}", id.0),
    });
    // `params` is taken.
    unique(std::iter::once("params".to_owned()).chain(names)).split_off(1)
}

/// Names made different by a number at the end.
pub(super) fn unique(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut result: Vec<String> = Vec::new();
    for name in names {
        let mut candidate = name.clone();
        let mut number = 2;
        while result.contains(&candidate) {
            candidate = format!("{name}_{number}");
            number += 1;
        }
        result.push(candidate);
    }
    result
}

/// A C identifier for a name of the module: other characters become `_`, keywords get one at the end.
pub(super) fn identifier(name: &str) -> String {
    let mut text: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if !text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        text.insert(0, '_');
    }
    if KEYWORDS.contains(&text.as_str()) {
        text.push('_');
    }
    text
}

/// Words that cannot name a parameter in C or C++.
const KEYWORDS: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "asm",
    "auto",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "constexpr",
    "continue",
    "default",
    "delete",
    "do",
    "double",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "not",
    "nullptr",
    "operator",
    "or",
    "private",
    "protected",
    "public",
    "register",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "template",
    "this",
    "throw",
    "true",
    "try",
    "typedef",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "while",
    "xor",
];

pub(super) fn c_type(element: Element) -> &'static str {
    match element {
        Element::F64 => "double",
        Element::F32 => "float",
        Element::C128 => "double _Complex",
        Element::C64 => "float _Complex",
        Element::I64 => "int64_t",
        // C has no name for bfloat16 that all compilers know: its bits.
        Element::F16 => "_Float16",
        Element::U16 | Element::Bf16 => "uint16_t",
        Element::U32 => "uint32_t",
        Element::I32 => "int32_t",
        Element::I16 => "int16_t",
        Element::I8 => "int8_t",
        Element::U8 | Element::Bool => "uint8_t",
    }
}
