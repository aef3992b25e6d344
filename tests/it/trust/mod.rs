//! Attempts of a pull request, or of an earlier step of the job, to steer a run by the repository: none of them takes effect.
//! Each trap is shown to work on plain `git` first, where it is one for `git`.
#![cfg(unix)]

mod configuration;
mod git_settings;
mod workspace;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::support::Run;
use crate::support::scene::Scene;

/// A configuration that is told from others by the comment's key.
fn keyed(key: &str) -> String {
    format!("github:\n  comment_key: {key}\n")
}

const BY_BASE: &str = "github:\n  comment_key: by-base\n";

impl Scene {
    /// A program that leaves a mark, with its environment, if anybody starts it.
    fn trap(&self) -> (PathBuf, PathBuf) {
        let (program, mark) = (self.sandbox.path().join("trap.sh"), self.sandbox.path().join("mark"));
        fs::write(&program, format!("#!/bin/sh\nenv >> {}\ncat\n", mark.display())).unwrap();
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        (program, mark)
    }

    /// Puts the trap into a repository of `folder`, as the filter of all files.
    fn arm(&self, git_dir: &Path, folder: &Path) -> PathBuf {
        let (program, mark) = self.trap();
        let config = git_dir.join("config");
        let text = fs::read_to_string(&config).unwrap();
        let program = program.display();
        fs::write(
            &config,
            format!("{text}\n[filter \"x\"]\n\tclean = {program}\n\tsmudge = {program}\n\tprocess = {program}\n[core]\n\tfsmonitor = {program}\n"),
        )
        .unwrap();
        fs::write(folder.join(".gitattributes"), "* filter=x\n").unwrap();
        mark
    }

    /// A run on the pull request.
    fn pull(&self, args: &[&str]) -> Run {
        let model = self.sandbox.script(&[], "done");
        let event = self.pull_event(7, "dev");
        self.run("pull_request", &event, &[&["--model", &model][..], args].concat(), &[])
    }

    /// The key of the configuration that took effect.
    #[track_caller]
    fn key(&self, args: &[&str]) -> String {
        let run = self.pull(args).expect_code(0);
        let line = run.file("comment.md").lines().next().unwrap().to_owned();
        line.trim_start_matches("<!-- architect-ci comment: ").trim_end_matches(" -->").to_owned()
    }

    fn at(&self, path: &str) -> String {
        self.sandbox.repo().join(path).display().to_string()
    }

    /// The pull request commits what stands there.
    fn propose(&mut self) {
        self.head = self.sandbox.commit("the pull request goes on");
    }
}
