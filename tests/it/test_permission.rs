//! Permission by people that tests demand less: labels and trailers, and everybody whose do not count.
#![cfg(unix)]

use serde_json::{Value, json};

use crate::support::github::World;
use crate::support::scene::scene;

const CONFIG: &str = "evaluation: off\nworkspace: { allow_delete: true }\ntests: { integrity: refuse, allow_label: tests may change, allow_trailer: Tests-May-Change }\n";

const FILES: &[(&str, &str)] = &[
    (".github/architect.yml", CONFIG),
    ("tests/test_a.py", "def test_a():\n    assert len([1]) + 1 == 2\n"),
];

/// What GitHub says of the pull request's head: its message, who signed it, and whether that is verified.
fn commit(message: &str, committer: &Value, verified: bool) -> Value {
    json!({
        "sha": "0",
        "commit": {"message": message, "verification": {"verified": verified}},
        "author": {"login": "dev", "type": "User"},
        "committer": committer,
    })
}

type Setting = fn(&mut World, &str);

/// A time after the last push to the pull request's repository, as its event tells it.
const LATER: &str = "2019-05-15T15:20:34Z";

/// Sets the label in the name of somebody.
fn labelled(world: &mut World, by: &str) {
    labelled_at(world, by, LATER);
}

fn labelled_at(world: &mut World, by: &str, at: &str) {
    let label = "tests may change";
    world.labels.push((7, label.to_owned()));
    world.label_events.push((7, "labeled".to_owned(), by.to_owned(), label.to_owned(), at.to_owned()));
}

fn signed(world: &mut World, head: &str, by: &Value, verified: bool) {
    world
        .commits
        .insert(head.to_owned(), commit("subject\n\nTests-May-Change: the feature goes\n", by, verified));
}

#[tokio::test(flavor = "multi_thread")]
async fn test_permission_counts_only_by_people_who_may_write() {
    let settings: [(&str, bool, Setting); 15] = [
        ("nobody", false, |_, _| ()),
        ("a label by a writer", true, |world, _| labelled(world, "dev")),
        ("a label by a stranger", false, |world, _| labelled(world, "stranger")),
        ("a label by a program", false, |world, _| {
            world.people.insert("robot[bot]".to_owned(), "write".to_owned());
            labelled(world, "robot[bot]");
        }),
        ("a label set again by a stranger", false, |world, _| {
            labelled(world, "dev");
            labelled(world, "stranger");
        }),
        ("a label that is gone", false, |world, _| {
            labelled(world, "dev");
            world.labels.clear();
        }),
        ("a label that nobody is seen to have set", false, |world, _| {
            world.labels.push((7, "tests may change".to_owned()));
        }),
        ("another label", false, |world, _| {
            world.labels.push((7, "tests".to_owned()));
            let event = (7, "labeled".to_owned(), "dev".to_owned(), "tests".to_owned(), LATER.to_owned());
            world.label_events.push(event);
        }),
        ("a label from before the last push", false, |world, _| {
            labelled_at(world, "dev", "2019-05-15T15:20:00Z");
        }),
        ("a label of nobody knows when", false, |world, _| labelled_at(world, "dev", "")),
        ("a label that was set again after the last push", true, |world, _| {
            labelled_at(world, "dev", "2019-05-15T15:20:00Z");
            labelled(world, "dev");
        }),
        ("a trailer signed by a writer", true, |world, head| {
            signed(world, head, &json!({"login": "dev", "type": "User"}), true);
        }),
        ("a trailer that is not verified", false, |world, head| {
            signed(world, head, &json!({"login": "dev", "type": "User"}), false);
        }),
        ("a trailer signed by a stranger in a writer's name", false, |world, head| {
            signed(world, head, &json!({"login": "stranger", "type": "User"}), true);
        }),
        ("a trailer signed by GitHub for somebody", false, |world, head| {
            signed(world, head, &json!({"login": "web-flow", "type": "User"}), true);
        }),
    ];
    for (name, is_permitted, setting) in settings {
        scene(FILES, move |scene| {
            {
                let mut world = scene.github.world();
                world.people.insert("dev".to_owned(), "write".to_owned());
                world.people.insert("stranger".to_owned(), "read".to_owned());
                setting(&mut world, &scene.head);
            }
            let skip = json!({
                "path": "tests/test_a.py",
                "old_str": "def test_a():",
                "new_str": "import pytest\n\n\n@pytest.mark.skip\ndef test_a():",
            });
            let model = scene.sandbox.script(&[vec![("edit_file", skip)]], "Done.");
            let run = scene.run("pull_request", &scene.pull_event(7, "dev"), &["--model", &model], &[]);
            let report = run.report();
            let reason = if is_permitted { "llm_done" } else { "tests_weakened" };
            assert_eq!(report["stop_reason"], reason, "{name}: {}", run.stderr);
            let finding = &report["test_findings"][0];
            let told = finding["message"].as_str().unwrap_or_default();
            assert_eq!(told.contains("(permitted by dev's "), is_permitted, "{name}: {finding}");
            assert_eq!(finding["severity"] == "warning", is_permitted, "{name}: {finding}");
        })
        .await;
    }
}

/// Whoever comments does not say which commit a label is about, and the event of a label does.
#[tokio::test(flavor = "multi_thread")]
async fn test_permission_by_label_is_about_the_head_that_was_seen() {
    for (set_at, event_is_label, is_permitted) in
        [("2019-05-15T15:20:00Z", true, true), ("2019-05-15T15:20:00Z", false, false), (LATER, false, true)]
    {
        scene(FILES, move |scene| {
            {
                let mut world = scene.github.world();
                world.people.insert("dev".to_owned(), "write".to_owned());
                labelled_at(&mut world, "dev", set_at);
            }
            let delete = json!({"path": "tests/test_a.py"});
            let model = scene.sandbox.script(&[vec![("delete_file", delete)]], "Done.");
            let (name, event) = if event_is_label {
                let event = scene.pull_event(7, "dev");
                let mut payload: Value = serde_json::from_slice(&std::fs::read(&event).unwrap()).unwrap();
                payload["action"] = json!("labeled");
                payload["label"] = json!({"name": "Tests may change"});
                std::fs::write(&event, payload.to_string()).unwrap();
                ("pull_request", event)
            } else {
                ("issue_comment", scene.comment_event(7, "dev", "/architect run").0)
            };
            let run = scene.run(name, &event, &["--model", &model], &[]);
            let report = run.report();
            let reason = if is_permitted { "llm_done" } else { "tests_weakened" };
            assert_eq!(report["stop_reason"], reason, "{name} {set_at}: {}", run.stderr);
            let told = report["notices"].to_string().contains("somebody may have pushed");
            assert_eq!(told, !is_permitted, "{name} {set_at}: {report}");
        })
        .await;
    }
}

/// What GitHub does not tell permits nothing, and no label is asked for where nothing was found.
#[tokio::test(flavor = "multi_thread")]
async fn test_permission_that_cannot_be_read_is_none() {
    scene(FILES, |scene| {
        {
            let mut world = scene.github.world();
            world.people.insert("dev".to_owned(), "write".to_owned());
            labelled(&mut world, "dev");
        }
        let event = scene.pull_event(7, "dev");
        let asked = |scene: &crate::support::scene::Scene| {
            let world = scene.github.world();
            world.requests.iter().filter(|(_, request)| request.contains("/issues/7/events")).count()
        };
        scene.run("pull_request", &event, &["--model", &scene.edit("five", "FIVE")], &[]).expect_code(0);
        assert_eq!(asked(&scene), 0);
        scene.github.forbid("GET /repos/octo/demo/issues/7/events");
        let delete = json!({"path": "tests/test_a.py"});
        let model = scene.sandbox.script(&[vec![("delete_file", delete)]], "Done.");
        let run = scene.run("pull_request", &event, &["--model", &model], &[]);
        let report = run.report();
        assert_eq!(report["stop_reason"], "tests_weakened", "{}", run.stderr);
        assert!(
            report["notices"].to_string().contains("could not find out whether anybody permits the findings"),
            "{report}"
        );
    })
    .await;
}
