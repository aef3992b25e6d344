//! The findings of a run as SARIF 2.1.0, for code scanning: GitHub and others show them at their lines, and recognise them
//! from one push to the next by their fingerprints.

use std::collections::BTreeMap;

use percent_encoding::utf8_percent_encode;
use sanitize::untrusted::visible;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::file_list::IN_LINK;
use super::{Diagnostic, RunReport};
use crate::event::{Finding, Severity, TestFinding};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Name of our fingerprints, with the version of how they are made.
const FINGERPRINT: &str = "architectCi/v1";

/// A result before it is written.
struct Found {
    rule: String,
    level: &'static str,
    /// The path, relative to the repository.
    path: String,
    line: usize,
    message: String,
    fingerprint: String,
}

/// Renders the findings of the code review, the judgement of tests, and the lines that failed gates name. `prefix` is the
/// path from the repository's root to the workspace.
pub fn sarif(report: &RunReport, prefix: &str, of_gates: &[Diagnostic]) -> String {
    let mut found: Vec<Found> = Vec::new();
    // What is not among the results is taken for mended.
    let review = report
        .review
        .iter()
        .flat_map(|review| review.findings.iter().chain(review.standing.iter().flatten()));
    found.extend(review.filter_map(|finding| of_review(finding, prefix)));
    found.extend(report.test_findings.iter().map(|finding| of_tests(finding, prefix)));
    found.extend(of_gates.iter().map(of_gate));
    log(&found)
}

/// Renders places where something came back that a campaign had changed: paths from the repository's root, with a line each.
pub fn drift_sarif(campaign: &str, places: &[(String, usize)]) -> String {
    let found = |(path, line): &(String, usize)| Found {
        rule: format!("campaign/{campaign}"),
        level: "warning",
        path: path.clone(),
        line: *line,
        message: format!("the campaign {campaign} would change this again"),
        fingerprint: fingerprint(campaign, path, ""),
    };
    log(&places.iter().map(found).collect::<Vec<_>>())
}

fn log(found: &[Found]) -> String {
    let mut rules: Vec<&str> = found.iter().map(|found| found.rule.as_str()).collect();
    rules.sort_unstable();
    rules.dedup();
    let rules: Vec<Value> = rules.into_iter().map(|rule| json!({"id": rule, "name": rule})).collect();
    // Two findings at places with one text are told apart by their order.
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let results: Vec<Value> = found
        .iter()
        .map(|found| {
            let count = seen.entry(found.fingerprint.clone()).or_default();
            *count += 1;
            let uri = utf8_percent_encode(&found.path, &IN_LINK).to_string();
            json!({
                "ruleId": found.rule,
                "level": found.level,
                "message": {"text": found.message},
                "locations": [{"physicalLocation": {
                    "artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": found.line.max(1)},
                }}],
                "partialFingerprints": {FINGERPRINT: format!("{}:{count}", found.fingerprint)},
            })
        })
        .collect();
    let driver = json!({
        "name": env!("CARGO_PKG_NAME"),
        "version": env!("CARGO_PKG_VERSION"),
        "informationUri": env!("CARGO_PKG_REPOSITORY"),
        "rules": rules,
    });
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    });
    format!("{log:#}\n")
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

/// A finding about no file has no place in code scanning.
fn of_review(finding: &Finding, prefix: &str) -> Option<Found> {
    let path = format!("{prefix}{}", finding.file.as_ref()?);
    Some(Found {
        rule: "review".to_owned(),
        level: level(finding.severity),
        line: usize::try_from(finding.line).unwrap_or(usize::MAX),
        message: visible(&finding.message),
        fingerprint: fingerprint("review", &path, &finding.place),
        path,
    })
}

fn of_tests(finding: &TestFinding, prefix: &str) -> Found {
    let path = format!("{prefix}{}", finding.path);
    Found {
        rule: visible(&finding.kind),
        level: level(finding.severity),
        line: finding.line,
        message: visible(&finding.message),
        fingerprint: fingerprint(&finding.kind, &path, &finding.message),
        path,
    }
}

fn of_gate(remark: &Diagnostic) -> Found {
    Found {
        rule: "gate".to_owned(),
        level: if remark.error { "error" } else { "warning" },
        line: usize::try_from(remark.line).unwrap_or(usize::MAX),
        message: format!("{}: {}", remark.title, remark.message),
        fingerprint: fingerprint(&remark.title, &remark.path, &remark.message),
        path: remark.path.clone(),
    }
}

/// Returns what stays the same when lines move: the rule, the path, and the text without its spaces and numbers.
fn fingerprint(rule: &str, path: &str, text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_whitespace() && !c.is_ascii_digit()).collect();
    let mut hash = Sha256::new();
    for part in [rule, path, &text] {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hex::encode(hash.finalize())[..32].to_owned()
}
