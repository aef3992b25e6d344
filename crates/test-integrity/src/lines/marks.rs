//! Marks of pytest that the default leaves out: those of new tests alone leave out nothing that ran before.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use crate::Change;

/// End of the message that names such a default.
pub(crate) const LEFT_OUT: &str = "leaves something out: `-m not`";

static LEFT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"-m[ =]\\?["']not (\w+)\\?["']"#).ok());

/// Returns whether no test had the marks that the settings at a path leave out, and none got them but in new files. All files of
/// tests have to be there, those that do not change as well.
pub(crate) fn are_new(path: &str, changes: &[Change<'_>]) -> bool {
    let settings = changes.iter().find(|change| change.path == path);
    let (Some(after), Some(pattern)) = (settings.and_then(|change| change.after), LEFT.as_ref()) else {
        return false;
    };
    let mut marks = pattern.captures_iter(after).map(|found| found[1].to_owned()).peekable();
    let is_new = |mark: &String| {
        let Ok(word) = Regex::new(&format!(r"\b{mark}\b")) else { return false };
        let has = |text: Option<&str>| text.is_some_and(|text| word.is_match(text));
        changes.iter().all(|change| {
            let is_code = Path::new(change.path)
                .extension()
                .is_some_and(|extension| extension.eq_ignore_ascii_case("py"));
            !has(change.before) && (!is_code || !has(change.after) || change.before.is_none())
        })
    };
    marks.peek().is_some() && marks.all(|mark| is_new(&mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_new_tests_leave_out_nothing_that_ran() {
        let settings = Change {
            path: "pyproject.toml",
            before: Some("[tool.pytest.ini_options]\n"),
            after: Some("[tool.pytest.ini_options]\naddopts = \"-m 'not stress'\"\n"),
        };
        let new = Change { path: "tests/test_b.py", before: None, after: Some("@pytest.mark.stress\n") };
        let old = "@pytest.mark.stress\ndef test_a():\n    assert f() == 1\n";
        let there = Change { path: "tests/test_a.py", before: Some(old), after: Some(old) };
        let marked = Change { path: "tests/test_a.py", before: Some("def test_a():\n"), after: Some(old) };
        assert!(are_new("pyproject.toml", &[settings, new]));
        assert!(!are_new("pyproject.toml", &[settings, new, there]));
        assert!(!are_new("pyproject.toml", &[settings, marked]));
        assert!(!are_new("pyproject.toml", &[new]));
    }
}
