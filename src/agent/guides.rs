//! Nested guides: instructions for agents in a folder, shown when files below that folder are touched.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use sanitize::invisible::marked;
use workspace::{Kind, LastLink, WorkspacePath};

use crate::engine::Engine;
use crate::event::ToolCall;

/// Names of guides of folders, in the order in which they are looked for.
pub const NESTED_GUIDES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// Maximum size of what is shown of one guide, in bytes.
const MAX_GUIDE: usize = 4 * 1024;
/// Maximum number of guides that are shown in a run.
const MAX_GUIDES: usize = 8;

/// Reads a guide of the repository from the state that is trusted; `None` if there is none at that path.
pub type NestedGuide = Arc<dyn Fn(&WorkspacePath) -> Option<String> + Send + Sync>;

/// Guides of folders, each shown once.
#[derive(Clone, Default)]
pub struct Guides {
    read: Option<NestedGuide>,
    shown: Arc<Mutex<Shown>>,
}

#[derive(Default)]
struct Shown {
    folders: HashSet<WorkspacePath>,
    count: usize,
}

impl Guides {
    /// Creates the guides of a run.
    pub fn new(read: NestedGuide) -> Self {
        Self { read: Some(read), shown: Arc::default() }
    }

    /// Returns the guides of folders that these calls touch for the first time, the outermost first.
    pub(super) fn for_calls(&self, engine: &Engine, calls: &[ToolCall]) -> Vec<String> {
        let Some(read) = &self.read else { return Vec::new() };
        let touched = calls
            .iter()
            .filter_map(|call| engine.effects(call))
            .flat_map(|effects| effects.writes.into_iter().chain(effects.reads));
        let workspace = &engine.context.workspace;
        let is_folder = |path: &WorkspacePath| {
            let found = workspace.resolve(path, LastLink::Follow).and_then(|path| workspace.stat(&path));
            found.is_ok_and(|found| found.is_some_and(|stat| stat.kind == Kind::Directory))
        };
        touched.flat_map(|path| self.for_path(read, &path, &is_folder)).collect()
    }

    fn for_path(
        &self,
        read: &NestedGuide,
        path: &WorkspacePath,
        is_folder: &dyn Fn(&WorkspacePath) -> bool,
    ) -> Vec<String> {
        let mut shown = self.shown.lock();
        // The guide of the root is part of the system prompt. A folder's own guide counts for it as well.
        let own = Some(path.clone()).filter(is_folder).or_else(|| path.parent());
        let mut folders: Vec<WorkspacePath> =
            std::iter::successors(own, WorkspacePath::parent).filter(|folder| !folder.is_root()).collect();
        folders.reverse();
        let mut texts = Vec::new();
        for folder in folders {
            if shown.count >= MAX_GUIDES || !shown.folders.insert(folder.clone()) {
                continue;
            }
            let found = NESTED_GUIDES.iter().find_map(|name| {
                let path = WorkspacePath::parse(&format!("{folder}/{name}")).ok()?;
                Some((path.clone(), read(&path)?))
            });
            if let Some((path, text)) = found {
                shown.count += 1;
                let text = marked(text[..text.floor_char_boundary(MAX_GUIDE)].trim_end());
                texts.push(format!(
                    "From {path}, written by the maintainers of this repository, for what is below {folder}/:\n{text}"
                ));
            }
        }
        texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_guide_is_told_once_and_the_outermost_first() {
        let read: NestedGuide = Arc::new(|path: &WorkspacePath| match path.as_str() {
            "app/AGENTS.md" => Some("outer\n".to_owned()),
            "app/web/CLAUDE.md" => Some("inner\n".to_owned()),
            "AGENTS.md" => Some("root\n".to_owned()),
            _ => None,
        });
        let guides = Guides::new(Arc::clone(&read));
        let shown = |path: &str| -> Vec<String> {
            let is_folder = |path: &WorkspacePath| path.file_name().is_some_and(|name| !name.contains('.'));
            let texts = guides.for_path(&read, &WorkspacePath::parse(path).expect("a path"), &is_folder);
            texts.iter().map(|text| text.lines().next_back().unwrap_or_default().to_owned()).collect()
        };
        assert_eq!(shown("README.md"), Vec::<String>::new());
        assert_eq!(shown("app"), ["outer"]);
        assert_eq!(shown("app/web/page.ts"), ["inner"]);
        assert_eq!(shown("app/web/other.ts"), Vec::<String>::new());
        assert_eq!(shown("app/api/main.ts"), Vec::<String>::new());
    }
}
