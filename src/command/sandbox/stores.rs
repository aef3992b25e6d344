//! System V shared memory, semaphores and queues, which the kernel keeps until somebody removes them. Where a child has no
//! IPC namespace of its own, what it leaves is found by comparing before and after, and removed.
//!
//! They are not refused, because databases do not start without them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// One kind of object: the file that lists it, its option of `ipcrm`, and the columns of the creator's user id and of the
/// processes that created it and used it last.
struct Kind {
    list: &'static str,
    flag: &'static str,
    creator: usize,
    processes: &'static [usize],
}

const KINDS: [Kind; 3] = [
    Kind { list: "/proc/sysvipc/shm", flag: "-m", creator: 9, processes: &[4, 5] },
    Kind { list: "/proc/sysvipc/sem", flag: "-s", creator: 6, processes: &[] },
    Kind { list: "/proc/sysvipc/msg", flag: "-q", creator: 9, processes: &[5, 6] },
];

/// The column of the object's id.
const ID: usize = 1;

/// Where the program that removes them may be; `PATH` is not searched, so that nothing else is found.
const PROGRAMS: [&str; 3] = ["/usr/bin/ipcrm", "/bin/ipcrm", "/usr/local/bin/ipcrm"];

/// The objects at one moment: option of `ipcrm`, and id.
#[derive(Debug, Default)]
pub(in crate::command) struct Stores(BTreeSet<(&'static str, String)>);

impl Stores {
    /// Lists all objects.
    pub(super) fn look() -> Self {
        let all =
            KINDS.iter().flat_map(|kind| lines(kind).into_iter().map(|line| (kind.flag, line[ID].clone())));
        Self(all.collect())
    }

    /// Removes those that this user's processes created since, unless a living process created or used them last, which
    /// is not the child's. Returns the number of those that could not be removed.
    pub(super) fn remove_newer(&self) -> usize {
        let user = user();
        let is_new = |flag, line: &[String]| !self.0.contains(&(flag, line[ID].clone()));
        let is_ours = |kind: &Kind, line: &[String]| user == 0 || line[kind.creator] == user.to_string();
        let lives = |process: &String| process != "0" && Path::new("/proc").join(process).exists();
        let is_used =
            |kind: &Kind, line: &[String]| kind.processes.iter().any(|column| lives(&line[*column]));
        let mut left = 0;
        for kind in &KINDS {
            for line in lines(kind) {
                if is_new(kind.flag, &line) && is_ours(kind, &line) && !is_used(kind, &line) {
                    left += usize::from(!remove(kind.flag, &line[ID]));
                }
            }
        }
        left
    }
}

#[cfg(unix)]
fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns the user who owns nothing here: other systems list no objects.
#[cfg(not(unix))]
fn user() -> u32 {
    u32::MAX
}

/// Returns the lines of a list in columns, without its header.
fn lines(kind: &Kind) -> Vec<Vec<String>> {
    let text = fs::read_to_string(kind.list).unwrap_or_default();
    let columns = |line: &str| line.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let last = kind.processes.iter().copied().max().unwrap_or(ID).max(kind.creator);
    text.lines().skip(1).map(columns).filter(|columns| columns.len() > last).collect()
}

fn remove(flag: &str, id: &str) -> bool {
    let Some(program) = PROGRAMS.iter().find(|program| Path::new(program).exists()) else { return false };
    let mut command = Command::new(program);
    command
        .args([flag, id])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
