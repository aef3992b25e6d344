//! Commands of other agents' tools with the arguments changed to those of ours.

use serde_json::{Value, json};

use super::argument_names::names_of;
use super::argument_values::{parsed, take, take_number, text};
use super::arguments::Arguments;
use super::programs::{with_words, words_of};
use super::resolved_call::UnresolvedCall;
use super::shell_patch::{ShellPatch, is_tried, joined};
use super::translate::{Changed, is_true};
use crate::base::text::without_fence;

/// Answer to input for a command that runs.
const NO_INPUT: &str = "commands get no input; give what it reads with the command: run_command(command=\"printf 'y\\n' | …\"), and read \
                        what a background command printed with background_command(id=…)";

/// Answer to a command whose words are not all texts or numbers.
const NO_WORDS: &str =
    "the words of a command are texts; give it as one line: run_command(command=\"git log -n 3\")";

/// Answer to a patch for a folder that only a shell could tell.
const UNKNOWN_FOLDER: &str = "in which folder a shell would apply the patch is not clear, and nothing was done; apply it by a call of its own, with paths from the \
     root of the checkout: apply_patch(patch=…)";

/// Takes commands as lists, with times in milliseconds; and patches, which some models hand to the shell.
pub(super) fn shell(arguments: &mut Arguments) -> Changed {
    let no_words = || UnresolvedCall(NO_WORDS.to_owned());
    if let Some(Value::Array(lines)) = arguments.get("commands") {
        // What follows a comment or a here-document would be part of it.
        let is_plain = |line: &&str| !line.contains(['#', '\n']);
        let lines: Option<Vec<&str>> =
            lines.iter().map(|line| line.as_str().map(str::trim).filter(is_plain)).collect();
        let line = json!(lines.ok_or_else(no_words)?.join(" && "));
        arguments.insert("commands".to_owned(), line);
    }
    if arguments.get("type").and_then(text) == Some("exec") {
        arguments.remove("type");
    }
    arguments.remove("tty");
    match arguments.get("mode").and_then(text) {
        Some("sync" | "foreground" | "blocking" | "wait") => {
            arguments.remove("mode");
        }
        Some("async" | "background") => {
            arguments.remove("mode");
            arguments.entry("background").or_insert(json!(true));
        }
        _ => {}
    }
    let is_posix = |shell: &str| matches!(shell.rsplit('/').next(), Some("bash" | "sh" | "zsh" | "dash"));
    if arguments.get("shell").is_some_and(|shell| shell.as_str().is_none_or(is_posix)) {
        arguments.remove("shell");
    }
    if take(arguments, &["is_input"]).is_some_and(|is_input| is_true(&is_input)) {
        return Err(UnresolvedCall(NO_INPUT.to_owned()));
    }
    if let Some(env) = arguments.get_mut("env") {
        *env = variables(env);
    }
    let command =
        take(arguments, &["command", "cmd", "command_line", "script", "commands", "input", "program"]);
    let words = take(arguments, &["args", "arguments", "argv"]).map(parsed_list);
    let command = match (command.map(parsed_list), words) {
        (Some(Value::String(program)), Some(words)) => {
            Some(Value::String(with_words(&program, &words).ok_or_else(no_words)?))
        }
        (Some(Value::Array(mut program)), Some(Value::Array(words))) => {
            program.extend(words);
            Some(Value::Array(program))
        }
        (Some(_), Some(_)) => return Err(no_words()),
        (command, words) => command.or(words),
    };
    let command = command.map(|command| match text(&command) {
        Some(line) => json!(shown_line(line)),
        None => command,
    });
    let line = match command.map(parsed_list) {
        Some(Value::Array(words)) => {
            let words = words_of(&words).ok_or_else(no_words)?;
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            match words.as_slice() {
                ["bash" | "sh" | "zsh" | "/bin/bash" | "/bin/sh", flag, line] if is_command_flag(flag) => {
                    Some((*line).to_owned())
                }
                words => shlex::try_join(words.iter().copied()).ok(),
            }
        }
        Some(other) => other.as_str().map(str::to_owned),
        None => None,
    };
    if let Some(line) = line {
        if let Some(ShellPatch { folder, patch }) = ShellPatch::find(&line) {
            let cwd = take(arguments, &names_of("run_command", "cwd"));
            let cwd = cwd.as_ref().and_then(text).unwrap_or_default();
            let folder = joined(cwd, &folder).ok_or_else(|| UnresolvedCall(UNKNOWN_FOLDER.to_owned()))?;
            *arguments = Arguments::from_iter([("patch".to_owned(), json!(patch))]);
            if !folder.is_empty() {
                arguments.insert("applied_in".to_owned(), json!(folder));
            }
            return Ok(Some("apply_patch"));
        }
        if is_tried(&line) {
            return Err(UnresolvedCall(
                "a patch is applied by a call of its own, and nothing was done: apply_patch(patch=\"*** Begin Patch …\"); the other \
                 commands follow: run_command(command=…)"
                    .to_owned(),
            ));
        }
        arguments.insert("command".to_owned(), json!(line));
    }
    // A time of their own tools is in milliseconds.
    if let Some(ms) = take_number(arguments, &["timeout_ms", "timeout_millis"]).filter(|ms| *ms > 0) {
        arguments.insert("timeout".to_owned(), json!((ms / 1_000).clamp(1, 600)));
    }
    if take(arguments, &["blocking"]).is_some_and(|blocking| !is_true(&blocking)) {
        arguments.entry("background").or_insert(json!(true));
    }
    Ok(None)
}

/// A process that is started: in the background, unless the call waits for its end.
pub(super) fn started(arguments: &mut Arguments) -> Changed {
    // Arguments of a start say how long to wait for output, not how long the command may run.
    let seconds = take_number(arguments, &["max_wait_seconds"]);
    let ms = take_number(arguments, &["timeout_ms"]);
    if take(arguments, &["wait"]).is_some_and(|wait| is_true(&wait)) {
        if let Some(seconds) = seconds.or(ms.map(|ms| ms / 1_000)) {
            arguments.insert("timeout".to_owned(), json!(seconds.clamp(1, 600)));
        }
    } else {
        arguments.entry("background").or_insert(json!(true));
    }
    shell(arguments)
}

/// A copy of a file, which a command makes.
pub(super) fn copied(arguments: &mut Arguments) -> Changed {
    let part = |own: &'static str, other: &'static str| {
        let name = names_of("move_file", own).into_iter().find_map(|name| arguments.get(name).and_then(text));
        shlex::try_quote(name.unwrap_or(other)).unwrap_or_default()
    };
    let line = format!("cp {} {}", part("from", "FROM"), part("to", "TO"));
    Err(UnresolvedCall(format!("a command copies: run_command(command={line:?})")))
}

/// Returns whether an option of a shell says that a command line follows, and nothing about how it is run: `-nc` runs none of it.
fn is_command_flag(flag: &str) -> bool {
    let letters = flag.strip_prefix('-').unwrap_or_default();
    letters.contains('c') && letters.chars().all(|letter| matches!(letter, 'c' | 'i' | 'l'))
}

/// Returns a command line without the fence around it, or the prompt before it.
fn shown_line(line: &str) -> &str {
    let line = without_fence(line.trim());
    line.strip_prefix("$ ").unwrap_or(line)
}

/// Returns a list that was given as JSON text.
fn parsed_list(value: Value) -> Value {
    match &value {
        Value::String(text) if text.starts_with("[\"") => parsed(value),
        _ => value,
    }
}

/// Returns variables as texts by name, where they are numbers or written as `NAME=value`.
fn variables(given: &Value) -> Value {
    let as_text = |value: &Value| match value {
        Value::Number(_) | Value::Bool(_) => json!(value.to_string()),
        other => other.clone(),
    };
    match given {
        Value::Object(named) => named.iter().map(|(name, value)| (name.clone(), as_text(value))).collect(),
        Value::Array(pairs) => {
            let pairs: Option<Vec<_>> = pairs.iter().map(|pair| text(pair)?.split_once('=')).collect();
            let map = |pairs: Vec<(&str, &str)>| {
                pairs.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect()
            };
            pairs.map_or_else(|| given.clone(), map)
        }
        other => other.clone(),
    }
}

/// A command in the background that is read.
pub(super) fn background(arguments: &mut Arguments) -> Changed {
    let names = [
        "id",
        "bash_id",
        "shell_id",
        "task_id",
        "session_id",
        "process_id",
        "command_id",
        "terminal_id",
        "pid",
        "name",
    ];
    let id = take(arguments, &names);
    // Ours are numbers; `bash_1` can only mean the first.
    let id = id.and_then(|id| {
        id.to_string().split(|c: char| !c.is_ascii_digit()).find_map(|part| part.parse::<u32>().ok())
    });
    let Some(id) = id else {
        return Err(UnresolvedCall(
            "give the number that run_command returned: background_command(id=1), background_command(id=1, action=\"stop\")".to_owned(),
        ));
    };
    let input = take(arguments, &["chars", "input", "input_text", "data"]);
    if input.as_ref().and_then(text).is_some() {
        return Err(UnresolvedCall(NO_INPUT.to_owned()));
    }
    // A wait for output is written in several ways; all of them are bounded here.
    let ms = take_number(arguments, &["yield_time_ms", "wait_ms", "timeout_ms"]);
    // A flag that says whether to wait may stand beside how long.
    let longest = take_number(arguments, &["max_wait_seconds"]);
    let wait = longest.or_else(|| take_number(arguments, &["wait", "wait_seconds", "timeout"]));
    // Nobody waits so many seconds: they are milliseconds as well.
    let wait = wait.map(|wait| if wait > 600 { wait / 1_000 } else { wait });
    if let Some(seconds) = wait.or(ms.map(|ms| ms / 1_000)) {
        arguments.insert("wait".to_owned(), json!(seconds.clamp(0, 120)));
    }
    if let Some(action) = arguments.get_mut("action") {
        match action.as_str() {
            Some("kill" | "terminate" | "end" | "close") => *action = json!("stop"),
            Some("poll" | "log" | "logs" | "output" | "status" | "wait" | "list") => *action = json!("read"),
            _ => {}
        }
    }
    arguments.retain(|name, _| matches!(name.as_str(), "action" | "wait"));
    arguments.insert("id".to_owned(), json!(id));
    Ok(None)
}

/// A command in the background that is stopped.
pub(super) fn stopped(arguments: &mut Arguments) -> Changed {
    arguments.insert("action".to_owned(), json!("stop"));
    background(arguments)
}

/// Several calls in one, which are made by themselves.
pub(super) fn together(arguments: &mut Arguments) -> Changed {
    let uses = take(arguments, &["tool_uses", "calls", "tool_calls", "invocations"]).map(parsed);
    let call = |one: &Value| {
        let name =
            ["recipient_name", "name", "tool", "tool_name"].iter().find_map(|name| text(&one[*name]))?;
        let name = name.rsplit('.').next().unwrap_or(name);
        let given =
            ["parameters", "arguments", "args", "input"].iter().find_map(|name| one[*name].as_object());
        let given = given.into_iter().flatten().map(|(name, value)| format!("{name}={value}"));
        Some(format!("{name}({})", given.collect::<Vec<_>>().join(", ")))
    };
    let calls: Vec<String> =
        uses.iter().filter_map(Value::as_array).flatten().filter_map(call).take(5).collect();
    let calls =
        if calls.is_empty() { "read_file(path=…), grep(pattern=…)".to_owned() } else { calls.join(", ") };
    Err(UnresolvedCall(format!("make each call by itself, all in one turn: {calls}")))
}

/// A tool of a server, which has a name of its own here.
pub(super) fn of_server(arguments: &mut Arguments) -> Changed {
    let part = |names: &[&str], other: &str| {
        names.iter().find_map(|name| arguments.get(*name).and_then(text)).unwrap_or(other).to_owned()
    };
    let (server, tool) =
        (part(&["server_name", "server"], "SERVER"), part(&["tool_name", "tool", "uri"], "TOOL"));
    Err(UnresolvedCall(format!(
        "tools of servers have names of their own: mcp_{server}_{tool}(…), if this run has it"
    )))
}
