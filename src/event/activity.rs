//! Current activity of a run: shown to people who watch it, and part of no record.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::watch;

/// Something that takes time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Activity {
    /// The model is working on an answer.
    Model {
        /// The agent that asks.
        agent: String,
        /// Its turn.
        step: u32,
    },
    /// A tool is at work.
    Call {
        /// The tool's name.
        tool: String,
        /// Its command, file or remote target.
        target: Option<String>,
    },
    /// A gate is running.
    Gate {
        /// The gate's name.
        name: String,
        /// Its command.
        command: String,
        /// Whether it runs on the state before the run.
        is_on_base: bool,
    },
    /// The tests of the change are tried on the old code and on the new.
    Tests,
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model { agent, step } => write!(f, "{agent} {step}: model"),
            Self::Call { tool, target: None } => f.write_str(tool),
            Self::Call { tool, target: Some(target) } => write!(f, "{tool} {target}"),
            Self::Tests => f.write_str("tests of the change"),
            Self::Gate { name, command, is_on_base: false } => write!(f, "gate {name}: {command}"),
            Self::Gate { name, command, is_on_base: true } => {
                write!(f, "gate {name} on the state before: {command}")
            }
        }
    }
}

/// An activity that has not ended.
#[derive(Clone, Debug)]
pub struct OngoingActivity {
    /// What is done.
    pub activity: Activity,
    /// When it began.
    pub since: Instant,
}

/// The activities of a run that have not ended, by number, the oldest first.
pub type Ongoing = BTreeMap<u64, OngoingActivity>;

/// The place where the activities of a run are registered. Clones are the same place.
#[derive(Clone, Default)]
pub struct Activities(Arc<watch::Sender<Registered>>);

#[derive(Default)]
struct Registered {
    begun: u64,
    ongoing: Ongoing,
}

impl Activities {
    /// Registers an activity that lasts until the returned guard is dropped.
    pub fn begin(&self, activity: Activity) -> ActivityGuard {
        let mut number = 0;
        self.0.send_modify(|registered| {
            registered.begun += 1;
            number = registered.begun;
            registered.ongoing.insert(number, OngoingActivity { activity, since: Instant::now() });
        });
        ActivityGuard { number, activities: self.clone() }
    }

    /// Returns what has not ended.
    pub fn ongoing(&self) -> Ongoing {
        self.0.borrow().ongoing.clone()
    }

    /// Returns a receiver of what begins and ends from now on.
    pub fn changes(&self) -> ActivityChanges {
        ActivityChanges(self.0.subscribe())
    }
}

/// Receives the beginnings and ends of activities.
pub struct ActivityChanges(watch::Receiver<Registered>);

impl ActivityChanges {
    /// Waits until an activity has begun or ended since the last time.
    pub async fn next(&mut self) {
        // Without a run, nothing changes any more.
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Keeps an activity registered.
#[must_use]
pub struct ActivityGuard {
    number: u64,
    activities: Activities,
}

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        self.activities.0.send_modify(|registered| {
            registered.ongoing.remove(&self.number);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activities_last_as_long_as_their_guards() {
        let activities = Activities::default();
        let shown = || {
            let all = activities.ongoing();
            all.values().map(|one| one.activity.to_string()).collect::<Vec<_>>().join(" | ")
        };
        let gate = |is_on_base| Activity::Gate { name: "t".into(), command: "make".into(), is_on_base };
        let base = activities.begin(gate(true));
        let model = activities.begin(Activity::Model { agent: "build".into(), step: 3 });
        assert_eq!(shown(), "gate t on the state before: make | build 3: model");
        drop(base);
        let call = activities.begin(Activity::Call { tool: "read_file".into(), target: None });
        assert_eq!(shown(), "build 3: model | read_file");
        drop((model, call));
        assert_eq!(shown(), "");
    }
}
