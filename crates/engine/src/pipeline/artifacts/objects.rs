//! Artifacts in an object store.

use super::{ArtifactStore, PIECE_BYTES, Reader, failed};
use crate::Result;
use futures_util::future::BoxFuture;
use object_store::buffered::{BufReader, BufWriter};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use std::sync::Arc;
use tokio::io::{AsyncWriteExt, copy_buf};

/// Artifacts in any object store. Its rename is a copy and a delete where it knows no better: a reader who compares
/// the hash notices a half of it. Small objects are put in one request, larger ones in parts.
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
    fn write<'a>(&'a self, temporary: &'a str, from: Reader<'a>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let mut out = BufWriter::new(self.store.clone(), Path::from(temporary));
            let mut from = tokio::io::BufReader::with_capacity(PIECE_BYTES, from);
            let written = match copy_buf(&mut from, &mut out).await {
                Ok(_) => out.shutdown().await,
                Err(error) => Err(error),
            };
            if let Err(error) = written {
                // Parts that were uploaded cost money until they are given up; the first error is the one that counts.
                let _ = out.abort().await;
                return Err(failed(temporary, error));
            }
            Ok(())
        })
    }

    fn publish<'a>(&'a self, temporary: &'a str, path: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let renamed = self.store.rename(&Path::from(temporary), &Path::from(path)).await;
            renamed.map_err(|error| failed(path, error))
        })
    }

    fn open<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<Reader<'static>>>> {
        Box::pin(async move {
            match self.store.head(&Path::from(path)).await {
                Ok(object) => Ok(Some(Box::pin(BufReader::new(self.store.clone(), &object)) as Reader<'static>)),
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
