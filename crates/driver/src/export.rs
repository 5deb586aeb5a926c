//! A program as a library for C: what `dastac build` makes.
//!
//! One module with `kernel` (and `prepare`, where there are preprocess blocks), `sizes` and, for every tensor `T`,
//! `pack_T` and `unpack_T`. Invariant: the kernel and the data movement agree on the packed buffers, because both come
//! from the same layouts; buffer `k` is tensor `k`'s.

use dastac_backend::header::{HeaderOptions, Step, c_header};
use dastac_backend::link;
use dastac_formats::level::Role as ArrayRole;
use dastac_iterate::Structure;
use dastac_layout::text;
use dastac_loops::passes::Observer;
use dastac_loops::{BufferId, Module};
use dastac_sched::{Assembled, Computation, KERNEL, PREPARE, Stored};
use dastac_stur::Role;
use dastac_stur::program::Element;
use dastac_target::{Abi, Artifact, CodeKind, CodeOptions, Library as Needed};

use crate::Error;
use crate::build::BuildOptions;
use crate::driver::Lowered;

/// The functions of a library and what its header says about them.
#[derive(Clone, Debug)]
pub struct Library {
    /// The functions.
    pub module: Module,
    /// The header's text.
    pub header: HeaderOptions,
}

impl Library {
    /// Joins the computation and its data movement; every exported name begins with `prefix`, and `title` is what the
    /// header calls the program.
    ///
    /// # Errors
    /// A failure to build the data movement.
    pub fn new(lowered: &Lowered, title: &str, prefix: &str) -> Result<Library, Error> {
        let movement = lowered.movement()?;
        let mut header = documentation(lowered, title, prefix);
        let tensors = &lowered.program().tensors;
        for (tensor, (pack, unpack, _)) in tensors.iter().zip(&movement.functions) {
            if tensor.format.is_some() {
                continue; // its arrays are what a caller has
            }
            let name = &tensor.name;
            let from = format!(
                "Moves the elements of {name} that are stored from a dense array to its packed buffer."
            );
            let to = format!(
                "Writes all of {name} to a dense array: redundant elements restored, zeros elsewhere."
            );
            header.functions.insert(pack.clone(), from);
            header.functions.insert(unpack.clone(), to);
        }
        let expand: Vec<&String> = movement.functions.iter().filter_map(|f| f.2.as_ref()).collect();
        let mut module = movement.module.clone();
        let (sizes, moves): (Vec<_>, Vec<_>) = module
            .functions
            .into_iter()
            .filter(|function| !expand.contains(&&function.name))
            .partition(|function| function.name == "sizes");
        // Both modules begin with the same packed buffers, so the kernel's handles mean the same in this one.
        module.functions =
            lowered.kernel.module.functions.iter().cloned().chain(sizes).chain(moves).collect();
        header.steps = steps(lowered, &movement.functions);
        Ok(Library { module, header })
    }

    /// The C header.
    ///
    /// # Errors
    /// A prefix that is no beginning of a C identifier.
    pub fn c_header(&self) -> Result<String, Error> {
        Ok(c_header(&self.module, &self.header)?)
    }

    /// Generates the code. Its exported names begin with the prefix of the header.
    ///
    /// # Errors
    /// Loops that the target cannot take; a failure of its code generator.
    pub fn compile(&self, options: &BuildOptions) -> Result<Artifact, Error> {
        self.compile_under(options, &mut ())
    }

    /// As [`Library::compile`], while an observer looks on the passes.
    ///
    /// # Errors
    /// As [`Library::compile`]; what the observer finds.
    pub fn compile_under(
        &self,
        options: &BuildOptions,
        observer: &mut dyn Observer,
    ) -> Result<Artifact, Error> {
        let code = CodeOptions { prefix: self.header.prefix.clone(), ..options.code() };
        let mut module = self.module.clone();
        options.fit(&mut module, &code, observer)?;
        let interface = Abi::of(&self.module, &code.prefix);
        Ok(options.generate_fitted(&module, interface, &code)?.artifact)
    }
}

/// Makes a shared library of code for this kind of computer.
///
/// # Errors
/// Code that is no object; no linker; a file that cannot be written.
pub fn shared_library(artifact: &Artifact, path: &std::path::Path) -> Result<(), Error> {
    if artifact.code.kind != CodeKind::Object {
        let target = artifact.target.clone();
        return Err(dastac_runtime::Error::NotLoadable { target }.into());
    }
    let openmp = artifact.needs(Needed::OpenMp).then(dastac_runtime::openmp::place).transpose()?;
    Ok(link::shared_library(&artifact.code.bytes, path, openmp.as_deref())?)
}

/// What a caller of the library does, in order: packs inputs, calls each function, tells what was counted, unpacks.
fn steps(lowered: &Lowered, moves: &[(String, String, Option<String>)]) -> Vec<Step> {
    let Computation { stored, results, phases, .. } = &lowered.kernel;
    let program = lowered.program();
    let mut steps = Vec::new();
    let packed = || program.tensors.iter().zip(moves).filter(|(tensor, _)| tensor.format.is_none());
    for (tensor, (pack, _, _)) in packed() {
        if tensor.role == Role::Input {
            steps.push(Step::Call(pack.clone()));
        }
    }
    let of = |preprocess: bool| phases.iter().filter(move |phase| phase.preprocess == preprocess);
    for phase in of(true).chain(of(false)) {
        steps.push(Step::Call(phase.name.clone()));
        let Some(tensor) = phase.counts else { continue };
        let own = stored.iter().find(|one| one.tensor == tensor);
        let structure = results.iter().find(|one| one.tensor == tensor).map(|one| &one.structure);
        if let (Some(Structure::Counted { starts, .. }), Some(own)) = (structure, own) {
            let counts = starts.iter().zip(own.operand.counts());
            steps.extend(
                counts.map(|(starts, (_, parameter))| Step::Count { parameter, starts: *starts }),
            );
        }
    }
    for (tensor, (_, unpack, _)) in packed() {
        if matches!(tensor.role, Role::Output(_)) {
            steps.push(Step::Call(unpack.clone()));
        }
    }
    steps
}

/// What the arrays of a dynamic tensor are.
fn arrays(name: &str, stored: &Stored) -> Vec<(BufferId, String)> {
    let format = &stored.operand.format;
    let what = match stored.converted_for {
        None => name.to_string(),
        Some(_) => format!("{name} in the format {format}"),
    };
    let mut all = Vec::new();
    for (at, level) in stored.operand.levels.iter().enumerate() {
        for (buffer, role) in level.arrays.iter().zip(level.kind.arrays()) {
            let text = match role {
                ArrayRole::Positions => format!(
                    "Level {at} of {what}: where the coordinates below each position begin, then where the last ones \
                    end"
                ),
                ArrayRole::Coordinates => {
                    format!("Coordinates of level {at} of {what}, ascending below each position")
                }
                ArrayRole::Present => {
                    format!("Level {at} of {what}: 1 where a coordinate is stored, else 0")
                }
            };
            all.push((*buffer, text));
        }
    }
    all.push((stored.operand.values, format!("Values of {what}, by position of its last level")));
    all
}

/// What the arrays hold in which results are counted, and what a caller does with them.
fn counting(lowered: &Lowered, prefix: &str) -> (Vec<(BufferId, String)>, String) {
    let Computation { module, stored, results, phases, .. } = &lowered.kernel;
    let program = lowered.program();
    let (mut buffers, mut about) = (Vec::new(), String::new());
    for Assembled { tensor, structure } in results {
        let name = &program.tensor(*tensor).name;
        let own = stored.iter().find(|one| one.tensor == *tensor);
        let counting = phases.iter().find(|phase| phase.counts == Some(*tensor));
        if let (Structure::Counted { starts, .. }, Some(own), Some(phase)) =
            (structure, own, counting)
        {
            let mut sizes = Vec::new();
            for (start, (level, symbol)) in starts.iter().zip(own.operand.counts()) {
                let array = &module.buffers[start.0 as usize].name;
                let parameter = &module.symbols[symbol.0 as usize];
                sizes.push(format!("{parameter} the last element of {array}"));
                let text = format!(
                    "Where the positions of level {level} of {name} begin, and how many there are: its last element \
                    is the parameter {parameter}"
                );
                buffers.push((*start, text));
            }
            about.push_str(&format!(
                "\n{prefix}{} counts {name}: set the parameter {}. Then the arrays of {name}, which the caller \
                 allocates, have the sizes that these parameters say. What is not counted yet is 0.\n",
                phase.name,
                sizes.join(", ")
            ));
        } else if let (Structure::Copied { .. }, Some(own)) = (structure, own) {
            let mut levels = own.operand.buffers();
            levels.pop();
            let names = levels.iter().map(|id| module.buffers[id.0 as usize].name.as_str());
            about.push_str(&format!(
                "\n{name} has the pattern of an operand: its levels are {}.\n",
                names.collect::<Vec<_>>().join(", ")
            ));
        }
    }
    (buffers, about)
}

fn documentation(lowered: &Lowered, title: &str, prefix: &str) -> HeaderOptions {
    let inferred = lowered.inferred();
    let stem = prefix.trim_end_matches('_').to_uppercase();
    let mut header = HeaderOptions {
        prefix: prefix.into(),
        guard: if stem.is_empty() { "DASTAC_H".into() } else { format!("{stem}_H") },
        ..HeaderOptions::default()
    };
    let mut inputs = Vec::new();
    let mut computed = Vec::new();
    let mut names = Vec::new();
    let mut positions = String::new();
    for (id, layout) in inferred.program.tensor_ids().zip(&lowered.laid.layouts) {
        let tensor = inferred.program.tensor(id);
        let name = &tensor.name;
        let (kind, list) = match tensor.role {
            Role::Input => ("input", &mut inputs),
            Role::Output(_) => ("output", &mut computed),
            Role::Intermediate(_) => ("intermediate result", &mut computed),
        };
        list.push(name.as_str());
        names.push(name.as_str());
        let structured = &inferred.tensors[id.0];
        let extents: Vec<String> = structured.extents.iter().map(ToString::to_string).collect();
        let iterators = structured.iterators.join(", ");
        let element = match tensor.element {
            Element::F64 => String::new(),
            element => format!(", {}", element.name()),
        };
        if let Some(storage) = &tensor.format {
            let levels = storage.format.spelled(&structured.iterators);
            let fill = match inferred.program.fill(id) {
                0.0 => String::new(),
                fill => format!("; {fill} where nothing is stored"),
            };
            positions.push_str(&format!(
                "  {name}({iterators}), {kind}{element}, extents ({}): levels {levels}{fill}\n",
                extents.join(", "),
            ));
            continue;
        }
        let position = match tensor.rank {
            0 => format!("  {name}(), {kind}{element}: a scalar\n"),
            _ => format!(
                "  {name}({iterators}), {kind}{element}, extents ({}): at {}\n",
                extents.join(", "),
                text::position(inferred, id, layout)
            ),
        };
        positions.push_str(&position);
        header.buffers.insert(name.clone(), format!("Packed {kind}"));
        let dense = format!("Dense array in C order, extents ({})", extents.join(", "));
        header.buffers.insert(format!("{name}.dense"), dense);
    }
    for (name, value) in inferred.sets.names.all_derived() {
        positions.push_str(&format!("  where {name} = {value}\n"));
    }
    let module = &lowered.kernel.module;
    for stored in &lowered.kernel.stored {
        for (buffer, text) in arrays(&inferred.program.tensor(stored.tensor).name, stored) {
            header.buffers.insert(module.buffers[buffer.0 as usize].name.clone(), text);
        }
    }
    let phases = &lowered.kernel.phases;
    let of = |preprocess: bool| phases.iter().filter(move |phase| phase.preprocess == preprocess);
    let calls = of(true).chain(of(false)).map(|phase| format!("{prefix}{}", phase.name));
    let calls = calls.collect::<Vec<_>>().join(", ");
    let (counted, about) = counting(lowered, prefix);
    for (buffer, text) in counted {
        header.buffers.insert(module.buffers[buffer.0 as usize].name.clone(), text);
    }
    positions.push_str(&about);
    header.doc = format!(
        "{title}, compiled by dastac {}.\n\n\
         Every tensor has a packed buffer, which holds its unique elements only. Call {prefix}sizes for \
         the sizes, {prefix}pack_T for the inputs, {calls}, and {prefix}unpack_T for the results. Parameters must not \
         be negative, and \
         so small that every position fits 64 bits (`dastac layout` checks it for given sizes).\n\n\
         Tensors, and where the element with these \
         subscripts is in the packed buffer:\n{positions}\n",
        env!("CARGO_PKG_VERSION")
    );
    let or_nothing = |names: &[&str]| match names {
        [] => "nothing".to_string(),
        names => names.join(", "),
    };
    let from = or_nothing(&inputs);
    let prepared: Vec<&str> = inferred
        .program
        .rules
        .iter()
        .filter(|rule| rule.preprocess)
        .map(|rule| inferred.program.tensor(rule.head).name.as_str())
        .collect();
    computed.retain(|name| !prepared.contains(name));
    let mut kernel =
        format!("Computes {} from {from}. All buffers are packed.", or_nothing(&computed));
    if !prepared.is_empty() {
        let prepared = prepared.join(", ");
        kernel = format!(
            "Computes {} from the inputs and {prepared}. All buffers are packed.",
            or_nothing(&computed)
        );
        let prepare = format!(
            "Computes {prepared}, the heads of preprocess rules, from the inputs. Call it before {prefix}kernel, and \
             again when \
             an input that it takes has changed. All buffers are packed."
        );
        header.functions.insert(PREPARE.into(), prepare);
    }
    header.functions.insert(KERNEL.into(), kernel);
    for phase in phases.iter().filter(|phase| ![KERNEL, PREPARE].contains(&&phase.name[..])) {
        let text = match phase.counts {
            Some(id) => format!(
                "Counts what {} will hold; computes what comes before it in the program.",
                inferred.program.tensor(id).name
            ),
            None => "Computes what later functions walk: call it before them.".into(),
        };
        header.functions.insert(phase.name.clone(), text);
    }
    let sizes = format!(
        "Tells how many elements each packed buffer has, in this order: {}.",
        names.join(", ")
    );
    header.functions.insert("sizes".into(), sizes);
    header
}
