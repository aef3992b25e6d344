//! A run that is one of many: of a batch's tasks, or of a campaign's targets.

use super::file::Entry;
use crate::config::{Comment, Report};
use crate::request::{Inputs, JobRequest};

impl Entry {
    /// Returns the inputs of a run of this task: what was given for all of them stands above what the task says. `recipe` is
    /// the path of its recipe; what that does no model can do in its place.
    pub(crate) fn inputs(&self, given: &Inputs, recipe: Option<String>) -> Inputs {
        let recipe = recipe.map(|path| format!("recipe::{path}"));
        Inputs {
            task: self.task.clone().filter(|text| !text.is_empty()),
            task_file: self.task_file.clone().filter(|file| !file.is_empty()).map(Into::into),
            model: recipe.or_else(|| given.model.clone()).or_else(|| self.model.clone()),
            agent: given.agent.clone().or_else(|| self.agent.clone()),
            mode: given.mode.or(self.mode),
            until: if given.until.is_empty() { self.until.clone() } else { given.until.clone() },
            max_rounds: given.max_rounds.or(self.max_rounds),
            max_steps: given.max_steps.or(self.max_steps),
            deliver: given.deliver.or(self.deliver),
            expect: given.expect.or(self.expect),
            folder: self.folder.clone(),
            comment: Some(Comment::Never),
            ..given.clone()
        }
    }
}

impl JobRequest {
    /// Makes a run one of many: all of them share one report, and no two have the same files.
    pub(crate) fn make_one_of_many(&mut self) {
        self.standalone = false;
        let config = &mut self.origin.config;
        let github = &mut config.github;
        (github.check_run, github.inline_suggestions, github.progress, github.required) =
            (false, false, false, false);
        config.report = Report::default();
    }
}
