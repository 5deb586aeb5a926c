//! Documented C headers for compiled modules.

use crate::Result;
use crate::emit::is_identifier;
use dastac_loops::{Condition, Element, Function, Index, Mode, Module};
use dastac_target::TargetError;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What a header says beside the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderOptions {
    /// Put in front of every function's name: [`dastac_target::CodeOptions::prefix`].
    pub prefix: String,
    /// The include guard; made from the prefix or the first function when empty.
    pub guard: String,
    /// What the header is about: its first lines.
    pub doc: String,
    /// What each function does, by name.
    pub functions: BTreeMap<String, String>,
    /// What each buffer holds, by name.
    pub buffers: BTreeMap<String, String>,
}

/// The header that declares `module`'s functions to C and C++.
pub fn c_header(module: &Module, options: &HeaderOptions) -> Result<String> {
    let guard = guard(module, options)?;
    let mut text = String::new();
    let out = &mut text;
    comment(
        out,
        "",
        &[non_empty(&options.doc).unwrap_or("Kernels compiled by dastac."), CONVENTIONS],
    );
    let _ = write!(out, "#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n\n");
    let _ = write!(out, "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n");
    parameters(out, module, &guard);
    for function in &module.functions {
        declaration(out, module, function, options)?;
    }
    let _ = write!(out, "#ifdef __cplusplus\n}}\n#endif\n\n");
    if let Some(function) = module.functions.first() {
        example(out, module, function, &guard, options);
    }
    let _ = writeln!(out, "#endif /* {guard} */");
    Ok(text)
}

const CONVENTIONS: &str = "Each function takes the parameters as one array of int64_t, then its \
    buffers. Buffers must not overlap; those marked const are only read. 64-byte alignment is faster but not \
    required. The form named __packed takes the same buffers, in the same order, as one array of pointers. \
    Sizes are numbers of elements; `/` rounds down and `%` is never negative.";

fn guard(module: &Module, options: &HeaderOptions) -> Result<String> {
    let guard = match (options.guard.as_str(), module.functions.first()) {
        ("", None) => format!("{}dastac_H", options.prefix).to_uppercase(),
        ("", Some(first)) => format!("{}{}_H", options.prefix, first.name).to_uppercase(),
        (given, _) => given.to_owned(),
    };
    if is_identifier(&guard) { Ok(guard) } else { Err(TargetError::Name(guard)) }
}

/// An enumeration of the parameters' positions.
fn parameters(out: &mut String, module: &Module, guard: &str) {
    let names = parameter_names(module, guard);
    comment(out, "", &["Positions in `params`."]);
    let _ = writeln!(out, "enum {{");
    for (at, (name, symbol)) in names.iter().zip(&module.symbols).enumerate() {
        let _ = writeln!(out, "  {name} = {at}, /* {} */", plain(symbol));
    }
    let _ =
        writeln!(out, "  {} = {} /* how many there are */\n}};\n", count_name(guard), names.len());
}

fn stem(guard: &str) -> &str {
    guard.strip_suffix("_H").unwrap_or(guard)
}

fn count_name(guard: &str) -> String {
    format!("{}_PARAMS", stem(guard))
}

fn parameter_names(module: &Module, guard: &str) -> Vec<String> {
    unique(
        module.symbols.iter().map(|symbol| format!("{}_PARAM_{}", stem(guard), identifier(symbol))),
    )
}

fn declaration(
    out: &mut String,
    module: &Module,
    function: &Function,
    options: &HeaderOptions,
) -> Result<()> {
    let name = format!("{}{}", options.prefix, function.name);
    if !is_identifier(&name) {
        return Err(TargetError::Name(name));
    }
    let names = argument_names(module, function);
    let about = options.functions.get(&function.name).map_or("", String::as_str);
    let mut paragraphs: Vec<String> = non_empty(about).map(str::to_owned).into_iter().collect();
    let mut arguments = vec!["const int64_t *params".to_owned()];
    for (argument, &(id, mode)) in names.iter().zip(&function.args) {
        let buffer = module
            .buffers
            .get(id.0 as usize)
            .ok_or_else(|| TargetError::Invalid(format!("buffer {} does not exist", id.0)))?;
        let how = match mode {
            Mode::In => "read",
            Mode::Out => "written",
            Mode::InOut => "read and written",
        };
        let size = formula(module, &buffer.size, 0);
        let about = options.buffers.get(&buffer.name).map_or("", String::as_str);
        let about = non_empty(about).map(|text| format!(". {text}")).unwrap_or_default();
        paragraphs.push(format!("{argument}: {how}; size {size}{about}"));
        let constant = if mode == Mode::In { "const " } else { "" };
        arguments.push(format!("{constant}{} *{argument}", c_type(buffer.element)));
    }
    let paragraphs: Vec<&str> = paragraphs.iter().map(String::as_str).collect();
    comment(out, "", &paragraphs);
    let _ = writeln!(out, "void {name}({});", arguments.join(", "));
    let _ = writeln!(out, "void {name}__packed(const int64_t *params, void *const *buffers);\n");
    Ok(())
}

fn example(
    out: &mut String,
    module: &Module,
    function: &Function,
    guard: &str,
    options: &HeaderOptions,
) {
    let mut lines = vec!["Example:".to_owned(), String::new()];
    lines.push(format!("  int64_t params[{}];", count_name(guard)));
    for name in parameter_names(module, guard) {
        lines.push(format!("  params[{name}] = ...;"));
    }
    let names = argument_names(module, function);
    for (name, (id, _)) in names.iter().zip(&function.args) {
        if let Some(buffer) = module.buffers.get(id.0 as usize) {
            let (element, size) = (c_type(buffer.element), formula(module, &buffer.size, 0));
            lines.push(format!("  {element} *{name} = ...; // {size} elements"));
        }
    }
    let arguments: Vec<_> =
        std::iter::once("params").chain(names.iter().map(String::as_str)).collect();
    lines.push(format!("  {}{}({});", options.prefix, function.name, arguments.join(", ")));
    let _ = writeln!(out, "/*");
    for line in lines {
        let _ = writeln!(out, "{}", format!(" * {}", plain(&line)).trim_end());
    }
    let _ = writeln!(out, " */");
}

/// The names of a function's buffers as C parameters.
fn argument_names(module: &Module, function: &Function) -> Vec<String> {
    let names = function.args.iter().map(|(id, _)| match module.buffers.get(id.0 as usize) {
        Some(buffer) => identifier(&buffer.name),
        None => format!("b{}", id.0),
    });
    // `params` is taken.
    unique(std::iter::once("params".to_owned()).chain(names)).split_off(1)
}

/// Names made different by a number at the end.
fn unique(names: impl Iterator<Item = String>) -> Vec<String> {
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
fn identifier(name: &str) -> String {
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

fn c_type(element: Element) -> &'static str {
    match element {
        Element::F64 => "double",
        Element::F32 => "float",
        Element::C128 => "double _Complex",
        Element::C64 => "float _Complex",
        Element::I64 => "int64_t",
        // C has no name for bfloat16 that all compilers know: its bits.
        Element::F16 => "_Float16",
        Element::Bf16 => "uint16_t",
        Element::U32 => "uint32_t",
        Element::I32 => "int32_t",
        Element::I16 => "int16_t",
        Element::I8 => "int8_t",
        Element::U8 | Element::Bool => "uint8_t",
    }
}

/// The expression as a formula; `binding` is how tightly the place around it binds: 0 nothing, 1 a sum, 2 the
/// right side of a difference, 3 a factor.
fn formula(module: &Module, index: &Index, binding: u8) -> String {
    let at = |index, binding| formula(module, index, binding);
    let (text, own) = match index {
        Index::Const(value) => (value.to_string(), if *value < 0 { 1 } else { 4 }),
        Index::Symbol(symbol) => match module.symbols.get(symbol.0 as usize) {
            Some(name) => (name.clone(), 4),
            None => (format!("symbol {}", symbol.0), 4),
        },
        Index::Var(var) => (format!("variable {}", var.0), 4),
        Index::Add(left, right) => (format!("{} + {}", at(left, 1), at(right, 2)), 1),
        Index::Sub(left, right) => (format!("{} - {}", at(left, 1), at(right, 2)), 1),
        Index::Mul(left, right) => (format!("{}*{}", at(left, 3), at(right, 4)), 3),
        Index::FloorDiv(value, by) | Index::ExactDiv(value, by) => {
            (format!("{}/{by}", at(value, 3)), 3)
        }
        Index::Mod(value, by) => (format!("{}%{by}", at(value, 3)), 3),
        Index::Quotient(value, by) => (format!("{}/{}", at(value, 3), at(by, 4)), 3),
        Index::Load(buffer, index) => (format!("buffer {}[{}]", buffer.0, at(index, 0)), 4),
        Index::Within(inner) => (at(&inner.index, 4), 4),
        Index::Min(left, right) => (format!("min({}, {})", at(left, 0), at(right, 0)), 4),
        Index::Max(left, right) => (format!("max({}, {})", at(left, 0), at(right, 0)), 4),
        Index::Select(condition, then, otherwise) => {
            let condition = condition_formula(module, condition);
            (format!("({condition} ? {} : {})", at(then, 1), at(otherwise, 1)), 4)
        }
    };
    if own < binding { format!("({text})") } else { text }
}

fn condition_formula(module: &Module, condition: &Condition) -> String {
    let join = |list: &[Condition], operator: &str, empty: &str| match list {
        [] => empty.to_owned(),
        list => {
            let parts: Vec<_> = list.iter().map(|c| condition_formula(module, c)).collect();
            format!("({})", parts.join(operator))
        }
    };
    match condition {
        Condition::Compare(op, left, right) => {
            let op = op.sign();
            format!("{} {op} {}", formula(module, left, 1), formula(module, right, 1))
        }
        Condition::And(list) => join(list, " && ", "1"),
        Condition::Or(list) => join(list, " || ", "0"),
    }
}

fn non_empty(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}

/// Text that cannot end a comment early or start one inside.
fn plain(text: &str) -> String {
    text.replace("*/", "* /").replace("/*", "/ *").replace('\0', "")
}

/// A comment of paragraphs, lines broken at 100 columns.
fn comment(out: &mut String, indent: &str, paragraphs: &[&str]) {
    let mut lines = Vec::new();
    for paragraph in paragraphs.iter().flat_map(|text| text.lines()) {
        let mut line = String::new();
        for word in plain(paragraph).split_whitespace() {
            if !line.is_empty() && line.len() + word.len() + indent.len() > 96 {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    let _ = writeln!(out, "{indent}/*");
    for line in lines {
        let _ = writeln!(out, "{}", format!("{indent} * {line}").trim_end());
    }
    let _ = writeln!(out, "{indent} */");
}
