//! Artifacts in memory.

use super::{ArtifactStore, Reader, failed};
use crate::Result;
use futures_util::future::BoxFuture;
use std::collections::HashMap;
use std::io::Cursor;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::AsyncReadExt;

/// Artifacts in the memory of this process, for tests. Every clone is the same store.
#[derive(Clone, Debug, Default)]
pub struct InMemory {
    files: Arc<Mutex<HashMap<String, Vec<u8>>>>,
}

impl InMemory {
    fn with<T>(&self, work: impl FnOnce(&mut HashMap<String, Vec<u8>>) -> T) -> T {
        work(&mut self.files.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ArtifactStore for InMemory {
    fn write<'a>(&'a self, temporary: &'a str, mut from: Reader<'a>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let mut bytes = Vec::new();
            from.read_to_end(&mut bytes).await.map_err(|error| failed(temporary, error))?;
            self.with(|files| files.insert(temporary.to_owned(), bytes));
            Ok(())
        })
    }

    fn publish<'a>(&'a self, temporary: &'a str, path: &'a str) -> BoxFuture<'a, Result<()>> {
        let moved = self.with(|files| files.remove(temporary).map(|bytes| files.insert(path.to_owned(), bytes)));
        Box::pin(async move { moved.map(drop).ok_or_else(|| failed(temporary, "there is no such file")) })
    }

    fn open<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Option<Reader<'static>>>> {
        let found = self.with(|files| files.get(path).cloned());
        Box::pin(async { Ok(found.map(|bytes| Box::pin(Cursor::new(bytes)) as Reader<'static>)) })
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<()>> {
        self.with(|files| files.remove(path));
        Box::pin(async { Ok(()) })
    }
}
