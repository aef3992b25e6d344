//! Wrappers: commands that only run another one, and where that one is among their words.

use super::analysis::{Simple, Walk, Word};
use super::options::is_in;
use super::reach;
use super::runners::{unwrap_python, unwrap_runner};
use super::table::known_name;

/// A wrapper with the options that may precede the command.
struct Wrapper {
    names: &'static str,
    /// Short and long options with a value in the next word.
    values: &'static str,
    /// Options without a value.
    plain: &'static str,
    /// The number of words before the command that are not options.
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

/// Shells that take a script with `-c`.
const SHELLS: &str = "bash sh dash zsh ksh ash";

pub(super) fn is_shell(name: &str) -> bool {
    is_in(SHELLS, name)
}

/// What a shell is to run.
pub(super) enum Script<'a> {
    /// A script given as text.
    Text(&'a Word),
    /// A script in a file.
    File,
    /// Its standard input, or something that only the shell knows.
    Unknown,
}

/// Parses the arguments of a shell: the first that is not an option decides, and options that read files of
/// their own make the script unknown.
pub(super) fn script_of(arguments: &[Word]) -> Script<'_> {
    let mut takes_text = false;
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let text = match word.text() {
            Some(text) if text.starts_with(['-', '+']) && text != "-" => text,
            _ if takes_text => return Script::Text(word),
            Some(_) => return Script::File,
            None => return Script::Unknown,
        };
        match text {
            "--" | "--norc" | "--noprofile" | "--posix" => {}
            text if text.starts_with("--") => return Script::Unknown,
            text => {
                takes_text |= is_script_option(text);
                // `-o pipefail`, `-euo pipefail`
                if text.contains(['o', 'O']) && rest.next().is_none() {
                    return Script::Unknown;
                }
            }
        }
    }
    Script::Unknown
}

fn is_script_option(text: &str) -> bool {
    text.starts_with('-') && !text.starts_with("--") && text.contains('c')
}

/// Returns whether a command only runs another one.
pub(super) fn is_wrapper(name: &str) -> bool {
    matches!(name, "env" | "command" | "eval") || WRAPPERS.iter().any(|wrapper| is_in(wrapper.names, name))
}

/// Finds the commands that a command runs, and walks through them.
pub(super) fn unwrap(simple: &Simple, walk: &mut Walk) {
    let Some(written) = simple.name() else { return };
    let name = known_name(written).unwrap_or_else(|| reach::common_name(written)).to_owned();
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
        shell if is_shell(shell) => match script_of(arguments) {
            Script::Text(script) => walk.eval(script.text(), &format!("{shell} -c")),
            Script::File => {}
            // What may be a script is looked at anyway.
            Script::Unknown => {
                let option = arguments.iter().position(|word| word.text().is_some_and(is_script_option));
                if let Some(script) = option.and_then(|at| arguments.get(at + 1)) {
                    walk.eval(script.text(), &format!("{shell} -c"));
                }
            }
        },
        other => {
            if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| is_in(wrapper.names, other)) {
                let inner = after_options(arguments, wrapper.values, wrapper.plain);
                let inner = inner.get(wrapper.operands..).unwrap_or_default();
                if !inner.is_empty() {
                    walk.wrapped(inner, other);
                }
                return;
            }
            match reach::common_name(other) {
                "python" | "pypy" => unwrap_python(arguments, walk),
                "coverage" if arguments.first().and_then(Word::text) == Some("run") => {
                    unwrap_python(&arguments[1..], walk);
                }
                common => unwrap_runner(common, arguments, walk),
            }
        }
    }
}

/// Returns what follows the options. An unknown option is taken for the command, which then is not known
/// either.
fn after_options<'a>(arguments: &'a [Word], values: &str, plain: &str) -> &'a [Word] {
    let mut rest = arguments;
    while let Some(text) =
        rest.first().and_then(Word::text).filter(|text| text.starts_with('-') && *text != "-")
    {
        if text == "--" {
            return &rest[1..];
        }
        let joined = text.split_once('=').is_some_and(|(option, _)| is_in(values, option))
            || text
                .get(..2)
                .is_some_and(|option| text.len() > 2 && !text.starts_with("--") && is_in(values, option));
        if is_in(values, text) {
            rest = rest.get(2..).unwrap_or_default();
        } else if is_in(plain, text) || joined || text[1..].chars().all(|c| c.is_ascii_digit()) {
            rest = &rest[1..];
        } else {
            break;
        }
    }
    rest
}

/// Returns the command that `env` runs; `None` if an option makes that unclear.
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

/// Returns whether a word has the form `NAME=value`.
pub(super) fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}
