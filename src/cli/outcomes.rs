//! `architect-ci outcomes`: what became of delivered changes, and what those cost that were merged.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::ValueEnum;
use sanitize::untrusted::visible;
use serde::Serialize;
use time::Duration;
use time::format_description::well_known::Rfc3339;

use super::costs::entries_of;
use super::print_or_fail;
use super::run::runtime;
use super::style::below;
use crate::base::clock::now_utc;
use crate::event::Exit;
use crate::github::{Api, Author, Environment, Fate, PullOutcome, outcomes};
use crate::model::{LedgerEntry, LedgerError, without_settled};
use crate::request::{InputError, variables};

/// Print what became of delivered pull requests, and what a merged one costs
#[derive(Debug, clap::Args)]
#[command(after_help = below(
    &[
        ("architect-ci outcomes", "Prints what became of the pull requests of the last 90 days, by task"),
        ("architect-ci outcomes --by model --ledger branch", "The same by model, with costs from the ledger on its branch"),
    ],
    "The repository and the token are those of GITHUB_REPOSITORY and GITHUB_TOKEN. Without a ledger, costs are unknown. \
     This is about pull requests; docs/outcomes.md describes how runs end.",
))]
pub(super) struct Outcomes {
    /// The ledger: a file, or `branch` or `branch:NAME` of the repository on GitHub [default: that of this user]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    ledger: Option<PathBuf>,
    /// What pull requests are summed up by
    #[arg(long, value_name = "WHAT", default_value = "task")]
    by: GroupBy,
    /// How many days back to look
    #[arg(long, value_name = "N", default_value_t = 90)]
    days: u16,
    /// After how many days an open pull request counts as ignored
    #[arg(long, value_name = "N", default_value_t = 14)]
    ignored_after: u16,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum GroupBy {
    Task,
    Workflow,
    Model,
    Agent,
    Recipe,
}

/// What became of some pull requests.
#[derive(Debug, Default, Serialize)]
struct Subtotal {
    merged: u32,
    changed_before_merge: u32,
    closed: u32,
    ignored: u32,
    open: u32,
    usd: f64,
    /// `null` if none was merged.
    usd_per_merged: Option<f64>,
}

impl Outcomes {
    pub(super) fn execute(self) -> Exit {
        print_or_fail(self.text())
    }

    fn text(&self) -> Result<String, InputError> {
        let now = now_utc();
        let before = |days: u16| (now - Duration::days(i64::from(days))).format(&Rfc3339).unwrap_or_default();
        let environment = Environment::read(&variables(), None).map_err(InputError::Event)?;
        let environment = environment.ok_or(LedgerError::NoGitHub)?;
        let pulls = async { outcomes(&Api::new(&environment)?, &before(self.days)).await };
        let pulls = runtime()?.block_on(pulls).map_err(InputError::GitHub)?;
        let (_, entries) = entries_of(self.ledger.as_deref())?;
        let since = before(self.days);
        let entries: Vec<LedgerEntry> =
            without_settled(entries).into_iter().filter(|entry| entry.at >= since).collect();
        let sums = self.sums(&pulls, &entries, &before(self.ignored_after));
        if self.json {
            return Ok(format!("{}\n", serde_json::to_string_pretty(&sums).unwrap_or_default()));
        }
        if sums.is_empty() {
            return Ok(format!("architect-ci opened no pull request in the last {} days\n", self.days));
        }
        Ok(sums.iter().map(|(key, sum)| line(key, sum)).collect())
    }

    fn sums(
        &self,
        pulls: &[PullOutcome],
        entries: &[LedgerEntry],
        ignored: &str,
    ) -> BTreeMap<String, Subtotal> {
        let mut sums: BTreeMap<String, Subtotal> = BTreeMap::new();
        for pull in pulls {
            let sum = sums.entry(self.group(&pull.key, Some(&pull.author), entries)).or_default();
            match pull.fate {
                Fate::Merged => sum.merged += 1,
                Fate::Changed => sum.changed_before_merge += 1,
                Fate::Closed => sum.closed += 1,
                Fate::Open if pull.created_at.as_str() < ignored => sum.ignored += 1,
                Fate::Open => sum.open += 1,
            }
        }
        for entry in entries {
            let pull = pulls.iter().find(|pull| pull.key == entry.labels.task);
            let author = pull.map(|pull| &pull.author);
            let key = match self.by {
                // The model of the answer, whichever one the change is of.
                GroupBy::Model => entry.model.clone(),
                _ => self.group(&entry.labels.task, author, std::slice::from_ref(entry)),
            };
            // What never led to a pull request has its price as well.
            sums.entry(key).or_default().usd += entry.usd.unwrap_or(0.0);
        }
        for sum in sums.values_mut() {
            let merged = sum.merged + sum.changed_before_merge;
            sum.usd_per_merged = (merged > 0).then(|| sum.usd / f64::from(merged));
        }
        sums
    }

    /// Returns what a task is summed up under: for agents and recipes, those that its pull request names; for workflows, and
    /// for models if the pull request names none, that of its latest entry in the ledger.
    fn group(&self, task: &str, author: Option<&Author>, entries: &[LedgerEntry]) -> String {
        let latest =
            || entries.iter().filter(|entry| entry.labels.task == task).max_by(|a, b| a.at.cmp(&b.at));
        match self.by {
            GroupBy::Task => task.to_owned(),
            GroupBy::Workflow => latest().map(|entry| entry.labels.workflow.clone()).unwrap_or_default(),
            GroupBy::Model => {
                let named = author.map(|author| author.model.clone()).filter(|model| !model.is_empty());
                named.or_else(|| latest().map(|entry| entry.model.clone())).unwrap_or_default()
            }
            GroupBy::Agent => author.map(|author| author.agent.clone()).unwrap_or_default(),
            GroupBy::Recipe => {
                let recipe = author.and_then(|author| author.model.strip_prefix("recipe::"));
                recipe.unwrap_or_default().to_owned()
            }
        }
    }
}

fn line(key: &str, sum: &Subtotal) -> String {
    let key = if key.is_empty() { "(none)".to_owned() } else { visible(key).replace('\n', " ") };
    let parts: Vec<String> = [
        (sum.merged, "merged"),
        (sum.changed_before_merge, "changed before they were merged"),
        (sum.closed, "closed"),
        (sum.ignored, "ignored"),
        (sum.open, "open"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, word)| format!("{count} {word}"))
    .collect();
    let parts = if parts.is_empty() { "no pull request".to_owned() } else { parts.join(", ") };
    let each =
        sum.usd_per_merged.map(|usd| format!(", ${usd:.4} for each that was merged")).unwrap_or_default();
    format!("{key}  {parts}  ${:.4}{each}\n", sum.usd)
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::{Value, json};

    use super::*;

    #[derive(Parser)]
    struct Given {
        #[command(flatten)]
        outcomes: Outcomes,
    }

    const IGNORED: &str = "2026-11-10T00:00:00Z";

    fn pull(key: &str, model: &str, at: &str, fate: Fate) -> PullOutcome {
        let author = Author { agent: "build".to_owned(), model: model.to_owned() };
        PullOutcome {
            key: key.to_owned(),
            author,
            number: 1,
            url: String::new(),
            created_at: at.to_owned(),
            fate,
        }
    }

    fn entry(task: &str, model: &str, usd: Option<f64>) -> LedgerEntry {
        let entry = json!({
            "at": "2026-11-01T00:00:00Z", "usd": usd, "input": 1, "output": 1, "model": model,
            "repository": "octo/demo", "workflow": "nightly", "task": task,
        });
        serde_json::from_value(entry).expect("an entry")
    }

    #[test]
    fn outcomes_are_summed_up_with_their_price() {
        let (early, late) = ("2026-11-09T23:59:59Z", "2026-11-10T00:00:00Z");
        let pulls = [
            pull("a", "m", early, Fate::Merged),
            pull("a", "m", late, Fate::Changed),
            pull("a", "m", early, Fate::Closed),
            pull("a", "m", early, Fate::Open),
            pull("a", "m", late, Fate::Open),
            pull("b", "recipe::r.yml", early, Fate::Open),
            pull("c", "m", early, Fate::Merged),
        ];
        let entries = [
            entry("a", "m", Some(0.5)),
            entry("a", "m", Some(0.25)),
            entry("b", "m", None),
            entry("c", "other", Some(0.1)),
            entry("d", "m", Some(2.0)),
        ];
        let sums = |by: &str| -> Value {
            let given = Given::try_parse_from(["outcomes", "--by", by]).expect("arguments");
            serde_json::to_value(given.outcomes.sums(&pulls, &entries, IGNORED)).expect("JSON")
        };
        let sum = |[merged, changed, closed, ignored, open]: [u32; 5], usd: f64, each: Option<f64>| {
            json!({
                "merged": merged, "changed_before_merge": changed, "closed": closed, "ignored": ignored, "open": open,
                "usd": usd, "usd_per_merged": each,
            })
        };
        let a = sum([1, 1, 1, 1, 1], 0.75, Some(0.375));
        let nothing = sum([0, 0, 0, 1, 0], 0.0, None);
        let tasks = json!({
            "a": a, "b": nothing, "c": sum([1, 0, 0, 0, 0], 0.1, Some(0.1)), "d": sum([0; 5], 2.0, None),
        });
        assert_eq!(sums("task"), tasks);
        // What a model has cost is told of that model, whoever is named as the author.
        let models = json!({
            "m": sum([2, 1, 1, 1, 1], 2.75, Some(2.75 / 3.0)), "other": sum([0; 5], 0.1, None), "recipe::r.yml": nothing,
        });
        assert_eq!(sums("model"), models);
        assert_eq!(sums("recipe")["r.yml"], nothing);
        let lines = |by: &str| {
            let given = Given::try_parse_from(["outcomes", "--by", by]).expect("arguments");
            let sums = given.outcomes.sums(&pulls, &entries, IGNORED);
            sums.iter().map(|(key, sum)| line(key, sum)).collect::<String>()
        };
        let told = "a  1 merged, 1 changed before they were merged, 1 closed, 1 ignored, 1 open  $0.7500, $0.3750 for each that was \
                    merged\nb  1 ignored  $0.0000\nc  1 merged  $0.1000, $0.1000 for each that was merged\nd  no pull request  $2.0000\n";
        assert_eq!(lines("task"), told);
    }
}
