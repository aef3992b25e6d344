//! Context of a batch: everything that its tasks have in common.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use super::journal::Journal;
use super::manifest::Manifest;
use super::neighbours::Neighbours;
use super::planned::PlannedTasks;
use super::request::BatchRequest;
use super::task_key::KeyParts;
use super::worktree::Worktrees;
use crate::base::time_slots::SharedRate;
use crate::run::Signal;

/// The folder of all tasks' files, below the batch's.
pub(super) const TASKS: &str = "tasks";

/// A task's log, in its folder.
pub(super) const LOG: &str = "log.txt";

/// What each task of a batch works with.
pub(super) struct BatchContext {
    pub(super) request: Arc<BatchRequest>,
    pub(super) manifest: Manifest,
    pub(super) worktrees: Worktrees,
    pub(super) journal: Mutex<Journal>,
    pub(super) signal: Signal,
    pub(super) deadline: Option<Instant>,
    /// Most requests to a model in a minute that this machine may send.
    pub(super) requests_per_minute: Option<u64>,
    /// The rate that this is a share of, if other shards have shares in it.
    pub(super) shared_rate: Option<SharedRate>,
    /// What another job has planned, where this one only writes it.
    pub(super) planned: Option<PlannedTasks>,
    /// What keys of tasks are made from; `None` if they cannot be made.
    pub(super) key_parts: Option<KeyParts>,
    /// What models did where recipes did not do.
    pub(super) neighbours: Neighbours,
}
