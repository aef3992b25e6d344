//! The second job delivers what the first has planned.

use super::{CONFIG, Second, artifact, planned, write};
use crate::support::github::WRITE_TOKEN;
use crate::support::scene::{Scene, scene};
use serde_json::json;

const OWN: &str = "architect-ci/changes";

#[tokio::test(flavor = "multi_thread")]
async fn two_jobs_deliver_what_the_first_has_planned() {
    scene(&[(".github/architect.yml", CONFIG)], |scene| {
        let scene = scene.on_main();
        let model = scene.edit("one", "uno");
        planned(&scene, "schedule", &model).expect_code(0);
        // The job with the key has not even tried to write, and could not have.
        assert_eq!(scene.github.world().refused_writes, Vec::<String>::new());
        assert!(scene.github.requests().iter().all(|request| request.starts_with("GET ")));
        let (plan, digest) = artifact(&scene);
        // Each job gets by with the permissions that the workflow gives it.
        let variables = [("GITHUB_TOKEN", WRITE_TOKEN)];
        let second =
            Second { event: "schedule", digest: &digest, deliver: "pull-request", variables: &variables };
        let run = write(&scene, &plan, &second).expect_code(0);
        let world = scene.github.world();
        assert_eq!((&world.refused_reads, &world.refused_writes), (&vec![], &vec![]));
        assert_eq!(world.pulls[&102].head, format!("refs/heads/{OWN}"));
        assert!(world.pulls[&102].body.contains("tests"), "{}", world.pulls[&102].body);
        drop(world);
        // Neither hooks nor gates have run; the report shows the gates of the plan.
        let report = run.report();
        assert_eq!(
            (report["hooks"].as_array().unwrap().len(), &report["gates"][0]["predicted"]),
            (0, &json!(true))
        );
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pull_request_that_moves_between_the_jobs_is_left_alone() {
    scene(&[], |scene| {
        let model = scene.edit("five", "FIVE");
        planned(&scene, "pull_request", &model).expect_code(0);
        let (plan, digest) = artifact(&scene);
        let repository =
            |scene: &Scene| scene.github.world().repository.as_ref().unwrap().branch("feature").unwrap();
        scene.github.world().repository.as_ref().unwrap().push("feature", &[("new.txt", "x\n")], "pushed");
        let moved = repository(&scene);
        let second = Second { event: "pull_request", digest: &digest, deliver: "branch", variables: &[] };
        let run = write(&scene, &plan, &second).expect_code(1);
        assert!(run.stderr.contains("moved"), "{}", run.stderr);
        assert_eq!(repository(&scene), moved);
    })
    .await;
}
