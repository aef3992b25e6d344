//! File patterns as people write them in tools, hooks, and guardrails.

use globset::{GlobBuilder, GlobMatcher};

use super::path::WorkspacePath;

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
pub struct PathGlobs(Vec<(String, Glob)>);

impl PathGlobs {
    /// Parses the patterns. The error names the first that is invalid.
    pub fn parse<S: AsRef<str>>(patterns: &[S]) -> Result<Self, InvalidGlob> {
        let globs = patterns.iter().map(|pattern| {
            let pattern = pattern.as_ref();
            Ok((pattern.to_owned(), Glob::parse(pattern)?))
        });
        globs.collect::<Result<_, _>>().map(Self)
    }

    /// Returns the first pattern that matches the path or a folder above it.
    pub fn find(&self, path: &WorkspacePath) -> Option<&str> {
        if self.is_empty() {
            return None;
        }
        let mut prefixes = vec![path.clone()];
        while let Some(parent) =
            prefixes.last().and_then(WorkspacePath::parent).filter(|path| !path.is_root())
        {
            prefixes.push(parent);
        }
        let fits = |glob: &Glob| prefixes.iter().any(|prefix| glob.matches(prefix.as_str()));
        self.0.iter().find(|(_, glob)| fits(glob)).map(|(pattern, _)| pattern.as_str())
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
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
        assert!(PathGlobs::parse(&["a["]).is_err_and(|error| error.to_string().contains("\"a[\"")));
    }
}
