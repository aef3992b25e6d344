//! Budget of a run: from its configuration, the price of its model, what was spent before an interruption, and the ledger.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::base::bounded::{Bounded, Usd};
use crate::event::{Event, Events, LostReply, NoticeLevel, Reply};
use crate::model::Budget;
use crate::request::{InputError, ModelChoice, RunRequest};
use crate::sessions::Resumed;

/// Makes the budget; tells if there is to be one and no price is known. `end` is when the run has to end.
pub(super) fn budget(
    request: &RunRequest,
    events: &Events,
    end: CancellationToken,
) -> Result<Budget, InputError> {
    let costs = &request.job.config().costs;
    let price = request.prices.find(&request.job.model_name);
    // What was recorded or written down beforehand costs nothing.
    let is_free = matches!(request.model, ModelChoice::Recipe(_) | ModelChoice::Replay { .. });
    let wanted = !is_free && (costs.budget_usd.is_some() || costs.warn_at_usd.is_some());
    if price.is_none() && wanted {
        let model = &request.job.model_name;
        let told = format!(
            "no price is known for {model}, so its cost cannot be limited; add a price to `costs.prices_file`"
        );
        events.notice(NoticeLevel::Warning, told);
    }
    let budget = Budget::new(price, costs.budget_usd.map(Usd::get), costs.warn_at_usd.map(Usd::get))
        .with_max_output(request.job.config().llm.max_tokens.map(Bounded::get));
    // What was spent before an interruption is spent.
    for line in request.resumed.iter().flat_map(Resumed::past) {
        match &line.event {
            Event::Reply(Reply { usage, .. }) | Event::LostReply(LostReply { usage, .. }) => {
                budget.add(*usage);
            }
            _ => {}
        }
    }
    let Some(ledger) = &request.ledger else { return Ok(budget) };
    ledger.wait_until(end);
    ledger.check_price(&request.job.model_name, price.is_some())?;
    ledger.check()?;
    Ok(budget.with_ledger(Arc::clone(ledger), &request.job.model_name))
}
