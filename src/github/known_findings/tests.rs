use super::*;
use crate::event::Severity;
use crate::github::earlier_findings::FindingState;

/// What `a.rs` was in the commit `01d`.
const OLD: &str = "one()\nreturn None\ntwo()\nreturn None\nthree()\n";

const PATHS: [&str; 4] = ["a.rs", "b.rs", "c.rs", "picture.png"];

fn finding(line: u32, place: &str, message: &str) -> Finding {
    let (place, message) = (Finding::place_of(place), message.to_owned());
    Finding { file: None, line, severity: Severity::Error, message, place, confidence: None }
}

fn posted(path: &str, line: u32, place: &str) -> EarlierFinding {
    let mark = FindingMark::of(Some(path).filter(|path| !path.is_empty()), &finding(line, place, "Bad."));
    EarlierFinding::listed(mark, FindingState::Open)
}

fn settled(path: &str, line: u32, place: &str) -> EarlierFinding {
    EarlierFinding::listed(posted(path, line, place).mark, FindingState::Settled)
}

/// Places findings in files: pairs of a path, and what is there. Those that are named with a `?` nobody can read, and those with a
/// `=` were so before the pull request.
fn locate(posted: Vec<EarlierFinding>, files: &[(&str, &str)]) -> KnownFindings {
    let name = |path: &str| path.trim_end_matches(['?', '=']).to_owned();
    let changed: Vec<String> = files.iter().map(|(path, _)| name(path)).collect();
    KnownFindings::locate(posted, &changed, |version, path| {
        let found = files.iter().find(|(named, _)| name(named) == path);
        match found.filter(|(named, _)| version == Version::Head || named.ends_with('=')) {
            _ if version == Version::At("01d") => match path {
                "a.rs" => FileContent::Bytes(OLD.as_bytes().to_vec()),
                "b.rs" => FileContent::Bytes(b"import json from j".to_vec()),
                _ => FileContent::Absent,
            },
            Some((named, _)) if named.ends_with('?') => FileContent::Unknown,
            Some((_, text)) => FileContent::Bytes(text.as_bytes().to_vec()),
            None if path == PATHS[3] => FileContent::Bytes(vec![0x89, b'P', 0xff, 0]),
            None if path == PATHS[2] => FileContent::NoFile,
            None => FileContent::Absent,
        }
    })
}

#[test]
fn finding_goes_where_its_line_goes() {
    let at = |path: &str, number: u32, text: &str| {
        Place::At(Line { path: path.to_owned(), number, text: text.to_owned() })
    };
    let (run, other) = ("return run(x)", "return run(y)");
    for (name, finding, files, expected) in [
        ("as it was", posted("a.rs", 2, run), vec![("a.rs", "a\n  return run(x)\n")], at("a.rs", 2, run)),
        ("moved", posted("a.rs", 9, run), vec![("a.rs", "return run(x)\nb\nc")], at("a.rs", 1, run)),
        (
            "the nearest of two",
            posted("a.rs", 4, run),
            vec![("a.rs", "return run(x)\n\n\n\nreturn run(x)")],
            at("a.rs", 5, run),
        ),
        ("mended", posted("a.rs", 1, run), vec![("a.rs", other)], Place::Gone),
        ("emptied", posted("a.rs", 1, run), vec![("a.rs", "")], Place::Gone),
        ("removed", posted("a.rs", 1, run), vec![("b.rs", other)], Place::Gone),
        ("renamed", posted("a.rs", 1, run), vec![("b.rs", "x\nreturn run(x)")], at("b.rs", 2, run)),
        ("renamed, short", posted("a.rs", 1, "x"), vec![("b.rs", "y\nx")], at("b.rs", 2, "x")),
        (
            "renamed, with another file in its place",
            posted("a.rs", 1, run),
            vec![("a.rs", other), ("b.rs", run)],
            at("b.rs", 1, run),
        ),
        ("removed, and elsewhere all along", posted("a.rs", 1, run), vec![("b.rs=", run)], Place::Gone),
        ("in a submodule", posted(PATHS[2], 1, ""), vec![("a.rs", run)], at(PATHS[2], 1, "")),
        // Such lines are everywhere.
        (
            "short, elsewhere",
            posted("a.rs", 1, "end if"),
            vec![("a.rs", "b"), ("b.rs", "end if")],
            Place::Gone,
        ),
        ("without letters", posted("a.rs", 1, "}"), vec![("b.rs", "}")], Place::Gone),
        ("unreadable", posted("a.rs", 1, run), vec![("a.rs?", "")], Place::Unknown),
        (
            "perhaps in a file that is unreadable",
            posted("a.rs", 1, run),
            vec![("a.rs", other), ("b.rs?", "")],
            Place::Unknown,
        ),
        ("in a picture now", posted(PATHS[3], 1, run), vec![("b.rs", other)], Place::Gone),
        ("about no file", posted("", 1, ""), vec![("a.rs", other)], Place::Nowhere),
        ("beyond the end", posted("a.rs", 90, ""), vec![("a.rs", "one\ntwo")], at("a.rs", 2, "two")),
        ("in an empty file", posted("a.rs", 1, ""), vec![("a.rs", "")], at("a.rs", 1, "")),
        ("beyond the end of what is gone", posted("a.rs", 90, ""), vec![("b.rs", "\n")], Place::Gone),
    ] {
        let known = locate(vec![finding], &files);
        assert_eq!(known.findings[0].place, expected, "{name}");
    }
}

#[test]
fn findings_that_say_the_same_are_on_two_lines() {
    let twice = || vec![posted("a.rs", 1, "run(x) twice"), posted("a.rs", 5, "run(x) twice")];
    let numbers = |text: &str| {
        let known = locate(twice(), &[("a.rs", text)]).findings;
        known
            .iter()
            .map(|known| if let Place::At(line) = &known.place { line.number } else { 0 })
            .collect::<Vec<_>>()
    };
    assert_eq!(numbers("run(x) twice\n\n\n\nrun(x) twice"), [1, 5]);
    assert_eq!(numbers("\nrun(x) twice\nrun(x) twice"), [2, 3]);
    assert_eq!(numbers("run(x) twice"), [1, 0]);
}

#[test]
fn finding_is_known_at_its_place_alone() {
    let text = "run(x) here\n\nrun(x) here\n\nother";
    let earlier = vec![posted("a.rs", 1, "run(x) here"), posted("", 1, ""), posted("b.rs", 90, "")];
    let known = locate(earlier, &[("a.rs", text), ("b.rs", text)]);
    for (name, path, found, expected) in [
        ("the same", Some("a.rs"), finding(1, "run(x) here", "bad!"), true),
        ("other words", Some("a.rs"), finding(1, "run(x) here", "Worse."), false),
        ("an equal line", Some("a.rs"), finding(3, "run(x) here", "Bad."), false),
        ("another line", Some("a.rs"), finding(5, "other", "Bad."), false),
        ("another file", Some("b.rs"), finding(1, "run(x) here", "Bad."), false),
        ("about no file", None, finding(7, "", "Bad."), true),
        ("at the end, on which it was", Some("b.rs"), finding(90, "", "Bad."), true),
        ("on a blank line", Some("b.rs"), finding(2, "", "Bad."), false),
    ] {
        assert_eq!(known.has(&FindingMark::of(path, &found)), expected, "{name}");
    }
    // Where nobody can say what is there, its text counts; what is gone and listed is not listed again.
    for files in [&[("a.rs?", "")][..], &[("a.rs", "other")]] {
        let known = locate(vec![posted("a.rs", 1, "run(x) here")], files);
        assert!(known.has(&FindingMark::of(Some("a.rs"), &finding(9, "run(x) here", "Bad."))));
        assert!(!known.has(&FindingMark::of(Some("a.rs"), &finding(9, "other", "Bad."))));
    }
}

#[test]
fn open_finding_is_not_taken_for_a_settled_one() {
    let gone = |posted: Vec<EarlierFinding>, files: &[(&str, &str)]| {
        let known = locate(posted, files).findings;
        known.iter().map(|known| known.place == Place::Gone).collect::<Vec<_>>()
    };
    let line = "run(x) twice";
    // Of two equal lines one is left, in one file and in two.
    let both = vec![settled("a.rs", 1, line), posted("a.rs", 5, line)];
    assert_eq!(gone(both, &[("a.rs", line)]), [true, false]);
    let both = vec![settled("a.rs", 1, line), posted("b.rs", 1, line)];
    assert_eq!(gone(both, &[("a.rs", "other"), ("b.rs", line)]), [true, false]);
}

#[test]
fn worse_finding_in_the_same_words_is_another_one() {
    let mut note = posted("a.rs", 1, "run(x)");
    note.mark.severity = Severity::Note;
    // Both stand on the line.
    let both = locate(vec![note, posted("a.rs", 1, "run(x)")], &[("a.rs", "run(x)")]);
    assert!(both.findings.iter().all(|known| known.place != Place::Gone));
    let mut note = posted("a.rs", 1, "run(x)");
    note.mark.severity = Severity::Note;
    let known = locate(vec![note], &[("a.rs", "run(x)")]);
    let mark = FindingMark::of(Some("a.rs"), &finding(1, "run(x)", "Bad."));
    assert!(!known.has(&mark));
    assert!(known.has(&FindingMark { severity: Severity::Note, ..mark }));
}

#[test]
fn line_is_followed_through_what_has_changed_since() {
    let at = |number: u32, text: &str| {
        let mut finding = posted("a.rs", number, "return None");
        finding.mark.commit = Some("01d".to_owned());
        let known = locate(vec![finding], &[("a.rs", text)]);
        let own = if let Place::At(line) = &known.findings[0].place { line.number } else { 0 };
        // So it is under another name of the file.
        let mut finding = posted("a.rs", number, "return None");
        finding.mark.commit = Some("01d".to_owned());
        let known = locate(vec![finding], &[("c2.rs", text)]);
        let renamed = if let Place::At(line) = &known.findings[0].place { line.number } else { 0 };
        assert_eq!(renamed, own, "{text}");
        own
    };
    for (text, expected) in [
        (OLD, [2, 4]),
        // One of the two is mended, and lines are added above.
        ("one()\nreturn 1\ntwo()\nreturn None\nthree()\n", [0, 4]),
        ("a\nb\nc\none()\nreturn None\ntwo()\nreturn 2\nthree()\n", [5, 0]),
        // Another equal line is nearer to where it was.
        ("return None\nreturn None\n\n\none()\nreturn None\ntwo()\nreturn None\nthree()\n", [6, 8]),
        // Indented.
        ("one()\n  return None\ntwo()\nreturn None\nthree()\n", [2, 4]),
    ] {
        assert_eq!([at(2, text), at(4, text)], expected, "{text}");
    }
}

#[test]
fn edited_mark_leads_to_the_nearest_line() {
    let mut finding = posted("a.rs", 90, "return None");
    finding.mark.commit = Some("01d".to_owned());
    let known = locate(vec![finding], &[("a.rs", OLD)]);
    assert!(matches!(&known.findings[0].place, Place::At(line) if line.number == 4));
}

#[test]
fn line_that_another_file_had_already_has_not_moved_there() {
    let mut finding = posted("a.rs", 1, "import json from j");
    finding.mark.commit = Some("01d".to_owned());
    let known = locate(vec![finding], &[("a.rs", "use(x)"), ("b.rs", "import json from j")]);
    assert_eq!(known.findings[0].place, Place::Gone);
    // What was at the head, and is gone, hides nothing that is found now.
    let mark = FindingMark::of(Some("a.rs"), &finding_of_import());
    assert!(!known.has(&mark));
}

fn finding_of_import() -> Finding {
    finding(9, "import json from j", "Bad.")
}
