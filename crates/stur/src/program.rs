//! A checked program: names resolved, products distributed, rules in dependency order.
//!
//! Invariants: every [`TensorId`] and symbol index is in range; ranks agree; no rule reads a tensor that a later rule
//! computes; every name in an [`Expr`] is a symbol of the program or an iterator of the product (or structure) that
//! holds it; an iterator never has a symbol's name; numbers are finite.

use std::collections::BTreeSet;

use crate::affine::{bounded_names, is_affine, names};
use crate::ast::{CompareOp, Comparison, Expr, Operation, Span};
use crate::bounds::bounded;
use crate::coefficient::Coefficient;
use crate::schedule::Schedule;
use crate::semiring::Semiring;
use crate::sets::Affine;
use dastac_formats::Format;
use dastac_formats::format::Hybrid;

pub use dastac_elements::Element;

/// Index into [`Program::tensors`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TensorId(pub usize);

/// Index into [`Program::rules`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub usize);

/// A checked program.
#[derive(Clone, Debug)]
pub struct Program {
    /// The source text (for messages).
    pub source: String,
    /// Symbols with where they are declared, in declaration order.
    pub symbols: Vec<(String, Span)>,
    /// The symbols that are used nowhere: nothing depends on their values.
    pub unused_symbols: Vec<String>,
    /// All tensors (scalars too, rank 0) in order of first appearance in value rules; symbols are not among them.
    pub tensors: Vec<Tensor>,
    /// Value rules in an order in which each reads only what is before it (stable: source order where possible).
    pub rules: Vec<Rule>,
    /// Non-affine expressions of symbols that inference turned into parameters. A program that was only checked has
    /// none.
    pub derived: Vec<Derived>,
    /// The divisors that are not numbers: expressions of symbols that must be positive when the kernel runs. Inference
    /// adds them.
    pub divisors: Vec<Expr>,
}

/// A parameter that follows from the symbols.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    /// Its name, which is the text of its value: `M*N`.
    pub name: String,
    /// Its value, in symbols alone.
    pub value: Expr,
    /// Whether it is known not to be negative.
    pub nonnegative: bool,
}

/// `iterator = value` in a product: the iterator is computed, not a loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// The iterator.
    pub iterator: String,
    /// Its value, over symbols, iterators that are loops, and iterators that are defined before.
    pub value: Expr,
}

/// A comparison that is not affine: tested at every point.
#[derive(Clone, Debug, PartialEq)]
pub struct Guard {
    /// Left side, of iterators and symbols.
    pub left: Expr,
    /// The operator.
    pub operator: CompareOp,
    /// Right side.
    pub right: Expr,
}

/// Where a tensor's values come from, and who sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Given by the caller.
    Input,
    /// Computed by a rule and given to the caller.
    Output(RuleId),
    /// Computed by a rule and only read by others: a head that `outputs:` does not list or, without `outputs:`, a head
    /// in a preprocess block.
    Intermediate(RuleId),
}

/// A tensor.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// Number of subscripts; 0 for a scalar.
    pub rank: usize,
    /// Where its values come from.
    pub role: Role,
    /// First appearance.
    pub span: Span,
    /// `:D`, if given.
    pub domain: Option<Structure>,
    /// `:U`, if given.
    pub unique: Option<Structure>,
    /// `:R`, if given; twice `rank` iterators.
    pub redundancy: Option<Structure>,
    /// `:F`, if given. The tensor is *dynamic* then: which of its elements are stored is known only when it is read.
    pub format: Option<Stored>,
    /// The choices of `layout:` about its packed buffer, if there are any.
    pub layout: Option<LayoutChoice>,
    /// The type of its elements.
    pub element: Element,
}

/// The `:F` of a tensor, whose stored elements are known only when it is read. Such a tensor has neither `:U` nor `:R`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Level by level; of a tensor in parts, how the whole of it is kept beside them.
    pub format: Format,
    /// The parts that it is stored in, if its format is hybrid.
    pub hybrid: Option<Hybrid>,
    /// Where it is said.
    pub span: Span,
}

/// The `layout:` of a packed buffer. At least one of the parts is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutChoice {
    /// `order(..)`: all positions, each once, the one that varies slowest in the buffer first.
    pub order: Option<Vec<usize>>,
    /// `align(n)`: rows begin at multiples of `n` elements; a power of two, 1 to 512.
    pub align: Option<u32>,
    /// Where `align(..)` stands, or else `order(..)`.
    pub span: Span,
}

/// A `:D`, `:U` or `:R` rule: a union of regions.
#[derive(Clone, Debug)]
pub struct Structure {
    /// The head's iterators: `rank` of them (twice for a redundancy map: sources, then targets).
    pub iterators: Vec<String>,
    /// The regions.
    pub regions: Vec<Region>,
    /// The whole rule.
    pub span: Span,
}

/// One product of a `:D`, `:U` or `:R` rule: a conjunction of comparisons.
#[derive(Clone, Debug)]
pub struct Region {
    /// The product of its numbers and symbols: 1 in `:D` and `:U`, the coefficient of the redundancy in `:R`. A
    /// coefficient of zero is an error.
    pub coefficient: Coefficient,
    /// Iterators that are not in the head (existentially quantified), in order of appearance.
    pub locals: Vec<String>,
    /// Comparisons, all of which must hold.
    pub comparisons: Vec<Comparison>,
    /// Where it is written.
    pub span: Span,
}

/// A value rule `head(iterators) := sum of products`.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The tensor that it computes.
    pub head: TensorId,
    /// The head's iterators, distinct.
    pub iterators: Vec<String>,
    /// Iterators listed for the head in `iters:`, outermost first; empty if none.
    pub order: Vec<String>,
    /// What `schedule:` says about its loops.
    pub schedule: Schedule,
    /// The semiring, which says how products are added and factors joined.
    pub semiring: Semiring,
    /// The products that are added. There is only one if the rule is not a sum.
    pub products: Vec<Product>,
    /// If the head has a format, and functions of what operands do not store make its other elements the same number
    /// everywhere, this number: `Y(i, j) := exp(A(i, j))` is 1 where it stores nothing.
    pub fill: Option<f64>,
    /// Whether it is between `@preprocess_start` and `@preprocess_end`.
    pub preprocess: bool,
    /// The whole rule.
    pub span: Span,
}

/// One product of a rule.
#[derive(Clone, Debug)]
pub struct Product {
    /// The product of its numbers (after taking reciprocals), joined as the rule's semiring says.
    pub coefficient: f64,
    /// All its iterators in loop order: those of [`Rule::order`] first, then the head's, then by appearance. An
    /// iterator of `order` that occurs nowhere in this product and not in the head is left out.
    pub iterators: Vec<String>,
    /// Tensor and scalar accesses, in order.
    pub accesses: Vec<Access>,
    /// Symbols used as scalar factors: `N()`, `N^-1()`.
    pub symbols: Vec<SymbolFactor>,
    /// Functions of elements as factors: `exp(A(i))`.
    pub functions: Vec<Applied>,
    /// Comparisons, all of which must hold.
    pub comparisons: Vec<Comparison>,
    /// Computed iterators, each after those that it reads. Inference moves them here from `comparisons`.
    pub definitions: Vec<Definition>,
    /// Guards, all of which must hold too. Inference moves them here from `comparisons`.
    pub guards: Vec<Guard>,
    /// Where it is written.
    pub span: Span,
}

/// A symbol as a factor.
#[derive(Clone, Debug)]
pub struct SymbolFactor {
    /// Index into [`Program::symbols`].
    pub symbol: usize,
    /// `N^-1()`.
    pub reciprocal: bool,
    /// Where it is written.
    pub span: Span,
}

/// A tensor access as a factor.
#[derive(Clone, Debug)]
pub struct Access {
    /// The tensor.
    pub tensor: TensorId,
    /// One expression a position (an iterator in the published dialect).
    pub subscripts: Vec<Expr>,
    /// `T^-1(..)`.
    pub reciprocal: bool,
    /// The iterator that is the position of the element among the stored values of its tensor: `k` in
    /// `(k = pos(T(i, j)))`. The factor is one then.
    pub position: Option<String>,
    /// Whether it is not a factor, but an argument of one of the product's functions.
    pub argument: bool,
    /// Where it is written.
    pub span: Span,
}

/// A value that is computed from elements, as a factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The value.
    pub value: Scalar,
    /// Whether the product is divided by it.
    pub reciprocal: bool,
    /// Where it is written.
    pub span: Span,
}

/// A scalar expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// A number.
    Number(f64),
    /// A symbol: an index into [`Program::symbols`].
    Symbol(usize),
    /// The value of an iterator.
    Index(String),
    /// An element: an index into [`Product::accesses`].
    Element(usize),
    /// 1 where a comparison of integers holds, else 0.
    Holds(Comparison),
    /// A sum.
    Sum(Vec<Scalar>),
    /// A product.
    Product(Vec<Scalar>),
    /// An operation on as many values as it takes.
    Apply(Operation, Vec<Scalar>),
}

impl Scalar {
    /// Its parts.
    pub fn parts(&self) -> &[Scalar] {
        match self {
            Scalar::Sum(parts) | Scalar::Product(parts) | Scalar::Apply(_, parts) => parts,
            _ => &[],
        }
    }

    /// Calls `visit` with it and all that it is made of.
    pub fn visit<'s>(&'s self, visit: &mut dyn FnMut(&'s Scalar)) {
        visit(self);
        self.parts().iter().for_each(|part| part.visit(visit));
    }

    /// Whether it depends on values of iterators other than through elements.
    pub fn has_iterators(&self) -> bool {
        let mut found = false;
        self.visit(&mut |part| found |= matches!(part, Scalar::Index(_)));
        found
    }

    /// With other parts in place of leaves.
    pub fn map(&self, leaf: &mut dyn FnMut(&Scalar) -> Scalar) -> Scalar {
        let mut all = |parts: &[Scalar]| parts.iter().map(|part| part.map(leaf)).collect();
        match self {
            Scalar::Sum(parts) => Scalar::Sum(all(parts)),
            Scalar::Product(parts) => Scalar::Product(all(parts)),
            Scalar::Apply(operation, parts) => Scalar::Apply(*operation, all(parts)),
            other => leaf(other),
        }
    }
}

impl Program {
    /// Tells each computed tensor its rule, after rules were added or moved. Inputs that have one are intermediates.
    pub(crate) fn number_rules(&mut self) {
        for (index, rule) in self.rules.iter().enumerate() {
            let role = &mut self.tensors[rule.head.0].role;
            *role = match role {
                Role::Output(_) => Role::Output(RuleId(index)),
                Role::Input | Role::Intermediate(_) => Role::Intermediate(RuleId(index)),
            };
        }
    }

    /// The tensor.
    pub fn tensor(&self, id: TensorId) -> &Tensor {
        &self.tensors[id.0]
    }

    /// All tensor handles in order.
    pub fn tensor_ids(&self) -> impl Iterator<Item = TensorId> + use<> {
        (0..self.tensors.len()).map(TensorId)
    }

    /// The place that says which elements a tensor has: its rule, its `:U`, its `:D`, or else its first appearance.
    pub fn described_at(&self, id: TensorId) -> Span {
        let tensor = self.tensor(id);
        let structure = tensor.unique.as_ref().or(tensor.domain.as_ref());
        match (tensor.rule(), structure) {
            (Some(rule), _) => self.rules[rule.0].span,
            (None, Some(structure)) => structure.span,
            (None, None) => tensor.span,
        }
    }

    /// The place that says how large a tensor is: its `:D`, its `:U`, its rule, or else its first appearance.
    pub fn declared_at(&self, id: TensorId) -> Span {
        let tensor = self.tensor(id);
        let structure = tensor.domain.as_ref().or(tensor.unique.as_ref());
        match (structure, tensor.rule()) {
            (Some(structure), _) => structure.span,
            (None, Some(rule)) => self.rules[rule.0].span,
            (None, None) => tensor.span,
        }
    }

    /// Whether the loops of a rule are those of a kernel over levels, because it reads or computes dynamic tensors, or
    /// is in a semiring other than that of sums and products.
    pub fn is_over_levels(&self, rule: RuleId) -> bool {
        self.rules[rule.0].semiring != Semiring::SumTimes || self.is_dynamic(rule)
    }

    /// Whether a rule reads or computes dynamic tensors.
    pub fn is_dynamic(&self, rule: RuleId) -> bool {
        let rule = &self.rules[rule.0];
        let mut accesses = rule.products.iter().flat_map(|product| &product.accesses);
        self.tensor(rule.head).format.is_some()
            || accesses.any(|access| self.tensor(access.tensor).format.is_some())
    }

    /// For each tensor, whether where it is structurally zero follows from the program alone. It does not if which of
    /// its elements are stored is known only when it is read, or if something of its rule is not affine.
    pub fn exact_structures(&self) -> Vec<bool> {
        let is_symbol = |name: &str| self.symbols.iter().any(|(symbol, _)| symbol == name);
        let simple =
            |expr: &Expr| is_affine(expr).is_ok() || names(expr).into_iter().all(is_symbol);
        let mut exact: Vec<bool> =
            self.tensors.iter().map(|tensor| tensor.format.is_none()).collect();
        for rule in &self.rules {
            let affine = rule.products.iter().all(|product| {
                let subscripts = product.accesses.iter().flat_map(|access| &access.subscripts);
                let operands = product.comparisons.iter().flat_map(|one| &one.operands);
                product
                    .accesses
                    .iter()
                    .all(|access| exact[access.tensor.0] && access.position.is_none())
                    && subscripts.chain(operands).all(simple)
            });
            exact[rule.head.0] &= affine;
        }
        exact
    }

    /// The value of a tensor's elements that no product reaches.
    pub fn start(&self, tensor: TensorId) -> f64 {
        let Tensor { element, .. } = self.tensor(tensor);
        let rule = self.tensor(tensor).rule();
        rule.map_or(0.0, |rule| self.rules[rule.0].semiring.zero_in(*element))
    }

    /// The number that takes part in rules for the elements that a tensor with `:F` does not store; see [`Rule::fill`].
    pub fn fill(&self, tensor: TensorId) -> f64 {
        let rule = self.tensor(tensor).rule();
        rule.and_then(|rule| self.rules[rule.0].fill).unwrap_or(0.0)
    }

    /// The value of the elements that a tensor does not store.
    pub fn zero(&self, tensor: TensorId) -> f64 {
        let rule = self.tensor(tensor).rule();
        let fill = rule.and_then(|rule| self.rules[rule.0].fill);
        fill.unwrap_or(self.start(tensor))
    }

    /// Looks a tensor up by name.
    pub fn find(&self, name: &str) -> Option<TensorId> {
        self.tensors.iter().position(|t| t.name == name).map(TensorId)
    }
}

impl Rule {
    /// Whether `iters:` or a schedule gives the order of its loops.
    pub fn has_order(&self) -> bool {
        !self.order.is_empty() || !self.schedule.order.is_empty()
    }

    /// The products that determine the dimensions of a head without `:D`: those that bound all of its iterators, if
    /// there are any. The others range over these dimensions in the iterators that they do not bound.
    pub fn bounding(&self) -> impl Iterator<Item = &Product> {
        let any = self.products.iter().any(|product| self.has_all(product));
        self.products.iter().filter(move |product| !any || self.has_all(product))
    }

    /// Whether a product has all iterators of the head, not only in comparisons that do not bound them.
    fn has_all(&self, product: &Product) -> bool {
        if !self.iterators.iter().all(|name| product.binds(name)) {
            return false;
        }
        let subscripts = product.accesses.iter().flat_map(|access| &access.subscripts);
        let read: BTreeSet<&str> = subscripts.flat_map(bounded_names).collect();
        let is_known = |name: &&String| read.contains(name.as_str()) || product.defines(name);
        let known = product.iterators.iter().filter(is_known).map(String::as_str).collect();
        let bounded = bounded(&product.comparisons, &product.iterators, known);
        self.iterators.iter().all(|name| bounded.contains(name.as_str()))
    }

    /// Whether a product leaves the range of an iterator of the head to other products.
    pub fn is_open(&self, product: &Product) -> bool {
        !self.has_all(product) && self.products.iter().any(|one| self.has_all(one))
    }

    /// The head's subscripts: its iterators as expressions.
    pub fn subscripts(&self) -> Vec<Affine> {
        Affine::each(&self.iterators)
    }
}

impl Product {
    /// Whether the comparisons describe the points completely: there are no computed iterators, no guards and no
    /// positions.
    pub fn is_affine(&self) -> bool {
        let positions = self.accesses.iter().any(|access| access.position.is_some());
        self.definitions.is_empty() && self.guards.is_empty() && !positions
    }

    /// Whether an iterator stands in a subscript or a comparison.
    pub fn binds(&self, iterator: &str) -> bool {
        let subscripts = self.accesses.iter().flat_map(|access| &access.subscripts);
        let operands = self.comparisons.iter().flat_map(|comparison| &comparison.operands);
        subscripts.chain(operands).any(|expr| names(expr).contains(iterator))
            || self.defines(iterator)
    }

    /// Whether an iterator is computed from others.
    pub fn defines(&self, iterator: &str) -> bool {
        self.definitions.iter().any(|definition| definition.iterator == iterator)
    }
}

impl Tensor {
    /// A tensor of 64-bit floats of which nothing is declared.
    pub(crate) fn new(name: String, rank: usize, role: Role, span: Span) -> Tensor {
        Tensor {
            name,
            rank,
            role,
            span,
            domain: None,
            unique: None,
            redundancy: None,
            format: None,
            layout: None,
            element: Element::default(),
        }
    }

    /// Whether integers of it choose terms: where one is compared with an iterator, as in `(p(i) = k)`, there is no
    /// product for other values of the iterator. It is an input of integers without structure or format.
    pub fn chooses(&self) -> bool {
        let is_plain = self.unique.is_none() && self.redundancy.is_none() && self.format.is_none();
        let is_integer = self.element.is_integer() && self.element != Element::Bool;
        self.rule().is_none() && is_plain && is_integer
    }

    /// The rule that computes it, if any.
    pub fn rule(&self) -> Option<RuleId> {
        match self.role {
            Role::Input => None,
            Role::Output(rule) | Role::Intermediate(rule) => Some(rule),
        }
    }
}
