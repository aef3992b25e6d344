//! SOCKS5 (RFC 1928, and passwords by RFC 1929), as far as `CONNECT` needs it.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use super::shared::{Connection, Shared};
use super::target::Target;
use super::upstream::Protocol;

/// First byte of every message.
pub(super) const VERSION: u8 = 5;
const NO_PASSWORD: u8 = 0;
const PASSWORD: u8 = 2;
const NONE_FITS: u8 = 0xff;
const CONNECT: u8 = 1;

/// Answers to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Reply {
    Done = 0,
    NotAllowed = 2,
    Unreachable = 4,
    UnknownCommand = 7,
    UnknownAddress = 8,
}

/// Serves one client.
pub(super) async fn serve(mut stream: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    if !greet(&mut stream, shared.token.as_deref()).await? {
        return Ok(());
    }
    let target = match request(&mut stream).await? {
        Ok(target) => target,
        Err(reply) => return answer(&mut stream, reply).await,
    };
    match shared.open(target, Protocol::Tunnel).await {
        Err(error) => {
            let reply = if error.is_refusal() { Reply::NotAllowed } else { Reply::Unreachable };
            answer(&mut stream, reply).await
        }
        Ok(Connection { stream: server, target, .. }) => {
            answer(&mut stream, Reply::Done).await?;
            shared.relay(stream, server, &target).await;
            Ok(())
        }
    }
}

/// Agrees on how the client proves who it is. Returns whether it did.
async fn greet(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), token: Option<&str>) -> io::Result<bool> {
    if stream.read_u8().await? != VERSION {
        return Ok(false);
    }
    let methods = text(stream).await?;
    let wanted = if token.is_some() { PASSWORD } else { NO_PASSWORD };
    if !methods.contains(&wanted) {
        stream.write_all(&[VERSION, NONE_FITS]).await?;
        return Ok(false);
    }
    stream.write_all(&[VERSION, wanted]).await?;
    let Some(token) = token else { return Ok(true) };
    let _version = stream.read_u8().await?;
    let _name = text(stream).await?;
    let is_right = text(stream).await? == token.as_bytes();
    stream.write_all(&[1, u8::from(!is_right)]).await?;
    Ok(is_right)
}

/// Reads what the client wants to be connected to.
async fn request(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Result<Target, Reply>> {
    let [_version, command, _reserved, kind] = {
        let mut head = [0; 4];
        stream.read_exact(&mut head).await?;
        head
    };
    let host = match kind {
        1 => Ipv4Addr::from_bits(stream.read_u32().await?).to_string(),
        3 => String::from_utf8(text(stream).await?).unwrap_or_default(),
        4 => Ipv6Addr::from_bits(stream.read_u128().await?).to_string(),
        _ => return Ok(Err(Reply::UnknownAddress)),
    };
    let port = stream.read_u16().await?;
    if command != CONNECT {
        return Ok(Err(Reply::UnknownCommand));
    }
    Ok(Target::new(&host, port).ok_or(Reply::UnknownAddress))
}

/// Reads bytes after a byte with their number.
async fn text(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; stream.read_u8().await?.into()];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}

async fn answer(stream: &mut (impl AsyncWrite + Unpin), reply: Reply) -> io::Result<()> {
    // The address that it is connected from is nobody's business.
    stream.write_all(&[VERSION, reply as u8, 0, 1, 0, 0, 0, 0, 0, 0]).await
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> io::Result<Result<Target, Reply>> {
        futures::executor::block_on(request(&mut &bytes[..]))
    }

    #[test]
    fn socks_requests_are_read() {
        let named = [&[5, 1, 0, 3, 11][..], b"example.com", &[1, 187]].concat();
        let target = read(&named).expect("all of it").expect("a target");
        assert_eq!(target.to_string(), "example.com:443");
        let four = read(&[5, 1, 0, 1, 127, 0, 0, 1, 0, 80]).expect("all of it").expect("a target");
        assert_eq!(four.to_string(), "127.0.0.1:80");
        assert_eq!(read(&[5, 2, 0, 1, 127, 0, 0, 1, 0, 80]).expect("all"), Err(Reply::UnknownCommand));
        assert_eq!(read(&[5, 1, 0, 9]).expect("all"), Err(Reply::UnknownAddress));
        assert!(read(&[5, 1, 0]).is_err());
    }

    proptest! {
        #[test]
        fn socks_requests_of_any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(Ok(target)) = read(&bytes) {
                prop_assert!(target.port > 0);
                prop_assert!(Target::new(&target.host.to_string(), target.port) == Some(target));
            }
        }
    }
}
