//! Roles of files in testing, by their paths. It uses nothing else of the crate.

mod exclusion_lists;
mod support;
mod tool_files;

use std::path::Path;

pub(crate) use exclusion_lists::is_list;
pub(crate) use support::is_support;

/// Language whose tests are read by its grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Python,
    EcmaScript,
    Rust,
    Go,
    Java,
}

impl Language {
    /// Returns the language of a file, by its extension.
    pub(crate) fn of(path: &str) -> Option<Self> {
        Some(match grammar::Language::of(path)? {
            grammar::Language::Python => Self::Python,
            grammar::Language::JavaScript | grammar::Language::TypeScript | grammar::Language::Tsx => {
                Self::EcmaScript
            }
            grammar::Language::Rust => Self::Rust,
            grammar::Language::Go => Self::Go,
            grammar::Language::Java => Self::Java,
        })
    }

    /// Returns the grammar. TypeScript's with JSX reads JavaScript as well.
    pub(crate) fn grammar(self) -> tree_sitter::Language {
        match self {
            Self::Python => grammar::Language::Python,
            Self::EcmaScript => grammar::Language::Tsx,
            Self::Rust => grammar::Language::Rust,
            Self::Go => grammar::Language::Go,
            Self::Java => grammar::Language::Java,
        }
        .grammar()
    }
}

/// Format of a file with settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Sections of `key = value`: INI and TOML, line by line.
    Sections,
    /// JSON, with comments or without.
    Json,
    /// YAML, by indentation.
    Yaml,
    /// Commands and code: `Makefile`, `jest.config.js`, `pom.xml`.
    Text,
}

/// What a file is to tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Tests, or helpers of tests.
    Test,
    /// Recorded output that tests compare with.
    Snapshot,
    /// Settings of a test runner, a linter, a type checker or CI.
    Settings(Format),
    /// Code, which may hold tests in some languages.
    Source,
    /// None of these.
    Other,
}

impl Role {
    /// Returns the role of a file, by its path.
    pub(crate) fn of(path: &str) -> Self {
        if is_snapshot(path) {
            Self::Snapshot
        } else if let Some(format) = settings_format(path) {
            Self::Settings(format)
        } else if is_test(path) {
            Self::Test
        } else if is_source(path) {
            Self::Source
        } else {
            Self::Other
        }
    }
}

/// Returns the last part of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the last part of a path up to its first dot.
pub(crate) fn stem(path: &str) -> &str {
    file_name(path).split('.').next().unwrap_or_default()
}

/// Returns the extension of a path without its dot; empty if there is none.
pub(crate) fn extension(path: &str) -> &str {
    Path::new(path).extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}

/// Returns whether runners look for tests in a file of this name.
pub(crate) fn is_collected(path: &str) -> bool {
    let name = file_name(path);
    let mut folders: Vec<&str> = path.split('/').collect();
    folders.pop();
    if folders.iter().any(|folder| is_put_away(folder)) {
        return false;
    }
    match Language::of(path) {
        Some(Language::Python) => {
            name.starts_with("test") || name.ends_with("_test.py") || name.ends_with("tests.py")
        }
        Some(Language::EcmaScript) => {
            [".test.", ".spec."].iter().any(|mark| {
                name.split_once(mark)
                    .is_some_and(|(_, rest)| !rest.contains("disabled") && !rest.contains("skip"))
            }) || name.contains("-test.")
                || name.contains("_test.")
                || name.starts_with("test")
                || path.contains("__tests__/")
                || path.split('/').any(|folder| matches!(folder, "test" | "tests"))
        }
        Some(Language::Go) => {
            let is_left_out = |part: &&str| part.starts_with(['_', '.']) || *part == "testdata";
            name.ends_with("_test.go") && !name.starts_with(['_', '.']) && !folders.iter().any(is_left_out)
        }
        Some(Language::Java) => {
            let stem = name.strip_suffix(".java").unwrap_or(name);
            let by_name =
                ["Test", "Tests", "TestCase", "IT", "ITCase", "Spec"].iter().any(|end| stem.ends_with(end))
                    || stem.starts_with("Test")
                    || stem.starts_with("IT");
            by_name && !folders.iter().any(|folder| matches!(*folder, "resources" | "docs"))
        }
        _ => true,
    }
}

/// Returns whether a folder's name says that what is in it is out of use.
fn is_put_away(folder: &str) -> bool {
    let plain = folder.trim_start_matches(['_', '.']).to_ascii_lowercase();
    let words: Vec<&str> = plain.split(['-', '_', '.']).collect();
    words.iter().any(|word| {
        matches!(*word, "disabled" | "skipped" | "quarantine" | "quarantined" | "deprecated" | "bak")
    }) || matches!(folder, "_old" | "old" | "_archive" | "archive" | "attic")
}

/// Returns the name of the module that a test file is about: `client` for `tests/test_client.py`.
pub(crate) fn subject(path: &str) -> &str {
    let name = file_name(path);
    let stem = name.split('.').next().unwrap_or(name);
    let stem = stem.strip_prefix("test_").unwrap_or(stem);
    ["_test", "_spec", "Tests", "Test", "IT"].iter().find_map(|end| stem.strip_suffix(end)).unwrap_or(stem)
}

fn is_snapshot(path: &str) -> bool {
    matches!(extension(path), "snap" | "ambr" | "approved")
        || path.contains("/__snapshots__/")
        || path.contains(".approved.")
        || path.contains("/__image_snapshots__/")
}

fn is_source(path: &str) -> bool {
    const EXTENSIONS: &[&str] = &[
        "c", "cc", "cpp", "cs", "cxx", "dart", "ex", "exs", "fs", "groovy", "h", "hpp", "kt", "kts", "lua",
        "m", "php", "pl", "ps1", "py", "r", "rb", "scala", "sh", "swift", "vb", "vue", "svelte", "zig",
    ];
    Language::of(path).is_some() || EXTENSIONS.contains(&extension(path))
}

/// Returns whether a file is a script that tests a program.
pub(crate) fn is_script(path: &str) -> bool {
    extension(path) == "txtar" || extension(path) == "txt" && path.contains("testdata/script/")
}

/// Returns whether a path is that of a file with tests or their helpers, by the customs of its language.
fn is_test(path: &str) -> bool {
    if !is_source(path) {
        return is_script(path);
    }
    let name = file_name(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let folders = path.strip_suffix(name).unwrap_or_default();
    let in_folder = folders.split('/').any(|folder| {
        matches!(
            folder,
            "test"
                | "tests"
                | "testing"
                | "__tests__"
                | "spec"
                | "specs"
                | "e2e"
                | "integration-tests"
                | "unittests"
                | "testFixtures"
        ) || folder.ends_with("_tests")
            || folder.ends_with("Tests")
            || folder.ends_with(".Test")
            || matches!(folder, "step_defs" | "step_definitions")
            || folder == "steps" && folders.contains("features/")
    });
    let lower = stem.to_ascii_lowercase();
    let by_name = lower.starts_with("test_")
        || lower.ends_with("_test")
        || lower.ends_with("_tests")
        || lower.ends_with("_spec")
        || lower.rsplit_once('.').is_some_and(|(_, kind)| matches!(kind, "test" | "spec" | "test-d" | "cy"))
        || matches!(lower.as_str(), "test" | "tests" | "conftest")
        || stem.ends_with("Test")
        || stem.ends_with("Tests")
        || stem.ends_with("TestCase")
        || stem.ends_with("Spec")
        || (stem.starts_with("Test") && extension(path) == "java")
        || (stem.ends_with("IT") && extension(path) == "java");
    // What the build puts into the program is none, whatever it is named.
    let is_of_program = extension(path) == "java" && format!("/{path}").contains("/src/main/");
    in_folder || by_name && !is_of_program || is_support(path)
}

/// Returns the format of a file that steers test runners, linters, type checkers or CI.
fn settings_format(path: &str) -> Option<Format> {
    let name = file_name(path);
    let in_workflows = path.starts_with(".github/workflows/") || path.contains("/.github/workflows/");
    let in_ci = in_workflows
        || path.starts_with(".github/actions/")
        || path.starts_with(".circleci/")
        || path.starts_with(".buildkite/")
        || path.starts_with(".gitlab/");
    if matches!(name, "config.toml" | "config") && (path.starts_with(".cargo/") || path.contains("/.cargo/"))
    {
        return Some(Format::Sections);
    }
    if in_ci && matches!(extension(path), "yml" | "yaml") {
        return Some(Format::Yaml);
    }
    Some(match name {
        "pyproject.toml"
        | "ruff.toml"
        | ".ruff.toml"
        | "setup.cfg"
        | "tox.ini"
        | "pytest.ini"
        | ".pytest.ini"
        | "mypy.ini"
        | ".mypy.ini"
        | ".coveragerc"
        | ".flake8"
        | ".pylintrc"
        | "pylintrc"
        | "Cargo.toml"
        | "clippy.toml"
        | ".clippy.toml"
        | "nextest.toml"
        | "tarpaulin.toml"
        | ".golangci.toml"
        | "bunfig.toml"
        | "rust-toolchain.toml"
        | ".bandit" => Format::Sections,
        "package.json" | "tsconfig.json" | ".eslintrc" | ".eslintrc.json" | ".nycrc" | ".nycrc.json"
        | ".c8rc.json" | "jest.config.json" | "biome.json" | "biome.jsonc" | ".stylelintrc"
        | ".stylelintrc.json" | ".mocharc.json" | "pyrightconfig.json" | "deno.json" | "composer.json"
        | "stryker.conf.json" | ".jshintrc" => Format::Json,
        ".gitlab-ci.yml"
        | ".gitlab-ci.yaml"
        | ".travis.yml"
        | "azure-pipelines.yml"
        | "appveyor.yml"
        | ".appveyor.yml"
        | "bitbucket-pipelines.yml"
        | ".drone.yml"
        | ".cirrus.yml"
        | ".pre-commit-config.yaml"
        | "codecov.yml"
        | ".codecov.yml"
        | "codecov.yaml"
        | ".golangci.yml"
        | ".golangci.yaml"
        | ".eslintrc.yml"
        | ".eslintrc.yaml"
        | ".rubocop.yml"
        | ".mocharc.yml"
        | "lefthook.yml"
        | "Taskfile.yml"
        | ".coveralls.yml" => Format::Yaml,
        "Makefile" | "makefile" | "GNUmakefile" | "justfile" | "Justfile" | "noxfile.py" | "pom.xml"
        | "build.gradle" | "build.gradle.kts" | "Jenkinsfile" | "phpunit.xml" | "phpunit.xml.dist"
        | "checkstyle.xml" | ".simplecov" => Format::Text,
        _ if name.starts_with("tsconfig.") && extension(path) == "json" => Format::Json,
        _ if name.starts_with("requirements") => return None,
        _ if is_script_configuration(name) => Format::Text,
        _ if path.contains(".husky/") => Format::Text,
        "staticcheck.conf" => Format::Sections,
        _ if is_list(path) => Format::Text,
        _ => return tool_files::format(path),
    })
}

/// Returns whether a file is the configuration of a tool of the JavaScript ecosystem, written as code.
fn is_script_configuration(name: &str) -> bool {
    const TOOLS: &[&str] = &[
        "jest",
        "vitest",
        "vite",
        "eslint",
        "playwright",
        "cypress",
        "karma",
        "ava",
        "stryker",
        "nyc",
        "c8",
    ];
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    let is_script = matches!(extension, "js" | "cjs" | "mjs" | "ts" | "mts" | "cts");
    let stem = stem.strip_prefix('.').unwrap_or(stem);
    let tool = stem
        .strip_suffix(".config")
        .or_else(|| stem.strip_suffix(".conf"))
        .or_else(|| stem.strip_suffix("rc"));
    is_script && tool.is_some_and(|tool| TOOLS.contains(&tool))
}
