//! Aligned rows: each row, which is a run of elements along the fastest position, starts at a multiple of some number
//! of elements.
//!
//! A row of the elements `l..=h` gets the places `l..l + a*ceil((h - l + 1) / a)`. The position of an element is its
//! rank among all places. Before -> after, `0 <= i <= j < 10` with rows of 8: the rows of 10, 9, 8, .. elements take
//! 16, 16, 8, .. places.

use dastac_poly::{Map, Set};

use crate::LayoutError;
use crate::coordinates::Coordinates;
use crate::part::{Candidate, Part};

impl Part {
    /// Makes a part whose rows start at multiples of `elements`.
    ///
    /// # Errors
    /// [`LayoutError::Gaps`] for rows whose elements are not next to each other.
    pub(crate) fn aligned(
        domain: &Set,
        coordinates: &Coordinates,
        elements: u32,
    ) -> Result<Part, LayoutError> {
        let image = coordinates.image(domain)?;
        let Some(rows) = Rows::of(&image)? else {
            return Candidate::within(domain, coordinates, image).counted();
        };
        let span = rows.places(elements)?.with_dim_names(&coordinates.names())?;
        Candidate::within(domain, coordinates, span).counted()
    }
}

/// The rows of a set: contiguous runs of elements that differ in the last dimension only.
pub(crate) struct Rows {
    /// Maps the leading dimensions of a row to the last dimension of its first and its last element.
    pub(crate) ends: Map,
    /// Maps the leading dimensions of a row to the last dimension of its first element.
    pub(crate) starts: Map,
}

impl Rows {
    /// The rows; `None` for a set without dimensions.
    ///
    /// # Errors
    /// [`LayoutError::Gaps`] where elements of a row are not next to each other.
    pub(crate) fn of(image: &Set) -> Result<Option<Rows>, LayoutError> {
        let context = image.context();
        let names = image.fresh_dims("c")?;
        let Some((last, prefix)) = names.split_last() else { return Ok(None) };
        let (all, prefix) = (names.join(", "), prefix.join(", "));
        let head = Map::parse(context, &format!("{{ [{all}] -> [{prefix}] }}"))?;
        let tail = Map::parse(context, &format!("{{ [{all}] -> [{last}] }}"))?;
        let rows = head.intersect_domain(image)?.reverse()?.apply_range(&tail)?;
        let starts = rows.lexmin()?;
        let ends = starts.flat_range_product(&rows.lexmax()?)?;
        let between = Map::parse(context, "{ [l, h] -> [t] : l <= t <= h }")?;
        if !ends.apply_range(&between)?.is_subset(&rows)? {
            return Err(LayoutError::Gaps);
        }
        Ok(Some(Rows { ends, starts }))
    }

    /// The places of all rows, if each takes a multiple of `elements`.
    pub(crate) fn places(&self, elements: u32) -> Result<Set, LayoutError> {
        let places = format!(
            "{{ [l, h] -> [t] : l <= t < l + {elements} * floor((h - l + {elements})/{elements}) }}"
        );
        let places = self.ends.apply_range(&Map::parse(self.ends.context(), &places)?)?;
        Ok(places.wrap()?.flatten()?.coalesce()?)
    }
}
