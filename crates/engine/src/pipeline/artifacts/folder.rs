//! Artifacts in a folder of the local file system.

use super::{ArtifactStore, PIECE_BYTES, Reader, beneath, failed};
use crate::Result;
use futures_util::future::BoxFuture;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::fs::File;
use tokio::io::{AsyncWriteExt, BufReader, copy_buf};

/// A folder of the local file system. Links in it are not followed, and only regular files are read; the folder itself
/// may be a link.
#[derive(Clone, Debug)]
pub struct Folder {
    root: Arc<Path>,
}

impl Folder {
    /// The folder at `root`; created with the first artifact.
    pub fn new(root: impl Into<PathBuf>) -> Folder {
        Folder { root: root.into().into() }
    }

    /// Does something with files where it may block.
    async fn blocking<T: Send + 'static>(
        &self,
        path: &str,
        work: impl FnOnce(&Path, &str) -> std::io::Result<T> + Send + 'static,
    ) -> std::io::Result<T> {
        let (root, path) = (self.root.clone(), path.to_owned());
        tokio::task::spawn_blocking(move || work(&root, &path)).await.unwrap_or_else(|error| Err(Error::other(error)))
    }

    async fn copy(&self, temporary: &str, from: Reader<'_>) -> std::io::Result<()> {
        let mut out = File::from_std(self.blocking(temporary, beneath::create).await?);
        let copied = copy_buf(&mut BufReader::with_capacity(PIECE_BYTES, from), &mut out).await;
        let written = match copied {
            Ok(_) => match out.flush().await {
                Ok(()) => out.sync_all().await,
                unflushed => unflushed,
            },
            Err(error) => Err(error),
        };
        if written.is_err() {
            // A half of a file helps nobody, least of all on a full disk. The first error is the one that counts.
            let _ = self.blocking(temporary, beneath::remove).await;
        }
        written
    }
}

fn if_there<T>(path: &str, read: std::io::Result<T>) -> Result<Option<T>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(path, error)),
    }
}

impl ArtifactStore for Folder {
    fn write<'a>(&'a self, temporary: &'a str, from: Reader<'a>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { self.copy(temporary, from).await.map_err(|error| failed(temporary, error)) })
    }

    fn publish<'a>(&'a self, temporary: &'a str, path: &'a str) -> BoxFuture<'a, Result<()>> {
        let to = path.to_owned();
        Box::pin(async move {
            let renamed = self.blocking(temporary, move |root, from| beneath::rename(root, from, &to)).await;
            renamed.map_err(|error| failed(path, error))
        })
    }

    fn open<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<Reader<'static>>>> {
        Box::pin(async move {
            let file = if_there(path, self.blocking(path, beneath::open).await)?;
            Ok(file.map(|file| Box::pin(File::from_std(file)) as Reader<'static>))
        })
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { if_there(path, self.blocking(path, beneath::remove).await).map(drop) })
    }
}
