//! Checks and protects the files that programs load from the folder in which they start, whatever they run.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use workspace::ProgramFiles;

use super::program_comparison::{Comparison, below};
use super::program_loading::{Loader, interpreter_of, loader_of};
use super::program_words::{ProgramWords, words_of_text};
use super::programs::Programs;
use super::refusal::ProgramRefusal;
use crate::trust::normalize;

/// Maximum number of scripts that are searched for names of modules, and of words in one of them.
const MAX_SCRIPTS: usize = 100;
const MAX_WORDS: usize = 4000;

/// Longest script that is read, in bytes.
const MAX_SCRIPT: u64 = 1024 * 1024;

impl Programs<'_> {
    /// Checks what programs are known to load from where they start.
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
        let loaders: Vec<&Loader> = self.loaders(words, folders).collect();
        for path in folders.iter().filter(|_| has_secret).filter_map(|folder| self.folder_path_of(folder)) {
            let endings = loaders.iter().flat_map(|loader| loader.endings());
            endings.for_each(|ending| started.add_ending(&path, ending));
        }
    }

    /// Returns the programs that load files from where they start, by their names or by the first lines of their scripts.
    fn loaders<'w>(
        &self,
        words: &'w ProgramWords,
        folders: &BTreeSet<PathBuf>,
    ) -> impl Iterator<Item = &'static Loader> + use<'w> {
        let own = folders
            .iter()
            .flat_map(|folder| words.started.iter().map(move |name| normalize(&folder.join(name))));
        let own =
            own.chain(self.on_path(words)).filter(|full| full.starts_with(self.root()) && full.is_file());
        let by_script: Vec<_> =
            own.filter_map(|full| loader_of(&interpreter_of(&content_of(&full))?)).collect();
        words.loaders.iter().filter_map(|name| loader_of(name)).chain(by_script)
    }

    /// Returns the paths that programs are known to load from where they start, whether they exist or not.
    fn loaded_from_start(&self, words: &ProgramWords, folders: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        for loader in self.loaders(words, folders) {
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

pub(super) fn content_of(full: &Path) -> Vec<u8> {
    let is_sensible = fs::metadata(full).is_ok_and(|found| found.is_file() && found.len() <= MAX_SCRIPT);
    // What is too long to be read is no script that is known.
    if is_sensible { fs::read(full).unwrap_or_default() } else { vec![0] }
}
