//! The sections of the configuration file.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits::{Bounded, Usd};

/// The whole file.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The model.
    pub llm: Llm,
    /// Agents of your own, and changes to the built-in ones (`build`, `plan`, `review`).
    pub agents: BTreeMap<String, AgentConfig>,
    /// The checkout.
    pub workspace: Workspace,
    /// Commands, hooks and gates: how they are started.
    pub commands: Commands,
    /// Rules that no model output can turn off.
    pub guardrails: Guardrails,
    /// Commands of yours at points of the run.
    pub hooks: Hooks,
    /// What the model is shown.
    pub context: ContextLimits,
    /// What a run may cost.
    pub costs: Costs,
    /// How a dry run treats what it cannot plan in memory.
    pub dry_run: DryRun,
    /// Pull-request comments.
    pub github: GitHub,
    /// Where report files go, if not to the output folder.
    pub report: Report,
}

/// The model.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Llm {
    /// `provider::name`, such as `openai::gpt-5.2` or `anthropic::claude-sonnet-4-6`; `replay::FILE` plays a transcript back.
    pub model: Option<String>,
    /// Address of a compatible server, in place of the provider's own.
    pub base_url: Option<String>,
    /// Name of the environment variable that holds the key.
    pub api_key_env: Option<String>,
    /// Seconds that the server may stay silent.
    pub timeout: Bounded<1, 3600>,
    /// How often a failed call is tried again.
    pub retries: Bounded<0, 10>,
    /// Whether answers are streamed.
    pub stream: bool,
    /// Most tokens of one answer.
    pub max_tokens: Option<Bounded<1, 1_000_000>>,
    /// How hard a reasoning model thinks.
    pub reasoning_effort: Option<ReasoningEffort>,
}

impl Default for Llm {
    fn default() -> Self {
        Self {
            model: None,
            base_url: None,
            api_key_env: None,
            timeout: Bounded::fixed::<60>(),
            retries: Bounded::fixed::<2>(),
            stream: true,
            max_tokens: None,
            reasoning_effort: None,
        }
    }
}

/// How hard a reasoning model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReasoningEffort {
    /// As little as the model can.
    Minimal,
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

/// An agent: who it is and what it may do.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentConfig {
    /// Replaces the built-in prompt.
    pub system_prompt: Option<String>,
    /// Names of the tools it has; unknown names are ignored.
    pub allowed_tools: Option<Vec<String>>,
    /// Model calls that it may make.
    pub max_steps: Option<Bounded<1, 1000>>,
    /// Another model for this agent.
    pub model: Option<String>,
}

/// The checkout.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Workspace {
    /// Folder of the checkout.
    pub root: String,
    /// Whether `delete_file` may delete.
    pub allow_delete: bool,
    /// Lifts the protection of `.github/workflows` and nothing else.
    pub allow_workflow_edits: bool,
}

impl Default for Workspace {
    fn default() -> Self {
        Self { root: ".".to_owned(), allow_delete: false, allow_workflow_edits: false }
    }
}

/// How child processes are started.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Commands {
    /// Whether the agent may run commands at all.
    pub enabled: bool,
    /// Seconds that a command of the agent's may take which does not say so itself.
    pub default_timeout: Bounded<1, 600>,
    /// Lines of a command's output that the agent is shown: the first and the last ones.
    pub max_output_lines: Bounded<10, 5000>,
    /// Regular expressions on commands that are never run, besides the built-in ones.
    pub blocked_patterns: Vec<String>,
    /// Beginnings of commands that only look, such as `terraform validate`, besides the built-in ones.
    pub safe_commands: Vec<String>,
    /// Beginnings of commands that build, test or format, such as `npx turbo test`, besides the built-in ones.
    pub dev_commands: Vec<String>,
    /// Whether dangerous commands are refused; always true in CI, else false unless set.
    pub allowed_only: Option<bool>,
    /// Variables that children see although their names look secret.
    pub env_passthrough: Vec<String>,
    /// The shell that runs commands, hooks and gates.
    pub shell: String,
    /// Walls around commands, hooks and gates, by the kernel.
    pub sandbox: SandboxMode,
    /// Whether commands, hooks and gates may use the network.
    pub network: Network,
    /// Further places that they may write to; `~/` is the home folder.
    pub writable_paths: Vec<String>,
}

/// Walls around child processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SandboxMode {
    /// Where the kernel offers them; where not, the run says so.
    #[default]
    Auto,
    /// None.
    Off,
    /// Without them there is no run.
    Required,
}

/// Whether child processes may use TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// They may.
    #[default]
    Allow,
    /// They may not; needs a sandbox.
    Deny,
}

impl Default for Commands {
    fn default() -> Self {
        Self {
            enabled: true,
            default_timeout: Bounded::fixed::<30>(),
            max_output_lines: Bounded::fixed::<200>(),
            blocked_patterns: Vec::new(),
            safe_commands: Vec::new(),
            dev_commands: Vec::new(),
            allowed_only: None,
            env_passthrough: Vec::new(),
            shell: "bash".to_owned(),
            sandbox: SandboxMode::default(),
            network: Network::default(),
            writable_paths: Vec::new(),
        }
    }
}

/// Rules that no model output can turn off.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Guardrails {
    /// Globs of files that must not be written.
    pub protected_files: Vec<String>,
    /// Globs of files that must not be read or written.
    pub sensitive_files: Vec<String>,
    /// Regular expressions on commands that are never run.
    pub blocked_commands: Vec<String>,
    /// Most files that a run may change.
    pub max_files_modified: Option<Bounded<1, 1_000_000>>,
    /// Most lines that a run may add and remove.
    pub max_lines_changed: Option<Bounded<1, 100_000_000>>,
    /// Most commands that a run may execute.
    pub max_commands_executed: Option<Bounded<0, 1_000_000>>,
    /// Whether an agent that wants to finish with untested edits is told, once, to run its tests.
    pub require_test_after_edit: bool,
    /// Rules on the text that files gain.
    pub code_rules: Vec<CodeRule>,
    /// Commands that must succeed when the agent says it is done.
    pub quality_gates: Vec<GateConfig>,
    /// How often the gates run: a failed required one sends the agent back to work, until they are used up.
    pub max_gate_rounds: Bounded<1, 20>,
}

impl Default for Guardrails {
    fn default() -> Self {
        Self {
            protected_files: Vec::new(),
            sensitive_files: Vec::new(),
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

/// A rule on the text that files gain.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeRule {
    /// Regular expression; `^` and `$` fit at each line.
    pub pattern: String,
    /// What is wrong with it, for the agent and for people.
    pub message: String,
    /// What happens to a write whose text fits.
    #[serde(default)]
    pub severity: Severity,
}

/// How bad it is that text fits a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The agent is warned.
    #[default]
    Warn,
    /// The write is refused.
    Block,
}

/// A quality gate.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GateConfig {
    /// Its name in reports.
    pub name: String,
    /// The command line; exit code 0 passes.
    pub command: String,
    /// Whether its failure fails the run.
    #[serde(default = "yes")]
    pub required: bool,
    /// Seconds that it may take.
    #[serde(default = "gate_timeout")]
    pub timeout: Bounded<1, 3600>,
}

/// Commands at points of the run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Hooks {
    /// Before a tool runs; can block the call or change its arguments.
    pub pre_tool_use: Vec<HookConfig>,
    /// After a tool ran; its words reach the model.
    pub post_tool_use: Vec<HookConfig>,
    /// After a tool has edited a file: as `post_tool_use`, for edits alone.
    pub post_edit: Vec<HookConfig>,
    /// Before the model is asked; can end the run.
    pub pre_llm_call: Vec<HookConfig>,
    /// After the model has answered.
    pub post_llm_call: Vec<HookConfig>,
    /// At the start; its words are added to the task.
    pub session_start: Vec<HookConfig>,
    /// At the end, before the report is written.
    pub session_end: Vec<HookConfig>,
    /// When the run fails for an error.
    pub on_error: Vec<HookConfig>,
    /// When the cost passes `costs.warn_at_usd`.
    pub budget_warning: Vec<HookConfig>,
    /// Before the conversation is compacted.
    pub context_compress: Vec<HookConfig>,
    /// When the agent says that it is done, and nothing stands against it.
    pub agent_complete: Vec<HookConfig>,
}

/// A hook.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookConfig {
    /// Its name in reports.
    pub name: String,
    /// The command line; `{file}` becomes the quoted path of the file.
    pub command: String,
    /// Regular expression on the whole tool name; `*` fits all.
    #[serde(default = "star")]
    pub matcher: String,
    /// Globs of the files that it is for; none means all calls.
    #[serde(default)]
    pub file_patterns: Vec<String>,
    /// Seconds that it may take.
    #[serde(default = "hook_timeout")]
    pub timeout: Bounded<1, 300>,
    /// Whether the run goes on without waiting for it; then it cannot block, nor say anything to the model.
    #[serde(default)]
    pub r#async: bool,
    /// Whether it runs at all.
    #[serde(default = "yes")]
    pub enabled: bool,
}

/// What the model is shown.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ContextLimits {
    /// Most tokens of one tool result; longer ones keep head and tail.
    pub max_tool_result_tokens: Bounded<100, 1_000_000>,
    /// Most tokens of the conversation.
    pub max_context_tokens: Bounded<1_000, 10_000_000>,
    /// Whether calls of one turn that only read run side by side.
    pub parallel_tools: bool,
    /// Answers of the model after which the older part of a long conversation may become a summary.
    pub summarize_after_steps: Bounded<2, 1000>,
    /// Answers that are kept as they are then.
    pub keep_recent_steps: Bounded<1, 100>,
}

/// What a run may cost.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Costs {
    /// USD after which the run ends as partial.
    pub budget_usd: Option<Usd>,
    /// USD after which a warning is given, and the hooks of `budget_warning` run.
    pub warn_at_usd: Option<Usd>,
    /// A YAML file of prices above the built-in ones: `name: { input, cached, output }`, USD for a million tokens.
    pub prices_file: Option<String>,
}

impl Default for ContextLimits {
    fn default() -> Self {
        Self {
            max_tool_result_tokens: Bounded::fixed::<2_000>(),
            max_context_tokens: Bounded::fixed::<80_000>(),
            parallel_tools: true,
            summarize_after_steps: Bounded::fixed::<8>(),
            keep_recent_steps: Bounded::fixed::<4>(),
        }
    }
}

/// How a dry run treats what it cannot plan in memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DryRun {
    /// Whether commands are recorded alone, or run in a throw-away copy of the planned state as well.
    pub commands: PlannedCommands,
    /// Whether gates run on a throw-away copy of the planned state.
    pub gates: Isolation,
}

/// What happens to commands in a dry run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlannedCommands {
    /// They are recorded.
    #[default]
    Record,
    /// Safe and dev ones run in a copy, and the files that they change join the plan.
    Isolated,
}

/// What happens to gates in a dry run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// They run on a copy.
    #[default]
    Isolated,
    /// They do not run.
    Skip,
}

/// Pull-request comments.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GitHub {
    /// When the comment is posted.
    pub comment: Comment,
    /// Tells the comments of several jobs on one pull request apart.
    pub comment_key: String,
}

impl Default for GitHub {
    fn default() -> Self {
        Self { comment: Comment::default(), comment_key: "architect-ci".to_owned() }
    }
}

/// When the comment is posted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Comment {
    /// After every run.
    #[default]
    Always,
    /// When files changed or were planned to, or the run did not succeed.
    OnChange,
    /// Never.
    Never,
}

/// Where report files go; a path is relative to the output folder.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Report {
    /// JUnit XML.
    pub junit: Option<String>,
    /// The report as JSON.
    pub json: Option<String>,
    /// The report as Markdown.
    pub markdown: Option<String>,
    /// The report as one HTML page.
    pub html: Option<String>,
    /// The plan.
    pub plan: Option<String>,
    /// The plan's patch.
    pub patch: Option<String>,
    /// The transcript.
    pub transcript: Option<String>,
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
