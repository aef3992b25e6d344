//! A run in which an agent works.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;

use super::Run;
use super::base_gates::BaseGates;
use super::context::Surroundings;
use super::test_proof::Shown;
use crate::agent::{Dispatch, RegainedResult};
use crate::event::TestFinding;
use crate::mcp::Servers;
use crate::model::Budget;
use crate::recipe::MatchTable;
use crate::request::RunRequest;

/// A run in which an agent works.
pub(super) struct AgentRun<'a> {
    pub(super) run: Run<'a>,
    pub(super) request: &'a RunRequest,
    /// What the model may cost, and has cost.
    pub(super) budget: Arc<Budget>,
    /// Sends sub-agents.
    pub(super) dispatch: Arc<Dispatch>,
    /// Other people's tools.
    pub(super) servers: Servers,
    /// What agents are told of the checkout.
    pub(super) surroundings: Surroundings,
    /// Gates on the state before the run.
    pub(super) base: BaseGates,
    /// Whether a requested check could not be carried out.
    pub(super) is_unchecked: AtomicBool,
    /// What the change does to the meaning of tests, as it was judged last.
    pub(super) test_findings: Mutex<Vec<TestFinding>>,
    /// What the tests of the change showed when they last ran.
    pub(super) shown: Mutex<Option<Shown>>,
    /// Places that a recipe has changed.
    pub(super) matches: Arc<MatchTable>,
    /// Results of calls that were under way when the session was interrupted.
    pub(super) regained: Vec<RegainedResult>,
}
