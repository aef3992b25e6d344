//! A server's tool as one of ours.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use jsonschema::Validator;
use serde_json::{Map, Value};

use super::{Line, content};
use crate::tool::{Call, Context, Effects, Remote, Tool, ToolError, ToolResult, schema};
use crate::workspace::{LastLink, WorkspacePath};

/// Most characters of a tool's name: what providers accept.
const MAX_NAME: usize = 64;
/// Most characters of a description, and bytes of a schema: they are paid with every request.
const MAX_DESCRIPTION: usize = 1_000;
const MAX_SCHEMA: usize = 16 * 1024;

/// A tool of a server.
pub struct McpTool {
    name: String,
    description: String,
    parameters: Value,
    /// What the server calls it.
    remote: String,
    read_only: bool,
    accepts: Validator,
    promises: Option<Validator>,
    line: Arc<Line>,
}

impl McpTool {
    /// A tool as its server describes it; the error says why it cannot be used.
    pub(super) fn new(tool: rmcp::model::Tool, line: &Arc<Line>) -> Result<Self, String> {
        let mut parameters = Value::Object(Map::clone(&tool.input_schema));
        if let Some(object) = parameters.as_object_mut() {
            object.remove("$schema");
            // Some providers want a list of properties, be it empty.
            object.entry("type").or_insert_with(|| "object".into());
            object.entry("properties").or_insert_with(|| Map::new().into());
        }
        if parameters.to_string().len() > MAX_SCHEMA {
            return Err(format!("its schema is longer than {MAX_SCHEMA} bytes"));
        }
        let validator = |schema: &Value| {
            jsonschema::validator_for(schema).map_err(|error| format!("its schema is invalid: {error}"))
        };
        let promises = match &tool.output_schema {
            Some(schema) => Some(validator(&Value::Object(Map::clone(schema)))?),
            None => None,
        };
        let description: String =
            tool.description.as_deref().unwrap_or_default().chars().take(MAX_DESCRIPTION).collect();
        Ok(Self {
            name: name(&line.server, &tool.name),
            description,
            accepts: validator(&parameters)?,
            parameters,
            read_only: tool.annotations.is_some_and(|hints| hints.read_only_hint == Some(true)),
            remote: tool.name.into_owned(),
            promises,
            line: Arc::clone(line),
        })
    }

    /// Whether the server says that it changes nothing.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    async fn call(&self, arguments: Map<String, Value>) -> ToolResult {
        match self.line.call(&self.remote, arguments).await {
            Ok(result) => content::result(result, self.promises.as_ref()),
            Err(error) => ToolResult::failed(error),
        }
    }

    /// Makes a call of a server on this machine, and finds what it changes in the checkout.
    async fn call_watched(&self, arguments: Map<String, Value>) -> ToolResult {
        let ground = &self.line.ground;
        let Some(checkout) = ground.checkout.clone().filter(|_| self.line.local) else {
            return self.call(arguments).await;
        };
        let mut held = ground.mirror.lock().await;
        let Some(mirror) = held.take() else {
            return ToolResult::failed("changes of the server could not be detected, so it is not called");
        };
        let before =
            tokio::task::spawn_blocking(move || mirror.before().map(|before| (mirror, before))).await;
        let Ok(Ok((mirror, before))) = before else {
            return ToolResult::failed("could not inspect the checkout, so the server is not called");
        };
        let mut result = self.call(arguments).await;
        let after = tokio::task::spawn_blocking(move || (mirror.after(&before), mirror)).await;
        let Ok((Ok(observed), mirror)) = after else {
            return ToolResult::failed("could not read what the server changed");
        };
        *held = Some(mirror);
        checkout.absorb(&observed.changes);
        result.note(&observed);
        result
    }
}

/// `mcp_SERVER_TOOL`, of characters that every provider takes.
fn name(server: &str, tool: &str) -> String {
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

    fn prepare(self: Arc<Self>, arguments: &Value) -> Result<Box<dyn Call>, String> {
        let arguments: Map<String, Value> = schema::parse(arguments)?;
        let value = Value::Object(arguments);
        if let Some(error) = self.accepts.iter_errors(&value).next() {
            let place = error.instance_path().to_string();
            return Err(if place.is_empty() { error.to_string() } else { format!("{place}: {error}") });
        }
        let Value::Object(arguments) = value else { return Err("expected an object".to_owned()) };
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
        for value in self.arguments.values() {
            named(value, cx, &self.tool.line.ground.root, &mut paths);
        }
        let target = format!("{}/{}", self.tool.line.server, self.tool.remote);
        let remote = Remote { target, read_only: self.tool.read_only, paths };
        Ok(Effects { remote: Some(remote), ..Effects::default() })
    }

    fn run(self: Box<Self>, _: Context) -> BoxFuture<'static, ToolResult> {
        async move {
            let Self { tool, arguments } = *self;
            if tool.read_only {
                tool.call(arguments).await
            } else if tool.line.ground.checkout.is_some() {
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

/// Files of the workspace that a value names, so that the rules about files hold here as well.
fn named(value: &Value, cx: &Context, root: &std::path::Path, paths: &mut Vec<WorkspacePath>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| named(value, cx, root, paths)),
        Value::Object(values) => values.values().for_each(|value| named(value, cx, root, paths)),
        Value::String(text) => {
            let text = text.strip_prefix("file://").unwrap_or(text);
            let within = std::path::Path::new(text).strip_prefix(root).ok().and_then(|path| path.to_str());
            let Ok(path) = WorkspacePath::parse(within.unwrap_or(text)) else { return };
            let resolved = cx.workspace.resolve(&path, LastLink::Follow).ok();
            let exists = resolved
                .as_ref()
                .is_some_and(|path| cx.workspace.stat(path).is_ok_and(|stat| stat.is_some()));
            // A sentence is no path, unless there is such a file.
            if exists || !text.contains(char::is_whitespace) {
                paths.extend(resolved.map(|path| WorkspacePath::clone(&path)).filter(|other| *other != path));
                paths.push(path);
            }
        }
        _ => {}
    }
}
