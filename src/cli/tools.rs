//! `architect-ci tools`: what an agent can call.

use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::print;
use crate::agent::Dispatch;
use crate::config;
use crate::engine::TodoTool;
use crate::event::{Events, Exit};
use crate::tool::{BackgroundCommand, OutputLimits, Registry, RunCommand, RunPowershell};
use crate::web::{FetchUrl, Web, WebSearch};

/// Print all tools and their schemas, as the model sees them if they are enabled
#[derive(Debug, clap::Args)]
pub(super) struct Tools {
    /// Print a line for each tool, with its name and what it does
    #[arg(long)]
    list: bool,
}

impl Tools {
    pub(super) fn execute(&self) -> Exit {
        let schemas = schemas();
        // Schemas are JSON.
        let json = || format!("{}\n", serde_json::to_string_pretty(&schemas).unwrap_or_default());
        print(&if self.list { list(&schemas) } else { json() });
        Exit::Success
    }
}

/// Renders a line for each tool: its name, and the first sentence of its description.
fn list(schemas: &[Value]) -> String {
    let of = |schema: &Value, key: &str| schema["function"][key].as_str().unwrap_or_default().to_owned();
    let width = schemas.iter().map(|schema| of(schema, "name").len()).max().unwrap_or_default();
    let line = |schema: &Value| {
        let about = of(schema, "description");
        let sentence = about.split_inclusive(". ").next().unwrap_or_default();
        let sentence = sentence.lines().next().unwrap_or_default().trim();
        format!("{:width$}  {sentence}\n", of(schema, "name"))
    };
    schemas.iter().map(line).collect()
}

/// Returns the schemas of all tools.
fn schemas() -> Vec<Value> {
    let mut registry = Registry::with_built_in();
    registry.replace(Arc::new(RunCommand::for_listing()));
    let limits = OutputLimits { lines: 0, tokens: 0, kept: None };
    registry.replace_async(Arc::new(BackgroundCommand { commands: Arc::default(), limits }));
    registry.replace_async(Arc::new(TodoTool::new(Arc::default(), Events::new(Vec::new()), "build")));
    registry.replace_async(Arc::new(Dispatch::new(Arc::default())));
    registry.replace(Arc::new(RunPowershell(Arc::new(RunCommand::for_listing()))));
    // The defaults are valid, and nothing is asked.
    if let Ok(web) = Web::new(&config::Web::default(), CancellationToken::new()).map(Arc::new) {
        registry.replace_async(Arc::new(FetchUrl(Arc::clone(&web))));
        registry.replace_async(Arc::new(WebSearch(web)));
    }
    registry.schemas::<&str>(None)
}
