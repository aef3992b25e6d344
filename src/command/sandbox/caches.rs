//! Private caches of build tools for children that see the machine's own file system: each begins with what is in the
//! machine's, which nobody writes to, and whoever it was made for is the only one who writes to it.
//!
//! Tools add files to their caches, replace them by others, and append to small ones; a package, once it is there, they only
//! read. So folders are created, small files are copied, and large files and whole packages are links to the machine's.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

/// Files up to this size are copied, in bytes.
const SMALL: u64 = 16 << 10;

/// Files that programs change in place are copied up to this size, in bytes, and the extensions of their names.
const MEDIUM: u64 = 16 << 20;
const CHANGED_IN_PLACE: [&str; 7] = ["bin", "db", "lck", "lock", "sqlite", "sqlite3", "tdb"];

/// Maximum number of entries in a private cache; folders that would exceed it are links.
const MOST_ENTRIES: usize = 20_000;

/// Entries of which a package has one.
const MARKS_OF_PACKAGE: [&str; 4] = [".cargo-ok", ".nupkg.metadata", "package.json", "pyvenv.cfg"];

/// Folders in which each entry is a package.
const OF_PACKAGES: [&str; 3] = ["archive-v0", "gems", "virtualenvs"];

/// Folders in which each entry looks like a package, but is where tools install some.
const OF_INSTALLATIONS: [&str; 1] = ["_npx"];

/// Results of builds, and stores whose files are linked into checkouts: these begin empty.
const BEGIN_EMPTY: [&str; 6] = [".pnpm-store", "bazel", "ccache", "go-build", "pnpm", "sccache"];

/// The folder that all kinds of programs share. In it, what a program keeps is a link, except for programs that add to what
/// is there already.
const SHARED: &str = ".cache";
const ADD_TO_SHARED: [&str; 8] = ["composer", "coursier", "deno", "node", "pip", "pypoetry", "uv", "yarn"];

/// Fills the folder `own`, which it creates, with what is in a cache; `hidden` is left out. Returns an error if something could
/// not be made there; what cannot be read is left out.
pub(super) fn seed(own: &Path, cache: &Path, hidden: &[PathBuf]) -> io::Result<()> {
    fs::create_dir_all(own)?;
    let is_shared = cache.ends_with(SHARED);
    let mut left = MOST_ENTRIES;
    let mut waiting = VecDeque::from([(cache.to_owned(), own.to_owned())]);
    // Level by level, so that links are as deep as possible.
    while let Some((from, to)) = waiting.pop_front() {
        let Ok(listed) = fs::read_dir(&from) else { continue };
        let entries: Vec<DirEntry> = listed.flatten().take(left.saturating_add(1)).collect();
        let below = from.strip_prefix(cache).unwrap_or(Path::new(""));
        let is_cache = below.as_os_str().is_empty();
        let is_full = entries.len() > left;
        if !is_cache && (is_full || is_package(below, &entries) || is_shared && is_kept(below)) {
            link(&from, &to)?;
            continue;
        }
        if is_full || begins_empty(&from) {
            fs::create_dir_all(&to)?;
            continue;
        }
        left -= entries.len();
        fs::create_dir_all(&to)?;
        for entry in entries {
            let (from, to) = (entry.path(), to.join(entry.file_name()));
            let Ok(kind) = entry.file_type() else { continue };
            if hidden.contains(&from) {
                continue;
            }
            if kind.is_dir() {
                waiting.push_back((from, to));
            } else if kind.is_symlink() {
                link(&fs::read_link(&from)?, &to)?;
            } else if kind.is_file() {
                // A file that only others can read cannot be copied.
                if !is_copied(&entry) || fs::copy(&from, &to).is_err() {
                    link(&from, &to)?;
                }
            }
        }
    }
    Ok(())
}

fn is_package(below: &Path, entries: &[DirEntry]) -> bool {
    let is_in = |names: &[&str]| {
        let above = below.parent().and_then(Path::file_name);
        above.is_some_and(|above| names.iter().any(|name| above == *name))
    };
    let has_version = below.file_name().and_then(OsStr::to_str).is_some_and(|name| {
        // Scopes of packages begin with this character, and so do folders that are no packages.
        name.char_indices().any(|(index, character)| index > 0 && character == '@')
    });
    let is_mark = |entry: &DirEntry| MARKS_OF_PACKAGE.iter().any(|mark| entry.file_name() == *mark);
    is_in(&OF_PACKAGES) || has_version || entries.iter().any(is_mark) && !is_in(&OF_INSTALLATIONS)
}

/// Returns whether a folder of the shared cache is what a program keeps, at a path such as `program/version`.
fn is_kept(below: &Path) -> bool {
    let mut names = below.components().map(std::path::Component::as_os_str);
    let program = names.next();
    names.next().is_some() && !ADD_TO_SHARED.iter().any(|name| program == Some(OsStr::new(name)))
}

fn begins_empty(folder: &Path) -> bool {
    BEGIN_EMPTY.iter().any(|name| folder.ends_with(name))
}

fn is_copied(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let extension = Path::new(&name).extension();
    let is_changed = CHANGED_IN_PLACE.iter().any(|known| extension == Some(OsStr::new(known)));
    entry.metadata().is_ok_and(|metadata| metadata.len() <= if is_changed { MEDIUM } else { SMALL })
}

#[cfg(unix)]
pub(super) fn link(to: &Path, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, at)
}

/// Does nothing: other systems have no sandbox.
#[cfg(not(unix))]
pub(super) fn link(_: &Path, _: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn private_cache_is_made_of_own_folders_and_copies_and_links_to_packages() {
        let dir = tempfile::tempdir().expect("a folder");
        let (cache, own) = (dir.path().join("cache"), dir.path().join("me/own"));
        let large = "x".repeat(20_000);
        for (file, text) in [
            ("index/ab/c", "small"),
            ("index/ab/hidden", "secret"),
            ("cache/large.crate", &large),
            ("meta/in-place.bin", &large),
            ("src/package/.cargo-ok", ""),
            ("src/package/lib.rs", "code"),
            ("mod/example.com/m@v1/m.go", "code"),
            ("mod/cache/@v/list", "v1"),
            ("_npx/1/package.json", "{}"),
            ("go-build/00/object", "built"),
        ] {
            fs::create_dir_all(cache.join(file).parent().expect("a folder")).expect("a folder");
            fs::write(cache.join(file), text).expect("a file");
        }
        link(Path::new("../index"), &cache.join("src/relative")).expect("a link");
        seed(&own, &cache, &[cache.join("index/ab/hidden")]).expect("a cache");
        let is_link = |name: &str| own.join(name).is_symlink();
        for name in ["cache/large.crate", "src/package", "mod/example.com/m@v1", "src/relative"] {
            assert!(is_link(name) && own.join(name).exists(), "{name}");
        }
        for name in ["index/ab/c", "meta/in-place.bin", "mod/cache/@v/list", "_npx/1/package.json"] {
            let path = own.join(name);
            assert!(path.is_file() && path.ancestors().all(|above| !above.is_symlink()), "{name}");
        }
        assert!(!own.join("index/ab/hidden").exists());
        assert_eq!(fs::read_dir(own.join("go-build")).expect("a folder").count(), 0);
        fs::write(own.join("index/ab/c"), "changed").expect("a file of its own");
        assert_eq!(fs::read_to_string(cache.join("index/ab/c")).expect("a file"), "small");
    }

    #[test]
    fn programs_of_the_shared_cache_are_links_and_large_caches_are_not_read_whole() {
        let dir = tempfile::tempdir().expect("a folder");
        let (cache, own) = (dir.path().join(".cache"), dir.path().join("own"));
        for file in ["browser/v1/program", "pip/http/a/b", "browser/state"] {
            fs::create_dir_all(cache.join(file).parent().expect("a folder")).expect("a folder");
            fs::write(cache.join(file), "").expect("a file");
        }
        fs::create_dir_all(cache.join("pip/many")).expect("a folder");
        for number in 0..MOST_ENTRIES {
            fs::write(cache.join(format!("pip/many/{number}")), "").expect("a file");
        }
        seed(&own, &cache, &[]).expect("a cache");
        assert!(own.join("browser/v1").is_symlink() && !own.join("browser").is_symlink());
        assert!(own.join("pip/many").is_symlink() && !own.join("pip").is_symlink());
    }
}
