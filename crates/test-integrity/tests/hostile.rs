//! Texts that nobody writes: whatever comes, there is an answer, and soon.
#![expect(clippy::expect_used, reason = "what a test stands on has to be there")]

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use test_integrity::{Change, check};

const PATHS: [&str; 14] = [
    "tests/test_a.py",
    "src/a.test.ts",
    "src/lib.rs",
    "a_test.go",
    "src/test/java/ATest.java",
    "spec/a_spec.rb",
    "tests/a_test.cpp",
    "pyproject.toml",
    "package.json",
    ".github/workflows/ci.yml",
    "jest.config.js",
    "Makefile",
    "a.snap",
    "pom.xml",
];

fn text() -> impl Strategy<Value = String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let words: Vec<String> = fs::read_dir(folder)
        .expect("a folder")
        .flat_map(|entry| {
            let text = fs::read_to_string(entry.expect("an entry").path()).expect("a file");
            text.split_inclusive([' ', '\n', '(', '.', '"', '[']).map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    let known = prop::sample::select(words);
    let strange = prop::sample::select(vec![
        "é", "\u{0}", "\u{202e}", "\\", "'", "`", "{{", "]]", "<a>", "- ", "\t", "\r\n", ": ",
    ]);
    prop::collection::vec(prop_oneof![8 => known, 1 => strange.prop_map(str::to_owned)], 0..120)
        .prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_judged(before in prop::option::of(text()), after in prop::option::of(text()), path in prop::sample::select(PATHS.to_vec())) {
        let findings = check(&[Change { path, before: before.as_deref(), after: after.as_deref() }]);
        for finding in findings {
            prop_assert!(finding.line >= 1 && finding.path == path && finding.message.len() < 1000);
        }
    }

    #[test]
    fn what_did_not_change_has_no_finding(text in text(), path in prop::sample::select(PATHS.to_vec())) {
        prop_assert_eq!(check(&[Change { path, before: Some(&text), after: Some(&text) }]), []);
    }
}

#[test]
fn large_changes_are_judged_as_well() {
    let tests = |name: &str, value: usize| -> String {
        (0..1500)
            .map(|at| {
                format!(
                    "def test_{name}_{at}():\n    assert f({at}) == {}\n    assert g({at}, {at}) is None\n",
                    at + value
                )
            })
            .collect()
    };
    let (before, after) = (tests("one", 0), tests("other", 1));
    check(&[Change { path: "test_a.py", before: Some(&before), after: Some(&after) }]);

    let assertions = |value: usize| -> String {
        let lines: String = (0..2500).map(|at| format!("    assert f({at}) == {}\n", at * value)).collect();
        format!("def test_all():\n{lines}")
    };
    let (before, after) = (assertions(2), assertions(3));
    check(&[Change { path: "test_a.py", before: Some(&before), after: Some(&after) }]);

    let deep = format!("def test_a():\n    assert {}1{}\n", "(".repeat(20_000), ")".repeat(20_000));
    check(&[Change { path: "test_a.py", before: Some(&deep), after: Some("") }]);
    let nested = format!(
        "test('a', () => {{ {} expect(1).toBe(1) {} }})",
        "if (a) {".repeat(5_000),
        "}".repeat(5_000)
    );
    check(&[Change { path: "a.test.js", before: Some(&nested), after: Some("") }]);
    let calls = format!("x = a{}\n", "(b)".repeat(20_000));
    for path in PATHS {
        check(&[Change { path, before: Some(&calls), after: Some(&deep) }]);
    }
}

#[test]
fn many_tests_of_one_table_are_judged_soon() {
    let tests = |count: usize| -> String {
        let each = |at| format!("test.each(TABLE)('case {at}', (a) => {{ expect(f(a)).toBe({at}); }});\n");
        format!("const TABLE = [1, 2, 3];\n{}", (0..count).map(each).collect::<String>())
    };
    // As many as a generator writes. Reading the table again for each of them takes minutes.
    let (before, after) = (tests(1_000), tests(999));
    let findings = check(&[Change { path: "a.test.js", before: Some(&before), after: Some(&after) }]);
    let messages: Vec<&str> = findings.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(messages, ["the test `case 999` is gone"]);
}

#[test]
fn many_tests_around_which_a_loop_goes_are_judged_soon() {
    let rows: String = (0..2_000).map(|at| format!("[{at}, 'a{at}'],\n")).collect();
    let tests = |count: usize| -> String {
        let each = |at| format!("it('case {at}', () => {{ expect(f(a, {at})).toBe(b); }});\n");
        let tests: String = (0..count).map(each).collect();
        format!("const TABLE = [{rows}];\nTABLE.forEach(([a, b]) => {{\n{tests}}});\n")
    };
    // With the values of the table for each of them, these are gigabytes.
    let (before, after) = (tests(500), tests(499));
    let findings = check(&[Change { path: "a.test.js", before: Some(&before), after: Some(&after) }]);
    let messages: Vec<&str> = findings.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(messages, ["the test `case 499` is gone"]);
}

#[test]
fn functions_within_functions_are_judged_soon() {
    let nested = |value: usize| -> String {
        let open: String = (0..120).map(|at| format!("rows{at}.forEach((a{at}) => {{\n")).collect();
        format!("test('a', () => {{\n{open}expect(f(a0)).toBe({value});\n{}}});\n", "});\n".repeat(120))
    };
    // Reading each function for whether it is a hook, as often as there are functions around it, takes minutes.
    let (before, after) = (nested(1), nested(2));
    assert_eq!(check(&[Change { path: "a.test.js", before: Some(&before), after: Some(&after) }]), []);
}

#[test]
fn deep_and_long_keys_cost_no_more_than_their_text() {
    // With each key written out, these are gigabytes.
    let open = "a{".repeat(5_000);
    let lines = |line: &str, count: usize| line.repeat(count);
    for (path, after) in [
        ("build.gradle", open.clone()),
        ("build.gradle.kts", open.replace("a{", "a{\n  b = 1\n")),
        ("Jenkinsfile", open.replace("a{", "a {\n")),
        ("jest.config.js", open.replace("a{", "a: [\n")),
        ("Cargo.toml", format!("[{}]\n{}", lines("x", 9_000), lines("a=1\n", 2_000))),
        ("pytest.ini", format!("[{}]\n{}", lines("x", 9_000), lines("ignore = a\n", 2_000))),
        (".pre-commit-config.yaml", format!("{}:\n{}", lines("k", 9_000), lines("  ignore: [a]\n", 2_000))),
        (
            "tsconfig.json",
            format!("{{\"{}\": {{{}\"z\": 1}}}}", lines("k", 9_000), lines("\"a\": true, ", 9_000)),
        ),
        (".eslintrc.json", format!("{{\"ignore\": [{}\"z\"]}}", lines("\"a\", ", 2_000))),
    ] {
        // What is counted is memory: it is what ends a run.
        for before in ["a = 1\n", after.as_str()] {
            let findings = check(&[Change { path, before: Some(before), after: Some(&after) }]);
            assert!(findings.iter().all(|finding| finding.message.len() < 1_000), "{path}");
            assert!(before != after || findings.is_empty(), "{path}: {findings:?}");
        }
    }
}

#[test]
fn settings_too_large_to_be_compared_are_told() {
    let after = format!("[tool]\n{}\n[pytest]\naddopts = --ignore=tests\n", "# x\n".repeat(300_000));
    let change = Change { path: "pytest.ini", before: Some("[pytest]\n"), after: Some(&after) };
    let findings = check(&[change]);
    assert!(findings.iter().any(|finding| finding.message.contains("is too large for all")), "{findings:?}");
    let many = format!("[pytest]\n{}", (0..25_000).map(|at| format!("k{at} = 1\n")).collect::<String>());
    let change = Change { path: "pytest.ini", before: Some("[pytest]\n"), after: Some(&many) };
    assert!(check(&[change]).iter().any(|finding| finding.message.contains("is too large for all")));
}
