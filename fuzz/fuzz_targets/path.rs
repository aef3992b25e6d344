//! The path gate: whatever the text, what it opens lies in the workspace.
#![no_main]

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::sync::{Arc, LazyLock};

use workspace::{
    DiskWorkspace, LastLink, OverlayWorkspace, TrackedWorkspace, Workspace, WorkspacePath,
};
use libfuzzer_sys::fuzz_target;

struct Tree {
    _dir: tempfile::TempDir,
    disk: Arc<DiskWorkspace>,
}

static TREE: LazyLock<Tree> = LazyLock::new(|| {
    let dir = tempfile::tempdir().expect("a folder");
    let root = dir.path().join("a");
    fs::create_dir_all(root.join("b/c")).expect("a folder");
    fs::write(dir.path().join("s"), "SECRET").expect("a file");
    fs::write(root.join("f"), "f").expect("a file");
    for (name, target) in [
        ("u", "../s"),
        ("b/u", "../../s"),
        ("d", "."),
        ("b/d", ".."),
        ("e", "b/../../s"),
        ("o", "/etc/passwd"),
        ("p", "/proc/self/environ"),
        ("r", ".."),
        ("l", "l"),
        ("b/c/h", "../../b/d/d/r/s"),
    ] {
        symlink(target, root.join(name)).expect("a link");
    }
    let disk = Arc::new(DiskWorkspace::open(&root).expect("a workspace"));
    Tree { _dir: dir, disk }
});

fuzz_target!(|data: &str| {
    let Ok(path) = WorkspacePath::parse(data) else { return };
    assert!(!path.as_str().starts_with('/') && !path.as_str().contains('\0'));
    assert!(path.names().all(|name| name != ".."));
    let disk = Arc::clone(&TREE.disk);
    let tracked = TrackedWorkspace::new(Arc::clone(&disk));
    let overlay = OverlayWorkspace::new(disk);
    let workspaces: [&dyn Workspace; 2] = [&tracked, &overlay];
    for last in [LastLink::Follow, LastLink::Keep] {
        let mut seen = Vec::new();
        for workspace in workspaces {
            let resolved = workspace.resolve(&path, last);
            let mut text = String::new();
            if let Ok(mut file) =
                resolved.as_ref().map_err(drop).and_then(|path| workspace.open(path).map_err(drop))
            {
                let _ = file.read_to_string(&mut text);
            }
            assert!(text.is_empty() || text == "f", "{data:?} led to {text:?}");
            seen.push(resolved.map(|path| path.to_string()).map_err(|error| error.to_string()));
        }
        assert_eq!(seen[0], seen[1], "disk and overlay disagree on {data:?}");
    }
});
