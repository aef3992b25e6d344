//! Output of a megabyte that is made to keep its reader busy.

/// Returns the lines of about a megabyte.
fn megabyte(line: impl Fn(usize) -> String) -> String {
    let length = line(10_000).len() + 1;
    (0..1_000_000 / length).map(|at| line(at) + "\n").collect()
}

#[test]
fn hostile_output_is_read_and_compared_soon() {
    let outputs = |word: &str| {
        [
            format!("\nfailures:\n{}", megabyte(|at| format!("    {word}::case_{at}"))),
            megabyte(|at| format!("test tests::{word}_{at} ... FAILED")),
            megabyte(|at| format!("FAILED tests/test_a.py::test_{word}_{at} - why")),
            megabyte(|at| format!("ERROR tests/{word}{at}.py - why")),
            megabyte(|at| format!("FAIL\texample.com/{word}{at}\t0.1s")),
            megabyte(|at| format!("FAIL example.com/{word}{at} [build failed]")),
            megabyte(|at| format!("not ok {at} - {word} {at}")),
        ]
    };
    for (before, after) in outputs("one").into_iter().zip(outputs("other")) {
        let start = std::time::Instant::now();
        let (before, after) = (test_results::parse(&before), test_results::parse(&after));
        test_results::compare(&before, &after);
        // What is quadratic takes minutes here.
        assert!(start.elapsed().as_secs() < 30, "{:?} for {} tests", start.elapsed(), before.tests.len());
    }
}

#[test]
fn attributes_without_number_are_not_compared() {
    let case = |count: usize| {
        let attributes: String = (0..count).map(|at| format!(" a{at}='>'")).collect();
        format!("<testsuite><testcase name=\"one\"{attributes}/></testsuite>")
    };
    for (count, tests) in [(200, 1), (200_000, 0)] {
        assert_eq!(test_results::junit(&case(count)).tests.len(), tests, "{count}");
    }
}
