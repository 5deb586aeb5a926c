//! Rules that read dynamic tensors: their loops walk levels of tensors whose pattern is known only when they are read.
//!
//! [`rule`] makes a kernel of [`dastac_iterate`] of a rule, whose other tensors stay in their packed layouts. A read
//! that contradicts the order of loops is of a copy of the tensor in another format, which whoever binds the tensor
//! makes ([`Stored`]).

mod choose;
mod filters;
mod gather;
mod linear;
mod operands;
mod parts;
mod ranges;
mod rule;
mod shift;
mod terms;
#[cfg(test)]
mod tests;
mod walked;

pub(crate) use operands::declare;
pub use operands::{Assembled, Stored};
pub(crate) use walked::Dynamic;
pub use walked::{Gathered, Walked, Why};

use std::collections::BTreeMap;

use dastac_formats::Format;
use dastac_iterate::{
    Assembly, IterateError, Kernel, Operand, Structure, Walks, Works, along_diagonals, assembly,
    fill, is_assembled, obstacle, on_levels, pattern_of,
};
use dastac_loops::{Function, Index, Module};
use dastac_stur::infer::InferredRule;
use dastac_stur::program::TensorId;

use crate::SchedError;
use crate::elements::{buffer, extents};
use choose::{ordered, refused};
use gather::{Form, Forms, forms};
use rule::{Translation, settled};
use terms::joins_terms;

impl Dynamic<'_> {
    /// Fills a function without statements with those of a rule. Gives whether they set all of its head, else they add
    /// to it; and what they go over.
    pub(crate) fn rule(
        &self,
        module: &mut Module,
        stored: &mut Vec<Stored>,
        rule: &InferredRule,
        function: &mut Function,
    ) -> Result<(bool, Vec<Walked>), SchedError> {
        let walked = self.walked(module, stored, rule, &BTreeMap::new())?;
        let walked = self.densely(module, stored, rule, walked)?;
        let walked = self.in_parts(module, stored, &walked).unwrap_or(walked);
        let terms = self.terms(rule, &walked);
        if terms.is_empty() {
            let (set, walked) = self.nest((module, stored, function), rule, walked, true)?;
            return Ok((set, vec![walked]));
        }
        let mut whole = (module.clone(), stored.clone(), function.clone());
        let into = (&mut whole.0, &mut whole.1, &mut whole.2);
        let one = self.nest(into, rule, walked, true);
        if !one.as_ref().is_ok_and(|_| !joins_terms(&whole.2.body))
            && let Ok(found) = self.in_terms((module, stored, function), rule, terms)
        {
            return Ok(found);
        }
        let (set, walked) = one?;
        (*module, *stored, *function) = whole;
        Ok((set, vec![walked]))
    }

    /// The loops of a rule, or of a part of its products, as the statements of a function. Gives whether they set all
    /// of the head, if they are to where they can.
    fn nest(
        &self,
        (module, stored, function): (&mut Module, &mut Vec<Stored>, &mut Function),
        rule: &InferredRule,
        mut walked: Walked,
        sets: bool,
    ) -> Result<(bool, Walked), SchedError> {
        let asked = self.inferred.program.rules[rule.rule.0].has_order();
        if walked.divided {
            // What is walked is another tensor now.
            if !asked {
                walked.kernel.order = settled(&walked.kernel, walked.kernel.order.clone());
            }
        } else {
            if sets && self.filtered(module, stored, (rule, &mut walked), function)? {
                return Ok((true, walked));
            }
            self.with_sums_outside(module, stored, rule, &mut walked);
            self.with_gaps_inside(module, stored, rule, &mut walked);
            self.choose(module, stored, rule, &mut walked, &obstacle)?;
        }
        let refused = |error| refused(self.inferred, rule, &walked, &error);
        let sets = sets && walked.covered;
        let mut kernel = on_levels(&walked.kernel).map_err(refused)?;
        // Loops that the user wants are those of the rule's iterators.
        if !asked {
            let mapped = |operand: &Operand| operand.format.order().is_none();
            let mapped: Vec<bool> = walked.kernel.operands.iter().map(mapped).collect();
            along_diagonals(&mut kernel, &mapped);
        }
        let filled = fill(function, module, &kernel, sets).map_err(refused)?;
        walked.kernel = kernel;
        walked.walks = filled.walks;
        if !self.inferred.program.is_dynamic(rule.rule) {
            shift::back(function, &walked.lowers);
        }
        Ok((filled.whole, walked))
    }

    /// The statements of a rule whose head has a format, for functions that begin with the variables of `function`,
    /// which gets theirs.
    pub(crate) fn result(
        &self,
        module: &mut Module,
        stored: &mut Vec<Stored>,
        rule: &InferredRule,
        (function, declared): (&mut Function, &Format),
    ) -> Result<(Assembly, Walked), SchedError> {
        let Dynamic { inferred, indices, .. } = *self;
        let extents = extents(inferred, module, rule.head)?;
        let walked = self.walked(module, stored, rule, &BTreeMap::new())?;
        if let Some(structure) = self.conversion(module, rule, &walked, (declared, &extents)) {
            let operand = operands::own(inferred, module, rule.head, (declared, extents), indices);
            stored.push(Stored { tensor: rule.head, operand, converted_for: None, part: None });
            return Ok((Assembly::without_loops(structure), walked));
        }
        let in_order = declared.order().is_some();
        let appended = match in_order && declared.levels().iter().all(is_assembled) {
            true => declared.in_any_width(),
            false => ordered(declared),
        };
        let formats = [declared, &appended];
        let head = |module: &mut Module, kernel: &Kernel| match patterned(kernel, formats, &extents)
        {
            Some(operand) => Operand { values: buffer(rule.head), ..operand.clone() },
            None => {
                let dimensions = (&appended, extents.clone());
                operands::own(inferred, module, rule.head, dimensions, indices)
            }
        };
        let obstacle = |module: &Module, kernel: &Kernel| {
            let (mut scratch, mut function) = (module.clone(), function.clone());
            let operand = head(&mut scratch, kernel);
            assembly(&mut function, &mut scratch, kernel, &operand).err()
        };
        let mut walked = match patterned(&walked.kernel, formats, &extents) {
            Some(_) => {
                let mut walked = walked;
                self.choose(module, stored, rule, &mut walked, &obstacle)?;
                walked
            }
            None => self.in_some_order(module, stored, rule, (walked, &appended), &obstacle)?,
        };
        let operand = head(module, &walked.kernel);
        let refused = |error| refused(inferred, rule, &walked, &error);
        let assembly = assembly(function, module, &walked.kernel, &operand).map_err(refused)?;
        walked.kernel = on_levels(&walked.kernel).map_err(refused)?;
        stored.push(Stored { tensor: rule.head, operand, converted_for: None, part: None });
        (walked.walks, walked.works) = (assembly.walks.clone(), assembly.works.clone());
        Ok((assembly, walked))
    }

    /// What a rule's result is if it is a tensor in another format, where loops need not make it: the host that runs
    /// them can convert tensors, and the user asks for no loops.
    fn conversion(
        &self,
        module: &Module,
        rule: &InferredRule,
        walked: &Walked,
        (declared, extents): (&Format, &[Index]),
    ) -> Option<Structure> {
        let definition = &self.inferred.program.rules[rule.rule.0];
        let asked = !definition.order.is_empty() || !definition.schedule.is_empty();
        if !self.reserves || asked {
            return None;
        }
        match pattern_of(&walked.kernel, declared, extents) {
            Some(_) => None,
            None => walked.kernel.conversion(module, (declared, extents)),
        }
    }

    /// A rule with the first order of its loops in which the elements of its result can be assembled.
    fn in_some_order(
        &self,
        module: &mut Module,
        stored: &mut Vec<Stored>,
        rule: &InferredRule,
        (walked, result): (Walked, &Format),
        obstacle: &dyn Fn(&Module, &Kernel) -> Option<IterateError>,
    ) -> Result<Walked, SchedError> {
        let definition = &self.inferred.program.rules[rule.rule.0];
        let mut attempt = |form: Form| {
            let mut one = walked.clone();
            (one.appended, one.why) = (form.outside, form.why);
            (one.kernel.order, one.kernel.gathers) = (form.order.clone(), form.gathers.clone());
            let (mut scratch, mut copies) = (module.clone(), stored.clone());
            if form.why == Some(Why::Meets) {
                self.follow(&mut scratch, &mut copies, rule, &mut one, &|_, _| true);
            }
            self.choose(&mut scratch, &mut copies, rule, &mut one, obstacle)?;
            (*module, *stored) = (scratch, copies);
            Ok(one)
        };
        let Forms { preferred, plain, others } =
            forms((definition, rule.head), &walked.kernel, result, self.choice);
        // What is wrong with the order of the levels says most, if nothing else is asked for.
        let asked = plain.is_none();
        let forms = preferred.into_iter().map(|form| (form, asked));
        let forms = forms.chain(plain.into_iter().map(|form| (form, true)));
        let mut why = None;
        for (form, tells) in forms.chain(others.into_iter().map(|form| (form, false))) {
            match attempt(form) {
                Ok(found) => return Ok(found),
                Err(refused) if tells => why = Some(refused),
                Err(_) => {}
            }
        }
        Err(why.unwrap_or_else(|| refused(self.inferred, rule, &walked, &IterateError::Workspace)))
    }

    /// A rule's kernel, its tensors in the formats in which they are there, or as copies of them.
    fn walked(
        &self,
        module: &Module,
        stored: &[Stored],
        rule: &InferredRule,
        copies: &BTreeMap<TensorId, Operand>,
    ) -> Result<Walked, SchedError> {
        let first = |id: TensorId| {
            let own = || stored.iter().find(|one| one.tensor == id).map(|one| &one.operand);
            copies.get(&id).or_else(own).cloned()
        };
        let translation = Translation::new(self.inferred, self.layouts, module, rule)?;
        let covered = translation.covers_head()?;
        let lowers = translation.lowers();
        let (kernel, tensors) = translation.kernel(&first)?;
        let kernel = Kernel { walking: self.walking, reserves: self.reserves, ..kernel };
        let (head, walks, works, why) = (rule.head, Walks::new(), Works::new(), None);
        Ok(Walked {
            head,
            kernel,
            tensors,
            walks,
            works,
            why,
            appended: 0,
            covered,
            divided: false,
            lowers,
        })
    }
}

/// The operand whose pattern a result has, in one of some formats, if it has one's.
fn patterned<'k>(
    kernel: &'k Kernel,
    formats: [&Format; 2],
    extents: &[Index],
) -> Option<&'k Operand> {
    let factor = formats.into_iter().find_map(|format| pattern_of(kernel, format, extents))?;
    Some(&kernel.operands[kernel.products[0].factors[factor].operand])
}
