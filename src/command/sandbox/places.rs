//! Places of a machine that children see: the system, toolchains, and caches. Nothing else in a home folder
//! is visible.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::hidden;

/// Folders that belong to the system.
const SYSTEM: [&str; 17] = [
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/usr",
    "/etc",
    "/opt",
    "/nix",
    "/snap",
    "/gnu",
    "/System",
    "/Library",
    "/var/lib/dpkg",
    "/var/lib/gems",
    "/var/cache/fontconfig",
];

/// Those that only a package manager changes.
const OWNED: [&str; 7] = ["/bin", "/sbin", "/lib", "/usr", "/etc", "/nix", "/snap"];

/// Toolchains below a home folder. What build tools write to them, or elsewhere in it, is discarded.
const TOOLCHAINS: [&str; 36] = [
    ".cargo/bin",
    ".cargo/env",
    ".rustup",
    ".pyenv",
    ".local/bin",
    ".local/lib",
    ".local/share/uv",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/virtualenv",
    ".local/share/fnm",
    ".nvm",
    ".fnm",
    ".volta",
    ".nodenv",
    ".bun/bin",
    ".deno/bin",
    ".rbenv",
    ".rvm",
    ".goenv",
    ".sdkman",
    ".jenv",
    ".jdks",
    ".dotnet",
    ".phpenv",
    ".asdf",
    ".ghcup",
    ".opam",
    ".elan",
    ".juliaup",
    ".swiftly",
    ".foundry/bin",
    ".miniconda3",
    "miniconda3",
    "anaconda3",
    "sdk",
];

/// Folders below a home folder in which build tools keep what they share between projects.
const CACHES: [&str; 24] = [
    ".cache",
    ".cargo/registry",
    ".cargo/git",
    ".npm",
    ".pnpm-store",
    ".local/share/pnpm",
    ".yarn/cache",
    ".yarn/berry",
    ".m2/repository",
    ".m2/wrapper",
    ".gradle/caches",
    ".gradle/wrapper",
    ".gradle/native",
    "go/pkg",
    ".nuget/packages",
    ".bundle/cache",
    ".gem/ruby",
    ".bun/install",
    ".deno/cache",
    ".ivy2/cache",
    ".sbt/boot",
    ".mix",
    ".hex",
    ".composer/cache",
];

/// Configuration files below a home folder that tools need; they are visible unless they contain a
/// credential.
const SETTINGS: [&str; 16] = [
    ".gitconfig",
    ".config/git/config",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pip/pip.conf",
    ".config/pip/pip.conf",
    ".cargo/config.toml",
    ".cargo/config",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".condarc",
    ".bundle/config",
    ".gemrc",
    ".tool-versions",
    ".python-version",
];

/// Variables that name the folder of a toolchain.
const TOOLCHAIN_VARIABLES: [&str; 24] = [
    "RUNNER_TOOL_CACHE",
    "AGENT_TOOLSDIRECTORY",
    "RUSTUP_HOME",
    "PYENV_ROOT",
    "NVM_DIR",
    "NVM_BIN",
    "VOLTA_HOME",
    "GOROOT",
    "DOTNET_ROOT",
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "ANDROID_NDK_HOME",
    "VIRTUAL_ENV",
    "CONDA",
    "CONDA_PREFIX",
    "PYTHONHOME",
    "pythonLocation",
    "RBENV_ROOT",
    "SDKMAN_DIR",
    "M2_HOME",
    "MAVEN_HOME",
    "GRADLE_HOME",
    "CHROME_BIN",
    "PLAYWRIGHT_BROWSERS_PATH",
];

/// Variables that name the folder of a cache.
const CACHE_VARIABLES: [&str; 12] = [
    "GOCACHE",
    "GOMODCACHE",
    "PIP_CACHE_DIR",
    "npm_config_cache",
    "XDG_CACHE_HOME",
    "CARGO_TARGET_DIR",
    "SCCACHE_DIR",
    "CCACHE_DIR",
    "UV_CACHE_DIR",
    "POETRY_CACHE_DIR",
    "GRADLE_USER_HOME",
    "BUNDLE_PATH",
];

/// The places of one machine, all absolute. In each list of folders, none is below another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// The system, and what the configuration names; always visible.
    pub(super) readable: Vec<PathBuf>,
    /// Toolchains; always visible, and what builds add to them is discarded.
    pub(super) toolchains: Vec<PathBuf>,
    /// Configuration files without credentials.
    pub(super) settings: Vec<PathBuf>,
    /// Configuration files with a credential, which are not visible.
    pub(super) withheld: Vec<PathBuf>,
    /// Folders that builds write to.
    pub(super) caches: Vec<PathBuf>,
    /// Paths in visible places that are hidden.
    pub(super) hidden: Vec<PathBuf>,
    /// The home folder.
    pub(super) home: Option<PathBuf>,
    /// Where places are whose paths lead through links.
    real: BTreeMap<PathBuf, PathBuf>,
}

impl Places {
    /// Finds the places by the variables of children, and adds what the configuration names. Places in `workspace` are
    /// taken by their names alone: whoever wrote its files decides where links lead.
    pub(super) fn find(variables: &BTreeMap<String, String>, more: &[PathBuf], workspace: &Path) -> Self {
        let folder = |name: &str| variables.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = folder("HOME").filter(|home| home.parent().is_some());
        let below = |names: &[&str]| -> Vec<PathBuf> {
            home.iter().flat_map(|home| names.iter().map(|name| home.join(name))).collect()
        };
        let cargo = folder("CARGO_HOME");
        let temp = folder("RUNNER_TEMP");
        let is_open = |path: &PathBuf| {
            // A variable that names a folder around the home folder or the runner's files opens nothing.
            let holds = |other: &Option<PathBuf>| other.as_ref().is_some_and(|other| other.starts_with(path));
            path.parent().is_some() && !holds(&home) && !holds(&temp)
        };
        let programs = variables.get("PATH").into_iter().flat_map(|path| std::env::split_paths(path));
        let programs =
            programs.filter(|path| path.is_absolute()).map(|path| toolchain_of(path, home.as_deref()));
        let named = TOOLCHAIN_VARIABLES.iter().filter_map(|name| folder(name));
        let java =
            variables.iter().filter(|(name, _)| name.starts_with("JAVA_HOME") || name.starts_with("GOROOT_"));
        let java = java.map(|(_, path)| PathBuf::from(path)).filter(|path| path.is_absolute());
        let cargo_places = |names: &[&str]| {
            cargo.iter().flat_map(|cargo| names.iter().map(|name| cargo.join(name))).collect()
        };
        let cargo_tools: Vec<PathBuf> = cargo_places(&["bin", "env"]);
        let cargo_caches: Vec<PathBuf> = cargo_places(&["registry", "git"]);
        let opened = programs.chain(named).chain(java).filter(is_open);
        let toolchains = below(&TOOLCHAINS).into_iter().chain(cargo_tools).chain(opened);
        let readable = SYSTEM.iter().map(PathBuf::from).chain(more.iter().cloned());
        let of_system = |path: &PathBuf| OWNED.iter().any(|folder| path.starts_with(folder));
        let downloads = folder("GOPATH").map(|path| path.join("pkg"));
        let caches = CACHE_VARIABLES.iter().filter_map(|name| folder(name)).chain(downloads).filter(is_open);
        let caches = below(&CACHES).into_iter().chain(cargo_caches).chain(caches);
        let settings = below(&SETTINGS).into_iter().chain(cargo_places(&["config.toml", "config"]) as Vec<_>);
        let (settings, withheld) =
            settings.filter(|path| path.is_file()).partition(|path| !holds_credential(path));
        let mut places = Self {
            readable: outermost(readable.filter(|path| path.exists())),
            toolchains: outermost(toolchains.filter(|path| path.exists() && !of_system(path))),
            settings,
            withheld,
            caches: outermost(caches.filter(|path| path.is_dir())),
            hidden: hidden::of_system().chain(hidden::of_runners(temp.as_deref())).collect(),
            home,
            real: BTreeMap::new(),
        };
        let lists = [&places.toolchains, &places.caches, &more.to_vec()];
        let programs = lists.into_iter().flatten().filter(|place| !place.starts_with(workspace));
        let credentials: Vec<PathBuf> =
            programs.flat_map(|place| hidden::credentials(place, holds_credential)).collect();
        places.hidden.extend(credentials);
        // What this user cannot read need not be hidden.
        places.hidden.retain(|path| is_readable(path));
        let lists = [&places.readable, &places.toolchains, &places.settings, &places.caches, &places.hidden];
        let outside = lists.into_iter().flatten().filter(|place| !place.starts_with(workspace));
        let real = outside.filter_map(|place| Some((place.clone(), place.canonicalize().ok()?)));
        places.real = real.filter(|(place, real)| place != real).collect();
        places
    }

    /// Returns where a place is, as a path that led through no link when the run began.
    pub(super) fn real(&self, place: &Path) -> PathBuf {
        self.real.get(place).map_or_else(|| place.to_owned(), Clone::clone)
    }

    /// Returns the caches that children may use without a file system of their own, where nothing in them can be hidden.
    pub(super) fn open_caches(&self) -> impl Iterator<Item = &PathBuf> {
        self.caches.iter().filter(|cache| !self.hidden.iter().any(|hidden| hidden.starts_with(cache)))
    }

    /// Returns the variables that name one of the other caches.
    pub(super) fn closed_variables(&self, variables: &BTreeMap<String, String>) -> Vec<&'static str> {
        let is_closed = |path: &Path| {
            let holds = |cache: &&PathBuf| path.starts_with(cache);
            self.caches.iter().any(|cache| holds(&cache)) && !self.open_caches().any(|cache| holds(&cache))
        };
        let names = CACHE_VARIABLES.iter().copied();
        names.filter(|name| variables.get(*name).is_some_and(|path| is_closed(Path::new(path)))).collect()
    }
}

#[cfg(unix)]
fn is_readable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::READ_OK).is_ok()
}

#[cfg(not(unix))]
fn is_readable(path: &Path) -> bool {
    path.exists()
}

/// Returns the paths without those that are below another.
fn outermost(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let sorted: BTreeSet<PathBuf> = paths.filter(|path| is_plain(path)).collect();
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in sorted {
        if !kept.last().is_some_and(|above| path.starts_with(above)) {
            kept.push(path);
        }
    }
    kept
}

fn is_plain(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}

/// Returns the folder of a whole toolchain by a folder of its programs: those in `…/node/bin` have their
/// libraries in `…/node/lib`.
fn toolchain_of(programs: PathBuf, home: Option<&Path>) -> PathBuf {
    let is_programs = programs.file_name().is_some_and(|name| {
        ["bin", "sbin", "shims", "Scripts", "condabin"].iter().any(|known| name == *known)
    });
    let shared = |folder: &Path| {
        // Folders that contain many unrelated things.
        folder.parent().is_none()
            || home.is_some_and(|home| home.starts_with(folder))
            || folder
                .file_name()
                .is_some_and(|name| [".local", ".cargo", ".config"].iter().any(|known| name == *known))
    };
    match programs.parent() {
        Some(folder) if is_programs && !shared(folder) => folder.to_owned(),
        _ => programs,
    }
}

/// Returns the folders that words name by absolute paths, and the folders of files that they name.
pub(super) fn named_by(words: &[String], home: Option<&Path>) -> Vec<PathBuf> {
    let holds_more = |folder: &Path| {
        folder.parent().is_none()
            || home.is_some_and(|home| home.starts_with(folder))
            || folder == Path::new("/tmp")
    };
    let named = words.iter().flat_map(|word| word.split(['=', ':', ' '])).map(Path::new);
    let named = named.filter(|path| path.is_absolute() && is_plain(path)).filter_map(|path| {
        // What a program loads is beside it, in `../lib`, or among the packages to which it belongs.
        let packages = path.ancestors().filter(|above| above.ends_with("node_modules")).last();
        let folder = match packages {
            Some(packages) => packages.to_owned(),
            None if path.is_file() => toolchain_of(path.parent()?.to_owned(), home),
            None => path.to_owned(),
        };
        let folder = folder.as_path();
        let place = if holds_more(folder) { path } else { folder };
        (place.exists() && !holds_more(place)).then(|| place.to_owned())
    });
    outermost(named)
}

/// Names of settings that contain a credential.
const CREDENTIALS: [&str; 9] =
    ["_auth", "password", "passwd", "token", "secret", "extraheader", "apikey", "api_key", "credential"];

/// Minimum length of a word of letters and digits that counts as a key.
const KEY_LENGTH: usize = 20;

/// Returns whether a configuration file seems to contain a credential, or cannot be read.
fn holds_credential(path: &Path) -> bool {
    let Ok(text) = fs::read_to_string(path) else { return true };
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])).any(|line| {
        let lower = line.to_ascii_lowercase();
        // `key = value`, `[section]`, `- item`, `<tag>`, `tool version`; a line of another form may be
        // anything.
        let is_setting = line.contains(['=', ':', '[', '<', ' ']) || line.starts_with('-');
        !is_setting
            || CREDENTIALS.iter().any(|name| lower.contains(name))
            || has_user_info(&lower)
            || line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').any(is_like_a_key)
    })
}

fn is_like_a_key(word: &str) -> bool {
    word.len() >= KEY_LENGTH
        && word.contains(|letter: char| letter.is_ascii_digit())
        && word.contains(|letter: char| letter.is_ascii_alphabetic())
}

/// Returns whether a line contains a URL with a user: `https://user:password@host`.
fn has_user_info(line: &str) -> bool {
    line.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '"', '\'', ' ', '<']).next().unwrap_or_default();
        authority.contains('@')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(of: &[(&str, &Path)]) -> BTreeMap<String, String> {
        of.iter().map(|(name, path)| ((*name).to_owned(), path.display().to_string())).collect()
    }

    #[test]
    fn toolchains_and_caches_of_a_home_folder_are_seen_and_nothing_else_of_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let home = dir.path().join("me");
        for folder in
            [".ssh", ".cargo/bin", ".cargo/registry", ".rustup", "tools/node/bin", ".local/bin", "_temp"]
        {
            fs::create_dir_all(home.join(folder)).expect("a folder");
        }
        fs::write(home.join(".npmrc"), "//registry/:_authToken=abc\n").expect("a file");
        fs::write(home.join(".gitconfig"), "[user]\nname = me\n").expect("a file");
        let path = format!("{0}/tools/node/bin:{0}/.local/bin:.:relative", home.display());
        let mut variables =
            variables(&[("HOME", &home), ("RUNNER_TEMP", &home.join("_temp")), ("GOPATH", &home)]);
        variables.insert("PATH".to_owned(), path);
        let places = Places::find(&variables, &[], &home.join("work"));
        let below: Vec<&Path> =
            places.toolchains.iter().filter_map(|path| path.strip_prefix(&home).ok()).collect();
        assert_eq!(below, [".cargo/bin", ".local/bin", ".rustup", "tools/node"].map(Path::new));
        assert_eq!(
            places.caches,
            [home.join(".cargo/registry")],
            "GOPATH names everything, so it opens nothing"
        );
        assert_eq!(places.settings, [home.join(".gitconfig")]);
        assert_eq!(places.withheld, [home.join(".npmrc")]);
        assert!(places.hidden.contains(&home.join("_temp")));
    }

    #[test]
    fn programs_bring_along_what_they_load() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path();
        for file in
            ["node_modules/a/dist/index.js", "node_modules/b/index.js", "venv/bin/serve", "tools/one.py"]
        {
            fs::create_dir_all(root.join(file).parent().expect("a folder")).expect("a folder");
            fs::write(root.join(file), "").expect("a file");
        }
        let named = |word: &str| named_by(&[word.to_owned()], Some(&root.join("home")));
        let at = |path: &str| root.join(path).display().to_string();
        assert_eq!(named(&at("node_modules/a/dist/index.js")), [root.join("node_modules")]);
        assert_eq!(named(&at("venv/bin/serve")), [root.join("venv")]);
        assert_eq!(named(&format!("--config={}", at("tools/one.py"))), [root.join("tools")]);
        for nothing in ["/", "relative/path", "/no/such/file", &root.display().to_string()] {
            assert!(named(nothing).is_empty(), "{nothing}");
        }
    }

    #[test]
    fn credentials_in_settings_are_noticed() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("settings");
        for (text, holds) in [
            ("registry=https://mirror.example/\n", false),
            ("[url \"https://me:pw@host/\"]\n", true),
            ("proxy = https://host/path@2\n", false),
            ("# password = x\n", false),
            ("  password: x\n", true),
            ("nodejs 20.1.0\n", false),
            ("value = ghp16C7e42F292c6912E7710\n", true),
            ("what-nobody-knows\n", true),
            ("[http \"https://github.com/\"]\n extraheader = AUTHORIZATION: basic eA==\n", true),
        ] {
            fs::write(&file, text).expect("a file");
            assert_eq!(holds_credential(&file), holds, "{text}");
        }
        assert!(holds_credential(&dir.path().join("missing")));
    }
}
