//! Files that programs load without being told to: settings that are found by their names, and code that is loaded before a
//! program's own. A command can leave such a file where Git ignores it, and no reviewer sees it.

use workspace::{WorkspacePath, is_bytecode};

use super::tool_folders::ToolFolders;

/// Names of settings, and of code that is loaded by its name alone.
const NAMES: [&str; 79] = [
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
    ".pylintrc",
    "pylintrc",
    // Node
    "package.json",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    ".pnp.cjs",
    ".pnp.loader.mjs",
    "bunfig.toml",
    "deno.json",
    "deno.jsonc",
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
    ".rspec-local",
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
    // .NET, Haskell
    "directory.build.props",
    "directory.build.targets",
    "directory.build.rsp",
    "nuget.config",
    "cabal.project.local",
    "cabal.project.freeze",
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
    ".mise.local.toml",
    "mise.toml",
    "mise.local.toml",
    "compose.override.yml",
    "compose.override.yaml",
    "docker-compose.override.yml",
    "docker-compose.override.yaml",
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

/// The same for files that count only in certain folders; `*` is any file there.
const IN_FOLDERS: [(&str, &str); 7] = [
    (".cargo", "config"),
    (".cargo", "config.toml"),
    (".bundle", "config"),
    (".mvn", "extensions.xml"),
    (".config", "nextest.toml"),
    (".yarn/releases", "*"),
    (".yarn/plugins", "*"),
];

/// Folders of tools that also hold what steers their programs.
const WITH_SETTINGS: [&str; 2] = [".bundle", ".yarn"];

/// Extensions of what an interpreter loads in the place of a source, or before all others.
const INSTEAD_OF_SOURCES: [&str; 3] = [".pth", ".pyc", ".egg-link"];

/// Extensions of shared libraries, which Python prefers to a source of the same name.
const LIBRARIES: [&str; 2] = [".so", ".pyd"];

/// Extensions of settings that are found beside the file that they belong to.
const SETTINGS: [&str; 4] = [".gradle.kts", ".csproj.user", ".fsproj.user", ".vbproj.user"];

/// Returns whether programs load or follow a file because of its name. What is in folders of tools is judged by who runs them.
pub(super) fn is_auto_loaded(path: &WorkspacePath, folders: &ToolFolders) -> bool {
    let Some(name) = path.file_name().map(str::to_ascii_lowercase) else { return false };
    let parent = path.parent().unwrap_or_else(WorkspacePath::root);
    let is_in = |folder: &str| format!("/{parent}/").contains(&format!("/{folder}/"));
    let counts_there = |(folder, file): &(&str, &str)| match *file {
        "*" => is_in(folder),
        file => file == name && format!("/{parent}").ends_with(&format!("/{folder}")),
    };
    let is_named_there = IN_FOLDERS.iter().any(counts_there);
    if let Some(tools) = folders.of_tools(path) {
        return is_named_there && tools.file_name().is_some_and(|name| WITH_SETTINGS.contains(&name));
    }
    let ends_with = |extensions: &[&str]| extensions.iter().any(|extension| name.ends_with(extension));
    // Builds leave libraries and copies of projects, but hardly anything that is loaded in the place of a source.
    ends_with(&INSTEAD_OF_SOURCES)
        || is_bytecode(path)
        || is_named_there && !folders.is_built(path)
        || ends_with(&LIBRARIES) && (name.starts_with("__init__.") || !folders.is_library(path))
        || !folders.is_built(path)
            && (NAMES.contains(&name.as_str())
                || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
                || ends_with(&SETTINGS))
}

/// Returns whether Python trusts a file, and would create it again: bytecode of a source outside of tool folders.
pub(super) fn is_bytecode_of_project(path: &WorkspacePath, folders: &ToolFolders) -> bool {
    is_bytecode(path) && folders.of_tools(path).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> WorkspacePath {
        WorkspacePath::parse(text).expect("a path")
    }

    #[test]
    fn auto_loaded_files_are_known_by_name() {
        let folders = ToolFolders::new([path("app/vendor/a.py"), path("web/node_modules/own/a.js")].iter());
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
            ("web/node_modules/own/package.json", true),
            (".venv/lib/a.pth", false),
            (".venv/lib/__pycache__/a.cpython-311.pyc", false),
            ("app/vendor/__pycache__/a.cpython-311.pyc", true),
            ("target/package/a/build.rs", false),
            ("target/c/a.cpython-311.pyc", true),
            ("app/__pycache__", true),
            ("target/debug/app", false),
            ("out.log", false),
            // Of one language each.
            ("calc.so", true),
            ("app/calc.cpython-311-x86_64-linux-gnu.so", true),
            ("calc.pyd", true),
            ("target/debug/libapp.so", false),
            ("build/lib/calc.so", false),
            ("app/build/__init__.cpython-311-x86_64-linux-gnu.so", true),
            (".bundle/config", true),
            (".bundle/gems/a/config", false),
            ("vendor/crate/.cargo/config.toml", false),
            (".rspec-local", true),
            (".pnp.cjs", true),
            (".yarn/releases/yarn-4.cjs", true),
            (".yarn/plugins/@a/b.cjs", true),
            (".yarn/cache/a.zip", false),
            ("src/App.csproj.user", true),
            ("cabal.project.local", true),
            ("mise.local.toml", true),
            (".pylintrc", true),
            ("build.gradle.kts", true),
            ("app/extra.gradle.kts", true),
            ("docker-compose.override.yml", true),
            ("deno.jsonc", true),
        ] {
            assert_eq!(is_auto_loaded(&path(text), &folders), auto_loaded, "{text}");
        }
    }

    #[test]
    fn bytecode_of_the_project_is_in_no_folder_of_tools() {
        let folders = ToolFolders::new([path("app/vendor/a.py")].iter());
        for (text, bytecode) in [
            ("__pycache__/a.cpython-311.pyc", true),
            ("app/vendor/__pycache__/a.cpython-311.pyc", true),
            ("app/__pycache__", true),
            ("a.pyc", false),
            (".venv/lib/python3.11/site-packages/__pycache__/a.cpython-311.pyc", false),
        ] {
            assert_eq!(is_bytecode_of_project(&path(text), &folders), bytecode, "{text}");
        }
    }
}
