use super::*;

#[test]
fn many_planned_files_are_read_back_one_by_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let overlay = OverlayWorkspace::new(Arc::new(DiskWorkspace::open(folder.path()).expect("a folder")));
    let path = |number: u8| ResolvedPath(WorkspacePath::parse(&format!("{number:02}.txt")).expect("a path"));
    let content = |number: u8| vec![number; 100_000];
    assert!(!overlay.has_changes().expect("a folder"));
    (0..30).for_each(|number| overlay.write(&path(number), &content(number)).expect("it is planned"));
    let preview = overlay.preview();
    preview.write(&path(29), b"other").expect("it is planned");
    assert_eq!(*preview.read(&path(28)).expect("a file").content, content(28));
    let mut seen = 0;
    let is_wanted = |path: &WorkspacePath| path.as_str() != "00.txt";
    let visit = &mut |change: FileChange| {
        seen += 1;
        assert_eq!(*change.after.expect("it is new").content, content(seen));
        if seen == 29 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    overlay.visit_changes(&is_wanted, visit).expect("they can be read");
    assert_eq!(seen, 29);
    assert!(overlay.has_changes().expect("they can be read"));
}

#[test]
fn planned_folders_hide_and_show_what_is_on_disk() {
    let root = tempfile::tempdir().expect("a folder");
    for (path, text) in [("a/sub/x.txt", "x"), ("a/y.txt", "y"), ("b.txt", "b")] {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    let overlay = OverlayWorkspace::new(Arc::new(DiskWorkspace::open(root.path()).expect("a folder")));
    let path = |text: &str| WorkspacePath::parse(text).expect("a path");
    let listed = || -> Vec<String> {
        let all = overlay.walk(&ResolvedPath(WorkspacePath::root()), None).expect("a walk").found;
        all.iter().map(|entry| entry.path.to_string()).collect()
    };
    let state = |text: &str| FileState { content: text.as_bytes().into(), mode: Mode::Regular };
    let gone =
        |name: &str, text: &str| FileChange::new(path(name), Some(state(text)), None).expect("a change");
    overlay.absorb(&[gone("a/sub/x.txt", "x"), gone("a/y.txt", "y")]).expect("they are planned");
    overlay.plan_folders(&[path("new/deep")], &[path("a"), path("a/sub")]).expect("they are planned");
    assert_eq!(listed(), ["b.txt", "new", "new/deep"]);
    assert_eq!(overlay.stat(&ResolvedPath(path("a"))).expect("a state"), None);
    assert!(overlay.open(&ResolvedPath(path("a/y.txt"))).is_err());
    // A file as it was: it is nothing to plan, and has to be seen.
    overlay.place(&ResolvedPath(path("a/y.txt")), &state("y")).expect("it is planned");
    assert_eq!(listed(), ["a", "a/y.txt", "b.txt", "new", "new/deep"]);
    assert_eq!(overlay.changes().expect("the changes").len(), 1);
    overlay.plan_folders(&[], &[path("new/deep")]).expect("they are planned");
    assert_eq!(listed(), ["a", "a/y.txt", "b.txt", "new"]);
    overlay.write(&ResolvedPath(path("new/z.txt")), b"z").expect("it is planned");
    overlay.remove(&ResolvedPath(path("new/z.txt"))).expect("it is planned");
    assert_eq!(listed(), ["a", "a/y.txt", "b.txt", "new"]);
}
