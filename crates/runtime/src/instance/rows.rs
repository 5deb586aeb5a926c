//! Rows that a function appended in parts, each with room for more than it took, come to stand one behind the other.

use dastac_elements::Storage;

/// Moves what rows hold together, and makes positions of their lengths. `ends` says where each row ends, and element
/// `i + 1` of `positions` how long row `i` is; each of the arrays has some elements for each position. Gives how many
/// positions there are.
pub(super) fn together(ends: &Storage, positions: &mut Storage, arrays: [&mut Storage; 2]) -> i64 {
    let ends = ends.as_slice::<i64>().unwrap_or_default();
    // Pieces that are one behind the other already move at once: where each begins, and how long it is.
    let (mut pieces, mut count) = (Vec::<(usize, usize)>::new(), 0);
    let mut row = |end: i64, length: usize| {
        let begin = usize::try_from(end).unwrap_or(0).saturating_sub(length);
        match pieces.last_mut() {
            _ if length == 0 => {}
            Some((first, all)) if *first + *all == begin => *all += length,
            _ => pieces.push((begin, length)),
        }
        count += length;
        count
    };
    // The bound of a row is an integer of the type of positions, and so is a sum of less.
    if let Some(positions) = positions.as_mut_slice::<u32>() {
        for (end, position) in ends.iter().zip(positions.iter_mut().skip(1)) {
            *position = row(*end, *position as usize) as u32;
        }
    } else if let Some(positions) = positions.as_mut_slice::<i64>() {
        for (end, position) in ends.iter().zip(positions.iter_mut().skip(1)) {
            *position = row(*end, usize::try_from(*position).unwrap_or(0)) as i64;
        }
    }
    let room = arrays[0].len().max(1);
    for array in arrays {
        let size = array.len() / room;
        let mut to = 0;
        for (begin, length) in &pieces {
            if to != *begin {
                array.move_within(begin * size..(begin + length) * size, to * size);
            }
            to += length;
        }
    }
    count as i64
}
