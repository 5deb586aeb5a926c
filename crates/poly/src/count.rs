//! The number of integer points, and the ranks that layouts are made of (section 4 of the paper).

use crate::space::{IN, OUT};
use crate::{Map, PwQPolynomial, Result, Set, counting};

impl Set {
    /// The number of points, as a function of the parameters ([`crate::counting`]).
    pub fn card(&self) -> Result<PwQPolynomial> {
        counting::current()?.card(self)
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
        counting::current()?.card_map(self)
    }
}

impl PwQPolynomial {
    /// The sum of the values over all points of the domain, as a function of the parameters.
    pub fn sum(&self) -> Result<PwQPolynomial> {
        counting::current()?.sum(self)
    }
}
