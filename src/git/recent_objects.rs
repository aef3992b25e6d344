//! Recently read objects: commits and folders, which a run asks for again and again while it starts.

use std::collections::HashMap;

use gix_hash::ObjectId;
use gix_object::Kind;
use parking_lot::Mutex;

/// Maximum number of bytes that are kept.
const MAX_BYTES: usize = 256 * 1024;

/// Maximum size of an object that is kept, in bytes.
const MAX_OBJECT: usize = 32 * 1024;

/// Contents of commits and trees that matched their ids when they were read; an object never changes.
#[derive(Default)]
pub(super) struct RecentObjects(Mutex<Objects>);

#[derive(Default)]
struct Objects {
    by_id: HashMap<ObjectId, (Kind, Vec<u8>)>,
    bytes: usize,
}

impl RecentObjects {
    /// Returns the content of an object of a kind, if it is kept.
    pub(super) fn get(&self, id: &ObjectId, kind: Kind) -> Option<Vec<u8>> {
        let objects = self.0.lock();
        objects.by_id.get(id).filter(|(found, _)| *found == kind).map(|(_, content)| content.clone())
    }

    /// Keeps the content of a small commit or tree. Where there is no room, all others are dropped.
    pub(super) fn put(&self, id: &ObjectId, kind: Kind, content: &[u8]) {
        if !matches!(kind, Kind::Commit | Kind::Tree) || content.len() > MAX_OBJECT {
            return;
        }
        let mut objects = self.0.lock();
        if objects.bytes + content.len() > MAX_BYTES {
            *objects = Objects::default();
        }
        if objects.by_id.insert(*id, (kind, content.to_vec())).is_none() {
            objects.bytes += content.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u8) -> ObjectId {
        ObjectId::from([number; 20])
    }

    #[test]
    fn recent_objects_are_small_commits_and_trees() {
        let recent = RecentObjects::default();
        recent.put(&id(1), Kind::Commit, b"commit");
        recent.put(&id(2), Kind::Blob, b"a file");
        recent.put(&id(3), Kind::Tree, &vec![0; MAX_OBJECT + 1]);
        assert_eq!(recent.get(&id(1), Kind::Commit).as_deref(), Some(b"commit".as_slice()));
        assert_eq!(recent.get(&id(1), Kind::Tree), None);
        assert_eq!(recent.get(&id(2), Kind::Blob), None);
        assert_eq!(recent.get(&id(3), Kind::Tree), None);
    }

    #[test]
    fn recent_objects_have_a_limit() {
        let recent = RecentObjects::default();
        for number in 0..=u8::MAX {
            recent.put(&id(number), Kind::Tree, &vec![number; MAX_OBJECT / 2]);
            assert!(recent.0.lock().bytes <= MAX_BYTES);
            assert_eq!(recent.get(&id(number), Kind::Tree), Some(vec![number; MAX_OBJECT / 2]));
        }
        assert_eq!(recent.get(&id(0), Kind::Tree), None);
    }
}
