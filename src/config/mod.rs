//! The configuration file: its types, from which the JSON Schema is generated, and how it is parsed.

mod dry_run;
mod error;
mod github;
pub mod hosts;
mod network;
mod reporting;
mod rules;
mod sections;
mod source;
mod verb;

pub use crate::base::bounded::{Bounded, Usd};
pub use dry_run::{DryRun, Isolation, PlannedCommands};
pub use error::{ConfigError, Fault};
pub use github::{Comment, DEFAULT_KEY, Deliver, DeliverTo, GitHub};
pub use hosts::HostRule;
pub use network::{AllowedHosts, Network, NetworkMode};
pub use reporting::{Report, Review, Telemetry};
pub use rules::{CodeRule, GateConfig, Guardrails, HookConfig, Hooks, Severity};
pub use sections::{
    AgentConfig, Commands, Config, ConfirmMode, ContextLimits, Costs, Evaluation, Llm, McpServer,
    ReasoningEffort, SandboxMode, Unmeasured, Web, Workspace,
};
pub use source::{check, parse, parse_as};
pub use verb::Verb;
