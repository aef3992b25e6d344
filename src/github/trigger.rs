//! Decides what an event asks for: a run of the workflow's task, the command of a comment, or nothing.

use sanitize::untrusted::{code, markdown_line};

use super::environment::Environment;
use super::person::Person;
use crate::base::did_you_mean::nearest;
use crate::config::Verb;

/// The word with which a comment for us begins.
pub const CALL: &str = "/architect";

/// Number of spaces in front of a line that make code of it in Markdown; a tab is as many.
const CODE_INDENT: usize = 4;

/// A command in a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommentCommand {
    /// What to do.
    pub verb: Verb,
    /// The text behind the command: a task, or the digest to apply.
    pub text: Option<String>,
}

/// What a comment asks of us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ParsedComment {
    /// Nothing; the comment is for others.
    Nothing,
    /// A known command.
    Command(CommentCommand),
    /// A word that is not a command, cut to 40 characters.
    Unknown(String),
}

impl ParsedComment {
    /// Parses a comment. Its first line that is not empty has to begin with `/architect`, in capitals or not, and perhaps
    /// with a colon; quotes and code do not count, so that writing about a command does not give it.
    pub(super) fn read(comment: &str) -> Self {
        let text = comment.trim_start_matches(|c: char| c.is_ascii_whitespace());
        let before = &comment[..comment.len() - text.len()];
        let indent = before.rsplit(['\n', '\r']).next().unwrap_or_default();
        if indent.len() >= CODE_INDENT || indent.contains('\t') {
            return Self::Nothing;
        }
        let Some((call, rest)) = text.split_at_checked(CALL.len()) else { return Self::Nothing };
        if !call.eq_ignore_ascii_case(CALL) {
            return Self::Nothing;
        }
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        if !rest.is_empty() && !rest.starts_with(|c: char| c.is_ascii_whitespace()) {
            return Self::Nothing;
        }
        let rest = rest.trim();
        let (word, text) = rest.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((rest, ""));
        let text = Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
        let known = Verb::ALL.into_iter().find(|verb| verb.word().eq_ignore_ascii_case(word));
        let behind = &rest[word.len()..];
        match known {
            Some(verb @ (Verb::Apply | Verb::Continue)) => {
                let text = behind.lines().next().and_then(name).map(str::to_owned);
                Self::Command(CommentCommand { verb, text })
            }
            Some(verb) => Self::Command(CommentCommand { verb, text }),
            None if word.is_empty() => Self::Command(CommentCommand { verb: Verb::Help, text: None }),
            None => Self::Unknown(word.chars().take(40).collect()),
        }
    }
}

/// Returns the first word of a line, which names a plan or a run, without what people put around it: backticks, a full stop, the
/// name of the algorithm.
fn name(line: &str) -> Option<&str> {
    let given = line.split_ascii_whitespace().next()?;
    let inner = given.trim_start_matches(|sign: char| !sign.is_ascii_alphanumeric());
    let inner = inner.strip_prefix("sha256:").unwrap_or(inner);
    let end = inner.find(|sign: char| !sign.is_ascii_alphanumeric()).unwrap_or(inner.len());
    // Where nothing is left, it names something all the same, which is not there.
    Some(if end == 0 { given } else { &inner[..end] })
}

/// The part of the configuration that decides about events.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Users who may start runs without write permission.
    pub allow_users: Vec<String>,
    /// Bots that may start runs; `*` allows all of them.
    pub allow_bots: Vec<String>,
    /// The label that starts a run on an issue.
    pub label: String,
    /// The commands that comments may use.
    pub orders: Vec<Verb>,
}

/// The decision about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Start a run, if `asker` has write permission.
    Start {
        /// The command of a comment; `None` for other events.
        order: Option<CommentCommand>,
        /// The user whose write permission has to be checked; `None` if GitHub has already checked it, or
        /// the configuration trusts the sender.
        asker: Option<String>,
    },
    /// Reply with help to a comment that is for us, but is not a valid command.
    Explain {
        /// The user whose write permission has to be checked.
        asker: Option<String>,
        /// What is wrong with the comment.
        reason: String,
    },
    /// Do nothing, for this reason.
    Ignore(String),
}

impl Trigger {
    /// Decides from the event alone, without a request to GitHub.
    pub fn of(environment: &Environment, rules: &Rules) -> Self {
        let event = environment.event.as_str();
        let action = environment.action.as_deref().unwrap_or_default();
        // Only accounts with write permission can start these, or the clock does.
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
            // Pushing takes write permission, and a bot was named in the configuration.
            "push" => None,
            // GitHub withholds secrets and write permission from forks; such a run only plans.
            "pull_request" if environment.is_fork() => None,
            // Strangers can cause many events: comments, issues, even stars.
            _ => sender.filter(|sender| !is_trusted(rules, sender)).map(|sender| sender.login.clone()),
        };
        let Some(comment) = environment.comment.as_ref().filter(|_| event == "issue_comment") else {
            return Self::Start { order: None, asker };
        };
        match ParsedComment::read(&comment.body) {
            ParsedComment::Nothing => Self::Ignore(format!("the comment does not begin with {CALL}")),
            ParsedComment::Unknown(word) => {
                let near = nearest(&word.to_ascii_lowercase(), rules.orders.iter().map(|verb| verb.word()));
                let near = near.map_or(String::new(), |near| format!("; did you mean `{CALL} {near}`?"));
                Self::Explain { asker, reason: format!("unknown command {}{near}", code(&word)) }
            }
            ParsedComment::Command(order) if !rules.orders.contains(&order.verb) => Self::Explain {
                asker,
                reason: format!("`{CALL} {}` is not enabled in `github.commands`", order.verb),
            },
            ParsedComment::Command(order) => Self::Start { order: Some(order), asker },
        }
    }
}

/// Returns the reason why an event starts nothing, whoever causes it; `None` for other events.
fn not_for_us(environment: &Environment, event: &str, action: &str, rules: &Rules) -> Option<String> {
    match (event, action) {
        ("pull_request" | "pull_request_target", "closed" | "converted_to_draft") => {
            Some(format!("the pull request was {}", action.replace('_', " ")))
        }
        ("pull_request" | "pull_request_target", _) if environment.is_closed => {
            Some("the pull request is closed".to_owned())
        }
        ("issue_comment", "created") | ("pull_request" | "pull_request_target", _) => None,
        ("issue_comment", _) => Some(format!("a comment was {action}, but only new comments are read")),
        ("issues", "labeled") if environment.label.as_deref() == Some(rules.label.as_str()) => None,
        ("issues", "labeled") => Some(format!(
            "the label is {:?}, but `github.label` is {:?}",
            environment.label.as_deref().unwrap_or_default(),
            rules.label
        )),
        ("issues", _) => {
            Some(format!("the issue was {action}, but only adding the label {:?} starts a run", rules.label))
        }
        _ => None,
    }
}

/// Returns whether a bot may start runs; its suffix may be left out of the configuration.
fn allows_bot(rules: &Rules, login: &str) -> bool {
    let name = |login: &str| login.trim_end_matches("[bot]").to_lowercase();
    let same = |allowed: &String| name(allowed) == name(login);
    rules.allow_bots.iter().any(|allowed| allowed == "*" || same(allowed))
}

/// Returns whether the configuration vouches for the sender. A bot that gets here was named in it, and has
/// no permission that GitHub could be requested.
fn is_trusted(rules: &Rules, sender: &Person) -> bool {
    sender.bot || rules.allow_users.iter().any(|allowed| allowed.eq_ignore_ascii_case(&sender.login))
}

/// Renders help as a comment: the allowed commands, after `reason` if there is one.
pub fn help(reason: Option<&str>, orders: &[Verb]) -> String {
    let mut text = reason.map_or(String::new(), |reason| {
        let reason = markdown_line(reason);
        let end = if reason.ends_with('?') { "" } else { "." };
        format!("{reason}{end}\n\n")
    });
    text += "People with write permission can comment one of these commands:\n\n";
    for (verb, what) in [
        (Verb::Run, "`/architect run TASK` – makes the changes and delivers them as the workflow says"),
        (Verb::Plan, "`/architect plan TASK` – plans the changes and changes nothing"),
        (
            Verb::Apply,
            "`/architect apply DIGEST` – applies the plan with this digest, exactly and without a model; without a \
             DIGEST, the plan that the comment shows now",
        ),
        (
            Verb::Continue,
            "`/architect continue RUN` – resumes the interrupted session of this workflow run, from its sealed \
             artifact; without a RUN, with the latest one of this issue or pull request",
        ),
        (Verb::Help, "`/architect help` – shows this list"),
    ] {
        if orders.contains(&verb) {
            text += &format!("- {what}\n");
        }
    }
    text += "\nWithout a TASK, the workflow's task is used, or else the description of this issue or pull \
             request.\n";
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_read_to_the_letter() {
        let order = |verb, text: Option<&str>| {
            ParsedComment::Command(CommentCommand { verb, text: text.map(str::to_owned) })
        };
        for (comment, expected) in [
            ("/architect run fix the tests", order(Verb::Run, Some("fix the tests"))),
            ("\n  /architect plan\nfix\r\nthis", order(Verb::Plan, Some("fix\r\nthis"))),
            ("/architect APPLY", order(Verb::Apply, None)),
            ("/architect", order(Verb::Help, None)),
            ("/Architect apply 0123abcd", order(Verb::Apply, Some("0123abcd"))),
            ("/architect: plan", order(Verb::Plan, None)),
            ("/architect apply `0123abcd`", order(Verb::Apply, Some("0123abcd"))),
            ("/architect apply 0123abcd.", order(Verb::Apply, Some("0123abcd"))),
            ("/architect apply 0123abcd please", order(Verb::Apply, Some("0123abcd"))),
            ("/architect apply [0123abcd](x)", order(Verb::Apply, Some("0123abcd"))),
            ("/architect apply sha256:0123abcd", order(Verb::Apply, Some("0123abcd"))),
            ("/architect apply …", order(Verb::Apply, Some("…"))),
            ("/architect apply\r\n\r\nLGTM", order(Verb::Apply, None)),
            ("/architect continue 4711, thanks", order(Verb::Continue, Some("4711"))),
            ("/architect deploy now", ParsedComment::Unknown("deploy".into())),
            ("/architecture is nice", ParsedComment::Nothing),
            ("   /architect plan", order(Verb::Plan, None)),
            ("\t\n   \n /architect plan", order(Verb::Plan, None)),
            // Code, as Markdown shows it.
            ("    /architect run", ParsedComment::Nothing),
            ("\n\n    /architect run", ParsedComment::Nothing),
            ("\t/architect run", ParsedComment::Nothing),
            ("  \t/architect run", ParsedComment::Nothing),
            ("\r\n\t/architect run", ParsedComment::Nothing),
            ("> /architect run", ParsedComment::Nothing),
            ("`/architect run`", ParsedComment::Nothing),
            ("please /architect run", ParsedComment::Nothing),
            ("<!-- x -->\n/architect run", ParsedComment::Nothing),
            ("\u{feff}/architect run", ParsedComment::Nothing),
            ("", ParsedComment::Nothing),
        ] {
            assert_eq!(ParsedComment::read(comment), expected, "{comment:?}");
        }
    }
}
