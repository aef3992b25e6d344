//! A run whose costs are recorded: what it spends is on the ledger before anybody is told how it ended.

use std::sync::Arc;

use sanitize::Masker;

use super::Signal;
use super::driver::{Worked, work};
use crate::base::bounded::Usd;
use crate::event::{NoticeLevel, StopReason};
use crate::publish::RunResult;
use crate::request::{Claim, InputError, RunRequest, with_ledger};

/// Lets an agent work on a task to its end, records what that has cost, and publishes what came of it. A run that would end well
/// fails if its costs cannot be recorded.
pub(crate) async fn run(
    request: &RunRequest,
    masker: Arc<Masker>,
    signal: Signal,
) -> Result<RunResult, InputError> {
    let claim = Claim::Budget(request.job.config().costs.budget_usd.map(Usd::get));
    let clock = signal.clock(request.job.deadline);
    clock.lead(request.job.github.as_ref());
    let work = Box::pin(work(request, &masker, &signal, &clock));
    let (worked, unrecorded) = with_ledger(request.shared_ledger.as_ref(), claim, work).await?;
    let own = || request.ledger.as_ref().and_then(|ledger| ledger.unrecorded()).map(InputError::from);
    let unrecorded = unrecorded.or_else(own).map(|error| error.explained());
    let worked = worked.inspect_err(|_| {
        if let Some(message) = &unrecorded {
            tracing::error!("error: {message}");
        }
    })?;
    let Worked { setup, run, mut outcome, .. } = worked;
    if let Some(message) = unrecorded {
        run.events.notice(NoticeLevel::Error, message);
        if outcome.ended.reason.yields() {
            outcome.ended.reason = StopReason::CostsNotRecorded;
        }
    }
    Box::pin(setup.finish(run, outcome, &request.job, &masker, &signal, &clock)).await
}
