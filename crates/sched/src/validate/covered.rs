//! [`Property::Statements`](super::Property): compares the statements that inference found with the program itself.
//!
//! For each product of the rule, and each case of a product with functions, this file computes anew where all of its
//! factors may be non-zero. Restricted to the
//! unique elements of the head, that set must be the points of the product's statements, each point exactly once. Each
//! read of a statement must be a read of the program that was led to a unique element by the redundancy map of its
//! tensor, with its coefficient.
//!
//! Two claims of inference are not proven again: that the redundancy map of a computed tensor is true, and that
//! elements which are their own negatives are zero.

use dastac_poly::Set;
use dastac_stur::ast::Operation;
use dastac_stur::infer::{InferredRule, Redundancy, Statement};
use dastac_stur::program::{Access, Product, Scalar};
use dastac_stur::sets::{Affine, affine};
use dastac_stur::{Coefficient, TensorId};

use super::cases::Case;
use super::{Stop, Validator};

impl Validator<'_> {
    /// Whether a rule applies functions to elements.
    pub(super) fn has_functions(&self, rule: &InferredRule) -> bool {
        let source = &self.inferred.program.rules[rule.rule.0];
        let mut products = source.products.iter();
        let mut statements = rule.statements.iter();
        products.any(|product| !product.functions.is_empty())
            || statements.any(|statement| !statement.functions.is_empty())
    }

    /// Proves that the statements of a rule are its products.
    pub(super) fn statements(&self, rule: &InferredRule) -> Result<(), Stop> {
        let sets = &self.inferred.sets;
        let source = &self.inferred.program.rules[rule.rule.0];
        let structured = &self.inferred.tensors[rule.head.0];
        let head = source.subscripts();
        let mut support = sets.empty(&source.iterators)?;
        for (position, product) in source.products.iter().enumerate() {
            let space = self.space(rule, product, &head)?;
            let mut statements: Vec<&Statement> =
                rule.statements.iter().filter(|s| s.product == position).collect();
            let cases = self.cases(rule, product, &space)?;
            let several = cases.len() != 1;
            for case in cases {
                let to_head = sets.access(case.iterators, &head)?;
                support = support.union(&self.nonzero(product, &case, &head)?)?;
                let unique = to_head.intersect_range(&structured.unique)?.domain()?;
                let mut open = case.domain.intersect(&unique)?;
                let mut others = Vec::new();
                for statement in statements {
                    let of_other = statement.iterators != case.iterators
                        || several && !statement.domain.is_subset(&case.domain)?;
                    if of_other {
                        others.push(statement);
                        continue;
                    }
                    let outside = statement.domain.subtract(&open)?;
                    if !outside.is_empty()? {
                        let at = self.instance(case.iterators, &outside)?;
                        return Err(Stop::refuted(format!("too much is computed: {at}")));
                    }
                    open = open.subtract(&statement.domain)?;
                    self.reads(product, &case, statement)?;
                }
                if !open.is_empty()? {
                    let at = self.instance(case.iterators, &open)?;
                    return Err(Stop::refuted(format!("nothing is computed {at}")));
                }
                statements = others;
            }
            if let Some(statement) = statements.first() {
                let at = self.instance(&statement.iterators, &statement.domain)?;
                return Err(Stop::refuted(format!("too much is computed: {at}")));
            }
        }
        let iterators = &structured.iterators;
        let different = |set: &Set, why: &str| -> Result<(), Stop> {
            match set.is_empty()? {
                true => Ok(()),
                false => Err(Stop::refuted(format!(
                    "the element {} {why}",
                    self.instance(iterators, set)?
                ))),
            }
        };
        let uncovered = support.subtract(&structured.support)?.subtract(&structured.cancelled)?;
        let is_whole = self.inferred.wholes.contains(&rule.head);
        // Of a copy of a result, which is read where it is kept, no more is computed.
        if !is_whole {
            different(&uncovered, "is computed, but not in the support")?;
        }
        let mut rest = structured.support.subtract(&structured.unique)?;
        // What a copy has beside the elements of an operand, or of a result, is set to zero with all others.
        if !is_whole && !self.inferred.copies.contains_key(&rule.head) {
            different(&structured.unique.subtract(&support)?, "is unique, but not computed")?;
        }
        for piece in &structured.redundancy {
            let domain = piece.domain()?;
            different(&domain.intersect(&structured.unique)?, "is unique and redundant")?;
            different(&domain.subtract(&rest)?, "is redundant twice")?;
            rest = rest.subtract(&domain)?;
            if let Redundancy::Affine { map, .. } = piece {
                different(
                    &map.range()?.subtract(&structured.unique)?,
                    "is led to, but not unique",
                )?;
            }
        }
        different(&rest, "is neither unique nor redundant")
    }

    /// The points, within the dimensions of the head, at which every factor of a product may be non-zero.
    fn space(&self, rule: &InferredRule, product: &Product, head: &[Affine]) -> Result<Set, Stop> {
        let sets = &self.inferred.sets;
        let mut space = sets.set(&product.iterators, &[], &product.comparisons)?;
        for access in &product.accesses {
            let reads = match access.argument {
                false => self.supported(product, access)?,
                true => self.within(rule, product, access)?,
            };
            space = space.intersect(&reads)?;
        }
        if let Some(declared) = &self.inferred.program.tensor(rule.head).domain {
            let inside = sets.structure(declared)?;
            let map = sets.access(&product.iterators, head)?;
            space = space.intersect(&map.intersect_range(&inside)?.domain()?)?;
        } else {
            // Products may leave the dimensions to others.
            let structured = &self.inferred.tensors[rule.head.0];
            let inside = sets.box_set(&structured.iterators, &structured.extents)?;
            let map = sets.access(&product.iterators, head)?;
            space = space.intersect(&map.intersect_range(&inside)?.domain()?)?;
        }
        Ok(space)
    }

    /// The elements of the head that a case of a product may make other than zero.
    fn nonzero(&self, product: &Product, case: &Case<'_>, head: &[Affine]) -> Result<Set, Stop> {
        let copied = self.copied(product, case.iterators)?;
        let to_head = self.inferred.sets.access(case.iterators, head)?;
        Ok(case.domain.intersect(&copied)?.apply(&to_head)?)
    }

    /// The points at which copies that a product reads have elements of what they are copies of.
    fn copied(&self, product: &Product, iterators: &[String]) -> Result<Set, Stop> {
        let sets = &self.inferred.sets;
        let mut points = sets.set(iterators, &[], &[])?;
        for access in &product.accesses {
            let reached = self.reached(access.tensor)?;
            if let Some(elements) = self.inferred.copies.get(&access.tensor).or(reached.as_ref()) {
                let map = sets.access(iterators, &subscripts(access)?)?;
                points = points.intersect(&map.intersect_range(elements)?.domain()?)?;
            }
        }
        Ok(points)
    }

    /// The elements of a copy of a result that its rule may make other than zero: the copy has all that is around them.
    fn reached(&self, copy: TensorId) -> Result<Option<Set>, Stop> {
        let mut rules = self.inferred.rules.iter();
        let Some(rule) = rules.find(|rule| rule.head == copy) else { return Ok(None) };
        if !self.inferred.wholes.contains(&copy) {
            return Ok(None);
        }
        let sets = &self.inferred.sets;
        let source = &self.inferred.program.rules[rule.rule.0];
        let head = source.subscripts();
        let mut reached = sets.empty(&source.iterators)?;
        for product in &source.products {
            let space = self.space(rule, product, &head)?;
            for case in self.cases(rule, product, &space)? {
                reached = reached.union(&self.nonzero(product, &case, &head)?)?;
            }
        }
        Ok(Some(reached))
    }

    /// The points at which an argument is within its dimensions, as far as these bound iterators: those that are its
    /// subscripts, but for those of a head with dimensions of its own.
    fn within(&self, rule: &InferredRule, product: &Product, access: &Access) -> Result<Set, Stop> {
        let (sets, source) = (&self.inferred.sets, &self.inferred.program.rules[rule.rule.0]);
        let has_box = self.inferred.program.tensor(rule.head).domain.is_some()
            || source.products.iter().any(|product| source.is_open(product));
        let operand = &self.inferred.tensors[access.tensor.0];
        let mut domain = sets.set(&product.iterators, &[], &[])?;
        for (k, subscript) in subscripts(access)?.iter().enumerate() {
            let name = product.iterators.iter().find(|name| subscript.as_name() == Some(name));
            let Some(name) = name.filter(|name| !(has_box && source.iterators.contains(name)))
            else {
                continue;
            };
            let side = sets.box_set(&operand.iterators[k..=k], &operand.extents[k..=k])?;
            let map = sets.access(&product.iterators, &[Affine::name(name)])?;
            domain = domain.intersect(&map.intersect_range(&side)?.domain()?)?;
        }
        Ok(domain)
    }

    /// Proves that the reads, the functions and the coefficient of a statement are those of a case of the product.
    fn reads(&self, product: &Product, case: &Case<'_>, statement: &Statement) -> Result<(), Stop> {
        if statement.reads.len() != case.accesses.len() {
            return Err(Stop::undecided("a statement with other factors than its product"));
        }
        let mut coefficient = product.coefficient * case.coefficient;
        let mut functions = case.functions.clone();
        let mut symbols: Vec<(usize, bool)> =
            product.symbols.iter().map(|s| (s.symbol, s.reciprocal)).collect();
        let accesses = case.accesses.iter().map(|at| &product.accesses[*at]);
        for (at, (access, read)) in accesses.zip(&statement.reads).enumerate() {
            let same = access.tensor == read.tensor && access.reciprocal == read.reciprocal;
            let through = self.through(access, statement, &read.subscripts, &read.sorted)?;
            let factor = match through {
                Some(factor) if same && access.reciprocal => factor.recip(),
                through => through.filter(|_| same),
            };
            let Some(factor) = factor else {
                let name = &self.inferred.program.tensor(access.tensor).name;
                return Err(Stop::refuted(format!("another element of `{name}` is read")));
            };
            if access.argument {
                for (value, _) in &mut functions {
                    *value = scaled(value, at, &factor);
                }
                continue;
            }
            coefficient *= factor.factor();
            symbols.extend(factor.symbol_factors());
        }
        let found = statement.functions.iter().map(|one| (one.value.clone(), one.reciprocal));
        if !found.eq(functions) {
            return Err(Stop::refuted("other functions than those of its product"));
        }
        if (coefficient - statement.coefficient).abs() > 1e-12 * coefficient.abs() {
            return Err(Stop::refuted(format!(
                "the coefficient is {}, not {coefficient}",
                statement.coefficient
            )));
        }
        let mut found = statement.symbols.clone();
        found.sort_unstable();
        symbols.sort_unstable();
        if found != symbols {
            return Err(Stop::refuted(
                "a statement with other symbols as factors than its product",
            ));
        }
        Ok(())
    }

    /// The coefficient with which the element that is read stands for the element that the program accesses, on all of
    /// the statement's domain. `None` if it does not stand for it.
    fn through(
        &self,
        access: &Access,
        statement: &Statement,
        read: &[Affine],
        sorted: &[Vec<usize>],
    ) -> Result<Option<Coefficient>, Stop> {
        let sets = &self.inferred.sets;
        let domain = &statement.domain;
        let wanted = sets.access(&statement.iterators, &subscripts(access)?)?;
        let wanted = wanted.intersect_domain(domain)?;
        let found = sets.access(&statement.iterators, read)?.intersect_domain(domain)?;
        let reached = wanted.range()?;
        let operand = &self.inferred.tensors[access.tensor.0];
        let as_written = wanted.is_equal(&found)?;
        if sorted.is_empty() && as_written && reached.is_subset(&operand.unique)? {
            return Ok(Some(Coefficient::one()));
        }
        for piece in &operand.redundancy {
            match piece {
                // Sorted subscripts of a unique element are its own subscripts.
                Redundancy::Sorted { domain, classes } => {
                    let within = reached.is_subset(&domain.union(&operand.unique)?)?;
                    if within && as_written && sorted == classes.as_slice() {
                        return Ok(Some(Coefficient::one()));
                    }
                }
                Redundancy::Affine { map, coefficient } => {
                    let leads = sorted.is_empty() && reached.is_subset(&map.domain()?)?;
                    if leads && wanted.apply_range(map)?.is_equal(&found)? {
                        return Ok(Some(coefficient.clone()));
                    }
                }
            }
        }
        Ok(None)
    }
}

/// A function of a multiple of an element.
fn scaled(value: &Scalar, element: usize, factor: &Coefficient) -> Scalar {
    let symbol = |(at, reciprocal)| match reciprocal {
        false => Scalar::Symbol(at),
        true => Scalar::Apply(Operation::Divide, vec![Scalar::Number(1.0), Scalar::Symbol(at)]),
    };
    value.map(&mut |leaf| match leaf {
        Scalar::Element(at) if *at == element && !factor.is_one() => {
            let number = [Scalar::Number(factor.factor())].into_iter();
            let symbols = factor.symbol_factors().map(symbol);
            Scalar::Product(number.chain(symbols).chain([leaf.clone()]).collect())
        }
        leaf => leaf.clone(),
    })
}

fn subscripts(access: &Access) -> Result<Vec<Affine>, Stop> {
    access.subscripts.iter().map(|subscript| Ok(affine(subscript)?)).collect()
}
