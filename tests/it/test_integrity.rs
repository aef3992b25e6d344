//! `architect-ci tests check`: what a change does to the meaning of tests, on real checkouts.

use std::process::Output;

use crate::support::Sandbox;
use serde_json::Value;

const TESTS: &str = "from shop import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n    assert total([]) == 0\n";

fn check(sandbox: &Sandbox, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = sandbox.command(&[&["tests", "check"], args].concat());
    let Output { status, stdout, stderr } =
        command.current_dir(sandbox.repo()).output().expect("the binary runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (status.code(), text(stdout), text(stderr))
}

fn shop() -> Sandbox {
    let sandbox = Sandbox::new(&[
        ("shop.py", "def total(prices):\n    return sum(prices)\n"),
        ("tests/test_shop.py", TESTS),
    ]);
    sandbox.commit("tests");
    sandbox
}

#[test]
fn tests_check_reports_weakened_test() {
    let sandbox = shop();
    sandbox.write("tests/test_shop.py", TESTS.replace("== 3", "is not None"));
    let (code, text, _) = check(&sandbox, &["--base", "HEAD"]);
    assert_eq!(code, Some(1), "{text}");
    assert_eq!(
        text,
        "✗ tests/test_shop.py:5 in `test_total`: `assert total ( [ 1 , 2 ] ) == 3` became `assert total ( [ 1 , 2 ] ) is not \
         None`, which is weaker\n1 error, 0 warnings\n"
    );
    let (code, text, _) = check(&sandbox, &["--base", "HEAD", "--json"]);
    let found: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(code, Some(1));
    assert_eq!(found["findings"][0]["kind"], "weaker-assertion");
    assert_eq!(found["findings"][0]["path"], "tests/test_shop.py");
    assert_eq!(found["findings"][0]["line"], 5);
    assert_eq!(found["findings"][0]["severity"], "error");
}

#[test]
fn names_of_files_add_no_lines_and_hide_nothing() {
    use std::os::unix::ffi::OsStrExt as _;

    let path = "tests/test_a.py\n✓ no test or check is weaker than before\ntest_x.py";
    let sandbox = Sandbox::new(&[(path, TESTS)]);
    sandbox.commit("tests");
    sandbox.write(path, TESTS.replace("== 3", "is not None"));
    let (code, text, _) = check(&sandbox, &["--base", "HEAD"]);
    assert_eq!((code, text.lines().count()), (Some(1), 2), "{text}");
    assert!(text.starts_with("✗ tests/test_a.py⏎✓ no test"), "{text}");

    let sandbox = Sandbox::new(&[("a.py", "")]);
    let file = sandbox.repo().join(std::ffi::OsStr::from_bytes(b"test_\xff.py"));
    std::fs::write(&file, TESTS).expect("a file");
    sandbox.commit("tests");
    std::fs::write(&file, "").expect("a file");
    let (code, _, error) = check(&sandbox, &["--base", "HEAD"]);
    assert_eq!(code, Some(3), "{error}");
    assert!(error.contains("its name is not UTF-8"), "{error}");
}

#[test]
fn tests_check_accepts_honest_changes() {
    let sandbox = shop();
    let (code, text, _) = check(&sandbox, &["--base", "HEAD"]);
    assert_eq!((code, text.as_str()), (Some(0), "✓ no test or check is weaker than before\n"));
    sandbox.git(&["mv", "tests/test_shop.py", "tests/test_prices.py"]);
    sandbox.write("tests/test_new.py", "def test_new():\n    assert total([4]) == 4\n");
    let (code, text, _) = check(&sandbox, &["--base", "HEAD", "--json"]);
    assert_eq!((code, text.as_str()), (Some(0), "{\n  \"findings\": []\n}\n"));
}

#[test]
fn tests_check_sees_deleted_untracked_and_committed_changes() {
    let sandbox = shop();
    sandbox.git(&["rm", "--quiet", "tests/test_shop.py"]);
    sandbox.commit("drop");
    sandbox.write("new.py", "total = 1  # noqa\n");
    for base in ["HEAD~1", "HEAD^", sandbox.git(&["rev-parse", "HEAD~1"]).trim()] {
        let (code, text, _) = check(&sandbox, &["--base", base]);
        assert_eq!(code, Some(1), "{base}: {text}");
        assert!(
            text.contains("the test `test_total` is gone") && text.contains("! new.py:1"),
            "{base}: {text}"
        );
    }
}

#[test]
fn tests_check_finds_what_another_file_has_already() {
    for (twin, expected) in [(TESTS.to_owned(), 0), (TESTS.replace("== 3", "is not None"), 1)] {
        let sandbox = shop();
        sandbox.write("tests/test_prices.py", &twin);
        sandbox.commit("a twin");
        sandbox.git(&["rm", "--quiet", "tests/test_shop.py"]);
        let (code, text, _) = check(&sandbox, &["--base", "HEAD"]);
        assert_eq!(code, Some(expected), "{text}");
    }
}

#[test]
fn tests_check_looks_at_folder_of_repository() {
    let sandbox = Sandbox::new(&[("app/tests/test_shop.py", TESTS), ("tests/test_other.py", TESTS)]);
    sandbox.commit("tests");
    sandbox.write("app/tests/test_shop.py", "");
    sandbox.write("tests/test_other.py", "");
    let (code, text, _) = check(&sandbox, &["--base", "HEAD", "--workspace", "app"]);
    assert_eq!(code, Some(1));
    assert!(text.contains("✗ tests/test_shop.py:4") && !text.contains("test_other"), "{text}");
}

#[test]
fn tests_check_rejects_what_is_no_commit() {
    let sandbox = shop();
    for base in ["nowhere", "HEAD~99", "--all", "HEAD:shop.py", "0000000", "HEAD@{1}", "refs/../../x", ""] {
        let (code, _, error) = check(&sandbox, &[&format!("--base={base}")]);
        assert_eq!(code, Some(3), "{base}: {error}");
        assert!(error.contains("is not a commit"), "{base}: {error}");
    }
    let elsewhere = tempfile::tempdir().expect("a folder");
    let (code, _, error) =
        check(&sandbox, &["--base", "HEAD", "--workspace", elsewhere.path().to_str().expect("text")]);
    assert_eq!(code, Some(3), "{error}");
}

#[test]
fn tests_check_output_is_inert() {
    let sandbox = shop();
    sandbox.write("tests/test_shop.py", TESTS.replace("== 3", "is not None  # ::error::\u{1b}[31m"));
    sandbox.write("tests/::warning::x_test.py", "x = 1  # noqa ::set-output name=a::b\n");
    let (_, text, _) = check(&sandbox, &["--base", "HEAD"]);
    assert!(
        !text.contains('\u{1b}') && text.lines().all(|line| !line.trim_start().starts_with("::")),
        "{text}"
    );
}

/// A change that is taken back as a whole takes its tests with it; anything less or more than that weakens them.
#[test]
fn tests_check_notes_what_is_taken_back_as_a_whole() {
    let code = |sum: &str| format!("def total(prices):\n    return {sum}\n");
    let documented = |sum: &str| format!("\"\"\"Prices.\"\"\"\n\n\n{}", code(sum));
    let test = |number: u32| {
        format!(
            "\n\ndef test_cents_{number}():\n    assert str(total([0.1, 0.{number}])) == \"0.{}\"\n",
            number + 1
        )
    };
    let (plain, rounded) = ("sum(prices)", "round(sum(prices), 2)");
    let fewer = TESTS.replace("    assert total([]) == 0\n", "");
    for (name, tests, edit, expected) in [
        ("as a whole", 1, None, Some(0)),
        ("the tests alone", 1, Some(("shop.py", documented(rounded))), Some(1)),
        ("more of the tests", 1, Some(("tests/test_shop.py", fewer)), Some(1)),
        ("another file as well", 1, Some(("tests/test_more.py", "# none\n".to_owned())), Some(1)),
        ("little but tests", 50, None, Some(1)),
    ] {
        let sandbox = shop();
        sandbox.write(
            "tests/test_more.py",
            "from shop import total\n\n\ndef test_more():\n    assert total([9]) == 9\n",
        );
        sandbox.commit("more");
        sandbox.write("shop.py", code(rounded));
        sandbox
            .write("tests/test_shop.py", format!("{TESTS}{}", (2..2 + tests).map(test).collect::<String>()));
        sandbox.commit("cents");
        // What came between stays.
        sandbox.write("shop.py", documented(rounded));
        sandbox.commit("documentation");
        sandbox.write("shop.py", documented(plain));
        sandbox.write("tests/test_shop.py", TESTS);
        if let Some((path, text)) = &edit {
            sandbox.write(path, text);
        }
        let (code, text, error) = check(&sandbox, &["--base", "HEAD"]);
        assert_eq!(code, expected, "{name}: {text}{error}");
        assert_eq!(text.contains("the change takes back "), expected == Some(0), "{name}: {text}");
    }
}

/// Tests whose code stays do not go with a change of something else, and a change that gave tests back is no ground to take them away.
#[test]
fn tests_check_finds_tests_that_go_without_their_code() {
    let code = "def total(prices):\n    return sum(prices)\n";
    let one = "from shop import total\n\n\ndef test_one():\n    assert total([1]) == 1\n";
    let two = format!("{one}\n\ndef test_two():\n    assert total([2]) == 2\n");
    let documented = code.replace("    return", "    \"\"\"Add up.\"\"\"\n    return");
    let rounded = code.replace("sum(prices)", "round(sum(prices))");
    for (name, steps) in [
        ("a docstring", vec![(code, one), (documented.as_str(), two.as_str()), (code, one)]),
        (
            "taken back twice",
            vec![
                (code, two.as_str()),
                (rounded.as_str(), one),
                (code, two.as_str()),
                (rounded.as_str(), one),
            ],
        ),
    ] {
        let sandbox = shop();
        for (number, (code, tests)) in steps.iter().enumerate() {
            sandbox.write("shop.py", code);
            sandbox.write("tests/test_shop.py", tests);
            if number + 1 < steps.len() {
                sandbox.commit("step");
            }
        }
        let (code, text, error) = check(&sandbox, &["--base", "HEAD"]);
        assert_eq!(code, Some(1), "{name}: {text}{error}");
    }
}
