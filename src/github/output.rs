//! The runner's command files: step outputs and the step summary.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

/// Appends outputs to the file behind `GITHUB_OUTPUT`. Each value is fenced by a random delimiter, so
/// that no value can end its fence and define outputs of its own.
pub fn write_outputs(file: &Path, outputs: &[(&str, String)]) -> io::Result<()> {
    let mut text = String::new();
    for (name, value) in outputs {
        let delimiter = format!("architect_ci_{}", uuid::Uuid::new_v4().simple());
        text += &format!("{name}<<{delimiter}\n{value}\n{delimiter}\n");
    }
    append(file, &text)
}

/// Appends to the file behind `GITHUB_STEP_SUMMARY`.
pub fn append_summary(file: &Path, markdown: &str) -> io::Result<()> {
    append(file, &format!("{markdown}\n"))
}

fn append(file: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().create(true).append(true).open(file)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_cannot_leave_its_fence() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("output");
        let evil = "x\nEOF\nadmin=true\narchitect_ci_0\n".to_owned();
        write_outputs(&file, &[("status", "success".into()), ("summary", evil.clone())]).expect("written");
        let text = std::fs::read_to_string(&file).expect("read");
        let mut lines = text.lines();
        assert!(lines.next().is_some_and(|line| line.starts_with("status<<architect_ci_")));
        assert_eq!(lines.next(), Some("success"));
        let (_, rest) = text.split_once("summary<<").expect("the second output");
        let (delimiter, rest) = rest.split_once('\n').expect("a delimiter");
        assert_eq!(rest, format!("{evil}\n{delimiter}\n"));
    }
}
