//! System V shared memory, semaphores and queues, which the kernel keeps until somebody removes them, and which every process
//! of their user can use by a number. Nothing says which process made one, so none is ever removed here.

use std::fs;

/// One kind of object: the file that lists it, and the columns of its owner's and its creator's user id.
struct Kind {
    list: &'static str,
    users: [usize; 2],
}

const KINDS: [Kind; 3] = [
    Kind { list: "/proc/sysvipc/shm", users: [7, 9] },
    Kind { list: "/proc/sysvipc/sem", users: [4, 6] },
    Kind { list: "/proc/sysvipc/msg", users: [7, 9] },
];

/// The column of the mode.
const MODE: usize = 2;

/// The bits of a mode by which others than the owner and creator use an object.
const OF_OTHERS: u32 = 0o066;

/// Returns the number of objects that this user could use; `None` if the kernel does not list them.
pub(super) fn in_reach() -> Option<usize> {
    let lists = KINDS.iter().map(|kind| Some((kind, fs::read_to_string(kind.list).ok()?)));
    let lists: Vec<_> = lists.collect::<Option<_>>()?;
    Some(lists.iter().map(|(kind, list)| number_in(list, kind.users, user())).sum())
}

/// Returns how many objects of a list a user could use. To root, all belong.
fn number_in(list: &str, users: [usize; 2], user: u32) -> usize {
    let is_in_reach = |line: &&str| {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_ours = |column: &usize| columns.get(*column).and_then(|id| id.parse().ok()) == Some(user);
        // Groups are not compared: what a group may use counts as in reach.
        let is_everybodys = columns
            .get(MODE)
            .and_then(|mode| u32::from_str_radix(mode, 8).ok())
            .is_none_or(|mode| mode & OF_OTHERS != 0);
        user == 0 || is_everybodys || users.iter().any(is_ours)
    };
    list.lines().skip(1).filter(is_in_reach).count()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_in_reach_of_their_users_of_everybody_and_of_root() {
        let list = "       key      semid perms      nsems   uid   gid  cuid  cgid      otime      ctime\n\
                    1130652       0  1600          1  1001  1001  1002  1001          0 1795849021\n\
                    1130653       1   644          1  1003  1001  1003  1001          0 1795849021\n";
        for (user, expected) in [(1001, 2), (1002, 2), (1003, 1), (1004, 1), (0, 2)] {
            assert_eq!(number_in(list, [4, 6], user), expected, "{user}");
        }
    }
}
