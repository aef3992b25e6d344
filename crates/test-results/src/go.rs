//! Lines of `go test -v` and of `go test -json`.

use serde_json::Value;

use super::{Outcome, Results, Unbuilt, duration_ms};

pub(super) fn read(output: &str) -> Results {
    let mut results = Results::default();
    let mut error = None;
    for line in output.lines() {
        if line.starts_with('{')
            && let Ok(value) = serde_json::from_str::<Value>(line)
        {
            event(&value, &mut error, &mut results);
            continue;
        }
        plain(line, &[], &mut error, &mut results);
    }
    results
}

/// Reads a line of `-json`.
fn event(value: &Value, error: &mut Option<String>, results: &mut Results) {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let package: Vec<String> = text("Package")
        .or_else(|| text("ImportPath"))
        .unwrap_or_default()
        .split('/')
        .map(str::to_owned)
        .collect();
    match (text("Action"), text("Test")) {
        (Some(action @ ("pass" | "fail" | "skip")), Some(test)) => {
            let outcome = match action {
                "pass" => Outcome::Passed,
                "fail" => Outcome::Failed,
                _ => Outcome::Skipped,
            };
            let (name, case) = split_case(test);
            results.add([package, vec![name.to_owned()]].concat(), outcome, None);
            let seconds = value.get("Elapsed").map(Value::to_string).unwrap_or_default();
            results.complete(case, duration_ms(&seconds, 1000.0));
        }
        (Some("build-output" | "output"), None) => {
            let line = text("Output").unwrap_or_default().trim_end();
            // Tests were told by their own events.
            if !line.trim_start().starts_with("--- ") {
                plain(line, &package, error, results);
            }
        }
        _ => {}
    }
}

fn plain(line: &str, package: &[String], error: &mut Option<String>, results: &mut Results) {
    for (sign, outcome) in
        [("--- PASS: ", Outcome::Passed), ("--- FAIL: ", Outcome::Failed), ("--- SKIP: ", Outcome::Skipped)]
    {
        if let Some(rest) = line.trim_start().strip_prefix(sign) {
            let (test, time) = rest.split_once(" (").unwrap_or((rest, ""));
            let (name, case) = split_case(test.trim());
            // What is indented is a case, or what a test prints.
            if line.starts_with(sign) || case.is_some() {
                results.add([package, &[name.to_owned()]].concat(), outcome, None);
                results.complete(case, duration_ms(time.trim_end_matches("s)"), 1000.0));
            }
            return;
        }
    }
    if line.contains(".go:") && line.split(':').nth(1).is_some_and(|number| number.parse::<u32>().is_ok()) {
        error.get_or_insert_with(|| line.trim().to_owned());
    }
    let failed = line.strip_prefix("FAIL").map(str::trim);
    if let Some(rest) = failed
        && let Some((name, reason)) = rest.split_once(" [")
        && reason.ends_with("failed]")
    {
        let message = error.take().unwrap_or_else(|| line.trim().to_owned());
        results.unbuilt.push(Unbuilt { name: name.split('/').map(str::to_owned).collect(), message });
    }
}

/// Splits `TestAdds/negative` into the test and its case.
fn split_case(test: &str) -> (&str, Option<&str>) {
    test.split_once('/').map_or((test, None), |(name, case)| (name, Some(case)))
}
