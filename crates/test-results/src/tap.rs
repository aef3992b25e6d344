//! Lines of the Test Anything Protocol, with the nested tests of Node's runner.

use super::{Outcome, Results, Unbuilt, duration_ms, path_parts};

/// Columns by which nested tests are indented.
const INDENT: usize = 4;

pub(super) fn read(output: &str) -> Results {
    let mut results = Results::default();
    let mut above: Vec<String> = Vec::new();
    let (mut is_tap, mut planned, mut points) = (false, None, 0);
    let mut lines = output.lines().peekable();
    while let Some(line) = lines.next() {
        let text = line.trim_start();
        let depth = (line.len() - text.len()) / INDENT;
        if let Some(name) = text.strip_prefix("# Subtest: ") {
            above.truncate(depth);
            above.push(unescaped(name));
            continue;
        }
        is_tap |= line.starts_with("TAP version ");
        if let Some(count) = plan(line) {
            is_tap = true;
            planned = Some(planned.unwrap_or(0) + count);
        }
        let (outcome, rest) = if let Some(rest) = text.strip_prefix("not ok ") {
            (Outcome::Failed, rest)
        } else if let Some(rest) = text.strip_prefix("ok ") {
            (Outcome::Passed, rest)
        } else {
            continue;
        };
        let behind = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let number = &rest[..rest.len() - behind.len()];
        let rest = behind.trim_start();
        // Others say `ok` as well.
        if number.is_empty() && !is_tap && !rest.starts_with("- ") {
            continue;
        }
        points += usize::from(depth == 0);
        let rest = rest.strip_prefix("- ").unwrap_or(rest);
        let (name, directive) = rest.split_once(" # ").unwrap_or((rest, ""));
        let upper = directive.trim_start().to_ascii_uppercase();
        let outcome =
            if upper.starts_with("SKIP") || upper.starts_with("TODO") { Outcome::Skipped } else { outcome };
        let name = match name.trim() {
            "" if number.is_empty() => continue,
            "" => format!("test {number}"),
            name => unescaped(name),
        };
        above.truncate(depth);
        let message = (outcome == Outcome::Failed).then(|| quoted(&lines)).flatten();
        let time = detail(&lines, "duration_ms:").and_then(|time| duration_ms(time, 1.0));
        if is_file(&name) && outcome != Outcome::Skipped {
            // A file that ends well says nothing that its tests do not say.
            if outcome == Outcome::Failed {
                let message = message.unwrap_or("").to_owned();
                results.unbuilt.push(Unbuilt { name: path_parts(&name), message, stops_all: false });
            }
            continue;
        }
        results.add(above.iter().cloned().chain([name]).collect(), outcome, message);
        results.complete(None, time);
    }
    if let Some(planned) = planned.filter(|planned| *planned < points) {
        results.doubts.push(format!("the plan of TAP counts {planned} tests, and its lines name {points}"));
    }
    results.is_unfinished = planned.is_some_and(|planned| points < planned);
    results
}

/// Reads `1..3`.
fn plan(line: &str) -> Option<usize> {
    let digits = line.strip_prefix("1..")?;
    digits.split_whitespace().next()?.parse().ok()
}

/// Returns a value of the block of YAML behind a line.
fn detail<'a>(lines: &std::iter::Peekable<std::str::Lines<'a>>, key: &str) -> Option<&'a str> {
    let mut ahead = lines.clone();
    ahead.next().filter(|line| line.trim() == "---")?;
    let found =
        ahead.take_while(|line| line.trim() != "...").find_map(|line| line.trim().strip_prefix(key))?;
    Some(found.trim())
}

/// Returns the `error:` of the block of YAML behind a line.
fn quoted<'a>(lines: &std::iter::Peekable<std::str::Lines<'a>>) -> Option<&'a str> {
    let text = detail(lines, "error:")?;
    let quoted = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    Some(quoted('\'').or_else(|| quoted('"')).unwrap_or(text))
        .filter(|text| !matches!(*text, "|-" | "|" | ">" | ">-"))
}

fn unescaped(name: &str) -> String {
    name.replace("\\#", "#").replace("\\\\", "\\")
}

fn is_file(name: &str) -> bool {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    name.contains(['/', '\\'])
        && matches!(extension, "js" | "mjs" | "cjs" | "ts" | "mts" | "cts" | "jsx" | "tsx")
}
