//! Pending messages: what the model is told before its next request, such as what gates said of the state before.

use parking_lot::Mutex;

/// Messages that are added before the next request.
#[derive(Default)]
pub struct PendingMessages(Mutex<Vec<String>>);

impl PendingMessages {
    /// Adds a message.
    pub fn add(&self, text: impl Into<String>) {
        self.0.lock().push(text.into());
    }

    /// Takes all messages, leaving none.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock())
    }
}
