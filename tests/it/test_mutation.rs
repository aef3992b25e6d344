//! `architect-ci tests mutate`: which faults in the changed code nobody would have noticed.

use std::process::Output;

use crate::support::Sandbox;
use serde_json::Value;

const OLD: &str = "def price(count):\n    return count * 2\n";
const NEW: &str = "def price(count):\n    if count > 10:\n        return 20\n    return count * 2\n";

fn mutate(sandbox: &Sandbox, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = sandbox.command(&[&["tests", "mutate", "--base", "HEAD"], args].concat());
    let Output { status, stdout, stderr } =
        command.current_dir(sandbox.repo()).output().expect("the binary runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (status.code(), text(stdout), text(stderr))
}

fn shop(tests: &str) -> Sandbox {
    let sandbox = Sandbox::new(&[("shop.py", OLD), ("tests/__init__.py", "")]);
    sandbox.commit("shop");
    sandbox.write("shop.py", NEW);
    let head = "import unittest\n\nfrom shop import price\n\n\nclass TestPrice(unittest.TestCase):\n    def test_price(self):\n";
    let tests: String = tests.lines().map(|line| format!("        {line}\n")).collect();
    sandbox.write("tests/test_shop.py", format!("{head}{tests}"));
    sandbox
}

const COMMAND: [&str; 5] = ["--", "python3", "-m", "unittest", "-v"];

#[test]
fn tests_mutate_names_faults_that_nobody_notices() {
    let sandbox = shop("self.assertEqual(price(20), 20)\nself.assertEqual(price(3), 6)\n");
    let before = sandbox.git(&["status", "--porcelain"]);
    let (code, text, error) = mutate(&sandbox, &COMMAND);
    assert_eq!(code, Some(1), "{text}{error}");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.contains(&"✗ shop.py:2 no test notices: `>` became `>=` (off by one)"), "{text}");
    assert!(lines.contains(&"✗ shop.py:2 no test notices: `10` became `11` (off by one)"), "{text}");
    assert!(
        lines.contains(&"✓ shop.py:2 noticed: `count > 10` became `not (count > 10)` (negated condition)"),
        "{text}"
    );
    assert!(lines.contains(&"✓ shop.py:3 noticed: `20` became `None` (returned default)"), "{text}");
    assert!(text.contains("the tests notice 3 of 5 faults"), "{text}");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), before, "the checkout stays as it is");
}

#[test]
fn tests_mutate_passes_if_tests_notice_all() {
    let sandbox = shop(
        "self.assertEqual(price(20), 20)\nself.assertEqual(price(10), 20)\nself.assertEqual(price(11), 20)\nself.assertEqual(price(3), 6)\n",
    );
    // At the border both ways give 20, so two faults change nothing.
    sandbox.write("shop.py", NEW.replace("return 20", "return 21"));
    sandbox.write(
        "tests/test_shop.py",
        "import unittest\n\nfrom shop import price\n\n\nclass TestPrice(unittest.TestCase):\n    def test_price(self):\n        \
         self.assertEqual([price(n) for n in (3, 10, 11, 12)], [6, 20, 21, 21])\n",
    );
    let (code, text, error) = mutate(&sandbox, &COMMAND);
    assert_eq!(code, Some(0), "{text}{error}");
    assert!(text.contains("the tests notice 5 of 5 faults"), "{text}");
}

#[test]
fn tests_mutate_chooses_the_same_faults_each_time() {
    let sandbox = shop("self.assertEqual(price(20), 20)\nself.assertEqual(price(3), 6)\n");
    let faults = |args: &[&str]| {
        let (_, text, error) = mutate(&sandbox, &[args, &["--json", "--count", "2"], &COMMAND].concat());
        let found: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}{error}"));
        found["mutations"].clone()
    };
    let first = faults(&[]);
    assert_eq!(first.as_array().map(Vec::len), Some(2), "{first:#}");
    // One of each line before a second of any.
    assert_ne!(first[0]["line"], first[1]["line"], "{first:#}");
    assert_eq!(faults(&[]), first);
    assert_eq!(faults(&["--seed", "7"]), faults(&["--seed", "7"]));
}

#[test]
fn tests_mutate_needs_tests_that_pass() {
    let sandbox = shop("self.assertEqual(price(20), 1)\n");
    let (code, _, error) = mutate(&sandbox, &COMMAND);
    assert_eq!(code, Some(3));
    assert!(error.contains("the tests fail on the change as it is"), "{error}");
    let sandbox = shop("pass\n");
    sandbox.git(&["clean", "-fdq"]);
    let (code, _, error) = mutate(&sandbox, &["--", "python3", "-m", "unittest", "{tests}"]);
    assert_eq!(code, Some(3));
    assert!(error.contains("the change neither adds nor changes a test"), "{error}");
    sandbox.git(&["checkout", "--quiet", "."]);
    let (code, text, _) = mutate(&sandbox, &["--", "false"]);
    assert_eq!((code, text.as_str()), (Some(0), "no fault could be injected into the change (0 s)\n"));
}

#[test]
fn tests_mutate_fails_if_no_fault_can_be_tried() {
    let sandbox = shop("self.assertEqual(price(20), 20)\n");
    // With any fault in the file, there is no such program.
    let command = "if git hash-object shop.py | grep -q HASH; then true; else exit 127; fi";
    let command = command.replace("HASH", sandbox.git(&["hash-object", "shop.py"]).trim());
    let (code, text, error) = mutate(&sandbox, &["--", &command]);
    assert_eq!(code, Some(3), "{text}{error}");
    assert!(text.contains("none of 5 faults could be tried"), "{text}");
    let (code, _, error) = mutate(&sandbox, &["--", "no-such-program"]);
    assert_eq!(code, Some(3), "{error}");
    assert!(error.contains("the test command could not be run: "), "{error}");
}
