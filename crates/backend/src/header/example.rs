//! The example at the end of a header.

use dastac_loops::{Function, Module};
use std::collections::BTreeSet;
use std::fmt::Write;

use super::formula::{Style, formula};
use super::names::{argument_names, c_type, count_name, parameter_names, plain};
use super::options::{HeaderOptions, Step};

/// What symbols are in an example.
const SIZE: &str = "4";

/// A whole program that does these steps: symbols have the value 4, inputs are zero, sparse ones empty.
pub(super) fn of_steps(
    out: &mut String,
    module: &Module,
    steps: &[Step],
    guard: &str,
    options: &HeaderOptions,
) {
    let parameters = parameter_names(module, guard);
    let style = Style::C(parameters.clone());
    let header = match options.file.as_str() {
        "" => format!("{}.h", super::names::stem(guard).to_lowercase()),
        given => given.to_owned(),
    };
    let mut lines = vec![
        "Example: a program that does everything once. Fill in sizes and inputs; `calloc` makes"
            .to_owned(),
        "dense inputs zero and sparse ones empty.".to_owned(),
        String::new(),
        "  #include <stdlib.h>".to_owned(),
        format!("  #include \"{header}\""),
        String::new(),
        "  int main(void) {".to_owned(),
        format!("    int64_t params[{}] = {{0}};", count_name(guard)),
    ];
    let counted: BTreeSet<u32> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Count { parameter, .. } => Some(parameter.0),
            Step::Call(_) => None,
        })
        .collect();
    for (at, (parameter, symbol)) in parameters.iter().zip(&module.symbols).enumerate() {
        // Names of counts have a point: they are those of stored elements, of which there are none.
        let value = if symbol.contains(".count") { "0" } else { SIZE };
        if u32::try_from(at).is_ok_and(|at| !counted.contains(&at)) {
            lines.push(format!("    params[{parameter}] = {value};"));
        }
    }
    let mut allocated = BTreeSet::new();
    let mut names = Vec::new();
    for step in steps {
        match step {
            Step::Count { parameter, starts } => {
                let (Some(name), Some(buffer)) =
                    (parameters.get(parameter.0 as usize), module.buffers.get(starts.0 as usize))
                else {
                    continue;
                };
                let last = formula(module, &buffer.size, 1, &style);
                let starts = super::names::identifier(&buffer.name);
                lines.push(format!("    params[{name}] = {starts}[{last} - 1];"));
            }
            Step::Call(name) => {
                let Some(function) = module.functions.iter().find(|one| one.name == *name) else {
                    continue;
                };
                let arguments = argument_names(module, function);
                for (argument, (id, _)) in arguments.iter().zip(&function.args) {
                    let Some(buffer) = module.buffers.get(id.0 as usize) else { continue };
                    if !allocated.insert(id.0) {
                        continue;
                    }
                    let size = formula(module, &buffer.size, 1, &style);
                    let element = c_type(buffer.element);
                    // A size of zero may give no address.
                    lines.push(format!(
                        "    {element} *{argument} = calloc({size} + 1, sizeof *{argument});"
                    ));
                    names.push(argument.clone());
                }
                let arguments =
                    std::iter::once("params").chain(arguments.iter().map(String::as_str));
                let arguments = arguments.collect::<Vec<_>>().join(", ");
                lines.push(format!("    {}{name}({arguments});", options.prefix));
            }
        }
    }
    lines.extend(names.iter().map(|name| format!("    free({name});")));
    lines.extend(["    return 0;".to_owned(), "  }".to_owned()]);
    print(out, &lines);
}

/// One call, with `...` for what the caller fills in.
pub(super) fn of_call(
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
            let (element, size) =
                (c_type(buffer.element), formula(module, &buffer.size, 0, &Style::Text));
            lines.push(format!("  {element} *{name} = ...; // {size} elements"));
        }
    }
    let arguments: Vec<_> =
        std::iter::once("params").chain(names.iter().map(String::as_str)).collect();
    lines.push(format!("  {}{}({});", options.prefix, function.name, arguments.join(", ")));
    print(out, &lines);
}

fn print(out: &mut String, lines: &[String]) {
    let _ = writeln!(out, "/*");
    for line in lines {
        let _ = writeln!(out, "{}", format!(" * {}", plain(line)).trim_end());
    }
    let _ = writeln!(out, " */");
}
