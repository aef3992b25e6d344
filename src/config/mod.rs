//! Configuration file: its types, from which the JSON Schema is generated, how it is loaded, and which state
//! of the repository is trusted for it.

mod error;
mod github;
mod limits;
mod location;
mod reporting;
mod rules;
mod sections;
mod source;

pub use error::ConfigError;
pub use github::{Comment, DEFAULT_KEY, Deliver, DeliverTo, GitHub};
pub use limits::{Bounded, Usd};
pub(crate) use location::normalize;
pub use reporting::{Report, Review, Telemetry};
pub use rules::{CodeRule, GateConfig, Guardrails, HookConfig, Hooks, Severity};
pub use sections::{
    AgentConfig, Commands, Config, ContextLimits, Costs, DryRun, Evaluation, Isolation, Llm, McpServer,
    Network, PlannedCommands, ReasoningEffort, SandboxMode, Web, Workspace,
};
pub use source::{Origin, Remote, Trust, Trusted, TrustedFile, parse, parse_as};
