//! Programs with a key that load files from where they start are refused where the head has changed any of these.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::scene::scene;
use serde_json::{Value, json};

const FILES: &[(&str, &str)] = &[
    ("ci/m.py", "app = None\n"),
    ("ci/m.lua", "require 'cjson'\n"),
    ("ci/M.java", "class M {}\n"),
    ("ci/m.js", "1\n"),
    ("ci/tool.lua", "#!/usr/bin/env lua\n"),
    ("ci/start.sh", "cd \"$(dirname \"$0\")\" && exec lua m.lua\n"),
    ("own/m.py", "print(1)\n"),
];

/// Programs that may load the file that the head adds.
const LOADING: &[&str] = &[
    "lua ci/m.lua",
    "lua5.4 /opt/m.lua",
    "java ci/M.java",
    "Rscript ci/m.R",
    "deno run -A ci/m.ts",
    "tsx ci/m.ts",
    "node --import tsx ci/m.js",
    "ruby -rbundler/setup ci/m.rb",
    "php ci/m.php",
    "octave ci/m.m",
    "bb ci/m.clj",
    "gunicorn ci.m",
    "uvicorn ci.m:app",
    "flask run",
    "dotenv run tool",
    "foreman run tool",
    "python3 -m uvicorn ci.m:app",
    "npx -y some-server ci/m.js",
    "npx -y some-server .",
    "some-server --config=ci/m.js",
    "some-server ci.m:app",
    "timeout 9 lua ci/m.lua",
    "./ci/tool.lua",
];

/// Programs that load no more than what they name, or are the machine's own.
const NAMED: &[&str] = &[
    "npx -y some-server",
    "npx -y @scope/server --stdio",
    "uvx some-server",
    "python3 -m mcp_server_x",
    "python3 -I own/m.py",
    "python3 own/m.py",
    "node /opt/none/x.js",
    "node ci/m.js",
    "/opt/none/server --stdio",
    "some-server --stdio --host api.example.org",
    "docker run -i --rm -e KEY ghcr.io/some/server",
    "java -jar /opt/none/x.jar",
    "sh ci/start.sh",
];

/// A configuration with a server that holds a key for each line; its name is the line's number.
fn servers(lines: &[&str]) -> String {
    let servers: Vec<Value> = lines
        .iter()
        .enumerate()
        .map(|(number, line)| {
            let words: Vec<&str> = line.split(' ').collect();
            json!({"name": format!("s{number}"), "command": words[0], "args": words[1..], "token_env": "KEY",
                   "start_timeout": 2})
        })
        .collect();
    json!({"mcp": {"servers": servers}}).to_string()
}

/// What a run tells of each line where the head adds or changes a file.
async fn told(lines: &'static [&'static str], file: &'static str) -> Vec<String> {
    let (send, receive) = std::sync::mpsc::channel();
    scene(FILES, move |mut scene| {
        scene.configured(&servers(lines));
        // Nothing but the file differs.
        scene.sandbox.git(&["reset", "--quiet", "--hard", "main"]);
        // None of them is to be started for real.
        let programs = scene.sandbox.path().join("programs");
        fs::create_dir(&programs).unwrap();
        for name in ["npx", "uvx", "docker", "java", "some-server"] {
            fs::write(programs.join(name), "#!/bin/sh\nexit 1\n").unwrap();
            fs::set_permissions(programs.join(name), PermissionsExt::from_mode(0o755)).unwrap();
        }
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let run = scene.proposed(file, "of the head\n", &[("KEY", "the-key-of-servers"), ("PATH", &path)]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let report = run.file("report.json");
        for number in 0..lines.len() {
            let begin = format!("the MCP server s{number} is left out: ");
            let line = report.split(&begin).nth(1).unwrap_or_default();
            send.send(line.lines().next().unwrap_or_default().to_owned()).unwrap();
        }
    })
    .await;
    receive.into_iter().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_with_key_that_load_from_their_start_are_refused() {
    let is_refused = |told: &str| {
        told.starts_with("deep/evil.lua differs from the base commit")
            && told.contains("may load any file")
            && told.contains("by a shell script in a folder of its own")
    };
    let all = LOADING.iter().zip(told(LOADING, "deep/evil.lua").await);
    let started: Vec<_> = all.filter(|(_, told)| !is_refused(told)).collect();
    assert!(started.is_empty(), "{started:#?}");
    let all = NAMED.iter().zip(told(NAMED, "deep/evil.lua").await);
    let refused: Vec<_> = all.filter(|(_, told)| told.contains("differs from the base commit")).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    // No program loads a page of text.
    let all = LOADING.iter().zip(told(LOADING, "deep/README.md").await);
    let refused: Vec<_> = all.filter(|(_, told)| told.contains("may load any file")).collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn dotted_modules_of_any_program_are_compared() {
    const LINES: &[&str] = &[
        "uvicorn ci.m:app",
        "gunicorn ci.m:app",
        "flask --app ci.m run",
        "celery -A ci.m worker",
        "python3 -m uvicorn ci.m:app",
        "some-server ci.m:app",
        "some-server --app=ci.m:app",
        "python3 -m ci.m",
    ];
    for (line, told) in LINES.iter().zip(told(LINES, "ci/m.py").await) {
        assert!(told.starts_with("ci/m.py differs from the base commit"), "{line}: {told}");
    }
}
