//! MCP servers: tools of others, connected through rmcp, behind our own pipeline.
//!
//! A server is started (or spoken to over HTTP) before the first request to the model; its tools are named
//! `mcp_SERVER_TOOL`. A server that fails costs its tools, never the run.

mod bounded_lines;
mod connect;
mod content;
mod error;
mod listing;
mod named_paths;
mod request_limit;
mod schema;
mod start_limit;
mod tool;
mod watched;

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use rmcp::RoleClient;
use rmcp::model::{CallToolRequestParams, CallToolResult, ClientRequest, Request, ServerResult};
use rmcp::service::{PeerRequestOptions, RunningService, ServiceError};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use workspace::{Checks, Damage};

use crate::base::env::Variables;
use crate::base::text::shortened;
use crate::base::time_limit::{Grace, TimeLimit};
use crate::command::{BaseFiles, Shell, StdioChild, last_lines};
use crate::event::{Events, NoticeLevel};

use connect::{Client, Connection};
pub use connect::{Endpoint, InvalidServer, Server, owner};
use error::{CallError, StartError};
use start_limit::StartLimit;
pub use tool::McpTool;
pub use watched::WatchedCheckout;

/// Maximum number of tools offered to the model per server.
const MAX_TOOLS: usize = 64;

/// What servers have to know about the run.
pub struct ServerContext {
    /// How programs are started.
    pub shell: Shell,
    /// The checkout, which calls change directly; `None` in a dry run.
    pub checkout: Option<WatchedCheckout>,
    /// Path of the checkout.
    pub root: std::path::PathBuf,
    /// Where servers with a secret start instead, because the checkout is somebody else's.
    pub base: Option<Arc<BaseFiles>>,
    /// Folder for temporary files.
    pub temp: std::path::PathBuf,
    /// The end of the run's time, if it is limited.
    pub deadline: Option<std::time::Instant>,
    /// Token that ends calls early.
    pub cancel: CancellationToken,
    /// Event bus that receives warnings.
    pub events: Events,
}

/// Running servers of a run.
#[derive(Default)]
pub struct Servers {
    running: Vec<Running>,
    context: Option<Arc<ServerContext>>,
    /// Tools of all servers.
    pub tools: Vec<Arc<McpTool>>,
}

struct Running {
    service: RunningService<RoleClient, Client>,
    child: Option<StdioChild>,
}

impl Servers {
    /// Starts all servers in parallel and lists their tools. Servers that fail are reported and left out.
    pub async fn start(servers: &[Server], variables: &Variables, context: &Arc<ServerContext>) -> Self {
        if let Some(checkout) = context.checkout.as_ref().filter(|_| servers.iter().any(Server::is_local))
            && let Err(error) = checkout.watch(&context.temp).await
        {
            let message = format!("MCP servers are left out: could not copy the checkout: {error}");
            context.events.notice(NoticeLevel::Warning, message);
            return Self::default();
        }
        let begin = |server| async move {
            tokio::select! {
                started = begin(server, variables, context) => started,
                () = context.cancel.cancelled() => Err(StartError::Interrupted),
            }
        };
        let started = join_all(servers.iter().map(begin)).await;
        let mut all = Self { context: Some(Arc::clone(context)), ..Self::default() };
        for (server, started) in servers.iter().zip(started) {
            match started {
                Ok((running, tools)) => {
                    let message = format!("MCP server {}: {} tools", server.name, tools.len());
                    context.events.notice(NoticeLevel::Info, message);
                    all.running.push(running);
                    all.tools.extend(tools);
                }
                Err(error) => {
                    let message = format!("the MCP server {} is left out: {error}", server.name);
                    context.events.notice(NoticeLevel::Warning, message);
                }
            }
        }
        all
    }

    /// Returns `true` if no server is running.
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Stops all servers and the processes they have started. What they changed in the checkout after their last answers
    /// is judged and reported, or put back if checks of the run have not seen it. The error says what of it could not be put
    /// back.
    pub async fn stop(mut self, checks: Checks) -> Result<(), Damage> {
        self.tools.clear();
        let running = std::mem::take(&mut self.running);
        let limit = self.context.as_ref().map(|context| context.shell.time_limit.clone()).unwrap_or_default();
        join_all(running.into_iter().map(|running| end(running.service, running.child, &limit))).await;
        self.settle(checks).await
    }

    /// Judges what servers have changed in the checkout outside of all calls, and reports it.
    pub async fn settle(&self, checks: Checks) -> Result<(), Damage> {
        match self.context.as_ref().and_then(|context| Some((context.checkout.as_ref()?, &context.events))) {
            Some((checkout, events)) => checkout.settle_late(events, checks).await,
            None => Ok(()),
        }
    }
}

type Started = (Running, Vec<Arc<McpTool>>);

async fn begin(
    server: &Server,
    variables: &Variables,
    context: &Arc<ServerContext>,
) -> Result<Started, StartError> {
    let limit = StartLimit::of(server.start_timeout, context.deadline);
    let Connection { service, child } = connect::connect(server, variables, context, limit).await?;
    let listed = tokio::time::timeout_at(limit.until, listing::tools(service.peer())).await;
    let listed = match listed.unwrap_or(Err(StartError::NoList(limit))) {
        Ok(listed) => listed,
        Err(error) => return Err(error.with_output(end(service, child, &context.shell.time_limit).await)),
    };
    let handle = Arc::new(ServerHandle {
        peer: service.peer().clone(),
        name: server.name.clone(),
        timeout: server.timeout,
        local: child.is_some(),
        context: Arc::clone(context),
    });
    let allowed = |name: &str| {
        server.allowed_tools.as_ref().is_none_or(|allowed| allowed.iter().any(|allowed| allowed == name))
    };
    let mut tools = Vec::new();
    for tool in listed.into_iter().filter(|tool| allowed(&tool.name)) {
        let name = tool.name.to_string();
        match McpTool::new(tool, &handle) {
            _ if tools.len() >= MAX_TOOLS => {
                let message = format!(
                    "the MCP server {} has more than {MAX_TOOLS} tools; name the ones to use in \
                     `allowed_tools`",
                    server.name
                );
                context.events.notice(NoticeLevel::Warning, message);
                break;
            }
            Ok(tool) => tools.push(Arc::new(tool)),
            Err(error) => {
                let message = format!(
                    "the MCP server {}: the tool {:?} is left out: {error}",
                    server.name,
                    brief(&name)
                );
                context.events.notice(NoticeLevel::Warning, message);
            }
        }
    }
    Ok((Running { service, child }, tools))
}

/// Time that a server has for the end of the connection, which those on other machines are told of.
const CLOSING: Duration = Duration::from_secs(1);

/// Stops a server. Returns its last output, as an addition to an error.
async fn end(
    mut service: RunningService<RoleClient, Client>,
    child: Option<StdioChild>,
    limit: &TimeLimit,
) -> String {
    let _ = service.close_with_timeout(limit.left(Grace::Changes, CLOSING)).await;
    drop(service);
    match child {
        Some(child) => stderr_note(&child.end().await.text()),
        None => String::new(),
    }
}

/// Returns the last lines of a server's standard error, as an addition to an error; empty if there are none.
fn stderr_note(stderr: &str) -> String {
    let last = last_lines(stderr.trim(), 5);
    if last.is_empty() { String::new() } else { format!("; its output: {}", brief(&last)) }
}

/// Returns the beginning of a text that a server has chosen.
fn brief(text: &str) -> String {
    shortened(text, 600)
}

/// Connection to one server, shared by its tools.
struct ServerHandle {
    peer: rmcp::service::Peer<RoleClient>,
    name: String,
    timeout: Duration,
    /// Whether the server runs on this machine, where it can change the checkout.
    local: bool,
    context: Arc<ServerContext>,
}

impl ServerHandle {
    /// Makes one call. The error is for the model.
    async fn call(&self, tool: &str, arguments: Map<String, Value>) -> Result<CallToolResult, CallError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(Request::new(params));
        let options = PeerRequestOptions::with_timeout(self.timeout);
        let answer = async {
            let sent = self.peer.send_cancellable_request(request, options).await?;
            sent.await_response().await
        };
        let seconds = self.timeout.as_secs();
        let server = || self.name.clone();
        let late = || CallError::NoAnswer { server: server(), seconds };
        let failed = |problem: &str| CallError::Failed { server: server(), problem: brief(problem) };
        // Sending may hang as well, if the server does not read.
        let answer = tokio::select! {
            () = self.context.cancel.cancelled() => return Err(CallError::Interrupted),
            answer = tokio::time::timeout(self.timeout + Duration::from_secs(1), answer) => answer.map_err(|_| late())?,
        };
        match answer {
            Ok(ServerResult::CallToolResult(result)) => Ok(result),
            Ok(_) => Err(CallError::NoResult(server())),
            Err(ServiceError::McpError(error)) => Err(failed(&error.message)),
            Err(ServiceError::Timeout { .. }) => Err(late()),
            Err(ServiceError::TransportSend(error)) if !self.local => {
                Err(CallError::Unreachable { server: server(), problem: brief(&error.to_string()) })
            }
            Err(ServiceError::TransportClosed | ServiceError::TransportSend(_)) => {
                Err(CallError::Exited(server()))
            }
            Err(error) => Err(failed(&error.to_string())),
        }
    }
}
