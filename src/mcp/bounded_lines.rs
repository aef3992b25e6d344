//! Lines of a server that are read only up to a length: whoever reads by the line keeps one in memory until it ends.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// Maximum length of a message, in bytes.
pub(super) const MAX_LINE: usize = 16 * 1024 * 1024;

/// A reader that ends with an error where a line is longer than [`MAX_LINE`].
pub(super) struct BoundedLines<R> {
    inner: R,
    /// Bytes since the last line break.
    length: usize,
}

impl<R> BoundedLines<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, length: 0 }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.length > MAX_LINE {
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        let start = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        let read = &buffer.filled()[start..];
        self.length = match read.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => read.len() - at - 1,
            None => self.length + read.len(),
        };
        if self.length > MAX_LINE {
            // The reader would take an error for the end, and not report it.
            tracing::warn!(
                "warning: a message of an MCP server is longer than {} MB; the server is no longer read",
                MAX_LINE / 1_048_576
            );
            buffer.set_filled(start);
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, repeat};

    use super::*;

    #[tokio::test]
    async fn lines_are_read_up_to_a_length() {
        let line = [vec![b'x'; MAX_LINE], b"\n".to_vec()].concat();
        let both = [line.clone(), line.clone()].concat();
        let mut read = Vec::new();
        BoundedLines::new(&both[..]).read_to_end(&mut read).await.expect("lines of the longest kind");
        assert_eq!(read.len(), both.len());
        read.clear();
        let error = BoundedLines::new(repeat(b'x')).read_to_end(&mut read).await.expect_err("no end");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(read.len() <= MAX_LINE, "{}", read.len());
    }
}
