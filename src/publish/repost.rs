//! Posts a report that another job has made.

use sanitize::Masker;

use crate::event::{Notice, NoticeLevel};
use crate::github::{ApiError, Environment, Pull, Sticky, hidden_lines, marker};
use crate::report::{RunReport, comment};
use crate::request::{InputError, Inputs, RequestContext};

/// The way of a report to its pull request or issue.
pub struct Repost<'a> {
    context: RequestContext<'a>,
    github: Environment,
    number: u64,
}

impl<'a> Repost<'a> {
    /// Finds the pull request or issue: by the event, and of the run of another workflow by asking GitHub.
    pub async fn resolve(inputs: &'a Inputs) -> Result<Self, InputError> {
        let context = RequestContext::read(inputs)?;
        let nowhere = |why: &str| InputError::GitHub(ApiError::Unusable(why.to_owned()));
        let mut github = context.github.clone().ok_or_else(|| nowhere("this run is not on GitHub"))?;
        if let Some(run) = github.other_run.clone() {
            let asked = async { Pull::of_run(context.api(&github)?, &run).await };
            let pull = asked.await.map_err(InputError::GitHub)?;
            let pull =
                pull.ok_or_else(|| nowhere("no open pull request has that run's commit as its head"))?;
            github.subject = pull.subject();
            // The run to look at is the other one.
            let Environment { server_url, owner, repository, other_run, .. } = &github;
            let id = other_run.as_ref().map(|run| run.id).unwrap_or_default();
            github.run_url = Some(format!("{server_url}/{owner}/{repository}/actions/runs/{id}"));
        }
        let number =
            github.number().ok_or_else(|| nowhere("the event does not belong to a pull request or issue"))?;
        Ok(Self { context, github, number })
    }

    /// Posts it; answers with the comment's address. The report may lie about itself, so nothing that it
    /// says leads anywhere: not its links, nor its plan's digest to an application.
    pub async fn post(self, mut report: RunReport) -> Result<String, InputError> {
        let key = self.context.comment_key();
        report.run_url.clone_from(&self.github.run_url);
        report.delivery = None;
        if self.github.other_run.is_some() {
            let message = "this report comes from another run, and its contents are not verified".to_owned();
            report.notices.insert(0, Notice { level: NoticeLevel::Warning, message });
        }
        let masker = Masker::from_environment(&self.context.inputs.variables, &[], &[]);
        let body = masker.mask(&comment(&report, &hidden_lines(&key, None), false)).into_owned();
        let on_pull = self.github.is_on_pull();
        let posted = async {
            let api = self.context.api(&self.github)?.clone();
            Sticky::new(api, self.number, on_pull, marker(&key)).put(&body).await
        };
        posted.await.map_err(InputError::GitHub)
    }
}
