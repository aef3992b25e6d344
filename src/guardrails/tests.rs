//! Tests of the guardrails' rules.

use workspace::{FileChange, Mode};

use super::*;

fn rules() -> Guardrails {
    let rules = config::Guardrails {
        protected_files: vec!["Cargo.lock".into(), "migrations".into()],
        sensitive_files: Some(vec![".env*".into()]),
        ..config::Guardrails::default()
    };
    let context = GuardrailContext { config_file: Some("ci/agent.yml"), ..GuardrailContext::default() };
    Guardrails::new(&rules, context).expect("valid rules")
}

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).expect("a plain path")
}

#[test]
fn writing_is_refused_where_it_must_be() {
    for (file, reason) in [
        (".git/hooks/pre-commit", "not accessible"),
        ("sub/.GIT/config", "not accessible"),
        (".git./config", "not accessible"),
        ("git~1/config", "not accessible"),
        ("sub/GIT~1", "not accessible"),
        (".git::$INDEX_ALLOCATION/config", "not accessible"),
        (".git\u{200c}/config", "not accessible"),
        (".github/workflow\u{17f}/x.yml", "always protected"),
        ("GITHUB~1/WORKFL~1/x.yml", "always protected"),
        (".github:x/actions /x/action.yml", "always protected"),
        ("ARCHIT~1.YML", "configures this tool"),
        ("CI/agent.yml", "configures this tool"),
        (".github/workflows/ci.yml", "always protected"),
        (".github/Workflows/ci.yml", "always protected"),
        (".github/actions/x/action.yml", "always protected"),
        (".github/architect.yml", "configures this tool"),
        ("ci/agent.yml", "configures this tool"),
        ("app/Cargo.lock", "protected_files: Cargo.lock"),
        ("migrations/0001.sql", "protected_files: migrations"),
        (".env.local", "sensitive_files: .env*"),
    ] {
        let effects = Effects { writes: vec![path(file)], ..Effects::default() };
        assert!(rules().check(&effects).is_err_and(|error| error.to_string().contains(reason)), "{file}");
    }
    for file in
        ["src/main.rs", ".gitignore", ".github/dependabot.yml", ".github/workflows.md", "src/.gitkeep"]
    {
        let effects = Effects { writes: vec![path(file)], ..Effects::default() };
        assert!(rules().check(&effects).is_ok(), "{file}");
    }
}

#[test]
fn reading_is_refused_for_secrets_alone() {
    for (file, allowed) in
        [(".env", false), (".git/config", false), (".github/workflows/ci.yml", true), ("Cargo.lock", true)]
    {
        let effects = Effects { reads: vec![path(file)], ..Effects::default() };
        assert_eq!(rules().check(&effects).is_ok(), allowed, "{file}");
    }
}

#[test]
fn workflow_edits_lift_that_one_entry() {
    let context = GuardrailContext { allow_workflow_edits: true, ..GuardrailContext::default() };
    let rules = Guardrails::new(&config::Guardrails::default(), context).expect("valid rules");
    let check = |file: &str| rules.check(&Effects { writes: vec![path(file)], ..Effects::default() });
    assert!(check(".github/workflows/ci.yml").is_ok());
    assert!(check(".github/actions/x/action.yml").is_err());
}

#[test]
fn protection_does_not_depend_on_the_workspace() {
    let rules = config::Guardrails {
        protected_files: vec!["infra/**".into(), "lib/a.txt".into()],
        sensitive_files: Some(vec!["infra/prod/secret.txt".into()]),
        ..config::Guardrails::default()
    };
    for (workspace, file, reason) in [
        ("/r/.github", "workflows/ci.yml", "always protected"),
        ("/r/.github/workflows", "ci.yml", "always protected"),
        ("/r/.GitHub/Actions/build", "index.js", "always protected"),
        ("/r/.github", "architect.yml", "configures this tool"),
        ("/r/a/.github", "architect.yml", "configures this tool"),
        ("/r/ci", "agent.yml", "configures this tool"),
        ("/r/.git", "hooks/pre-commit", "not accessible"),
        ("/r/infra", "main.tf", "protected_files: infra/**"),
        ("/r/infra/prod", "main.tf", "protected_files: infra/**"),
        ("/r/infra/prod", "secret.txt", "sensitive_files: infra/prod/secret.txt"),
        // A rule may have been written for the workspace.
        ("/r/pkg", "lib/a.txt", "protected_files: lib/a.txt"),
        ("/r/pkg", "src/main.rs", ""),
        ("/r/.github", "dependabot.yml", ""),
    ] {
        let location = WorkspaceLocation::below("/r".as_ref(), workspace.as_ref());
        let context =
            GuardrailContext { location, config_file: Some("ci/agent.yml"), ..GuardrailContext::default() };
        let rules = Guardrails::new(&rules, context).expect("valid rules");
        let found = rules.check_write(&path(file)).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(
            found.contains(reason) && found.is_empty() == reason.is_empty(),
            "{workspace} {file}: {found}"
        );
    }
}

#[test]
fn nested_repositories_are_protected_as_the_root_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    std::fs::create_dir_all(root.join("app/.git")).expect("a repository");
    std::fs::create_dir_all(root.join("deep/tree")).expect("a folder");
    std::fs::write(root.join("deep/tree/.git"), "gitdir: elsewhere").expect("a worktree");
    std::fs::create_dir_all(root.join("plain")).expect("a folder");
    let context = GuardrailContext { root, ..GuardrailContext::default() };
    let rules = Guardrails::new(&config::Guardrails::default(), context).expect("valid rules");
    for (file, reason) in [
        ("app/.github/workflows/ci.yml", "workflows run"),
        ("app/.GitHub/Workflows/ci.yml", "workflows run"),
        ("app/.github/actions/x/action.yml", "local actions run"),
        ("app/.architect.yml", "configures this tool"),
        ("app/ARCHIT~1.YML", "configures this tool"),
        ("app/.github/architect.yml", "configures this tool"),
        ("deep/tree/.github/workflows/new/x.yml", "workflows run"),
        ("app/.github/dependabot.yml", ""),
        ("app/src/.github/workflows/ci.yml", ""),
        ("deep/.github/workflows/ci.yml", ""),
        ("plain/.github/workflows/ci.yml", ""),
        ("plain/.architect.yml", ""),
        ("missing/.architect.yml", ""),
    ] {
        let found = rules.check_write(&path(file)).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(found.contains(reason) && found.is_empty() == reason.is_empty(), "{file}: {found}");
    }
}

#[test]
fn links_in_the_place_of_protected_folders_are_refused() {
    let rules = config::Guardrails {
        protected_files: vec!["infra/prod/*.tf".into(), "/lib/a.txt".into(), "**/x".into(), "LICENSE".into()],
        ..config::Guardrails::default()
    };
    for (workspace, link, is_refused) in [
        ("/r", ".github", true),
        ("/r", ".GitHub", true),
        ("/r", "GITHUB~1", true),
        ("/r", "app/.github", true),
        ("/r", "ci", true),
        ("/r", "infra", true),
        ("/r", "Infra/prod", true),
        ("/r", "lib", true),
        ("/r/infra", "prod", true),
        ("/r", "docs", false),
        ("/r", "infra/test", false),
        ("/r", "lib/b", false),
        ("/r", "src", false),
    ] {
        let location = WorkspaceLocation::below("/r".as_ref(), workspace.as_ref());
        let context =
            GuardrailContext { location, config_file: Some("ci/agent.yml"), ..GuardrailContext::default() };
        let rules = Guardrails::new(&rules, context).expect("valid rules");
        let state = |mode| workspace::FileState { content: b"elsewhere".as_slice().into(), mode };
        let change = |mode| FileChange::new(path(link), None, Some(state(mode))).expect("a change");
        assert_eq!(rules.check_links(&[change(Mode::Link)]).is_err(), is_refused, "{workspace} {link}");
        assert!(rules.check_links(&[change(Mode::Regular)]).is_ok(), "{workspace} {link}");
    }
}
