//! The check run, and runs that have to have one.

use std::time::Instant;

use crate::support::scene::scene;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn check_run_has_conclusion_and_annotations() {
    const CONFIG: &[(&str, &str)] = &[
        (
            ".github/architect.yml",
            "github: { check_run: true }\nguardrails:\n  max_gate_rounds: 1\n  protected_files: [secret.txt]\n  quality_gates:\n\
             \x20   - name: lint\n      command: \"bash lint.sh\"\n    - { name: style, command: 'bash style.sh', required: false }\n",
        ),
        ("style.sh", "for i in $(seq 1 30); do echo \"a.txt:2: ugly $i\"; done; exit 1\n"),
        (
            "lint.sh",
            "grep -q FIVE a.txt || exit 0; for i in $(seq 1 70); do echo \"a.txt:$i:1: error: bad <b>line</b> ::error::x\"; done; exit 1\n",
        ),
    ];
    scene(CONFIG, |scene| {
        let calls = vec![
            ("write_file", json!({"path": "secret.txt", "content": "x"})),
            ("edit_file", json!({"path": "a.txt", "old_str": "five", "new_str": "FIVE"})),
        ];
        let model = scene.sandbox.script(&[calls], "done");
        let run = scene.plan(&model, &[]).expect_code(1);
        let world = scene.github.world();
        let check = &world.checks[0];
        assert_eq!(
            (check["name"].as_str(), check["head_sha"].as_str()),
            (Some("architect-ci"), Some(scene.head.as_str()))
        );
        assert_eq!(
            (check["status"].as_str(), check["conclusion"].as_str()),
            (Some("completed"), Some("failure"))
        );
        let annotations = check["output"]["annotations"].as_array().unwrap();
        // One of the guardrail, of the first gate the last lines, those of the second.
        assert_eq!(annotations.len(), 1 + 40 + 30);
        assert_eq!(annotations[0]["path"], "secret.txt");
        let last = annotations.last().unwrap();
        assert_eq!(
            (&last["path"], &last["start_line"], &last["annotation_level"]),
            (&json!("a.txt"), &json!(2), &json!("warning"))
        );
        assert_eq!(scene_count(&world.requests, "PATCH /repos/octo/demo/check-runs/1"), 1);
        // The runner is told of lines as well, ten of a kind at most.
        let errors: Vec<&str> = run.stderr.lines().filter(|line| line.starts_with("::error ")).collect();
        assert_eq!(errors.len(), 10);
        assert!(errors[1].starts_with("::error file=a.txt,line="), "{errors:?}");
        assert!(errors[1].ends_with("title=Gate lint::error: bad <b>line</b> ::error::x"), "{errors:?}");
        assert!(
            run.stderr.contains("::warning file=secret.txt,line=1,title=Guardrail stopped write_file::"),
            "{}",
            run.stderr
        );
        drop(world);
        scene.github.assert_valid();
    })
    .await;
}

fn scene_count(requests: &[(Instant, String)], start: &str) -> usize {
    requests.iter().filter(|(_, name)| name.starts_with(start)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn required_results_fail_run() {
    scene(&[(".github/architect.yml", "github: { required: true, check_run: true }\n")], |scene| {
        let model = scene.edit("five", "FIVE");
        scene.github.forbid("POST /repos/octo/demo/check-runs");
        let run = scene.plan(&model, &[]).expect_code(4);
        assert!(
            run.stderr.contains("the token is not allowed to write a check run")
                && run.stderr.contains("`permissions: checks: write`"),
            "{}",
            run.stderr
        );
        assert_eq!(run.report()["exit_code"], 4);
        assert_eq!(scene.output("exit-code").as_deref(), Some("4"));
        // The comment came all the same, and tells of it.
        assert!(
            scene.sticky().contains("the token is not allowed to write a check run"),
            "{}",
            scene.sticky()
        );
    })
    .await;
}
