//! Requests to GitHub: their order, waits, proxy and rate limits.

use std::time::{Duration, Instant};

use crate::support::scene::scene;

#[tokio::test(flavor = "multi_thread")]
async fn files_are_written_before_github_is_called() {
    scene(&[], |scene| {
        let model = scene.edit("five", "FIVE");
        scene.github.hang("GET /repos/octo/demo/issues/7/comments");
        let event = scene.pull_event(7, "dev");
        let (out, summary) = (scene.sandbox.out(), scene.sandbox.path().join("summary"));
        let mut command = scene.job("pull_request", &event, &out, &["--model", &model]);
        command.env("GITHUB_STEP_SUMMARY", &summary);
        let mut job = command.spawn().unwrap();
        scene.wait_for("GET /repos/octo/demo/issues/7/comments", &mut job);
        // Nobody knows how long that takes, nor whether the machine lives so long.
        job.kill().unwrap();
        job.wait().unwrap();
        for file in
            ["report.json", "report.md", "report.html", "comment.md", "junit.xml", "plan.json", "plan.patch"]
        {
            assert!(out.join(file).metadata().is_ok_and(|file| file.len() > 0), "{file}");
        }
        assert!(std::fs::read_to_string(&summary).unwrap().contains("plan: 1 file"));
        assert_eq!(scene.output("status").as_deref(), Some("success"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_ends_wait_for_github() {
    scene(&[], |scene| {
        let model = scene.edit("five", "FIVE");
        scene.github.hang("GET /repos/octo/demo/issues/7/comments");
        let event = scene.pull_event(7, "dev");
        let out = scene.sandbox.out();
        let mut command = scene.job("pull_request", &event, &out, &["--model", &model]);
        let mut job = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
        scene.wait_for("GET /repos/octo/demo/issues/7/comments", &mut job);
        let signalled = Instant::now();
        let id = rustix::process::Pid::from_child(&job);
        rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
        let ended = job.wait_with_output().unwrap();
        assert!(signalled.elapsed() < Duration::from_mins(1), "{:?}", signalled.elapsed());
        let log = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(
            log.contains("GitHub did not answer in time (the run was interrupted); the comment is in "),
            "{log}"
        );
        let report = std::fs::read_to_string(out.join("report.json")).unwrap();
        assert!(report.contains("GitHub did not answer in time"), "the files tell of it");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn github_uses_proxy() {
    scene(&[], |scene| {
        let model = scene.edit("five", "FIVE");
        let event = scene.pull_event(7, "dev");
        // Nobody knows this host but the proxy.
        let proxy = scene.variables("x").into_iter().find(|(name, _)| name == "GITHUB_API_URL").unwrap().1;
        let variables = [
            ("GITHUB_API_URL", "http://github.invalid"),
            ("GITHUB_GRAPHQL_URL", "http://github.invalid/graphql"),
            ("HTTP_PROXY", proxy.as_str()),
            ("http_proxy", proxy.as_str()),
        ];
        let run = scene.run("pull_request", &event, &["--model", &model], &variables).expect_code(0);
        assert!(run.stderr.contains("comment: https://"), "{}", run.stderr);
        scene.sticky();
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn github_rate_limits_are_awaited_or_reported() {
    scene(&[], |scene| {
        let model = scene.edit("five", "FIVE");
        let comments = "POST /repos/octo/demo/issues/7/comments";
        // In the middle of it: asked to wait a second, it waits.
        scene.github.fail_with(
            comments,
            403,
            "You have exceeded a secondary rate limit",
            &[("retry-after", "1")],
        );
        scene.github.fail_with("GET /repos/octo/demo/issues", 429, "Too many", &[("retry-after", "1")]);
        let run = scene.plan(&model, &[]).expect_code(0);
        assert!(run.stderr.contains("comment: https://"), "{}", run.stderr);
        let told = "before the next request, as GitHub's rate limit demands";
        assert!(run.stderr.contains(told), "nobody knows what it waits for: {}", run.stderr);
        scene.sticky();
        // For an hour it does not.
        let reset =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() + 3_600;
        let headers = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", &reset.to_string())];
        scene.github.fail_with("GET /repos/octo/demo/issues", 403, "API rate limit exceeded", &headers);
        let run = scene.plan(&model, &[]).expect_code(0);
        assert!(run.stderr.contains("rate-limited by GitHub until 20"), "{}", run.stderr);
        // Other refusals are told as GitHub tells them.
        for (status, message) in [(410, "Issues are disabled"), (423, "Locked"), (422, "Validation Failed")] {
            scene.github.fail("PATCH /repos/octo/demo/issues/comments", status, message);
            scene.github.fail("PATCH /repos/octo/demo/issues/comments", status, message);
            scene.github.fail("PATCH /repos/octo/demo/issues/comments", status, message);
            let run = scene.plan(&model, &[]).expect_code(0);
            assert!(run.stderr.contains(message), "{}", run.stderr);
            scene.github.world().clear_faults();
        }
        // Three thousand comments are thirty pages.
        scene.github.world().comments.clear();
        scene.github.seed("somebody", "hello", 3_000);
        let before = scene.github.count("GET /repos/octo/demo/issues/7/comments");
        scene.plan(&model, &[]).expect_code(0);
        assert_eq!(scene.github.count("GET /repos/octo/demo/issues/7/comments") - before, 30);
        scene.sticky();
        scene.github.assert_valid();
    })
    .await;
}
