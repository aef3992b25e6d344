//! `recipe test`: the examples that recipes carry.

use super::STRUCTURAL;
use crate::support::Sandbox;

#[test]
fn recipe_test_names_every_fault() {
    let sandbox = Sandbox::new(&[("good.yml", STRUCTURAL)]);
    let test = |file: &str, text: &str| {
        sandbox.write(file, text);
        let output = sandbox
            .command(&["recipe", "test", file])
            .current_dir(sandbox.repo())
            .output()
            .expect("the binary runs");
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, told) = test("good.yml", STRUCTURAL);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.ends_with("2 passed, 0 failed\n"), "{told}");

    let replace = |with: &str, tests: &str| {
        format!(
            "steps:\n- files: ['*.py']\n  do: [{{replace: {{pattern: old, with: '{with}'}}}}]\ntests:\n{tests}"
        )
    };
    for (text, code, faults) in [
        (
            replace("new", "- {name: n, before: {a.py: 'old()'}, after: {a.py: 'newer()'}}\n"),
            1,
            vec!["a.py is not as expected", "-newer()", "+new()", "0 passed, 1 failed"],
        ),
        (
            replace("old old", "- {name: n, before: {a.txt: x, a.py: '# old'}, after: {a.py: '# old old'}}\n"),
            1,
            vec!["a.py changes again when the recipe runs a second time"],
        ),
        (
            replace("(", "- {name: n, before: {a.py: 'old'}, after: {a.py: '('}}\n"),
            1,
            vec!["a.py no longer parses, from line 1"],
        ),
        (
            "steps:\n- do: [{tool: delete_file, with: {path: a.py}}]\n\
             tests: [{name: n, before: {a.py: x}, deleted: [a.py]}]\n"
                .to_owned(),
            1,
            vec!["the recipe failed: the second time: ", "a.py"],
        ),
        (
            "steps:\n- do: [{tool: run_command, with: {command: 'touch pwned'}}]\ntests: [{name: n, before: {a.py: x}}]\n"
                .to_owned(),
            0,
            vec!["(not run: run_command)", "1 passed, 0 failed"],
        ),
        (
            "steps:\n- files: [a.py]\n  do: [{tool: move_file, with: {from: '{file}', to: b.py}}]\n\
             tests:\n- {name: moved, before: {a.py: x}, after: {b.py: x}, deleted: [a.py]}\n\
             - {name: untold, before: {a.py: x}, after: {b.py: x}}\n\
             - {name: kept, before: {c.py: x}, deleted: [c.py]}\n"
                .to_owned(),
            1,
            vec![
                "a.py is deleted; if that is intended, list it in `deleted`",
                "c.py is listed in `deleted`, but the recipe does not delete it",
                "1 passed, 2 failed",
            ],
        ),
        (
            replace("new", "- {name: n, before: {a.txt: old, b.py: x}, after: {b.py: x}}\n"),
            0,
            vec!["warning: bad.yml: no test shows what the recipe changes", "1 passed, 0 failed"],
        ),
        ("steps:\n- do: [{tool: grep}]\n".to_owned(), 3, vec!["has no tests"]),
        ("steps:\n- do: [{tool: edit_fle}]\n".to_owned(), 3, vec!["unknown tool `edit_fle`; did you mean `edit_file`?"]),
        ("steps: [\n".to_owned(), 3, vec!["bad.yml"]),
    ] {
        let (found, told) = test("bad.yml", &text);
        assert_eq!(found, Some(code), "{text}\n{told}");
        for fault in faults {
            assert!(told.contains(fault), "{text}\n{told}");
        }
    }
    assert!(!sandbox.repo().join("pwned").exists());
}

#[test]
fn batch_refuses_recipe_that_fails_its_tests() {
    let recipe = "steps:\n- files: ['*.py']\n  do: [{replace: {pattern: old, with: new}}]\n\
                  tests: [{name: as it was, before: {a.py: old}, after: {a.py: older}}]\n";
    let sandbox = Sandbox::new(&[
        ("a.py", "old\n"),
        ("recipe.yml", recipe),
        ("batch.yml", "name: b\ntasks: [{id: a, recipe: recipe.yml}]\n"),
    ]);
    let run = sandbox.batch(&[]).expect_code(3);
    assert!(run.stderr.contains("recipe.yml fails its test \"as it was\""), "{}", run.stderr);
    assert!(!sandbox.out().join("tasks").exists());
}

#[test]
fn recipes_of_the_samples_pass_their_tests() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/recipes");
    let mut files = Vec::new();
    for language in std::fs::read_dir(&folder).expect("the samples").flatten() {
        for file in std::fs::read_dir(language.path()).expect("a folder").flatten() {
            files.push(file.path());
        }
    }
    assert!(files.len() >= 20, "{}", files.len());
    let sandbox = Sandbox::new(&[]);
    let output = sandbox.command(&["recipe", "test"]).args(&files).output().expect("the binary runs");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn recipe_test_refuses_what_a_run_refuses_and_reads_no_endless_file() {
    let tested = |recipe: &str| {
        let sandbox = Sandbox::new(&[]);
        let file = sandbox.path().join("r.yml");
        std::fs::write(&file, recipe).expect("a recipe");
        let output = sandbox.command(&["recipe", "test"]).arg(&file).output().expect("the binary runs");
        let text =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.code(), text)
    };
    for path in [".env", ".git/hooks/x", ".github/architect.yml"] {
        let recipe = format!(
            "steps: [{{ do: [{{ tool: write_file, with: {{ path: '{path}', content: x }} }}] }}]\n\
             tests: [{{ name: writes, before: {{ a: b }}, after: {{ 'c': x }} }}]\n"
        );
        let (code, told) = tested(&recipe);
        assert!(code == Some(1) && told.contains("the recipe failed") && told.contains(path), "{told}");
    }
    #[cfg(unix)]
    {
        let sandbox = Sandbox::new(&[]);
        let output = sandbox.command(&["recipe", "test", "/dev/zero"]).output().expect("the binary runs");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(3) && told.contains("more than 10000000 bytes"), "{told}");
    }
}
