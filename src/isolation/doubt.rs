//! Doubt about a program of the configuration's: what it runs from folders that Git ignores, and that commands of the same
//! run have changed. Such files are carried from one command to the next, because builds need them, and no reviewer
//! sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use shell::{Simple, Word, analyse};

use workspace::WorkspacePath;

/// Folders in which tools of a project are installed.
const TOOL_FOLDERS: [&str; 12] = [
    "node_modules",
    ".venv",
    "venv",
    "env",
    ".env",
    "vendor",
    ".tox",
    ".nox",
    ".bundle",
    ".yarn",
    ".direnv",
    ".tools",
];

/// Programs that run tools from such a folder without naming it.
const RUNNERS: [(&str, &str); 5] = [
    ("node npx pnpx bunx npm pnpm yarn bun lerna nx deno tsx", "node_modules"),
    ("poetry uv pipenv hatch pdm rye", ".venv"),
    ("php composer bundle bundler rake rspec", "vendor"),
    ("tox", ".tox"),
    ("nox", ".nox"),
];

/// Returns the changed files among those that a command line runs or names: of each folder the first, and how many more
/// there are. `built` are the ignored files that commands have changed, and `path` is the `PATH`.
pub(super) fn doubts(
    line: &str,
    path: Option<&str>,
    root: &Path,
    built: &BTreeSet<WorkspacePath>,
) -> Vec<String> {
    if built.is_empty() {
        return Vec::new();
    }
    let mut found: BTreeMap<WorkspacePath, BTreeSet<&WorkspacePath>> = BTreeMap::new();
    for simple in &analyse(line).commands {
        for named in named(simple, path, root) {
            // A file, or a folder of which everything may be run.
            let place = tool_folder(&named).unwrap_or(named);
            let within = built.iter().filter(|file| file.is_within(&place));
            found.entry(place.clone()).or_default().extend(within);
        }
        let name =
            simple.words.first().and_then(Word::text).map(|name| name.rsplit('/').next().unwrap_or(name));
        let runs = |names: &str| name.is_some_and(|name| names.split(' ').any(|runner| runner == name));
        for (_, folder) in RUNNERS.iter().filter(|(names, _)| runs(names)) {
            for file in built.iter().filter(|file| file.names().any(|part| part == *folder)) {
                found.entry(tool_folder(file).unwrap_or_else(|| file.clone())).or_default().insert(file);
            }
        }
    }
    let told = found.iter().filter_map(|(place, files)| {
        let first = files.first()?;
        Some(match files.len() - 1 {
            0 => first.to_string(),
            more => format!("{first} and {more} more in {place}"),
        })
    });
    let told: BTreeSet<String> = told.collect();
    told.into_iter().collect()
}

/// Returns the files and folders of the checkout that a command names: as a program, in an argument, as the value of an
/// option, or in a variable that it sets.
fn named(simple: &Simple, path: Option<&str>, root: &Path) -> Vec<WorkspacePath> {
    let values = |text: &str| -> Vec<String> {
        let value = text.split_once('=').map(|(_, value)| value);
        std::iter::once(text).chain(value).flat_map(|text| text.split(':')).map(str::to_owned).collect()
    };
    let words = simple.words.iter().filter_map(Word::text).flat_map(values);
    let variables = simple.assignments.iter().filter(|(name, _)| name != "PATH");
    let variables = variables.filter_map(|(_, value)| value.text()).flat_map(values);
    let mut named: Vec<WorkspacePath> =
        words.chain(variables).filter_map(|text| within(&text, root)).collect();
    let Some(program) = simple.words.first().and_then(Word::text).filter(|name| !name.contains('/')) else {
        return named;
    };
    let assigned =
        simple.assignments.iter().filter(|(name, _)| name == "PATH").map(|(_, value)| value.raw.as_str());
    let folders = assigned.chain(path).flat_map(|path| path.split(':'));
    let folders = folders.map(|folder| folder.trim_matches(['"', '\'']).trim_start_matches("$PWD/"));
    named.extend(folders.filter_map(|folder| within(&format!("{folder}/{program}"), root)));
    named
}

/// Returns the path in the checkout that a word names, if it is one.
fn within(text: &str, root: &Path) -> Option<WorkspacePath> {
    let below = match Path::new(text).strip_prefix(root) {
        Ok(below) => below.to_str()?,
        Err(_) => text,
    };
    WorkspacePath::parse(below).ok().filter(|path| !path.is_root())
}

/// Returns the folder of tools that a file belongs to.
pub(super) fn tool_folder(path: &WorkspacePath) -> Option<WorkspacePath> {
    let mut folder = WorkspacePath::root();
    for name in path.names() {
        folder = folder.child(name);
        if TOOL_FOLDERS.contains(&name) {
            return Some(folder);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_a_line_runs_from_ignored_folders_are_found() {
        let root = Path::new("/work/repo");
        let built = [
            "node_modules/.bin/eslint",
            "node_modules/eslint/lib/api.js",
            ".venv/bin/pytest",
            "target/debug/xtask",
            "app/node_modules/.bin/jest",
            "out/run",
            "dist/main.js",
            "dist/test/all.js",
        ];
        let built: BTreeSet<WorkspacePath> =
            built.iter().filter_map(|path| WorkspacePath::parse(path).ok()).collect();
        let node = "app/node_modules/.bin/jest|node_modules/.bin/eslint and 1 more in node_modules";
        for (line, path, expected) in [
            ("cargo test", "", ""),
            ("make lint", "/usr/bin", ""),
            ("target/debug/xtask check", "", "target/debug/xtask"),
            ("./target/debug/xtask", "", "target/debug/xtask"),
            ("/work/repo/target/debug/xtask", "", "target/debug/xtask"),
            ("target/debug/other", "", ""),
            ("cd . && bash out/run", "", "out/run"),
            ("node_modules/.bin/eslint .", "", "node_modules/.bin/eslint and 1 more in node_modules"),
            ("npx eslint .", "", node),
            ("timeout 60 npm test", "", node),
            ("pytest", "/work/repo/.venv/bin:/usr/bin", ".venv/bin/pytest"),
            ("pytest", "/usr/bin", ""),
            ("PATH=.venv/bin:$PATH pytest", "/usr/bin", ".venv/bin/pytest"),
            (". .venv/bin/activate && pytest", "", ".venv/bin/pytest"),
            ("poetry run pytest", "", ".venv/bin/pytest"),
            ("echo $(target/debug/xtask)", "", "target/debug/xtask"),
            ("sh dist/main.js", "", "dist/main.js"),
            ("cd dist && ./main.js", "", "dist/main.js and 1 more in dist"),
            ("mocha --spec=dist/test", "", "dist/test/all.js"),
            ("PYTHONPATH=src:dist python3 -m main", "", "dist/main.js and 1 more in dist"),
            ("ruby -I out:lib t.rb", "", "out/run"),
            ("ls distant", "", ""),
        ] {
            assert_eq!(doubts(line, Some(path), root, &built).join("|"), expected, "{line}");
        }
        assert!(doubts("npx eslint", None, root, &BTreeSet::new()).is_empty());
    }
}
