//! History as it would be if some files had never been committed: trees without them take the place of those that hold
//! them, by Git's own replacements, so that commits keep their names.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use gix_hash::ObjectId;
use gix_object::{Kind, TreeRefIter, Write};

use super::objects::{Places, Verified, corrupt};
use super::{GitError, Repository};

/// Maximum number of folders that are looked at, each at each of its paths.
const MAX_FOLDERS: usize = 2_000_000;

/// What stands in for what.
#[derive(Debug, Default)]
pub(super) struct Rewritten {
    /// The trees that hold withheld files, and the ones without them.
    pub(super) trees: BTreeMap<ObjectId, ObjectId>,
    /// The contents that withheld files ever had, and no other file.
    pub(super) withheld: HashSet<ObjectId>,
}

/// What a walk of trees has come to.
#[derive(Default)]
struct Walk {
    seen: HashSet<(ObjectId, String, bool)>,
    open: Vec<(ObjectId, String, bool)>,
    places: Places,
    /// Names that are withheld, by the tree that holds them.
    dropped: BTreeMap<ObjectId, BTreeSet<Vec<u8>>>,
    withheld: HashSet<ObjectId>,
    shown: HashSet<ObjectId>,
}

impl Walk {
    fn visit(&mut self, id: ObjectId, path: String, is_withheld: bool) {
        if self.seen.insert((id, path.clone(), is_withheld)) {
            self.open.push((id, path, is_withheld));
        }
    }
}

impl Repository {
    /// Rewrites the trees below `roots` that hold withheld files, to a store of objects.
    pub(super) fn rewrite(
        &self,
        roots: &[ObjectId],
        is_withheld: &dyn Fn(&str) -> bool,
        to: &gix_odb::loose::Store,
    ) -> Result<Rewritten, GitError> {
        let objects = Verified(self.store()?);
        let mut walk = Walk::default();
        for root in roots {
            walk.visit(*root, String::new(), false);
        }
        while let Some((id, above, is_below_withheld)) = walk.open.pop() {
            walk.places.add(id)?;
            if walk.seen.len() > MAX_FOLDERS {
                return Err(GitError::TooLarge(format!("the history has more than {MAX_FOLDERS} folders")));
            }
            let data = match objects.read(&id, Kind::Tree) {
                Ok(data) => data,
                // A clone need not hold all; what is not there shows nothing.
                Err(GitError::Missing(_)) => continue,
                Err(error) => return Err(error),
            };
            for entry in TreeRefIter::from_bytes(&data, self.held.hash) {
                let entry = entry.map_err(|error| corrupt(&id, &error))?;
                let path = format!("{above}{}", String::from_utf8_lossy(entry.filename));
                let goes = is_below_withheld || is_withheld(&path);
                if goes && !is_below_withheld {
                    walk.dropped.entry(id).or_default().insert(entry.filename.to_vec());
                }
                if entry.mode.is_tree() {
                    walk.visit(entry.oid.to_owned(), path + "/", goes);
                } else if !entry.mode.is_commit() {
                    let ids = if goes { &mut walk.withheld } else { &mut walk.shown };
                    ids.insert(entry.oid.to_owned());
                }
            }
        }
        let mut trees = BTreeMap::new();
        for (id, names) in &walk.dropped {
            let without = self.tree_without(&objects, id, names)?;
            let written = to.write_buf(Kind::Tree, &without).map_err(|error| corrupt(id, &error))?;
            trees.insert(*id, written);
        }
        let withheld = walk.withheld.difference(&walk.shown).copied().collect();
        Ok(Rewritten { trees, withheld })
    }

    /// Returns a tree as Git writes it, without the entries of these names.
    fn tree_without(
        &self,
        objects: &Verified,
        id: &ObjectId,
        names: &BTreeSet<Vec<u8>>,
    ) -> Result<Vec<u8>, GitError> {
        let data = objects.read(id, Kind::Tree)?;
        let mut without = Vec::with_capacity(data.len());
        for entry in TreeRefIter::from_bytes(&data, self.held.hash) {
            let entry = entry.map_err(|error| corrupt(id, &error))?;
            let name: &[u8] = entry.filename;
            if !names.contains(name) {
                // "<mode> <name>\0<id>"
                without.extend(format!("{:o} ", entry.mode.value()).bytes());
                without.extend(name);
                without.push(0);
                without.extend(entry.oid.as_bytes());
            }
        }
        Ok(without)
    }
}
