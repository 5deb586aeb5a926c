//! A map of the head's elements that may be an equality, and how it may move the terms of each product.

use dastac_poly::Map;

/// A map that may lead to equal elements, up to a coefficient.
pub(super) struct Candidate {
    /// Injective and single-valued, on the head's elements.
    pub map: Map,
    /// For each product the ways in which its terms may move. One of them has to hold.
    pub ways: Vec<Vec<Way>>,
}

/// Where the terms of a product may go.
#[derive(Clone)]
pub(super) struct Way {
    /// The product that they become terms of.
    pub to: usize,
    /// For each access, the access of the other product that reads the same value.
    pub pairing: Vec<usize>,
    /// The pairs of points of both products whose reduction iterators correspond. The head's iterators are not
    /// restricted.
    pub reductions: Map,
}
