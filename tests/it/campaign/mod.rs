//! Campaigns by the real binary, on many bare repositories behind a loopback GitHub.
#![cfg(unix)]

mod changed;
mod files;
mod model;
mod orders;
mod parts;
mod renamed;
mod selection;
mod split;
mod state;
mod two_jobs;
mod waves;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::support::github::fleet::{Fleet, TOKEN};
use crate::support::wait::wait_until;
use crate::support::{Run, Sandbox};
use serde_json::Value;

const RECIPE: &str = "description: Call it new\nsteps:\n- files: ['**/*.txt']\n  containing: old\n  do: [{ replace: { pattern: old, with: new } }]\n";

/// A campaign over all of `octo`, with these further lines.
fn campaign(more: &str) -> String {
    format!(
        "name: words\nrepositories: {{ organizations: [octo] }}\ntasks: [{{ recipe: words.yml }}]\n\
         pull_request: {{ title: Call it new }}\n{more}"
    )
}

/// The checkout of the campaign's repository, and the GitHub with all others.
pub struct Scene {
    pub fleet: Fleet,
    pub sandbox: Sandbox,
    machines: u32,
}

impl Scene {
    pub async fn new(file: &str) -> Self {
        let fleet = Fleet::start().await;
        let sandbox = Sandbox::new(&[("campaign.yml", &campaign(file)), ("words.yml", RECIPE)]);
        Self { fleet, sandbox, machines: 0 }
    }

    /// Repositories with something to change.
    pub fn plain(&self, count: usize) {
        for at in 0..count {
            self.fleet.add(&format!("octo/r{at:03}"), &[("a.txt", "old\n"), ("b.txt", "other\n")]);
        }
    }

    /// Another machine: nothing of what earlier starts have left on disk is there.
    pub fn on_another_machine(&mut self) -> &mut Self {
        self.machines += 1;
        self
    }

    pub fn out(&self) -> PathBuf {
        self.sandbox.path().join(format!("machine-{}", self.machines))
    }

    fn command(&self, words: &[&str], token: &str, variables: &[(&str, &str)]) -> Command {
        let (repo, out) = (self.sandbox.repo(), self.out());
        let mut args = vec!["campaign"];
        args.extend(words);
        args.extend(["--workspace", repo.to_str().unwrap(), "--out", out.to_str().unwrap()]);
        let mut command = self.sandbox.command(&args);
        command.current_dir(&repo).envs(self.fleet.variables(token)).envs(variables.iter().copied());
        command.env("INPUT_CAMPAIGN", "campaign.yml");
        command
    }

    pub fn run(&self, words: &[&str]) -> Run {
        self.run_as(words, TOKEN, &[])
    }

    pub fn run_as(&self, words: &[&str], token: &str, variables: &[(&str, &str)]) -> Run {
        let output = self.command(words, token, variables).output().expect("the binary runs");
        Run::new(&output, self.out())
    }

    /// Starts the program, which nobody listens to.
    pub fn start(&self, words: &[&str]) -> Child {
        let mut command = self.command(words, TOKEN, &[]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("the binary runs")
    }

    /// Runs until the request with this number, counted from now, gets no answer, and kills the program then; or to its end.
    /// Returns whether it was killed.
    fn run_killed(&self, at: usize, is_done: bool) -> bool {
        let from = self.fleet.state().requests.len() + at;
        self.fleet.state().silent_from = Some((from, is_done));
        let mut child = self.start(&["run"]);
        let has_asked = || self.fleet.state().requests.len() >= from;
        let mut is_killed = false;
        wait_until("a request or the end", || {
            is_killed = has_asked();
            is_killed || child.try_wait().expect("a child").is_some()
        });
        if is_killed {
            child.kill().expect("it can be killed");
            child.wait().expect("it has ended");
        }
        self.fleet.state().silent_from = None;
        is_killed
    }

    pub fn status(&self) -> Value {
        // A campaign that has stopped ends with another code, and tells as much.
        let run = self.run(&["status", "--json"]);
        serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stderr))
    }

    pub fn standings(&self) -> BTreeMap<String, String> {
        let status = self.status();
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let targets = status["targets"].as_array().expect("targets").iter();
        targets.map(|target| (text(&target["id"]), text(&target["standing"]))).collect()
    }

    #[track_caller]
    pub fn assert_valid(&self) {
        assert_eq!(self.fleet.state().violations, Vec::<String>::new());
    }
}

pub const WAVES: &str = "waves: { canary: 2, growth: 2, largest: 50, share: 60% }\n\
                     limits: { per_hour: 500, open_per_owner: 10000, open: 1000 }\n";
