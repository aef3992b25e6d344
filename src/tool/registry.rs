//! Registry of the tools of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::Tool;
use super::async_tool::{AsyncTool, Registered};
use super::{
    apply_patch::ApplyPatch, delete_file::DeleteFile, edit_file::EditFile, find_files::FindFiles,
    get_file_summary::GetFileSummary, grep::Grep, list_directory::ListDirectory, list_files::ListFiles,
    move_file::MoveFile, read_file::ReadFile, replace_text::ReplaceText, search_code::SearchCode,
    search_files::SearchFiles, write_file::WriteFile,
};

/// Tools of a run, by name.
#[derive(Default)]
pub struct Registry {
    tools: BTreeMap<String, Arc<dyn Tool>>,
    /// Names of tools that can be called and are not offered.
    withheld: BTreeSet<String>,
}

/// Error for a second tool of the same name.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a tool named {0:?} is already registered")]
pub struct DuplicateTool(String);

impl Registry {
    /// Creates an empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a registry with the tools that every run has.
    pub fn with_built_in() -> Self {
        let mut registry = Self::new();
        let built_in: [Arc<dyn Tool>; 14] = [
            Arc::new(ReadFile),
            Arc::new(WriteFile),
            Arc::new(EditFile),
            Arc::new(ApplyPatch),
            Arc::new(ReplaceText),
            Arc::new(MoveFile),
            Arc::new(DeleteFile),
            Arc::new(ListDirectory),
            Arc::new(ListFiles),
            Arc::new(FindFiles),
            Arc::new(Grep),
            Arc::new(SearchCode),
            Arc::new(SearchFiles),
            Arc::new(GetFileSummary),
        ];
        for tool in built_in {
            registry.replace(tool);
        }
        registry
    }

    /// Adds a tool whose name must be new.
    pub fn register(&mut self, tool: Arc<dyn Tool>) -> Result<(), DuplicateTool> {
        if self.has(tool.name()) {
            return Err(DuplicateTool(tool.name().to_owned()));
        }
        self.replace(tool);
        Ok(())
    }

    /// Adds a tool, in place of one of the same name.
    pub fn replace(&mut self, tool: Arc<dyn Tool>) {
        self.tools.insert(tool.name().to_owned(), tool);
    }

    /// Adds a tool that waits for somebody else, in place of one of the same name.
    pub fn replace_async<T: AsyncTool>(&mut self, tool: Arc<T>) {
        self.replace(Arc::new(Registered(tool)));
    }

    /// Returns the tool called `name`.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }

    /// Returns `true` if there is a tool called `name`.
    pub fn has(&self, name: &str) -> bool {
        self.tools.contains_key(name)
    }

    /// Returns the number of tools.
    pub fn count(&self) -> usize {
        self.tools.len()
    }

    /// Withholds a tool: it can be called, but is not offered to a model.
    pub fn withhold(&mut self, name: &str) {
        self.withheld.insert(name.to_owned());
    }

    /// Returns all tools that can be called, sorted by name.
    pub fn all(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.values()
    }

    /// Returns the tools that are offered to a model, sorted by name: each ability once.
    pub fn list(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.all().filter(|tool| !self.withheld.contains(tool.name()) && tool.successor().is_none())
    }

    /// Returns the tools of an allow-list that are offered, sorted by name; unknown names are ignored. A tool that has
    /// a successor is offered if the list has the tool alone.
    pub fn filter<S: AsRef<str>>(&self, allowed: &[S]) -> Vec<&Arc<dyn Tool>> {
        let is_allowed = |name: &str| allowed.iter().any(|allowed| allowed.as_ref() == name);
        let is_offered = |tool: &&Arc<dyn Tool>| {
            is_allowed(tool.name())
                && !self.withheld.contains(tool.name())
                && tool.successor().is_none_or(|successor| !is_allowed(successor))
        };
        self.all().filter(is_offered).collect()
    }

    /// Returns whether an allow-list lets a tool be called: it has the tool, or one that does the same and more.
    pub fn is_allowed<S: AsRef<str>>(tool: &dyn Tool, allowed: &[S]) -> bool {
        let is_listed = |name: &str| allowed.iter().any(|allowed| allowed.as_ref() == name);
        is_listed(tool.name()) || tool.successor().is_some_and(is_listed)
    }

    /// Returns schemas in OpenAI's function format, for all tools or those of an allow-list.
    pub fn schemas<S: AsRef<str>>(&self, allowed: Option<&[S]>) -> Vec<Value> {
        let tools = allowed.map_or_else(|| self.list().collect(), |allowed| self.filter(allowed));
        let schema = |tool: &Arc<dyn Tool>| {
            json!({"type": "function", "function": {
                "name": tool.name(), "description": tool.description(), "parameters": tool.offered_parameters(),
            }})
        };
        tools.into_iter().map(schema).collect()
    }

    /// Returns the name most similar to an unknown one, if any is similar enough.
    pub fn closest(&self, name: &str) -> Option<&str> {
        crate::base::did_you_mean::nearest(name, self.tools.keys().map(String::as_str))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_listed_once_and_sorted() {
        let mut registry = Registry::with_built_in();
        let names: Vec<&str> = registry.all().map(|tool| tool.name()).collect();
        assert!(names.is_sorted());
        assert_eq!(registry.count(), names.len());
        let offered: Vec<&str> = registry.list().map(|tool| tool.name()).collect();
        assert!(offered.contains(&"grep") && !offered.contains(&"search_code"), "{offered:?}");
        registry.withhold("grep");
        assert!(registry.has("grep") && registry.list().all(|tool| tool.name() != "grep"));
        assert_eq!(registry.register(Arc::new(ReadFile)), Err(DuplicateTool("read_file".into())));
        assert_eq!(registry.closest("readfile"), Some("read_file"));
        assert_eq!(registry.closest("xyzzy"), None);
    }

    #[test]
    fn schemas_follow_the_allow_list_and_carry_no_noise() {
        let registry = Registry::with_built_in();
        let schemas = registry.schemas(Some(&["grep", "no_such_tool", "read_file"]));
        let text = serde_json::to_string(&schemas).expect("schemas are JSON");
        assert_eq!(schemas.len(), 2);
        assert_eq!(schemas[0]["function"]["name"], "grep");
        assert!(!text.contains("$schema") && !text.contains("\"title\""), "{text}");
        let all = serde_json::to_string(&registry.schemas::<&str>(None)).expect("schemas are JSON");
        let alone: Vec<&str> =
            registry.filter(&["search_code", "find_files"]).iter().map(|tool| tool.name()).collect();
        assert_eq!(alone, ["find_files", "search_code"]);
        assert!(all.len() < 6_000, "the schemas of all tools take {} bytes", all.len());
    }
}
