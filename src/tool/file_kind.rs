//! Kinds of files, by their names: what their lines may begin with, and what is there only because a model has copied it.

use outline::first_syntax_error;

/// Kind of a file.
pub(super) struct FileKind<'a> {
    name: &'a str,
    /// The extension in lower case, or the whole name if it has none.
    extension: String,
}

/// Kinds that cannot begin with a fence, and whose lines do not begin with numbers, beside those whose grammar says so. In JavaScript, a
/// fence is a template with a tag.
const CODE: [&str; 55] = [
    "js",
    "ts",
    "mjs",
    "cjs",
    "mts",
    "cts",
    "yml",
    "yaml",
    "toml",
    "json",
    "jsonc",
    "ini",
    "properties",
    "sh",
    "bash",
    "zsh",
    "fish",
    "css",
    "scss",
    "less",
    "html",
    "htm",
    "xml",
    "svg",
    "vue",
    "svelte",
    "tsx",
    "jsx",
    "kt",
    "swift",
    "proto",
    "graphql",
    "tf",
    "dockerfile",
    "makefile",
    "gitignore",
    "rb",
    "php",
    "kts",
    "cs",
    "c",
    "h",
    "cpp",
    "cc",
    "hpp",
    "mm",
    "scala",
    "dart",
    "lua",
    "pl",
    "ps1",
    "bat",
    "gradle",
    "ex",
    "hs",
];

/// Kinds that cannot begin with a fence, and may hold a table in which the first column counts.
const WITH_TABLES: [&str; 5] = ["sql", "conf", "cfg", "m", "env"];

/// Kinds that may begin with a fence, and may hold such a table.
const PROSE: [&str; 4] = ["md", "markdown", "mdx", "rst"];

/// Kinds whose lines may begin with numbers.
const DATA: [&str; 12] =
    ["tsv", "csv", "tab", "psv", "txt", "dat", "data", "log", "out", "lst", "golden", "snap"];

/// Kinds in whose text entities such as `&lt;` stand for marks.
const WITH_ENTITIES: [&str; 10] =
    ["html", "htm", "xhtml", "xml", "svg", "vue", "svelte", "md", "markdown", "mdx"];

impl<'a> FileKind<'a> {
    /// Returns the kind of a file by its name.
    pub(super) fn of(name: &'a str) -> Self {
        let extension = name.rsplit(['.', '/']).next().unwrap_or_default().to_ascii_lowercase();
        Self { name, extension }
    }

    fn is_of(&self, kinds: &[&str]) -> bool {
        kinds.contains(&self.extension.as_str())
    }

    /// Returns whether the language of the file, if it is known, has no lines that begin with numbers.
    pub(super) fn has_such_grammar(&self) -> bool {
        first_syntax_error(self.name, "1\tx\n2\ty\n").is_some()
    }

    /// Returns whether a text of the kind may begin with a fence. Of kinds with a grammar, that grammar says so.
    pub(super) fn may_begin_with_fence(&self) -> bool {
        !self.is_of(&CODE) && !self.is_of(&WITH_TABLES)
    }

    /// Returns whether lines of the kind may begin with numbers as a matter of course.
    pub(super) fn is_data(&self) -> bool {
        self.is_of(&DATA)
    }

    /// Returns whether entities such as `&lt;` are part of the text of the kind.
    pub(super) fn has_entities(&self) -> bool {
        self.is_of(&WITH_ENTITIES)
    }

    /// Returns whether brackets around a whole line are the head of a section.
    pub(super) fn has_section_heads(&self) -> bool {
        self.is_of(&["ini", "toml", "cfg", "conf", "editorconfig", "gitconfig", "service", "desktop"])
    }

    /// Returns whether lines of the kind may begin with signs: what is added to other settings, and rules of access.
    pub(super) fn has_signs(&self) -> bool {
        self.is_of(&["ini", "conf", "cfg"])
    }

    /// Returns whether the file is one of YAML, whose blocks of text are indented.
    pub(super) fn is_yaml(&self) -> bool {
        self.is_of(&["yml", "yaml"])
    }

    /// Returns whether dots may be a statement.
    pub(super) fn is_python(&self) -> bool {
        self.is_of(&["py", "pyi"])
    }

    /// Returns whether a file of the kind is a patch.
    pub(super) fn is_patch(&self) -> bool {
        self.is_of(&["patch", "diff", "rej", "dpatch"])
    }

    /// Returns whether the marks of a patch may be lines of the kind as a matter of course.
    pub(super) fn may_hold_patches(&self) -> bool {
        self.is_patch() || self.is_of(&PROSE) || self.is_data()
    }

    /// Returns whether numbers before lines of the kind are hardly ever part of them.
    pub(super) fn is_code(&self) -> bool {
        !self.may_begin_with_fence() || self.is_of(&PROSE) || self.has_such_grammar()
    }

    /// Returns whether numbers before lines of the kind are never part of them.
    pub(super) fn has_no_numbers(&self) -> bool {
        self.is_of(&CODE) || self.has_such_grammar()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_lines_may_begin_with() {
        for (name, [fence, data, code, no_numbers]) in [
            ("a.yml", [false, false, true, true]),
            ("docker/Dockerfile", [false, false, true, true]),
            ("A.RB", [false, false, true, true]),
            ("a.py", [true, false, true, true]),
            ("seed.sql", [false, false, true, false]),
            ("README.md", [true, false, true, false]),
            ("a.tsv", [true, true, false, false]),
            ("page.golden", [true, true, false, false]),
            ("labels", [true, false, false, false]),
        ] {
            let kind = FileKind::of(name);
            let found = [kind.may_begin_with_fence(), kind.is_data(), kind.is_code(), kind.has_no_numbers()];
            assert_eq!(found, [fence, data, code, no_numbers], "{name}");
        }
    }
}
