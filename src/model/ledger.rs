//! Ledger: what all runs have spent, one line for each answer, in a file that many may write at the same time.
//!
//! Limits of a day or a month are asked before every answer. What cannot be read or measured bars the next answer, unless the
//! configuration says otherwise.

use std::fs;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use parking_lot::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use super::claims::{Claim, ClaimAttempt};
use super::ledger_entry::{LedgerEntry, LedgerLabels};
use super::ledger_error::LedgerError;
use super::ledger_file::{Access, entries, open};
use super::reservations::Sums;
use crate::base::clock::{DAY, MONTH, now};
use crate::base::file_locks::FileLocks;
use crate::config::Unmeasured;
use crate::event::Usage;

/// Most that all runs together may spend.
#[derive(Clone, Copy, Debug, Default)]
pub struct LedgerLimits {
    /// USD in a day (UTC).
    pub per_day: Option<f64>,
    /// USD in a month (UTC).
    pub per_month: Option<f64>,
    /// What happens where spending cannot be read or measured.
    pub unmeasured: Unmeasured,
}

impl LedgerLimits {
    /// Returns whether there is any.
    pub fn is_limited(&self) -> bool {
        self.per_day.is_some() || self.per_month.is_some()
    }

    /// Returns the periods that are limited, at a time as ledgers write it.
    pub fn periods<'a>(&self, now: &'a str) -> impl Iterator<Item = LimitedPeriod<'a>> + use<'a> {
        [(self.per_day, &now[..DAY], "budget_per_day"), (self.per_month, &now[..MONTH], "budget_per_month")]
            .into_iter()
            .filter_map(|(limit, name, key)| Some(LimitedPeriod { name, limit: limit?, key }))
    }
}

/// A day or a month, and what may be spent in it.
#[derive(Clone, Copy, Debug)]
pub struct LimitedPeriod<'a> {
    /// The beginning of all times in it, such as `2026-11-22` or `2026-11`.
    pub name: &'a str,
    /// USD that may be spent.
    pub limit: f64,
    /// The key of the configuration.
    key: &'static str,
}

impl LimitedPeriod<'_> {
    /// Returns the error that `spent` USD are the limit or more.
    pub fn spent(&self, spent: f64) -> LedgerError {
        LedgerError::Spent { period: self.name.to_owned(), spent, limit: self.limit, key: self.key }
    }

    /// Returns the error that answers in a ledger have no known cost.
    pub fn unknown_cost(&self, path: &Path) -> LedgerError {
        LedgerError::UnknownCost { path: path.to_owned(), period: self.name.to_owned(), key: self.key }
    }
}

/// An open ledger.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    limits: LedgerLimits,
    labels: LedgerLabels,
    /// Whether other runs use the file as well.
    is_shared: bool,
    locks: FileLocks,
    state: Mutex<State>,
}

/// What has been read so far.
#[derive(Debug, Default)]
struct State {
    offset: u64,
    lines: usize,
    /// USD by day.
    days: Sums,
    /// Why the file does not say what this run spends.
    problem: Option<String>,
    /// Whether an answer could not be written down.
    is_unwritten: bool,
    /// Model of this run that does not say what its answers use.
    unmeasured: Option<String>,
    warned: bool,
}

impl Ledger {
    /// Opens a ledger, which is created if it does not exist.
    pub fn open(path: PathBuf, limits: LedgerLimits, labels: LedgerLabels) -> Result<Self, LedgerError> {
        let (locks, state) = (FileLocks::default(), Mutex::default());
        let ledger = Self { path, limits, labels, is_shared: true, locks, state };
        let created = fs::create_dir_all(ledger.path.parent().unwrap_or(Path::new(".")));
        let opened = created.and_then(|()| open(&ledger.path, Access::Append));
        ledger.unless_warned(opened.map(drop).map_err(|error| ledger.io(error)))?;
        Ok(ledger)
    }

    /// Returns the ledger as one that a single run uses, so that no other has to be waited for.
    #[must_use]
    pub fn alone(self) -> Self {
        Self { is_shared: false, ..self }
    }

    /// Sets when the run has to end: a lock that another process holds is not waited for any longer.
    pub fn wait_until(&self, end: CancellationToken) {
        self.locks.wait_until(end);
    }

    /// Claims what an answer may cost, in USD, so that all runs that use the file exceed no limit by more than one answer.
    pub(super) fn claim(&self, usd: f64) -> ClaimAttempt {
        if !self.is_shared || !self.limits.is_limited() {
            return ClaimAttempt::Granted(None);
        }
        let mut folder = self.path.clone().into_os_string();
        folder.push(".claims");
        let left = || self.left().map_err(io::Error::other);
        match Claim::take(Path::new(&folder), &self.locks, usd, left) {
            Ok(Some(claim)) => ClaimAttempt::Granted(Some(claim)),
            Ok(None) => ClaimAttempt::Busy,
            Err(error) => {
                self.state().problem = Some(error.to_string());
                ClaimAttempt::Granted(None)
            }
        }
    }

    /// Returns how many USD the limits leave.
    fn left(&self) -> Result<f64, LedgerError> {
        self.read_on()?;
        let (state, now) = (self.state(), now());
        let of = |limit: Option<f64>, period: &str| limit.map(|limit| limit - state.days.of(period));
        let left = [of(self.limits.per_day, &now[..DAY]), of(self.limits.per_month, &now[..MONTH])];
        Ok(left.into_iter().flatten().fold(f64::INFINITY, f64::min))
    }

    /// Returns an error if nothing more may be spent; asks the file for what others have written.
    pub fn check(&self) -> Result<(), LedgerError> {
        let read = self.read_on();
        let state = self.state();
        let problem = state.problem.clone().map(|problem| self.io(io::Error::other(problem)));
        let now = now();
        let periods = self.limits.periods(&now).map(|period| (state.days.of(period.name), period));
        let periods: Vec<(f64, LimitedPeriod<'_>)> = periods.collect();
        let unknown = periods.iter().find(|(_, period)| state.days.has_unknown(period.name));
        let unknown = unknown.map(|(_, period)| period.unknown_cost(&self.path));
        let unmeasured = state.unmeasured.clone().filter(|_| self.limits.is_limited());
        drop(state);
        self.unless_warned(read)?;
        for doubt in [problem, unmeasured.map(LedgerError::NoUsage), unknown].into_iter().flatten() {
            self.unless_warned(Err(doubt))?;
        }
        let reached = periods.iter().find(|(spent, period)| *spent >= period.limit);
        reached.map_or(Ok(()), |(spent, period)| Err(period.spent(*spent)))
    }

    /// Returns an error if costs have to be measured and there is no price.
    pub fn check_price(&self, model: &str, is_known: bool) -> Result<(), LedgerError> {
        if is_known || !self.limits.is_limited() {
            return Ok(());
        }
        self.unless_warned(Err(LedgerError::NoPrice(model.to_owned())))
    }

    /// Appends an answer. What cannot be written bars the next one.
    pub fn append(&self, model: &str, usage: Usage, usd: Option<f64>) {
        let entry = LedgerEntry {
            at: now(),
            usd,
            input: usage.input,
            output: usage.output,
            answers: 1,
            model: model.to_owned(),
            reservation: None,
            settles: None,
            labels: self.labels.clone(),
        };
        if let Err(error) = self.write(&entry) {
            let mut state = self.state();
            state.problem = Some(error.to_string());
            state.is_unwritten = true;
        }
    }

    /// Notes that a model does not say what its answers use, so that the amounts in the ledger are only what they may have cost
    /// at most.
    pub(super) fn note_unmeasured(&self, model: &str) {
        self.state().unmeasured = Some(model.to_owned());
    }

    /// Returns why an answer is not in the ledger, if one is not.
    pub fn unrecorded(&self) -> Option<LedgerError> {
        let problem = Some(self.state()).filter(|state| state.is_unwritten)?.problem.clone()?;
        self.unless_warned(Err(self.io(io::Error::other(problem)))).err()
    }

    fn write(&self, entry: &LedgerEntry) -> io::Result<()> {
        let mut text = serde_json::to_string(entry)?;
        text.push('\n');
        let mut file = open(&self.path, Access::Append)?;
        self.locks.lock(&file)?;
        // In one go, and behind no line that was cut.
        if file.seek(SeekFrom::End(0))? > 0 {
            let mut last = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            if last != [b'\n'] {
                text.insert(0, '\n');
            }
        }
        file.write_all(text.as_bytes())?;
        file.sync_data()
    }

    /// Reads what was appended since the last time.
    fn read_on(&self) -> Result<(), LedgerError> {
        let mut file = open(&self.path, Access::Read).map_err(|error| self.io(error))?;
        // Before the state: another thread of the run must not wait for what this one waits for.
        self.locks.lock_shared(&file).map_err(|error| self.io(error))?;
        let state = &mut *self.state();
        let length = file.metadata().map_err(|error| self.io(error))?.len();
        if length < state.offset {
            // Somebody has replaced it.
            (state.offset, state.lines, state.days) = (0, 0, Sums::default());
        }
        file.seek(SeekFrom::Start(state.offset)).map_err(|error| self.io(error))?;
        // All of them or none: they are read again after an error.
        let read = entries(&self.path, BufReader::new(file), state.lines).collect::<Result<Vec<_>, _>>()?;
        for entry in &read {
            state.days.add(entry);
        }
        (state.offset, state.lines) = (length, state.lines + read.len());
        Ok(())
    }

    /// Returns a result as it is, or logs its error and continues if the configuration says so.
    fn unless_warned(&self, result: Result<(), LedgerError>) -> Result<(), LedgerError> {
        match (result, self.limits.unmeasured) {
            (Err(error), Unmeasured::Warn) => {
                if !std::mem::replace(&mut self.state().warned, true) {
                    tracing::warn!("warning: {error}");
                }
                Ok(())
            }
            (result, _) => result,
        }
    }

    fn io(&self, error: io::Error) -> LedgerError {
        LedgerError::Io { path: self.path.clone(), error }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use super::super::read_ledger;
    use super::*;

    fn open(path: &Path, per_day: Option<f64>, unmeasured: Unmeasured) -> Result<Ledger, LedgerError> {
        let limits = LedgerLimits { per_day, per_month: None, unmeasured };
        Ledger::open(path.to_owned(), limits, LedgerLabels::default())
    }

    #[test]
    fn many_writers_lose_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("costs.jsonl");
        let ledgers: Vec<Ledger> =
            (0..20).map(|_| open(&path, None, Unmeasured::Refuse).expect("a ledger")).collect();
        std::thread::scope(|scope| {
            for ledger in &ledgers {
                scope.spawn(|| (0..10).for_each(|_| ledger.append("a::b", Usage::default(), Some(0.01))));
            }
        });
        let entries = read_ledger(&path).expect("a ledger");
        let sum: f64 = entries.iter().filter_map(|entry| entry.usd).sum();
        assert_eq!((entries.len(), (sum * 100.0).round()), (200, 200.0));
        let limited = open(&path, Some(2.0), Unmeasured::Refuse).expect("a ledger");
        assert!(matches!(limited.check(), Err(LedgerError::Spent { .. })), "as all of them wrote it");
    }

    #[test]
    fn what_cannot_be_read_bars_unless_told_otherwise() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("costs.jsonl");
        let ledger = open(&path, Some(1.0), Unmeasured::Refuse).expect("a ledger");
        ledger.append("a::b", Usage::default(), Some(0.5));
        assert!(ledger.check().is_ok());
        // A line that was cut by a kill, then another writer.
        let mut file = OpenOptions::new().append(true).open(&path).expect("a file");
        file.write_all(b"{\"at\": \"20").expect("a write");
        ledger.append("a::b", Usage::default(), Some(0.1));
        let error = ledger.check().expect_err("it is invalid").to_string();
        assert!(error.contains("costs.jsonl, line 2"), "{error}");
        assert!(open(&path, Some(1.0), Unmeasured::Warn).expect("a ledger").check().is_ok());
        assert!(ledger.check_price("a::b", true).is_ok());
        assert!(matches!(ledger.check_price("a::b", false), Err(LedgerError::NoPrice(_))));
        assert!(open(folder.path(), Some(1.0), Unmeasured::Refuse).is_err(), "a folder");
        for wrong in [
            "{\"at\": \"x\", \"usd\": 1, \"input\": 0, \"output\": 0, \"model\": \"m\"}\n",
            "{\"at\": \"2026-01-01T00:00:00Z\", \"usd\": -1, \"input\": 0, \"output\": 0, \"model\": \"m\"}\n",
        ] {
            fs::write(&path, wrong).expect("a write");
            assert!(read_ledger(&path).is_err(), "{wrong}");
        }
    }
}
