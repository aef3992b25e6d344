//! `architect-ci costs`: what runs have cost, from the ledger.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use sanitize::untrusted::visible;
use serde::Serialize;

use super::print_or_fail;
use super::run::runtime;
use super::style::below;
use crate::event::Exit;
use crate::github::Environment;
use crate::model::{LedgerEntry, LedgerError, read_ledger, without_settled};
use crate::request::{
    InputError, default_ledger, ledger_branch, ledger_records, read_shared_ledger, variables,
};

/// Width of the longest bar, in characters.
const BAR: f64 = 30.0;

/// Print what runs have cost, from the ledger
#[derive(Debug, clap::Args)]
#[command(after_help = below(
    &[
        ("architect-ci costs", "Prints what each day has cost"),
        ("architect-ci costs --by model --json", "Prints the same by model, as JSON"),
    ],
    "Runs write the ledger if `ledger`, `costs.budget_per_day` or `costs.budget_per_month` is set.",
))]
pub(super) struct Costs {
    /// The ledger: a file, or `branch` or `branch:NAME` of the repository on GitHub [default: that of this user]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    ledger: Option<PathBuf>,
    /// What the answers are summed up by
    #[arg(long, value_name = "WHAT", default_value = "day")]
    by: GroupBy,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum GroupBy {
    Day,
    Month,
    Model,
    Repository,
    Workflow,
    Task,
}

/// The sum of some answers.
#[derive(Debug, Default, Serialize)]
struct Subtotal {
    usd: f64,
    answers: u64,
    /// Answers of models without a known price, which `usd` leaves out.
    unpriced: u64,
    /// Runs that have reserved what they may spend, and have not said what they did spend.
    reserved: u64,
    input: u64,
    output: u64,
}

impl Costs {
    pub(super) fn execute(self) -> Exit {
        print_or_fail(self.text())
    }

    fn text(&self) -> Result<String, InputError> {
        let (place, entries) = entries_of(self.ledger.as_deref())?;
        let mut sums: BTreeMap<String, Subtotal> = BTreeMap::new();
        for entry in without_settled(entries) {
            let sum = sums.entry(key(self.by, &entry).to_owned()).or_default();
            sum.usd += entry.usd.unwrap_or(0.0);
            sum.answers += entry.answers;
            sum.unpriced += if entry.usd.is_none() { entry.answers } else { 0 };
            sum.reserved += u64::from(entry.reservation.is_some());
            sum.input += entry.input;
            sum.output += entry.output;
        }
        if self.json {
            return Ok(format!("{}\n", serde_json::to_string_pretty(&sums).unwrap_or_default()));
        }
        let most = sums.values().map(|sum| sum.usd).fold(0.0, f64::max);
        let mut text: String = sums.iter().map(|(key, sum)| line(key, sum, most)).collect();
        if sums.is_empty() {
            return Ok(format!("nothing is recorded in {}\n", visible(&place)));
        }
        // Not from -0.0, with which a sum of floats begins.
        let all = sums.values().map(|sum| sum.usd).fold(0.0, |all, usd| all + usd);
        text += &format!("all: ${all:.4}\n");
        Ok(text)
    }
}

/// Returns where a ledger is, and all that is in it. That of this user need not be there.
pub(super) fn entries_of(ledger: Option<&Path>) -> Result<(String, Vec<LedgerEntry>), InputError> {
    let variables = variables();
    if let Some(name) = ledger.and_then(ledger_branch) {
        let environment = Environment::read(&variables, None).map_err(InputError::Event)?;
        let records = async {
            read_shared_ledger(&ledger_records(&environment.ok_or(LedgerError::NoGitHub)?, &name)?).await
        };
        let entries = runtime()?.block_on(records)?;
        return Ok((format!("the branch {name}"), entries));
    }
    let path =
        ledger.map(Path::to_owned).or_else(|| default_ledger(&variables)).ok_or(LedgerError::NoPlace)?;
    let entries = match read_ledger(&path) {
        // No run of this user has written one yet. A ledger that is named has to be there.
        Err(LedgerError::Io { error, .. }) if ledger.is_none() && error.kind() == io::ErrorKind::NotFound => {
            Vec::new()
        }
        read => read?,
    };
    Ok((path.display().to_string(), entries))
}

fn key(by: GroupBy, entry: &LedgerEntry) -> &str {
    match by {
        // The time of an entry is checked when it is read.
        GroupBy::Day => &entry.at[..10],
        GroupBy::Month => &entry.at[..7],
        GroupBy::Model => &entry.model,
        GroupBy::Repository => &entry.labels.repository,
        GroupBy::Workflow => &entry.labels.workflow,
        GroupBy::Task => &entry.labels.task,
    }
}

fn line(key: &str, sum: &Subtotal, most: f64) -> String {
    let key = if key.is_empty() { "(none)".to_owned() } else { visible(key).replace('\n', " ") };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to the width of a bar"
    )]
    let width = if most > 0.0 { (sum.usd / most * BAR).round() as usize } else { 0 };
    let unpriced =
        if sum.unpriced > 0 { format!(", {} of unknown price", sum.unpriced) } else { String::new() };
    let reserved = if sum.reserved > 0 {
        format!(", {} reserved by runs that have not ended", sum.reserved)
    } else {
        String::new()
    };
    format!("{key}  ${:.4}  {} answers{unpriced}{reserved}  {}\n", sum.usd, sum.answers, "█".repeat(width))
}
