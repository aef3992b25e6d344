//! Files that list what checks leave out, by their names.

use super::{extension, file_name};

/// Words in the names of files that list what is left out.
const LEAVING_OUT: &[&str] =
    &["exclude", "exclusion", "suppress", "ignore", "baseline", "allowlist", "whitelist"];
/// Tools whose files of that kind say nothing about checks.
const OTHERS: &[&str] = &[
    "git",
    "docker",
    "npm",
    "prettier",
    "vscode",
    "helm",
    "gcloud",
    "vercel",
    "hg",
    "rg",
    "fd",
    "cf",
    "eb",
    "sl",
    "nowdeploy",
];

/// Returns whether a file lists what a check leaves out, by its name.
pub(crate) fn is_list(path: &str) -> bool {
    let name = file_name(path).to_ascii_lowercase();
    let is_data = matches!(
        extension(&name),
        "xml" | "yml" | "yaml" | "json" | "toml" | "txt" | "ini" | "conf" | "cfg" | ""
    ) || name.ends_with("ignore");
    let of_other = OTHERS.iter().any(|tool| name.trim_start_matches('.').starts_with(tool));
    let in_tests = path
        .split('/')
        .any(|folder| matches!(folder, "test" | "tests" | "testdata" | "fixtures" | "docs" | "src"));
    is_data && !of_other && !in_tests && LEAVING_OUT.iter().any(|word| name.contains(word))
        || name == "staticcheck.conf"
}
