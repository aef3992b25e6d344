//! Accounts of people and programs, which keep their id whatever they are called later.

use serde::Deserialize;

use super::api::{Api, Purpose};
use super::environment::Environment;
use super::error::ApiError;
use super::login::is_same_login;
use super::payload::User;

const ATTEMPTS: Purpose = Purpose { doing: "look up who has started this run", permission: "actions: read" };

/// Maximum number of attempts of a run of which is asked who has started them.
const MAX_ATTEMPTS: u64 = 30;

/// An account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The login name, which its owner may change.
    pub login: String,
    /// The id, which stays; `None` if whoever names the account does not say it.
    pub id: Option<u64>,
    /// Whether the account is a bot.
    pub bot: bool,
}

impl Person {
    /// Creates the account of a login of which only the name, and perhaps the id, is known.
    pub(super) fn named(login: String, id: Option<u64>) -> Self {
        Self { bot: login.ends_with("[bot]"), login, id }
    }

    /// Returns whether this may be the account with that login and id: one of the two is the same.
    pub(super) fn may_be(&self, login: &str, id: Option<u64>) -> bool {
        is_same_login(&self.login, login) || self.id.is_some() && self.id == id
    }
}

impl From<&User> for Person {
    fn from(user: &User) -> Self {
        let named = Self::named(user.login.clone(), user.id);
        Self { bot: named.bot || user.kind.as_deref() == Some("Bot"), ..named }
    }
}

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
