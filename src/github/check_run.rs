//! A check run: the conclusion beside the commit, with annotations on its lines.

use serde::Deserialize;
use serde_json::{Value, json};

use super::api::{Api, Method, Purpose};
use super::error::ApiError;
use crate::report::Diagnostic;

/// Annotations of one request.
const BATCH: usize = 50;

/// Annotations of one check; more than anybody reads.
const MAX_ANNOTATIONS: usize = 500;

const CHECK: Purpose = Purpose { doing: "write a check run", permission: "checks: write" };

/// How a check ended, in GitHub's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// All is well.
    Success,
    /// Neither.
    Neutral,
    /// Something failed.
    Failure,
    /// It was interrupted.
    Cancelled,
    /// The time was up.
    TimedOut,
}

impl Conclusion {
    fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Neutral => "neutral",
            Self::Failure => "failure",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
        }
    }
}

/// Everything that a check shows; the texts are harmless already.
#[derive(Clone, Debug)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// The commit.
    pub commit: String,
    /// How it ended.
    pub conclusion: Conclusion,
    /// RFC 3339.
    pub started_at: String,
    /// One line.
    pub title: String,
    /// Markdown, at most 65,535 bytes.
    pub summary: String,
    /// Where more is to be seen.
    pub details_url: Option<String>,
    /// What concerns lines.
    pub remarks: Vec<Diagnostic>,
}

impl Check {
    /// Writes it; answers with its address. Annotations that one request does not hold follow in others.
    pub async fn post(&self, api: &Api) -> Result<String, ApiError> {
        #[derive(Deserialize)]
        struct Created {
            id: u64,
            #[serde(default)]
            html_url: Option<String>,
        }
        let remarks: Vec<Value> = self.remarks.iter().take(MAX_ANNOTATIONS).map(annotation).collect();
        let mut batches = remarks.chunks(BATCH);
        let mut body = json!({
            "name": self.name,
            "head_sha": self.commit,
            "status": "completed",
            "conclusion": self.conclusion.word(),
            "started_at": self.started_at,
            "output": self.output(batches.next().unwrap_or_default()),
        });
        if let Some(url) = &self.details_url {
            body["details_url"] = json!(url);
        }
        let created: Created = api.send(Method::Post, "/check-runs", Some(&body), CHECK).await?;
        for batch in batches {
            // octocrab's own `update_check_run` repeats the id in the body.
            let more = json!({ "output": self.output(batch) });
            let path = format!("/check-runs/{}", created.id);
            api.send::<Value>(Method::Patch, &path, Some(&more), CHECK).await?;
        }
        Ok(created.html_url.unwrap_or_default())
    }

    fn output(&self, annotations: &[Value]) -> Value {
        json!({"title": self.title, "summary": self.summary, "annotations": annotations})
    }
}

fn annotation(remark: &Diagnostic) -> Value {
    json!({
        "path": remark.path,
        "start_line": remark.line,
        "end_line": remark.line,
        "annotation_level": if remark.error { "failure" } else { "warning" },
        "title": remark.title,
        "message": remark.message,
    })
}
