//! Files that Git runs or reads because the repository's settings name them, and the links that lead to them.

use std::fs;
use std::path::Path;

use workspace::{ProgramFiles, WorkspacePath};

use crate::git::Repository;
use crate::trust::normalize;

/// Most links that a path leads through, as on Linux.
const MAX_LINKS: usize = 40;

/// Names of hooks, for a repository that keeps them among its other files.
const HOOKS: [&str; 22] = [
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// Returns the paths of the workspace that Git runs or reads because the repository's settings name them, as they were when the
/// repository was found.
pub(crate) fn git_configured_files(repository: Option<&Repository>, workspace: &Path) -> ProgramFiles {
    let mut files = ProgramFiles::default();
    for path in repository.map(Repository::configured_files).unwrap_or_default() {
        let path = normalize(&path);
        if workspace.starts_with(&path) {
            // To protect everything would leave nothing to work on.
            for name in HOOKS {
                add(&path.join(name), workspace, &mut files);
            }
            continue;
        }
        add(&path, workspace, &mut files);
        // A hook may be a link to a script.
        for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                add(&entry.path(), workspace, &mut files);
            }
        }
    }
    files
}

/// Adds a file or folder with every link on the way to it, and what these lead to.
pub(super) fn add(path: &Path, workspace: &Path, files: &mut ProgramFiles) {
    let within = |full: &Path| full.strip_prefix(workspace).ok()?.to_str().map(WorkspacePath::parse)?.ok();
    let mut full = path.to_owned();
    for _ in 0..MAX_LINKS {
        if let Some(path) = within(&full) {
            files.add_tree(&path);
        }
        let links = full.ancestors().take_while(|above| *above != workspace);
        let Some((link, target)) = links.filter_map(|above| Some((above, fs::read_link(above).ok()?))).last()
        else {
            return;
        };
        if let Some(path) = within(link) {
            files.add_single(&path);
        }
        let rest = full.strip_prefix(link).unwrap_or(Path::new(""));
        full = normalize(&link.parent().unwrap_or(link).join(target).join(rest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> WorkspacePath {
        WorkspacePath::parse(text).expect("a path")
    }

    fn write(root: &Path, name: &str, text: &str) {
        let file = root.join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
        fs::write(file, text).expect("a file");
    }

    #[test]
    fn what_settings_name_is_found() {
        for (config, inside, outside) in [
            (
                "[core]\n\thooksPath = .husky/_\n",
                &[".husky/_/pre-commit", ".husky/_", ".HUSKY/_/h"][..],
                &[".husky/pre-commit"][..],
            ),
            ("[core]\n\thooksPath = .\n", &["pre-commit", "commit-msg"], &["README.md", "src/pre-commit"]),
            ("[include]\n\tpath = ../.gitconfig\n", &[".gitconfig", "tools/filter.py"], &["tools/other.py"]),
            ("[includeIf \"gitdir:/x\"]\n\tpath = ../ci/git\n", &["ci/git"], &["ci/other"]),
            (
                "[core]\n\tattributesFile = ci/attributes\n\texcludesFile = ci/ignore\n",
                &["ci/attributes", "ci/ignore"],
                &["ci/x"],
            ),
            (
                "[filter \"x\"]\n\tsmudge = python3 -u tools/s.py %f\n\tclean = sh root.sh clean\n",
                &["tools/s.py", "root.sh"],
                &["clean/x", "tools/t.py"],
            ),
            (
                "[core]\n\tfsmonitor = ./watch\n\tsshCommand = \"ci/ssh -i key\"\n",
                &["watch", "ci/ssh"],
                &["key"],
            ),
            (
                "[core]\n\tfsmonitor = true\n\thooksPath = /nowhere/hooks\n",
                &[],
                &["true", "nowhere/hooks/pre-commit"],
            ),
        ] {
            let dir = tempfile::tempdir().expect("a folder");
            let root = &dir.path().canonicalize().expect("a path");
            fs::create_dir_all(root.join(".git/objects")).expect("folders");
            write(root, ".git/HEAD", "ref: refs/heads/main\n");
            write(root, ".git/config", config);
            write(root, ".gitconfig", "[filter \"y\"]\n\tprocess = tools/filter.py\n");
            write(root, "root.sh", "");
            write(root, "clean/x", "");
            let repository = Repository::find(root, Some(root)).expect("a usable repository");
            let files = git_configured_files(repository.as_ref(), root);
            for file in inside {
                assert!(files.contains(&path(file)), "{config}: {file}");
            }
            for file in outside {
                assert!(!files.contains(&path(file)), "{config}: {file}");
            }
        }
    }

    #[test]
    fn every_setting_that_runs_something_is_read() {
        for setting in [
            "[alias]\n\tx = !ci/run.sh",
            "[alias]\n\tx = -c core.hooksPath=ci/run.sh commit",
            "[commit]\n\ttemplate = ci/run.sh",
            "[core]\n\talternateRefsCommand = ci/run.sh",
            "[core]\n\tsshCommand = $PWD/ci/run.sh -v",
            "[core]\n\tsshCommand = \"$(git rev-parse --show-toplevel)/ci/run.sh\"",
            "[credential \"https://host\"]\n\thelper = !ci/run.sh",
            "[difftool \"x\"]\n\tcmd = ci/run.sh $LOCAL",
            "[mergetool \"x\"]\n\tpath = ci/run.sh",
            "[gpg \"ssh\"]\n\tdefaultKeyCommand = ci/run.sh",
            "[gpg \"ssh\"]\n\tallowedSignersFile = ci/run.sh",
            "[hook \"lint\"]\n\tcommand = ci/run.sh",
            "[interactive]\n\tdiffFilter = ci/run.sh",
            "[pager]\n\tlog = ci/run.sh",
            "[remote \"origin\"]\n\tuploadpack = ci/run.sh",
            "[remote \"origin\"]\n\treceivepack = ci/run.sh",
            "[sendemail \"x\"]\n\ttoCmd = ci/run.sh",
            "[submodule \"x\"]\n\tupdate = \"!ci/run.sh\"",
            "[tar \"tar.x\"]\n\tcommand = ci/run.sh",
            "[trailer \"x\"]\n\tcommand = ci/run.sh",
            "[trailer \"x\"]\n\tcmd = ci/run.sh",
            "[uploadpack]\n\tpackObjectsHook = ci/run.sh",
            // A comment that ends in a backslash does not continue.
            "[core]\n\t# C:\\hooks\\\n\thooksPath = ci",
        ] {
            let dir = tempfile::tempdir().expect("a folder");
            let root = &dir.path().canonicalize().expect("a path");
            fs::create_dir_all(root.join(".git/objects")).expect("folders");
            write(root, ".git/HEAD", "ref: refs/heads/main\n");
            write(root, ".git/config", setting);
            write(root, "ci/run.sh", "");
            write(root, "checkout", "");
            let repository = Repository::find(root, Some(root)).expect("a usable repository");
            let files = git_configured_files(repository.as_ref(), root);
            assert!(files.contains(&path("ci/run.sh")), "{setting}");
            assert!(!files.contains(&path("checkout")), "{setting}");
        }
    }

    #[test]
    fn words_of_git_are_no_files() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = &dir.path().canonicalize().expect("a path");
        fs::create_dir_all(root.join(".git/objects")).expect("folders");
        write(root, ".git/HEAD", "ref: refs/heads/main\n");
        let config = "[submodule \"x\"]\n\tupdate = checkout\n[alias]\n\tst = status\n[credential]\n\thelper = store\n";
        write(root, ".git/config", config);
        let repository = Repository::find(root, Some(root)).expect("a usable repository");
        for word in ["checkout", "status", "store"] {
            write(root, word, "");
            assert!(!git_configured_files(repository.as_ref(), root).contains(&path(word)), "{word}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn paths_in_the_home_folder_are_expanded() {
        // The workspace of this test lies in the home folder, which the process shares with other tests.
        let home = std::env::home_dir().expect("a home folder");
        let dir = tempfile::tempdir_in(&home).expect("a folder");
        let root = &dir.path().canonicalize().expect("a path");
        let below =
            root.strip_prefix(home.canonicalize().expect("a path")).expect("a folder in it").display();
        fs::create_dir_all(root.join(".git/objects")).expect("folders");
        write(root, ".git/HEAD", "ref: refs/heads/main\n");
        let config = format!(
            "[core]\n\thooksPath = ~/{below}/hooks\n\tsshCommand = ~/{below}/ssh -v\n[include]\n\tpath = ~/{below}/more\n"
        );
        write(root, ".git/config", &config);
        write(root, "more", "[core]\n\tfsmonitor = watch.sh\n");
        write(root, "watch.sh", "");
        let repository = Repository::find(root, Some(root)).expect("a usable repository");
        let files = git_configured_files(repository.as_ref(), root);
        for file in ["hooks/pre-commit", "ssh", "more", "watch.sh"] {
            assert!(files.contains(&path(file)), "{file}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_to_hooks_are_followed_with_what_they_lead_to() {
        use std::os::unix::fs::symlink;

        let dir = tempfile::tempdir().expect("a folder");
        let root = &dir.path().canonicalize().expect("a path");
        fs::create_dir_all(root.join(".git/objects")).expect("folders");
        write(root, ".git/HEAD", "ref: refs/heads/main\n");
        write(root, ".git/config", "[core]\n\thooksPath = hooks/all\n");
        write(root, "ci/real/all/commit-msg", "");
        write(root, "tools/check.sh", "");
        symlink("ci/link", root.join("hooks")).expect("a link");
        symlink("real", root.join("ci/link")).expect("a link");
        symlink("../../../tools/check.sh", root.join("ci/real/all/pre-commit")).expect("a link");
        let repository = Repository::find(root, Some(root)).expect("a usable repository");
        let files = git_configured_files(repository.as_ref(), root);
        for file in ["hooks", "hooks/all/x", "ci/link", "ci/real/all/commit-msg", "tools/check.sh"] {
            assert!(files.contains(&path(file)), "{file}");
        }
        assert!(!files.contains(&path("ci/real/other")));
        // The workspace may be a folder of the repository.
        let below = git_configured_files(repository.as_ref(), &root.join("ci"));
        assert!(below.contains(&path("real/all/commit-msg")) && !below.contains(&path("real/other")));
    }
}
