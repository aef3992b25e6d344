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
    text("task", "TEXT", "What to do"),
    text("task-file", "FILE", "What to do, as Markdown; YAML front matter may set agent and mode"),
    text("mode", "MODE", "dry-run (plan, change nothing) or yolo (do it) [default: dry-run]"),
    text("agent", "NAME", "build, plan, review, resume, or one from the configuration [default: build]"),
    text("workspace", "DIR", "The checkout [default: GITHUB_WORKSPACE or the current folder]"),
    text("config", "FILE", "Configuration [default: .github/architect.yml, else .architect.yml]"),
    text("model", "PROVIDER::NAME", "The model, or replay::FILE to play a transcript back"),
    text("base-url", "URL", "Address of a compatible model server"),
    text("api-key-env", "VARIABLE", "Name of the variable that holds the model's key"),
    text("max-steps", "N", "Most model calls [default: of the agent]"),
    text("budget-usd", "USD", "Most money for the model [default: of the configuration, else none]"),
    text("timeout", "SECONDS", "Most time for the agent"),
    text(
        "until",
        "CHECK",
        "Work in rounds, each with a fresh mind, until this command succeeds; may be given several times",
    ),
    text("max-rounds", "N", "Most rounds with `until` [default: 10]"),
    text("event", "FILE", "Payload of the GitHub event [default: GITHUB_EVENT_PATH]"),
    text("out", "DIR", "Where the files of the run go [default: RUNNER_TEMP/architect-ci or a new folder]"),
    text("output-schema", "SCHEMA", "JSON Schema (text or file) that the final message has to satisfy"),
    text("comment", "WHEN", "Pull-request comment: always, on-change or never [default: always]"),
    text("comment-key", "KEY", "Tells the comments of several jobs apart"),
    text("deliver", "WHERE", "Where changes go: none, patch, branch or pull-request [default: none]"),
    text("allow-users", "LOGINS", "People who may start runs without write permission, with commas between"),
    text("allow-bots", "LOGINS", "Bots that may start runs, with commas between; * is all of them"),
    text("log-format", "FORMAT", "human or json [default: human]"),
    switch("trust-head-config", None, "Read configuration from the checkout even on pull requests"),
    switch("strict-replay", None, "Fail when a replayed run differs from its transcript"),
    switch("json", None, "Print the whole report as JSON instead of the final message"),
    switch("verbose", Some('v'), "Log more"),
    switch("quiet", Some('q'), "Log warnings and errors alone"),
];

/// What `batch` takes besides.
pub const BATCH_INPUTS: [Input; 7] = [
    text("batch", "FILE", "The batch: a YAML file of tasks"),
    text("manifest", "FILE", "A list of tasks that `batch --matrix` has written, in place of the file"),
    text("jobs", "N", "Tasks at a time [default: of the file, else 4]"),
    text("shard", "I/N", "Do the part I of N alone"),
    text("shards", "N", "Most shards of the matrix [default: 256]"),
    switch("resume", None, "Go on where an earlier start with the same output folder was interrupted"),
    switch(
        "matrix",
        None,
        "Do nothing yet: write the list of tasks, and print a matrix of shards for GitHub Actions",
    ),
];
