//! Login names of accounts, which the two APIs write in two ways.

use serde::Deserialize;

/// An account's login name as REST writes it: that of a bot ends in `[bot]`, which no person's can.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "Account")]
pub(super) struct Login {
    pub(super) login: String,
}

/// An account as either API gives it.
#[derive(Deserialize)]
struct Account {
    login: String,
    /// Asked for by GraphQL, which leaves the suffix out.
    #[serde(default, rename = "__typename")]
    kind: Option<String>,
}

impl From<Account> for Login {
    fn from(Account { login, kind }: Account) -> Self {
        let lacks_suffix = kind.as_deref() == Some("Bot") && !login.ends_with(BOT);
        Self { login: if lacks_suffix { format!("{login}{BOT}") } else { login } }
    }
}

const BOT: &str = "[bot]";

/// Returns whether two logins are the same, ignoring case.
pub(super) fn is_same_login(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bots_are_called_alike_by_both_apis_and_like_no_person() {
        let read = |value| serde_json::from_value::<Login>(value).expect("a login").login;
        assert_eq!(read(json!({"login": "github-actions[bot]", "type": "Bot"})), "github-actions[bot]");
        assert_eq!(read(json!({"login": "github-actions", "__typename": "Bot"})), "github-actions[bot]");
        assert_eq!(read(json!({"login": "github-actions", "__typename": "User"})), "github-actions");
        assert!(is_same_login("Dev", "dev") && !is_same_login("renovate", "renovate[bot]"));
    }
}
