//! Structures of random operands: which regions are unique, and what the others are equal to.

use rand::Rng;

/// What is known of some positions of a tensor. `w` is a width that the structure has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The first position is at least the second.
    Lower,
    /// The first position is at most the second.
    Upper,
    /// Both positions may change places.
    Symmetric,
    /// As [`Kind::Symmetric`], with the other sign.
    Skew,
    /// So far below the diagonal, and so far above.
    Band(i64, i64),
    /// A symmetric band.
    SymmetricBand(i64),
    /// Constant diagonals.
    Toeplitz,
    /// Constant diagonals, none above the main one.
    LowerToeplitz,
    /// Constant along the other diagonals.
    Hankel,
    /// One diagonal more than a triangle.
    Hessenberg,
    /// Blocks of so many rows along the diagonal.
    BlockDiagonal(i64),
    /// The diagonal and the one above it.
    Bidiagonal,
    /// A triangle, and so many columns of the other one.
    Trapezoid(i64),
    /// Positions ascend: of three.
    Simplex,
    /// Three positions may change places.
    Cubic,
}

/// A structure of some positions.
#[derive(Clone, Debug)]
pub(super) struct Component {
    pub(super) kind: Kind,
    pub(super) positions: Vec<usize>,
}

/// A region of a redundancy map: coefficient, conditions, and positions with what they become.
#[derive(Clone)]
struct Region {
    coefficient: i64,
    condition: String,
    targets: Vec<(usize, String)>,
}

impl Kind {
    /// One at random, of two positions or of three.
    pub(super) fn draw(rng: &mut impl Rng, positions: usize) -> Kind {
        if positions == 3 {
            return if rng.random_bool(0.5) { Kind::Simplex } else { Kind::Cubic };
        }
        match rng.random_range(0..16) {
            0 => Kind::Lower,
            1 => Kind::Upper,
            2..=4 => Kind::Symmetric,
            5 => Kind::Skew,
            6 => Kind::Band(rng.random_range(0..60), rng.random_range(0..60)),
            7 => Kind::SymmetricBand(rng.random_range(1..60)),
            8 => Kind::Toeplitz,
            9 => Kind::LowerToeplitz,
            10 => Kind::Hankel,
            11 => Kind::Hessenberg,
            12 => Kind::BlockDiagonal(rng.random_range(2..50)),
            13 => Kind::Bidiagonal,
            14 => Kind::Trapezoid(rng.random_range(1..60)),
            _ => Kind::Band(0, rng.random_range(1..200)),
        }
    }

    /// Whether all positions must have one extent.
    pub(super) fn is_square(self) -> bool {
        use Kind::{Cubic, Simplex, Skew, Symmetric, SymmetricBand};
        matches!(self, Symmetric | Skew | SymmetricBand(_) | Simplex | Cubic)
    }

    /// About which part of the elements of a square with this extent may be non-zero.
    pub(super) fn density(self, extent: i64) -> f64 {
        let part = |width: i64| (width as f64 / extent.max(1) as f64).min(1.0);
        match self {
            Kind::Band(below, above) => part(below + above + 1),
            Kind::SymmetricBand(width) => part(2 * width + 1),
            Kind::BlockDiagonal(width) => part(width),
            Kind::Bidiagonal => part(2),
            Kind::Simplex => 0.2,
            Kind::Lower | Kind::Upper | Kind::LowerToeplitz => 0.5,
            _ => 1.0,
        }
    }
}

impl Component {
    /// Conditions of the regions that are unique. `x` names positions, `last` the largest index of each.
    fn unique(&self, x: &[String], last: &[String]) -> Vec<String> {
        let at = |k: usize| &x[self.positions[k]];
        let (a, b) = (at(0), at(1));
        let one = match self.kind {
            Kind::Lower => format!("({b} <= {a})"),
            Kind::Upper | Kind::Symmetric => format!("({a} <= {b})"),
            Kind::Skew => format!("({a} < {b})"),
            Kind::Band(below, above) => format!("({a} - {below} <= {b} <= {a} + {above})"),
            Kind::SymmetricBand(width) => format!("({a} <= {b} <= {a} + {width})"),
            Kind::Toeplitz => return vec![format!("({a} = 0)"), format!("({a} > 0) * ({b} = 0)")],
            Kind::LowerToeplitz => format!("({b} = 0)"),
            Kind::Hankel => {
                let end = &last[self.positions[1]];
                return vec![format!("({a} = 0)"), format!("({a} > 0) * ({b} = {end})")];
            }
            Kind::Hessenberg => format!("({a} <= {b} + 1)"),
            Kind::BlockDiagonal(width) => format!("({a} / {width} = {b} / {width})"),
            Kind::Bidiagonal => format!("({a} <= {b} <= {a} + 1)"),
            Kind::Trapezoid(width) => format!("({a} <= {b} + {width})"),
            Kind::Simplex | Kind::Cubic => format!("({a} <= {b} <= {})", at(2)),
        };
        vec![one]
    }

    /// The regions that equal other elements.
    fn redundant(&self, x: &[String], last: &[String]) -> Vec<Region> {
        let (p, q) = (self.positions[0], self.positions[1]);
        let (a, b) = (&x[p], &x[q]);
        let region = |coefficient: i64, condition: String, to: [String; 2]| {
            let targets = [p, q].into_iter().zip(to).collect();
            Region { coefficient, condition, targets }
        };
        let swapped =
            |coefficient, condition| vec![region(coefficient, condition, [b.clone(), a.clone()])];
        match self.kind {
            Kind::Symmetric => swapped(1, format!("({b} < {a})")),
            Kind::Skew => swapped(-1, format!("({b} < {a})")),
            Kind::SymmetricBand(width) => swapped(1, format!("({b} < {a} <= {b} + {width})")),
            Kind::Toeplitz => vec![
                region(1, format!("(0 < {a} <= {b})"), ["0".into(), format!("{b} - {a}")]),
                region(1, format!("(0 < {b} < {a})"), [format!("{a} - {b}"), "0".into()]),
            ],
            Kind::LowerToeplitz => {
                vec![region(1, format!("(0 < {b} <= {a})"), [format!("{a} - {b}"), "0".into()])]
            }
            Kind::Hankel => {
                let (sum, end) = (format!("{a} + {b}"), &last[q]);
                let inside = format!("(0 < {a}) * ({sum} <= {end})");
                let beyond = format!("(0 < {a}) * ({b} < {end}) * ({sum} > {end})");
                vec![
                    region(1, inside, ["0".into(), sum.clone()]),
                    region(1, beyond, [format!("{sum} - ({end})"), end.clone()]),
                ]
            }
            Kind::Cubic => self.sorted(x),
            _ => Vec::new(),
        }
    }

    /// The regions in which three positions are not in order, each with the sorted ones as its target.
    fn sorted(&self, x: &[String]) -> Vec<Region> {
        let orders = [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        let regions = orders.into_iter().map(|order: [usize; 3]| {
            // Of equal ones the first position counts as smaller, so that one order is that of an element.
            let pair = |one: usize, other: usize| {
                let sign = if one < other { "<=" } else { "<" };
                format!("({} {sign} {})", x[self.positions[one]], x[self.positions[other]])
            };
            let condition = format!("{} * {}", pair(order[0], order[1]), pair(order[1], order[2]));
            let targets = order.iter().zip(&self.positions);
            let targets = targets.map(|(from, to)| (*to, x[self.positions[*from]].clone()));
            Region { coefficient: 1, condition, targets: targets.collect() }
        });
        regions.collect()
    }
}

/// The rules `:D`, `:U` and `:R` of a tensor with these extents.
pub(super) fn declare(name: &str, extents: &[String], components: &[Component]) -> String {
    let x: Vec<String> = (0..extents.len()).map(|at| format!("x{at}")).collect();
    let last: Vec<String> = extents.iter().map(|extent| format!("{extent} - 1")).collect();
    let bounds: Vec<String> =
        x.iter().zip(extents).map(|(x, extent)| format!("(0 <= {x} < {extent})")).collect();
    let subscripts = x.join(", ");
    let mut text = format!("{name}:D({subscripts}) := {}\n", bounds.join(" * "));
    if components.is_empty() {
        return text;
    }
    // Every choice of a region for each component: the first of two lists has those that move nothing.
    let everything = Region { coefficient: 1, condition: String::new(), targets: Vec::new() };
    let mut regions = vec![everything];
    for component in components {
        let stay = component.unique(&x, &last).into_iter();
        let stay = stay.map(|condition| Region { coefficient: 1, condition, targets: Vec::new() });
        let own: Vec<Region> = stay.chain(component.redundant(&x, &last)).collect();
        let joined = regions.iter().flat_map(|known| own.iter().map(|new| joined(known, new)));
        regions = joined.collect();
    }
    let (unique, moved): (Vec<&Region>, Vec<&Region>) =
        regions.iter().partition(|region| region.targets.is_empty());
    let unique: Vec<&str> = unique.iter().map(|region| &region.condition[..]).collect();
    text += &format!("{name}:U({subscripts}) := {}\n", unique.join(" + "));
    let moved: Vec<String> = moved.into_iter().map(|region| map(region, &x)).collect();
    if !moved.is_empty() {
        let targets: Vec<String> = x.iter().map(|x| format!("{x}p")).collect();
        let targets = targets.join(", ");
        text += &format!("{name}:R({subscripts}, {targets}) := {}\n", moved.join(" + "));
    }
    text
}

fn joined(one: &Region, other: &Region) -> Region {
    let both = [&one.condition[..], &other.condition[..]];
    let both: Vec<&str> = both.into_iter().filter(|condition| !condition.is_empty()).collect();
    Region {
        coefficient: one.coefficient * other.coefficient,
        condition: both.join(" * "),
        targets: one.targets.iter().chain(&other.targets).cloned().collect(),
    }
}

/// A region as a term of `:R`.
fn map(region: &Region, x: &[String]) -> String {
    let mut text = match region.coefficient {
        1 => String::new(),
        coefficient => format!("{coefficient} * "),
    };
    text += &region.condition;
    for (at, own) in x.iter().enumerate() {
        let target = region.targets.iter().find(|(to, _)| *to == at);
        let target = target.map_or(own, |(_, target)| target);
        text += &format!(" * ({own}p = {target})");
    }
    text
}
