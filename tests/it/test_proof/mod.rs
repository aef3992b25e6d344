//! `architect-ci tests prove`: tests of a change on the old code and on the new, with real runners.

mod alone;
mod command;
mod flaky;
mod in_runs;
mod runners;

use std::path::Path;
use std::process::Output;

use crate::support::Sandbox;
use crate::support::tools::path_with;
use serde_json::Value;

struct Proved {
    code: Option<i32>,
    text: String,
    error: String,
}

/// Runs the command so that it finds `runner`.
fn prove_with(sandbox: &Sandbox, runner: Option<&Path>, args: &[&str]) -> Proved {
    let mut command = sandbox.command(&[&["tests", "prove", "--base", "HEAD"], args].concat());
    command.envs(runner.map(|runner| ("PATH", path_with(runner))));
    let Output { status, stdout, stderr } =
        command.current_dir(sandbox.repo()).output().expect("the binary runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    Proved { code: status.code(), text: text(stdout), error: text(stderr) }
}

/// Returns each test with its verdict.
fn verdicts(sandbox: &Sandbox, runner: Option<&Path>, command: &[&str]) -> Vec<(String, String)> {
    let proved = prove_with(sandbox, runner, &[&["--json", "--"], command].concat());
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

fn expect_with(sandbox: &Sandbox, runner: Option<&Path>, command: &[&str], expected: &[(&str, &str)]) {
    let before = sandbox.git(&["status", "--porcelain"]);
    let expected: Vec<(String, String)> =
        expected.iter().map(|(name, verdict)| ((*name).to_owned(), (*verdict).to_owned())).collect();
    assert_eq!(verdicts(sandbox, runner, command), expected, "{command:?}");
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
