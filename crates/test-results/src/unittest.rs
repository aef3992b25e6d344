//! Lines of Python's unittest (`-v`).

use super::{Outcome, Results, Unbuilt};

/// What has been read so far.
#[derive(Default)]
struct Reader {
    results: Results,
    /// A test whose verdict comes later.
    waiting: Option<Vec<String>>,
    /// Number of tests that are named in this run of unittest.
    named: usize,
    /// Number of headings that report a failure.
    headings: usize,
    /// How many tests its summary counts.
    ran: Option<usize>,
}

pub(super) fn read(output: &str) -> Results {
    let mut reader = Reader::default();
    for line in output.lines() {
        reader.line(line);
    }
    reader.results.is_unfinished |= reader.named > 0;
    reader.results
}

fn is_boundary(line: &str) -> bool {
    line.is_empty() || line.starts_with("=====") || line.starts_with("-----")
}

impl Reader {
    fn line(&mut self, line: &str) {
        if let Some(name) = self.waiting.take() {
            match verdict(line) {
                Some((outcome, message)) => {
                    self.results.add(name, outcome, message);
                    return;
                }
                // What a test prints is between its name and its verdict.
                None if !is_boundary(line) => self.waiting = Some(name),
                None => {}
            }
        }
        if let Some(ran) = line.strip_prefix("Ran ").and_then(|rest| rest.split_once(" test")) {
            self.ran = ran.0.parse().ok();
        } else if line == "OK" || line.starts_with("OK (") || line == "FAILED" || line.starts_with("FAILED (")
        {
            self.close(line);
        } else if let Some(rest) = line.strip_prefix("ERROR: ").or_else(|| line.strip_prefix("FAIL: ")) {
            self.heading(rest);
        } else {
            self.test(line);
        }
    }

    /// Ends a run of unittest with its summary: `FAILED (failures=1, errors=2)`.
    fn close(&mut self, line: &str) {
        let Some(ran) = self.ran.take() else { return };
        let (named, headings) = (std::mem::take(&mut self.named), std::mem::take(&mut self.headings));
        let count = |word: &str| {
            let list = line.split_once('(').map_or("", |(_, list)| list).trim_end_matches(')');
            let number = list
                .split(", ")
                .find_map(|part| part.strip_prefix(word)?.strip_prefix('=')?.parse::<usize>().ok());
            number.unwrap_or(0)
        };
        let failed = count("failures") + count("errors");
        if named == 0 {
            self.results.counted += ran;
        }
        if named > ran {
            self.results.doubts.push(format!("unittest counts {ran} tests, and its lines name {named}"));
        }
        if headings != failed {
            self.results
                .doubts
                .push(format!("unittest counts {failed} failures, and its lines tell of {headings}"));
        }
    }

    /// Reads `FAIL: test_a (tests.test_shop.Total.test_a)`, which counts more than what a test may have printed as its verdict.
    fn heading(&mut self, text: &str) {
        let Some(name) = name(text) else { return };
        self.headings += 1;
        if name.iter().any(|part| part == "_FailedTest") {
            let module = text.split(' ').next().unwrap_or(text);
            let name = module.split('.').map(str::to_owned).collect();
            let message = "could not be imported".to_owned();
            self.results.unbuilt.push(Unbuilt { name, message, stops_all: false });
        } else if !self
            .results
            .tests
            .iter()
            .any(|known| known.name == name && known.outcome == Outcome::Failed)
        {
            self.results.add(name, Outcome::Failed, None);
        }
    }

    /// Reads `test_a (tests.test_shop.Total.test_a) ... ok`, or a name whose verdict comes later.
    fn test(&mut self, line: &str) {
        let (head, said) =
            line.split_once(" ... ").or_else(|| Some((line.strip_suffix(" ...")?, ""))).unwrap_or((line, ""));
        let Some(name) = name(head) else { return };
        if name.iter().any(|part| part == "_FailedTest") {
            return;
        }
        let is_set_up =
            name.last().is_some_and(|last| last.starts_with("setUp") || last.starts_with("tearDown"));
        match verdict(said) {
            Some((outcome, message)) => self.results.add(name, outcome, message),
            None => self.waiting = Some(name),
        }
        self.named += usize::from(!is_set_up);
    }
}

fn name(text: &str) -> Option<Vec<String>> {
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

fn verdict(text: &str) -> Option<(Outcome, Option<&str>)> {
    let text = text.trim();
    // A docstring comes before the verdict.
    let text = text.rsplit_once(" ... ").map_or(text, |(_, verdict)| verdict);
    Some(match text {
        "ok" | "unexpected success" => (Outcome::Passed, None),
        "FAIL" | "ERROR" => (Outcome::Failed, None),
        "expected failure" => (Outcome::Skipped, None),
        _ => (Outcome::Skipped, Some(text.strip_prefix("skipped ")?)),
    })
}
