//! Hook events, and the variables and the message that hooks receive.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use workspace::WorkspacePath;

use super::HookContext;
use crate::base::command_template::operand;
use crate::config::{self, HookConfig};
use crate::event::Effects;
use crate::tool::ToolResult;

/// Point of the run at which a hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookEvent {
    /// Before a tool runs.
    PreToolUse,
    /// After a tool has run.
    PostToolUse,
    /// Before a request to the model.
    PreLlmCall,
    /// After the model's answer.
    PostLlmCall,
    /// At the start of the run.
    SessionStart,
    /// At the end of the run.
    SessionEnd,
    /// When the run fails with an error.
    OnError,
    /// When the cost reaches the warning threshold.
    BudgetWarning,
    /// Before the conversation is compacted.
    ContextCompress,
    /// When the agent's final answer has been accepted.
    AgentComplete,
}

impl HookEvent {
    /// Returns the name used in configuration, environment and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreToolUse => "pre_tool_use",
            Self::PostToolUse => "post_tool_use",
            Self::PreLlmCall => "pre_llm_call",
            Self::PostLlmCall => "post_llm_call",
            Self::SessionStart => "session_start",
            Self::SessionEnd => "session_end",
            Self::OnError => "on_error",
            Self::BudgetWarning => "budget_warning",
            Self::ContextCompress => "context_compress",
            Self::AgentComplete => "agent_complete",
        }
    }

    /// Returns the configured hooks by event, each list with whether it is for edits only.
    pub(super) fn lists(config: &config::Hooks) -> [(Self, bool, &[HookConfig]); 11] {
        [
            (Self::PreToolUse, false, &config.pre_tool_use),
            (Self::PostToolUse, false, &config.post_tool_use),
            (Self::PostToolUse, true, &config.post_edit),
            (Self::PreLlmCall, false, &config.pre_llm_call),
            (Self::PostLlmCall, false, &config.post_llm_call),
            (Self::SessionStart, false, &config.session_start),
            (Self::SessionEnd, false, &config.session_end),
            (Self::OnError, false, &config.on_error),
            (Self::BudgetWarning, false, &config.budget_warning),
            (Self::ContextCompress, false, &config.context_compress),
            (Self::AgentComplete, false, &config.agent_complete),
        ]
    }

    /// Returns `true` if a hook of this event can stop what comes next.
    pub(super) fn can_block(self) -> bool {
        matches!(self, Self::PreToolUse | Self::PreLlmCall)
    }

    /// Returns `true` if a hook of this event can change the call's arguments.
    pub(super) fn takes_input(self) -> bool {
        self == Self::PreToolUse
    }

    /// Returns `true` if the model is told when a hook of this event fails.
    pub(super) fn reports_failures(self) -> bool {
        matches!(self, Self::PostToolUse | Self::PostLlmCall)
    }
}

/// What an event is about.
pub struct Subject<'a> {
    /// Agent that acts.
    pub agent: &'a str,
    /// Its turn.
    pub step: u32,
    /// The call, if the event is about one.
    pub tool: Option<ToolSubject<'a>>,
    /// Further fields of the message.
    pub details: Map<String, Value>,
}

/// Call that an event is about.
pub struct ToolSubject<'a> {
    /// Name of the tool.
    pub name: &'a str,
    /// Arguments of the call.
    pub input: &'a Value,
    /// Effects of the call.
    pub effects: &'a Effects,
    /// Result, once the call has run.
    pub result: Option<&'a ToolResult>,
}

impl<'a> ToolSubject<'a> {
    /// Returns `true` if the call is there to change files, whether or not it could.
    pub(super) fn changes_files(&self) -> bool {
        self.effects.command.is_none() && !self.effects.writes.is_empty()
    }

    pub(super) fn is_edit(&self) -> bool {
        self.changes_files() && self.result.is_none_or(|result| result.success)
    }

    /// Returns the files that the call is about, of those that `fits` lets through: the files that it writes, without
    /// those that it has removed if others are left, or else the first file that it reads.
    pub(super) fn files(&self, fits: impl Fn(&str) -> bool) -> Vec<&'a str> {
        let Effects { writes, reads, .. } = self.effects;
        let written: Vec<&str> = writes.iter().map(WorkspacePath::as_str).filter(|path| fits(path)).collect();
        let is_removed = |path: &str| {
            let changes = self.result.map_or(&[][..], |result| &result.changes);
            changes.iter().any(|change| change.path.as_str() == path && change.after.is_none())
        };
        let left: Vec<&str> = written.iter().copied().filter(|path| !is_removed(path)).collect();
        if !left.is_empty() {
            left
        } else if written.is_empty() {
            reads.iter().map(WorkspacePath::as_str).find(|path| fits(path)).into_iter().collect()
        } else {
            written
        }
    }
}

impl<'a> Subject<'a> {
    /// Creates the subject of an event that is not about a call; `details` has further fields of the message.
    pub fn of_run(agent: &'a str, step: u32, details: Value) -> Self {
        let details = match details {
            Value::Object(details) => details,
            _ => Map::new(),
        };
        Self { agent, step, tool: None, details }
    }

    pub(super) fn variables(
        &self,
        event: HookEvent,
        file: Option<&str>,
        context: &HookContext,
    ) -> Vec<(Cow<'static, str>, String)> {
        let mut variables = vec![
            ("ARCHITECT_EVENT", event.name().to_owned()),
            ("ARCHITECT_WORKSPACE", context.workspace.display().to_string()),
            ("ARCHITECT_SESSION_ID", context.session.clone()),
            ("ARCHITECT_AGENT", self.agent.to_owned()),
            ("ARCHITECT_STEP", self.step.to_string()),
            ("ARCHITECT_DRY_RUN", u8::from(context.dry_run).to_string()),
        ];
        if let Some(tool) = &self.tool {
            variables.push(("ARCHITECT_TOOL_NAME", tool.name.to_owned()));
            variables.extend(file.map(|file| ("ARCHITECT_FILE_PATH", operand(file).into_owned())));
            let edited = file.filter(|_| {
                !tool.effects.writes.is_empty() && tool.result.is_some_and(|result| result.success)
            });
            variables.extend(edited.map(|file| ("ARCHITECT_EDITED_FILE", operand(file).into_owned())));
            let command = tool.effects.command.as_ref();
            variables.extend(command.map(|command| ("ARCHITECT_COMMAND", command.line.clone())));
            variables.extend(
                tool.result.map(|result| ("ARCHITECT_TOOL_RESULT_SUCCESS", result.success.to_string())),
            );
        }
        // Values that a variable cannot hold are in the message as well.
        variables.retain(|(_, value)| !value.contains('\0') && value.len() < 100_000);
        variables.into_iter().map(|(name, value)| (name.into(), value)).collect()
    }

    pub(super) fn message(&self, event: HookEvent, input: Option<&Value>, context: &HookContext) -> String {
        let mut message = json!({
            "event": event.name(),
            "session": context.session,
            "agent": self.agent,
            "step": self.step,
            "dry_run": context.dry_run,
        });
        if let Some(tool) = &self.tool {
            message["tool_name"] = json!(tool.name);
            message["tool_input"] = input.unwrap_or(tool.input).clone();
            message["effects"] = json!(tool.effects);
            if let Some(result) = tool.result {
                message["tool_output"] = json!({"success": result.success, "text": result.text()});
            }
        }
        for (name, value) in &self.details {
            message[name] = value.clone();
        }
        message.to_string()
    }
}
