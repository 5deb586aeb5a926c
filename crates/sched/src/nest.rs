//! Scans a set: isl makes an AST that visits its points in order, which becomes loop IR.
//!
//! Before -> after, `{ S[i, j] : 0 <= i <= j < N }` with `i` an iterator of the head: `parallel i = 0 to N { for j = i
//! to N { leaf(i, j) } }`. A loop that accumulates into one element becomes a sum ([`reduction::sum_of`]).

use dastac_layout::{convert, explicit, expr_to_index};
use dastac_loops::{For, Function, If, Index, Mark, Module, Stmt, VarId, reduction};
use dastac_poly::ast::{Expr, Node, Op};
use dastac_poly::{AstBuild, Set, UnionMap};
use dastac_stur::sets::Sets;

use crate::arrange::{block_name, order_of};
use crate::guarded::guarded;
use crate::visited::visits;
use crate::{SchedError, Unsupported};

/// What is in scope at a leaf of the nest: the value of each iterator.
pub struct Scope<'a> {
    values: &'a [(String, Index)],
    module: &'a Module,
    sets: &'a Sets,
}

impl Scope<'_> {
    /// The value of a name (that of the program, or its isl-safe form).
    pub fn resolve(&self, name: &str) -> Option<Index> {
        let isl = self.sets.names.isl(name);
        let iterator = self.values.iter().rev().find(|(n, _)| n == isl || n == name);
        iterator.map(|(_, value)| value.clone()).or_else(|| symbol(self.module, self.sets, name))
    }
}

/// A symbol or derived symbol in the loop IR, by its name in the program or its isl-safe form.
pub(crate) fn symbol(module: &Module, sets: &Sets, name: &str) -> Option<Index> {
    if let Some(value) = sets.names.derived(name) {
        return expr_to_index(value, &|name| symbol(module, sets, name)).ok();
    }
    module
        .find_symbol(&module_name(name))
        .or_else(|| module.find_symbol(&module_name(sets.names.original(name))))
        .map(Index::symbol)
}

/// The name of a symbol or tensor in the loop IR. It differs from the program's name where that is a reserved word
/// (`and`).
pub(crate) fn module_name(name: &str) -> String {
    if dastac_loops::print::is_name(name) { name.into() } else { format!("{name}.name") }
}

/// Builds the statements of one point.
pub type Leaf<'a> = dyn FnMut(&Scope<'_>, &mut Function) -> Result<Vec<Stmt>, SchedError> + 'a;

/// A shared AST costs two calls of isl, so at least this many sets of one kind have to use it.
const WORTH_SHARING: usize = 4;

/// A set that is to be scanned in the order of its dimensions.
#[derive(Clone, Copy)]
pub struct Scan<'a> {
    /// Names of the program.
    pub sets: &'a Sets,
    /// The module that has the set's parameters as symbols.
    pub module: &'a Module,
    /// Names of the dimensions, outermost first.
    pub iterators: &'a [String],
    /// The points.
    pub domain: &'a Set,
    /// For each dimension, whether its iterations may run at the same time.
    pub parallel: &'a [bool],
    /// Loops over blocks, outside of all others: the dimension that each cuts, and how many iterations a block has.
    pub tiles: &'a [(usize, i64)],
}

impl Scan<'_> {
    /// isl's AST.
    pub fn ast(&self) -> Result<Node, SchedError> {
        self.ast_where(&self.sets.universe(&[])?.params_set()?)
    }

    /// isl's AST under the assumption that the parameters are in `context`.
    fn ast_where(&self, context: &Set) -> Result<Node, SchedError> {
        let blocks = self.tiles.iter().map(|(dim, _)| block_name(self.sets, &self.iterators[*dim]));
        let names = self.iterators.iter().map(|name| self.sets.names.isl(name).to_string());
        let names: Vec<String> = blocks.chain(names).collect();
        let build = AstBuild::from_context(context)?.set_iterators(&names)?;
        // isl fails to scan some descriptions of a set, or leaves points out: in some of them existential dimensions
        // have to be written as floors, in others they must not be.
        let domain = self.domain.with_tuple_name(None)?;
        let generate = |domain: &Set| -> Result<Node, SchedError> {
            let schedule = order_of(domain, self.tiles)?.with_in_tuple_name(Some("S"))?;
            Ok(build.node_from_schedule_map(&UnionMap::from_map(&schedule)?)?)
        };
        let in_parts = || -> Result<Node, SchedError> {
            // As a last resort, scan one part after the other. The points may come in any order here.
            let parts = domain.make_disjoint()?.basic_sets()?;
            Ok(Node::Block(parts.iter().map(generate).collect::<Result<_, SchedError>>()?))
        };
        let wanted = match domain.existentials()? {
            0 => None,
            _ => Some(domain.intersect_params(context)?),
        };
        let with_tests = || -> Result<Node, SchedError> {
            let made = guarded(&domain, context, &generate)?;
            made.ok_or_else(|| Unsupported::Scan(domain.to_string()).into())
        };
        let ways: [&dyn Fn() -> Result<Node, SchedError>; 6] = [
            &|| generate(&explicit(&domain)?),
            &|| generate(&domain),
            &|| generate(&domain.compute_divs()?),
            &|| generate(&domain.detect_equalities()?.compute_divs()?),
            &in_parts,
            &with_tests,
        ];
        let mut last = None;
        for way in ways {
            match way() {
                Ok(node) => match &wanted {
                    Some(wanted) if !visits(&by_cases(node.clone()), wanted)? => {
                        last = Some(Unsupported::Scan(domain.to_string()).into());
                    }
                    _ => return Ok(node),
                },
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| Unsupported::Scan(domain.to_string()).into()))
    }

    /// isl's ASTs of many sets over the same dimensions. Sets that differ only in their numbers share one AST, unless
    /// the shared one has more cases than the AST of a single set.
    pub fn asts(&self, domains: &[Set]) -> Result<Vec<Node>, SchedError> {
        let context = self.sets.universe(&[])?.params_set()?;
        let ast = |domain: &Set| Scan { domain, ..*self }.ast();
        let mut asts: Vec<Option<Node>> = vec![None; domains.len()];
        for family in dastac_poly::families(domains, WORTH_SHARING)? {
            // A set that is too hard with parameters may be easy with numbers.
            let scan = Scan { domain: &family.set, ..*self };
            let Ok(shared) = scan.ast_where(&context.intersect(&family.range)?) else { continue };
            let Some((first, _)) = family.members.first() else { continue };
            let own = ast(&domains[*first])?;
            if shared.size() > own.size() {
                asts[*first] = Some(own);
                continue;
            }
            for (member, values) in &family.members {
                asts[*member] = Some(shared.bind(values));
            }
        }
        let all = asts.into_iter().zip(domains);
        all.map(|(known, domain)| known.map_or_else(|| ast(domain), Ok)).collect()
    }

    /// The loop nest, with `leaf` at every point.
    pub fn nest(
        &self,
        function: &mut Function,
        leaf: &mut Leaf<'_>,
    ) -> Result<Vec<Stmt>, SchedError> {
        if self.domain.is_empty()? {
            return Ok(Vec::new());
        }
        self.nest_of(self.ast()?, function, leaf)
    }

    /// The loop nest of an AST that isl has made already.
    pub fn nest_of(
        &self,
        ast: Node,
        function: &mut Function,
        leaf: &mut Leaf<'_>,
    ) -> Result<Vec<Stmt>, SchedError> {
        self.node(&by_cases(ast), &mut Vec::new(), function, leaf)
    }

    fn node(
        &self,
        node: &Node,
        values: &mut Vec<(String, Index)>,
        function: &mut Function,
        leaf: &mut Leaf<'_>,
    ) -> Result<Vec<Stmt>, SchedError> {
        match node {
            Node::Block(children) => {
                let mut statements = Vec::new();
                for child in children {
                    statements.extend(self.node(child, values, function, leaf)?);
                }
                Ok(statements)
            }
            Node::Mark { body, .. } => self.node(body, values, function, leaf),
            Node::If { cond, then, otherwise } => {
                let condition = convert::condition(cond, &|name| self.scope(values).resolve(name))?;
                let then = self.node(then, values, function, leaf)?;
                let otherwise = match otherwise {
                    Some(otherwise) => self.node(otherwise, values, function, leaf)?,
                    None => Vec::new(),
                };
                Ok(vec![Stmt::If(If { condition, then, otherwise })])
            }
            Node::User { args, .. } => {
                let mut bound = Vec::new();
                for (iterator, arg) in self.iterators.iter().zip(args) {
                    let value = convert::index(arg, &|name| self.scope(values).resolve(name))?;
                    bound.push((self.sets.names.isl(iterator).to_string(), value));
                }
                leaf(&self.scope(&bound), function)
            }
            Node::For { iterator, init, cond, inc, degenerate, body } => {
                let lower_bounds = self.bounds(init, Op::Max, values)?;
                if *degenerate {
                    let value = lower_bounds.into_iter().reduce(Index::max);
                    values.push((iterator.clone(), value.unwrap_or(Index::constant(0))));
                    let body = self.node(body, values, function, leaf);
                    values.pop();
                    return body;
                }
                let unsupported = || SchedError::from(Unsupported::Node(node.to_string()));
                let (Expr::Op(op @ (Op::Lt | Op::Le), sides), Expr::Int(step)) = (cond, inc) else {
                    return Err(unsupported());
                };
                let [_, bound] = sides.as_slice() else { return Err(unsupported()) };
                let inclusive = i64::from(*op == Op::Le);
                let upper: Vec<Index> = self
                    .bounds(bound, Op::Min, values)?
                    .into_iter()
                    .map(|b| b + inclusive)
                    .collect();
                let var: VarId = function.fresh_var(iterator.clone());
                let position = self.iterators.iter().position(|name| {
                    self.sets.names.isl(name) == iterator
                        || block_name(self.sets, name) == *iterator
                });
                let parallel =
                    position.is_some_and(|p| self.parallel.get(p).copied().unwrap_or(false));
                let mark = if parallel { Mark::THREADS } else { Mark::Sequential };
                values.push((iterator.clone(), Index::var(var)));
                let body = self.node(body, values, function, leaf);
                values.pop();
                let (lower, step) = (lower_bounds, *step);
                let inner = For { var, lower, upper, step, mark, body: body? };
                Ok(vec![reduction::sum_of(inner, &self.module.buffers)])
            }
        }
    }

    /// `max(a, b)` as a list of lower bounds, `min(a, b)` as a list of upper bounds.
    fn bounds(
        &self,
        expr: &Expr,
        split: Op,
        values: &[(String, Index)],
    ) -> Result<Vec<Index>, SchedError> {
        let one = |expr: &Expr| convert::index(expr, &|name| self.scope(values).resolve(name));
        match expr {
            Expr::Op(op, parts) if *op == split => {
                let mut bounds = Vec::new();
                for part in parts {
                    bounds.extend(self.bounds(part, split, values)?);
                }
                Ok(bounds)
            }
            // `min(a, b) + c` becomes the two bounds `a + c` and `b + c`.
            Expr::Op(Op::Add, parts) => match parts.as_slice() {
                [Expr::Op(op, inner), Expr::Int(constant)] if *op == split => {
                    let mut bounds = Vec::new();
                    for part in inner {
                        bounds.extend(self.bounds(part, split, values)?);
                    }
                    Ok(bounds.into_iter().map(|bound| bound + *constant).collect())
                }
                _ => Ok(vec![one(expr)?]),
            },
            _ => Ok(vec![one(expr)?]),
        }
    }

    fn scope<'b>(&'b self, values: &'b [(String, Index)]) -> Scope<'b> {
        Scope { values, module: self.module, sets: self.sets }
    }
}

/// Moves choices out of bounds and subscripts, which have to be affine: the statement around a choice is made once for
/// each of its outcomes.
///
/// Before -> after: `for (c = N <= 3 ? 0 : 1; ..) body` -> `if (N <= 3) for (c = 0; ..) body else for (c = 1; ..)
/// body`.
fn by_cases(node: Node) -> Node {
    let test = match &node {
        Node::For { init, degenerate: true, .. } => test(init),
        Node::For { init, cond, .. } => test(init).or_else(|| test(cond)),
        Node::User { args, .. } => args.iter().find_map(test),
        _ => None,
    };
    if let Some(test) = test.cloned() {
        let case = |holds| Box::new(by_cases(assume(&node, &test, holds)));
        let (then, otherwise) = (case(true), Some(case(false)));
        return Node::If { cond: test, then, otherwise };
    }
    let inner = |node: Box<Node>| Box::new(by_cases(*node));
    match node {
        Node::Block(children) => Node::Block(children.into_iter().map(by_cases).collect()),
        Node::Mark { name, body } => Node::Mark { name, body: inner(body) },
        Node::If { cond, then, otherwise } => {
            Node::If { cond, then: inner(then), otherwise: otherwise.map(inner) }
        }
        Node::For { iterator, init, cond, inc, degenerate, body } => {
            Node::For { iterator, init, cond, inc, degenerate, body: inner(body) }
        }
        Node::User { .. } => node,
    }
}

/// The condition of the first choice in an expression.
fn test(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Op(Op::Cond | Op::Select, parts) => parts.first(),
        Expr::Op(_, parts) => parts.iter().find_map(test),
        Expr::Id(_) | Expr::Int(_) => None,
    }
}

/// Simplifies a node under the assumption that a condition holds, or that it does not.
fn assume(node: &Node, known: &Expr, holds: bool) -> Node {
    node.map(&|expr| assume_in(expr, known, holds))
}

fn assume_in(expr: &Expr, known: &Expr, holds: bool) -> Expr {
    match expr {
        Expr::Op(Op::Cond | Op::Select, parts) if parts.first() == Some(known) => {
            // isl's choices have three parts: the condition and the two branches.
            let branch = parts.get(if holds { 1 } else { 2 });
            branch.map_or(Expr::Int(0), |branch| assume_in(branch, known, holds))
        }
        Expr::Op(op, parts) => {
            Expr::Op(*op, parts.iter().map(|part| assume_in(part, known, holds)).collect())
        }
        Expr::Id(_) | Expr::Int(_) => expr.clone(),
    }
}
