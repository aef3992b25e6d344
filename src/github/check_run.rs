//! Check runs: a conclusion next to the commit, with annotations on its lines.

use serde::Deserialize;
use serde_json::{Value, json};

use super::api::Api;
use super::error::ApiError;
use super::operation::{Method, Purpose};
use crate::event::Conclusion;
use crate::report::Diagnostic;

/// The number of annotations that GitHub accepts in one request.
const BATCH: usize = 50;

/// Maximum number of annotations of one check run; nobody reads more.
const MAX_ANNOTATIONS: usize = 500;

const CHECK: Purpose = Purpose { doing: "write a check run", permission: "checks: write" };

/// The content of a check run; the texts are already neutralized.
#[derive(Clone, Debug)]
pub struct Check {
    /// The name that GitHub lists the check under.
    pub name: String,
    /// The id of the commit that the check is about.
    pub commit: String,
    /// How the run ended.
    pub conclusion: Conclusion,
    /// The time at which the run started: RFC 3339.
    pub started_at: String,
    /// The headline, one line.
    pub title: String,
    /// Markdown, at most 65,535 bytes.
    pub summary: String,
    /// The URL of a page with more details.
    pub details_url: Option<String>,
    /// Remarks on lines, which become annotations.
    pub remarks: Vec<Diagnostic>,
}

impl Check {
    /// Creates the check run. Returns its URL, which is empty if GitHub gives none. Annotations beyond the
    /// limit of one request follow in further ones.
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
