//! Shared memory of the machine, for children that have none of their own. Its names are the same for everybody, and nothing
//! says who left a file there, so it belongs to one owner at a time, and to none who would find files of another.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use super::plan::{SHARED_MEMORY, Sandbox};

/// Who uses the shared memory: the agent's commands, or a hook or a gate.
#[derive(Debug, Default)]
pub(super) struct SharedMemory(Mutex<Usage>);

#[derive(Debug, Default)]
struct Usage {
    /// Who used it last, if anybody did.
    last: Option<Owner>,
    /// How many children are using it.
    children: usize,
}

#[derive(Debug, PartialEq, Eq)]
enum Owner {
    Agent,
    /// A hook or a gate, by its name.
    Program(String),
}

/// The use of shared memory by one child, until it has ended.
#[derive(Debug)]
pub(in crate::command) struct SharedMemoryUse(Arc<SharedMemory>);

impl SharedMemoryUse {
    /// Makes the use last, because the child may not have ended.
    pub(in crate::command) fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for SharedMemoryUse {
    fn drop(&mut self) {
        self.0.0.lock().children -= 1;
    }
}

impl Sandbox {
    /// Returns the use of the machine's shared memory by one more child; `None` if the child could find there what others left.
    pub(in crate::command) fn shared_memory(&self, owner: Option<&str>) -> Option<SharedMemoryUse> {
        self.0.shared_memory.take(owner, || is_empty(Path::new(SHARED_MEMORY)))
    }

    /// Returns whether children may have left something in the machine's shared memory.
    pub(super) fn has_left_memory(&self) -> bool {
        let state = self.0.shared_memory.0.lock();
        state.last.is_some() && !is_empty(Path::new(SHARED_MEMORY))
    }
}

impl SharedMemory {
    fn take(
        self: &Arc<Self>,
        owner: Option<&str>,
        is_empty: impl FnOnce() -> bool,
    ) -> Option<SharedMemoryUse> {
        let owner = owner.map_or(Owner::Agent, |name| Owner::Program(name.to_owned()));
        let mut state = self.0.lock();
        let is_same = state.last.as_ref() == Some(&owner);
        if !is_same && (state.children > 0 || !is_empty()) {
            return None;
        }
        state.last = Some(owner);
        state.children += 1;
        Some(SharedMemoryUse(Arc::clone(self)))
    }
}

/// Returns whether nothing in a folder belongs to this user. To root, everything does.
#[cfg(unix)]
fn is_empty(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let user = rustix::process::geteuid();
    let is_ours = |entry: fs::DirEntry| {
        user.is_root() || entry.metadata().map_or(true, |metadata| metadata.uid() == user.as_raw())
    };
    fs::read_dir(folder).is_ok_and(|mut entries| !entries.any(|entry| entry.map_or(true, is_ours)))
}

/// Returns `false`: other systems have no such folder.
#[cfg(not(unix))]
fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_belongs_to_one_owner_until_it_is_empty_again() {
        let memory = Arc::<SharedMemory>::default();
        let agent = memory.take(None, || true).expect("it is empty");
        assert!(memory.take(None, || false).is_some(), "what is there is the agent's own");
        assert!(memory.take(Some("gate"), || true).is_none(), "a command is running");
        drop(agent);
        assert!(memory.take(Some("gate"), || false).is_none(), "something is left");
        let gate = memory.take(Some("gate"), || true).expect("it is empty");
        assert!(memory.take(None, || true).is_none(), "the gate is running");
        gate.keep();
        assert!(memory.take(None, || true).is_none(), "the gate may be running");
    }

    #[test]
    fn what_belongs_to_this_user_is_noticed() {
        let dir = tempfile::tempdir().expect("a folder");
        assert!(is_empty(dir.path()) && !is_empty(&dir.path().join("missing")));
        fs::write(dir.path().join("left"), "").expect("a file");
        assert!(!is_empty(dir.path()));
    }
}
