//! Result of a finished command as the model reads it: how it ended, an excerpt of its output, and the file with all of it.

use std::sync::Arc;

use super::ToolResult;
use crate::base::text::counted;
use crate::command::{Ended, Finished, KeptOutputs, PipeStatus, Space, excerpt, pipe_failure, plain};

/// Bytes of a result that are left for what stands around the output.
const MARGIN: usize = 800;
/// Fewest bytes of output that are shown.
const LEAST: usize = 200;
/// Most outputs that the space of one is divided by.
const MOST_SHARED: usize = 4;
/// Bytes per token, about.
const BYTES_PER_TOKEN: usize = 4;

/// How much of outputs is shown, and where the rest goes.
#[derive(Clone)]
pub struct OutputLimits {
    /// Maximum number of lines that are shown.
    pub lines: usize,
    /// Maximum size of a whole result, in tokens.
    pub tokens: usize,
    /// Folder for whole outputs; `None` if they are not kept.
    pub kept: Option<Arc<KeptOutputs>>,
}

impl OutputLimits {
    fn space(&self) -> Space {
        let bytes = self.tokens.saturating_mul(BYTES_PER_TOKEN).saturating_sub(MARGIN).max(LEAST);
        Space { lines: self.lines, bytes }
    }

    /// Returns what is shown of an output.
    pub(super) fn shown(&self, output: &str) -> String {
        self.shown_of(output, None)
    }

    /// Returns the limits of one of several outputs that are shown together.
    pub(crate) fn shared_by(&self, count: usize) -> Self {
        let count = count.clamp(1, MOST_SHARED);
        Self { lines: self.lines / count, tokens: self.tokens / count, kept: self.kept.clone() }
    }

    /// Returns what is shown of an output, of which lines between its ends are missing if it had so many (`lines`).
    pub(crate) fn shown_of(&self, output: &str, lines: Option<usize>) -> String {
        let shown = excerpt(output, self.space());
        let Some(found) = shown.cut_from else { return shown.text };
        let Some(kept) = &self.kept else { return shown.text };
        let note = match (kept.keep(output), lines) {
            (Ok(path), None) => {
                format!("[all {}: {}; read or search that file]", counted(found, "line", "s"), path.display())
            }
            (Ok(path), Some(lines)) => format!(
                "[{}, more than is kept: the beginning, the end, and failures between them are in {}; read or search that file]",
                counted(lines, "line", "s"),
                path.display()
            ),
            (Err(error), _) => format!("[the whole output could not be kept: {error}]"),
        };
        format!("{}\n{note}", shown.text)
    }

    /// Returns the result of a command that has ended, with a time limit of `timeout` seconds. `pipe` is what was asked about
    /// the pipes of a command line, and the line. The exit code is that of a part of a pipe that failed, if another hides it.
    pub(super) fn result(
        &self,
        finished: &Finished,
        pipe: Option<(&PipeStatus, &str)>,
        timeout: u64,
    ) -> ToolResult {
        let mut output = finished.stdout.text();
        let codes = pipe.map(|(pipe, _)| pipe.take(&mut output)).unwrap_or_default();
        // The table of commands must not show a success that was none.
        let masked = pipe.and_then(|(_, line)| pipe_failure(line, &codes)).map(|(_, code)| code);
        let lines = finished.stdout.is_cut().then(|| finished.stdout.lines());
        let text = self.shown_of(&plain(&output), lines);
        let took = format!("{:.1} s", finished.duration.as_secs_f64());
        let codes: Vec<String> = codes.iter().map(ToString::to_string).collect();
        let codes = match codes.as_slice() {
            [] => String::new(),
            codes => format!(" (exit codes in the pipe: {})", codes.join("; ")),
        };
        let error = match &finished.ended {
            Ended::Exited(0) => None,
            Ended::Exited(code) => Some(format!("exit code {code} after {took}{codes}")),
            Ended::Signaled(signal) => Some(format!("ended by signal {signal} after {took}")),
            Ended::TimedOut => Some(format!(
                "timed out: stopped after {timeout} s, with everything that it had started; `timeout` can be up to \
                 600 (seconds), and `background: true` is for servers"
            )),
            Ended::Cancelled => Some("stopped, because the run was interrupted".to_owned()),
            Ended::StillRunning => Some(format!(
                "told to stop after {took}, but some of its processes did not; none of its changes are kept"
            )),
            Ended::NotStarted(error) => Some(format!("could not start: {error}")),
        };
        let output = match (&error, text.is_empty()) {
            (None, true) => format!("exit code 0 after {took}{codes}, no output"),
            (None, false) => format!("exit code 0 after {took}{codes}\n{text}"),
            // The command's output is merged, so standard error only has a failure to set up the sandbox.
            (Some(_), true) => finished.stderr.text(),
            (Some(_), false) => text,
        };
        let exit_code = match &finished.ended {
            Ended::Exited(0) => Some(masked.unwrap_or(0)),
            Ended::Exited(code) => Some(*code),
            _ => None,
        };
        ToolResult { success: error.is_none(), error, exit_code, ..ToolResult::done(output) }
    }
}
