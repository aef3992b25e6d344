//! Tool `edit_file`.

use schemars::JsonSchema;
use serde::Deserialize;
use workspace::{FileError, FileState, ResolvedPath};

use super::diff_as_text::Place;
use super::line_edit::{LineRange, replace_lines, replace_near};
use super::line_ends::plain;
use super::line_moves::Moves;
use super::misquoted::check_entities;
use super::misquoted_file::{Meant, meant, meant_part};
use super::numbered_block::Numbered;
use super::numbered_text::{self, NewText, new_text};
use super::outcome::store;
use super::read_file::resolve;
use super::replace_block::{Edited, NotReplaced, line_of, replace};
use super::text_file::{encoded, text_of, without_mark};
use super::{Context, FileTool, ToolError, ToolInfo, ToolResult, placeholder};
use crate::base::encoding::TextEncoding;
use crate::base::text::counted;
use crate::event::Effects;

/// Tool that replaces one block of text.
pub(super) struct EditFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
// What takes their place is not offered.
#[schemars(extend("required" = ["path", "old_str", "new_str"]))]
pub(super) struct Args {
    /// File
    path: String,
    /// Text to replace; must occur exactly once
    #[serde(default)]
    old_str: String,
    /// Text to put in its place
    #[serde(default)]
    new_str: Option<String>,
    /// Replace every occurrence
    #[serde(default)]
    replace_all: bool,
    /// The first of the lines to replace if there is no old text, else the line near which it is.
    #[serde(default)]
    #[schemars(skip)]
    start_line: Option<usize>,
    /// The last of these lines.
    #[serde(default)]
    #[schemars(skip)]
    end_line: Option<usize>,
    /// Refuse if there are more or fewer places.
    #[serde(default)]
    #[schemars(skip)]
    expect_count: Option<usize>,
    /// Several edits, in order: all are made, or none.
    #[serde(default)]
    #[schemars(skip)]
    edits: Vec<Edit>,
}

/// One of several edits of a call.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Edit {
    old_str: String,
    new_str: String,
    #[serde(default)]
    replace_all: bool,
    /// The line near which the old text is in the file before all edits of the call.
    #[serde(default)]
    start_line: Option<usize>,
    /// The last line in which it may be, likewise.
    #[serde(default)]
    end_line: Option<usize>,
}

impl Edit {
    /// Returns the lines that the edit names, in which its old text was before the call.
    fn lines(&self) -> Option<LineRange> {
        let first = self.start_line.or(self.end_line.map(|_| 1))?;
        let length = self.old_str.trim_end_matches('\n').matches('\n').count();
        Some(LineRange { first, last: self.end_line.unwrap_or(first.saturating_add(length)) })
    }
}

impl Edit {
    /// Returns the edit for the text behind the mark of a file. Where the text itself has that character, it may be meant.
    fn without_mark(&self, content: &str, encoding: TextEncoding) -> Self {
        if content.contains('\u{feff}') {
            return self.clone();
        }
        let plain = |text: &String| without_mark(text, encoding).unwrap_or(text).to_owned();
        Self { old_str: plain(&self.old_str), new_str: plain(&self.new_str), ..*self }
    }
}

impl Args {
    /// Returns the one edit of the call. What is forgotten must not delete anything.
    fn single(&self) -> Result<Edit, ToolError> {
        let Self { path, old_str, new_str, replace_all, .. } = self;
        let Some(new_str) = new_str.clone() else {
            return Err(ToolError::Refused(format!(
                "new_str is missing: edit_file(path={path:?}, old_str=…, new_str=…); new_str=\"\" deletes the text"
            )));
        };
        let (start_line, end_line) = (None, None);
        Ok(Edit { old_str: old_str.clone(), new_str, replace_all: *replace_all, start_line, end_line })
    }
}

impl Args {
    /// Returns the lines that the call names, where the old text is given, or is to be so many lines.
    fn lines(&self) -> Option<LineRange> {
        let first = self.start_line.or(self.end_line.map(|_| 1))?;
        let length = self.old_str.trim_end_matches('\n').matches('\n').count();
        let last = if self.replace_all { LineRange::END } else { first.saturating_add(length) };
        Some(LineRange { first, last: self.end_line.unwrap_or(last) })
    }

    /// Returns whether the call says what a new file is, as other agents create files: the first edit is one of nothing.
    fn creates(&self) -> bool {
        let first = self.edits.first().map_or(&self.old_str, |edit| &edit.old_str);
        first.is_empty() && self.lines().is_none()
    }

    /// Returns the lines that an edit names, where earlier ones of the call have moved them by `moved`.
    fn lines_of(&self, edit: &Edit, moved: isize) -> Option<LineRange> {
        edit.lines().map(|lines| lines.moved(moved)).or_else(|| self.lines())
    }

    /// Returns whether an edit is one of whole lines, of which nothing but their numbers is given.
    fn is_of_lines_alone(&self, edit: &Edit) -> bool {
        edit.old_str.is_empty() && edit.start_line.is_none() && self.start_line.is_some()
    }

    /// Makes an edit of the call.
    fn apply(&self, edit: &Edit, content: &str, moved: isize) -> Result<Edited, NotReplaced> {
        let edited = match self.lines_of(edit, moved) {
            Some(lines) if self.is_of_lines_alone(edit) => replace_lines(content, lines, &edit.new_str),
            Some(lines) => replace_near(content, &edit.old_str, &edit.new_str, lines, edit.replace_all),
            None => replace(content, &edit.old_str, &edit.new_str, edit.replace_all),
        }?;
        let name = self.path.trim_end_matches(['`', '"', '\'', ' ']);
        check_entities(name, edited.note.as_deref(), &edit.new_str)
            .map_err(|unclear| NotReplaced::because(unclear.to_string()))?;
        Ok(edited)
    }

    /// Returns the text that an edit means to write in place of a diff, or of a text in a fence. Of a part of a line, a sign is none of
    /// a diff.
    fn without_marks(
        &self,
        edit: &Edit,
        path: &ResolvedPath,
        file: &str,
        moved: isize,
    ) -> Result<Option<Meant>, ToolError> {
        if !edit.new_str.trim_end().contains('\n') {
            return Ok(None);
        }
        let whole = |text: &str| {
            let edit = Edit { new_str: text.to_owned(), ..edit.clone() };
            self.apply(&edit, file, moved).map_or_else(|_| String::new(), |edited| edited.content)
        };
        let (name, old) = (path.file_name().unwrap_or_default(), Some(edit.old_str.as_str()));
        let place = Place { name, old: old.filter(|old| !old.is_empty()), file, whole: &whole };
        let diff = place.meant("new_str", path.as_str(), &edit.new_str)?;
        Ok(diff.or_else(|| meant_part(name, &edit.new_str, file, &whole)))
    }

    /// Returns an edit with the text that it means to write, or `None` if it is the one that is given.
    fn without_numbers(
        &self,
        edit: &Edit,
        path: &ResolvedPath,
        content: &str,
        moved: isize,
    ) -> Result<Option<Edit>, ToolError> {
        let Some(block) = Numbered::parse(&edit.new_str) else { return Ok(None) };
        let given = self.lines_of(edit, moved).map(|lines| lines.first);
        let found = || {
            let (content, old) = (plain(content), plain(&edit.old_str));
            content.find(&old).map(|at| line_of(&content, at))
        };
        let line = given.filter(|line| block.begins_at(*line) || edit.old_str.is_empty()).or_else(found);
        match new_text(path.file_name().unwrap_or_default(), content, &edit.old_str, &edit.new_str, line) {
            NewText::Given => Ok(None),
            NewText::Plain(new_str) => Ok(Some(Edit { new_str, ..edit.clone() })),
            NewText::Unclear => Err(ToolError::Refused(numbered_text::refusal("new_str", path.as_str()))),
        }
    }
}

impl Args {
    /// Creates the file of the first edit, or fills one that is empty, and makes the other edits in it.
    fn create(
        &self,
        path: &ResolvedPath,
        empty: Option<FileState>,
        cx: &Context,
    ) -> Result<ToolResult, ToolError> {
        let given = match self.edits.first() {
            Some(first) => first.new_str.clone(),
            None => self.single()?.new_str,
        };
        if let Some(line) = placeholder::left_out(&given, "") {
            return Err(ToolError::Refused(placeholder::refusal("new_str", line, path.as_str())));
        }
        let name = path.file_name().unwrap_or_default();
        let place = Place { name, old: None, file: "", whole: &|text| text.to_owned() };
        let diff = place.meant("new_str", path.as_str(), &given)?;
        let meant = diff.or_else(|| meant(name, &given, None));
        let mut content = meant.as_ref().map_or(given, |meant| meant.text.clone());
        let others = self.edits.get(1..).unwrap_or_default();
        for (index, edit) in others.iter().enumerate() {
            let edited = self.apply(edit, &content, 0).map_err(|error| {
                ToolError::Refused(format!(
                    "edit {} of {}: {error}; none was made",
                    index + 2,
                    self.edits.len()
                ))
            })?;
            content = edited.content;
        }
        let mut result = store(path, empty, content.into_bytes(), cx)?;
        if let Some(meant) = meant {
            result.output += &format!("\n[{}]", meant.note);
        }
        Ok(result)
    }
}

impl FileTool for EditFile {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "edit_file",
            description: "Replace one block of text in a file, with enough lines around it to be unique, or every occurrence.",
            sensitive: true,
            successor: None,
        }
    }

    fn effects(&self, args: &Args, cx: &Context) -> Result<Effects, ToolError> {
        Ok(Effects::write(&resolve(&args.path, cx)?))
    }

    fn run(&self, args: &Args, cx: &Context) -> Result<ToolResult, ToolError> {
        let path = resolve(&args.path, cx)?;
        let before = match cx.workspace.read(&path) {
            Err(FileError::Missing(_)) if args.creates() => return args.create(&path, None, cx),
            Ok(before) if args.creates() && before.content.is_empty() => {
                return args.create(&path, Some(before), cx);
            }
            before => before?,
        };
        if !args.edits.is_empty()
            && (!args.old_str.is_empty() || args.new_str.is_some() || args.lines().is_some())
        {
            return Err(ToolError::Refused(
                "give either `edits` or `old_str` and `new_str`, not both; nothing was changed".to_owned(),
            ));
        }
        let stale = cx.seen.is_stale(&path, &before);
        let edits = if args.edits.is_empty() { vec![args.single()?] } else { args.edits.clone() };
        let text = text_of(&path, &before)?;
        let (mut content, encoding) = (text.text.into_owned(), text.encoding);
        let (mut notes, mut times) = (Vec::new(), 0);
        let mut moves = Moves::default();
        for (index, edit) in edits.iter().enumerate() {
            let edit = edit.without_mark(&content, encoding);
            let moved = edit.start_line.map_or(0, |line| moves.of(line));
            let plain = args.without_numbers(&edit, &path, &content, moved)?;
            if plain.is_some() {
                notes.push("the line numbers in new_str were left out".to_owned());
            }
            let mut edit = plain.unwrap_or(edit);
            // Whoever writes a recipe means what it says.
            let meant =
                if cx.explains_edits { args.without_marks(&edit, &path, &content, moved)? } else { None };
            if let Some(meant) = meant {
                notes.push(meant.note.to_owned());
                edit.new_str = meant.text;
            }
            let edit = &edit;
            let edited = args.apply(edit, &content, moved).map_err(|error| {
                let mut reason = error.to_string();
                if edits.len() > 1 {
                    reason = format!("edit {} of {}: {reason}; none was made", index + 1, edits.len());
                }
                if stale {
                    reason += "\nthe file has changed since it was last read; read it again";
                }
                ToolError::Refused(reason)
            })?;
            if edited.is_by_number && moves.are_unclear(edit.start_line) {
                return Err(ToolError::Refused(format!(
                    "edit {} of {}: nothing but its line number says which of several equal places is meant, and an earlier edit has \
                     moved the lines; none was made: give old_str with lines around it, or make two calls",
                    index + 1,
                    edits.len()
                )));
            }
            // Whoever writes a recipe knows the lines.
            if args.is_of_lines_alone(edit) || cx.explains_edits && edited.is_by_number {
                cx.seen.check_lines(&path, &before)?;
            }
            if let Some(line) = placeholder::found(path.as_str(), &edit.new_str, &content, &edited.content) {
                return Err(ToolError::Refused(placeholder::refusal("new_str", line, path.as_str())));
            }
            match edit.lines() {
                Some(lines) => moves.note(lines, &edit.old_str, &content, &edited),
                None => moves.note_unknown(&content, &edited),
            }
            content = edited.content;
            times += edited.times;
            notes.extend(edited.note);
        }
        if let Some(expected) = args.expect_count.filter(|expected| *expected != times) {
            return Err(ToolError::Refused(format!(
                "found {}, not {expected}; nothing was changed",
                counted(times, "occurrence", "s")
            )));
        }
        let mut result = store(&path, Some(before), encoded(&path, content, encoding)?, cx)?;
        if args.replace_all && !result.changes.is_empty() {
            notes.insert(0, format!("{} replaced", counted(times, "occurrence", "s")));
        }
        for note in notes {
            result.output += &format!("\n[{note}]");
        }
        Ok(result)
    }
}
