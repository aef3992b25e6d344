//! Batches that lose their machine, and go on elsewhere from their sealed journal: in the artifact, or on a branch.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::github::GitHub;
use crate::support::sealed::{KEY, OTHER_KEY, batch, copy, plans, start, take_along};
use crate::support::wait::{wait_until_or, wait_while_running};
use crate::support::{Run, Sandbox, git};

const BATCH: &str = r#"
name: nightly
jobs: 2
defaults: { mode: dry-run }
tasks:
  - id: "edit {file_stem}"
    recipe: recipe.yml
    folder: "{file_dir}"
    for_each: { file: { files: ["p*/a.txt"] } }
"#;

const RECIPE: &str = r#"
steps:
  - files: ["a.txt"]
    do:
      - replace: { pattern: "line", with: "line line" }
"#;

/// A repository with so many tasks.
fn origin(tasks: usize) -> Sandbox {
    let files: Vec<(String, String)> =
        (0..tasks).map(|number| (format!("p{number}/a.txt"), format!("line {number}\n"))).collect();
    let mut all = vec![("nightly.yml", BATCH), ("recipe.yml", RECIPE)];
    all.extend(files.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    Sandbox::new(&all)
}

fn command(machine: &Sandbox, more: &[&str], variables: &[(String, String)]) -> Command {
    let mut command = batch(machine, more);
    command.envs(variables.iter().cloned());
    command
}

fn finish(mut command: Command, machine: &Sandbox) -> Run {
    Run::new(&command.output().expect("the binary runs"), machine.out())
}

/// Starts a batch and kills it as soon as it is time.
fn killed(machine: &Sandbox, command: Command, is_time: impl Fn() -> bool) {
    let log = machine.path().join("log");
    let mut child = start(command, machine);
    let log = || format!("it is time to kill the batch: {}", fs::read_to_string(&log).unwrap());
    wait_while_running(&mut child, log, is_time);
    child.kill().unwrap();
    child.wait().unwrap();
}

fn segments(folder: &Path) -> usize {
    // Those that are still being written have other names.
    let is_whole = |entry: &fs::DirEntry| entry.path().extension().is_some_and(|end| end == "sealed");
    fs::read_dir(folder.join("sealed")).map_or(0, |entries| entries.flatten().filter(is_whole).count())
}

fn transcripts(out: &Path) -> BTreeMap<String, Vec<u8>> {
    let tasks = fs::read_dir(out.join("tasks")).into_iter().flatten().flatten();
    let read = |task: fs::DirEntry| {
        let text = fs::read(task.path().join("transcript.jsonl")).ok()?;
        Some((task.file_name().to_string_lossy().into_owned(), text))
    };
    tasks.filter_map(read).collect()
}

#[test]
fn sealed_batch_goes_on_from_its_artifact() {
    let origin = origin(60);
    let undisturbed = Sandbox::clone_of(&origin);
    let expected = plans(&finish(command(&undisturbed, &[], &[]), &undisturbed).expect_code(0));
    assert_eq!(expected.len(), 60);
    let first = Sandbox::clone_of(&origin);
    // The first one holds the list of tasks alone.
    killed(&first, command(&first, &[], &[]), || segments(&first.out()) > 1);
    // All that an artifact takes along, and none of the first machine's seals.
    let second = Sandbox::clone_of(&origin);
    take_along(&first, &second);
    // Not with another key, nor changed.
    let mut other = command(&second, &["--resume"], &[]);
    let refused = finish(
        {
            other.env(OTHER_KEY.0, OTHER_KEY.1);
            other
        },
        &second,
    )
    .expect_code(3);
    assert!(refused.stderr.contains("its seal is invalid"), "{}", refused.stderr);
    let segment = second.out().join("sealed/00001.sealed");
    let whole = fs::read(&segment).unwrap();
    fs::write(&segment, &whole[..whole.len() - 1]).unwrap();
    let refused = finish(command(&second, &["--resume"], &[]), &second).expect_code(3);
    assert!(refused.stderr.contains("its seal is invalid"), "{}", refused.stderr);
    fs::write(&segment, whole).unwrap();
    let run = finish(command(&second, &["--resume"], &[]), &second).expect_code(0);
    assert_eq!(plans(&run), expected);
    // What was sealed was not done again.
    let (before, after) = (transcripts(&first.out()), transcripts(&second.out()));
    let same = before.iter().filter(|(id, text)| after.get(*id) == Some(text)).count();
    assert!(same >= 1 && after.len() == 60, "{same} of {}", before.len());
}

#[test]
fn sealed_batch_of_a_machine_that_ended_no_task_goes_on_twice() {
    let origin = origin(6);
    let [first, second, third] = [(); 3].map(|()| Sandbox::clone_of(&origin));
    let expected = plans(&finish(command(&first, &[], &[]), &first).expect_code(0));
    let take = |from: &Sandbox, names: &[&str], to: &Sandbox| {
        fs::create_dir_all(to.out().join("sealed")).unwrap();
        for name in names {
            fs::copy(from.out().join("sealed").join(name), to.out().join("sealed").join(name)).unwrap();
        }
    };
    // Before a task ends, the list of tasks alone is sealed.
    take(&first, &["00001.sealed"], &second);
    finish(command(&second, &["--resume"], &[]), &second).expect_code(0);
    let sealed: Vec<String> = fs::read_dir(second.out().join("sealed"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    take(&second, &sealed.iter().map(String::as_str).collect::<Vec<_>>(), &third);
    let run = finish(command(&third, &["--resume"], &[]), &third).expect_code(0);
    assert_eq!(plans(&run), expected);
    assert_eq!(transcripts(&third.out()), transcripts(&second.out()), "nothing is done again");
}

#[tokio::test(flavor = "multi_thread")]
async fn sealed_batch_goes_on_from_a_branch_when_its_machine_is_lost() {
    let github = GitHub::start().await;
    let origin = origin(100);
    github.serve(&origin.repo());
    let variables = github.variables();
    let requests = |github: &GitHub| github.count("POST /repos/octo/demo/git/commits");
    tokio::task::spawn_blocking(move || {
        let args = ["--journal", "branch", "--resume", "--deliver", "none"];
        let first = Sandbox::clone_of(&origin);
        // The first commit, which makes the branch, holds the list of tasks alone.
        let moved = || github.count("PATCH /repos/octo/demo/git/refs");
        killed(&first, command(&first, &args, &variables), || moved() > 0);
        assert!(requests(&github) >= 1);
        let second = Sandbox::clone_of(&origin);
        let run = finish(command(&second, &args, &variables), &second).expect_code(0);
        assert_eq!(plans(&run).len(), 100);
        let (before, after) = (transcripts(&first.out()), transcripts(&second.out()));
        let same = before.iter().filter(|(id, text)| after.get(*id) == Some(text)).count();
        assert!(same >= 15, "the first machine's tasks are not done again: {same} of {}", before.len());
        let server = github.world().repository.as_ref().unwrap().path();
        let listed = git(&server, &["ls-tree", "-r", "--name-only", "architect-ci-records"]);
        assert!(listed.lines().all(|path| path.starts_with("batches/4711/")), "{listed}");
        // A commit for some tasks, not for each.
        assert!(requests(&github) <= 10, "{}", requests(&github));
        // And not without a key.
        let mut keyless = command(&second, &args, &variables);
        let refused = finish(
            {
                keyless.env_remove(KEY.0);
                keyless
            },
            &second,
        )
        .expect_code(3);
        assert!(refused.stderr.contains("set `ARCHITECT_CI_SEAL_KEY`"), "{}", refused.stderr);
    })
    .await
    .expect("no panic");
}

#[test]
fn sealed_batch_goes_on_when_nothing_can_be_sealed() {
    let origin = origin(60);
    let machine = Sandbox::clone_of(&origin);
    let (out, log) = (machine.out(), machine.path().join("log"));
    let mut command = command(&machine, &[], &[]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(fs::File::create(&log).unwrap())
        .spawn()
        .expect("the binary runs");
    let read = || fs::read_to_string(&log).unwrap();
    wait_until_or(|| format!("a segment: {}", read()), || segments(&out) > 0);
    // No folder, so no segments.
    fs::rename(out.join("sealed"), machine.path().join("aside")).unwrap();
    fs::write(out.join("sealed"), "").unwrap();
    wait_until_or(|| format!("its end: {}", read()), || child.try_wait().unwrap().is_some());
    let log = read();
    assert!(child.wait().unwrap().success(), "{log}");
    assert!(log.contains("the journal could not be kept"), "{log}");
}

#[test]
fn sealed_batch_replaces_only_what_is_of_a_batch() {
    let origin = origin(3);
    let first = Sandbox::clone_of(&origin);
    finish(command(&first, &[], &[]), &first).expect_code(0);
    let copied = |names: &[&str]| {
        let other = Sandbox::clone_of(&origin);
        for name in names {
            copy(&first.out().join(name), &other.out());
        }
        other
    };
    // A project's files of the same names.
    for (name, args) in [
        ("tasks/notes.txt", &["--resume"][..]),
        ("manifest.json", &["--resume"]),
        ("sealed/notes.txt", &["--resume"]),
        ("sealed/notes.txt", &[]),
    ] {
        let second = copied(&["sealed"]);
        let path = second.out().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "[]").unwrap();
        let refused = finish(command(&second, args, &[]), &second).expect_code(3);
        assert!(refused.stderr.contains("does not belong to a batch"), "{name}: {}", refused.stderr);
        assert_eq!(fs::read_to_string(&path).unwrap(), "[]", "{name}");
    }
    // Whole copies can be delivered from, and gone on with.
    for resume in [false, true] {
        let second = copied(&["sealed", "tasks", "manifest.json", "journal.jsonl"]);
        let (repo, out) = (second.repo(), second.out());
        let run = if resume {
            finish(command(&second, &["--resume"], &[]), &second)
        } else {
            let args =
                ["batch", "deliver", "--workspace", repo.to_str().unwrap(), "--out", out.to_str().unwrap()];
            let mut deliver = second.command(&args);
            deliver.current_dir(&repo).env(KEY.0, KEY.1);
            finish(deliver, &second)
        };
        assert_eq!(plans(&run.expect_code(0)).len(), 3);
        assert_eq!(transcripts(&second.out()), transcripts(&first.out()), "nothing is done again");
        // What was sealed meanwhile is still of the batch.
        let third = Sandbox::clone_of(&origin);
        take_along(&second, &third);
        let run = finish(command(&third, &["--resume"], &[]), &third).expect_code(0);
        assert_eq!(plans(&run).len(), 3);
        assert_eq!(transcripts(&third.out()), transcripts(&first.out()), "nothing is done again");
    }
}

#[test]
fn sealed_batch_goes_on_from_copy_in_which_a_task_was_under_way() {
    let origin = origin(3);
    let first = Sandbox::clone_of(&origin);
    finish(command(&first, &[], &[]), &first).expect_code(0);
    let second = Sandbox::clone_of(&origin);
    for name in ["sealed", "tasks", "manifest.json", "journal.jsonl"] {
        copy(&first.out().join(name), &second.out());
    }
    // The last segment knows nothing of a task that began after it.
    let journal = second.out().join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, format!("{text}\n{{\"type\":\"begun\",\"id\":\"later\",\"attempt\":1}}")).unwrap();
    for folder in [".worktrees/later", "tasks/later"] {
        fs::create_dir_all(second.out().join(folder)).unwrap();
    }
    let run = finish(command(&second, &["--resume"], &[]), &second).expect_code(0);
    assert_eq!(plans(&run).len(), 3);
    assert!(!second.out().join(".worktrees").exists());
    // What nobody has begun stays refused.
    let third = Sandbox::clone_of(&origin);
    take_along(&first, &third);
    fs::create_dir_all(third.out().join(".worktrees/notes")).unwrap();
    let refused = finish(command(&third, &["--resume"], &[]), &third).expect_code(3);
    assert!(refused.stderr.contains("does not belong to a batch"), "{}", refused.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn sealed_batch_takes_up_the_newest_journal_of_a_branch_and_what_it_lacks() {
    let github = GitHub::start().await;
    let origin = origin(3);
    github.serve(&origin.repo());
    let variables = github.variables();
    tokio::task::spawn_blocking(move || {
        let start = |machine: &Sandbox, more: &[&str]| {
            let args = [&["--journal", "branch", "--deliver", "none"], more].concat();
            finish(command(machine, &args, &variables), machine).expect_code(0)
        };
        let monday = Sandbox::clone_of(&origin);
        start(&monday, &[]);
        origin.write("p0/a.txt", "line of wednesday\n");
        origin.commit("wednesday");
        let wednesday = Sandbox::clone_of(&origin);
        let expected = plans(&start(&wednesday, &[]));
        assert_ne!(expected, plans(&Run::new(&Command::new("true").output().unwrap(), monday.out())));
        let other = Sandbox::clone_of(&origin);
        assert_eq!(plans(&start(&other, &["--resume"])), expected);
        assert_eq!(transcripts(&other.out()), transcripts(&wednesday.out()), "nothing is done again");
        // GitHub has lost the last commits, which an artifact still has.
        let server = github.world().repository.as_ref().unwrap().path().clone();
        let listed =
            || git(&server, &["ls-tree", "-r", "--name-only", "architect-ci-records"]).lines().count();
        let all = listed();
        git(&server, &["update-ref", "refs/heads/architect-ci-records", "architect-ci-records~1"]);
        assert_eq!(listed(), all - 1);
        let last = Sandbox::clone_of(&origin);
        take_along(&wednesday, &last);
        assert_eq!(plans(&start(&last, &["--resume"])), expected);
        assert_eq!(listed(), all, "the branch has all of it again");
    })
    .await
    .expect("no panic");
}
