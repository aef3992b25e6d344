//! Command lines, and what they name.

use super::*;

fn programs(line: &str) -> Vec<String> {
    ProgramWords::of_line(line).programs.into_iter().collect()
}

#[track_caller]
fn runs(line: &str, expected: &str) {
    let found = ProgramWords::of_line(line);
    let is_found = found.programs.iter().any(|name| name.trim_start_matches("./") == expected);
    assert!(is_found, "{line}: {found:?}");
}

#[test]
fn programs_are_found_in_every_spelling() {
    for (line, expected) in [
        ("./ci/h.sh", "ci/h.sh"),
        ("env X=1 ./ci/h.sh", "ci/h.sh"),
        ("timeout 5 nice ./ci/h.sh", "ci/h.sh"),
        ("sh -c './ci/h.sh x'", "ci/h.sh"),
        ("bash -eu ci/h.sh", "ci/h.sh"),
        ("bash --norc -o pipefail ci/h.sh", "ci/h.sh"),
        ("D=ci; $D/h.sh", "ci/h.sh"),
        ("D=ci; sh \"${D}/h.sh\"", "ci/h.sh"),
        (". ci/h.sh", "ci/h.sh"),
        ("source ci/h.sh", "ci/h.sh"),
        ("sh < ci/h", "ci/h"),
        ("cat ci/h | sh", "ci/h"),
        ("./ci/*.sh", "ci"),
        ("sh ci/h.s?", "ci"),
        ("./ci/{g,h}.sh", "ci"),
        ("python3 -u ci/model", "ci/model"),
        ("python3.12 -X dev -W error ci/model.py", "ci/model.py"),
        ("python3 -um ci.model", "ci/model"),
        ("python3 -mci", "ci"),
        ("python -I -m ci.model", "ci/model.py"),
        ("node ci", "ci"),
        ("node ci/model", "ci/model.js"),
        ("node --require ./ci/x ci/model.js", "ci/x.js"),
        ("ruby -Ilib ci/x", "ci/x"),
        ("perl ci/x.pl", "ci/x.pl"),
        ("uv run ci/x.py", "ci/x.py"),
        ("npx tsx ci/x.ts", "ci/x.ts"),
        ("find . -exec ./ci/h.sh {} +", "ci/h.sh"),
        ("xargs -0 sh ci/h.sh", "ci/h.sh"),
        ("echo `./ci/h.sh`", "ci/h.sh"),
        ("true && (cd x; ./ci/h.sh)", "ci/h.sh"),
        ("cargo xtask lint", "xtask"),
    ] {
        runs(line, expected);
    }
}

#[test]
fn names_are_found_where_they_hide_in_words() {
    for (line, expected) in [
        ("make -Cci lint", "ci"),
        ("make -sCci lint", "ci"),
        ("make --directory=ci", "ci"),
        ("make -f ci/x.mk", "ci/x.mk"),
        ("x --config=ci/c.toml", "ci/c.toml"),
        ("$GITHUB_WORKSPACE/ci/x", "ci/x"),
        ("\"$A\"'/ci/'x", "ci/"),
        ("PATH=ci:$PATH x", "ci"),
        ("PATH=\"$PWD/ci:$PATH\" x", "ci"),
        ("NODE_OPTIONS='--require ./ci/x.js' y", "./ci/x.js"),
        ("java -javaagent:ci/x.jar y", "ci/x.jar"),
    ] {
        let found = ProgramWords::of_line(line);
        assert!(found.names.contains(expected), "{line}: {found:?}");
    }
    let found = ProgramWords::of_words(
        &["python3".to_owned(), "ci/a b.py".to_owned()],
        &BTreeMap::from([("PYTHONPATH".to_owned(), "/x:ci/lib".to_owned())]),
    );
    assert!(found.programs.contains("ci/a b.py") && found.names.contains("ci/lib"), "{found:?}");
    assert_eq!(found.unclear, None);
}

#[test]
fn what_only_a_shell_knows_is_told() {
    for line in [
        "$X",
        "$X/h.sh",
        "sh $(cat ci/name)",
        "python3 \"$SCRIPT\"",
        "eval \"$(cat ci/h)\"",
        "sh *.sh",
        "for x in *; do sh $x; done",
        "if",
    ] {
        assert!(ProgramWords::of_line(line).unclear_program.is_some(), "{line}");
    }
    for line in ["jq -e .x", "ruff check \"$ARCHITECT_FILE_PATH\"", "sh ci/h.sh \"$1\"", "cat *.md"] {
        assert_eq!(ProgramWords::of_line(line).unclear_program, None, "{line}");
    }
    assert!(ProgramWords::of_line("sh ci/h.sh \"$1\"").unclear.is_some());
}

#[test]
fn variables_are_replaced_by_their_values() {
    let value = |name: &str| (name == "A").then_some("/a");
    for (line, expected) in [
        ("$A/x ${A}/x $AB ${A:-b} $ $$ $(A)", "/a/x /a/x $AB ${A:-b} $ $$ $(A)"),
        ("cd $A", "cd /a"),
        ("", ""),
    ] {
        assert_eq!(with_variables(line, value), expected);
    }
}

#[test]
fn operands_of_scripts_are_no_programs() {
    assert_eq!(programs("sh ci/h.sh src docs/x"), ["ci/h.sh"]);
    assert_eq!(programs("ruff check src"), Vec::<String>::new());
    assert_eq!(programs("python3 -B ci/lint.py src"), ["ci/lint.py"]);
}

#[test]
fn runners_of_the_project_are_told_with_their_files() {
    for (line, file) in [
        ("make lint", "Makefile"),
        ("just lint", "justfile"),
        ("npm run lint", "package.json"),
        ("yarn lint", "package.json"),
        ("cargo xtask", ".cargo/config.toml"),
    ] {
        let found = ProgramWords::of_line(line);
        assert!(found.task_files.contains(file), "{line}: {found:?}");
    }
    assert!(ProgramWords::of_line("python3 -m server").imports_from_start);
    assert!(!ProgramWords::of_line("python3 -Im server").imports_from_start);
    assert!(!ProgramWords::of_line("python3 ci/x.py").imports_from_start);
}
