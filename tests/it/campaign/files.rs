//! Files of campaigns that make no sense.

use std::fs;

use super::{RECIPE, Scene, WAVES};

#[tokio::test(flavor = "multi_thread")]
async fn campaign_files_that_make_no_sense_are_refused_before_anything_is_asked() {
    let scene = Scene::new(WAVES).await;
    let places = "repositories: { list: [octo/a] }\n";
    let tasks = "tasks: [{ recipe: words.yml }]\n";
    scene.sandbox.write("broken.yml", "steps: [{ do: [{ replace: { pattern: a, with: b } }] }]\n");
    let test = "tests: [{ name: a, before: { a.txt: old }, after: { a.txt: other } }]\n";
    scene.sandbox.write("wrong.yml", format!("{RECIPE}{test}"));
    let (repo, outside) = (scene.sandbox.repo(), scene.sandbox.path().join("outside"));
    rustix::fs::mkfifoat(rustix::fs::CWD, repo.join("pipe"), 0o600.into()).expect("a pipe");
    fs::create_dir(&outside).expect("a folder");
    fs::write(outside.join("words.yml"), RECIPE).expect("a file");
    std::os::unix::fs::symlink(&outside, repo.join("away")).expect("a link");
    for (text, told) in [
        (format!("name: Words\n{places}{tasks}"), "name: invalid name \"Words\""),
        (format!("name: words\n{places}{tasks}wave: 1\n"), "wave"),
        (format!("name: words\n{places}{tasks}waves: {{ share: 120% }}\n"), "invalid share"),
        (format!("name: words\nrepositories: {{ list: [octo/../a] }}\n{tasks}"), "invalid repository"),
        (format!("name: words\nrepositories: {{ topics: [rust] }}\n{tasks}"), "repositories.topics"),
        (format!("name: words\nrepositories: {{}}\n{tasks}"), "no repositories"),
        (format!("name: words\n{places}tasks: []\n"), "no tasks; list at least one"),
        (
            format!("name: words\n{places}tasks: [{{ task: a }}, {{ task: b }}]\n"),
            "tasks[0]: `id` is missing",
        ),
        (format!("name: words\n{places}tasks: [{{ task: a, recipe: b }}]\n"), "set one of"),
        (
            format!("name: words\n{places}tasks: [{{ task: a, deliver: patch }}]\n"),
            "`deliver` has no effect in a campaign",
        ),
        (format!("name: words\nrepositories: {{ file: gone.txt }}\n{tasks}"), "gone.txt"),
        (format!("name: words\nrepositories: {{ file: ../list }}\n{tasks}"), "repositories.file"),
        (format!("name: words\n{places}tasks: [{{ recipe: gone.yml }}]\n"), "could not read"),
        (format!("name: words\n{places}tasks: [{{ recipe: ../words.yml }}]\n"), "tasks[0]: "),
        (format!("name: words\n{places}tasks: [{{ recipe: pipe }}]\n"), "could not read"),
        (format!("name: words\n{places}tasks: [{{ recipe: away/words.yml }}]\n"), "could not read"),
        (format!("name: words\n{places}tasks: [{{ recipe: broken.yml }}]\n"), "broken.yml: steps[0].do[0]"),
        (format!("name: words\n{places}tasks: [{{ recipe: wrong.yml }}]\n"), "fails its test \"a\""),
        (format!("name: words\n{places}{tasks}app: {{ id: '1', key_env: NO_KEY }}\n"), "`NO_KEY` is not set"),
    ] {
        scene.sandbox.write("campaign.yml", &text);
        let run = scene.run(&["run"]).expect_code(3);
        assert!(run.stderr.contains(told), "{told}: {}", run.stderr);
    }
    assert_eq!(scene.fleet.state().requests, Vec::<String>::new());
}
