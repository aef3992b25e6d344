//! Refusals of commands: the reason, and what to do instead.

/// Advice for whoever wrote the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WayOut {
    /// Allow the program in the configuration, because no rule knows it.
    Configure,
    /// Use the tools for files.
    FileTools,
    /// Use the tool for web pages.
    Fetch,
    /// Leave out the option that is not allowed.
    WithoutOption,
    /// Name a path inside the workspace.
    InWorkspace,
    /// Write to a path inside the workspace, or to a temporary folder.
    InWorkspaceOrTemporary,
    /// Write out what an expansion stands for.
    WrittenOut,
    /// Leave out the variable.
    WithoutVariable,
    /// Split the line, which is refused as a whole.
    InParts,
    /// Leave it to the run, which delivers changes itself.
    Deliver,
    /// Leave it to another step of the workflow.
    OtherStep,
    /// Install it for the project, not for the machine.
    Locally,
}

impl WayOut {
    /// Returns the advice as one short sentence.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Configure => {
                "A maintainer can allow it in `commands.dev_commands` or `commands.safe_commands`."
            }
            Self::FileTools => "Use the file tools, such as `write_file` and `edit_file`.",
            Self::Fetch => "Use the tool `fetch_url`, or let a step of the workflow fetch it before the run.",
            Self::WithoutOption => "Omit the option.",
            Self::InWorkspace => "Use a file in the workspace.",
            Self::InWorkspaceOrTemporary => "Write to the workspace or to /tmp.",
            Self::WrittenOut => "Write the words literally, so that they are known before the command runs.",
            Self::WithoutVariable => {
                "Omit the variable; a maintainer can set it for the step and name it in \
                 `commands.env_passthrough`."
            }
            Self::InParts => "Split it into simpler parts with one command each.",
            Self::Deliver => "Only change the files; the run delivers them as `deliver` says.",
            Self::OtherStep => {
                "Leave it to a step of the workflow after the run; a maintainer can allow it in `commands.dev_commands`."
            }
            Self::Locally => {
                "Install it only for the project, or let a step of the workflow install it before the run."
            }
        }
    }
}

/// A command that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// What is wrong with it.
    pub(super) reason: String,
    /// What to do instead.
    pub(super) way_out: WayOut,
}

/// Programs and cmdlets that the tools for files replace, separated by spaces.
const FILE_PROGRAMS: &str = "sed tee cp mv rm mkdir touch rmdir truncate patch ed ex install awk set-content sc add-content ac \
                             clear-content clc out-file tee-object export-csv new-item ni md remove-item ri del erase rd move-item mi \
                             move copy-item cpi copy rename-item rni ren";
const FETCHERS: &str = "curl wget iwr irm invoke-webrequest invoke-restmethod";

impl Refusal {
    pub(super) fn new(reason: impl Into<String>, way_out: WayOut) -> Self {
        Self { reason: reason.into(), way_out }
    }

    /// Refuses a program, or a sub-command, that no rule knows.
    pub(super) fn unknown(name: &str) -> Self {
        let lower = name.to_ascii_lowercase();
        let is_in = |list: &str| super::options::is_in(list, &lower);
        let way_out = match name {
            _ if is_in(FILE_PROGRAMS) => WayOut::FileTools,
            _ if is_in(FETCHERS) => WayOut::Fetch,
            name if name.starts_with("git ") => WayOut::Deliver,
            _ => WayOut::Configure,
        };
        Self::new(format!("'{name}' is not an allowed command"), way_out)
    }

    /// Refuses an option, or an argument, that makes a known program dangerous.
    pub(super) fn option(what: impl std::fmt::Display) -> Self {
        Self::new(format!("'{what}' is not allowed"), WayOut::WithoutOption)
    }

    /// Refuses something that only the shell would know.
    pub(super) fn at_run_time(what: impl std::fmt::Display) -> Self {
        Self::new(format!("{what} is decided at run time"), WayOut::WrittenOut)
    }

    /// Refuses a path that leaves the workspace.
    pub(super) fn outside(what: impl std::fmt::Display) -> Self {
        Self::new(format!("{what} is outside of the workspace"), WayOut::InWorkspace)
    }

    /// Refuses a variable that decides what is loaded or run.
    pub(super) fn loader(name: &str) -> Self {
        Self::new(format!("it sets {name}, which decides what is loaded or run"), WayOut::WithoutVariable)
    }

    /// Changes the reason, and keeps the advice.
    pub(super) fn map(self, change: impl FnOnce(String) -> String) -> Self {
        Self { reason: change(self.reason), ..self }
    }
}
