//! Handover of sockets from a child that has made a network of its own: its listening sockets reach the runner through a
//! socket with a path. They stay sockets of that network, no matter which process accepts their clients.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, OnceLock};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use tokio::io::Interest;
use tokio::net::UnixListener;

use super::Egress;

/// Maximum number of sockets that are handed over.
pub const MAX_SOCKETS: usize = 64;

/// Maximum number of descriptors in a message: the sockets, and a network.
const MAX_DESCRIPTORS: usize = MAX_SOCKETS + 1;

/// The port of the proxy in a network of a child's own.
pub const PORT: u16 = 3128;

/// Ports of further proxies in a network that children share, above those that systems give out.
const FURTHER_PORTS: std::ops::Range<u16> = 61_000..65_000;

/// Network that children share. It lasts as long as this, or any process in it.
#[derive(Debug)]
pub struct SharedNetwork {
    egress: Arc<Egress>,
    /// The network, once its first child has come.
    namespace: OnceLock<OwnedFd>,
    /// How many children have been told to join it.
    joined: AtomicU16,
}

impl SharedNetwork {
    /// Creates a network that is not there yet, for children with these limits.
    pub fn of(egress: &Arc<Egress>) -> Self {
        Self { egress: Arc::clone(egress), namespace: OnceLock::new(), joined: AtomicU16::new(0) }
    }

    /// Returns whether these are the limits of its children.
    pub fn is_of(&self, egress: &Arc<Egress>) -> bool {
        Arc::ptr_eq(&self.egress, egress)
    }

    /// Returns the port for the proxy of one more child.
    pub fn next_port(&self) -> u16 {
        match self.joined.fetch_add(1, Ordering::Relaxed) {
            0 => PORT,
            number => FURTHER_PORTS.start + number % (FURTHER_PORTS.end - FURTHER_PORTS.start),
        }
    }
}

/// The runner's side.
pub struct SocketHandover {
    listener: UnixListener,
    path: PathBuf,
    /// The network that the child is to join.
    network: Option<Arc<SharedNetwork>>,
}

impl SocketHandover {
    /// Waits for a child at a path that only the runner's user can reach. The child shares `network` if there is one.
    pub fn at(path: PathBuf, network: Option<Arc<SharedNetwork>>) -> io::Result<Self> {
        let (_folder, short) = reachable(&path)?;
        Ok(Self { listener: UnixListener::bind(short)?, path, network })
    }

    /// Returns the sockets of the first who comes.
    pub(super) async fn sockets(&self) -> io::Result<Vec<OwnedFd>> {
        let (stream, _) = self.listener.accept().await?;
        // Nobody else is to be heard.
        std::fs::remove_file(&self.path)?;
        if let Some(network) = &self.network {
            let namespace: Vec<_> = network.namespace.get().into_iter().map(AsFd::as_fd).collect();
            stream.async_io(Interest::WRITABLE, || hand_over(stream.as_fd(), &namespace)).await?;
        }
        stream.readable().await?;
        let mut sockets = stream.async_io(Interest::READABLE, || receive(stream.as_fd())).await?;
        if let Some(network) = &self.network {
            // The network of the first who comes is the one that others join.
            let _ = network.namespace.set(sockets.pop().ok_or(io::ErrorKind::NotFound)?);
        }
        Ok(sockets)
    }
}

impl Drop for SocketHandover {
    fn drop(&mut self) {
        // It is gone if the child has come.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn receive(stream: impl AsFd) -> io::Result<Vec<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(stream, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let sockets = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(sockets) => Some(sockets),
        _ => None,
    });
    Ok(sockets.flatten().collect())
}

/// Connects to the runner; for the child, before it leaves the machine's file system.
pub fn come(path: &Path) -> io::Result<UnixStream> {
    let (_folder, short) = reachable(path)?;
    UnixStream::connect(short)
}

/// Returns the network that the runner says is to be joined; for the child.
pub fn network(from: &UnixStream) -> io::Result<Option<OwnedFd>> {
    Ok(receive(from)?.pop())
}

/// Hands over descriptors: of listening sockets, and of the network that they are in if it is shared.
pub fn hand_over(to: impl AsFd, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other(format!("more than {MAX_DESCRIPTORS} descriptors")));
    }
    sendmsg(to, &[IoSlice::new(&[0])], &mut control, SendFlags::empty())?;
    Ok(())
}

/// Returns a short path of a socket, for as long as its folder is open: the kernel takes about 100 bytes.
fn reachable(path: &Path) -> io::Result<(File, PathBuf)> {
    let (folder, name) = path.parent().zip(path.file_name()).ok_or(io::ErrorKind::InvalidInput)?;
    let folder = File::open(folder)?;
    let short = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
    Ok((folder, short))
}
