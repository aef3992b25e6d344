//! Models: requests, answers, and the trait [`ChatModel`] of whatever answers them.

mod budget;
mod claims;
mod error;
mod exchange;
mod exec;
mod frame_check;
mod ledger;
mod ledger_entry;
mod ledger_error;
mod ledger_file;
mod masked;
mod name;
mod pace;
mod price;
mod provider_answers;
mod providers;
mod quota;
mod raw_answer;
mod replay;
mod reservations;
mod retry;
mod usage;

use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;

use crate::event::{ToolCall, Usage};

pub use budget::{Allowance, Budget, Refused, Settlement};
pub use error::ModelError;
pub use exec::{ExecModel, ExecOptions};
pub use ledger::{Ledger, LedgerLimits};
pub use ledger_entry::{LedgerEntry, LedgerLabels};
pub use ledger_error::LedgerError;
pub use ledger_file::{parse_ledger, read_ledger};
pub use masked::MaskedModel;
pub use name::{ModelName, NameError, Provider, UnsetVariable};
pub use price::{Price, Prices};
pub use providers::{ProviderModel, Settings};
pub use replay::{ReplayError, ReplayModel};
pub use reservations::{Sums, without_settled};
pub use retry::{Backoff, retry};

/// Tool as it is presented to the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolSchema {
    /// Unique name.
    pub name: String,
    /// Purpose, for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
}

/// One message of the conversation after the system prompt.
#[derive(Clone, Debug)]
pub enum Message {
    /// Message from the user, or from the runner on the user's behalf.
    User(String),
    /// Answer of the model.
    Assistant {
        /// Text of the answer.
        text: String,
        /// Calls that the model asks for.
        calls: Vec<ToolCall>,
        /// Content that the provider wants back unchanged, such as signed reasoning.
        opaque: Option<Opaque>,
    },
    /// Result of one call.
    Tool {
        /// ID of the call, as the model gave it.
        id: String,
        /// Name of the tool.
        name: String,
        /// Text that the model reads.
        content: String,
        /// Whether the tool did what was asked.
        success: bool,
    },
}

/// Provider's own form of an answer; only [`ProviderModel`] looks inside.
#[derive(Clone, Debug)]
pub struct Opaque(genai::chat::MessageContent);

/// Request to a model.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Name of the agent that asks.
    pub agent: &'a str,
    /// System prompt.
    pub system: &'a str,
    /// Tools of the agent. They stay the same in every request, so that the provider's cache hits.
    pub tools: &'a [ToolSchema],
    /// Whether tools may be called; `false` for a closing summary.
    pub may_call: bool,
    /// Maximum length of the answer, in tokens, where the budget limits it.
    pub max_output: Option<u64>,
    /// Conversation so far.
    pub messages: &'a [Message],
}

/// Answer of a model.
#[derive(Clone, Debug, Default)]
pub struct Completion {
    /// Text of the answer.
    pub text: String,
    /// Calls that the model asks for.
    pub calls: Vec<ToolCall>,
    /// Tokens used by this request; `None` if whoever answered does not say, or says what cannot be.
    pub usage: Option<Usage>,
    /// Whether the answer was cut off at the provider's or our token limit.
    pub cut: bool,
    /// Whether the model, or a filter of its provider, refused to answer.
    pub refused: bool,
    /// Content to be sent back unchanged; see [`Message::Assistant`].
    pub opaque: Option<Opaque>,
    /// Whether the turn goes on with the next answer, once these calls are made.
    pub continues: bool,
}

/// Anything that answers requests: a provider, a transcript, a program or a recipe.
pub trait ChatModel: Send + Sync {
    /// Returns the full name, as `provider::name`.
    fn name(&self) -> &str;

    /// Returns whether the agent can be answered once more: a transcript ends.
    fn has_further_answer(&self, _agent: &str) -> bool {
        true
    }

    /// Returns whether answers depend on more of a conversation than the task and what came after the last answer.
    fn reads_history(&self) -> bool {
        true
    }

    /// Sends one request, without retries.
    fn complete<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<Completion, ModelError>>;

    /// Ends whatever runs in order to answer. A later request starts it again.
    fn end(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}
