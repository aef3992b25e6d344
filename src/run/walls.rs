//! How commands, hooks and gates are started: what they see, and the walls around them.

use std::path::Path;
use std::sync::Arc;

use crate::command::Shell;
use crate::command::environment::{Inherited, Rules};
use crate::command::sandbox::{Sandbox, offered};
use crate::config::{Commands, Network, SandboxMode};
use crate::event::{Events, NoticeLevel};
use crate::inputs::{InputError, Variables};
use crate::workspace::GitFolder;

/// The folders of a `PATH` that do not depend on where a command runs: what `.` holds is the agent's.
fn absolute(path: &str) -> String {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let joined = std::env::join_paths(folders).ok().and_then(|joined| joined.into_string().ok());
    joined.unwrap_or_else(|| path.to_owned())
}

/// The shell for all of them.
pub(crate) fn shell(
    commands: &Commands,
    variables: &Variables,
    keys: &[String],
    workspace: &Path,
    events: &Events,
) -> Result<Shell, InputError> {
    let rules = Rules { passthrough: commands.env_passthrough.clone(), keys: keys.to_vec() };
    let Inherited { variables: mut environment, withheld } = rules.inherit(variables);
    if let Some(path) = environment.get_mut("PATH") {
        *path = absolute(path);
    }
    let program = commands.shell.clone();
    let network = commands.network == Network::Allow;
    let offered = offered();
    let missing = if !offered.files {
        Some(if cfg!(target_os = "linux") {
            "the sandbox is not available: this kernel has no Landlock"
        } else {
            "the sandbox is not available: it is made of Landlock, which only Linux has"
        })
    } else if !network && !offered.network {
        Some("the network cannot be denied: this kernel's Landlock does not know TCP")
    } else {
        None
    };
    let sandbox = match (commands.sandbox, missing) {
        (SandboxMode::Off, _) if !network => {
            return Err(InputError::Sandbox(
                "`commands.network: deny` needs a sandbox, but `commands.sandbox` is off",
            ));
        }
        (SandboxMode::Off, _) => None,
        (SandboxMode::Required, Some(missing)) => return Err(InputError::Sandbox(missing)),
        (SandboxMode::Auto, Some(missing)) if !network => return Err(InputError::Sandbox(missing)),
        (SandboxMode::Auto, Some(missing)) => {
            events.notice(
                NoticeLevel::Warning,
                format!("{missing}; commands, hooks and gates run without walls"),
            );
            None
        }
        (_, None) => Some(Sandbox::new(&environment, &commands.writable_paths, network)),
    };
    let launcher = std::env::current_exe()
        .map_err(|error| InputError::Rules(format!("children cannot be started: {error}")))?;
    let git = GitFolder::remember(workspace).map(Arc::new);
    Ok(Shell { launcher, program, flags: vec!["-c".to_owned()], environment, withheld, sandbox, git })
}
