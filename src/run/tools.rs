//! The tools of a run: the built-in ones, those that depend on the configuration and the machine, and other
//! people's.

use std::sync::Arc;
use std::time::Instant;

use tokio_util::sync::CancellationToken;
use workspace::{Judge, TrackedWorkspace};

use crate::base::env::temporary;
use crate::command::{Containment, Policy, Shell};
use crate::event::{Events, NoticeLevel};
use crate::mcp::{self, Server, Servers, WatchedCheckout};
use crate::request::{InputError, JobRequest};
use crate::tool::{
    BackgroundCommand, BackgroundCommands, CommandTarget, OutputLimits, Registry, RunCommand, RunPowershell,
    pwsh,
};
use crate::web::{FetchUrl, Web, WebSearch};

/// What tools are made of.
pub(super) struct ToolSetup<'a> {
    pub(super) request: &'a JobRequest,
    /// Servers that are started for their tools.
    pub(super) servers: &'a [Server],
    /// How children are started.
    pub(super) shell: &'a Shell,
    /// How the agent's own commands are started, whose network may be another.
    pub(super) agents_shell: &'a Shell,
    /// Where commands run.
    pub(super) command_target: CommandTarget,
    /// The checkout, where it is changed for real.
    pub(super) tracked: Option<Arc<TrackedWorkspace>>,
    /// Judges what others change in it.
    pub(super) judge: Judge,
    /// How much of the output of commands is shown.
    pub(super) limits: OutputLimits,
    /// Commands that run in the background.
    pub(super) background: Arc<BackgroundCommands>,
    /// The end of the run's time, if it is limited.
    pub(super) deadline: Option<Instant>,
    pub(super) events: &'a Events,
    pub(super) cancel: &'a CancellationToken,
}

impl ToolSetup<'_> {
    /// Makes the tools; servers are started.
    pub(super) async fn tools(&self) -> Result<(Registry, Servers), InputError> {
        let config = self.request.config();
        let mut registry = Registry::with_built_in();
        if !config.workspace.allow_delete {
            registry.withhold("delete_file");
        }
        if config.web.enabled {
            let web = Arc::new(Web::new(&config.web, self.cancel.clone()).map_err(InputError::rules)?);
            registry.replace_async(Arc::new(FetchUrl(Arc::clone(&web))));
            registry.replace_async(Arc::new(WebSearch(web)));
        }
        if config.commands.enabled {
            let policy = Policy::new(&config.commands, &self.request.workspace).map_err(InputError::rules)?;
            let policy = policy.within(if self.shell.is_sandboxed() {
                Containment::Sandbox
            } else {
                Containment::None
            });
            if let Some(pwsh) = pwsh(self.agents_shell) {
                let tool = self.commands(policy.clone().for_powershell(), pwsh);
                registry.replace(Arc::new(RunPowershell(Arc::new(tool))));
            }
            registry.replace(Arc::new(self.commands(policy, self.agents_shell.clone())));
            let commands = Arc::clone(&self.background);
            registry.replace_async(Arc::new(BackgroundCommand { commands, limits: self.limits.clone() }));
        }
        let servers = self.servers().await;
        for tool in &servers.tools {
            if let Err(error) = registry.register(Arc::clone(tool) as _) {
                self.events.notice(NoticeLevel::Warning, format!("an MCP tool was left out: {error}"));
            }
        }
        Ok((registry, servers))
    }

    fn commands(&self, policy: Policy, shell: Shell) -> RunCommand {
        let commands = &self.request.config().commands;
        RunCommand {
            policy,
            shell,
            default_timeout: commands.default_timeout,
            limits: self.limits.clone(),
            background: Arc::clone(&self.background),
            target: self.command_target.clone(),
            cancel: self.cancel.clone(),
        }
    }

    async fn servers(&self) -> Servers {
        if self.servers.is_empty() {
            return Servers::default();
        }
        let server_context = Arc::new(mcp::ServerContext {
            shell: self.shell.clone(),
            checkout: self.tracked.clone().map(|tracked| {
                let own = vec![self.request.out.clone()];
                WatchedCheckout::new(tracked, Arc::clone(&self.judge), own)
            }),
            root: self.request.workspace.clone(),
            base: self.request.base_files.clone(),
            temp: temporary(&self.request.variables),
            deadline: self.deadline,
            cancel: self.cancel.clone(),
            events: self.events.clone(),
        });
        Servers::start(self.servers, &self.request.variables, &server_context).await
    }
}
