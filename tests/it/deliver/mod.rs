//! Changes go to branches and pull requests: verified commits, reruns, moved bases, everything a file can be.
#![cfg(unix)]

mod branches;
mod files;
mod meanwhile;
mod pull_requests;
mod rules;

use crate::support::Run;
use crate::support::scene::Scene;

const OWN: &str = "architect-ci/changes";

impl Scene {
    /// A scheduled run in yolo that delivers.
    fn nightly(&self, model: &str, to: &str, more: &[&str]) -> Run {
        let event = self.event("schedule", &[]);
        let args = [&["--model", model, "--mode", "yolo", "--deliver", to][..], more].concat();
        self.run("schedule", &event, &args, &[])
    }

    /// A fresh checkout of `main`, as the next job has it.
    fn check_out(&self) {
        let path = self.github.world().repository.as_ref().unwrap().path();
        self.sandbox.git(&["fetch", "--quiet", path.to_str().unwrap(), "main"]);
        self.sandbox.git(&["checkout", "--quiet", "--force", "--detach", "FETCH_HEAD"]);
        self.sandbox.git(&["clean", "-fdxq"]);
    }

    fn shown(&self, branch: &str, path: &str) -> Option<String> {
        let world = self.github.world();
        let content = world.repository.as_ref().unwrap().show(branch, path)?;
        Some(String::from_utf8(content).unwrap())
    }

    fn tip(&self, branch: &str) -> Option<String> {
        self.github.world().repository.as_ref().unwrap().branch(branch)
    }

    fn parents(&self, commit: &str) -> Vec<String> {
        self.github.world().repository.as_ref().unwrap().parents(commit)
    }
}
