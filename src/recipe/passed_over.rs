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
    /// Matches that stay, by file and line.
    pub(super) left: Vec<String>,
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
            let names = files.iter().map(WorkspacePath::as_str);
            name(f, (&counted(files.len(), "file", "s"), what), names, files.len())?;
        }
        let left = self.left.iter().map(String::as_str);
        let what = "left unchanged, because the replacement would not mean there what it says";
        name(f, (&counted(self.left.len(), "match", "es"), what), left, self.left.len())
    }
}

/// Names the first of some things.
fn name<'n>(
    f: &mut fmt::Formatter<'_>,
    (count, what): (&str, &str),
    names: impl Iterator<Item = &'n str>,
    number: usize,
) -> fmt::Result {
    if number == 0 {
        return Ok(());
    }
    let more = if number > NAMED { ", …" } else { "" };
    let names: Vec<&str> = names.take(NAMED).collect();
    write!(f, "\n\n{count} {what}: {}{more}.", names.join(", "))
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
            left: vec!["a.py:3".to_owned()],
        };
        assert_eq!(
            passed_over.to_string(),
            "\n\nNo file fits `files` and `containing` of steps[0].\n\n1 file not UTF-8, so left unchanged: 0.py.\n\n7 files with a \
             syntax error, so that matches may be missed: 0.py, 1.py, 2.py, 3.py, 4.py, ….\n\n2 files skipped because of `unless`: \
             0.py, 1.py.\n\n1 match left unchanged, because the replacement would not mean there what it says: a.py:3."
        );
        assert_eq!(PassedOver::default().to_string(), "");
    }
}
