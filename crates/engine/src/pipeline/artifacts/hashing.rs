//! A reader that counts and hashes what passes through it.

use std::pin::Pin;
use std::task::{Context, Poll};
use tenure_core::pipeline::Artifact;
use tokio::io::{AsyncRead, ReadBuf};

/// A reader that counts and hashes what passes through it. With something expected, its end is an error unless all of
/// that came, and so is whatever comes beyond.
pub(in crate::pipeline) struct Hashing<R> {
    from: R,
    hasher: blake3::Hasher,
    size: u64,
    expected: Option<Artifact>,
}

impl<R> Hashing<R> {
    pub(in crate::pipeline) fn new(from: R) -> Hashing<R> {
        Hashing { from, hasher: blake3::Hasher::new(), size: 0, expected: None }
    }

    pub(in crate::pipeline) fn expecting(self, artifact: &Artifact) -> Hashing<R> {
        Hashing { expected: Some(artifact.clone()), ..self }
    }

    /// The size and BLAKE3 of what has passed.
    pub(in crate::pipeline) fn fingerprint(&self) -> (u64, String) {
        (self.size, self.hasher.finalize().to_hex().to_string())
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Hashing<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        let before = out.filled().len();
        std::task::ready!(Pin::new(&mut self.from).poll_read(cx, out))?;
        let piece = &out.filled()[before..];
        self.hasher.update(piece);
        self.size += piece.len() as u64;
        let ended = piece.is_empty() && out.remaining() > 0;
        if let Some(expected) = &self.expected
            && (self.size > expected.size || ended && self.fingerprint() != (expected.size, expected.blake3.clone()))
        {
            let wrong = format!("{} is not what was recorded", expected.path);
            return Poll::Ready(Err(std::io::Error::new(std::io::ErrorKind::InvalidData, wrong)));
        }
        Poll::Ready(Ok(()))
    }
}
