//! Gates whose programs the head of a pull request changes: they run, because they are there to test it, and a warning names
//! them.

use crate::support::scene::scene;

#[tokio::test(flavor = "multi_thread")]
async fn gates_that_run_what_the_head_changes_are_told_of() {
    const FILES: &[(&str, &str)] =
        &[("ci/check.sh", "exit 1\n"), ("Makefile", "test:\n\tsh ci/check.sh\n"), ("other.sh", "exit 0\n")];
    scene(FILES, |mut scene| {
        scene.configured(
            "evaluation: off\nguardrails:\n  quality_gates:\n\
             \x20   - { name: script, command: sh ci/check.sh }\n\
             \x20   - { name: task, command: make test }\n\
             \x20   - { name: other, command: sh other.sh }\n\
             \x20   - { name: unclear, command: 'sh \"$(echo other.sh)\"' }\n",
        );
        // Nothing but the file differs.
        scene.sandbox.git(&["reset", "--quiet", "--hard", "main"]);
        let run = scene.proposed("ci/check.sh", "exit 0\n", &[]);
        let warnings: Vec<String> = run.report()["notices"]
            .as_array()
            .expect("notices")
            .iter()
            .filter(|notice| notice["level"] == "warning")
            .map(|notice| notice["message"].to_string())
            .collect();
        for (gate, is_told) in [("script", true), ("task", true), ("other", false), ("unclear", false)] {
            let told =
                format!("the gate {gate} runs or reads ci/check.sh, which is not as the base commit has it");
            assert_eq!(
                warnings.iter().any(|warning| warning.contains(&told)),
                is_told,
                "{gate}: {warnings:#?}"
            );
        }
    })
    .await;
}
