//! Lines of `go test -v` and of `go test -json`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Outcome, Results, Unbuilt, duration_ms};

/// What has been read so far.
#[derive(Default)]
struct Reader {
    results: Results,
    /// Where the tests begin whose package has not been named yet: its line follows them.
    from: usize,
    /// Names of packages that could not be built, or failed without a test.
    unbuilt: BTreeSet<Vec<String>>,
    error: Option<String>,
}

pub(super) fn read(output: &str) -> Results {
    let mut reader = Reader::default();
    for line in output.lines() {
        if line.starts_with('{')
            && let Ok(value) = serde_json::from_str::<Value>(line)
        {
            reader.event(&value);
            continue;
        }
        reader.plain(line);
    }
    reader.results
}

impl Reader {
    /// Reads a line of `-json`.
    fn event(&mut self, value: &Value) {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let package = text("Package").or_else(|| text("ImportPath")).unwrap_or_default();
        match (text("Action"), text("Test")) {
            (Some(action @ ("pass" | "fail" | "skip")), Some(test)) => {
                let outcome = match action {
                    "pass" => Outcome::Passed,
                    "fail" => Outcome::Failed,
                    _ => Outcome::Skipped,
                };
                let (name, case) = split_case(test);
                self.results.add([parts(package), vec![name.to_owned()]].concat(), outcome, None);
                let seconds = value.get("Elapsed").map(Value::to_string).unwrap_or_default();
                self.results.complete(case, duration_ms(&seconds, 1000.0));
                self.from = self.results.tests.len();
            }
            (Some(action @ ("pass" | "fail")), None) if !package.is_empty() => {
                let name = parts(package);
                let of_package = |test: &&super::TestResult| {
                    test.name.split_last().is_some_and(|(_, above)| above == name)
                };
                let tests: Vec<_> =
                    self.results.tests.iter().filter(of_package).map(|test| test.outcome).collect();
                self.package(package, action == "fail", &tests);
            }
            (Some("build-output" | "output"), None) => {
                let line = text("Output").unwrap_or_default().trim_end();
                if line.ends_with("failed]") {
                    self.unbuilt(line);
                } else {
                    self.note_error(line);
                }
            }
            _ => {}
        }
    }

    fn plain(&mut self, line: &str) {
        for (sign, outcome) in [
            ("--- PASS: ", Outcome::Passed),
            ("--- FAIL: ", Outcome::Failed),
            ("--- SKIP: ", Outcome::Skipped),
        ] {
            if let Some(rest) = line.trim_start().strip_prefix(sign) {
                let (test, time) = rest.split_once(" (").unwrap_or((rest, ""));
                let (name, case) = split_case(test.trim());
                // What is indented is a case, or what a test prints.
                if line.starts_with(sign) || case.is_some() {
                    self.results.add(vec![name.to_owned()], outcome, None);
                    self.results.complete(case, duration_ms(time.trim_end_matches("s)"), 1000.0));
                }
                return;
            }
        }
        self.note_error(line);
        if self.unbuilt(line) {
            return;
        }
        // `ok example.com/shop 0.003s` follows the tests of a package.
        let mut columns = line.split('\t');
        let (Some(word), Some(package)) = (columns.next(), columns.next()) else { return };
        let has_failed = match word.trim_end() {
            "ok" => false,
            "FAIL" => true,
            _ => return,
        };
        let package = package.trim();
        let from = self.from.min(self.results.tests.len());
        let mut outcomes = Vec::new();
        for test in &mut self.results.tests[from..] {
            test.name.splice(0..0, parts(package));
            outcomes.push(test.outcome);
        }
        self.from = self.results.tests.len();
        self.package(package, has_failed, &outcomes);
    }

    /// Holds what is said of a package against what is said of its tests.
    fn package(&mut self, package: &str, has_failed: bool, tests: &[Outcome]) {
        let names_failure = tests.contains(&Outcome::Failed);
        let name = parts(package);
        if has_failed && !names_failure && !self.unbuilt.contains(&name) {
            self.unbuilt.insert(name.clone());
            let message = "it failed, and none of its tests did".to_owned();
            self.results.unbuilt.push(Unbuilt { name, message, stops_all: false });
        } else if !has_failed && names_failure {
            self.results
                .doubts
                .push(format!("go says that {package} is ok, and its lines name a failed test"));
        }
    }

    fn note_error(&mut self, line: &str) {
        if line.contains(".go:") && line.split(':').nth(1).is_some_and(|number| number.parse::<u32>().is_ok())
        {
            self.error.get_or_insert_with(|| line.trim().to_owned());
        }
    }

    /// Reads `FAIL example.com/shop [build failed]`.
    fn unbuilt(&mut self, line: &str) -> bool {
        let failed = line.strip_prefix("FAIL").map(str::trim);
        let Some((name, reason)) = failed.and_then(|rest| rest.split_once(" [")) else { return false };
        if !reason.ends_with("failed]") {
            return false;
        }
        let message = self.error.take().unwrap_or_else(|| line.trim().to_owned());
        self.unbuilt.insert(parts(name));
        self.results.unbuilt.push(Unbuilt { name: parts(name), message, stops_all: false });
        true
    }
}

fn parts(package: &str) -> Vec<String> {
    package.split('/').map(str::to_owned).collect()
}

/// Splits `TestAdds/negative` into the test and its case.
fn split_case(test: &str) -> (&str, Option<&str>) {
    test.split_once('/').map_or((test, None), |(name, case)| (name, Some(case)))
}
