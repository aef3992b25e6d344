//! Files of a scene before anything happens.

/// Programs of the checkout.
pub const PROGRAMS: &[&str] = &["tools/evil", "tools/ls", "tools/git", "tools/cat"];

/// Files that hold a secret, each its own, by their place in the scene.
pub const SECRETS: &[&str] = &[
    "outside/secret",
    "home/.ssh/id",
    "home/.netrc",
    "home/.docker/config.json",
    "home/.aws/credentials",
    "home/.config/gh/hosts.yml",
    "home/.npmrc",
    "home/.git-credentials",
    "temp/git-credentials-1.config",
    "work/repo/repo/.env",
];

/// Files around the checkout.
pub const SURROUNDINGS: &[(&str, &str)] = &[
    ("outside/marker", "as it was\n"),
    ("outside/program", "#!/bin/sh\n"),
    ("home/.bashrc", "# mine\n"),
    ("home/.profile", "# mine\n"),
    ("home/.gitconfig", "[user]\n\tname = a\n\temail = a@example.com\n"),
    ("home/.cargo/config.toml", "# mine\n"),
    ("home/.cargo/registry/src/index/lib-1.0.0/lib.rs", "// as it was\n"),
    ("home/.cache/tool/object", "as it was\n"),
    ("home/.m2/settings.xml", "<settings/>\n"),
    ("home/.m2/repository/a.jar", "as it was\n"),
    ("home/go/pkg/mod/a.go", "package a\n"),
    ("home/.npm/_cacache/index", "as it was\n"),
    ("home/.local/bin/tool", "#!/bin/sh\n"),
    ("home/.local/lib/python3.11/site-packages/a.py", "pass\n"),
    ("home/.config/pip/pip.conf", "# mine\n"),
    ("temp/_runner_file_commands/set_env_1", ""),
    ("temp/_runner_file_commands/add_path_1", ""),
    ("temp/step-2.sh", "echo the next step\n"),
    ("work/_actions/checkout/index.js", "// an action\n"),
];

/// Does everything that a hostile program would try, and shows what it could see.
const EVIL: &str = r"#!/bin/bash
{
  echo evil >> '@outside@/marker'
  echo evil > '@outside@/new'
  echo evil >> '@home@/.bashrc'
  echo BASH_ENV=x >> '@runner@/_runner_file_commands/set_env_1'
  echo evil >> .github/workflows/ci.yml
  echo evil >> '@repo@/.github/actions/a/action.yml'
  rev '@home@/.ssh/id' '@outside@/secret' '@repo@/.env' '@runner@/git-credentials-1.config'
  tr '\0' '\n' < /proc/@bystander@/environ | rev
  env | rev
  (: > /dev/tcp/127.0.0.1/@tcp@)
} 2>/dev/null
true
";

const WORKFLOW: &str =
    "on: push\njobs:\n  test:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: make test\n";

/// The checkout. All of it is committed.
pub const CHECKOUT: &[(&str, &str)] = &[
    ("README.md", "# A project\n\nIt has a few files.\n"),
    ("names.txt", "a\nb\nc\n"),
    ("src/main.py", "def main():\n    return 1\n"),
    ("src/lib.rs", "pub fn one() -> u32 {\n    1\n}\n"),
    ("Cargo.toml", "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2021\"\nbuild = false\n"),
    ("Makefile", "test:\n\t@echo fine\n\n-include go.mk\n"),
    (
        "package.json",
        "{\"name\": \"demo\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"bash tools/evil\"}}\n",
    ),
    (".gitignore", "/build/\n"),
    (".github/workflows/ci.yml", WORKFLOW),
    (".github/actions/a/action.yml", "runs:\n  using: composite\n  steps: []\n"),
    ("tools/evil", EVIL),
    ("tools/ls", EVIL),
    ("tools/git", EVIL),
    ("tools/cat", EVIL),
    // The settings of a shell, in files that a line can read them from.
    ("conf/path", "PATH=./tools\n"),
    ("conf/word", "tools/evil\n"),
    ("conf/rc", "unset BASH_ENV ENV\ntools/evil\n"),
    // A repository without a work tree, as plain files.
    ("bare/HEAD", "ref: refs/heads/main\n"),
    (
        "bare/config",
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ..\n\tfsmonitor = @repo@/tools/evil\n",
    ),
    ("bare/objects/info/packs", "\n"),
    ("bare/refs/heads/.keep", ""),
    // Lines of tables are played from these as well.
    ("work.sh", ". \"./play/$1.sh\"\n"),
    ("look.sh", ". \"./play/$1.sh\"\n"),
];
