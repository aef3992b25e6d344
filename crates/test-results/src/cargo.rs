//! Lines of Rust's test harness, of cargo around it, and of nextest.

use std::collections::{BTreeMap, BTreeSet};

use super::tally::{Tally, count};
use super::{Outcome, Results, Unbuilt, duration_ms, path_parts};

/// What follows the name of an item whose example is a test.
const EXAMPLE: &str = "(doc test)";

/// What has been read so far.
#[derive(Default)]
struct Reader {
    results: Results,
    /// Crate and file whose tests follow.
    target: Vec<String>,
    harness: Tally,
    nextest: Tally,
    /// How many examples each item of this target has.
    examples: BTreeMap<Vec<String>, usize>,
    /// Names of tests that failed.
    failed: BTreeSet<Vec<String>>,
    /// Whether names of failed tests follow.
    is_listing: bool,
}

pub(super) fn read(output: &str) -> Results {
    let mut reader = Reader::default();
    let mut error = None;
    for line in output.lines() {
        let text = line.trim();
        if let Some(rest) = text.strip_prefix("Running ") {
            reader.enter(running(rest).unwrap_or_default());
        } else if let Some(name) = text.strip_prefix("Doc-tests ") {
            reader.enter(vec![name.to_owned()]);
        } else if let Some(rest) = line.strip_prefix("test result: ") {
            reader.close(rest);
        } else if let Some(rest) = line.strip_prefix("test ") {
            reader.test(rest);
        } else if is_error(line) {
            error.get_or_insert(line);
        } else if let Some((word, rest)) = text.split_once(" [") {
            reader.nextest(word, rest);
        }
        reader.listed(line);
        if let Some(rest) = line.strip_prefix("error: could not compile `") {
            let message = error.take().unwrap_or(line).to_owned();
            reader.results.unbuilt.push(Unbuilt { name: unbuilt(rest), message, stops_all: true });
        }
    }
    reader.enter(Vec::new());
    reader.nextest.abandon(&mut reader.results);
    reader.results
}

fn is_error(line: &str) -> bool {
    line.starts_with("error[E")
        || (line.starts_with("error: ") && !line.starts_with("error: could not compile"))
}

/// Reads ``shop` (test "it") due to 1 previous error``.
fn unbuilt(text: &str) -> Vec<String> {
    let (name, rest) = text.split_once('`').unwrap_or((text, ""));
    let target = rest.split_once(" due to ").map_or(rest, |(target, _)| target).split('"').nth(1);
    [Some(name), target].into_iter().flatten().map(str::to_owned).collect()
}

/// Reads `unittests src/lib.rs (target/debug/deps/shop-0123456789abcdef)`.
fn running(text: &str) -> Option<Vec<String>> {
    let (file, program) = text.strip_prefix("unittests ").unwrap_or(text).split_once(" (")?;
    let program = program.trim_end_matches(')').rsplit(['/', '\\']).next()?;
    let name = program.rsplit_once('-').map_or(program, |(name, _)| name);
    let mut parts = path_parts(file);
    if parts.last().is_some_and(|last| matches!(last.as_str(), "lib" | "main" | "mod")) {
        parts.pop();
    }
    // The crate's name distinguishes folders of a workspace.
    if file.starts_with("src") {
        parts.insert(0, name.to_owned());
    }
    Some(parts)
}

impl Reader {
    /// Begins with the tests of another target.
    fn enter(&mut self, target: Vec<String>) {
        self.harness.abandon(&mut self.results);
        self.target = target;
        self.examples.clear();
        self.is_listing = false;
    }

    /// Reads `FAILED. 1 passed; 1 failed; 0 ignored; …`.
    fn close(&mut self, text: &str) {
        let (_, list) = text.split_once(". ").unwrap_or(("", text));
        let counts = ["passed", "failed", "ignored"].map(|word| (word, count(list, word)));
        self.harness.close("the test harness", &counts, &mut self.results);
        self.is_listing = false;
    }

    fn test(&mut self, text: &str) {
        let Some((name, verdict)) = text.split_once(" ... ") else { return };
        let name = name.strip_suffix(" - should panic").unwrap_or(name).trim();
        if name.is_empty() {
            return;
        }
        let verdict = verdict.trim();
        let (outcome, what) = match verdict.split([' ', ',']).next().unwrap_or(verdict) {
            "ok" => (Outcome::Passed, "passed"),
            "FAILED" => (Outcome::Failed, "failed"),
            "ignored" => (Outcome::Skipped, "ignored"),
            _ => return,
        };
        self.harness.note(what, name.to_owned());
        let parts = self.parts(name);
        let example = parts.last().is_some_and(|last| last.ends_with(EXAMPLE)).then(|| parts.clone());
        if outcome == Outcome::Failed {
            self.failed.insert(parts.clone());
        }
        self.results.add(parts, outcome, verdict.strip_prefix("ignored, "));
        if let Some(parts) = example {
            // Lines move, so examples of one item are counted.
            let number = self.examples.entry(parts).or_default();
            *number += 1;
            let case = (*number > 1).then(|| number.to_string());
            self.results.complete(case.as_deref(), None);
        }
    }

    /// Returns the whole name of a test of this target. Examples are called `src/lib.rs - total (line 3)`.
    fn parts(&self, name: &str) -> Vec<String> {
        let example = name
            .split_once(" (line ")
            .and_then(|(place, _)| place.split_once(" - ").or_else(|| Some((place.strip_suffix(" -")?, ""))));
        let own: Vec<String> = match example {
            Some((file, item)) => {
                let example = format!("{item} {EXAMPLE}");
                path_parts(file).into_iter().chain([example.trim().to_owned()]).collect()
            }
            None if name.contains(' ') => vec![name.to_owned()],
            None => name.split("::").map(str::to_owned).collect(),
        };
        self.target.iter().cloned().chain(own).collect()
    }

    /// Reads the list of failed tests, which is there also where what tests print is between name and verdict.
    fn listed(&mut self, line: &str) {
        if line == "failures:" {
            self.is_listing = true;
            return;
        }
        let name = line.strip_prefix("    ").filter(|name| self.is_listing && !name.starts_with(' '));
        let Some(name) = name.filter(|name| !name.contains(' ') || name.contains(" (line ")) else {
            self.is_listing &= line.is_empty();
            return;
        };
        self.harness.note("failed", name.to_owned());
        let parts = self.parts(name);
        if self.failed.insert(parts.clone()) {
            self.results.add(parts, Outcome::Failed, None);
        }
    }

    /// Reads `PASS [   0.005s] shop tests::adds`.
    fn nextest(&mut self, word: &str, rest: &str) {
        let Some((time, name)) = rest.split_once("] ") else { return };
        if word == "Summary" {
            let (_, list) = name.split_once(": ").unwrap_or(("", name));
            let list = list.replace(" (", ", ");
            let counts = [("passed", count(&list, "passed"))];
            self.nextest.close("nextest", &counts, &mut self.results);
            return;
        }
        let (outcome, what) = match word {
            "PASS" => (Outcome::Passed, "passed"),
            "FAIL" | "TIMEOUT" | "SIGABRT" | "SIGSEGV" => (Outcome::Failed, "failed"),
            "SKIP" => (Outcome::Skipped, "skipped"),
            _ => return,
        };
        let words: Vec<&str> =
            name.split_whitespace().filter(|word| !word.starts_with('(') && !word.ends_with(')')).collect();
        let Some((test, above)) = words.split_last() else { return };
        self.nextest.note(what, words.join(" "));
        let above = above.iter().flat_map(|part| part.split("::"));
        let parts: Vec<String> = above.chain(test.split("::")).map(str::to_owned).collect();
        if outcome == Outcome::Failed {
            self.failed.insert(parts.clone());
        }
        self.results.add(parts, outcome, None);
        self.results.complete(None, duration_ms(time.trim().trim_end_matches('s'), 1000.0));
    }
}
