//! Network of a child's own: a loopback interface and nothing else. The sockets that lead out of it are made here and
//! handed to the runner, which serves their clients from its own network.

use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, listen, recv, send, socket_with,
    sockopt,
};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

use super::OwnNetwork;
use super::namespaces::unshare;
use crate::egress::socket_handover::{self, come, hand_over};

/// `RTM_NEWLINK`, the request to change an interface.
const NEW_LINK: u16 = 16;
/// `NLMSG_ERROR`, the answer to a request; its error is 0 if the request was carried out.
const ANSWER: u16 = 2;
/// `NLM_F_REQUEST` and `NLM_F_ACK`.
const REQUEST_AND_ANSWER: u16 = 1 | 4;
/// `IFF_UP`.
const UP: u32 = 1;
/// The index of the loopback interface, which is the first of every network.
const LOOPBACK: i32 = 1;
/// Size of a request for an interface, in bytes.
const SIZE: u32 = 32;

/// Leaves the machine's network. This process must have one thread only, and still see the machine's file system.
pub(super) fn enter(network: &OwnNetwork) -> io::Result<()> {
    let runner = come(&network.handover)?;
    let shared = if network.is_shared { socket_handover::network(&runner)? } else { None };
    // Only whoever has the same users can join it.
    let has_joined = shared
        .is_some_and(|fd| move_into_link_name_space(fd.as_fd(), Some(LinkNameSpaceType::Network)).is_ok());
    if !has_joined {
        unshare(UnshareFlags::NEWNET)?;
        raise_loopback()?;
    }
    let (proxy, servers) = network.addresses.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut given = vec![OwnedFd::from(TcpListener::bind(proxy)?)];
    // Where there is no IPv6, no server of the machine has such an address.
    given.extend(servers.iter().filter_map(|server| listening(*server).ok()));
    if network.is_shared {
        given.push(File::open("/proc/self/ns/net")?.into());
    }
    hand_over(&runner, &given.iter().map(AsFd::as_fd).collect::<Vec<_>>())
}

/// Returns a socket that listens at a loopback address, even if that of another child does, which leads to the same place.
fn listening(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    bind(&socket, &address)?;
    listen(&socket, 128)?;
    Ok(socket)
}

/// Asks the kernel to switch the loopback interface on, and waits until it has.
fn raise_loopback() -> io::Result<()> {
    let kernel = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    send(&kernel, &request(), SendFlags::empty())?;
    let mut answer = [0; 512];
    let (_, length) = recv(&kernel, &mut answer, RecvFlags::empty())?;
    match parse(answer.get(..length).unwrap_or(&answer)) {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(error.saturating_neg())),
        None => Err(io::Error::other("the kernel's answer about the loopback interface could not be read")),
    }
}

/// Returns the request: a `nlmsghdr` and an `ifinfomsg`.
fn request() -> Vec<u8> {
    let mut request = Vec::new();
    request.extend(SIZE.to_ne_bytes());
    request.extend(NEW_LINK.to_ne_bytes());
    request.extend(REQUEST_AND_ANSWER.to_ne_bytes());
    // The number of the request, the sender (the kernel knows), and an interface of any family and type.
    request.extend([0; 4 + 4 + 4]);
    request.extend(LOOPBACK.to_ne_bytes());
    request.extend(UP.to_ne_bytes());
    // Which flags are to change.
    request.extend(UP.to_ne_bytes());
    request
}

/// Returns the error in an answer; `None` if it is not an answer.
fn parse(answer: &[u8]) -> Option<i32> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    let error = i32::from_ne_bytes(answer.get(16..20)?.try_into().ok()?);
    (kind == ANSWER).then_some(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_the_size_that_they_state() {
        assert_eq!(u32::try_from(request().len()), Ok(SIZE));
    }

    #[test]
    fn answers_of_the_kernel_are_read() {
        let answer = |kind: u16, error: i32| {
            let mut bytes = vec![0; 36];
            bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
            bytes[16..20].copy_from_slice(&error.to_ne_bytes());
            bytes
        };
        assert_eq!(parse(&answer(ANSWER, 0)), Some(0));
        assert_eq!(parse(&answer(ANSWER, -1)), Some(-1));
        assert_eq!(parse(&answer(NEW_LINK, 0)), None);
        assert_eq!(parse(&[0; 10]), None);
    }
}
