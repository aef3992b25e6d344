//! Lines of Rust's test harness, of cargo around it, and of nextest.

use super::{Outcome, Results, Unbuilt, duration_ms, path_parts};

pub(super) fn read(output: &str) -> Results {
    let mut results = Results::default();
    // Crate and file whose tests follow.
    let mut target: Vec<String> = Vec::new();
    let mut error = None;
    for line in output.lines() {
        let text = line.trim();
        if let Some(rest) = text.strip_prefix("Running ") {
            target = running(rest).unwrap_or_default();
        } else if text.starts_with("Doc-tests ") {
            target.clear();
        } else if let Some(rest) = line.strip_prefix("test ") {
            harness(rest, &target, &mut results);
        } else if is_error(line) {
            error.get_or_insert(line);
        } else if let Some((word, rest)) = text.split_once(" [") {
            nextest(word, rest, &mut results);
        }
        if line.starts_with("error: could not compile ") {
            let message = error.unwrap_or(line).to_owned();
            results.unbuilt.push(Unbuilt { name: Vec::new(), message });
        }
    }
    results
}

fn is_error(line: &str) -> bool {
    line.starts_with("error[E")
        || (line.starts_with("error: ") && !line.starts_with("error: could not compile"))
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
    // The crate's name tells folders of a workspace apart.
    if file.starts_with("src") {
        parts.insert(0, name.to_owned());
    }
    Some(parts)
}

fn harness(text: &str, target: &[String], results: &mut Results) {
    let Some((name, verdict)) = text.split_once(" ... ") else { return };
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    // Examples of the documentation are called `src/lib.rs - total (line 3)`.
    if name.contains(' ') || name.is_empty() {
        return;
    }
    let verdict = verdict.trim();
    let outcome = match verdict.split([' ', ',']).next().unwrap_or(verdict) {
        "ok" => Outcome::Passed,
        "FAILED" => Outcome::Failed,
        "ignored" => Outcome::Skipped,
        _ => return,
    };
    let parts = target.iter().cloned().chain(name.split("::").map(str::to_owned)).collect();
    let reason = verdict.strip_prefix("ignored, ");
    results.add(parts, outcome, reason);
}

/// Reads `PASS [   0.005s] shop tests::adds`.
fn nextest(word: &str, rest: &str, results: &mut Results) {
    let outcome = match word {
        "PASS" => Outcome::Passed,
        "FAIL" | "TIMEOUT" | "SIGABRT" | "SIGSEGV" => Outcome::Failed,
        "SKIP" => Outcome::Skipped,
        _ => return,
    };
    let Some((time, name)) = rest.split_once("] ") else { return };
    let words: Vec<&str> = name.split_whitespace().collect();
    let Some((test, above)) = words.split_last() else { return };
    let above = above.iter().flat_map(|part| part.split("::"));
    results.add(above.chain(test.split("::")).map(str::to_owned).collect(), outcome, None);
    results.complete(None, duration_ms(time.trim().trim_end_matches('s'), 1000.0));
}
