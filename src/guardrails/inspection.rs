//! Inspection of a plan before it is written: whatever can be judged without running anything, and that a reviewer could
//! overlook in a diff.

use sanitize::Masker;
use sanitize::invisible::marked;
use workspace::{ChangeSet, LineCounts, WorkspaceLocation, WorkspacePath};

use super::ambiguous_names::Names;
use super::dependencies::{self, BaseFiles, DependencyError};
use crate::config::{Apply, Bounded};

/// Most spaces in a row that may stand in front of text.
const MAX_SPACES: usize = 200;

/// Endings of names of what is run or loaded.
const PROGRAMS: [&str; 15] = [
    "a", "class", "dll", "dylib", "ear", "exe", "jar", "node", "o", "pickle", "pkl", "pyc", "rlib", "so",
    "war",
];

/// Beginnings of programs: ELF, Mach-O (also of several kinds, as Java's classes begin), WebAssembly.
const PROGRAM_STARTS: [&[u8]; 6] = [
    b"\x7fELF",
    b"\xfe\xed\xfa\xce",
    b"\xce\xfa\xed\xfe",
    b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
    b"\0asm",
];

/// Attributes of Git that hide changes, or have Git make something else of files.
const ATTRIBUTES: [&str; 13] = [
    "binary",
    "diff",
    "export-ignore",
    "export-subst",
    "filter",
    "gitlab-generated",
    "ident",
    "linguist-detectable",
    "linguist-documentation",
    "linguist-generated",
    "linguist-vendored",
    "merge",
    "working-tree-encoding",
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
    /// A name that holds a secret, which is not repeated here.
    #[error("the name {0} contains text that is, or looks like, a secret; rename the file")]
    SecretName(String),
    /// A name that other systems take for another one.
    #[error("the name {} is another one on some systems: {reason}; rename the file", marked(path.as_str()))]
    Ambiguous {
        /// The name.
        path: WorkspacePath,
        /// Why that is so.
        reason: String,
    },
    /// Attributes that hide changes from reviewers, or say what Git makes of files.
    #[error(
        "it sets `{attribute}` in {path}, which can hide changes of other files from reviewers; change it by hand"
    )]
    Attribute {
        /// The file.
        path: WorkspacePath,
        /// The attribute.
        attribute: String,
    },
    /// Something that is run, and that nobody can read.
    #[error(
        "{0} would be a program that nobody can read; let it be built or fetched where it is needed, or change it by hand"
    )]
    Program(WorkspacePath),
    /// Text so far to the right that nobody looks there.
    #[error("{0} would contain text behind {1} spaces in a row, where it is easily overlooked; remove them")]
    Aside(WorkspacePath, usize),
    /// What package managers would fetch.
    #[error(transparent)]
    Dependency(#[from] DependencyError),
}

/// Checks all changes of a plan for a workspace.
pub(crate) fn inspect(
    changes: &ChangeSet,
    location: &WorkspaceLocation,
    rules: &Apply,
    masker: &Masker,
    base: &BaseFiles<'_>,
) -> Result<(), InspectionError> {
    inspect_size(changes, rules)?;
    let names = Names::of(changes, base);
    for change in changes {
        let path = &change.path;
        let is_owners = |name: &str| CODE_OWNERS.iter().any(|place| place.eq_ignore_ascii_case(name));
        if location.names_of(path).any(|name| is_owners(&name.folded())) {
            return Err(InspectionError::CodeOwners(path.clone()));
        }
        if marked(path.as_str()) != path.as_str() || path.as_str().contains(char::is_control) {
            return Err(InspectionError::Name(path.clone()));
        }
        let masked = masker.mask(path.as_str());
        if masked != path.as_str() {
            return Err(InspectionError::SecretName(masked.into_owned()));
        }
        if change.before.is_none()
            && let Some(reason) = names.ambiguity(path)
        {
            return Err(InspectionError::Ambiguous { path: path.clone(), reason });
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
        if change.after.as_ref().is_some_and(|state| is_program(path, &state.content)) {
            return Err(InspectionError::Program(path.clone()));
        }
        inspect_spaces(path, &gained)?;
        inspect_attributes(path, &gained)?;
        dependencies::inspect(change, changes, rules.lock_files, base)?;
    }
    Ok(())
}

/// Returns whether a file is run, or loaded by what runs, although nobody can read it.
fn is_program(path: &WorkspacePath, content: &[u8]) -> bool {
    let name = path.file_name().unwrap_or_default().to_ascii_lowercase();
    let suffix = name.rsplit_once('.').map_or("", |(_, suffix)| suffix);
    content.contains(&0)
        && (PROGRAMS.contains(&suffix) || PROGRAM_STARTS.iter().any(|start| content.starts_with(start)))
}

/// Checks that no text is far to the right of what one sees.
fn inspect_spaces(path: &WorkspacePath, gained: &str) -> Result<(), InspectionError> {
    let longest = |line: &str| {
        let runs = line.trim_end().split(|letter: char| !letter.is_whitespace());
        runs.map(|run| run.chars().map(|letter| if letter == '\t' { 4 } else { 1 }).sum::<usize>()).max()
    };
    match gained.lines().filter_map(longest).find(|spaces| *spaces > MAX_SPACES) {
        Some(spaces) => Err(InspectionError::Aside(path.clone(), spaces)),
        None => Ok(()),
    }
}

/// Checks that attributes of Git are only about line ends and kinds of text.
fn inspect_attributes(path: &WorkspacePath, gained: &str) -> Result<(), InspectionError> {
    if path.file_name().is_none_or(|name| !name.eq_ignore_ascii_case(".gitattributes")) {
        return Ok(());
    }
    let lines = gained.lines().map(str::trim_start).filter(|line| !line.starts_with('#'));
    let set = lines.flat_map(|line| line.split_whitespace()).map(|word| word.trim_start_matches(['-', '!']));
    let mut names = set.map(|word| word.split_once('=').map_or(word, |(name, _)| name));
    match names.find(|name| ATTRIBUTES.contains(&name.to_ascii_lowercase().as_str())) {
        Some(attribute) => {
            Err(InspectionError::Attribute { path: path.clone(), attribute: attribute.to_owned() })
        }
        None => Ok(()),
    }
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

#[cfg(test)]
mod tests {
    use workspace::{FileChange, FileState, Mode};

    use super::*;

    fn change(path: &str, before: Option<&str>, after: &str) -> FileChange {
        let state = |text: &str| FileState { content: text.as_bytes().into(), mode: Mode::Regular };
        let path = WorkspacePath::parse(path).expect("a plain path");
        FileChange::new(path, before.map(state), Some(state(after))).expect("a change")
    }

    fn judged_at(workspace: &str, changes: Vec<FileChange>, rules: &Apply) -> String {
        let masker = Masker::new(["hunter2-and-more"]);
        let location = WorkspaceLocation::below("/r".as_ref(), workspace.as_ref());
        let names = |folder: &WorkspacePath| match folder.as_str() {
            "." => vec!["README.md".to_owned(), "src".to_owned()],
            "src" => vec!["caf\u{e9}.rs".to_owned()],
            _ => Vec::new(),
        };
        let base = BaseFiles { prefix: "", is_there: true, read: &|_| None, names: &names };
        let found = inspect(&ChangeSet::new(changes), &location, rules, &masker, &base);
        found.err().map(|error| error.to_string()).unwrap_or_default()
    }

    fn judged(changes: Vec<FileChange>, rules: &Apply) -> String {
        judged_at("/r", changes, rules)
    }

    #[test]
    fn what_a_reviewer_overlooks_is_refused() {
        let token = format!("token = \"ghp_{}\"\n", "a1B2".repeat(9));
        let name = format!("ghp_{}.txt", "a1B2".repeat(9));
        let aside = format!("a = 1;{}b()\n", " ".repeat(300));
        let padded = format!("a = 1;{}\n", " ".repeat(300));
        let cases: [(FileChange, &str); 34] = [
            (change("a.rs", Some("a\n"), "a\n// \u{202e}b\n"), "a.rs would contain invisible characters"),
            (change("a.md", None, "a\u{200b}b\n"), "a.md would contain invisible characters"),
            (change("a.md", None, "tag \u{e0041}\u{e0042}\n"), "a.md would contain invisible characters"),
            (change("a.txt", None, "hunter2-and-more\n"), "a.txt would contain text that is"),
            (change("a.txt", None, &token), "a.txt would contain text that is"),
            (change("hunter2-and-more.txt", None, "x\n"), "the name ***.txt contains text that is"),
            (change("hunter2-and-more/a", Some("x\n"), "y\n"), "the name ***/a contains text that is"),
            (change(&name, None, "x\n"), "the name ***.txt contains text that is"),
            (change(".github/codeowners", None, "* @me\n"), "it changes .github/codeowners"),
            (change("a.js", None, "/*\0*/ x\n"), "a.js would contain control characters"),
            (change("a.py", None, "# words \rprint()\n"), "a.py would contain control characters"),
            (change("a.md", None, "\u{1b}[2K\n"), "a.md would contain control characters"),
            (change("a\u{200b}.md", None, "x\n"), "the name a"),
            (change("a.png", None, "\0\u{1b}\u{202e}\n"), ""),
            // What is called a picture and is a script.
            (change("a.png", None, "#!/bin/sh\n\u{1b}[2K\nexit\n\0"), "a.png would contain control"),
            (
                change("a.dat", None, "import os\nos.remove('\u{202e}')\n# \0\n"),
                "a.dat would contain control",
            ),
            (change("a.md", Some("x\n"), "x\r\n\ty 👩‍💻 می‌خواهم ✌️\n"), ""),
            // What was there before is nobody's doing.
            (change("a.md", Some("a\u{200b}\nb\n"), "a\u{200b}\nc\n"), ""),
            (change("a.js", None, &aside), "a.js would contain text behind 300 spaces"),
            (change("a.js", None, &padded), ""),
            (change("a.js", Some(&aside), &format!("{aside}c\n")), ""),
            // Names that are those of other files elsewhere.
            (change("Readme.md", None, "x\n"), "there it is the same as README.md"),
            (change("Src/a.rs", None, "x\n"), "there it is the same as src"),
            (change("src/cafe\u{301}.rs", None, "x\n"), "there it is the same as src/caf\u{e9}.rs"),
            (change("README.md", Some("y\n"), "x\n"), ""),
            (change("a.txt.", None, "x\n"), "a dot or a space at an end"),
            (change("a /b", None, "x\n"), "a dot or a space at an end"),
            (change("a.txt:b", None, "x\n"), "it has a `:`"),
            // Attributes.
            (change(".gitattributes", None, "*.lock -diff\n"), "it sets `diff` in .gitattributes"),
            (
                change("src/.gitattributes", None, "* linguist-generated=true\n"),
                "it sets `linguist-generated`",
            ),
            (change(".gitattributes", None, "[attr]x  BINARY\n"), "it sets `BINARY`"),
            (change(".gitattributes", None, "a filter=x\n"), "it sets `filter`"),
            (change(".gitattributes", None, "# no diff\n* text=auto eol=lf\n*.sh text\n"), ""),
            (change(".gitattributes", Some("a -diff\n"), "a -diff\nb text\n"), ""),
        ];
        for (change, expected) in cases {
            let found = judged(vec![change.clone()], &Apply::default());
            assert!(
                found.contains(expected) && found.is_empty() == expected.is_empty(),
                "{expected}: {found}"
            );
        }
        // A link's target is shown, and judged, as content is.
        let mut link = change("a", None, "hunter2-and-more");
        link.after.as_mut().expect("a state").mode = Mode::Link;
        assert!(judged(vec![link], &Apply::default()).contains("a would contain text that is"));
        // What can run is judged whatever it is called.
        let mut program = change("a.png", None, "\0\u{1b}\u{202e}\n");
        program.after.as_mut().expect("a state").mode = Mode::Executable;
        assert!(judged(vec![program], &Apply::default()).contains("control characters"));
        for (name, text) in
            [("gradle/wrapper/gradle-wrapper.jar", "PK\u{3}\u{4}\0"), ("a.bin", "\u{7f}ELF\u{2}\0")]
        {
            let found = judged(vec![change(name, Some("\0"), text)], &Apply::default());
            assert!(found.contains("would be a program that nobody can read"), "{found}");
        }
        // Two names of one plan, and a file that only gets another name.
        let twins = vec![change("b.txt", None, "x\n"), change("B.txt", None, "y\n")];
        assert!(judged(twins, &Apply::default()).contains("there it is the same as"));
        let mut gone = change("README.md", Some("x\n"), "");
        gone.after = None;
        assert_eq!(judged(vec![gone, change("Readme.md", None, "x\n")], &Apply::default()), "");
    }

    #[test]
    fn owners_of_files_are_found_from_any_folder() {
        for (workspace, file, is_refused) in [
            ("/r/.github", "CODEOWNERS", true),
            ("/r/docs", "codeowners", true),
            ("/r/src", "CODEOWNERS", true),
            ("/r/src", "OWNERS", false),
        ] {
            let found = judged_at(workspace, vec![change(file, None, "* @me\n")], &Apply::default());
            assert_eq!(!found.is_empty(), is_refused, "{workspace} {file}: {found}");
        }
    }

    #[test]
    fn sizes_follow_the_configuration() {
        let rules = |text: &str| serde_json::from_str::<Apply>(text).expect("rules");
        let two = || vec![change("a", None, "1\n2\n"), change("b", None, "1\n")];
        assert!(judged(two(), &rules(r#"{"max_files": 1}"#)).contains("2 files, and `apply.max_files` is 1"));
        assert!(judged(two(), &rules(r#"{"max_lines": 2}"#)).contains("3 lines, and `apply.max_lines` is 2"));
        assert_eq!(judged(two(), &rules(r#"{"max_files": 2, "max_lines": 3}"#)), "");
        // What hides as binary counts.
        let disguised = vec![change("a.bin", None, "import os\nos.remove('a')\n# \0\n")];
        assert!(judged(disguised, &rules(r#"{"max_lines": 2}"#)).contains("3 lines"));
    }
}
