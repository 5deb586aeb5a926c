//! Names and types as MLIR spells them.

use dastac_loops::{Element, LaneKind, Module, RegisterType};

/// Whether C accepts `name` as the name of a function (keywords aside).
pub(crate) fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The type that memory of an element type has.
pub(super) fn name_of(element: Element) -> &'static str {
    match element {
        Element::F64 => "f64",
        Element::F32 => "f32",
        Element::F16 => "f16",
        // Not among those that are emitted: `legal::check` refuses them.
        Element::C128 => "complex<f64>",
        Element::C64 => "complex<f32>",
        Element::I64 => "i64",
        Element::I32 | Element::U32 => "i32",
        Element::I16 | Element::U16 | Element::Bf16 => "i16",
        Element::I8 | Element::U8 | Element::Bool => "i8",
    }
}

/// Whether memory of an element type holds integers.
pub(super) fn is_stored_as_integer(element: Element) -> bool {
    name_of(element).starts_with('i')
}

/// `f64`, `vector<8xf64>`, `vector<8xi1>`.
pub(super) fn type_name(ty: RegisterType) -> String {
    let kind = match ty.kind {
        LaneKind::Number(element) => name_of(element),
        LaneKind::Integer => "index",
        LaneKind::Truth => "i1",
    };
    if ty.lanes == 1 { kind.to_owned() } else { format!("vector<{}x{kind}>", ty.lanes) }
}

/// Items with commas between.
pub(super) fn list<T: ToString>(items: impl Iterator<Item = T>) -> String {
    items.map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

/// Names for the types of buffers of `huge` elements: of those that most modules have, and of the module's own.
pub(super) fn aliases(module: &Module, huge: i64) -> String {
    let usual = [Element::F64, Element::F32, Element::I64, Element::U32, Element::Bool];
    let own = module.buffers.iter().map(|buffer| buffer.element);
    let mut names: Vec<&str> = Vec::new();
    for name in usual.into_iter().chain(own).map(name_of) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.iter().map(|name| format!("!{name}s = memref<{huge}x{name}>\n")).collect()
}

/// The type of a buffer: a name for a memref of static shape.
pub(super) fn memref(element: Element) -> String {
    format!("!{}s", name_of(element))
}

/// A name with everything but letters, digits and `_` replaced by `_`, a letter or `_` in front.
pub(super) fn sanitized(name: &str) -> String {
    let mut text: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        text.insert(0, '_');
    }
    text
}
