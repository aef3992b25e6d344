//! Archives of a release: made the same twice, and used only if their hash is right.

use std::path::Path;
use std::process::Command;

use super::{action, root, script};
use crate::support::Sandbox;
use sha2::{Digest, Sha256};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers};

#[tokio::test(flavor = "multi_thread")]
async fn release_download_requires_matching_hash() {
    let server = MockServer::start().await;
    let release = tempfile::tempdir().unwrap();
    std::fs::write(release.path().join("architect-ci"), "#!/bin/sh\necho the release\n").unwrap();
    let made = Command::new("sh")
        .args(["-c", "chmod +x architect-ci && tar -czf archive.tar.gz architect-ci"])
        .current_dir(release.path())
        .status();
    assert!(made.is_ok_and(|status| status.success()));
    let archive = std::fs::read(release.path().join("archive.tar.gz")).unwrap();
    let hash: String = Sha256::digest(&archive).iter().map(|byte| format!("{byte:02x}")).collect();
    let name = "architect-ci-x86_64-unknown-linux-musl.tar.gz";
    let serve = async |version: &str, sums: String| {
        for (file, body) in [(name, archive.clone()), ("SHA256SUMS", sums.into_bytes())] {
            let path = format!("/{version}/{file}");
            Mock::given(matchers::path(path))
                .respond_with(ResponseTemplate::new(200).set_body_bytes(body))
                .mount(&server)
                .await;
        }
    };
    serve("v0.1.0", format!("{hash}  {name}\n{}  other.tar.gz\n", "0".repeat(64))).await;
    serve("v0.1.1", format!("{}  {name}\n", "0".repeat(64))).await;
    serve("v0.1.2", format!("{hash}  other.tar.gz\n")).await;
    let url = server.uri();
    tokio::task::spawn_blocking(move || {
        let sandbox = Sandbox::new(&[]);
        let steps = action()["runs"]["steps"].clone();
        let get = |version: &str, os: &str| {
            let variables = [
                ("VERSION", version),
                ("RELEASES_URL", url.as_str()),
                ("RUNNER_OS", os),
                ("RUNNER_ARCH", "X64"),
            ];
            script(&sandbox, steps[0]["run"].as_str().unwrap(), &variables)
        };
        let (ran, output) = get("v0.1.0", "Linux");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let binary = output.trim().strip_prefix("binary=").expect("the output");
        assert_eq!(Command::new(binary).output().expect("it runs").stdout, b"the release\n");
        for (version, os, says) in [
            ("v0.1.1", "Linux", "is not the one in SHA256SUMS; nothing was run"),
            ("v0.1.2", "Linux", "is not the one in SHA256SUMS; nothing was run"),
            ("v9.9.9", "Linux", "could not download architect-ci-x86_64-unknown-linux-musl.tar.gz"),
            ("../../x", "Linux", "invalid value for `version`; use a release such as v0.1.0"),
            ("v0.1.0", "Plan9", "there is no release for this runner (Plan9 X64)"),
        ] {
            let (ran, output) = get(version, os);
            let stderr = String::from_utf8_lossy(&ran.stderr);
            assert_eq!(ran.status.code(), Some(3), "{version} {os}: {stderr}");
            assert!(
                stderr.contains("::error title=architect-ci::") && stderr.contains(says),
                "{version} {os}: {stderr}"
            );
            assert_eq!(output, "", "{version} {os}");
        }
        let (ran, _) =
            script(&sandbox, steps[0]["run"].as_str().unwrap(), &[("BINARY_PATH", "/no/such/program")]);
        assert_eq!(ran.status.code(), Some(3));
    })
    .await
    .expect("no panic");
}

/// Archives of a program, as a release has them.
fn release(dir: &Path, says: &str) -> std::path::PathBuf {
    let programs = dir.join("programs");
    for (target, name) in
        [("x86_64-unknown-linux-musl", "architect-ci"), ("x86_64-pc-windows-msvc", "architect-ci.exe")]
    {
        std::fs::create_dir_all(programs.join(target)).unwrap();
        std::fs::write(programs.join(target).join(name), format!("#!/bin/sh\necho {says}\n")).unwrap();
    }
    let out = dir.join("dist");
    let packed = Command::new("bash")
        .arg(root().join(".github/scripts/package.sh"))
        .args([&programs, &out])
        .output()
        .expect("bash runs");
    assert!(packed.status.success(), "{}", String::from_utf8_lossy(&packed.stderr));
    out
}

#[test]
fn release_archives_are_reproducible() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [one, two] = dirs
        .each_ref()
        .map(|dir| std::fs::read_to_string(release(dir.path(), "x").join("SHA256SUMS")).unwrap());
    assert_eq!(one, two);
    assert_eq!(one.lines().count(), 2);
    assert!(one.contains("  architect-ci-x86_64-unknown-linux-musl.tar.gz\n"), "{one}");
    let listed = Command::new("tar")
        .arg("-tzf")
        .arg(dirs[0].path().join("dist/architect-ci-x86_64-pc-windows-msvc.tar.gz"))
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert_eq!(listed, "./\n./CHANGELOG.md\n./LICENSE\n./README.md\n./architect-ci.exe\n");
    let empty = tempfile::tempdir().unwrap();
    let failed = Command::new("bash")
        .arg(root().join(".github/scripts/package.sh"))
        .args([empty.path(), &empty.path().join("out")])
        .output()
        .unwrap();
    assert!(!failed.status.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn tool_cache_keeps_only_verified_downloads() {
    let server = MockServer::start().await;
    let dir = tempfile::tempdir().unwrap();
    let dist = release(dir.path(), "packed");
    let name = "architect-ci-x86_64-unknown-linux-musl.tar.gz";
    let archive = std::fs::read(dist.join(name)).unwrap();
    let sums = std::fs::read(dist.join("SHA256SUMS")).unwrap();
    let serve = async |path: String, body: Vec<u8>| {
        let answer = ResponseTemplate::new(200).set_body_bytes(body);
        Mock::given(matchers::path(path)).respond_with(answer).mount(&server).await;
    };
    serve(format!("/v1.0.0/{name}"), archive.clone()).await;
    serve("/v1.0.0/SHA256SUMS".to_owned(), sums.clone()).await;
    // Without checksums; and with an archive that is not what they say.
    serve(format!("/v1.0.1/{name}"), archive.clone()).await;
    serve(format!("/v1.0.2/{name}"), [&archive[..], b"x"].concat()).await;
    serve("/v1.0.2/SHA256SUMS".to_owned(), sums).await;
    let url = server.uri();
    let before = tokio::task::spawn_blocking(move || {
        let sandbox = Sandbox::new(&[]);
        let cache = sandbox.path().join("tools");
        let steps = action()["runs"]["steps"].clone();
        let get = |version: &str, url: &str| {
            let variables = [
                ("VERSION", version),
                ("RELEASES_URL", url),
                ("RUNNER_OS", "Linux"),
                ("RUNNER_ARCH", "X64"),
                ("RUNNER_TOOL_CACHE", cache.to_str().unwrap()),
            ];
            script(&sandbox, steps[0]["run"].as_str().unwrap(), &variables)
        };
        for (version, says) in [
            ("v1.0.1", "could not download SHA256SUMS"),
            ("v1.0.2", "is not the one in SHA256SUMS; nothing was run"),
        ] {
            let (ran, output) = get(version, &url);
            let stderr = String::from_utf8_lossy(&ran.stderr).into_owned();
            assert!(
                ran.status.code() == Some(3) && stderr.contains(says) && output.is_empty(),
                "{version}: {stderr}"
            );
            assert!(!cache.join("architect-ci").join(&version[1..]).exists());
        }
        let (ran, first) = get("v1.0.0", &url);
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let binary = first.trim().strip_prefix("binary=").expect("the output").to_owned();
        assert!(binary.starts_with(cache.to_str().unwrap()), "{binary}");
        assert_eq!(Command::new(&binary).output().expect("it runs").stdout, b"packed\n");
        // Once more, with nobody to download from.
        let (ran, second) = get("v1.0.0", "http://127.0.0.1:1");
        assert!(ran.status.success() && second == first, "{}", String::from_utf8_lossy(&ran.stderr));
        // One that was cut off while it was put there is not taken.
        std::fs::remove_file(cache.join("architect-ci/1.0.0/x86_64-unknown-linux-musl.complete")).unwrap();
        std::fs::write(&binary, "").unwrap();
        let (ran, _) = get("v1.0.0", &url);
        assert!(ran.status.success());
        assert_eq!(Command::new(&binary).output().expect("it runs").stdout, b"packed\n");
        let (ran, _) = get("v1.0.0", "file:///etc");
        assert_eq!(ran.status.code(), Some(3));
        // What is in the temporary folder is gone.
        let left = std::fs::read_dir(sandbox.path()).unwrap().flatten();
        left.filter(|entry| entry.file_name().to_string_lossy().starts_with("architect-ci-")).count()
    })
    .await
    .expect("no panic");
    assert_eq!(before, 0);
}
