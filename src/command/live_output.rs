//! Output of a command, collected from its pipes in the background while others look at it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::output::{Capture, Retention};

/// Time to wait for output from a pipe that a process out of reach still holds open.
const DRAIN: Duration = Duration::from_millis(500);

/// Output of a command that may still be running.
#[derive(Clone, Debug, Default)]
pub struct LiveOutput {
    capture: Arc<Mutex<Capture>>,
    written: Arc<Notify>,
    /// Cancelled when some of the output had to be dropped.
    cut: CancellationToken,
}

impl LiveOutput {
    /// Creates an empty output, of which so much is kept.
    pub fn new(retention: Retention) -> Self {
        Self { capture: Arc::new(Mutex::new(Capture::new(retention))), ..Self::default() }
    }

    /// Returns the same output, which cancels `token` as soon as some of it has to be dropped.
    #[must_use]
    pub fn cutting(self, token: CancellationToken) -> Self {
        Self { cut: token, ..self }
    }

    /// Returns what has been written so far.
    pub fn text(&self) -> String {
        self.lock().text()
    }

    /// Waits until something has been written.
    pub async fn begins(&self) {
        loop {
            // Made first, so that nothing that is written between the look and the wait is missed.
            let written = self.written.notified();
            if !self.text().is_empty() {
                return;
            }
            written.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Capture> {
        self.capture.lock()
    }
}

/// A pipe that is being read in the background.
pub(super) struct Collecting {
    output: LiveOutput,
    task: tokio::task::JoinHandle<()>,
}

pub(super) fn collect(
    pipe: Option<impl AsyncRead + Unpin + Send + 'static>,
    output: LiveOutput,
) -> Collecting {
    let sink = output.clone();
    let task = tokio::spawn(async move {
        let Some(mut pipe) = pipe else { return };
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(count) = pipe.read(&mut buffer).await {
            if count == 0 {
                break;
            }
            let is_cut = {
                let mut capture = sink.lock();
                capture.push(&buffer[..count]);
                capture.is_cut()
            };
            if is_cut {
                sink.cut.cancel();
            }
            sink.written.notify_waiters();
        }
    });
    Collecting { output, task }
}

impl Collecting {
    pub(super) async fn finish(self) -> Capture {
        let Self { output, mut task } = self;
        if tokio::time::timeout(DRAIN, &mut task).await.is_err() {
            task.abort();
        }
        std::mem::take(&mut *output.lock())
    }
}
