//! Files that a recipe selected and left alone, reported at its end: a misspelled glob looks like work that is done.

use std::collections::BTreeSet;
use std::fmt;

use crate::base::text::counted;
use workspace::WorkspacePath;

/// Number of files that are named of each kind.
const NAMED: usize = 5;

/// Steps and files of which nothing became.
#[derive(Debug, Default)]
pub(super) struct PassedOver {
    /// Steps whose `files` and `containing` fit no file.
    pub(super) steps: Vec<String>,
    /// Files that are not UTF-8.
    pub(super) not_text: BTreeSet<WorkspacePath>,
    /// Files with a syntax error in which nothing was found.
    pub(super) not_parsed: BTreeSet<WorkspacePath>,
    /// Files that `unless` excludes from a step.
    pub(super) excluded: BTreeSet<WorkspacePath>,
}

impl fmt::Display for PassedOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            write!(f, "\n\nNo file fits `files` and `containing` of {step}.")?;
        }
        for (files, what) in [
            (&self.not_text, "not UTF-8, so left unchanged"),
            (&self.not_parsed, "with a syntax error, so that matches may be missed"),
            (&self.excluded, "skipped because of `unless`"),
        ] {
            if files.is_empty() {
                continue;
            }
            let names: Vec<&str> = files.iter().take(NAMED).map(WorkspacePath::as_str).collect();
            let more = if files.len() > NAMED { ", …" } else { "" };
            write!(f, "\n\n{} {what}: {}{more}.", counted(files.len(), "file", "s"), names.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_alone_is_counted_and_named() {
        let files = |count: usize| {
            (0..count).filter_map(|n| WorkspacePath::parse(&format!("{n}.py")).ok()).collect::<BTreeSet<_>>()
        };
        let passed_over = PassedOver {
            steps: vec!["steps[0]".to_owned()],
            not_text: files(1),
            not_parsed: files(7),
            excluded: files(2),
        };
        assert_eq!(
            passed_over.to_string(),
            "\n\nNo file fits `files` and `containing` of steps[0].\n\n1 file not UTF-8, so left unchanged: 0.py.\n\n7 files with a \
             syntax error, so that matches may be missed: 0.py, 1.py, 2.py, 3.py, 4.py, ….\n\n2 files skipped because of `unless`: \
             0.py, 1.py."
        );
        assert_eq!(PassedOver::default().to_string(), "");
    }
}
