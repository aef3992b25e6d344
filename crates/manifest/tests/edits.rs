//! Edits of the table `edits.yml`, and what no edit may do to any text.
#![allow(clippy::expect_used, reason = "a test may fail wherever it is")]

use manifest::{ManifestEdit, ManifestError, ManifestRule};
use proptest::prelude::*;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    file: String,
    edit: ManifestRule,
    before: String,
    /// The text afterwards; without it and `error`, it stays as it is.
    after: Option<String>,
    error: Option<String>,
}

fn applied(file: &str, rule: &ManifestRule, text: &str) -> Result<String, ManifestError> {
    ManifestEdit::new(rule).expect("a valid rule").apply(file, text).map(|done| done.text)
}

#[test]
fn edits_keep_what_they_do_not_change() {
    let cases: Vec<Case> = serde_yaml::from_str(include_str!("edits.yml")).expect("a table");
    let mut wrong = Vec::new();
    for case in &cases {
        let found = applied(&case.file, &case.edit, &case.before);
        match (&found, &case.error) {
            (Err(error), Some(expected)) if error.to_string().contains(expected) => {}
            (Ok(text), None) if text == case.after.as_ref().unwrap_or(&case.before) => {
                let again = applied(&case.file, &case.edit, text);
                if again.as_ref() != Ok(text) {
                    wrong.push(format!("{}, twice: {again:?}", case.name));
                }
            }
            _ => wrong.push(format!("{}: {found:#?}", case.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn places_are_told_with_their_lines() {
    let rule: ManifestRule = serde_yaml::from_str("{ path: '*.v', set: 2 }").expect("a rule");
    let edit = ManifestEdit::new(&rule).expect("a valid rule");
    let done = edit.apply("a.toml", "# x\n[a]\nv = 1 # one\n\n[b]\nw = 1\n").expect("an edit");
    let places: Vec<_> = done
        .places
        .iter()
        .map(|it| (it.path.as_str(), it.line, it.before.as_str(), it.after.as_str()))
        .collect();
    assert_eq!(places, [("a.v", 3, "v = 1 # one", "v = 2 # one"), ("b.v", 7, "", "v = 2")]);
}

#[test]
fn line_ends_and_byte_order_marks_are_kept() {
    for (file, rule, text, after) in [
        ("a.toml", "{ path: a, set: 2 }", "a = 1\r\nb = 2 # x\r\n", "a = 2\r\nb = 2 # x\r\n"),
        ("a.json", "{ path: a, set: 2 }", "{\r\n  // x\r\n  \"a\": 1\r\n}", "{\r\n  // x\r\n  \"a\": 2\r\n}"),
        ("a.yml", "{ path: b, set: 2 }", "a: 1 # x\r\n", "a: 1 # x\r\nb: 2\r\n"),
        ("a.yml", "{ path: a, set: 2 }", "\u{feff}a: 1", "\u{feff}a: 2"),
        ("a.toml", "{ path: a, set: 2 }", "\u{feff}a = 1\n", "\u{feff}a = 2\n"),
        ("a.json", "{ path: a, set: 2 }", "\u{feff}{\"a\": 1}\n", "\u{feff}{\"a\": 2}\n"),
    ] {
        let rule: ManifestRule = serde_yaml::from_str(rule).expect("a rule");
        assert_eq!(applied(file, &rule, text).as_deref(), Ok(after), "{text:?}");
    }
    let rule: ManifestRule = serde_yaml::from_str("{ path: a, set: 2 }").expect("a rule");
    assert_eq!(applied("a.yml", &rule, "a: 1\r\nb: 1\n"), Err(ManifestError::MixedLineEnds));
    assert_eq!(applied("a.yml", &rule, "a: 2\r\nb: 1\n").as_deref(), Ok("a: 2\r\nb: 1\n"));
}

#[test]
fn hostile_files_are_refused_in_little_time() {
    let rule: ManifestRule = serde_yaml::from_str("{ path: a.b, set: 2 }").expect("a rule");
    let depth = 200_000;
    let bomb: String = (1..60).map(|n| format!("l{n}: &l{n} [*l{}, *l{}]\n", n - 1, n - 1)).collect();
    for (file, text) in [
        ("a.json", "[".repeat(depth)),
        ("a.json", "{\"a\":".repeat(depth)),
        ("a.toml", format!("a = {}", "[".repeat(depth))),
        ("a.toml", format!("a.{}b = 1", "a.".repeat(depth))),
        ("a.toml", format!("[{}b]", "a.".repeat(depth))),
        ("a.yml", "[".repeat(depth)),
        ("a.yml", "- ".repeat(depth)),
        ("a.yml", "? ".repeat(depth)),
        ("a.yml", "a: 1\n".repeat(2)),
        ("a.yml", "a: {b: 1, b: 2}\n".to_owned()),
        ("a.json", "{\"a\": {\"b\": 1, \"\\u0062\": 2}}".to_owned()),
        ("a.toml", "a = 99999999999999999999999999\n".to_owned()),
        ("a.json", " ".repeat(manifest::MAX_BYTES + 1)),
        ("a.txt", "a: 1\n".to_owned()),
        ("a.yml", "a: *b\n".to_owned()),
        ("a.yml", "a: !!python/object:os.system x\n".to_owned()),
    ] {
        let start: String = text.chars().take(40).collect();
        assert!(applied(file, &rule, &text).is_err(), "{file}: {start}");
    }
    let rule_of_all: ManifestRule = serde_yaml::from_str("{ path: '*', set: 2 }").expect("a rule");
    let many: String = (0..100_000).map(|n| format!("key-{n}: 1\n")).collect();
    assert_eq!(applied("a.yml", &rule_of_all, &many), Err(ManifestError::TooManyPlaces(10_000)));
    let text = format!("l0: &l0 x\n{bomb}a: {{b: 1}}\n");
    assert_eq!(applied("a.yml", &rule, &text), Ok(text.replace("b: 1", "b: 2")));
}

#[test]
fn mistakes_in_rules_are_told() {
    for (rule, expected) in [
        ("{ path: a }", "exactly one of"),
        ("{ path: a, set: 1, remove: true }", "exactly one of"),
        ("{ path: '', set: 1 }", "the path is empty"),
        ("{ path: a..b, set: 1 }", "a key is missing"),
        ("{ path: a., set: 1 }", "a key is missing"),
        ("{ path: 'a[', set: 1 }", "invalid quotes or brackets"),
        ("{ path: 'a[x]', set: 1 }", "invalid quotes or brackets"),
        ("{ path: 'a[-1]', set: 1 }", "invalid quotes or brackets"),
        ("{ path: '\"a', set: 1 }", "invalid quotes or brackets"),
        ("{ path: 'a]b', set: 1 }", "invalid quotes or brackets"),
        ("{ path: '\"a\"b', set: 1 }", "invalid quotes or brackets"),
        ("{ path: 'a[~(]', set: 1 }", "invalid regular expression"),
        ("{ path: a, set: 1, when: { version: '1' } }", "invalid requirement"),
        ("{ path: a, set: 1, when: { matches: '(' } }", "invalid regular expression"),
        ("{ path: a, set: 1, when: { absent: true, version: '>1' } }", "cannot be combined"),
    ] {
        let rule: ManifestRule = serde_yaml::from_str(rule).expect("a rule");
        let error = ManifestEdit::new(&rule).expect_err("an invalid rule");
        assert!(error.to_string().contains(expected), "{rule:?}: {error}");
    }
}

proptest! {
    /// Nothing makes an edit panic, and whatever it does, it does once.
    #[test]
    fn any_text_is_edited_once_or_refused(
        file in prop::sample::select(vec!["a.yml", "a.json", "a.toml"]),
        lines in prop::collection::vec(prop::sample::select(vec![
            "a:", "a: 1", "b: {c: 1,", "}", "- x", "  - y # z", "  c: 'q'", "# note", "[a]", "[[b]]", "a = 1", "b = [1, # x",
            "2", "]", "{", "\"a\": 1,", "\"b\": [1, 2]", "}", "  d: |", "    text", "e: &x {a: 1}", "f: *x", "? k", ": v",
            "a.b = {c = 2}", "'''", "\"\"\"", "  ", "\t", "é: ü", "---", "...", "- - 1", "- a: 1", "  b: 2", "!t x", "<<: *x",
        ]), 0..12),
        path in prop::sample::select(vec!["a", "b", "b.c", "b[0]", "[0]", "[1].a", "*", "b[*]", "e.a", "a.b.c", "f", "é"]),
        action in prop::sample::select(vec!["set: 7", "remove: true", "rename: z", "add: 7", "set: [1]", "set: {k: [v]}"]),
    ) {
        let text = lines.join("\n");
        let rule: ManifestRule = serde_yaml::from_str(&format!("path: '{path}'\n{action}\n")).expect("a rule");
        if let Ok(once) = applied(file, &rule, &text)
            && !(action.starts_with("remove") && path.contains(['[', '*']))
            && !(action.starts_with("rename") && path == "*")
        {
            prop_assert_eq!(applied(file, &rule, &once), Ok(once));
        }
    }
}
