//! Record of what was reported already: of a line, or of the test as a whole that the line stands in.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::Change;
use crate::extract;
use crate::finding::Finding;

/// Lines at which the tests of changed files begin, read for each file when they are first asked for.
pub(crate) struct Starts<'a> {
    changes: &'a [Change<'a>],
    read: RefCell<BTreeMap<String, Vec<usize>>>,
}

impl<'a> Starts<'a> {
    pub(crate) fn new(changes: &'a [Change<'a>]) -> Self {
        Self { changes, read: RefCell::default() }
    }

    /// Returns the line at which the test begins that a line stands in.
    fn of_line(&self, path: &str, line: usize) -> Option<usize> {
        let change = self.changes.iter().find(|change| change.path == path)?;
        let mut read = self.read.borrow_mut();
        let lines = read.entry(path.to_owned()).or_insert_with(|| {
            let file = extract::tests(change.path, change.after.unwrap_or_default());
            let mut lines: Vec<usize> = file.tests.iter().chain(&file.hooks).map(|test| test.line).collect();
            lines.sort_unstable();
            lines
        });
        lines.iter().rfind(|start| **start <= line).copied()
    }
}

/// Findings, and where the tests of their files begin.
#[derive(Clone, Copy)]
pub(crate) struct Reported<'a> {
    pub(crate) findings: &'a [Finding],
    pub(crate) starts: &'a Starts<'a>,
}

impl<'a> Reported<'a> {
    /// Returns whether something was reported of a line, or of the test that it stands in as a whole.
    pub(crate) fn covers(&self, path: &str, line: usize) -> bool {
        let mut lines = self.of(path).map(|finding| finding.line).peekable();
        if lines.peek().is_none() {
            return false;
        }
        let start = self.starts.of_line(path, line);
        lines.any(|reported| reported == line || Some(reported) == start)
    }

    /// Returns whether what was reported of a file names something.
    pub(crate) fn names(&self, path: &str, name: &str) -> bool {
        self.of(path).any(|finding| finding.message.contains(name))
    }

    fn of(&self, path: &str) -> impl Iterator<Item = &'a Finding> {
        self.findings.iter().filter(move |finding| finding.path == path)
    }
}
