//! Programs of the head are refused in whatever spelling a configuration names them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::support::Run;
use crate::support::scene::{Scene, scene};
use serde_json::json;

const FILES: &[(&str, &str)] = &[
    ("ci/h.sh", "echo fine\n"),
    ("ci/h", "echo fine\n"),
    ("ci/index.js", "1\n"),
    ("ci/pkg/__init__.py", ""),
    ("ci/pkg/__main__.py", "print(1)\n"),
    ("pkg/__main__.py", "import pkg.helper\n"),
    ("pkg/helper.py", ""),
    ("xtask/src/main.rs", "fn main() {}\n"),
    ("Makefile", "lint:\n\tsh ci/h.sh\n"),
    ("ci/Makefile", "lint:\n\ttrue\n"),
    ("justfile", "lint:\n  true\n"),
    ("package.json", "{\"scripts\": {\"lint\": \"node ci/index.js\"}}\n"),
    ("other/data.txt", "data\n"),
    ("lonely.py", "import rules\n"),
];

fn executable(path: &Path) {
    fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

impl Scene {
    /// The base gets this configuration; the checkout is the pull request's head again.
    pub(super) fn configured(&mut self, configuration: &str) {
        self.sandbox.git(&["checkout", "--quiet", "main"]);
        self.sandbox.write(".architect.yml", configuration);
        self.base = self.sandbox.commit("the configuration");
        self.sandbox.git(&["checkout", "--quiet", "-B", "feature"]);
        self.sandbox.write("a.txt", "of the pull request\n");
        self.head = self.sandbox.commit("the pull request");
    }

    /// A run on the pull request whose head has `file` changed.
    pub(super) fn proposed(&self, file: &str, content: &str, variables: &[(&str, &str)]) -> Run {
        self.sandbox.write(file, content);
        if content.starts_with("#!") {
            executable(&self.sandbox.repo().join(file));
        }
        self.sandbox.git(&["add", "--all", "--force"]);
        self.sandbox.git(&["commit", "--quiet", "--message", "changed"]);
        let event = self.pull_event(8, "dev");
        let model = self.sandbox.script(&[], "done");
        let named = self.sandbox.read(".architect.yml").contains("model:");
        let args: &[&str] = if named { &[] } else { &["--model", &model] };
        let run = self.run("pull_request", &event, args, variables);
        self.sandbox.git(&["reset", "--quiet", "--hard", "HEAD^"]);
        self.sandbox.git(&["clean", "-qfdx"]);
        run
    }
}

/// Command lines, and a file of the head that each of them would run.
const SPELLINGS: &[(&str, &str)] = &[
    ("./ci/h.sh", "ci/h.sh"),
    ("sh ci/h", "ci/h"),
    ("sh -c 'sh ci/h'", "ci/h"),
    ("env X=1 sh ci/h", "ci/h"),
    ("sh < ci/h", "ci/h"),
    ("cat ci/h | sh", "ci/h"),
    ("D=ci; sh $D/h", "ci/h"),
    ("sh \"$GITHUB_WORKSPACE/ci/h\"", "ci/h"),
    ("sh ./ci/*.sh", "ci/h.sh"),
    ("for f in ci/*; do sh $f; done", "ci/h"),
    ("sh ci/{x,h}", "ci/h"),
    ("sh $X", "ci/h"),
    (". ./ci/h", "ci/h"),
    ("eval \"$(cat ci/h)\"", "ci/h"),
    ("PATH=\"$PWD/ci:$PATH\" h.sh", "ci/h.sh"),
    ("cd ci && sh h", "ci/h"),
    ("python3 -um pkg", "pkg/__main__.py"),
    ("python3 -mpkg", "pkg/helper.py"),
    ("python3 -m ci.pkg", "ci/pkg/__init__.py"),
    ("python3 pkg", "pkg/helper.py"),
    ("node ci", "ci/index.js"),
    ("node ci/index", "ci/index.js"),
    ("node -r ./ci/index -e 1", "ci/index.js"),
    ("python3 -m lonely", "json.py"),
    ("python3 -m lonely", "rules.py"),
    ("python3 lonely.py", "re/__init__.py"),
    ("PYTHONPATH=other python3 -m lonely", "other/json.py"),
    ("make lint", "Makefile"),
    ("make lint", "ci/h.sh"),
    ("make lint", "GNUmakefile"),
    ("make -Cci lint", "ci/Makefile"),
    ("make -sfci/Makefile", "ci/Makefile"),
    ("just lint", "justfile"),
    ("npm run lint", "package.json"),
    ("npm run lint", "ci/index.js"),
    ("cargo xtask lint", "xtask/src/main.rs"),
    ("cargo xtask lint", ".cargo/config.toml"),
    ("uv run ci/h", "ci/h"),
    ("xargs -a /dev/null sh ci/h", "ci/h"),
];

#[tokio::test(flavor = "multi_thread")]
async fn programs_of_head_are_refused_in_every_spelling() {
    scene(FILES, |mut scene| {
        for (line, file) in SPELLINGS {
            scene.configured(&format!(
                "hooks:\n  session_start:\n  - {{ name: greet, command: {} }}\n",
                json!(line)
            ));
            let run = scene.proposed(file, "#!/bin/sh\necho of the head\n", &[]);
            assert_eq!(run.code, 3, "{line} with {file}: {}", run.stderr);
            assert!(run.stderr.contains("the hook \"greet\" is not run"), "{line}: {}", run.stderr);
        }
        // What a hook looks at may change.
        for line in ["cat other/data.txt > /dev/null", "ls -d other *.txt", "test -n \"$ARCHITECT_EVENT\""] {
            scene.configured(&format!(
                "hooks:\n  session_start:\n  - {{ name: greet, command: {} }}\n",
                json!(line)
            ));
            let run = scene.proposed("more.txt", "of the head\n", &[]);
            assert_eq!(run.code, 0, "{line}: {}", run.stderr);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_with_secret_are_those_of_the_base_in_every_spelling() {
    const FILES: &[(&str, &str)] = &[
        ("ci/h", "read -r x; echo '{\"text\": \"of the base\"}'; read -r x\n"),
        ("Makefile", "model:\n\t@sh ci/h\n"),
        ("other/data.txt", "data\n"),
    ];
    scene(FILES, |mut scene| {
        symlink("h", scene.sandbox.repo().join("ci/link")).unwrap();
        scene.sandbox.git(&["checkout", "--quiet", "main"]);
        scene.sandbox.commit("a link");
        for (line, file) in [
            ("sh ci/h \"$UNKNOWN\"", "ci/h"),
            ("make -s model", "Makefile"),
            ("sh ci/link", "ci/h"),
            ("cd \"$GITHUB_WORKSPACE\" && sh ci/h", "ci/h"),
            ("cat ci/h > /tmp/h; sh /tmp/h", "ci/h"),
        ] {
            scene.configured(&format!(
                "llm:\n  model: {}\n  api_key_env: MODEL_KEY\n",
                json!(format!("exec::{line}"))
            ));
            let repo = scene.sandbox.repo().display().to_string();
            let variables = [("MODEL_KEY", "the-model-key"), ("GITHUB_WORKSPACE", &repo)];
            let run = scene.proposed(file, "echo of the head; exit 1\n", &variables);
            assert_eq!(run.code, 0, "{line}: {}", run.stderr);
            assert_eq!(run.report()["message"], "of the base", "{line}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_are_compared_where_they_are_started() {
    const FILES: &[(&str, &str)] = &[
        (".architect.yml", "hooks:\n  session_start:\n  - { name: greet, command: sh ci/h.sh }\n"),
        ("ci/h.sh", "echo of the root\n"),
        ("app/ci/h.sh", "echo of the folder\n"),
        ("batch.yml", "name: b\ntasks: [{id: t, task: x, folder: app}]\n"),
    ];
    scene(FILES, |scene| {
        let batch = |scene: &Scene| {
            let event = scene.pull_event(7, "dev");
            let (model, out) = (scene.sandbox.script(&[], "done"), scene.sandbox.out());
            let args = ["batch", "batch.yml", "--model", &model, "--out", out.to_str().unwrap()];
            let mut command =
                scene.sandbox.command(&[&args[..], &["--event", event.to_str().unwrap()]].concat());
            command.envs(scene.variables("pull_request")).current_dir(scene.sandbox.repo());
            Run::new(&command.output().unwrap(), out)
        };
        // Another file of the same name may change.
        scene.sandbox.write("ci/h.sh", "echo of the head\n");
        scene.sandbox.commit("the other one");
        assert_eq!(batch(&scene).code, 0);
        scene.sandbox.git(&["reset", "--quiet", "--hard", "HEAD^"]);
        scene.sandbox.write("app/ci/h.sh", "echo of the head\n");
        scene.sandbox.commit("the one that is started");
        let run = batch(&scene);
        assert_eq!(run.code, 1, "{}", run.stderr);
        assert!(run.stderr.contains("app/ci/h.sh differs from the base commit"), "{}", run.stderr);
    })
    .await;
}
