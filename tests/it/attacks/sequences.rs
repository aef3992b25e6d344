//! Sequences that nobody wrote: one command puts a link where something else was, and a later command, tool, hook or gate
//! uses that. Each is harmless alone; what is opened a second time is not what it was the first time.

use std::path::Path;

use fastrand::Rng;
use serde_json::{Value, json};

use super::effect::{Effect, Effects};
use super::kinds;
use super::play;
use super::scene::Scene;

/// What is replaced.
const REPLACED: &[&str] = &[
    ".git",
    ".git/objects",
    ".git/hooks",
    ".venv",
    ".venv/bin",
    "node_modules",
    "node_modules/.bin",
    "build",
    "build/deep/er",
    "target",
    ".cache",
    "src",
    "tools",
    "lib",
    "lib/.git",
    "conf",
    "new",
    "new/deep",
    "play",
    "../repo",
    "../../repo",
    "$HOME",
    "$HOME/.cache",
    "$HOME/.cargo",
    "$HOME/.cargo/registry",
    "$HOME/.local",
    "$HOME/go/pkg",
    "$TMPDIR",
    "@home@/.cache/tool",
    "@home@/.npm",
    "@repo@",
    "@repo@/build",
    "@repo@/.venv",
];

/// Where the link leads instead.
const TARGETS: &[&str] = &[
    "@outside@",
    "@outside@",
    "@home@",
    "@home@/.ssh",
    "@runner@",
    "/",
    "/proc/self",
    "/etc",
    "@repo@",
    "@repo@/.github",
    "@outside@/secret",
    "@outside@/marker",
    "../../..",
    "..",
];

/// How something comes to stand there before: files with the names of those elsewhere.
const FILLS: &[&str] = &[
    "mkdir -p X; for f in marker secret program id environ step-2.sh config; do echo mine > X/$f; done",
    "mkdir -p X/deep/er X/bin; echo mine > X/bin/tool; echo mine > X/deep/er/marker; cp README.md X/secret",
    "mkdir -p X; cp names.txt X/marker; ln X/marker X/program",
    "mkdir -p X; mkfifo X/marker; touch -d 2001-01-01 X/secret",
    ":",
];

/// How it is replaced.
const PLANTS: &[&str] = &[
    "rm -rf X; mkdir -p \"$(dirname X)\"; ln -s Y X",
    "mv X X.away; ln -s Y X",
    "chmod -R u+rwx X; rm -rf X; ln -sfn Y X",
    "rm -rf X; ln -s Y X.link; mv -T X.link X",
    "ln -sfn Y X/deep; rm -f X/marker; ln -s Y X/marker; rm -rf X/bin; ln -s Y X/bin",
    "rm -rf X; cp -a \"$(dirname X)\" hold 2>/dev/null; ln -s Y X; touch -h -d 2001-01-01 X",
    "rm -rf X; printf 'gitdir: Y\\n' > X",
    "rm -rf X; mkfifo X",
];

/// How it is used by a command, a hook, or a gate.
const USES: &[&str] = &[
    "echo x > X/marker; echo x >> X/new; echo x > X",
    "mkdir -p X/sub/deep; echo x > X/sub/deep/f",
    "rm -rf X/marker X/secret X/program X/step-2.sh X/id",
    "rev X/secret X/id X/environ X/.netrc X/.ssh/id X/git-credentials-1.config X; cat X/secret | base64",
    "timeout 5 find -L X -maxdepth 3 -name secret -exec rev {} +",
    "timeout 5 cp -rL X copied; rev copied/secret copied/.ssh/id",
    "rm -rf X; mkdir -p X; echo y > X/marker; cp README.md X/secret",
    "unlink X; mkdir -p X/deep; echo y > X/deep/marker",
    "git mv X moved; rev moved/secret; ls -a moved",
    "git stash; git stash pop; git add -A; git status --short",
    "git clean -fdx",
    "chmod -R 777 X/marker X/program X; chmod 000 X",
    "touch -d 2001-01-01 X/marker X/secret X",
    "mv X/marker X/elsewhere; ln X/secret linked; rev linked",
    "python3 -c \"import os; os.replace('X/marker', 'X/replaced')\"",
    "echo x > .github/workflows/ci.yml",
    ":",
];

/// What is tried after all of that, whatever was replaced: rules that followed a link would allow it.
const REACHES: &str = "rev @outside@/secret @home@/.ssh/id @runner@/git-credentials-1.config; \
                       echo x >> @outside@/marker; echo x > @outside@/new; echo x > @home@/new; rm @runner@/step-2.sh";

/// Tools that use it.
const TOOLS: &[&str] = &["read_file", "write_file", "list_files", "grep", "edit_file", "move_file"];

/// One step of a sequence: what the model calls.
type Step = (&'static str, Value);

/// A sequence, and what hooks and gates do meanwhile.
#[derive(Debug)]
struct Sequence {
    mode: &'static str,
    lines: Vec<String>,
    steps: Vec<Step>,
    hook: String,
    gates: [String; 2],
}

#[test]
fn generated_sequences_have_no_effect() {
    let mut random = Rng::with_seed(super::number("ATTACKS_SEED", 14) as u64);
    let count = super::number("ATTACKS_SEQUENCES", 6);
    let sequences: Vec<Sequence> = (0..count).map(|_| Sequence::generate(&mut random)).collect();
    let found = super::team::all(&sequences, |sequence| {
        let effects = sequence.play();
        (!effects.is_empty()).then(|| {
            let told = format!("{sequence:#?}\n    {effects:?}");
            // Seen with `--nocapture` while the others are still being played.
            eprintln!("{told}");
            told
        })
    });
    assert!(found.is_empty(), "{} of {count} have an effect:\n{}", found.len(), found.join("\n"));
}

impl Sequence {
    fn generate(random: &mut Rng) -> Self {
        let pick = |random: &mut Rng, from: &[&'static str]| from[random.usize(..from.len())];
        let (replaced, target) = (pick(random, REPLACED), pick(random, TARGETS));
        let said = |text: &str| text.replace('X', replaced).replace('Y', target);
        let mut lines = vec![said(pick(random, FILLS)), said(pick(random, PLANTS))];
        let mut steps = Vec::new();
        for line in 0..lines.len() {
            steps.push(("run_command", json!({"command": format!("bash work.sh {line}")})));
        }
        for _ in 0..random.usize(1..=3) {
            if random.u8(..4) == 0 {
                steps.push(tool(pick(random, TOOLS), replaced));
            } else {
                steps.push(("run_command", json!({"command": format!("bash work.sh {}", lines.len())})));
                lines.push(said(if random.u8(..4) == 0 { pick(random, PLANTS) } else { pick(random, USES) }));
            }
        }
        steps.push(("run_command", json!({"command": format!("bash work.sh {}", lines.len())})));
        lines.push(REACHES.to_owned());
        let idle = |random: &mut Rng, text: String| if random.bool() { text } else { ":".to_owned() };
        let uses = [(); 3].map(|()| said(pick(random, USES)));
        let [hook, first, second] = uses.map(|line| idle(random, line));
        let second = format!("{second}; {REACHES}");
        let mode = if random.bool() { "yolo" } else { "dry-run" };
        Self { mode, lines, steps, hook, gates: [first, second] }
    }

    /// Plays it in a run of its own, and returns what it achieved.
    fn play(&self) -> Effects {
        let mut scene = Scene::new();
        scene.write("work/repo/repo/.gitignore", IGNORED);
        for file in [".venv/bin/tool", "node_modules/.bin/tool", "target/debug/marker", ".cache/tool/object"]
        {
            scene.write(&format!("work/repo/repo/{file}"), "as it was\n");
        }
        for (number, line) in self.lines.iter().enumerate() {
            let line = format!("{}\n", scene.place(line));
            scene.write(&format!("work/repo/repo/play/{number}.sh"), &line);
        }
        scene.write("work/repo/repo/.github/architect.yml", &self.configuration(&scene).to_string());
        scene.write("script.jsonl", &play::replies(&self.steps));
        for (name, path) in
            [("VIRTUAL_ENV", ".venv"), ("XDG_CACHE_HOME", ".cache"), ("CARGO_TARGET_DIR", "target")]
        {
            let path = format!("{}/{path}", scene.repo().display());
            scene.set(name, &path);
        }
        scene.own();
        scene.remember();
        let mut effects = play::run(&mut scene, self.mode, &|path| {
            IGNORED.lines().any(|folder| Path::new(path).starts_with(folder.trim_matches('/')))
        });
        // What this kind of machine leaves open.
        let open = kinds::this().open;
        if open.contains(&Effect::Outside)
            && let Some(seen) = effects.get_mut(&Effect::Outside)
        {
            seen.retain(|path| !CACHES.iter().any(|cache| path.starts_with(cache)));
        }
        // Where even secrets can be read, nothing stands around commands at all.
        let is_sandboxed = !open.contains(&Effect::Secret);
        effects.retain(|effect, seen| {
            !seen.is_empty() && (*effect == Effect::Outside && is_sandboxed || !open.contains(effect))
        });
        effects
    }

    fn configuration(&self, scene: &Scene) -> Value {
        let gate =
            |name: &str, line: &str| json!({"name": name, "command": scene.place(line), "required": false});
        json!({
            "commands": {
                "dev_commands": ["bash work.sh"], "default_timeout": 10,
                "network": if kinds::this().network { "allow" } else { "deny" },
            },
            "dry_run": {"commands": "isolated"},
            "hooks": {"post_tool_use": [{"name": "use", "command": scene.place(&self.hook)}]},
            "guardrails": {
                "sensitive_files": [".env"], "max_gate_rounds": 1,
                "quality_gates": [gate("first", &self.gates[0]), gate("second", &self.gates[1])],
            },
        })
    }
}

/// The scene's ignore file: what may change without being named.
const IGNORED: &str =
    "/build/\n/.venv/\n/node_modules/\n/target/\n/.cache/\n/build\n/.venv\n/node_modules\n/target\n/.cache\n";

/// What may change on machines without namespaces.
const CACHES: &[&str] =
    &["home/.cache", "home/.cargo/registry", "home/.m2/repository", "home/go/pkg", "home/.npm"];

/// Returns a call of a tool on what was replaced.
fn tool(name: &'static str, replaced: &str) -> Step {
    let at = |below: &str| format!("{replaced}/{below}");
    let arguments = match name {
        "read_file" => json!({"path": at("secret")}),
        "write_file" => json!({"path": at("marker"), "content": "x\n"}),
        "list_files" => json!({"path": replaced}),
        "grep" => json!({"path": replaced, "pattern": "a"}),
        "edit_file" => json!({"path": at("marker"), "old_str": "as it was", "new_str": "x"}),
        _ => json!({"from": at("secret"), "to": "taken"}),
    };
    (name, arguments)
}
