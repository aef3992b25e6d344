//! The configuration file: its types (from which its JSON Schema is made), loading, and trust.

mod error;
mod limits;
mod sections;
mod source;

pub use error::ConfigError;
pub use limits::{Bounded, Usd};
pub use sections::{
    AgentConfig, CodeRule, Commands, Comment, Config, ContextLimits, Costs, DryRun, GateConfig, GitHub,
    Guardrails, HookConfig, Hooks, Isolation, Llm, Network, PlannedCommands, ReasoningEffort, Report,
    SandboxMode, Severity, Workspace,
};
pub use source::{Origin, Remote, Trust, Trusted, TrustedFile, parse, parse_as};
