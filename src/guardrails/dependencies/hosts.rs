//! Hosts: whose the place is that an address leads to.

/// Hosts where the names of packages come first in a path, which everybody publishes under names of their own.
const REGISTRIES: &[&str] = &[
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    "npm.jsr.io",
    "jsr.io",
    "deno.land",
    "unpkg.com",
    "esm.sh",
    "pypi.org",
    "files.pythonhosted.org",
    "pypi.python.org",
    "repo.anaconda.com",
    "index.crates.io",
    "static.crates.io",
    "crates.io",
    "rubygems.org",
    "index.rubygems.org",
    "repo.maven.apache.org",
    "repo1.maven.org",
    "plugins.gradle.org",
    "services.gradle.org",
    "dl.google.com",
    "maven.google.com",
    "api.nuget.org",
    "www.nuget.org",
    "registry.terraform.io",
    "registry.opentofu.org",
    "hex.pm",
    "repo.hex.pm",
    "packagist.org",
    "repo.packagist.org",
    "pub.dev",
    "pub.dartlang.org",
    "hackage.haskell.org",
    "casa.stackage.org",
    "cran.r-project.org",
    "cloud.r-project.org",
    "cran.rstudio.com",
    "packagemanager.posit.co",
    "p3m.dev",
    "cdn.cocoapods.org",
    "trunk.cocoapods.org",
    "center.conan.io",
    "center2.conan.io",
    "bcr.bazel.build",
    "proxy.golang.org",
    "sum.golang.org",
    "schema.gradle.org",
    "www.w3.org",
    "maven.apache.org",
];

/// Hosts where everybody can put something: what a host is or ends in, and the names that may stand before the account.
const SHARED: &[(&str, &[&str])] = &[
    ("github.com", &["repos", "users", "orgs"]),
    ("gist.github.com", &[]),
    (".pkg.github.com", &["download"]),
    ("ghcr.io", &["v2"]),
    ("docker.io", &["v2"]),
    (".docker.io", &["v2"]),
    ("quay.io", &["v2", "repository"]),
    ("gitlab.com", &["api", "v4", "projects", "groups"]),
    ("registry.gitlab.com", &["v2"]),
    ("bitbucket.org", &["2.0", "repositories"]),
    ("api.bitbucket.org", &["2.0", "repositories"]),
    ("codeberg.org", &["api", "packages", "v1", "repos"]),
    ("gitea.com", &["api", "packages", "v1", "repos"]),
    ("gitee.com", &["api", "v5", "repos"]),
    ("git.sr.ht", &[]),
    ("hg.sr.ht", &[]),
    ("pkgs.dev.azure.com", &[]),
    ("dev.azure.com", &[]),
    (".pkg.dev", &["v2"]),
    ("storage.googleapis.com", &["download", "storage", "v1", "b"]),
    ("storage.cloud.google.com", &[]),
    (".digitaloceanspaces.com", &[]),
    (".backblazeb2.com", &["file"]),
    (".cloudsmith.io", &["public", "basic"]),
    (".fury.io", &[]),
    ("packagecloud.io", &[]),
    ("www.myget.org", &["f"]),
    ("jitpack.io", &["com", "github", "io"]),
    ("conda.anaconda.org", &["t"]),
    ("anaconda.org", &[]),
    ("buf.build", &[]),
    ("huggingface.co", &["datasets", "spaces", "api", "models"]),
    ("raw.githack.com", &[]),
    ("rawcdn.githack.com", &[]),
];

/// Hosts that serve what anybody has put there, or what is elsewhere, and whose addresses say by a number, a query or another address
/// what is meant. A name that begins with a dot is what a host ends in.
const NUMBERED: &[&str] = &[
    "1drv.ms",
    "archive.is",
    "archive.org",
    "archive.ph",
    "archive.softwareheritage.org",
    "archive.today",
    "arweave.net",
    "box.com",
    ".box.com",
    "cdn.discordapp.com",
    "corsproxy.io",
    "dl.dropboxusercontent.com",
    ".dropboxusercontent.com",
    "docs.google.com",
    "drive.google.com",
    "drive.usercontent.google.com",
    "dropbox.com",
    ".dropbox.com",
    "dweb.link",
    ".dweb.link",
    "figshare.com",
    ".figshare.com",
    "file.io",
    "ghfast.top",
    "ghproxy.com",
    "ghproxy.net",
    ".githubusercontent.com",
    "gofile.io",
    ".gofile.io",
    ".googleusercontent.com",
    "ipfs.io",
    "mediafire.com",
    ".mediafire.com",
    "media.discordapp.net",
    "mega.nz",
    "mirror.ghproxy.com",
    "nightly.link",
    "onedrive.live.com",
    "osf.io",
    ".osf.io",
    "pastebin.com",
    "paste.rs",
    "r.jina.ai",
    ".sharepoint.com",
    "transfer.sh",
    ".translate.goog",
    ".archive.org",
    ".wetransfer.com",
    "zenodo.org",
    ".zenodo.org",
];

/// Keys of queries that say which version of a file is meant, or how it is sent.
const HARMLESS_QUERIES: &[&str] = &[
    "archive",
    "branch",
    "cache",
    "checksum",
    "commit",
    "depth",
    "dl",
    "download",
    "ref",
    "rev",
    "sha",
    "subdirectory",
    "sync_timestamp",
    "tag",
    "version",
];

/// Names that stand before the one that says which part of a host it is, where nothing else is known of the host.
const USUAL: &[&str] = &[
    "api",
    "artifactory",
    "basic",
    "content",
    "download",
    "downloads",
    "f",
    "feed",
    "feeds",
    "file",
    "files",
    "gh",
    "groups",
    "maven",
    "mvn",
    "nexus",
    "npm",
    "nuget",
    "project",
    "projects",
    "public",
    "registry",
    "repo",
    "repos",
    "repositories",
    "repository",
    "storage",
    "t",
    "u",
    "users",
    "v1",
    "v2",
    "v3",
    "v4",
];

/// Whose a place is.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Owner {
    /// The account on a host where everybody can put something.
    pub(super) account: Option<String>,
    /// The part of a host of which nothing is known; none if all of it is meant.
    pub(super) part: Option<String>,
}

/// Returns a host by its usual name, and whose the place is that a path leads to, which is given as a text with its query and by the
/// names in it.
pub(super) fn owner(host: &str, path: &str, names: &[&str]) -> (String, Owner) {
    let whole = || Owner { account: Some(path.trim_start_matches('/').to_owned()), part: None };
    let account = |names: &[&str]| Owner {
        account: Some(names.first().map_or_else(String::new, |name| account_of(name))),
        part: None,
    };
    let (host, names) = match host {
        "codeload.github.com"
        | "raw.githubusercontent.com"
        | "media.githubusercontent.com"
        | "raw.github.com"
        | "www.github.com"
        | "api.github.com"
        | "uploads.github.com" => ("github.com", names),
        "gist.githubusercontent.com" => ("gist.github.com", names),
        // They show what is on GitHub and elsewhere.
        "cdn.jsdelivr.net" | "esm.sh" | "cdn.statically.io" | "ghcdn.rawgit.org" => match names {
            ["npm", ..] => return (host.to_owned(), Owner::default()),
            ["gh", rest @ ..] => ("github.com", rest),
            _ if host == "esm.sh" => (host, names),
            _ => return (host.to_owned(), whole()),
        },
        _ => (host, names),
    };
    let is_bucket = host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn");
    if is_bucket && (host.starts_with("s3.") || host.starts_with("s3-")) {
        return (host.to_owned(), account(names));
    }
    let is_named = |name: &str| host == name || name.starts_with('.') && host.ends_with(name);
    let shared = SHARED.iter().find(|(name, _)| is_named(name));
    if let Some((_, before)) = shared {
        let skipped = names.iter().take_while(|name| before.contains(&name.to_lowercase().as_str())).count();
        return (host.to_owned(), account(&names[skipped..]));
    }
    // Hex has packages of its own for each of its customers.
    if let ("repo.hex.pm", ["repos", rest @ ..]) = (host, names) {
        return (host.to_owned(), account(rest));
    }
    if REGISTRIES.contains(&host) {
        return (host.to_owned(), Owner::default());
    }
    if NUMBERED.iter().any(|name| is_named(name)) || is_elsewhere(path) {
        return (host.to_owned(), whole());
    }
    (host.to_owned(), Owner { account: None, part: part_of(names) })
}

fn account_of(name: &str) -> String {
    let name = name.strip_suffix(".git").unwrap_or(name);
    name.strip_prefix('@').unwrap_or(name).to_lowercase()
}

/// Returns whether a path or its query says by another address, or by a key of its own, what is meant.
fn is_elsewhere(path: &str) -> bool {
    let query = path.split_once('?').map_or("", |(_, query)| query);
    let mut settings = query.split('&').filter(|setting| !setting.is_empty());
    let key = |setting: &str| setting.split('=').next().unwrap_or_default().to_lowercase();
    path.contains(":/") || settings.any(|setting| !HARMLESS_QUERIES.contains(&key(setting).as_str()))
}

/// Returns the names at the start of a path that say which part of a host it is, up to those of a package.
fn part_of(names: &[&str]) -> Option<String> {
    let file = names.last()?.to_lowercase();
    let usual = names.iter().take_while(|name| USUAL.contains(&name.to_lowercase().as_str())).count();
    let is_package = |name: &str| !name.is_empty() && file.starts_with(&name.to_lowercase());
    let count = match names.get(usual..)? {
        [] => usual,
        [scope, package, ..] if scope.starts_with('@') && is_package(package) => usual,
        [first, ..] if is_package(first) => usual,
        _ => usual + 1,
    };
    // A number behind it says which one is meant.
    let is_number = |name: &&&str| name.bytes().all(|byte| byte.is_ascii_digit());
    let count =
        count + names.get(count..names.len() - 1).unwrap_or_default().iter().take_while(is_number).count();
    (count > 0).then(|| names[..count].join("/").to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_unknown_hosts_end_before_the_names_of_packages() {
        for (path, part) in [
            ("a/-/a-1.0.0.tgz", None),
            ("@s/a/-/a-1.0.0.tgz", None),
            ("repository/npm-all/a/-/a-1.0.0.tgz", Some("repository/npm-all")),
            ("artifactory/api/npm/virtual/@s/a/-/a-1.tgz", Some("artifactory/api/npm/virtual")),
            ("packages/ab/cd/a-1.whl", Some("packages")),
            ("octo/a-1.tgz", Some("octo")),
            ("builds/123/45/a-1.tgz", Some("builds/123/45")),
            ("builds/123", Some("builds")),
            ("a-1.tgz", None),
            ("", None),
        ] {
            let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
            assert_eq!(part_of(&names).as_deref(), part, "{path}");
        }
    }
}
