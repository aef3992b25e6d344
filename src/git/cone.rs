//! Cones: the part of a commit that a sparse checkout has, in the form in which Git reads it.

use std::collections::BTreeSet;

/// The folders that a checkout has, together with the files that lie next to the folders above them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cone(BTreeSet<String>);

impl Cone {
    /// Returns the cone of these folders, as paths from the root; `None` if it would be the whole commit, or if Git has no
    /// way to write a name.
    pub fn new(folders: impl IntoIterator<Item = String>) -> Option<Self> {
        let mut cone = BTreeSet::new();
        for folder in folders {
            let names: Vec<&str> = folder.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
            if names.is_empty() || names.contains(&"..") || folder.contains(['\n', '\r', '\0']) {
                return None;
            }
            cone.insert(names.join("/"));
        }
        (!cone.is_empty()).then_some(Self(cone))
    }

    /// Returns the folders of which the checkout has everything.
    pub fn leaves(&self) -> impl Iterator<Item = &str> {
        let is_covered = |path: &str| above(path).any(|folder| self.0.contains(folder));
        self.0.iter().map(String::as_str).filter(move |path| !is_covered(path))
    }

    /// Returns the folders above these, of which the checkout has only the files in them, without the root.
    pub fn parents(&self) -> BTreeSet<&str> {
        self.leaves().flat_map(above).collect()
    }

    /// Returns the patterns of Git's cone mode.
    pub(super) fn patterns(&self) -> String {
        let (leaves, parents) = (self.leaves(), self.parents());
        let mut text = "/*\n!/*/\n".to_owned();
        for parent in parents {
            let parent = escaped(parent);
            text += &format!("/{parent}/\n!/{parent}/*/\n");
        }
        for leaf in leaves {
            text += &format!("/{}/\n", escaped(leaf));
        }
        text
    }
}

/// Returns the folders above a path, without the root.
fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(move |(end, _)| &path[..end])
}

fn escaped(path: &str) -> String {
    let mut text = String::new();
    for letter in path.chars() {
        if matches!(letter, '*' | '?' | '[' | '\\') {
            text.push('\\');
        }
        text.push(letter);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cone(folders: &[&str]) -> Option<String> {
        Cone::new(folders.iter().map(|folder| (*folder).to_owned())).map(|cone| cone.patterns())
    }

    #[test]
    fn cones_have_their_folders_and_files_beside_those_above() {
        assert_eq!(cone(&["a"]).as_deref(), Some("/*\n!/*/\n/a/\n"));
        assert_eq!(
            cone(&["./p/b/", "p/a/x", "p/a", ".github"]).as_deref(),
            Some("/*\n!/*/\n/p/\n!/p/*/\n/.github/\n/p/a/\n/p/b/\n")
        );
        assert_eq!(cone(&["[a]*?\\"]).as_deref(), Some("/*\n!/*/\n/\\[a]\\*\\?\\\\/\n"));
        for whole in [&["."][..], &["a", ""], &["a/../b"], &["a\nb"], &[]] {
            assert_eq!(cone(whole), None, "{whole:?}");
        }
    }
}
