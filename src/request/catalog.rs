//! The list of inputs: flags and Action inputs are made from it.

/// An input of `run`.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    /// Name of the flag and of the Action input.
    pub name: &'static str,
    /// A one-letter flag.
    pub short: Option<char>,
    /// What its value is; `None` for one that is true or false.
    pub value: Option<&'static str>,
    /// The values to choose from; empty if it takes any value.
    pub choices: &'static [&'static str],
    /// What it is for.
    pub help: &'static str,
    /// The heading that the help lists it under.
    pub group: &'static str,
}

const fn text(name: &'static str, value: &'static str, help: &'static str) -> Input {
    Input { name, short: None, value: Some(value), choices: &[], help, group: "" }
}

const fn switch(name: &'static str, short: Option<char>, help: &'static str) -> Input {
    Input { name, short, value: None, choices: &[], help, group: "" }
}

impl Input {
    const fn choices(self, choices: &'static [&'static str]) -> Self {
        Self { choices, ..self }
    }

    const fn about(self, group: &'static str) -> Self {
        Self { group, ..self }
    }
}

const TASK: &str = "Task";
const MODEL: &str = "Model";
const LIMITS: &str = "Limits";
const CHECKOUT: &str = "Checkout and configuration";
const GITHUB: &str = "GitHub";
const OUTPUT: &str = "Output";
const BATCH: &str = "Batch";

/// All of them.
pub const INPUTS: [Input; 33] = [
    text("task", "TEXT", "What the agent should do").about(TASK),
    text(
        "task-file",
        "FILE",
        "Markdown file with the task; its YAML front matter may set agent, mode and expect",
    )
    .about(TASK),
    text("mode", "MODE", "Plan the changes, or make them [default: dry-run, or the task's]")
        .choices(&["dry-run", "yolo", "confirm-all", "confirm-sensitive"])
        .about(TASK),
    switch("dry-run", None, "Plan the changes and change nothing; the same as `--mode dry-run`").about(TASK),
    text("agent", "NAME", "build, plan, recipe, review, resume, or an agent from the configuration [default: build]")
        .about(TASK),
    text(
        "until",
        "CHECK",
        "Work in rounds, each in a new conversation, until this command succeeds; may be given several times",
    )
    .about(TASK),
    text("max-rounds", "N", "Maximum number of rounds with `until` [default: 10]").about(TASK),
    text("expect", "WHAT", "What the run must leave behind, or else it fails [default: by agent and delivery]")
        .choices(&["changes", "no-changes", "any"])
        .about(TASK),
    text("output-schema", "SCHEMA", "JSON Schema (text or file) that the final message must satisfy")
        .about(TASK),
    text("model", "PROVIDER::NAME", "The model, or replay::FILE to replay a transcript").about(MODEL),
    text("base-url", "URL", "URL of a compatible model server").about(MODEL),
    text("api-key-env", "VARIABLE", "Name of the environment variable that holds the model's key")
        .about(MODEL),
    switch("strict-replay", None, "Fail if a replayed run differs from its transcript").about(MODEL),
    text("max-steps", "N", "Maximum number of model calls, after which one more asks for a summary [default: the agent's limit]").about(LIMITS),
    text(
        "budget-usd",
        "USD",
        "Maximum cost of the model [default: from the configuration, otherwise no limit]",
    )
    .about(LIMITS),
    text("ledger", "FILE", "File to which spending is appended, or `branch` (`branch:NAME`) for one on a branch [default: if days or months are limited, this user's file, in Actions a branch]")
        .about(LIMITS),
    text("timeout", "SECONDS", "Time limit for the agent").about(LIMITS),
    text(
        "workspace",
        "DIR",
        "Folder of the checkout [default: GITHUB_WORKSPACE, otherwise the current folder]",
    )
    .about(CHECKOUT),
    text("config", "FILE", "Configuration file [default: .github/architect.yml, otherwise .architect.yml]")
        .about(CHECKOUT),
    switch("allow-commands", None, "Let the agent run commands, whatever the configuration says")
        .about(CHECKOUT),
    switch("no-commands", None, "Do not let the agent run commands").about(CHECKOUT),
    switch("trust-head-config", None, "Read the configuration from the checkout even on pull requests")
        .about(CHECKOUT),
    text("event", "FILE", "File with the payload of the GitHub event [default: GITHUB_EVENT_PATH]")
        .about(GITHUB),
    text("comment", "WHEN", "When to comment on the pull request [default: always]")
        .choices(&["always", "on-change", "never"])
        .about(GITHUB),
    text("comment-key", "KEY", "Name that distinguishes the comments of several jobs").about(GITHUB),
    text("deliver", "WHERE", "Where changes go [default: none]")
        .choices(&["none", "patch", "branch", "pull-request"])
        .about(GITHUB),
    text(
        "allow-users",
        "LOGINS",
        "Comma-separated list of people who may start runs without write permission",
    )
    .about(GITHUB),
    text("allow-bots", "LOGINS", "Comma-separated list of bots that may start runs; * allows all of them")
        .about(GITHUB),
    text(
        "out",
        "DIR",
        "Folder for the files of the run [default: RUNNER_TEMP/architect-ci, otherwise a new folder]",
    )
    .about(OUTPUT),
    text("log-format", "FORMAT", "Format of the log [default: human]")
        .choices(&["human", "json"])
        .about(OUTPUT),
    switch("json", None, "Print the whole report as JSON instead of the final message").about(OUTPUT),
    switch("verbose", Some('v'), "Log details; -vv logs the messages of libraries as well").about(OUTPUT),
    switch("quiet", Some('q'), "Log only warnings and errors").about(OUTPUT),
];

/// What `batch` takes besides.
pub const BATCH_INPUTS: [Input; 15] = [
    text("batch", "FILE", "The batch: a YAML file of tasks").about(BATCH),
    text("campaign", "FILE", "The campaign: a YAML file of repositories and tasks").about(BATCH),
    text("manifest", "FILE", "Task list written by `batch --matrix`: used instead of the batch file, or to name the tasks that a merge lacks")
        .about(BATCH),
    text("manifest-digest", "SHA256", "Refuse any task list but the one with this digest").about(BATCH),
    text("jobs", "N", "Number of concurrent tasks [default: from the file, otherwise 4]").about(BATCH),
    text("shard", "I/N", "Run only shard I of N").about(BATCH),
    text("shards", "N", "Maximum number of shards in the matrix [default: 256]").about(BATCH),
    switch("resume", None, "Resume an interrupted batch that has the same output folder").about(BATCH),
    text(
        "journal",
        "BRANCH",
        "Record finished tasks on a branch as well, sealed with `ARCHITECT_CI_SEAL_KEY`: `branch` or `branch:NAME`",
    )
    .about(BATCH),
    text(
        "retry",
        "ENDS",
        "With `resume`, repeat tasks that ended in one of these ways: failed, partial, timeout (comma-separated)",
    )
    .about(BATCH),
    text(
        "previous",
        "PATH",
        "Reports of an earlier night (batch.json, or a folder of them): tasks that it settled are skipped",
    )
    .about(BATCH),
    text(
        "plans",
        "DIR",
        "Write the plans of other jobs of this workflow run instead of working on the tasks",
    )
    .about(BATCH),
    text(
        "report-digests",
        "JSON",
        "With `plans`, the digests that the planning jobs produced: {\"shard-1\": SHA-256, …}",
    )
    .about(BATCH),
    switch("fresh", None, "Do all tasks, whatever `previous` has settled").about(BATCH),
    switch(
        "matrix",
        None,
        "Run nothing yet: write the task list, and print a matrix of shards for GitHub Actions",
    )
    .about(BATCH),
];
