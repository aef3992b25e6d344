//! Scope of the listing and searching tools: a folder or a file, and which of the files below it.

use workspace::{Glob, Kind, LastLink, ResolvedPath, WalkEntry, WorkspacePath};

use super::read_file::resolve;
use super::{Context, ToolError};

pub(super) fn here() -> String {
    ".".to_owned()
}

pub(super) fn any() -> String {
    "*".to_owned()
}

pub(super) fn yes() -> bool {
    true
}

/// Folder (or single file) to search, and which of its files.
pub(super) struct Scope<'a> {
    pub(super) cx: &'a Context,
    pub(super) start: ResolvedPath,
    filter: FileFilter,
    /// What files have to match besides.
    types: FileFilter,
    pattern: String,
    depth: Option<usize>,
}

/// What is below a folder, as far as the filter lets it through.
#[derive(Default)]
pub(super) struct Entries {
    /// Files and folders, sorted by path.
    pub(super) found: Vec<WalkEntry>,
    /// Links that stay inside of the workspace, and where they lead.
    pub(super) links: Vec<(WorkspacePath, ResolvedPath)>,
    /// Number of entries that had to be skipped.
    pub(super) skipped: usize,
}

impl<'a> Scope<'a> {
    pub(super) fn new(
        cx: &'a Context,
        path: &str,
        pattern: Option<&str>,
        depth: Option<usize>,
    ) -> Result<Self, ToolError> {
        let pattern = pattern.unwrap_or("*").to_owned();
        let (start, filter) = (resolve(path, cx)?, FileFilter::parse(&pattern)?);
        Ok(Self { cx, start, filter, types: FileFilter::default(), pattern, depth })
    }

    /// Returns the scope with only the files that match these globs as well.
    pub(super) fn of_types(self, globs: &str) -> Result<Self, ToolError> {
        Ok(Self { types: FileFilter::parse(globs)?, ..self })
    }

    /// Returns whether an entry passes the filter. A path glob may be relative to the root or to the folder that is
    /// searched.
    fn fits(&self, path: &WorkspacePath) -> bool {
        let below = path.relative_to(&self.start).unwrap_or(path.as_str());
        (self.filter.matches(below) || self.filter.matches(path.as_str())) && self.types.matches(below)
    }

    /// Returns the matching files, folders and links.
    pub(super) fn entries(&self) -> Result<Entries, ToolError> {
        let workspace = &self.cx.workspace;
        if workspace.stat(&self.start)?.is_some_and(|stat| stat.kind == Kind::File) {
            let file = WalkEntry { path: self.start.clone(), directory: false };
            return Ok(Entries { found: vec![file], ..Entries::default() });
        }
        let mut walk = workspace.walk(&self.start, self.depth)?;
        walk.found.retain(|found| self.fits(&found.path));
        let target = |link: WorkspacePath| {
            let target = workspace.resolve(&link, LastLink::Follow).ok()?;
            let is_there = workspace.stat(&target).ok()?.is_some();
            is_there.then_some((link, target))
        };
        let links = walk.links.into_iter().filter(|link| self.fits(link)).filter_map(target).collect();
        Ok(Entries { found: walk.found, links, skipped: walk.skipped })
    }

    /// Returns why there are no matching files, for a scope that has none.
    pub(super) fn why_empty(&self) -> String {
        match self.pattern.as_str() {
            "*" | "**" | "**/*" => format!("there are no files below {}", self.start),
            pattern => format!("no file below {} matches {pattern:?}", self.start),
        }
    }

    /// Returns the matching files without the sensitive ones, the number of those, and the number of entries that had to be skipped.
    pub(super) fn readable_files(&self) -> Result<(Vec<ResolvedPath>, usize, usize), ToolError> {
        let (mut files, skipped) = self.files()?;
        let all = files.len();
        if !self.cx.sensitive.is_empty() {
            files.retain(|path| self.cx.sensitive.find(path).is_none());
        }
        let sensitive = all - files.len();
        Ok((files, sensitive, skipped))
    }

    /// Returns the matching files, and the number of entries that had to be skipped.
    pub(super) fn files(&self) -> Result<(Vec<ResolvedPath>, usize), ToolError> {
        let Entries { found, skipped, .. } = self.entries()?;
        Ok((found.into_iter().filter(|found| !found.directory).map(|found| found.path).collect(), skipped))
    }
}

/// Globs of the files that are meant. Several are separated by commas, and those after a `!` are excluded. A path that begins with
/// `./` is a place: a file, or a folder with all that is below it.
#[derive(Default)]
struct FileFilter {
    wanted: Vec<Glob>,
    places: Vec<String>,
    unwanted: Vec<Glob>,
}

impl FileFilter {
    fn parse(pattern: &str) -> Result<Self, ToolError> {
        let (mut wanted, mut places, mut unwanted) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts(pattern) {
            if let Some(place) = part.strip_prefix("./").filter(|place| !place.contains(['*', '?', '{'])) {
                places.push(place.trim_end_matches('/').to_owned());
                continue;
            }
            let (list, part) = match part.strip_prefix('!') {
                Some(part) => (&mut unwanted, part),
                None => (&mut wanted, part),
            };
            if !matches!(part, "*" | "**" | "**/*") {
                list.push(Glob::parse(part).map_err(|error| ToolError::Refused(error.to_string()))?);
            }
        }
        Ok(Self { wanted, places, unwanted })
    }

    fn matches(&self, path: &str) -> bool {
        let fits = |glob: &Glob| glob.matches(path);
        let is_at = |place: &String| {
            let below = path.strip_prefix(place.as_str());
            place.is_empty() || below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
        };
        let is_any = self.wanted.is_empty() && self.places.is_empty();
        (is_any || self.wanted.iter().any(fits) || self.places.iter().any(is_at))
            && !self.unwanted.iter().any(fits)
    }
}

/// Splits a list at its commas, except within braces and brackets.
fn parts(pattern: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    pattern
        .split(move |c| {
            match c {
                '{' | '[' => depth += 1,
                '}' | ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ',' && depth == 0
        })
        .map(str::trim)
        .filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_take_lists_and_exclusions() {
        for (pattern, path, expected) in [
            ("*.py", "a/b.py", true),
            ("*.py, *.pyi", "b.pyi", true),
            ("*.{py,js}", "b.js", true),
            ("*.{py,js},!test_*", "test_b.js", false),
            ("!vendor/**", "vendor/a.py", false),
            ("!vendor/**", "src/a.py", true),
            ("src/**/*.rs", "src/a/b.rs", true),
            ("**/*", "anything", true),
            ("./a.md", "a.md", true),
            ("./a.md", "b/a.md", false),
            ("./a,./b/[id].ts", "a/b.py", true),
            ("./a,./b/[id].ts", "b/[id].ts", true),
            ("./a,./b/[id].ts", "b/i.ts", false),
            ("./*.py", "a.py", true),
        ] {
            let filter = FileFilter::parse(pattern).expect("a filter");
            assert_eq!(filter.matches(path), expected, "{pattern} {path}");
        }
        assert!(FileFilter::parse("[").is_err());
    }
}
