//! Live display of a run for people who watch it: a line that moves on a terminal, and reminders of what takes long in any
//! other log.

use std::collections::BTreeMap;
use std::io::{IsTerminal, stderr};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use sanitize::Masker;
use sanitize::untrusted::visible;
use tokio::task::JoinHandle;
use tracing::info;

use super::figures::cut;
use crate::event::{Activities, Ongoing, OngoingActivity};

/// What is over by then is not worth a line.
const SHOWN_AFTER: Duration = Duration::from_millis(300);

/// Between two frames of the line on a terminal.
const FRAME: Duration = Duration::from_millis(120);

/// When a log first tells of something that takes long; then after twice the time, and so on.
const FIRST_REMINDER: Duration = Duration::from_secs(30);

/// How often it is seen whether a reminder is due.
const LOOK: Duration = Duration::from_secs(5);

/// The terminal, if people watch the log on one.
static SCREEN: OnceLock<MultiProgress> = OnceLock::new();

/// Opens the terminal, if the log goes to one.
pub(super) fn open_screen() {
    if stderr().is_terminal() {
        let _ = SCREEN.set(MultiProgress::new());
    }
}

/// Writes to the log, above the line that moves.
pub(super) fn write_above(write: impl FnOnce() -> std::io::Result<()>) -> std::io::Result<()> {
    match SCREEN.get() {
        Some(screen) => screen.suspend(write),
        None => write(),
    }
}

/// Shows what a run is doing until it is dropped.
pub struct LiveStatus {
    task: JoinHandle<()>,
    line: Option<ProgressBar>,
}

impl LiveStatus {
    /// Begins. A run that `asks` people at the terminal leaves the line to them.
    pub fn start(activities: Activities, masker: Arc<Masker>, asks: bool) -> Self {
        let Some(screen) = SCREEN.get().filter(|_| !asks) else {
            return Self { task: tokio::spawn(remind(activities)), line: None };
        };
        let line = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            line.set_style(style);
        }
        let shown = line.clone();
        let task = tokio::spawn(async move {
            let mut is_shown = false;
            loop {
                tokio::time::sleep(FRAME).await;
                let text = status_line(&activities.ongoing(), Instant::now());
                match (text.is_empty(), is_shown) {
                    (true, true) => {
                        shown.set_message("");
                        screen.remove(&shown);
                    }
                    (false, false) => {
                        screen.add(shown.clone());
                    }
                    _ => {}
                }
                is_shown = !text.is_empty();
                if is_shown {
                    shown.set_message(masker.mask(&text).into_owned());
                    shown.tick();
                }
            }
        });
        Self { task, line: Some(line) }
    }
}

impl Drop for LiveStatus {
    fn drop(&mut self) {
        self.task.abort();
        if let (Some(screen), Some(line)) = (SCREEN.get(), &self.line) {
            line.finish_and_clear();
            screen.remove(line);
        }
    }
}

/// Returns what is going on in one line, with the time that each has taken.
fn status_line(ongoing: &Ongoing, now: Instant) -> String {
    let told = |one: &OngoingActivity| {
        let passed = now.duration_since(one.since);
        (passed >= SHOWN_AFTER).then(|| format!("{} {}", whole_seconds(passed), shown(one)))
    };
    ongoing.values().filter_map(told).collect::<Vec<_>>().join(" | ")
}

fn whole_seconds(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

fn shown(one: &OngoingActivity) -> String {
    cut(&visible(&one.activity.to_string()).replace('\n', " ⏎ "))
}

/// Logs what takes long, again and again.
async fn remind(activities: Activities) {
    let mut reminders = Reminders::default();
    loop {
        tokio::time::sleep(LOOK).await;
        for line in reminders.due(&activities.ongoing(), Instant::now()) {
            info!("{line}");
        }
    }
}

/// When a log is to tell again of what takes long.
#[derive(Default)]
struct Reminders(BTreeMap<u64, Duration>);

impl Reminders {
    /// Returns a line for each activity that is to be told of now.
    fn due(&mut self, ongoing: &Ongoing, now: Instant) -> Vec<String> {
        self.0.retain(|number, _| ongoing.contains_key(number));
        let told = ongoing.iter().filter_map(|(number, one)| {
            let passed = now.duration_since(one.since);
            let next = self.0.entry(*number).or_insert(FIRST_REMINDER);
            if passed < *next {
                return None;
            }
            while *next <= passed {
                *next *= 2;
            }
            Some(format!("     … {} has been running for {}", shown(one), whole_seconds(passed)))
        });
        told.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Activity, ActivityGuard};

    fn gate(activities: &Activities) -> ActivityGuard {
        let (name, command) = ("tests".into(), "make\ntest".into());
        activities.begin(Activity::Gate { name, command, is_on_base: false })
    }

    #[test]
    fn reminders_become_rarer() {
        let (activities, mut reminders) = (Activities::default(), Reminders::default());
        let running = gate(&activities);
        let begun = Instant::now();
        let mut told = Vec::new();
        for second in (0..300).step_by(5) {
            let due = reminders.due(&activities.ongoing(), begun + Duration::from_secs(second));
            told.extend(due.into_iter().map(|line| (second, line)));
        }
        let times: Vec<u64> = told.iter().map(|(second, _)| *second).collect();
        assert_eq!(times, [30, 60, 120, 240], "{told:?}");
        assert_eq!(told[0].1, "     … gate tests: make ⏎ test has been running for 30 s");
        drop(running);
        assert!(reminders.due(&activities.ongoing(), begun + Duration::from_hours(1)).is_empty());
        assert!(reminders.0.is_empty(), "nothing is kept of what has ended");
    }

    #[test]
    fn line_has_what_takes_longer_than_a_moment() {
        let activities = Activities::default();
        let model = activities.begin(Activity::Model { agent: "build".into(), step: 2 });
        let _gate = gate(&activities);
        let at = |time| status_line(&activities.ongoing(), time);
        let since = activities.ongoing().values().next().expect("the model").since;
        assert_eq!(at(since), "");
        let later = Instant::now();
        assert_eq!(at(later + Duration::from_secs(4)), "4 s build 2: model | 4 s gate tests: make ⏎ test");
        drop(model);
        assert_eq!(at(later + Duration::from_secs(69)), "1 min 9 s gate tests: make ⏎ test");
    }
}
