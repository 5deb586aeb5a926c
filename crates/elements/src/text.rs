//! Numbers in texts for people.

use std::fmt;

/// A float in few digits: `1000` and `0.25`, but `1e300` and `1e-9`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decimal<T>(pub T);

macro_rules! display {
    ($($type:ty),*) => {
        $(impl fmt::Display for Decimal<$type> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let magnitude = self.0.abs();
                if magnitude == 0.0 || (1e-5..1e16).contains(&magnitude) || !magnitude.is_finite() {
                    return write!(f, "{}", self.0);
                }
                write!(f, "{:e}", self.0)
            }
        })*
    };
}

display!(f32, f64);

/// `1 element`, `2 elements`: a number with what there is so many of, whose plural ends in `s`.
pub fn count(number: impl fmt::Display, one: &str) -> String {
    let number = number.to_string();
    let end = if number == "1" { "" } else { "s" };
    format!("{number} {one}{end}")
}
