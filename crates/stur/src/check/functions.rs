//! Functions of elements as factors: from terms to scalar expressions.

use super::Checker;
use crate::ast::{Operation, Term};
use crate::diagnostic::Diagnostic;
use crate::program::{Access, Applied, Product, Program, Scalar};

impl Checker<'_> {
    /// Adds a function to the factors of a product.
    pub(super) fn applied(&mut self, program: &Program, term: &Term, product: &mut Product) {
        let span = term.span();
        let (value, reciprocal) = match term {
            Term::Call { operation: Operation::Divide, arguments, .. } => match &arguments[..] {
                [Term::Number { value: 1.0, reciprocal: false, .. }, divisor] => (divisor, true),
                _ => (term, false),
            },
            _ => (term, false),
        };
        if let Some(value) = self.scalar(program, value, product) {
            product.functions.push(Applied { value, reciprocal, span });
        }
    }

    /// The value of a term, whose elements become arguments of the product. `None` if an error is reported.
    fn scalar(&mut self, program: &Program, term: &Term, product: &mut Product) -> Option<Scalar> {
        let mut all = |parts: &[Term], this: &mut Self| {
            let values = parts.iter().map(|part| this.scalar(program, part, product));
            values.collect::<Option<Vec<Scalar>>>()
        };
        Some(match term {
            Term::Sum(parts, _) => Scalar::Sum(all(parts, self)?),
            Term::Product(parts, _) => {
                let mut found = None;
                for part in parts {
                    // As it is written: `a / 49` is no product with a rounded reciprocal.
                    let divisor = divisor(part);
                    let own = self.scalar(program, divisor.as_ref().unwrap_or(part), product)?;
                    found = Some(match (found, divisor) {
                        (dividend, Some(_)) => {
                            let dividend = dividend.unwrap_or(Scalar::Number(1.0));
                            Scalar::Apply(Operation::Divide, vec![dividend, own])
                        }
                        (None, None) => own,
                        (Some(Scalar::Product(mut factors)), None) => {
                            factors.push(own);
                            Scalar::Product(factors)
                        }
                        (Some(one), None) => Scalar::Product(vec![one, own]),
                    });
                }
                found.unwrap_or(Scalar::Number(1.0))
            }
            Term::Call { operation, arguments, .. } => {
                Scalar::Apply(*operation, all(arguments, self)?)
            }
            Term::Number { value, reciprocal, .. } => {
                Scalar::Number(if *reciprocal { value.recip() } else { *value })
            }
            Term::Comparison(comparison) => Scalar::Holds(comparison.clone()),
            Term::Index(name) => match self.symbol(&name.text) {
                Some(symbol) => Scalar::Symbol(symbol),
                None => Scalar::Index(name.text.clone()),
            },
            Term::Access { position: Some(_), span, .. } => {
                let what = "the position of an element in an argument of a function";
                let error = Diagnostic::unsupported(what, *span, "within an argument");
                self.report(error.hint("positions are factors: multiply with it"));
                return None;
            }
            Term::Access { tensor, subscripts, reciprocal, span, .. } => {
                if let Some(symbol) = self.symbol(&tensor.text) {
                    let symbol = Scalar::Symbol(symbol);
                    return Some(match reciprocal {
                        true => Scalar::Apply(Operation::Divide, vec![Scalar::Number(1.0), symbol]),
                        false => symbol,
                    });
                }
                let access = Access {
                    tensor: program.find(&tensor.text)?,
                    subscripts: subscripts.clone(),
                    reciprocal: *reciprocal,
                    position: None,
                    argument: true,
                    span: *span,
                };
                let same = |other: &Access| {
                    other.argument
                        && other.tensor == access.tensor
                        && other.subscripts == access.subscripts
                        && other.reciprocal == access.reciprocal
                };
                let at = product.accesses.iter().position(same).unwrap_or_else(|| {
                    product.accesses.push(access.clone());
                    product.accesses.len() - 1
                });
                Scalar::Element(at)
            }
            // Reductions have rules of their own.
            Term::Reduced { .. } => return None,
        })
    }
}

/// What a factor divides by, if it is a reciprocal: `x^-1(i)` -> `x(i)`, `1 / (a(i) + 1)` -> `a(i) + 1`.
fn divisor(factor: &Term) -> Option<Term> {
    let mut divisor = factor.clone();
    match &mut divisor {
        Term::Call { operation: Operation::Divide, arguments, .. }
            if matches!(arguments[..], [Term::Number { value: 1.0, reciprocal: false, .. }, _]) =>
        {
            arguments.pop()
        }
        Term::Number { reciprocal, .. } | Term::Access { reciprocal, position: None, .. } => {
            std::mem::take(reciprocal).then_some(divisor)
        }
        _ => None,
    }
}
