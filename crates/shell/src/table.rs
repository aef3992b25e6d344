//! Table of known programs, one row each, for commands without a sandbox. To allow another command, add a
//! row, and a case to `tests/cases/commands.yml`.

use super::class::Class;
use super::options::is_in;

/// Which arguments of a program are files that it reads, and so must be in the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operands {
    /// None of them, or none that matters.
    Any,
    /// All that are not options.
    Files,
    /// All but the first, which is a pattern or a program.
    PatternThenFiles,
    /// There must be none.
    None,
    /// There may be one at most.
    One,
}

/// A program, or a sub-command of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// Its names, separated by spaces.
    pub(super) names: &'static str,
    pub(super) class: Class,
    pub(super) operands: Operands,
    /// Options that make it dangerous, separated by spaces. A short one also counts in a cluster, a long one
    /// also when abbreviated.
    pub(super) deny: &'static str,
    /// The sub-commands of which the first argument that is not an option must be one; any argument is
    /// allowed if empty.
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
        is_in(self.names, name)
    }
}

/// Returns the row of a program.
pub(super) fn find(name: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.is_named(name))
}

/// Options of Git that write files or run programs, whatever the sub-command.
const GIT_DENY: &str = "--output --ext-diff --textconv -O --open-files-in-pager --upload-pack --exec";

static RULES: &[Rule] = &[
    // Looking at files.
    safe("file").files().deny("-C --compile -f --files-from -m --magic-file"),
    safe("ls cat head tail wc du df stat realpath cmp diff tac nl od hexdump xxd md5sum sha1sum sha256sum readlink")
        .files()
        .deny("--files0-from"),
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
    safe("date").deny("-s --set -f --file -r --reference"),
    safe("test [ [[ true false : return exit break continue shift wait times umask ulimit getopts let"),
    safe("cd pushd popd dirs").files(),
    // Setting up the shell; what is set is checked like an assignment.
    safe("export readonly local declare typeset set unset shopt read"),
    // Version control.
    safe("git").deny("-c --config-env --exec-path --git-dir --work-tree -p --paginate").subs(&[
        safe("blame").files().deny("-S --contents --ignore-revs-file"),
        safe("status log diff show rev-parse ls-files ls-tree describe shortlog rev-list merge-base cat-file name-rev whatchanged diff-tree for-each-ref show-ref")
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
        dev("check c metadata tree build b test t clippy fmt nextest doc bench"),
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

/// Programs that may be asked for their version.
pub(super) const VERSIONED: &str = "python python3 node npm npx pnpm yarn deno bun cargo rustc rustup rustfmt go gofmt java javac mvn gradle kotlinc scala ruby gem bundle rails php composer perl bash sh zsh gcc g++ clang clang++ cc make cmake ninja git docker kubectl helm terraform dotnet swift pip pip3 uv poetry tsc jest vitest eslint prettier curl wget jq rg patch ghc stack elixir mix erl lua zig nim R julia psql sqlite3 aws gcloud az gh";

/// Arguments that ask for a version.
pub(super) const VERSION_OPTIONS: &str = "--version -V -version version -v";

/// Folders of a checkout that contain its tools: programs there are known by their last name.
const TOOL_FOLDERS: [&str; 4] = ["node_modules/.bin/", ".venv/bin/", "venv/bin/", "vendor/bin/"];

/// Folders of system programs.
const SYSTEM_FOLDERS: [&str; 3] = ["/usr/bin/", "/bin/", "/usr/local/bin/"];

/// Scripts that projects contain, known wherever they are below the line's working directory.
const SCRIPTS: &str = "gradlew mvnw";

/// Programs that projects keep in a `bin` folder of their own.
const BIN: &str = "rake rspec bundle rubocop phpunit";

/// Returns whether a program is named by a path to a file of the checkout, rather than found on the machine.
pub(super) fn is_of_checkout(name: &str) -> bool {
    name.contains('/') && !SYSTEM_FOLDERS.iter().any(|folder| name.starts_with(folder))
}

/// Returns the name that a program is known by: the name itself, or the last part of a path to where tools
/// are kept. Returns `None` for a path to anything else.
pub(super) fn known_name(name: &str) -> Option<&str> {
    let Some((_, last)) = name.rsplit_once('/') else { return Some(name) };
    let folder = &name[..name.len() - last.len()];
    let own = folder.strip_prefix("./").unwrap_or(folder);
    let known = SYSTEM_FOLDERS.contains(&folder)
        || TOOL_FOLDERS.contains(&own)
        || own == "bin/" && is_in(BIN, last)
        || is_in(SCRIPTS, last) && !folder.contains("..");
    known.then_some(last)
}
