//! Caches of build tools and shared memory where nothing can be mounted: everybody has caches of their own, which begin with
//! what the machine's hold, and nobody changes those.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::thread;

use serde_json::{Value, json};

use crate::copies::{without_namespaces, without_namespaces_having};
use crate::support::wait::wait_until;
use crate::support::{Run, Sandbox, command};

/// A program in a cache that is a package, a small file, and a large one.
const KNOWN: [(&str, &str); 3] = [
    (".npm/_npx/1/node_modules/tool/package.json", "{}\n"),
    (".npm/_cacache/index-v5/aa/entry", "known\n"),
    (".cargo/registry/cache/host/one.crate", "crate\n"),
];

fn configuration(gate: &str, more: &Value) -> String {
    let mut config = json!({
        "commands": {"dev_commands": ["bash", "python3"]},
        "dry_run": {"commands": "isolated"},
        "guardrails": {"max_gate_rounds": 1, "quality_gates": [{"name": "look", "command": gate, "required": false}]},
    });
    config["commands"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    config.to_string()
}

fn fill(home: &Path) {
    for (name, text) in KNOWN {
        fs::create_dir_all(home.join(name).parent().unwrap()).unwrap();
        fs::write(home.join(name), text).unwrap();
    }
    fs::create_dir_all(home.join(".cache/tool")).unwrap();
}

fn played(sandbox: &Sandbox, lines: &[String]) -> Run {
    let turns: Vec<Vec<(&str, Value)>> = lines.iter().map(|line| vec![command(line)]).collect();
    let run = without_namespaces(sandbox, &sandbox.repo(), &turns, &[]);
    assert!(run.stderr.contains("commands run on a copy"), "{}", run.stderr);
    run
}

fn gate_output(run: &Run) -> String {
    run.report()["gates"][0]["output"].as_str().unwrap_or_default().to_owned()
}

/// Every file below a folder, with what is in it.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.display().to_string(), fs::read_to_string(&path).unwrap_or_default()));
        }
    }
    found.sort();
    found
}

#[test]
fn caches_written_by_commands_are_hidden_from_gates() {
    let plant = "cd ~; cat .npm/_cacache/index-v5/aa/entry .npm/_npx/1/node_modules/tool/package.json .cargo/registry/cache/host/one.crate\n\
                 { echo evil > .npm/_npx/1/node_modules/tool/index.js; } 2>/dev/null && echo wrote to a package\n\
                 mv .cargo/registry/cache/host .cargo/registry/cache/away; mkdir .cargo/registry/cache/host\n\
                 for f in .npm/_npx/2/evil .npm/_npx/1/evil .cache/tool/evil .cache/new/evil .cargo/registry/cache/host/one.crate; do\n\
                 mkdir -p ${f%/*}; echo evil > $f; done; echo evil >> .npm/_cacache/index-v5/aa/entry; ls -d .cache/new/evil";
    let look = "cd ~; cat .npm/_cacache/index-v5/aa/entry .cargo/registry/cache/host/one.crate; find . -follow -name evil; false";
    let config = configuration(look, &json!({}));
    let sandbox = Sandbox::new(&[(".architect.yml", config.as_str()), ("plant.sh", plant)]);
    let home = sandbox.path().join("me");
    fill(&home);
    let before = files(&home);
    let again = "bash -c 'cat ~/.cache/tool/evil ~/.cargo/registry/cache/host/one.crate'";
    let run = played(&sandbox, &["bash plant.sh".to_owned(), again.to_owned()]);
    let results = run.results();
    assert!(
        results[0].contains("known\n{}\ncrate\n") && results[0].contains(".cache/new/evil"),
        "{results:?}"
    );
    assert!(!results[0].contains("wrote to a package"), "{results:?}");
    assert!(results[1].contains("evil\nevil"), "its own next command finds what it left: {results:?}");
    let seen = gate_output(&run);
    assert!(seen.contains("known\ncrate") && !seen.contains("evil"), "{seen}");
    assert_eq!(files(&home), before, "the machine's own caches are as they were");
}

#[test]
fn caches_that_variables_name_are_private_as_well() {
    let config = configuration(
        "bash -c 'cat $PIP_CACHE_DIR/known $PIP_CACHE_DIR/mine; ls $GOCACHE; false'",
        &json!({"env_passthrough": ["PIP_CACHE_DIR", "GOCACHE"]}),
    );
    let sandbox = Sandbox::new(&[(".architect.yml", config.as_str())]);
    let places = ["pip", "go"].map(|name| sandbox.path().join(name));
    for place in &places {
        fs::create_dir(place).unwrap();
        fs::write(place.join("known"), "known\n").unwrap();
    }
    let line = "bash -c 'cat $PIP_CACHE_DIR/known; echo evil > $PIP_CACHE_DIR/mine; mkdir -p $GOCACHE; echo evil > $GOCACHE/mine && echo built'";
    let variables = [("PIP_CACHE_DIR", places[0].as_path()), ("GOCACHE", places[1].as_path())];
    let turns = [vec![command(line)]];
    let run = without_namespaces_having(&sandbox, &sandbox.repo(), &turns, &[], &variables);
    let results = run.results();
    assert!(results[0].contains("known\n") && results[0].contains("built"), "{results:?}");
    let seen = gate_output(&run);
    assert!(seen.contains("known") && !seen.contains("evil"), "{seen}");
    assert!(places.iter().all(|place| !place.join("mine").exists()));
}

#[test]
fn what_others_write_to_caches_meanwhile_stays() {
    let sandbox = Sandbox::new(&[]);
    let (home, meeting) = (sandbox.path().join("me"), sandbox.path().join("meeting"));
    fs::create_dir(&meeting).unwrap();
    fill(&home);
    let config = configuration("true", &json!({"writable_paths": [meeting.to_str().unwrap()]}));
    fs::write(sandbox.repo().join(".architect.yml"), config).unwrap();
    let place = meeting.display();
    let line = format!("bash -c 'touch {place}/began; until test -e {place}/end; do sleep 0.05; done'");
    let others = [home.join(".cache/tool/other"), home.join(".npm/other")];
    thread::scope(|scope| {
        scope.spawn(|| {
            wait_until("the command begins", || meeting.join("began").exists());
            for other in &others {
                fs::write(other, "somebody else's").unwrap();
            }
            fs::write(meeting.join("end"), "").unwrap();
        });
        played(&sandbox, &[line]);
    });
    assert!(others.iter().all(|other| other.exists()));
}

/// Locks of several processes, which Python makes by names in shared memory.
const LOCKS: &str = "import multiprocessing\nprint('locked', multiprocessing.Lock().acquire())\n";

#[test]
fn shared_memory_that_a_command_leaves_is_met_by_nobody_else() {
    let gate = "bash -c 'cat /dev/shm/left; echo x > /dev/shm/new && echo wrote; python3 lock.py; false'";
    let config = configuration(gate, &json!({}));
    for leaves in [true, false] {
        let last = if leaves { "echo evil > /dev/shm/left; cat /dev/shm/left" } else { "echo nothing" };
        let sandbox = Sandbox::new(&[(".architect.yml", config.as_str()), ("lock.py", LOCKS)]);
        let run = played(&sandbox, &["python3 lock.py".to_owned(), format!("bash -c '{last}'")]);
        let (results, seen) = (run.results(), gate_output(&run));
        assert!(results[0].contains("locked True"), "{results:?}");
        assert_eq!(results[1].contains("evil"), leaves, "{results:?}");
        assert!(!seen.contains("evil"), "{seen}");
        for done in ["locked True", "wrote"] {
            assert_eq!(seen.contains(done), !leaves, "{done}: {seen}");
        }
        assert!(run.stderr.contains("commands may have left files in /dev/shm"), "{}", run.stderr);
    }
}
