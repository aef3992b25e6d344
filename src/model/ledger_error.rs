//! Reasons why a ledger allows nothing more to be spent.

use std::io;
use std::path::PathBuf;

/// Why nothing more is spent.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The file cannot be read or written.
    #[error(
        "could not use the ledger {path}: {error}; set `ledger` to a file that can be written, or `costs.unmeasured: warn`"
    )]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// A line makes no sense.
    #[error(
        "invalid ledger {path}, line {line}: {error}; remove or correct that line, or set `costs.unmeasured: warn`"
    )]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The reason.
        error: serde_json::Error,
    },
    /// A limit is reached.
    #[error("the budget of {period} is spent: ${spent:.4} of ${limit:.4} (`costs.{key}`)")]
    Spent {
        /// The day or the month.
        period: String,
        /// USD that were spent.
        spent: f64,
        /// USD that may be.
        limit: f64,
        /// The key of the configuration.
        key: &'static str,
    },
    /// What is spent cannot be measured.
    #[error(
        "no price is known for {0}, so its cost cannot be counted towards `costs.budget_per_day` or \
         `costs.budget_per_month`; add a price to `costs.prices_file`, or set `costs.unmeasured: warn`"
    )]
    NoPrice(String),
    /// A model does not say what its answers use.
    #[error(
        "{0} does not say how many tokens its answers use (or a number that cannot be), so they are counted as the most that \
         they can have cost; set `costs.unmeasured: warn` to go on like that"
    )]
    NoUsage(String),
    /// It is not known what answers of others have cost.
    #[error(
        "the ledger {path} contains answers of {period} whose cost is not known (`usd` is null), so `costs.{key}` cannot be \
         enforced; set their `usd`, or set `costs.unmeasured: warn`"
    )]
    UnknownCost {
        /// The file.
        path: PathBuf,
        /// The day or the month.
        period: String,
        /// The key of the configuration.
        key: &'static str,
    },
    /// Commands of a run could write the file.
    #[error(
        "the ledger {0} is a file of the checkout, which a run may change; put it outside of the checkout"
    )]
    InCheckout(PathBuf),
    /// A branch without a repository on GitHub.
    #[error(
        "a ledger on a branch requires a repository on GitHub; set `GITHUB_REPOSITORY` and `GITHUB_TOKEN`"
    )]
    NoGitHub,
    /// There is no folder for the file.
    #[error("there is no folder for the ledger; set `ledger` to a file, or set `HOME`")]
    NoPlace,
}
