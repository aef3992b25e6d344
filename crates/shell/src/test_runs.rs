//! Test runs: whether a command runs a project's tests, going by its program and by the target that it names, and whether it runs all.

use super::options::is_in;
use super::table::{is_of_checkout, known_name};
use super::variables::is_loader;
use super::wrappers::{is_assignment, is_shell};

/// Programs that run tests, or the targets of a project.
struct Runner {
    names: &'static str,
    /// Sub-commands and targets that run tests, besides those whose names say so. A program without any runs tests by itself.
    subs: &'static str,
    /// How many targets it takes.
    targets: Targets,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Targets {
    /// One, and what follows is for the target.
    One,
    /// All words that are no options.
    All,
    /// Values of `-e` and `-s`.
    Options,
}

const RUNNERS: [Runner; 6] = [
    Runner {
        names: "pytest py.test nose2 unittest stestr gotestsum jest vitest mocha ava jasmine karma tap rspec phpunit pest ctest bats \
                nextest invoke-pester",
        subs: "",
        targets: Targets::One,
    },
    Runner { names: "tox nox", subs: "", targets: Targets::Options },
    Runner {
        names: "npm pnpm yarn bun lerna nx turbo composer poetry uv pipenv hatch pdm pixi poe rye bundle rails mix sbt lein cargo go \
                dotnet swift deno dart flutter zig playwright npx bunx pnpx",
        subs: "test t tst nextest",
        targets: Targets::One,
    },
    Runner {
        names: "make gmake just task rake invoke inv mage ninja ant",
        subs: "test",
        targets: Targets::All,
    },
    Runner { names: "mvn mvnw", subs: "test verify integration-test", targets: Targets::All },
    Runner { names: "gradle gradlew", subs: "test", targets: Targets::All },
];

/// Programs, beside shells, that run a script in a file.
const INTERPRETERS: &str = "python python3 pypy pypy3 node ruby php perl tsx ts-node pwsh coverage";

/// Sub-commands behind which the target follows.
const BEFORE_TARGETS: &str = "run run-script exec x dlx";

/// Words of a name that say that it runs tests.
const TESTS: &str = "test tests spec specs unittest unittests pytest jest vitest mocha ava rspec phpunit pest ctest tox nox nextest bats";

/// Words of a name that say that something else is done, maybe with the tests.
const OTHERS: &str = "lint format fmt check types typecheck compile build clean list data fixture fixtures setup install deps server debug";

/// Words of a name that leave out nothing.
const WHOLE: &str = "run all ci full coverage cov check verify build main validate pipeline gate gates quality pre commit precommit do default \
                     everything scripts script bin ./... discover";

/// Options that leave out no test.
const PLAIN: &str = "-- -q -v -s -x -B -ra -rA -race -count=1 --verbose --quiet --silent --workspace --workspaces --all --all-features \
                     --all-targets --locked --offline --frozen --release --no-fail-fast --no-header --nocapture --runInBand --ci \
                     --coverage --cov --test --no-cov --all-extras -r -cover -b --batch-mode --no-daemon --color --colors -o -fae -ntp \
                     --no-transfer-progress --no-build --no-restore --continue --failfast -failfast --fail-fast -json --ff";

/// Starts of such options with a value.
const PLAIN_VALUES: [&str; 12] = [
    "--cov=",
    "--cov-report=",
    "--tb=",
    "--color=",
    "--reporter=",
    "-timeout=",
    "--durations=",
    "--junitxml=",
    "--junit-xml=",
    "--maxfail=",
    "-coverprofile=",
    "--test-threads=",
];

/// Options in front of a target that have a value.
const BEFORE_VALUES: &str = "--package --extra --group --only-group --with --with-editable --with-requirements --python -p --env-file --project \
                             --directory --cwd --dir --prefix -C -F --filter --workspace -X -W";

/// Those of them that choose a package or a folder; other options in front of a target are about the program that runs it.
const BEFORE_CHOOSING: &str = "--project --directory --cwd --dir --prefix -C -F --filter --workspace";

/// Options of build tools that leave out no test: how many at once, and what happens after a failure.
const OF_BUILD_TOOLS: &str = "-k -s -S -j -T -U -am --keep-going --jobs --parallel --info --stacktrace";

/// Options of runners by which no test runs.
const LISTING: &str = "--collect-only --collectonly --co --list --list-tests --listTests -list --help -h --version -V --no-run --fixtures \
                       --markers --setup-plan --showConfig --notest --dry-run --just-print";

/// Parts of the names of variables that can choose tests.
const CHOOSING: &str = "TEST TESTS ONLY SKIP FILTER GREP PATTERN SUITE";

/// Variables that decide what is loaded, but hardly ever which tests run.
const HARMLESS: &str = "PYTHONPATH NODE_PATH CARGO_TARGET_DIR UV_CACHE_DIR PIP_CACHE_DIR";

/// What a command that may run tests does, as far as its words tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestRun {
    /// Whether its program or its target is named for tests; otherwise only its output can tell.
    pub is_named: bool,
    /// Whether nothing chooses some of the tests.
    pub is_whole: bool,
}

/// Returns what a command does about tests, given its words; `None` if it runs none, or only lists them.
///
/// ```
/// use shell::test_run;
///
/// let is_named = |line: &str| test_run(&line.split(' ').collect::<Vec<_>>()).map(|run| run.is_named);
/// assert_eq!(is_named("npm run test:unit"), Some(true));
/// assert_eq!(is_named("make ci"), Some(false));
/// assert_eq!(is_named("mkdir tests"), None);
/// ```
pub fn test_run(words: &[&str]) -> Option<TestRun> {
    let (program, arguments) = words.split_first()?;
    let name = known_name(program).unwrap_or(program);
    let is_listing = |word: &&str| {
        is_in(LISTING, word) || word.starts_with("-DskipTests") || word.starts_with("-Dmaven.test.skip")
    };
    if let Some(runner) = RUNNERS.iter().find(|runner| is_in(runner.names, name)) {
        if arguments.iter().any(is_listing) {
            return None;
        }
        let Some(excluded) = excluded_tasks(arguments).filter(|_| is_in("gradle gradlew", name)) else {
            return runner.read(name, arguments);
        };
        // Of the tasks that run tests, some are left out, or all.
        let run = runner.read(name, &excluded.others)?;
        let is_left = run.is_named || !excluded.has_tests;
        return is_left.then_some(TestRun { is_whole: run.is_whole && !excluded.has_tests, ..run });
    }
    if is_shell(name)
        || is_in(INTERPRETERS, name.trim_end_matches(|sign: char| sign == '.' || sign.is_ascii_digit()))
    {
        // Node's own runner.
        if name == "node" && arguments.contains(&"--test") {
            return Some(TestRun { is_named: true, is_whole: are_plain(arguments) });
        }
        let script = operand(arguments, 0, name)?;
        // The module of `python -X dev -m pytest` and `coverage run -m pytest`.
        if let Some(at) = arguments.iter().position(|word| *word == "-m")
            && (at < script || arguments[script] == "run")
        {
            return test_run(&arguments[at + 1..]);
        }
        let is_inline =
            arguments[..script].iter().any(|word| word.ends_with(['c', 'e', 'm']) && !word.starts_with("--"));
        return if is_inline { None } else { script_run(arguments[script], &arguments[script + 1..]) };
    }
    is_of_checkout(program).then(|| script_run(program, arguments)).flatten()
}

/// Tasks that Gradle is told to leave out.
struct ExcludedTasks<'a> {
    /// Whether one of them runs tests.
    has_tests: bool,
    /// The other words of the command.
    others: Vec<&'a str>,
}

/// Returns the tasks that words leave out; `None` if they leave out none.
fn excluded_tasks<'a>(words: &[&'a str]) -> Option<ExcludedTasks<'a>> {
    let mut found = ExcludedTasks { has_tests: false, others: Vec::new() };
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match *word {
            "-x" | "--exclude-task" => found.has_tests |= rest.next().is_some_and(|task| is_test(task)),
            word => found.others.push(word),
        }
    }
    (found.others.len() < words.len()).then_some(found)
}

/// Returns what a script of the project does, by its own name or by the target that it is given.
fn script_run(script: &str, arguments: &[&str]) -> Option<TestRun> {
    let file = script.rsplit('/').next().unwrap_or(script);
    let name = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    if arguments.iter().any(|word| is_in(LISTING, word)) {
        return None;
    }
    let target = arguments.first().filter(|word| is_in("test tests", word));
    match target {
        Some(target) => Some(TestRun { is_named: is_test(target), is_whole: are_plain(&arguments[1..]) }),
        None => Some(TestRun { is_named: is_test(name), is_whole: is_whole(name) && are_plain(arguments) }),
    }
}

impl Runner {
    fn read(&self, name: &str, arguments: &[&str]) -> Option<TestRun> {
        match self.targets {
            Targets::One if self.subs.is_empty() => {
                Some(TestRun { is_named: true, is_whole: are_plain(arguments) })
            }
            Targets::One => {
                let first = operand(arguments, 0, name)?;
                let is_before = is_in(BEFORE_TARGETS, arguments[first]);
                let at = if is_before { operand(arguments, first + 1, name)? } else { first };
                let (target, rest) = (arguments[at], &arguments[at + 1..]);
                let chooses = |word: &&str| {
                    is_in(BEFORE_CHOOSING, word.split('=').next().unwrap_or(word))
                        || *word == "-w" && name == "npm"
                };
                let is_plain = are_plain(rest) && !arguments[..at].iter().any(chooses);
                let is_named = is_in(self.subs, target) || is_test(target);
                // Go tests one package unless it is told otherwise.
                let is_one = is_in("go", name) && !rest.contains(&"./...");
                Some(TestRun {
                    is_named,
                    is_whole: is_plain && !is_one && (is_in(self.subs, target) || is_whole(target)),
                })
            }
            Targets::All => {
                let (options, operands): (Vec<&str>, Vec<&str>) =
                    arguments.iter().partition(|word| word.starts_with('-') || is_assignment(word));
                let is_sub = |word: &&str| is_in(self.subs, word) || is_test(word);
                let is_named = operands.iter().any(is_sub);
                let mut named = operands.iter().filter(|word| !is_named || is_sub(word));
                let is_whole =
                    operands.is_empty() || named.any(|word| is_in(self.subs, word) || is_whole(word));
                let left: Vec<&str> = options
                    .into_iter()
                    .filter(|word| {
                        let bare = word.trim_end_matches(|sign: char| sign.is_ascii_digit());
                        !is_in(OF_BUILD_TOOLS, bare)
                    })
                    .collect();
                Some(TestRun { is_named, is_whole: is_whole && are_plain(&left) })
            }
            Targets::Options => {
                let chosen = arguments.iter().position(|word| is_in("-e -s --session --sessions", word));
                let Some(target) = chosen.and_then(|at| arguments.get(at + 1)) else {
                    return Some(TestRun { is_named: true, is_whole: are_plain(arguments) });
                };
                Some(TestRun { is_named: is_test(target), is_whole: false })
            }
        }
    }
}

/// Returns the place of the first word from some place on that is no option, no value of one, and no name of a toolchain. npm's `-w` has a
/// value, pnpm's has none.
fn operand(arguments: &[&str], from: usize, name: &str) -> Option<usize> {
    let has_value = |word: &str| is_in(BEFORE_VALUES, word) || word == "-w" && name == "npm";
    let is_value = |at: usize| at.checked_sub(1).is_some_and(|before| has_value(arguments[before]));
    (from..arguments.len()).find(|at| !arguments[*at].starts_with(['-', '+']) && !is_value(*at))
}

/// Returns the words of a name.
fn words_of(name: &str) -> impl Iterator<Item = &str> {
    name.split(['-', '_', ':', '/', '.']).filter(|word| !word.is_empty())
}

/// Returns whether the name of a script or target says that it runs tests.
fn is_test(name: &str) -> bool {
    words_of(name).any(|word| is_in(TESTS, word)) && !words_of(name).any(|word| is_in(OTHERS, word))
}

/// Returns whether the name of a script or target names no part of the tests.
fn is_whole(name: &str) -> bool {
    words_of(name).all(|word| is_in(TESTS, word) || is_in(WHOLE, word))
}

/// Returns whether words choose no tests.
fn are_plain(words: &[&str]) -> bool {
    words.iter().all(|word| {
        let is_cluster = word.len() > 1
            && word
                .strip_prefix('-')
                .is_some_and(|letters| letters.chars().all(|letter| "qvsx".contains(letter)));
        is_cluster
            || is_in(PLAIN, word)
            || matches!(*word, "./..." | "discover" | "run" | "clean")
            || PLAIN_VALUES.iter().any(|start| word.starts_with(start))
            || is_assignment(word) && !chooses_tests(word)
    })
}

/// Returns whether a word sets a variable that can hold options of a runner, or choose tests: `NAME=value`.
pub fn chooses_tests(word: &str) -> bool {
    is_assignment(word)
        && word.split_once('=').is_some_and(|(name, _)| {
            let parts = name.split('_').any(|part| is_in(CHOOSING, part));
            (parts || is_loader(name)) && !is_in(HARMLESS, name)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_tests_are_known_by_program_and_target() {
        let read = |line: &str| match test_run(&line.split(' ').collect::<Vec<_>>()) {
            None => "none",
            Some(TestRun { is_named: true, is_whole: true }) => "all",
            Some(TestRun { is_named: true, is_whole: false }) => "some",
            Some(TestRun { is_named: false, is_whole: true }) => "maybe all",
            Some(TestRun { is_named: false, is_whole: false }) => "maybe",
        };
        for (expected, lines) in [
            (
                "all",
                "pytest -q|pytest|cargo test --workspace|cargo t|cargo nextest run|go test ./...|npm test|npm run test|yarn test|\
                 npm t|make test|make lint test|make test V=1|just test|mvn clean verify|mvn -q test|gradle clean test|./gradlew test|./test.sh|\
                 scripts/run-tests.sh|bash test.sh|tox|nox|uv run pytest|python3 manage.py test|bin/rails test|./dev.sh test|\
                 dotnet test|mix test|npm run test:ci|node --test|.venv/bin/pytest|make test-all|python3 run_tests.py|\
                 pytest -qx --tb=short|mvn -o -fae -ntp test|dotnet test --no-build|./gradlew test --continue|pytest --durations=10|\
                 ./gradlew test -x lint|./gradlew build test --exclude-task docs|uv run --package shop pytest|uv run --with a --python 3.12 pytest -q|\
                 poetry run pytest|npx -y vitest run|npx --no-install jest|cargo +nightly test|python -X dev -m pytest|python3 -m pytest -q|\
                 coverage run -m pytest|pnpm -r test|pnpm -w test|make -j4 test|make -k -j 4 test|mvn -T 4 -U test|./gradlew test --info",
            ),
            (
                "some",
                "pytest tests|pytest -k total|pytest -m slow|cargo test total|go test .|npm run test:unit|make unit-tests|\
                 make test TESTS=a|npm test -- -t total|python3 tests/test_shop.py|gradle :app:test|tox -e test|make -n test|\
                 make -C app test|go test ./shop|jest list|./test.sh shop|go test|go test -v|\
                 gradle test -x :app:test|pnpm -F shop test|pnpm --filter=shop test|npm -w shop test|yarn --cwd app test|go -C app test ./...|\
                 uv run --directory app pytest|poetry -C app run pytest|uv run pytest tests|npx -y vitest total|python -X dev -m pytest -k a|\
                 cargo +nightly test total|mvn -pl shop -am test|make -j4 test TESTS=a|coverage run -m pytest tests/test_a.py",
            ),
            (
                "maybe all",
                "make ci|make check|make|./ci.sh|just check|bash .ci/run|npm run ci|npm run build|cargo check|make verify",
            ),
            (
                "maybe",
                "npm run format:check|npm run lint:tests|make test-data|make compile-tests|tox -e lint|python3 tests/debug.py|\
                       gradle spotlessCheck|./scripts/deploy.sh|npm run unit|go build ./tests|npm install tests",
            ),
            (
                "none",
                "mkdir tests|git checkout tests|ruff check .|test -f x|cat tests/test_a.py|pytest --collect-only -q|jest --listTests|\
                 cargo test --no-run|pytest --help|python3 -c print|mvn verify -DskipTests|ls spec|echo test|prettier --check tests|\
                 ./gradlew build -x test|gradle assemble --exclude-task test",
            ),
        ] {
            for line in lines.split('|') {
                assert_eq!(read(line.trim()), expected, "{line}");
            }
        }
    }

    #[test]
    fn variables_that_choose_tests_are_known() {
        for (word, chooses) in [
            ("PYTEST_ADDOPTS=-k", true),
            ("TESTS=shop", true),
            ("MAKEFLAGS=-n", true),
            ("GOFLAGS=-run=x", true),
            ("TEST_FILTER=x", true),
            ("CI=1", false),
            ("PYTHONPATH=src", false),
            ("RUST_BACKTRACE=1", false),
            ("NODE_ENV=test", false),
            ("--filter=x", false),
            ("latest", false),
        ] {
            assert_eq!(chooses_tests(word), chooses, "{word}");
        }
    }
}
