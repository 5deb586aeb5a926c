//! "Did you mean": the known name that an unknown one was probably meant to be.

/// The closest of `known` to `name`, if one is close: equal but for case, or with few edits for its length.
pub fn similar<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        if candidate == name {
            continue;
        }
        let same_but_case = candidate.to_lowercase() == lower;
        let distance = if same_but_case { 0 } else { distance(name, candidate) };
        let shorter = name.len().min(candidate.len());
        let close = same_but_case || (shorter >= 2 && distance <= shorter.div_ceil(3).min(2));
        if close && best.is_none_or(|(smallest, _)| distance < smallest) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours that lead from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=to.len()).collect()];
    for i in 1..=from.len() {
        let mut row = vec![i];
        for j in 1..=to.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(from[i - 1] != to[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::similar;

    #[test]
    fn finds_typing_errors_only() {
        assert_eq!(similar("covr", ["covar", "X"]), Some("covar"));
        assert_eq!(similar("n", ["M", "N"]), Some("N"));
        assert_eq!(similar("symbosl", ["symbols", "outputs"]), Some("symbols"));
        assert_eq!(similar("i", ["j", "k"]), None);
        assert_eq!(similar("alpha", ["beta", "gamma"]), None);
    }
}
