//! One request and its answer, on a thread of its own: what a server sends may keep the parser busy, and must not keep
//! the run from its deadline or from a signal.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt;
use genai::chat::{ChatOptions, ChatRequest, ChatStreamEvent};
use genai::{Client, ModelIden};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tracing::instrument::WithSubscriber;

use super::frame_check::{FrameCheck, MAX_ANSWER, RefusedFrame};
use super::provider_answers::{completion, completion_of_stream, sort};
use super::raw_answer::answer_of;
use super::{Completion, ModelError};

/// A request that can be sent.
pub(super) struct Exchange {
    pub(super) client: Client,
    pub(super) model: ModelIden,
    pub(super) request: ChatRequest,
    pub(super) options: ChatOptions,
    pub(super) stream: bool,
    /// Most time for the whole answer.
    pub(super) timeout: Duration,
}

impl Exchange {
    /// Sends the request and returns the answer. If nobody waits any longer, the thread ends with the next piece of the
    /// answer.
    pub(super) async fn run(self) -> Result<Completion, ModelError> {
        let gone = CancellationToken::new();
        let _guard = gone.clone().drop_guard();
        let timeout = self.timeout;
        let received = Arc::new(AtomicUsize::default());
        let arrived = Arc::clone(&received);
        let work = async move {
            tokio::select! {
                biased;
                () = gone.cancelled() => Err(unavailable("the run has ended".to_owned())),
                answer = tokio::time::timeout(timeout, self.answer(&arrived)) => answer.unwrap_or_else(|_| {
                    let message = format!("the answer took more than {} s (`llm.answer_timeout`)", timeout.as_secs());
                    Err(unavailable(message))
                }),
            }
        };
        let (work, handle) = (work.with_current_subscriber(), Handle::current());
        let done = tokio::task::spawn_blocking(move || handle.block_on(work)).await;
        let answer = done.unwrap_or_else(|error| {
            let message = format!("the request stopped unexpectedly: {error}");
            let refused = error.try_into_panic().ok().and_then(|panic| panic.downcast::<RefusedFrame>().ok());
            Err(refused.map_or_else(|| unavailable(message), |refused| ModelError::Malformed(refused.0)))
        });
        let received = received.load(Ordering::Relaxed);
        answer.map_err(|error| {
            if received > 0 { ModelError::Lost { error: Box::new(error), received } } else { error }
        })
    }

    /// Returns the answer, and counts meanwhile how many bytes of it have arrived.
    async fn answer(self, received: &AtomicUsize) -> Result<Completion, ModelError> {
        let Self { client, model, request, options, stream, .. } = self;
        if !stream {
            let options = options.with_capture_raw_body(true);
            return match client.exec_chat(model, request, Some(&options)).await {
                Ok(answer) => Ok(completion(answer.content, &answer.usage, answer.stop_reason.as_ref())),
                Err(error) => answer_of(&error).ok_or_else(|| sort(&error)),
            };
        }
        let options = options.with_raw_frame_sink(FrameCheck::default());
        let response = client.exec_chat_stream(model, request, Some(&options)).await;
        let mut stream = response.map_err(|error| sort(&error))?.stream;
        let mut length = Length::default();
        while let Some(event) = stream.next().await {
            let event = event.map_err(|error| sort(&error))?;
            received.fetch_max(length.add(&event)?, Ordering::Relaxed);
            let ChatStreamEvent::End(end) = event else { continue };
            let said_end = end.captured_stop_reason.is_some();
            let completion = completion_of_stream(end);
            // A stream that ends without a stop reason, with nothing or with half a call, is no answer.
            let is_whole = !completion.calls.iter().any(|call| !call.arguments.is_object())
                && (!completion.text.is_empty() || !completion.calls.is_empty());
            if said_end || is_whole {
                return Ok(completion);
            }
            break;
        }
        Err(unavailable("the stream ended before the answer was complete".to_owned()))
    }
}

fn unavailable(message: String) -> ModelError {
    ModelError::Unavailable { message, retry_after: None }
}

/// Maximum number of stream events of one answer.
const MAX_PIECES: usize = 1 << 20;

/// Amount received of an answer; a server that never stops must not fill the memory.
#[derive(Default)]
struct Length {
    bytes: usize,
    pieces: usize,
}

impl Length {
    /// Returns the length in bytes with another event.
    fn add(&mut self, event: &ChatStreamEvent) -> Result<usize, ModelError> {
        self.pieces += 1;
        let longest = match event {
            ChatStreamEvent::Chunk(piece)
            | ChatStreamEvent::ReasoningChunk(piece)
            | ChatStreamEvent::ThoughtSignatureChunk(piece) => {
                self.bytes += piece.content.len();
                self.bytes
            }
            // With some providers, each event repeats all of the call so far.
            ChatStreamEvent::ToolCallChunk(piece) => {
                piece.tool_call.fn_arguments.as_str().map_or(0, str::len).max(self.bytes)
            }
            _ => self.bytes,
        };
        if longest > MAX_ANSWER || self.pieces > MAX_PIECES {
            return Err(ModelError::Malformed(format!("it is longer than {} MiB", MAX_ANSWER >> 20)));
        }
        Ok(longest)
    }
}
