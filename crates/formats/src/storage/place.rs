//! Where an element is, in the words of a message.

use std::fmt;

use super::tuple;

/// Coordinates of an element, which say in messages how they count: `the element (1, 2), counting from 0`. The element
/// of a scalar has none: it is `the number`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    coordinates: Vec<u64>,
    first: u64,
}

impl Place {
    /// Coordinates that count from 0.
    pub fn new(coordinates: Vec<u64>) -> Place {
        Place { coordinates, first: 0 }
    }

    /// The element at a position of an array in C order. Its extents must not be 0.
    pub fn in_array(position: usize, shape: &[usize]) -> Place {
        let mut rest = position;
        let mut coordinates = vec![0; shape.len()];
        for (coordinate, extent) in coordinates.iter_mut().zip(shape).rev() {
            *coordinate = (rest % extent) as u64;
            rest /= extent;
        }
        Place::new(coordinates)
    }

    /// The same element, for readers who count from another number.
    pub fn counting_from(self, first: u64) -> Place {
        Place { first, ..self }
    }

    /// What a message about the value begins with: `the element (1, 2), counting from 0: `, or `the number `.
    pub(super) fn before_value(&self) -> String {
        let end = if self.coordinates.is_empty() { " " } else { ": " };
        format!("{self}{end}")
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.coordinates.is_empty() {
            return f.write_str("the number");
        }
        let shown: Vec<u64> = self.coordinates.iter().map(|at| at + self.first).collect();
        write!(f, "the element {}, counting from {}", tuple(&shown), self.first)
    }
}
