//! What an event asks for: a run on the task of the workflow, what a comment says, or nothing.

use super::environment::{Environment, Person};
use crate::config::Verb;
use crate::sanitize::untrusted::markdown;

/// How a comment begins that is meant for us.
const CALL: &str = "/architect";

/// A comment's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// What to do.
    pub verb: Verb,
    /// What comes after that word: a task, or the digest to apply.
    pub text: Option<String>,
}

/// What a comment says to us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// Nothing: it talks to others.
    Nothing,
    /// An order.
    Order(Order),
    /// Something that is no order; the word.
    Unknown(String),
}

impl Said {
    /// Reads a comment: its first line that is not empty has to begin with `/architect`. Quotes and code do
    /// not, so that talking about an order is not one.
    pub(super) fn read(comment: &str) -> Self {
        let text = comment.trim_start_matches(|c: char| c.is_ascii_whitespace());
        let Some(rest) = text.strip_prefix(CALL) else { return Self::Nothing };
        if !rest.is_empty() && !rest.starts_with(|c: char| c.is_ascii_whitespace()) {
            return Self::Nothing;
        }
        let rest = rest.trim();
        let (word, text) = rest.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((rest, ""));
        let text = Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
        let known = Verb::ALL.into_iter().find(|verb| verb.word().eq_ignore_ascii_case(word));
        match known {
            Some(verb) => Self::Order(Order { verb, text }),
            None if word.is_empty() => Self::Order(Order { verb: Verb::Help, text: None }),
            None => Self::Unknown(word.chars().take(40).collect()),
        }
    }
}

/// What the configuration says about events.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// People who may start runs without write permission.
    pub allow_users: Vec<String>,
    /// Bots that may start runs; `*` is all of them.
    pub allow_bots: Vec<String>,
    /// The label that starts a run on an issue.
    pub label: String,
    /// What comments may ask for.
    pub orders: Vec<Verb>,
}

/// What becomes of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A run, if the person who asks for it may.
    Start {
        /// What a comment orders.
        order: Option<Order>,
        /// Who has to have write permission; `None` where GitHub itself has seen to it.
        asker: Option<String>,
    },
    /// A comment that means us and makes no sense: tell how it is done.
    Explain {
        /// Who has to have write permission.
        asker: Option<String>,
        /// What is wrong.
        reason: String,
    },
    /// Nothing; why.
    Ignore(String),
}

impl Trigger {
    /// Looks at an event. Nothing is asked of GitHub here.
    pub fn of(environment: &Environment, rules: &Rules) -> Self {
        let event = environment.event.as_str();
        let action = environment.action.as_deref().unwrap_or_default();
        // Whoever starts these has write permission, or it is the clock.
        if matches!(event, "schedule" | "workflow_dispatch" | "repository_dispatch") {
            return Self::Start { order: None, asker: None };
        }
        if let Some(reason) = not_for_us(environment, event, action, rules) {
            return Self::Ignore(reason);
        }
        let sender = environment.sender.as_ref();
        if let Some(sender) = sender.filter(|sender| sender.bot)
            && !allows_bot(rules, &sender.login)
        {
            return Self::Ignore(format!(
                "{} is a bot; name it in `allow-bots` if it may start runs",
                sender.login
            ));
        }
        let asker = match event {
            // Pushing is write permission, and a bot was named.
            "push" => None,
            // GitHub holds back secrets and write permission from forks; such a run only plans.
            "pull_request" if environment.is_fork() => None,
            // Strangers can cause many events: comments, issues, even stars.
            _ => sender.filter(|sender| !is_trusted(rules, sender)).map(|sender| sender.login.clone()),
        };
        let Some(comment) = environment.comment.as_ref().filter(|_| event == "issue_comment") else {
            return Self::Start { order: None, asker };
        };
        match Said::read(&comment.body) {
            Said::Nothing => Self::Ignore(format!("the comment does not begin with {CALL}")),
            Said::Unknown(word) => {
                Self::Explain { asker, reason: format!("{word:?} is nothing that can be asked for") }
            }
            Said::Order(order) if !rules.orders.contains(&order.verb) => Self::Explain {
                asker,
                reason: format!("{CALL} {} is not in the configuration's `github.commands`", order.verb),
            },
            Said::Order(order) => Self::Start { order: Some(order), asker },
        }
    }
}

/// Events that start nothing, whoever causes them.
fn not_for_us(environment: &Environment, event: &str, action: &str, rules: &Rules) -> Option<String> {
    match (event, action) {
        ("issue_comment", "created") | ("pull_request" | "pull_request_target", _) => None,
        ("issue_comment", _) => Some(format!("a comment was {action}, and only new ones are read")),
        ("issues", "labeled") if environment.label.as_deref() == Some(rules.label.as_str()) => None,
        ("issues", "labeled") => Some(format!(
            "the label is {:?}, and `github.label` is {:?}",
            environment.label.as_deref().unwrap_or_default(),
            rules.label
        )),
        ("issues", _) => {
            Some(format!("the issue was {action}; it is the label {:?} that starts a run", rules.label))
        }
        _ => None,
    }
}

fn allows_bot(rules: &Rules, login: &str) -> bool {
    let same = |allowed: &String| super::api::is_same_login(allowed, login);
    rules.allow_bots.iter().any(|allowed| allowed == "*" || same(allowed))
}

/// Whether the configuration vouches for somebody. Bots that come so far were named, and GitHub knows
/// no permission of theirs to ask for.
fn is_trusted(rules: &Rules, sender: &Person) -> bool {
    sender.bot || rules.allow_users.iter().any(|allowed| allowed.eq_ignore_ascii_case(&sender.login))
}

/// What there is to ask for, as a comment.
pub fn help(reason: Option<&str>, orders: &[Verb]) -> String {
    let mut text = reason.map_or(String::new(), |reason| format!("{}.\n\n", markdown(reason).trim_end()));
    text += "Comment one of these, as somebody with write permission:\n\n";
    for (verb, what) in [
        (Verb::Run, "`/architect run TASK` – does it, and delivers as the workflow says"),
        (Verb::Plan, "`/architect plan TASK` – plans it, and changes nothing"),
        (Verb::Apply, "`/architect apply` – applies the plan of the comment above, exactly, without a model"),
        (Verb::Help, "`/architect help` – says this"),
    ] {
        if orders.contains(&verb) {
            text += &format!("- {what}\n");
        }
    }
    text += "\nWithout a TASK it is the workflow's, else what this issue or pull request describes.\n";
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_read_to_the_letter() {
        let order = |verb, text: Option<&str>| Said::Order(Order { verb, text: text.map(str::to_owned) });
        for (comment, expected) in [
            ("/architect run fix the tests", order(Verb::Run, Some("fix the tests"))),
            ("\n  /architect plan\nfix\r\nthis", order(Verb::Plan, Some("fix\r\nthis"))),
            ("/architect APPLY", order(Verb::Apply, None)),
            ("/architect", order(Verb::Help, None)),
            ("/architect deploy now", Said::Unknown("deploy".into())),
            ("/architecture is nice", Said::Nothing),
            ("> /architect run", Said::Nothing),
            ("`/architect run`", Said::Nothing),
            ("please /architect run", Said::Nothing),
            ("<!-- x -->\n/architect run", Said::Nothing),
            ("\u{feff}/architect run", Said::Nothing),
            ("", Said::Nothing),
        ] {
            assert_eq!(Said::read(comment), expected, "{comment:?}");
        }
    }
}
