//! Suggestions for paths at which there is nothing.

use workspace::{LastLink, WorkspacePath};

use super::Context;
use crate::base::did_you_mean::similarity;

/// Maximum number of paths suggested.
const MAX: usize = 3;

/// Returns the paths that are most likely meant by one at which there is nothing, as a clause to be added to an error;
/// empty if there are none.
pub(super) fn suggestion(path: &WorkspacePath, cx: &Context) -> String {
    if path.as_str().contains(['*', '?', '{']) {
        return format!(
            "; a path is no pattern, and what matches one is listed by list_files(pattern=\"{path}\")"
        );
    }
    let paths = nearest(path, cx);
    if paths.is_empty() { String::new() } else { format!("; did you mean {}?", paths.join(" or ")) }
}

/// Returns the files and folders of the same or a similar name, wherever they are, the most similar first.
fn nearest(path: &WorkspacePath, cx: &Context) -> Vec<String> {
    let Some(name) = path.file_name() else { return Vec::new() };
    let walk = cx
        .workspace
        .resolve(&WorkspacePath::root(), LastLink::Follow)
        .and_then(|root| cx.workspace.walk(&root, None))
        .unwrap_or_default();
    let wanted_folder = path.parent();
    let mut found: Vec<(f64, String)> = walk
        .found
        .iter()
        .filter(|found| cx.sensitive.find(&found.path).is_none())
        .filter_map(|found| {
            let alike = similarity(&name.to_lowercase(), &found.path.file_name()?.to_lowercase())?;
            // Of equal names, the one whose path has most in common is meant.
            let near = if found.path.parent() == wanted_folder {
                0.2
            } else {
                0.1 * strsim::normalized_levenshtein(path.as_str(), found.path.as_str())
            };
            Some((alike + near, format!("{}{}", found.path, if found.directory { "/" } else { "" })))
        })
        .collect();
    found.sort_by(|(a, x), (b, y)| b.total_cmp(a).then_with(|| x.cmp(y)));
    found.into_iter().take(MAX).map(|(_, path)| path).collect()
}
