//! Inspection of a plan before it is written: whatever can be judged without running anything, and that a reviewer could
//! overlook in a diff.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use sanitize::Masker;
use sanitize::invisible::marked;
use workspace::{ChangeSet, FileChange, FileState, LineCounts, Mode, WorkspaceLocation, WorkspacePath};

use crate::config::{Apply, Bounded, LockFiles};

/// Lock files, with the files that list the dependencies.
const LOCK_FILES: [(&str, &str); 21] = [
    ("bun.lock", "package.json"),
    ("bun.lockb", "package.json"),
    ("cargo.lock", "cargo.toml"),
    ("composer.lock", "composer.json"),
    ("deno.lock", "deno.json"),
    ("flake.lock", "flake.nix"),
    ("gemfile.lock", "gemfile"),
    ("go.sum", "go.mod"),
    ("gradle.lockfile", "build.gradle"),
    ("mix.lock", "mix.exs"),
    ("npm-shrinkwrap.json", "package.json"),
    ("package-lock.json", "package.json"),
    ("package.resolved", "package.swift"),
    ("pdm.lock", "pyproject.toml"),
    ("pipfile.lock", "pipfile"),
    ("pnpm-lock.yaml", "package.json"),
    ("podfile.lock", "podfile"),
    ("poetry.lock", "pyproject.toml"),
    ("pubspec.lock", "pubspec.yaml"),
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
    #[error(
        "{0} would contain invisible characters, or characters that change the direction of text; remove them"
    )]
    Invisible(WorkspacePath),
    /// Control characters, which hide text in a diff or in a terminal.
    #[error("{0} would contain control characters, which can hide what a file says; remove them")]
    Control(WorkspacePath),
    /// A name that is not what it looks like.
    #[error("the name {} contains invisible characters; rename the file", marked(.0.as_str()))]
    Name(WorkspacePath),
    /// Something that looks like a key or password.
    #[error("{0} would contain text that is, or looks like, a secret; remove it")]
    Secret(WorkspacePath),
    /// Who owns which files is decided by people.
    #[error("it changes {0}, which decides who has to review changes; change it by hand")]
    CodeOwners(WorkspacePath),
    /// A lock file that must not change.
    #[error("it changes the lock file {0}, which `apply.lock_files: refuse` forbids")]
    LockFile(WorkspacePath),
    /// A lock file that is a link.
    #[error("the lock file {0} would become a link to content elsewhere; keep it a file")]
    LockFileLink(WorkspacePath),
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
        "the lock file {path} would fetch packages from {host}, which it did not name before; change it by hand"
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
        if marked(path.as_str()) != path.as_str() || path.as_str().contains(char::is_control) {
            return Err(InspectionError::Name(path.clone()));
        }
        let gained = change.gained();
        if hides_text(&gained) {
            return Err(InspectionError::Control(path.clone()));
        }
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

/// Returns whether a text has control characters other than tabs, line ends and the form feeds of old sources. A carriage
/// return alone is one: a diff shows it as nothing, and to many languages it ends a line.
fn hides_text(text: &str) -> bool {
    let plain = text.replace("\r\n", "\n");
    plain.contains(|letter: char| letter.is_control() && !matches!(letter, '\t' | '\n' | '\u{c}'))
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
    if change.after.as_ref().is_some_and(|state| state.mode == Mode::Link) {
        return Err(InspectionError::LockFileLink(path));
    }
    // One lock file serves the packages of its folder and of those below.
    let folder = path.as_str().rsplit_once('/').map_or("", |(folder, _)| folder);
    let is_manifest = |other: &FileChange| {
        let own = name(&other.path);
        (own == *manifest || own.strip_suffix(".kts") == Some(manifest))
            && (folder.is_empty()
                || other.path.as_str().strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
    };
    match rule {
        LockFiles::Refuse => return Err(InspectionError::LockFile(path)),
        LockFiles::WithManifest if !changes.iter().any(is_manifest) => {
            return Err(InspectionError::LockFileAlone { path, manifest });
        }
        LockFiles::WithManifest | LockFiles::Allow => {}
    }
    let Some(before) = &change.before else { return Ok(()) };
    let known = hosts(before);
    let after = change.after.as_ref().map(hosts).unwrap_or_default();
    match after.into_iter().find(|host| !known.contains(host)) {
        Some(host) => Err(InspectionError::Host { path, host }),
        None => Ok(()),
    }
}

/// Returns the hosts that the addresses in a file name, and the accounts that short forms of addresses name.
fn hosts(state: &FileState) -> BTreeSet<String> {
    // Package managers take `https:/host`, `https:\host` and `git+ssh:git@host` for addresses as well.
    static ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
        #[expect(clippy::expect_used, reason = "a constant pattern, compiled in a test")]
        Regex::new(
            r"(?ix) \b (?: (?<short> github|gitlab|bitbucket|gist ) : (?<account> [\w.-]+ )
            | (?: git\+ )? (?: https? | git | ssh | ftps? | wss? | file ) (?: \+ \w+ )? : [/\\]* (?<authority> [\w.:@\[\]%-]+ )
            | git @ (?<host> [\w.-]+ ) )",
        )
        .expect("a valid pattern")
    });
    let text = unescaped(&String::from_utf8_lossy(&state.content));
    let host = |found: regex::Captures<'_>| {
        let account =
            found.name("account").map(|account| format!("{}:{}", &found["short"], account.as_str()));
        let host = || found.name("authority").or(found.name("host")).map_or("", |host| host.as_str());
        let host = account.unwrap_or_else(|| host().rsplit('@').next().unwrap_or_default().to_owned());
        host.to_ascii_lowercase()
    };
    ADDRESS.captures_iter(&text).map(host).filter(|host| !host.is_empty()).collect()
}

/// Undoes the escapes of JSON and YAML behind which an address could hide.
fn unescaped(text: &str) -> String {
    static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
        #[expect(clippy::expect_used, reason = "a constant pattern, compiled in a test")]
        Regex::new(r"\\(?:(?<sign>/)|u(?<wide>[0-9A-Fa-f]{4})|x(?<narrow>[0-9A-Fa-f]{2}))")
            .expect("a valid pattern")
    });
    let letter = |found: &regex::Captures<'_>| {
        let code = found.name("wide").or(found.name("narrow"));
        let code = code.and_then(|code| u32::from_str_radix(code.as_str(), 16).ok());
        code.and_then(char::from_u32).unwrap_or('/').to_string()
    };
    ESCAPE.replace_all(text, letter).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

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
            (
                vec![change("a.rs", Some("a\n"), "a\n// \u{202e}b\n")],
                "a.rs would contain invisible characters",
            ),
            (vec![change("a.md", None, "a\u{200b}b\n")], "a.md would contain invisible characters"),
            (
                vec![change("a.md", None, "tag \u{e0041}\u{e0042}\n")],
                "a.md would contain invisible characters",
            ),
            (vec![change("a.txt", None, "hunter2-and-more\n")], "a.txt would contain text that is"),
            (vec![change("a.txt", None, &token)], "a.txt would contain text that is"),
            (vec![change(".github/codeowners", None, "* @me\n")], "it changes .github/codeowners"),
            (vec![change(lock, Some("{}\n"), "{ }\n")], "without package.json"),
            (
                vec![manifest.clone(), change(lock, Some(npm), &format!("{npm}{evil}"))],
                "packages from evil.example",
            ),
            (
                vec![
                    change("web/package.json", None, "{}\n"),
                    change("web/yarn.lock", Some(npm), npm.trim()),
                ],
                "",
            ),
            (
                vec![
                    change("docs/a/package.json", None, "{}\n"),
                    change("web/yarn.lock", Some(npm), npm.trim()),
                ],
                "without",
            ),
            (
                vec![
                    manifest.clone(),
                    change(lock, Some(npm), &format!("{npm}\"https:\\/\\/evil.example\\/a\"")),
                ],
                "from evil.example",
            ),
            (
                vec![
                    manifest.clone(),
                    change(lock, Some(npm), &format!("{npm}\"https:\\u002f\\u002fevil.example/a\"")),
                ],
                "from evil.example",
            ),
            (
                vec![manifest.clone(), change(lock, Some(npm), &format!("{npm}\"https:/evil.example/a\""))],
                "from evil.example",
            ),
            (
                vec![
                    manifest.clone(),
                    change(lock, Some(npm), &format!("{npm}\"git+ssh:git@evil.example:a\"")),
                ],
                "from evil.example",
            ),
            (
                vec![manifest.clone(), change(lock, Some(npm), &format!("{npm}\"github:evil/a\""))],
                "from github:evil",
            ),
            (vec![manifest.clone(), change(lock, Some("{}\n"), npm)], "from registry.npmjs.org"),
            (vec![change("a.js", None, "/*\0*/ x\n")], "a.js would contain control characters"),
            (vec![change("a.py", None, "# words \rprint()\n")], "a.py would contain control characters"),
            (vec![change("a.md", None, "\u{1b}[2K\n")], "a.md would contain control characters"),
            (vec![change("a\u{200b}.md", None, "x\n")], "the name a"),
            (vec![change("a.png", None, "\0\u{1b}\u{202e}\n")], ""),
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
