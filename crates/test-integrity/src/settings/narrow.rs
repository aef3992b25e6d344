//! Options of tools with which they check less, or with which they only say what they would do.

/// Options that mean the same for every tool, by their beginnings.
const OF_ALL: &[&str] = &[
    "--help",
    "--version",
    "--skip",
    "--ignore",
    "--exclude",
    "--deselect",
    "--filter",
    "--exit-zero",
    "--dry-run",
    "--list",
    "--collect-only",
    "--pass-with-no",
    "--passWithNoTests",
    "--only",
    "--disable-rule",
    "--no-fail-on",
    "--allow-fail",
    "--permit-no-files",
    "--generate-baseline",
    "--set-baseline",
    "--update-baseline",
    "--create-baseline",
];

/// Tools, by their first words, and their options.
#[rustfmt::skip]
const TABLE: &[(&[&str], &[&str])] = &[
    (&["pytest", "py.test"], &[
        "-k", "-m", "--co", "--collectonly", "--deselect", "--ignore-glob", "--setup-plan", "--setup-only", "--fixtures", "--markers", "-V", "-h", "--lf",
        "--last-failed", "--stepwise-skip", "--sw-skip", "-o", "--override-ini", "-c", "--config-file", "--noconftest", "--no-cov", "--reruns", "--only-rerun",
        "--testmon", "--picked", "--suppress-no-test-exit-code", "--snapshot-update", "--force-regen", "--update-golden", "--inline-snapshot", "-p=no",
    ]),
    (&["unittest", "nox", "rspec"], &["-k", "-t", "-e", "--tag", "--example", "-l", "--list-sessions"]),
    (&["tox"], &["--notest", "-n", "--skip-missing", "--showconfig", "-l", "--skip-env", "--skip-pkg"]),
    (&["jest"], &[
        "-t", "--testNamePattern", "--testPathIgnorePatterns", "--testPathPattern", "--listTests", "--showConfig", "-o", "--onlyChanged", "--changedSince",
        "--lastCommit", "--onlyFailures", "-f", "-u", "--updateSnapshot", "--findRelatedTests", "--selectProjects", "--ignoreProjects", "--testMatch", "--testRegex",
        "--ci=false", "--coverageThreshold={}",
    ]),
    (&["vitest"], &[
        "list", "related", "init", "bench", "-t", "--testNamePattern", "-u", "--update", "--dangerouslyIgnoreUnhandledErrors", "--changed", "--allowOnly", "--typecheck.only",
        "--retry", "--project", "--dir", "--run=false",
    ]),
    (&["mocha", "playwright", "cypress", "ava", "tape"], &[
        "-g", "--grep", "-f", "--fgrep", "-i", "--invert", "--retries", "--allow-uncaught", "--match", "--last-failed", "-u", "--update-snapshots", "--project", "--spec",
    ]),
    (&["node"], &["--test-name-pattern", "--test-skip-pattern", "--test-only", "--test-update-snapshots"]),
    (&["npm", "yarn", "pnpm", "bun"], &[
        "--if-present", "--ignore-scripts", "-t", "-k", "-u", "--grep", "--testNamePattern", "--testPathIgnorePatterns", "--updateSnapshot", "--update-snapshots",
        "--test-name-pattern", "--testPathPattern", "--quiet",
    ]),
    (&["eslint", "stylelint", "xo", "standard"], &[
        "--quiet", "--no-eslintrc", "--no-config-lookup", "--rule", "--suppress-all", "--suppress-rule", "--pass-on-", "--print-config", "--no-error-on-unmatched-pattern",
        "--env-info", "--init", "--inspect-config",
    ]),
    (&["tsc"], &["--noCheck", "--skipLibCheck", "--showConfig", "--init", "--noResolve", "-v", "-h"]),
    (&["ruff", "flake8", "pylint", "mypy", "bandit", "black", "isort", "pyright"], &[
        "-e", "--extend-ignore", "--extend-exclude", "--per-file-ignores", "--extend-per-file-ignores", "--isolated", "--add-noqa", "--fix-only", "--select", "--show-files",
        "--show-settings", "-d", "--disable", "-E", "--errors-only", "--rcfile=/dev/null", "--follow-imports", "--allow-", "--no-strict", "--no-check-untyped", "--no-warn",
        "--config-file=/dev/null", "--no-config", "--force-exclude", "-s", "-ll", "-lll",
    ]),
    (&["golangci-lint", "staticcheck"], &[
        "-D", "--disable", "--issues-exit-code", "--new", "--no-config", "--tests=false", "--fast", "--enable-only", "-E=none", "-checks", "-fail",
    ]),
    (&["cargo test", "cargo nextest", "cargo llvm-cov", "cargo tarpaulin", "cargo check"], &[
        "--no-run", "--lib", "--bins", "--bin", "--doc", "--test", "--tests", "--example", "--bench", "--ignored", "--cap-lints", "-E", "--filterset", "--filter-expr",
        "--no-tests", "--retries", "list", "--exact", "--no-clean",
    ]),
    (&["cargo clippy"], &["-A", "--allow", "--cap-lints", "--lib", "--bins", "--no-deps", "--fix"]),
    (&["go test", "richgo test", "gotestsum", "go vet"], &[
        "-run", "--run", "-skip", "-short", "-list", "-exec", "-c", "-n", "-vet=off", "-test.run", "-test.skip", "-test.short", "-test.list", "--rerun-fails",
    ]),
    (&["mvn"], &["-fn", "--fail-never", "-Dtest", "-Dit.test", "-Dgroups", "-DexcludedGroups", "-pl", "--projects", "-rf", "-h", "-v"]),
    (&["gradle"], &["-x", "--exclude-task", "--tests", "-m", "-h", "-v", "tasks", "help"]),
    (&["make", "just"], &["-n", "--just-print", "--recon", "-i", "-t", "--touch", "-q", "--question", "-o", "--old-file", "-W", "--what-if", "-h", "-v"]),
    (&["task"], &["-n", "--dry", "-l", "--list", "--list-all", "--status", "--init", "-h", "--version"]),
    (&["pre-commit"], &["--hook-stage", "--files", "install", "autoupdate"]),
    (&["coverage"], &["--omit", "--include", "-i"]),
    (&["dotnet", "swift", "deno", "phpunit", "mix"], &[
        "--list-tests", "--no-run", "--no-check", "--group", "--testsuite", "--dont-report", "-t",
    ]),
    (&["ctest"], &["-R", "-E", "-L", "-LE", "-N", "-I", "--tests-regex", "--rerun-failed"]),
];

/// Options of `cargo test` that have a value, so that it is no filter.
const WITH_VALUE: &[&str] = &[
    "-p",
    "--package",
    "-F",
    "--features",
    "--target",
    "--profile",
    "-j",
    "--jobs",
    "--manifest-path",
    "--test",
    "--bin",
    "--example",
    "--bench",
    "--exclude",
    "--color",
    "--message-format",
    "--target-dir",
    "--test-threads",
    "--skip",
    "-Z",
    "--config",
    "--format",
    "--logfile",
    "--shuffle-seed",
];

/// Returns the options of a call of a tool with which it checks less, as they are written.
pub(super) fn options(tool: &str, arguments: &str) -> Vec<String> {
    let known: Vec<&str> = TABLE
        .iter()
        .filter(|(tools, _)| is_of(tool, tools))
        .flat_map(|(_, options)| options.iter().copied())
        .collect();
    let words = words(arguments);
    let mut found = Vec::new();
    let mut is_value = false;
    for (at, word) in words.iter().enumerate() {
        let follows = words.get(at + 1).filter(|next| !next.starts_with('-')).map_or("", String::as_str);
        if std::mem::take(&mut is_value) {
            continue;
        }
        let is_narrow = known.iter().any(|option| is_option(word, follows, option, tool))
            || OF_ALL.iter().any(|option| word.starts_with(option))
            || is_general(tool, word, follows);
        // What runs no tests leaves none out.
        let is_narrow = is_narrow
            && !(tool == "mvn"
                && arguments.contains("skipTests")
                && matches!(word.as_str(), "-pl" | "--projects"));
        let is_filter = tool.starts_with("cargo test") && !word.starts_with('-') && is_name(word);
        if is_narrow || is_filter {
            let value = if word.contains('=') || is_filter { "" } else { follows };
            found.push(format!("{word} {value}").trim_end().to_owned());
        }
        is_value = WITH_VALUE.contains(&word.as_str()) && tool.starts_with("cargo");
    }
    found
}

/// Returns whether a tool is one of these, by its first words.
fn is_of(tool: &str, tools: &[&str]) -> bool {
    tools.iter().any(|known| {
        tool.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ':']))
    })
}

/// Returns whether a word is this option. One of a letter may have its value in the same word if it is one of pytest's.
fn is_option(word: &str, follows: &str, option: &str, tool: &str) -> bool {
    let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
    if let Some(value) = value {
        return word.strip_prefix(name).is_some_and(|rest| {
            let given = if rest.is_empty() { follows } else { rest.trim_start_matches('=') };
            given.trim_matches(['"', '\'']).starts_with(value)
        });
    }
    let Some(rest) = word.strip_prefix(name) else {
        // Letters may be joined: `make -ki`.
        let letter = name.strip_prefix('-').filter(|letter| letter.len() == 1);
        let joined =
            word.strip_prefix('-').filter(|word| word.chars().all(|letter| letter.is_ascii_lowercase()));
        return tool.starts_with("make")
            && letter.zip(joined).is_some_and(|(letter, word)| word.contains(letter));
    };
    let is_short = name.len() == 2 && name.starts_with('-');
    rest.is_empty()
        || rest.starts_with('=')
        || name.ends_with('-')
        || is_short && matches!(tool, "pytest" | "py.test")
        || name.starts_with("--") && name.len() > 6 && !name.contains('.') && rest.starts_with(['-', 's'])
}

/// Returns whether a word sets a property that leaves tests out, or switches a check off.
fn is_general(tool: &str, word: &str, follows: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    match tool.split(' ').next().unwrap_or(tool) {
        "mvn" | "gradle" => {
            let property = lower.strip_prefix("-d").or_else(|| lower.strip_prefix("-p"));
            property.is_some_and(|property| {
                let (name, value) = property.split_once('=').unwrap_or((property, "true"));
                value != "false" && ["skip", "ignore", "exclude"].iter().any(|part| name.contains(part))
                    || value == "false" && name.contains("fail")
            })
        }
        "make" | "just" => ["shell=", "makeflags=", "mflags="].iter().any(|name| lower.starts_with(name)),
        // An option of the compiler that is set to false.
        "tsc" => word.starts_with("--") && follows == "false",
        _ => false,
    }
}

/// Returns whether a word may be the name of tests.
fn is_name(word: &str) -> bool {
    !word.is_empty()
        && word.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | ':' | '"' | '\''))
        && word.chars().any(char::is_alphabetic)
}

/// Returns the words of a call up to the end of the command.
fn words(arguments: &str) -> Vec<String> {
    let end = arguments.find([';', '|', '&', '#', ')', '>']).unwrap_or(arguments.len());
    let mut words = Vec::new();
    for word in arguments[..end].split_whitespace() {
        let word = word.trim_matches(['"', '\'', ',', '[', ']', '`']);
        // `-p no:cacheprovider` is one option.
        match words.last_mut() {
            Some(last) if last == "-p" && word.starts_with("no:") => *last = format!("-p={word}"),
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Returns whether an option leaves something out that others did not. A selection of packages that is another one may be of the same
/// packages under other names.
pub(super) fn is_new(option: &str, known: &[String]) -> bool {
    let name = |option: &str| option.split([' ', '=']).next().unwrap_or_default().to_owned();
    let is_of_packages =
        matches!(name(option).as_str(), "-p" | "--package" | "-pl" | "--projects" | "--project");
    !known.iter().any(|other| other == option || is_of_packages && name(other) == name(option))
}

/// Returns whether the calls of one tool together leave out nothing: what one of them leaves out, another one runs.
pub(super) fn are_whole(calls: &[Vec<String>]) -> bool {
    let selection = |options: &Vec<String>| -> Option<(String, bool)> {
        let [option] = options.as_slice() else { return None };
        let (name, value) = option.split_once([' ', '='])?;
        let value = value.trim_matches(['"', '\'', ' ']);
        let rest = value.strip_prefix("not").map(str::trim);
        matches!(name, "-m" | "-k" | "--tag").then(|| (rest.unwrap_or(value).to_owned(), rest.is_some()))
    };
    let found: Vec<(String, bool)> = calls.iter().filter_map(selection).collect();
    found
        .iter()
        .any(|(value, is_not)| found.iter().any(|(other, other_not)| value == other && is_not != other_not))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_in_every_spelling() {
        for (tool, arguments, expected) in [
            ("pytest", "tests -k 'not a'", &["-k 'not a'"][..]),
            ("pytest", "-q -n auto --cov=shop --tb=short", &[]),
            ("pytest", "-knothing", &["-knothing"]),
            ("pytest", "-p no:cov", &["-p=no:cov"]),
            ("cargo test", "-p shop --features a one -- --nocapture", &["one"]),
            ("cargo test", "--workspace -- --test-threads 1", &[]),
            ("mvn", "-B verify -Djacoco.skip -DskipTests=false", &["-Djacoco.skip"]),
            ("make check", "-ki check", &["-ki check"]),
            ("tsc", "--noEmit --strict false", &["--strict false"]),
            ("go test", "-run=^$ ./... && echo", &["-run=^$"]),
        ] {
            let found = options(tool, arguments);
            let expected: Vec<String> = expected.iter().map(|text| text.replace(['\'', '"'], "")).collect();
            let short = |all: &[String]| {
                all.iter().map(|one| one.split(' ').next().unwrap_or("").to_owned()).collect::<Vec<_>>()
            };
            assert_eq!(short(&found), short(&expected), "{tool} {arguments}");
        }
    }
}
