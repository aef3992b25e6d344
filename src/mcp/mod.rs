//! MCP servers: other people's tools, by rmcp, behind our own pipeline.
//!
//! A server is started (or spoken to over HTTP) before the first model call; what it offers becomes tools
//! named `mcp_SERVER_TOOL`. One that fails costs its tools, never the run.

mod content;
mod reach;
mod tool;

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use rmcp::RoleClient;
use rmcp::model::{CallToolRequestParams, CallToolResult, ClientRequest, Request, ServerResult};
use rmcp::service::{PeerRequestOptions, RunningService, ServiceError};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::command::{Shell, Talking, last_lines};
use crate::event::{Events, NoticeLevel};
use crate::inputs::Variables;
use crate::workspace::{Mirror, Observed, TrackedWorkspace};

use reach::{Hello, Reached};
pub use reach::{Reach, Server};
pub use tool::McpTool;

/// Most tools of one server that the model is told of.
const MAX_TOOLS: usize = 64;

/// What servers run on.
pub struct Ground {
    /// How programs are started.
    pub shell: Shell,
    /// The checkout, where calls change it for real; `None` in a dry run.
    pub checkout: Option<Arc<TrackedWorkspace>>,
    /// The folder of the checkout.
    pub root: std::path::PathBuf,
    /// Where throw-away folders go.
    pub temp: std::path::PathBuf,
    /// A copy of the checkout, made before a server starts that may change it; held by the call that is watched:
    /// what two change at once could not be told apart.
    pub mirror: tokio::sync::Mutex<Option<Mirror>>,
    /// Ends calls early.
    pub cancel: CancellationToken,
    /// Takes warnings.
    pub events: Events,
}

/// The servers of a run.
#[derive(Default)]
pub struct Servers {
    running: Vec<Running>,
    ground: Option<Arc<Ground>>,
    /// Their tools.
    pub tools: Vec<Arc<McpTool>>,
}

struct Running {
    service: RunningService<RoleClient, Hello>,
    child: Option<Talking>,
}

impl Servers {
    /// Starts all servers side by side and asks for their tools.
    pub async fn start(servers: &[Server], variables: &Variables, ground: &Arc<Ground>) -> Self {
        if let Some(checkout) = ground.checkout.clone().filter(|_| servers.iter().any(Server::is_local)) {
            let temp = ground.temp.clone();
            let made = tokio::task::spawn_blocking(move || Mirror::new(checkout, &temp)).await;
            match made.map_err(std::io::Error::other).and_then(|made| made) {
                Ok(mirror) => *ground.mirror.lock().await = Some(mirror),
                Err(error) => {
                    let told = format!("MCP servers are left out: could not copy the checkout: {error}");
                    ground.events.notice(NoticeLevel::Warning, told);
                    return Self::default();
                }
            }
        }
        let begin = |server| async move {
            tokio::select! {
                started = begin(server, variables, ground) => started,
                () = ground.cancel.cancelled() => Err("the run was interrupted".to_owned()),
            }
        };
        let started = join_all(servers.iter().map(begin)).await;
        let mut all = Self { ground: Some(Arc::clone(ground)), ..Self::default() };
        for (server, started) in servers.iter().zip(started) {
            match started {
                Ok((running, tools)) => {
                    let told = format!("MCP server {}: {} tools", server.name, tools.len());
                    ground.events.notice(NoticeLevel::Info, told);
                    all.running.push(running);
                    all.tools.extend(tools);
                }
                Err(error) => {
                    let told = format!("the MCP server {} is left out: {error}", server.name);
                    ground.events.notice(NoticeLevel::Warning, told);
                }
            }
        }
        all
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Ends all servers, and what they have started. Gives what they changed in the checkout after their answers.
    pub async fn stop(self) -> Observed {
        drop(self.tools);
        join_all(self.running.into_iter().map(|running| end(running.service, running.child))).await;
        let Some(ground) = self.ground else { return Observed::default() };
        let Some(mirror) = ground.mirror.lock().await.take() else { return Observed::default() };
        let late = tokio::task::spawn_blocking(move || mirror.late()).await;
        match late.map_err(|error| error.to_string()).and_then(|late| late.map_err(|error| error.to_string()))
        {
            Ok(observed) => observed,
            Err(error) => {
                let told = format!("could not read what MCP servers changed when they stopped: {error}");
                ground.events.notice(NoticeLevel::Error, told);
                Observed::default()
            }
        }
    }
}

type Started = (Running, Vec<Arc<McpTool>>);

async fn begin(server: &Server, variables: &Variables, ground: &Arc<Ground>) -> Result<Started, String> {
    let Reached { service, child } = reach::reach(server, variables, ground).await?;
    let listed = tokio::time::timeout(server.timeout, service.list_all_tools()).await;
    let listed = match listed {
        Ok(Ok(tools)) => Ok(tools),
        Ok(Err(error)) => Err(format!("could not list its tools: {}", brief(&error.to_string()))),
        Err(_) => Err(format!("it did not list its tools within {} s", server.timeout.as_secs())),
    };
    let listed = match listed {
        Ok(listed) => listed,
        Err(error) => return Err(format!("{error}{}", end(service, child).await)),
    };
    let line = Arc::new(Line {
        peer: service.peer().clone(),
        server: server.name.clone(),
        timeout: server.timeout,
        local: child.is_some(),
        ground: Arc::clone(ground),
    });
    let allowed = |name: &str| {
        server.allowed_tools.as_ref().is_none_or(|allowed| allowed.iter().any(|allowed| allowed == name))
    };
    let mut tools = Vec::new();
    for tool in listed.into_iter().filter(|tool| allowed(&tool.name)) {
        let name = tool.name.to_string();
        match McpTool::new(tool, &line) {
            _ if tools.len() >= MAX_TOOLS => {
                let told = format!(
                    "the MCP server {} has more than {MAX_TOOLS} tools; name the ones to use in \
                     `allowed_tools`",
                    server.name
                );
                ground.events.notice(NoticeLevel::Warning, told);
                break;
            }
            Ok(tool) => tools.push(Arc::new(tool)),
            Err(error) => {
                let told = format!(
                    "the MCP server {}: the tool {:?} is left out: {error}",
                    server.name,
                    brief(&name)
                );
                ground.events.notice(NoticeLevel::Warning, told);
            }
        }
    }
    Ok((Running { service, child }, tools))
}

/// Ends a server; gives what it said last, for people who wonder why.
async fn end(mut service: RunningService<RoleClient, Hello>, child: Option<Talking>) -> String {
    let _ = service.close_with_timeout(Duration::from_secs(1)).await;
    drop(service);
    match child {
        Some(child) => said(&child.end().await.text()),
        None => String::new(),
    }
}

/// The last lines of a server's standard error.
fn said(stderr: &str) -> String {
    let last = last_lines(stderr.trim(), 5);
    if last.is_empty() { String::new() } else { format!("; its output: {}", brief(&last)) }
}

fn brief(text: &str) -> String {
    let cut = text.char_indices().nth(600).map_or(text.len(), |(at, _)| at);
    text[..cut].to_owned()
}

/// The way to one server, as its tools have it.
struct Line {
    peer: rmcp::service::Peer<RoleClient>,
    server: String,
    timeout: Duration,
    /// Whether it runs on this machine, where it can change the checkout.
    local: bool,
    ground: Arc<Ground>,
}

impl Line {
    /// Makes one call; the error is for the model.
    async fn call(&self, tool: &str, arguments: Map<String, Value>) -> Result<CallToolResult, String> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(Request::new(params));
        let options = PeerRequestOptions::with_timeout(self.timeout);
        let answer = async {
            let sent = self.peer.send_cancellable_request(request, options).await?;
            sent.await_response().await
        };
        let seconds = self.timeout.as_secs();
        let server = &self.server;
        let late = || format!("the MCP server {server} did not answer within {seconds} s");
        // Sending may hang as well, where the server does not read.
        let answer = tokio::select! {
            () = self.ground.cancel.cancelled() => return Err("stopped, because the run was interrupted".to_owned()),
            answer = tokio::time::timeout(self.timeout + Duration::from_secs(1), answer) => answer.map_err(|_| late())?,
        };
        match answer {
            Ok(ServerResult::CallToolResult(result)) => Ok(result),
            Ok(_) => Err(format!("the MCP server {server} did not answer with a result")),
            Err(ServiceError::McpError(error)) => {
                Err(format!("the MCP server {server}: {}", brief(&error.message)))
            }
            Err(ServiceError::Timeout { .. }) => Err(late()),
            Err(ServiceError::TransportSend(error)) if !self.local => {
                Err(format!("could not reach the MCP server {server}: {}", brief(&error.to_string())))
            }
            Err(ServiceError::TransportClosed | ServiceError::TransportSend(_)) => {
                Err(format!("the MCP server {server} has exited, so its tools no longer work"))
            }
            Err(error) => Err(format!("the MCP server {server}: {}", brief(&error.to_string()))),
        }
    }
}
