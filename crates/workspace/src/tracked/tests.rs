use super::*;

/// The state that each file has by the log.
#[derive(Default)]
struct Logged(Mutex<BTreeMap<String, Option<Vec<u8>>>>);

impl WriteLog for Logged {
    fn writing(&self, path: &WorkspacePath, _: StateBefore<'_>, after: Option<&FileState>) {
        let content = after.map(|state| state.content.to_vec());
        self.0.lock().unwrap().insert(path.to_string(), content);
    }

    fn withdrawn(&self, paths: &[&WorkspacePath]) {
        self.0.lock().unwrap().retain(|path, _| paths.iter().all(|withdrawn| withdrawn.as_str() != path));
    }

    fn large(&self, _: &WorkspacePath, _: bool) {}
}

#[test]
fn writes_that_fail_are_not_logged_as_made() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    std::fs::write(at("file"), "old").unwrap();
    std::fs::create_dir_all(at("full/folder")).unwrap();
    let tracked = TrackedWorkspace::new(Arc::new(DiskWorkspace::open(folder.path()).unwrap()));
    let log = Arc::new(Logged::default());
    tracked.set_log(Arc::clone(&log) as _);
    let path = |text: &str| ResolvedPath(WorkspacePath::parse(text).unwrap());
    let state = FileState { content: b"new".as_slice().into(), mode: Mode::Regular };
    assert!(tracked.write(&path("file/below"), b"new").is_err());
    assert!(tracked.place(&path("file/placed"), &state).is_err());
    assert!(tracked.remove(&path("gone")).is_err());
    tracked.write(&path("made"), b"new").unwrap();
    // Announced, and then not made.
    let change = FileChange::new(path("file").0, tracked.disk().state(&path("file")).unwrap(), Some(state));
    let changes: Vec<FileChange> = change.into_iter().collect();
    tracked.absorb(&changes);
    assert_eq!(log.0.lock().unwrap()["file"].as_deref(), Some(b"new".as_slice()));
    tracked.take_back(&changes);
    let logged = log.0.lock().unwrap();
    for (path, expected) in [
        ("file/below", None),
        ("file/placed", None),
        ("gone", None),
        ("made", Some("new")),
        ("file", Some("old")),
    ] {
        assert_eq!(logged[path].as_deref(), expected.map(str::as_bytes), "{path}");
    }
}

/// Returns changes that create files with these names.
fn creations(names: &[&str]) -> Vec<FileChange> {
    let state = || Some(FileState { content: b"new".as_slice().into(), mode: Mode::Regular });
    let path = |name: &&str| WorkspacePath::parse(name).unwrap();
    names.iter().filter_map(|name| FileChange::new(path(name), None, state())).collect()
}

#[test]
fn changes_are_absorbed_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(DiskWorkspace::open(folder.path()).unwrap());
    let (tracked, planned) = (TrackedWorkspace::new(Arc::clone(&disk)), OverlayWorkspace::new(disk));
    let (made, plan) = (Arc::new(Logged::default()), Arc::new(Logged::default()));
    tracked.set_log(Arc::clone(&made) as _);
    planned.set_log(Arc::clone(&plan) as _);
    let earlier = creations(&["earlier"]);
    tracked.absorb(&earlier);
    planned.absorb(&earlier).unwrap();
    let changes = creations(&["folder/a", "b", "c"]);
    for time in 0..3 {
        let asked = std::cell::Cell::new(0);
        let is_over = || asked.replace(asked.get() + 1) == time;
        assert!(!tracked.absorb_until(&changes, &is_over), "{time}");
        asked.set(0);
        assert!(!planned.absorb_until(&changes, &is_over).unwrap(), "{time}");
        assert_eq!((planned.touched().unwrap().len(), tracked.changed().len()), (1, 1), "{time}");
        for log in [&made, &plan] {
            assert_eq!(log.0.lock().unwrap().keys().collect::<Vec<_>>(), ["earlier"], "{time}");
        }
    }
    assert!(tracked.absorb_until(&changes, &|| false));
    assert!(planned.absorb_until(&changes, &|| false).unwrap());
    assert_eq!(planned.touched().unwrap().len(), 4);
    assert_eq!((made.0.lock().unwrap().len(), plan.0.lock().unwrap().len()), (4, 4));
}
