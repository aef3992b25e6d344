//! Section `tests`: what the tests of a change have to prove, and what happens if a run weakens tests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::bounded::Bounded;

/// What the tests of a change have to prove, and what happens if tests are weakened.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tests {
    /// What happens if the change deletes, skips or weakens tests, or loosens checks.
    pub integrity: TestIntegrity,
    /// Globs of files in which this is permitted.
    pub allow: Vec<String>,
    /// Label that permits it: it counts on the run's pull request or issue if a person with write permission has set it, on a
    /// pull request after the last push.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_label: Option<String>,
    /// Trailer that permits it: it counts in the head commit of the run's pull request if GitHub has verified that a person
    /// with write permission has signed that commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_trailer: Option<String>,
    /// Whether the tests that the change adds or changes run on the old code, where they have to fail, and on the new, where
    /// they have to pass.
    pub prove: ProveTests,
    /// Command that runs tests, for `prove` and `mutate`: `{tests}` stands for the tests as the runner takes them, `{files}` for
    /// their files, and with `{test}` it runs once for each.
    pub command: Option<String>,
    /// What happens if a test does not prove the change, after the agent was told once.
    pub unproven: Unproven,
    /// How many small faults are put into the changed code, to see which of them no test notices.
    pub mutate: Bounded<0, 100>,
    /// Seconds after which a run of `command` is ended, and after which no further fault is tried.
    pub timeout: Bounded<1, 3600>,
}

impl Default for Tests {
    fn default() -> Self {
        Self {
            integrity: TestIntegrity::default(),
            allow: Vec::new(),
            allow_label: None,
            allow_trailer: None,
            prove: ProveTests::default(),
            command: None,
            unproven: Unproven::default(),
            mutate: Bounded::fixed::<0>(),
            timeout: Bounded::fixed::<900>(),
        }
    }
}

/// What happens if tests or checks are weaker than before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TestIntegrity {
    /// Nothing is checked.
    Off,
    /// The agent is told once; what is left is reported.
    #[default]
    Warn,
    /// The agent is told once; what is left fails the run.
    Refuse,
}

/// Which tests have to prove the change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProveTests {
    /// None.
    #[default]
    Off,
    /// Those that the change adds or changes.
    New,
}

/// What happens if a test does not prove the change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Unproven {
    /// It is reported.
    #[default]
    Warn,
    /// It is reported, and the run fails.
    Fail,
}
