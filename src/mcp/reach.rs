//! How a server is reached: a program that is started, or an address.

use std::collections::BTreeMap;
use std::time::Duration;

use rmcp::model::{ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::{RunningService, ServiceExt};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient};

use super::{Ground, brief, said};
use crate::command::{Talk, Talking};
use crate::config::McpServer;
use crate::inputs::Variables;
use crate::model::http_client;

/// Most characters of a server's name: it becomes part of its tools' names.
const MAX_NAME: usize = 24;

/// How much longer than a call may take a connection may stay silent.
const LONGER: Duration = Duration::from_secs(10);

/// A server that can be reached, as far as the configuration tells.
#[derive(Clone, Debug)]
pub struct Server {
    pub(super) name: String,
    pub(super) reach: Reach,
    pub(super) token_env: Option<String>,
    pub(super) allowed_tools: Option<Vec<String>>,
    pub(super) timeout: Duration,
}

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// A program, spoken to over its standard streams.
    Program {
        /// Its path or name.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its variables.
        env: BTreeMap<String, String>,
    },
    /// An address, spoken to over streamable HTTP.
    Url(String),
}

impl Server {
    /// Reads the configuration's list; the error names the entry and what is wrong.
    pub fn all(servers: &[McpServer]) -> Result<Vec<Self>, String> {
        let mut all: Vec<Self> = Vec::new();
        for (index, config) in servers.iter().enumerate() {
            let server = Self::new(config).map_err(|error| format!("`mcp.servers[{index}]`: {error}"))?;
            if all.iter().any(|other| other.name == server.name) {
                return Err(format!(
                    "`mcp.servers[{index}]`: duplicate name {:?}; use a unique name",
                    server.name
                ));
            }
            all.push(server);
        }
        Ok(all)
    }

    /// Whether it is a program on this machine, which can change the checkout.
    pub fn is_local(&self) -> bool {
        matches!(self.reach, Reach::Program { .. })
    }

    /// Returns the server's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the words of the program's command and what its variables hold; `None` for an address.
    pub fn words(&self) -> Option<Vec<String>> {
        let Reach::Program { command, args, env } = &self.reach else { return None };
        let values = env.values().flat_map(|value| value.split(':')).map(str::to_owned);
        Some(std::iter::once(command.clone()).chain(args.iter().cloned()).chain(values).collect())
    }

    /// The variable that holds the server's token.
    pub fn token_variable(&self) -> Option<&str> {
        self.token_env.as_deref()
    }

    fn new(config: &McpServer) -> Result<Self, String> {
        let name = &config.name;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
            return Err(format!("invalid name {name:?}; use 1 to {MAX_NAME} letters, digits, `-` or `_`"));
        }
        let reach = match (&config.command, &config.url) {
            (Some(command), None) if !command.trim().is_empty() => Reach::Program {
                command: command.clone(),
                args: config.args.clone(),
                env: config.env.clone(),
            },
            (None, Some(_)) if !config.args.is_empty() || !config.env.is_empty() => {
                return Err("`args` and `env` are only allowed with `command`, not with `url`".to_owned());
            }
            (None, Some(url)) => {
                let parsed = reqwest::Url::parse(url)
                    .map_err(|error| format!("invalid value {url:?} for `url`: {error}"))?;
                if !matches!(parsed.scheme(), "http" | "https") {
                    return Err(format!(
                        "invalid value {url:?} for `url`; use a URL that begins with https:// \
                                        or http://"
                    ));
                }
                Reach::Url(url.to_owned())
            }
            _ => return Err("set exactly one of `command` and `url`".to_owned()),
        };
        Ok(Self {
            name: name.clone(),
            reach,
            token_env: config.token_env.clone(),
            allowed_tools: config.allowed_tools.clone(),
            timeout: config.timeout.seconds(),
        })
    }
}

/// What servers are told of us. We offer no sampling, no elicitation and no roots.
pub(super) struct Hello;

impl ClientHandler for Hello {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("architect-ci", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
    }
}

/// A server that answered.
pub(super) struct Reached {
    pub(super) service: RunningService<RoleClient, Hello>,
    pub(super) child: Option<Talking>,
}

/// Reaches a server and shakes hands.
pub(super) async fn reach(
    server: &Server,
    variables: &Variables,
    ground: &Ground,
) -> Result<Reached, String> {
    let token = match &server.token_env {
        None => None,
        Some(name) => match variables.get(name).filter(|token| !token.trim().is_empty()) {
            Some(token) => Some((name.clone(), token.clone())),
            None => return Err(format!("the variable `{name}` (`token_env`) is not set")),
        },
    };
    let late = || format!("it did not answer within {} s", server.timeout.as_secs());
    match &server.reach {
        Reach::Url(url) => {
            // A call's own time limit comes first: it says what happened.
            let client = http_client(server.timeout + LONGER).map_err(|error| error.to_string())?;
            let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
            if let Some((_, token)) = token {
                config = config.auth_header(token);
            }
            let transport = StreamableHttpClientTransport::with_client(client, config);
            let service = tokio::time::timeout(server.timeout, Hello.serve(transport)).await;
            let service = service.map_err(|_| late())?.map_err(|error| brief(&error.to_string()))?;
            Ok(Reached { service, child: None })
        }
        Reach::Program { command, args, env } => {
            let mut variables = env.clone();
            variables.extend(token);
            let talk = Talk {
                program: command,
                arguments: args,
                variables: &variables,
                cwd: &ground.root,
                // What a dry run must not change, its servers must not either.
                writes: ground.checkout.is_some(),
            };
            let started = ground.shell.converse(talk).await;
            let (child, stdin, stdout) = started.map_err(|error| format!("could not start it: {error}"))?;
            let shaken = tokio::time::timeout(server.timeout, Hello.serve((stdout, stdin))).await;
            let error = match shaken {
                Ok(Ok(service)) => return Ok(Reached { service, child: Some(child) }),
                Ok(Err(error)) => brief(&error.to_string()),
                Err(_) => late(),
            };
            Err(format!("{error}{}", said(&child.end().await.text())))
        }
    }
}
