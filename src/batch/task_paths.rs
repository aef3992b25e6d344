//! Folders in which a task of a batch is worked on.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::base::time_slots::SharedRate;
use crate::command::sandbox::SharedFolder;

/// Where a task is worked on, and what it may take.
#[derive(Clone, Copy, Debug)]
pub struct TaskPaths<'a> {
    /// Its worktree, or the folder of it that the batch's checkout is.
    pub checkout: &'a Path,
    /// Folders in it that it shares with the batch's checkout.
    pub shared: &'a [SharedFolder],
    /// The folder for its files.
    pub out: &'a Path,
    /// Most money.
    pub budget_usd: Option<f64>,
    /// Most time.
    pub timeout: Option<Duration>,
    /// When that is up.
    pub deadline: Option<Instant>,
    /// Most requests to its model in a minute, of all tasks of this process.
    pub requests_per_minute: Option<u64>,
    /// The rate that this is a share of, if other processes have shares in it.
    pub(crate) shared_rate: Option<&'a SharedRate>,
    /// What an earlier try teaches.
    pub lesson: Option<&'a str>,
    /// The model of a further try.
    pub model: Option<&'a str>,
}

impl<'a> TaskPaths<'a> {
    /// Takes the place of a task that asks no model, and has to end by then.
    pub(super) fn without_model(checkout: &'a Path, out: &'a Path, deadline: Option<Instant>) -> Self {
        Self {
            checkout,
            shared: &[],
            out,
            budget_usd: None,
            timeout: None,
            deadline,
            requests_per_minute: None,
            shared_rate: None,
            lesson: None,
            model: None,
        }
    }
}
