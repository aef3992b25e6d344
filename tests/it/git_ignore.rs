//! Outputs of builds are what the program `git` itself ignores.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use workspace::outputs::GitIgnoreRules;
use workspace::{FileState, Mode, WorkspacePath};

/// Contents of ignore files, with the corners of Git's dialect.
#[rustfmt::skip]
const RULES: &[&str] = &[
    "foo", "foo/", "/foo", "*.log", "\\#a", "#a", "\\!b", "!b", "*\n!keep", "*\n!sub/\n!sub/x", "sub/*\n!sub/x",
    "sub/\n!sub/x", "a b ", "a b\\ ", "foo\t", "**/x", "sub/**", "sub/**/x", "**", "[a-c]", "[!a-c]", "[^a-c]",
    "[[:alpha:]]", "[]-]", "[a", "a\\", "?", "*.LOG", "FOO", "\u{feff}foo", "foo\r", "foo\r\nx", "x\\y", "{a,b}",
    "a{1}", "sub//x", "./foo", "/", "//foo", ".", "..", "../x", "*/x", "sub/x/", "\\foo", "\\*", "f\\oo", "+(a)",
    "@(a)", "é", "*\n!*/\n!x", "x\n!X", "**foo", "foo**", "sub**", "**/sub/**/x", "a**b", "***", "/**", "/*\n!/sub",
    "[\\]]", "[a\\-c]", "[--0]", "\\", "!", "!!x", "#", "\\ ", " foo", "foo /", "!/x\nx", "$x", "\\$x", "!$x",
];

/// Names of files in each folder with such an ignore file.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    "foo", "x", "y", "a", "b", "c", "d", "keep", "#a", "!b", "a b", "a b ", "X.log", "x.LOG", "FOO", "{a,b}", "a{1}",
    "aa", ".hid", "]", "-", "*", "é", "ab", "a1b", "foobar", "barfoo", "[a", "sub/x", "sub/y", "sub/foo",
    "sub/sub2/x", "sub/sub2/foo", "foo2/x", "x.log", " foo", "+(a)", "[a-c]", "foo\t", "..x", "!x", "!!x", "$x",
];

fn git(folder: &Path, args: &[&str]) -> Vec<u8> {
    let output = Command::new("git").args(args).current_dir(folder).output().expect("git runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Returns a file of a checkout as it is, links as links.
fn state(path: &Path) -> Option<FileState> {
    if fs::symlink_metadata(path).ok()?.is_symlink() {
        let target = fs::read_link(path).ok()?.into_os_string().into_encoded_bytes();
        return Some(FileState { content: target.into(), mode: Mode::Link });
    }
    Some(FileState { content: fs::read(path).ok()?.into(), mode: Mode::Regular })
}

#[test]
fn rules_are_read_as_git_reads_them() {
    let checkout = tempfile::tempdir().expect("a folder");
    let root = checkout.path();
    git(root, &["init", "--quiet"]);
    let mut files = BTreeSet::new();
    for (index, rules) in RULES.iter().enumerate() {
        let folder = format!("d{index}");
        fs::create_dir(root.join(&folder)).expect("a folder");
        // With and without an end of the last line.
        let end = if index % 2 == 0 { "\n" } else { "" };
        fs::write(root.join(&folder).join(".gitignore"), format!("{rules}{end}")).expect("a file");
        for name in NAMES {
            let path = root.join(&folder).join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(&path, "").expect("a file");
            files.insert(format!("{folder}/{name}"));
        }
    }
    // Git does not follow a link, whatever its target would say as a rule.
    fs::create_dir(root.join("link")).expect("a folder");
    symlink("x", root.join("link/.gitignore")).expect("a link");
    fs::write(root.join("link/x"), "").expect("a file");
    files.insert("link/x".to_owned());

    let args = ["-c", "core.excludesFile=/dev/null", "ls-files", "--others", "--exclude-standard", "-z"];
    let listed = String::from_utf8(git(root, &args)).expect("UTF-8");
    let listed: BTreeSet<&str> = listed.split('\0').collect();
    let mut differing = Vec::new();
    for file in &files {
        let path = WorkspacePath::parse(file).expect("a path");
        let folder = path.parent().expect("a folder");
        let rules = GitIgnoreRules::collect(&folder, |path| state(&root.join(path.as_str())));
        if rules.excludes(&path) == listed.contains(file.as_str()) {
            let index = path.names().next().and_then(|name| name.strip_prefix('d')?.parse::<usize>().ok());
            differing.push((file, index.and_then(|index| RULES.get(index))));
        }
    }
    assert!(differing.is_empty(), "{differing:?}");
}
