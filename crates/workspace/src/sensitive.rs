//! Sensitive files: those that a configuration lists, or by default those that usually hold keys and passwords.
//!
//! A list is strict: a file that it names does not exist for commands, nor does anything that Git's history ever held
//! under such a name. By default there is a difference between what Git tracks (test certificates, an `.npmrc` without a
//! token) and what it does not, which is where people and workflow steps leave their real credentials: tools refuse
//! both, but only the latter are hidden from commands, hooks and gates, and history stays as it is.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use super::globs::{InvalidGlob, PathGlobs};
use super::location::WorkspaceLocation;
use super::path::WorkspacePath;

/// Files that Git tracks, listed when first asked for: a rule of an ignore file says nothing about them.
pub type TrackedFiles =
    Arc<LazyLock<BTreeSet<WorkspacePath>, Box<dyn FnOnce() -> BTreeSet<WorkspacePath> + Send>>>;

/// Names of files that usually hold a credential.
const NAMES: [&str; 21] = [
    ".env",
    ".envrc",
    ".boto",
    ".dockercfg",
    ".git-credentials",
    ".my.cnf",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".s3cfg",
    ".vault-token",
    "_netrc",
    "application_default_credentials.json",
    "credentials.tfrc.json",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_ed25519_sk",
    "id_rsa",
    "kubeconfig",
];

/// Ends of names of files that hold keys.
const ENDS: [&str; 9] = [".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".ppk", ".p8", ".kdbx"];

/// Files that hold a credential in folders of these names.
const BELOW: [(&str, &str); 9] = [
    (".aws", "credentials"),
    (".aws", "config"),
    (".azure", "*"),
    (".cargo", "credentials"),
    (".cargo", "credentials.toml"),
    (".docker", "config.json"),
    ("gcloud", "credentials.db"),
    (".gem", "credentials"),
    (".kube", "config"),
];

/// Ends of names of examples, which are there to be read.
const EXAMPLES: [&str; 5] = [".example", ".sample", ".template", ".dist", ".defaults"];

/// Folders of other people's packages: the certificates in them are public.
const DEPENDENCIES: [&str; 7] = ["node_modules", "site-packages", "vendor", ".venv", "venv", ".tox", ".nox"];

/// Files that the agent must not read or write.
#[derive(Clone, Debug)]
pub struct SensitiveFiles {
    rule: Rule,
    tracked: Tracked,
    location: WorkspaceLocation,
}

/// The files that Git tracks, as far as commands see them.
#[derive(Clone, Debug)]
pub struct Tracked {
    /// Those of the checkout.
    pub checkout: TrackedFiles,
    /// Those of the repository around it, relative to its root.
    pub repository: TrackedFiles,
}

impl Default for Tracked {
    /// Returns the lists of a place that is in no repository.
    fn default() -> Self {
        let none: TrackedFiles = Arc::new(LazyLock::new(Box::new(BTreeSet::new)));
        Self { checkout: Arc::clone(&none), repository: none }
    }
}

#[derive(Clone, Debug)]
enum Rule {
    Listed(PathGlobs),
    Usual,
}

impl Default for SensitiveFiles {
    /// Returns a rule by which no file is sensitive.
    fn default() -> Self {
        Self::listed(PathGlobs::default())
    }
}

impl SensitiveFiles {
    /// Parses what a configuration says; without a list, the usual places of credentials are meant. `tracked` are the files
    /// that Git tracks, which are listed only if some file fits.
    pub fn new(
        list: Option<&[String]>,
        tracked: Tracked,
        location: WorkspaceLocation,
    ) -> Result<Self, InvalidGlob> {
        let rule = list.map_or(Ok(Rule::Usual), |list| PathGlobs::folding(list).map(Rule::Listed))?;
        Ok(Self { rule, tracked, location })
    }

    /// Returns the rule of a list.
    pub fn listed(globs: PathGlobs) -> Self {
        Self {
            rule: Rule::Listed(globs),
            tracked: Tracked::default(),
            location: WorkspaceLocation::default(),
        }
    }

    /// Returns the pattern that makes a path of the workspace sensitive.
    pub fn find(&self, path: &WorkspacePath) -> Option<&str> {
        self.location.names_of(path).find_map(|path| self.find_beside(&path))
    }

    /// Returns the same for a path that is relative to the root of the repository around the workspace, or of another one.
    pub fn find_beside(&self, path: &WorkspacePath) -> Option<&str> {
        match &self.rule {
            Rule::Listed(globs) => globs.find(path),
            Rule::Usual => usual(path),
        }
    }

    /// Returns whether a file is hidden from commands.
    pub fn hides(&self, path: &WorkspacePath) -> bool {
        self.find(path).is_some() && (self.is_list() || !is_tracked(&self.tracked.checkout, path))
    }

    /// The same for a file of the repository around the checkout, relative to its root.
    pub fn hides_beside(&self, path: &WorkspacePath) -> bool {
        self.find_beside(path).is_some() && (self.is_list() || !is_tracked(&self.tracked.repository, path))
    }

    /// Returns whether a configuration lists the files. Only then nobody sees what they held in the past.
    pub fn is_list(&self) -> bool {
        matches!(self.rule, Rule::Listed(_))
    }

    /// Returns `true` if no file can be sensitive.
    pub fn is_empty(&self) -> bool {
        matches!(&self.rule, Rule::Listed(globs) if globs.is_empty())
    }
}

/// Returns whether Git tracks a file, or the submodule that it is part of.
fn is_tracked(tracked: &TrackedFiles, path: &WorkspacePath) -> bool {
    let mut above = Some(path.clone());
    while let Some(path) = above.filter(|path| !path.is_root()) {
        if tracked.contains(&path) {
            return true;
        }
        above = path.parent();
    }
    false
}

/// Returns the pattern of the default that a path fits.
fn usual(path: &WorkspacePath) -> Option<&'static str> {
    let folded = folded(path);
    let (folders, name) = folded.rsplit_once('/').unwrap_or(("", &folded));
    let is_example = || EXAMPLES.iter().any(|end| name.ends_with(end));
    let found = NAMES
        .iter()
        .find(|known| **known == name)
        .copied()
        .or_else(|| (name.starts_with(".env.") && !is_example()).then_some(".env.*"))
        .or_else(|| {
            let is_gcloud = name.starts_with("gha-creds-") && name.rsplit_once('.')?.1 == "json";
            is_gcloud.then_some("gha-creds-*.json")
        })
        .or_else(|| ENDS.iter().find(|end| name.ends_with(**end)).copied())
        .or_else(|| {
            let fits = |file: &str| file == "*" || file == name;
            let is_in = |above: &str| folders.split('/').any(|folder| folder == above);
            BELOW.iter().find(|(above, file)| fits(file) && is_in(above)).map(|(above, _)| *above)
        })?;
    let is_installed = folders.split('/').any(|folder| DEPENDENCIES.contains(&folder));
    (!is_installed).then_some(found)
}

/// Returns the path as any file system may read it; every file of a checkout is requested, so ordinary names come first.
fn folded(path: &WorkspacePath) -> Cow<'_, str> {
    let text = path.as_str();
    let is_ordinary = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b':' | b'~' | b'\\');
    if !text.bytes().all(is_ordinary) || text.ends_with('.') || text.contains("./") {
        Cow::Owned(path.folded())
    } else if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> WorkspacePath {
        WorkspacePath::parse(text).expect("a plain path")
    }

    fn tracking(names: &'static [&'static str]) -> Tracked {
        let checkout: TrackedFiles =
            Arc::new(LazyLock::new(Box::new(|| names.iter().map(|name| path(name)).collect())));
        Tracked { checkout, ..Tracked::default() }
    }

    #[test]
    fn usual_places_of_credentials_are_sensitive() {
        let files =
            SensitiveFiles::new(None, tracking(&[]), WorkspaceLocation::default()).expect("the default");
        let sensitive = [
            ".env",
            "app/.env",
            ".env.local",
            ".ENV",
            ".env.production",
            ".envrc",
            "certs/server.pem",
            "a.key",
            ".npmrc",
            "web/.npmrc",
            ".netrc",
            ".aws/credentials",
            ".aws/config",
            ".azure/accessTokens.json",
            "deploy/id_rsa",
            "gha-creds-0123.json",
            ".kube/config",
            "release.keystore",
            ".docker/config.json",
            "key.P12",
        ];
        for name in sensitive {
            assert!(files.find(&path(name)).is_some() && files.hides(&path(name)), "{name}");
        }
        let plain = [
            ".env.example",
            ".env.sample",
            "app/.env.template",
            ".env.local.example",
            "src/environment.rs",
            ".environment",
            "env",
            "src/config",
            "docs/credentials",
            "config.json",
            "id_rsa.pub",
            "keys.rs",
            "monkey",
            "src/a.pemx",
            "node_modules/tls/test/cert.pem",
            ".venv/lib/python3/site-packages/certifi/cacert.pem",
            "vendor/x/a.key",
        ];
        for name in plain {
            assert_eq!(files.find(&path(name)), None, "{name}");
        }
    }

    #[test]
    fn what_git_tracks_is_refused_and_not_hidden() {
        let files =
            SensitiveFiles::new(None, tracking(&["tests/cert.pem", "sub"]), WorkspaceLocation::default())
                .expect("the default");
        for (name, is_hidden) in
            [("tests/cert.pem", false), ("tests/other.pem", true), ("sub/a/b.pem", false)]
        {
            assert!(files.find(&path(name)).is_some(), "{name}");
            assert_eq!(files.hides(&path(name)), is_hidden, "{name}");
        }
    }

    #[test]
    fn lists_replace_the_default() {
        let list = ["*.pem".to_owned()];
        let files = SensitiveFiles::new(Some(&list), tracking(&["a.pem"]), WorkspaceLocation::default())
            .expect("a list");
        assert!(files.hides(&path("a.pem")) && files.is_list());
        assert_eq!(files.find(&path(".env")), None);
        let none = SensitiveFiles::new(Some(&[]), tracking(&[]), WorkspaceLocation::default())
            .expect("an empty list");
        assert!(none.is_empty() && none.find(&path(".env")).is_none());
    }
}
