//! Parts of JUnit reports that are safe to write.
//!
//! The library writes characters that XML forbids, and leaves `]]>` inside CDATA as it is, so all text is cleaned first.

use junit_report::{Duration, Report, TestCase, TestSuite};
use sanitize::untrusted::visible;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::base::clock::now_utc;

/// Error of the XML library.
#[derive(Debug, thiserror::Error)]
#[error("could not write the JUnit report: {0}")]
pub struct JunitError(String);

/// Serializes a JUnit report as XML.
pub(super) fn write(report: &Report) -> Result<String, JunitError> {
    let mut xml = Vec::new();
    report.write_xml(&mut xml).map_err(|error| JunitError(format!("{error:?}")))?;
    String::from_utf8(xml).map_err(|error| JunitError(error.to_string()))
}

/// Parses a timestamp of a report (RFC 3339).
pub(super) fn moment(text: &str) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(text, &Rfc3339).ok()
}

/// Makes a test suite of what began at a time, or begins now. The library's own constructor panics after the year 9999.
pub(super) fn suite_since(name: &str, testcases: Vec<TestCase>, began: Option<OffsetDateTime>) -> TestSuite {
    TestSuite {
        name: name.to_owned(),
        package: format!("testsuite/{name}"),
        timestamp: began.unwrap_or_else(now_utc),
        hostname: "localhost".to_owned(),
        testcases,
        system_out: None,
        system_err: None,
    }
}

/// Shows what nobody would see or what controls a terminal, replaces characters that XML forbids, and breaks up `]]>`.
pub(super) fn clean(text: &str) -> String {
    let allowed =
        |c: char| matches!(c, '\t' | '\n' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    let text: String = visible(text).chars().map(|c| if allowed(c) { c } else { '\u{fffd}' }).collect();
    text.replace("]]>", "]] >")
}

/// Returns a time as the library has it.
pub(super) fn milliseconds(count: u64) -> Duration {
    Duration::milliseconds(i64::try_from(count).unwrap_or(i64::MAX))
}
