//! Programs that the configuration names: where the checkout holds what somebody wants to have merged, those of the
//! repository have to be the base commit's.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::config::{self, HookConfig};
use crate::git::{GitError, Repository, TreeEntry, TreeKind};
use crate::mcp::Server;
use crate::trust::Trust;

/// Most bytes of a program's file.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// Endings of files that interpreters run.
const SCRIPTS: [&str; 18] = [
    "bash", "cjs", "cts", "js", "jsx", "lua", "mjs", "mts", "php", "pl", "ps1", "py", "pyz", "rb", "sh",
    "ts", "tsx", "zsh",
];

/// Programs that do what files beside them say, and those files.
const STEERED: [(&[&str], &[&str]); 6] = [
    (
        &["npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "bun"],
        &[".npmrc", "package.json", "node_modules", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "bunfig.toml"],
    ),
    (&["uv", "uvx", "pipx"], &["uv.toml", "pyproject.toml", ".python-version", ".env"]),
    (&["make", "gmake"], &["Makefile", "makefile", "GNUmakefile"]),
    (&["just"], &["justfile", "Justfile", ".justfile"]),
    (&["deno"], &["deno.json", "deno.jsonc", "package.json", "node_modules"]),
    (&["direnv"], &[".envrc"]),
];

/// Compares programs of the repository with the base commit.
pub(super) struct Programs<'a> {
    pub(super) trust: &'a Trust,
    pub(super) repository: Option<&'a Repository>,
    /// The folder that programs start in.
    pub(super) workspace: &'a Path,
}

impl Programs<'_> {
    /// Checks the hooks; the error names the first one that must not run.
    pub(super) fn check_hooks(&self, hooks: &config::Hooks) -> Result<(), String> {
        for hook in hooks.all().filter(|hook: &&HookConfig| hook.enabled) {
            let refused = |reason: String| format!("the hook {:?} is not run: {reason}", hook.name);
            self.check(&words_of(&hook.command), false).map_err(refused)?;
        }
        Ok(())
    }

    /// Checks a command line that is given a key or not.
    pub(super) fn check_line(&self, line: &str, has_secret: bool) -> Result<(), String> {
        self.check(&words_of(line), has_secret)
    }

    /// Leaves out the servers that must not be started; `tell` takes the reasons.
    pub(super) fn keep_servers(&self, servers: &mut Vec<Server>, mut tell: impl FnMut(String)) {
        servers.retain(|server| {
            let Some(words) = server.words() else { return true };
            // A program may be a shell with a line of its own.
            let words: Vec<String> =
                words.iter().flat_map(|word| [candidates(word), words_of(word)].concat()).collect();
            let has_secret = server.token_variable().is_some();
            match self.check(&words, has_secret) {
                Ok(()) => true,
                Err(reason) => {
                    tell(format!("the MCP server {} is left out: {reason}", server.name()));
                    false
                }
            }
        });
    }

    /// Checks the words of a command: whatever of the repository they name has to be as the base commit has it, and
    /// so has the folder around a file, whose other files it may load.
    fn check(&self, words: &[String], has_secret: bool) -> Result<(), String> {
        let Trust::Base(commit) = self.trust else { return Ok(()) };
        let root = self.repository.map_or(self.workspace, Repository::root);
        let mut names: Vec<PathBuf> = words.iter().map(PathBuf::from).collect();
        // Of `$GITHUB_WORKSPACE/ci/x` the words hold `/ci/x`.
        names.extend(words.iter().filter_map(|word| Some(PathBuf::from(word.strip_prefix('/')?))));
        for (index, word) in words.iter().enumerate() {
            let steering =
                STEERED.iter().filter(|(programs, _)| has_secret && programs.contains(&word.as_str()));
            names.extend(steering.flat_map(|(_, files)| files.iter().map(PathBuf::from)));
            // `python -m package.module`
            if index > 0 && words[index - 1] == "-m" {
                let module = word.replace('.', "/");
                names.extend([PathBuf::from(format!("{module}.py")), PathBuf::from(module)]);
            }
        }
        // `cd ci && ./x`, `make -C ci x`: a name may be meant from any folder that is named, too.
        let named = names.iter().map(|name| self.workspace.join(name)).filter(|folder| folder.is_dir());
        let mut folders: BTreeSet<PathBuf> = named.collect();
        folders.extend([self.workspace.to_owned(), root.to_owned()]);
        let full = folders
            .iter()
            .flat_map(|folder| names.iter().map(|name| crate::trust::normalize(&folder.join(name))));
        let paths: BTreeSet<String> =
            full.filter_map(|full| full.strip_prefix(root).ok().and_then(below)).collect();
        let comparison = Comparison { commit, repository: self.repository, root, has_secret };
        paths.iter().try_for_each(|path| comparison.check(path))
    }
}

/// Splits a command line into words; operators of the shell separate words as blanks do.
fn words_of(line: &str) -> Vec<String> {
    let parts = shlex::split(line).unwrap_or_default();
    let is_operator = |c: char| c.is_whitespace() || ";&|()<>`\"'${}=,:".contains(c);
    let pieces = line.split(is_operator).filter(|piece| !piece.is_empty()).map(str::to_owned);
    let mut words: Vec<String> = parts.iter().flat_map(|part| candidates(part)).collect();
    words.extend(pieces);
    words
}

/// Returns a word, and what an option in it is set to.
fn candidates(word: &str) -> Vec<String> {
    let value = word.split_once('=').map(|(_, value)| value.to_owned());
    std::iter::once(word.to_owned()).chain(value).filter(|word| !word.is_empty()).collect()
}

/// Returns a path in Git's form; `None` for the root itself.
fn below(path: &Path) -> Option<String> {
    let names: Vec<_> = path.components().map(|name| name.as_os_str().to_str()).collect::<Option<_>>()?;
    (!names.is_empty()).then(|| names.join("/"))
}

struct Comparison<'a> {
    commit: &'a str,
    repository: Option<&'a Repository>,
    root: &'a Path,
    /// Whether the program is given a key or a token.
    has_secret: bool,
}

impl Comparison<'_> {
    fn check(&self, path: &str) -> Result<(), String> {
        let on_disk = fs::symlink_metadata(self.root.join(path)).is_ok();
        let Some(repository) = self.repository else {
            let unknown = "the base commit is not in this clone, so it cannot be compared; set `fetch-depth: \
                           0` for `actions/checkout`";
            return if on_disk { Err(format!("{path}: {unknown}")) } else { Ok(()) };
        };
        let failed = |error: GitError| format!("could not compare {path} with the base commit: {error}");
        let entry = match repository.entry_at(self.commit, path) {
            Ok(entry) => entry,
            // A word that is no file at all needs no commit.
            Err(_) if !on_disk => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        if !on_disk && entry.is_none() {
            return Ok(());
        }
        let compare = |path: &str, entry: Option<&TreeEntry>| match self.same(repository, path, entry) {
            Ok(None) => Ok(()),
            Ok(Some(path)) => Err(self.differs(&path)),
            Err(error) => Err(failed(error)),
        };
        let is_folder = self.root.join(path).is_dir();
        if is_folder && !self.has_secret && !self.root.join(path).join("__main__.py").exists() {
            // What a program looks at, and not what it is.
            return Ok(());
        }
        compare(path, entry.as_ref())?;
        if is_folder || !is_script(path, entry.as_ref()) {
            return Ok(());
        }
        match path.rsplit_once('/') {
            Some((folder, _)) => {
                let entry = repository.entry_at(self.commit, folder).map_err(failed)?;
                compare(folder, entry.as_ref())
            }
            None if self.has_secret => Err(format!(
                "{path} gets a secret, but is in the repository's root, where it could load any other file; \
                 move it to a folder of its own"
            )),
            None => Ok(()),
        }
    }

    fn differs(&self, path: &str) -> String {
        format!(
            "{path} differs from the base commit {}; merge it first, or set `trust-head-config: true` if everybody who \
             can open a pull request may change what the agent does",
            &self.commit[..self.commit.len().min(12)]
        )
    }

    /// Compares what stands at a path with an entry of the base commit, folders with all that is in them; answers
    /// with the first path that differs.
    fn same(
        &self,
        repository: &Repository,
        path: &str,
        entry: Option<&TreeEntry>,
    ) -> Result<Option<String>, GitError> {
        let full = self.root.join(path);
        let differs = || Ok(Some(path.to_owned()));
        let (Some(entry), Ok(metadata)) = (entry, fs::symlink_metadata(&full)) else { return differs() };
        match entry.kind {
            TreeKind::Folder if metadata.is_dir() => {
                let mut here = BTreeSet::new();
                for found in fs::read_dir(&full)? {
                    match found?.file_name().into_string() {
                        Ok(name) => drop(here.insert(name)),
                        Err(name) => return Ok(Some(format!("{path}/{}", name.to_string_lossy()))),
                    }
                }
                for (name, entry) in repository.folder(entry)? {
                    here.remove(&name);
                    if let Some(path) = self.same(repository, &format!("{path}/{name}"), Some(&entry))? {
                        return Ok(Some(path));
                    }
                }
                Ok(here.into_iter().next().map(|name| format!("{path}/{name}")))
            }
            TreeKind::File | TreeKind::Executable if metadata.is_file() && metadata.len() <= MAX_FILE => {
                let is_same = is_executable(&metadata) == (entry.kind == TreeKind::Executable)
                    && repository.is_content(entry, &fs::read(&full)?);
                if is_same { Ok(None) } else { differs() }
            }
            TreeKind::Link if metadata.is_symlink() => {
                let target = fs::read_link(&full)?;
                let is_same = repository.is_content(entry, target.as_os_str().as_encoded_bytes());
                if is_same { Ok(None) } else { differs() }
            }
            // Its commit says nothing of what stands there.
            _ => differs(),
        }
    }
}

/// Tells whether a file is one that loads others: a program or a script.
fn is_script(path: &str, entry: Option<&TreeEntry>) -> bool {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
    entry.is_some_and(|entry| entry.kind == TreeKind::Executable)
        || extension.is_some_and(|extension| SCRIPTS.contains(&extension))
}

#[cfg(unix)]
fn is_executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &fs::Metadata) -> bool {
    false
}
