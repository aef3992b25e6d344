//! What is known about programs: one row each. To allow another command, add a row and a case to
//! `tests/cases/commands.yml`.

use super::analysis::{Simple, Walk, Word};
use super::classify::Class;

/// Which arguments of a program are files that it reads, and so must lie in the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operands {
    /// None of them, or none that matters.
    Any,
    /// All that are no options.
    Files,
    /// All but the first, which is a pattern or a program of its own.
    PatternThenFiles,
    /// There must be none.
    None,
    /// One at the most.
    One,
}

/// A program, or a sub-command of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// Its names, apart by blanks.
    pub(super) names: &'static str,
    pub(super) class: Class,
    pub(super) operands: Operands,
    /// Options that make it dangerous, apart by blanks. A short one counts in a cluster as well, a long
    /// one when cut short.
    pub(super) deny: &'static str,
    /// If not empty, the first argument that is no option has to be one of these.
    pub(super) subs: &'static [Rule],
}

const fn rule(names: &'static str, class: Class) -> Rule {
    Rule { names, class, operands: Operands::Any, deny: "", subs: &[] }
}

const fn safe(names: &'static str) -> Rule {
    rule(names, Class::Safe)
}

const fn dev(names: &'static str) -> Rule {
    rule(names, Class::Dev)
}

impl Rule {
    const fn files(self) -> Self {
        Self { operands: Operands::Files, ..self }
    }

    const fn pattern_then_files(self) -> Self {
        Self { operands: Operands::PatternThenFiles, ..self }
    }

    const fn alone(self) -> Self {
        Self { operands: Operands::None, ..self }
    }

    const fn one_file(self) -> Self {
        Self { operands: Operands::One, ..self }
    }

    const fn deny(self, deny: &'static str) -> Self {
        Self { deny, ..self }
    }

    const fn subs(self, subs: &'static [Rule]) -> Self {
        Self { subs, ..self }
    }

    pub(super) fn is_named(&self, name: &str) -> bool {
        self.names.split(' ').any(|known| known == name)
    }
}

/// The row of a program.
pub(super) fn find(name: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.is_named(name))
}

/// Options of Git's that write files or run programs, whatever the sub-command.
const GIT_DENY: &str = "--output --ext-diff --textconv -O --open-files-in-pager --upload-pack --exec";

static RULES: &[Rule] = &[
    // Looking at files.
    safe("ls cat head tail wc du df stat file realpath cmp diff tac nl od hexdump xxd md5sum sha1sum sha256sum readlink")
        .files()
        .deny("-C --compile --files0-from"),
    safe("tree").files().deny("-o --output"),
    safe("sort").files().deny("-o --output --compress-program -T --temporary-directory --files0-from"),
    safe("uniq").one_file(),
    safe("cut paste column fold expand rev comm join").files(),
    safe("grep egrep fgrep").pattern_then_files().deny("-f --file"),
    safe("rg").pattern_then_files().deny("--pre --pre-glob --search-zip -z --hostname-bin -f --file --ignore-file"),
    safe("jq").pattern_then_files().deny("-f --from-file -L --rawfile --slurpfile --argfile"),
    safe("find").files().deny("-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from"),
    safe("tr seq yes sleep"),
    // Looking at the machine.
    safe("which type hash pwd echo printf basename dirname uname whoami id hostname nproc arch uptime getconf locale tty"),
    safe("date").deny("-s --set"),
    safe("test [ [[ true false : return exit break continue shift wait times umask ulimit getopts let"),
    safe("cd pushd popd dirs").files(),
    // Setting up the shell; what is set is checked as an assignment.
    safe("export readonly local declare typeset set unset shopt read"),
    // Version control.
    safe("git").deny("-c --config-env --exec-path --git-dir --work-tree -p --paginate").subs(&[
        safe("status log diff show rev-parse blame ls-files ls-tree describe shortlog rev-list merge-base cat-file name-rev whatchanged diff-tree for-each-ref show-ref")
            .files()
            .deny(GIT_DENY),
        safe("grep").pattern_then_files().deny("-O --open-files-in-pager -f --ext-grep"),
        safe("branch")
            .alone()
            .deny("-d -D -m -M -c -C -f -u --delete --move --copy --force --set-upstream-to --unset-upstream --edit-description --track"),
        safe("remote").alone(),
        safe("version help").deny("-w -i -m --web --info --man"),
    ]),
    // Python.
    dev("pytest py.test mypy ruff black isort flake8 pyright pylint tox nox"),
    dev("python python3").deny("-c -i -").subs(&[]),
    safe("pip pip3").subs(&[safe("list show freeze check").deny("--log"), dev("install").alone()]),
    dev("uv").subs(&[dev("run sync")]),
    dev("poetry").subs(&[dev("run install")]),
    // JavaScript.
    dev("eslint prettier tsc jest vitest"),
    dev("node"),
    safe("npm").subs(&[
        safe("list ls outdated root prefix"),
        dev("test t run run-script ci"),
        dev("install i").alone().deny("-g --global --prefix"),
    ]),
    dev("pnpm yarn").subs(&[safe("list ls why"), dev("test run ci"), dev("install i").alone().deny("-g --global --prefix --dir -C")]),
    // Rust.
    dev("cargo").deny("--config -Z -C").subs(&[
        safe("check metadata tree"),
        dev("build b test t clippy fmt nextest doc bench"),
    ]),
    // Go.
    dev("go").subs(&[
        dev("build test vet fmt").deny("-exec -toolexec -vettool -overlay"),
        dev("mod").subs(&[dev("tidy")]),
        safe("version"),
    ]),
    dev("gofmt golangci-lint"),
    // Java.
    dev("mvn gradle gradlew mvnw"),
    // .NET, Swift, Ruby, PHP.
    dev("dotnet").subs(&[dev("build test format")]),
    dev("swift").subs(&[dev("build test")]),
    dev("rake rspec rubocop"),
    dev("bundle").subs(&[dev("exec install")]),
    dev("composer").subs(&[dev("install")]),
    dev("phpunit"),
    // Build tools.
    dev("make cmake ninja just task"),
    dev("pre-commit").subs(&[dev("run")]),
    // Looking at what runs.
    dev("docker").deny("-H --host -c --context --config").subs(&[dev("ps")]),
    dev("kubectl").deny("--kubeconfig --server -s --token --as").subs(&[dev("get")]),
];

/// Modules that `python -m` may run.
pub(super) const PYTHON_MODULES: &str =
    "pytest unittest mypy ruff black coverage isort flake8 compileall json.tool doctest";

/// Programs whose version may be asked for.
pub(super) const VERSIONED: &str = "python python3 node npm npx pnpm yarn deno bun cargo rustc rustup rustfmt go gofmt java javac mvn gradle kotlinc scala ruby gem bundle rails php composer perl bash sh zsh gcc g++ clang clang++ cc make cmake ninja git docker kubectl helm terraform dotnet swift pip pip3 uv poetry tsc jest vitest eslint prettier curl wget jq rg patch ghc stack elixir mix erl lua zig nim R julia psql sqlite3 aws gcloud az gh";

/// How a version is asked for.
pub(super) const VERSION_OPTIONS: &str = "--version -V -version version -v";

/// Programs of a project's own tool folders are known by their last name.
const TOOL_FOLDERS: [&str; 9] = [
    "node_modules/.bin/",
    ".venv/bin/",
    "venv/bin/",
    "vendor/bin/",
    "bin/",
    "/usr/bin/",
    "/bin/",
    "/usr/local/bin/",
    "",
];

/// The name that a program is known by: itself, or the last part of a path to where tools lie.
pub(super) fn known_name(name: &str) -> Option<&str> {
    let name = name.strip_prefix("./").unwrap_or(name);
    let (folder, last) =
        name.rsplit_once('/').map_or(("", name), |(_, last)| name.split_at(name.len() - last.len()));
    let is_wrapper_script = matches!(last, "gradlew" | "mvnw");
    let known = TOOL_FOLDERS.contains(&folder)
        && (folder != "bin/" || matches!(last, "rake" | "rspec" | "bundle" | "rubocop" | "phpunit"));
    (known || is_wrapper_script && !folder.contains("..")).then_some(last)
}

/// Options of wrappers that take a value of their own.
struct Wrapper {
    names: &'static str,
    /// Short and long options with a value in the next word.
    values: &'static str,
    /// Options without one.
    plain: &'static str,
    /// Words before the command that are no options.
    operands: usize,
}

const WRAPPERS: [Wrapper; 7] = [
    Wrapper {
        names: "timeout",
        values: "-s --signal -k --kill-after",
        plain: "--foreground --preserve-status -v --verbose",
        operands: 1,
    },
    Wrapper { names: "nice", values: "-n --adjustment", plain: "", operands: 0 },
    Wrapper { names: "nohup setsid exec builtin time", values: "", plain: "-p -c -w", operands: 0 },
    Wrapper { names: "stdbuf", values: "-i -o -e", plain: "", operands: 0 },
    Wrapper { names: "ionice", values: "-c -n -p", plain: "-t", operands: 0 },
    Wrapper {
        names: "xargs",
        values: "-a -d -E -I -L -n -P -s --arg-file --delimiter --max-args --max-procs --max-lines --replace",
        plain: "-0 --null -r --no-run-if-empty -t --verbose -x --exit",
        operands: 0,
    },
    Wrapper {
        names: "sudo doas",
        values: "-u -g -h -p -C -U",
        plain: "-n -E -H -S -k -i -s -b",
        operands: 0,
    },
];

/// Shells whose `-c` takes a script.
const SHELLS: &str = "bash sh dash zsh ksh ash";

pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.split(' ').any(|shell| shell == name)
}

/// Whether a command does nothing but run another one.
pub(super) fn is_wrapper(name: &str) -> bool {
    matches!(name, "env" | "command" | "eval")
        || WRAPPERS.iter().any(|wrapper| wrapper.names.split(' ').any(|known| known == name))
}

/// Finds the command that a command runs, and walks through it.
pub(super) fn unwrap(simple: &Simple, walk: &mut Walk) {
    let Some(name) = simple.name().and_then(known_name) else { return };
    let name = name.to_owned();
    let arguments = simple.arguments();
    match name.as_str() {
        "env" => match env_command(arguments) {
            Some(inner) if !inner.is_empty() => walk.wrapped(inner, "env"),
            Some(_) => {}
            None => walk.eval(None, "env"),
        },
        "command"
            if arguments.first().and_then(Word::text).is_some_and(|text| matches!(text, "-v" | "-V")) => {}
        "command" => walk.wrapped(after_options(arguments, "", "-p"), "command"),
        "eval" => {
            let known: Option<Vec<&str>> = arguments.iter().map(Word::text).collect();
            let script = known.map(|words| words.join(" "));
            walk.eval(script.as_deref(), "eval");
        }
        "find" => {
            for (at, word) in arguments.iter().enumerate() {
                if word.text().is_some_and(|text| matches!(text, "-exec" | "-execdir" | "-ok" | "-okdir")) {
                    let rest = &arguments[at + 1..];
                    let end = rest
                        .iter()
                        .position(|word| matches!(word.text(), Some(";" | "+")))
                        .unwrap_or(rest.len());
                    walk.wrapped(&rest[..end], "find");
                }
            }
        }
        shell if is_shell(shell) => {
            let script = arguments.iter().position(|word| {
                word.text().is_some_and(|text| {
                    text.starts_with('-') && !text.starts_with("--") && text.contains('c')
                })
            });
            if let Some(script) = script.and_then(|at| arguments.get(at + 1)) {
                walk.eval(script.text(), &format!("{shell} -c"));
            }
        }
        other => {
            let wrapper =
                WRAPPERS.iter().find(|wrapper| wrapper.names.split(' ').any(|known| known == other));
            if let Some(wrapper) = wrapper {
                let inner = after_options(arguments, wrapper.values, wrapper.plain);
                let inner = inner.get(wrapper.operands..).unwrap_or_default();
                if !inner.is_empty() {
                    walk.wrapped(inner, other);
                }
            }
        }
    }
}

/// What follows the options; an unknown option is taken for the command, which then is not known.
fn after_options<'a>(arguments: &'a [Word], values: &str, plain: &str) -> &'a [Word] {
    let mut rest = arguments;
    while let Some(text) =
        rest.first().and_then(Word::text).filter(|text| text.starts_with('-') && *text != "-")
    {
        if text == "--" {
            return &rest[1..];
        }
        let has =
            |list: &str, option: &str| list.split(' ').any(|known| !known.is_empty() && known == option);
        let joined = text.split_once('=').is_some_and(|(option, _)| has(values, option))
            || text
                .get(..2)
                .is_some_and(|option| text.len() > 2 && !text.starts_with("--") && has(values, option));
        if has(values, text) {
            rest = rest.get(2..).unwrap_or_default();
        } else if has(plain, text) || joined || text[1..].chars().all(|c| c.is_ascii_digit()) {
            rest = &rest[1..];
        } else {
            break;
        }
    }
    rest
}

/// What `env` runs; `None` where an option makes that unclear.
fn env_command(arguments: &[Word]) -> Option<&[Word]> {
    let mut rest = arguments;
    loop {
        let Some(text) = rest.first().map(Word::text) else { return Some(rest) };
        match text? {
            "-i" | "--ignore-environment" | "-0" | "--null" | "--" => rest = &rest[1..],
            "-u" | "--unset" => rest = rest.get(2..)?,
            text if text.starts_with("--unset=") || is_assignment(text) => rest = &rest[1..],
            text if text.starts_with('-') => return None,
            _ => return Some(rest),
        }
    }
}

/// Whether a word is `NAME=value`.
pub(super) fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}
