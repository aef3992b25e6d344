//! Inspection of a plan before it is written: whatever can be judged without running anything, and that a reviewer could
//! overlook in a diff.

use std::collections::BTreeSet;

use sanitize::Masker;
use sanitize::invisible::marked;

use crate::config::{Apply, Bounded, LockFiles};
use crate::workspace::{ChangeSet, FileChange, FileState, LineCounts, WorkspaceLocation, WorkspacePath};

/// Lock files, with the files that list the dependencies.
const LOCK_FILES: [(&str, &str); 16] = [
    ("bun.lock", "package.json"),
    ("bun.lockb", "package.json"),
    ("cargo.lock", "cargo.toml"),
    ("composer.lock", "composer.json"),
    ("deno.lock", "deno.json"),
    ("flake.lock", "flake.nix"),
    ("gemfile.lock", "gemfile"),
    ("go.sum", "go.mod"),
    ("mix.lock", "mix.exs"),
    ("npm-shrinkwrap.json", "package.json"),
    ("package-lock.json", "package.json"),
    ("pipfile.lock", "pipfile"),
    ("pnpm-lock.yaml", "package.json"),
    ("poetry.lock", "pyproject.toml"),
    ("uv.lock", "pyproject.toml"),
    ("yarn.lock", "package.json"),
];

/// The places where GitHub looks for the owners of files.
pub(crate) const CODE_OWNERS: [&str; 3] = [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"];

/// Reason why a plan is not written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InspectionError {
    /// More files than permitted.
    #[error("it changes {files} files, and `apply.max_files` is {limit}")]
    TooManyFiles {
        /// Number of planned files.
        files: usize,
        /// The limit.
        limit: usize,
    },
    /// More lines than permitted.
    #[error("it changes {lines} lines, and `apply.max_lines` is {limit}")]
    TooManyLines {
        /// Number of planned lines, added and removed.
        lines: usize,
        /// The limit.
        limit: usize,
    },
    /// Text that people do not see.
    #[error("{0} would get invisible characters or such that change the direction of text; remove them")]
    Invisible(WorkspacePath),
    /// Something that looks like a key or password.
    #[error("{0} would get a text that is, or looks like, a secret; remove it")]
    Secret(WorkspacePath),
    /// Who owns which files is decided by people.
    #[error("it changes {0}, which says who has to review changes; change that by hand")]
    CodeOwners(WorkspacePath),
    /// A lock file that must not change.
    #[error("it changes the lock file {0}, which `apply.lock_files: refuse` forbids")]
    LockFile(WorkspacePath),
    /// A lock file that changes alone.
    #[error(
        "it changes the lock file {path} without {manifest}; set `apply.lock_files: allow` if plans may update \
         dependencies"
    )]
    LockFileAlone {
        /// The lock file.
        path: WorkspacePath,
        /// The name of the file that lists the dependencies.
        manifest: &'static str,
    },
    /// A lock file that names a host that it did not name before.
    #[error(
        "the lock file {path} would get packages from {host}, which it did not name before; change it by hand"
    )]
    Host {
        /// The lock file.
        path: WorkspacePath,
        /// The host.
        host: String,
    },
}

/// Checks all changes of a plan for a workspace.
pub(crate) fn inspect(
    changes: &ChangeSet,
    location: &WorkspaceLocation,
    rules: &Apply,
    masker: &Masker,
) -> Result<(), InspectionError> {
    inspect_size(changes, rules)?;
    for change in changes {
        let path = &change.path;
        let is_owners = |name: &str| CODE_OWNERS.iter().any(|place| place.eq_ignore_ascii_case(name));
        if location.names_of(path).any(|name| is_owners(&name.folded())) {
            return Err(InspectionError::CodeOwners(path.clone()));
        }
        let gained = change.gained();
        if marked(&gained) != gained {
            return Err(InspectionError::Invisible(path.clone()));
        }
        let holds_secret = change.after.as_ref().is_some_and(|state| masker.knows_of(&state.content));
        if holds_secret || masker.mask(&gained) != gained {
            return Err(InspectionError::Secret(path.clone()));
        }
        inspect_lock_file(change, changes, rules.lock_files)?;
    }
    Ok(())
}

/// Checks how much a plan changes.
fn inspect_size(changes: &ChangeSet, rules: &Apply) -> Result<(), InspectionError> {
    let files = changes.len();
    if let Some(limit) = rules.max_files.map(Bounded::count).filter(|limit| files > *limit) {
        return Err(InspectionError::TooManyFiles { files, limit });
    }
    let mut counts = LineCounts::default();
    changes.iter().for_each(|change| counts += change.line_counts());
    let lines = counts.added + counts.removed;
    match rules.max_lines.map(Bounded::count).filter(|limit| lines > *limit) {
        Some(limit) => Err(InspectionError::TooManyLines { lines, limit }),
        None => Ok(()),
    }
}

fn inspect_lock_file(
    change: &FileChange,
    changes: &ChangeSet,
    rule: LockFiles,
) -> Result<(), InspectionError> {
    let name = |path: &WorkspacePath| path.file_name().unwrap_or_default().to_ascii_lowercase();
    let own = name(&change.path);
    let Some((_, manifest)) = LOCK_FILES.iter().find(|(lock, _)| *lock == own) else { return Ok(()) };
    let path = change.path.clone();
    match rule {
        LockFiles::Refuse => return Err(InspectionError::LockFile(path)),
        LockFiles::WithManifest if !changes.iter().any(|other| name(&other.path) == *manifest) => {
            return Err(InspectionError::LockFileAlone { path, manifest });
        }
        LockFiles::WithManifest | LockFiles::Allow => {}
    }
    let Some(before) = &change.before else { return Ok(()) };
    let known = hosts(before);
    let after = change.after.as_ref().map(hosts).unwrap_or_default();
    match after.into_iter().find(|host| !known.contains(host)) {
        // One that named none, such as a list of versions alone, has nothing to be compared with.
        Some(host) if !known.is_empty() => Err(InspectionError::Host { path, host }),
        _ => Ok(()),
    }
}

/// Returns the hosts that the addresses in a file name.
fn hosts(state: &FileState) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(&state.content);
    let host = |rest: &str| {
        let end = rest.find(|letter: char| !(letter.is_ascii_alphanumeric() || "-_.:@[]%".contains(letter)));
        let authority = &rest[..end.unwrap_or(rest.len())];
        authority.rsplit('@').next().unwrap_or_default().to_ascii_lowercase()
    };
    text.split("://").skip(1).map(host).filter(|host| !host.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Mode;

    fn change(path: &str, before: Option<&str>, after: &str) -> FileChange {
        let state = |text: &str| FileState { content: text.as_bytes().into(), mode: Mode::Regular };
        let path = WorkspacePath::parse(path).expect("a plain path");
        FileChange::new(path, before.map(state), Some(state(after))).expect("a change")
    }

    fn judged(changes: Vec<FileChange>, rules: &Apply) -> String {
        let masker = Masker::new(["hunter2-and-more"]);
        inspect(&ChangeSet::new(changes), &WorkspaceLocation::default(), rules, &masker)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn what_a_reviewer_overlooks_is_refused() {
        let npm = "\"resolved\": \"https://registry.npmjs.org/a.tgz\"\n";
        let evil = "\"resolved\": \"https://registry.npmjs.org@evil.example/a.tgz\"\n";
        let (manifest, lock) = (change("package.json", None, "{}\n"), "package-lock.json");
        let token = format!("token = \"ghp_{}\"\n", "a1B2".repeat(9));
        let cases = [
            (vec![change("a.rs", Some("a\n"), "a\n// \u{202e}b\n")], "a.rs would get invisible characters"),
            (vec![change("a.md", None, "a\u{200b}b\n")], "a.md would get invisible characters"),
            (vec![change("a.md", None, "tag \u{e0041}\u{e0042}\n")], "a.md would get invisible characters"),
            (vec![change("a.txt", None, "hunter2-and-more\n")], "a.txt would get a text that is"),
            (vec![change("a.txt", None, &token)], "a.txt would get a text that is"),
            (vec![change(".github/codeowners", None, "* @me\n")], "it changes .github/codeowners"),
            (vec![change(lock, Some("{}\n"), "{ }\n")], "without package.json"),
            (
                vec![manifest.clone(), change(lock, Some(npm), &format!("{npm}{evil}"))],
                "packages from evil.example",
            ),
            (vec![manifest.clone(), change("web/yarn.lock", Some(npm), npm.trim())], ""),
            (vec![change("a.md", Some("x\n"), "x\r\n\ty 👩‍💻 می‌خواهم ✌️\n")], ""),
            // What was there before is nobody's doing.
            (vec![change("a.md", Some("a\u{200b}\nb\n"), "a\u{200b}\nc\n")], ""),
        ];
        for (changes, expected) in cases {
            let found = judged(changes.clone(), &Apply::default());
            assert!(
                found.contains(expected) && found.is_empty() == expected.is_empty(),
                "{expected}: {found}"
            );
        }
    }

    #[test]
    fn owners_of_files_are_found_from_any_folder() {
        let masker = Masker::new(["hunter2-and-more"]);
        for (workspace, file, is_refused) in [
            ("/r/.github", "CODEOWNERS", true),
            ("/r/docs", "codeowners", true),
            ("/r/src", "CODEOWNERS", true),
            ("/r/src", "OWNERS", false),
        ] {
            let location = WorkspaceLocation::below("/r".as_ref(), workspace.as_ref());
            let changes = ChangeSet::new(vec![change(file, None, "* @me\n")]);
            let found = inspect(&changes, &location, &Apply::default(), &masker);
            assert_eq!(found.is_err(), is_refused, "{workspace} {file}");
        }
    }

    #[test]
    fn sizes_and_lock_files_follow_the_configuration() {
        let rules = |text: &str| serde_json::from_str::<Apply>(text).expect("rules");
        let two = || vec![change("a", None, "1\n2\n"), change("b", None, "1\n")];
        assert!(judged(two(), &rules(r#"{"max_files": 1}"#)).contains("2 files, and `apply.max_files` is 1"));
        assert!(judged(two(), &rules(r#"{"max_lines": 2}"#)).contains("3 lines, and `apply.max_lines` is 2"));
        assert_eq!(judged(two(), &rules(r#"{"max_files": 2, "max_lines": 3}"#)), "");
        let lock = || vec![change("Cargo.lock", Some("a\n"), "b\n")];
        assert_eq!(judged(lock(), &rules(r#"{"lock_files": "allow"}"#)), "");
        let with = || [lock(), vec![change("Cargo.toml", None, "a\n")]].concat();
        assert!(judged(with(), &rules(r#"{"lock_files": "refuse"}"#)).contains("forbids"));
    }
}
