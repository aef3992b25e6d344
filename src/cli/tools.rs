//! `architect-ci tools`: what an agent can call.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::print;
use crate::agent::Dispatch;
use crate::config;
use crate::engine::TodoTool;
use crate::event::{Events, Exit};
use crate::tool::{BackgroundCommand, OutputLimits, Registry, RunCommand, RunPowershell};
use crate::web::{FetchUrl, Web, WebSearch};

/// Prints all tools and their schemas.
pub(super) fn execute() -> Exit {
    let mut registry = Registry::with_built_in();
    registry.replace(Arc::new(RunCommand::for_listing()));
    let limits = OutputLimits { lines: 0, tokens: 0, kept: None };
    registry.replace(Arc::new(BackgroundCommand { commands: Arc::default(), limits }));
    registry.replace(Arc::new(TodoTool::new(Arc::default(), Events::new(Vec::new()), "build")));
    registry.replace(Arc::new(Dispatch::new(Arc::default())));
    registry.replace(Arc::new(RunPowershell(Arc::new(RunCommand::for_listing()))));
    // The defaults are valid, and nothing is asked.
    if let Ok(web) = Web::new(&config::Web::default(), CancellationToken::new()).map(Arc::new) {
        registry.replace(Arc::new(FetchUrl(Arc::clone(&web))));
        registry.replace(Arc::new(WebSearch(web)));
    }
    let schemas = registry.schemas::<&str>(None);
    // Schemas are JSON.
    print(&format!("{}\n", serde_json::to_string_pretty(&schemas).unwrap_or_default()));
    Exit::Success
}
