//! Rules that no model output can turn off, checked on a call's effects before anything else.

use std::sync::Arc;

use crate::config;
use crate::tool::Effects;
use crate::workspace::{PathGlobs, WorkspacePath};

/// Where a configuration may lie; never writable, whether the file exists or not.
const CONFIG_FILES: [&str; 2] = [".github/architect.yml", ".architect.yml"];

/// The rules of a run.
#[derive(Clone, Debug, Default)]
pub struct Guardrails {
    protected: PathGlobs,
    sensitive: Arc<PathGlobs>,
    config_file: Option<WorkspacePath>,
    allow_workflow_edits: bool,
}

impl Guardrails {
    /// Reads the rules; `config_file` is the configuration that was used, relative to the workspace.
    pub fn new(
        rules: &config::Guardrails,
        config_file: Option<&str>,
        allow_workflow_edits: bool,
    ) -> Result<Self, String> {
        Ok(Self {
            protected: PathGlobs::parse(&rules.protected_files)?,
            sensitive: Arc::new(PathGlobs::parse(&rules.sensitive_files)?),
            config_file: config_file.and_then(|path| WorkspacePath::parse(path).ok()),
            allow_workflow_edits,
        })
    }

    /// Files that must not be read.
    pub fn sensitive(&self) -> Arc<PathGlobs> {
        Arc::clone(&self.sensitive)
    }

    /// Whether a call may go on; the error is the reason why not.
    pub fn check(&self, effects: &Effects) -> Result<(), String> {
        for path in effects.writes.iter().chain(&effects.reads) {
            if is_git(path) {
                return Err(format!("{path} belongs to Git's own folder, which is out of reach"));
            }
            if let Some(pattern) = self.sensitive.find(path) {
                return Err(format!("{path} is a sensitive file (sensitive_files: {pattern})"));
            }
        }
        for path in &effects.writes {
            if let Some(what) = self.always_protected(path) {
                return Err(format!("{path} is always protected: {what}"));
            }
            if let Some(pattern) = self.protected.find(path) {
                return Err(format!("{path} is a protected file (protected_files: {pattern})"));
            }
        }
        Ok(())
    }

    fn always_protected(&self, path: &WorkspacePath) -> Option<&'static str> {
        let folded = path.as_str().to_lowercase();
        let within = |folder: &str| {
            folded.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if within(".github/workflows") && !self.allow_workflow_edits {
            return Some("workflows run with the repository's rights");
        }
        if within(".github/actions") {
            return Some("local actions run with the repository's rights");
        }
        let is_config = CONFIG_FILES.contains(&folded.as_str()) || self.config_file.as_ref() == Some(path);
        is_config.then_some("it configures this very tool")
    }
}

/// Whether a path is, or lies in, a `.git`: also where the file system folds case or drops dots and
/// blanks at the end of a name.
fn is_git(path: &WorkspacePath) -> bool {
    path.names().any(|name| name.trim_end_matches(['.', ' ']).eq_ignore_ascii_case(".git"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Guardrails {
        let rules = config::Guardrails {
            protected_files: vec!["Cargo.lock".into(), "migrations".into()],
            sensitive_files: vec![".env*".into()],
            ..config::Guardrails::default()
        };
        Guardrails::new(&rules, Some("ci/agent.yml"), false).expect("valid rules")
    }

    fn path(text: &str) -> WorkspacePath {
        WorkspacePath::parse(text).expect("a plain path")
    }

    #[test]
    fn writing_is_refused_where_it_must_be() {
        for (file, reason) in [
            (".git/hooks/pre-commit", "out of reach"),
            ("sub/.GIT/config", "out of reach"),
            (".git./config", "out of reach"),
            (".github/workflows/ci.yml", "always protected"),
            (".github/Workflows/ci.yml", "always protected"),
            (".github/actions/x/action.yml", "always protected"),
            (".github/architect.yml", "configures this very tool"),
            ("ci/agent.yml", "configures this very tool"),
            ("app/Cargo.lock", "protected_files: Cargo.lock"),
            ("migrations/0001.sql", "protected_files: migrations"),
            (".env.local", "sensitive_files: .env*"),
        ] {
            let effects = Effects { writes: vec![path(file)], ..Effects::default() };
            assert!(rules().check(&effects).is_err_and(|error| error.contains(reason)), "{file}");
        }
        for file in
            ["src/main.rs", ".gitignore", ".github/dependabot.yml", ".github/workflows.md", "src/.gitkeep"]
        {
            let effects = Effects { writes: vec![path(file)], ..Effects::default() };
            assert_eq!(rules().check(&effects), Ok(()), "{file}");
        }
    }

    #[test]
    fn reading_is_refused_for_secrets_alone() {
        for (file, allowed) in [
            (".env", false),
            (".git/config", false),
            (".github/workflows/ci.yml", true),
            ("Cargo.lock", true),
        ] {
            let effects = Effects { reads: vec![path(file)], ..Effects::default() };
            assert_eq!(rules().check(&effects).is_ok(), allowed, "{file}");
        }
    }

    #[test]
    fn workflow_edits_lift_that_one_entry() {
        let rules = Guardrails::new(&config::Guardrails::default(), None, true).expect("valid rules");
        let check = |file: &str| rules.check(&Effects { writes: vec![path(file)], ..Effects::default() });
        assert_eq!(check(".github/workflows/ci.yml"), Ok(()));
        assert!(check(".github/actions/x/action.yml").is_err());
    }
}
