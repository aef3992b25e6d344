//! File patterns as people write them in tools, hooks, and guardrails.

use globset::{GlobBuilder, GlobMatcher};

use super::path::{WorkspacePath, folded_text};

/// A pattern: one without a `/` matches file names (`*.py`), one with a `/` matches paths (`src/**/*.ts`).
#[derive(Clone, Debug)]
pub struct Glob {
    matcher: GlobMatcher,
    by_name: bool,
}

/// Error for a pattern that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid glob {pattern:?}: {}", error.kind())]
pub struct InvalidGlob {
    /// The pattern as written.
    pattern: String,
    error: globset::Error,
}

impl Glob {
    /// Parses a pattern.
    pub fn parse(pattern: &str) -> Result<Self, InvalidGlob> {
        let trimmed = pattern.trim_start_matches("./").trim_end_matches('/');
        let glob = GlobBuilder::new(trimmed)
            .literal_separator(true)
            .build()
            .map_err(|error| InvalidGlob { pattern: pattern.to_owned(), error })?;
        Ok(Self { matcher: glob.compile_matcher(), by_name: !trimmed.contains('/') })
    }

    /// Returns whether the pattern matches a path, given relative to the folder in which the pattern applies.
    pub fn matches(&self, relative: &str) -> bool {
        let subject = if self.by_name { relative.rsplit('/').next().unwrap_or(relative) } else { relative };
        self.matcher.is_match(subject)
    }
}

/// A list of patterns that also match everything below a matching folder.
#[derive(Clone, Debug, Default)]
pub struct PathGlobs(Vec<PathGlob>);

#[derive(Clone, Debug)]
struct PathGlob {
    pattern: String,
    glob: Glob,
    /// Where paths are compared as other file systems read them: the pattern in that form.
    folded: Option<Glob>,
}

impl PathGlobs {
    /// Parses the patterns. The error names the first that is invalid.
    pub fn parse<S: AsRef<str>>(patterns: &[S]) -> Result<Self, InvalidGlob> {
        let globs = patterns.iter().map(|pattern| {
            let pattern = pattern.as_ref();
            Ok(PathGlob { pattern: pattern.to_owned(), glob: Glob::parse(pattern)?, folded: None })
        });
        globs.collect::<Result<_, _>>().map(Self)
    }

    /// Parses patterns that withhold something. They match a path as well if some file system takes it for one that they
    /// match: a checkout is also used where names in other cases are the same.
    pub fn folding<S: AsRef<str>>(patterns: &[S]) -> Result<Self, InvalidGlob> {
        let mut globs = Self::parse(patterns)?;
        for glob in &mut globs.0 {
            glob.folded = Some(Glob::parse(&folded_text(&glob.pattern))?);
        }
        Ok(globs)
    }

    /// Returns the first pattern that matches the path or a folder above it.
    pub fn find(&self, path: &WorkspacePath) -> Option<&str> {
        if self.is_empty() {
            return None;
        }
        let folded = path.folded();
        let fits = |glob: &PathGlob| {
            let folds = |pattern: &Glob| prefixes(&folded).any(|prefix| pattern.matches(prefix));
            prefixes(path.as_str()).any(|prefix| glob.glob.matches(prefix))
                || glob.folded.as_ref().is_some_and(folds)
        };
        self.0.iter().find(|glob| fits(glob)).map(|glob| glob.pattern.as_str())
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Returns a path and the folders above it, without the root.
fn prefixes(path: &str) -> impl Iterator<Item = &str> {
    std::iter::once(path).chain(path.rmatch_indices('/').map(|(at, _)| &path[..at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_paths_and_folders() {
        let globs = PathGlobs::parse(&[".env*", "secrets", "src/**/*.key", "docs/"]).expect("valid patterns");
        let find = |path: &str| globs.find(&WorkspacePath::parse(path).expect("a plain path"));
        assert_eq!(find(".env.local"), Some(".env*"));
        assert_eq!(find("app/.env"), Some(".env*"));
        assert_eq!(find("secrets/deep/file"), Some("secrets"));
        assert_eq!(find("src/a/b/c.key"), Some("src/**/*.key"));
        assert_eq!(find("src/c.key"), Some("src/**/*.key"));
        assert_eq!(find("docs/guide.md"), Some("docs/"));
        assert_eq!(find("src/main.rs"), None);
        for (pattern, path, expected) in [
            (".github/workflows/**", ".GitHub/workflows/x.yml", true),
            (".github/workflows/**", ".github/Workflows/deep/x.yml", true),
            ("Docs/*.MD", "docs/a.md", true),
            ("docs/[A-C].md", "Docs/B.md", true),
            ("*.key", "a/SERVER.KEY", true),
            ("*.key", "a/server.key ", true),
            ("caf\u{e9}/**", "cafe\u{301}/menu", true),
            ("cafe\u{301}", "CAF\u{c9}/menu", true),
            ("secrets", "sec\u{200b}rets/a", true),
            ("secrets", "secret/a", false),
            ("docs/*.md", "docs/deep/a.md", false),
        ] {
            let path = WorkspacePath::parse(path).expect("a plain path");
            let globs = PathGlobs::folding(&[pattern]).expect("a valid pattern");
            assert_eq!(globs.find(&path).is_some(), expected, "{pattern} {path}");
        }
        let globs = PathGlobs::parse(&["docs/**"]).expect("a valid pattern");
        assert_eq!(globs.find(&WorkspacePath::parse("Docs/a").expect("a plain path")), None);
        assert!(PathGlobs::parse(&["a["]).is_err_and(|error| error.to_string().contains("\"a[\"")));
    }
}
