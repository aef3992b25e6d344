//! From a batch as it is written to its tasks: placeholders get their values, each in the form that its place needs.

use std::collections::{BTreeMap, BTreeSet};

use sanitize::untrusted::visible;
use workspace::{Glob, WorkspacePath};

use super::file::{BatchFile, Entry, Source};
use super::manifest::{Manifest, ManifestError, Task, slug};
use super::problem::MAX_TASKS;
use super::problem::{LinesError, Problem};
use crate::base::bounded::Bounded;
use crate::base::command_template::{CommandTemplate, Dialect, operand};
use crate::base::integrity::digest;
use crate::base::template::{fill, is_name, names, path_part};
use crate::base::text::shortened;

/// Most characters of a value in a task's text.
const MAX_VALUE: usize = 300;

/// Assumed size of a task that says nothing about it.
const UNKNOWN_SIZE: u64 = 10_000;

/// Which parts of a path have placeholders of their own: `{file_stem}` for `{file}`.
const PARTS: [&str; 3] = ["dir", "name", "stem"];

/// What the sources of values are asked of.
pub struct ExpansionSources<'a> {
    /// Files of the commit with their sizes, sorted by path.
    pub files: &'a [(String, u64)],
    /// Runs a command and gives what it prints.
    pub lines: &'a dyn Fn(&str) -> Result<String, LinesError>,
}

/// Makes the tasks of a batch.
pub fn expand(
    batch: &BatchFile,
    sources: &ExpansionSources<'_>,
    file: (&str, &str),
    commit: &str,
) -> Result<Manifest, ManifestError> {
    let (shown, text) = file;
    let wrong = |place: &str, problem: Problem| ManifestError::File {
        file: shown.to_owned(),
        place: place.to_owned(),
        problem,
    };
    let defaults = &batch.defaults;
    if slug(&batch.name).is_empty() {
        return Err(wrong("name", Problem::Name));
    }
    if defaults.id.is_some()
        || !defaults.for_each.is_empty()
        || defaults.task.is_some()
        || defaults.task_file.is_some()
    {
        return Err(wrong("defaults", Problem::OnlyInTasks));
    }
    let mut tasks: Vec<(Task, Origin)> = Vec::new();
    for (index, entry) in batch.tasks.iter().enumerate() {
        let place = format!("tasks[{index}]");
        let entry = entry.clone().over(defaults);
        check(&entry).map_err(|problem| wrong(&place, problem))?;
        let mut sets = vec![BTreeMap::new()];
        for (name, source) in &entry.for_each {
            let place = format!("{place}.for_each.{name}");
            if !is_name(name) {
                return Err(wrong(&place, Problem::InvalidPlaceholder));
            }
            let values = values(source, sources).map_err(|problem| wrong(&place, problem))?;
            if sets.len().saturating_mul(values.len()) > MAX_TASKS {
                return Err(wrong(&place, Problem::TooManyCombinations));
            }
            sets = sets
                .iter()
                .flat_map(|set: &BTreeMap<String, String>| {
                    values.iter().map(|value| {
                        let mut set = set.clone();
                        set.insert(name.clone(), value.clone());
                        set
                    })
                })
                .collect();
        }
        for set in sets {
            let origin = if set.is_empty() { Origin::Written } else { Origin::Generated };
            tasks.push((task(&entry, &set, sources).map_err(|problem| wrong(&place, problem))?, origin));
        }
    }
    if tasks.len() > MAX_TASKS {
        return Err(wrong("tasks", Problem::TooManyTasks));
    }
    let tasks = assign_unique_ids(tasks).map_err(|problem| wrong("tasks", problem))?;
    let mut manifest = Manifest::new(&batch.name, commit, text, tasks);
    manifest.budget_usd = batch.budget_usd;
    manifest.pilot.clone_from(&batch.pilot);
    manifest.timeout = batch.timeout.map(Bounded::get);
    manifest.requests_per_minute = batch.requests_per_minute.map(Bounded::get);
    Ok(manifest)
}

fn check(entry: &Entry) -> Result<(), Problem> {
    let Some(id) = &entry.id else { return Err(Problem::NoId) };
    let given = [entry.task.is_some(), entry.task_file.is_some(), entry.recipe.is_some()];
    match given {
        [true, true, _] => return Err(Problem::TwoTexts),
        [false, false, false] => return Err(Problem::Nothing),
        _ => {}
    }
    if entry.recipe.is_some() && entry.model.is_some() {
        return Err(Problem::RecipeAndModel);
    }
    for name in entry.for_each.keys() {
        if !names(id).any(|used| used == name || parts_of(name).any(|part| part == used)) {
            return Err(Problem::SameIds(name.clone()));
        }
    }
    let texts = [
        Some(id),
        entry.task.as_ref(),
        entry.task_file.as_ref(),
        entry.recipe.as_ref(),
        entry.model.as_ref(),
    ];
    let more = [entry.agent.as_ref(), entry.folder.as_ref()];
    let gates = entry.gates.iter().flat_map(|gate| [Some(&gate.name), Some(&gate.command)]);
    let until = entry.until.iter().map(Some);
    let folders = entry.sparse.iter().flatten().chain(&entry.shared).map(Some);
    for text in texts.into_iter().chain(more).chain(gates).chain(until).chain(folders).flatten() {
        let known = |name: &str| {
            entry.for_each.keys().any(|key| key == name || parts_of(key).any(|part| part == name))
        };
        if let Some(unknown) = names(text).find(|name| !known(name)) {
            return Err(Problem::UnknownPlaceholder(unknown.to_owned()));
        }
    }
    Ok(())
}

fn parts_of(name: &str) -> impl Iterator<Item = String> {
    PARTS.iter().map(move |part| format!("{name}_{part}"))
}

/// Returns the values of a placeholder, sorted where their order means nothing.
fn values(source: &Source, sources: &ExpansionSources<'_>) -> Result<Vec<String>, Problem> {
    source.check()?;
    let exclude = source.exclude.iter().map(|glob| Glob::parse(glob)).collect::<Result<Vec<_>, _>>()?;
    let mut values: Vec<String> = if !source.values.is_empty() {
        source.values.clone()
    } else if !source.files.is_empty() {
        let globs = source.files.iter().map(|glob| Glob::parse(glob)).collect::<Result<Vec<_>, _>>()?;
        let fits = |path: &&String| globs.iter().any(|glob| glob.matches(path));
        sources.files.iter().map(|(path, _)| path).filter(fits).cloned().collect()
    } else if let Some(command) = &source.lines {
        let output = (sources.lines)(command).map_err(|error| Problem::Lines(Box::new(error)))?;
        output.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
    } else {
        let folder = |path: &String| {
            let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
            source.folders_with.iter().any(|wanted| wanted == name).then(|| folder.to_owned())
        };
        let folders: BTreeSet<String> = sources.files.iter().filter_map(|(path, _)| folder(path)).collect();
        folders.into_iter().collect()
    };
    values.retain(|value| !exclude.iter().any(|glob| glob.matches(value)));
    let mut seen = BTreeSet::new();
    values.retain(|value| seen.insert(value.clone()));
    if values.iter().any(|value| value.contains('\0')) {
        return Err(Problem::Nul);
    }
    Ok(values)
}

/// Makes one task: values are taken as they are in names and paths, quoted in command lines, and made harmless in what
/// a model reads.
fn task(
    entry: &Entry,
    set: &BTreeMap<String, String>,
    sources: &ExpansionSources<'_>,
) -> Result<Task, Problem> {
    let value = |name: &str| {
        set.get(name).cloned().or_else(|| {
            let (key, part) = name.rsplit_once('_')?;
            path_part(set.get(key)?, part).filter(|_| PARTS.contains(&part)).map(str::to_owned)
        })
    };
    let raw = |text: &String| fill(text, value);
    let is_path = |name: &str| {
        let key = name.rsplit_once('_').map_or(name, |(key, _)| key);
        [name, key].into_iter().filter_map(|key| entry.for_each.get(key)).any(Source::lists_paths)
    };
    let word = |name: &str| {
        let value = value(name)?;
        Some(if is_path(name) { operand(&value).into_owned() } else { value })
    };
    let quoted = |text: &String| {
        let template = CommandTemplate::parse(text, Dialect::Shell, |name| value(name).is_some())?;
        Ok::<_, Problem>(template.fill(|name| Some(vec![word(name)?])))
    };
    let read = |text: &String| fill(text, |name| Some(harmless(&value(name)?)));
    let is_command = entry.model.as_ref().is_some_and(|model| model.trim_start().starts_with("exec::"));
    let mut filled = entry.clone();
    filled.for_each.clear();
    filled.id = None;
    filled.task = entry.task.as_ref().map(read);
    filled.task_file = entry.task_file.as_ref().map(raw);
    filled.recipe = entry.recipe.as_ref().map(raw);
    filled.model = match &entry.model {
        Some(command) if is_command => Some(quoted(command)?),
        model => model.as_ref().map(raw),
    };
    filled.agent = entry.agent.as_ref().map(raw);
    filled.folder = entry.folder.as_ref().map(raw);
    if let Some(folder) = &filled.folder {
        WorkspacePath::parse(folder).map_err(|error| Problem::Folder { folder: folder.clone(), error })?;
    }
    filled.sparse = entry.sparse.as_ref().map(|folders| folders.iter().map(raw).collect());
    filled.shared = entry.shared.iter().map(raw).collect();
    for folder in filled.sparse.iter().flatten().chain(&filled.shared) {
        WorkspacePath::parse(folder).map_err(|error| Problem::Folder { folder: folder.clone(), error })?;
    }
    filled.until = entry.until.iter().map(quoted).collect::<Result<_, _>>()?;
    for gate in &mut filled.gates {
        gate.name = read(&gate.name);
        gate.command = quoted(&gate.command)?;
    }
    let id = slug(&entry.id.as_ref().map(raw).unwrap_or_default());
    if id.is_empty() {
        return Err(Problem::EmptyId(format!("{set:?}")));
    }
    let size = set.values().map(|value| size(value, sources)).sum::<u64>();
    Ok(Task { id, entry: filled, size: if size == 0 { UNKNOWN_SIZE } else { size } })
}

/// Returns the size of what is below a path, in bytes; 0 if the value is no path.
fn size(value: &str, sources: &ExpansionSources<'_>) -> u64 {
    if value == "." {
        return sources.files.iter().map(|(_, size)| size).sum();
    }
    let (folder, from) = (format!("{value}/"), value.to_owned());
    let start = sources.files.partition_point(|(path, _)| *path < from);
    // `a-b` lies between `a` and `a/b`.
    let near = sources.files[start..].iter().take_while(|(path, _)| path.starts_with(value));
    near.filter(|(path, _)| path == value || path.starts_with(&folder)).map(|(_, size)| size).sum()
}

fn harmless(value: &str) -> String {
    let line = visible(value).replace(['\n', '\r'], " ");
    shortened(&line, MAX_VALUE)
}

/// Whether people named a task, or its values did.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Written,
    Generated,
}

/// Ids of generated tasks that became the same get a hash of what they are about; those that people wrote are
/// theirs to change.
fn assign_unique_ids(tasks: Vec<(Task, Origin)>) -> Result<Vec<Task>, Problem> {
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for (task, _) in &tasks {
        *count.entry(task.id.clone()).or_default() += 1;
    }
    let mut seen = BTreeSet::new();
    let named = |(mut task, origin): (Task, Origin)| {
        if count[&task.id] > 1 && origin == Origin::Generated {
            let about = serde_json::to_string(&task.entry).unwrap_or_default();
            task.id = format!("{}-{}", task.id, &digest(about.as_bytes())[..8]);
        }
        if seen.insert(task.id.clone()) { Ok(task) } else { Err(Problem::DuplicateId(task.id)) }
    };
    tasks.into_iter().map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(text: &str) -> Result<Vec<Task>, String> {
        let files = [
            ("Cargo.toml", 10),
            ("a/Cargo.toml", 20),
            ("a/src/x y.rs", 300),
            ("a/src/x-y.rs", 40),
            ("a-b.rs", 7),
            ("-o.md", 1),
        ];
        let mut files: Vec<(String, u64)> =
            files.iter().map(|(path, size)| ((*path).to_owned(), *size)).collect();
        files.sort();
        let lines = |command: &str| Ok(command.replace(' ', "\n"));
        let batch: BatchFile = crate::config::parse_as(text, "b.yml").map_err(|error| error.to_string())?;
        let sources = ExpansionSources { files: &files, lines: &lines };
        let made = expand(&batch, &sources, ("b.yml", text), &"a".repeat(40));
        made.map(|manifest| manifest.tasks).map_err(|error| error.to_string())
    }

    #[test]
    fn every_combination_becomes_a_task_with_values_in_the_form_of_their_place() {
        let made = tasks(
            "name: n\ndefaults: {mode: yolo}\ntasks:\n- id: 'fix {file} {level}'\n  task: 'Fix {file} at {level}, not {{file}}'\n  \
             recipe: 'r/{file_stem}.yml'\n  for_each:\n    file: {files: ['*.rs']}\n    level: {values: ['1', \"2\\n::x\"]}\n  \
             gates: [{name: 't {file_name}', command: 'test -f {file}'}]\n",
        )
        .expect("tasks");
        assert_eq!(made.len(), 6);
        let last = made
            .iter()
            .find(|task| task.id.starts_with("fix-a-src-x-y.rs-2") && task.size == 300)
            .expect("it");
        assert_eq!(last.entry.task.as_deref(), Some("Fix a/src/x y.rs at 2 ::x, not {file}"));
        assert_eq!(last.entry.gates[0].command, "test -f 'a/src/x y.rs'");
        assert_eq!(last.entry.gates[0].name, "t x y.rs");
        assert_eq!(last.entry.recipe.as_deref(), Some("r/x y.yml"));
        let ids: BTreeSet<&String> = made.iter().map(|task| &task.id).collect();
        assert_eq!(ids.len(), 6, "{ids:?}");
    }

    #[test]
    fn paths_are_no_options() {
        let made = tasks(
            "name: n\ntasks:\n- id: '{f} {v}'\n  task: '{f}'\n  until: ['sort {f} {f_stem} {v}']\n  \
             for_each: {f: {files: ['*.md']}, v: {values: ['-r']}}\n",
        )
        .expect("tasks");
        assert_eq!(made[0].entry.until, ["sort ./-o.md ./-o -r"]);
        assert_eq!(made[0].entry.task.as_deref(), Some("-o.md"));
    }

    #[test]
    fn folders_lines_and_sizes() {
        let made = tasks("name: n\ntasks:\n- {id: 'p {p}', task: x, folder: '{p}', for_each: {p: {folders_with: [Cargo.toml]}}}\n- {id: 'l {l}', task: x, for_each: {l: {lines: 'u v u'}}}\n").expect("tasks");
        let shown: Vec<(&str, u64)> = made.iter().map(|task| (task.id.as_str(), task.size)).collect();
        assert_eq!(shown, [("p", 378), ("p-a", 360), ("l-u", UNKNOWN_SIZE), ("l-v", UNKNOWN_SIZE)]);
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        for (text, expected) in [
            ("name: n\ntasks: [{task: x}]\n", "b.yml: tasks[0]: `id` is missing"),
            ("name: n\ntasks: [{id: a}]\n", "nothing to do; set `task`, `task_file` or `recipe`"),
            ("name: n\ntasks: [{id: a, task: x}, {id: A, task: x}]\n", "two tasks have the id a;"),
            (
                "name: n\ntasks: [{id: a, task: 'x {y}'}]\n",
                "unknown placeholder `{y}`; define it in `for_each`, or write `{{y}}`",
            ),
            (
                "name: n\ntasks: [{id: a, task: x, for_each: {y: {values: [b]}}}]\n",
                "`id` does not contain `{y}`",
            ),
            (
                "name: n\ntasks: [{id: '{y}', task: x, for_each: {y: {}}}]\n",
                "tasks[0].for_each.y: set exactly one of",
            ),
            (
                "name: n\ntasks: [{id: '{y}', task: x, folder: '{y}', for_each: {y: {values: ['../x']}}}]\n",
                "folder \"../x\"",
            ),
            (
                "name: n\ntasks: [{id: 'a {y}', task: x, until: ['test -f \"{y}\"'], for_each: {y: {values: [b]}}}]\n",
                "b.yml: tasks[0]: `{y}` is in quotes; write it as a separate word",
            ),
            (
                "name: n\ntasks: [{id: 'a {y}', task: x, model: \"exec::m '{y_dir}'\", for_each: {y: {values: [b]}}}]\n",
                "`{y_dir}` is in quotes",
            ),
            (
                "name: n\ntasks: [{id: 'a {y}', task: x, gates: [{name: g, command: 'echo `{y}`'}], for_each: {y: {values: [b]}}}]\n",
                "`{y}` is in quotes",
            ),
            ("name: n\ndefaults: {task: x}\ntasks: []\n", "b.yml: defaults:"),
            ("name: '!'\ntasks: []\n", "b.yml: name: it must contain a letter"),
            ("name: n\ntasks: [{id: a, tsk: x}]\n", "did you mean `task`?"),
            ("name: n\ntasks: [{id: a, task: x, recipe: r, model: m}]\n", "a recipe replaces the model"),
        ] {
            let error = tasks(text).expect_err(text);
            assert!(error.contains(expected), "{text}\n{error}");
        }
    }
}
