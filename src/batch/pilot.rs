//! Pilot: the first tasks run alone, and a bad rate stops the batch before the money is spent.
//!
//! Shards run at the same time and do not know of each other, so each has its own share of the pilot.

use super::file::Pilot;
use crate::base::text::counted;
use crate::report::{TaskEnd, TaskReport};

/// State of a pilot.
#[derive(Debug)]
pub(super) struct PilotRun {
    /// Until it is over.
    pilot: Option<Pilot>,
    /// The number of its tasks here.
    tasks: u64,
    /// Whether other shards have a share in it.
    is_shared: bool,
    begun: u64,
    ended: u64,
    bad: u64,
}

impl PilotRun {
    /// Creates the share of a pilot that a process has with `own` of `all` tasks.
    pub(super) fn new(pilot: Option<Pilot>, own: usize, all: usize) -> Self {
        let (own, all) = (own as u64, (all as u64).max(1));
        let tasks = pilot.as_ref().map_or(0, |pilot| pilot.tasks.get().min(all).saturating_mul(own));
        Self { pilot, tasks: tasks.div_ceil(all).max(1), is_shared: own < all, begun: 0, ended: 0, bad: 0 }
    }

    /// Returns whether the next task has to wait until the pilot is over.
    pub(super) fn must_wait(&self) -> bool {
        self.pilot.is_some() && self.begun >= self.tasks && self.ended < self.begun
    }

    /// Takes note that a task begins.
    pub(super) fn begun(&mut self) {
        self.begun += 1;
    }

    /// Takes note of how a task ended. Returns why the batch stops, as soon as the pilot is bad however the rest of it ends.
    pub(super) fn ended(&mut self, report: &TaskReport) -> Option<String> {
        self.ended += 1;
        self.bad += u64::from(matches!(report.end, TaskEnd::Failed | TaskEnd::Partial));
        let most = self.pilot.as_ref()?.stop_above;
        let (of, bad) = (self.tasks, self.bad);
        let is_bad = bad * 100 > u64::from(most.get()) * of;
        if is_bad || self.ended >= of {
            // What comes later is not judged again.
            self.pilot = None;
        }
        let tasks = counted(usize::try_from(of).unwrap_or(usize::MAX), "task", "s");
        is_bad.then(|| {
            let whose = if self.is_shared { "this shard's share of the pilot" } else { "the pilot" };
            format!("not started: {bad} of the {tasks} of {whose} failed, which is more than {most}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::BatchFile;

    #[test]
    fn others_wait_for_the_pilot_and_a_bad_one_stops_them() {
        let file = |stop_above: &str| {
            let text = format!("name: n\npilot: {{ tasks: 2, stop_above: {stop_above} }}\ntasks: []\n");
            crate::config::parse_as::<BatchFile>(&text, "b.yml")
        };
        for (stop_above, ends, stops) in [
            ("50%", [TaskEnd::Failed, TaskEnd::Success], None),
            ("49%", [TaskEnd::Success, TaskEnd::Failed], Some(1)),
            // Nothing that comes could make it good.
            ("49%", [TaskEnd::Failed, TaskEnd::Success], Some(0)),
            ("0%", [TaskEnd::Success, TaskEnd::Success], None),
            ("99%", [TaskEnd::Partial, TaskEnd::Failed], Some(1)),
        ] {
            let mut run = PilotRun::new(file(stop_above).expect("a batch").pilot, 12, 12);
            let mut messages = Vec::new();
            for _ in ends {
                assert!(!run.must_wait());
                run.begun();
            }
            for end in ends {
                assert!(run.must_wait() || stops == Some(messages.len().saturating_sub(1)));
                messages.push(run.ended(&TaskReport::without_run("t", "t", end, "")));
            }
            assert!(!run.must_wait());
            assert_eq!(messages.iter().position(Option::is_some), stops, "{stop_above}: {messages:?}");
            run.begun();
            assert!(!run.must_wait());
        }
        // Each shard has its share, rounded up.
        for (own, tasks) in [(2, 1), (4, 1), (5, 2), (16, 4), (0, 1)] {
            let pilot = Pilot {
                tasks: crate::base::bounded::Bounded::fixed::<4>(),
                ..file("25%").expect("a batch").pilot.expect("a pilot")
            };
            assert_eq!(PilotRun::new(Some(pilot), own, 16).tasks, tasks, "{own} of 16");
        }
        // One of one is all, whatever the others come to.
        let mut run = PilotRun::new(file("50%").expect("a batch").pilot, 2, 16);
        run.begun();
        let told = run.ended(&TaskReport::without_run("t", "t", TaskEnd::Failed, ""));
        let expected =
            "not started: 1 of the 1 task of this shard's share of the pilot failed, which is more than 50%";
        assert_eq!(told.as_deref(), Some(expected));
        for wrong in ["20", "101%", "-1%", "x%"] {
            assert!(file(wrong).is_err(), "{wrong}");
        }
    }
}
