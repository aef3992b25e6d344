//! System call filter: the kernel refuses calls that would lead around the other restrictions.

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter, sock_filter,
};

use super::other_processes::{emptying, of_others};
use super::socket_calls::sockets;
use super::syscall_rules::{Rules, any_bit, made_with, one_of};
use super::{KernelSupport, RestrictionError, Restrictions};

/// Calls that administer the kernel, and those through which other calls are made unseen.
const REFUSED: [libc::c_long; 29] = [
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_setns,
    libc::SYS_pidfd_getfd,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_open_by_handle_at,
    libc::SYS_swapon,
    libc::SYS_reboot,
    libc::SYS_settimeofday,
];

/// `fchmodat2`, which is newer than the table of numbers; the same on every architecture.
const FCHMODAT2: i64 = 452;

/// Flags with which `clone` and `unshare` create namespaces.
const NAMESPACES: [i32; 8] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
    0x80, // `CLONE_NEWTIME`, which is newer than the table of constants
];

/// The mode bits for set-user-ID and set-group-ID.
const SET_ID: [i32; 2] = [0o4000, 0o2000];

/// Bit in the call numbers of the x32 ABI. Hardly any kernel runs its programs, and no build has any.
const X32: u32 = 0x4000_0000;

/// Maximum number of calls that the kernel compares one by one. When it loads a filter, it tries every call that there is.
const COMPARED: usize = 6;

/// Calls that change a file's metadata, and not its content.
const METADATA: [libc::c_long; 12] = [
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];

/// Older calls that newer architectures do not have.
#[cfg(target_arch = "x86_64")]
const OLD_METADATA: [libc::c_long; 6] = [
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];

/// `setxattrat` and `removexattrat`, which are newer than the table of numbers; the same on every architecture.
const NEW_METADATA: [libc::c_long; 2] = [463, 466];

/// `file_setattr`, which does the same as the requests below.
const FILE_SETATTR: libc::c_long = 469;

/// Requests of `ioctl` that change the attributes of a file that is open for reading: `FS_IOC_SETFLAGS` (for
/// both word sizes), `FS_IOC_SETVERSION`, `FS_IOC_FSSETXATTR` and `FS_IOC_ENABLE_VERITY`.
const METADATA_REQUESTS: [i32; 5] = [0x4008_6602, 0x4004_6602, 0x4008_7602, 0x401c_5820, 0x4080_6685];

/// Installs the filter in this process, for good; it needs `no_new_privs`.
pub(super) fn refuse(restrictions: &Restrictions, support: KernelSupport) -> Result<(), RestrictionError> {
    let mut rules = rules(restrictions)?;
    if !support.truncation {
        for (call, more) in emptying()? {
            rules.entry(call).or_default().extend(more);
        }
    }
    if !restrictions.metadata {
        rules.extend(METADATA.iter().chain(&NEW_METADATA).map(|call| (*call, Vec::new())));
        #[cfg(target_arch = "x86_64")]
        rules.extend(OLD_METADATA.map(|call| (call, Vec::new())));
    }
    // No build needs these, which would make a file of the machine immutable, say.
    if !restrictions.metadata || restrictions.root.is_none() {
        let requests = one_of(1, &METADATA_REQUESTS)?;
        rules.insert(libc::SYS_ioctl, requests);
        rules.insert(FILE_SETATTR, Vec::new());
    }
    // A namespace of its own removes all of this when it ends.
    if restrictions.root.is_none() {
        rules.extend(of_others(restrictions, support)?);
    }
    Ok(apply_filter(&program(rules)?)?)
}

/// Returns the whole filter: calls that have to seem unknown, and then what these rules refuse.
fn program(rules: Rules) -> Result<BpfProgram, RestrictionError> {
    let unknown = || instruction(libc::BPF_RET, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned());
    // The number of the call is what its description begins with.
    let mut program = vec![instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0)];
    program.extend([unless(libc::BPF_JGE, X32), unknown()]);
    // Programs fall back to `clone` and `openat`, whose arguments can be examined, on this error alone.
    for call in [libc::SYS_clone3, libc::SYS_openat2] {
        program.extend([unless(libc::BPF_JEQ, u32::try_from(call).unwrap_or(X32)), unknown()]);
    }
    program.extend(search(rules)?);
    Ok(program)
}

/// Returns a binary search for the rules of the call whose number is loaded.
fn search(mut rules: Rules) -> Result<BpfProgram, RestrictionError> {
    let middle = rules.keys().nth(rules.len() / 2).copied();
    let Some(middle) = middle.filter(|_| rules.len() > COMPARED) else {
        let arch: TargetArch = std::env::consts::ARCH.try_into()?;
        let refusal = SeccompAction::Errno(libc::EPERM.cast_unsigned());
        return Ok(SeccompFilter::new(rules, SeccompAction::Allow, refusal, arch)?.try_into()?);
    };
    let upper = search(rules.split_off(&middle))?;
    let lower = search(rules)?;
    let over_lower = u32::try_from(lower.len()).unwrap_or(u32::MAX);
    let mut program = vec![
        unless(libc::BPF_JGE, u32::try_from(middle).unwrap_or(X32)),
        instruction(libc::BPF_JMP | libc::BPF_JA, over_lower),
    ];
    program.extend(lower);
    program.extend(upper);
    Ok(program)
}

fn instruction(code: u32, k: u32) -> sock_filter {
    sock_filter { code: u16::try_from(code).unwrap_or_default(), jt: 0, jf: 0, k }
}

/// Returns a jump over the next instruction unless what is loaded compares to `value` in this way.
fn unless(comparison: u32, value: u32) -> sock_filter {
    sock_filter { jf: 1, ..instruction(libc::BPF_JMP | comparison | libc::BPF_K, value) }
}

fn rules(restrictions: &Restrictions) -> Result<Rules, BackendError> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    for call in [libc::SYS_clone, libc::SYS_unshare] {
        rules.insert(call, any_bit(0, &NAMESPACES)?);
    }
    rules.insert(libc::SYS_openat, made_with(2, &SET_ID)?);
    #[cfg(target_arch = "x86_64")]
    rules.extend([(libc::SYS_open, made_with(1, &SET_ID)?), (libc::SYS_creat, any_bit(1, &SET_ID)?)]);
    rules.insert(libc::SYS_fchmod, any_bit(1, &SET_ID)?);
    rules.insert(libc::SYS_fchmodat, any_bit(2, &SET_ID)?);
    rules.insert(libc::SYS_mknodat, any_bit(2, &SET_ID)?);
    rules.insert(FCHMODAT2, any_bit(2, &SET_ID)?);
    #[cfg(target_arch = "x86_64")]
    rules.extend([(libc::SYS_chmod, any_bit(1, &SET_ID)?), (libc::SYS_mknod, any_bit(1, &SET_ID)?)]);
    rules.extend(sockets(restrictions)?);
    Ok(rules)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// What a filter answers to calls that it lets through, and to those that it refuses.
    pub(in super::super) const ANSWERS: [u32; 2] =
        [libc::SECCOMP_RET_ALLOW, libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned()];

    /// Returns whether a filter of these rules refuses calls with these arguments.
    pub(in super::super) fn refusals<const N: usize>(rules: Rules, calls: [(i64, [u64; 6]); N]) -> [bool; N] {
        let program = program(rules).expect("a program");
        calls.map(|(call, arguments)| {
            let answered = answer(&program, u32::try_from(call).expect("a number"), arguments).0;
            assert!(ANSWERS.contains(&answered), "{call}");
            answered == ANSWERS[1]
        })
    }

    /// Returns what the filter answers to a call with these arguments, and how many instructions that takes.
    fn answer(program: &[sock_filter], call: u32, arguments: [u64; 6]) -> (u32, usize) {
        let arch = if cfg!(target_arch = "x86_64") { 0xc000_003e } else { 0xc000_00b7 };
        let halves = arguments.iter().flat_map(|argument| [argument & u64::from(u32::MAX), argument >> 32]);
        let words = halves.map(|half| u32::try_from(half).expect("half of an argument"));
        let data: Vec<u32> = [call, arch, 0, 0].into_iter().chain(words).collect();
        let (mut at, mut loaded, mut taken) = (0, 0_u32, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at].clone();
            let distance = usize::try_from(k).expect("a distance");
            at += 1;
            taken += 1;
            let jump = |is_so: bool| usize::from(if is_so { jt } else { jf });
            match u32::from(code) {
                0x20 => loaded = data[distance / 4],
                0x54 => loaded &= k,
                0x05 => at += distance,
                0x15 => at += jump(loaded == k),
                0x25 => at += jump(loaded > k),
                0x35 => at += jump(loaded >= k),
                0x06 => return (k, taken),
                other => panic!("instruction {other:#x}"),
            }
        }
    }

    #[test]
    fn filter_refuses_by_rules_and_finds_every_call_within_few_instructions() {
        let [allowed, refused] = ANSWERS;
        let unknown = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
        let mut rules = rules(&Restrictions::nothing()).expect("rules");
        rules.extend(METADATA.map(|call| (call, Vec::new())));
        let refused_always: Vec<i64> =
            rules.iter().filter(|(_, rules)| rules.is_empty()).map(|(call, _)| *call).collect();
        let judged: Vec<i64> = rules.keys().copied().collect();
        let program = program(rules).expect("a program");
        let ask =
            |call: i64, arguments| answer(&program, u32::try_from(call).expect("a number"), arguments).0;
        for call in 0..500 {
            let expected = if [libc::SYS_clone3, libc::SYS_openat2].contains(&call) {
                unknown
            } else if refused_always.contains(&call) || call == libc::SYS_socketpair {
                refused
            } else {
                allowed
            };
            assert_eq!(ask(call, [0; 6]), expected, "{call}");
            let (_, taken) = answer(&program, u32::try_from(call).expect("a number"), [0; 6]);
            assert!(judged.contains(&call) || taken < 60, "{call} takes {taken} instructions");
        }
        assert_eq!(ask(i64::from(X32) | libc::SYS_openat, [0; 6]), unknown);
        let creates = u64::from(libc::O_CREAT.cast_unsigned());
        assert_eq!(ask(libc::SYS_openat, [0, 0, creates, 0o4755, 0, 0]), refused);
        let nameless = u64::from(libc::O_TMPFILE.cast_unsigned());
        assert_eq!(ask(libc::SYS_openat, [0, 0, nameless, 0o2755, 0, 0]), refused);
        let folder = u64::from(libc::O_DIRECTORY.cast_unsigned());
        assert_eq!(ask(libc::SYS_openat, [0, 0, folder, 0o2755, 0, 0]), allowed);
        assert_eq!(ask(libc::SYS_openat, [0, 0, creates, 0o755, 0, 0]), allowed);
        assert_eq!(ask(libc::SYS_openat, [0, 0, 0, 0o4755, 0, 0]), allowed);
        let pair = |family: i32, kind: i32| {
            let words = [family, kind].map(|word| u64::from(word.cast_unsigned()));
            ask(libc::SYS_socketpair, [words[0], words[1], 0, 0, 0, 0])
        };
        for kind in [libc::SOCK_STREAM, libc::SOCK_SEQPACKET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC] {
            assert_eq!(pair(libc::AF_UNIX, kind), allowed);
        }
        assert_eq!(pair(libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC), refused);
        assert_eq!(pair(libc::AF_UNIX, libc::SOCK_RAW), refused);
        assert_eq!(pair(libc::AF_TIPC, libc::SOCK_STREAM), refused);
        let namespace = u64::from(libc::CLONE_NEWUSER.cast_unsigned());
        assert_eq!(ask(libc::SYS_unshare, [namespace, 0, 0, 0, 0, 0]), refused);
    }
}
