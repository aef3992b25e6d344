//! Set-up of the shell: how commands, hooks and gates are started, what they see, and the sandbox around them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sanitize::environment::{Inherited, Rules};
use workspace::SensitiveFiles;

use crate::base::env::Variables;
use crate::base::program::find_program;
use crate::base::time_limit::TimeLimit;
use crate::command::sandbox::{GitMasking, Sandbox, Settings, SharedFolder, kernel_support};
use crate::command::{Shell, StandbySupervisor};
use crate::config::{Config, GateConfig, HookConfig, McpServer, SandboxMode};
use crate::egress::Reach;
use crate::event::{Events, NoticeLevel};
use crate::git::Repository;
use crate::isolation::{Secrets, mask_repository};
use crate::mcp;
use crate::request::InputError;

/// Variables by which programs write no colours and start no pager: nobody sees a terminal.
const PLAIN_OUTPUT: [(&str, &str); 6] = [
    ("NO_COLOR", "1"),
    ("TERM", "dumb"),
    ("CARGO_TERM_COLOR", "never"),
    ("CARGO_TERM_PROGRESS_WHEN", "never"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
];

/// Variables that would have colours written anyway.
const FORCED_COLOUR: [&str; 3] = ["FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS"];

/// The folders of a `PATH` that do not depend on where a command runs: what `.` holds is the agent's.
fn absolute(path: &str) -> String {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let joined = std::env::join_paths(folders).ok().and_then(|joined| joined.into_string().ok());
    joined.unwrap_or_else(|| path.to_owned())
}

/// Where they are started.
#[derive(Clone, Copy)]
pub(crate) struct ShellContext<'a> {
    /// The checkout.
    pub(crate) workspace: &'a Path,
    /// Files that nobody sees.
    pub(crate) sensitive: &'a SensitiveFiles,
    /// The checkout's repository.
    pub(crate) held: Option<&'a Repository>,
    /// Where throw-away folders go.
    pub(crate) temp: &'a Path,
    /// Further folders that the tools and commands may read.
    pub(crate) attached: &'a [PathBuf],
    /// Folders that the checkout shares with another one.
    pub(crate) shared: &'a [SharedFolder],
}

/// The network of every child that has one of its own in a configuration, by its owner.
fn networks(config: &Config, events: &Events) -> BTreeMap<String, Reach> {
    let gates = config.guardrails.quality_gates.iter().map(|GateConfig { name, network, .. }| {
        (format!("gate {name}"), network, format!("guardrails.quality_gates[{name}]"))
    });
    let hooks = config.hooks.by_event().into_iter().flat_map(|(event, hooks)| {
        hooks.iter().map(move |HookConfig { name, network, .. }| {
            (format!("hook {name}"), network, format!("hooks.{event}[{name}]"))
        })
    });
    let servers =
        config.mcp.servers.iter().map(|McpServer { name, network, .. }| {
            (mcp::owner(name), network, format!("mcp.servers[{name}]"))
        });
    let model = std::iter::once((MODEL.to_owned(), &config.llm.network, "llm".to_owned()));
    let all = gates.chain(hooks).chain(servers).chain(model);
    all.filter_map(|(owner, network, section)| {
        let reach = Reach::of(network.as_ref()?, &format!("{section}.network"), events);
        Some((owner, reach))
    })
    .collect()
}

/// The owner of a model that is a program.
pub(super) const MODEL: &str = "model";

/// The shell for all of them.
pub(crate) fn shell(
    config: &Config,
    variables: &Variables,
    keys: &[String],
    ShellContext { workspace, sensitive, held, temp, attached, shared }: ShellContext<'_>,
    events: &Events,
) -> Result<Shell, InputError> {
    let commands = &config.commands;
    let rules = Rules { passthrough: commands.env_passthrough.clone(), keys: keys.to_vec() };
    let Inherited { variables: mut environment, withheld } = rules.inherit(variables);
    if let Some(path) = environment.get_mut("PATH") {
        *path = absolute(path);
    }
    for (name, value) in PLAIN_OUTPUT {
        if !commands.env_passthrough.iter().any(|kept| kept == name) {
            environment.insert(name.to_owned(), value.to_owned());
        }
    }
    for name in FORCED_COLOUR {
        if !commands.env_passthrough.iter().any(|kept| kept == name) {
            environment.remove(name);
        }
    }
    // Where no sandbox holds, a shell that an earlier command has planted would run whatever the rules refuse.
    let is_name = !commands.shell.contains(['/', '\\']);
    let found = is_name.then(|| find_program(&commands.shell, &[workspace])).flatten();
    let program = found.and_then(|found| found.into_os_string().into_string().ok());
    let program = program.unwrap_or_else(|| commands.shell.clone());
    let networks = networks(config, events);
    let reach = commands.network.as_ref();
    let reach = reach.map_or(Reach::Everything, |network| Reach::of(network, "commands.network", events));
    let limits = |reach: &Reach| match reach {
        Reach::Everything => false,
        Reach::Nothing => true,
        Reach::Through(egress) => !egress.learns(),
    };
    let network = !networks.values().chain([&reach]).any(limits);
    let support = kernel_support();
    let missing = if !support.files {
        Some(if cfg!(target_os = "linux") {
            "the sandbox is not available: this kernel has no Landlock"
        } else {
            "the sandbox is not available: it requires Landlock, which only Linux has"
        })
    } else if !network && !support.network {
        Some("the network cannot be limited: this kernel's Landlock does not support TCP rules")
    } else {
        None
    };
    let wanted = match (commands.sandbox, missing) {
        (SandboxMode::Off, _) if !network => {
            return Err(InputError::Sandbox(
                "a network that is denied or limited to a list of hosts requires a sandbox, but `commands.sandbox` is off",
            ));
        }
        (SandboxMode::Off, _) => false,
        (SandboxMode::Required, Some(missing)) => return Err(InputError::Sandbox(missing)),
        (SandboxMode::Auto, Some(missing)) if !network => return Err(InputError::Sandbox(missing)),
        (SandboxMode::Auto, Some(missing)) => {
            let told = "`architect-ci doctor` shows what commands, hooks and gates are protected against";
            events.notice(NoticeLevel::Warning, format!("{missing}; {told}"));
            true
        }
        (_, None) => true,
    };
    let masking = GitMasking::new({
        let (root, sensitive, repository) = (workspace.to_owned(), sensitive.clone(), held.cloned());
        move |folder, to| {
            let secrets = Secrets { root: &root, sensitive: &sensitive, repository: repository.as_ref() };
            mask_repository(folder, to, secrets)
        }
    });
    let sandbox = Sandbox::new(Settings {
        variables: &environment,
        own: variables,
        readable: &commands.readable_paths,
        attached,
        writable: &commands.writable_paths,
        shared,
        workspace,
        sensitive,
        masking: &masking,
        temp,
        wanted,
        landlock: support.files,
    });
    let launcher = std::env::current_exe().map_err(InputError::Children)?;
    Ok(Shell {
        launcher,
        program,
        flags: vec!["-c".to_owned()],
        environment,
        withheld,
        sandbox: Some(sandbox),
        standby: StandbySupervisor::default(),
        reach,
        networks: Arc::new(networks),
        owner: None,
        serves: false,
        time_limit: TimeLimit::default(),
    })
}
