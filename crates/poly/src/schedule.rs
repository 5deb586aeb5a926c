//! Schedule trees: the order in which the points of an iteration domain are visited.

use crate::context::c_string;
use crate::handle::Handle;
use crate::{Error, Result, Schedule, UnionMap, UnionSet};
use isl_vendor as sys;

impl Schedule {
    /// The points of the domain in no particular order.
    pub fn from_domain(domain: &UnionSet) -> Result<Schedule> {
        isl!(domain.context(), isl_schedule_from_domain(domain.0.take())).map(Schedule)
    }

    /// Puts a band on top: the points are visited in the order of these values (in isl's notation
    /// of multi_union_pw_affs, `[{ S[i,j] -> [(i)] }, { S[i,j] -> [(j)] }]`), ties in the order of
    /// this schedule.
    pub fn insert_partial_schedule(&self, band: &str) -> Result<Schedule> {
        let context = self.context();
        let text = c_string(band)?;
        let read =
            isl!(context, isl_multi_union_pw_aff_read_from_str(context.raw(), text.as_ptr()));
        let band = read.map_err(|error| match error {
            Error::Isl { message, .. } => Error::unreadable(band, message),
            other => other,
        })?;
        self.insert_band(band)
    }

    /// The same with the band as a map from statement instances to one tuple.
    pub fn insert_partial_schedule_map(&self, band: &UnionMap) -> Result<Schedule> {
        self.0.same(&band.0)?;
        let band = isl!(self.context(), isl_multi_union_pw_aff_from_union_map(band.0.take()))?;
        self.insert_band(band)
    }

    fn insert_band(&self, band: Handle<sys::isl_multi_union_pw_aff>) -> Result<Schedule> {
        isl!(self.context(), isl_schedule_insert_partial_schedule(self.0.take(), band.take()))
            .map(Schedule)
    }

    /// All of this schedule, then all of the other. Their domains must not overlap.
    pub fn sequence(&self, then: &Schedule) -> Result<Schedule> {
        self.0.same(&then.0)?;
        isl!(self.context(), isl_schedule_sequence(self.0.take(), then.0.take())).map(Schedule)
    }

    /// The points that are visited.
    pub fn domain(&self) -> Result<UnionSet> {
        isl!(self.context(), isl_schedule_get_domain(self.0.keep())).map(UnionSet)
    }

    /// The schedule as a map from statement instances to time.
    pub fn map(&self) -> Result<UnionMap> {
        isl!(self.context(), isl_schedule_get_map(self.0.keep())).map(UnionMap)
    }
}
