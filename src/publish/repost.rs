//! Posts a report that another job has made.

use sanitize::Masker;

use crate::config::DEFAULT_KEY;
use crate::event::{Notice, NoticeLevel};
use crate::github::{
    ApiError, Environment, OtherRun, Posted, Pull, RunMark, StickyComment, comment_marker, hidden_lines,
    marker_key,
};
use crate::report::{CommentFrame, RunReport, comment};
use crate::request::{InputError, Inputs, RequestContext};

/// The way of a report to its pull request or issue.
pub struct Repost<'a> {
    context: RequestContext<'a>,
    github: Environment,
    number: u64,
}

impl<'a> Repost<'a> {
    /// Finds the pull request or issue: by the event, and of the run of another workflow by asking GitHub. Returns `None`
    /// if the pull request has moved on since that run, or is closed.
    pub async fn resolve(inputs: &'a Inputs) -> Result<Option<Self>, InputError> {
        let context = RequestContext::read(inputs)?;
        let mut github = context.github.clone().ok_or(InputError::GitHub(ApiError::NotOnGitHub))?;
        if let Some(run) = github.other_run.clone() {
            let asked = async { Pull::of_run(context.api(&github)?, &run).await };
            let pull = asked.await.map_err(InputError::GitHub)?;
            let Some(pull) = pull else { return Ok(None) };
            github.subject = pull.subject();
            // The run to look at is the other one.
            let Environment { server_url, owner, repository, other_run, .. } = &github;
            let id = other_run.as_ref().map(|run| run.id).unwrap_or_default();
            github.run_url = Some(format!("{server_url}/{owner}/{repository}/actions/runs/{id}"));
        }
        let number = github.number().ok_or(InputError::GitHub(ApiError::NoSubject))?;
        Ok(Some(Self { context, github, number }))
    }

    /// Posts it. The report may lie about itself, so nothing that it
    /// says leads anywhere: not its links, nor its plan's digest to an application.
    pub async fn post(self, mut report: RunReport) -> Result<Posted, InputError> {
        let key = self.context.comment_key();
        report.run_url.clone_from(&self.github.run_url);
        report.delivery = None;
        // People copy the digest into a shell: what is none may be any command line.
        let is_digest = |text: &str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        report.plan = report.plan.filter(|plan| is_digest(&plan.digest));
        if self.github.other_run.is_some() {
            let message =
                "this report comes from a job without permissions; its claims are not verified".to_owned();
            report.notices.insert(0, Notice { level: NoticeLevel::Warning, message });
        }
        let frame = CommentFrame {
            hidden: hidden_lines(&key, None),
            name: (key != DEFAULT_KEY).then(|| marker_key(&key)),
            ..CommentFrame::default()
        };
        let masker = Masker::from_environment(&self.context.inputs.variables, &[], &[]);
        let body = masker.mask(&comment(&report, &frame)).into_owned();
        let on_pull = self.github.is_on_pull();
        let posted = async {
            let api = self.context.api(&self.github)?.clone();
            let of_other = |other: &OtherRun| RunMark { run: other.id, head: other.head_sha.clone() };
            let run = self.github.other_run.as_ref().map(of_other).or_else(|| self.github.run_mark());
            StickyComment::new(api, self.number, on_pull, comment_marker(&key)).of_run(run).put(&body).await
        };
        posted.await.map_err(InputError::GitHub)
    }
}
