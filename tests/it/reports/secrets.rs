//! Secrets are masked in every file and stream.

use crate::support::Sandbox;
use serde_json::json;

#[test]
fn masks_cover_every_file_and_stream() {
    let secret = "s3cr3t/value+42";
    let base64 = "czNjcjN0L3ZhbHVlKzQy";
    let token = format!("ghp_{}", "Ab1".repeat(12));
    let config = format!(
        "hooks:\n  pre_tool_use:\n    - {{ name: leaks, command: 'echo {secret}' }}\nguardrails:\n  quality_gates:\n    - {{ name: leaks, command: 'echo {base64}; exit 1' }}\n"
    );
    let sandbox = Sandbox::new(&[(".architect.yml", &config), ("leak.txt", &format!("key = {secret}\n"))]);
    let calls = vec![("read_file", json!({"path": "leak.txt"})), ("read_file", json!({ "path": secret }))];
    let model = sandbox.script(&[calls], &format!("I found {secret}, s3cr3t%2Fvalue%2B42 and {token}."));
    let (output, summary) = (sandbox.path().join("output"), sandbox.path().join("summary"));
    let task = format!("Use {secret} and {token}");
    let variables = [
        ("MY_TOKEN", secret),
        ("GITHUB_OUTPUT", output.to_str().unwrap()),
        ("GITHUB_STEP_SUMMARY", summary.to_str().unwrap()),
    ];
    let run = sandbox.run(&["--model", &model, "--task", &task, "-v"], &variables).expect_code(1);
    let mut texts =
        vec![("stdout".to_owned(), run.stdout.clone()), ("stderr".to_owned(), run.stderr.clone())];
    let written = std::fs::read_dir(&run.out).unwrap().flatten().map(|entry| entry.path());
    for file in written.chain([output, summary]).filter(|file| file.is_file()) {
        texts.push((file.display().to_string(), std::fs::read_to_string(&file).unwrap()));
    }
    assert!(texts.len() >= 10, "{:?}", texts.iter().map(|(name, _)| name).collect::<Vec<_>>());
    for (name, text) in texts {
        for leak in [secret, base64, "s3cr3t%2Fvalue", "s3cr3t\\/value", &token] {
            assert!(!text.contains(leak), "{name} holds {leak}: {text}");
        }
    }
    assert_eq!(run.results()[0], "1\tkey = ***\n***\n", "the model does not see it either");
}

#[test]
fn plan_with_secret_is_not_written() {
    let sandbox = Sandbox::new(&[("leak.txt", "key = s3cr3t-value-42\nx\n")]);
    let edit = ("edit_file", json!({"path": "leak.txt", "old_str": "x", "new_str": "y"}));
    let model = sandbox.script(&[vec![edit]], "done");
    let run = sandbox.run(&["--model", &model], &[("MY_TOKEN", "s3cr3t-value-42")]).expect_code(1);
    assert_eq!(run.report()["stop_reason"], "plan_withheld");
    assert!(!run.file("comment.md").contains("architect-ci apply"), "{}", run.file("comment.md"));
    assert!(!run.out.join("plan.json").exists() && !run.out.join("plan.patch").exists());
    assert!(run.stderr.contains("the changes contain one of this job's secrets"), "{}", run.stderr);
    assert!(!run.file("report.html").contains("s3cr3t"));
}

#[test]
fn patch_with_secret_fails_a_run_whose_result_it_is() {
    let edit = ("edit_file", json!({"path": "leak.txt", "old_str": "x", "new_str": "y"}));
    for (deliver, code) in [("none", 0), ("patch", 1)] {
        let sandbox = Sandbox::new(&[("leak.txt", "key = s3cr3t-value-42\nx\n")]);
        let model = sandbox.script(&[vec![edit.clone()]], "done");
        let run = sandbox
            .run(
                &["--model", &model, "--mode", "yolo", "--deliver", deliver],
                &[("MY_TOKEN", "s3cr3t-value-42")],
            )
            .expect_code(code);
        assert!(!run.out.join("plan.patch").exists(), "{deliver}");
        assert_eq!(sandbox.read("leak.txt"), "key = s3cr3t-value-42\ny\n", "the checkout has the change");
    }
}
