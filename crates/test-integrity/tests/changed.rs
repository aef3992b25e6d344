//! Tests of the selection of added and changed tests, and of the parts that go into the old code.

use std::collections::BTreeSet;

use test_integrity::{Change, changed_tests, changes_code, is_of_tests, new_names, with_tests_of};

fn found(path: &str, before: Option<&str>, after: &str) -> Vec<(String, bool)> {
    let changes = [Change { path, before, after: Some(after) }];
    changed_tests(&changes).into_iter().map(|test| (test.name(), test.is_new)).collect()
}

fn names(found: &[(String, bool)]) -> Vec<&str> {
    found.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn new_and_changed_tests_are_found_in_five_languages() {
    for (path, before, after, expected) in [
        (
            "tests/test_shop.py",
            "def test_a():\n    assert f() == 1\n\n\ndef test_b():\n    assert f() == 2\n",
            "def test_a():\n    assert f() == 1  # same\n\n\ndef test_b():\n    assert f() == 3\n\n\nclass TestC:\n    def test_c(self):\n        assert f()\n",
            &[("test_b", false), ("TestC > test_c", true)][..],
        ),
        (
            "shop.test.mjs",
            "test('a', () => { assert.equal(f(), 1); });\n",
            "test('a', () => { assert.equal(f(), 1); });\ndescribe('shop', () => {\n  it('adds', () => { assert.equal(f(), 2); });\n});\n",
            &[("shop > adds", true)],
        ),
        (
            "src/lib.rs",
            "pub fn f() -> u8 { 1 }\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() { assert_eq!(super::f(), 1); }\n}\n",
            "pub fn f() -> u8 { 2 }\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() { assert_eq!(super::f(), 2); }\n    #[test]\n    fn b() { assert_eq!(super::f(), 2); }\n}\n",
            &[("tests > a", false), ("tests > b", true)],
        ),
        (
            "shop_test.go",
            "package shop\n\nfunc TestA(t *testing.T) { if F() != 1 { t.Fatal(1) } }\n",
            "package shop\n\nfunc TestA(t *testing.T) { if F() != 1 { t.Fatal(1) } }\n\nfunc TestB(t *testing.T) { if F() != 2 { t.Fatal(2) } }\n",
            &[("TestB", true)],
        ),
        (
            "src/test/java/ShopTest.java",
            "class ShopTest { @Test void a() { assertEquals(1, f()); } }\n",
            "class ShopTest { @Test void a() { assertEquals(1, f()); }\n @Test void b() { assertEquals(2, f()); } }\n",
            &[("ShopTest > b", true)],
        ),
    ] {
        let expected: Vec<(String, bool)> =
            expected.iter().map(|(name, new)| ((*name).to_owned(), *new)).collect();
        assert_eq!(found(path, Some(before), after), expected, "{path}");
    }
}

#[test]
fn moved_and_renamed_tests_are_not_changed_and_what_they_name_counts() {
    let one = "def test_a():\n    assert total([1, 2]) == 3\n";
    let moved = [
        Change { path: "tests/test_a.py", before: Some(one), after: None },
        Change { path: "tests/test_b.py", before: None, after: Some(one) },
    ];
    assert_eq!(changed_tests(&moved), []);
    assert_eq!(found("tests/test_a.py", Some(one), &one.replace("test_a", "test_total")), []);
    let table = "CASES = [1, 2]\n\n\ndef helper():\n    return CASES\n\n\ndef test_a():\n    assert total(helper())\n\n\ndef test_b():\n    assert total([])\n";
    assert_eq!(
        names(&found("tests/test_a.py", Some(table), &table.replace("[1, 2]", "[1, 2, 3]"))),
        ["test_a"]
    );
    let cases = "@pytest.mark.parametrize('a', [1, 2])\ndef test_a(a):\n    assert a\n";
    assert_eq!(names(&found("tests/test_a.py", Some(cases), &cases.replace("1, 2", "1, 2, 3"))), ["test_a"]);
}

#[test]
fn tests_mention_what_they_import_and_code_has_new_names() {
    let code = Change {
        path: "shop.py",
        before: Some("def total(prices):\n    return sum(prices)\n"),
        after: Some(
            "def total(prices):\n    return sum(prices)\n\n\ndef discount(price):\n    return price * 0.9\n",
        ),
    };
    let of_tests = Change {
        path: "tests/test_shop.py",
        before: None,
        after: Some(
            "from shop import discount, total\nfrom rates import vat\n\n\ndef rebate(price):\n    return discount(price)\n\n\n\
             def test_discount():\n    assert discount(10) == 9\n\n\ndef test_rebate():\n    assert rebate(10) == 9\n\n\n\
             def test_total():\n    assert total([1]) == 1\n\n\ndef test_vat():\n    assert vat(1) == 1\n",
        ),
    };
    let new = new_names(&[code, of_tests]);
    assert_eq!(new, BTreeSet::from(["discount".to_owned()]));
    let among = "pub fn f() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() {}\n}\n";
    let rust = Change { path: "src/lib.rs", before: Some(""), after: Some(among) };
    assert_eq!(new_names(&[rust]), BTreeSet::from(["f".to_owned()]));
    let found = changed_tests(&[code, of_tests]);
    let mentions = |names: &BTreeSet<String>| {
        found
            .iter()
            .filter(|test| test.needs(names))
            .map(test_integrity::ChangedTest::name)
            .collect::<Vec<_>>()
    };
    assert_eq!(mentions(&new), ["test_discount", "test_rebate"]);
    assert_eq!(mentions(&BTreeSet::from(["rates".to_owned()])), ["test_vat"]);
}

#[test]
fn tests_of_rust_go_into_the_old_file_if_they_stand_apart() {
    let before = "//! Shop.\n\npub fn f() -> u8 {\n    1\n}\n\n/// Tests.\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() {}\n}\n";
    let after = "//! Shop.\n\npub fn f() -> u8 {\n    2\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() {}\n}\n\n#[test]\nfn c() {}\n";
    let text = with_tests_of(before, after).expect("they stand apart");
    assert!(text.contains("    1\n") && !text.contains("fn a()"), "{text}");
    assert!(
        text.contains("#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() {}\n}")
            && text.contains("#[test]\nfn c() {}"),
        "{text}"
    );
    let without = "pub fn f() -> u8 {\n    1\n}\n";
    assert!(with_tests_of(without, after).expect("they are added").ends_with("#[test]\nfn c() {}\n"));
    let nested =
        "mod shop {\n    #[cfg(test)]\n    mod tests {\n        #[test]\n        fn b() {}\n    }\n}\n";
    assert_eq!(with_tests_of(before, nested), None);
}

#[test]
fn data_of_tests_belongs_to_them() {
    for (path, expected) in [
        ("tests/data/a.json", true),
        ("src/shop.py", false),
        ("tests/test_shop.py", true),
        ("pkg/testdata/x.golden", true),
        ("src/__snapshots__/a.snap", true),
        ("conftest.py", true),
        ("package.json", false),
    ] {
        assert_eq!(is_of_tests(path), expected, "{path}");
    }
}

#[test]
fn another_import_changes_no_test() {
    for (path, before, after) in [
        (
            "a.test.mjs",
            "import test from 'node:test';\nimport { f } from './f.mjs';\ntest('a', () => { assert.equal(f(), 1); });\n",
            "import test, { describe } from 'node:test';\nimport { f, g } from './f.mjs';\ntest('a', () => { assert.equal(f(), 1); });\n",
        ),
        (
            "tests/test_a.py",
            "from shop import f\nimport os\n\ndef test_a():\n    assert f(os) == 1\n",
            "from shop import (\n    f,\n    g as h,\n)\nimport os, sys\n\ndef test_a():\n    assert f(os) == 1\n",
        ),
        (
            "tests/a.rs",
            "use shop::f;\n#[test]\nfn a() { assert_eq!(f(), 1); }\n",
            "use shop::{f, tax::{self, rate as r}};\n#[test]\nfn a() { assert_eq!(f(), 1); }\n",
        ),
        (
            "a_test.go",
            "package a\nimport \"testing\"\nfunc TestA(t *testing.T) { if F() != 1 { t.Fatal(1) } }\n",
            "package a\nimport (\n\t\"os\"\n\t\"testing\"\n)\nfunc TestA(t *testing.T) { if F() != 1 { t.Fatal(1) } }\n",
        ),
    ] {
        assert_eq!(found(path, Some(before), after), [], "{path}");
    }
    // What a name stands for is another thing.
    let (before, after) = ("from a import f\n", "from b import f\n");
    let test = "\ndef test_a():\n    assert f() == 1\n";
    let names = found("tests/test_a.py", Some(&format!("{before}{test}")), &format!("{after}{test}"));
    assert_eq!(names, [("test_a".to_owned(), false)]);
}

#[test]
fn tests_need_what_they_use_and_not_what_stands_beside_it() {
    let python = "from shop import Shop, Discount\nimport shop.tax as t\n\ndef test_it():\n    BODY\n";
    let rust = "use trs::{price, vat, tax::rate as r};\n#[test]\nfn it() { BODY }\n";
    let script = "import tax, { total as t } from './shop.mjs';\nconst { vat } = require('./duty');\ntest('it', () => { BODY });\n";
    for (path, text, body, name, expected) in [
        ("tests/test_a.py", python, "assert 1 + 1 == 2", "Discount", false),
        ("tests/test_a.py", python, "assert Shop()", "Discount", false),
        ("tests/test_a.py", python, "assert Discount()", "Discount", true),
        ("tests/test_a.py", python, "assert t.rate", "tax", true),
        ("tests/it.rs", rust, "assert_eq!(price(1), 1)", "vat", false),
        ("tests/it.rs", rust, "let vat = 1; assert_eq!(vat, 1)", "vat", false),
        ("tests/it.rs", rust, "assert_eq!(vat(1), 1)", "vat", true),
        ("tests/it.rs", rust, "assert_eq!(trs::vat(1), 1)", "vat", true),
        ("tests/it.rs", rust, "assert_eq!(r(1), 1)", "rate", true),
        ("a.test.mjs", script, "assert.equal(t(), 1)", "total", true),
        ("a.test.mjs", script, "assert.equal(vat(), 1)", "duty", true),
        ("a.test.mjs", script, "assert.equal(tax(), 1)", "shop", true),
        ("a.test.mjs", script, "assert.equal(1, 1)", "shop", false),
    ] {
        let text = text.replace("BODY", body);
        let tests = changed_tests(&[Change { path, before: None, after: Some(&text) }]);
        assert_eq!(tests.len(), 1, "{text}");
        assert_eq!(tests[0].needs(&BTreeSet::from([name.to_owned()])), expected, "{name}: {text}");
    }
}

#[test]
fn names_of_javascript_tests_are_what_its_runner_prints() {
    for (given, expected) in [
        (r#""dash \"a\"""#, "dash \"a\""),
        (r"'it\'s'", "it's"),
        (r"'tab\tu\u00e9\u{e9}\x41'", "tab\tuééA"),
        (r#""gen " + n"#, "gen ${value}"),
        (r#""a" + (n + 1) + "b""#, "a${value}${value}b"),
        ("`gen ${n}`", "gen ${n}"),
    ] {
        let text = format!("test({given}, () => {{ assert.equal(f(), 1); }});\n");
        assert_eq!(names(&found("a.test.mjs", None, &text)), [expected], "{given}");
    }
}

#[test]
fn code_of_the_program_is_told_from_what_surrounds_it() {
    let test = "#[cfg(test)]\nmod tests { #[test] fn a() { assert!(super::f()); } }\n";
    for (path, before, after, expected) in [
        ("shop.py", Some("def f():\n    return 1\n"), Some("def f():\n    return 2\n"), true),
        ("shop.py", Some("NAME = 'a'\n"), Some("NAME = 'b'\n"), true),
        ("shop.py", Some("a = b + c\n"), Some("a = b - c\n"), true),
        ("shop.py", None, Some("def f():\n    return 1\n"), true),
        ("shop.py", None, Some("# later\n"), false),
        ("shop.py", Some("def f():\n    return 1\n"), None, false),
        ("shop.py", Some("a = 1  # one\n"), Some("# one\na  =  1\n"), false),
        ("shop.ts", Some("f(1);\n"), Some("f(1); // x\n"), false),
        ("shop.go", Some("package a\n"), Some("package a\n\nvar b = 1\n"), true),
        ("README.md", Some("a\n"), Some("b\n"), false),
        ("pyproject.toml", Some("a = 1\n"), Some("a = 2\n"), false),
        ("tests/helper.py", Some("a = 1\n"), Some("a = 2\n"), false),
        ("src/lib.rs", Some("fn f() -> bool { true }\n"), Some("fn f() -> bool { false }\n"), true),
    ] {
        assert_eq!(changes_code(&[Change { path, before, after }]), expected, "{path} {before:?} {after:?}");
    }
    let code = "fn f() -> bool { true }\n";
    let with_test = format!("{code}{test}");
    let change = Change { path: "src/lib.rs", before: Some(code), after: Some(&with_test) };
    assert!(!changes_code(&[change]), "only a test");
    let moved = [
        Change { path: "a.py", before: Some("def f():\n    return 1\n"), after: None },
        Change { path: "b.py", before: None, after: Some("def f():\n    return 1\n") },
    ];
    assert!(!changes_code(&moved), "a move");
}
