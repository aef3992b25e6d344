//! Tables of what recipes have found.

use crate::support::Sandbox;

#[test]
fn table_of_matches_is_inert_in_spreadsheets_and_joins_those_of_a_batch() {
    let recipe = "steps:\n- files: ['*.txt']\n  do: [{replace: {pattern: '(?s).+', with: '@x'}}]\n";
    let sandbox = Sandbox::new(&[
        ("one/a.txt", "=HYPERLINK(\"http://x\")\n\u{202e}b"),
        ("two/a.txt", "plain, \"text\""),
        ("recipe.yml", recipe),
        (
            "batch.yml",
            "name: b\ntasks:\n- {id: 'x-{dir}', recipe: recipe.yml, folder: '{dir}', for_each: {dir: {values: [one, two]}}}\n",
        ),
    ]);
    let table = sandbox.batch(&[]).expect_code(0).file("matches.csv");
    let rows: Vec<&str> = table.split_terminator("\r\n").collect();
    assert_eq!(
        rows,
        [
            r#""task","action","path","line","column","key","before","after""#,
            r#""x-one","steps[0].do[0]","one/a.txt","1","1","","'=HYPERLINK(""http://x"")\n⟨U+202E⟩b","'@x""#,
            r#""x-two","steps[0].do[0]","two/a.txt","1","1","","plain, ""text""","'@x""#,
        ]
    );
}

#[cfg(unix)]
#[test]
fn table_of_a_batch_takes_rows_from_files_alone() {
    let recipe = "steps:\n- files: ['*.txt']\n  do: [{replace: {pattern: a, with: b}}]\n";
    let sandbox = Sandbox::new(&[
        ("one/a.txt", "a"),
        ("two/a.txt", "a"),
        ("three/a.txt", "a"),
        ("recipe.yml", recipe),
        ("secret.txt", "topsecret,x\ny,z\n"),
        (
            "batch.yml",
            "name: b\ntasks:\n- {id: 'x-{dir}', recipe: recipe.yml, folder: '{dir}', for_each: {dir: {values: [one, two, three]}}}\n",
        ),
    ]);
    let out = sandbox.out();
    let resumed = |more: &[&str]| sandbox.batch(more).expect_code(0).file("matches.csv");
    assert_eq!(resumed(&[]).lines().count(), 4);
    // As what a task starts could leave it, before the batch goes on.
    let table = |task: &str| out.join(format!("tasks/x-{task}/matches.csv"));
    for task in ["one", "two"] {
        std::fs::remove_file(table(task)).expect("a table");
    }
    std::os::unix::fs::symlink(sandbox.repo().join("secret.txt"), table("one")).expect("a link");
    let made = std::process::Command::new("mkfifo").arg(table("two")).status().expect("a program");
    assert!(made.success());
    let rows = resumed(&["--resume"]);
    assert!(!rows.contains("topsecret") && rows.lines().count() == 2 && rows.contains("x-three"), "{rows}");
}
