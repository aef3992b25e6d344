//! Suggestions for misspelled names: "did you mean …?"

/// Length of a name, in bytes, above which it is no misspelled one: the comparison takes time and memory with the square of it.
const MAX_NAME: usize = 256;

/// Returns the candidate most similar to `name`, or `None` if none is similar enough for a typo.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .filter_map(|candidate| Some((distance(name, candidate)?, candidate)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns how similar two names are, up to 1, or `None` if they are too different for a typo.
pub(crate) fn similarity(name: &str, candidate: &str) -> Option<f64> {
    let distance = distance(name, candidate)?;
    let longest = name.len().max(candidate.len()).max(1);
    let part = |length: usize| f64::from(u32::try_from(length).unwrap_or(u32::MAX));
    Some(1.0 - part(distance) / part(longest))
}

/// Returns the number of typos between two names, or `None` if they are too many.
fn distance(name: &str, candidate: &str) -> Option<usize> {
    if name.len().max(candidate.len()) > MAX_NAME {
        return None;
    }
    // Lengths rule most names out before anything is compared.
    let limit = candidate.len().max(3) / 3;
    if name.chars().count().abs_diff(candidate.chars().count()) > limit {
        return None;
    }
    Some(strsim::damerau_levenshtein(name, candidate)).filter(|distance| *distance <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_are_recognized_up_to_a_length() {
        assert_eq!(nearest("raed_file", ["write_file", "read_file"]), Some("read_file"));
        assert_eq!(nearest("grepp", ["read_file", "grep"]), Some("grep"));
        assert_eq!(nearest("something", ["read_file", "grep"]), None);
        // The table of a comparison of these two would have 10¹³ cells.
        let long = "w".repeat(3 << 20);
        assert_eq!(nearest(&long, [long.as_str(), "grep"]), None);
        assert_eq!(similarity(&long, &long), None);
    }
}
