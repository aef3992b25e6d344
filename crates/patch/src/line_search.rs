//! Search for a run of lines among others, in time that is linear in both, however much they repeat themselves.

/// Returns the indices at which the wanted lines stand, overlapping ones included (Knuth, Morris and Pratt).
pub(super) fn occurrences(lines: &[&str], wanted: &[&str]) -> Vec<usize> {
    if wanted.is_empty() || wanted.len() > lines.len() {
        return Vec::new();
    }
    // For each number of lines that agree, how many of the last ones are the first ones again.
    let mut borders = vec![0; wanted.len()];
    let mut agreeing = 0;
    for at in 1..wanted.len() {
        while agreeing > 0 && wanted[agreeing] != wanted[at] {
            agreeing = borders[agreeing - 1];
        }
        agreeing += usize::from(wanted[agreeing] == wanted[at]);
        borders[at] = agreeing;
    }
    let mut found = Vec::new();
    agreeing = 0;
    for (at, line) in lines.iter().enumerate() {
        while agreeing > 0 && (agreeing == wanted.len() || wanted[agreeing] != *line) {
            agreeing = borders[agreeing - 1];
        }
        agreeing += usize::from(wanted[agreeing] == *line);
        if agreeing == wanted.len() {
            found.push(at + 1 - wanted.len());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_lines_are_found_as_by_comparison_of_every_window() {
        // All texts of two letters up to a length, with all runs of them.
        for bits in 0_u32..1 << 10 {
            let lines: Vec<&str> = (0..10).map(|at| if bits >> at & 1 == 0 { "a" } else { "b" }).collect();
            for length in 1..=4 {
                for wanted in [&lines[..length], &lines[3..3 + length], &["b", "a", "b", "a"][..length]] {
                    let windows = lines.windows(length).enumerate();
                    let expected: Vec<usize> =
                        windows.filter(|(_, window)| *window == wanted).map(|(at, _)| at).collect();
                    assert_eq!(occurrences(&lines, wanted), expected, "{wanted:?} in {lines:?}");
                }
            }
        }
        assert!(occurrences(&[], &["a"]).is_empty() && occurrences(&["a"], &[]).is_empty());
    }
}
