//! Secrets in every spelling.

use std::collections::BTreeMap;

use crate::support::Sandbox;
use serde_json::json;

/// A secret, and ways in which it may turn up.
const SECRET: &str = "pA\"ss/w+rd&42=xYz";

fn spellings() -> Vec<(&'static str, String)> {
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    let wrapped: String = STANDARD
        .encode(format!("user:{SECRET}:and a long rest, so that it takes several lines of output"))
        .as_bytes()
        .chunks(20)
        .map(|line| format!("{}\n", std::str::from_utf8(line).unwrap()))
        .collect();
    vec![
        ("plain", SECRET.to_owned()),
        ("in quotes", format!("password={SECRET};")),
        ("base64", STANDARD.encode(SECRET)),
        ("base64 of a longer text", STANDARD.encode(format!("user:{SECRET}"))),
        ("base64 for addresses", URL_SAFE_NO_PAD.encode(format!("{SECRET}!"))),
        ("base64 in lines", wrapped),
        ("in an address", "pA%22ss%2Fw%2Brd%2642%3DxYz".to_owned()),
        ("in JSON", json!({ "key": SECRET }).to_string()),
        ("split over lines", format!("{}\n{}", &SECRET[..8], &SECRET[8..])),
        ("split in a list", format!("- {}\n- {}", &SECRET[..8], &SECRET[8..])),
    ]
}

/// What of any spelling tells the secret.
fn needles() -> Vec<String> {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    let encoded = |lead: &str| STANDARD.encode(format!("{lead}{SECRET}"))[8..20].to_owned();
    let escaped = SECRET.replace('"', "\\\"");
    vec![SECRET.into(), escaped, "pA%22ss%2F".into(), "&quot;ss/w+rd".into(), encoded(""), encoded("user:")]
}

#[test]
fn secrets_reach_no_sink() {
    for (name, text) in spellings() {
        let sandbox = Sandbox::new(&[
            ("a.txt", "one\n"),
            (
                ".architect.yml",
                "guardrails:\n  max_gate_rounds: 1\n  quality_gates:\n    - { name: show, command: 'cat ../leak.txt; exit 1' }\n\
                 hooks:\n  post_tool_use:\n    - { name: tell, command: 'cat ../leak.txt >&2' }\n",
            ),
        ]);
        std::fs::write(sandbox.path().join("leak.txt"), &text).unwrap();
        sandbox.commit("ready");
        let calls = vec![
            ("write_file", json!({"path": "b.txt", "content": text})),
            ("run_command", json!({"command": "cat ../leak.txt"})),
            ("search_code", json!({ "pattern": text })),
        ];
        let model = sandbox.script(&[calls], &text);
        let (output, step) = (sandbox.path().join("output"), sandbox.path().join("summary"));
        let variables = [
            ("GITHUB_ACTIONS", "true"),
            ("MY_SECRET", SECRET),
            ("GITHUB_OUTPUT", output.to_str().unwrap()),
            ("GITHUB_STEP_SUMMARY", step.to_str().unwrap()),
        ];
        let task = format!("Use {text}");
        let run = sandbox.run(&["--model", &model, "--task", &task], &variables).expect_code(1);
        assert!(
            run.stderr.contains(
                "the changes contain one of this job's secrets, so neither the plan nor the \
                                 patch"
            ),
            "{name}: {}",
            run.stderr
        );
        assert!(!run.out.join("plan.json").exists() && !run.out.join("plan.patch").exists(), "{name}");
        let mut places: BTreeMap<String, String> = BTreeMap::new();
        for file in std::fs::read_dir(&run.out)
            .unwrap()
            .map(|file| file.unwrap().path())
            .filter(|file| file.is_file())
        {
            places.insert(file.display().to_string(), std::fs::read_to_string(&file).unwrap());
        }
        assert_eq!(places.len(), 9, "{name}: {:?}", places.keys());
        places.insert("outputs".into(), std::fs::read_to_string(&output).unwrap());
        places.insert("step summary".into(), std::fs::read_to_string(&step).unwrap());
        places.insert("stdout".into(), run.stdout.clone());
        // The runner is told what to mask; that line it does not show.
        let log: String = run
            .stderr
            .lines()
            .filter(|line| !line.starts_with("::add-mask::"))
            .collect::<Vec<_>>()
            .join("\n");
        places.insert("stderr".into(), log);
        for (place, shown) in &places {
            // However the lines fall.
            let shown: String = shown.replace("\\n", "").chars().filter(|c| !c.is_whitespace()).collect();
            for needle in needles() {
                assert!(!shown.contains(&needle), "{name}: {needle:?} in {place}:\n{shown}");
            }
        }
    }
}
