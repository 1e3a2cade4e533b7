//! Artifacts: files that stages make, at paths that anyone can derive (P7).
//!
//! A file is written under a temporary name and flushed; its size and BLAKE3 are recorded by a fenced write; only then
//! is it renamed to its path. So what lies at a path was recorded by whoever held the lease, and a reader who compares the
//! hash notices everything else.
//!
//! Files are read and written in pieces: an artifact need not fit into memory.
//!
//! [`Folder`] is the default, [`InMemory`] is for tests; with the feature `objects`, `Objects` is any
//! `object_store::ObjectStore`. The folder does its own writing: it syncs the file and its directory, which a plain put
//! does not promise.

mod beneath;
mod folder;
mod hashing;
mod in_memory;
#[cfg(feature = "objects")]
mod objects;

pub use folder::Folder;
pub(super) use hashing::Hashing;
pub use in_memory::InMemory;
#[cfg(feature = "objects")]
pub use objects::Objects;

use crate::{Error, Result};
use futures_util::future::BoxFuture;
use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;
use tenure_core::pipeline::{Artifact, RunId};
use tokio::io::{AsyncRead, AsyncReadExt, BufReader, copy_buf};

/// The bytes of a file, one piece after another.
pub type Reader<'a> = Pin<Box<dyn AsyncRead + Send + 'a>>;

/// Where artifacts are kept.
pub trait ArtifactStore: Debug + Send + Sync + 'static {
    /// Writes all that `from` yields under a temporary name, and flushes it.
    fn write<'a>(&'a self, temporary: &'a str, from: Reader<'a>) -> BoxFuture<'a, Result<()>>;

    /// Renames a file in one step; what was at `path` before is gone.
    fn publish<'a>(&'a self, temporary: &'a str, path: &'a str) -> BoxFuture<'a, Result<()>>;

    /// Opens a file to be read; `None` if there is none.
    fn open<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<Reader<'static>>>>;

    /// Removes a file, if it is there.
    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<()>>;
}

/// One store for many workers.
impl<S: ArtifactStore + ?Sized> ArtifactStore for Arc<S> {
    fn write<'a>(&'a self, temporary: &'a str, from: Reader<'a>) -> BoxFuture<'a, Result<()>> {
        (**self).write(temporary, from)
    }

    fn publish<'a>(&'a self, temporary: &'a str, path: &'a str) -> BoxFuture<'a, Result<()>> {
        (**self).publish(temporary, path)
    }

    fn open<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<Reader<'static>>>> {
        (**self).open(path)
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<()>> {
        (**self).remove(path)
    }
}

/// Bytes that are in memory at once, for each file that is read or written.
const PIECE_BYTES: usize = 1 << 16;

/// BLAKE3 in hexadecimal digits.
#[must_use]
pub fn blake3(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// The path of an artifact: derived from run, stage, version of the pipeline, segment and name, and nothing else.
#[must_use]
pub fn path(run: RunId, stage: &str, version: u32, segment: Option<&str>, name: &str) -> String {
    // No segment can be called `_`: names begin with a letter or a digit.
    format!("{run}/{stage}/v{version}/{}/{name}", segment.unwrap_or("_"))
}

/// What became of a recorded artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// It is there, as recorded.
    Valid,
    /// It is not there.
    Missing,
    /// It is there, and is not what was recorded.
    Corrupt,
}

/// Compares a file with what was recorded of it. An error says why it cannot be read.
pub async fn validate(store: &dyn ArtifactStore, artifact: &Artifact) -> Result<Validity> {
    let Some(from) = store.open(&artifact.path).await? else { return Ok(Validity::Missing) };
    // One byte more than was recorded tells that it has grown; by how much does not matter.
    let mut from = Hashing::new(from.take(artifact.size.saturating_add(1)));
    let mut from_pieces = BufReader::with_capacity(PIECE_BYTES, &mut from);
    let read = copy_buf(&mut from_pieces, &mut tokio::io::sink()).await;
    read.map_err(|error| failed(&artifact.path, error))?;
    let (size, hash) = from.fingerprint();
    Ok(if size == artifact.size && hash == artifact.blake3 { Validity::Valid } else { Validity::Corrupt })
}

pub(super) fn failed(path: &str, message: impl ToString) -> Error {
    Error::Artifact { path: path.to_owned(), message: message.to_string() }
}
