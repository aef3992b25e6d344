//! Files are anybody's: whatever they hold, rewriting ends in time, and never breaks what could be parsed.

#![allow(clippy::expect_used, reason = "a test may fail wherever it is")]

use std::time::{Duration, Instant};

use proptest::prelude::*;
use rewrite::{Language, MAX_BYTES, Rewrite, RewriteError, RewriteRule};

fn rewrite(text: &str) -> Rewrite {
    let rule: RewriteRule = serde_yaml::from_str(text).expect("a rule");
    Rewrite::new(&rule).expect("a valid rule")
}

#[test]
fn deep_and_large_files_are_refused() {
    let rule = rewrite("rule: { pattern: f($A) }\nfix: g($A)\n");
    let deep = format!("x = {}1{}\n", "f(".repeat(100_000), ")".repeat(100_000));
    let error = rule.apply(Language::Python, &deep).expect_err("too deep");
    assert!(matches!(error, RewriteError::TooDeep | RewriteError::TooSlow), "{error}");
    let large = "x\n".repeat(MAX_BYTES / 2 + 1);
    assert_eq!(rule.apply(Language::Python, &large), Err(RewriteError::TooLarge(MAX_BYTES + 2)));
}

#[test]
fn rules_that_take_quadratic_time_can_be_stopped() {
    let rule =
        rewrite("rule:\n  pattern: f($A)\n  not: { follows: { pattern: g($Z), stopBy: end } }\nfix: h($A)\n");
    let text = format!("x = [{}]\n", "f(1), ".repeat(40_000));
    let asked = std::cell::Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 100
    };
    let began = Instant::now();
    assert_eq!(rule.apply_until((Language::Python, ""), &text, &stop), Err(RewriteError::Stopped));
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[test]
fn nobody_is_asked_at_nodes_that_cannot_match() {
    let rule = rewrite("rule: { pattern: f($A) }\nfix: g($A)\n");
    let text = format!("{}f(1)\n", "x = [1, 2, 3]\n".repeat(1_000));
    let asked = std::cell::Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        false
    };
    let result = rule.apply_until((Language::Python, ""), &text, &stop).expect("a result");
    assert_eq!(result.matches.len(), 1);
    assert!(asked.get() < 10, "asked {} times", asked.get());
}

#[test]
fn many_nested_matches_end() {
    let rule = rewrite("rule: { pattern: f($A) }\nfix: g($A)\n");
    let nested = format!("x = {}1{}\n", "f(".repeat(300), ")".repeat(300));
    let result = rule.apply(Language::Python, &nested).expect("a result");
    assert_eq!(result.text, nested.replace('f', "g"));
    assert_eq!(result.matches.len(), 300);
}

#[test]
fn many_matches_take_linear_time() {
    let rule = rewrite("rule: { pattern: f($A) }\nfix: g($A)\n");
    let time = |count: usize| {
        let text = "f(1)\n".repeat(count);
        let began = Instant::now();
        assert_eq!(rule.apply(Language::Python, &text).expect("a result").matches.len(), count);
        began.elapsed().max(Duration::from_millis(5))
    };
    let (small, large) = (time(2_000), time(20_000));
    assert!(large < small * 60, "{small:?} for 2,000 matches, {large:?} for 20,000");
}

#[test]
fn surroundings_of_many_matches_take_linear_time() {
    for (language, rule, line, around) in [
        (Language::Python, "imports: { add: [import g] }", "    if a: f(1)\n", ["def h(b):\n", ""]),
        (
            Language::JavaScript,
            "imports: { add: [\"import g from 'g'\"] }",
            "if (a) f(1)\n",
            ["function h(b) {\n", "}\n"],
        ),
        (
            Language::Rust,
            "imports: { add: [use a::g] }",
            "f(1);\n",
            ["mod h { use super::*; fn i(b: u8) {\n", "}}\n"],
        ),
    ] {
        let rule = rewrite(&format!("rule: {{ pattern: f($A) }}\nfix: g($A)\n{rule}\n"));
        let time = |count: usize| {
            let text = [around[0], &line.repeat(count), around[1]].concat();
            let began = Instant::now();
            assert_eq!(rule.apply(language, &text).expect("a result").matches.len(), count);
            began.elapsed().max(Duration::from_millis(5))
        };
        let (small, large) = (time(1_000), time(10_000));
        assert!(large < small * 60, "{language:?}: {small:?} for 1,000 matches, {large:?} for 10,000");
    }
}

#[test]
fn names_that_are_no_uses_take_linear_time() {
    for (language, rule, line, around) in [
        (
            Language::JavaScript,
            "imports: { add: [\"import g from 'g'\"], remove: [\"import f from 'f'\"] }",
            "h.g(h.f)\n",
            ["import f from 'f'\nf(1)\n", ""],
        ),
        (
            Language::Go,
            "imports: { add: ['\"a/g\"'], remove: ['\"a/f\"'] }",
            "//go:linkname g f\n//nolint\nh.f(T{g: 1})\n",
            ["package p\nimport \"a/f\"\nfunc i() {\n", "f(1)\n}\n"],
        ),
        (Language::Rust, "imports: { add: [use a::g] }", "g: 1, h.g = 2, ", ["fn i() { h!(", "); f(1) }\n"]),
    ] {
        let rule = rewrite(&format!("rule: {{ pattern: f(1) }}\nfix: g(1)\n{rule}\n"));
        let time = |count: usize| {
            let text = [around[0], &line.repeat(count), around[1]].concat();
            let began = Instant::now();
            assert_eq!(rule.apply(language, &text).expect("a result").matches.len(), 1);
            began.elapsed().max(Duration::from_millis(5))
        };
        let (small, large) = (time(1_000), time(10_000));
        assert!(large < small * 60, "{language:?}: {small:?} for 1,000 names, {large:?} for 10,000");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Fragments of code in any order: the result of a rule parses if the text did.
    #[test]
    fn results_parse_if_texts_did(
        parts in proptest::collection::vec(
            prop_oneof![
                Just("f(1)"), Just("f("), Just(")"), Just("\n"), Just("    "), Just("def a():"), Just("'"), Just("#"),
                Just("import os\n"), Just("from m import a, b\n"), Just("f(f(x))"), Just("\r\n"), Just("µA"), Just("$A"), Just("\u{0}"),
            ],
            0..40,
        ),
        fix in prop_oneof![Just("g($A)"), Just("($A"), Just("g($A)\n"), Just("")],
    ) {
        let text: String = parts.concat();
        let rule = rewrite(&format!("rule: {{ pattern: f($A) }}\nfix: {fix:?}\nimports: {{ add: [import z], remove: [import os] }}\n"));
        match rule.apply(Language::Python, &text) {
            Ok(result) => {
                if result.matches.is_empty() {
                    prop_assert_eq!(&result.text, &text);
                }
                let python = Language::Python.grammar();
                let errors = |text: &str| grammar::parse(text, &python, Duration::from_secs(10)).expect("a tree").root_node().has_error();
                prop_assert!(errors(&text) || !errors(&result.text), "{:?} became {:?}", text, result.text);
            }
            Err(RewriteError::Broken { .. }) => {}
            Err(error) => prop_assert!(false, "{}", error),
        }
    }
}
