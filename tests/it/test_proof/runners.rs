//! The verdicts by every runner.

use super::{expect, expect_with, prove_with, python};
use crate::support::Sandbox;
use crate::support::tools::tool;

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

    let sandbox = python();
    for command in [&["pytest", "-q", "{tests}"][..], &["pytest"], &["pytest", "{files}"]] {
        // The root has to be where modules are looked for.
        expect_with(&sandbox, Some(&pytest), &[&["env", "PYTHONPATH=."], command].concat(), &PYTHON);
    }
}

#[test]
fn tests_prove_sees_failures_behind_pipes() {
    let sandbox = Sandbox::new(&[("shop.py", "TOTAL = 1\n"), ("tests/__init__.py", "")]);
    sandbox.commit("shop");
    sandbox.write("shop.py", "TOTAL = 2\n");
    let test =
        |name: &str, body: &str| format!("\n    def test_{name}(self):\n        self.assertEqual({body})\n");
    sandbox.write(
        "tests/test_shop.py",
        format!(
            "import unittest\n\nfrom shop import TOTAL\n\n\nclass TestShop(unittest.TestCase):{}{}",
            test("total", "TOTAL, 2"),
            test("same", "1, 1")
        ),
    );
    // The last line names no test, so it is the exit code that counts.
    expect(
        &sandbox,
        &["python3 -m unittest {test} 2>&1 | tail -n 1"],
        &[("TestShop > test_total", "proves"), ("TestShop > test_same", "passes-on-old")],
    );
    let proved = prove_with(&sandbox, None, &["--", "python3 -m unittest -v {tests} 2>&1 | grep test_total"]);
    let told = "`TestShop > test_same` could not be run: the output of the command does not name it; the pipe in the command may leave \
                out its line";
    assert!(proved.text.contains(told), "{}", proved.text);
}

#[test]
fn tests_prove_tells_cases_one_by_one() {
    let Some(pytest) = tool("pytest") else { return };
    let sandbox = Sandbox::new(&[("shop.py", "def half(n):\n    return n // 2 + n % 2\n")]);
    sandbox.commit("shop");
    sandbox.write("shop.py", "def half(n):\n    return n // 2\n");
    let test = |rows: &str| {
        format!(
            "import pytest\n\nfrom shop import half\n\n\n@pytest.mark.parametrize(\"given, expected\", [{rows}])\ndef test_half(given, \
             expected):\n    assert half(given) == expected\n"
        )
    };
    for (rows, expected, code) in [
        (
            "(2, 1), (3, 1), (5, 2)",
            "`test_half` proves the change in 2 of 3 cases: assert 2 == 1\n    [2-1] passes on the old code too\n1 of 1 new test proves",
            0,
        ),
        ("(3, 1), (5, 2)", "`test_half` proves the change: assert 2 == 1\n1 of 1 new test proves", 0),
        (
            "pytest.param(3, 1, marks=pytest.mark.skipif(half(3) == 1, reason='x')), (2, 1)",
            "`test_half` could not be run: no case of it that fails on the old code passes on the new",
            1,
        ),
    ] {
        sandbox.write("tests/test_shop.py", test(rows));
        let command = ["--", "env", "PYTHONPATH=.", "pytest", "{tests}"];
        let proved = prove_with(&sandbox, Some(&pytest), &command);
        assert!(proved.text.contains(expected), "{rows}: {}{}", proved.text, proved.error);
        assert_eq!(proved.code, Some(code), "{rows}");
    }
    sandbox.write("tests/test_shop.py", test("(2, 1), (3, 1)"));
    let command = ["--json", "--", "env", "PYTHONPATH=.", "pytest", "{tests}"];
    let proved = prove_with(&sandbox, Some(&pytest), &command);
    let found: serde_json::Value = serde_json::from_str(&proved.text).expect("JSON");
    let cases = serde_json::json!([{"name": "2-1", "verdict": "passes-on-old"}, {"name": "3-1", "verdict": "proves"}]);
    assert_eq!(found["tests"][0]["cases"], cases);
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
    let one = |verdict| [("test_total", verdict)];
    expect(&sandbox, &["grep -q 'TOTAL = 2' shop.py && : {test}"], &one("proves"));
    expect(&sandbox, &["true"], &one("passes-on-old"));
    expect(&sandbox, &["false {test}"], &one("fails-on-both"));
    expect(&sandbox, &["grep -q 'TOTAL = 1' shop.py && : {test}"], &one("fails-on-new"));
    // Without its name, other tests may be the ones that fail.
    expect(&sandbox, &["grep", "-q", "TOTAL = 2", "shop.py"], &one("not-run"));
    expect(&sandbox, &["false"], &one("not-run"));
    expect(&sandbox, &["echo 'Ran 0 tests in 0.000s'"], &[("test_total", "not-run")]);
    expect(&sandbox, &["kill -9 $$"], &[("test_total", "not-run")]);
}

#[test]
fn tests_prove_runs_tests_one_by_one_where_output_names_none() {
    let check = "case $1 in *test_total) grep -q 'TOTAL = 2' shop.py ;; esac\n";
    let sandbox = Sandbox::new(&[("shop.py", "TOTAL = 1\n"), ("check.sh", check)]);
    sandbox.commit("shop");
    sandbox.write("shop.py", "TOTAL = 2\n");
    sandbox.write(
        "tests/test_shop.py",
        "def test_total():\n    assert shop.TOTAL == 2\n\n\ndef test_name():\n    assert shop.NAME\n",
    );
    let expected = [("test_total", "proves"), ("test_name", "passes-on-old")];
    expect(&sandbox, &["sh", "check.sh", "{tests}"], &expected);
    expect(&sandbox, &["sh", "check.sh", "{test}"], &expected);
    // It is not known which of them failed.
    let unknown = [("test_total", "not-run"), ("test_name", "not-run")];
    expect(&sandbox, &["sh", "check.sh", "test_total"], &unknown);
}
