//! Files that programs load without being told to: settings that are found by their names, and code that is loaded before a
//! program's own. A command can leave such a file where Git ignores it, and no reviewer sees it.

use std::path::Path;

use workspace::WorkspacePath;

use super::doubt::tool_folder;

/// Names of settings, and of code that is loaded by its name alone.
const NAMES: [&str; 60] = [
    // Python
    "conftest.py",
    "sitecustomize.py",
    "usercustomize.py",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    "tox.ini",
    "setup.cfg",
    "setup.py",
    "pyproject.toml",
    "noxfile.py",
    ".coveragerc",
    "mypy.ini",
    "ruff.toml",
    ".ruff.toml",
    "pip.conf",
    "uv.toml",
    "poetry.toml",
    "manage.py",
    // Node
    "package.json",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    "bunfig.toml",
    "deno.json",
    "tsconfig.json",
    // Rust, Go
    "build.rs",
    "rust-toolchain",
    "rust-toolchain.toml",
    "go.work",
    "go.mod",
    // Ruby, PHP
    "gemfile",
    ".rspec",
    "rakefile",
    "phpunit.xml",
    "composer.json",
    ".user.ini",
    // Java
    "gradle.properties",
    "init.gradle",
    "settings.gradle",
    "build.gradle",
    "pom.xml",
    "maven.config",
    "jvm.config",
    "local.properties",
    "junit-platform.properties",
    // Others
    "gnumakefile",
    "makefile",
    "justfile",
    ".justfile",
    "cmakepresets.json",
    "cmakeuserpresets.json",
    ".bazelrc",
    ".envrc",
    ".tool-versions",
    ".mise.toml",
    ".lldbinit",
    ".gdbinit",
    ".env",
];

/// How names of such files begin, whose rest is an extension or the name of an environment.
const BEGINNINGS: [&str; 15] = [
    ".env.",
    ".babelrc",
    ".eslintrc",
    ".mocharc",
    ".prettierrc",
    ".nycrc",
    ".swcrc",
    "babel.config.",
    "eslint.config.",
    "jest.config.",
    "karma.conf.",
    "playwright.config.",
    "vite.config.",
    "vitest.config.",
    "webpack.config.",
];

/// The same for files that count only in certain folders.
const IN_FOLDERS: [(&str, &str); 5] = [
    (".cargo", "config"),
    (".cargo", "config.toml"),
    (".bundle", "config"),
    (".mvn", "extensions.xml"),
    (".config", "nextest.toml"),
];

/// Folders that builds fill, in which nothing is run as a project.
const OF_BUILDS: [&str; 2] = ["target", "__pycache__"];

/// Returns whether programs load or follow a file because of its name. What is in folders of tools is judged by who runs them.
pub(super) fn is_auto_loaded(path: &WorkspacePath) -> bool {
    if tool_folder(path).is_some_and(|folder| folder != *path)
        || path.parent().is_some_and(|folder| folder.names().any(|name| OF_BUILDS.contains(&name)))
    {
        return false;
    }
    let Some(name) = path.file_name().map(str::to_ascii_lowercase) else { return false };
    let folder = path.parent();
    let folder = folder.as_ref().and_then(WorkspacePath::file_name).unwrap_or_default();
    NAMES.contains(&name.as_str())
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || IN_FOLDERS.contains(&(folder, name.as_str()))
        || has_loaded_extension(&name)
}

/// Returns whether an interpreter loads a file in the place of a source, or before all others.
fn has_loaded_extension(name: &str) -> bool {
    [".pth", ".pyc", ".egg-link"].iter().any(|extension| name.ends_with(extension))
}

/// Returns whether a file is the bytecode of a Python source. Python trusts it as long as it claims to belong to the
/// source, and makes it anew where it is missing.
pub(super) fn is_bytecode(path: &WorkspacePath) -> bool {
    let folder = path.parent();
    let is_cache = folder.as_ref().and_then(WorkspacePath::file_name) == Some("__pycache__");
    is_cache && Path::new(path.as_str()).extension() == Some("pyc".as_ref()) && tool_folder(path).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> WorkspacePath {
        WorkspacePath::parse(text).expect("a path")
    }

    #[test]
    fn auto_loaded_files_are_known_by_name() {
        for (text, auto_loaded) in [
            ("conftest.py", true),
            ("tests/conftest.py", true),
            ("lib/extra.pth", true),
            ("json.pyc", true),
            (".npmrc", true),
            ("app/.npmrc", true),
            (".env", true),
            (".env.test", true),
            (".cargo/config.toml", true),
            ("config.toml", false),
            ("GNUmakefile", true),
            ("jest.config.local.js", true),
            ("node_modules/a/package.json", false),
            (".venv/lib/a.pth", false),
            ("target/package/a/build.rs", false),
            ("__pycache__/a.cpython-311.pyc", false),
            ("target/debug/app", false),
            ("out.log", false),
        ] {
            assert_eq!(is_auto_loaded(&path(text)), auto_loaded, "{text}");
        }
    }

    #[test]
    fn bytecode_belongs_to_sources_of_the_project() {
        for (text, bytecode) in [
            ("__pycache__/a.cpython-311.pyc", true),
            ("src/app/__pycache__/a.cpython-311.opt-1.pyc", true),
            ("a.pyc", false),
            ("__pycache__/notes.txt", false),
            (".venv/lib/python3.11/site-packages/__pycache__/a.cpython-311.pyc", false),
        ] {
            assert_eq!(is_bytecode(&path(text)), bytecode, "{text}");
        }
    }
}
