//! Plays attacks: by the binary with a scripted model, or by a bare shell to see that they do what they are after.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::effect::{Effect, Effects, add};
use super::kinds;
use super::scene::Scene;
use super::secrets;
use super::table::Attack;
use crate::support::program::program;

/// What the binary is run by, such as `setpriv --no-new-privs --`; the words are split as a shell does.
const THROUGH: &str = "ATTACKS_THROUGH";

/// How a line gets to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// The agent asks for it, and the policy decides.
    Line,
    /// It stands in a script that the configuration lets the agent run as one that only looks.
    Look,
    /// It stands in a script that the configuration lets the agent run as one that builds or tests.
    Work,
    /// It is a quality gate.
    Gate,
    /// It is a hook.
    Hook,
}

/// One way of playing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stage {
    pub way: Way,
    pub mode: &'static str,
}

/// Every stage there is.
pub const STAGES: [Stage; 10] = [
    Stage { way: Way::Line, mode: "yolo" },
    Stage { way: Way::Line, mode: "dry-run" },
    Stage { way: Way::Work, mode: "yolo" },
    Stage { way: Way::Look, mode: "yolo" },
    Stage { way: Way::Gate, mode: "yolo" },
    Stage { way: Way::Hook, mode: "yolo" },
    Stage { way: Way::Work, mode: "dry-run" },
    Stage { way: Way::Look, mode: "dry-run" },
    Stage { way: Way::Gate, mode: "dry-run" },
    Stage { way: Way::Hook, mode: "dry-run" },
];

/// Plays the attacks one after the other in one run, and returns what they achieved together.
pub fn play(attacks: &[&Attack], stage: Stage) -> Effects {
    let mut scene = Scene::new();
    let lines: Vec<String> = attacks.iter().map(|attack| scene.place(&attack.line)).collect();
    for (number, line) in lines.iter().enumerate() {
        scene.write(&format!("work/repo/repo/play/{number}.sh"), &format!("{line}\n"));
    }
    scene.write("work/repo/repo/.github/architect.yml", &configuration(stage.way, lines.len()).to_string());
    scene.write("script.jsonl", &script(stage.way, &lines));
    scene.own();
    scene.remember();
    let output = command(&scene, stage.mode).output().expect("the binary runs");
    seen(&mut scene, stage, &output, &|path| path.starts_with("build/"))
}

/// Runs the binary in a scene that is ready, and returns what came of it. The files that `is_ignored` names may change
/// without being told.
pub fn run(scene: &mut Scene, mode: &'static str, is_ignored: &dyn Fn(&str) -> bool) -> Effects {
    let output = command(scene, mode).output().expect("the binary runs");
    seen(scene, Stage { way: Way::Work, mode }, &output, is_ignored)
}

fn seen(scene: &mut Scene, stage: Stage, output: &Output, is_ignored: &dyn Fn(&str) -> bool) -> Effects {
    let survivors = scene.end_survivors();
    let mut effects = scene.effects();
    add(&mut effects, Effect::Survivor, survivors);
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    judge(&mut effects, scene, stage, &said, is_ignored);
    effects
}

/// Runs the line in a bare shell of the same scene, and returns what it achieved.
pub fn play_bare(attack: &Attack) -> Effects {
    let mut scene = Scene::new();
    scene.write("work/repo/repo/.github/architect.yml", "{}\n");
    scene.remember();
    let said = scene.path("output");
    let file = File::create(&said).expect("a file");
    let mut shell = Command::new("timeout");
    shell.args(["-k", "1", "10", "bash", "-c", &scene.place(&attack.line)]);
    shell.current_dir(scene.repo()).env_clear().envs(scene.variables()).stdin(Stdio::null());
    shell.stdout(file.try_clone().expect("a file")).stderr(file).status().expect("a shell runs");
    // Some come back later.
    let deadline = Instant::now() + Duration::from_secs(4);
    let mut effects = Effects::new();
    while !effects.contains_key(&attack.aim) && Instant::now() < deadline {
        effects.extend(scene.effects());
        let text = fs::read(&said).unwrap_or_default();
        add(&mut effects, Effect::Secret, secrets::find(&String::from_utf8_lossy(&text)));
        if attack.aim == Effect::Survivor {
            break;
        }
    }
    add(&mut effects, Effect::Survivor, scene.end_survivors());
    effects
}

/// Returns what a changed file comes to, if a call of this class made the change and the report names it or does not.
pub fn judged(stage: Stage, class: &str, named: bool) -> Vec<Effect> {
    let mut scene = Scene::new();
    scene.remember();
    scene.write("work/repo/repo/names.txt", "changed\n");
    let files = if named { json!([{"path": "names.txt"}]) } else { json!([]) };
    let report = json!({"calls": [{"outcome": "executed", "class": class}], "files": files});
    scene.write("out/report.json", &report.to_string());
    let mut effects = scene.effects();
    judge(&mut effects, &scene, stage, "", &|path| path.starts_with("build/"));
    effects.into_keys().collect()
}

/// Takes what the run told into account: what it changed and did not say, and what secrets it said.
fn judge(effects: &mut Effects, scene: &Scene, stage: Stage, said: &str, is_ignored: &dyn Fn(&str) -> bool) {
    let out = scene.path("out");
    for entry in fs::read_dir(&out).into_iter().flatten().flatten() {
        let text = fs::read(entry.path()).unwrap_or_default();
        let told = secrets::find(&String::from_utf8_lossy(&text));
        let name = entry.file_name().to_string_lossy().into_owned();
        add(effects, Effect::Secret, told.into_iter().map(|told| format!("{told} in {name}")));
    }
    add(effects, Effect::Secret, secrets::find(said).into_iter().map(|told| format!("{told} in the log")));
    let Some(report) = report(&out) else {
        add(effects, Effect::Bystander, [format!("there is no report: {said}")]);
        return;
    };
    let changed = effects.remove(&Effect::Change).unwrap_or_default();
    if stage.mode == "dry-run" {
        add(effects, Effect::DryRun, changed);
        return;
    }
    let calls = || report["calls"].as_array().into_iter().flatten();
    let did = || calls().filter(|call| call["outcome"] == "executed");
    if stage.way == Way::Look || stage.way == Way::Line && did().all(|call| call["class"] == "safe") {
        add(effects, Effect::Look, changed.clone());
    }
    let named: BTreeSet<&str> =
        report["files"].as_array().into_iter().flatten().filter_map(|file| file["path"].as_str()).collect();
    // What the project itself lets Git ignore is the builds' own.
    let silent = changed.into_iter().filter(|path| !named.contains(path.as_str()) && !is_ignored(path));
    add(effects, Effect::Silent, silent);
}

fn report(out: &Path) -> Option<Value> {
    let text = fs::read_to_string(out.join("report.json")).ok()?;
    serde_json::from_str(&text).ok()
}

/// Returns the binary, started as a job of this machine does it.
fn command(scene: &Scene, mode: &str) -> Command {
    let through = std::env::var(THROUGH).unwrap_or_default();
    let mut words = shlex::split(&through).expect("words");
    if !words.is_empty() {
        // Whatever starts the binary may have variables of its own for it.
        words.push("env".to_owned());
        words.extend(scene.variables().iter().map(|(name, value)| format!("{name}={value}")));
    }
    words.push(program().to_owned());
    let path = |name: &str| scene.path(name).display().to_string();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(["run", "--task", "Do it", "--mode", mode]);
    command.args(["--workspace", &path("work/repo/repo"), "--out", &path("out")]);
    command.args(["--model", &format!("replay::{}", path("script.jsonl"))]);
    command.current_dir(scene.repo()).env_clear().envs(scene.variables()).stdin(Stdio::null());
    command
}

/// Returns the configuration by which the lines are reached.
fn configuration(way: Way, lines: usize) -> Value {
    let named =
        |number: usize| json!({"name": format!("n{number}"), "command": format!("bash work.sh {number}")});
    let network = if kinds::this().network { "allow" } else { "deny" };
    let mut configuration = json!({
        "commands": {
            "dev_commands": ["bash work.sh"], "safe_commands": ["bash look.sh"], "network": network, "default_timeout": 10,
        },
        "dry_run": {"commands": "isolated"},
        "guardrails": {"sensitive_files": [".env"], "max_gate_rounds": 1},
    });
    match way {
        Way::Gate => {
            let gates: Vec<Value> = (0..lines).map(named).collect();
            configuration["guardrails"]["quality_gates"] = json!(gates);
        }
        Way::Hook => {
            let hooks: Vec<Value> = (0..lines).map(named).collect();
            configuration["hooks"] = json!({ "post_tool_use": hooks });
        }
        Way::Line | Way::Look | Way::Work => {}
    }
    configuration
}

/// Returns what the model says.
fn script(way: Way, lines: &[String]) -> String {
    let command = |text: String| ("run_command", json!({ "command": text }));
    let numbered =
        |name: &str| (0..lines.len()).map(|number| command(format!("bash {name}.sh {number}"))).collect();
    let calls: Vec<(&str, Value)> = match way {
        Way::Line => lines.iter().map(|line| command(line.clone())).collect(),
        Way::Look => numbered("look"),
        Way::Work => numbered("work"),
        Way::Gate | Way::Hook => vec![("read_file", json!({"path": "README.md"}))],
    };
    replies(&calls)
}

/// Returns the script of a model that makes these calls, one after the other.
pub fn replies(calls: &[(&str, Value)]) -> String {
    let mut script = String::new();
    for (step, (name, arguments)) in calls.iter().enumerate() {
        let call = json!({"id": format!("call_{step}"), "name": name, "arguments": arguments});
        script +=
            &format!("{}\n", json!({"type": "reply", "agent": "build", "step": step + 1, "calls": [call]}));
    }
    let last = json!({"type": "reply", "agent": "build", "step": calls.len() + 1, "text": "Done."});
    script + &format!("{last}\n")
}
