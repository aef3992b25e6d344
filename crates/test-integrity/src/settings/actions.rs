//! Actions of workflows that run a tool, as commands of it.

use super::check::Check;

/// Actions, and the tools that they run.
const TOOLS: &[(&str, &str)] = &[
    ("golangci/golangci-lint-action", "golangci-lint"),
    ("codecov/codecov-action", "codecov"),
    ("pre-commit/action", "pre-commit"),
    ("cypress-io/github-action", "cypress"),
    ("psf/black", "black"),
    ("isort/isort-action", "isort"),
    ("astral-sh/ruff-action", "ruff check"),
    ("chartboost/ruff-action", "ruff check"),
    ("EmbarkStudios/cargo-deny-action", "cargo deny"),
    ("rustsec/audit-check", "cargo audit"),
    ("actions-rs/audit-check", "cargo audit"),
    ("actions-rs/clippy-check", "cargo clippy"),
    ("golang/govulncheck-action", "govulncheck"),
    ("dominikh/staticcheck-action", "staticcheck"),
    ("crate-ci/typos", "typos"),
    ("codespell-project/actions-codespell", "codespell"),
    ("rhysd/actionlint", "actionlint"),
    ("hadolint/hadolint-action", "hadolint"),
    ("ludeeus/action-shellcheck", "shellcheck"),
    ("DavidAnson/markdownlint-cli2-action", "markdownlint"),
    ("wagoid/commitlint-github-action", "commitlint"),
    ("lycheeverse/lychee-action", "lychee"),
    ("gitleaks/gitleaks-action", "gitleaks"),
    ("pypa/gh-action-pip-audit", "pip-audit"),
    ("fsfe/reuse-action", "reuse"),
];

/// Returns the actions of a workflow that run a tool. Setting one up alone runs nothing.
pub(super) fn checks(text: &str) -> Vec<Check> {
    let lines = text.lines().enumerate().filter_map(|(at, line)| {
        let used = line.trim().trim_start_matches("- ").strip_prefix("uses:")?.trim();
        let name = used.trim_matches(['"', '\'']).split('@').next()?;
        let (_, tool) = TOOLS.iter().find(|(action, _)| action.eq_ignore_ascii_case(name))?;
        Some(Check { line: at + 1, tool: (*tool).to_owned(), text: used.to_owned(), narrow: Vec::new() })
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_commands_of_their_tools() {
        let found = checks(
            "    steps:\n      - uses: golangci/golangci-lint-action@v6\n      - uses: actions/checkout@v4\n",
        );
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].line, found[0].tool.as_str()), (2, "golangci-lint"));
    }
}
