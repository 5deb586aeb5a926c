//! What workspaces cost: equations (1) and (2) of the paper on sparse workspaces (section 4), completed by extents, by
//! the points that are expected, and by the caches of the machine.
//!
//! The equations count stores and loads. A dense workspace takes some of them for each point (`L` in the paper) and
//! each element (`nnz(C)`); a container takes three stores for each point, and sorts and merges. They leave out what
//! decides for wide rows: that a dense workspace has memory for each coordinate, which has to be made zero once and is
//! missed by caches later. All is in nanoseconds here, as far as machines differ by what their descriptions say.

use dastac_iterate::{Kind, Limits};
use dastac_loops::machine::Machine;

/// What comes to the workspaces of a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// How often a workspace is filled.
    pub rows: f64,
    /// The coordinates of the levels in it.
    pub coordinates: f64,
    /// How many points come to all of them.
    pub points: f64,
    /// The bytes of a point's value, or block of values.
    pub bytes: f64,
    /// The coordinates of the first level, if all of a result is in one workspace.
    pub first: Option<f64>,
}

/// A dense workspace takes at most so many bytes for each thread, whatever else would take longer.
const MOST: f64 = (1u64 << 30) as f64;

/// Nanoseconds for a store or load that a cache has, with what is computed for it.
const NEAR: f64 = 1.5;

/// So many points at most are sorted by rank, others by digits of eight bits.
const FEW: f64 = 32.0;

/// What the values of a digit take, beside the points.
const VALUES: f64 = 256.0;

/// So many points of a bucket are sorted in a cache near a thread.
const IN_BUCKET: f64 = 1024.0;

/// More buckets are more places to write to than a cache has lines.
const MOST_BUCKETS: f64 = 2048.0;

/// A hash table that may be chosen has so many points at most.
const LARGEST_TABLE: f64 = (1u64 << 16) as f64;

impl Shape {
    /// Points of one workspace.
    fn each(&self) -> f64 {
        self.points / self.rows.max(1.0)
    }

    /// How many of them differ, where each coordinate is as probable as the others.
    fn different(&self) -> f64 {
        let (each, all) = (self.each(), self.coordinates.max(1.0));
        match each < all * 1e-6 {
            true => each,
            false => all * -(-each / all).exp_m1(),
        }
    }

    /// How many kinds of digits the keys have.
    fn digits(&self) -> f64 {
        (self.coordinates.max(2.0).log2() / 8.0).ceil()
    }

    /// The bytes of a dense workspace: values and marks.
    pub fn dense_bytes(&self) -> f64 {
        self.coordinates * (self.bytes + 1.0)
    }

    /// The nanoseconds that a kind of workspace takes for all of a result, on one thread.
    pub fn cost(&self, kind: Kind, machine: &Machine) -> f64 {
        let (points, all) = (self.points, self.rows * self.different());
        match kind {
            Kind::Dense => {
                // Found first, then filled: both clear their memory once, which is fresh where no cache has it.
                let lines = 2.0 * self.dense_bytes() / machine.line as f64;
                let [_, fresh] = missed(self.dense_bytes(), machine);
                let cleared = lines * (NEAR + 8.0 * fresh);
                // Equation (1): a store of the value and of each mark, and what is appended.
                let own = points * (4.0 * NEAR + anywhere(self.dense_bytes(), machine));
                let scanned = self.rows * (NEAR + self.coordinates / 4096.0);
                cleared + own + 3.0 * NEAR * all + scanned
            }
            Kind::Growing => self.container(f64::max(4096.0, self.different()), machine),
            Kind::Sized(_) => {
                self.cost(Kind::Dense, machine).min(self.cost(Kind::Growing, machine))
            }
            Kind::Bucket { rows } => {
                let first = self.first.unwrap_or(self.coordinates);
                let buckets = (first / rows as f64).ceil().max(1.0);
                // Points are scattered, then each bucket is sorted as a container that is never full.
                let scattered = self.points * 6.0 * NEAR + buckets * 100.0 * NEAR;
                let own = Shape {
                    rows: self.rows * buckets,
                    coordinates: self.coordinates / buckets,
                    ..*self
                };
                scattered + own.container(f64::MAX, machine)
            }
            Kind::List { capacity } => self.container(capacity as f64, machine),
            Kind::Hash { capacity } => {
                let places = 2.0 * capacity as f64 * (8.0 + self.bytes);
                // Points that are there already are joined; others are inserted.
                let joined = points * (25.0 * NEAR + anywhere(places, machine));
                let table = Shape { points: all, ..*self };
                joined + table.container(capacity as f64, machine)
            }
        }
    }

    /// Equation (2), for a container of so many points.
    fn container(&self, capacity: f64, machine: &Machine) -> f64 {
        let (each, all) = (self.each(), self.different());
        let held = each.min(capacity.max(1.0));
        // `T`: how often it is full; each time all that was there before is moved by what is new.
        let merges = (each / capacity.max(1.0)).ceil().max(1.0);
        // Twice: when points are counted, and when they are filled in. Each digit is counted by its values too.
        let sort = match held <= FEW {
            true => 0.4 * NEAR * held,
            false => 2.0 * self.digits() * NEAR * (5.0 + VALUES / held),
        };
        let far = anywhere(held * (32.0 + 2.0 * self.bytes), machine);
        let merged = all * NEAR * (3.0 + 10.0 * (merges - 1.0));
        let own = each * (6.0 * NEAR + sort + far) + merged + 3.0 * NEAR * all;
        self.rows * (80.0 * NEAR + own)
    }

    /// The kind that takes the least time, among those that are possible: a dense workspace is for one level.
    pub fn best(&self, one_level: bool, machine: &Machine) -> Kind {
        let mut kinds = vec![Kind::Growing];
        // Points that come often are joined in a table that holds all that differ.
        let table = (2.0 * self.different()).clamp(64.0, LARGEST_TABLE).log2().ceil().exp2();
        if self.different() <= LARGEST_TABLE {
            kinds.push(Kind::Hash { capacity: table as i64 });
        }
        if one_level && self.dense_bytes() <= MOST {
            kinds.push(Kind::Dense);
        }
        if let Some(first) = self.first.filter(|_| self.points > IN_BUCKET) {
            let buckets = (self.points / IN_BUCKET).min(MOST_BUCKETS);
            let rows = (first / buckets).max(1.0).log2().ceil().exp2();
            kinds.push(Kind::Bucket { rows: rows as i64 });
        }
        let cost = |kind: &Kind| self.cost(*kind, machine);
        kinds.into_iter().min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or(Kind::Growing)
    }
}

/// Points of a row, as far as limits are for rows that nothing is known of.
const SOME: f64 = 16.0;

/// How large a dense workspace of one level may be where sizes are known only when code runs: up to a size that a cache
/// near a thread has, and beyond it as far as many points make up for clearing it.
pub fn limits(machine: &Machine) -> Limits {
    let points = (machine.last.max(1 << 20) / 8) as f64;
    let is_dense = |each: &f64| {
        let (rows, bytes) = (points / SOME, 8.0);
        let coordinates = points * each / (bytes + 1.0);
        let shape = Shape { rows, coordinates, points, bytes, first: None };
        shape.cost(Kind::Dense, machine) <= shape.cost(Kind::Growing, machine)
    };
    let sizes = (0..10).map(|power| f64::powi(2.0, power));
    let each = sizes.take_while(is_dense).last().unwrap_or(1.0);
    Limits { near: machine.l2, each: each as i64, most: MOST as i64 }
}

/// Nanoseconds by which lines of so much memory, read one after the other, are later than those of the first cache:
/// because of those that other caches have, and because of those that no cache has.
fn missed(bytes: f64, machine: &Machine) -> [f64; 2] {
    let line = machine.line as f64;
    let read = |speed: i64| line / speed.max(1) as f64;
    let within = |cache: i64| (cache as f64 / bytes.max(1.0)).min(1.0);
    // The part of the memory that each cache has.
    let (second, last) = (within(machine.l2), within(machine.last.max(machine.l2)));
    let first = within(machine.l1);
    let near = (second - first).max(0.0) * read(machine.read_l2)
        + (last - second) * read(machine.read_last);
    [near, (1.0 - last) * read(machine.read_memory)]
}

/// The same for places in any order, which nothing fetches before they are needed.
fn anywhere(bytes: f64, machine: &Machine) -> f64 {
    let [near, far] = missed(bytes, machine);
    3.0 * near + 12.0 * far
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with caches as most computers have them.
    fn machine() -> Machine {
        Machine {
            l1: 32 << 10,
            l2: 512 << 10,
            last: 8 << 20,
            read_l1: 100,
            read_l2: 50,
            read_last: 20,
            read_memory: 8,
            ..Machine::PLAIN
        }
    }

    fn best(rows: f64, each: f64, coordinates: f64) -> Kind {
        let shape = Shape { rows, coordinates, points: rows * each, bytes: 8.0, first: None };
        shape.best(true, &machine())
    }

    #[test]
    fn dense_where_it_is_small_and_much_comes_to_it() {
        assert_eq!(best(2e3, 16.0, 1e3), Kind::Dense);
        assert_eq!(best(2e3, 16.0, 1e5), Kind::Dense);
        assert_eq!(best(2e3, 900.0, 1e3), Kind::Dense);
        assert_eq!(best(2e3, 900.0, 1e5), Kind::Dense);
        assert_eq!(best(200.0, 1e4, 1e6), Kind::Dense);
    }

    #[test]
    fn containers_where_few_points_come_to_many_places() {
        assert_ne!(best(2e3, 16.0, 1e7), Kind::Dense);
        assert_ne!(best(20.0, 4.0, 1e7), Kind::Dense);
        assert_ne!(best(2e4, 4.0, 1e6), Kind::Dense);
    }

    #[test]
    fn extents_of_which_no_memory_holds_all_are_never_dense() {
        for each in [1.0, 1e3, 1e6, 1e9] {
            assert_ne!(best(1e9, each, 1e9), Kind::Dense);
            assert_ne!(best(1.0, each, 1e18), Kind::Dense);
        }
    }

    #[test]
    fn limits_grow_and_end() {
        let Limits { near, each, most } = limits(&machine());
        assert!(0 < near && near <= most && most as f64 <= MOST);
        assert!((1..=512).contains(&each), "{each}");
    }

    #[test]
    fn nothing_is_chosen_for_several_levels_that_has_a_place_for_each() {
        let shape = Shape { rows: 1.0, coordinates: 1e3, points: 1e9, bytes: 8.0, first: None };
        assert_ne!(shape.best(false, &machine()), Kind::Dense);
    }

    #[test]
    fn whole_results_of_many_points_come_together_in_buckets() {
        let of = |points: f64, first: f64| {
            let (rows, coordinates) = (1.0, first * first);
            let shape = Shape { rows, coordinates, points, bytes: 8.0, first: Some(first) };
            shape.best(false, &machine())
        };
        assert!(matches!(of(1e7, 1e5), Kind::Bucket { rows: 32..=128 }), "{:?}", of(1e7, 1e5));
        assert!(!matches!(of(1e3, 1e3), Kind::Bucket { .. }));
    }

    #[test]
    fn costs_grow_with_points_and_places() {
        let shape = |points, coordinates| {
            let (rows, bytes, first) = (100.0, 8.0, None);
            Shape { rows, coordinates, points, bytes, first }
        };
        let kinds = [Kind::Dense, Kind::Growing, Kind::Hash { capacity: 256 }];
        for kind in kinds.into_iter().chain([Kind::List { capacity: 16 }]) {
            for (few, many) in [(1e3, 1e4), (1e4, 1e5), (1e5, 1e7)] {
                let cost = |points, places| shape(points, places).cost(kind, &machine());
                assert!(cost(few, 1e4) < cost(many, 1e4), "{kind:?}: points");
                assert!(cost(1e4, few) <= cost(1e4, many), "{kind:?}: places");
            }
        }
    }
}
