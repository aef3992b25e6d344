//! Finds what a change does to the meaning of tests, without a model and without running anything: tests that vanish,
//! are skipped, emptied or made conditional, assertions that get fewer or looser, snapshots that are rewritten
//! wholesale, and settings of test runners, linters and CI that are weaker than before.
//!
//! Both states of each changed file go in, [`Finding`]s come out. Python, JavaScript, TypeScript, Rust, Go and Java are
//! read by their grammars, other languages by a table of patterns. What moved or got another name is recognized by
//! what it says, in whatever file it is now.
//!
//! A change goes through these modules in turn, and each knows those before it only, as `tests/layering.rs` ensures: `finding` is what
//! comes out; `files` says what a path is to tests; `syntax` reads text; `assertion` says how much one assertion demands; `extract`
//! reads the tests of a file; `weaker` compares assertions; `matching` finds which test became which; `compare` says what became of
//! each; `lines` looks at what stands outside of assertions; `settings` and `snapshots` judge the files around tests. `changed`,
//! `changed_code` and `mutation` say what a caller can run to try the tests.
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
mod changed_code;
mod compare;
mod extract;
mod files;
mod finding;
mod lines;
mod matching;
mod mutation;
mod settings;
mod snapshots;
mod syntax;
mod weaker;

pub use changed::{ChangedTest, changed_tests, is_of_tests, is_settings, new_names};
pub use changed_code::{changes_code, touched_names};
pub use extract::rust::test_items::with_tests_of;
pub use finding::{Finding, Kind, Severity};
pub use mutation::{Mutation, MutationKind, mutations};

use files::Role;
use lines::reported::{Reported, Starts};
use lines::{doctests, endings, exemptions, lenient, marks, scripted, signs, silenced, statements, unbuilt};
use settings::{packages, places, selected};

/// Longest text that is judged, in bytes. Longer ones are data rather than tests.
pub const MAX_BYTES: usize = 2 * 1024 * 1024;

/// Most findings for which reasons are looked for in all of the change.
const MAX_REASONED: usize = 200;

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

/// Returns whether the change of a file can have findings, or be the reason for some of another file. If that is so of none of many
/// files, [`check`] finds nothing, and they need not be in memory together.
pub fn matters(change: &Change<'_>) -> bool {
    let texts = || [change.before, change.after].into_iter().flatten();
    match Role::of(change.path) {
        Role::Other => false,
        Role::Source => {
            signs::is_steering(change.path)
                || texts().any(|text| extract::may_hold_tests(change.path, text))
                || change.after.is_some_and(|text| exemptions::has_mark(text) || unbuilt::has_mark(text))
                || change.after.is_some_and(|text| signs::is_aware(change.path, text))
                || change.before.is_some_and(|text| doctests::may_hold(change.path, text))
        }
        Role::Test | Role::Snapshot | Role::Settings(_) => true,
    }
}

/// Returns what a change does to the meaning of tests, sorted by path and line.
///
/// The change has to be given as a whole: a test that is moved to another file is recognized only if both files are
/// there. A text that is longer than [`MAX_BYTES`] is not judged, so a file whose text becomes so long counts as gone.
pub fn check(changes: &[Change<'_>]) -> Vec<Finding> {
    let (unchanged, changes): (Vec<Change<'_>>, Vec<Change<'_>>) =
        changes.iter().partition(|change| change.before == change.after);
    let changes: Vec<Change<'_>> = changes
        .into_iter()
        .map(|change| Change {
            path: change.path,
            before: change.before.filter(|text| text.len() <= MAX_BYTES),
            after: change.after.filter(|text| text.len() <= MAX_BYTES),
        })
        .collect();

    let mut findings = compare::tests(&changes, &unchanged);
    findings.extend(exemptions::compare(&changes));
    findings.extend(signs::compare(&changes));
    findings.extend(doctests::compare(&changes));
    findings.extend(unbuilt::compare(&changes));
    findings.extend(scripted::compare(&changes));
    // What several look at is reported once.
    let starts = Starts::new(&changes);
    for compare in [silenced::compare, lenient::compare, statements::compare, endings::compare] {
        let more = compare(&changes, &Reported { findings: &findings, starts: &starts });
        findings.extend(more);
    }
    let migrations = settings::Migrations::of(&changes);
    findings.extend(migrations.findings());
    for change in &changes {
        match Role::of(change.path) {
            Role::Settings(_) if change.after.is_none() && migrations.has_judged(change.path) => {}
            Role::Snapshot => findings.extend(snapshots::compare(change, &changes)),
            Role::Settings(format) => {
                let change = moved(change, &changes);
                let settled = settings::Settled::of(&change, format, &changes, &migrations);
                let (before, after) = (settled.before.as_deref(), settled.after.as_deref());
                findings.extend(settings::compare(&Change { before, after, ..change }, format));
            }
            Role::Source | Role::Test if matches!(files::extension(change.path), "sh" | "bash") => {
                findings.extend(settings::scripts(change));
            }
            Role::Test if is_helper(change) => findings.extend(settings::of_helpers(change)),
            Role::Source | Role::Test | Role::Other => {}
        }
    }
    // Of so many, nobody reads each.
    if findings.len() <= MAX_REASONED {
        findings.retain(|finding| {
            !places::is_of_lost_feature(finding, &changes)
                && !places::is_of_moved_file(finding, &changes)
                && !selected::is_of_new_rules(finding, &changes)
                && !compare::excused::is_excused(finding, &changes)
        });
    }
    let mut findings = packages::note_gone(findings, &changes);
    findings
        .sort_by(|one, other| (&one.path, one.line, one.kind).cmp(&(&other.path, other.line, other.kind)));
    findings.dedup();
    findings
}

/// Returns whether a file of tests holds none itself, in a language without a grammar here: it prepares those of others.
fn is_helper(change: &Change<'_>) -> bool {
    let holds_none =
        |text: Option<&str>| text.is_none_or(|text| extract::tests(change.path, text).tests.is_empty());
    files::Language::of(change.path).is_none() && holds_none(change.before) && holds_none(change.after)
}

/// Returns what a change does to the meaning of tests, as [`check`] does, but for what other files answer: tests that are gone and
/// stand there already, marks that are used there, and base classes whose tests run there. `others` reads the files of tests that the
/// change does not touch, by path; it is asked only if there is such a question.
pub fn check_among(changes: &[Change<'_>], others: impl FnOnce() -> Vec<(String, String)>) -> Vec<Finding> {
    let findings = check(changes);
    let is_of_marks = |finding: &Finding| finding.message.ends_with(marks::LEFT_OUT);
    let is_of_base =
        |finding: &Finding| extract::classes::OF_BASE.iter().any(|why| finding.message.ends_with(why));
    // Tests of Java inherit their helpers from classes in other files.
    let is_of_helpers = |finding: &Finding| {
        matches!(finding.kind, Kind::FewerAssertions | Kind::EmptyTest)
            && files::extension(&finding.path) == "java"
    };
    let is_open = |finding: &Finding| {
        finding.kind == Kind::VanishedTest
            || is_of_helpers(finding)
            || is_of_marks(finding)
            || is_of_base(finding)
            || places::is_of_places(finding)
    };
    if !findings.iter().any(is_open) {
        return findings;
    }
    let others = others();
    let findings = |given: &[Change<'_>]| {
        let mut findings = check(given);
        findings.retain(|finding| !is_of_marks(finding) || !marks::are_new(&finding.path, given));
        findings.retain(|finding| {
            !places::is_of_places(finding)
                || !places::follow(finding, given) && !places::is_of_empty_folder(finding, given)
        });
        findings
    };
    let unchanged = others.iter().map(|(path, text)| Change { path, before: Some(text), after: Some(text) });
    findings(&changes.iter().copied().chain(unchanged).collect::<Vec<_>>())
}

/// Returns the change of a file with what it became, if it is gone and another one of its name has come.
fn moved<'a>(change: &Change<'a>, changes: &[Change<'a>]) -> Change<'a> {
    let Some(before) = change.before.filter(|_| change.after.is_none()) else { return *change };
    let lines: std::collections::BTreeSet<&str> = before.lines().map(str::trim).collect();
    let kept = |other: &Change<'a>| {
        let after = other.after.filter(|_| other.before.is_none()).unwrap_or_default();
        let now: std::collections::BTreeSet<&str> = after.lines().map(str::trim).collect();
        lines.intersection(&now).count()
    };
    let named = changes.iter().filter(|other| files::file_name(other.path) == files::file_name(change.path));
    // Of several that look alike, it is the one that looks most alike.
    let best = named.map(|other| (kept(other), other)).max_by_key(|(kept, _)| *kept);
    best.filter(|(kept, _)| kept * 2 > lines.len())
        .map_or(*change, |(_, other)| Change { before: Some(before), ..*other })
}
