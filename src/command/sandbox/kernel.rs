//! Restrictions that a process puts on itself for good: it gives up capabilities, places (Landlock), and
//! system calls.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

use rustix::fs::{FileType, fstat};

use super::opening::open_place;
use super::{KernelSupport, RestrictionError, Restrictions, Sockets, User, syscalls};

/// Returns what the kernel offers, without restricting anything.
pub fn kernel_support() -> KernelSupport {
    let hard = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    KernelSupport {
        files: hard().handle_access(AccessFs::from_write(ABI::V1)).is_ok_and(|rules| rules.create().is_ok()),
        truncation: hard().handle_access(AccessFs::Truncate).is_ok_and(|rules| rules.create().is_ok()),
        network: hard().handle_access(AccessNet::from_all(ABI::V4)).is_ok_and(|rules| rules.create().is_ok()),
        signals: hard().scope(Scope::Signal).is_ok_and(|rules| rules.create().is_ok()),
    }
}

/// Restricts this process for good. The error says which restriction is not available.
pub fn restrict(restrictions: &Restrictions) -> Result<(), RestrictionError> {
    give_up_powers().map_err(RestrictionError::Capabilities)?;
    rustix::thread::set_no_new_privs(true).map_err(RestrictionError::NewPrivileges)?;
    let support = kernel_support();
    // A file system of its own is a restriction by itself.
    if landlock(restrictions)? == RulesetStatus::NotEnforced && restrictions.root.is_none() {
        return Err(RestrictionError::NoLandlock);
    }
    syscalls::refuse(restrictions, support)
}

fn landlock(restrictions: &Restrictions) -> Result<RulesetStatus, RulesetError> {
    // What a newer kernel offers is used, and what this one lacks is left out.
    let writes = AccessFs::from_write(ABI::V5);
    let reads: BitFlags<AccessFs> = AccessFs::from_read(ABI::V5);
    let limits_reads = restrictions.readable.is_some();
    let handled = if limits_reads { writes | reads } else { writes };
    let mut rules = Ruleset::default().set_compatibility(CompatLevel::BestEffort).handle_access(handled)?;
    match restrictions.sockets {
        Sockets::Internet => {}
        // A socket listens wherever it likes: who is not let out answers nobody who matters.
        Sockets::Ports(_) => rules = rules.handle_access(AccessNet::ConnectTcp)?,
        Sockets::None | Sockets::Local => rules = rules.handle_access(AccessNet::from_all(ABI::V4))?,
    }
    let mut rules = rules.scope(Scope::Signal | Scope::AbstractUnixSocket)?.create()?;
    if let Some(readable) = &restrictions.readable {
        rules = rules.add_rules(beneath(readable, reads))?;
        // Names only, so that programs find their way.
        rules = rules.add_rules(beneath(&restrictions.listable, AccessFs::ReadDir.into()))?;
    }
    if let Sockets::Ports(ports) = &restrictions.sockets {
        let port = |port: &u16| Ok::<_, RulesetError>(NetPort::new(*port, AccessNet::ConnectTcp));
        rules = rules.add_rules(ports.iter().map(port))?;
    }
    Ok(rules.add_rules(beneath(&restrictions.writable, handled))?.restrict_self()?.ruleset)
}

/// Returns rules for places. One that does not exist, or to whose path a link leads by now, needs none.
fn beneath(
    places: &[PathBuf],
    access: BitFlags<AccessFs>,
) -> impl Iterator<Item = Result<PathBeneath<OwnedFd>, RulesetError>> {
    places.iter().filter_map(move |path| {
        let place = open_place(path).ok()?;
        let is_folder =
            fstat(&place).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
        let access = if is_folder { access } else { access & AccessFs::from_file(ABI::V5) };
        Some(Ok(PathBeneath::new(place, access)))
    })
}

/// Makes this thread a user without privileges, for good.
pub fn become_user(user: &User) -> rustix::io::Result<()> {
    use rustix::process::{Gid, Uid};
    use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
    let groups: Vec<Gid> = user.groups.iter().map(|group| Gid::from_raw(*group)).collect();
    let (id, group) = (Uid::from_raw(user.id), Gid::from_raw(user.group));
    set_thread_groups(&groups)?;
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(id, id, id)
}

/// Drops all capabilities except those over files, ids, and low ports, which builds in containers use. Others
/// lead around the sandbox: `PERFMON` reads any process's environment, and `MKNOD` creates a disk.
fn give_up_powers() -> rustix::io::Result<()> {
    use rustix::thread::{CapabilitySet as Has, CapabilitySets, capabilities, set_capabilities};
    let kept = Has::CHOWN
        | Has::DAC_OVERRIDE
        | Has::FOWNER
        | Has::FSETID
        | Has::SETUID
        | Has::SETGID
        | Has::KILL
        | Has::NET_BIND_SERVICE;
    let now = capabilities(None)?;
    let kept = |set: Has| set.intersection(kept);
    set_capabilities(
        None,
        CapabilitySets {
            effective: kept(now.effective),
            permitted: kept(now.permitted),
            inheritable: kept(now.inheritable),
        },
    )
}
