//! Tool `move_file`.

use schemars::JsonSchema;
use serde::Deserialize;
use workspace::{FileChange, FileError, Kind, LastLink, ResolvedPath, WorkspacePath};

use super::outcome::undone;
use super::path_forms::parsed;
use super::read_file::resolve;
use super::{Context, FileTool, ToolError, ToolInfo, ToolResult};
use crate::base::text::counted;
use crate::event::Effects;

/// Tool that moves or renames a file, or all files of a folder.
pub(super) struct MoveFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// File or folder
    from: String,
    /// New path, which must not exist
    to: String,
}

/// A file, and where it is to be.
struct Move {
    from: ResolvedPath,
    to: ResolvedPath,
}

impl FileTool for MoveFile {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "move_file",
            description: "Move or rename a file or a folder; makes missing folders.",
            sensitive: true,
            successor: None,
        }
    }

    fn effects(&self, args: &Args, cx: &Context) -> Result<Effects, ToolError> {
        let moves = moves(args, cx)?;
        let both = |one: &Move| [WorkspacePath::clone(&one.from), WorkspacePath::clone(&one.to)];
        Ok(Effects { writes: moves.iter().flat_map(both).collect(), ..Effects::default() })
    }

    fn run(&self, args: &Args, cx: &Context) -> Result<ToolResult, ToolError> {
        let moves = moves(args, cx)?;
        let mut changes = Vec::with_capacity(moves.len() * 2);
        for one in &moves {
            cx.check_end().map_err(|error| undone(&error, &changes, cx))?;
            if let Err(error) = carry_out(one, &mut changes, cx) {
                return Err(undone(&error, &changes, cx));
            }
        }
        let what = match moves.as_slice() {
            [one] => format!("Moved {} to {}", one.from, one.to),
            _ => format!("Moved {} from {} to {}", counted(moves.len(), "file", "s"), args.from, args.to),
        };
        Ok(ToolResult { changes, ..ToolResult::done(what) })
    }
}

/// Moves one file, and adds what changed by it.
fn carry_out(one: &Move, changes: &mut Vec<FileChange>, cx: &Context) -> Result<(), FileError> {
    let state = cx.workspace.read(&one.from)?;
    cx.workspace.place(&one.to, &state)?;
    changes.extend(FileChange::new((*one.to).clone(), None, Some(state.clone())));
    cx.seen.note_written(&one.to, &state);
    cx.workspace.remove(&one.from)?;
    changes.extend(FileChange::new((*one.from).clone(), Some(state), None));
    Ok(())
}

/// Returns the files that a call moves; a folder is all of its files.
fn moves(args: &Args, cx: &Context) -> Result<Vec<Move>, ToolError> {
    let workspace = &cx.workspace;
    let from = workspace.resolve(&parsed(&args.from, &**workspace)?, LastLink::Keep)?;
    let mut to = resolve(&args.to, cx)?;
    let refused = |reason: String| Err(ToolError::Refused(reason));
    // A folder as the target means a place in it, as for `mv`.
    let is_folder = workspace.stat(&to)?.is_some_and(|stat| stat.kind == Kind::Directory);
    if let (true, Some(name)) = (is_folder || args.to.ends_with('/'), from.file_name()) {
        to = resolve(&format!("{to}/{name}"), cx)?;
    }
    if workspace.stat(&to)?.is_some() {
        return refused(format!("{to} already exists; delete it first, or choose another path"));
    }
    match workspace.stat(&from)?.map(|stat| stat.kind) {
        None => Err(FileError::Missing((*from).clone()).into()),
        Some(Kind::File) => Ok(vec![Move { from, to }]),
        Some(Kind::Link) => refused(format!("{from} is a link; move its target")),
        Some(Kind::Special) => Err(FileError::Special((*from).clone()).into()),
        Some(Kind::Directory) if from.is_root() || to.is_within(&from) => {
            refused(format!("{from} cannot be moved into itself"))
        }
        Some(Kind::Directory) => {
            let walk = workspace.walk(&from, None)?;
            if !walk.links.is_empty() || walk.skipped > 0 {
                return refused(format!(
                    "{from} contains links or files without a readable name; move its files"
                ));
            }
            let files = walk.found.into_iter().filter(|found| !found.directory);
            let one = |file: workspace::WalkEntry| {
                let below = file.path.relative_to(&from).unwrap_or_default();
                Ok(Move { to: resolve(&format!("{to}/{below}"), cx)?, from: file.path })
            };
            let moves: Vec<Move> = files.map(one).collect::<Result<_, ToolError>>()?;
            if moves.is_empty() { refused(format!("{from} contains no files")) } else { Ok(moves) }
        }
    }
}
