//! Runners: programs such as `npx` and `bundle exec` that run a project's tools, and which tool they are to
//! run.

use super::analysis::{Walk, Word};
use super::options::{after_leading, is_in};
use super::reach;
use super::wrappers::is_assignment;

/// A runner, whose tool follows one of its sub-commands.
struct Runner {
    names: &'static str,
    /// The sub-commands, separated by spaces; empty if the tool follows immediately.
    subs: &'static str,
}

/// Options of runners that take the next word as their value.
const VALUES: &str = "-p --package --with --from --python -w --workspace --filter -F -C --prefix --cwd --extra --group -n --name \
                      --directory --project --env --file --only -e -o --output";

const RUNNERS: [Runner; 7] = [
    Runner {
        names: "npx pnpx bunx uvx corepack cross-env dotenvx strace ltrace watch flock unbuffer xvfb-run busybox setarch linux64 \
                fakeroot faketime parallel chronic entr nodemon",
        subs: "",
    },
    Runner { names: "bundle bundler", subs: "exec e" },
    Runner { names: "npm pnpm yarn bun lerna nx", subs: "exec x dlx" },
    Runner {
        names: "poetry uv pipenv hatch pdm rye pixi conda mamba micromamba mise rtx asdf volta fnm nvm doppler op dotenv pipx",
        subs: "run exec x",
    },
    Runner { names: "go", subs: "run" },
    Runner { names: "direnv", subs: "exec" },
    Runner { names: "nix devbox", subs: "develop shell run" },
];

/// Runners with an option that takes a script.
const TAKE_SCRIPTS: &str = "npx npm pnpm";

/// Runners with an option that takes a command.
const TAKE_COMMANDS: &str = "nix devbox";

/// Package managers that accept the name of a tool as a sub-command.
const TAKES_TOOLS: &str = "yarn pnpm bun";

/// Finds the tool that a runner runs, and walks through its command.
pub(super) fn unwrap_runner(name: &str, arguments: &[Word], walk: &mut Walk) {
    let is_runner = |runner: &&Runner| is_in(runner.names, name);
    let given = |options: &str| {
        let at = arguments.iter().position(|word| word.text().is_some_and(|text| is_in(options, text)))?;
        arguments.get(at + 1..).filter(|rest| !rest.is_empty())
    };
    if is_in(TAKE_SCRIPTS, name)
        && let Some(script) = given("-c --call")
    {
        return walk.eval(script[0].text(), name);
    }
    if is_in(TAKE_COMMANDS, name)
        && let Some(words) = given("-c --command")
    {
        return walk.tool(words, name);
    }
    for runner in RUNNERS.iter().filter(is_runner) {
        let rest = after_leading(arguments, VALUES);
        let inner = match rest.split_first() {
            _ if runner.subs.is_empty() => rest,
            Some((sub, inner)) if sub.text().is_some_and(|sub| is_in(runner.subs, sub)) => {
                after_leading(inner, VALUES)
            }
            _ => continue,
        };
        // `cross-env A=b npm test`, `direnv exec . make`
        let skips = |word: &&Word| word.text().is_some_and(|text| is_assignment(text) || text == ".");
        let skipped = inner.iter().take_while(skips).count();
        if skipped < inner.len() {
            return walk.tool(&inner[skipped..], name);
        }
    }
    let first = after_leading(arguments, VALUES);
    if is_in(TAKES_TOOLS, name) && first.first().and_then(Word::text).is_some_and(reach::is_listed) {
        walk.tool(first, name);
    }
}

/// Finds the module that `python -m MODULE`, `python -I -mMODULE`, or `coverage run -m MODULE` runs.
pub(super) fn unwrap_python(arguments: &[Word], walk: &mut Walk) {
    let mut rest = arguments;
    while let Some((word, after)) = rest.split_first() {
        let Some(cluster) = word.text().and_then(|text| text.strip_prefix('-')) else { return };
        rest = match cluster {
            "W" | "X" => after.get(1..).unwrap_or_default(),
            _ if cluster.starts_with(['W', 'X', '-']) => after,
            _ => match cluster.split_once(['m', 'c']) {
                Some((before, _)) if cluster[before.len()..].starts_with('c') => return,
                Some((_, "")) => return walk.tool(after, "python -m"),
                Some((_, module)) => {
                    let words = std::iter::once(Word::known(module)).chain(after.iter().cloned());
                    return walk.tool(&words.collect::<Vec<Word>>(), "python -m");
                }
                None => after,
            },
        };
    }
}
