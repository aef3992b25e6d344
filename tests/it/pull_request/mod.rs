//! Publishing to a pull request: the comment in all its lives, suggestions, a check run, a plan applied by comment.
#![cfg(unix)]

mod apply;
mod check_run;
mod comment;
mod forks;
mod limits;
mod requests;
mod suggestions;

use std::io::Write as _;

use crate::support::Run;
use crate::support::github::BOT;
use crate::support::scene::Scene;
use crate::support::wait::wait_while_running;

const MARKER: &str = "<!-- architect-ci comment: architect-ci -->";

impl Scene {
    pub(crate) fn plan(&self, model: &str, more: &[&str]) -> Run {
        let event = self.pull_event(7, "dev");
        let args = [&["--model", model][..], more].concat();
        self.run("pull_request", &event, &args, &[])
    }

    /// Keeps the output folder of the last run as an artifact of it, as `actions/upload-artifact` does.
    pub(crate) fn upload(&self, name: &str) {
        let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for file in ["report.json", "plan.json"] {
            archive.start_file(format!("out/{file}"), zip::write::SimpleFileOptions::default()).unwrap();
            archive.write_all(&std::fs::read(self.sandbox.out().join(file)).unwrap()).unwrap();
        }
        let bytes = archive.finish().unwrap().into_inner();
        let mut world = self.github.world();
        let id = 900 + world.artifacts.len() as u64;
        world.artifacts.insert(id, (name.to_owned(), 4711, bytes));
    }

    /// Waits until the job has sent a request that starts so.
    fn wait_for(&self, request: &str, job: &mut std::process::Child) {
        wait_while_running(job, || request.to_owned(), || self.github.count(request) > 0);
    }

    /// Answers to orders.
    pub(crate) fn answers(&self) -> Vec<String> {
        let all = self.github.comments_by(BOT).into_iter();
        all.filter(|body| body.starts_with("<!-- architect-ci comment: architect-ci orders-")).collect()
    }

    pub(crate) fn sticky(&self) -> String {
        let all = self.github.comments_by(BOT);
        let own: Vec<&String> = all.iter().filter(|body| body.starts_with(MARKER)).collect();
        assert_eq!(own.len(), 1, "{own:?}");
        own[0].clone()
    }

    pub(crate) fn branch(&self, name: &str, path: &str) -> String {
        let world = self.github.world();
        String::from_utf8(world.repository.as_ref().unwrap().show(name, path).unwrap()).unwrap()
    }
}
