//! What was told already: of a line, or of the test as a whole that the line stands in.

use std::collections::BTreeMap;

use crate::Change;
use crate::extract;
use crate::finding::Finding;

/// Findings, and where the tests of their files begin.
pub(crate) struct Told<'a> {
    findings: &'a [Finding],
    starts: BTreeMap<&'a str, Vec<usize>>,
}

impl<'a> Told<'a> {
    pub(crate) fn new(findings: &'a [Finding], changes: &[Change<'a>]) -> Self {
        let is_found = |change: &&Change<'_>| findings.iter().any(|finding| finding.path == change.path);
        let starts = changes.iter().filter(is_found).map(|change| {
            let read = extract::tests(change.path, change.after.unwrap_or_default());
            let mut lines: Vec<usize> = read.tests.iter().chain(&read.hooks).map(|test| test.line).collect();
            lines.sort_unstable();
            (change.path, lines)
        });
        Self { findings, starts: starts.collect() }
    }

    /// Returns whether something was told of a line, or of the test that it stands in as a whole.
    pub(crate) fn covers(&self, path: &str, line: usize) -> bool {
        let start = self.starts.get(path).and_then(|lines| lines.iter().rfind(|start| **start <= line));
        self.of(path).any(|finding| finding.line == line || Some(&finding.line) == start)
    }

    /// Returns whether what was told of a file names something.
    pub(crate) fn names(&self, path: &str, name: &str) -> bool {
        self.of(path).any(|finding| finding.message.contains(name))
    }

    fn of(&self, path: &str) -> impl Iterator<Item = &'a Finding> {
        self.findings.iter().filter(move |finding| finding.path == path)
    }
}
