//! Network of the agent's own commands, and what is told of networks at the start of a run.

use std::sync::Arc;

use crate::base::verbose_log::detail;
use crate::command::{Enforcement, Shell};
use crate::config::{HostRule, SandboxMode};
use crate::egress::{Egress, NOT_WHOLE, Reach, Rules};
use crate::event::{Events, NoticeLevel};
use crate::request::{InputError, JobRequest};

/// Returns the shell of the agent's own commands, and tells what they can reach, as far as this machine can enforce it.
pub(super) async fn agents_network(
    request: &JobRequest,
    shell: &Shell,
    events: &Events,
) -> Result<Shell, InputError> {
    let commands = &request.config().commands;
    let mut agents = shell.clone();
    let is_limited = commands.enabled && commands.sandbox != SandboxMode::Off;
    let defaults = request.default_hosts.as_ref().filter(|_| is_limited);
    if let Some(hosts) = defaults {
        let egress = Egress::new(Rules::allowing(hosts.clone()), "commands.network", events);
        agents.reach = Reach::Through(Arc::new(egress.by_default()));
    }
    let all: Vec<&Egress> = [&agents.reach, &shell.reach]
        .into_iter()
        .chain(shell.networks.values())
        .filter_map(|reach| match reach {
            Reach::Through(egress) => Some(egress.as_ref()),
            Reach::Everything | Reach::Nothing => None,
        })
        .collect();
    // Whether a default can be enforced turns out when the first command starts: no run has to wait for it.
    if all.iter().any(|egress| !egress.is_default() && !egress.learns()) {
        check_enforcement(request, shell, events).await?;
    }
    if all.iter().any(|egress| egress.learns()) {
        let told =
            "`network: learn`: every public host that is requested is allowed, and listed in the report";
        let missed = match shell.enforcement(&request.workspace).await {
            Enforcement::OwnNetwork => "",
            Enforcement::Ports | Enforcement::Nothing => {
                "; on this machine, nothing keeps a program from bypassing the proxy, and the hosts \
                 that it reaches that way are not listed"
            }
        };
        events.notice(NoticeLevel::Warning, format!("{told}{missed}"));
    }
    if let Some(hosts) = defaults {
        if let Some(told) = default_hosts(hosts) {
            events.notice(NoticeLevel::Info, told);
        } else {
            detail!(
                "commands of the agent can reach no host: no manifest of the checkout names a set of hosts"
            );
        }
    }
    Ok(agents)
}

/// Refuses, or tells of, lists that cannot be enforced as a whole on this machine.
async fn check_enforcement(request: &JobRequest, shell: &Shell, events: &Events) -> Result<(), InputError> {
    let left = match shell.enforcement(&request.workspace).await {
        Enforcement::OwnNetwork => return Ok(()),
        Enforcement::Ports => {
            "a program that bypasses the proxy can connect to the proxy's port at any address"
        }
        Enforcement::Nothing => "commands with such a list do not start",
    };
    if request.config().commands.sandbox == SandboxMode::Required {
        return Err(InputError::Hosts(NOT_WHOLE));
    }
    events.notice(NoticeLevel::Warning, format!("{NOT_WHOLE}: {left}"));
    Ok(())
}

/// Says what the agent's commands reach if the configuration says nothing; `None` if that is nothing.
fn default_hosts(hosts: &[HostRule]) -> Option<String> {
    let names: Vec<String> = hosts.iter().map(|host| format!("`{host}`")).collect();
    (!names.is_empty()).then(|| {
        format!(
            "commands of the agent can reach the hosts of {}, according to the checkout's manifests; set `commands.network` for others",
            names.join(", ")
        )
    })
}
