//! Meeting of the runner and a child that has made a network of its own: the child's listening sockets come through a
//! socket with a path. They stay sockets of that network, whoever accepts their clients.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use tokio::io::Interest;
use tokio::net::UnixListener;

/// Maximum number of sockets that are handed over.
pub const MAX_SOCKETS: usize = 64;

/// The runner's side.
pub struct Meeting {
    listener: UnixListener,
    path: PathBuf,
}

impl Meeting {
    /// Waits for a child at a path that only the runner's user can reach.
    pub fn at(path: PathBuf) -> io::Result<Self> {
        let (_folder, short) = reachable(&path)?;
        Ok(Self { listener: UnixListener::bind(short)?, path })
    }

    /// Returns the sockets of the first who comes.
    pub(super) async fn sockets(&self) -> io::Result<Vec<OwnedFd>> {
        let (stream, _) = self.listener.accept().await?;
        // Nobody else is to be heard.
        std::fs::remove_file(&self.path)?;
        stream.readable().await?;
        stream.async_io(Interest::READABLE, || receive(stream.as_fd())).await
    }
}

impl Drop for Meeting {
    fn drop(&mut self) {
        // It is gone if the child has come.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn receive(stream: impl AsFd) -> io::Result<Vec<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_SOCKETS))];
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

/// Hands over listening sockets; for the child.
pub fn hand_over(to: &UnixStream, sockets: &[TcpListener]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_SOCKETS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let sockets: Vec<_> = sockets.iter().map(AsFd::as_fd).collect();
    if !control.push(SendAncillaryMessage::ScmRights(&sockets)) {
        return Err(io::Error::other(format!("more than {MAX_SOCKETS} sockets")));
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
