//! What plans may make of lock files, manifests, and the settings of package managers.

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
fn hosts_are_known_by_any_spelling() {
    for (resolved, expected) in [
        ("https://registry.npmjs.org/b.tgz", ""),
        ("https://REGISTRY.npmjs.org./b.tgz", ""),
        ("https://registry.npmjs.org:443/b.tgz", ""),
        ("https:\\/\\/registry.npmjs.org\\/b.tgz", ""),
        ("https://evil.example/a", "from evil.example,"),
        // Names before `@`, by whatever letters.
        ("https://registry.npmjs.org@evil.example/a", "registry.npmjs.org@evil.example"),
        ("https://registry.npmjs.org$@evil.example/a", "@evil.example"),
        ("https://registry.npmjs.org!@evil.example/a", "@evil.example"),
        ("https://registry.npmjs.org~@evil.example/a", "@evil.example"),
        ("https://registry.npmjs.org\\u0024@evil.example/a", "@evil.example"),
        ("https://registry.npmjs.org\\u0040evil.example/a", "@evil.example"),
        ("https://registry.npmjs.org\\t@evil.example/a", "@evil.example"),
        ("https://registry.npmjs.org\\n@evil.example/a", "@evil.example"),
        ("https://registry.npmjs.org @evil.example/a", "@evil.example"),
        ("https://registry.npmjs.org;,()&=+*'@evil.example/a", "@evil.example"),
        ("https://registry.npmjs.org<@evil.example/a", "@evil.example"),
        ("https://registry.npmjs.org:443@evil.example/a", "@evil.example"),
        ("https://user:word@registry.npmjs.org/a", "user:word@registry.npmjs.org"),
        // Slashes of all kinds, and none.
        ("https:\\\\\\\\evil.example\\\\a", "from evil.example,"),
        ("https:/evil.example/a", "from evil.example,"),
        ("https:evil.example/a", "from evil.example,"),
        ("https:\\u002f\\u002fevil.example/a", "from evil.example,"),
        ("https://registry.npmjs.org\\\\@evil.example/a", "@evil.example"),
        ("ht\\ttps://evil.example/a", "from evil.example,"),
        // Other hosts that look alike, and the same by number.
        ("https://registry.npmjs.org.evil.example/a", "from registry.npmjs.org.evil.example,"),
        ("https://registry\u{3002}npmjs.org/a", ""),
        ("https://registry\u{2024}npmjs.org/a", "from registry"),
        ("https://r\u{435}gistry.npmjs.org/a", "from xn--"),
        ("https://xn--rgistry-2of.npmjs.org/a", "from xn--"),
        ("https://%65vil.example/a", "from evil.example,"),
        ("https://2130706433/a", "from 127.0.0.1,"),
        ("https://0x7f.1/a", "from 127.0.0.1,"),
        ("https://[::1]/a", "from [::1],"),
        ("https://[::ffff:7f00:1]:8080/a", "from [::ffff:7f00:1]:8080,"),
        ("https://registry.npmjs.org:8443/a", "from registry.npmjs.org:8443,"),
        // A way that others can read along.
        ("http://registry.npmjs.org/a", "from http://registry.npmjs.org,"),
        ("ftp://registry.npmjs.org/a", "from ftp://registry.npmjs.org,"),
        ("git://registry.npmjs.org/a", "from git://registry.npmjs.org,"),
        // Code hosts, where everybody has a place.
        ("github:evil/a", "from github.com/evil,"),
        ("git+ssh:git@evil.example:a", "from evil.example,"),
        ("git+ssh://git@github.com/evil/a.git", "from github.com/evil,"),
        ("git@github.com:evil/a.git", "from github.com/evil,"),
        ("deploy@evil.example:a.git", "from ssh://deploy@evil.example,"),
        ("https://codeload.github.com/evil/a/tar.gz/1", "from github.com/evil,"),
        ("https://github.com/good/../evil/a", "from github.com/evil,"),
        ("https://github.com/good/b", ""),
        ("git+ssh://git@github.com/GOOD/b.git", ""),
        ("s3://evil-bucket/a", "from s3://evil-bucket,"),
        ("file:../b", ""),
        ("file:///tmp/b", "(a path of the machine)"),
        ("file://evil.example/share", "evil.example"),
    ] {
        let before =
            npm_lock(NPM).replace("}}}", "}, \"node_modules/g\": {\"resolved\": \"github:good/a\"}}}");
        let after = npm_lock(resolved);
        let found = judged(vec![manifest(), change("package-lock.json", Some(&before), Some(&after))]);
        assert_told(&found, expected, resolved);
        // Whatever cannot be parsed is read as it is written.
        let broken = format!("{{{after}");
        let found = judged(vec![manifest(), change("package-lock.json", Some(&before), Some(&broken))]);
        assert_told(&found, expected, &format!("broken: {resolved}"));
    }
}

#[test]
fn hosts_are_known_in_any_format() {
    let cargo =
        "[[package]]\nname = \"a\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
    let toml = change("Cargo.toml", Some(""), Some("[dependencies]\na = \"1\"\n"));
    let git = "[[package]]\nname = \"b\"\nsource = \"git+https://github.com/evil/b#1\"\n";
    let escaped = "[[package]]\nname = \"b\"\nsource = \"git+https\\u003a//evil.example/b\"\n";
    let yarn = "a@^1:\n  version \"1\"\n  resolved \"https://registry.yarnpkg.com/a#1\"\n";
    let yarn_evil = "b@^1:\n  resolved \"https://registry.yarnpkg.com\\u0040evil.example/a\"\n";
    let pnpm = "packages:\n  a@1:\n    resolution: {tarball: https://registry.npmjs.org/a.tgz}\n";
    let folded = "  b@1:\n    resolution:\n      tarball: >-\n        https://registry.npmjs.org\n        @evil.example/b\n";
    let advice = "  b@1:\n    deprecated: See https://advice.example/b\n    resolution: {integrity: x}\n";
    let funding = npm_lock(NPM)
        .replace("\"resolved\"", "\"funding\": {\"url\": \"https://money.example\"}, \"resolved\"");
    let nested = r#"{"packages": {"a": {"b": {"funding": "https://evil.example/a"}}}}"#;
    let twice = r#"{"packages": {"a": {"resolved": "https://evil.example/a", "resolved": "x"}}}"#;
    let flake = |owner: &str| {
        format!(
            r#"{{"nodes": {{"a": {{"locked": {{"type": "github", "owner": "{owner}", "repo": "a"}}}}}}}}"#
        )
    };
    let terraform = |host: &str| format!("provider \"{host}/a/b\" {{\n  version = \"1\"\n}}\n");
    for (other, path, before, after, expected) in [
        (toml.clone(), "Cargo.lock", cargo.into(), format!("{cargo}{git}"), "from github.com/evil,"),
        (toml.clone(), "Cargo.lock", cargo.into(), format!("{cargo}{escaped}"), "from evil.example,"),
        (toml, "Cargo.lock", cargo.into(), format!("{cargo}{cargo}"), ""),
        (manifest(), "yarn.lock", yarn.into(), format!("{yarn}{yarn_evil}"), "@evil.example"),
        (manifest(), "pnpm-lock.yaml", pnpm.into(), format!("{pnpm}{folded}"), "evil.example"),
        (manifest(), "pnpm-lock.yaml", pnpm.into(), format!("{pnpm}{advice}"), ""),
        (manifest(), "package-lock.json", npm_lock(NPM), funding, ""),
        (manifest(), "package-lock.json", npm_lock(NPM), nested.into(), "from evil.example,"),
        (manifest(), "package-lock.json", npm_lock(NPM), twice.into(), "from evil.example,"),
        (
            change("flake.nix", None, Some("x")),
            "flake.lock",
            flake("nixos"),
            flake("evil"),
            "from github.com/evil,",
        ),
        (
            change("main.tf", None, Some("x")),
            ".terraform.lock.hcl",
            terraform("registry.terraform.io"),
            terraform("evil.example"),
            "from evil.example,",
        ),
    ] {
        let found = judged(vec![other, change(path, Some(&before), Some(&after))]);
        assert_told(&found, expected, &format!("{path} {after}"));
    }
}

#[test]
fn new_lock_files_name_what_the_base_names() {
    let evil = npm_lock("https://evil.example/a");
    let corp = npm_lock("https://npm.corp.example/a");
    let known = npm_lock(NPM);
    let corp_settings = (".npmrc", "registry=https://npm.corp.example/\n");
    let lock = |path: &str, text: &str| vec![change(path, None, Some(text)), manifest()];
    let cases: [(Files<'_>, Vec<FileChange>, &str); 12] = [
        (
            &[],
            lock("npm-shrinkwrap.json", &evil),
            "npm-shrinkwrap.json would fetch packages from evil.example",
        ),
        (&[], lock("package-lock.json", &known), ""),
        (&[], lock("yarn.lock", "a@1:\n  resolved \"https://registry.yarnpkg.com/a\"\n"), ""),
        (&[("package-lock.json", &corp)], lock("npm-shrinkwrap.json", &corp), ""),
        // Who has a registry does not want what is called the same at the public one.
        (&[("package-lock.json", &corp)], lock("yarn.lock", &known), "from registry.npmjs.org"),
        (&[corp_settings], lock("package-lock.json", &corp), ""),
        (&[corp_settings], lock("package-lock.json", &known), "from registry.npmjs.org"),
        (&[corp_settings], lock("package-lock.json", &evil), "from evil.example"),
        // One that moves takes what it named along.
        (
            &[],
            vec![
                change("package-lock.json", Some(&corp), None),
                change("npm-shrinkwrap.json", None, Some(&corp)),
                manifest(),
            ],
            "",
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
    for (path, text) in [
        ("pip.conf", "[global]\nindex-url = https://evil.example/simple\n"),
        (".yarnrc.yml", "npmRegistryServer: \"https://evil.example\"\n"),
        (".cargo/config.toml", "[registries.a]\nindex = \"sparse+https://evil.example/\"\n"),
        ("settings.gradle.kts", "maven { url = uri(\"https://evil.example\") }\n"),
        ("gradle/wrapper/gradle-wrapper.properties", "distributionUrl=https\\://evil.example/g.zip\n"),
        ("NuGet.Config", "<add key=\"a\" value=\"https&#58;//evil.example/v3\" />\n"),
        ("requirements.txt", "--index-url https://evil.example/simple\na==1\n"),
        ("requirements/dev.txt", "a @ https://evil.example/a.whl\n"),
        (".gitmodules", "[submodule \"a\"]\n\tpath = a\n\turl = git@evil.example:a.git\n"),
    ] {
        for rule in [LockFiles::WithManifest, LockFiles::Allow, LockFiles::Refuse] {
            let found = judged_with(&[], "", vec![change(path, None, Some(text))], rule);
            assert_told(&found, "evil.example", path);
        }
    }
}

#[test]
fn lock_files_change_together_with_dependencies() {
    let npm =
        |text: &str| change("package.json", Some("{\"name\": \"a\", \"version\": \"1.0.0\"}"), Some(text));
    let lock = |path: &str| change(path, Some("{}\n"), Some("{ }\n"));
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
        (&[], vec![own_crate, member("other")], false),
        (&[], vec![lock("Directory.lock")], false),
        (
            &[],
            vec![lock("src/a/packages.lock.json"), change("Directory.Packages.props", Some("a"), Some("b"))],
            true,
        ),
        (
            &[],
            vec![
                lock("gradle/verification-metadata.xml"),
                change("app/build.gradle.kts", Some("a"), Some("b")),
            ],
            true,
        ),
        (&[], vec![lock("some-lock.json"), manifest()], false),
        // A list of requirements is one of checksums where it has some.
        (&[], vec![change("requirements.txt", Some("a==1\n"), Some("a==2\n"))], true),
        (&[], vec![change("requirements.txt", Some("a==1 --hash=sha256:0\n"), Some("a==1\n"))], false),
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
        assert_eq!(judged_with(base, "", changes.clone(), LockFiles::Allow), "", "{changes:?}");
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
fn deep_nesting_is_not_parsed() {
    for text in ["[".repeat(100_000), "- ".repeat(100_000), format!("a: {}", "[".repeat(100_000))] {
        for path in ["pnpm-lock.yaml", "package-lock.json", "uv.lock"] {
            let text = format!("{text}\n\"https://evil.example/a\"\n");
            let found = judged_with(&[], "", vec![change(path, None, Some(&text))], LockFiles::Allow);
            assert!(found.contains("evil.example"), "{path}: {found}");
        }
    }
}
