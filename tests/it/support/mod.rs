//! Support shared by the integration tests: throw-away repositories, the real binary, loopback servers.

pub mod github;
pub mod kills;
pub mod limited_server;
pub mod model;
#[cfg(target_os = "linux")]
pub mod processes;
pub mod program;
pub mod scene;
pub mod sealed;
pub mod tools;
pub mod wait;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder with a repository, an output folder, and nothing of this machine's environment.
pub struct Sandbox {
    dir: TempDir,
}

/// A finished run of the binary.
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    pub out: PathBuf,
}

impl Sandbox {
    /// A repository with one commit that holds `files`.
    pub fn new(files: &[(&str, &str)]) -> Self {
        Self::new_in(&std::env::temp_dir(), files)
    }

    pub fn without_git(files: &[(&str, &str)]) -> Self {
        let sandbox = Self { dir: tempfile::tempdir().expect("a temporary folder") };
        sandbox.write_all(files);
        sandbox
    }

    /// The same in a folder of one's own choice.
    pub fn new_in(folder: &Path, files: &[(&str, &str)]) -> Self {
        let sandbox = Self { dir: tempfile::tempdir_in(folder).expect("a temporary folder") };
        sandbox.write_all(files);
        sandbox.git(&["init", "--quiet", "--initial-branch=main"]);
        sandbox.commit("before");
        sandbox
    }

    /// Another machine with a clone of a repository.
    pub fn clone_of(origin: &Self) -> Self {
        let machine = Self { dir: tempfile::tempdir().expect("a temporary folder") };
        let (from, to) = (origin.repo(), machine.repo());
        git(machine.path(), &["clone", "--quiet", from.to_str().unwrap(), to.to_str().unwrap()]);
        machine
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A configuration that lets children write outside of the checkout, where a test looks for what they did.
    pub fn opened(&self) -> String {
        format!("commands: {{ writable_paths: ['{}'] }}\n", self.path().display())
    }

    pub fn repo(&self) -> PathBuf {
        self.dir.path().join("repo")
    }

    pub fn out(&self) -> PathBuf {
        self.dir.path().join("out")
    }

    fn write_all(&self, files: &[(&str, &str)]) {
        fs::create_dir_all(self.repo()).expect("a folder");
        for (path, content) in files {
            self.write(path, content);
        }
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let full = self.repo().join(path);
        fs::create_dir_all(full.parent().expect("a folder")).expect("a folder");
        fs::write(full, content).expect("a file");
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.repo().join(path)).expect("a text file")
    }

    pub fn git(&self, args: &[&str]) -> String {
        git(&self.repo(), args)
    }

    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// A transcript whose replies make these calls, turn by turn, and end with `last`.
    pub fn script(&self, turns: &[Vec<(&str, Value)>], last: &str) -> String {
        let mut lines = String::new();
        let mut count = 0;
        for (index, calls) in turns.iter().enumerate() {
            let calls: Vec<Value> = calls
                .iter()
                .map(|(name, arguments)| {
                    count += 1;
                    json!({"id": format!("call_{count}"), "name": name, "arguments": arguments})
                })
                .collect();
            let reply = json!({"type": "reply", "agent": "build", "step": index + 1, "calls": calls});
            lines += &format!("{reply}\n");
        }
        let reply = json!({"type": "reply", "agent": "build", "step": turns.len() + 1, "text": last});
        lines += &format!("{reply}\n");
        let path = self.path().join("script.jsonl");
        fs::write(&path, lines).expect("a script");
        format!("replay::{}", path.display())
    }

    /// The binary, with a clean environment.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program::program());
        command.args(args).current_dir(self.path()).env_clear();
        for name in ["PATH", "HOME", "LLVM_PROFILE_FILE"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.env("XDG_STATE_HOME", self.path().join("state"));
        command.env("CI", "true").env("TMPDIR", self.path()).stdin(std::process::Stdio::null());
        command
    }

    /// The command `run` on the repository with a task, plus these arguments.
    pub fn run_command(&self, args: &[&str]) -> Command {
        let (repo, out) = (self.repo(), self.out());
        let mut all = vec!["run", "--out", out.to_str().unwrap()];
        if !args.contains(&"--workspace") {
            all.extend(["--workspace", repo.to_str().unwrap()]);
        }
        if !args.contains(&"--task") && !args.contains(&"--task-file") {
            all.extend(["--task", "Do it"]);
        }
        all.extend(args);
        self.command(&all)
    }

    /// Runs that command with these variables, to its end.
    pub fn run(&self, args: &[&str], variables: &[(&str, &str)]) -> Run {
        let output = self.run_command(args).envs(variables.iter().copied()).output();
        Run::new(&output.expect("the binary runs"), self.out())
    }

    /// Runs the batch of `batch.yml`, with these arguments, to its end.
    pub fn batch(&self, more: &[&str]) -> Run {
        let out = self.out();
        let args = [&["batch", "batch.yml", "--out", out.to_str().unwrap()], more].concat();
        let output = self.command(&args).current_dir(self.repo()).output();
        Run::new(&output.expect("the binary runs"), out)
    }

    /// Every file of the repository with its content, `.git` left out.
    pub fn tree(&self) -> BTreeMap<String, Vec<u8>> {
        tree(&self.repo())
    }
}

impl Run {
    pub fn new(output: &Output, out: PathBuf) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            out,
        }
    }

    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    pub fn file(&self, name: &str) -> String {
        fs::read_to_string(self.out.join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}\n{}", self.stderr))
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.file(name)).expect("a JSON file")
    }

    pub fn report(&self) -> Value {
        self.json("report.json")
    }

    /// What each call came to: `tool outcome success`.
    pub fn calls(&self) -> Vec<String> {
        let report = self.report();
        let calls = report["calls"].as_array().expect("calls").iter();
        calls
            .map(|call| {
                let text = |key: &str| call[key].as_str().unwrap_or_default().to_owned();
                format!("{} {} {}", text("tool"), text("outcome"), call["success"])
            })
            .collect()
    }

    /// The results of calls, as the model was told them.
    pub fn results(&self) -> Vec<String> {
        let transcript = self.file("transcript.jsonl");
        let lines = transcript.lines().map(|line| serde_json::from_str::<Value>(line).expect("a JSON line"));
        lines
            .filter(|line| line["type"] == "call")
            .map(|line| line["result"].as_str().unwrap().to_owned())
            .collect()
    }
}

/// A call of `run_command` with this line.
pub fn command(line: &str) -> (&'static str, Value) {
    ("run_command", json!({ "command": line }))
}

pub fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"])
        .args(["-c", "core.autocrlf=false", "-c", "core.safecrlf=false"])
        .args(args)
        .current_dir(dir)
        .output()
        .expect("git runs");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

pub fn tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.file_name().is_some_and(|name| name == ".git") {
                continue;
            }
            let name = path.strip_prefix(root).expect("below the root").to_string_lossy().into_owned();
            let kind = entry.file_type().expect("a kind");
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_symlink() {
                let target = fs::read_link(&path).expect("a link");
                files.insert(name, target.to_string_lossy().into_owned().into_bytes());
            } else {
                files.insert(name, fs::read(&path).unwrap_or_default());
            }
        }
    }
    files
}

/// The outputs of a step, as the runner reads the file behind `GITHUB_OUTPUT`; of two of a name, the last.
pub fn outputs(text: &str) -> BTreeMap<String, String> {
    let mut outputs = BTreeMap::new();
    let mut lines = text.split('\n');
    while let Some(line) = lines.next().filter(|line| !line.is_empty()) {
        let (name, value) = match line.split_once("<<") {
            Some((name, fence)) => {
                let value: Vec<&str> = lines.by_ref().take_while(|line| *line != fence).collect();
                (name, value.join("\n"))
            }
            None => line.split_once('=').map(|(name, value)| (name, value.to_owned())).expect("an output"),
        };
        outputs.insert(name.to_owned(), value);
    }
    outputs
}

/// The cases of a table below `tests/cases`.
pub fn cases(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name);
    let text = fs::read_to_string(&path).expect("a table");
    let cases: Vec<Value> = serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(!cases.is_empty(), "{name} holds no case");
    cases
}

pub fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(|item| item.as_str().expect("a text").to_owned()).collect()
}
