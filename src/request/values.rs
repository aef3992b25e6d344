//! The inputs of a job, read once: what follows works on values and on no texts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use sanitize::secret_names::without_userinfo;

use super::catalog::INPUTS;
use super::error::InputError;
use super::lookup::Lookup;
use crate::base::bounded::{Bounded, Usd};
use crate::base::did_you_mean::nearest;
use crate::base::env::Variables;
use crate::base::network_clock::NetworkClock;
use crate::config::{Comment, DeliverTo};
use crate::event::{Expectation, RunMode};

/// The modes that can be requested.
const MODES: [RunMode; 4] = [RunMode::DryRun, RunMode::Yolo, RunMode::ConfirmAll, RunMode::ConfirmSensitive];

/// What a run is about where nothing else says so.
pub(super) const DESCRIBED: &str =
    "Do what this issue or pull request asks for: its title and description follow.";

/// The inputs that jobs have in common, as they were given: a flag, an Action input, or a variable.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// What to do.
    pub task: Option<String>,
    /// What to do, in a Markdown file.
    pub task_file: Option<PathBuf>,
    /// Whether to plan it or to do it.
    pub mode: Option<RunMode>,
    /// The name of the agent.
    pub agent: Option<String>,
    /// The checkout.
    pub workspace: Option<PathBuf>,
    /// The folder of the workspace that a batch's task works on.
    pub folder: Option<String>,
    /// The folder that files are relative to which the configuration names, where that is not of the workspace.
    pub config_root: Option<PathBuf>,
    /// The id of the task, where this is one of a batch.
    pub task_id: Option<String>,
    /// The configuration.
    pub config: Option<PathBuf>,
    /// The model, as people name it.
    pub model: Option<String>,
    /// The address of the model's server.
    pub base_url: Option<String>,
    /// The name of the variable that holds the model's key.
    pub api_key_env: Option<String>,
    /// Whether the agent may run commands, where that is not left to the configuration.
    pub commands: Option<bool>,
    /// Maximum number of model calls, after which one more asks for a summary.
    pub max_steps: Option<Bounded<1, 10_000>>,
    /// Most money.
    pub budget_usd: Option<Usd>,
    /// Most time; of a batch, that of all tasks.
    pub timeout: Option<Duration>,
    /// When that time is up.
    pub deadline: Option<Instant>,
    /// When all that waits for GitHub ends.
    pub(crate) network: NetworkClock,
    /// Checks that have to pass before the work is over.
    pub until: Vec<String>,
    /// Maximum number of rounds with `until`.
    pub max_rounds: Option<Bounded<1, 1000>>,
    /// The payload of the event.
    pub event: Option<PathBuf>,
    /// The file to which spending is appended.
    pub ledger: Option<PathBuf>,
    /// The folder for the files of the job.
    pub out: Option<PathBuf>,
    /// The schema of the final message: its text, or a file.
    pub output_schema: Option<String>,
    /// When a comment is posted.
    pub comment: Option<Comment>,
    /// Distinguishes the comments of several jobs.
    pub comment_key: Option<String>,
    /// Where changes go.
    pub deliver: Option<DeliverTo>,
    /// What the run is expected to leave behind.
    pub expect: Option<Expectation>,
    /// People who may start runs without write permission.
    pub allow_users: Vec<String>,
    /// Bots that may start runs.
    pub allow_bots: Vec<String>,
    /// Whether the checkout steers the run even on pull requests.
    pub trust_head_config: bool,
    /// Whether a replayed run has to be as its transcript.
    pub strict_replay: bool,
    /// The variables of the process.
    pub variables: Variables,
    /// Whether nobody is there to ask.
    pub in_ci: bool,
    /// Inputs needed to resume this run, by name, except `out`, which the session folder implies.
    pub given: BTreeMap<String, String>,
}

impl Inputs {
    /// Reads all of them.
    pub fn read(lookup: &Lookup) -> Result<Self, InputError> {
        Self::read_within::<86_400>(lookup)
    }

    /// Reads all of them for a batch, which may take longer than a run.
    pub fn read_for_batch(lookup: &Lookup) -> Result<Self, InputError> {
        Self::read_within::<604_800>(lookup)
    }

    fn read_within<const MAX_SECONDS: u64>(lookup: &Lookup) -> Result<Self, InputError> {
        let list = |name: &str| {
            let given = lookup.text(name).unwrap_or_default();
            let names: Vec<String> = given
                .split([',', '\n'])
                .map(str::trim)
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect();
            match names.iter().find(|name| name.contains(char::is_whitespace)) {
                Some(several) => Err(InputError::Value {
                    name: name.to_owned(),
                    given: several.clone(),
                    expected: "names with commas between them".to_owned(),
                }),
                None => Ok(names),
            }
        };
        let timeout = lookup.number::<1, MAX_SECONDS>("timeout")?.map(Bounded::seconds);
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        let until = lookup.text("until").unwrap_or_default();
        let until = until.lines().map(str::trim).filter(|check| !check.is_empty());
        Ok(Self {
            task: lookup.text("task"),
            task_file: lookup.path("task-file"),
            mode: mode(lookup)?,
            commands: commands(lookup)?,
            agent: lookup.text("agent"),
            workspace: lookup.path("workspace"),
            // Only a batch says so, of each task.
            folder: None,
            config_root: None,
            task_id: None,
            config: lookup.path("config"),
            model: lookup.text("model"),
            base_url: lookup.text("base-url"),
            api_key_env: lookup.text("api-key-env"),
            max_steps: lookup.number("max-steps")?,
            budget_usd: lookup.text("budget-usd").map(parse_usd).transpose()?,
            timeout,
            deadline,
            network: NetworkClock::until(deadline),
            until: until.map(str::to_owned).collect(),
            max_rounds: lookup.number("max-rounds")?,
            event: lookup.path("event"),
            ledger: lookup.path("ledger"),
            out: lookup.path("out"),
            output_schema: lookup.text("output-schema"),
            comment: lookup.text("comment").map(|text| parse_comment(&text)).transpose()?,
            comment_key: lookup.text("comment-key"),
            deliver: lookup.text("deliver").map(|text| parse_deliver(&text)).transpose()?,
            expect: lookup.text("expect").map(|text| parse_expect(&text)).transpose()?,
            allow_users: list("allow-users")?,
            allow_bots: list("allow-bots")?,
            trust_head_config: lookup.flag("trust-head-config")?,
            strict_replay: lookup.flag("strict-replay")?,
            variables: lookup.variables().clone(),
            in_ci: lookup.in_ci(),
            given: given(lookup),
        })
    }

    /// Puts what a comment orders in the place of what was given.
    pub(super) fn order(&mut self, mode: RunMode, task: Option<&str>) {
        self.mode = Some(mode);
        self.given.insert("mode".to_owned(), mode.to_string());
        if let Some(task) = task {
            self.task_file = None;
            self.given.remove("task-file");
            self.set_task(task);
        }
    }

    /// Makes an issue its own task, where no other is given.
    pub(super) fn describe(&mut self) {
        if self.task.is_none() && self.task_file.is_none() {
            self.set_task(DESCRIBED);
        }
    }

    fn set_task(&mut self, task: &str) {
        self.task = Some(task.to_owned());
        self.given.insert("task".to_owned(), task.to_owned());
    }
}

/// Returns the mode that `mode` names, or that `dry-run` asks for.
fn mode(lookup: &Lookup) -> Result<Option<RunMode>, InputError> {
    let named = lookup.text("mode").map(|text| parse_mode(&text)).transpose()?;
    match (lookup.flag("dry-run")?, named) {
        (true, Some(other)) if other != RunMode::DryRun => Err(InputError::Value {
            name: "dry-run".to_owned(),
            given: format!("true with mode {other}"),
            expected: "one of the two".to_owned(),
        }),
        (true, _) => Ok(Some(RunMode::DryRun)),
        (false, named) => Ok(named),
    }
}

/// Returns whether the agent may run commands, if `allow-commands` or `no-commands` says so.
fn commands(lookup: &Lookup) -> Result<Option<bool>, InputError> {
    match (lookup.flag("allow-commands")?, lookup.flag("no-commands")?) {
        (true, true) => Err(InputError::Value {
            name: "allow-commands".to_owned(),
            given: "true with no-commands".to_owned(),
            expected: "one of the two".to_owned(),
        }),
        (true, false) => Ok(Some(true)),
        (false, true) => Ok(Some(false)),
        (false, false) => Ok(None),
    }
}

fn given(lookup: &Lookup) -> BTreeMap<String, String> {
    let names = INPUTS.iter().map(|input| input.name).filter(|name| !matches!(*name, "out" | "workspace"));
    let given = names.filter_map(|name| {
        let value = lookup.text(name)?;
        // Who continues with the session gives the password of its model's server again.
        let kept = if name == "base-url" { without_userinfo(&value) } else { value };
        Some((name.to_owned(), kept))
    });
    given.collect()
}

/// Reads a mode that an input or the head of a task names.
pub(super) fn parse_mode(text: &str) -> Result<RunMode, InputError> {
    let modes = MODES.map(|mode| (mode.to_string(), mode));
    let known = modes.iter().find(|(name, _)| name == text).map(|(_, mode)| *mode);
    known.ok_or_else(|| {
        let near = nearest(text, modes.iter().map(|(name, _)| name.as_str())).map(str::to_owned);
        InputError::UnknownMode { given: text.to_owned(), near }
    })
}

fn parse_usd(given: String) -> Result<Usd, InputError> {
    let amount = given.trim().trim_start_matches('$').parse().ok().and_then(|amount| Usd::new(amount).ok());
    let (name, expected) = ("budget-usd".to_owned(), "a number of USD above 0".to_owned());
    amount.ok_or(InputError::Value { name, given, expected })
}

fn parse_comment(text: &str) -> Result<Comment, InputError> {
    match text {
        "always" => Ok(Comment::Always),
        "on-change" => Ok(Comment::OnChange),
        "never" => Ok(Comment::Never),
        other => Err(InputError::Value {
            name: "comment".to_owned(),
            given: other.to_owned(),
            expected: "always, on-change or never".to_owned(),
        }),
    }
}

fn parse_expect(text: &str) -> Result<Expectation, InputError> {
    Expectation::parse(text).ok_or_else(|| InputError::Value {
        name: "expect".to_owned(),
        given: text.to_owned(),
        expected: "changes, no-changes or any".to_owned(),
    })
}

fn parse_deliver(text: &str) -> Result<DeliverTo, InputError> {
    match text {
        "none" => Ok(DeliverTo::None),
        "patch" => Ok(DeliverTo::Patch),
        "branch" => Ok(DeliverTo::Branch),
        "pull-request" => Ok(DeliverTo::PullRequest),
        other => Err(InputError::Value {
            name: "deliver".to_owned(),
            given: other.to_owned(),
            expected: "none, patch, branch or pull-request".to_owned(),
        }),
    }
}
