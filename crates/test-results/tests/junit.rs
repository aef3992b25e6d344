//! JUnit's XML, and the results that are read from it.

use test_results::{Outcome, Results, compare, junit};

fn summary(results: &Results) -> Vec<String> {
    let sign = |outcome: Outcome| match outcome {
        Outcome::Passed => '+',
        Outcome::Failed => '-',
        Outcome::Skipped => '?',
    };
    let message =
        |message: &Option<String>| message.as_ref().map_or(String::new(), |text| format!(": {text}"));
    let tests = results.tests.iter();
    tests
        .map(|test| format!("{}{}{}", sign(test.outcome), test.name.join("|"), message(&test.message)))
        .collect()
}

fn parts(name: &str) -> Vec<String> {
    name.split('|').map(str::to_owned).collect()
}

#[test]
fn junit_is_read() {
    let xml = "<testsuites><testsuite>\
        <testcase classname=\"tests.test_shop.Total\" name=\"test_a[1]\"/>\
        <testcase classname=\"shop.TotalTest\" name=\"adds()\"><failure message=\"no&#10;more\"/></testcase>\
        <testcase classname=\"shop\" name=\"adds one\"><skipped/></testcase>\
        </testsuite></testsuites>";
    assert_eq!(
        summary(&junit(xml)),
        ["+tests|test_shop|Total|test_a", "-shop|TotalTest|adds: no", "?shop|adds one"]
    );
    assert!(junit("no XML").is_empty());
}

#[test]
fn junit_names_cases_of_methods() {
    for (name, own, case) in [
        ("adds(int)[1]", "adds", Some("1")),
        ("adds(int, String)[2]", "adds", Some("2")),
        ("adds(int)", "adds", None),
        ("adds[0: 1 + 1 = 2]", "adds", Some("0: 1 + 1 = 2")),
        ("test_a[a b]", "test_a", Some("a b")),
        ("adds two [numbers]", "adds two [numbers]", None),
        ("adds (fast)", "adds (fast)", None),
    ] {
        let xml = format!("<testsuite><testcase classname=\"shop.CartTest\" name=\"{name}\"/></testsuite>");
        let results = junit(&xml);
        assert_eq!(results.tests[0].case.as_deref(), case, "{name}");
        let names = [parts(&format!("shop|CartTest|{own}"))];
        assert_eq!(results.of(&names)[0].len(), 1, "{name}");
    }
    let overloaded = "<testsuite><testcase classname=\"A\" name=\"adds(int)\"/><testcase classname=\"A\" name=\"adds(long)\"/></testsuite>";
    let one = overloaded.replace("<testcase classname=\"A\" name=\"adds(long)\"/>", "");
    assert_eq!(compare(&junit(overloaded), &junit(&one)).gone, ["A::adds(long)"]);
}

#[test]
fn junit_tells_tests_of_two_files_apart() {
    let xml = "<testsuites>\
        <testsuite name=\"src/a.test.js\"><testcase classname=\"total\" name=\"adds\"/></testsuite>\
        <testsuite name=\"unit\"><testcase classname=\"total\" name=\"adds\" file=\"src/b.test.js\"/></testsuite>\
        <testsuite name=\"unit\" file=\"tests/test_shop.py\"><testcase classname=\"tests.test_shop.Total\" name=\"test_a\"/>\
        </testsuite></testsuites>";
    assert_eq!(
        summary(&junit(xml)),
        ["+src|a.test|total|adds", "+src|b.test|total|adds", "+tests|test_shop|Total|test_a"]
    );
    let failed = xml.replacen("name=\"adds\"/>", "name=\"adds\"><failure/></testcase>", 1);
    let compared = compare(&junit(xml), &junit(&failed));
    assert_eq!(compared.newly_failing, ["src::a.test::total::adds"]);
    let names = [parts("src|a.test|total|adds"), parts("src|b.test|total|adds")];
    let results = junit(&failed);
    let outcomes: Vec<Vec<Outcome>> =
        results.of(&names).iter().map(|of| of.iter().map(|result| result.outcome).collect()).collect();
    assert_eq!(outcomes, [[Outcome::Failed], [Outcome::Passed]]);
}
