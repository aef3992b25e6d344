//! The configuration file: its types, from which the JSON Schema is generated, and how it is parsed.

mod apply;
mod costs;
mod dry_run;
mod error;
mod github;
mod host_sets;
pub mod hosts;
mod invalid_host;
mod network;
mod reporting;
mod rules;
mod sections;
mod source;
mod tests;
mod verb;

pub use apply::{Apply, Follow, LockFiles, Requirement};
pub use costs::{Costs, Unmeasured};
pub use dry_run::{DryRun, Isolation, PlannedCommands};
pub use error::{ConfigError, Fault};
pub use github::{Comment, DEFAULT_KEY, Deliver, DeliverTo, GitHub, PartialDelivery};
pub use hosts::{HostRule, LocalServer, entry_for};
pub use network::{AllowedHosts, Network, NetworkMode};
pub use reporting::{Report, Review, Telemetry};
pub use rules::{CodeRule, GateConfig, Guardrails, HookConfig, Hooks, Severity};
pub use sections::{
    AgentConfig, Commands, Config, ConfirmMode, ContextLimits, Evaluation, Llm, McpServer, ReasoningEffort,
    SandboxMode, Web, Workspace,
};
pub use source::{check, parse, parse_as};
pub use tests::{ProveTests, TestIntegrity, Tests, Unproven};
pub use verb::Verb;
