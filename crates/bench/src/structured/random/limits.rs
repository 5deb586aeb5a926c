//! What random programs may cost, and what they are.

/// How large programs may be.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Extents are at least and at most so large.
    pub extents: [i64; 2],
    /// Multiply-adds, estimated from above.
    pub multiply_adds: f64,
    /// Elements of each tensor.
    pub elements: f64,
    /// Points of the boxes that the dense evaluator goes over.
    pub check: f64,
}

impl Limits {
    /// What fifty programs can do in some minutes.
    pub const USUAL: Limits =
        Limits { extents: [64, 2048], multiply_adds: 2e9, elements: 3e7, check: 1.2e7 };

    /// As [`Limits::USUAL`], with no extent beyond this.
    pub fn up_to(extent: i64) -> Limits {
        let usual = Limits::USUAL;
        let extent = extent.max(2);
        let extents = [usual.extents[0].min(extent), usual.extents[1].min(extent)];
        Limits { extents, check: usual.check.min((extent as f64).powi(4)), ..usual }
    }
}

/// A program that was drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// Its text.
    pub source: String,
    /// Values of its symbols.
    pub symbols: Vec<(String, i64)>,
    /// Smaller values, at which it is compared with the dense evaluator.
    pub checks: Vec<Vec<(String, i64)>>,
}
