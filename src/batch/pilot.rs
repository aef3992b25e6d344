//! Pilot: the first tasks run alone, and a bad rate stops the batch before the money is spent.

use super::file::Pilot;
use crate::report::{TaskEnd, TaskReport};

/// State of a pilot.
#[derive(Debug)]
pub(super) struct PilotRun {
    pilot: Option<Pilot>,
    begun: u64,
    ended: u64,
    bad: u64,
}

impl PilotRun {
    pub(super) fn new(pilot: Option<Pilot>) -> Self {
        Self { pilot, begun: 0, ended: 0, bad: 0 }
    }

    /// Returns whether the next task has to wait until the pilot is over.
    pub(super) fn must_wait(&self) -> bool {
        self.pilot.as_ref().is_some_and(|pilot| self.begun >= pilot.tasks.get()) && self.ended < self.begun
    }

    /// Takes note that a task begins.
    pub(super) fn begun(&mut self) {
        self.begun += 1;
    }

    /// Takes note of how a task ended. Returns why the batch stops, if that was the last of a bad pilot.
    pub(super) fn ended(&mut self, report: &TaskReport) -> Option<String> {
        self.ended += 1;
        self.bad += u64::from(matches!(report.end, TaskEnd::Failed | TaskEnd::Partial));
        let pilot = self.pilot.as_ref()?;
        if self.ended < pilot.tasks.get() {
            return None;
        }
        let (most, of, bad) = (pilot.stop_above, self.ended, self.bad);
        // What comes later is not judged again.
        self.pilot = None;
        (bad * 100 > u64::from(most.get()) * of).then(|| {
            format!("not started: {bad} of the {of} tasks of the pilot failed, which is more than {most}")
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
            ("50%", [TaskEnd::Failed, TaskEnd::Success], false),
            ("49%", [TaskEnd::Failed, TaskEnd::Success], true),
            ("0%", [TaskEnd::Success, TaskEnd::Success], false),
            ("99%", [TaskEnd::Partial, TaskEnd::Failed], true),
        ] {
            let mut run = PilotRun::new(file(stop_above).expect("a batch").pilot);
            let mut messages = Vec::new();
            for _ in ends {
                assert!(!run.must_wait());
                run.begun();
            }
            for end in ends {
                assert!(run.must_wait());
                messages.push(run.ended(&TaskReport::without_run("t", "t", end, "")));
            }
            assert!(!run.must_wait() && messages[0].is_none());
            assert_eq!(messages[1].is_some(), stops, "{stop_above}: {messages:?}");
            run.begun();
            assert!(!run.must_wait());
        }
        for wrong in ["20", "101%", "-1%", "x%"] {
            assert!(file(wrong).is_err(), "{wrong}");
        }
    }
}
