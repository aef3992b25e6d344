//! A test that fails on the old code only because what it names is missing there proves nothing.

use super::{expect, expect_with};
use crate::support::Sandbox;
use crate::support::tools::tool;

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
        sandbox.write("tests/test_shop.py", format!("{head}{half}{trivial}"));
        expect_with(
            &sandbox,
            Some(&pytest),
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
