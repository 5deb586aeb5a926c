//! Symbolic indexing (dastac paper, Algorithm 1).
//!
//! Where the steps of the algorithm are: the caller passes the set of elements that the accesses use. The order of
//! positions is that in which their iterators appear in the loops ([`crate::choice`]), in the coordinates that
//! [`crate::search`] finds. [`Set::rank_by_depth`] counts the preceding accesses, and [`crate::fusion`] fuses the
//! pieces.

use std::cell::OnceCell;
use std::fmt;

use dastac_poly::Set;
use dastac_stur::infer::{Inferred, Redundancy};
use dastac_stur::program::TensorId;
use dastac_stur::sets::Affine;

use crate::LayoutError;
use crate::coordinates::Coordinates;
use crate::fusion::{Piece, Piecewise};
use crate::part::Part;
use crate::polynomial::Polynomial;
use crate::slices::Slices;

/// A packed layout of one tensor.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Names of the dimensions, in the tensor's own order.
    pub dims: Vec<String>,
    /// Names of the symbols that sizes and positions may depend on.
    pub symbols: Vec<String>,
    /// The loop order, slowest position first. The elements are packed in this order if it gives a simple index
    /// ([`Layout::parts`] has the coordinates).
    pub order: Vec<usize>,
    /// The elements that have a place: unique, structurally non-zero, used.
    pub stored: Set,
    /// The number of places: those of stored elements, and padding if rows are aligned.
    pub size: Piecewise,
    /// The position of each stored element: the offset of its part plus its rank in that part.
    pub index: Piecewise,
    /// The disjoint parts of the stored elements, in the order in which they are stored.
    pub parts: Vec<Part>,
    /// Rows start at multiples of this many elements; 1 where they are not aligned.
    pub align: u32,
    /// Whether there are places without an element: between aligned rows, or where the index is simpler for it.
    pub padded: bool,
    /// All unique elements, also those that the computation does not use.
    pub unique: Set,
    /// How redundant elements follow from unique ones.
    pub redundancy: Vec<Redundancy>,
    /// The equalities that tell the pieces of the index apart, computed on first use.
    pub(crate) slices: OnceCell<Vec<Slices>>,
}

impl Layout {
    /// The uncompressed layout of a tensor, its whole box in C order, with which packed ones are compared.
    ///
    /// # Errors
    /// A diagnostic for a box whose extent is a minimum or maximum of several expressions.
    pub fn dense(inferred: &Inferred, tensor: TensorId) -> Result<Layout, LayoutError> {
        let what = "the uncompressed layout";
        Layout::boxed(inferred, tensor).map_err(|e| e.blamed(what, &inferred.program, tensor))
    }

    fn boxed(inferred: &Inferred, tensor: TensorId) -> Result<Layout, LayoutError> {
        let structured = &inferred.tensors[tensor.0];
        let names = &inferred.sets.names;
        let dims: Vec<String> =
            structured.iterators.iter().map(|name| names.isl(name).to_string()).collect();
        let mut position = Polynomial::zero();
        let mut size = Polynomial::constant(1);
        for (dim, extent) in dims.iter().zip(&structured.extents) {
            let [bounds] = extent.regions.as_slice() else {
                return Err(LayoutError::Unsupported(format!("the extent {extent}")));
            };
            let [bound] = bounds.as_slice() else {
                return Err(LayoutError::Unsupported(format!("the extent {extent}")));
            };
            let rename = bound.names().into_iter().map(|n| (n.clone(), names.isl(&n).to_string()));
            let extent = Polynomial::from_affine(&bound.rename(&rename.collect()));
            position = &(&position * &extent) + &Polynomial::from_affine(&Affine::name(dim));
            size = &size * &extent;
        }
        let stored = inferred.used(tensor)?.with_dim_names(&dims)?;
        let span = inferred.sets.box_set(&structured.iterators, &structured.extents)?;
        let whole = |domain: Set, polynomial: Polynomial, dims: Vec<String>| Piecewise {
            dims,
            pieces: vec![Piece { domain, polynomial }],
        };
        let index = whole(stored.clone(), position, dims.clone());
        let order: Vec<usize> = (0..dims.len()).collect();
        let coordinates = Coordinates::plain(&dims, &order).list().to_vec();
        let part = Part {
            domain: stored.clone(),
            all: coordinates.clone(),
            coordinates,
            count: span.card()?,
            padded: false,
            span,
            rank: index.clone(),
            offset: Piecewise::zero(),
        };
        Ok(Layout {
            symbols: stored.params()?,
            order,
            size: whole(symbols_of(&stored)?, size, Vec::new()),
            index,
            dims,
            parts: vec![part],
            align: 1,
            padded: false,
            unique: structured.unique.clone(),
            redundancy: structured.redundancy.clone(),
            slices: OnceCell::new(),
            stored,
        })
    }

    /// The layout at given values of the symbols.
    ///
    /// # Errors
    /// A symbol without a value; positions beyond 64 bits.
    pub fn bind(&self, values: &[(&str, i64)]) -> Result<Bound<'_>, LayoutError> {
        let mut symbols = Vec::new();
        for symbol in &self.symbols {
            match values.iter().find(|(name, _)| name == symbol) {
                Some((_, value)) => symbols.push((symbol.clone(), *value)),
                None => return Err(LayoutError::Unbound(symbol.clone())),
            }
        }
        let size = self.check_range("the tensor", &symbols)?;
        Ok(Bound { layout: self, symbols, size })
    }

    /// The position of an element, for a layout without symbols; `None` where no element is stored.
    pub fn index_of(&self, point: &[i64]) -> Result<Option<i64>, LayoutError> {
        self.bind(&[])?.index_of(point)
    }

    /// Number of stored elements at given values of the symbols, after checking that no evaluation of the index or the
    /// size in 64-bit integers can overflow.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`] naming `tensor`.
    pub fn check_range(&self, tensor: &str, symbols: &[(String, i64)]) -> Result<i64, LayoutError> {
        let overflow = || LayoutError::Overflow { tensor: tensor.into() };
        let value_of = |name: &str| symbols.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
        let size = self.size.eval(symbols, &[])?.ok_or_else(overflow)?;
        let mut bounds: Vec<(String, u64)> =
            symbols.iter().map(|(name, value)| (name.clone(), value.unsigned_abs())).collect();
        let fixed = self.stored.fix_params(symbols)?;
        if !fixed.is_empty()? {
            for (k, dim) in self.dims.iter().enumerate() {
                let mut bound = 0;
                for extreme in [fixed.dim_max(k)?, fixed.dim_min(k)?] {
                    let value = extreme.eval(symbols, &[])?.ok_or_else(overflow)?;
                    let value = u64::try_from(value.to_integer().unsigned_abs());
                    bound = bound.max(value.map_err(|_| overflow())?);
                }
                bounds.push((dim.clone(), bound));
            }
            let bound_of = |name: &str| bounds.iter().find(|(n, _)| n == name).map(|(_, b)| *b);
            for piece in &self.index.pieces {
                let magnitude = piece.polynomial.magnitude(&bound_of).ok_or_else(overflow)?;
                if magnitude > i64::MAX.unsigned_abs().into() {
                    return Err(overflow());
                }
            }
        }
        // The size is also evaluated in generated code.
        for piece in &self.size.pieces {
            let magnitude = piece
                .polynomial
                .magnitude(&|name| value_of(name).map(i64::unsigned_abs))
                .ok_or_else(overflow)?;
            if magnitude > i64::MAX.unsigned_abs().into() {
                return Err(overflow());
            }
        }
        Ok(size)
    }
}

/// All values that the symbols of a layout may have: extents and positions are not negative.
pub(crate) fn symbols_of(stored: &Set) -> Result<Set, LayoutError> {
    let params = stored.params()?;
    let conditions: Vec<String> = params.iter().map(|name| format!("{name} >= 0")).collect();
    let text = format!("[{}] -> {{ : {} }}", params.join(", "), conditions.join(" and "));
    Ok(Set::parse(stored.context(), &text)?)
}

/// A layout at given values of its symbols.
#[derive(Clone, Debug)]
pub struct Bound<'a> {
    layout: &'a Layout,
    symbols: Vec<(String, i64)>,
    size: i64,
}

impl Bound<'_> {
    /// Number of stored elements.
    pub fn size(&self) -> i64 {
        self.size
    }

    /// The position of an element; `None` where no element is stored.
    ///
    /// # Errors
    /// A wrong number of subscripts, or a failure of isl.
    pub fn index_of(&self, point: &[i64]) -> Result<Option<i64>, LayoutError> {
        let rank = self.layout.dims.len();
        if point.len() != rank {
            return Err(LayoutError::Rank { given: point.len(), rank });
        }
        if !self.layout.stored.contains(&self.symbols, point)? {
            return Ok(None);
        }
        let permuted: Vec<i64> = self.layout.order.iter().map(|&k| point[k]).collect();
        self.layout.index.eval(&self.symbols, &permuted)
    }
}

impl Piecewise {
    /// The value at a point (in the order of [`Piecewise::dims`]). It is 0 if no piece applies, and `None` if it is not
    /// an integer of 64 bits.
    pub fn eval(
        &self,
        symbols: &[(String, i64)],
        point: &[i64],
    ) -> Result<Option<i64>, LayoutError> {
        for (k, piece) in self.pieces.iter().enumerate() {
            let only = self.pieces.len() == 1 && k == 0 && !self.dims.is_empty();
            if only || contains(&piece.domain, symbols, point)? {
                let value_of = |name: &str| {
                    let dim = self.dims.iter().position(|d| d == name);
                    let symbol = || symbols.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
                    dim.map(|d| point[d]).or_else(symbol)
                };
                let value = piece.polynomial.eval(&value_of).filter(|value| value.is_integer());
                return Ok(value.and_then(|value| i64::try_from(value.to_integer()).ok()));
            }
        }
        Ok(Some(0))
    }
}

impl Piecewise {
    /// The same function for a reader: for symbols of at least 1, without pieces that only apply where a symbol is 0,
    /// and with conditions as short as possible.
    ///
    /// # Errors
    /// A failure of isl.
    pub fn for_positive_symbols(&self) -> Result<Piecewise, LayoutError> {
        let mut pieces = Vec::new();
        for piece in &self.pieces {
            let params = piece.domain.params()?;
            let conditions: Vec<String> =
                params.iter().map(|name| format!("{name} >= 1")).collect();
            let text = format!("[{}] -> {{ : {} }}", params.join(", "), conditions.join(" and "));
            let positive = Set::parse(piece.domain.context(), &text)?;
            let here = piece.domain.intersect_params(&positive)?;
            if !here.is_empty()? {
                let names = piece.domain.dims()?;
                let domain = here.gist_params(&positive)?.coalesce()?;
                let domain =
                    if names.is_empty() { domain } else { domain.with_dim_names(&names)? };
                pieces.push(Piece { domain, polynomial: piece.polynomial.clone() });
            }
        }
        Ok(Piecewise { dims: self.dims.clone(), pieces })
    }
}

fn contains(domain: &Set, symbols: &[(String, i64)], point: &[i64]) -> Result<bool, LayoutError> {
    let known = domain.params()?;
    let symbols: Vec<(String, i64)> =
        symbols.iter().filter(|(name, _)| known.contains(name)).cloned().collect();
    Ok(domain.contains(&symbols, point)?)
}

/// Math notation; several pieces as `{ value if condition; .. }`.
impl fmt::Display for Piecewise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pieces.as_slice() {
            [] => write!(f, "0"),
            [only] => write!(f, "{}", only.polynomial),
            pieces => {
                let pieces: Vec<String> = pieces
                    .iter()
                    .map(|piece| {
                        let text = piece.domain.to_string();
                        let condition = text
                            .find(" : ")
                            .map_or("true", |at| text[at + 3..].trim_end_matches([' ', '}']));
                        format!("{} if {condition}", piece.polynomial)
                    })
                    .collect();
                write!(f, "{{ {} }}", pieces.join("; "))
            }
        }
    }
}

/// `dims -> position, size`.
impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}) -> {}, {} elements", self.dims.join(", "), self.index, self.size)
    }
}
