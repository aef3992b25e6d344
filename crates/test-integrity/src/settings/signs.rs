//! Lines of settings that leave tests out or let them fail, by their looks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::is_folder_of_packages;
use crate::finding::{Finding, Kind, short};

/// Most lines of a list that says what is left out.
const MAX_LIST: usize = 8;

// Paths of the files that a tool reads.
const YAML: &str = r"\.ya?ml$";
const PYTEST: &str = r"(^|/)(pyproject\.toml|\.?pytest\.ini|setup\.cfg|tox\.ini)$";
const NOX: &str = r"(^|/)noxfile\.py$";
const MAVEN: &str = r"(^|/)pom\.xml$";
const GRADLE: &str = r"\.gradle(\.kts)?$";
const JAVASCRIPT: &str = r"(jest|vitest|playwright|karma|cypress)\S*\.[cm]?[jt]s$|package\.json$";

/// What a new line means that says which files are tested.
pub(super) const OTHER_FILES: &str = "other files are tested";

/// Files, by a pattern of their paths; lines of these; and what a new one means.
#[rustfmt::skip]
const TABLE: &[(&str, &str, Kind, &str)] = &[
    (YAML, r#"^shell:\s*["']?bash \{0\}"#, Kind::WeakerCheck, "a failed command no longer ends the step"),
    (YAML, r"^PYTHONOPTIMIZE\s*[:=]", Kind::WeakerCheck, "assertions are not run"),
    (YAML, r#"^(branches|paths)-ignore:\s*\[?\s*["']?\*\*["']?\s*\]?$"#, Kind::WeakerCheck, "the workflow never runs"),
    (YAML, r"^(- )?if:.*\b(false|never)\b", Kind::WeakerCheck, "a step or job never runs"),
    (YAML, r"^(- )?if:\s*.*(vars\.|github\.ref\b|github\.event_name\b)", Kind::LooserRule, "a step or job runs only under a condition"),
    (YAML, r"\bpython\S* -O+ ", Kind::WeakerCheck, "assertions are not run"),
    (r"\.pre-commit", r"^(- )?(stages:\s*\[?\s*manual|exclude:)|--exit-zero", Kind::LooserRule, "a hook is called in fewer cases"),
    (r"golangci", r"^(new:\s*true|new-from-(?:rev|patch|merge-base):|tests:\s*false|disable-all:\s*true|default:\s*none|issues-exit-code:\s*0)", Kind::LooserRule, "less is checked"),
    (PYTEST, r"^python_(files|functions|classes)\b", Kind::LooserRule, "other names are those of tests"),
    (PYTEST, r"^testpaths\b", Kind::LooserRule, "other folders are those of tests"),
    (PYTEST, r"--reruns\b", Kind::LooserRule, "what fails is run again"),
    (PYTEST, r#"^filterwarnings\s*=\s*\[?\s*["']?ignore"?\]?$"#, Kind::LooserRule, "warnings are dropped"),
    (r"(^|/)tox\.ini$", r"^commands\s*=\s*-\s|^ignore_(outcome|errors)\s*=\s*(?i:true)", Kind::WeakerCheck, "a failure no longer counts"),
    (r"(^|/)(GNUm|M|m)akefile$", r"^\.IGNORE\b|^MAKEFLAGS\b.*-\w*i", Kind::WeakerCheck, "a failure no longer counts"),
    (NOX, r"\bsuccess_codes\s*=", Kind::WeakerCheck, "a failure no longer counts"),
    (NOX, r"\bdefault\s*=\s*False", Kind::LooserRule, "a session does not run by itself"),
    (MAVEN, r"<(excludes|exclude|excludedGroups|test)>", Kind::LooserRule, "tests are left out"),
    (MAVEN, r"<rerunFailingTestsCount>|<failIfNoTests>\s*false", Kind::LooserRule, "a failure counts less"),
    (GRADLE, r"\bonlyIf\s*\{\s*false|^(isE|e)nabled\s*=\s*false", Kind::WeakerCheck, "tests do not run"),
    (GRADLE, r"^exclude\b|\bexcludeTestsMatching\b|\bexcludeTags\b", Kind::LooserRule, "tests are left out"),
    (JAVASCRIPT, r#"\b(testNamePattern|testPathIgnorePatterns|dangerouslyIgnoreUnhandledErrors|grepInvert|testIgnore|retries|retry)["']?\s*:"#, Kind::LooserRule, "tests are left out, or run again"),
    (JAVASCRIPT, r#"\b(passWithNoTests)["']?\s*:\s*true|\btestTimeout["']?\s*:\s*0\b"#, Kind::LooserRule, "tests may hang, or be none"),
    (JAVASCRIPT, r#"\b(testMatch|testRegex|roots|moduleNameMapper|exclude|alias)["']?\s*:|\binclude["']?\s*:.*\.(test|spec)\."#, Kind::LooserRule, OTHER_FILES),
];

/// Numbers of configurations that are code, which have to be reached.
static MINIMUM: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\b(branches|functions|lines|statements):\s*(\d+(?:\.\d+)?)").ok());

static SIGNS: LazyLock<Vec<(Regex, Regex, Kind, &str)>> = LazyLock::new(|| {
    let sign = |(path, line, kind, meaning): &(&str, &str, Kind, &'static str)| {
        Some((Regex::new(path).ok()?, Regex::new(line).ok()?, *kind, *meaning))
    };
    TABLE.iter().filter_map(sign).collect()
});

/// Returns what the new lines of a file mean.
pub(super) fn compare(path: &str, before: &str, after: &str) -> Vec<Finding> {
    let signs: Vec<_> = SIGNS.iter().filter(|(of, ..)| of.is_match(path)).collect();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for line in before.lines() {
        *known.entry(line.trim()).or_default() += 1;
    }
    let mut findings = thresholds(path, before, after);
    for (at, line) in after.lines().enumerate() {
        let line = line.trim();
        if let Some(count) = known.get_mut(line).filter(|count| **count > 0) {
            *count -= 1;
        } else if line.starts_with("<!--") {
            // What is a comment leaves nothing out.
        } else if path.ends_with("package.json") && is_dependency(line) {
            // A package that has the name of a key.
        } else if line.starts_with("exclude")
            && ["group:", "group =", "module:", "module ="].iter().any(|key| line.contains(key))
        {
            // A dependency of a dependency.
        } else if line == "default: none" && known.contains_key("disable-all: true") {
            // The same in another version of golangci-lint.
        } else if line.starts_with("exclude(") && is_run_by_other_task(&known, after, line) {
            // Another task runs it.
        } else if line.contains("testMatch") && is_of_new_project(before, after, at) {
            // What it selects runs beside all that ran before.
        } else if names_only_packages(after, line, at) || fits_more_files(before, line) {
            // Nobody's tests are left out.
        } else if let Some((_, _, kind, meaning)) = signs.iter().find(|(_, sign, ..)| sign.is_match(line)) {
            findings.push(Finding::new(path, at + 1, *kind, format!("{meaning}: `{}`", short(line))));
        }
    }
    findings
}

/// Returns whether what a line of Gradle's leaves out is what a new task of the file, which others depend on, runs.
fn is_run_by_other_task(known: &BTreeMap<&str, usize>, after: &str, line: &str) -> bool {
    let included = line.replacen("exclude(", "include(", 1);
    let is_new = |line: &str| !known.contains_key(line.trim());
    let lines = || after.lines().filter(|line| is_new(line));
    let task = |line: &'_ str| -> Option<String> {
        let name = line.trim().strip_prefix("val ")?.split([' ', ':']).next()?;
        (line.contains("Test") && !name.is_empty()).then(|| name.to_owned())
    };
    lines().any(|other| other.trim() == included)
        && lines()
            .filter_map(task)
            .any(|task| lines().any(|other| other.trim() == format!("dependsOn({task})")))
}

/// Returns whether a line of `package.json` names a package with its version: `"@rollup/plugin-alias": "^5.1.0"`.
fn is_dependency(line: &str) -> bool {
    let version = line
        .split_once("\": \"")
        .map(|(_, version)| version.trim_start_matches(['^', '~', '>', '=', ' ', 'v']));
    let is_version =
        |version: &str| version.starts_with(|sign: char| sign.is_ascii_digit()) && version.contains('.');
    line.starts_with('"') && version.is_some_and(is_version)
}

/// Returns whether the list of what is left out that begins at a line only names the folder of installed packages, where runners look for
/// no tests anyway.
fn names_only_packages(text: &str, line: &str, at: usize) -> bool {
    // Only of few lines, whatever the length of the file, is the rest read.
    if !line.contains("IgnorePatterns") {
        return false;
    }
    let rest: Vec<&str> = text.lines().skip(at).take(MAX_LIST).collect();
    let rest = rest.join(" ");
    let list = rest.split_once('[').and_then(|(key, rest)| Some((key, rest.split_once(']')?.0)));
    list.is_some_and(|(key, list)| {
        let named: Vec<&str> =
            list.split(',').map(|name| name.trim().trim_matches(['"', '\'', '`'])).collect();
        key.contains("IgnorePatterns")
            && named.iter().any(|name| !name.is_empty())
            && named.iter().all(|name| name.is_empty() || is_folder_of_packages(name))
    })
}

/// Returns whether a line says by the same key as one before which files are tested, and by a pattern that fits these and others:
/// `.js` became `.[tj]s`.
fn fits_more_files(before: &str, line: &str) -> bool {
    const OF_BOTH: &[&str] =
        &["[tj]s", "[jt]s", "(js|ts)", "(ts|js)", "(j|t)s", "(t|j)s", "{js,ts}", "{ts,js}"];
    let narrowed = |line: &str| {
        let plain = line.replace('\\', "");
        OF_BOTH.iter().fold(plain, |line, both| line.replace(both, "js"))
    };
    let is_key = ["testMatch", "testRegex"].iter().any(|key| line.contains(key));
    let now = narrowed(line);
    is_key
        && OF_BOTH.iter().any(|both| line.contains(both))
        && before.lines().any(|was| narrowed(was).trim() == now && was.trim() != line)
}

/// Returns whether a line stands in an object whose name is new, beside all objects that had a name before: a further project of
/// Playwright, Jest or Vitest.
fn is_of_new_project(before: &str, after: &str, at: usize) -> bool {
    static NAME: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"\bname["']?:\s*["'`]([^"'`]+)"#).ok());
    let Some(pattern) = NAME.as_ref() else { return false };
    let names = |text: &str| -> BTreeSet<String> {
        pattern.captures_iter(text).map(|found| found[1].to_owned()).collect()
    };
    let lines: Vec<&str> = after.lines().collect();
    let opens = |line: &&str| line.trim_start().starts_with('{');
    let start = lines[..=at].iter().rposition(opens).unwrap_or(at);
    let end = lines[at + 1..].iter().position(|line| opens(line) || line.trim_start().starts_with('}'));
    let own = names(&lines[start..=end.map_or(at, |end| at + end)].join("\n"));
    let known = names(before);
    !own.is_empty() && own.is_disjoint(&known) && known.is_subset(&names(after))
}

/// Returns the thresholds of a configuration that is code, which are lower or gone.
fn thresholds(path: &str, before: &str, after: &str) -> Vec<Finding> {
    let Some(pattern) = MINIMUM.as_ref().filter(|_| path.ends_with("js") || path.ends_with("ts")) else {
        return Vec::new();
    };
    let read = |text: &str| -> BTreeMap<String, f64> {
        let found = pattern.captures_iter(text);
        found.filter_map(|found| Some((found[1].to_owned(), found[2].parse().ok()?))).collect()
    };
    let now = read(after);
    let lower = read(before).into_iter().filter(|(key, old)| now.get(key).is_none_or(|new| new < old));
    let finding = |(key, old): (String, f64)| {
        let message = format!("a threshold is lower: `{key}` was `{old}`");
        Finding::new(path, 1, Kind::LowerThreshold, message)
    };
    lower.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_compile() {
        assert_eq!(SIGNS.len(), TABLE.len());
        assert!(MINIMUM.is_some());
    }
}
