//! Models of providers: everything that genai speaks to, behind [`ChatModel`].

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use genai::adapter::AdapterKind;
use genai::chat::{
    CacheControl, ChatMessage, ChatOptions, ChatRequest, MessageContent, Tool, ToolCall as GenaiCall,
    ToolChoice, ToolResponse,
};
use genai::resolver::{AuthData, AuthResolver, Endpoint, ServiceTargetResolver};
use genai::{Client, ModelIden, ServiceTarget};

use super::exchange::Exchange;
use super::pace::Pace;
use super::provider_answers::chain;
use super::retry::MAX_WAIT;
use super::{ChatModel, Completion, Message, ModelError, Opaque, Provider, Request, ToolSchema};
use crate::base::bounded::Bounded;
use crate::base::http::http_client;
use crate::base::time_slots::SharedRate;
use crate::base::verbose_log::detail;
use crate::config::Llm;
use crate::event::ToolCall;

/// Settings of a provider's model besides its name.
#[derive(Clone, Debug)]
pub struct Settings {
    /// API key; `None` for servers that need none.
    pub key: Option<String>,
    /// Timeouts, limits, streaming and address.
    pub llm: Llm,
    /// Rate of requests that other machines have a share in.
    pub(crate) shared_rate: Option<SharedRate>,
}

/// Model behind an HTTP API.
pub struct ProviderModel {
    /// Name as the user gave it.
    name: String,
    /// Name as genai knows it.
    asked: String,
    kind: AdapterKind,
    client: Client,
    options: ChatOptions,
    stream: bool,
    /// Most time for one answer.
    timeout: Duration,
    pace: Arc<Pace>,
    /// Whether cache breakpoints are marked in requests, as Anthropic's API expects.
    marks_cache: bool,
}

impl ProviderModel {
    /// Creates the client; nothing is sent yet.
    pub fn new(provider: &Provider, settings: Settings) -> Result<Self, ModelError> {
        let Settings { key, llm, shared_rate } = settings;
        let shared = format!("{} {}", provider.full, llm.base_url.as_deref().unwrap_or_default());
        let http = http_client(llm.timeout.seconds(), "llm.base_url")
            .map_err(|error| ModelError::Refused { status: 0, message: chain(&error) })?;
        let auth = AuthResolver::from_resolver_fn(move |_: ModelIden| {
            // A self-hosted server often needs no key, but the header must not be empty.
            Ok(Some(AuthData::from_single(key.clone().unwrap_or_else(|| "none".to_owned()))))
        });
        let mut builder = Client::builder().with_reqwest(http).with_auth_resolver(auth);
        if let Some(url) = &llm.base_url {
            let endpoint = Endpoint::from_owned(format!("{}/", url.trim_end_matches('/')));
            let target =
                move |target: ServiceTarget| Ok(ServiceTarget { endpoint: endpoint.clone(), ..target });
            builder = builder.with_service_target_resolver(ServiceTargetResolver::from_resolver_fn(target));
        }
        let client =
            builder.build().map_err(|error| ModelError::Refused { status: 0, message: error.to_string() })?;
        Ok(Self {
            marks_cache: llm.prompt_caching && provider.kind == AdapterKind::Anthropic,
            name: provider.full.clone(),
            asked: provider.asked.clone(),
            kind: provider.kind,
            client,
            options: options(&llm),
            stream: llm.stream,
            timeout: llm.answer_timeout.seconds(),
            pace: Pace::of(&shared, llm.requests_per_minute.map(Bounded::get), shared_rate.as_ref()),
        })
    }

    async fn ask(&self, request: Request<'_>) -> Result<Completion, ModelError> {
        let model = ModelIden::new(self.kind, self.asked.clone());
        let mut options = self.options.clone();
        if !request.may_call && !request.tools.is_empty() {
            options.tool_choice = Some(ToolChoice::None);
        }
        if let Some(most) = request.max_output.and_then(|most| u32::try_from(most).ok()) {
            options.max_tokens = Some(options.max_tokens.map_or(most, |own| own.min(most)));
        }
        loop {
            let turn = self.pace.turn().await;
            let exchange = Exchange {
                client: self.client.clone(),
                model: model.clone(),
                request: chat_request(request, self.marks_cache),
                options: options.clone(),
                stream: self.stream,
                timeout: self.timeout,
            };
            let answer = exchange.run().await;
            let retry_after = match &answer {
                Err(ModelError::RateLimited { retry_after, .. }) => *retry_after,
                Ok(_) => {
                    self.pace.answered();
                    return answer;
                }
                Err(_) => return answer,
            };
            // A limit of the day is nothing to wait for.
            if retry_after.is_some_and(|wait| wait > MAX_WAIT) || !self.pace.refused(&turn, retry_after) {
                return answer;
            }
            detail!("the model's rate limit was reached; the request waits for its turn");
        }
    }
}

impl ChatModel for ProviderModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn complete<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<Completion, ModelError>> {
        self.ask(request).boxed()
    }
}

fn options(llm: &Llm) -> ChatOptions {
    let mut options = ChatOptions::default()
        .with_capture_usage(true)
        .with_capture_content(true)
        .with_capture_tool_calls(true)
        .with_capture_reasoning_content(true);
    options.max_tokens = llm.max_tokens.and_then(|limit| u32::try_from(limit.get()).ok());
    options.reasoning_effort = llm.reasoning_effort.map(|effort| {
        use crate::config::ReasoningEffort as Ours;
        use genai::chat::ReasoningEffort as Theirs;
        match effort {
            Ours::Minimal => Theirs::Minimal,
            Ours::Low => Theirs::Low,
            Ours::Medium => Theirs::Medium,
            Ours::High => Theirs::High,
        }
    });
    options
}

fn chat_request(request: Request<'_>, marks_cache: bool) -> ChatRequest {
    let mut messages: Vec<ChatMessage> = Vec::with_capacity(request.messages.len() + 1);
    if marks_cache {
        messages.push(ChatMessage::system(request.system).with_options(CacheControl::Ephemeral));
    }
    let mut results: Vec<ToolResponse> = Vec::new();
    for message in request.messages {
        if let Message::Tool { id, name, content, .. } = message {
            results.push(ToolResponse::new(id.clone(), content.clone()).with_fn_name(name.clone()));
            continue;
        }
        // Providers want the results of one turn in one message.
        if !results.is_empty() {
            messages.push(ChatMessage::from(std::mem::take(&mut results)));
        }
        messages.push(match message {
            Message::User(text) => ChatMessage::user(text.clone()),
            Message::Assistant { opaque: Some(Opaque(content)), .. } => {
                ChatMessage::assistant(content.clone())
            }
            Message::Assistant { text, calls, opaque: None } => {
                ChatMessage::assistant(assistant(text, calls))
            }
            Message::Tool { .. } => continue,
        });
    }
    if !results.is_empty() {
        messages.push(ChatMessage::from(results));
    }
    if marks_cache && let Some(last) = messages.pop() {
        // The next request begins with the whole history up to here.
        messages.push(last.with_options(CacheControl::Ephemeral));
    }
    let chat = ChatRequest::new(messages);
    let chat = if marks_cache { chat } else { chat.with_system(request.system) };
    if request.tools.is_empty() { chat } else { chat.with_tools(request.tools.iter().map(tool)) }
}

fn tool(schema: &ToolSchema) -> Tool {
    Tool::new(schema.name.clone())
        .with_description(schema.description.clone())
        .with_schema(schema.parameters.clone())
}

fn assistant(text: &str, calls: &[ToolCall]) -> MessageContent {
    let mut content = MessageContent::default();
    if !text.is_empty() {
        content.push(text);
    }
    for call in calls {
        // Arguments that were not valid JSON go back as an empty object, because providers accept nothing
        // else.
        let arguments =
            if call.arguments.is_object() { call.arguments.clone() } else { serde_json::json!({}) };
        content.push(GenaiCall {
            call_id: call.id.clone(),
            fn_name: call.name.clone(),
            fn_arguments: arguments,
            thought_signatures: None,
        });
    }
    content
}
