use super::*;
use crate::event::{End, StopReason};

#[test]
fn writes_of_a_call_that_was_cut_off_do_not_count() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("changes.jsonl");
    let file = WorkspacePath::parse("log.txt").expect("a path");
    let log = ChangeLog::begin(path.clone(), None).expect("a log");
    let after = FileState { content: b"line\n"[..].into(), mode: Mode::Regular };
    log.writing(&file, StateBefore::Absent, Some(&after));
    for (stop_reason, counts) in [
        (StopReason::UserInterrupt, false),
        (StopReason::Terminated, false),
        (StopReason::Timeout, false),
        (StopReason::LlmDone, true),
        (StopReason::MaxSteps, true),
    ] {
        let end = End { status: stop_reason.status(), stop_reason, message: String::new() };
        let past = [Line { at_ms: 1, event: Event::End(end) }];
        let logged = LoggedChanges::read(&path, &past).expect("a log");
        assert_eq!(logged.after.contains_key(&file), counts, "{stop_reason}");
        assert!(logged.is_own(&file, Some(&after)), "{stop_reason}: it was about to be written");
    }
}

#[test]
fn withdrawn_writes_do_not_count() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("changes.jsonl");
    let file = |name: &str| WorkspacePath::parse(name).expect("a path");
    let (one, other, third) = (file("one"), file("other"), file("third"));
    let log = ChangeLog::begin(path.clone(), None).expect("a log");
    let state = |content: &[u8]| FileState { content: content.into(), mode: Mode::Regular };
    let (first, second) = (state(b"first"), state(b"second"));
    log.writing(&one, StateBefore::Absent, Some(&first));
    log.write(&Entry::Kept);
    log.writing(&one, StateBefore::NotGiven, Some(&second));
    log.writing(&other, StateBefore::Absent, Some(&second));
    // Beside it.
    log.writing(&third, StateBefore::Absent, Some(&first));
    log.withdrawn(&[&one, &other]);
    log.write(&Entry::Kept);
    let logged = LoggedChanges::read(&path, &[]).expect("a log");
    let after: Vec<_> = logged.after.iter().collect();
    assert_eq!(after, [(&one, &Some(first.clone())), (&third, &Some(first))]);
    assert!(logged.is_own(&other, Some(&second)), "it was about to be written");
}

#[test]
fn lines_of_writes_are_those_of_entries() {
    let path = WorkspacePath::parse("a \"b\".txt").expect("a path");
    let state = |content: &[u8]| FileState { content: content.into(), mode: Mode::Executable };
    let (one, other) = (state(b"one\0\n"), state(b""));
    for (before, stored) in [
        (StateBefore::NotGiven, None),
        (StateBefore::Absent, Some(StoredState::of(None))),
        (StateBefore::File(&one), Some(StoredState::of(Some(&one)))),
    ] {
        let entry = Entry::Write { path: path.clone(), before: stored, after: StoredState::of(Some(&other)) };
        assert_eq!(line_of_write(&path, before, Some(&other)), line(&entry));
    }
}

#[test]
fn logs_that_nobody_goes_on_from_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let old = |name: &str, age: Duration| {
        let path = folder.path().join(name);
        let file = File::create(&path).unwrap();
        file.set_modified(std::time::SystemTime::now() - age).unwrap();
        path
    };
    let day = Duration::from_hours(24);
    let (forgotten, recent) = (old("a.changes", 31 * day), old("b.changes", 29 * day));
    let seal = old("a", 31 * day);
    let log = ChangeLog::begin(folder.path().join("c.changes"), None).unwrap();
    assert_eq!([&forgotten, &recent, &seal].map(|path| path.exists()), [false, true, true]);
    log.remove();
    assert!(!folder.path().join("c.changes").exists());
}
