//! Held roots of one sandbox: processes that keep the common parts of its children's roots mounted, for as long as the
//! sandbox is in use.
//!
//! Commands of the agent start from a held root, from the first on, so that the overlays above their caches are mounted
//! once: the kernel does not promise that a second mount of the same folders sees what is written through the first.

use std::io;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::OnceCell;

use super::sandbox::{HeldRoot, HoldRequest, Mount, NewRoot};
use crate::base::verbose_log::detail;

/// Maximum number of roots that are held at a time: a run needs one to look and one to work.
const MAX_ROOTS: usize = 4;

/// Time limit for the start of a holder.
const START: Duration = Duration::from_secs(10);

/// The roots that children of one sandbox were given.
#[derive(Debug, Default)]
pub(super) struct HeldRoots {
    roots: Mutex<Roots>,
    /// The last holder, which the next one is started beside.
    last: tokio::sync::Mutex<Option<u32>>,
}

/// Roots with what makes them different, the oldest first.
type Roots = Vec<(Key, Arc<OnceCell<Option<Holder>>>)>;

/// What makes a root the same: its common parts, and which of them exist on the machine, because others are not mounted.
type Key = (NewRoot, Vec<bool>);

/// A process that holds a root.
#[derive(Debug)]
struct Holder {
    held: HeldRoot,
    /// The process ends with its input.
    _stdin: ChildStdin,
    /// Until it is waited for, its process id stays its own.
    _child: Child,
}

impl HeldRoots {
    /// Returns where the common parts of a root are held, by a process that `command` starts. A root `for_once` is held
    /// only if it is needed for the second time.
    pub(super) async fn find(
        &self,
        root: &NewRoot,
        for_once: bool,
        command: impl FnOnce() -> Command,
    ) -> Option<HeldRoot> {
        let root = root.common();
        let there = root.mounts.iter().map(Mount::is_there).collect();
        let holder = self.holder((root.clone(), there), for_once)?;
        let hold = async {
            let mut last = self.last.lock().await;
            let request = HoldRequest { root, beside: *last };
            let held = tokio::time::timeout(START, hold(&request, command())).await;
            let held = held.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
            *last = held.as_ref().ok().map(|holder| holder.held.holder).or(*last);
            held.inspect_err(|error| detail!("each command has to mount its own root: {error}")).ok()
        };
        holder.get_or_init(|| hold).await.as_ref().map(|holder| holder.held.clone())
    }

    fn holder(&self, key: Key, for_once: bool) -> Option<Arc<OnceCell<Option<Holder>>>> {
        let mut roots = self.roots.lock();
        if let Some((_, holder)) = roots.iter().find(|(known, _)| *known == key) {
            return Some(Arc::clone(holder));
        }
        if roots.len() == MAX_ROOTS {
            roots.remove(0);
        }
        let holder = Arc::new(OnceCell::new());
        roots.push((key, Arc::clone(&holder)));
        (!for_once).then_some(holder)
    }
}

/// Starts a holder, and waits until it is ready.
async fn hold(request: &HoldRequest, mut command: Command) -> io::Result<Holder> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let missing = || io::Error::other("the holder has no standard streams");
    let mut stdin = child.stdin.take().ok_or_else(missing)?;
    let stdout = child.stdout.take().ok_or_else(missing)?;
    let mut request = serde_json::to_vec(request)?;
    request.push(b'\n');
    stdin.write_all(&request).await?;
    let mut answer = Vec::new();
    BufReader::new(stdout).read_until(b'\n', &mut answer).await?;
    let held = serde_json::from_slice(&answer).map_err(|_| io::Error::other("no root could be held"))?;
    Ok(Holder { held, _stdin: stdin, _child: child })
}
