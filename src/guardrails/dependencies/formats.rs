//! Lock files: how they are written, and what their values are.

use manifest::Format;

use super::text_kind::Kind;

/// How a lock file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writing {
    /// Values with keys.
    Values(Format),
    Xml,
    /// Lines with names, versions and addresses.
    Lines,
}

/// What the value of some keys is. `*` is any key, and `**` at the end any number of them.
type Rule = (&'static [&'static str], Kind);

/// Names of files, whether names in them have slashes, and what their values are.
const FORMATS: &[(&[&str], bool, &[Rule])] = &[
    (&["package-lock.json", "npm-shrinkwrap.json"], false, NPM),
    (&["yarn.lock"], false, &[(&["*", "bin", "*"], Kind::Path)]),
    (
        &["pnpm-lock.yaml"],
        false,
        &[
            (&["packages", "*", "deprecated"], Kind::People),
            (&["importers"], Kind::Path),
            (&["patchedDependencies", "*", "path"], Kind::Path),
            (&["packages", "*", "resolution", "directory"], Kind::Path),
            (&["packages", "*", "resolution", "path"], Kind::Path),
        ],
    ),
    (
        &["bun.lock"],
        false,
        &[
            (&["packages", "*", "1"], Kind::Place),
            (&["packages"], Kind::Path),
            (&["packages", "*", "*", "bin", "**"], Kind::Path),
            (&["packages", "*", "*", "binDir"], Kind::Path),
            (&["workspaces"], Kind::Path),
            (&["workspaces", "*", "bin", "**"], Kind::Path),
            (&["patchedDependencies", "*"], Kind::Path),
        ],
    ),
    (&["pipfile.lock"], false, &[(&["*", "*", "index"], Kind::Part)]),
    (&["composer.lock"], true, COMPOSER),
    (&["renv.lock"], true, RENV),
    (
        &["flake.lock"],
        false,
        &[
            (&["nodes", "*", "*", "owner"], Kind::Part),
            (&["nodes", "*", "*", "repo"], Kind::Part),
            (&["nodes", "*", "*", "host"], Kind::Part),
            (&["nodes", "*", "*", "ref"], Kind::Slashed),
            (&["nodes", "*", "*", "dir"], Kind::Path),
            (&["nodes", "*", "*", "path"], Kind::Path),
        ],
    ),
    (
        &["poetry.lock"],
        false,
        &[
            (&["package", "*", "description"], Kind::People),
            (&["package", "*", "source", "reference"], Kind::Slashed),
        ],
    ),
    (
        &["pdm.lock"],
        false,
        &[
            (&["package", "*", "summary"], Kind::People),
            (&["package", "*", "path"], Kind::Path),
            (&["package", "*", "ref"], Kind::Slashed),
        ],
    ),
    (&["uv.lock"], false, PATHS),
    (
        &["pylock.toml", "pylock.*.toml"],
        false,
        &[(&["packages", "*", "attestation-identities", "**"], Kind::Slashed)],
    ),
    (
        &["manifest.toml", "juliamanifest.toml"],
        false,
        &[(&["deps", "*", "*", "repo-rev"], Kind::Slashed), (&["deps", "*", "*", "path"], Kind::Path)],
    ),
    (&["buf.lock"], false, &[(&["deps", "*", "name"], Kind::Bare), (&["deps", "*", "remote"], Kind::Bare)]),
    (
        &["pubspec.lock"],
        false,
        &[
            (&["packages", "*", "description", "ref"], Kind::Slashed),
            (&["packages", "*", "description", "path"], Kind::Path),
        ],
    ),
    (&["module.bazel.lock"], true, &[]),
    (
        &["packages.lock.json", "conan.lock", "package.resolved", "podfile.lock", "cartfile.resolved"],
        true,
        &[],
    ),
    (&["deno.lock"], false, &[]),
    (&["cpanfile.snapshot", "paket.lock"], true, &[]),
];

const NPM: &[Rule] = &[
    (&["packages"], Kind::Path),
    (&["packages", "*", "funding", "**"], Kind::People),
    (&["packages", "*", "deprecated"], Kind::People),
    (&["packages", "*", "license", "**"], Kind::People),
    (&["packages", "*", "bin", "**"], Kind::Path),
    (&["packages", "*", "workspaces", "**"], Kind::Path),
];

const COMPOSER: &[Rule] = &[
    (&["packages", "*", "funding", "**"], Kind::People),
    (&["packages", "*", "support", "**"], Kind::People),
    (&["packages", "*", "authors", "**"], Kind::People),
    (&["packages", "*", "homepage"], Kind::People),
    (&["packages", "*", "description"], Kind::People),
    (&["packages", "*", "keywords", "**"], Kind::People),
    (&["packages", "*", "license", "**"], Kind::People),
    (&["_readme", "**"], Kind::People),
    (&["packages", "*", "suggest", "**"], Kind::People),
    (&["packages", "*", "require", "**"], Kind::Slashed),
    (&["packages", "*", "autoload", "**"], Kind::Path),
    (&["packages", "*", "notification-url"], Kind::Place),
    (&["packages", "*", "dist", "mirrors", "**"], Kind::Place),
];

const RENV: &[Rule] = &[
    (&["Packages", "*", "URL"], Kind::People),
    (&["Packages", "*", "BugReports"], Kind::People),
    (&["Packages", "*", "Author"], Kind::People),
    (&["Packages", "*", "Maintainer"], Kind::People),
    (&["Packages", "*", "Title"], Kind::People),
    (&["Packages", "*", "Description"], Kind::People),
    (&["Packages", "*", "Authors@R"], Kind::People),
    (&["Packages", "*", "License"], Kind::People),
    (&["Packages", "*", "Copyright"], Kind::People),
    (&["Packages", "*", "SystemRequirements"], Kind::People),
    (&["Packages", "*", "Collate"], Kind::People),
    (&["Packages", "*", "RemoteHost"], Kind::Part),
    (&["Packages", "*", "RemoteUsername"], Kind::Part),
    (&["Packages", "*", "RemoteRepo"], Kind::Part),
    (&["Packages", "*", "RemoteUrl"], Kind::Place),
    (&["Packages", "*", "RemoteRepos"], Kind::Place),
    (&["Packages", "*", "RemotePkgRef"], Kind::Spec),
];

const PATHS: &[Rule] = &[
    (&["package", "*", "source", "editable"], Kind::Path),
    (&["package", "*", "source", "virtual"], Kind::Path),
    (&["package", "*", "source", "directory"], Kind::Path),
    (&["package", "*", "source", "path"], Kind::Path),
    (&["package", "*", "metadata", "requires-dist", "*", "editable"], Kind::Path),
    (&["package", "*", "metadata", "requires-dist", "*", "virtual"], Kind::Path),
    (&["package", "*", "metadata", "requires-dist", "*", "directory"], Kind::Path),
    (&["package", "*", "metadata", "requires-dist", "*", "path"], Kind::Path),
    (&["package", "*", "metadata", "requires-dev", "*", "*", "editable"], Kind::Path),
    (&["package", "*", "metadata", "requires-dev", "*", "*", "directory"], Kind::Path),
];

/// Keys whose values are where something is fetched from, except where they are names of packages.
const PLACES: &[&str] = &[
    "resolved",
    "tarball",
    "repo",
    "repository",
    "repositories",
    "repositoryurl",
    "repo-url",
    "url",
    "urls",
    "remote",
    "remotes",
    "registry",
    "registries",
    "git",
    "index",
    "source",
    "location",
    "mirror",
    "mirrors",
    "uri",
    "archiveurl",
    "download_url",
    "downloadurl",
    "base_url",
    "baseurl",
    "channel",
    "channels",
    "proxy",
    "server",
    "host",
];

/// Keys whose entries are named by packages.
const NAMES: &[&str] = &[
    "dependencies",
    "devdependencies",
    "dev-dependencies",
    "optionaldependencies",
    "optional-dependencies",
    "peerdependencies",
    "peerdependenciesmeta",
    "requires",
    "require",
    "require-dev",
    "specifiers",
    "overrides",
    "resolutions",
    "engines",
    "catalog",
    "extras",
    "packages",
    "deps",
    "conflict",
    "provide",
    "replace",
    "suggest",
    "snapshots",
    "versions",
    "develop",
    "default",
    "spec checksums",
    "checksums",
    "weakdeps",
    "inputs",
    "nodes",
];

/// Words that stand where an address could, and mean a kind of place that is known.
const KINDS: &[&str] = &[
    "git",
    "hex",
    "local",
    "path",
    "registry",
    "hosted",
    "sdk",
    "root",
    "pypi",
    "cran",
    "repository",
    "bioconductor",
    "rspm",
    "legacy",
    "directory",
    "url",
    "file",
    "trunk",
    "hexpm",
    "devbox-search",
    "true",
    "false",
];

/// Returns how a lock file is written.
pub(super) fn writing(path: &str, text: &str) -> Writing {
    let name = name_of(path);
    Writing::Values(match name.as_str() {
        "yarn.lock" if text.lines().any(|line| line.starts_with("__metadata:")) => Format::Yaml,
        "composer.lock" | "pipfile.lock" | "deno.lock" | "bun.lock" | "conan.lock" | "package.resolved"
        | "flake.lock" | "renv.lock" | "module.bazel.lock" | "devbox.lock" | "nimble.lock" => Format::Json,
        "pubspec.lock" | "podfile.lock" | "chart.lock" | "pixi.lock" | "stack.yaml.lock" | "shard.lock"
        | "buf.lock" => Format::Yaml,
        "pdm.lock" | "mise.lock" => Format::Toml,
        name if name.ends_with(".py.lock") => Format::Toml,
        name if name.rsplit('.').next() == Some("xml") => return Writing::Xml,
        name => match Format::of(name) {
            Some(format) => format,
            None => return Writing::Lines,
        },
    })
}

/// Returns the name of a file, in lower case.
pub(super) fn name_of(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_lowercase()
}

fn format(name: &str) -> Option<&'static (&'static [&'static str], bool, &'static [Rule])> {
    FORMATS.iter().find(|(names, ..)| names.iter().any(|pattern| super::table::fits(pattern, name)))
}

/// Returns whether names in a file have slashes.
pub(super) fn has_slashes(name: &str) -> bool {
    format(name).is_some_and(|(_, has_slashes, _)| *has_slashes)
}

/// Returns what the names in an object are, by the keys that lead to it.
pub(super) fn kind_of_names(name: &str, keys: &[String]) -> Kind {
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    rule(name, &keys)
        .filter(|kind| matches!(kind, Kind::People | Kind::Path | Kind::Slashed))
        .unwrap_or(Kind::Spec)
}

fn rule(name: &str, keys: &[&str]) -> Option<Kind> {
    let (_, _, rules) = format(name)?;
    rules.iter().find(|(pattern, _)| leads(name, pattern, keys)).map(|(_, kind)| *kind)
}

/// Returns what the value of some keys is. Those of the items of a list are their numbers.
pub(super) fn kind(name: &str, keys: &[&str], text: &str) -> Kind {
    if let Some(kind) = rule(name, keys) {
        return kind;
    }
    let is_number = |key: &&&str| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit());
    let mut named =
        keys.iter().rev().skip_while(is_number).map(|key| key.trim_start_matches(':').to_lowercase());
    let (Some(key), above) = (named.next(), named.next()) else { return Kind::Spec };
    let is_name = above.is_some_and(|above| NAMES.contains(&above.as_str()));
    let is_kind =
        KINDS.contains(&text.to_lowercase().as_str()) || text.bytes().all(|byte| byte.is_ascii_digit());
    if is_name || !PLACES.contains(&key.as_str()) || is_kind {
        return Kind::Spec;
    }
    if matches!(key.as_str(), "host" | "server" | "proxy") && !text.contains("//") {
        Kind::Bare
    } else {
        Kind::Place
    }
}

fn leads(name: &str, pattern: &[&str], keys: &[&str]) -> bool {
    // What is needed for development alone is written as the rest.
    let is_first = |pattern: &str, key: &str| {
        pattern == key
            || pattern == "*"
            || name == "composer.lock" && key.strip_suffix("-dev") == Some(pattern)
    };
    match pattern.split_last() {
        Some((&"**", before)) => {
            keys.len() >= before.len() && before.iter().zip(keys).all(|(pattern, key)| is_first(pattern, key))
        }
        _ => {
            pattern.len() == keys.len()
                && pattern.iter().zip(keys).all(|(pattern, key)| is_first(pattern, key))
        }
    }
}
