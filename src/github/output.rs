//! The runner's command files: step outputs and the step summary.

use std::fs::OpenOptions;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::PathBuf;

/// A command file of the runner's, together with the length that it had when it was opened, so that what
/// earlier steps or commands wrote is kept.
#[derive(Debug)]
pub struct StepFile {
    path: PathBuf,
    start: u64,
}

impl StepFile {
    /// Opens the command file at `path`; whatever it already holds is kept by [`Self::put`].
    pub fn open(path: PathBuf) -> Self {
        let start = path.metadata().map_or(0, |found| found.len());
        Self { path, start }
    }

    /// Writes `text` behind the content that was there when the file was opened, replacing what an earlier
    /// call wrote.
    pub fn put(&self, text: &str) -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(&self.path)?;
        file.set_len(self.start)?;
        file.seek(SeekFrom::End(0))?;
        file.write_all(text.as_bytes())
    }
}

/// Formats outputs for the file behind `GITHUB_OUTPUT`. Each value is fenced by a random delimiter, so that
/// no value can end its fence and define outputs of its own.
pub fn outputs(outputs: &[(&str, String)]) -> String {
    outputs
        .iter()
        .map(|(name, value)| {
            let delimiter = format!("architect_ci_{}", uuid::Uuid::new_v4().simple());
            format!("{name}<<{delimiter}\n{value}\n{delimiter}\n")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_cannot_leave_its_fence() {
        let evil = "x\nEOF\nadmin=true\narchitect_ci_0\n".to_owned();
        let text = outputs(&[("status", "success".into()), ("summary", evil.clone())]);
        let mut lines = text.lines();
        assert!(lines.next().is_some_and(|line| line.starts_with("status<<architect_ci_")));
        assert_eq!(lines.next(), Some("success"));
        let (_, rest) = text.split_once("summary<<").expect("the second output");
        let (delimiter, rest) = rest.split_once('\n').expect("a delimiter");
        assert_eq!(rest, format!("{evil}\n{delimiter}\n"));
    }

    #[test]
    fn what_is_put_again_replaces_what_was_put() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("summary");
        std::fs::write(&path, "of an earlier command\n").expect("written");
        let file = StepFile::open(path.clone());
        file.put("a long first version\n").expect("written");
        file.put("second\n").expect("written");
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "of an earlier command\nsecond\n");
        let new = StepFile::open(dir.path().join("new"));
        new.put("made\n").expect("written");
        assert_eq!(std::fs::read_to_string(dir.path().join("new")).expect("read"), "made\n");
    }
}
