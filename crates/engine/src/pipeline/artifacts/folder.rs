//! Artifacts in a folder of the local file system.

use super::{ArtifactStore, PIECE_BYTES, Reader, failed};
use crate::Result;
use futures_util::future::BoxFuture;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use tokio::fs;
use tokio::io::{AsyncWriteExt, BufReader, copy_buf};

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
}

async fn write(file: &Path, from: Reader<'_>) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).await?;
    }
    let mut out = fs::File::create(file).await?;
    copy_buf(&mut BufReader::with_capacity(PIECE_BYTES, from), &mut out).await?;
    out.flush().await?;
    out.sync_all().await
}

async fn publish(temporary: &Path, to: &Path) -> std::io::Result<()> {
    fs::rename(temporary, to).await?;
    // The entry of a file in its folder is durable only once the folder is synced.
    match to.parent() {
        Some(folder) => fs::File::open(folder).await?.sync_all().await,
        None => Ok(()),
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
        let file = self.root.join(temporary);
        Box::pin(async move {
            match write(&file, from).await {
                Ok(()) => Ok(()),
                Err(error) => {
                    // A half of a file helps nobody, least of all on a full disk. The first error is the one that counts.
                    let _ = fs::remove_file(&file).await;
                    Err(failed(temporary, error))
                }
            }
        })
    }

    fn publish<'a>(&'a self, temporary: &'a str, path: &'a str) -> BoxFuture<'a, Result<()>> {
        let (from, to) = (self.root.join(temporary), self.root.join(path));
        Box::pin(async move { publish(&from, &to).await.map_err(|error| failed(temporary, error)) })
    }

    fn open<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<Reader<'static>>>> {
        let file = self.root.join(path);
        Box::pin(async move {
            let file = if_there(path, fs::File::open(file).await)?;
            Ok(file.map(|file| Box::pin(file) as Reader<'static>))
        })
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<()>> {
        let file = self.root.join(path);
        Box::pin(async move { if_there(path, fs::remove_file(file).await).map(drop) })
    }
}
