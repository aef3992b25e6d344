//! Sections `review`, `report` and `telemetry`: what happens with the results of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::bounded::Bounded;
use crate::event::Severity;

/// The code review of a run's changes, by an agent that only reads.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Review {
    /// Whether there is a code review.
    pub enabled: bool,
    /// The reviewer's model; otherwise the run's.
    pub model: Option<String>,
    /// Address of a compatible server for that model.
    pub base_url: Option<String>,
    /// Name of the variable that holds that model's key.
    pub api_key_env: Option<String>,
    /// Replaces the reviewer's instructions.
    pub prompt: Option<String>,
    /// How often findings go back to the agent to be fixed.
    pub max_fix_passes: Bounded<0, 5>,
    /// The lowest severity of findings that go back to the agent.
    pub fix: Severity,
    /// The lowest severity of findings that make the run partial, if any does.
    pub fail_on: Option<Severity>,
    /// Whether agents that only read review pull requests: their answers are findings, which are posted as one review, and
    /// after the first time they are shown only what is new.
    pub pull_requests: bool,
    /// How certain the reviewer has to be of a finding, in percent; less certain ones are dropped.
    pub min_confidence: Bounded<0, 100>,
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
            pull_requests: false,
            min_confidence: Bounded::fixed::<0>(),
        }
    }
}

/// Where report files go; paths are relative to the output folder.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Report {
    /// JUnit XML.
    pub junit: Option<String>,
    /// Findings as SARIF, for code scanning.
    pub sarif: Option<String>,
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

/// Traces of runs, sent to an OpenTelemetry receiver (OTLP over HTTP, as JSON) at the end of a run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Telemetry {
    /// Whether traces are sent.
    pub enabled: bool,
    /// The receiver, without `/v1/traces`; otherwise that of `OTEL_EXPORTER_OTLP_ENDPOINT`. Headers, such as
    /// a key, come from `OTEL_EXPORTER_OTLP_HEADERS`.
    pub endpoint: Option<String>,
    /// The service's name.
    pub service_name: String,
    /// Whether the texts of models, tools, hooks and gates are sent as well, masked.
    pub content: bool,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self { enabled: false, endpoint: None, service_name: "architect-ci".to_owned(), content: false }
    }
}
