//! Held root: the common parts of a new root, mounted once by a process of their own, which then does nothing but hold
//! them. A child starts from a copy of its mount namespace and adds what is its own, which takes a fraction of the time.
//!
//! What a child mounts is in its own copy. It can still move the mount points in its home folder, which is one for all
//! commands, so every child looks at the holder's table of mounts first.

use std::fs::{self, File};
use std::io::{self, BufRead, Write};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::process::setsid;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

use super::mount_table::unescaped;
use super::mounts::begin;
use super::namespaces::{leave_users, unshare};
use super::{HOLD, HeldRoot, HoldRequest, Namespaces, become_user};
use crate::base::integrity::digest;

/// The exit code of shells for a program that cannot be run.
const CANNOT_RUN: u8 = 126;

/// Makes the root that standard input asks for in a line of JSON, answers with a [`HeldRoot`], and waits for the end of
/// standard input. Returns the exit code.
pub fn hold() -> u8 {
    let input = io::stdin().lock();
    match answer(input) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("{error}");
            CANNOT_RUN
        }
    }
}

fn answer(mut input: impl BufRead) -> io::Result<()> {
    let mut line = Vec::new();
    input.read_until(b'\n', &mut line)?;
    let HoldRequest { root, beside } = serde_json::from_slice(&line)
        .map_err(|_| io::Error::other(format!("{HOLD} is internal; see `architect-ci --help`")))?;
    // Out of reach of the terminal's signals.
    let _ = setsid();
    std::env::set_current_dir("/")?;
    // Without the other holder, there is no network to share either.
    if beside.is_none_or(|holder| join_users(root.namespaces, holder).is_err()) {
        leave_users(root.namespaces)?;
    }
    unshare(UnshareFlags::NEWNS)?;
    begin(&root)?;
    let held = HeldRoot { holder: std::process::id(), table: table("self", &root.at)? };
    if let Some(user) = &root.user {
        become_user(user)?;
    }
    let mut answer = serde_json::to_vec(&held)?;
    answer.push(b'\n');
    let mut output = io::stdout();
    output.write_all(&answer)?;
    output.flush()?;
    io::copy(&mut input, &mut io::sink()).map(drop)
}

/// Moves this process, which must have one thread only, into the user namespace of a holder, if holders of this kind
/// have one.
pub(in crate::command) fn join_users(namespaces: Namespaces, holder: u32) -> io::Result<()> {
    if namespaces != Namespaces::User {
        return Ok(());
    }
    let users = File::open(format!("/proc/{holder}/ns/user"))?;
    Ok(move_into_link_name_space(users.as_fd(), Some(LinkNameSpaceType::User))?)
}

/// Moves this process, which must have one thread only, into the mount namespace of a holder, if that is still as it was
/// made. Returns whether it did.
pub(super) fn join(held: &HeldRoot, at: &Path) -> bool {
    let holder = held.holder.to_string();
    let is_same = || table(&holder, at).is_ok_and(|table| table == held.table);
    let mounts = File::open(format!("/proc/{holder}/ns/mnt"));
    mounts.is_ok_and(|mounts| {
        is_same() && move_into_link_name_space(mounts.as_fd(), Some(LinkNameSpaceType::Mount)).is_ok()
    })
}

/// Returns the digest of what a process has mounted at a path and below.
fn table(process: &str, at: &Path) -> io::Result<String> {
    let text = fs::read_to_string(format!("/proc/{process}/mountinfo"))?;
    // "<id> <parent> <device> <root> <mount point> <options> … - <type> <source> <options>"
    let mounts = text.lines().filter_map(|line| line.splitn(3, ' ').nth(2));
    let is_below =
        |mount: &&str| mount.split(' ').nth(2).is_some_and(|point| unescaped(point).starts_with(at));
    let mounts: Vec<&str> = mounts.filter(is_below).collect();
    Ok(digest(mounts.join("\n").as_bytes()))
}
