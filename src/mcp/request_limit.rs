//! Limit on a server's requests: we answer them, and answers that the server never reads would fill the memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::RoleClient;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::Notify;

/// Most requests of a server that are not answered yet; nothing more is read until one is.
const MAX_OPEN: usize = 64;

/// Most requests of a server in all; nobody pings more often.
const MAX_REQUESTS: usize = 20_000;

/// A transport with bounds on what a server may ask for.
pub(super) struct RequestLimit<T> {
    inner: T,
    open: Arc<OpenRequests>,
    requests: usize,
}

/// The requests of a server that wait for their answers to be read.
#[derive(Default)]
struct OpenRequests {
    count: AtomicUsize,
    answered: Notify,
}

impl<T> RequestLimit<T> {
    /// Wraps a transport.
    pub(super) fn new(inner: T) -> Self {
        Self { inner, open: Arc::default(), requests: 0 }
    }
}

impl OpenRequests {
    /// Waits until a further request may be read.
    async fn room(&self) {
        loop {
            let answered = self.answered.notified();
            if self.count.load(Ordering::SeqCst) < MAX_OPEN {
                return;
            }
            answered.await;
        }
    }

    fn close(&self) {
        // An answer to what was not a request is none of these.
        let _ = self.count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |open| open.checked_sub(1));
        self.answered.notify_one();
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for RequestLimit<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let is_answer = matches!(item, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let (sent, open) = (self.inner.send(item), Arc::clone(&self.open));
        async move {
            let sent = sent.await;
            if is_answer {
                open.close();
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.open.room().await;
        let message = self.inner.receive().await?;
        if matches!(message, JsonRpcMessage::Request(_)) {
            self.open.count.fetch_add(1, Ordering::SeqCst);
            self.requests += 1;
            if self.requests > MAX_REQUESTS {
                tracing::warn!(
                    "warning: an MCP server made more than {MAX_REQUESTS} requests; it is no longer read"
                );
                return None;
            }
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
