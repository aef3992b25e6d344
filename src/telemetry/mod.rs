//! Traces for OpenTelemetry: a run and what happened in it as spans, by the semantic conventions for generative
//! AI. They are made of the events that every report is made of, and sent once, at the end, as OTLP over HTTP.
//!
//! Names, counts, times and outcomes are sent; what models and tools said only where the configuration wants it.

mod receiver;
mod span;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};

use crate::event::{Event, Line, Observer, Status};
use crate::inputs::{InputError, RunRequest};
use crate::model::http_client;
use crate::report::secrets::Masker;
use crate::sessions::Resumed;

use receiver::Receiver;
pub(crate) use receiver::secrets;
use span::{Attributes, Span, resource};

/// How long the receiver may take.
const TIME: Duration = Duration::from_secs(10);
/// Most spans of one run, and of one request.
const MAX_SPANS: usize = 20_000;
const MAX_BATCH: usize = 1_000;
/// Most bytes of an attribute.
const MAX_TEXT: usize = 8_000;

/// The spans of a run.
pub struct Telemetry {
    receiver: Receiver,
    masker: Arc<Masker>,
    content: bool,
    resource: Value,
    trace: String,
    /// The span of whoever started us.
    parent: Option<String>,
    started: SystemTime,
    lead: String,
    model: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    spans: Vec<Value>,
    dropped: usize,
    /// The span of each agent, and from when to when it has been seen, in milliseconds.
    agents: HashMap<String, (String, u64, u64)>,
    ended: Option<(Status, String)>,
    conversation: String,
}

impl State {
    /// The span of an agent, which has been seen in this time.
    fn span_of(&mut self, agent: &str, from: u64, to: u64) -> String {
        let known = self.agents.entry(agent.to_owned()).or_insert_with(|| (id(16), from, to));
        known.1 = known.1.min(from);
        known.2 = known.2.max(to);
        known.0.clone()
    }
}

impl Telemetry {
    /// Begins, where it is wanted.
    pub fn start(request: &RunRequest, masker: &Arc<Masker>) -> Result<Option<Arc<Self>>, InputError> {
        let config = &request.config().telemetry;
        if !config.enabled {
            return Ok(None);
        }
        let variables = &request.variables;
        let receiver = Receiver::new(config.endpoint.as_deref(), variables).map_err(InputError::Rules)?;
        let given = variables.get("TRACEPARENT").and_then(|text| parent(text));
        let (trace, parent) = given.map_or_else(|| (id(32), None), |(trace, span)| (trace, Some(span)));
        Ok(Some(Arc::new(Self {
            receiver,
            masker: Arc::clone(masker),
            content: config.content,
            resource: resource(variables, &config.service_name),
            trace,
            parent,
            // A run that goes on counts its time from its first beginning.
            started: SystemTime::now()
                - Duration::from_millis(request.resumed.as_ref().map_or(0, Resumed::last)),
            lead: request.agent.name.clone(),
            model: request.model_name.clone(),
            state: Mutex::default(),
        })))
    }

    /// Sends everything; a receiver that does not take it is worth a warning.
    pub async fn send(&self) {
        let (spans, dropped) = self.close();
        if dropped > 0 {
            tracing::warn!("warning: telemetry: {dropped} spans were left out");
        }
        let sent = tokio::time::timeout(TIME, self.post(&spans)).await;
        let trouble = match sent {
            Ok(Ok(())) => return,
            Ok(Err(trouble)) => trouble,
            Err(_) => "no answer in time".to_owned(),
        };
        tracing::warn!("warning: could not send telemetry to {}: {trouble}", self.receiver.url);
    }

    async fn post(&self, spans: &[Value]) -> Result<(), String> {
        let client = http_client(TIME).map_err(|error| error.to_string())?;
        let scope = json!({"name": "architect-ci", "version": env!("CARGO_PKG_VERSION")});
        for part in spans.chunks(MAX_BATCH) {
            let body = json!({"resourceSpans": [{
                "resource": self.resource,
                "scopeSpans": [{"scope": scope, "spans": part}],
            }]});
            let request = client
                .post(&self.receiver.url)
                .headers(self.receiver.headers.clone())
                .header(CONTENT_TYPE, "application/json")
                .body(body.to_string());
            // An address may hold a key.
            let answer = request.send().await.map_err(|error| error.without_url().to_string())?;
            if !answer.status().is_success() {
                return Err(format!("HTTP {}", answer.status().as_u16()));
            }
        }
        Ok(())
    }

    /// The spans of agents come last: they hold all others.
    fn close(&self) -> (Vec<Value>, usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Names are models' and servers' to choose.
    fn clean(&self, text: &str) -> String {
        let masked = self.masker.mask(text);
        let cut = masked.floor_char_boundary(MAX_TEXT);
        masked[..cut].to_owned()
    }
}

impl Observer for Telemetry {
    fn observe(&self, line: &Line) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
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
            Event::Notice(_) | Event::Guardrail(_) | Event::Review(_) => return,
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
                let error = (!gate.passed).then(|| "gate_failed".to_owned());
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

/// A provider as the conventions call it.
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

/// A word as the formats write it.
fn reason(word: &impl serde::Serialize) -> String {
    serde_json::to_value(word).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Trace and span of a `traceparent`.
fn parent(text: &str) -> Option<(String, String)> {
    let mut parts = text.trim().split('-');
    let (version, trace, span) = (parts.next()?, parts.next()?, parts.next()?);
    let hex = |text: &str, length: usize| {
        text.len() == length && text.chars().all(|c| c.is_ascii_hexdigit()) && text.chars().any(|c| c != '0')
    };
    (version.len() == 2 && hex(trace, 32) && hex(span, 16))
        .then(|| (trace.to_lowercase(), span.to_lowercase()))
}

/// A random id of so many hexadecimal digits.
fn id(digits: usize) -> String {
    let random = uuid::Uuid::new_v4().simple().to_string();
    // A version's digit is no random one; the end has none.
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
