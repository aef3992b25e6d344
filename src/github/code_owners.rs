//! `CODEOWNERS`: who owns which files, by GitHub's rules.

use globset::{GlobBuilder, GlobMatcher};

/// The rules of a file, in order; the last that fits a path decides.
#[derive(Debug, Default)]
pub(crate) struct CodeOwners(Vec<Rule>);

/// In the place of an owner that is not known, and so has approved nothing.
const UNREADABLE: &str = "(a line that cannot be read)";

#[derive(Debug)]
struct Rule {
    /// The pattern itself and, unless it is for the entries of one folder alone, for everything below what it fits.
    patterns: Vec<GlobMatcher>,
    owners: Vec<String>,
}

impl CodeOwners {
    /// Parses the text. GitHub skips lines whose pattern it does not know (ranges, negations), and so do we; one that we
    /// alone cannot read is taken to be for all files, with an owner whom nobody is.
    pub(crate) fn parse(text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self(text.lines().filter_map(Rule::parse).collect())
    }

    /// Returns the owners of a file: `@login`, `@organization/team`, or an address.
    pub(crate) fn of(&self, path: &str) -> &[String] {
        let fits = |rule: &&Rule| rule.patterns.iter().any(|pattern| pattern.is_match(path));
        self.0.iter().rev().find(fits).map_or(&[], |rule| &rule.owners)
    }
}

impl Rule {
    fn parse(line: &str) -> Option<Self> {
        let spaced = line.replace("\\ ", "\u{0}");
        let mut words = spaced.split_whitespace().take_while(|word| !word.starts_with('#'));
        let pattern = words.next()?.replace('\u{0}', " ");
        if pattern.starts_with('!') || pattern.contains('[') {
            return None;
        }
        let owners: Vec<String> = words.map(str::to_owned).collect();
        let is_anchored = pattern.trim_end_matches('/').contains('/');
        // Braces are letters to GitHub.
        let plain = pattern.trim_matches('/').replace('{', "[{]").replace('}', "[}]");
        let start = if is_anchored { plain } else { format!("**/{plain}") };
        let all = if pattern.ends_with('/') {
            vec![format!("{start}/**")]
        } else if pattern.ends_with("/*") {
            vec![start]
        } else {
            vec![format!("{start}/**"), start]
        };
        let glob = |text: &String| GlobBuilder::new(text).literal_separator(true).build();
        let parsed: Result<Vec<_>, _> = all.iter().map(glob).collect();
        let (parsed, owners) = match parsed {
            Ok(parsed) => (parsed, owners),
            Err(_) => (vec![glob(&"**".to_owned()).ok()?], vec![UNREADABLE.to_owned()]),
        };
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

    #[test]
    fn lines_are_read_as_github_reads_them() {
        let alice = "/src/ @alice\n";
        for (more, expected) in [
            ("/* @bob\n", "@alice"),
            ("/*\n", "@alice"),
            ("/a[ @bob\n", "@alice"),
            ("/[s]rc/ @bob\n", "@alice"),
            ("!/src/ @bob\n", "@alice"),
            ("/{src,x}/ @bob\n", "@alice"),
            ("/src/ @carol\t# @bob\n", "@carol"),
            ("\t# /src/ @bob\n", "@alice"),
            ("/src/*.rs @bob\n", "@bob"),
        ] {
            assert_eq!(
                CodeOwners::parse(&format!("{alice}{more}")).of("src/a.rs").join(" "),
                expected,
                "{more}"
            );
        }
        assert_eq!(CodeOwners::parse(&format!("\u{feff}{alice}")).of("src/a.rs"), ["@alice"]);
        assert_eq!(CodeOwners::parse("/{a}/ @braces\n").of("{a}/b"), ["@braces"]);
    }
}
