//! MLIR's own sparse compiler on the same arrays: the rule as one `linalg.generic`, its loops in the rule's order.
//!
//! It runs on one thread, on rules of one product.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use dastac_runtime::Code;

use crate::bindings::c::Compiler;
use crate::bindings::sparsifier::Sparsifier;
use dastac_formats::Kind;
use dastac_formats::Tensor;
use dastac_loops::BufferId;
use dastac_sched::KERNEL;
use dastac_stur::program::{Access, Element, TensorId};

use super::request::{Ready, Request};
use crate::Error;
use crate::system::{System, forget_packed, packed_result};
use dastac_driver::driver::{Indices, Laid};
use dastac_driver::run::Runner;
use dastac_elements::Storage;

pub(super) fn system(Request { job, laid, shared, .. }: Request<'_>) -> Ready {
    if job.threads > 1 {
        return Err("it is measured on one thread only".into());
    }
    let tools = Sparsifier::find().ok_or("not installed: apt-get install mlir-22-tools")?;
    let compiler = Compiler::find().ok_or("no C compiler was found: install clang-22")?;
    let texts = Texts::of(laid, shared)?;
    let name = format!("{}-mlir-{}", job.key().replace('/', "-"), std::process::id());
    let scratch: &Path = &job.places.scratch;
    let module = &shared.built().lowered.kernel.module;
    let native = tools
        .load(&compiler, module, (&texts.mlir, &texts.entry), (scratch, &name))
        .map_err(|error| error.to_string())?;
    // The text of each kernel is kept, so that it can be read later.
    let from = scratch.join(format!("{name}.mlir"));
    let _ = std::fs::rename(from, scratch.join(format!("{}.mlir", job.kernel)));
    let detail = format!("sparsifier of {}", tools.version);
    Ok(Box::new(Sparse { detail, native }))
}

/// Compiled code on dastac's buffers.
struct Sparse {
    detail: String,
    native: Code,
}

impl System for Sparse {
    fn name(&self) -> &str {
        "mlir"
    }

    fn detail(&self) -> String {
        self.detail.clone()
    }

    fn run(&mut self, shared: &mut Runner) -> Result<Duration, Error> {
        let native = &self.native;
        Ok(shared.call_with(KERNEL, |_, parameters, mut arguments| {
            native.call(KERNEL, parameters, &mut arguments)
        })?)
    }

    fn forget(&mut self, shared: &mut Runner) {
        forget_packed(shared);
    }

    fn result(&mut self, shared: &mut Runner, tensor: TensorId) -> Result<Storage, Error> {
        packed_result(shared, tensor)
    }
}

/// What is compiled.
struct Texts {
    /// The function.
    mlir: String,
    /// Its entry in C: descriptors of arrays around pointers.
    entry: String,
}

/// An array that the function takes.
struct Array {
    buffer: BufferId,
    /// The type of its elements.
    element: &'static str,
    /// Its extents; how many elements it has, if they are not part of its type.
    extents: Result<Vec<usize>, usize>,
}

impl Array {
    fn kind(&self) -> String {
        let extents = match &self.extents {
            Ok(extents) => extents.iter().map(|extent| format!("{extent}x")).collect(),
            Err(_) => "?x".to_string(),
        };
        format!("{extents}{}", self.element)
    }

    /// Its descriptor, around pointer `from` of those that the entry is given.
    fn descriptor(&self, at: usize, from: usize) -> String {
        let extents = self.extents.clone().unwrap_or_else(|length| vec![length]);
        let strides = (0..extents.len()).map(|at| extents[at + 1..].iter().product());
        let list = |numbers: &[usize]| {
            let words: Vec<String> = numbers.iter().map(usize::to_string).collect();
            words.join(", ")
        };
        let strides: Vec<usize> = strides.collect();
        let rank = extents.len();
        format!(
            "  struct {{ void *allocated, *aligned; int64_t offset, extents[{rank}], \
             strides[{rank}]; }} a{at} = {{\n    \
             b[{from}], b[{from}], 0, {{ {} }}, {{ {} }} }};\n",
            list(&extents),
            list(&strides)
        )
    }
}

impl Texts {
    fn of(laid: &Laid, shared: &Runner) -> Result<Texts, String> {
        let program = laid.program();
        let [rule] = &program.rules[..] else { return Err("it is given rules alone".into()) };
        let [product] = &rule.products[..] else { return Err("it is given one product".into()) };
        let result = rule.head;
        if program.tensors.iter().any(|tensor| tensor.element != Element::F64 || tensor.rank == 0) {
            return Err("it is given tensors of 64-bit numbers".into());
        }
        let mut writer = Writer { laid, shared, arrays: Vec::new(), body: String::new() };
        let mut reads = Vec::new();
        for access in &product.accesses {
            reads.push(writer.input(access.tensor)?);
        }
        let output = writer.dense(result)?;
        let Writer { arrays, mut body, .. } = writer;
        let kind = &arrays[output].kind();
        let names: Vec<String> = reads.iter().map(|(name, _)| name.clone()).collect();
        let kinds: Vec<String> = reads.iter().map(|(_, kind)| kind.clone()).collect();
        let iterators = &product.iterators;
        let maps = product.accesses.iter().map(|access| map(iterators, access));
        let head =
            format!("affine_map<({}) -> ({})>", iterators.join(", "), rule.iterators.join(", "));
        let maps: Vec<String> = maps.chain([head]).collect();
        let loops: Vec<&str> = iterators
            .iter()
            .map(
                |name| if rule.iterators.contains(name) { "\"parallel\"" } else { "\"reduction\"" },
            )
            .collect();
        // Loops that are sorted are left in their order; without one, MLIR chooses as well.
        let sorted = if rule.order.is_empty() { "" } else { ", sorted = true" };
        let values: Vec<String> = (0..reads.len()).map(|at| format!("%v{at}: f64")).collect();
        let mut last = "%v0".to_string();
        let mut products = String::new();
        for at in 1..reads.len() {
            let _ = writeln!(products, "    %p{at} = arith.mulf {last}, %v{at} : f64");
            last = format!("%p{at}");
        }
        let _ = write!(
            body,
            "  %zero = arith.constant 0.0 : f64\n  linalg.fill ins(%zero : f64) outs(%a{output} : memref<{kind}>)\n  \
             %to = bufferization.to_tensor %a{output} restrict writable : memref<{kind}> to tensor<{kind}>\n  \
             %result = linalg.generic {{ indexing_maps = [{}], iterator_types = [{}]{sorted} }}\n      \
             ins({} : {}) outs(%to : tensor<{kind}>) {{\n  ^bb0({}, %sum: f64):\n{products}    \
             %new = arith.addf %sum, {last} : f64\n    linalg.yield %new : f64\n  }} -> tensor<{kind}>\n  \
             bufferization.materialize_in_destination %result in restrict writable %a{output} : (tensor<{kind}>, \
             memref<{kind}>) -> ()\n  return\n",
            maps.join(", "),
            loops.join(", "),
            names.join(", "),
            kinds.join(", "),
            values.join(", ")
        );
        let arguments: Vec<String> = arrays
            .iter()
            .enumerate()
            .map(|(at, array)| format!("%a{at}: memref<{}>", array.kind()))
            .collect();
        let mlir = format!(
            "func.func @{KERNEL}({}) attributes {{ llvm.emit_c_interface }} {{\n{body}}}\n",
            arguments.join(", ")
        );
        Ok(Texts { mlir, entry: entry(shared, &arrays)? })
    }
}

/// The function in C that finds the arrays among those that dastac's kernel takes.
fn entry(shared: &Runner, arrays: &[Array]) -> Result<String, String> {
    let functions = &shared.built().lowered.kernel.module.functions;
    let function = functions.iter().find(|function| function.name == KERNEL);
    let taken = function.map(|function| &function.args[..]).unwrap_or_default();
    let mut body = String::new();
    for (at, array) in arrays.iter().enumerate() {
        let from = taken.iter().position(|(buffer, _)| *buffer == array.buffer);
        body += &array.descriptor(at, from.ok_or("dastac's kernel does not take all its arrays")?);
    }
    let list =
        |each: &dyn Fn(usize) -> String| (0..arrays.len()).map(each).collect::<Vec<_>>().join(", ");
    Ok(format!(
        "#include <stdint.h>\nvoid _mlir_ciface_{KERNEL}({});\n\
         void {KERNEL}__packed(const int64_t *parameters, void *const *b) {{\n{body}  _mlir_ciface_{KERNEL}({});\n}}\n",
        list(&|_| "void *".into()),
        list(&|at| format!("&a{at}"))
    ))
}

/// An access as a map of iterators.
fn map(iterators: &[String], access: &Access) -> String {
    let subscripts: Vec<String> = access.subscripts.iter().map(ToString::to_string).collect();
    format!("affine_map<({}) -> ({})>", iterators.join(", "), subscripts.join(", "))
}

struct Writer<'a> {
    laid: &'a Laid,
    shared: &'a Runner,
    arrays: Vec<Array>,
    body: String,
}

impl Writer<'_> {
    /// The name and type of an input's tensor.
    fn input(&mut self, tensor: TensorId) -> Result<(String, String), String> {
        let name = format!("%t{}", tensor.0);
        if self.shared.bound(tensor).is_some() {
            let kind = self.sparse(tensor, &name)?;
            return Ok((name, kind));
        }
        let at = self.dense(tensor)?;
        let kind = self.arrays[at].kind();
        let _ = writeln!(
            self.body,
            "  {name} = bufferization.to_tensor %a{at} restrict : memref<{kind}> to tensor<{kind}>"
        );
        Ok((name, format!("tensor<{kind}>")))
    }

    fn array(&mut self, array: Array) -> usize {
        self.arrays.push(array);
        self.arrays.len() - 1
    }

    /// Adds a tensor that is stored as its whole box in C order.
    fn dense(&mut self, tensor: TensorId) -> Result<usize, String> {
        let fact = &self.shared.facts()[tensor.0];
        let layout = &self.laid.layouts[tensor.0];
        let extents = self.shared.shape(tensor).map_err(|error| error.to_string())?;
        let whole = extents.iter().product::<usize>() == self.shared.packed(tensor).len();
        if !whole || !layout.order.is_sorted() {
            return Err(format!("`{}` does not stand in its box in C order", fact.name));
        }
        let buffer = BufferId(u32::try_from(tensor.0).map_err(|error| error.to_string())?);
        Ok(self.array(Array { buffer, element: "f64", extents: Ok(extents) }))
    }

    /// Adds a tensor that is made of the arrays of its levels.
    fn sparse(&mut self, tensor: TensorId, name: &str) -> Result<String, String> {
        let stored = &self.shared.built().lowered.kernel.stored;
        let mut copies = stored.iter().filter(|one| one.tensor == tensor);
        let (Some(stored), None, Some(bound)) =
            (copies.next(), copies.next(), self.shared.bound(tensor))
        else {
            return Err("it is given tensors in one format".into());
        };
        let (mut levels, mut lengths) = (Vec::new(), Vec::new());
        let order = bound.format().order().ok_or("it is given levels of dimensions only")?;
        for (dimension, data) in order.iter().zip(bound.levels()) {
            let kind = data.kind();
            if ![Kind::DENSE, Kind::COMPRESSED].contains(&kind) {
                return Err("it is given dense and compressed levels only".into());
            }
            lengths.extend(data.arrays().iter().map(|array| array.len()));
            levels.push(format!("d{dimension} : {kind}"));
        }
        // Arrays are those that dastac's kernel takes.
        let wide = self.shared.built().lowered.indices == Indices::Wide;
        let (integers, bits) = if wide { ("i64", 64) } else { ("i32", 32) };
        lengths.push(bound.values().len());
        let buffers = stored.operand.buffers();
        let count = lengths.len();
        let mut parts = Vec::new();
        for (at, (buffer, length)) in buffers.into_iter().zip(lengths).enumerate() {
            let element = if at + 1 == count { "f64" } else { integers };
            let array = self.array(Array { buffer, element, extents: Err(length) });
            let part = format!("{name}_{at}");
            let _ = writeln!(
                self.body,
                "  {part} = bufferization.to_tensor %a{array} restrict : memref<?x{element}> to tensor<?x{element}>"
            );
            parts.push((part, format!("tensor<?x{element}>")));
        }
        let kind = kind(bound, &levels, bits);
        let (values, arrays) = parts.split_last().ok_or("it has no arrays")?;
        let list = |each: fn(&(String, String)) -> &str| {
            arrays.iter().map(each).collect::<Vec<_>>().join(", ")
        };
        let _ = writeln!(
            self.body,
            "  {name} = sparse_tensor.assemble ({}), {} : ({}), {} to {kind}",
            list(|(name, _)| name),
            values.0,
            list(|(_, kind)| kind),
            values.1
        );
        Ok(kind)
    }
}

/// The type of a sparse tensor.
fn kind(tensor: &Tensor, levels: &[String], bits: u64) -> String {
    let extents: String = tensor.shape().iter().map(|extent| format!("{extent}x")).collect();
    let dimensions: Vec<String> = (0..tensor.shape().len()).map(|at| format!("d{at}")).collect();
    format!(
        "tensor<{extents}f64, #sparse_tensor.encoding<{{ map = ({}) -> ({}), posWidth = {bits}, crdWidth = {bits} }}>>",
        dimensions.join(", "),
        levels.join(", ")
    )
}
