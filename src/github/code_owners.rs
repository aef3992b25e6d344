//! `CODEOWNERS`: who owns which files, by GitHub's rules.

use globset::{GlobBuilder, GlobMatcher};

/// The rules of a file, in order; the last that fits a path decides.
#[derive(Debug, Default)]
pub(super) struct CodeOwners(Vec<Rule>);

#[derive(Debug)]
struct Rule {
    /// The pattern itself and, unless it is for the entries of one folder alone, for everything below what it fits.
    patterns: Vec<GlobMatcher>,
    owners: Vec<String>,
}

impl CodeOwners {
    /// Parses the text. GitHub skips lines that it does not understand, and so do we; one whose pattern cannot be read is
    /// taken to be for all files.
    pub(super) fn parse(text: &str) -> Self {
        Self(text.lines().filter_map(Rule::parse).collect())
    }

    /// Returns the owners of a file: `@login`, `@organization/team`, or an address.
    pub(super) fn of(&self, path: &str) -> &[String] {
        let fits = |rule: &&Rule| rule.patterns.iter().any(|pattern| pattern.is_match(path));
        self.0.iter().rev().find(fits).map_or(&[], |rule| &rule.owners)
    }
}

impl Rule {
    fn parse(line: &str) -> Option<Self> {
        let line = line.split(" #").next().unwrap_or_default().trim();
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        let spaced = line.replace("\\ ", "\u{0}");
        let mut words = spaced.split_whitespace();
        let pattern = words.next()?.replace('\u{0}', " ");
        let owners = words.map(str::to_owned).collect();
        let is_anchored = pattern.trim_end_matches('/').contains('/');
        let plain = pattern.trim_matches('/');
        let start = if is_anchored { plain.to_owned() } else { format!("**/{plain}") };
        let all = if pattern.ends_with('/') {
            vec![format!("{start}/**")]
        } else if plain.ends_with("/*") {
            vec![start]
        } else {
            vec![format!("{start}/**"), start]
        };
        let glob = |text: &String| GlobBuilder::new(text).literal_separator(true).build();
        let parsed: Result<Vec<_>, _> = all.iter().map(glob).collect();
        let parsed = parsed.or_else(|_| glob(&"**".to_owned()).map(|all| vec![all])).ok()?;
        Some(Self { patterns: parsed.iter().map(globset::Glob::compile_matcher).collect(), owners })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_rule_that_fits_decides() {
        let owners = CodeOwners::parse(
            "# everybody\n* @all\n*.js @js # inline\n/build/logs/ @doc\ndocs/* docs@example.com\napps/ @octo/cat\n\
             /scripts/ @doc @oct\n**/logs @logs\n/apps/github\nwith\\ space.txt @spaced\n",
        );
        for (path, expected) in [
            ("a.txt", "@all"),
            ("src/deep/a.js", "@js"),
            ("build/logs/a.js", "@logs"),
            ("docs/getting-started.md", "docs@example.com"),
            ("docs/build-app/troubleshooting.md", "@all"),
            ("deep/apps/x", "@octo/cat"),
            ("scripts/x/y.sh", "@doc @oct"),
            ("deeply/logs/x", "@logs"),
            ("apps/github/x", ""),
            ("with space.txt", "@spaced"),
        ] {
            assert_eq!(owners.of(path).join(" "), expected, "{path}");
        }
        assert!(CodeOwners::default().of("a").is_empty());
    }
}
