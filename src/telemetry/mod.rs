//! Traces for OpenTelemetry: a run and what happened in it as spans, by the semantic conventions for
//! generative AI. They are made from the same events as every report, and sent once, at the end, as OTLP
//! over HTTP.
//!
//! Names, counts, times and outcomes are sent; what models and tools wrote is sent only if the
//! configuration asks for it.

mod endpoint;
mod span;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use reqwest::header::CONTENT_TYPE;
use sanitize::Masker;
use serde_json::{Value, json};

use crate::base::env::Variables;
use crate::base::error::chain;
use crate::base::http::http_client;
use crate::base::network_clock::{NetworkClock, Stage};
use crate::config;
use crate::event::{Event, GateVerdict, Line, Observer, Status};

use endpoint::Endpoint;
pub(crate) use endpoint::EndpointError;
pub(crate) use endpoint::secrets;
use span::{Attributes, Span, resource};

/// Timeout for sending all spans.
const TIME: Duration = Duration::from_secs(10);
/// Maximum number of spans of one run, and of one request.
const MAX_SPANS: usize = 20_000;
const MAX_BATCH: usize = 1_000;
/// Maximum length of an attribute, in bytes.
const MAX_TEXT: usize = 8_000;

/// The inputs of a trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TelemetryOptions<'a> {
    /// The section `telemetry` of the configuration.
    pub config: &'a config::Telemetry,
    /// The variables of the process: the endpoint's keys, and the trace that this one is part of.
    pub variables: &'a Variables,
    /// The name of the main agent.
    pub agent: &'a str,
    /// The model's name as the user wrote it.
    pub model: &'a str,
    /// The duration of the earlier parts of a resumed run.
    pub earlier: Duration,
}

/// An observer that turns the events of a run into spans.
pub(crate) struct Telemetry {
    endpoint: Endpoint,
    masker: Arc<Masker>,
    content: bool,
    resource: Value,
    trace: String,
    /// The id of the span that started this run, from `TRACEPARENT`.
    parent: Option<String>,
    started: SystemTime,
    lead: String,
    model: String,
    state: Mutex<State>,
}

/// Why spans were not received.
#[derive(Debug, thiserror::Error)]
enum SendError {
    #[error(transparent)]
    Http(#[from] reqwest::Error),
    #[error("HTTP {0}")]
    Status(u16),
    #[error("no answer in time")]
    Late,
}

#[derive(Default)]
struct State {
    spans: Vec<Value>,
    dropped: usize,
    /// For each agent, the id of its span, and the first and last times at which it was seen, in
    /// milliseconds.
    agents: HashMap<String, (String, u64, u64)>,
    ended: Option<(Status, String)>,
    conversation: String,
}

impl State {
    /// Returns the id of an agent's span, and extends the span to this period.
    fn span_of(&mut self, agent: &str, from: u64, to: u64) -> String {
        let known = self.agents.entry(agent.to_owned()).or_insert_with(|| (id(16), from, to));
        known.1 = known.1.min(from);
        known.2 = known.2.max(to);
        known.0.clone()
    }
}

impl Telemetry {
    /// Begins a trace, where one is wanted.
    pub(crate) fn start(
        options: TelemetryOptions<'_>,
        masker: &Arc<Masker>,
    ) -> Result<Option<Arc<Self>>, EndpointError> {
        let TelemetryOptions { config, variables, agent, model, earlier } = options;
        if !config.enabled {
            return Ok(None);
        }
        let endpoint = Endpoint::new(config.endpoint.as_deref(), variables)?;
        let given = variables.get("TRACEPARENT").and_then(|text| parent(text));
        let (trace, parent) = given.map_or_else(|| (id(32), None), |(trace, span)| (trace, Some(span)));
        Ok(Some(Arc::new(Self {
            endpoint,
            masker: Arc::clone(masker),
            content: config.content,
            resource: resource(variables, &config.service_name),
            trace,
            parent,
            // A run that continues counts its time from its first beginning.
            started: SystemTime::now() - earlier,
            lead: agent.to_owned(),
            model: model.to_owned(),
            state: Mutex::default(),
        })))
    }

    /// Sends all spans; a failure is logged as a warning.
    pub(crate) async fn send(&self, clock: &NetworkClock) {
        let (spans, dropped) = self.close();
        if dropped > 0 {
            tracing::warn!("warning: telemetry: {dropped} spans were left out");
        }
        let sent = clock.within(Stage::Results, tokio::time::timeout(TIME, self.post(&spans))).await;
        let error = match sent {
            Ok(Ok(Ok(()))) => return,
            Ok(Ok(Err(error))) => error,
            Ok(Err(_)) | Err(_) => SendError::Late,
        };
        tracing::warn!("warning: could not send telemetry to {}: {}", self.endpoint.url, chain(&error));
    }

    async fn post(&self, spans: &[Value]) -> Result<(), SendError> {
        let client = http_client(TIME, "OTEL_EXPORTER_OTLP_ENDPOINT")?;
        let scope = json!({"name": "architect-ci", "version": env!("CARGO_PKG_VERSION")});
        for part in spans.chunks(MAX_BATCH) {
            let body = json!({"resourceSpans": [{
                "resource": self.resource,
                "scopeSpans": [{"scope": scope, "spans": part}],
            }]});
            let request = client
                .post(&self.endpoint.url)
                .headers(self.endpoint.headers.clone())
                .header(CONTENT_TYPE, "application/json")
                .body(body.to_string());
            // The URL may hold a key, so it is left out.
            let answer = request.send().await.map_err(reqwest::Error::without_url)?;
            if !answer.status().is_success() {
                return Err(SendError::Status(answer.status().as_u16()));
            }
        }
        Ok(())
    }

    /// Takes all spans, and adds those of the agents, which end last because they contain all others.
    /// Returns them with the number of spans that were left out.
    fn close(&self) -> (Vec<Value>, usize) {
        let mut state = self.state.lock();
        let now = crate::event::millis(self.started.elapsed().unwrap_or_default());
        let root = state.span_of(&self.lead, 0, now);
        let mut spans = std::mem::take(&mut state.spans);
        let conversation = std::mem::take(&mut state.conversation);
        for (name, (span, from, to)) in &state.agents {
            let leads = *name == self.lead;
            let parent = if leads { self.parent.clone() } else { Some(root.clone()) };
            let mut attributes = Attributes::new("invoke_agent");
            attributes.text("gen_ai.agent.name", name);
            attributes.text("gen_ai.conversation.id", &conversation);
            self.model_of(&mut attributes);
            let mut error = None;
            if let Some((status, reason)) = state.ended.as_ref().filter(|_| leads) {
                attributes.text("architect_ci.status", &status.to_string());
                error = (*status == Status::Failed).then(|| reason.clone());
            }
            let (from, to) = if leads { (0, now) } else { (*from, *to) };
            let span =
                Span { id: span, parent: parent.as_deref(), name: &format!("invoke_agent {name}"), kind: 1 };
            spans.push(self.span(&span, (from, to), attributes, error.as_deref()));
        }
        (spans, state.dropped)
    }

    fn model_of(&self, attributes: &mut Attributes) {
        let (provider, model) = self.model.split_once("::").unwrap_or(("", &self.model));
        attributes.text("gen_ai.provider.name", provider_name(provider));
        attributes.text("gen_ai.request.model", model);
    }

    fn span(
        &self,
        span: &Span<'_>,
        (from, to): (u64, u64),
        attributes: Attributes,
        error: Option<&str>,
    ) -> Value {
        let nanos = |at: u64| {
            let moment = self.started + Duration::from_millis(at);
            moment.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
        };
        let mut attributes = attributes;
        let mut status = json!({});
        if let Some(error) = error {
            attributes.text("error.type", error);
            status = json!({"code": 2});
        }
        let mut value = json!({
            "traceId": self.trace,
            "spanId": span.id,
            "name": self.clean(span.name),
            "kind": span.kind,
            "startTimeUnixNano": nanos(from),
            "endTimeUnixNano": nanos(to.max(from)),
            "attributes": attributes.list(|text| self.clean(text)),
            "status": status,
        });
        if let (Some(parent), Value::Object(fields)) = (span.parent, &mut value) {
            fields.insert("parentSpanId".to_owned(), Value::String(parent.to_owned()));
        }
        value
    }

    /// Masks and shortens a text: models and servers choose many of the names.
    fn clean(&self, text: &str) -> String {
        let masked = self.masker.mask(text);
        let cut = masked.floor_char_boundary(MAX_TEXT);
        masked[..cut].to_owned()
    }
}

impl Observer for Telemetry {
    fn observe(&self, line: &Line) {
        let mut state = self.state.lock();
        let to = line.at_ms;
        let (agent, duration, name, kind, attributes, error) = match &line.event {
            Event::Session(session) => {
                state.conversation.clone_from(&session.id);
                return;
            }
            Event::End(end) => {
                state.ended = Some((end.status, reason(&end.stop_reason)));
                return;
            }
            Event::Notice(_)
            | Event::LostReply(_)
            | Event::Network(_)
            | Event::Guardrail(_)
            | Event::Review(_)
            | Event::Todo(_)
            | Event::Proof(_)
            | Event::Mutation(_) => return,
            Event::Subagent(agent) => {
                state.span_of(&agent.name, to.saturating_sub(agent.duration_ms), to);
                return;
            }
            Event::Reply(reply) => {
                let mut attributes = Attributes::new("chat");
                self.model_of(&mut attributes);
                attributes.text("gen_ai.agent.name", &reply.agent);
                attributes.number("gen_ai.usage.input_tokens", reply.usage.input);
                attributes.number("gen_ai.usage.output_tokens", reply.usage.output);
                attributes.number("gen_ai.usage.cache_read.input_tokens", reply.usage.cached);
                if let Some(cost) = reply.cost_usd {
                    attributes.0.insert("architect_ci.cost_usd".to_owned(), json!(cost));
                }
                if self.content {
                    let parts =
                        json!([{"role": "assistant", "parts": [{"type": "text", "content": reply.text}]}]);
                    attributes.text("gen_ai.output.messages", &parts.to_string());
                }
                let model = self.model.split_once("::").map_or(self.model.as_str(), |(_, model)| model);
                (reply.agent.as_str(), reply.duration_ms, format!("chat {model}"), 3, attributes, None)
            }
            Event::Call(call) => {
                let mut attributes = Attributes::new("execute_tool");
                attributes.text("gen_ai.tool.name", &call.tool);
                attributes.text("gen_ai.tool.call.id", &call.id);
                attributes.text("gen_ai.tool.type", "function");
                attributes.text("architect_ci.outcome", &reason(&call.outcome));
                if self.content {
                    attributes.text("gen_ai.tool.call.result", &call.result);
                    attributes.text("architect_ci.target", call.effects.target().unwrap_or_default());
                }
                let error = (!call.success).then(|| "tool_error".to_owned());
                (
                    call.agent.as_str(),
                    call.duration_ms,
                    format!("execute_tool {}", call.tool),
                    1,
                    attributes,
                    error,
                )
            }
            Event::Hook(hook) => {
                let mut attributes = Attributes::none();
                attributes.text("architect_ci.hook.event", &hook.event);
                attributes.text("architect_ci.hook.decision", &reason(&hook.decision));
                if self.content {
                    attributes.text("architect_ci.output", &hook.output);
                }
                let failed = hook.decision == crate::event::HookDecision::Failed;
                let error = failed.then(|| "hook_failed".to_owned());
                (self.lead.as_str(), hook.duration_ms, format!("hook {}", hook.name), 1, attributes, error)
            }
            Event::Gate(gate) => {
                let mut attributes = Attributes::none();
                attributes.0.insert("process.exit.code".to_owned(), json!(gate.exit_code));
                attributes.text("architect_ci.gate.required", if gate.required { "true" } else { "false" });
                attributes.number("architect_ci.gate.round", u64::from(gate.round));
                if self.content {
                    attributes.text("architect_ci.output", &gate.output);
                }
                let has_failed = !gate.passed && gate.verdict != GateVerdict::NotRun;
                let error = has_failed.then(|| "gate_failed".to_owned());
                (self.lead.as_str(), gate.duration_ms, format!("gate {}", gate.name), 1, attributes, error)
            }
        };
        let from = to.saturating_sub(duration);
        let parent = state.span_of(agent, from, to);
        if state.spans.len() >= MAX_SPANS {
            state.dropped += 1;
            return;
        }
        let own = id(16);
        let span = Span { id: &own, parent: Some(&parent), name: &name, kind };
        let made = self.span(&span, (from, to), attributes, error.as_deref());
        state.spans.push(made);
    }
}

/// Translates the name of a provider to that of the semantic conventions.
fn provider_name(provider: &str) -> &str {
    match provider {
        "bedrock" | "bedrock_api" => "aws.bedrock",
        "azure" => "azure.ai.openai",
        "gemini" => "gcp.gemini",
        "vertex" => "gcp.vertex_ai",
        "xai" => "x_ai",
        other => other,
    }
}

/// Returns the word that the transcript uses for a variant.
fn reason(word: &impl serde::Serialize) -> String {
    serde_json::to_value(word).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Parses a `traceparent` into the ids of trace and span, or returns `None` if it is invalid.
fn parent(text: &str) -> Option<(String, String)> {
    let mut parts = text.trim().split('-');
    let (version, trace, span) = (parts.next()?, parts.next()?, parts.next()?);
    let hex = |text: &str, length: usize| {
        text.len() == length && text.chars().all(|c| c.is_ascii_hexdigit()) && text.chars().any(|c| c != '0')
    };
    (version.len() == 2 && hex(trace, 32) && hex(span, 16))
        .then(|| (trace.to_lowercase(), span.to_lowercase()))
}

/// Generates a random id of `digits` hexadecimal digits, at most 32.
fn id(digits: usize) -> String {
    let random = uuid::Uuid::new_v4().simple().to_string();
    // The version digit of a UUID is not random; its end does not hold it.
    random[random.len() - digits..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_are_read_or_passed_over() {
        let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        assert_eq!(parent(&format!("00-{trace}-{span}-01")), Some((trace.to_owned(), span.to_owned())));
        for wrong in ["", "00-x-y-01", &format!("00-{}-{span}-01", "0".repeat(32)), &format!("00-{trace}")] {
            assert_eq!(parent(wrong), None, "{wrong}");
        }
    }
}
