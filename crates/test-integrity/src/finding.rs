//! Findings, as data.

use serde::{Deserialize, Serialize};

/// Way in which a change weakens tests or checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A test is gone, and no other says what it said.
    VanishedTest,
    /// A test, or all tests of a file, no longer run.
    SkippedTest,
    /// A test runs only under a condition.
    ConditionalTest,
    /// A test, alone of its file, runs: the others no longer do.
    FocusedTest,
    /// A test asserts nothing any more.
    EmptyTest,
    /// An assertion holds whatever the program does.
    AlwaysTrue,
    /// A test asserts less than before.
    FewerAssertions,
    /// An assertion accepts more than before.
    WeakerAssertion,
    /// A tolerance of a comparison is wider.
    WiderTolerance,
    /// A failure of an assertion is caught.
    SwallowedFailure,
    /// A test has fewer cases.
    FewerCases,
    /// What a test is about is replaced by a mock.
    MockedSubject,
    /// Most of a snapshot was rewritten, or the snapshot is gone.
    RewrittenSnapshot,
    /// A threshold, such as that of coverage, is lower.
    LowerThreshold,
    /// A rule of a linter, type checker or test runner is off or milder.
    LooserRule,
    /// A check no longer runs, or its failure no longer counts.
    WeakerCheck,
    /// A line is exempt from a check.
    Exemption,
}

impl Kind {
    /// Returns how much a finding of this kind weighs.
    pub fn severity(self) -> Severity {
        match self {
            Self::VanishedTest
            | Self::SkippedTest
            | Self::FocusedTest
            | Self::EmptyTest
            | Self::AlwaysTrue
            | Self::FewerAssertions
            | Self::WeakerAssertion
            | Self::WiderTolerance
            | Self::SwallowedFailure
            | Self::FewerCases
            | Self::LowerThreshold
            | Self::WeakerCheck => Severity::Error,
            Self::ConditionalTest
            | Self::MockedSubject
            | Self::RewrittenSnapshot
            | Self::LooserRule
            | Self::Exemption => Severity::Warning,
        }
    }
}

/// Weight of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something is gone for a reason that the change itself shows; good to know.
    Note,
    /// There are honest reasons for it; somebody should look.
    Warning,
    /// Tests or checks are weaker than before.
    Error,
}

/// Place where a change weakens tests or checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Path of the file, as it was given.
    pub path: String,
    /// Line after the change, from 1; that before the change where the test or the file is gone.
    pub line: usize,
    /// What happened.
    pub kind: Kind,
    /// How much it weighs.
    pub severity: Severity,
    /// One sentence for people, which may quote the file.
    pub message: String,
}

impl Finding {
    /// Makes a finding of the severity that its kind has.
    pub(crate) fn new(path: &str, line: usize, kind: Kind, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, kind, severity: kind.severity(), message: message.into() }
    }

    /// Turns it into a note if there is a reason.
    pub(crate) fn noted_if(self, reason: Option<String>) -> Self {
        match reason {
            Some(reason) => self.noted(&reason),
            None => self,
        }
    }

    /// Turns it into a note, with the reason that the change shows for it.
    pub(crate) fn noted(mut self, reason: &str) -> Self {
        self.severity = Severity::Note;
        self.message = format!("{}; {reason}", self.message);
        self
    }
}

/// Shortens a text for a message.
pub(crate) fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(100) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
