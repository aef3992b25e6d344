//! Runs that are killed at any moment, and gone on with on another machine: other state folder, other path, and nothing of the
//! first one but its sealed session.
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::kills::{kill, play, runs, signals};
use crate::support::sealed::{self, KEY, OTHER_KEY, model, model_that_waits};
use crate::support::wait::{wait_until_or, wait_while_running};
use crate::support::{Run, Sandbox};

/// The calls of the model.
const CALLS: &str = r#"[
    write("a.txt", "one\n"),
    command("echo line >> log.txt"),
    write("deep/er/b.txt", "b\n"),
    ("edit_file", {"path": "a.txt", "old_string": "one", "new_string": "two"}),
    command("echo line >> log.txt && chmod +x run.sh"),
    command("rm deep/er/b.txt && printf '\\000\\001' > binary.dat"),
    write("deep/er/b.txt", "again\n"),
    command("cat log.txt >> a.txt"),
]"#;

/// Does something else when it is applied twice.
const RECIPE: &str = r#"
steps:
  - files: ["*.txt"]
    do:
      - replace: { pattern: "line", with: "line line" }
      - tool: write_file
        with: { path: "{file}.new", content: "new\n" }
"#;

/// What is run, and in which mode.
#[derive(Clone, Copy, Debug)]
struct Work {
    model: &'static str,
    mode: &'static str,
}

const WORKS: [Work; 4] = [
    Work { model: "exec::python3 model.py", mode: "dry-run" },
    Work { model: "exec::python3 model.py", mode: "yolo" },
    Work { model: "recipe::recipe.yml", mode: "dry-run" },
    Work { model: "recipe::recipe.yml", mode: "yolo" },
];

/// The repository that all machines clone.
fn origin() -> Sandbox {
    let many: Vec<(String, String)> =
        (0..40).map(|number| (format!("t{number}.txt"), "line\n".repeat(number))).collect();
    let model = model(CALLS);
    let mut files = vec![
        ("model.py", model.as_str()),
        ("recipe.yml", RECIPE),
        (".architect.yml", "evaluation: off\n"),
        ("a.txt", "zero\n"),
        ("log.txt", "first\n"),
        ("run.sh", "true\n"),
    ];
    files.extend(many.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    Sandbox::new(&files)
}

fn start(machine: &Sandbox, work: Work) -> Child {
    let out = machine.out();
    let args = ["run", "--task", "Do it", "--model", work.model, "--mode", work.mode, "--out"];
    start_with_key(machine, &[&args[..], &[out.to_str().unwrap()]].concat())
}

fn start_with_key(machine: &Sandbox, args: &[&str]) -> Child {
    let mut command = machine.command(args);
    command.current_dir(machine.repo()).env(KEY.0, KEY.1);
    sealed::start(command, machine)
}

/// Takes up a sealed session on a machine.
fn resume(machine: &Sandbox, sealed: &Path) -> Child {
    let (repo, out) = (machine.repo(), machine.out());
    let args =
        ["sessions", "resume", sealed.to_str().unwrap(), "--workspace", repo.to_str().unwrap(), "--out"];
    start_with_key(machine, &[&args[..], &[out.to_str().unwrap()]].concat())
}

/// What a run that succeeded has left, by name.
type Left = BTreeMap<String, String>;

fn left(machine: &Sandbox) -> Left {
    let read = |name: &str| {
        String::from_utf8_lossy(&fs::read(machine.out().join(name)).unwrap_or_default()).into_owned()
    };
    let json = |name: &str| serde_json::from_str::<Value>(&read(name)).unwrap_or_default();
    let status = json("report.json")["status"].clone();
    assert_eq!(status, "success", "{}", fs::read_to_string(machine.path().join("log")).unwrap_or_default());
    let plan = json("plan.json");
    let mut left: Left = machine
        .tree()
        .into_iter()
        .map(|(path, text)| (path, String::from_utf8_lossy(&text).into_owned()))
        .collect();
    left.insert("plan.patch".to_owned(), read("plan.patch"));
    for part in ["digest", "commands", "files"] {
        left.insert(format!("the plan's {part}"), plan[part].to_string());
    }
    left
}

/// Returns what differs, as it is and as it was expected.
fn differences(found: &Left, expected: &Left) -> Vec<(String, Option<String>, Option<String>)> {
    let names: BTreeSet<&String> = found.keys().chain(expected.keys()).collect();
    let of = |left: &Left, name: &String| left.get(name).cloned();
    let both = names.into_iter().map(|name| (name.clone(), of(found, name), of(expected, name)));
    both.filter(|(_, one, other)| one != other).collect()
}

fn undisturbed(origin: &Sandbox, work: Work) -> (Left, Duration) {
    let machine = Sandbox::clone_of(origin);
    let started = Instant::now();
    start(&machine, work).wait().unwrap();
    (left(&machine), started.elapsed())
}

/// Kills a run up to three times, each time going on elsewhere, and returns where it came to its end.
fn killed(origin: &Sandbox, work: Work, length: Duration, random: &mut fastrand::Rng) -> Sandbox {
    let mut here = Sandbox::clone_of(origin);
    let mut child = start(&here, work);
    for signal in signals(random) {
        if kill(&mut child, signal, length, random).success() {
            return here;
        }
        let there = Sandbox::clone_of(origin);
        let sealed = here.out().join("session.sealed");
        child = if sealed.exists() {
            // It may have any name.
            let taken = there.path().join("taken along");
            fs::copy(sealed, &taken).unwrap();
            resume(&there, &taken)
        } else {
            start(&there, work)
        };
        // The first machine is gone.
        here = there;
    }
    child.wait().unwrap();
    here
}

#[test]
fn killed_runs_end_on_another_machine_as_if_undisturbed() {
    let origin = origin();
    for work in WORKS {
        let (expected, length) = undisturbed(&origin, work);
        assert!(expected["plan.patch"].len() > 500, "{work:?}");
        // Half of the runs of a mode are a model's, half a recipe's.
        play(&format!("{work:?}"), runs() / 2, |random| {
            let machine = killed(&origin, work, length, random);
            let differing = differences(&left(&machine), &expected);
            let transcript = fs::read_to_string(machine.out().join("transcript.jsonl")).unwrap_or_default();
            assert!(differing.is_empty(), "{differing:#?}\n{transcript}");
        });
    }
}

/// A run that is killed once its session is sealed with three calls. Returns the machine.
fn interrupted(origin: &Sandbox, variables: &[(&str, &str)]) -> Sandbox {
    let machine = Sandbox::clone_of(origin);
    // It waits before the fourth answer.
    fs::write(machine.path().join("slow.py"), model_that_waits(CALLS, 3)).unwrap();
    let (out, model) = (machine.out(), format!("exec::python3 {}", machine.path().join("slow.py").display()));
    let args =
        ["run", "--task", "Do it", "--model", &model, "--mode", "dry-run", "--out", out.to_str().unwrap()];
    let mut command = machine.command(&args);
    command.current_dir(machine.repo()).env(KEY.0, KEY.1).envs(variables.iter().copied());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary runs");
    let written = |name: &str| fs::metadata(out.join(name)).and_then(|found| found.modified()).ok();
    let calls = || {
        fs::read_to_string(out.join("transcript.jsonl"))
            .unwrap_or_default()
            .matches("\"type\":\"call\"")
            .count()
    };
    let is_sealed = || calls() >= 3 && written("session.sealed") > written("transcript.jsonl");
    wait_while_running(&mut child, || format!("three sealed calls, there are {}", calls()), is_sealed);
    child.kill().unwrap();
    child.wait().unwrap();
    machine
}

fn try_resume(machine: &Sandbox, sealed: &Path, variables: &[(&str, &str)]) -> Run {
    let (repo, out) = (machine.repo(), machine.out());
    let args = [
        "sessions",
        "resume",
        sealed.to_str().unwrap(),
        "--workspace",
        repo.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
        "--model",
        "exec::python3 model.py",
    ];
    let output = machine.command(&args).current_dir(machine.path()).envs(variables.iter().copied()).output();
    Run::new(&output.expect("the binary runs"), out)
}

#[test]
fn sealed_session_opens_for_its_key_repository_and_commit_alone() {
    let origin = origin();
    let first = interrupted(&origin, &[("GITHUB_REPOSITORY", "Octo/Demo")]);
    let sealed = first.out().join("session.sealed");
    let bytes = fs::read(&sealed).unwrap();
    assert!(!String::from_utf8_lossy(&bytes).contains("deep/er"), "nothing of it can be read");
    let second = Sandbox::clone_of(&origin);
    let at = |name: &str, content: &[u8]| -> PathBuf {
        let folder = second.path().join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("session.sealed"), content).unwrap();
        folder
    };
    let whole = at("whole", &bytes);
    let mut changed = bytes.clone();
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    for (folder, variables, told) in [
        (&whole, vec![], "there is no key"),
        (&whole, vec![OTHER_KEY], "its seal is invalid"),
        (&whole, vec![(KEY.0, "secret")], "use 32 random bytes"),
        (
            &whole,
            vec![KEY, ("GITHUB_REPOSITORY", "octo/other")],
            "it belongs to the repository octo/demo, not to octo/other",
        ),
        (&at("changed", &changed), vec![KEY], "its seal is invalid"),
        (&at("cut", &bytes[..bytes.len() - 1]), vec![KEY], "its seal is invalid"),
        (&at("half", &bytes[..bytes.len() / 2]), vec![KEY], "its seal is invalid"),
        (&at("empty", b""), vec![KEY], "it was not sealed by a version"),
        (&at("foreign", b"architect-ci sealed 2\n{}\n"), vec![KEY], "it was not sealed by a version"),
    ] {
        let run = try_resume(&second, folder, &variables).expect_code(3);
        assert!(run.stderr.contains(told), "{told}: {}", run.stderr);
        assert!(!second.out().exists(), "{told}: nothing is unpacked");
    }
    // A commit that is not the session's.
    let third = Sandbox::clone_of(&origin);
    third.commit("something else");
    let run = try_resume(&third, &whole, &[KEY]).expect_code(3);
    assert!(run.stderr.contains("check out that commit to resume"), "{}", run.stderr);
    assert!(!third.out().exists(), "nothing is unpacked");
    // Nor is a folder of which nobody knows what it holds.
    let fourth = Sandbox::without_git(&[("a.txt", "zero\n")]);
    let run = try_resume(&fourth, &whole, &[KEY]).expect_code(3);
    assert!(run.stderr.contains("the checkout is at no commit"), "{}", run.stderr);
    assert!(!fourth.out().exists(), "nothing is unpacked");
    // And as it is, with the log of what it had planned.
    let run = try_resume(&second, &whole, &[KEY]).expect_code(0);
    assert_eq!(run.report()["calls"].as_array().unwrap().len(), 8, "no call is made twice");
    let (expected, _) = undisturbed(&origin, WORKS[0]);
    assert_eq!(run.file("plan.patch"), expected["plan.patch"]);
    assert!(!run.out.join("session.sealed").exists(), "what is done is not sealed");
    let out = second.out();
    let again = second.command(&["sessions", "resume", out.to_str().unwrap()]).output().unwrap();
    let again = Run::new(&again, out).expect_code(3);
    assert!(again.stderr.contains("succeeded"), "{}", again.stderr);
}

#[test]
fn resumed_run_tells_its_own_edits_from_those_of_others() {
    let origin = origin();
    let here = Sandbox::clone_of(&origin);
    let work = Work { mode: "yolo", ..WORKS[0] };
    fs::write(here.path().join("slow.py"), model_that_waits(CALLS, 4)).unwrap();
    let slow = format!("exec::python3 {}", here.path().join("slow.py").display());
    let mut child = start(&here, Work { model: Box::leak(slow.into_boxed_str()), ..work });
    let transcript = || fs::read_to_string(here.out().join("transcript.jsonl")).unwrap_or_default();
    let is_called = || transcript().matches("\"type\":\"call\"").count() >= 4;
    wait_until_or(|| format!("four calls: {}", transcript()), is_called);
    child.kill().unwrap();
    child.wait().unwrap();
    // Somebody takes back a file of the run, edits another, and one that is not of the run.
    here.write("t5.txt", "somebody else's\n");
    here.write("deep/er/b.txt", "somebody else's\n");
    fs::write(here.repo().join("a.txt"), "zero\n").unwrap();
    let out = here.out();
    let args = ["sessions", "resume", out.to_str().unwrap(), "--model", "exec::python3 model.py"];
    let output = here.command(&args).output().unwrap();
    let run = Run::new(&output, out).expect_code(0);
    let report = run.report();
    let files: Vec<&str> =
        report["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert!(!files.contains(&"t5.txt"), "{files:?}");
    assert_eq!(here.read("t5.txt"), "somebody else's\n");
    assert!(
        run.stderr
            .contains("changed by somebody else since the interruption, so left as they are: deep/er/b.txt"),
        "{}",
        run.stderr
    );
    let (expected, _) = undisturbed(&origin, work);
    assert_eq!(
        here.read("a.txt"),
        expected["a.txt"],
        "the run's own file is as it was left, and went on from there"
    );
    assert_eq!(here.read("log.txt"), expected["log.txt"]);
}

#[test]
fn sealed_session_goes_on_in_a_folder_that_nobody_could_prepare() {
    let origin = origin();
    let first = interrupted(&origin, &[]);
    let id: Value = serde_json::from_slice(&fs::read(first.out().join("session.json")).unwrap()).unwrap();
    let second = Sandbox::clone_of(&origin);
    let victim = second.path().join("victim");
    fs::create_dir(&victim).unwrap();
    let name = format!("architect-ci-{}", id["id"].as_str().unwrap());
    std::os::unix::fs::symlink(&victim, second.path().join(name)).unwrap();
    let (sealed, repo) = (first.out(), second.repo());
    let args = ["sessions", "resume", sealed.to_str().unwrap(), "--model", "exec::python3 model.py"];
    let mut command = second.command(&[&args[..], &["--workspace", repo.to_str().unwrap()]].concat());
    let output = command.env(KEY.0, KEY.1).output().unwrap();
    Run::new(&output, second.out()).expect_code(0);
    assert_eq!(fs::read_dir(&victim).unwrap().count(), 0);
    // At home it needs no key; what was sealed is not left behind when nothing is left to do.
    let out = first.out();
    let args = ["sessions", "resume", out.to_str().unwrap(), "--model", "exec::python3 model.py"];
    Run::new(&first.command(&args).output().unwrap(), out.clone()).expect_code(0);
    assert!(!out.join("session.sealed").exists());
}
