//! Programs that the configuration names: on pull requests, those in the repository have to match the base commit;
//! and no run is allowed to change a program that it starts.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use workspace::{ProgramFiles, WorkspacePath};

use super::error::InputError;
use super::program_comparison::{Comparison, below, is_script_name};
use super::program_imports::{add_imports, import_folders, imports, module_files};
use super::program_words::{PACKAGES, ProgramWords, with_variables, words_of_text};
use super::refusal::ProgramRefusal;
use crate::base::env::Variables;
use crate::config::{self, GateConfig, HookConfig};
use crate::git::Repository;
use crate::mcp::Server;
use crate::trust::{Trust, normalize};

/// Longest file with tasks, such as a Makefile, that is read for the programs that it names, in bytes.
const MAX_TASK_FILE: u64 = 1024 * 1024;

/// Files that say much about a project and little about its programs, which work on it changes every day.
const EVERYDAY: [&str; 2] = ["package.json", "pyproject.toml"];

/// The same, where no program holds a secret.
const EVERYDAY_WITHOUT_SECRET: [&str; 4] = ["node_modules", "tsconfig.json", "deno.json", "deno.jsonc"];

/// Compares programs of the repository with the base commit.
pub(crate) struct Programs<'a> {
    pub(crate) trust: &'a Trust,
    pub(crate) repository: Option<&'a Repository>,
    /// The folder that programs start in.
    pub(crate) workspace: &'a Path,
    /// The variables of the process: where the checkout is, and where programs are looked for.
    pub(crate) variables: &'a Variables,
}

impl Programs<'_> {
    /// Checks the hooks, and adds their programs to `started`; the error names the first one that must not run.
    pub(super) fn check_hooks(
        &self,
        hooks: &config::Hooks,
        started: &mut ProgramFiles,
    ) -> Result<(), InputError> {
        for hook in hooks.all().filter(|hook: &&HookConfig| hook.enabled) {
            let refused = |refusal| InputError::Hook { name: hook.name.clone(), refusal };
            self.check_line(&hook.command, false, started).map_err(refused)?;
        }
        Ok(())
    }

    /// Has `tell` tell which gates run what is not as the base commit has it. They are there to test changes, and get no secret.
    pub(super) fn doubt_gates(&self, gates: &[GateConfig], mut tell: impl FnMut(String)) {
        for GateConfig { name, command, .. } in gates {
            let refusal = self.check_line(command, false, &mut ProgramFiles::default()).err();
            if let Some(path) = refusal.as_ref().and_then(ProgramRefusal::differing) {
                tell(format!(
                    "the gate {name} runs or reads {path}, which is not as the base commit has it: its result says what the author \
                     of the change wants it to say"
                ));
            }
        }
    }

    /// Checks a command line that is given a key or not, and adds its programs to `started`.
    pub(crate) fn check_line(
        &self,
        line: &str,
        has_secret: bool,
        started: &mut ProgramFiles,
    ) -> Result<(), ProgramRefusal> {
        if has_secret && self.starts_in_base() {
            return self.check_places(&ProgramWords::of_line(&self.with_places_above(line)));
        }
        let words = ProgramWords::of_line(&self.with_known_places(line));
        self.check(&words)?;
        self.add_files(&words, has_secret, started);
        Ok(())
    }

    /// Checks a file that steers the run like a program, such as a transcript that is replayed.
    pub(super) fn check_file(&self, path: &Path) -> Result<(), ProgramRefusal> {
        let words = ProgramWords {
            programs: BTreeSet::from([path.display().to_string()]),
            ..ProgramWords::default()
        };
        self.check_names(&words)
    }

    /// Leaves out the servers that must not be started, and adds the programs of the others to `started`; `tell` takes
    /// the reasons.
    pub(super) fn keep_servers(
        &self,
        servers: &mut Vec<Server>,
        started: &mut ProgramFiles,
        mut tell: impl FnMut(String),
    ) {
        servers.retain(|server| {
            let Some((words, variables)) = server.program() else { return true };
            let words = ProgramWords::of_words(&words, variables);
            let has_secret = server.holds_secret();
            let starts_in_base = has_secret && self.starts_in_base();
            let checked = if starts_in_base { self.check_places(&words) } else { self.check(&words) };
            match checked {
                Ok(()) if starts_in_base => true,
                Ok(()) => {
                    self.add_files(&words, has_secret, started);
                    true
                }
                Err(reason) => {
                    tell(format!("the MCP server {} is left out: {reason}", server.name()));
                    false
                }
            }
        });
    }

    /// Returns whether programs that get a secret start among the files of the base commit, and not in the checkout.
    fn starts_in_base(&self) -> bool {
        *self.trust != Trust::Checkout
    }

    fn check(&self, words: &ProgramWords) -> Result<(), ProgramRefusal> {
        if *self.trust == Trust::Checkout {
            return Ok(());
        }
        if let Some(part) = &words.unclear_program {
            return Err(ProgramRefusal::Unclear(part.clone()));
        }
        self.check_names(words)
    }

    /// Checks what a program that starts elsewhere names in the checkout by an absolute path.
    fn check_places(&self, words: &ProgramWords) -> Result<(), ProgramRefusal> {
        let Trust::Base(commit) = self.trust else { return Ok(()) };
        let root = self.root();
        let comparison = Comparison { commit, repository: self.repository, root };
        let home = self.variables.get("HOME").map_or(Path::new("/"), Path::new);
        for name in words.names.iter().chain(&words.programs) {
            let full = name.strip_prefix("~/").map_or_else(|| PathBuf::from(name), |below| home.join(below));
            let inside = full.is_absolute().then(|| normalize(&full));
            let path = inside.and_then(|full| below(full.strip_prefix(root).ok()?));
            path.map_or(Ok(()), |path| comparison.check_program(&path))?;
        }
        Ok(())
    }

    /// Checks that whatever of the repository the words name is as the base commit has it, and so are the folders around
    /// programs, whose other files they may load.
    fn check_names(&self, words: &ProgramWords) -> Result<(), ProgramRefusal> {
        let Trust::Base(commit) = self.trust else { return Ok(()) };
        let root = self.root();
        let comparison = Comparison { commit, repository: self.repository, root };
        let folders = self.folders(words);
        for path in self.paths(&folders, words.programs.iter().map(String::as_str)) {
            comparison.check_program(&path)?;
        }
        let names = words.names.iter().map(String::as_str);
        for path in self.paths(&folders, names) {
            comparison.check(&path)?;
        }
        for path in self.paths(&folders, words.task_files.iter().copied()) {
            comparison.check(&path)?;
            for named in self.scripts_in(&path) {
                comparison.check_program(&named)?;
            }
        }
        self.check_versions(words, &folders, &comparison)?;
        self.check_starts(words, &folders, &comparison)?;
        let programs = self.existing_programs(words, &folders);
        for folder in import_folders(words, &folders) {
            comparison.check_modules(&folder)?;
            for (above, name) in imports(&folder, &programs) {
                let files = module_files(&above.join(name));
                let mut paths = files.filter_map(|full| below(full.strip_prefix(root).ok()?));
                paths.try_for_each(|path| comparison.check_module(&path))?;
            }
        }
        Ok(())
    }

    pub(super) fn root(&self) -> &Path {
        self.repository.map_or(self.workspace, Repository::root)
    }

    /// Returns the folders that names may be meant from: where programs start, and whatever folder is named, as in
    /// `cd ci && ./x` or `make -C ci`.
    fn folders(&self, words: &ProgramWords) -> BTreeSet<PathBuf> {
        let named = words.names.iter().map(|name| self.workspace.join(name)).filter(|folder| folder.is_dir());
        let mut folders: BTreeSet<PathBuf> = named.map(|folder| normalize(&folder)).collect();
        folders.insert(self.workspace.to_owned());
        if words.unclear.is_some() {
            // `cd "$(git rev-parse --show-toplevel)"`
            folders.insert(self.root().to_owned());
        }
        folders
    }

    /// Returns the paths of the repository, from its root, that the names may stand for.
    pub(super) fn paths<'n>(
        &self,
        folders: &BTreeSet<PathBuf>,
        names: impl IntoIterator<Item = &'n str>,
    ) -> BTreeSet<String> {
        let root = self.root();
        let full = names
            .into_iter()
            .flat_map(|name| folders.iter().map(move |folder| normalize(&folder.join(name))));
        full.filter_map(|full| full.strip_prefix(root).ok().and_then(below)).collect()
    }

    /// Returns the scripts that a file with tasks names.
    fn scripts_in(&self, path: &str) -> BTreeSet<String> {
        let full = self.root().join(path);
        let is_sensible =
            fs::symlink_metadata(&full).is_ok_and(|found| found.is_file() && found.len() <= MAX_TASK_FILE);
        let text = is_sensible.then(|| fs::read_to_string(&full).ok()).flatten().unwrap_or_default();
        let words = words_of_text(&text);
        let folder = full.parent().unwrap_or(self.workspace).to_owned();
        let named = self.paths(&BTreeSet::from([folder]), words.iter().map(String::as_str));
        named.into_iter().filter(|named| is_script_name(named)).collect()
    }

    /// Returns the files of the checkout that `PATH` leads to.
    pub(super) fn on_path(&self, words: &ProgramWords) -> Vec<PathBuf> {
        let path = self.variables.get("PATH").map(String::as_str).unwrap_or_default();
        let folders = std::env::split_paths(path).filter(|folder| folder.starts_with(self.root()));
        let full =
            folders.flat_map(|folder| words.plain.iter().map(move |name| normalize(&folder.join(name))));
        full.filter(|full| full.is_file()).collect()
    }

    /// Writes the places that a command line may name by variables as the paths that they are.
    fn with_known_places(&self, line: &str) -> String {
        let workspace = self.workspace.display().to_string();
        let checkout = self.variables.get("GITHUB_WORKSPACE").unwrap_or(&workspace);
        // What has a meaning for the shell stays a variable, of which nothing is known.
        let is_plain = |path: &&str| path.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c));
        with_variables(line, |name| {
            let place = match name {
                "GITHUB_WORKSPACE" => Some(checkout.as_str()),
                "ARCHITECT_WORKSPACE" => Some(workspace.as_str()),
                _ => None,
            };
            place.filter(is_plain)
        })
    }

    /// Writes the values of variables that name folders around the repository into a command line.
    fn with_places_above(&self, line: &str) -> String {
        let is_above = |value: &&str| {
            let path = Path::new(value);
            path.parent().is_some() && path != self.root() && self.root().starts_with(path)
        };
        with_variables(line, |name| self.variables.get(name).map(String::as_str).filter(is_above))
    }

    /// Adds the files of the checkout that the words run, and what these load. Where they hold no secret, what everyday
    /// work changes stays open to it.
    fn add_files(&self, words: &ProgramWords, has_secret: bool, started: &mut ProgramFiles) {
        let folders = self.folders(words);
        let from = |folder: &PathBuf, name: &str| normalize(&folder.join(name));
        for folder in &folders {
            for full in words.programs.iter().map(|name| from(folder, name)) {
                // What is not there yet could be put there; of other folders, there would be too many.
                if folder == self.workspace || fs::symlink_metadata(&full).is_ok() {
                    self.add_file(&full, true, started);
                    if has_secret
                        && let Some(above) = full.parent().and_then(|above| self.folder_path_of(above))
                    {
                        started.add_level(&above);
                    }
                }
            }
            for name in words.task_files.iter().chain(&words.settings) {
                if EVERYDAY.contains(name) || !has_secret && EVERYDAY_WITHOUT_SECRET.contains(name) {
                    continue;
                }
                if *name == PACKAGES && !words.loads_packages {
                    continue;
                }
                let full = from(folder, name);
                self.add_file(&full, false, started);
                if let Some(path) = self.path_of(&full) {
                    started.add_tree(&path);
                }
            }
            if words.settings.contains(PACKAGES) {
                self.add_installed(&folder.join(PACKAGES), words, has_secret, started);
            }
        }
        self.add_versions(words, &folders, started);
        self.add_starts(words, &folders, has_secret, started);
        for full in self.on_path(words) {
            self.add_file(&full, false, started);
        }
        let programs = self.existing_programs(words, &folders);
        for folder in import_folders(words, &folders) {
            add_imports(&folder, &programs, |full| self.folder_path_of(full), has_secret, started);
        }
    }

    /// Adds the folders of programs, and those above, in which settings are looked for as well.
    pub(super) fn with_folders_above(
        &self,
        words: &ProgramWords,
        folders: &BTreeSet<PathBuf>,
    ) -> BTreeSet<PathBuf> {
        let programs = self.existing_programs(words, folders);
        let all = programs.iter().chain(folders).flat_map(|full| full.ancestors());
        let mut all: BTreeSet<PathBuf> = all.map(Path::to_owned).collect();
        all.retain(|folder| folder.starts_with(self.root()) && folder.is_dir());
        all.extend(folders.iter().cloned());
        all
    }

    pub(super) fn existing_programs(
        &self,
        words: &ProgramWords,
        folders: &BTreeSet<PathBuf>,
    ) -> BTreeSet<PathBuf> {
        let full =
            |name: &String| folders.iter().map(|folder| normalize(&folder.join(name))).collect::<Vec<_>>();
        let all = words.programs.iter().flat_map(full);
        all.filter(|full| full.starts_with(self.root()) && full.exists()).collect()
    }

    /// Adds what plain names stand for in a folder of packages. One that is not there yet would be fetched from elsewhere;
    /// a program with a secret must not find it there the next time.
    fn add_installed(
        &self,
        packages: &Path,
        words: &ProgramWords,
        has_secret: bool,
        started: &mut ProgramFiles,
    ) {
        for name in &words.packages {
            // `@scope/name@1.2.3` is installed as `@scope/name`, and mostly started as `name`.
            let package = name.get(1..).and_then(|rest| rest.find('@')).map_or(&**name, |at| &name[..=at]);
            let program = package.rsplit('/').next().unwrap_or(package);
            let (folder, program) = (normalize(&packages.join(package)), packages.join(".bin").join(program));
            let is_installed = |full: &Path| fs::symlink_metadata(full).is_ok();
            if !folder.starts_with(packages) || folder == *packages {
                continue;
            }
            if is_installed(&folder) || is_installed(&program) {
                self.add_file(&program, false, started);
                let around = program.canonicalize().ok().and_then(|real| self.path_of(real.parent()?));
                around.into_iter().chain(self.path_of(&folder)).for_each(|path| started.add_folder(&path));
                // Its packages lie next to it.
                let all = self.path_of(packages).filter(|_| has_secret);
                if let Some(path) = all {
                    started.add_tree(&path);
                }
            } else if has_secret {
                let paths = [&folder, &program].map(|full| self.path_of(full));
                paths.into_iter().flatten().for_each(|path| started.add_tree(&path));
            }
        }
    }

    /// Adds a file with every link on the way to it, and what these lead to.
    fn add_file(&self, full: &Path, with_folder: bool, started: &mut ProgramFiles) {
        self.add_one(full, with_folder, started);
        for above in full.ancestors().take_while(|above| above.starts_with(self.workspace)) {
            let Ok(target) = fs::read_link(above) else { continue };
            if let Some(path) = self.path_of(above) {
                started.add_single(&path);
            }
            let target = normalize(&above.parent().unwrap_or(above).join(target));
            self.add_one(&target, with_folder, started);
        }
        if let Ok(real) = full.canonicalize() {
            self.add_one(&real, with_folder, started);
        }
    }

    fn add_one(&self, full: &Path, with_folder: bool, started: &mut ProgramFiles) {
        let Some(path) = self.path_of(full) else { return };
        match (full.is_dir(), with_folder) {
            (true, _) => started.add_folder(&path),
            (false, true) => started.add_file(&path),
            (false, false) => started.add_single(&path),
        }
    }

    pub(super) fn path_of(&self, full: &Path) -> Option<WorkspacePath> {
        self.folder_path_of(full).filter(|path| !path.is_root())
    }

    /// Returns the path of a folder, which may be the workspace itself.
    pub(super) fn folder_path_of(&self, full: &Path) -> Option<WorkspacePath> {
        let relative = full.strip_prefix(self.workspace).ok()?.to_str()?;
        if relative.is_empty() { Some(WorkspacePath::root()) } else { WorkspacePath::parse(relative).ok() }
    }
}
