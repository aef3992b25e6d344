//! Sections of the configuration file.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workspace::WorkspacePath;

use super::apply::Apply;
use super::costs::Costs;
use super::dry_run::DryRun;
use super::github::{Deliver, GitHub};
use super::network::Network;
use super::reporting::{Report, Review, Telemetry};
use super::rules::{Guardrails, Hooks};
use super::tests::Tests;
use crate::base::bounded::Bounded;
use crate::event::Expectation;

/// The whole file.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The model.
    pub llm: Llm,
    /// Agents of your own, and changes to the built-in ones (`build`, `plan`, `recipe`, `review`, `resume`).
    pub agents: BTreeMap<String, AgentConfig>,
    /// The checkout.
    pub workspace: Workspace,
    /// How commands, hooks and gates are started.
    pub commands: Commands,
    /// Rules that no model output can turn off.
    pub guardrails: Guardrails,
    /// Commands of yours at certain points of the run.
    pub hooks: Hooks,
    /// Tools of MCP servers.
    pub mcp: Mcp,
    /// Web pages and search.
    pub web: Web,
    /// What the model is shown.
    pub context: ContextLimits,
    /// What a run may cost.
    pub costs: Costs,
    /// What a run must leave behind, or else it fails. By default, agents that only read are expected to change nothing;
    /// others, if their changes are delivered, to change something.
    pub expect: Option<Expectation>,
    /// How the result is checked against the task.
    pub evaluation: Evaluation,
    /// What the tests of a change have to prove, and what happens if tests are weakened.
    pub tests: Tests,
    /// Whether an agent that only reads reviews the changes at the end.
    pub review: Review,
    /// How a dry run treats what it cannot plan in memory.
    pub dry_run: DryRun,
    /// What is published on GitHub, and which commands are accepted there.
    pub github: GitHub,
    /// Conditions for applying a plan, and limits on what one job may write.
    pub apply: Apply,
    /// Where changes go.
    pub deliver: Deliver,
    /// Where report files go, if not to the output folder.
    pub report: Report,
    /// Traces of runs.
    pub telemetry: Telemetry,
}

/// The model.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Llm {
    /// `provider::name`, such as `openai::gpt-5.2` or `anthropic::claude-sonnet-4-6`; `replay::FILE` plays a
    /// transcript back.
    pub model: Option<String>,
    /// Address of a compatible server, in place of the provider's own.
    pub base_url: Option<String>,
    /// Name of the environment variable that holds the key.
    pub api_key_env: Option<String>,
    /// Seconds that the server may stay silent.
    pub timeout: Bounded<1, 3600>,
    /// Seconds that a whole answer may take.
    pub answer_timeout: Bounded<1, 86_400>,
    /// Maximum number of requests in a minute. A provider's rate limit is detected and respected without it. It applies
    /// to one process: each shard of a batch has its own.
    pub requests_per_minute: Option<Bounded<1, 1_000_000>>,
    /// How often a failed request is retried. Waiting for the model's rate limit does not
    /// count.
    pub retries: Bounded<0, 10>,
    /// Whether answers are streamed.
    pub stream: bool,
    /// Whether requests mark what the provider should cache for the next one, where the provider expects
    /// that.
    pub prompt_caching: bool,
    /// Maximum number of tokens of one answer.
    pub max_tokens: Option<Bounded<1, 1_000_000>>,
    /// How hard a reasoning model thinks.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// The network of a program that is the model (`exec::COMMAND`); that of `commands` if absent.
    pub network: Option<Network>,
}

impl Default for Llm {
    fn default() -> Self {
        Self {
            model: None,
            base_url: None,
            api_key_env: None,
            timeout: Bounded::fixed::<60>(),
            answer_timeout: Bounded::fixed::<1800>(),
            requests_per_minute: None,
            retries: Bounded::fixed::<2>(),
            stream: true,
            prompt_caching: true,
            max_tokens: None,
            reasoning_effort: None,
            network: None,
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
    /// Names of the tools it has.
    pub allowed_tools: Option<Vec<String>>,
    /// How a person confirms its calls where no mode is given: `yolo` (not at all), `confirm-sensitive` or
    /// `confirm-all`. In CI nobody can, so there the mode is `dry-run` unless another is given.
    pub confirm_mode: Option<ConfirmMode>,
    /// Maximum number of model calls, after which one more asks for a summary.
    pub max_steps: Option<Bounded<1, 10_000>>,
    /// Another model for this agent.
    pub model: Option<String>,
}

/// How a person confirms the calls of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConfirmMode {
    /// Not at all.
    Yolo,
    /// Those that change something.
    ConfirmSensitive,
    /// Each of them.
    ConfirmAll,
}

/// The checkout.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Workspace {
    /// Folder of the checkout.
    pub root: String,
    /// Whether `delete_file` is allowed to delete.
    pub allow_delete: bool,
    /// Lifts the protection of `.github/workflows` and nothing else.
    pub allow_workflow_edits: bool,
    /// Folders outside of the checkout, relative to it or absolute, that tools and commands may read, except
    /// sensitive files; commands do not see these, nor `.git` folders in them. Tools name the folders by their absolute paths, or by `@`
    /// and the folder's name.
    pub extra_dirs: Vec<String>,
}

impl Default for Workspace {
    fn default() -> Self {
        Self {
            root: ".".to_owned(),
            allow_delete: false,
            allow_workflow_edits: false,
            extra_dirs: Vec::new(),
        }
    }
}

/// How child processes are started.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Commands {
    /// Whether the agent may run commands at all.
    pub enabled: bool,
    /// Time limit in seconds of the agent's commands that do not set their own.
    pub default_timeout: Bounded<1, 600>,
    /// Maximum number of lines of a command's output that the agent is shown, where `context.max_tool_result_tokens` does not cut it
    /// before: the first and the last ones, and those between them that look like failures.
    pub max_output_lines: Bounded<10, 5000>,
    /// Regular expressions for commands that are never run, besides the built-in ones.
    pub blocked_patterns: Vec<String>,
    /// Prefixes of commands that only read, such as `terraform validate`, besides the built-in ones.
    pub safe_commands: Vec<String>,
    /// Prefixes of commands that build, test or format, such as `npx turbo test`, besides the built-in ones.
    pub dev_commands: Vec<String>,
    /// Whether dangerous commands are refused; always true in CI, otherwise false unless set.
    pub allowed_only: Option<bool>,
    /// Variables that children see besides those that are known or plainly harmless.
    pub env_passthrough: Vec<String>,
    /// The shell that runs commands, hooks and gates.
    pub shell: String,
    /// Sandbox for commands, hooks and gates, enforced by the kernel.
    pub sandbox: SandboxMode,
    /// The network of commands, hooks and gates; `allow` if absent, but for the agent's commands in CI, which can reach the
    /// sets of hosts that the checkout's manifests name, where that can be enforced.
    pub network: Option<Network>,
    /// Further places that they may write to; `~/` is the home folder.
    pub writable_paths: Vec<String>,
    /// Further places that they may read, besides the workspace, the system, toolchains and caches; `~/` is
    /// the home folder.
    pub readable_paths: Vec<String>,
}

impl<'a> From<&'a Commands> for shell::CustomRules<'a> {
    fn from(commands: &'a Commands) -> Self {
        Self {
            blocked_patterns: &commands.blocked_patterns,
            safe_commands: &commands.safe_commands,
            dev_commands: &commands.dev_commands,
        }
    }
}

/// Sandbox for child processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SandboxMode {
    /// Used where the kernel offers it; otherwise the run gives a warning.
    #[default]
    Auto,
    /// Not used.
    Off,
    /// Without it, a run does not start.
    Required,
}

impl Default for Commands {
    fn default() -> Self {
        Self {
            enabled: true,
            default_timeout: Bounded::fixed::<120>(),
            max_output_lines: Bounded::fixed::<2000>(),
            blocked_patterns: Vec::new(),
            safe_commands: Vec::new(),
            dev_commands: Vec::new(),
            allowed_only: None,
            env_passthrough: Vec::new(),
            shell: "bash".to_owned(),
            sandbox: SandboxMode::default(),
            network: None,
            writable_paths: Vec::new(),
            readable_paths: Vec::new(),
        }
    }
}

/// Tools of MCP servers.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Mcp {
    /// MCP servers; their tools are called `mcp_SERVER_TOOL`.
    pub servers: Vec<McpServer>,
}

/// An MCP server: a program, or an address.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpServer {
    /// Part of its tools' names: letters, digits, `-` and `_`.
    pub name: String,
    /// The program that speaks MCP over its standard streams.
    pub command: Option<String>,
    /// The program's arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// The program's variables; a secret is better passed by `token_env`.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The address that speaks MCP over streamable HTTP.
    pub url: Option<String>,
    /// Name of the environment variable that holds its token: the bearer token for `url`, or a variable that
    /// `command` sees.
    pub token_env: Option<String>,
    /// Names of its tools that are used; all of them if absent.
    pub allowed_tools: Option<Vec<String>>,
    /// Whether a program with a secret sees the checkout, at the path in `ARCHITECT_WORKSPACE`, even where that is not trusted
    /// and the program starts in the base commit's files.
    #[serde(default)]
    pub sees_checkout: bool,
    /// The network of its program; that of `commands` if absent.
    pub network: Option<Network>,
    /// Time limit in seconds for each call.
    #[serde(default = "minute")]
    pub timeout: Bounded<1, 3600>,
    /// Time limit in seconds for its start, until it has listed its tools; 20 if absent, or `timeout` where that is less.
    pub start_timeout: Option<Bounded<1, 3600>>,
}

fn minute() -> Bounded<1, 3600> {
    Bounded::fixed::<60>()
}

/// Web pages and search: what an agent asks for leaves the runner, so this is off by default.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Web {
    /// Whether agents have `fetch_url` and `web_search`.
    pub enabled: bool,
    /// Address of a search engine, with `{query}` in it; HTML of DuckDuckGo, SearXNG or Bing, or JSON.
    pub search_url: String,
    /// Hosts, with their subdomains, that pages may come from; any public one if empty.
    pub allowed_hosts: Vec<String>,
}

impl Default for Web {
    fn default() -> Self {
        let search_url = "https://html.duckduckgo.com/html/?q={query}".to_owned();
        Self { enabled: false, search_url, allowed_hosts: Vec::new() }
    }
}

/// What the model is shown.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ContextLimits {
    /// Maximum number of tokens of one tool result; of longer ones, only a part is shown.
    pub max_tool_result_tokens: Bounded<100, 1_000_000>,
    /// Maximum number of tokens of the conversation.
    pub max_context_tokens: Bounded<1_000, 10_000_000>,
    /// Whether read-only calls of one turn run in parallel.
    pub parallel_tools: bool,
    /// Number of the model's answers after which the older part of a long conversation may become a summary.
    pub summarize_after_steps: Bounded<2, 1000>,
    /// Number of recent answers that are then kept as they are.
    pub keep_recent_steps: Bounded<1, 100>,
    /// Files that the model sees from the start, and again whenever they have changed.
    pub refresh_files: Vec<WorkspacePath>,
}

impl Default for ContextLimits {
    fn default() -> Self {
        Self {
            max_tool_result_tokens: Bounded::fixed::<5_000>(),
            max_context_tokens: Bounded::fixed::<80_000>(),
            parallel_tools: true,
            summarize_after_steps: Bounded::fixed::<8>(),
            keep_recent_steps: Bounded::fixed::<4>(),
            refresh_files: Vec::new(),
        }
    }
}

/// How the result is checked against the task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Evaluation {
    /// The agent itself compares the task with what it did, in one more turn, if it has changed files.
    #[default]
    Checklist,
    /// Not at all.
    Off,
    /// One call; a task that is not done makes the run partial.
    Basic,
    /// One call; a task that is not done goes back to the agent, at most twice.
    Full,
}
