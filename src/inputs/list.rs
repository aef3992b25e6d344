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
    /// What it is for.
    pub help: &'static str,
}

const fn text(name: &'static str, value: &'static str, help: &'static str) -> Input {
    Input { name, short: None, value: Some(value), help }
}

const fn switch(name: &'static str, short: Option<char>, help: &'static str) -> Input {
    Input { name, short, value: None, help }
}

/// All of them.
pub const INPUTS: [Input; 28] = [
    text("task", "TEXT", "What the agent is to do"),
    text(
        "task-file",
        "FILE",
        "Markdown file that says what to do; YAML front matter may set the agent and the mode",
    ),
    text("mode", "MODE", "dry-run (plan the changes) or yolo (make the changes) [default: dry-run]"),
    text("agent", "NAME", "build, plan, review, resume, or an agent from the configuration [default: build]"),
    text(
        "workspace",
        "DIR",
        "Folder of the checkout [default: GITHUB_WORKSPACE, otherwise the current folder]",
    ),
    text("config", "FILE", "Configuration file [default: .github/architect.yml, otherwise .architect.yml]"),
    text("model", "PROVIDER::NAME", "The model, or replay::FILE to replay a transcript"),
    text("base-url", "URL", "URL of a compatible model server"),
    text("api-key-env", "VARIABLE", "Name of the environment variable that holds the model's key"),
    text("max-steps", "N", "Maximum number of model calls [default: the agent's limit]"),
    text(
        "budget-usd",
        "USD",
        "Maximum cost of the model [default: from the configuration, otherwise no limit]",
    ),
    text("timeout", "SECONDS", "Time limit for the agent"),
    text(
        "until",
        "CHECK",
        "Work in rounds, each in a new conversation, until this command succeeds; may be given several times",
    ),
    text("max-rounds", "N", "Maximum number of rounds with `until` [default: 10]"),
    text("event", "FILE", "File with the payload of the GitHub event [default: GITHUB_EVENT_PATH]"),
    text(
        "out",
        "DIR",
        "Folder for the files of the run [default: RUNNER_TEMP/architect-ci, otherwise a new folder]",
    ),
    text("output-schema", "SCHEMA", "JSON Schema (text or file) that the final message must satisfy"),
    text(
        "comment",
        "WHEN",
        "When to comment on the pull request: always, on-change or never [default: always]",
    ),
    text("comment-key", "KEY", "Name that distinguishes the comments of several jobs"),
    text("deliver", "WHERE", "Where changes go: none, patch, branch or pull-request [default: none]"),
    text(
        "allow-users",
        "LOGINS",
        "Comma-separated list of people who may start runs without write permission",
    ),
    text("allow-bots", "LOGINS", "Comma-separated list of bots that may start runs; * allows all of them"),
    text("log-format", "FORMAT", "Format of the log: human or json [default: human]"),
    switch("trust-head-config", None, "Read the configuration from the checkout even on pull requests"),
    switch("strict-replay", None, "Fail if a replayed run differs from its transcript"),
    switch("json", None, "Print the whole report as JSON instead of the final message"),
    switch("verbose", Some('v'), "Log more"),
    switch("quiet", Some('q'), "Log only warnings and errors"),
];

/// What `batch` takes besides.
pub const BATCH_INPUTS: [Input; 7] = [
    text("batch", "FILE", "The batch: a YAML file of tasks"),
    text("manifest", "FILE", "Task list written by `batch --matrix`, used instead of the batch file"),
    text("jobs", "N", "Number of concurrent tasks [default: from the file, otherwise 4]"),
    text("shard", "I/N", "Run only shard I of N"),
    text("shards", "N", "Maximum number of shards in the matrix [default: 256]"),
    switch("resume", None, "Resume an interrupted batch that has the same output folder"),
    switch(
        "matrix",
        None,
        "Run nothing yet: write the task list, and print a matrix of shards for GitHub Actions",
    ),
];
