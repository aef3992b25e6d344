//! The sections on what happens with what a run has done: review, report files, traces.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits::Bounded;
use crate::event::Severity;

/// The review of what a run has changed, by an agent that only reads.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Review {
    /// Whether there is one.
    pub enabled: bool,
    /// The reviewer's model; else the run's.
    pub model: Option<String>,
    /// Address of a compatible server for that model.
    pub base_url: Option<String>,
    /// Name of the variable that holds that model's key.
    pub api_key_env: Option<String>,
    /// Replaces what the reviewer is told of its work.
    pub prompt: Option<String>,
    /// How often findings go back to the agent to be mended.
    pub max_fix_passes: Bounded<0, 5>,
    /// The least finding that goes back to the agent.
    pub fix: Severity,
    /// The least finding that makes the run partial, if any does.
    pub fail_on: Option<Severity>,
}

impl Default for Review {
    fn default() -> Self {
        Self {
            enabled: false,
            model: None,
            base_url: None,
            api_key_env: None,
            prompt: None,
            max_fix_passes: Bounded::fixed::<1>(),
            fix: Severity::Warning,
            fail_on: None,
        }
    }
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

/// Traces of runs, sent to a receiver of OpenTelemetry (OTLP over HTTP, as JSON) when a run is over.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Telemetry {
    /// Whether they are sent.
    pub enabled: bool,
    /// The receiver, without `/v1/traces`; else what `OTEL_EXPORTER_OTLP_ENDPOINT` says. Headers, such as a key,
    /// come from `OTEL_EXPORTER_OTLP_HEADERS`.
    pub endpoint: Option<String>,
    /// The service's name.
    pub service_name: String,
    /// Whether words of models, tools, hooks and gates are sent as well, masked.
    pub content: bool,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self { enabled: false, endpoint: None, service_name: "architect-ci".to_owned(), content: false }
    }
}
