//! Rules for system calls that make sockets, and for those that connect them unseen.

use seccompiler::{BackendError, SeccompCmpOp, SeccompRule};

use super::syscall_rules::{Rules, any_bit, condition, none_of};
use super::{Restrictions, Sockets};

/// Address families of the Internet.
const INTERNET: [i32; 2] = [libc::AF_INET, libc::AF_INET6];

/// Mask for the type of a socket, without options such as `SOCK_CLOEXEC`.
const SOCKET_KIND: u64 = 0xf;

/// Returns rules for the sockets that a child may not have.
pub(super) fn sockets(restrictions: &Restrictions) -> Result<Rules, BackendError> {
    let mut rules = Rules::new();
    // Pairs of connected sockets, by which a program talks to its own processes, are made by another call.
    rules.insert(libc::SYS_socketpair, pairs(restrictions)?);
    let mut families = vec![libc::AF_NETLINK];
    families.extend(restrictions.named_sockets.then_some(libc::AF_UNIX));
    match &restrictions.sockets {
        // No condition means every call.
        Sockets::None => {
            rules
                .extend([libc::SYS_socket, libc::SYS_connect, libc::SYS_bind].map(|call| (call, Vec::new())));
        }
        Sockets::Local => {
            rules.insert(libc::SYS_socket, vec![none_of(&families)?, other_than_routes()?]);
        }
        Sockets::Ports(_) => {
            families.extend(INTERNET);
            rules.insert(libc::SYS_socket, only_tcp(&families)?);
            rules.extend(unseen_connections()?);
        }
        Sockets::Internet => {
            let raw = condition(1, SeccompCmpOp::MaskedEq(SOCKET_KIND), libc::SOCK_RAW)?;
            let of_kernel = condition(0, SeccompCmpOp::Ne, libc::AF_NETLINK)?;
            let raw = SeccompRule::new(vec![raw, of_kernel])?;
            families.extend(INTERNET);
            rules.insert(libc::SYS_socket, vec![none_of(&families)?, raw]);
        }
    }
    Ok(rules)
}

/// Returns rules for sockets of other families than these, for all but TCP on the Internet, and for all of the kernel's but
/// those that describe the network.
fn only_tcp(families: &[i32]) -> Result<Vec<SeccompRule>, BackendError> {
    let mut rules = vec![none_of(families)?];
    for family in INTERNET {
        let is_family = || condition(0, SeccompCmpOp::Eq, family);
        // Kinds are numbers, not bits: of all but streams, each has to be named.
        for kind in 0..=SOCKET_KIND {
            let kind = i32::try_from(kind).unwrap_or_default();
            if kind != libc::SOCK_STREAM {
                let is_kind = condition(1, SeccompCmpOp::MaskedEq(SOCKET_KIND), kind)?;
                rules.push(SeccompRule::new(vec![is_family()?, is_kind])?);
            }
        }
        // Multipath TCP, of which Landlock knows nothing, and SCTP are streams as well.
        let others = [libc::IPPROTO_IP, libc::IPPROTO_TCP].map(|known| condition(2, SeccompCmpOp::Ne, known));
        let others = others.into_iter().collect::<Result<Vec<_>, _>>()?;
        rules.push(SeccompRule::new([vec![is_family()?], others].concat())?);
    }
    rules.push(other_than_routes()?);
    Ok(rules)
}

/// Returns a rule for sockets of the kernel's that do not describe the network: processes talk to each other by some.
fn other_than_routes() -> Result<SeccompRule, BackendError> {
    let of_kernel = condition(0, SeccompCmpOp::Eq, libc::AF_NETLINK)?;
    SeccompRule::new(vec![of_kernel, condition(2, SeccompCmpOp::Ne, libc::NETLINK_ROUTE)?])
}

/// Returns rules for pairs of sockets other than those of Unix, and for pairs of datagram sockets if a child may not open some:
/// unlike other pairs, these can be connected anew, and send to any address.
fn pairs(restrictions: &Restrictions) -> Result<Vec<SeccompRule>, BackendError> {
    let mut rules = vec![none_of(&[libc::AF_UNIX])?];
    if !restrictions.named_sockets || restrictions.sockets == Sockets::None {
        // Raw sockets of Unix are datagram sockets as well.
        let connected = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET];
        for kind in (0..=SOCKET_KIND).filter_map(|kind| i32::try_from(kind).ok()) {
            if !connected.contains(&kind) {
                rules.push(SeccompRule::new(vec![condition(1, SeccompCmpOp::MaskedEq(SOCKET_KIND), kind)?])?);
            }
        }
    }
    Ok(rules)
}

/// Returns rules for calls that connect by sending, which Landlock does not see.
fn unseen_connections() -> Result<Rules, BackendError> {
    let calls = [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)];
    calls.into_iter().map(|(call, flags)| Ok((call, any_bit(flags, &[libc::MSG_FASTOPEN])?))).collect()
}
