//! The overlay is what the disk would be: random sequences of calls end in the same state, and both the
//! patch and the applied plan lead there too.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use workspace::{
    DiskWorkspace, FileError, LastLink, OverlayWorkspace, TrackedWorkspace, Workspace, WorkspacePath,
};

use crate::support::{Sandbox, git, tree};
use architect_ci::plan::{Applied, Plan, PlanFile, Planned};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Action {
    Write(usize, Vec<u8>),
    Edit(usize, usize, Vec<u8>),
    Remove(usize),
    Read(usize),
    List(usize),
}

/// Paths that get in each other's way: files where others need folders, links, modes, odd names.
const PATHS: [&str; 14] = [
    "a.txt",
    "dir/b.txt",
    "dir/sub/c.txt",
    "dir",
    "a.txt/inside",
    "link",
    "link/d.txt",
    "script.sh",
    "new/deep/e.txt",
    "new",
    "with space ü.txt",
    "quo\"te\ttab.txt",
    "binary.bin",
    "ignored.log",
];

fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => "([a-c]{0,3}\n){0,12}".prop_map(String::into_bytes),
        2 => "([a-c]{0,3}\r\n){0,6}[a-c]{0,2}".prop_map(String::into_bytes),
        1 => Just(Vec::new()),
        1 => proptest::collection::vec(any::<u8>(), 0..80),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    let path = 0..PATHS.len();
    prop_oneof![
        4 => (path.clone(), content()).prop_map(|(path, content)| Action::Write(path, content)),
        3 => (path.clone(), 0usize..6, content()).prop_map(|(path, at, line)| Action::Edit(path, at, line)),
        3 => path.clone().prop_map(Action::Remove),
        2 => path.clone().prop_map(Action::Read),
        1 => path.prop_map(Action::List),
    ]
}

/// Does an action; what it says has to be the same on disk and overlay.
fn perform(workspace: &dyn Workspace, action: &Action) -> String {
    let resolve =
        |index: usize, last| workspace.resolve(&WorkspacePath::parse(PATHS[index]).expect("a path"), last);
    let done = || -> Result<String, FileError> {
        Ok(match action {
            Action::Write(path, content) => {
                workspace.write(&resolve(*path, LastLink::Follow)?, content)?;
                "written".to_owned()
            }
            Action::Edit(path, at, line) => {
                let path = resolve(*path, LastLink::Follow)?;
                let state = workspace.read(&path)?;
                let mut lines: Vec<&[u8]> = state.content.split_inclusive(|byte| *byte == b'\n').collect();
                let at = (*at).min(lines.len());
                lines.insert(at, line);
                workspace.write(&path, &lines.concat())?;
                "edited".to_owned()
            }
            Action::Remove(path) => {
                workspace.remove(&resolve(*path, LastLink::Keep)?)?;
                "removed".to_owned()
            }
            Action::Read(path) => format!("{:?}", workspace.read(&resolve(*path, LastLink::Follow)?)?),
            Action::List(path) => {
                let walk = workspace.walk(&resolve(*path, LastLink::Follow)?, None)?;
                format!("{:?}", walk.found)
            }
        })
    };
    done().unwrap_or_else(|error| match error {
        // The system's words for a file in the way differ; that it is in the way does not.
        FileError::Io { path, .. } => format!("failed: {path}"),
        error => error.to_string(),
    })
}

/// Makes the repository that every sequence starts from.
fn template() -> Sandbox {
    let sandbox = Sandbox::without_git(&[
        ("a.txt", "one\ntwo\nthree\n"),
        ("dir/b.txt", "b\r\nb\r\n"),
        ("dir/sub/c.txt", "no newline"),
        ("script.sh", "#!/bin/sh\n"),
        (".gitignore", "*.log\n"),
    ]);
    sandbox.write("binary.bin", b"\0\x01\x02\xff\n\0");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::os::unix::fs::symlink("dir", sandbox.repo().join("link")).expect("a link");
        let script = sandbox.repo().join("script.sh");
        std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    sandbox.git(&["init", "--quiet", "--template="]);
    sandbox.commit("before");
    sandbox
}

/// Returns a copy of the template: three repositories for each sequence take Git longer than all that is tested.
fn repository() -> Sandbox {
    static TEMPLATE: LazyLock<Sandbox> = LazyLock::new(template);
    let sandbox = Sandbox::without_git(&[]);
    copy(&TEMPLATE.repo(), &sandbox.repo());
    sandbox
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a folder") {
        let (path, to) = {
            let entry = entry.expect("an entry");
            (entry.path(), to.join(entry.file_name()))
        };
        if path.is_symlink() {
            #[cfg(unix)]
            std::os::unix::fs::symlink(fs::read_link(&path).expect("a link"), to).expect("a link");
        } else if path.is_dir() {
            fs::create_dir(&to).expect("a folder");
            copy(&path, &to);
        } else {
            fs::copy(&path, to).expect("a file");
        }
    }
}

fn modes(sandbox: &Sandbox) -> BTreeMap<String, bool> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |name: &String| {
            std::fs::symlink_metadata(sandbox.repo().join(name)).expect("a file").permissions().mode()
        };
        sandbox.tree().keys().map(|name| (name.clone(), mode(name) & 0o100 != 0)).collect()
    }
    #[cfg(not(unix))]
    BTreeMap::new()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn overlay_disk_and_patch_agree(actions in proptest::collection::vec(action(), 1..25)) {
        let (real, planned) = (repository(), repository());
        let before = planned.tree();
        let open = |sandbox: &Sandbox| Arc::new(DiskWorkspace::open(&sandbox.repo()).expect("a folder"));
        let on_disk = TrackedWorkspace::new(open(&real));
        let overlay = OverlayWorkspace::new(open(&planned));
        for action in &actions {
            prop_assert_eq!(perform(&overlay, action), perform(&on_disk, action), "{:?} in {:?}", action, actions);
        }
        prop_assert_eq!(planned.tree(), before, "the checkout below the overlay is as it was");
        let changes = overlay.changes().expect("the changes");
        prop_assert_eq!(&changes, &on_disk.changes().expect("the changes"));
        // The same state by way of the patch.
        let patch = planned.path().join("patch");
        std::fs::write(&patch, changes.git_patch("")).expect("the patch");
        if !changes.is_empty() {
            git(&planned.repo(), &["apply", "--whitespace=nowarn", patch.to_str().expect("a path")]);
        }
        prop_assert_eq!(tree(&planned.repo()), tree(&real.repo()), "{:?}", actions);
        prop_assert_eq!(modes(&planned), modes(&real));
        // And by way of the plan's file, twice.
        let fresh = repository();
        let planning = Planned { task: "t", agent: "build", model: "m", base: None, actions: vec![], files: changes.iter().map(PlanFile::new).collect() };
        let text = serde_json::to_string(&Plan::new(planning)).expect("a plan is JSON");
        let plan: Plan = serde_json::from_str(&text).expect("and reads back");
        let disk = open(&fresh);
        let journal = crate::apply::journal(&disk);
        let check = || plan.check(&disk, Some(&plan.digest), |_| Ok(())).expect("it fits");
        let applied = check().apply(&disk, &journal, &|_| {}).expect("it is applied");
        prop_assert_eq!(applied == Applied::Already, changes.is_empty());
        prop_assert_eq!(tree(&fresh.repo()), tree(&real.repo()), "{:?}", actions);
        prop_assert_eq!(modes(&fresh), modes(&real));
        prop_assert_eq!(check().apply(&disk, &journal, &|_| {}).expect("twice"), Applied::Already);
    }
}
