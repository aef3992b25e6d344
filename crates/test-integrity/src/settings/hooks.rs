//! Hooks of pre-commit: which lines belong to those that are new.

use std::collections::BTreeSet;

use crate::files::file_name;

/// Returns the lines of the configuration of pre-commit, from 1, that belong to hooks which were not there before.
pub(super) fn lines_of_new(path: &str, before: &str, after: &str) -> BTreeSet<usize> {
    fn id(line: &str) -> Option<&str> {
        Some(line.trim().trim_start_matches("- ").strip_prefix("id:")?.trim())
    }
    if !file_name(path).starts_with(".pre-commit-config") {
        return BTreeSet::new();
    }
    let known: BTreeSet<&str> = before.lines().filter_map(id).collect();
    let mut is_new = false;
    let of_new = |(at, line): (usize, &str)| {
        is_new = id(line).map_or(is_new, |id| !known.contains(id));
        is_new.then_some(at + 1)
    };
    after.lines().enumerate().filter_map(of_new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_belong_to_the_hook_above() {
        let before = "repos:\n- hooks:\n  - id: ruff\n";
        let after = "repos:\n- hooks:\n  - id: ruff\n    exclude: a\n  - id: codespell\n    exclude: b\n";
        assert_eq!(lines_of_new(".pre-commit-config.yaml", before, after), BTreeSet::from([5, 6]));
        assert!(lines_of_new("ci.yaml", before, after).is_empty());
    }
}
