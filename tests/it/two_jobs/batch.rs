//! A batch that is planned in shards, and written by another job.

use std::fs;
use std::path::{Path, PathBuf};

use super::WORKFLOW;
use crate::support::Run;
use crate::support::github::{BATCH_TOKEN, READ_TOKEN};
use crate::support::scene::scene;
use serde_json::{Value, json};

const BATCH: &[(&str, &str)] = &[
    (".github/architect.yml", "apply: { max_pull_requests: 1 }\n"),
    (
        "batch.yml",
        "name: nightly\ndefaults: {mode: yolo, deliver: pull-request}\ntasks:\n- {id: one, recipe: r1.yml}\n- {id: two, recipe: \
         r2.yml}\n- {id: none, recipe: none.yml}\n- {id: three, recipe: r3.yml}\n",
    ),
    ("r1.yml", "steps:\n- do: [{tool: write_file, with: {path: one.txt, content: x}}]\n"),
    ("r2.yml", "steps:\n- do: [{tool: write_file, with: {path: two.txt, content: x}}]\n"),
    ("r3.yml", "steps:\n- files: [a.txt]\n  do: [{replace: {pattern: nowhere, with: x}}]\n"),
];

/// What the job that lists the tasks puts out.
fn manifest_digest(manifest: &str) -> String {
    architect_ci::batch::Manifest::read(Path::new(manifest)).unwrap().digest()
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn task<'a>(report: &'a Value, id: &str) -> &'a Value {
    let tasks = report["tasks"].as_array().unwrap();
    tasks.iter().find(|task| task["id"] == id).unwrap_or_else(|| panic!("{id}"))
}

/// What the jobs of two shards put out, as the workflow gathers it.
fn report_digests(plans: &str) -> String {
    let of = |at: u32| sha256(&fs::read(format!("{plans}/architect-ci-shard-{at}/batch.json")).unwrap());
    json!({"shard-1": of(0), "shard-2": of(1), "shard-3": ""}).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn batch_writes_only_what_its_shards_have_put_out() {
    scene(BATCH, |scene| {
        let scene = scene.on_main();
        let event = scene.event("schedule", &[]).display().to_string();
        let variables = scene.variables("schedule");
        let place = |name: &str| scene.sandbox.path().join(name).display().to_string();
        let repo = scene.sandbox.repo().display().to_string();
        let put_out = PathBuf::from(place("put-out"));
        let batch = |args: &[&str], out: &str| {
            let mut command = scene.sandbox.command(&["batch", "--event", &event, "--workspace", &repo]);
            command.args(args).args(["--out", out]).envs(variables.iter().cloned());
            command.env("GITHUB_WORKFLOW_REF", WORKFLOW).env("GITHUB_OUTPUT", &put_out);
            Run::new(&command.output().expect("the binary runs"), PathBuf::from(out))
        };
        let outputs = || -> std::collections::BTreeMap<String, String> {
            let text = fs::read_to_string(&put_out).unwrap();
            fs::remove_file(&put_out).unwrap();
            crate::support::outputs(&text).into_iter().collect()
        };
        let (list, plans) = (place("list"), place("plans"));
        fs::write(&put_out, "").unwrap();
        batch(&["batch.yml", "--matrix", "--shards", "2"], &list).expect_code(0);
        let manifest = format!("{list}/manifest.json");
        let listed = outputs()["manifest-digest"].clone();
        assert_eq!(listed, manifest_digest(&manifest));
        let mut digests = Vec::new();
        for (at, shard) in ["1/2", "2/2"].into_iter().enumerate() {
            fs::write(&put_out, "").unwrap();
            let args = ["--manifest", &manifest, "--shard", shard, "--mode", "dry-run", "--deliver", "none"];
            batch(&args, &format!("{plans}/architect-ci-shard-{at}"));
            digests.push(outputs()["report-digest"].clone());
        }
        let digests = json!({"shard-1": digests[0], "shard-2": digests[1], "shard-3": ""}).to_string();
        assert_eq!(digests, report_digests(&plans));
        let write = |extra: &[&str], out: &str| {
            let args =
                ["--manifest", &manifest, "--plans", &plans, "--deliver", "pull-request", "--jobs", "1"];
            batch(&[&args[..], extra].concat(), &place(out))
        };
        let refused = |extra: &[&str], told: &str| {
            let run = write(extra, "refused");
            let said = format!("{}{}", run.stdout, run.stderr);
            assert!(run.code != 0 && said.contains(told), "{told}: {said}");
        };
        let given = ["--manifest-digest", &listed, "--report-digests", &digests];
        refused(&given[2..], "`plans` needs `manifest-digest`");
        refused(&given[..2], "`plans` needs `report-digests`");
        refused(&["--manifest-digest", &"0".repeat(64), given[2], given[3]], "(`manifest-digest`)");
        refused(&[given[0], given[1], "--report-digests", "{"], "invalid value for `report-digests`");
        let first = format!("{plans}/architect-ci-shard-0");
        let report = format!("{first}/batch.json");
        let honest = fs::read_to_string(&report).unwrap();
        let mut forged: Value = serde_json::from_str(&honest).unwrap();
        forged["tasks"][0]["message"] = json!("another");
        // A shard that says more than it was asked for, even if its job has put that out.
        let mut more = forged["tasks"][0].clone();
        more["id"] = json!("else");
        forged["tasks"].as_array_mut().unwrap().push(more);
        fs::write(&report, forged.to_string()).unwrap();
        let of_forged = report_digests(&plans);
        refused(&[given[0], given[1], given[2], &of_forged], "reports the task \"else\"");
        // What no job has put out is left out, in the place of a report as well.
        fs::write(&report, forged.to_string()).unwrap();
        let told = write(&given, "without-one").json("batch.json");
        let notices = told["notices"].to_string();
        for part in [
            "is not the report that the job of the shard 1 produced",
            "contains the report whose digest is the output shard-1",
        ] {
            assert!(notices.contains(part), "{part}: {notices}");
        }
        assert_eq!(task(&told, "one")["end"], "lost", "{told:#}");
        fs::write(&report, &honest).unwrap();
        // Anybody can add artifacts: a copy without plans, another report of the shard, one of nobody's, one of a run, and
        // what is no report. All that was put out is written.
        let more = |name: &str, file: &str, text: &str| {
            let folder = format!("{plans}/{name}");
            fs::create_dir(&folder).unwrap();
            fs::write(format!("{folder}/{file}"), text).unwrap();
        };
        more("architect-ci-shard--1", "batch.json", &honest);
        more("architect-ci-shard--2", "batch.json", &forged.to_string());
        more("architect-ci-shard--3", "batch.json", "{");
        more("architect-ci-shard--4\u{202e}", "report.json", "{}");
        let told = write(&given, "written").json("batch.json");
        assert_eq!(task(&told, "one")["delivery"]["branch"], "architect-ci/nightly-one", "{told:#}");
        let notices = told["notices"].as_array().unwrap().iter();
        let left_out =
            notices.filter(|notice| notice["message"].as_str().unwrap().contains(" is left out: ")).count();
        assert_eq!(left_out, 3, "{told:#}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn batch_is_planned_in_shards_and_written_by_another_job() {
    scene(BATCH, |scene| {
        let scene = scene.on_main();
        let event = scene.event("schedule", &[]);
        let variables = scene.variables("schedule");
        let place = |name: &str| scene.sandbox.path().join(name).display().to_string();
        let (event, repo) = (event.display().to_string(), scene.sandbox.repo().display().to_string());
        let batch = |args: &[&str], more: &[(&str, &str)]| {
            let mut command = scene.sandbox.command(&["batch", "--event", &event, "--workspace", &repo]);
            command.args(args).envs(variables.iter().cloned()).env("GITHUB_WORKFLOW_REF", WORKFLOW);
            command.envs(more.iter().copied());
            let out = args.iter().position(|arg| *arg == "--out").map(|at| PathBuf::from(args[at + 1]));
            Run::new(&command.output().expect("the binary runs"), out.unwrap())
        };
        let (list, plans, written) = (place("list"), place("plans"), place("written"));
        let reads = &[("GITHUB_TOKEN", READ_TOKEN)][..];
        batch(&["batch.yml", "--matrix", "--shards", "2", "--out", &list], reads).expect_code(0);
        let manifest = format!("{list}/manifest.json");
        for (at, shard) in ["1/2", "2/2"].into_iter().enumerate() {
            let out = format!("{plans}/architect-ci-shard-{at}");
            let args = ["--manifest", &manifest, "--shard", shard, "--mode", "dry-run", "--deliver", "none"];
            batch(&[&args[..], &["--out", &out]].concat(), reads);
        }
        assert_eq!(scene.github.world().refused_writes, Vec::<String>::new());
        let (listed, planned) = (manifest_digest(&manifest), report_digests(&plans));
        let args = ["--manifest", &manifest, "--plans", &plans, "--deliver", "pull-request", "--jobs", "1"];
        let digests = ["--manifest-digest", &listed, "--report-digests", &planned];
        let write = |out: &str, run: &str| {
            let more = [("GITHUB_TOKEN", BATCH_TOKEN), ("GITHUB_RUN_ID", run)];
            batch(&[&args[..], &digests, &["--out", out]].concat(), &more)
        };
        let report = write(&written, "4711").json("batch.json");
        let task = |id: &str| task(&report, id);
        // One pull request is permitted; what failed or changed nothing in its shard stays as it is.
        let delivered = |id: &str| task(id)["delivery"]["branch"].as_str().map(str::to_owned);
        assert_eq!(delivered("one").as_deref(), Some("architect-ci/nightly-one"), "{report:#}");
        assert_eq!((delivered("two"), &task("two")["end"]), (None, &json!("failed")));
        assert!(task("two").to_string().contains("apply.max_pull_requests"), "{report:#}");
        assert_eq!((&task("none")["end"], &task("three")["end"]), (&json!("failed"), &json!("success")));
        assert_eq!(scene.github.count("POST /repos/octo/demo/pulls"), 1);
        // A plan of another night is none of this run's.
        let run = write(&place("again"), "4712").expect_code(1);
        assert!(
            run.file("batch.json").contains("for the run 4711, but this is 4712"),
            "{}",
            run.file("batch.json")
        );
        {
            let world = scene.github.world();
            assert_eq!((&world.refused_reads, &world.refused_writes), (&vec![], &vec![]));
        }
        scene.github.assert_valid();
    })
    .await;
}
