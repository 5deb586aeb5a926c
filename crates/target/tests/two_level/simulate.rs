//! The machine's code on this computer: what stands for cores, lanes and scratchpads becomes loops and arrays of C.

use std::fmt::Write;
use std::process::{Command, Stdio};

use dastac_loops::{Data, Element, Module};

use crate::TwoLevel;

const PRELUDE: &str = "\
#include <math.h>
#include <stdio.h>
#include <string.h>
static inline long lmin(long a, long b) { return a < b ? a : b; }
static inline long lmax(long a, long b) { return a > b ? a : b; }
static inline long floordiv(long a, long b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }
static inline long floormod(long a, long b) { return a - b * floordiv(a, b); }
#define ARRAY(type, name, size) type name[size]
#define SCRATCHPAD(type, name, size) type name[size]
#define SHARED_OUT(number, count, var, lower, upper, step) \\
  for (long number = 0; number < (count); number++) \\
    for (long var = (lower) + number * (step); var < (upper); var += (count) * (step))
#define CORES(var, lower, upper, step) SHARED_OUT(core, CORE_COUNT, var, lower, upper, step)
#define LANES(var, lower, upper, step) SHARED_OUT(lane, LANE_COUNT, var, lower, upper, step)
";

/// Whether there is a C compiler.
pub fn possible() -> bool {
    let mut command = Command::new("cc");
    let found = command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    found.is_ok_and(|status| status.success())
}

/// Runs the first function of generated code and returns its buffers.
pub fn run(
    target: &TwoLevel,
    code: &str,
    module: &Module,
    symbols: &[i64],
    data: &[Data],
) -> Vec<Data> {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("kernel.c"), folder.path().join("kernel"));
    std::fs::write(&source, whole(target, code, module, symbols, data)).unwrap();
    let arguments = ["-std=c11", "-O1", "-Wall", "-Werror", "-Wno-unused-function", "-o"];
    let compiled =
        Command::new("cc").args(arguments).arg(&program).arg(&source).arg("-lm").output();
    let compiled = compiled.unwrap();
    assert!(compiled.status.success(), "{}\n{code}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(&program).output().unwrap();
    assert!(output.status.success(), "{code}");
    let mut numbers = std::str::from_utf8(&output.stdout).unwrap().split_whitespace();
    let mut next = || numbers.next().unwrap();
    let read = data.iter().map(|data| match data {
        Data::Float(all) => Data::Float(all.iter().map(|_| next().parse().unwrap()).collect()),
        Data::Int(all) => Data::Int(all.iter().map(|_| next().parse().unwrap()).collect()),
    });
    read.collect()
}

/// The program: generated code, its data, a call, and what it left.
fn whole(target: &TwoLevel, code: &str, module: &Module, symbols: &[i64], data: &[Data]) -> String {
    let TwoLevel { cores, lanes, .. } = target;
    let mut text =
        format!("#define CORE_COUNT {cores}\n#define LANE_COUNT {lanes}\n{PRELUDE}{code}");
    let function = &module.functions[0];
    let mut arguments: Vec<String> = symbols.iter().map(i64::to_string).collect();
    let mut print = String::new();
    for (at, ((id, _), data)) in function.args.iter().zip(data).enumerate() {
        let (element, values, format) = match data {
            Data::Float(all) => {
                ("float", all.iter().map(|x| format!("{x:?}f")).collect::<Vec<_>>(), "%.9g")
            }
            Data::Int(all) => (
                integer(module.buffers[id.0 as usize].element),
                all.iter().map(i64::to_string).collect(),
                "%ld",
            ),
        };
        let count = values.len();
        let _ = writeln!(
            text,
            "static {element} data{at}[{}] = {{ {} }};",
            count.max(1),
            values.join(", ")
        );
        let cast = if format == "%ld" { "(long)" } else { "" };
        let _ = writeln!(
            print,
            "  for (long k = 0; k < {count}; k++) printf(\"{format} \", {cast}data{at}[k]);"
        );
        arguments.push(format!("data{at}"));
    }
    let _ = write!(
        text,
        "int main(void) {{\n  {}({});\n{print}  return 0;\n}}\n",
        function.name,
        arguments.join(", ")
    );
    text
}

fn integer(element: Element) -> &'static str {
    match element {
        Element::I32 => "int",
        Element::U32 => "unsigned",
        _ => "long",
    }
}
