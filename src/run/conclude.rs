//! Determines from the contract how a run ends after its agent is done.

use std::sync::atomic::Ordering;

use sanitize::invisible::is_invisible;

use super::agent_run::AgentRun;
use super::integrity::demand_less;
use crate::agent::SessionOutcome;
use crate::config::TestIntegrity;
use crate::event::{GateVerdict, Outcome, StopReason, Work, answered};
use crate::mcp;
use crate::report::Collected;
use crate::request::ModelChoice;

impl AgentRun<'_> {
    /// Gives a run whose agent is done the reason that fits what was asked, what was done, and what was shown of it.
    pub(super) fn conclude(&self, ended: &mut SessionOutcome) {
        if ended.reason.yields() && self.run.refuses(&self.test_findings()) {
            ended.reason = StopReason::TestsWeakened;
        }
        if ended.reason != StopReason::LlmDone {
            return;
        }
        let is_empty = says_nothing(&ended.message);
        ended.reason = answered(self.run.request.expected, self.work_done(), is_empty);
        if ended.reason == StopReason::LlmDone {
            ended.reason = self.reservation().unwrap_or(StopReason::LlmDone);
        }
    }

    /// Tells of servers and models whose programs commands of this run have changed: they run as long as the run does, and
    /// load what they need when they need it.
    pub(super) fn report_doubts(&self) {
        let isolation = &self.run.isolation;
        for server in &self.request.servers {
            if let Some(line) =
                server.program().and_then(|(words, _)| shlex::try_join(words.iter().map(String::as_str)).ok())
            {
                isolation.report_doubts(&mcp::owner(server.name()), &line);
            }
        }
        if let ModelChoice::Exec { command, .. } = &self.request.model {
            isolation.report_doubts("model", command);
        }
    }

    /// Returns what the agent has done.
    fn work_done(&self) -> Work {
        // What cannot be collected is told by the report.
        let is_changed = self.run.engine.context.workspace.has_changes().unwrap_or_default()
            || self.run.tracked.as_ref().is_some_and(|tracked| !tracked.large().is_empty());
        self.run.collector.look(|Collected { calls, edits, .. }| match edits {
            _ if is_changed => Work::Changed,
            _ if !calls.is_empty() && calls.iter().all(|call| call.outcome == Outcome::Refused) => {
                Work::CallsRefused
            }
            (tried, 0) if *tried > 0 => Work::EditsFailed,
            _ => Work::Unchanged,
        })
    }

    /// Returns why a run that did what was asked has not shown it in every respect, the gravest reason first.
    fn reservation(&self) -> Option<StopReason> {
        if self.is_unchecked.load(Ordering::Relaxed) {
            return Some(StopReason::NotChecked);
        }
        if demand_less(&self.test_findings()) {
            return Some(StopReason::TestsDemandLess);
        }
        let shown = self.shown.lock();
        if shown.as_ref().is_some_and(|shown| !shown.is_complete()) {
            return Some(StopReason::TestsUnproven);
        }
        drop(shown);
        let gates = self.run.collector.look(|collected| collected.gates.clone());
        let is = |verdict| gates.iter().any(|gate| gate.required && gate.verdict == verdict);
        if is(GateVerdict::FailedBefore) {
            return Some(StopReason::FailedBefore);
        }
        let counts_tests = self.run.request.config().tests.integrity != TestIntegrity::Off;
        if counts_tests && gates.iter().any(|gate| gate.lost_tests().is_some()) {
            return Some(StopReason::TestsLost);
        }
        if is(GateVerdict::Flaky) {
            return Some(StopReason::GatesFlaky);
        }
        self.skips_gates().then_some(StopReason::GatesSkipped)
    }
}

/// Returns whether people would see nothing of a message: blanks, invisible characters, comments of HTML, an empty block of code.
fn says_nothing(message: &str) -> bool {
    let mut rest = message;
    let mut is_blank = true;
    let mut is_code = false;
    while let Some((before, comment)) = rest.split_once("<!--") {
        is_blank &= is_blank_text(before);
        // Each run of backticks begins or ends code, in which a comment is shown.
        let runs =
            before.split('`').zip(before.split('`').skip(1)).filter(|(one, _)| !one.is_empty()).count();
        is_code ^= (runs + usize::from(before.starts_with('`'))) % 2 == 1;
        is_blank &= !is_code;
        // Without an end, all of it is a comment.
        rest = comment.split_once("-->").map_or("", |(_, after)| after);
    }
    is_blank && is_blank_text(rest)
}

fn is_blank_text(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c == '`' || is_invisible(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_says_nothing() {
        for (message, expected) in [
            ("", true),
            (" \n\t", true),
            ("\u{200b}", true),
            ("<!-- done -->", true),
            ("<!-- a --> \n<!-- b", true),
            ("```\n```", true),
            ("<!-- a -->x", false),
            ("x <!-- a -->", false),
            ("`x`", false),
            ("`<!--`", false),
            ("```\n<!-- a -->\n```", false),
            ("```\n```\n<!-- a -->", true),
            ("✅", false),
        ] {
            assert_eq!(says_nothing(message), expected, "{message:?}");
        }
    }
}
