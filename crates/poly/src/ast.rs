//! ASTs as plain Rust trees, without isl handles. They display as C, as in figure 7 of the paper.
//!
//! Invariants: a [`Node::Block`] has children; operations have isl's number of arguments (two or
//! more for `min` and `max`, three for `cond` and `select`); bounds and increments are affine.

use std::fmt;

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// `for (iterator = init; cond; iterator += inc) body`
    For {
        /// The loop variable.
        iterator: String,
        /// Its first value.
        init: Expr,
        /// Whether there is another iteration: `iterator < bound` or `iterator <= bound`.
        cond: Expr,
        /// What is added after each iteration.
        inc: Expr,
        /// Whether there is exactly one iteration, with the value `init` (then `cond` and `inc`
        /// say nothing).
        degenerate: bool,
        /// What is done in each iteration.
        body: Box<Node>,
    },
    /// `if (cond) then else otherwise`
    If {
        /// The condition.
        cond: Expr,
        /// What is done if it holds.
        then: Box<Node>,
        /// What is done if not.
        otherwise: Option<Box<Node>>,
    },
    /// One after the other.
    Block(Vec<Node>),
    /// A mark of the schedule tree, around what is under it.
    Mark {
        /// Its name.
        name: String,
        /// What is under it.
        body: Box<Node>,
    },
    /// An instance of a statement.
    User {
        /// The statement: the name of its tuple.
        statement: String,
        /// The instance.
        args: Vec<Expr>,
    },
}

/// An expression over iterators and parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// An iterator or a parameter.
    Id(String),
    /// A constant.
    Int(i64),
    /// An operation.
    Op(Op, Vec<Expr>),
}

/// Operations of expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Both; the second may be evaluated in any case.
    And,
    /// Both; the second must only be evaluated if the first holds.
    AndThen,
    /// Either; the second may be evaluated in any case.
    Or,
    /// Either; the second must only be evaluated if the first does not hold.
    OrElse,
    /// The largest argument.
    Max,
    /// The smallest argument.
    Min,
    /// The negative.
    Minus,
    /// The sum.
    Add,
    /// The difference.
    Sub,
    /// The product.
    Mul,
    /// The quotient of a division without remainder.
    Div,
    /// The quotient, rounded down.
    FloorDiv,
    /// The quotient of a dividend that is not negative.
    PdivQ,
    /// The remainder of a dividend that is not negative.
    PdivR,
    /// The remainder of a division; only compared with 0.
    ZdivR,
    /// If the first argument holds the second, else the third, evaluating only that.
    Cond,
    /// The same, where both may be evaluated.
    Select,
    /// Equal.
    Eq,
    /// Less or equal.
    Le,
    /// Less.
    Lt,
    /// Greater or equal.
    Ge,
    /// Greater.
    Gt,
    /// A function call; the function is the first argument.
    Call,
    /// An array access; the array is the first argument.
    Access,
    /// A member of a structure.
    Member,
    /// The address of an access.
    AddressOf,
}

impl Op {
    /// C's binding strength and symbol, for binary operators.
    fn infix(self) -> Option<(u8, &'static str)> {
        Some(match self {
            Op::Or | Op::OrElse => (1, "||"),
            Op::And | Op::AndThen => (2, "&&"),
            Op::Eq => (3, "=="),
            Op::Le => (4, "<="),
            Op::Lt => (4, "<"),
            Op::Ge => (4, ">="),
            Op::Gt => (4, ">"),
            Op::Add => (5, "+"),
            Op::Sub => (5, "-"),
            Op::Mul => (6, "*"),
            Op::Div | Op::PdivQ => (6, "/"),
            Op::PdivR | Op::ZdivR => (6, "%"),
            _ => return None,
        })
    }
}

const UNARY: u8 = 7;

impl Expr {
    /// Writes it with parentheses unless it binds at least as strongly as `strength`.
    fn write(&self, f: &mut fmt::Formatter<'_>, strength: u8) -> fmt::Result {
        let (op, args) = match self {
            Expr::Id(name) => return f.write_str(name),
            Expr::Int(value) if *value < 0 && strength > 0 => return write!(f, "({value})"),
            Expr::Int(value) => return write!(f, "{value}"),
            Expr::Op(op, args) => (*op, args.as_slice()),
        };
        let list = |f: &mut fmt::Formatter<'_>, args: &[Expr]| {
            for (pos, arg) in args.iter().enumerate() {
                f.write_str(if pos > 0 { ", " } else { "" })?;
                arg.write(f, 0)?;
            }
            Ok(())
        };
        let parenthesized =
            |f: &mut fmt::Formatter<'_>,
             own: u8,
             text: &dyn Fn(&mut fmt::Formatter<'_>) -> fmt::Result| {
                if own >= strength {
                    return text(f);
                }
                f.write_str("(")?;
                text(f)?;
                f.write_str(")")
            };
        let called = |f: &mut fmt::Formatter<'_>, name: &str, args: &[Expr]| {
            write!(f, "{name}(")?;
            list(f, args)?;
            f.write_str(")")
        };
        match (op.infix(), op, args) {
            (Some((own, symbol)), _, [left, right]) => parenthesized(f, own, &|f| {
                left.write(f, own)?;
                write!(f, " {symbol} ")?;
                right.write(f, own + 1)
            }),
            (_, Op::Minus, [arg]) => parenthesized(f, UNARY, &|f| {
                f.write_str("-")?;
                arg.write(f, UNARY)
            }),
            (_, Op::AddressOf, [arg]) => parenthesized(f, UNARY, &|f| {
                f.write_str("&")?;
                arg.write(f, UNARY)
            }),
            (_, Op::Cond | Op::Select, [cond, then, otherwise]) => parenthesized(f, 0, &|f| {
                cond.write(f, 1)?;
                f.write_str(" ? ")?;
                then.write(f, 1)?;
                f.write_str(" : ")?;
                otherwise.write(f, 1)
            }),
            (_, Op::Call, [function, args @ ..]) => {
                function.write(f, UNARY)?;
                called(f, "", args)
            }
            (_, Op::Access, [array, indices @ ..]) => {
                array.write(f, UNARY)?;
                for index in indices {
                    f.write_str("[")?;
                    index.write(f, 0)?;
                    f.write_str("]")?;
                }
                Ok(())
            }
            (_, Op::Member, [object, member]) => {
                object.write(f, UNARY)?;
                f.write_str(".")?;
                member.write(f, UNARY)
            }
            (_, Op::Max, _) => called(f, "max", args),
            (_, Op::Min, _) => called(f, "min", args),
            (_, Op::FloorDiv, _) => called(f, "floord", args),
            _ => called(f, &format!("{op:?}"), args),
        }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

impl Expr {
    /// With values in the place of parameters; sums and products of numbers become numbers.
    pub fn bind(&self, values: &[(String, i64)]) -> Expr {
        match self {
            Expr::Id(name) => {
                let bound = values.iter().find(|(bound, _)| bound == name);
                bound.map_or_else(|| self.clone(), |(_, value)| Expr::Int(*value))
            }
            Expr::Int(_) => self.clone(),
            Expr::Op(op, args) => {
                let args: Vec<Expr> = args.iter().map(|arg| arg.bind(values)).collect();
                let value = match (op, args.as_slice()) {
                    (Op::Minus, [Expr::Int(a)]) => a.checked_neg(),
                    (Op::Add, [Expr::Int(a), Expr::Int(b)]) => a.checked_add(*b),
                    (Op::Sub, [Expr::Int(a), Expr::Int(b)]) => a.checked_sub(*b),
                    (Op::Mul, [Expr::Int(a), Expr::Int(b)]) => a.checked_mul(*b),
                    _ => None,
                };
                value.map_or(Expr::Op(*op, args), Expr::Int)
            }
        }
    }
}

impl Node {
    /// The same tree with other expressions.
    pub fn map(&self, change: &dyn Fn(&Expr) -> Expr) -> Node {
        let inner = |node: &Node| Box::new(node.map(change));
        match self {
            Node::Block(children) => {
                Node::Block(children.iter().map(|node| node.map(change)).collect())
            }
            Node::Mark { name, body } => Node::Mark { name: name.clone(), body: inner(body) },
            Node::If { cond, then, otherwise } => Node::If {
                cond: change(cond),
                then: inner(then),
                otherwise: otherwise.as_ref().map(|node| inner(node)),
            },
            Node::For { iterator, init, cond, inc, degenerate, body } => Node::For {
                iterator: iterator.clone(),
                init: change(init),
                cond: change(cond),
                inc: change(inc),
                degenerate: *degenerate,
                body: inner(body),
            },
            Node::User { statement, args } => {
                Node::User { statement: statement.clone(), args: args.iter().map(change).collect() }
            }
        }
    }

    /// With values in the place of parameters.
    pub fn bind(&self, values: &[(String, i64)]) -> Node {
        self.map(&|expr| expr.bind(values))
    }

    /// Number of nodes.
    pub fn size(&self) -> usize {
        1 + match self {
            Node::Block(children) => children.iter().map(Node::size).sum(),
            Node::Mark { body, .. } | Node::For { body, .. } => body.size(),
            Node::If { then, otherwise, .. } => {
                then.size() + otherwise.as_ref().map_or(0, |node| node.size())
            }
            Node::User { .. } => 0,
        }
    }

    /// Writes it, each line after an indent, ending in a line break.
    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        let pad = "  ".repeat(depth);
        match self {
            Node::For { iterator, init, degenerate: true, body, .. } => {
                writeln!(f, "{pad}{{")?;
                writeln!(f, "{pad}  const int {iterator} = {init};")?;
                body.write(f, depth + 1)?;
                writeln!(f, "{pad}}}")
            }
            Node::For { iterator, init, cond, inc, body, .. } => {
                write!(f, "{pad}for (int {iterator} = {init}; {cond}; {iterator} += {inc})")?;
                body.write_body(f, depth)
            }
            Node::If { cond, then, otherwise } => {
                write!(f, "{pad}if ({cond})")?;
                // Braces keep an `else` with its own `if`.
                if matches!((&**then, otherwise), (Node::If { .. }, Some(_))) {
                    writeln!(f, " {{")?;
                    then.write(f, depth + 1)?;
                    writeln!(f, "{pad}}}")?;
                } else {
                    then.write_body(f, depth)?;
                }
                match otherwise {
                    Some(otherwise) => {
                        write!(f, "{pad}else")?;
                        otherwise.write_body(f, depth)
                    }
                    None => Ok(()),
                }
            }
            Node::Block(nodes) => {
                writeln!(f, "{pad}{{")?;
                nodes.iter().try_for_each(|node| node.write(f, depth + 1))?;
                writeln!(f, "{pad}}}")
            }
            Node::Mark { name, body } => {
                writeln!(f, "{pad}// {name}")?;
                body.write(f, depth)
            }
            Node::User { statement, args } => {
                let args: Vec<String> = args.iter().map(Expr::to_string).collect();
                writeln!(f, "{pad}{statement}({});", args.join(", "))
            }
        }
    }

    /// The same after `for (..)` or `if (..)`, on whose line a brace opens.
    fn write_body(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        let pad = "  ".repeat(depth);
        match self {
            Node::Block(nodes) => {
                writeln!(f, " {{")?;
                nodes.iter().try_for_each(|node| node.write(f, depth + 1))?;
                writeln!(f, "{pad}}}")
            }
            Node::Mark { .. } => {
                writeln!(f, " {{")?;
                self.write(f, depth + 1)?;
                writeln!(f, "{pad}}}")
            }
            other => {
                writeln!(f)?;
                other.write(f, depth + 1)
            }
        }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}
