//! Tool `run_powershell`: as `run_command`, for PowerShell, where `pwsh` is installed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::run_command::{Args as CommandArgs, CommandCall, RunCommand, root, seconds};
use super::{ArgumentsError, Call, Tool, arguments, schema};
use crate::base::bounded::Bounded;
use crate::base::program::is_program;
use crate::command::Shell;

/// Tool that runs a PowerShell script; everything else is as with commands.
pub struct RunPowershell(pub Arc<RunCommand>);

/// Returns the shell for PowerShell scripts, derived from the one for commands, or `None` if there is no
/// `pwsh`.
pub fn pwsh(shell: &Shell) -> Option<Shell> {
    let program = find(shell.environment.get("PATH")?)?;
    let mut shell = shell.clone();
    program.to_str()?.clone_into(&mut shell.program);
    shell.flags = ["-NoProfile", "-NonInteractive", "-Command"].map(str::to_owned).to_vec();
    for (name, value) in [("POWERSHELL_TELEMETRY_OPTOUT", "1"), ("NO_COLOR", "1")] {
        shell.environment.insert(name.to_owned(), value.to_owned());
    }
    Some(shell)
}

fn find(path: &str) -> Option<PathBuf> {
    let name = format!("pwsh{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(path).map(|folder| folder.join(&name)).find(|program| is_program(program))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Script
    script: String,
    /// Seconds (120)
    #[serde(default, deserialize_with = "seconds")]
    timeout: Option<Bounded<1, 600>>,
}

impl Tool for RunPowershell {
    fn name(&self) -> &'static str {
        "run_powershell"
    }

    fn description(&self) -> &'static str {
        "Run a PowerShell script in the workspace that looks, builds or tests, such as `Get-ChildItem src -Recurse`, \
         `(Get-Content a.txt -Raw).Replace('a', 'b')`, `Invoke-Pester` or `dotnet test`. Cmdlets that write or remove files, .NET \
         calls and other scripts are refused: change files with edit_file, replace_text and write_file, and instead of a long \
         script with many quotes, write a program with write_file and run it by run_command."
    }

    fn sensitive(&self) -> bool {
        true
    }

    fn parameters(&self) -> Value {
        schema::of::<Args>()
    }

    fn prepare(self: Arc<Self>, arguments: &Value) -> Result<Box<dyn Call>, ArgumentsError> {
        let Args { script, timeout } = arguments::parse(arguments)?;
        if script.trim().is_empty() {
            return Err(ArgumentsError::Empty("script"));
        }
        let args =
            CommandArgs { command: script, cwd: root(), timeout, env: BTreeMap::new(), background: false };
        Ok(Box::new(CommandCall { tool: Arc::clone(&self.0), args }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Policy;
    use crate::event::Class;

    #[test]
    fn what_the_description_names_is_allowed() {
        let tool = RunPowershell(Arc::new(RunCommand::for_listing()));
        let policy = Policy::default().for_powershell();
        let examples: Vec<&str> = tool.description().split('`').skip(1).step_by(2).collect();
        assert_eq!(examples.len(), 4, "{examples:?}");
        for script in examples {
            assert_ne!(policy.judge(script, ".").verdict.class, Class::Dangerous, "{script}");
        }
    }
}
