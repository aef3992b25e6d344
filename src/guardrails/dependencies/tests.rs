//! Tests of the changes that plans may make to lock files, manifests, and the settings of package managers.

mod tables;

use std::collections::BTreeMap;

use super::*;

fn change(path: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
    let state = |text: &str| FileState { content: text.as_bytes().into(), mode: Mode::Regular };
    let path = WorkspacePath::parse(path).expect("a plain path");
    FileChange::new(path, before.map(state), after.map(state)).expect("a change")
}

/// Files of a commit.
type Files<'a> = &'a [(&'a str, &'a str)];

/// Judges all changes of a plan for a folder of a repository whose base has some files.
fn judged_with(base: &[(&str, &str)], prefix: &str, changes: Vec<FileChange>, rule: LockFiles) -> String {
    let files: BTreeMap<&str, &str> = base.iter().copied().collect();
    let read = |path: &str| files.get(path).map(|text| text.as_bytes().to_vec());
    let base = BaseFiles { prefix, is_there: true, read: &read, names: &|_| Vec::new() };
    let changes = ChangeSet::new(changes);
    let found = changes.iter().find_map(|change| inspect(change, &changes, rule, &base).err());
    found.map(|error| error.to_string()).unwrap_or_default()
}

fn judged(changes: Vec<FileChange>) -> String {
    judged_with(&[], "", changes, LockFiles::WithManifest)
}

fn assert_told(found: &str, expected: &str, what: &str) {
    assert!(
        found.contains(expected) && found.is_empty() == expected.is_empty(),
        "{what}: {expected:?}: {found}"
    );
}

const NPM: &str = "https://registry.npmjs.org/a/-/a-1.0.0.tgz";

/// A change of `package.json` that is about dependencies.
fn manifest() -> FileChange {
    change("package.json", Some("{}"), Some(r#"{"dependencies": {"a": "1"}}"#))
}

fn npm_lock(resolved: &str) -> String {
    format!("{{\"packages\": {{\"node_modules/a\": {{\"resolved\": \"{resolved}\"}}}}}}\n")
}

#[test]
fn new_lock_files_name_what_the_base_names() {
    let evil = npm_lock("https://evil.example/a");
    let corp = npm_lock("https://npm.corp.example/a");
    let known = npm_lock(NPM);
    let corp_settings = (".npmrc", "registry=https://npm.corp.example/\n");
    let lock = |path: &str, text: &str| vec![change(path, None, Some(text)), manifest()];
    let cases: [(Files<'_>, Vec<FileChange>, &str); 14] = [
        (
            &[],
            lock("npm-shrinkwrap.json", &evil),
            "npm-shrinkwrap.json would fetch packages from evil.example",
        ),
        (&[], lock("package-lock.json", &known), ""),
        (&[], lock("yarn.lock", "a@1:\n  resolved \"https://registry.yarnpkg.com/a\"\n"), ""),
        (&[("package-lock.json", &corp)], lock("npm-shrinkwrap.json", &corp), ""),
        // Who has a registry does not want what is called the same at the public one.
        (&[("package-lock.json", &corp)], lock("npm-shrinkwrap.json", &known), "from registry.npmjs.org"),
        (&[corp_settings], lock("package-lock.json", &corp), ""),
        (&[corp_settings], lock("package-lock.json", &known), "from registry.npmjs.org"),
        (&[corp_settings], lock("package-lock.json", &evil), "from evil.example"),
        // One that moves takes what it named along.
        (
            &[("package-lock.json", &corp)],
            vec![
                change("package-lock.json", Some(&corp), None),
                change("npm-shrinkwrap.json", None, Some(&corp)),
                manifest(),
            ],
            "",
        ),
        // What goes away elsewhere, or is not in the base, says nothing.
        (
            &[("package-lock.json", &known), ("test/fix/package-lock.json", &evil)],
            vec![
                change("test/fix/package-lock.json", Some(&evil), None),
                change("package-lock.json", Some(&known), Some(&evil)),
                manifest(),
            ],
            "from evil.example",
        ),
        (
            &[],
            vec![
                change("package-lock.json", Some(&evil), None),
                change("npm-shrinkwrap.json", None, Some(&evil)),
                manifest(),
            ],
            "from evil.example",
        ),
        (
            &[],
            vec![
                change("package-lock.json", Some(&corp), None),
                change("npm-shrinkwrap.json", None, Some(&evil)),
                manifest(),
            ],
            "from evil.example",
        ),
        // Settings say where packages come from, and are judged alike.
        (&[], vec![change(".npmrc", None, Some("registry=https://evil.example/\n"))], "from evil.example"),
        (
            &[],
            vec![change(".npmrc", None, Some("registry=https://registry.npmjs.org/\nsave-exact=true\n"))],
            "",
        ),
    ];
    for (base, changes, expected) in cases {
        let found = judged_with(base, "", changes.clone(), LockFiles::WithManifest);
        assert_told(&found, expected, &format!("{base:?} {changes:?}"));
    }
    // Of a base that cannot be read nobody knows whether it names another place.
    let unread = BaseFiles { prefix: "", is_there: false, read: &|_| None, names: &|_| Vec::new() };
    let changes = ChangeSet::new(lock("package-lock.json", &known));
    let found = changes.iter().find_map(|change| inspect(change, &changes, LockFiles::Allow, &unread).err());
    assert!(found.is_some_and(|error| error.to_string().contains("from registry.npmjs.org")));
    // What is above a workspace counts as well.
    let base = [(".npmrc", "registry=https://npm.corp.example/\n")];
    assert_eq!(judged_with(&base, "web/", lock("package-lock.json", &corp), LockFiles::WithManifest), "");
}

#[test]
fn lock_files_change_together_with_dependencies() {
    let npm =
        |text: &str| change("package.json", Some("{\"name\": \"a\", \"version\": \"1.0.0\"}"), Some(text));
    let lock = |path: &str| match path {
        "go.sum" | "Cargo.lock" => change(path, Some("\n"), Some("\n\n")),
        _ => change(path, Some("{}\n"), Some("{ }\n")),
    };
    let named = |path: &str, text: &str| change(path, Some(text), Some(&format!("{text}\n")));
    let mut executable = manifest();
    executable.after.clone_from(&executable.before);
    executable.after.as_mut().expect("a state").mode = Mode::Executable;
    let mut link = manifest();
    link.after.as_mut().expect("a state").mode = Mode::Link;
    let toml = |before: &str, after: &str| change("Cargo.toml", Some(before), Some(after));
    let crates =
        "[[package]]\nname = \"own\"\nversion = \"0.1.0\"\n\n[[package]]\nname = \"other\"\nsource = \"x\"\n";
    let member = |name: &str| {
        let text = |more: &str| format!("[package]\nname = \"{name}\"\n{more}");
        change(
            &format!("crates/{name}/Cargo.toml"),
            Some(&text("")),
            Some(&text("[dependencies]\na = \"1\"\n")),
        )
    };
    let new_member = |name: &str| FileChange { before: None, ..member(name) };
    let web = |path: &str| change(path, Some("{}"), Some(r#"{"dependencies": {"a": "1"}}"#));
    let bump = "version = \"0.1.0\"\n";
    let workspace: &[(&str, &str)] = &[("package.json", r#"{"workspaces": ["web/*"]}"#)];
    let nested: &[(&str, &str)] =
        &[("package.json", r#"{"workspaces": ["web/*"]}"#), ("web/a/package-lock.json", "{}")];
    let own_crate = change("Cargo.lock", Some(crates), Some(&format!("{crates}\n")));
    let cases: Vec<(Files<'_>, Vec<FileChange>, bool)> = vec![
        (&[], vec![lock("package-lock.json")], false),
        (&[], vec![lock("package-lock.json"), manifest()], true),
        // What says nothing of dependencies.
        (&[], vec![lock("package-lock.json"), executable], false),
        (&[], vec![lock("package-lock.json"), link], false),
        (
            &[],
            vec![lock("package-lock.json"), npm("{\"name\": \"a\", \"version\": \"1.0.0\", \"x\": 1}")],
            false,
        ),
        (&[], vec![lock("package-lock.json"), npm("{ \"name\" : \"a\", \"version\": \"1.0.0\" }")], false),
        (&[], vec![lock("package-lock.json"), npm("{\"dependencies\": {\"a\": \"1\"}")], false),
        (&[], vec![lock("Cargo.lock"), toml("[package]\n", "[package]\n# a\nedition = \"2024\"\n")], false),
        (&[], vec![lock("Cargo.lock"), toml("[dependencies]\n", "[dependencies]\na = \"1\"\n")], true),
        (&[], vec![lock("go.sum"), change("go.mod", Some("module a\n"), Some("module a // b\n\n"))], false),
        (
            &[],
            vec![lock("go.sum"), change("go.mod", Some("module a\n"), Some("module a\nrequire b v1\n"))],
            true,
        ),
        // The version of the package itself, which its lock file repeats.
        (
            &[],
            vec![
                change("Cargo.lock", Some(bump), Some("version = \"0.2.0\"\n")),
                toml("[package]\nversion = \"0.1.0\"\n", "[package]\nversion = \"0.2.0\"\n"),
            ],
            true,
        ),
        (
            &[],
            vec![
                change("Cargo.lock", Some(bump), Some("version = \"0.2.0\"\nchecksum = \"0\"\n")),
                toml("[package]\nversion = \"0.1.0\"\n", "[package]\nversion = \"0.2.0\"\n"),
            ],
            false,
        ),
        // Other places.
        (&[], vec![lock("package-lock.json"), web("fixtures/package.json")], false),
        (&[], vec![lock("web/package-lock.json"), manifest()], false),
        (&[], vec![lock("package-lock.json"), web("web/a/package.json")], false),
        (workspace, vec![lock("package-lock.json"), web("web/a/package.json")], true),
        (workspace, vec![lock("package-lock.json"), web("fixtures/package.json")], false),
        (nested, vec![lock("package-lock.json"), web("web/a/package.json")], false),
        (
            &[],
            vec![named("package-lock.json", r#"{"packages": {"web/a": {}}}"#), web("web/a/package.json")],
            true,
        ),
        (
            &[],
            vec![
                named("package-lock.json", r#"{"packages": {"node_modules/web/a": {}}}"#),
                web("web/a/package.json"),
            ],
            false,
        ),
        (&[], vec![own_crate.clone(), member("own")], true),
        // A new folder that is called like a package, or like what is of the workspace.
        (&[], vec![own_crate.clone(), new_member("own")], false),
        (
            &[],
            vec![
                named("package-lock.json", r#"{"packages": {"": {"dependencies": {"debug": "1"}}}}"#),
                web("debug/package.json"),
            ],
            false,
        ),
        (&[], vec![own_crate, member("other")], false),
        (&[], vec![lock("Directory.lock")], false),
        (
            &[],
            vec![
                lock("src/a/packages.lock.json"),
                change("Directory.Packages.props", Some("<a/>"), Some("<PackageVersion Include=\"a\"/>")),
            ],
            true,
        ),
        (
            &[],
            vec![
                change("gradle/verification-metadata.xml", Some("<a/>"), Some("<a />")),
                change("app/build.gradle.kts", Some("a"), Some("dependencies { b }")),
            ],
            true,
        ),
        (&[], vec![lock("some-lock.json"), manifest()], false),
        // A list of requirements is one of checksums where it has some.
        (&[], vec![change("requirements.txt", Some("a==1\n"), Some("a==2\n"))], true),
        (
            &[],
            vec![change("requirements.txt", Some("a==1 --hash=sha256:0\n"), Some("a==1 --hash=sha256:1\n"))],
            false,
        ),
        (
            &[],
            vec![
                change("requirements.txt", Some("a==1 --hash=sha256:0\n"), Some("a==2 --hash=sha256:1\n")),
                change("requirements.in", Some("a==1\n"), Some("a==2\n")),
            ],
            true,
        ),
    ];
    for (base, changes, is_allowed) in cases {
        let told = judged_with(base, "", changes.clone(), LockFiles::WithManifest);
        assert_eq!(told.is_empty(), is_allowed, "{told}: {changes:?}");
        let told = judged_with(base, "", changes.clone(), LockFiles::Allow);
        assert!(told.is_empty() || told.contains("would become a link"), "{told}: {changes:?}");
    }
    for (path, rule, expected) in [
        ("Cargo.lock", LockFiles::Refuse, "`apply.lock_files: refuse` forbids"),
        ("conda-lock.yml", LockFiles::Refuse, "forbids"),
        ("bun.lockb", LockFiles::Allow, ""),
        ("bun.lockb", LockFiles::WithManifest, "is not text"),
    ] {
        let text = if path == "bun.lockb" { "a\0b" } else { "b" };
        let changes = vec![change(path, Some("a"), Some(text)), manifest()];
        assert_told(&judged_with(&[], "", changes, rule), expected, path);
    }
    let mut link = change("Cargo.lock", Some("a"), Some("b"));
    link.after.as_mut().expect("a state").mode = Mode::Link;
    assert!(judged(vec![link]).contains("would become a link"));
}

#[test]
fn pipenv_packages_name_an_index_of_the_pipfile() {
    let pipfile = |more: &str| {
        format!("[[source]]\nname = \"pypi\"\nurl = \"https://pypi.org/simple\"\n{more}\n[packages]\n")
    };
    let test = "[[source]]\nname = \"test\"\nurl = \"https://test.pypi.org/simple\"\n";
    let lock = |index: &str| {
        let source =
            |name: &str, host: &str| format!(r#"{{"name": "{name}", "url": "https://{host}/simple"}}"#);
        let sources = [source("pypi", "pypi.org"), source("test", "test.pypi.org")].join(", ");
        let package = r#""a": {"version": "==1", "index": "pypi"}"#;
        let more = if index.is_empty() { String::new() } else { format!(r#", "b": {{"index": "{index}"}}"#) };
        format!(r#"{{"_meta": {{"sources": [{sources}]}}, "default": {{{package}{more}}}, "develop": {{}}}}"#)
    };
    let (plain, both) = (pipfile(""), pipfile(test));
    for (base, planned, index, expected) in [
        (Some(&plain), None, "pypi", ""),
        (Some(&plain), None, "test", "no index that the Pipfile names"),
        (Some(&both), None, "test", ""),
        (Some(&both), Some(&plain), "test", "no index that the Pipfile names"),
        (Some(&plain), Some(&both), "test", "Pipfile would fetch packages from test.pypi.org"),
        (None, None, "other", "no index that the Pipfile names"),
    ] {
        let files: Vec<(&str, &str)> = base.iter().map(|text| ("web/Pipfile", text.as_str())).collect();
        let mut changes = vec![change("Pipfile.lock", Some(&lock("")), Some(&lock(index)))];
        changes.extend(planned.map(|text| change("Pipfile", base.map(String::as_str), Some(text))));
        let found = judged_with(&files, "web/", changes, LockFiles::Allow);
        assert_told(&found, expected, &format!("{base:?} {planned:?} {index}"));
    }
}

#[test]
fn deep_nesting_is_not_parsed() {
    for text in ["[".repeat(100_000), "- ".repeat(100_000), format!("a: {}", "[".repeat(100_000))] {
        for path in ["pnpm-lock.yaml", "package-lock.json", "uv.lock"] {
            let found = judged_with(&[], "", vec![change(path, None, Some(&text))], LockFiles::Allow);
            assert!(found.contains("programs could read differently"), "{path}: {found}");
        }
    }
}
