//! Rules for system calls by which a child would reach what other processes of its user have, or empty files that it may not
//! write to, where no namespace and no rule of Landlock keeps it from that.

use seccompiler::{BackendError, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

use super::syscall_rules::{Rules, condition};
use super::{KernelSupport, Restrictions};

/// Calls for queues of messages, which hardly any program uses. Landlock has no rules for those that have a name.
const QUEUES: [libc::c_long; 6] = [
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
];

/// Calls for System V shared memory and semaphores. All objects of the IPC namespace can be reached by their numbers, and the
/// filter does not know whose they are.
const SYSTEM_V: [libc::c_long; 7] = [
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
];

/// `IOPRIO_WHO_PROCESS`.
const IO_OF_PROCESS: i32 = 1;

/// Returns rules for a child that has no namespaces of its own.
pub(super) fn of_others(restrictions: &Restrictions, support: KernelSupport) -> Result<Rules, BackendError> {
    let mut rules = settings_of_others()?;
    rules.extend(QUEUES.map(|call| (call, Vec::new())));
    // Databases, and so the tests of honest projects, need these.
    if !restrictions.system_v {
        rules.extend(SYSTEM_V.map(|call| (call, Vec::new())));
    }
    if !support.signals {
        // Of the others, no filter knows whose they are.
        let everybody = condition(0, SeccompCmpOp::Eq, -1)?;
        rules.insert(libc::SYS_kill, vec![SeccompRule::new(vec![everybody])?]);
    }
    Ok(rules)
}

/// Returns rules for calls that set limits and priorities of a process that is named by its number, or of all processes of a group
/// or user. Without processes of its own, a command could take from the runner and its supervisor the descriptors with which they
/// watch it.
fn settings_of_others() -> Result<Rules, BackendError> {
    let is_other = |argument| condition(argument, SeccompCmpOp::Ne, 0);
    // Reading the limits of others does no harm; a new limit is the third argument.
    let sets = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    let limits = SeccompRule::new(vec![is_other(0)?, sets])?;
    let mut rules: Rules = [(libc::SYS_prlimit64, vec![limits])].into();
    let of_process = i32::try_from(libc::PRIO_PROCESS).unwrap_or_default();
    for (call, process) in [(libc::SYS_setpriority, of_process), (libc::SYS_ioprio_set, IO_OF_PROCESS)] {
        let of_several = SeccompRule::new(vec![condition(0, SeccompCmpOp::Ne, process)?])?;
        rules.insert(call, vec![SeccompRule::new(vec![is_other(1)?])?, of_several]);
    }
    for call in [
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setaffinity,
        libc::SYS_migrate_pages,
        libc::SYS_move_pages,
    ] {
        rules.insert(call, vec![SeccompRule::new(vec![is_other(0)?])?]);
    }
    Ok(rules)
}

/// Returns rules for calls that empty a file which they do not open for writing, for which Landlock has rules since Linux 6.2.
pub(super) fn emptying() -> Result<Rules, BackendError> {
    let opens = |flags: u8| {
        let mask = SeccompCmpOp::MaskedEq((libc::O_TRUNC | libc::O_ACCMODE).cast_unsigned().into());
        // With the fourth mode, a file is opened for neither.
        let rule = |mode: i32| SeccompRule::new(vec![condition(flags, mask.clone(), libc::O_TRUNC | mode)?]);
        [libc::O_RDONLY, libc::O_ACCMODE].into_iter().map(rule).collect::<Result<Vec<_>, _>>()
    };
    let rules = [
        (libc::SYS_truncate, Vec::new()),
        (libc::SYS_openat, opens(2)?),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_open, opens(1)?),
    ];
    Ok(rules.into())
}

#[cfg(test)]
mod tests {
    use super::super::syscalls::tests::refusals;
    use super::*;

    fn number(argument: i32) -> u64 {
        argument.cast_unsigned().into()
    }

    #[test]
    fn what_belongs_to_others_is_refused_and_what_is_a_childs_own_is_not() {
        let support = |signals| KernelSupport { files: true, truncation: true, network: true, signals };
        let rules = |system_v, signals| {
            let restrictions = Restrictions { system_v, ..Restrictions::nothing() };
            of_others(&restrictions, support(signals)).expect("rules")
        };
        for system_v in [true, false] {
            let objects = SYSTEM_V.map(|call| (call, [5; 6]));
            assert_eq!(refusals(rules(system_v, true), objects), [!system_v; 7]);
            assert_eq!(refusals(rules(system_v, true), QUEUES.map(|call| (call, [5; 6]))), [true; 6]);
        }
        for signals in [true, false] {
            let ended = [-1, 7, 0].map(|process| (libc::SYS_kill, [number(process), 9, 0, 0, 0, 0]));
            assert_eq!(refusals(rules(false, signals), ended), [!signals, false, false]);
        }
        let asked = [
            (libc::SYS_setpriority, [0, 0, 5, 0, 0, 0], false),
            (libc::SYS_setpriority, [0, 7, 5, 0, 0, 0], true),
            (libc::SYS_setpriority, [1, 0, 5, 0, 0, 0], true),
            (libc::SYS_setpriority, [2, 0, 5, 0, 0, 0], true),
            (libc::SYS_ioprio_set, [1, 0, 5, 0, 0, 0], false),
            (libc::SYS_ioprio_set, [2, 0, 5, 0, 0, 0], true),
            (libc::SYS_ioprio_set, [3, 0, 5, 0, 0, 0], true),
            (libc::SYS_sched_setaffinity, [0, 8, 1, 0, 0, 0], false),
            (libc::SYS_sched_setaffinity, [7, 8, 1, 0, 0, 0], true),
            (libc::SYS_prlimit64, [7, 7, 0, 1, 0, 0], false),
            (libc::SYS_prlimit64, [7, 7, 1, 0, 0, 0], true),
        ];
        let refused = refusals(rules(false, true), asked.map(|(call, arguments, _)| (call, arguments)));
        assert_eq!(refused, asked.map(|(.., expected)| expected));
    }

    #[test]
    fn files_that_are_not_open_for_writing_are_not_emptied() {
        let open = |flags| (libc::SYS_openat, [0, 0, number(flags), 0, 0, 0]);
        let calls = [
            (libc::SYS_truncate, [1, 0, 0, 0, 0, 0]),
            open(libc::O_TRUNC),
            open(libc::O_TRUNC | libc::O_CLOEXEC),
            open(libc::O_TRUNC | libc::O_ACCMODE),
            open(libc::O_TRUNC | libc::O_WRONLY | libc::O_CREAT),
            open(libc::O_TRUNC | libc::O_RDWR),
            open(libc::O_RDONLY),
            (libc::SYS_ftruncate, [3, 0, 0, 0, 0, 0]),
        ];
        let expected = [true, true, true, true, false, false, false, false];
        assert_eq!(refusals(emptying().expect("rules"), calls), expected);
    }
}
