//! Syntax errors: whether a file that was edited still parses, as far as there is a grammar for it.

use std::time::Duration;

use grammar::{broken_block, errs_in_brackets_alone, errs_in_type_members_alone, parse};
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
    let language = Language::of(file_name)?;
    let (grammar, _) = language.grammar()?;
    let tree = parse(text, &grammar, MAX_TIME)?;
    let error = tree.root_node().has_error().then(|| first_error(tree.root_node()));
    let line_of = |at: usize| text[..at].matches('\n').count() + 1;
    if let Language::Parsed(own @ (grammar::Language::TypeScript | grammar::Language::Tsx)) = language
        && error.is_some()
        && errs_in_type_members_alone(text, own, MAX_TIME)
    {
        return None;
    }
    if language != Language::Parsed(grammar::Language::Python) {
        return error.map(|node| line_of(node.start_byte()));
    }
    let broken = broken_block(&tree, text);
    let Some(error) = error else { return broken.map(line_of) };
    if errs_in_brackets_alone(&tree, text, MAX_TIME) {
        return None;
    }
    // The grammar often notices a broken block late, and then takes all that is before it for an error.
    Some(line_of(broken.filter(|at| *at < error.end_byte()).unwrap_or(error.start_byte())))
}

/// Returns whether a file is JSON without comments. Some tools allow comments in their own files.
fn is_strict_json(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let commented =
        ["tsconfig", "jsconfig", ".", "settings", "launch", "tasks", "extensions", "devcontainer"];
    lower.rsplit_once('.').is_some_and(|(_, extension)| extension == "json")
        && !commented.iter().any(|start| lower.starts_with(start))
}

/// Returns the first node that is an error or was made up by the parser.
fn first_error(root: Node<'_>) -> Node<'_> {
    let mut node = root;
    loop {
        let mut cursor = node.walk();
        let below = node.children(&mut cursor).find(|child| child.has_error() || child.is_missing());
        match below {
            Some(child) if !child.is_error() && !child.is_missing() => node = child,
            Some(child) => return child,
            None => return node,
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
            (
                "a.py",
                "class A:\n    def f(self):\n        return 1\n\n  def g(self):\n        pass\n",
                Some(5),
            ),
            ("a.py", "def f():\n    x = 1\n      y = 2\n    return x\n", Some(3)),
            ("a.py", "def f(a):\n    if a:\n    b()\n    return a\n", Some(2)),
            ("a.py", "import a\n\ndef f():\n    if a:\n        b()\n  else:\n        c()\n", Some(6)),
            (
                "a.py",
                "import a\n\ndef f():\n    if a:\n        b()\n    c()\n    else:\n        d()\n",
                Some(7),
            ),
            ("a.py", "def f(a):\n    if a:\n        x = {'a':\n1, 'b' %\n2: 3}\n    return x\n", None),
            ("a.py", "def f(a):\n    x = {'a':\n1}\n      return x\n", Some(4)),
            ("a.py", "def f(a):\n    x = (1 +\n2\n\ndef g():\n  pass\n", Some(2)),
            ("a.js", "class A {\n  constructor() {\n  }\n}\n", None),
            ("a.js", "class A {\n  constructor( {\n  }\n}\n", Some(2)),
            ("a.ts", "interface A {\n  (): void\n\n  (a: string): void\n  [key: string]: any\n}\n", None),
            ("a.tsx", "export type A = {\n  a: string\n  <T>(b: T): T\n}\nexport type * from './b'\n", None),
            ("a.ts", "interface A {\n  (): void\n  (a: string: void\n}\n", Some(3)),
            ("a.ts", "if (a)\n  b()\n(c\n", Some(1)),
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
