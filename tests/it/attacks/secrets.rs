//! The secrets of a scene, and how they are found again in whatever spelling.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Stands in every secret of every scene and in no other text.
const CORE: &str = "zq7Kd93mXwP4";

/// Returns the secret that is kept at `place`.
pub fn secret(place: &str) -> String {
    format!("{CORE}{place}")
}

/// Variables of the job that hold a secret.
pub const VARIABLES: [&str; 22] = [
    "GITHUB_TOKEN",
    "OPENAI_API_KEY",
    "INPUT_API-KEY",
    "DATABASE_URL",
    "SENTRY_DSN",
    "SLACK_WEBHOOK_URL",
    "AZURE_STORAGE_CONNECTION_STRING",
    "DOCKER_AUTH_CONFIG",
    "CI_JOB_JWT",
    "DEPLOY_KEY1",
    "SSHKEY",
    "SIGNING_KEY_BASE64",
    "KUBE_CONFIG_DATA",
    "GPG_PASSPHRASE",
    "MYSQL_PWD",
    "PASS",
    "KEY",
    "AUTH",
    "BEARER",
    "COOKIE",
    "ACTIONS_RUNTIME_TOKEN",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
];

/// Returns the value of a secret variable, in the form that such variables have.
pub fn value(variable: &str) -> String {
    let secret = secret(&variable.replace('-', "_"));
    match variable {
        "DATABASE_URL" => format!("postgres://app:{secret}@db.internal/app"),
        "SENTRY_DSN" => format!("https://{secret}@o1.ingest.sentry.io/2"),
        "SLACK_WEBHOOK_URL" => format!("https://hooks.slack.com/services/T0/B0/{secret}"),
        _ => secret,
    }
}

/// Returns the secrets that `text` holds in one spelling or another, as far as they can be read there.
pub fn find(text: &str) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = name_ends(text, CORE, 24).collect();
    let turned: String = CORE.chars().rev().collect();
    if text.contains(&turned) {
        let backwards: String = text.chars().rev().collect();
        found.extend(name_ends(&backwards, CORE, 24));
    }
    let hex: String = CORE.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut needles = vec![hex, CORE.to_lowercase(), CORE.to_uppercase()];
    // The middle of the text in base64, however it falls on the groups of three.
    for lead in ["", "x", "xx"] {
        needles.push(STANDARD.encode(format!("{lead}{CORE}"))[4..14].to_owned());
    }
    found.extend(needles.into_iter().filter(|needle| text.contains(needle.as_str())));
    found
}

/// Returns what follows each `core` in the text: the name of a secret's place, which is part of it.
fn name_ends<'a>(text: &'a str, core: &'a str, most: usize) -> impl Iterator<Item = String> + 'a {
    let is_name = |c: &char| c.is_ascii_alphanumeric() || "_/.-".contains(*c);
    text.split(core).skip(1).map(move |rest| rest.chars().take(most).take_while(is_name).collect())
}
