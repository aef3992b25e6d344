//! Processes of this machine, as far as tests look for them. A test knows its own by a marker that no other test has.

use std::fs;
use std::path::PathBuf;

/// A process of this machine.
pub struct Process {
    pub id: i32,
    /// Its command line, with spaces between the arguments.
    pub line: String,
    entry: PathBuf,
}

impl Process {
    /// Its working folder; empty if it has none any more.
    pub fn folder(&self) -> PathBuf {
        fs::read_link(self.entry.join("cwd")).unwrap_or_default()
    }

    /// Its variables, as they were when it started.
    pub fn environment(&self) -> Vec<u8> {
        fs::read(self.entry.join("environ")).unwrap_or_default()
    }
}

/// Returns the processes that satisfy the condition. Those that have ended, and that nobody has waited for yet, are none.
pub fn find(condition: impl Fn(&Process) -> bool) -> Vec<Process> {
    let entries = fs::read_dir("/proc").expect("processes").flatten();
    let processes = entries.filter_map(|entry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        // It may have ended since it was listed.
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        Some(Process { id, line, entry: entry.path() })
    });
    processes.filter(|process| condition(process) && is_running(process.id)).collect()
}

/// Returns `true` if a process has this marker in its command line.
pub fn is_alive(marker: &str) -> bool {
    !find(|process| process.line.contains(marker)).is_empty()
}

/// Returns `true` if there is a process with this id that has not ended.
pub fn is_running(id: i32) -> bool {
    state(id).is_some_and(|state| state != 'Z' && state != 'X')
}

/// Returns the state of a process as the kernel's letter for it, such as `T` for one that is stopped.
pub fn state(id: i32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // Its name, before that, may contain anything.
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Returns a value in kB from the status of a process, such as `VmHWM` (the most memory that it held); 0 if it has ended.
pub fn status_kb(id: u32, key: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    value.and_then(|value| value.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0)
}

/// Returns seconds to sleep that no other test has, so that they are a marker: about an hour, always of the same length, as a
/// marker must not be the beginning of another one.
pub fn unique_seconds() -> String {
    format!("3{:03}.{:06}", std::process::id() % 1000, uuid::Uuid::new_v4().as_u128() % 1_000_000)
}
