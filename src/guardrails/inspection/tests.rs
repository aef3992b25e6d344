//! Tests of the inspection of plans.

use workspace::{FileChange, FileState, Mode};

use super::*;

fn change(path: &str, before: Option<&str>, after: &str) -> FileChange {
    let state = |text: &str| FileState { content: text.as_bytes().into(), mode: Mode::Regular };
    let path = WorkspacePath::parse(path).expect("a plain path");
    FileChange::new(path, before.map(state), Some(state(after))).expect("a change")
}

fn judged_at(workspace: &str, changes: Vec<FileChange>, rules: &Apply) -> String {
    let masker = Masker::new(["hunter2-and-more"]);
    let location = WorkspaceLocation::below("/r".as_ref(), workspace.as_ref());
    let names = |folder: &WorkspacePath| match folder.as_str() {
        "." => vec!["README.md".to_owned(), "src".to_owned()],
        "src" => vec!["caf\u{e9}.rs".to_owned()],
        _ => Vec::new(),
    };
    let base = BaseFiles { prefix: "", is_there: true, read: &|_| None, names: &names };
    let found = inspect(&ChangeSet::new(changes), &location, rules, &masker, &base);
    found.err().map(|error| error.to_string()).unwrap_or_default()
}

fn judged(changes: Vec<FileChange>, rules: &Apply) -> String {
    judged_at("/r", changes, rules)
}

#[test]
fn submodules_do_not_give_way_to_files() {
    let text = b"[submodule \"sub\"]\n\tpath = vendor/sub\n\turl = https://github.com/octo/sub\n";
    let read = |path: &str| (path == ".gitmodules").then(|| text.to_vec());
    let rules = Apply::default();
    for (prefix, path, expected) in [
        ("", "vendor/sub/index.js", "replaces the submodule vendor/sub"),
        ("", "vendor/sub", "replaces the submodule vendor/sub"),
        ("vendor/", "sub/index.js", "replaces the submodule vendor/sub"),
        ("", "vendor", "replaces the submodule vendor/sub"),
        ("", "vendor/subs/index.js", ""),
        ("web/", "vendor/sub/index.js", ""),
    ] {
        let base = BaseFiles { prefix, is_there: true, read: &read, names: &|_| Vec::new() };
        let location = WorkspaceLocation::below("/r".as_ref(), "/r".as_ref());
        let changes = ChangeSet::new(vec![change(path, None, "x\n")]);
        let found = inspect(&changes, &location, &rules, &Masker::new([""; 0]), &base);
        let found = found.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{path}: {found}");
    }
}

#[test]
fn what_a_reviewer_overlooks_is_refused() {
    let token = format!("token = \"ghp_{}\"\n", "a1B2".repeat(9));
    let name = format!("ghp_{}.txt", "a1B2".repeat(9));
    let aside = format!("a = 1;{}b()\n", " ".repeat(300));
    let padded = format!("a = 1;{}\n", " ".repeat(300));
    let cases: [(FileChange, &str); 50] = [
        // Letters that look like operators, and others that are read as plain ones.
        (change("a.js", Some("a\n"), "a\nif (environmentǃ=PROD) {}\n"), "a.js would contain `environmentǃ`"),
        (change("a.py", Some("a\n"), "a\n𝐞𝐯𝐚𝐥(1)\n"), "a.py would contain `𝐞𝐯𝐚𝐥`"),
        (change("a.py", Some("a\n"), "a\nｅｖａｌ(1)\n"), "a.py would contain `ｅｖａｌ`"),
        (change("a.md", Some("a\n"), "a\nThe word gǁana, and 𝐞𝐯𝐚𝐥(1)\n"), ""),
        (change("a.js", Some("a\n"), "a\nx\u{13430}y\n"), "a.js would contain invisible characters"),
        (change("a.js", Some("a\n"), "a\nx = '\u{e001}\u{e002}\u{e003}'\n"), "a.js would contain `"),
        (change(".github/workflows\u{ff0f}e.yml", None, "a\n"), "would contain `workflows\u{ff0f}e.yml`"),
        (change("a.rs", Some("a\n"), "a\n// \u{202e}b\n"), "a.rs would contain invisible characters"),
        // Letters of Cyrillic that look like those of Latin.
        (change("a.py", None, "import r\u{435}quests\n"), "a.py would contain `r\u{435}quests`"),
        (change("r\u{435}quests.py", None, "x\n"), "would contain `r\u{435}quests`"),
        (change("a.py", Some("r\u{435}quests\nx\n"), "r\u{435}quests\ny\n"), ""),
        (change("a.md", None, "\u{41f}\u{440}\u{438}\u{432}\u{435}\u{442}, test\n"), ""),
        (change("a.md", None, "Donau\u{ad}dampf\u{ad}schiff\n"), ""),
        (change("a.md", None, "a \u{ad}b\n"), "a.md would contain invisible characters"),
        (change("a.md", None, "a\u{ad}\u{ad}b\n"), "a.md would contain invisible characters"),
        (change("a.rs", None, "a\u{ad}b\n"), "a.rs would contain invisible characters"),
        (change("a.md", None, "hun\u{ad}ter2-and-more\n"), "a.md would contain text that is"),
        (change("a.md", None, "a\u{200b}b\n"), "a.md would contain invisible characters"),
        (change("a.md", None, "tag \u{e0041}\u{e0042}\n"), "a.md would contain invisible characters"),
        (change("a.txt", None, "hunter2-and-more\n"), "a.txt would contain text that is"),
        (change("a.txt", None, &token), "a.txt would contain text that is"),
        (change("hunter2-and-more.txt", None, "x\n"), "the name ***.txt contains text that is"),
        (change("hunter2-and-more/a", Some("x\n"), "y\n"), "the name ***/a contains text that is"),
        (change(&name, None, "x\n"), "the name ***.txt contains text that is"),
        (change(".github/codeowners", None, "* @me\n"), "it changes .github/codeowners"),
        (change("a.js", None, "/*\0*/ x\n"), "a.js would contain control characters"),
        (change("a.py", None, "# words \rprint()\n"), "a.py would contain control characters"),
        (change("a.md", None, "\u{1b}[2K\n"), "a.md would contain control characters"),
        (change("a\u{200b}.md", None, "x\n"), "the name a"),
        (change("a.png", None, "\0\u{1b}\u{202e}\n"), "a.png is a binary file"),
        // What is called a picture and is a script.
        (change("a.png", None, "#!/bin/sh\n\u{1b}[2K\nexit\n\0"), "a.png would contain control"),
        (change("a.dat", None, "import os\nos.remove('\u{202e}')\n# \0\n"), "a.dat would contain control"),
        (change("a.md", Some("x\n"), "x\r\n\ty 👩‍💻 می‌خواهم ✌️\n"), ""),
        // What was there before is nobody's doing.
        (change("a.md", Some("a\u{200b}\nb\n"), "a\u{200b}\nc\n"), ""),
        (change("a.js", None, &aside), "a.js would contain text behind 300 spaces"),
        (change("a.js", None, &padded), ""),
        (change("a.js", Some(&aside), &format!("{aside}c\n")), ""),
        // Names that are those of other files elsewhere.
        (change("Readme.md", None, "x\n"), "there it is the same as README.md"),
        (change("Src/a.rs", None, "x\n"), "there it is the same as src"),
        (change("src/cafe\u{301}.rs", None, "x\n"), "there it is the same as src/caf\u{e9}.rs"),
        (change("README.md", Some("y\n"), "x\n"), ""),
        (change("a.txt.", None, "x\n"), "a dot or a space at an end"),
        (change("a /b", None, "x\n"), "a dot or a space at an end"),
        (change("a.txt:b", None, "x\n"), "it has a `:`"),
        // Attributes.
        (change(".gitattributes", None, "*.lock -diff\n"), "it changes what .gitattributes says of `diff`"),
        (
            change("src/.gitattributes", None, "* linguist-generated=true\n"),
            "src/.gitattributes says of `linguist-generated`",
        ),
        (change(".gitattributes", None, "[attr]x  BINARY\n"), "says of `BINARY`"),
        (change(".gitattributes", None, "a filter=x\n"), "says of `filter`"),
        (change(".gitattributes", None, "# no diff\n* text=auto eol=lf\n*.sh text\n"), ""),
        (change(".gitattributes", Some("a -diff\n"), "a -diff\nb text\n"), ""),
    ];
    for (change, expected) in cases {
        let found = judged(vec![change.clone()], &Apply::default());
        assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{expected}: {found}");
    }
    // A link's target is shown, and judged, as content is.
    let mut link = change("a", None, "hunter2-and-more");
    link.after.as_mut().expect("a state").mode = Mode::Link;
    assert!(judged(vec![link], &Apply::default()).contains("a would contain text that is"));
    // What can run is judged whatever it is called.
    let mut program = bytes("a.gif", GIF);
    program.after.as_mut().expect("a state").mode = Mode::Executable;
    assert!(judged(vec![program], &Apply::default()).contains("a.gif is a binary file"));
    for (name, text) in
        [("gradle/wrapper/gradle-wrapper.jar", "PK\u{3}\u{4}\0"), ("a.bin", "\u{7f}ELF\u{2}\0")]
    {
        let found = judged(vec![change(name, Some("\0"), text)], &Apply::default());
        assert!(found.contains("is an executable that cannot be reviewed"), "{found}");
    }
    // Two names of one plan, and a file that only gets another name.
    let twins = vec![change("b.txt", None, "x\n"), change("B.txt", None, "y\n")];
    assert!(judged(twins, &Apply::default()).contains("there it is the same as"));
    let mut gone = change("README.md", Some("x\n"), "");
    gone.after = None;
    assert_eq!(judged(vec![gone, change("Readme.md", None, "x\n")], &Apply::default()), "");
}

/// A picture of one dot.
const GIF: &[u8] = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

fn bytes(path: &str, content: &[u8]) -> FileChange {
    let state = FileState { content: content.into(), mode: Mode::Regular };
    FileChange::new(WorkspacePath::parse(path).expect("a path"), None, Some(state)).expect("a change")
}

#[test]
fn only_pictures_and_fonts_are_not_read_as_text() {
    let noise: Vec<u8> = [0, 1, 2, 3].repeat(400);
    let with = |start: &[u8]| [start, &noise].concat();
    let code = [GIF, b"<?php system($_GET['c']); ?>"].concat();
    for (name, content, expected) in [
        ("logo.gif", GIF.to_vec(), ""),
        ("logo.png", with(b"touch pwned; exec true #"), "is a binary file"),
        ("x.pdf", with(b"%PDF-1\ntouch pwned\nexit\n"), "is a binary file"),
        ("n.png", with(b"require('fs').writeFileSync('pwned','');//"), "is a binary file"),
        ("a.png", with(b"PK\x03\x04\x14\0"), "is an executable"),
        ("a.bin", with(b"MZ\x90\0\x03\0\0\0"), "is an executable"),
        ("a.dat", with(b"\xfe\xed\xfa\xcf\0\0"), "is an executable"),
        ("lib.bin", with(b"PK\x03\x04\x14\0\0\0\0\0META-INF/MANIFEST.MF"), "is an executable"),
        ("a.dat", with(b"\xa7\x0d\x0d\x0a\0\0\0\0"), "is an executable"),
        ("logo.png", with(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), "is a binary file"),
        ("logo.gif", code, "is a binary file"),
        ("logo.jpg", GIF.to_vec(), "logo.jpg is a binary file"),
        ("a.db", with(b"SQLite format 3\0"), "is a binary file"),
        ("a.gz", with(b"\x1f\x8b\x08"), "is a binary file"),
        ("weights", noise.clone(), "is a binary file"),
    ] {
        let found = judged(vec![bytes(name, &content)], &Apply::default());
        assert!(
            found.contains(expected) && found.is_empty() == expected.is_empty(),
            "{name} {expected}: {found}"
        );
    }
}

#[test]
fn names_that_are_one_elsewhere_are_refused_in_all_their_parts() {
    let gone = |path: &str| {
        let mut gone = change(path, Some("x\n"), "");
        gone.after = None;
        gone
    };
    let new = |path: &str| change(path, None, "x\n");
    let link = |path: &str, target: &str| {
        let mut link = change(path, None, target);
        link.after.as_mut().expect("a state").mode = Mode::Link;
        link
    };
    // On disk are README.md and src/café.rs.
    for (changes, expected) in [
        (vec![new("Src/b.rs"), gone("src/other.rs")], "the same as src"),
        (vec![new("Src/b.rs"), gone("src/caf\u{e9}.rs")], ""),
        (vec![new("Foo"), new("foo/b")], "the same as"),
        (vec![new("Foo/a"), new("foo/b")], "the same as"),
        (vec![link("a", "d"), new("A/x")], "the same as"),
        (vec![new("con")], "`con` is a device"),
        (vec![new("aux.txt")], "`aux.txt` is a device"),
        (vec![new("src/NUL.tar.gz")], "is a device"),
        (vec![new("COM1/x")], "is a device"),
        (vec![new("lpt\u{b9}.c")], "is a device"),
        (vec![new("prn .md")], "is a device"),
        (vec![new("console.rs"), new("com.rs"), new("com10"), new("auxiliary/nullable.rs")], ""),
        (vec![new("a\u{a0}/b")], "at an end of a name"),
        (vec![link("docs", "elsewhere")], "who has to review"),
        (vec![link(".GitHub", "elsewhere")], "who has to review"),
        (vec![new("hunter2/and/more.txt")], "looks like, a secret"),
        (vec![new("hunter2_and+more")], "looks like, a secret"),
    ] {
        let paths: Vec<String> = changes.iter().map(|change| change.path.to_string()).collect();
        let found = judged(changes, &Apply::default());
        assert!(
            found.contains(expected) && found.is_empty() == expected.is_empty(),
            "{paths:?} {expected}: {found}"
        );
    }
}

#[test]
fn attributes_that_hide_cannot_come_by_any_way() {
    let gone = |before: &str| {
        let mut gone = change("src/.gitattributes", Some(before), "");
        gone.after = None;
        gone
    };
    let modified = |before: &str, after: &str| change(".gitattributes", Some(before), after);
    let mut link = change("src/.GitAttributes", None, "elsewhere");
    link.after.as_mut().expect("a state").mode = Mode::Link;
    for (change, is_refused) in [
        // A macro of the base, the line that undoes another one, the file that does, and their order.
        (modified("[attr]gen -diff\nx gen\n", "[attr]gen -diff\nx gen\n*.py gen\n"), true),
        (modified("* -diff\n*.py diff\n", "* -diff\n"), true),
        (modified("* -diff\n*.py diff\n", "*.py diff\n* -diff\n"), true),
        (gone("*.py diff\n"), true),
        (gone("*.py text\n"), false),
        (modified("[attr]text -diff\n", "[attr]text -diff\n*.py text\n"), true),
        (modified("", "\"a text\" -diff\n"), true),
        (modified("", "\u{feff}* -diff\n"), true),
        (modified("", "* lockable\n"), true),
        (modified("", "*.png binary\n*.woff2 -text binary\n"), false),
        (modified("", "*.py binary\n"), true),
        (modified("", "*.png -diff\n"), true),
        (modified("", "* linguist-language=C\n*.bat eol=crlf -text\n"), false),
        (modified("a -diff\nb eol=lf\n", "# c\nb eol=crlf\na -diff\n"), false),
        (link, true),
        (change("GITATT~1", None, "* -diff\n"), true),
    ] {
        let found = judged(vec![change.clone()], &Apply::default());
        assert_eq!(found.contains("can hide changes of other files"), is_refused, "{change:?}: {found}");
        assert_eq!(!found.is_empty(), is_refused, "{change:?}: {found}");
    }
}

#[test]
fn text_aside_and_keys_in_pieces_are_found() {
    let spaces = " ".repeat(199);
    let table = format!("| a {spaces}| b {spaces}| c |\n");
    let ends = |body: &str| format!("-----BEGIN {0} KEY-----\n{body}-----END {0} KEY-----\n", "RSA PRIVATE");
    let key = ends("MIIEpAIBAAKCAQEAwJ2tS7v8XxkPzq1m8Y0bR5mV6yq\n");
    let url = format!("postgres://admin:{}@db.corp.example/x\n", "S4cr4tP4ss");
    for (change, expected) in [
        (change("a.py", None, &format!("x = 1{spaces};{spaces}evil()\n")), "behind 398 spaces"),
        (
            change("a.py", None, &format!("x = 1{}evil()\n", format!("{};", " ".repeat(19)).repeat(20))),
            "behind 380 spaces",
        ),
        (change("CMakeLists.txt", None, &format!("a(){0};{0}b()\n", " ".repeat(150))), "behind 300 spaces"),
        (change("a.c", None, &format!("{{{}}}\n", "1.0, 2.0,  ".repeat(60))), ""),
        (change("a.md", None, &table), ""),
        (change("a.rs", None, &format!("let a ={}1;\n", " ".repeat(30))), ""),
        (change("k.txt", Some(&ends("")), &key), "k.txt would contain text that is"),
        (change("k.txt", Some(&key), &format!("{key}more\n")), ""),
        (change("x.txt", None, &url), "x.txt would contain text that is"),
        (change("x.txt", Some(&url), &format!("{url}y\n")), ""),
    ] {
        let found = judged(vec![change.clone()], &Apply::default());
        assert!(
            found.contains(expected) && found.is_empty() == expected.is_empty(),
            "{change:?} {expected}: {found}"
        );
    }
}

#[test]
fn owners_of_files_are_found_from_any_folder() {
    for (workspace, file, is_refused) in [
        ("/r/.github", "CODEOWNERS", true),
        ("/r/docs", "codeowners", true),
        ("/r/src", "CODEOWNERS", true),
        ("/r/src", "OWNERS", false),
    ] {
        let found = judged_at(workspace, vec![change(file, None, "* @me\n")], &Apply::default());
        assert_eq!(!found.is_empty(), is_refused, "{workspace} {file}: {found}");
    }
}

#[test]
fn sizes_follow_the_configuration() {
    let rules = |text: &str| serde_json::from_str::<Apply>(text).expect("rules");
    let two = || vec![change("a", None, "1\n2\n"), change("b", None, "1\n")];
    assert!(judged(two(), &rules(r#"{"max_files": 1}"#)).contains("2 files, and `apply.max_files` is 1"));
    assert!(judged(two(), &rules(r#"{"max_lines": 2}"#)).contains("3 lines, and `apply.max_lines` is 2"));
    assert_eq!(judged(two(), &rules(r#"{"max_files": 2, "max_lines": 3}"#)), "");
    // What hides as binary counts.
    let disguised = vec![change("a.bin", None, "import os\nos.remove('a')\n# \0\n")];
    assert!(judged(disguised, &rules(r#"{"max_lines": 2}"#)).contains("3 lines"));
}
