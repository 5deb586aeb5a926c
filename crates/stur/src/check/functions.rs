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
            Term::Product(parts, _) => Scalar::Product(all(parts, self)?),
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
