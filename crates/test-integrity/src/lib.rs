//! Finds what a change does to the meaning of tests, without a model and without running anything: tests that vanish,
//! are skipped, emptied or made conditional, assertions that get fewer or looser, snapshots that are rewritten
//! wholesale, and settings of test runners, linters and CI that demand less than before.
//!
//! Both states of each changed file go in, [`Finding`]s come out. Python, JavaScript, TypeScript, Rust, Go and Java are
//! read by their grammars, other languages by a table of patterns. What moved or got another name is recognized by
//! what it says, in whatever file it is now.
//!
//! ```
//! use test_integrity::{Change, Kind, check};
//!
//! let findings = check(&[Change {
//!     path: "tests/test_sum.py",
//!     before: Some("def test_sum():\n    assert sum([1, 2]) == 3\n"),
//!     after: Some("def test_sum():\n    assert sum([1, 2])\n"),
//! }]);
//! assert_eq!(findings.len(), 1);
//! assert_eq!(findings[0].kind, Kind::WeakerAssertion);
//! assert_eq!(findings[0].line, 2);
//! ```

mod assertion;
mod changed;
mod compare;
mod definitions;
mod exemptions;
mod extract;
mod files;
mod finding;
mod imports;
mod matching;
mod mutation;
mod needs;
mod said;
mod settings;
mod shadow;
mod snapshots;
mod syntax;
mod test_items;
mod vocabulary;
mod weaker;

pub use changed::{ChangedTest, changed_tests, is_of_tests, is_settings, new_names};
pub use finding::{Finding, Kind, Severity};
pub use mutation::{Mutation, MutationKind, mutations};
pub use test_items::with_tests_of;

use files::Role;

/// Longest text that is judged, in bytes. Longer ones are data rather than tests.
pub const MAX_BYTES: usize = 2 * 1024 * 1024;

/// Both states of one file that a change touches.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// Path from the repository's root, with slashes.
    pub path: &'a str,
    /// Text before the change; `None` if the file is new.
    pub before: Option<&'a str>,
    /// Text after the change; `None` if the file is gone.
    pub after: Option<&'a str>,
}

/// Returns whether a change of the file at this path can have findings. Other files need not be read.
pub fn concerns(path: &str) -> bool {
    Role::of(path) != Role::Other
}

/// Returns what a change does to the meaning of tests, sorted by path and line.
///
/// The change has to be given as a whole: a test that is moved to another file is recognized only if both files are
/// there. A text that is longer than [`MAX_BYTES`] is not judged, so a file whose text becomes so long counts as gone.
pub fn check(changes: &[Change<'_>]) -> Vec<Finding> {
    let changes: Vec<Change<'_>> = changes
        .iter()
        .filter(|change| change.before != change.after)
        .map(|change| Change {
            path: change.path,
            before: change.before.filter(|text| text.len() <= MAX_BYTES),
            after: change.after.filter(|text| text.len() <= MAX_BYTES),
        })
        .collect();

    let mut findings = compare::tests(&changes);
    findings.extend(exemptions::compare(&changes));
    for change in &changes {
        match Role::of(change.path) {
            Role::Snapshot => findings.extend(snapshots::compare(change)),
            Role::Settings(format) => findings.extend(settings::compare(change, format)),
            Role::Source | Role::Test | Role::Other => {}
        }
    }
    findings
        .sort_by(|one, other| (&one.path, one.line, one.kind).cmp(&(&other.path, other.line, other.kind)));
    findings.dedup();
    findings
}
