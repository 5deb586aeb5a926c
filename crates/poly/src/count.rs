//! Counting integer points with Barvinok's algorithm, and the ranks that layouts are made of
//! (section 4 of the paper).
//!
//! Invariants: Barvinok is not thread-safe, so every call holds one lock; it crashes on an isl
//! error inside it, so it is called without a limit on steps, and only on what was found finite.

use crate::context::Handle;
use crate::space::{IN, OUT, PARAM};
use crate::{Context, Error, Map, PwQPolynomial, Result, Set};
use isl_vendor as sys;
use std::sync::{Mutex, PoisonError};

static LOCK: Mutex<()> = Mutex::new(());

/// Calls Barvinok. `take` passes on a reference to what is counted.
fn barvinok(
    context: &Context,
    operation: &'static str,
    count: impl FnOnce(&sys::Barvinok) -> *mut sys::isl_pw_qpolynomial,
) -> Result<Handle<sys::isl_pw_qpolynomial>> {
    let library = context.library().barvinok()?;
    // The lock guards no data, so a panic of another thread under it left nothing half done.
    let _guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    context.unlimited(|| context.call(operation, |_| count(library)))
}

/// Barvinok writes an infinite count as the polynomial `infty`.
fn finite(count: PwQPolynomial, what: impl Fn() -> String) -> Result<PwQPolynomial> {
    for (_, polynomial) in count.pieces()? {
        if polynomial.is_infinite()? {
            return Err(Error::Infinite { set: what() });
        }
    }
    Ok(count)
}

impl Set {
    /// The number of points, as a function of the parameters.
    pub fn card(&self) -> Result<PwQPolynomial> {
        if !self.is_bounded()? {
            return Err(Error::Infinite { set: self.to_string() });
        }
        let count = barvinok(self.context(), "isl_set_card", |library| {
            // SAFETY: `self` is live; the function takes the reference.
            unsafe { (library.isl_set_card)(self.0.take()) }
        })?;
        finite(PwQPolynomial(count), || self.to_string())
    }

    /// The rank of each point x of the set: the number of points that are lexicographically before
    /// it. The sum of [`Set::rank_by_depth`].
    ///
    /// A point without a piece (the first point is one) has rank 0
    /// ([`PwQPolynomial::pieces_over`]). Outside of the set the value means nothing.
    ///
    /// `{ [i, j] : 0 <= j <= i < N }` -> `i(i+1)/2 + j`
    pub fn rank_polynomial(&self) -> Result<PwQPolynomial> {
        let mut sum = PwQPolynomial::zero_on(self)?;
        for count in self.rank_by_depth()? {
            sum = sum.add(&count)?;
        }
        sum.gist(self)?.coalesce()
    }

    /// The rank, split by the depth k at which the earlier points differ: the number of points y of
    /// the set with y_0..k = x_0..k and y_k < x_k, for each k. Each depth is counted for any x, and
    /// restricted to the set only then: on hard domains this is many times faster than one count of
    /// the whole relation. The domains of the counts are within the set; a point without a piece
    /// has the count 0.
    pub fn rank_by_depth(&self) -> Result<Vec<PwQPolynomial>> {
        let context = self.context();
        let space = self.space()?;
        let pairs = isl!(context, isl_space_map_from_set(space.take()))?;
        let mut counts = Vec::new();
        for depth in 0..self.rank() as i32 {
            let mut before = isl!(context, isl_map_universe(pairs.take()))?;
            for pos in 0..depth {
                before = isl!(context, isl_map_equate(before.take(), IN, pos, OUT, pos))?;
            }
            let before =
                Map(isl!(context, isl_map_order_lt(before.take(), OUT, depth, IN, depth))?);
            let count = before.intersect_range(self)?.card()?;
            // Fewer pieces before a sum are many fewer after it.
            counts.push(count.coalesce()?.intersect_domain(self)?.coalesce()?);
        }
        Ok(counts)
    }
}

impl Map {
    /// The number of seconds of each first, as a function of the first and the parameters.
    pub fn card(&self) -> Result<PwQPolynomial> {
        let context = self.context();
        // With the inputs as parameters, the range is what has to be finite.
        let (params, rank) = (self.params()?.len() as u32, self.in_rank() as u32);
        let moved = isl!(context, isl_map_move_dims(self.0.take(), PARAM, params, IN, 0, rank))?;
        let images = isl!(context, isl_map_range(moved.take())).map(Set)?;
        if !images.is_bounded()? {
            return Err(Error::Infinite { set: self.to_string() });
        }
        let count = barvinok(context, "isl_map_card", |library| {
            // SAFETY: `self` is live; the function takes the reference.
            unsafe { (library.isl_map_card)(self.0.take()) }
        })?;
        finite(PwQPolynomial(count), || self.to_string())
    }
}

impl PwQPolynomial {
    /// The sum of the values over all points of the domain, as a function of the parameters.
    pub fn sum(&self) -> Result<PwQPolynomial> {
        let domain = self.domain()?;
        if !domain.is_bounded()? {
            return Err(Error::Infinite { set: domain.to_string() });
        }
        let sum = barvinok(self.context(), "isl_pw_qpolynomial_sum", |library| {
            // SAFETY: `self` is live; the function takes the reference.
            unsafe { (library.isl_pw_qpolynomial_sum)(self.0.take()) }
        })?;
        finite(PwQPolynomial(sum), || domain.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_under_the_lock_does_not_end_counting() {
        let thread = std::thread::spawn(|| {
            let _guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
            panic!("expected");
        });
        assert!(thread.join().is_err());
        let set = Set::parse(&Context::new().unwrap(), "{ [i] : 0 <= i < 5 }").unwrap();
        assert_eq!(set.card().unwrap().eval(&[], &[]).unwrap(), 5.into());
    }
}
