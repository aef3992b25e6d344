//! Models: what is asked, what comes back, and who answers.

mod error;
mod exec;
mod name;
mod price;
mod providers;
mod replay;
mod retry;

use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;

use crate::event::{ToolCall, Usage};

pub use error::ModelError;
pub use exec::{ExecModel, ExecOptions};
pub use name::{ModelName, NameError, Provider};
pub use price::{Budget, Price, Prices};
pub use providers::{ProviderModel, Settings, http_client, http_client_builder};
pub use replay::{ReplayError, ReplayModel};
pub use retry::{Backoff, retry};

/// A tool as the model is told of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolSchema {
    /// The name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

/// One message of the conversation after the system prompt.
#[derive(Clone, Debug)]
pub enum Message {
    /// From the person, or from the runner on their behalf.
    User(String),
    /// From the model.
    Assistant {
        /// What it said.
        text: String,
        /// What it wanted done.
        calls: Vec<ToolCall>,
        /// What the provider wants back unchanged, such as signed reasoning.
        opaque: Option<Opaque>,
    },
    /// The result of one call.
    Tool {
        /// The model's name for the call.
        id: String,
        /// The tool.
        name: String,
        /// What the model is told.
        content: String,
        /// Whether the tool did what was asked.
        success: bool,
    },
}

/// A provider's own form of an answer; only [`ProviderModel`] looks inside.
#[derive(Clone, Debug)]
pub struct Opaque(genai::chat::MessageContent);

/// A question to a model.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Which agent asks.
    pub agent: &'a str,
    /// The system prompt.
    pub system: &'a str,
    /// The tools there are. They stay the same in every call, so that providers' caches hit.
    pub tools: &'a [ToolSchema],
    /// Whether tools may be called; not for a closing summary.
    pub may_call: bool,
    /// The conversation.
    pub messages: &'a [Message],
}

/// An answer.
#[derive(Clone, Debug, Default)]
pub struct Completion {
    /// What it said.
    pub text: String,
    /// What it wants done.
    pub calls: Vec<ToolCall>,
    /// Tokens used.
    pub usage: Usage,
    /// Whether the answer was cut at the provider's or our token limit.
    pub cut: bool,
    /// See [`Message::Assistant`].
    pub opaque: Option<Opaque>,
}

/// Somebody who answers.
pub trait ChatModel: Send + Sync {
    /// `provider::name`.
    fn name(&self) -> &str;

    /// Asks once.
    fn complete<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<Completion, ModelError>>;
}
