//! Programs that load files from where they start: with a key, they start among the files of the base.

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

/// Programs of the machine and of the base, many of which load files from where they start.
const LINES: &[&str] = &[
    "lua ci/m.lua",
    "java ci/M.java",
    "deno run -A ci/m.ts",
    "node --import tsx ci/m.js",
    "ruby -rbundler/setup ci/m.rb",
    "uvicorn ci.m:app",
    "dotenv run tool",
    "npx -y some-server .",
    "npx -y @scope/server --stdio",
    "uvx some-server",
    "python3 -m mcp_server_x",
    "python3 own/m.py",
    "some-server --config=ci/m.js",
    "some-server ci.m:app",
    "./ci/tool.lua",
    "make model",
    "/opt/none/server --stdio",
    "docker run -i --rm -e KEY ghcr.io/some/server",
    "sh ci/start.sh",
];

/// A configuration with a server for each line, whose name is the line's number; with or without a key.
fn servers(lines: &[&str], key: bool) -> String {
    let servers: Vec<Value> = lines
        .iter()
        .enumerate()
        .map(|(number, line)| {
            let words: Vec<&str> = line.split(' ').collect();
            json!({"name": format!("s{number}"), "command": words[0], "args": words[1..], "start_timeout": 2,
                   "token_env": key.then_some("KEY")})
        })
        .collect();
    json!({"mcp": {"servers": servers}}).to_string()
}

/// What a run tells of each line where the head adds or changes a file.
async fn told(lines: &'static [&'static str], key: bool, file: &'static str) -> Vec<String> {
    let (send, receive) = std::sync::mpsc::channel();
    scene(FILES, move |mut scene| {
        scene.configured(&servers(lines, key));
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
async fn programs_with_key_are_refused_for_nothing_that_the_head_changes() {
    for file in ["deep/evil.lua", "ci/m.py", ".npmrc"] {
        let all = LINES.iter().zip(told(LINES, true, file).await);
        let refused: Vec<_> = all.filter(|(_, told)| told.contains("differs from the base commit")).collect();
        assert!(refused.is_empty(), "{file}: {refused:#?}");
    }
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
    for (line, told) in LINES.iter().zip(told(LINES, false, "ci/m.py").await) {
        assert!(told.starts_with("ci/m.py differs from the base commit"), "{line}: {told}");
    }
}
