//! Checks and protects the files that programs load from the folder in which they start, whatever they run.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use workspace::ProgramFiles;

use super::program_comparison::{Comparison, below};
use super::program_loading::{Loader, Loading, interpreter_of, loader_of, loading};
use super::program_words::{ProgramWords, UnknownProgram, words_of_text};
use super::programs::Programs;
use super::refusal::ProgramRefusal;
use crate::trust::normalize;

/// Maximum number of scripts that are searched for names of modules, and of words in one of them.
const MAX_SCRIPTS: usize = 100;
const MAX_WORDS: usize = 4000;

/// Longest script that is read, in bytes.
const MAX_SCRIPT: u64 = 1024 * 1024;

impl Programs<'_> {
    /// Checks what programs load from where they start: for a program with a secret, everything there, and otherwise the files
    /// that it is known to load.
    pub(super) fn check_starts(
        &self,
        words: &ProgramWords,
        folders: &BTreeSet<PathBuf>,
        comparison: &Comparison<'_>,
    ) -> Result<(), ProgramRefusal> {
        let root = comparison.root;
        for full in self.loaded_from_start(words, folders) {
            let Some(path) = full.strip_prefix(root).ok().and_then(below) else { continue };
            if fs::symlink_metadata(&full).is_ok() {
                comparison.check_loaded(&path)?;
            }
        }
        let Some(program) = comparison.has_secret.then(|| self.start_loader(words, folders)).flatten() else {
            return Ok(());
        };
        for folder in folders {
            let Ok(inside) = folder.strip_prefix(root) else { continue };
            let path = below(inside).unwrap_or_default();
            comparison.check_below(&path).map_err(|refusal| ProgramRefusal::LoadsStart {
                program: program.clone(),
                refusal: Box::new(refusal),
            })?;
        }
        Ok(())
    }

    /// Protects what programs load from where they start: files that their scripts name and, for a program with a secret, every
    /// file with an extension that they load.
    pub(super) fn add_starts(
        &self,
        words: &ProgramWords,
        folders: &BTreeSet<PathBuf>,
        has_secret: bool,
        started: &mut ProgramFiles,
    ) {
        for full in self.loaded_from_start(words, folders) {
            self.path_of(&full).inspect(|path| started.add_tree(path));
        }
        let loaders: Vec<&Loader> = self.loaders(words, folders).filter_map(|(_, loader)| loader).collect();
        for path in folders.iter().filter(|_| has_secret).filter_map(|folder| self.folder_path_of(folder)) {
            let endings = loaders.iter().flat_map(|loader| loader.endings());
            endings.for_each(|ending| started.add_ending(&path, ending));
        }
    }

    /// Returns the first program that may load any file from where it starts.
    fn start_loader(&self, words: &ProgramWords, folders: &BTreeSet<PathBuf>) -> Option<String> {
        let known = self.loaders(words, folders).next().map(|(name, _)| name);
        let is_given_a_path = |program: &&UnknownProgram| {
            // A script is judged by its interpreter, above.
            let mut places = folders.iter().map(|folder| normalize(&folder.join(&program.name)));
            let is_script = program.name.contains('/')
                && places.any(|full| full.starts_with(self.root()) && full.is_file());
            let is_own = is_script
                || program.module.as_ref().is_some_and(|module| {
                    let mut from = folders.iter().map(|folder| folder.join(module));
                    from.any(|path| path.is_dir() || path.with_extension("py").is_file())
                });
            !is_own && program.arguments.iter().any(|word| self.is_of_checkout(word, folders))
        };
        known.or_else(|| words.unknown.iter().find(is_given_a_path).map(|program| program.name.clone()))
    }

    /// Returns the programs that load files from where they start, by their names or by the first lines of their scripts.
    fn loaders<'w>(
        &self,
        words: &'w ProgramWords,
        folders: &BTreeSet<PathBuf>,
    ) -> impl Iterator<Item = (String, Option<&'static Loader>)> + use<'w> {
        let own = folders
            .iter()
            .flat_map(|folder| words.started.iter().map(move |name| normalize(&folder.join(name))));
        let own =
            own.chain(self.on_path(words)).filter(|full| full.starts_with(self.root()) && full.is_file());
        let by_script: Vec<_> = own
            .filter_map(|full| {
                let name = interpreter_of(&content_of(&full)).unwrap_or_else(|| full.display().to_string());
                (loading(&name, &[]) != Loading::NamedOnly).then(|| (name.clone(), loader_of(&name)))
            })
            .collect();
        words.loaders.iter().map(|name| (name.clone(), loader_of(name))).chain(by_script)
    }

    /// Returns the paths that programs are known to load from where they start, whether they exist or not.
    fn loaded_from_start(&self, words: &ProgramWords, folders: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        for (_, loader) in self.loaders(words, folders) {
            let Some(loader) = loader else { continue };
            let mut names: BTreeSet<String> = loader.files().map(str::to_owned).collect();
            if loader.endings().next().is_some() {
                for script in self.scripts(words, folders, loader) {
                    let text = String::from_utf8_lossy(&content_of(&script)).into_owned();
                    names.extend(
                        words_of_text(&text).iter().take(MAX_WORDS).flat_map(|word| paths_of(word, loader)),
                    );
                }
            }
            found.extend(
                folders.iter().flat_map(|folder| names.iter().map(move |name| normalize(&folder.join(name)))),
            );
        }
        found.retain(|full| full.starts_with(self.root()));
        found
    }

    /// Returns the scripts that are run, and those next to them, except in the workspace's or repository's root.
    fn scripts(
        &self,
        words: &ProgramWords,
        folders: &BTreeSet<PathBuf>,
        loader: &Loader,
    ) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        for script in self.existing_programs(words, folders).into_iter().filter(|full| full.is_file()) {
            let above = script.parent().filter(|above| *above != self.workspace && *above != self.root());
            let near = above.and_then(|above| fs::read_dir(above).ok()).into_iter().flatten().flatten();
            let is_loaded = |full: &PathBuf| {
                let ending = full.extension().and_then(|ending| ending.to_str());
                ending.is_some_and(|ending| loader.endings().any(|known| known == ending))
            };
            found.extend(near.map(|entry| entry.path()).filter(is_loaded).take(MAX_SCRIPTS));
            found.insert(script);
        }
        found.into_iter().take(MAX_SCRIPTS).collect()
    }

    /// Returns whether a word names something in the checkout: a file, a folder, the checkout itself, or a dotted module.
    fn is_of_checkout(&self, word: &str, folders: &BTreeSet<PathBuf>) -> bool {
        let root = self.root();
        let is_there = |full: PathBuf| {
            let full = normalize(&full);
            full.starts_with(root) && (full == root || fs::symlink_metadata(&full).is_ok())
        };
        let dotted = super::program_loading::dotted_paths(word).map(|[_, path]| path);
        !word.is_empty()
            && folders.iter().any(|folder| {
                let module = dotted.as_ref().map(|path| folder.join(path));
                is_there(folder.join(word)) || module.is_some_and(|module| is_any_module(&module))
            })
    }
}

/// Returns whether a module exists, in whatever language.
fn is_any_module(module: &Path) -> bool {
    let (Some(above), Some(name)) = (module.parent(), module.file_name().and_then(|name| name.to_str()))
    else {
        return false;
    };
    let entries = fs::read_dir(above).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .any(|entry| entry.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
}

/// Returns the paths that a word in a script may stand for, as a path or as the name of a module.
fn paths_of(word: &str, loader: &Loader) -> Vec<String> {
    let word = word.trim_start_matches("./");
    let is_path = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    if word.is_empty()
        || word.len() > 200
        || !word.chars().all(is_path)
        || word.split('/').any(|part| part == "..")
    {
        return Vec::new();
    }
    if loader.is_code(word) {
        return vec![word.to_owned()];
    }
    let module = word.trim_matches('.').replace('.', "/");
    let folder = loader.endings().next().map(|ending| format!("{module}/init.{ending}"));
    loader.endings().map(|ending| format!("{module}.{ending}")).chain(folder).collect()
}

/// Returns the content of a script. What is too long to be read, or no file, counts as a program that is not text.
fn content_of(full: &Path) -> Vec<u8> {
    let is_short_file = fs::metadata(full).is_ok_and(|found| found.is_file() && found.len() <= MAX_SCRIPT);
    if is_short_file { fs::read(full).unwrap_or_default() } else { vec![0] }
}
