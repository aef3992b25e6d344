//! Suggestions for misspelled names: "did you mean …?"

/// Returns the candidate most similar to `name`, or `None` if none is similar enough for a typo.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().max(3) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns how similar two names are, up to 1, or `None` if they are too different for a typo.
pub(crate) fn similarity(name: &str, candidate: &str) -> Option<f64> {
    // Lengths rule most names out before anything is compared.
    let limit = candidate.len().max(3) / 3;
    if name.len().abs_diff(candidate.len()) > limit {
        return None;
    }
    let distance = strsim::damerau_levenshtein(name, candidate);
    let longest = name.len().max(candidate.len()).max(1);
    let part = |length: usize| f64::from(u32::try_from(length).unwrap_or(u32::MAX));
    (distance <= limit).then(|| 1.0 - part(distance) / part(longest))
}
