//! Shared memory of the machine, for children that have none of their own. Its names are the same for everybody, and nothing
//! says who left a file there, so it belongs to one owner at a time, and to none who would find files of another. The same goes
//! for System V objects, which no rule tells from those of others.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use super::plan::{SHARED_MEMORY, Sandbox};
use super::stores;

/// Who uses the shared memory: the agent's commands, or a hook or a gate.
#[derive(Debug, Default)]
pub(super) struct SharedMemory(Mutex<Usage>);

#[derive(Debug, Default)]
struct Usage {
    /// Who used it last, if anybody did.
    last: Option<Owner>,
    /// How many children are using it.
    children: usize,
    /// Whether no System V object was in reach when the last one began.
    system_v: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Owner {
    Agent,
    /// A hook or a gate, by its name.
    Program(String),
}

/// The use of shared memory by one child, until it has ended.
#[derive(Debug)]
pub(in crate::command) struct SharedMemoryUse {
    memory: Arc<SharedMemory>,
    /// Whether System V objects may be used as well.
    pub(in crate::command) system_v: bool,
}

impl SharedMemoryUse {
    /// Makes the use last, because the child may not have ended.
    pub(in crate::command) fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for SharedMemoryUse {
    fn drop(&mut self) {
        self.memory.0.lock().children -= 1;
    }
}

impl Sandbox {
    /// Returns the use of the machine's shared memory by one more child; `None` if the child could find there what others left.
    pub(in crate::command) fn shared_memory(&self, owner: Option<&str>) -> Option<SharedMemoryUse> {
        let is_without_objects = || stores::in_reach() == Some(0);
        self.0.shared_memory.take(owner, || is_empty(Path::new(SHARED_MEMORY)), is_without_objects)
    }

    /// Returns whether children may have left something in the machine's shared memory.
    pub(super) fn has_left_memory(&self) -> bool {
        let state = self.0.shared_memory.0.lock();
        state.last.is_some() && !is_empty(Path::new(SHARED_MEMORY))
    }

    /// Returns the number of System V objects that children may have left.
    pub(super) fn left_objects(&self) -> usize {
        let may_be_theirs = self.0.shared_memory.0.lock().system_v;
        stores::in_reach().filter(|_| may_be_theirs).unwrap_or_default()
    }
}

impl SharedMemory {
    fn take(
        self: &Arc<Self>,
        owner: Option<&str>,
        is_empty: impl FnOnce() -> bool,
        is_without_objects: impl FnOnce() -> bool,
    ) -> Option<SharedMemoryUse> {
        let owner = owner.map_or(Owner::Agent, |name| Owner::Program(name.to_owned()));
        let mut state = self.0.lock();
        let is_same = state.last.as_ref() == Some(&owner);
        if !is_same && (state.children > 0 || !is_empty()) {
            return None;
        }
        if !is_same {
            state.system_v = is_without_objects();
        }
        state.last = Some(owner);
        state.children += 1;
        Some(SharedMemoryUse { memory: Arc::clone(self), system_v: state.system_v })
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
        let take = |owner, is_empty| memory.take(owner, || is_empty, || true);
        let agent = take(None, true).expect("it is empty");
        assert!(take(None, false).is_some(), "what is there is the agent's own");
        assert!(take(Some("gate"), true).is_none(), "a command is running");
        drop(agent);
        assert!(take(Some("gate"), false).is_none(), "something is left");
        let gate = take(Some("gate"), true).expect("it is empty");
        assert!(take(None, true).is_none(), "the gate is running");
        gate.keep();
        assert!(take(None, true).is_none(), "the gate may be running");
    }

    #[test]
    fn system_v_objects_are_for_owners_who_found_none() {
        let memory = Arc::<SharedMemory>::default();
        let may_use = |owner, found_none| {
            memory.take(owner, || true, || found_none).is_some_and(|taken| taken.system_v)
        };
        assert!(!may_use(None, false), "somebody has some");
        assert!(!may_use(None, true), "the agent's may be somebody's by now");
        assert!(may_use(Some("gate"), true));
        assert!(may_use(Some("gate"), false), "what is there is the gate's own");
        assert!(!may_use(Some("other"), false), "what is there is the gate's");
    }

    #[test]
    fn what_belongs_to_this_user_is_noticed() {
        let dir = tempfile::tempdir().expect("a folder");
        assert!(is_empty(dir.path()) && !is_empty(&dir.path().join("missing")));
        fs::write(dir.path().join("left"), "").expect("a file");
        assert!(!is_empty(dir.path()));
    }
}
