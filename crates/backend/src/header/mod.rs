//! Documented C headers for compiled modules.

mod example;
mod formula;
mod names;
mod options;

use crate::Result;
use crate::emit::is_identifier;
use dastac_loops::{Function, Mode, Module};
use dastac_target::TargetError;
use std::fmt::Write;

use formula::{Style, formula};
use names::{argument_names, c_type, count_name, parameter_names, plain};

pub use options::{HeaderOptions, Step};

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
        match options.steps.as_slice() {
            [] => example::of_call(out, module, function, &guard, options),
            steps => example::of_steps(out, module, steps, &guard, options),
        }
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
        let size = formula(module, &buffer.size, 0, &Style::Text);
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

fn non_empty(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
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
