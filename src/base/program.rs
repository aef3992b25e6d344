//! Programs that this process starts by itself, outside of any sandbox. They are found by absolute paths, at places to
//! which nobody writes who is not trusted: a `PATH` that leads into a checkout must not decide what holds a token.

use std::path::{Path, PathBuf};

/// Variables that name folders to which commands of a run, or other steps of its job, write.
#[cfg(unix)]
const SCRATCH: [&str; 4] = ["GITHUB_WORKSPACE", "RUNNER_TEMP", "RUNNER_WORKSPACE", "TMPDIR"];

/// Finds a program on `PATH`, and returns its real path. Programs that only the system's administrator can change take
/// precedence. One below a folder of `outside`, the working folder or a folder for temporary files is never taken.
#[cfg(unix)]
pub(crate) fn find_program(name: &str, outside: &[&Path]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found: Vec<PathBuf> = std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .filter_map(|folder| folder.join(name).canonicalize().ok())
        .filter(|program| is_program(program))
        .collect();
    choose(&found, &scratch(outside), is_of_system).cloned()
}

/// Returns the name: elsewhere, the system looks for programs.
#[cfg(not(unix))]
pub(crate) fn find_program(name: &str, _: &[&Path]) -> Option<PathBuf> {
    Some(PathBuf::from(name))
}

/// Returns the program that only an administrator can change, else the first one that is below none of `scratch`.
#[cfg(unix)]
fn choose<'a>(
    found: &'a [PathBuf],
    scratch: &[PathBuf],
    is_of_system: impl Fn(&Path) -> bool,
) -> Option<&'a PathBuf> {
    let mut kept = found.iter().filter(|program| !scratch.iter().any(|folder| program.starts_with(folder)));
    let first = kept.next()?;
    Some(std::iter::once(first).chain(kept).find(|program| is_of_system(program)).unwrap_or(first))
}

#[cfg(unix)]
fn scratch(outside: &[&Path]) -> Vec<PathBuf> {
    let named = SCRATCH.iter().filter_map(|name| std::env::var_os(name).map(PathBuf::from));
    let fixed = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
    let all = outside.iter().map(|folder| (*folder).to_owned()).chain(named).chain(fixed);
    let real = all.filter_map(|folder| folder.canonicalize().ok());
    // A working folder at the root of the file system says nothing.
    real.chain(std::env::current_dir()).filter(|folder| folder.parent().is_some()).collect()
}

/// Returns whether a path leads to a file that can be started.
#[cfg(unix)]
pub(crate) fn is_program(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Returns whether a path leads to a file.
#[cfg(not(unix))]
pub(crate) fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// Returns whether a file, and every folder above it, belongs to the administrator and can be written by nobody else.
#[cfg(unix)]
fn is_of_system(program: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let is_safe = |place: &Path| {
        place.symlink_metadata().is_ok_and(|found| found.uid() == 0 && found.mode() & 0o022 == 0)
    };
    program.ancestors().all(is_safe)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_checkout_and_temporary_folders_give_no_programs() {
        let paths = |paths: &[&str]| -> Vec<PathBuf> { paths.iter().map(PathBuf::from).collect() };
        let scratch = paths(&["/work/repo", "/tmp"]);
        let is_of_system = |program: &Path| program.starts_with("/usr");
        for (found, chosen) in [
            (&["/work/repo/bin/git", "/usr/bin/git"][..], Some("/usr/bin/git")),
            (&["/home/me/bin/git", "/usr/bin/git"], Some("/usr/bin/git")),
            (&["/home/me/bin/git", "/tmp/git"], Some("/home/me/bin/git")),
            (&["/work/repo/bin/git", "/tmp/x/git"], None),
            (&[], None),
        ] {
            let found = paths(found);
            assert_eq!(
                choose(&found, &scratch, is_of_system),
                chosen.map(PathBuf::from).as_ref(),
                "{found:?}"
            );
        }
    }

    #[test]
    fn real_programs_are_found_by_their_paths() {
        let program = find_program("sh", &[]).expect("every system has one");
        assert!(program.is_absolute() && is_program(&program), "{}", program.display());
        assert_eq!(find_program("no-such-program", &[]), None);
        assert_eq!(find_program("sh", &[Path::new("/")]).as_deref(), Some(program.as_path()));
    }
}
