//! Keys of tasks: what the result of a task depends on.
//!
//! A key is the task's definition (text, recipe, model, configuration) with the contents of all files that it read or wrote, that
//! instructed its agent, or that commands could read, as they were in the commit, and of the folders outside of it that they could
//! read. A task has none if something counts that cannot be measured.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use workspace::{SensitiveFiles, Tracked, WorkspaceLocation};

use super::manifest::Task;
use super::outside_folders::{ExtraPlace, NotMeasured, OutsideFolders};
use super::request::BatchRequest;
use crate::agent::NESTED_GUIDES;
use crate::base::integrity::digest;
use crate::event::{Event, Line};
use crate::git::{Cone, GitError, Repository};
use crate::publish::TRANSCRIPT;
use crate::report::TaskKey;
use crate::request::GUIDES;
use crate::sessions::read_lines;

/// Begins the name of a model that is a program.
const PROGRAM: &str = "exec::";

/// Begins the name of a model that is a recipe.
const RECIPE: &str = "recipe::";

/// Stands for the content of a path that the commit does not have.
const ABSENT: &str = "absent";

/// Stands, at the end of a path, for the files that lie directly in a folder.
const DIRECTLY: &str = "*";

/// Most links that are followed from one path.
const MAX_LINKS: usize = 8;

/// Inputs that change nothing of the work that a task does: how much it may take, who may start it, and what is said of it where.
const OF_NO_WORK: [&str; 12] = [
    "timeout",
    "budget-usd",
    "ledger",
    "event",
    "comment",
    "comment-key",
    "allow-users",
    "allow-bots",
    "log-format",
    "json",
    "verbose",
    "quiet",
];

/// Reason why no later night can settle a task, whatever stays the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub(super) enum Unsettled {
    /// Nothing says what it read.
    #[error("the transcript could not be read")]
    Transcript,
    /// More decides than the files of the commit.
    #[error("the model is a program (`exec::`)")]
    Program,
    /// The same.
    #[error("a page or a server was asked")]
    Remote,
    /// It is not known what it found in a folder outside.
    #[error("`{name}` (`workspace.extra_dirs`) could be read, but its contents are not known: {why}")]
    Outside { name: String, why: NotMeasured },
}

/// What keys are made from.
pub(super) struct KeyParts {
    /// IDs of all files of the commit, by their paths from the root of the repository.
    ids: BTreeMap<String, String>,
    /// Where its links lead.
    links: BTreeMap<String, String>,
    /// Digests of folders that were asked for.
    folders: Mutex<BTreeMap<String, String>>,
    /// What all tasks have in common.
    common: String,
    /// The batch's checkout in the repository.
    checkout: String,
    /// The folder that all tasks work in or below.
    root: String,
    /// Files that the inputs name.
    named: Vec<String>,
    /// Folders of `workspace.extra_dirs`, which tools and commands can read, as they are written.
    extra: Vec<String>,
    /// Those that lie outside of the repository.
    outside: OutsideFolders,
    /// The root of the repository.
    place: PathBuf,
}

impl KeyParts {
    pub(super) fn new(
        request: &BatchRequest,
        git: &Repository,
        (commit, tasks): (&str, &[Task]),
    ) -> Result<Self, GitError> {
        let config = serde_json::to_string(&request.config).unwrap_or_default();
        let mut given = request.given().clone();
        let files = ["task-file", "output-schema"].into_iter().filter_map(|name| given.get(name));
        let recipe = given.get("model").and_then(|model| model.strip_prefix(RECIPE));
        let named = files.map(String::as_str).chain(recipe).map(str::to_owned).collect();
        given.retain(|name, _| !OF_NO_WORK.contains(&name.as_str()));
        let given = serde_json::to_string(&given).unwrap_or_default();
        let common = format!("{}\n{config}\n{given}", env!("CARGO_PKG_VERSION"));
        let checkout = join(&[&git.prefix()]);
        let workspace = &request.config.workspace;
        let whole = git.seen_from(git.root());
        let mut parts = Self {
            ids: whole.ids_of(commit)?,
            links: whole.links_of(commit)?,
            folders: Mutex::default(),
            common: digest(common.as_bytes()),
            root: join(&[&checkout, &workspace.root]),
            named,
            extra: workspace.extra_dirs.clone(),
            outside: OutsideFolders::default(),
            place: git.root().to_owned(),
            checkout,
        };
        let places = tasks.iter().flat_map(|task| parts.extra_of(&parts.own(task)));
        let folders = places.filter_map(|(name, place)| match place {
            ExtraPlace::OnDisk(path) => Some((name, path)),
            ExtraPlace::InRepository(_) => None,
        });
        let rule = request.config.guardrails.sensitive_files.as_deref();
        // A rule that is none ends every task; until then, it hides nothing.
        let sensitive = SensitiveFiles::new(rule, Tracked::default(), WorkspaceLocation::default());
        parts.outside = OutsideFolders::measure(folders, sensitive.unwrap_or_default());
        Ok(parts)
    }

    /// Returns the folder of the repository that a task works in.
    fn own(&self, task: &Task) -> String {
        join(&[&self.root, task.entry.folder.as_deref().unwrap_or_default()])
    }

    /// Returns the folders of `workspace.extra_dirs` for a task that works in `own`, by the names that tools have for them.
    fn extra_of(&self, own: &str) -> BTreeMap<String, ExtraPlace> {
        let named = |given: &String| {
            let place = ExtraPlace::of(given, own, &self.place);
            (place.name(given), place)
        };
        self.extra.iter().map(named).collect()
    }

    /// Returns the key of a task whose files lie in `folder`, and whose worktree has the whole commit or this part of it, or why it
    /// has none.
    pub(super) fn key(&self, task: &Task, folder: &Path, seen: Option<&Cone>) -> Result<TaskKey, Unsettled> {
        let entry = &task.entry;
        let own = self.own(task);
        let extra = self.extra_of(&own);
        let mut reached = BTreeSet::new();
        let mut paths = BTreeSet::new();
        let named = [&entry.recipe, &entry.task_file].into_iter().flatten().chain(&self.named);
        paths.extend(named.map(|path| join(&[&self.checkout, path])));
        let above = std::iter::successors(Some(own.as_str()), |folder| parent_of(folder));
        for place in above.take_while(|folder| folder.len() >= self.checkout.len()) {
            paths.extend(GUIDES.iter().map(|name| join(&[place, name])));
        }
        let mut has_recipe = entry.recipe.is_some();
        let mut has_commands = false;
        for Line { event, .. } in read_lines(&folder.join(TRANSCRIPT)).map_err(|_| Unsettled::Transcript)? {
            let call = match event {
                Event::Call(call) => call,
                // What a program outside of the commit answers is decided by more than the key can hold.
                Event::Session(session) if session.model.starts_with(PROGRAM) => {
                    return Err(Unsettled::Program);
                }
                Event::Session(session) => {
                    has_recipe |= session.model.starts_with(RECIPE);
                    continue;
                }
                Event::Gate(_) | Event::Hook(_) | Event::Proof(_) | Event::Mutation(_) => {
                    has_commands = true;
                    continue;
                }
                _ => continue,
            };
            if call.effects.remote.is_some() {
                return Err(Unsettled::Remote);
            }
            has_commands |= call.effects.command.is_some();
            for path in call.effects.reads.iter().chain(&call.effects.writes) {
                let first = path.names().next().and_then(|first| extra.get_key_value(first));
                if let Some((name, _)) = first {
                    if path.names().any(|name| name == ".git") {
                        let why = NotMeasured::GitFolder;
                        return Err(Unsettled::Outside { name: name.clone(), why });
                    }
                    reached.insert(name);
                    continue;
                }
                let path = join(&[&own, path.as_str()]);
                paths.extend(self.guides_above(&path, &own));
                paths.insert(path);
            }
        }
        // A recipe looks for files by their names.
        if has_recipe {
            paths.insert(own.clone());
        }
        if has_commands {
            reached.extend(extra.keys());
            // Nobody knows what a command reads, and it sees the whole worktree, whatever folder it starts in.
            match seen {
                None => drop(paths.insert(String::new())),
                Some(cone) => {
                    paths.extend(cone.leaves().map(str::to_owned));
                    let parents = cone.parents().into_iter().chain([""]);
                    paths.extend(parents.map(|parent| join(&[parent, DIRECTLY])));
                }
            }
        }
        let mut outside = BTreeMap::new();
        for name in reached {
            let not_measured = |why| Unsettled::Outside { name: name.clone(), why };
            match &extra[name] {
                ExtraPlace::InRepository(path) => {
                    let mut above = std::iter::successors(Some(path.as_str()), |folder| parent_of(folder));
                    if above.any(|folder| self.links.contains_key(folder)) {
                        return Err(not_measured(NotMeasured::Link));
                    }
                    paths.insert(path.clone());
                }
                ExtraPlace::OnDisk(path) => {
                    let contents = self.outside.until_now(name, path).map_err(not_measured)?;
                    outside.insert(name.clone(), contents.to_owned());
                }
            }
        }
        let led_to: Vec<String> = paths.iter().flat_map(|path| self.led_to(path)).collect();
        paths.extend(led_to);
        let files = paths.into_iter().map(|path| (path.clone(), self.id(&path))).collect();
        Ok(TaskKey { definition: self.definition(task), files, outside })
    }

    /// Returns the paths to which links lead from a path, one after the other.
    fn led_to(&self, path: &str) -> Vec<String> {
        let next = |path: &String| {
            let target = self.links.get(path).filter(|target| !target.starts_with('/'))?;
            Some(join(&[parent_of(path).unwrap_or_default(), target]))
        };
        std::iter::successors(next(&path.to_owned()), next).take(MAX_LINKS).collect()
    }

    /// Returns where the guides lie that an agent is given when it touches a path below its own folder.
    fn guides_above(&self, path: &str, own: &str) -> Vec<String> {
        let is_folder = !self.ids.contains_key(path) && self.id(path) != ABSENT;
        let first = if is_folder { Some(path) } else { parent_of(path) };
        let above = std::iter::successors(first, |folder| parent_of(folder));
        let below_own = above.take_while(|folder| folder.len() > own.len());
        below_own.flat_map(|folder| NESTED_GUIDES.map(|name| join(&[folder, name]))).collect()
    }

    fn definition(&self, task: &Task) -> String {
        let entry = serde_json::to_string(&task.entry).unwrap_or_default();
        digest(format!("{}\n{entry}", self.common).as_bytes())
    }

    pub(super) fn is_same(&self, task: &Task, key: &TaskKey) -> bool {
        let extra = self.extra_of(&self.own(task));
        let is_same_outside = |(name, contents): (&String, &String)| {
            matches!(extra.get(name), Some(ExtraPlace::OnDisk(path))
                if self.outside.at_start(path).is_ok_and(|now| now == contents))
        };
        key.definition == self.definition(task)
            && key.files.iter().all(|(path, id)| self.id(path) == *id)
            && key.outside.iter().all(is_same_outside)
    }

    /// Returns what stands for the content of a file, of all files below a folder, or of those directly in it.
    fn id(&self, path: &str) -> String {
        if let Some(id) = self.ids.get(path) {
            return id.clone();
        }
        let mut folders = self.folders.lock();
        let id = folders.entry(path.to_owned()).or_insert_with(|| {
            let folder = path.strip_suffix(DIRECTLY).filter(|above| above.is_empty() || above.ends_with('/'));
            let below = match folder.unwrap_or(path) {
                "" => String::new(),
                folder => format!("{}/", folder.trim_end_matches('/')),
            };
            let within = self.ids.range(below.clone()..).take_while(|(path, _)| path.starts_with(&below));
            let is_meant = |path: &str| folder.is_none() || !path[below.len()..].contains('/');
            let within = within.filter(|(path, _)| is_meant(path));
            let list: String = within.map(|(path, id)| format!("{id} {path}\n")).collect();
            if list.is_empty() { ABSENT.to_owned() } else { digest(list.as_bytes()) }
        });
        id.clone()
    }
}

/// Returns the folder that a path lies in; `None` for the root.
fn parent_of(path: &str) -> Option<&str> {
    (!path.is_empty()).then(|| path.rsplit_once('/').map_or("", |(parent, _)| parent))
}

/// Joins paths; the root is the empty path.
fn join(parts: &[&str]) -> String {
    let mut names = Vec::new();
    for name in parts.iter().flat_map(|part| part.split('/')) {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    names.join("/")
}
