//! Makes ASTs (plain trees, [`ast`](crate::ast)) that visit the points of a schedule in its order.

use crate::ast::{Expr, Node, Op};
use crate::handle::{Handle, to_i64};
use crate::{Context, Error, PwAff, Result, Schedule, Set, UnionMap};
use isl_vendor as sys;

/// Settings for making ASTs with [`AstBuild::node_from_schedule_map`].
#[derive(Clone)]
pub struct AstBuild(Handle<sys::isl_ast_build>);

/// How the loops of a schedule dimension are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopType {
    /// One loop that covers everything, with conditions inside.
    Atomic,
    /// Loops that are split where conditions change, without conditions inside.
    Separate,
    /// No loop: each iteration written out.
    Unroll,
}

impl AstBuild {
    /// Parameters are known to be in `context` (a parameter domain, or a set whose parameters
    /// count).
    pub fn from_context(context: &Set) -> Result<AstBuild> {
        let params = context.params_set()?;
        isl!(context.context(), isl_ast_build_from_context(params.0.take())).map(AstBuild)
    }

    /// The context that the object belongs to.
    pub fn context(&self) -> &Context {
        self.0.context()
    }

    /// Names for the iterators, outermost first.
    pub fn set_iterators(&self, names: &[impl AsRef<str>]) -> Result<AstBuild> {
        let context = self.context();
        let mut list = isl!(context, isl_id_list_alloc(context.raw(), names.len() as i32))?;
        for name in names {
            let id = context.id(name.as_ref())?;
            list = isl!(context, isl_id_list_add(list.take(), id.take()))?;
        }
        isl!(context, isl_ast_build_set_iterators(self.0.take(), list.take())).map(AstBuild)
    }

    /// isl's options: a map from schedule space to `separate[x]`, `atomic[x]`, `unroll[x]`.
    pub fn set_options(&self, options: &UnionMap) -> Result<AstBuild> {
        self.0.same(&options.0)?;
        isl!(self.context(), isl_ast_build_set_options(self.0.take(), options.0.take()))
            .map(AstBuild)
    }

    /// One kind of loops for each dimension of a schedule of that many dimensions (none: isl's
    /// choice). Replaces other options.
    pub fn set_loop_types(&self, types: &[Option<LoopType>]) -> Result<AstBuild> {
        let dims: Vec<String> = (0..types.len()).map(|pos| format!("c{pos}")).collect();
        let options: Vec<String> = types
            .iter()
            .enumerate()
            .filter_map(|(pos, kind)| {
                let kind = match (*kind)? {
                    LoopType::Atomic => "atomic",
                    LoopType::Separate => "separate",
                    LoopType::Unroll => "unroll",
                };
                Some(format!("[{}] -> {kind}[{pos}]", dims.join(", ")))
            })
            .collect();
        let text = format!("{{ {} }}", options.join("; "));
        self.set_options(&UnionMap::parse(self.context(), &text)?)
    }

    /// The AST of a schedule map: it visits the firsts in the order of the seconds.
    pub fn node_from_schedule_map(&self, schedule: &UnionMap) -> Result<Node> {
        self.0.same(&schedule.0)?;
        let node = isl!(
            self.context(),
            isl_ast_build_node_from_schedule_map(self.0.keep(), schedule.0.take())
        )?;
        read_node(&node)
    }

    /// The AST of a schedule tree.
    pub fn node_from_schedule(&self, schedule: &Schedule) -> Result<Node> {
        self.0.same(&schedule.0)?;
        let node = isl!(
            self.context(),
            isl_ast_build_node_from_schedule(self.0.keep(), schedule.0.take())
        )?;
        read_node(&node)
    }

    /// A condition that holds for the points of the set. Dimensions of the set become
    /// identifiers of their names.
    pub fn expr_from_set(&self, set: &Set) -> Result<Expr> {
        self.0.same(&set.0)?;
        // isl leaves conditions out of which it does not know the floors.
        let set = set.dims_to_params()?.compute_divs()?;
        let expr = isl!(self.context(), isl_ast_build_expr_from_set(self.0.keep(), set.0.take()))?;
        read_expr(&expr)
    }

    /// An expression over parameters.
    pub fn expr_from_pw_aff(&self, aff: &PwAff) -> Result<Expr> {
        self.0.same(&aff.0)?;
        let expr =
            isl!(self.context(), isl_ast_build_expr_from_pw_aff(self.0.keep(), aff.0.take()))?;
        read_expr(&expr)
    }
}

type IslNode = Handle<sys::isl_ast_node>;
type IslExpr = Handle<sys::isl_ast_expr>;

fn read_node(node: &IslNode) -> Result<Node> {
    let context = node.context();
    let child = |node: Result<IslNode>| read_node(&node?);
    let expr = |expr: Result<IslExpr>| read_expr(&expr?);
    match isl!(context, isl_ast_node_get_type(node.keep()))? {
        sys::isl_ast_node_for => Ok(Node::For {
            iterator: match expr(isl!(context, isl_ast_node_for_get_iterator(node.keep())))? {
                Expr::Id(name) => name,
                other => return Err(Error::Unsupported { what: format!("iterator {other}") }),
            },
            init: expr(isl!(context, isl_ast_node_for_get_init(node.keep())))?,
            degenerate: is_degenerate(node)?,
            // A degenerate loop has no condition and no increment of its own.
            cond: if is_degenerate(node)? {
                Expr::Int(1)
            } else {
                expr(isl!(context, isl_ast_node_for_get_cond(node.keep())))?
            },
            inc: if is_degenerate(node)? {
                Expr::Int(1)
            } else {
                expr(isl!(context, isl_ast_node_for_get_inc(node.keep())))?
            },
            body: Box::new(child(isl!(context, isl_ast_node_for_get_body(node.keep())))?),
        }),
        sys::isl_ast_node_if => Ok(Node::If {
            cond: expr(isl!(context, isl_ast_node_if_get_cond(node.keep())))?,
            then: Box::new(child(isl!(context, isl_ast_node_if_get_then_node(node.keep())))?),
            otherwise: if isl!(context, isl_ast_node_if_has_else_node(node.keep()))? != 0 {
                let node = isl!(context, isl_ast_node_if_get_else_node(node.keep()));
                Some(Box::new(child(node)?))
            } else {
                None
            },
        }),
        sys::isl_ast_node_block => {
            let list = isl!(context, isl_ast_node_block_get_children(node.keep()))?;
            let count = isl!(context, isl_ast_node_list_size(list.keep()))?;
            let nodes = (0..count)
                .map(|pos| child(isl!(context, isl_ast_node_list_get_at(list.keep(), pos))));
            Ok(Node::Block(nodes.collect::<Result<_>>()?))
        }
        sys::isl_ast_node_mark => {
            let id = isl!(context, isl_ast_node_mark_get_id(node.keep()))?;
            Ok(Node::Mark {
                name: id_name(&id)?,
                body: Box::new(child(isl!(context, isl_ast_node_mark_get_node(node.keep())))?),
            })
        }
        sys::isl_ast_node_user => {
            match expr(isl!(context, isl_ast_node_user_get_expr(node.keep())))? {
                Expr::Op(Op::Call, mut args) if matches!(args.first(), Some(Expr::Id(_))) => {
                    let Expr::Id(statement) = args.remove(0) else { unreachable!() };
                    Ok(Node::User { statement, args })
                }
                other => Err(Error::Unsupported { what: format!("statement {other}") }),
            }
        }
        other => Err(Error::Unsupported { what: format!("AST node of kind {other}") }),
    }
}

fn is_degenerate(node: &IslNode) -> Result<bool> {
    Ok(isl!(node.context(), isl_ast_node_for_is_degenerate(node.keep()))? != 0)
}

fn id_name(id: &Handle<sys::isl_id>) -> Result<String> {
    Ok(isl!(id.context(), isl_id_get_name(id.keep()))?.unwrap_or_default())
}

fn read_expr(expr: &IslExpr) -> Result<Expr> {
    let context = expr.context();
    match isl!(context, isl_ast_expr_get_type(expr.keep()))? {
        sys::isl_ast_expr_id => {
            let id = isl!(context, isl_ast_expr_get_id(expr.keep()))?;
            Ok(Expr::Id(id_name(&id)?))
        }
        sys::isl_ast_expr_int => {
            let value = isl!(context, isl_ast_expr_get_val(expr.keep()))?;
            Ok(Expr::Int(to_i64(&value)?))
        }
        sys::isl_ast_expr_op => {
            let op = read_op(isl!(context, isl_ast_expr_op_get_type(expr.keep()))?)?;
            let count = isl!(context, isl_ast_expr_op_get_n_arg(expr.keep()))?;
            let args = (0..count)
                .map(|pos| read_expr(&isl!(context, isl_ast_expr_op_get_arg(expr.keep(), pos))?))
                .collect::<Result<_>>()?;
            Ok(Expr::Op(op, args))
        }
        other => Err(Error::Unsupported { what: format!("AST expression of kind {other}") }),
    }
}

fn read_op(kind: sys::isl_ast_expr_op_type) -> Result<Op> {
    Ok(match kind {
        sys::isl_ast_expr_op_and => Op::And,
        sys::isl_ast_expr_op_and_then => Op::AndThen,
        sys::isl_ast_expr_op_or => Op::Or,
        sys::isl_ast_expr_op_or_else => Op::OrElse,
        sys::isl_ast_expr_op_max => Op::Max,
        sys::isl_ast_expr_op_min => Op::Min,
        sys::isl_ast_expr_op_minus => Op::Minus,
        sys::isl_ast_expr_op_add => Op::Add,
        sys::isl_ast_expr_op_sub => Op::Sub,
        sys::isl_ast_expr_op_mul => Op::Mul,
        sys::isl_ast_expr_op_div => Op::Div,
        sys::isl_ast_expr_op_fdiv_q => Op::FloorDiv,
        sys::isl_ast_expr_op_pdiv_q => Op::PdivQ,
        sys::isl_ast_expr_op_pdiv_r => Op::PdivR,
        sys::isl_ast_expr_op_zdiv_r => Op::ZdivR,
        sys::isl_ast_expr_op_cond => Op::Cond,
        sys::isl_ast_expr_op_select => Op::Select,
        sys::isl_ast_expr_op_eq => Op::Eq,
        sys::isl_ast_expr_op_le => Op::Le,
        sys::isl_ast_expr_op_lt => Op::Lt,
        sys::isl_ast_expr_op_ge => Op::Ge,
        sys::isl_ast_expr_op_gt => Op::Gt,
        sys::isl_ast_expr_op_call => Op::Call,
        sys::isl_ast_expr_op_access => Op::Access,
        sys::isl_ast_expr_op_member => Op::Member,
        sys::isl_ast_expr_op_address_of => Op::AddressOf,
        other => return Err(Error::Unsupported { what: format!("AST operation {other}") }),
    })
}
