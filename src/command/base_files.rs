//! Files of the base commit, for programs that get a key where the checkout is somebody else's: they start among these
//! instead, so that nothing they load by itself (modules, packages, settings of launchers and version managers) is anybody
//! else's. The folder is private, below it is nothing else, and above it is nothing that a checkout could hold.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use workspace::Scratch;

/// The folder in the scratch folder that holds the files.
const FILES: &str = "base";

/// Variables that say where a process is or was.
const PLACES: [&str; 2] = ["PWD", "OLDPWD"];

/// A copy of the base commit's files; dropping it deletes it.
#[derive(Debug)]
pub struct BaseFiles {
    scratch: Scratch,
    /// The root of the checkout's repository.
    head: PathBuf,
    /// The workspace, from that root.
    below: PathBuf,
}

impl BaseFiles {
    /// Creates an empty folder below `temp`, has `write` fill it, and makes it read-only. `head` is the root of the repository
    /// whose files it stands for, and `workspace` the folder in it where programs would otherwise start.
    ///
    /// # Errors
    ///
    /// Those of `write`, and those of the file system.
    pub fn make<E: From<io::Error>>(
        temp: &Path,
        head: &Path,
        workspace: &Path,
        write: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<Self, E> {
        let temp = temp.canonicalize()?;
        if temp.starts_with(head) {
            let told = format!("the folder for temporary files, {}, is in the checkout", temp.display());
            return Err(io::Error::other(told).into());
        }
        let below = workspace.strip_prefix(head).unwrap_or(Path::new("")).to_owned();
        let made = Self { scratch: Scratch::new(&temp)?, head: head.to_owned(), below };
        fs::create_dir(made.folder())?;
        write(&made.folder())?;
        // A base may not have the folder yet, which says nothing about programs of the machine.
        fs::create_dir_all(made.start())?;
        if !made.start().canonicalize()?.starts_with(made.folder()) {
            return Err(io::Error::other(format!("{} leads elsewhere", made.below.display())).into());
        }
        close(&made.folder())?;
        Ok(made)
    }

    /// Returns the folder that stands for the root of the repository.
    pub fn folder(&self) -> PathBuf {
        self.scratch.path().join(FILES)
    }

    /// Returns the folder that stands for the workspace, in which programs start.
    pub fn start(&self) -> PathBuf {
        self.folder().join(&self.below)
    }

    /// Returns the root of the checkout's repository.
    pub fn head(&self) -> &Path {
        &self.head
    }

    /// Returns a word or a command line in which paths of the checkout, through links as well, are those of this folder.
    pub fn moved(&self, text: &str) -> String {
        let (Some(from), folder) = (self.head.to_str(), self.folder()) else { return text.to_owned() };
        let mut moved = String::with_capacity(text.len());
        let mut rest = 0;
        for (at, _) in text.match_indices(from) {
            if at >= rest && is_whole(&text[..at], &text[at + from.len()..]) {
                moved.push_str(&text[rest..at]);
                moved.push_str(&folder.to_string_lossy());
                rest = at + from.len();
            }
        }
        moved.push_str(&text[rest..]);
        let pieces = moved.split_inclusive(is_border).map(|piece| {
            let word = piece.trim_end_matches(is_border);
            self.through_links(word).map_or_else(|| piece.to_owned(), |real| real + &piece[word.len()..])
        });
        pieces.collect()
    }

    /// Makes variables name this folder where they name the checkout, through links as well.
    pub fn move_variables(&self, environment: &mut BTreeMap<String, String>) {
        for place in PLACES {
            environment.remove(place);
        }
        for value in environment.values_mut() {
            *value = self.moved(value);
        }
    }

    /// Returns what a path stands for that leads into the checkout by another name.
    fn through_links(&self, path: &str) -> Option<String> {
        let path = Path::new(path);
        let real = path.is_absolute().then(|| path.canonicalize().ok())??;
        let below = real.strip_prefix(&self.head).ok()?;
        Some(self.folder().join(below).display().to_string())
    }
}

/// Returns whether words, and paths within them, end at a character.
fn is_border(character: char) -> bool {
    character.is_whitespace() || "\"'`:=,;|&()<>@".contains(character)
}

/// Returns whether the path between these texts is one of its own, and not the end of a longer path or the beginning of a
/// longer name.
fn is_whole(before: &str, after: &str) -> bool {
    let word = before.rsplit(is_border).next().unwrap_or_default();
    // `-I/work/repo` names it, `/other/work/repo` does not.
    let begins = word.chars().all(|c| c == '/') || !word.contains('/');
    let is_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    begins && !after.starts_with(is_name)
}

/// Takes the right to write from a folder and all folders in it.
#[cfg(unix)]
fn close(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            close(&entry.path())?;
        }
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(0o555))
}

#[cfg(not(unix))]
fn close(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn made(folder: &Path) -> BaseFiles {
        let (head, temp) = (folder.join("work/repo"), folder.join("temp"));
        fs::create_dir_all(head.join("app/bin")).expect("a folder");
        fs::create_dir_all(&temp).expect("a folder");
        let write = |to: &Path| fs::write(to.join("a.txt"), "of the base");
        BaseFiles::make(&temp, &head, &head.join("app"), write).expect("a copy")
    }

    #[test]
    fn paths_of_the_checkout_become_those_of_the_base() {
        let dir = tempfile::tempdir().expect("a folder");
        let dir = dir.path().canonicalize().expect("a path");
        let files = made(&dir);
        symlink(dir.join("work/repo/app"), dir.join("link")).expect("a link");
        let (head, base) = (files.head().display().to_string(), files.folder().display().to_string());
        for line in
            ["sh H/ci/x", "H", "-IH/lib", "--file=H/x", "a:H/bin:/usr/bin", "'H'", "file://H/x", "cd H; ls"]
        {
            assert_eq!(files.moved(&line.replace('H', &head)), line.replace('H', &base));
        }
        for line in ["Hs/x", "H-other", "/otherH", "H.git", "./x", ""] {
            assert_eq!(files.moved(&line.replace('H', &head)), line.replace('H', &head));
        }
        let link = dir.join("link").display().to_string();
        assert_eq!(
            files.moved(&format!("cd {link} && X='{link}/bin' /proc/self/root{link}/bin {link}/none /usr")),
            format!("cd {base}/app && X='{base}/app/bin' {base}/app/bin {link}/none /usr")
        );
        let mut variables: BTreeMap<String, String> = [
            ("PATH", format!("{link}/bin:{head}/bin:/usr/bin")),
            ("PWD", head.clone()),
            ("TEXT", "a: b".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        files.move_variables(&mut variables);
        let values: Vec<&str> = variables.values().map(String::as_str).collect();
        assert_eq!(values, [&*format!("{base}/app/bin:{base}/bin:/usr/bin"), "a: b"]);
    }

    #[test]
    fn the_folder_is_read_only_and_goes_away() {
        let dir = tempfile::tempdir().expect("a folder");
        let dir = dir.path().canonicalize().expect("a path");
        let files = made(&dir);
        assert!(files.start().ends_with("base/app") && files.start().is_dir());
        let modes = [files.folder(), files.start()].map(|folder| {
            use std::os::unix::fs::PermissionsExt;
            fs::metadata(folder).expect("a folder").permissions().mode() & 0o777
        });
        assert_eq!(modes, [0o555, 0o555]);
        drop(files);
        assert_eq!(fs::read_dir(dir.join("temp")).expect("a folder").count(), 0);
        let inside = dir.join("work/repo/temp");
        fs::create_dir(&inside).expect("a folder");
        let head = dir.join("work/repo");
        let refused = BaseFiles::make(&inside, &head, &head, |_| Ok::<_, io::Error>(()));
        assert!(refused.is_err_and(|error| error.to_string().contains("is in the checkout")));
    }
}
