//! Rules for system calls by which a child would empty files that it may not write to, where no rule of Landlock keeps it from
//! that.

use seccompiler::{BackendError, SeccompCmpOp, SeccompRule};

use super::syscalls::{Rules, condition};

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
