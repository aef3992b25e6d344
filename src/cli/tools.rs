//! `architect-ci tools`: what an agent can call.

use std::sync::Arc;

use clap::Command;

use super::print;
use crate::agent::Dispatch;
use crate::exit::Exit;
use crate::tool::{Registry, RunCommand};

pub(super) const NAME: &str = "tools";

pub(super) fn command() -> Command {
    Command::new(NAME).about("Print the tools and their schemas, as the model is told of them")
}

pub(super) fn execute() -> Exit {
    let mut registry = Registry::with_built_in();
    registry.replace(Arc::new(RunCommand::nowhere()));
    registry.replace(Arc::new(Dispatch::new(Arc::default())));
    let schemas = registry.schemas::<&str>(None);
    // Schemas are JSON.
    print(&format!("{}\n", serde_json::to_string_pretty(&schemas).unwrap_or_default()));
    Exit::Success
}
