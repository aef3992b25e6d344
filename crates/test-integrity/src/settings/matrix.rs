//! Matrices of workflows: the commands that one step stands for.

/// By how much a text may grow with the values of its matrices, in bytes.
const MAX_GROWTH: usize = 64 << 10;

/// Returns a workflow in which each command that names a value of a matrix stands once for every value:
/// `npm run ${{ matrix.task }}` becomes `npm run lint && npm run test`. Lines keep their places.
pub(super) fn expanded(text: &str) -> String {
    if !text.contains("${{ matrix.") && !text.contains("${{matrix.") {
        return text.to_owned();
    }
    let mut left = MAX_GROWTH;
    let lines: Vec<String> = text.lines().map(|line| expand(line, text, &mut left)).collect();
    lines.join("\n") + "\n"
}

fn expand(line: &str, text: &str, left: &mut usize) -> String {
    let Some((head, rest)) = line.split_once("${{") else { return line.to_owned() };
    let Some((expression, tail)) = rest.split_once("}}") else { return line.to_owned() };
    let Some(name) = expression.trim().strip_prefix("matrix.") else { return line.to_owned() };
    let key = head.trim_start().trim_start_matches("- ");
    // A command, alone on its line or behind its key.
    let (key, command) = match key.split_once("run:") {
        Some((before, command)) if before.trim().is_empty() => ("run: ", command.trim()),
        _ if !key.contains(": ") => ("", key.trim()),
        _ => return line.to_owned(),
    };
    let values = values(name, text);
    let growth = values.len() * (command.len() + tail.len() + 16);
    if values.is_empty() || growth > *left {
        return line.to_owned();
    }
    *left -= growth;
    let indent = &line[..line.len() - line.trim_start().len()];
    let sign = if line.trim_start().starts_with("- ") { "- " } else { "" };
    let commands: Vec<String> = values.iter().map(|value| format!("{command} {value}{tail}")).collect();
    format!("{indent}{sign}{key}{}", commands.join(" && "))
}

/// Returns the values of a name of a matrix, on its line or on those below it.
fn values<'a>(name: &str, text: &'a str) -> Vec<&'a str> {
    let plain = |value: &'a str| value.trim().trim_matches(['"', '\'']);
    let mut lines = text.lines().skip_while(|line| line.trim() != "matrix:").skip(1);
    while let Some(line) = lines.next() {
        let Some((key, value)) = line.split_once(':') else { continue };
        let key = key.trim().trim_start_matches("- ");
        if key != name {
            continue;
        }
        let value = value.trim();
        if let Some(list) = value.strip_prefix('[') {
            return list
                .trim_end_matches(']')
                .split(',')
                .map(plain)
                .filter(|value| !value.is_empty())
                .collect();
        }
        if value.is_empty() {
            return lines.map_while(|line| line.trim().strip_prefix("- ")).map(plain).collect();
        }
        // Those of single combinations.
        let own = text.lines().filter_map(|line| line.split_once(':'));
        return own
            .filter(|(key, _)| key.trim().trim_start_matches("- ") == name)
            .map(|(_, value)| plain(value))
            .collect();
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_stand_once_for_each_value() {
        for list in [
            "task: [lint, test]",
            "task:\n          - lint\n          - test",
            "include:\n          - task: lint\n          - task: test",
        ] {
            let text = format!(
                "      matrix:\n        {list}\n    steps:\n      - run: npm run ${{{{ matrix.task }}}} --ci\n"
            );
            let expanded = expanded(&text);
            assert!(expanded.contains("      - run: npm run lint --ci && npm run test --ci\n"), "{expanded}");
            assert_eq!(expanded.lines().count(), text.lines().count());
        }
        let other = "    runs-on: ${{ matrix.os }}\n";
        assert_eq!(expanded(other), other);
    }
}
