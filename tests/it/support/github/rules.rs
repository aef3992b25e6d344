//! Rules for branches, in GitHub's words: what they refuse over the API, and what a push is told.

use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use super::{GitHub, World, answer};

/// A rule for the commits of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    PullRequest,
    Signatures,
    /// The check of this name has to have succeeded.
    Check(&'static str),
    MergeQueue,
    /// The protection of the branch, which gives its reason alone.
    Protection(&'static str),
}

impl Rule {
    /// Its name in lists.
    fn kind(&self) -> &'static str {
        match self {
            Self::PullRequest => "pull_request",
            Self::Signatures => "required_signatures",
            Self::Check(_) => "required_status_checks",
            Self::MergeQueue => "merge_queue",
            Self::Protection(_) => "update",
        }
    }

    /// What it says against a commit that would become the tip of its branch.
    fn against(&self, world: &World, commit: &str) -> Option<String> {
        match self {
            Self::PullRequest => Some("Changes must be made through a pull request.".to_owned()),
            Self::MergeQueue => Some("Changes must be made through the merge queue".to_owned()),
            Self::Protection(reason) => Some((*reason).to_owned()),
            Self::Signatures if world.signed.contains(commit) => None,
            Self::Signatures => {
                Some(format!("Commits must have verified signatures.\nFound 1 violation:\n\n{commit}"))
            }
            Self::Check(name) => {
                let last = world.check_runs.iter().rfind(|(of, ..)| of == name);
                let passed =
                    last.is_some_and(|(_, _, conclusion, _)| conclusion.as_deref() == Some("success"));
                (!passed).then(|| format!("Required status check \"{name}\" is expected."))
            }
        }
    }
}

impl World {
    /// How GitHub refuses to move a branch to a commit, if its rules are against it.
    pub(super) fn refuses(&self, reference: &str, commit: &str) -> Option<ResponseTemplate> {
        let message = self.refusal(reference, commit)?;
        Some(answer(422, &json!({"message": message, "status": "422"})))
    }

    /// Returns the message of such a refusal.
    pub(super) fn refusal(&self, reference: &str, commit: &str) -> Option<String> {
        let branch = reference.strip_prefix("refs/heads/")?;
        let of_branch = self.rules.iter().filter(|(name, _)| name == branch);
        let said: Vec<String> = of_branch.filter_map(|(_, rule)| rule.against(self, commit)).collect();
        if said.is_empty() {
            return None;
        }
        if let [(_, Rule::Protection(reason))] = self.rules.as_slice() {
            return Some((*reason).to_owned());
        }
        Some(format!("Repository rule violations found\n\n{}\n\n", said.join("\n\n")))
    }

    /// The rules of a branch, as they are listed.
    pub(super) fn rules_of(&self, branch: &str) -> Vec<Value> {
        let of_branch = self.rules.iter().filter(|(name, _)| name == branch);
        of_branch
            .filter(|(_, rule)| !matches!(rule, Rule::Protection(_)))
            .map(|(_, rule)| {
                json!({"type": rule.kind(), "ruleset_source_type": "Repository", "ruleset_source": "octo/demo", "ruleset_id": 1})
            })
            .collect()
    }
}

impl GitHub {
    /// From now on, this rule holds for a branch. None of them lets a push pass, whose commits nobody has signed and no check
    /// has seen.
    pub fn demand(&self, branch: &str, rule: Rule) {
        let mut world = self.world();
        world.rules.push((branch.to_owned(), rule));
        let hook = world.git().path().join("hooks/pre-receive");
        let text = format!(
            "#!/bin/sh\nwhile read -r old new ref; do\n  if [ \"$ref\" = refs/heads/{branch} ]; then\n    echo \"error: GH013: \
             Repository rule violations found for $ref.\" >&2\n    touch \"$PWD/refused-push\"\n    exit 1\n  fi\ndone\n"
        );
        std::fs::write(&hook, text).expect("a hook");
        #[cfg(unix)]
        std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .expect("a hook that runs");
    }

    /// Merges pull requests as a merge queue does: one after the other, each on top of those before. What conflicts leaves the
    /// queue and stays open. Returns the numbers of those that were merged.
    pub fn merge_queue(&self, numbers: &[u64]) -> Vec<u64> {
        let mut world = self.world();
        let mut merged = Vec::new();
        for number in numbers {
            let Some(pull) = world.pulls.get(number).filter(|pull| pull.open).cloned() else { continue };
            let (git, head) = (world.git(), world.head_of(&pull));
            let base = git.branch(&pull.base).expect("the base");
            let Some(tree) = git.text(&["merge-tree", "--write-tree", &base, &head]) else { continue };
            let commit = git.write_commit(&tree, &[base, head], &format!("Merge pull request #{number}"));
            git.set(&format!("refs/heads/{}", pull.base), &commit);
            world.pulls.get_mut(number).expect("a pull request").open = false;
            merged.push(*number);
        }
        merged
    }

    /// Whether a push was refused for a rule.
    pub fn has_refused_push(&self) -> bool {
        self.world().git().path().join("refused-push").exists()
    }
}
