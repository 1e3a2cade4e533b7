//! Artifacts: files that stages make, at paths that anyone can derive (P7).
//!
//! A file is written under a temporary name and flushed; its size and BLAKE3 are recorded by a fenced write; only then
//! is it renamed to its path. So what lies at a path was recorded by whoever held the lease, and a reader who compares the
//! hash notices everything else.
//!
//! [`Folder`] is the default, [`InMemory`] is for tests; with the feature `objects`, [`Objects`] is any
//! `object_store::ObjectStore`. The folder does its own writing: it syncs the file and its directory, which a plain put
//! does not promise.

use crate::{Error, Result};
use futures_util::future::BoxFuture;
use std::collections::HashMap;
use std::fmt::Debug;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tenure_core::pipeline::{Artifact, RunId};

/// Where artifacts are kept.
pub trait ArtifactStore: Debug + Send + Sync + 'static {
    /// Writes `bytes` under a temporary name, and flushes them.
    fn write<'a>(&'a self, temporary: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, Result<()>>;

    /// Renames a file in one step; what was at `path` before is gone.
    fn publish<'a>(&'a self, temporary: &'a str, path: &'a str) -> BoxFuture<'a, Result<()>>;

    /// Reads a file; `None` if there is none.
    fn read<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>>>;

    /// Removes a file, if it is there.
    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<()>>;

    /// The size and BLAKE3 of a file; `None` if there is none.
    fn fingerprint<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<(u64, String)>>> {
        Box::pin(async move { Ok(self.read(path).await?.map(|bytes| (bytes.len() as u64, blake3(&bytes)))) })
    }
}

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

/// Compares a file with what was recorded of it.
pub async fn validate(store: &dyn ArtifactStore, artifact: &Artifact) -> Result<Validity> {
    Ok(match store.fingerprint(&artifact.path).await? {
        None => Validity::Missing,
        Some((size, hash)) if size == artifact.size && hash == artifact.blake3 => Validity::Valid,
        Some(_) => Validity::Corrupt,
    })
}

fn failed(path: &str, message: impl ToString) -> Error {
    Error::Artifact { path: path.to_owned(), message: message.to_string() }
}

/// A folder of the local file system.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// The folder at `root`; created with the first artifact.
    pub fn new(root: impl Into<PathBuf>) -> Folder {
        Folder { root: root.into() }
    }

    /// Does blocking work apart from the runtime's threads.
    fn apart<'a, T: Send + 'static>(
        &'a self,
        path: &'a str,
        work: impl FnOnce(&Path) -> std::io::Result<T> + Send + 'static,
    ) -> BoxFuture<'a, Result<T>> {
        let file = self.root.join(path);
        Box::pin(async move {
            let done = tokio::task::spawn_blocking(move || work(&file)).await;
            done.map_err(|error| failed(path, error))?.map_err(|error| failed(path, error))
        })
    }
}

/// The entry of a file in its folder is durable only once the folder is synced.
fn sync_folder(file: &Path) -> std::io::Result<()> {
    file.parent().map_or(Ok(()), |folder| std::fs::File::open(folder)?.sync_all())
}

fn if_there<T>(read: std::io::Result<T>) -> std::io::Result<Option<T>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl ArtifactStore for Folder {
    fn write<'a>(&'a self, temporary: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, Result<()>> {
        self.apart(temporary, move |file| {
            if let Some(folder) = file.parent() {
                std::fs::create_dir_all(folder)?;
            }
            let mut out = std::fs::File::create(file)?;
            out.write_all(&bytes)?;
            out.sync_all()
        })
    }

    fn publish<'a>(&'a self, temporary: &'a str, path: &'a str) -> BoxFuture<'a, Result<()>> {
        let to = self.root.join(path);
        self.apart(temporary, move |file| {
            std::fs::rename(file, &to)?;
            sync_folder(&to)
        })
    }

    fn read<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>>> {
        self.apart(path, |file| if_there(std::fs::read(file)))
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<()>> {
        self.apart(path, |file| if_there(std::fs::remove_file(file)).map(drop))
    }

    /// Read in pieces: an artifact need not fit into memory to be checked.
    fn fingerprint<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<(u64, String)>>> {
        self.apart(path, |file| {
            let Some(mut file) = if_there(std::fs::File::open(file))? else { return Ok(None) };
            let mut hasher = blake3::Hasher::new();
            let mut piece = vec![0; 1 << 16];
            let mut size = 0;
            loop {
                match file.read(&mut piece)? {
                    0 => return Ok(Some((size, hasher.finalize().to_hex().to_string()))),
                    read => {
                        hasher.update(&piece[..read]);
                        size += read as u64;
                    }
                }
            }
        })
    }
}

/// Artifacts in the memory of this process, for tests.
#[derive(Debug, Default)]
pub struct InMemory {
    files: Mutex<HashMap<String, Vec<u8>>>,
}

impl InMemory {
    fn with<T>(&self, work: impl FnOnce(&mut HashMap<String, Vec<u8>>) -> T) -> T {
        work(&mut self.files.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ArtifactStore for InMemory {
    fn write<'a>(&'a self, temporary: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, Result<()>> {
        self.with(|files| files.insert(temporary.to_owned(), bytes));
        Box::pin(async { Ok(()) })
    }

    fn publish<'a>(&'a self, temporary: &'a str, path: &'a str) -> BoxFuture<'a, Result<()>> {
        let moved = self.with(|files| files.remove(temporary).map(|bytes| files.insert(path.to_owned(), bytes)));
        Box::pin(async move { moved.map(drop).ok_or_else(|| failed(temporary, "there is no such file")) })
    }

    fn read<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>>> {
        let found = self.with(|files| files.get(path).cloned());
        Box::pin(async { Ok(found) })
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<()>> {
        self.with(|files| files.remove(path));
        Box::pin(async { Ok(()) })
    }
}

#[cfg(feature = "objects")]
pub use objects::Objects;

#[cfg(feature = "objects")]
mod objects {
    use super::{ArtifactStore, BoxFuture, Result, failed};
    use object_store::path::Path;
    use object_store::{ObjectStore, ObjectStoreExt};
    use std::sync::Arc;

    /// Artifacts in any object store. Its rename is a copy and a delete where it knows no better: a reader who compares
    /// the hash notices a half of it.
    #[derive(Clone, Debug)]
    pub struct Objects {
        store: Arc<dyn ObjectStore>,
    }

    impl Objects {
        /// On this store.
        pub fn new(store: Arc<dyn ObjectStore>) -> Objects {
            Objects { store }
        }
    }

    impl ArtifactStore for Objects {
        fn write<'a>(&'a self, temporary: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, Result<()>> {
            Box::pin(async move {
                let put = self.store.put(&Path::from(temporary), bytes.into()).await;
                put.map(drop).map_err(|error| failed(temporary, error))
            })
        }

        fn publish<'a>(&'a self, temporary: &'a str, path: &'a str) -> BoxFuture<'a, Result<()>> {
            Box::pin(async move {
                let renamed = self.store.rename(&Path::from(temporary), &Path::from(path)).await;
                renamed.map_err(|error| failed(path, error))
            })
        }

        fn read<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>>> {
            Box::pin(async move {
                match self.store.get(&Path::from(path)).await {
                    Ok(found) => {
                        let bytes = found.bytes().await.map_err(|error| failed(path, error))?;
                        Ok(Some(bytes.to_vec()))
                    }
                    Err(object_store::Error::NotFound { .. }) => Ok(None),
                    Err(error) => Err(failed(path, error)),
                }
            })
        }

        fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<()>> {
            Box::pin(async move {
                match self.store.delete(&Path::from(path)).await {
                    Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
                    Err(error) => Err(failed(path, error)),
                }
            })
        }
    }
}
