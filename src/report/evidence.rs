//! Evidence: whether what the final message claims is so, as far as that can be read for sure.
//!
//! Only plain claims are read: a file that was changed, a command that passed, a test that was added. What is said in any
//! other way is neither confirmed nor marked.

use sanitize::untrusted::code;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workspace::Operation;

use super::claims::{ALL_TESTS, NAMED, OF_FILES, OF_PASSING, ends, is_open};
use super::size_budget::Section;
use super::{CallSummary, FileSummary, RunReport};
use crate::event::GateRecord;

/// Largest number of claims that are read.
const MAX_CLAIMS: usize = 50;

/// What a claim is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClaimSubject {
    /// A file that was added, changed or deleted.
    File,
    /// A command that was run, or that passed.
    Command,
    /// A test that was added.
    Test,
}

/// A claim of the final message that can be checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// What it is about.
    pub subject: ClaimSubject,
    /// The claim, as it was understood: `changed src/shop.py`.
    pub claim: String,
    /// Whether it is true.
    pub holds: bool,
    /// What is true instead, or what shows that it is.
    pub evidence: String,
}

/// What a run has done.
pub struct Deeds<'a> {
    /// The files that changed, or would change.
    pub files: &'a [FileSummary],
    /// All tool calls.
    pub calls: &'a [CallSummary],
    /// The last run of the gates.
    pub gates: &'a [GateRecord],
    /// Returns the names of the tests that the change adds or changes.
    pub tests: &'a dyn Fn() -> &'a [String],
}

/// Returns the claims of a message that can be checked, each with whether it is so.
pub fn evidence(message: &str, deeds: &Deeds<'_>) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::new();
    let mut in_code = false;
    for line in message.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            continue;
        }
        if in_code || line.starts_with('>') {
            continue;
        }
        for sentence in line.trim_start_matches([' ', '-', '*', '•']).split(". ") {
            read(sentence.trim(), deeds, &mut claims);
        }
    }
    claims.truncate(MAX_CLAIMS);
    claims
}

fn read(sentence: &str, deeds: &Deeds<'_>, claims: &mut Vec<Claim>) {
    let lower = sentence.to_ascii_lowercase();
    if is_open(&lower) {
        return;
    }
    let names_something = sentence.contains('`');
    if names_something {
        let [of_files, file, command, _] = &*NAMED;
        // Lower case keeps every byte where it is.
        if let Some(found) = of_files.captures(&lower)
            && let Some(list) = found.get(2)
            && (list.as_str().ends_with(' ') || ends(&lower[list.end()..], OF_FILES))
        {
            for path in file.captures_iter(&sentence[list.range()]) {
                add(claims, deeds.file(&found[1], &path[1]));
            }
        }
        for found in command.captures_iter(sentence) {
            let behind = found.get(0).map_or("", |whole| &sentence[whole.end()..]);
            if !ends(behind, OF_PASSING) {
                continue;
            }
            claims.extend(deeds.command(&found[1]).filter(|claim| !claims.contains(claim)));
        }
    }
    let all = if lower.contains("test") { ALL_TESTS.find(&lower) } else { None };
    if all.is_some_and(|found| ends(&lower[found.end()..], OF_PASSING)) {
        claims.extend(deeds.all_tests().filter(|claim| !claims.contains(claim)));
    }
    if names_something
        && let [.., test] = &*NAMED
        && let Some(found) = test.captures(&lower)
        && let Some(name) = found.get(1)
    {
        add(claims, deeds.test(&sentence[name.range()]));
    }
}

fn add(claims: &mut Vec<Claim>, claim: Claim) {
    if !claims.contains(&claim) {
        claims.push(claim);
    }
}

impl Deeds<'_> {
    fn file(&self, verb: &str, path: &str) -> Claim {
        let named = path.trim_start_matches("./");
        let of_path = |file: &&FileSummary| {
            let own = file.path.as_str();
            own == named || own.strip_suffix(named).is_some_and(|above| above.ends_with('/'))
        };
        let found = self.files.iter().find(of_path);
        let is_gone = matches!(verb, "deleted" | "removed");
        let (holds, evidence) = match found {
            Some(file)
                if (file.op == Operation::Delete) == is_gone
                    && (verb != "created" || file.op == Operation::Add) =>
            {
                (true, format!("{} ({})", file.path, file.lines))
            }
            Some(file) => {
                let so = match file.op {
                    Operation::Add => "added",
                    Operation::Modify => "changed",
                    Operation::Delete => "deleted",
                };
                (false, format!("{} was {so}", file.path))
            }
            None => (false, "the change does not touch it".to_owned()),
        };
        Claim { subject: ClaimSubject::File, claim: format!("{verb} {path}"), holds, evidence }
    }

    fn test(&self, name: &str) -> Claim {
        let found = (self.tests)().iter().find(|test| test.rsplit(" > ").next() == Some(name));
        let (holds, evidence) = match found {
            Some(test) => (true, format!("{test} is new or changed")),
            None => (false, "the change adds no test of this name".to_owned()),
        };
        Claim { subject: ClaimSubject::Test, claim: format!("added the test {name}"), holds, evidence }
    }
}

/// Renders the claims that are not so, and how many are.
pub(super) fn section(report: &RunReport) -> Section {
    if report.evidence.is_empty() {
        return Section::fixed(String::new());
    }
    let holding = report.evidence.iter().filter(|claim| claim.holds).count();
    let mut text = format!("**Evidence:** {}\n", summary(holding, report.evidence.len()));
    for claim in report.evidence.iter().filter(|claim| !claim.holds) {
        text += &format!("- ❌ {}: {}\n", code(&claim.claim), code(&claim.evidence));
    }
    Section::fixed(text + "\n")
}

/// Returns the count of claims in a sentence without a full stop.
pub(super) fn summary(holding: usize, all: usize) -> String {
    match all {
        1 => format!("{holding} of 1 claim that can be checked is true"),
        _ => format!("{holding} of {all} claims that can be checked are true"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::command_claims::tests::{call, lines};
    use super::*;
    use workspace::{LineCounts, WorkspacePath};

    fn told(message: &str) -> Vec<String> {
        let file = |path: &str, op| FileSummary {
            path: WorkspacePath::parse(path).expect("a path"),
            op,
            lines: LineCounts { added: 1, removed: 0 },
            diff: String::new(),
        };
        let files = [
            file("src/shop.py", Operation::Modify),
            file("tests/test_shop.py", Operation::Add),
            file("old.py", Operation::Delete),
        ];
        let calls = [
            call("npm test", 1),
            call("cd app && make check", 0),
            call("npm run lint", 0),
            call("pytest -q | tail", 1),
        ];
        let tests = ["TestShop > test_total".to_owned()];
        let deeds = Deeds { files: &files, calls: &calls, gates: &[], tests: &|| &tests };
        lines(evidence(message, &deeds))
    }

    #[test]
    fn plain_claims_are_checked() {
        let message = "- Updated `src/shop.py` and `src/tax.py`.\n- Created `test_shop.py`. Deleted `old.py`.\n* I've also removed `src/shop.py`\n\
                       - Added the test `test_total`\n- Added a regression test `test_none`.\n`npm test` passes. `make check` passed, `npm run lint` \
                       now passes, `tox` passed.\n\nAll 12 tests now pass.";
        assert_eq!(
            told(message),
            [
                "+ updated src/shop.py: src/shop.py (+1 −0)",
                "- updated src/tax.py: the change does not touch it",
                "+ created test_shop.py: tests/test_shop.py (+1 −0)",
                "+ deleted old.py: old.py (+1 −0)",
                "- removed src/shop.py: src/shop.py was changed",
                "+ added the test test_total: TestShop > test_total is new or changed",
                "- added the test test_none: the change adds no test of this name",
                "- npm test passed: when it last ran, in step 3, it ended with exit code 1",
                "+ make check passed: it ended with exit code 0 in step 3",
                "+ npm run lint passed: it ended with exit code 0 in step 3",
                "- tox passed: it was not run",
                "- the tests pass: `pytest -q | tail` ended with exit code 1 in step 3",
            ]
        );
    }

    #[test]
    fn what_is_no_plain_claim_is_left_alone() {
        for message in [
            "I did not update `src/tax.py`.",
            "`npm test` should pass once `src/tax.py` is there.",
            "Updated `config.load` and the handling of `Tax.rate`.",
            "The function in `src/tax.py` was already right; see `README.md`.",
            "Removed the import of x from `src/tax.py`.",
            "`test_total` passes, and `f(x) y` passes.",
            "`pytest` passes, and so does `pytest -q`.",
            "```\nUpdated `src/tax.py`\n```",
            "> Updated `src/tax.py`",
            "Removed `src/tax.py`'s case for empty lists.",
            "Added `config.json` support to it.",
            "Deleted `src/tax.py` lines 3 to 5, which were dead.",
            "Please make sure that `tox` passes.",
            "Verify that `tox` passed there.",
            "`def total` passes the list on to `sum`.",
            "`tox` passes only with a network.",
            "The tests pass the list to `total`.",
            "All tests pass an empty list as well now.",
            "Before my change, `tox` passed as well.",
            "All tests pass except `test_other`.",
            "The tests pass in `tests/test_shop.py`.",
            "Added `İ` to `src/tax.py`; İ updated `src/tax.py`",
            "",
        ] {
            assert_eq!(told(message), [""; 0], "{message}");
        }
    }
}
