//! Connection to an MCP server: a program that is started, or an address.

use std::collections::BTreeMap;
use std::time::Duration;

use rmcp::model::{ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::{RunningService, ServiceExt};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient};
use sanitize::secret_names::{passwords, secrets_of, without_userinfo};

use super::bounded_lines::BoundedLines;
use super::error::StartError;
use super::request_limit::RequestLimit;
use super::start_limit::StartLimit;
use super::{ServerContext, stderr_note};
use crate::base::env::Variables;
use crate::base::http::http_client;
use crate::command::{StdioChild, StdioCommand};
use crate::config::McpServer;

/// Maximum length of a server's name, which becomes part of its tools' names.
const MAX_NAME: usize = 24;

/// Time limit for the start of a server if the configuration sets none.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// Margin of the connection's read timeout over the time limit of a call.
const READ_TIMEOUT_MARGIN: Duration = Duration::from_secs(10);

/// Server from the configuration, validated.
#[derive(Clone, Debug)]
pub struct Server {
    pub(super) name: String,
    pub(super) endpoint: Endpoint,
    pub(super) token_env: Option<String>,
    pub(super) allowed_tools: Option<Vec<String>>,
    pub(super) sees_checkout: bool,
    pub(super) timeout: Duration,
    pub(super) start_timeout: Duration,
}

/// Where a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Program, spoken to over its standard streams.
    Program {
        /// Path or name of the program.
        command: String,
        /// Arguments of the program.
        args: Vec<String>,
        /// Environment variables of the program.
        env: BTreeMap<String, String>,
    },
    /// Address, spoken to over streamable HTTP.
    Url(String),
}

/// Error for an entry of `mcp.servers` that cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
#[error("`mcp.servers[{index}]`: {fault}")]
pub struct InvalidServer {
    index: usize,
    fault: ServerFault,
}

#[derive(Clone, Debug, thiserror::Error)]
enum ServerFault {
    #[error("invalid name {0:?}; use 1 to {MAX_NAME} letters, digits, `-` or `_`")]
    Name(String),
    #[error("duplicate name {0:?}; use a unique name")]
    Duplicate(String),
    #[error("`args`, `env` and `sees_checkout` are only allowed with `command`, not with `url`")]
    ArgumentsOfUrl,
    #[error("invalid value {url:?} for `url`: {error}")]
    Url { url: String, error: url::ParseError },
    #[error("invalid value {0:?} for `url`; use a URL that begins with https:// or http://")]
    Scheme(String),
    #[error("set exactly one of `command` and `url`")]
    OneOf,
}

impl Server {
    /// Validates the configured servers.
    pub fn all(servers: &[McpServer]) -> Result<Vec<Self>, InvalidServer> {
        let mut all: Vec<Self> = Vec::new();
        for (index, config) in servers.iter().enumerate() {
            let invalid = |fault| InvalidServer { index, fault };
            let server = Self::new(config).map_err(invalid)?;
            if all.iter().any(|other| other.name == server.name) {
                return Err(invalid(ServerFault::Duplicate(server.name)));
            }
            all.push(server);
        }
        Ok(all)
    }

    /// Returns `true` if the server is a program on this machine, which can change the checkout.
    pub fn is_local(&self) -> bool {
        matches!(self.endpoint, Endpoint::Program { .. })
    }

    /// Returns the server's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the words of the program's command, and the variables that it gets; `None` for an address.
    pub fn program(&self) -> Option<(Vec<String>, &BTreeMap<String, String>)> {
        let Endpoint::Program { command, args, env } = &self.endpoint else { return None };
        Some((std::iter::once(command.clone()).chain(args.iter().cloned()).collect(), env))
    }

    /// Returns the name of the variable that holds the server's token.
    pub fn token_variable(&self) -> Option<&str> {
        self.token_env.as_deref()
    }

    /// Returns whether the server is a program that gets a secret.
    pub fn holds_secret(&self) -> bool {
        self.is_local() && (self.token_env.is_some() || !self.secrets().is_empty())
    }

    /// Returns the secrets that the configuration holds itself: in the server's address, and among its variables.
    pub fn secrets(&self) -> Vec<String> {
        match &self.endpoint {
            Endpoint::Program { env, .. } => {
                env.iter().flat_map(|(name, value)| secrets_of(name, value)).map(str::to_owned).collect()
            }
            Endpoint::Url(address) => {
                // Both as it is written and as it is meant: errors show either.
                let written = address.split_once('?').map_or("", |(_, query)| query);
                let written = written.split(['&', '#']).filter_map(|pair| Some(pair.split_once('=')?.1));
                let parsed = reqwest::Url::parse(address).ok();
                let meant =
                    parsed.iter().flat_map(|url| url.query_pairs()).map(|(_, value)| value.into_owned());
                written.chain(passwords(address)).map(str::to_owned).chain(meant).collect()
            }
        }
    }

    fn new(config: &McpServer) -> Result<Self, ServerFault> {
        let name = &config.name;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
            return Err(ServerFault::Name(name.clone()));
        }
        let endpoint = match (&config.command, &config.url) {
            (Some(command), None) if !command.trim().is_empty() => Endpoint::Program {
                command: command.clone(),
                args: config.args.clone(),
                env: config.env.clone(),
            },
            (None, Some(_)) if !config.args.is_empty() || !config.env.is_empty() || config.sees_checkout => {
                return Err(ServerFault::ArgumentsOfUrl);
            }
            (None, Some(url)) => {
                let shown = || shown_address(url);
                let parsed =
                    reqwest::Url::parse(url).map_err(|error| ServerFault::Url { url: shown(), error })?;
                if !matches!(parsed.scheme(), "http" | "https") {
                    return Err(ServerFault::Scheme(shown()));
                }
                Endpoint::Url(url.to_owned())
            }
            _ => return Err(ServerFault::OneOf),
        };
        Ok(Self {
            name: name.clone(),
            endpoint,
            token_env: config.token_env.clone(),
            allowed_tools: config.allowed_tools.clone(),
            sees_checkout: config.sees_checkout,
            timeout: config.timeout.seconds(),
            start_timeout: match config.start_timeout {
                Some(given) => given.seconds(),
                None => config.timeout.seconds().min(START_TIMEOUT),
            },
        })
    }
}

/// Returns an address without what may be secret in it.
fn shown_address(url: &str) -> String {
    without_userinfo(url.split(['?', '#']).next().unwrap_or_default())
}

/// Returns the name of a server in the report on its network.
pub fn owner(name: &str) -> String {
    format!("MCP server {name}")
}

/// Our side of a connection. We offer no sampling, no elicitation and no roots.
pub(super) struct Client;

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("architect-ci", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
    }
}

/// Server that has answered the handshake.
pub(super) struct Connection {
    pub(super) service: RunningService<RoleClient, Client>,
    pub(super) child: Option<StdioChild>,
}

/// Connects to a server, starting it if it is a program, and performs the handshake until `limit`. The error is
/// for the user.
pub(super) async fn connect(
    server: &Server,
    variables: &Variables,
    context: &ServerContext,
    limit: StartLimit,
) -> Result<Connection, StartError> {
    let token = match &server.token_env {
        None => None,
        Some(name) => match variables.get(name).filter(|token| !token.trim().is_empty()) {
            Some(token) => Some((name.clone(), token.clone())),
            None => return Err(StartError::NoToken(name.clone())),
        },
    };
    let late = || StartError::NoAnswer(limit);
    let failed = |error| StartError::Handshake(Box::new(error));
    match &server.endpoint {
        Endpoint::Url(url) => {
            // The time limit of a call should come first, because its error says what happened.
            let client = http_client(server.timeout + READ_TIMEOUT_MARGIN, "mcp.servers[].url")
                .map_err(StartError::Http)?;
            let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
            if let Some((_, token)) = token {
                config = config.auth_header(token);
            }
            let transport = StreamableHttpClientTransport::with_client(client, config);
            let service =
                tokio::time::timeout_at(limit.until, Client.serve(RequestLimit::new(transport))).await;
            let service = service.map_err(|_| late())?.map_err(failed)?;
            Ok(Connection { service, child: None })
        }
        Endpoint::Program { command, args, env } => {
            let mut variables = env.clone();
            variables.extend(token);
            let stdio = StdioCommand {
                program: command,
                arguments: args,
                variables: &variables,
                cwd: &context.root,
                // What a dry run must not change, its servers must not change either.
                writes: context.checkout.is_some(),
                base: context.base.as_deref().filter(|_| server.holds_secret()),
                sees_checkout: server.sees_checkout,
            };
            let started = context.shell.of(&owner(&server.name)).spawn_stdio(stdio).await;
            let (child, stdin, stdout) = started.map_err(StartError::Program)?;
            let shaken = tokio::time::timeout_at(
                limit.until,
                Client
                    .serve(RequestLimit::new(AsyncRwTransport::new_client(BoundedLines::new(stdout), stdin))),
            )
            .await;
            let error = match shaken {
                Ok(Ok(service)) => return Ok(Connection { service, child: Some(child) }),
                Ok(Err(error)) => failed(error),
                Err(_) => late(),
            };
            Err(error.with_output(stderr_note(&child.end().await.text())))
        }
    }
}
