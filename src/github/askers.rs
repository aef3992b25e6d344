//! Lookup of the people who ask for what a run does.

use serde::Deserialize;

use super::api::Api;
use super::environment::Environment;
use super::error::ApiError;
use super::operation::Purpose;
use super::payload::User;
use super::person::Person;

const ATTEMPTS: Purpose = Purpose { doing: "look up who has started this run", permission: "actions: read" };

/// Maximum number of attempts of a run of which is asked who has started them.
const MAX_ATTEMPTS: u64 = 30;

/// Returns everybody who asks for what a run does: who caused its event, and who has started any of its attempts. `None` if there
/// are more attempts than can be looked up.
pub(super) async fn askers(api: &Api, environment: &Environment) -> Result<Option<Vec<Person>>, ApiError> {
    #[derive(Deserialize)]
    struct Attempt {
        actor: Option<User>,
        triggering_actor: Option<User>,
    }
    let mut all: Vec<Person> = environment.sender.iter().chain(&environment.actors).cloned().collect();
    // The runner names who has started the first attempt and the latest one.
    let Some(run) = environment.run_id.filter(|_| environment.attempt > 1) else { return Ok(Some(all)) };
    if environment.attempt > MAX_ATTEMPTS {
        return Ok(None);
    }
    for attempt in 1..=environment.attempt {
        let path = format!("/actions/runs/{run}/attempts/{attempt}");
        let Attempt { actor, triggering_actor } = api.get(&path, ATTEMPTS).await?;
        all.extend(actor.iter().chain(&triggering_actor).map(Person::from));
    }
    Ok(Some(all))
}
