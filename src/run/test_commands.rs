//! Guesses the test command of a project from the files at its root.

/// A file that tells of tests, what has to stand in it, and the command.
use workspace::{LastLink, Workspace, WorkspacePath};

const SIGNS: [(&str, &str, &str); 22] = [
    ("Cargo.toml", "", "cargo test"),
    ("go.mod", "", "go test ./..."),
    ("manage.py", "", "python manage.py test"),
    ("tests/runtests.py", "", "python tests/runtests.py"),
    ("tox.ini", "[pytest]", "python -m pytest"),
    ("pytest.ini", "", "python -m pytest"),
    ("conftest.py", "", "python -m pytest"),
    ("tests/conftest.py", "", "python -m pytest"),
    ("pyproject.toml", "pytest", "python -m pytest"),
    ("setup.cfg", "[tool:pytest]", "python -m pytest"),
    ("mvnw", "", "./mvnw -q test"),
    ("pom.xml", "", "mvn -q test"),
    ("gradlew", "", "./gradlew test"),
    ("build.gradle", "", "gradle test"),
    ("build.gradle.kts", "", "gradle test"),
    ("Package.swift", "", "swift test"),
    ("mix.exs", "", "mix test"),
    (".rspec", "", "bundle exec rspec"),
    ("phpunit.xml", "", "vendor/bin/phpunit"),
    ("phpunit.xml.dist", "", "vendor/bin/phpunit"),
    ("deno.json", "", "deno test"),
    ("dune-project", "", "dune test"),
];

/// Lock files of package managers for JavaScript.
const MANAGERS: [(&str, &str); 4] = [
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("bun.lock", "bun run"),
    ("package-lock.json", "npm"),
];

/// Maximum number of commands that are told.
const MAX: usize = 3;

/// Returns the commands, each with the file that tells of it.
pub(super) fn test_commands(workspace: &dyn Workspace) -> Vec<(String, &'static str)> {
    let read = |path: &str| {
        let path = workspace.resolve(&WorkspacePath::parse(path).ok()?, LastLink::Follow).ok()?;
        let content = workspace.read(&path).ok()?.content;
        Some(String::from_utf8_lossy(&content).into_owned())
    };
    let mut found: Vec<(String, &str)> = Vec::new();
    let has_target =
        |text: &str| text.lines().any(|line| line.starts_with("test:") || line.starts_with("test "));
    for (file, command) in [("justfile", "just test"), ("Makefile", "make test")] {
        if read(file).is_some_and(|text| has_target(&text)) {
            found.push((command.to_owned(), file));
        }
    }
    if let Some(text) = read("package.json") {
        let parsed: serde_json::Value = serde_json::from_slice(text.as_bytes()).unwrap_or_default();
        // What `npm init` writes is no test.
        let script =
            parsed["scripts"]["test"].as_str().filter(|script| !script.contains("no test specified"));
        if script.is_some() {
            let manager =
                MANAGERS.iter().find(|(lock, _)| read(lock).is_some()).map_or("npm", |(_, name)| name);
            found.push((format!("{manager} test"), "package.json"));
        }
    }
    for (file, sign, command) in SIGNS {
        if found.len() >= MAX || found.iter().any(|(known, _)| known == command) {
            continue;
        }
        if read(file).is_some_and(|text| text.contains(sign)) {
            found.push((command.to_owned(), file));
        }
    }
    found.truncate(MAX);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use workspace::{DiskWorkspace, OverlayWorkspace};

    #[test]
    fn test_commands_are_found_in_files_of_the_project() {
        let told = |files: &[(&str, &str)]| {
            let dir = tempfile::tempdir().expect("a folder");
            for (path, text) in files {
                let path = dir.path().join(path);
                std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                std::fs::write(path, text).expect("a file");
            }
            let disk = DiskWorkspace::open(dir.path()).expect("a workspace");
            let found = test_commands(&OverlayWorkspace::new(std::sync::Arc::new(disk)));
            found
                .into_iter()
                .map(|(command, file)| format!("{command} ({file})"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        for (files, expected) in [
            (&[][..], ""),
            (&[("Cargo.toml", "[package]")], "cargo test (Cargo.toml)"),
            (
                &[("Makefile", "all:\ntest: all\n\tpytest\n"), ("pytest.ini", "")],
                "make test (Makefile), python -m pytest (pytest.ini)",
            ),
            (
                &[("package.json", "{\"scripts\": {\"test\": \"jest\"}}"), ("yarn.lock", "")],
                "yarn test (package.json)",
            ),
            (
                &[(
                    "package.json",
                    "{\"scripts\": {\"test\": \"echo \\\"Error: no test specified\\\" && exit 1\"}}",
                )],
                "",
            ),
            (&[("package.json", "not JSON"), ("pyproject.toml", "[project]\n")], ""),
            (
                &[("tests/conftest.py", ""), ("pyproject.toml", "[tool.pytest.ini_options]\n")],
                "python -m pytest (tests/conftest.py)",
            ),
        ] {
            assert_eq!(told(files), expected, "{files:?}");
        }
    }
}
