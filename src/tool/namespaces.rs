//! Namespaces before the names of tools: of the agent that a model was trained with, or of a server. Those that mean the files and
//! the shell of this machine say nothing; a tool of any other server is none of ours, whatever it is called.

/// Marks between the parts of a name.
const MARKS: [&str; 4] = ["__", ".", ":", "/"];
/// Namespaces of agents for their own tools.
const OF_AGENTS: [&str; 18] = [
    "functions",
    "function",
    "commentary",
    "assistant",
    "tools",
    "tool",
    "defaultapi",
    "api",
    "default",
    "repobrowser",
    "container",
    "multitooluse",
    "builtin",
    "codex",
    "claudecode",
    "cursor",
    "cline",
    "openhands",
];
/// Servers, and namespaces, for the files and the shell of the machine that they run on.
const OF_THIS_MACHINE: [&str; 22] = [
    "filesystem",
    "fs",
    "file",
    "files",
    "editor",
    "texteditor",
    "codeeditor",
    "shell",
    "localshell",
    "terminal",
    "bash",
    "sh",
    "cli",
    "powershell",
    "command",
    "commands",
    "ide",
    "developer",
    "desktopcommander",
    "serena",
    "architectci",
    "architect",
];

/// Name of a tool in its parts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    /// The name alone.
    pub(super) tool: &'a str,
    /// The namespace before it, if it is none of this machine.
    pub(super) elsewhere: Option<&'a str>,
}

/// Returns the parts of a name.
pub(super) fn parts(name: &str) -> Parts<'_> {
    let mut rest = name;
    let mut is_of_server = false;
    loop {
        let next =
            MARKS.iter().filter_map(|mark| rest.split_once(mark)).min_by_key(|(before, _)| before.len());
        let Some((namespace, after)) = next else { return Parts { tool: rest, elsewhere: None } };
        let plain = plain(namespace);
        let is_here = OF_THIS_MACHINE.contains(&plain.as_str())
            || (!is_of_server && OF_AGENTS.contains(&plain.as_str()))
            || plain.is_empty();
        if plain == "mcp" {
            is_of_server = true;
        } else if !is_here {
            let tool = MARKS.iter().fold(after, |name, mark| name.rsplit(mark).next().unwrap_or(name));
            return Parts { tool, elsewhere: Some(namespace) };
        }
        rest = after;
    }
}

/// Returns a name in lower case without separators.
pub(super) fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_of_this_machine_say_nothing() {
        for (name, tool, elsewhere) in [
            ("Read", "Read", None),
            ("functions.read_file", "read_file", None),
            ("multi_tool_use.parallel", "parallel", None),
            ("developer__shell", "shell", None),
            ("mcp__filesystem__read_file", "read_file", None),
            ("mcp__desktop-commander__read_file", "read_file", None),
            ("architect-ci:read_file", "read_file", None),
            ("mcp__ssh__exec", "exec", Some("ssh")),
            ("mcp__container__exec", "exec", Some("container")),
            ("mcp.github/create_file", "create_file", Some("github")),
            ("s3.write", "write", Some("s3")),
            ("functions.ssh.exec", "exec", Some("ssh")),
        ] {
            assert_eq!(parts(name), Parts { tool, elsewhere }, "{name}");
        }
    }
}
