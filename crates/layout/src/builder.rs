//! Builds layouts: the caller may choose an order or an alignment, and the search finds the rest.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use dastac_poly::{Error, PwQPolynomial, Set};
use num_integer::Integer;

use crate::coordinates::{Coordinates, explicit};
use crate::density::is_dense;
use crate::fusion::{Piece, Piecewise, fuse};
use crate::index::symbols_of;
use crate::part::{Candidate, Part};
use crate::polynomial::Polynomial;
use crate::search::{LONG, SOON, in_order, is_simple, search};
use crate::whole::{in_box, in_places};
use crate::{Layout, LayoutError};

/// Blocks and strides of different sizes in one dimension that meet less often than this are not counted.
const LONGEST_PERIOD: i128 = 256;

/// A set of at most two dimensions with this many basic sets is counted quickly.
const BASIC_SETS: usize = 5;

/// An index with more pieces costs more than the places that are not used.
const TANGLED: usize = 8;

/// Chooses a layout for a set of elements.
///
/// ```
/// # fn main() -> Result<(), dastac_layout::LayoutError> {
/// use dastac_layout::Layout;
/// use dastac_poly::{Context, Set};
/// let triangle = Set::parse(&Context::new()?, "{ [i, j] : 0 <= i <= j < 10 }")?;
/// let columns = Layout::builder(&triangle).order(&[1, 0]).build()?;
/// assert_eq!(columns.index.to_string(), "1/2*j^2 + i + 1/2*j");
/// let rows = Layout::builder(&triangle).align(8).build()?;
/// assert_eq!(rows.index_of(&[1, 1])?, Some(16));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    stored: Set,
    loop_order: Vec<usize>,
    chosen: Option<Vec<usize>>,
    align: u32,
    regions: Vec<Set>,
    enclosing: Option<Set>,
    padding: bool,
    whole: Option<Set>,
    around: Option<Set>,
    within: Option<Set>,
    unstructured: bool,
}

impl Layout {
    /// Starts from a set of elements. Nothing is chosen yet; loops go in the order of the dimensions.
    pub fn builder(stored: &Set) -> Builder {
        Builder {
            loop_order: (0..stored.rank()).collect(),
            stored: stored.clone(),
            chosen: None,
            align: 1,
            regions: Vec::new(),
            enclosing: None,
            padding: false,
            whole: None,
            around: None,
            within: None,
            unstructured: false,
        }
    }
}

impl Builder {
    /// Sets the order in which loops go through the positions, slowest first. The elements are packed in this order if
    /// that gives a simple index.
    pub fn loop_order(mut self, order: &[usize]) -> Builder {
        self.loop_order = order.to_vec();
        self
    }

    /// Packs in exactly this order of the positions, slowest first, even if its index is not simple.
    pub fn order(mut self, order: &[usize]) -> Builder {
        self.chosen = Some(order.to_vec());
        self
    }

    /// Starts rows (runs of elements that differ in the fastest position only) at multiples of `elements`. The places
    /// between are padding.
    pub fn align(mut self, elements: u32) -> Builder {
        self.align = elements.max(1);
        self
    }

    /// The sets of elements that the accesses of a tensor use, if these differ.
    pub fn regions(mut self, regions: Vec<Set>) -> Builder {
        self.regions = regions;
        self
    }

    /// A set that contains the elements and may be stored instead: it is taken where its index is simple and theirs is
    /// not, as when a band reaches into the corner of a tensor with symmetries.
    pub fn enclosing(mut self, enclosing: Set) -> Builder {
        self.enclosing = Some(enclosing);
        self
    }

    /// Allows places that no element has where they make the index one polynomial and are few: whole rows at the ends
    /// of a band, a whole last block. They are zero after packing and never read.
    pub fn padding(mut self, allowed: bool) -> Builder {
        self.padding = allowed;
        self
    }

    /// The box of the tensor. All of its places are taken where the elements are a good part of them and a union of so
    /// many sets that counting them would give an index of many pieces.
    pub fn whole(mut self, whole: Set) -> Builder {
        self.whole = Some(whole);
        self
    }

    /// A set that contains the elements: all of its places are taken, or all of the box, where that makes a simple
    /// index of one that is not, and at least a quarter of the places are elements.
    pub fn around(mut self, around: Set) -> Builder {
        self.around = Some(around);
        self
    }

    /// A set that contains the elements: all of its places are taken where these have a simple index.
    pub(crate) fn within(mut self, places: Set) -> Builder {
        self.within = Some(places);
        self
    }

    /// Says that no structure is declared, so that the set is nothing but what is used: the box is taken where nothing
    /// else is found soon.
    pub(crate) fn unstructured(mut self, unstructured: bool) -> Builder {
        self.unstructured = unstructured;
        self
    }

    /// The elements.
    pub(crate) fn stored(&self) -> &Set {
        &self.stored
    }

    /// The same choices for other elements.
    pub(crate) fn elements(mut self, stored: &Set) -> Builder {
        self.stored = stored.clone();
        (self.enclosing, self.whole, self.around) = (None, None, None);
        self
    }

    /// The order of loops, if nothing else was chosen.
    pub(crate) fn plain_order(&self) -> Option<&[usize]> {
        let plain = self.chosen.is_none()
            && self.align == 1
            && self.regions.len() <= 1
            && self.enclosing.is_none()
            && self.around.is_none()
            && self.within.is_none();
        plain.then_some(&self.loop_order)
    }

    /// Finds the layout.
    ///
    /// # Errors
    /// An infinite set, an order that is no permutation, rows with gaps to be aligned, a failure of isl, Barvinok not
    /// being there.
    pub fn build(mut self) -> Result<Layout, LayoutError> {
        if let Some(around) = self.around.take() {
            return self.of_places(around);
        }
        let Some(enclosing) = self.enclosing.take() else { return self.of_elements() };
        let mut around = self.clone().elements(&enclosing).regions(Vec::new());
        around.whole = self.whole.clone();
        match around.of_elements() {
            Ok(around) if is_simple(&around.index) => {
                // More memory is better than long counting.
                if has_long_periods(&self.stored)? {
                    return Ok(around);
                }
                if !is_dense(&self.stored, &enclosing)? {
                    return match self.of_elements() {
                        Err(LayoutError::Poly(Error::TooComplex { .. })) => Ok(around),
                        own => own,
                    };
                }
                if !is_counted_quickly(&self.stored)? {
                    return Ok(around);
                }
                let own = self.of_elements()?;
                Ok(if own.index.pieces.len() <= TANGLED { own } else { around })
            }
            _ => self.of_elements(),
        }
    }

    /// Of the elements, of a set around them, or of the box: the first that has a simple index.
    fn of_places(self, around: Set) -> Result<Layout, LayoutError> {
        let mut own = None;
        if self.stored.basic_set_count()? <= 1 {
            let layout = self.clone().of_elements()?;
            if layout.index.pieces.len() <= 1 {
                return Ok(layout);
            }
            own = Some(layout);
        }
        for places in std::iter::once(around).chain(self.whole.clone()) {
            if is_dense(&self.stored, &places)? {
                let layout = self.clone().within(places).of_elements()?;
                if layout.index.pieces.len() <= 1 {
                    return Ok(layout);
                }
            }
        }
        own.map_or_else(|| self.of_elements(), Ok)
    }

    fn of_elements(self) -> Result<Layout, LayoutError> {
        let names = self.stored.dims()?.into_iter().zip(self.stored.fresh_dims("i")?);
        let dims: Vec<String> =
            names.map(|(name, fresh)| if name.is_empty() { fresh } else { name }).collect();
        let given = self.stored.with_dim_names(&dims)?;
        let order = self.chosen.as_ref().unwrap_or(&self.loop_order);
        given.permute(order)?; // an order that is no permutation is an error
        let plain = Coordinates::plain(&dims, order);
        let in_box = match &self.whole {
            Some(whole) if self.align <= 1 && self.chosen.is_none() && self.within.is_none() => {
                in_box(&given, &plain, whole)?
            }
            _ => None,
        };
        let stored = if in_box.is_some() { given } else { explicit(&given)? };
        if in_box.is_none() && !stored.is_bounded()? {
            return Err(dastac_poly::Error::Infinite { set: stored.to_string() }.into());
        }
        let permuted = stored.permute(order)?;
        let mut parts = if let Some(part) = in_box {
            vec![part]
        } else if dims.is_empty() {
            vec![Candidate::new(&stored, &plain)?.counted()?]
        } else if self.align > 1 {
            vec![Part::aligned(&stored, &plain, self.align)?]
        } else if self.chosen.is_some() {
            in_order(&stored, &dims, order)?
        } else if let Some(places) = &self.within
            && let Some(part) = in_places(&stored, &plain, places)?
        {
            vec![part]
        } else {
            let long = if self.unstructured { SOON } else { LONG };
            let around = self.whole.as_ref().map(|whole| (whole, long));
            search(&stored, &dims, order, &self.regions, around, self.padding)?
        };
        let mut total = PwQPolynomial::zero_on(&stored.params_set()?)?;
        for part in &mut parts {
            part.offset = fuse(&total, &part.domain.params_set()?, &[])?;
            total = total.add(&part.count)?;
        }
        let permuted_dims: Vec<String> = order.iter().map(|&k| dims[k].clone()).collect();
        let mut pieces = Vec::new();
        for part in &parts {
            for rank in part.rank_of_index(&dims)? {
                for offset in offsets(&part.offset) {
                    let domain = match offset.domain {
                        Some(params) => rank.domain.intersect_params(&params)?,
                        None => rank.domain.clone(),
                    };
                    if parts.len() == 1 || !domain.is_empty()? {
                        let domain = domain.permute(order)?.with_dim_names(&permuted_dims)?;
                        let polynomial = &rank.polynomial + &offset.polynomial;
                        pieces.push(Piece { domain, polynomial });
                    }
                }
            }
        }
        if let [only] = pieces.as_mut_slice() {
            only.domain = permuted;
        }
        if dims.is_empty() {
            pieces.clear();
        }
        Ok(Layout {
            symbols: stored.params()?,
            size: fuse(&total, &symbols_of(&stored)?, &[])?,
            index: Piecewise { dims: permuted_dims, pieces },
            dims,
            order: order.clone(),
            padded: self.align > 1 || parts.iter().any(|part| part.padded),
            parts,
            align: self.align,
            unique: stored.clone(),
            redundancy: Vec::new(),
            slices: OnceCell::new(),
            stored,
        })
    }
}

/// Whether counting takes little time: the pieces of a count multiply with the basic sets and strides, in each
/// dimension.
fn is_counted_quickly(set: &Set) -> Result<bool, LayoutError> {
    let basics = set.basic_set_count()?;
    Ok(match set.rank() {
        0..=2 => basics <= BASIC_SETS,
        _ => basics == 1 && set.existentials()? == 0,
    })
}

/// Whether blocks or strides of several sizes meet in a dimension, so that what is counted repeats after many values
/// only: blocks of 25 and of 46 after 1150.
fn has_long_periods(set: &Set) -> Result<bool, LayoutError> {
    let period = |moduli: &BTreeSet<i64>| {
        // No further than it takes to know: long periods do not become shorter.
        let longer = |all: i128, own: &i64| match all > LONGEST_PERIOD {
            true => all,
            false => all.lcm(&i128::from(*own)),
        };
        moduli.iter().fold(1, longer)
    };
    let moduli = set.moduli()?;
    Ok(moduli.iter().any(|moduli| moduli.len() > 1 && period(moduli) > LONGEST_PERIOD))
}

/// A value of an offset, and the symbols for which it holds if not for all.
struct Offset {
    domain: Option<Set>,
    polynomial: Polynomial,
}

fn offsets(offset: &Piecewise) -> Vec<Offset> {
    match offset.pieces.as_slice() {
        [] => vec![Offset { domain: None, polynomial: Polynomial::zero() }],
        [only] => vec![Offset { domain: None, polynomial: only.polynomial.clone() }],
        pieces => pieces
            .iter()
            .map(|p| Offset { domain: Some(p.domain.clone()), polynomial: p.polynomial.clone() })
            .collect(),
    }
}
