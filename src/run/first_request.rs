//! Size of the first request of a conversation, which every later one repeats: the outline of the checkout takes what the
//! other parts leave of it.

use crate::agent::{Agent, RepoMap};
use crate::tool::{Registry, Tool};

/// Size that the request is to have at most, in bytes.
const MOST: usize = 12_000;
/// What the protocol adds: the names of its fields, and the model's.
const ENVELOPE: usize = 250;
/// What it adds for each tool.
const TOOL_ENVELOPE: usize = 90;
/// Room for what has been found out about the checkout meanwhile.
const NEWS: usize = 450;
/// Least room for the outline: without one, a turn is lost to a listing.
const LEAST_OUTLINE: usize = 500;
/// Part of the task that counts; who writes more has reasons.
pub(super) const MAX_COUNTED_TASK: usize = 500;

/// Returns the room for the outline beside the agent's tools and these texts. What the repository tells
/// agents (`AGENTS.md`) does not count: its people have reasons, and it has a limit of its own.
pub(super) fn outline_budget(registry: &Registry, agent: &Agent, texts: &[&str]) -> usize {
    let tools = match &agent.allowed_tools {
        Some(allowed) => registry.filter(allowed),
        None => registry.list().collect(),
    };
    let tools: usize = tools.iter().map(|tool| size(tool.as_ref())).sum();
    let texts: usize = texts.iter().map(|text| serde_json::Value::from(*text).to_string().len()).sum();
    MOST.saturating_sub(ENVELOPE + NEWS + tools + texts).clamp(LEAST_OUTLINE, RepoMap::MOST)
}

fn size(tool: &dyn Tool) -> usize {
    TOOL_ENVELOPE + tool.name().len() + tool.description().len() + tool.offered_parameters().to_string().len()
}
