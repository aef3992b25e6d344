//! From whoever does something to whoever wants to know.

use std::sync::Arc;
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
    observers: Arc<Vec<Arc<dyn Observer>>>,
}

impl Events {
    /// Events of a run that starts now.
    pub fn new(observers: Vec<Arc<dyn Observer>>) -> Self {
        Self { started: Instant::now(), observers: Arc::new(observers) }
    }

    /// Tells all observers.
    pub fn emit(&self, event: Event) {
        let line = Line { at_ms: millis(self.started.elapsed()), event };
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
