//! Commands that check something, in CI, in scripts of packages and in recipes of builds.

use std::sync::LazyLock;

use regex::Regex;

use super::check::Check;
use super::flatten::flatten;
use super::parts::{is_part, own_part};
use super::purposes::is_replaced;
use super::{actions, goals, inputs, narrow, numbers, purposes, recipes, shell};
use crate::files::{Format, extension};
use crate::finding::{Finding, Kind};

/// Programs that test, lint or type-check, by the words that they are called with.
static TOOL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x)\b(?:
            (?P<two> cargo\s+(?:(?:\+\S+|-\S+|hack)\s+)*(?:test|nextest|clippy|fmt|deny|audit|hack|llvm-cov|tarpaulin|check|machete|udeps|semver-checks|vet|geiger|careful|miri|mutants) | (?:rich)?go\s+(?:test|vet) | gotestsum
              | (?:npm|yarn|pnpm|bun)\s+(?:run\s+)?(?:test|lint|typecheck|type-check|check|coverage|ci\b|verify|validate)[\w:-]* | npm\s+t\b
              | (?:react-scripts|craco|ng|egg-bin|vue-cli-service|tsdx|aegir|kcd-scripts|wp-scripts)\s+(?:test|lint|cov)[\w:-]*
              | deno\s+(?:test|lint|check) | dotnet\s+(?:test|format) | (?:flutter|dart)\s+(?:test|analyze) | bazel(?:isk)?\s+test | terraform\s+(?:fmt|validate|test) | buf\s+(?:lint|breaking)
              | (?:trivy|snyk|helm|meson|dagger)\s+(?:fs|image|config|repo|test|lint) | go\s+tool\s+cover | swift\s+test | rustfmt\s+(?:-\S+\s+)*--check | zig\s+build\s+test | mix\s+(?:test|credo|dialyzer|format|ci|check)
              | (?:mvn|mvnw)\s+[^\n]*?(?:test|verify|install) | (?:gradle|gradlew)\s+[^\n]*?(?:test|check|build)
              | (?:make|just|task)\s+(?:-\S+\s+)*(?:[\w-]*-)?(?:test|check|lint|cover|spec|audit|vet|e2e|integration|ci|verify|validate|all\b)[\w-]* | python\S*\s+-m\s+(?:pytest|unittest|mypy|ruff|flake8|pylint|coverage)
              | ruff\s+(?:check|format) | coverage\s+(?:run|report) | rails\s+test | bundle\s+exec\s+(?:rspec|rubocop|rake) | node\s+--test )
          | (?P<one> pytest | py\.test | tox | nox | mypy | pyright | flake8 | pylint | black | isort | bandit | eslint | tsc | jest | vitest | mocha
              | ava | tape | nyc | c8 | playwright | cypress | stylelint | golangci-lint | staticcheck | rspec | rubocop | phpunit | phpstan | psalm
              | ctest | nosetests | nose2 | karma | jasmine | tslint | jshint | oxlint | testcafe | nightwatch | wdio | shellcheck | hadolint | actionlint | zizmor | pre-commit | codecov | ktlint | detekt | biome | xo | standard
              | semgrep | grype | govulncheck | ginkgo | go-test-coverage | pip-audit | vulture | typos | cspell | codespell | markdownlint
              | yamllint | commitlint | sqlfluff | ansible-lint | tflint | checkov | kubeconform | swiftlint | swiftformat | knip | infection | gitleaks
              | osv-scanner | mutmut | basedpyright | lychee | taplo | reuse | clang-tidy | clang-format | cppcheck | gcovr | pest | rake )
        )\b(?:\s|$|;|&|\|)",
    )
    .ok()
});

/// Ways to keep a check from failing, or from looking at everything.
static SOFT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?x) \|\|\s*(?:true|:|exit\s+0|echo\b|/bin/true) | ;\s*(?:true|exit\s+0)\s*$ | --exit-zero | --passWithNoTests | --pass-with-no-tests
          | --no-cov\b | -DskipTests | -Dmaven\.test\.(?:skip|failure\.ignore) | --no-fail-on | --deselect\b | --ignore(?:-glob)?[=\s] | -k\s+["']?not\b
          | --skip\b | --testPathIgnorePatterns | --testNamePattern | --exclude-task\s+test | -x\s+(?:test|check)\b | --cap-lints | -A\s+\w | --allow\s
          | --no-run\b | --exclude\b | --quiet-level | --no-strict | --ignore-errors | --collect-only | --dry-run | \bset\s+\+e\b | ^-[a-z] | --force-exclude
          | -m\s+["']?not\b | --grep\s+.*--invert | --max-warnings[=\s]\s*-?\d{2,}
          | \|\s*(?:tee|cat|tail|head|grep)\b | [^&]&\s*$ | \|\|\s*\w+=\$\? | --reruns\b | --last-failed\b | --lf\b | -o\s+addopts= | -W\s*ignore | -p\s+no:
          | --if-present | \s-t\s | --updateSnapshot | --update-snapshots? | \s-u\b | --onlyChanged | --lib\b | --doc\b | --bins\b | \s-run\b | \s-skip\b
          | \s-short\b | ^(?:run:\s*)?(?:if|while|echo|!)\s | \becho\s+(?:pytest|cargo|npm|go)\b"#,
    )
    .ok()
});

/// Options that make a check stricter.
const STRICT: &[&str] = &[
    "-D warnings",
    "--deny",
    "--strict",
    "--max-warnings",
    "-Werror",
    "--check",
    "--all-targets",
    "--all-features",
    "--feature-powerset",
    "--each-feature",
    "--workspace",
    "--cov-fail-under",
    "--fail-under",
    "--min-coverage",
    "--check-coverage",
    "--fail-on",
    "--error-on",
    "-race",
    "--locked",
];

/// Returns the commands of a file that check something.
pub(super) fn checks(text: &str, format: Format) -> Vec<Check> {
    let Some(tool) = TOOL.as_ref() else { return Vec::new() };
    let text = &*inputs::as_commands(text);
    let mut checks = Vec::new();
    let mut is_of_others = false;
    for (at, line) in lines(text, format) {
        if checks.len() >= super::MAX_CHECKS {
            break;
        }
        let content = line.trim();
        if format == Format::Sections && !line.starts_with([' ', '\t']) && !content.is_empty() {
            is_of_others = names_others(content);
        } else if is_of_others {
            continue;
        }
        if content.starts_with('#') || content.starts_with("//") || is_description(content, format) {
            continue;
        }
        // Make's sign for a line whose failure does not count.
        let plain =
            content.trim_start_matches(['@', '+']).strip_prefix('-').filter(|_| format == Format::Text);
        let sign = if plain.is_some() { "-" } else { "" };
        let content = if format == Format::Text { content.trim_start_matches('@') } else { content };
        // What is behind another command of a chain decides what the failure of the chain comes to.
        let chain = plain.unwrap_or(content);
        let rest = chain.find("||").filter(|_| chain.contains("&&")).map_or("", |at| &chain[at..]);
        for part in chain.split("&&") {
            for found in tool.captures_iter(part) {
                let words = found.name("two").or_else(|| found.name("one"));
                let Some(words) = words else { continue };
                let is_wrapper = words.as_str().starts_with("mvnw")
                    || words.as_str().starts_with("gradlew")
                    || part[..words.start()].ends_with("bin/");
                if words.start() > 0
                    && !is_wrapper
                    && part[..words.start()].ends_with(['-', '/', '.', '@', '"', '\'', '[', ':'])
                {
                    continue;
                }
                let tool = name(words.as_str());
                let is_whole = matches!(tool.as_str(), "mvn" | "gradle")
                    || tool.starts_with("make")
                    || tool.starts_with("just")
                    || tool.starts_with("task ");
                let behind = &part[if is_whole { words.start() } else { words.end() }..];
                let narrow = narrow::options(&tool, behind);
                let rest = if part.contains("||") { "" } else { rest };
                checks.push(Check {
                    line: at + 1,
                    tool,
                    text: format!("{sign}{}{rest}", part.trim()),
                    narrow,
                });
            }
        }
    }
    checks
}

/// Returns the lines that may be commands, with their numbers from 0. In JSON, these are the scripts of a package.
fn lines(text: &str, format: Format) -> Vec<(usize, String)> {
    if format != Format::Json {
        return text.lines().map(str::to_owned).enumerate().collect();
    }
    let entries = flatten(text, format).into_iter();
    let scripts = entries.filter(|entry| {
        entry
            .key
            .split('.')
            .any(|part| matches!(part, "scripts" | "tasks" | "hooks" | "lint-staged" | "husky"))
    });
    scripts.map(|entry| (entry.line.saturating_sub(1), entry.value)).collect()
}

/// Returns the name of a tool by the words that it is called with.
fn name(words: &str) -> String {
    let mut words: Vec<&str> = words.split_whitespace().collect();
    let first = words.first().copied().unwrap_or_default();
    match first {
        _ if first.starts_with("python") => return words.pop().unwrap_or_default().to_owned(),
        "mvn" | "mvnw" => return "mvn".to_owned(),
        "gradle" | "gradlew" => return "gradle".to_owned(),
        "make" | "just" | "task" => words.retain(|word| !word.starts_with('-')),
        // A toolchain, and what runs a command for several sets of features.
        "cargo" if words.len() > 2 => drop(words.drain(1..words.len() - 1)),
        // `npm test` is short for `npm run test`.
        "npm" | "yarn" | "pnpm" if matches!(words.get(1..), Some(["run", "test"])) => drop(words.remove(1)),
        _ => {}
    }
    words.join(" ")
}

fn without_expressions(text: &str) -> String {
    let mut parts = text.split("${{");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "$" + part.split_once("}}").map_or("", |(_, rest)| rest))
}

/// Returns whether what follows the failure of a command may succeed.
fn is_forgiven(text: &str) -> bool {
    static FAILS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"\bexit\s*(?:[1-9]|"?\$|$)|\bexit\s*[;})]|\bfalse\b|\breturn\s+[1-9$"]|\bdie\b|\bfail\w*|\bgit diff\b|\bthrow\b"#).ok()
    });
    // What stands in an expression of a workflow is no part of the command.
    let text = &without_expressions(text);
    // Only what is behind the tool is about it.
    let Some(tool) = TOOL.as_ref().and_then(|tool| tool.find(text)) else { return false };
    let Some((_, then)) = text[tool.end().saturating_sub(1).min(text.len())..].split_once("||") else {
        return false;
    };
    let is_check = TOOL.as_ref().is_some_and(|tool| tool.is_match(then));
    !is_check && FAILS.as_ref().is_some_and(|fails| !fails.is_match(then))
}

/// Keys of sections that name packages, versions or environments.
const OTHERS: &[&str] =
    &["deps", "extras", "profile", "requires", "name", "description", "envlist", "env_list", "python"];

/// Returns whether the lines below one of a section name packages, versions or environments, by the key of the line.
fn names_others(line: &str) -> bool {
    OTHERS.contains(&line.split(['=', ':']).next().unwrap_or(line).trim())
}

/// Returns whether a line names something rather than running it.
fn is_description(line: &str, format: Format) -> bool {
    let line = line.trim_start_matches("- ");
    match format {
        Format::Yaml => ["name:", "description:", "key:", "path:", "uses:", "id:", "image:", "tags:"]
            .iter()
            .any(|key| line.starts_with(key)),
        Format::Sections => {
            names_others(line)
                || !line.contains("commands") && !line.contains('=') && line.split_whitespace().count() == 1
        }
        Format::Json | Format::Text => false,
    }
}

/// Returns which of some checks others do not do, or do not do as well.
pub(super) fn lost(old: &[Check], new: &[Check]) -> Vec<Lost> {
    let mut found = Vec::new();
    let soft = |text: &str| SOFT.as_ref().is_some_and(|soft| soft.is_match(text)) || is_forgiven(text);
    let mut told = Vec::new();
    for check in old {
        let now: Vec<&Check> = new.iter().filter(|other| other.tool == check.tool).collect();
        if now.iter().any(|other| other.text == check.text) || told.contains(&&check.tool) {
            continue;
        }
        if now.is_empty() {
            if is_replaced(check, new, old) {
                continue;
            }
            told.push(&check.tool);
            found.push(Lost {
                line: check.line,
                now: None,
                kind: Kind::WeakerCheck,
                message: format!("`{}` no longer runs", check.tool),
            });
            continue;
        }
        if purposes::is_replaced_whole(&check.tool, new, old) {
            continue;
        }
        let is_less =
            |other: &&&Check| other.narrow.iter().any(|option| narrow::is_new(option, &check.narrow));
        let options: Vec<Vec<String>> = now.iter().map(|other| other.narrow.clone()).collect();
        if let Some(less) = now.iter().find(is_less)
            && now
                .iter()
                .filter(|other| !old.iter().any(|known| known.text == other.text))
                .all(|other| is_less(&other))
            && !narrow::are_whole(&options)
        {
            told.push(&check.tool);
            let message = format!("a check is weaker: `{}` became `{}`", check.text, less.text);
            found.push(Lost { line: check.line, now: Some(less.line), kind: Kind::WeakerCheck, message });
            continue;
        }
        if let Some(weak) =
            now.iter().find(|other| soft(&other.text) && !old.iter().any(|known| known.text == other.text))
            && !narrow::are_whole(&options)
        {
            if !soft(&check.text) || softness(&weak.text) > softness(&check.text) {
                told.push(&check.tool);
                let message = format!("a check is weaker: `{}` became `{}`", check.text, weak.text);
                found.push(Lost { line: check.line, now: Some(weak.line), kind: Kind::WeakerCheck, message });
            }
            continue;
        }
        if let Some((name, old, new)) = numbers::looser(&check.text, &now) {
            told.push(&check.tool);
            let message = format!("a threshold is looser: `{name}` was `{old}` and is `{new}`");
            found.push(Lost {
                line: check.line,
                now: Some(now[0].line),
                kind: Kind::LowerThreshold,
                message,
            });
            continue;
        }
        let covers_part = |other: &&&Check| {
            is_part(&check.text, &other.text) && purposes::has_all_tools(&check.text, &other.text)
        };
        if let Some(part) = now.iter().find(covers_part) {
            told.push(&check.tool);
            let message = format!("a check covers only a part: `{}` became `{}`", check.text, part.text);
            found.push(Lost { line: check.line, now: Some(part.line), kind: Kind::WeakerCheck, message });
            continue;
        }
        if let Some((goal, other)) = goals::lost(check, &now) {
            told.push(&check.tool);
            let message = format!("`{}` no longer runs `{goal}`", check.tool);
            found.push(Lost { line: check.line, now: Some(other.line), kind: Kind::WeakerCheck, message });
            continue;
        }
        let has = |text: &str, option: &str| {
            let text = &text.replace("-W error", "-Werror");
            let is_covered = option == "--all-features"
                && ["--feature-powerset", "--each-feature"].iter().any(|all| text.contains(all));
            text.contains(option) || is_covered
        };
        let lost = STRICT
            .iter()
            .find(|option| has(own_part(check), option) && now.iter().all(|other| !has(&other.text, option)));
        if let (Some(option), Some(other)) = (lost, now.first()) {
            told.push(&check.tool);
            found.push(Lost {
                line: check.line,
                now: Some(other.line),
                kind: Kind::WeakerCheck,
                message: format!("`{}` is called without `{option}`", check.tool),
            });
        }
    }
    found
}

/// What became of a check that is weaker, or gone.
pub(super) struct Lost {
    /// Line where it was.
    pub(super) line: usize,
    /// Line of what there is instead.
    now: Option<usize>,
    pub(super) kind: Kind,
    pub(super) message: String,
}

/// Returns which checks are gone, or no longer count.
pub(super) fn compare(path: &str, before: &str, after: &str, format: Format) -> Vec<Finding> {
    if format == Format::Sections && !matches!(extension(path), "ini" | "toml" | "cfg") {
        return Vec::new();
    }
    let (before, after) = (&*recipes::with_values(path, before), &*recipes::with_values(path, after));
    let (old, mut new) = (checks(before, format), checks(after, format));
    if format == Format::Yaml {
        new.extend(actions::checks(after));
    }
    let lost = lost(&old, &new).into_iter();
    let mut findings: Vec<Finding> =
        lost.map(|lost| Finding::new(path, lost.now.unwrap_or(lost.line), lost.kind, lost.message)).collect();
    // Soft words may stand on a line of their own.
    let switches = |text: &str| {
        text.lines().filter(|line| line.trim().trim_start_matches("- ").starts_with("set +e")).count()
    };
    if switches(after) > switches(before) {
        let line = after.lines().position(|line| line.contains("set +e")).map_or(1, |at| at + 1);
        findings.push(Finding::new(path, line, Kind::WeakerCheck, "failures no longer count: `set +e`"));
    }
    findings.extend(trivial_script(path, before, after, format));
    if format == Format::Text {
        findings.extend(shell::compare(path, before, after, &new));
    }
    findings
}

/// Returns the number of ways by which a command is kept from failing.
fn softness(text: &str) -> usize {
    SOFT.as_ref().map_or(0, |soft| soft.find_iter(text).count())
}

/// Returns the script of a package that tested something and now does nothing.
fn trivial_script(path: &str, before: &str, after: &str, format: Format) -> Option<Finding> {
    static SCRIPT: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#""(test|lint|typecheck|check)"\s*:\s*"(?:true|:|exit 0|exit|echo [^"]*?|node -e [^"]*|node --version|)""#).ok()
    });
    let script = SCRIPT.as_ref().filter(|_| format == Format::Json)?;
    let found = script.captures(after).filter(|found| !before.contains(&found[0]))?;
    let line = after.lines().position(|line| line.contains(&found[0])).map_or(1, |at| at + 1);
    Some(Finding::new(path, line, Kind::WeakerCheck, format!("the script `{}` does nothing", &found[1])))
}
