//! What a misspelt name may have meant.

/// The candidate with the fewest changed characters, if it is near enough to be what was meant.
pub(super) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Longer names are not misspelt ones of ours.
    if name.len() > 64 {
        return None;
    }
    let name = name.to_lowercase();
    let distances = candidates.map(|candidate| (distance(&name, &candidate.to_lowercase()), candidate));
    // A name of which nothing stays the same is another one.
    let is_near = |distance: usize, length: usize| distance <= 1 + length / 4 && distance < length;
    distances.min().filter(|(distance, candidate)| is_near(*distance, candidate.len())).map(|(_, candidate)| candidate)
}

/// Levenshtein's distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, expected) in [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("seed", "seed", 0)] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }

    #[test]
    fn only_near_names_are_offered() {
        let keys = || ["seconds", "seed", "trials"].into_iter();
        assert_eq!(nearest("second", keys()), Some("seconds"));
        assert_eq!(nearest("sede", keys()), Some("seed"));
        assert_eq!(nearest("march", keys()), None);
        assert_eq!((nearest("t", ["B", "T"].into_iter()), nearest("X", ["T"].into_iter())), (Some("T"), None));
        assert_eq!(nearest(&"s".repeat(1 << 20), keys()), None);
    }
}
