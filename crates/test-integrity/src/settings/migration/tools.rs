//! Tool that a setting is for, by its file and its section, and the purpose of that tool.

use crate::files::file_name;

/// What tools are for: those of one purpose take the place of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Purpose {
    ScriptLint,
    ScriptTests,
    BrowserTests,
    PythonLint,
    PythonTests,
    PythonTypes,
    JavaBuild,
}

/// Tool with what it is for.
pub(super) type Tool = (Purpose, &'static str);

/// Returns the tool whose settings alone a file holds.
pub(super) fn of_file(path: &str) -> Option<Tool> {
    use Purpose::{BrowserTests, JavaBuild, PythonLint, PythonTests, PythonTypes, ScriptLint, ScriptTests};
    /// Names of files, by their beginnings.
    const FILES: &[(&str, Tool)] = &[
        (".eslintrc", (ScriptLint, "ESLint")),
        ("eslint.config.", (ScriptLint, "ESLint")),
        (".eslintignore", (ScriptLint, "ESLint")),
        ("tslint.json", (ScriptLint, "TSLint")),
        (".jshintrc", (ScriptLint, "JSHint")),
        ("biome.json", (ScriptLint, "Biome")),
        (".oxlintrc.json", (ScriptLint, "oxlint")),
        ("jest.config.", (ScriptTests, "Jest")),
        ("vitest.config.", (ScriptTests, "Vitest")),
        ("vite.config.", (ScriptTests, "Vitest")),
        ("karma.conf.", (ScriptTests, "Karma")),
        (".mocharc", (ScriptTests, "Mocha")),
        (".nycrc", (ScriptTests, "nyc")),
        (".c8rc", (ScriptTests, "c8")),
        ("cypress.config.", (BrowserTests, "Cypress")),
        ("playwright.config.", (BrowserTests, "Playwright")),
        (".flake8", (PythonLint, "flake8")),
        (".pylintrc", (PythonLint, "pylint")),
        ("pylintrc", (PythonLint, "pylint")),
        (".isort.cfg", (PythonLint, "isort")),
        ("ruff.toml", (PythonLint, "Ruff")),
        (".ruff.toml", (PythonLint, "Ruff")),
        ("pytest.ini", (PythonTests, "pytest")),
        (".pytest.ini", (PythonTests, "pytest")),
        (".coveragerc", (PythonTests, "coverage")),
        ("mypy.ini", (PythonTypes, "mypy")),
        (".mypy.ini", (PythonTypes, "mypy")),
        ("pyrightconfig.json", (PythonTypes, "Pyright")),
        ("pom.xml", (JavaBuild, "Maven")),
        ("build.gradle", (JavaBuild, "Gradle")),
    ];
    let name = file_name(path);
    FILES.iter().find(|(begin, _)| name.starts_with(begin)).map(|(_, tool)| *tool)
}

/// Returns the tool of a setting of a file that several tools share.
pub(super) fn of_section(path: &str, key: &str) -> Option<Tool> {
    use Purpose::{PythonLint, PythonTests, PythonTypes, ScriptLint, ScriptTests};
    /// Names of sections, by their beginnings.
    const PYTHON: &[(&str, Tool)] = &[
        ("tool.ruff", (PythonLint, "Ruff")),
        ("tool.flake8", (PythonLint, "flake8")),
        ("flake8", (PythonLint, "flake8")),
        ("pycodestyle", (PythonLint, "pycodestyle")),
        ("tool.pylint", (PythonLint, "pylint")),
        ("pylint", (PythonLint, "pylint")),
        ("tool.isort", (PythonLint, "isort")),
        ("isort", (PythonLint, "isort")),
        ("tool.pytest", (PythonTests, "pytest")),
        ("tool:pytest", (PythonTests, "pytest")),
        ("pytest", (PythonTests, "pytest")),
        ("nosetests", (PythonTests, "nose")),
        ("tool.coverage", (PythonTests, "coverage")),
        ("coverage:", (PythonTests, "coverage")),
        ("tool.mypy", (PythonTypes, "mypy")),
        ("mypy", (PythonTypes, "mypy")),
        ("tool.pyright", (PythonTypes, "Pyright")),
        ("tool.basedpyright", (PythonTypes, "Pyright")),
    ];
    const PACKAGE: &[(&str, Tool)] = &[
        ("eslintConfig.", (ScriptLint, "ESLint")),
        ("eslintIgnore", (ScriptLint, "ESLint")),
        ("jest.", (ScriptTests, "Jest")),
        ("vitest.", (ScriptTests, "Vitest")),
        ("mocha.", (ScriptTests, "Mocha")),
        ("nyc.", (ScriptTests, "nyc")),
        ("c8.", (ScriptTests, "c8")),
    ];
    let table = match file_name(path) {
        "pyproject.toml" | "setup.cfg" | "tox.ini" => PYTHON,
        "package.json" => PACKAGE,
        _ => return None,
    };
    table.iter().find(|(begin, _)| key.starts_with(begin)).map(|(_, tool)| *tool)
}
