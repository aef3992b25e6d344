//! How hooks and gates are started: what they see, and the walls around them.

use std::collections::BTreeMap;

use crate::command::Shell;
use crate::command::environment::Rules;
use crate::command::sandbox::{Sandbox, offered};
use crate::config::{Network, SandboxMode};
use crate::event::{Events, NoticeLevel};
use crate::inputs::{InputError, RunRequest};

/// The shell for hooks and gates: what it sees, and the walls around it.
pub(super) fn shell(request: &RunRequest, events: &Events) -> Result<Shell, InputError> {
    let commands = &request.config().commands;
    let rules = Rules {
        passthrough: commands.env_passthrough.clone(),
        model_key: request.secret_variables.first().cloned(),
    };
    let environment: BTreeMap<String, String> = rules.inherit(&request.variables);
    let program = commands.shell.clone();
    let network = commands.network == Network::Allow;
    let offered = offered();
    let missing = if !offered.files {
        Some("the sandbox is not available: this kernel has no Landlock")
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
            events.notice(NoticeLevel::Warning, format!("{missing}; hooks and gates run without walls"));
            None
        }
        (_, None) => {
            let sandbox = Sandbox::new(&environment, &commands.writable_paths, network);
            Some(
                sandbox
                    .map_err(|error| InputError::Rules(format!("the sandbox cannot be set up: {error}")))?,
            )
        }
    };
    Ok(Shell { program, environment, sandbox })
}
