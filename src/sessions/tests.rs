use std::path::Path;

use workspace::{FileState, Mode, StateBefore, WorkspacePath, WriteLog};

use super::*;
use crate::base::sealed_box::SEAL_KEY;
use crate::event::{End, StopReason};

const ID: &str = "6f0d8a54-6a3f-4a53-9f0e-3f7f6c0c1d11";

fn ended(stop_reason: StopReason) -> Line {
    let end = End { status: Status::Failed, stop_reason, message: String::new() };
    let text = serde_json::to_value(Event::End(end)).unwrap();
    serde_json::from_value(text).unwrap()
}

fn file(folder: &Path) -> SessionFile {
    SessionFile {
        id: ID.to_owned(),
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        workspace: folder.to_owned(),
        started_in: folder.to_owned(),
        commit: None,
        task: "Do it".to_owned(),
        mode: RunMode::Yolo,
        inputs: BTreeMap::new(),
        transcript: folder.join("transcript.jsonl"),
        report: folder.join("report.json"),
    }
}

/// A user with a key and a state folder.
fn variables(state: &Path) -> Variables {
    let key = "c2Vzc2lvbnMgYXJlIHNlYWxlZCB3aXRoIHRoaXMga2U=";
    [(SEAL_KEY, key), ("XDG_STATE_HOME", state.to_str().unwrap())]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into_iter()
        .collect()
}

/// A session in its folder, and its sealer.
fn session(out: &Path, variables: &Variables) -> SessionSealer {
    let file = file(out);
    fs::write(&file.transcript, "").unwrap();
    file.write(out, variables).unwrap();
    let place = SessionPlace { id: ID, out, transcript: &file.transcript };
    SessionSealer::new(variables, None, None, place).unwrap().unwrap()
}

#[test]
fn what_a_call_had_written_when_it_was_cut_off_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let path = WorkspacePath::parse("a.txt").unwrap();
    let state = FileState { content: b"half done".as_slice().into(), mode: Mode::Regular };
    ChangeLog::begin(log.clone(), None).unwrap().writing(&path, StateBefore::Absent, Some(&state));
    for (reason, is_cut) in [
        (StopReason::UserInterrupt, true),
        (StopReason::Terminated, true),
        (StopReason::Timeout, true),
        (StopReason::CheckoutChanged, true),
        (StopReason::LlmDone, false),
        (StopReason::GatesFailed, false),
        (StopReason::MaxSteps, false),
        (StopReason::BudgetExceeded, false),
    ] {
        let lines = vec![ended(reason)];
        let changes = LoggedChanges::read(&log, &lines).unwrap();
        assert_eq!(changes.after.contains_key(&path), !is_cut, "{reason:?}");
        let resumed = Resumed { file: file(folder.path()), lines, changes };
        assert_eq!(
            resumed.was_cut_off(),
            is_cut,
            "{reason:?}: a final answer is judged, not asked for again"
        );
    }
}

#[test]
fn nothing_is_sealed_behind_the_end_of_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let out = &folder.path().canonicalize().unwrap();
    let variables = variables(out);
    let sealer = session(out, &variables);
    sealer.seal().unwrap();
    assert!(out.join(SEALED).exists());
    sealer.end(true).unwrap();
    // One that had begun before, and was waiting.
    sealer.seal().unwrap();
    assert!(!out.join(SEALED).exists(), "what is done would be gone on with");
    let sealer = session(out, &variables);
    sealer.end(false).unwrap();
    let last = fs::read(out.join(SEALED)).unwrap();
    fs::write(out.join("transcript.jsonl"), "{}\n").unwrap();
    sealer.seal().unwrap();
    assert_eq!(fs::read(out.join(SEALED)).unwrap(), last);
}

#[test]
fn a_session_at_work_is_not_taken_up_beside_itself() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let (out, variables) = (&base.join("out"), variables(&base));
    let checkout = &base.join("repo");
    fs::create_dir(out).unwrap();
    fs::create_dir(checkout).unwrap();
    let log = ChangeLog::begin(change_log_path(&variables, ID).unwrap(), None).unwrap();
    session(out, &variables).end(false).unwrap();
    let resume = || {
        let opened = OpenedSession::read(&out.join(SEALED), &variables).unwrap();
        opened.settle(checkout, &base.join("other"), &variables)
    };
    assert!(matches!(resume(), Err(SessionError::Running(id)) if id == ID));
    assert!(!base.join("other/session.json").exists());
    drop(log);
    assert_eq!(resume().unwrap().file.id, ID);
}

#[cfg(unix)]
#[test]
fn state_that_commands_can_write_is_not_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let (repo, checkout) = (base.join("repo"), base.join("checkout"));
    fs::create_dir_all(checkout.join(".git")).unwrap();
    fs::create_dir_all(&repo).unwrap();
    std::os::unix::fs::symlink(&repo, base.join("link")).unwrap();
    let check = |state: &Path| check_state(&variables(state), &repo);
    check(&base.join("state")).unwrap();
    for state in [repo.join("state"), base.join("link/not/yet"), checkout.join("home/.local/state")] {
        assert!(matches!(check(&state), Err(SessionError::StateInCheckout(_))), "{}", state.display());
    }
    assert!(change_log_path(&variables(&checkout), ID).is_none());
}
