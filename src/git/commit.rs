//! Commit creation: the new tree is the parent's verified tree with the given files put in, and nothing else.

use gix_hash::ObjectId;
use gix_object::tree::EntryKind;
use gix_object::{Kind, Tree, TreeRef, Write, WriteTo};
use workspace::{FileState, Mode};

use super::objects::{Verified, corrupt};
use super::private::PrivateRepository;
use super::{GitError, Repository};
use crate::base::clock::now_utc;

/// The author and committer of a commit.
#[derive(Clone, Copy, Debug)]
pub struct Author {
    /// The display name.
    pub name: &'static str,
    /// The email address.
    pub email: &'static str,
}

impl Repository {
    /// Creates a commit on top of `parent` in a private repository, without touching the clone. Returns its
    /// id. `files` holds paths from the repository's root; `None` deletes a file.
    pub(super) fn commit_upon(
        &self,
        private: &PrivateRepository,
        parent: &str,
        files: &[(String, Option<FileState>)],
        message: &str,
        author: Author,
    ) -> Result<String, GitError> {
        let target = Objects(gix_odb::loose::Store::at(private.objects(), self.held.hash));
        let tree = self.edited_tree(parent, files, |kind, data| target.write(kind, data))?;
        let who = format!("{} <{}> {} +0000", author.name, author.email, now_utc().unix_timestamp());
        let text = format!(
            "tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\n{}\n",
            message.trim_end()
        );
        Ok(target.write(Kind::Commit, text.as_bytes())?.to_string())
    }

    /// Returns the id of the tree of a commit with the given files put in, and writes nothing.
    pub fn tree_with(&self, parent: &str, files: &[(String, Option<FileState>)]) -> Result<String, GitError> {
        let id = |kind, data: &[u8]| {
            gix_object::compute_hash(self.held.hash, kind, data).map_err(|error| failed(&error))
        };
        Ok(self.edited_tree(parent, files, id)?.to_string())
    }

    /// Puts files into the tree of a commit. `write` takes every new object, and returns its id.
    fn edited_tree(
        &self,
        parent: &str,
        files: &[(String, Option<FileState>)],
        write: impl Fn(Kind, &[u8]) -> Result<ObjectId, GitError>,
    ) -> Result<ObjectId, GitError> {
        let id = self.tree_of(parent)?;
        let data = self.object(&id, Kind::Tree)?;
        let tree = TreeRef::from_bytes(&data, self.held.hash).map_err(|error| corrupt(&id, &error))?;
        let objects = Verified(self.store()?);
        let mut editor = gix_object::tree::Editor::new(Tree::from(tree), &objects, self.held.hash);
        for (path, state) in files {
            let names = path.split('/');
            let changed = match state {
                None => editor.remove(names),
                Some(state) => {
                    let kind = match state.mode {
                        Mode::Regular => EntryKind::Blob,
                        Mode::Executable => EntryKind::BlobExecutable,
                        Mode::Link => EntryKind::Link,
                    };
                    editor.upsert(names, kind, write(Kind::Blob, &state.content)?)
                }
            };
            changed.map_err(|error| failed(&error))?;
        }
        editor
            .write(|tree| {
                let mut data = Vec::new();
                tree.write_to(&mut data).map_err(GitError::from)?;
                write(Kind::Tree, &data)
            })
            .map_err(|error| failed(&error))
    }
}

/// The loose object store that receives new objects.
struct Objects(gix_odb::loose::Store);

impl Objects {
    fn write(&self, kind: Kind, data: &[u8]) -> Result<ObjectId, GitError> {
        self.0.write_buf(kind, data).map_err(|error| failed(&error))
    }
}

fn failed(error: &impl ToString) -> GitError {
    GitError::Failed { command: "commit".to_owned(), message: error.to_string() }
}
