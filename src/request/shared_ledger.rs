//! Ledger on a branch of the repository, for machines that share no disk.
//!
//! A run works with a copy of the month's file. Where days or months are limited, it first reserves on the branch what it may
//! spend; at its end it says there what it has spent. Both are compare and swap, so that any number of runs keep a limit
//! together.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::error::InputError;
use super::ledger_limits::{labels, limits};
use super::values::Inputs;
use crate::base::clock::{DAY, MONTH, now};
use crate::base::env::{is_in_actions, state_folder};
use crate::config::{Config, Unmeasured};
use crate::github::{Api, Environment, RecordBranch, with_lines};
use crate::model::{LedgerEntry, LedgerError, LedgerLabels, LedgerLimits, Sums, parse_ledger};

/// The branch, where nobody names another.
const BRANCH: &str = "architect-ci-records";

/// What the input `ledger` begins with if it names a branch.
const PREFIX: &str = "branch";

/// Less money than this is not worth a run, in USD.
const LEAST: f64 = 0.000_1;

/// A ledger on a branch, and the copy of it that a run works with.
#[derive(Debug)]
pub struct SharedLedger {
    branch: RecordBranch,
    /// The copy.
    file: PathBuf,
    /// The file on the branch.
    month: String,
    labels: LedgerLabels,
    limits: LedgerLimits,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Length of the copy before the run, in bytes.
    from: usize,
    reservation: Option<String>,
}

/// Returns the name of the branch if a ledger is on one.
pub fn ledger_branch(place: &Path) -> Option<String> {
    let text = place.to_str()?;
    match text.strip_prefix(PREFIX)? {
        "" => Some(BRANCH.to_owned()),
        name => name.strip_prefix(':').filter(|name| !name.is_empty()).map(str::to_owned),
    }
}

/// Returns the branch of records of this repository.
pub fn ledger_records(environment: &Environment, name: &str) -> Result<RecordBranch, InputError> {
    Ok(RecordBranch::new(Api::new(environment).map_err(InputError::GitHub)?, name))
}

/// Returns the file of a month, such as `2026-11`.
fn file_of(month: &str) -> String {
    format!("costs/{month}.jsonl")
}

/// Reads all months of a ledger on a branch.
pub async fn read_shared_ledger(branch: &RecordBranch) -> Result<Vec<LedgerEntry>, InputError> {
    let mut entries = Vec::new();
    for name in branch.list("costs").await? {
        let path = format!("costs/{name}");
        let text = branch.read(&path).await?.unwrap_or_default();
        entries.extend(parse_ledger(Path::new(&path), &text)?);
    }
    Ok(entries)
}

/// How much of what the limits leave is reserved for some work.
#[derive(Clone, Copy, Debug)]
pub enum Claim {
    /// So many USD at most; without a number, all that is left.
    Budget(Option<f64>),
    /// One of so many parts of what is left, for machines that work at the same time.
    Part(u32),
}

impl Claim {
    fn of(self, left: f64) -> f64 {
        match self {
            Self::Budget(budget) => budget.map_or(left, |budget| budget.min(left)),
            Self::Part(parts) => left / f64::from(parts.max(1)),
        }
    }

    /// Returns what the limits leave beyond the claim, where nothing but the ledger keeps the work from spending that too.
    fn beyond(self, left: f64) -> Option<f64> {
        match self {
            Self::Budget(_) => None,
            Self::Part(_) => Some(left - self.of(left)),
        }
    }
}

/// Does work whose costs are kept on a branch, if there is such a ledger: opens it, and closes it however the work ends.
/// Returns the outcome of the work, and why its costs could not be written down, if so; that is told beside the work's own
/// end, never in its place.
pub async fn with_ledger<T>(
    ledger: Option<&SharedLedger>,
    claim: Claim,
    work: impl Future<Output = T>,
) -> Result<(T, Option<InputError>), InputError> {
    let Some(ledger) = ledger else { return Ok((work.await, None)) };
    match ledger.start(claim).await {
        // The time is up, so the work ends as soon as it begins, and its report says so.
        Err(error) if error.cut_off().is_some() => {
            tracing::warn!("warning: {error}");
            ledger.write_copy("")?;
        }
        started => started?,
    }
    let done = work.await;
    Ok((done, ledger.close().await.err()))
}

impl SharedLedger {
    /// Returns the ledger that the inputs name, if that is on a branch; sends no request. Runners of GitHub Actions are thrown
    /// away, so limits of days and months are kept on a branch there unless another place is named.
    pub(crate) fn new(
        inputs: &Inputs,
        config: &Config,
        github: Option<&Environment>,
    ) -> Result<Option<Self>, InputError> {
        let named = inputs.ledger.as_deref();
        let limits = limits(config);
        let by_default = named.is_none() && is_in_actions(&inputs.variables) && limits.is_limited();
        let Some(name) = named.and_then(ledger_branch).or_else(|| by_default.then(|| BRANCH.to_owned()))
        else {
            return Ok(None);
        };
        let github = github.ok_or(LedgerError::NoGitHub)?;
        let folder = state_folder(&inputs.variables).ok_or(LedgerError::NoPlace)?.join("ledgers");
        Ok(Some(Self {
            branch: ledger_records(github, &name)?,
            file: folder.join(format!("{}.jsonl", uuid::Uuid::new_v4())),
            month: file_of(&now()[..MONTH]),
            labels: labels(inputs, config),
            limits,
            state: Mutex::default(),
        }))
    }

    /// Returns the copy.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Prepares a run: where days or months are limited, reserves what it may spend.
    async fn start(&self, claim: Claim) -> Result<(), InputError> {
        if !self.limits.is_limited() {
            return self.write_copy("");
        }
        let id = uuid::Uuid::new_v4().to_string();
        let mut seen = String::new();
        let mut is_first = false;
        let reserve = |old: Option<&str>| {
            let now = now();
            is_first = old.is_none();
            let old = old.unwrap_or_default();
            let left = self.left(old, &now)?;
            let reservation = |id: &str, usd| {
                line(&LedgerEntry { reservation: Some(id.to_owned()), ..self.entry(&now, usd) })
            };
            seen = match claim.beyond(left) {
                None => old.to_owned(),
                Some(beyond) => with_lines(old, &reservation("others", beyond)),
            };
            Ok::<_, InputError>(Some(with_lines(old, &reservation(&id, claim.of(left)))))
        };
        let reserved = self.branch.update(&self.month, "reserve", reserve).await;
        let is_reserved = reserved.is_ok();
        self.unless_warned(reserved)?;
        if is_reserved && is_first {
            self.warn_of_beginning().await;
        }
        // Without the reservation: what this run spends counts as it is spent. What is left for others counts as theirs.
        self.write_copy(&seen)?;
        self.state().reservation = is_reserved.then_some(id);
        Ok(())
    }

    /// Says that there are no records from before, which may be because somebody has deleted them: nothing else would show it.
    async fn warn_of_beginning(&self) {
        let months = self.branch.list("costs").await.unwrap_or_default();
        if months.iter().all(|month| self.month.ends_with(month.as_str())) {
            tracing::warn!(
                "warning: the branch {} holds no earlier records, so the budgets of days and months start at $0; if it has been \
                 deleted, restore it, because what was spent before is not known otherwise",
                self.branch.name()
            );
        }
    }

    fn write_copy(&self, text: &str) -> Result<(), InputError> {
        let failed = |error| InputError::from(LedgerError::Io { path: self.file.clone(), error });
        let folder = self.file.parent().unwrap_or(&self.file);
        fs::create_dir_all(folder).and_then(|()| fs::write(&self.file, text)).map_err(failed)?;
        self.state().from = text.len();
        Ok(())
    }

    /// Returns how many USD the limits leave.
    fn left(&self, text: &str, now: &str) -> Result<f64, InputError> {
        let sums = Sums::new(&parse_ledger(Path::new(&self.month), text)?);
        let mut left = f64::INFINITY;
        for period in self.limits.periods(now) {
            if sums.has_unknown(period.name) {
                self.unless_warned(Err(period.unknown_cost(Path::new(&self.month)).into()))?;
            }
            let spent = sums.of(period.name);
            if period.limit - spent < LEAST {
                return Err(period.spent(spent).into());
            }
            left = left.min(period.limit - spent);
        }
        Ok(left)
    }

    /// Says on the branch what was spent. The copy stays if that fails.
    async fn close(&self) -> Result<(), InputError> {
        let (from, reservation) = {
            let mut state = self.state();
            (state.from, state.reservation.take())
        };
        let text = fs::read_to_string(&self.file)
            .map_err(|error| LedgerError::Io { path: self.file.clone(), error })?;
        let own = text.get(from..).unwrap_or_default();
        let mut months = Self::by_month(parse_ledger(&self.file, own)?);
        if let Some(id) = reservation {
            let settled = months.entry(self.month.clone()).or_default();
            settled.push(LedgerEntry { settles: Some(id), ..self.entry(&now(), 0.0) });
        }
        for (month, entries) in months {
            let lines: String = entries.iter().map(line).collect();
            let written = self.branch.for_results().append(&month, &lines, "record costs").await;
            if let Err(error) = written {
                return self.unless_warned(Err(error.into()));
            }
        }
        let _ = fs::remove_file(&self.file);
        Ok(())
    }

    /// Sums entries up by month, day, task and model.
    fn by_month(entries: Vec<LedgerEntry>) -> BTreeMap<String, Vec<LedgerEntry>> {
        let mut sums: BTreeMap<(String, String, String, bool), LedgerEntry> = BTreeMap::new();
        for entry in entries {
            let key = (
                entry.at[..DAY].to_owned(),
                entry.labels.task.clone(),
                entry.model.clone(),
                entry.usd.is_some(),
            );
            match sums.get_mut(&key) {
                Some(sum) => {
                    sum.usd = sum.usd.zip(entry.usd).map(|(one, other)| one + other);
                    sum.input += entry.input;
                    sum.output += entry.output;
                    sum.answers += entry.answers;
                }
                None => {
                    sums.insert(key, entry);
                }
            }
        }
        let mut months: BTreeMap<String, Vec<LedgerEntry>> = BTreeMap::new();
        for entry in sums.into_values() {
            months.entry(file_of(&entry.at[..MONTH])).or_default().push(entry);
        }
        months
    }

    fn entry(&self, now: &str, usd: f64) -> LedgerEntry {
        LedgerEntry {
            at: now.to_owned(),
            usd: Some(usd),
            input: 0,
            output: 0,
            answers: 0,
            model: String::new(),
            reservation: None,
            settles: None,
            labels: self.labels.clone(),
        }
    }

    /// Returns a result as it is, or logs its error and continues if the configuration says so. A limit that is reached is no
    /// matter of measuring.
    fn unless_warned(&self, result: Result<(), InputError>) -> Result<(), InputError> {
        match result {
            Err(error)
                if self.limits.unmeasured == Unmeasured::Warn
                    && !matches!(error, InputError::Ledger(LedgerError::Spent { .. })) =>
            {
                tracing::warn!("warning: {error}");
                Ok(())
            }
            result => result,
        }
    }

    fn state(&self) -> parking_lot::MutexGuard<'_, State> {
        self.state.lock()
    }
}

fn line(entry: &LedgerEntry) -> String {
    // The types hold nothing that JSON cannot.
    format!("{}\n", serde_json::to_string(entry).unwrap_or_default())
}
