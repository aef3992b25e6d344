//! Commands that other people's actions are given as inputs, written as the commands that they run: `uses: actions-rs/cargo` with
//! `command: test`.

use std::borrow::Cow;

/// Actions, by the beginnings of their names: the program that each runs, and its inputs that hold the command and its arguments.
const ACTIONS: &[(&str, &str, &[&str])] = &[
    ("actions-rs/cargo", "cargo", &["command", "args"]),
    ("houseabsolute/actions-rust-cross", "cargo", &["command", "args"]),
    ("gradle/gradle-build-action", "gradle", &["arguments"]),
    ("gradle/actions/setup-gradle", "gradle", &["arguments"]),
    ("burrunan/gradle-cache-action", "gradle", &["arguments"]),
];

/// Returns a workflow in which each of these actions is the command that it runs, on the same line.
pub(super) fn as_commands(text: &str) -> Cow<'_, str> {
    if !ACTIONS.iter().any(|(action, ..)| text.contains(action)) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<&str> = text.lines().collect();
    let written = (0..lines.len()).map(|at| command(&lines, at).unwrap_or_else(|| lines[at].to_owned()));
    Cow::Owned(written.map(|line| line + "\n").collect())
}

/// Returns the command that the action on a line runs, in place of its name.
fn command(lines: &[&str], at: usize) -> Option<String> {
    let (head, name) = lines[at].split_once("uses:")?;
    let name = name.trim().trim_matches(['"', '\'']);
    let (_, program, inputs) = ACTIONS.iter().find(|(action, ..)| name.starts_with(action))?;
    let depth = head.chars().count();
    let step = lines[at + 1..].iter().take_while(|line| line.trim().is_empty() || indent(line) >= depth);
    let step: Vec<&str> = step.map(|line| line.trim()).collect();
    let given = inputs.iter().filter_map(|input| {
        let value = step.iter().find_map(|line| line.strip_prefix(input)?.strip_prefix(':'))?;
        Some(value.trim().trim_matches(['"', '\'']))
    });
    let words: Vec<&str> = std::iter::once(*program).chain(given).collect();
    (words.len() > 1).then(|| format!("{head}run: {}", words.join(" ")))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::as_commands;

    #[test]
    fn inputs_are_read_as_commands() {
        let text = "steps:\n  - uses: actions-rs/cargo@v1\n    with:\n      command: test\n      args: --all\n  - run: ls\n";
        assert!(as_commands(text).starts_with("steps:\n  - run: cargo test --all\n    with:\n"));
        let text = "steps:\n  - name: a\n    uses: 'gradle/gradle-build-action@v3'\n    with:\n      arguments: check\n";
        assert!(as_commands(text).contains("    run: gradle check\n"));
        // The arguments of another step are not its own.
        let text = "steps:\n  - uses: gradle/actions/setup-gradle@v4\n  - uses: a/b\n    with:\n      arguments: check\n";
        assert_eq!(as_commands(text), text);
    }
}
