//! From whoever does something to whoever wants to know.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{Event, Line, Notice, NoticeLevel};

/// Whoever wants to know what happens.
pub trait Observer: Send + Sync {
    /// Takes one event.
    fn observe(&self, line: &Line);
}

/// Hands every event to all observers, in order.
#[derive(Clone)]
pub struct Events {
    started: Instant,
    /// What an earlier part of the run has taken.
    earlier: Duration,
    muted: Arc<AtomicBool>,
    observers: Arc<Vec<Arc<dyn Observer>>>,
}

impl Events {
    /// Events of a run that starts now.
    pub fn new(observers: Vec<Arc<dyn Observer>>) -> Self {
        Self {
            started: Instant::now(),
            earlier: Duration::ZERO,
            muted: Arc::default(),
            observers: Arc::new(observers),
        }
    }

    /// The same for a run that goes on: its time counts from where it was.
    #[must_use]
    pub fn after(self, earlier: Duration) -> Self {
        Self { earlier, ..self }
    }

    /// Whether observers are told: not of what they know.
    pub fn mute(&self, muted: bool) {
        self.muted.store(muted, Ordering::Relaxed);
    }

    /// Tells all observers.
    pub fn emit(&self, event: Event) {
        if self.muted.load(Ordering::Relaxed) {
            return;
        }
        let line = Line { at_ms: millis(self.earlier + self.started.elapsed()), event };
        for observer in self.observers.iter() {
            observer.observe(&line);
        }
    }

    /// Tells all observers something that people should know.
    pub fn notice(&self, level: NoticeLevel, message: impl Into<String>) {
        self.emit(Event::Notice(Notice { level, message: message.into() }));
    }
}

/// A duration in whole milliseconds.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
