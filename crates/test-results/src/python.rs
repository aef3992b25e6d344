//! Lines of pytest (`-v` and `-rA`) and of unittest (`-v`).

use super::{Outcome, Results, Unbuilt, path_parts};

pub(super) fn read(output: &str) -> Results {
    let mut results = Results::default();
    let mut waiting: Option<Vec<String>> = None;
    for line in output.lines() {
        if let Some(name) = waiting.take() {
            match unittest_verdict(line) {
                Some((outcome, message)) => {
                    results.add(name, outcome, message);
                    continue;
                }
                // What a test prints stands between its name and its verdict.
                None if !is_boundary(line) => waiting = Some(name),
                None => {}
            }
        }
        pytest(line, &mut results);
        waiting = unittest(line, &mut results).or(waiting);
    }
    results
}

fn is_boundary(line: &str) -> bool {
    line.is_empty() || line.starts_with("=====") || line.starts_with("-----")
}

/// Id of a test, as pytest writes it.
struct Node<'a> {
    name: Vec<String>,
    case: Option<&'a str>,
    /// What stands behind it.
    behind: &'a str,
}

fn node(text: &str) -> Option<Node<'_>> {
    let at = text.find(".py")?;
    let (path, rest) = text.split_at(at + 3);
    if path.contains(' ') && !path.contains('/') {
        return None;
    }
    let mut parts = path_parts(path);
    let Some(mut rest) = rest.strip_prefix("::") else {
        let is_file = rest.is_empty() || rest.starts_with(' ');
        return is_file.then_some(Node { name: parts, case: None, behind: rest });
    };
    loop {
        let end = rest.find(|sign: char| !sign.is_alphanumeric() && sign != '_').unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        if name.is_empty() {
            return None;
        }
        parts.push(name.to_owned());
        let Some(next) = behind.strip_prefix("::") else {
            let (case, behind) = split_case(behind);
            return Some(Node { name: parts, case, behind });
        };
        rest = next;
    }
}

/// Splits off the case of a parametrized test: `[1-2] - error` gives `1-2` and ` - error`.
fn split_case(text: &str) -> (Option<&str>, &str) {
    let Some(inside) = text.strip_prefix('[') else { return (None, text) };
    let end = ["] - ", "] PASSED", "] FAILED", "] ERROR", "] SKIPPED", "] XFAIL", "] XPASS"]
        .iter()
        .filter_map(|end| inside.find(end))
        .min()
        .or_else(|| inside.rfind(']'));
    match end.and_then(|end| Some((inside.get(..end)?, inside.get(end + 1..)?))) {
        Some((case, behind)) => (Some(case), behind),
        None => (None, ""),
    }
}

fn pytest_outcome(word: &str) -> Option<Outcome> {
    Some(match word {
        "PASSED" | "XPASS" => Outcome::Passed,
        "FAILED" | "ERROR" => Outcome::Failed,
        "SKIPPED" | "XFAIL" => Outcome::Skipped,
        _ => return None,
    })
}

fn pytest(line: &str, results: &mut Results) {
    // xdist puts the worker and the progress first.
    let mut text = line.trim_end();
    while text.starts_with("[gw") || text.starts_with("[ ") {
        let Some((_, rest)) = text.split_once(']') else { return };
        text = rest.trim_start();
    }
    let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
    if let Some(outcome) = pytest_outcome(first) {
        let Some(Node { name, case, behind }) = node(rest) else { return };
        let message = behind.trim_start().strip_prefix("- ");
        if first == "ERROR" && !rest.contains("::") {
            results.unbuilt.push(Unbuilt { name, message: message.unwrap_or("").trim().to_owned() });
        } else if !results
            .tests
            .iter()
            .any(|known| known.name == name && known.outcome == outcome && known.message.is_some())
        {
            results.add(name, outcome, message);
            results.complete(case, None);
        }
        return;
    }
    if let Some(Node { name, case, behind }) = node(text).filter(|_| text.contains("::")) {
        let word = behind.split_whitespace().next().unwrap_or("");
        if let Some(outcome) = pytest_outcome(word) {
            results.add(name, outcome, None);
            results.complete(case, None);
        }
    }
}

/// Reads `test_a (tests.test_shop.Total.test_a) ... ok`. Returns the name if the verdict comes later.
fn unittest(line: &str, results: &mut Results) -> Option<Vec<String>> {
    if let Some(rest) = line.strip_prefix("ERROR: ").or_else(|| line.strip_prefix("FAIL: ")) {
        let name = unittest_name(rest)?;
        if name.iter().any(|part| part == "_FailedTest") {
            let module = rest.split(' ').next().unwrap_or(rest);
            let name = module.split('.').map(str::to_owned).collect();
            results.unbuilt.push(Unbuilt { name, message: "could not be imported".to_owned() });
        } else if !results.tests.iter().any(|known| known.name == name) {
            results.add(name, Outcome::Failed, None);
        }
        return None;
    }
    let (head, verdict) =
        line.split_once(" ... ").or_else(|| Some((line.strip_suffix(" ...")?, ""))).unwrap_or((line, ""));
    let name = unittest_name(head)?;
    if name.iter().any(|part| part == "_FailedTest") {
        return None;
    }
    match unittest_verdict(verdict) {
        Some((outcome, message)) => {
            results.add(name, outcome, message);
            None
        }
        None => Some(name),
    }
}

fn unittest_name(text: &str) -> Option<Vec<String>> {
    let (method, rest) = text.split_once(" (")?;
    let (class, _) = rest.split_once(')')?;
    let is_name = |text: &str| {
        !text.is_empty() && text.chars().all(|sign| sign.is_alphanumeric() || matches!(sign, '_' | '.'))
    };
    if !is_name(method) || !is_name(class) || !class.contains('.') {
        return None;
    }
    let mut parts: Vec<String> = class.split('.').map(str::to_owned).collect();
    // Since Python 3.11 the method is part of it.
    if parts.last().is_none_or(|last| last != method) {
        parts.push(method.to_owned());
    }
    Some(parts)
}

fn unittest_verdict(text: &str) -> Option<(Outcome, Option<&str>)> {
    let text = text.trim();
    // A docstring stands before the verdict.
    let text = text.rsplit_once(" ... ").map_or(text, |(_, verdict)| verdict);
    Some(match text {
        "ok" | "unexpected success" => (Outcome::Passed, None),
        "FAIL" | "ERROR" => (Outcome::Failed, None),
        "expected failure" => (Outcome::Skipped, None),
        _ => (Outcome::Skipped, Some(text.strip_prefix("skipped ")?)),
    })
}
