//! Splits products into statements, one for each combination of unique and redundant elements of the operands.
//!
//! A read of a redundant element goes to its unique element, times the coefficient; the iteration space is split by
//! where that happens. Before -> after, for a symmetric `V` with `:U` on `i <= j`: `y(i) += V(i,j) * x(j)` ->
//! `{ i <= j } y(i) += V(i,j) * x(j)` and `{ i > j } y(i) += V(j,i) * x(j)`.

use std::collections::BTreeMap;

use dastac_poly::Set;

use super::{InferError, Read, Redundancy, Space, Statement, Structured};
use crate::ast::Operation;
use crate::coefficient::Coefficient;
use crate::diagnostic::Diagnostic;
use crate::program::{Access, Applied, Product, Scalar, TensorId};
use crate::sets::{Affine, Sets};

/// A product with more statements than this exceeds a limit, which is an error.
const MAX_STATEMENTS: usize = 4096;

type Known<'a, 'b> = &'b dyn Fn(TensorId) -> Option<&'a Structured>;

/// Splits a product into statements, restricted to the head's unique set.
pub(crate) fn statements<'a>(
    sets: &Sets,
    known: Known<'a, '_>,
    head: &[Affine],
    head_structure: &Structured,
    product: &Product,
    space: &Space,
    index: usize,
) -> Result<Vec<Statement>, InferError> {
    // With nothing redundant or cancelled, every point computes a unique element.
    let whole = head_structure.redundancy.is_empty() && head_structure.cancelled.is_empty()?;
    let domain = if whole {
        space.domain.clone()
    } else {
        let to_head = sets.access(&product.iterators, head)?;
        space.domain.intersect(&to_head.intersect_range(&head_structure.unique)?.domain()?)?
    };
    let mut partial = vec![Statement {
        iterators: product.iterators.clone(),
        domain,
        coefficient: product.coefficient,
        reads: Vec::new(),
        symbols: product.symbols.iter().map(|s| (s.symbol, s.reciprocal)).collect(),
        functions: product.functions.clone(),
        definitions: product.definitions.clone(),
        guards: product.guards.clone(),
        product: index,
    }];
    let mut split = !whole;
    for (access, subscripts) in product.accesses.iter().zip(&space.subscripts) {
        let Some(operand) = known(access.tensor) else { continue };
        let branches = branches(sets, operand, access, subscripts, &product.iterators)?;
        split |= branches.iter().any(|branch| branch.domain.is_some());
        let mut next = Vec::new();
        for statement in &partial {
            for branch in &branches {
                let domain = match &branch.domain {
                    None => statement.domain.clone(),
                    Some(domain) => statement.domain.intersect(domain)?,
                };
                if branch.domain.is_some() && domain.is_empty()? {
                    continue;
                }
                let mut statement = Statement { domain, ..statement.clone() };
                if access.argument {
                    scale(&mut statement.functions, statement.reads.len(), &branch.coefficient);
                } else {
                    statement.coefficient *= branch.coefficient.factor();
                    statement.symbols.extend(branch.coefficient.symbol_factors());
                }
                statement.reads.push(branch.read.clone());
                next.push(statement);
                if next.len() > MAX_STATEMENTS {
                    return Err(Diagnostic::error(
                        "E0311",
                        format!("more than {MAX_STATEMENTS} combinations of redundancy pieces"),
                        product.span,
                        "each operand's pieces multiply",
                    )
                    .hint("compute part of the product in a rule of its own")
                    .into());
                }
            }
        }
        partial = next;
    }
    let mut statements = Vec::new();
    for mut statement in partial {
        if statement.domain.is_empty()? {
            continue;
        }
        if split {
            let simple = statement.domain.simplify()?;
            statement.domain = super::named(sets, &simple, &statement.iterators)?;
        }
        statements.push(statement);
    }
    Ok(statements)
}

/// Multiplies an argument of functions with a coefficient.
fn scale(functions: &mut [Applied], argument: usize, coefficient: &Coefficient) {
    if coefficient.is_one() {
        return;
    }
    let symbol = |(at, reciprocal)| match reciprocal {
        false => Scalar::Symbol(at),
        true => Scalar::Apply(Operation::Divide, vec![Scalar::Number(1.0), Scalar::Symbol(at)]),
    };
    for function in functions {
        function.value = function.value.map(&mut |leaf| match leaf {
            Scalar::Element(at) if *at == argument => {
                let number = Scalar::Number(coefficient.factor());
                let symbols = coefficient.symbol_factors().map(symbol);
                Scalar::Product([number].into_iter().chain(symbols).chain([leaf.clone()]).collect())
            }
            leaf => leaf.clone(),
        });
    }
}

struct Branch {
    /// Where it applies; everywhere if not given (the iteration space is within the support already).
    domain: Option<Set>,
    coefficient: Coefficient,
    read: Read,
}

fn branches(
    sets: &Sets,
    operand: &Structured,
    access: &Access,
    subscripts: &[Affine],
    iterators: &[String],
) -> Result<Vec<Branch>, InferError> {
    let read = Read {
        tensor: access.tensor,
        reciprocal: access.reciprocal,
        subscripts: subscripts.to_vec(),
        sorted: Vec::new(),
        position: access.position.clone(),
        argument: access.argument,
    };
    if operand.redundancy.is_empty() {
        return Ok(vec![Branch { domain: None, coefficient: Coefficient::one(), read }]);
    }
    if let [Redundancy::Sorted { classes, .. }] = operand.redundancy.as_slice() {
        // Sorting does not move a unique element, so that one branch is enough for both.
        let read = Read { sorted: classes.clone(), ..read };
        return Ok(vec![Branch { domain: None, coefficient: Coefficient::one(), read }]);
    }
    let map = sets.access(iterators, subscripts)?;
    let preimage =
        |set: &Set| -> Result<Set, InferError> { Ok(map.intersect_range(set)?.domain()?) };
    let mut branches = vec![Branch {
        domain: Some(preimage(&operand.unique)?),
        coefficient: Coefficient::one(),
        read: read.clone(),
    }];
    let here: BTreeMap<String, Affine> =
        operand.iterators.iter().cloned().zip(subscripts.iter().cloned()).collect();
    for piece in &operand.redundancy {
        match piece {
            Redundancy::Sorted { domain, classes } => branches.push(Branch {
                domain: Some(preimage(domain)?),
                coefficient: Coefficient::one(),
                read: Read { sorted: classes.clone(), ..read.clone() },
            }),
            Redundancy::Affine { map: piece, coefficient } => {
                for (domain, outputs) in piece.as_pieces()? {
                    let mut targets = Vec::new();
                    for output in &outputs {
                        let target = Affine::of_integers(&output.expr()?, &operand.iterators)
                            .map(|target| original_names(sets, &target, &operand.iterators))
                            .and_then(|target| target.substitute(&here));
                        targets.push(target.ok_or_else(|| {
                            Diagnostic::unsupported(
                                "a redundancy map that is not integral",
                                access.span,
                                "this read goes through it",
                            )
                        })?);
                    }
                    branches.push(Branch {
                        domain: Some(preimage(&domain)?),
                        coefficient: if access.reciprocal {
                            coefficient.recip().ok_or_else(|| {
                                let message =
                                    "the reciprocal of a coefficient leaves 64-bit floats";
                                Diagnostic::error("E0007", message, access.span, "read here")
                            })?
                        } else {
                            coefficient.clone()
                        },
                        read: Read { subscripts: targets, ..read.clone() },
                    });
                }
            }
        }
    }
    Ok(branches)
}

/// Parameters come back from isl with isl-safe names.
fn original_names(sets: &Sets, expression: &Affine, iterators: &[String]) -> Affine {
    let rename = expression
        .names()
        .into_iter()
        .filter(|name| !iterators.contains(name))
        .map(|name| (name.clone(), sets.names.original(&name).to_string()))
        .collect();
    expression.rename(&rename)
}
