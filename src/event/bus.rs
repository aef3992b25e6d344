//! Event bus: fans each event of a run out to its observers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{Activities, Activity, ActivityGuard, Event, Line, Notice, NoticeLevel};

/// A receiver of events, such as the log or the report.
pub trait Observer: Send + Sync {
    /// Receives one event. May be called from several threads at once.
    fn observe(&self, line: &Line);
}

/// The sending side of the event bus. Clones share the observers, which receive every event in order.
#[derive(Clone)]
pub struct Events {
    started: Instant,
    /// The time that earlier parts of a resumed run have taken.
    earlier: Duration,
    muted: Arc<AtomicBool>,
    activities: Activities,
    observers: Arc<Vec<Arc<dyn Observer>>>,
}

impl Events {
    /// Creates a bus for a run that starts now.
    pub fn new(observers: Vec<Arc<dyn Observer>>) -> Self {
        Self {
            started: Instant::now(),
            earlier: Duration::ZERO,
            muted: Arc::default(),
            activities: Activities::default(),
            observers: Arc::new(observers),
        }
    }

    /// Counts time from where an earlier part of the run ended.
    #[must_use]
    pub fn after(self, earlier: Duration) -> Self {
        Self { earlier, ..self }
    }

    /// Suppresses events, or stops doing so: a resumed run replays calls that observers have already seen.
    pub fn mute(&self, muted: bool) {
        self.muted.store(muted, Ordering::Relaxed);
    }

    /// Sends an event to all observers, with the time since the start of the run.
    pub fn emit(&self, event: Event) {
        if self.muted.load(Ordering::Relaxed) {
            return;
        }
        let line = Line { at_ms: millis(self.earlier + self.started.elapsed()), event };
        for observer in self.observers.iter() {
            observer.observe(&line);
        }
    }

    /// Registers what the run is doing, until the returned guard is dropped.
    pub fn begin(&self, activity: Activity) -> ActivityGuard {
        self.activities.begin(activity)
    }

    /// Registers activities there.
    #[must_use]
    pub fn with(self, activities: Activities) -> Self {
        Self { activities, ..self }
    }

    /// Sends all observers a notice: a message that people should see.
    pub fn notice(&self, level: NoticeLevel, message: impl Into<String>) {
        self.emit(Event::Notice(Notice { level, message: message.into() }));
    }
}

/// Converts a duration to whole milliseconds.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
