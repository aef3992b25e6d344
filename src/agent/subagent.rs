//! Sub-agents: assistants with a conversation of their own that read, test or review for the main agent, and
//! report in a few lines.
//!
//! Their calls go through the same pipeline, on the same workspace; their cost and their turns count toward
//! the run. They cannot dispatch sub-agents themselves.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Agent;
use super::limits::Limits;
use super::session::{AnswerCheck, AnswerVerdict, Session};
use crate::base::text::first_chars;
use crate::engine::Engine;
use crate::event::{Effects, Event, SubagentRecord, millis};
use crate::model::{Budget, ChatModel};
use crate::tool::{Access, ArgumentsError, AsyncTool, ToolInfo, ToolResult};

/// Maximum number of turns of one sub-agent.
const MAX_STEPS: u32 = 15;

/// Characters of a sub-agent's answer that the caller reads; the run's report has all of it.
const MAX_REPORT: usize = 3_000;

/// Tools of every sub-agent. Which commands run, and that none of them changes files, is decided by [`Access`].
const TOOLS: [&str; 7] =
    ["read_file", "list_files", "search_code", "grep", "find_files", "get_file_summary", "run_command"];

/// Purpose of a sub-agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SubagentKind {
    /// Finds things out.
    Explore,
    /// Runs tests.
    Test,
    /// Looks for faults.
    Review,
}

impl SubagentKind {
    fn name(self) -> &'static str {
        match self {
            Self::Explore => "explore",
            Self::Test => "test",
            Self::Review => "review",
        }
    }

    fn agent(self, number: u32) -> Agent {
        let prompt = match self {
            Self::Explore => include_str!("prompt/explore.md"),
            Self::Test => include_str!("prompt/test.md"),
            Self::Review => include_str!("prompt/subreview.md"),
        };
        let tools = TOOLS.map(str::to_owned).to_vec();
        Agent {
            name: format!("{}-{number}", self.name()),
            prompt: prompt.to_owned(),
            allowed_tools: Some(tools),
            access: if self == Self::Test { Access::Trial } else { Access::Look },
            max_steps: MAX_STEPS,
            model: None,
        }
    }
}

/// What all sub-agents of a run share; known once the run is set up.
pub struct SubagentContext {
    /// Pipeline through which their calls go; weak, because the engine owns the tool that holds this.
    pub engine: Weak<Engine>,
    /// Model that answers.
    pub model: Arc<dyn ChatModel>,
    /// Limits of each sub-agent.
    pub limits: Limits,
    /// Description of the checkout, appended to every system prompt.
    pub surroundings: String,
}

/// Name of the tool that hands a task to a subagent.
pub const DISPATCH: &str = "dispatch_subagent";

/// Tool `dispatch_subagent`.
pub struct Dispatch {
    context: OnceLock<SubagentContext>,
    budget: Arc<Budget>,
    sent: AtomicU32,
}

impl Dispatch {
    /// Creates the tool. Calls fail until [`begin`](Self::begin) has been called.
    pub fn new(budget: Arc<Budget>) -> Self {
        Self { context: OnceLock::new(), budget, sent: AtomicU32::new(0) }
    }

    /// Provides the context of the run; only the first call has an effect.
    pub fn begin(&self, context: SubagentContext) {
        let _ = self.context.set(context);
    }

    async fn send(&self, args: Args) -> ToolResult {
        let Some((context, engine)) =
            self.context.get().and_then(|context| Some((context, context.engine.upgrade()?)))
        else {
            return ToolResult::failed("sub-agents are not available in this run");
        };
        let started = Instant::now();
        let agent = args.agent_type.agent(self.sent.fetch_add(1, Ordering::Relaxed) + 1);
        let system = format!("{}{}", agent.prompt.trim_end(), context.surroundings);
        let (model, limits) = (Arc::clone(&context.model), context.limits.clone());
        let session = Session::of_assistant(&agent, system, &engine, model, limits, &self.budget);
        let ended = session.run(&args.message(), &mut Unchecked).await;
        let (status, message) = (ended.reason.status(), ended.message);
        let result = if ended.error.is_some() {
            ToolResult::failed(format!("{}: {message}", agent.name))
        } else {
            let shown = first_chars(&message, MAX_REPORT);
            let more = if shown.len() < message.len() {
                format!(" … (cut after {MAX_REPORT} characters; ask for less at a time)")
            } else {
                String::new()
            };
            ToolResult::done(format!("[{}: {status}]\n{shown}{more}", agent.name))
        };
        engine.events.emit(Event::Subagent(SubagentRecord {
            name: agent.name.clone(),
            task: args.task,
            status,
            stop_reason: ended.reason,
            message,
            duration_ms: millis(started.elapsed()),
        }));
        result
    }
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// What to find out
    task: String,
    /// Kind of sub-agent
    agent_type: SubagentKind,
    /// What it should know
    context: Option<String>,
    /// Files to start from
    #[serde(default)]
    relevant_files: Vec<String>,
}

impl Args {
    fn message(&self) -> String {
        let mut message = self.task.clone();
        if let Some(context) = self.context.as_ref().filter(|context| !context.trim().is_empty()) {
            message += &format!("\n\nContext:\n{context}");
        }
        if !self.relevant_files.is_empty() {
            message += &format!("\n\nStart from: {}", self.relevant_files.join(", "));
        }
        message
    }
}

impl AsyncTool for Dispatch {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: DISPATCH,
            description: "Start a sub-agent with a new conversation to explore, test or review; it reports in a few lines. \
                          Several in one turn run in parallel.",
            sensitive: false,
            successor: None,
        }
    }

    fn check(&self, args: &mut Args) -> Result<(), ArgumentsError> {
        if args.task.trim().is_empty() { Err(ArgumentsError::Empty("task")) } else { Ok(()) }
    }

    /// Returns no effects: the calls of the sub-agent have their own.
    fn effects(&self, _: &Args) -> Effects {
        Effects::default()
    }

    fn run(self: Arc<Self>, args: Args) -> BoxFuture<'static, ToolResult> {
        async move { self.send(args).await }.boxed()
    }
}

/// Check that accepts every answer: only the calling agent judges what a sub-agent says.
struct Unchecked;

impl AnswerCheck for Unchecked {
    fn check<'a>(&'a mut self, _: &'a str) -> BoxFuture<'a, AnswerVerdict> {
        async { AnswerVerdict::Accept }.boxed()
    }
}
