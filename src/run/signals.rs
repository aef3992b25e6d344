//! SIGINT and SIGTERM: end the run, but let the report be written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use crate::base::network_clock::NetworkClock;
use crate::base::time_limit::TimeLimit;
use crate::github::Environment;

/// Whether, and how, the run was told to end.
#[derive(Clone, Default)]
pub struct Signal {
    token: CancellationToken,
    terminate: Arc<AtomicBool>,
}

/// The time limit of a run: a token that ends every wait of the run, cancelled by a signal or when the time is up.
pub(crate) struct Clock {
    token: CancellationToken,
    limit: TimeLimit,
    timer: AbortHandle,
}

impl Clock {
    /// Returns the token.
    pub(crate) fn token(&self) -> CancellationToken {
        self.token.clone()
    }

    /// Returns the limit, by which those give up in time who do not wait for the token.
    pub(super) fn limit(&self) -> TimeLimit {
        self.limit.clone()
    }

    /// Returns when the run has to end, if its time is limited.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.limit.end()
    }

    /// Lets all that waits for GitHub obey this clock.
    pub(crate) fn lead(&self, github: Option<&Environment>) {
        if let Some(github) = github {
            github.clock.follow(self.token(), self.limit());
        }
    }

    /// Returns this clock for what else waits for the network.
    pub(crate) fn network(&self) -> NetworkClock {
        let clock = NetworkClock::default();
        clock.follow(self.token(), self.limit());
        clock
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.timer.abort();
    }
}

impl Signal {
    /// Starts the clock of a run that has to end by `deadline`, if there is one.
    pub(crate) fn clock(&self, deadline: Option<Instant>) -> Clock {
        let (token, limit) = (self.token.child_token(), TimeLimit::new(deadline));
        let timer = tokio::spawn({
            let (end, limit, signal) = (token.clone(), limit.clone(), self.token());
            async move {
                let is_up = async {
                    match deadline {
                        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    () = is_up => end.cancel(),
                    () = end.cancelled() => limit.stop(),
                }
                // One that comes after the end leaves less time for the results.
                signal.cancelled().await;
                limit.stop();
            }
        });
        Clock { token, limit, timer: timer.abort_handle() }
    }

    /// Cancelled at the first signal.
    pub fn token(&self) -> CancellationToken {
        self.token.clone()
    }

    /// Whether a signal came.
    pub fn is_set(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Whether it was SIGTERM.
    pub fn is_terminate(&self) -> bool {
        self.terminate.load(Ordering::Relaxed)
    }
}

/// Listens for signals from now on. GitHub sends SIGINT, SIGTERM 7.5 s later, and kills 2.5 s after
/// that; what comes after the first signal changes nothing.
#[cfg(unix)]
pub(crate) fn on_signals() -> std::io::Result<Signal> {
    use tokio::signal::unix::{SignalKind, signal};
    // A limit on the size of files is an error of the write, and not the end of the process.
    let _handled = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?;
    let state = Signal::default();
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let told = state.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => told.terminate.store(true, Ordering::Relaxed),
        }
        told.token.cancel();
    });
    Ok(state)
}

/// Listens for Ctrl-C from now on.
#[cfg(not(unix))]
pub fn on_signals() -> std::io::Result<Signal> {
    let state = Signal::default();
    let told = state.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            told.token.cancel();
        }
    });
    Ok(state)
}
