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
