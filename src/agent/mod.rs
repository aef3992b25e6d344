//! Agents: the model's role in a run, with its prompt, its tools and its limits. [`Session`] is the loop that
//! runs one.

mod calls;
mod compaction;
mod conversation;
mod guides;
mod history;
mod limits;
mod loop_detector;
mod model_request;
mod pending_messages;
mod repo_map;
mod session;
mod shortening;
mod subagent;
mod unmade_call;

use std::collections::{BTreeMap, BTreeSet};

use crate::base::did_you_mean::nearest;
use crate::config::AgentConfig;
use crate::tool::{Access, known_by_name};

pub use guides::{Guides, NESTED_GUIDES, NestedGuide};
pub use history::{History, RegainedResult};
pub use limits::Limits;
pub use pending_messages::PendingMessages;
pub use repo_map::RepoMap;
pub use session::{AnswerCheck, AnswerVerdict, Session, SessionOutcome, StepOffset};
pub use subagent::{DISPATCH, Dispatch, SubagentContext, SubagentKind};

/// Tools of agents that change nothing; of commands, they can only run those that look.
const READ_ONLY: [&str; 13] = [
    "read_file",
    "list_directory",
    "list_files",
    "find_files",
    "search_files",
    "grep",
    "search_code",
    "get_file_summary",
    "fetch_url",
    "web_search",
    "run_command",
    "dispatch_subagent",
    "todo",
];

/// Tools by which an agent writes files of its own, besides those with which it looks.
const WRITING: [&str; 5] = ["write_file", "edit_file", "apply_patch", "move_file", "delete_file"];

/// Name of the agent that delivers a recipe with tests.
pub const RECIPE_WRITER: &str = "recipe";

/// Turns of an agent for which no limit is configured.
const DEFAULT_STEPS: u32 = 20;

/// Definition of an agent, from the built-in ones and the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// Unique name, such as `build`.
    pub name: String,
    /// System prompt, before the description of the checkout is added.
    pub prompt: String,
    /// Allow-list of tools; `None` for all.
    pub allowed_tools: Option<Vec<String>>,
    /// What it is allowed to do to the checkout. One that may not do all gets no tools of MCP servers that write.
    pub access: Access,
    /// Maximum number of turns.
    pub max_steps: u32,
    /// Model in place of the run's, as `provider::name`.
    pub model: Option<String>,
}

/// Error for the name of an agent that is neither built in nor configured, or for what its configuration names.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownAgent {
    /// There is no such agent.
    #[error("unknown agent {name:?}{hint}; use one of: {known}")]
    Name {
        /// The name.
        name: String,
        /// A similar name, as a question in parentheses; empty if there is none.
        hint: String,
        /// All names.
        known: String,
    },
    /// There is no such tool.
    #[error(
        "agents.{agent}.allowed_tools: unknown tool {tool:?}{hint}; `architect-ci tools` lists the tools"
    )]
    Tool {
        /// The name of the agent.
        agent: String,
        /// The name of the tool.
        tool: String,
        /// A similar name, as a question in parentheses; empty if there is none.
        hint: String,
    },
}

impl Agent {
    /// Returns the agent called `name`, with the configuration's changes applied. An agent that is only
    /// configured starts from the `build` prompt.
    pub fn find(name: &str, configured: &BTreeMap<String, AgentConfig>) -> Result<Self, UnknownAgent> {
        let config = configured.get(name);
        let mut agent = match (built_in(name), config) {
            (Some(agent), _) => agent,
            (None, Some(_)) => Self {
                name: name.to_owned(),
                prompt: include_str!("prompt/build.md").to_owned(),
                allowed_tools: None,
                access: Access::Full,
                max_steps: DEFAULT_STEPS,
                model: None,
            },
            (None, None) => return Err(unknown(name, configured)),
        };
        if let Some(config) = config {
            if let Some(prompt) = &config.system_prompt {
                agent.prompt.clone_from(prompt);
            }
            config.allowed_tools.iter().flatten().try_for_each(|tool| check_tool(name, tool))?;
            if config.allowed_tools.is_some() {
                agent.allowed_tools.clone_from(&config.allowed_tools);
                agent.access = Access::Full;
            }
            if let Some(steps) = config.max_steps {
                agent.max_steps = u32::try_from(steps.get()).unwrap_or(u32::MAX);
            }
            agent.model.clone_from(&config.model);
        }
        Ok(agent)
    }

    /// Adds tools of MCP servers to the allow-list, if there is one. Each comes with whether it is read-only;
    /// an agent that only reads gets no others.
    pub fn adopt<'a>(&mut self, tools: impl Iterator<Item = (&'a str, bool)>) {
        let Some(allowed) = &mut self.allowed_tools else { return };
        let fitting = tools.filter(|(_, only_reads)| *only_reads || self.access == Access::Full);
        allowed.extend(fitting.map(|(name, _)| name.to_owned()));
    }
}

const BUILT_IN: [&str; 5] = ["build", "plan", RECIPE_WRITER, "resume", "review"];

fn built_in(name: &str) -> Option<Agent> {
    let read_only = || Some(READ_ONLY.map(str::to_owned).to_vec());
    let (prompt, allowed_tools, max_steps) = match name {
        "build" => (include_str!("prompt/build.md"), None, 50),
        RECIPE_WRITER => {
            let tools = READ_ONLY.into_iter().chain(WRITING).map(str::to_owned).collect();
            (include_str!("prompt/recipe.md"), Some(tools), 50)
        }
        "plan" => (include_str!("prompt/plan.md"), read_only(), DEFAULT_STEPS),
        "resume" => (include_str!("prompt/resume.md"), read_only(), DEFAULT_STEPS),
        "review" => (include_str!("prompt/review.md"), read_only(), DEFAULT_STEPS),
        _ => return None,
    };
    let only_looks = allowed_tools.is_some() && name != RECIPE_WRITER;
    let access = if only_looks { Access::Look } else { Access::Full };
    Some(Agent {
        name: name.to_owned(),
        prompt: prompt.to_owned(),
        allowed_tools,
        access,
        max_steps,
        model: None,
    })
}

fn unknown(name: &str, configured: &BTreeMap<String, AgentConfig>) -> UnknownAgent {
    let known: BTreeSet<&str> = BUILT_IN.into_iter().chain(configured.keys().map(String::as_str)).collect();
    let hint = nearest(name, known.iter().copied())
        .map_or(String::new(), |near| format!(" (did you mean {near:?}?)"));
    UnknownAgent::Name {
        name: name.to_owned(),
        hint,
        known: known.into_iter().collect::<Vec<_>>().join(", "),
    }
}

/// Checks that a tool of an agent's list exists: a misspelt one would be missing without a word.
fn check_tool(agent: &str, tool: &str) -> Result<(), UnknownAgent> {
    known_by_name(tool).map_err(|unknown| UnknownAgent::Tool {
        agent: agent.to_owned(),
        tool: tool.to_owned(),
        hint: unknown.nearest.map_or_else(String::new, |near| format!(" (did you mean {near:?}?)")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_built_in_changed_or_new() {
        let config: AgentConfig =
            serde_json::from_value(serde_json::json!({"max_steps": 5, "allowed_tools": ["grep"]}))
                .expect("an agent");
        let configured = BTreeMap::from([("build".to_owned(), config.clone()), ("docs".to_owned(), config)]);
        let build = Agent::find("build", &configured).expect("built in");
        assert_eq!((build.max_steps, build.allowed_tools.as_deref()), (5, Some(&["grep".to_owned()][..])));
        assert!(build.prompt.contains("edit_file"));
        assert_eq!(Agent::find("docs", &configured).map(|agent| agent.max_steps), Ok(5));
        assert_eq!(Agent::find("plan", &BTreeMap::new()).map(|agent| agent.max_steps), Ok(20));
        let error = Agent::find("biuld", &configured).expect_err("unknown").to_string();
        assert_eq!(
            error,
            "unknown agent \"biuld\" (did you mean \"build\"?); use one of: build, docs, plan, recipe, resume, review"
        );
    }
}
