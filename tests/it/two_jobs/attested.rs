//! Plans that the run which made them has to have signed.

use std::fs;

use super::{Second, WORKFLOW, artifact, planned, write};
use crate::support::github::attestations::{Authority, Signer};
use crate::support::scene::scene;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const FILES: &[(&str, &str)] = &[(
    ".github/architect.yml",
    "apply: { requires: [attested], trusted_root: .github/trusted-root.jsonl }\n",
)];

#[tokio::test(flavor = "multi_thread")]
async fn plan_that_its_run_has_not_signed_is_refused() {
    scene(FILES, |mut scene| {
        let (authority, retired, future) = (Authority::new(), Authority::new(), Authority::new());
        let root = [
            authority.trusted_root(),
            retired
                .trusted_root_for(&json!({"start": "2020-01-01T00:00:00Z", "end": "2025-12-31T00:00:00Z"})),
            future.trusted_root_for(&json!({"start": "2026-06-01T00:00:00Z"})),
        ];
        scene.sandbox.git(&["checkout", "--quiet", "main"]);
        scene.sandbox.write(".github/trusted-root.jsonl", root.concat());
        scene.base = scene.sandbox.commit("the trusted root");
        let server = scene.github.world().repository.as_ref().unwrap().path();
        scene.sandbox.git(&["push", "--quiet", server.to_str().unwrap(), "main"]);
        let model = scene.edit("one", "uno");
        planned(&scene, "schedule", &model).expect_code(0);
        let (plan, digest) = artifact(&scene);
        let again = |digest: &str| {
            scene.sandbox.git(&["checkout", "--quiet", "--force", "main"]);
            let variables = [("GITHUB_SERVER_URL", "https://github.com")];
            write(
                &scene,
                &plan,
                &Second { event: "schedule", digest, deliver: "pull-request", variables: &variables },
            )
        };
        let refused = |told: &str| {
            let run = again(&digest).expect_code(6);
            assert!(run.stdout.contains(told), "{told}: {}", run.stdout);
            assert!(scene.github.requests().iter().all(|request| request.starts_with("GET ")));
        };
        let store = |digest: &str, bundles: &[Value]| {
            let subject = format!("sha256:{digest}");
            scene.github.world().attestations =
                bundles.iter().map(|bundle| (subject.clone(), bundle.clone())).collect();
        };
        refused("GitHub has no attestation of the plan");
        let signer = Signer {
            issuer: "https://token.actions.githubusercontent.com".into(),
            repository: "https://github.com/octo/demo".into(),
            workflow: format!("https://github.com/{WORKFLOW}"),
            run: "https://github.com/octo/demo/actions/runs/4711/attempts/2".into(),
        };
        let genuine = authority.attest(&digest, &signer);
        // What is none, what nobody known has issued, what was changed or is about another plan, and other runs.
        store(&digest, &[json!({"mediaType": "x"})]);
        refused("it is not a signed statement");
        store(&digest, &[Authority::new().attest(&digest, &signer)]);
        refused("was not issued by an authority of the trusted root");
        // One that was not trusted yet, or no longer, when it issued the certificate.
        for other in [&retired, &future] {
            store(&digest, &[other.attest(&digest, &signer)]);
            refused("was not issued by an authority of the trusted root");
        }
        store(&digest, &[authority.attest_as("https://example.com/Statement", &digest, &signer)]);
        refused("it is about something else");
        let mut changed = genuine.clone();
        let payload = STANDARD.decode(changed["dsseEnvelope"]["payload"].as_str().unwrap()).unwrap();
        let payload = String::from_utf8(payload).unwrap().replace("\"plan\"", "\"plam\"");
        changed["dsseEnvelope"]["payload"] = json!(STANDARD.encode(payload));
        store(&digest, &[changed]);
        refused("its signature is wrong");
        store(&digest, &[authority.attest(&"0".repeat(64), &signer)]);
        refused("it is about something else");
        for (other, told) in [
            (Signer { run: signer.run.replace("4711", "4712"), ..signer.clone() }, "for the run https://"),
            (
                Signer { workflow: "https://github.com/octo/demo/x.yml".into(), ..signer.clone() },
                "for the workflow https://",
            ),
            (
                Signer { repository: "https://github.com/octo/else".into(), ..signer.clone() },
                "for the repository https://",
            ),
            (
                Signer { issuer: "https://accounts.example".into(), ..signer.clone() },
                "for the issuer https://",
            ),
        ] {
            store(&digest, &[authority.attest(&digest, &other)]);
            refused(told);
        }
        // A plan that somebody has changed since, with a digest that fits, has no attestation.
        let original = fs::read_to_string(&plan).unwrap();
        store(&digest, std::slice::from_ref(&genuine));
        let mut forged: architect_ci::plan::Plan = serde_json::from_str(&original).unwrap();
        forged.task = "another".into();
        forged.digest = forged.computed_digest();
        fs::write(&plan, serde_json::to_string(&forged).unwrap()).unwrap();
        let run = again(&forged.digest).expect_code(6);
        assert!(run.stdout.contains("GitHub has no attestation of the plan"), "{}", run.stdout);
        fs::write(&plan, &original).unwrap();
        // One that counts among others that do not.
        store(&digest, &[json!({}), genuine]);
        again(&digest).expect_code(0);
        assert!(scene.github.world().pulls.contains_key(&102));
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attestations_need_a_root_that_can_be_read() {
    const CONFIGS: [(&str, &str); 3] = [
        ("apply: { requires: [attested] }\n", "needs `apply.trusted_root`"),
        ("apply: { requires: [attested], trusted_root: nowhere.jsonl }\n", "it is not in the base commit"),
        ("apply: { requires: [attested], trusted_root: a.txt }\n", "cannot be used: expected value"),
    ];
    for (config, told) in CONFIGS {
        let files: &[(&str, &str)] = vec![(".github/architect.yml", config)].leak();
        scene(files, move |scene| {
            let scene = scene.on_main();
            planned(&scene, "schedule", &scene.edit("one", "uno")).expect_code(0);
            let (plan, digest) = artifact(&scene);
            let second =
                Second { event: "schedule", digest: &digest, deliver: "pull-request", variables: &[] };
            let run = write(&scene, &plan, &second).expect_code(6);
            assert!(run.stdout.contains(told), "{told}: {}", run.stdout);
        })
        .await;
    }
}
