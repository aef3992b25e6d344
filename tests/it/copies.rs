//! Commands on a copy of the checkout, where nothing can be mounted.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::isolation::{CONFIG, NO_NAMESPACES};
use crate::support::{Run, Sandbox, command};

/// Starts a program without the capabilities by which root reads every file.
const ORDINARY: &str = "exec setpriv --bounding-set=-dac_override,-dac_read_search -- \"$@\"";

/// Runs a session on a workspace, where no namespace can be made.
fn on_a_copy(sandbox: &Sandbox, workspace: &Path, turns: &[Vec<(&str, Value)>]) -> Run {
    let run = without_namespaces(sandbox, workspace, turns, &[]);
    assert!(run.stderr.contains("commands run on a copy"), "{}\n{}", run.stderr, run.stdout);
    run
}

/// Runs a session where no namespace can be made, as a user who cannot read every file.
pub fn without_namespaces(
    sandbox: &Sandbox,
    workspace: &Path,
    turns: &[Vec<(&str, Value)>],
    more: &[&str],
) -> Run {
    without_namespaces_having(sandbox, workspace, turns, more, &[])
}

/// The same with more variables.
pub fn without_namespaces_having(
    sandbox: &Sandbox,
    workspace: &Path,
    turns: &[Vec<(&str, Value)>],
    more: &[&str],
    variables: &[(&str, &Path)],
) -> Run {
    without_namespaces_beside("true", sandbox, workspace, turns, more, variables)
}

/// The same after a shell has made what others have on the machine.
pub fn without_namespaces_beside(
    others: &str,
    sandbox: &Sandbox,
    workspace: &Path,
    turns: &[Vec<(&str, Value)>],
    more: &[&str],
    variables: &[(&str, &Path)],
) -> Run {
    let model = sandbox.script(turns, "done");
    let out = sandbox.out();
    let (workspace, to) = (workspace.to_str().unwrap(), out.to_str().unwrap());
    let mut args = vec!["run", "--task", "x", "--model", &model, "--workspace", workspace, "--out", to];
    args.extend(more);
    let inner = sandbox.command(&args);
    let home = sandbox.path().join("me");
    fs::create_dir_all(&home).unwrap();
    let mut outer = Command::new("unshare");
    // Other tests leave files in the shared memory of the machine, which then is nobody's.
    let prepare = format!("mount -t tmpfs tmpfs /dev/shm && {others} && {NO_NAMESPACES}");
    outer
        .args([
            "--user",
            "--map-root-user",
            "--mount",
            "--ipc",
            "sh",
            "-c",
            &prepare,
            "sh",
            "sh",
            "-c",
            ORDINARY,
            "sh",
        ])
        .arg(inner.get_program())
        .args(inner.get_args())
        .envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(sandbox.path())
        .env("CI", "true")
        .env("HOME", home)
        .envs(variables.iter().copied())
        .env("TMPDIR", sandbox.path())
        .stdin(Stdio::null());
    Run::new(&outer.output().expect("the binary runs"), out)
}

fn planned(run: &Run) -> Vec<String> {
    let plan = run.json("plan.json");
    let files = plan["files"].as_array().unwrap().iter();
    files.map(|file| file["path"].as_str().unwrap().to_owned()).collect()
}

/// Takes the rights from files and folders, and gives them back for the removal.
struct Closed(Vec<PathBuf>);

impl Closed {
    fn new(repo: &Path, names: &[&str]) -> Self {
        let closed = Self(names.iter().map(|name| repo.join(name)).collect());
        closed.set(0o000);
        closed
    }

    fn set(&self, mode: u32) {
        for path in &self.0 {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    }
}

impl Drop for Closed {
    fn drop(&mut self) {
        self.set(0o700);
    }
}

#[test]
fn what_cannot_be_read_is_not_there_and_not_lost() {
    let files = [
        (".architect.yml", CONFIG),
        ("a.txt", "one\n"),
        ("closed.txt", "closed\n"),
        ("shut/inner.txt", "inner\n"),
        ("deep/shut/inner.txt", "inner\n"),
    ];
    let sandbox = Sandbox::new(&files);
    let closed = Closed::new(&sandbox.repo(), &["closed.txt", "shut", "deep/shut"]);
    let turns = [
        vec![command("bash -c 'ls; cat closed.txt; echo two > a.txt'")],
        vec![command("bash -c 'echo new > closed.txt; echo three > a.txt'")],
        vec![command("bash -c 'mkdir -p shut; echo new > shut/other.txt'")],
        vec![command("bash -c 'rm -rf deep; echo file > deep'")],
        vec![command("bash -c 'cat a.txt; echo four >> a.txt'")],
    ];
    let run = on_a_copy(&sandbox, &sandbox.repo(), &turns);
    let results = run.results();
    assert!(
        run.stderr.contains("3 of the files and folders of the checkout cannot be read"),
        "{}",
        run.stderr
    );
    assert!(results[0].contains("cat: closed.txt: No such file"), "{}", results[0]);
    for result in &results[1..4] {
        assert!(result.contains("could not read what the command changed"), "{result}");
    }
    assert!(results[4].contains("\ntwo\n"), "the first change was kept, the second not: {}", results[4]);
    assert_eq!(planned(&run), ["a.txt"]);
    drop(closed);
    assert_eq!(sandbox.read("closed.txt"), "closed\n");
    assert_eq!(sandbox.read("deep/shut/inner.txt"), "inner\n");
}

#[test]
fn a_checkout_deeper_than_any_path_is_copied_whole() {
    let sandbox = Sandbox::new(&[(".architect.yml", CONFIG), ("a.txt", "one\n")]);
    let name = "d".repeat(200);
    let deepen =
        format!("for i in $(seq 40); do mkdir {name} && cd {name} || exit 1; done; echo needle > needle.txt");
    let made = Command::new("bash").args(["-c", &deepen]).current_dir(sandbox.repo()).status().unwrap();
    assert!(made.success());
    let find = "bash -c 'find . -name needle.txt -execdir cat {} +; echo two > a.txt'";
    let run = on_a_copy(&sandbox, &sandbox.repo(), &[vec![command(find)]]);
    let result = run.results().remove(0);
    assert!(result.contains("\nneedle\n"), "{result}");
    assert_eq!(planned(&run), ["a.txt"]);
    let left = fs::read_dir(sandbox.path()).unwrap().flatten().map(|entry| entry.file_name());
    assert!(!left.into_iter().any(|name| name.to_string_lossy().contains("isolated")), "the copy is removed");
}

#[test]
fn what_outlives_a_command_is_refused() {
    let config = "commands: { dev_commands: [bash], safe_commands: [bash look.sh] }\ndry_run: { commands: isolated }\n";
    let script = r#"import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def tell(name, result):
    print(name, "done" if result >= 0 else os.strerror(ctypes.get_errno()))
tell("queue", libc.mq_open(b"/architect-ci-test", os.O_CREAT | os.O_RDWR, 0o600, None))
if os.environ.get("LOOK"):
    tell("memory", libc.shmget(0, 4096, 0o1600))
    tell("semaphores", libc.semget(0, 1, 0o1600))
    tell("messages", libc.msgget(0, 0o1600))
    tell("attaching", libc.shmat(0, None, 0))
    tell("changing", libc.semctl(0, 0, 16, 1))
    file = os.open("a.txt", os.O_RDONLY)
    tell("flags", libc.ioctl(file, 0x40086602, ctypes.byref(ctypes.c_long(0))))
    tell("attributes", libc.syscall(469, file, b"", None, 0, 0x1000))
else:
    import multiprocessing
    with multiprocessing.Lock():
        print("lock held")
"#;
    let files = [
        (".architect.yml", config),
        ("a.txt", "one\n"),
        ("probe.py", script),
        ("look.sh", "LOOK=1 python3 probe.py\n"),
    ];
    let sandbox = Sandbox::new(&files);
    let turns = [vec![command("bash look.sh"), command("bash -c 'python3 probe.py'")]];
    let run = on_a_copy(&sandbox, &sandbox.repo(), &turns);
    let results = run.results();
    for name in ["queue", "memory", "semaphores", "messages", "attaching", "changing", "flags", "attributes"]
    {
        assert!(results[0].contains(&format!("\n{name} Operation not permitted")), "{name}: {}", results[0]);
    }
    assert!(results[1].contains("\nqueue Operation not permitted\nlock held"), "{}", results[1]);
}

#[test]
fn git_and_what_is_beside_are_found_in_a_subfolder_of_a_repository() {
    let config = format!(
        "{CONFIG}guardrails:\n  sensitive_files: ['.env*']\n  quality_gates:\n    - {{ name: log, command: git log --format=%s && git stash list }}\n"
    );
    let files = [
        ("app/.architect.yml", config.as_str()),
        ("app/a.txt", "one\n"),
        ("shared.txt", "shared\n"),
        (
            "app/run.sh",
            "git status --short; git log --format=%s; cat ../shared.txt; ls -A ..; echo two > a.txt; git diff --stat; echo x > ../shared.txt; git stash; git stash list",
        ),
        (".env", "SECRET=x\n"),
    ];
    let sandbox = Sandbox::without_git(&files);
    sandbox.git(&["init", "--quiet", "--initial-branch=main"]);
    fs::rename(sandbox.repo().join(".env"), sandbox.path().join("env")).unwrap();
    sandbox.commit("before");
    fs::rename(sandbox.path().join("env"), sandbox.repo().join(".env")).unwrap();
    let turns = [vec![command("bash run.sh")], vec![command("bash -c 'git stash pop; cat a.txt'")]];
    let run = on_a_copy(&sandbox, &sandbox.repo().join("app"), &turns);
    let results = run.results();
    assert!(results[0].contains("\nbefore\nshared\n"), "{}", results[0]);
    assert!(results[0].contains("a.txt | 2 +-"), "{}", results[0]);
    assert!(!results[0].contains(" D ") && !results[0].contains(".env"), "{}", results[0]);
    assert!(results[0].contains("Permission denied") && results[0].contains("stash@{0}"), "{}", results[0]);
    assert!(results[1].contains("\ntwo"), "the agent's stash is found by its next command: {}", results[1]);
    let gate = run.report()["gates"][0]["output"].as_str().unwrap().to_owned();
    assert_eq!(gate.trim(), "before", "a gate sees Git's own folder as it is in the checkout");
    assert_eq!(sandbox.read("shared.txt"), "shared\n");
    assert_eq!(sandbox.git(&["stash", "list"]), "");
    assert_eq!(planned(&run), ["a.txt"]);
}

#[test]
fn what_is_left_on_the_machine_goes_and_a_home_folder_is_there() {
    let sandbox = Sandbox::new(&[(".architect.yml", CONFIG)]);
    let home = sandbox.path().join("me");
    for folder in [".cache/tool", ".rustup", "mine"] {
        fs::create_dir_all(home.join(folder)).unwrap();
    }
    fs::write(home.join(".rustup/settings.toml"), "toolchain\n").unwrap();
    fs::set_permissions(&home, fs::Permissions::from_mode(0o750)).unwrap();
    let real = home.to_str().unwrap();
    let lines = [
        "mkdir -p ~/.config/x && echo y > ~/.config/x/z && cat ~/.config/x/z".to_owned(),
        "cat ~/.rustup/settings.toml; echo x > ~/.rustup/new; ls ~/mine".to_owned(),
        "echo x > ~/.cache/tool/new && mkdir ~/.cache/shut && echo x > ~/.cache/shut/new && chmod 000 ~/.cache/shut && echo cached".to_owned(),
        format!("chmod 777 {real}; echo changed"),
        "ipcmk -M 64".to_owned(),
        "ipcmk -S 1".to_owned(),
    ];
    let turns: Vec<_> = lines.iter().map(|line| vec![command(&format!("bash -c '{line}'"))]).collect();
    let run = on_a_copy(&sandbox, &sandbox.repo(), &turns);
    let results = run.results();
    assert!(results[0].contains("\ny"), "{}", results[0]);
    assert!(results[1].contains("\ntoolchain\n"), "{}", results[1]);
    assert!(
        results[1].contains("new: Permission denied") && results[1].contains("No such file"),
        "{}",
        results[1]
    );
    assert!(results[2].contains("\ncached"), "{}", results[2]);
    assert!(!home.join(".config").exists(), "the real home folder stays as it was");
    assert!(!home.join(".cache/tool/new").exists(), "the caches are the command's own");
    assert!(!home.join(".cache/shut").exists(), "folders as well");
    assert_eq!(fs::metadata(&home).unwrap().permissions().mode() & 0o777, 0o750, "{}", results[3]);
    let memory = results[4].lines().find_map(|line| line.strip_prefix("Shared memory id: "));
    assert!(memory.is_some(), "it was created: {}", results[4]);
    assert!(results[5].contains("Semaphore id: "), "what is there is the agent's own: {}", results[5]);
    assert!(run.stderr.contains("may have left 2 System V objects"), "{}", run.stderr);
}

/// A command names files of the checkout itself by their own paths, where the kernel has no rule for modes.
#[test]
fn modes_that_a_command_changes_past_its_copy_are_put_back_and_told() {
    let sandbox = Sandbox::new(&[
        (".architect.yml", CONFIG),
        (".gitignore", "build/\n"),
        ("a.txt", "one\n"),
        ("run.sh", "echo run\n"),
    ]);
    for (path, mode) in [("build/out", 0o600), ("own.sh", 0o644)] {
        sandbox.write(path, "x\n");
        fs::set_permissions(sandbox.repo().join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    let repo = sandbox.repo().display().to_string();
    let script = format!(
        "chmod 777 {repo}/a.txt {repo}/build/out {repo}/run.sh; chmod 700 {repo}/build; chmod +x own.sh; echo 2 >> a.txt"
    );
    sandbox.write("modes.sh", script);
    sandbox.commit("all");
    let mode = |path: &str| fs::metadata(sandbox.repo().join(path)).unwrap().permissions().mode() & 0o777;
    let paths = ["a.txt", "build/out", "run.sh", "build"];
    let before = paths.map(mode);
    let turns = [vec![command("bash modes.sh")]];
    let run = without_namespaces(&sandbox, &sandbox.repo(), &turns, &["--mode", "yolo"]).expect_code(0);
    assert!(run.stderr.contains("commands run on a copy"), "{}", run.stderr);
    assert_eq!(paths.map(mode), before, "{}", run.stderr);
    assert_eq!(mode("own.sh"), 0o755, "what the command does to its own state is carried over");
    assert_eq!(fs::read_to_string(sandbox.repo().join("a.txt")).unwrap(), "one\n2\n");
    let told = run.report()["notices"].to_string();
    for path in ["build/out", "run.sh"] {
        assert!(
            told.contains(&format!("changed the mode of {repo}/{path} in the checkout itself, bypassing")),
            "{path}: {told}"
        );
    }
}

/// What still runs may write at any time, so nothing of it can be believed.
#[test]
fn command_whose_processes_cannot_be_ended_changes_nothing() {
    // Without a sandbox, a command reaches the supervisor that is to end it.
    let stop = "echo x > made.txt; p=$$\nuntil grep -q __supervise /proc/$p/cmdline; do\n\
                read -r _ _ _ p _ < /proc/$p/stat; [ $p -gt 1 ] || exit 3\ndone\nkill -STOP $p; exec sleep 600\n";
    let config = "commands: { sandbox: off, dev_commands: [bash] }\n";
    let sandbox = Sandbox::new(&[(".architect.yml", config), ("stop.sh", stop)]);
    let stopping = ("run_command", json!({"command": "bash stop.sh", "timeout": 1}));
    let turns = [vec![stopping], vec![command("ls")]];
    let run = without_namespaces(&sandbox, &sandbox.repo(), &turns, &["--mode", "yolo"]);
    let results = run.results();
    assert!(
        results[0].contains("processes of the command could not be stopped"),
        "{}\n{}",
        results[0],
        run.stderr
    );
    assert!(!sandbox.repo().join("made.txt").exists(), "{}", results[0]);
    assert!(results[1].contains("stop.sh") && !results[1].contains("made.txt"), "{}", results[1]);
}
