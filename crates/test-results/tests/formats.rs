//! Output of runners, and the results that are read from it. The texts are theirs, shortened.

use proptest::prelude::*;
use test_results::{Outcome, Results, compare, junit, parse};

fn summary(results: &Results) -> Vec<String> {
    let of_tests = results.tests.iter().map(|test| {
        let sign = match test.outcome {
            Outcome::Passed => '+',
            Outcome::Failed => '-',
            Outcome::Skipped => '?',
        };
        let message = test.message.as_ref().map_or(String::new(), |message| format!(": {message}"));
        format!("{sign}{}{message}", test.name.join("|"))
    });
    of_tests
        .chain(
            results.unbuilt.iter().map(|unbuilt| format!("!{}: {}", unbuilt.name.join("|"), unbuilt.message)),
        )
        .collect()
}

#[test]
fn pytest_is_read() {
    let text = "\
tests/test_shop.py::test_total PASSED                                    [ 25%]
tests/test_shop.py::TestTax::test_vat[1-a b] FAILED                      [ 50%]
tests/test_shop.py::test_later SKIPPED (not yet)                         [ 75%]
[gw0] [ 90%] PASSED tests/test_more.py::test_more
=========================== short test summary info ============================
PASSED tests/a/test_b.py::test_b
FAILED tests/test_shop.py::TestTax::test_x[a - b] - assert 1 == 2
ERROR tests/test_new.py - ImportError: cannot import name 'discount' from 'shop'
ERROR tests/test_fix.py::test_f - RuntimeError: no
XFAIL tests/test_shop.py::test_y - later
";
    assert_eq!(
        summary(&parse(text)),
        [
            "+tests|test_shop|test_total",
            "-tests|test_shop|TestTax|test_vat",
            "?tests|test_shop|test_later",
            "+tests|test_more|test_more",
            "+tests|a|test_b|test_b",
            "-tests|test_shop|TestTax|test_x: assert 1 == 2",
            "-tests|test_fix|test_f: RuntimeError: no",
            "?tests|test_shop|test_y: later",
            "!tests|test_new: ImportError: cannot import name 'discount' from 'shop'",
        ]
    );
}

#[test]
fn unittest_is_read() {
    let text = "\
test_a (tests.test_shop.Total.test_a) ... ok
test_b (tests.test_shop.Total) ... FAIL
test_c (tests.test_shop.Total.test_c)
Says what it does. ... skipped 'not yet'
test_d (tests.test_shop.Total.test_d) ... printed
ok
tests.test_new (unittest.loader._FailedTest.tests.test_new) ... ERROR

======================================================================
ERROR: tests.test_new (unittest.loader._FailedTest.tests.test_new)
----------------------------------------------------------------------
ImportError: Failed to import test module: tests.test_new
======================================================================
FAIL: test_b (tests.test_shop.Total)
";
    assert_eq!(
        summary(&parse(text)),
        [
            "+tests|test_shop|Total|test_a",
            "-tests|test_shop|Total|test_b",
            "?tests|test_shop|Total|test_c: 'not yet'",
            "+tests|test_shop|Total|test_d",
            "!tests|test_new: could not be imported",
        ]
    );
}

#[test]
fn unittest_that_names_only_failures_has_lost_no_mended_test() {
    let failed = "F..\n======\nFAIL: test_a (tests.test_c.T.test_a)\n------\nRan 3 tests in 0.001s\n\nFAILED (failures=1)\n";
    let before = parse(failed);
    for (now, gone) in [("Ran 3 tests in 0.001s\n\nOK\n", 0), ("Ran 2 tests in 0.001s\n\nOK\n", 1)] {
        assert_eq!(compare(&before, &parse(now)).gone.len(), gone, "{now}");
    }
}

#[test]
fn cargo_and_nextest_are_read() {
    let text = "\
     Running unittests src/lib.rs (target/debug/deps/shop-0123456789abcdef)
test cart::tests::adds ... ok
test cart::tests::fails - should panic ... FAILED
test cart::tests::slow ... ignored, takes long
     Running tests/it.rs (target/debug/deps/it-0123456789abcdef)
test works ... ok
   Doc-tests shop
test src/lib.rs - total (line 3) ... ok
        PASS [   0.005s] shop cart::tests::one
        FAIL [   0.005s] shop::it two
error[E0425]: cannot find function `discount` in this scope
error: could not compile `shop` (lib test) due to 1 previous error
";
    assert_eq!(
        summary(&parse(text)),
        [
            "+shop|src|cart|tests|adds",
            "-shop|src|cart|tests|fails",
            "?shop|src|cart|tests|slow: takes long",
            "+tests|it|works",
            "+shop|src|lib|total (doc test)",
            "+shop|cart|tests|one",
            "-shop|it|two",
            "!shop: error[E0425]: cannot find function `discount` in this scope",
        ]
    );
}

#[test]
fn go_is_read() {
    let text = "\
=== RUN   TestA
--- PASS: TestA (0.00s)
    --- FAIL: TestB/one (0.00s)
--- FAIL: TestB (0.00s)
{\"Action\":\"pass\",\"Package\":\"x.org/shop/cart\",\"Test\":\"TestC\"}
{\"Action\":\"output\",\"Package\":\"x.org/shop\",\"Output\":\"--- PASS: TestD (0.00s)\\n\",\"Test\":\"TestD\"}
# x.org/shop/tax [x.org/shop/tax.test]
tax/tax_test.go:5:9: undefined: Discount
FAIL\tx.org/shop/tax [build failed]
";
    assert_eq!(
        summary(&parse(text)),
        [
            "+TestA",
            "-TestB",
            // A case of it.
            "-TestB",
            "+x.org|shop|cart|TestC",
            "!x.org|shop|tax: tax/tax_test.go:5:9: undefined: Discount",
        ]
    );
}

#[test]
fn tap_is_read() {
    let text = "\
TAP version 13
# Subtest: shop
    # Subtest: adds 1 / 2
    ok 1 - adds 1 / 2
      ---
      duration_ms: 0.4
      ...
    # Subtest: fails
    not ok 2 - fails
      ---
      duration_ms: 0.4
      error: 'Expected values'
      ...
    1..2
not ok 1 - shop
# Subtest: later
ok 2 - later # SKIP
# Subtest: /w/broken.test.mjs
not ok 3 - /w/broken.test.mjs
  ---
  error: \"does not provide an export named 'discount'\"
  ...
";
    assert_eq!(
        summary(&parse(text)),
        [
            "+shop|adds 1 / 2",
            "-shop|fails: Expected values",
            "-shop",
            "?later",
            "!w|broken.test: does not provide an export named 'discount'",
        ]
    );
}

#[test]
fn trees_are_read() {
    let node = "\
▶ shop
  ✔ adds (0.5ms)
  ✖ fails (1ms)
▶ shop (2ms)
✔ alone (0.1ms)
﹣ later (0.1ms) # SKIP
✖ failing tests:
✖ fails (1ms)
";
    assert_eq!(summary(&parse(node)), ["+shop|adds", "-shop|fails", "+alone", "?later"]);
    let jest = "\
FAIL tests/shop.test.js
  shop
    ✓ adds (2 ms)
    ✕ fails
    ○ skipped later
  ● shop › fails
FAIL tests/new.test.js
  ● Test suite failed to run
";
    assert_eq!(
        summary(&parse(jest)),
        [
            "+tests|shop.test|shop|adds",
            "-tests|shop.test|shop|fails",
            "?tests|shop.test|shop|later",
            "!tests|new.test: the file could not be run",
        ]
    );
    let vitest = " ✓ tests/shop.test.ts > shop > adds 2ms\n × tests/shop.test.ts > shop > fails 3ms\n";
    assert_eq!(summary(&parse(vitest)), ["+tests|shop.test|shop|adds", "-tests|shop.test|shop|fails"]);
    let mocha =
        "\n  shop\n    ✔ adds\n    1) fails\n\n  1 passing (3ms)\n  1 failing\n\n  1) shop\n       fails:\n";
    assert_eq!(summary(&parse(mocha)), ["+shop|adds", "-shop|fails"]);
}

fn parts(name: &str) -> Vec<String> {
    name.split('|').map(str::to_owned).collect()
}

#[test]
fn results_belong_to_the_tests_that_they_fit_best() {
    let results = parse(
        "     Running unittests src/lib.rs (target/debug/deps/one-0123456789abcdef)\n\
         test a::tests::adds ... ok\ntest b::tests::adds ... FAILED\n",
    );
    let names = [parts("src|a|tests|adds"), parts("src|b|tests|adds"), parts("src|c|tests|sums")];
    let found = results.of(&names);
    assert_eq!(
        found
            .iter()
            .map(|results| results.iter().map(|result| result.outcome).collect())
            .collect::<Vec<Vec<_>>>(),
        [vec![Outcome::Passed], vec![Outcome::Failed], vec![]]
    );
    let cases = parse("ok 1 - adds 1 and 2\nnot ok 2 - adds 3 and 4\nok 3 - other\n");
    assert_eq!(cases.of(&[parts("shop.test|adds %i and $b")])[0].len(), 2);
    let unbuilt = parse("ERROR tests/test_new.py - ImportError: x\n");
    assert_eq!(unbuilt.unbuilt_of(&parts("tests|test_new|test_a")), Some("ImportError: x"));
    assert_eq!(unbuilt.unbuilt_of(&parts("tests|test_old|test_a")), None);
}

#[test]
fn printed_verdicts_do_not_outrank_the_summary() {
    for (text, doubt) in [
        // The heading tells what the verdict hides.
        (
            "test_b (t.T.test_b) ... ok\nFAIL\n\n=====\nFAIL: test_b (t.T.test_b)\n-----\nRan 1 test in 0.001s\n\nFAILED (failures=1)\n",
            None,
        ),
        (
            "test_b (t.T.test_b) ... ok\n\nRan 1 test in 0.001s\n\nFAILED (failures=1)\n",
            Some("unittest counts 1 failures, and its lines tell of 0"),
        ),
        (
            "test_a (t.T.test_a) ... ok\ntest_b (t.T.test_b) ... ok\n\nRan 1 test in 0.001s\n\nOK\n",
            Some("unittest counts 1 tests, and its lines name 2"),
        ),
        (
            "a.py::test_a PASSED\na.py::test_b PASSED\n=== 1 failed, 1 passed in 0.01s ===\n",
            Some("pytest counts 1 passed, and its lines name 2"),
        ),
        ("a.py::test_a PASSED\na.py::test_a PASSED\n=== 1 passed in 0.01s ===\n", None),
        // Parts of tests that pass are counted apart, and those that fail are failures.
        (
            "a.py::test_a SUBPASSED(n=1) [ 50%]\na.py::test_a PASSED [100%]\n=== 1 passed, 1 subtests passed in 0.01s ===\n",
            None,
        ),
        (
            "a.py::test_a SUBFAILED[one] (n=0) [ 50%]\na.py::test_a FAILED [100%]\nSUBFAILED[one] (n=0) a.py::test_a - assert 0\nFAILED a.py::test_a - contains 1 failed subtest\n=== 2 failed, 1 subtests passed in 0.02s ===\n",
            None,
        ),
        (
            "test a ... ok\ntest b ... ok\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
            Some("the test harness counts 1 passed, and its lines name 2"),
        ),
        (
            "test a ... printed\nFAILED\n\nfailures:\n\n---- a stdout ----\nx\n\nfailures:\n    a\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
            None,
        ),
        (
            "--- FAIL: TestA (0.00s)\nok  \tx/b\t0.01s\n",
            Some("go says that x/b is ok, and its lines name a failed test"),
        ),
        ("1..1\nok 1\nok 2\n", Some("the plan of TAP counts 1 tests, and its lines name 2")),
        ("  ✔ a\n  ✔ b\n\n  1 passing (3ms)\n", Some("the summary counts 1 passed, and lines name 2")),
    ] {
        let results = parse(text);
        assert_eq!(results.doubts.first().map(String::as_str), doubt, "{text}");
    }
    let results = parse("test_b (t.T.test_b) ... ok\nFAIL\n\nFAIL: test_b (t.T.test_b)\n");
    assert!(results.tests.iter().any(|test| test.outcome == Outcome::Failed));
    assert!(parse("test a ... ok\n").is_unfinished);
    assert!(!parse("a.py::test_a PASSED\n2 passed, 2 subtests passed in 0.01s\n").is_unfinished);
}

#[test]
fn names_say_where_a_test_is() {
    for (text, expected) in [
        (
            "--- PASS: TestA (0.00s)\nok  \tx/b\t0.01s\n--- SKIP: TestA (0.00s)\nok  \tx/c\t0.01s\n",
            vec!["+x|b|TestA", "?x|c|TestA"],
        ),
        ("=== RUN   TestB\nboom\nFAIL\tx/b\t0.01s\n", vec!["!x|b: it failed, and none of its tests did"]),
        (
            "   Doc-tests shop\ntest src/lib.rs - total (line 3) ... ok\ntest src/lib.rs - total (line 9) ... FAILED\n",
            vec!["+shop|src|lib|total (doc test)", "-shop|src|lib|total (doc test)"],
        ),
        (
            "error: could not compile `one` (test \"it\") due to 1 previous error\n",
            vec!["!one|it: error: could not compile `one` (test \"it\") due to 1 previous error"],
        ),
        ("a.py::test_a SUBFAIL [ 50%]\na.py::test_a PASSED [100%]\n", vec!["-a|test_a", "+a|test_a"]),
        ("a.py::test_a[1] SUBFAILED(n=2) [ 50%]\n", vec!["-a|test_a"]),
        ("SUBFAILED[m] (n=2) a.py::test_a - assert 0\n", vec!["-a|test_a: assert 0"]),
        ("a.py::test_a SUBPASSED(n=2) [ 50%]\n", vec![]),
        ("my test.py::test_a FAILED [ 50%]\n", vec!["-my test|test_a"]),
        (
            "docs/a.txt::a.txt FAILED [100%]\nFAILED docs/a.txt::a.txt\n",
            vec!["-docs|a|a.txt", "-docs|a|a.txt"],
        ),
        ("not ok 1\nok 2\n", vec!["-test 1", "+test 2"]),
        ("ok  \tx/b\t0.01s\n", vec![]),
    ] {
        assert_eq!(summary(&parse(text)), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read(text in "(?s).{0,300}", pieces in prop::collection::vec(
        prop_oneof![
            Just("ok 1 - "), Just("not ok "), Just("test a"), Just(" ... "), Just("::"), Just("[x] - "), Just("\n"), Just("    "),
            Just("PASSED "), Just("a.py"), Just("--- PASS: "), Just("{\"Action\":\"pass\"}"), Just("✓ "), Just("1) "), Just("▶ "),
            Just(" (a.b)"), Just("ERROR: "), Just("Running x (y)"), Just("é"),
        ], 0..40)) {
        parse(&text);
        junit(&text);
        let joined = pieces.concat();
        let results = parse(&joined);
        results.of(&[vec!["a".to_owned()], vec!["%".to_owned(), "${".to_owned()]]);
    }
}

#[test]
fn groups_of_node_are_counted_by_nobody() {
    let text = "\
▶ shop
  ✔ adds (0.8ms)
  ✖ fails (1.2ms)
✖ shop (3.5ms)
✔ nothing (0.1ms)
ℹ tests 3
ℹ suites 1
ℹ pass 2
ℹ fail 1

✖ failing tests:

✖ fails (1.2ms)
";
    assert!(parse(text).doubts.is_empty(), "{:?}", parse(text).doubts);
    // What the code under test has printed is one too many.
    let forged = text.replace("✔ nothing", "✔ forged (0.1ms)\n✔ nothing");
    assert!(!parse(&forged).doubts.is_empty());
    let hidden = text.replace("ℹ fail 1", "ℹ fail 2");
    assert!(!parse(&hidden).doubts.is_empty());
}
