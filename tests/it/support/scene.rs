//! A repository on the loopback GitHub, with a pull request, one from a fork, and an issue; and events about them.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::github::{GitHub, Pull};
use super::{Run, Sandbox};

/// The checkout of a job, and the GitHub that it is from.
pub struct Scene {
    pub github: GitHub,
    pub sandbox: Sandbox,
    /// The commits of `main` and of the pull request.
    pub base: String,
    pub head: String,
}

/// What the pull request 7 starts from, and what it makes of it.
pub const BEFORE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";
pub const HEAD: &str = "one\nTWO\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";

/// A published payload of an event.
fn payload(name: &str) -> Value {
    let path = format!("{}/tests/cases/events/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).expect("a payload")).expect("JSON")
}

/// Puts values into places of a payload, named as `a.b.c`.
fn with(mut payload: Value, values: &[(&str, Value)]) -> Value {
    for (place, value) in values {
        let pointer = format!("/{}", place.replace('.', "/"));
        let (parent, name) = pointer.rsplit_once('/').expect("a name");
        payload.pointer_mut(parent).unwrap_or_else(|| panic!("{place}"))[name] = value.clone();
    }
    payload
}

impl Scene {
    /// `files` are on `main` besides `a.txt`; the checkout is at the pull request's head.
    pub fn new(github: GitHub, files: &[(&str, &str)]) -> Self {
        let sandbox = Sandbox::new(&[&[("a.txt", BEFORE)], files].concat());
        let base = sandbox.git(&["rev-parse", "HEAD"]);
        sandbox.git(&["checkout", "--quiet", "-b", "feature"]);
        sandbox.write("a.txt", HEAD);
        let head = sandbox.commit("the pull request");
        sandbox.git(&["update-ref", "refs/pull/8/head", &head]);
        github.serve(&sandbox.repo());
        {
            let mut world = github.world();
            world.repository.as_ref().unwrap().set("refs/pull/8/head", &head);
            let pull = |head: &str, fork| Pull {
                title: "A pull request".into(),
                body: "Body".into(),
                head: head.into(),
                base: "main".into(),
                fork,
                draft: false,
                open: true,
            };
            world.pulls.insert(7, pull("refs/heads/feature", false));
            world.pulls.insert(8, pull("refs/pull/8/head", true));
        }
        Self { github, sandbox, base, head }
    }

    /// Checks `main` out, as jobs without a pull request do.
    pub fn on_main(self) -> Self {
        self.sandbox.git(&["checkout", "--quiet", "main"]);
        self
    }

    fn write(&self, name: &str, payload: &Value) -> PathBuf {
        let path = self.sandbox.path().join(format!("{name}.json"));
        std::fs::write(&path, payload.to_string()).expect("an event");
        path
    }

    /// A pull request was opened by `sender`.
    pub fn pull_event(&self, number: u64, sender: &str) -> PathBuf {
        let fork = if number == 8 { "stranger/demo" } else { "octo/demo" };
        let branch = if number == 8 { "patch-1" } else { "feature" };
        self.write(
            "pull_request",
            &with(
                payload("pull_request.opened"),
                &[
                    ("number", json!(number)),
                    ("pull_request.number", json!(number)),
                    ("pull_request.base.sha", json!(self.base)),
                    ("pull_request.base.ref", json!("main")),
                    ("pull_request.base.repo.full_name", json!("octo/demo")),
                    ("pull_request.head.sha", json!(self.head)),
                    ("pull_request.head.ref", json!(branch)),
                    ("pull_request.head.repo.full_name", json!(fork)),
                    ("repository.full_name", json!("octo/demo")),
                    ("sender.login", json!(sender)),
                    ("sender.type", json!(kind(sender))),
                ],
            ),
        )
    }

    /// `sender` has commented; answers with the event and the comment's id.
    pub fn comment_event(&self, number: u64, sender: &str, body: &str) -> (PathBuf, u64) {
        let id = self.github.world().add_comment(number, sender, body);
        let mut values = vec![
            ("issue.number", json!(number)),
            ("comment.id", json!(id)),
            ("comment.body", json!(body)),
            ("comment.user.login", json!(sender)),
            ("repository.full_name", json!("octo/demo")),
            ("sender.login", json!(sender)),
            ("sender.type", json!(kind(sender))),
        ];
        if number != 9 {
            values.push((
                "issue.pull_request",
                json!({"url": "https://api.github.com/repos/octo/demo/pulls/7"}),
            ));
        }
        (self.write("issue_comment", &with(payload("issue_comment.created"), &values)), id)
    }

    /// `sender` gave issue 9 a label.
    pub fn label_event(&self, sender: &str, label: &str) -> PathBuf {
        self.write(
            "issues",
            &with(
                payload("issues.labeled"),
                &[
                    ("issue.number", json!(9)),
                    ("issue.title", json!("Rename it")),
                    ("issue.body", json!("Please rename `one` to `uno`. Fixes #3, @octocat")),
                    ("label.name", json!(label)),
                    ("repository.full_name", json!("octo/demo")),
                    ("repository.default_branch", json!("main")),
                    ("sender.login", json!(sender)),
                    ("sender.type", json!(kind(sender))),
                ],
            ),
        )
    }

    /// An event as it was published, with the repository of the test.
    pub fn event(&self, name: &str, values: &[(&str, Value)]) -> PathBuf {
        let payload = with(payload(name), &[("repository.full_name", json!("octo/demo"))]);
        self.write(name, &with(payload, values))
    }

    /// Runs on an event, as a runner of GitHub's does.
    pub fn run(&self, name: &str, event: &std::path::Path, args: &[&str], more: &[(&str, &str)]) -> Run {
        let mut all = vec!["--event", event.to_str().unwrap()];
        all.extend(args);
        let owned = self.variables(name);
        let mut variables: Vec<(&str, &str)> =
            owned.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        variables.extend(more);
        self.sandbox.run(&all, &variables)
    }

    /// The binary on an event, to be started and watched; its files go to `out`.
    pub fn job(&self, name: &str, event: &std::path::Path, out: &std::path::Path, args: &[&str]) -> Command {
        let repo = self.sandbox.repo();
        let mut all = vec!["run", "--task", "x", "--event", event.to_str().unwrap()];
        all.extend(["--workspace", repo.to_str().unwrap(), "--out", out.to_str().unwrap()]);
        all.extend(args);
        let mut command = self.sandbox.command(&all);
        command.envs(self.variables(name)).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// What a runner sets for an event of this name.
    pub fn variables(&self, event: &str) -> Vec<(String, String)> {
        let mut owned = self.github.variables();
        let server = self.github.world().repository.as_ref().unwrap().server();
        for (name, value) in &mut owned {
            match name.as_str() {
                "GITHUB_EVENT_NAME" => event.clone_into(value),
                "GITHUB_SERVER_URL" => value.clone_from(&server),
                _ => {}
            }
        }
        for (name, value) in [
            ("GITHUB_ACTIONS", "true".to_owned()),
            ("GITHUB_SHA", self.base.clone()),
            ("GITHUB_REF", "refs/heads/main".to_owned()),
            ("GITHUB_OUTPUT", self.sandbox.path().join("output").display().to_string()),
        ] {
            owned.push((name.to_owned(), value));
        }
        owned
    }

    /// A model that makes one edit of `a.txt`.
    pub fn edit(&self, old: &str, new: &str) -> String {
        let edit = ("edit_file", json!({"path": "a.txt", "old_str": old, "new_str": new}));
        self.sandbox.script(&[vec![edit]], "Done, @octocat. Fixes #1.")
    }

    /// Has GitHub refuse commits, over its API and by a push, until [`Self::accept_commits`].
    pub fn refuse_commits(&self) {
        self.github.forbid("POST /repos/octo/demo/git/");
        let hook = self.push_hook();
        std::fs::write(&hook, "#!/bin/sh\nexit 1\n").expect("a hook");
        std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    }

    /// Has GitHub accept commits again.
    pub fn accept_commits(&self) {
        drop(GitHub::clone_open(&self.github));
        std::fs::remove_file(self.push_hook()).expect("there is a hook");
    }

    fn push_hook(&self) -> PathBuf {
        self.github.world().repository.as_ref().unwrap().path().join("hooks/pre-receive")
    }

    /// What the step has put out of this name.
    pub fn output(&self, name: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.sandbox.path().join("output")).unwrap_or_default();
        super::outputs(&text).remove(name)
    }
}

fn kind(login: &str) -> &'static str {
    if login.ends_with("[bot]") { "Bot" } else { "User" }
}

/// Runs a test body beside the server's threads: the binary blocks.
pub async fn scene(
    files: &'static [(&'static str, &'static str)],
    work: impl FnOnce(Scene) + Send + 'static,
) {
    let github = GitHub::start().await;
    tokio::task::spawn_blocking(move || work(Scene::new(github, files))).await.expect("no panic");
}
