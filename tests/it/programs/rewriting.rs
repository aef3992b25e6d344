//! Programs that judge a run, and what those load, are not rewritten by the run.

use std::os::unix::fs::symlink;

use crate::support::{Sandbox, command};
use serde_json::json;

#[test]
fn programs_that_judge_a_run_are_not_rewritten_by_it() {
    const CONFIG: &str = "hooks:\n  agent_complete:\n  - { name: judge, command: 'sh ci/h.sh && python3 -m pkg && make -C make' }\ndry_run:\n  commands: isolated\n";
    let files = [
        (".architect.yml", CONFIG),
        ("real/h.sh", "cat ci/u.sh\n"),
        ("real/u.sh", "echo fine\n"),
        ("pkg/__main__.py", "print('fine')\n"),
        ("make/Makefile", "all:\n\t@true\n"),
        ("real/README.md", "read me\n"),
    ];
    let evil = "echo evil";
    for mode in ["dry-run", "yolo"] {
        let sandbox = Sandbox::new(&files);
        symlink("real", sandbox.repo().join("ci")).unwrap();
        sandbox.commit("a link");
        let before = sandbox.tree();
        let write = |path: &str| ("write_file", json!({"path": path, "content": evil}));
        let calls = [
            write("ci/h.sh"),
            write("real/h.sh"),
            write("real/u.sh"),
            write("ci/new.py"),
            write("pkg/__main__.py"),
            write("pkg/json.py"),
            write("make/Makefile"),
            write("make/GNUmakefile"),
            command("echo evil > real/h.sh"),
            command("ln real/h.sh x; echo evil > x"),
            command("ln -s real/h.sh x; echo evil > x"),
            command("rm ci; mkdir ci; echo evil > ci/h.sh"),
            command("mv real old"),
            command("rm real/h.sh"),
            command("sed -i s/fine/evil/ real/u.sh"),
            command("cp a.txt make/makefile || echo x > make/makefile"),
        ];
        let model = sandbox.script(&calls.map(|call| vec![call]), "done");
        let run = sandbox.run(&["--model", &model, "--mode", mode], &[]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        for (index, result) in run.results().iter().enumerate() {
            assert!(result.contains("is always protected: a hook"), "{mode}, call {index}: {result}");
        }
        assert_eq!(sandbox.tree(), before, "{mode}");
        assert_eq!(run.report()["files"].as_array().unwrap().len(), 0, "{mode}");
        let hook = run.report()["hooks"][0].clone();
        assert!(hook["output"].as_str().unwrap().contains("fine"), "{hook}");
        assert!(!hook["output"].as_str().unwrap().contains("evil"), "{hook}");
        // What is no program stays everybody's.
        let model = sandbox.script(&[vec![write("real/README.md")], vec![write("src/x.py")]], "done");
        let run = sandbox.run(&["--model", &model, "--mode", mode], &[]).expect_code(0);
        assert_eq!(run.report()["files"].as_array().unwrap().len(), 2, "{mode}: {:?}", run.results());
    }
}

/// Configurations, files of the checkout, what must not be written, and what stays everybody's.
type Loaded<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [&'a str], &'a [&'a str]);

const LOADED: &[Loaded<'_>] = &[
    (
        "hooks:\n  agent_complete:\n  - { name: judge, command: python3 -m guardmod }\n",
        &[
            ("guardmod.py", "import json, rules\nfrom lib import words\n"),
            ("rules.py", ""),
            ("lib/words.py", ""),
        ],
        &[
            "json.py",
            "json/__init__.py",
            "sitecustomize.py",
            "__pycache__/json.cpython-312.pyc",
            "rules.py",
            "lib/words.py",
        ],
        &["other.py", "src/json.py", "lib/more.py", "test/test_json.py"],
    ),
    (
        "hooks:\n  agent_complete:\n  - { name: judge, command: python3 check.py }\n",
        &[("check.py", "import requests\n")],
        &["re.py", "requests.py", "requests/__init__.py"],
        &["other.py", "src/requests.py"],
    ),
    (
        "hooks:\n  agent_complete:\n  - { name: judge, command: python3 ci/check.py }\n",
        &[("ci/check.py", "import json\n"), ("pkg/__init__.py", ""), ("calendar/__init__.py", "")],
        &["ci/json.py", "ci/other.py"],
        &["json.py", "pkg/__init__.py", "pkg/new.py", "calendar/__init__.py"],
    ),
    (
        "hooks:\n  agent_complete:\n  - { name: judge, command: 'PYTHONPATH=tools python3 ci/check.py' }\n",
        &[("ci/check.py", "import near\n"), ("tools/near.py", "")],
        &["tools/json.py", "tools/near.py"],
        &["json.py", "tools/other.py"],
    ),
    (
        "hooks:\n  agent_complete:\n  - { name: judge, command: 'python3 -Im guardmod' }\n",
        &[("a.txt", "")],
        &[],
        &["json.py"],
    ),
    (
        "hooks:\n  agent_complete:\n  - { name: judge, command: npx guard }\n",
        &[
            (".gitignore", "node_modules\n"),
            ("node_modules/guard/index.js", ""),
            ("node_modules/.bin/guard", ""),
        ],
        &[".yarnrc.yml", "node_modules/.bin/guard", "node_modules/guard/index.js"],
        &["package.json", "node_modules/other/index.js"],
    ),
    (
        "mcp:\n  servers:\n  - { name: t, command: npx, args: [--no-install, our-mcp], token_env: MODEL_KEY }\n",
        &[(".gitignore", "node_modules\n")],
        &["node_modules/.bin/our-mcp", "node_modules/our-mcp/index.js", ".yarnrc.yml"],
        &["package.json", "node_modules/other/index.js", "node_modules/.bin/other"],
    ),
    (
        "mcp:\n  servers:\n  - { name: t, command: npx, args: ['@a/our-mcp@1.2.3'], token_env: MODEL_KEY }\n",
        &[(".gitignore", "node_modules\n"), ("node_modules/@a/our-mcp/index.js", "")],
        &["node_modules/.bin/our-mcp", "node_modules/@a/our-mcp/index.js", "node_modules/its-own/index.js"],
        &["package.json"],
    ),
    (
        "mcp:\n  servers:\n  - { name: t, command: node, args: [tools/server.js], token_env: MODEL_KEY }\n",
        &[(".gitignore", "node_modules\n"), ("tools/server.js", "")],
        &["node_modules/x/index.js", "tools/near.js"],
        &["index.js", "package.json"],
    ),
    (
        "mcp:\n  servers:\n  - { name: t, command: python3, args: [server.py], token_env: MODEL_KEY }\n",
        &[("server.py", ""), ("pkg/__init__.py", ""), ("src/a.txt", "")],
        &["json.py", "anything.py", "pkg/new.py", "new/__init__.py"],
        &["src/new.py", "README.md"],
    ),
    (
        "hooks:\n  agent_complete:\n  - { name: judge, command: 'true || lua ci/h.lua' }\n",
        &[("ci/h.lua", "local found, cjson = pcall(require, \"cjson\")\nrequire 'guard.rules'\n")],
        &["cjson.lua", "cjson/init.lua", "cjson.so", "guard/rules.lua", "ci/other.lua"],
        &["other.lua", "src/cjson.lua", "cjson.py"],
    ),
    (
        "hooks:\n  agent_complete:\n  - { name: judge, command: 'true || java ci/H.java' }\n",
        &[("ci/H.java", "import guard.Rules;\n")],
        &["META-INF/services/java.net.spi.URLStreamHandlerProvider", "guard/Rules.class"],
        &["src/Other.java", "README.md"],
    ),
    (
        "hooks:\n  agent_complete:\n  - { name: judge, command: 'true || uvicorn ci.m:app' }\n",
        &[("ci/m.py", "import rules\n")],
        &["ci/m.py", "json.py", "rules.py"],
        &["other.py", "src/rules.py"],
    ),
    (
        "mcp:\n  servers:\n  - { name: t, command: lua, args: [ci/m.lua], token_env: MODEL_KEY }\n",
        &[("ci/m.lua", "")],
        &["any.lua", "deep/any.lua", "any.so"],
        &["other.py", "README.md"],
    ),
];

#[test]
fn what_programs_load_is_not_rewritten_by_a_run() {
    for (configuration, files, closed, open) in LOADED {
        let mut all = files.to_vec();
        all.push((".architect.yml", configuration));
        let sandbox = Sandbox::new(&all);
        let paths = || closed.iter().chain(open.iter());
        let write = |path: &&str| vec![("write_file", json!({"path": path, "content": "evil\n"}))];
        let append = |path: &&str| {
            let line = format!("mkdir -p \"$(dirname {path})\" && echo more > {path}");
            vec![command(&line)]
        };
        let calls: Vec<_> = paths().map(append).chain(paths().map(write)).collect();
        let model = sandbox.script(&calls, "done");
        let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &[("MODEL_KEY", "the-model-key")]);
        assert_eq!(run.code, 0, "{configuration}: {}", run.stderr);
        let results = run.results();
        let each = closed.len() + open.len();
        for (index, path) in paths().enumerate() {
            for result in [&results[index], &results[each + index]] {
                let is_refused = result.contains("is always protected: a hook");
                assert_eq!(is_refused, index < closed.len(), "{configuration}{path}: {result}");
            }
        }
        for path in *open {
            assert_eq!(sandbox.read(path), "evil\n", "{configuration}{path}");
        }
    }
}

#[test]
fn a_hook_blocks_though_what_it_leaves_behind_is_refused() {
    let config =
        "hooks:\n  pre_tool_use:\n  - { name: guard, command: python3 -m guardpkg, matcher: move_file }\n";
    // Python leaves `__pycache__` in the package, which is protected.
    let main = "import guardpkg.rules, sys\nprint('not this way', file=sys.stderr)\nsys.exit(2)\n";
    let sandbox = Sandbox::new(&[
        (".architect.yml", config),
        ("guardpkg/__init__.py", ""),
        ("guardpkg/__main__.py", main),
        ("guardpkg/rules.py", ""),
        ("a.txt", "a\n"),
    ]);
    let model = sandbox.script(&[vec![("move_file", json!({"from": "a.txt", "to": "b.txt"}))]], "done");
    let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &[]);
    assert!(run.results()[0].contains("not this way"), "{:?}", run.results());
    assert_eq!(sandbox.read("a.txt"), "a\n");
}
