//! Permission by people on GitHub for this run to weaken tests.

use super::Run;
use super::integrity::demand_less;
use crate::event::{NoticeLevel, Severity, TestFinding};
use crate::github::{
    Api, ApiError, LabelPermission, LabelsSince, Subject, label_set_by_writer, trailer_signed_by_writer,
};

impl Run<'_> {
    /// Turns errors into warnings if a person permits them. Nobody is asked if there are none.
    pub(super) async fn permitted(&self, mut findings: Vec<TestFinding>) -> Vec<TestFinding> {
        if !demand_less(&findings) {
            return findings;
        }
        let Some(permission) = self.test_permission.get_or_init(|| self.ask_for_permission()).await else {
            return findings;
        };
        for finding in findings.iter_mut().filter(|finding| finding.severity == Severity::Error) {
            finding.severity = Severity::Warning;
            finding.message += &format!(" (permitted by {permission})");
        }
        findings
    }

    /// Returns who permits it, and how. What cannot be found out permits nothing.
    async fn ask_for_permission(&self) -> Option<String> {
        match self.permission().await {
            Ok(permission) => permission,
            Err(error) => {
                let told = format!(
                    "test integrity: could not find out whether anybody permits the findings: {error}"
                );
                self.events.notice(NoticeLevel::Warning, told);
                None
            }
        }
    }

    async fn permission(&self) -> Result<Option<String>, ApiError> {
        let tests = &self.request.config().tests;
        let Some(github) = &self.request.github else { return Ok(None) };
        let (number, head) = match &github.subject {
            Subject::PullRequest { number, head, .. } => (*number, head.as_ref()),
            Subject::Issue { number } => (*number, None),
            Subject::Repository => return Ok(None),
        };
        if tests.allow_label.is_none() && tests.allow_trailer.is_none() {
            return Ok(None);
        }
        let api = Api::new(github)?;
        if let Some(label) = &tests.allow_label {
            match label_set_by_writer(&api, number, label, LabelsSince::of(github, label)).await? {
                LabelPermission::By(login) => return Ok(Some(format!("{login}'s label {label}"))),
                LabelPermission::MaybeOlder => {
                    let told = format!(
                        "test integrity: the label {label} does not count, because somebody may have pushed to the pull request \
                         since it was set; remove it, set it again, and run this job again"
                    );
                    self.events.notice(NoticeLevel::Warning, told);
                }
                LabelPermission::None => {}
            }
        }
        if let (Some(trailer), Some(head)) = (&tests.allow_trailer, head)
            && let Some(login) = trailer_signed_by_writer(&api, &head.sha, trailer).await?
        {
            return Ok(Some(format!("{login}'s commit with the trailer {trailer}")));
        }
        Ok(None)
    }
}
