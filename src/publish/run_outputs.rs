//! Outputs of the step of a run: each name with the value that it gets.

use std::borrow::Cow;
use std::path::Path;

use sanitize::invisible::is_invisible;
use sanitize::untrusted::visible;

use super::output_files::OutputFiles;
use crate::event::Exit;
use crate::report::{DeliveryReport, RunReport};

/// Facts about a published run, from which its outputs are made.
pub(super) struct RunOutputs<'a> {
    pub(super) report: &'a RunReport,
    pub(super) files: &'a OutputFiles,
    pub(super) comment_url: Option<&'a str>,
    /// Whether the findings are complete.
    pub(super) has_all_findings: bool,
}

/// Makes the value of an output.
type Value = fn(&RunOutputs<'_>) -> String;

/// All outputs, which `action.yml` declares as well.
const OUTPUTS: &[(&str, Value)] = &[
    ("status", |run| run.report.status.to_string()),
    ("exit-code", |run| run.report.exit_code.to_string()),
    ("changed-files", |run| {
        let files = run.report.files.iter().map(|file| on_one_line(file.path.as_str()));
        files.collect::<Vec<_>>().join("\n")
    }),
    ("plan-path", |run| if_there(&run.files.plan)),
    ("plan-digest", |run| plan_digest(run.report).unwrap_or_default().to_owned()),
    ("patch-path", |run| if_there(&run.files.patch)),
    ("junit-path", |run| if_there(&run.files.junit)),
    // Code scanning takes what the file does not name for mended, so a file that does not name everything is not announced.
    ("sarif-path", |run| if run.has_all_findings { if_there(&run.files.sarif) } else { String::new() }),
    ("report-path", |run| if_there(&run.files.report)),
    // The comment is always there; the configuration may have put other files elsewhere.
    ("out-path", |run| run.files.comment.parent().map(if_there).unwrap_or_default()),
    ("comment-url", |run| run.comment_url.unwrap_or_default().to_owned()),
    ("branch", |run| run.delivered(|delivery| Some(delivery.branch.clone()))),
    ("commit", |run| run.delivered(|delivery| delivery.commit.clone().or(delivery.existing.clone()))),
    ("pull-request-url", |run| run.delivered(|delivery| Some(delivery.pull_request.as_ref()?.url.clone()))),
    ("cost-usd", |run| run.report.cost_usd.map(|cost| format!("{cost:.6}")).unwrap_or_default()),
    ("tokens", |run| (run.report.usage.input + run.report.usage.output).to_string()),
    ("summary", |run| visible(&run.report.message)),
    ("structured-output", |run| {
        run.report.structured_output.as_ref().map(ToString::to_string).unwrap_or_default()
    }),
];

impl RunOutputs<'_> {
    /// Returns all outputs with their values.
    pub(super) fn fields(&self) -> Vec<(&'static str, String)> {
        OUTPUTS.iter().map(|(name, value)| (*name, value(self))).collect()
    }

    fn delivered(&self, value: impl FnOnce(&DeliveryReport) -> Option<String>) -> String {
        self.report.delivery.as_ref().and_then(value).unwrap_or_default()
    }
}

/// Returns the outputs of a step that ended before there was a run: all of them, most of them empty.
pub(crate) fn outputs_without_run(status: &str, exit: Exit) -> Vec<(&'static str, String)> {
    let value = |name| match name {
        "status" => status.to_owned(),
        "exit-code" => exit.code().to_string(),
        _ => String::new(),
    };
    OUTPUTS.iter().map(|(name, _)| (*name, value(*name))).collect()
}

/// Returns the path of a file that exists, else an empty text.
fn if_there(path: &Path) -> String {
    if path.exists() { path.display().to_string() } else { String::new() }
}

/// Returns a file name for a list with one on each line, which programs read and people see. A name with a character that
/// breaks lines, or that nobody sees, is a string of JSON with that character escaped, and so is one that looks like one.
fn on_one_line(name: &str) -> Cow<'_, str> {
    let is_unclear = |c: char| c.is_control() || is_invisible(c);
    if !name.starts_with('"') && !name.chars().any(is_unclear) {
        return Cow::Borrowed(name);
    }
    let mut quoted = String::new();
    for c in serde_json::Value::from(name).to_string().chars() {
        if is_unclear(c) {
            let units =
                c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
            quoted += &units;
        } else {
            quoted.push(c);
        }
    }
    Cow::Owned(quoted)
}

/// Returns the digest of the plan that lies next to the report: of a dry run, of changes that are held, or of the plan that was
/// applied in place of another one.
fn plan_digest(report: &RunReport) -> Option<&str> {
    let planned = report.plan.as_ref().map(|plan| &plan.digest);
    let held = || report.held.as_ref().map(|held| &held.digest);
    let carried = || report.carried_over.as_ref().map(|carried| &carried.digest);
    planned.or_else(held).or_else(carried).map(String::as_str)
}
