//! Hidden files inside of places that children see: keys and passwords of the system, a runner's own folder, credentials next
//! to programs and in caches, and sockets of daemons.

use std::fs;
use std::path::{Path, PathBuf};

/// Paths that contain keys and passwords of the system.
const OF_SYSTEM: [&str; 14] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/docker",
    "/etc/wireguard",
    "/etc/krb5.keytab",
    "/usr/local/etc/ssh",
];

/// What a runner keeps in its folder, among it the keys by which its server knows it.
const OF_RUNNER: [&str; 7] =
    [".credentials", ".credentials_rsaparams", ".runner", ".env", ".path", "_diag", "_work/_temp"];

/// Two of these files, which only a runner has next to each other.
const MARKS_OF_RUNNER: [&str; 2] = [".runner", ".credentials"];

/// Folders in which programs that are not part of the system are installed, runners among them.
const INSTALLED: [&str; 2] = ["/opt", "/usr/local"];

/// How deep below them a runner's folder is looked for.
const RUNNER_DEPTH: usize = 3;

/// Files that hold a credential, whatever program they belong to.
const CREDENTIALS: [&str; 35] = [
    ".boto",
    ".credentials",
    ".credentials_rsaparams",
    ".dockercfg",
    ".git-credentials",
    ".my.cnf",
    ".netrc",
    ".pgpass",
    ".pypirc",
    ".s3cfg",
    ".vault-token",
    "_netrc",
    "access_token",
    "access_tokens.db",
    "application_default_credentials.json",
    "auth.json",
    "auth.toml",
    "auth.yml",
    "credentials",
    "credentials.db",
    "credentials.json",
    "credentials.tfrc.json",
    "credentials.toml",
    "credentials.yaml",
    "credentials.yml",
    "hex.config",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
    "kubeconfig",
    "settings-security.xml",
    "stored_tokens",
    "token",
    "tokens.json",
];

/// Files that may hold one, next to the folders of programs.
const SETTINGS: [&str; 16] = [
    ".condarc",
    ".npmrc",
    ".yarnrc.yml",
    "config",
    "config.json",
    "config.toml",
    "config.yaml",
    "config.yml",
    "gradle.properties",
    "hosts.yaml",
    "hosts.yml",
    "init.gradle",
    "nuget.config",
    "pip.conf",
    "settings.json",
    "settings.xml",
];

/// How deep credentials are looked for in a place, and how many entries are looked at.
const CREDENTIAL_DEPTH: usize = 2;
const MOST_ENTRIES: usize = 20_000;

/// The kernel's table of sockets between processes.
const SOCKETS: &str = "/proc/net/unix";

/// Folders in which daemons have their sockets.
const OF_DAEMONS: [&str; 3] = ["/run", "/var/run", "/tmp"];

/// How deep below them sockets are looked for.
const SOCKET_DEPTH: usize = 3;

/// Returns the paths that hold keys on any machine.
pub(super) fn of_system() -> impl Iterator<Item = PathBuf> {
    OF_SYSTEM.iter().map(PathBuf::from)
}

/// Returns what runners keep in their folders: this one, whose folder for temporary files is `temp`, and others on the
/// same machine.
pub(super) fn of_runners(temp: Option<&Path>) -> Vec<PathBuf> {
    let own = temp.and_then(|temp| temp.parent()?.parent()).map(Path::to_owned);
    let beside = own.as_deref().and_then(Path::parent).filter(|above| above.parent().is_some());
    let mut roots: Vec<PathBuf> = own.iter().cloned().collect();
    for place in INSTALLED.iter().map(Path::new).chain(beside) {
        look(place, RUNNER_DEPTH, &mut |folder, names| {
            let is_runner = MARKS_OF_RUNNER.iter().all(|mark| names.iter().any(|name| name == mark));
            roots.extend(is_runner.then(|| folder.to_owned()));
        });
    }
    roots.sort();
    roots.dedup();
    let files = roots.iter().flat_map(|root| OF_RUNNER.map(|name| root.join(name)));
    files.chain(temp.map(Path::to_owned)).collect()
}

/// Returns the files in a place that hold a credential; `may_hold` judges those that need not.
pub(super) fn credentials(place: &Path, may_hold: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    look(place, CREDENTIAL_DEPTH, &mut |folder, names| {
        for name in names {
            let path = folder.join(name);
            let lower = name.to_ascii_lowercase();
            let is_credential = CREDENTIALS.contains(&lower.as_str()) && path.is_file();
            let may = || folder == place && SETTINGS.contains(&lower.as_str()) && path.is_file();
            if is_credential || may() && may_hold(&path) {
                found.push(path);
            }
        }
    });
    found
}

/// Returns the sockets with a path that the kernel lists, as far as this user may use them.
pub(super) fn listed_sockets() -> Vec<PathBuf> {
    let table = fs::read_to_string(SOCKETS).unwrap_or_default();
    let listed = table.lines().filter_map(socket_name).filter(|name| name.starts_with('/'));
    listed.map(PathBuf::from).filter(|path| is_usable(path)).collect()
}

/// Returns whether there may be a socket that this user may use, other than those that `is_known` knows. That of a daemon that
/// gave it a path relative to its own folder could be anywhere. Sockets without a path do not count if `scopes` keep children
/// from them.
pub(super) fn may_have_sockets(is_known: impl Fn(&Path) -> bool, scopes: bool) -> bool {
    let table = fs::read_to_string(SOCKETS).unwrap_or_default();
    let is_kept_out = |name: &str| name.starts_with('/') || scopes && name.starts_with('@');
    table.lines().filter_map(socket_name).any(|name| !is_kept_out(name))
        || sockets().iter().any(|socket| !is_known(socket))
}

/// Returns the name of a socket, as the kernel lists it.
fn socket_name(line: &str) -> Option<&str> {
    // "<address>: <count> <protocol> <flags> <type> <state> <inode> <path>"
    let mut rest = line.trim_start();
    if !rest.split_ascii_whitespace().next()?.ends_with(':') {
        return None;
    }
    for _ in 0..7 {
        rest = rest.split_once(' ')?.1.trim_start();
    }
    Some(rest).filter(|name| !name.is_empty())
}

/// Returns those that the kernel lists, and the ones in folders of daemons: a container does not list what was mounted into
/// it from the machine around it.
fn sockets() -> Vec<PathBuf> {
    let mut found = listed_sockets();
    for place in OF_DAEMONS {
        look(Path::new(place), SOCKET_DEPTH, &mut |folder, names| {
            found.extend(names.iter().map(|name| folder.join(name)).filter(|path| is_usable(path)));
        });
    }
    found.sort();
    found.dedup();
    found
}

#[cfg(unix)]
fn is_usable(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
        && rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(not(unix))]
fn is_usable(_: &Path) -> bool {
    false
}

/// Visits a folder and those in it with the names of their entries, down to a depth, without following links.
fn look(place: &Path, depth: usize, visit: &mut dyn FnMut(&Path, &[String])) {
    let mut waiting = vec![(place.to_owned(), 1)];
    let mut count = 0;
    while let Some((folder, level)) = waiting.pop() {
        let mut names = Vec::new();
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            count += 1;
            if count > MOST_ENTRIES {
                return;
            }
            if level < depth && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push((entry.path(), level + 1));
            }
            names.extend(entry.file_name().into_string());
        }
        visit(&folder, &names);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, files: &[&str]) {
        for file in files {
            fs::create_dir_all(root.join(file).parent().expect("a folder")).expect("a folder");
            fs::write(root.join(file), "x").expect("a file");
        }
    }

    #[test]
    fn credentials_beside_programs_are_found() {
        let dir = tempfile::tempdir().expect("a folder");
        let place = dir.path();
        write(
            place,
            &[
                "bin/tool",
                "credentials.toml",
                "hex.config",
                "huggingface/stored_tokens",
                "huggingface/token",
                "gh/hosts.yml",
                "config.json",
                "conf/settings.xml",
                "a/b/c/auth.json",
            ],
        );
        fs::create_dir(place.join("credentials")).expect("a folder");
        let mut found = credentials(place, |_| true);
        found.sort();
        let at = |names: &[&str]| names.iter().map(|name| place.join(name)).collect::<Vec<_>>();
        // What may hold one counts only where a program's own settings are.
        let expected = [
            "config.json",
            "credentials.toml",
            "hex.config",
            "huggingface/stored_tokens",
            "huggingface/token",
        ];
        assert_eq!(found, at(&expected));
        assert!(!credentials(place, |_| false).contains(&place.join("config.json")));
    }

    #[test]
    fn folders_of_all_runners_are_found() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str| dir.path().join(name);
        write(dir.path(), &["own/.runner", "other/.runner", "other/.credentials", "none/.runner"]);
        fs::create_dir_all(at("own/_work/_temp")).expect("a folder");
        let found = of_runners(Some(&at("own/_work/_temp")));
        for name in ["own/.credentials", "own/_work/_temp", "other/.credentials", "other/_work/_temp"] {
            assert!(found.contains(&at(name)), "{name}");
        }
        assert!(!found.contains(&at("none/.runner")));
    }

    #[cfg(unix)]
    #[test]
    fn sockets_of_daemons_are_found() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().canonicalize().expect("a folder").join("daemon.sock");
        let _listener = std::os::unix::net::UnixListener::bind(&path).expect("a socket");
        assert!(sockets().contains(&path));
        assert!(may_have_sockets(|_| false, true));
    }

    #[test]
    fn names_of_sockets_are_whole() {
        for (line, name) in [
            ("Num       RefCount Protocol Flags    Type St Inode Path", None),
            (
                "0000000000000000: 00000002 00000000 00010000 0001 01 17214 /run/a socket",
                Some("/run/a socket"),
            ),
            ("0000000000000000: 00000002 00000000 00010000 0001 01    14 @name", Some("@name")),
            ("0000000000000000: 00000002 00000000 00010000 0001 01 172145 daemon.sock", Some("daemon.sock")),
            ("0000000000000000: 00000003 00000000 00000000 0001 03 29521", None),
            ("the rest of a name", None),
        ] {
            assert_eq!(socket_name(line), name, "{line}");
        }
    }
}
