//! Untrusted build output: files in folders that Git ignores, which commands of the same run have changed and a program of the
//! configuration runs. They are carried from one command to the next, because builds need them, and no reviewer sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use shell::{Simple, Word, analyse};

use workspace::WorkspacePath;

use super::tool_folders::tool_folder;

/// Files that Git ignores and that commands have changed, each with the hook or gate that has; none for commands of the agent's.
pub(super) type Built = BTreeMap<WorkspacePath, Option<String>>;

/// Programs that run tools from such a folder without naming it.
const RUNNERS: [(&str, &str); 7] = [
    ("node npx pnpx bunx npm pnpm yarn bun lerna nx deno tsx", "node_modules"),
    ("poetry uv pipenv hatch pdm rye", ".venv"),
    ("yarn", ".yarn"),
    ("php composer bundle bundler rake rspec", "vendor"),
    ("ruby bundle bundler rake rspec", ".bundle"),
    ("tox", ".tox"),
    ("nox", ".nox"),
];

/// Returns the changed files among those that a command line runs or names: of each folder the first, and how many more
/// there are. `built` are the ignored files that commands have changed, and `path` is the `PATH`.
pub(super) fn doubts(line: &str, path: Option<&str>, root: &Path, built: &Built) -> Vec<String> {
    if built.is_empty() {
        return Vec::new();
    }
    let mut found: BTreeMap<WorkspacePath, BTreeSet<&WorkspacePath>> = BTreeMap::new();
    for simple in &analyse(line).commands {
        for named in named(simple, path, root) {
            // A file, or a folder of which everything may be run.
            let place = tool_folder(&named).unwrap_or(named);
            let within = built.keys().filter(|file| file.is_within(&place));
            found.entry(place.clone()).or_default().extend(within);
        }
        let name =
            simple.words.first().and_then(Word::text).map(|name| name.rsplit('/').next().unwrap_or(name));
        let runs = |names: &str| name.is_some_and(|name| names.split(' ').any(|runner| runner == name));
        for (_, folder) in RUNNERS.iter().filter(|(names, _)| runs(names)) {
            for file in built.keys().filter(|file| file.names().any(|part| part == *folder)) {
                found.entry(tool_folder(file).unwrap_or_else(|| file.clone())).or_default().insert(file);
            }
        }
    }
    let doubts = found.iter().filter_map(|(place, files)| {
        let first = files.first()?;
        // Those of a gate that installs something are no surprise to people who read its name.
        let owners: Option<BTreeSet<&str>> =
            files.iter().map(|file| built.get(*file).and_then(Option::as_deref)).collect();
        let by = owners.map_or_else(String::new, |owners| {
            format!(" (by the {})", owners.into_iter().collect::<Vec<_>>().join(" and the "))
        });
        Some(match files.len() - 1 {
            0 => format!("{first}{by}"),
            more => format!("{first} and {more} more in {place}{by}"),
        })
    });
    let doubts: BTreeSet<String> = doubts.collect();
    doubts.into_iter().collect()
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
        let parse = |path: &&str| WorkspacePath::parse(path).ok();
        let built: Built = built.iter().filter_map(parse).map(|path| (path, None)).collect();
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
        assert!(doubts("npx eslint", None, root, &Built::new()).is_empty());
        let by_gates = [
            ("node_modules/.bin/eslint", Some("gate install")),
            ("node_modules/a.js", Some("gate install")),
            (".venv/bin/lint", Some("gate tests")),
            (".venv/bin/other", None),
            (".yarn/cache/a.zip", Some("hook setup")),
        ];
        let owned = |(path, owner): &(&str, Option<&str>)| Some((parse(path)?, owner.map(str::to_owned)));
        let built: Built = by_gates.iter().filter_map(owned).collect();
        for (line, expected) in [
            ("npx eslint .", "node_modules/.bin/eslint and 1 more in node_modules (by the gate install)"),
            (".venv/bin/lint", ".venv/bin/lint and 1 more in .venv"),
        ] {
            assert_eq!(doubts(line, None, root, &built).join("|"), expected, "{line}");
        }
        let yarn = doubts("yarn test", None, root, &built).join("|");
        assert!(yarn.contains(".yarn/cache/a.zip (by the hook setup)"), "{yarn}");
    }
}
