//! Accounts of people and programs, which keep their id whatever they are called later.

use super::login::is_same_login;
use super::payload::User;

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
