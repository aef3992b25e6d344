//! Inspection of a plan before it is written: whatever can be judged without running anything, and that a reviewer could
//! overlook in a diff.

use sanitize::invisible::marked;
use sanitize::lookalikes::{disguised_word, mixed_word};
use sanitize::tokens::credentials;
use sanitize::{MASK, Masker};
use workspace::{ChangeSet, FileChange, FileState, LineCounts, Mode, WorkspaceLocation, WorkspacePath};

use super::ambiguous_names::Names;
use super::attributes;
use super::dependencies::{self, BaseFiles, DependencyError};
use super::programs::is_program;
use super::spaces::text_aside;
use crate::base::bounded::Bounded;
use crate::config::Apply;

/// The places where GitHub looks for the owners of files.
pub(crate) const CODE_OWNERS: [&str; 3] = [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"];

/// Characters that look like those between the names of folders.
const SLASHES: [char; 6] = ['\u{2044}', '\u{2215}', '\u{29f8}', '\u{29f9}', '\u{ff0f}', '\u{ff3c}'];

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
    /// Letters of another script that look like those beside them.
    #[error(
        "{path} would contain `{word}`, in which some letters are of another script than they look like; write it in one script"
    )]
    Lookalike {
        /// The file.
        path: WorkspacePath,
        /// The word.
        word: String,
    },
    /// Letters that look like signs, or that are read as others.
    #[error(
        "{path} would contain `{word}`, which looks like something else than programs read in it; write it with plain letters and signs"
    )]
    Disguised {
        /// The file.
        path: WorkspacePath,
        /// The word.
        word: String,
    },
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
    /// A submodule that gives way to files of the plan.
    #[error("{path} replaces the submodule {module}; change it by hand")]
    Submodule {
        /// The file.
        path: WorkspacePath,
        /// The submodule.
        module: String,
    },
    /// Attributes that hide changes from reviewers, or say what Git makes of files.
    #[error(
        "it changes what {path} says of `{attribute}`, which can hide changes of other files from reviewers; change it by hand"
    )]
    Attribute {
        /// The file.
        path: WorkspacePath,
        /// The attribute.
        attribute: String,
    },
    /// Something that is run, and that nobody can read.
    #[error(
        "{0} is an executable that cannot be reviewed; build or fetch it in the job that needs it, or change it by hand"
    )]
    Program(WorkspacePath),
    /// Something that is neither text nor a picture, so that nobody can see what it is.
    #[error(
        "{0} is a binary file, but not the picture or font that its name says, so it cannot be reviewed; build or fetch it in the job that \
         needs it, or change it by hand"
    )]
    Binary(WorkspacePath),
    /// Text so far to the right that nobody looks there.
    #[error("{0} would contain text behind {1} spaces, where it is easily overlooked; remove them")]
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
    let modules = submodules(base);
    for change in changes {
        let path = &change.path;
        let full = format!("{}{path}", base.prefix);
        let is_of = |module: &&String| {
            let is_below = |rest: &str| rest.is_empty() || rest.starts_with('/');
            full.strip_prefix(module.as_str()).is_some_and(is_below)
                || module.strip_prefix(full.as_str()).is_some_and(is_below)
        };
        if let Some(module) = modules.iter().find(is_of) {
            return Err(InspectionError::Submodule { path: path.clone(), module: module.clone() });
        }
        let is_owners = |name: &str| CODE_OWNERS.iter().any(|place| place.eq_ignore_ascii_case(name));
        let is_link = change.after.as_ref().is_some_and(|state| state.mode == Mode::Link);
        let is_above = |name: &str| {
            is_link
                && CODE_OWNERS
                    .iter()
                    .any(|place| place.rsplit_once('/').is_some_and(|(folder, _)| folder == name))
        };
        if location.names_of(path).any(|name| is_owners(&name.folded()) || is_above(&name.folded())) {
            return Err(InspectionError::CodeOwners(path.clone()));
        }
        if marked(path.as_str()) != path.as_str() || path.as_str().contains(char::is_control) {
            return Err(InspectionError::Name(path.clone()));
        }
        if change.before.is_none()
            && let Some(name) = path.as_str().split('/').find(|name| name.contains(SLASHES))
        {
            return Err(InspectionError::Disguised { path: path.clone(), word: name.to_owned() });
        }
        let lookalike = |text: &str| {
            let word = mixed_word(text).map(str::to_owned);
            word.map(|word| InspectionError::Lookalike { path: path.clone(), word })
        };
        if let Some(error) = lookalike(path.as_str()).filter(|_| change.before.is_none()) {
            return Err(error);
        }
        let masked = masker.mask(path.as_str());
        if masked != path.as_str() {
            return Err(InspectionError::SecretName(masked.into_owned()));
        }
        if masker.is_in_path(path.as_str()) || !credentials(path.as_str()).is_empty() {
            return Err(InspectionError::SecretName(MASK.to_owned()));
        }
        if change.before.is_none()
            && let Some(reason) = names.ambiguity(path)
        {
            return Err(InspectionError::Ambiguous { path: path.clone(), reason });
        }
        if change.after.as_ref().is_some_and(|state| is_program(path, &state.content)) {
            return Err(InspectionError::Program(path.clone()));
        }
        let gained = change.gained();
        if hides_text(&gained) {
            let is_binary = change.after.as_ref().is_some_and(|state| is_binary(&state.content));
            return Err(if is_binary {
                InspectionError::Binary(path.clone())
            } else {
                InspectionError::Control(path.clone())
            });
        }
        let gained = if is_prose(path) { without_soft_hyphens(&gained) } else { gained };
        if marked(&gained) != gained {
            return Err(InspectionError::Invisible(path.clone()));
        }
        if let Some(error) = lookalike(&gained) {
            return Err(error);
        }
        if let Some(word) = disguised_word(&gained).filter(|_| !is_prose(path)) {
            return Err(InspectionError::Disguised { path: path.clone(), word: word.to_owned() });
        }
        let holds_secret = change.after.as_ref().is_some_and(|state| masker.knows_of(&state.content));
        if holds_secret
            || change.readings().iter().chain([&gained]).any(|text| masker.mask(text) != *text)
            || gains_credential(change)
        {
            return Err(InspectionError::Secret(path.clone()));
        }
        if let Some(spaces) = text_aside(path, &gained) {
            return Err(InspectionError::Aside(path.clone(), spaces));
        }
        if let Some(attribute) = attributes::changed(change, (base.read)(attributes::FILE).as_deref()) {
            return Err(InspectionError::Attribute { path: path.clone(), attribute });
        }
        dependencies::inspect(change, changes, rules.lock_files, base)?;
    }
    Ok(())
}

/// Returns the paths of the submodules that the base has, from the repository's root.
fn submodules(base: &BaseFiles<'_>) -> Vec<String> {
    let text = (base.read)(".gitmodules").unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let paths = text.lines().filter_map(|line| {
        let (key, path) = line.split_once('=')?;
        // Git reads a key behind the name of its section as well.
        let key = key.rsplit(']').next()?;
        key.trim().eq_ignore_ascii_case("path").then_some(path)
    });
    paths
        .map(|path| path.trim().trim_matches('"').trim_matches('/').to_owned())
        .filter(|path| !path.is_empty())
        .collect()
}

/// Returns whether a file is prose, going by its name.
fn is_prose(path: &WorkspacePath) -> bool {
    const PROSE: [&str; 7] = ["adoc", "htm", "html", "markdown", "md", "rst", "tex"];
    let suffix = path.as_str().rsplit_once('.').map_or("", |(_, suffix)| suffix);
    PROSE.iter().any(|prose| suffix.eq_ignore_ascii_case(prose))
}

/// Returns a text without the hyphens between letters that are seen only where a line ends.
fn without_soft_hyphens(text: &str) -> String {
    const SOFT_HYPHEN: char = '\u{ad}';
    let mut letters = text.chars().peekable();
    let mut plain = String::with_capacity(text.len());
    while let Some(letter) = letters.next() {
        let is_between =
            plain.ends_with(char::is_alphabetic) && letters.peek().is_some_and(|next| next.is_alphabetic());
        if letter != SOFT_HYPHEN || !is_between {
            plain.push(letter);
        }
    }
    plain
}

/// Returns whether a file holds anything that looks like a credential, and that it did not hold before. Its whole text counts, as parts
/// of a key that stand there already make one of a line in between.
fn gains_credential(change: &FileChange) -> bool {
    let Some(after) = change.after.as_ref() else { return false };
    let text = |state: &FileState| String::from_utf8_lossy(&state.content).into_owned();
    let plain = |text: String| if is_prose(&change.path) { without_soft_hyphens(&text) } else { text };
    let (before, after) = (change.before.as_ref().map(text).unwrap_or_default(), text(after));
    let (before, after) = (plain(before), plain(after));
    let (had, has) = (credentials(&before), credentials(&after));
    !has.is_subset(&had)
}

/// Returns whether content is anything but text with a few characters that do not belong there.
fn is_binary(content: &[u8]) -> bool {
    let is_readable = |letter: &char| !letter.is_control() || letter.is_ascii_whitespace();
    let valid = content.utf8_chunks().flat_map(|chunk| chunk.valid().chars());
    let readable: usize = valid.filter(is_readable).map(char::len_utf8).sum();
    readable * 4 < content.len() * 3
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
mod tests;
