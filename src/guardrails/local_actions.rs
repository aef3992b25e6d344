//! Local actions outside of `.github/actions`: folders that workflows, or other local actions, run by `uses: ./…`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use workspace::ProgramFiles;

use super::git_configured::add;
use crate::git::Repository;
use crate::trust::normalize;

/// Names of an action's description.
const DESCRIPTIONS: [&str; 2] = ["action.yml", "action.yaml"];

/// Longest workflow or description that is read, in bytes.
const MAX_BYTES: u64 = 1_000_000;

/// What workflows and actions name: folders of actions, and what an action runs.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a constant pattern, compiled in a test")]
    Regex::new(
        r#"\b(?<key>uses|main|pre|post|image|pre-entrypoint|entrypoint|post-entrypoint)["']?\s*:\s*(?:"(?<double>[^"\n]+)"|'(?<single>[^'\n]+)'|["']?(?<path>[^"'\s,}\#]+))"#,
    )
    .expect("a valid pattern")
});

/// Returns the paths of the workspace that are, or belong to, local actions of the repository's workflows, as they were when the
/// repository was found.
pub(crate) fn local_actions(repository: Option<&Repository>, workspace: &Path) -> ProgramFiles {
    let mut files = ProgramFiles::default();
    let Some(root) = repository.map(|repository| normalize(repository.root())) else { return files };
    let workflows = fs::read_dir(root.join(".github/workflows")).into_iter().flatten().flatten();
    let mut waiting: Vec<String> = workflows.flat_map(|entry| named(&entry.path(), &["uses"])).collect();
    let mut known = BTreeSet::new();
    while let Some(name) = waiting.pop() {
        // What is named so is taken from the checkout.
        let below = if name == "." { Some("") } else { name.strip_prefix("./") };
        let Some(below) = below else { continue };
        let folder = normalize(&root.join(below));
        if !folder.starts_with(&root) || !known.insert(folder.clone()) {
            continue;
        }
        if workspace.starts_with(&folder) {
            // To protect everything would leave nothing to work on.
            for description in DESCRIPTIONS.map(|name| folder.join(name)) {
                let runs = named(
                    &description,
                    &["main", "pre", "post", "image", "pre-entrypoint", "entrypoint", "post-entrypoint"],
                );
                for file in &runs {
                    add(&normalize(&folder.join(file)), workspace, &mut files);
                }
                add(&description, workspace, &mut files);
            }
        } else if !is_below_workflows(&folder, &root) {
            add(&folder, workspace, &mut files);
        }
        waiting.extend(DESCRIPTIONS.iter().flat_map(|name| named(&folder.join(name), &["uses"])));
    }
    files
}

/// Returns what a file names by some keys.
fn named(file: &Path, keys: &[&str]) -> Vec<String> {
    if fs::metadata(file).map_or(true, |found| !found.is_file() || found.len() > MAX_BYTES) {
        return Vec::new();
    }
    let text = fs::read_to_string(file).unwrap_or_default();
    let found = NAMED.captures_iter(&text).filter(|found| keys.contains(&&found["key"]));
    let path = |found: &Captures<'_>| {
        let part = ["double", "single", "path"].iter().find_map(|name| found.name(name))?;
        Some(part.as_str().trim_end_matches('/').to_owned())
    };
    found.filter_map(|found| path(&found)).collect()
}

/// Returns whether a path is a workflow, such as one that others call, or lies below them: `workspace.allow_workflow_edits` is about these.
fn is_below_workflows(path: &Path, root: &Path) -> bool {
    let below = path.strip_prefix(root).unwrap_or(path).to_string_lossy().to_lowercase();
    Path::new(&below).starts_with(".github/workflows")
}

#[cfg(test)]
mod tests {
    use workspace::WorkspacePath;

    use super::*;

    #[test]
    fn actions_of_workflows_are_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let write = |name: &str, text: &str| {
            let file = root.join(name);
            fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
            fs::write(file, text).expect("a file");
        };
        write(".git/HEAD", "ref: refs/heads/main\n");
        fs::create_dir_all(root.join(".git/objects")).expect("a folder");
        write(
            ".github/workflows/ci.yml",
            "jobs:\n  a:\n    steps:\n      - uses: ./tools/act\n      - uses: actions/checkout@v4\n      - {uses: \"./flow/\"}\n      - uses: ./\n      - uses: ./../out\n      - uses: \"./tools/my act\" # ./x\n  b:\n    uses: ./.github/workflows/reusable.yml\n",
        );
        write(
            "tools/act/action.yml",
            "runs:\n  using: composite\n  steps:\n    - uses: ./inner/deep\n    - uses: ./tools/act\n",
        );
        write("action.yml", "runs:\n  using: node20\n  main: dist/index.js\n  post: './dist/post.js'\n");
        let repository = Repository::find(&root, Some(&root)).expect("a usable repository");
        let inside = [
            "tools/act/action.yml",
            "tools/act/run.sh",
            "TOOLS/act/x",
            "flow/x",
            "tools/my act/x",
            "inner/deep/action.yaml",
            "action.yml",
            "action.yaml",
            "dist/index.js",
            "dist/post.js",
        ];
        let outside = [
            "tools/other.sh",
            "inner/x",
            "dist/other.js",
            "src/main.rs",
            "actions/checkout/x",
            "out/x",
            ".github/workflows/reusable.yml",
            "tools/my",
        ];
        let files = local_actions(repository.as_ref(), &root);
        for (paths, expected) in [(&inside[..], true), (&outside[..], false)] {
            for path in paths {
                let parsed = WorkspacePath::parse(path).expect("a path");
                assert_eq!(files.contains(&parsed), expected, "{path}");
            }
        }
    }
}
