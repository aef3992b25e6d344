//! Syntax errors: whether a file that was edited still parses, as far as there is a grammar for it.

use std::time::Duration;

use grammar::parse;
use tree_sitter::Node;

use super::Language;

/// Time limit of a check; what takes longer is not checked.
const MAX_TIME: Duration = Duration::from_millis(500);

/// Returns the first line, from 1, on which a source file has a syntax error. Returns `None` if it has none, if there is
/// no grammar for it, or if it takes too long to parse.
pub fn first_syntax_error(file_name: &str, text: &str) -> Option<usize> {
    if is_strict_json(file_name) {
        let parsed: Result<serde_json::Value, _> = serde_json::from_slice(text.as_bytes());
        return parsed.err().map(|error| error.line().max(1));
    }
    let (grammar, _) = Language::of(file_name)?.grammar()?;
    let tree = parse(text, &grammar, MAX_TIME)?;
    let root = tree.root_node();
    root.has_error().then(|| error_line(root))
}

/// Returns whether a file is JSON without comments. Some tools allow comments in their own files.
fn is_strict_json(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let commented =
        ["tsconfig", "jsconfig", ".", "settings", "launch", "tasks", "extensions", "devcontainer"];
    lower.rsplit_once('.').is_some_and(|(_, extension)| extension == "json")
        && !commented.iter().any(|start| lower.starts_with(start))
}

/// Returns the line of the first node that is an error or was made up by the parser.
fn error_line(root: Node<'_>) -> usize {
    let mut node = root;
    loop {
        let mut cursor = node.walk();
        let below = node.children(&mut cursor).find(|child| child.has_error() || child.is_missing());
        match below {
            Some(child) if !child.is_error() && !child.is_missing() => node = child,
            Some(child) => return child.start_position().row + 1,
            None => return node.start_position().row + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_found_by_line() {
        for (name, text, line) in [
            ("a.py", "def f():\n    return 1\n", None),
            ("a.py", "def f():\n    return 1\n\ndef g(:\n    pass\n", Some(4)),
            ("a.js", "class A {\n  constructor() {\n  }\n}\n", None),
            ("a.js", "class A {\n  constructor( {\n  }\n}\n", Some(2)),
            ("a.rs", "fn main() {\n    let x = 1;\n", Some(1)),
            ("a.go", "package a\n\nfunc f() {}\n", None),
            ("a.json", "{\"a\": 1}\n", None),
            ("a.json", "{\"a\": 1,\n}\n", Some(2)),
            ("tsconfig.json", "{ // a comment\n}\n", None),
            ("a.c", "int f( {\n", None),
            ("a.txt", "anything (", None),
        ] {
            assert_eq!(first_syntax_error(name, text), line, "{name}: {text}");
        }
    }
}
