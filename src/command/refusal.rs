//! Why a command is refused, and what to do instead.

/// What whoever wrote the command can do instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WayOut {
    /// The program is not known.
    Configure,
    /// There is a tool for it.
    FileTools,
    /// There is a tool for it.
    Fetch,
    /// An option stands in the way.
    WithoutOption,
    /// A path stands in the way.
    InWorkspace,
    /// A path that is written stands in the way.
    InWorkspaceOrTemporary,
    /// An expansion stands in the way.
    WrittenOut,
    /// A variable stands in the way.
    WithoutVariable,
    /// The line as a whole stands in the way.
    InParts,
    /// The run does it itself.
    Deliver,
    /// It is for another step of the workflow.
    OtherStep,
    /// It is for the project, not for the machine.
    Locally,
}

impl WayOut {
    /// Returns one short sentence.
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

/// Programs that there are tools for.
const FILE_PROGRAMS: &str = "sed tee cp mv rm mkdir touch rmdir truncate patch ed ex install awk";
const FETCHERS: &str = "curl wget";

impl Refusal {
    pub(super) fn new(reason: impl Into<String>, way_out: WayOut) -> Self {
        Self { reason: reason.into(), way_out }
    }

    /// A program, or a sub-command, that no rule knows.
    pub(super) fn unknown(name: &str) -> Self {
        let is_in = |list: &str| super::options::is_in(list, name);
        let way_out = match name {
            _ if is_in(FILE_PROGRAMS) => WayOut::FileTools,
            _ if is_in(FETCHERS) => WayOut::Fetch,
            name if name.starts_with("git ") => WayOut::Deliver,
            _ => WayOut::Configure,
        };
        Self::new(format!("'{name}' is not an allowed command"), way_out)
    }

    /// An option, or an argument, that makes a known program dangerous.
    pub(super) fn option(what: impl std::fmt::Display) -> Self {
        Self::new(format!("'{what}' is not allowed"), WayOut::WithoutOption)
    }

    /// Something that only the shell would know.
    pub(super) fn at_run_time(what: impl std::fmt::Display) -> Self {
        Self::new(format!("{what} is decided at run time"), WayOut::WrittenOut)
    }

    /// A path that leaves the workspace.
    pub(super) fn outside(what: impl std::fmt::Display) -> Self {
        Self::new(format!("{what} is outside of the workspace"), WayOut::InWorkspace)
    }

    /// A variable that decides what runs.
    pub(super) fn loader(name: &str) -> Self {
        Self::new(format!("it sets {name}, which decides what is loaded or run"), WayOut::WithoutVariable)
    }

    /// The same, its reason changed.
    pub(super) fn map(self, change: impl FnOnce(String) -> String) -> Self {
        Self { reason: change(self.reason), ..self }
    }
}
