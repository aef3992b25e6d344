//! Result of a tool call.

use workspace::FileChange;

/// How far the work of a call has come when its result is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// All of it is over.
    Ended,
    /// A dry run has only recorded the call, without doing any of it.
    Recorded,
    /// What the call looked at still goes on: the same call again is no repetition.
    Pending,
}

/// What a call came to; a failure is data for the model, never an abort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// Whether the tool did what was asked.
    pub success: bool,
    /// Text for the model on success.
    pub output: String,
    /// Text for the model on failure.
    pub error: Option<String>,
    /// Files that the call changed.
    pub changes: Vec<FileChange>,
    /// Exit code of the command, if it ran to its end.
    pub exit_code: Option<i32>,
    /// Whether the output of a command says that it ran no test.
    pub ran_no_test: bool,
    /// Reasons why none of the changes of a command, or of another program, were kept.
    pub refused: Vec<String>,
    /// Reason why the changes of a command could not be kept although they were allowed.
    pub lost: Option<String>,
    /// How far the work of the call has come.
    pub progress: Progress,
    /// Whether the tool has kept the output within its limit, so that nothing else has to shorten it.
    pub bounded: bool,
}

impl ToolResult {
    /// Creates a successful result with `output`.
    pub fn done(output: impl Into<String>) -> Self {
        let (error, changes, exit_code, refused) = (None, Vec::new(), None, Vec::new());
        Self {
            success: true,
            output: output.into(),
            error,
            changes,
            exit_code,
            ran_no_test: false,
            refused,
            lost: None,
            progress: Progress::Ended,
            bounded: false,
        }
    }

    /// Creates a failed result with its reason.
    pub fn failed(error: impl Into<String>) -> Self {
        Self { success: false, error: Some(error.into()), ..Self::done("") }
    }

    /// Returns the text that the model reads.
    pub fn text(&self) -> String {
        match &self.error {
            Some(error) if self.output.is_empty() => format!("Error: {error}"),
            Some(error) => format!("Error: {error}\n{}", self.output),
            None => self.output.clone(),
        }
    }
}
