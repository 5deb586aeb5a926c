//! The syntax tree of a STUR file: what was written, with a span on every node.
//!
//! Invariant: spans are byte ranges of the source text. They never take part in equality, so that
//! `parse(print(file)) == file`.

use dastac_elements::{Element, Function};

/// A byte range of the source text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// Spans are positions, not meaning: all are equal.
impl PartialEq for Span {
    fn eq(&self, _: &Span) -> bool {
        true
    }
}

impl Eq for Span {}

impl Span {
    /// The range from `start` to before `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Span { start, end }
    }

    /// Whether both are the same range.
    pub fn is_at(self, other: Span) -> bool {
        (self.start, self.end) == (other.start, other.end)
    }

    /// The smallest range that holds both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// An identifier where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The identifier: a letter, then letters, digits, `_`, `.`.
    pub text: String,
    /// Where it is written.
    pub span: Span,
}

/// A whole file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct File {
    /// Its lines in order; blank lines and comments are not kept.
    pub items: Vec<Item>,
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// `symbols: N, M`
    Symbols(Vec<Name>, Span),
    /// `outputs: A, B`
    Outputs(Vec<Name>, Span),
    /// `iters: A -> i, j; B -> k`
    Iters(Vec<IterationOrder>, Span),
    /// `layout: B -> order(j, i), align(8); C -> align(4)`
    Layout(Vec<LayoutItem>, Span),
    /// `schedule: A -> reorder(i, k, j), tile(k=64); B -> parallel(i)`
    Schedule(Vec<ScheduleItem>, Span),
    /// `types: B = f32, C = f64`
    Types(Vec<TypeItem>, Span),
    /// `@preprocess_start`
    PreprocessStart(Span),
    /// `@preprocess_end`
    PreprocessEnd(Span),
    /// `B:F(i, j) := dense(i), compressed(j)`, `B:F := csr`
    Format(FormatItem),
    /// `format bdia(b) := (i, j) -> (i / b, j - i, i % b) merge(0) trim(1, 1)`: the whole line
    Define(Name),
    /// `head := sum of products`
    Rule(RuleItem),
}

impl Item {
    /// Where it is written.
    pub fn span(&self) -> Span {
        match self {
            Item::Symbols(_, span)
            | Item::Outputs(_, span)
            | Item::Iters(_, span)
            | Item::Layout(_, span)
            | Item::Schedule(_, span)
            | Item::Types(_, span)
            | Item::PreprocessStart(span)
            | Item::PreprocessEnd(span) => *span,
            Item::Format(format) => format.span,
            Item::Define(text) => text.span,
            Item::Rule(rule) => rule.span,
        }
    }
}

/// One entry of `iters:`: a head and its loop order.
#[derive(Clone, Debug, PartialEq)]
pub struct IterationOrder {
    /// The head tensor.
    pub head: Name,
    /// Iterators, outermost first.
    pub iterators: Vec<Name>,
}

/// One entry of `layout:`: a tensor and what is chosen about its packed buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutItem {
    /// The tensor.
    pub tensor: Name,
    /// One or more choices.
    pub parts: Vec<LayoutPart>,
}

/// A choice about a packed buffer.
#[derive(Clone, Debug, PartialEq)]
pub enum LayoutPart {
    /// `order(j, i)`: positions, slowest first.
    Order(Vec<Name>, Span),
    /// `align(8)`: rows begin at multiples of so many elements.
    Align(i64, Span),
}

/// One entry of `schedule:`: a head and what is said about the loops that compute it.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleItem {
    /// The head tensor.
    pub head: Name,
    /// One or more directives.
    pub parts: Vec<SchedulePart>,
}

/// A directive: `tile(i=8, j=24)`.
#[derive(Clone, Debug, PartialEq)]
pub struct SchedulePart {
    /// What to do.
    pub directive: Directive,
    /// The loops, each with a size if [`Directive::has_sizes`].
    pub loops: Vec<(Name, Option<i64>)>,
    /// The factors and groups of [`Directive::Contract`], the words and numbers of [`Directive::Workspace`], or the
    /// tensors of [`Directive::Expand`]; empty for others.
    pub groups: Vec<GroupItem>,
    /// The whole directive.
    pub span: Span,
}

/// A factor or a group of factors in `contract((X, B), X)`.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupItem {
    /// The name of a tensor, or the number of a factor.
    Factor(Name),
    /// Factors that are multiplied in a step of their own.
    Group(Vec<GroupItem>, Span),
}

/// What `schedule:` can do with loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Directive {
    /// `reorder(i, k, j)`: loops in this order, outermost first.
    Reorder,
    /// `tile(i=64)`: blocks of so many iterations. The loops over blocks are outside of all others.
    Tile,
    /// `unroll(i=4)`: so many iterations side by side.
    Unroll,
    /// `vectorize(j)`: iterations in the lanes of vectors.
    Vectorize,
    /// `parallel(i)`: the iterations are distributed among threads.
    Parallel,
    /// `contract((X, B), X)`: factors that are multiplied in steps of their own.
    Contract,
    /// `workspace(hash, 4096)`: where elements of a sparse result come together.
    Workspace,
    /// `expand(A)`: operands that are read from copies with all of their elements.
    Expand,
}

impl Directive {
    /// All of them.
    pub const ALL: [Directive; 8] = [
        Directive::Reorder,
        Directive::Tile,
        Directive::Unroll,
        Directive::Vectorize,
        Directive::Parallel,
        Directive::Contract,
        Directive::Workspace,
        Directive::Expand,
    ];

    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Directive::Reorder => "reorder",
            Directive::Tile => "tile",
            Directive::Unroll => "unroll",
            Directive::Vectorize => "vectorize",
            Directive::Parallel => "parallel",
            Directive::Contract => "contract",
            Directive::Workspace => "workspace",
            Directive::Expand => "expand",
        }
    }

    /// Whether it names no loops but what [`SchedulePart::groups`] holds.
    pub fn has_groups(self) -> bool {
        matches!(self, Directive::Contract | Directive::Workspace | Directive::Expand)
    }

    /// Whether each loop comes with a size.
    pub fn has_sizes(self) -> bool {
        matches!(self, Directive::Tile | Directive::Unroll)
    }
}

/// One entry of `types:`: a tensor, or all tensors of which no entry says the type, and the element type.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeItem {
    /// The tensor; [`TypeItem::OTHERS`] for all others.
    pub tensor: Name,
    /// The type's name.
    pub element: Name,
    /// Whether it follows from an entry for all others. The parser makes none of these.
    pub by_default: bool,
}

impl TypeItem {
    /// What stands in place of a tensor for all those that have no entry: `types: * = f32`, or `types: f32`.
    pub const OTHERS: &str = "*";
}

/// A `:F` line: how a dynamically sparse tensor is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct FormatItem {
    /// The tensor.
    pub tensor: Name,
    /// Names for its dimensions, if given.
    pub iterators: Option<Vec<Name>>,
    /// The text of the format: `csr`, `DC(j, i)`, `dense(i), compressed(j, nonunique)`.
    pub format: Name,
    /// The whole line.
    pub span: Span,
}

/// What a rule says about its tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aspect {
    /// `T(i) := ..`: its value.
    Value,
    /// `T:D(i) := ..`: its dimensions.
    Domain,
    /// `T:U(i) := ..`: its unique set.
    Unique,
    /// `T:R(i, ip) := ..`: its redundancy map.
    Redundancy,
}

/// A rule as written.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleItem {
    /// The tensor that it is about.
    pub tensor: Name,
    /// What it says about it.
    pub aspect: Aspect,
    /// The head's iterators.
    pub iterators: Vec<Name>,
    /// The operation that reduces the products, if it is not a sum.
    pub reduction: Option<Reduction>,
    /// The right-hand side, without that operation.
    pub body: Term,
    /// The rule that this one computes a part of, `max(j) A(i, j)` within its right-hand side; `None` if it is written.
    pub part_of: Option<String>,
    /// Iterators of sums within the right-hand side that were written in place.
    pub summed: Vec<Name>,
    /// The whole rule.
    pub span: Span,
}

/// `max(j)` at the beginning of a right-hand side.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduction {
    /// The operation.
    pub operator: ReduceOp,
    /// The iterators that it reduces over: all that are not the head's.
    pub iterators: Vec<Name>,
    /// The operation with its parentheses.
    pub span: Span,
}

/// An operation that reduces products. `sum(..)` says what is done anyway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReduceOp {
    /// The sum.
    Sum,
    /// The least.
    Min,
    /// The largest.
    Max,
    /// The largest of products of the semiring over numbers that are not negative.
    MaxTimes,
    /// The product.
    Prod,
    /// Whether there is one.
    Or,
}

impl ReduceOp {
    /// All of them.
    pub const ALL: [ReduceOp; 6] = [
        ReduceOp::Sum,
        ReduceOp::Min,
        ReduceOp::Max,
        ReduceOp::MaxTimes,
        ReduceOp::Prod,
        ReduceOp::Or,
    ];

    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            ReduceOp::Sum => "sum",
            ReduceOp::Min => "min",
            ReduceOp::Max => "max",
            ReduceOp::MaxTimes => "max_times",
            ReduceOp::Prod => "prod",
            ReduceOp::Or => "or",
        }
    }
}

/// A sum, product or factor.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// `a + b + c`: two or more.
    Sum(Vec<Term>, Span),
    /// `a * b * c`: two or more.
    Product(Vec<Term>, Span),
    /// `T(i, j)`, `s()`, `T^-1(i)`, `N()`; `(k = pos(T(i, j)))`.
    Access {
        /// `k` in `(k = pos(T(i, j)))`: the factor is one where `T(i, j)` is stored as value number `k`, not the
        /// element's value.
        position: Option<Name>,
        /// The tensor, scalar or symbol.
        tensor: Name,
        /// Subscripts; empty for a scalar.
        subscripts: Vec<Expr>,
        /// Written with `^-1`.
        reciprocal: bool,
        /// The whole access.
        span: Span,
    },
    /// `3.14`, `-12`, `5^-1`.
    Number {
        /// The value before the reciprocal.
        value: f64,
        /// Written with `^-1`.
        reciprocal: bool,
        /// The whole number.
        span: Span,
    },
    /// `0 <= i < N`, in parentheses where it is a factor.
    Comparison(Comparison),
    /// `exp(A(i))`, `max(A(i), 0)`, `A(i) / (B(i) + 1)`, `(A(i) < B(i))`: computed from the values of its arguments,
    /// which are not multiplied out.
    Call {
        /// What is done with them.
        operation: Operation,
        /// As many as the operation takes.
        arguments: Vec<Term>,
        /// The whole call.
        span: Span,
    },
    /// The value of an iterator or symbol, in an argument: `exp(i)`.
    Index(Name),
    /// `max(j) A(i, j)` in an argument or factor: a reduction of its own.
    Reduced {
        /// What it reduces with, over which iterators.
        reduction: Reduction,
        /// What it reduces.
        body: Box<Term>,
        /// All of it.
        span: Span,
    },
}

/// An operation on the values of terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// A named function, `exp(a)`.
    Function(Function),
    /// The smaller of two, `min(a, b)`; not a number if one is not.
    Min,
    /// The larger of two, `max(a, b)`; not a number if one is not.
    Max,
    /// `where(test, a, b)`: `a` where the test is not 0, else `b`.
    Where,
    /// `(a < b)`: 1 where it holds, else 0.
    Compare(CompareOp),
    /// `a / b`
    Divide,
    /// `f32(a)`: the value as an element of that type.
    Cast(Element),
}

/// Whether a power with this exponent is a product of a few factors, so that powers of integers are integers.
pub fn is_product(exponent: f64) -> bool {
    exponent.fract() == 0.0 && (1.0..=MOST_FACTORS).contains(&exponent)
}

/// A power of more factors is no product.
pub const MOST_FACTORS: f64 = 4.0;

impl Operation {
    /// How many arguments it takes.
    pub fn arity(self) -> usize {
        match self {
            Operation::Function(function) => function.arity(),
            Operation::Min | Operation::Max | Operation::Compare(_) | Operation::Divide => 2,
            Operation::Where => 3,
            Operation::Cast(_) => 1,
        }
    }

    /// Whether it is a quotient, or what one leaves: zero where either argument is structurally zero.
    pub fn is_quotient(self) -> bool {
        match self {
            Operation::Divide => true,
            Operation::Function(function) => function.is_quotient(),
            _ => false,
        }
    }
}

impl Term {
    /// The terms that it is made of directly: summands, factors, arguments, what is reduced.
    pub fn parts(&self) -> &[Term] {
        match self {
            Term::Sum(parts, _) | Term::Product(parts, _) => parts,
            Term::Call { arguments, .. } => arguments,
            Term::Reduced { body, .. } => std::slice::from_ref(body),
            Term::Access { .. } | Term::Number { .. } | Term::Comparison(_) | Term::Index(_) => &[],
        }
    }

    /// The terms that it is made of directly.
    pub fn parts_mut(&mut self) -> &mut [Term] {
        match self {
            Term::Sum(parts, _) | Term::Product(parts, _) => parts,
            Term::Call { arguments, .. } => arguments,
            Term::Reduced { body, .. } => std::slice::from_mut(body),
            Term::Access { .. } | Term::Number { .. } | Term::Comparison(_) | Term::Index(_) => {
                &mut []
            }
        }
    }

    /// Whether the factor is one or zero, whatever the elements of tensors are, as a comparison or a position is.
    pub fn is_condition(&self) -> bool {
        matches!(self, Term::Comparison(_) | Term::Access { position: Some(_), .. })
    }

    /// Has a term and its parts stand somewhere else.
    pub(crate) fn set_span(&mut self, to: Span) {
        match self {
            Term::Sum(_, span)
            | Term::Product(_, span)
            | Term::Access { span, .. }
            | Term::Number { span, .. }
            | Term::Call { span, .. }
            | Term::Reduced { span, .. } => *span = to,
            Term::Comparison(comparison) => comparison.span = to,
            Term::Index(name) => name.span = to,
        }
        self.parts_mut().iter_mut().for_each(|part| part.set_span(to));
    }

    /// Where it is written.
    pub fn span(&self) -> Span {
        match self {
            Term::Sum(_, span) | Term::Product(_, span) => *span,
            Term::Access { span, .. } | Term::Number { span, .. } => *span,
            Term::Comparison(comparison) => comparison.span,
            Term::Call { span, .. } | Term::Reduced { span, .. } => *span,
            Term::Index(name) => name.span,
        }
    }
}

/// A chained comparison: `operands[0] operators[0] operands[1] ..`.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Two or more expressions.
    pub operands: Vec<Expr>,
    /// One less than operands.
    pub operators: Vec<CompareOp>,
    /// Without the parentheses.
    pub span: Span,
}

/// What the names of iterators contain that stand for values: `E.at1` in `E(c(i), j)`, which is
/// `sum(E.at1) E(E.at1, j) * (c(i) = E.at1)`.
pub const PLACE: &str = ".at";

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CompareOp {
    /// `=` or `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl CompareOp {
    /// Whether it holds of two values.
    pub fn holds<T: PartialOrd>(self, left: &T, right: &T) -> bool {
        match self {
            CompareOp::Eq => left == right,
            CompareOp::Ne => left != right,
            CompareOp::Lt => left < right,
            CompareOp::Le => left <= right,
            CompareOp::Gt => left > right,
            CompareOp::Ge => left >= right,
        }
    }

    /// What holds of two integers where this does not.
    pub fn negated(self) -> CompareOp {
        match self {
            CompareOp::Eq => CompareOp::Ne,
            CompareOp::Ne => CompareOp::Eq,
            CompareOp::Lt => CompareOp::Ge,
            CompareOp::Ge => CompareOp::Lt,
            CompareOp::Le => CompareOp::Gt,
            CompareOp::Gt => CompareOp::Le,
        }
    }
}

/// An integer expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it is written.
    pub span: Span,
}

/// The kinds of integer expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A constant.
    Int(i64),
    /// An iterator or a symbol.
    Name(String),
    /// `-a`
    Neg(Box<Expr>),
    /// `a op b`
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
}

/// An integer operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`, floor division
    Div,
    /// `%`, remainder of floor division
    Mod,
}
