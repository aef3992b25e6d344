//! The runner's channels: outputs and summary of the step, and annotations.

use std::io::Write;
use std::path::PathBuf;

use crate::base::env::{Variables, is_in_actions};
use crate::github::{StepFile, outputs};

/// Where the runner reads outputs and the summary of this step.
#[derive(Debug)]
pub(crate) struct StepOutputs {
    summary: Option<StepFile>,
    outputs: Option<StepFile>,
}

impl StepOutputs {
    /// Opens the files that the variables name; what they hold already stays.
    pub(crate) fn open(variables: &Variables) -> Self {
        let open = |name: &str| {
            let path = variables.get(name).filter(|path| !path.is_empty());
            path.map(|path| StepFile::open(PathBuf::from(path)))
        };
        Self { summary: open("GITHUB_STEP_SUMMARY"), outputs: open("GITHUB_OUTPUT") }
    }

    /// Writes a summary and outputs, in place of those that were written here before. Returns what could not be
    /// written.
    pub(crate) fn write(&self, summary: Option<&str>, fields: &[(&str, String)]) -> Vec<String> {
        let summary = self.summary.as_ref().zip(summary).map(|(file, text)| file.put(&format!("{text}\n")));
        let outputs = self.outputs.as_ref().map(|file| file.put(&outputs(fields)));
        let told = [("GITHUB_STEP_SUMMARY", summary), ("GITHUB_OUTPUT", outputs)];
        let failed = told.into_iter().filter_map(|(name, told)| Some((name, told?.err()?)));
        failed.map(|(name, error)| format!("{name} could not be written: {error}")).collect()
    }
}

/// Prints annotations, where it is the runner that reads them.
pub(super) fn annotate(variables: &Variables, annotations: impl FnOnce() -> Vec<String>) {
    if !is_in_actions(variables) {
        return;
    }
    let mut stderr = std::io::stderr().lock();
    for command in annotations() {
        // A closed log must not fail the run.
        let _ = writeln!(stderr, "{command}");
    }
}
