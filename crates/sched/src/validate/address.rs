//! Positions: compares what the loops access with the layouts, and proves [`Property::Layout`](super::Property).

use std::collections::BTreeMap;

use dastac_layout::{Layout, Polynomial, Proof};
use dastac_loops::{Index, VarId};
use dastac_poly::Set;
use dastac_stur::program::TensorId;
use dastac_stur::sets::Affine;

use super::expression::{divisible, exact_divisions_hold};
use super::points::Lift;
use super::{Stop, Validator};

/// With more combinations of a case of an emitted position and a piece of the layout, a proof takes minutes.
const MAX_COMBINATIONS: usize = 256;

impl Validator<'_> {
    /// Proves that `emitted` is the position of the element at `subscripts` (over iterators), and that this element is
    /// stored.
    pub(super) fn address(
        &self,
        vars: &[VarId],
        lift: &Lift,
        emitted: &Index,
        tensor: TensorId,
        subscripts: &[Affine],
    ) -> Result<(), Stop> {
        let layout = &self.layouts[tensor.0];
        let name = &self.inferred.program.tensor(tensor).name;
        let dims: Vec<String> = vars.iter().map(|var| self.naming.var(*var)).collect();
        let cases = self.naming.cases(emitted);
        let cases = cases.ok_or_else(|| Stop::undecided(format!("a position in `{name}`")))?;
        if cases.len() * layout.index.pieces.len() > MAX_COMBINATIONS {
            return Err(Stop::undecided(format!("positions in `{name}` have too many cases")));
        }
        if !exact_divisions_hold(emitted) && !self.divisions_hold(vars, lift, emitted)? {
            return Err(Stop::undecided(format!(
                "whether a division in `{name}`'s position is exact"
            )));
        }
        for (here, images) in &lift.pieces {
            let mut element = Vec::new();
            for subscript in subscripts {
                let image = self.isl_names(subscript).substitute(images);
                element.push(image.ok_or_else(|| Stop::undecided("a subscript beyond 64 bits"))?);
            }
            let to_element = self.outputs(vars, &element)?;
            let reached = to_element.intersect_domain(here)?;
            let outside = reached.subtract(&reached.intersect_range(&layout.stored)?)?.domain()?;
            if !outside.is_empty()? {
                return Err(Stop::refuted(format!(
                    "an element of `{name}` that is not stored is accessed {}",
                    self.witness(vars, &outside)?
                )));
            }
            let images: BTreeMap<String, Affine> =
                layout.dims.iter().cloned().zip(element.iter().cloned()).collect();
            let packed: Vec<Affine> = layout.order.iter().map(|&k| element[k].clone()).collect();
            let to_packed = self.outputs(vars, &packed)?.intersect_domain(here)?;
            let mut regions = Vec::new();
            for piece in &layout.index.pieces {
                let region = match layout.index.pieces.len() {
                    1 => here.clone(),
                    _ => to_packed.intersect_range(&piece.domain)?.domain()?.coalesce()?,
                };
                let expected = piece.polynomial.substitute(&images);
                let expected =
                    expected.ok_or_else(|| Stop::undecided("an index beyond 64 bits"))?;
                regions.push((region, expected));
            }
            for case in &cases {
                let mut rest = match case.conditions.as_slice() {
                    [] => here.clone(),
                    conditions => here.intersect(&self.set(vars, conditions)?)?,
                };
                let differences = regions
                    .iter()
                    .map(|(region, expected)| (region, expected + &case.polynomial.scaled(-1)));
                // Usually the case was made from one of these pieces, and nothing is left outside of it.
                let (same, others): (Vec<_>, Vec<_>) =
                    differences.partition(|(_, difference)| difference.is_zero());
                for (region, _) in same {
                    rest = rest.subtract(region)?;
                }
                for (region, difference) in others {
                    if rest.is_empty()? {
                        break;
                    }
                    let at = rest.intersect(region)?;
                    self.equal(vars, &difference, &at, &dims, name)?;
                    rest = rest.subtract(region)?;
                }
                self.equal(vars, &case.polynomial, &rest, &dims, name)?;
            }
        }
        Ok(())
    }

    /// Whether every exact division of a position divides at all points of the loops.
    fn divisions_hold(&self, vars: &[VarId], lift: &Lift, emitted: &Index) -> Result<bool, Stop> {
        let mut divisions = Vec::new();
        emitted.visit(&mut |part| {
            if let Index::ExactDiv(numerator, by) = part
                && !divisible(numerator, *by)
            {
                divisions.push(((**numerator).clone(), *by));
            }
        });
        for (numerator, by) in divisions {
            let Some(text) = self.naming.text(&numerator) else { return Ok(false) };
            let rest = format!("{text} - {by} * floor(({text})/{by}) != 0");
            let rest = self.set(vars, &[rest])?;
            for (here, _) in &lift.pieces {
                if !here.is_disjoint(&rest)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Proves that the difference of two positions is 0 on a set.
    fn equal(
        &self,
        vars: &[VarId],
        difference: &Polynomial,
        set: &Set,
        dims: &[String],
        tensor: &str,
    ) -> Result<(), Stop> {
        if difference.is_zero() || set.is_empty()? {
            return Ok(());
        }
        let refuted = |at: String| {
            Stop::refuted(format!("an element of `{tensor}` is at another's position {at}"))
        };
        match dastac_layout::vanishes(difference, set, dims)? {
            None | Some(Proof::Proven) => Ok(()),
            Some(Proof::Refuted(_)) => Err(refuted(self.witness(vars, set)?)),
            Some(Proof::Undecided(_)) => match self.counterexample(vars, difference, set, dims)? {
                Some(at) => Err(refuted(at)),
                None => Err(Stop::undecided(format!("whether two positions in `{tensor}` agree"))),
            },
        }
    }

    /// A point at which a polynomial is not 0. It is searched for at small values of the symbols.
    fn counterexample(
        &self,
        vars: &[VarId],
        difference: &Polynomial,
        set: &Set,
        dims: &[String],
    ) -> Result<Option<String>, Stop> {
        const VALUES: [i64; 5] = [2, 3, 5, 4, 6];
        const POINTS: usize = 1000;
        for first in 0..VALUES.len() {
            let value = |k: usize| VALUES[(first + k) % VALUES.len()];
            let params: Vec<(String, i64)> =
                set.params()?.into_iter().enumerate().map(|(k, name)| (name, value(k))).collect();
            let points = match set.fix_params(&params)?.points(POINTS) {
                Err(dastac_poly::Error::TooManyPoints { .. }) => continue,
                points => points?,
            };
            for point in points {
                let value_of = |name: &str| {
                    let dim = dims.iter().position(|dim| dim == name).map(|k| point[k]);
                    dim.or_else(|| params.iter().find(|(n, _)| n == name).map(|(_, v)| *v))
                };
                if difference.eval(&value_of).is_some_and(|value| value != 0.into()) {
                    let mut at = set.fix_params(&params)?;
                    for (k, value) in point.iter().enumerate() {
                        at = at.fix_dim_at(k, *value)?;
                    }
                    let params: Vec<String> =
                        params.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                    let at = self.witness(vars, &at)?;
                    return Ok(Some([vec![at], params].concat().join(", ")));
                }
            }
        }
        Ok(None)
    }

    /// [`Property::Layout`].
    pub(super) fn layout(&self, id: TensorId) -> Result<(), Stop> {
        let layout = &self.layouts[id.0];
        let Some(buffer) = self.module.buffers.get(id.0) else {
            return Err(Stop::refuted("it has no buffer"));
        };
        self.size(layout, &buffer.size)?;
        match layout.prove_bijection()? {
            Proof::Proven => Ok(()),
            // The layout's own reason speaks of polynomials and sets; a plain one replaces it.
            Proof::Undecided(_) => {
                Err(Stop::undecided("whether the next element has the next position"))
            }
            other => Err(Stop::Not(other)),
        }
    }

    /// Proves that a buffer has the size of the layout.
    fn size(&self, layout: &Layout, size: &Index) -> Result<(), Stop> {
        let cases = self.naming.cases(size);
        let cases = cases.ok_or_else(|| Stop::undecided("the buffer's size"))?;
        if !exact_divisions_hold(size) {
            return Err(Stop::undecided("whether a division in the buffer's size is exact"));
        }
        for case in &cases {
            let mut rest = self.set(&[], &case.conditions)?;
            for piece in &layout.size.pieces {
                let at = rest.intersect_params(&piece.domain.params_set()?)?;
                let difference = &piece.polynomial + &case.polynomial.scaled(-1);
                self.equal(&[], &difference, &at, &[], "the buffer's size")?;
                rest = rest.subtract(&at)?;
            }
            self.equal(&[], &case.polynomial, &rest, &[], "the buffer's size")?;
        }
        Ok(())
    }
}
