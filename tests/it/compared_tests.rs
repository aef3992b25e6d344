//! Tables of outputs of runners: what they say of single tests, and whether any ran.

use serde_json::{Map, Value, json};
use test_results::{Comparison, compare, has_run_tests, junit, parse};

use crate::support::cases;

fn told(found: &Comparison) -> Value {
    let mut told = Map::from_iter([("ran".to_owned(), json!(found.ran))]);
    for (name, list) in [
        ("new", &found.new),
        ("gone", &found.gone),
        ("newly_skipped", &found.newly_skipped),
        ("newly_failing", &found.newly_failing),
        ("still_failing", &found.still_failing),
        ("mended", &found.mended),
        ("slower", &found.slower),
    ] {
        if !list.is_empty() {
            told.insert(name.to_owned(), json!(list));
        }
    }
    Value::Object(told)
}

#[test]
fn gates_tests_are_compared_one_by_one() {
    for case in cases("compared-tests.yml") {
        let read = |side: &str| {
            let text = case[side].as_str().expect("an output");
            if case["junit"] == true { junit(text) } else { parse(text) }
        };
        assert_eq!(told(&compare(&read("before"), &read("now"))), case["told"], "{}", case["name"]);
    }
}

#[test]
fn gates_that_ran_no_test_are_told_by_their_output() {
    for case in cases("ran-no-test.yml") {
        let says = match has_run_tests(case["output"].as_str().expect("an output"), case["cut"] != true) {
            Some(true) => "tests",
            Some(false) => "none",
            None => "unknown",
        };
        assert_eq!(case["says"], says, "{}", case["name"]);
    }
}
