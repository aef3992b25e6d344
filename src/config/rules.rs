//! Sections `guardrails` and `hooks`: what is forbidden, and which commands run beside the agent.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::network::Network;
use crate::base::bounded::Bounded;

/// Rules that no model output can turn off.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Guardrails {
    /// Globs of files that must not be written, from the root of the repository.
    pub protected_files: Vec<String>,
    /// Globs of files that must not be read or written, from the root of the repository, and that do not exist for
    /// commands, nor in the Git history that they see. By default, tools refuse what usually holds keys and passwords
    /// (`.env`, `*.pem`, `.npmrc`, …), and commands see only those of these files that Git tracks; `[]` turns that off.
    pub sensitive_files: Option<Vec<String>>,
    /// Regular expressions for commands that are never run.
    pub blocked_commands: Vec<String>,
    /// Maximum number of files that a run may change.
    pub max_files_modified: Option<Bounded<1, 1_000_000>>,
    /// Maximum number of lines that a run may add and remove.
    pub max_lines_changed: Option<Bounded<1, 100_000_000>>,
    /// Maximum number of commands that a run may execute.
    pub max_commands_executed: Option<Bounded<0, 1_000_000>>,
    /// Whether an agent that wants to finish with untested edits is told, once, to run its tests.
    pub require_test_after_edit: bool,
    /// Rules on text that is added to files.
    pub code_rules: Vec<CodeRule>,
    /// Commands that must succeed when the agent says it is done. Each needs a unique name.
    #[serde(deserialize_with = "distinct")]
    pub quality_gates: Vec<GateConfig>,
    /// Maximum number of times the gates run: until then, a failed required gate sends the agent back to
    /// work.
    pub max_gate_rounds: Bounded<1, 20>,
}

impl Default for Guardrails {
    fn default() -> Self {
        Self {
            protected_files: Vec::new(),
            sensitive_files: None,
            blocked_commands: Vec::new(),
            max_files_modified: None,
            max_lines_changed: None,
            max_commands_executed: None,
            require_test_after_edit: false,
            code_rules: Vec::new(),
            quality_gates: Vec::new(),
            max_gate_rounds: Bounded::fixed::<3>(),
        }
    }
}

/// A rule on text that is added to files.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeRule {
    /// Regular expression; `^` and `$` match at each line.
    pub pattern: String,
    /// What is wrong with matching text, for the agent and for people.
    pub message: String,
    /// What happens to a write whose text matches.
    #[serde(default)]
    pub severity: Severity,
}

/// Severity of a match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The agent is warned.
    #[default]
    Warn,
    /// The write is refused.
    Block,
}

/// Reads a text in which there is something.
fn filled<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.trim().is_empty() { Err(D::Error::custom("this must not be empty")) } else { Ok(text) }
}

/// Reads gates that can be distinguished by their names.
fn distinct<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<GateConfig>, D::Error> {
    let gates = Vec::<GateConfig>::deserialize(deserializer)?;
    let mut names = BTreeSet::new();
    match gates.iter().find(|gate| !names.insert(gate.name.as_str())) {
        Some(gate) => Err(D::Error::custom(format!(
            "two quality gates are named `{}`; give each a unique name",
            gate.name
        ))),
        None => Ok(gates),
    }
}

/// A quality gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GateConfig {
    /// Its name in reports.
    #[serde(deserialize_with = "filled")]
    #[schemars(length(min = 1))]
    pub name: String,
    /// The command line; exit code 0 passes.
    #[serde(deserialize_with = "filled")]
    #[schemars(length(min = 1))]
    pub command: String,
    /// Whether its failure ends the run as partial, with exit code 1.
    #[serde(default = "yes")]
    pub required: bool,
    /// Time limit in seconds.
    #[serde(default = "gate_timeout")]
    pub timeout: Bounded<1, 3600>,
    /// Its network; that of `commands` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
}

/// Commands at certain points of the run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Hooks {
    /// Before a tool runs; can block the call or change its arguments.
    pub pre_tool_use: Vec<HookConfig>,
    /// After a tool has run; the hook's output reaches the model.
    pub post_tool_use: Vec<HookConfig>,
    /// After a tool has edited a file: like `post_tool_use`, for edits only.
    pub post_edit: Vec<HookConfig>,
    /// Before a request to the model; can end the run.
    pub pre_llm_call: Vec<HookConfig>,
    /// After the model has answered.
    pub post_llm_call: Vec<HookConfig>,
    /// At the start; the hook's output is added to the task.
    pub session_start: Vec<HookConfig>,
    /// At the end, before the report is written.
    pub session_end: Vec<HookConfig>,
    /// When the run fails with an error.
    pub on_error: Vec<HookConfig>,
    /// When the cost reaches `costs.warn_at_usd`.
    pub budget_warning: Vec<HookConfig>,
    /// Before the conversation is compacted.
    pub context_compress: Vec<HookConfig>,
    /// When the agent says that it is done and all checks have passed.
    pub agent_complete: Vec<HookConfig>,
}

impl Hooks {
    /// Returns the hooks of all events.
    pub fn all(&self) -> impl Iterator<Item = &HookConfig> {
        self.by_event().into_iter().flat_map(|(_, hooks)| hooks)
    }

    /// Returns the hooks of each event, with its key in the configuration.
    pub fn by_event(&self) -> [(&'static str, &[HookConfig]); 11] {
        [
            ("pre_tool_use", &self.pre_tool_use),
            ("post_tool_use", &self.post_tool_use),
            ("post_edit", &self.post_edit),
            ("pre_llm_call", &self.pre_llm_call),
            ("post_llm_call", &self.post_llm_call),
            ("session_start", &self.session_start),
            ("session_end", &self.session_end),
            ("on_error", &self.on_error),
            ("budget_warning", &self.budget_warning),
            ("context_compress", &self.context_compress),
            ("agent_complete", &self.agent_complete),
        ]
    }
}

/// A hook.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookConfig {
    /// Its name in reports.
    #[serde(deserialize_with = "filled")]
    #[schemars(length(min = 1))]
    pub name: String,
    /// The command line; `{file}` becomes the quoted path of a file, in a separate run for each file of a call, and
    /// `{files}` the paths of all files.
    #[serde(deserialize_with = "filled")]
    #[schemars(length(min = 1))]
    pub command: String,
    /// Regular expression that has to match the whole tool name; `*` matches all, and `edit` whatever changes files.
    #[serde(default = "star")]
    pub matcher: String,
    /// Globs of the files that it applies to; none means all calls.
    #[serde(default)]
    pub file_patterns: Vec<String>,
    /// Time limit in seconds.
    #[serde(default = "hook_timeout")]
    pub timeout: Bounded<1, 300>,
    /// Its network; that of `commands` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// Whether the run continues without waiting for it; then it can neither block nor add text for the
    /// model.
    #[serde(default)]
    pub r#async: bool,
    /// Whether it runs at all.
    #[serde(default = "yes")]
    pub enabled: bool,
}

fn yes() -> bool {
    true
}

fn star() -> String {
    "*".to_owned()
}

fn gate_timeout() -> Bounded<1, 3600> {
    Bounded::fixed::<60>()
}

fn hook_timeout() -> Bounded<1, 300> {
    Bounded::fixed::<10>()
}
