//! `architect-ci tests prove`: tests of a change on the old code and on the new, with real runners.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::Sandbox;
use serde_json::Value;

/// Folders where a runner may be that is no part of the system.
fn tool(name: &str) -> Option<PathBuf> {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/ci-tools");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([own.join("venv/bin"), own.join("node_modules/.bin")]);
    let works = |file: &PathBuf| {
        file.is_file()
            && Command::new(file).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    let found = folders.map(|folder| folder.join(name)).find(works);
    if found.is_none() {
        eprintln!("SKIPPED: `{name}` is not on this machine");
    }
    found
}

struct Proved {
    code: Option<i32>,
    text: String,
    error: String,
}

fn prove(sandbox: &Sandbox, args: &[&str]) -> Proved {
    prove_with(sandbox, None, args)
}

/// Runs the command with one more folder of programs.
fn prove_with(sandbox: &Sandbox, programs: Option<&Path>, args: &[&str]) -> Proved {
    let mut command = sandbox.command(&[&["tests", "prove", "--base", "HEAD"], args].concat());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = programs.map(Path::to_owned).into_iter().chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(folders).expect("a path"));
    let Output { status, stdout, stderr } =
        command.current_dir(sandbox.repo()).output().expect("the binary runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    Proved { code: status.code(), text: text(stdout), error: text(stderr) }
}

/// Returns each test with its verdict.
fn verdicts(sandbox: &Sandbox, programs: Option<&Path>, command: &[&str]) -> Vec<(String, String)> {
    let proved = prove_with(sandbox, programs, &[&["--json", "--"], command].concat());
    let found: Value =
        serde_json::from_str(&proved.text).unwrap_or_else(|_| panic!("{}{}", proved.text, proved.error));
    let tests = found["tests"].as_array().expect("tests");
    let text = |test: &Value, key: &str| test[key].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        proved.code,
        Some(i32::from(tests.iter().any(|test| test["verdict"] != "proves"))),
        "{found:#}"
    );
    assert_eq!(sandbox.git(&["stash", "list"]), "");
    tests.iter().map(|test| (text(test, "name"), text(test, "verdict"))).collect()
}

fn expect(sandbox: &Sandbox, command: &[&str], expected: &[(&str, &str)]) {
    expect_with(sandbox, None, command, expected);
}

fn expect_with(sandbox: &Sandbox, programs: Option<&Path>, command: &[&str], expected: &[(&str, &str)]) {
    let before = sandbox.git(&["status", "--porcelain"]);
    let expected: Vec<(String, String)> =
        expected.iter().map(|(name, verdict)| ((*name).to_owned(), (*verdict).to_owned())).collect();
    assert_eq!(verdicts(sandbox, programs, command), expected, "{command:?}");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), before, "the checkout stays as it is");
}

/// Python's part of the fixture; the tests are those of pytest and of unittest alike.
fn python() -> Sandbox {
    let sandbox = Sandbox::new(&[
        (
            "shop.py",
            "def total(prices):\n    return sum(prices) + 1\n\n\ndef count(prices):\n    return len(prices)\n",
        ),
        ("tests/__init__.py", ""),
        (
            "tests/test_shop.py",
            "import unittest\n\nfrom shop import count\n\n\nclass TestShop(unittest.TestCase):\n    def test_count(self):\n        \
             self.assertEqual(count([1]), 1)\n",
        ),
    ]);
    sandbox.commit("shop");
    sandbox.write(
        "shop.py",
        "def total(prices):\n    return sum(prices)\n\n\ndef count(prices):\n    return len(prices) + 1\n\n\ndef discount(price):\n    return price // 2\n",
    );
    sandbox.write(
        "tests/test_shop.py",
        "import unittest\n\nfrom shop import count, total\n\n\nclass TestShop(unittest.TestCase):\n    def test_count(self):\n        \
         self.assertEqual(count([1, 2]), 2)\n\n    def test_total(self):\n        self.assertEqual(total([1, 2]), 3)\n\n    \
         def test_empty(self):\n        self.assertEqual(sum([]), 0)\n\n    def test_wrong(self):\n        \
         self.assertEqual(total([1, 2]), 5)\n\n    @unittest.skip('later')\n    def test_later(self):\n        \
         self.assertEqual(total([1]), 1)\n",
    );
    sandbox.write(
        "tests/test_discount.py",
        "import unittest\n\nfrom shop import discount\n\n\nclass TestDiscount(unittest.TestCase):\n    def test_half(self):\n        \
         self.assertEqual(discount(4), 2)\n\n    def test_nothing(self):\n        self.assertEqual(1 + 1, 2)\n",
    );
    sandbox
}

const PYTHON: [(&str, &str); 7] = [
    ("TestDiscount > test_half", "proves"),
    ("TestDiscount > test_nothing", "not-run"),
    ("TestShop > test_count", "fails-on-new"),
    ("TestShop > test_total", "proves"),
    ("TestShop > test_empty", "passes-on-old"),
    ("TestShop > test_wrong", "fails-on-both"),
    ("TestShop > test_later", "not-run"),
];

#[test]
fn tests_prove_tells_every_verdict_of_unittest() {
    let sandbox = python();
    expect(&sandbox, &["python3", "-m", "unittest", "-v", "{tests}"], &PYTHON);
    expect(&sandbox, &["python3 -m unittest -v"], &PYTHON);
}

#[test]
fn tests_prove_tells_every_verdict_of_pytest() {
    let Some(pytest) = tool("pytest") else { return };
    let folder = pytest.parent().expect("a folder").to_owned();
    let sandbox = python();
    for command in [&["pytest", "-q", "{tests}"][..], &["pytest"], &["pytest", "{files}"]] {
        // The root has to be where modules are looked for.
        expect_with(&sandbox, Some(&folder), &[&["env", "PYTHONPATH=."], command].concat(), &PYTHON);
    }
}

#[test]
fn tests_prove_tells_every_verdict_of_cargo() {
    let manifest = "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let tests = |body: &str| format!("\n#[cfg(test)]\nmod tests {{\n    use super::*;\n{body}}}\n");
    let test = |name: &str, body: &str| {
        format!("    #[test]\n    fn {name}() {{\n        assert_eq!({body});\n    }}\n")
    };
    let sandbox = Sandbox::new(&[
        ("Cargo.toml", manifest),
        (".gitignore", "/target\n"),
        (
            "src/lib.rs",
            &format!(
                "pub fn total(prices: &[u32]) -> u32 {{\n    prices.iter().sum::<u32>() + 1\n}}\n{}",
                tests(&test("old", "total(&[]), 1"))
            ),
        ),
    ]);
    sandbox.commit("shop");
    let code = "pub fn total(prices: &[u32]) -> u32 {\n    prices.iter().sum()\n}\n";
    let body = [
        test("old", "total(&[]), 1"),
        test("adds", "total(&[1, 2]), 3"),
        test("nothing", "1 + 1, 2"),
        test("wrong", "total(&[1]), 3"),
    ];
    sandbox.write("src/lib.rs", format!("{code}{}", tests(&body.concat())));
    let command = ["cargo", "test", "--offline", "--lib", "--", "{tests}"];
    expect(
        &sandbox,
        &command,
        &[
            ("tests > adds", "proves"),
            ("tests > nothing", "passes-on-old"),
            ("tests > wrong", "fails-on-both"),
        ],
    );
    // What the old code does not have keeps all of the tests from being built; only those that need it prove anything.
    let code = format!("{code}\npub fn discount(price: u32) -> u32 {{\n    price / 2\n}}\n");
    let body = [test("old", "total(&[]), 0"), test("nothing", "1 + 1, 2"), test("half", "discount(4), 2")];
    sandbox.write("src/lib.rs", format!("{code}{}", tests(&body.concat())));
    expect(
        &sandbox,
        &command,
        &[("tests > old", "not-run"), ("tests > nothing", "not-run"), ("tests > half", "proves")],
    );
    // A new file with its code and its tests has no old code.
    sandbox.write("src/lib.rs", format!("mod tax;\n{code}{}", tests(&test("old", "total(&[]), 1"))));
    sandbox.write(
        "src/tax.rs",
        format!("pub fn tax() -> u32 {{\n    1\n}}\n{}", tests(&test("one", "tax(), 1"))),
    );
    expect(&sandbox, &command, &[("tests > one", "not-run")]);
}

#[test]
fn tests_prove_tells_every_verdict_of_node() {
    let Some(_) = tool("node") else { return };
    let sandbox = Sandbox::new(&[
        ("shop.mjs", "export const total = (prices) => prices.reduce((a, b) => a + b, 1);\n"),
        ("package.json", "{\"name\": \"shop\", \"version\": \"1.0.0\"}\n"),
    ]);
    sandbox.commit("shop");
    sandbox.write(
        "shop.mjs",
        "export const total = (prices) => prices.reduce((a, b) => a + b, 0);\nexport const discount = (price) => price / 2;\n",
    );
    let head = "import test, { describe, it } from 'node:test';\nimport assert from 'node:assert';\n";
    sandbox.write(
        "test/shop.test.mjs",
        format!(
            "{head}import {{ total }} from '../shop.mjs';\ndescribe('shop', () => {{\n  it('adds $(touch gone) 1.5', () => {{ assert.equal(total([1, \
             2]), 3); }});\n  it('fails', () => {{ assert.equal(total([1]), 5); }});\n}});\ntest('nothing', () => {{ assert.equal(1 + 1, 2); }});\n"
        ),
    );
    sandbox.write(
        "test/discount.test.mjs",
        format!("{head}import {{ discount }} from '../shop.mjs';\ntest('halves', () => {{ assert.equal(discount(4), 2); }});\n"),
    );
    let expected = [
        ("halves", "proves"),
        ("shop > adds $(touch gone) 1.5", "proves"),
        ("shop > fails", "fails-on-both"),
        ("nothing", "passes-on-old"),
    ];
    expect(&sandbox, &["node", "--test", "{files}"], &expected);
    expect(&sandbox, &["node --test --test-reporter=spec"], &expected);
    expect(&sandbox, &["node", "--test", "--test-name-pattern={test}", "{files}"], &expected);
    assert!(!sandbox.repo().join("gone").exists());
}

#[test]
fn tests_prove_counts_exit_code_where_output_names_no_test() {
    let sandbox = Sandbox::new(&[("shop.py", "TOTAL = 1\n")]);
    sandbox.commit("shop");
    sandbox.write("shop.py", "TOTAL = 2\n");
    sandbox.write("tests/test_shop.py", "def test_total():\n    assert shop.TOTAL == 2\n");
    expect(&sandbox, &["grep", "-q", "TOTAL = 2", "shop.py"], &[("test_total", "proves")]);
    expect(&sandbox, &["true"], &[("test_total", "passes-on-old")]);
    expect(&sandbox, &["false"], &[("test_total", "fails-on-both")]);
    expect(&sandbox, &["grep", "-q", "TOTAL = 1", "shop.py"], &[("test_total", "fails-on-new")]);
    expect(&sandbox, &["echo 'Ran 0 tests in 0.000s'"], &[("test_total", "not-run")]);
    expect(&sandbox, &["kill -9 $$"], &[("test_total", "not-run")]);
}

#[test]
fn tests_prove_stops_command_at_time_limit() {
    let sandbox = Sandbox::new(&[("shop.py", "TOTAL = 1\n")]);
    sandbox.commit("shop");
    sandbox.write("tests/test_shop.py", "def test_total():\n    assert shop.TOTAL == 2\n");
    let proved = prove(&sandbox, &["--command-timeout", "1", "--", "sleep", "300.18181"]);
    assert_eq!(proved.code, Some(1), "{}", proved.error);
    assert!(proved.text.contains("the command was stopped at its time limit"), "{}", proved.text);
}

#[test]
fn tests_prove_without_new_tests_runs_nothing() {
    let sandbox = python();
    sandbox.git(&["checkout", "--quiet", "tests"]);
    sandbox.git(&["clean", "-fdq", "tests"]);
    let proved = prove(&sandbox, &["--", "sh", "-c", "touch ran"]);
    assert_eq!((proved.code, proved.text.as_str()), (Some(0), "no test is new or changed\n"));
}

#[test]
fn tests_prove_writes_lines_and_junit() {
    let sandbox = python();
    let file = sandbox.repo().join("../proof.xml");
    let proved = prove(
        &sandbox,
        &["--junit", file.to_str().expect("a path"), "--", "python3", "-m", "unittest", "-v", "{tests}"],
    );
    assert_eq!(proved.code, Some(1));
    let lines: Vec<&str> = proved.text.lines().collect();
    assert_eq!(lines.len(), 8, "{}", proved.text);
    assert_eq!(
        lines[0],
        "✓ tests/test_discount.py:7 `TestDiscount > test_half` proves the change: it needs something that the old code does not have: \
         ImportError: cannot import name 'discount' from 'shop' (REPO/shop.py)"
            .replace("REPO", &sandbox.repo().canonicalize().expect("a path").display().to_string())
    );
    assert_eq!(lines[4], "✗ tests/test_shop.py:13 `TestShop > test_empty` passes on the old code too");
    assert!(lines[7].starts_with("2 of 7 new tests prove the change ("), "{}", lines[7]);
    let xml = std::fs::read_to_string(&file).expect("a file");
    let document = roxmltree::Document::parse(&xml).expect("XML");
    let count = |tag: &str| document.descendants().filter(|node| node.has_tag_name(tag)).count();
    assert_eq!((count("testcase"), count("failure"), count("error")), (7, 3, 2), "{xml}");
}

#[test]
fn tests_prove_rejects_what_it_cannot_use() {
    let sandbox = python();
    for (args, expected) in [
        (&["--", "pytest '{tests}'"][..], "stands in quotes"),
        (&["--", "pytest", "'{tests}'"], "stands in quotes"),
        (&["--config", "none.yml", "--", "pytest"], "could not read none.yml"),
        (&["--", " \t"], "the test command is empty"),
    ] {
        let proved = prove(&sandbox, args);
        assert_eq!(proved.code, Some(3), "{args:?}: {}", proved.error);
        assert!(proved.error.contains(expected), "{args:?}: {}", proved.error);
    }
    assert_eq!(prove(&sandbox, &["--base=nowhere", "--", "pytest"]).code, Some(3));
}

/// Killed while tests run: nothing runs on, the checkout is as it was, and the next run removes what was left.
#[cfg(target_os = "linux")]
#[test]
fn tests_prove_leaves_nothing_behind_when_killed() {
    use std::time::{Duration, Instant};

    let sandbox = python();
    let temp = tempfile::tempdir().expect("a folder");
    // The marker stands in a file, so that it is on the command line of the test alone.
    let marker = format!("300.{}", std::process::id());
    sandbox.write("wait.sh", format!("exec sleep {marker}\n"));
    let before = sandbox.git(&["status", "--porcelain"]);
    let is_running = || {
        let pattern = format!("sleep {marker}");
        Command::new("pgrep").args(["-f", &pattern]).output().is_ok_and(|output| output.status.success())
    };
    let wait = |condition: &dyn Fn() -> bool, what: &str| {
        let until = Instant::now() + Duration::from_mins(1);
        while !condition() {
            assert!(Instant::now() < until, "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let left = || std::fs::read_dir(temp.path()).expect("a folder").count();
    for (signal, code) in [("KILL", None), ("TERM", Some(143)), ("INT", Some(130))] {
        let mut command = sandbox.command(&["tests", "prove", "--base", "HEAD", "--", "sh", "wait.sh"]);
        command.current_dir(sandbox.repo()).env("RUNNER_TEMP", temp.path());
        let mut child = command.spawn().expect("the binary runs");
        wait(&is_running, "the command starts");
        let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()));
        assert_eq!(child.wait().expect("an end").code(), code, "{signal}");
        wait(&|| !is_running(), "the command ends with it");
        assert_eq!(sandbox.git(&["status", "--porcelain"]), before, "{signal}");
    }
    // The runs after the killed one have removed what it left.
    assert_eq!(left(), 0);
}

/// A file of which one test uses what is new, and the other does not; in the same run, and each in one of its own.
#[test]
fn tests_prove_takes_no_test_for_proof_because_it_stands_alone() {
    let sandbox = Sandbox::new(&[("shop.py", "class Shop:\n    pass\n"), ("tests/__init__.py", "")]);
    sandbox.commit("shop");
    sandbox.write("shop.py", "class Shop:\n    pass\n\n\nclass Discount:\n    rate = 2\n");
    let head = "import unittest\n\nfrom shop import Shop, Discount\n\n\nclass TestShop(unittest.TestCase):\n";
    let test =
        |name: &str, body: &str| format!("    def {name}(self):\n        self.assertEqual({body})\n\n");
    let (half, trivial) = (test("test_half", "Discount.rate, 2"), test("test_trivial", "1 + 1, 2"));
    let old = test("test_old", "Shop.__name__, 'Shop'");
    sandbox.write("tests/test_shop.py", format!("{head}{half}{trivial}{old}"));
    for place in ["{test}", "{tests}"] {
        expect(
            &sandbox,
            &["python3", "-m", "unittest", "-v", place],
            &[
                ("TestShop > test_half", "proves"),
                ("TestShop > test_trivial", "not-run"),
                ("TestShop > test_old", "not-run"),
            ],
        );
    }
    // It is the only one of its file as well.
    sandbox.write("tests/test_shop.py", format!("{head}{trivial}"));
    expect(
        &sandbox,
        &["python3", "-m", "unittest", "-v", "{tests}"],
        &[("TestShop > test_trivial", "not-run")],
    );
    if let Some(pytest) = tool("pytest") {
        let folder = pytest.parent().expect("a folder").to_owned();
        sandbox.write("tests/test_shop.py", format!("{head}{half}{trivial}"));
        expect_with(
            &sandbox,
            Some(&folder),
            &["env", "PYTHONPATH=.", "pytest", "{test}"],
            &[("TestShop > test_half", "proves"), ("TestShop > test_trivial", "not-run")],
        );
    }
}

#[test]
fn tests_prove_takes_no_crate_and_no_type_for_what_is_missing() {
    let manifest = "[package]\nname = \"trs\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let old = "pub struct Shop {\n    pub n: u32,\n}\n\nimpl Shop {\n    pub fn new() -> Self {\n        Self { n: 1 }\n    }\n}\n\n\
               pub fn price(a: u32, b: u32) -> u32 {\n    a + b\n}\n";
    let sandbox = Sandbox::new(&[("Cargo.toml", manifest), (".gitignore", "/target\n"), ("src/lib.rs", old)]);
    sandbox.commit("shop");
    let new =
        old.replace("impl Shop {", "impl Shop {\n    pub fn total(&self) -> u32 {\n        self.n\n    }\n");
    sandbox.write("src/lib.rs", format!("{new}\npub fn vat(a: u32) -> u32 {{\n    a + 1\n}}\n"));
    let test = |name: &str, body: &str| format!("#[test]\nfn {name}() {{\n    {body}\n}}\n");
    for (head, vat, nothing, command) in [
        ("", "assert_eq!(trs::vat(1), 2);", "assert_eq!(trs::price(100, 0), 100);", "{tests}"),
        ("", "assert_eq!(trs::vat(1), 2);", "let vat = 1; assert_eq!(vat, 1);", "{test}"),
        ("use trs::{price, vat};\n", "assert_eq!(vat(1), 2);", "assert_eq!(price(100, 0), 100);", "{tests}"),
        (
            "use trs::Shop;\n",
            "assert_eq!(Shop::new().total(), 1);",
            "assert_eq!(Shop::new().n, 1);",
            "{test}",
        ),
    ] {
        sandbox.write("tests/it.rs", format!("{head}{}{}", test("v", vat), test("says_nothing", nothing)));
        expect(
            &sandbox,
            &["cargo", "test", "--offline", "--test", "it", "--", command],
            &[("v", "proves"), ("says_nothing", "not-run")],
        );
    }
}

#[test]
fn tests_prove_of_node_reads_names_and_takes_no_test_that_stands_alone() {
    let Some(_) = tool("node") else { return };
    let sandbox = Sandbox::new(&[("shop.mjs", "export const total = (n) => n + 1;\n")]);
    sandbox.write("package.json", "{\"name\": \"shop\", \"version\": \"1.0.0\"}\n");
    let old = "import test from 'node:test';\nimport assert from 'node:assert';\ntest('old', () => { assert.equal(1, 1); });\n";
    sandbox.write("test/old.test.mjs", old);
    sandbox.commit("shop");
    sandbox.write(
        "shop.mjs",
        "export const total = (n) => n;\nexport default function discount(n) { return n / 2; }\n",
    );
    sandbox.write("test/old.test.mjs", old.replace("import test from", "import test, { describe } from"));
    let head = "import test from 'node:test';\nimport assert from 'node:assert';\n";
    sandbox.write(
        "test/a.test.mjs",
        format!(
            "{head}import discount from '../shop.mjs';\ntest('halves', () => {{ assert.equal(discount(4), 2); }});\ntest('trivial', () => {{ \
             assert.equal(1, 1); }});\n"
        ),
    );
    sandbox.write(
        "test/b.test.mjs",
        format!(
            "{head}import {{ total }} from '../shop.mjs';\ntest(\"dash \\\"a\\\"\", () => {{ assert.equal(total(1), 1); }});\nfor (const n of [1, 2]) \
             test('gen ' + n, () => {{ assert.equal(total(n), n); }});\n"
        ),
    );
    let expected =
        [("halves", "proves"), ("trivial", "not-run"), ("dash \"a\"", "proves"), ("gen ${value}", "proves")];
    for command in
        [&["node", "--test", "{files}"][..], &["node", "--test", "--test-name-pattern={test}", "{files}"]]
    {
        expect(&sandbox, command, &expected);
    }
}

#[test]
fn tests_prove_says_why_nothing_is_seen() {
    let sandbox = python();
    for command in ["no-such-program {tests}", "no-such-program {test}", "./README.md"] {
        let proved = prove(&sandbox, &["--", command]);
        assert_eq!(proved.code, Some(3), "{}{}", proved.text, proved.error);
        assert!(proved.error.contains("the test command could not be run: "), "{}", proved.error);
    }
    let proved = prove(&sandbox, &["--", "python3", "-m", "nosuchmod", "{tests}"]);
    assert_eq!(proved.code, Some(1), "{}", proved.error);
    assert!(proved.text.contains("failed with exit code 1: "), "{}", proved.text);
    assert!(proved.text.contains("No module named nosuchmod"), "{}", proved.text);
    let proved = prove(&sandbox, &["--", "python3", "-m", "unittest"]);
    assert!(proved.text.contains("does not name it; unittest names tests with `-v`"), "{}", proved.text);
    let Some(pytest) = tool("pytest") else { return };
    let folder = pytest.parent().expect("a folder").to_owned();
    sandbox.write(
        "tests/test_later.py",
        "import pytest\n\n\n@pytest.mark.skip(reason='later')\ndef test_later():\n    assert 1 == 1\n",
    );
    for command in ["PYTHONPATH=. pytest {tests}", "PYTHONPATH=. pytest -q {tests}"] {
        let proved = prove_with(&sandbox, Some(&folder), &["--", command]);
        assert!(proved.text.contains("`test_later` could not be run: it is skipped"), "{}", proved.text);
    }
}

#[test]
fn tests_commands_name_a_workspace_that_is_missing() {
    let sandbox = python();
    for args in [
        &["check", "--base", "HEAD", "--workspace", "/nonexistent"][..],
        &["prove", "--base", "HEAD", "--workspace", "/nonexistent", "--", "true"],
    ] {
        let output =
            sandbox.command(&[&["tests"], args].concat()).current_dir(sandbox.repo()).output().expect("runs");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{error}");
        assert!(error.contains("could not open the folder `/nonexistent`: No such file"), "{error}");
    }
}
