//! Rewrites after which a program says what it said before, by the program that runs it.

use std::path::Path;
use std::process::Command;

use crate::support::tools::tool;

/// Program that runs a file of some name, which has a language.
type Program = (&'static str, &'static str, rewrite::Language);

const PYTHON: Program = ("python3", "a.py", rewrite::Language::Python);
const NODE: Program = ("node", "a.mjs", rewrite::Language::JavaScript);

/// Program, rule, whether it changes something, and text.
const ROWS: [(Program, &str, bool, &str); 12] = [
    (
        PYTHON,
        "{ rule: { pattern: 'def old($$$A): $$$B' }, fix: '' }",
        true,
        "import functools\n\n@functools.cache\ndef old(x):\n    return x\n\ndef now():\n    now.n = getattr(now, 'n', 0) + 1\n    return now.n\n\nprint(now(), now())\n",
    ),
    (
        PYTHON,
        "{ rule: { pattern: 'set([$$$A])' }, fix: '{$$$A}' }",
        true,
        "x = 1\nprint(f'{set([x])} {set([x])!r:>9}')\n",
    ),
    (
        PYTHON,
        "{ rule: { pattern: 'call($F)' }, fix: '(lambda f: f)($F)' }",
        true,
        "def call(f):\n    return f\nprint(f'{call(1)}')\n",
    ),
    (
        PYTHON,
        "{ rule: { pattern: 'twice($A)' }, fix: 'y := $A * 2' }",
        true,
        "def twice(a):\n    return a * 2\nprint(f'{twice(2)}')\n",
    ),
    (
        PYTHON,
        "{ rule: { pattern: log($A) }, fix: \"if DEBUG:\\n    print($A)\" }",
        false,
        "DEBUG = False\ndef log(x):\n    return x\ndef f():\n    log('f'); n = 1\n    return n\nprint(f())\n",
    ),
    (
        PYTHON,
        "{ rule: { pattern: '$X[$K]' }, fix: '$X.get($K)' }",
        true,
        "a = {(0,): 1, 0: 2}\nprint(a[0,], a[0])\n",
    ),
    (
        PYTHON,
        "{ rule: { pattern: 'with $A: $$$B' }, fix: \"with timed($A):\\n    $$$B\" }",
        false,
        "with open(__file__) as f:\n    print(len(f.read()))\n",
    ),
    (
        NODE,
        "{ rule: { pattern: 'function old($$$A) { $$$B }' }, fix: '' }",
        true,
        "export function old(x) { return x }\n\nfunction secret(x) { return x }\n\nimport(import.meta.url).then(own => console.log(secret(1), 'secret' in own))\n",
    ),
    (
        NODE,
        "{ rule: { pattern: 'log($$$A)' }, fix: '' }",
        false,
        "const log = x => x\nconst say = x => console.log(x)\nconst done = () => log('done')\nsay('started')\n",
    ),
    (
        NODE,
        "{ rule: { pattern: 'byId($A)' }, fix: '{ id: $A }' }",
        true,
        "const byId = id => ({ id: id })\nlet n = 1\nbyId(2).id\nconsole.log([1, 2].map(x => byId(x)), [3].map(x => byId(x).id))\n",
    ),
    (
        NODE,
        "{ rule: { pattern: 'function $F($$$A) { $$$B }' }, fix: 'const $F = ($$$A) => { $$$B }' }",
        false,
        "export default function d(x) { return x }\nconsole.log(d(1))\n",
    ),
    (
        NODE,
        "{ rule: { pattern: 'old($A);' }, fix: '' }",
        false,
        "const old = x => x\nlet a = [1]\nold(1);\n[2].map(x => console.log(x, a))\n",
    ),
];

fn output(program: &Path, file: &Path, text: &str) -> String {
    std::fs::write(file, text).expect("a file");
    let output = Command::new(program).arg(file).output().expect("a run");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

#[test]
fn rewrites_keep_what_programs_say() {
    for ((name, file, language), rule, is_changed, text) in ROWS {
        let Some(program) = tool(name) else { continue };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(file);
        let rule: rewrite::RewriteRule = serde_yaml::from_str(rule).expect("a rule");
        let rule = rewrite::Rewrite::new(&rewrite::RewriteRule { language: Some(language), ..rule });
        let rewritten = rule.expect("a valid rule").apply(language, text).expect("a result").text;
        assert_eq!(rewritten != text, is_changed, "{rewritten}");
        assert_eq!(output(&program, &path, text), output(&program, &path, &rewritten), "{rewritten}");
    }
}
