//! A rule that reads dynamic tensors as a kernel over levels.
//!
//! Each statement becomes products, one for each part of its domain: its dynamic reads are factors that are walked, all
//! others are located by the index polynomials of their layouts; what its ranges and the dynamic tensors' boxes leave
//! open of the domain are conditions.
//!
//! Before -> after, `A` in rows and `L` packed below the diagonal, `y(i, k) := A(i, j) * L(j, k)`:
//! `y[..] += A(i, j) * L[j*(j+1)/2 + k]` where `j - k >= 0`.

use std::collections::BTreeSet;

use dastac_iterate::{Factor, Kernel, Linear, Operand, Product, Walking};
use dastac_layout::convert::membership;
use dastac_layout::{affine_to_index, expr_to_index};
use dastac_loops::{Compare, Condition, Index, Module, Value, VarId};
use dastac_poly::Set;
use dastac_stur::Diagnostic;
use dastac_stur::infer::fold;
use dastac_stur::infer::{Inferred, InferredRule, Read, Statement};
use dastac_stur::program::{Applied, Rule, Scalar, TensorId};
use dastac_stur::semiring::Semiring;
use dastac_stur::sets::Affine;

use super::gather::is_few;
use super::linear::{iterator, linear, split};
use super::ranges::{Range, range};
use super::shift::Lowers;
use crate::SchedError;
use crate::elements::{buffer, comparison, extents, reached, sorted};
use crate::nest::symbol;
use crate::scalar::{self, Leaves};
use dastac_layout::{Layout, LayoutError};

/// A rule on the way to a kernel.
pub(super) struct Translation<'a> {
    inferred: &'a Inferred,
    layouts: &'a [Layout],
    module: &'a Module,
    rule: &'a InferredRule,
    /// Iterators in the order of loops that is wanted.
    iterators: Vec<String>,
    ranges: Vec<Range>,
    /// The operands' formats, one for each dynamic read in order.
    operands: Vec<(TensorId, Operand)>,
}

impl<'a> Translation<'a> {
    pub(super) fn new(
        inferred: &'a Inferred,
        layouts: &'a [Layout],
        module: &'a Module,
        rule: &'a InferredRule,
    ) -> Result<Translation<'a>, SchedError> {
        let definition = &inferred.program.rules[rule.rule.0];
        let iterators = order(definition, &rule.statements);
        let resolve = |name: &str| symbol(module, &inferred.sets, name);
        let in_levels = inferred.program.tensor(rule.head).format.is_some();
        let mut ranges = Vec::new();
        for name in &iterators {
            let of_head = definition.iterators.iter().position(|own| own == name);
            let mut range = match of_head.filter(|_| in_levels) {
                Some(dimension) => whole(inferred, module, rule.head, dimension)?,
                None => range(&inferred.sets, &rule.statements, name, &resolve)?,
            };
            let mut reads = rule.statements.iter().flat_map(|statement| &statement.reads);
            if reads.any(|read| read.position.as_ref() == Some(name)) {
                range.begin_at_zero();
            }
            ranges.push(range);
        }
        let operands = Vec::new();
        Ok(Translation { inferred, layouts, module, rule, iterators, ranges, operands })
    }

    /// The kernel, each dynamic read in the format that `operand` gives for its tensor; and which tensors its operands
    /// are.
    pub(super) fn kernel(
        mut self,
        operand: &dyn Fn(TensorId) -> Option<Operand>,
    ) -> Result<(Kernel, Vec<TensorId>), SchedError> {
        let mut products = Vec::new();
        for statement in &self.rule.statements {
            products.extend(self.products(statement, operand)?);
        }
        let definition = self.definition();
        let at = |name: &String| self.iterators.iter().position(|other| other == name);
        let head: Vec<usize> = definition.iterators.iter().filter_map(at).collect();
        let subscripts: Vec<Index> = head.iter().map(|at| self.value(*at)).collect();
        // Elements of a result in levels are placed by what assembles it.
        let place = match self.inferred.program.tensor(self.rule.head).format {
            Some(_) => Index::Const(0),
            None => {
                let layout = &self.layouts[self.rule.head.0];
                layout.position(&subscripts, &|name| self.symbol(name))?
            }
        };
        let names = self.iterators.iter().map(|name| self.inferred.sets.names.isl(name).to_owned());
        let extents = self.ranges.iter().map(|range| range.extent.clone());
        let (tensors, operands) = self.operands.into_iter().unzip();
        let mut kernel = Kernel {
            reserves: false,
            iterators: names.zip(extents).collect(),
            operands,
            result: buffer(self.rule.head),
            head,
            place,
            products,
            order: (0..self.iterators.len()).collect(),
            unsplit: None,
            gathers: None,
            walking: Walking::default(),
            semiring: definition.semiring,
            zero: self.inferred.program.start(self.rule.head),
        };
        // What the user wants stands; the rest is chosen.
        if !definition.has_order() {
            kernel.order = early(&kernel, settled(&kernel, kernel.chosen_order()));
        }
        Ok((kernel, tensors))
    }

    fn definition(&self) -> &'a Rule {
        &self.inferred.program.rules[self.rule.rule.0]
    }

    /// Where its iterators begin.
    pub(super) fn lowers(&self) -> Lowers {
        let ranges = self.ranges.iter().map(|range| range.lower.clone());
        let names = self.iterators.iter().map(|name| self.inferred.sets.names.isl(name).to_owned());
        names.zip(ranges).collect()
    }

    /// What an iterator is.
    fn value(&self, at: usize) -> Index {
        iterator(at) + self.ranges[at].lower.clone()
    }

    fn symbol(&self, name: &str) -> Option<Index> {
        symbol(self.module, &self.inferred.sets, name)
    }

    /// What a name (the program's or its isl-safe form) stands for.
    fn resolve(&self, name: &str) -> Option<Index> {
        let names = &self.inferred.sets.names;
        let own = |other: &String| other == name || names.isl(other) == name;
        match self.iterators.iter().position(own) {
            Some(at) => Some(self.value(at)),
            None => self.symbol(name),
        }
    }

    /// The products of a statement.
    fn products(
        &mut self,
        statement: &Statement,
        operand: &dyn Fn(TensorId) -> Option<Operand>,
    ) -> Result<Vec<Product>, SchedError> {
        let mut defined = self.defined(statement)?;
        // The factor of each read that is dynamic.
        let mut walked: Vec<Option<Factor>> = Vec::new();
        for read in &statement.reads {
            let Some(operand) = operand(read.tensor) else {
                walked.push(None);
                continue;
            };
            let subscripts = self.linear_subscripts(read, operand.extents.clone(), &mut defined)?;
            let place = |name: &String| self.iterators.iter().position(|other| other == name);
            let position = read.position.as_ref().and_then(place);
            let value = Factor::value(self.operands.len(), subscripts);
            walked.push(Some(Factor { position, argument: read.argument, ..value }));
            self.operands.push((read.tensor, operand));
        }
        let quotients = self.quotients(&walked, &mut defined);
        let fill = |tensor: TensorId| self.inferred.program.fill(tensor);
        let everywhere: Vec<bool> = (0..walked.len())
            .map(|at| self.is_everywhere(statement, at, walked[at].as_ref()))
            .collect::<Result<_, _>>()?;
        let semiring = self.definition().semiring;
        let cases = cases(statement, (&walked, &everywhere), semiring, &fill);
        let has_fill = self.definition().fill.is_some();
        let fills = |case: &&Case| match has_fill {
            true => case.present.is_empty() && case.constant().is_none(),
            false => !case.absent.is_empty() && !self.places_head(statement, case),
        };
        if let Some(case) = cases.iter().find(fills) {
            self.refuse_fill(statement, case)?;
        }
        let mut products = Vec::new();
        let mut parts = Vec::new();
        for case in &cases {
            let known = self.known(statement, &case.present)?;
            let open = statement.domain.gist(&known)?.coalesce()?;
            let each = match open.basic_set_count()? {
                0 | 1 => vec![open],
                _ => open.make_disjoint()?.coalesce()?.basic_sets()?,
            };
            parts.extend(each.into_iter().map(|part| (part, known.clone(), case)));
        }
        for (part, known, case) in parts {
            let names = statement.domain.dims()?;
            let part = part.with_dim_names(&names)?;
            let domain = part.intersect(&statement.domain)?;
            if domain.is_empty()? {
                continue;
            }
            let here = Statement { domain, ..statement.clone() };
            let resolve = |name: &str| self.resolve(name);
            let (mut conditions, mut tests) = split(membership(&part, &known, &resolve)?);
            conditions.extend(quotients.iter().cloned());
            conditions.extend(self.digits(&conditions));
            // Loops of the head stay within what is stored of it, also where there is nothing to add up.
            let (head, of_head) = split(self.within_head(&here)?);
            conditions.extend(head);
            tests.extend(of_head);
            for guard in &statement.guards {
                tests.push(Condition::compare(
                    comparison(guard.operator),
                    expr_to_index(&guard.left, &resolve)?,
                    expr_to_index(&guard.right, &resolve)?,
                ));
            }
            let chosen = |reads: &[usize]| -> Vec<Factor> {
                reads.iter().filter_map(|read| walked[*read].clone()).collect()
            };
            if let Some(number) = case.constant().filter(|_| has_fill && case.present.is_empty()) {
                let constant = Product {
                    coefficient: statement.coefficient * number,
                    absent: chosen(&case.absent),
                    defined: defined.clone(),
                    conditions,
                    tests,
                    ..Product::default()
                };
                products.extend(self.beside_others(&constant, operand)?);
                continue;
            }
            let mut product = Product {
                coefficient: statement.coefficient,
                absent: chosen(&case.absent),
                defined: defined.clone(),
                factors: chosen(&case.present),
                values: self.values(&here, case, &|id| operand(id).is_some())?,
                conditions,
                tests,
            };
            self.choose_by_elements(statement, &mut product)?;
            // A product is added at all points of its iterators, also of those that are in nothing that is left.
            for name in &statement.iterators {
                let at = self.iterators.iter().position(|other| other == name);
                let of_head = self.definition().iterators.contains(name);
                if let Some(at) = at.filter(|at| !of_head && !product.mentions(*at)) {
                    product.conditions.push(Linear::new(vec![(at, 1)], Index::Const(0)));
                }
            }
            products.push(product);
        }
        Ok(products)
    }

    /// A product that is a number, where some elements are not stored, for each way in which others of the rule are: it
    /// is the fill where none is.
    fn beside_others(
        &mut self,
        constant: &Product,
        operand: &dyn Fn(TensorId) -> Option<Operand>,
    ) -> Result<Vec<Product>, SchedError> {
        let mut others: Vec<(TensorId, Vec<Linear>)> = Vec::new();
        for statement in &self.rule.statements {
            for read in statement.reads.iter().filter(|read| operand(read.tensor).is_some()) {
                let mut defined = Vec::new();
                let subscripts = self.linear_subscripts(read, Vec::new(), &mut defined)?;
                if !defined.is_empty() {
                    let span = self.definition().products[statement.product].span;
                    let what = "a quotient in a subscript beside a fill";
                    let error = Diagnostic::unsupported(what, span, "in a product of this rule");
                    return Err(LayoutError::Program(vec![error]).into());
                }
                let other = (read.tensor, subscripts);
                let own = |factor: &Factor| {
                    self.operands[factor.operand].0 == other.0 && factor.subscripts == other.1
                };
                if !constant.absent.iter().any(own) && !others.contains(&other) {
                    others.push(other);
                }
            }
        }
        if others.len() > MOST_OTHERS {
            let span = self.definition().span;
            let what = format!("a fill beside more than {MOST_OTHERS} elements with formats");
            let hint = "compute a part of the sum in a rule of its own";
            let error =
                Diagnostic::unsupported(what, span, "each way in which they are stored is a case");
            return Err(LayoutError::Program(vec![error.hint(hint)]).into());
        }
        let mut products = Vec::new();
        for which in 1..1usize << others.len() {
            let mut product = constant.clone();
            for (at, (tensor, subscripts)) in others.iter().enumerate() {
                let Some(operand) = operand(*tensor) else { continue };
                let value = Factor::value(self.operands.len(), subscripts.clone());
                self.operands.push((*tensor, operand));
                match which >> at & 1 {
                    0 => product.absent.push(value),
                    _ => product.factors.push(Factor { argument: true, ..value }),
                }
            }
            products.push(product);
        }
        Ok(products)
    }

    /// Whether elements that are stored say where a case's elements of the head are: they have all of its iterators.
    fn places_head(&self, statement: &Statement, case: &Case) -> bool {
        let subscripts = case.present.iter().flat_map(|read| &statement.reads[*read].subscripts);
        let names: BTreeSet<String> = subscripts.flat_map(Affine::names).collect();
        self.definition().iterators.iter().all(|name| names.contains(name))
    }

    /// A result with a format stores elements that are not 0: what elements that are not stored give is not among them.
    fn refuse_fill(&self, statement: &Statement, case: &Case) -> Result<(), SchedError> {
        let head = self.inferred.program.tensor(self.rule.head);
        let Some(stored) = &head.format else { return Ok(()) };
        let span = case.functions.first().map_or_else(
            || self.definition().products[statement.product].span,
            |function| function.span,
        );
        let of = &self.inferred.program.tensor(statement.reads[case.absent[0]].tensor).name;
        let message = format!("`{}:F` would have to store what is not stored of `{of}`", head.name);
        let mut hint = format!(
            "leave `{}:F` out, so that all elements are stored, or multiply with a tensor of ones in the places that \
            are to be stored",
            head.name
        );
        if self.definition().semiring == Semiring::Max {
            hint += "; `max_times(..)` is the largest of the products that are stored, if none is negative";
        }
        let error = Diagnostic::error("E0134", message, span, "not 0 where its argument is 0")
            .label(stored.span, "stored like this")
            .hint(hint);
        Err(LayoutError::Program(vec![error]).into())
    }

    /// Where a statement's head's element is stored, as far as the ranges of the head's iterators leave that open:
    /// loops inside may be over nothing, so that what they are over says nothing of the head, and its loops may go on
    /// at sizes at which the statement has no points. Results in levels have a place for every element.
    fn within_head(&self, statement: &Statement) -> Result<Condition, SchedError> {
        if self.inferred.program.tensor(self.rule.head).format.is_some() {
            return Ok(Condition::TRUE);
        }
        let map =
            self.inferred.sets.access(&statement.iterators, &self.definition().subscripts())?;
        let stored = &self.layouts[self.rule.head.0].stored;
        let outer = self.in_ranges(&statement.iterators, &self.definition().iterators)?;
        let reached = outer.apply(&map)?;
        if reached.is_subset(stored)? {
            return Ok(Condition::TRUE);
        }
        let head = statement.domain.apply(&map)?;
        let simple = head.gist_params(&head.params_set()?)?;
        let head = if reached.intersect(&simple)?.is_subset(stored)? { simple } else { head };
        let names = statement.domain.dims()?;
        let head = map.intersect_range(&head)?.domain()?.with_dim_names(&names)?;
        Ok(membership(&head, &outer, &|name| self.resolve(name))?)
    }

    /// Whether a read of a dynamic tensor finds an element at all points of a statement.
    fn is_everywhere(
        &self,
        statement: &Statement,
        at: usize,
        factor: Option<&Factor>,
    ) -> Result<bool, SchedError> {
        let full = |factor: &Factor| self.operands[factor.operand].1.format.is_full();
        if !factor.is_some_and(full) {
            return Ok(false);
        }
        let (sets, read) = (&self.inferred.sets, &statement.reads[at]);
        let structured = &self.inferred.tensors[read.tensor.0];
        let within = sets.box_set(&structured.iterators, &structured.extents)?;
        let map = sets.access(&statement.iterators, &read.subscripts)?;
        Ok(statement.domain.is_subset(&map.intersect_range(&within)?.domain()?)?)
    }

    /// What holds at the points of a statement's loops: the iterators are in their ranges, subscripts of dynamic
    /// tensors whose elements are `present` within these.
    fn known(&self, statement: &Statement, present: &[usize]) -> Result<Set, SchedError> {
        let sets = &self.inferred.sets;
        let mut known = self.in_ranges(&statement.iterators, &self.iterators)?;
        for read in present.iter().map(|at| &statement.reads[*at]) {
            if self.inferred.program.tensor(read.tensor).format.is_some() {
                let structured = &self.inferred.tensors[read.tensor.0];
                let within = match self.inferred.program.tensor(read.tensor).rule() {
                    Some(_) => structured.unique.clone(),
                    None => sets.box_set(&structured.iterators, &structured.extents)?,
                };
                let map = sets.access(&statement.iterators, &read.subscripts)?;
                known = known.intersect(&map.intersect_range(&within)?.domain()?)?;
            }
        }
        Ok(known)
    }

    /// The points over some iterators at which those that are `wanted` are in their ranges.
    fn in_ranges(&self, iterators: &[String], wanted: &[String]) -> Result<Set, SchedError> {
        let sets = &self.inferred.sets;
        let mut known = sets.universe(iterators)?;
        for (name, range) in self.iterators.iter().zip(&self.ranges) {
            let own = iterators.contains(name) && wanted.contains(name);
            if let Some(side) = range.known.as_ref().filter(|_| own) {
                let map = sets.access(iterators, &[Affine::name(name)])?;
                known = known.intersect(&map.intersect_range(side)?.domain()?)?;
            }
        }
        Ok(known)
    }

    /// Whether the ranges of the head's iterators hold all that is stored of it. That may be more than what products
    /// reach where elements without products are infinite.
    pub(super) fn covers_head(&self) -> Result<bool, SchedError> {
        let Rule { head, iterators, .. } = self.definition();
        if self.inferred.program.zero(*head) == 0.0 {
            return Ok(true);
        }
        let ranges = self.iterators.iter().zip(&self.ranges);
        let mut of_head = ranges.filter(|(name, _)| iterators.contains(name));
        let known = of_head.all(|(_, range)| range.known.is_some());
        let within = self.in_ranges(iterators, iterators)?;
        Ok(known && self.layouts[head.0].stored.is_subset(&within)?)
    }

    /// The iterators that comparisons of a statement compute, with their values.
    fn defined(&self, statement: &Statement) -> Result<Vec<(usize, Index)>, SchedError> {
        let mut all = Vec::new();
        for definition in &statement.definitions {
            let value = expr_to_index(&definition.value, &|name| self.resolve(name))?;
            let own = |other: &&String| **other == definition.iterator;
            if let Some(at) = self.iterators.iter().position(|other| own(&other)) {
                all.push((at, value - self.ranges[at].lower.clone()));
            }
        }
        Ok(all)
    }

    /// Has integers of inputs give the iterators that they are compared with, in place of factors that are 0 or 1:
    /// what they do not choose is not there.
    ///
    /// Before -> after: `compare(p[i] == index(k))` is no factor any more, and `k` is `p[i]`. Where it is something
    /// else already, it is a test.
    fn choose_by_elements(
        &self,
        statement: &Statement,
        product: &mut Product,
    ) -> Result<(), SchedError> {
        let definition = self.definition();
        if definition.semiring != Semiring::SumTimes || definition.fill.is_some() {
            return Ok(());
        }
        let in_levels = self.inferred.program.tensor(self.rule.head).format.is_some();
        let mut values = Vec::new();
        for value in std::mem::take(&mut product.values) {
            let Some((at, given, everywhere)) = self.chosen(statement, &value)? else {
                values.push(value);
                continue;
            };
            let is_new = !product.defined.iter().any(|(other, _)| *other == at);
            match (in_levels, definition.iterators.contains(&self.iterators[at])) {
                // Terms are sent to dense results by what is made of the loops.
                (false, true) => values.push(value),
                _ if is_new && everywhere => product.defined.push((at, given)),
                _ => product.tests.push(given.equal(Index::Var(VarId(at as u32)))),
            }
        }
        product.values = values;
        Ok(())
    }

    /// The iterator that an element of an input is compared with, what it is then, and whether this can be read
    /// wherever iterators are in their ranges, whatever conditions there are inside.
    fn chosen(
        &self,
        statement: &Statement,
        value: &Value,
    ) -> Result<Option<(usize, Index, bool)>, SchedError> {
        let Value::Compare(Compare::Eq, left, right) = value else { return Ok(None) };
        let (element, var) = match (&**left, &**right) {
            (element, Value::FromIndex(Index::Var(var))) => (element, *var),
            (Value::FromIndex(Index::Var(var)), element) => (element, *var),
            _ => return Ok(None),
        };
        let at = var.0 as usize;
        let (from, place) = match element {
            Value::Load(from, place) if !place.mentions(var) => (*from, place),
            // Elements outside of a tensor are 0.
            Value::Const(0.0) => return Ok(Some((at, Index::Const(0), true))),
            _ => return Ok(None),
        };
        let own = |read: &&Read| buffer(read.tensor) == from;
        let Some(read) = statement.reads.iter().find(own) else { return Ok(None) };
        if !self.inferred.program.tensor(read.tensor).chooses() {
            return Ok(None);
        }
        let names: Option<Vec<String>> =
            read.subscripts.iter().map(|one| one.as_name().map(str::to_owned)).collect();
        let known = |name: &String| {
            let at = self.iterators.iter().position(|other| other == name);
            at.is_some_and(|at| self.ranges[at].known.is_some())
        };
        let layout = &self.layouts[read.tensor.0];
        let everywhere = match names.filter(|names| names.iter().all(known)) {
            Some(names) => self.in_ranges(&names, &names)?.is_subset(&layout.stored)?,
            None => false,
        };
        let given = Index::Load(from, Box::new(place.clone()));
        Ok(Some((at, given, everywhere && layout.index.pieces.len() == 1)))
    }

    /// The subscripts of a dynamic read. One that is not linear, such as a quotient, becomes an iterator that others
    /// define, over a dimension of these extents.
    fn linear_subscripts(
        &mut self,
        read: &Read,
        extents: Vec<Index>,
        defined: &mut Vec<(usize, Index)>,
    ) -> Result<Vec<Linear>, SchedError> {
        let mut subscripts = Vec::new();
        for (dimension, subscript) in read.subscripts.iter().enumerate() {
            let index = affine_to_index(subscript, &|name| self.resolve(name))?;
            if let Some(found) = linear(&index) {
                subscripts.push(found);
                continue;
            }
            let known = defined.iter().find(|(_, value)| *value == index).map(|(at, _)| *at);
            let at = known.unwrap_or(self.iterators.len());
            if known.is_none() {
                // No iterator of a program has such a name.
                self.iterators.push(format!("subscript.{at}"));
                let extent = extents.get(dimension).cloned().unwrap_or(Index::Const(0));
                self.ranges.push(Range { lower: Index::Const(0), extent, known: None });
                defined.push((at, index));
            }
            subscripts.push(Linear::iterator(at));
        }
        Ok(subscripts)
    }

    /// What equalities with a sum's iterator of a constant number of values say of the others.
    ///
    /// Before -> after, `p = 5 * a + c` where `0 <= c < 5`: `0 <= p - 5 * a < 5`, which bounds `a` before `c` is known.
    fn digits(&self, conditions: &[Linear]) -> Vec<Linear> {
        let negated = |one: &Linear| {
            let terms = one.terms().iter().map(|(at, by)| (*at, -by));
            Linear::new(terms, Index::Const(0) - one.constant.clone())
        };
        let mut bounds = Vec::new();
        for one in conditions {
            let other = negated(one);
            let same = |known: &Linear| {
                let constant = known.constant.constant_difference(&other.constant) == Some(0);
                constant && known.terms() == other.terms()
            };
            if one.terms().len() < 3 || !conditions.iter().any(same) {
                continue;
            }
            for (at, by) in one.terms() {
                let of_head = self.definition().iterators.contains(&self.iterators[*at]);
                let Some(extent) = self.ranges[*at].extent.as_const() else { continue };
                if of_head || *by != -1 || extent < 1 {
                    continue;
                }
                // What is left is the iterator itself.
                let terms = one.terms().iter().copied().filter(|(other, _)| other != at);
                let rest = Linear::new(terms, one.constant.clone());
                let mut below = negated(&rest);
                below.constant = below.constant + (extent - 1);
                bounds.extend([rest, below]);
            }
        }
        bounds
    }

    /// What bounds the quotients among the iterators that subscripts define, where a level inside of others has them:
    /// these are walked, and what is divided takes few values for each. Takes them out of the defined ones.
    ///
    /// Before -> after, `A(i, j / 2)`: the level is searched for `j / 2`, for each `j` -> `2 * d <= j < 2 * d + 2` for
    /// each `d` of a row.
    fn quotients(
        &self,
        factors: &[Option<Factor>],
        defined: &mut Vec<(usize, Index)>,
    ) -> Vec<Linear> {
        let is_inner = |at: usize| {
            factors.iter().flatten().all(|factor| {
                let format = &self.operands[factor.operand].1.format;
                let first = format.order().and_then(|order| order.first().copied());
                let mut own = factor.subscripts.iter().enumerate();
                own.all(|(dimension, one)| one.coefficient(at) == 0 || first != Some(dimension))
            })
        };
        let mut bounds = Vec::new();
        defined.retain(|(at, value)| {
            let Index::FloorDiv(inner, by) = value else { return true };
            let Some(inner) = linear(inner).filter(|_| *by > 0 && is_inner(*at)) else {
                return true;
            };
            let negated = inner.terms().iter().map(|(at, by)| (*at, -by));
            let above = inner.terms().iter().copied().chain([(*at, -by)]);
            let below = negated.chain([(*at, *by)]);
            let rest = Index::Const(by - 1) - inner.constant.clone();
            bounds.extend([Linear::new(above, inner.constant.clone()), Linear::new(below, rest)]);
            false
        });
        bounds
    }

    /// The factors that are not dynamic.
    fn values(
        &self,
        statement: &Statement,
        case: &Case,
        dynamic: &dyn Fn(TensorId) -> bool,
    ) -> Result<Vec<Value>, SchedError> {
        let sets = &self.inferred.sets;
        let resolve = |name: &str| self.resolve(name);
        let factor = |value: Value, reciprocal: bool| match reciprocal {
            true => Value::constant(1.0) / value,
            false => value,
        };
        let mut values = Vec::new();
        for (index, reciprocal) in &statement.symbols {
            let name = &sets.names.parameters()[*index];
            let value = self.symbol(name).ok_or_else(|| SchedError::UnknownName(name.clone()))?;
            values.push(factor(Value::from_index(value), *reciprocal));
        }
        let mut elements = Vec::new();
        for (at, read) in statement.reads.iter().enumerate() {
            if dynamic(read.tensor) {
                let own = case.present.iter().position(|other| *other == at);
                elements.push(own.map(Product::element));
                continue;
            }
            let layout = &self.layouts[read.tensor.0];
            let mut subscripts = Vec::new();
            for subscript in &read.subscripts {
                subscripts.push(affine_to_index(subscript, &resolve)?);
            }
            sorted(&read.sorted, &mut subscripts, &mut |low, high| (low, high));
            let known = reached(sets, layout, statement, read)?;
            let position =
                layout.position_within(&known, &subscripts, &|name| self.symbol(name))?;
            let value = Value::load(buffer(read.tensor), position);
            elements.push(Some(match read.argument {
                true => factor(value, read.reciprocal),
                false => {
                    values.push(factor(value.clone(), read.reciprocal));
                    value
                }
            }));
        }
        for function in &case.functions {
            let leaves = Leaves {
                symbols: &sets.names.parameters(),
                resolve: &resolve,
                elements: &|at| elements.get(at).cloned().flatten(),
            };
            let value = scalar::value(&function.value, leaves)?;
            values.push(factor(value, function.reciprocal));
        }
        Ok(values)
    }
}

/// More elements with formats beside a fill are too many cases.
const MOST_OTHERS: usize = 4;

/// What a statement does where certain elements of dynamic tensors are stored, and others are not.
struct Case {
    /// Dynamic reads whose elements are stored.
    present: Vec<usize>,
    /// Those whose elements are not.
    absent: Vec<usize>,
    /// The functions then.
    functions: Vec<Applied>,
}

impl Case {
    /// The product of its functions, if these are numbers.
    fn constant(&self) -> Option<f64> {
        self.functions.iter().try_fold(1.0, |product, function| match function.value {
            Scalar::Number(value) if function.reciprocal => Some(product / value),
            Scalar::Number(value) => Some(product * value),
            _ => None,
        })
    }
}

/// The cases of a statement, which functions of elements make that may not be stored: `exp(A(i, j))` is 1 where `A` has
/// no element. A case that adds nothing is left out. Some elements are stored `everywhere`.
fn cases(
    statement: &Statement,
    (walked, everywhere): (&[Option<Factor>], &[bool]),
    semiring: Semiring,
    fill: &dyn Fn(TensorId) -> f64,
) -> Vec<Case> {
    let factors =
        (0..walked.len()).filter(|at| walked[*at].as_ref().is_some_and(|one| !one.argument));
    let first = Case {
        present: factors.collect(),
        absent: Vec::new(),
        functions: statement.functions.clone(),
    };
    let (mut waiting, mut done) = (vec![first], Vec::new());
    while let Some(mut case) = waiting.pop() {
        for function in &mut case.functions {
            function.value = fold(&function.value.map(&mut |leaf| match leaf {
                Scalar::Element(at) if case.absent.contains(at) => {
                    Scalar::Number(fill(statement.reads[*at].tensor))
                }
                leaf => leaf.clone(),
            }));
        }
        let zero = |function: &Applied| function.value == Scalar::Number(0.0);
        if case.functions.iter().any(zero) && !semiring.is_of_values() {
            continue;
        }
        let mut open = None;
        for function in &case.functions {
            function.value.visit(&mut |part| match part {
                Scalar::Element(at) if walked[*at].is_some() && !case.present.contains(at) => {
                    open = open.or(Some(*at));
                }
                _ => {}
            });
        }
        let Some(at) = open else {
            done.push(case);
            continue;
        };
        let Case { present, absent, functions } = case;
        let with = |list: &[usize]| list.iter().copied().chain([at]).collect();
        if !everywhere[at] {
            waiting.push(Case {
                present: present.clone(),
                absent: with(&absent),
                functions: functions.clone(),
            });
        }
        waiting.push(Case { present: with(&present), absent, functions });
    }
    done
}

/// The coordinates of a dimension, all of them: those of a result in levels are stored as they are.
fn whole(
    inferred: &Inferred,
    module: &Module,
    tensor: TensorId,
    dimension: usize,
) -> Result<Range, SchedError> {
    let structured = &inferred.tensors[tensor.0];
    let (names, bounds) = (&structured.iterators[dimension..], &structured.extents[dimension..]);
    let known = Some(inferred.sets.box_set(&names[..1], &bounds[..1])?);
    let extent = extents(inferred, module, tensor)?.swap_remove(dimension);
    Ok(Range { lower: Index::Const(0), extent, known })
}

/// The iterators of a rule's statements in the order of loops that is wanted: of `schedule:`, else of `iters:`, then
/// the head's, then by appearance.
fn order(rule: &Rule, statements: &[Statement]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let appearing = || statements.iter().flat_map(|statement| &statement.iterators);
    let listed = rule.order.iter().filter(|name| appearing().any(|other| other == *name));
    for name in listed.chain(&rule.iterators).chain(appearing()) {
        if !all.contains(name) {
            all.push(name.clone());
        }
    }
    rule.schedule.ordered(&all)
}

/// An order of loops with the iterators that integers in memory give as far outside as these are known, so that the
/// elements that they choose are walked as rows.
///
/// Before -> after, `D(i, j) := A(p(i), j)`: `i`, `j`, the row -> `i`, the row, `j`.
fn early(kernel: &Kernel, mut order: Vec<usize>) -> Vec<usize> {
    let Kernel { head, products, .. } = kernel;
    for (at, value) in products.iter().flat_map(|product| &product.defined) {
        if head.contains(at) || !value.has_loads() {
            continue;
        }
        let vars = value.free_vars();
        let known = |other: &usize| vars.iter().any(|var| var.0 as usize == *other);
        let last = order.iter().rposition(known);
        let own = order.iter().position(|other| other == at);
        if let (Some(last), Some(own)) = (last, own)
            && last + 1 < own
        {
            order[last + 1..=own].rotate_right(1);
        }
    }
    order
}

/// An order of loops with the head's iterators last that bound what is walked, but are not walked themselves, and those
/// of sums of which what is walked leaves a constant number of values. Where levels store sums of dimensions, as those
/// of diagonals do, each row looks for its place on them: once for all of the head's iterators that are not walked.
///
/// Before -> after, `Y(i, k) := A(i, j) * L(j, k)` where `k <= j`: a walk of a row for each `i, k` -> `i`, the row's
/// `j`, then `k` from 0 to `j`.
pub(super) fn settled(kernel: &Kernel, order: Vec<usize>) -> Vec<usize> {
    let Kernel { head, products, .. } = kernel;
    let walked = |at: usize| {
        let factors = products.iter().flat_map(|product| &product.factors);
        let mut subscripts = factors.flat_map(|factor| &factor.subscripts);
        subscripts.any(|subscript| subscript.coefficient(at) != 0)
    };
    let bounds = |at: usize| {
        let mut conditions = products.iter().flat_map(|product| &product.conditions);
        conditions.any(|condition| {
            let mut terms = condition.terms().iter().map(|(other, _)| *other);
            condition.coefficient(at) != 0
                && terms.any(|other| !head.contains(&other) && walked(other))
        })
    };
    let few = |at: usize| products.iter().any(|product| is_few(kernel, product, at));
    let has_sums = |factor: &Factor| {
        let levels = kernel.operands[factor.operand].format.map().levels();
        levels.iter().any(|level| level.linear().is_some_and(|sum| sum.terms.len() > 1))
    };
    let searched = products.iter().flat_map(|product| &product.factors).any(has_sums);
    let is_late = |at: &usize| {
        !walked(*at) && if head.contains(at) { searched || bounds(*at) } else { few(*at) }
    };
    let (late, first): (Vec<usize>, Vec<usize>) = order.into_iter().partition(is_late);
    first.into_iter().chain(late).collect()
}
