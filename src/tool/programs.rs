//! Programs that are called like tools, and the command lines that such calls mean.

use serde_json::{Value, json};

use super::arguments::Arguments;

/// Programs that models call like tools.
const PROGRAMS: [&str; 49] = [
    "awk", "bun", "bundle", "cargo", "chmod", "cmake", "composer", "cp", "date", "deno", "df", "diff",
    "docker", "dotnet", "du", "echo", "env", "file", "git", "go", "gradle", "jq", "make", "mvn", "nl",
    "node", "npm", "npx", "php", "pip", "pnpm", "poetry", "printf", "pytest", "rake", "rmdir", "ruby",
    "ruff", "sort", "stat", "tail", "touch", "tox", "tsc", "uniq", "uv", "wc", "which", "yarn",
];

/// Arguments whose values are words of the command line as they stand, in the order in which they stand there: what is to be done,
/// how, and with what. Every other argument is an option.
const IN_ORDER: [&[&str]; 4] = [
    &["command", "subcommand", "sub_command", "action", "cmd", "args", "arguments", "argv", "input"],
    &["mode", "pattern", "expression", "expr", "filter", "program", "flag", "flags", "options"],
    &[
        "package",
        "packages",
        "script",
        "target",
        "targets",
        "text",
        "path",
        "paths",
        "file",
        "files",
        "filename",
        "file_path",
        "directory",
        "dir",
        "src",
        "source",
        "from",
        "name",
        "test",
        "tests",
        "ref",
        "revision",
        "branch",
        "url",
    ],
    &["dst", "dest", "destination", "to"],
];

/// Returns the command line of a call of a program as if it were a tool, and whether the call leaves no doubt about it.
pub(super) fn program(name: &str, arguments: &Arguments) -> Option<(String, bool)> {
    let program = name.trim().to_lowercase();
    if !PROGRAMS.contains(&program.as_str()) {
        return None;
    }
    let is_list_alone = match arguments.iter().collect::<Vec<_>>().as_slice() {
        [] => true,
        [(name, _)] => matches!(name.as_str(), "args" | "arguments" | "argv" | "command" | "input"),
        _ => false,
    };
    let place = |name: &str| IN_ORDER.iter().position(|names| names.contains(&name));
    let mut given: Vec<(Option<usize>, &String, &Value)> =
        arguments.iter().map(|(name, value)| (place(name), name, value)).collect();
    // Options stand behind what is to be done.
    given.sort_by_key(|(place, _, _)| place.map_or(1, |place| place * 2));
    let mut line = program.clone();
    for (place, name, value) in given {
        if place.is_none() {
            line = with_option(&line, name, value)?;
            continue;
        }
        let own = value.as_str().and_then(|words| words.trim().strip_prefix(&format!("{program} ")));
        let words = match (own, value) {
            (Some(own), _) => json!(own),
            // What comes alone is the rest of the line; of several, each is a word.
            (None, Value::String(word)) if !is_list_alone => json!([word]),
            (None, other) => other.clone(),
        };
        line = with_words(&line, &words)?;
    }
    Some((line, is_list_alone))
}

/// Returns a command line with an option: `-k foo`, `--max-count 3`, `--verbose`.
fn with_option(line: &str, name: &str, value: &Value) -> Option<String> {
    let name = name.trim_start_matches('-').replace('_', "-");
    let option = if name.chars().count() == 1 { format!("-{name}") } else { format!("--{name}") };
    match value {
        Value::Bool(false) | Value::Null => Some(line.to_owned()),
        Value::Bool(true) => Some(format!("{line} {option}")),
        Value::Object(_) | Value::Array(_) => None,
        value => {
            let word = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            Some(format!("{line} {option} {}", shlex::try_quote(&word).ok()?))
        }
    }
}

/// Returns the words of a list, which may be numbers; `None` if one is neither.
pub(super) fn words_of(list: &[Value]) -> Option<Vec<String>> {
    let word = |word: &Value| match word {
        Value::String(word) => Some(word.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    list.iter().map(word).collect()
}

/// Returns a command line with more words: a list of them, or as they stand. `None` if one is no word, or cannot be quoted.
pub(super) fn with_words(line: &str, words: &Value) -> Option<String> {
    let more = match words {
        Value::Array(words) => shlex::try_join(words_of(words)?.iter().map(String::as_str)).ok()?,
        Value::String(words) => words.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Object(_) => return None,
    };
    Some(if more.is_empty() { line.to_owned() } else { format!("{line} {more}") })
}

/// Returns the arguments of a command.
pub(super) fn as_command(line: &str) -> Arguments {
    Arguments::from_iter([("command".to_owned(), json!(line))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_commands() {
        let of = |arguments: Value| arguments.as_object().cloned().unwrap_or_default();
        assert_eq!(
            program("git", &of(json!({"args": ["log", "-n", "2 3"]}))),
            Some(("git log -n '2 3'".to_owned(), true))
        );
        assert_eq!(
            program("pytest", &of(json!({"args": "-x tests"}))),
            Some(("pytest -x tests".to_owned(), true))
        );
        assert_eq!(
            program("cp", &of(json!({"src": "a b", "dst": "c"}))),
            Some(("cp 'a b' c".to_owned(), false))
        );
        assert_eq!(program("view", &Arguments::new()), None);
        for (name, arguments, expected) in [
            ("git", json!({"subcommand": "log", "n": 1}), "git log -n 1"),
            ("git", json!({"max_count": 3, "command": "log", "path": "a b"}), "git log --max-count 3 'a b'"),
            ("git", json!({"args": ["push"], "force": true}), "git push --force"),
            (
                "pytest",
                json!({"path": "tests", "k": "foo", "verbose": true}),
                "pytest -k foo --verbose tests",
            ),
            ("sort", json!({"file": "a", "output": "b"}), "sort --output b a"),
            ("tail", json!({"path": "a.txt", "n": 2}), "tail -n 2 a.txt"),
            ("chmod", json!({"path": "a.sh", "mode": "755"}), "chmod 755 a.sh"),
            ("npm", json!({"command": "run", "script": "build"}), "npm run build"),
            ("cp", json!({"to": "b", "from": "a"}), "cp a b"),
            ("jq", json!({"file": "x.json", "filter": ".a"}), "jq .a x.json"),
        ] {
            assert_eq!(program(name, &of(arguments)), Some((expected.to_owned(), false)), "{name}");
        }
        assert_eq!(program("git", &of(json!({"args": ["log"], "env": {"A": 1}}))), None);
        for (words, expected) in [
            (json!(["-n", 3, ""]), Some("x -n 3 ''")),
            (json!([]), Some("x")),
            (json!(["-n", true]), None),
            (json!({"n": 3}), None),
            (json!(true), None),
        ] {
            assert_eq!(with_words("x", &words).as_deref(), expected, "{words}");
        }
    }
}
