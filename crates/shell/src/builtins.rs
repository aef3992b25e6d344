//! Shell builtins that change what the words after them mean; relevant without a sandbox.

use super::analysis::Word;
use super::options::{is_in, is_option};
use super::refusal::{Refusal, WayOut};
use super::variables::is_loader;

/// Builtins that set variables through their arguments.
const SETTERS: &str = "export readonly local declare typeset read printf unset getopts let";

/// Checks a builtin's arguments; other programs pass.
pub(super) fn check(name: &str, arguments: &[Word]) -> Result<(), Refusal> {
    let has = |option: &str| arguments.iter().filter_map(Word::text).any(|text| is_option(text, option));
    let moves = is_in("cd pushd", name);
    if moves && arguments.iter().all(|word| word.is_option() || word.text() == Some("-")) {
        return Err(Refusal::outside(format_args!("where '{name}' leads without a folder")));
    }
    let denied = match name {
        "hash" if !arguments.is_empty() => Some("hash"),
        "printf" if has("-v") => Some("printf -v"),
        "unset" if has("-f") => Some("unset -f"),
        "declare" | "typeset" | "local" | "export" | "readonly" => {
            ["-n", "-i", "-f", "+i"].into_iter().find(|option| has(option))
        }
        _ => None,
    };
    if let Some(denied) = denied {
        return Err(Refusal::option(denied));
    }
    if !is_in(SETTERS, name) || name == "printf" {
        return Ok(());
    }
    for word in arguments {
        let Some(text) = word.text() else {
            // `export CI="$x"` sets the named variable, whatever its value.
            let named = word
                .raw
                .split_once('=')
                .is_some_and(|(variable, _)| is_plain(variable) && !is_loader(variable));
            if named {
                continue;
            }
            return Err(Refusal::at_run_time(format_args!("what '{name} {}' sets", word.raw)));
        };
        let variable = text.split('=').next().unwrap_or(text).trim_end_matches('+');
        if is_loader(variable) {
            return Err(Refusal::loader(variable));
        }
        if text.contains('[') && name != "read" || variable.contains('[') {
            return Err(Refusal::new(
                format!("'{name} {}' evaluates an index", word.raw),
                WayOut::WrittenOut,
            ));
        }
    }
    Ok(())
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
