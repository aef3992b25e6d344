//! Reads from the words of a setting's key what it says about checks: which numbers have to be reached and which must not be
//! passed, what is left out, what may fail. This is how settings of unknown tools are read.

use crate::syntax::words;

/// What a key says about the check that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// A number that has to be reached, or the grade of strictness.
    Minimum,
    /// A number that must not be passed.
    Maximum,
    /// It makes the check stricter when it is on.
    Strict,
    /// It makes the check milder when it is on, or names what is not checked.
    Mild,
    /// It names what is checked.
    Selection,
    /// It says how much is tried.
    Effort,
    /// How bad something is that fails the check: the worse, the less fails.
    Bar,
    /// How bad a breach of a rule is.
    Severity,
}

/// Words of what is left out.
#[rustfmt::skip]
const LEFT_OUT: &[&str] = &[
    "ignore", "ignores", "ignored", "ignoring", "exclude", "excludes", "excluded", "excluding", "exclusion", "exclusions", "skip", "skips",
    "skipped", "omit", "omits", "suppress", "suppressed", "suppression", "suppressions", "suppressor", "disable", "disabled", "disables",
    "deselect", "baseline", "quarantine", "quarantined", "waiver", "waivers", "waive", "exempt", "exemptions", "exception", "exceptions",
    "deactivate", "whitelist", "norecursedirs", "nocheck", "nowarn", "muted", "mute",
];
/// Words of failures, before or behind which others say what they come to.
const FAILURES: &[&str] = &[
    "fail",
    "fails",
    "failure",
    "failures",
    "failed",
    "failing",
    "error",
    "errors",
    "warning",
    "warnings",
    "violation",
    "violations",
    "outcome",
];
/// Words that let failures pass.
const LET_PASS: &[&str] = &[
    "continue",
    "allow",
    "allowed",
    "ignore",
    "tolerate",
    "informational",
    "optional",
    "soft",
    "permit",
    "accept",
    "swallow",
];
/// Words of what makes a check stricter.
#[rustfmt::skip]
const STRICT: &[&str] = &[
    "strict", "enforce", "enforced", "require", "required", "requires", "werror", "halt", "verify", "validate", "wait", "deny", "pedantic",
    "exhaustive", "nullable", "gate",
];
/// Words of what has nothing to do with how much is checked.
#[rustfmt::skip]
const NEUTRAL: &[&str] = &[
    "fast", "parallel", "cache", "color", "colour", "verbose", "watch", "time", "timeout", "timeouts", "duration", "workers", "forks", "threads",
    "jobs", "heap", "memory", "connections", "width", "indent", "age", "depth", "retention", "history", "concurrency", "restarts", "period",
    "delay", "interval", "port", "publish", "daemon", "autodetection", "log", "logging", "report", "reports", "reporter", "output", "upload",
    "format", "order", "slow", "grace", "backoff", "size", "length", "columns", "line_length", "pool", "batch", "dependencies", "updates",
    "schedule", "stale", "artifact", "artifacts", "release", "deploy", "version", "versions", "cpu", "cpus", "seed", "path", "dir", "directory",
    "name", "comment",
];
/// Words of places where names of files, tests or rules are chosen.
#[rustfmt::skip]
const CHOSEN: &[&str] = &[
    "include", "includes", "included", "included", "select", "selected", "only", "filter", "filters", "groups", "tags", "packages", "package",
    "modules", "module", "suites", "suite", "testpaths", "enable", "enabled", "rules", "linters", "checks", "plugins", "opt", "categories", "goal",
    "goals", "directory", "class", "classes", "tests", "testmatch", "tag", "grep",
];

/// Returns what a key says; `None` if it says nothing about checks. `key` has the names of what it is in before its own.
#[expect(clippy::too_many_lines, reason = "one table of words")]
pub(super) fn reading(key: &str) -> Option<Reading> {
    let (above, own) = key.rsplit_once('.').unwrap_or(("", key));
    let (own, above) = (words(own), words(above));
    let has = |words: &[String], known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let near = |known: &[&str]| has(&own, known) || has(&above, known);
    // What a program depends on, what a workflow is given, when it starts, and what writes its notes say nothing about checks by
    // their names.
    let is_other = |word: &String| {
        word.contains("dependenc")
            || matches!(
                word.as_str(),
                "inputs" | "outputs" | "secrets" | "engines" | "towncrier" | "commitizen" | "bumpversion"
            )
    };
    let of_start = own.ends_with(&["ignore".to_owned()]) && has(&own, &["paths", "branches", "tags"]);
    if own.iter().chain(&above).any(is_other) && !has(&above, &["tasks", "task"]) || of_start {
        return None;
    }
    // What is printed of tests, and how, says nothing about what they check.
    let is_shown = own.first().is_some_and(|first| matches!(first.as_str(), "show" | "print" | "display"));
    if is_shown || own.ends_with(&["format".to_owned()]) {
        return None;
    }
    let is_neutral = has(&own, NEUTRAL);
    let of_failure = has(&own, FAILURES);
    // What is asked for again over a network.
    if has(
        &own,
        &[
            "net",
            "network",
            "fetch",
            "http",
            "download",
            "downloads",
            "connection",
            "pip",
            "npm",
            "existing",
            "duplicate",
        ],
    ) {
        return None;
    }
    if has(&own, &["retry", "retries", "rerun", "reruns", "rerunfailingtestscount"]) && !is_neutral {
        return Some(Reading::Maximum);
    }
    if has(
        &own,
        &[
            "total",
            "file",
            "package",
            "lines",
            "branches",
            "functions",
            "statements",
            "target",
            "level",
            "value",
            "bound",
        ],
    ) && own.len() <= 2
        && has(&above, &["threshold", "thresholds", "coverage", "minimum", "min", "kover", "jacoco"])
        && !(has(&own, &["file"]) && has(&above, &["exclude"]))
    {
        return Some(Reading::Minimum);
    }
    if has(&own, &["threshold", "thresholds"]) {
        // How far a value may fall, or how long or tangled something may be, is a limit.
        let is_limit = near(&[
            "status",
            "complexity",
            "length",
            "long",
            "large",
            "nested",
            "many",
            "parameter",
            "arguments",
            "lines",
            "cognitive",
            "smell",
        ]) && !has(&own, &["coverage"]);
        return Some(if near(&["spotbugs", "severity", "confidence"]) {
            Reading::Bar
        } else if is_limit {
            Reading::Maximum
        } else {
            Reading::Minimum
        });
    }
    // How sure a linter has to be of what it says: the higher, the less it says.
    if has(&own, &["min", "minimum"]) && has(&own, &["confidence"]) {
        return Some(Reading::Maximum);
    }
    if has(&own, &["min", "minimum", "under", "least", "msi", "floor"])
        && !has(&own, &["complexity", "length", "len"])
        && !is_neutral
    {
        return Some(Reading::Minimum);
    }
    if has(&own, &["max", "maximum", "most", "budget", "complexity", "issues"])
        && !is_neutral
        && !has(&own, &["ignore", "skip"])
    {
        return (own.len() > 1
            || has(&above, &["limit", "limits", "complexity", "metrics", "metric", "length", "rule"])
            || own == ["maximum"])
        .then_some(Reading::Maximum);
    }
    if of_failure && has(&own, LET_PASS) || has(&own, &["informational"]) {
        return Some(Reading::Mild);
    }
    // Of what is shipped: `size-limit`, `bundlesize`.
    if own == ["limit"] && has(&above, &["size"]) || own == ["max", "size"] && has(&above, &["bundlesize"]) {
        return Some(Reading::Maximum);
    }
    if own == ["fail", "on"]
        || own == ["failon"]
        || has(&own, &["violationseverity", "confidence"])
        || has(&own, &["severity"]) && has(&own, &["violation", "min", "minimum", "fail"])
    {
        return Some(Reading::Bar);
    }
    if own == ["severity"] {
        return Some(Reading::Severity);
    }
    if has(&own, LEFT_OUT) {
        // What tells of exemptions that nothing needs: `warn_unused_ignores`.
        let place = |known: &[&str]| own.iter().position(|word| known.contains(&word.as_str()));
        let of_unneeded = place(&["unused", "unneeded", "unnecessary", "redundant", "obsolete"]);
        if of_unneeded.is_some_and(|unneeded| place(LEFT_OUT) > Some(unneeded)) {
            return Some(Reading::Strict);
        }
        // What a command is told to leave out of its work on other things, or of its table of what is covered.
        let others = ["dependency", "install", "git", "cache", "download", "publish", "empty", "covered"];
        return (!has(&own, &others)).then_some(Reading::Mild);
    }
    if (of_failure || has(&own, STRICT)) && !is_neutral {
        return Some(Reading::Strict);
    }
    if matches!(
        own.last().map(String::as_str),
        Some("cases" | "iterations" | "examples" | "runs" | "tests" | "rounds")
    ) && own.len() > 1
    {
        return Some(Reading::Effort);
    }
    if own == ["level"] {
        return Some(Reading::Minimum);
    }
    if own == ["active"] || own == ["enabled"] || own == ["enable"] {
        return (!has(&above, NEUTRAL)).then_some(Reading::Strict);
    }
    if has(
        &above,
        &["exclusions", "exclusion", "excludes", "exclude", "suppressions", "ignore", "quarantine"],
    ) {
        return Some(Reading::Mild);
    }
    let is_of_tasks = has(&own, &["dependencies", "depends"]) && has(&above, &["tasks", "task"]);
    (is_of_tasks || has(&own, CHOSEN)).then_some(Reading::Selection)
}

/// Returns the place of a value in the order of how bad something is.
pub(super) fn badness(value: &str) -> Option<usize> {
    const SCALE: &[&[&str]] = &[
        &["off", "none", "ignore", "allow", "false", "0"],
        &["info", "note", "low", "hint", "suggestion", "style"],
        &["warn", "warning", "medium", "moderate", "1"],
        &["error", "high", "deny", "2"],
        &["critical", "forbid", "blocker", "fatal"],
    ];
    SCALE.iter().position(|words| words.contains(&value.trim().to_ascii_lowercase().as_str()))
}

/// Words for how bad a breach is, the mildest first.
const SEVERITIES: &[&[&str]] = &[
    &["off", "allow", "0", "ignore", "none"],
    &["warn", "warning", "1", "info"],
    &["error", "deny", "2", "forbid"],
];

/// Returns the place of a value in the scale of severities; a list says it first.
pub(super) fn severity(value: &str) -> Option<usize> {
    let value = value.trim_matches(['"', '\'', '[', ' ']).split([',', '"', '\'']).next()?.trim();
    SEVERITIES.iter().position(|words| words.contains(&value.to_ascii_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_by_their_words() {
        for (key, expected) in [
            ("tool.report.fail_under", Some(Reading::Minimum)),
            ("threshold.total", Some(Reading::Minimum)),
            ("kover.minBound", Some(Reading::Minimum)),
            ("COVERAGE_MIN", Some(Reading::Minimum)),
            ("complexity.LongMethod.threshold", Some(Reading::Maximum)),
            ("cyclop.max-complexity", Some(Reading::Maximum)),
            ("build.maxIssues", Some(Reading::Maximum)),
            ("profile.ci.retries", Some(Reading::Maximum)),
            ("tasks.test.ignoreFailures", Some(Reading::Mild)),
            ("sonar.coverage.exclusions", Some(Reading::Mild)),
            ("allWarningsAsErrors", Some(Reading::Strict)),
            ("failOnRisky", Some(Reading::Strict)),
            ("mypy.warn_unused_ignores", Some(Reading::Strict)),
            ("mypy.ignore_unused", Some(Reading::Mild)),
            ("style.UnusedImports.active", Some(Reading::Strict)),
            ("violationSeverity", Some(Reading::Bar)),
            ("profile.ci.default-filter", Some(Reading::Selection)),
            ("execution.parallel.enabled", None),
            ("strategy.fail-fast", None),
            ("strategy.max-parallel", None),
            ("slow-timeout", None),
            ("project.name", None),
        ] {
            assert_eq!(reading(key), expected, "{key}");
        }
    }
}
