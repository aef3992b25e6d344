//! Tool of an MCP server as a [`Tool`].

use std::path::Path;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use workspace::{LastLink, WorkspacePath};

use super::error::UnusableSchema;
use super::named_paths::named_paths;
use super::schema::Schema;
use super::{ServerHandle, content};
use crate::event::{Effects, NoticeLevel, Remote};
use crate::tool::{ArgumentsError, Call, Context, Tool, ToolError, ToolResult, arguments};

/// Maximum length of a tool's name that providers accept.
const MAX_NAME: usize = 64;
/// Maximum length of a description in characters, which is paid for with every request.
const MAX_DESCRIPTION: usize = 1_000;

/// Tool of a server.
pub struct McpTool {
    name: String,
    description: String,
    parameters: Value,
    /// Name that the server knows it by.
    remote: String,
    read_only: bool,
    accepts: Schema,
    promises: Option<Arc<Schema>>,
    server: Arc<ServerHandle>,
}

impl McpTool {
    /// Converts a tool from its server's description. The error says why it cannot be used.
    pub(super) fn new(tool: rmcp::model::Tool, server: &Arc<ServerHandle>) -> Result<Self, UnusableSchema> {
        let mut parameters = Value::Object(Map::clone(&tool.input_schema));
        if let Some(object) = parameters.as_object_mut() {
            object.remove("$schema");
            // Some providers require a list of properties, even if it is empty.
            object.entry("type").or_insert_with(|| "object".into());
            object.entry("properties").or_insert_with(|| Map::new().into());
        }
        let accepts = Schema::new(&parameters)?;
        let promised =
            tool.output_schema.as_ref().map(|schema| Schema::new(&Value::Object(Map::clone(schema))));
        let promises = match promised {
            None => None,
            Some(Ok(schema)) => Some(Arc::new(schema)),
            Some(Err(error @ UnusableSchema::Invalid(_))) => return Err(error),
            Some(Err(error)) => {
                let message = format!(
                    "the MCP server {}: results of the tool {:?} are not checked: {error}",
                    server.name,
                    super::brief(&tool.name)
                );
                server.context.events.notice(NoticeLevel::Warning, message);
                None
            }
        };
        let description: String =
            tool.description.as_deref().unwrap_or_default().chars().take(MAX_DESCRIPTION).collect();
        Ok(Self {
            name: tool_name(&server.name, &tool.name),
            description,
            accepts,
            parameters,
            read_only: tool.annotations.is_some_and(|hints| hints.read_only_hint == Some(true)),
            remote: tool.name.into_owned(),
            promises,
            server: Arc::clone(server),
        })
    }

    /// Returns `true` if the server declares that the tool changes nothing.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Returns whether the server's schema has a parameter of this name.
    fn names_parameter(&self, name: &str) -> bool {
        self.parameters.get("properties").is_some_and(|properties| properties.get(name).is_some())
    }

    async fn call(&self, arguments: Map<String, Value>) -> ToolResult {
        match self.server.call(&self.remote, arguments).await {
            Ok(result) => {
                let promises = self.promises.clone();
                let read = move || content::result(result, promises.as_deref());
                tokio::task::spawn_blocking(read)
                    .await
                    .unwrap_or_else(|error| ToolResult::failed(format!("could not read the result: {error}")))
            }
            Err(error) => ToolResult::failed(error.to_string()),
        }
    }

    /// Makes a call whose changes to the checkout are judged, if the server runs on this machine.
    async fn call_watched(&self, arguments: Map<String, Value>) -> ToolResult {
        match self.server.context.checkout.as_ref().filter(|_| self.server.local) {
            Some(checkout) => checkout.call(self.call(arguments)).await,
            None => self.call(arguments).await,
        }
    }
}

/// Returns `mcp_SERVER_TOOL`, with characters that not every provider accepts replaced.
fn tool_name(server: &str, tool: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    format!("mcp_{server}_{tool}").chars().map(plain).take(MAX_NAME).collect()
}

impl Tool for McpTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn sensitive(&self) -> bool {
        true
    }

    fn parameters(&self) -> Value {
        self.parameters.clone()
    }

    fn takes_arguments_as_given(&self) -> bool {
        true
    }

    fn prepare(self: Arc<Self>, arguments: &Value) -> Result<Box<dyn Call>, ArgumentsError> {
        let arguments: Map<String, Value> = arguments::parse(arguments)?;
        let value = Value::Object(arguments);
        if let Err(violation) = self.accepts.check(&value) {
            return Err(ArgumentsError::Schema { path: violation.path, problem: violation.problem });
        }
        let Value::Object(arguments) = value else {
            let problem = "expected an object".to_owned();
            return Err(ArgumentsError::Schema { path: String::new(), problem });
        };
        Ok(Box::new(McpCall { tool: self, arguments }))
    }
}

struct McpCall {
    tool: Arc<McpTool>,
    arguments: Map<String, Value>,
}

impl Call for McpCall {
    fn effects(&self, cx: &Context) -> Result<Effects, ToolError> {
        let mut paths = Vec::new();
        for (name, value) in &self.arguments {
            // The names of parameters are the schema's, except where it leaves them open.
            if !self.tool.names_parameter(name) {
                collect_text(name, cx, &self.tool.server.context.root, &mut paths)?;
            }
            collect_paths(value, cx, &self.tool.server.context.root, &mut paths)?;
        }
        let target = format!("{}/{}", self.tool.server.name, self.tool.remote);
        let remote = Remote { target, read_only: self.tool.read_only, paths };
        Ok(Effects { remote: Some(remote), ..Effects::default() })
    }

    fn run(self: Box<Self>, _: Context) -> BoxFuture<'static, ToolResult> {
        async move {
            let Self { tool, arguments } = *self;
            if tool.read_only {
                tool.call(arguments).await
            } else if tool.server.context.checkout.is_some() {
                tool.call_watched(arguments).await
            } else {
                ToolResult::done(
                    "A dry run records calls of MCP tools without making them; continue \
                                  planning.",
                )
            }
        }
        .boxed()
    }
}

/// Collects the workspace's files that a value names, so that guardrails on files apply here as well. Text that cannot
/// be judged is an error.
fn collect_paths(
    value: &Value,
    cx: &Context,
    root: &Path,
    paths: &mut Vec<WorkspacePath>,
) -> Result<(), ToolError> {
    match value {
        Value::Array(values) => values.iter().try_for_each(|value| collect_paths(value, cx, root, paths)),
        Value::Object(values) => values.iter().try_for_each(|(key, value)| {
            collect_text(key, cx, root, paths)?;
            collect_paths(value, cx, root, paths)
        }),
        Value::String(text) => collect_text(text, cx, root, paths),
        _ => Ok(()),
    }
}

fn collect_text(
    text: &str,
    cx: &Context,
    root: &Path,
    paths: &mut Vec<WorkspacePath>,
) -> Result<(), ToolError> {
    let scheme = text.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("file://"));
    let Some(address) = scheme.and_then(|scheme| text.get(scheme.len()..)) else {
        return collect_path(text, cx, root, paths);
    };
    let path = address.strip_prefix("localhost").filter(|path| path.starts_with('/')).unwrap_or(address);
    collect_path(path, cx, root, paths)?;
    collect_path(&percent_encoding::percent_decode_str(path).decode_utf8_lossy(), cx, root, paths)
}

fn collect_path(
    text: &str,
    cx: &Context,
    root: &Path,
    paths: &mut Vec<WorkspacePath>,
) -> Result<(), ToolError> {
    for path in named_paths(text, root)? {
        let resolved = cx.workspace.resolve(&path, LastLink::Follow).ok();
        let exists =
            resolved.as_ref().is_some_and(|path| cx.workspace.stat(path).is_ok_and(|stat| stat.is_some()))
                || root.join(path.as_str()).symlink_metadata().is_ok();
        // Text with spaces is not taken for a path, unless the file exists.
        if exists || !text.contains(char::is_whitespace) {
            paths.extend(resolved.map(|path| WorkspacePath::clone(&path)).filter(|other| *other != path));
            paths.push(path);
        }
    }
    Ok(())
}
