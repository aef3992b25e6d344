//! Hooks of pre-commit: which one a line belongs to.

use crate::files::file_name;

/// Returns whether a line of the configuration of pre-commit belongs to a hook that was not there before. Lines are counted from 0.
pub(super) fn is_of_new(path: &str, before: &str, after: &str, at: usize) -> bool {
    let id = |line: &str| Some(line.trim().trim_start_matches("- ").strip_prefix("id:")?.trim().to_owned());
    let above: Vec<&str> = after.lines().take(at + 1).collect();
    let hook = above.into_iter().rev().find_map(id);
    file_name(path).starts_with(".pre-commit-config")
        && hook.is_some_and(|hook| before.lines().filter_map(id).all(|known| known != hook))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_belong_to_the_hook_above() {
        let before = "repos:\n- hooks:\n  - id: ruff\n";
        let after = "repos:\n- hooks:\n  - id: ruff\n    exclude: a\n  - id: codespell\n    exclude: b\n";
        for (at, expected) in [(1, false), (3, false), (5, true)] {
            assert_eq!(is_of_new(".pre-commit-config.yaml", before, after, at), expected, "{at}");
        }
        assert!(!is_of_new("ci.yaml", before, after, 5));
    }
}
