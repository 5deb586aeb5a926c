//! Groups of signed permutations of a tensor's positions, by stabilizer chains (Schreier and Sims).
//!
//! An element `g` with image `p` says `T(x) = sign * T(x[p[0]], x[p[1]], ..)` for all `x`; the product `g * h` has the
//! image `k -> p_g[p_h[k]]`. Invariants: level `k` of the chain holds the elements that fix positions `0..k`, as one
//! representative for each position that they take `k` to; every element of the group is exactly one product of
//! representatives, one a level. Orders are products of orbit sizes: the 40320 permutations of eight positions are
//! never listed.

use std::collections::BTreeMap;

/// A permutation of positions under which a tensor's values stay, or change sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// Position `k` takes the subscript of position `image[k]`.
    pub image: Vec<usize>,
    /// Whether the sign changes.
    pub negative: bool,
}

impl Signed {
    /// The identity.
    pub fn identity(degree: usize) -> Signed {
        Signed { image: (0..degree).collect(), negative: false }
    }

    /// `self * other`.
    pub fn times(&self, other: &Signed) -> Signed {
        Signed {
            image: other.image.iter().map(|&k| self.image[k]).collect(),
            negative: self.negative ^ other.negative,
        }
    }

    /// The element that undoes this one.
    pub fn inverse(&self) -> Signed {
        let mut image = vec![0; self.image.len()];
        for (k, &to) in self.image.iter().enumerate() {
            image[to] = k;
        }
        Signed { image, negative: self.negative }
    }

    /// Whether every position stays.
    pub fn fixes_all(&self) -> bool {
        self.image.iter().enumerate().all(|(k, &to)| k == to)
    }

    /// The same within `block`, nothing moved elsewhere; `block` must be a union of cycles.
    fn within(&self, block: &[usize]) -> Signed {
        let image =
            (0..self.image.len()).map(|k| if block.contains(&k) { self.image[k] } else { k });
        Signed { image: image.collect(), negative: false }
    }
}

#[derive(Clone, Debug, Default)]
struct Level {
    generators: Vec<Signed>,
    /// Representatives, by the position to which each takes the level's own position.
    representatives: BTreeMap<usize, Signed>,
}

/// A group of signed permutations.
#[derive(Clone, Debug)]
pub struct Group {
    levels: Vec<Level>,
    vanishes: bool,
}

/// A factor of a group: it moves the positions of its block only.
#[derive(Clone, Debug)]
pub struct Factor {
    /// Ascending, two or more.
    pub positions: Vec<usize>,
    /// The elements, as permutations of all positions.
    pub group: Group,
    /// `Some(false)` if it has all permutations of the block, `Some(true)` if it has each even one and the odd ones
    /// with a change of sign.
    pub full: Option<bool>,
}

impl Group {
    /// Only the identity.
    pub fn trivial(degree: usize) -> Group {
        let level = |k| Level {
            generators: Vec::new(),
            representatives: BTreeMap::from([(k, Signed::identity(degree))]),
        };
        Group { levels: (0..degree).map(level).collect(), vanishes: false }
    }

    /// The number of positions.
    pub fn degree(&self) -> usize {
        self.levels.len()
    }

    /// The number of permutations, or `usize::MAX`.
    pub fn order(&self) -> usize {
        self.levels.iter().fold(1, |order, level| order.saturating_mul(level.representatives.len()))
    }

    /// Whether there is only the identity.
    pub fn is_trivial(&self) -> bool {
        self.order() == 1
    }

    /// Whether the group has a permutation with both signs. Then every value is its own negative, so all are zero.
    pub fn vanishes(&self) -> bool {
        self.vanishes
    }

    /// One element for each position that those fixing `0..level` take `level` to, by that position.
    pub fn representatives(&self, level: usize) -> &BTreeMap<usize, Signed> {
        &self.levels[level].representatives
    }

    /// Elements of which all others are products.
    pub fn generators(&self) -> &[Signed] {
        self.levels.first().map_or(&[], |level| &level.generators)
    }

    /// The sign of a permutation, if it is in the group.
    pub fn sign_of(&self, image: &[usize]) -> Option<bool> {
        let rest = self.sift(0, Signed { image: image.to_vec(), negative: false });
        rest.fixes_all().then_some(rest.negative)
    }

    /// Adds an element, and all that follow.
    pub fn insert(&mut self, element: Signed) {
        self.extend(0, element);
    }

    /// Adds the elements of another group, and all that follow.
    pub fn join(&mut self, other: &Group) {
        for generator in other.levels.iter().flat_map(|level| &level.generators) {
            self.insert(generator.clone());
        }
        self.vanishes |= other.vanishes;
    }

    /// Divides by representatives from a level on. The result is the identity (with the sign) if the element is in the
    /// group.
    fn sift(&self, from: usize, mut element: Signed) -> Signed {
        for (k, level) in self.levels.iter().enumerate().skip(from) {
            match level.representatives.get(&element.image[k]) {
                Some(representative) => element = representative.inverse().times(&element),
                None => break,
            }
        }
        element
    }

    fn extend(&mut self, k: usize, element: Signed) {
        let rest = self.sift(k, element.clone());
        if rest.fixes_all() {
            self.vanishes |= rest.negative;
            return;
        }
        let level = &mut self.levels[k];
        level.generators.push(element);
        let mut queue: Vec<usize> = level.representatives.keys().copied().collect();
        while let Some(at) = queue.pop() {
            for generator in level.generators.clone() {
                let to = generator.image[at];
                if !level.representatives.contains_key(&to) {
                    let representative = generator.times(&level.representatives[&at]);
                    level.representatives.insert(to, representative);
                    queue.push(to);
                }
            }
        }
        // What fixes this level's position too is generated by (representative of s(j))^-1 * s * (representative of j).
        let level = self.levels[k].clone();
        for (at, representative) in &level.representatives {
            for generator in &level.generators {
                let back = level.representatives[&generator.image[*at]].inverse();
                self.extend_below(k, back.times(&generator.times(representative)));
            }
        }
    }

    fn extend_below(&mut self, k: usize, element: Signed) {
        if k + 1 < self.levels.len() {
            self.extend(k + 1, element);
        } else {
            self.vanishes |= element.negative; // nothing is left to move
        }
    }

    /// All elements, the identity first. The caller knows that the order is small.
    pub fn elements(&self) -> Vec<Signed> {
        let mut all = vec![Signed::identity(self.degree())];
        for level in &self.levels {
            all = all
                .iter()
                .flat_map(|prefix| level.representatives.values().map(|r| prefix.times(r)))
                .collect();
        }
        all
    }

    /// The group as a direct product of groups on disjoint blocks of positions, as many as possible; fixed positions
    /// are in no block.
    pub fn factors(&self) -> Vec<Factor> {
        let orbits = self.orbits();
        let mut block_of: Vec<usize> = (0..orbits.len()).collect();
        for generator in self.generators() {
            let moved = |orbit: &&usize| orbits[**orbit].iter().any(|&k| generator.image[k] != k);
            let mut rest: Vec<usize> =
                (0..orbits.len()).collect::<Vec<_>>().iter().filter(moved).copied().collect();
            while !rest.is_empty() {
                // The smallest part of the generator that is in the group by itself keeps its orbits together.
                let part = self.smallest_part(generator, &orbits, &rest);
                let (first, joined) = (block_of[part[0]], part.iter().map(|&o| block_of[o]));
                for old in joined.collect::<Vec<_>>() {
                    block_of.iter_mut().filter(|b| **b == old).for_each(|b| *b = first);
                }
                rest.retain(|orbit| !part.contains(orbit));
            }
        }
        let mut factors = Vec::new();
        for block in 0..orbits.len() {
            let mut positions: Vec<usize> = (0..orbits.len())
                .filter(|&orbit| block_of[orbit] == block)
                .flat_map(|orbit| orbits[orbit].iter().copied())
                .collect();
            positions.sort_unstable();
            if positions.len() < 2 {
                continue;
            }
            let mut group = Group::trivial(self.degree());
            for generator in self.generators() {
                let part = generator.within(&positions);
                if let Some(negative) = self.sign_of(&part.image) {
                    group.insert(Signed { negative, ..part });
                }
            }
            let full = group.full(&positions);
            factors.push(Factor { positions, group, full });
        }
        factors.sort_by_key(|factor| factor.positions[0]);
        factors
    }

    /// Orbits of positions, each ascending, by their first.
    fn orbits(&self) -> Vec<Vec<usize>> {
        let mut orbits: Vec<Vec<usize>> = Vec::new();
        for start in 0..self.degree() {
            if orbits.iter().any(|orbit| orbit.contains(&start)) {
                continue;
            }
            let mut orbit = vec![start];
            let mut next = 0;
            while next < orbit.len() {
                for generator in self.generators() {
                    let to = generator.image[orbit[next]];
                    if !orbit.contains(&to) {
                        orbit.push(to);
                    }
                }
                next += 1;
            }
            orbit.sort_unstable();
            orbits.push(orbit);
        }
        orbits
    }

    fn smallest_part(
        &self,
        generator: &Signed,
        orbits: &[Vec<usize>],
        rest: &[usize],
    ) -> Vec<usize> {
        if rest.len() <= 10 {
            let mut subsets: Vec<u32> = (1..1u32 << rest.len()).collect();
            subsets.sort_by_key(|subset| subset.count_ones());
            for subset in subsets {
                let part: Vec<usize> =
                    (0..rest.len()).filter(|&k| subset & (1 << k) != 0).map(|k| rest[k]).collect();
                let block: Vec<usize> =
                    part.iter().flat_map(|&o| orbits[o].iter().copied()).collect();
                if self.sign_of(&generator.within(&block).image).is_some() {
                    return part;
                }
            }
        }
        rest.to_vec()
    }

    /// Whether a group on a block has all its permutations, and if so, whether transpositions change the sign.
    fn full(&self, positions: &[usize]) -> Option<bool> {
        let all = (1..=positions.len()).fold(1, usize::saturating_mul);
        if self.order() != all || all == usize::MAX {
            return None;
        }
        let mut swap: Vec<usize> = (0..self.degree()).collect();
        swap.swap(positions[0], positions[1]);
        self.sign_of(&swap)
    }
}

#[cfg(test)]
mod tests {
    use super::{Group, Signed};

    fn group(degree: usize, generators: &[(&[usize], bool)]) -> Group {
        let mut group = Group::trivial(degree);
        for (image, negative) in generators {
            group.insert(Signed { image: image.to_vec(), negative: *negative });
        }
        group
    }

    #[test]
    fn orders() {
        assert_eq!(Group::trivial(0).order(), 1);
        assert_eq!(group(3, &[(&[1, 2, 0], false)]).order(), 3);
        let eight =
            group(8, &[(&[1, 2, 3, 4, 5, 6, 7, 0], false), (&[1, 0, 2, 3, 4, 5, 6, 7], false)]);
        assert_eq!(eight.order(), 40320);
        assert_eq!(eight.factors()[0].full, Some(false));
        // The rotations of a cube on its six faces.
        let cube = group(6, &[(&[1, 2, 3, 0, 4, 5], false), (&[4, 1, 5, 3, 2, 0], false)]);
        assert_eq!(cube.order(), 24);
        let mut images: Vec<_> = cube.elements().into_iter().map(|e| e.image).collect();
        assert_eq!(images[0], [0, 1, 2, 3, 4, 5]);
        images.sort();
        images.dedup();
        assert_eq!(images.len(), 24);
        assert!(images.iter().all(|image| cube.sign_of(image) == Some(false)));
    }

    #[test]
    fn signs() {
        let skew = group(3, &[(&[1, 0, 2], true), (&[0, 2, 1], true)]);
        assert_eq!(skew.sign_of(&[1, 2, 0]), Some(false));
        assert_eq!(skew.sign_of(&[2, 1, 0]), Some(true));
        assert_eq!(skew.factors()[0].full, Some(true));
        assert!(!skew.vanishes());
        // Both signs of one permutation: nothing is left. An odd cycle cannot change the sign.
        assert!(group(2, &[(&[1, 0], true), (&[1, 0], false)]).vanishes());
        assert!(group(3, &[(&[1, 2, 0], true)]).vanishes());
        assert!(group(1, &[(&[0], true)]).vanishes());
    }

    #[test]
    fn direct_products() {
        let positions = |group: &Group| -> Vec<Vec<usize>> {
            group.factors().into_iter().map(|factor| factor.positions).collect()
        };
        // Pairs that swap together are one factor, pairs that swap alone are two.
        assert_eq!(positions(&group(4, &[(&[1, 0, 3, 2], false)])), [[0, 1, 2, 3]]);
        let both = group(4, &[(&[1, 0, 3, 2], false), (&[1, 0, 2, 3], false)]);
        assert_eq!(positions(&both), [[0, 1], [2, 3]]);
        let wide = group(6, &[(&[1, 0, 3, 2, 5, 4], true), (&[0, 1, 2, 3, 5, 4], true)]);
        assert_eq!(positions(&wide), [vec![0, 1, 2, 3], vec![4, 5]]);
        let factors = wide.factors();
        assert_eq!(factors[0].group.sign_of(&[1, 0, 3, 2, 4, 5]), Some(false));
        assert_eq!(factors[1].full, Some(true));
    }
}
