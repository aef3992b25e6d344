//! Parts of Git's own folder that commands are shown: a list of what Git needs, so that anything else there (keys of git-crypt,
//! tokens of large-file storage, caches of resolved conflicts) is not shown, whatever it is called.

/// Files and folders of the checkout's state, and of the repository.
const SHOWN: [&str; 25] = [
    "config",
    "config.worktree",
    "packed-refs",
    "index",
    "objects",
    "refs",
    "logs",
    "info",
    "hooks",
    "description",
    "shallow",
    "modules",
    "worktrees",
    "commondir",
    "gitdir",
    "locked",
    "branches",
    "remotes",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "lfs",
    "annex",
    "gc.log",
    "reftable",
];

/// What is shown of folders in which others keep more than Git needs.
const SHOWN_WITHIN: [(&str, &[&str]); 3] = [
    ("info", &["exclude", "attributes", "sparse-checkout", "refs", "grafts"]),
    ("lfs", &["objects"]),
    ("annex", &["objects", "index", "mergedrefs"]),
];

/// Returns whether commands see an entry of Git's own folder; `within` names the folder in it that holds the entry, or is
/// empty.
pub fn is_shown(within: &str, name: &str) -> bool {
    if let Some((_, shown)) = SHOWN_WITHIN.iter().find(|(folder, _)| *folder == within) {
        return shown.contains(&name);
    }
    SHOWN.contains(&name) || name.starts_with("sharedindex.") || is_head(name)
}

/// Lists the folders of which [`is_shown`] knows what is shown in them.
pub fn looked_into() -> impl Iterator<Item = &'static str> {
    SHOWN_WITHIN.iter().map(|(folder, _)| *folder)
}

/// Returns whether a name is that of a reference or message that Git itself keeps next to the others, such as `HEAD`,
/// `ORIG_HEAD` or `MERGE_MSG`.
pub fn is_head(name: &str) -> bool {
    name == "HEAD"
        || ["_HEAD", "_MSG", "_EDITMSG", "AUTO_MERGE"].iter().any(|end| name.ends_with(end))
        || ["MERGE_", "BISECT_"].iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_needs_is_shown_and_nothing_else() {
        for name in
            ["HEAD", "FETCH_HEAD", "MERGE_MSG", "config", "index", "objects", "sharedindex.0a", "modules"]
        {
            assert!(is_shown("", name), "{name}");
        }
        for name in [
            "git-crypt",
            "credentials",
            ".git-credentials",
            "rr-cache",
            "lost-found",
            "config.bak",
            "x",
            "hooks.d",
            "TOKEN",
        ] {
            assert!(!is_shown("", name), "{name}");
        }
        assert!(is_shown("info", "exclude") && !is_shown("info", "secrets"));
        assert!(is_shown("lfs", "objects") && !is_shown("lfs", "logs") && !is_shown("annex", "creds"));
    }
}
