//! Estimate: what a batch will probably cost and take, by what an earlier night's tasks did.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::manifest::Task;
use crate::base::text::counted;
use crate::report::{LastWork, TaskReport, duration};

/// What the tasks of a batch will probably cost and take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    /// Number of tasks.
    pub(super) tasks: usize,
    /// USD; `None` if no price is known.
    pub(super) usd: Option<f64>,
    /// Time, with so many tasks side by side.
    pub(super) time: Duration,
    jobs: usize,
}

/// Averages of tasks that ran.
#[derive(Default)]
struct Averages {
    count: u32,
    time: Duration,
    priced: u32,
    usd: f64,
}

impl Averages {
    fn add(&mut self, work: &LastWork) {
        self.count += 1;
        self.time += Duration::from_millis(work.duration_ms);
        if let Some(usd) = work.cost_usd {
            self.priced += 1;
            self.usd += usd;
        }
    }

    fn usd(&self) -> Option<f64> {
        (self.priced > 0).then(|| self.usd / f64::from(self.priced))
    }
}

impl Estimate {
    /// Estimates what tasks will cost and take: each as it did when it was worked on last, as far as `earlier` knows, or as the average of those that did the same kind of
    /// work. Returns `None` if no task of an earlier night says anything.
    pub(super) fn new<'a>(
        tasks: impl Iterator<Item = &'a Task>,
        earlier: &BTreeMap<String, TaskReport>,
        jobs: usize,
    ) -> Option<Self> {
        let known: BTreeMap<&str, LastWork> =
            earlier.iter().filter_map(|(id, report)| Some((id.as_str(), report.last_work()?))).collect();
        let (mut all, mut by_recipe) = (Averages::default(), Averages::default());
        for work in known.values() {
            let is_recipe = work.model.starts_with("recipe::");
            if is_recipe { &mut by_recipe } else { &mut all }.add(work);
        }
        let (mut count, mut usd, mut work) = (0, None, Duration::ZERO);
        for task in tasks {
            count += 1;
            if let Some(last) = known.get(task.id.as_str()) {
                work += Duration::from_millis(last.duration_ms);
                usd = crate::report::sum(usd, last.cost_usd);
                continue;
            }
            let kind = if task.entry.recipe.is_some() { &by_recipe } else { &all };
            work += kind.time.checked_div(kind.count).unwrap_or_default();
            usd = crate::report::sum(usd, kind.usd());
        }
        let jobs = jobs.min(count).max(1);
        let time = work / u32::try_from(jobs).unwrap_or(u32::MAX);
        (count > 0 && !known.is_empty()).then_some(Self { tasks: count, usd, time, jobs })
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = duration(u64::try_from(self.time.as_millis()).unwrap_or(u64::MAX));
        write!(
            f,
            "estimate from the earlier night: {}, about {time} with {} at a time",
            counted(self.tasks, "task", "s"),
            self.jobs
        )?;
        match self.usd {
            Some(usd) => write!(f, ", about ${usd:.2}"),
            None => f.write_str(", costs unknown"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Entry;
    use crate::report::TaskEnd;

    fn task(id: &str, recipe: bool) -> Task {
        let entry = Entry { recipe: recipe.then(|| "r.yml".to_owned()), ..Entry::default() };
        Task { id: id.to_owned(), entry, size: 1 }
    }

    fn ran(id: &str, model: &str, seconds: u64, usd: Option<f64>) -> (String, TaskReport) {
        let report = TaskReport::without_run(id, "", TaskEnd::Success, "");
        let report = TaskReport {
            attempts: 1,
            model: model.to_owned(),
            duration_ms: seconds * 1000,
            cost_usd: usd,
            ..report
        };
        (id.to_owned(), report)
    }

    #[test]
    fn tasks_cost_what_they_did_or_what_others_do() {
        let earlier: BTreeMap<String, TaskReport> = [
            ran("a", "m::n", 100, Some(1.0)),
            ran("b", "m::n", 300, Some(2.0)),
            ran("r", "recipe::r.yml", 2, None),
        ]
        .into();
        let tasks = [task("a", false), task("new", false), task("q", true)];
        let estimate = Estimate::new(tasks.iter(), &earlier, 2).expect("an estimate");
        assert_eq!((estimate.usd, estimate.time), (Some(2.5), Duration::from_secs(151)));
        let text = "estimate from the earlier night: 3 tasks, about 2 min 31 s with 2 at a time, about $2.50";
        assert_eq!(estimate.to_string(), text);
        let mut settled = TaskReport::without_run("a", "", TaskEnd::Settled, "");
        // What it took in the night before is known still.
        settled.last_work = earlier["a"].last_work();
        let later = [("a".to_owned(), settled.clone())].into();
        let again = Estimate::new(tasks.iter().take(1), &later, 2).expect("an estimate");
        assert_eq!((again.usd, again.time), (Some(1.0), Duration::from_secs(100)));
        settled.last_work = None;
        assert_eq!(Estimate::new(tasks.iter(), &[("a".to_owned(), settled)].into(), 2), None, "nothing ran");
        assert_eq!(Estimate::new([].iter(), &earlier, 2), None, "nothing to do");
    }
}
