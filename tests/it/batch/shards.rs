//! Shards share one manifest, and their reports become one.

use std::fs;

use super::{RECIPE, ends, program};
use crate::support::Sandbox;
use serde_json::{Value, json};

#[test]
fn batch_shards_share_manifest_and_merge() {
    let file = "name: wide\ndefaults: {mode: yolo}\ntasks:\n- id: 'f {file_stem}'\n  recipe: recipe.yml\n  for_each: {file: {files: ['*.py']}}\n- {id: red, recipe: none.yml}\n";
    let sandbox = Sandbox::new(&[("recipe.yml", RECIPE), ("batch.yml", file)]);
    for n in 0..9 {
        sandbox.write(&format!("f{n}.py"), "old\n".repeat(n + 1));
    }
    sandbox.commit("files");
    let output = sandbox.path().join("output");
    let (out, put) = (sandbox.out(), [("GITHUB_OUTPUT", output.to_str().unwrap())]);
    let run = program(
        &sandbox,
        &["batch", "batch.yml", "--matrix", "--shards", "4", "--out", out.to_str().unwrap()],
        &put,
    )
    .expect_code(0);
    let matrix: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let shards: Vec<String> = matrix["include"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["shard"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(shards, ["1/4", "2/4", "3/4", "4/4"]);
    let told = crate::support::outputs(&fs::read_to_string(&output).unwrap());
    assert_eq!(serde_json::from_str::<Value>(&told["matrix"]).unwrap(), matrix);
    let manifest = told["manifest-path"].clone();
    let parts = sandbox.path().join("artifacts");
    for (index, shard) in shards.iter().enumerate() {
        let out = parts.join(format!("batch-{}", index + 1));
        let out = out.to_str().unwrap();
        program(&sandbox, &["batch", "--manifest", &manifest, "--shard", shard, "--out", out], &[]);
    }
    let merged = sandbox.path().join("merged");
    let merge = |more: &[&str]| {
        let args =
            [&["report", "merge", parts.to_str().unwrap(), "--out", merged.to_str().unwrap()], more].concat();
        let mut run = program(&sandbox, &args, &[]);
        run.out.clone_from(&merged);
        run
    };
    let run = merge(&["--manifest", &manifest]).expect_code(1);
    let report = run.json("batch.json");
    assert_eq!(ends(&report).len(), 10);
    assert_eq!(ends(&report).values().filter(|end| *end == "success").count(), 9);
    let ids: Vec<&str> =
        report["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap()).collect();
    assert_eq!((ids[0], ids[9]), ("f-f0", "red"));
    let folder = report["tasks"][0]["folder"].as_str().unwrap();
    assert!(parts.join(folder).join("report.json").is_file(), "{folder}");
    assert!(report["lost_shards"].is_null());
    // Shards of the next night go by the merged report.
    let (next, last) = (sandbox.path().join("next"), merged.join("batch.json"));
    let (out, last) = (next.to_str().unwrap(), last.to_str().unwrap());
    for (more, settled) in [(&[][..], true), (&["--fresh"], false)] {
        let args = ["batch", "--manifest", &manifest, "--shard", "1/4", "--out", out, "--previous", last];
        program(&sandbox, &[&args[..], more].concat(), &[]);
        let text = fs::read_to_string(next.join("batch.json")).unwrap();
        let ends = ends(&serde_json::from_str(&text).unwrap());
        assert_eq!(ends.values().any(|end| end == "settled"), settled, "{ends:?}");
    }
    // A lost shard, and one whose report was cut.
    fs::remove_dir_all(parts.join("batch-2")).unwrap();
    fs::write(parts.join("batch-3/batch.json"), "{\"schema_version\": 1,").unwrap();
    let report = merge(&["--manifest", &manifest]).expect_code(1).json("batch.json");
    assert_eq!(report["lost_shards"], json!([2, 3]));
    let lost = ends(&report).values().filter(|end| *end == "lost").count();
    assert!((4..=6).contains(&lost), "{lost}");
    assert!(report["notices"][0]["message"].as_str().unwrap().contains("batch-3/batch.json: "));
    let report = merge(&[]).expect_code(1).json("batch.json");
    assert_eq!((&report["lost_shards"], ends(&report).len()), (&json!([2, 3]), 10 - lost));
    // One that says it is of more shards than there can be is none.
    let mut vast: Value =
        serde_json::from_str(&fs::read_to_string(parts.join("batch-1/batch.json")).unwrap()).unwrap();
    vast["shard"]["of"] = json!(u32::MAX);
    fs::write(parts.join("batch-3/batch.json"), vast.to_string()).unwrap();
    let told = merge(&["--manifest", &manifest]).expect_code(1).json("batch.json");
    assert!(told["notices"][0]["message"].as_str().unwrap().contains("invalid shard"), "{told}");
    // Another batch's report does not belong.
    let other = report.to_string().replace(report["manifest"].as_str().unwrap(), "0");
    fs::create_dir_all(parts.join("other")).unwrap();
    fs::write(parts.join("other/batch.json"), other).unwrap();
    assert!(merge(&[]).expect_code(3).stderr.contains("different batches"));
}

#[test]
fn batch_shards_have_shares_of_pilot() {
    let sandbox = Sandbox::new(&[("recipe.yml", RECIPE), ("a.py", "old\n")]);
    let tasks: Vec<Value> = (0..6).map(|n| json!({"id": format!("t{n}"), "recipe": "recipe.yml"})).collect();
    let gate = json!([{"name": "no", "command": "false"}]);
    let file = json!({"name": "n", "pilot": {"tasks": 2, "stop_above": "20%"}, "defaults": {"gates": gate}, "tasks": tasks});
    sandbox.write("batch.yml", file.to_string());
    sandbox.commit("tasks");
    let out = sandbox.out();
    program(&sandbox, &["batch", "batch.yml", "--matrix", "--out", out.to_str().unwrap()], &[])
        .expect_code(0);
    let manifest = out.join("manifest.json").display().to_string();
    for shard in ["1/2", "2/2"] {
        let args = ["batch", "--manifest", &manifest, "--shard", shard, "--out"];
        let out = sandbox.path().join(&shard[..1]);
        let mut run = program(&sandbox, &[&args[..], &[out.to_str().unwrap()]].concat(), &[]).expect_code(1);
        run.out = out;
        let ends: Vec<String> = ends(&run.json("batch.json")).into_values().collect();
        assert_eq!(ends, ["failed", "not_run", "not_run"], "{shard}");
        assert!(
            run.file("batch.md").contains("1 of the 1 task of this shard's share of the pilot failed"),
            "{shard}"
        );
    }
}

#[test]
fn batch_merges_single_run_reports() {
    let sandbox = Sandbox::new(&[("a.py", "old\n"), ("recipe.yml", RECIPE)]);
    for job in ["linux", "windows"] {
        let out = sandbox.path().join("artifacts").join(job);
        program(&sandbox, &["run", "--model", "recipe::recipe.yml", "--out", out.to_str().unwrap()], &[])
            .expect_code(0);
    }
    let out = sandbox.out();
    let run = program(&sandbox, &["report", "merge", "../artifacts", "--out", out.to_str().unwrap()], &[])
        .expect_code(0);
    assert_eq!(ends(&run.json("batch.json")).into_keys().collect::<Vec<_>>(), ["linux", "windows"]);
    assert!(run.stdout.starts_with("✅ runs: 2 of 2 tasks done"), "{}", run.stdout);
    let run =
        program(&sandbox, &["report", "merge", "src", "--out", out.to_str().unwrap()], &[]).expect_code(3);
    assert!(run.stderr.contains("there is no batch.json"), "{}", run.stderr);
}
