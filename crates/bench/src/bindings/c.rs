//! Loops as C, through a C compiler: what to compare generated code with.
//!
//! [`source`] prints a module as it stands, loop for loop; [`Compiler`] makes a library of that, which [`Code`] calls
//! in this process, as it does compiled modules. Outermost parallel loops become OpenMP loops
//! with a static schedule if they are asked for.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use crate::Error;
use dastac_loops::abi::Abi;
use dastac_loops::*;
use dastac_runtime::{Code, openmp};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

/// The environment variable that names the C compiler for comparisons.
pub const VARIABLE: &str = "DASTAC_CLANG";

/// Compilers that are tried after [`VARIABLE`], in this order: Clang of the LLVM version that generates code here, any
/// other Clang, and the system's compiler.
const COMPILERS: &[&str] = &[
    "clang-22",
    "/usr/lib/llvm-22/bin/clang",
    "clang",
    "clang-21",
    "clang-20",
    "clang-19",
    "clang-18",
    "clang-17",
    "clang-16",
    "clang-15",
    "clang-14",
    "gcc",
    "cc",
];

/// The paper's flags for C.
const FLAGS: &[&str] = &[
    "-std=gnu11",
    "-O3",
    "-ffast-math",
    "-ftree-vectorize",
    "-march=native",
    "-mtune=native",
    "-fPIC",
    "-w",
];

const HEAD: &str = "\
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
static inline void *workspace(int64_t count, size_t bytes) {
  void *memory = calloc(count > 0 ? count : 1, bytes);
  if (!memory) abort();
  return memory;
}
#define absolute(x) ((x) < 0 ? -(x) : (x))
#define signum(x) (((x) > 0) - ((x) < 0))
static inline double smaller(double a, double b) { return a < b || a != a ? a : b; }
static inline double larger(double a, double b) { return a > b || a != a ? a : b; }
static inline int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
static inline int64_t floor_mod(int64_t a, int64_t b) { int64_t r = a % b; return r < 0 ? r + b : r; }
static inline int64_t integer_floor_divide(int64_t a, int64_t b) {
  return b == 0 ? 0 : b == -1 ? -a : a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}
static inline int64_t integer_mod(int64_t a, int64_t b) {
  return b == 0 || b == -1 ? 0 : a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0);
}
static inline double float_mod(double a, double b) {
  double r = fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static inline double float_floor_divide(double a, double b) {
  return b == 0 ? a / b : rint((a - float_mod(a, b)) / b);
}
static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t greatest(int64_t a, int64_t b) { return a > b ? a : b; }
";

/// The module as C: function `f` as `f__packed`, which takes the symbols and the addresses of its buffers. With
/// `openmp`, parallel loops are shared out among threads.
pub fn source(module: &Module, openmp: bool) -> String {
    let mut text = HEAD.to_string();
    for function in &module.functions {
        let mut printer = Printer {
            workspaces: BTreeMap::new(),
            module,
            function,
            out: String::new(),
            depth: 1,
            openmp,
            sums: 0,
        };
        printer.function();
        text += &printer.out;
    }
    text
}

struct Printer<'a> {
    /// The names of the workspaces that are in scope.
    workspaces: BTreeMap<BufferId, BufferId>,
    module: &'a Module,
    function: &'a Function,
    out: String,
    depth: usize,
    /// Whether this is outside of all parallel loops that become loops of OpenMP.
    openmp: bool,
    sums: usize,
}

fn type_of(element: Element) -> &'static str {
    match element {
        Element::F64 => "double",
        Element::F32 => "float",
        Element::I64 => "int64_t",
        Element::U32 => "uint32_t",
        Element::I32 => "int32_t",
        Element::Bool => "_Bool",
        Element::F16 => "_Float16",
        Element::C128 => "double _Complex",
        Element::C64 => "float _Complex",
        Element::Bf16 => "__bf16",
        Element::I16 => "int16_t",
        Element::I8 => "int8_t",
        Element::U8 => "uint8_t",
        Element::U16 => "uint16_t",
    }
}

/// What stands behind the name of a function of the C library.
fn suffix(element: Element) -> &'static str {
    if element == Element::F32 { "f" } else { "" }
}

/// The function for the smaller or larger one of two.
fn extremum(smaller: bool, integers: bool) -> &'static str {
    match (smaller, integers) {
        (true, true) => "least",
        (false, true) => "greatest",
        (true, false) => "smaller",
        (false, false) => "larger",
    }
}

/// A C identifier that ends in a number, so that it is no keyword and none is used twice.
fn identifier(name: &str, number: u32) -> String {
    let letters = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    format!("{}_{number}", letters.collect::<String>())
}

impl Printer<'_> {
    fn symbol(&self, id: SymbolId) -> String {
        identifier(&self.module.symbols[id.0 as usize], id.0)
    }

    fn buffer(&self, id: BufferId) -> String {
        let id = self.workspaces.get(&id).copied().unwrap_or(id);
        format!("b_{}", identifier(&self.module.buffers[id.0 as usize].name, id.0))
    }

    fn var(&self, id: VarId) -> String {
        let name = self.function.vars.get(id.0 as usize).map_or("v", String::as_str);
        format!("i_{}", identifier(name, id.0))
    }

    fn line(&mut self, text: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.out, "{:1$}{text}", "", self.depth * 2);
    }

    fn function(&mut self) {
        let symbols = 0..self.module.symbols.len() as u32;
        let mut parameters: Vec<String> =
            symbols.clone().map(|s| format!("int64_t {}", self.symbol(SymbolId(s)))).collect();
        let mut arguments: Vec<String> = symbols.map(|s| format!("p[{s}]")).collect();
        for (position, (id, mode)) in self.function.args.iter().enumerate() {
            let element = type_of(self.module.buffers[id.0 as usize].element);
            let constant = if *mode == Mode::In { "const " } else { "" };
            parameters.push(format!("{constant}{element} *restrict {}", self.buffer(*id)));
            arguments.push(format!("({constant}{element} *)b[{position}]"));
        }
        let name = &self.function.name;
        let _ = writeln!(self.out, "static void {name}_({}) {{", parameters.join(", "));
        self.block(&self.function.body);
        let _ = writeln!(
            self.out,
            "}}\nvoid {name}__packed(const int64_t *p, void *const *b) {{ {name}_({}); }}",
            arguments.join(", ")
        );
    }

    fn block(&mut self, body: &[Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::For(inner) => self.for_loop(inner),
                Stmt::If(inner) => {
                    let condition = self.condition(&inner.condition);
                    self.line(&format!("if ({condition}) {{"));
                    self.inside(&inner.then);
                    if !inner.otherwise.is_empty() {
                        self.line("} else {");
                        self.inside(&inner.otherwise);
                    }
                    self.line("}");
                }
                // All in one part.
                Stmt::Partitioned(partitioned) => {
                    let begin = self.bound(&partitioned.lower, "greatest");
                    let end = self.bound(&partitioned.upper, "least");
                    let (first, last) = (self.var(partitioned.begin), self.var(partitioned.end));
                    self.line(&format!("{{ const int64_t {first} = {begin}, {last} = {end};"));
                    self.inside(&partitioned.body);
                    self.line("}");
                }
                Stmt::While(inner) => {
                    self.line("{");
                    for (var, start) in &inner.vars {
                        let (var, start) = (self.var(*var), self.index(start));
                        self.line(&format!("int64_t {var} = {start};"));
                    }
                    let condition = self.condition(&inner.condition);
                    self.line(&format!("while ({condition}) {{"));
                    self.inside(&inner.body);
                    for ((var, _), next) in inner.vars.iter().zip(&inner.next) {
                        let (var, next) = (self.var(*var), self.index(next));
                        self.line(&format!("const int64_t next_{var} = {next};"));
                    }
                    for (var, _) in &inner.vars {
                        let var = self.var(*var);
                        self.line(&format!("{var} = next_{var};"));
                    }
                    self.line("}");
                    self.inside(&inner.after);
                    self.line("}");
                }
                // Lowered before; what is left is not compiled.
                Stmt::CoIter(_) => self.line("#error a walk over coordinates is left"),
                Stmt::Append(_) => self.line("#error a level to be assembled is left"),
                // Made for machine code, which this text is compared with.
                Stmt::Team(_) | Stmt::Call(_) => self.line("#error a call is left"),
                // Made after what is written here.
                Stmt::Register(_) => self.line("#error register code"),
                Stmt::Workspace(inner) => {
                    let element = type_of(self.module.buffers[inner.buffer.0 as usize].element);
                    let (name, size) = (self.buffer(inner.buffer), self.index(&inner.size));
                    let own = format!("workspace({size}, sizeof({element}))");
                    let (memory, keeps) = match &inner.instead {
                        None => (own, String::new()),
                        Some((other, condition)) => {
                            let (other, condition) =
                                (self.buffer(*other), self.condition(condition));
                            let memory = format!("{condition} ? ({element} *){other} : {own}");
                            (memory, format!("if (!({condition})) "))
                        }
                    };
                    self.line(&format!("{{ {element} *restrict {name} = {memory};"));
                    self.inside(&inner.body);
                    self.line(&format!("{keeps}free({name}); }}"));
                }
                Stmt::Let(inner) => {
                    let (var, buffer) = (self.var(inner.var), self.buffer(inner.buffer));
                    let index = self.index(&inner.index);
                    self.line(&format!("{{ const int64_t {var} = (int64_t){buffer}[{index}];"));
                    self.inside(&inner.body);
                    self.line("}");
                }
                Stmt::Scan(inner) => {
                    let (lower, upper) = (self.index(&inner.lower), self.index(&inner.upper));
                    let (var, buffer) = (self.var(inner.var), self.buffer(inner.buffer));
                    self.line(&format!(
                        "for (int64_t {var} = {lower}; {var} < {upper}; {var}++) {{"
                    ));
                    self.line(&format!("if (!{buffer}[{var}]) continue;"));
                    self.line(&format!("{buffer}[{var}] = 0;"));
                    self.inside(&inner.body);
                    self.line("}");
                }
                // One part, in the buffer itself.
                Stmt::Partial(partial) => {
                    let begin = self.bound(&partial.lower, "greatest");
                    let end = self.bound(&partial.upper, "least");
                    let [first, last, shift] =
                        [partial.begin, partial.end, partial.shift].map(|var| self.var(var));
                    self.line(&format!(
                        "{{ const int64_t {first} = {begin}, {last} = greatest({first}, {end}), {shift} = 0;"
                    ));
                    self.workspaces.insert(partial.workspace, partial.buffer);
                    self.inside(&partial.body);
                    self.line("}");
                }
                Stmt::Store(store) => {
                    let element = self.module.buffers[store.buffer.0 as usize].element;
                    let computed = self.module.computed_in(&store.value, element);
                    let value = self.value(&store.value, computed);
                    let (buffer, index) = (self.buffer(store.buffer), self.index(&store.index));
                    let place = format!("{buffer}[{index}]");
                    self.line(&match store.mode {
                        StoreMode::Set => format!("{place} = {value};"),
                        StoreMode::Add | StoreMode::Multiply => {
                            let sign = if store.mode == StoreMode::Add { "+" } else { "*" };
                            let joined = operation(sign, &place, &value, computed);
                            format!("{place} = {joined};")
                        }
                        mode => {
                            let name = extremum(mode == StoreMode::Min, computed.is_integer());
                            format!("{place} = {name}({place}, {value});")
                        }
                    });
                }
            }
        }
    }

    fn inside(&mut self, body: &[Stmt]) {
        self.depth += 1;
        self.block(body);
        self.depth -= 1;
    }

    fn for_loop(&mut self, inner: &For) {
        let outermost = self.openmp && inner.mark.is_parallel();
        if outermost {
            self.line("#pragma omp parallel for schedule(static)");
        }
        let head = self.range(inner.var, &inner.lower, &inner.upper, inner.step);
        self.line(&format!("{head} {{"));
        let before = self.openmp;
        self.openmp = before && !outermost;
        self.inside(&inner.body);
        self.openmp = before;
        self.line("}");
    }

    fn bound(&self, bounds: &[Index], call: &str) -> String {
        let texts = bounds.iter().map(|bound| self.index(bound));
        texts.reduce(|all, one| format!("{call}({all}, {one})")).unwrap_or_else(|| "0".into())
    }

    fn range(&self, var: VarId, lower: &[Index], upper: &[Index], step: i64) -> String {
        let (lower, upper) = (self.bound(lower, "greatest"), self.bound(upper, "least"));
        let var = self.var(var);
        format!("for (int64_t {var} = {lower}; {var} < {upper}; {var} += {step})")
    }

    fn index(&self, index: &Index) -> String {
        let two = |operator: &str, left: &Index, right: &Index| {
            format!("({} {operator} {})", self.index(left), self.index(right))
        };
        let call = |name: &str, left: &Index, right: &Index| {
            format!("{name}({}, {})", self.index(left), self.index(right))
        };
        match index {
            Index::Const(value) => format!("INT64_C({value})"),
            Index::Symbol(symbol) => self.symbol(*symbol),
            Index::Var(var) => self.var(*var),
            Index::Add(left, right) => two("+", left, right),
            Index::Sub(left, right) => two("-", left, right),
            Index::Mul(left, right) => two("*", left, right),
            Index::FloorDiv(value, by) => format!("floor_div({}, {by})", self.index(value)),
            Index::Mod(value, by) => format!("floor_mod({}, {by})", self.index(value)),
            Index::Quotient(left, right) => call("floor_div", left, right),
            Index::ExactDiv(value, by) => format!("({} / {by})", self.index(value)),
            Index::Load(buffer, index) => {
                format!("(int64_t){}[{}]", self.buffer(*buffer), self.index(index))
            }
            Index::Within(inner) => self.index(&inner.index),
            Index::Min(left, right) => call("least", left, right),
            Index::Max(left, right) => call("greatest", left, right),
            Index::Select(condition, then, otherwise) => format!(
                "({} ? {} : {})",
                self.condition(condition),
                self.index(then),
                self.index(otherwise)
            ),
        }
    }

    fn condition(&self, condition: &Condition) -> String {
        let join = |list: &[Condition], operator: &str, empty: &str| {
            let texts: Vec<String> = list.iter().map(|item| self.condition(item)).collect();
            match texts.is_empty() {
                true => empty.to_string(),
                false => format!("({})", texts.join(operator)),
            }
        };
        match condition {
            Condition::Compare(op, left, right) => {
                let operator = op.sign();
                format!("{} {operator} {}", self.index(left), self.index(right))
            }
            Condition::And(list) => join(list, " && ", "1"),
            Condition::Or(list) => join(list, " || ", "0"),
        }
    }

    fn value(&mut self, value: &Value, element: Element) -> String {
        let kind = type_of(element);
        match value {
            Value::Const(value) if value.is_nan() => format!("({kind})__builtin_nan(\"\")"),
            Value::Const(value) if value.is_infinite() && element.is_integer() => {
                if *value < 0.0 { "INT64_MIN" } else { "INT64_MAX" }.to_owned()
            }
            Value::Const(value) if value.is_infinite() => {
                let sign = if *value < 0.0 { "-" } else { "" };
                format!("({kind})({sign}__builtin_inf())")
            }
            Value::Const(value) if element.is_integer() => format!("INT64_C({})", *value as i64),
            Value::Const(value) => format!("({kind}){value:?}"),
            Value::Load(buffer, index) => {
                format!("({kind}){}[{}]", self.buffer(*buffer), self.index(index))
            }
            Value::FromIndex(index) => format!("({kind}){}", self.index(index)),
            Value::Add(left, right) => self.operation("+", left, right, element),
            Value::Mul(left, right) => self.operation("*", left, right, element),
            Value::Div(left, right) => self.operation("/", left, right, element),
            Value::Min(left, right) | Value::Max(left, right) => {
                let name = extremum(matches!(value, Value::Min(..)), element.is_integer());
                format!("{name}({}, {})", self.value(left, element), self.value(right, element))
            }
            Value::Truth(inside) => {
                format!("({kind})({} != 0)", self.value(inside, element))
            }
            Value::Apply(function, of) => {
                let of: Vec<String> = of.iter().map(|one| self.value(one, element)).collect();
                let of = of.join(", ");
                match function {
                    MathFunction::Abs => format!("absolute({of})"),
                    MathFunction::Sign => format!("({kind})signum({of})"),
                    _ if function.is_quotient() => {
                        let own = if element.is_integer() { "integer" } else { "float" };
                        format!("({kind}){own}_{function}({of})")
                    }
                    _ if element.is_integer() => of,
                    MathFunction::Round => format!("({kind})rint({of})"),
                    _ => format!("({kind}){function}{}({of})", suffix(element)),
                }
            }
            Value::Select(parts) => {
                let own = self.module.own_type(&[&parts[0]]);
                let condition = self.value(&parts[0], own);
                let [then, otherwise] = [1, 2].map(|at| self.value(&parts[at], element));
                format!("({condition} != 0 ? {then} : {otherwise})")
            }
            Value::Compare(how, left, right) => {
                let own = self.module.own_type(&[left, right]);
                let (left, right) = (self.value(left, own), self.value(right, own));
                format!("({kind})({left} {} {right})", how.sign())
            }
            Value::Cast(to, inside) => {
                let own = self.module.own_type(&[inside]);
                let value = self.value(inside, own);
                match to {
                    Element::Bool => format!("({kind})({value} != 0)"),
                    to if to.is_integer() => {
                        format!("({kind})({})(int64_t){value}", type_of(*to))
                    }
                    to => format!("({kind})({}){value}", type_of(*to)),
                }
            }
            Value::Sum(sum) => {
                let total = format!("sum_{}", self.sums);
                self.sums += 1;
                let head = self.range(sum.var, &sum.lower, &sum.upper, sum.step);
                let condition = sum.condition.as_ref().map(|c| self.condition(c));
                let guard = condition.map_or(String::new(), |c| format!("if ({c}) "));
                let body = self.value(&sum.body, element);
                let (start, join) = match sum.kind {
                    Reduction::Sum => {
                        let sum = operation("+", &total, &body, element);
                        ("0".to_owned(), format!("{total} = {sum}"))
                    }
                    Reduction::Product => {
                        let product = operation("*", &total, &body, element);
                        ("1".to_owned(), format!("{total} = {product}"))
                    }
                    kind => {
                        let name = extremum(kind == Reduction::Min, element.is_integer());
                        let start = self.value(&Value::Const(kind.neutral()), element);
                        (start, format!("{total} = {name}({total}, {body})"))
                    }
                };
                format!("({{ {kind} {total} = {start}; {head} {guard}{join}; {total}; }})")
            }
        }
    }

    fn operation(&mut self, operator: &str, left: &Value, right: &Value, kind: Element) -> String {
        operation(operator, &self.value(left, kind), &self.value(right, kind), kind)
    }
}

/// Two numbers joined. Integers wrap around: C says so of those without a sign.
fn operation(operator: &str, left: &str, right: &str, kind: Element) -> String {
    match kind.is_integer() {
        true => format!("((int64_t)((uint64_t){left} {operator} (uint64_t){right}))"),
        false => format!("({left} {operator} {right})"),
    }
}

/// A C compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// Its name or path.
    pub program: String,
    /// The first line of what it says of its version.
    pub version: String,
}

impl Compiler {
    /// The first that there is: what [`VARIABLE`] names, Clang of this LLVM's version, another Clang, GCC.
    pub fn find() -> Option<Compiler> {
        let named = std::env::var(VARIABLE).ok().filter(|name| !name.is_empty());
        let candidates = match &named {
            Some(name) => vec![name.as_str()],
            None => COMPILERS.to_vec(),
        };
        candidates.into_iter().find_map(Compiler::of)
    }

    fn of(program: &str) -> Option<Compiler> {
        let output = Command::new(program)
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .ok()
            .filter(|output| output.status.success())?;
        let text = String::from_utf8_lossy(&output.stdout);
        Some(Compiler { program: program.into(), version: text.lines().next()?.trim().into() })
    }

    /// The flags that it is given.
    pub fn flags() -> String {
        FLAGS[1..6].join(" ")
    }

    /// Compiles `module` in `folder`, under `name`, and loads it. The C text stays there.
    ///
    /// # Errors
    /// A compiler that fails, a file that cannot be written, a library that cannot be loaded; for threads, OpenMP's
    /// library not being there.
    pub fn load(
        &self,
        module: &Module,
        openmp: bool,
        folder: &Path,
        name: &str,
    ) -> Result<Code, Error> {
        // The loops rely on these invariants as generated code does.
        verify(module).map_err(|errors| {
            let list: Vec<_> = errors.iter().map(ToString::to_string).collect();
            Error::Invalid(list.join("; "))
        })?;
        let library = self.compile(&source(module, openmp), openmp, folder, name)?;
        open(module, &library, openmp)
    }

    /// A library of files that hold the packed entries of `module`'s functions, trusted as a library is; loaded.
    pub(crate) fn load_files(
        &self,
        module: &Module,
        sources: &[PathBuf],
        library: &Path,
    ) -> Result<Code, Error> {
        self.run(
            Command::new(&self.program)
                .args(FLAGS)
                .args(["-shared", "-o"])
                .arg(library)
                .args(sources)
                .arg("-lm"),
            library,
        )?;
        open(module, library, false)
    }

    /// Compiles a text that is trusted as a library's is, and loads it.
    pub(crate) fn library(
        &self,
        text: &str,
        openmp: bool,
        folder: &Path,
        name: &str,
    ) -> Result<Library, Error> {
        if openmp {
            let path = folder.to_owned();
            openmp::load().map_err(|error| Error::Library { path, message: error.to_string() })?;
        }
        let path = self.compile(text, openmp, folder, name)?;
        // SAFETY: generated C has no initialisers.
        let loaded = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL) };
        let _ = fs::remove_file(&path);
        loaded.map_err(|error| Error::Library { path, message: error.to_string() })
    }

    fn compile(
        &self,
        text: &str,
        openmp: bool,
        folder: &Path,
        name: &str,
    ) -> Result<PathBuf, Error> {
        let file = |extension: &str| folder.join(format!("{name}.{extension}"));
        let (source, object, library) = (file("c"), file("o"), file("so"));
        let cannot = |path: &Path| {
            let path = path.to_owned();
            move |source: io::Error| Error::Write { path, source }
        };
        fs::create_dir_all(folder).map_err(cannot(folder))?;
        fs::write(&source, text).map_err(cannot(&source))?;
        let threads: &[&str] = if openmp { &["-fopenmp"] } else { &[] };
        self.run(
            Command::new(&self.program)
                .args(FLAGS)
                .args(threads)
                .args(["-c", "-o"])
                .args([&object, &source]),
            &library,
        )?;
        // Without OpenMP's library: the one that this process has loaded is to be used.
        let linked = self.run(
            Command::new(&self.program)
                .args(["-shared", "-o"])
                .args([&library, &object])
                .arg("-lm"),
            &library,
        );
        let _ = fs::remove_file(&object);
        linked.map(|()| library)
    }

    /// A step towards `library`.
    fn run(&self, command: &mut Command, library: &Path) -> Result<(), Error> {
        let output = command
            .stdin(Stdio::null())
            .output()
            .map_err(|source| Error::CompilerMissing { program: self.program.clone(), source })?;
        match output.status.success() {
            true => Ok(()),
            false => Err(Error::Tool {
                program: self.program.clone(),
                path: library.to_owned(),
                message: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            }),
        }
    }
}

/// Loads a library that was just made of a module, and removes its file.
fn open(module: &Module, library: &Path, openmp: bool) -> Result<Code, Error> {
    let loaded = Code::open(Abi::of(module, ""), library, openmp);
    // Loaded or not, the file is not needed any more.
    let _ = fs::remove_file(library);
    let path = library.to_owned();
    loaded.map_err(|error| Error::Library { path, message: error.to_string() })
}
